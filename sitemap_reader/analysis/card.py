"""The summary of a Snapshot: a Snapshot in; a small table out, as HTML for a notebook or as text."""

from __future__ import annotations

from html import escape
from itertools import starmap
from typing import TYPE_CHECKING, Any

from ..client.summary import count_of
from ..model.errors import printable
from ..model.problems import percent
from ..parser.content.sniff import Format
from .notes import SITE_SEPARATOR
from .tables import has_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tables import SnapshotTables

_MAX_SITES = 6


def card(snapshot: SnapshotTables, verdict: str) -> str:
    """HTML: the verdict on lastmods, ten facts with one column per site, then the notes."""
    first, *others = ([*map(_escaped, row)] for row in _rows(snapshot))
    head = "".join(f"<th>{site}</th>" for site in first)
    rows = [f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for name, *cells in others]
    verdicts = "<br>".join(map(_escaped, verdict.split(SITE_SEPARATOR)))
    return (
        f"<div><p><strong>{verdicts}</strong></p>\n"
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table>\n"
        f"<p>{'<br>'.join(map(_escaped, _notes(snapshot)))}</p></div>"
    )


def _escaped(text: str) -> str:
    return escape(printable(text))


def text_card(snapshot: SnapshotTables, verdict: str) -> str:
    rows = [[*map(printable, row)] for row in _rows(snapshot)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(starmap(str.ljust, zip(row, widths, strict=True))).rstrip() for row in rows]
    above, below = ([*map(printable, texts)] for texts in (verdict.split(SITE_SEPARATOR), _notes(snapshot)))
    return "\n".join([*above, "", *lines, "", *below])


def _rows(snapshot: SnapshotTables) -> list[list[str]]:
    """The names of the sites, then a row for each fact: its name, and its value for each site."""
    columns = {site: dict(_facts(snapshot, site)) for site in snapshot.sites[:_MAX_SITES]}
    names = dict.fromkeys(name for facts in columns.values() for name in facts)
    return [["", *columns], *([name, *(facts[name] for facts in columns.values())] for name in names)]


def _notes(snapshot: SnapshotTables) -> list[str]:
    more = len(snapshot.sites) - _MAX_SITES
    read = f"read {snapshot.read_on}" if snapshot.read_on else "time of reading unknown"
    first = "; ".join([f"{snapshot.name}, {read}: {_COMPLETENESS[snapshot.complete]}", *earlier_states(snapshot)])
    return [first, *snapshot.notes, *([f"{count_of(more, 'site')} more"] if more > 0 else [])]


def earlier_states(snapshot: SnapshotTables) -> Iterator[str]:
    """`43 earlier states since 2026-01-15`; nothing without any."""
    if snapshot.earlier:
        first = snapshot.earlier[0].read_at
        since = f" since {first:%Y-%m-%d}" if first else ""
        yield f"{count_of(len(snapshot.earlier), 'earlier state')}{since}"


_COMPLETENESS = {True: "complete", False: "partial", None: "completeness unknown"}


def _facts(snapshot: SnapshotTables, site: str) -> Iterator[tuple[str, str]]:
    pages, urls = (_rows_of_site(table, site) for table in (snapshot.pages, snapshot.urls))
    outcomes, problems = (_rows_of_site(table, site) for table in (snapshot.sitemaps, snapshot.problems))
    count = pages.num_rows
    yield "pages", f"{count:,}" + (f" in {urls.num_rows:,} listings" if urls.num_rows != count else "")
    yield "sitemaps", _documents(urls, outcomes)
    yield "hosts", _top_values(pages["host"])
    yield "newest lastmod", _newest(pages)
    yield "lastmod stated", _share(count - pages["lastmod"].null_count, count)
    yield "sections", _top_values(pages["section"])
    media = (_share(_count_with(pages, name), count) for name in ("images", "videos", "news"))
    yield "images, videos, news", ", ".join(media)
    yield "hreflang", _share(_count_with(pages, "alternates"), count)
    hints = (_share(count - pages[name].null_count, count) for name in ("changefreq", "priority"))
    yield "changefreq, priority", ", ".join(hints)
    yield "problems", _top_values(problems["code"]) if problems.num_rows else "none reported"


def _rows_of_site(table: Any, site: str) -> Any:
    from pyarrow import compute

    rows = table.to_arrow()
    is_here = compute.equal(rows["site"], site)
    return rows if compute.all(is_here).as_py() else rows.filter(is_here)  # usually the only site: no copy


def _documents(urls: Any, outcomes: Any) -> str:
    """`10, of which 8 have URLs; all complete`; robots.txt is no sitemap."""
    with_urls = len(urls["sitemap"].unique())
    if not outcomes.num_rows:
        return f"{with_urls:,} with URLs"
    sitemaps = [row for row in outcomes.select(["format", "complete"]).to_pylist() if row["format"] != Format.ROBOTS]
    incomplete = [row["complete"] for row in sitemaps].count(False)
    state = f"{incomplete:,} incomplete" if incomplete else "all complete"
    return f"{len(sitemaps):,}, of which {with_urls:,} have URLs; {state}"


def _top_values(column: Any) -> str:
    """The number of distinct values, then the most frequent ones: `3: a.example (90), b.example (8), …`."""
    counts = sorted(column.drop_null().value_counts().to_pylist(), key=lambda value: -value["counts"])
    if not counts:
        return "none"
    top = ", ".join(f"{value['values']} ({value['counts']:,})" for value in counts[:3])
    return f"{len(counts):,}: {top}" + (", …" if len(counts) > 3 else "")


def _newest(pages: Any) -> str:
    from pyarrow import compute

    from ..parser.normalise.dates import format_date

    newest = compute.max(pages["lastmod"]).as_py()
    if newest is None:
        return "none"
    row = compute.index(pages["lastmod"], newest).as_py()
    return format_date(newest, pages["lastmod_precision"][row].as_py())


def _count_with(pages: Any, name: str) -> int:
    from pyarrow import compute

    return int(compute.sum(has_any(pages[name])).as_py() or 0)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "-"
