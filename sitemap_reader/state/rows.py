"""Conversion between records and the rows of a state, and the comparison of two listings of a URL.

Of nested values (images, news and others) a row holds a digest, which shows that they changed and not how. All values
can be JSON, so that SQLite returns many rows as one value.
"""

from __future__ import annotations

import os.path
from base64 import b64encode
from collections.abc import Container, Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import chain, compress, product, repeat, starmap
from operator import itemgetter
from struct import unpack
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeAlias

import attrs
import msgspec
import orjson

from ..model.columns import CHANGEFREQS, EPOCH, NESTED, PRECISIONS, SUBSECOND, ObjectColumns
from ..model.records import EXTENSIONS, EXTRAS_STATE_CODE, UrlRecord
from ..model.url_batch import changefreq_of, lastmod_of
from ..parser.fast_path import scanner
from ..serialize.jsonl import STATED, to_dict
from .schema import DamagedValue, decode_value, json_text

if TYPE_CHECKING:
    from ..model.url_batch import UrlBatch

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
        if self.nested != other.nested:
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


def moment(number: int) -> datetime:
    return EPOCH + timedelta(microseconds=number)


def record_of(loc: str, listing: Listing, sitemap: str | None) -> UrlRecord:
    """The record of a listing, without nested values."""
    lastmod, precision = lastmod_of(listing.lastmod, listing.precision)
    return UrlRecord(loc, lastmod, precision, changefreq_of(listing.changefreq), listing.priority, sitemap=sitemap)


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


def pack_stated(lastmod: int | None, precision: int | None, changefreq: int | None, priority: float | None) -> Stated:
    code = _CODE_OF.get((precision, changefreq, priority))
    unit = 1_000 if precision == SUBSECOND else 1
    if code is None or (lastmod is None) != (precision is None) or (lastmod or 0) % unit:
        return json_text((lastmod, precision, changefreq, priority))
    return (lastmod or 0) // unit * SCALE + code


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


def url_keys(locs: Sequence[str], secret: bytes) -> list[int]:
    """The 64-bit keys of URLs of one site, salted with its secret, so that a site cannot construct two equal ones."""
    # Of a million URLs two share a key with a probability of 3 in 100,000,000: then the second passes for the first.
    digests = [blake2b(loc.encode(), digest_size=8, salt=secret).digest() for loc in locs]
    return [*unpack(f">{len(locs)}q", b"".join(digests))]


@attrs.frozen
class Rows:
    """URLs that a document lists, and the values of their rows; `nested` is None where no URL has any."""

    urls: UrlBatch
    keys: list[int]
    stated: list[Stated]
    nested: list[str | None] | None

    @classmethod
    def of(cls, urls: UrlBatch, secret: bytes) -> Self:
        """The rows of a batch; of a NativeColumns the compiled scanner makes nearly all values."""
        store: Any = urls.store
        if isinstance(store, ObjectColumns):
            fields = zip(urls.lastmods, urls.precisions, urls.changefreqs, urls.priorities, strict=True)
            digests = [*map(_nested, map(to_dict, urls.records()))]
            keys, stated = url_keys(urls.locs, secret), [*starmap(pack_stated, fields)]
            return cls(urls, keys, stated, digests if any(digests) else None)
        made: Any = scanner.row_columns(store, urls.start, urls.stop, secret)
        keys, stated, nested = made
        if None in stated:
            for index in [index for index, value in enumerate(stated) if value is None]:
                one = urls.part(index, index + 1)
                stated[index] = pack_stated(*one.lastmods, *one.precisions, *one.changefreqs, *one.priorities)
        return cls(urls, keys, stated, nested)

    def only(self, mask: Sequence[bool]) -> Rows:
        if all(mask):
            return self
        columns: list[Any] = [column and [*compress(column, mask)] for column in (self.keys, self.stated, self.nested)]
        return Rows(self.urls.only(mask), *columns)

    def listing(self, document: int, index: int) -> Listing:
        return Listing.of_row(document, self.stated[index], self.nested[index] if self.nested else None)

    def prefix(self) -> str:
        store: Any = self.urls.store
        if isinstance(store, ObjectColumns):
            return os.path.commonprefix([*self.urls.locs])  # noqa: RUF071 - of text, and no path
        return scanner.common_prefix(store, self.urls.start, self.urls.stop)

    def sorted(self, prefix: str) -> list[Any]:
        """All rows by their keys: key, stated value, digests (unless `nested` is None), loc without this prefix."""
        store: Any = self.urls.store
        if not isinstance(store, ObjectColumns):
            columns = self.keys, self.stated, self.nested
            values: list[Any] = scanner.sorted_rows(store, self.urls.start, *columns, len(prefix.encode()))
            return values
        locs: Any = [loc[len(prefix) :] for loc in self.urls.locs]
        rows: Any = zip(*filter(None, (self.keys, self.stated, self.nested, locs)), strict=True)
        in_order: list[Any] = sorted(rows, key=itemgetter(0))
        return [*chain.from_iterable(in_order)]


@attrs.frozen
class StoredRows:
    """Rows of a document, as columns; `nested` is None where no row has any. `places`: key -> index."""

    keys: list[int] = attrs.field(factory=list)
    stated: list[Stated] = attrs.field(factory=list)
    nested: list[str | None] | None = None
    places: dict[int, int] = attrs.field(init=False)

    @places.default
    def _places(self) -> dict[int, int]:
        return dict(zip(self.keys, range(len(self.keys)), strict=True))

    @classmethod
    def of(cls, keys: list[int], stated: list[Stated], nested: list[str | None]) -> Self:
        """The rows of these columns; DamagedValue for keys that no row has."""
        if not {*map(type, keys)} <= {int}:
            raise DamagedValue
        return cls(keys, stated, nested if any(nested) else None)

    def listing(self, document: int, key: int) -> Listing:
        place = self.places[key]
        return Listing.of_row(document, self.stated[place], self.nested[place] if self.nested else None)

    def differences(self, rows: Rows) -> tuple[list[bool], int]:
        """Whether each URL differs from its row, or has none; and how many have one."""
        if scanner is not None:
            columns = rows.keys, rows.stated, rows.nested
            return scanner.differences(*columns, self.keys, self.stated, self.nested)
        places = [self.places.get(key) for key in rows.keys]
        values = zip(places, rows.stated, rows.nested or repeat(None), strict=False)
        differ = [
            place is None or (stated, nested) != (self.stated[place], self.nested[place] if self.nested else None)
            for place, stated, nested in values
        ]
        return differ, len(places) - places.count(None)


def _nested(json_object: dict[str, Any]) -> str | None:
    """The digit and the digest of each nested value, concatenated."""
    parts = []
    for code, name in _NESTED.items():
        if name in json_object:
            digest = blake2b(orjson.dumps(json_object[name]), digest_size=6).digest()
            parts.append(f"{code}{b64encode(digest).decode()}")
    return "".join(parts) or None


def nested_digests(nested: str | None) -> dict[str, str]:
    """Name -> digest of each nested value of a row; ValueError or KeyError for text that no row has."""
    parts = nested or ""
    if len(parts) % _NESTED_LENGTH:
        raise ValueError(parts)
    starts = range(0, len(parts), _NESTED_LENGTH)
    return {_NESTED[int(parts[start])]: parts[start + 1 : start + _NESTED_LENGTH] for start in starts}
