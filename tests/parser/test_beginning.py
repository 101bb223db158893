"""Where a document begins: behind junk, at its root element; or at its first entry, if the root is lost."""

import pytest
from kit import parse

import sitemap_reader as sr
from sitemap_reader.parser import MAX_JUNK_BYTES

URL = "https://example.com/sitemap.xml"
A, B = "https://example.com/a", "https://example.com/b"
CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"
ATOM = "http://www.w3.org/2005/Atom"
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

# The start tags of a document, an entry of it, and its end tags, by format.
FORMS = {
    "urlset": (f'<urlset xmlns="{CORE}">', "<url><loc>{0}</loc><lastmod>2026-11-01</lastmod></url>", "</urlset>"),
    "prefixed urlset": (f'<s:urlset xmlns:s="{CORE}">', "<s:url><s:loc>{0}</s:loc></s:url>", "</s:urlset>"),
    "sitemapindex": (f'<sitemapindex xmlns="{CORE}">', "<sitemap><loc>{0}</loc></sitemap>", "</sitemapindex>"),
    "rss": ("<rss><channel><title>t</title>", "<item><title>x</title><link>{0}</link></item>", "</channel></rss>"),
    "atom": (f'<feed xmlns="{ATOM}">', '<entry><id>x</id><link href="{0}"/></entry>', "</feed>"),
    "rdf": (f"<rdf:RDF {RDF}><channel/>", "<item><link>{0}</link></item>", "</rdf:RDF>"),
}
NOTICE = "<br />\n<b>Warning</b>:  Undefined $x in <b>/srv/sitemap.php</b> on line <b>3</b><br />\n"
JUNK = {
    "an element of HTML": "<head/>",
    "a message of PHP": NOTICE,
    "many messages": NOTICE * 100,
    "text": "Notice: a & b, 1 < 2\n",
    "text and tags that do not match": "x</div><p class=y>\n",
    "an element": "<div><p>Loading</p></div>",
    "an element that is unknown": "<debug time='3'>x <y/></debug>",
    "an empty element that is unknown": "<debug/>",
    "a comment with a root": "<br><!-- <urlset><url> -->",
    "a script with a root": '<script>var x = "<urlset>";</script>',
    "a style": "<style>a > b {}</style>",
    "a section": "<![CDATA[ <urlset> ]]>\n",
    "an instruction and a section": "<hr/><?php echo ?><![CDATA[ <urlset> ]]>",
    "a comment without an end tag": "<p><!-- cached -->",
}


def result(document: str) -> tuple[str | None, list[str], list[str], bool]:
    """Format, locations, codes, and whether it is complete, however the bytes are cut and with expat alone."""
    found = parse(document, url=URL)
    sizes = (7, 1) if len(document) <= 3_000 else (7,)
    assert all(parse(document, size, url=URL).items == found.items for size in sizes), document[:200]
    exact = [item for item in parse(document, scans=False, url=URL).items if not isinstance(item, sr.Problem)]
    assert [item for item in found.items if not isinstance(item, sr.Problem)] == exact
    locs = [item.loc for item in found.items if isinstance(item, sr.UrlRecord | sr.SitemapRef)]
    return found.outcome().format, locs, found.codes, found.outcome().complete


def format_of(form: str) -> str:
    return {"prefixed urlset": "urlset", "rdf": "rss"}.get(form, form)


@pytest.mark.slow
@pytest.mark.parametrize("declaration", [DECLARATION, ""], ids=["declared", "undeclared"])
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("form", FORMS)
def test_what_stands_before_the_root_is_skipped(form: str, junk: str, declaration: str) -> None:
    start, entry, end = FORMS[form]
    document = declaration + junk + start + entry.format(A) + entry.format(B) + end
    assert result(document) == (format_of(form), [A, B], ["S08"], True)


