"""SitemapReader and sr.urls: whole sites, early ends, faults, and usage errors; over HTTP where connections matter."""

import asyncio
import gc
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from kit import HOST, Site, feed, gz, index, read, robots, serve, until, urlset, xml
from servers import SiteServer

import sitemap_reader as sr

pytestmark = pytest.mark.usefixtures("short_backoffs")

XML = {"Content-Type": "application/xml"}
WAIT_SECONDS = 10.0
SHOP = Path(__file__).parents[2] / "corpus" / "sites" / "shop"


def small_site(children: int = 3, origin: str = HOST) -> Site:
    """A site of an index with `children`, of two URLs each."""
    maps = {f"/{number}.xml": xml(urlset(*locs_of(number, origin))) for number in range(children)}
    top = {"/robots.txt": robots(f"{origin}/index.xml"), "/index.xml": xml(index(*(origin + path for path in maps)))}
    return Site({**top, **maps}, origin)


def locs_of(number: int, origin: str = HOST) -> list[str]:
    return [f"{origin}/{number}/1", f"{origin}/{number}/2"]


@pytest.fixture
def server() -> Iterator[SiteServer]:
    """The small site over HTTP."""
    with serve(small_site()) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_stray_threads() -> Iterator[None]:
    yield
    assert [thread for thread in threading.enumerate() if thread.name == "sitemap-reader"] == []


def all_threads_end(before: set[threading.Thread]) -> bool:
    """Waits for the threads of the server, one a connection, which end when the client closes."""
    return until(lambda: set(threading.enumerate()) <= before, 3)


# --- whole sites ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_encodings_that_come_unasked_are_read(coding: str) -> None:
    pack = pytest.importorskip({"br": "brotli", "zstd": "backports.zstd"}[coding]).compress
    encoding = {**XML, "Content-Encoding": coding}
    bodies = {"/robots.txt": robots(f"{HOST}/a.xml"), "/a.xml": urlset(*(f"{HOST}/{n}" for n in range(2_000)))}
    reading = read(Site({path: (200, encoding, pack(body)) for path, body in bodies.items()}))
    assert (len(reading.locs), reading.stream.complete) == (2_000, True)


# path -> format, and a page with its type; every way to list a URL
VARIED = {
    "/robots.txt": ("robots", b"SITEMAP : https://a.example/top.xml\nSitemap: maps/relative.txt\n"),
    "/top.xml": ("sitemapindex", xml(index("/nested.xml", "/list.txt.gz", "/feed.rss", "/feed.atom"))),
    "/nested.xml": ("sitemapindex", xml(index("/top.xml", "/packed.xml.gz", "/plain.xml"))),
    "/packed.xml.gz": ("urlset", (200, {"Content-Type": "application/gzip"}, gz(urlset(f"{HOST}/packed/1")))),
    "/plain.xml": ("urlset", (200, {**XML, "Content-Encoding": "gzip"}, gz(urlset("/plain/1", "/plain/2")))),
    "/maps/relative.txt": ("text", (200, {"Content-Type": "text/plain"}, f"{HOST}/text/1\r\n{HOST}/text/2\r\n")),
    "/list.txt.gz": ("text", (200, {"Content-Type": "image/png"}, gz(f"{HOST}/list/1\n".encode()))),
    "/feed.rss": ("rss", (200, {"Content-Type": "application/rss+xml"}, feed("/rss/1"))),
    "/feed.atom": ("atom", (200, {"Content-Type": "application/atom+xml"}, feed("/atom/1", kind="atom"))),
}
VARIED_PATHS = ["packed/1", "plain/1", "plain/2", "text/1", "text/2", "list/1", "rss/1", "atom/1"]


def varied_site() -> Site:
    return Site({path: page for path, (_, page) in VARIED.items()})


