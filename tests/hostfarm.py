"""Many simulated web hosts on loopback, all in one separate process: each host has a kind, a size and a latency.

    hosts = make_hosts(400, seed=1, port=free_port())
    with run_farm(hosts, tmp_path / "farm") as farm:
        ...                                    # read host.target of each, with allow_private
        assert farm.max_in_flight_by_host()[hosts[0].target] <= 4

Hosts that are addresses (127.0.0.0/8 is loopback, all of it) have a socket each, on one port; names such as
a.shop1.test are served by the farm's proxy, `farm.proxy`. The farm records requests and the maximum in flight. It never
listens on another address.

    python tests/hostfarm.py HOSTS.json        # what run_farm() starts: prints its ports, runs until stdin ends
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import math
import random
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import attrs

KINDS = {"robots": 0.4, "index": 0.25, "wellknown": 0.12, "text": 0.05, "feed": 0.05, "none": 0.07, "broken": 0.02,
         "error": 0.02, "refused": 0.02}  # fmt: skip
FEWEST_URLS = 10  # each version but the first updates one, and removes one
NEW_A_VERSION = 3
MOST_URLS_OF = {"text": 50_000, "feed": 1_000, "atom": 1_000, "drip": 1_000}
DRIP_SECONDS = 0.5
END_SECONDS = 10.0
CONTROL_SECONDS = 60.0  # a farm that has not printed its ports by then has failed
_DAYS = [f"{year}-{month:02}-{day:02}" for year in (2023, 2024) for month in range(1, 13) for day in range(1, 29)]


@attrs.frozen
class FarmHost:
    """`name` is 127.1.0.7:8080, or a domain name for the proxy; `urls` are those of version 1.

    Each later version removes the oldest URL, updates one and adds three. Every answer waits for `latency_seconds`
    before its first byte. `per_child` is how many URLs a child of an index has.
    """

    name: str
    kind: str = attrs.field()
    urls: int = attrs.field(default=100, validator=attrs.validators.ge(FEWEST_URLS))
    latency_seconds: float = 0.0
    version: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    per_child: int = 2_000

    @kind.validator
    def _is_known(self, attribute: object, kind: str) -> None:
        if kind not in SITES:
            raise ValueError(f"no kind of host: {kind!r}; there are {', '.join(SITES)}")

    @property
    def target(self) -> str:
        return f"http://{self.name}"

    @property
    def address(self) -> tuple[str, int] | None:
        """The address to listen on; None for a name, which the proxy serves."""
        address, _, port = self.name.partition(":")
        return (address, int(port)) if port else None

    @property
    def domain(self) -> str:
        """The registrable domain of a .test name."""
        return ".".join(self.name.rsplit(".", 2)[-2:])

    def at(self, version: int) -> FarmHost:
        return attrs.evolve(self, version=version)


@attrs.frozen
class Changed:
    """The expected changes from one version to the next.

    A text sitemap has no dates, so its updates are invisible. Feeds list the latest URLs: those that leave are not
    removed.
    """

    new: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def make_hosts(
    count: int,
    *,
    seed: int,
    port: int,
    kinds: Mapping[str, float] = KINDS,
    median_urls: int = 300,
    median_latency: float = 0.0,
    sigma: float = 1.0,
    most_urls: int = 100_000,
    most_latency: float = 3.0,
) -> list[FarmHost]:
    """Hosts at 127.1.0.1, 127.1.0.2 and so on, the same for the same seed; sizes and latencies are lognormal."""
    dice = random.Random(seed)  # noqa: S311 - a test's
    names = list(kinds)
    hosts = []
    for number in range(1, count + 1):
        kind = dice.choices(names, [kinds[name] for name in names])[0]
        urls = round(median_urls * dice.lognormvariate(0, sigma))
        latency = median_latency * dice.lognormvariate(0, sigma)
        per_child = dice.choice((1_000, 2_000, 5_000))
        most = min(most_urls, MOST_URLS_OF.get(kind, most_urls))
        hosts.append(
            FarmHost(
                f"127.1.{number >> 8}.{number & 255}:{port}",
                kind,
                max(FEWEST_URLS, min(urls, most)),
                round(min(latency, most_latency), 4),
                per_child=per_child,
            )
        )
    return hosts


# --- what a host lists ------------------------------------------------------------------------------------


def _numbers(host: FarmHost) -> range:
    return range(host.version, host.urls + NEW_A_VERSION * (host.version - 1) + 1)


def _loc(host: FarmHost, number: int) -> str:
    return f"{host.target}/articles/{number // 1000}/a-page-of-this-host-{number:07}.html"


def _changed_numbers(host: FarmHost, version: int) -> tuple[range, range, range]:
    """The numbers of new, updated and removed URLs from the previous version to this one."""
    last = host.urls + NEW_A_VERSION * (version - 2)
    return range(last + 1, last + NEW_A_VERSION + 1), range(version + 1, version + 2), range(version - 1, version)


def _day(host: FarmHost, number: int) -> str:
    """The lastmod: in version 1 some day of two years, in later versions a day each in 2025."""
    later = 1
    if 3 <= number <= host.version + 1:
        later = number - 1
    if number > host.urls:
        later = 2 + (number - host.urls - 1) // NEW_A_VERSION
    return _DAYS[number % len(_DAYS)] if later == 1 else _version_day(later)


def _version_day(version: int) -> str:
    return "2025-" + _DAYS[version % (len(_DAYS) // 2)].partition("-")[2]


def _listed(host: FarmHost) -> list[str]:
    return [_loc(host, number) for number in _numbers(host)]


def _listed_by_children(host: FarmHost) -> list[str]:
    return [_loc(host, number) for number in range(1, host.per_child + 1)] * math.ceil(host.urls / host.per_child)


def _whole_numbers(host: FarmHost) -> range:
    numbers = _numbers(host)
    return numbers[: len(numbers) // 2]


def _listed_in_half(host: FarmHost) -> list[str]:
    return [_loc(host, number) for number in _whole_numbers(host)]


def _nothing(host: FarmHost) -> list[str]:
    return []


def locs_of(host: FarmHost) -> list[str] | None:
    """The URLs to be read from a host, in order within a sitemap; None if that depends on timeouts."""
    site = SITES[host.kind]
    return site.locs(host) if site.locs else None


def changed_locs(host: FarmHost) -> Changed:
    """The expected changes of a host's version; none for version 1."""
    if host.version == 1 or SITES[host.kind].locs is not _listed:
        return Changed()
    new, updated, removed = (
        tuple(_loc(host, each) for each in some) for some in _changed_numbers(host, host.version)
    )
    return Changed(new, () if host.kind == "text" else updated, () if host.kind in ("feed", "atom") else removed)


