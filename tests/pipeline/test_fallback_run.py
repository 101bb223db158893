"""The feedparser fallback in a crawl: other documents are not delayed, early ends, and no files or URLs opened."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from kit import Site, robots, urlset
from servers import is_untouched

import sitemap_reader as sr
from sitemap_reader.pipeline import MAX_CHILDREN

pytestmark = pytest.mark.slow

SITE = "https://quad.example"
HUNG_SECONDS = 8.0  # less than fallback_seconds, ten by default

# feedparser's work is quadratic in either; the streaming parser does not read CDF.
QUADRATIC = {
    "newlines": b"<!-- -->" + b"\n" * 80_000 + f'<CHANNEL><ITEM HREF="{SITE}/slow"/></CHANNEL>'.encode(),
    "author": f'<CHANNEL><ITEM HREF="{SITE}/slow"><AUTHOR>{"a" * 64_000}</AUTHOR></ITEM></CHANNEL>'.encode(),
}
LOCS = [f"{SITE}/{page}" for page in range(200)]
PAGES = {"/robots.txt": robots(f"{SITE}/slow.xml", f"{SITE}/fast.xml"), "/fast.xml": urlset(*LOCS)}

Children = list[subprocess.Popen[bytes]]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    """The started processes."""
    started: Children = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


async def started(children: Children, count: int = 1) -> None:
    while len(children) < count:  # noqa: ASYNC110 - processes are started in threads, and set no event
        await asyncio.sleep(0.01)


def site(children: Children, kind: str = "author") -> Site:
    """A slow feed and a fast sitemap, which is only sent while feedparser reads the feed."""
    fast = 200, {}, (partial(started, children), PAGES["/fast.xml"])
    return Site({**PAGES, "/slow.xml": QUADRATIC[kind], "/fast.xml": fast}, SITE)


@pytest.mark.parametrize("kind", QUADRATIC)
def test_other_documents_are_read_while_feedparser_runs(kind: str, children: Children) -> None:
    outcomes: dict[str, sr.Outcome] = {}
    with sr.urls(
        SITE,
        fetcher=site(children, kind),
        limits=sr.Limits(fallback_seconds=2.0),
        on_outcome=lambda outcome: outcomes.update({outcome.url or "": outcome}),
    ) as urls:
        seen = [(url.loc, children[0].poll()) for url in urls]
    assert seen == [(loc, None) for loc in LOCS]
    slow, fast = outcomes[f"{SITE}/slow.xml"], outcomes[f"{SITE}/fast.xml"]
    assert (fast.complete, slow.complete, slow.entries) == (True, False, 0)
    assert [problem.message for problem in slow.samples if problem.code == "S01"] == [
        "feedparser cannot read it either: feedparser was stopped after 2 s; fallback_seconds permits more"
    ]
    assert [child.returncode for child in children] == [-signal.SIGKILL]


def test_slow_feeds_do_not_hold_slots_of_their_host() -> None:
    released, waits = threading.Event(), []

    def slow(body: bytes, url: str | None, /, *, limits: sr.Limits) -> sr.pipeline.FallbackResult:
        waits.append(released.wait(HUNG_SECONDS))
        return sr.pipeline.FallbackResult()

    feeds = {f"/{number}.xml": b"<CHANNEL/>" for number in (*range(4), "slow")}
    names = robots(*(SITE + path for path in [*feeds, "/fast.xml"]))
    seen = []
    many = Site({**PAGES, **feeds, "/robots.txt": names}, SITE)
    with sr.urls(SITE, fetcher=many, feed_fallback=slow, per_host=4) as urls:
        for url in urls:
            seen.append(url.loc)
            released.set()
    assert (seen, waits) == (LOCS, [True] * 5)


def test_leaving_the_block_kills_feedparser_and_joins_the_thread(children: Children) -> None:
    before = set(threading.enumerate())
    began = time.monotonic()
    with sr.urls(SITE, fetcher=site(children)) as urls:
        assert next(iter(urls)).loc == LOCS[0]
        assert children[0].poll() is None
    assert [child.returncode for child in children] == [-signal.SIGKILL]
    assert time.monotonic() - began < HUNG_SECONDS
    for thread in set(threading.enumerate()) - before:
        thread.join(1)
        assert not thread.is_alive()


@pytest.mark.smoke
def test_leaving_the_async_block_kills_feedparser(children: Children) -> None:
    async def read() -> None:
        reader = sr.SitemapReader(fetcher=site(children))
        async with reader, reader.urls(SITE) as urls:
            async for url in urls:
                assert (url.loc, children[0].poll()) == (LOCS[0], None)
                break

    asyncio.run(read())
    assert [child.returncode for child in children] == [-signal.SIGKILL]


def test_a_cancelled_task_kills_feedparser(children: Children) -> None:
    async def read() -> None:
        async with sr.SitemapReader(fetcher=site(children)) as reader:
            async for _ in reader.urls(SITE):
                pass

    async def cancel() -> None:
        task = asyncio.create_task(read())
        await started(children)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(cancel())
    assert [child.returncode for child in children] == [-signal.SIGKILL]


def test_many_slow_feeds_do_not_block_name_resolution(children: Children) -> None:
    """Names are resolved on the loop's threads, which feedparser must not occupy."""

    feeds = {f"/{number}.xml": QUADRATIC["author"] for number in range(40)}
    many = Site({"/robots.txt": robots(*(SITE + path for path in feeds)), **feeds}, SITE)

    async def read() -> list[object]:
        async with sr.SitemapReader(fetcher=many, concurrency=40, per_host=40) as reader:
            task = asyncio.ensure_future(anext(aiter(reader.urls(SITE))))
            await started(children, MAX_CHILDREN)
            found = await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80)
            alive: list[object] = [child.poll() for child in children]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert found
        return alive

    assert set(asyncio.run(read())) == {None}
    assert {child.returncode for child in children} == {-signal.SIGKILL}


