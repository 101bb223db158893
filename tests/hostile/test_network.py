"""Every network fault with a complete reader: the reported problem, the records before it, and the siblings.

Each row is a child of an index, between two good ones, on a server that runs the script of the row.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from certificates import EXPIRED, OF_ANOTHER_HOST, tls_contexts
from faultserver import (
    FaultServer,
    Script,
    Wire,
    dripping,
    endless,
    head,
    hold,
    keep,
    page,
    raw,
    reset,
    status,
    whole,
)
from kit import gz, index, robots, urlset
from servers import free_port

import sitemap_reader as sr

pytestmark = pytest.mark.usefixtures("short_backoffs")

MOST_SECONDS = 20.0  # for a row that takes two, on a busy machine
FAULT = "/fault.xml"


SITE = "http://shop.example"
PAGES = [f"{SITE}/page/{number}" for number in range(100)]
BODY = urlset(*PAGES)
HALF = BODY[: len(BODY) // 2]
IN_HALF = HALF.count(b"</url>")
OPEN = BODY.removesuffix(b"</urlset>\n")
PACKED = gz(BODY)
LOGIN = b"<!DOCTYPE html>\n<html><head><title>Log in</title></head><body><form action='/login'></form></body></html>"
BEFORE = [f"{SITE}/before/{number}" for number in range(3)]
BEHIND = [f"{SITE}/behind/{number}" for number in range(3)]


@attrs.define
class Read:
    """The result of reading a site."""

    locs: list[str]
    stream: sr.AsyncStream[sr.UrlRecord]

    def outcome(self, url: str) -> sr.Outcome:
        (outcome,) = [outcome for outcome in self.stream.outcomes if outcome.url == url]
        return outcome

    def messages(self, url: str) -> list[str]:
        return [str(problem) for problem in self.stream.problems.samples if problem.sitemap == url]


def read(
    target: str, *, limits: Mapping[str, Any] | None = None, tls: ssl.SSLContext | None = None, **options: Any
) -> Read:
    """Reads a site in bounded time. `tls` is a client context: with it the reader gets an own session."""

    async def run() -> Read:
        import aiohttp

        options.setdefault("scope", "any")
        if tls:
            connector = sr.fetch.guarded_connector(allow_private=True, ssl=tls)
            options["session"] = aiohttp.ClientSession(connector=connector)
        reader = sr.SitemapReader(allow_private=True, limits=sr.Limits(**(limits or {})), **options)
        try:
            async with asyncio.timeout(MOST_SECONDS), reader, reader.urls(target) as stream:
                locs = [record.loc async for record in stream]
        finally:
            if "session" in options:
                await options["session"].close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return Read(locs, stream)

    return asyncio.run(run())


def site(*children: str, **more: Any) -> dict[str, Any]:
    """An index of two good sitemaps with others between them."""
    return {
        "/index.xml": page(index("/before.xml", *children, "/behind.xml")),
        "/before.xml": page(urlset(*BEFORE)),
        "/behind.xml": page(urlset(*BEHIND)),
        **more,
    }


def assert_siblings_are_whole(found: Read, origin: str) -> None:
    for path, locs in (("/before.xml", BEFORE), ("/behind.xml", BEHIND)):
        outcome = found.outcome(origin + path)
        assert (outcome.complete, outcome.problems) == (True, {})
        assert [loc for loc in found.locs if loc in locs] == locs
    assert found.outcome(origin + "/index.xml").complete


# --- answers (tests/fetch/test_client.py has more that are no HTTP) ----------------------------------------------


@attrs.frozen
class Row:
    """`does` are the server's scripts, one for each request.

    Expected: all records and no error, or else `records` of the hundred, those `codes` in the outcome, and a message
    with `says`.
    """

    name: str
    does: list[Script]
    codes: str = ""
    says: str = ""
    records: int = 0
    requests: int = 1
    limits: dict[str, Any] = attrs.field(factory=dict)
    more: dict[str, Script] = attrs.field(factory=dict)
    per_host: int = 4


def sound(name: str, *does: Script, requests: int = 1, notes: str = "", **more: Any) -> Row:
    """A row that is read completely."""
    return Row(name, [*does], notes, records=len(PAGES), requests=requests, **more)


def fails(name: str, does: Script, says: str, codes: str = "F04", **more: Any) -> Row:
    return Row(name, [does], codes, says, **more)


def passes(name: str, does: Script, says: str, codes: str = "F04", **more: Any) -> Row:
    """A transient fault: there are three tries."""
    return Row(name, [does], codes, says, requests=3, **more)


LENGTH = head("200 OK", f"Content-Length: {len(BODY)}")
CHUNKED = head("200 OK", "Transfer-Encoding: chunked")
PACKED_LENGTH = head("200 OK", f"Content-Length: {len(PACKED)}")
SILENCE = {"read_seconds": 0.3}
LATE = "not done after 1 s (listed in /index.xml:3); raise document_seconds"
SLOW = {"read_seconds": 0.6, "connect_seconds": 0.3, "min_rate_after_seconds": 0.3, "tries": 1}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def parted(answer: bytes) -> tuple[bytes, bytes]:
    """Split within the empty line after the head."""
    middle = answer.index(b"\r\n\r\n") + 2
    return answer[:middle], answer[middle:]


def lengths(*values: object) -> bytes:
    return head("200 OK", *(f"Content-Length: {value}" for value in values)) + BODY


def to(target: str) -> Script:
    return status("302 Found", f"Location: {target}")


def hops(count: int) -> dict[str, Script]:
    return {f"/{n}": to(f"/{n + 1}") for n in range(1, count)} | {f"/{count}": page(BODY)}


def drop_on_reuse(wire: Wire) -> None:
    """Closes a connection at its second request."""
    former = [each for each in wire.server.requests() if each.connection == wire.exchange.connection]
    assert len(former) > 1


def late(*parts: bytes) -> Script:
    """Each part is sent after a delay."""

    def play(wire: Wire) -> None:
        for part in parts:
            wire.pause(0.7)
            wire.send(part)

    return play


def busy_until(seconds: float) -> Script:
    def play(wire: Wire) -> object:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        return status("429 Too Many Requests", f"Retry-After: {date}")(wire)

    return play


def busy(after: str) -> Script:
    return status("429 Too Many Requests", f"Retry-After: {after}")


def broken(*does: bytes, then: Callable[[Wire], object] | None = None) -> Script:
    return raw(LENGTH + HALF, *does, then=then)


NO_HTTP = "response is not HTTP: "

ROWS = [
    # connections
    passes("accept then silence", raw(then=hold), "no byte for 0.3 s", limits=SILENCE),
    passes("close before status", raw(), "closed the connection before it answered"),
    passes("RST in mid-body", broken(then=reset), "broke off after 2,", "S01 F04", records=IN_HALF),
    passes("stall in mid-body", broken(then=hold), "no byte for 0.3 s af", "S01 F04", records=IN_HALF, limits=SILENCE),
    sound("keep-alive dropped on reuse", drop_on_reuse, page(BODY), requests=2, per_host=1),
    sound("keep-alive dropped in between", raw(whole(BODY)), per_host=1),
    # slowness
    fails("a byte every 300 ms in headers", dripping(b"HTTP/1.1 200 OK\r\nX: ", b"a", 0.3),
          "the head of the answer was not here after 1.2 s (connect_seconds", limits=SLOW),
    fails("a byte every 300 ms in the body",
          dripping(head("200 OK") + urlset(PAGES[0]).removesuffix(b"</urlset>\n"), b" ", 0.3),
          "slower than 1,024 bytes a second", "S01 F04", records=1, limits=SLOW),
    fails("endless 100-continue", endless(b"", head("100 Continue"), 0.05), "the head of the answer was", limits=SLOW),
    fails("flood of 100-continue", endless(b"", head("100 Continue")), "bytes beside its body", limits={"tries": 1}),
    fails("no end within document_seconds", dripping(head("200 OK") + HALF, b" " * 100, 0.1),
          LATE, "S01 F04", records=IN_HALF, limits={"document_seconds": 1.0}),
    fails("silence longer than document_seconds", broken(then=hold), LATE,
          "S01 F04", records=IN_HALF, limits={"document_seconds": 1.0}),
    fails("head and body that take longer than document_seconds together", late(LENGTH + HALF, BODY[len(HALF) :]),
          LATE, "S01 F04", records=IN_HALF, limits={"document_seconds": 1.0}),
    sound("a head that is long in coming, and a body that is not", late(LENGTH + BODY),
          limits={"min_rate_after_seconds": 0.3, "min_bytes_per_second": 1_000_000}),
    fails("a chunk size that drips", dripping(CHUNKED + chunk(HALF) + b"1", b";a", 0.1),
          "slower than 10,000 bytes a second", "S01 F04", records=IN_HALF,
          limits={"read_seconds": 0.5, "min_rate_after_seconds": 0.3, "min_bytes_per_second": 10_000, "tries": 1}),
    sound("2,000 x 103 then 200", raw(head("103 Early Hints", "Link: </a.css>") * 2000 + whole(BODY))),
    # status
    fails("garbage status line", raw(b"garbage\r\n\r\n"), NO_HTTP + "Bad status line"),
    fails("status 999", status("999 Denied"), ": 999 (listed in /index.xml:3)", "F18"),
    fails("101", raw(head("101 Switching Protocols", "Upgrade: x", "Connection: Upgrade")), "101 Switching", "F18"),
    fails("204 with body", raw(whole(BODY, status="204 No Content")), "204 No Content", "F18"),
    fails("204 with a late body", raw(head("204 No Content"), BODY), "204 No Content", "F18"),
    fails("unsolicited 304", status("304 Not Modified"), "304 Not Modified", "F18"),
    fails("unsolicited 304 with body", page(BODY, status="304 Not Modified"), "304 Not Modified", "F18"),
    fails("unsolicited 206", page(BODY, status="206 Partial Content"), "206 Partial Content", "F18"),
    *(fails(text[:3], page(BODY, status=text), text, "F17") for text in ("401 Unauthorized", "403 Forbidden")),
    *(fails(text[:3], page(BODY, status=text), text, "F01") for text in ("404 Not Found", "410 Gone")),
    fails("200 with an HTML login page", page(LOGIN, "Content-Type: text/html"), "an HTML page", "F05"),
    # length
    passes("Content-Length too long", raw(lengths(len(BODY) + 100)), "broke off after", records=100),
    passes("Content-Length too long by half", broken(), "broke off after", "S01 F04", records=IN_HALF),
    fails("Content-Length too short", raw(lengths(len(HALF)), then=keep), "end of the root", "S01", records=IN_HALF),
    fails("Content-Length too short, in pieces", raw(head("200 OK", f"Content-Length: {len(HALF)}"), BODY, then=keep),
          "the end of the root element was not reached", "S01", records=IN_HALF),
    fails("Content-Length too short, the end of the head in two pieces", raw(*parted(lengths(len(HALF))), then=keep),
          "end of the root", "S01", records=IN_HALF),
    # RFC 9110 8.6 permits both to accept and to refuse a repeated Content-Length with the same value.
    fails("Content-Length doubled alike", raw(lengths(len(BODY), len(BODY))), NO_HTTP + "Duplicate Content-Length"),
    fails("CL with TE",
          raw(head("200 OK", "Content-Length: 50", "Transfer-Encoding: chunked") + chunk(BODY) + b"0\r\n\r\n"),
          NO_HTTP + "Transfer-Encoding can't be present with Content-Length"),
    # chunks
    sound("chunked", raw(CHUNKED + chunk(HALF) + chunk(BODY[len(HALF) :]) + b"0\r\n\r\n", then=keep)),
    passes("chunked cut", raw(CHUNKED + b"%x\r\n" % len(BODY) + HALF), "broke off", "S01 F04", records=IN_HALF),
    passes("chunked without terminator", raw(CHUNKED + chunk(BODY)), "broke off after", records=100),
    passes("chunk of bad size", raw(CHUNKED + chunk(HALF) + b"zz\r\n"), "body is not HTTP", "S01 F04", records=IN_HALF),
    # headers
    sound("8-bit header", page(BODY, "X: caf\xe9")),
    fails("8-bit name of a header", raw(whole(BODY, "X\xe9: cafe")), NO_HTTP + "Invalid header token"),
    sound("folded header", page(BODY, "X: a\r\n b")),
    # bodies
    fails("endless body", endless(head("200 OK") + OPEN, b" " * 10_000), "more than 100,000 bytes decoded", "S01 S16",
          records=100, limits={"max_decoded_bytes": 100_000}),
    sound("gzip cut, then whole", raw(PACKED_LENGTH + PACKED[:200]), page(PACKED), requests=2),
    sound("stalled, then whole", broken(then=hold), page(BODY), requests=2, limits=SILENCE),
    sound("cut twice, then whole", broken(), broken(then=reset), page(BODY), requests=3),
    sound("cut, then 503, then whole", broken(), status("503 Busy"), page(BODY), requests=3),
    # redirects
    fails("302 without Location", status("302 Found"), "302 Found", "F18"),
    fails("redirect to itself", to(FAULT), "redirect loop: "),
    fails("redirect loop", to("/1"), "redirect loop: ", "F03 F04", more={"/1": to("/2"), "/2": to(FAULT)}),
    sound("10 hops", to("/1"), notes="F03", more=hops(10)),
    fails("11 hops", to("/1"), "more than 10 redirects (listed in /index.xml:3); raise max_redirects", "F03 F04",
          more=hops(11)),
    sound("Location twice alike", status("302 Found", "Location: /1", "Location: /1"), notes="F03", more=hops(1)),
    *(fails(f"redirect to {url!r}", to(url), f"redirected to {url!r}, which is no http")
      for url in ("file:///etc/passwd", "ftp://127.0.0.1/a.xml", "http://", "http://[::1", "http://127.0.0.1:99999/",
                  "http://a b/", "")),
    # waits
    sound("429 with seconds", busy("1"), page(BODY), requests=2),
    sound("429 with a date", busy_until(1.9), page(BODY), requests=2),
    sound("429 with a past date", busy("Wed, 21 Oct 2015 07:28:00 GMT"), page(BODY), requests=2),
    sound("429 with junk", busy("soon"), page(BODY), requests=2, limits={"max_wait_seconds": 0.2}),
    sound("429 with a negative number", busy("-5"), page(BODY), requests=2, limits={"max_wait_seconds": 0.2}),
    passes("429 always", busy("0"), "429 Too Many Requests", "F18"),
    sound("503, 503, 200", status("503 Busy"), status("503 Busy"), page(BODY), requests=3),
    passes("503 always", status("503 Busy"), "503 Service Unavailable", "F18"),
]


@pytest.mark.smoke(
    "503 always", "503, 503, 200", "RST in mid-body", "chunked cut", "cut, then 503, then whole", "stalled, then whole"
)
@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_failed_child_is_named_and_siblings_are_read(row: Row) -> None:
    with FaultServer(site(FAULT, **row.more) | {FAULT: row.does}) as server:
        found = read(server.url + "/index.xml", limits=row.limits, per_host=row.per_host)
        requests = len(server.requests(FAULT))
    url = server.url + FAULT
    outcome, messages = found.outcome(url), found.messages(url)
    complete = row.records == len(PAGES) and not row.says
    assert [loc for loc in found.locs if loc in PAGES] == PAGES[: row.records]
    assert set(outcome.problems) == set(row.codes.split()), messages
    assert any(row.says in each for each in messages) or not row.says, messages
    assert all(url in each for each in messages)
    assert (outcome.complete, outcome.kept, found.stream.complete) == (complete, row.records, complete)
    assert requests == row.requests
    assert_siblings_are_whole(found, server.url)


def test_the_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


# --- hosts that cannot be reached -----------------------------------------------------------------------------


@attrs.define
class Elsewhere:
    """The host of a child: its number of tries, if known, and the TLS context to trust it."""

    origin: str
    tries: list[object] | None = None
    tls: ssl.SSLContext | None = None


def resolving(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Any]) -> Elsewhere:
    from aiohttp.resolver import ThreadedResolver

    elsewhere, real = Elsewhere("http://nowhere.example", []), ThreadedResolver.resolve

    async def resolve(self: Any, host: str, *args: Any, **options: Any) -> Any:
        if host != "nowhere.example":
            return await real(self, host, *args, **options)
        elsewhere.tries.append(host)
        return await answer()

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)
    monkeypatch.setattr("aiohttp.connector.DefaultResolver", ThreadedResolver)
    return elsewhere


def failing_resolver(number: int) -> Callable[..., Any]:
    async def fail() -> None:
        raise socket.gaierror(number, "no")

    @contextmanager
    def make(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Elsewhere]:
        yield resolving(monkeypatch, fail)

    return make


@contextmanager
def silent_resolver(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Elsewhere]:
    yield resolving(monkeypatch, asyncio.Event().wait)


@contextmanager
def refused(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Elsewhere]:
    yield Elsewhere(f"http://127.0.0.1:{free_port()}")


@contextmanager
def blackhole(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Elsewhere]:
    """A listener with a full backlog: the kernel drops further connections."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        time.sleep(0.1)
        try:
            yield Elsewhere(f"http://127.0.0.1:{address[1]}")
        finally:
            for each in waiting:
                each.close()


