"""feedparser and the streaming parser on the same feeds: the same links and dates, except those listed here."""

from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from corpus_cases import cases

import sitemap_reader as sr
from sitemap_reader.parser import FallbackBuffer, Normaliser, Scope
from sitemap_reader.pipeline import FallbackResult, read_links

Rows = list[tuple[str, object, object]]  # loc, lastmod, precision

URL = "https://example.com/blog/feed.xml"

JOINED = "feedparser joins links with an xml:base: they are not as written, and dropped"
# Document in corpus/feed -> the paths of links that differ between the two, and why.
EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "cdf-only-feedparser-knows.xml": ({"/cdf/1.html"}, "the streaming reader knows no CDF"),
    "atom-prefixed.xml": ({"/1"}, "feedparser knows no other spellings of a namespace"),
    "rss-1.0-prefixed.rdf": ({"/notes/1", "/notes/3"}, "feedparser knows no other spellings of a namespace"),
    "rss-2.0-namespaces.xml": ({"/1"}, "feedparser knows no other spellings of a namespace"),
    "atom-link-as-text.xml": ({"/b", "/b-text"}, "for feedparser the text of a link replaces its href"),
    "rss-atom-link.xml": ({"/c", "/c-atom"}, "feedparser takes the link of Atom before that of RSS"),
    "rss-several-links.xml": ({"/never"}, "feedparser takes an RSS link that is an attribute"),
    "atom-source-and-content.xml": ({"/never"}, "feedparser knows no depth: an entry in an entry is another"),
    "atom-which-date.xml": ({"/none"}, "feedparser takes dates of any namespace"),
    "rss-which-date.xml": ({"/atom-updated", "/two"}, "feedparser takes the last date of several"),
    "rss-guid-rules.xml": (
        {"/3", "/9"},
        "for feedparser, only isPermaLink=true is true; an empty link hides the guid",
    ),
    "atom-0.3-dates-and-links.xml": ({"/diary/1", "/diary/2"}, JOINED),
    "atom-1.0.atom": ({"/garden/bulbs", "/garden/winter/frost"}, JOINED),
    "atom-xml-base.xml": (
        {
            *("/journal/2026/11/link", "/journal/2026/base-of-the-one-that-counts", "/journal/2026/entry"),
            *("/journal/empty", "/journal/feed", "/y/"),
        },
        JOINED,
    ),
    "rss-xml-base.xml": (
        {
            *("/a-base-that-is-none", "/absolute/page", "/up", "/blog/2026/11/07/and-link", "/blog/2026/11/and-item"),
            *("/blog/2026/a-base-that-is-none", "/blog/2026/base-of-the-one-that-counts"),
            "/blog/2026/root-and-channel",
        },
        JOINED,
    ),
}


def is_well_formed(body: bytes) -> bool:
    try:
        ElementTree.fromstring(body)  # noqa: S314 - the corpus is ours
    except ElementTree.ParseError:
        return False
    return True


FEEDS = sorted(
    (case.path for case in cases() if case.path.parent.name == "feed" and is_well_formed(case.path.read_bytes())),
    key=lambda path: path.name,
)


def rows(items: list[object]) -> Rows:
    return [(item.loc, item.lastmod, item.lastmod_precision) for item in items if isinstance(item, sr.UrlRecord)]


def streamed(body: bytes, url: str) -> Rows:
    return rows([*sr.iter_parse([body], url=url)])


def through_feedparser(body: bytes, url: str) -> Rows:
    def ask(body: bytes, url: str | None, /, *, limits: sr.Limits) -> FallbackResult:
        return read_links(body)

    feed = FallbackBuffer(ask, sr.Limits(), url)
    feed.add(body)
    everything = Scope("any", ())
    normaliser = Normaliser(sitemap=url, base=url, scope=everything, child_scope=everything, max_problems=9)
    return rows([item for raw in feed.entries() if not isinstance(raw, sr.Problem) for item in normaliser.clean(raw)])


def differing_paths(body: bytes, url: str) -> set[str]:
    ours, theirs = streamed(body, url), through_feedparser(body, url)
    return {urlsplit(loc).path for loc, _, _ in {*ours} ^ {*theirs}}


@pytest.mark.parametrize("path", FEEDS, ids=lambda path: path.name)
def test_feedparser_gives_what_the_streaming_reader_gives(path: Path) -> None:
    paths, why = EXCEPTIONS.get(path.name, (set(), ""))
    assert differing_paths(path.read_bytes(), f"https://example.com/{path.name}") == paths, why


def test_there_are_feeds_to_compare() -> None:
    assert len(FEEDS) >= 8
    assert set(EXCEPTIONS) <= {path.name for path in FEEDS}


NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/" xmlns:x="urn:x"'
)
LINK = "<link>/a</link>"


def rss(items: str, base: str = "") -> str:
    return f'<rss version="2.0" {NAMESPACES} {base}><channel><link>/</link>{items}</channel></rss>'


def atom(entries: str, base: str = "") -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom" {NAMESPACES} {base}><link href="/"/>{entries}</feed>'


SAME = [
    rss(f"<item>{LINK}<dc:date>2020</dc:date><pubDate>Tue, 04 Jun 2019 10:00:00 GMT</pubDate></item>"),
    rss(f"<item>{LINK}<pubDate/><dc:date>2020-01-02</dc:date></item>"),
    rss(f"<item>{LINK}<atom:updated>2020-01-02</atom:updated></item>"),
    rss(f"<item><atom:link rel='self' href='/self'/>{LINK}</item>"),
    rss(f"<item>{LINK}<link>/b</link></item>"),
    rss(f"<item><guid>https://example.com/g</guid>{LINK}</item>"),
    rss("<item><guid>/g</guid></item>"),
    rss("<item><guid isPermaLink='false'>https://example.com/g</guid></item>"),
    rss(f"<item><enclosure url='/a.mp3'/>{LINK}<source url='https://x.example/'>X</source></item>"),
    rss("<item><image><url>/i</url><link>/no</link></image><link>/a</link></item>"),
    rss(f"<item>{LINK}<x:more><link>/b</link></x:more><x:link>/c</x:link></item>"),
    rss("<item><link>https://e.com/?<!-- c -->a<![CDATA[&b]]>=1&amp;c</link></item>"),
    rss("<item><link>javascript:x</link></item>"),
    atom("<entry><link rel='alternate' type='application/pdf' href='/p'/><link href='/h'/></entry>"),
    atom("<entry><link rel='related' href='/p'/><link rel='Alternate' href='/h'/></entry>"),
    atom("<entry><id>https://example.com/id</id></entry>"),
    atom("<entry><source><link href='/no'/><updated>2001</updated></source><link href='/h'/></entry>"),
    atom("<entry><content type='xhtml'><div><link href='/no'/></div></content><link href='/h'/></entry>"),
    atom("<entry><link href='/h'/><published>2020-01-01T00:00:00Z</published></entry>"),
    atom("<entry><link href='/h'/><published>2020-01-01</published><updated>2021-01-01</updated></entry>"),
]
# The reason, and a feed for which feedparser gives another result.
OTHER = [
    ("the last date of a name counts", rss(f"<item>{LINK}<pubDate>2020</pubDate><pubDate>2021</pubDate></item>")),
    ("all namespaces of dates are one", rss(f"<item>{LINK}<atom:published>2020</atom:published></item>")),
    ("all namespaces of dates are one", rss(f"<item>{LINK}<dcterms:modified>2020</dcterms:modified></item>")),
    ("all namespaces of dates are one", atom("<entry><link href='/h'/><dc:date>2020</dc:date></entry>")),
    ("other dates count too", rss(f"<item>{LINK}<lastBuildDate>2020</lastBuildDate></item>")),
    ("Atom's links count in RSS", rss(f"<item><atom:link href='/alt'/>{LINK}</item>")),
    ("the depth of a link does not count", rss(f"<item><x:more><link>/b</link></x:more>{LINK}</item>")),
    ("Atom's links may be text, and RSS's href", atom("<entry><link>/h</link></entry>")),
    ("only isPermaLink=true is true", rss("<item><guid isPermaLink='TRUE'>https://example.com/g</guid></item>")),
    ("markup and spaces are no part of a link", rss("<item><link>https://e.com/a b</link></item>")),
    ("an empty link hides the guid", rss("<item><link/><guid>https://example.com/g</guid></item>")),
    ("it joins links with any base", rss("<item xml:base='/sub/x'><link>a</link></item>")),
    ("it joins links with any base", rss("<item><x:x xml:base='https://q.example/'>x</x:x><link>a?</link></item>")),
    ("it joins links with any base", atom("<entry xml:base='b/'><link href='d'/></entry>", "xml:base='/'")),
    ("it eats ; in links", rss("<item><link>https://e.com/?a&amp;b;c</link></item>")),
]


@pytest.mark.parametrize("feed", SAME)
def test_feedparser_and_streaming_parser_agree(feed: str) -> None:
    assert streamed(feed.encode(), URL) == through_feedparser(feed.encode(), URL)


@pytest.mark.parametrize(("why", "feed"), OTHER)
def test_feedparser_and_streaming_parser_differ(why: str, feed: str) -> None:
    assert streamed(feed.encode(), URL) != through_feedparser(feed.encode(), URL), why
