"""OpenTelemetry: spans of requests have the span of the caller as their parent, as docs/observability.md says."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kit import HOST, Site, index, urlset

import sitemap_reader as sr
from sitemap_reader.fetch import Response

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

NAMES = [f"{HOST}/{number}.xml" for number in range(6)]
REFUSED = sr.FetchError("connection refused", transient=False)
TARGET = f"{HOST}/index.xml"


class TracedSite(Site):
    """Like a TracedFetcher; each body states its length, so that requests start while other responses are open."""

    def __init__(self, tracer: trace.Tracer) -> None:
        pages = {url: self.sized(urlset(f"{url}.html")) for url in NAMES}
        super().__init__({TARGET: self.sized(index(*NAMES, f"{HOST}/no.xml")), **pages, f"{HOST}/no.xml": REFUSED})
        self.tracer = tracer

    @staticmethod
    def sized(body: bytes) -> tuple[int, dict[str, str], bytes]:
        return 200, {"content-length": str(len(body))}, body

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        with self.tracer.start_as_current_span(url):
            async with super().fetch(url, headers) as response:
                yield response


def read_sync(site: TracedSite) -> int:
    return sum(1 for _ in sr.urls(TARGET, fetcher=site))


def read_async(site: TracedSite) -> int:
    async def main() -> int:
        async with sr.SitemapReader(fetcher=site) as reader:
            return sum([1 async for _ in reader.urls(TARGET)])

    return asyncio.run(main())


def read_sync_in_a_loop(site: TracedSite) -> int:
    async def main() -> int:
        return read_sync(site)

    return asyncio.run(main())


@pytest.fixture
def spans() -> Iterator[tuple[trace.Tracer, Callable[[], tuple[ReadableSpan, ...]]]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("tests"), exporter.get_finished_spans
    provider.shutdown()


@pytest.mark.parametrize("read", [read_sync, read_async, read_sync_in_a_loop])
def test_the_span_of_each_request_has_that_of_the_caller_as_its_parent(
    read: Callable[[TracedSite], int], spans: Any
) -> None:
    tracer, finished = spans
    with tracer.start_as_current_span("job") as job:
        assert read(TracedSite(tracer)) == len(NAMES)
    requests = [span for span in finished() if span.name != "job"]
    assert {span.name for span in requests} == {f"{HOST}/robots.txt", TARGET, *NAMES, f"{HOST}/no.xml"}
    assert {span.parent and span.parent.span_id for span in requests} == {job.get_span_context().span_id}
    assert {span.name for span in requests if not span.status.is_ok} == {f"{HOST}/no.xml"}
