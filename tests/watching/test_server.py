"""The server of a watch over loopback: each route, who may read it, and its limits."""

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import wraps
from typing import Any

import aiohttp
import attrs
import pytest
from fake_watcher import NOW, FakeWatcher, fake_watcher
from prometheus_client.parser import text_string_to_metric_families
from servers import free_port

from sitemap_reader import StateError, UsageError
from sitemap_reader.fetch import AiohttpFetcher
from sitemap_reader.model import RAISE_VARIABLE
from sitemap_reader.watching import (
    Counters,
    Fault,
    Health,
    PingLimits,
    PingReceiver,
    Rate,
    ServerLimits,
    SinkStatus,
    SiteQuery,
    SiteStatus,
    Totals,
    check_token,
    parse_listen,
    read_changes,
    robots_reader,
    select_sites,
    serve,
)

TOKEN = "a-secret-of-16-c"  # noqa: S105
URL = "https://example.com/sitemap.xml"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FORM_HEAD = b"POST /ping HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
UNLIMITED = Rate(per_hour=1e9, burst=10**9)


@attrs.define
class Client:
    """A running server, its watcher, and a session with it."""

    url: str
    watcher: FakeWatcher
    pings: PingReceiver
    session: aiohttp.ClientSession

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        status, _, text = await self.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        return status, text

    async def request(self, method: str, path: str, **options: Any) -> tuple[int, dict[str, str], str]:
        async with self.session.request(method, self.url + path, **options) as response:
            return response.status, dict(response.headers), await response.text()


