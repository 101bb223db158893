"""Rows for people or programs: aligned on a terminal, TSV with a header line when piped.

In: a header and rows of text, None where there is nothing to say. Out: encoded lines. Nothing is cut, however narrow
the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..escapes import printable
from .columns import encoding_of, padded, shown, width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Cell = str | None

# A cell that is wider stands out of its row, and leaves the others where they are.
MAX_ALIGNED = 120


def tsv(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[bytes]:
    """Tab-separated lines, the header first; tabs in cells are escaped, empty cells stay empty."""
    yield from map(tsv_line, (header, *rows))


def tsv_line(row: Sequence[Cell]) -> bytes:
    """One of them."""
    return ("\t".join(printable(cell or "") for cell in row) + "\n").encode("utf-8", "replace")


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], *, right: Sequence[str] = (), encoding: str = "utf-8"
) -> Iterator[bytes]:
    """Columns as wide as their widest cell, those named in `right` flush right; `-` where a cell is empty."""
    lines = [[shown(cell or "-", encoding) for cell in row] for row in (header, *rows)]
    widths = [max(_width_to_align(cell) for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            padded(cell, columns, right=name in right)
            for name, cell, columns in zip(header, line, widths, strict=True)
        ]
        yield ("  ".join(cells).rstrip() + "\n").encode(encoding)


def _width_to_align(cell: str) -> int:
    columns = width(cell)
    return columns if columns <= MAX_ALIGNED else 0


def rows_as(
    format: str, header: Sequence[str], rows: Sequence[Sequence[Cell]], *, right: Sequence[str], output: str | None
) -> Iterator[bytes]:
    """Lines of a table or of TSV for -o `output`; no rows, no header."""
    if not rows:
        return iter(())
    if format == "tsv":
        return tsv(header, rows)
    return aligned(header, rows, right=right, encoding=encoding_of(output))