def test_varied_site_is_read_completely_with_one_request_each() -> None:
    site = varied_site()
    reading = read(site)
    assert Counter(reading.locs) == Counter(f"{HOST}/{path}" for path in VARIED_PATHS)
    assert reading.stream.complete
    assert sorted(site.requests) == sorted(site.urls())
    formats = {outcome.url: outcome.format for outcome in reading.stream.outcomes}
    assert formats == {f"{HOST}{path}": format_ for path, (format_, _) in VARIED.items()}
    assert {"F12", "F06"} <= {*reading.codes}


async def test_the_first_record_comes_before_the_last_child_is_fetched() -> None:
    site, seen = small_site(), asyncio.Event()
    site.pages["/2.xml"] = (200, XML, (seen.wait, site.pages["/2.xml"][2]))
    count = 0
    async with sr.SitemapReader(fetcher=site) as reader, reader.urls(HOST) as urls:
        async for _ in urls:
            count += 1
            if count == 4:
                assert not any(outcome.url == f"{HOST}/2.xml" for outcome in urls.outcomes)
                seen.set()
    assert count == 6


# --- what is followed and kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "paths"), [
    ({"follow": "([12]|index).xml$"}, ["/1.xml", "/2.xml"]),
    ({"follow": ["/0.xml", "index", re.compile("/2.XML", re.IGNORECASE)]}, ["/0.xml", "/2.xml"]),
    ({"no_follow": "/1.xml"}, ["/0.xml", "/2.xml"]),
    ({"follow": "([12]|index).xml", "no_follow": "/1.xml"}, ["/2.xml"]),
    ({"follow": lambda ref: "0" not in urlsplit(ref.loc).path, "no_follow": "/1.xml"}, ["/2.xml"]),
    ({"follow": lambda ref: ref.sitemap != f"{HOST}/index.xml" or "/1." in ref.loc}, ["/1.xml"]),
    ({"no_follow": lambda ref: "1" in urlsplit(ref.loc).path}, ["/0.xml", "/2.xml"]),
])
def test_patterns_choose_among_the_children_of_an_index(options: dict[str, Any], paths: list[str]) -> None:
    site = small_site()
    reading = read(site, **options)
    assert sorted(site.requests) == sorted(HOST + path for path in [*paths, "/index.xml", "/robots.txt"])
    assert (len(reading.locs), reading.stream.complete) == (2 * len(paths), True)
    assert sum(reading.stream.summary.pruned.values()) == 3 - len(paths)
    assert {*reading.stream.summary.pruned} <= {"follow", "no-follow"}


@pytest.mark.parametrize(("no_follow", "locs", "count"), [("video", [f"{HOST}/1"], 1), ("xml", [], 2)])
def test_no_follow_applies_to_sitemaps_of_robots_txt(no_follow: str, locs: list[str], count: int) -> None:
    """A robots.txt that has sitemaps leaves nothing to guess."""
    maps = [f"{HOST}/pages.xml", f"{HOST}/video.xml"]
    site = Site({"/robots.txt": robots(*maps), "/pages.xml": xml(urlset(f"{HOST}/1"))})
    reading = read(site, no_follow=no_follow)
    assert (reading.locs, reading.stream.summary.pruned) == (locs, {"no-follow": count})
    assert site.requests == [f"{HOST}/robots.txt", *maps[: 2 - count]]
    assert reading.stream.complete


NAMES_SIX = [f"{HOST}/{number}.xml" for number in range(6)]


def names_six() -> Site:
    return Site({"/robots.txt": robots(*NAMES_SIX), **{f"/{number}.xml": xml(urlset("/a")) for number in range(6)}})


def test_follow_is_called_for_each_sitemap_that_robots_txt_names() -> None:
    called: list[sr.SitemapRef] = []
    site = names_six()
    reading = read(site, follow=lambda ref: bool(called.append(ref)))
    assert [(ref.loc, ref.sitemap, ref.line) for ref in called] == [
        (url, f"{HOST}/robots.txt", line) for line, url in enumerate(NAMES_SIX, 3)
    ]
    assert site.requests == [f"{HOST}/robots.txt"]  # no well-known path is tried, and none is missing
    assert (reading.locs, reading.stream.complete, reading.stream.summary.pruned) == ([], True, {"follow": 6})


