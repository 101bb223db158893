"""Tables and changes as lines: aligned for a terminal, TSV or CSV with a header, JSON lines.

In: a header and rows of values, None for an empty cell; changes as JSON objects. Out: encoded lines. Nothing is cut,
however narrow the terminal; East Asian characters take two columns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

import orjson

from ..model.errors import printable
from ..serialize.writers import csv_row, guarded
from ..statistics.facts import as_stated
from .output import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..serialize.dumps import JsonObject


_MARKS = frozenset({"Mn", "Me"})  # Unicode categories of characters without a column of their own


def width(text: str) -> int:
    """The number of terminal columns of a text without control characters.

    >>> width("shop"), width("商店")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if category(char) in _MARKS else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text padded with blanks to a width; flush right with `right`."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def shown(text: str, encoding: str = "utf-8") -> str:
    """The text on one line, with `?` for characters that the encoding lacks."""
    return printable(text).encode(encoding, "replace").decode(encoding)


def encoding_of(output: str | None) -> str:
    """The encoding of the output: that of the terminal, else UTF-8."""
    return sys.stdout.encoding if is_terminal(output) else "utf-8"


# Wider cells do not widen their column.
MAX_ALIGNED = 120


def _text(cell: object, empty: str) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return empty if cell in (None, "") else str(cell)


def separated(format: str, header: Sequence[str], rows: Sequence[Sequence[object]], guard: bool) -> Iterator[bytes]:
    """The lines of a table in a format of SEPARATED, the header first; tabs in cells are escaped."""
    return (separated_line(format, row, guard) for row in (header, *rows))


def separated_line(format: str, row: Sequence[object], guard: bool) -> bytes:
    """One such line; with `guard` no cell is a formula to a spreadsheet."""
    cells = [printable(_text(cell, "")).encode("utf-8", "replace").decode() for cell in row]
    return SEPARATED[format]([*map(guarded, cells)] if guard else cells)


def _tsv_row(cells: list[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()


# Format -> a function that writes one line of cells without control characters.
SEPARATED: dict[str, Callable[[list[str]], bytes]] = {"tsv": _tsv_row, "csv": csv_row}


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = (), encoding: str = "utf-8"
) -> Iterator[bytes]:
    """Columns as wide as their widest cell, those named in `right` flush right; `-` for an empty cell."""
    lines = [[shown(_text(cell, "-"), encoding) for cell in row] for row in (header, *rows)]
    widths = [max(_width_to_align(cell) for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            padded(cell, columns, right=name in right) for name, cell, columns in zip(header, line, widths, strict=True)
        ]
        yield ("  ".join(cells).rstrip() + "\n").encode(encoding)


def _width_to_align(cell: str) -> int:
    columns = width(cell)
    return columns if columns <= MAX_ALIGNED else 0


def rows_as(
    format: str,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[str],
    output: str | None,
    guard: bool,
) -> Iterator[bytes]:
    """The lines of a table in a format of ROWS_FORMATS but jsonl; without rows there is no header."""
    if not rows:
        return iter(())
    if format in SEPARATED:
        return separated(format, header, rows, guard)
    return aligned(header, rows, right=right, encoding=encoding_of(output))


HEADER = ("change", "loc", "lastmod", "previous_lastmod", "changed")
_SIGNS = {"new": "+", "updated": "~", "removed": "-"}
_DATE = ("lastmod", "lastmod_precision")


def change_lines(
    format: str, changes: Iterable[JsonObject], *, encoding: str, names_sites: bool, guard: bool
) -> Iterator[bytes]:
    """Changes in a format of ROWS_FORMATS, without header, a line as soon as a change comes."""
    if format in SEPARATED:
        return _separated(format, changes, names_sites, guard)
    if format == "jsonl":
        return (orjson.dumps(change, option=orjson.OPT_APPEND_NEWLINE) for change in changes)
    return _table(changes, encoding)


def change_header(format: str, *, names_sites: bool) -> bytes:
    """The header of TSV and CSV; nothing for other formats."""
    return separated_line(format, (*_front(names_sites), *HEADER), guard=False) if format in SEPARATED else b""


def _separated(format: str, changes: Iterable[JsonObject], names_sites: bool, guard: bool) -> Iterator[bytes]:
    front = _front(names_sites)
    for change in changes:
        cells = [change["change"], change["loc"], change.get("lastmod"), change.get("previous_lastmod")]
        row = [*map(change.get, front), *cells, ",".join(_changed(change))]
        yield separated_line(format, row, guard)


def _front(names_sites: bool) -> tuple[str, ...]:
    return ("site",) if names_sites else ()


def _table(changes: Iterable[JsonObject], encoding: str) -> Iterator[bytes]:
    """A line for each change; aligned columns would need all of them at once."""
    for change in changes:
        changed = _changed(change)
        details = [f"lastmod {_date(change, 'previous_')} -> {_date(change)}"] if set(_DATE) & set(changed) else []
        details += [name for name in changed if name not in _DATE]
        line = f"{_SIGNS[change['change']]} {change['loc']}" + (f"  {', '.join(details)}" if details else "")
        yield f"{shown(line, encoding)}\n".encode(encoding)


def _changed(change: JsonObject) -> list[str]:
    return [] if change["change"] != "updated" else [*change["changed"]]


def _date(change: JsonObject, prefix: str = "") -> str:
    """The date with the precision that the site states."""
    moment, precision = (change.get(f"{prefix}{name}") for name in _DATE)
    if moment is None:
        return "none"
    return as_stated(moment, precision) if precision else str(moment)
