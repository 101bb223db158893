"""Exceptions that no rule foresees, which are put into the code here: each ends one document, and nothing else."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import sitemap_reader as sr
from sitemap_reader.cli.main import main
from sitemap_reader.frontier.frontier import Frontier
from sitemap_reader.model.internal_errors import RAISE_VARIABLE
from sitemap_reader.parser.content.decoder import Decoder
from sitemap_reader.parser.normalise.entry import Normaliser
from sitemap_reader.parser.xml.recovery.tolerant_parser import TolerantParser
from sitemap_reader.pipeline import crawl

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
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


def urlset(*paths: str, host: str = SITE) -> str:
    return f"<urlset {NS}>{''.join(f'<url><loc>{host}{path}</loc></url>' for path in paths)}</urlset>"


def site(folder: Path, *, host: str = SITE, **children: str) -> Path:
    """A recording of a site with these sitemaps."""
    root = folder / "https" / host.partition("//")[2]
    root.mkdir(parents=True)
    (folder / "site.toml").write_text(f'seeds = ["{host}/"]\n')
    lines = [f"Sitemap: {host}/{name}.xml\n" for name in children]
    (root / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n" + "".join(lines))
    for name, body in children.items():
        (root / f"{name}.xml").write_text(body)
    return folder


def command(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert isinstance(result.exception, SystemExit | None)
    return result


def locs(lines: str) -> list[str]:
    return [json.loads(line)["loc"] for line in lines.splitlines()]


ENTRIES = {
    "urlset": urlset("/1", "/2", DEFECTIVE, "/3"),
    "damaged urlset": urlset("/1", "/2", DEFECTIVE, "/3").replace("/2<", "/2&<"),
    "text": "".join(f"{SITE}{path}\n" for path in ("/1", "/2", DEFECTIVE, "/3")),
    "rss": "<rss><channel>" + "".join(f"<item><link>{SITE}{p}</link></item>" for p in ("/1", "/2", DEFECTIVE)),
}


@pytest.mark.usefixtures("defective_url")
@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("kind", ENTRIES)
def test_entries_before_an_internal_error_are_kept(kind: str, step: int) -> None:
    body = ENTRIES[kind].encode()
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


@pytest.mark.parametrize(
    ("owner", "name", "body", "kept"),
    [
        (TolerantParser, "read", urlset("/1", "/2").replace("</urlset>", "<url><loc>a</lox>"), 2),
        (Decoder, "close", urlset("/1", "/2") + " " * 100_000, 2),
        (Decoder, "feed", urlset("/1", "/2"), 0),
    ],
)
def test_an_internal_error_at_any_step_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, body: str, kept: int
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
    first = site(tmp_path / "a", good=urlset("/a"), odd=urlset("/b", DEFECTIVE, "/c"), last=urlset("/d"))
    second = site(tmp_path / "b", host=OTHER, all=urlset(*pages, host=OTHER))
    for targets in ((first, second), (second, first)):
        result = command("dump", *targets)
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
    children = "".join(f"<sitemap><loc>{SITE}/{child}.xml</loc></sitemap>" for child in ("good", "odd"))
    first = site(tmp_path / "a", index=f"<sitemapindex {NS}>{children}</sitemapindex>", good=urlset("/a"))
    second = site(tmp_path / "b", host=OTHER, all=urlset("/b", host=OTHER))
    result = command("dump", first, second)
    assert (sorted(locs(result.stdout)), result.exit_code) == ([f"{SITE}/a", f"{OTHER}/b"], 3)
    assert f"error S17 {SITE}/index.xml" in result.stderr


def test_rules_that_lead_to_an_internal_error_disallow_their_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl, "parse_rules", defect)
    result = command("dump", site(tmp_path / "a", all=urlset("/a")))
    assert (result.stdout, result.exit_code) == ("", 5)
    assert f"error S17 {SITE}/robots.txt" in result.stderr


@pytest.mark.usefixtures("defective_url")
def test_an_audit_with_an_internal_error_has_found_nothing_by_it(tmp_path: Path) -> None:
    result = command("audit", site(tmp_path / "a", odd=urlset("/b", DEFECTIVE)), "--ignore", "F,D,U")
    assert "S17" in result.stdout
    assert result.exit_code == 3


@pytest.mark.usefixtures("defective_url")
def test_sync_removes_nothing_because_of_an_internal_error(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    folder = site(tmp_path / "a", odd=urlset("/1", "/2", "/3"))
    assert command("sync", folder, "--state", state).exit_code == 0
    (folder / "https" / "a.example" / "odd.xml").write_text(urlset("/1", DEFECTIVE))
    result = command("sync", folder, "--state", state)
    assert (result.stdout, result.exit_code) == ("", 3)


def test_an_internal_error_outside_of_documents_is_exit_7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = site(tmp_path / "a", good=urlset("/a"))
    monkeypatch.setattr("sitemap_reader.client.reader.SitemapReader.__init__", defect)
    result = command("tree", folder)
    assert result.exit_code == 7
    assert result.stderr.startswith("error: internal error IndexError (list index out of range) in ")
    assert RAISE_VARIABLE in result.stderr