@pytest.mark.parametrize(("options", "read_ones"), [
    ({"follow": "[12].xml"}, [1, 2]),
    ({"follow": "no such"}, [*range(6)]),
    ({"follow": lambda ref: False, "probe": "always"}, []),
    ({"no_follow": lambda ref: "3" not in ref.loc}, [3]),
    ({"follow": lambda ref: "3" not in ref.loc, "no_follow": lambda ref: "4" in ref.loc}, [0, 1, 2, 5]),
])
def test_filters_choose_among_the_sitemaps_of_robots_txt(options: dict[str, Any], read_ones: list[int]) -> None:
    site = names_six()
    read(site, **options)
    assert [url for url in NAMES_SIX if url in site.requests] == [NAMES_SIX[number] for number in read_ones]


def test_what_follow_refuses_of_robots_txt_is_not_probed() -> None:
    site = Site({"/robots.txt": robots(f"{HOST}/sitemap.xml"), "/sitemap.xml": xml(urlset("/a"))})
    assert read(site, follow=lambda ref: False, probe="always").locs == []
    assert f"{HOST}/sitemap.xml" not in site.requests
    assert f"{HOST}/sitemap.txt" in site.requests


def test_follow_is_not_called_for_the_target_and_well_known_paths() -> None:
    site = Site({"/sitemap.xml": xml(urlset("/a")), "/robots.txt": robots()})
    assert read(site, follow=lambda ref: False).locs == [f"{HOST}/a"]
    site = names_six()
    assert read(site, NAMES_SIX[0], follow=lambda ref: False).locs == [f"{HOST}/a"]


def test_what_follow_refuses_of_robots_txt_is_read_if_an_index_lists_it_and_follow_takes_it_there() -> None:
    site = Site({
        "/robots.txt": robots(f"{HOST}/top.xml", f"{HOST}/a.xml"), "/top.xml": xml(index("/a.xml")),
        "/a.xml": xml(urlset("/a")),
    })
    reading = read(site, follow=lambda ref: "top" in ref.loc or ref.sitemap == f"{HOST}/top.xml")
    assert (reading.locs, reading.stream.summary.pruned) == ([f"{HOST}/a"], {})


@pytest.mark.parametrize("keyword", ["follow", "no_follow"])
@pytest.mark.parametrize("result", [None, "no", re.search("a", "a")])
def test_a_function_that_does_not_return_true_or_false_is_a_usage_error(keyword: str, result: Any) -> None:
    words = f"^the function of {keyword} returned .*; let it return True or False$"
    with pytest.raises(sr.UsageError, match=words):
        read(names_six(), **{keyword: lambda ref: result})


@pytest.mark.parametrize("given", [3, [lambda ref: True], ["a", 3]])
def test_what_is_no_pattern_and_no_function_is_a_usage_error(given: Any) -> None:
    with pytest.raises(sr.UsageError, match="follow is a regular expression, or several, or one function of a Sitemap"):
        sr.urls(HOST, follow=given)


def test_no_follow_as_a_function_gets_well_known_paths_without_a_listing() -> None:
    called: list[sr.SitemapRef] = []
    site = Site({"/sitemap_index.xml": xml(urlset("/a"))})
    assert read(site, no_follow=lambda ref: bool(called.append(ref))).locs == [f"{HOST}/a"]
    assert called == [sr.SitemapRef(f"{HOST}{path}") for path in ("/sitemap.xml", "/sitemap_index.xml")]


def test_no_follow_applies_to_well_known_paths() -> None:
    site = Site({"/sitemap.xml": xml(urlset(f"{HOST}/1")), "/sitemap.txt": f"{HOST}/2\n"})
    assert read(site, no_follow="xml").locs == [f"{HOST}/2"]
    assert not [url for url in site.requests if "xml" in url]


