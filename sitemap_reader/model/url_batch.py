"""UrlBatch: many valid URLs of one document, as the parser passes them to JSON lines, Arrow, a state and the audit.

Its values are columns, in a store of model/columns.py; records are made for callers who ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from .columns import CHANGEFREQS, EPOCH, PRECISIONS, SUBSECOND, UrlColumns, lastmod_number
from .problems import Problem
from .records import Outcome, SitemapRef

if TYPE_CHECKING:
    from .records import ChangeFreq, Item, Precision, UrlRecord

_MINUTE = PRECISIONS.index("minute")
PRECISION_CODES: dict[str | None, int] = {name: code for code, name in enumerate(PRECISIONS)}
_PRECISIONS_BY_CODE: dict[int | None, Precision] = dict(enumerate(PRECISIONS))
_CHANGEFREQS_BY_CODE: dict[int | None, ChangeFreq] = dict(enumerate(CHANGEFREQS))
# Code -> name; None for None. Built-in methods, as they are called for every URL.
precision_of = _PRECISIONS_BY_CODE.get
changefreq_of = _CHANGEFREQS_BY_CODE.get


def moment_of(number: int, code: int | None) -> datetime:
    """The moment that a number means in a column of lastmods, beside the code of its precision."""
    return EPOCH + (timedelta(microseconds=number) if code == SUBSECOND else timedelta(seconds=number))


def lastmod_of(number: int | None, code: int | None) -> tuple[datetime | None, Precision | None]:
    return None if number is None else moment_of(number, code), precision_of(code)


def lastmod_columns(lastmod: datetime | None, precision: str | None) -> tuple[int | None, int | None]:
    code = PRECISION_CODES.get(precision)
    return lastmod_number(lastmod, code), code


def states_time(code: int | None) -> bool:
    return code is not None and code >= _MINUTE


_PARAMETER = re.compile(r"[?&][^?&=\n]*=?")


def _column(name: str) -> cached_property[Any]:
    return cached_property(lambda batch: batch.store.values(name, batch.start, batch.stop))


class UrlBatch:
    """URLs in document order: those of `store` from `start` up to `stop`.

    `sitemap` is the URL of the document, as in each record. The columns have a value for each URL: `lastmods` are in
    seconds since 1970-01-01T00:00Z, those with the precision SUBSECOND in microseconds; `precisions` and `changefreqs`
    are indexes of PRECISIONS and CHANGEFREQS. None: not stated.
    """

    locs: cached_property[Sequence[str]] = _column("loc")
    lastmods: cached_property[Sequence[int | None]] = _column("lastmod")
    precisions: cached_property[Sequence[int | None]] = _column("lastmod_precision")
    changefreqs: cached_property[Sequence[int | None]] = _column("changefreq")
    priorities: cached_property[Sequence[float | None]] = _column("priority")
    lines: cached_property[Sequence[int | None]] = _column("line")

    def __init__(self, sitemap: str | None, store: UrlColumns, start: int = 0, stop: int | None = None) -> None:
        self.sitemap = sitemap
        self.store = store
        self.start = start
        self.stop = len(store) if stop is None else stop
        self._items: dict[tuple[str, str], list[Any]] = {}
        self._counts: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return self.stop - self.start

    @cached_property
    def datetimes(self) -> list[datetime | None]:
        return [lastmod_of(*date)[0] for date in zip(self.lastmods, self.precisions, strict=True)]

    @cached_property
    def problems(self) -> dict[int, tuple[Problem, ...]]:
        """Index -> the Problems of the URLs that have any."""
        found = self.store.problems.items()
        return {index - self.start: each for index, each in found if self.start <= index < self.stop}

    @cached_property
    def text(self) -> str:
        """All locs, each behind a line feed."""
        return "\n" + "\n".join(self.locs)

    @cached_property
    def origins(self) -> list[tuple[str, Sequence[int]]]:
        """Each scheme and host, with the indexes of its URLs; of clean URLs only."""
        start = _origin(self.locs[0])  # nearly all batches have one
        if self.text.count(f"\n{start}/") == len(self):
            return [(start, range(len(self)))]
        indexes: dict[str, list[int]] = {}
        for index, loc in enumerate(self.locs):
            indexes.setdefault(_origin(loc), []).append(index)
        return [*indexes.items()]

    @cached_property
    def paths(self) -> str:
        """What all locs have behind their origins, each behind a line feed; of clean URLs only."""
        if len(self.origins) == 1:
            return self.text.replace(f"\n{self.origins[0][0]}/", "\n/")
        return "\n" + "\n".join([loc[len(_origin(loc)) :] for loc in self.locs])

    @cached_property
    def parameters(self) -> list[str]:
        """The parameters of all locs without their values, as `?page=`, `&all`."""
        return _PARAMETER.findall(self.paths) if "?" in self.paths else []

    @cached_property
    def dates(self) -> dict[int | None, Sequence[int]]:
        """Code of a precision -> the lastmods that have it."""
        codes = {*self.precisions}
        if len(codes) == 1 and None not in self.lastmods:
            return {codes.pop(): self.lastmods}  # type: ignore[dict-item]
        found: dict[int | None, list[int]] = {}
        for number, code in zip(self.lastmods, self.precisions, strict=True):
            if number is not None:
                found.setdefault(code, []).append(number)
        return {**found}

    @cached_property
    def newest(self) -> list[tuple[int, datetime, Precision | None]]:
        """The newest lastmod of each precision, with the index of the first URL that has it; in document order."""
        found = []
        for code, numbers in self.dates.items():
            index = self.lastmods.index(newest := max(numbers))
            while self.precisions[index] != code:
                index = self.lastmods.index(newest, index + 1)
            found.append((index, moment_of(newest, code), precision_of(code)))
        return sorted(found, key=itemgetter(0))

    def counts(self, name: str) -> list[int]:
        """The number of items that each URL has in a nested column; of `news` and `mobile` 0 or 1."""
        if name not in self._counts:
            self._counts[name] = self.store.counts(name, self.start, self.stop)
        return self._counts[name]

    def items(self, name: str, key: str) -> list[Any]:
        """The values of a key of all items in a nested column; objects and moments as in records."""
        if (name, key) not in self._items:
            self._items[name, key] = self.store.items(name, key, self.start, self.stop)
        return self._items[name, key]

    def owners(self, name: str) -> list[int]:
        """The index of the URL that has each item in a nested column."""
        return [*chain.from_iterable([index] * number for index, number in enumerate(self.counts(name)))]

    def lists(self, name: str, *keys: str) -> Iterator[tuple[int, list[list[Any]]]]:
        """For each URL with items in a nested column its index, and the values of each key of its items."""
        columns, end = [self.items(name, key) for key in keys], 0
        if not columns[0]:
            return
        for index, number in enumerate(self.counts(name)):
            if number:
                start, end = end, end + number
                yield index, [column[start:end] for column in columns]

    def records(self) -> list[UrlRecord]:
        return self.store.records(self.start, self.stop, self.sitemap)

    def record(self, index: int) -> UrlRecord:
        return self.part(index, index + 1).records()[0]

    def is_before(self, other: UrlBatch) -> bool:
        """Whether the URLs of another batch follow in the same store."""
        return self.store is other.store and self.stop == other.start

    def part(self, start: int, stop: int) -> UrlBatch:
        return UrlBatch(self.sitemap, self.store, self.start + start, self.start + stop)

    def only(self, mask: Sequence[bool]) -> UrlBatch:
        if all(mask):
            return self
        store, at = self.store.empty(), self.start
        for is_wanted, run in groupby(mask):
            start, at = at, at + len([*run])
            if is_wanted:
                store.extend(self.store, start, at)
        return UrlBatch(self.sitemap, store)


def _origin(loc: str) -> str:
    """What a clean URL has before its path."""
    return loc[: loc.index("/", loc.index("://") + 3)]


# --- items -----------------------------------------------------------------------------------------------------------


@attrs.frozen
class OutOfScope:
    """A URL that its document may not list, by what is known when that is read; a robots.txt may verify it later."""

    record: UrlRecord
    problem: Problem | None  # one of the record's, which says so; None where the entry has too many


BatchItem = UrlBatch | SitemapRef | Problem | Outcome
ParserItem = BatchItem | OutOfScope  # as the parser of a crawl returns them
AnyItem = TypeVar("AnyItem", BatchItem, ParserItem)


def items_of(items: Iterable[ParserItem]) -> Iterator[Item]:
    """The items with records in place of each UrlBatch."""
    for item in items:
        if isinstance(item, UrlBatch):
            yield from item.records()
        elif not isinstance(item, OutOfScope):
            yield item


def joined(items: Iterable[AnyItem]) -> list[AnyItem]:
    """The items with one UrlBatch in place of consecutive ones of a store, behind the Problems between them."""
    found: list[AnyItem] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(last, UrlBatch) and isinstance(item, Problem | OutOfScope):
            found.insert(-1, item)
        elif isinstance(last, UrlBatch) and isinstance(item, UrlBatch) and last.is_before(item):
            found[-1] = UrlBatch(last.sitemap, last.store, last.start, item.stop)
        else:
            found.append(item)
    return found
