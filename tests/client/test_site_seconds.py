"""A site whose time is over, Limits.site_seconds: what was read is kept, and all that reads sites says that it is not
the whole.
"""

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp  # noqa: F401 - here: the first request would take the time that this takes
import kit
import pytest
from kit import HOST, Site, robots, urlset, xml
from servers import Page, SiteServer

import sitemap_reader as sr
from sitemap_reader.client import url_batches

XML = {"Content-Type": "application/xml"}
SECONDS = 0.8
LIMITS = sr.Limits(site_seconds=SECONDS)
WHY = f"after {SECONDS:g} s of waiting: reading stops here; raise site_seconds (--site-seconds) to go on"
STOPPED = "stopped before its end"


def stuck(body: bytes = b"") -> tuple[int, dict[str, str], tuple[Any, ...]]:
    """A response that does not end after this body."""
    return 200, XML, (body, partial(asyncio.sleep, 60))


def cut(body: bytes) -> Page:
    """The same over HTTP: the last byte never comes."""
    return 200, XML | {"Content-Length": str(len(body) + 1)}, body


SLOW = urlset("/slow").removesuffix(b"</urlset>\n") + b"<url><loc>/s2</loc></url>" * 5_000
PAGES = {
    "/robots.txt": robots(f"{HOST}/a.xml", f"{HOST}/slow.xml"),
    "/a.xml": xml(urlset(*(f"{HOST}/{number}" for number in (1, 2, 3)))),
}


@pytest.fixture
def site() -> Site:
    """A site of two sitemaps, one of which never ends."""
    return Site({**PAGES, "/slow.xml": stuck(SLOW)})


@pytest.fixture
def server() -> Iterator[SiteServer]:
    """The same site over HTTP."""
    with kit.serve(Site({**PAGES, "/slow.xml": cut(SLOW)})) as running:
        yield running


def read_sync(site: Site, **options: Any) -> tuple[list[str], Any]:
    with sr.urls(HOST, fetcher=site, **options) as stream:
        return [url.loc for url in stream], stream


def read_batches(site: Site, **options: Any) -> tuple[list[str], Any]:
    with url_batches(HOST, fetcher=site, **options) as stream:
        return [loc for some in stream for loc in some.locs], stream


def read_async(site: Site, **options: Any) -> tuple[list[str], Any]:
    async def read() -> tuple[list[str], Any]:
        async with sr.SitemapReader(fetcher=site, **options) as reader, reader.urls(HOST) as stream:
            return [url.loc async for url in stream], stream

    return asyncio.run(read())


@pytest.mark.slow
@pytest.mark.parametrize("read", [read_sync, read_batches, read_async])
def test_a_stream_ends_in_order_and_is_not_complete(site: Site, read: Callable[..., Any]) -> None:
    found, stream = read(site, limits=LIMITS)
    assert {f"{HOST}/{number}" for number in (1, 2, 3)} <= set(found)
    assert (stream.complete, stream.summary.stopped) == (False, True)
    assert [sample.message for sample in stream.problems.samples if sample.code == "S16"] == [WHY]
    assert "; stopped; " in str(stream.summary)
    with pytest.raises(sr.PartialRead, match=STOPPED):
        stream.raise_for_partial()


@pytest.mark.parametrize("seconds", [30, math.inf])
def test_a_site_that_is_read_in_time_is_complete(site: Site, seconds: float) -> None:
    site.pages["/robots.txt"] = robots(f"{HOST}/a.xml")
    found, stream = read_sync(site, limits=sr.Limits(site_seconds=seconds))
    assert (len(found), stream.complete) == (3, True)


@pytest.mark.slow
def test_a_site_of_which_nothing_came_in_time_raises_the_reason(site: Site) -> None:
    site.pages["/robots.txt"] = stuck(b"User-agent: *\n")
    with pytest.raises(sr.NothingReadable, match=r"raise site_seconds \(--site-seconds\)"):
        read_sync(site, limits=LIMITS)


def changes_of(site: Site, state: Path, *, is_async: bool, **options: Any) -> tuple[list[tuple[str, str]], Any]:
    if not is_async:
        with sr.changes(HOST, state=state, fetcher=site, **options) as changes:
            return [(each.change, each.record.loc.removeprefix(HOST)) for each in changes], changes

    async def read() -> tuple[list[tuple[str, str]], Any]:
        reader = sr.SitemapReader(fetcher=site, **options)
        async with reader, reader.changes(HOST, state=state) as changes:
            return [(each.change, each.record.loc.removeprefix(HOST)) async for each in changes], changes

    return asyncio.run(read())


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_changes_commits_no_unfinished_document_and_removes_nothing(site: Site, tmp_path: Path, is_async: bool) -> None:
    state, slow = tmp_path / "state.db", site.pages["/slow.xml"]
    site.pages["/slow.xml"] = xml(urlset("/slow", "/old"))
    first, changes = changes_of(site, state, is_async=is_async)
    assert (len(first), changes.complete, changes.removals_suspended) == (5, True, False)
    site.pages["/slow.xml"] = slow
    site.pages["/a.xml"] = xml(urlset("/1", "/4"))  # 2 and 3 are gone
    found, changes = changes_of(site, state, is_async=is_async, limits=LIMITS)
    assert (found, changes.complete, changes.removals_suspended) == ([("new", "/4")], False, True)
    with pytest.raises(sr.PartialRead, match=STOPPED):
        changes.raise_for_partial()
    with sr.state.State(state) as stored:
        assert [run.complete for run in stored.runs()].count(True) == 1
    site.pages["/slow.xml"] = xml(urlset("/slow", "/new"))
    found, changes = changes_of(site, state, is_async=is_async)
    assert (changes.complete, changes.removals_suspended) == (True, False)
    assert sorted(found) == [("new", "/new"), ("removed", "/2"), ("removed", "/3"), ("removed", "/old")]


