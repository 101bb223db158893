from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
import time

import pytest
from feedparser.mixin import _FeedParserMixin

from sitemap_reader.crawl import feedchild
from sitemap_reader.crawl.feedchild import FallbackFailed, FallbackResult, feedparser_fallback
from sitemap_reader.errors import SitemapReaderError
from sitemap_reader.limits import Limits

URL = "https://blog.example/feed/index.xml"


def rss(items: str) -> bytes:
    return f'<rss version="2.0"><channel><link>/</link>{items}</channel></rss>'.encode()


def atom(entries: str) -> bytes:
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()


def item(link: str) -> str:
    return f"<item><link>{link}</link></item>"


FEEDS = [
    # body, links, dropped, entries without link
    (rss(item("https://e.com/a") + item("https://e.com/b")), ["https://e.com/a", "https://e.com/b"], [], 0),
    (rss(item(" \n https://e.com/a \n")), ["https://e.com/a"], [], 0),
    (rss(item("../rel?x=1")), ["../rel?x=1"], [], 0),
    (rss('<item xml:base="http://x.example/y/"><link>rel</link></item>'), ["http://x.example/y/rel"], [], 0),
    (rss('<item xml:base="http://[/"><link>rel</link></item>' + item("b")), ["rel", "b"], [], 0),
    (rss("<item><guid>https://e.com/g</guid></item>"), ["https://e.com/g"], [], 0),
    (rss("<item><title>none</title></item>" + item("https://e.com/a")), ["https://e.com/a"], [], 1),
    (atom('<entry><link href="https://e.com/a"/></entry>'), ["https://e.com/a"], [], 0),
    (atom("<entry><link href='/a?b&amp;c'/></entry>"), ["/a?b&c"], [], 0),
    (rss(item("https://e.com/b&#225;r&#x2F;x")), ["https://e.com/bár/x"], [], 0),
    # an unescaped & where feedparser puts it right, and where it does not
    (rss(item("https://e.com/?a=1&b=2")), ["https://e.com/?a=1&b=2"], [], 0),
    (rss(item("https://e.com/?a=1&amp;b=2")), ["https://e.com/?a=1&b=2"], [], 0),
    (rss(item("<![CDATA[https://e.com/?a=1&b=2]]>") + "<b>"), ["https://e.com/?a=1&b=2"], [], 0),
    (rss(item("https://e.com/?a=1&copy=2")), [], ["https://e.com/?a=1©=2"], 0),
    (rss(item("https://e.com/?a&reg=2") + item("https://e.com/b")), ["https://e.com/b"], ["https://e.com/?a®=2"], 0),
    # the end of the document cuts a link off
    (rss(item("https://e.com/a") + item("https://e.com/cut"))[:-34], ["https://e.com/a"], None, None),
    # nothing in it
    (b"", [], [], 0),
    (b"<html><body>404</body></html>", [], [], 0),
    (b"\x00\xff" * 100, [], [], 0),
]


@pytest.mark.parametrize(("body", "links", "dropped", "without_link"), FEEDS)
def test_links_are_what_the_feed_says(body, links, dropped, without_link):
    result = feedparser_fallback(body, URL)
    assert [link for link, _ in result.links] == links
    if dropped is not None:
        assert (list(result.dropped), result.without_link) == (dropped, without_link)


@pytest.mark.parametrize("url", [URL, None, "feed.xml", "ftp://e.com/feed.xml"])
def test_base_of_one_entry_is_not_that_of_the_next(url):
    items = '<item xml:base="http://x.example/y/"><link>a</link></item>' + item("b")
    relative = '<item xml:base="/y/"><link>c</link></item><item xml:base="http://[/"><link>d</link></item>'
    first, second, third, fourth = feedparser_fallback(rss(items + relative), url).links
    assert (first[0], second[0], fourth[0]) == ("http://x.example/y/a", "b", "d")
    assert third[0] == ("https://blog.example/y/c" if url == URL else "/y/c")


def test_link_that_no_base_can_take_is_dropped():
    body = rss('<item xml:base="http://x.example/"><link>http://[x</link></item>' + item("b"))
    result = feedparser_fallback(body, URL)
    assert (result.links, result.dropped) == ((("b", None),), ("http://[x",))


def test_link_that_the_end_cuts_off_is_never_given(monkeypatch):
    # In this process, for speed: so what the child changes in feedparser has to be put back.
    monkeypatch.setattr(_FeedParserMixin, "resolve_uri", _FeedParserMixin.resolve_uri)
    whole = rss(item("https://e.com/abc") + item('x"/><link href="https://e.com/def'))
    for end in range(len(whole)):
        links = {link for link, _ in feedchild._read(whole[:end], URL).links}
        assert links <= {"https://e.com/abc", 'x"/>', "https://e.com/def", "x"}, end


DATES = [
    (rss("<item><link>/a</link><pubDate>Mon, 3 Jun</pubDate></item>"), "Mon, 3 Jun"),
    (
        b'<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><item><link>/a</link>'
        b"<dc:date>2020</dc:date><pubDate>2021</pubDate></item></channel></rss>",
        "2021",
    ),
    (atom('<entry><link href="/a"/><published>2020</published><updated>2021</updated></entry>'), "2021"),
    (atom('<entry><link href="/a"/><published>2020</published></entry>'), "2020"),
    (rss(item("/a")), None),
]


