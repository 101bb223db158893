"""Documents are parsed in several threads: with the same results as in one, at the same time, and without a trace."""

import asyncio
import gzip
import re
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from corpus_cases import cases, fallback
from scripted_fetcher import (
    HOST,
    MAP,
    ROBOTS,
    SITE,
    Page,
    Played,
    everything,
    index,
    many,
    mixed,
    of,
    packed,
    page,
    proven_late,
    read,
    robots,
    start,
    urlset,
)

from sitemap_reader import FallbackFailed, FetchError, Limits, Outcome, UrlRecord
from sitemap_reader.client import url_batches
from sitemap_reader.frontier import Selection, Window, make_patterns
from sitemap_reader.pipeline import Batch, DocumentParser, feedparser_fallback
from sitemap_reader.serialize import encode_urls

SITES = Path(__file__).parents[2] / "corpus" / "sites"
FEED = b"<CHANNEL><ITEM HREF='https://shop.example/1'/><ITEM HREF='https://shop.example/2'/></CHANNEL>"
MOST_SECONDS = 10.0


def by_document(items: list[Any]) -> dict[str | None, dict[str, list[object]]]:
    """Items by document in order: records, links, problems and outcome."""
    reported: dict[str | None, dict[str, list[object]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if isinstance(item, Outcome):
            reported[item.url]["outcomes"].append(attrs.evolve(item, seconds=0.0))
        else:
            reported[item.sitemap][type(item).__name__].append(item)
    return reported


def of_crawl() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("sitemap-reader")]


@pytest.fixture(autouse=True)
def _no_threads_are_left() -> Iterator[None]:
    yield
    assert of_crawl() == []


# --- at the same time -------------------------------------------------------------------------------------------


def documents(count: int) -> dict[str, list[Page]]:
    """Documents of several chunks: the first chunks of all are parsed in one thread."""
    urls = {f"{SITE}/{number}.xml": str(number) for number in range(count)}
    return {ROBOTS: robots(*urls), **{url: page(*split(numbered(name, 10), 300)) for url, name in urls.items()}}


class Meeting:
    """Wraps DocumentParser.parse(): a call waits in its thread until `size` calls wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
        self.threads: set[int] = set()
        self._barrier = threading.Barrier(size, timeout=MOST_SECONDS)
        self._parse = DocumentParser.parse
        monkeypatch.setattr(DocumentParser, "parse", lambda parser, chunk: self.parse(parser, chunk))

    def parse(self, parser: DocumentParser, chunk: bytes) -> Iterator[Batch]:
        if b"</urlset>" in chunk:
            self.threads.add(threading.get_ident())
            self._barrier.wait()
        yield from self._parse(parser, chunk)


def test_two_documents_are_parsed_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, use_cores: Callable[[int], None]
) -> None:
    use_cores(2)
    meeting = Meeting(monkeypatch, 2)
    items, _ = read(SITE, documents(2))
    assert len(of(UrlRecord, items)) == 20
    assert len(meeting.threads) == 2
    assert threading.get_ident() not in meeting.threads


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (64, 4)])
def test_there_is_a_thread_for_each_core_but_at_most_four(
    monkeypatch: pytest.MonkeyPatch, use_cores: Callable[[int], None], cores: int, threads: int
) -> None:
    use_cores(cores)
    meeting = Meeting(monkeypatch, threads)
    items, _ = read(SITE, documents(3 * threads), per_host=16)
    assert len(of(UrlRecord, items)) == 30 * threads
    assert len(meeting.threads) == threads


def test_entries_keep_the_order_of_their_document(use_cores: Callable[[int], None]) -> None:
    use_cores(4)
    urls = {f"{SITE}/{name}.xml": name for name in "abcd"}
    pages = {url: page(*split(numbered(name, 2000), 5_000)) for url, name in urls.items()}
    items, _ = read(SITE, {ROBOTS: robots(*urls), **pages})
    for name in urls.values():
        locs = [record.loc for record in of(UrlRecord, items) if f"/{name}/" in record.loc]
        assert locs == [f"{SITE}/{name}/{number}" for number in range(2000)]


class Gate:
    """Wraps DocumentParser.parse(): a chunk with `<!-- slow -->` is parsed when it is open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.is_open = threading.Event(), threading.Event()
        self._parse = DocumentParser.parse
        monkeypatch.setattr(DocumentParser, "parse", lambda parser, chunk: self.parse(parser, chunk))

    def parse(self, parser: DocumentParser, chunk: bytes) -> Iterator[Batch]:
        if b"<!-- slow -->" in chunk:
            self.reached.set()
            assert self.is_open.wait(MOST_SECONDS)
        yield from self._parse(parser, chunk)


SLOW = (many(3).replace(b"</urlset>", b""), b"<!-- slow --></urlset>")
A, B = f"{SITE}/a.xml", f"{SITE}/b.xml"


def test_a_document_that_is_slow_to_parse_delays_no_other(
    monkeypatch: pytest.MonkeyPatch, use_cores: Callable[[int], None]
) -> None:
    use_cores(2)
    gate = Gate(monkeypatch)

    async def main() -> list[str | None]:
        ended = []
        fetcher = Played({ROBOTS: robots(A, B), A: page(*SLOW), B: page(numbered("b", 2000))})
        async with asyncio.timeout(MOST_SECONDS):
            async for batch in start(SITE, fetcher).batches():
                ended += [outcome.url for outcome in of(Outcome, batch)]
                if B in ended:
                    gate.is_open.set()
        return ended

    assert asyncio.run(main()) == [ROBOTS, B, A]


def test_the_event_loop_runs_while_a_document_is_parsed(
    monkeypatch: pytest.MonkeyPatch, use_cores: Callable[[int], None]
) -> None:
    use_cores(1)
    gate = Gate(monkeypatch)

    async def open_later() -> None:
        while not gate.reached.is_set():  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(0.001)
        for _ in range(20):
            await asyncio.sleep(0.001)
        gate.is_open.set()

    async def main() -> list[Any]:
        opening = asyncio.create_task(open_later())
        items = await everything(start(MAP, Played({MAP: page(*SLOW)})))
        await opening
        return items

    assert len(of(UrlRecord, asyncio.run(main()))) == 3


def test_an_exception_in_a_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = LookupError("no such place")

    def fail(self: DocumentParser, chunk: bytes) -> Iterator[Batch]:
        raise bug
        yield

    monkeypatch.setattr(DocumentParser, "parse", fail)
    with pytest.raises(LookupError) as caught:
        read(MAP, {MAP: page(many(3))})
    assert caught.value is bug


@pytest.mark.slow
def test_a_slow_consumer_stops_all_threads_and_the_network(use_cores: Callable[[int], None]) -> None:
    use_cores(4)
    urls = {f"{SITE}/{name}.xml": name for name in "abcd"}
    body = numbered("page", 60_000)
    fetcher = Played({ROBOTS: robots(*urls), **{url: page(*split(body, 16_384)) for url in urls}})

    def taken() -> int:
        return sum(fetcher.pages[url][0].taken for url in urls)

    async def main() -> tuple[int, int]:
        batches = start(SITE, fetcher).batches()
        async for batch in batches:
            if of(UrlRecord, batch):
                break
        await asyncio.sleep(0.5)
        before = taken()
        await asyncio.sleep(0.3)
        after = taken()
        await batches.aclose()
        return before, after

    before, after = asyncio.run(main())
    assert before == after < 40


# --- leaving ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("early", [True, False])
def test_a_stream_leaves_no_thread(use_cores: Callable[[int], None], early: bool) -> None:
    use_cores(4)
    urls = {f"{SITE}/{name}.xml": name for name in "abcd"}
    fetcher = Played({ROBOTS: robots(*urls), **{url: page(*split(numbered(urls[url], 20_000))) for url in urls}})
    with url_batches(SITE, fetcher=fetcher) as stream:
        for some in stream:
            assert len(some)
            if early:
                break
    assert of_crawl() == []
    assert not fetcher.open


def test_leaving_waits_for_the_calls_that_run_but_not_for_their_documents(
    monkeypatch: pytest.MonkeyPatch, use_cores: Callable[[int], None]
) -> None:
    use_cores(2)
    gate = Gate(monkeypatch)

    async def main() -> None:
        fetcher = Played({ROBOTS: robots(A, B), A: page(*SLOW, many(50_000)), B: page(numbered("b", 3), gate=None)})
        batches = start(SITE, fetcher).batches()
        async for batch in batches:
            if of(UrlRecord, batch):
                break
        assert await asyncio.to_thread(gate.reached.wait, MOST_SECONDS)
        leaving = asyncio.create_task(batches.aclose())
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not leaving.done()
        gate.is_open.set()
        await leaving
        assert fetcher.pages[A][0].taken == 2
        assert of_crawl() == []

    asyncio.run(main())


LEAVER = """
import os, sys, threading
sys.path[:0] = {paths!r}
from test_threads import SITE, of_crawl, three, numbered
from scripted_fetcher import Played
from sitemap_reader.client.crawler import url_batches
with url_batches(SITE, fetcher=Played(three(*(numbered(name, 5000) for name in "abcd")))) as stream:
    for some in stream:
        if {early}:
            break
files = len([each for each in os.listdir("/proc/self/fd")]) if os.path.isdir("/proc/self/fd") else 0
print(len(of_crawl()), len(threading.enumerate()), files)
"""


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False])
def test_nothing_stays_open_and_no_warning_is_given(early: bool) -> None:
    here = Path(__file__).parent
    code = LEAVER.format(early=early, paths=[str(here), str(here.parent)])
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # asyncio's debug mode also reports steps over 100 ms, which a busy machine has.
    warnings = [line for line in done.stderr.splitlines() if not re.fullmatch(r"Executing <.* took .* seconds", line)]
    assert (done.returncode, warnings) == (0, [])
    ours, threads, files = done.stdout.split()
    assert (ours, threads) == ("0", "1")
    assert int(files) <= 5  # stdin, stdout, stderr, and those of listing the files


