"""Worker processes that die, fail or cannot be started; how they end; and that they block no other task."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scripted_fetcher import (
    MAP,
    ROBOTS,
    SITE,
    Page,
    Played,
    everything,
    many,
    of,
    outcome_of,
    packed,
    page,
    read,
    robots,
    start,
    urlset,
)

import sitemap_reader as sr
from sitemap_reader.client.sync_api import lines
from sitemap_reader.frontier.filters import Selection, make_patterns
from sitemap_reader.model.errors import FetchError, UsageError
from sitemap_reader.model.limits import MIB, Limits
from sitemap_reader.model.problems import Problem
from sitemap_reader.model.records import Outcome
from sitemap_reader.pipeline import feedparser_process as programs
from sitemap_reader.pipeline import worker_pool as pool
from sitemap_reader.pipeline.document_parser import LineOptions, ParseTask
from sitemap_reader.pipeline.worker_main import ParseServer, Reply
from sitemap_reader.pipeline.worker_pool import Worker, WorkerPool
from sitemap_reader.serialize.jsonl import Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemap_reader.pipeline.crawl import Crawl

MAX_WAIT_SECONDS = 20.0
A, B, C = (f"{SITE}/{name}.xml" for name in "abc")

# Words in bodies that make the worker fail: the word, and the failure.
POISON = """
import os, signal, time
from {package}.document_parser import DocumentParser
class Strange(Exception):
    def __init__(self, one, two):
        super().__init__(one + two)
def raising(error):
    raise error
harms = (
    (b"<!-- kill", lambda: os.kill(os.getpid(), signal.SIGKILL)),
    (b"<!-- exit", lambda: os._exit(7)),
    (b"<!-- sleep", lambda: time.sleep(600)),
    (b"<!-- bug", lambda: raising(LookupError("no such place"))),
    (b"<!-- strange", lambda: raising(Strange("a", "b"))),
    (b"<!-- print", lambda: print("words " * 100, flush=True)),
)
parse, end, finish = DocumentParser.parse, DocumentParser.end, DocumentParser.finish
def poisoned(self, chunk):
    for word, harm in harms:
        if word in chunk:
            harm()
    return parse(self, chunk)
def poisoned_end(self, *, cut=False):
    if "end" in self._task.url:
        os._exit(8)
    return end(self, cut=cut)
def poisoned_finish(self, answer):
    if "finish" in self._task.url:
        os._exit(9)
    return finish(self, answer)
DocumentParser.parse, DocumentParser.end, DocumentParser.finish = poisoned, poisoned_end, poisoned_finish
"""


def prepare(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Run by every worker at its start."""
    changed = programs._PROGRAM.replace("; sys.exit(main())", f"\n{code}\nsys.exit(main())")
    assert changed != programs._PROGRAM
    monkeypatch.setattr(programs, "_PROGRAM", changed)


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch, POISON)


Children = list[subprocess.Popen[bytes]]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    """The processes that were started."""
    begun: Children = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            begun.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return begun


def entries(name: str, count: int = 2000) -> bytes:
    return urlset(*(f"{SITE}/{name}/{number}" for number in range(count)))


def with_word(word: str, name: str = "a") -> list[bytes]:
    """A body with the word in its second half."""
    body = entries(name)
    middle = body.index(b"<url>", len(body) // 2)
    return [body[:middle], f"<!-- {word} -->".encode() + body[middle:]]


def site(**pages: list[Page]) -> Played:
    urls = {f"{SITE}/{name}.xml": answers for name, answers in pages.items()}
    return Played({ROBOTS: robots(*urls), **urls})


def run_of(fetcher: Played, most: int = 1, target: str = SITE, **options: Any) -> Crawl:
    return start(target, fetcher, as_lines=LineOptions(), workers=WorkerPool(most), **options)


def locs(items: list[Any]) -> list[str]:
    return [json.loads(line)["loc"] for some in of(Lines, items) for line in some.data.splitlines()]


def named(name: str, count: int = 2000) -> list[str]:
    return [f"{SITE}/{name}/{number}" for number in range(count)]


def failures(items: list[Any]) -> list[str]:
    return [problem.message for problem in of(Problem, items) if problem.code == "F04"]


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        while not holds():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.01)


