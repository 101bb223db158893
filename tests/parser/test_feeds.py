"""Feeds as sitemaps: link and date of an item, Media RSS, and elements outside items."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.parser import MEDIA_MAPPINGS

URL = "https://example.com/blog/feed.xml"
SITE = "https://example.com/"
A, B = f"{SITE}a", f"{SITE}b"
NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom" '
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:f="urn:example:f"'
)
ATOM = "http://www.w3.org/2005/Atom"
Fault = tuple[str, str | None, str | None]  # code, field, raw
LIMITS = sr.Limits()
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def rss(*items: str, channel: str = "") -> str:
    inside = "".join(f"<item>{item}</item>" for item in items)
    return f'<rss version="2.0" {NAMESPACES}><channel>{channel}{inside}</channel></rss>'


def atom(*entries: str) -> str:
    inside = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<feed xmlns="{ATOM}" {NAMESPACES}>{inside}</feed>'


def record_and_faults(
    document: str, *, extras: bool = False, limits: sr.Limits = LIMITS
) -> tuple[sr.UrlRecord | None, list[Fault]]:
    """The only record of a feed, if any, and its problems."""
    found = sr.parse(document, url=URL, extras=extras, limits=limits)
    assert len(found.urls) <= 1
    assert found.outcome.entries == 1
    return found.urls[0] if found.urls else None, [(each.code, each.field, each.raw) for each in found.problems]


def stamp(record: sr.UrlRecord | None) -> str | None:
    return record.lastmod.date().isoformat() if record.lastmod else None


# --- the link --------------------------------------------------------------------------------------------------------

GUID_A = f"<guid>{A}</guid>"

RSS_LINKS = [
    ("link", f"<link>{A}</link>", A),
    ("white space", f"<link>\n {A}\u00a0</link>", A),
    ("section", f"<link><![CDATA[{A}?x&y]]></link>", f"{A}?x&y"),
    ("text and section", f"<link>{SITE}<![CDATA[a]]></link>", A),
    ("first of two that say something", f"<link/><link> </link><link>{A}</link>", A),
    ("twice the same", f"<link>{A}</link><link>{A}</link>", A),
    ("no link", "<title>x</title>", None),
    ("an attribute is no link of RSS", f'<link href="{A}"/>', None),
    ("link of a part", f"<image><link>{A}</link></image><source url='{A}'/><enclosure url='{A}'/>", None),
    ("link of another namespace", f"<f:link>{A}</f:link><f:link href='{A}'/><atom:link>{A}</atom:link>", None),
    ("link of Atom", f"<atom:link href='{A}'/>", A),
    ("alternate of Atom", f"<atom:link rel='self' href='{B}'/><atom:link rel='Alternate' href='{A}'/>", A),
    ("other relations of Atom", f"<atom:link rel='self' href='{A}'/><atom:link rel='replies' href='{A}'/>", None),
    ("link of Atom before the link", f"<atom:link href='{B}'/><link>{A}</link>", A),
    ("link of Atom before a guid", f"<atom:link href='{B}'/>{GUID_A}", A),
    # guid
    ("guid", GUID_A, A),
    ("guid of any scheme's case", f"<guid> {A.replace('https', 'HTTPS')} </guid>", A),
    ("guid over http", "<guid>http://example.com/a</guid>", "http://example.com/a"),
    ("declared", f'<guid isPermaLink="true">{A}</guid>', A),
    ("declared in capitals", f'<guid isPermaLink="TRUE">{A}</guid>', A),
    ("declared empty", f'<guid isPermaLink="">{A}</guid>', A),
    ("declared false", f'<guid isPermaLink="false">{A}</guid>', None),
    ("declared False", f'<guid isPermaLink=" False">{A}</guid>', None),
    ("misspelled", f'<guid ispermalink="false">{A}</guid>', None),
    ("another attribute", f'<guid x="false">{A}</guid>', A),
    ("relative", '<guid isPermaLink="true">/a</guid>', None),
    ("identifier", "<guid>urn:x:1</guid>", None),
    ("the second may be meant", f'<guid isPermaLink="false">{B}</guid>{GUID_A}', A),
    ("first of two guids", f"{GUID_A}<guid>{B}</guid>", A),
    ("link goes first", f"<guid>{B}</guid><link>{A}</link>", A),
    ("empty link", f"<link> </link>{GUID_A}", A),
    ("a guid of another namespace", f"<f:guid>{A}</f:guid>", None),
]


def test_second_link_that_differs_is_reported() -> None:
    record, faults = record_and_faults(rss(f"<link>{A}</link><link>{A}</link><link>{B}</link><link>{SITE}c</link>"))
    assert record.loc == A
    assert faults == [("S10", "link", B)]


IANA = "http://www.iana.org/assignments/relation/"
ATOM_LINKS = [
    ("no rel", f'<link href="{A}"/>', A),
    ("alternate", f'<link rel="alternate" href="{A}"/>', A),
    ("its IRI", f'<link rel="{IANA}alternate" href="{A}"/>', A),
    ("case and white space", f'<link rel=" Alternate " href=" {A} "/>', A),
    ("empty rel", f'<link rel="" href="{A}"/>', A),
    ("several alternates", f'<link rel="alternate" href="{A}"/><link href="{B}"/>', A),
    ("alternate behind others", f'<link rel="self" href="{B}"/><link rel="edit" href="{B}"/><link href="{A}"/>', A),
    ("first that leads anywhere", f'<link href=" "/><link/><link href="{A}"/>', A),
    ("other relations", "".join(f'<link rel="{rel}" href="{B}"/>' for rel in ("self", "via", "related", "next")), None),
    ("an IRI of another", f'<link rel="{IANA}self" href="{B}"/>', None),
    ("no list of relations", f'<link rel="alternate self" href="{B}"/>', None),
    ("a link as text", f"<link>{A}</link>", A),
    ("a link as text before one", f"<link>{B}</link><link href='{A}'/>", A),
    ("text that is no URL", "<link>/a</link><link>read on</link>", None),
    ("text of another relation", f"<link rel='self'>{A}</link>", None),
    ("nor is an id", f"<id>{B}</id>", None),
    ("the source is another feed", f'<source><link href="{B}"/></source>', None),
    ("what is quoted", f'<content type="application/atom+xml"><entry><link href="{B}"/></entry></content>', None),
    ("source first", f'<source><link href="{B}"/></source><link href="{A}"/>', A),
    ("another namespace", f'<f:link href="{B}"/>', None),
]


LINKS = [(name, rss(item), expected) for name, item, expected in RSS_LINKS]
LINKS += [(f"Atom, {name}", atom(entry), expected) for name, entry, expected in ATOM_LINKS]


@pytest.mark.parametrize(("document", "expected"), [row[1:] for row in LINKS], ids=[row[0] for row in LINKS])
def test_which_link_an_item_has(document: str, expected: str | None) -> None:
    record, faults = record_and_faults(document)
    assert record.loc == expected if record else (expected, faults) == (None, [("S11", "loc", None)])


# xml:base of document, item, link -> URL of the link "x"; the document is https://example.com/blog/feed.xml
BASES = [
    (None, None, None, "https://example.com/blog/x"),
    ("https://other.example/r/", None, None, "https://other.example/r/x"),
    ("r/", "i/", None, "https://example.com/blog/r/i/x"),
    ("r/", "i/", "l/", "https://example.com/blog/r/i/l/x"),
    ("r/", "../i/", "../l/", "https://example.com/blog/l/x"),
    ("r/", "/i/", None, "https://example.com/i/x"),
    ("r/", None, "l", "https://example.com/blog/r/x"),
    (None, "//other.example", None, "https://other.example/x"),
    (None, None, "https://other.example/l/", "https://other.example/l/x"),
    ("r/", "mailto:a@example.com", "l/", "https://example.com/blog/r/l/x"),
    ("", "", "", "https://example.com/blog/x"),
]


@pytest.mark.parametrize(("root", "item", "link", "expected"), BASES)
def test_relative_links_are_resolved_against_every_xml_base(
    root: str | None, item: str | None, link: str | None, expected: str
) -> None:
    bases = ["" if base is None else f' xml:base="{base}"' for base in (root, item, link)]
    others = '<{0} xml:base="https://never.example/"> </{0}>'.format
    documents = [
        "<rss{}><channel><item{}>" + others("link") + others("guid") + "<link{}>x</link></item></channel></rss>",
        "<rss><channel{}><item{}><link{}>x</link></item></channel></rss>",
        f'<feed xmlns="{ATOM}"{{}}><entry{{}}>' + others("link") + '<link{} href="x"/></entry></feed>',
    ]
    for document in documents:
        record, faults = record_and_faults(document.format(*bases))
        assert record.loc == expected
        # Only in RSS without a base: Atom permits relative references, and a base implies them.
        is_noted = document.startswith("<rss") and root is item is link is None
        assert faults == ([("U01", "loc", "x")] if is_noted else [])


def test_the_base_of_a_link_is_not_that_of_the_media() -> None:
    item = '<link xml:base="https://other.example/">x</link><media:content url="v.jpg" medium="image"/>'
    record, _ = record_and_faults(f'<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item>{item}</item></channel></rss>')
    assert (record.loc, record.images[0].loc) == ("https://other.example/x", "https://example.com/blog/v.jpg")


# --- the date --------------------------------------------------------------------------------------------------------

PUB = "<pubDate>Sun, 01 Nov 2026 10:00:00 GMT</pubDate>"
DC = "<dc:date>2026-11-02</dc:date>"
UPDATED = "<atom:updated>2026-11-03T00:00:00Z</atom:updated>"
RSS_DATES = [
    (UPDATED + DC + PUB, "2026-11-01", []),
    (UPDATED + DC, "2026-11-02", []),
    (UPDATED, "2026-11-03", []),
    ("<pubDate/>" + DC, "2026-11-02", []),
    ("<pubDate> </pubDate><dc:date/>" + UPDATED, "2026-11-03", []),
    ("<pubDate/>" + PUB, "2026-11-01", []),
    (PUB + "<pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate>", "2026-11-01", []),
    # an unreadable date is not replaced by one that means something else
    ("<pubDate>soon</pubDate>" + DC, None, [("D01", "lastmod", "soon")]),
    ("<dc:date>soon</dc:date>" + UPDATED, None, [("D01", "lastmod", "soon")]),
    ("<pubDate>soon</pubDate>" + PUB, None, [("D01", "lastmod", "soon")]),
    # dates of other elements
    ("<lastBuildDate>Sun, 01 Nov 2026 10:00:00 GMT</lastBuildDate><date>2026-11-01</date>", None, []),
    ("<f:pubDate>2026-11-01</f:pubDate><atom:published>2026-11-01T00:00:00Z</atom:published>", None, []),
    ("<x>" + PUB + "</x>", None, []),
]
ATOM_DATES = [
    *[
        ("".join(f"<{tag}>2026-11-0{number}T00:00:00Z</{tag}>" for number, tag in order), expected, [])
        for order, expected in [
            ([(4, "issued"), (3, "published"), (2, "modified"), (1, "updated")], "2026-11-01"),
            ([(4, "issued"), (3, "published"), (2, "modified")], "2026-11-02"),
            ([(4, "issued"), (3, "published")], "2026-11-03"),
            ([(4, "issued")], "2026-11-04"),
            ([(4, "created")], None),
        ]
    ],
    ("<updated/><published>2026-11-03</published>", "2026-11-03", []),
    ("<updated>soon</updated><published>2026-11-03</published>", None, [("D01", "lastmod", "soon")]),
    ("<source><updated>2026-11-03</updated></source>", None, []),
    (DC + "<pubDate>Sun, 01 Nov 2026 10:00:00 GMT</pubDate>", None, []),
    ("<updated>Sun, 01 Nov 2026 10:00:00 GMT</updated>", "2026-11-01", []),
]


DATES = [(rss(f"{dates}<link>{A}</link>"), *expected) for dates, *expected in RSS_DATES]
DATES += [(atom(f'{dates}<link href="{A}"/>'), *expected) for dates, *expected in ATOM_DATES]


@pytest.mark.parametrize(("document", "expected", "faults"), DATES)
def test_which_date_an_item_has(document: str, expected: str | None, faults: list[Fault]) -> None:
    record, found = record_and_faults(document)
    assert (stamp(record), found) == (expected, faults)


def test_only_the_first_choice_of_a_date_is_taken_from_an_item_that_is_cut() -> None:
    document = rss(f"<link>{A}</link>{DC}{PUB}")
    before, behind = document.index("<pubDate>"), document.index("</item>")
    for cut, expected in ((before, None), (behind, "2026-11-01")):
        (record,) = sr.parse(document[:cut], url=URL).urls
        assert stamp(record) == expected


# --- the dialects ----------------------------------------------------------------------------------------------------

ITEM = f"<item><link>{A}</link></item>"
ENTRY = f'<entry><link href="{A}"/></entry>'
DOCUMENTS = [
    (f"<rss><channel>{ITEM}</channel></rss>", "rss"),
    (f"<rss>{ITEM}</rss>", "rss"),
    (f'<!DOCTYPE rss SYSTEM "http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss>{ITEM}</rss>', "rss"),
    *[
        (f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="http://{namespace}/"><channel/>{ITEM}</rdf:RDF>', "rss")
        for namespace in ("purl.org/rss/1.0", "my.netscape.com/rdf/simple/0.9", "channel.netscape.com/rdf/simple/0.9")
    ],
    *[
        (f'<rss><channel xmlns="http://{namespace}">{ITEM}</channel></rss>', "rss")
        for namespace in ("backend.userland.com/rss", "backend.userland.com/rss2", "blogs.law.harvard.edu/tech/rss")
    ],
    *[
        (f'<rss xmlns="http://{namespace}"><channel>{ITEM}</channel></rss>', "rss")
        for namespace in ("backend.userland.com/rss2", "purl.org/rss/1.0/", "purl.org/rss/2.0/")
    ],
    (f'<feed xmlns="{ATOM}">{ENTRY}</feed>', "atom"),
    (f'<feed xmlns="http://purl.org/atom/ns#">{ENTRY}</feed>', "atom"),
    (f'<a:feed xmlns:a="{ATOM}"><a:entry><a:link href="{A}"/></a:entry></a:feed>', "atom"),
]
# Each with the namespace of its root.
WRONG_ROOTS = [
    (f'<rss xmlns="urn:example:any"><channel>{ITEM}</channel></rss>', "rss", "urn:example:any"),
    (f'<r:rss xmlns:r="urn:example:any"><r:channel>{ITEM}</r:channel></r:rss>', "rss", "urn:example:any"),
    (f'<rss xmlns="{ATOM}" xmlns:a="{ATOM}"><item><a:link href="{B}"/><link>{A}</link></item></rss>', "rss", ATOM),
    (f'<rdf:RDF xmlns:rdf="{RDF[:-1]}" xmlns="http://purl.org/rss/1.0/">{ITEM}</rdf:RDF>', "rss", RDF[:-1]),
    (f'<RDF xmlns="http://purl.org/rss/1.0/">{ITEM}</RDF>', "rss", "http://purl.org/rss/1.0/"),
    *[
        (f'<feed xmlns="{namespace}">{ENTRY}{ENTRY}</feed>', "atom", namespace)
        for namespace in ("https://www.w3.org/2005/Atom", f"{ATOM}/", "http://www.w3.org/2005/atom",
                          "http://w3.org/2005/Atom", "https://purl.org/atom/ns#", "urn:example:any", "")
    ],
]


@pytest.mark.parametrize(("document", "name"), DOCUMENTS)
def test_every_dialect_is_known_by_its_root_in_any_spelling(document: str, name: str) -> None:
    found = sr.parse(document, url=URL)
    assert [record.loc for record in found.urls] == [A]
    assert (found.format, found.problems) == (name, [])


@pytest.mark.parametrize(("document", "name", "namespace"), WRONG_ROOTS)
def test_a_root_of_another_namespace_is_read_and_reported(document: str, name: str, namespace: str) -> None:
    found = sr.parse(document, url=URL)
    assert {record.loc for record in found.urls} == {A}
    assert (found.format, found.outcome.complete) == (name, True)
    assert [(problem.code, problem.raw) for problem in found.problems] == [("S02", namespace)]


@pytest.mark.parametrize("namespace", ["https://purl.org/rss/1.0/", "http://purl.org/rss/1.0", "HTTP://purl.org/RSS/"])
def test_items_of_a_namespace_that_is_nearly_right_are_read_and_reported_once(namespace: str) -> None:
    document = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="{namespace}"><channel/>{ITEM}{ITEM}</rdf:RDF>'
    found = sr.parse(document, url=URL)
    assert [record.loc for record in found.urls] == [A, A]
    assert [problem.code for problem in found.problems] == ["S02"]


def test_items_of_a_foreign_namespace_are_none() -> None:
    for around in ("<rss><channel>{}</channel></rss>", "<rss>{}</rss>", f'<rdf:RDF xmlns:rdf="{RDF}">{{}}</rdf:RDF>'):
        found = sr.parse(around.format(f'<f:item xmlns:f="urn:example:f"><link>{A}</link></f:item>' * 2))
        assert (found.urls, found.outcome.entries, found.outcome.complete) == ([], 0, True)
        assert [(each.code, each.message) for each in found.problems] == [
            ("S10", '<item> is in the namespace "urn:example:f": it is no entry')
        ]


def test_elements_named_like_an_entry_may_be_anywhere_in_others() -> None:
    other = '<f:list xmlns:f="urn:example:f"><f:item/><f:entry/></f:list>'
    assert sr.parse(f"<rss><channel>{other}</channel></rss>").problems == []
    assert sr.parse(f'<feed xmlns="{ATOM}">{other}</feed>').problems == []


@pytest.mark.parametrize("scans", [True, False])
def test_items_with_an_undeclared_link_of_atom_are_complete(scans: bool) -> None:
    item = f'<item><title>a</title><atom:link href="{A}"/></item>'
    parser = sr.SitemapParser(url=URL, _scans=scans)
    items = [*parser.feed(f"<rss><channel>{item * 2}</channel></rss>".encode()), *parser.close()]
    assert [each.loc for each in items if isinstance(each, sr.UrlRecord)] == [A, A]
    assert (dict(parser.outcome.problems), parser.outcome.complete) == ({"S01": 1}, True)


@pytest.mark.parametrize("attributes", ["", ' href=""', f' rel="self" href="{A}"'])
def test_a_repaired_item_without_a_link_to_its_page_may_have_lost_it(attributes: str) -> None:
    found = sr.parse(f"<rss><channel><item><atom:link{attributes}/></item></channel></rss>", url=URL)
    assert (found.urls, found.outcome.complete) == ([], False)


# --- the channel -----------------------------------------------------------------------------------------------------

NEVER = "https://never.example/"
CHANNEL_PARTS = [f"<link>{NEVER}</link>", f"<guid>{NEVER}</guid>", "<title>x</title>", PUB, DC, UPDATED,
                 f"<image><url>{NEVER}1.png</url><link>{NEVER}</link></image>",
                 f"<textInput><link>{NEVER}</link></textInput>", f'<atom:link href="{NEVER}"/>',
                 f'<media:thumbnail url="{NEVER}1.jpg"/>', "<media:title>x</media:title>",
                 "<media:rating>adult</media:rating>", f'<media:content url="{NEVER}1.mp4" medium="video"/>',
                 f'<media:group><media:content url="{NEVER}1.mp4" medium="video"/></media:group>', "<f:x>y</f:x>"]
CHANNEL_ITEMS = [
    f"<item><link>{A}</link></item>",
    "<item><title>no link</title></item>",
    f"<item><guid>{B}</guid>{DC}</item>",
    f'<item><link>{A}</link><media:content url="{B}" medium="video"/></item>',
]


@given(st.lists(st.sampled_from(CHANNEL_PARTS + CHANNEL_ITEMS), max_size=8), st.booleans())
def test_nothing_of_the_channel_leaks_into_an_item(parts: list[str], inside: bool) -> None:
    def items(parts: list[str]) -> list[Any]:
        body = "".join(parts)
        body = f"<channel>{body}</channel>" if inside else f"<channel/>{body}"  # in RSS 1.0 items follow the channel
        found = sr.parse(f"<rss {NAMESPACES}>{body}</rss>", url=URL, extras=True)
        assert found.outcome.complete
        return [*found.urls, *found.problems, found.outcome.entries]

    assert items(parts) == items([part for part in parts if part in CHANNEL_ITEMS])


# --- Media RSS -------------------------------------------------------------------------------------------------------

CONTENT = f'<media:content url="{SITE}v.mp4" medium="video">{{}}</media:content>'
IMAGE = f'<media:content url="{SITE}i.jpg" medium="image">{{}}</media:content>'


def media(inside: str, limits: sr.Limits = LIMITS) -> tuple[sr.UrlRecord, list[Fault]]:
    record, faults = record_and_faults(rss(f"<link>{A}</link>{inside}"), extras=True, limits=limits)
    return record, faults


def stated(value: Any) -> dict[str, Any]:
    """The fields of an image or a video that are not null."""
    return {name: each for name, each in attrs.asdict(value, recurse=False).items() if each not in (None, ())}


# Elements that describe an object at any level, by the row that reads them: (two elements, their values)
SPECIMENS: dict[str, tuple[tuple[str, Any], tuple[str, Any]]] = {
    "image:title": (("<media:title>x</media:title>", "x"), ("<media:title>y</media:title>", "y")),
    "image:caption": (("<media:description>x</media:description>", "x"),
                      ("<media:description>y</media:description>", "y")),
    "image:license": ((f'<media:license href="{A}"/>', A), (f'<media:license href="{B}">x</media:license>', B)),
    "video:player_loc": ((f'<media:player url="{A}"/>', {"value": A, "allow_embed": None, "autoplay": None}),
                         (f'<media:player url="{B}"/>', {"value": B, "allow_embed": None, "autoplay": None})),
    "video:thumbnail_loc": ((f'<media:thumbnail url="{A}"/>', A), (f'<media:thumbnail url="{B}"/>', B)),
    "video:title": (("<media:title> x </media:title>", "x"), ("<media:title>y</media:title>", "y")),
    "video:description": (("<media:description>x</media:description>", "x"),
                          ("<media:description>y</media:description>", "y")),
    "video:tag": (("<media:keywords>x, y z,</media:keywords>", ("x", "y z")),
                  ("<media:keywords>v</media:keywords><media:keywords>w</media:keywords>", ("v", "w"))),
    "video:category": (('<media:category label="l">x</media:category>', "x"),
                       ("<media:category>y</media:category>", "y")),
    "video:rating": (('<media:community><media:starRating average="4.5" max="5"/></media:community>', 4.5),
                     ('<media:community><media:starRating average="0"/></media:community>', 0.0)),
    "video:view_count": (('<media:community><media:statistics views="7"/></media:community>', 7),
                         ('<media:community><media:statistics views="0" favorites="9"/></media:community>', 0)),
    "video:family_friendly": (("<media:rating>adult</media:rating>", False),
                              ('<media:rating scheme="urn:simple"> NonAdult </media:rating>', True)),
    "video:restriction": (
        ('<media:restriction relationship="deny" type="country">DE AT</media:restriction>',
         {"value": "DE AT", "relationship": "deny"}),
        ('<media:restriction type="Country">FR</media:restriction>', {"value": "FR", "relationship": None}),
    ),
    "video:price": (
        ('<media:price type="Purchase" price="19.99" currency="EUR" info="https://example.com/"/>',
         ({"value": 19.99, "currency": "EUR", "type": "Purchase", "resolution": None},)),
        (
            '<media:price type="rent" price="2"/><media:price price="1" type="package"/>',
            ({"value": 2.0, "currency": None, "type": "rent", "resolution": None},
             {"value": 1.0, "currency": None, "type": "package", "resolution": None}),
        ),
    ),
}
# Attributes of media:content only.
OWN = {"image:loc", "video:content_loc", "video:duration"}


def test_every_row_has_a_specimen() -> None:
    assert {row.tag for row in MEDIA_MAPPINGS} == OWN | set(SPECIMENS)


@pytest.mark.parametrize("tag", SPECIMENS)
def test_each_element_counts_at_every_level_and_the_innermost_has_priority(tag: str) -> None:
    kind, _, field = tag.partition(":")
    content = {"image": IMAGE, "video": CONTENT}[kind]
    (inner, inner_value), (outer, outer_value) = SPECIMENS[tag]
    places = [
        (content.format(inner), inner_value),
        (f"<media:group>{content.format('')}{inner}</media:group>", inner_value),
        (f"{inner}{content.format('')}", inner_value),
        (f"<media:group>{content.format('')}</media:group>{outer}", outer_value),
        (f"<media:group>{content.format(inner)}{outer}</media:group>", inner_value),
        (f"<media:group>{inner}{content.format('')}</media:group>{outer}", inner_value),
        (f"{outer}{content.format(inner)}{outer}", inner_value),
    ]
    for inside, expected in places:
        record, faults = media(inside)
        (found,) = record.images or record.videos
        own = {"image": {"loc": f"{SITE}i.jpg"}, "video": {"content_loc": f"{SITE}v.mp4"}}[kind]
        assert faults == []
        assert stated(found) == {**own, field: expected}, inside
        assert bool(record.extras) == (inner in inside and outer in inside)  # overridden values


# A media:content -> ("image" or "video", its location), or None
KINDS = [
    (f'url="{A}" medium="image"', ("image", A)),
    (f'url="{A}" medium="video"', ("video", A)),
    (f'url=" {A} " medium=" Video "', ("video", A)),
    (f'url="{A}" type="video/mp4"', ("video", A)),
    (f'url="{A}" type="IMAGE/JPEG"', ("image", A)),
    (f'url="{A}" type="image/jpeg" medium="video"', ("video", A)),
    *((attributes, None)
      for attributes in (f'url="{A}" type="video/mp4" medium="document"', f'url="{A}" type="audio/mpeg"',
                         f'url="{A}" medium="executable"', f'url="{A}"', f'url="{SITE}clip.mp4"', 'medium="video"',
                         'url=" " medium="image"')),
]


@pytest.mark.parametrize(("attributes", "expected"), KINDS)
@pytest.mark.parametrize("around", ["{}", "<media:group>{}</media:group>"])
def test_kind_of_a_media_content(attributes: str, expected: tuple[str, str] | None, around: str) -> None:
    record, faults = media(around.format(f"<media:content {attributes}/>"))
    found = [("image", image.loc) for image in record.images]
    found += [("video", str(video.content_loc)) for video in record.videos]
    assert found == ([expected] if expected else [])
    assert faults == []
    assert ("content" in [extra.name for extra in record.extras]) == (expected is None)


@pytest.mark.parametrize("inside", [
    '<media:content medium="video">{}</media:content>',
    '<media:group>{}<media:content medium="video"/></media:group>',
    '<media:content medium="video"/>{}',
])
def test_a_player_locates_a_video_without_a_url(inside: str) -> None:
    record, faults = media(inside.format(f'<media:player url="{A}"/>'))
    (video,) = record.videos
    assert stated(video) == {"player_loc": {"value": A, "allow_embed": None, "autoplay": None}}
    assert (record.extras, faults) == ((), [])


def test_a_player_locates_no_image() -> None:
    record, _ = media(f'<media:content medium="image"><media:player url="{A}"/></media:content>')
    assert record.images == ()
    assert [extra.name for extra in record.extras] == ["content", "player"]


# In a video, ambiguous elements and those of another kind: they stay extras.
UNMAPPED = [
    '<media:community><media:starRating average="4" max="10"/></media:community>',
    '<media:community><media:statistics favorites="4"/></media:community>',
    '<media:starRating average="4"/>',
    '<media:restriction relationship="allow" type="uri">https://example.com/</media:restriction>',
    '<media:restriction relationship="allow">all</media:restriction>',
    '<media:restriction relationship="allow" type="country"/>',
    '<media:rating scheme="urn:mpaa">nonadult</media:rating>',
    '<media:rating scheme="urn:v-chip">tv-y7-fv</media:rating>',
    "<media:rating>R</media:rating>",
    '<media:price type="subscription"/>',
    "<media:keywords> , </media:keywords>",
    "<media:title> </media:title>",
    "<media:thumbnail/>",
    "<media:credit>Ada</media:credit>",
    f'<media:license href="{A}"/>',
    f'<media:embed url="{A}"/>',
]


@pytest.mark.parametrize("element", UNMAPPED)
def test_ambiguous_media_elements_stay_extras(element: str) -> None:
    record, faults = media(CONTENT.format(element))
    (video,) = record.videos
    assert stated(video) == {"content_loc": f"{SITE}v.mp4"}
    assert record.extras[0].name == element[len("<media:") :].partition(" ")[0].partition(">")[0].rstrip("/")
    assert faults == []


# In a video, an unreadable value: the problem names the field of the record.
UNREADABLE = [
    (CONTENT.replace("medium", 'duration="1:35" medium'), ("V05", "video:duration", "1:35")),
    (CONTENT.format('<media:player url="ftp://example.com/"/>'), ("U02", "video:player_loc", "ftp://example.com/")),
    (CONTENT.format('<media:community><media:starRating average="9"/></media:community>'),
     ("V05", "video:rating", "9")),
    (CONTENT.format('<media:community><media:statistics views="many"/></media:community>'),
     ("V05", "video:view_count", "many")),
    (CONTENT.format('<media:price price="1,99"/>'), ("V05", "video:price", "1,99")),
    (IMAGE.format('<media:license href="mailto:a@example.com"/>'), ("U02", "image:license", "mailto:a@example.com")),
    (IMAGE.replace(SITE, "/"), ("U01", "image:loc", "/i.jpg")),
]


@pytest.mark.parametrize(("content", "fault"), UNREADABLE)
def test_a_bad_value_is_noted_under_the_field_it_was_for(content: str, fault: tuple[str, str, str]) -> None:
    record, faults = media(content.format(""))
    assert len(record.images) + len(record.videos) == 1
    assert faults == [fault]


def test_first_of_a_single_valued_video_element_is_taken() -> None:
    record, faults = media(CONTENT.format(f'<media:thumbnail url="{A}"/><media:thumbnail url="{B}"/>'))
    assert record.videos[0].thumbnail_loc == A
    assert [extra.get("url") for extra in record.extras] == [B]
    assert faults == []


def test_media_objects_are_in_item_order_and_inherit_group_values() -> None:
    contents = "".join(f'<media:content url="{SITE}{number}" medium="video"/>' for number in (2, 3))
    group = f"<media:group>{contents}<media:title>g</media:title></media:group>"
    record, _ = media(f'<media:content url="{SITE}1" medium="video"/>{group}{IMAGE}<media:title>i</media:title>')
    assert [(video.content_loc, video.title) for video in record.videos] == [
        (f"{SITE}1", "i"), (f"{SITE}2", "g"), (f"{SITE}3", "g"),
    ]
    assert [(image.loc, image.title) for image in record.images] == [(f"{SITE}i.jpg", "i")]


THUMBNAIL = f'<media:thumbnail url="{A}"/>'
LONE = [
    (THUMBNAIL, [A]),
    (THUMBNAIL + f'<media:thumbnail url=" {B} "/><media:thumbnail/>', [A, B]),
    (THUMBNAIL + "<media:group/>", [A]),
    (THUMBNAIL + f'<media:content url="{B}"/>', [A]),
    (THUMBNAIL + f'<media:group><media:content url="{B}" medium="audio"/></media:group>', [A]),
    (THUMBNAIL + CONTENT.format(""), []),
    (f"<media:group>{THUMBNAIL}</media:group>", [A]),
    (f'<media:content url="{B}" type="application/x-shockwave-flash">{THUMBNAIL}</media:content>', [A]),
]


@pytest.mark.parametrize(("inside", "expected"), LONE)
def test_a_thumbnail_is_an_image_where_there_is_no_image_or_video(inside: str, expected: list[str]) -> None:
    record, faults = media(inside)
    assert [image.loc for image in record.images] == expected
    assert faults == []


def test_media_of_a_truncated_item_are_dropped() -> None:
    document = rss(f"<link>{A}</link>{THUMBNAIL}{CONTENT.format('')}<f:x/><media:title>x</media:title>")
    for end in ("<media:content", "<f:x/>", "<media:title>"):
        (record,) = sr.parse(document[: document.index(end)], url=URL, extras=True).urls
        assert (record.images, record.videos, record.extras) == ((), (), ())


@pytest.mark.parametrize(("namespace", "codes"), [
    ("http://search.yahoo.com/mrss/", []),
    ("http://search.yahoo.com/mrss", []),
    ("https://search.yahoo.com/mrss/", ["S02"]),
    ("http://www.rssboard.org/media-rss", ["S02"]),
    ("https://video.search.yahoo.com/mrss", ["S02"]),
])
def test_media_rss_is_read_in_namespaces_that_are_wrong_too(namespace: str, codes: list[str]) -> None:
    declared = f'xmlns:m="{namespace}"'
    image = f'<m:content url="{B}" medium="image"/>'
    for document in (
        f"<rss {declared}><channel><item><link>{A}</link>{image}{image}</item></channel></rss>",
        f'<feed xmlns="{ATOM}" {declared}><entry><link href="{A}"/>{image}{image}</entry></feed>',
    ):
        found = sr.parse(document, url=URL)
        assert [image.loc for image in found.urls[0].images] == [B, B]
        assert [problem.code for problem in found.problems] == codes


@pytest.mark.parametrize("over", [0, 1])
def test_shared_media_values_of_an_item_are_limited(over: int) -> None:
    """Otherwise many contents times many keywords would fill the memory."""
    count, limits = 8, sr.Limits(max_shared_characters=8_000)
    each = limits.max_shared_characters // count - 100  # an element counts as a hundred characters
    title = f"<media:title>{'x' * (each + over)}</media:title>"
    record, faults = media(title + CONTENT.format("") * (count + over), limits)
    assert len(record.videos) == count - over
    assert [(code, field) for code, field, _ in faults] == [("S16", "media:content")] * over
    assert [extra.name for extra in record.extras] == ["content", "content"] * over


# --- extras --------------------------------------------------------------------------------------------

DC_SPACE, ATOM_SPACE, MEDIA_SPACE = "http://purl.org/dc/elements/1.1/", ATOM, "http://search.yahoo.com/mrss/"
EXTRAS = [
    ("<description>y</description><author>z</author><enclosure url='e'/><unknown/>", []),
    ("<title> x &amp; y </title><dc:creator>Ada</dc:creator>", [("", "title", "x & y"), (DC_SPACE, "creator", "Ada")]),
    ("<title/><title>a</title><title>b</title>", [("", "title", "a")]),
    (CONTENT.format("") + "<title>x</title>", [("", "title", "x")]),
    ("<dc:creator>Ada</dc:creator>", [(DC_SPACE, "creator", "Ada")]),
    ("<f:a>x</f:a>", [("urn:example:f", "a", "x")]),
    ('<atom:link rel="self" href="x"/>', [(ATOM_SPACE, "link", None)]),
    ("<media:credit>Ada</media:credit>", [(MEDIA_SPACE, "credit", "Ada")]),
    ("<media:text>x</media:text><dc:rights>y</dc:rights>", [(MEDIA_SPACE, "text", "x"), (DC_SPACE, "rights", "y")]),
    (DC, []),  # it is the lastmod
    (DC + PUB, [(DC_SPACE, "date", "2026-11-02")]),
    (DC + DC, [(DC_SPACE, "date", "2026-11-02")]),
    (UPDATED, []),
    (CONTENT.format("<title>core</title><dc:type>t</dc:type>"), [(DC_SPACE, "type", "t")]),
    (f'<loc xmlns="http://www.google.com/schemas/sitemap-image/1.1">{B}</loc>',
     [("http://www.google.com/schemas/sitemap-image/1.1", "loc", B)]),
]


@pytest.mark.parametrize(("inside", "expected"), EXTRAS)
def test_extras_are_elements_of_other_namespaces_without_a_field(
    inside: str, expected: list[tuple[str, str, str | None]]
) -> None:
    document = rss(f"<link>{A}</link>{inside}")
    record, faults = record_and_faults(document, extras=True)
    assert [(extra.namespace, extra.name, extra.text) for extra in record.extras] == expected
    assert faults == []
    assert record_and_faults(document) == (attrs.evolve(record, extras=()), [])


def test_extras_of_an_atom_entry_are_none_of_atoms_own_elements_but_its_title() -> None:
    entry = f'<title type="xhtml"><div><p>a</p> b</div></title><link href="{A}"/><id>x</id>'
    record, _ = record_and_faults(atom(f"{entry}<author><name>y</name></author><dc:rights>z</dc:rights>"), extras=True)
    assert [(extra.name, extra.text, extra.get("type")) for extra in record.extras] == [
        ("title", "a b", "xhtml"), ("rights", "z", None),
    ]


MEDIA_OF_THE_DAMAGED = f"<media:title>Q&A</media:title>{CONTENT.format('')}"
DAMAGED = [
    rss(f"<link>{A}?x=1&y=2</link>{MEDIA_OF_THE_DAMAGED}"),
    atom(f'<link href="{A}?x=1&y=2"/>{MEDIA_OF_THE_DAMAGED}'),
]


@pytest.mark.parametrize("document", DAMAGED, ids=["rss", "atom"])
def test_damaged_item_reports_its_repairs_and_keeps_its_media(document: str) -> None:
    record, faults = record_and_faults(document)
    assert (record.loc, record.videos[0].title) == (f"{A}?x=1&y=2", "Q&A")
    assert {code for code, _, _ in faults} == {problem.code for problem in record.problems} == {"S01"}


CAPITALS = [
    "<rss><channel><ITEM><Link>https://example.com/1</Link><PubDate>2026-01-01</PubDate></ITEM></channel></rss>",
    f'<feed xmlns="{ATOM}"><Entry><LINK href="https://example.com/1"/><UPDATED>2026-01-01</UPDATED></Entry></feed>',
]


@pytest.mark.parametrize("document", CAPITALS)
def test_names_in_other_capitals_are_read_and_reported(document: str) -> None:
    record, _ = record_and_faults(document)
    assert (record.loc, record.lastmod_precision) == ("https://example.com/1", "day")
    found = sr.parse(document.encode(), url="https://example.com/feed.xml").problems
    assert [problem.code for problem in found] == ["S10"] * 3


def test_shared_media_attributes_count_towards_the_limit() -> None:
    contents = '<media:content url="a" medium="video"/>' * 3_000
    item = f'<link>{A}</link><media:price price="1" currency="{"c" * 20_000}"/>{contents}'
    document = f'<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item>{item}</item></channel></rss>'
    (record,) = sr.parse(document.encode(), url=f"{SITE}feed.xml").urls
    assert len(sr.json_line(record)) < 3 * 4 * 1024 * 1024
