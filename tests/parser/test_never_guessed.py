"""Ambiguous damage: an entry is dropped and reported, rather than read as a URL that was not listed."""

import pytest
from kit import parse

import sitemap_reader as sr

HOST = "https://example.com/"
IMAGES = "http://www.google.com/schemas/sitemap-image/1.1"


def urlset(inside: str) -> str:
    """A urlset with a complete entry at the end."""
    head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return f"{head}\n{inside}\n<url><loc>{HOST}z</loc></url></urlset>"


def rss(inside: str) -> str:
    return f"<rss><channel>{inside}<item><link>{HOST}z</link></item></channel></rss>"


def atom(inside: str) -> str:
    entry = f'<entry><link href="{HOST}z"/></entry>'
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{inside}{entry}</feed>'


A = HOST + "a"
B = HOST + "b"
HOLE = "\0" * 16
QUOTED = f"</description></item><item><link>{B}</link></item>"

# name, document, the returned paths, whether it is complete
ROWS: list[tuple[str, str, str, bool]] = [
    # CDATA sections that are not closed, or badly
    ("section over entries", urlset(f"<url><loc><![CDATA[{A}\n</url><url><loc>{B}</loc></url>"), "z", False),
    ("section closed by ]>", urlset(f"<url><loc><![CDATA[{A}]></loc></url>"), "z", False),
    ("section closed by ]]/>", urlset(f"<url><loc><![CDATA[{A}]]/></loc></url>"), "z", False),
    ("section closed by > only", urlset(f"<url><loc><![CDATA[{A}></loc></url>"), "z", False),
    ("section closed by ]]", urlset(f"<url><loc><![CDATA[{A}]]</loc></url>"), "a z", True),
    ("section with a spaced end tag", urlset(f"<url><loc><![CDATA[{A}</loc ></url>"), "a z", True),
    ("section that may end with the next one",
     urlset(f"<url><loc><![CDATA[{A}</loc></url><url><loc><![CDATA[{B}]]></loc></url>"), "z", False),
    ("section that does not end with the next one",
     urlset(f"<url><loc><![CDATA[{A}</loc></url><url><loc>{B}</loc><x><![CDATA[x]]></x></url>"), "a b z", True),
    # broken markup inside an element in a location
    ("the root's name and a broken end in a location",
     urlset(f"<url><loc>{A}\n<urlset xmlns=</lo\nc>\n b<urlset xmlns=</lo\nc></url>"), "z", False),
    # CDATA sections that quote markup
    ("an entry in a text", rss(f"<item><description><![CDATA[{QUOTED}]]></description><link>{A}</link></item>"),
     "a z", True),
    ("an entry in a text with more behind",
     rss(f"<item><description><![CDATA[{QUOTED}]]>...<br/></description><link>{A}</link></item>"), "a z", True),
    ("an entry and the end of a section in a text",
     rss(f"<item><description><![CDATA[{QUOTED}]]]]><![CDATA[>]]></description><link>{A}</link></item>"), "a z", True),
    ("an entry in a text, and an end tag that is lost",
     rss(f"<item><x><description><![CDATA[{QUOTED}]]></description><link>{A}</link></item>"), "a z", False),
    ("an entry with a section in a text",
     rss(f"<item><description><![CDATA[{QUOTED}<![CDATA[]]></description><link>{A}</link></item>"), "a z", False),
    ("the same where a & starts the repair of characters",
     rss(f"<item><x>&</x><description><![CDATA[{QUOTED}]]></description><link>{A}</link></item>"), "a z", True),
    ("a section over two entries", rss(f"<item><description><![CDATA[a]]<description></item><item><link>{B}</link>"
     f"<title>]]></title></item><item><link>{A}</link><x></item>"), "a z", False),
    ("an entry in a location", rss(f"<item><link><![CDATA[{QUOTED}]]></link></item>"), "z", False),
    ("an entry in a location, with a section",
     rss(f"<item><link><![CDATA[{A}</link></item><item><link><![CDATA[{B}]]></link></item>"), "z", False),
    # locations of other elements
    ("an image's start is lost", urlset(f"<url><loc>{A}</loc><loc>{B}</loc></image></url>"), "z", False),
    ("an image is misspelled", urlset(f'<url><loc>{A}</loc><immage xmlns="{IMAGES}"><loc>{B}</loc></image></url>'),
     "a z", True),
    ("an unreadable Atom link", atom(f'<entry><link rel"enclosure" href="{B}"/><link href="{A}"/></entry>'),
     "z", False),
    ("a value that goes on to the next", atom(f'<entry><link rel="alternate href="{A}"/></entry>'), "z", False),
    ("a slash that may be the URL's", atom(f"<entry><link href={A}/></entry>"), "z", False),
    # ends of locations
    ("; for <", urlset(f"<url><loc>{A};/loc></url>"), "z", False),
    ("< is lost", urlset(f"<url><loc>{A}/loc></url>"), "a z", True),
    ("</l is lost", urlset(f"<url><loc>{A}oc></url>"), "z", False),
    ("</loc> became /<loc>", urlset(f"<url><loc>{A}/<loc></url>"), "z", False),
    ("markup that ends nothing", urlset(f"<url><loc>{A}</b>c</loc></url>"), "z", False),
    ("an instruction without a name", urlset(f"<url><loc>{A}<?= $x ?>c</loc></url>"), "z", False),
    ("a location that is cut behind a stray end tag", f"<urlset><url><loc>{A}</b>c", "", False),
    ("a location that is cut in its end tag", f"<urlset><url><loc>{A}</lo", "a", False),
    ("a location in an undeclared namespace", urlset(f"<url><s:loc>{A}</s:loc></url>"), "z", False),
    # entries that run into each other
    ("fields of one entry, location of the next",
     urlset(f"<url><loc>{A}</loc><lastmod>2026-01-01</lastmod>/url><uzl><loc>{B}</loc></url>"), "a:2026 b z", False),
    ("an item's start is lost", rss(f"<item><link>{A}</link></item><title>x</title><link>{B}</link></item>"),
     "a z", False),
    ("two ends of an item", rss(f"<item><link>{A}</link></item></item>"), "a z", True),
    ("an Atom entry's start is lost", atom(f'<entry><link href="{A}"/><<x/><link href="{B}/related"/></entry>'),
     "a z", False),
    ("a title is no item", rss(f'<item><guid isPermaLink="false">x</guid>"title>a</title><link>{A}</link></item>'),
     "a z", False),
    ("the second location is broken", urlset(f"<url><loc>{A}</loc><loc>{B}]]></loc></url>"), "a z", False),
    # entries in comments, or in text
    ("a comment whose end is damaged", urlset(f"<!-- old -><url><loc>{A}</loc></url><!-- x -->"), "z", False),
    ("a comment whose beginning is damaged", urlset(f"<!- <url><loc>{A}</loc></url> -->"), "z", False),
    ("an entry in an instruction",
     urlset(f'<url><loc>{A}<b></loc></url><?php "<url><loc>{B}</loc></url>" ?>'), "z", False),
    ("a list of URLs that is none", f"urlset>\n<url><loc>\n{A}</loc></url>", "a", False),
    ("markup in a list of URLs", f"{A}\n{B}</loc>\n", "a", True),
    # sections, comments and instructions over entries
    ("a section without an end in an entry", urlset(f"<url><loc>{A}</loc><![CDATA[\n<url><loc>{B}</loc></url>"),
     "a b z", True),
    ("a section without an end in a field",
     urlset(f"<url><loc>{A}</loc><lastmod><![CDATA[2026<priority>1</priority></url>"
            f"<url><loc>{B}</loc><lastmod>2026</lastmod></url>"), "a b:2026 z", True),
    ("a section over entries, in a field", urlset(
        f"<url><loc>{A}</loc><lastmod><![CDATA[2026</lastmod></url><url><loc>{B}</loc><x>]]></x></lastmod></url>"),
     "a z", False),
    ("a section between entries", urlset(f"<![CDATA[<url><loc>{A}</loc></url>]]>"), "z", False),
    ("a section of text between entries", urlset("<![CDATA[a < b]]>"), "z", True),
    ("a section that quotes an entry", rss(
        f"<item><link>{A}</link><description><![CDATA[<url><loc>{B}</loc></url>]]></description></item>"), "a z", True),
    ("a section over items", rss(f"<item><link>{A}</link><description><![CDATA[<p>a<escription></item><item>"
     f"<link>{B}</link><description><![CDATA[b]]></description></item>"), "a z", False),
    ("a comment", urlset(f"<!-- <url><loc>{A}</loc></url> -->"), "z", True),
    ("a comment behind a repair", urlset(f"<url><loc>{A}</loc>&</url><!-- <url><loc>{B}</loc></url> -->"), "a z", True),
    ("a comment in a damaged tag", urlset(f"<url<!-- <url><loc>{A}</loc></url> -->"), "z", False),
    ("a comment in a damaged end tag", urlset(f"<url><loc>{A}</loc></url<!-- ><url><loc>{B}</loc></url> -->"),
     "a z", False),
    ("a malformed instruction", urlset(f"<?</x><url><loc>{A}</loc></url>?>"), "z", False),
    ("a malformed instruction over nothing", urlset(f"<url><loc>{A}</loc><? echo ?></url>"), "a z", True),
    ("an instruction over an entry", urlset(f"<?x <url><loc>{A}</loc></url>?>"), "z", False),
    # behind the end of the root
    *((f"{what} without an end behind the root", urlset("") + f"{opening}<url><loc>{A}</loc></url>", "z", False)
      for what, opening in (("section", "<![CDATA["), ("comment", "<!-- "), ("instruction", "<?x "))),
    ("a section over an entry behind the root",
     urlset("") + f"<![CDATA[<url><loc>{A}</loc></url>]]><url><loc>{B}</loc></url></urlset>", "z b", False),
    ("a comment without an end and entries behind the root", urlset("") + "<!-- made by x", "z", True),
    # a hole in the file
    ("a hole over entries", urlset(f"<url><loc>{A}</loc>{HOLE}ge></url>"), "a z", False),
    ("a hole between entries", urlset(f"<url><loc>{A}</loc></url>{HOLE}"), "a z", False),
    ("a hole in a URL", urlset(f"<url><loc>{A}{HOLE}{B}</loc></url>"), "z", False),
    ("a hole in a tag", urlset(f"<url><loc>{A}</loc><last{HOLE}></url>"), "a z", False),
    ("a hole in a comment", urlset(f"<url><loc>{A}</loc></url><!-- {HOLE} -->"), "a z", False),
    ("a hole in a title", rss(f"<item><title>x{HOLE}</title><link>{A}</link></item>"), "a z", False),
    ("NULs that are no hole", urlset(f"<url><loc>{A}</loc></url>\0\0\0"), "a z", True),
    ("NULs behind the end", urlset(f"<url><loc>{A}</loc></url>") + HOLE, "a z", True),
    *((f"a hole in a list of URLs: {what}", f"{HOST}1\n{lines}\n{HOST}5\n", "1 5", complete)
      for what, lines, complete in (
          ("within a line", f"{HOST}2{HOLE}4", False), ("a line of its own", HOLE, False),
          ("of another character", "\x07" * 64, False), ("NULs that are none", "\0\0", True))),
    # URLs that no location holds
    ("a URL in a tag that is none", urlset(f"</ur><ul><oc>{A}</oc></ul>"), "z", False),
    ("a URL in an unknown element of a repaired entry", urlset(f"<url><loc>{A}</loc></ul><ul><oc>{B}</oc></url>"),
     "a z", False),
    ("entry of another format in an empty one", atom(f'<entry<url><id>x</id><link href="{A}"/></entry>'), "z", False),
    # truncated documents
    ("nothing but damage in capitals",
     f"<urlset><Url><lastmod><lastmod></stmo><loc>{A}</loc></url></urlset>", "a", True),
]


