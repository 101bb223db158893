"""SitemapReaderLoader with the real Crawlee: alone and in tandem, with a state, over restarts and kills."""

import asyncio
import gc
import gzip
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tiers import not_installed

pytest.importorskip("crawlee", reason=not_installed(["crawlee"]))

from crawlee import ConcurrencySettings, Request, RequestOptions, service_locator
from crawlee.crawlers import BasicCrawler, BasicCrawlingContext
from crawlee.events import Event, EventPersistStateData
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader
from crawlee.storage_clients import MemoryStorageClient
from crawlee.storages import KeyValueStore, RequestQueue
from crawlee_services import all_of, fresh, urls_of
from kit import feed, files, gz, index, robots, urlset, xml
from servers import Page, SiteServer, free_port

import sitemap_reader as sr
from sitemap_reader.client import THREADS
from sitemap_reader.frontier import WELL_KNOWN
from sitemap_reader.integrations.crawlee import SitemapReaderLoader, record_of
from sitemap_reader.integrations.crawlee import loader as loader_module

Serve = Callable[[Mapping[str, Page]], SiteServer]

pytestmark = pytest.mark.slow

WAIT_SECONDS = 20.0
LOCAL: dict[str, Any] = {"allow_private": True}
KEY = "sitemaps"
PROGRAM = Path(__file__).parent / "crawlee_program.py"
SHOP = Path(__file__).parents[2] / "corpus" / "sites" / "shop" / "https" / "shop.example"


@pytest.fixture(autouse=True)
def _crawlee(tmp_path: Path) -> Iterator[None]:
    """Resets Crawlee's globals for each test; its storage is below tmp_path."""
    level, handlers = logging.root.level, [*logging.root.handlers]
    fresh(tmp_path / "storage")
    yield
    fresh(tmp_path / "storage")
    logging.root.setLevel(level)
    logging.root.handlers[:] = handlers


@pytest.fixture
def site(site_server: Serve) -> SiteServer:
    """Four documents with five URLs each."""
    server = site_server({})
    server.pages = pages_of(server.url, 4, 5)
    return server


def shop_at(origin: str, folder: Path) -> None:
    """The shop of the corpus on a server: its URLs are those of `origin`."""
    for source in SHOP.rglob("*"):
        place = folder / source.relative_to(SHOP)
        if source.is_dir() or source.suffix == ".headers":
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".gz":
            place.write_bytes(gz(_moved(gzip.decompress(source.read_bytes()), origin)))
        else:
            place.write_bytes(_moved(source.read_bytes(), origin))


def _moved(body: bytes, origin: str) -> bytes:
    return body.replace(b"https://shop.example", origin.encode())


def pages_of(origin: str, documents: int, urls: int) -> dict[str, Page]:
    """A site of so many documents with so many URLs each."""
    locs = {f"/map-{n}.xml": [f"{origin}/{n}-{page}" for page in range(urls)] for n in range(documents)}
    listed = xml(index(*(origin + path for path in locs)))
    maps = {path: xml(urlset(*some)) for path, some in locs.items()}
    return {"/robots.txt": (200, {}, robots(f"{origin}/index.xml")), "/index.xml": listed, **maps}


def in_memory() -> None:
    service_locator.set_storage_client(MemoryStorageClient())


def run(main: Any) -> Any:
    """Runs a coroutine on a new loop; at the end no task and no thread is left."""

    async def checked() -> Any:
        result = await asyncio.wait_for(main, WAIT_SECONDS)
        await no_task_is_left()
        return result

    result = asyncio.run(checked())
    assert not our_threads()
    return result


run_async = run


async def no_task_is_left() -> None:
    await soon(lambda: not any("sitemap" in f"{task.get_name()} {task.get_coro()}" for task in asyncio.all_tasks()))


async def soon(is_so: Callable[[], bool]) -> None:
    """Waits until a condition holds that has no event."""
    for _ in range(500):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it has not come")


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(THREADS)]


async def persist() -> None:
    """Emits the event that the crawler's event manager emits every minute."""
    async with service_locator.get_event_manager() as events:
        events.emit(event=Event.PERSIST_STATE, event_data=EventPersistStateData(is_migrating=False))
        await events.wait_for_all_listeners_to_complete()


def site_urls(server: SiteServer, documents: int = 4, urls: int = 5) -> set[str]:
    return {f"{server.url}/{number}-{page}" for number in range(documents) for page in range(urls)}


def sitemap_requests(server: SiteServer) -> Counter[str]:
    return Counter(path for path in server.requests() if path.endswith(".xml"))


# --- in a crawler ---------------------------------------------------------------------------------------------


async def crawl(loader: SitemapReaderLoader, queue: RequestQueue | None = None, **options: Any) -> list[Request]:
    """A minimal crawler."""
    seen: list[Request] = []
    crawler = BasicCrawler(request_manager=await loader.to_tandem(queue), configure_logging=False, **options)

    @crawler.router.default_handler
    async def handle(context: BasicCrawlingContext) -> None:
        seen.append(context.request)

    await crawler.run()
    return seen


def test_a_crawler_gets_what_the_reader_reads_with_each_record(nginx: Any, tmp_path: Path) -> None:
    port = free_port()
    shop_at(f"http://127.0.0.1:{port}", tmp_path / "www")
    server = nginx(tmp_path / "www", port)
    in_memory()
    loader = SitemapReaderLoader(server.url, **LOCAL)
    seen = run(crawl(loader))
    requested = Counter(server.requests())
    with sr.urls(server.url, unique=True, **LOCAL) as urls:
        expected = {record.loc: record for record in urls}
    assert {record.loc: record for record in map(record_of, seen) if record} == expected
    assert len(seen) == len(expected) == loader.summary.urls == 640
    assert [request.url for request in seen if request.url not in expected] == []
    assert set(requested.values()) == {1}, "no document is requested twice"
    assert len(requested) == loader.summary.sitemaps + 1
    assert loader.complete
    loader.raise_for_partial()


