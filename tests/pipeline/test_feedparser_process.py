"""feedparser in its process: links as spelled in the feed, resource limits, and how it ends."""

import ast
import html
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from servers import is_untouched
from tiers import examples

from sitemap_reader import Limits, SitemapReaderError
from sitemap_reader.pipeline import CANCELLED, FallbackResult, feedparser_fallback, read_links
from sitemap_reader.pipeline import feedparser_process as programs
from sitemap_reader.pipeline.feedparser_process import FallbackFailed

URL = "https://blog.example/feed/index.xml"


def rss(items: str) -> bytes:
    return f'<rss version="2.0"><channel><link>/</link>{items}</channel></rss>'.encode()


def atom(entries: str) -> bytes:
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()


def item(link: str) -> str:
    return f"<item><link>{link}</link></item>"


A, B = "https://e.com/a", "https://e.com/b"

# Not well-formed: feedparser's own lenient parser reads them. Body, links, dropped, entries without a link.
LOOSE = [
    # references, and text that looks like one
    (item("https://e.com/?a=1&amp;b=2"), ["https://e.com/?a=1&b=2"], [], 0),
    (item("https://e.com/b&#225;r&#x2F;x&eacute;"), ["https://e.com/bár/xé"], [], 0),
    (item("https://e.com/?a=1&b=2"), [], ["https://e.com/?a=1&b=2"], 0),
    (item("https://e.com/?a=1&copy=2"), [], ["https://e.com/?a=1©=2"], 0),
    (item("https://e.com/?a&reg=2") + item(B), [B], ["https://e.com/?a®=2"], 0),
    (item("https://e.com/?a&amp;b") + item("https://e.com/?a&b"), ["https://e.com/?a&b"], ["https://e.com/?a&b"], 0),
    (item(A) + item(A), [A, A], [], 0),
    (item("https://e.com/?a&amp=2"), [], ["https://e.com/?a&=2"], 0),
    (item("https://e.com/?a&#38b"), [], ["https://e.com/?a&#38b"], 0),
    (item("https://e.com/?a&unheard;b"), [], ["https://e.com/?a&unheardb"], 0),
    (item("https://e.com/?a&amp;b;c"), [], ["https://e.com/?a&bc"], 0),  # feedparser drops the ;
    (item("https://e.com/?a&amp;amp;b"), [], ["https://e.com/?a&ampb"], 0),
    (item("https://e.com/?a&lt;b"), [], ["https://e.com/?a&ltb"], 0),
    (item("https://e.com/&#150;"), [], ["https://e.com/–"], 0),  # read as windows-1252
    (item("https://e.com/é/ж"), ["https://e.com/é/ж"], [], 0),
    (item("https://e.com/Ã©"), [], ["https://e.com/é"], 0),  # "repaired"
    # CDATA, comments and instructions are not part of a link
    (item("<![CDATA[https://e.com/?a=1&b=2]]>"), ["https://e.com/?a=1&b=2"], [], 0),
    (item("https://e.com/<![CDATA[?a&b]]>=c"), ["https://e.com/?a&b=c"], [], 0),
    (item("<![CDATA[https://e.com/?a&amp;b]]>"), [], ["https://e.com/?a&ampb"], 0),
    (item("<![CDATA[https://e.com/?a&#39;b]]>"), [], ["https://e.com/?a'b"], 0),
    (item("<![CDATA[https://e.com/<b]]>"), [], ["https://e.com/&ltb"], 0),
    (item("<![CDATA[https://e.com/a") + item(B), [], [], 1),
    (item("https://e.com/<!-- x -->a"), [A], [], 0),
    (item("https://e.com/<?x y?>a"), [A], [], 0),
    (item("https://e.com/<?x > ?>a"), [], ["https://e.com/ ?>a"], 0),
    (item("https://e.com/<!-- x") + item(B), [], [], 1),
    # markup within a link: feedparser leaves it out
    (item("https://e.com/a<b>x</b>c"), [], ["https://e.com/ac"], 0),
    (item("<b>https://e.com/</b>a"), [], ["a"], 0),
    (item("https://e.com/a<br/>c"), [], ["https://e.com/ac"], 0),
    (item("https://e.com/a</3b"), [], [A], 0),
    (item("https://e.com/a<3b"), [], ["https://e.com/a<3b"], 0),
    (item("https://e.com/a<!x>c"), [], ["https://e.com/a&lt!x>c"], 0),
    ("<item><guid>https://e.com/<b>g</b>h</guid></item>", [], ["https://e.com/h"], 0),
    ("<item><link/https://e.com/x/</item>", [], ["https:"], 0),
    (item("https://e.com/a>b"), [], ["https://e.com/a>b"], 0),
    (item('">https://e.com/a'), [], ['">https://e.com/a'], 0),
    (item("https://e.com/a\nb"), [], ["https://e.com/a\nb"], 0),
    ('<item><link href="https://e.com/a rel=" type="x" /></item>', [], ["https://e.com/a rel="], 0),
    # several links
    (f"<item><link>{A}<link>{B}</link></link></item>", [], [A], 0),
    (f"<item><link>{A}</link><link>{B}</link></item>", [A], [], 0),
    (f"<item><link>{A}</link><more><link>{B}</link></more></item>", [A], [], 0),
    (f"<item><link>{A}<title>t</title></item>" + item(B), [B], [], 1),
    (f"<item><description><link>{B}</link></description></item>", [], [], 1),
    # control characters are kept
    (item("https://e.com/a\x01b\x00c"), ["https://e.com/a\x01b\x00c"], [], 0),
    (item("https://e.com/a\x1fb"), [], ["https://e.com/a\x1fb"], 0),
    # attributes
    (f"<item><link href='{A}'/></item>", [A], [], 0),
    (f"<item><link url='{A}'/></item>", [A], [], 0),
    (f"<item><link title='href=\"{B}\"' href='{A}'/></item>", [A], [], 0),
    (f"<item><link href={A} /></item>", [], [A], 0),
    (f"<item><link href={A}/></item>", [], [A + "/"], 0),
    ("<item><link href='https://e.com/é?a&amp;lt=1'/></item>", ["https://e.com/é?a&lt=1"], [], 0),
    ("<item><link href='https://e.com/?a&lt;=1'/></item>", [], ["https://e.com/?a&lt;=1"], 0),
    ("<item><link href='https://e.com/?a&copy=1'/></item>", [], ["https://e.com/?a&copy=1"], 0),
    ("<item><link href='https://e.com/it's'/></item>", [], ["https://e.com/it"], 0),
    ('<item><link href="https://e.com/say"hi".html"/></item>', [], ["https://e.com/say"], 0),
    ("<item><link href=https://e.com/a{b}c /></item>", [], [A], 0),
    (f'<item><link href="{A}/></item><item><link href="{B}"/></item>', [B], None, 0),
    # no links
    ("<item><guid>post-17</guid></item>", [], [], 1),
    (f"<item><guid isPermaLink='false'>{A}</guid></item>", [], [], 1),
    (f"<item><guid>{A}</guid></item>", [A], [], 0),
    (f"<item><link></link><guid>{A}</guid></item>", [], [], 1),
    (f"<entry><id>{A}</id></entry>", [], [], 1),
    (f"<item><link rel='self' href='{A}'/></item>", [], [], 1),
    # CDF
    (f"<ITEM HREF='{A}' LASTMOD='1998-11-05'><TITLE>x</ITEM>", [A], [], 0),
    (f"<ITEM><A HREF='{A}'>x</A></ITEM>", [], [], 1),
    # bases: where tags do not match, feedparser loses track of them
    ("<item><link>../rel?x=1</link></item>", ["../rel?x=1"], [], 0),
    (
        f"<item xml:base='http://x.example/'><br><link>rel</link></item>{item(A)}{item('b')}",
        *([A], ["http://x.example/rel", "http://x.example/b"], 0),
    ),
]


