"""Rows for people or programs: aligned on a terminal, TSV with a header line when piped.

In: a header and rows of text, None where there is nothing to say. Out: encoded lines.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .messages import printable
from .output import is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..sinks import Jsonl

Cell = str | None


def tsv(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[bytes]:
    """Tab-separated lines, the header first; tabs in cells are escaped, empty cells stay empty."""
    for row in (header, *rows):
        yield ("\t".join(printable(cell or "") for cell in row) + "\n").encode("utf-8", "replace")


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], *, right: Sequence[str] = (), encoding: str = "utf-8"
) -> Iterator[bytes]:
    """Columns as wide as their widest cell, those named in `right` flush right; `-` where a cell is empty."""
    lines = [[printable(cell or "-") for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(header, line, widths, strict=True)
        ]
        yield ("  ".join(cells).rstrip() + "\n").encode(encoding, "replace")


def write_rows(
    sink: Jsonl,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    output: str | None,
    format: str | None,
    right: Sequence[str],
) -> None:
    """The rows as `format` says; without one, a table on a terminal and TSV elsewhere. No rows, no header."""
    if not rows:
        return
    terminal = is_terminal(output)
    if (format or ("table" if terminal else "tsv")) == "tsv":
        lines = tsv(header, rows)
    else:
        lines = aligned(header, rows, right=right, encoding=sys.stdout.encoding if terminal else "utf-8")
    for line in lines:
        sink.write(line)
