"""S01 by kind of damage: every message has one, and findings count them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import sitemap_reader as sr
from sitemap_reader.checks.findings import Findings
from sitemap_reader.model.problems import report
from sitemap_reader.parser.xml.repair_log import DAMAGE_KINDS, damage_kind

CORPUS = Path(__file__).parents[2] / "corpus"
HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
RAW = "raw & read as &amp;"


def corpus_messages() -> list[str]:
    """The messages of S01 in all expectations of the corpus."""
    lines = (line for file in CORPUS.glob("**/*.jsonl") for line in file.read_text("utf-8").splitlines())
    items = (json.loads(line) for line in lines if '"S01"' in line)
    return [item["message"] for item in items if item.get("type") == "problem" and item["code"] == "S01"]


def test_every_message_of_the_corpus_has_a_kind_and_every_kind_a_message() -> None:
    kinds = Counter(map(damage_kind, corpus_messages()))
    assert kinds.keys() == DAMAGE_KINDS.keys() - {"further repairs, not reported each"}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("a bare & was read as &amp;", RAW),
        ("&#39 was read as &amp;#39", RAW),
        ("&#0;, a control character, was kept", "control character kept"),
        ("3 control characters were kept", "control character kept"),
        ("< was read as &lt;", "raw < or > read as text"),
        ("</ was read as &lt;/; more may be lost", "raw < or > read as text"),
        ("]]> was read as ]]&gt;", "raw < or > read as text"),
        ('<url id="&gt;"> was read as <url id="&gt;">', "malformed tag read as the intended one"),
        ("<!CDATA[ was read as <![CDATA[", "damaged CDATA section"),
        ("</stock> ends nothing: it was skipped; more may be lost", "stray tag skipped"),
        ("<!> is not at the start: it was skipped", "declaration or instruction skipped"),
        ("<!- x> is no comment: it was skipped", "malformed comment skipped"),
        ("a CDATA section in <loc> holds markup: lost up to the next entry", "entry lost"),
        ("the URL of <urlset x=> is not certain, before the root element", "entry lost"),
        ("a hole of control characters in a line: it is lost, and others may be", "entry lost"),
        ("the beginning of the document is lost: it was read from its first entry on", "document cut off"),
        ("a comment never ends: what is behind its beginning is lost", "document cut off"),
        ("9 more places were repaired; raise max_entry_problems to see each", "further repairs, not reported each"),
        ("something new", "other damage"),
    ],
)
def test_kind_of_a_message(message: str, kind: str) -> None:
    assert damage_kind(message) == kind


def found(*problems: tuple[str, str], samples: int = 5) -> sr.Finding:
    """The finding of S01 problems: (sitemap, message)."""
    findings = Findings(samples=samples)
    for sitemap, message in problems:
        findings.add(report("S01", message, sitemap=sitemap, severity="warning"))
    (finding,) = findings.ranked()
    return finding


AMPERSAND, TAG, ENTITY = (
    "a bare & was read as &amp;",
    "</url> is missing: it was added before the next tag",
    "the HTML entity &nbsp; was read as &#160;",
)


def test_kinds_are_counted_with_their_documents() -> None:
    finding = found(("a", TAG), *[("a", AMPERSAND)] * 8, ("b", TAG), ("b", TAG), ("c", ENTITY))
    assert [(each.kind, each.count, each.documents) for each in finding.kinds] == [
        (RAW, 8, 1),
        ("missing tag added", 3, 2),
        ("HTML entity read as its character", 1, 1),
    ]
    assert (finding.count, finding.documents) == (12, 3)


@pytest.mark.parametrize(
    ("samples", "expected"), [(0, []), (2, [1, 1]), (3, [1, 1, 1]), (4, [2, 1, 1]), (9, [7, 1, 1])]
)
def test_each_kind_has_a_sample_before_another_has_two(samples: int, expected: list[int]) -> None:
    finding = found(*[("a", AMPERSAND)] * 8, ("a", TAG), ("a", ENTITY), samples=samples)
    kinds = Counter(damage_kind(each.message) for each in finding.samples)
    assert [*kinds.values()] == expected, "in the order of the kinds"


def test_a_repair_and_a_loss_are_two_findings_with_their_own_kinds() -> None:
    body = f"{HEAD}<url><loc>https://a.example/?a&b</loc></url><url><loc>https://a.example/2</loc>"
    parsed = sr.parse(body.encode(), url="https://a.example/s.xml")
    findings = Findings()
    for problem in parsed.problems:
        findings.add(problem)
    kinds = {(each.severity, kind.kind) for each in findings.ranked() for kind in each.kinds if each.code == "S01"}
    assert kinds == {("warning", RAW), ("error", "document cut off")}


def test_other_codes_have_no_kinds() -> None:
    findings = Findings()
    findings.add(report("D01", AMPERSAND, sitemap="a"))
    assert findings.ranked()[0].kinds == ()


def test_report_shows_samples_below_their_kind() -> None:
    result = sr.audit(CORPUS / "sites" / "broken")
    found = {(each["code"], each["severity"]): each for each in result.to_dict()["findings"]}
    finding = found["S01", "warning"]
    assert finding["kinds"] == [{"kind": RAW, "count": 8, "documents": 1}]
    lines = result.to_text().split("S01 warning: XML not well-formed (8 occurrences in 1 sitemap)\n")[1].splitlines()
    assert lines[1:3] == [f"  {RAW}: 8 in 1 sitemap", "  - https://broken.example/maps/mended.xml:4"]


def test_dump_of_urls_alone_has_no_kinds(tmp_path: Path) -> None:
    """Its records state the code, without a message."""
    line = {"loc": "https://a.example/", "sitemap": "https://a.example/s.xml", "line": 1}
    (tmp_path / "urls.jsonl").write_text(json.dumps({**line, "problems": [{"code": "S01", "field": None, "raw": "&"}]}))
    result = sr.audit(tmp_path / "urls.jsonl")
    (finding,) = [each for each in result.findings if each.code == "S01"]
    assert (finding.count, finding.kinds) == (1, ())
    assert "S01 warning" in result.to_text()
