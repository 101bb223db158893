"""Findings as cards: a Report in, HTML out, with filters above them. What the rules say comes from explain()."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...client.summary import count_of
from ...parser.content.sniff import Format
from ..findings import SEVERITIES
from ..rule_docs import explain
from .elements import Html, element, is_address, joined, link, prose, said

if TYPE_CHECKING:
    from ...model.problems import Problem, Severity
    from ..findings import Finding
    from ..report import Report

    Names = dict[tuple[str, Severity], str]

WORDS: dict[Severity, tuple[str, str]] = {
    "error": ("Error", "Errors"),
    "warning": ("Warning", "Warnings"),
    "info": ("Info", "Infos"),
}
_UNREAD = {
    True: None,
    False: " What could not be read may have some.",
    None: " What was not read, if anything, may have some.",
}
# Told apart without their colours.
_SHAPES: dict[Severity, str] = {"error": "◆", "warning": "▲", "info": "●"}


def findings_part(report: Report) -> Html:
    """All findings by severity; or a sentence, where there is none."""
    title = element("h2", "Findings")
    if not report.findings:
        return element("section", title, nothing(report), id="findings")
    names = _names(report)
    groups = [_group(severity, found, names) for severity, found in _by_severity(report)]
    return element("section", title, _filters(report), *groups, id="findings")


def overview(report: Report) -> Html | None:
    """All findings in a line each, which leads to its card."""
    if not report.findings:
        return None
    names = _names(report)
    lines = [_line(finding, names) for _, found in _by_severity(report) for finding in found]
    return element("ol", *lines, class_="overview", role="list", aria_label="All findings")


def nothing(report: Report) -> Html:
    """What no finding means."""
    if report.urls:
        of_sitemaps = f" in {count_of(sitemaps(report), 'sitemap')}" if report.sitemaps else ""
        said_of_it = f"No problem was found in {count_of(report.urls, 'URL')}{of_sitemaps}."
    else:
        said_of_it = "No problem was found; but no URL was listed, so that there was little to look at."
    return element("p", said_of_it, _UNREAD[report.complete], class_="nothing")


def sitemaps(report: Report) -> int:
    """How many there are; robots.txt is a document of the tree, and no sitemap."""
    return sum(row.format != Format.ROBOTS for row in report.sitemaps)


def mark(severity: Severity, word: str | None = None) -> Html:
    """A severity as a shape and a word."""
    shape = element("span", _SHAPES[severity], class_="shape", aria_hidden="true")
    return element("span", shape, " ", word or WORDS[severity][0], class_=f"severity {severity}")


def amount(finding: Finding) -> str:
    """`1,200 occurrences in 3 documents`."""
    return f"{count_of(finding.count, 'occurrence')} in {count_of(finding.documents, 'document')}"


def mending(finding: Finding) -> Html:
    """What to do."""
    return element("p", element("strong", "How to fix: "), prose(explain(finding.code).fix), class_="fix")


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


def sentence(title: str) -> str:
    """What stands in a line elsewhere, as a heading or a sentence of its own."""
    return title[:1].upper() + title[1:]


def _by_severity(report: Report) -> list[tuple[Severity, list[Finding]]]:
    groups = [(severity, [each for each in report.findings if each.severity == severity]) for severity in SEVERITIES]
    return [(severity, found) for severity, found in groups if found]


def _names(report: Report) -> Names:
    """What the card of each finding is called: `D03`; the second one of a code `S01-warning`."""
    names: Names = {}
    for severity, found in _by_severity(report):
        for code in (finding.code for finding in found):
            names[code, severity] = f"{code}-{severity}" if code in names.values() else code
    return names


def _line(finding: Finding, names: Names) -> Html:
    line = element(
        "a",
        mark(finding.severity),
        " ",
        element("code", finding.code),
        " ",
        element("span", f"{finding.count:,}", class_="count"),
        " ",
        element("span", sentence(finding.title), class_="title"),
        href=f"#{names[finding.code, finding.severity]}",
    )
    return element("li", line)


def _filters(report: Report) -> Html:
    """Shown by the script, which alone makes them work."""
    pressed: dict[str, str] = {"type": "button", "aria-pressed": "true"}
    buttons = [
        element("button", mark(severity, WORDS[severity][1]), data_severity=severity, **pressed)
        for severity, _ in _by_severity(report)
    ]
    field = element("input", type="search", id="filter-text", placeholder="code, URL, word", autocomplete="off")
    label = element("label", element("span", "Search"), field, for_="filter-text")
    group = element("div", *buttons, class_="buttons", role="group", aria_label="Severities shown")
    status = element("p", count_of(len(report.findings), "finding"), role="status", class_="shown")
    return element("div", group, label, status, class_="filters", hidden=True)


def _group(severity: Severity, found: list[Finding], names: Names) -> Html:
    """The script keeps the tally, as long as cards are hidden."""
    places = sum(finding.count for finding in found)
    tally = f"· {count_of(len(found), 'finding')}, {count_of(places, 'occurrence')}"
    heading = element("h3", mark(severity, WORDS[severity][1]), " ", element("span", tally, class_="tally"))
    cards = [_card(finding, names[finding.code, severity]) for finding in found]
    return element("section", heading, *cards, class_="group", data_severity=severity)


def _card(finding: Finding, name: str) -> Html:
    told = explain(finding.code)
    head = element(
        "header",
        element("p", mark(finding.severity), " ", element("code", finding.code), class_="label"),
        element("h4", element("a", sentence(finding.title), href=f"#{name}")),
        element("p", amount(finding), class_="amount"),
    )
    return element(
        "article",
        head,
        element("p", "Expected: ", prose(told.rule), class_="rule"),
        _samples(finding),
        mending(finding),
        element("p", _source(told.source), class_="source"),
        class_=f"finding {finding.severity}",
        id=name,
        data_count=str(finding.count),
    )


def _samples(finding: Finding) -> Html | None:
    if not finding.samples:
        return None
    items = [
        element("li", element("span", place(each), class_="place"), element("span", words(each), class_="words"))
        for each in finding.samples
    ]
    shown = len(items)
    total = count_of(finding.count, "occurrence")
    summary = total if shown >= finding.count else f"{shown:,} of {total}"
    is_open = finding.severity != "info"
    return element("details", element("summary", summary), element("ul", *items), class_="samples", open=is_open)


def _source(source: str) -> Html:
    """Whose rule it is: an address, or a convention, which says so itself."""
    return joined("Source: ", link(source)) if is_address(source) else prose(sentence(source))
