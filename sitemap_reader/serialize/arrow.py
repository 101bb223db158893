"""UrlBatches, JSON objects or whole JSON lines -> Arrow record batches, and from these a Parquet file.

Rows converts objects one by one; Batches collects them, takes UrlBatches column by column, and passes lines to Arrow's
own JSON reader where that gives the same result; ParquetSink writes row groups as they fill. Types are those of
schema.py, never inferred. pyarrow is imported on first use. Never opens a file.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from ..model.errors import UsageError, install_hint
from ..model.records import EXTENSIONS, Change, UrlRecord
from ..model.url_batch import SUBSECOND, UrlBatch, changefreq_of, precision_of
from .byte_streams import Sink
from .jsonl import to_dict
from .projection import fields_of
from .schema import Many, Object, Scalar, Shape, line_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .projection import Fields
    from .schema import Kind

    Converter = Callable[[Any], Any]
    from .byte_streams import Blocks


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
    """JSON objects as rows of a schema: row() converts one, batch() makes a record batch of many rows."""

    def __init__(self, fields: Fields) -> None:
        self.schema = arrow_schema(fields)
        self._fields = fields
        self._converters = [_converter(column.shape) for column in fields.columns]

    def row(self, json_object: dict[str, Any]) -> list[Any]:
        """The values of a JSON object by column; UsageError, with URL and key, for one of another type."""
        values = self._fields.values(json_object)
        try:
            pairs = zip(self._converters, values, strict=True)
            return [None if value is None else convert(value) for convert, value in pairs]
        except _Misfit:
            place = next((json_object[key] for key in ("loc", "url", "sitemap") if json_object.get(key)), "a line")
            raise UsageError(f"{place}: {self._misfit(values)}") from None

    def batch(self, rows: Sequence[Sequence[Any]]) -> Any:
        """A pyarrow.RecordBatch of one row or more."""
        import pyarrow as pa

        cells = zip(zip(*rows, strict=True), self.schema.types, strict=True)
        return pa.record_batch([pa.array(column, kind) for column, kind in cells], schema=self.schema)

    def _misfit(self, values: list[Any]) -> str:
        """The message for the first value of another type."""
        pairs = zip(self._fields.columns, values, strict=True)
        return next(filter(None, (_misfits(column.shape, value, column.name) for column, value in pairs)))


# --- values ---


class _Misfit(Exception):
    """A value is not of the type of its column."""


def _converter(shape: Shape) -> Converter:
    """The function that converts a JSON value of this shape, but null, for pyarrow; _Misfit for any other."""
    if isinstance(shape, Scalar):
        return _SCALARS[shape.kind]
    return _list(_converter(shape.of)) if isinstance(shape, Many) else _struct(shape)


def _list(convert: Converter) -> Converter:
    def convert_each(value: Any) -> Any:
        if type(value) is not list:
            raise _Misfit
        return [None if item is None else convert(item) for item in value]

    return convert_each


def _struct(shape: Object) -> Converter:
    converters = [(field.name, _converter(field.shape)) for field in shape.fields]

    def convert_each(value: Any) -> Any:
        if type(value) is not dict:
            raise _Misfit
        of = value.get
        return {name: None if (inside := of(name)) is None else convert(inside) for name, convert in converters}

    return convert_each


def _exactly(kind: type) -> Converter:
    def convert(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise _Misfit

    return convert


def _integer(value: Any) -> Any:
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    raise _Misfit


def _number(value: Any) -> Any:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise _Misfit


def _moment(value: Any) -> Any:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _Misfit from None
    if moment.tzinfo is None:
        raise _Misfit
    return moment


def _counts(value: Any) -> Any:
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
    """The message for a value of another type, with the path of the part at fault; None if it fits."""
    try:
        if value is not None:
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


# --- batches ----------------------------------------------------------------------------------------------------------


# Either ends a batch: as Python objects, rows take some ten times the memory that they take in a batch.
BATCH_ROWS, BATCH_BYTES = 1_024, 1 << 20


class Batches:
    """Collects JSON objects, UrlBatches and JSON lines; take() returns batches, rows in the order added."""

    def __init__(self, fields: Fields) -> None:
        self._converted = Rows(fields)
        self.schema = self._converted.schema
        self.ready: list[Any] = []
        self._takes_lines = frozenset(fields.names) <= frozenset(fields_of(_record(self.schema)).names)
        self._rows: list[list[Any]] = []
        self._row_bytes = 0

    def add(self, json_object: dict[str, Any]) -> None:
        """Adds a JSON object; UsageError, and nothing added, for a value that is not of its column's type."""
        row = self._converted.row(json_object)
        self._rows.append(row)
        self._row_bytes += len(orjson.dumps(row))

    def add_urls(self, urls: UrlBatch, *, site: str | None = None, is_new: bool = False) -> None:
        """Adds URLs; with `is_new` as Changes, if the columns are theirs."""
        if urls.is_plain and self._takes_lines:
            self.end()
            self.ready.append(_plain_batch(urls, self.schema, {"site": site, "change": "new" if is_new else None}))
            return
        for record in urls.records():
            self.add(to_dict(Change("new", record) if is_new else record, site=site))
            if self.is_full:
                self.end()

    def try_lines(self, lines: bytes) -> int:
        """Adds URL lines from any source and returns how many; 0, and none added, where some may be others."""
        table = lines_table(lines, self.schema) if self._takes_lines else None
        if table is None:
            return 0
        self.end()
        self.ready += table.to_batches()
        return int(table.num_rows)

    @property
    def is_full(self) -> bool:
        """Whether enough is collected to call end()."""
        return len(self._rows) >= BATCH_ROWS or self._row_bytes >= BATCH_BYTES

    def end(self) -> None:
        """Makes a batch of all rows that are collected."""
        if self._rows:
            rows, self._rows, self._row_bytes = self._rows, [], 0
            self.ready.append(self._converted.batch(rows))

    def take(self) -> list[Any]:
        """The batches that are ready."""
        ready, self.ready = self.ready, []
        return ready


