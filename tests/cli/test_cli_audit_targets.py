"""`audit` of several targets: a total, then a part for each."""

import json
import re
import shutil
from pathlib import Path

import pytest
from cli_runs import BROKEN, SHOP, refusal
from kit import objects, run


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """A dump of the shop: without outcomes, its audit finds other problems."""
    file = tmp_path / "shop.jsonl"
    assert run("dump", SHOP, "-q", "-o", file).exit_code == 0
    return str(file)


def test_text_has_the_total_then_each_report(dump: str) -> None:
    result = run("audit", SHOP, BROKEN, dump)
    assert result.exit_code == 1
    head, *_ = result.stdout.split("\n\n\n")
    assert head.splitlines() == [
        "4 errors, 2 warnings and 2 notices (67 places) in 1,426 URLs (10 of 1,436 may be ignored) of 3 targets",
        "  shop.example: 0 errors, 0 warnings and 1 notice (10 places) in 640 URLs",
        "  broken.example: 4 errors, 1 warning and 1 notice (27 places) in 146 URLs (10 of 156 may be ignored)",
        f"  {dump}: 0 errors, 1 warning and 0 notices (30 places) in 640 URLs",
    ]
    parts = result.stdout.split("\n\n\n")[1:]
    assert [part.split(":")[0] for part in parts] == ["shop.example", "broken.example", dump]
    assert parts[2].splitlines()[3:] == run("audit", dump, "-q").stdout.splitlines()[3:]
    summary, partial = result.stderr.splitlines()
    counts = "4 errors, 2 warnings and 2 notices (67 places) in 1,426 URLs (10 of 1,436 may be ignored)"
    assert summary.startswith(f"{counts} of 3 targets; ")
    assert partial == (
        f"partial: {BROKEN}: 3 documents could not be read, 1 document could be read in part only (exit 1)"
    )


def test_recordings_of_one_host_are_titled_by_their_targets(tmp_path: Path) -> None:
    copy = str(shutil.copytree(SHOP, tmp_path / "tuesday"))
    lines = run("audit", SHOP, copy).stdout.splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:3]] == [SHOP, copy]


@pytest.mark.slow
def test_json_has_an_object_for_each_target(dump: str) -> None:
    form = json.loads(run("audit", SHOP, BROKEN, dump, "--format", "json", "-q").stdout)
    assert form.keys() == {"version", "problems", "targets"}
    assert form["problems"] == {"error": 4, "warning": 2, "notice": 2}
    alone = json.loads(run("audit", BROKEN, "--format", "json", "-q").stdout)
    assert form["targets"][1].keys() == alone.keys()
    both = (form["targets"][1], alone)
    found, expected = ([(each["code"], each["count"]) for each in one["findings"]] for one in both)
    assert found == expected
    assert [each["target"] for each in form["targets"]] == [SHOP, BROKEN, dump]


def test_page_has_a_contents_list_and_each_report(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert run("audit", SHOP, BROKEN, "-q", "-o", file).exit_code == 1
    page = file.read_text("utf-8")
    links, ids = re.findall(r' href="#(.*?)"', page), re.findall(r' id="(.*?)"', page)
    assert {*links} <= {*ids}
    assert len({*ids}) == len(ids)
    assert links[:2] == ["site-1-audit", "site-2-audit"]
    assert page.count('<article class="finding') == 7
    rows = json.loads(re.search(r'id="occurrences">(.*?)</script>', page)[1])["rows"]
    assert {name: len(found) for name, found in rows.items()}["site-2-U04"] == 10
    assert "https://broken.example/maps/gone.xml" in page
    assert page.count("<!DOCTYPE html>") == 1
    assert "4 errors, 1 warning and 2 notices (37 places) in 786 URLs (10 of 796 may be ignored) of 2 targets" in page


@pytest.mark.slow
def test_most_severe_exit_code_wins_and_the_others_are_reported(tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    result = run("audit", SHOP, missing, "--fail-on", "never")
    assert result.exit_code == 2
    assert "of 1 target" in result.stdout.splitlines()[0]
    assert f"there is no file {missing}" in result.stderr
    assert run("audit", SHOP, SHOP).exit_code == 0
    assert run("audit", SHOP, BROKEN, "--fail-on", "never").exit_code == 3


def test_a_target_that_fails_has_no_rows(tmp_path: Path) -> None:
    bad, rows = tmp_path / "bad.jsonl", tmp_path / "rows.csv"
    listing = {"type": "url", "loc": "http://localhost/", "sitemap": "https://a.example/sitemap.xml"}
    bad.write_text(f"{json.dumps(listing)}\nno JSON\n")
    assert run("audit", bad, BROKEN, "-q", "--findings", rows, "-o", tmp_path / "page.html").exit_code == 2
    assert len(rows.read_text().splitlines()) == 1 + 20
    assert "http://localhost/" not in rows.read_text()


def test_rows_have_the_occurrences_of_all_targets() -> None:
    lines = run("audit", SHOP, BROKEN, "--format", "jsonl", "-q").stdout.splitlines()
    assert len(lines) == 10 + 20


def test_no_target_with_a_report_writes_none(tmp_path: Path) -> None:
    result = run("audit", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-o", tmp_path / "report.json")
    assert result.exit_code == 2
    assert not (tmp_path / "report.json").exists()


def test_rows_of_several_targets_name_them(tmp_path: Path) -> None:
    files = {format: tmp_path / f"rows.{format}" for format in ("csv", "jsonl")}
    for file in files.values():
        run("audit", BROKEN, SHOP, "--findings", file, "-q")
    assert {row["site"] for row in objects(files["jsonl"].read_text())} == {str(BROKEN), str(SHOP)}
    assert files["csv"].read_text().splitlines()[0].endswith(",new,site")
    run("audit", SHOP, "-o", files["csv"])
    assert files["csv"].read_text().splitlines()[0].endswith(",new")


@pytest.mark.parametrize("format", ["github", "sarif", "junit", "markdown"])
def test_formats_of_ci_take_one_target(format: str) -> None:
    line = refusal("audit", BROKEN, SHOP, "--format", format)
    assert line == f"error: {format} is a report of one TARGET: give it one, and run an audit for each"
