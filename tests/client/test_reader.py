"""SitemapReader and sr.urls over HTTP on loopback: whole sites, early ends, faults, and usage errors."""

from __future__ import annotations

import asyncio
import gc
import gzip
import re
import threading
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from servers import free_port

import sitemap_reader as sr

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from servers import Page, SiteServer

    Serve = Callable[[Mapping[str, Page]], SiteServer]

XML = {"Content-Type": "application/xml"}
WAIT_SECONDS = 10.0


def urlset(*locs: str, lastmod: str | None = None) -> bytes:
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    entries = "".join(f"<url><loc>{loc}</loc>{date}</url>\n" for loc in locs)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>'.encode()


def index(*children: str, lastmod: str | None = None) -> bytes:
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    entries = "".join(f"<sitemap><loc>{child}</loc>{date}</sitemap>\n" for child in children)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</sitemapindex>'.encode()


def robots(*lines: str) -> Page:
    return 200, {"Content-Type": "text/plain"}, "\n".join(("User-agent: *", "Allow: /", *lines, "")).encode()


def xml(body: bytes) -> Page:
    return 200, XML, body


def cut(body: bytes) -> Page:
    """A truncated response: Content-Length is larger."""
    return 200, {**XML, "Content-Length": str(len(body) + 100), "Connection": "close"}, body


class Script(dict[str, Any]):
    """Changing pages of a server: responses of a list are sent in turn; an Event delays a response until it is set."""

    def get(self, path: str, default: Any = None) -> Any:
        page = super().get(path, default)
        if isinstance(page, list):
            page = page.pop(0) if len(page) > 1 else page[0]
        if isinstance(page[0], threading.Event):
            page[0].wait(WAIT_SECONDS)
            page = page[1]
        return page


@pytest.fixture
def site(site_server: Serve) -> SiteServer:
    """A server without pages, which the tests add as they need its port."""
    server = site_server({})
    server.pages = Script()
    return server


def all_threads_end(before: set[threading.Thread]) -> bool:
    """Waits for the threads of the server, one a connection, which end when the client closes."""
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        if set(threading.enumerate()) <= before:
            return True
        time.sleep(0.01)
    return False


def small_site(site: SiteServer, *, children: int = 3) -> list[str]:
    """Adds an index with `children` of two URLs each; the URLs."""
    paths = [f"/{number}.xml" for number in range(children)]
    site.pages["/robots.txt"] = robots(f"Sitemap: {site.url}/index.xml")
    site.pages["/index.xml"] = xml(index(*(site.url + path for path in paths)))
    locs = []
    for path in paths:
        here = [f"{site.url}{path[:-4]}/{page}" for page in (1, 2)]
        site.pages[path] = xml(urlset(*here))
        locs += here
    return locs


# --- whole sites ----------------------------------------------------------------------------------------------


def varied_site(site: SiteServer) -> set[str]:
    """Adds a site with every way to list a URL; the URLs."""
    at = site.url
    rss = f'<rss version="2.0"><channel><link>{at}/</link><item><link>{at}/rss/1</link></item></channel></rss>'
    atom = (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>a</title><link href="{at}/atom/1"/>'
        "<updated>2026-01-01T00:00:00Z</updated></entry></feed>"
    )
    site.pages.update(
        {
            "/robots.txt": robots(f"SITEMAP : {at}/top.xml", "Sitemap: maps/relative.txt"),
            "/top.xml": xml(index(f"{at}/nested.xml", f"{at}/list.txt.gz", f"{at}/feed.rss", f"{at}/feed.atom")),
            "/nested.xml": xml(index(f"{at}/top.xml", f"{at}/packed.xml.gz", f"{at}/plain.xml")),
            "/packed.xml.gz": (200, {"Content-Type": "application/gzip"}, gzip.compress(urlset(f"{at}/packed/1"))),
            "/plain.xml": (
                200,
                {**XML, "Content-Encoding": "gzip"},
                gzip.compress(urlset(f"{at}/plain/1", f"{at}/plain/2")),
            ),
            "/maps/relative.txt": (200, {"Content-Type": "text/plain"}, f"{at}/text/1\r\n{at}/text/2\r\n".encode()),
            "/list.txt.gz": (200, {"Content-Type": "image/png"}, gzip.compress(f"{at}/list/1\n".encode())),
            "/feed.rss": (200, {"Content-Type": "application/rss+xml"}, rss.encode()),
            "/feed.atom": (200, {"Content-Type": "application/atom+xml"}, atom.encode()),
        }
    )
    paths = "packed/1 plain/1 plain/2 text/1 text/2 list/1 rss/1 atom/1"
    return {f"{at}/{path}" for path in paths.split()}


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_encodings_that_come_unasked_are_read(site: SiteServer, coding: str) -> None:
    packed = {"br": pytest.importorskip("brotli").compress, "zstd": pytest.importorskip("backports.zstd").compress}
    body = packed[coding](urlset(*(f"{site.url}/{n}" for n in range(2_000))))
    encoding = {**XML, "Content-Encoding": coding}
    site.pages.update(
        {
            "/robots.txt": (200, encoding, packed[coding](f"Sitemap: {site.url}/a.xml".encode())),
            "/a.xml": (200, encoding, body),
        }
    )
    with sr.urls(site.url, allow_private=True) as urls:
        assert len([*urls]) == 2_000
    assert urls.complete