# --- deaths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "how"), [("kill", "was ended by SIGKILL"), ("exit", "ended by itself, with 7")])
def test_document_that_kills_its_worker_is_the_only_one_lost(poison: None, word: str, how: str) -> None:
    """Its records are kept; another open document of the same worker is retried, without repetition."""
    gate = asyncio.Event()
    body = entries("b")
    fetcher = site(
        a=page(*with_word(word)),
        b=[*page(body[:90_000], body[90_000:], gate=None), *page(body)],
        c=page(entries("c"), gate=gate),
    )

    async def main() -> list[Any]:
        items: list[Any] = []
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            async for batch in run_of(fetcher, limits=Limits(tries=1)).batches():
                items += batch
                if any(outcome.url == A for outcome in of(Outcome, items)):
                    gate.set()
        return items

    items = asyncio.run(main())
    outcome = outcome_of(A, items)
    assert (outcome.complete, outcome.kept, outcome.problems) == (False, len(locs(items)) - 4000, {"F04": 1})
    assert 900 < outcome.kept < 1100
    assert locs(items).count(f"{SITE}/a/0") == 1
    assert failures(items) == [f"the process that read it {how} (listed in robots.txt:2)"]
    for name, url in (("b", B), ("c", C)):
        assert [loc for loc in locs(items) if f"/{name}/" in loc] == named(name)
        assert outcome_of(url, items).complete
    assert fetcher.requested.count(A) == 1


def test_killed_worker_loses_its_current_document(
    poison: None, children: Children
) -> None:
    fetcher = site(a=page(*with_word("sleep")), b=page(entries("b")))

    async def main() -> list[Any]:
        items: list[Any] = []

        async def kill() -> None:
            await until(lambda: fetcher.pages[A][0].taken == 2 and fetcher.pages[B][0].taken == 1)
            await asyncio.sleep(0.2)
            children[0].send_signal(signal.SIGKILL)

        killing = asyncio.create_task(kill())
        items = await everything(run_of(fetcher, limits=Limits(tries=1)))
        await killing
        return items

    items = asyncio.run(main())
    assert not outcome_of(A, items).complete
    assert 900 < outcome_of(A, items).kept < 1100
    assert failures(items) == ["the process that read it was ended by SIGKILL (listed in robots.txt:2)"]
    assert [loc for loc in locs(items) if "/b/" in loc] == named("b")
    assert outcome_of(B, items).complete
    assert len(children) == 2


@pytest.mark.parametrize("tries", [1, 3])
def test_worker_killed_while_idle_loses_nothing(children: Children, tries: int) -> None:
    gate, body = asyncio.Event(), entries("a")

    class Slow(Played):
        async def chunks(self, page: Page) -> Any:
            async for piece in super().chunks(page):
                yield piece
                if page.headers:  # the first reply
                    await gate.wait()

    first = Page([body[:90_000], body[90_000:]], headers={"x": "first"})
    fetcher = Slow({ROBOTS: robots(A), A: [first, *page(body)]})

    async def main() -> list[Any]:
        items: list[Any] = []
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            async for batch in run_of(fetcher, limits=Limits(tries=tries)).batches():
                items += batch
                if of(Lines, batch) and not gate.is_set():
                    children[0].kill()
                    await asyncio.sleep(0.2)
                    gate.set()
        return items

    items = asyncio.run(main())
    assert locs(items) == named("a")
    assert failures(items) == []
    assert outcome_of(A, items).complete
    assert (len(children), fetcher.requested.count(A)) == (2, 2)


