"""References to characters that do not exist crash feedparser; the rest of the feed is read."""

from sitemap_reader.pipeline import feedparser_fallback

BLOG = "https://blog.example"
URL, LAST = f"{BLOG}/feed.xml", f"{BLOG}/last"
IMPOSSIBLE = [
    *("&#99999999999;", "&#1114112;", "&#x110000;", "&#xFFFFFFFFFFFFFFFFFF;", f"&#{'9' * 5000};", f"&#x{'f' * 5000};"),
    *("&#xD800;", "&#xDFFF;", "&#55296;", "&#XdC00;", "&#xD800", "&#0000000000055296;"),
]


def feed(*items: tuple[str, str], title: str = "") -> bytes:
    """Items of a title and a link; also malformed by an unclosed tag, so that feedparser reads it."""
    listed = "".join(f"<item><title>a {text} b</title><link>{link}</link></item>" for text, link in items)
    listed += f"<item><link>{LAST}</link><b></item>"
    return f'<rss version="2.0"><channel><title>{title}</title>{listed}</channel></rss>'.encode()


def test_a_feed_with_impossible_characters_gives_its_links() -> None:
    """One such reference in feedparser would lose the whole feed."""
    items = [(reference, f"{BLOG}/{number}") for number, reference in enumerate(IMPOSSIBLE)]
    result = feedparser_fallback(feed(*items, title=IMPOSSIBLE[0]), URL)
    assert [link for link, _ in result.links] == [*(link for _, link in items), LAST]
    assert result.dropped == ()


def test_link_with_an_impossible_character_is_dropped() -> None:
    result = feedparser_fallback(feed(*(("", f"{BLOG}/?{reference}x") for reference in IMPOSSIBLE)), URL)
    assert [link for link, _ in result.links] == [LAST]
    assert len(result.dropped) == len(IMPOSSIBLE)


def test_a_relative_link_below_a_base_with_an_impossible_character_is_dropped() -> None:
    body = b'<rss version="2.0"><channel xml:base="https://e.example/&#xD800;/"><item><link>rel</link></item></channel></rss>'
    result = feedparser_fallback(body, URL)
    assert (result.links, result.dropped) == ((), ("https://e.example/\ufffd/rel",))


def test_characters_that_exist_stay() -> None:
    references = {"&#0065;": "A", "&#x1F600;": "\U0001f600", "&#xE000;": "\ue000"}
    result = feedparser_fallback(feed(*((reference, f"{BLOG}/?{reference}") for reference in references)), URL)
    assert [link for link, _ in result.links] == [*(f"{BLOG}/?{text}" for text in references.values()), LAST]