def certificate(pem: str) -> Callable[..., Any]:
    @contextmanager
    def make(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Elsewhere]:
        server_context, client_context = tls_contexts(pem, folder)
        with FaultServer(tls=server_context) as server:
            yield Elsewhere(server.url, tls=client_context)

    return make


def greeting(greet: Callable[[socket.socket], object]) -> Callable[..., Any]:
    @contextmanager
    def make(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Elsewhere]:
        elsewhere = Elsewhere("", [])

        def count(connection: socket.socket) -> None:
            elsewhere.tries.append(connection)
            greet(connection)

        with FaultServer(greet=count) as server:
            elsewhere.origin = server.url.replace("http:", "https:")
            yield elsewhere

    return make


def take_hello(connection: socket.socket) -> None:
    connection.recv(65_536)


def alert(connection: socket.socket) -> None:
    """A fatal "handshake failure" (RFC 8446 6.2)."""
    take_hello(connection)
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")


HOSTS = {
    # name: the host, the reported message, the number of tries
    "DNS NXDOMAIN": (failing_resolver(socket.EAI_NONAME), "nowhere.example: no such host", 1),
    "DNS failure that may pass": (failing_resolver(socket.EAI_AGAIN), "the name servers do not answer", 3),
    # Lookups of a name are shared: three tries wait for the same one.
    "DNS timeout": (silent_resolver, "nowhere.example:80: no connection within 0.3 s", 1),
    "refused": (refused, "connection refused by 127.0.0.1:", None),
    "blackhole": (blackhole, ": no connection within 0.3 s", None),
    "TLS expired": (certificate(EXPIRED), "has expired", None),
    "TLS wrong host": (certificate(OF_ANOTHER_HOST), "is for another host", None),
    "TLS cut in handshake": (greeting(take_hello), "127.0.0.1:", 3),
    "TLS refused in handshake": (greeting(alert), "failed: ", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("obey", [True, False], ids=["robots first", "at once"])
@pytest.mark.parametrize("name", HOSTS)
def test_a_child_on_a_host_that_cannot_be_reached(
    name: str, obey: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If robots.txt is requested first, it fails; the child is then forbidden, and its problem has the reason."""
    make, says, tries = HOSTS[name]
    limits = {"connect_seconds": 0.3 if " no connection" in says else 5.0}
    with make(monkeypatch, tmp_path) as elsewhere:
        child = elsewhere.origin + FAULT
        with FaultServer(site(child)) as server:
            found = read(server.url + "/index.xml", limits=limits, tls=elsewhere.tls, obey_robots=obey)
    (message,) = found.messages(child)
    assert message.startswith(f"{'F02' if obey else 'F04'} {child}: ")
    assert says in message
    assert not found.outcome(child).complete
    if obey:
        assert found.outcome(elsewhere.origin + "/robots.txt").problems == {"F04": 1}
    if elsewhere.tries is not None:
        assert len(elsewhere.tries) == tries
    assert_siblings_are_whole(found, server.url)


def test_a_child_on_a_host_with_tls_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The certificate refused above is valid for its own name; a body over TLS may break off too."""
    from aiohttp.resolver import ThreadedResolver

    real = ThreadedResolver.resolve

    async def resolve(self: Any, host: str, *args: Any, **options: Any) -> Any:
        found = await real(self, "127.0.0.1", *args, **options)
        return [{**each, "hostname": host} for each in found]

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)
    monkeypatch.setattr("aiohttp.connector.DefaultResolver", ThreadedResolver)
    server_context, client_context = tls_contexts(OF_ANOTHER_HOST, tmp_path)
    with FaultServer({FAULT: [broken(), page(BODY)]}, tls=server_context) as secure:
        child = f"https://shop.example:{secure.port}{FAULT}"
        with FaultServer(site(child)) as server:
            found = read(server.url + "/index.xml", tls=client_context)
        assert len(secure.requests(FAULT)) == 2
    assert [loc for loc in found.locs if loc in PAGES] == PAGES
    assert found.stream.complete


# --- more than one host ---------------------------------------------------------------------------------------


def test_redirect_to_another_host_obeys_its_robots_txt_and_lists_its_folder_only() -> None:
    """The index of the first host verifies neither host: the scope is that of the final URL."""
    with FaultServer() as other, FaultServer() as server:
        here, there, above = (f"{server.url}/1", f"{other.url}/x/2", f"{other.url}/3")
        other.play("/x/moved.xml", page(urlset(here, there, above)))
        for path, script in site(FAULT, **{FAULT: to(f"{other.url}/x/moved.xml")}).items():
            server.play(path, script)
        found = read(server.url + "/index.xml", scope="protocol")
        assert [each.path for each in other.requests()] == ["/robots.txt", "/x/moved.xml"]
    outcome = found.outcome(server.url + FAULT)
    assert outcome.final_url == f"{other.url}/x/moved.xml"
    assert [loc for loc in found.locs if loc in (here, there, above)] == [here, there]
    assert (outcome.complete, outcome.dropped) == (True, {"path": 1})


def test_a_redirect_to_another_host_that_forbids_it_is_not_followed() -> None:
    with FaultServer({"/robots.txt": page(robots(rules="User-agent: *\nDisallow: /\n"))}) as other:
        with FaultServer(site(FAULT, **{FAULT: to(f"{other.url}/moved.xml")})) as server:
            found = read(server.url + "/index.xml")
        assert [each.path for each in other.requests()] == ["/robots.txt"]
    outcome = found.outcome(server.url + FAULT)
    assert (outcome.complete, outcome.problems) == (False, {"F03": 1, "F02": 1})
    assert f"forbidden by {other.url}/robots.txt" in found.messages(server.url + FAULT)[-1]
    assert_siblings_are_whole(found, server.url)


def test_excessive_retry_after_skips_that_host_only() -> None:
    """Records of that host are kept, its waiting documents are reported, other hosts continue."""
    with FaultServer({"/other.xml": page(urlset(*BEHIND))}) as other:
        scripts = {
            "/index.xml": page(index("/before.xml", FAULT, "/never.xml", f"{other.url}/other.xml")),
            "/before.xml": page(urlset(*BEFORE)),
            FAULT: busy("1000000000"),
        }
        with FaultServer(scripts) as server:
            found = read(server.url + "/index.xml", per_host=1)
            paths = [each.path for each in server.requests()]
    assert paths == ["/robots.txt", "/index.xml", "/before.xml", FAULT]
    assert sorted(found.locs) == sorted(BEFORE + BEHIND)
    for path in (FAULT, "/never.xml"):
        (message,) = found.messages(server.url + path)
        refused = f"F18 {server.url}{path}: {server.url} is skipped: 429 Too Many Requests, Retry-After "
        assert refused in message
        assert "raise max_wait_seconds (--max-wait) to wait for it" in message
        assert not found.outcome(server.url + path).complete
    assert not found.stream.complete


# --- bodies that are not read ---------------------------------------------------------------------------------

UNREAD = {
    "404": head("404 Not Found"),
    "206": head("206 Partial Content"),
    "503": head("503 Service Unavailable"),
    "redirect": head("302 Found", "Location: /moved.xml"),
    "too much": head("200 OK") + OPEN,
}


@pytest.mark.parametrize("name", UNREAD)
def test_connection_of_an_unread_body_is_closed_at_once(name: str) -> None:
    """The next document is delayed until the server has seen the client disconnect."""
    seen: list[bool] = []

    def when_gone(wire: Wire) -> object:
        deadline = time.monotonic() + 5
        while not (gone := wire.server.requests(FAULT)[0].hung_up) and time.monotonic() < deadline:
            wire.pause(0.01)
        seen.append(gone)
        return page(urlset(*BEHIND))(wire)

    more = {FAULT: endless(UNREAD[name], b" " * 10_000), "/behind.xml": when_gone, "/moved.xml": page(BODY)}
    with FaultServer(site(FAULT, **more)) as server:
        found = read(server.url + "/index.xml", limits={"max_decoded_bytes": 100_000, "tries": 1}, per_host=1)
    assert seen == [True]
    assert_siblings_are_whole(found, server.url)