def test_sitemap_excluded_by_no_follow_counts_once() -> None:
    top = xml(index(f"{HOST}/no.xml"))
    lines = [f"{HOST}/{name}.xml" for name in ("no", "no", "one", "two")]
    reading = read(Site({"/robots.txt": robots(*lines), "/one.xml": top, "/two.xml": top}), no_follow="no.xml")
    assert reading.stream.summary.pruned == {"no-follow": 1}


def test_patterns_choose_urls_and_are_counted_in_the_outcome() -> None:
    reading = read(small_site(), include="/1$", exclude=["/2/"])
    assert sorted(reading.locs) == [f"{HOST}/0/1", f"{HOST}/1/1"]
    assert reading.stream.complete
    assert reading.stream.summary.unwanted == {"pattern": 4}
    dropped = {urlsplit(each.url or "").path: (each.kept, each.dropped) for each in reading.stream.outcomes}
    assert dropped["/0.xml"] == (1, {"pattern": 1})
    assert dropped["/2.xml"] == (0, {"pattern": 2})
    assert "4 outside the patterns" in str(reading.stream.summary)


def test_unique_gives_each_url_once_also_over_several_streams() -> None:
    body = urlset(f"{HOST}/1", f"{HOST}/2", f"{HOST}/1")
    site, seen = Site({"/robots.txt": robots(f"{HOST}/a.xml"), "/a.xml": xml(body)}), sr.UrlSet()
    first, second = read(site, unique=seen), read(site, unique=seen)
    assert first.locs == [f"{HOST}/1", f"{HOST}/2"]
    assert (first.stream.summary.urls, first.stream.summary.repeated, first.stream.progress.urls) == (2, 1, 2)
    assert "1 listed again" in str(first.stream.summary)
    assert (second.locs, second.stream.summary.repeated) == ([], 3)
    assert len(read(site).locs) == 3


def test_since_takes_an_age() -> None:
    now = datetime.now(UTC)
    young, old = ((now - timedelta(days=days)).isoformat() for days in (2, 20))
    site = Site(
        {
            "/robots.txt": robots(f"{HOST}/new.xml", f"{HOST}/index.xml"),
            "/new.xml": xml(urlset((f"{HOST}/young", young), (f"{HOST}/old", old))),
            "/index.xml": xml(index((f"{HOST}/pruned.xml", old))),
        }
    )
    reading = read(site, since="7d", trust_lastmod="always")
    summary = reading.stream.summary
    assert reading.locs == [f"{HOST}/young"]
    assert f"{HOST}/pruned.xml" not in site.requests
    assert (summary.unwanted, summary.pruned, summary.dropped) == ({"date": 1}, {"since": 1}, {})
    assert "; 1 sitemap skipped: index lastmod before " in str(summary)
    assert "Z, not checked; " in str(summary)
    assert reading.stream.complete
    assert read(site, until=timedelta(days=7)).locs == [f"{HOST}/old"]


def test_since_reads_three_children_before_it_skips_any() -> None:
    maps = {f"/{number}.xml": xml(urlset(f"{HOST}/{number}", lastmod="2026-01-05")) for number in range(9)}
    site = Site({"/index.xml": xml(index(*(HOST + path for path in maps), lastmod="2026-01-05")), **maps})

    def since(**options: Any) -> tuple[list[str], sr.Stream[sr.UrlRecord]]:
        reading = read(site, f"{HOST}/index.xml", since="2026-11-01", **options)
        return reading.locs, reading.stream

    locs, stream = since()
    summary = stream.summary
    assert (locs, summary.pruned, summary.checked, stream.complete) == ([], {"since": 6}, 3, True)
    assert "; 6 sitemaps skipped: index lastmod before 2026-11-01, 3 others checked; " in str(summary)
    both = summary + summary
    assert "; 12 sitemaps skipped: index lastmod before 2026-11-01, 6 others checked; " in str(both)
    site.pages["/8.xml"] = xml(urlset((f"{HOST}/new", "2026-11-05")))
    locs, stream = since()
    assert (locs, stream.summary.pruned, stream.problems.counts) == ([f"{HOST}/new"], {}, {"D05": 1})
    site.pages["/8.xml"] = xml(urlset(f"{HOST}/new"))
    for undated, given in (("keep", 1), ("drop", 0)):
        locs, stream = since(undated=undated)
        assert (len(locs), bool(stream.summary.pruned)) == (given, undated == "drop")


