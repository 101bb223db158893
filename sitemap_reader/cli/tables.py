"""Tables and changes as lines: aligned for a terminal, TSV or CSV with a header, JSON lines.

Only on a terminal the widest columns of a table are shortened until it fits. East Asian characters take two columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

import orjson

from ..client.terminal import FILE
from ..model.errors import printable, without_commands
from ..serialize.writers import guarded, separated_row
from ..statistics.facts import as_stated
from .output import screen_for

if TYPE_CHECKING:
    from ..client.terminal import Screen
    from ..serialize.dumps import JsonObject
    from .options import OutputOptions


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
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def shortened(text: str, columns: int, ellipsis: str = "…") -> str:
    """The text with an ellipsis if it is wider: without its end; but a URL without its middle, or its beginning, which
    the URLs of a site share. The branch of a tree is kept.

    >>> shortened("├── https://shop.example/de/products-7.xml", 20), shortened("F01 404 Not Found", 8)
    ('├── …/products-7.xml', 'F01 404…')
    """
    if width(text) <= columns:
        return text
    branch = text[: len(text) - len(text.lstrip(_BRANCH))]
    text = text.removeprefix(branch)
    kept = max(columns - width(branch) - len(ellipsis), 0)
    is_url = "://" in text and " " not in text
    head = (kept // 3 if kept > _MAX_TAIL else 0) if is_url else kept
    return branch + _start(text, head).rstrip() + ellipsis + _start(text[::-1], kept - head)[::-1]


def _start(text: str, columns: int) -> str:
    return text[: sum(end <= columns for end in accumulate(map(width, text)))]


# Wider cells do not widen their column.
MAX_ALIGNED = 120
# On a terminal no column is shortened to less: a day and an ellipsis fit; a URL.
_MIN_TEXT, _MIN_URL = 12, 16
_URL_COLUMNS = ("sitemap", "url")
# Of a URL that is shortened to no more, only the end is shown.
_MAX_TAIL = 30
_BRANCH = " │├└─|`-"
_GAP = "  "


def _text(cell: object, empty: str) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return empty if cell in (None, "") else str(cell)


def separated(format: str, header: Sequence[str], rows: Sequence[Sequence[object]], guard: bool) -> Iterator[bytes]:
    return (separated_line(format, row, guard) for row in (header, *rows))


def separated_line(format: str, row: Sequence[object], guard: bool) -> bytes:
    """One such line; with `guard` no cell is a formula to a spreadsheet."""
    cells = [without_commands(printable(_text(cell, ""))).encode("utf-8", "replace").decode() for cell in row]
    return separated_row(SEPARATED[format], [*map(guarded, cells)] if guard else cells)


# Format -> what is between two cells.
SEPARATED = {"tsv": "\t", "csv": ","}


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = (), screen: Screen = FILE
) -> Iterator[bytes]:
    """Columns as wide as their widest cell, those named in `right` flush right; `-` for an empty cell."""
    lines = [[screen.shown(_text(cell, "-")) for cell in row] for row in (header, *rows)]
    if screen.is_terminal:
        lines = _fitting(lines, screen)
    header = lines[0]
    widths = []
    for column in zip(*lines, strict=True):
        sizes = map(width, column)
        widths.append(max(each if each <= MAX_ALIGNED or screen.is_terminal else 0 for each in sizes))
    for number, line in enumerate(lines):
        columns = [*zip(header, line, widths, strict=True)]
        cells = [padded(cell, columns, right=name in right) for name, cell, columns in columns]
        cells[-1] = cells[-1].rstrip()
        styles = [_style(name, cell) if number else "heading" for name, cell, _ in columns]
        styled = [screen.styled(*cell) for cell in zip(cells, styles, strict=True)]
        yield f"{_GAP.join(styled)}\n".encode(screen.encoding)


def _fitting(lines: list[list[str]], screen: Screen) -> list[list[str]]:
    """The lines, header first: where they are too wide, columns that are the same in all rows are left out, from the
    last one; then the widest are shortened, those of URLs last.
    """
    columns = [*zip(*lines, strict=True)]
    widths = [max(map(width, column)) for column in columns]

    def is_too_wide() -> bool:
        return sum(widths) + len(_GAP) * (len(widths) - 1) > screen.columns

    for number in range(len(columns) - 1, 0, -1):
        if is_too_wide() and len(lines) > 2 and len(set(columns[number][1:])) == 1:
            del columns[number], widths[number]
    urls = {number for number, column in enumerate(columns) if column[0] in _URL_COLUMNS}
    for numbers, least in ((set(range(len(columns))) - urls, _MIN_TEXT), (urls, _MIN_URL)):
        while is_too_wide() and any(widths[number] > least for number in numbers):
            widths[max(numbers, key=widths.__getitem__)] -= 1
    ellipsis = screen.substituted("…")
    cells = ([shortened(cell, most, ellipsis) for cell in column] for column, most in zip(columns, widths, strict=True))
    return [[*line] for line in zip(*cells, strict=True)]


def _style(name: str, cell: str) -> str | None:
    failed = {"status": cell.startswith(("4", "5")), "complete": cell == "no"}
    return "error" if failed.get(name) else None


def rows_as(
    format: str, header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str], to: OutputOptions
) -> Iterator[bytes]:
    """The lines of a table in a format of ROWS_FORMATS but jsonl; without rows there is no header."""
    if not rows:
        return iter(())
    if format in SEPARATED:
        return separated(format, header, rows, to.guard)
    return aligned(header, rows, right=right, screen=screen_for(to.output))


HEADER = ("change", "loc", "lastmod", "previous_lastmod", "changed")
_SIGNS = {"new": "+", "updated": "~", "removed": "-"}
_DATE = ("lastmod", "lastmod_precision")


# Fields of the page of a removed URL, as columns.
_PAGE = ("result", "status", "redirect_url", "final_url", "final_status", "final_listed")


def change_lines(
    format: str, changes: Iterable[JsonObject], *, names_sites: bool, to: OutputOptions, has_pages: bool = False
) -> Iterator[bytes]:
    """Changes in a format of ROWS_FORMATS, without header, a line as soon as a change comes."""
    if format in SEPARATED:
        return _separated(format, changes, names_sites, to.guard, _PAGE if has_pages else ())
    if format == "jsonl":
        return (orjson.dumps(change, option=orjson.OPT_APPEND_NEWLINE) for change in changes)
    return _table(changes, screen_for(to.output))


def change_header(format: str, *, names_sites: bool, has_pages: bool = False) -> bytes:
    header = (*_site(names_sites), *HEADER, *(_PAGE if has_pages else ()))
    return separated_line(format, header, guard=False) if format in SEPARATED else b""


def _site(names_sites: bool) -> tuple[str, ...]:
    return ("site",) if names_sites else ()


def _separated(
    format: str, changes: Iterable[JsonObject], names_sites: bool, guard: bool, of_page: Sequence[str]
) -> Iterator[bytes]:
    for change in changes:
        cells = [change["change"], change["loc"], change.get("lastmod"), change.get("previous_lastmod")]
        page = change.get("page", {})
        row = [*map(change.get, _site(names_sites)), *cells, ",".join(_changed(change)), *map(page.get, of_page)]
        yield separated_line(format, row, guard)


def _table(changes: Iterable[JsonObject], screen: Screen) -> Iterator[bytes]:
    """A line for each change, with its whole URL; aligned columns would need all of them at once."""
    for change in changes:
        changed = _changed(change)
        details = [f"lastmod {_date(change, 'previous_')} -> {_date(change)}"] if set(_DATE) & set(changed) else []
        details += [name for name in changed if name not in _DATE]
        details += _page_details(change.get("page"))
        line = screen.shown(f"{_SIGNS[change['change']]} {change['loc']}")
        rest = screen.shown(f"{_GAP}{', '.join(details)}") if details else ""
        yield f"{screen.styled(line, change['change'])}{rest}\n".encode(screen.encoding)


def _page_details(page: JsonObject | None) -> list[str]:
    """`301 to https://new.example/a, which answers 200 and is not listed`."""
    if page is None:
        return []
    if page["redirect_url"] is None:
        return [str(page["status"] or f"not known: {page['failure']}")]
    end = page["final_status"] or (f"is not known: {page['failure']}" if page["failure"] else "does not answer")
    answer = f"which answers {end}" if page["final_status"] else f"which {end}"
    listed = "" if page["final_listed"] else " and is not listed"
    return [f"{page['status']} to {page['final_url']}, {answer}{listed}"]


def _changed(change: JsonObject) -> list[str]:
    return [] if change["change"] != "updated" else [*change["changed"]]


def _date(change: JsonObject, prefix: str = "") -> str:
    moment, precision = (change.get(f"{prefix}{name}") for name in _DATE)
    if moment is None:
        return "none"
    return as_stated(moment, precision) if precision else str(moment)
