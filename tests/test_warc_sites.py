"""Whole sites in WARC files: recorded, recompressed, written by other programs; read by every command."""

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kit import Site, gz, index, robots, run, serve, urlset
from servers import SiteServer
from warcio.cli import main as warcio

import sitemap_reader as sr

SITES = Path(__file__).parent.parent / "corpus" / "sites"
NAMES = sorted(path.name for path in SITES.iterdir() if path.is_dir())
KINDS = ["site.warc", "site.warc.gz"]


def dump(target: str | Path, report: Path, *options: str | Path) -> tuple[list[str], list[dict[str, Any]], int]:
    """The lines, the report without times, and the exit code."""
    result = run("dump", target, "--report", report, *options)
    forms = [json.loads(line) for line in report.read_text().splitlines()]
    return sorted(result.stdout.splitlines()), sorted((untimed(form) for form in forms), key=str), result.exit_code


def untimed(form: dict[str, Any]) -> dict[str, Any]:
    """An outcome without its seconds; those that may be reported before all their parents are read, without these."""
    timed = {"seconds", "parents"} if form.get("format") in ("robots", "sitemapindex") else {"seconds"}
    return {name: value for name, value in form.items() if name not in timed}


@cache
def expected(name: str, folder: Path) -> tuple[list[str], list[dict[str, Any]], int]:
    return dump(SITES / name, folder / f"{name}.report")


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def recompressed(path: Path) -> Path:
    other = path.with_name("again.warc.gz")
    warcio(["recompress", str(path), str(other)])
    return other


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_site_of_the_corpus_gives_the_same_from_a_warc(
    tmp_path: Path, reports: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    path = tmp_path / kind
    run("dump", SITES / name, "-q", "--record", path)
    assert dump(path, tmp_path / "report") == expected(name, reports)
    assert dump(recompressed(path), tmp_path / "report") == expected(name, reports)
    with pytest.raises(SystemExit) as ended:
        warcio(["check", str(path)])
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


def test_several_targets_share_a_file(tmp_path: Path, reports: Path) -> None:
    path = tmp_path / "both.warc.gz"
    result = run("dump", SITES / "shop", SITES / "cross-submission", "-q", "--record", path)
    lines, _, _ = dump(path, tmp_path / "report")
    ours = [json.loads(line) for line in result.stdout.splitlines()]
    assert {json.loads(line)["loc"] for line in lines} == {form["loc"] for form in ours}


# --- live -------------------------------------------------------------------------------------------------------


XML = {"Content-Type": "text/xml"}


@pytest.fixture
def site() -> Iterator[SiteServer]:
    """A site with most kinds of responses."""
    names = ("a.xml", "b.xml.gz", "moved", "gone")
    pages = {
        "/robots.txt": (200, {"Content-Type": "text/plain"}, robots("/index.xml")),
        "/index.xml": (200, XML, index(*(f"https://a.example/{name}" for name in names))),
        "/a.xml": (200, {**XML, "ETag": '"1"'}, urlset("/a")),
        "/b.xml.gz": (200, {"Content-Type": "application/gzip"}, gz(urlset(*(f"/{n}" for n in range(2_000))))),
        "/moved": (301, {"Location": "/c.xml"}, b"moved"),
        "/c.xml": (200, {**XML, "Content-Encoding": "gzip"}, gz(urlset("/c"))),
    }
    with serve(Site(pages)) as running:
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_live_site_gives_the_same_from_its_recording(tmp_path: Path, site: SiteServer, kind: str) -> None:
    path = tmp_path / kind
    live = dump(site.url, tmp_path / "live", "--allow-private", "--record", path, "-H", "Authorization: secret")
    requested = len(site.received)
    assert dump(path, tmp_path / "again") == live
    assert (len(live[0]), live[2], len(site.received)) == (2_002, 3, requested)
    assert b"secret" not in (gzip.decompress(path.read_bytes()) if kind.endswith("gz") else path.read_bytes())


CAPTURE = """
import sys
from warcio.capture_http import capture_http
import http.client
from urllib.parse import urlsplit
with capture_http(sys.argv[1], gzip=True):
    for url in sys.argv[2:]:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc)
        connection.request("GET", parts.path)
        connection.getresponse().read()
        connection.close()
"""


def captured(path: Path, urls: list[str]) -> Path:
    subprocess.run([sys.executable, "-c", CAPTURE, str(path), *urls], check=True, timeout=60)
    return path


def wgotten(path: Path, urls: list[str]) -> Path:
    program = shutil.which("wget")
    if program is None:
        pytest.skip("wget is not installed")
    name = str(path).removesuffix(".warc.gz")
    command = [program, "-q", "--no-proxy", f"--warc-file={name}", "-O", "/dev/null", *urls]
    done = subprocess.run(command, cwd=path.parent, timeout=60, check=False, capture_output=True)
    assert done.returncode in (0, 8), done.stderr  # 8: a response was 404
    return path


@pytest.mark.slow
@pytest.mark.parametrize("other", [captured, wgotten])
def test_file_of_another_program_gives_the_same(
    tmp_path: Path, site: SiteServer, other: Callable[[Path, list[str]], Path]
) -> None:
    live = dump(site.url, tmp_path / "live", "--allow-private")
    path = other(tmp_path / "other.warc.gz", [f"{site.url}{path}" for path in (*site.pages, "/gone")])
    assert dump(path, tmp_path / "again") == live
    assert dump(recompressed(path), tmp_path / "again") == live


# --- every command ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.warc.gz"
    run("dump", SITES / "shop", "-q", "-o", path.with_name("urls"), "--record", path)
    return path


def is_no_time(line: str) -> bool:
    return '"seconds"' not in line


# One sitemap at a time: which example of a finding the audit shows depends on the order in which they are read.
AUDIT = ["audit", "--fail-on", "never", "--format", "json", "--per-host", "1"]
COMMANDS = [["discover"], ["tree"], ["stats"], AUDIT, ["dump"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_takes_one(shop: Path, command: list[str]) -> None:
    results = [run(*command, target, "-q") for target in (shop, SITES / "shop")]
    assert results[0].exit_code == results[1].exit_code == 0
    outputs = [result.stdout.replace(str(SITES / "shop"), str(shop)).splitlines() for result in results]
    assert sorted(filter(is_no_time, outputs[0])) == sorted(filter(is_no_time, outputs[1]))


def test_sync_takes_one(shop: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    assert len(run("sync", SITES / "shop", "--state", state, "-q").stdout.splitlines()) == 640
    assert run("sync", shop, "--state", state, "-q", "--full").stdout == ""
    assert "https://shop.example/" in run("sync", shop, "--state", state, "--history").stdout


def test_snapshot_and_audit_of_python_take_one(shop: Path) -> None:
    pytest.importorskip("pyarrow")
    site = sr.snapshot(shop, show_progress=False)
    assert (len(site.urls), site.complete) == (640, True)
    assert site.at == sr.snapshot(SITES / "shop", show_progress=False).at
    assert sr.audit(str(shop)).urls == 640


def test_a_fetcher_over_one_serves_any_target_in_it(shop: Path) -> None:
    fetcher = sr.fetch.WarcFetcher(str(shop))
    with sr.urls("https://shop.example/", fetcher=fetcher) as urls:
        assert len([*urls]) == 640


# --- what cannot be ---------------------------------------------------------------------------------------------


def test_a_file_that_is_no_warc_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "site.warc.gz").write_bytes(b"x")
    for command in ("dump", "stats", "tree"):
        result = run(command, tmp_path / "site.warc.gz")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {tmp_path / 'site.warc.gz'} is no WARC that can be read (")
        assert result.stderr.count("\n") == 1


def test_parse_of_a_warc_names_the_command_for_it(shop: Path) -> None:
    result = run("parse", shop)
    assert result.exit_code == 2
    assert f"{shop} is a WARC, and parse reads one document: `sitemap-reader dump {shop}` replays it" in result.stderr


def test_recording_that_cannot_be_continued_is_refused_before_any_request(tmp_path: Path, site: SiteServer) -> None:
    (tmp_path / "site.warc").write_bytes(b"x")
    result = run("dump", site.url, "--allow-private", "--record", tmp_path / "site.warc")
    assert (result.exit_code, site.received) == (2, [])
    assert "is no WARC: name another file to record to" in result.stderr


def test_recording_to_the_file_that_is_read_is_refused(shop: Path) -> None:
    before = shop.read_bytes()
    result = run("dump", shop, "--record", shop)
    assert (result.exit_code, shop.read_bytes()) == (2, before)
    assert "is read and written at once" in result.stderr


def test_unwritable_recording_is_reported(shop: Path) -> None:
    result = run("dump", SITES / "shop", "--record", "/dev/null/site.warc.gz")
    assert result.exit_code == 6
    assert "/dev/null" in result.stderr


def test_a_damaged_file_is_partial(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.warc.gz"
    path.write_bytes(shop.read_bytes()[:-20])
    result = run("dump", path, "-o", tmp_path / "urls.jsonl")
    assert result.exit_code == 3
    assert f"error F04 {path}: {path} is damaged at byte " in result.stderr
