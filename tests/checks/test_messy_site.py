"""An audit of messy/ finds each fault that messy.jsonl states of it, and nothing else, in every format."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kit import objects, run

from sitemap_reader.model import CATALOGUE

MESSY = Path(__file__).parent / "messy"
# Documents of which nothing can be read, and those that can be read in part.
UNREAD = {
    "api.xml", "denied.xml", "dtd.xml", "failing.xml", "gone.xml", "login.xml", "loop.xml", "lost.xml", "nothing.xml",
    "private/map.xml", "removed.xml", "soft404.xml",
}  # fmt: skip
CUT = {"cut.xml", "truncated.xml.gz"}
# The other codes, or their first letters, and why the site has none.
ABSENT = {
    "F08": "50 MiB are too many for a test",
    "F09": "its robots.txt names sitemaps",
    "F13": "its host is public",
    "F14": "its robots.txt can be read",
    "F15": "its Crawl-delay is short",
    "F16": "it is read without headers",
    "F19": "it has sitemaps",
    "F20": "its robots.txt disallows one folder",
    "F21": "its sitemaps are on its host",
    "U05": "its robots.txt names the index: each sitemap may list the whole host",
    "U11": "it has one host and port",
    "U18": "it is a recording, which is not what a crawler sees",
    "I01": "1,001 images are too many for a document that is read by eye",
    "N01": "1,001 entries are too many for a document that is read by eye",
    "S03": "50,001 entries are too many for a test",
    "S14": "it takes six levels of indexes",
    "S16": "a limit of this reader, not a fault of a site",
    "S17": "an error of this reader, not a fault of a site",
    "S18": "it is no folder of sitemaps",
    "D08": "its pages change",
    "L07": "not all of its sitemaps are read completely",
    "L09": "needs a crawl of the pages",
    "L10": "a second listing is U06",
    "L12": "needs a check of the pages",
    "C": "needs a crawl of the pages",
    "X": "needs an earlier audit",
}


class Fault(NamedTuple):
    """What has to be found, and where; `url` is the listed URL at fault, else the document; line 0: all of it."""

    code: str
    severity: str
    url: str
    sitemap: str
    line: int


def fault(row: dict[str, Any]) -> Fault:
    """A row of a format, in which a number may be text, and nothing an empty one."""
    return Fault(row["code"], row["severity"], row["url"], row["sitemap"], int(row["line"] or 0))


FAULTS = Counter(map(fault, objects(MESSY.with_suffix(".jsonl").read_bytes())))


def test_each_code_is_in_the_site_or_has_a_reason_why_not() -> None:
    absent = {code for code in CATALOGUE if code.startswith(tuple(ABSENT))}
    assert absent.isdisjoint(seeded := {fault.code for fault in FAULTS})
    assert absent | seeded == {*CATALOGUE}


@pytest.mark.slow
def test_each_fault_that_was_written_is_found_and_nothing_else(tmp_path: Path) -> None:
    findings, report = tmp_path / "findings.jsonl", tmp_path / "report.json"
    assert run("audit", MESSY, "--findings", findings, "-o", report).exit_code == 1
    rows, stated = objects(findings.read_bytes()), json.loads(report.read_bytes())
    assert Counter(map(fault, rows)) == FAULTS
    assert {row["count"] for row in rows} == {1}
    assert (stated["urls"], stated["complete"]) == (149, False)
    assert stated["notes"] == ["not all sitemaps were read completely: L07 not checked for 7 alternates"]
    incomplete = {
        row["url"].removeprefix("https://messy.example/"): row["entries"]
        for row in stated["sitemaps"] if row["complete"] == "no"
    }  # fmt: skip
    assert {name for name, entries in incomplete.items() if not entries} == UNREAD
    assert {name for name, entries in incomplete.items() if entries} == CUT


def by_code(faults: Iterable[Fault]) -> Counter[Any]:
    return Counter((each.code, each.severity) for each in faults)


def by_place(faults: Iterable[Fault]) -> Counter[Any]:
    return Counter((each.code, each.sitemap, each.line) for each in faults)


def in_overview(text: str) -> Counter[Any]:
    """`error    F01  4  HTTP error`."""
    lines = re.findall(r"^(error|warning|notice) +([A-Z]\d\d) +([\d,]+)  ", text, re.MULTILINE)
    return Counter({(code, severity): int(count) for severity, code, count in lines})


def in_headings(text: str) -> Counter[Any]:
    """`F01 error: HTTP error (4 places in 4 documents)`, on one line or two."""
    heading = r"^([A-Z]\d\d) (error|warning|notice): [^\n]*\n?[^\n]*?\((\d+)\s+places?\s+in"
    lines = re.findall(heading, text, re.MULTILINE)
    return Counter({(code, severity): int(count) for code, severity, count in lines})


def in_json(text: str) -> Counter[Any]:
    return Counter({(each["code"], each["severity"]): each["count"] for each in json.loads(text)["findings"]})


def in_page(text: str) -> Counter[Any]:
    """Of the data of the page: a row is the number of its sitemap, the line, and more."""
    data = json.loads(re.search(r'<script type="application/json" id="occurrences">(.*?)</script>', text)[1])
    rows = ((name[:3], row) for name, rows in data["rows"].items() for row in rows)
    return Counter((code, data["sitemaps"][row[0]][0], row[1] or 0) for code, row in rows)


def in_rows(rows: Iterable[dict[str, Any]]) -> Counter[Any]:
    return Counter(map(fault, rows))


def in_sarif(text: str) -> Counter[Any]:
    results = json.loads(text)["runs"][0]["results"]
    return Counter((each["ruleId"], each["level"].replace("note", "notice")) for each in results)


def in_junit(text: str) -> Counter[Any]:
    """Of the errors, which fail: `<testcase name="F01 ..."><failure type="error" message="error: 2 places in`."""
    cases = re.findall(r'<testcase name="(\w+) [^>]*>\s*<failure type="error" message="error: (\d+) place', text)
    return Counter({(code, "error"): int(count) for code, count in cases})


def in_markdown(text: str) -> Counter[Any]:
    """`| error | F01 | Sitemap not found | 2 |`."""
    lines = re.findall(r"^\| (error|warning|notice) \| (\w+) \|.*\| ([\d,]+) \|$", text, re.MULTILINE)
    return Counter({(code, severity): int(count) for severity, code, count in lines})


def in_annotations(text: str) -> Counter[Any]:
    """The severities of the annotations: GitHub shows ten of each."""
    return Counter(re.findall(r"^::(error|warning|notice) ", text, re.MULTILINE))


def ten_of_each(faults: Iterable[Fault]) -> Counter[Any]:
    counts = Counter(each.severity for each in faults)
    return Counter({severity: min(count, 10) for severity, count in counts.items()})


def parquet_rows(body: bytes) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(io.BytesIO(body)).to_pylist()  # type: ignore[no-any-return]


# Format -> what it has of the faults, and what that is of the truth.
FORMATS: list[tuple[str, Callable[[bytes], Counter[Any]], Callable[[Iterable[Fault]], Counter[Any]]]] = [
    ("text", lambda body: in_overview(body.decode()), by_code),
    ("text", lambda body: in_headings(body.decode()), by_code),
    ("json", lambda body: in_json(body.decode()), by_code),
    ("html", lambda body: in_page(body.decode()), by_place),
    ("csv", lambda body: in_rows(csv.DictReader(io.StringIO(body.decode()))), Counter),
    ("jsonl", lambda body: in_rows(map(json.loads, body.splitlines())), Counter),
    ("sarif", lambda body: in_sarif(body.decode()), by_code),
    ("junit", lambda body: in_junit(body.decode()), lambda faults: by_code(f for f in faults if f.severity == "error")),
    ("markdown", lambda body: in_markdown(body.decode()), by_code),
    ("github", lambda body: in_annotations(body.decode()), ten_of_each),
    ("parquet", lambda body: in_rows(parquet_rows(body)), Counter),
]


@pytest.mark.smoke("text0", "csv")
@pytest.mark.slow
@pytest.mark.parametrize(("format", "read", "expected"), FORMATS, ids=[name for name, *_ in FORMATS])
def test_every_format_has_all(tmp_path: Path, format: str, read: Any, expected: Any) -> None:
    output = tmp_path / "report"
    run("audit", MESSY, "--format", format, "-o", output)
    assert read(output.read_bytes()) == expected(FAULTS.elements())


@pytest.mark.slow
@pytest.mark.parametrize(("options", "exit_code"), [
    ([], 1),
    (["--fail-on", "never"], 3),  # documents could not be read
    (["--select", "L04", "--fail-on", "warning"], 3),
    (["--select", "L04", "--fail-on", "notice"], 1),
])
def test_the_exit_code_is_that_of_what_was_found(options: list[str], exit_code: int) -> None:
    assert run("audit", MESSY, *options).exit_code == exit_code


@pytest.mark.slow
def test_each_card_of_the_page_shows_its_count_and_its_places(tmp_path: Path, show: Any) -> None:
    output = tmp_path / "report.html"
    run("audit", MESSY, "-o", output)
    for width in (1440, 390):
        tab = show(output.read_text(), viewport={"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        heads = tab.locator(".finding").evaluate_all(
            "(all) => all.map((card) => [card.querySelector('code').innerText,"
            " card.querySelector('.amount').innerText, card.querySelectorAll('.occurrences li').length])"
        )
        shown: Counter[str] = Counter()
        for code, amount, rows in heads:
            assert int(amount.split(" ")[0]) == rows
            shown[code] += rows
        assert shown == Counter(each.code for each in FAULTS.elements())
