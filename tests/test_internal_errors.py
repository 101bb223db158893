"""Exceptions that no rule foresees, which are put into the code here: each ends one document, and nothing else."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from kit import Site, feed, index, robots, run, urlset

import sitemap_reader as sr
from sitemap_reader.frontier import Frontier
from sitemap_reader.model import RAISE_VARIABLE
from sitemap_reader.parser import Decoder, Normaliser, TolerantParser
from sitemap_reader.pipeline import crawl

SITE, OTHER = "https://a.example", "https://b.example"
DEFECT = "/defect"  # a URL with it leads to an exception
# A fragment: the scanner leaves the entry to the Normaliser.
DEFECTIVE = f"{DEFECT}#x"


@pytest.fixture(autouse=True)
def reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Internal errors become Problems, as they do for users."""
    monkeypatch.delenv(RAISE_VARIABLE)


def defect(*_: object, **__: object) -> None:
    raise IndexError("list index out of range")


@pytest.fixture
def defective_url(monkeypatch: pytest.MonkeyPatch) -> None:
    clean = Normaliser.clean
    monkeypatch.setattr(
        Normaliser, "clean", lambda self, raw: defect() if DEFECT in (raw.loc or "") else clean(self, raw)
    )


def listing(*paths: str, host: str = SITE) -> bytes:
    return urlset(*(host + path for path in paths))


def site(folder: Path, *, host: str = SITE, **children: bytes) -> Path:
    """A recording of a site with these sitemaps."""
    lines = robots(*(f"{host}/{name}.xml" for name in children), rules="User-agent: *\nDisallow: /private/\n")
    return Site({"/robots.txt": lines, **{f"/{name}.xml": body for name, body in children.items()}}, host).write(folder)


def locs(lines: str) -> list[str]:
    return [json.loads(line)["loc"] for line in lines.splitlines()]


ENTRIES = {
    "urlset": listing("/1", "/2", DEFECTIVE, "/3"),
    "damaged urlset": listing("/1", "/2", DEFECTIVE, "/3").replace(b"/2<", b"/2&<"),
    "text": "".join(f"{SITE}{path}\n" for path in ("/1", "/2", DEFECTIVE, "/3")).encode(),
    "rss": feed(*(SITE + path for path in ("/1", "/2", DEFECTIVE))),
}


@pytest.mark.usefixtures("defective_url")
@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("kind", ENTRIES)
def test_entries_before_an_internal_error_are_kept(kind: str, step: int) -> None:
    body = ENTRIES[kind]
    *items, outcome = sr.iter_parse([body[at : at + step] for at in range(0, len(body), step)], url=f"{SITE}/s.xml")
    assert [item.loc[:19] for item in items if isinstance(item, sr.UrlRecord)] == [f"{SITE}/1", f"{SITE}/2"]
    problem = items[-1]
    assert isinstance(problem, sr.Problem)
    assert (problem.code, problem.severity, problem.sitemap) == ("S17", "error", f"{SITE}/s.xml")
    assert "IndexError (list index out of range) in " in problem.message
    assert isinstance(outcome, sr.Outcome)
    assert not outcome.complete
    assert outcome.problems["S17"] == 1
    assert outcome.entries == outcome.kept == 2


@pytest.mark.parametrize(("owner", "name", "body", "kept"), [
    (TolerantParser, "read", listing("/1", "/2").replace(b"</urlset>", b"<url><loc>a</lox>"), 2),
    (Decoder, "close", listing("/1", "/2") + b" " * 100_000, 2),
    (Decoder, "feed", listing("/1", "/2"), 0),
])
def test_an_internal_error_at_any_step_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, body: bytes, kept: int
) -> None:
    monkeypatch.setattr(owner, name, defect)
    document = sr.parse(body)
    assert [problem.code for problem in document.problems] == ["S17"]
    assert len(document.urls) == kept
    assert not document.outcome.complete


@pytest.mark.usefixtures("defective_url")
def test_traceback_is_logged_at_debug_and_nothing_above(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "sitemap_reader"):
        sr.parse(ENTRIES["urlset"])
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG
    assert record.exc_info is not None
    assert record.exc_info[0] is IndexError


@pytest.mark.usefixtures("defective_url")
def test_the_environment_lets_it_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RAISE_VARIABLE, "1")
    with pytest.raises(IndexError):
        sr.parse(ENTRIES["urlset"])


@pytest.mark.usefixtures("defective_url")
def test_other_documents_and_targets_are_read_whole(tmp_path: Path) -> None:
    pages = [f"/{number}" for number in range(50)]
    first = site(tmp_path / "a", good=listing("/a"), odd=listing("/b", DEFECTIVE, "/c"), last=listing("/d"))
    second = site(tmp_path / "b", host=OTHER, all=listing(*pages, host=OTHER))
    for targets in ((first, second), (second, first)):
        result = run("dump", *targets)
        assert sorted(locs(result.stdout)) == sorted(
            [*(f"{SITE}/{name}" for name in "abd"), *(OTHER + page for page in pages)]
        )
        assert result.exit_code == 3
        assert "error S17 https://a.example/odd.xml: internal error IndexError" in result.stderr


def test_links_that_lead_to_an_internal_error_end_their_index_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = Frontier.receive

    def failing(self: Frontier, request: Any, answer: Any, *times: Any) -> Any:
        is_odd = isinstance(answer, sr.SitemapRef) and answer.loc.endswith("/odd.xml")
        return defect() if is_odd else receive(self, request, answer, *times)

    monkeypatch.setattr(Frontier, "receive", failing)
    first = site(tmp_path / "a", index=index(f"{SITE}/good.xml", f"{SITE}/odd.xml"), good=listing("/a"))
    second = site(tmp_path / "b", host=OTHER, all=listing("/b", host=OTHER))
    result = run("dump", first, second)
    assert (sorted(locs(result.stdout)), result.exit_code) == ([f"{SITE}/a", f"{OTHER}/b"], 3)
    assert f"error S17 {SITE}/index.xml" in result.stderr


def test_rules_that_lead_to_an_internal_error_disallow_their_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl, "parse_rules", defect)
    result = run("dump", site(tmp_path / "a", all=listing("/a")))
    assert (result.stdout, result.exit_code) == ("", 5)
    assert f"error S17 {SITE}/robots.txt" in result.stderr


@pytest.mark.usefixtures("defective_url")
def test_an_audit_with_an_internal_error_has_found_nothing_by_it(tmp_path: Path) -> None:
    result = run("audit", site(tmp_path / "a", odd=listing("/b", DEFECTIVE)), "--ignore", "F,D,U")
    assert "S17" in result.stdout
    assert result.exit_code == 3


@pytest.mark.usefixtures("defective_url")
def test_sync_removes_nothing_because_of_an_internal_error(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    folder = site(tmp_path / "a", odd=listing("/1", "/2", "/3"))
    assert run("sync", folder, "--state", state).exit_code == 0
    (folder / "https" / "a.example" / "odd.xml").write_bytes(listing("/1", DEFECTIVE))
    result = run("sync", folder, "--state", state)
    assert (result.stdout, result.exit_code) == ("", 3)


def test_an_internal_error_outside_of_documents_is_exit_7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = site(tmp_path / "a", good=listing("/a"))
    monkeypatch.setattr("sitemap_reader.client.crawler.Crawler.__init__", defect)
    result = run("tree", folder)
    assert result.exit_code == 7
    assert result.stderr.startswith("error: internal error IndexError (list index out of range) in ")
    assert RAISE_VARIABLE in result.stderr
