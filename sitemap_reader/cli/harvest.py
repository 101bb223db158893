"""`harvest`: reads many hosts into a folder of Parquet files, on Dask."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import attrs

from ..client.progressbar import ProgressBar
from ..client.terminal import is_redrawn
from ..model.errors import StateError, UsageError
from ..model.problems import count_of
from ..scale.api import harvest
from ..scale.hosts import read_hosts
from ..scale.report import VERDICT_WORDS, bar_state, load_harvest
from ..serialize.dumps import STDIN
from .exits import Exit, Interrupts
from .messages import Console, bytes_on_stdin

if TYPE_CHECKING:
    from ..scale import Harvest, HarvestProgress

# Lines shown of each list without -v.
_SHOWN = 5
# How often a line is printed where there is no terminal for a bar.
_LINE_SECONDS = 60.0


def run(*, hosts: str, output: str, quiet: bool, verbose: bool, **reading: Any) -> Exit:
    """Runs the harvest and reports it; `reading` are keywords of scale.harvest()."""
    console = Console(quiet=quiet, verbose=verbose, bar=ProgressBar("hosts", bar_state))
    listed = read_hosts(bytes_on_stdin() if hosts == STDIN else hosts)
    refused = [f"{hosts}:{number}: {why}" for number, why in listed.refused]
    _show_first(console.error, refused, _SHOWN, " lines are not hosts", f"{hosts}: ")
    with Interrupts(), _without_logs():
        try:
            found = harvest(listed, output, on_progress=_ProgressLines(console), **reading)
        except (KeyboardInterrupt, OSError, StateError) as exc:
            console.flush()
            if not quiet:
                _show_so_far(console, output)
            if isinstance(exc, KeyboardInterrupt):
                return console.end(None, None, [Exit.INTERRUPTED])
            raise
    console.flush()
    failed = [
        f"shard {shard} is not done: {why}; --resume tries it again" for shard, why in sorted(found.failed.items())
    ]
    _show_first(console.error, failed, _SHOWN, " shards are not done")
    if not quiet:
        lost = [f"note shard {shard} was begun again, as its worker was lost" for shard in sorted(found.again)]
        given_up = [f"{VERDICT_WORDS[each.verdict]} {each.site}: {each.why}" for each in found.given_up]
        for lines in (lost, given_up):
            _show_first(console.line, lines, None if verbose else _SHOWN, "; -v shows them all")
    missing = found.missing()
    return console.end(str(found), f"partial: {missing}" if missing else None, _codes(found))


@contextmanager
def _without_logs() -> Iterator[None]:
    """Silences the log of Dask: this command reports lost workers itself."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def _show_first(
    show: Callable[[str], None], lines: Sequence[str], most: int | None, rest: str, place: str = ""
) -> None:
    """Shows up to `most` lines, then how many more there are, `rest` behind the number and `place` before it."""
    for line in lines[:most]:
        show(line)
    if most is not None and len(lines) > most:
        show(f"{place}{len(lines) - most:,} more{rest}")


@attrs.define
class _ProgressLines:
    """Prints the dashboard's address once, then shows a bar, or a line each minute."""

    console: Console
    _has_begun: bool = False
    _next_line: float = _LINE_SECONDS

    def __call__(self, progress: HarvestProgress) -> None:
        show = self.console.progress()
        if show is None:  # -q
            return
        if not self._has_begun:
            self._has_begun = True
            left = count_of(progress.shards - progress.shards_done, "shard")
            self.console.line(f"{left} to do, {progress.shards_at_once:,} at once; {progress.dashboard}")
            if not progress.shards_at_once:
                self.console.line("note the scheduler has no worker yet; `dask worker ADDRESS` starts one")
        if is_redrawn(sys.stderr):
            show(progress)
        elif progress.seconds >= self._next_line:
            self._next_line += _LINE_SECONDS
            so_far = bar_state(progress)
            self.console.line(f"{so_far.done:,} of {count_of(so_far.known, 'host')}; {so_far.text}")


def _show_so_far(console: Console, output: str) -> None:
    """Prints what an interrupted harvest has written; one with all shards done is the harvest before it."""
    with suppress(UsageError):  # nothing is written yet
        written = load_harvest(output)
        if written.shards_done < written.shards:
            console.line(f"{written}; --resume does the rest")


def _codes(found: Harvest) -> list[Exit]:
    codes = [Exit.COMPLETE if found.complete else Exit.PARTIAL]
    if found.refused:
        codes.append(Exit.USAGE)
    if not any(found.verdicts.get(name) for name in ("complete", "partial", "given_up")) and not found.failed:
        has_errors = any(found.verdicts.get(name) for name in ("blocked", "unreadable"))
        codes.append(Exit.UNREADABLE if has_errors else Exit.NOTHING)
    return codes
