"""When the feed fallback is called, and with which body: never over the limit, never truncated within text."""

from __future__ import annotations

import attrs
import pytest
from kit import parse

import sitemap_reader as sr
from sitemap_reader.parser import FallbackBuffer

URL = "https://example.com/feed.xml"
# A root that the streaming parser does not know.
BODY = b"<list><item><link>https://example.com/1</link></item></list>"


@attrs.define
class Fallback:
    """A fallback that records its bodies, and finds one link in each."""

    bodies: list[bytes] = attrs.field(factory=list)
    links: tuple[tuple[str, str | None], ...] = (("https://example.com/found", None),)
    dropped: tuple[str, ...] = ()
    without_link: int = 0

    def __call__(self, body: bytes, url: str | None, /, *, limits: sr.Limits) -> Fallback:
        self.bodies.append(body)
        return self


def test_links_of_the_fallback_are_returned() -> None:
    fallback = Fallback()
    document = sr.parse(BODY, url=URL, feed_fallback=fallback)
    assert [url.loc for url in document.urls] == ["https://example.com/found"]
    assert fallback.bodies == [BODY]


@pytest.mark.parametrize("before", [b"\n" * 80_000, b'\n<?xml version="1.0"?>\n\n'])
def test_blank_lines_before_the_root_are_not_given(before: bytes) -> None:
    """feedparser's time is quadratic in their number."""
    fallback = Fallback()
    sr.parse(before + BODY, url=URL, feed_fallback=fallback)
    assert fallback.bodies == [BODY]


@pytest.mark.parametrize("longer", [b"", b" " * 5000], ids=["a byte", "more"])
def test_a_body_over_the_limit_is_not_given_and_says_so(longer: bytes) -> None:
    fallback = Fallback()
    limits = sr.Limits(max_fallback_bytes=len(BODY) - 1)
    document = sr.parse(BODY + longer, url=URL, feed_fallback=fallback, limits=limits)
    assert fallback.bodies == []
    assert (document.urls, document.outcome.complete) == ([], False)
    reported = [problem.message for problem in document.problems if problem.code == "S16"]
    assert ["max_fallback_bytes" in message for message in reported] == [True]


def test_no_more_is_kept_than_the_limit_and_a_chunk() -> None:
    feed = FallbackBuffer(Fallback(), sr.Limits(max_fallback_bytes=1000), None)
    for _ in range(500):
        feed.add(b"<x/>" * 25)
    assert len(feed._body) <= 1100


@pytest.mark.parametrize("size", [1000, 5000])
def test_a_body_of_many_chunks_is_given_whole(size: int) -> None:
    fallback = Fallback()
    body = b"<list>" + b"<item><link>https://example.com/1</link></item>" * 300 + b"</list>"
    parse(body, size, url=URL, feed_fallback=fallback)
    assert fallback.bodies == [body]


# All but the last two end where a link might continue.
ENDS = [
    (b"<list><item><link>https://example.com/on", False),
    (b"<list><item><link>https://example.com/on\n ", False),
    (b"<list><item><link>https://example.com/1</link", False),
    (b"<list><item><link href='https://example.com/on", False),
    (BODY + b"\nbye", False),
    (b"<list><item><link>https://example.com/1</link>", True),
    (BODY + b" \r\n", True),
]


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(("body", "requested"), ENDS)
def test_a_body_that_ends_in_mid_text_is_not_given(body: bytes, requested: bool, size: int) -> None:
    fallback = Fallback()
    found = parse(body, size, url=URL, feed_fallback=fallback)
    assert fallback.bodies == ([body] if requested else [])
    assert bool(found.locs) is requested
    assert "S15" in found.outcome().problems


def test_body_read_by_the_streaming_parser_is_not_given() -> None:
    fallback = Fallback()
    feed = b"<rss version='2.0'><channel><item><link>https://example.com/1</link></item></channel></rss>"
    document = sr.parse(feed, url=URL, feed_fallback=fallback)
    assert [url.loc for url in document.urls] == ["https://example.com/1"]
    assert fallback.bodies == []