@pytest.mark.smoke
def test_the_record_survives_a_queue_on_disk(site: SiteServer, tmp_path: Path) -> None:
    body = urlset((f"{site.url}/a", "2026-01-31"), f"{site.url}/b")
    body = body.replace(b"<url>", b'<url><x:image xmlns:x="http://www.google.com/schemas/sitemap-image/1.1">'
                        b"<x:loc>/i.png</x:loc></x:image><priority>9</priority>")
    site.pages = {"/one.xml": xml(body)}
    target = f"{site.url}/one.xml"

    async def fill() -> None:
        queue = await RequestQueue.open(name="kept")
        async with SitemapReaderLoader(target, **LOCAL) as loader:
            while (request := await loader.fetch_next_request()) is not None:
                await queue.add_request(request)
                await loader.mark_request_as_handled(request)

    async def empty() -> list[Request]:
        queue = await RequestQueue.open(name="kept")
        return [request for _ in range(2) if (request := await queue.fetch_next_request())]

    run(fill())
    fresh(tmp_path / "storage")
    found = {record.loc: record for record in map(record_of, run(empty())) if record}
    with sr.urls(target, **LOCAL) as urls:
        expected = {record.loc: sr.to_dict(record) for record in urls}
    assert {loc: sr.to_dict(record) for loc, record in found.items()} == expected
    assert found[f"{site.url}/a"].images
    assert found[f"{site.url}/a"].problems


def test_urls_with_equal_unique_keys_are_all_crawled(site: SiteServer) -> None:
    in_memory()
    locs = [f"{site.url}{path}" for path in ("/Watch", "/watch", "/watch/", "/watch?utm_source=x", "/other")]
    site.pages = {"/one.xml": xml(urlset(*locs))}
    seen = run(crawl(SitemapReaderLoader(f"{site.url}/one.xml", **LOCAL)))
    assert Counter(request.url for request in seen) == Counter(locs)
    usual = Request.from_url(f"{site.url}/other/").unique_key
    assert usual in {request.unique_key for request in seen}, "what links lead to is not crawled twice"


async def test_a_crawler_that_is_stopped_early_leaves_nothing_behind(site: SiteServer) -> None:
    in_memory()
    site.pages = pages_of(site.url, 40, 50)
    loader = SitemapReaderLoader(site.url, max_buffer_size=5, **LOCAL)
    settings = ConcurrencySettings(desired_concurrency=1, max_concurrency=1)
    crawler = BasicCrawler(
        request_manager=await loader.to_tandem(), configure_logging=False, concurrency_settings=settings
    )
    handled = 0

    @crawler.router.default_handler
    async def handle(context: BasicCrawlingContext) -> None:
        nonlocal handled
        handled += 1
        crawler.stop()

    await crawler.run()
    await loader.close()
    assert handled < 40


def test_exception_in_the_callers_function_ends_the_crawl(site: SiteServer) -> None:
    in_memory()

    def broken(options: RequestOptions) -> RequestOptions:
        raise LookupError(options["url"])

    with pytest.raises(LookupError, match=r"/\d-0"):
        run(crawl(SitemapReaderLoader(site.url, transform_request_function=broken, **LOCAL)))


# --- alone ----------------------------------------------------------------------------------------------------


async def test_loader_gives_each_url_once_and_then_none(site: SiteServer) -> None:
    loader = SitemapReaderLoader(site.url, **LOCAL)
    assert not site.requests()
    found = []
    while (request := await loader.fetch_next_request()) is not None:
        assert not await loader.is_finished()
        found.append(request.url)
        await loader.mark_request_as_handled(request)
    assert await loader.is_finished()
    assert await loader.is_empty()
    assert await loader.fetch_next_request() is None
    assert set(found) == site_urls(site)
    assert len(found) == await loader.get_total_count() == await loader.get_handled_count() == 20
    await loader.close()
    await loader.close()
    assert set(sitemap_requests(site).values()) == {1}


async def test_loader_is_finished_after_requests_in_progress(site: SiteServer) -> None:
    site.pages = {"/one.xml": xml(urlset(f"{site.url}/a"))}
    async with SitemapReaderLoader(f"{site.url}/one.xml", **LOCAL) as loader:
        request = await loader.fetch_next_request()
        assert request is not None
        waiting = [asyncio.create_task(loader.fetch_next_request()) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in waiting)
        assert not await loader.is_finished()
        await loader.mark_request_as_handled(Request.from_url(f"{site.url}/never-given"))
        assert await loader.get_handled_count() == 0
        await loader.mark_request_as_handled(Request.model_validate(request.model_dump(by_alias=True)))
        assert await asyncio.gather(*waiting) == [None, None, None]


async def test_many_tasks_at_once_get_each_url_once(site: SiteServer) -> None:
    site.pages = pages_of(site.url, 10, 30)
    found: list[str] = []

    async def work(loader: SitemapReaderLoader) -> None:
        while (request := await loader.fetch_next_request()) is not None:
            found.append(request.url)
            await asyncio.sleep(0)
            await loader.mark_request_as_handled(request)

    async with SitemapReaderLoader(site.url, max_buffer_size=3, **LOCAL) as loader:
        pending = asyncio.create_task(loader.fetch_next_request())
        await asyncio.sleep(0)
        pending.cancel()
        await asyncio.gather(*[work(loader) for _ in range(20)])
    assert Counter(found) == Counter(site_urls(site, 10, 30))


