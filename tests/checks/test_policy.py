"""The policy of a config file: severities, ignores and thresholds, and what a report states of them."""

import json
import time
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from audit_cases import AUDITED

import sitemap_reader as sr
from sitemap_reader.checks import (
    MAX_BYTES,
    MAX_NESTING,
    Findings,
    Ignore,
    Policy,
    Threshold,
    make_policy,
    read_config_file,
    read_policy,
)
from sitemap_reader.frontier import make_patterns
from sitemap_reader.model import report

BROKEN = AUDITED.parent / "sites" / "broken"
DAY = date(2026, 11, 27)


def file_of(folder: Path, text: str, name: str = "sitemap-reader.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def policy_of(folder: Path, text: str) -> Policy:
    return read_policy(file_of(folder, text), today=DAY)


def fault(folder: Path, text: str) -> str:
    """The error, without the folder."""
    with pytest.raises(sr.UsageError) as caught:
        policy_of(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


def ignore(*codes: str, url: str | None = None, sitemap: str | None = None) -> Ignore:
    return Ignore(codes, "why", make_patterns("url", url), make_patterns("sitemap", sitemap))


# --- severities ---


def test_the_longest_beginning_of_a_code_counts() -> None:
    policy = Policy(severities={"L": "notice", "L03": "error", "L0": "warning"})
    assert [policy.severity_of(code, "error") for code in ("L03", "L02", "D01")] == ["error", "warning", "error"]


def test_notice_is_a_severity_of_its_name(tmp_path: Path) -> None:
    text = '[audit.severity]\nl = "notice"\nD01 = "info"\nF10 = "off"\nF03 = "warning"\nH = "error"\n'
    policy = policy_of(tmp_path, text)
    assert dict(policy.severities) == {"L": "notice", "D01": "notice", "F10": None, "F03": "warning", "H": "error"}


def test_a_code_that_is_off_is_not_checked() -> None:
    findings = Findings(policy=Policy(severities={"U": None, "U03": "error"}))
    assert not findings.includes(["U01"])
    assert findings.includes(["U03"])
    findings.report("U01", "message", sitemap="https://a.example/s.xml")
    findings.add(report("U01", "message"))
    assert findings.ranked() == ()


def test_findings_and_samples_have_the_severity_of_the_policy() -> None:
    findings = Findings(policy=Policy(severities={"U": "notice"}))
    findings.report("U01", "message", sitemap=None)
    findings.add(report("U01", "message"))
    (finding,) = findings.ranked()
    assert (finding.severity, finding.count) == ("notice", 2)
    assert [sample.severity for sample in finding.samples] == ["notice", "notice"]


# --- ignores ---

PAGE, SITEMAP = "https://a.example/old/1", "https://a.example/old/sitemap.xml"


@pytest.mark.parametrize(("rule", "is_ignored"), [
    (ignore("U01"), True),
    (ignore("U"), True),
    (ignore("D", "U01"), True),
    (ignore("U02"), False),
    (ignore(url="/old/1$"), True),
    (ignore(url="sitemap"), False),
    (ignore(sitemap="/sitemap"), True),
    (ignore(sitemap="/1$"), False),
    (ignore("U01", url="/1$", sitemap="/other"), False),
    (ignore("U01", url="/1$", sitemap="/old/"), True),
])
def test_an_ignore_needs_all_that_it_states(rule: Ignore, is_ignored: bool) -> None:
    found = Policy(ignores=(rule,)).ignore_of("U01", PAGE, SITEMAP)
    assert found == (rule if is_ignored else None)


def test_the_url_of_a_document_counts_if_no_url_has_the_problem() -> None:
    policy = Policy(ignores=(ignore(url="sitemap"),))
    assert policy.ignore_of("F01", None, SITEMAP)
    assert not policy.ignore_of("F01", None, None)


def test_escapes_of_a_url_are_decoded() -> None:
    assert Policy(ignores=(ignore(url="/é"),)).ignore_of("U01", "https://a.example/%C3%A9", None)


def test_ignored_problems_are_counted_and_not_found() -> None:
    first, second = ignore("U01", url="/old/"), ignore("U")
    findings = Findings(policy=Policy(ignores=(first, second)))
    findings.report("U01", "message", sitemap=SITEMAP, url=PAGE, count=3)
    findings.add(report("U01", "message", url="https://a.example/new"))
    findings.add(report("D01", "message", url=PAGE))
    assert findings.ignored == {first: 3, second: 1}
    assert [finding.code for finding in findings.ranked()] == ["D01"]


def test_problems_are_reported_one_by_one_only_if_urls_decide() -> None:
    assert Findings(policy=Policy(ignores=(ignore("U01", url="x"),))).needs_each
    assert not Findings(policy=Policy(ignores=(ignore("U01"), ignore(sitemap="x")))).needs_each


def test_merging_applies_the_policy_once() -> None:
    rule = ignore("U04", url="/old/")
    findings = Findings(policy=Policy(severities={"U04": "error"}, ignores=(rule,)))
    other = findings.empty_copy()
    other.add(report("U04", "message", sitemap=SITEMAP, url="https://a.example/new"))
    for _ in range(2):
        other.add(report("U04", "message", sitemap=SITEMAP, url=PAGE))
    findings.merge(other)
    assert findings.ignored[rule] == 2
    (finding,) = findings.ranked()
    assert (finding.severity, finding.count) == ("error", 1)


@pytest.mark.parametrize(("expires", "applies"), [("2026-11-26", False), ("2026-11-27", True), ('"2026-11-28"', True)])
def test_an_ignore_applies_until_its_day_ends(tmp_path: Path, expires: str, applies: bool) -> None:
    policy = policy_of(tmp_path, f'[[audit.ignore]]\ncode = "U"\nreason = "why"\nexpires = {expires}\n')
    assert (len(policy.ignores), len(policy.expired)) == ((1, 0) if applies else (0, 1))
    assert bool(policy.ignore_of("U01", None, None)) is applies


def test_expired_ignores_have_a_place(tmp_path: Path) -> None:
    one, other = (f'[[audit.ignore]]\ncode = "{code}"\nreason = "why"\n' for code in "UD")
    text = f"{one}{other}expires = 2026-01-01\n"
    file = read_config_file(file_of(tmp_path, text))
    _, faults, (old,) = make_policy(file, today=DAY)
    assert (faults, file.line(old.keys)) == ([], 7)


# --- thresholds ---


@pytest.mark.parametrize(("threshold", "count", "urls", "allowed"), [
    (Threshold(10), 10, 0, True),
    (Threshold(10), 11, 10_000, False),
    (Threshold(0), 0, 5, True),
    (Threshold(percent=Fraction(1)), 10, 1_000, True),
    (Threshold(percent=Fraction(1)), 10, 999, False),
    (Threshold(percent=Fraction("0.57")), 57, 10_000, True),
    (Threshold(percent=Fraction("0.57")), 58, 10_000, False),
    (Threshold(percent=Fraction(1)), 1, 0, False),
])
def test_a_threshold_allows_up_to_its_number(threshold: Threshold, count: int, urls: int, allowed: bool) -> None:
    assert threshold.allows(count, urls) is allowed


@pytest.mark.parametrize(("allowed", "failing"), [(1, ["F01"]), (2, [])])
def test_a_finding_fails_above_its_threshold(allowed: int, failing: list[str]) -> None:
    policy = Policy(thresholds={"F": Threshold(9), "F01": Threshold(allowed)})
    report = sr.audit(BROKEN, policy=policy, select="F01,F05")
    assert [finding.code for finding in report.findings] == ["F01", "F05"]
    assert [finding.code for finding in report.failing(["error"])] == failing


@pytest.mark.parametrize(("limit", "fails"), [(8, True), (9, False)])
def test_a_threshold_counts_places(limit: int, fails: bool) -> None:
    report = sr.audit(BROKEN, policy=Policy(thresholds={"S01": Threshold(limit)}), select="S01")
    assert [finding.count for finding in report.findings] == [9]
    assert bool(report.failing(["error"])) == fails


def test_without_a_policy_all_findings_of_the_severities_fail() -> None:
    report = sr.audit(BROKEN)
    assert {finding.code for finding in report.failing(["notice"])} == {"F10"}
    assert report.failing([]) == ()


# --- the report ---


@pytest.mark.slow
def test_the_report_states_what_the_policy_did(tmp_path: Path) -> None:
    text = """\
[audit]
format = "html"
[audit.severity]
F10 = "off"
U04 = "notice"
[audit.thresholds]
F01 = 2
S = "0.5%"
[[audit.ignore]]
code = ["S01", "F07"]
sitemap = "/maps/mended"
reason = "old shop"
expires = 2999-01-01
[[audit.ignore]]
url = "/never/"
reason = "moved"
expires = 2020-01-01
"""
    file = file_of(tmp_path, text)
    report = sr.audit(BROKEN, policy=file)
    assert report.notes == (
        f"settings of {file}: F10 is off, U04 is a notice, up to 2 of F01 do not fail, up to 0.5% of S do not fail",
        "ignored 8 occurrences of S01, F07 in sitemaps matching /maps/mended: old shop (until 2999-01-01)",
        "no longer ignored, as it expired on 2020-01-01: all codes in URLs matching /never/: moved",
    )
    severities = {finding.code: finding.severity for finding in report.findings}
    assert severities == {"F01": "error", "F05": "error", "F07": "error", "U04": "notice"}
    assert json.loads(report.to_json())["policy"] == {
        "file": str(file),
        "severities": {"F10": "off", "U04": "notice"},
        "thresholds": {"F01": 2, "S": "0.5%"},
        "ignored": [
            {
                "codes": ["S01", "F07"], "url": [], "sitemap": ["/maps/mended"], "reason": "old shop",
                "expires": "2999-01-01", "count": 8,
            }
        ],
        "expired": [{"codes": [], "url": ["/never/"], "sitemap": [], "reason": "moved", "expires": "2020-01-01"}],
    }  # fmt: skip
    assert "old shop" in report.to_html()


def test_ignored_problems_are_no_occurrences_and_not_in_the_tree(tmp_path: Path) -> None:
    file = file_of(tmp_path, '[[audit.ignore]]\nsitemap = "mended"\nreason = "old"\n')
    rows: list[str | None] = []
    report = sr.audit(BROKEN, policy=file, on_occurrence=lambda row: rows.append(row.sitemap))
    assert rows
    assert not [row for row in rows if row and "mended" in row]
    assert [row.problems for row in report.sitemaps if "mended" in row.url] == [0]


def test_a_policy_without_a_file_needs_no_file() -> None:
    policy = Policy(severities={"F10": "error"})
    report = sr.audit(BROKEN, policy=policy, select="F10")
    assert report.notes == ("settings of the policy: F10 is an error",)
    assert read_policy(policy) is policy
    assert sr.audit(BROKEN, policy=Policy(), select="F10").notes == ()


def test_families_have_names_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[audit.severity]\nurls = 'off'\n[[audit.ignore]]\ncode = ['dates']\nreason = 'known'\n")
    codes = {finding.code[0] for finding in sr.audit(BROKEN, policy=file).findings}
    assert codes.isdisjoint({"U", "D"})
    assert "S" in codes


# --- faults ---

IGNORE = "[[audit.ignore]]\n"


@pytest.mark.parametrize(("text", "message"), [
    ('[audit.severity]\nD99 = "off"\n', "2: 'D99' is neither a code nor the beginning of one"),
    ('[audit.severity]\nD01 = "fatal"\n', "2: 'fatal' is no severity; give error, warning, notice or off"),
    ("[audit.severity]\n\nD01 = true\n", "3: True is no severity"),
    ("[audit]\nseverity = 1\n", "2: this is a table: [audit.severity]"),
    ("audit = 1\n", "1: this is a table: [audit]"),
    ("[audit.thresholds]\nD01 = -1\n", "2: -1 is no threshold; give a number of problems, or a share"),
    ("[audit.thresholds]\nD01 = true\n", "2: True is no threshold"),
    ("[audit.thresholds]\nD01 = 0.5\n", "2: 0.5 is no threshold"),
    ('[audit.thresholds]\nD01 = "1"\n', "2: '1' is no threshold"),
    (f'{IGNORE}code = "D01"\n', "1: it has no reason"),
    (f'{IGNORE}code = "D01"\nreason = " "\n', "3: reason is a text"),
    (f'{IGNORE}reason = "why"\n', "1: it has neither code nor url nor sitemap"),
    (f'{IGNORE}reason = "why"\ncode = []\n', "3: there is no code in it"),
    (f'{IGNORE}reason = "why"\ncode = 1\n', "3: codes are text or a list of texts, not 1"),
    (f'{IGNORE}reason = "why"\nurl = "*.pdf"\n', r"3: url: '*.pdf' is no regular expression"),
    (f'{IGNORE}reason = "why"\nurl = []\n', "3: url is a regular expression, or a list of them"),
    (f'{IGNORE}reason = "why"\ncode = "D"\nexpires = "soon"\n', "4: 'soon' is no date; give the last day"),
    (f'{IGNORE}reason = "why"\ncodes = "D"\n', "3: 'codes' is no key of an ignore; did you mean code?"),
    (f'{IGNORE}reason = "why"\nx = "D"\n', "3: 'x' is no key of an ignore; it has code, url, sitemap, reason, exp"),
    (f'{IGNORE}reason = "why"\ncode = "D"\n{IGNORE}reason = "why"\n\ncode = "Q"\n', "7: 'Q' is neither a code"),
    ('[audit]\nignore = [{code = "D", reason = "why"},\n "U"]\n', "2: this is a table: [[audit.ignore]]"),
    ("[audit\n", "1: no TOML: "),
    ("a = 1\nb = \n", "2: no TOML: Invalid value"),
    ("a = 1\na = 2\n", "2: no TOML: "),
])
def test_a_fault_has_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert fault(tmp_path, text).startswith(f"sitemap-reader.toml:{message}")


def test_codes_of_the_option_are_no_ignores(tmp_path: Path) -> None:
    assert policy_of(tmp_path, '[audit]\nignore = ["D", "Q"]\n').ignores == ()


def test_a_pyproject_has_its_own_table(tmp_path: Path) -> None:
    text = "[project]\nname = 'x'\n[tool.sitemap-reader.audit.severity]\nD01 = 'off'\nD99 = 'off'\n"
    with pytest.raises(sr.UsageError, match=r"pyproject\.toml:5: 'D99'"):
        read_policy(file_of(tmp_path, text, "pyproject.toml"))
    with pytest.raises(sr.UsageError, match=r"pyproject\.toml has no table \[tool\.sitemap-reader\]"):
        read_policy(file_of(tmp_path, "[tool.other]\n", "pyproject.toml"))


def test_files_that_are_no_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match=r"cannot read .*nosuch\.toml: No such file"):
        read_policy(tmp_path / "nosuch.toml")
    with pytest.raises(sr.UsageError, match=r"cannot read .*: Is a directory"):
        read_policy(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"a = 1\nb = '\xe9'\n")
    with pytest.raises(sr.UsageError, match=r"latin\.toml:2: not UTF-8"):
        read_policy(tmp_path / "latin.toml")
    with pytest.raises(sr.UsageError, match=r"policy is a file, such as sitemap-reader\.toml, or a Policy, not 1"):
        sr.audit(BROKEN, policy=1)  # type: ignore[arg-type]


DEEP = {
    "lists": ("x = ", "[", "]"), "tables": ("x = ", "{a = ", "1}"), "a key": ("x", ".a", ""),
    "a header": ("[x", ".'a'", ""), "a list without an end": ("x = ", "[", ""),
}


@pytest.mark.parametrize("text", DEEP)
@pytest.mark.parametrize("levels", [MAX_NESTING + 1, 100_000])
def test_what_is_nested_too_deeply_has_its_line(tmp_path: Path, text: str, levels: int) -> None:
    begin, each, end = DEEP[text]
    assert fault(tmp_path, f"a = 1\n\n{begin}{each * levels}{end * levels}\n") == (
        "sitemap-reader.toml:3: nested too deeply: over 20 lists or tables, or parts of a key"
    )


def test_what_is_nested_up_to_the_limit_is_read(tmp_path: Path) -> None:
    text = f"a = {'[' * MAX_NESTING}{']' * MAX_NESTING}\nb{'.c' * MAX_NESTING} = '....................... [[[['\n"
    assert [*read_config_file(file_of(tmp_path, text)).settings] == ["a", "b"]


def test_the_search_for_a_line_is_linear(tmp_path: Path) -> None:
    """Each line of the list ends as a whole value does."""

    def seconds(lines: int) -> float:
        """The least of five searches: other programs only add to it."""
        took = []
        for _ in range(5):
            file = read_config_file(file_of(tmp_path, "x = [\n" + '"a[]]",\n' * lines + "]\nlast = 1\n"))
            began = time.process_time()
            assert file.line(("last",)) == lines + 3
            took.append(time.process_time() - began)
        return min(took)

    assert seconds(4_000) < 24 * seconds(500)  # 8 times the lines; 64 if it were quadratic


@pytest.mark.parametrize(("size", "is_read"), [(MAX_BYTES, True), (MAX_BYTES + 1, False)])
def test_a_file_is_read_up_to_its_limit(tmp_path: Path, size: int, is_read: bool) -> None:
    file = tmp_path / "sitemap-reader.toml"
    file.write_bytes(b"#".ljust(size, b"x"))
    if is_read:
        assert read_config_file(file).settings == {}
    else:
        with pytest.raises(sr.UsageError, match="has over 1 MiB"):
            read_config_file(file)


LINES = '''\
top = [
  1,
  { a = "]" }, # ]
]

[audit]
"x.y" = """
[no.table]
"""
samples = 1
[audit.severity]
[[audit.ignore]]
code = "U"
[[audit.ignore]]
code = """
U\\
"""
[audit.ignore.sub]
z = { a = 1 }
[dump]
a.b = 1\r
c = 2
'''


@pytest.mark.parametrize(("keys", "line"), [
    (("top",), 1),
    (("top", 1, "a"), 1),
    (("audit",), 6),
    (("audit", "x.y"), 7),
    (("audit", "samples"), 10),
    (("audit", "severity"), 11),
    (("audit", "ignore", 0, "code"), 13),
    (("audit", "ignore", 1), 14),
    (("audit", "ignore", 1, "code"), 15),
    (("audit", "ignore", 1, "sub", "z", "a"), 19),
    (("dump", "a", "b"), 21),
    (("dump", "c"), 22),
    (("audit", "ignore", 1, "absent"), 14),
    (("absent",), 1),
])
def test_each_key_has_its_line(tmp_path: Path, keys: tuple[str | int, ...], line: int) -> None:
    file = tmp_path / "sitemap-reader.toml"
    file.write_bytes(LINES.encode())
    assert read_config_file(file).line(keys) == line
