"""Webhooks: requests, signatures, answers; secrets in the URL are sent, and shown nowhere."""

import asyncio
import base64
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from aiohttp import web
from change_logs import NOON, Clock, deliver_to, entry_of, logged
from tiers import needs

from sitemap_reader import UsageError
from sitemap_reader.watching import Delivery, DeliveryFailed, WebhookSink, body_of, parts_of, signature

SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"
OTHER_SECRET = f"whsec_{base64.b64encode(bytes(range(24))).decode()}"
LINE_BYTES = len(entry_of(1).lines)


@attrs.define
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def seqs(self) -> list[int]:
        return [change["seq"] for change in orjson.loads(self.body)["data"]["changes"]]


class Receiver:
    """Answers with the statuses in `answers`, one after the other, and then with 204."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Mapping[str, str]]] = []
        self.received: list[Received] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.received.append(Received(request.path_qs, {k.lower(): v for k, v in request.headers.items()}, body))
        status, headers = self.answers.pop(0) if self.answers else (204, {})
        return web.Response(status=status, headers=headers)


@asynccontextmanager
async def receiving(*statuses: int | tuple[int, Mapping[str, str]]) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    receiver.answers = [each if isinstance(each, tuple) else (each, {}) for each in statuses]
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        await runner.cleanup()


async def failure_of(*statuses: int | tuple[int, Mapping[str, str]], **options: Any) -> DeliveryFailed:
    async with receiving(*statuses) as receiver:
        with pytest.raises(DeliveryFailed) as failure:
            await deliver_to(WebhookSink(receiver.url, **options), entry_of(1))
        assert len(receiver.received) == 1
        return failure.value


async def test_an_entry_is_one_request_of_json() -> None:
    async with receiving() as receiver:
        await deliver_to(WebhookSink(f"{receiver.url}/hook?a=b%20c"), entry_of(1, 2))
        [request] = receiver.received
    assert request.path == "/hook?a=b%20c"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("sitemap-reader/")
    assert request.headers["webhook-id"] == entry_of(1, 2).key
    assert "webhook-signature" not in request.headers
    assert orjson.loads(request.body) == {
        "type": "sitemap.changes",
        "timestamp": "2026-11-27T12:00:00Z",
        "data": {"site": "example.com", "changes": [orjson.loads(line) for line in entry_of(1, 2).lines.splitlines()]},
    }


async def test_each_secret_verifies_the_signature() -> None:
    webhooks = needs("standardwebhooks")
    async with receiving() as receiver:
        await deliver_to(WebhookSink(receiver.url, [SECRET, OTHER_SECRET]), entry_of(1, 2))
        request = receiver.received[0]
    for secret in (SECRET, OTHER_SECRET):
        assert webhooks.Webhook(secret).verify(request.body, request.headers) == orjson.loads(request.body)
    with pytest.raises(webhooks.WebhookVerificationError):
        webhooks.Webhook(SECRET).verify(request.body + b" ", request.headers)
    with pytest.raises(webhooks.WebhookVerificationError):
        webhooks.Webhook(SECRET).verify(request.body, {**request.headers, "webhook-id": "another"})
    with pytest.raises(webhooks.WebhookVerificationError):
        webhooks.Webhook(f"whsec_{'A' * 43}=").verify(request.body, request.headers)


def test_code_in_the_docs_verifies_the_signature() -> None:
    """Of each of several secrets; it refuses another body, id and secret, and a time that is 5 minutes ago."""
    page = (Path(__file__).parents[2] / "docs" / "sinks.md").read_text("utf-8")
    [code] = (block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "def is_signed" in block)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    is_signed = names["is_signed"]

    async def main(age: float) -> Received:
        async with receiving() as receiver:
            now = datetime.now(UTC) - timedelta(seconds=age)
            await deliver_to(WebhookSink(receiver.url, [SECRET, OTHER_SECRET], clock=lambda: now), entry_of(1))
            return receiver.received[0]

    request, old = asyncio.run(main(0)), asyncio.run(main(302))
    assert is_signed(SECRET, request.headers, request.body)
    assert is_signed(OTHER_SECRET, request.headers, request.body)
    assert not is_signed(SECRET, request.headers, request.body + b" ")
    assert not is_signed(SECRET, {**request.headers, "webhook-id": "other"}, request.body)
    assert not is_signed(f"whsec_{'A' * 43}=", request.headers, request.body)
    assert not is_signed(SECRET, old.headers, old.body)


def test_signature_equals_that_of_the_reference() -> None:
    webhooks = needs("standardwebhooks")
    now = datetime(2026, 11, 27, 12, tzinfo=UTC)
    expected = webhooks.Webhook(SECRET).sign("msg_1", now, '{"é":1}')
    assert signature(bytes(range(32)), "msg_1", int(now.timestamp()), '{"é":1}'.encode()) == expected


async def test_repeated_request_has_the_same_id_and_body_and_a_new_timestamp() -> None:
    async with receiving(500) as receiver:
        times = iter([NOON])
        sink = WebhookSink(receiver.url, [SECRET], clock=lambda: next(times, NOON))
        with pytest.raises(DeliveryFailed):
            await sink.deliver(entry_of(1))
        times = iter([NOON + timedelta(seconds=9.9)])
        await deliver_to(sink, entry_of(1))
        first, second = receiver.received
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    stamps = [int(each.headers["webhook-timestamp"]) for each in (first, second)]
    assert stamps == [int(NOON.timestamp()), int(NOON.timestamp()) + 9]
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


def test_key_is_the_same_in_the_next_run_and_differs_between_states(tmp_path: Path) -> None:
    async def keys(path: Path, count: int) -> list[str]:
        async with logged(path) as changes:
            for _ in range(count):
                await changes.add(1)
            return [entry.key for entry in await changes.feed.after(0, 9)]

    first = asyncio.run(keys(tmp_path / "a.db", 2))
    assert asyncio.run(keys(tmp_path / "a.db", 0)) == first
    other = asyncio.run(keys(tmp_path / "b.db", 2))
    assert len({*first, *other}) == 4
    assert all("." not in key and key.isascii() for key in first)


# --- large entries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_bytes", "parts"), [
    (3 * LINE_BYTES, [[1, 2, 3]]),
    (3 * LINE_BYTES - 1, [[1, 2], [3]]),
    (2 * LINE_BYTES, [[1, 2], [3]]),
    (2 * LINE_BYTES - 1, [[1], [2], [3]]),
    (1, [[1], [2], [3]]),
])
async def test_large_entry_is_several_requests(max_bytes: int, parts: list[list[int]]) -> None:
    async with receiving() as receiver:
        await deliver_to(WebhookSink(receiver.url, max_body_bytes=max_bytes), entry_of(1, 3))
        received = receiver.received
    assert [each.seqs for each in received] == parts
    assert len({each.headers["webhook-id"] for each in received}) == len(parts)
    divided = [*parts_of(entry_of(1, 3), max_bytes)]
    assert [[*range(each.first_seq, each.last_seq + 1)] for each in divided] == parts
    assert b"".join(each.lines for each in divided) == entry_of(1, 3).lines
    assert [body_of(each) for each in divided] == [each.body for each in received]


async def test_after_a_failure_only_the_missing_requests_are_repeated() -> None:
    async with receiving(200, 500) as receiver:
        sink = WebhookSink(receiver.url, max_body_bytes=1)
        with pytest.raises(DeliveryFailed):
            await sink.deliver(entry_of(1, 3))
        await deliver_to(sink, entry_of(1, 3), entry_of(4, 2))
        assert [each.seqs for each in receiver.received] == [[1], [2], [2], [3], [4], [5]]


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_a_delivery(status: int) -> None:
    async with receiving(status) as receiver:
        await deliver_to(WebhookSink(receiver.url), entry_of(1))


@pytest.mark.parametrize(("status", "is_rejected", "is_permanent"), [
    *[(status, True, False) for status in (400, 409, 413, 415, 422)],
    *[(status, False, False) for status in (401, 403, 404, 408, 429, 500, 502, 503, 504)],
    (410, False, True),
])
async def test_other_statuses_fail(status: int, is_rejected: bool, is_permanent: bool) -> None:
    failure = await failure_of(status)
    assert (failure.is_rejected, failure.is_permanent, failure.retry_after) == (is_rejected, is_permanent, None)
    assert failure.message.startswith(f"answers {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    failure = await failure_of((status, {"Location": "/other"}))
    assert failure.message == f"answers {status}: redirects are not followed, so name the URL to which it leads"


@pytest.mark.parametrize(("status", "value", "seconds"), [
    (429, "120", 120.0),
    (503, "Fri, 27 Nov 2026 12:01:00 GMT", 60.0),
    (503, "soon", None),
    (500, "120", None),
])
async def test_retry_after_is_the_wait(status: int, value: str, seconds: float | None) -> None:
    assert (await failure_of((status, {"Retry-After": value}), clock=Clock())).retry_after == seconds


async def test_receiver_that_does_not_answer_fails_after_the_timeout() -> None:
    never = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await never.wait()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DeliveryFailed) as failure:
            await deliver_to(WebhookSink(f"http://127.0.0.1:{port}/", timeout_seconds=0.05), entry_of(1))
        never.set()
        await asyncio.sleep(0)
    assert failure.value.message == "no answer within 0.05 seconds"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 2x0 OK\r\n\r\n", b"\x00\xff\r\n\r\n", b"HTTP/1.1 200 OK\r\nA"])
async def test_answer_that_is_no_http_fails_without_the_url(answer: bytes) -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(broken, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DeliveryFailed) as failure:
            await deliver_to(WebhookSink(f"http://me:hunter2@127.0.0.1:{port}/secret-path?token=abc"), entry_of(1))
    message = str(failure.value)
    assert message
    assert not any(secret in message for secret in ("hunter2", "secret-path", "abc"))


async def test_closed_port_fails() -> None:
    async with receiving() as receiver:
        url = receiver.url
    with pytest.raises(DeliveryFailed) as failure:
        await deliver_to(WebhookSink(url), entry_of(1))
    assert failure.value.message == "no connection: Connection refused"


# --- secrets -------------------------------------------------------------------------------------------------------


async def test_userinfo_is_sent_as_authorization_only() -> None:
    async with receiving() as receiver:
        sink = WebhookSink(receiver.url.replace("//", "//me:hunter%402@") + "/hook")
        await deliver_to(sink, entry_of(1))
    request = receiver.received[0]
    assert request.headers["authorization"] == f"Basic {base64.b64encode(b'me:hunter@2').decode()}"
    assert "me" not in request.headers["host"]
    assert "hunter" not in sink.name + repr(sink)


def test_name_shows_neither_path_nor_query_nor_login_and_distinguishes_urls() -> None:
    urls = ["https://example.com/T0/B1/x", "https://example.com/T0/B1/y", "https://example.com/T0/B1/x?token=1"]
    names = [WebhookSink(url).name for url in urls]
    assert len({*names}) == 3
    assert all(name.startswith("webhook https://example.com ") and "T0" not in name for name in names)
    for same in ("https://a:b@example.com/T0/B1/x", "https://c:d@EXAMPLE.com/T0/B1/x"):
        assert WebhookSink(same).name == names[0]


@pytest.mark.parametrize("size", [24, 64])
def test_secret_of_24_to_64_bytes_is_valid(size: int) -> None:
    WebhookSink("https://example.com/", [f"whsec_{base64.b64encode(os.urandom(size)).decode()}"])


@pytest.mark.parametrize("secret", [
    f"whsec_{base64.b64encode(b'a' * 23).decode()}",
    f"whsec_{base64.b64encode(b'a' * 65).decode()}",
    base64.b64encode(b"a" * 32).decode(),
    "whsec_hunter2!",
    "whsec_é",
    "",
])
def test_invalid_secret_is_an_error_that_does_not_show_it(secret: str) -> None:
    with pytest.raises(UsageError, match="a secret of a webhook is whsec_ and the base64 of 24 to 64 bytes") as failure:
        WebhookSink("https://example.com/", [secret])
    assert not secret or secret.removeprefix("whsec_") not in str(failure.value)


@pytest.mark.parametrize("url", ["ftp://example.com/", "https:///hook", "example.com/hook", "https://me:hunter2@/"])
def test_invalid_url_is_an_error_that_shows_no_login(url: str) -> None:
    with pytest.raises(UsageError, match="is no URL of a webhook") as failure:
        WebhookSink(url)
    assert "hunter2" not in str(failure.value)


async def test_delivery_through_failures_loses_and_repeats_nothing(tmp_path: Path) -> None:
    async with logged(tmp_path / "state.db") as changes, receiving(503, 200, 429, 500, 200) as receiver:
        sink, clock = WebhookSink(receiver.url, [SECRET]), Clock()
        await changes.feed.cursor(sink.name)
        delivery = Delivery(changes.feed, sink, sleep=clock.sleep, clock=clock)
        task = delivery.start()
        for _ in range(3):
            await changes.add(2)
        while delivery.lag_changes:  # noqa: ASYNC110 - a failing sink is not drained
            await asyncio.sleep(0.001)
        await delivery.drain(60)
        await task
        ids = {each.headers["webhook-id"]: each.seqs for each in receiver.received}
        assert len(receiver.received) == 6
        assert [seq for seqs in ids.values() for seq in seqs] == [1, 2, 3, 4, 5, 6]