# --- the same results as in one thread --------------------------------------------------------------------------


@attrs.frozen
class Walk:
    """A target, its pages, and options."""

    pages: Callable[[], dict[str, list[Page]]]
    target: str = SITE
    options: dict[str, Any] = attrs.field(factory=dict)


def fails(body: bytes, url: str | None, /, *, limits: Limits) -> Any:
    raise FallbackFailed("it has had enough")


def reset(*pieces: bytes) -> list[Page]:
    return page(*pieces, error=FetchError("reset"))


def split(body: bytes, size: int = 20_000) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def three(*bodies: bytes) -> dict[str, list[Page]]:
    """Some documents of a site."""
    urls = [f"{SITE}/{number}.xml" for number in range(len(bodies))]
    return {ROBOTS: robots(*urls), **{url: page(*split(body)) for url, body in zip(urls, bodies, strict=True)}}


def numbered(name: str, count: int) -> bytes:
    return urlset(*(f"{SITE}/{name}/{number}" for number in range(count)))


OLD = urlset(*(f"{SITE}/old/{number}" for number in range(50)), lastmod="2020-01-01")
EXTRA = urlset(f'<url><loc>{SITE}/x</loc><s:stock xmlns:s="urn:s" unit="a">3</s:stock></url>')
DATES = urlset(f"{HOST}/x/new", f"{HOST}/new").replace(b"</urlset>", b"") + OLD.partition(b">\n")[2]
BROKEN = b"<urlset>" + b"<url><loc>mailto:a</loc></url>\n" * 500
BLANKS = b"<urlset>\n" + b" " * 40_000
MIXED = mixed(3000)
LARGE_INDEX = index(*(f"{SITE}/{n}.xml" for n in range(5000)))
ONE_AT_ONCE = {"per_host": 1}
SINCE = Selection(Window(since=datetime(2025, 1, 1, tzinfo=UTC)))
SEVENS, PAGES = make_patterns("include", "/1.*7"), make_patterns("exclude", "page")
WALKS = {
    "several": Walk(lambda: three(numbered("a", 3000), numbered("b", 2000), numbered("c", 1))),
    "packed": Walk(lambda: three(gzip.compress(numbered("a", 3000)), gzip.compress(packed(numbered("b", 9))))),
    "packed, and cut": Walk(lambda: three(gzip.compress(numbered("a", 3000), mtime=0)[:9000], numbered("b", 5))),
    "damaged": Walk(lambda: three(many(50).replace(b"</url>", b"", 7), many(20).replace(b"</loc>", b"&x=1</loc>"))),
    "no sitemaps": Walk(lambda: three(b"<html><body>", b"", b"\0\1\2", b"<urls><url/></urls>")),
    "text": Walk(lambda: three(b"".join(f"{SITE}/{number}\n".encode() for number in range(2000)))),
    "broken off": Walk(lambda: {MAP: reset(*split(many(3000)[:100_000]))}, MAP),
    "broken off once": Walk(lambda: {MAP: [*reset(many(3000)[:100_000]), *page(many(3000))]}, MAP),
    "broken off before its first entry": Walk(lambda: {MAP: [*reset(BLANKS), *page(many(3))]}, MAP),
    "broken off once, packed": Walk(
        lambda: {MAP: [*reset(gzip.compress(many(3000), 1)[:9000]), *page(gzip.compress(many(3000), 9))]}, MAP),
    "only one try": Walk(lambda: {MAP: reset(many(3)[:-60])}, MAP, {"limits": Limits(tries=1)}),
    "another at the second try": Walk(
        lambda: {MAP: [*reset(many(3000)[:100_000]), *page(many(3000).replace(b"/page/7<", b"/page/x<"))]}, MAP),
    "shorter at the second try": Walk(lambda: {MAP: [*reset(many(3000)[:100_000]), *page(many(10))]}, MAP),
    "problems, and broken off": Walk(lambda: {MAP: reset(BROKEN)}, MAP),
    "proven late": Walk(lambda: proven_late(Page(split(MIXED))), options=ONE_AT_ONCE),
    "proven late, and broken off": Walk(
        lambda: proven_late(Page([MIXED]), *reset(MIXED[:100_000]), Page([MIXED])), options=ONE_AT_ONCE),
    "proven late, and broken off for good": Walk(
        lambda: proven_late(Page([MIXED]), *reset(MIXED[:100_000])), options=ONE_AT_ONCE),
    "begun before it is proven": Walk(lambda: proven_late(*reset(MIXED[:100_000]), Page([MIXED])), options=ONE_AT_ONCE),
    "proven late, by date": Walk(lambda: proven_late(Page([DATES])), options={**ONE_AT_ONCE, "selection": SINCE}),
    "feedparser": Walk(lambda: three(FEED, many(2)), options={"feed_fallback": feedparser_fallback}),
    "feedparser, and broken off": Walk(lambda: {MAP: reset(FEED)}, MAP, {"feed_fallback": feedparser_fallback}),
    "feedparser fails": Walk(lambda: three(FEED, many(2)), options={"feed_fallback": fails}),
    "too much for feedparser": Walk(
        lambda: three(FEED), options={"feed_fallback": fails, "limits": Limits(max_fallback_bytes=50)}),
    "decoded bytes": Walk(lambda: three(packed(many(3000))), options={"limits": Limits(max_decoded_bytes=100_000)}),
    "entries": Walk(lambda: three(many(3000), many(20)), options={"limits": Limits(max_entries=777)}),
    "repairs": Walk(lambda: three(many(50).replace(b"</loc>", b"&</loc>")), options={"limits": Limits(max_repairs=9)}),
    "since": Walk(lambda: three(many(200), OLD), options={"selection": SINCE}),
    "include": Walk(lambda: three(many(2000), OLD), options={"selection": Selection(include=SEVENS)}),
    "exclude": Walk(lambda: three(many(2000), OLD), options={"selection": Selection(exclude=PAGES)}),
    "extras": Walk(lambda: three(EXTRA), options={"extras": True}),
    "a large index": Walk(lambda: {MAP: page(*split(LARGE_INDEX)), f"{SITE}/9.xml": page(many(3))}, MAP,
                          {"limits": Limits(max_documents=2000)}),
    "guesses": Walk(lambda: {MAP: page(b"<html>"), f"{SITE}/sitemap_index.xml": page(b"<urls><url/></urls>"),
                             f"{SITE}/sitemap-index.xml": page(many(2))}),
    "what robots.txt forbids": Walk(
        lambda: {ROBOTS: page(f"User-agent: *\nDisallow: /no\nSitemap: {MAP}\nSitemap: {SITE}/no.xml".encode())}),
    "one byte at a time": Walk(lambda: {MAP: page(*(many(5)[n : n + 1] for n in range(len(many(5)))))}, MAP),
}


