"""The types of the JSON lines, derived from model/records.py, and as text for readers of lines.

Readers that infer types from the first lines lose the keys that only later lines have. A type is a hint, as
get_type_hints() returns it: str, int, float, bool, datetime, dict[str, int] (counts by name), Literal, list, tuple,
`X | None`, an attrs class or a TypedDict (an object). msgspec.inspect would sort the keys of a TypedDict, and `dump`
does not import msgspec.

Fields are selected keys of the line of a URL, such as `loc,lastmod,news.title,images.loc`, as a flat object.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property, partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, get_args, get_origin, get_type_hints

import attrs
import orjson

from ..model.columns import NESTED, is_object, item_of, without_null
from ..model.errors import UsageError
from ..model.problems import Problem
from ..model.records import Candidate, Change, Outcome, RemovedPage, SitemapRef, UrlRecord, WatchedChange
from ..model.summary import Summary

if TYPE_CHECKING:
    Getter = Callable[[Any], Any]


Language = Literal["json", "duckdb", "polars", "arrow"]
LineKind = Literal["urls", "changes"]

# The version of the lines: raised if a key is removed, becomes optional or changes its type (docs/versions.md).
JSONL_VERSION = 2

Line = UrlRecord | SitemapRef | Problem | Outcome | Candidate | Change | Summary
# Value of "type" -> record class. The line of a UrlRecord has no "type".
TYPES: dict[str, Any] = {
    "sitemap": SitemapRef,
    "candidate": Candidate,
    "problem": Problem,
    "outcome": Outcome,
    "change": Change,
    "summary": Summary,
}
# Fields of a record that its line does not have; that of a change has the keys of its record.
UNWRITTEN: dict[type, tuple[str, ...]] = {
    SitemapRef: ("authorities",),
    Problem: ("remedy", "listed"),
    Outcome: ("samples", "authorities", "lastmod", "lastmod_precision", "skipped"),
    Change: ("record",),
    WatchedChange: ("record",),
}
# The fields in the line of a removed URL.
REMOVED = ("loc", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap")
# Keys that a line has only where there is something to say; they come last.
SOMETIMES: dict[type, tuple[str, ...]] = {
    UrlRecord: (*NESTED, "problems"),
    SitemapRef: ("problems",),
    Outcome: ("tries",),
}
COUNTS = dict[str, int]


def schema(language: Language, of: LineKind = "urls") -> str:
    """The types of the JSON lines, as text in a language that reads them.

    `"json"`: a JSON Schema (2020-12) of every record's line. The others are of the lines of URLs, which have no "type",
    or with `of="changes"` of the lines of changes() and diff.
    `"duckdb"`: what `read_json(columns=...)` takes, as SQL. `"polars"`: a Python expression of `pl`, a dict for
    `pl.read_ndjson(schema=...)`. `"arrow"`: a Python expression of `pa`, a schema for `pyarrow.json.read_json()`.
    UsageError for another language or kind of line.

    >>> print(*schema("duckdb").splitlines()[:3], sep="\\n")
    {
        'loc': 'VARCHAR',
        'lastmod': 'TIMESTAMP',
    """
    if language not in _RENDERERS:
        raise UsageError(f"there is no schema for {language!r}; there is one for {', '.join(_RENDERERS)}")
    if of not in _RECORDS:
        raise UsageError(f"there is no schema of {of!r}; there is one of {', '.join(_RECORDS)}")
    return _RENDERERS[language](_RECORDS[of])


@attrs.define
class ShortProblem:
    """A problem in the line of its record, which has the place; CATALOGUE has severity and title."""

    code: str
    field: str | None = None
    raw: str | None = None


@cache
def keys_of(kind: Any) -> Mapping[str, Any]:
    """The keys of an object and their types; of a record those of its fields that its line has."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in UNWRITTEN.get(kind, ())}
    return {**hints, "problems": tuple[ShortProblem, ...]} if "problems" in SOMETIMES.get(kind, ()) else hints


@cache
def line_type(record: type) -> Any:
    """A TypedDict of a record's line: the keys that every line has, then those that only some have, `site` last.

    A key that may be absent is never null, except in the line of a Change.

    >>> line_type(SitemapRef).__optional_keys__ == {"problems", "site"}
    True
    """
    hints, sometimes = keys_of(record), SOMETIMES.get(record, ())
    kinds = [name for name, kind in TYPES.items() if kind is record]
    keys: dict[str, Any] = {"type": Literal[kinds[0]]} if kinds else {}
    if record is Change:
        of_record = keys_of(line_type(UrlRecord))
        hints = {"change": hints["change"], **of_record, **hints, "page": RemovedPage}  # of `diff --check-removed`
        sometimes = tuple(name for name in hints if name not in ("change", *REMOVED, "site"))
    else:
        hints = {name: without_null(hint) if name in sometimes else hint for name, hint in hints.items()}
    keys |= {name: hint for name, hint in hints.items() if name not in (*sometimes, "site")}
    keys |= {name: NotRequired[hints[name]] for name in sometimes}
    return typed_dict(record.__name__, {**keys, "site": NotRequired[str]})


def typed_dict(name: str, keys: dict[str, Any], *, total: bool = True) -> Any:
    make: Any = TypedDict  # the type checker takes no names that are computed
    return make(name, keys, total=total)


def mapped(hint: Any, scalars: Mapping[Any, Any], many: Callable[[Any], Any], whole: Callable[[str, Any], Any]) -> Any:
    """The type in another language: `many` makes a list of its item, `whole` an object of its name and its keys."""
    hint = without_null(hint)
    if item := item_of(hint):
        return many(mapped(item, scalars, many, whole))
    if is_object(hint):
        return whole(hint.__name__, {name: mapped(each, scalars, many, whole) for name, each in keys_of(hint).items()})
    return scalars[str if get_origin(hint) is Literal else hint]


# --- columns: DuckDB, polars, Arrow -----------------------------------------------------------------------------------


@attrs.frozen
class _Dialect:
    """The syntax of types in a language: scalars, and templates in which %s is the name or the inner type."""

    scalars: Mapping[Any, str]
    many: str
    whole: str
    member: str
    column: str
    columns: str


_DUCKDB = _Dialect(
    # TIMESTAMP, in UTC: a TIMESTAMPTZ is shown in the reader's own zone, where a date alone becomes another day.
    {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", datetime: "TIMESTAMP"},
    many="%s[]",
    whole="STRUCT(%s)",
    member='"%s" %s',  # quoted: `value` and `type` are words of SQL
    column="'%s': '%s'",
    columns="{\n%s\n}",
)
_POLARS = _Dialect(
    {str: "pl.String", int: "pl.Int64", float: "pl.Float64", bool: "pl.Boolean", datetime: 'pl.Datetime("us", "UTC")'},
    many="pl.List(%s)",
    whole="pl.Struct({%s})",
    member='"%s": %s',
    column='"%s": %s',
    columns="{\n%s\n}",
)
_ARROW = _Dialect(
    {
        str: "pa.string()",
        int: "pa.int64()",
        float: "pa.float64()",
        bool: "pa.bool_()",
        datetime: 'pa.timestamp("us", "UTC")',
    },
    many="pa.list_(%s)",
    whole="pa.struct([%s])",
    member='("%s", %s)',
    column='("%s", %s)',
    columns="pa.schema([\n%s\n])",
)


def _columns(dialect: _Dialect, record: type) -> str:
    def whole(_: str, keys: Mapping[str, str]) -> str:
        return dialect.whole % ", ".join(dialect.member % each for each in keys.items())

    keys = keys_of(line_type(record)).items()
    types = ((name, mapped(hint, dialect.scalars, dialect.many.__mod__, whole)) for name, hint in keys)
    return dialect.columns % ",\n".join(f"    {dialect.column % each}" for each in types)


# --- JSON Schema ------------------------------------------------------------------------------------------------------

_JSON: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {
        "type": "string",
        "format": "date-time",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,5}[1-9])?Z$",
    },
    COUNTS: {"type": "object", "additionalProperties": {"type": "integer"}},
}