@pytest.mark.parametrize(("body", "date"), DATES)
def test_dates_come_as_written(body, date):
    assert feedparser_fallback(body, URL).links == (("/a", date),)


def test_url_is_optional():
    assert feedparser_fallback(rss(item("/a"))) == FallbackResult((("/a", None),))


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def is_untouched(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return True
    return False


def test_body_that_is_a_url_is_not_fetched(listener):
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/feed.xml"
    assert feedparser_fallback(address.encode(), URL) == FallbackResult()
    assert feedparser_fallback(address.encode(), address) == FallbackResult()
    feed = f'<?xml version="1.0"?><!DOCTYPE rss SYSTEM "{address}"><rss version="0.91"/>'
    assert feedparser_fallback(feed.encode(), address) == FallbackResult()
    assert is_untouched(listener)


def test_body_that_is_a_path_is_not_opened(tmp_path):
    assert feedparser_fallback(b"/etc/passwd") == FallbackResult()
    feed = tmp_path / "feed.xml"
    feed.write_bytes(rss(item("https://e.com/secret")))
    assert feedparser_fallback(str(feed).encode()) == FallbackResult()
    assert feedparser_fallback(b"feed.xml", str(feed)) == FallbackResult()


def test_external_entity_is_not_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("https://e.com/secret")
    body = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "file://{secret}">]>'.encode() + rss(item("&x;"))
    assert "secret" not in repr(feedparser_fallback(body, URL).links)


@pytest.fixture
def children(monkeypatch):
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


def test_child_that_takes_too_long_is_killed(children):
    slow = b"\n" * 80_000 + rss(item("https://e.com/a"))
    begin = time.monotonic()
    with pytest.raises(FallbackFailed, match=r"stopped after 0\.5 s; fallback_seconds permits more"):
        feedparser_fallback(slow, URL, limits=Limits(fallback_seconds=0.5))
    assert time.monotonic() - begin < 5
    assert [child.returncode is not None for child in children] == [True]
    with pytest.raises(ProcessLookupError):
        os.kill(children[0].pid, 0)


def test_size_limit_holds_exactly():
    body = rss(item("https://e.com/a"))
    assert feedparser_fallback(body, limits=Limits(max_fallback_bytes=len(body))).links
    with pytest.raises(FallbackFailed, match="max_fallback_bytes"):
        feedparser_fallback(body, limits=Limits(max_fallback_bytes=len(body) - 1))


@pytest.mark.skipif(sys.platform != "linux", reason="address space is capped on Linux")
def test_child_that_needs_too_much_memory_fails_alone(monkeypatch):
    monkeypatch.setattr(
        feedchild, "_PROGRAM", feedchild._PROGRAM.replace("sys.exit(main())", "main(); bytes(1 << 30)")
    )
    with pytest.raises(FallbackFailed, match="more than 512 MiB of memory"):
        feedparser_fallback(rss(item("/a")))


@pytest.mark.parametrize(("seconds", "cpu_seconds"), [(10.0, 12), (2.5, 4)])
def test_child_has_caps_of_its_own_on_memory_and_processor_time(monkeypatch, seconds, cpu_seconds):
    resource = pytest.importorskip("resource")
    ask = "main(); import resource; sys.exit(repr([resource.getrlimit(kind) for kind in (%d, %d)]))"
    ask %= (resource.RLIMIT_CPU, resource.RLIMIT_AS)
    monkeypatch.setattr(feedchild, "_PROGRAM", feedchild._PROGRAM.replace("sys.exit(main())", ask))
    with pytest.raises(FallbackFailed) as caught:
        feedparser_fallback(rss(item("/a")), limits=Limits(fallback_seconds=seconds))
    processor, memory = ast.literal_eval(str(caught.value).partition(": ")[2])
    assert is_capped(processor, cpu_seconds)
    if sys.platform == "linux":
        assert is_capped(memory, feedchild.CHILD_MEMORY_BYTES)


def is_capped(limits: tuple[int, int], cap: int) -> bool:
    """Soft and hard; the system may have had a lower one. -1 is none at all."""
    return all(0 <= limit <= cap for limit in limits)


def test_long_base_before_many_links_is_bounded():
    body = rss(f'<x xml:base="http://e.com/{"b" * 500_000}/">' + item("a") * 1_000 + "</x>")
    with pytest.raises(FallbackFailed, match=r"answer is too long|memory"):
        feedparser_fallback(body, URL, limits=Limits(fallback_seconds=60))  # not the clock, on a busy machine


FAILURES = [
    ("executable", "/nowhere/python", "could not be started"),
    ("executable", "/bin/false", "gave up: exit 1"),
]


@pytest.mark.parametrize(("name", "value", "message"), FAILURES)
def test_child_that_does_not_run_is_an_error_of_ours(monkeypatch, name, value, message):
    monkeypatch.setattr(sys, name, value)
    with pytest.raises(FallbackFailed, match=message) as caught:
        feedparser_fallback(b"x")
    assert isinstance(caught.value, SitemapReaderError)


def test_url_with_a_nul_is_an_error_of_ours():
    with pytest.raises(FallbackFailed, match="could not be started"):
        feedparser_fallback(b"x", "http://e.com/\0")


def test_child_ignores_the_current_folder_and_python_variables(tmp_path, monkeypatch):
    (tmp_path / "feedparser.py").write_text("raise SystemExit('wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert feedparser_fallback(rss(item("/a"))).links == (("/a", None),)
