"""The columns of a UrlBatch: their types, from the record classes, and ObjectColumns, a store without a compiler.

A store keeps URLs in document order. Its values are read by column, nested ones too: a list has an offset for each URL
and the columns of its items, as an Arrow list of structs has. parser/fast_path.py chooses between ObjectColumns, which
keeps records, and NativeColumns (parser/scanner_columns.pxi), which keeps bytes and numbers; both return the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, get_args, get_origin, get_type_hints, is_typeddict

import attrs

from .errors import UsageError
from .records import EXTENSIONS, ChangeFreq, Precision, UrlRecord

if TYPE_CHECKING:
    from .problems import Problem

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
CHANGEFREQS: tuple[ChangeFreq, ...] = get_args(ChangeFreq)
SUBSECOND = PRECISIONS.index("subsecond")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


# --- types -----------------------------------------------------------------------------------------------------------


def without_null(hint: Any) -> Any:
    """`X` of `X | None`, and of any other X."""
    parts = get_args(hint)
    return next(part for part in parts if part is not type(None)) if type(None) in parts else hint


def is_object(hint: Any) -> bool:
    return is_typeddict(hint) or attrs.has(hint)


def item_of(hint: Any) -> Any:
    """The type of the items of a list; None for another type."""
    return get_args(hint)[0] if get_origin(hint) in (list, tuple) else None


ColumnKind = Literal["text", "word", "whole", "decimal", "boolean", "moment", "list", "object"]
_KINDS: dict[Any, ColumnKind] = {str: "text", int: "whole", float: "decimal", bool: "boolean", datetime: "moment"}


@attrs.frozen
class ColumnType:
    name: str
    kind: ColumnKind
    children: tuple[ColumnType, ...] = ()  # of a list the column of its items, of an object one for each key
    words: tuple[str, ...] = ()  # that a "word" is one of
    make: Any = None  # the class of an "object", or dict


def column_type(name: str, hint: Any) -> ColumnType:
    """The type of the column for values of a type that a record class names."""
    hint = without_null(hint)
    if item := item_of(hint):
        return ColumnType(name, "list", (column_type("item", item),))
    if is_object(hint):
        children = tuple(column_type(*each) for each in get_type_hints(hint).items())
        return ColumnType(name, "object", children, make=dict if is_typeddict(hint) else hint)
    if get_origin(hint) is Literal:
        return ColumnType(name, "word", words=get_args(hint))
    return ColumnType(name, _KINDS[hint])


# What a site states of a URL, and the line. A batch has one sitemap, and Problems are objects.
_HINTS = {name: hint for name, hint in get_type_hints(UrlRecord).items() if name not in ("sitemap", "problems")}
URL_COLUMNS = ColumnType("", "object", tuple(column_type(*each) for each in _HINTS.items()), make=UrlRecord)
# The columns of values that only some URLs have.
NESTED = (*EXTENSIONS, "extras")


# --- values ----------------------------------------------------------------------------------------------------------


def micros(moment: datetime) -> int:
    """Microseconds since 1970, UTC; UsageError for a moment without a zone."""
    check_zone(moment)
    return (moment - EPOCH) // _MICROSECOND


def check_zone(moment: datetime) -> None:
    if moment.utcoffset() is None:
        raise UsageError(f"{moment.isoformat()} has no zone: dates of records are aware, and in UTC")


def lastmod_number(lastmod: datetime | None, precision: int | None) -> int | None:
    if lastmod is None:
        return None
    if precision == SUBSECOND:
        return micros(lastmod)
    since = lastmod - EPOCH
    return since.days * 86_400 + since.seconds


# --- stores ----------------------------------------------------------------------------------------------------------


class UrlColumns(Protocol):
    """A store of URLs; methods read those from `start` up to `stop`."""

    problems: dict[int, tuple[Problem, ...]]  # by index

    def __len__(self) -> int: ...

    def empty(self) -> Self:
        """A new store of this class."""

    def append(self, record: UrlRecord, /) -> None:
        """Adds a URL."""

    def extend(self, other: Self, start: int, stop: int, /) -> None:
        """Adds URLs of another store of this class."""

    def values(self, name: str, start: int, stop: int, /) -> list[Any]:
        """The values of a column as a UrlBatch has them."""

    def counts(self, name: str, start: int, stop: int, /) -> list[int]:
        """The number of items that each URL has in a nested column; of an object or a flag 0 or 1."""

    def items(self, name: str, key: str, start: int, stop: int, /) -> list[Any]:
        """The values of a key of all items in a nested column, as in records."""

    def records(self, start: int, stop: int, sitemap: str | None, /) -> list[UrlRecord]:
        """Their records."""


# Column of words -> word -> its index.
_CODES = {each.name: {word: at for at, word in enumerate(each.words)} for each in URL_COLUMNS.children if each.words}


class ObjectColumns:
    """A store of records, where there is no compiled scanner."""

    def __init__(self) -> None:
        self._records: list[UrlRecord] = []
        self.problems: dict[int, tuple[Problem, ...]] = {}

    def __len__(self) -> int:
        return len(self._records)

    def empty(self) -> ObjectColumns:
        return ObjectColumns()

    def append(self, record: UrlRecord, /) -> None:
        if record.problems:
            self.problems[len(self._records)] = record.problems
        self._records.append(record)

    def extend(self, other: ObjectColumns, start: int, stop: int, /) -> None:
        for record in other._records[start:stop]:
            self.append(record)

    def values(self, name: str, start: int, stop: int, /) -> list[Any]:
        values = [*map(attrgetter(name), self._records[start:stop])]
        if name == "lastmod":
            return [*map(lastmod_number, values, self.values("lastmod_precision", start, stop))]
        codes = _CODES.get(name)
        return [*map(codes.get, values)] if codes else values

    def counts(self, name: str, start: int, stop: int, /) -> list[int]:
        return [len(each) for each in self._nested(name, start, stop)]

    def items(self, name: str, key: str, start: int, stop: int, /) -> list[Any]:
        return [*map(attrgetter(key), chain.from_iterable(self._nested(name, start, stop)))]

    def _nested(self, name: str, start: int, stop: int) -> Iterable[tuple[Any, ...]]:
        for record in self._records[start:stop]:
            value = getattr(record, name)
            yield value if isinstance(value, tuple) else (value,) if value else ()

    def records(self, start: int, stop: int, sitemap: str | None, /) -> list[UrlRecord]:
        return self._records[start:stop]

    def __sizeof__(self) -> int:
        return 3 * len(pickle.dumps(self._records))  # about what the objects take
