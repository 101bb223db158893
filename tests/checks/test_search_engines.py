"""Documents with one planted fault each: what an audit says of it is what it costs with search engines.

The truth beside each is what a parser of XML, the protocol, or Google's list of sitemap errors
(https://support.google.com/webmasters/answer/7451001) makes of it.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from kit import NS, Site, files, gz, index, robots, run, urlset

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
    "an index of pages": (GOOD.replace(b"urlset", b"sitemapindex"), unread("S10")),
    "pages in an index": (
        index(f"{WWW}/sitemap.xml.gz").replace(b"</sitemapindex>", f"{entry(PAGES[0])}</sitemapindex>".encode()),
        {("S10", "warning", SIGNAL), ("F01", "error", "unread")},
    ),
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
    rows: list[Any] = []
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
    assert "2 URLs listed, 0 valid, 0 that search engines may ignore, 2 of other hosts not checked" in report.url_counts
    result = run("audit", tmp_path, "--base", WWW, "-q")
    assert result.stderr == f"error: all URLs (2) are of other hosts, and were not checked, in {WWW}/\n"
    assert "URLs of other hosts, not checked</dt><dd>2" in report.to_html()


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


# --- hosts that only developers reach ---

SHOP = "https://lamps.shop"
TUNNELS = "a.ngrok.io a-b.ngrok-free.app x.trycloudflare.com x.loca.lt 3000-x.gitpod.io x-3000.app.github.dev"
PLATFORMS = "a-git-main-me.vercel.app 12--a.netlify.app 1a2b.a.pages.dev a.azurewebsites.net lamps.wpengine.com"
EXAMPLES = "lamps.test lamps.invalid shop.example www.example.com example.org"
NETWORKS = "nas.local wiki.internal a.home.arpa web"
LOCAL = "localhost lamps.localhost 127.0.0.1 10.0.0.7 [::1]"
HOSTS = {
    **dict.fromkeys(TUNNELS.split(), "a tunnel to the machine of a developer"),
    **dict.fromkeys(PLATFORMS.split(), "a platform's host, as previews have"),
    **dict.fromkeys(EXAMPLES.split(), "a name for tests and examples"),
    **dict.fromkeys(NETWORKS.split(), "a name of a private network"),
    **dict.fromkeys(LOCAL.split(), "a private address"),
    **dict.fromkeys(("staging.lamps.shop", "dev2.lamps.de"), "a staging host by its name"),
    "lamps.shop:3000": "a development server by its port",
    "www.lamps.shop:8080": "a development server by its port",
}
PUBLIC = (
    "lamps.shop:8443 lamps.de:3000 vercel.app.lamps.shop myvercel.app ngrok.io.de testing.com latest.lamps.de "
    "local.lamps.de internal.shop example.shop"
)


def recorded(folder: Path, body: bytes, base: str = SHOP) -> Path:
    return Site({"robots.txt": robots(f"{base}/sitemap.xml"), "sitemap.xml": body}, base).write(folder / "site")


@pytest.mark.parametrize("host", [*HOSTS, *PUBLIC.split()])
def test_a_page_on_a_host_of_developers(host: str, tmp_path: Path) -> None:
    page = f"http://{host}/a"
    report = sr.audit(recorded(tmp_path, urlset(f"{SHOP}/", page)), select="U04,U14")
    (finding,) = report.findings
    what = HOSTS.get(host)
    assert (finding.code, finding.severity, finding.impact) == (
        ("U14", "error", "lost") if what else ("U04", "warning", "lost")
    )
    name = host if "port" in (what or "") else host.removesuffix(":8443")
    message = f"{page}: {name} is {what}" if what else f"{page} has another "
    assert finding.samples[0].message.startswith(message)
    assert [each.kind for each in finding.kinds] == [what or host.partition(":")[0]]


@pytest.mark.parametrize("own", [
    "https://lamps.vercel.app", "https://lamps.netlify.app", "https://a.pages.dev", "https://a.ngrok.io", "http://nas.local",
    "http://lamps.test", "http://lamps.shop:3000", "https://staging.lamps.shop",
])  # fmt: skip
def test_a_site_may_live_on_any_host(own: str, tmp_path: Path) -> None:
    media = f"<image:image><image:loc>{own}/a.jpg</image:loc></image:image>"
    body = urlset(f'<url xmlns:image="{IMAGES}"><loc>{own}/a</loc>{media}</url>')
    assert sr.audit(recorded(tmp_path, body, own), select="U", ignore="U18").findings == ()


def test_a_preview_of_a_site_that_lives_on_the_same_platform(tmp_path: Path) -> None:
    own = "https://lamps.vercel.app"
    report = sr.audit(recorded(tmp_path, urlset(f"{own}/", "https://lamps-git-main.vercel.app/"), own), select="U")
    assert found(report) == {("U14", "error", "lost")}


def test_names_for_examples_say_nothing_in_a_site_that_is_one(tmp_path: Path) -> None:
    report = sr.audit(recorded(tmp_path, urlset(f"{WWW}/", "https://other.test/"), WWW), select="U")
    assert found(report) == {("U04", "warning", "lost")}


@pytest.mark.parametrize(("url", "is_found"), [
    ("https://a.ngrok-free.app/a.jpg", True), ("http://lamps.shop:3000/a.jpg", True),
    ("https://example.com/a.jpg", True),
    ("https://img.staging.lamps.shop/a.jpg", True), ("https://lamps.vercel.app/a.jpg", False),
    ("https://preview.redd.it/a.jpg", False), ("https://cdn.lamps.de/a.jpg", False),
])  # fmt: skip
def test_an_image_may_be_on_any_platform(url: str, is_found: bool, tmp_path: Path) -> None:
    media = f"<image:image><image:loc>{url}</image:loc></image:image>"
    body = urlset(f'<url xmlns:image="{IMAGES}"><loc>{SHOP}/a</loc>{media}</url>')
    expected = {("U14", "error", "media")} if is_found else set()
    assert found(sr.audit(recorded(tmp_path, body), select="U14")) == expected


def test_a_dump_without_sitemaps_has_no_own_host(tmp_path: Path) -> None:
    (tmp_path / "urls.jsonl").write_text('{"loc":"https://lamps.vercel.app/"}\n{"loc":"https://a.example/"}\n')
    assert sr.audit(tmp_path / "urls.jsonl", select="U14").findings == ()


# --- what a fault costs ---


def test_a_fault_of_an_image_or_video_costs_no_page(tmp_path: Path) -> None:
    """Also where a page of the same sitemap has the same fault."""
    video = "http://www.google.com/schemas/sitemap-video/1.1"
    inside = (
        "<image:image><image:loc>undefined/a.jpg</image:loc></image:image>"
        "<image:image><image:loc>http://localhost/b.jpg</image:loc></image:image>"
        "<video:video><video:title>Lamps</video:title><video:content_loc>https://me:pw@lamps.shop/v.mp4"
        "</video:content_loc></video:video>"
    )
    page = f'<url xmlns:image="{IMAGES}" xmlns:video="{video}"><loc>{SHOP}/a</loc>{inside}</url>'
    folder = recorded(tmp_path, urlset(page, entry("undefined/b"), entry("http://localhost/")))
    rows: list[Any] = []
    report = sr.audit(folder, select="U14,U15,V", on_occurrence=rows.append)
    assert {(each.code, each.impact, each.count) for each in report.findings} == {
        ("U14", "lost", 1), ("U15", "lost", 1), ("U14", "media", 2), ("U15", "media", 1), ("V01", "media", 1),
    }  # fmt: skip
    text = str(report)
    assert text.index("may ignore:\nerror    U14  1") < text.index("Images and videos that search engines may ignore:")
    html = report.to_html(rows)
    assert all(f'id="{each}"' in html for each in ("U14", "U15", "U14-error", "U15-error", "V01"))
    markdown = report.to_markdown(rows)
    first, second = (part.partition("</details>")[0] for part in markdown.split("<b>U15</b>")[1:])
    assert ('"undefined/b"' in first, "image:loc" in first) == (True, False)
    assert ('"undefined/b"' in second, "image:loc" in second) == (False, True)


def test_pages_of_other_hosts_may_be_accepted(tmp_path: Path) -> None:
    """If both hosts are verified in one Search Console account, which no audit can see."""
    accepted = "Google accepts it if both are verified in one Search Console account"
    pages = ("https://www.lamps.shop/a", "https://lamps.de/b", "https://lamps.shop:8443/c")
    report = sr.audit(recorded(tmp_path, urlset(f"{SHOP}/", *pages)), select="U04")
    (finding,) = report.findings
    assert [each.message for each in sorted(finding.samples, key=lambda each: each.line)] == [
        f"{page} has another {what} than its sitemap; {accepted}"
        for page, what in zip(pages, ("host", "host", "port"), strict=True)
    ]
    assert (finding.severity, IMPACTS[finding.impact]) == ("warning", "URLs that search engines may ignore")
    assert report.headline == "0 errors, 1 warning and 0 notices (3 places) in 1 URL (3 of 4 may be ignored)"
    assert report.url_counts == "4 URLs listed, 1 valid, 3 that search engines may ignore"


def test_a_sitemap_of_another_host_may_be_accepted(tmp_path: Path) -> None:
    child = "https://lamps.de/a.xml"
    report = sr.audit(recorded(tmp_path, index(child)), select="U04")
    (sample,) = report.findings[0].samples
    assert sample.message.startswith(f"{child} is on another host, not verified by robots.txt: not read; Google acc")


@pytest.mark.parametrize(("pages", "message", "impact"), [
    (("https://lamps.de/a", "http://lamps.shop:81/b"), "all of its 2 entries are of another host, scheme", "lost"),
    (("ftp://lamps.shop/a", "https://lamps.de/a"), "search engines can use none of its 2 entries", "unread"),
    (("undefined",), "search engines can use none of its 1 entries", "unread"),
    ((), "it has no entry", "unread"),
])
def test_a_sitemap_of_which_no_url_counts(pages: tuple[str, ...], message: str, impact: str, tmp_path: Path) -> None:
    report = sr.audit(recorded(tmp_path, urlset(*pages)), select="S06")
    (finding,) = report.findings
    assert (finding.severity, finding.impact) == ("error", impact)
    assert finding.samples[0].message.startswith(message)


# --- URLs that this program reads, and search engines do not ---


def test_urls_of_a_refused_sitemap_are_counted(tmp_path: Path) -> None:
    folder = site(tmp_path, urlset(f"{WWW}/?a=1&b=2", PAGES[1]), b=GOOD)
    (folder / "robots.txt").write_bytes(robots(f"{WWW}/sitemap.xml", f"{WWW}/b.xml"))
    report = audited(folder)
    assert (report.urls, report.unread, json.loads(report.to_json())["unread"]) == (4, 2, 2)
    words = "4 URLs listed, 4 valid (2 of them in sitemaps that search engines cannot read), 0 that search engines may"
    assert words in report.to_markdown()
    assert words in " ".join(str(report).split())
    assert "URLs in unreadable sitemaps" in report.to_html()
    config = files(tmp_path / "config", {"c.toml": '[audit.severity]\nS01 = "notice"\n'}) / "c.toml"
    for options in ({"select": "U"}, {"policy": config}):  # nothing says that they are refused
        other = audited(folder, **options)
        assert (other.urls, other.unread) == (4, 0)
        assert "cannot read" not in str(other).partition("\n\n")[0]


# --- two listings of a page ---


def dated(lastmod: str) -> str:
    return entry(f"{SHOP}/a", f"<lastmod>{lastmod}</lastmod>" if lastmod else "")


DATES = [
    ("2026-10-02", "2026-10-20", True), ("2026-10-20", "2026-10-02", True), ("2026-10-02", "2026-10-02", False),
    ("2026-10-02", "2026-10-03T23:59:00Z", False), ("2026-10-02", "2026-10-04T00:00:00Z", True),
    ("2026-10-02T23:59:00Z", "2026-10-01", False), ("2026-10", "2026-10-31", False), ("2026", "2027-01-01", False),
    ("2026-10-02T10:00:00Z", "2026-10-02T12:00:00+02:00", False),
    ("2026-10-02T10:00:00Z", "2026-10-02T10:00:01Z", True),
    ("2026-10-02T10:00:00.5Z", "2026-10-02T10:00:00.25Z", True),
    ("2026-10-02", "", False), ("", "2026-10-02", False),
]  # fmt: skip


@pytest.mark.parametrize("code", ["U06", "U07"])
@pytest.mark.parametrize(("first", "second", "differ"), DATES)
def test_one_page_with_two_lastmods(code: str, first: str, second: str, differ: bool, tmp_path: Path) -> None:
    """In one sitemap, and in two; what may be the same date in another time zone is no contradiction."""
    others = [entry(f"{SHOP}/b"), entry(f"{SHOP}/c", "<lastmod>2026-01-01</lastmod>")]
    maps = {"a.xml": urlset(dated(first), *others, dated(second))}
    if code == "U07":
        maps = {"a.xml": urlset(dated(first), *others), "b.xml": urlset(dated(second))}
    pages = {"robots.txt": robots(*(f"{SHOP}/{name}" for name in maps)), **maps}
    (finding,) = sr.audit(Site(pages, SHOP).write(tmp_path / "site"), select="U06,U07").findings
    assert (finding.code, finding.severity, finding.count) == (code, "notice", 1)
    assert [each.kind for each in finding.kinds] == ["with another lastmod"] * differ
    message = finding.samples[0].message
    assert message.endswith(f", there with the lastmod {first}, here {second}" if differ else ("already", "too"))


# --- indexes in a cycle ---


def test_an_index_in_a_cycle_is_nested(tmp_path: Path) -> None:
    pages = {
        "robots.txt": robots(f"{SHOP}/a.xml"), "a.xml": index(f"{SHOP}/b.xml", f"{SHOP}/c.xml"),
        "b.xml": index(f"{SHOP}/a.xml"), "c.xml": urlset(f"{SHOP}/"),
    }  # fmt: skip
    report = sr.audit(Site(pages, SHOP).write(tmp_path / "site"), select="S04,S05")
    assert found(report) == {("S04", "error", "lost"), ("S05", "error", "lost")}


def test_a_robots_txt_that_names_itself_loses_nothing(tmp_path: Path) -> None:
    pages = {"robots.txt": robots(f"{SHOP}/robots.txt", f"{SHOP}/c.xml"), "c.xml": urlset(f"{SHOP}/")}
    report = sr.audit(Site(pages, SHOP).write(tmp_path / "site"), select="S04,S05")
    assert found(report) == {("S05", "warning", "lost")}


# --- one fault, one finding ---


@pytest.mark.parametrize(("other", "is_both"), [
    ("a?utm_source=rss", False), ("a?utm_source=rss&amp;utm_medium=feed", False), ("a?GCLID=1", False),
    ("a?utm_source=rss&amp;sort=price", True), ("a/?utm_source=rss", True), ("a?ref=rss", None),
])  # fmt: skip
def test_a_page_beside_itself_with_a_tracking_parameter_is_one_fault(
    tmp_path: Path, other: str, is_both: bool | None
) -> None:
    folder = site(tmp_path, urlset(PAGES[0], f"{WWW}/{other}"))
    codes = {each.code for each in audited(folder, select="U").findings}
    assert codes == {None: {"U16"}, True: {"U09", "U16"}, False: {"U09"}}[is_both]
    assert [each.count for each in sr.audit(folder, base=WWW, select="U16").findings] == [1]


@pytest.mark.parametrize(("lastmods", "expected"), [
    (("1970-01-01", "null"), []),
    (("null", "2026-13-01", "2026-11-01", ""), []),
    (("null", "", ""), ["1 of 3 URLs have a lastmod, 1 of them an unreadable one"]),
    (("null", "2026-11-01", "", "", ""), ["2 of 5 URLs have a lastmod, 1 of them an unreadable one"]),
    (("2026-11-01", "", ""), ["1 of 3 URLs have a lastmod"]),
])  # fmt: skip
def test_lastmods_that_cannot_be_read_are_not_missing(
    tmp_path: Path, lastmods: tuple[str, ...], expected: list[str]
) -> None:
    entries = [entry(f"{WWW}/{at}", f"<lastmod>{each}</lastmod>" * bool(each)) for at, each in enumerate(lastmods)]
    report = sr.audit(site(tmp_path, urlset(*entries)), base=WWW, select="D07")
    assert [each.message for finding in report.findings for each in finding.samples] == expected


def test_a_site_that_is_not_crawled_stands_with_pages_that_cannot_be_indexed(tmp_path: Path) -> None:
    folder = site(tmp_path, GOOD)
    (folder / "robots.txt").write_text(f"User-agent: Googlebot\nDisallow: /\nSitemap: {WWW}/sitemap.xml\n")
    assert found(audited(folder)) == {("F20", "error", "unindexed")}
