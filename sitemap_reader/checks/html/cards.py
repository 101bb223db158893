"""Renders findings as HTML: an overview, and a card for each with samples and explain()'s texts; filters above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...client.summary import count_of
from ...parser.content.sniff import Format
from ..findings import SEVERITIES
from ..rule_docs import explain
from .elements import Html, element, is_address, joined, link, prose, site_text

if TYPE_CHECKING:
    from ...model.problems import Problem, Severity
    from ..findings import AuditResult, Finding

    Names = dict[tuple[str, Severity], str]

WORDS: dict[Severity, tuple[str, str]] = {
    "error": ("Error", "Errors"),
    "warning": ("Warning", "Warnings"),
    "info": ("Notice", "Notices"),
}
_UNREAD = {
    True: None,
    False: " Documents that could not be read may have some.",
    None: " Documents that were not read, if any, may have some.",
}
# So that severities differ without colours, too.
_SHAPES: dict[Severity, str] = {"error": "◆", "warning": "▲", "info": "●"}


def findings_part(result: AuditResult) -> Html:
    """The cards of all findings by severity; a sentence if there are none."""
    title = element("h2", "Findings")
    if not result.findings:
        return element("section", title, nothing(result), id="findings")
    names = _names(result)
    groups = [_group(severity, found, names) for severity, found in _by_severity(result)]
    return element("section", title, _filters(result), *groups, id="findings")


def overview(result: AuditResult) -> Html | None:
    """One line for each finding, with a link to its card."""
    if not result.findings:
        return None
    names = _names(result)
    lines = [_line(finding, names) for _, found in _by_severity(result) for finding in found]
    return element("ol", *lines, class_="overview", role="list", aria_label="All findings")


def nothing(result: AuditResult) -> Html:
    """The sentence that stands in place of findings."""
    if result.urls:
        of_sitemaps = f" in {count_of(sitemaps(result), 'sitemap')}" if result.sitemaps else ""
        sentence_of_all = f"No problem was found in {count_of(result.urls, 'URL')}{of_sitemaps}."
    else:
        sentence_of_all = "No problem was found; but no URL was listed, so there was little to check."
    return element("p", sentence_of_all, _UNREAD[result.complete], class_="nothing")


def sitemaps(result: AuditResult) -> int:
    """The number of sitemaps: robots.txt is in the tree, too, and does not count."""
    return sum(row.format != Format.ROBOTS for row in result.sitemaps)


def mark(severity: Severity, word: str | None = None) -> Html:
    """A shape and a word for a severity."""
    shape = element("span", _SHAPES[severity], class_="shape", aria_hidden="true")
    return element("span", shape, " ", word or WORDS[severity][0], class_=f"severity {severity}")


def how_to_fix(finding: Finding) -> Html:
    """The advice of the rule."""
    return element("p", element("strong", "How to fix: "), prose(explain(finding.code).fix), class_="fix")


def place(sample: Problem) -> Html:
    """Document and line of a sample."""
    if sample.sitemap is None:
        return joined("line ", f"{sample.line:,}") if sample.line is not None else Html("-")
    line = None if sample.line is None else f":{sample.line}"
    return joined(link(sample.sitemap), line)


def words(sample: Problem) -> Html:
    """The message of a sample, and the text at fault unless the message has it."""
    message = element("span", site_text(sample.message), class_="message")
    if not sample.raw or sample.raw in sample.message:
        return message
    field = None if sample.field is None else joined(site_text(sample.field), ": ")
    return joined(message, " ", element("span", field, element("code", site_text(sample.raw)), class_="raw"))


def sentence(title: str) -> str:
    """A title as a heading: with a capital at its start."""
    return title[:1].upper() + title[1:]


def _by_severity(result: AuditResult) -> list[tuple[Severity, list[Finding]]]:
    groups = [(severity, [each for each in result.findings if each.severity == severity]) for severity in SEVERITIES]
    return [(severity, found) for severity, found in groups if found]


def _names(result: AuditResult) -> Names:
    """The id of each finding's card: `D03`; of the second one of a code `S01-warning`."""
    names: Names = {}
    for severity, found in _by_severity(result):
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


def _filters(result: AuditResult) -> Html:
    """Buttons and a search field, hidden until the script shows them: they need it to work."""
    pressed: dict[str, str] = {"type": "button", "aria-pressed": "true"}
    buttons = [
        element("button", mark(severity, WORDS[severity][1]), data_severity=severity, **pressed)
        for severity, _ in _by_severity(result)
    ]
    field = element("input", type="search", id="filter-text", placeholder="code, URL, word", autocomplete="off")
    label = element("label", element("span", "Search"), field, for_="filter-text")
    group = element("div", *buttons, class_="buttons", role="group", aria_label="Severities shown")
    status = element("p", count_of(len(result.findings), "finding"), role="status", class_="shown")
    return element("div", group, label, status, class_="filters", hidden=True)


def _group(severity: Severity, found: list[Finding], names: Names) -> Html:
    """The cards of one severity; the script updates the tally while cards are hidden."""
    occurrences_of_all = sum(finding.count for finding in found)
    tally = f"· {count_of(len(found), 'finding')}, {count_of(occurrences_of_all, 'occurrence')}"
    heading = element("h3", mark(severity, WORDS[severity][1]), " ", element("span", tally, class_="tally"))
    cards = [_card(finding, names[finding.code, severity]) for finding in found]
    return element("section", heading, *cards, class_="group", data_severity=severity)


def _card(finding: Finding, name: str) -> Html:
    explanation = explain(finding.code)
    head = element(
        "header",
        element("p", mark(finding.severity), " ", element("code", finding.code), class_="label"),
        element("h4", element("a", sentence(finding.title), href=f"#{name}")),
        element("p", finding.occurrences, class_="amount"),
    )
    return element(
        "article",
        head,
        element("p", "Expected: ", prose(explanation.rule), class_="rule"),
        _samples(finding),
        how_to_fix(finding),
        element("p", _source(explanation.source), class_="source"),
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
    """The source of the rule: a link, or `Convention: …`."""
    return joined("Source: ", link(source)) if is_address(source) else prose(sentence(source))
