"""Every site of corpus/audit: it has what its name says, and nothing that is not expected."""

from __future__ import annotations

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
# Code -> why what it says has no line.
OF_NO_LINE = {
    "F10": "headers are no part of the document",
    "S06": "there is no entry in which it is",
    "D03": "it is of all entries together",
    "D04": "it is of all entries together",
    "D07": "it is of all entries together",
    "H03": "it is of all entries together",
    "N01": "it is of all entries together",
    "X02": "the sitemap is gone",
}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_the_audit_finds_what_is_expected(case: Case) -> None:
    """Where it is to be something else: `scripts/bless_audit`, and read what it prints."""
    assert case.lines().decode() == case.expectation.read_text("utf-8")


@every_case
def test_a_site_has_what_it_is_named_for(case: Case) -> None:
    report = case.report()
    found = [finding.code for finding in report.findings]
    if case.name == CLEAN:
        assert (found, report.notes) == ([], ())
    else:
        assert case.name in found


@every_case
def test_every_sample_says_where(case: Case) -> None:
    for finding in case.report().findings:
        assert 0 < len(finding.samples) <= finding.count
        for sample in finding.samples:
            assert sample.sitemap, sample
            assert (sample.line is None) == (sample.code in OF_NO_LINE), sample


@every_case
def test_samples_show_all_that_there_is(case: Case) -> None:
    assert all(len(finding.samples) < SAMPLES for finding in case.report().findings)


def test_every_code_of_the_audit_has_its_site() -> None:
    assert {case.name for case in CASES} == {*REPORTED, CLEAN}
    assert {path.stem for path in AUDITED.glob("*.jsonl")} == {case.name for case in CASES}
    assert set(OF_NO_LINE) <= set(REPORTED)


def test_every_site_was_read_whole() -> None:
    assert all(case.report().complete for case in CASES)


def test_blessing_changes_nothing_that_is_right() -> None:
    result = subprocess.run(
        [sys.executable, SCRIPTS / "bless_audit", CLEAN, "D02"], capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("", "2 sites, 0 expectations written\n")


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng packs the same text to other bytes")
def test_script_writes_the_long_sites_again_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPTS / "make_audit_sites", tmp_path], check=True)
    assert files(tmp_path) == {name: body for name, body in files(AUDITED).items() if name.startswith(BY_SCRIPT)}


def files(folder: Path) -> dict[str, bytes]:
    """Everything in the sites of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/**/*") if path.is_file()}
