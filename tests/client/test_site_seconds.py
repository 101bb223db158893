"""A site whose time is over, Limits.site_seconds: what was read is kept, and all that reads sites says that it is not
the whole.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

import aiohttp  # noqa: F401 - here: the first request would take the time that this takes
import kit
import pytest
from kit import robots, urlset, xml

import sitemap_reader as sr
from sitemap_reader.client.sync_api import url_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from servers import Page, SiteServer

    Serve = Callable[[Mapping[str, Page]], SiteServer]

XML = {"Content-Type": "application/xml"}
SECONDS = 0.8
LIMITS = sr.Limits(site_seconds=SECONDS)
WHY = f"after {SECONDS:g} s of waiting: reading stops here; raise site_seconds (--site-seconds) to go on"
STOPPED = "stopped before its end"


def cut(body: bytes) -> Page:
    """A response of which the last byte never comes."""
    return 200, XML | {"Content-Length": str(len(body) + 1)}, body


@pytest.fixture
def site(site_server: Serve) -> SiteServer:
    """A site of two sitemaps, one of which never ends."""
    server = site_server({})
    server.pages = {
        "/robots.txt": (200, {}, robots(f"{server.url}/a.xml", f"{server.url}/slow.xml")),
        "/a.xml": xml(urlset(*(f"{server.url}/{number}" for number in (1, 2, 3)))),
        "/slow.xml": cut(urlset("/slow").removesuffix(b"</urlset>\n") + b"<url><loc>/s2</loc></url>" * 5_000),
    }
    return server


def read_sync(target: str, **options: Any) -> tuple[list[str], Any]:
    with sr.urls(target, allow_private=True, **options) as stream:
        return [url.loc for url in stream], stream


def read_batches(target: str, **options: Any) -> tuple[list[str], Any]:
    with url_batches(target, allow_private=True, **options) as stream:
        return [loc for some in stream for loc in some.columns.locs], stream


def read_async(target: str, **options: Any) -> tuple[list[str], Any]:
    async def read() -> tuple[list[str], Any]:
        async with sr.SitemapReader(allow_private=True, **options) as reader, reader.urls(target) as stream:
            return [url.loc async for url in stream], stream

    return asyncio.run(read())


@pytest.mark.slow
@pytest.mark.parametrize("read", [read_sync, read_batches, read_async])
def test_a_stream_ends_in_order_and_is_not_complete(site: SiteServer, read: Callable[..., Any]) -> None:
    found, stream = read(site.url, limits=LIMITS)
    assert {f"{site.url}/{number}" for number in (1, 2, 3)} <= set(found)
    assert (stream.complete, stream.summary.stopped) == (False, True)
    assert [sample.message for sample in stream.problems.samples if sample.code == "S16"] == [WHY]
    assert "; stopped; " in str(stream.summary)
    with pytest.raises(sr.PartialRead, match=STOPPED):
        stream.raise_for_partial()


@pytest.mark.parametrize("seconds", [30, math.inf])
def test_a_site_that_is_read_in_time_is_complete(site: SiteServer, seconds: float) -> None:
    del site.pages["/slow.xml"]
    site.pages["/robots.txt"] = (200, {}, robots(f"{site.url}/a.xml"))
    found, stream = read_sync(site.url, limits=sr.Limits(site_seconds=seconds))
    assert (len(found), stream.complete) == (3, True)


@pytest.mark.slow
def test_a_site_of_which_nothing_came_in_time_raises_the_reason(site: SiteServer) -> None:
    site.pages["/robots.txt"] = cut(b"User-agent: *\n")
    with pytest.raises(sr.NothingReadable, match=r"raise site_seconds \(--site-seconds\)"):
        read_sync(site.url, limits=LIMITS)


def changes_of(site: SiteServer, state: Path, *, is_async: bool, **options: Any) -> tuple[list[tuple[str, str]], Any]:
    if not is_async:
        with sr.changes(site.url, state=state, allow_private=True, **options) as changes:
            return [(each.change, each.record.loc.removeprefix(site.url)) for each in changes], changes

    async def read() -> tuple[list[tuple[str, str]], Any]:
        reader = sr.SitemapReader(allow_private=True, **options)
        async with reader, reader.changes(site.url, state=state) as changes:
            return [(each.change, each.record.loc.removeprefix(site.url)) async for each in changes], changes

    return asyncio.run(read())


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_changes_commits_no_unfinished_document_and_removes_nothing(
    site: SiteServer, tmp_path: Path, is_async: bool
) -> None:
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
def test_an_audit_that_is_out_of_time_says_so(site: SiteServer) -> None:
    report = sr.audit(site.url, allow_private=True, limits=LIMITS, check_urls=3)
    assert report.complete is False
    assert [finding.code for finding in report.findings if finding.code == "S16"] == ["S16"]
    assert any(note.startswith("stopped before the end") for note in report.notes)
    assert {"/1", "/2", "/3"}.isdisjoint(site.requests()), "no page is fetched then"


@pytest.mark.slow
def test_a_snapshot_that_is_out_of_time_says_so(site: SiteServer) -> None:
    snapshot = sr.snapshot(site.url, allow_private=True, limits=LIMITS, show_progress=False)
    assert (snapshot.complete, len(snapshot.urls) >= 3) == (False, True)
    assert snapshot.notes.count("stopped before the end: only what was read until then is here") == 1
    assert "S16" in set(snapshot.problems["code"])


@pytest.mark.slow
def test_discover_lists_what_it_had_no_time_to_read(site: SiteServer) -> None:
    site.pages["/slow.xml"] = cut(b"")
    items: list[Any] = []
    found = sr.discover(site.url, allow_private=True, limits=LIMITS, on_item=items.append)
    assert {each.url: each.problem for each in found} == {
        f"{site.url}/a.xml": None,
        f"{site.url}/slow.xml": f"S16 {WHY}",
    }
    assert [item.message for item in items if isinstance(item, sr.Problem) and item.code == "S16"] == [WHY]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/robots.txt", "/sitemap.xml"])
def test_discover_lists_what_the_search_for_sitemaps_was_waiting_for(site: SiteServer, path: str) -> None:
    site.pages = {"/robots.txt": (404, {}, b""), path: cut(b"")}
    for target in (site.url, site.url.replace("http:", "https:").removeprefix("https://")):
        found = sr.discover(target, allow_private=True, limits=LIMITS)
        assert [(each.url, each.problem) for each in found] == [(f"{site.url}{path}", f"S16 {WHY}")]


@pytest.mark.slow
def test_discover_does_not_list_a_second_path_of_a_host_that_refused_one(site: SiteServer) -> None:
    refused = (403, {}, b"")
    site.pages = {"/robots.txt": (404, {}, b""), "/sitemap.xml": refused, "/sitemap_index.xml": cut(b"")}
    found = sr.discover(site.url, allow_private=True, limits=LIMITS)
    assert [each.url for each in found] == [f"{site.url}/sitemap.xml"]


@pytest.mark.slow
def test_sync_says_that_it_removes_nothing(site: SiteServer, tmp_path: Path) -> None:
    slow, state = site.pages.pop("/slow.xml"), tmp_path / "s.db"
    assert run("sync", site.url, "--state", state).exit_code == 3
    site.pages["/slow.xml"] = slow
    result = run("sync", site.url, "--state", state)
    assert "removals suspended: the rest of the site could not be read" in result.stderr.splitlines()


def run(*arguments: str | Path) -> Any:
    return kit.run(*arguments, "--allow-private", "--site-seconds", str(SECONDS))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dump", "tree", "stats", "sync", "audit", "discover"])
def test_each_command_ends_with_what_it_has(site: SiteServer, command: str, tmp_path: Path) -> None:
    if command == "discover":
        site.pages["/slow.xml"] = cut(b"")
    result = run(command, site.url, *(["--state", tmp_path / "s.db"] if command == "sync" else []))
    output = result.stdout + result.stderr
    assert result.exit_code == (1 if command == "audit" else 3), output
    assert ("S16" if command == "audit" else "raise site_seconds (--site-seconds) to go on") in output
    assert "a.xml" in result.stdout or command == "stats"
    if command not in ("discover", "audit"):
        assert result.stderr.splitlines()[-1] == f"partial: {STOPPED} (exit 3)"


@pytest.mark.slow
def test_without_any_answer_the_command_names_the_option(site: SiteServer) -> None:
    site.pages["/robots.txt"] = cut(b"User-agent: *\n")
    for command in ("dump", "discover"):
        result = run(command, site.url)
        assert result.exit_code == 5, result.stderr
        assert "--site-seconds" in result.stderr


@pytest.mark.slow
def test_several_targets_have_their_time_each(site: SiteServer, tmp_path: Path) -> None:
    folder = kit.Site({"/sitemap.xml": urlset("https://fine.example/1")}, "https://fine.example").write(tmp_path)
    result = run("dump", site.url, folder)
    assert result.exit_code == 3
    assert json.loads(result.stdout.splitlines()[-1])["loc"] == "https://fine.example/1"
    assert "; stopped; " in result.stderr


@pytest.mark.parametrize("value", ["0", "-1", "nan", "x"])
def test_a_time_in_which_nothing_can_be_read_is_a_usage_error(value: str) -> None:
    assert kit.run("dump", "example.com", "--site-seconds", value).exit_code == 2
