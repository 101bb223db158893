"""watch(): changes of many sites as they are found, for a `for` loop; and the parts of a watch from its keywords.

In: hosts, a state, budgets and the keywords of changes(). Out: a stream of WatchedChanges, which never ends by itself.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import attrs
import orjson

from ..client.keywords import CHANGES_KEYWORDS, PatternOptions, ReaderOptions, checked_keywords
from ..client.query import UrlQuery
from ..client.reader import SitemapReader, make_sync_plan
from ..client.targets import site_target
from ..client.thread_bridge import Bridge, run_in_thread
from ..model.errors import UsageError
from ..model.records import Change
from ..scale.folder import part_name
from ..scale.hosts import domain_of, read_hosts, shard_of
from ..serialize.jsonl import from_json
from ..state.state import State, site_name
from ..state.sync import settings_difference
from .budget import Budget
from .service import SinkPlan, run_watch
from .watcher import KEEP_LOG, SITES_AT_ONCE, Watcher, WatchPlan

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from ..client.targets import Target
    from ..scale.hosts import HostList
    from ..serialize.jsonl import On
    from ..state.change_log import LogEntry
    from .sinks import Sink
    from .visit import Visit
    from .watched_site import WatchedSite

# Requests an hour.
BUDGET = 3_600
HOST_BUDGET = 120
_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_SYNC = ("trust_lastmod", "on", "accept_removals")


class WatchOptions(PatternOptions, ReaderOptions, total=False):
    """The keywords of watch() that it shares with changes()."""

    on: On
    accept_removals: bool


@attrs.define
class WatchedChange(Change):
    """A Change with its number, the time when it was found, and the site as it was given."""

    seq: int = 0
    at: datetime | None = None
    site: str = ""

    @classmethod
    def of_line(cls, line: bytes) -> WatchedChange:
        """The change of a line of the log."""
        json_object = orjson.loads(line)
        own = {name: json_object.pop(name) for name in ("seq", "at", "site")}
        change = from_json(json_object)
        assert isinstance(change, Change)  # noqa: S101 - for the type checker
        fields = {field.name: getattr(change, field.name) for field in attrs.fields(Change)}
        return cls(**fields, seq=own["seq"], at=datetime.fromisoformat(own["at"]), site=own["site"])


_STATE = "The state file, which is created if it does not exist; with `shard` the folder of such files."


@checked_keywords(WatchOptions, meanings={**CHANGES_KEYWORDS, "state": ("", _STATE)})
def watch(
    hosts: str | Path | Iterable[str],
    *,
    state: str | Path,
    budget: float = BUDGET,
    host_budget: float = HOST_BUDGET,
    shard: str | None = None,
    sites_at_once: int = SITES_AT_ONCE,
    name: str = "python",
    sinks: Iterable[Sink] = (),
    **options: Unpack[WatchOptions],
) -> WatchStream:
    """Changes of sites as they are found, without end: close the stream, or leave its `with` block.

    `hosts` is a file with one a line, or the hosts themselves. Each sitemap is requested again when that pays: by how
    often it has changed so far, what its index states, and the requests an hour that `budget` permits in all and
    `host_budget` to a registrable domain. `state` is a file that stays locked meanwhile; with `shard` ("3/16": the
    third part of the hosts, by their domains) a folder with a file for each, as in the folder of a harvest.

    Changes are delivered at least once: a change counts as delivered when the next one is requested. In a later run
    with the same `name` the stream continues there; one with a new name begins with the changes that are found from
    then on. `sinks` receive the same changes, each as far as it gets: see sr.watching.Sink. UsageError for values that
    are not allowed; StateError, at once, for a file that cannot be used.
    """
    watcher = make_watcher(
        read_hosts(hosts),
        state,
        budget=budget,
        host_budget=host_budget,
        shard=shard,
        sites_at_once=sites_at_once,
        **options,
    )
    return WatchStream(watcher, name, [SinkPlan(sink) for sink in sinks])


def make_watcher(
    hosts: HostList,
    state: str | Path,
    *,
    budget: float,
    host_budget: float,
    shard: str | None = None,
    sites_at_once: int = SITES_AT_ONCE,
    keep_log: timedelta = KEEP_LOG,
    on_visit: Callable[[WatchedSite, Visit], None] | None = None,
    **options: Any,
) -> Watcher:
    """A Watcher, and its state, which is open from here on; the arguments are those of watch() and of WatchPlan."""
    if sites_at_once < 1:
        raise UsageError(f"sites_at_once: at most {sites_at_once} sites at once are none; give 1 or more")
    sync = {name: options.pop(name) for name in (*_SYNC, *PatternOptions.__annotations__) if name in options}
    make_sync_plan(dict(sync))  # raises for wrong values
    reader = SitemapReader(**options)
    query = {name: value for name, value in sync.items() if name not in _SYNC}
    settings = reader.state_settings(UrlQuery(**query))
    plan = WatchPlan(Budget(budget, host_budget), reader, sync, sites_at_once, keep_log, on_visit)
    targets, path = _of_shard(hosts, state, shard)
    opened = State(path, create=True, shared_by=max(2, sites_at_once))
    try:
        _check_settings(opened, targets, settings)
    except BaseException:
        opened.close()
        raise
    return Watcher(targets, opened, plan)


def _check_settings(state: State, targets: Iterable[Target], wanted: Mapping[str, Any]) -> None:
    """UsageError where a site was read with other settings before, as its URLs cannot be compared."""
    known = state.settings()
    for target in targets:
        name = site_name(target.seeds)
        if difference := settings_difference(known.get(name, wanted), wanted):
            raise UsageError(f"{name} in {state.name} {difference}; give the same options, or name another state")


def _of_shard(hosts: HostList, state: str | Path, shard: str | None) -> tuple[list[Target], Path]:
    """The targets and the state file of a shard."""
    if shard is None:
        return [site_target(target) for target in hosts.targets], Path(state)
    match = _SHARD.fullmatch(shard)
    number, shards = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= shards:
        raise UsageError(f"shard: {shard!r} is not a part of the hosts; write the third of sixteen parts as 3/16")
    targets = [each for each in hosts.targets if shard_of(domain_of(each), shards) == number - 1]
    folder = Path(state)
    if folder.is_file():
        raise UsageError(f"shard: {folder} is a file; with shards the state is a folder, with a file for each")
    folder.mkdir(parents=True, exist_ok=True)
    last = max((path.stem for path in folder.glob("part-*.sqlite")), default="")
    if last >= part_name(shards):
        raise UsageError(f"shard: {folder} has {last}.sqlite, so its hosts are divided into more parts than {shards}")
    return [site_target(target) for target in targets], folder / f"{part_name(number - 1)}.sqlite"


class WatchStream:
    """WatchedChanges for one `for` loop, which a thread finds meanwhile; the end of a `with` block ends the thread.

    run() delivers to the sinks alone, without a loop.
    """

    def __init__(self, watcher: Watcher, name: str, sinks: Sequence[SinkPlan]) -> None:
        self._watcher = watcher
        self._sinks = sinks
        self._sink = _LoopSink(name)
        self._bridge = Bridge(self._run)
        self._changes = self._read()

    async def _run(self, put: Callable[[Any], Awaitable[None]]) -> None:
        self._sink.begin(put)
        await run_watch(self._watcher, [SinkPlan(self._sink), *self._sinks])

    def run(self) -> None:
        """Delivers changes to the sinks until it is interrupted."""
        run_in_thread(partial(run_watch, self._watcher, self._sinks))

    def _read(self) -> Iterator[WatchedChange]:
        with closing(self._bridge):
            for lines in self._bridge.batches(lambda: None):
                yield from map(WatchedChange.of_line, lines)  # type: ignore[arg-type]
                self._sink.confirm()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[WatchedChange]:
        return self._changes

    def close(self) -> None:
        """Ends the watch, joins its thread, and closes the state. May be called twice."""
        self._bridge.close()
        self._watcher.close_state()


class _LoopSink:
    """Passes entries to the loop of the caller, one by one; each is delivered when the loop asks for the next one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._put: Callable[[Any], Awaitable[None]]
        self._loop: asyncio.AbstractEventLoop
        self._taken = asyncio.Event()

    def begin(self, put: Callable[[Any], Awaitable[None]]) -> None:
        """Uses this function, of the event loop that is running."""
        self._put, self._loop = put, asyncio.get_running_loop()

    def confirm(self) -> None:
        """Notes that the caller has handled the entry; to be called in its thread."""
        self._loop.call_soon_threadsafe(self._taken.set)

    async def deliver(self, entry: LogEntry) -> None:
        """Returns when the caller has handled the entry."""
        self._taken.clear()
        await self._put(entry.lines.splitlines())
        await self._taken.wait()

    async def close(self) -> None:
        """Nothing is open."""