# --- the pages of a host ------------------------------------------------------------------------------------


@attrs.frozen
class Page:
    """`changed` is the version in which the body last changed: its ETag. A body is built at its first request."""

    media: str
    make: Callable[[], bytes]
    changed: int = 1
    status: str = "200 OK"
    drips: bool = False

    @cached_property
    def body(self) -> bytes:
        return self.make()

    @property
    def etag(self) -> str:
        return f'"v{self.changed}"'


Pages = dict[str, Page]
_XML = "application/xml"
_URLSET = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_INDEX = '<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


def _urlset(host: FarmHost, numbers: Iterable[int]) -> bytes:
    entries = [f"<url><loc>{_loc(host, n)}</loc><lastmod>{_day(host, n)}</lastmod></url>\n" for n in numbers]
    return "".join([_URLSET, *entries, "</urlset>\n"]).encode()


def _packed_urlset(host: FarmHost, numbers: Iterable[int]) -> bytes:
    return gzip.compress(_urlset(host, numbers), compresslevel=1, mtime=0)


def _cut_urlset(host: FarmHost) -> bytes:
    """Ends within the loc after the complete entries."""
    whole = _whole_numbers(host)
    body = _urlset(host, range(whole.start, whole.stop + 1))
    return body[: body.rindex(b"<loc>") + 20]


