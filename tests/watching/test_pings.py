"""Pings: what they may cause, and that hostile ones cause no request."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import aiohttp
import attrs
import pytest
from aiohttp.abc import AbstractResolver

from sitemap_reader import FetchError, UsageError
from sitemap_reader.fetch import AiohttpFetcher, guarded_connector
from sitemap_reader.watching import (
    CONCURRENT_CHECKS,
    MAX_NAMED,
    MAX_ROBOTS_BYTES,
    MAX_URL_CHARACTERS,
    Accept,
    Ping,
    PingLimits,
    PingReceiver,
    Rate,
    client_key,
    is_internal,
    ping_url,
    robots_reader,
)

URL = "https://example.com/sitemap.xml"
NOW = datetime(2026, 11, 27, 8, 0, tzinfo=UTC)
UNLIMITED = Rate(per_hour=1e9, burst=10**9)
OPEN = PingLimits(client=UNLIMITED, host=UNLIMITED, checks=UNLIMITED, queue=100_000)


@attrs.define
class World:
    """A watcher, the hosts with their robots.txt, and a clock."""

    known: set[str] = attrs.field(factory=set)
    robots: dict[str, str | FetchError] = attrs.field(factory=dict)
    seconds: float = 0.0
    pings: list[Ping] = attrs.field(factory=list)
    requests: list[str] = attrs.field(factory=list)

    async def knows(self, url: str) -> bool:
        return url in self.known

    async def ping(self, ping: Ping) -> None:
        self.pings.append(ping)

    async def read_robots(self, url: str) -> str:
        self.requests.append(url)
        await asyncio.sleep(0)
        found = self.robots.get(url, "")
        if isinstance(found, FetchError):
            raise found
        return found

    def receiver(self, accept: Accept = "known", limits: PingLimits = OPEN) -> PingReceiver:
        clocks = {"clock": lambda: self.seconds, "now": lambda: NOW}
        return PingReceiver(
            self.knows, self.ping, accept=accept, read_robots=self.read_robots, limits=limits, **clocks
        )


@asynccontextmanager
async def running(receiver: PingReceiver) -> AsyncIterator[None]:
    task = asyncio.create_task(receiver.run())
    try:
        yield
        await asyncio.wait_for(receiver.join(), 30)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def decide(receiver: PingReceiver, *urls: str) -> list[str | None]:
    """The immediate results; all are decided at the end."""
    async with running(receiver):
        return [receiver.receive(url, "192.0.2.1").result for url in urls]


def decided(receiver: PingReceiver, *urls: str) -> list[str | None]:
    return asyncio.run(decide(receiver, *urls))


def test_ping_of_a_known_document_goes_to_the_watcher():
    world = World(known={URL})
    receiver = world.receiver()
    assert decided(receiver, " HTTPS://EXAMPLE.com:443/sitemap.xml ") == [None]
    assert [(ping.url, ping.at, ping.known) for ping in world.pings] == [(URL, NOW, True)]
    assert receiver.counts == {"accepted": 1}


def test_unknown_document_causes_nothing_and_has_the_same_answer():
    world = World(known={URL})
    receiver = world.receiver()
    assert decided(receiver, URL, "https://example.org/sitemap.xml") == [None, None]
    assert len(world.pings) == 1
    assert world.requests == []
    assert receiver.counts == {"accepted": 1, "unknown": 1}


@pytest.mark.parametrize("text", [
    "", "sitemap.xml", "/sitemap.xml", "ftp://example.com/a", "javascript:alert(1)", "https://", "file:///etc/passwd",
    "https://user:password@example.com/sitemap.xml", "https://example.com:99999/", "gopher://example.com:70/",
    "https://exa\\mple.com/", "https://[::1/", "\0",
])
def test_what_is_no_web_url_is_invalid(text):
    world = World()
    receiver = world.receiver("verified")
    assert decided(receiver, text) == ["invalid"]
    assert world.requests == []
    assert receiver.counts == {"invalid": 1}


def test_a_url_has_at_most_2047_characters():
    start = "https://example.com/"
    longest = start + "a" * (MAX_URL_CHARACTERS - len(start))
    assert ping_url(longest) == longest
    assert ping_url(longest + "a") is None


# --- duplicates and rates ---


async def test_a_repeated_ping_of_an_unknown_document_causes_nothing_more_within_the_window():
    world = World(robots={"https://example.com/robots.txt": f"Sitemap: {URL}"})
    receiver = world.receiver("verified")
    assert await decide(receiver, URL, URL, "https://EXAMPLE.com/./sitemap.xml") == [None] * 3
    world.seconds = 299.9
    await decide(receiver, URL)
    assert len(world.pings) == 1
    world.seconds = 300.0
    await decide(receiver, URL)
    assert len(world.pings) == 2
    assert receiver.counts == {"accepted": 2, "duplicate": 3}


async def test_each_ping_of_a_known_document_counts():
    world = World(known={URL})
    receiver = world.receiver()
    assert await decide(receiver, URL, URL, "https://EXAMPLE.com/./sitemap.xml") == [None] * 3
    assert len(world.pings) == 3
    assert receiver.counts == {"accepted": 3}


def results(receiver: PingReceiver, pings: list[tuple[str, str]]) -> list[tuple[str | None, int]]:
    receipts = [receiver.receive(url, client) for url, client in pings]
    return [(each.result, each.retry_seconds) for each in receipts]


def test_a_client_has_a_rate_whatever_it_pings():
    world = World()
    receiver = world.receiver(limits=attrs.evolve(OPEN, client=Rate(per_hour=60, burst=3)))
    urls = ["https://a.example.com/", "no URL", "https://a.example.com/", "https://b.example.com/"]
    assert [result for result, _ in results(receiver, [(url, "192.0.2.1") for url in urls])] == [
        None, "invalid", None, "rate_limited",
    ]  # fmt: skip
    assert results(receiver, [("https://b.example.com/", "192.0.2.1")]) == [("rate_limited", 60)]
    assert results(receiver, [("https://b.example.com/", "192.0.2.2")]) == [(None, 0)]
    world.seconds = 60
    assert results(receiver, [("https://c.example.com/", "192.0.2.1")]) == [(None, 0)]


def test_a_host_has_a_rate_and_refused_pings_are_no_duplicates_later():
    world = World()
    receiver = world.receiver(limits=attrs.evolve(OPEN, host=Rate(per_hour=60, burst=2)))
    pings = [(f"https://example.com/{number}", f"192.0.2.{number}") for number in range(3)]
    assert results(receiver, pings) == [(None, 0), (None, 0), ("rate_limited", 60)]
    assert results(receiver, [("http://example.com:81/", "192.0.2.9")]) == [("rate_limited", 60)]
    assert results(receiver, [("https://example.org/", "192.0.2.9")]) == [(None, 0)]
    world.seconds = 60
    assert results(receiver, pings[2:]) == [(None, 0)]


def test_a_full_queue_refuses_pings_that_may_be_repeated():
    world = World()
    receiver = world.receiver(limits=attrs.evolve(OPEN, queue=2))
    pings = [(f"https://example.com/{number}", "192.0.2.1") for number in range(3)]
    assert results(receiver, pings) == [(None, 0), (None, 0), ("rate_limited", 1)]
    assert decided(receiver) == []
    assert results(receiver, pings[2:]) == [(None, 0)]


def test_default_limits():
    receiver = World().receiver(limits=PingLimits())
    hosts = [f"https://{number}.example.com/" for number in range(101)]
    taken = [result for result, _ in results(receiver, [(url, "192.0.2.1") for url in hosts])]
    assert taken == [None] * 100 + ["rate_limited"]
    receiver = World().receiver(limits=PingLimits())
    paths = [f"https://example.com/{number}" for number in range(21)]
    taken = [result for result, _ in results(receiver, [(url, "192.0.2.1") for url in paths])]
    assert taken == [None] * 20 + ["rate_limited"]


@pytest.mark.parametrize(("one", "other", "same"), [
    ("192.0.2.1", "192.0.2.1", True),
    ("192.0.2.1", "192.0.2.2", False),
    ("::ffff:192.0.2.1", "192.0.2.1", True),
    ("2001:db8::1", "2001:db8::ffff:1:2:3", True),
    ("2001:db8::1", "2001:db8:0:1::1", False),
    ("fe80::1%eth0", "fe80::2%eth1", True),
    ("unknown", "", True),
])
def test_a_client_is_an_ipv4_address_or_a_network_of_ipv6(one, other, same):
    assert (client_key(one) == client_key(other)) is same


@pytest.mark.slow
def test_memory_is_bounded_for_any_pings():
    world = World()
    receiver = world.receiver("verified", attrs.evolve(OPEN, queue=10))
    for number in range(10_001):
        receiver.receive(f"https://h{number}.example.com/", f"2001:db8:{number % 65536:x}::1")
        if receiver._received.full():
            receiver._received.get_nowait()
    assert max(map(len, (receiver._clients, receiver._hosts, receiver._recent))) == 10_000


# --- verification ---


def named(*urls: str) -> str:
    return "User-agent: *\nDisallow: /\n" + "".join(f"Sitemap: {url}\n" for url in urls)


def test_a_document_that_robots_txt_names_exactly_is_accepted():
    world = World(robots={"https://example.com/robots.txt": named("https://EXAMPLE.com/a/../sitemap.xml")})
    receiver = world.receiver("verified")
    decided(receiver, URL, "https://example.com/sitemap.xml?x", "http://example.com/sitemap.xml")
    assert [(ping.url, ping.known) for ping in world.pings] == [(URL, False)]
    assert receiver.counts == {"accepted": 1, "not_verified": 2}
    assert sorted(world.requests) == ["http://example.com/robots.txt", "https://example.com/robots.txt"]


async def test_only_the_robots_txt_of_the_very_host_counts():
    world = World(robots={"https://example.com/robots.txt": named("https://www.example.com/sitemap.xml")})
    receiver = world.receiver("verified")
    await decide(receiver, "https://www.example.com/sitemap.xml")
    assert world.requests == ["https://www.example.com/robots.txt"]
    await decide(receiver, URL)
    assert receiver.counts == {"not_verified": 2}


def test_other_ports_are_never_requested():
    world = World(robots={"https://example.com:8443/robots.txt": named("https://example.com:8443/s.xml")})
    receiver = world.receiver("verified")
    decided(receiver, "https://example.com:8443/s.xml", "http://example.com:22/", "http://93.184.215.14:6379/")
    assert world.requests == []
    assert receiver.counts == {"not_verified": 3}


def test_a_known_document_needs_no_verification():
    world = World(known={URL, "http://10.0.0.1:8080/sitemap.xml"})
    receiver = world.receiver("verified")
    decided(receiver, URL, "http://10.0.0.1:8080/sitemap.xml")
    assert world.requests == []
    assert receiver.counts == {"accepted": 2}


async def test_a_host_is_checked_once_an_hour_and_its_answer_is_kept():
    world = World(robots={"https://example.com/robots.txt": named(URL)})
    receiver = world.receiver("verified")
    await decide(receiver, *(f"https://example.com/{number}" for number in range(50)))
    world.robots["https://example.com/robots.txt"] = named("https://example.com/new.xml", "https://example.com/2.xml")
    world.seconds = 3599.9
    await decide(receiver, URL, "https://example.com/new.xml")
    assert world.requests == ["https://example.com/robots.txt"]
    assert [ping.url for ping in world.pings] == [URL]
    world.seconds = 3600.0
    await decide(receiver, "https://example.com/2.xml")
    assert len(world.requests) == 2
    assert [ping.url for ping in world.pings] == [URL, "https://example.com/2.xml"]


async def test_all_hosts_together_have_a_rate_of_checks():
    world = World()
    receiver = world.receiver("verified", attrs.evolve(OPEN, checks=Rate(per_hour=100, burst=20)))
    await decide(receiver, *(f"https://{number}.example.com/" for number in range(1000)))
    assert len(world.requests) == 20
    assert receiver.counts == {"not_verified": 20, "rate_limited": 980}
    for second in range(0, 3600, 10):
        world.seconds = float(second)
        await decide(receiver, f"https://{second}.example.org/")
    assert len(world.requests) == 20 + 99


@pytest.mark.parametrize(("code", "result"), [("F13", "private"), ("F04", "not_verified")])
def test_a_request_that_fails_verifies_nothing_and_is_not_repeated(code, result):
    world = World(robots={"https://example.com/robots.txt": FetchError("no", code=code)})
    receiver = world.receiver("verified")
    decided(receiver, URL, URL + "?2")
    assert receiver.counts == {result: 2}
    assert len(world.requests) == 1


def test_so_many_sitemap_lines_are_looked_at_and_no_more():
    urls = [f"https://example.com/{number}.xml" for number in range(MAX_NAMED + 1)]
    world = World(robots={"https://example.com/robots.txt": named(*urls)})
    receiver = world.receiver("verified")
    decided(receiver, *urls[-2:])
    assert [ping.url for ping in world.pings] == [urls[-2]]


def test_a_faulty_line_of_robots_txt_names_nothing():
    world = World(robots={"https://example.com/robots.txt": f"User-agent: *\n{URL}\n"})
    receiver = world.receiver("verified")
    decided(receiver, URL)
    assert receiver.counts == {"not_verified": 1}


async def test_so_many_pings_wait_for_verification_and_not_one_more():
    world, answer = World(), asyncio.Event()

    async def wait(url: str) -> str:
        await answer.wait()
        return ""

    limits = attrs.evolve(OPEN, queue=3)
    receiver = PingReceiver(world.knows, world.ping, accept="verified", read_robots=wait, limits=limits)
    async with running(receiver):
        for number in range(CONCURRENT_CHECKS + 3 + 2):
            receiver.receive(f"https://{number}.example.com/", "192.0.2.1")
            for _ in range(20):
                await asyncio.sleep(0)
        assert receiver.counts == {"rate_limited": 2}
        answer.set()
    assert receiver.counts == {"rate_limited": 2, "not_verified": CONCURRENT_CHECKS + 3}


async def test_the_end_of_run_cancels_requests_in_progress():
    world, cancelled = World(), asyncio.Event()

    async def wait(url: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    receiver = PingReceiver(world.knows, world.ping, accept="verified", read_robots=wait)
    task = asyncio.create_task(receiver.run())
    receiver.receive(URL, "192.0.2.1")
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await asyncio.wait_for(cancelled.wait(), 10)


def test_verified_needs_a_reader_and_other_words_are_refused():
    world = World()
    with pytest.raises(UsageError, match="read_robots"):
        PingReceiver(world.knows, world.ping, accept="verified")
    with pytest.raises(UsageError, match="known or verified"):
        PingReceiver(world.knows, world.ping, accept="all")  # type: ignore[arg-type]


async def test_a_fault_of_the_watcher_ends_run():
    async def ping(ping: Ping) -> None:
        raise ZeroDivisionError

    receiver = PingReceiver(World(known={URL}).knows, ping)
    receiver.receive(URL, "192.0.2.1")
    with pytest.raises(ExceptionGroup) as failed:
        await receiver.run()
    assert failed.group_contains(ZeroDivisionError)


# --- internal hosts ---

INTERNAL = (
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "017700000001", "0",
    "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "100.64.0.1", "0.0.0.0",
    "255.255.255.255", "224.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]",
    "[fe80::1]", "[fc00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[0:0:0:0:0:ffff:c0a8:101]",
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "intranet", "db.internal", "printer.local",
    "nas.home.arpa", "127.0.0.1.", "%31%32%37.0.0.1", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021",
)  # fmt: skip


@pytest.mark.parametrize("host", INTERNAL)
def test_an_internal_host_is_refused_before_any_request(host):
    world = World()
    receiver = world.receiver("verified")
    decided(receiver, f"http://{host}/sitemap.xml", f"https://{host}/sitemap.xml")
    assert world.requests == []
    assert receiver.counts == {"private": 2}


@pytest.mark.parametrize("host", ["example.com", "93.184.215.14", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]", "a.b"])
def test_a_public_host_is_checked(host):
    assert not is_internal(host)


# --- requests for robots.txt ---


class FixedResolver(AbstractResolver):
    """Resolves every name to one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[Any]:
        return [{"hostname": host, "host": self._address, "port": port, "family": family, "proto": 0, "flags": 0}]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def guarded_fetcher(address: str) -> AsyncIterator[tuple[AiohttpFetcher, list[Any]]]:
    """A fetcher with the guard for whose resolver all names have this address; and the sockets that it opened."""
    sockets: list[Any] = []

    def make_socket(info: Any) -> socket.socket:
        sockets.append(info)
        return socket.socket(*info[:3])

    connector = guarded_connector(resolver=FixedResolver(address), socket_factory=make_socket)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield AiohttpFetcher(user_agent="test", session=session), sockets


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254"])
async def test_a_name_that_resolves_to_a_private_address_is_refused_without_a_connection(address):
    world = World()
    async with guarded_fetcher(address) as (fetcher, sockets):
        receiver = PingReceiver(
            world.knows, world.ping, accept="verified", read_robots=robots_reader(fetcher), limits=OPEN
        )
        async with running(receiver):
            receiver.receive("http://rebound.example.com/sitemap.xml", "192.0.2.1")
        assert receiver.counts == {"private": 1}
    assert sockets == []