def test_varied_site_is_read_completely_with_one_request_each(site: SiteServer) -> None:
    expected = varied_site(site)
    with sr.urls(site.url, allow_private=True) as urls:
        found = [url.loc for url in urls]
    assert Counter(found) == Counter(expected)
    assert urls.complete
    assert Counter(site.requests()) == Counter(list(site.pages))
    assert {outcome.url: outcome.format for outcome in urls.outcomes} == {
        f"{site.url}{path}": format_
        for path, format_ in {
            "/robots.txt": "robots",
            "/top.xml": "sitemapindex",
            "/nested.xml": "sitemapindex",
            "/packed.xml.gz": "urlset",
            "/plain.xml": "urlset",
            "/maps/relative.txt": "text",
            "/list.txt.gz": "text",
            "/feed.rss": "rss",
            "/feed.atom": "atom",
        }.items()
    }
    assert {"S05", "F12", "F06"} <= set(urls.problems.counts)


def test_the_first_record_comes_before_the_last_child_is_fetched(site: SiteServer) -> None:
    small_site(site)
    seen = threading.Event()
    site.pages["/2.xml"] = (seen, site.pages["/2.xml"])  # type: ignore[assignment]
    found = []
    with sr.urls(site.url, allow_private=True) as urls:
        for url in urls:
            found.append(url.loc)
            if len(found) == 4:
                assert not any(outcome.url == f"{site.url}/2.xml" for outcome in urls.outcomes)
                seen.set()
    assert len(found) == 6


@pytest.mark.slow
def test_records_of_a_document_come_before_its_end(site: SiteServer) -> None:
    """The transfer breaks off: received records are returned."""
    locs = [f"{site.url}/{number}" for number in range(3000)]
    site.pages["/map.xml"] = cut(urlset(*locs)[:-400])
    with sr.urls(f"{site.url}/map.xml", allow_private=True) as urls:
        found = [url.loc for url in urls]
    assert found == locs[: len(found)]
    assert 2950 < len(found) < 3000
    (outcome,) = [outcome for outcome in urls.outcomes if outcome.format != "robots"]
    assert (outcome.complete, outcome.kept, outcome.format) == (False, len(found), "urlset")
    assert outcome.problems["F04"] == 1
    assert not urls.complete
    assert site.requests().count("/map.xml") == sr.Limits().tries
    with pytest.raises(sr.PartialRead, match="1 sitemap could be read in part only"):
        urls.raise_for_partial()


@pytest.mark.smoke("first2")
@pytest.mark.slow
@pytest.mark.parametrize(
    "first", [(503, {}, b""), cut(b""), cut(b'<?xml version="1.0"?><urlset'), cut(urlset("http://x")[:90])]
)
def test_a_retry_before_any_entry_gives_each_record_once(site: SiteServer, first: Page) -> None:
    locs = [f"{site.url}/{number}" for number in range(3)]
    site.pages["/map.xml"] = [first, xml(urlset(*locs))]  # type: ignore[assignment]
    with sr.urls(f"{site.url}/map.xml", allow_private=True) as urls:
        assert [url.loc for url in urls] == locs
    assert urls.complete
    assert not urls.problems.counts
    assert site.requests().count("/map.xml") == 2


# --- the async reader -----------------------------------------------------------------------------------------


def test_follow_selects_sitemaps(site: SiteServer) -> None:
    small_site(site)

    async def main() -> tuple[list[str], sr.AsyncStream[sr.UrlRecord]]:
        async with (
            sr.SitemapReader(user_agent="bot/1.0", scope="protocol", limits=sr.Limits(), allow_private=True) as reader,
            reader.urls(site.url, follow=lambda ref: "1" in urlsplit(ref.loc).path) as urls,
        ):
            return [url.loc async for url in urls], urls

    found, urls = asyncio.run(main())
    assert found == [f"{site.url}/1/1", f"{site.url}/1/2"]
    assert urls.complete
    assert urls.summary.pruned == {"follow": 2}
    assert site.requests() == ["/robots.txt", "/index.xml", "/1.xml"]
    assert {request.headers["user-agent"] for request in site.received} == {"bot/1.0"}


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({"follow": "[12].xml$"}, ["/1.xml", "/2.xml"]),
        ({"follow": ["/0.xml", re.compile("/2.XML", re.IGNORECASE)]}, ["/0.xml", "/2.xml"]),
        ({"no_follow": "/1.xml"}, ["/0.xml", "/2.xml"]),
        ({"follow": "[12].xml", "no_follow": "/1.xml"}, ["/2.xml"]),
        ({"follow": lambda ref: "0" not in urlsplit(ref.loc).path, "no_follow": "/1.xml"}, ["/2.xml"]),
    ],
)
def test_patterns_choose_among_the_children_of_an_index(
    site: SiteServer, options: dict[str, Any], read: list[str]
) -> None:
    small_site(site)
    with sr.urls(site.url, allow_private=True, **options) as urls:
        found = [url.loc for url in urls]
    assert sorted(site.requests()) == sorted([*read, "/index.xml", "/robots.txt"])
    assert len(found) == 2 * len(read)
    assert urls.complete
    assert sum(urls.summary.pruned.values()) == 3 - len(read)


