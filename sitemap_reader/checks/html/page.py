"""Renders the result of an audit as a self-contained HTML page, or as a short fragment for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args
from urllib.parse import quote, urlsplit

import orjson

from ...model.errors import json_without_commands, printable
from ...model.problems import count_of
from ...model.records import Precision
from ...parser.content.sniff import Format
from ...serialize.jsonl import stamp
from ...statistics.facts import as_stated
from ...version import __version__
from ..findings import IMPACTS, SEVERITIES
from ..occurrences import with_url
from ..rule_docs import explain
from .charts import MAX_SLOWEST, draw, figures, slowest
from .elements import (
    Html,
    element,
    html_document,
    is_address,
    join,
    labelled_count,
    link,
    notes_section,
    prose,
    resource,
    scrolling_table,
    shorten,
    site_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...client.sitemap_tree import TreeRow
    from ...model.problems import Problem, Severity
    from ..findings import AuditResult, Finding, FindingKey
    from ..occurrences import Occurrence
    from .charts import Figure

    Names = dict[FindingKey, str]


_COMPLETE = "All sitemaps were read completely."
_NO_SITEMAP = "No sitemap was found."
_UNKNOWN = "Completeness unknown: the source, such as a dump of URLs alone, does not state it."
_STATES = {True: "complete", False: "partial", None: "unknown"}
_LONG_CHARS = 40
# A notebook is saved with its output, which should stay small.
FRAGMENT_FINDINGS = 50


def render_page(result: AuditResult, occurrences: Sequence[Occurrence] = (), file: str | None = None) -> str:
    """The whole report, to be written as UTF-8, with the data of these occurrences; `file` has those beyond them."""
    figures = figures_part(result)
    main = element(
        "main",
        _head(result, ["findings", "sitemaps"] + ["figures"] * (figures is not None)),
        _score(result),
        overview(result),
        _url_checks(result),
        notes_section(result.notes),
        _fixed(result),
        findings_part(result, len(occurrences), file),
        sitemaps_part(result),
        figures,
        _appendix(result),
    )
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style, script = resource(__package__, "page.css"), resource(__package__, "page.js")
    data = occurrence_data(result, occurrences) if occurrences else None
    return html_document(f"Sitemap audit: {result.name}", main, foot, data, style=style, script=script)


def render_fragment(result: AuditResult) -> str:
    """A short report to embed in another page: no script, and styles for its own elements only."""
    title = element("p", element("strong", "Sitemap audit"), " of ", link(result.name), ", as of ", _time(result))
    style = element("style", resource(__package__, "fragment.css"))
    return _fragment(result, title, style, more_in="to_html() has all")


def render_several(results: Sequence[AuditResult], headline: str) -> str:
    rows = [_target_row(result, number) for number, result in enumerate(results, 1)]
    table = scrolling_table("The sites, with their problems", _TARGET_COLUMNS, rows)
    head = element("header", element("h1", "Sitemap audit"), element("p", headline), class_="top")
    parts = [element("section", element("h2", "Sites"), table)]
    for number, result in enumerate(results, 1):
        title = element("p", "As of ", _time(result))
        part = _fragment(result, title, more_in="the report of this target alone has all")
        heading = element("h2", link(result.name))
        parts.append(element("section", heading, part, id=f"target-{number}"))
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style = Html(resource(__package__, "page.css") + resource(__package__, "fragment.css"))
    return html_document("Sitemap audit", element("main", head, *parts), foot, style=style, script=Html(""))


_TARGET_COLUMNS = (
    ("Site", False),
    ("Errors", True),
    ("Warnings", True),
    ("Notices", True),
    ("URLs", True),
    ("Ignored", True),
    ("Read", False),
)


def _target_row(result: AuditResult, number: int) -> list[Html]:
    counts = [element("td", f"{result.count(severity):,}", class_="number") for severity in SEVERITIES]
    return [
        element("th", element("a", result.name, href=f"#target-{number}"), scope="row"),
        *counts,
        _number(f"{result.urls:,}"),
        _number(_count_text(result.dropped)),
        element("td", _STATES[result.complete]),
    ]


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


def _head(result: AuditResult, parts: list[str]) -> Html:
    links = [element("a", name.capitalize(), href=f"#{name}") for name in parts]
    contents = element("nav", *links, aria_label="Parts of this page")
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
        return join(_NO_SITEMAP if result.has_no_sitemap else _UNKNOWN)
    if result.complete:
        return join(_COMPLETE)
    unread = element("a", result.missing, href=tree) if result.missing and tree else result.partial
    return join("Partial: ", unread, "; findings may be missing.")


def _url_checks(result: AuditResult) -> Html | None:
    if not result.coverage:
        return None
    headline, *estimates = result.coverage
    lines = element("ul", *(element("li", line) for line in estimates))
    return element("section", element("h2", "Checked URLs"), element("p", headline), lines, class_="notes")


def _fixed(result: AuditResult) -> Html | None:
    """What was fixed since the known findings."""
    fixed = result.fixed
    if fixed is None:
        return None
    items = [
        element(
            "li",
            f"{each.code} {each.title}: {each.count:,}",
            element("ul", *(element("li", site_text(with_url(sample.message, sample.url))) for sample in each.samples)),
        )
        for each in fixed.findings
    ]
    rest = element("p", fixed.not_checked) if fixed.not_checked else None
    return element(
        "section", element("h2", fixed.headline), element("ul", *items) if items else None, rest, class_="notes"
    )


def _time(result: AuditResult) -> Html:
    moment = stamp(result.at) or ""
    return element("time", f"{moment[:10]} {moment[11:16]} UTC", datetime=moment)


def _score(result: AuditResult) -> Html:
    has_known = any(finding.new is not None for finding in result.findings)
    problems = [
        (mark(severity, WORDS[severity][result.count(severity) != 1]), result.count(severity), severity)
        for severity in SEVERITIES
    ]
    new = sum(finding.new or 0 for finding in result.findings)
    known = result.complete is not None or result.sitemaps
    rest = [
        *([("New places", new)] if has_known else []),
        ("URLs listed", None if result.dropped is None else result.listed),
        ("Valid", result.urls),
        *([("In unreadable sitemaps", result.unread)] if result.unread else []),
        ("May be ignored", result.dropped),
        *([("Of other hosts, not checked", result.not_checked)] if result.not_checked else []),
        ("Pages", result.pages),
        ("Sitemaps", sitemaps(result) if known else None),
    ]
    return element(
        "dl",
        *(labelled_count(name, count, f"of-{severity}" if count else None) for name, count, severity in problems),
        *(labelled_count(name, count) for name, count in rest),
        class_="score",
    )


def _item(finding: Finding) -> Html:
    sample = next(iter(finding.samples), None)
    where = None if sample is None else element("p", place(sample), ": ", words(sample), class_="sample")
    title = element("strong", sentence(finding.title))
    return element(
        "li",
        element("p", mark(finding.severity), " ", element("code", finding.code), " ", title),
        element("p", join(finding.occurrences, ". Expected: "), prose(explain(finding.code).rule), class_="rule"),
        where,
        how_to_fix(finding),
    )


# --- findings --------------------------------------------------------------------------------------------------------


WORDS: dict[Severity, tuple[str, str]] = {
    "error": ("Error", "Errors"),
    "warning": ("Warning", "Warnings"),
    "notice": ("Notice", "Notices"),
}
_UNREAD = {
    True: None,
    False: " Documents that could not be read may have some.",
    None: " Documents that were not read, if any, may have some.",
}
OVERVIEW_LINES = 10
# So that severities differ without colours, too.
_SHAPES: dict[Severity, str] = {"error": "◆", "warning": "▲", "notice": "●"}


def findings_part(result: AuditResult, occurrences: int = 0, file: str | None = None) -> Html:
    """The cards of all findings by impact, those of errors open; a sentence if there are none."""
    title = element("h2", "Findings")
    if not result.findings:
        return element("section", title, nothing(result), id="findings")
    names = _names(result)
    by_impact = {impact: [each for each in result.findings if each.impact == impact] for impact in IMPACTS}
    groups = []
    for impact, found in by_impact.items():
        if found:
            count = count_of(sum(finding.count for finding in found), "place")
            tally = element("span", f"· {count_of(len(found), 'problem')}, {count}", class_="tally")
            cards = [_card(finding, names[finding.key]) for finding in found]
            # The script updates the tally while cards are hidden.
            groups.append(element("section", element("h3", IMPACTS[impact], " ", tally), *cards, class_="group"))
    more = None
    if occurrences and result.places > occurrences:
        here = f"This page has {occurrences:,} of {result.places:,} places; "
        more = element("p", f"{here}the CSV, JSONL and Parquet of an audit have all.", class_="more")
        if file is not None:
            more = element("p", f"{here}all are in ", element("a", file, href=quote(file)), ".", class_="more")
    return element("section", title, _filters(result), more, *groups, id="findings")


def overview(result: AuditResult) -> Html | None:
    if not result.findings:
        return None
    names, shown = _names(result), result.findings[:OVERVIEW_LINES]
    rows = []
    for finding in shown:
        count = element("span", f"{finding.count:,}", class_="count")
        parts = (mark(finding.severity), element("code", finding.code), count)
        title = element("span", sentence(finding.title), class_="title")
        href = f"#{names[finding.key]}"
        rows.append(element("li", element("a", *(join(each, " ") for each in parts), title, href=href)))
    lines = element("ol", *rows, class_="overview", role="list", aria_label="First findings")
    more = len(result.findings) - len(shown)
    rest = element("a", f"{more:,} more", href="#findings") if more else None
    return join(lines, element("p", "and ", rest, class_="more") if rest else None)


def nothing(result: AuditResult) -> Html:
    """The sentence that stands in place of findings."""
    if result.urls:
        of_sitemaps = f" in {count_of(sitemaps(result), 'sitemap')}" if result.sitemaps else ""
        sentence_of_all = f"No problems were found in {count_of(result.urls, 'URL')}{of_sitemaps}."
    else:
        sentence_of_all = "No URL was listed, so there was little to check."
    return element("p", sentence_of_all, _UNREAD[result.complete], class_="nothing")


def sitemaps(result: AuditResult) -> int:
    """The number of sitemaps: robots.txt is in the tree, too, and does not count."""
    return sum(row.format != Format.ROBOTS for row in result.sitemaps)


def mark(severity: Severity, word: str | None = None) -> Html:
    shape = element("span", _SHAPES[severity], class_="shape", aria_hidden="true")
    return element("span", shape, " ", word or WORDS[severity][0], class_=f"severity {severity}")


def how_to_fix(finding: Finding) -> Html:
    return element("p", element("strong", "How to fix: "), prose(explain(finding.code).fix), class_="fix")


def _listing(sample: Problem) -> Html:
    if sample.sitemap is None:
        return join("line ", f"{sample.line:,}") if sample.line is not None else Html("-")
    line = None if sample.line is None else f":{sample.line}"
    return join(link(sample.sitemap), line)


def _page_of(url: str | None, sitemap: str | None) -> str | None:
    """The URL of the page that has the problem; None where it is one of the sitemap."""
    return None if url == sitemap else url


def place(sample: Problem) -> Html:
    page = _page_of(sample.url, sample.sitemap)
    return _listing(sample) if page is None else link(page)


def words(sample: Problem) -> Html:
    page = _page_of(sample.url, sample.sitemap)
    text = _without_url(sample.message, page)
    message = element("span", site_text(text), class_="message")
    listed = None if page is None else element("small", "listed in ", _listing(sample), class_="listed")
    if not sample.raw or sample.raw in f"{page} {text}":
        return join(message, listed and " ", listed)
    field = None if sample.field is None else join(site_text(sample.field), ": ")
    raw = element("span", field, element("code", site_text(sample.raw)), class_="raw")
    return join(message, " ", raw, listed and " ", listed)


def _without_url(message: str, url: str | None) -> str:
    """A message behind the URL that it begins with."""
    return message if url is None else message.removeprefix(url).lstrip(": ")


def sentence(title: str) -> str:
    return title[:1].upper() + title[1:]


def _names(result: AuditResult) -> Names:
    """The id of each finding's card: `D03`; of others of a code `S01-warning`, `U15-error-media`."""
    names: Names = {}
    for finding in result.findings:
        ids = ("-".join(finding.key[:parts]) for parts in (1, 2, 3))
        names[finding.key] = next(each for each in ids if each not in names.values())
    return names


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
    status = element("p", count_of(len(result.findings), "problem"), role="status", class_="shown")
    return element("div", group, label, status, class_="filters", hidden=True)