@pytest.mark.parametrize(("items", "links", "dropped", "without_link"), LOOSE)
def test_links_of_malformed_markup_are_spelled_in_it(items, links, dropped, without_link):
    result = read_links(rss(items + "<b>"))
    assert [link for link, _ in result.links] == links
    assert result.without_link == without_link
    if dropped is not None:
        assert list(result.dropped) == dropped


FEEDS = [
    # body, links, dropped, entries without link
    (rss(item("https://e.com/a") + item("https://e.com/b")), ["https://e.com/a", "https://e.com/b"], [], 0),
    (rss(item(" \n https://e.com/a \n")), ["https://e.com/a"], [], 0),
    (rss(item("../rel?x=1")), ["../rel?x=1"], [], 0),
    # feedparser joins them with the base, not always as a browser does: they are not as written
    (rss('<item xml:base="http://x.example/y/"><link>rel</link></item>'), [], ["http://x.example/y/rel"], 0),
    (rss('<item xml:base="http:///y/"><link>rel</link></item>'), [], ["http://y/rel"], 0),
    (rss('<item xml:base="/y/"><link>rel</link></item>'), [], ["/y/rel"], 0),
    (rss('<item xml:base="http://x.example/y/"><link>a</link></item>' + item("b") + item(A)), [A],
     ["http://x.example/y/a", "http://x.example/y/b"], 0),
    (rss('<item xml:base="http://x.example/"><link>https://e.com/a</link></item>'), [A], [], 0),
    (rss("<item><guid>https://e.com/g</guid></item>"), ["https://e.com/g"], [], 0),
    (rss("<item><title>none</title></item>" + item("https://e.com/a")), ["https://e.com/a"], [], 1),
    (atom('<entry><link href="https://e.com/a"/></entry>'), ["https://e.com/a"], [], 0),
    (atom("<entry><link href='/a?b&amp;c'/></entry>"), ["/a?b&c"], [], 0),
    (rss(item("https://e.com/b&#225;r&#x2F;x")), ["https://e.com/bár/x"], [], 0),
    (rss(item("https://e.com/?a=1&b=2") + item("https://e.com/b")), ["https://e.com/b"], ["https://e.com/?a=1&b=2"], 0),
    # empty
    (b"", [], [], 0),
    (b"<html><body>404</body></html>", [], [], 0),
    (b"\x00\xff" * 100, [], [], 0),
]


