"""The workers of a harvest: those of a scheduler that is named, or a cluster on this machine's loopback.

In: an address, or how many processes. Out: a client of distributed's, and how long to wait for whom.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

import attrs

from ..model.errors import StateError, UsageError, install_hint
from ..serialize.arrow import require_pyarrow
from .folder import HarvestCancelled
from .progress import Counting
from .shard import harvest_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .folder import Folder, Plan
    from .options import HarvestOrder
    from .progress import HarvestProgress
    from .shard import Tally


LOOPBACK = "127.0.0.1"
# Shards that a process reads at once: when one waits for its last hosts, the other goes on.
SHARDS_PER_WORKER = 2
CONNECT_SECONDS = 10
_NO_MAIN = 'each runs this script first: call harvest() below `if __name__ == "__main__":`, so that they do not call it'


def require_dask() -> None:
    """UsageError, with the extra to install, where Dask is missing."""
    require_pyarrow("harvest needs", "dask")
    try:
        import distributed  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"harvest needs Dask: {install_hint('dask')}") from exc


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A distributed.Client, for as long as the block lasts; a cluster of our own ends with it.

    UsageError where there is nobody at the address.
    """
    if scheduler is None:
        with _started(workers or os.cpu_count() or 1) as cluster, _client(cluster) as client:
            yield client
        return
    if workers is not None:
        raise UsageError("workers are started on this machine, and a scheduler has its own: leave one of the two out")
    with _client_at(scheduler) as client:
        yield client


def _client(of: Any, **options: Any) -> Any:
    from distributed import Client

    return Client(of, set_as_default=False, **options)


def _client_at(scheduler: str) -> Any:
    try:
        return _client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as exc:  # a TimeoutError is an OSError
        told = f"no scheduler answers at {scheduler}: {exc}; `dask scheduler` starts one, and prints its address"
    gc.collect()  # where one that did not start is collected while another starts, they wait for each other
    raise UsageError(told)


def _started(workers: int) -> Any:
    """A cluster. An interrupt waits until it is there: nobody could end half of one."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.exit(_NO_MAIN)  # a worker, which nobody asks
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
    """Begins in a thread that hears of no interrupt, nor do the threads and processes that it starts, at any time.

    A terminal interrupts all processes of a command: what becomes of the workers is ours to say.
    """
    import distributed

    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # which would let interrupts through where it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=SHARDS_PER_WORKER,
        processes=True,
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        silence_logs=logging.CRITICAL + 1,  # what becomes of a worker is told by who reads the futures
    )


def shards_at_once(client: Any) -> int:
    """How many shards are read at once by the workers that are there."""
    return sum(worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values())


# ----------------------------------------------------------------------------------------------------
# The tasks of a harvest: the shards that are left to do, to Dask; what they come to, out.
#
# A task whose worker is lost goes to another one; one that fails is named. Whoever is stopped leaves nobody at work.


_LOOK_SECONDS = 0.25
_COUNT_SECONDS = 5.0  # how often the scheduler is asked for its workers


class Tasks:
    """The tasks of a harvest, from their submission to the last result."""

    def __init__(
        self,
        client: Any,
        folder: Folder,
        plan: Plan,
        order: HarvestOrder,
        hears: Sequence[Callable[[HarvestProgress], None]],
    ) -> None:
        self.failed: dict[int, str] = {}
        self._client = client
        self._topic = f"sitemap-reader-{os.urandom(6).hex()}"
        self._folder = attrs.evolve(folder, run=self._topic)
        self._order = order.dated(plan.dates)
        self._hears = hears
        self._left = self._folder.settle(plan.shards)
        done = [manifest for shard in range(plan.shards) if (manifest := folder.manifest(shard))]
        self.counting = Counting(plan.hosts, plan.shards, done, client.dashboard_link)
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._futures: dict[Any, int] = {}
        self._shards_at_once = 0
        self._count_at = 0.0

    def carry_out(self) -> None:
        """Every shard that is left; one that cannot be written ends them all."""
        self._client.subscribe_topic(self._topic, lambda event: self.counting.hear(event[1]))
        try:
            self._submit()
            while self._futures:
                self._tell()
                with suppress(queue.Empty):
                    self._end(self._ended.get(timeout=_LOOK_SECONDS))
            self._tell()
        finally:
            self._client.unsubscribe_topic(self._topic)
            self._call_off()

    def _submit(self) -> None:
        for shard in self._left:
            key = f"{self._topic}-{shard}"
            future = self._client.submit(_task, self._folder, shard, self._order, self._topic, key=key, pure=False)
            self._futures[future] = shard
            future.add_done_callback(self._ended.put)

    def _end(self, future: Any) -> None:
        shard = self._futures.pop(future)
        failure = _LOST if future.cancelled() else _why(future.exception())
        if failure is not None:
            self.counting.failed(shard)
            self.failed[shard] = failure
            return
        kind, *told = future.result()
        if kind != _DONE:
            raise _STOPS[kind](*told)
        self.counting.done(*told)

    def _tell(self) -> None:
        if time.monotonic() >= self._count_at:
            with suppress(OSError):  # the scheduler is lost: each future tells
                self._shards_at_once = shards_at_once(self._client)
            self._count_at = time.monotonic() + _COUNT_SECONDS
        progress = self.counting.now(self._shards_at_once)
        for hear in self._hears:
            hear(progress)

    def _call_off(self) -> None:
        """Nobody works for this harvest any more."""
        if self._futures:
            self._client.cancel([*self._futures])
        self._folder.call_off()


# What a task comes to: the manifest of its shard, or what stops the harvest. (Not every exception of ours, with all
# that led to it, comes through what Dask sends.)
_DONE = "done"
_STOPS: dict[str, Callable[..., Exception]] = {
    "usage": UsageError,
    "disk": OSError,
    "state": partial(StateError, is_unwritable=True),
}


def _task(folder: Folder, shard: int, order: HarvestOrder, topic: str) -> tuple[Any, ...]:
    """What runs on a worker."""
    from distributed import get_worker

    worker = get_worker()
    _permit_many_files()

    def tell(tally: Tally) -> None:
        worker.log_event(topic, {"shard": shard, "worker": worker.address, **attrs.asdict(tally)})

    if not folder.path.is_dir():
        return "usage", f"the worker {worker.address} sees no folder {folder.path}: all must see it under the same name"
    try:
        return _DONE, harvest_shard(folder, shard, order, tell)
    except OSError as exc:
        return "disk", exc.errno, exc.strerror or str(exc), exc.filename
    except StateError as exc:
        if exc.is_unwritable:
            return "state", str(exc)
        raise
    except HarvestCancelled as exc:
        return "usage", str(exc)


def _permit_many_files() -> None:
    """A connection is one, and many systems permit a thousand unless they are asked for more."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


_LOST = "the connection to the scheduler was lost"


def _why(error: BaseException | None) -> str | None:
    """In words."""
    if error is None:
        return None
    if type(error).__name__ == "KilledWorker":
        return "each worker that was at it died; see whether their memory or their disk was full"
    return f"{type(error).__name__}: {error}"
