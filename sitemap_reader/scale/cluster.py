"""The workers of a harvest: those of a scheduler that is named, or a cluster on this machine's loopback.

In: an address, or how many processes. Out: a client of distributed's, and how long to wait for whom.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from ..model.errors import UsageError, install_hint
from ..serialize.arrow import require_pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator

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
