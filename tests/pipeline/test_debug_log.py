"""The DEBUG lines of the logger "sitemap_reader", and Progress.waits: what a crawl does and waits for."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from kit import HOST as A
from kit import NOT_FOUND, Site, index

import sitemap_reader as sr
from sitemap_reader.client import find_target
from sitemap_reader.frontier import Frontier, Plan, Wait

B = "https://b.example"
ROBOTS, INDEX, CHILD = f"{A}/robots.txt", f"{A}/index.xml", f"{A}/1.xml"
PAGE = b"<urlset><url><loc>https://a.example/page</loc></url></urlset>"
BUSY = 503, {"retry-after": "2"}, b""


def old(*locs: str) -> bytes:
    return index(*locs).replace(b"</loc>", b"</loc><lastmod>2020-01-31</lastmod>")


async def a_second() -> None:
    await asyncio.sleep(1.0)


async def a_tick() -> None:
    await asyncio.sleep(0.1)


async def outcomes_of(reader: sr.SitemapReader, target: str, **query: Any) -> dict[str, sr.Outcome]:
    stream = reader.urls(target, **query)
    try:
        async for _ in stream:
            pass
    except (sr.NothingFound, sr.NothingReadable):
        pass
    return {outcome.url or "": outcome for outcome in stream.outcomes}


def read(pages: dict[str, Any], target: str = INDEX, **options: Any) -> dict[str, sr.Outcome]:
    query = {name: options.pop(name) for name in ("since", "follow", "no_follow", "trust_lastmod") if name in options}

    async def run() -> dict[str, sr.Outcome]:
        async with sr.SitemapReader(fetcher=Site(pages), **options) as reader:
            return await outcomes_of(reader, target, **query)

    return asyncio.run(run())


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., list[Any]]]:
    """The values of the lines of an event: those that are named, of one the value itself."""
    caplog.set_level(logging.DEBUG, "sitemap_reader")

    def values(event: str, *names: str) -> list[Any]:
        records = [record for record in caplog.records if getattr(record, "event", None) == event]
        found = [tuple(getattr(record, name) for name in names) for record in records]
        return [each[0] for each in found] if len(names) == 1 else found

    yield values
    assert {record.levelno for record in caplog.records if record.name == "sitemap_reader"} <= {logging.DEBUG}
    assert all(record.getMessage().isprintable() for record in caplog.records if record.name == "sitemap_reader")


pytestmark = pytest.mark.usefixtures("virtual_time")


def test_a_host_that_is_busy_twice_leaves_its_lines_waits_and_tries(log: Any) -> None:
    seen: list[sr.client.Progress] = []

    async def run() -> sr.client.AsyncStream[Any]:
        async with sr.SitemapReader(fetcher=Site({INDEX: [BUSY, BUSY, PAGE]})) as reader, reader.urls(INDEX) as stream:

            async def look() -> None:
                while True:
                    await asyncio.sleep(0.5)
                    seen.append(attrs.evolve(stream.progress))

            looking = asyncio.create_task(look())
            assert [url.loc async for url in stream] == [f"{A}/page"]
            looking.cancel()
            return stream

    stream = asyncio.run(run())
    assert {outcome.url: outcome.tries for outcome in stream.outcomes} == {ROBOTS: 1, INDEX: 3}
    waits = [wait for progress in seen for wait in progress.waits]
    assert {(wait.host, wait.reason, wait.status) for wait in waits} == {(A, "retry-after", 503)}
    assert len(waits) >= 6  # every half second
    assert all(wait.seconds is not None and 0.0 <= wait.seconds <= 2.0 for wait in waits)
    assert (stream.progress.retries, stream.progress.waits) == (2, ())
    assert log("retry", "url", "tries", "seconds", "cause") == [
        (INDEX, tries, pytest.approx(2.0), "503 Service Unavailable") for tries in (1, 2)
    ]
    assert log("wait", "host", "reason", "status") == [(A, "retry-after", 503)] * 2
    assert log("request", "method", "url", "tries") == [
        ("GET", ROBOTS, 1), *(("GET", INDEX, tries) for tries in (1, 2, 3))
    ]
    assert log("response", "url", "status", "bytes") == [
        (ROBOTS, 404, len(NOT_FOUND[2])), (INDEX, 503, 0), (INDEX, 503, 0), (INDEX, 200, len(PAGE)),
    ]
    assert log("end", "url", "entries", "kept", "complete", "tries") == [
        (ROBOTS, 0, 0, True, 1), (INDEX, 1, 1, True, 3),
    ]


@pytest.mark.parametrize(("wait", "text"), [
    (Wait(A, "retry-after", 4.2, 503), "5 s for a.example (503, Retry-After)"),
    (Wait(A, "backoff", 5.0, 429), "5 s for a.example (429, retry)"),
    (Wait("http://a.example:8080", "delay", 1200.0), "1,200 s for a.example:8080 (delay)"),
    (Wait(A, "per-host"), "for a.example (per_host: other requests)"),
])
def test_a_wait_as_text(wait: Wait, text: str) -> None:
    assert str(wait) == text


DELAYED = b"User-agent: *\nCrawl-delay: 3"


@pytest.mark.parametrize(("pages", "options", "waits"), [
    ({ROBOTS: DELAYED}, {}, {("crawl-delay", None)}),
    ({ROBOTS: DELAYED}, {"delay": 4}, {("delay", None)}),
    ({}, {"delay": 3}, {("delay", None)}),
    ({INDEX: [500, index(CHILD)]}, {}, {("backoff", None)}),
    ({INDEX: [429, index(CHILD)]}, {}, {("backoff", 429)}),
    ({INDEX: [(429, {"retry-after": "9"}, b""), index(CHILD)]}, {}, {("retry-after", 429)}),
    ({}, {}, set()),
])
def test_each_wait_has_its_reason(
    pages: dict[str, Any], options: dict[str, Any], waits: set[tuple[str, int | None]], log: Any
) -> None:
    read({INDEX: index(CHILD), CHILD: PAGE, **pages}, **options)
    assert {*log("wait", "reason", "status")} == waits


@pytest.mark.parametrize(("targets", "options", "reason"), [
    ([f"{A}/1.xml", f"{A}/2.xml"], {"per_host": 1}, "per-host"),
    ([f"{A}/1.xml", f"{B}/1.xml"], {"concurrency": 1}, "concurrency"),
])
def test_slots_of_another_stream_are_waited_for(
    targets: list[str], options: dict[str, int], reason: str, log: Any
) -> None:
    pages = dict.fromkeys(targets, (200, {}, (a_second, PAGE)))

    async def run() -> None:
        async with sr.SitemapReader(fetcher=Site(pages), **options) as reader:
            await asyncio.gather(*(outcomes_of(reader, target) for target in targets))

    asyncio.run(run())
    assert {*log("wait", "reason", "seconds")} == {(reason, None)}


def test_a_pause_that_another_stream_has_caused_is_a_wait_too(log: Any) -> None:
    async def run() -> tuple[sr.frontier.Wait, ...]:
        async with sr.SitemapReader(fetcher=Site({f"{A}/1.xml": [BUSY, PAGE], INDEX: PAGE})) as reader:
            first = asyncio.create_task(outcomes_of(reader, f"{A}/1.xml"))
            await asyncio.sleep(1.0)
            async with reader.urls(INDEX) as stream:
                second = asyncio.create_task(anext(aiter(stream)))
                await asyncio.sleep(0.5)
                waits = stream.progress.waits
                await second
            await first
        return waits

    assert [(wait.host, wait.reason, wait.status) for wait in asyncio.run(run())] == [(A, "retry-after", 503)]
    assert log("wait", "reason") == ["retry-after"] * 2  # each stream has one


def test_a_wait_beside_other_requests_is_logged_once(log: Any) -> None:
    others = [f"{B}/{number}.xml" for number in range(9)]
    pages = {INDEX: index(CHILD, *others), CHILD: [BUSY, PAGE], **dict.fromkeys(others, (200, {}, (a_tick, PAGE)))}
    read(pages, scope="any", per_host=1)
    assert [reason for host, reason in log("wait", "host", "reason") if host == A] == ["retry-after"]


def test_a_stream_that_is_closed_waits_for_nothing() -> None:
    async def run() -> tuple[int, int]:
        async with sr.SitemapReader(fetcher=Site({INDEX: [BUSY, PAGE]})) as reader:
            stream = reader.urls(INDEX)
            reading = asyncio.create_task(anext(aiter(stream)))
            await asyncio.sleep(1.0)
            before = len(stream.progress.waits)
            reading.cancel()
            await asyncio.wait([reading])
            await stream.close()
            return before, len(stream.progress.waits)

    assert asyncio.run(run()) == (1, 0)


FORBIDS = b"User-agent: *\nDisallow: /1.xml\n"
OTHER = f"{B}/x.xml"


@pytest.mark.parametrize(("pages", "options", "skipped"), [
    ({}, {"no_follow": "1"}, (CHILD, "no-follow", INDEX)),
    ({}, {"follow": lambda ref: False}, (CHILD, "follow", INDEX)),
    ({INDEX: old(CHILD)}, {"since": "2025-01-31", "trust_lastmod": "always"}, (CHILD, "since", INDEX)),
    ({ROBOTS: FORBIDS}, {}, (CHILD, "robots", INDEX)),
    ({INDEX: index(OTHER)}, {}, (OTHER, "scope", INDEX)),
    ({}, {"limits": sr.Limits(max_documents=1)}, (CHILD, "limit", INDEX)),
    ({}, {"limits": sr.Limits(max_index_depth=0)}, (CHILD, "limit", INDEX)),
    ({}, {"limits": sr.Limits(max_site_bytes=1)}, (CHILD, "limit", INDEX)),
    ({ROBOTS: b"User-agent: *\nCrawl-delay: 999"}, {}, (INDEX, "host", None)),
])
def test_what_is_skipped_has_its_reason(
    pages: dict[str, Any], options: dict[str, Any], skipped: tuple[str, str, str | None], log: Any
) -> None:
    read({INDEX: index(CHILD), CHILD: PAGE, **pages}, **options)
    assert log("skip", "url", "reason", "sitemap") == [skipped]


def test_the_line_of_robots_txt_that_forbids_is_named(log: Any, caplog: pytest.LogCaptureFixture) -> None:
    read({ROBOTS: FORBIDS, INDEX: index(CHILD)})
    assert log("skip", "rule") == ['robots.txt:2 "Disallow: /1.xml"']
    assert f'skipped {CHILD} (robots): forbidden by {ROBOTS}, robots.txt:2 "Disallow: /1.xml"' in caplog.messages


def test_the_lastmod_for_which_a_sitemap_is_skipped_is_named(log: Any, caplog: pytest.LogCaptureFixture) -> None:
    read({INDEX: old(CHILD)}, since="2025-01-31", trust_lastmod="always")
    assert f"skipped {CHILD} (since): lastmod 2020-01-31T00:00:00+00:00 in {INDEX}" in caplog.messages
    assert log("skip", "lastmod") == ["2020-01-31T00:00:00+00:00"]


@pytest.mark.parametrize(("robots", "options", "verdict"), [
    (FORBIDS, {}, (A, "rules", "", None)),
    (DELAYED, {}, (A, "rules", "", 3.0)),
    (404, {}, (A, "allow", "robots.txt answered 404", None)),
    (FORBIDS, {"obey_robots": False}, (A, "allow", "obey_robots=False", None)),
    (500, {}, (A, "disallow", "robots.txt: 500 Internal Server Error", None)),
    (sr.FetchError("a\nb", transient=False), {}, (A, "disallow", "robots.txt: a\\nb", None)),
])
def test_what_follows_from_a_robots_txt(robots: Any, options: dict[str, Any], verdict: Any, log: Any) -> None:
    read({ROBOTS: robots, INDEX: PAGE}, **options)
    assert log("robots", "host", "effect", "cause", "delay_seconds") == [verdict]


def test_what_a_state_knows_is_skipped_or_requested_with_conditions(log: Any, tmp_path: Path) -> None:
    tagged = 200, {"etag": '"1"'}, old(CHILD)
    pages: dict[str, Any] = {INDEX: [tagged, (304, {}, b"")], CHILD: PAGE}

    async def run() -> list[dict[str, int]]:
        tries = []
        async with sr.SitemapReader(fetcher=Site(pages)) as reader:
            for _ in range(2):
                stream = reader.changes(INDEX, state=tmp_path / "s.db", trust_lastmod="always")
                async for _ in stream:
                    pass
                tries.append({outcome.url or "": outcome.tries for outcome in stream.outcomes})
        return tries

    assert asyncio.run(run()) == [{ROBOTS: 1, INDEX: 1, CHILD: 1}, {ROBOTS: 1, INDEX: 1, CHILD: 0}]
    assert log("request", "url", "conditional")[3:] == [(ROBOTS, False), (INDEX, True)]
    assert log("skip", "url", "reason", "cause") == [(CHILD, "state", "unchanged since it was read")]
    assert {*log("end", "url", "not_modified")[3:]} == {(ROBOTS, False), (INDEX, True), (CHILD, True)}


def test_no_line_has_a_login_or_a_control_character(log: Any, caplog: pytest.LogCaptureFixture) -> None:
    login = "https://me:secret@a.example/index.xml"
    broken = sr.FetchError("https://me:secret@a.example said\r\n\x1b[31mno", transient=False)
    read({INDEX: index("https://me:secret@a.example/1.xml"), CHILD: broken}, login)
    assert log("request", "url") == [ROBOTS, INDEX, CHILD]
    assert [url for url, status in log("response", "url", "status") if status is None] == [CHILD]
    assert "secret" not in caplog.text
    assert "secret" not in str([vars(record) for record in caplog.records])


def test_an_exception_of_a_fetcher_cannot_break_a_line(log: Any) -> None:
    with pytest.raises(RuntimeError):
        read({INDEX: RuntimeError("\x1b[31m\r\nforged")})
    assert log("response", "cause")[-1] == "\\x1b[31m\\r\\nforged"


def test_pages_that_are_fetched_have_lines_too(log: Any) -> None:
    async def run() -> None:
        async with sr.SitemapReader(fetcher=Site({f"{A}/page": PAGE, ROBOTS: FORBIDS})) as reader:
            fetcher = reader.crawler.page_fetcher(find_target(A), lambda url: None)
            await fetcher.run([f"{A}/page", CHILD], nothing)

    async def nothing(_: object) -> None: ...

    asyncio.run(run())
    assert log("request", "url") == [ROBOTS, f"{A}/page"]
    assert log("skip", "url", "reason") == [(CHILD, "robots")]


def test_without_the_level_nothing_is_logged_or_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sitemap_reader")
    read({ROBOTS: FORBIDS, INDEX: index(CHILD)})
    assert caplog.records == []
    frontier = Frontier((), Plan())
    assert frontier.take_verdicts(are_wanted=False) == []


def test_one_handler_keeps_warnings_off_stderr() -> None:
    """A handler of a user's on the root gets each line once."""
    import sitemap_reader.watching.server  # noqa: F401 - it has a logger of its own

    names = ("sitemap_reader", "sitemap_reader.tls", "sitemap_reader.server")
    handlers = {name: [type(each) for each in logging.getLogger(name).handlers] for name in names}
    assert handlers == {"sitemap_reader": [logging.NullHandler], "sitemap_reader.tls": [], "sitemap_reader.server": []}