def _card(finding: Finding, name: str) -> Html:
    explanation = explain(finding.code)
    source: Html | str = explanation.source  # a link, or `Convention: …`
    source = join("Source: ", link(source)) if is_address(source) else prose(sentence(source))
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


def _appendix(result: AuditResult) -> Html | None:
    """What this program does about each code: of no use to a reader who runs the site."""
    tools = {finding.code: text for finding in result.findings if (text := explain(finding.code).tool)}
    if not tools:
        return None
    rows = [join(element("dt", element("code", code)), element("dd", prose(text))) for code, text in tools.items()]
    title = element("summary", "How sitemap-reader treats these problems")
    return element("section", element("details", title, element("dl", *rows)), class_="tools", id="tools")


def _samples(finding: Finding) -> Html | None:
    """The samples, which the script replaces by pages of all occurrences where the page has their data."""
    if not finding.samples:
        return None
    items = [
        element("li", element("span", place(each), class_="place"), element("span", words(each), class_="words"))
        for each in finding.samples
    ]
    total = count_of(finding.count, "place")
    shown = total if len(items) >= finding.count else f"{len(items):,} of {total}"
    return element("div", element("p", shown, class_="range"), element("ul", *items), class_="occurrences")


def occurrence_data(result: AuditResult, occurrences: Sequence[Occurrence]) -> Html:
    """The occurrences as data of the script: sitemaps, and id of a card -> rows.

    A sitemap is its text, and whether that is a link. A row is the index of its sitemap, or null, its line; the page
    in the same form as a sitemap, or null; the message, field and value, null where these have it, and 1 where it is
    new.
    """
    names = _names(result)
    sitemaps: dict[str, int] = {}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in names.values()}
    for each in occurrences:
        number = None if each.sitemap is None else sitemaps.setdefault(each.sitemap, len(sitemaps))
        url = _page_of(each.url, each.sitemap)
        message = _without_url(each.message, url)
        value = _plain(each.value) if each.value and each.value not in f"{url} {message}" else None
        page = None if url is None else _address(url)
        row = (number, each.line, page, _plain(message), each.field if value else None, value, int(bool(each.new)))
        rows[names[each.code, each.severity, each.impact]].append(row)
    data = {"sitemaps": [*map(_address, sitemaps)], "rows": rows}
    # Nothing in it can end the element: `<` is escaped.
    json = json_without_commands(orjson.dumps(data, default=str)).decode().replace("<", "\\u003c")
    return element("script", Html(json), type="application/json", id="occurrences")