@pytest.mark.slow
@pytest.mark.parametrize("junk", ["PHP Warning:  $x is undefined in /srv/a.php on line 3\n" * 1_100, f"{A}/debug\n"])
@pytest.mark.parametrize("declaration", [DECLARATION, ""], ids=["declared", "undeclared"])
@pytest.mark.parametrize("form", FORMS)
def test_text_before_the_declaration_is_skipped(form: str, declaration: str, junk: str) -> None:
    start, entry, end = FORMS[form]
    document = junk + declaration + start + entry.format(A) + entry.format(B) + end
    assert result(document) == (format_of(form), [A, B], ["S08"], True)


def test_the_problem_says_how_much_was_skipped_and_where() -> None:
    start, entry, end = FORMS["urlset"]
    (problem,) = sr.parse(DECLARATION + "\n<br />\nx\n" + start + entry.format(A) + end).problems
    assert (problem.code, problem.line) == ("S08", 3)
    assert problem.message == "skipped 9 bytes before the root element"


DOCTYPES = {
    "alone": "<!DOCTYPE html>\n",
    "before the declaration": f"\n<!doctype HTML>\n{DECLARATION}",
    "before a comment": "<!DOCTYPE html>\n<!-- made by x -->\n",
    "behind a comment": "<!-- cached --><!DOCTYPE html>",
    "of XHTML": '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1.dtd">\n',
}


