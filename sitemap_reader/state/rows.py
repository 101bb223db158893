"""Conversion between records and the rows of a state, and the comparison of two listings of a URL.

In: UrlBatches. Out: columns of integers and text, and records again. Of nested values (images,
news and others) a row holds a digest, which shows that they changed and not how. All values can be JSON, so that
SQLite takes or returns many rows as one value.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import chain, compress, product, repeat
from operator import itemgetter, ne, or_
from struct import unpack
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeAlias, cast

import attrs
import msgspec
import orjson

from ..model.columns import CHANGEFREQS, EPOCH, NESTED, PRECISIONS, SUBSECOND
from ..model.records import EXTENSIONS, EXTRAS_STATE_CODE, UrlRecord
from ..model.url_batch import UrlBatch, changefreq_of, lastmod_of
from ..parser.compiled import batch_of, scanner
from ..serialize.jsonl import STATED, from_json, to_dict
from .schema import DamagedValue, decode_value

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

# Digit -> nested field, in the order of the digits, so that a row with news begins with a zero (HAS_NEWS).
_CODES = {extension.state_code: name for name, extension in EXTENSIONS.items()} | {EXTRAS_STATE_CODE: "extras"}
_NESTED = dict(sorted(_CODES.items()))
_NESTED_LENGTH = 9
HAS_NEWS = f"coalesce(substr(nested, 1, 1) = '{min(_NESTED)}', 0)"  # in SQL


class Listing(NamedTuple):
    """One document's values for a URL; lastmod, precision and changefreq as in a UrlBatch, nested as in its row."""

    document: int
    lastmod: int | None
    precision: int | None
    changefreq: int | None
    priority: float | None
    nested: str | None

    @classmethod
    def of_row(cls, document: int, stated: Stated, nested: str | None) -> Self:
        """The listing of a row; DamagedValue for values that no row has."""
        if type(document) is not int or (nested is not None and not decode_value(nested_digests, nested)):
            raise DamagedValue
        return cls(document, *unpack_stated(stated), nested)

    def differences(self, other: Listing, compared: Container[str] = STATED) -> tuple[str, ...]:
        """The names of those fields of `compared` that differ, in the order of UrlRecord."""
        names = []
        if _lastmod_of_listing(self) != _lastmod_of_listing(other):
            names.append("lastmod")
        for name in ("precision", "changefreq", "priority"):
            if getattr(self, name) != getattr(other, name):
                names.append("lastmod_precision" if name == "precision" else name)
        old, new = nested_digests(self.nested), nested_digests(other.nested)
        names += [name for name in NESTED if old.get(name) != new.get(name)]
        return tuple(name for name in names if name in compared)


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


def moment(number: int) -> datetime:
    """The datetime of micros()."""
    return EPOCH + timedelta(microseconds=number)


def record_of(loc: str, listing: Listing, sitemap: str | None) -> UrlRecord:
    """The record of a listing, without nested values."""
    lastmod, precision = lastmod_of(listing.lastmod, listing.precision)
    return UrlRecord(loc, lastmod, precision, changefreq_of(listing.changefreq), listing.priority, sitemap=sitemap)


# --- rows ---

# A row has lastmod, precision, changefreq and priority in one value. Usually that is an integer: the lastmod in seconds
# (or in milliseconds, where its precision is SUBSECOND) times SCALE, plus the code of the other three. Microseconds,
# priorities that are no hundredths, and a lastmod or a precision without the other do not fit: then it is a JSON array
# of the four.
Stated: TypeAlias = int | str
Others: TypeAlias = "tuple[int | None, int | None, float | None]"  # precision, changefreq, priority
_HUNDREDTHS = [number / 100 for number in range(101)]
CODED: list[Others] = [
    *product((None, *range(len(PRECISIONS))), (None, *range(len(CHANGEFREQS))), (None, *_HUNDREDTHS))
]
_CODE_OF = {others: code for code, others in enumerate(CODED)}
_CODE_OF_SECONDS = {others: code for others, code in _CODE_OF.items() if others[0] != SUBSECOND}
_UNDATED = len(CODED) // (1 + len(PRECISIONS))  # the codes below are those without precision
SCALE = 8192
# An array in a row, and the lastmods that a datetime can have.
_STATED_ARRAY = msgspec.json.Decoder(
    tuple[
        int | None,
        Annotated[int, msgspec.Meta(ge=0, lt=len(PRECISIONS))] | None,
        Annotated[int, msgspec.Meta(ge=0, lt=len(CHANGEFREQS))] | None,
        float | str | None,  # text in rows that were written with version 1
    ]
)
_SECOND_RANGE = -62_135_596_800, 253_402_300_800
_SUBSECOND_RANGE = _SECOND_RANGE[0] * 1_000_000, _SECOND_RANGE[1] * 1_000_000