def test_no_follow_applies_to_sitemaps_of_robots_txt(site: SiteServer) -> None:
    site.pages["/robots.txt"] = robots(f"Sitemap: {site.url}/pages.xml", f"Sitemap: {site.url}/video.xml")
    site.pages["/pages.xml"] = xml(urlset(f"{site.url}/1"))
    with sr.urls(site.url, allow_private=True, no_follow="video") as urls:
        assert [url.loc for url in urls] == [f"{site.url}/1"]
    assert site.requests() == ["/robots.txt", "/pages.xml"]
    assert urls.summary.pruned == {"no-follow": 1}
    site.received.clear()
    with sr.urls(site.url, allow_private=True, no_follow="xml") as urls:
        assert list(urls) == []
    assert site.requests() == ["/robots.txt"], "it has sitemaps: there is nothing to guess"
    assert urls.summary.pruned == {"no-follow": 2}
    assert urls.complete


def test_patterns_choose_urls_and_are_counted_in_the_outcome(site: SiteServer) -> None:
    small_site(site)
    with sr.urls(site.url, allow_private=True, include="/1$", exclude=["/2/"]) as urls:
        assert sorted(url.loc for url in urls) == [f"{site.url}/0/1", f"{site.url}/1/1"]
    assert urls.complete
    assert urls.summary.unwanted == {"pattern": 4}
    dropped = {urlsplit(each.url or "").path: (each.kept, each.dropped) for each in urls.outcomes}
    assert dropped["/0.xml"] == (1, {"pattern": 1})
    assert dropped["/2.xml"] == (0, {"pattern": 2})
    assert "4 outside the patterns" in str(urls.summary)


def test_unique_gives_each_url_once_also_over_several_streams(site: SiteServer) -> None:
    site.pages["/robots.txt"] = robots(f"Sitemap: {site.url}/a.xml")
    site.pages["/a.xml"] = xml(urlset(f"{site.url}/1", f"{site.url}/2", f"{site.url}/1"))
    seen = sr.UrlSet()
    with sr.urls(site.url, allow_private=True, unique=seen) as urls:
        assert [url.loc for url in urls] == [f"{site.url}/1", f"{site.url}/2"]
    assert (urls.summary.urls, urls.summary.repeated, urls.progress.urls) == (2, 1, 2)
    assert "1 listed again" in str(urls.summary)
    with sr.urls(site.url, allow_private=True, unique=seen) as urls:
        assert list(urls) == []
    assert urls.summary.repeated == 3
    with sr.urls(site.url, allow_private=True) as urls:
        assert len(list(urls)) == 3


def test_since_takes_an_age(site: SiteServer) -> None:
    now = datetime.now(UTC)
    young, old = ((now - timedelta(days=days)).isoformat() for days in (2, 20))
    site.pages["/robots.txt"] = robots(f"Sitemap: {site.url}/new.xml", f"Sitemap: {site.url}/index.xml")
    site.pages["/new.xml"] = xml(
        urlset(f"{site.url}/young", lastmod=young).replace(
            b"</urlset>", urlset(f"{site.url}/old", lastmod=old).partition(b"\n")[2]
        )
    )
    site.pages["/index.xml"] = xml(index(f"{site.url}/pruned.xml", lastmod=old))
    with sr.urls(site.url, since="7d", trust_lastmod="always", allow_private=True) as urls:
        assert [url.loc for url in urls] == [f"{site.url}/young"]
    assert "/pruned.xml" not in site.requests()
    assert (urls.summary.unwanted, urls.summary.pruned, urls.summary.dropped) == ({"date": 1}, {"since": 1}, {})
    assert "; 1 sitemap skipped: index lastmod before " in str(urls.summary)
    assert "Z, not checked; " in str(urls.summary)
    assert urls.complete
    with sr.urls(site.url, until=timedelta(days=7), allow_private=True) as urls:
        assert [url.loc for url in urls] == [f"{site.url}/old"]


def test_since_reads_three_children_before_it_skips_any(site: SiteServer) -> None:
    children = [f"{site.url}/{number}.xml" for number in range(9)]
    site.pages["/index.xml"] = xml(index(*children, lastmod="2026-01-05"))
    for child in children:
        site.pages[child.removeprefix(site.url)] = xml(urlset(child[:-4], lastmod="2026-01-05"))
    requested = f"{site.url}/index.xml"
    with sr.urls(requested, since="2026-11-01", allow_private=True) as urls:
        assert not list(urls)
    assert (urls.summary.pruned, urls.summary.checked, urls.complete) == ({"since": 6}, 3, True)
    assert "; 6 sitemaps skipped: index lastmod before 2026-11-01, 3 others checked; " in str(urls.summary)
    both = urls.summary + urls.summary
    assert "; 12 sitemaps skipped: index lastmod before 2026-11-01, 6 others checked; " in str(both)
    site.pages["/8.xml"] = xml(urlset(f"{site.url}/new", lastmod="2026-11-05"))
    with sr.urls(requested, since="2026-11-01", allow_private=True) as urls:
        assert [url.loc for url in urls] == [f"{site.url}/new"]
    assert (urls.summary.pruned, urls.problems.counts) == ({}, {"D05": 1})
    site.pages["/8.xml"] = xml(urlset(f"{site.url}/new"))
    for undated, given in (("keep", 1), ("drop", 0)):
        with sr.urls(requested, since="2026-11-01", undated=undated, allow_private=True) as urls:
            assert len(list(urls)) == given
        assert bool(urls.summary.pruned) == (undated == "drop")


