"""`audit`: formats, exit codes, messages, and outputs of interrupted runs."""

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import BROKEN, SHOP, SITES, refusal
from kit import Site, dump, objects, robots, run, urlset

from sitemap_reader.cli import audit
from sitemap_reader.model import CATALOGUE

AUDITED = SITES.parent / "audit"
A = "https://a.example"


def codes(stdout: str) -> list[str]:
    """Those of the overview."""
    overview = stdout.split("\n\n")[1]
    return [line.split()[1] for line in overview.splitlines() if not line.endswith(":")]


# --- the report ---


def test_the_broken_site_as_text() -> None:
    result = run("audit", BROKEN)
    assert result.exit_code == 1
    assert codes(result.stdout) == ["S01", "F01", "F05", "F07", "U04", "F10"]
    place = "  - https://broken.example/maps/mended.xml:4\n    "
    assert f"{place}a bare & was read as &amp;\n" in result.stdout
    assert result.stderr.splitlines()[0].startswith(
        "4 errors, 1 warning and 1 notice (27 places) in 146 URLs (10 of 156 may be ignored); "
    )
    reported = "partial: 3 documents could not be read, 1 document could be read in part only (exit 1)"
    assert result.stderr.splitlines()[1] == reported


@pytest.mark.parametrize(("document", "code", "reported"), [
    (urlset(f"{A}/1")[:-10] + b"<url>", 1, "1 document could be read in part only"),
    (urlset()[:-10] + b"<url>", 5, "1 document could not be read"),
])
def test_cut_document_is_not_reported_as_stopped(document: bytes, code: int, reported: str) -> None:
    dumped = run("parse", "-", "--report", "-", "-q", stdin=document).stdout
    result = run("audit", "-", stdin=dumped)
    assert result.exit_code == code
    assert f"; partial: {reported}\n" in result.stdout
    assert "stopped" not in result.stdout + result.stderr
    # The last outcome is not the only one.
    whole = run("parse", "-", "--report", "-", "-q", stdin=urlset("https://a.example/2")).stdout
    assert f"; partial: {reported}\n" in run("audit", "-", stdin=dumped + whole).stdout


def test_a_dump_on_stdin() -> None:
    dumped = run("dump", BROKEN, "--report", "-", "-q").stdout
    result = run("audit", "-", "--fail-on", "never", "--as-of", "2026-10-26", stdin=dumped)
    assert (result.exit_code, codes(result.stdout)) == (3, ["S01", "F01", "F05", "F07", "U04", "F10"])
    counts = "4 errors, 1 warning and 1 notice (27 places) in 146 URLs (10 of 156 may be ignored)"
    assert result.stdout.startswith(f"stdin: {counts}\n")


def test_quiet_keeps_the_report() -> None:
    result = run("audit", BROKEN, "-q")
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.startswith("broken.example: ")


def test_verbose_adds_a_line_for_each_document() -> None:
    result = run("audit", BROKEN, "-v")
    assert "done https://broken.example/maps/good.xml: urlset, 40 entries, 0." in result.stderr


# --- exit codes ---


@pytest.mark.parametrize(("arguments", "code"), [
    ((BROKEN, "--fail-on", "never"), 3),
    ((BROKEN, "--select", "F10"), 3),
    ((BROKEN, "--select", "S01"), 1),
    ((AUDITED / "D03",), 0),
    ((AUDITED / "D03", "--fail-on", "warning"), 1),
    ((AUDITED / "D03", "--fail-on", "warning", "--ignore", "D03"), 0),
    ((AUDITED / "D03", "--fail-on", "warning", "--ignore", "D,U"), 0),
    ((AUDITED / "F10", "--fail-on", "warning"), 0),
    ((AUDITED / "F10", "--fail-on", "notice"), 1),
    ((AUDITED / "U12",), 1),
    ((AUDITED / "U12", "--fail-on", "never"), 0),
])
def test_exit_codes(arguments: tuple[object, ...], code: int) -> None:
    assert run("audit", *map(str, arguments)).exit_code == code


