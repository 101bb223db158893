"""Crawl files of Katana (-jsonl) and advertools (crawl()), in the shapes that these tools write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kit import dump

import sitemap_reader as sr
from sitemap_reader.checks.crawl_file import CrawledPage, CrawlFile

if TYPE_CHECKING:
    from pathlib import Path

A, B, C = (f"https://example.com/{name}" for name in "abc")


def rows(folder: Path, *records: dict[str, Any]) -> list[CrawledPage]:
    return list(CrawlFile(str(dump(folder / "crawl.jsonl", *records))))


def katana(url: str, status: int | None, **headers: str) -> dict[str, Any]:
    """Katana writes the names of headers in lower case with underscores; without an answer there is no response."""
    record: dict[str, Any] = {"timestamp": "2026-11-01T12:00:00Z", "request": {"method": "GET", "endpoint": url}}
    if status is None:
        return {**record, "error": "timeout"}
    return {**record, "response": {"status_code": status, "headers": headers, "technologies": ["nginx"]}}


def test_katana_has_nested_objects(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        katana(A, 200, content_type="text/html; charset=utf-8"),
        katana(B, 404),
        katana(C, 200, content_type="text/html", x_robots_tag="noindex"),
        katana(f"{C}.pdf", 200, content_type="application/pdf"),
        katana(f"{C}/slow", None),
    )
    assert [(each.url, each.status, each.noindex, each.indexable) for each in found] == [
        (A, 200, False, True), (B, 404, False, True), (C, 200, True, True), (f"{C}.pdf", 200, False, False),
        (f"{C}/slow", None, False, True),
    ]


@pytest.mark.parametrize(("depth", "is_read"), [(0, True), (3, True), (4, False)])
def test_inner_objects_are_columns_down_to_a_depth(tmp_path: Path, depth: int, is_read: bool) -> None:
    record: dict[str, Any] = {"url": A}
    for _ in range(depth):
        record = {"": record}
    if is_read:
        assert [page.url for page in rows(tmp_path, record)] == [A]
    else:
        with pytest.raises(sr.UsageError, match="no url in this line"):
            rows(tmp_path, record)


def test_advertools_redirect_chain_is_a_row_for_each_url(tmp_path: Path) -> None:
    """`url` is the last URL of the chain."""
    found = rows(
        tmp_path,
        {"url": A, "status": 200, "resp_headers_Content-Type": "text/html", "canonical": f"{B}@@{C}"},
        {"url": C, "status": 200, "redirect_times": 2, "redirect_urls": f"{A}1@@{B}1", "redirect_reasons": "301@@302"},
        {"url": f"{C}2", "status": 200, "redirect_urls": f"{C}1", "redirect_reasons": "meta refresh"},
        {"url": f"{C}3", "errors": "TimeoutError"},
    )
    assert [(each.line, each.url, each.status, each.canonical) for each in found] == [
        (1, A, 200, B), (2, C, 200, None), (2, f"{A}1", 301, None), (2, f"{B}1", 302, None), (3, f"{C}2", 200, None),
        (3, f"{C}1", 302, None), (4, f"{C}3", None, None),
    ]


def test_advertools_headers_and_lists(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        {"url": A, "status": 200, "resp_headers_X-Robots-Tag": "noindex"},
        {"url": B, "status": 200, "meta_robots": "nosnippet@@noindex, follow"},
        {"url": C, "status": 200, "resp_headers_Content-Type": "application/pdf"},
    )
    assert [(each.noindex, each.indexable) for each in found] == [(True, True), (True, True), (False, False)]


def test_audit_reports_what_the_crawl_found(tmp_path: Path) -> None:
    listed = [{"loc": url, "sitemap": "https://example.com/s.xml", "line": 1} for url in (A, B, C)]
    file = dump(tmp_path / "dump.jsonl", *listed)
    rows(tmp_path, katana(A, 404), katana(B, 301, location=C), katana(C, 200, x_robots_tag="none"))
    report = sr.audit(file, crawl=tmp_path / "crawl.jsonl", select="C")
    assert {each.code: each.samples[0].url for each in report.findings} == {"C01": A, "C02": B, "C03": C}
