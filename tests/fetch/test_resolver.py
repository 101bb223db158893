"""Name servers that do not answer for some hosts."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sitemap_reader as sr
from sitemap_reader import FetchError, Limits
from sitemap_reader.fetch import AiohttpFetcher

SILENT_HOSTS = [f"silent{number}.example" for number in range(40)]  # more than the event loop's executor has threads


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event: those hosts do not resolve until it is set; every other name is 127.0.0.1."""
    over = threading.Event()
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *more: Any, **options: Any) -> Any:
        if host in SILENT_HOSTS:
            over.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return real("127.0.0.1", *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield over
    over.set()
    for thread in lookups():
        thread.join(30)


def lookups() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "sitemap-reader-name"]


def fetcher(**limits: float) -> AiohttpFetcher:
    return AiohttpFetcher(user_agent="bot", allow_private=True, limits=Limits(**limits))  # type: ignore[arg-type]


async def status(network: AiohttpFetcher, url: str) -> int | str:
    try:
        async with network.fetch(url, {}) as response:
            return response.status
    except FetchError as error:
        return str(error)


def test_silent_resolver_does_not_delay_other_hosts(silence: threading.Event, site_server: Callable[..., Any]) -> None:
    port = site_server({"/": (200, {}, b"")}).url.rpartition(":")[2]

    async def main() -> int | str:
        async with fetcher(connect_seconds=60.0) as network:
            waiting = [asyncio.create_task(status(network, f"http://{host}/")) for host in SILENT_HOSTS]
            await asyncio.sleep(0.1)
            answer = await status(network, f"http://quick.example:{port}/")
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            return answer

    assert asyncio.run(asyncio.wait_for(main(), 30)) == 200


def test_a_lookup_ends_with_the_time_to_connect(silence: threading.Event) -> None:
    async def main() -> int | str:
        async with fetcher(connect_seconds=0.2) as network:
            return await status(network, f"http://{SILENT_HOSTS[0]}/")

    assert "no connection within 0.2 s" in str(asyncio.run(asyncio.wait_for(main(), 30)))


@pytest.mark.slow
def test_leaving_does_not_wait_for_a_lookup(silence: threading.Event) -> None:
    started = time.monotonic()
    with sr.urls(f"http://{SILENT_HOSTS[0]}/sitemap.xml") as urls:
        threading.Timer(0.3, urls.close).start()
        assert list(urls) == []
    assert time.monotonic() - started < 20
    assert not silence.is_set()
    assert [thread.daemon for thread in lookups()] == [True], "nor does the end of the program"


def test_the_result_of_a_cancelled_lookup_is_dropped(silence: threading.Event) -> None:
    async def main() -> list[dict[str, Any]]:
        reported: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
        async with fetcher(connect_seconds=0.2) as network:
            await status(network, f"http://{SILENT_HOSTS[0]}/")
        (lookup,) = lookups()
        silence.set()
        await asyncio.to_thread(lookup.join, 30)
        await asyncio.sleep(0.01)
        return reported

    assert asyncio.run(asyncio.wait_for(main(), 60)) == []


def test_errors_of_the_resolver_are_in_the_message(silence: threading.Event) -> None:
    silence.set()

    async def main() -> int | str:
        async with fetcher() as network:
            return await status(network, f"http://{SILENT_HOSTS[0]}/")

    assert asyncio.run(main()) == f"{SILENT_HOSTS[0]}: the name servers do not answer"
