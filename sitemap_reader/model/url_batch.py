"""UrlBatch: many valid URLs of one document, as the parser passes them to JSON lines, Arrow, a state and the audit.

The scanner makes a batch of a block of entries, expat's reader one of records, a state one of columns. Each of the
three forms is made from the one that is there on first use, so that a URL costs no object that is not needed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import compress, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args

from .problems import Problem
from .records import EXTENSIONS, NO_EXTENSIONS, ChangeFreq, Item, Outcome, Precision, SitemapRef, UrlRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
CHANGEFREQS: tuple[ChangeFreq, ...] = get_args(ChangeFreq)
SUBSECOND, _MINUTE = PRECISIONS.index("subsecond"), PRECISIONS.index("minute")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PRECISION_CODES: dict[str | None, int] = {name: code for code, name in enumerate(PRECISIONS)}
_CHANGEFREQ_CODES: dict[str | None, int] = {name: code for code, name in enumerate(CHANGEFREQS)}
_PRECISIONS_BY_CODE: dict[int | None, Precision] = dict(enumerate(PRECISIONS))
_CHANGEFREQS_BY_CODE: dict[int | None, ChangeFreq] = dict(enumerate(CHANGEFREQS))
# Code -> name; None for None. Built-in methods, as they are called for every URL.
precision_of = _PRECISIONS_BY_CODE.get
changefreq_of = _CHANGEFREQS_BY_CODE.get
_MICROSECOND = timedelta(microseconds=1)


# --- values ----------------------------------------------------------------------------------------------------------


def lastmod_of(number: int | None, code: int | None) -> tuple[datetime | None, Precision | None]:
    """The lastmod and the precision that two columns state."""
    if number is None:
        return None, precision_of(code)
    length = timedelta(microseconds=number) if code == SUBSECOND else timedelta(seconds=number)
    return EPOCH + length, precision_of(code)


def states_time(code: int | None) -> bool:
    """Whether a lastmod of this precision has a time of day."""
    return code is not None and code >= _MINUTE


def micros(moment: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return (moment - EPOCH) // _MICROSECOND


def lastmod_columns(lastmod: datetime | None, precision: str | None) -> tuple[int | None, int | None]:
    """A lastmod as its two columns."""
    code = PRECISION_CODES.get(precision)
    if lastmod is None:
        return None, code
    if code == SUBSECOND:
        return micros(lastmod), code
    since = lastmod - EPOCH
    return since.days * 86_400 + since.seconds, code


# --- the batch -------------------------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """Columns of equal length, without extensions and Problems.

    `lastmods` are in seconds since 1970-01-01T00:00Z, those with the precision SUBSECOND in microseconds. `precisions`
    and `changefreqs` are indexes of PRECISIONS and CHANGEFREQS. None: not stated.
    """

    locs: Sequence[str]
    lastmods: Sequence[int | None]
    precisions: Sequence[int | None]
    changefreqs: Sequence[int | None]
    priorities: Sequence[float | None]
    lines: Sequence[int | None]


class ScannedBlock(Protocol):
    """Entries that were scanned; each method makes something of those from `start` up to `stop`."""

    def columns(self, start: int, stop: int, /) -> tuple[Sequence[Any], ...]:
        """Their Columns."""

    def datetimes(self, start: int, stop: int, /) -> list[datetime | None]:
        """Their lastmods."""

    def records(self, start: int, stop: int, sitemap: str | None, /) -> list[UrlRecord]:
        """Their records, with extensions."""

    def json_lines(self, start: int, stop: int, sitemap: bytes, end: bytes, /) -> bytes:
        """The JSON lines of entries without extensions: see serialize/jsonl.py."""


class UrlBatch:
    """URLs in document order; `sitemap` is the URL of the document, as in each record."""

    def __init__(
        self,
        sitemap: str | None,
        *,
        records: list[UrlRecord] | None = None,
        columns: Columns | None = None,
        block: tuple[ScannedBlock, int, int] | None = None,
        is_plain: bool = False,
    ) -> None:
        """One of the three forms. `is_plain`: no URL has extensions, extras or Problems, as in columns alone."""
        self.sitemap = sitemap
        self.block = block
        self.is_plain = is_plain or columns is not None
        self._records = records
        if columns is not None:
            self.columns = columns

    def __len__(self) -> int:
        if self._records is not None:
            return len(self._records)
        return self.block[2] - self.block[1] if self.block else len(self.columns.locs)

    @cached_property
    def columns(self) -> Columns:
        """All that the protocol itself has."""
        if self.block is not None:
            block, start, stop = self.block
            return Columns(*block.columns(start, stop))
        columns: list[Any] = [*zip(*map(_column_values, self.records()), strict=True)] or [()] * len(Columns._fields)
        return Columns(*columns)

    def records(self) -> list[UrlRecord]:
        """The record of each URL; the same objects in each call where the batch was made of records."""
        if self._records is not None:
            return self._records
        if self.block is not None:
            block, start, stop = self.block
            return block.records(start, stop, self.sitemap)
        locs, _, precisions, changefreqs, priorities, lines = self.columns
        names = map(precision_of, precisions), map(changefreq_of, changefreqs)
        sparse = *map(repeat, NO_EXTENSIONS), repeat(()), repeat(self.sitemap)
        return [*map(UrlRecord, locs, self.datetimes(), *names, priorities, *sparse, lines)]

    def datetimes(self) -> list[datetime | None]:
        """The lastmod of each URL."""
        if self._records is not None:
            return [record.lastmod for record in self._records]
        if self.block is not None:
            block, start, stop = self.block
            return block.datetimes(start, stop)
        return [lastmod_of(*date)[0] for date in zip(self.columns.lastmods, self.columns.precisions, strict=True)]

    @cached_property
    def detailed(self) -> dict[int, UrlRecord]:
        """Index -> record of the URLs with extensions, extras or Problems."""
        if self.is_plain:
            return {}
        return {index: record for index, record in enumerate(self.records()) if details_of(record) != NO_DETAILS}

    def only(self, mask: Sequence[bool]) -> UrlBatch:
        """The URLs whose mask is true."""
        if self.is_plain:
            columns: list[Any] = [[*compress(column, mask)] for column in self.columns]
            return UrlBatch(self.sitemap, columns=Columns(*columns))
        return UrlBatch(self.sitemap, records=[*compress(self.records(), mask)])


# What a record has beside its columns, in the order of its fields.
details_of = attrgetter(*EXTENSIONS, "extras", "problems")
NO_DETAILS = (*NO_EXTENSIONS, (), ())


def _column_values(record: UrlRecord) -> tuple[Any, ...]:
    dates = lastmod_columns(record.lastmod, record.lastmod_precision)
    return record.loc, *dates, _CHANGEFREQ_CODES.get(record.changefreq), record.priority, record.line


# --- items -----------------------------------------------------------------------------------------------------------

BatchItem = UrlBatch | SitemapRef | Problem | Outcome


def batched(items: Iterable[Item | UrlBatch]) -> list[BatchItem]:
    """The items with a UrlBatch in place of consecutive records of one document, behind the Problems between them."""
    found: list[BatchItem] = []
    records: list[UrlRecord] = []
    for item in items:
        if isinstance(item, UrlRecord):
            if not records or item.sitemap != records[0].sitemap:
                records = [item]
                found.append(UrlBatch(item.sitemap, records=records))
            else:
                records.append(item)
        elif isinstance(item, Problem) and records:
            found.insert(-1, item)
        else:
            records = []
            found.append(item)
    return found


def unbatched(items: Iterable[Item | UrlBatch]) -> list[Item]:
    """The items with records in place of each UrlBatch."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, UrlBatch):
            found += item.records()
        else:
            found.append(item)
    return found