def _address(url: str) -> tuple[str, bool]:
    return (url, True) if is_address(url) else (_plain(url), False)


def _plain(text: str) -> str:
    """Text of a site as the script shows it: cut, invisible characters by their numbers, in UTF-8."""
    return printable(shorten(text)).encode("utf-8", "replace").decode()


MAX_ROWS = 500
_MAX_INDENT = 6
_NONE = "–"
_MARKS = {"yes": ("✓", "complete"), "no": ("✕", "partial"), "unread": ("–", "not read")}
_FAILED_MARK = ("✕", "failed")
_UNKNOWN_MARK = ("–", "not known")
_COLUMNS = (
    ("Sitemap", False),
    ("Read", False),
    ("Problems", True),
    ("Entries", True),
    ("Valid", True),
    ("Format", False),
    ("Size", True),
    ("Seconds", True),
    ("Stated lastmod", False),
    ("Newest inside", False),
)


# --- sitemaps ---


def sitemaps_part(result: AuditResult) -> Html:
    """The sitemap tree; of a large one the rows that matter most."""
    title = element("h2", "Sitemaps")
    if not result.sitemaps:
        none = "The source does not state its sitemaps." if result.complete is None else "No sitemap was found."
        return element("section", title, element("p", none, class_="nothing"), id="sitemaps")
    shown = _chosen(result.sitemaps)
    unread = _UNKNOWN_MARK if result.complete is None else _MARKS["unread"]
    rows, root = [], ""
    for row in shown:
        root = row.url if row.depth == 0 else root
        rows.append(_row(row, root, unread))
    hint = element("p", "The table scrolls sideways.", class_="hint")
    box = scrolling_table("The sitemaps, each below the one that lists it", _COLUMNS, rows)
    left_out = None
    if more := len(result.sitemaps) - len(shown):
        of_all = f"{more:,} of {count_of(len(result.sitemaps), 'sitemap')} are not shown: "
        which = "indexes, incomplete sitemaps and those with problems came first. The JSON report has all."
        left_out = element("p", of_all + which, class_="more")
    return element("section", title, hint, box, left_out, id="sitemaps")


