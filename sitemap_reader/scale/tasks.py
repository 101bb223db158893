"""The tasks of a harvest: the shards that are left to do, to Dask; what they come to, out.

A task whose worker is lost goes to another one; one that fails is named. Whoever is stopped leaves nobody at work.
"""

from __future__ import annotations

import os
import queue
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from ..model.errors import StateError, UsageError
from .cluster import shards_at_once
from .folder import CalledOff
from .progress import Counting
from .shard import harvest_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .folder import Folder, Plan
    from .options import Order
    from .progress import HarvestProgress
    from .shard import Tally

_LOOK_SECONDS = 0.25
_COUNT_SECONDS = 5.0  # how often the scheduler is asked for its workers


class Tasks:
    """The tasks of a harvest, from their submission to the last result."""

    def __init__(
        self,
        client: Any,
        folder: Folder,
        plan: Plan,
        order: Order,
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


def _task(folder: Folder, shard: int, order: Order, topic: str) -> tuple[Any, ...]:
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
    except CalledOff as exc:
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
