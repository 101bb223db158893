"""UrlBatches or JSON objects -> Arrow record batches, and from these a Parquet file.

Batches converts objects row by row, and UrlBatches column by column, except for what only some URLs have. ParquetSink
writes row groups as they fill. Types are those of schema.py, never inferred. pyarrow is imported on first use. Never
opens a file.
"""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..model.errors import UsageError, install_hint
from ..model.url_batch import SUBSECOND, UrlBatch, changefreq_of, precision_of
from .byte_streams import Sink
from .jsonl import add_details, checked_type, checker, misfits, to_dict
from .schema import COUNTS, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.records import Change, UrlRecord
    from .byte_streams import Blocks
    from .projection import Fields


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


# --- batches ----------------------------------------------------------------------------------------------------------


# Either ends a batch: as Python objects, rows take some ten times the memory that they take in a batch.
BATCH_ROWS, BATCH_BYTES = 1_024, 1 << 20
# What a UrlBatch has as columns; its other columns are made of records.
_PLAIN = ("loc", "lastmod", "lastmod_precision", "changefreq", "priority", "line", "sitemap", "site", "change")


class _Cells:
    """The values of JSON objects by column, with their types checked."""

    def __init__(self, fields: Fields) -> None:
        self._counts = [number for number, column in enumerate(fields.columns) if column.type == COUNTS]
        self._select = None if fields.roots == {*fields.names} else fields.select
        self._check = checker({column.name: checked_type(column.type) | None for column in fields.columns})

    def of(self, json_object: dict[str, Any]) -> tuple[Any, ...]:
        """The values of a JSON object; UsageError, with URL and key, for one of another type."""
        try:
            cells = self._check(self._select(json_object) if self._select else json_object)
        except misfits() as exc:
            place = next((json_object[key] for key in ("loc", "url", "sitemap") if json_object.get(key)), "a line")
            raise UsageError(f"{place}: {exc}") from None
        if not self._counts:
            return cells
        return tuple(
            [*cell.items()] if number in self._counts and cell is not None else cell
            for number, cell in enumerate(cells)
        )


class Batches:
    """Collects JSON objects and UrlBatches; take() returns batches, rows in the order added."""

    def __init__(self, fields: Fields) -> None:
        self.schema = arrow_schema(fields)
        self._cells = _Cells(fields)
        self._details = attrs.evolve(fields, columns=tuple(each for each in fields.columns if each.name not in _PLAIN))
        self._detail_cells = _Cells(self._details)
        self.ready: list[Any] = []
        self.ready_rows = self.ready_bytes = 0  # of the batches in `ready`
        # What waits: rows, or else UrlBatches of one site with the cells of their details, None for a URL without any.
        self._rows: list[tuple[Any, ...]] = []
        self._urls: list[UrlBatch] = []
        self._urls_details: list[tuple[Any, ...] | None] = []
        self._constants: dict[str, str | None] = {}
        self._bytes = 0

    def add(self, json_object: dict[str, Any]) -> None:
        """Adds a JSON object; UsageError, and nothing added, for a value that is not of its column's type."""
        row = self._cells.of(json_object)
        if self._urls:
            self.end()
        self._rows.append(row)
        self._bytes += len(orjson.dumps(row))

    def add_urls(self, urls: UrlBatch, *, site: str | None = None, is_new: bool = False) -> None:
        """Adds URLs; with `is_new` as Changes, if the columns are theirs. Makes a batch once there are enough."""
        constants = {"site": site, "change": "new" if is_new else None}
        if self._rows or constants != self._constants:
            self.end()
            self._constants = constants
        self._add_columns(urls)
        self._urls_details += [None] * len(urls) if urls.is_plain else map(self._details_of, urls.records())
        if self.is_full:
            self.end()

    def _add_columns(self, urls: UrlBatch) -> None:
        """Keeps the columns; of the next part of the same block together with those of the part before."""
        before = self._urls[-1].block if self._urls else None
        if before and urls.block and before[0] is urls.block[0] and before[2] == urls.block[1]:
            self._urls[-1] = UrlBatch(urls.sitemap, block=(before[0], before[1], urls.block[2]))
        else:
            self._urls.append(urls)

    @property
    def is_full(self) -> bool:
        return len(self._rows) + len(self._urls_details) >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def end(self) -> None:
        import pyarrow as pa

        columns: Iterable[Any] = ()
        if self._rows:
            columns = map(pa.array, zip(*self._rows, strict=True), self.schema.types)
        elif self._urls_details:
            columns = self._url_columns()
        if columns:
            batch = pa.record_batch([*columns], schema=self.schema)
            self.ready.append(batch)
            self.ready_rows += batch.num_rows
            self.ready_bytes += batch.nbytes
        self._rows, self._urls, self._urls_details, self._bytes = [], [], [], 0

    def _details_of(self, record: UrlRecord) -> tuple[Any, ...] | None:
        details: dict[str, Any] = {}
        add_details(details, record)
        if not details:
            return None
        cells = self._detail_cells.of({"loc": record.loc, **details})
        self._bytes += len(orjson.dumps(cells))
        return cells

    def _url_columns(self) -> Iterator[Any]:
        import pyarrow as pa

        locs, lastmods, precisions, changefreqs, priorities, lines = (
            [*chain(*parts)] for parts in zip(*(urls.columns for urls in self._urls), strict=True)
        )
        dates = zip(lastmods, precisions, strict=True)
        columns: dict[str, Any] = {
            "loc": locs,
            "lastmod": [each * 1_000_000 if each is not None and code != SUBSECOND else each for each, code in dates],
            "lastmod_precision": [*map(precision_of, precisions)],
            "changefreq": [*map(changefreq_of, changefreqs)],
            "priority": priorities,
            "line": lines,
            "sitemap": [*chain(*([urls.sitemap] * len(urls) for urls in self._urls))],
        }
        if any(self._urls_details):
            without = (None,) * len(self._details.columns)
            cells = zip(*(each or without for each in self._urls_details), strict=True)
            columns |= zip(self._details.names, cells, strict=True)
        for field in self.schema:
            if field.name in columns:
                yield pa.array(columns[field.name], field.type)
            else:
                yield pa.repeat(pa.scalar(self._constants.get(field.name), field.type), len(locs))

    def take(self) -> list[Any]:
        ready, self.ready, self.ready_rows, self.ready_bytes = self.ready, [], 0, 0
        return ready


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

    def write_urls(self, batch: UrlBatch, *, site: str | None = None) -> None:
        self.write_changes(batch, site=site, is_new=False)

    def write_changes(self, piece: UrlBatch | list[Change], *, site: str | None, is_new: bool = True) -> None:
        """Writes Changes; the URLs of a batch are new."""
        with self._out.hold():
            if isinstance(piece, UrlBatch):
                self._batches.add_urls(piece, site=site, is_new=is_new)
            else:
                for change in piece:
                    self.write(to_dict(change, site=site))
            self._end_row_group(unless_small=True)

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
        """Nothing: Blocks flushes itself."""

    def close(self) -> None:
        self.closed = True
