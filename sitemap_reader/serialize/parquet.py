"""Forms to a Parquet file: columns with their types in, row groups out as they fill, the footer at the end.

Never opens a file, and never has more than a row group in memory. pyarrow is imported when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import Batches

if TYPE_CHECKING:
    from .byte_streams import Blocks
    from .projection import Fields

ROW_GROUP_ROWS = 20_480
# However long the rows are: so much of batches is a row group.
ROW_GROUP_BYTES = 16 << 20


class ParquetSink:
    """Forms in rows of a Parquet file, compressed with zstd; close() makes it one that can be read.

    UsageError for a value that is not of its column's type: it names the URL and the key, and the rows before it are
    kept. Once `out` has failed, nothing more is written: half a file is no Parquet.
    """

    def __init__(self, out: Blocks, fields: Fields) -> None:
        self._batches = Batches(fields)
        self._out = out
        self._writer: Any = None

    def write(self, form: dict[str, Any]) -> None:
        """Takes one form."""
        self._batches.add(form)
        self._empty()

    def write_lines(self, lines: bytes) -> bool:
        """Takes the forms of whole JSON lines."""
        self._batches.add_lines(lines)
        self._empty()
        return True

    def try_lines(self, lines: bytes) -> int:
        """Takes whole lines that may not be of URLs, if all are, and says how many; otherwise 0, and none of them."""
        with self._out.hold():
            taken = self._batches.try_lines(lines)
            self._end_row_group(unless_small=True)
        return taken

    def flush(self) -> None:
        """Writes what is ready; a row group that has begun is not."""
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
