"""Crawls with scripted responses: flow control, ends, faults, and requests."""

import asyncio
import gzip
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from kit import pieces
from scripted_fetcher import (
    HOST,
    MAP,
    ROBOTS,
    SHARED,
    SITE,
    Clock,
    Page,
    Played,
    everything,
    index,
    many,
    mixed,
    of,
    outcome_of,
    packed,
    page,
    proven_late,
    read,
    robots,
    start,
    tick,
    urlset,
)

import sitemap_reader as sr
from sitemap_reader import FetchError, Limits, Outcome, Problem, SitemapRef, UrlRecord
from sitemap_reader.fetch import Response
from sitemap_reader.frontier import Selection, Window
from sitemap_reader.model import UrlBatch, items_of
from sitemap_reader.pipeline import Crawl, Stopwatch

# --- items ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_bytes_become_records_then_an_outcome(size: int) -> None:
    body = many(20)
    items, fetcher = read(SITE, {ROBOTS: robots(MAP), MAP: page(*pieces(body, size))})
    assert [record.loc for record in of(UrlRecord, items)] == [f"{SITE}/page/{number}" for number in range(20)]
    assert isinstance(items[-1], Outcome)
    outcome = outcome_of(MAP, items)
    assert (outcome.complete, outcome.kept, outcome.bytes_wire) == (True, 20, len(body))
    assert fetcher.requested == [ROBOTS, MAP]
    assert not fetcher.open


def test_children_are_returned_and_followed_before_their_index_ends() -> None:
    """A slow rest of an index does not delay its first children."""

    async def main() -> list[str]:
        gate = asyncio.Event()
        child = f"{SITE}/child.xml"
        head, tail = index(child, *(f"{SITE}/{'x' * 100}/{number}.xml" for number in range(200))), b"<!-- -->"
        fetcher = Played({MAP: page(head, tail), child: page(urlset(f"{SITE}/1"))})
        index_page = fetcher.pages[MAP][0]
        seen: list[str] = []
        async for batch in start(MAP, fetcher).batches():
            for item in batch:
                if isinstance(item, UrlBatch):
                    seen.append(f"URLs, index {'open' if MAP in fetcher.open else 'closed'}")
                    gate.set()
                elif isinstance(item, SitemapRef) and not seen:
                    index_page.gate = gate
                    seen.append("child")
        return seen[:2]

    assert asyncio.run(main()) == ["child", "URLs, index open"]