@asynccontextmanager
async def client(pings: PingLimits | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client of a server with these limits of pings, and these options."""
    async with fake_watcher() as watcher:
        receiver = PingReceiver(watcher.knows, watcher.ping, limits=pings or PingLimits(), clock=lambda: 0.0)
        task = asyncio.create_task(receiver.run())
        async with serve(watcher, receiver, "127.0.0.1:0", **options) as listen, aiohttp.ClientSession() as session:
            yield Client(listen.url[:-1], watcher, receiver, session)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


Test = Callable[[Client], Coroutine[Any, Any, None]]


def served(**options: Any) -> Callable[[Test], Callable[[], Coroutine[Any, Any, None]]]:
    """A test that gets a Client of a server with these options."""

    def decorate(test: Test) -> Callable[[], Coroutine[Any, Any, None]]:
        @wraps(test)
        async def run() -> None:
            async with client(**options) as connected:
                await test(connected)

        del run.__wrapped__  # type: ignore[attr-defined]  # pytest would take its parameter for a fixture
        return run

    return decorate


def fail_sites(watcher: FakeWatcher, error: Exception) -> None:
    def fail(query: SiteQuery) -> Any:
        raise error

    watcher.__class__ = type("Broken", (FakeWatcher,), {"sites": staticmethod(fail), "__slots__": ()})


def seqs(text: str) -> list[int]:
    return [json.loads(line)["seq"] for line in text.splitlines()]


# --- /ping ---


@served()
async def test_ping_is_received_at_once_by_get_by_form_and_by_query(client):
    client.watcher.known |= {URL, URL + "?2", URL + "?3"}
    assert await client.get(f"/ping?sitemap={URL}") == (200, "Ping received.\n")
    assert (await client.request("POST", "/ping", data={"sitemap": URL + "?2"}))[0] == 200
    assert (await client.request("POST", "/ping", params={"sitemap": URL + "?3"}))[0] == 200
    await client.pings.join()
    assert [ping.url for ping in client.watcher.pings] == [URL, URL + "?2", URL + "?3"]


@served()
async def test_answer_to_a_ping_does_not_depend_on_what_is_watched(client):
    client.watcher.known.add(URL)
    answers = []
    for url in (URL, URL, "https://example.org/a.xml", "http://127.0.0.1/a.xml", "http://10.0.0.1:22/"):
        status, headers, text = await client.request("GET", "/ping", params={"sitemap": url})
        answers.append((status, text, {name for name in headers if name != "Date"}))
    assert answers == [answers[0]] * 5
    await client.pings.join()
    assert client.pings.counts == {"accepted": 2, "unknown": 1, "private": 2}


@served()
async def test_ping_without_a_usable_url_is_400_and_says_what_to_give(client):
    form, charset = FORM, {"Content-Type": f"{FORM['Content-Type']}; charset=x"}
    answers = [
        await client.request("GET", "/ping"),
        await client.request("GET", "/ping?sitemap=sitemap.xml"),
        await client.request("GET", "/ping?url=https://example.com/"),
        await client.request("POST", "/ping"),
        await client.request("POST", "/ping", data=b"sitemap=%FF%FE", headers=form),
        await client.request("POST", "/ping", data=b"a=b", headers=charset),
        await client.request("POST", "/ping", data=b"--a--", headers={"Content-Type": "multipart/form-data"}),
        await client.request("POST", "/ping", data={"sitemap": io.BytesIO(b"https://example.com/")}),
    ]
    assert [status for status, _, _ in answers] == [400] * 8
    assert "/ping?sitemap=https%3A%2F%2F" in answers[0][2]


@served(pings=PingLimits(client=Rate(per_hour=60, burst=2)))
async def test_too_many_pings_are_429_with_the_seconds_to_wait(client):
    answers = [await client.request("GET", f"/ping?sitemap=https://{n}.example.com/") for n in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 429]
    assert answers[2][1]["Retry-After"] == "60"
    assert "60 s" in answers[2][2]


@served(pings=PingLimits(client=Rate(per_hour=60, burst=1)), behind_proxy=True)
async def test_behind_a_proxy_the_last_forwarded_address_is_the_client(client):
    forwarded = ["203.0.113.1", "203.0.113.2", "spoofed, 203.0.113.1", "203.0.113.9, 203.0.113.3"]
    statuses = [
        (await client.get(f"/ping?sitemap=https://{n}.example.com/", X_Forwarded_For=each))[0]
        for n, each in enumerate(forwarded)
    ]
    assert statuses == [200, 200, 429, 200]


@served(pings=PingLimits(client=Rate(per_hour=60, burst=1)))
async def test_without_a_proxy_a_forwarded_address_changes_nothing(client):
    statuses = [
        (await client.get(f"/ping?sitemap=https://{n}.example.com/", X_Forwarded_For=f"203.0.113.{n}"))[0]
        for n in range(2)
    ]
    assert statuses == [200, 429]


@served()
async def test_body_has_a_limit(client):
    limit = ServerLimits().body_bytes
    start = f"sitemap={URL}&x=".encode()
    fits, too_long = (start + b"x" * (size - len(start)) for size in (limit, limit + 1))
    assert (await client.request("POST", "/ping", data=fits, headers=FORM))[0] == 200
    assert (await client.request("POST", "/ping", data=too_long, headers=FORM))[0] == 413


@served()
async def test_head_has_a_limit(client):
    assert (await client.get("/ping?sitemap=https://example.com/" + "a" * 9_000))[0] == 400
    assert (await client.get(f"/ping?sitemap={URL}", X="a" * 9_000))[0] == 400


async def raw(url: str, data: bytes) -> bytes:
    """What the server answers to bytes until it closes the connection."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


SLOW = ServerLimits(idle_seconds=0.05, body_seconds=0.05)


@pytest.mark.parametrize(("data", "status"), [
    (b"", b""),
    (b"GET /ping HTTP/1.1\r\nHost: a", b""),
    (FORM_HEAD + b"Content-Length: 9\r\n\r\nsit", b"HTTP/1.1 408"),
])
async def test_a_request_that_does_not_end_is_ended(data, status):
    async with client(limits=SLOW) as connected:
        answer = await asyncio.wait_for(raw(connected.url, data), 10)
    assert answer[: len(b"HTTP/1.1 408")] == status


Connected = tuple[asyncio.StreamReader, asyncio.StreamWriter]
WAIT = b"GET /changes?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def connected_to(server: Client, data: bytes = b"", source: str = "127.0.0.1") -> Connected:
    """A connection from an address, which has sent some bytes."""
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    writer.write(data)
    return reader, writer


async def ended(connection: Connected) -> bytes:
    """What a connection received until its end."""
    received = b""
    with suppress(ConnectionError):
        received = await asyncio.wait_for(connection[0].read(), 10)
    connection[1].close()
    return received


async def until_open(server: Client, streams: int) -> None:
    while f"change_streams {streams}.0" not in (await server.get("/metrics"))[1]:
        pass


@pytest.mark.parametrize("limit", ["connections", "client_connections"])
async def test_connections_have_a_limit_and_a_new_one_replaces_one_that_waits(limit):
    async with client(limits=ServerLimits(**{limit: 2})) as server:
        first, second = [await connected_to(server) for _ in range(2)]
        assert (await ended(await connected_to(server, HEALTH))).startswith(b"HTTP/1.1 200")
        assert await ended(first) == b"", "it had waited longest"
        third = await connected_to(server)
        assert (await ended(await connected_to(server, HEALTH))).startswith(b"HTTP/1.1 200")
        assert await ended(second) == b""
        third[1].close()


async def test_a_client_whose_requests_are_all_in_progress_gets_no_more_connections_but_others_do():
    async with client(limits=ServerLimits(client_connections=1)) as server:
        await server.session.close()
        waiting = await connected_to(server, WAIT)
        while b"200" not in await ended(await connected_to(server, HEALTH, "127.0.0.2")):
            pass
        assert await ended(await connected_to(server, HEALTH)) == b""
        assert b"200" in await ended(await connected_to(server, HEALTH, "127.0.0.2"))
        waiting[1].close()


async def test_behind_a_proxy_only_the_number_of_all_connections_has_a_limit():
    async with client(limits=ServerLimits(client_connections=1), behind_proxy=True) as server:
        waiting = [await connected_to(server, WAIT) for _ in range(3)]
        await until_open(server, 3)
        for each in waiting:
            each[1].close()


ENTRIES, OF_ENTRY = 20, 250
CHANGES = f"/changes?after=0&limit={ENTRIES * OF_ENTRY}"


def reads_of(feed: Any) -> list[int]:
    """The numbers behind which the log of a feed is read from now on."""
    read, after = [], feed.after

    async def counted(seq: int, entries: int = 1) -> Any:
        read.append(seq)
        return await after(seq, entries)

    feed.after = counted
    return read


@pytest.mark.slow
@pytest.mark.parametrize(("requests", "last"), [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000, None),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000 + HEALTH, None),
    (f"GET {CHANGES} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), b"0\r\n\r\n"),
    (f"GET {CHANGES} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode(), None),
], ids=["pipelined", "closing", "changes", "changes of HTTP/1.0"])
async def test_an_answer_that_is_not_taken_ends_the_connection(requests, last):
    """And is made no further than the client takes it."""
    async with client(limits=ServerLimits(write_seconds=0.2, idle_seconds=3600)) as server:
        for entry in range(ENTRIES):
            await server.watcher.change(*(f"https://example.com/{entry}/{'a' * 4_000}{n}" for n in range(OF_ENTRY)))
        read = reads_of(server.watcher.feed)
        loop = asyncio.get_running_loop()
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.setblocking(False)
            await loop.sock_connect(reader, ("127.0.0.1", int(server.url.rpartition(":")[2])))
            with suppress(BlockingIOError):
                reader.send(requests)
            await asyncio.sleep(1.0)  # in which it is aborted
            received, tail = 0, b""
            with suppress(ConnectionError):
                while part := await asyncio.wait_for(loop.sock_recv(reader, 65_536), 10):
                    received, tail = received + len(part), part[-5:]
        assert received < 15_000_000, "all of it would be 20 MB"
        assert last is None or tail != last, "it ended as if it were complete"
        assert max(read, default=0) < ENTRIES * OF_ENTRY * 0.75


@pytest.mark.slow
async def test_a_slow_client_gets_a_large_answer_as_long_as_it_takes_pieces():
    async with client(limits=ServerLimits(write_seconds=0.5)) as server:
        for entry in range(ENTRIES):
            await server.watcher.change(*(f"https://example.com/{entry}/{'a' * 4_000}{n}" for n in range(OF_ENTRY)))
        async with server.session.get(server.url + CHANGES) as response:
            lines = 0
            while part := await response.content.read(500_000):
                lines += part.count(b"\n")
                await asyncio.sleep(0.02)  # in all, more than write_seconds
        assert lines == ENTRIES * OF_ENTRY


# --- requests that are not HTTP ---

CLOSING = b"Host: localhost\r\nConnection: close\r\n"


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\r\n\r\n",
    b"X\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\n" + CLOSING + b"\r\n",
    b"GET /\xff HTTP/1.1\r\n" + CLOSING + b"\r\n",
    b"GET / HTTP/1.1\r\nA: " + b"x" * 9_000 + b"\r\n" + CLOSING + b"\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + CLOSING + b"\r\n",
    FORM_HEAD + CLOSING[17:] + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    FORM_HEAD + CLOSING[17:] + b"Transfer-Encoding: chunked\r\n\r\n3\r\na=bzz\r\n",
    FORM_HEAD + CLOSING[17:] + b"Content-Encoding: deflate\r\nContent-Length: 5\r\n\r\nabcde",
])
async def test_a_request_that_is_not_http_is_400_with_all_headers_and_logs_nothing(data, capfd, caplog):
    async with client() as connected:
        head, _, _ = (await raw(connected.url, data)).partition(b"\r\n\r\n")
    assert head.split()[1] == b"400"
    assert b"X-Content-Type-Options: nosniff" in head
    assert b"Content-Security-Policy: default-src 'none'" in head
    assert b"aiohttp" not in head
    assert b"Python" not in head
    assert (caplog.messages, capfd.readouterr()) == ([], ("", ""))


