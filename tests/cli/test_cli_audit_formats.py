"""`audit` for CI systems: --format, --also, --known and --fail-on in them; the examples of docs/ci.md."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest
from cli_runs import BROKEN, NS, SHOP, process, replay, run, urlset
from defusedxml import ElementTree

from sitemap_reader.cli.audit_outputs import _WRITERS
from sitemap_reader.cli.main import main
from sitemap_reader.cli.options import REPORT_FORMATS
from sitemap_reader.model.problems import CATALOGUE
from sitemap_reader.serialize.dumps import is_dump_name

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

A = "https://a.example"
BEGINNINGS = {
    "github": "shop.example: ", "sarif": "{\n", "junit": "<?xml ", "markdown": "## Sitemap audit of ", "json": "{\n",
    "html": "<!DOCTYPE html>", "text": "shop.example: ",
}  # fmt: skip
SUFFIXES = [
    ("sarif", "sarif"), ("xml", "junit"), ("md", "markdown"), ("json", "json"), ("htm", "html"), ("txt", "text"),
]  # fmt: skip


def site(folder: Path, *dates: str) -> Path:
    """A site whose pages have these lastmods, on lines 2, 3 and so on."""
    locs = [f"{A}/{number}" for number, _ in enumerate(dates)]
    robots = f"User-agent: *\nAllow: /\nSitemap: {A}/sitemap.xml\n"
    sitemap = urlset(*locs, lastmod=dict(zip(locs, dates, strict=True)))
    return replay(folder, {"robots.txt": robots, "sitemap.xml": sitemap})


def commands(result: Result) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.startswith("::")]


# --- formats ---


def test_every_report_format_is_written() -> None:
    assert tuple(_WRITERS) == REPORT_FORMATS


@pytest.mark.parametrize("format", ["github", "sarif", "junit", "markdown"])
def test_format_on_stdout(format: str) -> None:
    result = run("audit", SHOP, "--format", format, "-q", "--ignore", "F10")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(BEGINNINGS[format])


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "format"), SUFFIXES)
@pytest.mark.parametrize("option", ["-o", "--also"])
def test_suffix_selects_the_format(tmp_path: Path, option: str, suffix: str, format: str) -> None:
    file = tmp_path / f"report.{suffix}"
    result = run("audit", SHOP, option, file)
    assert result.exit_code == 0
    assert (result.stdout == "") == (option == "-o")
    assert file.read_text("utf-8").startswith(BEGINNINGS[format])


@pytest.mark.parametrize("command", ["dump", "tree"])
def test_other_commands_refuse_the_suffixes(tmp_path: Path, command: str) -> None:
    result = run(command, SHOP, "-o", tmp_path / "x.sarif")
    assert result.exit_code == 2
    assert "x.sarif: .sarif is not a format of this command; give --format " in result.stderr


def test_occurrences_are_more_than_samples(tmp_path: Path) -> None:
    audited = site(tmp_path / "site", *(["gestern"] * 8))
    files = [tmp_path / name for name in ("a.sarif", "a.xml", "a.md")]
    also = [each for file in files for each in ("--also", file)]
    result = run("audit", audited, "--format", "github", "--samples", "1", *also, "--select", "D01")
    assert result.exit_code == 1
    assert len(commands(result)) == 8
    assert f"::{A}/sitemap.xml:9: " in commands(result)[-1]
    (sarif_run,) = json.loads(files[0].read_text())["runs"]
    lines = [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in sarif_run["results"]]
    assert lines == [*range(2, 10)]
    (failure,) = ElementTree.parse(files[1]).iter("failure")
    assert failure.text.count("is no date") == 8
    assert files[2].read_text().count("is no date") == 5


# --- --also ---


@pytest.mark.slow
def test_also_writes_several_files_of_one_audit(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.sarif", "a.xml.gz", "a.md", "a.html", "a.jsonl")]
    also = [each for file in files[:-1] for each in ("--also", file)]
    result = run("audit", BROKEN, *also, "--findings", files[-1], "--format", "csv")
    assert result.exit_code == 1
    assert result.stdout.startswith("code,severity,url,")
    assert all(file.stat().st_size > 100 for file in files)
    assert len(files[-1].read_text().splitlines()) == 27


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--also", "a.csv"), "--also a.csv: give a name that ends in .sarif, .xml, .md, .html, .json or .txt"),
        (("--also", "-"), "--also -: give a name that ends in "),
        (("--also", "a.md", "--also", "./a.md"), "--also a.md: that file has another output; "),
        (("--also", "a.json", "-o", "a.json"), "--also a.json: that file has another output; "),
        (("--also", "no/a.md"), "cannot write no/a.md: No such file or directory"),
    ],
)
def test_wrong_also(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("audit", SHOP, *arguments)
    assert (result.exit_code, result.stdout) == (6 if "no/" in message else 2, "")
    assert f"error: {message}" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_also_keeps_the_old_file_if_nothing_could_be_audited(tmp_path: Path) -> None:
    file = tmp_path / "old.md"
    file.write_text("old")
    assert run("audit", tmp_path / "missing.jsonl", "--also", file).exit_code == 2
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


# --- --known, --fail-on ---


def test_known_findings_are_neither_annotated_nor_failures(tmp_path: Path) -> None:
    known, again = tmp_path / "known.jsonl", tmp_path / "again.jsonl"
    options = ("--format", "github", "--select", "D01", "-q")
    known.write_text("")
    first = run("audit", site(tmp_path / "1", "gestern"), *options, "--known", known, "--findings", again)
    assert (first.exit_code, len(commands(first))) == (1, 1)
    junit = tmp_path / "junit.xml"
    second = run("audit", site(tmp_path / "2", "gestern"), *options, "--known", again, "--also", junit)
    assert (second.exit_code, commands(second)) == (0, [])
    assert list(ElementTree.parse(junit).iter("failure")) == []
    third = run("audit", site(tmp_path / "3", "gestern", "morgen"), *options, "--known", again, "--also", junit)
    assert third.exit_code == 1
    assert [f"::{A}/sitemap.xml:3: " in line for line in commands(third)] == [True]
    assert len(list(ElementTree.parse(junit).iter("failure"))) == 1


@pytest.mark.parametrize(("fail_on", "failures"), [("never", 0), ("error", 1), ("warning", 2), ("info", 3)])
def test_junit_fails_as_the_command_does(tmp_path: Path, fail_on: str, failures: int) -> None:
    audited = site(tmp_path / "site", "gestern", "2026-01-01T10:00:00")
    [sitemap] = audited.rglob("sitemap.xml")
    sitemap.with_name("sitemap.xml.headers").write_text("content-type: application/xml\n")
    result = run("audit", audited, "--format", "junit", "--select", "D01,D06,F10", "--fail-on", fail_on)
    suite = ElementTree.fromstring(result.stdout)[0]
    assert (int(suite.get("failures", "")), int(suite.get("tests", ""))) == (failures, 3)
    assert result.exit_code == (1 if failures else 0)


def test_junit_skips_rules_without_their_source() -> None:
    suite = ElementTree.fromstring(run("audit", SHOP, "--format", "junit").stdout)[0]
    skipped = {case.get("name", "")[:3]: case.findtext("skipped") for case in suite if case.find("skipped") is not None}
    assert {*skipped} == {code for code in CATALOGUE if code[0] in "CX"}
    assert skipped["C01"] == "needs responses of the pages (check_urls=N or crawl=FILE)"


def test_junit_has_the_selected_rules_only() -> None:
    result = run("audit", SHOP, "--format", "junit", "--select", "D,L", "--ignore", "D01")
    suite = ElementTree.fromstring(result.stdout)[0]
    names = [case.get("name", "")[:3] for case in suite.iter("testcase")]
    assert names == [code for code in CATALOGUE if code[0] in "DL" and code != "D01"]


def test_junit_skips_rules_that_a_dump_cannot_show(tmp_path: Path) -> None:
    dump = tmp_path / "urls.jsonl"
    assert run("dump", SHOP, "-o", dump).exit_code == 0
    suite = ElementTree.fromstring(run("audit", dump, "--format", "junit").stdout)[0]
    reasons = {case.get("name", "")[:3]: case.findtext("skipped") for case in suite.iter("testcase")}
    assert reasons["U12"] == "needs robots.txt, which the dump lacks"
    assert reasons["F01"] == "needs outcomes of documents, which the dump lacks"
    assert reasons["D01"] is None
    with_outcomes = run("dump", SHOP, "--report", "-", "-q").stdout
    again = ElementTree.fromstring(run("audit", "-", "--format", "junit", stdin=with_outcomes).stdout)[0]
    assert {case.get("name", "")[:3]: case.findtext("skipped") for case in again.iter("testcase")}["F01"] is None


# --- text of a site ---


@pytest.mark.slow
@pytest.mark.parametrize("format", ["github", "text"])
def test_no_line_of_stdout_or_stderr_has_a_command_of_the_site(tmp_path: Path, format: str) -> None:
    texts = ["::stop-commands::x", "##[add-mask]y", "&#10;::error::z"]
    audited = site(tmp_path / "::x::", *texts)
    sitemap = audited / "https" / "a.example" / "sitemap.xml"
    sitemap.write_text(sitemap.read_text().replace("</urlset>", "<url><loc>::warning::no</loc></url>\n</urlset>"))
    result = process("audit", str(audited), "--format", format, "-v")
    assert result.returncode == 1
    for line in (*result.stdout.splitlines(), *result.stderr.splitlines()):
        if not re.match(r"::(error|warning|notice) title=[A-Z]\d\d ", line):
            assert "##[" not in line
            assert not line.lstrip().startswith("::"), line
    assert ("::error " in result.stdout) is (format == "github")


# --- docs/ci.md ---


def documented() -> list[list[str]]:
    """The words of each audit in the page, and in the workflows in it."""
    from docs_runs import ROOT

    text = (ROOT / "docs" / "ci.md").read_text("utf-8").replace("\\\n", " ")
    found = re.findall(r"sitemap-reader (audit [^\n']*?)(?:'|\n|$)", text)
    return [shlex.split(each) for each in found if " --also" in each or " --known" in each]


def test_options_in_the_workflows_exist() -> None:
    audits = documented()
    assert len(audits) == 4
    audit = main.commands["audit"]
    names = {name for param in audit.params for name in param.opts if isinstance(param, click.Option)}
    for words in audits:
        assert {word for word in words if word.startswith("-")} <= names
        assert not is_dump_name(words[1])


def test_audit_of_the_workflow_annotates_the_files_of_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step of docs/ci.md, in a repository with a build folder; the next run knows what the first has found."""
    monkeypatch.chdir(tmp_path)
    base = "https://www.example.com"
    public = tmp_path / "public"
    public.mkdir()
    (public / "robots.txt").write_text(f"Sitemap: {base}/sitemap.xml\n")
    entries = [f"<url><loc>{base}/1</loc></url>", f"<url>\n<loc>{base}/2</loc><lastmod>gestern</lastmod></url>"]
    (public / "sitemap.xml").write_text("\n".join([f"<urlset {NS}>", *entries, "</urlset>"]))
    words = [word.replace("$BASE", base) for word in next(each for each in documented() if "--known" in each)]
    (tmp_path / "known.jsonl").touch()
    first = run(*words)
    assert first.exit_code == 1
    assert commands(first)[0].startswith("::error file=public/sitemap.xml,line=3,title=D01 Unreadable date::")
    assert (tmp_path / "summary.md").read_text().startswith("## Sitemap audit of ")
    (result,) = (
        each
        for each in json.loads((tmp_path / "audit.sarif").read_text())["runs"][0]["results"]
        if each["ruleId"] == "D01"
    )
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "public/sitemap.xml", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 3
    (tmp_path / "findings.jsonl").rename("known.jsonl")
    second = run(*words)
    assert (second.exit_code, commands(second)) == (0, [])