def test_repeated_deaths_of_idle_workers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tries of a document, and three more."""
    prepare(monkeypatch, "import os, threading; threading.Timer(0.2, os._exit, (5,)).start()")

    class Slow(Played):
        async def chunks(self, page: Page) -> Any:
            async for piece in super().chunks(page):
                yield piece
                await asyncio.sleep(0.8)

    body = entries("a")
    fetcher = Slow({ROBOTS: robots(A), A: page(body[:90_000], body[90_000:])})
    items = asyncio.run(everything(run_of(fetcher, limits=Limits(tries=1))))
    assert fetcher.requested.count(A) == 4
    (message,) = failures(items)
    assert message.startswith("its worker process, which was parsing another document, ended by itself, with 5")
    assert locs(items) == named("a")[: outcome_of(A, items).kept]
    assert not outcome_of(A, items).complete


def test_worker_dying_at_every_document_keeps_their_records(poison: None) -> None:
    fetcher = site(**{name: page(*with_word("kill", name)) for name in "abcdefgh"})
    items = asyncio.run(everything(run_of(fetcher, 2, limits=Limits(tries=1))))
    assert len(failures(items)) == 8
    kept = sum(outcome.kept for outcome in of(Outcome, items) if outcome.format == "urlset")
    assert len(set(locs(items))) == len(locs(items)) == kept
    assert len(of(Outcome, items)) == 9
    assert max(map(fetcher.requested.count, fetcher.requested)) <= 5


def test_worker_dying_at_the_end_of_a_broken_body_loses_only_that(poison: None) -> None:
    broken = Page([entries("end")[:90_000]], error=FetchError("reset", transient=False))
    items = asyncio.run(everything(run_of(site(end=[broken], b=page(entries("b"))))))
    end = outcome_of(f"{SITE}/end.xml", items)
    assert (end.complete, end.kept) == (False, len([loc for loc in locs(items) if "/end/" in loc]))
    assert end.kept > 900
    assert failures(items) == ["reset; the process that read it ended by itself, with 8 (listed in robots.txt:2)"]
    assert [loc for loc in locs(items) if "/b/" in loc] == named("b")


def test_document_that_kills_its_worker_after_feedparser_is_not_repeated(poison: None) -> None:
    requested: list[bytes] = []

    def fallback(body: bytes, url: str | None, /, *, limits: Limits) -> sr.pipeline.FallbackResult:
        requested.append(body)
        return sr.pipeline.FallbackResult()

    fetcher = site(finish=page(b"<CHANNEL><ITEM HREF='https://shop.example/1'/></CHANNEL>"))
    items = asyncio.run(everything(run_of(fetcher, feed_fallback=fallback)))
    assert failures(items) == ["the process that read it ended by itself, with 9 (listed in robots.txt:2)"]
    assert not outcome_of(f"{SITE}/finish.xml", items).complete
    assert len(requested) == 1


def test_a_worker_that_is_killed_at_its_start_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, children: Children
) -> None:
    flag = tmp_path / "flag"
    code = f"import os; p = {str(flag)!r}; os.path.exists(p) or (open(p, 'w').close(), os.kill(os.getpid(), 9))"
    prepare(monkeypatch, code)
    items = asyncio.run(everything(run_of(site(a=page(entries("a"))), limits=Limits(tries=1))))
    assert locs(items) == named("a")
    assert failures(items) == []
    assert len(children) == 2


def test_output_printed_by_a_worker_is_ignored(poison: None) -> None:
    items = asyncio.run(everything(run_of(site(a=page(*with_word("print"))))))
    assert locs(items) == named("a")


# --- internal errors ---------------------------------------------------------------------------------------------


def test_a_bug_reaches_the_caller_as_it_is(poison: None) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(everything(run_of(site(a=page(*with_word("bug")), b=page(entries("b"))))))
    (bug,) = caught.value.exceptions
    assert isinstance(bug, LookupError)
    assert bug.args == ("no such place",)
    assert "in raising" in bug.__notes__[0], "where it comes from"


def test_a_bug_that_cannot_be_sent_reaches_the_caller_in_words(poison: None) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(everything(run_of(site(a=page(*with_word("strange"))))))
    (bug,) = caught.value.exceptions
    assert isinstance(bug, RuntimeError)
    assert "Strange: ab" in str(bug)


@pytest.mark.parametrize(
    ("executable", "words"),
    [
        ("/nowhere/python", "could not be started: .*No such file or directory.*; -j 1 needs none"),
        ("/bin/false", "ended at once: it gave no reason; -j 1 needs none"),
        ("", "could not be started: sys.executable does not say"),
    ],
)
def test_worker_that_cannot_be_started_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch, executable: str, words: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    began = time.monotonic()
    with (
        lines(SITE, jobs=2, fetcher=site(a=page(entries("a")), b=page(entries("b")))) as stream,
        pytest.raises(UsageError, match=words),
    ):
        list(stream)
    assert time.monotonic() - began < MAX_WAIT_SECONDS
    assert no_threads()


def test_stderr_of_a_worker_that_exits_at_once_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch, "raise ImportError('no module for this')")
    with (
        lines(SITE, jobs=2, fetcher=site(a=page(entries("a")))) as stream,
        pytest.raises(UsageError, match="ended at once: ImportError: no module for this; -j 1 needs none"),
    ):
        list(stream)


# --- leaving ----------------------------------------------------------------------------------------------------


def no_threads() -> bool:
    """Whether all threads of the package have ended, except one that just waited for a process."""
    for thread in threading.enumerate():
        if "waitpid" in thread.name:
            thread.join(MAX_WAIT_SECONDS)
    return not [each.name for each in threading.enumerate() if each.name.startswith(("sitemap-reader", "asyncio"))]


def is_gone(pid: int) -> bool:
    """Whether no such process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{pid}/stat")
    # containers may not reap a zombie
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"