def _chosen(rows: Sequence[TreeRow]) -> list[TreeRow]:
    """At most MAX_ROWS rows in their order: indexes first, then incomplete ones, those with problems, and the first."""
    if len(rows) <= MAX_ROWS:
        return list(rows)

    def rank(place: int) -> tuple[bool, bool, bool, int]:
        row = rows[place]
        lists = place + 1 < len(rows) and rows[place + 1].depth > row.depth
        return not lists, row.complete != "no", not row.problems, place

    return [rows[place] for place in sorted(sorted(range(len(rows)), key=rank)[:MAX_ROWS])]


def _row(row: TreeRow, root: str, unread: tuple[str, str]) -> list[Html]:
    level = None if row.depth == 0 else element("span", f"level {row.depth + 1}: ", class_="aside")
    name = element("span", level, link(row.url, _below(row, root)), class_=f"depth-{min(row.depth, _MAX_INDENT)}")
    states = {**_MARKS, "unread": unread, "no": _MARKS["no"] if row.entries else _FAILED_MARK}
    shape, word = states.get(row.complete, ("", row.complete))
    is_refused = row.status is not None and row.status >= 400
    if is_refused and row.complete == "yes":  # a robots.txt that may be missing
        shape, word = _UNKNOWN_MARK[0], f"missing ({row.status})"
    reason = row.status if is_refused else (row.problem or "").partition(" ")[0]
    if row.complete == "no" and reason:
        word = f"{word} ({reason})"
    read = join(element("span", shape, class_="shape", aria_hidden="true"), " ", word)
    return [
        element("th", name, scope="row"),
        element("td", read, class_=f"read {row.complete}" if row.complete in _MARKS else None, title=row.problem),
        element("td", _count_text(row.problems), class_="number some" if row.problems else "number"),
        _number(_count_text(row.entries) + "+" * (row.complete == "no" and bool(row.entries))),
        _number(_count_text(row.kept)),
        element("td", _NONE if row.format is None else site_text(row.format)),
        _number(_NONE if row.bytes_decoded is None else size(row.bytes_decoded)),
        _number(_NONE if row.seconds is None else f"{row.seconds:.2f}"),
        element("td", _date(row.lastmod, row.lastmod_precision)),
        element("td", _date(row.newest, row.newest_precision)),
    ]