def cut_member(body: bytes) -> bytes:
    """A gzip member up to the end of a block."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(body) + packer.flush(zlib.Z_FULL_FLUSH)


@pytest.mark.parametrize(("head", "unit", "code", "complete", "taken"), [
    (gzip.compress(many(20)), b"\0", "F07", True, 20),
    (gzip.compress(many(20)), b"junk", "F07", True, 2),
    (cut_member(many(20)[:-9]), b"\0\0\0\xff\xff", "F07", False, 20),
    (many(20), b" ", "S16", False, 50),
], ids=["NUL behind gzip", "junk behind gzip", "empty blocks", "blanks"])
def test_endless_body_is_abandoned(head: bytes, unit: bytes, code: str, complete: bool, taken: int) -> None:
    chunk = unit * (65536 // len(unit))
    endless = page(head, *[chunk] * 1000)
    items, fetcher = read(MAP, {MAP: endless}, limits=Limits(max_wire_bytes=48 * 65536))
    assert len(of(UrlRecord, items)) == 20
    outcome = outcome_of(MAP, items)
    assert (code in outcome.problems, outcome.complete) == (True, complete)
    assert outcome.bytes_wire <= len(head) + taken * len(chunk)
    assert not fetcher.open


@pytest.mark.parametrize("pack", [zlib.compress, lambda body: zlib.compress(body)[2:-4]], ids=["zlib", "raw"])
def test_content_encoding_of_a_response_is_obeyed(pack: Callable[[bytes], bytes]) -> None:
    sent = {"content-encoding": "deflate"}
    lines = f"Sitemap: {MAP}\nUser-agent: *\nDisallow: /no.xml\n".encode()
    pages = {ROBOTS: page(pack(lines), headers=sent), MAP: page(pack(many(20)), headers=sent)}
    items, _ = read(SITE, pages)
    assert len(of(UrlRecord, items)) == 20
    assert outcome_of(ROBOTS, items).bytes_decoded == len(lines)
    items, _ = read(MAP, {MAP: page(b"\x8b\x02" * 100, headers={"content-encoding": "compress"})})
    assert any(problem.code == "S15" and "compress" in problem.message for problem in of(Problem, items))


def test_a_fetcher_gets_urls_without_userinfo() -> None:
    """A client such as httpx would send it, in place of an Authorization header."""
    child = f"{SITE}/child.xml"
    pages = {MAP: page(index(child.replace("//", "//me:pw@"))), child: page(many(3))}
    items, fetcher = read(MAP, pages)
    assert (fetcher.requested[-1], len(of(UrlRecord, items))) == (child, 3)


def test_names_of_headers_may_have_capitals() -> None:
    moved = f"{SITE}/moved.xml"
    head = {"ETag": '"1"', "Last-Modified": "Wed, 03 Jun 2014 10:30:00 GMT", "Content-Type": "text/html"}
    pages = {MAP: page(status=301, headers={"Location": moved}), moved: page(many(3), headers=head)}
    items, fetcher = read(MAP, pages)
    assert fetcher.requested == [ROBOTS, MAP, moved]
    outcome = outcome_of(MAP, items)
    assert (outcome.etag, outcome.last_modified) == (head["ETag"], head["Last-Modified"])
    assert "F06" in outcome.problems


def test_bytes_on_the_wire_are_counted() -> None:
    fetcher = Played({ROBOTS: robots(MAP), MAP: page(many(3))})
    run = start(SITE, fetcher)
    asyncio.run(everything(run))
    assert run.bytes_wire == len(many(3)) + len(fetcher.pages[ROBOTS][0].pieces[0])


@pytest.mark.parametrize(("length", "is_small"), [
    *(("1", True), ("400", True), ("32767", True), ("32768", False), (None, False)),
    *(("9" * 5000, False), ("-1", False), ("x", False), ("", False), ("٣", False)),
])
def test_next_request_starts_before_a_small_body_is_parsed(length: str | None, is_small: bool) -> None:
    """A body is small by its Content-Length; its records come when it is complete."""
    first, second = f"{SITE}/1.xml", f"{SITE}/2.xml"
    headers = {} if length is None else {"content-length": length}

    async def main() -> list[tuple[str, list[str]]]:
        body = many(3)
        pages = {each: page(body[:150], body[150:], headers=headers) for each in (first, second)}
        fetcher = Played({MAP: page(index(first, second)), **pages})
        return [
            (item.sitemap, fetcher.requested[-1:])
            async for batch in start(MAP, fetcher, per_host=1).batches()
            for item in of(UrlRecord, batch)
        ]

    requested_by_then = second if is_small else first
    assert asyncio.run(main()) == [(first, [requested_by_then])] * 3 + [(second, [second])] * 3


class ConvertsAtTheEnd(Played):
    """Its chunks raise the error of a library, which fetch() converts as it leaves: the fetcher of docs/python.md."""

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        try:
            async with super().fetch(url, headers) as response:
                yield response
        except KeyError as error:
            raise FetchError(f"KeyError: {error}", transient=False) from error


@pytest.mark.parametrize("headers", [{"content-length": "900"}, {}], ids=["small", "of unknown length"])
def test_received_part_is_read_where_fetch_converts_the_error_of_the_body(headers: dict[str, str]) -> None:
    fetcher = ConvertsAtTheEnd({MAP: page(many(9)[:500], headers=headers, error=KeyError("reset"))})
    items = asyncio.run(everything(start(MAP, fetcher)))
    assert [record.loc for record in of(UrlRecord, items)] == [f"{SITE}/page/{number}" for number in range(6)]
    outcome = outcome_of(MAP, items)
    assert (outcome.problems["F04"], outcome.complete) == (1, False)


def test_body_longer_than_its_content_length_is_not_buffered() -> None:
    async def main() -> int:
        body = many(8_000)
        fetcher = Played({MAP: page(*pieces(body, 1_000), headers={"content-length": "9"})})
        async for batch in start(MAP, fetcher).batches():
            if of(UrlRecord, batch):
                return fetcher.pages[MAP][0].taken
        return 0

    assert 0 < asyncio.run(main()) < 100


def test_well_known_path_without_a_sitemap_is_not_reported() -> None:
    html, right = f"{SITE}/sitemap_index.xml", f"{SITE}/sitemap-index.xml"
    pages = {MAP: page(b"<html>"), html: page(b"<urls><url/></urls>"), right: page(many(2))}
    items, fetcher = read(SITE, pages)
    assert fetcher.requested == [ROBOTS, f"{SITE}/", MAP, html, right]
    assert of(Problem, items) == []
    assert [outcome.url for outcome in of(Outcome, items)] == [ROBOTS, right]
    assert len(of(UrlRecord, items)) == 2


def test_well_known_path_with_a_sitemap_is_reported() -> None:
    body = urlset(f"{SITE}/1", f"{SITE}/2", ns="")
    items, _ = read(SITE, {MAP: page(*(body[n : n + 1] for n in range(len(body))))})
    assert [problem.code for problem in of(Problem, items)] == ["S02"]
    assert len(of(UrlRecord, items)) == 2


def test_sniffing_reads_no_further_than_the_format() -> None:
    body = many(5000)
    fetcher = Played({ROBOTS: robots(MAP), MAP: page(*pieces(body, 1000))})
    run = start(SITE, fetcher, sniff_only=True, descend=False)
    items = asyncio.run(everything(run))
    assert of(UrlRecord, items) == []
    assert fetcher.pages[MAP][0].taken < 10
    (candidate,) = run.frontier.sites[0].candidates
    assert (candidate.url, candidate.format, candidate.status) == (MAP, "urlset", 200)


def test_document_that_needs_no_more_bytes_is_closed() -> None:
    items, fetcher = read(MAP, {MAP: page(many(10), *[b"x" * 1000] * 500)}, limits=Limits(max_entries=5))
    assert len(of(UrlRecord, items)) == 5
    assert fetcher.pages[MAP][0].taken < 10
    assert not outcome_of(MAP, items).complete


# --- flow control ---------------------------------------------------------------------------------------------


def test_slow_consumer_slows_the_network() -> None:
    async def main() -> int:
        body = many(20_000)
        assert len(pieces(body, 16_384)) > 60
        fetcher = Played({MAP: page(*pieces(body, 16_384))})
        batches = start(MAP, fetcher).batches()
        async for batch in batches:
            if of(UrlRecord, batch):
                break
        for _ in range(2000):
            await asyncio.sleep(0)
        await batches.aclose()
        return fetcher.pages[MAP][0].taken

    assert asyncio.run(main()) < 20


def test_leaving_early_closes_every_request() -> None:
    async def main() -> tuple[set[str], int]:
        urls = [f"{SITE}/{number}.xml" for number in range(4)]
        stuck = asyncio.Event()
        pages = {url: page(many(20_000), many(1), gate=stuck if number else None) for number, url in enumerate(urls)}
        fetcher = Played({ROBOTS: robots(*urls), **pages})
        batches = start(SITE, fetcher).batches()
        async for batch in batches:
            if of(UrlRecord, batch):
                break
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(fetcher.open) == 4
        await batches.aclose()
        return fetcher.open, len(asyncio.all_tasks())

    assert asyncio.run(main()) == (set(), 1)


def test_a_bug_in_a_fetcher_ends_the_run_instead_of_hanging_it() -> None:
    boom = LookupError("not a network's fault")
    with pytest.raises(LookupError) as caught:
        read(MAP, {MAP: page(error=boom), ROBOTS: robots()})
    assert caught.value is boom


# --- faults of the network ------------------------------------------------------------------------------------


RESET, GONE, CANCELLED = FetchError("reset"), FetchError("gone", transient=False), asyncio.CancelledError()
WHOLE = many(3000)
CUT = Page([WHOLE[:100_000]], error=RESET)
ONE, TWO = (gzip.compress(WHOLE, level, mtime=level) for level in (1, 9))
CHANGED, BROKE_OFF, BY_FETCHER = "F04 between two tries", "F04 reset", "F04 the fetcher cancelled the request"
# The answers, the number of URLs that they give (None: a part of 3,000), how often the document is requested, and
# the problem of its transfer, if any. A retry begins with the same bytes: no URL is repeated, and none is missing.
TRIES: dict[str, tuple[list[Page], int | None, int, str]] = {
    "a small body": ([Page([many(9)[:500]], headers={"content-length": "900"}, error=GONE)], 6, 1, "F04 gone"),
    "no byte": ([Page(error=RESET)], 0, 3, BROKE_OFF),
    "cancelled": ([Page(error=CANCELLED)], 0, 3, BY_FETCHER),
    "cancelled in the body": ([Page([many(3)[:200]], error=CANCELLED)], 2, 3, BY_FETCHER),
    "each breaks off": ([CUT], None, 3, BROKE_OFF),
    "the same": ([CUT, Page([WHOLE])], 3000, 2, ""),
    "the same, packed otherwise": ([Page([ONE[: len(ONE) // 2]], error=RESET), Page([TWO])], 3000, 2, ""),
    "one other URL": ([CUT, Page([WHOLE.replace(b"/page/7<", b"/page/x<")])], None, 2, CHANGED),
    "fewer URLs": ([CUT, Page([many(10)])], None, 2, CHANGED),
    "empty": ([CUT, Page([b""])], None, 2, CHANGED),
    "a login": ([CUT, Page([b"<!DOCTYPE html><html><body>Log in</body></html>"])], None, 2, CHANGED),
    "404": ([CUT, Page(status=404)], None, 2, "F01 404"),
    "304": ([CUT, Page(status=304)], None, 2, "F18 304"),
    "206": ([CUT, Page([WHOLE], status=206)], None, 2, "F18 206"),
    "refused": ([CUT, Page(error=GONE)], None, 2, "F04 gone"),
}


def read_ticking(answers: list[Page]) -> tuple[list[Any], Played]:
    """Reads a sitemap with these answers, while the time of the waits passes."""

    async def main() -> tuple[list[Any], Played]:
        fetcher = Played({MAP: [*answers]})
        run = start(MAP, fetcher)
        ticking = asyncio.create_task(tick(fetcher.clock))
        items = await everything(run)
        ticking.cancel()
        return items, fetcher

    return asyncio.run(main())


@pytest.mark.parametrize("case", TRIES)
def test_tries_of_a_document_give_its_urls_once(case: str) -> None:
    answers, count, requests, failure = TRIES[case]
    items, fetcher = read_ticking(answers)
    found = of(UrlRecord, items)
    assert len(found) == count if count is not None else 1000 < len(found) < 3000
    assert [record.loc for record in found] == [f"{SITE}/page/{number}" for number in range(len(found))]
    outcome = outcome_of(MAP, items)
    assert (outcome.complete, outcome.kept, outcome.format) == (not failure, len(found), "urlset" if found else None)
    problems = [(problem.code, problem.message) for problem in of(Problem, items) if problem.code != "S01"]
    code, _, part = failure.partition(" ")
    assert [(each, part in message) for each, message in problems] == ([(code, True)] if failure else [])
    assert {each: count for each, count in outcome.problems.items() if each != "S01"} == ({code: 1} if failure else {})
    assert fetcher.requested.count(MAP) == requests
    assert not fetcher.open


@pytest.mark.parametrize("broken", [
    Page(error=FetchError("refused")),
    Page([b"<"], error=RESET),
    Page([b"<urlset>\n<url><loc>https://shop"], error=RESET),
    Page([b"<urlset>\n" + b" " * 40_000 + b"<url><loc>https://shop"], error=RESET),
    Page(status=503),
])
def test_retry_before_the_first_entry_starts_anew(broken: Page) -> None:
    """Problems of a document that is tried twice are reported once, by the last try."""
    items, fetcher = read_ticking([broken, Page([urlset(*(f"{SITE}/page/{number}" for number in range(3)), ns="")])])
    assert [record.loc for record in of(UrlRecord, items)] == [f"{SITE}/page/{number}" for number in range(3)]
    assert [problem.code for problem in of(Problem, items)] == ["S02"]
    assert outcome_of(MAP, items).problems == {"S02": 1}
    assert outcome_of(MAP, items).complete
    assert fetcher.requested.count(MAP) == 2


@pytest.mark.slow
def test_many_problems_before_the_first_entry_are_reported_once() -> None:
    """Above a number they are no longer deferred, and a retry does not report them again."""
    bad = urlset(*["mailto:a"] * 5000).removesuffix(b"</urlset>\n")
    items, fetcher = read(MAP, {MAP: page(bad, error=FetchError("reset"))})
    assert fetcher.requested.count(MAP) == Limits().tries
    assert len([problem for problem in of(Problem, items) if problem.code == "U02"]) == 5000
    assert outcome_of(MAP, items).problems["U02"] == 5000


@pytest.mark.parametrize(("seconds", "complete"), [(9.9, True), (10.1, False)])
def test_document_seconds_limits_network_time(seconds: float, complete: bool) -> None:
    body = many(2000)
    limits = Limits(document_seconds=10.0 * len(pieces(body, 20_000)), tries=1)
    items, _ = read(MAP, {MAP: page(*pieces(body, 20_000), seconds=seconds)}, limits=limits)
    assert outcome_of(MAP, items).complete is complete
    messages = [problem.message for problem in of(Problem, items) if problem.code == "F04"]
    assert [("document_seconds" in message) for message in messages] == ([] if complete else [True])


@pytest.mark.parametrize(("seconds", "requested"), [(9.0, 3), (16.0, 2)])
def test_document_seconds_covers_all_tries(seconds: float, requested: int) -> None:
    cut = page(many(100)[:3000], seconds=seconds, error=FetchError("reset"))
    items, fetcher = read(MAP, {MAP: cut}, limits=Limits(document_seconds=30.0, tries=3))
    assert fetcher.requested.count(MAP) == requested
    (message,) = [problem.message for problem in of(Problem, items) if problem.code == "F04"]
    assert ("document_seconds" in message) == (requested < 3)


HELD = f"{SITE}/held.xml"


def over_time(limit: float, seconds: float) -> tuple[Crawl, list[Any], Played]:
    """A crawl whose second document comes after `seconds`, and whose third never comes."""

    async def main() -> tuple[Crawl, list[Any], Played]:
        pages = {
            MAP: page(index(f"{SITE}/a.xml", HELD)),
            f"{SITE}/a.xml": page(many(10), seconds=seconds),
            HELD: page(urlset(f"{SITE}/held"), gate=asyncio.Event()),
        }
        fetcher = Played({ROBOTS: robots(MAP), **pages})
        crawl = start(SITE, fetcher, limits=Limits(site_seconds=limit, min_bytes_per_second=0, read_seconds=99.0))
        items: list[Any] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5), aclosing(crawl.batches()) as batches:
                async for batch in batches:
                    items += items_of(batch)
        return crawl, items, fetcher

    return asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "ends"), [(29.0, False), (31.0, True)])
def test_site_seconds_ends_a_crawl_in_order(seconds: float, ends: bool) -> None:
    crawl, items, fetcher = over_time(30.0, seconds)
    assert len(of(UrlRecord, items)) == 10, "what was read is kept"
    assert (crawl.over_time is not None) is ends
    if ends:
        assert items[-1] is crawl.over_time
        message = "after 30 s of waiting: reading stops here; raise site_seconds (--site-seconds) to go on"
        assert (items[-1].code, items[-1].message, items[-1].sitemap) == ("S16", message, SITE)
    assert HELD not in {outcome.url for outcome in of(Outcome, items)}
    assert not fetcher.open


@pytest.mark.slow
def test_time_of_the_consumer_does_not_count_as_time_of_the_site() -> None:
    async def main() -> list[Any]:
        fetcher = Played({MAP: page(*pieces(many(500), 2_000), prompt=True)})
        items = []
        async with asyncio.timeout(10):
            async for batch in start(MAP, fetcher, limits=Limits(site_seconds=0.5)).batches():
                await asyncio.sleep(0.04)  # 20 batches: more than the limit in all
                items += batch
        return items

    assert not [problem for problem in of(Problem, asyncio.run(main())) if problem.code == "S16"]


def test_a_stopwatch_counts_no_pause_however_many_overlap() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    watch.start()
    clock.now = 1.0
    with watch.paused():
        clock.now = 2.0
        with watch.paused():
            clock.now = 4.0
        clock.now = 8.0
        assert watch.look() == 1.0
    clock.now = 8.5
    assert watch.look() == 1.5


@pytest.mark.parametrize(("rate", "complete"), [(1000, True), (1001, False)])
def test_transfer_below_the_minimum_rate_is_ended(rate: int, complete: bool) -> None:
    body = many(800)
    body += b" " * (-len(body) % 10_000)
    limits = Limits(min_bytes_per_second=rate, min_rate_after_seconds=25.0, document_seconds=1e6, tries=1)
    items, _ = read(MAP, {MAP: page(*pieces(body, 10_000), seconds=10.0)}, limits=limits)
    assert outcome_of(MAP, items).complete is complete
    assert ("min_bytes_per_second" in str([problem.message for problem in of(Problem, items)])) is not complete


def test_time_of_the_consumer_does_not_count_as_network_time() -> None:
    async def main() -> list[Any]:
        body = many(2000)
        fetcher = Played({MAP: page(*pieces(body, 10_000), prompt=True)})
        items = []
        async with asyncio.timeout(10):
            async for batch in start(MAP, fetcher, limits=Limits(document_seconds=50.0, tries=1)).batches():
                fetcher.clock.now += 40.0
                items += batch
        return items

    items = asyncio.run(main())
    assert outcome_of(MAP, items).complete
    assert len(of(UrlRecord, items)) == 2000


def test_fetcher_without_a_response_times_out() -> None:
    """Whatever timeouts the fetcher has: the head has the time that the limits leave."""

    class Stuck(Played):
        @asynccontextmanager
        async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
            if url == MAP:
                self.requested.append(url)
                await asyncio.Event().wait()
            async with super().fetch(url, headers) as response:
                yield response

    fetcher = Stuck({})
    limits = Limits(connect_seconds=0.01, read_seconds=0.01, min_rate_after_seconds=0.01, tries=1)
    items = asyncio.run(everything(start(MAP, fetcher, limits=limits)))
    assert fetcher.requested == [ROBOTS, MAP]
    (problem,) = of(Problem, items)
    assert str(problem).startswith(f"F04 {MAP}: the head of the answer was not here after 0.03 s (connect_seconds + ")


AGENT = "another User-Agent (-A, user_agent=...)"


@pytest.mark.parametrize(("error", "message"), [
    (FetchError("reset"), f"reset; try again later, or with {AGENT}"),
    (FetchError("no TLS", transient=False), f"no TLS; try {AGENT}, or have this one allow-listed"),
    (FetchError("10.0.0.1: not listed", code="F13", transient=False), "10.0.0.1: not listed"),
    (FetchError("not listed", transient=False, remedy="see the wiki"), "not listed; see the wiki"),
    (FetchError("not listed; try it", transient=False, remedy=""), "not listed; try it"),
], ids=str)
def test_a_remedy_is_that_of_the_error_or_fits_it(error: FetchError, message: str) -> None:
    target = "https://other.example/robots.txt"
    redirect = page(status=302, headers={"location": target})
    is_by_status = error.code == "F04" and error.remedy is None  # that of the redirect
    for pages in [{ROBOTS: page(error=error)}, {ROBOTS: redirect, target: page(error=error)}][
        : 1 if is_by_status else 2
    ]:
        items, _ = read(SITE, pages, limits=Limits(tries=1))
        assert [each.message for each in of(Problem, items) if each.severity == "error"] == [message]


def test_control_characters_in_the_text_of_an_error_are_escaped() -> None:
    error = FetchError("\x1b[31mreset\r\nby peer", transient=False, remedy="see\x07 the wiki")
    items, _ = read(SITE, {ROBOTS: page(error=error)})
    texts = [str(each) for each in of(Problem, items)]
    assert f"F04 {ROBOTS}: \\x1b[31mreset\\r\\nby peer; see\\x07 the wiki" in texts
    assert all(text.isprintable() for text in texts)


def test_no_option_is_named_for_the_user_agent_that_a_fetcher_of_ones_own_sends() -> None:
    for reply in (page(error=FetchError("reset")), page(status=403)):
        with pytest.raises(sr.NothingReadable, match=r"another User-Agent(?! \()"):
            list(sr.urls(SITE, fetcher=Played({ROBOTS: reply}), limits=Limits(tries=1)))


def test_the_seconds_of_a_document_are_in_its_outcome() -> None:
    items, _ = read(MAP, {MAP: page(many(3), seconds=1.25)})
    assert outcome_of(MAP, items).seconds == 1.25


@pytest.mark.parametrize("retry", [Page(error=RESET), Page(status=404), None], ids=["no answer", "gone", "whole"])
def test_selected_children_of_an_index_that_broke_off_are_read(retry: Page | None) -> None:
    children = [f"{SITE}/{number}.xml" for number in range(2_000)]
    body = index(*children)
    pages = {ROBOTS: robots(MAP), MAP: [Page([body[: len(body) // 2]], error=RESET), retry or Page([body])]}
    fetcher, given = Played(pages), 0

    def select(refs: list[SitemapRef]) -> list[SitemapRef]:
        nonlocal given
        given += len(refs)
        return [ref for ref in refs if ref.loc == children[7]]

    run = start(SITE, fetcher, select_children=select, probe="never", limits=Limits(tries=2))
    asyncio.run(everything(run))
    assert fetcher.requested.count(children[7]) == 1
    assert len(set(fetcher.requested)) == 3
    assert given == len(children) if retry is None else 0 < given < len(children)
    assert run.frontier.pruned == {"filter": given - 1}


# --- URLs that a robots.txt verifies later ------------------------------------------------------------------


def test_urls_that_are_verified_late_come_at_the_end_of_their_document() -> None:
    body = mixed(100).replace(b"</urlset>", b"<sitemap><loc>/x/t.xml</loc></sitemap></urlset>")
    items, fetcher = read(SITE, proven_late(Page([body])), per_host=1)
    assert fetcher.requested.count(SHARED) == 1
    lines = [record.line for record in of(UrlRecord, items)]
    assert lines == [*range(3, 102, 2), *range(2, 101, 2)]
    outcome = outcome_of(SHARED, items)
    assert (outcome.kept, outcome.dropped, outcome.entries) == (101, {}, 101)
    assert not any(record.problems for record in of(UrlRecord, items))


def test_problems_of_urls_that_are_verified_late_are_reported_once() -> None:
    """For a URL out of scope only what is wrong with its loc and its markup is reported."""
    entry = b"<url><loc>%s</loc><lastmod>Mon</lastmod><cat/><priority>9</priority></url>"
    locs = [f"{HOST}/x/1#a".encode(), f"{HOST}/2#b".encode(), b"https://other.example/3"]
    body = b"<urlset>" + b"\n".join(entry % loc for loc in locs) + b"</urlset>"
    items, _ = read(SITE, proven_late(Page([body])), per_host=1)
    reported = Counter((problem.code, problem.line) for problem in of(Problem, items) if problem.sitemap == SHARED)
    once = [("S02", None), ("S10", 3), ("U04", 3)]  # and no U05 of line 2, which is kept in the end
    assert reported == Counter([*once, *((code, line) for code in ("U08", "S10", "D01", "H02") for line in (1, 2))])
    expected = {"S02": 1, "U08": 2, "S10": 3, "D01": 2, "H02": 2, "U04": 1}
    assert outcome_of(SHARED, items).problems == expected, "as it is in the end"


def scope_problems(items: list[Any]) -> Counter[str]:
    return Counter(each.code for each in of(Problem, items) if each.sitemap == SHARED and each.code in ("U04", "U05"))


def in_outcome(outcome: Outcome) -> Counter[str]:
    return Counter({code: outcome.problems[code] for code in ("U04", "U05") if code in outcome.problems})


def test_a_url_that_is_kept_later_was_never_a_problem() -> None:
    outside = "".join(f"<url><loc>https://other.example/{number}</loc></url>" for number in range(700))
    body = mixed(1_000).replace(b"</urlset>", outside.encode() + b"</urlset>")
    items, _ = read(SITE, proven_late(Page([body])), per_host=1)
    outcome = outcome_of(SHARED, items)
    assert (outcome.kept, outcome.dropped) == (1_000, {"host": 700})
    assert scope_problems(items) == in_outcome(outcome) == {"U04": 700}
    assert {sample.code for sample in outcome.samples} == {"U04"}
    assert len(of(UrlRecord, items)) == 1_000


def test_problems_of_scope_come_before_their_outcome() -> None:
    items, _ = read(SITE, proven_late(Page([urlset("https://other.example/1")])), per_host=1)
    ends = [each for each in items if getattr(each, "url", "") == SHARED or getattr(each, "sitemap", "") == SHARED]
    assert [type(each).__name__ for each in ends][-2:] == ["Problem", "Outcome"]


MIXED, IN_ORDER = mixed(3000), [*range(3, 3002, 2), *range(2, 3001, 2)]
LATE = Page([MIXED[:100_000]], error=RESET)


@pytest.mark.parametrize(("answers", "requests"), [
    ([Page([MIXED])], 1),
    ([Page([packed(MIXED)])], 1),
    ([LATE, Page([MIXED])], 2),
], ids=["whole", "packed", "broken off"])
@pytest.mark.parametrize("memory_bytes", [0, 1 << 30], ids=["on disk", "in memory"])
def test_urls_that_wait_are_kept_over_tries_and_on_disk(
    answers: list[Page], requests: int, memory_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sitemap_reader.pipeline.out_of_scope._MEMORY_BYTES", memory_bytes)
    items, fetcher = read(SITE, proven_late(*answers), per_host=1)
    outcome = outcome_of(SHARED, items)
    assert [record.line for record in of(UrlRecord, items)] == IN_ORDER
    assert (outcome.kept, outcome.dropped, outcome.complete) == (3000, {}, True)
    assert not scope_problems(items)
    assert not in_outcome(outcome)
    assert fetcher.requested.count(SHARED) == requests


def test_urls_of_a_broken_document_are_verified_late_too() -> None:
    items, _ = read(SITE, proven_late(LATE), per_host=1)
    lines, outcome = [record.line for record in of(UrlRecord, items)], outcome_of(SHARED, items)
    assert 1000 < len(set(lines)) == len(lines) < 3000
    assert (outcome.kept, outcome.dropped, outcome.complete) == (len(lines), {}, False)


def test_urls_that_are_verified_late_obey_the_date_filter() -> None:
    entries = urlset(f"{HOST}/x/new", f"{HOST}/new") + b""
    old = urlset(f"{HOST}/x/old", f"{HOST}/old", lastmod="2020-01-01")
    body = entries.replace(b"</urlset>", b"") + old.partition(b">\n")[2]
    window = Window(since=datetime(2025, 1, 1, tzinfo=UTC))
    items, _ = read(SITE, proven_late(Page([body])), per_host=1, selection=Selection(window))
    assert [record.loc for record in of(UrlRecord, items)] == [f"{HOST}/x/new", f"{HOST}/new"]
    outcome = outcome_of(SHARED, items)
    assert (outcome.kept, outcome.dropped) == (2, {"date": 2})


# --- compression ----------------------------------------------------------------------------------------------


def test_bomb_is_returned_in_small_batches() -> None:
    """A few bytes with a large decoded size: no batch is large, and the limit applies."""

    async def main() -> tuple[int, list[Any]]:
        fetcher = Played({MAP: page(packed(many(50_000)))})
        largest, items = 0, []
        async for batch in start(MAP, fetcher).batches():
            some = [*items_of(batch)]
            largest = max(largest, len(some))
            items += some
        return largest, items

    largest, items = asyncio.run(main())
    assert len(of(UrlRecord, items)) == 50_000
    assert largest < 5000
    assert outcome_of(MAP, items).complete