def test_leaving_after_the_first_lines_ends_every_worker(children: Children) -> None:
    fetcher = site(**{name: page(*[entries(name, 20_000)[:300_000]] * 3) for name in "abcd"})
    with lines(SITE, jobs=2, fetcher=fetcher) as stream:
        assert next(iter(stream)).urls
    assert len(children) == 2
    assert [child.returncode for child in children] == [-signal.SIGKILL] * 2
    assert no_threads()
    assert not fetcher.open


def test_leaving_does_not_wait_for_busy_or_starting_workers(poison: None, children: Children) -> None:
    fetcher = site(a=page(*with_word("sleep")), b=page(*with_word("sleep", "b")))
    began = time.monotonic()
    with lines(SITE, jobs=2, fetcher=fetcher) as stream:
        assert next(iter(stream)).urls
    assert time.monotonic() - began < MAX_WAIT_SECONDS
    assert all(child.returncode == -signal.SIGKILL for child in children)
    assert no_threads()


def test_cancelled_close_leaves_no_worker(poison: None, children: Children) -> None:
    """Repeatedly, and also while a worker is being started."""

    async def main() -> None:
        workers = WorkerPool(2)
        task = ParseTask(MAP, MAP, None, "any", (), Limits(), Selection())
        await workers.executor_for(task)
        starting = asyncio.create_task(workers.executor_for(task))
        await asyncio.sleep(0)
        closing = asyncio.create_task(workers.close())
        for _ in range(3):
            await asyncio.sleep(0)
            closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert [child.returncode for child in children] == [-signal.SIGKILL] * 2
        await asyncio.gather(starting, return_exceptions=True)

    asyncio.run(main())
    assert no_threads()