async def test_waiting_requests_are_limited(site: SiteServer) -> None:
    site.pages = pages_of(site.url, 60, 100)
    async with SitemapReaderLoader(site.url, max_buffer_size=7, **LOCAL) as loader:
        assert await loader.fetch_next_request() is not None
        await asyncio.sleep(0.3)
        assert await loader.get_total_count() <= 8
        assert len(sitemap_requests(site)) < 40  # reading waits as well


def test_since_leaves_out_what_is_older(site: SiteServer) -> None:
    old, new, undated = (f"{site.url}/{name}" for name in ("old", "new", "undated"))
    dated = [(old, "2020-01-01"), (new, "2026-01-01"), undated]
    site.pages = {"/one.xml": xml(urlset(*dated))}
    target = f"{site.url}/one.xml"
    assert run(urls_of(SitemapReaderLoader(target, since="2025-01-01", **LOCAL))) == [new, undated]
    loader = SitemapReaderLoader(target, since="2025-01-01", undated="drop", **LOCAL)
    assert run(urls_of(loader)) == [new]
    assert loader.summary.unwanted == {"date": 2}


@pytest.mark.parametrize(("trust", "given"), [("auto", 1), ("never", 1), ("always", 0)])
def test_trust_lastmod_applies_to_a_stale_index(site: SiteServer, trust: Any, given: int) -> None:
    stale, one = index((f"{site.url}/one.xml", "2020-01-01")), urlset((f"{site.url}/new", "2026-01-01"))
    site.pages = {"/index.xml": xml(stale), "/one.xml": xml(one)}
    loader = SitemapReaderLoader(f"{site.url}/index.xml", since="2025-01-01", trust_lastmod=trust, **LOCAL)
    assert len(run(urls_of(loader))) == given


def test_patterns_from_an_iterator_apply_to_every_target(site: SiteServer, site_server: Serve) -> None:
    other = site_server({})
    other.pages = pages_of(other.url, 1, 3)
    loader = SitemapReaderLoader(iter([site.url, other.url]), include=iter(["-2$"]), follow=["map-0", "index"], **LOCAL)
    assert run(urls_of(loader)) == [f"{site.url}/0-2", f"{other.url}/0-2"]


def test_requests_can_be_changed_and_skipped(site: SiteServer) -> None:
    site.pages = {"/one.xml": xml(urlset(*(f"{site.url}/{name}" for name in "abc")))}

    def transform(options: RequestOptions) -> Any:
        name = options["url"][-1]
        options["label"] = "page"
        changed: RequestOptions = {**options, "url": options["url"] + "?print", "method": "POST"}
        return {"a": "skip", "b": "unchanged", "c": changed}[name]

    loader = SitemapReaderLoader(f"{site.url}/one.xml", transform_request_function=transform, **LOCAL)
    kept, changed = run(all_of(loader))
    assert (kept.url, kept.label, kept.method) == (f"{site.url}/b", "page", "GET")
    assert (changed.url, changed.method) == (f"{site.url}/c?print", "POST")
    assert record_of(changed) == sr.UrlRecord(f"{site.url}/c", sitemap=f"{site.url}/one.xml", line=4)


def test_url_listed_twice_is_transformed_once(site: SiteServer) -> None:
    site.pages = {"/one.xml": xml(urlset(f"{site.url}/A/", f"{site.url}/A/"))}
    looked_at = []

    def transform(options: RequestOptions) -> Any:
        looked_at.append(options["url"])
        return "unchanged"

    loader = SitemapReaderLoader(f"{site.url}/one.xml", transform_request_function=transform, **LOCAL)
    assert run(urls_of(loader)) == looked_at == [f"{site.url}/A/"]
    assert loader.summary.repeated == 1


def test_url_that_crawlee_refuses_is_skipped_and_logged(site: SiteServer, caplog: pytest.LogCaptureFixture) -> None:
    site.pages = {"/one.xml": xml(urlset("http://1.2.3.999/", f"{site.url}/a"))}
    for transform in (None, lambda options: "unchanged"):
        caplog.clear()
        loader = SitemapReaderLoader(f"{site.url}/one.xml", scope="any", transform_request_function=transform, **LOCAL)
        assert run(urls_of(loader)) == [f"{site.url}/a"]
        assert loader.refused == 1
        assert "http://1.2.3.999/ is left out, as Crawlee takes no such URL" in caplog.text


def test_request_made_invalid_by_the_caller_raises(site: SiteServer) -> None:
    loader = SitemapReaderLoader(site.url, transform_request_function=lambda _: {"url": "nowhere"}, **LOCAL)
    with pytest.raises(ValueError, match="nowhere"):
        run(urls_of(loader))


def test_a_request_of_no_sitemap_has_no_record() -> None:
    assert record_of(Request.from_url("https://example.com/")) is None
    for wrong in ("text", {"loc": 1}, {"type": "problem", "code": "D01"}):
        request = Request.from_url("https://example.com/", user_data={"sitemap_record": wrong})
        with pytest.raises(sr.UsageError, match=r"https://example\.com/: user_data"):
            record_of(request)


# --- failures ------------------------------------------------------------------------------------------


def test_refused_site_is_not_empty(site_server: Serve) -> None:
    blocked = site_server(dict.fromkeys(["/robots.txt", *WELL_KNOWN], (403, {}, b"no")))
    loader = SitemapReaderLoader([blocked.url], **LOCAL)
    assert run(urls_of(loader)) == []
    assert [type(verdict) for verdict in loader.verdicts] == [sr.NothingReadable]
    assert loader.problems.counts == {"F17": 1}
    assert not loader.complete
    assert loader.summary.robots_failed == 1


