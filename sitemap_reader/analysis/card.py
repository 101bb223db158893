"""A Snapshot in a notebook: what one wants to know first, as a small table of HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ..client.summary import count_of
from .measure import BETWEEN_SITES, percent
from .tables import has_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .snapshot import Snapshot

_MOST_SITES = 6


def card(snapshot: Snapshot) -> str:
    """The verdict on lastmods, then ten facts: a column a site."""
    columns = {site: dict(_facts(snapshot, site)) for site in snapshot.sites[:_MOST_SITES]}
    names = dict.fromkeys(name for facts in columns.values() for name in facts)
    head = "".join(f"<th>{escape(site)}</th>" for site in columns)
    rows = [
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(facts[name])}</td>' for facts in columns.values())}</tr>"
        for name in names
    ]
    told = [_when(snapshot), *snapshot.notes]
    left = len(snapshot.sites) - len(columns)
    told += [f"{count_of(left, 'site')} more"] if left > 0 else []
    verdicts = "<br>".join(map(escape, snapshot.verdict.split(BETWEEN_SITES)))
    return (
        f"<div><p><strong>{verdicts}</strong></p>\n"
        f"<table><thead><tr><th></th>{head}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table>\n"
        f"<p>{'<br>'.join(map(escape, told))}</p></div>"
    )


def _when(snapshot: Snapshot) -> str:
    read = f"read {snapshot.read_on}" if snapshot.read_on else "nobody knows when it was read"
    return f"{snapshot.name}, {read}: {_WHOLE[snapshot.complete]}"


_WHOLE = {
    True: "complete",
    False: "partial",
    None: "whether all was read is not known",
}


def _facts(snapshot: Snapshot, site: str) -> Iterator[tuple[str, str]]:
    """Of one site."""
    pages, urls = (_of(table, site) for table in (snapshot.pages, snapshot.urls))
    outcomes, problems = (_of(table, site) for table in (snapshot.sitemaps, snapshot.problems))
    count = pages.num_rows
    yield "pages", f"{count:,}" + (f" in {urls.num_rows:,} listings" if urls.num_rows != count else "")
    yield "sitemaps", _documents(urls, outcomes)
    yield "hosts", _most(pages["host"])
    yield "newest lastmod", _newest(pages)
    yield "lastmod stated", _share(count - pages["lastmod"].null_count, count)
    yield "sections", _sections(pages)
    media = (_share(_having(pages, name), count) for name in ("images", "videos", "news"))
    yield "images, videos, news", ", ".join(media)
    yield "hreflang", _share(_having(pages, "alternates"), count)
    yield (
        "changefreq, priority",
        ", ".join(_share(count - pages[name].null_count, count) for name in ("changefreq", "priority")),
    )
    yield "problems", _most(problems["code"]) if problems.num_rows else "none told"


def _of(table: Any, site: str) -> Any:
    from pyarrow import compute

    rows = table.to_arrow()
    is_here = compute.equal(rows["site"], site)
    return rows if compute.all(is_here).as_py() else rows.filter(is_here)  # mostly there is one, and no copy


def _documents(urls: Any, outcomes: Any) -> str:
    listing = len(urls["sitemap"].unique())
    if not outcomes.num_rows:
        return f"{listing:,} list pages"
    missing = outcomes["complete"].to_pylist().count(False)
    return f"{listing:,} list pages; {f'{missing:,} of' if missing else 'all'} {outcomes.num_rows:,} documents " + (
        "not read whole" if missing else "read whole"
    )


def _most(column: Any) -> str:
    """`3: a.example (90), b.example (8), …`."""
    counts = sorted(column.drop_null().value_counts().to_pylist(), key=lambda each: -each["counts"])
    if not counts:
        return "none"
    told = ", ".join(f"{each['values']} ({each['counts']:,})" for each in counts[:3])
    return f"{len(counts):,}: {told}" + (", …" if len(counts) > 3 else "")


def _newest(pages: Any) -> str:
    from pyarrow import compute

    from ..parser.normalise.dates import format_date

    newest = compute.max(pages["lastmod"]).as_py()
    if newest is None:
        return "none"
    place = compute.index(pages["lastmod"], newest).as_py()
    return format_date(newest, pages["lastmod_precision"][place].as_py())


def _sections(pages: Any) -> str:
    from pyarrow import compute

    folders = compute.fill_null(compute.binary_join_element_wise("/", pages["dir_1"], "/", ""), "/")
    return _most(folders)


def _having(pages: Any, name: str) -> int:
    from pyarrow import compute

    return int(compute.sum(has_any(pages[name])).as_py() or 0)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "-"
