"""Links of start pages to sitemaps: what generators write, tags that are none, hostile markup."""

import gzip
import time

import pytest

import sitemap_reader as sr

URL = "https://example.com/"

# What the start pages of generators have, reduced to the tags that matter, and noise of their kind.
PAGES = {
    "WordPress with Yoast names none": (
        """<!DOCTYPE html><html lang="en-GB"><head><meta charset="UTF-8" />
<link rel="profile" href="https://gmpg.org/xfn/11">
<!-- This site is optimized with the Yoast SEO plugin v23.0 - https://yoast.com/wordpress/plugins/seo/ -->
<link rel="canonical" href="https://example.com/" />
<script type="application/ld+json" class="yoast-schema-graph">{"@graph":[{"url":"https://example.com/sitemap_x.xml"}]}
</script><link rel="alternate" type="application/rss+xml" title="Feed" href="https://example.com/feed/" />
</head><body class="home"><footer><a href="https://example.com/privacy-policy/">Privacy</a></footer></body></html>""",
        [],
    ),
    "WordPress with a footer": (
        """<html><head><link rel='https://api.w.org/' href='https://example.com/wp-json/' /></head><body>
<ul class="menu"><li><a href="https://example.com/sitemap_index.xml">XML sitemap</a></li>
<li><a href="https://example.com/sitemap/">Sitemap</a></li></ul></body></html>""",
        ["/sitemap_index.xml"],
    ),
    "Shopify": (
        """<!doctype html><html class="no-js" lang="en"><head><link rel="preconnect" href="https://cdn.shopify.com">
<link href="//example.com/cdn/shop/t/2/assets/base.css?v=1" rel="stylesheet" type="text/css" media="all" />
<script>window.Shopify = {"shop": "x"}; var s = '<a href="/fake-sitemap.xml">';</script></head>
<body><a href="/collections/all">All</a><a class="link" href="/sitemap.xml">Site map</a></body></html>""",
        ["/sitemap.xml"],
    ),
    "Wix": (
        """<!DOCTYPE html><html lang="en"><head><meta name="generator" content="Wix.com Website Builder">
<link rel="alternate" href="https://example.com" hreflang="x-default"></head>
<body><a data-testid="linkElement" href="https://www.example.com/blog-posts-sitemap.xml" target="_self">x</a></body>""",
        ["https://www.example.com/blog-posts-sitemap.xml"],
    ),
    "Next": (
        """<!DOCTYPE html><html><head><link rel="preload" href="/a.css" as="style"/>
<link rel="sitemap" type="application/xml" href="/sitemap-0.xml"/></head><body><div></div>
<script id="__NEXT_DATA__">{"a":"<link rel='sitemap' href='/no.xml'>"}</script></body></html>""",
        ["/sitemap-0.xml"],
    ),
    "Squarespace": (
        """<!doctype html><html xmlns:og="http://opengraphprotocol.org/schema/"><head>
<base href=""><title>Studio <a href="/not-a-sitemap.xml"></title></head><body><a href="/contact">Contact</a></body>""",
        [],
    ),
    "Drupal": (
        """<!DOCTYPE html><html lang="en" dir="ltr" prefix="og: https://ogp.me/ns#"><head>
<meta name="Generator" content="Drupal 10 (https://www.drupal.org)" />
<link rel="alternate sitemap" title="Sitemap" href="/sites/default/files/xmlsitemap/map-1.xml" /></head>
<body><a href="/sitemap" data-drupal-link-system-path="sitemap">Sitemap</a></body></html>""",
        ["/sites/default/files/xmlsitemap/map-1.xml"],
    ),
    "Hugo": (
        """<html><head><base href=https://example.com/docs/ ><LINK REL=Sitemap TYPE=application/xml
HREF=sitemap.xml><link rel=stylesheet href=/a.css></head><body>
<A HREF=en/sitemap.xml.gz?v=1&amp;w=2#top>map</A></body>""",
        ["/docs/sitemap.xml", "/docs/en/sitemap.xml.gz?v=1&w=2"],
    ),
    "plain": (
        """<html><body bgcolor=white><h1>Hi</h1><a href="sitemap.txt">t</a> <a href=products.xml.gz>p</a>
<a href="sitemap.html">h</a> <a href="/feed.xml">f</a> <a href="/sitemap.xml.html">n</a> <a href="/s.gz">g</a>""",
        ["/sitemap.txt", "/products.xml.gz"],
    ),
}


