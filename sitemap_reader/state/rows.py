"""Conversion between records and the rows of a state, and the comparison of two listings of a URL.

In: records, or columns of entries. Out: columns of integers and text, and records again. Of nested values (images,
news and others) a row holds a digest, which shows that they changed and not how. All values can be JSON, so that
SQLite takes or returns many rows as one value.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import compress, repeat
from struct import unpack
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, get_args

import orjson

from ..model.records import EXTENSIONS, EXTRAS_STATE_CODE, ChangeFreq, Precision, UrlRecord
from ..parser.fast_scanner import Columns
from ..serialize.jsonl import NESTED, to_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..parser.fast_scanner import Entries

Value = TypeVar("Value")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
SUBSECOND = PRECISIONS.index("subsecond")
_MINUTE = PRECISIONS.index("minute")
CHANGEFREQS: tuple[ChangeFreq, ...] = get_args(ChangeFreq)
_PRECISION_CODES: dict[str | None, int] = {name: code for code, name in enumerate(PRECISIONS)}
_CHANGEFREQ_CODES: dict[str | None, int] = {name: code for code, name in enumerate(CHANGEFREQS)}
# Digit -> nested field, in the order of the digits, so that a row with news begins with a zero (HAS_NEWS).
_CODES = {extension.state_code: name for name, extension in EXTENSIONS.items()} | {EXTRAS_STATE_CODE: "extras"}
_NESTED = dict(sorted(_CODES.items()))
_NESTED_LENGTH = 9
HAS_NEWS = f"coalesce(substr(nested, 1, 1) = '{min(_NESTED)}', 0)"  # in SQL


class Listing(NamedTuple):
    """One document's values for a URL, encoded as in its row."""

    document: int
    lastmod: int | None
    precision: int | None
    changefreq: int | None
    priority: str | None
    nested: str | None

    def differences(self, other: Listing) -> tuple[str, ...]:
        """The names of the fields that differ, in the order of UrlRecord."""
        names = []
        if _lastmod_of_listing(self) != _lastmod_of_listing(other):
            names.append("lastmod")
        for name in ("precision", "changefreq", "priority"):
            if getattr(self, name) != getattr(other, name):
                names.append("lastmod_precision" if name == "precision" else name)
        old, new = _digests(self.nested), _digests(other.nested)
        return (*names, *(name for name in NESTED if old.get(name) != new.get(name)))


def newest_listing(listings: Iterable[Listing]) -> Listing:
    """The listing that counts: that with the newest lastmod, of equal ones that of the document known longest."""
    return max(listings, key=lambda listing: (_lastmod_of_listing(listing), -listing.document))


def _lastmod_of_listing(listing: Listing) -> int:
    return comparable_lastmod(listing.lastmod, listing.precision)


def comparable_lastmod(lastmod: int | None, precision: int | None) -> int:
    """A lastmod in microseconds, for comparison; no lastmod is older than any."""
    if lastmod is None:
        return -(10**20)
    return lastmod if precision == SUBSECOND else lastmod * 1_000_000


# --- values ---