def pack_stated(
    lastmods: Sequence[int | None],
    precisions: Sequence[int | None],
    changefreqs: Sequence[int | None],
    priorities: Sequence[float | None],
) -> list[Stated]:
    """The stated value of each URL."""
    codes = map(_CODE_OF_SECONDS.get, zip(precisions, changefreqs, priorities, strict=True))
    packed: list[Any] = [
        None if code is None or (lastmod is None) != (code < _UNDATED) else (lastmod or 0) * SCALE + code
        for lastmod, code in zip(lastmods, codes, strict=True)
    ]
    if None in packed:
        for index, value in enumerate(packed):
            if value is None:
                packed[index] = _pack(lastmods[index], (precisions[index], changefreqs[index], priorities[index]))
    return packed


def _pack(lastmod: int | None, others: Others) -> Stated:
    code = _CODE_OF.get(others) if others[0] == SUBSECOND else None
    if code is None or lastmod is None or lastmod % 1_000:
        return orjson.dumps((lastmod, *others)).decode()
    return lastmod // 1_000 * SCALE + code


def unpack_stated(stated: Stated) -> tuple[int | None, int | None, int | None, float | None]:
    """Lastmod, precision, changefreq and priority of a row; DamagedValue for values that no row has."""
    return decode_value(_unpack, stated)


def _unpack(stated: Stated) -> tuple[int | None, int | None, int | None, float | None]:
    if not isinstance(stated, int):
        lastmod, precision, changefreq, number = _STATED_ARRAY.decode(stated)
        priority = None if number is None else float(number)
    else:
        number, code = divmod(stated, SCALE)
        precision, changefreq, priority = CODED[code]
        if precision is None:
            return None, None, changefreq, priority
        lastmod = number * 1_000 if precision == SUBSECOND else number
    if lastmod is not None:
        low, high = _SUBSECOND_RANGE if precision == SUBSECOND else _SECOND_RANGE
        if not low <= lastmod < high:
            raise ValueError(lastmod)
    return lastmod, precision, changefreq, priority


def check_stated(stated: Sequence[Stated]) -> None:
    """DamagedValue if unpack_stated() raises it for one of these."""
    if {*map(type, stated)} == {int}:
        numbers: Any = stated
        low, high = (each * SCALE for each in _SECOND_RANGE)
        if low <= min(numbers) and max(numbers) < high and max(map((SCALE - 1).__and__, numbers)) < len(CODED):
            return  # faster than one by one
    for value in stated:
        unpack_stated(value)


def url_keys(locs: Sequence[str], secret: bytes) -> tuple[int, ...]:
    """The 64-bit keys of URLs of one site, salted with its secret, so that a site cannot construct two equal ones.

    Of a million URLs two share a key with a probability of 3 in 100,000,000: then the second passes for the first.
    """
    copy, digests = blake2b(digest_size=8, salt=secret).copy, []  # a new one takes twice as long
    for loc in map(str.encode, locs):
        digest = copy()
        digest.update(loc)
        digests.append(digest.digest())
    return unpack(f">{len(locs)}q", b"".join(digests))


class RowColumns(NamedTuple):
    """URLs that a document lists: the Columns of UrlBatches, what these do not hold, and the values of the rows.

    `nested` holds the nested values of each URL, as in its row, `json_lines` the JSON line of each URL with nested
    values or Problems. Both are None where no URL has any. `keys` and `stated` are empty until the document ends.
    """

    locs: Sequence[str]
    lastmods: Sequence[int | None]
    precisions: Sequence[int | None]
    changefreqs: Sequence[int | None]
    priorities: Sequence[float | None]
    lines: Sequence[int | None]
    nested: Sequence[str | None] | None = None
    json_lines: Sequence[bytes | None] | None = None
    keys: Sequence[int] = ()
    stated: Sequence[Stated] = ()

    def only(self, mask: Sequence[bool]) -> RowColumns:
        """The URLs whose mask is true."""
        columns: list[Any] = [column and [*compress(column, mask)] for column in self]
        return RowColumns(*columns)

    def part(self, start: int, end: int) -> RowColumns:
        """The URLs from index `start` up to `end`."""
        columns: list[Any] = [column and column[start:end] for column in self]
        return RowColumns(*columns)

    def listing(self, document: int, index: int) -> Listing:
        """The listing of the URL at an index."""
        dates = self.lastmods[index], self.precisions[index]
        nested = self.nested[index] if self.nested else None
        return Listing(document, *dates, self.changefreqs[index], self.priorities[index], nested)

    def record(self, index: int, sitemap: str) -> UrlRecord:
        """The record of the URL at an index."""
        line = self.json_lines[index] if self.json_lines else None
        if line is None:
            record = record_of(self.locs[index], self.listing(0, index), sitemap)
        else:
            record = cast("UrlRecord", from_json(line))
        record.line = self.lines[index]
        return record

    def batch(self, sitemap: str) -> UrlBatch:
        """The UrlBatch of these URLs."""
        return batch_of(sitemap, [self.record(index, sitemap) for index in range(len(self.locs))])