# --- the async reader -----------------------------------------------------------------------------------------


async def test_several_streams_of_one_reader_at_once() -> None:
    other = "https://b.example"

    async def locs(reader: sr.SitemapReader, target: str) -> list[str]:
        async with reader.urls(target) as urls:
            return sorted([url.loc async for url in urls])

    async with sr.SitemapReader(fetcher=Site({**small_site().urls(), **small_site(2, other).urls()})) as reader:
        found = await asyncio.gather(locs(reader, HOST), locs(reader, other))
    assert found == [
        [loc for number in range(count) for loc in locs_of(number, origin)] for count, origin in ((3, HOST), (2, other))
    ]


def test_an_exception_of_the_caller_comes_out_as_it_is() -> None:
    def follow(ref: sr.SitemapRef) -> bool:
        raise KeyError(ref.loc)

    with pytest.raises(KeyError):
        read(small_site(), follow=follow)


async def test_reader_on_a_second_loop_raises_with_advice(server: SiteServer) -> None:
    reader = sr.SitemapReader(allow_private=True)

    async def count() -> int:
        return len([record async for record in reader.urls(f"{server.url}/0.xml")])

    async def count_and_close() -> int:
        try:
            return await count()
        finally:
            await reader.close()

    assert await count() == 2
    thread = asyncio.to_thread(asyncio.run, count())
    with pytest.raises(sr.UsageError, match="make one for each loop"):
        await thread
    await reader.close()
    assert await count_and_close() == 2


@pytest.mark.parametrize(
    ("user_agent", "sent"), [({}, "ExampleBot/1.0"), ({"user_agent": "other/2"}, "other/2")], ids=["session", "keyword"]
)
async def test_the_user_agent_of_a_session_is_sent_and_obeyed(user_agent: dict[str, str], sent: str) -> None:
    forbidding = robots(rules="User-agent: ExampleBot\nDisallow: /sitemap.xml\n")
    options = {"scope": "any", "allow_private": True, **user_agent}
    connector, headers = sr.fetch.guarded_connector(allow_private=True), {"User-Agent": "ExampleBot/1.0"}
    with serve(Site({"/robots.txt": forbidding, "/sitemap.xml": xml(urlset("/a"))})) as server:
        async with (
            aiohttp.ClientSession(connector=connector, headers=headers) as session,
            sr.SitemapReader(session=session, **options) as reader,
            reader.urls(server.url) as urls,
        ):
            with suppress(sr.ReadError):
                assert [each.loc async for each in urls]
    assert {request.headers["user-agent"] for request in server.received} == {sent}
    assert ("/sitemap.xml" in server.requests()) == (sent == "other/2")


# --- the end of a stream --------------------------------------------------------------------------------------


def test_reading_to_the_end_leaves_no_thread_and_no_connection(server: SiteServer) -> None:
    before = set(threading.enumerate())
    assert len(list(sr.urls(server.url, allow_private=True))) == 6
    assert all_threads_end(before)
    gc.collect()