def test_a_site_without_sitemaps_stops_no_other(site: SiteServer, site_server: Serve, caplog: Any) -> None:
    bare, broken = site_server({}), site_server({})
    broken.pages = {"/robots.txt": (200, {}, f"Sitemap: {broken.url}/no.xml\n".encode())}
    caplog.set_level(logging.INFO, "sitemap_reader.crawlee")
    outcomes: list[sr.Outcome] = []
    items: list[Any] = []
    loader = SitemapReaderLoader(
        [bare.url, broken.url, site.url], on_outcome=outcomes.append, on_item=items.append, **LOCAL
    )
    assert set(run(urls_of(loader))) == site_urls(site)
    assert [type(verdict) for verdict in loader.verdicts] == [sr.NothingFound, sr.NothingReadable]
    assert not loader.complete
    assert [*loader.outcomes] == outcomes == [item for item in items if isinstance(item, sr.Outcome)]
    assert {type(item).__name__ for item in items} == {"Problem", "Outcome", "SitemapRef"}
    assert loader.problems.counts["F01"] == 1
    assert loader.summary.urls == 20
    assert loader.summary.failed == 1
    with pytest.raises(sr.PartialRead, match=r"no sitemap found for .*1 sitemap could not be read") as reported:
        loader.raise_for_partial()
    assert list(reported.value.outcomes) == outcomes
    levels = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert ("ERROR", str(loader.verdicts[0])) in levels
    assert any(level == "ERROR" and text.startswith("F01") for level, text in levels)
    assert any(level == "INFO" and text.startswith("20 URLs from 5 sitemaps") for level, text in levels)


@pytest.mark.parametrize("where", ["follow", "on_item", "on_outcome", "transform_request_function"])
async def test_exception_is_raised_after_the_requests_read_before(site: SiteServer, where: str) -> None:
    site.pages["/index.xml"] = xml(index(*(f"{site.url}/map-{number}.xml" for number in range(3))))
    calls = 0

    def broken(reported: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise ZeroDivisionError("mine")
        return "unchanged" if where == "transform_request_function" else True

    loader = SitemapReaderLoader(site.url, **{where: broken}, **LOCAL)
    found = []
    while await loader.is_empty() or (await loader.get_total_count()) > len(found):
        try:
            request = await loader.fetch_next_request()
        except ZeroDivisionError:
            break
        found.append(request.url)
        await loader.mark_request_as_handled(request)
    assert len(found) == await loader.get_total_count()
    for _ in range(2):  # the end is not signalled
        assert not await loader.is_finished()
        assert not await loader.is_empty()
        with pytest.raises(ZeroDivisionError, match="mine"):
            await loader.fetch_next_request()
    await loader.close()
    assert calls == 3


async def test_unretrieved_failure_is_logged(site: SiteServer, caplog: Any) -> None:
    def broken(reported: object) -> None:
        raise ZeroDivisionError("mine")

    async with SitemapReaderLoader(site.url, on_item=broken, **LOCAL) as loader:
        for _ in range(500):
            if not await loader.is_empty():
                break
            await asyncio.sleep(0.01)
    assert "the reading ended before its time" in caplog.text
    assert "ZeroDivisionError: mine" in caplog.text


def test_documents_that_crawlees_own_loader_misses(site: SiteServer) -> None:
    """The same documents through both loaders: damaged documents are read, and nothing is guessed."""
    one = site.url
    bodies = {
        "/amp.xml": xml(urlset(f"{one}/before", f"{one}/?a=1&b=2", f"{one}/behind")),
        "/plain.txt": (200, {"Content-Type": "application/octet-stream"}, f"{one}/text\n".encode()),
        "/feed.rss": (200, {"Content-Type": "application/rss+xml"}, feed(f"{one}/feed")),
        "/utf16.xml": xml(urlset(f"{one}/wide").decode().encode("utf-16")),
        "/cut.xml": xml(urlset(f"{one}/whole", f"{one}/cut")[:-12]),
    }
    site.pages = {**bodies, "/robots.txt": (200, {}, robots(*(one + path for path in bodies)))}
    expected = {"before", "?a=1&b=2", "behind", "text", "feed", "wide", "whole", "cut"}

    async def theirs() -> set[str]:
        found = set()
        loader = SitemapRequestLoader([f"{one}{path}" for path in bodies], ImpitHttpClient())
        while (request := await loader.fetch_next_request()) is not None:
            found.add(request.url)
            await loader.mark_request_as_handled(request)
        await loader.close()
        return found

    ours = SitemapReaderLoader(one, **LOCAL)
    assert set(run(urls_of(ours))) == {f"{one}/{name}" for name in expected}
    assert ours.problems.counts["S01"] == 1 + 1  # the ampersand, and the end
    missed = {f"{one}/{name}" for name in expected} - asyncio.run(theirs())
    assert {f"{one}/{name}" for name in ("?a=1&b=2", "behind", "feed", "wide")} <= missed


@pytest.mark.parametrize(("options", "reported"), [
    ({"targets": []}, "no target"),
    ({"targets": "no such name"}, "there is no file or folder"),
    ({"targets": ["example.com", 3]}, "not 3"),
    ({"since": "soon"}, "since"),
    ({"undated": "perhaps"}, "undated"),
    ({"include": "("}, "include"),
    ({"follow": 3}, "follow"),
    ({"scope": "wide"}, "scope"),
    ({"max_buffer_size": 0}, "max_buffer_size"),
    ({"persist_state_key": ""}, "persist_state_key"),
    ({"state": 3}, "state"),
    ({"state": ""}, "state"),
    ({"state": "s.db", "since": "7d"}, "since cannot be combined with a state"),
    ({"state": "s.db", "until": "7d", "undated": "drop"}, "until, undated cannot be combined"),
    ({"state": "s.db", "trust_lastmod": "often"}, "trust_lastmod"),
    ({"state": "s.db", "on": "tuesdays"}, "on is one of any, lastmod"),
    ({"state": "s.db", "persist_state_key": "sitemaps"}, "persist_state_key cannot be combined with a state"),
    ({"full": True}, r"no keyword full; its changes\(\) takes it"),
    ({"on_removed": print}, "on_removed"),
    ({"reader": sr.SitemapReader(), "scope": "any"}, "scope: of a reader of your own"),
])
def test_wrong_values_raise_at_once(options: dict[str, Any], reported: str, tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match=reported):
        SitemapReaderLoader(options.pop("targets", "example.com"), **options)
    assert not (tmp_path / "s.db").exists()
    assert not Path("s.db").exists()


def test_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="colour"):
        SitemapReaderLoader("example.com", colour="red")  # type: ignore[call-arg]