def _plain_batch(urls: UrlBatch, schema: Any, constants: dict[str, str | None]) -> Any:
    """A pyarrow.RecordBatch of URLs without extensions."""
    import pyarrow as pa

    locs, lastmods, precisions, changefreqs, priorities, lines = urls.columns
    dates = zip(lastmods, precisions, strict=True)
    columns: dict[str, Any] = {
        "loc": locs,
        "lastmod": [each * 1_000_000 if each is not None and code != SUBSECOND else each for each, code in dates],
        "lastmod_precision": [*map(precision_of, precisions)],
        "changefreq": [*map(changefreq_of, changefreqs)],
        "priority": priorities,
        "line": lines,
    }
    constants = {**constants, "sitemap": urls.sitemap}

    def array(name: str, kind: Any) -> Any:
        if name in columns:
            return pa.array(columns[name], kind)
        return pa.repeat(pa.scalar(constants.get(name), kind), len(locs))

    return pa.record_batch([array(field.name, field.type) for field in schema], schema=schema)


# --- lines by Arrow's JSON reader -------------------------------------------------------------------------------------


def _keys_inside(shape: Shape, *kinds: Kind) -> Iterator[str]:
    """The keys of all values of these kinds, at any depth."""
    if isinstance(shape, Many):
        yield from _keys_inside(shape.of, *kinds)
    elif isinstance(shape, Object):
        for field in shape.fields:
            if isinstance(field.shape, Scalar) and field.shape.kind in kinds:
                yield field.name
            yield from _keys_inside(field.shape, *kinds)


_PARSED_AT_ONCE_BYTES = 1 << 20
# A date -> the text that follows it as json_line() writes it; in texts quotation marks are escaped.
_STAMPED = {name: f'Z","{name}_precision":'.encode() for name in ("lastmod", "previous_lastmod")}
# As a key with a stamp, with null, and as a text of its own.
_DATES_INSIDE = tuple(
    (f'"{key}"'.encode(), [f'Z","{key}_precision":'.encode(), *(f'"{key}"{end}'.encode() for end in (":null", *",}]"))])
    for key in sorted(set(_keys_inside(line_shape(UrlRecord), "moment")) - {*_STAMPED})
)
_NO_NUMBER = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")
# Nothing else is escaped by number when we write.
_FOREIGN_ESCAPE = re.compile(rb"\\u(?!00[01])")
_HAVE_DATES_AND_NUMBERS = tuple(
    field.name
    for field in line_shape(UrlRecord).fields
    if field.name in EXTENSIONS and any(True for _ in _keys_inside(field.shape, "moment", "number"))
)
# Whose lines -> what their "type" says.
_TYPES = {UrlRecord: None, Change: "change"}
_YEAR_ONE = -62_135_596_800_000_000  # in microseconds: Python has no dates before


def lines_table(lines: bytes, schema: Any) -> Any:
    """A pyarrow.Table of the lines of URLs, or of changes, each with its line feed, in a tenth of the time of Rows.

    `schema` has columns of either. None where the lines may not be of json_line(): Arrow's reader also accepts others,
    such as `NaN` or dates without a zone.
    """
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if not (lines.startswith(b"{") and lines.endswith(b"}\n") and _is_text(lines)):
        return None
    record = _record(schema)
    expected = arrow_schema(fields_of(record)).append(pa.field("type", pa.string()))
    parsing = arrow_json.ParseOptions(explicit_schema=expected, unexpected_field_behavior="error")
    reading = arrow_json.ReadOptions(block_size=_PARSED_AT_ONCE_BYTES)
    try:
        table = arrow_json.read_json(pa.BufferReader(lines), read_options=reading, parse_options=parsing)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table.select(schema.names) if _is_ours(table, lines, _TYPES[record]) else None