def test_leaving_does_not_wait_for_a_worker_that_never_starts(
    monkeypatch: pytest.MonkeyPatch, children: Children
) -> None:
    prepare(monkeypatch, "import time; time.sleep(600)")
    left = threading.Event()

    def leave() -> None:
        if children and not left.is_set():
            left.set()
            raise KeyboardInterrupt

    began = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        lines(SITE, jobs=2, fetcher=site(a=page(entries("a"))), on_wait=leave) as stream,
    ):
        list(stream)
    assert time.monotonic() - began < MAX_WAIT_SECONDS
    assert [child.returncode for child in children] == [-signal.SIGKILL]
    assert no_threads()


def test_a_run_that_ends_leaves_no_worker(children: Children) -> None:
    with lines(SITE, jobs=2, fetcher=site(a=page(entries("a")), b=page(entries("b")))) as stream:
        assert sum(some.urls for some in stream) == 4000
    assert [child.returncode for child in children] == [-signal.SIGKILL] * 2
    assert no_threads()


LEAVER = """
import json, os, sys, threading
sys.path[:0] = {paths!r}
from test_worker_deaths import SITE, entries, no_threads, page, site
from sitemap_reader.client.sync_api import lines
with lines(SITE, jobs=2, fetcher=site(**{{name: page(entries(name, 5000)) for name in "abcd"}})) as stream:
    for some in stream:
        if {early}:
            break
files = len([each for each in os.listdir("/proc/self/fd")]) if os.path.isdir("/proc/self/fd") else 0
print(no_threads(), len(threading.enumerate()), files)
"""


