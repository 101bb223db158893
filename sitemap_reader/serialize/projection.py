"""Selects keys of a URL's line: `loc,lastmod,news.title,images.loc` and a JSON object in, a flat object out.

Paths are checked against the shape of the line before any line is read. Never opens a file.
"""

from __future__ import annotations

import difflib
import re
from functools import cache
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import attrs

from ..model.errors import UsageError
from ..model.records import UrlRecord
from .schema import Many, Object, Shape, class_shape, line_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Getter = Callable[[Any], Any]

# Keys that the line of a URL has only on request, and only where there is more than one site.
EXTRAS, SITE = "extras", "site"
_NUMBER = re.compile(r"[0-9]{1,9}")


@attrs.frozen
class Column:
    """One value of a line: `name` is its path as typed, `shape` its type where it is not null."""

    name: str
    shape: Shape
    get: Getter = attrs.field(eq=False, repr=False)

    @property
    def root(self) -> str:
        """The first key of the path."""
        return self.name.partition(".")[0]


@attrs.frozen
class Fields:
    """Columns in the order requested."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The paths, as typed."""
        return tuple(column.name for column in self.columns)

    @property
    def roots(self) -> frozenset[str]:
        """The keys of the line that are needed; with `extras` among them, extras have to be parsed."""
        return frozenset(column.root for column in self.columns)

    def values(self, json_object: dict[str, Any]) -> list[Any]:
        """One value for each column, None where it is absent; UsageError where the structure is not that of a line."""
        try:
            return [column.get(json_object) for column in self.columns]
        except (TypeError, AttributeError):
            self._blame(json_object)
            raise

    def select(self, json_object: dict[str, Any]) -> dict[str, Any]:
        """The flat JSON object: every name with its value, null where it is absent."""
        return dict(zip(self.names, self.values(json_object), strict=True))

    def _blame(self, json_object: dict[str, Any]) -> None:
        for column in self.columns:
            try:
                column.get(json_object)
            except (TypeError, AttributeError):
                expected = "is not built as in a URL's line; see `sitemap-reader schema json`"
                raise UsageError(f"{json_object.get('loc')}, {column.name}: {column.root} {expected}") from None


def parse_fields(text: str, *, option: str = "--fields") -> Fields:
    """The Fields of comma-separated paths in the lines of URLs; white space around a path is ignored.

    A name selects a key of an object; of a list it selects that of each item, and the value is a list. A number
    selects one item of a list, from 0. UsageError, with the name of the `option`, for an unknown or repeated path.

    >>> fields = parse_fields("loc,images.loc,images.0.loc,news.title")
    >>> fields.select({"loc": "https://example.com/", "images": [{"loc": "https://example.com/1.jpg"}]})
    {'loc': 'https://example.com/', 'images.loc': ['https://example.com/1.jpg'], \
'images.0.loc': 'https://example.com/1.jpg', 'news.title': None}
    >>> parse_fields("loc,news.titel")
    Traceback (most recent call last):
    sitemap_reader.model.errors.UsageError: --fields: there is no news.titel; do you mean news.title? news has name, \
language, title, publication_date, publication_date_precision, keywords, genres, stock_tickers, access, \
geo_targeting, amp
    """
    try:
        return Fields(tuple(_column(path) for path in _paths(text)))
    except _NoField as exc:
        raise UsageError(f"{option}: {exc}") from None


@cache
def all_fields() -> Fields:
    """Every key of a URL's line, in the documented order."""
    return fields_of(UrlRecord)


@cache
def fields_of(record: type) -> Fields:
    """Every key of the line of a record, but for its "type".

    >>> from sitemap_reader import Problem
    >>> fields_of(Problem).names
    ('code', 'severity', 'message', 'sitemap', 'line', 'field', 'raw', 'url', 'kind', 'site')
    """
    return _columns(line_shape(record))


@cache
def columns_of(kind: type, *, names_sites: bool = False) -> Fields:
    """The fields of an attrs class that has no line of its own, such as the rows of a report, and the site."""
    shape = class_shape(kind)
    site = line_shape(UrlRecord).fields[-1]
    return _columns(Object(shape.name, (*shape.fields, site)) if names_sites else shape)


