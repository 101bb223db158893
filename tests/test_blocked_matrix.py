"""The blocked matrix: the result of every command and function for hosts that refuse; it is never complete.

All are replayed; tests/hostile/test_network.py has such answers and connections over the network.
"""

import csv
import json
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from shutil import copyfile

import pytest
from blocked_hosts import (
    BLOCKED,
    CODES,
    COMPLETE,
    EXPECTED,
    GOOD,
    HOST,
    KINDS,
    PAGE,
    REFUSED,
    SITE,
    Verdict,
    code_of,
    docs_table,
    lay_out,
    status_of,
)  # fmt: skip
from kit import Site, run, urlset
from servers import free_port

import sitemap_reader as sr
from sitemap_reader.cli import worst
from sitemap_reader.cli.harvest import _codes
from sitemap_reader.fetch import ReplayFetcher
from sitemap_reader.frontier import WELL_KNOWN

sys.path += [str(Path(__file__).parent / name) for name in ("scale", "watching")]


import watched_sites

from sitemap_reader.watching import SiteQuery

ROOT = Path(__file__).parent.parent
ROBOTS = f"{SITE}/robots.txt"
ONE_TRY = sr.Limits(tries=1)

Sites = dict[tuple[str, str], Path]
CASES = [(*key, verdict) for key, verdict in EXPECTED.items()]
cases = pytest.mark.parametrize(("kind", "place", "verdict"), CASES, ids=[" ".join(key) for key in EXPECTED])


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """The folder of a replay of each case."""
    folder = tmp_path_factory.mktemp("blocked")
    return {key: lay_out(folder / str(number), *key) for number, key in enumerate(EXPECTED)}


def test_docs_table_is_the_expected_one() -> None:
    lines = (ROOT / "docs" / "blocked.md").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("|")][: len(docs_table())] == docs_table()


def errors(stderr: str) -> list[str]:
    """The lines of stderr that are errors or warnings."""
    return [line for line in stderr.splitlines() if line.startswith(("error", "warning"))]


def expected_line(kind: str, verdict: Verdict) -> str:
    return f"{'warning' if verdict is COMPLETE else 'error'} {code_of(kind, verdict)} {ROBOTS}: "


# --- the shell ---


@pytest.mark.slow
@cases
@pytest.mark.parametrize("command", ["dump", "discover", "tree", "stats"])
def test_a_command_has_one_error_and_its_exit_code(
    sites: Sites, kind: str, place: str, verdict: Verdict, command: str
) -> None:
    result = run(command, sites[kind, place])
    assert result.exit_code == verdict.code
    (error,) = errors(result.stderr)
    assert error.startswith(expected_line(kind, verdict))
    assert verdict is COMPLETE or "; " in error, "it says what helps"
    if isinstance(KINDS[kind], str):
        assert "--no-robots" not in error
    assert "no sitemap found" not in result.stderr