def _below(row: TreeRow, root: str) -> str | None:
    """The URL without its origin, where that is the root's; else None."""
    if row.depth == 0:
        return None
    try:
        parts = urlsplit(root)
    except ValueError:
        return None
    origin = f"{parts.scheme}://{parts.netloc}/"
    return row.url[len(origin) - 1 :] if parts.netloc and row.url.startswith(origin) else None


def _count_text(count: int | None) -> str:
    return _NONE if count is None else f"{count:,}"


def _date(lastmod: str | None, precision: str | None) -> Html | str:
    """A lastmod as it was stated; day and time may stand on two lines."""
    if lastmod is None or precision is None or precision not in get_args(Precision):
        return _NONE if lastmod is None else site_text(lastmod)
    parts = as_stated(lastmod, precision).split("T", 1)
    day, *time = (element("span", site_text(part), class_="moment") for part in parts)
    return join(day, *(join(" ", each) for each in time))


def size(number: int) -> str:
    """A number of bytes with a unit.

    >>> size(999), size(1_536), size(52_428_800)
    ('999 B', '1.5 KiB', '50 MiB')
    """
    amount, unit = float(number), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_024, larger
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"


# --- figures ---


def figures_part(result: AuditResult) -> Html | None:
    """Charts, each with a table of its numbers; without the extra `analysis` tables with bars."""
    shown = figures(result)
    if not shown:
        return None
    charts: Sequence[Html | None] = draw(shown) or [None] * len(shown)
    parts = [_figure(figure, chart) for figure, chart in zip(shown, charts, strict=True)]
    grid = element("div", *parts, class_="figures")
    return element("section", element("h2", "Figures"), grid, _slowest(result), id="figures")