def micros(moment: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(number: int) -> datetime:
    """The datetime of micros()."""
    return _EPOCH + timedelta(microseconds=number)


def lastmod_columns(lastmod: datetime | None, precision: str | None) -> tuple[int | None, int | None]:
    """A lastmod as its two columns: seconds (of a subsecond precision microseconds) since 1970, precision code."""
    return _number(lastmod, precision), _PRECISION_CODES.get(precision)


def lastmod_of(number: int | None, code: int | None) -> tuple[datetime | None, Precision | None]:
    """The lastmod and precision of lastmod_columns()."""
    if number is None:
        return None, precision_of(code)
    length = timedelta(microseconds=number) if code == SUBSECOND else timedelta(seconds=number)
    return _EPOCH + length, precision_of(code)


def precision_of(code: int | None) -> Precision | None:
    """The precision that has this code."""
    return None if code is None else PRECISIONS[code]


def states_time(code: int | None) -> bool:
    """Whether a lastmod of this precision has a time of day."""
    return code is not None and code >= _MINUTE


def changefreq_of(code: int | None) -> ChangeFreq | None:
    """The changefreq that has this code."""
    return None if code is None else CHANGEFREQS[code]


def _number(lastmod: datetime | None, precision: str | None) -> int | None:
    if lastmod is None:
        return None
    if precision == "subsecond":
        return micros(lastmod)
    since = lastmod - _EPOCH
    return since.days * 86_400 + since.seconds


def _priority_text(priority: float | None) -> str | None:
    return None if priority is None else repr(priority)


def _priority_of(text: str | None) -> float | None:
    return None if text is None else float(text)


def record_of(
    loc: str, values: tuple[int | None, int | None, int | None, str | None], sitemap: str | None
) -> UrlRecord:
    """The record of a row, without nested values; `values` are lastmod, precision, changefreq and priority."""
    number, precision, changefreq, priority = values
    lastmod, name = lastmod_of(number, precision)
    return UrlRecord(loc, lastmod, name, changefreq_of(changefreq), _priority_of(priority), sitemap=sitemap)


# --- rows ---


class Keys:
    """Maps URLs of one site to 64-bit keys, salted with its secret, so that a site cannot construct two equal ones.

    Of a million URLs two share a key with a probability of 3 in 100,000,000: then the second passes for the first.
    """

    def __init__(self, secret: bytes) -> None:
        self._digest = blake2b(digest_size=8, salt=secret)

    def digests(self, locs: Sequence[str]) -> tuple[int, ...]:
        """The keys of URLs, in their order."""
        digests = []
        for loc in locs:
            digest = self._digest.copy()  # a new one takes twice as long
            digest.update(loc.encode())
            digests.append(digest.digest())
        return unpack(f">{len(locs)}q", b"".join(digests))


class UrlColumns(NamedTuple):
    """URLs that a document lists, column by column, encoded as in their rows.

    `json_lines` has the JSON line of each URL with nested values or problems, which the other columns do not hold.
    `nested` and `json_lines` are None where no URL has any.
    """

    keys: Sequence[int]
    lastmods: Sequence[int | None]
    precisions: Sequence[int | None]
    changefreqs: Sequence[int | None]
    priorities: Sequence[str | None]
    nested: Sequence[str | None] | None
    locs: Sequence[str]
    lines: Sequence[int | None]
    json_lines: Sequence[bytes | None] | None

    def only(self, mask: Sequence[bool]) -> UrlColumns:
        """The URLs whose mask is true."""
        columns: list[Any] = [column and [*compress(column, mask)] for column in self]
        return UrlColumns(*columns)

    def part(self, start: int, end: int) -> UrlColumns:
        """The URLs from index `start` up to `end`."""
        columns: list[Any] = [column and column[start:end] for column in self]
        return UrlColumns(*columns)

    def listing(self, document: int, index: int) -> Listing:
        """The listing of the URL at an index."""
        nested = self.nested[index] if self.nested else None
        dates = self.lastmods[index], self.precisions[index]
        return Listing(document, *dates, self.changefreqs[index], self.priorities[index], nested)

    def values(self) -> Iterator[tuple[Any, ...]]:
        """Key, lastmod, precision, changefreq, priority and nested of each URL."""
        nested = self.nested or repeat(None)
        return zip(self.keys, self.lastmods, self.precisions, self.changefreqs, self.priorities, nested, strict=False)

    def rows(self, prefix_chars: int, *, has_nested: bool) -> Iterator[tuple[Any, ...]]:
        """The values with each loc behind its first `prefix_chars`; `nested` only with `has_nested`."""
        locs = [loc[prefix_chars:] for loc in self.locs]
        nested = [self.nested or repeat(None)] if has_nested else []
        values = (self.lastmods, self.precisions, self.changefreqs, self.priorities)
        return zip(self.keys, *values, *nested, locs, strict=False)


def columns_of_entries(entries: Entries, keys: Keys) -> UrlColumns:
    """The columns of entries without nested values."""
    locs, lastmods, precisions, changefreqs, priorities, lines, _ = entries.columns
    return UrlColumns(
        keys.digests(locs),
        _lastmod_numbers(lastmods, precisions),
        [*map(_PRECISION_CODES.get, precisions)],
        [*map(_CHANGEFREQ_CODES.get, changefreqs)],
        _map_distinct(_priority_text, priorities),
        None,
        locs,
        lines,
        None,
    )


def columns_of_records(records: Sequence[UrlRecord], keys: Keys) -> UrlColumns:
    """The columns of records."""
    lastmods, precisions, changefreqs, priorities, nested, locs, *lines = zip(*map(_values_of, records), strict=True)
    return UrlColumns(keys.digests(locs), lastmods, precisions, changefreqs, priorities, nested, locs, *lines)


def entry_columns(columns: UrlColumns) -> Columns:
    """The columns of Entries again, for URLs without a JSON line."""
    lastmods = _lastmod_moments(columns.lastmods, columns.precisions)
    precisions = _map_distinct(precision_of, columns.precisions)
    changefreqs = _map_distinct(changefreq_of, columns.changefreqs)
    priorities = _map_distinct(_priority_of, columns.priorities)
    lines = cast("Sequence[int]", columns.lines)
    return Columns(columns.locs, lastmods, precisions, changefreqs, priorities, lines, None)


def _lastmod_numbers(lastmods: Sequence[datetime | None], precisions: Sequence[str | None]) -> list[int | None]:
    """The first of lastmod_columns(), for many."""
    if None in lastmods or "subsecond" in precisions:
        return [*map(_number, lastmods, precisions)]
    return [*map(int, map(datetime.timestamp, cast("Sequence[datetime]", lastmods)))]  # the same, in less time


def _lastmod_moments(numbers: Sequence[int | None], codes: Sequence[int | None]) -> Sequence[datetime | None]:
    """The first of lastmod_of(), for many."""
    if None in numbers or SUBSECOND in codes:
        return [lastmod_of(number, code)[0] for number, code in zip(numbers, codes, strict=True)]
    return [*map(_EPOCH.__add__, map(timedelta, repeat(0), cast("Sequence[int]", numbers)))]


def _map_distinct(function: Callable[[Any], Value], values: Sequence[Any]) -> list[Value]:
    """function(value) of each value, computed once for each distinct one, of which there are few."""
    results = {value: function(value) for value in {*values}}
    return [*map(results.__getitem__, values)]


def _values_of(record: UrlRecord) -> tuple[Any, ...]:
    json_object = to_dict(record)
    nested = _nested(json_object)
    dates = lastmod_columns(record.lastmod, record.lastmod_precision)
    line = orjson.dumps(json_object, option=orjson.OPT_APPEND_NEWLINE) if nested or record.problems else None
    changefreq = _CHANGEFREQ_CODES.get(record.changefreq)
    return (*dates, changefreq, _priority_text(record.priority), nested, record.loc, record.line, line)


def _nested(json_object: dict[str, Any]) -> str | None:
    """The digit and the digest of each nested value, concatenated."""
    present = ((code, json_object[name]) for code, name in _NESTED.items() if name in json_object)
    return "".join(f"{code}{_digest(value)}" for code, value in present) or None


def _digest(value: Any) -> str:
    return b64encode(blake2b(orjson.dumps(value), digest_size=6).digest()).decode()


def _digests(nested: str | None) -> dict[str, str]:
    parts = nested or ""
    starts = range(0, len(parts), _NESTED_LENGTH)
    return {_NESTED[int(parts[start])]: parts[start + 1 : start + _NESTED_LENGTH] for start in starts}