def skipped_rules(*arguments: object) -> dict[str, str | None]:
    suite = ElementTree.fromstring(run("audit", *arguments, "--format", "junit", "-q").stdout)
    return {
        case.get("name", "")[:3]: case.findtext("skipped")
        for case in suite.iter("testcase")
        if case.find("skipped") is not None
    }


def test_junit_skips_what_the_options_leave_out(tmp_path: Path) -> None:
    """A rule that was not checked is no test that passed."""
    whole = skipped_rules(SHOP)
    filtered = skipped_rules(SHOP, "--include", "/products/")
    assert {*filtered} - {*whole} == {"D08"}
    assert filtered["X01"] == "needs the whole site, without filters"
    public = tmp_path / "public"
    public.mkdir()
    (public / "sitemap.xml").write_text(urlset("https://www.example.com/1"))
    built = skipped_rules(public, "--base", "https://www.example.com")
    assert {*built} - {*whole} == {"F06", "F10", "D04"}
    assert built["F10"] == "needs headers, which files lack"


def test_junit_skips_rules_that_a_crawl_file_has_no_column_for(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.csv"
    locs = [json.loads(line)["loc"] for line in run("dump", SHOP, "-q").stdout.splitlines()]
    crawl.write_text("url,status\n" + "".join(f"{loc},200\n" for loc in locs))
    skipped = skipped_rules(SHOP, "--crawl", crawl)
    assert {code for code in skipped if code.startswith("C")} >= {"C03", "C04"}
    assert not {"C01", "C02", "C05", "C06"} & {*skipped}
    assert skipped["C04"] == f"needs a column of canonical, which {crawl} lacks"


def test_junit_keeps_to_the_thresholds_of_the_config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sitemap-reader.toml").write_text("[audit.thresholds]\nF01 = 5\n")
    suite = ElementTree.fromstring(run("audit", BROKEN, "--format", "junit", "-q").stdout)
    failed = {case.get("name", "")[:3] for case in suite.iter("testcase") if case.find("failure") is not None}
    assert failed == {"F05", "F07"}
