"""Renders the result of an audit as a self-contained HTML page, or as a short fragment for a notebook.

A page has an overview, a card for each finding with samples and explain()'s texts, and filters above them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from ...client.summary import count_of
from ...model.errors import json_without_commands, printable
from ...parser.content.sniff import Format
from ...serialize.jsonl import stamp
from ...version import __version__
from ..findings import IMPACTS, SEVERITIES
from ..occurrences import with_url
from ..rule_docs import TOOL, explain
from .document import html_document, labelled_count, notes_section, resource
from .elements import Html, element, is_address, joined, link, prose, shortened, site_text
from .tables import figures_part, sitemaps_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...model.problems import Problem, Severity
    from ..findings import AuditResult, Finding
    from ..occurrences import Occurrence

    Names = dict[tuple[str, Severity], str]


_COMPLETE = "All sitemaps were read completely."
_UNKNOWN = "Completeness unknown: the source, such as a dump of URLs alone, does not state it."
_STATES = {True: "complete", False: "partial", None: "unknown"}
_LONG_CHARS = 40
# A notebook is saved with its output, which should stay small.
FRAGMENT_FINDINGS = 50


def render_page(result: AuditResult, occurrences: Sequence[Occurrence] = (), file: str | None = None) -> str:
    """The whole report as an HTML document, to be written as UTF-8, with the data of these occurrences.

    `file` is the name of the file that has those beyond them.
    """
    figures = figures_part(result)
    main = element(
        "main",
        _head(result, _contents(has_figures=figures is not None)),
        _score(result),
        overview(result),
        _url_checks(result),
        notes_section(result.notes),
        findings_part(result, len(occurrences), file),
        sitemaps_part(result),
        figures,
    )
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style, script = resource(__package__, "page.css"), resource(__package__, "page.js")
    data = occurrence_data(result, occurrences) if occurrences else None
    return html_document(f"Sitemap audit: {result.name}", main, foot, data, style=style, script=script)


def render_fragment(result: AuditResult) -> str:
    """A short report to embed in another page: no script, and styles for its own elements only."""
    title = element("p", element("strong", "Sitemap audit"), " of ", link(result.name), ", as of ", _time(result))
    return _fragment(
        result, title, element("style", resource(__package__, "fragment.css")), more_in="to_html() has all"
    )


def render_several(results: Sequence[AuditResult], headline: str) -> str:
    """Short reports one after the other behind a list of their targets, as an HTML document."""
    rows = [
        element("li", element("a", result.name, href=f"#target-{number}"), f": {result.headline}")
        for number, result in enumerate(results, 1)
    ]
    head = element(
        "header", element("h1", "Sitemap audit"), element("p", headline), element("nav", element("ul", *rows))
    )
    parts = []
    for number, result in enumerate(results, 1):
        title = element("p", "As of ", _time(result))
        part = _fragment(result, title, more_in="the report of this target alone has all")
        heading = element("h2", link(result.name))
        parts.append(element("section", heading, part, id=f"target-{number}"))
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style = Html(resource(__package__, "fragment.css") + _SEVERAL_CSS)
    return html_document("Sitemap audit", element("main", head, *parts), foot, style=style, script=Html(""))


_SEVERAL_CSS = "body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem; }"


def _fragment(result: AuditResult, *head: Html, more_in: str) -> Html:
    shown = result.findings[:FRAGMENT_FINDINGS]
    more = len(result.findings) - len(shown)
    return element(
        "div",
        *head,
        element("p", _state(result), class_="state"),
        _score(result),
        notes_section(result.notes),
        element("ol", *map(_item, shown)) if shown else nothing(result),
        element("p", f"{count_of(more, 'more finding')}: {more_in}.") if more else None,
        class_="sitemap-reader-audit",
    )


# --- summary and notes ---


def _head(result: AuditResult, contents: Html) -> Html:
    return element(
        "header",
        element("div", element("p", "Sitemap audit", class_="eyebrow"), contents, class_="bar"),
        element("h1", link(result.name), class_="long" if len(result.name) > _LONG_CHARS else "short"),
        element("p", "As of ", _time(result), class_="when"),
        element("p", _state(result, "#sitemaps"), class_=f"state {_STATES[result.complete]}"),
        class_="top",
    )


def _state(result: AuditResult, tree: str | None = None) -> Html:
    """Whether all was read; the number of unread documents links to `tree`."""
    if result.complete is None:
        return joined(_UNKNOWN)
    if result.complete:
        return joined(_COMPLETE)
    unread = element("a", result.missing, href=tree) if result.missing and tree else result.partial
    return joined("Partial: ", unread, "; findings may be missing.")


def _url_checks(result: AuditResult) -> Html | None:
    if result.url_checks is None:
        return None
    lines = element("ul", *(element("li", line) for line in result.url_checks.lines()))
    heading = element("h2", "Checked URLs")
    return element("section", heading, element("p", result.url_checks.headline), lines, class_="notes")


def _time(result: AuditResult) -> Html:
    moment = stamp(result.at) or ""
    return element("time", f"{moment[:10]} {moment[11:16]} UTC", datetime=moment)


def _score(result: AuditResult) -> Html:
    """Problems by severity, and the numbers of URLs and sitemaps, in one row."""
    problems = [
        (mark(severity, WORDS[severity][result.count(severity) != 1]), result.count(severity), severity)
        for severity in SEVERITIES
    ]
    known = result.complete is not None or result.sitemaps
    unique = f", {result.pages:,} unique" if result.pages != result.urls else ""
    rest = [
        ("URLs listed", None if result.dropped is None else result.urls + result.dropped),
        ("Dropped", result.dropped),
        (f"Kept{unique}", result.urls),
        ("Sitemaps", sitemaps(result) if known else None),
    ]
    return element(
        "dl",
        *(labelled_count(name, count, f"of-{severity}" if count else None) for name, count, severity in problems),
        *(labelled_count(name, count) for name, count in rest),
        class_="score",
    )


def _contents(*, has_figures: bool) -> Html:
    names = ["findings", "sitemaps"] + ["figures"] * has_figures
    links = [element("a", name.capitalize(), href=f"#{name}") for name in names]
    return element("nav", *links, aria_label="Parts of this page")


def _item(finding: Finding) -> Html:
    """A finding with one sample, and how to fix it."""
    sample = next(iter(finding.samples), None)
    where = None if sample is None else element("p", place(sample), ": ", words(sample), class_="sample")
    title = element("strong", sentence(finding.title))
    return element(
        "li",
        element("p", mark(finding.severity), " ", element("code", finding.code), " ", title),
        element("p", joined(finding.occurrences, ". Expected: "), prose(explain(finding.code).rule), class_="rule"),
        where,
        how_to_fix(finding),
    )


# --- findings --------------------------------------------------------------------------------------------------------


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
OVERVIEW_LINES = 10
# So that severities differ without colours, too.
_SHAPES: dict[Severity, str] = {"error": "◆", "warning": "▲", "info": "●"}


def findings_part(result: AuditResult, occurrences: int = 0, file: str | None = None) -> Html:
    """The cards of all findings by impact, those of errors open; a sentence if there are none.

    The page has the data of so many `occurrences`, and `file` has those beyond them.
    """
    title = element("h2", "Findings")
    if not result.findings:
        return element("section", title, nothing(result), id="findings")
    names = _names(result)
    by_impact = {impact: [each for each in result.findings if each.impact == impact] for impact in IMPACTS}
    groups = [_group(impact, found, names) for impact, found in by_impact.items() if found]
    more = _more(result, occurrences, file) if occurrences else None
    return element("section", title, _filters(result), more, *groups, id="findings")


def _more(result: AuditResult, occurrences: int, file: str | None) -> Html | None:
    """A sentence on the occurrences that are not on the page."""
    total = sum(finding.count for finding in result.findings)
    if total <= occurrences:
        return None
    here = f"This page has {occurrences:,} of {total:,} occurrences; "
    if file is None:
        return element("p", f"{here}the CSV, JSONL and Parquet of an audit have all.", class_="more")
    return element("p", f"{here}all are in ", element("a", file, href=quote(file)), ".", class_="more")


def overview(result: AuditResult) -> Html | None:
    """A line for each of the first findings, which matter most, with a link to its card."""
    if not result.findings:
        return None
    names, shown = _names(result), result.findings[:OVERVIEW_LINES]
    lines = element(
        "ol", *(_line(finding, names) for finding in shown), class_="overview", role="list", aria_label="First findings"
    )
    more = len(result.findings) - len(shown)
    rest = element("a", f"{more:,} more", href="#findings") if more else None
    return joined(lines, element("p", "and ", rest, class_="more") if rest else None)


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
    return element("p", element("strong", "How to fix: "), prose(explain(finding.code).fix), class_="fix")


def place(sample: Problem) -> Html:
    if sample.sitemap is None:
        return joined("line ", f"{sample.line:,}") if sample.line is not None else Html("-")
    line = None if sample.line is None else f":{sample.line}"
    return joined(link(sample.sitemap), line)


def words(sample: Problem) -> Html:
    """The URL and the message of a sample, and the text at fault unless these have it."""
    text = with_url(sample.message, sample.url)
    message = element("span", site_text(text), class_="message")
    if not sample.raw or sample.raw in text:
        return message
    field = None if sample.field is None else joined(site_text(sample.field), ": ")
    return joined(message, " ", element("span", field, element("code", site_text(sample.raw)), class_="raw"))


def sentence(title: str) -> str:
    """A title as a heading: with a capital at its start."""
    return title[:1].upper() + title[1:]


def _names(result: AuditResult) -> Names:
    """The id of each finding's card: `D03`; of the second one of a code `S01-warning`."""
    names: Names = {}
    for finding in result.findings:
        code, severity = finding.code, finding.severity
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
    found = {finding.severity for finding in result.findings}
    buttons = [
        element("button", mark(severity, WORDS[severity][1]), data_severity=severity, **pressed)
        for severity in SEVERITIES
        if severity in found
    ]
    field = element("input", type="search", id="filter-text", placeholder="code, URL, word", autocomplete="off")
    label = element("label", element("span", "Search"), field, for_="filter-text")
    group = element("div", *buttons, class_="buttons", role="group", aria_label="Severities shown")
    status = element("p", count_of(len(result.findings), "finding"), role="status", class_="shown")
    return element("div", group, label, status, class_="filters", hidden=True)


