"""`harvest`: reads many hosts into a folder of Parquet files, on Dask."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import attrs

from ..client.progressbar import ProgressBar
from ..client.summary import count_of
from ..model.errors import StateError, UsageError
from ..scale.harvest import harvest
from ..scale.hosts import read_hosts
from ..scale.report import VERDICT_WORDS, bar_state, load_harvest
from ..serialize.dumps import STDIN
from .exits import Exit, Interrupts
from .messages import Console, bytes_on_stdin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..scale import Harvest, HarvestProgress
    from ..scale.hosts import HostList

# Lines shown of each list without -v.
_SHOWN = 5
# How often a line is printed where there is no terminal for a bar.
_LINE_SECONDS = 60.0


def run(*, hosts: str, output: str, quiet: bool, verbose: bool, **reading: Any) -> Exit:
    """Runs the harvest and reports it; `reading` are keywords of scale.harvest()."""
    console = Console(quiet=quiet, verbose=verbose, bar=ProgressBar("hosts", bar_state))
    listed = read_hosts(bytes_on_stdin() if hosts == STDIN else hosts)
    _show_refused(console, hosts, listed)
    with Interrupts(), _without_logs():
        try:
            found = harvest(listed, output, on_progress=_ProgressLines(console, quiet=quiet), **reading)
        except (KeyboardInterrupt, OSError, StateError) as exc:
            console.flush()
            if not quiet:
                _show_so_far(console, output)
            if isinstance(exc, KeyboardInterrupt):
                return console.end(None, None, [Exit.INTERRUPTED])
            raise
    _show_failed(console, found)
    if not quiet:
        _show_names(console, found, most=None if verbose else _SHOWN)
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


def _show_refused(console: Console, name: str, listed: HostList) -> None:
    for number, why in listed.refused[:_SHOWN]:
        console.error(f"{name}:{number}: {why}")
    if len(listed.refused) > _SHOWN:
        console.error(f"{name}: {len(listed.refused) - _SHOWN:,} more lines are not hosts")


@attrs.define
class _ProgressLines:
    """A callback for the progress: prints the dashboard's address once, then shows a bar, or a line each minute."""

    console: Console
    quiet: bool = attrs.field(kw_only=True)
    _has_begun: bool = False
    _next_line: float = _LINE_SECONDS

    def __call__(self, progress: HarvestProgress) -> None:
        if self.quiet:
            return
        if not self._has_begun:
            self._has_begun = True
            self._begin(progress)
        if sys.stderr is not None and sys.stderr.isatty():
            self._show(progress)
        elif progress.seconds >= self._next_line:
            self._next_line += _LINE_SECONDS
            so_far = bar_state(progress)
            self.console.line(f"{so_far.done:,} of {count_of(so_far.known, 'host')}; {so_far.text}")

    def _begin(self, progress: HarvestProgress) -> None:
        left = progress.shards - progress.shards_done
        self.console.line(f"{count_of(left, 'shard')} to do, {progress.shards_at_once:,} at once; {progress.dashboard}")
        if not progress.shards_at_once:
            self.console.line("note the scheduler has no worker yet; `dask worker ADDRESS` starts one")

    def _show(self, progress: HarvestProgress) -> None:
        show = self.console.progress()
        if show is not None:
            show(progress)


def _show_failed(console: Console, found: Harvest) -> None:
    """Prints the shards that failed."""
    console.flush()
    failed = sorted(found.failed.items())
    for shard, why in failed[:_SHOWN]:
        console.error(f"shard {shard} is not done: {why}; --resume tries it again")
    if len(failed) > _SHOWN:
        console.error(f"{len(failed) - _SHOWN:,} more shards are not done")


def _show_names(console: Console, found: Harvest, most: int | None) -> None:
    """Prints the shards that were restarted, and the hosts that were skipped or cut short."""
    lost = [f"note shard {shard} was begun again, as its worker was lost" for shard in sorted(found.again)]
    given_up = [f"{VERDICT_WORDS[each.verdict]} {each.site}: {each.why}" for each in found.given_up]
    for lines in (lost, given_up):
        for line in lines[:most]:
            console.line(line)
        if most is not None and len(lines) > most:
            console.line(f"{len(lines) - most:,} more; -v shows them all")


def _show_so_far(console: Console, output: str) -> None:
    """Prints what an interrupted harvest has written."""
    with suppress(UsageError):  # nothing is written yet
        console.line(f"{load_harvest(output)}; --resume does the rest")


def _codes(found: Harvest) -> list[Exit]:
    codes = [Exit.COMPLETE if found.complete else Exit.PARTIAL]
    if found.refused:
        codes.append(Exit.USAGE)
    if not any(found.verdicts.get(name) for name in ("complete", "partial", "given_up")) and not found.failed:
        has_errors = any(found.verdicts.get(name) for name in ("blocked", "unreadable"))
        codes.append(Exit.UNREADABLE if has_errors else Exit.NOTHING)
    return codes