def _figure(figure: Figure, chart: Html | None) -> Html:
    heading = element("h3", figure.title)
    note = element("figcaption", figure.note) if figure.note else None
    numbers = _numbers(figure, has_bars=chart is None)
    if chart is not None:
        numbers = element("details", element("summary", "Numbers"), numbers)
    return element("figure", heading, chart, note, numbers)


def _numbers(figure: Figure, *, has_bars: bool = False) -> Html:
    most = max(bar.count or 0 for bar in figure.bars)

    def drawn(share: float) -> Html:
        length = element("rect", class_="bar", width=f"{share:.1%}", height="100%")
        return element("svg", length, class_="chart share", aria_hidden="true")

    columns = ((figure.column.capitalize(), False), (figure.unit[:1].upper() + figure.unit[1:], True), ("Share", True))
    rows = [
        [
            element("th", site_text(bar.name), drawn(count / most) if has_bars else None, scope="row"),
            _number(f"{count:,}"),
            _number(f"{count / figure.total:.1%}"),
        ]
        for bar in figure.bars
        if (count := bar.count)
    ]
    return scrolling_table(figure.title, columns, rows)


def _slowest(result: AuditResult) -> Html | None:
    pairs = slowest(result.sitemaps)
    if not pairs:
        return None
    rows = [[element("th", link(url), scope="row"), _number(f"{seconds:.2f}")] for url, seconds in pairs]
    title = f"The {MAX_SLOWEST} slowest sitemaps" if len(pairs) == MAX_SLOWEST else "Sitemaps, the slowest first"
    box = scrolling_table(title, (("Sitemap", False), ("Seconds", True)), rows)
    return element("details", element("summary", title), box, class_="slowest")


def _number(inside: str) -> Html:
    return element("td", inside, class_="number")