def _group(impact: str, found: list[Finding], names: Names) -> Html:
    """The cards of findings of one impact; the script updates the tally while cards are hidden."""
    occurrences_of_all = sum(finding.count for finding in found)
    tally = f"· {count_of(len(found), 'finding')}, {count_of(occurrences_of_all, 'occurrence')}"
    heading = element("h3", IMPACTS[impact], " ", element("span", tally, class_="tally"))
    cards = [_card(finding, names[finding.code, finding.severity]) for finding in found]
    return element("section", heading, *cards, class_="group")


def _card(finding: Finding, name: str) -> Html:
    explanation = explain(finding.code)
    source: Html | str = explanation.source  # a link, or `Convention: …`
    source = joined("Source: ", link(source)) if is_address(source) else prose(sentence(source))
    head = element(
        "summary",
        element("span", mark(finding.severity), " ", element("code", finding.code), class_="label"),
        element("h4", sentence(finding.title)),
        element("span", finding.occurrences, class_="amount"),
    )
    kinds = [
        element("li", f"{each.count:,} in {finding.documents_of(each.documents)}: {each.kind}")
        for each in finding.kinds
    ]
    inside = element(
        "div",
        element("p", "Expected: ", prose(explanation.rule), class_="rule"),
        element("p", element("strong", "Why it matters: "), prose(explanation.why), class_="why"),
        how_to_fix(finding),
        element("p", source, class_="source"),
        element("ul", *kinds, class_="kinds") if kinds else None,
        _samples(finding),
        element("p", f"{TOOL}: ", prose(explanation.tool), class_="tool") if explanation.tool else None,
        class_="inside",
    )
    return element(
        "article",
        element("details", head, inside, open=finding.severity == "error"),
        class_=f"finding {finding.severity}",
        id=name,
        data_severity=finding.severity,
        data_count=str(finding.count),
    )


