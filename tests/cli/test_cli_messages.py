"""The advice in the last line; every message is one line."""

from pathlib import Path
from typing import Any

import pytest
from cli_runs import SHOP, process, replay
from kit import robots, run, urlset

import sitemap_reader
from sitemap_reader import NothingReadable, Outcome, Problem, explain
from sitemap_reader.checks import explain_all
from sitemap_reader.cli import Console
from sitemap_reader.model import CATALOGUE, printable, report
from sitemap_reader.state import state_version

URL = "https://a.example/s.xml"
HINTS = {doc.code: doc.hint for doc in explain_all("all") if doc.hint}


def ended(capsys: Any, code: str, message: str, *, quiet: bool = True, remedy: str | None = None) -> str:
    """The error line of a run that one document ended, with this problem."""
    samples = (report(code, message, sitemap=URL, severity="error", remedy=remedy),)
    outcome = Outcome(url=URL, complete=False, samples=samples, problems={code: 1})
    failure = NothingReadable("no URL could be read from a.example", [outcome], reason=str(samples[0]))
    Console(quiet=quiet).show_nothing_read(failure)
    return capsys.readouterr().err


@pytest.mark.parametrize("code", sorted(code for code, rule in CATALOGUE.items() if rule.severity == "error"))
def test_every_fatal_problem_has_advice(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    if code in ("D01", "L06", "S04", "S05", "U14") or explain(code).reporters == ("audit",):  # these end no document
        assert code not in HINTS
        return
    assert ended(capsys, code, "it is so").endswith(f": {code} {URL}: it is so; {HINTS[code]}\n")


@pytest.mark.parametrize(("code", "message", "remedy"), [
    ("F04", "no-such-host.invalid: no such host", "check the spelling"),
    ("S16", "more than 5 entries: reading stops here", "raise max_entries to go on"),
    ("F13", "10.0.0.1 is private", "--allow-private (allow_private=True) permits it"),
    ("F04", 'a.example: response is not HTTP: "text/plain; check=x"', None),
])
def test_advice_in_the_problem_is_not_repeated(capsys: Any, code: str, message: str, remedy: str | None) -> None:
    to_try = remedy or HINTS[code]
    quiet = ended(capsys, code, message, remedy=remedy)
    assert quiet.endswith(f"; {to_try}\n")
    assert quiet.count(to_try) == 1
    loud = ended(capsys, code, message, remedy=remedy, quiet=False)
    assert loud == f"error: no URL could be read from a.example; {to_try}\n"


@pytest.mark.parametrize(("why", "lines"), [("well-known", 0), ("robots", 1)])
def test_problem_of_a_host_is_not_repeated(capsys: pytest.CaptureFixture[str], why: str, lines: int) -> None:
    problem = report("F17", "401 Unauthorized", sitemap=URL, remedy='--auth (auth="USER:PASSWORD") signs in')
    outcome = Outcome(url=URL, why=why, complete=False, samples=(problem,), problems={"F17": 1})  # type: ignore[arg-type]
    failure = NothingReadable("no URL could be read from a.example", [outcome], reason=str(problem))
    Console().show_nothing_read(failure)
    assert capsys.readouterr().err.count("\n") == lines
    Console(quiet=True).show_nothing_read(failure)
    assert capsys.readouterr().err == f"error: no URL could be read from a.example: {problem}\n"


def test_an_error_counts_before_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    warning, error = Problem("F06", "warning", "text/html", URL), Problem("F11", "error", "empty", URL)
    outcome = Outcome(url=URL, complete=False, samples=(warning, error), problems={"F06": 1, "F11": 1})
    Console(quiet=True).show_nothing_read(NothingReadable("nothing", [outcome], reason=str(error)))
    assert capsys.readouterr().err.endswith(f"; {HINTS['F11']}\n")


def test_parse_of_a_document_has_advice(tmp_path: Path) -> None:
    bodies = {
        "cut.xml": (b"<urlset><url><loc>htt", "S01"),
        "dtd.xml": (b'<!DOCTYPE a [<!ENTITY x "y">]><urlset/>', "S09"),
        "relative.xml": (urlset("/a"), "U01"),
        "ftp.txt": (b"ftp://a.example/x\n", "U02"),
        "empty.xml": (b"", "F11"),
        "page.html": (b"<html></html>", "F05"),
        "words.txt": (b"words\n", "S15"),
        "nothing.xml": (urlset("<url><lastmod>2020</lastmod></url>"), "S11"),
    }
    for name, (body, code) in bodies.items():
        (tmp_path / name).write_bytes(body)
        for verbosity in ([], ["-q"]):
            result = run("parse", tmp_path / name, *verbosity)
            (error,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
            assert error.endswith(f"; {HINTS[code]}"), name
            assert result.exit_code == 5


@pytest.mark.slow
def test_site_without_urls_has_advice(tmp_path: Path) -> None:
    forbidden = robots("https://a.example/s.xml", rules="User-agent: *\nDisallow: /\n")
    site = replay(tmp_path / "site", {"robots.txt": forbidden})
    result = process("dump", f"{site}/")
    assert result.returncode == 5
    assert result.stderr.splitlines()[1].endswith(f"; {HINTS['F02']}")


def test_control_characters_of_a_site_are_escaped() -> None:
    assert printable("a\x1b[31m\r\nb\u202e") == "a\\x1b[31m\\r\\nb\\u202e"


@pytest.mark.parametrize(("has_scanner", "version", "summary"), [
    (True, "compiled scanner", "; compiled scanner"),
    (False, "expat only, which is slower: no C compiler at installation", "; expat only"),
])
def test_version_and_verbose_say_what_reads_xml(
    has_scanner: bool, version: str, summary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("parser.fast_path", "cli.messages"):
        monkeypatch.setattr(f"sitemap_reader.{module}.HAS_SCANNER", has_scanner)
    versions = f"JSONL 2, state {state_version()}"
    assert run("--version").stdout == f"sitemap-reader {sitemap_reader.__version__} ({version}; {versions})\n"
    assert run("dump", SHOP, "-v").stderr.endswith(f" s{summary}\n")
    assert run("dump", SHOP).stderr.endswith(" s\n")


def test_the_name_of_a_file_is_not_read_as_keywords(tmp_path: Path) -> None:
    name = 'my full=True scope="any" notes.jsonl'
    assert f"there is no file {name}; " in run("stats", name).stderr
    result = run("stats", tmp_path / name)
    assert (result.exit_code, str(tmp_path / name) in result.stderr) == (2, True)