async def read_robots(site_server: Any, status: int, headers: dict[str, str], body: bytes) -> tuple[str, Any]:
    server = site_server({"/robots.txt": (status, headers, body)})
    async with AiohttpFetcher(user_agent="test-agent", allow_private=True) as fetcher:
        return await robots_reader(fetcher)(f"{server.url}/robots.txt"), server


async def test_robots_txt_is_read_in_one_request(site_server):
    text, server = await read_robots(site_server, 200, {}, b"\xef\xbb\xbfSitemap: x\xff")
    assert text == "Sitemap: x\ufffd"
    assert [(each.path, each.headers["user-agent"]) for each in server.received] == [("/robots.txt", "test-agent")]


@pytest.mark.parametrize(("status", "headers"), [
    (404, {}), (301, {"Location": "/other.txt"}), (206, {}), (500, {}), (200, {"Content-Encoding": "gzip"}),
])
async def test_another_answer_verifies_nothing_and_no_redirect_is_followed(site_server, status, headers):
    text, server = await read_robots(site_server, status, headers, named(URL).encode())
    assert text == ""
    assert server.requests() == ["/robots.txt"]


async def test_so_many_bytes_of_robots_txt_are_read_and_no_more(site_server):
    body = b"#" * (MAX_ROBOTS_BYTES - 1) + b"ab"
    text, _ = await read_robots(site_server, 200, {}, body)
    assert len(text) == MAX_ROBOTS_BYTES
    assert text.endswith("#a")


