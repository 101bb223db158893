"""A site's sitemaps against a crawl of it: what the crawl says of listed URLs, and which pages no sitemap lists.

In: a crawl file, which is read twice where pages are missing from the sitemaps. Out: C01 to C06; with an earlier state
and its crawl, X03. Keeps some 130 bytes of a row, never its texts.
"""

from __future__ import annotations

import os
from itertools import compress, count, repeat
from typing import TYPE_CHECKING, ClassVar, Self

import attrs

from ..client.summary import count_of
from ..parser.normalise.dates import period_end
from ..parser.normalise.urls import host
from ..serialize.jsonl import stamp
from ..state.rows import PRECISIONS, micros, moment
from .crawl_file import CrawlFile
from .findings import Check

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from ..model.records import Outcome, Precision
    from .baseline import Baseline
    from .crawl_file import Crawled
    from .findings import Findings, Listed, Place


# ----------------------------------------------------------------------------------------------------
# The lastmods that pages had: added by key, to tell later whether one differs. 64 bits or so for each.
#
# A lastmod is the period that it states: one that only states more of the same time does not differ.


_BITS = 3  # for the place of a precision


class FormerLastmods:
    """Of a page that several sitemaps list, all that they state."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._more: dict[int, set[int]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._first

    def add(self, key: int, lastmod: datetime, precision: Precision | None) -> None:
        """One more."""
        packed = _packed(lastmod, precision)
        if self._first.setdefault(key, packed) != packed:
            self._more.setdefault(key, set()).add(packed)

    def other_than(self, key: int, lastmod: datetime, precision: Precision | None) -> str | None:
        """What the page had, if that is another: the first that was added. None for the same, or where it had none."""
        first = self._first.get(key)
        if first is None or first == _packed(lastmod, precision):
            return None
        if any(_overlap(_unpacked(each), (lastmod, precision or "second")) for each in self._all(key, first)):
            return None
        had, stated = _unpacked(first)
        return had.date().isoformat() if stated == "day" else stamp(had)

    def _all(self, key: int, first: int) -> Iterator[int]:
        yield first
        yield from self._more.get(key, ())


def _packed(lastmod: datetime, precision: Precision | None) -> int:
    return (micros(lastmod) << _BITS) + PRECISIONS.index(precision or "second")


def _unpacked(packed: int) -> tuple[datetime, Precision]:
    number, place = divmod(packed, 1 << _BITS)
    return moment(number), PRECISIONS[place]


def _overlap(one: tuple[datetime, Precision], other: tuple[datetime, Precision]) -> bool:
    """Whether two periods have an instant in common."""
    return one[0] < period_end(*other) and other[0] < period_end(*one)


# Without the columns of a field these cannot be found.
_NEEDED: dict[str, tuple[str, ...]] = {"status": ("C01", "C02", "C06"), "canonical": ("C04",)}
_NOINDEX_FIELDS = frozenset({"noindex", "robots", "reason"})


@attrs.frozen(eq=False)
class _Said:
    """What is wrong with a page. Its canonical is the first `shared` characters of the loc, and `rest`."""

    status: int | None
    noindex: bool
    shared: int | None
    rest: str

    def problems(self, loc: str, crawl: str) -> Iterator[tuple[str, str]]:
        """Code and message of each. Of what is no page nothing more is said."""
        if self.status is not None and self.status >= 400:
            yield "C01", f"{loc} answers {self.status} in {crawl}"
        elif not _is_answer(self.status):
            yield "C02", f"{loc} redirects ({self.status}) in {crawl}"
        else:
            if self.noindex:
                yield "C03", f"{loc} is noindex in {crawl}"
            if self.shared is not None:
                yield "C04", f"{loc} has the canonical {loc[: self.shared]}{self.rest} in {crawl}"


_ABSENT = _Said(None, False, None, "")


class Crawl(Check):
    """C01 to C06. `notes`, once all is read: sentences on what could not be looked at."""

    codes: ClassVar[tuple[str, ...]] = ("C01", "C02", "C03", "C04", "C05", "C06")

    def __init__(self, file: CrawlFile) -> None:
        self.notes: list[str] = []
        self._file = file
        self._said: dict[int, _Said | None] = {}  # None: nothing is wrong
        self._unlisted: set[int] = set()  # pages that a sitemap should list, and none has so far
        self._hosts: set[str] = set()  # of which a URL is listed
        self._met = False  # a listed URL that is in the crawl
        self._missing: dict[str, _Missing] = {}  # while none was
        self._is_whole = True

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Against this file; UsageError where it is none. See CrawlFile."""
        crawl = cls(CrawlFile(os.fspath(path)))
        crawl._take(crawl._file)
        return crawl

    def _take(self, file: CrawlFile) -> None:
        same: dict[tuple[int | None, bool, int | None, str], _Said] = {}  # one for all that say the same
        for row in file:
            key = hash(row.url)
            if key in self._said:  # spelled in another way: the first one counts
                continue
            told = _told(row)
            self._said[key] = None if told is None else same.setdefault(told, _Said(*told))
            if told is None and row.status == 200 and row.indexable:
                self._unlisted.add(key)
        self.notes += _lacking(file)

    def urls(self, listed: Listed, found: Findings) -> None:
        """C01 to C05."""
        self._unlisted.difference_update(listed.keys)
        self._hosts.update([host(f"{origin}/") for origin, _ in listed.origins])
        told = list(map(self._said.get, listed.keys, repeat(_ABSENT)))
        if not self._met:
            self._met = told.count(_ABSENT) < len(told)
            if self._met:
                self._tell_missing(found)
        for place in compress(count(), told):
            self._tell(told[place], listed, place, found)

    def _tell(self, said: _Said | None, listed: Listed, place: int, found: Findings) -> None:
        at = listed.at(place)
        if said is not None and said is not _ABSENT:
            for code, message in said.problems(at["raw"], self._file.name):
                found.note(code, message, **at)
        elif self._met:
            self._miss(at, 1, found)
        else:
            self._missing.setdefault(listed.sitemap, _Missing(at)).count += 1

    def _miss(self, at: Place, number: int, found: Findings) -> None:
        found.note("C05", f"{at['raw']} is listed, and not in {self._file.name}", **at, count=number)

    def _tell_missing(self, found: Findings) -> None:
        """Those that came before the first URL that is in the crawl."""
        for missing in self._missing.values():
            self._miss(missing.first, missing.count, found)
        self._missing.clear()

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Pages that could not be read may be listed."""
        self._is_whole = self._is_whole and outcome.complete

    def end(self, found: Findings) -> None:
        """C06; nothing where the crawl is of another site."""
        name = self._file.name
        if self._missing and not self._met:
            self.notes.append(f"{name} has none of the URLs listed: is it of this site?")
        elif self._unlisted and found.wants(("C06",)):
            self._tell_unlisted(found)

    def _tell_unlisted(self, found: Findings) -> None:
        """In the order of the file. Pages on a host of which no URL is listed are of another site."""
        told = elsewhere = 0
        for row in self._file:
            key = hash(row.url)
            if key not in self._unlisted:
                continue
            self._unlisted.discard(key)
            if host(row.url) not in self._hosts:
                elsewhere += 1
                continue
            told += 1
            message = f"{row.url} is indexable, and no sitemap lists it"
            found.note("C06", message, sitemap=self._file.name, line=row.line, field="url", raw=row.url)
        if elsewhere:
            pages = count_of(elsewhere, "page")
            self.notes.append(f"{self._file.name}: {pages} on hosts that no sitemap lists, left out of C06")
        if told and not self._is_whole:
            self.notes.append("not all sitemaps could be read whole: pages that only these list count for C06")


@attrs.define
class _Missing:
    """How many URLs of a sitemap are not in the crawl, and the first of them."""

    first: Place
    count: int = 0


def _told(row: Crawled) -> tuple[int | None, bool, int | None, str] | None:
    """What is wrong with a page; None for nothing."""
    is_elsewhere = row.canonical is not None and row.canonical != row.url
    if not is_elsewhere and not row.noindex and _is_answer(row.status):
        return None
    shared, rest = _difference(row.url, row.canonical) if is_elsewhere and row.canonical else (None, "")
    return row.status, row.noindex, shared, rest


def _difference(url: str, canonical: str) -> tuple[int, str]:
    """How many characters both begin with, and what else the canonical has: mostly little, and often the same."""
    pairs = enumerate(zip(url, canonical, strict=False))
    shared = next((place for place, (one, other) in pairs if one != other), min(len(url), len(canonical)))
    return shared, canonical[shared:]


def _lacking(file: CrawlFile) -> Iterator[str]:
    """What the file does not tell."""
    missing = {field: codes for field, codes in _NEEDED.items() if field not in file.told}
    if _NOINDEX_FIELDS.isdisjoint(file.told):
        missing["noindex"] = ("C03",)
    if missing:
        codes = sorted(code for each in missing.values() for code in each)
        yield f"{file.name} has no column of {', '.join(missing)}: {', '.join(codes)} cannot be found"
    if file.unusable:
        rows = f"{count_of(file.unusable, 'row')} without a URL of a page"
        yield f"{file.name}: {rows}, the first in line {file.first_unusable}; passed over"


class Unchanged(Check):
    """X03: a lastmod that is another than before, of a page whose content both crawls found to be the same."""

    codes: ClassVar[tuple[str, ...]] = ("X03",)

    def __init__(self, before: FormerLastmods, crawls: tuple[str, str], notes: Collection[str] = ()) -> None:
        self.notes = list(notes)
        self._before = before
        self._crawls = crawls

    @classmethod
    def read(cls, baseline: Baseline, baseline_crawl: str | os.PathLike[str], crawl: str | os.PathLike[str]) -> Self:
        """Against an earlier state, and the crawl of its time; UsageError where a file is none."""
        before, now = CrawlFile(os.fspath(baseline_crawl)), CrawlFile(os.fspath(crawl))
        same = _same_content(before, now)
        lastmods = FormerLastmods()
        for place in baseline.listings():
            key = hash(place.loc)
            if key in same and place.lastmod is not None:
                lastmods.add(key, place.lastmod, place.precision)
        lacking = [file.name for file in (before, now) if "hash" not in file.told]
        notes = [f"{name} has no column of hash: X03 cannot be found" for name in lacking]
        return cls(lastmods, (before.name, now.name), notes)

    def urls(self, listed: Listed, found: Findings) -> None:
        """Each listing with another lastmod."""
        for place in compress(count(), map(self._before.__contains__, listed.keys)):
            lastmod = listed.lastmods[place]
            if lastmod is None:
                continue
            earlier = self._before.other_than(listed.keys[place], lastmod, listed.precisions[place])
            if earlier is not None:
                loc, line = listed.locs[place], listed.lines[place]
                before, now = self._crawls
                message = f"{loc}: the lastmod was {earlier}, and the content is the same in {before} and {now}"
                found.note("X03", message, sitemap=listed.sitemap, line=line, field="lastmod", raw=stamp(lastmod))


def _same_content(before: CrawlFile, now: CrawlFile) -> set[int]:
    """The keys of the pages with the same hash in both. Redirects and errors have content too, but not of the page."""
    hashes = {hash(row.url): hash(row.hash) for row in before if row.hash and _is_page(row)}
    return {key for row in now if row.hash and _is_page(row) and hashes.get(key := hash(row.url)) == hash(row.hash)}


def _is_answer(status: int | None) -> bool:
    """Neither a redirect nor an error; 304 says that the page is as the crawler has it."""
    return status is None or status < 300 or status == 304


def _is_page(row: Crawled) -> bool:
    return _is_answer(row.status)