def walked(walk: Walk) -> tuple[list[Any], Played]:
    fetcher = Played(walk.pages())
    run = start(walk.target, fetcher, **walk.options)
    return asyncio.run(everything(run)), fetcher


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
def test_crawl_gives_the_same_in_several_threads(use_cores: Callable[[int], None], name: str) -> None:
    walk = WALKS[name]
    use_cores(1)
    one, here = walked(walk)
    use_cores(4)
    several, there = walked(walk)
    assert by_document(several) == by_document(one)
    assert Counter(there.requested) == Counter(here.requested)
    assert not there.open


@pytest.mark.slow
def test_every_document_of_the_corpus_is_read_the_same_in_one_walk(use_cores: Callable[[int], None]) -> None:
    urls = {f"https://example.com/{case.name}": page(*split(case.body)) for case in cases()}
    assert len(urls) > 300
    pages = {"https://example.com/robots.txt": robots(*urls), **urls}
    walk = Walk(lambda: pages, "https://example.com", {"feed_fallback": fallback})
    use_cores(1)
    one, _ = walked(walk)
    use_cores(4)
    several, _ = walked(walk)
    # Which index reports a child first depends on the order of arrival.
    pages_of = [name for name in urls if "/index/" not in name]
    here, there = by_document(one), by_document(several)
    assert {url: there[url] for url in pages_of} == {url: here[url] for url in pages_of}


@pytest.mark.parametrize("name", ["shop", "broken", "cross-submission", "nesting", "trouble"])
def test_site_of_the_corpus_is_read_the_same(use_cores: Callable[[int], None], name: str) -> None:
    reported = []
    for cores in (1, 4):
        use_cores(cores)
        items: list[Any] = []
        with url_batches(SITES / name, on_item=items.append) as stream:
            given = sorted(line for some in stream for line in encode_urls(some, site="it").splitlines())
        reported.append((given, by_document(items), attrs.evolve(stream.summary, seconds=0.0)))
    assert reported[0] == reported[1]
    assert reported[0][0]
