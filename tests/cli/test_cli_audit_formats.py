"""`audit` for CI systems: --format, --also, --known and --fail-on in them; the examples of docs/ci.md."""

import json
import re
import shlex
from pathlib import Path
from xml.etree.ElementTree import Element

import click
import pytest
from cli_runs import BROKEN, SHOP, process
from click.testing import Result
from defusedxml import ElementTree
from kit import Site, files, objects, robots, run, urlset

from sitemap_reader.cli import REPORT_FORMATS
from sitemap_reader.cli.audit import _WRITERS
from sitemap_reader.cli.main import main
from sitemap_reader.model import CATALOGUE
from sitemap_reader.serialize import is_dump_name

A = "https://a.example"
BEGINNINGS = {"github": "shop.example: ", "sarif": "{\n", "junit": "<?xml ", "markdown": "## Sitemap audit of "}
# Suffix of a report -> how it begins.
SUFFIXES = {
    "sarif": BEGINNINGS["sarif"], "xml": BEGINNINGS["junit"], "md": BEGINNINGS["markdown"], "json": "{\n",
    "htm": "<!DOCTYPE html>", "html": "<!DOCTYPE html>", "txt": "shop.example: ",
}  # fmt: skip


def site(folder: Path, *dates: str) -> Path:
    """A site whose pages have these lastmods, on lines 2, 3 and so on."""
    entries = ((f"{A}/{number}", date) for number, date in enumerate(dates))
    return Site({"robots.txt": robots(f"{A}/sitemap.xml"), "sitemap.xml": urlset(*entries)}).write(folder)


def rules(*arguments: object, stdin: str | None = None) -> dict[str, Element]:
    """The test cases of the JUnit report, by the code of their rule."""
    suite = ElementTree.fromstring(run("audit", *arguments, "--format", "junit", "-q", stdin=stdin).stdout)
    return {case.get("name", "")[:3]: case for case in suite.iter("testcase")}


def skipped_rules(*arguments: object, stdin: str | None = None) -> dict[str, str | None]:
    """The reasons, by the code of the rule."""
    reasons = {code: case.find("skipped") for code, case in rules(*arguments, stdin=stdin).items()}
    return {code: reason.text for code, reason in reasons.items() if reason is not None}


def commands(result: Result) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.startswith("::")]


# --- formats ---


def test_every_report_format_is_written() -> None:
    assert tuple(_WRITERS) == REPORT_FORMATS


@pytest.mark.parametrize("format", BEGINNINGS)
def test_format_on_stdout(format: str) -> None:
    result = run("audit", SHOP, "--format", format, "-q", "--ignore", "F10")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(BEGINNINGS[format])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("option", ["-o", "--also"])
def test_suffix_selects_the_format(tmp_path: Path, option: str, suffix: str) -> None:
    file = tmp_path / f"report.{suffix}"
    result = run("audit", SHOP, option, file)
    assert result.exit_code == 0
    assert (result.stdout == "") == (option == "-o")
    assert file.read_text("utf-8").startswith(SUFFIXES[suffix])


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
    assert len(files[-1].read_text().splitlines()) == 20


@pytest.mark.parametrize(("arguments", "message"), [
    (("--also", "a.csv"), "--also a.csv: give a name that ends in .sarif, .xml, .md, .html, .json or .txt"),
    (("--also", "-"), "--also -: give a name that ends in "),
    (("--also", "a.md", "--also", "./a.md"), "--also a.md: that file has another output; "),
    (("--also", "a.json", "-o", "a.json"), "--also a.json: that file has another output; "),
    (("--also", "no/a.md"), "cannot write no/a.md: No such file or directory"),
])
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


