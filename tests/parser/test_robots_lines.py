"""Sitemap lines as they are written in the wild."""

import time

import pytest

import sitemap_reader as sr
from sitemap_reader.parser import is_html, robots_body, sitemap_lines

URL = "https://example.com/sitemap.xml"


@pytest.mark.parametrize("line", [
    f"Sitemap: {URL}", f"SITEMAP:{URL}", f"  sitemap : \t{URL}  ", f"\ufeffSitemap: {URL}",
    f"Sitemap: {URL} # the main one", f"Sitemap: {URL}\t#", f"\0Sitemap:\0 {URL}\0", "\0".join(f"Sitemap: {URL}"),
    f"\u00a0Sitemap:\u2003{URL}\u2028",
])
def test_clean_lines(line: str) -> None:
    assert [(found.loc, found.line, found.fault) for found in sitemap_lines(line)] == [(URL, 1, None)]


@pytest.mark.parametrize(("line", "wording"), [
    (f"Site-map: {URL}", '"Site-map:" in place of'),
    (f"sitemaps: {URL}", '"sitemaps:" in place of'),
    (f"Sitemap_index: {URL}", '"Sitemap_index:" in place of'),
    (f"Sitemap={URL}", '"Sitemap=" in place of'),
    (f"Sitemap\uff1a{URL}", "in place of"),
    (f"Sitemap:: {URL}", "in place of"),
    (f"Sitemap {URL}", 'no colon behind "Sitemap"'),
    (f'Sitemap "{URL}"', 'no colon behind "Sitemap"'),
    (f'Sitemap: "{URL}"', "quotes or brackets"),
    (f"Sitemap: <{URL}>", "quotes or brackets"),
    (f"Sitemap: '{URL} '", "quotes or brackets"),
    (f"Sitemap: \u201c{URL}\u201d", "quotes or brackets"),
    (f"Sitemap: <{URL}", "quotes or brackets"),
    (URL, "without a Sitemap key"),
    (f"<{URL}>", "without a Sitemap key"),
    (f"{URL}  # ours", "without a Sitemap key"),
])
def test_malformed_lines_are_read_and_reported(line: str, wording: str) -> None:
    (found,) = sitemap_lines(line)
    assert found.loc == URL
    assert found.raw in line
    assert wording in found.fault


A, B = "https://example.com/a.xml", "https://example.com/b.xml"
BREAK, SEVERAL, OPEN, TWICE = "line break is missing", "several URLs in", "where the URL ends", "written twice"


@pytest.mark.parametrize(("line", "found", "wording"), [
    (f"Sitemap: Sitemap: {A}", [A], TWICE),
    ("Sitemap: sitemap : /a.xml", ["/a.xml"], TWICE),
    *((f"Sitemap: {A}{sep}{B}", [A, B], SEVERAL) for sep in (",", ";", "|", " | ", " ;", ",  ", " ", "\u2028")),
    (f"Sitemap: {A}?x=1, {B}", [f"{A}?x=1", B], SEVERAL),
    (f'Sitemap: "{A}","{B}"', [A, B], "quotes"),
    # a line break is missing
    (f"Sitemap: {A} Sitemap: {B}", [A, B], BREAK),
    (f"Sitemap: Sitemap: {A} Sitemap: {B}", [A, B], BREAK),
    ("Sitemap: /a.xml Sitemap: /b.xml", ["/a.xml", "/b.xml"], BREAK),
    (f"User-agent: * Disallow: /x Sitemap: {A}", [A], BREAK),
    (f"Disallow: Sitemap: {A}", [A], BREAK),
    (f"Disallow: /xSitemap: {A}", [A], BREAK),
    (f"Sitemap: {A} User-agent: * Disallow: /x", [A], BREAK),
    (f"Sitemap: {A}User-agent: *", [A], BREAK),
    (f"Sitemap: {A}Sitemap: {B}", [A, B], BREAK),
    (f"Sitemap: {A}Sitemap:{B}", [A, B], BREAK),
    (f"Sitemap: {A} Sitemap:", [A, ""], BREAK),
    # two readings
    (f"Sitemap: https://example.com/fooSitemap: {B}", ["", B], OPEN),
    (f"Sitemap: https://example.com/post-sitemap: {B}", ["", B], OPEN),
    (f"Sitemap: https://example.com/s?u=x,{B}", [f"https://example.com/s?u=x,{B}"], "may be several"),
    # characters that are not seen
    *((f"{hidden}Sitemap: {A}", [A], "stray characters before it")
      for hidden in ("\xef\xbb\xbf", *"\u200b\u200e\u200f\xad\u2060\u202a", " \u200b \ufeff\u200e ")),
])
def test_lines_that_were_joined_or_begin_with_other_characters(line: str, found: list[str], wording: str) -> None:
    lines = sitemap_lines(f"User-agent: *\n{line}\nDisallow: /a")
    assert [each.loc for each in lines] == found
    assert {each.line for each in lines} == {2}
    assert all(each.fault and each.raw in line for each in lines)
    assert wording in str(lines[0].fault)


