"""Pages are fetched politely: each URL once, robots.txt and delays obeyed, redirects followed within the site."""

import asyncio
import gzip
import itertools
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from kit import Site

from sitemap_reader import FetchError
from sitemap_reader.fetch import AiohttpFetcher
from sitemap_reader.frontier import ALLOW_ALL, Plan, parse_rules
from sitemap_reader.pipeline import MAX_BODY_BYTES, MAX_HOPS, PageFetcher, PageResponse

SITE = "https://e.example"
HTML = {"content-type": "text/html"}


class Network(Site):
    """Answers by path or URL, which take some seconds each; when they began, and how many at once."""

    def __init__(self, pages: Mapping[str, Any], seconds: float = 0.0) -> None:
        super().__init__(dict(pages), SITE)
        self.starts: list[float] = []
        self.in_flight = self.most_in_flight = 0
        self.seconds = seconds

    @asynccontextmanager
    async def fetch(self, url, headers):
        self.starts.append(time.monotonic())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.seconds)
            async with super().fetch(url, headers) as response:
                yield response
        finally:
            self.in_flight -= 1


PAGE = 200, HTML, b"<p>text</p>"
GZIP = {**HTML, "content-encoding": "gzip"}


def status(number: int, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return number, {name.replace("_", "-"): value for name, value in headers.items()}, b""


def to(url: str) -> tuple[int, dict[str, str], bytes]:
    return status(301, location=url)


def fetched(
    network: Any, urls: Iterable[str], rules: Any = lambda url: ALLOW_ALL, plan: Plan | None = None, **options: Any
) -> dict[str, PageResponse]:
    """The responses by path."""
    responses: list[PageResponse] = []

    async def put(response: PageResponse) -> None:
        responses.append(response)

    async def run() -> None:
        fetcher = PageFetcher(network, plan or Plan(), rules, **options)
        async with asyncio.timeout(20):
            await fetcher.run([f"{SITE}{url}" if url[0] == "/" else url for url in urls], put)

    asyncio.run(run())
    assert len(responses) == len({response.url for response in responses})
    return {response.url.removeprefix(SITE): response for response in responses}


def refusal(code: str, message: str = "refused", *, transient: bool = False) -> FetchError:
    return FetchError(message, code=code, transient=transient)


def test_each_url_is_requested_once_however_many_pages_lead_there() -> None:
    pages = {f"/{n}": to("/end") for n in range(20)} | {"/end": PAGE, "/via": to("/1")}
    network = Network(pages)
    responses = fetched(network, [*pages])
    assert len(responses) == 22
    assert max(Counter(network.requests).values()) == 1
    assert responses["/end"].body == b"<p>text</p>"
    assert {response.final_status for response in responses.values()} == {200}


@pytest.mark.parametrize("seed", range(20))
def test_no_response_is_lost_that_comes_while_another_waits_to_be_taken(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - an order of events

    async def wait() -> None:
        for _ in range(random.choice((0, 0, 30, 100))):
            await asyncio.sleep(0)

    class Slow(Site):
        @asynccontextmanager
        async def fetch(self, url, headers):
            await wait()
            async with super().fetch(url, headers) as response:
                yield response

    taken = []

    async def put(response: PageResponse) -> None:
        taken.append(response)
        await wait()

    urls = [f"{SITE}/{n}" for n in range(7)]
    asyncio.run(PageFetcher(Slow(dict.fromkeys(urls, PAGE)), Plan(), lambda url: ALLOW_ALL).run(urls, put))
    assert sorted(each.url for each in taken) == urls


def test_the_end_of_redirects_is_requested_once_if_it_is_not_listed() -> None:
    network = Network({"/a": to("/c"), "/b": to("/c"), "/c": to("/gone")})
    responses = fetched(network, ["/a", "/b"])
    assert sorted(network.requests) == [f"{SITE}{path}" for path in ("/a", "/b", "/c", "/gone")]
    assert [(each.status, each.target, each.final_url, each.final_status) for each in responses.values()] == [
        (301, f"{SITE}/c", f"{SITE}/gone", 404)
    ] * 2


@pytest.mark.parametrize(("hops", "status"), [(MAX_HOPS, 200), (MAX_HOPS + 1, 301)])
def test_so_many_redirects_are_followed(hops: int, status: int) -> None:
    network = Network({f"/{n}": to(f"/{n + 1}") for n in range(hops)} | {f"/{hops}": PAGE})
    assert fetched(network, ["/0"])["/0"].final_status == status


@pytest.mark.parametrize("way", [["/a", "/b", "/a"], ["/a", "/b", "/c", "/b"]])
def test_a_loop_ends(way: list[str]) -> None:
    network = Network({here: to(there) for here, there in itertools.pairwise(way)})
    assert fetched(network, ["/a"])["/a"].final_status == 301
    assert max(Counter(network.requests).values()) == 1


def test_a_redirect_to_another_site_is_not_followed() -> None:
    network = Network({"/a": to("https://other.example/x"), "/b": to("https://www.e.example/y")})
    responses = fetched(network, ["/a", "/b"])
    assert (responses["/a"].final_url, responses["/a"].final_status) == ("https://other.example/x", None)
    assert responses["/b"].final_status == 404
    assert not any("other" in url for url in network.requests)


def test_robots_txt_is_obeyed_also_at_the_end_of_a_redirect() -> None:
    rules = parse_rules("User-agent: *\nDisallow: /private", "sitemap-reader")
    network = Network({"/a": to("/private/b"), "/c": PAGE})
    responses = fetched(network, ["/private/a", "/a", "/c"], lambda url: rules)
    assert network.requests == [f"{SITE}/a", f"{SITE}/c"]
    assert responses["/private/a"].failure.code == "F02"
    assert (responses["/a"].final_url, responses["/a"].final_status) == (f"{SITE}/private/b", None)
    assert "/private/a" in fetched(network, ["/private/a"], lambda url: rules, Plan(obey_robots=False))
    assert network.requests[-1] == f"{SITE}/private/a"


@pytest.mark.parametrize(("robots", "expected"), [
    (b"User-agent: *\nDisallow: /b", None),
    (status(404), 200),
    (refusal("F04", "no byte"), None),
    (to("https://www.e.example/robots.txt"), 200),
    (to("/robots.txt"), 200),
])
def test_the_robots_txt_of_another_host_is_read_first(robots: Any, expected: int | None) -> None:
    network = Network({"/robots.txt": robots, "/b": PAGE})
    assert fetched(network, ["/b"], lambda url: None)["/b"].status == expected
    assert network.requests[0] == f"{SITE}/robots.txt"
    assert network.requests.count(f"{SITE}/robots.txt") == 1


def test_a_robots_txt_at_a_host_that_is_skipped_forbids_all() -> None:
    busy = status(503, retry_after="9999")
    network = Network({"/robots.txt": to("https://www.e.example/robots.txt"), "https://www.e.example/robots.txt": busy})
    assert fetched(network, ["/b"], lambda url: None)["/b"].failure.code == "F14"


@pytest.mark.parametrize(("urls", "plan", "most"), [
    ([f"/{n}" for n in range(30)], Plan(per_host=1), 1),
    ([f"/{n}" for n in range(30)], Plan(per_host=3), 3),
    ([f"https://h{n}.example/{m}" for n in range(5) for m in range(4)], Plan(concurrency=2), 2),
])
def test_no_more_requests_than_allowed_are_in_flight(urls: list[str], plan: Plan, most: int) -> None:
    network = Network({}, seconds=0.002)
    fetched(network, urls, plan=plan)
    assert network.most_in_flight == most


def test_a_crawl_delay_is_kept_from_the_last_sitemap_on() -> None:
    rules = parse_rules("User-agent: *\nCrawl-delay: 0.05", "sitemap-reader")
    network, began = Network({}), time.monotonic()
    fetched(network, ["/1", "/2", "/3"], lambda url: rules)
    starts = [began, *network.starts]
    assert min(later - earlier for earlier, later in itertools.pairwise(starts)) >= 0.045
    assert network.most_in_flight == 1


@pytest.mark.parametrize(("delay", "code"), [("30", None), ("31", "F15")])
def test_a_host_with_too_long_a_crawl_delay_is_skipped(delay: str, code: str | None) -> None:
    rules = parse_rules(f"User-agent: *\nCrawl-delay: {delay}", "sitemap-reader")
    network = Network({"/1": PAGE})
    response = fetched(network, ["/1"], lambda url: rules, polite=False)["/1"]
    assert (response.failure and response.failure.code) == code
    assert len(network.requests) == (code is None)


@pytest.mark.slow
def test_retry_after_is_waited_for() -> None:
    network = Network({"/1": [status(429, retry_after="1"), PAGE]})
    assert fetched(network, ["/1"])["/1"].status == 200
    assert network.starts[1] - network.starts[0] >= 0.99


def test_a_refusal_of_the_proxy_ends_all_requests() -> None:
    urls = ["/1", "/2", "https://other.example/3"]
    network = Network(dict.fromkeys(urls, FetchError("407", of_proxy=True)))
    responses = fetched(network, urls, plan=Plan(concurrency=1))
    assert network.requests == [f"{SITE}/1"]
    assert [(each.status, each.failure and each.failure.code) for each in responses.values()] == [(None, "F04")] * 3


@pytest.mark.parametrize("number", [429, 503])
def test_a_host_that_asks_to_wait_for_too_long_is_skipped(number: int) -> None:
    network = Network({"/1": status(number, retry_after="61")})
    responses = fetched(network, ["/1", "/2", "/3"], plan=Plan(per_host=1))
    assert network.requests == [f"{SITE}/1"]
    assert {response.status for response in responses.values()} == {None}
    assert {response.failure.code for response in responses.values()} == {"F01"}


@pytest.mark.parametrize(("answer", "requests", "expected"), [
    ([status(500), PAGE], 2, 200),
    ([status(500)], 3, 500),
    ([status(404)], 1, 404),
    ([status(403)], 1, 403),
    ([refusal("F04", transient=True), PAGE], 2, 200),
    ([refusal("F04", transient=True)], 3, "F04"),
    ([refusal("F13")], 1, "F13"),
    ([status(429, retry_after="0")], 3, "F18"),  # no status of the page
])
def test_only_what_may_pass_is_tried_again(answer: list[Any], requests: int, expected: int | str) -> None:
    network = Network({"/1": answer})
    response = fetched(network, ["/1"], polite=False)["/1"]
    assert len(network.requests) == requests
    assert (response.status, response.failure and response.failure.code) == (
        (expected, None) if isinstance(expected, int) else (None, expected))


@pytest.mark.parametrize(
    ("length", "is_whole"), [(MAX_BODY_BYTES - 1, True), (MAX_BODY_BYTES, False), (MAX_BODY_BYTES * 4, False)]
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_no_more_than_256_kib_of_a_page_are_read(length: int, is_whole: bool, is_packed: bool) -> None:
    body = b"x" * length
    sent = (GZIP, gzip.compress(body)) if is_packed else (HTML, body)
    response = fetched(Network({"/1": (200, *sent)}), ["/1"])["/1"]
    assert len(response.body) == min(length, MAX_BODY_BYTES)
    assert response.is_whole is is_whole


TEXT = b"<p>text</p>" * 100
PACKED = gzip.compress(TEXT, mtime=0)
EMPTY_BLOCKS = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\x00\x00\x00\xff\xff" * 200_000
PDF, BR = {"content-type": "application/pdf"}, {**HTML, "content-encoding": "br"}
BROKE_OFF = FetchError("broke off", transient=False)
# The answer; the body that is kept, whether it is whole, and the coding that could not be decoded.
BODIES: dict[str, tuple[Any, bytes, bool | None, str | None]] = {
    "identity": ((200, {**HTML, "content-encoding": "identity"}, b"x"), b"x", True, None),
    "gzip": ((200, GZIP, PACKED), TEXT, True, None),
    "gzip, cut": ((200, GZIP, PACKED[:-8]), TEXT, False, None),
    "junk behind gzip": ((200, GZIP, PACKED + b"x" * 2_600_000), TEXT, False, None),
    "empty blocks": ((200, GZIP, EMPTY_BLOCKS), b"", False, "gzip"),
    "no gzip": ((200, GZIP, b"no gzip"), b"", False, "gzip"),
    "br": ((200, BR, b"x"), b"", False, "br"),
    "breaks off": ((200, HTML, (b"<title>x", BROKE_OFF)), b"<title>x", False, None),
    # Only that of a page is kept.
    "404": ((404, {**HTML, "content-encoding": "compress"}, b"x" * 3_000_000), b"", None, None),
    "301": ((301, HTML, b"x" * 3_000_000), b"", None, None),
    "PDF": ((200, {**PDF, "content-encoding": "compress"}, b"x" * 3_000_000), b"", None, None),
}


@pytest.mark.parametrize("case", BODIES)
def test_which_body_of_a_page_is_kept(case: str) -> None:
    answer, body, is_whole, undecodable = BODIES[case]
    response = fetched(Network({"/1": answer}), ["/1"])["/1"]
    assert (response.status, response.body, response.undecodable) == (answer[0], body, undecodable)
    assert is_whole is None or response.is_whole is is_whole
    assert response.body_bytes <= (3 * 65_536 if is_whole is None else MAX_BODY_BYTES * 2)


def test_private_addresses_are_refused() -> None:
    async def run() -> None:
        responses: list[PageResponse] = []

        async def put(response: PageResponse) -> None:
            responses.append(response)

        async with AiohttpFetcher(user_agent="test") as fetcher:
            urls = ["http://127.0.0.1:9/a", "http://localhost/b", "http://169.254.169.254/c"]
            await PageFetcher(fetcher, Plan(), lambda url: ALLOW_ALL).run(urls, put)
        assert {each.failure.code for each in responses} == {"F13"}

    asyncio.run(run())


def test_cancelling_ends_the_requests() -> None:
    async def run() -> None:
        network = Network({}, seconds=60)

        async def put(response: PageResponse) -> None:
            raise AssertionError(response)

        task = asyncio.create_task(PageFetcher(network, Plan(), lambda url: ALLOW_ALL).run([f"{SITE}/1"], put))
        while not network.in_flight:  # noqa: ASYNC110 - the network counts
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert network.in_flight == 0

    asyncio.run(run())
