"""No connection is made to a private address in any spelling from any source.

127.0.0.2 simulates the Internet and counts as public here. On the same port of 127.0.0.1 and ::1 servers listen that
must not be reached; every connect is recorded.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any

import aiohttp
import attrs
import pytest
from kit import feed, index, urlset
from servers import is_untouched

import sitemap_reader as sr
from sitemap_reader.fetch import address_refusal
from sitemap_reader.fetch import client as fetch
from sitemap_reader.parser import clean_url, origin, without_userinfo

Way = Callable[["Net", list[str]], list[str]]

PUBLIC = "127.0.0.2"
PERMIT = "--allow-private (allow_private=True) permits it"
ONCE = sr.Limits(tries=1)

# Hosts as they are written; the documents of each have names of their own.
HOSTS = [
    # loopback, and what reaches it
    "127.0.0.1", "127.0.0.1.", "127.255.255.254", "0.0.0.0", "0", "localhost", "LocalHost.", "any.localhost",
    # as numbers: octal, hexadecimal, decimal, short, mixed
    "0177.0.0.1", "017700000001", "0x7f.0x0.0x0.0x1", "0x7f000001", "0X7F000001.", "2130706433", "127.1", "127.0.1",
    "127.0x1", "00000177.1", "0xA9FEA9FE",
    # private, shared, link-local and metadata, multicast, broadcast
    "10.0.0.1", "10.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255",
    # IPv6, plain and with an IPv4 address inside
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[fe80::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:169.254.169.254]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[2002:c0a8:101::1]", "[2001:0:7f00:1::f7f7:f7f7]",
    "[2001:0:808:808::80ff:fffe]",
    # spellings that look like another host
    "example.com@127.0.0.1", "example.com:80@127.0.0.1", "a@b@127.0.0.1", "example.com%2f@127.0.0.1", "@127.0.0.1",
    # other Unicode digits and dots
    "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "%6cocalhost", "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0｡0.1",
    "ⓛocalhost", "127.0.0.1\u00ad",
]
# {port} is the port of the private servers; {n} makes every row a separate document.
REFUSED = ["HTTP://127.0.0.1:{port}/{n}.xml", *(f"http://{host}:{{port}}/{{n}}.xml" for host in HOSTS)]

# Invalid URLs: a browser would read some of these as a private address, some as example.com.
UNUSABLE = [
    "http:\\\\127.0.0.1:{port}\\{n}.xml", "http://127.0.0.1:{port}\\@example.com/{n}.xml",
    "http://example.com\\@127.0.0.1:{port}/{n}.xml", "http:////127.0.0.1:{port}/{n}.xml",
    "http://[::1%25lo]:{port}/{n}.xml", "http://[127.0.0.1]:{port}/{n}.xml", "http://127.0.0.1:{port}:80/{n}.xml",
    "http://127.0.0.1:0x50/{n}.xml", "http://127.0.0.1:99999/{n}.xml", "http://256.0.0.1\0.example:{port}/{n}.xml",
]

ELSEWHERE = ["file:///etc/passwd#{n}", "ftp://127.0.0.1:{port}/{n}.xml", "gopher://127.0.0.1:{port}/_GET%20/{n}",
             "javascript:alert({n})", "data:text/plain,http://127.0.0.1:{port}/{n}", "ws://127.0.0.1:{port}/{n}.xml",
             "unix:///run/docker.sock#{n}", "jar:http://127.0.0.1:{port}/{n}.jar!/x"]


@attrs.define
class Net:
    """The names that resolve, and all recorded connects and lookups."""

    port: int = 0
    answers: dict[str, list[list[str]]] = attrs.field(factory=dict)  # name -> addresses, one answer a lookup
    connected: list[str] = attrs.field(factory=list)
    looked_up: list[str] = attrs.field(factory=list)
    secrets: list[socket.socket] = attrs.field(factory=list)
    pages: dict[str, Any] = attrs.field(factory=dict)  # path, or host/path -> (status, headers, body)
    requested: list[str] = attrs.field(factory=list)

    @property
    def is_safe(self) -> bool:
        """Asserts that only the public address was connected to."""
        return set(self.connected) <= {PUBLIC} and all(is_untouched(secret) for secret in self.secrets)

    def getaddrinfo(self, host: str, port: int, *_more: Any, **_options: Any) -> list[Any]:
        self.looked_up.append(host)
        answers = self.answers.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [_addrinfo(address, port) for address in found]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request a connection, so that every request needs a connect."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        host = head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0].rpartition(":")[0]
        self.requested.append(path)
        status, headers, body = self.pages.get(host + path, self.pages.get(path, (404, {}, b"")))
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()
        writer.close()


def _addrinfo(address: str, port: int) -> Any:
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    """A network of one public address, with the same port as the private servers."""
    net, connect = Net(), socket.socket.connect

    def noted(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            net.connected.append(str(address[0]))
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    monkeypatch.setattr(socket, "getaddrinfo", net.getaddrinfo)
    monkeypatch.setattr(fetch, "address_refusal", lambda ip: None if ip == PUBLIC else address_refusal(ip))
    with ExitStack() as listening:
        secret = listening.enter_context(socket.create_server(("127.0.0.1", 0)))
        net.port = secret.getsockname()[1]
        net.secrets.append(secret)
        if socket.has_dualstack_ipv6():
            options: dict[str, Any] = {"family": socket.AF_INET6}
            net.secrets.append(listening.enter_context(socket.create_server(("::1", net.port), **options)))
        for each in net.secrets:
            each.setblocking(False)
        yield net


@asynccontextmanager
async def internet(net: Net) -> AsyncIterator[None]:
    try:
        server = await asyncio.start_server(net.answer, PUBLIC, net.port)
    except OSError:
        pytest.skip(f"{PUBLIC} is no address of this machine")
    async with server:
        yield


Read = tuple[list[str], dict[str, set[str]], list[sr.Problem]]  # locs; codes of each URL; every problem


def read(net: Net, *targets: str, caches_names: bool = True, **options: Any) -> Read:
    """Reads all targets concurrently over the network of `net`."""
    reported: list[sr.Item] = []

    async def one(reader: sr.SitemapReader, target: str) -> list[str]:
        locs = []
        try:
            async with reader.urls(target, on_item=reported.append) as urls:
                async for url in urls:
                    locs.append(url.loc)
        except (sr.NothingReadable, sr.UsageError, sr.NothingFound) as error:
            if isinstance(error, sr.UsageError):
                reported.append(sr.Problem("U15", "error", str(error), target))
        return locs

    async def main() -> list[str]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(internet(net))
            if not caches_names:
                connector = sr.fetch.guarded_connector(use_dns_cache=False, resolver=aiohttp.ThreadedResolver())
                options["session"] = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            reader = await stack.enter_async_context(
                sr.SitemapReader(scope="any", limits=ONCE, probe="never", **options)
            )
            async with asyncio.timeout(60):
                found = await asyncio.gather(*(one(reader, target) for target in targets))
        return [loc for locs in found for loc in locs]

    locs = asyncio.run(main())
    problems = [item for item in reported if isinstance(item, sr.Problem)]
    codes: dict[str, set[str]] = {}
    for problem in problems:
        codes.setdefault(problem.sitemap or "", set()).add(problem.code)
    return locs, codes, problems


def spelled(net: Net, rows: list[str]) -> list[str]:
    return [row.format(port=net.port, n=number) for number, row in enumerate(rows)]


# --- five sources of a URL -----------------------------------------------------------------------------------------

SITE = "http://public.example"
GOOD = "http://public.example/good/1"


def site(net: Net, robots: str = "", **pages: Any) -> str:
    """Sets up public.example with a good sitemap; its origin."""
    origin_ = f"{SITE}:{net.port}"
    net.answers["public.example"] = [[PUBLIC]]
    net.pages |= {
        "/robots.txt": (200, {}, f"User-agent: *\nDisallow:\nSitemap: /good.xml\n{robots}".encode()),
        "/good.xml": (200, {}, urlset(GOOD)),
    }
    net.pages |= {f"/{name}.xml": page for name, page in pages.items()}
    return origin_


def given(net: Net, urls: list[str]) -> list[str]:
    return [site(net), *urls]


def redirected(net: Net, urls: list[str]) -> list[str]:
    moved = {f"moved{number}": (302, {"Location": url}, b"") for number, url in enumerate(urls)}
    at = site(net, **moved)
    return [at, *(f"{at}/{name}.xml" for name in moved)]


def listed_in_an_index(net: Net, urls: list[str]) -> list[str]:
    return [site(net, "Sitemap: /index.xml", index=(200, {}, index(*urls)))]


def named_by_robots(net: Net, urls: list[str]) -> list[str]:
    return [site(net, "".join(f"Sitemap: {url}\n" for url in urls))]


WAYS: list[Way] = [given, redirected, listed_in_an_index, named_by_robots]


@pytest.mark.slow
@pytest.mark.parametrize("obey_robots", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_no_spelling_of_a_private_address_is_connected_to(net: Net, way: Way, obey_robots: bool) -> None:
    urls = spelled(net, REFUSED)
    locs, codes, problems = read(net, *way(net, urls), obey_robots=obey_robots)
    assert net.is_safe
    assert set(net.looked_up) == {"public.example"}, "a spelled address needs no name server"
    assert GOOD in locs, "siblings are read"
    reported = {problem.sitemap: problem.message for problem in problems if problem.code in ("F13", "F02")}
    requested = {url: str(clean_url(url).url) for url in urls}
    if way is given:  # outputs have no userinfo of a target
        requested = {url: without_userinfo(document) for url, document in requested.items()}
    if way is redirected:
        at = f"{SITE}:{net.port}"
        requested = {url: f"{at}/moved{number}.xml" for number, url in enumerate(urls)}
    # The robots.txt of a refused address is unreachable: F13 for it, F02 for the document.
    code = "F02" if obey_robots else "F13"
    assert {url: code in codes.get(document, ()) for url, document in requested.items()} == dict.fromkeys(urls, True)
    assert {url: PERMIT in reported[document] for url, document in requested.items()} == dict.fromkeys(urls, True)
    if obey_robots:
        robots = {origin(str(clean_url(url).url)) + "/robots.txt" for url in urls}
        assert {url: "F13" in codes[url] and PERMIT in reported[url] for url in robots} == dict.fromkeys(robots, True)


@pytest.mark.parametrize("way", WAYS)
def test_invalid_url_is_not_requested(net: Net, way: Way) -> None:
    urls = spelled(net, UNUSABLE)
    locs, _, problems = read(net, *way(net, urls))
    assert net.is_safe
    assert set(net.looked_up) == {"public.example"}
    assert GOOD in locs
    assert len([problem for problem in problems if problem.code in ("U15", "F04", "S01")]) >= len(urls)


@pytest.mark.parametrize("way", WAYS)
def test_only_http_and_https_are_requested(net: Net, way: Way) -> None:
    urls = spelled(net, ELSEWHERE)
    locs, _, problems = read(net, *way(net, urls))
    assert net.is_safe
    assert set(net.looked_up) == {"public.example"}
    assert GOOD in locs
    code = {given: "U15", redirected: "F04"}.get(way, "U02")
    assert len([problem for problem in problems if problem.code == code]) == len(urls)


# --- names ------------------------------------------------------------------------------------------------------

PRIVATE_ANSWERS = [
    *("127.0.0.1", "0.0.0.0", "10.0.0.1", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("224.0.0.1", "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b:1::127.0.0.1", "2002:7f00:1::", "2001:0:7f00:1::f7f7:f7f7", "fe80::1", "fd00::1", "ff02::1"),
]


def named(net: Net) -> list[str]:
    """A name for each private address; URLs."""
    net.answers |= {f"p{number}.example": [[address]] for number, address in enumerate(PRIVATE_ANSWERS)}
    net.answers["mixed.example"] = [["127.0.0.1", "::1", "10.0.0.1"]]
    names = [name for name in net.answers if name != "public.example"]
    return [f"http://{name}:{net.port}/{name}.xml" for name in names]


@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_resolves_to_private_addresses_is_not_connected_to(net: Net, way: Way) -> None:
    urls = named(net)
    locs, codes, problems = read(net, *way(net, urls), obey_robots=False)
    assert net.is_safe
    assert GOOD in locs
    documents = {url: url for url in urls}
    if way is redirected:
        documents = {url: f"{SITE}:{net.port}/moved{number}.xml" for number, url in enumerate(urls)}
    assert {url: "F13" in codes.get(document, ()) for url, document in documents.items()} == dict.fromkeys(urls, True)
    reported = [problem.message for problem in problems if problem.code == "F13"]
    assert all(PERMIT in message and "Errno" not in message for message in reported)


def test_a_name_with_public_and_private_addresses_is_connected_to_at_the_public_one_only(net: Net) -> None:
    at = site(net)
    for answer in (["127.0.0.1", PUBLIC], [PUBLIC, "127.0.0.1"], ["::1", "127.0.0.1", PUBLIC], [PUBLIC, "::1"]):
        net.answers["public.example"] = [answer]
        locs, _, _ = read(net, at)
        assert (locs, net.is_safe) == ([GOOD], True), answer
    assert net.connected == [PUBLIC] * 8


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("lookups", [0, 1, 2])
def test_name_that_becomes_private_between_requests_is_refused(net: Net, address: str, lookups: int) -> None:
    at = site(net)
    net.answers["public.example"] = [[PUBLIC]] * lookups + [[address]]
    _, codes, problems = read(net, at + "/good.xml", at + "/index.xml", caches_names=False, obey_robots=False)
    assert net.is_safe
    assert len(net.looked_up) > lookups
    assert net.connected == [PUBLIC] * lookups
    assert any("F13" in found for found in codes.values())
    assert any(problem.message.startswith("public.example: ") for problem in problems)


@pytest.mark.parametrize("n", range(0, len(REFUSED), 4))
def test_robots_txt_redirected_to_a_private_address_is_not_requested(net: Net, n: int) -> None:
    url = REFUSED[n].format(port=net.port, n="robots")
    at = site(net)
    net.pages["/robots.txt"] = (301, {"Location": url}, b"")
    locs, codes, problems = read(net, at, at + "/good.xml")
    assert net.is_safe
    assert locs == []
    assert codes[at + "/robots.txt"] == {"F03", "F13"}
    assert codes[at + "/good.xml"] == {"F02"}
    assert all(PERMIT in problem.message for problem in problems if problem.code in ("F13", "F02"))


# --- a proxy, a feed --------------------------------------------------------------------------------------------


def test_proxy_gets_no_request_for_a_private_address(net: Net) -> None:
    """The proxy may reach private addresses; only names are left to it."""
    urls = spelled(net, REFUSED)
    proxy = f"http://{PUBLIC}:{net.port}"
    _, codes, _ = read(net, *urls, proxy=proxy, obey_robots=False)
    assert (net.connected, net.requested) == ([], [])
    assert sum("F13" in found for found in codes.values()) >= len(urls)
    net.pages["http://public.example/s.xml"] = (200, {}, urlset(GOOD))
    locs, _, _ = read(net, "http://public.example/s.xml", proxy=proxy)
    assert (locs, set(net.connected)) == ([GOOD], {PUBLIC})


def test_listed_urls_are_returned_and_never_requested(net: Net) -> None:
    """Listed URLs are only records: none is requested, and no name is resolved."""
    urls = spelled(net, [*REFUSED, *ELSEWHERE])
    at = site(net, "Sitemap: /feed.xml\nSitemap: /map.xml", feed=(200, {}, feed(*urls)), map=(200, {}, urlset(*urls)))
    locs, codes, _ = read(net, at)
    assert net.is_safe
    assert set(net.looked_up) == {"public.example"}
    assert len(locs) == 2 * len(REFUSED) + 1
    for name in ("feed", "map"):
        assert {"U02", "U14"} <= codes.get(f"{at}/{name}.xml", set())