async def test_an_internal_error_is_500_with_all_headers_and_reported_once(capfd, monkeypatch):
    monkeypatch.delenv(RAISE_VARIABLE)
    reported: list[str] = []
    async with client(report=reported.append) as connected:
        fail_sites(connected.watcher, ZeroDivisionError("here"))
        for _ in range(3):
            status, headers, text = await connected.request("GET", "/sites")
            assert (status, headers["X-Content-Type-Options"], "here" in text) == (500, "nosniff", False)
            assert "Python" not in headers["Server"]
    assert len(reported) == 1
    assert reported[0].startswith("the server failed to answer a request: internal error ZeroDivisionError (here)")
    assert capfd.readouterr() == ("", "")


# --- /changes as JSON Lines ---


@served()
async def test_changes_are_the_lines_after_a_cursor(client):
    await client.watcher.change_many([3, 1, 2])
    status, headers, text = await client.request("GET", "/changes")
    assert (status, headers["Last-Seq"], headers["Content-Type"]) == (200, "6", "application/jsonl; charset=utf-8")
    assert seqs(text) == [1, 2, 3, 4, 5, 6]
    assert json.loads(text.splitlines()[1]) | {"type": "change", "change": "new", "site": "example.com"} == json.loads(
        text.splitlines()[1]
    )
    for after in range(7):
        assert seqs((await client.get(f"/changes?after={after}"))[1]) == list(range(after + 1, 7))
    assert (await client.request("GET", "/changes?after=6"))[1]["Last-Seq"] == "6"


