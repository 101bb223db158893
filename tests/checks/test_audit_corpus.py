"""Every site of corpus/audit: its findings are the expected ones, among them the code of its name."""

import gzip
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from audit_cases import AUDITED, CLEAN, REPORTED, SAMPLES, Case, cases

CASES = cases()
ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
BY_SCRIPT = ("I01", "N01")
# Code -> why its findings have no line.
OF_NO_LINE = {
    "F02": "it is of the whole sitemap",
    "F09": "there is no robots.txt, or no line in it",
    "F14": "it was not read",
    "F10": "headers are no part of the document",
    "F19": "there is no document",
    "S06": "there is no entry in which it is",
    "D03": "it is of all entries together",
    "D04": "it is of all entries together",
    "D07": "it is of all entries together",
    "H03": "it is of all entries together",
    "N01": "it is of all entries together",
    "X02": "the sitemap is gone",
}

# Name -> the findings that are expected.
EXPECTED = {
    case.name: [json.loads(line) for line in case.expectation.read_text("utf-8").splitlines()] for case in CASES
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit_is_complete_and_finds_what_is_expected(case: Case) -> None:
    """To change expectations run `scripts/write_audit_expectations` and read what it prints."""
    report = case.report()
    assert report.complete or case.name == "F19"
    assert case.lines(report).decode() == case.expectation.read_text("utf-8")
    assert case.name != CLEAN or report.notes == ()


def test_site_has_the_finding_of_its_name() -> None:
    for name, findings in EXPECTED.items():
        found = [finding["code"] for finding in findings]
        assert name in found or (name, found) == (CLEAN, [])


def test_every_sample_has_a_place_and_none_is_omitted() -> None:
    for name, findings in EXPECTED.items():
        for finding in findings:
            assert 0 < len(finding["samples"]) <= finding["count"], name
            assert len(finding["samples"]) < SAMPLES, name
            for sample in finding["samples"]:
                assert sample["sitemap"], (name, sample)
                assert (sample["line"] is None) == (finding["code"] in OF_NO_LINE), (name, sample)


def test_every_code_of_the_audit_has_its_site() -> None:
    assert {case.name for case in CASES} == {*REPORTED, CLEAN}
    assert {path.stem for path in AUDITED.glob("*.jsonl")} == {case.name for case in CASES}
    assert set(OF_NO_LINE) <= set(REPORTED)


@pytest.mark.slow
def test_script_rewrites_no_expectation_that_is_met() -> None:
    result = subprocess.run(
        [sys.executable, SCRIPTS / "write_audit_expectations", CLEAN, "D02"], capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("", "2 sites, 0 expectations written\n")


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng packs the same text to other bytes")
def test_script_writes_the_long_sites_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPTS / "make_audit_sites", tmp_path], check=True)
    assert files(tmp_path) == {name: body for name, body in files(AUDITED).items() if name.startswith(BY_SCRIPT)}


def files(folder: Path) -> dict[str, bytes]:
    """The contents of all files in the sites of a folder, by path; unpacked, as zlibs pack differently."""
    bodies = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/**/*") if path.is_file()}
    return {name: gzip.decompress(body) if name.endswith(".gz") else body for name, body in bodies.items()}