def reported(body: bytes, size: int) -> tuple[str, bool]:
    """The returned paths with the years of dates, and whether the outcome is complete."""
    found = parse(body, size)
    urls = found.of(sr.UrlRecord)
    paths = [url.loc.removeprefix(HOST) + (f":{url.lastmod.year}" if url.lastmod else "") for url in urls]
    return " ".join(paths), found.outcome().complete


@pytest.mark.parametrize(("body", "found", "complete"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_ambiguous_entries_are_dropped_and_never_guessed(body: str, found: str, complete: bool) -> None:
    data = body.encode()
    for size in (1, 7, len(data)):
        assert reported(data, size) == (found, complete), size


@pytest.mark.slow
def test_commented_out_entries_stay_so_in_any_chunks() -> None:
    """If an entry is dropped, the search for the next one skips comments, which may end much later."""
    retired = f"<!-- retired pages xx<url><loc>{B}</loc></url> -->"
    body = urlset(" " * 1_100 + f"<url>loc>{A}</loc></url>\n{retired}{' ' * 300}\n").encode()
    for size in range(1, 150):
        assert reported(body, size) == ("z", False), size


def test_an_empty_location_beside_another_is_no_entry_of_its_own() -> None:
    document = sr.parse(urlset(f"<url><loc></loc><loc>{A}</loc></url>"))
    assert [url.loc for url in document.urls] == [A, HOST + "z"]
    assert document.problems == []


@pytest.mark.parametrize("loc", [f"&gt;{A}", "a&lt;/loc", '"&gt;/b'])
def test_markup_is_not_resolved_against_the_document(loc: str) -> None:
    document = sr.parse(urlset(f"<url><loc>{loc}</loc></url>"), url=f"{HOST}sitemap.xml")
    assert [url.loc for url in document.urls] == [HOST + "z"]
    assert [problem.code for problem in document.problems] == ["U15"]