def _columns(shape: Object) -> Fields:
    fields = [field for field in shape.fields if field.name != "type"]
    return Fields(tuple(Column(field.name, field.shape, methodcaller("get", field.name)) for field in fields))


class _NoField(Exception):
    """A path that is not in a line; the message says why."""


@cache
def _line() -> Object:
    return line_shape(UrlRecord)


def _paths(text: str) -> list[str]:
    paths = [path.strip() for path in text.split(",")]
    if not any(paths):
        raise _NoField(f"which ones? there are {_names(_line())}")
    for path in paths:
        if not path:
            raise _NoField("a name is missing between two commas, or at an end")
        if paths.count(path) > 1:
            raise _NoField(f"{path} stands twice")
    return paths


def _column(path: str) -> Column:
    steps = path.split(".")
    shape = _shape_at(steps)
    if len(steps) == 1:
        return Column(path, shape, methodcaller("get", path))
    get = _getter(steps)
    # A dump that was written with fields has the path as a key.
    return Column(path, shape, lambda json_object: json_object[path] if path in json_object else get(json_object))


def _shape_at(steps: Sequence[str]) -> Shape:
    """The shape at a path: a list for each list on the way of which no item is selected."""

    def follow(shape: Shape, done: int) -> Shape:
        if done == len(steps):
            return shape
        step = steps[done]
        if isinstance(shape, Many):
            return follow(shape.of, done + 1) if _is_number(step) else Many(follow(shape.of, done))
        inside = {field.name: field.shape for field in shape.fields} if isinstance(shape, Object) else {}
        if step not in inside:
            raise _NoField(_unknown(shape, steps, done))
        return follow(inside[step], done + 1)

    return follow(_line(), 0)


def _unknown(shape: Shape, steps: Sequence[str], done: int) -> str:
    """The message for an unknown step after `done` known ones."""
    problem, place = f"there is no {'.'.join(steps)}", ".".join(steps[:done])
    if not isinstance(shape, Object):
        return f"{problem}: {place} has no parts"
    if _is_number(steps[done]):
        return f"{problem}: {place or 'a line'} is no list of which an item can be picked"
    meant = _meant(shape, steps, done)
    hint = f"; do you mean {' or '.join(meant)}?" if meant else ";"
    return f"{problem}{hint} {f'{place} has' if place else 'there are'} {_names(shape)}"


def _meant(shape: Object, steps: Sequence[str], done: int) -> list[str]:
    """Valid paths near this one: with the most similar name in its place, or with a key inserted before it."""
    names = [field.name for field in shape.fields]
    near = difflib.get_close_matches(steps[done].lower(), names, n=1, cutoff=0.7)
    before, rest = steps[:done], steps[done + 1 :]
    paths = [[*before, name, *rest] for name in near] + [[*before, name, *steps[done:]] for name in names]
    return [".".join(path) for path in paths if _leads_somewhere(path)]


def _leads_somewhere(path: Sequence[str]) -> bool:
    try:
        _shape_at(path)
    except _NoField:
        return False
    return True


def _names(shape: Object) -> str:
    return ", ".join(field.name for field in shape.fields)


def _is_number(step: str) -> bool:
    return _NUMBER.fullmatch(step) is not None


# --- values ---


def _getter(steps: Sequence[str]) -> Getter:
    """A function for the value at a path of a JSON object; TypeError or AttributeError for another structure."""
    step, *rest = steps
    inner = _getter(rest) if rest else None
    return _picker(int(step), inner) if _is_number(step) else _follower(step, inner)


def _follower(name: str, inner: Getter | None) -> Getter:
    def get(value: Any) -> Any:
        if type(value) is list:
            return [get(item) for item in value]
        if value is None:
            return None
        found = value.get(name)
        return found if inner is None or found is None else inner(found)

    return get


def _picker(number: int, inner: Getter | None) -> Getter:
    def get(value: Any) -> Any:
        if type(value) is not list:
            raise TypeError
        item = value[number] if number < len(value) else None
        return item if inner is None or item is None else inner(item)

    return get