def _json_schema() -> str:
    definitions: dict[str, Any] = {}
    lines = [_json_type(line_type(record), definitions) for record in (UrlRecord, *TYPES.values())]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:sitemap-reader:jsonl:{JSONL_VERSION}",
        "title": "A line of sitemap-reader's JSONL",
        "oneOf": lines,
        "$defs": definitions,
    }
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2).decode()


def _json_type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value; objects are added to `definitions` by name, and referenced."""
    stated = without_null(hint)
    if stated is not hint:
        value = _json_type(stated, definitions)
        if "type" not in value:
            return {"anyOf": [value, {"type": "null"}]}
        enum = {"enum": [*value["enum"], None]} if "enum" in value else {}
        return {**value, "type": [value["type"], "null"], **enum}
    if item := item_of(hint):
        return {"type": "array", "items": _json_type(item, definitions)}
    if is_object(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # its place is before those of its parts
            definitions[hint.__name__] = {
                "type": "object",
                "properties": {name: _json_type(each, definitions) for name, each in keys_of(hint).items()},
                "required": [name for name in keys_of(hint) if name not in getattr(hint, "__optional_keys__", ())],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if get_origin(hint) is Literal:
        words = [*get_args(hint)]
        return {"type": "string", "const": words[0]} if len(words) == 1 else {"type": "string", "enum": words}
    return _JSON[hint]


_RECORDS: dict[str, type] = {"urls": UrlRecord, "changes": Change}
_RENDERERS: dict[str, Callable[[type], str]] = {
    "json": lambda _: _json_schema(),
    "duckdb": partial(_columns, _DUCKDB),
    "polars": partial(_columns, _POLARS),
    "arrow": partial(_columns, _ARROW),
}


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