@pytest.mark.parametrize("doctype", DOCTYPES.values(), ids=DOCTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_a_doctype_of_html_before_a_sitemap_is_skipped(form: str, doctype: str) -> None:
    start, entry, end = FORMS[form]
    assert result(doctype + start + entry.format(A) + end) == (format_of(form), [A], ["S08"], True)


@pytest.mark.parametrize("name", ["root", "sitemaps", "x:data"])
@pytest.mark.parametrize("before", ["", "\n", "<!-- </x> <y> -->\n<?x?>"], ids=["nothing", "a line", "a comment"])
@pytest.mark.parametrize("form", ["urlset", "prefixed urlset", "sitemapindex"])
def test_a_sitemap_that_comes_first_in_an_unknown_element_is_read(form: str, before: str, name: str) -> None:
    start, entry, end = FORMS[form]
    for declaration in (DECLARATION, ""):
        document = f'{declaration}<{name} xmlns:x="urn:x">{before}{start}{entry.format(A)}{end}</{name}>'
        assert result(document) == (format_of(form), [A], ["S08", "S01"], True)


@pytest.mark.parametrize(("more", "locs"), [(-1, [A]), (0, [])])
def test_the_root_begins_within_a_limit_of_bytes(more: int, locs: list[str]) -> None:
    start, entry, end = "<urlset>", FORMS["urlset"][1], "</urlset>"
    junk = "<br>" + "x" * (MAX_JUNK_BYTES - len("<br>") - len(start) + 1 + more)
    assert result(DECLARATION + junk + start + entry.format(A) + end)[1] == locs


SITEMAP = FORMS["urlset"][0] + FORMS["urlset"][1].format(A) + "</urlset>"
URLS = f"<urlset>{FORMS['urlset'][1].format(A)}</urlset>"
CHANNEL = f"<channel><title>t</title><link>{B}</link><item><link>{A}</link></item></channel></rss>"
BEGINNINGS = {
    "junk on both sides of the declaration": (f"\n{DECLARATION}{NOTICE}{SITEMAP}", "urlset", [A], ["S08", "S08"], True),
    **{f"usual before a root: {usual}": (f"{DECLARATION}{usual}{SITEMAP}", "urlset", [A], [], True)
       for usual in ("<!-- made by x -->", "<?xml-stylesheet href='a.xsl'?>", "\n\n", "<!DOCTYPE urlset>")},
    "a namespace around a sitemap": (f'<x xmlns="{CORE}">{URLS}</x>', "urlset", [A], ["S08", "S02", "S01"], True),
    "an element without one": (f"<x>{URLS}</x>", None, [], ["S15"], False),
    "two URLs before a sitemap": (f"{A}\n{B}\n{DECLARATION}", "text", [A, B], ["U15"], True),
    "a URL without its tag": (f"{A}\n</loc>\n</url>\n<url>\n<loc>{B}</loc></url>\n</urlset>", "urlset", [B], ["S01"],
                              False),
    "a page with a URL on a line": (f"<p>See</p>\n{A}\n<p>and so on</p>\n", None, [], ["S15"], False),
    **{f"{name}, {'declared' if declaration else 'undeclared'}": (declaration + text, *expected, False)
       for declaration in ("", DECLARATION)
       for name, text, *expected in (
           ("a channel without its rss", CHANNEL, "rss", [A], ["S01"]),
           ("locations", f"<loc>{A}</loc>\n<loc>{B}</loc>\n", "urlset", [A, B], ["S01", "S01", "S10"]),
           ("one location", f"<loc>{A}</loc>", "urlset", [A], ["S01", "S01"]))},
}


@pytest.mark.parametrize(("document", "name", "locs", "codes", "complete"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_beginnings(document: str, name: str | None, locs: list[str], codes: list[str], complete: bool) -> None:
    assert result(document) == (name, locs, codes, complete)


@pytest.mark.slow
def test_an_element_of_another_format_ends_within_a_limit_of_bytes() -> None:
    start, entry, end = FORMS["urlset"]
    for size, locs in ((MAX_JUNK_BYTES - 7, [A]), (MAX_JUNK_BYTES - 6, [])):
        junk = "<x>" + "y" * size + "</x>"
        assert result(DECLARATION + junk + start + entry.format(A) + end)[1] == locs


SVG = '<svg><metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata></svg>'
OTHERS = {
    "page": (f"<!DOCTYPE html>\n<html><body><pre>{SITEMAP}</pre></body></html>", "html", "F05"),
    "page without doctype": (f"<html><body>{SITEMAP}</body></html>", "html", "F05"),
    "page behind junk": (f"{NOTICE}<html><head></head><body>{SITEMAP}", "html", "F05"),
    "page behind a declaration": (f"{DECLARATION}x<HTML><BODY>{SITEMAP}", "html", "F05"),
    "page without its html": (f"<head><title>x</title></head><body>{SITEMAP}</body>", "html", "F05"),
    "page of text": ("<!DOCTYPE html><title>x</title><p>y</p>", "html", "F05"),
    "page of text behind a comment": ("<!-- x --><!DOCTYPE html><!-- y --><title>x</title>", "html", "F05"),
    "page that begins with a sitemap": (f"<!DOCTYPE html>\n<p>{SITEMAP}", "html", "F05"),
    "page with a script": (f'<html><script>x = "{SITEMAP}"</script></html>', "html", "F05"),
    "page with an escaped sitemap": ("<div><pre>&lt;urlset&gt;&lt;url&gt;</pre></div>", None, "S15"),
    "picture": (SVG, None, "S15"),
    "stylesheet": (f'<x:stylesheet xmlns:x="urn:x"><x:template>{SITEMAP}</x:template></x:stylesheet>', None, "S15"),
    "catalogue": ("<catalog><item><link>x</link></item></catalog>", None, "S15"),
    "message": (f"<e:Envelope><e:Body>{SITEMAP}</e:Body></e:Envelope>", None, "S15"),
    "element with other content first": (f"<x><y/>{SITEMAP}</x>", None, "S15"),
    "element with text first": (f"<x>y {SITEMAP}</x>", None, "S15"),
    "element with a comment that does not end": (f"<x><!-- {SITEMAP}</x>", None, "S15"),
    "channel without items": ("<channel><title>t</title></channel>", None, "S15"),
    "many lines of text": ("words and words\n" * 4_000, None, "S15"),
    "section that does not end": (f"{DECLARATION}<![CDATA[ {SITEMAP}", None, "S01"),
    "junk and a picture": ("<br/>" + SVG, None, "S15"),
    "text": (f"{DECLARATION}words <b>and</b> words", None, "S01"),
    "text about sitemaps": ("A sitemap has <url> and <loc> tags,\nand so on", None, "S15"),
    "DTD behind junk": (f'{DECLARATION}<br/><!DOCTYPE urlset [<!ENTITY a "b">]>{SITEMAP}', None, "S09"),
}


@pytest.mark.parametrize(("document", "name", "code"), OTHERS.values(), ids=OTHERS)
def test_other_documents_stay_what_they_are(document: str, name: str | None, code: str) -> None:
    assert result(document) == (name, [], [code], False)


# --- a beginning that is lost ----------------------------------------------------------------------------------------

# What may be left of the entry before.
RESTS = {
    "nothing": "",
    "the end tag": "</{e}>",
    "half a tag": "d></{e}>\n",
    "half a URL": "mple.com/0</loc><lastmod>2026-11-01</lastmod></{e}>\n",
    "half a URL with a tag of another kind": "0.jpg</image:loc></image:image></{e}>\n",
    "fields": "<lastmod>2026-11-01</lastmod><priority>0.5</priority></{e}>",
    "a whole URL without its tag": "https://example.com/0</loc></{e}>\n",
}


@pytest.mark.parametrize("declaration", ["", DECLARATION], ids=["undeclared", "declared"])
@pytest.mark.parametrize("rest", RESTS.values(), ids=RESTS)
@pytest.mark.parametrize("form", ["urlset", "prefixed urlset", "sitemapindex", "rss", "atom"])
def test_the_entries_behind_a_lost_beginning_are_read(form: str, rest: str, declaration: str) -> None:
    _, entry, end = FORMS[form]
    name = entry.partition(">")[0].lstrip("<")
    document = declaration + rest.format(e=name) + entry.format(A) + "\n" + entry.format(B) + end
    assert result(document) == (format_of(form), [A, B], ["S01"], False)


def test_a_lost_beginning_is_an_error_on_its_line() -> None:
    (problem,) = sr.parse(f"\n<url><loc>{A}</loc></url></urlset>").problems
    assert (problem.code, problem.severity, problem.line) == ("S01", "error", 2)
    assert problem.message == "the beginning of the document is lost: it was read from its first entry on"


@pytest.mark.parametrize("declaration", ["", DECLARATION], ids=["undeclared", "declared"])
@pytest.mark.parametrize("rest", ["", "temap>", "url>\n", f"{A}/debug\n", "\0" * 5_000])
@pytest.mark.parametrize("fields", ["", "<lastmod>2026-11-01</lastmod>\n"])
@pytest.mark.parametrize("form", ["urlset", "sitemapindex"])
def test_a_location_belongs_to_the_entry_or_root_that_ends_behind_it(
    form: str, fields: str, rest: str, declaration: str
) -> None:
    _, entry, end = FORMS[form]
    ended = f"</{'url' if form == 'urlset' else 'sitemap'}>"
    document = f"{declaration}{rest}<loc>{A}</loc>{fields}{ended}{entry.format(B)}{end}"
    assert result(document) == (form, [A, B], ["S01"], False)


def test_extensions_behind_a_lost_beginning_are_read() -> None:
    image = f"<image:image><image:loc>{B}</image:loc></image:image>"
    (record,) = sr.parse(f"<url><loc>{A}</loc>{image}</url></urlset>").urls
    assert [each.loc for each in record.images] == [B]
    assert [each.code for each in sr.parse(f"<url><loc>{A}</loc>{image}</url></urlset>").problems] == ["S01"]


# --- lists of URLs ---------------------------------------------------------------------------------------------------

LINES = {
    "a message of PHP": (NOTICE, ["S08"]),
    "a message in plain text": ("\nPHP Warning:  x is undefined in /srv/a.php on line 3\n", ["S08"]),
    "a comment of a cache": ("<!-- cached -->\n", ["S08"]),
    "blank lines": ("\n\n \n", []),
    "a relative line": ("/x\n", ["U01"]),
    "a message and a relative line": (f"{NOTICE}/x\n", ["S15"]),
}


@pytest.mark.parametrize(("before", "codes"), LINES.values(), ids=LINES)
def test_junk_before_a_list_of_urls_is_skipped(before: str, codes: list[str]) -> None:
    locs = [] if codes == ["S15"] else [A, B]
    assert result(f"{before}{A}\n{B}\n")[1:3] == (locs, codes)
    lines = [url.line for url in sr.parse(f"{before}{A}\n{B}\n").urls]
    assert lines == [before.count("\n") + number for number in range(1, 1 + len(locs))]
