"""Renders the sitemap tree and the figures as HTML tables of a bounded number of rows; states what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from ...client.summary import count_of
from ...model.records import Precision
from ...statistics.facts import as_stated
from .charts import MAX_SLOWEST, draw, figures, slowest
from .document import scrolling_table
from .elements import Html, element, joined, link, site_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...client.sitemap_tree import TreeRow
    from ..findings import AuditResult
    from .charts import Figure

MAX_ROWS = 500
_MAX_INDENT = 6
_NONE = "–"
_COMPLETE = {"yes": ("✓", "complete"), "no": ("✕", "partial"), "unread": ("–", "not read")}
_FAILED = ("✕", "failed")
_UNKNOWN = ("–", "not known")
_COLUMNS = (
    ("Sitemap", False),
    ("Read", False),
    ("Problems", True),
    ("Entries", True),
    ("Kept", True),
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
    unread = _UNKNOWN if result.complete is None else _COMPLETE["unread"]
    rows = [_row(row, root, unread) for row, root in _with_roots(shown)]
    hint = element("p", "The table scrolls sideways.", class_="hint")
    box = scrolling_table("The sitemaps, each below the one that lists it", _COLUMNS, rows)
    return element("section", title, hint, box, _left_out(len(result.sitemaps), len(shown)), id="sitemaps")


def _chosen(rows: Sequence[TreeRow]) -> list[TreeRow]:
    """At most MAX_ROWS rows in their order: indexes first, then incomplete ones, those with problems, and the first."""
    if len(rows) <= MAX_ROWS:
        return list(rows)

    def rank(place: int) -> tuple[bool, bool, bool, int]:
        row = rows[place]
        lists = place + 1 < len(rows) and rows[place + 1].depth > row.depth
        return not lists, row.complete != "no", not row.problems, place

    return [rows[place] for place in sorted(sorted(range(len(rows)), key=rank)[:MAX_ROWS])]


def _left_out(all_rows: int, shown: int) -> Html | None:
    if all_rows == shown:
        return None
    return element(
        "p",
        f"{all_rows - shown:,} of {count_of(all_rows, 'sitemap')} are not shown: "
        "indexes, incomplete sitemaps and those with problems came first. The JSON report has all.",
        class_="more",
    )


def _with_roots(rows: Sequence[TreeRow]) -> Iterator[tuple[TreeRow, str]]:
    """Each row with the URL of the root of its tree."""
    root = ""
    for row in rows:
        root = row.url if row.depth == 0 else root
        yield row, root


def _row(row: TreeRow, root: str, unread: tuple[str, str]) -> list[Html]:
    level = None if row.depth == 0 else element("span", f"level {row.depth + 1}: ", class_="aside")
    name = element("span", level, link(row.url, _below(row, root)), class_=f"depth-{min(row.depth, _MAX_INDENT)}")
    states = {**_COMPLETE, "unread": unread, "no": _COMPLETE["no"] if row.entries else _FAILED}
    shape, word = states.get(row.complete, ("", row.complete))
    if row.complete == "no" and (reason := _reason(row)):
        word = f"{word} ({reason})"
    read = joined(element("span", shape, class_="shape", aria_hidden="true"), " ", word)
    return [
        element("th", name, scope="row"),
        element("td", read, class_=f"read {row.complete}" if row.complete in _COMPLETE else None, title=row.problem),
        element("td", _counted(row.problems), class_="number some" if row.problems else "number"),
        _number(_counted(row.entries) + "+" * (row.complete == "no" and bool(row.entries))),
        _number(_counted(row.kept)),
        element("td", _NONE if row.format is None else site_text(row.format)),
        _number(_NONE if row.bytes_decoded is None else size(row.bytes_decoded)),
        _number(_NONE if row.seconds is None else f"{row.seconds:.2f}"),
        element("td", _date(row.lastmod, row.lastmod_precision)),
        element("td", _date(row.newest, row.newest_precision)),
    ]


def _reason(row: TreeRow) -> str | None:
    """The status of an incomplete sitemap if that is the reason, else the code of its problem."""
    if row.status is not None and row.status >= 400:
        return str(row.status)
    return row.problem.partition(" ")[0] if row.problem else None


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


def _counted(count: int | None) -> str:
    return _NONE if count is None else f"{count:,}"


def _date(lastmod: str | None, precision: str | None) -> Html | str:
    """A lastmod as it was stated; day and time may stand on two lines."""
    if lastmod is None:
        return _NONE
    if precision is None or precision not in get_args(Precision):
        return site_text(lastmod)
    day, *time = (
        element("span", site_text(part), class_="moment") for part in as_stated(lastmod, precision).split("T", 1)
    )
    return joined(day, *(joined(" ", each) for each in time))


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
    drawn = draw(shown)
    charts: Sequence[Html | None] = drawn or [None] * len(shown)
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
    columns = ((figure.column.capitalize(), False), (figure.unit[:1].upper() + figure.unit[1:], True), ("Share", True))
    rows = [
        [
            element("th", site_text(bar.name), _bar(count / most) if has_bars else None, scope="row"),
            _number(f"{count:,}"),
            _number(f"{count / figure.total:.1%}"),
        ]
        for bar in figure.bars
        if (count := bar.count)
    ]
    return scrolling_table(figure.title, columns, rows)


def _bar(share: float) -> Html:
    length = element("rect", class_="bar", width=f"{share:.1%}", height="100%")
    return element("svg", length, class_="chart share", aria_hidden="true")


def _slowest(result: AuditResult) -> Html | None:
    pairs = slowest(result.sitemaps)
    if not pairs:
        return None
    rows = [[element("th", link(url), scope="row"), _number(f"{seconds:.2f}")] for url, seconds in pairs]
    title = f"The {MAX_SLOWEST} slowest sitemaps" if len(pairs) == MAX_SLOWEST else "Sitemaps, the slowest first"
    box = scrolling_table(title, (("Sitemap", False), ("Seconds", True)), rows)
    return element("details", element("summary", title), box, class_="slowest")


# --- tables ---


def _number(inside: str) -> Html:
    return element("td", inside, class_="number")
