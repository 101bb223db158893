"""Arrow record batches and Parquet files, with the types of schema.py. pyarrow is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from ..model.columns import URL_COLUMNS, ObjectColumns
from ..model.errors import UsageError, install_hint
from ..model.records import Change, UrlRecord
from ..model.url_batch import UrlBatch
from ..parser.fast_path import new_columns
from .byte_streams import Sink
from .jsonl import checked_type, checker, misfits, short, to_dict
from .schema import COUNTS, fields_of, mapped

if TYPE_CHECKING:
    from ..model.columns import UrlColumns
    from .byte_streams import Blocks
    from .schema import Fields


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

    text, counted = pa.string(), pa.struct([("name", pa.string()), ("count", pa.int64())])
    scalars = {str: text, int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", "UTC")}
    scalars[COUNTS] = pa.list_(counted)  # as pairs: not every reader of Arrow knows maps
    types = (
        mapped(column.type, scalars, pa.list_, lambda _, keys: pa.struct([*keys.items()])) for column in fields.columns
    )
    return pa.schema([*zip(fields.names, types, strict=True)])


# Either ends a batch: as Python objects, rows take some ten times the memory that they take in a batch.
BATCH_ROWS, BATCH_BYTES = 1_024, 1 << 20
# The columns that a store of URLs has.
_STORED = {column.name for column in URL_COLUMNS.children}


class Batches:
    """Collects JSON objects and UrlBatches; take() returns batches, rows in the order added."""

    def __init__(self, fields: Fields) -> None:
        self.schema = arrow_schema(fields)
        self._fields = fields
        self._counts = [number for number, column in enumerate(fields.columns) if column.type == COUNTS]
        self._checked = checker({column.name: checked_type(column.type) | None for column in fields.columns})
        self.ready: list[Any] = []
        self.ready_rows = self.ready_bytes = 0  # of the batches in `ready`
        # What waits: rows, or else the URLs of one site with the sitemaps of these.
        self._rows: list[tuple[Any, ...]] = []
        self._urls: UrlColumns = new_columns()
        self._sitemaps: list[str | None] = []
        self._constants: dict[str, str | None] = {}
        self._bytes = 0

    def add(self, json_object: dict[str, Any]) -> None:
        """UsageError, with URL and key, for a value that is not of its column's type."""
        try:
            row = self._checked(self._fields.select(json_object) if self._fields.has_paths else json_object)
        except misfits() as exc:
            place = next((json_object[key] for key in ("loc", "url", "sitemap") if json_object.get(key)), "a line")
            raise UsageError(f"{place}: {exc}") from None
        if self._counts:
            counts = (number in self._counts and cell is not None for number, cell in enumerate(row))
            row = tuple([*cell.items()] if is_count else cell for cell, is_count in zip(row, counts, strict=True))
        if len(self._urls):
            self.end()
        self._rows.append(row)
        self._bytes += len(orjson.dumps(row))

    def add_urls(self, urls: UrlBatch, *, site: str | None = None, is_new: bool = False) -> None:
        """With `is_new` as Changes, if the columns are theirs. Makes a batch once there are enough."""
        if self._fields.has_paths or isinstance(urls.store, ObjectColumns):
            for record in urls.records():
                self.add(to_dict(Change("new", record) if is_new else record, site=site))
        else:
            constants = {"site": site, "change": "new" if is_new else None}
            if self._rows or constants != self._constants:
                self.end()
                self._constants = constants
            if not len(self._urls):
                self._urls = urls.store.empty()
            self._urls.extend(urls.store, urls.start, urls.stop)
            self._sitemaps += [urls.sitemap] * len(urls)
        if self.is_full:
            self.end()

    @property
    def is_full(self) -> bool:
        return len(self._rows) + len(self._urls) >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def end(self) -> None:
        import pyarrow as pa

        columns: Iterable[Any] = ()
        if self._rows:
            columns = map(pa.array, zip(*self._rows, strict=True), self.schema.types)
        elif len(self._urls):
            columns = map(self._url_column, self.schema)
        if columns:
            batch = pa.record_batch([*columns], schema=self.schema)
            self.ready.append(batch)
            self.ready_rows += batch.num_rows
            self.ready_bytes += batch.nbytes
        self._rows, self._urls, self._sitemaps, self._bytes = [], self._urls.empty(), [], 0

    def _url_column(self, field: Any) -> Any:
        import pyarrow as pa

        urls = self._urls
        if field.name == "problems":
            problems: list[Any] = [None] * len(urls)
            for index, found in urls.problems.items():
                problems[index] = short(found)
            return pa.array(problems, field.type)
        if field.name == "sitemap":
            return pa.array(self._sitemaps, field.type)
        if field.name not in _STORED:
            return pa.repeat(pa.scalar(self._constants.get(field.name), field.type), len(urls))
        native: Any = urls
        return _array(field.type, native.arrow(field.name, 0, len(urls)))

    def take(self) -> list[Any]:
        ready, self.ready, self.ready_rows, self.ready_bytes = self.ready, [], 0, 0
        return ready


