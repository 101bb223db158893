"""Streams of changes: async and sync, left early, with callbacks, and their summaries."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from changing_sites import SITE, Document, World, entries, loc
from generated import make_site

import sitemap_reader as sr
from sitemap_reader.client import change_pieces
from sitemap_reader.serialize import encode_changes


@pytest.fixture
def site() -> World:
    return World({f"{name}.xml": Document(entries(f"{name}1", f"{name}2")) for name in "ab"}, listed=["a.xml", "b.xml"])


EVERYTHING = {loc(name) for name in ("a1", "a2", "b1", "b2")}


def test_changes_in_an_async_loop(site: World, state: Path) -> None:
    async def follow() -> tuple[set[str], sr.AsyncStream[sr.Change]]:
        async with (
            sr.SitemapReader(fetcher=site) as reader,
            reader.changes(SITE, state=state, clock=lambda: site.now) as changes,
        ):
            return {change.record.loc async for change in changes}, changes

    found, stream = asyncio.run(follow())
    assert found == EVERYTHING
    assert (stream.counts.new, stream.complete, stream.summary.urls) == (4, True, 4)
    assert asyncio.run(follow())[0] == set()


def test_leaving_a_loop_commits_only_what_was_taken(site: World, state: Path) -> None:
    async def follow() -> None:
        async with (
            sr.SitemapReader(fetcher=site, per_host=1) as reader,
            reader.changes(SITE, state=state, clock=lambda: site.now) as changes,
        ):
            async for _ in changes:
                break

    asyncio.run(follow())
    sr.state.State(state).close()  # the state is free
    assert len(site.run(state).changes) == 4
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("sitemap-reader")] == []


def test_leaving_a_loop_in_the_middle_closes_the_state(site: World, state: Path) -> None:
    async def follow() -> None:
        reader = sr.SitemapReader(fetcher=site)
        async for _ in reader.changes(SITE, state=state, clock=lambda: site.now):
            break
        await reader.close()

    asyncio.run(follow())
    sr.state.State(state).close()
    assert len(site.run(state).changes) == 4


def test_sync_changes_inside_a_running_loop(site: World, state: Path) -> None:
    async def cell() -> int:
        return len(site.run(state).changes)

    assert asyncio.run(cell()) == 4


def test_exception_in_a_callback_ends_the_run_and_commits_what_was_delivered(site: World, state: Path) -> None:
    def stop(document: sr.state.StoredDocument) -> None:
        if document.url.endswith("a.xml"):
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        site.run(state, on_document=stop, per_host=1)
    sr.state.State(state).close()
    assert {change.record.loc for change in site.run(state).changes} <= EVERYTHING


def test_callbacks_get_documents_outcomes_and_problems(site: World, state: Path) -> None:
    site.documents["a.xml"].status = 404
    documents: list[sr.state.StoredDocument] = []
    outcomes: list[sr.Outcome] = []
    items: list[sr.Item] = []
    site.run(state, on_document=documents.append, on_outcome=outcomes.append, on_item=items.append)
    names = [document.url.rpartition("/")[2] for document in documents]
    assert sorted(names) == ["a.xml", "b.xml", "index.xml"]
    assert {document.url.rpartition("/")[2]: document.complete for document in documents}["a.xml"] is False
    assert {outcome.url for outcome in outcomes} == {f"{SITE}/{name}" for name in (*names, "robots.txt")}
    assert [item.code for item in items if isinstance(item, sr.Problem)] == ["F01"]


def test_progress_counts_what_is_read(site: World, state: Path) -> None:
    reported: list[sr.client.Progress] = []
    site.run(state, on_progress=reported.append)
    assert (reported[-1].urls, reported[-1].documents_done) == (4, 3)


def test_an_open_state_may_be_used_again_and_again(site: World, state: Path) -> None:
    with sr.state.State(state, create=True) as opened:
        assert len(site.run(opened).changes) == 4
        assert site.run(opened).changes == []
        with site.changes(opened) as stream:  # left before any request
            pass
        assert stream.counts.new == 0
        assert [run.ended is not None for run in opened.runs()] == [True, True]


def test_a_stream_that_another_thread_is_taking_from_may_be_closed(site: World, state: Path) -> None:
    """The consumer sees the end, and the state is free."""
    taken, go_on = threading.Event(), threading.Event()
    ends: list[BaseException | None] = []

    def wait(document: sr.state.StoredDocument) -> None:
        taken.set()
        assert go_on.wait(10)

    stream = site.changes(state, on_document=wait)

    def take() -> None:
        try:
            ends.append([*stream] and None)
        except BaseException as error:
            ends.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    assert taken.wait(10)
    stream.close()
    go_on.set()
    thread.join(10)
    assert not [end for end in ends if isinstance(end, BaseException)]
    sr.state.State(state).close()


@pytest.mark.parametrize(("name", "value"), [("trust_lastmod", "sometimes"), ("on", "size")])
def test_invalid_options_raise_at_once(site: World, state: Path, name: str, value: str) -> None:
    with pytest.raises(sr.UsageError, match=f"{name} is one of"):
        site.changes(state, **{name: value})
    assert not state.exists()


def test_an_unknown_keyword_raises(site: World, state: Path) -> None:
    with pytest.raises(TypeError, match="since"):
        site.changes(state, since="7d")


@pytest.mark.slow
def test_changes_are_the_same_with_any_number_of_threads(tmp_path: Path, use_cores: Callable[[int], None]) -> None:
    make_site(tmp_path / "site", base="https://shop.example", urls=12_000, per_document=2_000, truth=False)
    found = []
    for cores in (1, 4):
        use_cores(cores)
        with change_pieces(tmp_path / "site", state=tmp_path / f"{cores}.db") as stream:
            found.append(sorted(line for piece in stream for line in encode_changes(piece).splitlines()))
    assert found[0] == found[1]
    assert len(found[0]) == 12_000
