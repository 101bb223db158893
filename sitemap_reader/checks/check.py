"""What a check is given, and what all checks are: rules that hear what an audit reads, and note what is wrong.

In: URLs, some of one sitemap at a time; records that have extensions, one by one; references and outcomes. Out: notes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ..model.records import ChangeFreq, Outcome, Precision, SitemapRef, UrlRecord
    from .findings import Findings


@attrs.define
class Listed:
    """Some URLs of one sitemap, in its order, column by column; `text` has all locs, each behind a line feed.

    `keys` stand for the locs: hashes of 64 bits. Different locs have different keys, but for one chance in 37 million
    among a million of them.
    """

    sitemap: str
    locs: Sequence[str]
    lastmods: Sequence[datetime | None]
    precisions: Sequence[Precision | None]
    changefreqs: Sequence[ChangeFreq | None]
    priorities: Sequence[float | None]
    lines: Sequence[int | None]
    keys: Sequence[int]
    text: str
    names_sitemap: bool = True  # else `sitemap` is the dump that they stand in, which does not tell

    @cached_property
    def dated(self) -> list[datetime]:
        """The lastmods of those that have one."""
        return [lastmod for lastmod in self.lastmods if lastmod is not None]

    @cached_property
    def origins(self) -> list[tuple[str, list[int]]]:
        """The places of each origin's URLs. Mostly there is one."""
        start = self.locs[0][: _path_at(self.locs[0])]
        if self.text.count(f"\n{start}/") == len(self.locs):
            return [(start, [*range(len(self.locs))])]
        places: dict[str, list[int]] = {}
        for place, loc in enumerate(self.locs):
            places.setdefault(loc[: _path_at(loc)], []).append(place)
        return [*places.items()]

    def at(self, place: int) -> Place:
        """Where a URL stands, as keywords of Findings.note()."""
        return {"sitemap": self.sitemap, "line": self.lines[place], "field": "loc", "raw": self.locs[place]}


class Place(TypedDict):
    """Where something is wrong."""

    sitemap: str
    line: int | None
    field: str
    raw: str


def listed(sitemap: str, *columns: Sequence[Any], names_sitemap: bool = True) -> Listed:
    """The columns of many URLs: locs, lastmods, precisions, changefreqs, priorities, lines."""
    locs, lastmods, precisions, changefreqs, priorities, lines = columns
    keys, text = [*map(hash, locs)], "\n" + "\n".join(locs)
    return Listed(sitemap, locs, lastmods, precisions, changefreqs, priorities, lines, keys, text, names_sitemap)


def _path_at(loc: str) -> int:
    """Where the path of a clean URL begins."""
    return loc.index("/", loc.index("://") + 3)


class Check:
    """Some rules. A check overrides what it needs to hear; what it does not override costs nothing."""

    codes: ClassVar[tuple[str, ...]]
    is_by_sitemap: ClassVar[bool] = False  # its rules are of what one sitemap lists

    def urls(self, listed: Listed, found: Findings) -> None:
        """Some URLs of one sitemap; each URL of the site passes here once for each listing."""

    def record(self, record: UrlRecord, found: Findings) -> None:
        """A record with images, videos, news or alternates, behind the urls() that it was part of."""

    def ref(self, ref: SitemapRef, found: Findings) -> None:
        """A sitemap that an index or robots.txt names."""

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """The end of a document, behind all that it lists."""

    def end(self, found: Findings) -> None:
        """The end of all."""