def test_a_hole_loses_its_line_and_makes_up_no_url() -> None:
    hole = "\0" * 4096
    for text in (
        f"User-agent: *\nSitemap: https://example.com/post{hole}map.xml\nSitemap: {B}\n",
        f"User-agent: *\nDisallow: /post{hole}map.xml\nSitemap: {B}\n",
        f"Sitemap: {B}\n{hole}",
    ):
        document = sr.parse(text.encode(), url="https://example.com/robots.txt")
        assert [ref.loc for ref in document.children] == [B]
        assert [problem.code for problem in document.problems] == ["S01"]
        assert not document.outcome.complete
    wide = "\0".join(f"Sitemap: {A}\n") + "\0" + hole + "\0".join(f"map.xml\nSitemap: {B}\n")
    assert [(each.loc, each.is_lost) for each in sitemap_lines(wide)] == [(A, False), ("", True), (B, False)]


def test_a_binary_file_is_no_robots_txt_with_holes() -> None:
    document = sr.parse(b"PK\r\n" + b"\0" * 64, url="https://example.com/robots.txt")
    assert (document.problems, document.outcome.complete) == ([], True)


@pytest.mark.parametrize("url", [
    "http://example.com/Sitemap_Index.XML.gz",
    "https://example.com/post-sitemap1.xml",
    "https://example.com/sitemaps/shop.xml?page=2",
    "https://example.com/site-map.txt",
    "https://example.com/sitemap",
])
def test_a_bare_url_that_names_a_sitemap_counts(url: str) -> None:
    assert [found.loc for found in sitemap_lines(url)] == [url]


@pytest.mark.parametrize("line", [
    "", f"# Sitemap: {URL}", f"#{URL}", "https://example.com/", "https://example.com/about.xml",
    "https://sitemap.example/", "https://example.com/sitemap.html", f"see {URL}", f"{URL} is ours",
    "Disallow: /sitemap.xml", f"Allow: {URL}", "Sitemap and more", f"My-Sitemap: {URL}", f"My Sitemap: {URL}",
    f"Disallow: /a # Sitemap: {URL}", f"\u200b# Sitemap: {URL}",
])
def test_lines_that_name_no_sitemap(line: str) -> None:
    assert sitemap_lines(line) == []


@pytest.mark.parametrize(
    "line", ["Sitemap:", "sitemap : \t", "Sitemap: # none yet", "Sitemap:#none", 'Sitemap: ""', "Sitemaps:"]
)
def test_a_line_that_is_empty_is_malformed(line: str) -> None:
    (found,) = sitemap_lines(f"User-agent: *\n{line}")
    assert (found.loc, found.line, found.fault) == ("", 2, "it names nothing")
    document = sr.parse(f"{line}\nSitemap: {URL}", url="https://example.com/robots.txt")
    assert [ref.loc for ref in document.children] == [URL]
    assert [(p.code, p.line, p.message) for p in document.problems] == [
        ("F12", 1, "malformed Sitemap line: it names nothing")
    ]
    assert (document.outcome.entries, document.outcome.complete) == (1, True)