async def test_a_robots_txt_that_does_not_end_is_a_fetch_error():
    class Endless:
        @asynccontextmanager
        async def fetch(self, url: str, headers: Any) -> AsyncIterator[Any]:
            await asyncio.Event().wait()
            yield

    with pytest.raises(FetchError, match="no complete response within 0 s"):
        await robots_reader(Endless(), seconds=0)("https://example.com/robots.txt")


# --- abuse ---


def abuse() -> dict[str, list[str]]:
    unknown = [f"https://h{number}.example.com/sitemap.xml" for number in range(10_000)]
    private = [f"http://{INTERNAL[number % len(INTERNAL)]}/{number}.xml" for number in range(10_000)]
    return {"unknown": unknown, "private": private, "same": [URL] * 10_000}


@pytest.mark.parametrize(("accept", "requests"), [("known", 0), ("verified", 1)])
def test_10000_pings_of_the_same_document_are_of_no_other_and_cause_one_request_at_most(accept, requests):
    world = World(known={URL} if accept == "known" else set())
    receiver = world.receiver(accept)
    decided(receiver, *abuse()["same"])
    assert {ping.url for ping in world.pings} == ({URL} if accept == "known" else set())
    assert len(world.requests) == requests


@pytest.mark.slow
def test_10000_pings_of_private_addresses_cause_no_request():
    world = World()
    receiver = world.receiver("verified")
    decided(receiver, *abuse()["private"])
    assert world.requests == world.pings == []
    assert receiver.counts == {"private": 10_000}


@pytest.mark.slow
def test_10000_pings_of_unknown_hosts_cause_no_request_or_as_many_as_permitted():
    world = World()
    decided(world.receiver("known"), *abuse()["unknown"])
    assert world.requests == world.pings == []
    decided(world.receiver("verified", attrs.evolve(OPEN, checks=PingLimits().checks)), *abuse()["unknown"])
    assert len(world.requests) == 20
    assert world.pings == []
