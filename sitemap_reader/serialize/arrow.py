"""Forms to Arrow: values with their types in, record batches of a declared schema out.

Types are those that shapes.py declares, never guessed from what comes first. pyarrow is imported when it is needed.
Never opens a file.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from ..model.errors import UsageError, install_hint
from .schema import Many, Object, Scalar, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .projection import Fields
    from .schema import Kind

    Converter = Callable[[Any], Any]

SHOWN_CHARS = 80


def require_pyarrow(what: str = "parquet needs", extra: str = "parquet") -> None:
    """UsageError, with the extra to install, where pyarrow is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"{what} pyarrow: {install_hint(extra)}") from exc


def arrow_schema(fields: Fields) -> Any:
    """The pyarrow.Schema of these columns, with the types of schema("arrow"); UsageError without pyarrow."""
    require_pyarrow()
    import pyarrow as pa

    return pa.schema([(column.name, _arrow_type(column.shape)) for column in fields.columns])


def _arrow_type(shape: Shape) -> Any:
    import pyarrow as pa

    if isinstance(shape, Many):
        return pa.list_(_arrow_type(shape.of))
    if isinstance(shape, Object):
        return pa.struct([(field.name, _arrow_type(field.shape)) for field in shape.fields])
    if shape.kind == "counts":  # as pairs: not every reader of Arrow knows maps
        return pa.list_(pa.struct([("name", pa.string()), ("count", pa.int64())]))
    return pa.timestamp("us", "UTC") if shape.kind == "moment" else pa.type_for_alias(_ALIASES[shape.kind])


_ALIASES: dict[Kind, str] = {"text": "string", "integer": "int64", "number": "float64", "boolean": "bool"}


class Rows:
    """Forms as rows of a schema: row() each, then batch() makes a record batch of many."""

    def __init__(self, fields: Fields) -> None:
        self.schema = arrow_schema(fields)
        self._fields = fields
        self._converters = [_converter(column.shape) for column in fields.columns]

    def row(self, form: dict[str, Any]) -> list[Any]:
        """What a form has in each column; UsageError, with URL and key, for what is not of its column's type."""
        values = self._fields.values(form)
        try:
            return [convert(value) for convert, value in zip(self._converters, values, strict=True)]
        except _Misfit:
            place = next((form[key] for key in ("loc", "url", "sitemap") if form.get(key)), "a line")
            raise UsageError(f"{place}: {self._misfit(values)}") from None

    def batch(self, rows: Sequence[Sequence[Any]]) -> Any:
        """A pyarrow.RecordBatch of one row or more."""
        import pyarrow as pa

        cells = zip(zip(*rows, strict=True), self.schema.types, strict=True)
        return pa.record_batch([pa.array(column, kind) for column, kind in cells], schema=self.schema)

    def _misfit(self, values: list[Any]) -> str:
        """What is wrong with the first value that does not fit."""
        pairs = zip(self._fields.columns, values, strict=True)
        return next(filter(None, (_misfits(column.shape, value, column.name) for column, value in pairs)))


# --- values ---


class _Misfit(Exception):
    """A value is not of the type of its column."""


def _converter(shape: Shape) -> Converter:
    """What makes of a form's value one that pyarrow takes for this shape; _Misfit where it is none."""
    if isinstance(shape, Scalar):
        return _SCALARS[shape.kind]
    return _list(_converter(shape.of)) if isinstance(shape, Many) else _struct(shape)


def _list(convert: Converter) -> Converter:
    def convert_each(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not list:
            raise _Misfit
        return [convert(item) for item in value]

    return convert_each


def _struct(shape: Object) -> Converter:
    converters = [(field.name, _converter(field.shape)) for field in shape.fields]

    def convert_each(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dict:
            raise _Misfit
        return {name: convert(value.get(name)) for name, convert in converters}

    return convert_each


def _exactly(kind: type) -> Converter:
    def convert(value: Any) -> Any:
        if value is None or type(value) is kind:
            return value
        raise _Misfit

    return convert


def _integer(value: Any) -> Any:
    if value is None or (type(value) is int and -(2**63) <= value < 2**63):
        return value
    raise _Misfit


def _number(value: Any) -> Any:
    if value is None or type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise _Misfit


def _moment(value: Any) -> Any:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _Misfit from None
    if moment.tzinfo is None:
        raise _Misfit
    return moment


def _counts(value: Any) -> Any:
    if value is None:
        return None
    if type(value) is not dict or not all(type(count) is int for count in value.values()):
        raise _Misfit
    return [{"name": name, "count": count} for name, count in value.items()]


_SCALARS: dict[Kind, Converter] = {
    "text": _exactly(str),
    "integer": _integer,
    "number": _number,
    "boolean": _exactly(bool),
    "moment": _moment,
    "counts": _counts,
}


def _misfits(shape: Shape, value: Any, path: str) -> str | None:
    """What is wrong with a value, and where in it; None if it fits."""
    try:
        _converter(shape)(value)
    except _Misfit:
        return next(filter(None, _inside(shape, value, path)), f"{path}: {_shown(value)} is not {_what(shape)}")
    return None


def _inside(shape: Shape, value: Any, path: str) -> list[str | None]:
    if isinstance(shape, Many) and type(value) is list:
        return [_misfits(shape.of, item, f"{path}[{number}]") for number, item in enumerate(value)]
    if isinstance(shape, Object) and type(value) is dict:
        return [_misfits(field.shape, value.get(field.name), f"{path}.{field.name}") for field in shape.fields]
    return []


def _what(shape: Shape) -> str:
    return _WORDS[shape.kind] if isinstance(shape, Scalar) else "a list" if isinstance(shape, Many) else "an object"


_WORDS: dict[Kind, str] = {
    "text": "text",
    "integer": "a whole number of at most 64 bits",
    "number": "a number",
    "boolean": "true or false",
    "moment": "a date like 2024-01-31T08:30:00Z",
    "counts": "an object of numbers",
}


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