@pytest.mark.parametrize(("body", "links", "dropped", "without_link"), FEEDS)
def test_links_are_what_the_feed_says(body, links, dropped, without_link):
    result = read_links(body)
    assert [link for link, _ in result.links] == links
    assert (list(result.dropped), result.without_link) == (dropped, without_link)


def test_link_that_the_end_cuts_off_is_never_given():
    whole = rss(item("https://e.com/abc") + item('x"/><link href="https://e.com/def'))
    for end in range(len(whole)):
        links = {link for link, _ in read_links(whole[:end]).links}
        assert links <= {"https://e.com/abc"}, end


# Markup around links, which is damaged. None of its bytes may appear in a link.
MARKUP = (
    "<item><title>t &amp; u</title><link>{}</link><pubDate>Mon, 3 Jun 2019</pubDate></item>\n",
    '<item><link>{}</link><description><![CDATA[<p>x</p>]]></description><guid isPermaLink="false">7</guid></item>\n',
    "<item><guid>{}</guid><!-- a comment --></item>",
    "<entry><title type='html'>&lt;b&gt;</title><link rel='alternate' href='{}'/><id>urn:x</id></entry>\n",
    '<entry><link href="{}"></link><updated>2020-01-02</updated></entry>',
    "<ITEM HREF='{}' LASTMOD=\"1998-11-05\"><TITLE>x</TITLE></ITEM>\n",
    "<item><link><![CDATA[{}]]></link><?php echo ?></item>",
)
DATES_OF_MARKUP = ("Mon, 3 Jun 2019", "2020-01-02", "1998-11-05")
DEBRIS = (
    "<", ">", "</", "/>", '"', "'", "&", "&amp", ";", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<b>", "</b>",
    "<link>", "</link>", "</item>", "<item>", "=", " ", "\0", "\x1f", "<br/>", "&lt;", "&copy", "é", "</entry>", "<!x",
)
_TOKEN = re.compile(r"<[^>]*>|\w+|\s+|.", re.DOTALL)


def damaged(chance: random.Random, feed: str, links: list[str]) -> str:
    """Some pieces of markup are removed, doubled, moved or mixed with debris; locations stay complete.

    Sometimes the debris is within a location.
    """
    pieces = [piece for part in re.split(f"({'|'.join(map(re.escape, links))})", feed)
              for piece in ([part] if part in links else _TOKEN.findall(part))]
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(pieces))
        action = chance.randrange(5)
        if action == 0 and pieces[at] not in links:
            del pieces[at]
        elif action == 1 and pieces[at] in links:
            cut = chance.randrange(1, len(pieces[at]))
            pieces[at] = pieces[at][:cut] + chance.choice(DEBRIS) + pieces[at][cut:]
        elif action == 2:
            pieces = pieces[: max(at, 10)]
        elif action == 3:
            other = chance.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        else:
            pieces.insert(at, chance.choice(DEBRIS))
    return "".join(pieces)