def links(page: str | bytes, **options: object) -> list[tuple[str, int | None]]:
    body = page.encode() if isinstance(page, str) else page
    given = {"url": URL, "start_page": True, "content_type": "text/html; charset=utf-8", **options}
    whole, bytewise = sr.SitemapParser(**given), sr.SitemapParser(**given)  # type: ignore[arg-type]
    items = [*whole.feed(body), *whole.close()]
    cut = [item for at in range(len(body)) for item in bytewise.feed(body[at : at + 1])] if len(body) < 9_000 else []
    assert len(body) >= 9_000 or [*cut, *bytewise.close()] == items
    assert [item.code for item in items if isinstance(item, sr.Problem)] in ([], ["S07"])
    return [(item.loc, item.line) for item in items if isinstance(item, sr.SitemapRef)]


@pytest.mark.parametrize(("page", "found"), PAGES.values(), ids=PAGES)
def test_links_of_the_start_pages_of_generators(page: str, found: list[str]) -> None:
    assert [loc.removeprefix("https://example.com") for loc, _ in links(page)] == found


@pytest.mark.parametrize(("page", "found"), [
    ('\n\n<a href="/sitemap.xml">', [(f"{URL}sitemap.xml", 3)]),
    ('<a href="/sitemap.xml"><link rel=sitemap href=/a><a href="/sitemap.xml#top">', [
        (f"{URL}a", 1), (f"{URL}sitemap.xml", 1)
    ]),
    ('<!-- <a href="/sitemap.xml"> --><a href="/b-sitemap.xml">', [(f"{URL}b-sitemap.xml", 1)]),
    ('<!--><a href="/sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('<!-- <a href="/sitemap.xml">', []),
    ('<style><a href="/sitemap.xml"></STYLE ><a href="/c-sitemap.xml">', [(f"{URL}c-sitemap.xml", 1)]),
    ('<script>"</script><a href="/sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('<a title="a > b" href="/sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('<a title=\'"\' HREF = "/sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('<a " href="/sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('1 < 2 <a href="/sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('<a href="/sitemap.xml" href="/d-sitemap.xml">', [(f"{URL}sitemap.xml", 1)]),
    ('<a href="/site-map.xml"><area href="/sitemap.xml"><ahref="/sitemap.xml">', [(f"{URL}site-map.xml", 1)]),
    ('<base href="https://cdn.example/x/"><base href="/y/"><a href="sitemap.xml">', [
        ("https://cdn.example/x/sitemap.xml", 1)
    ]),
    ('<a href="sitemap.xml"><base href="/late/">', [(f"{URL}late/sitemap.xml", 1)]),
    ('<a href="mailto:sitemap.xml"><a href="javascript:sitemap.xml"><a href="#sitemap.xml"><a>', []),
    ('<link rel="sitemap"><link rel="sitemaps" href="/a"><link rel="nositemap" href="/a">', []),
    (f'<a href="/{"x" * 3000}sitemap.xml">', []),
    ("", []),
    ('<a href="/sitemap.xml', []),
])
def test_what_is_a_link(page: str, found: list[tuple[str, int]]) -> None:
    assert links(page) == found


def test_a_page_is_decoded() -> None:
    page = '<a href="/\u043a\u0430\u0440\u0442\u0430-sitemap.xml">'
    found = [(f"{URL}%D0%BA%D0%B0%D1%80%D1%82%D0%B0-sitemap.xml", 1)]
    assert links(page) == links(gzip.compress(page.encode())) == found
    assert links(page.encode("cp1251"), content_type="text/html; charset=windows-1251") == found


def test_links_behind_512_kib_and_more_than_twenty_are_left_out() -> None:
    half = 512 * 1024
    link = '<a href="/sitemap.xml">'
    assert links(" " * (half - len(link)) + link) == [(f"{URL}sitemap.xml", 1)]
    assert links(" " * (half - len(link) + 1) + link) == []
    assert len(links("".join(f'<a href="/sitemap-{number}.xml">' for number in range(500)))) == 20
    parser = sr.SitemapParser(url=URL, start_page=True)
    parser.feed(b" " * half)
    assert parser.stopped


HOSTILE = [
    "<a", "<a ", '<a "', "<a =", '<a ="', "<a ='\">", "<!--", "<script>", "</script", "<", "<a>", "<a x>", "<a href=\t",
    "<a href=sitemap.xml?1>", "<link rel=sitemap href=a>", "<base href=a>", '<a href="&#', "<a href=&amp;map>",
    "<a\n=\n",
]


@pytest.mark.parametrize("lead", ["", "<a ", "<a x='"])
@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_markup_takes_linear_time(part: str, lead: str) -> None:
    """With quadratic time a whole page would take minutes."""
    started = time.process_time()
    assert len(links(lead + part * (512 * 1024 // len(part)))) <= 20
    assert time.process_time() - started < 20
