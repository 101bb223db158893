"""References to characters that do not exist: feedparser dies of them; the feed around them is read all the same."""

from __future__ import annotations

import pytest

from sitemap_reader.crawl.feedchild import feedparser_fallback

URL = "https://blog.example/feed.xml"
FIRST, SECOND = "https://blog.example/1", "https://blog.example/2"
IMPOSSIBLE = [
    *("&#99999999999;", "&#1114112;", "&#x110000;", "&#xFFFFFFFFFFFFFFFFFF;", f"&#{'9' * 5000};", f"&#x{'f' * 5000};"),
    *("&#xD800;", "&#xDFFF;", "&#55296;", "&#XdC00;", "&#xD800", "&#0000000000055296;"),
]


def feed(title: str, link: str = FIRST, base: str = "") -> bytes:
    """Hopeless otherwise, too: a tag that nothing closes."""
    items = f"<item><title>a {title} b</title><link>{link}</link></item><item><link>{SECOND}</link><b></item>"
    return f'<rss version="2.0"{base}><channel><title>{title}</title>{items}</channel></rss>'.encode()


@pytest.mark.parametrize("reference", IMPOSSIBLE, ids=lambda text: text[:16])
def test_a_feed_with_an_impossible_character_gives_its_links(reference: str) -> None:
    result = feedparser_fallback(feed(reference), URL)
    assert [link for link, _ in result.links] == [FIRST, SECOND]
    assert result.dropped == ()


@pytest.mark.parametrize("reference", IMPOSSIBLE, ids=lambda text: text[:16])
def test_a_link_with_an_impossible_character_is_dropped_and_not_mended(reference: str) -> None:
    result = feedparser_fallback(feed("", f"{FIRST}?{reference}x"), URL)
    assert [link for link, _ in result.links] == [SECOND]
    assert len(result.dropped) == 1


def test_a_relative_link_is_not_joined_to_a_base_with_an_impossible_character() -> None:
    body = b'<rss version="2.0"><channel xml:base="https://e.example/&#xD800;/"><item><link>rel</link></item></channel></rss>'
    result = feedparser_fallback(body, URL)
    assert (result.links, result.dropped) == ((), ("rel",))


@pytest.mark.parametrize(("reference", "link"), [("&#0065;", "A"), ("&#x1F600;", "\U0001f600"), ("&#xE000;", "\ue000")])
def test_characters_that_exist_stay(reference: str, link: str) -> None:
    result = feedparser_fallback(feed(reference, f"{FIRST}?{reference}"), URL)
    assert [found for found, _ in result.links] == [f"{FIRST}?{link}", SECOND]