@pytest.mark.slow
def test_damage_never_creates_a_link():
    chance, kept, rounds = random.Random(20), 0, examples(500, 200)  # noqa: S311 - the same damage each time
    for round_ in range(rounds):
        links = [f"https://e.com/{chance.randrange(1000)}/{word}?x=y" for word in ("one", "two", "three", "four")]
        start, end = chance.choice((("<rss><channel>", "</channel></rss>"), ("<feed>", "</feed>"), ("<CHANNEL>", "")))
        feed = start + "".join(chance.choice(MARKUP).format(link) for link in links) + end
        text = damaged(chance, feed, links)
        try:
            found = read_links(text.encode())
        except (ValueError, KeyError, IndexError):  # feedparser fails
            continue
        kept += len(found.links)
        for link, date in found.links:
            assert link in links or is_written(link, text), (round_, link, text)
            assert date in (None, *DATES_OF_MARKUP) or is_written(date, text), (round_, date, text)
    assert kept > 1.3 * rounds


# What XML removes from text.
_TRANSPARENT = re.compile(r"<!\[CDATA\[|\]\]>|<!--.*?-->|<\?[^>]*\?>", re.DOTALL)


def is_written(found: str, text: str) -> bool:
    """Whether a link is the complete text of an element or attribute: debris within a location gives another link."""
    flat = _TRANSPARENT.sub("", text)
    ends = ((">", "</"), ('"', '"'), ("'", "'"))
    return any(
        re.search(rf"{start}\s*{re.escape(found)}\s*{end}", form)
        for start, end in ends
        for form in (text, flat, html.unescape(flat))
    )


DATES = [
    (rss("<item><link>/a</link><pubDate>Mon, 3 Jun</pubDate></item>"), "Mon, 3 Jun"),
    (rss("<item><link>/a</link><pubDate><![CDATA[2020]]>-01</pubDate></item>"), "2020-01"),
    (b"<CHANNEL><ITEM HREF='/a' LASTMOD='1998-11-05'/></CHANNEL>", "1998-11-05"),
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
    assert read_links(body).links == (("/a", date),)


def test_date_with_markup_in_it_is_dropped():
    body = rss("<item><link>/a</link><pubDate>Mon, 3 <b>Jun</b> 2020</pubDate></item>")
    assert feedparser_fallback(body, URL) == FallbackResult((("/a", None),), ("Mon, 3  2020",))


@pytest.mark.slow
@pytest.mark.parametrize("url", [None, "http://e.com/\0"])
def test_any_url_comes_through_to_the_child(url):
    body = rss(item("/y"))
    assert feedparser_fallback(body, url) == read_links(body)


def test_body_that_is_a_url_is_not_fetched(listener):
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/feed.xml"
    assert read_links(address.encode()) == FallbackResult()
    feed = f'<?xml version="1.0"?><!DOCTYPE rss SYSTEM "{address}"><rss version="0.91"/>'
    assert read_links(feed.encode()) == FallbackResult()
    assert is_untouched(listener)


def test_body_that_is_a_path_is_not_opened(tmp_path):
    assert read_links(b"/etc/passwd") == FallbackResult()
    feed = tmp_path / "feed.xml"
    feed.write_bytes(rss(item("https://e.com/secret")))
    assert read_links(str(feed).encode()) == FallbackResult()
    assert read_links(b"feed.xml") == FallbackResult()


def test_external_entity_is_not_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("https://e.com/secret")
    body = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "file://{secret}">]>'.encode() + rss(item("&x;"))
    assert "secret" not in repr(read_links(body).links)


@pytest.fixture
def children(monkeypatch):
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


@pytest.mark.slow
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


@pytest.mark.slow
def test_feed_larger_than_a_pipe_reaches_the_child_whole():
    links = [f"https://e.com/{number}" for number in range(500)]
    padding = f"<!-- {'x' * 1_500_000} -->"
    result = feedparser_fallback(rss(padding + "".join(map(item, links))), URL, limits=Limits(fallback_seconds=60))
    assert [link for link, _ in result.links] == links


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address space is capped on Linux")
def test_child_that_needs_too_much_memory_fails_alone(monkeypatch):
    monkeypatch.setattr(programs, "_PROGRAM", programs._PROGRAM.replace("sys.exit(main())", "main(); bytes(1 << 30)"))
    with pytest.raises(FallbackFailed, match="more than 512 MiB of memory; fallback_memory_bytes"):
        feedparser_fallback(rss(item("/a")))


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "cpu_seconds"), [(10.0, 12), (2.5, 4)])
def test_child_has_caps_of_its_own_on_memory_and_processor_time(monkeypatch, seconds, cpu_seconds):
    resource = pytest.importorskip("resource")
    ask = "main(); import resource; sys.exit(repr([resource.getrlimit(kind) for kind in (%d, %d)]))"
    ask %= (resource.RLIMIT_CPU, resource.RLIMIT_AS)
    monkeypatch.setattr(programs, "_PROGRAM", programs._PROGRAM.replace("sys.exit(main())", ask))
    with pytest.raises(FallbackFailed) as caught:
        feedparser_fallback(rss(item("/a")), limits=Limits(fallback_seconds=seconds))
    processor, memory = ast.literal_eval(str(caught.value).partition(": ")[2])
    assert is_capped(processor, cpu_seconds)
    if sys.platform == "linux":
        assert is_capped(memory, Limits().fallback_memory_bytes)