def _record(schema: Any) -> type:
    """The record class that has these columns."""
    return Change if "change" in schema.names else UrlRecord


def _is_ours(table: Any, lines: bytes, kind: str | None) -> bool:
    """Whether each line is one object of this type, with full stamps and finite numbers."""
    from pyarrow import compute

    rows = table.num_rows
    dates = [name for name in _STAMPED if name in table.column_names]
    stated = {name: rows - table[name].null_count for name in ("loc", *dates, *_HAVE_DATES_AND_NUMBERS)}
    # Between lines one object ends and the next begins.
    if lines.count(b"}\n{") + 1 != rows or lines.count(b"\n") != rows:
        return False
    if stated["loc"] != rows or (b"\\u" in lines and _FOREIGN_ESCAPE.search(lines)):
        return False
    if table["type"].unique().to_pylist() != [kind]:
        return False
    is_finite = compute.all(compute.is_finite(table["priority"])).as_py()
    if is_finite is False:  # None: there is no priority
        return False
    for name in dates:
        if lines.count(_STAMPED[name]) != stated[name]:
            return False
        if stated[name] and compute.min(table[name]).value < _YEAR_ONE:
            return False
    return not any(stated[name] for name in _HAVE_DATES_AND_NUMBERS) or _is_ours_inside(lines)


def _is_ours_inside(lines: bytes) -> bool:
    """_is_ours() for the dates and numbers of extensions."""
    if any(lines.count(key) != sum(map(lines.count, places)) for key, places in _DATES_INSIDE):
        return False
    may_be_none = b"NaN" in lines or b"Inf" in lines
    return b'"0000-' not in lines and not (may_be_none and _NO_NUMBER.search(lines))


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- Parquet ----------------------------------------------------------------------------------------------------------


ROW_GROUP_ROWS = 20_480
# A row group ends at this size, even with fewer rows.
ROW_GROUP_BYTES = 16 << 20


class ParquetSink(Sink):
    """Writes JSON objects as rows of a Parquet file, compressed with zstd; it can be read only after close().

    UsageError for a value that is not of its column's type: it names the URL and the key, and the rows before it are
    kept. Once `out` has failed, nothing more is written: an incomplete file is not valid Parquet.
    """

    def __init__(self, out: Blocks, fields: Fields) -> None:
        self._batches = Batches(fields)
        self._out = out
        self._writer: Any = None

    def write(self, json_object: dict[str, Any]) -> None:
        """Writes one JSON object."""
        self._batches.add(json_object)
        self._empty()

    def write_urls(self, batch: UrlBatch, *, site: str | None = None) -> None:
        """Writes many URLs."""
        self.write_changes(batch, site=site, is_new=False)

    def write_changes(self, piece: UrlBatch | list[Change], *, site: str | None, is_new: bool = True) -> None:
        """Writes Changes; the URLs of a batch are new."""
        with self._out.hold():
            if isinstance(piece, UrlBatch):
                self._batches.add_urls(piece, site=site, is_new=is_new)
            else:
                for change in piece:
                    self._batches.add(to_dict(change, site=site))
            self._end_row_group(unless_small=True)

    def try_lines(self, lines: bytes) -> int:
        """Writes lines if all of them are of URLs and returns how many; else 0, and none is written."""
        with self._out.hold():
            taken = self._batches.try_lines(lines)
            self._end_row_group(unless_small=True)
        return taken

    def flush(self) -> None:
        """Flushes complete row groups."""
        self._out.flush()

    def close(self) -> None:
        """Writes the rest, and the footer."""
        with self._out.hold():
            self._batches.end()
            self._end_row_group()
            self._writer.close()
            self._out.flush()

    def _empty(self) -> None:
        if self._batches.is_full:
            # Held: an exception that passes through pyarrow leaves a file that cannot be ended.
            with self._out.hold():
                self._batches.end()
                self._end_row_group(unless_small=True)

    def _end_row_group(self, *, unless_small: bool = False) -> None:
        import pyarrow as pa
        from pyarrow import parquet as pq

        ready = self._batches.ready
        rows, size = sum(batch.num_rows for batch in ready), sum(batch.nbytes for batch in ready)
        if unless_small and rows < ROW_GROUP_ROWS and size < ROW_GROUP_BYTES:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(_Stream(self._out), self._batches.schema, compression="zstd")
        if rows:
            table = pa.Table.from_batches(self._batches.take())
            self._writer.write_table(table, row_group_size=table.num_rows)


class _Stream:
    """The file interface that pyarrow needs; it counts the bytes itself, as `out` may be a pipe."""

    closed = False

    def __init__(self, out: Blocks) -> None:
        self._out = out
        self._at = 0

    def write(self, data: Any) -> int:
        self._at += len(data)
        # A ParquetWriter that is garbage-collected still writes its footer.
        if not self._out.has_failed:
            self._out.write(bytes(data))
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Nothing: Blocks flushes itself."""

    def close(self) -> None:
        self.closed = True
