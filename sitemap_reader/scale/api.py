"""harvest(): plans a harvest, or resumes one, and has Dask read the shards that are not done.

It connects to a scheduler or starts a local cluster, and runs one task for each shard. Dask runs a task whose worker
died again on another one (its setting distributed.scheduler.allowed-failures); a task that raises is recorded. Tasks
are cancelled however the harvest ends. A local cluster listens on 127.0.0.1 only, and its processes import nothing from
the working folder.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import checked_keywords
from ..client.progressbar import ProgressBar
from ..client.streams import TimedQueue
from ..model.errors import StateError, UsageError, install_hint
from ..model.options import part_of, with_defaults
from ..serialize.arrow import require_pyarrow
from .folder import HarvestCancelled, HarvestFolder, write_synced
from .options import HarvestOptions, PlanOptions
from .plan import Planner
from .report import ProgressTracker, bar_state, harvest_page, load_harvest
from .shard import harvest_shard

if TYPE_CHECKING:
    from pathlib import Path

    from .folder import HarvestPlan
    from .hosts import HostList
    from .report import Harvest, HarvestProgress, ShardProgress
    from .shard import Shard


LOOPBACK = "127.0.0.1"
# Threads of a process: while one shard waits for its last hosts, the other goes on.
SHARDS_PER_WORKER = 2
CONNECT_SECONDS = 10
_SAFE_PATH = "PYTHONSAFEPATH"  # Python 3.11, "Command line and environment": as -P, and processes inherit it
_NO_MAIN = 'each runs this script first: call harvest() below `if __name__ == "__main__":`, so that they do not call it'


def require_dask() -> None:
    require_pyarrow("harvest needs", "dask")
    try:
        import distributed  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"harvest needs Dask: {install_hint('dask')}") from exc


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A context with a distributed.Client; a cluster that it started ends with it."""
    if scheduler is None:
        with _safe_path(), _started(workers or os.cpu_count() or 1) as cluster, _client(cluster) as client:
            yield client
        return
    if workers is not None:
        raise UsageError("workers are started on this machine, and a scheduler has its own: leave one of the two out")
    with _client_at(scheduler) as client:
        yield client


@contextmanager
def _safe_path() -> Iterator[None]:
    """In the block no Python process begins with the working folder in its sys.path; a value of the user stays.

    Workers, also those that Dask restarts, and the resource tracker of multiprocessing are started as `python -c`,
    which would import a multiprocessing.py of that folder. They get the sys.path of this process afterwards.
    """
    before = os.environ.get(_SAFE_PATH)
    if before:  # Python ignores an empty value
        yield
        return
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        os.environ.pop(_SAFE_PATH, None)
        if before is not None:
            os.environ[_SAFE_PATH] = before


def _client(of: Any, **options: Any) -> Any:
    from distributed import Client

    return Client(of, set_as_default=False, **options)


def _client_at(scheduler: str) -> Any:
    try:
        return _client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as exc:  # a TimeoutError is an OSError
        message = f"no scheduler answers at {scheduler}: {exc}; `dask scheduler` starts one, and prints its address"
    gc.collect()  # a client collected while another one starts deadlocks with it
    raise UsageError(message)


