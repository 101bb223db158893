"""`sync`: output, messages, and exit codes."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_runs import BROKEN, SHOP, locs, process, refusal, without_seconds
from click.testing import Result
from kit import Site, index, objects, robots, run, urlset

from sitemap_reader.cli import Exit

MAP = "https://a.example/sitemap.xml"


def pages(*names: str, **fields: str) -> bytes:
    return urlset(*(f"https://a.example/{name}" for name in names), **fields)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that replays a site; publish() changes it."""
    return publish(tmp_path / "site", {"sitemap.xml": pages("x", "y", lastmod="2026-01-01")})


def publish(folder: Path, bodies: dict[str, bytes]) -> Path:
    return Site({"robots.txt": robots(MAP), **bodies}).write(folder)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "sites.db"


def sync(site: Path | str, state: Path, *options: str) -> Result:
    return run("sync", site, "--state", state, *options)


def reported(result: Result) -> list[tuple[str, str]]:
    return [(form["change"], form["loc"].removeprefix("https://a.example/")) for form in objects(result.stdout)]


def test_changes_are_json_lines(site: Path, state: Path) -> None:
    first = sync(site, state)
    assert reported(first) == [("new", "x"), ("new", "y")]
    assert without_seconds(first.stderr) == "2 new, 0 updated, 0 removed; 2 URLs from 1 sitemap; N s\n"
    publish(site, {"sitemap.xml": pages("y", "z", lastmod="2026-01-02")})
    second = sync(site, state)
    assert reported(second) == [("updated", "y"), ("new", "z"), ("removed", "x")]
    assert objects(second.stdout)[0]["previous_lastmod"] == "2026-01-01T00:00:00Z"
    third = sync(site, state)
    assert (third.stdout, third.exit_code) == ("", Exit.COMPLETE)


@pytest.mark.slow
def test_change_line_is_a_dump_line_with_change_keys(state: Path) -> None:
    head, changes = '{"type":"change","change":"new",', run("sync", SHOP, "--state", state).stdout
    assert changes.count(f"\n{head}") == 639
    assert {line["loc"] for line in objects(changes)} == {*locs(run("dump", SHOP, "--unique").stdout)}


def test_tables_as_text_and_tsv(site: Path, state: Path) -> None:
    sync(site, state)
    publish(site, {"sitemap.xml": pages("y", "z", lastmod="2026-01-02")})
    table = sync(site, state, "--format", "table", "--dry-run")
    assert table.stdout.splitlines() == [
        "~ https://a.example/y  lastmod 2026-01-01 -> 2026-01-02",
        "+ https://a.example/z",
        "- https://a.example/x",
    ]
    tsv = sync(site, state, "--format", "tsv", "--dry-run")
    assert [line.split("\t")[:2] for line in tsv.stdout.splitlines()] == [
        ["change", "loc"], ["updated", "https://a.example/y"], ["new", "https://a.example/z"],
        ["removed", "https://a.example/x"],
    ]
    assert len(reported(sync(site, state))) == 3
    for format, lines in (("tsv", 1), ("table", 0), ("jsonl", 0)):
        assert len(sync(site, state, "--format", format).stdout.splitlines()) == lines  # a table has its header