def record_batches(pieces: Iterable[UrlBatch | list[Change]], *, of_changes: bool = False) -> Any:
    """A pyarrow.RecordBatchReader of URLs, or `of_changes`, with the columns of their Parquet, as they are read.

    The URLs of a UrlBatch are new where changes are meant. A batch of URLs is read once there are BATCH_ROWS or
    BATCH_BYTES, changes piece by piece: what is requested next counts as delivered. UsageError without pyarrow.
    """
    fields = fields_of(Change) if of_changes else fields_of(UrlRecord)
    schema = arrow_schema(fields)  # first: it says how to install pyarrow
    import pyarrow as pa

    def at_least_one() -> Iterator[Any]:  # polars.from_arrow() fails on a reader without any
        batches = _batches_of(pieces, Batches(fields), of_changes)
        yield next(batches, None) or pa.RecordBatch.from_pylist([], schema)
        yield from batches

    return pa.RecordBatchReader.from_batches(schema, at_least_one())


def _batches_of(pieces: Iterable[UrlBatch | list[Change]], batches: Batches, of_changes: bool) -> Iterator[Any]:
    for piece in pieces:
        if isinstance(piece, UrlBatch):
            batches.add_urls(piece, is_new=of_changes)
        for change in () if isinstance(piece, UrlBatch) else piece:
            batches.add(to_dict(change))
            if batches.is_full:
                batches.end()
        if of_changes:
            batches.end()
        yield from batches.take()
    batches.end()
    yield from batches.take()


def _array(kind: Any, parts: tuple[int, int, list[bytes | None], list[Any]]) -> Any:
    """The pyarrow.Array of what NativeColumns.arrow() returns."""
    import pyarrow as pa

    length, nulls, buffers, children = parts
    if nulls == length:
        return pa.nulls(length, kind)
    types = [kind.field(number).type for number in range(kind.num_fields)]
    arrays = [_array(*each) for each in zip(types, children, strict=True)]
    wrapped = [None if each is None else pa.py_buffer(each) for each in buffers]
    return pa.Array.from_buffers(kind, length, wrapped, null_count=nulls, children=arrays)


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
        super().__init__(out)
        self._batches = Batches(fields)
        self._writer: Any = None

    def write(self, json_object: dict[str, Any]) -> None:
        self._batches.add(json_object)
        if self._batches.is_full:
            # Held: an exception that passes through pyarrow leaves a file that cannot be ended.
            with self._out.hold():
                self._batches.end()
                self._end_row_group(unless_small=True)

    def write_urls(self, batch: UrlBatch, *, site: str | None = None, is_new: bool = False) -> None:
        with self._out.hold():
            self._batches.add_urls(batch, site=site, is_new=is_new)
            self._end_row_group(unless_small=True)

    def write_changes(self, piece: UrlBatch | list[Change], *, site: str | None = None) -> None:
        if isinstance(piece, UrlBatch):
            self.write_urls(piece, site=site, is_new=True)
        else:
            super().write_changes(piece, site=site)

    def close(self) -> None:
        with self._out.hold():
            self._batches.end()
            self._end_row_group()
            self._writer.close()
            self._out.flush()

    def _end_row_group(self, *, unless_small: bool = False) -> None:
        import pyarrow as pa
        from pyarrow import parquet as pq

        rows, size = self._batches.ready_rows, self._batches.ready_bytes
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
        pass  # Blocks flushes itself

    def close(self) -> None:
        self.closed = True
