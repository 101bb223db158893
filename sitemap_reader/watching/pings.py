"""What a ping may cause: a visit of a known document, or of one that the robots.txt of its host names; else nothing.

Clients are not trusted. All memory is bounded. Requests are made for robots.txt only: one a host in an hour, and a few
an hour in all. The answer to a client does not depend on what is watched, as that is looked up after it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Literal, get_args

import attrs

from ..fetch.ssrf_guard import address_refusal, literal_address
from ..model.errors import FetchError, UsageError
from ..model.limits import Limits
from ..parser.dialects.robots import sitemap_lines
from ..parser.normalise.urls import clean_url, host, origin, without_userinfo
from .budget import ExpiringSet, Rate, RateTable

if TYPE_CHECKING:
    from ..fetch.client import Fetcher

Accept = Literal["known", "verified"]
# `accepted` went to the watcher. `invalid`: no http or https URL. `unknown`: of no watched site. `private`: the host
# is an address or a name of an internal network. `not_verified`: the robots.txt of the host does not name it.
PingResult = Literal["accepted", "duplicate", "unknown", "private", "rate_limited", "invalid", "not_verified"]
RESULTS: tuple[PingResult, ...] = get_args(PingResult)

MAX_URL_CHARACTERS = 2_047  # sitemaps.org: a loc has less than 2,048
MAX_ROBOTS_BYTES = Limits().max_robots_bytes
MAX_NAMED = 1_000  # Sitemap lines of a robots.txt that are looked at
CHECK_TIMEOUT_SECONDS = 20.0
CONCURRENT_CHECKS = 4
# RFC 6761, 6762 and 8375, and the name that ICANN reserved for internal networks.
_INTERNAL_NAMES = (".localhost", ".local", ".internal", ".home.arpa", ".test", ".invalid", ".example", ".onion")


@attrs.frozen
class Ping:
    """An accepted ping of a document."""

    url: str
    at: datetime  # in UTC
    known: bool  # the state has or names the document; otherwise the robots.txt of its host does


@attrs.frozen
class PingLimits:
    """How many pings are received, by client address and by host of the URL; and how many hosts are checked."""

    client: Rate = attrs.field(default=Rate(per_hour=1_200, burst=100))
    host: Rate = attrs.field(default=Rate(per_hour=60, burst=20))
    checks: Rate = attrs.field(default=Rate(per_hour=100, burst=20))
    window_seconds: float = 300.0  # in which the same unknown URL counts once
    check_seconds: float = 3600.0  # in which a host is checked once
    queue: int = 1_000  # of pings that wait


@attrs.frozen
class Receipt:
    """The immediate result of a ping. None: it is received, and decided later."""

    result: PingResult | None = None
    retry_seconds: int = 0  # of a rate limit


class PingReceiver:
    """Receives pings, and passes those on that may cause a visit. run() has to run beside it.

    `knows` and `ping` are those of the Watcher; `read_robots` is made by robots_reader(). `clock` counts seconds, `now`
    is the time in UTC.
    """

    def __init__(
        self,
        knows: Callable[[str], Awaitable[bool]],
        ping: Callable[[Ping], Awaitable[None]],
        *,
        accept: Accept = "known",
        read_robots: Callable[[str], Awaitable[str]] | None = None,
        limits: PingLimits = PingLimits(),
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if accept not in get_args(Accept):
            raise UsageError(f"accept {accept!r} is unknown: give known or verified")
        if accept == "verified" and read_robots is None:
            raise UsageError("accept='verified' needs read_robots=, which reads the robots.txt of a host")
        self.counts: Counter[PingResult] = Counter()
        self._knows, self._ping = knows, ping
        self._verifier = None if read_robots is None or accept == "known" else _Verifier(read_robots, limits, clock)
        self._clock, self._now = clock, now
        self._clients, self._hosts = RateTable(limits.client), RateTable(limits.host)
        self._recent = ExpiringSet(limits.window_seconds)
        self._received: asyncio.Queue[str] = asyncio.Queue(limits.queue)
        self._unverified: asyncio.Queue[str] = asyncio.Queue(limits.queue)

    def receive(self, text: str, client: str) -> Receipt:
        """Takes a ping from a client's IP address; the answer is the same for watched and for other sites."""
        receipt = self._receive(text, client_key(client), self._clock())
        if receipt.result is not None:
            self.counts[receipt.result] += 1
        return receipt

    def _receive(self, text: str, client: str, now: float) -> Receipt:
        if wait := self._clients.take(client, now):
            return _limited(wait)
        url = ping_url(text)
        if url is None:
            return Receipt("invalid")
        if self._received.full():
            return _limited(1)
        if wait := self._hosts.take(host(url), now):
            return _limited(wait)
        self._received.put_nowait(url)
        return Receipt()

    async def run(self) -> None:
        """Decides on the received pings, until it is cancelled; raises what the watcher raises."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._decide_all())
                for _ in range(CONCURRENT_CHECKS if self._verifier else 0):
                    tasks.create_task(self._verify_all())
        finally:
            if self._verifier:
                self._verifier.cancel()

    async def join(self) -> None:
        await self._received.join()
        await self._unverified.join()

    async def _decide_all(self) -> None:
        while True:
            url = await self._received.get()
            result = await self._decide(url)
            if result is not None:
                self.counts[result] += 1
            self._received.task_done()

    async def _decide(self, url: str) -> PingResult | None:
        """The result; None where robots.txt decides it."""
        if await self._knows(url):
            return await self._accept(url, known=True)
        if is_internal(host(url)):
            return "private"
        if self._verifier is None:
            return "unknown"
        now = self._clock()
        if self._recent.has(url, now):
            return "duplicate"
        if self._unverified.full():
            return "rate_limited"
        self._recent.add(url, now)
        self._unverified.put_nowait(url)
        return None

    async def _verify_all(self) -> None:
        assert self._verifier is not None  # noqa: S101  run() checks it
        while True:
            url = await self._unverified.get()
            refusal = await self._verifier.refusal(url)
            self.counts[refusal or await self._accept(url, known=False)] += 1
            self._unverified.task_done()

    async def _accept(self, url: str, *, known: bool) -> PingResult:
        await self._ping(Ping(url, self._now(), known))
        return "accepted"


class _Verifier:
    """Whether the robots.txt of a URL's host names the URL: at most one request a host in an hour, and few in all."""

    def __init__(
        self, read_robots: Callable[[str], Awaitable[str]], limits: PingLimits, clock: Callable[[], float]
    ) -> None:
        self._read_robots = read_robots
        self._seconds = limits.check_seconds
        self._rate = RateTable(limits.checks)
        self._clock = clock
        # By origin: the time of the check, and its result. The rate of checks bounds it: old ones are deleted.
        self._checks: OrderedDict[str, tuple[float, asyncio.Future[frozenset[str] | PingResult]]] = OrderedDict()

    async def refusal(self, url: str) -> PingResult | None:
        """Why the URL is not verified; None where it is."""
        place = origin(url)
        # Other ports would make the watch a port scanner for its clients.
        if place.partition("//")[2] != host(url):
            return "not_verified"
        now = self._clock()
        while self._checks and now - next(iter(self._checks.values()))[0] >= self._seconds:
            self._checks.popitem(last=False)
        if place not in self._checks:
            if self._rate.take("", now):
                return "rate_limited"
            self._checks[place] = now, asyncio.ensure_future(self._check(place))
        found = await asyncio.shield(self._checks[place][1])  # others may wait for it
        if isinstance(found, str):
            return found
        return None if url in found else "not_verified"

    def cancel(self) -> None:
        for _, check in self._checks.values():
            check.cancel()

    async def _check(self, place: str) -> frozenset[str] | PingResult:
        try:
            text = await self._read_robots(f"{place}/robots.txt")
        except FetchError as exc:
            return "private" if exc.code == "F13" else "not_verified"
        lines = [line.loc for line in sitemap_lines(text) if line.fault is None][:MAX_NAMED]
        return frozenset(url for url in map(ping_url, lines) if url is not None)


