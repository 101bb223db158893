"""The HTML page of an audit, of one site or several, and a short form for notebooks: what their templates need.

Its figures, of a few bars each: lastmods by month, response times, sections, formats.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import quote, urlsplit

import attrs
import orjson

from ..model.errors import json_without_commands, printable
from ..model.records import Precision
from ..pages.rendering import is_address, render, shorten
from ..parser.content.sniff import Format
from ..statistics.facts import as_stated
from .findings import IMPACTS, SEVERITIES
from .occurrences import with_url
from .rule_docs import explain

if TYPE_CHECKING:
    from ..client.sitemap_tree import TreeRow
    from ..model.problems import Problem
    from .findings import AuditResult, Finding, FindingKey
    from .occurrences import Occurrence


# The width of a figure and of a gap, in bars.
MAX_WIDTH_UNITS, GAP_WIDTH_UNITS = 60, 6
MAX_NAMES = 12
MAX_SLOWEST = 20
# As many labels of a year or a month have space below a figure on a phone.
_MAX_LABELS = 10
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Longer runs of empty months are drawn as a gap.
_MAX_EMPTY = 12
_MONTH = re.compile(r"([0-9]{1,4})-(0[1-9]|1[0-2])")
# Seconds; a response is in the interval that begins at the last edge it has reached.
_EDGES = (0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_SPANS = (*(f"{start:g}–{end:g}" for start, end in pairwise(_EDGES)), f"{_EDGES[-1]:g}+")


@attrs.frozen
class Bar:
    """A name and its count; a count of None is a gap, for a time without URLs."""

    name: str
    count: int | None


@attrs.frozen
class Figure:
    """A bar chart; its title ends with its unit. Vertical bars are in the order of their names."""

    title: str
    column: str  # the heading of the names
    unit: str  # that of the counts
    bars: tuple[Bar, ...]
    is_vertical: bool = False
    note: str = ""

    @property
    def total(self) -> int:
        return sum(bar.count or 0 for bar in self.bars)

    @property
    def most(self) -> int:
        return max(bar.count or 0 for bar in self.bars)

    @property
    def columns(self) -> list[Column]:
        """The bars as columns; few have their numbers, of many some have a label."""
        width = width_in_bars(self.bars)
        apart = math.ceil(width / _MAX_LABELS)
        columns, end, year = [], -apart, ""
        for place, bar in enumerate(self.bars):
            start = width_in_bars(self.bars[:place])
            is_labelled = bar.count is None or (start - end >= apart and self._is_landmark(place, width))
            label = self._label(bar, year) if is_labelled else ()
            if label:
                end, year = start, bar.name[:4] if bar.count is not None else ""
            amount = short_count(bar.count) if width <= _MAX_LABELS else ""
            columns.append(Column(bar.count, (bar.count or 0) / self.most, amount, label))
        return columns

    def _is_landmark(self, place: int, width: int) -> bool:
        """Whether a bar may have a label: any of few, else the first, one after a gap, each January or fifth."""
        bar = self.bars[place]
        if width <= _MAX_LABELS or place == 0 or self.bars[place - 1].count is None:
            return True
        return bar.name.endswith("-01") if self.column == "month" else place % 5 == 0

    def _label(self, bar: Bar, year: str) -> tuple[str, ...]:
        """The lines of a bar's name; of a month the year only where it differs from that of the label before."""
        if self.column != "month" or bar.count is None:
            return tuple(bar.name.replace("–", "–\n").split("\n"))
        month = _MONTHS[int(bar.name[-2:]) - 1]
        return (month,) if bar.name[:4] == year else (month, bar.name[:4])


@attrs.frozen
class Column:
    """A vertical bar: its count, its height as a share of the highest, and the texts above and below it."""

    count: int | None
    share: float
    amount: str
    label: tuple[str, ...]


def short_count(count: int | None) -> str:
    """The number above a column: `950`, `12k`; nothing for none."""
    if not count:
        return ""
    return f"{count:,}" if count < 10_000 else f"{count / 1_000:,.0f}k" if count < 1_000_000 else f"{count / 1e6:,.1f}M"