@pytest.mark.slow
def test_an_audit_that_is_out_of_time_says_so(site: Site) -> None:
    report = sr.audit(HOST, fetcher=site, limits=LIMITS, check_urls=3)
    assert report.complete is False
    assert [finding.code for finding in report.findings if finding.code == "S16"] == ["S16"]
    assert any(note.startswith("stopped before the end") for note in report.notes)
    assert {f"{HOST}/{number}" for number in (1, 2, 3)}.isdisjoint(site.requests), "no page is fetched then"


@pytest.mark.slow
def test_a_snapshot_that_is_out_of_time_says_so(site: Site) -> None:
    snapshot = sr.snapshot(HOST, fetcher=site, limits=LIMITS, show_progress=False)
    assert (snapshot.complete, len(snapshot.urls) >= 3) == (False, True)
    assert snapshot.notes.count("stopped before the end: only what was read until then is here") == 1
    assert "S16" in set(snapshot.problems["code"])


@pytest.mark.slow
def test_discover_lists_what_it_had_no_time_to_read(site: Site) -> None:
    site.pages["/slow.xml"] = stuck()
    items: list[Any] = []
    found = sr.discover(HOST, fetcher=site, limits=LIMITS, on_item=items.append)
    assert {each.url: each.problem for each in found} == {
        f"{HOST}/a.xml": None,
        f"{HOST}/slow.xml": f"S16 {WHY}",
    }
    assert [item.message for item in items if isinstance(item, sr.Problem) and item.code == "S16"] == [WHY]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/robots.txt", "/sitemap.xml"])
@pytest.mark.parametrize("target", [HOST, "a.example"])
def test_discover_lists_what_the_search_for_sitemaps_was_waiting_for(path: str, target: str) -> None:
    found = sr.discover(target, fetcher=Site({path: stuck()}), limits=LIMITS)
    assert [(each.url, each.problem) for each in found] == [(f"{HOST}{path}", f"S16 {WHY}")]


@pytest.mark.slow
def test_discover_does_not_list_a_second_path_of_a_host_that_refused_one() -> None:
    site = Site({"/sitemap.xml": (403, {}, b""), "/sitemap_index.xml": stuck()})
    assert [each.url for each in sr.discover(HOST, fetcher=site, limits=LIMITS)] == [f"{HOST}/sitemap.xml"]


# --- on the command line ---


def run(*arguments: str | Path) -> Any:
    return kit.run(*arguments, "--allow-private", "--site-seconds", "1.5")


@pytest.mark.slow
def test_sync_says_that_it_removes_nothing(server: SiteServer, tmp_path: Path) -> None:
    slow, state = server.pages.pop("/slow.xml"), tmp_path / "s.db"
    assert run("sync", server.url, "--state", state).exit_code == 3
    server.pages["/slow.xml"] = slow
    result = run("sync", server.url, "--state", state)
    assert "removals suspended: the rest of the site could not be read" in result.stderr.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dump", "tree", "stats", "sync", "audit", "discover"])
def test_each_command_ends_with_what_it_has(server: SiteServer, command: str, tmp_path: Path) -> None:
    if command == "discover":
        server.pages["/slow.xml"] = cut(b"")
    result = run(command, server.url, *(["--state", tmp_path / "s.db"] if command == "sync" else []))
    output = result.stdout + result.stderr
    assert result.exit_code == (1 if command == "audit" else 3), output
    assert ("S16" if command == "audit" else "raise site_seconds (--site-seconds) to go on") in output
    assert "a.xml" in result.stdout or command == "stats"
    if command not in ("discover", "audit"):
        assert result.stderr.splitlines()[-1] == f"partial: {STOPPED} (exit 3)"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dump", "discover"])
def test_without_any_answer_the_command_names_the_option(server: SiteServer, command: str) -> None:
    server.pages["/robots.txt"] = cut(b"User-agent: *\n")
    result = run(command, server.url)
    assert result.exit_code == 5, result.stderr
    assert "--site-seconds" in result.stderr


@pytest.mark.slow
def test_several_targets_have_their_time_each(server: SiteServer, tmp_path: Path) -> None:
    folder = Site({"/sitemap.xml": urlset("https://fine.example/1")}, "https://fine.example").write(tmp_path)
    result = run("dump", server.url, folder)
    assert result.exit_code == 3
    assert json.loads(result.stdout.splitlines()[-1])["loc"] == "https://fine.example/1"
    assert "; stopped; " in result.stderr


@pytest.mark.parametrize("value", ["0", "-1", "nan", "x"])
def test_a_time_in_which_nothing_can_be_read_is_a_usage_error(value: str) -> None:
    assert kit.run("dump", "example.com", "--site-seconds", value).exit_code == 2