def test_unreadable_site_reports_its_errors(tmp_path: Path) -> None:
    site = Site({"robots.txt": robots(f"{A}/gone.xml")}).write(tmp_path)
    result = run("audit", site)
    assert (result.exit_code, codes(result.stdout)) == (5, ["F01"])


def test_report_of_a_site_without_a_sitemap_says_so(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result = run("audit", Site().write(tmp_path / "site"), "-o", file)
    assert result.exit_code == 4
    assert "error: no sitemap found for " in result.stderr
    (found,) = json.loads(file.read_text())["findings"]
    assert found["code"] == "F19"
    assert f"error: {found['samples'][0]['message']}" == result.stderr.splitlines()[0]


# --- against files ---


def test_a_crawl_file(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.csv"
    crawl.write_text(f"url,status\n{A}/1,404\n{A}/3,200\n")
    site = Site({"sitemap.xml": urlset(f"{A}/1", f"{A}/2")}).write(tmp_path / "site")
    result = run("audit", site, "--crawl", crawl, "--select", "C")
    assert codes(result.stdout) == ["C01", "C05", "C06"]
    assert f"  - {crawl}:3\n    {A}/3 is indexable, and no sitemap lists it\n" in result.stdout


def test_a_state_that_sync_keeps(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    many = Site({"sitemap.xml": urlset(*(f"{A}/{number}" for number in range(50)))}).write(tmp_path / "many")
    few = Site({"sitemap.xml": urlset(f"{A}/1")}).write(tmp_path / "few")
    assert run("sync", many, "--state", state).exit_code == 0
    assert codes(run("audit", few, "--state", state, "--select", "X").stdout) == ["X01"]
    assert run("audit", many, "--state", state, "--select", "X").stdout.count("no problems found") == 1


# --- explanations ---


@pytest.mark.slow
def test_every_code_is_explained() -> None:
    for code, rule in CATALOGUE.items():
        result = run("audit", "--explain", code.lower())
        assert (result.exit_code, result.stderr) == (0, ""), code
        assert result.stdout.startswith(f"{rule.severity} {code}: {rule.title}\n")
        assert "\nHow to fix: " in result.stdout
        assert "\nSource: " in result.stdout.replace("Source:\n", "Source: ")
        assert max(len(line) for line in result.stdout.splitlines() if " " in line.strip()) <= 120


@pytest.mark.parametrize(("wanted", "meant"), [
    ("all", ""), ("F", "F"), ("f0", "F0"), ("F01", "F01"), ("D03,u06", ("D03", "U06")), ("ALL,F01", ""),
])
def test_families_and_all_codes_are_explained_sorted(wanted: str, meant: str | tuple[str, ...]) -> None:
    result = run("audit", "--explain", wanted)
    assert (result.exit_code, result.stderr) == (0, "")
    reported = re.findall(r"^(?:error|warning|notice) ([A-Z]\d\d): ", result.stdout, re.MULTILINE)
    assert reported == sorted(code for code in CATALOGUE if code.startswith(meant))


# --- usage errors ---


@pytest.mark.parametrize(("arguments", "message"), [
    ((), "give a TARGET or a dump, or --explain CODE, FAMILY or all"),
    (("--explain", "D99"), '"D99" is not a code; there are C01 to C15, D01 to D08, F01 to '),
    (("--explain", "F01,ZZ9"), '"ZZ9" is not a code; there are C01 to C15, D01 to D08, F01 to '),
    (("--explain", "u6"), '"U6" is not a code; did you mean U06? there are '),
    (("--explain", "i02"), "H01 to H03, I01, L01 to "),
    (("--explain", ""), '"" is not a code; there are '),
    ((SHOP, "--select", "ZZ"), "'ZZ' is neither a code nor the beginning of one"),
    ((SHOP, "--select", "hrflang"), "as does urls; did you mean hreflang?"),
    ((SHOP, "--ignore", "robots"), "as does urls; there are fetch, structure, urls, dates, lastmod, hints, hreflang, "),
    (("--explain", "vidoes"), '"VIDOES" is not a code; did you mean videos? there are '),
    ((SHOP, "--fail-on", "warnings"), "'never'; did you mean warning? see "),
    ((SHOP, "--as-of", "tomorrow"), "'tomorrow' is neither a date such as 2026-05-31 nor an age such as 7d"),
    ((SHOP, "--fail-on", "note"), "'note' is not one of 'error', 'warning', 'notice', 'info', 'never'"),
    ((SHOP, "--select", "C"), "C needs a crawl of the site (--crawl FILE), and responses of the pages (--check-"),
    (("-", "--select", "X"), "X needs an earlier crawl and dump (--baseline-crawl FILE, "),
    ((SHOP, "--check-urls", "0"), "'0' is neither a number of URLs, 1 or more, nor all"),
    ((SHOP, "--check-urls", "some"), "'some' is neither a number"),
    ((SHOP, "--check-urls", "-3"), "'-3' is neither a number"),
    ((SHOP, "--save-checks", "x.jsonl"), "--save-checks keeps what --check-urls finds: give --check-urls too"),
    ((SHOP, "--check-urls", "5", "--save-checks", "/nowhere/x"), "/nowhere/x cannot be written; name a file"),
    ((SHOP, "--check-urls", "5", "--select", "D"), "--check-urls finds C01, C02, C03, C04, C07, C08, C09, C10"),
    ((SHOP, "--check-urls", "5", "--seed", "x"), "'x' is not a valid integer"),
    ((f"{SHOP}.jsonl", "--check-urls", "5"), "--check-urls fetches the pages of a site, and"),
    ((SHOP, "-o", "x.tsv"), "x.tsv: .tsv is not a format of this command; give --format text|json|html|github|"),
    ((SHOP, "--include", "*.xml"), "--include"),
    (("-", "-"), "stdin can be read once"),
    ((SHOP, "--findings", "rows.txt"), "give a name that ends in .csv, .jsonl, .parquet"),
    ((SHOP, "--findings", "rows"), "give a name that ends in .csv, .jsonl, .parquet"),
    ((SHOP, "--findings", "-"), "give a name that ends in .csv, .jsonl, .parquet"),
    ((SHOP, "--crawl", "nowhere.csv"), "there is no file nowhere.csv; export one from the crawler"),
    ((SHOP, "--baseline", "nowhere.jsonl"), "there is no file nowhere.jsonl"),
    ((SHOP, "--baseline", "a", "--state", "b"), "--baseline and --state both give the earlier URLs: give one"),
    (("nowhere.jsonl",), "there is no file nowhere.jsonl"),
    (("corpus/nowhere/",), "there is no file or folder corpus/nowhere/"),
])
def test_mistakes_are_one_line_and_create_no_file(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = refusal("audit", *arguments)
    assert line.startswith("error: ")
    assert message in line
    assert list(tmp_path.iterdir()) == []


# --- every occurrence ---


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [*csv.DictReader(file)]


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Documents are read side by side."""
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


def test_formats_of_occurrences_have_the_same_rows(tmp_path: Path) -> None:
    files = {name: tmp_path / f"x.{name}" for name in ("csv", "jsonl", "parquet")}
    for file in files.values():
        assert run("audit", BROKEN, "-o", file).exit_code == 1
    lines = objects(files["jsonl"].read_text())
    assert {line.pop("type") for line in lines} == {"finding"}
    assert len(lines) == 20
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [{name: "" if value is None else str(value) for name, value in line.items()} for line in lines]
    assert in_order(parquet.read_table(files["parquet"]).to_pylist()) == in_order(lines)
    assert in_order(rows_of(files["csv"])) == in_order(texts)


def test_a_site_without_findings_gives_a_header(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert run("audit", SHOP, "--ignore", "F10", "-o", file).exit_code == 0
    assert file.read_text().startswith("code,severity,url,value,sitemap,line,title,message,")
    assert file.read_text().count("\n") == 1


def test_text_that_a_spreadsheet_would_run_is_guarded(tmp_path: Path) -> None:
    formula = {"loc": "https://e.com/", "problems": [{"code": "D01", "field": "lastmod", "raw": "=1+1"}]}
    dumped, values = dump(tmp_path / "urls.jsonl", formula), []
    for option in ([], ["--no-formula-guard"]):
        run("audit", dumped, "--format", "csv", "-o", tmp_path / "x.csv", *option)
        values += [row["value"] for row in rows_of(tmp_path / "x.csv") if row["code"] == "D01"]
    assert values == ["'=1+1", "=1+1"]


def test_only_new_findings_fail_where_some_are_known(tmp_path: Path) -> None:
    known = tmp_path / "known.jsonl"
    assert run("audit", BROKEN, "--findings", known).exit_code == 1
    again = run("audit", BROKEN, "--known", known)
    assert again.exit_code == 3
    assert "4 errors (0 new), 1 warning (0 new)" in again.stdout
    kept = [line for line in known.read_text().splitlines(keepends=True) if '"F05"' not in line]
    known.write_text("".join(kept))
    assert run("audit", BROKEN, "--known", known, "--fail-on", "error").exit_code == 1


def test_rows_are_in_the_order_of_the_report(tmp_path: Path) -> None:
    file = tmp_path / "found.csv"
    result = run("audit", BROKEN, "--findings", file)
    order = dict.fromkeys(row["code"] for row in rows_of(file))
    assert [*order] == codes(result.stdout) == ["S01", "F01", "F05", "F07", "U04", "F10"]


@pytest.mark.slow
def test_a_page_has_a_file_beside_it_only_beyond_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, beside = tmp_path / "report.html", tmp_path / "report.findings.jsonl"
    monkeypatch.setattr(audit, "MAX_PAGE_ROWS", 20)
    run("audit", BROKEN, "-o", page)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert "places; all are in" not in page.read_text()
    monkeypatch.setattr(audit, "MAX_PAGE_ROWS", 19)
    run("audit", BROKEN, "-o", page)
    assert len(beside.read_text().splitlines()) == 20
    assert 'This page has 26 of 27 places; all are in <a href="report.findings.jsonl">' in page.read_text()
    own = tmp_path / "own.csv"
    beside.unlink()
    run("audit", BROKEN, "-o", page, "--findings", own)
    assert len(rows_of(own)) == 20
    assert 'all are in <a href="own.csv">' in page.read_text()
    assert not beside.exists()


# --- filters ---


def test_filters_are_options_and_stand_in_a_note() -> None:
    result = run("audit", BROKEN, "--include", "/list/", "--exclude", "/list/1", "-q")
    text = " ".join(result.stdout.split())
    assert " in 19 URLs 19 URLs; 8 sitemaps; " in text
    assert " note: filtered by include /list/; exclude /list/1: only what matches was checked" in text
    assert run("audit", SHOP, "--follow", "no such sitemap", "-q").exit_code == 4


def test_dump_takes_include_and_refuses_follow(tmp_path: Path) -> None:
    file = tmp_path / "dump.jsonl"
    run("dump", BROKEN, "-q", "-o", file)
    result = run("audit", file, "--include", "/list/", "-q")
    assert " in 30 URLs" in " ".join(result.stdout.split())
    line = refusal("audit", file, "--no-follow", "x")
    assert "--no-follow applies to sites only" in line
    assert "give --include or --exclude, for its URLs" in line


def test_no_match_says_so() -> None:
    result = run("audit", SHOP, "--include", "no such page", "-q")
    assert result.exit_code == 4
    assert result.stderr == f"error: no URL matches the filters in {SHOP}\n"
