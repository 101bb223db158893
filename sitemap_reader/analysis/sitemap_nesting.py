"""Measure of the nesting of sitemaps: the outcomes of a Snapshot in; each document below the one that lists it, out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..client.summary import count_of
from ..parser.content.sniff import Format
from .chart_spec import parts_of_sites
from .measure import NEWEST_RULE, finding_per_site, in_site_order, is_newest, measure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measure import Measure
    from .tables import SnapshotTables

_COLUMNS = ["site", "sitemap", "parent", "depth", "format", "urls", "newest", "complete", "entries"]
_RULE = (
    "Each document that was read, below the first one that lists it; depth 0: none does. Entries are what it states, "
    "urls the listings of the Snapshot that are from it. A sitemap of which only URLs are known has no format."
)


def tree(snapshot: SnapshotTables) -> Measure:
    """See Snapshot.tree()."""
    documents = _documents(snapshot)
    places = [
        (row, depth, parent)
        for _, part in documents.groupby("site", sort=False)
        for row, depth, parent in _nested(part)
    ]
    order = pd.DataFrame(places, columns=["row", "depth", "parent"])
    frame = documents.loc[order["row"]].reset_index(drop=True)
    frame = frame.assign(depth=order["depth"].astype("int64"), parent=order["parent"].astype("str"))
    frame = in_site_order(frame[_COLUMNS], snapshot)
    finding = finding_per_site(frame, snapshot.sites, _counted, "there is no sitemap", _COMPLETE_SHARE)
    spec = parts_of_sites("urls", "sitemap", "URLs", max_rows=20)
    rule = f"{_RULE} {NEWEST_RULE}"
    rule += f" Only some URLs are here: {snapshot.choice}." if snapshot.choice else ""
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _documents(snapshot: SnapshotTables) -> pd.DataFrame:
    """A row per document, with `parents` and what its URLs in the Snapshot show."""
    outcomes = snapshot.sitemaps.to_pandas(["site", "url", "parents", "format", "entries", "complete"])
    outcomes = outcomes.rename(columns={"url": "sitemap"}).drop_duplicates(["site", "sitemap"])
    urls = snapshot.urls.to_pandas(["site", "sitemap", "lastmod", "lastmod_precision"])
    urls["newest"] = urls["lastmod"].where(is_newest(urls, snapshot.at))
    listed = urls.groupby(["site", "sitemap"], sort=False).agg(urls=("site", "size"), newest=("newest", "max"))
    frame = outcomes.merge(listed.reset_index(), how="outer", on=["site", "sitemap"], sort=False)
    types = {"urls": "int64", "entries": "Int64", "complete": "boolean"}
    order = {key: number for number, key in enumerate(zip(outcomes["site"], outcomes["sitemap"], strict=True))}
    rank = [order.get(key, len(order)) for key in zip(frame["site"], frame["sitemap"], strict=True)]
    frame = frame.assign(_rank=rank).sort_values("_rank", kind="stable").drop(columns="_rank")
    return frame.fillna({"urls": 0}).astype(types).reset_index(drop=True)


def _nested(part: pd.DataFrame) -> Iterator[tuple[int, int, str | None]]:
    """(row, depth, parent) of each document of a site, children in order below their parent; each once."""
    rows = dict(zip(part["sitemap"], part.index, strict=True))
    parents = {name: _parent(name, listed, rows) for name, listed in zip(part["sitemap"], part["parents"], strict=True)}
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    done: set[str] = set()
    for first in (*children.get(None, ()), *parents):  # then those that list each other in a circle
        waiting = [(first, 0)]
        while waiting:
            name, depth = waiting.pop()
            if name not in done:
                done.add(name)
                yield rows[name], depth, parents[name] if depth else None
                waiting += [(child, depth + 1) for child in reversed(children.get(name, ()))]


def _parent(name: str, listed: Any, rows: dict[str, int]) -> str | None:
    """The first other document that lists it, of those in the Snapshot."""
    parents = listed if isinstance(listed, list) or hasattr(listed, "tolist") else ()
    return next((parent for parent in parents if parent in rows and parent != name), None)


_COMPLETE_SHARE = (
    "documents that were read completely",
    lambda part: None if part["complete"].isna().any() else part["complete"].mean(),
)


def _counted(part: pd.DataFrame) -> str:
    with_urls, urls = int((part["urls"] > 0).sum()), int(part["urls"].sum())
    levels = count_of(int(part["depth"].max()) + 1, "level")
    incomplete, unknown = int((part["complete"] == False).sum()), int(part["complete"].isna().sum())  # noqa: E712
    states = [f"{incomplete:,} incomplete"] if incomplete else []
    states += [f"unknown whether {unknown:,} complete"] if unknown else []
    state = ", ".join(states) or "all complete"
    robots = int((part["format"] == Format.ROBOTS).sum())
    files = f" and {count_of(robots, 'robots.txt file')}" if robots else ""
    return f"{count_of(len(part) - robots, 'sitemap')}{files} in {levels}, {with_urls:,} with URLs ({urls:,}); {state}"