@pytest.mark.parametrize("early", [True, False])
def test_nothing_stays_open_and_no_warning_is_given(early: bool) -> None:
    here = Path(__file__).parent
    code = LEAVER.format(early=early, paths=[str(here), str(here.parent)])
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    over, threads, files = done.stdout.split()
    assert (over, threads) == ("True", "1")
    assert int(files) <= 5  # stdin, stdout, stderr, and those of listing the files


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_workers_end_with_their_parent(site_server: Any) -> None:
    body = entries("a", 400)
    promised = {"Content-Length": "9999999", "Content-Type": "text/xml"}
    server = site_server({"/a.xml": (200, promised, body.replace(SITE.encode(), b""))})
    command = [sys.executable, "-m", "sitemap_reader", "dump", f"{server.url}/a.xml", "--allow-private", "-j", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        tasks = Path(f"/proc/{running.pid}/task").glob("*/children")
        workers = [int(pid) for task in tasks for pid in task.read_text().split()]
        running.kill()
    assert workers
    asyncio.run(until(lambda: all(map(is_gone, workers))))


# --- flow -------------------------------------------------------------------------------------------------------


def test_slow_consumer_slows_workers_and_network() -> None:
    body = entries("a", 60_000)
    pieces = [body[at : at + 16_384] for at in range(0, len(body), 16_384)]
    assert len(pieces) > 200
    fetcher = site(a=page(*pieces))

    async def main() -> tuple[int, int]:
        batches = run_of(fetcher).batches()
        async for batch in batches:
            if of(Lines, batch):
                break
        await asyncio.sleep(0.5)
        taken = fetcher.pages[A][0].taken
        await asyncio.sleep(0.3)
        waited = fetcher.pages[A][0].taken
        await batches.aclose()
        return taken, waited

    taken, waited = asyncio.run(main())
    assert taken == waited < 20


def test_slow_document_does_not_delay_others() -> None:
    """Both documents have the same worker."""
    gate, body = asyncio.Event(), entries("a")
    fetcher = site(a=page(body[:90_000], body[90_000:]), b=page(entries("b")))

    class Slow(Played):
        async def chunks(self, page: Page) -> Any:
            async for piece in super().chunks(page):
                yield piece
                if page is self.pages[A][0]:
                    await gate.wait()

    async def main() -> list[str]:
        ended: list[str] = []
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            async for batch in run_of(Slow(fetcher.pages)).batches():
                ended += [outcome.url or "" for outcome in of(Outcome, batch)]
                if B in ended:
                    gate.set()
        return ended

    assert asyncio.run(main()) == [ROBOTS, B, A]


def test_document_that_is_slow_to_parse_does_not_delay_other_workers(poison: None, children: Children) -> None:
    fetcher = site(a=page(*with_word("sleep")), **{name: page(entries(name)) for name in "bc"})

    async def main() -> list[Any]:
        items: list[Any] = []
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            async for batch in run_of(fetcher, 3, limits=Limits(tries=1)).batches():
                items += batch
                if {B, C} <= {outcome.url for outcome in of(Outcome, items)}:
                    for child in children:
                        child.kill()
        return items

    items = asyncio.run(main())
    assert [outcome.complete for outcome in map(outcome_of, (A, B, C), [items] * 3)] == [False, True, True]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped")
def test_stopped_worker_does_not_delay_other_senders(children: Children) -> None:
    """More than a pipe holds is sent to a stopped worker: others continue, and so does it later."""
    large, gate = entries("a", 40_000), asyncio.Event()
    assert len(large) > 2 * MIB
    fetcher = site(a=page(entries("a", 2)[:60], large[60:], gate=None), b=page(entries("b"), gate=gate))
    stopped: list[int] = []

    class Stopping(Played):
        async def chunks(self, page: Page) -> Any:
            async for piece in super().chunks(page):
                if page is self.pages[A][0] and page.taken == 2:
                    await until(lambda: children)
                    children[0].send_signal(signal.SIGSTOP)
                    stopped.append(children[0].pid)
                    asyncio.get_running_loop().call_later(0.3, gate.set)
                yield piece

    async def main() -> list[Any]:
        items: list[Any] = []
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            async for batch in run_of(Stopping(fetcher.pages), 2).batches():
                items += batch
                if any(outcome.url == B for outcome in of(Outcome, batch)):
                    assert A not in {outcome.url for outcome in of(Outcome, items)}
                    children[0].send_signal(signal.SIGCONT)
        return items

    items = asyncio.run(main())
    assert stopped
    assert [loc for loc in locs(items) if "/a/" in loc] == named("a", 40_000)
    assert [loc for loc in locs(items) if "/b/" in loc] == named("b")


def replies(task: ParseTask, chunk: bytes) -> list[Reply]:
    """Returns the replies of a ParseServer to one chunk, in order."""
    server = ParseServer()
    assert isinstance(server.handle(("open", 0, task)), Reply)
    replies_to_chunk = [server.handle(("feed", 0, chunk))]
    while isinstance(replies_to_chunk[-1], Reply) and not replies_to_chunk[-1].is_done:
        replies_to_chunk.append(server.handle(("more", 0, None)))
    return [reply for reply in replies_to_chunk if isinstance(reply, Reply)]


def task_of(**options: Any) -> ParseTask:
    return ParseTask(MAP, MAP, None, "any", (), **{"limits": Limits(), "selection": Selection(), **options})


def test_chunk_with_a_large_decoded_size_gives_many_replies() -> None:
    replies_to_chunk = replies(task_of(as_lines=LineOptions()), packed(many(50_000)))
    sizes = [sum(len(item.data) for item in reply.batch if isinstance(item, Lines)) for reply in replies_to_chunk]
    assert len(sizes) > 20
    assert max(sizes) < 600_000
    assert sum(item.urls for reply in replies_to_chunk for item in reply.batch if isinstance(item, Lines)) > 49_000


def test_decompression_without_output_is_done_in_turns() -> None:
    unwanted = Selection(include=make_patterns("include", "nowhere"))
    replies_to_chunk = replies(task_of(as_lines=LineOptions(), selection=unwanted), packed(many(200_000)))
    decoded = [0, *(reply.progress.outcome.bytes_decoded for reply in replies_to_chunk)]
    assert len(replies_to_chunk) > 3
    assert max(after - before for before, after in pairwise(decoded)) < 5 * MIB


# --- local or worker --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "begun"), [("16383", 0), ("16384", 1), ("9" * 5000, 1), ("-1", 1), ("x", 1), ("", 1), ("٣", 1)]
)
def test_document_with_a_small_content_length_is_parsed_locally(children: Children, length: str, begun: int) -> None:
    fetcher = site(a=page(entries("a", 50), headers={"content-length": length}))
    items = asyncio.run(everything(run_of(fetcher)))
    assert locs(items) == named("a", 50)
    assert len(children) == begun


