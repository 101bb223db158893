"""S01 by kind of damage: every message has one, and findings count them."""

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from kit import dump, gz, urlset

import sitemap_reader as sr
from sitemap_reader.checks import Finding, Findings
from sitemap_reader.model import Kind, report

CORPUS = Path(__file__).parents[2] / "corpus"
RAW: Kind = "raw & read as &amp;"


def test_every_kind_is_in_the_corpus_and_every_problem_of_a_document_has_one() -> None:
    lines = (line for file in CORPUS.glob("**/*.jsonl") for line in file.read_text("utf-8").splitlines())
    items = (json.loads(line) for line in lines if '"problem"' in line)
    kinds = {item["kind"] for item in items if item.get("type") == "problem" and item["code"] == "S01"}
    kinds |= {"namespace of the document", "bytes invalid in the charset", WRONG_CASE}  # of other codes
    others = {"further repairs, not reported each", "text without a root element"}
    others |= {"wrong checksum or size", "compressed twice", "not compressed"}  # F07
    of_urls = {"added parameter", "index file", "double slash", "upper and lower case", "order of parameters"}
    assert kinds == {*get_args(Kind)} - others - of_urls - {"trailing slash", "repeated folder", "with another lastmod"}


def test_a_message_that_quotes_the_words_of_another_keeps_its_kind() -> None:
    body = urlset("<url><priority : lost up to the next entry>0.5</priority><loc>https://a.example/</loc></url>")
    kinds = {each.kind for record in sr.parse(body).urls for each in record.problems if each.code == "S01"}
    assert kinds == {"malformed tag read as the intended one"}


def test_a_wrong_checksum_is_no_missing_end() -> None:
    body = bytearray(gz(urlset("https://a.example/")))
    body[-5] ^= 1
    (problem,) = (each for each in sr.parse(bytes(body)).problems if each.code == "F07")
    assert problem.kind == "wrong checksum or size"


def found(*problems: tuple[str, Kind], samples: int = 5) -> Finding:
    """The finding of S01 problems: (sitemap, kind)."""
    findings = Findings(samples=samples)
    for sitemap, kind in problems:
        findings.add(report("S01", "damage", sitemap=sitemap, severity="warning", kind=kind))
    findings.end()
    (finding,) = findings.ranked()
    return finding


WRONG_CASE: Kind = "root, entry or location not in small letters"
TAG: Kind = "missing tag added"
ENTITY: Kind = "HTML entity read as its character"


def test_kinds_are_counted_with_their_documents() -> None:
    finding = found(("a", TAG), *[("a", RAW)] * 8, ("b", TAG), ("b", TAG), ("c", ENTITY))
    assert [(each.kind, each.count, each.documents) for each in finding.kinds] == [
        (RAW, 8, 1),
        (TAG, 3, 2),
        (ENTITY, 1, 1),
    ]
    assert (finding.count, finding.documents) == (12, 3)


@pytest.mark.parametrize(
    ("samples", "expected"), [(0, []), (2, [1, 1]), (3, [1, 1, 1]), (4, [2, 1, 1]), (9, [3, 1, 1])]
)
def test_each_kind_has_a_sample_before_another_has_two(samples: int, expected: list[int]) -> None:
    finding = found(*[("a", RAW)] * 8, ("b", RAW), ("c", RAW), ("a", TAG), ("a", ENTITY), samples=samples)
    kinds = Counter(each.kind for each in finding.samples)
    assert [*kinds.values()] == expected, "in the order of the kinds"


def test_a_repair_and_a_loss_are_one_error_with_two_kinds() -> None:
    body = urlset("https://a.example/?a&b", "https://a.example/2")[:-17]
    parsed = sr.parse(body, url="https://a.example/s.xml")
    findings = Findings()
    for problem in parsed.problems:
        findings.add(problem)
    findings.end()
    kinds = {(each.severity, kind.kind) for each in findings.ranked() for kind in each.kinds if each.code == "S01"}
    assert kinds == {("error", RAW), ("error", "document cut off")}


def test_other_codes_have_no_kinds() -> None:
    findings = Findings()
    findings.add(report("D01", RAW, sitemap="a"))
    assert findings.ranked()[0].kinds == ()


def test_report_shows_samples_below_their_kind() -> None:
    result = sr.audit(CORPUS / "sites" / "broken")
    found = {(each["code"], each["severity"]): each for each in result.to_dict()["findings"]}
    finding = found["S01", "error"]
    assert finding["kinds"] == [{"kind": RAW, "count": 8, "documents": 1}]
    lines = result.to_text().split("S01 error: XML not well-formed (8 places in 1 sitemap)\n")[1].splitlines()
    assert lines[1:3] == [f"  {RAW}: 8 in 1 sitemap", "  - https://broken.example/maps/mended.xml:4"]


def test_dump_of_urls_alone_has_no_kinds(tmp_path: Path) -> None:
    """Its records state the code, without a message."""
    line = {"loc": "https://a.example/", "sitemap": "https://a.example/s.xml", "line": 1}
    line |= {"problems": [{"code": "S01", "field": None, "raw": "&"}]}
    result = sr.audit(dump(tmp_path / "urls.jsonl", line))
    (finding,) = [each for each in result.findings if each.code == "S01"]
    assert (finding.count, finding.kinds) == (1, ())
    assert "S01 error" in result.to_text()