def test_values_of_trust_lastmod(site: SiteServer) -> None:
    with pytest.raises(sr.UsageError, match="trust_lastmod is one of auto, always, never, not 'maybe'"):
        sr.urls(site.url, trust_lastmod="maybe")  # type: ignore[arg-type]


def test_several_streams_of_one_reader_at_once(site: SiteServer, site_server: Serve) -> None:
    other = site_server({})
    expected = [small_site(site), small_site(other, children=2)]

    async def read(reader: sr.SitemapReader, target: str) -> list[str]:
        async with reader.urls(target) as urls:
            return [url.loc async for url in urls]

    async def main() -> tuple[list[str], list[str]]:
        async with sr.SitemapReader(allow_private=True) as reader:
            return await asyncio.gather(read(reader, site.url), read(reader, other.url))

    found = asyncio.run(main())
    assert [sorted(each) for each in found] == expected


def test_leaving_an_async_stream_early_cancels_its_requests(site: SiteServer) -> None:
    small_site(site)
    release = threading.Event()
    site.pages["/2.xml"] = (release, site.pages["/2.xml"])  # type: ignore[assignment]

    async def main() -> int:
        async with sr.SitemapReader(allow_private=True) as reader:
            async with reader.urls(site.url) as urls:
                async for _ in urls:
                    break
            return len(asyncio.all_tasks())

    started = time.monotonic()
    assert asyncio.run(main()) == 1
    assert time.monotonic() - started < WAIT_SECONDS / 2
    release.set()


def test_an_exception_of_the_caller_comes_out_as_it_is(site: SiteServer) -> None:
    small_site(site)

    def follow(ref: sr.SitemapRef) -> bool:
        raise KeyError(ref.loc)

    with pytest.raises(KeyError), sr.urls(site.url, follow=follow, allow_private=True) as urls:
        list(urls)


# --- the sync API --------------------------------------------------------------------------------------------


def test_sync_reading_inside_a_running_loop(site: SiteServer) -> None:
    expected = small_site(site)

    async def cell() -> list[str]:
        with sr.urls(site.url, allow_private=True) as urls:
            return [url.loc for url in urls]

    assert sorted(asyncio.run(cell())) == expected


def test_reading_to_the_end_leaves_no_thread_and_no_connection(site: SiteServer) -> None:
    before = set(threading.enumerate())
    small_site(site)
    urls = sr.urls(site.url, allow_private=True)
    assert len(list(urls)) == 6
    assert all_threads_end(before)
    gc.collect()


def test_leaving_early_joins_the_thread_and_closes_the_connections(site: SiteServer) -> None:
    before = set(threading.enumerate())
    small_site(site)
    release = threading.Event()
    site.pages["/1.xml"] = (release, site.pages["/1.xml"])  # type: ignore[assignment]
    started = time.monotonic()
    with sr.urls(site.url, allow_private=True) as urls:
        next(iter(urls))
        assert any(thread.name == "sitemap-reader" for thread in threading.enumerate())
    assert not any(thread.name == "sitemap-reader" for thread in threading.enumerate())
    assert time.monotonic() - started < WAIT_SECONDS / 2
    release.set()
    assert all_threads_end(before)
    gc.collect()


def test_leaving_early_reports_documents_that_wait_for_verification(site: SiteServer) -> None:
    """Dropped URLs of a document count, although it ends only when no wider authority can come."""
    site.pages["/robots.txt"] = robots()
    site.pages["/maps/first.xml"] = xml(urlset(f"{site.url}/maps/a", "https://other.example/b"))
    site.pages["/maps/index.xml"] = xml(index(f"{site.url}/maps/first.xml", f"{site.url}/maps/second.xml"))
    site.pages["/maps/second.xml"] = xml(urlset(*(f"{site.url}/maps/{number}" for number in range(20_000))))
    with sr.urls(f"{site.url}/maps/index.xml", allow_private=True, per_host=1, scope="protocol") as urls:
        for _ in urls:
            if urls.progress.documents_done == 2:  # the index and the first child; a small child may end after that
                break
    assert urls.progress.urls < 20_000
    (first,) = [outcome for outcome in urls.outcomes if outcome.url == f"{site.url}/maps/first.xml"]
    assert first.dropped == {"host": 1}
    assert urls.summary.dropped == {"host": 1}


def test_leaving_a_large_document_early_ends_at_once(site: SiteServer) -> None:
    """The reading thread is then waiting for the consumer, not for the network."""
    before = set(threading.enumerate())
    site.pages["/map.xml"] = xml(urlset(*(f"{site.url}/{number}" for number in range(40_000))))
    with sr.urls(f"{site.url}/map.xml", allow_private=True) as urls:
        for number, _ in enumerate(urls):
            if number == 10:
                break
    assert urls.progress.urls == 11
    assert urls.progress.bytes_wire < len(site.pages["/map.xml"][2])
    assert all_threads_end(before)


