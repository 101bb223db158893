"""`compare`: reads several sites, or files of them, and writes an HTML page that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.errors import NothingFound, ReadError, UsageError
from ..model.messages import spelled
from ..model.problems import count_of
from ..serialize.byte_streams import split_compression
from .exits import Exit
from .messages import Console, read_each, read_targets
from .option_types import as_option
from .output import is_terminal, open_outputs, suffix_formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analysis.snapshot import Snapshot


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