# --- the end of a loader ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"state": "state.db"}], ids=["plain", "state"])
async def test_leaving_early_ends_all_that_is_open(site: SiteServer, tmp_path: Path, options: dict[str, Any]) -> None:
    site.pages = pages_of(site.url, 40, 200)
    options = {name: tmp_path / value for name, value in options.items()}
    before = asyncio.all_tasks()
    async with SitemapReaderLoader(site.url, max_buffer_size=5, **options, **LOCAL) as loader:
        assert await loader.fetch_next_request() is not None
        await loader.start()
        assert asyncio.all_tasks() > before
    await loader.close()
    await loader.start()  # which starts nothing
    assert asyncio.all_tasks() == before
    assert not our_threads()
    await asyncio.sleep(0.5)  # the server may have unprocessed requests from before
    requested = len(site.requests())
    assert requested < 40
    await asyncio.sleep(0.2)
    assert len(site.requests()) == requested
    assert loader.summary.missing() == "stopped before its end"
    assert not loader.complete


async def test_a_loader_that_is_closed_before_it_begins_reads_nothing(site: SiteServer) -> None:
    loader = SitemapReaderLoader(site.url, **LOCAL)
    await loader.close()
    await loader.start()
    assert await loader.fetch_next_request() is None
    assert not site.requests()


@pytest.mark.parametrize("how_far", ["begun", "through"])
async def test_closed_loader_is_not_saved_any_more(site: SiteServer, how_far: str) -> None:
    async with SitemapReaderLoader(site.url, max_buffer_size=1, persist_state_key=KEY, **LOCAL) as loader:
        while (request := await loader.fetch_next_request()) is not None and how_far == "through":
            await loader.mark_request_as_handled(request)
        assert _listeners(service_locator.get_event_manager())
    assert not _listeners(service_locator.get_event_manager())


def _listeners(events: Any) -> int:
    return len(events._listeners_to_wrappers.get(Event.PERSIST_STATE, {}))


def test_end_of_the_loop_ends_the_reading(site: SiteServer) -> None:
    site.pages = pages_of(site.url, 40, 50)

    async def main() -> SitemapReaderLoader:
        loader = SitemapReaderLoader(site.url, max_buffer_size=5, **LOCAL)
        assert await loader.fetch_next_request() is not None
        return loader

    loader = asyncio.run(main())
    assert not our_threads()
    del loader
    gc.collect()


async def test_a_reader_of_the_callers_own_stays_open(site: SiteServer) -> None:
    async with sr.SitemapReader(**LOCAL) as reader:
        assert len(await urls_of(SitemapReaderLoader(site.url, reader=reader))) == 20
        async with reader.urls(site.url) as urls:
            assert len([url async for url in urls]) == 20


# --- persistence ------------------------------------------------------------------------------------------


def test_another_process_continues_where_the_last_one_ended(site: SiteServer, tmp_path: Path) -> None:
    site.pages = pages_of(site.url, 6, 10)
    handled: list[str] = []

    async def some(count: int) -> tuple[str, SitemapReaderLoader]:
        loader = SitemapReaderLoader(site.url, max_buffer_size=4, persist_state_key=KEY, **LOCAL)
        async with loader:
            for _ in range(count):
                request = await loader.fetch_next_request()
                handled.append(request.url)
                await loader.mark_request_as_handled(request)
            request = await loader.fetch_next_request()
            return request.url, loader

    for count in (25, 20):
        pending, _ = run(some(count))
        fresh(tmp_path / "storage")
        again, _ = run(some(0))
        assert again == pending, "what was in progress comes first"
        fresh(tmp_path / "storage")
    before = sitemap_requests(site)
    loader = SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL)
    handled += run(urls_of(loader))
    assert Counter(handled) == Counter(site_urls(site, 6, 10))
    assert loader.summary.not_modified >= 1, "sitemaps that were given whole: how many depends on the order of threads"
    requested = sitemap_requests(site) - before
    assert sum(requested.values()) == 1 + 6 - loader.summary.not_modified
    assert run(loader.get_total_count()) == run(loader.get_handled_count()) == 60

    fresh(tmp_path / "storage")
    requests = len(site.requests())
    done = SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL)
    assert run(urls_of(done)) == []
    assert len(site.requests()) == requests, "what is through is not read again"


