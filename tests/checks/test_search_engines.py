"""Documents with one planted fault each: what an audit says of it is what it costs with search engines.

The truth beside each is what a parser of XML, the protocol, or Google's list of sitemap errors
(https://support.google.com/webmasters/answer/7451001) makes of it.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from kit import NS, gz, index, robots, run, urlset

import sitemap_reader as sr
from sitemap_reader.checks import IMPACTS

WWW = "https://www.example.com"
PAGES = (f"{WWW}/a", f"{WWW}/b")
GOOD = urlset(*PAGES)
DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>\n' + GOOD
IMAGES = "http://www.google.com/schemas/sitemap-image/1.1"


def site(folder: Path, body: bytes, name: str = "sitemap.xml", **others: bytes) -> Path:
    """A folder with a sitemap that its robots.txt names, and other files."""
    files = {"robots.txt": robots(f"{WWW}/{name}"), name: body}
    files |= {f"{each}.xml": text for each, text in others.items()}
    for each, text in files.items():
        (folder / each).write_bytes(text)
    return folder


def audited(folder: Path, **options: Any) -> sr.Report:
    return sr.audit(folder, base=WWW, ignore="D07,D08,S18", **options)


def found(report: sr.Report) -> set[tuple[str, str, str]]:
    return {(each.code, each.severity, each.impact) for each in report.findings}


def entry(loc: str, fields: str = "") -> str:
    return f"<url><loc>{loc}</loc>{fields}</url>"


def unread(code: str) -> set[tuple[str, str, str]]:
    return {(code, "error", "unread")}


SIGNAL = "signal"
DAMAGED: dict[str, tuple[bytes, set[tuple[str, str, str]]]] = {
    "raw ampersand": (urlset(f"{WWW}/?a=1&b=2", PAGES[1]), unread("S01")),
    "HTML entity": (
        urlset(f'<url xmlns:image="{IMAGES}"><loc>{PAGES[0]}</loc>', "<image:image>", f"<image:loc>{WWW}/a&nbsp;b",
               "</image:loc>", "</image:image>", "</url>"),
        unread("S01"),
    ),
    "missing end tag": (GOOD.replace(b"</url>", b"", 1), unread("S01")),
    "end is missing": (GOOD[:-25], unread("S01")),
    "control character": (urlset((PAGES[0], "2026-01-01\x01")), unread("S01") | {("D01", "error", SIGNAL)}),
    "unclosed CDATA": (urlset(f"<url><loc><![CDATA[{PAGES[0]}]></loc></url>"), unread("S01")),
    "undeclared prefix": (
        urlset(entry(PAGES[0], f"<image:image><image:loc>{WWW}/a.jpg</image:loc></image:image>")), unread("S01")
    ),
    "text behind the root": (GOOD + b"<br>Fatal error", unread("S01")),
    "blank lines before the declaration": (b"\n\n" + DECLARED, unread("S08")),
    "warning of PHP before the declaration": (b"<br /><b>Warning</b>: mysqli_connect()\n" + DECLARED, unread("S08")),
    "blank lines before a root without a declaration": (b"\n\n" + GOOD, set()),
    "names in capitals": (GOOD.replace(b"urlset", b"URLSET"), unread("S10")),
    "locations in capitals": (GOOD.replace(b"loc>", b"Loc>"), unread("S10")),
    "no entries": (urlset(), unread("S06")),
    "an empty file": (b"", unread("F11")),
    "a page": (b"<!DOCTYPE html><html><body><a href='/a'>a</a></body></html>", unread("F05")),
    "JSON": (b'{"urls": ["https://www.example.com/a"]}', unread("S15")),
    "entities of a DTD": (b'<!DOCTYPE urlset [<!ENTITY a "b">]>' + GOOD, unread("S09")),
    "namespace of 2005": (urlset(*PAGES, ns="http://www.google.com/schemas/sitemap/0.84"), unread("S02")),
    "namespace with https": (urlset(*PAGES, ns=NS.replace("http:", "https:")), unread("S02")),
    "no namespace": (urlset(*PAGES, ns=""), unread("S02")),
    "namespace of an extension": (
        urlset(f'<url xmlns:image="{IMAGES}/"><loc>{PAGES[0]}</loc><image:image><image:loc>{WWW}/a.jpg</image:loc>'
               "</image:image></url>"),
        {("S02", "warning", SIGNAL)},
    ),
    "bytes of Latin-1 in UTF-8": (urlset(f"{WWW}/caf\xe9").decode().encode("latin-1"), unread("S07")),
    "Latin-1, declared": (
        b'<?xml version="1.0" encoding="ISO-8859-1"?>' + urlset(f"{WWW}/caf\xe9").decode().encode("latin-1"),
        {("S07", "warning", SIGNAL)},
    ),
    "more than 50,000 entries": (urlset(*(f"{WWW}/{number}" for number in range(50_001))), unread("S03")),
    "an entry without a location": (
        urlset("<url><lastmod>2026-01-01</lastmod></url>", *PAGES), {("S11", "error", "lost")}
    ),
    "relative URLs": (urlset("/a", "/b"), {("U01", "error", "lost")}),
    "another scheme": (urlset("ftp://www.example.com/a", PAGES[0]), {("U02", "error", "lost")}),
    "a repeated field": (
        urlset(entry(PAGES[0], "<lastmod>2026-01-01</lastmod><lastmod>2026-01-02</lastmod>")),
        {("S10", "warning", SIGNAL)},
    ),
    "a date of no form": (urlset((PAGES[0], "gestern")), {("D01", "error", SIGNAL)}),
    "localhost": (urlset("http://localhost:1313/a", PAGES[0]), {("U14", "error", "lost")}),
    "a private address": (urlset("http://192.168.1.20/a", PAGES[0]), {("U14", "error", "lost")}),
    "a staging host": (urlset("https://staging.example.com/a", PAGES[0]), {("U14", "error", "lost")}),
    "nothing wrong": (DECLARED, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_each_fault_has_the_severity_that_it_costs(name: str, tmp_path: Path) -> None:
    body, expected = DAMAGED[name]
    assert found(audited(site(tmp_path, body))) == expected


PACKED = gzip.compress(GOOD)


@pytest.mark.parametrize("body", [PACKED[:-30], PACKED[:20] + b"\xff" * 40], ids=["cut", "corrupt"])
def test_damaged_gzip_cannot_be_read(body: bytes, tmp_path: Path) -> None:
    report = audited(site(tmp_path, body, "sitemap.xml.gz"))
    assert ("F07", "error", "unread") in found(report)


def test_what_search_engines_refuse_is_counted_once_a_file(tmp_path: Path) -> None:
    body = urlset(*(f"{WWW}/?a={number}&b" for number in range(497)))
    rows: list[sr.Occurrence] = []
    report = audited(site(tmp_path, body), on_occurrence=rows.append)
    (finding,) = [each for each in report.findings if each.code == "S01"]
    assert (finding.count, finding.documents) == (497, 1)
    assert IMPACTS[finding.impact] == "Sitemaps that search engines cannot read"
    assert [(row.count, row.severity, row.url, row.line) for row in rows if row.code == "S01"] == [
        (497, "error", f"{WWW}/sitemap.xml", 2)
    ]
    assert report.headline.startswith("1 error, 0 warnings and 0 notices (497 places) in 497 URLs")
    assert "raw & read as &amp;: 497 in 1 sitemap" in str(report)


def test_it_makes_the_command_fail_unless_it_is_ignored(tmp_path: Path) -> None:
    folder = site(tmp_path, DAMAGED["raw ampersand"][0])
    assert run("audit", folder, "--base", WWW).exit_code == 1
    assert run("audit", folder, "--base", WWW, "--ignore", "S01").exit_code == 0


def test_what_stands_before_the_document_is_shown(tmp_path: Path) -> None:
    report = audited(site(tmp_path, b"<br /><b>Warning</b>: mysqli_connect() in db.php on line 3\n" + DECLARED))
    assert "<br /><b>Warning</b>: mysqli_connect() in db.php on line 3" in str(report)


# --- what was not looked at ---


def test_a_site_without_a_sitemap_is_an_error_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("home")
    report = audited(tmp_path)
    assert ("F19", "error", "unread") in found(report)
    message = "robots.txt is missing (404), and none of 14 well-known paths is a sitemap"
    texts = (str(report), report.to_html(), report.to_json(), report.to_markdown(), report.to_junit())
    for text in (*texts, report.to_sarif()):
        assert message in " ".join(text.split())
    assert "::error" in report.to_github()
    assert (report.complete, report.to_dict()["complete"]) == (None, None)
    assert "No sitemap was found." in report.to_html()
    assert "All sitemaps were read" not in report.to_html()
    assert not json.loads(report.to_sarif())["runs"][0]["invocations"][0]["executionSuccessful"]
    assert report.rules["D03"] == report.rules["U07"] == "there is no sitemap"


def test_other_rules_that_are_selected_say_that_there_is_no_sitemap(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("home")
    assert "no sitemap found for www.example.com" in " ".join(str(audited(tmp_path, select="D03")).split())


def test_a_host_that_does_not_respond_has_no_clean_bill() -> None:
    report = sr.audit("https://127.0.0.1:1/", allow_private=True, limits=sr.Limits(tries=1), select="D03")
    assert (report.complete, report.headline) == (False, "nothing was checked: no URL could be read")


def test_every_format_says_that_pages_are_a_sample(tmp_path: Path) -> None:
    folder = site(tmp_path, urlset(*(f"{WWW}/p{number}" for number in range(40))))
    report = audited(folder, check_urls=5, select="C")
    assert report.headline.endswith("in 40 URLs, of which 5 were checked")
    texts = (str(report), report.to_html(), report.to_markdown(), report.to_junit(), report.to_sarif())
    for text in (*texts, report.to_github()):
        assert "5 of 40 unique URLs checked" in " ".join(text.split())


def test_hosts_that_are_not_in_the_folder_are_a_note(tmp_path: Path) -> None:
    """Whether their robots.txt names the sitemap is not known, nor whether both are verified in Search Console."""
    body = urlset("https://fr.example.com/a", "https://fr.example.com/b")
    report = audited(site(tmp_path, body), select="U,S")
    assert report.findings == ()
    assert any("2 URLs of 1 other host (fr.example.com)" in note for note in report.notes)
    assert (report.urls, report.dropped, report.not_checked) == (0, 0, 2)
    assert "(2 of 2 of other hosts, not checked)" in report.headline
    assert "2 URLs listed, 0 valid, 0 ignored by search engines, 2 of other hosts not checked" in report.url_counts
    assert "Of other hosts, not checked</dt><dd>2" in report.to_html()


def test_indexes_of_a_hundred_hosts_need_no_limit_without_a_network(tmp_path: Path) -> None:
    children = (f"https://host-{number}.example.com/sitemap.xml" for number in range(150))
    report = audited(site(tmp_path, index(*children)), select="S16,U04")
    assert report.findings == ()


def test_sitemaps_of_a_build_that_nothing_lists(tmp_path: Path) -> None:
    folder = site(tmp_path, GOOD, fr=urlset(f"{WWW}/fr"), feed=b"<rss version='2.0'><channel/></rss>")
    (folder / "maps").mkdir()
    (folder / "maps" / "de.xml.gz").write_bytes(gz(urlset(f"{WWW}/de")))
    report = sr.audit(folder, base=WWW, select="S18")
    assert [each.sitemap for finding in report.findings for each in finding.samples] == [
        f"{WWW}/fr.xml", f"{WWW}/maps/de.xml.gz"
    ]  # fmt: skip


def test_a_url_with_a_fragment_is_not_reported_as_a_second_listing_too(tmp_path: Path) -> None:
    one_line = urlset(*(f"{WWW}{path}" for path in ("/#about", "/", "/#team", "/a", "/a", "/b#x", "/b#y")))
    folder = site(tmp_path, one_line.replace(b"\n", b""), more=urlset(f"{WWW}/#jobs", f"{WWW}/c", f"{WWW}/a"))
    (folder / "robots.txt").write_bytes(robots(f"{WWW}/sitemap.xml", f"{WWW}/more.xml"))
    report = sr.audit(folder, base=WWW, select="U06,U07,U08", samples=10)
    assert {finding.code: [each.url for each in finding.samples] for finding in report.findings} == {
        "U08": [*[f"{WWW}/"] * 3, *[f"{WWW}/b"] * 2],
        "U06": [f"{WWW}/a"],
        "U07": [f"{WWW}/a"],
    }


def test_a_compressed_copy_of_a_named_sitemap_needs_no_listing(tmp_path: Path) -> None:
    folder = site(tmp_path, GOOD)
    for name in ("named.xml", "named.xml.gz", "old.xml", "old.xml.gz", "cut.xml", "cut.xml.gz", "packed.xml"):
        (folder / name).write_bytes(urlset(f"{WWW}/{name[:3]}"))
    for name in ("named.xml", "packed.xml"):
        (folder / f"{name}.gz").write_bytes(gz(urlset(f"{WWW}/{name[:3]}")))
    (folder / "old.xml.gz").write_bytes(gz(urlset(f"{WWW}/old", f"{WWW}/older")))
    (folder / "cut.xml.gz").write_bytes(gz(urlset(f"{WWW}/cut"))[:-9])
    named = ("sitemap", "named", "old", "cut")
    lines = [*(f"{WWW}/{name}.xml" for name in named), f"{WWW}/packed.xml.gz"]
    (folder / "robots.txt").write_bytes(robots(*lines))
    report = sr.audit(folder, base=WWW, select="S18")
    assert [each.sitemap for finding in report.findings for each in finding.samples] == [
        f"{WWW}/cut.xml.gz", f"{WWW}/old.xml.gz"
    ]  # fmt: skip


@pytest.mark.parametrize("field", ["image:image><image:loc", "video:video><video:thumbnail_loc"])
def test_localhost_in_images_and_videos(field: str, tmp_path: Path) -> None:
    name = field.partition(":")[0]
    space = f"http://www.google.com/schemas/sitemap-{name}/1.1"
    media = f"<{field}>http://localhost:3000/a.jpg</{name}:{field.rpartition(':')[2]}></{name}:{name}>"
    body = urlset(f'<url xmlns:{name}="{space}"><loc>{WWW}/a</loc>{media}</url>')
    report = audited(site(tmp_path, body), select="U14")
    (finding,) = report.findings
    assert f"http://localhost:3000/a.jpg of {WWW}/a: localhost is a private address" in finding.samples[0].message
