"""The aiohttp fetcher with real sockets on 127.0.0.1: raw servers with unusual responses."""

import asyncio
import gc
import gzip
import math
import socket
import ssl
import sys
from contextlib import asynccontextmanager, suppress

import aiohttp
import attrs
import pytest
from certificates import EXPIRED, tls_contexts
from servers import SiteServer, free_port

from sitemap_reader import FetchError, Limits, UsageError
from sitemap_reader.fetch import MAX_FRAMING_BYTES, AiohttpFetcher, RequestedUrl, fetch_error, guarded_connector
from sitemap_reader.model import CHUNK_BYTES

QUICK = Limits(connect_seconds=2, read_seconds=0.2)
UNCHECKED = "--cacert (cacert=FILE) trusts its issuer, --insecure (insecure=True) does not verify it"


@attrs.define
class Server:
    """Sends `reply` to every request head, then closes, resets, or holds the connection until the test ends."""

    reply: bytes
    then: str = "close"  # close, reset, hold
    port: int = 0
    heads: list[bytes] = attrs.field(factory=list)
    connections: int = 0
    hung_up: asyncio.Event = attrs.field(factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sitemap.xml"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await self._head(reader):
                self.heads.append(head)
                writer.write(self.reply)
                await writer.drain()
                if self.then == "close":
                    break
                if self.then == "reset":
                    await asyncio.sleep(0.05)  # so that the reply arrives first
                    writer.transport.abort()
                    break
        except ConnectionError:
            pass
        self.hung_up.set()
        writer.close()

    @staticmethod
    async def _head(reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""


@asynccontextmanager
async def serving(reply: bytes, then: str = "close", **options):
    server = Server(reply, then)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader, writer):
        task = asyncio.ensure_future(server.answer(reader, writer))
        tasks.add(task)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0, **options)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        _, late = await asyncio.wait(tasks, timeout=2) if tasks else ((), ())
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def fetcher(**options) -> AiohttpFetcher:
    return AiohttpFetcher(**{"user_agent": "tester/1", "limits": QUICK, "allow_private": True, **options})


async def get(url: str, headers: dict[str, str] | None = None, **options):
    async with fetcher(**options) as each, each.fetch(url, headers or {}) as response:
        return response, b"".join([chunk async for chunk in response.chunks])


LOCAL = "http://127.0.0.1:{}/sitemap.xml"


async def get_from(server: Server, url: str, headers: dict[str, str] | None = None, *, proxy: str = "", **options):
    """get(); in both URLs {} is the port of the server."""
    return await get(url.format(server.port), headers, proxy=proxy.format(server.port) or None, **options)


def answered(reply: bytes, then: str = "close", headers: dict[str, str] | None = None, url: str = LOCAL, **options):
    """(response, body, server) of one request to a server that sends `reply`."""

    async def run():
        async with serving(reply, then) as server:
            response, body = await get_from(server, url, headers, **options)
            return response, body, server

    return asyncio.run(run())


def refused(reply: bytes, then: str = "close", url: str = LOCAL, **options) -> tuple[FetchError, Server]:
    """The error of one request to a server that sends `reply`, and the server."""

    async def run():
        async with serving(reply, then) as server:
            with pytest.raises(FetchError) as caught:
                await get_from(server, url, **options)
            return caught.value, server

    return asyncio.run(run())


def several(reply: bytes, count: int, url: str = LOCAL) -> tuple[list[bytes], Server]:
    """The bodies of so many requests by one fetcher, and the server."""

    async def run():
        async with serving(reply, "hold") as server, fetcher() as each:
            bodies = []
            for _ in range(count):
                async with each.fetch(url.format(server.port), {}) as response:
                    bodies.append(b"".join([chunk async for chunk in response.chunks]))
            return bodies, server

    return asyncio.run(run())


def failure(url: str, **options) -> FetchError:
    with pytest.raises(FetchError) as caught:
        asyncio.run(get(url, **options))
    return caught.value


