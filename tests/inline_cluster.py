"""harvest() without a cluster and without Dask: its tasks run in this process, one after the other, when submitted."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import attrs
import pytest

import sitemap_reader as sr


@attrs.define
class _Worker:
    """The worker of a task."""

    client: InlineClient
    address: str = "near"

    def log_event(self, topic, message):
        handler = self.client.handlers.get(topic)
        if handler is not None:
            handler((0.0, message))


@attrs.define(eq=False)
class InlineClient:
    """The methods of distributed.Client that harvest() calls."""

    dashboard_link: str = "http://127.0.0.1:8787/status"
    handlers: dict = attrs.field(factory=dict)
    workers: int = 2

    def scheduler_info(self, n_workers):
        return {"workers": {f"near{number}": {"nthreads": 1} for number in range(self.workers)}}

    def subscribe_topic(self, topic, handler):
        self.handlers[topic] = handler

    def unsubscribe_topic(self, topic):
        del self.handlers[topic]

    def submit(self, function, *args, key, pure):
        future = Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(args))))))  # noqa: S301
        except Exception as exc:
            future.set_exception(exc)
        return future

    def cancel(self, futures):
        for future in futures:
            future.cancel()


@contextmanager
def inline_cluster():
    """Within the block harvest() uses this client, and imports of distributed are replaced."""
    client, distributed = InlineClient(), ModuleType("distributed")
    distributed.get_worker = lambda: _Worker(client)

    @contextmanager
    def connected(scheduler, workers):
        yield client

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("sitemap_reader.scale.api"), "connected", connected)
        patch.setitem(sys.modules, "distributed", distributed)
        yield client


def harvest_inline(hosts, output, **keywords):
    """Harvests hosts on loopback."""
    with inline_cluster():
        targets = [getattr(host, "target", host) for host in hosts]
        return sr.scale.harvest(targets, output, allow_private=True, **keywords)
