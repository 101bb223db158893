"""Records and the rows of a state: the values of both, and what tells one listing of a URL from another.

A row has a digest for each nested value, and not the value: enough to say that it changed. All that is in a row can be
written as JSON and comes back as it was, so that SQLite takes and gives many at once.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import compress, repeat
from struct import unpack
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, get_args

import orjson

from ..model.records import EXTENSIONS, ChangeFreq, Precision, UrlRecord
from ..parser.fast_scanner import Columns
from ..serialize.jsonl import NESTED, json_form

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
# Digit -> nested field, in the order of the digits: of a row with news, that of the news is the first.
_NESTED = dict(sorted([(5, "extras"), *((extension.state_code, name) for name, extension in EXTENSIONS.items())]))
_NESTED_LENGTH = 9
HAS_NEWS = f"coalesce(substr(nested, 1, 1) = '{min(_NESTED)}', 0)"  # in SQL


class Listing(NamedTuple):
    """What one document states of a URL, as its row has it."""

    document: int
    lastmod: int | None
    precision: int | None
    changefreq: int | None
    priority: str | None
    nested: str | None

    def differences(self, other: Listing) -> tuple[str, ...]:
        """The fields that the other states otherwise, in the order of a record."""
        names = []
        if _newest(self) != _newest(other):
            names.append("lastmod")
        for name in ("precision", "changefreq", "priority"):
            if getattr(self, name) != getattr(other, name):
                names.append("lastmod_precision" if name == "precision" else name)
        mine, others = _digests(self.nested), _digests(other.nested)
        return (*names, *(name for name in NESTED if mine.get(name) != others.get(name)))


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
        return None, precision_of(code)
    length = timedelta(microseconds=number) if code == SUBSECOND else timedelta(seconds=number)
    return _EPOCH + length, precision_of(code)


def precision_of(code: int | None) -> Precision | None:
    """What a number stands for."""
    return None if code is None else PRECISIONS[code]


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


def _priority_text(priority: float | None) -> str | None:
    return None if priority is None else repr(priority)


def _priority_of(text: str | None) -> float | None:
    """The same back."""
    return None if text is None else float(text)


def record_of(
    loc: str, stated: tuple[int | None, int | None, int | None, str | None], sitemap: str | None
) -> UrlRecord:
    """What a row still knows of a URL: `stated` is lastmod, precision, changefreq and priority."""
    number, precision, changefreq, priority = stated
    lastmod, name = lastmod_of(number, precision)
    return UrlRecord(loc, lastmod, name, changefreq_of(changefreq), _priority_of(priority), sitemap=sitemap)


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
    priorities: Sequence[str | None]
    nested: Sequence[str | None] | None
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
        """Each key, and what is stated: lastmod, precision, changefreq, priority, nested."""
        nested = self.nested or repeat(None)
        return zip(self.keys, self.lastmods, self.precisions, self.changefreqs, self.priorities, nested, strict=False)

    def rows(self, behind: int, *, has_nested: bool) -> Iterator[tuple[Any, ...]]:
        """The same with each loc, without its first characters; `nested` only if it is wanted."""
        locs = [loc[behind:] for loc in self.locs]
        nested = [self.nested or repeat(None)] if has_nested else []
        stated = (self.lastmods, self.precisions, self.changefreqs, self.priorities)
        return zip(self.keys, *stated, *nested, locs, strict=False)


def stated_by_entries(entries: Entries, keys: Keys) -> Stated:
    """Plain entries have nothing but columns."""
    locs, lastmods, precisions, changefreqs, priorities, lines, _ = entries.columns
    return Stated(
        keys.of(locs),
        _numbers(lastmods, precisions),
        [*map(_PRECISION_CODES.get, precisions)],
        [*map(_CHANGEFREQ_CODES.get, changefreqs)],
        _each(_priority_text, priorities),
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
    lastmods = _moments(stated.lastmods, stated.precisions)
    precisions = _each(precision_of, stated.precisions)
    changefreqs = _each(changefreq_of, stated.changefreqs)
    lines = cast("Sequence[int]", stated.lines)
    return Columns(stated.locs, lastmods, precisions, changefreqs, _each(_priority_of, stated.priorities), lines, None)


def _numbers(lastmods: Sequence[datetime | None], precisions: Sequence[str | None]) -> list[int | None]:
    """The first column of lastmod_row()."""
    if None in lastmods or "subsecond" in precisions:
        return [*map(_number, lastmods, precisions)]
    return [*map(int, map(datetime.timestamp, cast("Sequence[datetime]", lastmods)))]  # the same, in less time


def _moments(numbers: Sequence[int | None], codes: Sequence[int | None]) -> Sequence[datetime | None]:
    """The same back."""
    if None in numbers or SUBSECOND in codes:
        return [lastmod_of(*each)[0] for each in zip(numbers, codes, strict=True)]
    return [*map(_EPOCH.__add__, map(timedelta, repeat(0), cast("Sequence[int]", numbers)))]


def _each(function: Callable[[Any], Value], values: Sequence[Any]) -> list[Value]:
    """What it makes of each value, of which there are few that differ."""
    made = {value: function(value) for value in {*values}}
    return [*map(made.__getitem__, values)]


def _row_of(record: UrlRecord) -> tuple[Any, ...]:
    form = json_form(record)
    nested = _nested(form)
    dates = lastmod_row(record.lastmod, record.lastmod_precision)
    line = orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE) if nested or record.problems else None
    often = _CHANGEFREQ_CODES.get(record.changefreq)
    return (*dates, often, _priority_text(record.priority), nested, record.loc, record.line, line)


def _nested(form: dict[str, Any]) -> str | None:
    """For each nested value that is there its number and a digest of it, one behind the other."""
    return "".join(f"{code}{_digest(form[name])}" for code, name in _NESTED.items() if name in form) or None


def _digest(value: Any) -> str:
    return b64encode(blake2b(orjson.dumps(value), digest_size=6).digest()).decode()


def _digests(nested: str | None) -> dict[str, str]:
    parts = nested or ""
    starts = range(0, len(parts), _NESTED_LENGTH)
    return {_NESTED[int(parts[start])]: parts[start + 1 : start + _NESTED_LENGTH] for start in starts}
