"""Crawl files are read as crawlers and spreadsheets write them; invalid files are reported with advice."""

import csv
import gzip
import io
import json
import os
import re
import sqlite3
import sys
import zipfile
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import dump

import sitemap_reader as sr
from sitemap_reader.checks import CrawledPage, CrawlFile, resolved_canonical
from sitemap_reader.checks import crawl_file as crawllines
from sitemap_reader.parser import clean_url

A, B, C = (f"https://example.com/{name}" for name in "abc")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def wrote(data: bytes | str, name: str = "crawl.csv") -> CrawlFile:
    with open(name, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return CrawlFile(name)


def rows(data: bytes | str, name: str = "crawl.csv") -> list[CrawledPage]:
    return list(wrote(data, name))


def failure(data: bytes | str, name: str = "crawl.csv") -> str:
    with pytest.raises(sr.UsageError) as reported:
        rows(data, name)
    return str(reported.value)


def lines(*forms: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in forms)


def one(**record: Any) -> CrawledPage:
    (row,) = rows(lines({"url": A, **record}), "crawl.jsonl")
    return row


# --- our own columns ---

OWN = [
    CrawledPage(2, A, 200, A, False, "5f4d"),
    CrawledPage(3, B, 404, None, False, None),
    CrawledPage(4, "https://example.com/", 200, B, True, "77"),
]
TABLE = f"url,status,canonical,noindex,hash\n{A},200,{A},false,5f4d\n{B},404,,,\nhttps://example.com,200,/b,true,77\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_table_is_read_in_every_dialect_of_spreadsheets(encoding: str, pack: Any) -> None:
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    for delimiter, newline in product((",", ";", "\t"), ("\n", "\r\n", "\r")):
        data = (mark + TABLE.replace(",", delimiter).replace("\n", newline)).encode(encoding)
        assert rows(pack(data)) == OWN, (delimiter, newline)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_json_lines_are_read(encoding: str, pack: Any) -> None:
    text = lines(
        {"url": A, "status": 200, "canonical": A, "noindex": False, "hash": "5f4d"},
        {"url": B, "status": "404"},
        {"url": "https://example.com", "status": 200.0, "canonical": "/b", "noindex": 1, "hash": 77},
    )
    found = rows(pack(("\n" + text).encode(encoding)), "crawl.jsonl")
    assert found == OWN


def test_each_iteration_begins_anew() -> None:
    file = wrote(TABLE)
    assert list(file) == list(file) == OWN
    assert file.fields == {"url", "status", "canonical", "noindex", "hash"}


def test_a_url_alone_is_enough() -> None:
    assert rows(f"URL\n{A}\n") == [CrawledPage(2, A)]


@pytest.mark.parametrize(
    "spelled", ["HTTPS://EXAMPLE.com:443/a", " https://example.com/a ", "https://example.com/x/../a#top"]
)
def test_a_url_is_made_canonical_as_a_loc_is(spelled: str) -> None:
    assert one(url=spelled).url == A
    assert one(url="https://example.com/é", canonical="https://EXAMPLE.com/%C3%A9") == CrawledPage(
        1, "https://example.com/%C3%A9", canonical="https://example.com/%C3%A9"
    )


def test_a_canonical_that_only_escapes_otherwise_is_the_page_itself() -> None:
    row = one(url="https://example.com/~a", canonical="https://example.com/%7ea")
    assert row.canonical == row.url


def test_a_canonical_that_is_no_url_is_none() -> None:
    assert one(canonical="javascript:void(0)").canonical is None


@pytest.mark.parametrize(("base", "canonical"), [
    (None, "https://e.example/x/a"), ("/", "https://e.example/a"), (" ../s/ ", "https://e.example/s/a"),
    ("https://o.example/s/t", "https://o.example/s/a"), ("data:x", "https://e.example/x/a"),
])
def test_a_canonical_is_resolved_against_the_base_of_the_page(base: str | None, canonical: str) -> None:
    assert resolved_canonical("a", "https://e.example/x/y", base) == canonical
    assert resolved_canonical("https://e.example/b", "https://e.example/x/y", base) == "https://e.example/b"


def test_lines_are_counted_where_records_begin() -> None:
    text = f'title,url\n"two\nlines",{A}\n\n"one ""line""",{B}\n,{A}?x\n'
    assert [(row.line, row.url) for row in rows(text)] == [(2, A), (5, B), (6, f"{A}?x")]


def test_short_and_blank_rows_are_no_fault() -> None:
    file = wrote(f"url,status,noindex\n\n{A}\n,,\n{B},200\n")
    assert list(file) == [CrawledPage(3, A), CrawledPage(5, B, 200)]
    assert (file.unusable, file.first_unusable) == (0, None)


def test_rows_without_a_url_of_a_page_are_counted() -> None:
    file = wrote(f"url,status\n{A},200\nmailto:info@example.com,200\n/relative,200\n")
    assert list(file) == [CrawledPage(2, A, 200)]
    assert (file.unusable, file.first_unusable) == (2, 3)


# --- values ---


@pytest.mark.parametrize(("value", "status"), [
    (200, 200), ("200", 200), ("200.0", 200), (404.0, 404), ("301 Moved Permanently", 301), ("999", 999),
    (None, None), ("", None), (0, None), ("0", None), ("0.0", None), (-1, None), ("-", None), ("N/A", None),
    ("NaN", None), ("null", None), ("Blocked by robots.txt", None), ("Not crawled", None), ("Timeout", None),
])
def test_a_status_is_a_number_or_none(value: object, status: int | None) -> None:
    assert one(status=value).status == status


@pytest.mark.parametrize("value", ["OK", "20", "2000", "-200", "2xx", True])
def test_invalid_status_is_reported_with_its_place(value: object) -> None:
    text = lines({"url": A}, {"url": B, "Status Code": value})
    shown = repr(value if isinstance(value, str) else "true")
    assert failure(text, "crawl.jsonl") == (
        f"crawl.jsonl:2: {shown} in the column Status Code is no HTTP status: give a number such as 200, or nothing "
        "where the page was not fetched"
    )


@pytest.mark.parametrize(("value", "noindex"), [
    (True, True), (1, True), ("1", True), ("Yes", True), ("TRUE", True), ("noindex", True),
    (False, False), (0, False), ("0", False), ("No", False), ("false", False), ("", False), (None, False),
])
def test_a_noindex_of_our_own_is_true_or_false(value: object, noindex: bool) -> None:
    assert one(noindex=value).noindex is noindex


@pytest.mark.parametrize("column", ["noindex", "soft404", "empty"])
def test_a_value_that_is_neither_true_nor_false_is_reported(column: str) -> None:
    assert failure(f"url,{column}\n{A},perhaps\n") == (
        f"crawl.csv:2: 'perhaps' in the column {column} is neither true nor false: give true, false, 1, 0, yes or no"
    )


@pytest.mark.parametrize(("directives", "noindex"), [
    ("noindex", True), ("NOINDEX,NOFOLLOW", True), ("follow, noindex", True), ("none", True),
    ("googlebot: noindex", True), ("noindex@@nofollow", True), ("noarchive;noindex", True),
    ("index, follow", False), ("", False), ("max-image-preview:none", False),
    ("max-snippet:-1, noimageindex", False),
    ("max-image-preview: none, follow", False), ("nonexistent", False), (["nofollow", "noindex"], True),
])
def test_directives_for_robots_say_noindex(directives: object, noindex: bool) -> None:
    for column in ("Meta Robots 1", "Meta Robots 2", "X-Robots-Tag 1", "meta_robots", "robots"):
        assert one(**{column: directives}).noindex is noindex, column


@pytest.mark.parametrize(("directives", "noindex"), [
    ("googlebot-news: noindex", False), ("unicornbot: none", False), ("unicornbot: nofollow, noindex", False),
    ("unicornbot: none, googlebot: noindex", True), ("unicornbot: none@@googlebot: noindex", True),
    ("unicornbot: none\ngooglebot: noindex", True), (["unicornbot: none", "googlebot: none"], True),
    ("googlebot: nofollow, unicornbot: noindex", False), ("unavailable_after: 25 Jun 2030; noindex", True),
])
def test_of_an_x_robots_tag_the_rules_of_other_robots_do_not_count(directives: object, noindex: bool) -> None:
    columns = (
        "X-Robots-Tag 1", "X-Robots-Tag 2", "x_robots_tag", "resp_headers_X-Robots-Tag",
        "response.headers.x_robots_tag",
    )  # fmt: skip
    for column in columns:
        assert one(**{column: directives}).noindex is noindex, column
    assert one(**{"X-Robots-Tag 1": "unicornbot: none", "X-Robots-Tag 2": "noindex"}).noindex


def test_a_noindex_in_any_column_counts() -> None:
    assert one(**{"Meta Robots 1": "index", "Meta Robots 2": "noindex"}).noindex
    assert one(noindex=False, **{"X-Robots-Tag 1": "none"}).noindex
    assert one(**{"meta_noindex": False, "header_noindex": True}).noindex
    assert one(**{"Indexability": "Non-Indexable", "Indexability Status": "Noindex"}).noindex


@pytest.mark.parametrize(("value", "indexable"), [
    ({"Indexability": "Indexable"}, True),
    ({"Indexability": "Non-Indexable", "Indexability Status": "Canonicalised"}, False),
    ({"indexable": False}, False),
    ({"Is indexable page": "No"}, False),
    ({"is_indexable": 1}, True),
    ({"Content Type": "text/html; charset=UTF-8"}, True),
    ({"Content": "application/xhtml+xml"}, True),
    ({"Content Type": "image/png"}, False),
    ({"Content Type": "text/css"}, False),
    ({"Content Type": "application/pdf"}, False),
    ({"resp_headers_Content-Type": "application/pdf"}, False),
    ({"Content Type": ""}, True),
    ({"content": "The best of pages, and/or the longest."}, True),
    ({}, True),
])
def test_non_html_response_is_not_indexable(value: dict[str, object], indexable: bool) -> None:
    assert one(**value).indexable is indexable


def test_repeated_rows_do_not_change_the_result() -> None:
    same = [f"{A}?{number},200,noindex\n" for number in range(50)] + [f"{B},200,index\n"] * 2
    found = rows("url,status,meta robots\n" + "".join(same))
    assert [row.noindex for row in found] == [True] * 50 + [False] * 2


# --- exports of other tools ---

SCREAMING_FROG = (
    '"Address","Content Type","Status Code","Status","Indexability","Indexability Status","Title 1","Meta Robots 1",'
    '"X-Robots-Tag 1","Canonical Link Element 1","Word Count","Hash"\n'
    '"https://shop.example/","text/html; charset=UTF-8","200","OK","Indexable","","Shop, and ""more""","","",'
    '"https://shop.example/","512","c4ca"\n'
    '"https://shop.example/cart","text/html","200","OK","Non-Indexable","noindex","Cart","noindex, follow","","","9",'
    '"c81e"\n'
    '"https://shop.example/lamp?sort=price","text/html","200","OK","Non-Indexable","Canonicalised","Lamps\nby price",'
    '"","","https://shop.example/lamp","80","eccb"\n'
    '"https://shop.example/old","","301","Moved Permanently","Non-Indexable","Redirected","","","","","0",""\n'
    '"https://shop.example/logo.svg","image/svg+xml","200","OK","Indexable","","","","","","0","a87f"\n'
    '"https://shop.example/admin","","0","Blocked by robots.txt","Non-Indexable","Blocked by robots.txt","","","","",'
    '"0",""\n'
)
SEEN = [
    CrawledPage(2, "https://shop.example/", 200, "https://shop.example/", False, "c4ca"),
    CrawledPage(
        3, "https://shop.example/cart", 200, None, True, "c81e", False, reason="noindex",
        directives="Meta Robots 1: noindex, follow",
    ),
    CrawledPage(
        4, "https://shop.example/lamp?sort=price", 200, "https://shop.example/lamp", False, "eccb", False,
        reason="canonicalised",
    ),
    CrawledPage(6, "https://shop.example/old", 301, None, False, None, indexable=False, reason="redirected"),
    CrawledPage(7, "https://shop.example/logo.svg", 200, None, False, "a87f", indexable=False),
    CrawledPage(8, "https://shop.example/admin", None, None, False, None, indexable=False, reason="blocked"),
]  # fmt: skip


def test_an_export_of_screaming_frog_is_read() -> None:
    assert rows(SCREAMING_FROG.encode("utf-8-sig")) == SEEN


@pytest.mark.parametrize("above", ['"Internal - HTML"\n', "Internal - All\n\n", "sep=,\r\n", "\n\n\n\n"])
def test_up_to_four_lines_may_stand_above_the_header(above: str) -> None:
    more = above.count("\n")
    assert rows(above + SCREAMING_FROG) == [
        attrs.evolve(row, line=row.line + more) for row in SEEN
    ]


def test_a_header_in_the_sixth_line_is_not_looked_for() -> None:
    assert "no column of URLs" in failure("x\n" * 5 + TABLE)


@pytest.mark.parametrize(("url", "status", "canonical"), [
    ("URL", "HTTP Status Code", "Canonical URL"),
    ("url", "http_status_code", "canonical_url"),
    ("Full URL", "HTTP Code", "Canonical Link"),
    ("Page URL", "Status Code", "rel_canonical"),
    ("ADDRESS", "Response-Code", "HTTP Canonical 1"),
    ("uri", "status_code", "Canonical Link Element"),
])
def test_other_names_of_columns_are_known(url: str, status: str, canonical: str) -> None:
    assert rows(f"n;{status};{canonical};{url}\n1;404;{B};{A}\n") == [CrawledPage(2, A, 404, B)]


def test_numeric_status_column_is_preferred_to_a_text_column() -> None:
    assert rows(f"url,status,status code\n{A},OK,200\n{B},Refused,\n") == [
        CrawledPage(2, A, 200), CrawledPage(3, B, error="Refused")
    ]


def test_the_canonical_of_the_header_counts_where_the_page_has_none() -> None:
    text = f"url,HTTP Canonical 1,Canonical Link Element 1\n{A},{B},\n{A},{B},{A}\n"
    assert [row.canonical for row in rows(text)] == [B, A]


def test_keys_may_differ_from_line_to_line() -> None:
    text = lines({"url": A, "status": 200}, {"status": 404, "url": B}, {"address": A, "hash": "x", "links": [1, {}]})
    file = wrote(text, "crawl.jsonl")
    assert list(file) == [CrawledPage(1, A, 200), CrawledPage(2, B, 404), CrawledPage(3, A, None, None, False, "x")]
    assert file.fields == {"url", "status", "hash"}


# Language -> its names of columns: URL, status, its text, type, indexability, its reason, canonical, depth.
LANGUAGES = {
    "German": ("Adresse", "Status-Code", "Status", "Inhaltstyp", "Indexierbarkeit", "Indexierbarkeitsstatus",
               "Canonical-Linkelement 1", "Crawl-Tiefe"),
    "French": ("Adresse", "Code HTTP", "Statut", "Type de contenu", "Indexabilité", "Statut d'indexabilité",
               "Élément de lien en version canonique 1", "Crawl profondeur"),
    "Spanish": ("Dirección", "Código de respuesta", "Respuesta", "Tipo de contenido", "Indexabilidad",
                "Estado de indexabilidad", "Elemento de enlace canónico 1", "Nivel de profundidad"),
    "Italian": ("Indirizzo", "Codice di risposta", "Stato", "Tipo di contenuto", "Indicizzabilità",
                "Stato di indicizzabilità", "Elemento link canonico 1", "Livello di profondità"),
}  # fmt: skip
VALUES = {
    "German": ("Nicht indexierbar", "Kanonisiert", "Keine Antwort"),
    "French": ("Non indexable", "Canonisé", "Sans réponse"),
    "Spanish": ("No indexable", "Canonicalizada", "Sin respuesta"),
    "Italian": ("Non indicizzabile", "Canonicalizzato", "Nessuna risposta"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_exports_of_screaming_frog_are_read_in_its_languages(language: str) -> None:
    header = ",".join(f'"{name}"' for name in LANGUAGES[language])
    no, canonicalised, silent = VALUES[language]
    text = f'{header}\n{A},200,OK,text/html,{no},{canonicalised},{B},2\n{B},0,{silent},,{no},{silent},,\n'
    assert rows(text.encode("utf-8-sig")) == [
        CrawledPage(2, A, 200, B, indexable=False, reason="canonicalised", is_orphan=False),
        CrawledPage(3, B, indexable=False, error=silent, reason="no response", is_orphan=True),
    ]


# --- workbooks ---


def workbook(**sheets: list[list[Any]]) -> bytes:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, lines in sheets.items():
        sheet = made.create_sheet(name)
        for line in lines:
            sheet.append(line)
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def test_the_first_sheet_of_a_workbook_that_has_urls_is_read() -> None:
    body = workbook(
        Summary=[["Pages", 3]],
        Internal=[["Internal"], ["Address", "Status Code", "Noindex"], [A, 200, True], [B, 404.0], [], ["/c", "x"]],
        More=[["Address"], [C]],
    )
    file = wrote(body, "crawl.xlsx")
    assert list(file) == list(file) == [CrawledPage(3, A, 200, noindex=True), CrawledPage(4, B, 404)]
    assert (file.unusable, file.first_unusable) == (1, 6)


def test_a_sheet_is_read_beyond_the_size_that_it_states() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(One=[["url", "status"], [A, 404]]))) as given, zipfile.ZipFile(
        made, "w"
    ) as changed:
        for name in given.namelist():
            changed.writestr(name, given.read(name).replace(b'<dimension ref="A1:B2"', b'<dimension ref="A1"'))
    assert rows(made.getvalue(), "crawl.xlsx") == [CrawledPage(2, A, 404)]


@pytest.mark.parametrize(("body", "reported"), [
    (workbook(One=[["Title", "Words"], ["x", 1]], Two=[["Image"]]),
     "crawl.xlsx: no sheet has a column of URLs; the columns are Title, Words, Image: call one of them url"),
    (workbook(One=[["url"]]), "crawl.xlsx has no row of a page: export the crawl again"),
    (workbook(One=[["url"]])[:-30], "crawl.xlsx: that is a ZIP file, and no Excel workbook: extract it"),
    (workbook(One=[["url", "status"], [A, "soon"]]), "crawl.xlsx:2: 'soon' in the column status is no HTTP status"),
])
def test_a_workbook_that_cannot_be_used_is_reported(body: bytes, reported: str) -> None:
    assert failure(body, "crawl.xlsx").startswith(reported)


def test_without_openpyxl_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert failure(workbook(One=[["url"], [A]]), "crawl.xlsx") == (
        "crawl.xlsx: that is an Excel workbook: pip install 'sitemap-reader[xlsx]' reads it; or save it as CSV; "
        "or a ZIP file: extract it"
    )


# --- Katana (-jsonl) and advertools (crawl()) ---


def crawled(*records: dict[str, Any]) -> list[CrawledPage]:
    return rows(lines(*records), "crawl.jsonl")


def katana(url: str, status: int | None, **headers: str) -> dict[str, Any]:
    """Katana writes the names of headers in lower case with underscores; without an answer there is no response."""
    record: dict[str, Any] = {"timestamp": "2026-11-01T12:00:00Z", "request": {"method": "GET", "endpoint": url}}
    if status is None:
        return {**record, "error": "timeout"}
    return {**record, "response": {"status_code": status, "headers": headers, "technologies": ["nginx"]}}


def test_katana_has_nested_objects() -> None:
    found = crawled(
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
def test_inner_objects_are_columns_down_to_a_depth(depth: int, is_read: bool) -> None:
    record: dict[str, Any] = {"url": A}
    for _ in range(depth):
        record = {"": record}
    if is_read:
        assert [page.url for page in crawled(record)] == [A]
    else:
        with pytest.raises(sr.UsageError, match="no url in this line"):
            crawled(record)


def test_advertools_redirect_chain_is_a_row_for_each_url() -> None:
    """`url` is the last URL of the chain."""
    found = crawled(
        {"url": A, "status": 200, "resp_headers_Content-Type": "text/html", "canonical": f"{B}@@{C}"},
        {"url": C, "status": 200, "redirect_times": 2, "redirect_urls": f"{A}1@@{B}1", "redirect_reasons": "301@@302"},
        {"url": f"{C}2", "status": 200, "redirect_urls": f"{C}1", "redirect_reasons": "meta refresh"},
        {"url": f"{C}3", "errors": "TimeoutError"},
    )
    assert [(each.line, each.url, each.status, each.canonical) for each in found] == [
        (1, A, 200, B), (2, C, 200, None), (2, f"{A}1", 301, None), (2, f"{B}1", 302, None), (3, f"{C}2", 200, None),
        (3, f"{C}1", 302, None), (4, f"{C}3", None, None),
    ]


def test_audit_reports_what_the_crawl_found(tmp_path: Path) -> None:
    listed = [{"loc": url, "sitemap": "https://example.com/s.xml", "line": 1} for url in (A, B, C)]
    file = dump(tmp_path / "dump.jsonl", *listed)
    crawled(katana(A, 404), katana(B, 301, location=C), katana(C, 200, x_robots_tag="none"))
    report = sr.audit(file, crawl=tmp_path / "crawl.jsonl", select="C")
    assert {each.code: each.samples[0].url for each in report.findings} == {"C01": A, "C02": B, "C03": C}


# --- invalid files ---


# What a file holds, and how the error goes on behind its name.
FAULTS: dict[str, tuple[bytes | str, str]] = {
    "empty": (b"", " is empty: export the crawl again"),
    "blank": (b"\xef\xbb\xbf\n \n", " is empty: export the crawl again"),
    "header only": ("url,status\n", " has no row of a page: export the crawl again"),
    "paths": ("url,status\n/a,200\n/b,200\n",
        " has no row with a URL of a page; '/b' in line 3 is not one: give absolute URLs, with https://"),
    "no url": (
        "Title 1,Status Code,Word Count\nx,200,1\n",
        ":1: no column of URLs; the columns are Title 1, Status Code, Word Count: call one of them url, "
        "or Address as Screaming Frog does",
    ),
    "list": (f"{A}\n{B}\n", f":1: '{A}' where names of columns should be: put them into line 1"),
    "array": (json.dumps([{"url": A}]),
        ": that is a JSON array: `jq -c '.[]' crawl.csv > crawl.jsonl` writes a line for each"),
    "pretty": (
        json.dumps({"url": A}, indent=1),
        ":1: no JSON object: '{'; if it is JSON over several lines, `jq -c . crawl.csv > crawl.jsonl` "
        "writes each object on one",
    ),
    "cut": (lines({"url": A}) + '{"url":"https://exa',
        ":2: the last line is cut: '{\"url\":\"https://exa'; export the crawl again"),
    "not JSON": (lines({"url": A}) + "url\n", ":2: no JSON object: 'url'; a crawl file has one on each line"),
    "no url in a line": (lines({"url": A}, {"loc": A, "status": 200}),
        ":2: no url in this line, which has loc, status: call it url"),
    "html": ("<html>", ": that is XML or HTML, not a crawl: export it as CSV, or as JSON lines"),
    "open quote": (
        f'url,title\n{A},x\n{B},"never\nends',
        ":3: a quoted field that begins in this row has no end: the file is cut, or a quote is missing; "
        "export the crawl again",
    ),
    "long field": (
        f"url,title\n{A},x\n{B},{'x' * csv.field_size_limit()}x\n",
        f":3: this row cannot be read (field larger than field limit ({csv.field_size_limit()})): leave "
        "out columns with long texts, or a quote is missing",
    ),
    "windows-1252": (f"url,title\n{A},x\n{B},caf\xe9\n".encode("cp1252"),
        ':3: not UTF-8: save it as UTF-8 (in Excel, "CSV UTF-8")'),
    "cut UTF-16": (f"url\n{A}\n".encode("utf-16")[:-1], ':2: damaged UTF-16: save it as UTF-8 (in Excel, "CSV UTF-8")'),
    "UTF-16 without a mark": ("url\n".encode("utf-16-le"),
        ": that is not text: export the crawl as CSV, or as JSON lines, in UTF-8"),
    "zip": (b"PK\x03\x04\x14\0", ": that is a ZIP file, and no Excel workbook: extract it"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1", ": that is an Excel workbook of the old kind: save it as .xlsx or CSV"),
    "zip in gz": (gzip.compress(b"PK\x03\x04\x14\0"), ": that is a ZIP file within another: extract it"),
    "parquet": (b"PAR1\x15\x04", ": that is Parquet: convert it to CSV, or to JSON lines"),
    "zstd": (b"\x28\xb5\x2f\xfd\x24", ": it is compressed: decompress it first"),
    "twice": (gzip.compress(gzip.compress(b"url")), ": it is compressed: decompress it first"),
    "cut gz": (gzip.compress(TABLE.encode())[:-4], ":5: the gzip file is cut off here; compress it again"),
    "damaged gz": (b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 20,
        ":1: the gzip file is damaged (Error -3 while decompressing data: invalid block type); compress it again"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_invalid_crawl_file_is_reported(fault: str) -> None:
    data, reported = FAULTS[fault]
    assert failure(data) == f"crawl.csv{reported}"


def test_rows_before_a_fault_are_returned() -> None:
    rows_of_it = iter(wrote(f"url,status\n{A},200\n{B},OK\n"))
    assert next(rows_of_it) == CrawledPage(2, A, 200)
    with pytest.raises(sr.UsageError, match=r"^crawl\.csv:3: 'OK'"):
        next(rows_of_it)


def test_a_fault_of_the_text_far_into_a_file_names_its_line() -> None:
    good = "".join(f"{A}?{number}\n" for number in range(5000))
    assert failure(f"url\n{good}".encode() + b"\xff\n" + good.encode()).startswith("crawl.csv:5002: not UTF-8")


@pytest.mark.parametrize("over", [0, 1])
def test_line_length_is_limited(monkeypatch: pytest.MonkeyPatch, over: int) -> None:
    monkeypatch.setattr(crawllines, "MAX_LINE_BYTES", 60)
    line = f"url\n{A},".ljust(63 + over - 1, "x") + "\n"
    if over:
        assert failure(line) == ("crawl.csv:2: more than 60 characters without a line end; export the crawl again")
    else:
        assert [row.url for row in rows(line)] == [A]


@pytest.mark.parametrize(("name", "reported"), [
    ("none.csv", "there is no file none.csv; export one from the crawler, as CSV or JSON lines"),
    ("crawls", "crawls is a folder; give the file of the crawl"),
    ("pipe", "pipe is not a regular file, and a crawl is read more than once: write it to a file, and give that"),
    ("a\0b", r"cannot read a\\x00b: .*embedded null \w+.*; give a file that you may read"),
    ("crawl.db", "crawl.db: that is an SQLite database: export the crawl as CSV, or as JSON lines"),
])
def test_what_is_no_file_of_a_crawl_is_refused(tmp_path: Path, name: str, reported: str) -> None:
    (tmp_path / "crawls").mkdir()
    os.mkfifo("pipe")
    with closing(sqlite3.connect("crawl.db")) as db, db:
        db.execute("CREATE TABLE url (address TEXT)")
    with pytest.raises(sr.UsageError, match=f"^{reported}$"):
        list(CrawlFile(name))


def test_many_columns_are_not_all_named() -> None:
    reported = failure(",".join(f"column {number}" for number in range(60)))
    assert "column 0, column 1, " in reported
    assert "column 19 and 40 more: call one of them url" in reported


# --- any content ---

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
# The csv module does not quote a lone CR unless it is the line terminator.
TEXTS = WORDS.map(lambda text: text.replace("\r", "\r\n"))
PATHS = st.text(st.sampled_from("abc,;\t\"' é%/?=&"), max_size=8)
STATUSES = st.sampled_from([None, 200, 301, 404, 503])
RECORDS = st.tuples(PATHS, STATUSES, st.booleans(), TEXTS, TEXTS)


@given(
    records=st.lists(RECORDS, min_size=1, max_size=8),
    order=st.permutations(range(5)),
    delimiter=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_csv_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[str, int | None, bool, str, str]],
    order: list[int],
    delimiter: str,
    quoting: Any,
    newline: str,
    encoding: str,
) -> None:
    text = io.StringIO(newline="")
    table = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=newline)
    header = ["url", "status", "noindex", "title", "hash"]
    table.writerow([header[place] for place in order])
    expected = []
    for path, status, noindex, title, content in records:
        line = len(re.findall("\r\n|\r|\n", text.getvalue())) + 1
        url = f"https://example.com/{path}"
        cells = [url, "" if status is None else status, noindex, title, content]
        table.writerow([cells[place] for place in order])
        expected.append(CrawledPage(line, clean_url(url).url or "", status, None, noindex, content.strip() or None))
    name = tmp_path_factory.mktemp("round") / "crawl.csv"
    name.write_bytes(text.getvalue().encode(encoding))
    assert list(CrawlFile(str(name))) == expected