def test_leaving_early_reports_documents_that_wait_for_verification() -> None:
    """Dropped URLs of a document count, although it ends only when no wider authority can come."""
    first, second = f"{HOST}/maps/first.xml", f"{HOST}/maps/second.xml"
    site = Site(
        {
            "/robots.txt": robots(),
            "/maps/index.xml": xml(index(first, second)),
            "/maps/first.xml": xml(urlset(f"{HOST}/maps/a", "https://other.example/b")),
            "/maps/second.xml": xml(urlset(*(f"{HOST}/maps/{number}" for number in range(20_000)))),
        }
    )
    with sr.urls(f"{HOST}/maps/index.xml", fetcher=site, per_host=1, scope="protocol") as urls:
        for _ in urls:
            if urls.progress.documents_done == 2:  # the index and the first child; a small child may end after that
                break
    assert urls.progress.urls < 20_000
    (outcome,) = [outcome for outcome in urls.outcomes if outcome.url == first]
    assert outcome.dropped == urls.summary.dropped == {"host": 1}


def large_site(count: int) -> Site:
    return Site({"/map.xml": xml(urlset(*(f"{HOST}/{number}" for number in range(count))))})


def test_leaving_a_large_document_early_ends_at_once() -> None:
    """The reading thread is then waiting for the consumer, not for the network."""
    site = large_site(40_000)
    with sr.urls(f"{HOST}/map.xml", fetcher=site) as urls:
        for number, _ in enumerate(urls):
            if number == 10:
                break
    assert urls.progress.urls == 11
    assert urls.progress.bytes_wire < len(site.pages["/map.xml"][2])


@pytest.mark.slow
def test_slow_consumer_slows_the_reading_thread() -> None:
    site = large_site(60_000)
    with sr.urls(f"{HOST}/map.xml", fetcher=site) as urls:
        found = iter(urls)
        next(found)
        seen, quiet = -1, 0
        while quiet < 10:  # checks without progress
            time.sleep(0.03)
            quiet = quiet + 1 if urls.progress.bytes_wire == seen else 0
            seen = urls.progress.bytes_wire
        whole = len(site.pages["/map.xml"][2])
        assert 0 < seen < whole * 40 / 300  # the queues hold a few batches each
        assert 1 + sum(1 for _ in found) == 60_000
    assert urls.progress.bytes_wire == whole


def test_a_stream_that_is_left_early_keeps_no_url_from_the_next() -> None:
    site, seen = small_site(1), sr.UrlSet()
    with sr.urls(HOST, fetcher=site, unique=seen) as urls:
        first = next(iter(urls)).loc
    assert sorted([first, *read(site, unique=seen).locs]) == locs_of(0)
    last = read(site, unique=seen)
    assert (last.locs, last.stream.summary.repeated, last.stream.complete) == ([], 2, True)


def test_stream_that_is_never_iterated_makes_no_request() -> None:
    site, before = small_site(), set(threading.enumerate())
    with sr.urls(HOST, fetcher=site):
        pass
    assert site.requests == []
    assert set(threading.enumerate()) <= before


def test_progress_and_outcomes_are_reported_during_the_run() -> None:
    site, reported = small_site(), list[sr.Outcome]()
    items: list[object] = []
    with sr.urls(HOST, fetcher=site, on_outcome=reported.append, on_item=items.append) as urls:
        assert urls.progress.urls == 0
        list(urls)
    assert reported == urls.outcomes
    progress = urls.progress
    assert (progress.documents_done, progress.documents_known, progress.urls) == (4, 4, 6)
    assert progress.bytes_wire == sum(len(site.answer(url, {})[2]) for url in site.urls())
    assert Counter(type(item) for item in items) == {sr.Outcome: 5, sr.SitemapRef: 4}
    assert all(outcome.seconds is not None for outcome in reported if outcome.status == 200)


# --- recordings -----------------------------------------------------------------------------------------------


def test_recording_and_replaying_give_the_same(tmp_path: Path) -> None:
    first = read(varied_site(), record=tmp_path / "tape")
    with sr.urls(tmp_path / "tape") as again:
        assert Counter(map(sr.json_line, again)) == Counter(map(sr.json_line, first.of(sr.UrlRecord)))
    assert {o.url: (o.status, o.kept, o.complete, o.problems) for o in again.outcomes} == {
        o.url: (o.status, o.kept, o.complete, o.problems) for o in first.stream.outcomes
    }