def _started(workers: int) -> Any:
    """A local cluster; an interrupt is delivered once it has started and can be closed."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.exit(_NO_MAIN)  # in a worker process
    with ThreadPoolExecutor(1, "sitemap-reader-cluster") as thread:
        starting = thread.submit(_start, workers)
        try:
            return starting.result()
        except KeyboardInterrupt:
            starting.result().close()
            raise
        except RuntimeError as exc:
            raise UsageError(f"the workers did not start ({exc}); {_NO_MAIN}") from None


def _start(workers: int) -> Any:
    """Starts a cluster in a thread that blocks SIGINT, as do the threads and processes that it starts.

    A terminal sends SIGINT to all processes of a command; workers are ended by the client instead.
    """
    import distributed

    if sys.platform != "win32":
        resource_tracker.ensure_running()  # it would unblock SIGINT as it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=SHARDS_PER_WORKER,
        processes=True,
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        silence_logs=logging.CRITICAL + 1,  # failures are read from the futures
    )


def shards_at_once(client: Any) -> int:
    return sum(worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values())


_POLL_SECONDS = 0.25
_WORKER_COUNT_SECONDS = 5.0  # between two counts of the workers


class HarvestTasks:
    """Runs the shards that are not done; `failed` maps a shard to why."""

    def __init__(
        self,
        client: Any,
        folder: HarvestFolder,
        plan: HarvestPlan,
        shards: Sequence[Shard],
        callbacks: Sequence[Callable[[HarvestProgress], None]],
    ) -> None:
        self.failed: dict[int, str] = {}
        self._client = client
        self._folder = folder
        self._topic = folder.run
        self._callbacks = callbacks
        self._shards = shards
        done = [manifest for shard in range(plan.shards) if (manifest := folder.manifest(shard))]
        self.progress_tracker = ProgressTracker(plan.hosts, plan.shards, done, client.dashboard_link)
        self._ended: TimedQueue[Any] = TimedQueue()
        self._futures: dict[Any, int] = {}
        self._shards_at_once = 0
        self._next_count = 0.0

    def run(self) -> None:
        """Raises where files cannot be written, and cancels the other tasks."""
        self._client.subscribe_topic(self._topic, lambda event: self.progress_tracker.update(event[1]))
        try:
            for shard in self._shards:
                key = f"{self._topic}-{shard.number}"
                future = self._client.submit(_run_shard, shard, self._topic, key=key, pure=False)
                self._futures[future] = shard.number
                future.add_done_callback(self._ended.put)
            while self._futures:
                self._report_progress()
                with suppress(queue.Empty):
                    self._end(self._ended.get(_POLL_SECONDS))
            self._report_progress()
        finally:
            self._client.unsubscribe_topic(self._topic)
            if self._futures:
                self._client.cancel([*self._futures])
            self._folder.cancel()

    def _end(self, future: Any) -> None:
        shard = self._futures.pop(future)
        error = None if future.cancelled() else future.exception()
        if error is not None or future.cancelled():
            self.progress_tracker.failed(shard)
            self.failed[shard] = _failure_message(error)
            return
        kind, *values = future.result()
        if kind != _DONE:
            raise _STOPS[kind](*values)
        self.progress_tracker.done(*values)

    def _report_progress(self) -> None:
        if time.monotonic() >= self._next_count:
            with suppress(OSError):  # the scheduler is lost, which each future reports
                self._shards_at_once = shards_at_once(self._client)
            self._next_count = time.monotonic() + _WORKER_COUNT_SECONDS
        progress = self.progress_tracker.now(self._shards_at_once)
        for callback in self._callbacks:
            callback(progress)


# A task returns the manifest of its shard, or an exception that ends the harvest, as values: not all of our exceptions
# can be pickled with their causes.
_DONE = "done"
_STOPS: dict[str, Callable[..., Exception]] = {
    "usage": UsageError,
    "disk": OSError,
    "state": partial(StateError, is_unwritable=True),
}


def _run_shard(shard: Shard, topic: str) -> tuple[Any, ...]:
    from distributed import get_worker

    worker = get_worker()

    def on_progress(progress: ShardProgress) -> None:
        worker.log_event(topic, {"shard": shard.number, "worker": worker.address, **attrs.asdict(progress)})

    try:
        return _DONE, harvest_shard(shard, on_progress)
    except OSError as exc:
        return "disk", exc.errno, exc.strerror or str(exc), exc.filename
    except StateError as exc:
        if exc.is_unwritable:
            return "state", str(exc)
        raise
    except (HarvestCancelled, UsageError) as exc:
        if isinstance(exc, UsageError) and shard.folder.path.is_dir():
            raise  # by this shard alone, such as by its state
        return "usage", str(exc)


def _failure_message(error: BaseException | None) -> str:
    if error is None:
        return "the connection to the scheduler was lost"
    if type(error).__name__ == "KilledWorker":
        return "each worker that ran it died; check whether their memory or disk was full"
    return f"{type(error).__name__}: {error}"


@checked_keywords(HarvestOptions)
def harvest(
    hosts: str | Path | Iterable[str] | HostList, output: str | Path, **options: Unpack[HarvestOptions]
) -> Harvest:
    """Reads the sitemaps of many hosts into a folder: urls/, sitemaps/, problems/ and hosts/, a Parquet file a shard.

    summary.html there, written at the end, has the result for a browser.
    `hosts` is a file with one a line, or the hosts themselves. All hosts of a registrable domain are of one shard, and
    read one after the other. A worker waits for each host no longer than `host_seconds` in all, and takes hardly more
    than `host_urls` of it: then the host is skipped, and its URLs so far are kept.

    With `state` the URLs are changes since the last harvest in the same folder. The keywords of SitemapReader are taken
    but for session, fetcher and record; an age such as since="7d" counts from now, also when the harvest is resumed
    later.

    A shard that could not be done is in Harvest.failed. UsageError for what cannot be carried out; OSError, or
    StateError, where the folder cannot be written: the shards that were done by then stay, and `resume` does the rest.
    On other engines than Dask: plan_harvest() and harvest_shard().
    """
    require_dask()
    given = with_defaults(HarvestOptions, options)
    planner = Planner(hosts, output, part_of(PlanOptions, options))
    started = time.monotonic()
    in_this_run: dict[str, Any] = {}
    if not planner.is_done():
        with connected(given["scheduler"], given["workers"]) as client:
            shards = planner.begin(shards_at_once(client))
            with ProgressBar("hosts", bar_state) if given["show_progress"] else nullcontext() as bar:
                callbacks = [callback for callback in (bar, given["on_progress"]) if callback is not None]
                tasks = HarvestTasks(client, planner.folder, planner.plan, shards, callbacks)
                tasks.run()
            in_this_run = {"failed": tasks.failed, "again": tasks.progress_tracker.restarts}
    seconds = time.monotonic() - started
    of_run = {"refused": planner.hosts.refused, "repeated": planner.hosts.repeated, "seconds": seconds, **in_this_run}
    found = attrs.evolve(load_harvest(planner.folder.path), **of_run)
    page = harvest_page(found, datetime.fromisoformat(planner.plan.started))
    write_synced(planner.folder.path / "summary.html", page.encode("utf-8", "replace"))
    return found