@pytest.mark.parametrize("value", ["/sitemap.xml", "sitemap.xml", "//example.com/s.xml", "../s.xml#part", "a\0b.xml"])
def test_a_value_is_left_as_it_is(value: str) -> None:
    (found,) = sitemap_lines(f"Sitemap: {value}")
    assert (found.loc, found.raw, found.fault) == (value, value, None)


def test_fragments_survive_and_comments_go() -> None:
    (found,) = sitemap_lines(f"Sitemap: {URL}#a#b #c")
    assert found.loc == f"{URL}#a#b"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_from_anywhere_with_any_newline(newline: str) -> None:
    text = newline.join(["Sitemap: /1", "User-agent: *", "Sitemap: /2", "Disallow: /", "", "sitemap: /3", ""])
    assert [(found.loc, found.line) for found in sitemap_lines(text)] == [("/1", 1), ("/2", 3), ("/3", 6)]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c"])
def test_other_separators_end_no_line(separator: str) -> None:
    assert sitemap_lines(f"# comment{separator}Sitemap: {URL}") == []


@pytest.mark.parametrize("page", [
    "<!DOCTYPE html>", "\ufeff\n <HTML lang=en>", "<head>", "<!-- x --><html>", '<?xml version="1.0"?>\n<html>',
])
def test_html_has_no_lines(page: str) -> None:
    assert is_html(page)
    assert sitemap_lines(f"{page}\nSitemap: {URL}\n{URL}\n") == []


@pytest.mark.parametrize("text", ["", "User-agent: *", f"<{URL}>", "<br /><b>Warning</b>: x", "# <html>"])
def test_lines_that_are_no_html(text: str) -> None:
    assert not is_html(text)
    assert len(sitemap_lines(f"{text}\nSitemap: /s.xml")) >= 1


@pytest.mark.slow
def test_fifty_thousand_lines_are_read() -> None:
    found = sitemap_lines("".join(f"Sitemap: /{number}.xml\n" for number in range(50_000)))
    assert (len(found), found[-1].loc, found[-1].line) == (50_000, "/49999.xml", 50_000)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [
    "sitemap", "sitemap ", " ", " \0", "\0\ufeff", "#", " #", "<", '"', "https://e/s", "?,", "\u200b",
    "sitemap: ", "sitemap: /", "host: ", ".xmlhost:", "a ", ",https://e/s",
])
def test_hostile_lines_take_linear_time(unit: str) -> None:
    text = unit * (500_000 // len(unit))
    start = time.process_time()
    for line in (text, f"sitemap{text}", f"sitemap: {text}x", f"https://e.example/{text}"):
        sitemap_lines(line)
    assert time.process_time() - start < 5  # quadratic time would be minutes


BODIES = {
    "rules": ["User-agent: *", "user agent : googlebot # ours", "\ufeffUSERAGENT=*", "User-agent *", "Disallow:",
              "Dissallow: /x", "disalow /x", "Allow: *", "Crawl-delay: 5", "Content-Signal: search=yes",
              "Sitemap: https://example.com/map.xml", "Sitemap:", "hello\n\nDisallow: /x",
              "U\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0 \0*\0\n\0"],
    "comments": ["# nothing", "\n # a\r\n#b"],
    "empty": ["", " \r\n", "\ufeff", "\0\0"],
    "html": ["<!DOCTYPE html>\nDisallow: /x", '<meta http-equiv="refresh" content="0">'],
    "other": ["Access denied", "User agent not allowed", "User-Agent: bot/1.0 (+https://bot.example)",
              "Allow cookies to go on", "Request ID: 12", "Host: example.com", '{"user-agent": "*"}',
              "<p>Disallow: /x</p>", "x" * 1_000 + "\nhttps://example.com/about", "d" * 100_000],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in BODIES.items() for text in texts])
def test_kind_of_a_body(kind: str, text: str) -> None:
    assert robots_body(text) == kind