def _text(host: FarmHost) -> bytes:
    return "".join(f"{loc}\n" for loc in _listed(host)).encode()


def _rss(host: FarmHost) -> bytes:
    items = [
        f"<item><title>{n}</title><link>{_loc(host, n)}</link><pubDate>{_rfc_822(_day(host, n))}</pubDate></item>\n"
        for n in _numbers(host)
    ]
    start = '<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News</title>\n'
    return "".join([start, *items, "</channel></rss>\n"]).encode()


def _rfc_822(day: str) -> str:
    return time.strftime("%a, %d %b %Y 00:00:00 GMT", time.strptime(day, "%Y-%m-%d"))


def _atom(host: FarmHost) -> bytes:
    entries = [
        f'<entry><title>{n}</title><id>urn:x:{n}</id><link href="{_loc(host, n)}"/>'
        f"<updated>{_day(host, n)}T00:00:00Z</updated></entry>\n"
        for n in _numbers(host)
    ]
    start = '<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>\n'
    return "".join([start, *entries, "</feed>\n"]).encode()


def _named(host: FarmHost, path: str, page: Page) -> Pages:
    """The sitemap, and a robots.txt that names it."""
    robots = f"User-agent: *\nDisallow: /private/\n\nSitemap: {host.target}{path}\n"
    return {"/robots.txt": Page("text/plain", robots.encode), path: page}


def _one(path: str, media: str, body: Callable[[FarmHost], bytes], **more: Any) -> Callable[[FarmHost], Pages]:
    """A site whose robots.txt names one sitemap."""
    return lambda host: _named(host, path, Page(media, partial(body, host), host.version, **more))


def _whole_urlset(host: FarmHost) -> bytes:
    return _urlset(host, _numbers(host))


def _index(host: FarmHost) -> Pages:
    children = {}
    for start in range(0, _numbers(host)[-1], host.per_child):
        child = range(start + 1, start + host.per_child + 1)
        numbers = [number for number in child if number in _numbers(host)]
        page = Page("application/gzip", partial(_packed_urlset, host, numbers), _last_change(host, child))
        if numbers:
            children[f"/sitemaps/{start // host.per_child}.xml.gz"] = page
    index = Page(_XML, partial(_index_of, host, children), host.version)
    return _named(host, "/sitemap_index.xml", index) | children


def _last_change(host: FarmHost, child: range) -> int:
    for version in range(host.version, 1, -1):
        if any(number in child for number in itertools.chain(*_changed_numbers(host, version))):
            return version
    return 1


def _index_of(host: FarmHost, children: Pages) -> bytes:
    entries = [
        f"<sitemap><loc>{host.target}{path}</loc><lastmod>{_version_day(page.changed)}</lastmod></sitemap>\n"
        for path, page in children.items()
    ]
    return "".join([_INDEX, *entries, "</sitemapindex>\n"]).encode()


def _huge(host: FarmHost) -> Pages:
    """An index of equal children: one body for any number of URLs."""
    child = Page("application/gzip", partial(_packed_urlset, host, range(1, host.per_child + 1)))
    children = {f"/sitemaps/{number}.xml.gz": child for number in range(math.ceil(host.urls / host.per_child))}
    return _named(host, "/sitemap_index.xml", Page(_XML, partial(_index_of, host, children))) | children


def _well_known(host: FarmHost) -> Pages:
    pages = _one("/sitemap.xml", _XML, _whole_urlset)(host)
    del pages["/robots.txt"]
    return pages


def _empty(host: FarmHost) -> Pages:
    return {}


def _error(host: FarmHost) -> Pages:
    return _named(host, "/sitemap.xml", Page("text/plain", bytes, status="500 Internal Server Error"))


@attrs.frozen
class Site:
    """The pages of a kind of host, and the URLs to be read from it."""

    pages: Callable[[FarmHost], Pages]
    locs: Callable[[FarmHost], list[str]] | None = _listed
    listens: bool = True
    answers: bool = True


