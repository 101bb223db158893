"""`diff`: writes what is new, updated and removed between two dumps or states."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import attrs

from ..client.terminal import BarState, ProgressBar
from ..compare.diff import DumpSide, compare, is_state, open_side
from ..compare.url_files import url_objects
from ..model.errors import UsageError
from ..serialize.dumps import STDIN, STDIN_NAME, is_pipe
from .exits import Exit
from .messages import Console
from .output import open_input, open_outputs, rows_format_for
from .tables import change_header, change_lines, rows_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..compare.diff import Changes, Side
    from ..compare.removed_pages import RemovedPages
    from ..model.options import On
    from ..serialize.dumps import JsonObject
    from .options import OutputOptions


def run(
    *,
    old: str,
    new: str,
    on: On,
    exit_code: bool,
    check_removed: int | Literal["all"] | None,
    to: OutputOptions,
    **reading: Any,
) -> Exit:
    """Writes the changes between `old` and `new`, files of which one may be - for stdin.

    `reading` are keywords of SitemapReader, for the pages of removed URLs.
    """
    console = Console(quiet=to.quiet)
    if old == new == STDIN:
        raise UsageError("OLD and NEW cannot both be stdin", remedy="give a file for one of them")
    what = "" if old != new else "pipe" if is_pipe(old) else "state" if is_state(old) else ""
    if what:  # either can be opened once
        raise UsageError(f"OLD and NEW are the same {what}", remedy="give another file for one of them")
    format = rows_format_for(to, elsewhere="jsonl")
    with ExitStack() as files:
        before, after = (_open(name, files) for name in (old, new))
        outputs = files.enter_context(open_outputs(to.output, is_json=format == "jsonl", bom=to.has_bom(format)))
        try:
            changes = files.enter_context(compare(before, after, on))
            checked = None
            if check_removed is not None:
                checked = _checked(changes, check_removed, console, outputs.interrupts.check, reading)
            shape: dict[str, bool] = {"names_sites": changes.names_sites, "has_pages": checked is not None}
            outputs.records.write(change_header(format, **shape))
            for line in change_lines(format, _with_pages(changes.dicts(), checked), **shape, to=to):
                outputs.records.write(line)
            if format == "table":
                outputs.records.write_lines(b"".join(_tables(changes, to)))
            outputs.keep()
        except KeyboardInterrupt:
            return console.end(None, None, [Exit.INTERRUPTED])
    for note in (*changes.notes, *(() if format == "table" else _sums(changes))):
        console.note(f"note {note}")
    if checked is not None:
        console.note(checked.summary)
    code = Exit.THRESHOLD if exit_code and len(changes) else Exit.COMPLETE
    return console.end(f"{changes.summary}; {console.elapsed}", None, [code])


def _open(name: str, files: ExitStack) -> Side:
    if name == STDIN:
        return DumpSide(STDIN_NAME, url_objects(files.enter_context(open_input(name)), STDIN_NAME))
    return open_side(name, name, files)


def _checked(
    changes: Changes,
    size: int | Literal["all"],
    console: Console,
    check: Callable[[], None],
    reading: dict[str, Any],
) -> RemovedPages:
    """The answers of removed URLs, with a progress bar."""
    from ..compare.removed_pages import check_pages  # it needs the network library

    bar = ProgressBar("URLs checked", lambda state: state)
    show = console.progress_on(bar)

    def report(done: int, total: int) -> None:
        if show is not None:
            show(BarState(done, total, ""))

    most = None if size == "all" else size
    try:
        return check_pages(changes, changes.is_listed, most, on_wait=check, on_checked=report, **reading)
    finally:
        console.flush()


def _with_pages(changes: Iterable[JsonObject], checked: RemovedPages | None) -> Iterator[JsonObject]:
    pages = {} if checked is None else checked.pages
    for change in changes:
        page = pages.get(change["loc"]) if change["change"] == "removed" else None
        yield change if page is None else {**change, "page": attrs.asdict(page)}


_MOST_SUMS = 5
_HEADER = ("before", "removed", "new")


def _sums(changes: Changes) -> Iterator[str]:
    """`section /blog/: 45 removed of 60`, of those that lost most."""
    for what, parts in (("section", changes.sections), ("sitemap", changes.sitemaps)):
        lost = [each for each in parts if each.removed]
        yield from (f"{what} {each}" for each in lost[:_MOST_SUMS])
        if len(lost) > _MOST_SUMS:
            yield f"{len(lost) - _MOST_SUMS:,} more of these; --format table has all"


def _tables(changes: Changes, to: OutputOptions) -> Iterator[bytes]:
    for what, parts in (("section", changes.sections), ("sitemap", changes.sitemaps)):
        if parts:
            rows = [(each.name, each.before, each.removed, each.new) for each in parts]
            yield b"\n"
            yield from rows_as("table", (what, *_HEADER), rows, right=_HEADER, to=to)