# --- the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A replay of the site."""
    return Site({**PAGES, "/slow.xml": QUADRATIC["author"]}, SITE).write(tmp_path / "replay")


def group_is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
@pytest.mark.parametrize("command", ["dump", "parse"])
@pytest.mark.parametrize("to_group", [False, True], ids=["kill", "Ctrl-C"])
def test_an_interrupt_ends_the_command_and_its_feedparser(folder: Path, command: str, to_group: bool) -> None:
    target = folder if command == "dump" else folder / "https" / "quad.example" / "slow.xml"
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "sitemap_reader", command, str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        if command == "dump":
            process.stdout.readline()
        time.sleep(1.5)  # feedparser has started
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        process.stdout.read()
        messages = process.stderr.read()
    assert process.returncode == 130
    assert b"Traceback" not in messages
    assert b"gave up" not in messages
    assert time.monotonic() - began < HUNG_SECONDS
    assert group_is_empty(process.pid)


SECRET = b'<CHANNEL><ITEM HREF="https://quad.example/secret"/></CHANNEL>'
BODIES = ["/etc/passwd", "{path}", "file://{path}", "http://127.0.0.1:{port}/feed.xml", "<channel>"]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("entry", ["iter_parse", "feedparser", "command"])
def test_a_body_that_is_a_path_or_a_url_opens_nothing(
    body: str, entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listener: socket.socket
) -> None:
    for name in ("feed.xml", "<channel>"):
        (tmp_path / name).write_bytes(SECRET)
    monkeypatch.chdir(tmp_path)
    spelled = body.format(path=tmp_path / "feed.xml", port=listener.getsockname()[1]).encode()
    if entry == "command":
        command = [sys.executable, "-m", "sitemap_reader", "parse", "-", "--report", "-"]
        messages = subprocess.run(command, input=spelled, capture_output=True, check=False)
        assert b'"type":"outcome"' in messages.stdout
        assert b"quad.example/secret" not in messages.stdout + messages.stderr
    elif entry == "feedparser":
        assert sr.pipeline.feedparser_fallback(spelled, spelled.decode()) == sr.pipeline.FallbackResult()
    else:
        items = list(sr.iter_parse([spelled], url=f"{SITE}/feed.xml", feed_fallback=sr.pipeline.feedparser_fallback))
        assert isinstance(items[-1], sr.Outcome)
        assert "quad.example/secret" not in repr(items)
    assert is_untouched(listener)
