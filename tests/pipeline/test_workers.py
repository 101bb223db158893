"""Worker processes give the same items as this process, for any document."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from corpus_cases import cases, fallback, feedparser_answer
from scripted_fetcher import (
    HOST,
    MAP,
    NAMESPACE,
    ROBOTS,
    SHARED,
    SITE,
    Page,
    Played,
    everything,
    index,
    many,
    mixed,
    packed,
    page,
    proven_late,
    robots,
    start,
    urlset,
)

from sitemap_reader.client.sync_api import lines
from sitemap_reader.frontier.filters import Selection, Window, make_patterns
from sitemap_reader.model.errors import DocumentChanged, FallbackFailed, FetchError
from sitemap_reader.model.limits import Limits
from sitemap_reader.model.records import Outcome
from sitemap_reader.parser.normalise.scope import Scope
from sitemap_reader.pipeline import feedparser_fallback
from sitemap_reader.pipeline.document_parser import LineOptions, ParseTask
from sitemap_reader.pipeline.executor import LocalExecutor, WorkerThread
from sitemap_reader.pipeline.worker_pool import WorkerPool
from sitemap_reader.serialize.jsonl import Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemap_reader.model.records import Item
    from sitemap_reader.pipeline.executor import ParseExecutor

SITES = Path(__file__).parents[2] / "corpus" / "sites"
FEED = b"<CHANNEL><ITEM HREF='https://shop.example/1'/><ITEM HREF='https://shop.example/2'/></CHANNEL>"


def by_document(items: list[Any]) -> dict[str | None, dict[str, list[object]]]:
    """Items by document in order: lines, links, problems and outcome."""
    reported: dict[str | None, dict[str, list[object]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if isinstance(item, Lines):
            for line in item.data.splitlines():
                reported[json.loads(line)["sitemap"]]["lines"].append(line)
        elif isinstance(item, Outcome):
            reported[item.url]["outcomes"].append(attrs.evolve(item, seconds=0.0))
        else:
            reported[item.sitemap][type(item).__name__].append(item)
    return reported


# --- executors ------------------------------------------------------------------------------------------------------


async def worked(executor: ParseExecutor, body: bytes, size: int) -> tuple[list[Item | Lines], object]:
    """All results of an executor for a body in chunks, and its progress after each; feedparser runs in this process."""
    given: list[Item | Lines] = []
    states = [executor.progress]
    try:
        for at in range(0, len(body), size):
            executor.feed(body[at : at + size])
            while (piece := await executor.next_batch()) is not None:
                given += piece
            states.append(executor.progress)
            if executor.progress.needs_no_more:
                break
        given += await executor.end(cut=False)
        states.append(executor.progress)
        if executor.progress.fallback_request:
            requested, url = executor.progress.fallback_request
            given += await executor.finish(feedparser_answer(requested, url))
            states.append(executor.progress)
    finally:
        executor.release()
    return joined(given), states


def joined(items: list[Item | Lines]) -> list[Item | Lines]:
    """The results with their lines joined, as the size of batches may differ."""
    of_lines = [item for item in items if isinstance(item, Lines)]
    data = b"".join(item.data for item in of_lines)
    whole = Lines(data, sum(item.urls for item in of_lines), sum(item.undated for item in of_lines))
    return [*(item for item in items if not isinstance(item, Lines)), whole]


def task_of(url: str, **options: Any) -> ParseTask:
    options = {"scope": "any", "content_type": None, "limits": Limits(), "selection": Selection(), **options}
    return ParseTask(url, options.pop("final_url", None) or url, authorities=options.pop("authorities", ()), **options)


def corpus_tasks(form: LineOptions | None) -> list[tuple[str, ParseTask, bytes]]:
    """Every case with its options."""
    tasks = []
    for case in cases():
        stated = {name: value for name, value in case.options.items() if name != "feed_fallback"}
        url = stated.pop("url")
        tasks.append((case.name, task_of(url, asks_fallback=True, as_lines=form, **stated), case.body))
    return tasks


@pytest.mark.parametrize(("form", "size"), [(None, 100), (LineOptions("a site"), 1 << 20)], ids=["records", "lines"])
def test_worker_gives_the_same_for_every_case_of_the_corpus(form: LineOptions | None, size: int) -> None:
    async def main() -> list[str]:
        thread, workers = WorkerThread("own"), WorkerPool(2)
        try:
            different = []
            for name, task, body in corpus_tasks(form):
                if await worked(LocalExecutor(task, thread), body, size) != await worked(
                    await workers.executor_for(task), body, size
                ):
                    different.append(name)
            return different
        finally:
            await workers.close()
            await thread.close()

    assert len(corpus_tasks(form)) > 300
    assert asyncio.run(main()) == []


def tasks_of_walks() -> dict[str, tuple[ParseTask, bytes]]:
    """Other tasks of a crawl: retries that continue, second readings, sniffing, parts."""
    body = many(3000)
    thread = LocalExecutor(task_of(MAP), WorkerThread("never used"))
    parser = thread._parser
    given = sum(len(piece) for piece in parser.parse(body[:100_000]))
    prefix = parser.progress.prefix
    assert 1000 < given < 3000
    former = Scope("protocol", (f"{HOST}/x/",))
    window, include = Window(since=datetime(2026, 1, 2, tzinfo=UTC)), make_patterns("include", "/1")
    return {
        "resumed": (task_of(MAP, prefix=prefix, skipped=given), body),
        "resumed, and another": (task_of(MAP, prefix=prefix, skipped=given), body.replace(b"/page/7<", b"/page/x<")),
        "resumed, and shorter": (task_of(MAP, prefix=prefix, skipped=given), body[:50_000]),
        "again": (task_of(SHARED, former=former), mixed(300)),
        "again, in part": (task_of(SHARED, former=former, skipped=100), mixed(300)),
        "sniff only": (task_of(MAP, sniff_only=True), body),
        "outside of the dates": (task_of(MAP, selection=Selection(window)), body),
        "by pattern": (task_of(MAP, selection=Selection(include=include)), body),
        "refused": (task_of(MAP, scope="protocol"), urlset(f"{SITE}/1", "https://other.example/2")),
        "few entries": (task_of(MAP, limits=Limits(max_entries=5)), body),
        "few bytes": (task_of(MAP, limits=Limits(max_decoded_bytes=50_000)), packed(body)),
    }


@pytest.mark.parametrize(
    "form", [None, LineOptions(), LineOptions("a site")], ids=["records", "lines", "lines of a site"]
)
def test_worker_gives_the_same_for_every_kind_of_task(form: LineOptions | None) -> None:
    async def main() -> None:
        thread, workers = WorkerThread("own"), WorkerPool(2)
        try:
            for name, (task, body) in tasks_of_walks().items():
                task = attrs.evolve(task, as_lines=form)
                own, theirs = LocalExecutor(task, thread), await workers.executor_for(task)
                assert await fate(own, body) == await fate(theirs, body), name
        finally:
            await workers.close()
            await thread.close()

    asyncio.run(main())


async def fate(executor: ParseExecutor, body: bytes) -> object:
    """The result of worked(), or its exception."""
    try:
        return await worked(executor, body, 4096)
    except DocumentChanged as error:
        return type(error), str(error)


# --- walks ------------------------------------------------------------------------------------------------------


@attrs.frozen
class Walk:
    """A target, its pages, and options."""

    pages: Callable[[], dict[str, list[Page]]]
    target: str = SITE
    options: dict[str, Any] = attrs.field(factory=dict)
    workers: int = 1


def fails(body: bytes, url: str | None, /, *, limits: Limits) -> Any:
    raise FallbackFailed("it has had enough")


def reset(*pieces: bytes) -> list[Page]:
    return page(*pieces, error=FetchError("reset"))


def split(body: bytes, size: int = 20_000) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def three(*bodies: bytes) -> dict[str, list[Page]]:
    """Some documents of a site."""
    urls = [f"{SITE}/{number}.xml" for number in range(len(bodies))]
    return {ROBOTS: robots(*urls), **{url: page(*split(body)) for url, body in zip(urls, bodies, strict=True)}}


def numbered(name: str, count: int) -> bytes:
    return urlset(*(f"{SITE}/{name}/{number}" for number in range(count)))


OLD = urlset(*(f"{SITE}/old/{number}" for number in range(50)), lastmod="2020-01-01")
EXTRA = f'<urlset {NAMESPACE} xmlns:s="urn:s"><url><loc>{SITE}/x</loc><s:stock unit="a">3</s:stock></url></urlset>'
DATES = urlset(f"{HOST}/x/new", f"{HOST}/new").replace(b"</urlset>", b"") + OLD.partition(b">\n")[2]
BROKEN = b"<urlset>" + b"<url><loc>mailto:a</loc></url>\n" * 500
WALKS = {
    "several": Walk(lambda: three(numbered("a", 3000), numbered("b", 2000), numbered("c", 1)), workers=2),
    "packed": Walk(lambda: three(gzip.compress(numbered("a", 3000)), gzip.compress(packed(numbered("b", 9))))),
    "packed, and cut": Walk(lambda: three(gzip.compress(numbered("a", 3000), mtime=0)[:9000], numbered("b", 5))),
    "damaged": Walk(lambda: three(many(50).replace(b"</url>", b"", 7), many(20).replace(b"</loc>", b"&x=1</loc>"))),
    "no sitemaps": Walk(lambda: three(b"<html><body>", b"", b"\0\1\2", b"<urls><url/></urls>")),
    "text": Walk(lambda: three(b"".join(f"{SITE}/{number}\n".encode() for number in range(2000)))),
    "broken off": Walk(lambda: {MAP: reset(*split(many(3000)[:100_000]))}, MAP),
    "broken off once": Walk(lambda: {MAP: [*reset(many(3000)[:100_000]), *page(many(3000))]}, MAP),
    "broken off before its first entry": Walk(
        lambda: {MAP: [*reset(b"<urlset>\n" + b" " * 40_000), *page(many(3))]}, MAP
    ),
    "broken off once, packed": Walk(
        lambda: {MAP: [*reset(gzip.compress(many(3000), 1)[:9000]), *page(gzip.compress(many(3000), 9))]}, MAP
    ),
    "only one try": Walk(lambda: {MAP: reset(many(3)[:-60])}, MAP, {"limits": Limits(tries=1)}),
    "another at the second try": Walk(
        lambda: {MAP: [*reset(many(3000)[:100_000]), *page(many(3000).replace(b"/page/7<", b"/page/x<"))]}, MAP
    ),
    "shorter at the second try": Walk(lambda: {MAP: [*reset(many(3000)[:100_000]), *page(many(10))]}, MAP),
    "problems, and broken off": Walk(lambda: {MAP: reset(BROKEN)}, MAP),
    "proven late": Walk(lambda: proven_late(Page(split(mixed(3000)))), options={"per_host": 1}),
    "proven late, and broken off": Walk(
        lambda: proven_late(Page([mixed(3000)]), *reset(mixed(3000)[:100_000]), Page([mixed(3000)])),
        options={"per_host": 1},
    ),
    "proven late, and broken off for good": Walk(
        lambda: proven_late(Page([mixed(3000)]), *reset(mixed(3000)[:100_000])), options={"per_host": 1}
    ),
    "begun before it is proven": Walk(
        lambda: proven_late(*reset(mixed(3000)[:100_000]), Page([mixed(3000)])), options={"per_host": 1}
    ),
    "proven late, by date": Walk(
        lambda: proven_late(Page([DATES])),
        options={"per_host": 1, "selection": Selection(Window(since=datetime(2025, 1, 1, tzinfo=UTC)))},
    ),
    "feedparser": Walk(lambda: three(FEED, many(2)), options={"feed_fallback": feedparser_fallback}),
    "feedparser, and broken off": Walk(lambda: {MAP: reset(FEED)}, MAP, {"feed_fallback": feedparser_fallback}),
    "feedparser fails": Walk(lambda: three(FEED, many(2)), options={"feed_fallback": fails}),
    "too much for feedparser": Walk(
        lambda: three(FEED), options={"feed_fallback": fails, "limits": Limits(max_fallback_bytes=50)}
    ),
    "decoded bytes": Walk(lambda: three(packed(many(3000))), options={"limits": Limits(max_decoded_bytes=100_000)}),
    "entries": Walk(lambda: three(many(3000), many(20)), options={"limits": Limits(max_entries=777)}),
    "repairs": Walk(lambda: three(many(50).replace(b"</loc>", b"&</loc>")), options={"limits": Limits(max_repairs=9)}),
    "since": Walk(
        lambda: three(many(200), OLD), options={"selection": Selection(Window(since=datetime(2025, 1, 1, tzinfo=UTC)))}
    ),
    "include": Walk(
        lambda: three(many(2000), OLD), options={"selection": Selection(include=make_patterns("include", "/1.*7"))}
    ),
    "exclude": Walk(
        lambda: three(many(2000), OLD), options={"selection": Selection(exclude=make_patterns("exclude", "page"))}
    ),
    "extras": Walk(lambda: three(EXTRA.encode()), options={"extras": True}),
    "a large index": Walk(
        lambda: {MAP: page(*split(index(*(f"{SITE}/{n}.xml" for n in range(5000))))), f"{SITE}/9.xml": page(many(3))},
        MAP,
        {"limits": Limits(max_documents=2000)},
    ),
    "guesses": Walk(
        lambda: {
            MAP: page(b"<html>"),
            f"{SITE}/sitemap_index.xml": page(b"<urls><url/></urls>"),
            f"{SITE}/sitemap-index.xml": page(many(2)),
        }
    ),
    "what robots.txt forbids": Walk(
        lambda: {ROBOTS: page(f"User-agent: *\nDisallow: /no\nSitemap: {MAP}\nSitemap: {SITE}/no.xml".encode())}
    ),
    "one byte at a time": Walk(lambda: {MAP: page(*(many(5)[n : n + 1] for n in range(len(many(5)))))}, MAP),
}


def walked(walk: Walk, workers: WorkerPool | None, **options: Any) -> tuple[list[Any], Played]:
    fetcher = Played(walk.pages())
    run = start(walk.target, fetcher, as_lines=LineOptions(), workers=workers, **{**walk.options, **options})
    return asyncio.run(everything(run)), fetcher


@pytest.mark.parametrize("name", WALKS)
def test_crawl_gives_the_same_with_workers(name: str) -> None:
    walk = WALKS[name]
    own, here = walked(walk, None)
    theirs, there = walked(walk, WorkerPool(walk.workers))
    assert by_document(theirs) == by_document(own)
    assert Counter(there.requested) == Counter(here.requested)
    assert not there.open


def test_every_document_of_the_corpus_is_read_the_same_in_one_walk() -> None:
    urls = {f"https://example.com/{case.name}": page(*split(case.body)) for case in cases()}
    pages = {"https://example.com/robots.txt": robots(*urls), **urls}
    walk = Walk(lambda: pages, "https://example.com", {"feed_fallback": fallback})
    (own, _), (theirs, _) = walked(walk, None), walked(walk, WorkerPool(2))
    # Which index reports a child first depends on the order of arrival.
    pages_of = [name for name in urls if "/index/" not in name]
    here, there = by_document(own), by_document(theirs)
    assert {url: there[url] for url in pages_of} == {url: here[url] for url in pages_of}


@pytest.mark.parametrize("name", ["shop", "broken", "cross-submission", "nesting", "trouble"])
def test_site_of_the_corpus_is_read_the_same(name: str) -> None:
    reported = []
    for jobs in (1, 2):
        items: list[Any] = []
        with lines(SITES / name, jobs=jobs, site="it", on_item=items.append) as stream:
            given = sorted(line for some in stream for line in some.data.splitlines())
        reported.append((given, by_document(items), attrs.evolve(stream.summary, seconds=0.0)))
    assert reported[0] == reported[1]
    assert reported[0][0]