SITES = {
    "robots": Site(_one("/sitemap.xml", _XML, _whole_urlset)),  # robots.txt names one plain sitemap
    "index": Site(_index),  # robots.txt names an index of gzipped children
    "huge": Site(_huge, _listed_by_children),  # an index of equal children; for millions of URLs
    "wellknown": Site(_well_known),  # no robots.txt, but /sitemap.xml
    "text": Site(_one("/sitemap.txt", "text/plain", _text)),
    "feed": Site(_one("/feed.rss", "application/rss+xml", _rss)),
    "atom": Site(_one("/feed.atom", "application/atom+xml", _atom)),
    "none": Site(_empty, _nothing),  # 404 for everything
    "broken": Site(_one("/sitemap.xml", _XML, _cut_urlset), _listed_in_half),  # a sitemap truncated within an entry
    "error": Site(_error, _nothing),  # 500 for the sitemap
    "refused": Site(_empty, _nothing, listens=False),  # no connection; from the proxy a 502
    "hang": Site(_empty, _nothing, answers=False),  # accepts connections and requests, and never responds
    "drip": Site(_one("/sitemap.xml", _XML, _whole_urlset, drips=True), None),  # the sitemap is sent one byte at a time
}


# --- the client of the farm ------------------------------------------------------------------------


@attrs.frozen
class Domain:
    """Requests to a registrable domain through the proxy: the most in flight at once; (seconds, target) of each."""

    max_in_flight: int
    requested: tuple[tuple[float, str], ...]


@attrs.frozen
class Farm:
    """A running farm. Calls of these methods are not counted as requests."""

    proxy: str
    _control: int

    def requested(self) -> dict[str, list[str]]:
        """The paths requested from each host, in order; by target."""
        return self._call("requested")

    def max_in_flight_by_host(self) -> dict[str, int]:
        """The most requests that were in flight at once, by target."""
        return self._call("max_in_flight_by_host")

    def max_in_flight(self) -> int:
        """The most requests that were in flight at once, at all hosts together."""
        return self._call("max_in_flight")

    def domains(self) -> dict[str, Domain]:
        """The requests through the proxy, by registrable domain."""
        reported = self._call("domains")
        return {name: Domain(most, tuple(map(tuple, requested))) for name, (most, requested) in reported.items()}

    def cpu_seconds(self) -> float:
        """The CPU time of the farm's process so far."""
        return self._call("cpu_seconds")

    def reset(self) -> None:
        """Resets all counts; requests in flight stay in flight."""
        self._call("reset")

    def set_version(self, target: str, version: int) -> None:
        self._call("set_version", target, version)

    def replace(self, host: FarmHost) -> None:
        """Replaces a host, for example by one of another kind. Whether it listens does not change."""
        self._call("replace", attrs.asdict(host))

    def warm(self) -> None:
        """Builds all bodies now, instead of at their first request."""
        self._call("warm")

    def _call(self, *question: object) -> Any:
        with socket.create_connection(("127.0.0.1", self._control), timeout=CONTROL_SECONDS) as asking:
            asking.sendall(json.dumps(question).encode() + b"\n")
            with asking.makefile("rb") as answer:
                return json.load(answer)


@contextmanager
def run_farm(hosts: Iterable[FarmHost], work: Path) -> Iterator[Farm]:
    """Runs a farm until the block ends; `work` is created for its files and its log."""
    work.mkdir(parents=True)
    listed = work / "hosts.json"
    listed.write_text(json.dumps([attrs.asdict(host) for host in hosts]))
    command = [sys.executable, str(Path(__file__).resolve()), str(listed)]
    # It ends with its stdin, so also if its parent process is killed.
    with (
        (work / "stderr").open("wb") as stderr,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr) as process,
    ):
        try:
            ready = process.stdout.readline() if process.stdout else b""
            if not ready:
                raise RuntimeError(f"the farm did not start: {(work / 'stderr').read_text()}")
            control, proxy = json.loads(ready)
            yield Farm(f"http://127.0.0.1:{proxy}", control)
        finally:
            process.terminate()
            process.wait(END_SECONDS)