def robots_reader(fetcher: Fetcher, seconds: float = CHECK_TIMEOUT_SECONDS) -> Callable[[str], Awaitable[str]]:
    """Reads a robots.txt in one request: the first 500 KiB of a body with status 200, else "".

    Follows no redirect, which could lead anywhere. FetchError where the request fails, or takes longer than `seconds`.
    """

    async def read(url: str) -> str:
        body = bytearray()
        try:
            async with asyncio.timeout(seconds), fetcher.fetch(url, {"Accept-Encoding": "identity"}) as response:
                if response.status == 200 and "content-encoding" not in response.headers:
                    async for chunk in response.chunks:
                        body += chunk
                        if len(body) >= MAX_ROBOTS_BYTES:
                            break
        except TimeoutError as exc:
            raise FetchError(f"{url}: no complete response within {seconds:g} s") from exc
        return bytes(body[:MAX_ROBOTS_BYTES]).decode("utf-8-sig", "replace")

    return read


def ping_url(text: str) -> str | None:
    """The canonical form of a pinged URL; None where it is no http or https URL, has a login or is too long.

    >>> ping_url("HTTPS://Example.com:443/sitemap.xml"), ping_url("ftp://example.com/"), ping_url("https://a:b@c.de/")
    ('https://example.com/sitemap.xml', None, None)
    """
    if len(text) > MAX_URL_CHARACTERS:
        return None
    url = clean_url(text).url
    return url if url is not None and without_userinfo(url) == url else None


def is_internal(name: str) -> bool:
    """Whether a host is an address that may not be connected to, or a name of an internal network; without a lookup.

    >>> [is_internal(name) for name in ("0x7f.1", "[::ffff:10.0.0.1]", "intranet", "db.internal", "example.com")]
    [True, True, True, True, False]
    """
    address = literal_address(name)
    if address is not None:
        return address_refusal(address) is not None
    name = name.rstrip(".")
    return "." not in name or name.endswith(_INTERNAL_NAMES)


def client_key(client: str) -> str:
    """What a rate limit counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def _limited(wait_seconds: float) -> Receipt:
    return Receipt("rate_limited", math.ceil(wait_seconds))
