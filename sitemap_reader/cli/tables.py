"""Rows for people or programs: aligned on a terminal, TSV or CSV with a header line elsewhere.

In: a header and rows of text, None where there is nothing to say. Out: encoded lines. Nothing is cut, however narrow
the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.escapes import printable
from ..serialize.writers import csv_row, guarded
from .columns import encoding_of, padded, shown, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Cell = str | None

# A cell that is wider stands out of its row, and leaves the others where they are.
MAX_ALIGNED = 120


def separated(format: str, header: Sequence[str], rows: Sequence[Sequence[Cell]], guard: bool) -> Iterator[bytes]:
    """Lines of one of SEPARATED, the header first; tabs in cells are escaped, empty cells stay empty."""
    return (separated_line(format, row, guard) for row in (header, *rows))


def separated_line(format: str, row: Sequence[Cell], guard: bool) -> bytes:
    """One of them; with `guard` no cell is a formula to a spreadsheet."""
    cells = [printable(cell or "").encode("utf-8", "replace").decode() for cell in row]
    return SEPARATED[format]([*map(guarded, cells)] if guard else cells)


def _tsv_row(cells: list[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()


# Formats for programs -> a line of cells that hold no control character.
SEPARATED: dict[str, Callable[[list[str]], bytes]] = {"tsv": _tsv_row, "csv": csv_row}


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
    format: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    right: Sequence[str],
    output: str | None,
    guard: bool,
) -> Iterator[bytes]:
    """Lines of a table, of TSV or CSV for -o `output`; no rows, no header."""
    if not rows:
        return iter(())
    if format in SEPARATED:
        return separated(format, header, rows, guard)
    return aligned(header, rows, right=right, encoding=encoding_of(output))