@attrs.frozen
class StoredRows:
    """Rows of a document: key -> stated value, and key -> nested values of those that have any."""

    stated: dict[int, Stated] = attrs.field(factory=dict)
    nested: dict[int, str] = attrs.field(factory=dict)

    @classmethod
    def of(cls, keys: Sequence[int], stated: Sequence[Stated], nested: Sequence[str | None]) -> Self:
        """The rows of these columns."""
        has_nested = {key: value for key, value in zip(keys, nested, strict=True) if value} if any(nested) else {}
        return cls(dict(zip(keys, stated, strict=True)), has_nested)

    def listing(self, document: int, key: int) -> Listing:
        """The listing of a row."""
        return Listing.of_row(document, self.stated[key], self.nested.get(key))

    def differences(self, columns: RowColumns) -> list[bool]:
        """Whether each URL differs from its row, or has none."""
        differ = map(ne, columns.stated, map(self.stated.get, columns.keys))
        if not columns.nested and not self.nested:
            return [*differ]
        nested = map(ne, columns.nested or repeat(None), map(self.nested.get, columns.keys))
        return [*map(or_, differ, nested)]


def columns_of(batch: UrlBatch) -> RowColumns:
    """The columns of a batch."""
    columns = batch.locs, batch.lastmods, batch.precisions, batch.changefreqs, batch.priorities, batch.lines
    if not batch.detailed:
        return RowColumns(*columns)
    nested: list[str | None] = [None] * len(batch)
    lines: list[bytes | None] = [None] * len(batch)
    for index, record in batch.detailed.items():
        json_object = to_dict(record)
        nested[index], lines[index] = _nested(json_object), orjson.dumps(json_object)
    return RowColumns(*columns, nested, lines)


def with_rows(pieces: Sequence[RowColumns], secret: bytes) -> RowColumns:
    """The URLs of several pieces, with the values of their rows."""
    columns: list[Any] = [[*chain.from_iterable(parts)] for parts in zip(*(piece[:6] for piece in pieces), strict=True)]
    nested = _joined([piece.nested for piece in pieces], pieces)
    json_lines = _joined([piece.json_lines for piece in pieces], pieces)
    columns += [nested, json_lines, url_keys(columns[0], secret), pack_stated(*columns[1:5])]
    return RowColumns(*columns)


def _joined(columns: Sequence[Sequence[Any] | None], pieces: Sequence[RowColumns]) -> list[Any] | None:
    """A column of each piece as one; None where no URL has a value."""
    joined: list[Any] = []
    for column, piece in zip(columns, pieces, strict=True):
        joined += column or [None] * len(piece.locs)
    return joined if any(joined) else None


def row_values(columns: RowColumns, prefix_chars: int) -> tuple[list[Any], int]:
    """The values of the rows of URLs, one row after the other in the order of their keys, and their number in a row.

    Each loc is cut behind its first `prefix_chars`; `nested` is only there where a URL has any.
    """
    parts: list[Sequence[Any]] = [columns.stated, [loc[prefix_chars:] for loc in columns.locs]]
    if columns.nested:
        parts.append(columns.nested)
    if scanner is not None:
        return scanner.sorted_rows(columns.keys, parts), 1 + len(parts)
    rows = sorted(zip(columns.keys, *parts, strict=True), key=itemgetter(0))
    return [*chain.from_iterable(rows)], 1 + len(parts)


def _nested(json_object: dict[str, Any]) -> str | None:
    """The digit and the digest of each nested value, concatenated."""
    present = ((code, json_object[name]) for code, name in _NESTED.items() if name in json_object)
    return "".join(f"{code}{_digest(value)}" for code, value in present) or None


def _digest(value: Any) -> str:
    return b64encode(blake2b(orjson.dumps(value), digest_size=6).digest()).decode()


def nested_digests(nested: str | None) -> dict[str, str]:
    """Name -> digest of each nested value of a row; ValueError or KeyError for text that no row has."""
    parts = nested or ""
    if len(parts) % _NESTED_LENGTH:
        raise ValueError(parts)
    starts = range(0, len(parts), _NESTED_LENGTH)
    return {_NESTED[int(parts[start])]: parts[start + 1 : start + _NESTED_LENGTH] for start in starts}
