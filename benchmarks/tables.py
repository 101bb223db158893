"""Rows of cells -> text for a terminal, Markdown for a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parent.parent / "docs" / "comparison.md"


def aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def markdown(rows: list[list[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    head, *body = rows
    numbers = len(head) > 2
    return line(head) + line(["---", *["---:" if numbers else "---"] * (len(head) - 1)]) + "".join(map(line, body))


def write_page(sections: dict[str, str]) -> None:
    """Replaces what stands between the two marks of each section."""
    page = PAGE.read_text("utf-8")
    for name, text in sections.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{PAGE} lacks the lines {begin.strip()} and {end.strip()}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    PAGE.write_text(page, "utf-8")
