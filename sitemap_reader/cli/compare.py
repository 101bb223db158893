"""`compare`: writes an HTML page that compares sites, or files of them. `diff`: what changed between two dumps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from ..client.progressbar import BarState, ProgressBar
from ..compare.diff import DumpSide, compare, is_state, open_side
from ..compare.url_files import url_objects
from ..model.errors import NothingFound, ReadError, UsageError
from ..model.messages import spelled
from ..model.problems import count_of
from ..serialize.byte_streams import split_compression
from ..serialize.dumps import STDIN, STDIN_NAME, is_pipe
from .exits import Exit
from .messages import Console, read_each, read_targets
from .option_types import as_option
from .output import is_terminal, open_input, open_outputs, rows_format_for, suffix_formats
from .tables import change_header, change_lines, rows_as

if TYPE_CHECKING:
    from ..analysis.snapshot import Snapshot
    from ..compare.diff import Changes, RemovedPages, Side
    from ..model.options import On
    from ..serialize.dumps import JsonObject
    from .options import OutputOptions


def run(
    *, targets: Sequence[str], output: str | None, at: str | None, scope: str | None, quiet: bool, **reading: Any
) -> Exit:
    """Writes the page; `reading` are keywords of sitemap_reader.snapshot()."""
    from ..analysis.parts import STOPPED
    from ..analysis.sources import snapshot

    console = Console(quiet=quiet)
    if is_terminal(output):
        raise UsageError("the page is for a browser: give -o market.html")
    if output and Path(split_compression(output)[0]).suffix and "html" not in suffix_formats(output):
        raise UsageError(f"-o {output}: the page is HTML: give a name in .html")
    names = read_targets(targets)
    options = reading if scope is None else {**reading, "scope": scope}
    snapshots: list[Snapshot] = []

    def read(_: str) -> Exit:
        try:  # after an interrupt it returns what was read by then
            site = snapshot(names, at=at, show_progress=not quiet, **options)
        except ReadError as exc:
            console.error(str(exc))
            return Exit.NOTHING if isinstance(exc, NothingFound) else Exit.UNREADABLE
        has_pages = len(site.pages) > 0  # reads a file that is read on first use
        is_partial = site.complete is False
        for note in site.notes:
            console.note(spelled(note, as_option))
        if has_pages:
            snapshots.append(site)
        if STOPPED in site.notes:
            return Exit.INTERRUPTED
        if has_pages:
            return Exit.PARTIAL if is_partial else Exit.COMPLETE
        console.error(f"there is no URL in {', '.join(names)}")
        return Exit.UNREADABLE if is_partial else Exit.NOTHING

    with open_outputs(output, is_json=False) as outputs:
        codes = read_each([", ".join(names)], console, read)
        if not snapshots:
            outputs.decide(codes)
            return console.end(None, None, codes)
        from ..analysis.report import render_report

        outputs.records.write(render_report(snapshots[0]).encode("utf-8", "replace"))
        outputs.decide(codes)  # last: an interrupt before leaves the file as it was
    sites = snapshots[0]
    pages, compared = count_of(len(sites.pages), "page"), count_of(len(sites.sites), "site")
    return console.end(f"{pages} of {compared}; {console.elapsed}", "partial: some sitemaps could not be read", codes)


def run_diff(
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
    from ..compare.diff import check_pages  # it needs the network library

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
