"""UrlBatch: valid URLs of one document as columns, without extensions and Problems; such URLs cost no records.

The scanner makes it, and the state of a site that was synchronised.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, get_args

import attrs

from ..model.records import NO_EXTENSIONS, ChangeFreq, Precision, UrlRecord
from .compiled import scanner

if TYPE_CHECKING:
    from collections.abc import Sequence

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
CHANGEFREQS: tuple[ChangeFreq, ...] = get_args(ChangeFreq)
PRECISION_CODES: dict[str | None, int] = {name: code for code, name in enumerate(PRECISIONS)}
SUBSECOND, _MINUTE = PRECISION_CODES["subsecond"], PRECISION_CODES["minute"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def lastmod_columns(lastmod: datetime | None, precision: str | None) -> tuple[int | None, int | None]:
    """A lastmod as its two columns: seconds (of a subsecond precision microseconds) since 1970, precision code."""
    code = PRECISION_CODES.get(precision)
    if lastmod is None:
        return None, code
    since = lastmod - EPOCH
    return since // _MICROSECOND if code == SUBSECOND else since.days * 86_400 + since.seconds, code


def states_time(code: int | None) -> bool:
    """Whether a lastmod of this precision has a time of day."""
    return code is not None and code >= _MINUTE


def lastmod_of(number: int | None, code: int | None) -> tuple[datetime | None, Precision | None]:
    """The lastmod and the precision of a URL in a batch."""
    if number is None:
        return None, precision_of(code)
    length = timedelta(microseconds=number) if code == SUBSECOND else timedelta(seconds=number)
    return EPOCH + length, precision_of(code)


def precision_of(code: int | None) -> Precision | None:
    """The precision that has this code."""
    return None if code is None else PRECISIONS[code]


def changefreq_of(code: int | None) -> ChangeFreq | None:
    """The changefreq that has this code."""
    return None if code is None else CHANGEFREQS[code]


@attrs.define
class UrlBatch:
    """URLs in document order, column by column; `sitemap` is the URL of the document.

    `lastmods` are in seconds since 1970-01-01T00:00Z, those with the precision SUBSECOND in microseconds. `precisions`
    and `changefreqs` are indexes of PRECISIONS and CHANGEFREQS. None: not stated.
    """

    locs: Sequence[str]
    lastmods: Sequence[int | None]
    precisions: Sequence[int | None]
    changefreqs: Sequence[int | None]
    priorities: Sequence[float | None]
    lines: Sequence[int]
    sitemap: str | None

    @property
    def urls(self) -> int:
        """The number of URLs."""
        return len(self.lines)

    @property
    def columns(self) -> tuple[Sequence[Any], ...]:
        """All fields but the sitemap."""
        return self.locs, self.lastmods, self.precisions, self.changefreqs, self.priorities, self.lines

    @property
    def values(self) -> tuple[Sequence[Any], ...]:
        """The columns with the values that records have."""
        return (
            self.locs,
            _datetimes(self.lastmods, self.precisions),
            [*map(precision_of, self.precisions)],
            [*map(changefreq_of, self.changefreqs)],
            self.priorities,
            self.lines,
        )

    def records(self) -> list[UrlRecord]:
        """The records of all URLs."""
        *fields, lines = self.values
        return [*map(UrlRecord, *fields, *_NO_EXTENSIONS, repeat(()), repeat(self.sitemap), lines)]


_NO_EXTENSIONS = [*map(repeat, NO_EXTENSIONS)]


def _datetimes(numbers: Sequence[int | None], codes: Sequence[int | None]) -> list[datetime | None]:
    if scanner is not None:
        return scanner.datetimes_of(numbers, codes)
    return [lastmod_of(number, code)[0] for number, code in zip(numbers, codes, strict=True)]


def merged(batches: Sequence[UrlBatch]) -> UrlBatch:
    """Several batches of one document as one."""
    if len(batches) == 1:
        return batches[0]
    columns = zip(*(batch.columns for batch in batches), strict=True)
    fields: list[Any] = [[*chain.from_iterable(column)] for column in columns]
    return UrlBatch(*[*fields, batches[0].sitemap])