def test_one_recording_holds_several_targets(tmp_path: Path) -> None:
    origins = [HOST, "https://b.example"]
    for origin in origins:
        read(small_site(1, origin), origin, record=tmp_path / "both")
    with sr.urls(tmp_path / "both") as urls:
        assert {url.loc for url in urls} == {loc for origin in origins for loc in locs_of(0, origin)}


def test_a_replay_does_not_wait(tmp_path: Path) -> None:
    """Crawl-delay and Retry-After apply to networks; a replay from disk does not wait."""
    maps = {f"/{number}.txt": f"{HOST}/page/{number}\n" for number in range(5)}
    lines = robots(*(HOST + path for path in [*maps, "/busy.txt"]), rules="User-agent: *\nCrawl-delay: 60\n")
    folder = Site({"/robots.txt": lines, "/busy.txt.headers": "status: 503\nretry-after: 30\n", **maps}).write(tmp_path)
    started = time.monotonic()
    with sr.urls(folder) as urls:
        assert len(list(urls)) == 5
    assert time.monotonic() - started < 30


def test_discover_lists_sitemaps_without_reading_them() -> None:
    site = small_site()
    site.pages["/robots.txt"] = robots(f"{HOST}/index.xml", f"{HOST}/gone.xml")
    assert sorted((each.url, each.why, each.status, each.format) for each in sr.discover(HOST, fetcher=site)) == [
        (f"{HOST}/gone.xml", "robots", 404, None),
        (f"{HOST}/index.xml", "robots", 200, "sitemapindex"),
    ]
    assert sorted(site.requests) == [f"{HOST}/{name}" for name in ("gone.xml", "index.xml", "robots.txt")]


# --- empty results --------------------------------------------------------------------------------------------


def test_a_site_without_a_sitemap_raises_nothing_found() -> None:
    error = read(Site()).error
    assert isinstance(error, sr.NothingFound)
    assert "no sitemap found" in str(error)
    assert [outcome.format for outcome in error.outcomes] == ["robots"]


@pytest.mark.parametrize(("page", "code"), [
    ((404, {}, b""), "F01"),
    ((200, {"Content-Type": "text/html"}, b"<!doctype html><html></html>"), "F05"),
    ((200, XML, b""), "F11"),
    ((200, XML, b"<urlset><url><loc>http"), "S01"),
    ((206, {**XML, "Content-Range": "bytes 0-199/900"}, urlset(f"{HOST}/1")), "F18"),
    (sr.FetchError("no connection"), "F04"),
])
@pytest.mark.parametrize("listed", ["robots", "index", "given"])
def test_sitemaps_of_which_none_can_be_read_raise_nothing_readable(page: Any, code: str, listed: str) -> None:
    first = "/map.xml" if listed != "index" else "/index.xml"
    top = {"/robots.txt": robots(f"{HOST}{first}"), "/index.xml": xml(index(f"{HOST}/map.xml"))}
    site = Site({**top, "/map.xml": page})
    error = read(site, f"{HOST}/map.xml" if listed == "given" else HOST, probe="never").error
    assert isinstance(error, sr.NothingReadable)
    (outcome,) = [outcome for outcome in error.outcomes if outcome.url == f"{HOST}/map.xml"]
    assert (outcome.complete, outcome.entries) == (False, 0)
    assert code in outcome.problems
    assert code in str(error)


@pytest.mark.parametrize(("locs", "dropped"), [([], {}), (["https://other.example/1"], {"host": 1})])
def test_a_sitemap_without_urls_in_scope_is_no_error(locs: list[str], dropped: dict[str, int]) -> None:
    reading = read(Site({"/map.xml": xml(urlset(*locs))}), f"{HOST}/map.xml")
    assert (reading.locs, reading.error, reading.stream.complete) == ([], None, True)
    assert reading.stream.summary.dropped == dropped