def is_capped(limits: tuple[int, int], cap: int) -> bool:
    """Whether soft and hard limits are set; the system may have a lower one. -1 is unlimited."""
    return all(0 <= limit <= cap for limit in limits)


@pytest.mark.slow
def test_long_base_before_many_links_is_bounded():
    body = rss(f'<x xml:base="http://e.com/{"b" * 500_000}/">' + item("a") * 200 + "</x>")
    with pytest.raises(FallbackFailed, match=r"answer is too long|memory"):
        feedparser_fallback(body, URL, limits=Limits(fallback_seconds=60))  # CPU time, as the machine may be busy


@pytest.mark.parametrize(("program", "message"), [
    ("/nowhere/python", "could not be started"),
    ("/bin/false", "gave up: exit 1"),
    ("", "could not be started"),
    (None, "could not be started"),
])
def test_child_that_does_not_run_is_an_error_of_ours(monkeypatch, program, message):
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(FallbackFailed, match=message) as caught:
        feedparser_fallback(b"x")
    assert isinstance(caught.value, SitemapReaderError)


@pytest.mark.slow
def test_child_ignores_the_current_folder_and_python_variables(tmp_path, monkeypatch):
    (tmp_path / "feedparser.py").write_text("raise SystemExit('wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert feedparser_fallback(rss(item("/a"))).links == (("/a", None),)


SLOW = b"\n" * 80_000 + rss(item("https://e.com/a"))


def fails_in_a_thread(cancelled: threading.Event) -> tuple[threading.Thread, list[str]]:
    """A thread in which feedparser runs until it is cancelled; its error."""
    messages: list[str] = []

    def run() -> None:
        CANCELLED.set(cancelled)  # in the context of this thread
        with pytest.raises(FallbackFailed) as caught:
            feedparser_fallback(SLOW, URL)
        messages.append(str(caught.value))

    thread = threading.Thread(target=run)
    thread.start()
    return thread, messages


STOPPED = "feedparser was stopped: the run was cancelled"


def test_cancelling_ends_the_child_and_its_caller(children):
    cancelled = threading.Event()
    thread, messages = fails_in_a_thread(cancelled)
    while not children:
        time.sleep(0.01)
    cancelled.set()
    thread.join(5)
    assert not thread.is_alive()
    assert (messages, children[0].returncode) == ([STOPPED], -signal.SIGKILL)


def test_no_process_is_started_after_cancelling(children):
    cancelled = threading.Event()
    cancelled.set()
    thread, messages = fails_in_a_thread(cancelled)
    thread.join(5)
    assert (messages, children) == ([STOPPED], [])


def test_caller_that_waits_for_another_is_cancelled(children):
    with programs._CHILD_SLOTS, programs._CHILD_SLOTS:
        cancelled = threading.Event()
        thread, messages = fails_in_a_thread(cancelled)
        cancelled.set()
        thread.join(5)
    assert (messages, children) == ([STOPPED], [])


@pytest.mark.slow
def test_child_ignores_an_interrupt_of_the_terminal(children):
    cancelled = threading.Event()
    thread, messages = fails_in_a_thread(cancelled)
    while not children:
        time.sleep(0.01)
    time.sleep(0.3)  # parsing has started
    children[0].send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert children[0].poll() is None
    cancelled.set()
    thread.join(5)
    assert messages == [STOPPED]


def test_child_dies_where_its_caller_is_interrupted(children, monkeypatch):
    class Interrupted(subprocess.Popen):  # a recorded process
        def communicate(self, *args, **options):
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        feedparser_fallback(SLOW, URL)
    assert [child.returncode for child in children] == [-signal.SIGKILL]