def test_several_targets_share_a_file_and_are_named(site: Path, state: Path, tmp_path: Path) -> None:
    other = Site({"sitemap.xml": urlset("https://b.example/1")}, "https://b.example").write(tmp_path / "b")
    result = run("sync", site, other, "--state", state)
    assert [line["site"] for line in objects(result.stdout)] == [str(site), str(site), str(other)]
    assert without_seconds(result.stderr).splitlines()[-1] == "3 new, 0 updated, 0 removed; 3 URLs from 2 sitemaps; N s"
    assert reported(sync(site, state)) == []
    history = run("sync", "--state", state, "--history", "--format", "tsv")
    sites = [line.split("\t")[0] for line in history.stdout.splitlines()]
    assert sites == ["site", *(f"https://{host}.example/" for host in "aba")]
    (form,) = objects(run("sync", "b.example", "--state", state, "--history", "--format", "jsonl").stdout)
    assert (form["type"], form["new"], form["complete"], form["listings"]) == ("run", 1, True, 1)
    assert [line.split("\t")[-1] for line in history.stdout.splitlines()] == ["listings", "2", "1", "2"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", form["ended"])


def test_a_partial_run_says_so_and_removes_nothing(state: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    children = [f"https://a.example/{name}.xml" for name in ("one", "two")]
    publish(folder, {"sitemap.xml": index(*children), "one.xml": pages("x", "y"), "two.xml": pages("z")})
    sync(folder, state)
    publish(folder, {"one.xml": pages("x"), "two.xml": b"<html>Sorry</html>"})
    result = sync(folder, state)
    assert (result.stdout, result.exit_code) == ("", Exit.PARTIAL)
    assert result.stderr.splitlines()[-1] == "partial: 1 sitemap could not be read (exit 3)"
    publish(folder, {"two.xml": pages("z")})
    assert reported(sync(folder, state)) == [("removed", "y")]


@pytest.mark.parametrize(("others", "what"), [
    ({"b.xml": None}, "1 sitemap could not be read"),
    ({"b.xml": None, "c.xml": None}, "2 sitemaps could not be read"),
    ({"b.xml": pages("b")[:-20]}, "1 sitemap could not be read whole"),
])
def test_suspended_removals_are_one_line(state: Path, tmp_path: Path, others: dict[str, Any], what: str) -> None:
    whole = {"sitemap.xml": index(*(f"https://a.example/{name}.xml" for name in "abc"))}
    whole |= {f"{name}.xml": pages(name, f"{name}2") for name in "abc"}
    publish(tmp_path / "one", whole)
    sync(tmp_path / "one", state)
    left = {**whole, "a.xml": pages("a"), **others}
    publish(tmp_path / "two", {name: body for name, body in left.items() if body is not None})
    (tmp_path / "two" / "site.toml").write_text((tmp_path / "one" / "site.toml").read_text())
    second = sync(tmp_path / "two", state)
    assert (reported(second), second.exit_code) == ([], Exit.PARTIAL)
    assert f"removals suspended: {what}" in second.stderr.splitlines()
    assert "suspended" not in sync(tmp_path / "two", state, "-q").stderr
    third = sync(tmp_path / "one", state)
    assert "suspended" not in third.stderr
    assert "suspended" not in sync(tmp_path / "two", tmp_path / "other.db").stderr  # no removal is due yet


def test_withheld_removals_are_reported(state: Path, tmp_path: Path) -> None:
    folder = publish(tmp_path / "site", {"sitemap.xml": pages(*(f"p{number}" for number in range(1500)))})
    sync(folder, state)
    publish(folder, {"sitemap.xml": pages("p0")})
    held_back = sync(folder, state)
    assert (held_back.stdout, held_back.exit_code) == ("", Exit.PARTIAL)
    lines = held_back.stderr.splitlines()
    lost = "1,499 URLs are no longer listed, over half of all: held"
    assert lines[0].startswith(f"warning X01 https://a.example/: {lost}")
    assert lines[1].startswith("0 new, 0 updated, 0 removed, 1,499 held back; 1 URL from 1 sitemap; 1 problem; ")
    assert lines[2] == "partial: 1,499 removals are held back (exit 3)"
    given = sync(folder, state, "--accept-removals", "-q")
    assert (len(reported(given)), given.exit_code) == (1499, Exit.COMPLETE)


# What the first and the second run find, the lines of the second, its exit code, and what it says is missing.
REMOVALS = [
    (5, 0, 0, Exit.PARTIAL, "partial: 5 removals are held back (exit 3)"),
    (1, 0, 0, Exit.PARTIAL, "partial: 1 removal is held back (exit 3)"),
    (5, 2, 3, Exit.COMPLETE, None),
    (21, 10, 0, Exit.PARTIAL, "partial: 11 removals are held back (exit 3)"),
    (22, 11, 11, Exit.COMPLETE, None),
]


@pytest.mark.parametrize(("before", "after", "written", "code", "missing"), REMOVALS)
def test_removals_of_a_small_site_are_held_back(
    state: Path, tmp_path: Path, before: int, after: int, written: int, code: Exit, missing: str | None
) -> None:
    folder = publish(tmp_path / "site", {"sitemap.xml": pages(*(f"p{number}" for number in range(before)))})
    sync(folder, state)
    publish(folder, {"sitemap.xml": pages(*(f"p{number}" for number in range(after)))})
    second = sync(folder, state)
    assert (len(reported(second)), second.exit_code) == (written, code)
    assert (missing in second.stderr.splitlines()) == bool(missing)
    with closing(sqlite3.connect(state)) as db, db:  # a day passes
        db.execute("UPDATE unlisted SET left_at = left_at - 86400000000")
    third = sync(folder, state)
    assert len(reported(third)) == before - after - written
    assert third.exit_code == Exit.COMPLETE or not after
    assert "held back" not in third.stderr


def test_every_command_says_that_a_state_is_damaged(site: Path, state: Path, tmp_path: Path) -> None:
    """And a state with a trigger that does not end is not used."""
    sync(site, state)
    whole = shutil.copy(state, tmp_path / "whole.db")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    trigger = f"CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT ({endless}); END"
    for statement, words in (
        ("UPDATE document SET sha256 = x'ff'", "is damaged; move it away, and the next sync starts anew"),
        (trigger, "has the trigger 't', which sitemap-reader did not make; move it away"),
    ):
        shutil.copy(whole, state)
        with closing(sqlite3.connect(state)) as db, db:
            db.execute(statement)
        before = state.read_bytes()
        for command in (
            ["sync", site, "--state", state], ["sync", "--state", state, "--history"], ["diff", state, whole],
            ["diff", whole, state], ["audit", site, "--state", state], ["audit", site, "--baseline", state],
            ["watch", "a.example", "--state", state],
        ):
            assert f"{state} {words}" in refusal(*command), command
            assert state.read_bytes() == before


def test_a_dry_run_changes_nothing(site: Path, state: Path) -> None:
    assert len(reported(sync(site, state, "--dry-run"))) == 2
    assert not state.exists()


def test_verbose_reports_the_trust_in_dates(site: Path, state: Path) -> None:
    result = sync(site, state, "-v")
    assert f"lastmod of {MAP}: score 1.00" in result.stderr.splitlines()
    publish(site, {"sitemap.xml": pages(*"abcdefghijk", lastmod="2026-01-01")})
    reason = "100% have the same lastmod, 2026-01-01: a build or an import"
    assert f"lastmod of {MAP}: score 0.00 ({reason})" in sync(site, state, "-v").stderr.splitlines()
    assert "lastmod" not in sync(site, state).stderr


def test_a_report_has_the_outcomes(site: Path, state: Path, tmp_path: Path) -> None:
    sync(site, state)
    sync(site, state, "--report", str(tmp_path / "report.jsonl"))
    read = [(form["type"], form["url"]) for form in objects((tmp_path / "report.jsonl").read_text())]
    assert read == [("outcome", "https://a.example/robots.txt"), ("outcome", MAP)]


@pytest.mark.parametrize(("options", "code", "words"), [
    (["a.example"], Exit.USAGE, "Missing option '--state'; see sitemap-reader sync --help"),
    (["--state", "s.db"], Exit.USAGE, "give a TARGET, or --history to list the runs in FILE"),
    (["--state", "s.db", "--history"], Exit.USAGE, "no state file s.db; `sync` (sr.changes()) makes it"),
    (["--state", "", "a.example"], Exit.USAGE, "the name of the state file is empty"),
    (["--state", "none/s.db", "a.example"], Exit.UNWRITABLE, "none/s.db cannot be opened; check its folder"),
    (["--state", "text.db", "a.example"], Exit.USAGE, "text.db is no state file; give one that `sync` has made"),
    (["--state", "other.db", "a.example"], Exit.USAGE, "other.db is an SQLite database of another program"),
    (["--state", ".", "a.example"], Exit.USAGE, ". is a folder; name a file in it"),
    (["--state", "-", "a.example"], Exit.USAGE, "--state names a file, which is read and written: it cannot be -"),
    (["--state", "s.db", "a.example", "--since", "7d"], Exit.USAGE, "No such option '--since'"),
    (["--state", "s.db", "a.example", "--limit", "7"], Exit.USAGE, "No such option '--limit'"),
    (["--state", "s.db", "a.example", "--format", "txt"], Exit.USAGE, "'txt' is not one of 'table', 'tsv',"),
])
def test_invalid_arguments_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: Exit, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("hello")
    db = sqlite3.connect("other.db")
    db.execute("CREATE TABLE a (b)")
    db.close()
    result = run("sync", *options)
    assert result.exit_code == code
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()


def test_other_filters_need_full(site: Path, state: Path) -> None:
    sync(site, state)
    assert refusal("sync", site, "--state", state, "--include", "/x") == (
        "error: https://a.example/ was read with include none before, but with include /x now; "
        "--full reads it again with these"
    )
    assert reported(sync(site, state, "--include", "/x", "--full")) == [("removed", "y")]


def test_a_site_without_a_sitemap_is_no_change(state: Path, tmp_path: Path) -> None:
    folder = Site({"robots.txt": b""}).write(tmp_path / "site")
    assert sync(folder, state).exit_code == Exit.NOTHING
    assert run("sync", BROKEN, "--state", state, "-q").exit_code == Exit.PARTIAL


@pytest.mark.slow
def test_closed_pipe_commits_only_what_was_written(site: Path, state: Path, tmp_path: Path) -> None:
    """`| head` ends without an error; changes that it did not read are reported again."""
    full = process("sync", site, "--state", state, "-o", "/dev/full")
    assert full.returncode == Exit.UNWRITABLE
    assert "cannot write /dev/full: No space left on device" in full.stderr
    assert len(reported(sync(site, state))) == 2


def test_the_history_of_a_recording_is_found_by_its_folder(site: Path, state: Path) -> None:
    sync(site, state)
    assert [line["site"] for line in objects(sync(site, state, "--history").stdout)] == ["https://a.example/"]
    (site / "site.toml").write_text('seeds = ["https://a.example/", "https://a.example/sitemap.xml"]\n')
    sync(site, state)
    name = "https://a.example/ https://a.example/sitemap.xml"
    for target in (site, name):
        assert json.loads(sync(str(target), state, "--history").stdout)["site"] == name


def test_a_state_is_not_compared_with_itself(site: Path, state: Path) -> None:
    sync(site, state)
    reported = "error: OLD and NEW are the same state; give another file for one of them"
    assert refusal("diff", state, state) == reported
