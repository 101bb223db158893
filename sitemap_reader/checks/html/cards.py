"""Findings as cards: a Report in, HTML out, with filters above them. What the rules say comes from explain()."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ledger import count_of
from ...read.sniff import Format
from ..explaining import explain
from ..findings import SEVERITIES
from .elements import Html, element, is_address, joined, link, prose, said

if TYPE_CHECKING:
    from ...problems import Problem, Severity
    from ..findings import Finding
    from ..report import Report

WORDS: dict[Severity, tuple[str, str]] = {
    "error": ("Error", "Errors"),
    "warning": ("Warning", "Warnings"),
    "info": ("Info", "Infos"),
}
# Told apart without their colours.
_SHAPES: dict[Severity, str] = {"error": "◆", "warning": "▲", "info": "●"}


def findings_part(report: Report) -> Html:
    """All findings by severity; or a sentence, where there is none."""
    title = element("h2", "Findings")
    if not report.findings:
        return element("section", title, nothing(report), id="findings")
    return element("section", title, _filters(report), *map(_group, _by_severity(report)), id="findings")


def nothing(report: Report) -> Html:
    """What no finding means."""
    if report.urls:
        read = f"{count_of(report.urls, 'URL')} in {count_of(sitemaps(report), 'sitemap')}"
        said_of_it = f"No problem was found in {read}."
    else:
        said_of_it = "No problem was found; but no URL was listed, so that there was little to look at."
    partial = None if report.complete else " What could not be read may have some."
    return element("p", said_of_it, partial, class_="nothing")


def sitemaps(report: Report) -> int:
    """How many there are; robots.txt is a document of the tree, and no sitemap."""
    return sum(row.format != Format.ROBOTS for row in report.sitemaps)


def mark(severity: Severity, word: str | None = None) -> Html:
    """A severity as a shape and a word."""
    shape = element("span", _SHAPES[severity], class_="shape", aria_hidden="true")
    return element("span", shape, " ", word or WORDS[severity][0], class_=f"severity {severity}")


def amount(finding: Finding) -> str:
    """`1,200 in 3 documents`."""
    return f"{finding.count:,} in {count_of(finding.documents, 'document')}"


def place(sample: Problem) -> Html:
    """Document and line."""
    if sample.sitemap is None:
        return joined("line ", f"{sample.line:,}") if sample.line is not None else Html("-")
    line = None if sample.line is None else f":{sample.line}"
    return joined(link(sample.sitemap), line)


def words(sample: Problem) -> Html:
    """What is said of a place, and the text at fault, unless the message has it already."""
    message = element("span", said(sample.message), class_="message")
    if not sample.raw or sample.raw in sample.message:
        return message
    field = None if sample.field is None else joined(said(sample.field), ": ")
    return joined(message, " ", element("span", field, element("code", said(sample.raw)), class_="raw"))


def _by_severity(report: Report) -> list[tuple[Severity, list[Finding]]]:
    groups = [(severity, [each for each in report.findings if each.severity == severity]) for severity in SEVERITIES]
    return [(severity, found) for severity, found in groups if found]


def _filters(report: Report) -> Html:
    """Shown by the script, which alone makes them work."""
    pressed: dict[str, str] = {"type": "button", "aria-pressed": "true"}
    buttons = [
        element("button", mark(severity, WORDS[severity][1]), data_severity=severity, **pressed)
        for severity, _ in _by_severity(report)
    ]
    field = element("input", type="search", id="filter-text", placeholder="code, URL, word", autocomplete="off")
    label = element("label", element("span", "Text"), field, for_="filter-text")
    group = element("div", *buttons, class_="buttons", role="group", aria_label="Severities shown")
    status = element("p", count_of(len(report.findings), "finding"), role="status", class_="shown")
    return element("div", group, label, status, class_="filters", hidden=True)


def _group(of_severity: tuple[Severity, list[Finding]]) -> Html:
    severity, found = of_severity
    heading = element("h3", mark(severity, WORDS[severity][1]), " ", element("span", f"{len(found)}", class_="number"))
    return element("section", heading, *map(_card, found), class_="group", data_severity=severity)


def _card(finding: Finding) -> Html:
    told = explain(finding.code)
    name = f"{finding.code}-{finding.severity}"
    head = element(
        "header",
        element("p", mark(finding.severity), " ", element("code", finding.code), class_="label"),
        element("h4", element("a", _sentence(finding.title), href=f"#{name}")),
        element("p", amount(finding), class_="amount"),
    )
    return element(
        "article",
        head,
        element("p", prose(told.rule), class_="rule"),
        _samples(finding),
        element("p", element("strong", "To mend it: "), prose(told.fix), class_="fix"),
        element("p", _source(told.source), class_="source"),
        class_=f"finding {finding.severity}",
        id=name,
    )


def _samples(finding: Finding) -> Html | None:
    if not finding.samples:
        return None
    items = [
        element("li", element("span", place(each), class_="place"), element("span", words(each), class_="words"))
        for each in finding.samples
    ]
    shown = len(items)
    summary = count_of(shown, "place") if shown >= finding.count else f"{shown:,} of {count_of(finding.count, 'place')}"
    is_open = finding.severity != "info"
    return element("details", element("summary", summary), element("ul", *items), class_="samples", open=is_open)


def _source(source: str) -> Html:
    """Whose rule it is: an address, or a convention, which says so itself."""
    return link(source) if is_address(source) else prose(_sentence(source))


def _sentence(title: str) -> str:
    """What stands in a line elsewhere, as a heading or a sentence of its own."""
    return title[:1].upper() + title[1:]