@cases
def test_the_report_has_the_refusal_as_an_outcome(
    sites: Sites, tmp_path: Path, kind: str, place: str, verdict: Verdict
) -> None:
    run("dump", sites[kind, place], "--report", tmp_path / "report.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    (robots,) = [line for line in lines if line["type"] == "outcome" and line["url"] == ROBOTS]
    assert robots["complete"] is (verdict is COMPLETE)
    assert robots["status"] == status_of(kind)
    assert robots["problems"] == {code_of(kind, verdict): 1}
    assert len([line for line in lines if line["type"] == "problem"]) == 1


@pytest.mark.slow
@cases
def test_discover_and_tree_have_the_status_and_the_reason(
    sites: Sites, kind: str, place: str, verdict: Verdict
) -> None:
    for command, format in product(("discover", "tree"), ("tsv", "jsonl", "table")):
        stdout = run(command, sites[kind, place], "--format", format).stdout
        status = str(status_of(kind) or "")
        (row,) = [line for line in stdout.splitlines() if ROBOTS in line] or [None]
        if verdict is COMPLETE:
            assert command == "tree" or row is None
            continue
        assert row is not None
        assert CODES[kind] in row
        if format == "tsv":
            header, cells = csv.reader([stdout.splitlines()[0], row], delimiter="\t")
            named = dict(zip(header, cells, strict=True))
            assert (named["status"], named["problem"][:3]) == (status, CODES[kind])
        elif format == "jsonl":
            form = json.loads(row)
            assert (form["status"], form["problem"][:3]) == (int(status) if status else None, CODES[kind])


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dump of the earlier site, with a sitemap that has vanished since, and a state of it."""
    folder = tmp_path_factory.mktemp("before")
    good, baseline, state = lay_out(folder / "good", None), folder / "before.jsonl", folder / "state.db"
    run("dump", good, "-o", baseline)
    vanished = f'{{"loc":"{SITE}/x","sitemap":"{SITE}/vanished.xml"}}\n'
    baseline.write_text(baseline.read_text() + vanished)
    assert run("sync", good, "--state", state).exit_code == 0
    return baseline, state


@pytest.mark.slow
@cases
def test_audit_of_a_host_is_complete_if_search_engines_read_all(
    sites: Sites, before: tuple[Path, Path], kind: str, place: str, verdict: Verdict
) -> None:
    result = run("audit", sites[kind, place], "--format", "json", "--baseline", before[0])
    report = json.loads(result.stdout)
    assert result.exit_code == verdict.audit_code
    is_complete = verdict in (COMPLETE, REFUSED)
    assert report["complete"] is is_complete
    found = {finding["code"]: finding["severity"] for finding in report["findings"]}
    code = "F14" if verdict is REFUSED else code_of(kind, verdict)
    assert found[code] == ("warning" if is_complete else "error")
    assert "F17" not in found or not is_complete
    # An empty robots.txt of a host that has a sitemap is believed: it names none.
    assert ("X02" in found) is (kind == "empty with 200" and verdict is COMPLETE)
    assert found.get("X01", "notice") == "notice"
    text = run("audit", sites[kind, place]).stdout
    assert ("partial: " in text) is not is_complete


@pytest.mark.slow
@cases
def test_a_sync_removes_nothing(
    sites: Sites, before: tuple[Path, Path], tmp_path: Path, kind: str, place: str, verdict: Verdict
) -> None:
    state = copyfile(before[1], tmp_path / "state.db")
    for days in (0, 2, 4):
        with (
            sr.changes(sites[kind, place], state=state, clock=lambda days=days: _later(days)) as changes,
            pytest.raises(sr.NothingReadable) if verdict.code == 5 else ExitStack(),
        ):
            assert list(changes) == []
        assert not changes.counts.removed
        assert "X02" not in changes.problems.counts
        assert changes.complete is (verdict is COMPLETE)
    assert run("sync", sites[kind, place], "--state", state).exit_code == verdict.code
    with sr.state.State(state) as stored:
        assert [record.loc for record in stored.entries()] == [f"{SITE}/page"]


def _later(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


@cases
def test_a_first_sync_has_the_exit_code_of_a_dump(
    sites: Sites, tmp_path: Path, kind: str, place: str, verdict: Verdict
) -> None:
    result = run("sync", sites[kind, place], "--state", tmp_path / "state.db")
    assert result.exit_code == verdict.code
    assert len(result.stdout.splitlines()) == (verdict is not BLOCKED)
    assert len(errors(result.stderr)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_wall_of_some_days_changes_nothing_in_a_state(sites: Sites, tmp_path: Path, kind: str) -> None:
    """Its robots.txt names a sitemap that is at no well-known path, so it is not even requested."""
    site, state = lay_out(tmp_path / "site", None), tmp_path / "state.db"
    base = site / "https" / HOST
    (base / "robots.txt").write_text(f"Sitemap: {SITE}/s.xml\n")
    (base / "sitemap.xml").unlink()
    (base / "s.xml").write_bytes(urlset(*(f"{SITE}/{number}" for number in range(5))))

    def changes_at(site: Path, hours: float) -> tuple[list[str], bool]:
        with sr.changes(site, state=state, clock=lambda: _later(hours / 24)) as changes:  # type: ignore[misc]
            try:
                return [each.change for each in changes], changes.removals_suspended
            except sr.NothingReadable:
                return [], changes.removals_suspended

    assert changes_at(site, 0) == (["new"] * 5, False)
    for hours in (1, 27, 53):
        assert changes_at(sites[kind, "all paths"], hours) == ([], True)
    assert changes_at(site, 54) == ([], False)


# --- a watch ---


@pytest.mark.slow
@pytest.mark.usefixtures("virtual_time")
@cases
async def test_a_watch_keeps_what_it_knows_of_a_blocked_host(
    tmp_path: Path, kind: str, place: str, verdict: Verdict
) -> None:
    clock = watched_sites.VirtualClock()
    web = watched_sites.MemoryWeb(clock)
    good = {ROBOTS: f"Sitemap: {SITE}/sitemap.xml\n".encode(), f"{SITE}/sitemap.xml": GOOD}
    answer = KINDS[kind]
    wall: object = watched_sites.failing(answer) if isinstance(answer, str) else answer[0]
    if isinstance(answer, tuple) and answer[0] == 200:
        wall = answer[1]
    paths = ("/robots.txt", *WELL_KNOWN) if place == "all paths" else ("/robots.txt",)

    web.pages.update(good)
    with sr.changes(SITE, state=tmp_path / "state.db", fetcher=web, clock=clock) as changes:
        assert [change.change for change in changes] == ["new"]
    web.pages.update(dict.fromkeys((f"{SITE}{path}" for path in paths), wall))
    async with watched_sites.watching(tmp_path / "state.db", web, [SITE], limits=ONE_TRY) as watch:
        await watch.run(hours=3)
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert (status.failing_since is not None) is (verdict is BLOCKED)
        assert CODES[kind] in {fault.code for fault in status.faults} or verdict is COMPLETE
        web.pages.update(good)
        began = await watch.run(hours=6)
        assert f"{HOST}/sitemap.xml" in web.requested(began)
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.failing_since is None
        assert await watch.changes() == []
        assert status.urls == 1


# --- a harvest ---


@pytest.mark.slow
@cases
def test_harvest_distinguishes_blocked_from_nothing(
    sites: Sites, tmp_path: Path, kind: str, place: str, verdict: Verdict
) -> None:
    """In this process; the workers of a harvest run the same code."""
    harvests = pytest.importorskip("harvests")
    import attrs

    from sitemap_reader.scale import Shard, harvest_shard, load_harvest

    config = harvests.config_of()
    folder = harvests.lay_out(tmp_path / "out", [SITE], config)
    options = {**config.reader_options, "fetcher": ReplayFetcher(sites[kind, place])}
    config = attrs.evolve(config, reader_options=options)
    harvest_shard(Shard(folder, 0, config))
    (row,) = harvests.table(folder, "hosts")
    assert (row["site"], row["verdict"]) == (SITE, verdict.harvest)
    if verdict.code == 5:
        assert f"{CODES[kind]} {ROBOTS}" in row["why"]
    found = load_harvest(tmp_path / "out")
    assert worst(_codes(found)) == verdict.code
    assert (found.missing() == "") is (verdict is COMPLETE)


# --- Python ---


@cases
def test_urls_and_snapshot_report_the_block(sites: Sites, kind: str, place: str, verdict: Verdict) -> None:
    site = sites[kind, place]
    if verdict.code == 5:
        with pytest.raises(sr.NothingReadable) as caught, sr.urls(site) as urls:
            list(urls)
        assert [(each.url, each.complete) for each in caught.value.outcomes] == [(ROBOTS, False)]
        with pytest.raises(sr.NothingReadable):
            sr.snapshot(site)
        return
    with sr.urls(site) as urls:
        assert [url.loc for url in urls] == [f"{SITE}/page"]
    assert urls.complete is urls.summary.complete is (verdict is COMPLETE)
    pytest.importorskip("pandas")
    assert sr.snapshot(site).complete is (verdict is COMPLETE)


def test_site_without_a_sitemap_is_not_blocked(tmp_path: Path) -> None:
    Site({}, SITE).write(tmp_path)
    for command in ("dump", "discover", "tree", "audit"):
        assert run(command, tmp_path).exit_code == 4
    with pytest.raises(sr.NothingFound), sr.urls(tmp_path) as urls:
        list(urls)
    assert urls.complete


TEXTS = {
    "a page that names one URL": (b"Access denied.\nhttps://help.example/blocked\nYour number is 12.\n", 5, 0),
    "the same, without the last newline": (b"Access denied.\nhttps://help.example/blocked", 5, 0),
    "a sitemap": (f"{SITE}/1\n{SITE}/2\n".encode(), 0, 2),
    "a sitemap without the last newline": (f"{SITE}/1".encode(), 0, 1),
    "a sitemap with a comment": (f"# pages\n{SITE}/1\n{SITE}/2\n".encode(), 0, 2),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("path", ["/sitemap.xml", "/sitemap.txt"])
def test_text_at_a_well_known_path_is_a_sitemap_if_most_lines_are_urls(tmp_path: Path, path: str, name: str) -> None:
    body, code, urls = TEXTS[name]
    Site({"/robots.txt": b"Access denied.", path: body}, SITE).write(tmp_path)
    result = run("dump", tmp_path)
    assert (result.exit_code, len(result.stdout.splitlines())) == (code, urls)
    assert run("discover", tmp_path).exit_code == code
    assert run("sync", tmp_path, "--state", tmp_path / "state.db").exit_code == code


# --- robots.txt turns into a page ---


@pytest.mark.parametrize("page", [PAGE, b"Access denied.", b'{"error": 403}'])
def test_sync_keeps_urls_of_sitemaps_named_by_a_robots_txt_that_is_a_page_now(tmp_path: Path, page: bytes) -> None:
    """Another sitemap is found by its well-known path, and the site is complete; those of robots.txt are unknown."""
    site, state = lay_out(tmp_path / "site", None), tmp_path / "state.db"
    base = site / "https" / HOST
    (base / "robots.txt").write_text(f"Sitemap: {SITE}/named.xml\n")
    (base / "named.xml").write_bytes(GOOD.replace(b"/page", b"/named"))
    assert run("sync", site, "--state", state).exit_code == 0
    (base / "robots.txt").write_bytes(page)
    for days in (0, 2, 4):
        with sr.changes(site, state=state, clock=lambda days=days: _later(days)) as changes:  # type: ignore[misc]
            found = [(each.change, each.record.loc) for each in changes]
        assert found == ([("new", f"{SITE}/page")] if days == 0 else [])
        assert changes.complete
        assert changes.removals_suspended
        assert "X02" not in changes.problems.counts
    report = sr.audit(site, state=state)
    assert "X02" not in {finding.code for finding in report.findings}
    assert any("robots.txt is an HTML page" in note for note in report.notes)
    (base / "robots.txt").write_text(f"Sitemap: {SITE}/sitemap.xml\n")
    for days in (6, 8):
        with sr.changes(site, state=state, clock=lambda days=days: _later(days)) as changes:  # type: ignore[misc]
            found = [(each.change, each.record.loc) for each in changes]
    assert found == [("removed", f"{SITE}/named")]


def test_both_schemes_of_a_bare_host_are_one_error() -> None:
    result = run("dump", f"127.0.0.1:{free_port()}", "--allow-private", "--retries", "0")
    assert result.exit_code == 5
    assert len(errors(result.stderr)) == 1