# --- invalid values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {"scope": "all"}, {"probe": "maybe"}, {"concurrency": 0}, {"per_host": 0}, {"since": "soon"}, {"since": 5},
    {"record": ""}, {"follow": 3}, {"undated": "perhaps"}, {"trust_lastmod": "maybe"}, {"session": object()},
])
def test_invalid_options_are_refused_at_once(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(sr.UsageError, match=name):
        sr.urls("https://shop.example", **options)


def test_invalid_limits_are_refused_at_once() -> None:
    with pytest.raises(sr.UsageError, match="tries is a whole number, 1 or more, not 0"):
        sr.urls("https://shop.example", limits=sr.Limits(tries=0))


@pytest.mark.parametrize("options", [{"user_agent": "a\nb"}, {"headers": {"X": "a\r\nb"}}, {"headers": {"a b": "c"}}])
def test_headers_that_cannot_be_sent_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(sr.UsageError, match="cannot be sent"):
        sr.urls(SHOP, **options)


@pytest.mark.parametrize(("target", "hint"), [
    ("", "the target is empty"),
    ("  ", "the target is empty"),
    ("shop", "no file or folder"),
    ("no/such/folder/", "no file or folder"),
    ("{here}/shop.example", "no file or folder"),
    ("{here}", r"site\.toml"),
    ("ftp://shop.example/", "neither http nor https"),
    ("a" * 5000 + ".example/", "neither a host nor an http or https URL"),
    (None, "a host, a URL or a folder"),
    (3, "a host, a URL or a folder"),
    (["a.example", "b.example"], "a host, a URL or a folder"),
    ("urls.jsonl", "stats urls.jsonl"),
    ("urls.xml", "sitemap-reader parse urls.xml"),
    (Path("urls.xml"), "sitemap-reader parse urls.xml"),
    ("{here}/urls.xml", "sitemap-reader parse /"),
    ("./a.invalid", r"site\.toml"),
    ("a.invalid/", r"site\.toml"),
    ("..", r"site\.toml"),
    (Path("a.invalid"), r"site\.toml"),
], ids=lambda each: str(each)[:20])
def test_invalid_targets_are_refused_at_once(
    target: Any, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.invalid").mkdir()
    for name in ("urls.jsonl", "urls.xml"):
        (tmp_path / name).touch()
    with pytest.raises(sr.UsageError, match=hint):
        sr.urls(target.format(here=tmp_path) if isinstance(target, str) else target)


def test_folder_named_like_a_host_does_not_hide_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.invalid").mkdir()
    with pytest.raises(sr.NothingReadable, match="no such host"), sr.urls("a.invalid") as urls:
        list(urls)


def test_userinfo_of_a_sitemap_is_never_sent(server: SiteServer) -> None:
    listed = server.url.replace("http://", "http://user:secret@") + "/index.xml"
    server.pages["/robots.txt"] = (200, {}, robots(listed))
    with sr.urls(server.url, allow_private=True, probe="never") as urls:
        assert len(list(urls)) == 6
    assert not any("authorization" in request.headers for request in server.received)


def test_names_that_robots_txt_has_not_are_those_of_children() -> None:
    children = {f"/{name}.xml": urlset(f"{HOST}/{name}") for name in ("shop", "blog", "other")}
    listed = {"/index.xml": index(f"{HOST}/shop.xml", f"{HOST}/blog.xml")}
    site = Site({"/robots.txt": robots(f"{HOST}/index.xml"), **listed, **children})
    assert read(site, follow="shop").locs == [f"{HOST}/shop"]
    site.pages["/robots.txt"] = robots(f"{HOST}/index.xml", f"{HOST}/other.xml")
    reading = read(site, follow="other")
    assert (reading.locs, reading.stream.summary.pruned) == ([f"{HOST}/other"], {"follow": 1})
    reading = read(site, follow="shop", no_follow="other")
    assert (reading.locs, reading.stream.summary.pruned) == ([f"{HOST}/shop"], {"follow": 1, "no-follow": 1})
