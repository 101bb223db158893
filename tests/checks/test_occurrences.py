"""Every occurrence of a finding as a row, and the findings that an earlier audit knows."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from corpus_cases import CORPUS
from kit import Site, dump, robots, urlset

import sitemap_reader as sr
from sitemap_reader.checks import Findings, KnownFindings, Occurrence
from sitemap_reader.model import report

HOME = "https://e.com/"
SITES = [*sorted((CORPUS / "sites").glob("*/")), *sorted((CORPUS / "audit").glob("*/"))]


def occurrences(source: Any, **options: Any) -> list[Occurrence]:
    rows: list[Occurrence] = []
    sr.audit(source, on_occurrence=rows.append, **options)
    return rows


def counted(rows: Iterable[Occurrence]) -> Counter[tuple[str, str, str]]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        counts[row.code, row.severity, row.impact] += row.count
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.parent.name}/{site.name}")
def test_rows_and_findings_have_the_same_counts(site: Path) -> None:
    rows: list[Occurrence] = []
    whole = sr.audit(site, on_occurrence=rows.append)
    alone = sr.audit(site)
    for result in (whole, alone):
        assert counted(rows) == {each.key: each.count for each in result.findings}
        assert [(each.documents, each.new) for each in result.findings] == [
            (each.documents, None) for each in whole.findings
        ]
    assert {row.count for row in rows if row.code not in ("U11", "U18", "S01")} <= {1}


def site(folder: Path, **documents: str) -> Path:
    maps = {f"{HOME}{name}.xml": urlset(*entries.splitlines()) for name, entries in documents.items()}
    return Site({"/robots.txt": robots(*maps), **maps}, "https://e.com").write(folder)


def entry(path: str, inside: str = "") -> str:
    return f"<url><loc>https://e.com/{path}</loc>{inside}</url>"


def test_a_row_has_the_url_the_value_and_the_place(tmp_path: Path) -> None:
    folder = site(tmp_path, a="\n".join([entry("1"), entry("2", "<lastmod>soon</lastmod>")]))
    (row,) = occurrences(folder, select="D01")
    assert row == Occurrence(
        "D01", "error", "https://e.com/2", "soon", "https://e.com/a.xml", 3, "Unreadable date",
        'lastmod "soon" is no date', "lastmod",
    )  # fmt: skip
    assert row.to_dict() == {
        "type": "finding", "code": "D01", "severity": "error", "url": "https://e.com/2", "value": "soon",
        "sitemap": "https://e.com/a.xml", "line": 3, "title": "Unreadable date",
        "message": 'lastmod "soon" is no date', "field": "lastmod", "count": 1, "new": None,
    }  # fmt: skip


def test_the_url_of_a_fault_of_a_document_is_the_document(tmp_path: Path) -> None:
    (row,) = occurrences(site(tmp_path, a=""), select="S06")
    assert (row.url, row.sitemap, row.line) == ("https://e.com/a.xml", "https://e.com/a.xml", None)


def test_each_url_that_two_sitemaps_share_has_a_row(tmp_path: Path) -> None:
    pages = "\n".join(map(entry, ("1", "2", "3")))
    folder = site(tmp_path, a=pages, b=pages)
    rows = occurrences(folder, select="U07")
    assert sorted((row.url, row.line, row.count) for row in rows) == [
        (f"https://e.com/{number}", number + 1, 1) for number in (1, 2, 3)
    ]
    (finding,) = sr.audit(folder, select="U07").findings
    assert finding.count == 3


def test_each_removed_url_has_a_row(tmp_path: Path) -> None:
    urls = [sr.UrlRecord(f"https://e.com/{number}", sitemap="https://e.com/a.xml") for number in range(1_200)]
    before = dump(tmp_path / "before.jsonl", *urls, urls[0])
    now = site(tmp_path, a=entry("0"))
    rows = occurrences(now, baseline=before, select="X01")
    assert [row.url for row in rows] == [f"https://e.com/{number}" for number in range(1, 1_200)]


def test_listed_urls_before_the_first_that_is_in_the_crawl_have_rows(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.csv"
    crawl.write_text("url,status\nhttps://e.com/3,200\n")
    folder = site(tmp_path, a="\n".join(map(entry, "12")), b="\n".join(map(entry, "345")))
    assert sorted(str(row.url) for row in occurrences(folder, crawl=crawl, select="C05")) == [
        f"https://e.com/{number}" for number in (1, 2, 4, 5)
    ]


def test_merged_problems_have_rows() -> None:
    rows: list[Occurrence] = []
    findings = Findings(on_occurrence=rows.append)
    of_document = findings.empty_copy()
    for number in range(3):
        for code in ("U04", "U05"):
            of_document.add(report(code, "dropped", sitemap="s", line=number))
    assert rows == []
    findings.merge(of_document)
    assert [(row.code, row.line) for row in rows] == [(code, line) for line in range(3) for code in ("U04", "U05")]
    assert {(each.code, each.count) for each in findings.ranked()} == {("U04", 3), ("U05", 3)}


# --- known findings ---


def write(path: Path, rows: Iterable[Occurrence]) -> Path:
    return dump(path, *(row.to_dict() for row in rows))


def test_only_what_the_file_lacks_is_new(tmp_path: Path) -> None:
    bad, undated = "<lastmod>soon</lastmod>", [entry("3"), entry("4")]
    known = write(tmp_path / "known.jsonl", occurrences(site(tmp_path, a="\n".join([entry("1", bad), *undated]))))
    now = site(tmp_path, a="\n".join([entry("0"), entry("1", bad), entry("2", bad), *undated]))
    rows: list[Occurrence] = []
    result = sr.audit(now, known=known, on_occurrence=rows.append)
    assert [(row.url, row.new) for row in rows if row.code == "D01"] == [
        ("https://e.com/1", False), ("https://e.com/2", True)
    ]  # fmt: skip
    dates = next(finding for finding in result.findings if finding.code == "D01")
    assert (dates.count, dates.new) == (2, 1)
    assert dates.occurrences == "2 places in 1 sitemap, 1 new"
    assert result.count_new("error") == 1
    assert result.count("error") == 1
    assert "1 error (1 new), 0 warnings and 1 notice (0 new) (3 places)" in result.headline


@pytest.mark.slow
def test_nothing_is_new_in_a_second_audit(tmp_path: Path) -> None:
    for name in ("broken", "trouble", "shop"):
        folder = CORPUS / "sites" / name
        known = write(tmp_path / "known.jsonl", occurrences(folder))
        result = sr.audit(folder, known=known)
        assert {finding.new for finding in result.findings} == {0}


@pytest.mark.parametrize(("code", "raw", "is_known"), [
    ("D01", "soon", True),
    ("D01", "later", True),  # of dates the URL counts alone
    ("D02", "soon", False),
    ("L01", "soon", True),
    ("L01", "xx", False),
])
def test_what_makes_a_finding_known(tmp_path: Path, code: str, raw: str, is_known: bool) -> None:
    problems = [report(each, "before", sitemap="s", line=1, raw="soon", url=HOME) for each in ("D01", "L01")]
    known = KnownFindings.read(write(tmp_path / "known.jsonl", map(Occurrence.of, problems)))
    assert (report(code, "now", sitemap="t", line=9, raw=raw, url=HOME) in known) is is_known
    assert report(code, "now", sitemap="t", raw=raw, url=f"{HOME}2") not in known


@pytest.mark.parametrize("line", ['{"loc":"https://e.com/"}', '{"type":"finding","code":"D01","url":null}'])
def test_another_file_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "known.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(sr.UsageError, match=r"known\.jsonl:1: that is no finding of an audit; give the file that"):
        sr.audit(CORPUS / "sites" / "shop", known=path)


def test_messages_are_built_only_for_samples_and_rows() -> None:
    built = []

    def message() -> str:
        built.append(1)
        return "text"

    for findings in (Findings(samples=1), Findings(samples=1, on_occurrence=lambda row: None)):
        for number in range(3):
            findings.report("U06", message, sitemap="s", line=number)
    assert len(built) == 1 + 3


def test_a_missing_file_of_known_findings_is_refused_and_an_empty_one_is_not(tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing.jsonl", tmp_path / "empty.jsonl"
    with pytest.raises(sr.UsageError, match=r"there is no file .*missing\.jsonl; an empty one means"):
        sr.audit(CORPUS / "sites" / "broken", known=missing)
    empty.touch()
    assert {each.new == each.count for each in sr.audit(CORPUS / "sites" / "broken", known=empty).findings} == {True}
