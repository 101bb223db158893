"""The metrics of a watch in the text format of Prometheus.

In: what the watcher and the ping receiver count. Out: one page of text. Values are read when they are requested, and
labels have few fixed values: no metric has a label for sites, URLs or clients.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..model.errors import UsageError, install_hint, masked, printable
from ..version import __version__
from .pings import RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client import Metric
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from .pings import PingReceiver
    from .status import Totals
    from .watcher import Watcher

# Version 0.0.4 of the text format, which all versions of Prometheus read.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "sitemap_reader_watch_"


def check_prometheus() -> None:
    """Raises UsageError without the package prometheus-client."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"the server of a watch needs the package prometheus-client: {install_hint('watch')}") from exc


async def metrics_text(watcher: Watcher, pings: PingReceiver, streams: int) -> bytes:
    """The present values; `streams` is the number of clients that wait for changes."""
    from prometheus_client import generate_latest

    metrics = [*_metrics(watcher, await watcher.totals(), pings, streams)]
    registry: Any = SimpleNamespace(collect=lambda: metrics)
    return generate_latest(registry)


def _metrics(watcher: Watcher, totals: Totals, pings: PingReceiver, streams: int) -> Iterator[Metric]:
    health, counters = watcher.health(), watcher.counters
    values: dict[str, tuple[str, float | None]] = {
        "healthy": ("1 if the watch works, 0 if /healthz reports a fault.", not health.faults),
        "sites": ("Watched sites.", totals.sites),
        "failing_sites": ("Sites whose last visits failed.", totals.failing),
        "documents": ("Sitemaps of the watched sites.", totals.documents),
        "urls": ("URLs that the sitemaps list.", totals.urls),
        "budget_requests_per_hour": ("Requests that are permitted.", totals.budget_per_hour),
        "last_visit_timestamp_seconds": (
            "The end of the last visit of any site.",
            health.last_visit.timestamp() if health.last_visit else None,
        ),
        "last_seq": ("The number of the newest change.", watcher.feed.last_seq),
        "change_streams": ("Clients that wait for changes.", streams),
    }
    for name, (text, value) in values.items():
        if value is not None:
            yield _metric(_GAUGE, name, text, {"": value})
    yield _metric(_GAUGE, "info", "The version of sitemap-reader.", {__version__: 1}, "version")
    sinks = {masked(printable(sink.name)): sink for sink in totals.sinks}
    for kind, name, text, field in _OF_SINKS:
        of_sinks = {label: getattr(sink, field) for label, sink in sinks.items()}
        yield _metric(kind, f"sink_{name}", text, of_sinks, "sink")
    yield _metric(_COUNTER, "requests", "Requests by status.", counters.requests, "status")
    yield _metric(_COUNTER, "visits", "Visits of sites by result.", counters.visits, "result")
    yield _metric(_COUNTER, "changes", "Changes of URLs by kind.", counters.changes, "change")
    yield _metric(_COUNTER, "pings", "Pings by result.", {result: pings.counts[result] for result in RESULTS}, "result")


def _metric(kind: str, name: str, text: str, values: Mapping[str, float], label: str | None = None) -> Metric:
    from prometheus_client import core

    names = [label] if label else []
    metric: GaugeMetricFamily | CounterMetricFamily = getattr(core, kind)(PREFIX + name, text, labels=names)
    for label_value, value in values.items():
        metric.add_metric([label_value] if label else [], value)
    return metric


_GAUGE, _COUNTER = "GaugeMetricFamily", "CounterMetricFamily"
# Kind, name and text of a metric, field of SinkStatus.
_OF_SINKS = (
    (_GAUGE, "lag_changes", "Changes that a sink has not received.", "lag_changes"),
    (_GAUGE, "lag_seconds", "The age of the oldest of these changes.", "lag_seconds"),
    (_COUNTER, "changes", "Changes that a sink has received.", "delivered"),
    (_COUNTER, "failures", "Deliveries that failed.", "failures"),
    (_COUNTER, "dead_letters", "Entries that a sink rejected, and that were skipped.", "dead_letters"),
)
