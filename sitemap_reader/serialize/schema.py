"""The schema of the JSON lines, derived from the annotations of the record classes.

In: the types of model/records.py, in the order in which jsonl.py writes them. Out: shapes, and text for readers of the
lines: JSON Schema, columns for DuckDB, dtypes for polars, a schema for Arrow. Readers that infer types from the first
lines lose the keys that only later lines have. Imports none of these libraries, and reads no line.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import attrs
import orjson

from ..model.errors import UsageError
from ..model.records import Change, UrlRecord
from .jsonl import JSONL_VERSION, REMOVED, TYPES, UNWRITTEN, line_hints, to_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Language = Literal["json", "duckdb", "polars", "arrow"]
LineKind = Literal["urls", "changes"]
Kind = Literal["text", "integer", "number", "boolean", "moment", "counts"]


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
    try:
        render = _RENDERERS[language]
    except KeyError:
        raise UsageError(f"there is no schema for {language!r}; there is one for {', '.join(_RENDERERS)}") from None
    try:
        record = _RECORDS[of]
    except KeyError:
        raise UsageError(f"there is no schema of {of!r}; there is one of {', '.join(_RECORDS)}") from None
    return render(record)


# --- shapes, in no language ---


@attrs.frozen
class Scalar:
    """A value without parts, or counts by name; `choices`, if any, are the only texts allowed."""

    kind: Kind
    choices: tuple[str, ...] = ()


@attrs.frozen
class Many:
    """A list."""

    of: Shape


@attrs.frozen
class Field:
    """A key of an object. One that may be absent is never null, except in the line of a Change."""

    name: str
    shape: Shape
    may_be_null: bool = False
    may_be_absent: bool = False


@attrs.frozen
class Object:
    """An object; `name` is that of its class."""

    name: str
    fields: tuple[Field, ...]


Shape = Scalar | Many | Object


def line_shape(record: type) -> Object:
    """The shape of a record's line: the keys that every line has, then those that only some have, `site` last.

    >>> [field.name for field in line_shape(UrlRecord).fields if field.may_be_absent][-2:]
    ['problems', 'site']
    """
    if record is Change:
        return _change_shape()
    hints = line_hints(record)
    blank: Any = {field.name: "" for field in attrs.fields(record) if field.default is attrs.NOTHING}
    always = to_dict(record(**blank))
    fields = [_type_field(always[name]) if name == "type" else _field(name, hints[name]) for name in always]
    for name in hints:
        if name not in always and name not in UNWRITTEN.get(record, ()):
            fields.append(Field(name, _field(name, hints[name]).shape, may_be_absent=True))
    return Object(record.__name__, (*fields, Field("site", Scalar("text"), may_be_absent=True)))


def _change_shape() -> Object:
    """The keys of a Change around those of its record; new URLs lack the former values, removed ones most keys."""
    hints = line_hints(Change)
    *of_record, site = line_shape(UrlRecord).fields
    fields = [_type_field("change"), _field("change", hints["change"])]
    fields += [field if field.name in REMOVED else attrs.evolve(field, may_be_absent=True) for field in of_record]
    for name in ("changed", "previous_lastmod", "previous_lastmod_precision"):
        fields.append(attrs.evolve(_field(name, hints[name]), may_be_absent=True))
    return Object("Change", (*fields, site))


def _type_field(kind: str) -> Field:
    return Field("type", Scalar("text", (kind,)))


def _field(name: str, hint: Any) -> Field:
    """`hint` may be `X | None`."""
    parts = get_args(hint)
    if type(None) not in parts:
        return Field(name, _shape(hint))
    (stated,) = (part for part in parts if part is not type(None))
    return Field(name, _shape(stated), may_be_null=True)


_SCALARS: dict[Any, Scalar] = {
    str: Scalar("text"),
    int: Scalar("integer"),
    float: Scalar("number"),
    bool: Scalar("boolean"),
    datetime: Scalar("moment"),
    dict[str, int]: Scalar("counts"),
}
_CONTAINERS: dict[Any, Callable[..., Shape]] = {
    Literal: lambda *choices: Scalar("text", choices),
    list: lambda each: Many(_shape(each)),
    tuple: lambda each, _: Many(_shape(each)),
}


def _shape(hint: Any) -> Shape:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if get_origin(hint) in _CONTAINERS:
        return _CONTAINERS[get_origin(hint)](*get_args(hint))
    return class_shape(hint)


def class_shape(kind: type) -> Object:
    """The shape of an attrs class, by the hints of its fields."""
    return Object(kind.__name__, tuple(_field(name, each) for name, each in get_type_hints(kind).items()))


# --- columns: DuckDB, polars, Arrow ---


@attrs.frozen
class _Dialect:
    """The syntax of types in a language. In each template %s is the name or the inner type."""

    scalars: int  # index in the rows of _COLUMN_TYPES
    many: str
    object: str
    member: str
    column: str
    whole: str


# Kind -> its type in DuckDB, polars and Arrow.
_COLUMN_TYPES: dict[Kind, tuple[str, str, str]] = {
    "text": ("VARCHAR", "pl.String", "pa.string()"),
    "integer": ("BIGINT", "pl.Int64", "pa.int64()"),
    "number": ("DOUBLE", "pl.Float64", "pa.float64()"),
    "boolean": ("BOOLEAN", "pl.Boolean", "pa.bool_()"),
    # TIMESTAMP, in UTC: a TIMESTAMPTZ is shown in the reader's own zone, where a date alone becomes another day.
    "moment": ("TIMESTAMP", 'pl.Datetime("us", "UTC")', 'pa.timestamp("us", "UTC")'),
}
_DUCKDB = _Dialect(
    scalars=0,
    many="%s[]",
    object="STRUCT(%s)",
    member='"%s" %s',  # quoted: `value` and `type` are words of SQL
    column="'%s': '%s'",
    whole="{\n%s\n}",
)
_POLARS = _Dialect(
    scalars=1,
    many="pl.List(%s)",
    object="pl.Struct({%s})",
    member='"%s": %s',
    column='"%s": %s',
    whole="{\n%s\n}",
)
_ARROW = _Dialect(
    scalars=2,
    many="pa.list_(%s)",
    object="pa.struct([%s])",
    member='("%s", %s)',
    column='("%s", %s)',
    whole="pa.schema([\n%s\n])",
)


def _columns(dialect: _Dialect, record: type) -> str:
    fields = line_shape(record).fields
    columns = ("    " + dialect.column % (field.name, _type(field.shape, dialect)) for field in fields)
    return dialect.whole % ",\n".join(columns)


def _type(shape: Shape, dialect: _Dialect) -> str:
    if isinstance(shape, Scalar):
        return _COLUMN_TYPES[shape.kind][dialect.scalars]
    if isinstance(shape, Many):
        return dialect.many % _type(shape.of, dialect)
    members = (dialect.member % (field.name, _type(field.shape, dialect)) for field in shape.fields)
    return dialect.object % ", ".join(members)


# --- JSON Schema ---

_JSON: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "moment": {
        "type": "string",
        "format": "date-time",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,5}[1-9])?Z$",
    },
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
}


def _json_schema() -> str:
    definitions: dict[str, Any] = {}
    lines = [_json_type(line_shape(record), definitions) for record in (UrlRecord, *TYPES.values())]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:sitemap-reader:jsonl:{JSONL_VERSION}",
        "title": "A line of sitemap-reader's JSONL",
        "oneOf": lines,
        "$defs": definitions,
    }
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode()


def _json_type(shape: Shape, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value; objects are added to `definitions` by name, and referenced."""
    if isinstance(shape, Scalar):
        return {**_JSON[shape.kind], **_json_choices(shape.choices)}
    if isinstance(shape, Many):
        return {"type": "array", "items": _json_type(shape.of, definitions)}
    if shape.name not in definitions:
        definitions[shape.name] = {}  # its place is before those of its parts
        definitions[shape.name] = _json_object(shape.fields, definitions)
    return {"$ref": f"#/$defs/{shape.name}"}


def _json_choices(choices: tuple[str, ...]) -> dict[str, Any]:
    if len(choices) == 1:
        return {"const": choices[0]}
    return {"enum": list(choices)} if choices else {}


def _json_object(fields: Iterable[Field], definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {}
    for field in fields:
        value = _json_type(field.shape, definitions)
        properties[field.name] = _or_null(value) if field.may_be_null else value
    return {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in fields if not field.may_be_absent],
        "additionalProperties": False,
    }


def _or_null(value: dict[str, Any]) -> dict[str, Any]:
    if "type" not in value:
        return {"anyOf": [value, {"type": "null"}]}
    widened = {**value, "type": [value["type"], "null"]}
    if "enum" in value:
        widened["enum"] = [*value["enum"], None]
    return widened


_RECORDS: dict[str, type] = {"urls": UrlRecord, "changes": Change}
_RENDERERS: dict[str, Callable[[type], str]] = {
    "json": lambda _: _json_schema(),
    "duckdb": partial(_columns, _DUCKDB),
    "polars": partial(_columns, _POLARS),
    "arrow": partial(_columns, _ARROW),
}
