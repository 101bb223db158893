"""`tree`: the nesting of a site's sitemaps, with counts and dates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..reader import urls
from .exits import Exit
from .interrupts import Interrupts
from .messages import Console
from .nesting import Nesting, Row
from .output import is_terminal, open_outputs
from .sites import each_target, judge, read_targets
from .table import write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger import Summary
    from ..records import Item
    from .table import Cell

TSV_HEADER = ("depth", "url", "format", "entries", "lastmod", "newest", "complete", "kept")
TABLE_HEADER = ("sitemap", "format", "entries", "lastmod", "newest", "complete")
_ASCII = str.maketrans({"└": "`", "├": "|", "│": "|", "─": "-"})


def run(
    *,
    targets: Sequence[str],
    output: str | None,
    format: str | None,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> Exit:
    """One row for each document; `reading` are keywords of sitemap_reader.urls()."""
    console = Console(quiet=quiet, verbose=verbose)
    names = read_targets(targets)
    format = format or ("table" if is_terminal(output) else "tsv")
    with Interrupts() as interrupts, open_outputs(output, None, interrupts) as outputs:
        trees = _Trees(console, interrupts, reading)
        codes = each_target(names, console, trees.site)
        if set(codes) != {Exit.USAGE}:
            outputs.begin()
        rows = [(site, row) for site, nesting in trees.nestings for row in nesting.rows()]
        if format == "jsonl":
            for site, row in rows:
                outputs.records.write(_json_line(row, site if len(names) > 1 else None))
        else:
            header, cells = (_table if format == "table" else _tsv)(rows, is_terminal(output))
            write_rows(outputs.records, header, cells, output=output, format=format, right=("entries", "kept"))
    return console.end(
        str(trees.total) if trees.total else None, trees.total.partial_line() if trees.total else None, codes
    )


@attrs.define
class _Trees:
    console: Console
    interrupts: Interrupts
    reading: dict[str, Any]
    nestings: list[tuple[str, Nesting]] = attrs.field(factory=list)
    total: Summary | None = None

    def site(self, target: str) -> Exit:
        """Reads one target to its end."""
        nesting = Nesting()

        def hear(item: Item) -> None:
            self.console.hear(item)
            nesting.hear(item)

        check = self.interrupts.check
        # Held: an item that is heard of half stands in no tree.
        with self.interrupts.held(), urls(target, on_item=hear, on_wait=check, **self.reading) as stream:
            self.nestings.append((target, nesting))
            try:
                for record in stream:
                    nesting.note(record)
                    check()
            finally:
                summary = stream.summary
                self.total = self.total + summary if self.total else summary
        return judge(target, summary, self.console)


def _tsv(rows: Sequence[tuple[str, Row]], terminal: bool) -> tuple[Sequence[str], list[list[Cell]]]:
    cells: list[list[Cell]] = [
        [
            str(row.depth),
            row.url,
            row.format,
            _number(row.entries),
            row.lastmod,
            row.newest,
            row.complete,
            _number(row.kept),
        ]
        for _, row in rows
    ]
    return TSV_HEADER, cells


def _table(rows: Sequence[tuple[str, Row]], terminal: bool) -> tuple[Sequence[str], list[list[Cell]]]:
    plain = terminal and not _can_draw(sys.stdout.encoding)
    cells: list[list[Cell]] = []
    for _, row in rows:
        branch = row.branch.translate(_ASCII) if plain else row.branch
        cells.append([branch + row.url, row.format, _counts(row), row.lastmod, row.newest, row.complete])
    return TABLE_HEADER, cells


def _counts(row: Row) -> str | None:
    """`120`, or `120 (kept 110)`."""
    if row.entries is None:
        return None
    return f"{row.entries:,}" if row.kept == row.entries else f"{row.entries:,} (kept {row.kept:,})"


def _number(number: int | None) -> str | None:
    return None if number is None else str(number)


def _can_draw(encoding: str) -> bool:
    try:
        "└├│─".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _json_line(row: Row, site: str | None) -> bytes:
    form = {"type": "node", **attrs.asdict(row)}
    del form["branch"]
    if site is not None:
        form["site"] = site
    return orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE)
