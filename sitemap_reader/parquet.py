"""Forms to a Parquet file: columns with their types in, row groups out as they fill, the footer at the end.

Types are those that shapes.py declares, never guessed from what comes first. pyarrow is imported when it is needed.
Never opens a file, and never has more than a row group in memory.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from .errors import UsageError
from .shapes import Many, Object, Scalar, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from .blocks import Blocks
    from .fields import Fields
    from .shapes import Kind

    Converter = Callable[[Any], Any]

ROW_GROUP_ROWS = 20_480
# Either ends a batch: rows as Python has them take some ten times what they take in a batch.
BATCH_ROWS, BATCH_BYTES = 1_024, 1 << 20
# However long the rows are: so much of batches is a row group.
ROW_GROUP_BYTES = 16 << 20
SHOWN_CHARS = 80


class ParquetSink:
    """Forms in rows of a Parquet file, compressed with zstd; close() makes it one that can be read.

    UsageError for a value that is not of its column's type: it names the URL and the key, and the rows before it are
    kept. Once `out` has failed, nothing more is written: half a file is no Parquet.
    """

    def __init__(self, out: Blocks, fields: Fields) -> None:
        self._schema = arrow_schema(fields)
        self._out = out
        self._fields = fields
        self._converters = [_converter(column.shape) for column in fields.columns]
        self._rows: list[list[Any]] = []
        self._bytes = 0
        self._batches: list[Any] = []
        self._writer: Any = None

    def write(self, form: dict[str, Any]) -> None:
        """Takes one form."""
        values = self._fields.values(form)
        try:
            row = [convert(value) for convert, value in zip(self._converters, values, strict=True)]
        except _Misfit:
            raise UsageError(f"{form.get('loc')}: {self._misfit(values)}") from None
        self._rows.append(row)
        self._bytes += len(orjson.dumps(row))
        if len(self._rows) >= BATCH_ROWS or self._bytes >= BATCH_BYTES:
            # Held: an exception that passes through pyarrow leaves a file that cannot be ended.
            with self._out.hold():
                self._end_batch()

    def flush(self) -> None:
        """Writes what is ready; a row group that has begun is not."""
        self._out.flush()

    def close(self) -> None:
        """Writes the rest, and the footer."""
        with self._out.hold():
            self._end_batch()
            self._end_row_group()
            self._writer.close()
            self._out.flush()

    def _end_batch(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        rows, self._rows, self._bytes = self._rows, [], 0
        cells = zip(zip(*rows, strict=True), self._schema.types, strict=True)
        columns = [pa.array(column, kind) for column, kind in cells]
        self._batches.append(pa.record_batch(columns, schema=self._schema))
        rows_ready = sum(batch.num_rows for batch in self._batches)
        if rows_ready >= ROW_GROUP_ROWS or sum(batch.nbytes for batch in self._batches) >= ROW_GROUP_BYTES:
            self._end_row_group()

    def _end_row_group(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(_Stream(self._out), self._schema, compression="zstd")
        if self._batches:
            batches, self._batches = self._batches, []
            table = pa.Table.from_batches(batches)
            self._writer.write_table(table, row_group_size=table.num_rows)

    def _misfit(self, values: list[Any]) -> str:
        """What is wrong with the first value that does not fit."""
        pairs = zip(self._fields.columns, values, strict=True)
        return next(filter(None, (_misfits(column.shape, value, column.name) for column, value in pairs)))


def require_pyarrow() -> None:
    """UsageError, with what to install, where pyarrow is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as exc:
        raise UsageError("parquet needs pyarrow: pip install 'sitemap-reader[parquet]'") from exc


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
    return pa.timestamp("us", "UTC") if shape.kind == "moment" else pa.type_for_alias(_ALIASES[shape.kind])


_ALIASES: dict[Kind, str] = {"text": "string", "integer": "int64", "number": "float64", "boolean": "bool"}


class _Stream:
    """What pyarrow needs of a file; it counts its own bytes, which may well go to a pipe."""

    closed = False

    def __init__(self, out: Blocks) -> None:
        self._out = out
        self._at = 0

    def write(self, data: Any) -> int:
        self._at += len(data)
        # A writer that is let go of writes its footer all the same.
        if not self._out.has_failed:
            self._out.write(bytes(data))
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Blocks know when."""

    def close(self) -> None:
        self.closed = True


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


_SCALARS: dict[Kind, Converter] = {
    "text": _exactly(str),
    "integer": _integer,
    "number": _number,
    "boolean": _exactly(bool),
    "moment": _moment,
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
}


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