@served()
async def test_limit_cuts_within_and_between_entries(client):
    await client.watcher.change_many([3, 1, 2])
    for limit in range(1, 8):
        seen, cursor = [], "0"
        while True:
            _, headers, text = await client.request("GET", f"/changes?after={cursor}&limit={limit}")
            if not text:
                break
            assert len(text.splitlines()) <= limit
            seen += seqs(text)
            cursor = headers["Last-Seq"]
        assert seen == [1, 2, 3, 4, 5, 6]


@served()
async def test_an_answer_of_many_pieces_has_all_changes_and_the_cursor_behind_them(client):
    for entry in range(5):
        await client.watcher.change(*(f"https://example.com/{entry}/{'a' * 500}{n}" for n in range(1_000)))
    found, after = [], ""
    for limit, last in ((2_500, 2_500), (1, 2_501), (10_000, 5_000)):
        _, headers, text = await client.request("GET", f"/changes?after={after}&limit={limit}")
        found, after = found + seqs(text), headers["Last-Seq"]
        assert after == str(last)
    assert found == [*range(1, 5_001)]


@served()
async def test_an_answer_that_cannot_go_on_is_broken_off(client):
    for entry in range(2):
        await client.watcher.change(*(f"https://example.com/{entry}/{'a' * 500}{n}" for n in range(1_000)))
    after = client.watcher.feed.after

    async def once(seq: int, entries: int = 1) -> Any:
        if seq >= 1_000:
            raise StateError("/srv/sites.db is damaged")
        return await after(seq, entries)

    client.watcher.feed.after = once
    for accept in ("*/*", "text/event-stream"):
        with pytest.raises(aiohttp.ClientError):
            await client.get("/changes?after=0&limit=2000", Accept=accept)


@served()
async def test_latest_is_behind_the_newest_change(client):
    await client.watcher.change_many([3])
    _, headers, text = await client.request("GET", "/changes?after=latest")
    assert (text, headers["Last-Seq"]) == ("", "3")


@served()
async def test_an_empty_log_has_no_changes(client):
    for query in ("", "?after=0", "?after=latest", "?wait=0.01"):
        _, headers, text = await client.request("GET", f"/changes{query}")
        assert (text, headers["Last-Seq"]) == ("", "0")


@served()
async def test_a_wait_ends_with_the_next_change(client):
    request = asyncio.create_task(client.get("/changes?after=0&wait=60"))
    await until_open(client, 1)
    assert not request.done()
    await client.watcher.change_many([2])
    assert seqs((await request)[1]) == [1, 2]


@served()
async def test_a_cursor_older_than_the_log_is_410_with_one_that_can_be_used(client):
    await client.watcher.change_many([3, 2])
    await client.watcher.change("https://example.com/new", at=NOW + timedelta(days=1))
    await client.watcher.feed.prune(NOW + timedelta(hours=1), ())
    for after in ("0", "4"):
        status, headers, text = await client.request("GET", f"/changes?after={after}")
        assert (status, headers["Last-Seq"]) == (410, "5")
        assert "after=5" in text
        assert (await client.get(f"/changes?after={after}", Accept="text/event-stream"))[0] == 410
    assert seqs((await client.get("/changes?after=5"))[1]) == [6]
    assert seqs((await client.get("/changes"))[1]) == [6]