async def test_persisted_state_is_written_like_that_of_crawlee(site: SiteServer) -> None:
    await urls_of(SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL))
    kept = dict(await (await KeyValueStore.open()).get_value(KEY))
    assert {name: kept[name] for name in ("requestQueue", "inProgress", "totalCount", "handledCount")} == {
        "requestQueue": [], "inProgress": {}, "totalCount": 20, "handledCount": 20
    }  # fmt: skip
    assert kept["readingCompleted"] is True
    assert kept["documentsGiven"] == {f"{site.url}/map-{number}.xml": "urlset" for number in range(4)}


def test_a_sitemap_that_was_read_in_part_is_read_again(site: SiteServer, tmp_path: Path) -> None:
    whole = site.pages["/map-0.xml"]
    site.pages["/map-0.xml"] = (200, {**whole[1], "Content-Length": "9999", "Connection": "close"}, whole[2][:200])
    site.pages["/map-1.xml"] = (404, {}, b"")

    async def first() -> list[str]:
        found = []
        async with SitemapReaderLoader(
            site.url, persist_state_key=KEY, limits=sr.Limits(tries=1), max_buffer_size=3, **LOCAL
        ) as loader:
            while len(found) < 8:
                request = await loader.fetch_next_request()
                found.append(request.url)
                await loader.mark_request_as_handled(request)
        return found

    found = run(first())
    fresh(tmp_path / "storage")
    site.pages["/map-0.xml"] = whole
    site.pages["/map-1.xml"] = pages_of(site.url, 2, 5)["/map-1.xml"]
    found += run(urls_of(SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL)))
    assert Counter(found) == Counter(site_urls(site))


def test_sitemap_waiting_for_verification_is_read_again(site: SiteServer, tmp_path: Path) -> None:
    """Another host may still verify it, and then all its URLs count: its first outcome is not final."""
    listed = [f"{site.url}/a", f"{site.url}/b", "https://other.example/c"]
    options: dict[str, Any] = {"persist_state_key": KEY, "per_host": 1, **LOCAL}
    site.pages = {
        "/robots.txt": (200, {}, robots(f"{site.url}/map.xml", f"{site.url}/index.xml")),
        "/map.xml": xml(urlset(*listed)),
        "/index.xml": xml(index(f"{site.url}/many.xml")),
        "/many.xml": xml(urlset(*(f"{site.url}/many-{number}" for number in range(20_000)))),
    }

    async def main() -> SitemapReaderLoader:
        async with SitemapReaderLoader(site.url, **options) as loader:
            for _ in range(1_000):
                request = await loader.fetch_next_request()
                assert request is not None
                await loader.mark_request_as_handled(request)
        return loader

    loader = run(main())
    assert f"{site.url}/map.xml" in {outcome.url for outcome in loader.outcomes}
    fresh(tmp_path / "storage")
    before = sitemap_requests(site)
    assert len(run(urls_of(SitemapReaderLoader(site.url, **options)))) == 20_002 - 1_000
    assert sitemap_requests(site)["/map.xml"] == before["/map.xml"] + 1


def test_url_at_which_a_callback_failed_comes_after_a_restart(site: SiteServer, tmp_path: Path) -> None:
    def broken(options: RequestOptions) -> Any:
        return "unchanged" if options["url"].endswith(("-0", "-1")) else 1 / 0

    handled: list[str] = []

    async def first() -> None:
        async with SitemapReaderLoader(
            site.url, persist_state_key=KEY, transform_request_function=broken, **LOCAL
        ) as loader:
            await soon(lambda: loader._failure is not None)
            for _ in range(await loader.get_total_count()):
                request = await loader.fetch_next_request()
                handled.append(request.url)
                await loader.mark_request_as_handled(request)
            with pytest.raises(ZeroDivisionError):
                await loader.fetch_next_request()
            await persist()

    run(first())
    fresh(tmp_path / "storage")
    handled += run(urls_of(SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL)))
    assert {*handled} == site_urls(site)


def test_a_persisted_state_is_of_the_same_settings(site: SiteServer, tmp_path: Path) -> None:
    async def leave_early() -> None:
        async with SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL) as loader:
            await loader.fetch_next_request()

    run(leave_early())
    fresh(tmp_path / "storage")
    other = SitemapReaderLoader(site.url, include="-1$", persist_state_key=KEY, **LOCAL)
    reported = r"'sitemaps' has the state of .* include none before, but with include -1\$ now"
    for _ in range(2):
        with pytest.raises(sr.UsageError, match=reported):
            run(other.fetch_next_request())
        fresh(tmp_path / "storage")
    same = SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL)
    assert set(run(urls_of(same))) == site_urls(site)
    fresh(tmp_path / "storage")
    other = SitemapReaderLoader(site.url, include="-1$", persist_state_key=KEY, **LOCAL)
    assert len(run(urls_of(other))) == 4, "finished sites do not block others"


@pytest.mark.parametrize("value", [{"requestQueue": 3}, {"givenMarks": "AAAA"}, ["other"]])
async def test_a_key_of_something_else_is_refused(site: SiteServer, value: Any) -> None:
    await (await KeyValueStore.open()).set_value(KEY, value)
    with pytest.raises(sr.UsageError, match="'sitemaps' in the key-value store is not the state"):
        await SitemapReaderLoader(site.url, persist_state_key=KEY, **LOCAL).fetch_next_request()
    assert not site.requests()


# --- changes --------------------------------------------------------------------------------------------------