def _samples(finding: Finding) -> Html | None:
    """The samples, which the script replaces by pages of all occurrences where the page has their data."""
    if not finding.samples:
        return None
    items = [
        element("li", element("span", place(each), class_="place"), element("span", words(each), class_="words"))
        for each in finding.samples
    ]
    total = count_of(finding.count, "occurrence")
    shown = total if len(items) >= finding.count else f"{len(items):,} of {total}"
    return element("div", element("p", shown, class_="range"), element("ul", *items), class_="occurrences")


def occurrence_data(result: AuditResult, occurrences: Sequence[Occurrence]) -> Html:
    """The occurrences as data of the script: sitemaps, and id of a card -> rows.

    A sitemap is its text, and whether that is a link. A row is the index of its sitemap, or null, its line, URL and
    message, field and value, null where the message has it, and 1 where it is new.
    """
    names = _names(result)
    sitemaps: dict[str, int] = {}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in names.values()}
    for each in occurrences:
        number = None if each.sitemap is None else sitemaps.setdefault(each.sitemap, len(sitemaps))
        message = with_url(each.message, None if each.url == each.sitemap else each.url)
        value = _plain(each.value) if each.value and each.value not in message else None
        row = (number, each.line, _plain(message), each.field if value else None, value, int(bool(each.new)))
        rows[names[each.code, each.severity]].append(row)
    data = {"sitemaps": [(url if is_address(url) else _plain(url), is_address(url)) for url in sitemaps], "rows": rows}
    # Nothing in it can end the element: `<` is escaped.
    json = json_without_commands(orjson.dumps(data, default=str)).decode().replace("<", "\\u003c")
    return element("script", Html(json), type="application/json", id="occurrences")


def _plain(text: str) -> str:
    """Text of a site as the script shows it: cut, invisible characters by their numbers, in UTF-8."""
    return printable(shortened(text)).encode("utf-8", "replace").decode()