@served()
async def test_a_cursor_beyond_the_log_is_410_as_it_would_wait_for_ages(client):
    await client.watcher.change_many([3])
    assert (await client.get("/changes?after=3"))[0] == 200
    status, text = await client.get("/changes?after=4&wait=60")
    assert (status, "ends with change 3" in text) == (410, True)


@served()
async def test_parameters_out_of_range_are_400(client):
    most = ServerLimits().max_changes
    for query in ("after=-1", "after=x", "after=1.5", "limit=0", f"limit={most + 1}", "limit=x", "wait=-1", "wait=61",
                  "wait=nan", "wait=x", "cursor=1", "after=" + "9" * 5000):  # fmt: skip
        status, text = await client.get(f"/changes?{query}")
        assert (status, "Traceback" in text) == (400, False), query
    assert (await client.get(f"/changes?limit={most}"))[0] == 200


# --- /changes as server-sent events ---


class Events:
    """The events of a stream, read one by one."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content

    async def next(self) -> dict[str, str]:
        """The next event or comment, its fields by name."""
        block = (await asyncio.wait_for(self._content.readuntil(b"\n\n"), 10)).decode()
        return dict(line.partition(":")[::2] for line in block.splitlines() if line)

    async def ids(self, count: int) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            event = await self.next()
            if "id" in event:
                assert json.loads(event["data"])["seq"] == int(event["id"])
                found.append(int(event["id"]))
        return found


@asynccontextmanager
async def events(client: Client, query: str = "", **headers: str) -> AsyncIterator[Events]:
    options = {"headers": {"Accept": "text/event-stream", **headers}}
    async with client.session.get(f"{client.url}/changes{query}", **options) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        yield Events(response)


@served()
async def test_events_are_old_changes_and_then_new_ones_as_they_come(client):
    await client.watcher.change_many([3, 2])
    async with events(client, "?after=2") as stream:
        assert await stream.next() == {"retry": " 3000"}
        assert await stream.ids(3) == [3, 4, 5]
        for count in (1, 2):
            await client.watcher.change_many([count])
        assert await stream.ids(3) == [6, 7, 8]


@served()
async def test_a_client_resumes_after_the_last_event_that_it_has(client):
    await client.watcher.change_many([3, 2])
    async with events(client, "?after=0") as stream:
        assert await stream.ids(2) == [1, 2]
    async with events(client, "?after=0", **{"Last-Event-ID": "2"}) as stream:
        assert await stream.ids(3) == [3, 4, 5]


@served()
async def test_a_stream_of_an_empty_log_waits_and_gets_the_first_change(client):
    async with events(client) as stream:
        assert "retry" in await stream.next()
        await client.watcher.change_many([1])
        assert await stream.ids(1) == [1]


async def test_a_comment_is_sent_while_nothing_changes():
    async with client(limits=ServerLimits(heartbeat_seconds=0.01)) as connected, events(connected) as stream:
        assert [await stream.next() for _ in range(3)] == [{"retry": " 3000"}, {"": ""}, {"": ""}]


async def test_so_many_clients_wait_and_not_one_more():
    async with client(limits=ServerLimits(streams=2, heartbeat_seconds=3600)) as connected:
        async with events(connected), events(connected):
            status, headers, _ = await connected.request("GET", "/changes?wait=1")
            assert (status, headers["Retry-After"]) == (503, "30")
            assert (await connected.get("/changes", Accept="text/event-stream"))[0] == 503
            assert (await connected.get("/changes"))[0] == 200
        await until_open(connected, 0)  # the server notices that they have left
        async with events(connected):
            pass


@pytest.mark.slow
async def test_a_reader_that_stops_is_disconnected_and_the_log_is_read_no_further():
    async with client(limits=ServerLimits(write_seconds=0.2)) as connected:
        for _ in range(10):
            await connected.watcher.change(*("https://example.com/" + "a" * 100_000 for _ in range(100)))
        read = reads_of(connected.watcher.feed)
        port = int(connected.url.rpartition(":")[2])
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(reader, ("127.0.0.1", port))
            head = b"GET /changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
            await loop.sock_sendall(reader, head)
            await until_open(connected, 1)
            await until_open(connected, 0)
            last = b""
            with suppress(ConnectionResetError):
                while received := await loop.sock_recv(reader, 65_536):
                    last = last[-10:] + received
            assert not last.endswith(b"0\r\n\r\n"), "the response was ended as if all had been read"
        assert max(read) < 500, "half of the log"


async def test_the_end_of_the_watch_ends_streams_and_waits_at_once():
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        async with client(limits=ServerLimits(shutdown_seconds=30)) as connected:
            connected.session, own = session, connected.session  # which does not end before the server
            await own.close()
            stream = await session.get(f"{connected.url}/changes", headers={"Accept": "text/event-stream"})
            wait = asyncio.create_task(connected.get("/changes?wait=60"))
            await until_open(connected, 2)
        assert await stream.read() == b"retry: 3000\n\n"
        assert await wait == (200, "")


# --- /sites, /totals, /healthz, /metrics ---


SITES = [
    SiteStatus("a.example.com", next_visit=NOW, last_visit=NOW - timedelta(hours=2), new=5),
    SiteStatus("b.example.com", next_visit=NOW - timedelta(hours=1), last_change=NOW, faults=(Fault("F04", "x"),)),
    SiteStatus("C.example.org", last_visit=NOW, last_change=NOW - timedelta(1), removed=9, failing_since=NOW),
]


def names(query: SiteQuery) -> str:
    return "".join(status.site[0] for status in select_sites(SITES, query).sites)


@pytest.mark.parametrize(("query", "expected"), [
    (SiteQuery(), "Cab"),
    (SiteQuery(reverse=True), "baC"),
    (SiteQuery("next_visit"), "baC"),
    (SiteQuery("last_visit"), "Cab"),
    (SiteQuery("last_change"), "bCa"),
    (SiteQuery("changes"), "Cab"),
    (SiteQuery("faults"), "Cba"),
    (SiteQuery(contains="EXAMPLE.COM"), "ab"),
    (SiteQuery(contains="c.ex"), "C"),
    (SiteQuery(only_faults=True), "Cb"),
    (SiteQuery(offset=1, limit=1), "a"),
    (SiteQuery(offset=3), ""),
])
def test_sites_are_selected_and_sorted(query, expected):
    assert names(query) == expected


@served()
async def test_sites_are_json_lines_in_pages(client):
    client.watcher.statuses = SITES
    status, headers, text = await client.request("GET", "/sites?order=faults&limit=2&only_faults=1&reverse=0")
    assert (status, headers["X-Total-Count"]) == (200, "2")
    first, second = map(json.loads, text.splitlines())
    assert first["site"] == "C.example.org", "a site that fails comes before one that has a fault"
    assert first["last_visit"] == "2026-11-27T08:00:00Z"
    assert second["faults"] == [{"code": "F04", "message": "x"}]
    assert second["next_visit"] == "2026-11-27T07:00:00Z"


@served()
async def test_queries_of_sites_out_of_range_are_400(client):
    for query in ("order=x", "limit=0", "limit=1001", "offset=-1", "offset=x", "reverse=2", "only_faults=y", "page=1"):
        assert (await client.get(f"/sites?{query}"))[0] == 400, query
    assert (await client.get("/sites?limit=1000&offset=0&reverse=1"))[0] == 200


@served()
async def test_logins_and_control_characters_never_leave(client):
    login = "https://user:secret@example.com/"
    client.watcher.statuses = [SiteStatus(login, faults=(Fault("F04", f"{login} \x1b[31m"),))]
    client.watcher.numbers = Totals(sinks=(SinkStatus(login, fault=login),))
    client.watcher.report = Health(faults=(login,), sinks=(SinkStatus(login, fault=login),))
    for path in ("/sites", "/totals", "/healthz", "/metrics"):
        _, text = await client.get(path)
        assert "secret" not in text, path
        assert "example.com" in text, path
        assert "\x1b" not in text
        assert "\\u001b" not in text


@served()
async def test_totals_have_the_number_of_the_newest_change(client):
    await client.watcher.change_many([3])
    client.watcher.numbers = Totals(sites=2, sinks=(SinkStatus("stdout", 4, 1.5),))
    totals = json.loads((await client.get("/totals"))[1])
    assert (totals["sites"], totals["last_seq"]) == (2, 3)
    assert totals["sinks"] == [
        {
            "name": "stdout", "lag_changes": 4, "lag_seconds": 1.5, "fault": None,
            "delivered": 0, "failures": 0, "dead_letters": 0,
        }
    ]  # fmt: skip


@served()
async def test_health_is_200_or_503_with_the_faults(client):
    client.watcher.report = Health(last_visit=NOW, sinks=(SinkStatus("stdout", 4, 1.5, "disk full"),))
    status, text = await client.get("/healthz")
    assert (status, json.loads(text)["status"], json.loads(text)["last_visit"]) == (200, "ok", "2026-11-27T08:00:00Z")
    client.watcher.report = Health(faults=("the state cannot be written: disk full",))
    status, text = await client.get("/healthz")
    assert (status, json.loads(text)["status"]) == (503, "failing")
    assert json.loads(text)["faults"] == ["the state cannot be written: disk full"]


@served()
async def test_metrics_are_read_by_prometheus_and_have_few_labels(client):
    client.watcher.statuses = SITES
    sinks = (SinkStatus("stdout", 4, 1.5, None, 90, 7, 2),)
    client.watcher.numbers = Totals(sites=3, documents=7, budget_per_hour=1000, sinks=sinks)
    client.watcher.report = Health(last_visit=NOW)
    client.watcher.counters = Counters(requests={"2xx": 5, "304": 6}, changes={"new": 2})
    await client.get(f"/ping?sitemap={URL}")
    await client.pings.join()
    _, headers, text = await client.request("GET", "/metrics")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = {
        (sample.name.removeprefix("sitemap_reader_watch_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert {
        ("sites",): 3, ("documents",): 7, ("budget_requests_per_hour",): 1000, ("healthy",): 1,
        ("last_visit_timestamp_seconds",): NOW.timestamp(), ("sink_lag_changes", "stdout"): 4,
        ("sink_lag_seconds", "stdout"): 1.5, ("requests_total", "2xx"): 5, ("requests_total", "304"): 6,
        ("sink_changes_total", "stdout"): 90, ("sink_failures_total", "stdout"): 7,
        ("sink_dead_letters_total", "stdout"): 2,
        ("changes_total", "new"): 2, ("pings_total", "unknown"): 1, ("pings_total", "accepted"): 0,
    }.items() <= samples.items()  # fmt: skip
    assert "example" not in text
    assert len(samples) < 40


@served()
async def test_a_state_that_cannot_be_read_is_503_without_its_path(client):
    fail_sites(client.watcher, StateError("/srv/sites.db is damaged"))
    assert await client.get("/sites") == (503, "the state cannot be read at present\n")


# --- access ---

CLOSED = ("/changes", "/sites", "/totals", "/metrics")
OPEN = ("/", "/healthz", f"/ping?sitemap={URL}")


@served(token=TOKEN)
async def test_a_token_is_needed_for_all_that_shows_sites(client):
    near = [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", f"Bearer {TOKEN.upper()}"]
    wrong = ["", "Bearer", "Bearer ", TOKEN, "Bearer \xe9", *near]
    for path in CLOSED:
        status, headers, text = await client.request("GET", path)
        assert (status, headers["WWW-Authenticate"].split()[0]) == (401, "Bearer")
        assert "Authorization: Bearer TOKEN" in text
        for given in wrong:
            assert (await client.get(path, Authorization=given))[0] == 401, given
        assert (await client.get(f"{path}?token={TOKEN}"))[0] == 401
        for given in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
            assert (await client.get(path, Authorization=given))[0] == 200
    for path in OPEN:
        assert (await client.get(path))[0] == 200


@served(token=TOKEN)
async def test_the_token_is_in_no_answer(client):
    for path in (*OPEN, *CLOSED, "/nothing"):
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
            _, received, text = await client.request("GET", path, headers=headers)
            assert TOKEN not in text + str(received)


async def test_requests_are_not_logged(caplog):
    with caplog.at_level("DEBUG", "aiohttp"):
        async with client(token=TOKEN) as connected:
            await connected.get(f"/sites?contains={TOKEN}", Authorization=f"Bearer {TOKEN}")
    assert caplog.messages == []


@served(hosts=("watch.example.net",))
async def test_without_a_token_a_foreign_host_name_is_refused(client):
    for path in CLOSED:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"):
            status, text = await client.get(path, Host=host)
            assert (status, "not expected" in text) == (421, True), host
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80", "127.1.2.3", "watch.example.net:443"):
            assert (await client.get(path, Host=host))[0] == 200, host
    for path in OPEN:
        assert (await client.get(path, Host="evil.example"))[0] == 200


@served(token=TOKEN)
async def test_with_a_token_any_host_name_will_do(client):
    assert (await client.get("/sites", Host="watch.example.net", Authorization=f"Bearer {TOKEN}"))[0] == 200


@served()
async def test_answers_forbid_other_origins_frames_and_scripts(client):
    for path in (*OPEN, *CLOSED, "/nothing"):
        _, headers, _ = await client.request("GET", path, headers={"Origin": "https://evil.example"})
        assert not [name for name in headers if name.startswith("Access-Control")]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "aiohttp" not in headers["Server"]


@served()
async def test_other_paths_and_methods_have_plain_answers(client):
    for path in ("/nothing", "/page.html", "/../server.py", "/%2e%2e/server.py", "/status.py"):
        status, headers, _ = await client.request("GET", path)
        assert (status, headers["Content-Type"]) == (404, "text/plain; charset=utf-8"), path
    for method, path in (("POST", "/sites"), ("PUT", "/ping"), ("DELETE", "/changes"), ("OPTIONS", "/changes")):
        status, headers, _ = await client.request(method, path)
        assert (status, headers["Content-Type"]) == (405, "text/plain; charset=utf-8"), path


# --- addresses and tokens ---


@pytest.mark.parametrize(("text", "url", "is_loopback"), [
    ("127.0.0.1:8080", "http://127.0.0.1:8080/", True),
    ("127.9.9.9:0", "http://127.9.9.9:0/", True),
    ("localhost:1", "http://localhost:1/", True),
    ("[::1]:65535", "http://[::1]:65535/", True),
    ("0.0.0.0:80", "http://0.0.0.0:80/", False),
    ("[::]:80", "http://[::]:80/", False),
    ("192.168.1.5:80", "http://192.168.1.5:80/", False),
    ("watch.example.com:80", "http://watch.example.com:80/", False),
])
def test_addresses(text, url, is_loopback):
    listen = parse_listen(text)
    assert (listen.url, listen.is_loopback) == (url, is_loopback)


@pytest.mark.parametrize(
    "text", ["", "8080", ":8080", "127.0.0.1", "::1:80", "127.0.0.1:65536", "a b:1", "a:-1", "http://a:1"]
)
def test_what_is_no_address_is_a_usage_error_that_shows_one(text):
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:8080"):
        parse_listen(text)


def test_off_loopback_a_token_is_required():
    check_token(None, parse_listen("127.0.0.1:80"))
    check_token(TOKEN, parse_listen("0.0.0.0:80"))
    with pytest.raises(UsageError, match=r"0\.0\.0\.0, so a token is required; make one with"):
        check_token(None, parse_listen("0.0.0.0:80"))


@pytest.mark.parametrize("token", ["", TOKEN[:-1], TOKEN + " ", TOKEN + "é", TOKEN + "\n"])
def test_a_short_or_unusable_token_is_refused_and_not_shown(token):
    with pytest.raises(UsageError, match="at least 16 characters") as refused:
        check_token(token, parse_listen("127.0.0.1:80"))
    assert not token or token not in str(refused.value)


@pytest.mark.parametrize(("listen", "message"), [
    ("127.0.0.1:{port}", "another program listens there"), ("name.invalid:0", "has no address"),
    ("203.0.113.1:0", "this machine has no such address"),
])
async def test_an_address_that_cannot_be_used_is_a_usage_error(listen, message):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        async with fake_watcher() as watcher:
            pings = PingReceiver(watcher.knows, watcher.ping)
            with pytest.raises(UsageError, match=message):
                await serve(watcher, pings, listen.format(port=taken.getsockname()[1]), token=TOKEN).__aenter__()


# --- abuse, over loopback ---


@pytest.mark.slow
async def test_10000_pings_over_loopback_cause_no_request_that_should_not_be(site_server):
    site = site_server({"/robots.txt": (200, {}, b"Sitemap: /other.xml")})
    known = f"{site.url}/sitemap.xml"
    async with (
        fake_watcher() as watcher,
        AiohttpFetcher(user_agent="test") as fetcher,
        aiohttp.ClientSession() as session,
    ):
        watcher.known.add(known)
        limits = PingLimits(client=UNLIMITED, host=UNLIMITED, checks=UNLIMITED, queue=20_000)
        pings = PingReceiver(
            watcher.knows, watcher.ping, accept="verified", read_robots=robots_reader(fetcher), limits=limits
        )
        task = asyncio.create_task(pings.run())
        async with serve(watcher, pings, "127.0.0.1:0") as listen:
            hosts = (f"127.0.0.1:{site.port}", "2130706433", "h.internal")
            for first in range(0, 10_000, 100):
                numbers = range(first, first + 100)
                urls = [f"http://{hosts[n % 4]}/{n}.xml" if n % 4 < 3 else known for n in numbers]
                requests = [session.get(f"{listen.url}ping", params={"sitemap": url}) for url in urls]
                answers = await asyncio.gather(*requests)
                assert {answer.status for answer in answers} == {200}
                for answer in answers:
                    answer.release()
            await pings.join()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert {ping.url for ping in watcher.pings} == {known}
    assert pings.counts == {"accepted": 2500, "private": 7500}
    assert site.requests() == []


async def test_read_changes_stops_at_the_limit():
    async with fake_watcher() as watcher:
        await watcher.change_many([2, 2])
        lines, seq = await read_changes(watcher.feed, -1, 3)
        assert (len(lines), seq) == (3, 3)