@pytest.mark.parametrize(("fail_on", "failures"), [("never", 0), ("error", 1), ("warning", 2), ("notice", 3)])
def test_junit_fails_as_the_command_does(tmp_path: Path, fail_on: str, failures: int) -> None:
    audited = site(tmp_path / "site", "gestern", "2026-01-01T10:00:00")
    [sitemap] = audited.rglob("sitemap.xml")
    sitemap.with_name("sitemap.xml.headers").write_text("content-type: application/xml\n")
    result = run("audit", audited, "--format", "junit", "--select", "D01,D06,F10", "--fail-on", fail_on)
    suite = ElementTree.fromstring(result.stdout)[0]
    assert (int(suite.get("failures", "")), int(suite.get("tests", ""))) == (failures, 3)
    assert result.exit_code == (1 if failures else 0)


def test_junit_skips_rules_without_their_source() -> None:
    skipped = skipped_rules(SHOP)
    assert {*skipped} == {code for code in CATALOGUE if code[0] in "CX"} | {"L09", "L12"}
    assert skipped["C01"] == "needs responses of the pages (check_urls=N or crawl=FILE)"


def test_junit_has_the_selected_rules_only() -> None:
    checked = [*rules(SHOP, "--select", "D,L", "--ignore", "D01")]
    assert checked == [code for code in CATALOGUE if code[0] in "DL" and code != "D01"]


def test_junit_skips_rules_that_a_dump_cannot_show(tmp_path: Path) -> None:
    dump = tmp_path / "urls.jsonl"
    assert run("dump", SHOP, "-o", dump).exit_code == 0
    reasons = skipped_rules(dump)
    assert reasons["U12"] == "needs robots.txt, which the dump lacks"
    assert reasons["F01"] == "needs outcomes of documents, which the dump lacks"
    assert "D01" not in reasons
    assert "F01" not in skipped_rules("-", stdin=run("dump", SHOP, "--report", "-", "-q").stdout)


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
    sitemap = urlset(f"{base}/1", (f"{base}/2", "gestern"))
    files(tmp_path / "public", {"robots.txt": robots(f"{base}/sitemap.xml"), "sitemap.xml": sitemap})
    words = [word.replace("$BASE", base) for word in next(each for each in documented() if "--known" in each)]
    (tmp_path / "known.jsonl").touch()
    first = run(*words)
    assert first.exit_code == 1
    assert commands(first)[0].startswith("::error file=public/sitemap.xml,line=3,title=D01 Unreadable date::")
    assert (tmp_path / "summary.md").read_text().startswith("## Sitemap audit of ")
    results = json.loads((tmp_path / "audit.sarif").read_text())["runs"][0]["results"]
    (result,) = (each for each in results if each["ruleId"] == "D01")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "public/sitemap.xml", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 3
    (tmp_path / "findings.jsonl").rename("known.jsonl")
    second = run(*words)
    assert (second.exit_code, commands(second)) == (0, [])


def test_junit_skips_what_the_options_leave_out(tmp_path: Path) -> None:
    """A rule that was not checked is no test that passed."""
    whole = skipped_rules(SHOP)
    filtered = skipped_rules(SHOP, "--include", "/products/")
    assert {*filtered} - {*whole} == {"D08", "L07"}
    assert filtered["X01"] == "needs the whole site, without filters"
    public = files(tmp_path / "public", {"sitemap.xml": urlset("https://www.example.com/1")})
    built = skipped_rules(public, "--base", "https://www.example.com")
    assert {*built} - {*whole} == {"F06", "F10", "D04"}
    assert built["F10"] == "needs headers, which files lack"


def test_junit_skips_rules_that_a_crawl_file_has_no_column_for(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.csv"
    crawl.write_text("url,status\n" + "".join(f"{url['loc']},200\n" for url in objects(run("dump", SHOP).stdout)))
    skipped = skipped_rules(SHOP, "--crawl", crawl)
    assert {code for code in skipped if code.startswith("C")} >= {"C03", "C04"}
    assert not {"C01", "C02", "C05", "C06"} & {*skipped}
    assert skipped["C04"] == f"needs a column of canonical, which {crawl} lacks"


def test_junit_keeps_to_the_thresholds_of_the_config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sitemap-reader.toml").write_text("[audit.thresholds]\nF01 = 5\n")
    assert {code for code, case in rules(BROKEN).items() if case.find("failure") is not None} == {"F05", "F07", "S01"}