# --- the process of the farm ------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class _InFlight:
    """The number of requests in flight, and its maximum."""

    now: int = 0
    most: int = 0

    def begin_request(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def end(self) -> None:
        self.now -= 1

    def reset(self) -> None:
        self.most = self.now


@attrs.define(eq=False)
class _HostState:
    """A host at its current version: its pages, and its requests."""

    host: FarmHost
    counters: list[_InFlight]  # counters of the host, the farm, and the domain
    requested: list[str] = attrs.field(factory=list)
    _pages: Pages | None = None

    @property
    def pages(self) -> Pages:
        if self._pages is None:
            self._pages = SITES[self.host.kind].pages(self.host)
        return self._pages

    def become(self, host: FarmHost) -> None:
        self.host = host
        self._pages = None


@attrs.define(eq=False)
class _Domain:
    counter: _InFlight = attrs.field(factory=_InFlight)
    requested: list[tuple[float, str]] = attrs.field(factory=list)


class _FarmState:
    """All hosts of the farm, by target; the names in COMMANDS are the methods that a Farm may call."""

    def __init__(self, hosts: Iterable[FarmHost]) -> None:
        self._all = _InFlight()
        self._domains: dict[str, _Domain] = {}
        self.host_states = {host.target: self._host_state(host) for host in hosts}

    def _host_state(self, host: FarmHost) -> _HostState:
        counters = [_InFlight(), self._all]
        if host.address is None:
            counters.append(self._domains.setdefault(host.domain, _Domain()).counter)
        return _HostState(host, counters)

    def begin_request(self, host_state: _HostState, path: str) -> None:
        host_state.requested.append(path)
        if host_state.host.address is None:
            self._domains[host_state.host.domain].requested.append((time.monotonic(), host_state.host.target))
        for counter in host_state.counters:
            counter.begin_request()

    def requested(self) -> dict[str, list[str]]:
        return {target: host_state.requested for target, host_state in self.host_states.items()}

    def max_in_flight_by_host(self) -> dict[str, int]:
        return {target: host_state.counters[0].most for target, host_state in self.host_states.items()}

    def max_in_flight(self) -> int:
        return self._all.most

    def domains(self) -> dict[str, tuple[int, list[tuple[float, str]]]]:
        return {name: (domain.counter.most, domain.requested) for name, domain in self._domains.items()}

    def cpu_seconds(self) -> float:
        return time.process_time()

    def reset(self) -> None:
        for host_state in self.host_states.values():
            host_state.requested.clear()
            for counter in host_state.counters:
                counter.reset()
        for domain in self._domains.values():
            domain.requested.clear()

    def set_version(self, target: str, version: int) -> None:
        host_state = self.host_states[target]
        host_state.become(host_state.host.at(version))

    def replace(self, given: dict[str, Any]) -> None:
        host = FarmHost(**given)
        self.host_states[host.target].become(host)

    def warm(self) -> None:
        for host_state in self.host_states.values():
            for page in host_state.pages.values():
                _ = page.body


COMMANDS = (
    "requested", "max_in_flight_by_host", "max_in_flight", "domains", "cpu_seconds", "reset", "set_version", "replace",
    "warm",
)  # fmt: skip
_MISSING = Page("text/plain", b"not found\n".decode().encode, status="404 Not Found")
_UNREACHED = Page("text/plain", bytes, status="502 Bad Gateway")
_REJECTED = Page("text/plain", bytes, status="405 Method Not Allowed")
_NO_TUNNEL = Page("text/plain", bytes, status="403 Forbidden")  # no TLS here


class _Connection(asyncio.Protocol):
    """One connection: requests are answered one after the other, each after its host's latency."""

    def __init__(self, state: _FarmState, host_state: _HostState | None) -> None:
        self._farm_state = state
        self._host_state = host_state  # None: a connection to the proxy, whose requests name their host
        self._pending = b""
        self._counters: list[_InFlight] = []  # of the request that is being answered
        self._later: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self._pending += data
        if not self._counters:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._later:
            self._later.cancel()
        self._end()

    def _next(self) -> None:
        head, found, rest = self._pending.partition(b"\r\n\r\n")
        if not found:
            return
        self._pending = rest
        method, uri, _ = head[: head.find(b"\r\n")].decode("latin-1").split(" ", 2)
        host_state, path = (self._host_state, uri) if self._host_state else self._target_of(uri)
        if host_state is None or method != "GET":
            self._send(_NO_TUNNEL if method == "CONNECT" else _REJECTED if host_state else _UNREACHED, head)
            return
        self._farm_state.begin_request(host_state, path)
        self._counters = host_state.counters
        site = SITES[host_state.host.kind]
        if not site.answers:
            return  # in flight until the client disconnects
        page = host_state.pages.get(path, _MISSING) if site.listens else _UNREACHED
        if host_state.host.latency_seconds:
            self._later = self._loop.call_later(host_state.host.latency_seconds, self._send, page, head)
        else:
            self._send(page, head)

    def _target_of(self, uri: str) -> tuple[_HostState | None, str]:
        """The target of a request to the proxy, which has the full URL."""
        scheme, _, rest = uri.partition("//")
        name, _, path = rest.partition("/")
        return self._farm_state.host_states.get(f"{scheme}//{name.removesuffix(':80')}"), f"/{path}"

    def _send(self, page: Page, head: bytes) -> None:
        requested = head.lower()
        _, _, condition = requested.partition(b"\r\nif-none-match:")
        is_ok = page.status[0] == "2"
        if is_ok and condition.partition(b"\r\n")[0].strip() == page.etag.encode():
            self._answer(f"HTTP/1.1 304 Not Modified\r\nETag: {page.etag}\r\n\r\n".encode())
        else:
            tag = f"ETag: {page.etag}\r\n" if is_ok else ""
            first = f"HTTP/1.1 {page.status}\r\nContent-Type: {page.media}\r\n{tag}Content-Length: {len(page.body)}"
            if page.drips:
                self._transport.write(f"{first}\r\n\r\n".encode())
                self._drip(page.body, 0)
                return
            self._answer(f"{first}\r\n\r\n".encode() + page.body)
        if b"\r\nconnection: close" in requested:
            self._transport.close()
        elif self._pending:
            self._next()

    def _answer(self, data: bytes) -> None:
        """Counts the request as ended before the client can read the end."""
        self._end()
        self._transport.write(data)

    def _end(self) -> None:
        for counter in self._counters:
            counter.end()
        self._counters = []

    def _drip(self, body: bytes, at: int) -> None:
        if at == len(body) - 1:
            self._answer(body[at:])
        else:
            self._transport.write(body[at : at + 1])
            self._later = self._loop.call_later(DRIP_SECONDS, self._drip, body, at + 1)


async def _farm(hosts: list[FarmHost]) -> None:
    """Listens for all hosts, prints the two ports, and runs until stdin ends."""
    loop = asyncio.get_running_loop()
    state = _FarmState(hosts)
    for host_state in state.host_states.values():
        address = host_state.host.address
        if address and SITES[host_state.host.kind].listens:
            await loop.create_server(partial(_Connection, state, host_state), sock=_listener(*address))
    proxy = await loop.create_server(partial(_Connection, state, None), sock=_listener("127.0.0.1", 0))

    async def run_command(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name, *given = json.loads(await reader.readline())
        if name in COMMANDS:
            writer.write(json.dumps(getattr(state, name)(*given)).encode())
        writer.close()

    control = await asyncio.start_server(run_command, sock=_listener("127.0.0.1", 0))
    print(json.dumps([server.sockets[0].getsockname()[1] for server in (control, proxy)]), flush=True)
    over = asyncio.Event()
    loop.add_reader(sys.stdin, over.set)
    await over.wait()


def _listener(address: str, port: int) -> socket.socket:
    listening = socket.create_server((address, port), backlog=128)
    listening.setblocking(False)
    return listening


def main(listed: str) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_farm([FarmHost(**host) for host in json.loads(Path(listed).read_text())]))


if __name__ == "__main__":
    main(sys.argv[1])