def ok(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


# --- answers ----------------------------------------------------------------------------------------------------


PACKED = gzip.compress(b"<urlset/>")
ANSWERS = {
    "body": (ok(b"<urlset/>"), 200, {}, b"<urlset/>"),
    "gzip, which stays packed": (ok(PACKED, "Content-Encoding: gzip"), 200, {"content-encoding": "gzip"}, PACKED),
    "broken gzip": (ok(b"\x1f\x8bjunk", "Content-Encoding: gzip"), 200, {}, b"\x1f\x8bjunk"),
    "redirect, which is not followed": (b"HTTP/1.1 302 Found\r\nLocation: /other.xml\r\nContent-Length: 0\r\n\r\n", 302,
                                        {"location": "/other.xml"}, b""),
    "repeated headers": (ok(b"", "X-Robots-Tag: a", 'ETag: W/"1"', "x-robots-tag: b"), 200,
                         {"x-robots-tag": "a, b", "etag": 'W/"1"'}, b""),
    "headers that are not UTF-8": (ok(b"", "X-Note: caf\xe9", "Location: /\xc3\xa9"), 200,
                                   {"x-note": "café", "location": "/é"}, b""),
    **{f"status {status}": (f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode(), int(status), {}, b"")
       for status in ("000", "404", "503", "999")},
    "not modified": (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, {}, b""),
    "body without length": (b"HTTP/1.0 200 OK\r\n\r\nabc", 200, {}, b"abc"),
}


@pytest.mark.parametrize(("reply", "status", "headers", "body"), ANSWERS.values(), ids=ANSWERS)
def test_answer_arrives_as_it_was_sent(reply, status, headers, body):
    response, received, server = answered(reply)
    assert (response.status, response.url, received) == (status, server.url, body)
    assert headers.items() <= response.headers.items()
    assert len(server.heads) == 1


def test_little_of_a_body_waits_in_memory():
    body = bytes(range(256)) * 32_768

    async def run():
        async with serving(ok(body)) as server, fetcher() as each, each.fetch(server.url, {}) as response:
            first = await anext(response.chunks)
            await asyncio.sleep(0.2)
            waiting = response.chunks._response.content.total_raw_bytes
            return waiting, [first, *[chunk async for chunk in response.chunks]]

    waiting, chunks = asyncio.run(run())
    assert b"".join(chunks) == body
    assert max(map(len, chunks)) <= CHUNK_BYTES
    # aiohttp stops reading above twice its buffer size; the read before may have brought asyncio's 256 KiB.
    assert waiting <= 2 * CHUNK_BYTES + asyncio.selector_events._SelectorSocketTransport.max_size


@pytest.mark.parametrize("field", ["connect_seconds", "read_seconds"])
def test_timeouts_may_be_infinite(field):
    assert answered(ok(b"body"), limits=Limits(**{field: math.inf}))[1] == b"body"


# --- requests ---------------------------------------------------------------------------------------------------


def header_lines(head: bytes) -> dict[str, str]:
    pairs = (line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
    return {name.lower(): value for name, value in pairs}


def test_request_carries_user_agent_gzip_and_own_headers():
    _, _, server = answered(ok(b""), headers={"If-None-Match": '"1"'})
    sent = header_lines(server.heads[0])
    assert sent["user-agent"] == "tester/1"
    assert sent["accept-encoding"] == "gzip"
    assert sent["if-none-match"] == '"1"'
    assert "cookie" not in sent


def test_headers_of_the_request_replace_our_own_in_any_case():
    _, _, server = answered(ok(b""), headers={"USER-AGENT": "other/2", "accept-encoding": "identity"})
    lines = server.heads[0].decode().lower().splitlines()
    ours = sorted(line for line in lines if line.startswith(("user-agent", "accept-encoding")))
    assert ours == ["accept-encoding: identity", "user-agent: other/2"]


@pytest.mark.parametrize(("url", "line"), [
    ("http://me:secret@127.0.0.1:{}/a?b=@c#frag", b"GET /a?b=@c HTTP/1.1\r\n"),
    ("http://127.0.0.1:{}/%41%zz/a%2Fb?q=%7e", b"GET /%41%zz/a%2Fb?q=%7e HTTP/1.1\r\n"),
])
def test_path_is_sent_as_written_without_userinfo_and_fragment(url, line):
    _, _, server = answered(ok(b""), url=url)
    assert server.heads[0].startswith(line)
    assert b"authorization" not in server.heads[0].lower()
    assert b"secret" not in server.heads[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])  # cookie jars keep no cookies of an IP address
def test_cookies_are_never_sent_back(host):
    bodies, server = several(ok(b"", "Set-Cookie: id=1; Path=/"), 2, f"http://{host}:{{}}/")
    assert (bodies, len(server.heads)) == ([b""] * 2, 2)
    assert not any(b"\r\ncookie" in head.lower() for head in server.heads)


def test_proxies_and_passwords_of_the_environment_are_not_used(monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)

    async def run():
        async with serving(ok(b"direct")) as server, serving(ok(b"by way of the proxy")) as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            _, body = await get(server.url)
            return body, server.heads, proxy.connections

    body, heads, connections = asyncio.run(run())
    assert (body, connections) == (b"direct", 0)
    assert "authorization" not in header_lines(heads[0])


def test_leaving_early_hangs_up():
    async def run():
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nabc"
        async with serving(reply, "hold") as server, fetcher() as each:
            async with each.fetch(server.url, {}) as response:
                assert await anext(response.chunks) == b"abc"
            await asyncio.wait_for(server.hung_up.wait(), 2)

    asyncio.run(run())


def test_fetcher_may_be_used_again_after_close():
    """Without another close() it leaves nothing open, as after a request of an abandoned stream."""

    async def run():
        async with serving(ok(b"abc"), "hold") as server:
            each = fetcher()
            for _ in range(2):
                async with each.fetch(server.url, {}) as response:
                    async with each.fetch(server.url, {}) as other:
                        assert other.status == 200
                    assert [chunk async for chunk in response.chunks] == [b"abc"], "the end of one is not that of all"
                if each._keeps_session:
                    await each.close()
            with pytest.raises(FetchError):
                async with each.fetch("http://127.0.0.1:1/", {}):
                    pass
        del each
        gc.collect()

    asyncio.run(run())


# --- failures ---------------------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\n"
LONG = HEAD + b"Content-Length: 20000\r\n\r\n" + b"x" * 12_345
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

ODD_SERVERS = [
    # reply, then, message without the place, transient
    (b"garbage\r\n\r\n", "close", "{}: response is not HTTP: Bad status line", False),
    (b"<html>old", "close", "{}: response is not HTTP: ", False),
    (HEAD + b"X: " + b"a" * 60_000 + b"\r\n\r\n", "close", "{}: response is not HTTP: Got more than", False),
    (HEAD + b"X: a\r\n" * 50_000 + b"\r\n", "close", "{}: response is not HTTP: Too many headers", False),
    (HEAD + b"X: a\0b\r\n\r\n", "close", "{}: response is not HTTP: ", False),
    (HEAD + b"Content-Length: -1\r\n\r\n", "close", "{}: response is not HTTP: ", False),
    (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "close", "{}: response is not HTTP: ", False),
    (b"", "close", "{} closed the connection before it answered", True),
    (b"HTTP/1.1 200", "close", "{} closed the connection before it answered", True),
    (b"", "reset", "{}", True),
    (b"", "hold", "{}: no byte for 0.2 s", True),
    (HEAD, "hold", "{}: no byte for 0.2 s", True),
    (LONG, "close", "{}: connection broke off after 12,345 bytes", True),
    (LONG, "reset", "{}: connection broke off after 12,345 bytes", True),
    (LONG, "hold", "{}: no byte for 0.2 s after 12,345 bytes", True),
    (CHUNKED + b"3\r\nabc\r\n", "close", "{}: connection broke off after 3 bytes", True),
    (CHUNKED, "close", "{}: connection broke off after 0 bytes", True),
    (CHUNKED + b"3\r\nabc\r\nzz\r\n", "hold", "{}: body is not HTTP after 3 bytes: Invalid character in chunk", True),
]


@pytest.mark.parametrize(("reply", "then", "message", "transient"), ODD_SERVERS)
def test_odd_server_gives_a_fetch_error(reply, then, message, transient):
    error, server = refused(reply, then)
    assert message.format(f"127.0.0.1:{server.port}") in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 300
    assert (error.code, error.transient) == ("F04", transient)
    assert len(server.heads) == 1, "one request, however it ends"


def test_bytes_before_a_broken_transfer_are_delivered():
    async def run():
        received = []

        async def read(chunks):
            async for chunk in chunks:
                received.append(chunk)

        async with serving(LONG) as server, fetcher() as each, each.fetch(server.url, {}) as response:
            with pytest.raises(FetchError):
                await read(response.chunks)
        return b"".join(received)

    assert asyncio.run(run()) == b"x" * 12_345


@pytest.mark.parametrize("fault", ["close", "reset", "odd chunk"])
def test_buffered_bytes_of_a_broken_body_are_delivered(fault):
    """A slow reader gets all bytes that arrived before the break."""

    async def run():
        reply = LONG if fault != "odd chunk" else CHUNKED + b"3039\r\n" + b"x" * 12_345 + b"\r\nzz"
        async with serving(reply, fault) as server, fetcher() as each, each.fetch(server.url, {}) as response:
            await asyncio.sleep(0.15)
            received = await anext(response.chunks)
            with pytest.raises(FetchError) as caught:
                await anext(response.chunks)
            return received, str(caught.value)

    received, message = asyncio.run(run())
    assert received == b"x" * 12_345
    assert "after 12,345 bytes" in message


HINTS = b"HTTP/1.1 103 Early Hints\r\nA: " + b"x" * 7_900 + b"\r\n\r\n"
EXTENSION = b"1;" + b"x" * 8_000 + b"\r\n \r\n"
TRAILER = b"A: " + b"x" * 7_900 + b"\r\n"
SLICE = 20  # of these blocks are sent at once
AHEAD = 16 * 2**20  # bytes that sockets take beside those that are read


async def sent_until_refused(head: bytes, block: bytes, *, guarded: bool = True, tls=None):
    """The FetchError for a response of endless blocks; the bytes of the body that came, and those that were sent."""
    sent, bodies = 0, []

    async def answer(reader, writer):
        nonlocal sent
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while True:
                writer.write(block * SLICE)
                sent += len(block) * SLICE
                await writer.drain()  # returns at once behind a lost connection, which the loop then reports
                await asyncio.sleep(0)
                assert sent < 20 * AHEAD

    listener = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    connector = guarded_connector(allow_private=True) if guarded else aiohttp.TCPConnector()
    async with listener, aiohttp.ClientSession(connector=connector) as session:
        each = fetcher(session=session, limits=Limits(max_wire_bytes=10**9), insecure=tls is not None)

        async def read():
            async with each.fetch(url, {}) as response:
                async for chunk in response.chunks:
                    bodies.append(chunk)

        with pytest.raises(FetchError) as caught:
            await read()
    return caught.value, len(b"".join(bodies)), sent


@pytest.mark.parametrize(("head", "block", "guarded"), [
    (b"", HINTS, True), (CHUNKED, EXTENSION, True), (CHUNKED, EXTENSION, False),
    (CHUNKED + b"3\r\nabc\r\n0\r\n", TRAILER, True),
], ids=["1xx responses", "chunk extensions", "with another connector", "trailers"])
def test_bytes_beside_the_body_have_a_limit(head, block, guarded):
    error, _, sent = asyncio.run(asyncio.wait_for(sent_until_refused(head, block, guarded=guarded), 30))
    assert error.code == "F04"
    assert sent < AHEAD
    if block != TRAILER:  # for which aiohttp has a limit of its own
        assert "bytes beside its body" in str(error)
        assert not error.transient


def test_bytes_beside_the_body_have_a_limit_over_tls(tmp_path):
    server, _ = tls_contexts(EXPIRED, tmp_path)
    error, body, sent = asyncio.run(asyncio.wait_for(sent_until_refused(CHUNKED, EXTENSION, tls=server), 30))
    assert "bytes beside its body" in str(error)
    assert body > 0, "what had arrived is read"
    assert sent < AHEAD


@pytest.mark.parametrize("extra", [-20_000, 600_000])  # it is known for what has been received at once
def test_limit_of_bytes_beside_the_body(extra):
    """Just under it the response is read."""
    hints = HINTS * ((MAX_FRAMING_BYTES + extra) // len(HINTS))
    if extra < 0:
        assert answered(hints + ok(b"<urlset/>"))[1] == b"<urlset/>"
    else:
        with pytest.raises(FetchError, match="bytes beside its body"):
            answered(hints + ok(b"<urlset/>"))


@pytest.mark.slow
def test_chunks_of_one_byte_are_within_it():
    body = b"x" * (MAX_FRAMING_BYTES // 5 + 9_999)
    assert answered(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")[1] == body


def test_other_requests_of_an_own_session_have_no_such_limit():
    async def run():
        body = b"x" * (3 * MAX_FRAMING_BYTES)
        async with (
            serving(ok(body), "hold") as server,
            aiohttp.ClientSession(connector=guarded_connector(allow_private=True)) as session,
        ):
            await get(server.url, session=session)
            for _ in range(2):
                async with session.get(server.url) as response:
                    assert await response.read() == body
            return server.connections

    assert asyncio.run(run()) == 1


@pytest.mark.parametrize(("reply", "count", "body", "connections"), [
    (ok(b"abc"), 3, b"abc", 1),
    (HINTS * 80 + ok(b"abc"), 4, b"abc", 1),  # in all, over twice the limit, which counts for each request
    (ok(b"<urlset/>") + b"<urlset/>", 2, b"<urlset/>", 2),
], ids=["a body", "bytes beside it", "a body longer than its length"])
def test_connection_is_kept_for_the_next_request_unless_bytes_are_left(reply, count, body, connections):
    bodies, server = several(reply, count)
    assert (bodies, server.connections, len(server.heads)) == ([body] * count, connections, count)


@pytest.mark.parametrize("guarded", [True, False])
def test_odd_chunk_that_comes_late_ends_the_body(guarded):
    """Also with the connector of an own session no read blocks forever, and no aiohttp exception is raised."""
    async def run():
        release = asyncio.Event()

        async def answer(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(CHUNKED + b"3\r\nabc\r\n")
            await release.wait()
            writer.write(b"zz\r\n")
            await reader.read()
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        connector = guarded_connector(allow_private=True) if guarded else aiohttp.TCPConnector()
        async with (
            listener,
            aiohttp.ClientSession(connector=connector) as session,
            fetcher(session=session).fetch(f"http://127.0.0.1:{port}/", {}) as response,
        ):
            assert await anext(response.chunks) == b"abc"
            release.set()
            await asyncio.sleep(0.1)
            with pytest.raises(FetchError) as caught:
                await anext(response.chunks)
            return caught.value

    error = asyncio.run(asyncio.wait_for(run(), 10))
    assert (error.code, error.transient) == ("F04", True)
    assert "after 3 bytes" in str(error)


def test_refused_connection_names_host_and_port():
    port = free_port()
    error = failure(f"http://127.0.0.1:{port}/")
    assert str(error) == f"connection refused by 127.0.0.1:{port}; check the host and the port"
    assert error.transient


NAME_FAULTS = [
    (socket.EAI_NONAME, "shop.example: no such host; check the spelling", False),
    (socket.EAI_AGAIN, "shop.example: the name servers do not answer", True),
]


@pytest.mark.parametrize(("number", "message", "transient"), NAME_FAULTS)
def test_name_that_does_not_resolve(monkeypatch, number, message, transient):
    async def resolve(*_args, **_options):
        raise socket.gaierror(number, "no")

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    monkeypatch.setattr("aiohttp.connector.DefaultResolver", sys.modules["aiohttp.resolver"].ThreadedResolver)
    error = failure("http://shop.example/")
    assert (str(error), error.code, error.transient) == (message, "F04", transient)


UNUSABLE = ["http:///x", "http://127.0.0.1:99999/", "http://[::1/", "http://127.0.0.1/a b",
            "http://127.0.0.1/a\r\nX: y", "http://127.0.0.1/é", f"http://{'a' * 70}.example/", "http://..example/",
            "http://2130706433:1/"]


@pytest.mark.parametrize("url", UNUSABLE)
def test_unusable_url_is_a_lasting_failure(url):
    error = failure(url)
    assert "is not a usable URL" in str(error)
    assert str(error).endswith("; check the URL")
    assert (error.code, error.transient) == ("F04", False)


@pytest.mark.parametrize("url", ["ftp://e.com/", "file:///etc/passwd", "javascript:alert(1)", "/a", "", "e.com"])
def test_only_http_and_https_are_fetched(url):
    error = failure(url)
    assert (error.code, error.transient) == ("U02", False)
    assert "only http and https" in str(error)


@pytest.fixture
def expired(tmp_path):
    return tls_contexts(EXPIRED, tmp_path)


def tls_failure(server_context, client_context=None) -> tuple[FetchError, int]:
    async def run():
        async with serving(ok(b""), ssl=server_context) as server:
            connector = guarded_connector(allow_private=True, ssl=client_context or True)
            async with aiohttp.ClientSession(connector=connector) as session:
                with pytest.raises(FetchError) as caught:
                    await get(server.url.replace("http:", "https:"), session=session)
            return caught.value, server.port

    return asyncio.run(run())


@pytest.mark.parametrize(("is_trusted", "fault"), [(True, "has expired"), (False, "is self-signed")])
def test_fault_of_a_certificate_is_named(expired, is_trusted, fault):
    server_context, client_context = expired
    error, port = tls_failure(server_context, client_context if is_trusted else None)
    assert str(error) == f"TLS certificate of 127.0.0.1:{port} {fault}; {UNCHECKED}"
    assert (error.code, error.transient) == ("F04", False)


def test_a_port_that_does_not_speak_tls_is_not_blamed_on_the_user_agent():
    answer, hello = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = ssl.create_default_context().wrap_bio(answer, hello, server_hostname="a.example")
    answer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(ssl.SSLError) as caught:
        handshake.do_handshake()
    error = fetch_error(caught.value, RequestedUrl("https://a.example/", "a.example", "a.example:80", 1.0, 1.0))
    assert str(error).startswith("TLS with a.example:80 failed: ")
    assert error.remedy == "check the port, or give the URL with http://"


@pytest.mark.slow
def test_tls_to_a_server_without_it():
    """The server waits for a request head, or takes the handshake for one."""
    assert refused(b"", url="https://127.0.0.1:{}/")[0].code == "F04"


# --- addresses --------------------------------------------------------------------------------------------------

# tests/hostile/test_addresses.py has every spelling and source of a private address.


def test_refusal_names_the_address():
    error = failure("http://127.0.0.1/", allow_private=False)
    assert str(error) == "127.0.0.1 is a loopback address; --allow-private (allow_private=True) permits it"


def test_literal_is_refused_by_the_connector_itself():
    async def run():
        async with serving(ok(b"")) as server:
            async with aiohttp.ClientSession(connector=guarded_connector()) as session:
                with pytest.raises(aiohttp.ClientConnectorError, match="loopback"):
                    await session.get(server.url)
            return server.connections

    assert asyncio.run(run()) == 0


def test_proxy_on_a_private_address_is_used():
    options = {"url": "http://shop.example/a.xml", "allow_private": False, "proxy": "http://127.0.0.1:{}"}
    _, body, server = answered(ok(b"proxied"), **options)
    assert body == b"proxied"
    assert server.heads[0].startswith(b"GET http://shop.example/a.xml HTTP/1.1\r\n")


def test_proxy_that_is_down_is_named():
    port = free_port()
    error = failure("http://shop.example/", proxy=f"http://127.0.0.1:{port}")
    message = f"no connection to the proxy 127.0.0.1:{port}; check its host and port (--proxy)"
    assert str(error) == f"shop.example: {message}"


@pytest.mark.parametrize(("status", "remedy"),
                         [(407, "; check the user and the password of the proxy (--proxy)"), (403, "")])
def test_proxy_that_refuses_to_connect_is_reported_with_advice(status, remedy):
    reply = b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status
    error, server = refused(reply, url="https://shop.example/a.xml", proxy="http://me:s3cret@127.0.0.1:{}")
    assert str(error) == f"shop.example: the proxy 127.0.0.1:{server.port} answered {status}{remedy}"


def test_server_that_wants_a_client_certificate_is_reported_with_advice(tmp_path):
    """TLS 1.2: in TLS 1.3 the refusal comes after the handshake, and may be lost with the connection."""
    context, _ = tls_contexts(EXPIRED, tmp_path)
    context.verify_mode, context.maximum_version = ssl.CERT_REQUIRED, ssl.TLSVersion.TLSv1_2
    with SiteServer({}, context) as server:
        error = failure(server.url, insecure=True)
    assert "alert handshake failure; the server may want a client certificate: in Python give a session=" in str(error)


def test_own_session_needs_a_guarded_connector():
    async def run():
        async with aiohttp.ClientSession() as session:
            with pytest.raises(UsageError, match="guarded_connector"):
                AiohttpFetcher(user_agent="x", session=session)
            AiohttpFetcher(user_agent="x", session=session, allow_private=True)
        async with aiohttp.ClientSession(connector=guarded_connector()) as session:
            AiohttpFetcher(user_agent="x", session=session)

    asyncio.run(run())


def test_own_session_keeps_session_and_its_body_packed():
    packed = gzip.compress(b"<urlset/>")

    async def run():
        async with serving(ok(packed, "Content-Encoding: gzip")) as server:
            connector = guarded_connector(allow_private=True)
            async with aiohttp.ClientSession(connector=connector) as session:
                _, body = await get(server.url, session=session)
                return body, session.closed

    assert asyncio.run(run()) == (packed, False)


def test_own_socket_factory_is_called_after_the_address_check():
    seen = []

    def factory(info):
        seen.append(info[4][0])
        return socket.socket(*info[:3])

    async def run(allow):
        async with serving(ok(b"")) as server:
            connector = guarded_connector(allow_private=allow, socket_factory=factory)
            async with aiohttp.ClientSession(connector=connector) as session:
                return (await session.get(server.url)).status

    with pytest.raises(OSError, match="loopback"):
        asyncio.run(run(allow=False))
    assert seen == []
    assert asyncio.run(run(allow=True)) == 200
    assert seen == ["127.0.0.1"]