def test_with_a_state_only_changes_are_returned(site: SiteServer, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    entries = [(f"{site.url}/{name}", "2026-01-01") for name in ("same", "moves", "goes")]
    site.pages = {"/one.xml": xml(urlset(*entries))}
    removed: list[sr.UrlRecord] = []

    def loader() -> SitemapReaderLoader:
        return SitemapReaderLoader(f"{site.url}/one.xml", state=state, on_removed=removed.append, **LOCAL)

    first = run(all_of(loader()))
    assert [request.url for request in first] == [loc for loc, _ in entries]
    assert first[0].user_data["sitemap_change"] == {"change": "new"}
    assert run(all_of(loader())) == []

    entries = [entries[0], (entries[1][0], "2026-02-02"), f"{site.url}/comes"]
    site.pages = {"/one.xml": xml(urlset(*entries))}
    last = loader()
    changes = {request.url[len(site.url) :]: request for request in run(all_of(last))}
    assert changes.keys() == {"/moves", "/comes"}
    assert changes["/moves"].user_data["sitemap_change"] == {
        "change": "updated", "changed": ["lastmod"], "previous_lastmod": "2026-01-01T00:00:00Z",
        "previous_lastmod_precision": "day",
    }
    record = record_of(changes["/moves"])
    assert record.lastmod_precision == "day"
    assert [record.loc for record in removed] == [f"{site.url}/goes"]
    assert last.removed == 1
    assert last.counts == sr.ChangeCounts(new=1, updated=1, removed=1)


def test_counts_are_those_of_all_targets(site: SiteServer, site_server: Serve, tmp_path: Path) -> None:
    other = site_server({})
    other.pages = pages_of(other.url, 1, 3)
    loader = SitemapReaderLoader([site.url, other.url], state=tmp_path / "state.db", **LOCAL)
    run(all_of(loader))
    assert loader.counts == sr.ChangeCounts(new=23)
    assert SitemapReaderLoader(site.url).counts == sr.ChangeCounts()


def test_misspelt_keyword_is_named_with_the_right_one() -> None:
    wrong: dict[str, Any] = {"exlude": "/private/"}
    with pytest.raises(sr.UsageError, match=r"SitemapReaderLoader\(\) has no keyword exlude; did you mean exclude"):
        SitemapReaderLoader("a.example", **wrong)


def test_an_updated_url_is_crawled_again_though_the_queue_has_handled_it(site: SiteServer, tmp_path: Path) -> None:
    site.pages = {"/one.xml": xml(urlset((f"{site.url}/a", "2026-01-01"), f"{site.url}/b"))}

    async def once() -> list[str]:
        loader = SitemapReaderLoader(f"{site.url}/one.xml", state=tmp_path / "state.db", **LOCAL)
        return [request.url for request in await crawl(loader, await RequestQueue.open(name="all"))]

    assert sorted(run(once())) == [f"{site.url}/a", f"{site.url}/b"]
    for day in (2, 3):
        fresh(tmp_path / "storage")
        site.pages = {"/one.xml": xml(urlset((f"{site.url}/a", f"2026-01-0{day}"), f"{site.url}/b"))}
        assert run(once()) == [f"{site.url}/a"]


def test_changes_that_were_not_delivered_come_again(site: SiteServer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"state": tmp_path / "state.db", "max_buffer_size": 2, **LOCAL}
    found: list[str] = []

    async def first() -> None:
        async with SitemapReaderLoader(site.url, **options) as loader:
            for _ in range(8):
                request = await loader.fetch_next_request()
                found.append(request.url)
                await loader.mark_request_as_handled(request)

    run(first())
    found += run(urls_of(SitemapReaderLoader(site.url, **options)))
    assert set(found) == site_urls(site)
    assert len(found) < 20 + 10, "documents that were delivered whole do not"


@pytest.mark.parametrize("text", ["no database", ""])
def test_invalid_state_raises_at_the_first_request(site: SiteServer, tmp_path: Path, text: str) -> None:
    state = tmp_path / "state.db"
    state.write_text(text * 100)
    if not text:
        state.unlink()
        state.mkdir()
    with pytest.raises(sr.StateError, match=re.escape(str(state))):
        run(urls_of(SitemapReaderLoader(site.url, state=state, **LOCAL)))


def test_exception_in_on_removed_keeps_the_removal_for_the_next_run(site: SiteServer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"state": tmp_path / "state.db", **LOCAL}
    target = f"{site.url}/one.xml"
    site.pages = {"/one.xml": xml(urlset(f"{site.url}/a", f"{site.url}/b"))}
    run(urls_of(SitemapReaderLoader(target, **options)))
    site.pages = {"/one.xml": xml(urlset(f"{site.url}/a"))}
    with pytest.raises(ZeroDivisionError):
        run(urls_of(SitemapReaderLoader(target, on_removed=lambda record: 1 / 0, **options)))
    removed: list[sr.UrlRecord] = []
    run(urls_of(SitemapReaderLoader(target, on_removed=removed.append, **options)))
    assert [record.loc for record in removed] == [f"{site.url}/b"]


async def test_many_requests_can_be_fetched_before_any_is_handled(site: SiteServer, tmp_path: Path) -> None:
    """Changes count as delivered once they are handled; fetching more does not wait for that forever."""
    async with SitemapReaderLoader(site.url, state=tmp_path / "state.db", **LOCAL) as loader:
        requests = [await loader.fetch_next_request() for _ in range(20)]
        for request in requests:
            assert request is not None
            await loader.mark_request_as_handled(request)
        assert await loader.fetch_next_request() is None


# --- kill -9 --------------------------------------------------------------------------------------------------


def many(folder: Path, urls: int) -> str:
    """A recorded site of so many URLs."""
    body = urlset(*(f"https://many.example/{number}" for number in range(urls)))
    seed = 'seeds = ["https://many.example/map.xml"]'
    return f"{files(folder, {'https/many.example/map.xml': body, 'site.toml': seed})}/"


def killed(target: str, work: Path, mode: str, after: int) -> tuple[list[str], bool]:
    """Runs the program, and kills it after so many lines; the handled URLs, and whether it ended by itself."""
    command = [sys.executable, str(PROGRAM), target, str(work), mode]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if len(lines) == after:
                os.kill(process.pid, signal.SIGKILL)
        error = process.stderr.read()
    assert process.returncode in (0, -signal.SIGKILL), error
    return lines, process.returncode == 0


def test_after_a_kill_all_unhandled_urls_come_and_no_handled_one(site: SiteServer, tmp_path: Path) -> None:
    site.pages = pages_of(site.url, 8, 25)
    safe: set[str] = set()
    handled: set[str] = set()
    for after in (17, 40, 61, 1_000):
        lines, ended = killed(site.url, tmp_path / "work", "key", after)
        assert safe.isdisjoint(lines), "handled before it was last kept"
        assert len(lines) == len({*lines} - {"kept"}) + lines.count("kept")
        handled |= {*lines} - {"kept"}
        if "kept" in lines:
            last = len(lines) - lines[::-1].index("kept")
            safe |= {*lines[:last]} - {"kept"}
    assert ended
    assert handled == site_urls(site, 8, 25)


@pytest.mark.parametrize("mode", ["state", "tandem"])
def test_after_a_kill_all_unhandled_changes_come(site: SiteServer, tmp_path: Path, mode: str) -> None:
    site.pages = pages_of(site.url, 8, 25)
    handled: set[str] = set()
    for after in (23, 50, 1_000):
        lines, ended = killed(site.url, tmp_path / "work", mode, after)
        assert len(lines) == len({*lines})
        handled |= {*lines}
    assert ended
    assert handled == site_urls(site, 8, 25)
    assert killed(site.url, tmp_path / "work", mode, 1_000) == ([], True)


def test_a_change_is_not_delivered_before_it_is_handled(
    site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long that takes: a change counts as delivered only if a consumer waits for another one meanwhile."""
    monkeypatch.setattr(loader_module, "_DELIVERY_SECONDS", 0.01)
    site.pages = pages_of(site.url, 1, 1)
    state = tmp_path / "state.db"

    async def take(*, handle: bool) -> None:
        async with SitemapReaderLoader(site.url, state=state, **LOCAL) as loader:
            request = await loader.fetch_next_request()
            assert request is not None
            if handle:
                await loader.mark_request_as_handled(request)
            await asyncio.sleep(0.3)

    run(take(handle=False))
    run(take(handle=True))
    assert run(urls_of(SitemapReaderLoader(site.url, state=state, **LOCAL))) == []


def test_many_urls_are_returned_in_constant_memory(tmp_path: Path) -> None:
    """The memory of the process without the hashes of URLs, 16 bytes each."""
    sizes = []
    for urls in (5_000, 25_000):
        command = [sys.executable, str(PROGRAM), many(tmp_path / str(urls), urls), str(tmp_path / "work"), "count"]
        result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert result["urls"] == urls
        sizes.append(result["kib"])
    assert sizes[1] - sizes[0] < 12 * 1024


def test_reading_time_is_linear_in_the_urls(tmp_path: Path) -> None:
    """Bookkeeping is not quadratic: twice as many URLs take twice as long, not four times."""
    seconds = []
    for urls in (4_000, 16_000):
        target = many(tmp_path / str(urls), urls)
        started = time.process_time()
        assert len(run(urls_of(SitemapReaderLoader(target)))) == urls
        seconds.append(time.process_time() - started)
    assert seconds[1] < seconds[0] * 10


# --- logins ---


def test_a_login_goes_to_the_site_alone_and_is_never_kept(site_server: Serve, tmp_path: Path, caplog: Any) -> None:
    site, other = site_server({}), site_server({})
    other.pages["/map.xml"] = xml(urlset(f"{other.url}/page"))
    site.pages |= {
        "/robots.txt": (200, {}, robots(f"{other.url}/map.xml", "/moved.xml", "/all.xml")),
        "/moved.xml": (302, {"Location": f"{other.url}/map.xml?moved"}, b""),
        "/all.xml": xml(index(f"{other.url}/map.xml?child")),
    }
    login = site.url.replace("://", "://me:s3cret@")
    options: dict[str, Any] = {**LOCAL, "headers": {"X-Key": "s3cret"}, "scope": "any", "persist_state_key": KEY}
    with caplog.at_level(logging.DEBUG):
        loader = SitemapReaderLoader([login, f"{login}/none.xml"], **options)
        assert run(urls_of(loader)) == [f"{other.url}/page"]
    requested = {(each.headers.get("authorization"), each.headers.get("x-key")) for each in site.received}
    assert requested == {("Basic bWU6czNjcmV0", "s3cret")}
    assert {"/robots.txt", "/map.xml", "/map.xml?moved", "/map.xml?child"} <= {*other.requests()}
    assert not any({"authorization", "x-key"} & each.headers.keys() for each in other.received)
    with pytest.raises(sr.PartialRead) as caught:
        loader.raise_for_partial()
    kept = [file.read_text() for file in (tmp_path / "storage").rglob("*") if file.is_file()]
    assert any(f"{site.url}" in text for text in kept)
    shown = [caplog.text, str(caught.value), repr(loader), *map(str, loader.verdicts), *kept]
    assert not [text for text in shown if "s3cret" in text or "bWU6czNjcmV0" in text]