def test_a_worker_is_started_when_all_others_are_busy(children: Children) -> None:
    """Sequential documents need one process, or two if one begins before the other has ended; never more."""
    fetcher = site(**{name: page(entries(name)) for name in "abc"})
    items = asyncio.run(everything(run_of(fetcher, 4, per_host=1)))
    assert len(locs(items)) == 6000
    assert 1 <= len(children) <= 2


@pytest.mark.parametrize(("most", "begun"), [(2, 2), (8, 4)])
def test_workers_are_limited(children: Children, most: int, begun: int) -> None:
    gate = asyncio.Event()
    fetcher = site(**{name: page(entries(name), gate=gate) for name in "abcd"})

    async def main() -> list[Any]:
        asyncio.get_running_loop().call_later(1.0, gate.set)
        return await everything(run_of(fetcher, most))

    assert len(locs(asyncio.run(main()))) == 8000
    assert len(children) == begun


@pytest.mark.parametrize(("cores", "begins"), [(1, False), (2, True)])
def test_workers_are_started_once_a_site_is_large(
    monkeypatch: pytest.MonkeyPatch, children: Children, cores: int, begins: bool
) -> None:
    monkeypatch.setattr(pool, "_cores", lambda: cores)
    monkeypatch.setattr(pool, "_SMALL_SITE_URLS", 3000)

    def read_all(*counts: int) -> int:
        fetcher = site(**{name: page(entries(name, count)) for name, count in zip("abc", counts, strict=False)})
        with lines(SITE, fetcher=fetcher, per_host=1) as stream:
            return sum(some.urls for some in stream)

    assert read_all(1000, 1999, 10) == 3009
    assert children == []
    assert read_all(1000, 2000, 10) == 3010
    assert bool(children) is begins


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_than_one_job_is_refused(jobs: int) -> None:
    with pytest.raises(UsageError, match="jobs must be 1 or more"):
        lines(SITE, jobs=jobs)


def test_sniffing_starts_no_worker(children: Children) -> None:
    run = run_of(site(a=page(entries("a"))), sniff_only=True, descend=False)
    asyncio.run(everything(run))
    assert run.frontier.sites[0].candidates[0].format == "urlset"
    assert children == []


def test_other_streams_start_none(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    items, _ = read(SITE, site(a=page(entries("a"))).pages)
    assert len(of(sr.UrlRecord, items)) == 2000
    assert children == []


def test_worker_drops_finished_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each opened document is closed, and the ParseServer then has no data of it."""
    sent: list[tuple[str, int]] = []
    send = Worker.send

    def recorded(self: Worker, verb: str, number: int, argument: object = None) -> Any:
        sent.append((verb, number))
        return send(self, verb, number, argument)

    monkeypatch.setattr(Worker, "send", recorded)
    broken = page(entries("b")[:90_000], error=FetchError("reset"))
    another = [*page(entries("c")[:90_000], error=FetchError("reset")), *page(b"<a>")]
    fetcher = site(a=page(entries("a")), b=broken, c=another)
    asyncio.run(everything(run_of(fetcher)))
    opened = [number for verb, number in sent if verb == "open"]
    assert len(opened) == 6
    assert sorted(number for verb, number in sent if verb == "close") == opened == list(range(6))
    server = ParseServer()
    server.handle(("open", 3, task_of()))
    server.handle(("feed", 3, many(9)))
    assert server._parsers.keys() == server._batches.keys() == {3}
    assert server.handle(("close", 3, None)) is None
    assert not server._parsers
    assert not server._batches
