"""Records and the rows of a state: the values of both, and what tells one listing of a URL from another.

A row has a digest for each nested value, and not the value: enough to say that it changed, in eight bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import compress, repeat
from struct import unpack
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

import orjson

from ..jsonl import json_form
from ..read.plain_records import Columns
from ..records import ChangeFreq, Precision, UrlRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..read.plain_records import Entries

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
SUBSECOND = PRECISIONS.index("subsecond")
_MINUTE = PRECISIONS.index("minute")
CHANGEFREQS: tuple[ChangeFreq, ...] = get_args(ChangeFreq)
_PRECISION_CODES: dict[str | None, int] = {name: code for code, name in enumerate(PRECISIONS)}
_CHANGEFREQ_CODES: dict[str | None, int] = {name: code for code, name in enumerate(CHANGEFREQS)}
# The news first, so that a row that has some begins with a zero. New ones are put at the end.
_NESTED = ("news", "images", "videos", "alternates", "mobile", "extras")
_NESTED_BYTES = 8
HAS_NEWS = "coalesce(substr(nested, 1, 1) = x'00', 0)"  # in SQL


class Listing(NamedTuple):
    """What one document states of a URL, as its row has it."""

    document: int
    lastmod: int | None
    precision: int | None
    changefreq: int | None
    priority: float | None
    nested: bytes | None

    @property
    def stated(self) -> tuple[Any, ...]:
        """All of it but where it stands."""
        return self[1:]

    def differences(self, other: Listing) -> tuple[str, ...]:
        """The fields that the other states otherwise, in the order of a record."""
        names = []
        if _newest(self) != _newest(other):
            names.append("lastmod")
        for name in ("precision", "changefreq", "priority"):
            if getattr(self, name) != getattr(other, name):
                names.append("lastmod_precision" if name == "precision" else name)
        mine, others = _digests(self.nested), _digests(other.nested)
        changed = {name for name in _NESTED if mine.get(name) != others.get(name)}
        return (*names, *(name for name in _RECORD_ORDER if name in changed))


_RECORD_ORDER = ("images", "videos", "news", "alternates", "mobile", "extras")


def best(listings: Iterable[Listing]) -> Listing:
    """The listing that counts: the one with the newest lastmod, of equal ones that of the document known longest."""
    return max(listings, key=lambda each: (_newest(each), -each.document))


def _newest(listing: Listing) -> int:
    return newest(listing.lastmod, listing.precision)


def newest(lastmod: int | None, precision: int | None) -> int:
    """Microseconds, to be compared; what has no lastmod is older than all that has one."""
    if lastmod is None:
        return -(10**20)
    return lastmod if precision == SUBSECOND else lastmod * 1_000_000


# --- values ---


def micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(number: int) -> datetime:
    """The same back."""
    return _EPOCH + timedelta(microseconds=number)


def lastmod_row(lastmod: datetime | None, precision: str | None) -> tuple[int | None, int | None]:
    """A lastmod, as its two columns."""
    return _number(lastmod, precision), _PRECISION_CODES.get(precision)


def lastmod_of(number: int | None, code: int | None) -> tuple[datetime | None, Precision | None]:
    """The same back."""
    if number is None:
        return None, None if code is None else PRECISIONS[code]
    length = timedelta(microseconds=number) if code == SUBSECOND else timedelta(seconds=number)
    return _EPOCH + length, None if code is None else PRECISIONS[code]


def is_exact(code: int | None) -> bool:
    """Whether a precision states the time of the day."""
    return code is not None and code >= _MINUTE


def changefreq_of(code: int | None) -> ChangeFreq | None:
    """What a number stands for."""
    return None if code is None else CHANGEFREQS[code]


def _number(lastmod: datetime | None, precision: str | None) -> int | None:
    if lastmod is None:
        return None
    if precision == "subsecond":
        return micros(lastmod)
    since = lastmod - _EPOCH
    return since.days * 86_400 + since.seconds


def record_of(
    loc: str, stated: tuple[int | None, int | None, int | None, float | None], sitemap: str | None
) -> UrlRecord:
    """What a row still knows of a URL: `stated` is lastmod, precision, changefreq and priority."""
    number, precision, changefreq, priority = stated
    lastmod, name = lastmod_of(number, precision)
    return UrlRecord(loc, lastmod, name, changefreq_of(changefreq), priority, sitemap=sitemap)


# --- rows ---


class Keys:
    """URLs of one site -> 64 bits each, which nobody can guess who has not got its secret.

    Of a million URLs two share theirs with a probability of 3 in 100,000,000: then the second passes for the first.
    """

    def __init__(self, secret: bytes) -> None:
        self._digest = blake2b(digest_size=8, salt=secret)

    def of(self, locs: Sequence[str]) -> tuple[int, ...]:
        """The key of each."""
        digests = []
        for loc in locs:
            digest = self._digest.copy()  # to begin anew takes twice as long
            digest.update(loc.encode())
            digests.append(digest.digest())
        return unpack(f">{len(locs)}q", b"".join(digests))


class Stated(NamedTuple):
    """What a document states of some URLs, column by column.

    Of `nested` and `forms` there are none at all where no URL has any: `forms` are whole JSON lines, of those of which
    the other columns do not hold all.
    """

    keys: Sequence[int]
    lastmods: Sequence[int | None]
    precisions: Sequence[int | None]
    changefreqs: Sequence[int | None]
    priorities: Sequence[float | None]
    nested: Sequence[bytes | None] | None
    locs: Sequence[str]
    lines: Sequence[int | None]
    forms: Sequence[bytes | None] | None

    def only(self, wanted: Sequence[bool]) -> Stated:
        """Those that are wanted."""
        columns: list[Any] = [each and [*compress(each, wanted)] for each in self]
        return Stated(*columns)

    def part(self, start: int, end: int) -> Stated:
        """Those from a place up to another."""
        columns: list[Any] = [each and each[start:end] for each in self]
        return Stated(*columns)

    def listing(self, document: int, index: int) -> Listing:
        """What is stated of one of them."""
        nested = self.nested[index] if self.nested else None
        dates = self.lastmods[index], self.precisions[index]
        return Listing(document, *dates, self.changefreqs[index], self.priorities[index], nested)

    def values(self) -> Iterator[tuple[Any, ...]]:
        """What is stated of each: lastmod, precision, changefreq, priority, nested."""
        nested = self.nested or repeat(None)
        return zip(self.lastmods, self.precisions, self.changefreqs, self.priorities, nested, strict=False)

    def rows(self, document: int, behind: int) -> Iterator[tuple[Any, ...]]:
        """Rows of the table, without the first characters of each loc."""
        locs = [loc[behind:] for loc in self.locs]
        nested = self.nested or repeat(None)
        stated = (self.lastmods, self.precisions, self.changefreqs, self.priorities, nested)
        return zip(repeat(document), self.keys, *stated, locs, strict=False)


def stated_by_entries(entries: Entries, keys: Keys) -> Stated:
    """Plain entries have nothing but columns."""
    locs, lastmods, precisions, changefreqs, priorities, lines, _ = entries.columns
    return Stated(
        keys.of(locs),
        [*map(_number, lastmods, precisions)],
        [*map(_PRECISION_CODES.get, precisions)],
        [*map(_CHANGEFREQ_CODES.get, changefreqs)],
        priorities,
        None,
        locs,
        lines,
        None,
    )


def stated_by_records(records: Sequence[UrlRecord], keys: Keys) -> Stated:
    """Any records."""
    rows = [_row_of(record) for record in records]
    lastmods, precisions, changefreqs, priorities, nested, locs, lines, forms = zip(*rows, strict=True)
    return Stated(keys.of(locs), lastmods, precisions, changefreqs, priorities, nested, locs, lines, forms)


def columns_of(stated: Stated) -> Columns:
    """The same back, for plain ones."""
    lastmods: Sequence[datetime | None]
    if SUBSECOND in stated.precisions:
        lastmods = [lastmod_of(*each)[0] for each in zip(stated.lastmods, stated.precisions, strict=True)]
    else:
        lastmods = [None if each is None else _EPOCH + timedelta(0, each) for each in stated.lastmods]
    precisions = [None if code is None else PRECISIONS[code] for code in stated.precisions]
    changefreqs = [None if code is None else CHANGEFREQS[code] for code in stated.changefreqs]
    lines = cast("Sequence[int]", stated.lines)
    return Columns(stated.locs, lastmods, precisions, changefreqs, stated.priorities, lines, None)


def _row_of(record: UrlRecord) -> tuple[Any, ...]:
    form = json_form(record)
    nested = _nested(form)
    dates = lastmod_row(record.lastmod, record.lastmod_precision)
    line = orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE) if nested or record.problems else None
    often = _CHANGEFREQ_CODES.get(record.changefreq)
    return (*dates, often, record.priority, nested, record.loc, record.line, line)


def _nested(form: dict[str, Any]) -> bytes | None:
    """For each nested value that is there its number and a digest of it, one behind the other."""
    found = [
        bytes([code]) + blake2b(orjson.dumps(form[name]), digest_size=_NESTED_BYTES - 1).digest()
        for code, name in enumerate(_NESTED)
        if name in form
    ]
    return b"".join(found) or None


def _digests(nested: bytes | None) -> dict[str, bytes]:
    parts = nested or b""
    starts = range(0, len(parts), _NESTED_BYTES)
    return {_NESTED[parts[start]]: parts[start + 1 : start + _NESTED_BYTES] for start in starts}