def figures(result: AuditResult) -> tuple[Figure, ...]:
    """The figures that are not empty."""
    frequent = (_most_frequent(result, group) for group in _TITLES)
    times = _times(result.sitemaps)
    is_spread = len(times.bars) > 1  # one column says less than its table
    return tuple(each for each in (_months(result), *[times] * is_spread, *frequent) if each.total)


def width_in_bars(bars: Iterable[Bar]) -> int:
    return sum(GAP_WIDTH_UNITS if bar.count is None else 1 for bar in bars)


def slowest(rows: Iterable[TreeRow]) -> list[tuple[str, float]]:
    timed = ((row.url, seconds) for row in rows if (seconds := _seconds(row)) is not None)
    return sorted(timed, key=lambda pair: (-pair[1], pair[0]))[:MAX_SLOWEST]


# The time that a bar stands for -> its number from year and month, and its name from that number.
_TIME_UNITS: dict[str, tuple[Callable[[int, int], int], Callable[[int], str]]] = {
    "month": (lambda year, month: year * 12 + month - 1, lambda place: f"{place // 12:04}-{place % 12 + 1:02}"),
    "year": (lambda year, month: year, lambda place: f"{place:04}"),
    "decade": (lambda year, month: year // 10, lambda place: f"{place:03}0s"),
    "century": (lambda year, month: year // 100, lambda place: f"{place:02}00s"),
}


def _months(result: AuditResult) -> Figure:
    counts = [
        (int(match[1]), int(match[2]), fact.count)
        for fact in result.facts
        if fact.group == "lastmod month" and (match := _MONTH.fullmatch(fact.name))
    ]
    undated = sum(fact.count for fact in result.facts if fact.group == "lastmod none")
    steps = []
    for name, (place_of, name_of) in _TIME_UNITS.items():
        places: Counter[int] = Counter()
        for year, month, count in counts:
            places[place_of(year, month)] += count
        steps.append((name, _bars_with_gaps(places, name_of)))
    unit, bars = next((each for each in steps if width_in_bars(each[1]) <= MAX_WIDTH_UNITS), steps[-1])
    most = max(bars, key=lambda bar: bar.count or 0, default=None)
    notes = [f"Most: {most.count:,} in {most.name}."] if most and width_in_bars(bars) > _MAX_LABELS else []
    notes += [f"{undated:,} {'URL states' if undated == 1 else 'URLs state'} no lastmod."] if undated else []
    return Figure(f"Lastmod by {unit} (URLs)", unit, "URLs", bars, is_vertical=True, note=" ".join(notes))


def _bars_with_gaps(counts: Counter[int], name_of: Callable[[int], str]) -> tuple[Bar, ...]:
    bars: list[Bar] = []
    before: int | None = None
    for place in sorted(counts):
        between = range(place if before is None else before + 1, place)
        if len(between) > _MAX_EMPTY:
            bars.append(Bar("…", None))
        else:
            bars += [Bar(name_of(empty), 0) for empty in between]
        bars.append(Bar(name_of(place), counts[place]))
        before = place
    return tuple(bars)


_TITLES = {"sections": ("Sections (URLs)", "folder", "URLs"), "formats": ("Formats (sitemaps)", "format", "sitemaps")}


def _most_frequent(result: AuditResult, group: str) -> Figure:
    counts: Counter[str] = Counter()
    for fact in result.facts:
        if fact.group == group:
            counts[fact.name] += fact.count
    other = counts.pop("other", 0)
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    other += sum(count for _, count in pairs[MAX_NAMES:])
    shown = pairs[:MAX_NAMES] + [("other", other)] * bool(other)
    title, column, unit = _TITLES[group]
    return Figure(title, column, unit, tuple(Bar(name, count) for name, count in shown))


def _times(rows: Iterable[TreeRow]) -> Figure:
    times = [seconds for row in rows if (seconds := _seconds(row)) is not None]
    reached = Counter(bisect_right(_EDGES, seconds) - 1 for seconds in times)
    ends = range(min(reached, default=0), max(reached, default=-1) + 1)
    bars = tuple(Bar(_SPANS[place], reached[place]) for place in ends)
    middle = max(math.ceil(sorted(times)[len(times) // 2] * 100), 1) / 100 if times else 0
    note = f"Half of them took {middle:.2f} s or less, fetched and read." if times else ""
    return Figure("Response times in seconds (sitemaps)", "seconds", "sitemaps", bars, is_vertical=True, note=note)


def _seconds(row: TreeRow) -> float | None:
    """The response time of a sitemap; None if unknown or invalid."""
    seconds = row.seconds
    if seconds is None or row.format == Format.ROBOTS:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


# A notebook is saved with its output, which should stay small.
FRAGMENT_FINDINGS = 50
# Of the sitemap trees of all sites, and of that of each at least.
MAX_ROWS, _MIN_ROWS = 500, 20


def render_page(result: AuditResult, occurrences: Sequence[Occurrence] = (), file: str | None = None) -> str:
    """The page of one site, with the data of these occurrences; `file` is the name of one that has all."""
    return _page("audit.html", [SiteView(result, occurrences=occurrences)], file)


def render_pages(results: Sequence[AuditResult], occurrences: Sequence[Sequence[Occurrence]], headline: str) -> str:
    """The page of several sites: a table of them, then a part for each, with all that the page of one has."""
    limit = max(MAX_ROWS // len(results), _MIN_ROWS)
    pairs = enumerate(zip(results, occurrences or [()] * len(results), strict=True), 1)
    sites = [SiteView(result, f"site-{number}-", found, limit) for number, (result, found) in pairs]
    return _page("audit_sites.html", sites, None, headline=headline)


def _page(template: str, sites: Sequence[SiteView], file: str | None, **values: Any) -> str:
    has_rows = any(site.occurrences for site in sites)
    return render(
        template,
        scripts=("script.js",),
        **_WORDS,
        sites=sites,
        severities_found={finding.severity for site in sites for finding in site.result.findings},
        data=_occurrence_data(sites) if has_rows else None,
        file=file and {"name": file, "url": quote(file, errors="replace")},
        **values,
    )


def render_fragment(result: AuditResult) -> str:
    """A short report to embed in another page: no script, and styles for its own elements only."""
    return render("audit_fragment.html", **_WORDS, site=SiteView(result), limit=FRAGMENT_FINDINGS)


_WORDS: dict[str, Any] = {
    "severities": {"error": ("Error", "Errors"), "warning": ("Warning", "Warnings"), "notice": ("Notice", "Notices")},
    # So that severities differ without colours, too.
    "shapes": {"error": "◆", "warning": "▲", "notice": "●"},
    "explain": explain,
    "with_url": with_url,
}


@attrs.frozen
class Mark:
    """A shape and words; `css` is a class."""

    shape: str
    words: str
    css: str = ""


_READ = {"yes": Mark("✓", "complete"), "no": Mark("✕", "partial", "no"), "unread": Mark("–", "not read", "unread")}
_FAILED = Mark("✕", "failed", "no")
_UNKNOWN = Mark("–", "not known", "unread")


@attrs.frozen
class SiteView:
    """An audit of one site as the templates show it; its ids begin with `prefix`."""

    result: AuditResult
    prefix: str = ""
    occurrences: Sequence[Occurrence] = ()
    max_rows: int = MAX_ROWS

    @property
    def places(self) -> int:
        """How many places the occurrences stand for."""
        return sum(each.count for each in self.occurrences)

    @property
    def state(self) -> str:
        """A class: whether all was read."""
        return {True: "complete", False: "partial", None: "unknown"}[self.result.complete]

    @property
    def counts(self) -> list[tuple[str, int | None]]:
        """The numbers at the head beside those of problems; None is unknown."""
        result = self.result
        is_known = result.complete is not None or bool(result.sitemaps)
        return [
            *([("New places", sum(each.new or 0 for each in result.findings))] if self.has_known else []),
            ("URLs listed", None if result.dropped is None else result.listed),
            ("Valid URLs", result.urls),
            *([("URLs in unreadable sitemaps", result.unread)] if result.unread else []),
            ("URLs that may be ignored", result.dropped),
            *([("URLs of other hosts, not checked", result.not_checked)] if result.not_checked else []),
            ("Pages", result.pages),
            ("Sitemaps", self.sitemaps if is_known else None),
        ]

    @property
    def problems(self) -> list[tuple[str, int]]:
        """Each severity with its number of problems."""
        return [(severity, self.result.count(severity)) for severity in SEVERITIES]

    @property
    def has_known(self) -> bool:
        return any(finding.new is not None for finding in self.result.findings) or self.result.fixed is not None

    @property
    def trend(self) -> str:
        """`3 new, 12 fixed` since the known findings; empty without such."""
        new, fixed = sum(each.new or 0 for each in self.result.findings), self.result.fixed
        return f"{new:,} new, {fixed.count if fixed else 0:,} fixed" if self.has_known else ""

    @property
    def sitemaps(self) -> int:
        """The number of sitemaps: robots.txt is in the tree, too, and does not count."""
        return sum(row.format != Format.ROBOTS for row in self.result.sitemaps)

    @property
    def groups(self) -> list[tuple[str, list[Finding]]]:
        """The findings by what they cost, with the title of each group."""
        found = {impact: [each for each in self.result.findings if each.impact == impact] for impact in IMPACTS}
        return [(IMPACTS[impact], findings) for impact, findings in found.items() if findings]

    @cached_property
    def names(self) -> dict[FindingKey, str]:
        """The id of each finding's card: `D03`; of others of a code `S01-warning`, `U15-error-media`."""
        names: dict[FindingKey, str] = {}
        for finding in self.result.findings:
            ids = (self.prefix + "-".join(finding.key[:parts]) for parts in (1, 2, 3))
            names[finding.key] = next(each for each in ids if each not in names.values())
        return names

    @cached_property
    def tools(self) -> dict[str, str]:
        """What this program does about each code: of no use to a reader who runs the site."""
        return {finding.code: text for finding in self.result.findings if (text := explain(finding.code).tool)}

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return figures(self.result)

    @cached_property
    def slowest(self) -> list[tuple[str, float]]:
        return slowest(self.result.sitemaps)

    @property
    def tree(self) -> list[TreeLine]:
        """At most `max_rows` rows in their order: indexes first, then incomplete ones, those with problems."""
        rows, lines, root = self.result.sitemaps, [], ""
        for row in (rows[place] for place in sorted(sorted(range(len(rows)), key=self._rank)[: self.max_rows])):
            root = row.url if row.depth == 0 else root
            lines.append(TreeLine(row, root, is_unknown=self.result.complete is None))
        return lines

    def _rank(self, place: int) -> tuple[bool, bool, bool, int]:
        rows = self.result.sitemaps
        row = rows[place]
        is_index = place + 1 < len(rows) and rows[place + 1].depth > row.depth
        return not is_index, row.complete != "no", not row.problems, place

    def place(self, sample: Problem) -> Place:
        url, sitemap = sample.url, sample.sitemap
        page = None if url == sitemap else url
        message = _without_url(sample.message, page)
        raw = sample.raw if sample.raw and sample.raw not in f"{page} {message}" else None
        return Place(page, sitemap, sample.line, message, sample.field if raw else None, raw)


@attrs.frozen
class Place:
    """Where a problem is: of a page, which the sitemap lists at the line, or, with no page, of the sitemap itself."""

    page: str | None
    sitemap: str | None
    line: int | None
    message: str
    field: str | None
    raw: str | None


def _without_url(message: str, url: str | None) -> str:
    """A message behind the URL that it begins with."""
    return message if url is None else message.removeprefix(url).lstrip(": ")


@attrs.frozen
class TreeLine:
    """A row of the sitemap tree; `root` is the URL at depth 0 above it, `is_unknown`: the source has no outcomes."""

    row: TreeRow
    root: str
    is_unknown: bool

    @property
    def name(self) -> str:
        """The URL, below the root without its origin."""
        try:
            parts = urlsplit(self.root)
        except ValueError:
            return self.row.url
        origin = f"{parts.scheme}://{parts.netloc}/"
        is_below = bool(self.row.depth and parts.netloc) and self.row.url.startswith(origin)
        return self.row.url[len(origin) - 1 :] if is_below else self.row.url

    @property
    def read(self) -> Mark:
        """Whether it was read, and why not."""
        row = self.row
        mark = _READ.get(row.complete, Mark("", row.complete))
        if row.complete == "unread" and self.is_unknown:
            mark = _UNKNOWN
        if row.complete == "no" and not row.entries:
            mark = _FAILED
        is_refused = row.status is not None and row.status >= 400
        if is_refused and row.complete == "yes":  # a robots.txt that may be missing
            return Mark(_UNKNOWN.shape, f"missing ({row.status})")
        reason = row.status if is_refused else (row.problem or "").partition(" ")[0]
        return attrs.evolve(mark, words=f"{mark.words} ({reason})") if row.complete == "no" and reason else mark

    @property
    def cells(self) -> list[tuple[str, Any, bool]]:
        """Column, value, and whether it is a number, of what stands behind the columns of name and state."""
        row = self.row
        entries = None if row.entries is None else f"{row.entries:,}" + "+" * (row.complete == "no" and row.entries > 0)
        return [
            ("Problems", None if row.problems is None else f"{row.problems:,}", True),
            ("Entries", entries, True),
            ("Valid", None if row.kept is None else f"{row.kept:,}", True),
            ("Format", row.format, False),
            ("Size", None if row.bytes_decoded is None else size(row.bytes_decoded), True),
            ("Seconds", None if row.seconds is None else f"{row.seconds:.2f}", True),
            ("Stated lastmod", _date(row.lastmod, row.lastmod_precision), False),
            ("Newest inside", _date(row.newest, row.newest_precision), False),
        ]


def _date(lastmod: str | None, precision: str | None) -> str | None:
    """A lastmod as it was stated, with a space before its time."""
    if lastmod is None or precision is None or precision not in get_args(Precision):
        return lastmod
    return as_stated(lastmod, precision).replace("T", " ", 1)


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


# --- data of the script ---


def _occurrence_data(sites: Sequence[SiteView]) -> str:
    """The occurrences as JSON for the script: sitemaps, and id of a card -> rows.

    A sitemap is its text, and whether that is a link. See _occurrence_row().
    """
    sitemaps: dict[str, int] = {}
    rows: dict[str, list[tuple[object, ...]]] = {}
    for site in sites:
        names = site.names
        for each in site.occurrences:
            name = names[each.code, each.severity, each.impact]
            rows.setdefault(name, []).append(_occurrence_row(each, sitemaps))
    data = {"sitemaps": [*map(_address, sitemaps)], "rows": rows}
    # Nothing in it can end the element: `<` is escaped.
    return json_without_commands(orjson.dumps(data, default=str)).decode().replace("<", "\\u003c")


def _occurrence_row(found: Occurrence, sitemaps: dict[str, int]) -> tuple[object, ...]:
    """The index of its sitemap, or null, its line; the page in the form of a sitemap, or null if it is one of it.

    Then the message, field and value, null where these have it; 1 where it is new; the number of places.
    """
    number = None if found.sitemap is None else sitemaps.setdefault(found.sitemap, len(sitemaps))
    url = None if found.url == found.sitemap else found.url
    message = _without_url(found.message, url)
    value = _plain(found.value) if found.value and found.value not in f"{url} {message}" else None
    page = None if url is None else _address(url)
    field = found.field if value else None
    return number, found.line, page, _plain(message), field, value, int(bool(found.new)), found.count


def _address(url: str) -> tuple[str, bool]:
    return (url, True) if is_address(url) else (_plain(url), False)


def _plain(text: str) -> str:
    """Text of a site as the script shows it: cut, invisible characters by their numbers, in UTF-8."""
    return printable(shorten(text)).encode("utf-8", "replace").decode()
