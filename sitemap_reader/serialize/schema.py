"""The types of the JSON lines, derived from model/records.py, and as text for readers of lines.

Readers that infer types from the first lines lose the keys that only later lines have. A type is a hint, as
get_type_hints() returns it: str, int, float, bool, datetime, dict[str, int] (counts by name), Literal, list, tuple,
`X | None`, an attrs class or a TypedDict (an object). msgspec.inspect would sort the keys of a TypedDict, and `dump`
does not import msgspec.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, get_args, get_origin, get_type_hints

import attrs
import orjson

from ..model.columns import NESTED, is_object, item_of, without_null
from ..model.errors import UsageError
from ..model.problems import Problem
from ..model.records import Candidate, Change, Outcome, RemovedPage, SitemapRef, UrlRecord, WatchedChange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Language = Literal["json", "duckdb", "polars", "arrow"]
LineKind = Literal["urls", "changes"]

# The version of the lines: raised if a key is removed, becomes optional or changes its type (docs/versions.md).
JSONL_VERSION = 2

Line = UrlRecord | SitemapRef | Problem | Outcome | Candidate | Change
# Value of "type" -> record class. The line of a UrlRecord has no "type".
TYPES: dict[str, Any] = {
    "sitemap": SitemapRef,
    "candidate": Candidate,
    "problem": Problem,
    "outcome": Outcome,
    "change": Change,
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
SOMETIMES: dict[type, tuple[str, ...]] = {UrlRecord: (*NESTED, "problems"), SitemapRef: ("problems",)}
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
    return {**hints, "problems": tuple[ShortProblem, ...]} if kind in SOMETIMES else hints


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