class Handed:
    """A Fetcher of one large document, in pieces of 200 entries; `count` is the number of pieces read."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces
        self.count = 0

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[sr.fetch.Response]:
        found = not url.endswith("/robots.txt")
        yield sr.fetch.Response(200 if found else 404, XML if found else {}, self.chunks(), url)

    async def chunks(self) -> AsyncIterator[bytes]:
        head, tail = urlset().split(b"\n")
        yield head
        for piece in range(self.pieces):
            self.count += 1
            locs = (f"https://a.example/{piece}/{page}" for page in range(200))
            yield b"".join(f"<url><loc>{loc}</loc></url>\n".encode() for loc in locs)
        yield tail


@pytest.mark.slow
def test_slow_consumer_slows_the_reading_thread() -> None:
    fetcher = Handed(pieces=300)
    with sr.urls("https://a.example/map.xml", fetcher=fetcher) as urls:
        found = iter(urls)
        next(found)
        seen, quiet = -1, 0
        while quiet < 10:  # checks without progress
            time.sleep(0.03)
            quiet = quiet + 1 if fetcher.count == seen else 0
            seen = fetcher.count
        assert 0 < fetcher.count < 40  # the queues hold a few batches each
        assert 1 + sum(1 for _ in found) == 300 * 200
    assert fetcher.count == 300


def test_limit_stops_within_a_document(site: SiteServer) -> None:
    part = {**XML, "Content-Range": "bytes 0-199/900"}
    site.pages["/map.xml"] = (206, part, urlset(f"{site.url}/1"))
    found: list[str] = []
    with sr.urls(f"{site.url}/map.xml", allow_private=True) as urls, pytest.raises(sr.NothingReadable) as caught:
        found += [url.loc for url in urls]
    assert found == []
    (outcome,) = [outcome for outcome in caught.value.outcomes if outcome.url == f"{site.url}/map.xml"]
    assert (outcome.status, outcome.entries, outcome.complete, outcome.problems) == (206, 0, False, {"F18": 1})
    assert site.requests().count("/map.xml") == 1


def test_stream_that_is_never_iterated_makes_no_request(site: SiteServer) -> None:
    before = set(threading.enumerate())
    with sr.urls(site.url, allow_private=True):
        pass
    assert site.requests() == []
    assert set(threading.enumerate()) <= before


def test_closing_twice_does_no_harm(site: SiteServer) -> None:
    small_site(site)
    urls = sr.urls(site.url, allow_private=True)
    next(iter(urls))
    urls.close()
    urls.close()
    with pytest.raises(sr.UsageError, match="read to its end or closed"):
        list(urls)


def test_progress_and_outcomes_are_reported_during_the_run(site: SiteServer) -> None:
    small_site(site)
    reported: list[sr.Outcome] = []
    items: list[object] = []
    with sr.urls(site.url, allow_private=True, on_outcome=reported.append, on_item=items.append) as urls:
        assert urls.progress.urls == 0
        list(urls)
    assert reported == urls.outcomes
    assert len(reported) == 5
    progress = urls.progress
    assert (progress.documents_done, progress.documents_known, progress.urls) == (4, 4, 6)
    assert progress.bytes_wire == sum(len(page[2]) for page in site.pages.values())
    assert Counter(type(item) for item in items) == {sr.Outcome: 5, sr.SitemapRef: 4}
    assert all(outcome.seconds is not None for outcome in reported if outcome.status == 200)


def test_foreign_elements_come_out_on_request_only(site: SiteServer) -> None:
    body = urlset("https://example.com/").replace(b"</url>", b'<n xmlns="urn:x">1</n></url>')
    site.pages["/sitemap.xml"] = xml(body)
    found = {}
    for extras in (True, False):
        with sr.urls(f"{site.url}/sitemap.xml", scope="any", allow_private=True, extras=extras) as urls:
            found[extras] = [url.extras for url in urls]
    assert found == {True: [(sr.Extra("urn:x", "n", "1"),)], False: [()]}


def test_recording_and_replaying_give_the_same(site: SiteServer, tmp_path: Path) -> None:
    varied_site(site)
    with sr.urls(site.url, allow_private=True, record=tmp_path / "tape") as urls:
        first = Counter(map(sr.json_line, urls))
    requested = len(site.received)
    with sr.urls(tmp_path / "tape") as again:
        assert Counter(map(sr.json_line, again)) == first
    assert len(site.received) == requested
    assert {o.url: (o.status, o.kept, o.complete, o.problems) for o in again.outcomes} == {
        o.url: (o.status, o.kept, o.complete, o.problems) for o in urls.outcomes
    }


def test_discover_lists_sitemaps_without_reading_them(site: SiteServer) -> None:
    small_site(site)
    site.pages["/robots.txt"] = robots(f"Sitemap: {site.url}/index.xml", f"Sitemap: {site.url}/gone.xml")
    found = sr.discover(site.url, allow_private=True)
    assert sorted((each.url, each.why, each.status, each.format) for each in found) == [
        (f"{site.url}/gone.xml", "robots", 404, None),
        (f"{site.url}/index.xml", "robots", 200, "sitemapindex"),
    ]
    assert sorted(site.requests()) == ["/gone.xml", "/index.xml", "/robots.txt"]


# --- empty and partial results ---------------------------------------------------------------------------------------


def test_a_site_without_a_sitemap_raises_nothing_found(site: SiteServer) -> None:
    with (
        pytest.raises(sr.NothingFound, match="no sitemap found") as caught,
        sr.urls(site.url, allow_private=True) as urls,
    ):
        list(urls)
    assert [outcome.format for outcome in caught.value.outcomes] == ["robots"]


@pytest.mark.parametrize(
    ("page", "code"),
    [
        ((404, {}, b""), "F01"),
        ((200, {"Content-Type": "text/html"}, b"<!doctype html><html></html>"), "F05"),
        ((200, XML, b""), "F11"),
        ((200, XML, b"<urlset><url><loc>http"), "S01"),
    ],
)
@pytest.mark.parametrize("listed", ["robots", "index", "given"])
def test_sitemaps_of_which_none_can_be_read_raise_nothing_readable(
    site: SiteServer, page: Page, code: str, listed: str
) -> None:
    first = "/map.xml" if listed != "index" else "/index.xml"
    site.pages["/robots.txt"] = robots(f"Sitemap: {site.url}{first}")
    site.pages["/index.xml"] = xml(index(f"{site.url}/map.xml"))
    site.pages["/map.xml"] = page
    target = f"{site.url}/map.xml" if listed == "given" else site.url
    with (
        pytest.raises(sr.NothingReadable) as caught,
        sr.urls(target, allow_private=True, probe="never", limits=sr.Limits(tries=1)) as urls,
    ):
        list(urls)
    (outcome,) = [outcome for outcome in caught.value.outcomes if outcome.url == f"{site.url}/map.xml"]
    assert not outcome.complete
    assert code in outcome.problems
    assert code in str(caught.value)


def test_an_empty_sitemap_is_no_error(site: SiteServer) -> None:
    site.pages["/map.xml"] = xml(urlset())
    with sr.urls(f"{site.url}/map.xml", allow_private=True) as urls:
        assert list(urls) == []
    assert urls.complete


def test_a_site_whose_urls_are_all_out_of_scope_is_no_error(site: SiteServer) -> None:
    site.pages["/map.xml"] = xml(urlset("https://other.example/1"))
    with sr.urls(f"{site.url}/map.xml", allow_private=True) as urls:
        assert list(urls) == []
    assert urls.summary.dropped == {"host": 1}


def test_partial_result_raises_only_in_raise_for_partial(site: SiteServer) -> None:
    small_site(site)
    del site.pages["/1.xml"]
    with sr.urls(site.url, allow_private=True) as urls:
        assert len(list(urls)) == 4
    assert not urls.complete
    with pytest.raises(sr.PartialRead, match="1 sitemap could not be read") as caught:
        urls.raise_for_partial()
    assert {outcome.url for outcome in caught.value.outcomes if not outcome.complete} == {f"{site.url}/1.xml"}


def test_a_host_that_does_not_answer_raises_nothing_readable() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with (
        pytest.raises(sr.NothingReadable) as caught,
        sr.urls(url, allow_private=True, limits=sr.Limits(tries=1)) as urls,
    ):
        list(urls)
    assert caught.value.outcomes[0].problems == {"F04": 1}


# --- invalid values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"scope": "all"},
        {"probe": "maybe"},
        {"concurrency": 0},
        {"per_host": 0},
        {"since": "soon"},
        {"since": 5},
        {"record": ""},
        {"follow": 3},
        {"undated": "perhaps"},
        {"limits": sr.Limits(tries=0)},
    ],
)
def test_invalid_options_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(sr.UsageError):
        sr.urls("https://shop.example", **options)


@pytest.mark.parametrize(
    "target", ["", "  ", "shop", "no/such/folder/", "ftp://shop.example/", "a" * 5000 + ".example/"]
)
def test_invalid_targets_are_refused_at_once(target: str) -> None:
    with pytest.raises(sr.UsageError):
        sr.urls(target)


def test_file_is_refused_as_a_target(tmp_path: Path) -> None:
    (tmp_path / "sitemap.xml").write_bytes(urlset())
    for target in (tmp_path / "sitemap.xml", str(tmp_path / "sitemap.xml")):
        with pytest.raises(sr.UsageError, match="sitemap-reader parse"):
            sr.urls(target)


def test_a_folder_that_is_not_there_or_no_replay_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match="no file or folder"):
        sr.urls(tmp_path / "shop.example")
    with pytest.raises(sr.UsageError, match=r"site\.toml"):
        sr.urls(tmp_path)


def test_folder_named_like_a_host_does_not_hide_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.invalid").mkdir()
    with pytest.raises(sr.NothingReadable, match="no such host"), sr.urls("a.invalid") as urls:
        list(urls)
    for folder in ("./a.invalid", "a.invalid/", "..", Path("a.invalid")):
        with pytest.raises(sr.UsageError, match=r"site\.toml"):
            sr.urls(folder)


@pytest.mark.parametrize("target", [None, 3, ["a.example", "b.example"]])
def test_invalid_host_name_is_refused_as_a_target(target: Any) -> None:
    with pytest.raises(sr.UsageError, match="a host, a URL or a folder"):
        sr.urls(target)


@pytest.mark.parametrize(("name", "hint"), [("urls.jsonl", "stats urls.jsonl"), ("urls.xml", "parse urls.xml")])
def test_file_as_target_names_the_function_for_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).touch()
    with pytest.raises(sr.UsageError, match=hint):
        sr.urls(name)


# --- private addresses ----------------------------------------------------------------------------------------


def test_private_addresses_are_refused_unless_allowed(site: SiteServer) -> None:
    small_site(site)
    with pytest.raises(sr.NothingReadable) as caught, sr.urls(site.url) as urls:
        list(urls)
    assert caught.value.outcomes[0].problems["F13"] == 1
    assert site.received == []


class Half:
    """A Fetcher: public.example is simulated, everything else is fetched."""

    def __init__(self, pages: dict[str, Page]) -> None:
        self.pages = pages
        self.network = sr.fetch.AiohttpFetcher(user_agent="test")

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[sr.fetch.Response]:
        if urlsplit(url).hostname != "public.example":
            async with self.network.fetch(url, headers) as response:
                yield response
            return
        status, given, body = self.pages.get(urlsplit(url).path, (404, {}, b""))

        async def chunks() -> AsyncIterator[bytes]:
            yield body

        yield sr.fetch.Response(status, given, chunks(), url)


HOSTS = ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1")


def elsewhere(site: SiteServer, host: str) -> str:
    return f"http://{host}:{urlsplit(site.url).port}/secret.xml"


def read_half(pages: dict[str, Page]) -> tuple[list[str], sr.AsyncStream[sr.UrlRecord]]:
    async def main() -> tuple[list[str], sr.AsyncStream[sr.UrlRecord]]:
        half = Half(pages)
        try:
            async with (
                sr.SitemapReader(fetcher=half, scope="any", limits=sr.Limits(tries=1)) as reader,
                reader.urls("https://public.example/") as urls,
            ):
                return [url.loc async for url in urls], urls
        finally:
            await half.network.close()

    return asyncio.run(main())


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("obstacle", ["redirect", "index", "robots"])
def test_private_addresses_are_refused_wherever_they_come_from(site: SiteServer, host: str, obstacle: str) -> None:
    secret = elsewhere(site, host)
    site.pages["/secret.xml"] = xml(urlset("https://public.example/leak"))
    good = xml(urlset("https://public.example/1"))
    pages: dict[str, Page] = {
        "/good.xml": good,
        "/index.xml": xml(index(secret)) if obstacle == "index" else good,
        "/moved.xml": (302, {"Location": secret}, b"") if obstacle == "redirect" else good,
    }
    lines = [f"Sitemap: https://public.example/{name}.xml" for name in ("good", "index", "moved")]
    pages["/robots.txt"] = robots(*lines, *([f"Sitemap: {secret}"] if obstacle == "robots" else []))
    found, urls = read_half(pages)
    assert "https://public.example/1" in found
    assert "https://public.example/leak" not in found
    assert not urls.complete
    assert "F13" in urls.problems.counts
    assert site.received == []


def test_userinfo_of_a_sitemap_is_never_sent(site: SiteServer) -> None:
    small_site(site)
    listed = site.url.replace("http://", "http://user:secret@") + "/index.xml"
    site.pages["/robots.txt"] = robots(f"Sitemap: {listed}")
    with sr.urls(site.url, allow_private=True, probe="never") as urls:
        list(urls)
    assert not any("authorization" in request.headers for request in site.received)


@pytest.fixture(autouse=True)
def _no_stray_threads() -> Iterator[None]:
    yield
    assert not any(thread.name == "sitemap-reader" for thread in threading.enumerate())


SHOP = Path(__file__).parents[2] / "corpus" / "sites" / "shop"


def test_a_stream_that_is_dropped_in_mid_loop_leaves_no_thread() -> None:
    def first() -> str:
        for url in sr.urls(SHOP):
            return url.loc
        raise AssertionError

    assert first().startswith("https://shop.example/")
    gc.collect()
    assert [thread for thread in threading.enumerate() if thread.name == "sitemap-reader"] == []


def test_a_stream_may_be_closed_by_another_thread() -> None:
    with sr.urls(SHOP) as stream:
        urls = iter(stream)
        next(urls)
        closer = threading.Thread(target=stream.close)
        closer.start()
        closer.join(10)
        assert not closer.is_alive()
        assert len(list(urls)) < 640


def test_a_session_of_another_loop_is_refused() -> None:
    with pytest.raises(sr.UsageError, match="session"):
        sr.urls(SHOP, session=object())  # type: ignore[typeddict-item]


@pytest.mark.parametrize("options", [{"user_agent": "a\nb"}, {"headers": {"X": "a\r\nb"}}, {"headers": {"a b": "c"}}])
def test_headers_that_cannot_be_sent_are_refused_at_once(options) -> None:
    with pytest.raises(sr.UsageError, match="cannot be sent"):
        sr.urls(SHOP, **options)


def test_a_replay_does_not_wait(tmp_path) -> None:
    """Crawl-delay and Retry-After apply to networks; a replay from disk does not wait."""
    host = tmp_path / "https" / "slow.example"
    host.mkdir(parents=True)
    (tmp_path / "site.toml").write_text('seeds = ["https://slow.example/"]')
    maps = [f"https://slow.example/{number}.txt" for number in range(5)]
    lines = "".join(f"Sitemap: {url}\n" for url in [*maps, "https://slow.example/busy.txt"])
    (host / "robots.txt").write_text(f"User-agent: *\nCrawl-delay: 60\n{lines}")
    for number in range(5):
        (host / f"{number}.txt").write_text(f"https://slow.example/page/{number}\n")
    (host / "busy.txt.headers").write_text("status: 503\nretry-after: 30\n")
    started = time.monotonic()
    with sr.urls(tmp_path) as urls:
        assert len(list(urls)) == 5
    assert time.monotonic() - started < 30


def test_one_recording_holds_several_targets(tmp_path, site_server) -> None:
    one, two = (site_server({"/s.txt": (200, {"Content-Type": "text/plain"}, b"")}) for _ in range(2))
    for site in (one, two):
        site.pages["/s.txt"] = (200, {"Content-Type": "text/plain"}, f"{site.url}/page\n".encode())
        with sr.urls(f"{site.url}/s.txt", allow_private=True, record=tmp_path / "both") as urls:
            assert len(list(urls)) == 1
    with sr.urls(tmp_path / "both") as urls:
        assert {url.loc for url in urls} == {f"{one.url}/page", f"{two.url}/page"}


def test_reader_on_a_second_loop_raises_with_advice(site_server: Callable[..., Any]) -> None:
    site = site_server({"/s.xml": (200, {}, b"<urlset><url><loc>/a</loc></url></urlset>")})
    reader = sr.SitemapReader(allow_private=True)

    async def count() -> int:
        return len([record async for record in reader.urls(f"{site.url}/s.xml")])

    async def count_and_close() -> int:
        try:
            return await count()
        finally:
            await reader.close()

    async def first() -> None:
        assert await count() == 1
        thread = asyncio.to_thread(asyncio.run, count())
        with pytest.raises(sr.UsageError, match="make one for each loop"):
            await thread
        await reader.close()
        assert await count_and_close() == 1

    asyncio.run(first())


def test_no_follow_applies_to_well_known_paths(site: SiteServer) -> None:
    site.pages["/sitemap.xml"] = xml(urlset(f"{site.url}/1"))
    site.pages["/sitemap.txt"] = (200, {"Content-Type": "text/plain"}, f"{site.url}/2\n".encode())
    with sr.urls(site.url, allow_private=True, no_follow="xml") as urls:
        assert [url.loc for url in urls] == [f"{site.url}/2"]
    assert not [path for path in site.requests() if "xml" in path]


def test_sitemap_excluded_by_no_follow_counts_once(site: SiteServer) -> None:
    lines = [f"Sitemap: {site.url}/{name}.xml" for name in ("no", "no", "one", "two")]
    site.pages["/robots.txt"] = robots(*lines)
    site.pages["/one.xml"] = site.pages["/two.xml"] = xml(index(f"{site.url}/no.xml"))
    with sr.urls(site.url, allow_private=True, no_follow="no.xml") as urls:
        list(urls)
    assert urls.summary.pruned == {"no-follow": 1}


@pytest.mark.slow
def test_streams_that_are_left_early_leave_no_connection_open(site: SiteServer) -> None:
    """Also where the reader is closing: the collector would warn of a session, which is an error of this test."""
    small_site(site, children=1)
    for _ in range(20):
        with sr.urls(site.url, allow_private=True) as urls:
            next(iter(urls))
        gc.collect()


def test_a_stream_that_is_left_early_keeps_no_url_from_the_next(site: SiteServer) -> None:
    small_site(site, children=1)
    seen = sr.UrlSet()
    with sr.urls(site.url, allow_private=True, unique=seen) as urls:
        first = next(iter(urls)).loc
    with sr.urls(site.url, allow_private=True, unique=seen) as urls:
        rest = [url.loc for url in urls]
    assert sorted([first, *rest]) == [f"{site.url}/0/1", f"{site.url}/0/2"]
    with sr.urls(site.url, allow_private=True, unique=seen) as urls:
        assert list(urls) == []
    assert (urls.summary.repeated, urls.complete) == (2, True)


@pytest.mark.parametrize(
    ("user_agent", "sent"), [({}, "ExampleBot/1.0"), ({"user_agent": "other/2"}, "other/2")], ids=["session", "keyword"]
)
def test_the_user_agent_of_a_session_is_sent_and_obeyed(
    site_server: Serve, user_agent: dict[str, str], sent: str
) -> None:
    forbidding = robots("User-agent: ExampleBot", "Disallow: /sitemap.xml")
    site = site_server({"/robots.txt": forbidding, "/sitemap.xml": xml(urlset("/a"))})
    options = {"scope": "any", "allow_private": True, **user_agent}

    async def read(url: str) -> None:
        connector = sr.fetch.guarded_connector(allow_private=True)
        headers = {"User-Agent": "ExampleBot/1.0"}
        async with (
            aiohttp.ClientSession(connector=connector, headers=headers) as session,
            sr.SitemapReader(session=session, **options) as reader,
            reader.urls(url) as urls,
        ):
            with suppress(sr.ReadError):
                assert [each.loc async for each in urls]

    asyncio.run(read(site.url))
    assert {request.headers["user-agent"] for request in site.received} == {sent}
    assert ("/sitemap.xml" in site.requests()) == (sent == "other/2")
