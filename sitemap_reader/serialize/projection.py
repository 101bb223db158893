"""Selects keys of a URL's line, such as `loc,lastmod,news.title,images.loc`, as a flat object."""

from __future__ import annotations

import difflib
import re
from functools import cache, cached_property
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import attrs

from ..model.columns import is_object, item_of, without_null
from ..model.errors import UsageError
from ..model.records import UrlRecord
from .schema import keys_of, line_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Getter = Callable[[Any], Any]

# Keys that the line of a URL has only on request, and only where there is more than one site.
EXTRAS, SITE = "extras", "site"
_NUMBER = re.compile(r"[0-9]{1,9}")


@attrs.frozen
class Column:
    """One value of a line: `name` is its path as typed, `type` its type as in schema.py."""

    name: str
    type: Any
    get: Getter = attrs.field(eq=False, repr=False)

    @property
    def root(self) -> str:
        return self.name.partition(".")[0]


@attrs.frozen
class Fields:
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def roots(self) -> frozenset[str]:
        """The keys of the line that are needed; with `extras` among them, extras have to be parsed."""
        return frozenset(column.root for column in self.columns)

    @cached_property
    def has_paths(self) -> bool:
        return self.roots != {*self.names}

    def values(self, json_object: dict[str, Any]) -> list[Any]:
        """One value for each column, None where it is absent; UsageError where the structure is not that of a line."""
        values = []
        for column in self.columns:
            try:
                values.append(column.get(json_object))
            except (TypeError, AttributeError):
                expected = "is not built as in a URL's line; see `sitemap-reader schema json`"
                raise UsageError(f"{json_object.get('loc')}, {column.name}: {column.root} {expected}") from None
        return values

    def select(self, json_object: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(self.names, self.values(json_object), strict=True))


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
    paths = [path.strip() for path in text.split(",")]
    try:
        if not any(paths):
            raise _NoField(f"which ones? there are {', '.join(keys_of(line_type(UrlRecord)))}")
        for path in paths:
            if not path:
                raise _NoField("a name is missing between two commas, or at an end")
            if paths.count(path) > 1:
                raise _NoField(f"{path} stands twice")
        return Fields(tuple(map(_column, paths)))
    except _NoField as exc:
        raise UsageError(f"{option}: {exc}") from None


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
    return make_fields(keys_of(line_type(record)))


@cache
def columns_of(kind: type, *, names_sites: bool = False) -> Fields:
    """The fields of an attrs class that has no line of its own."""
    return make_fields({**keys_of(kind), SITE: str} if names_sites else keys_of(kind))


def make_fields(keys: Mapping[str, Any]) -> Fields:
    """The fields of objects with these keys; the values are the types."""
    return Fields(tuple(Column(name, hint, methodcaller("get", name)) for name, hint in keys.items() if name != "type"))


class _NoField(Exception):
    """A path that is not in a line; the message says why."""


def _column(path: str) -> Column:
    steps = path.split(".")
    hint = _type_at(steps)
    if len(steps) == 1:
        return Column(path, hint, methodcaller("get", path))
    keys = tuple(int(step) if _is_number(step) else step for step in steps)

    def get(json_object: dict[str, Any]) -> Any:
        # A dump that was written with fields has the path as a key.
        return json_object[path] if path in json_object else _value_at(json_object, keys)

    return Column(path, hint, get)


def _type_at(steps: Sequence[str]) -> Any:
    """The type at a path: a list for each list on the way of which no item is selected."""

    def follow(hint: Any, done: int) -> Any:
        if done == len(steps):
            return hint
        step, hint = steps[done], without_null(hint)
        if item := item_of(hint):
            return follow(item, done + 1) if _is_number(step) else list[follow(item, done)]  # type: ignore[misc]
        keys = keys_of(hint) if is_object(hint) else {}
        if step not in keys:
            raise _NoField(_unknown(hint, steps, done))
        return follow(keys[step], done + 1)

    return follow(line_type(UrlRecord), 0)


def _unknown(hint: Any, steps: Sequence[str], done: int) -> str:
    problem, place = f"there is no {'.'.join(steps)}", ".".join(steps[:done])
    if not is_object(hint):
        return f"{problem}: {place} has no parts"
    if _is_number(steps[done]):
        return f"{problem}: {place or 'a line'} is no list of which an item can be picked"
    meant = _meant(keys_of(hint), steps, done)
    advice = f"; do you mean {' or '.join(meant)}?" if meant else ";"
    return f"{problem}{advice} {f'{place} has' if place else 'there are'} {', '.join(keys_of(hint))}"


def _meant(keys: Iterable[str], steps: Sequence[str], done: int) -> list[str]:
    """Valid paths near this one: with the most similar name in its place, or with a key inserted before it."""
    near = difflib.get_close_matches(steps[done].lower(), keys, n=1, cutoff=0.7)
    before, rest = steps[:done], steps[done + 1 :]
    paths = [[*before, name, *rest] for name in near] + [[*before, name, *steps[done:]] for name in keys]
    return [".".join(path) for path in paths if _leads_somewhere(path)]


def _leads_somewhere(path: Sequence[str]) -> bool:
    try:
        return _type_at(path) is not None
    except _NoField:
        return False


def _is_number(step: str) -> bool:
    return _NUMBER.fullmatch(step) is not None


def _value_at(value: Any, keys: Sequence[str | int]) -> Any:
    """The value at a path of a JSON object; TypeError or AttributeError for another structure."""
    for number, key in enumerate(keys):
        if value is None:
            return None
        if isinstance(key, int):
            if type(value) is not list:
                raise TypeError
            value = value[key] if key < len(value) else None
        elif type(value) is list:
            return [_value_at(item, keys[number:]) for item in value]
        else:
            value = value.get(key)
    return value
