"""Mistakes of a Python caller: each is a UsageError whose message has the correction."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader.client import FOREIGN_KEYWORDS
from sitemap_reader.model import UnknownKeyword

SHOP = Path(__file__).parents[2] / "corpus" / "sites" / "shop"


class NoFetcher:
    """An object without a method fetch."""


def shop() -> sr.Snapshot:
    pytest.importorskip("pandas")
    return sr.snapshot(SHOP, show_progress=False)


def feed_closed() -> None:
    parser = sr.SitemapParser()
    parser.feed(b"<urlset/>")
    parser.close()
    parser.feed(b"<urlset/>")


LIMITS = "limits is a Limits, not {'tries': 1}; give limits=Limits(tries=1)"
PAIRS = 'headers is a dict of texts, such as {"Accept-Language": "en"}, or pairs of texts'
BYTES = "a document is fed as bytes, not str: give text.encode(), or all of it to parse(text)"
DOCUMENT = "that is a document, not the name of a site; `sitemap-reader parse` (or sr.parse) reads it"
NAME = 'parse() takes the document, not its name: give open({!r}, "rb"); a URL is for sr.urls()'
HOW = "write it as http://HOST:PORT, https://, socks5:// or socks5h://, with USER:PASSWORD@ in front of HOST or not"
PROXY = f"proxy: its host or its port is not usable; {HOW}"
NO_PROXY = f"proxy: {HOW}, or as env"
PROXY_TYPE = 'proxy is the URL of a proxy, "env", a function or None, and not of type bytes'
LATIN = "proxy: its user or password cannot be sent: a character is not in Latin-1"
SITE = "a site is named by its host, such as example.com, or by its URL with https:// or http://"
FOLDER = f"there is no file or folder {{}}…@a.example; {SITE}"
MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: sr.urls("a.example", proxy="http://me:s3cret@a.example:99999"), PROXY),
    (lambda: sr.urls("a.example", proxy="http://me:s3cret@b\u00fccher..example"), PROXY),
    (lambda: sr.urls("a.example", proxy="http://me:s3cr\u20act@a.example"), LATIN),
    (lambda: sr.urls("a.example", proxy="me:s3cret@a.example:80"), NO_PROXY),
    (lambda: sr.urls("a.example", proxy=b"http://me:s3cret@a.example"), PROXY_TYPE),  # type: ignore[arg-type]
    (lambda: sr.urls("//me:s3cret@a.example"), FOLDER.format("//")),
    (lambda: sr.urls("./me:s3cret@a.example"), FOLDER.format("./")),
    (lambda: sr.urls("a.example", limits={"tries": 1}), LIMITS),  # type: ignore[arg-type]
    (lambda: sr.parse(b"", limits={"tries": 1}), LIMITS),  # type: ignore[arg-type]
    (lambda: sr.fetch.AiohttpFetcher(user_agent="a", limits={"tries": 1}), LIMITS),  # type: ignore[arg-type]
    (lambda: sr.urls("a.example", delay=-1), "delay is a number of seconds from 0 to 3600, not -1"),
    (lambda: sr.urls("a.example", delay="1"), "delay is a number of seconds from 0 to 3600, not '1'"),  # type: ignore[typeddict-item]
    (lambda: sr.urls("a.example", delay=1e9), "delay is a number of seconds from 0 to 3600, not 1000000000.0"),
    (lambda: sr.urls("a.example", limits=3), "limits is a Limits, not 3; give limits=Limits(tries=1)"),  # type: ignore[arg-type]
    (lambda: sr.urls("a.example", headers="X: y"), 'headers is a dict, not text: give headers={"X": "…"}'),  # type: ignore[arg-type]
    (lambda: sr.urls("a.example", headers=["X: y"]), PAIRS),  # type: ignore[list-item]
    (lambda: sr.urls("a.example", headers={"X": 5}), PAIRS),  # type: ignore[dict-item]
    (lambda: sr.urls("a.example", headers=5), PAIRS),  # type: ignore[arg-type]
    (lambda: sr.SitemapParser().feed("<urlset/>"), BYTES),  # type: ignore[arg-type]
    (lambda: [*sr.iter_parse(["<urlset/>"])], BYTES),  # type: ignore[list-item]
    (feed_closed, "this parser is closed: feed() comes before close(), and each document has its own"),
    (lambda: shop().growth("october"), "growth() takes Snapshots, and not 'october': give sr.load('october')"),  # type: ignore[arg-type]
    (lambda: shop().growth(["october"]), "growth() takes Snapshots, and not 'october': give sr.load('october')"),  # type: ignore[list-item]
    (lambda: shop().churn("october"), "churn() takes an earlier Snapshot, and not 'october': give sr.load('october')"),  # type: ignore[arg-type]
    (lambda: sr.snapshot(b"<urlset/>"), DOCUMENT),  # type: ignore[arg-type]
    (lambda: sr.snapshot("<urlset/>"), DOCUMENT),
    (lambda: sr.urls(b"<urlset/>"), DOCUMENT),  # type: ignore[arg-type]
    (lambda: sr.discover(" \ufeff<urlset/>"), DOCUMENT),
    (lambda: sr.urls("<https://a.example/>"), "the URL stands in angle brackets; give it without them"),
    (lambda: sr.audit(b"<urlset/>"), DOCUMENT),  # type: ignore[arg-type]
    (lambda: sr.snapshot(b"\x1f\x8b\x08\x00"), DOCUMENT),  # type: ignore[arg-type]
    (lambda: sr.snapshot(b"shop"), "a target is a host, a URL, a file or a folder, not b'shop'"),  # type: ignore[arg-type]
    (
        lambda: sr.SitemapReader(fetcher=NoFetcher()),  # type: ignore[arg-type]
        "a fetcher has a method fetch(url, headers), an async context manager that gives a Response: "
        "see sr.fetch.Fetcher; this NoFetcher has none",
    ),
    (
        lambda: sr.SitemapReader(fetcher=sr.fetch.ReplayFetcher),  # type: ignore[arg-type]
        "fetcher is an object, and not a class: give fetcher=ReplayFetcher(…)",
    ),
    (lambda: sr.parse(b"", url=5), "url is an absolute http or https URL, not 5"),  # type: ignore[arg-type]
    (lambda: sr.parse("sitemap.xml"), NAME.format("sitemap.xml")),
    (lambda: sr.parse("./C d/sitemap.xml.gz"), NAME.format("./C d/sitemap.xml.gz")),
    (lambda: sr.parse(Path("a/list")), NAME.format("a/list")),  # type: ignore[arg-type]
    (lambda: sr.parse(5), "body is the document, as bytes, str or a binary file, not int"),  # type: ignore[arg-type]
]


WRONG_VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("urls", {"unique": "x"}, "unique is True, False or a UrlSet, not 'x'"),
    ("urls", {"unique": set()}, "unique is True, False or a UrlSet, not set()"),
    ("urls", {"user_agent": None}, "user_agent is text, not None"),
    ("urls", {"on_item": 5}, "on_item is a function, not 5"),
    ("urls", {"on_wait": 5}, "on_wait is a function, not 5"),
    ("urls", {"feed_fallback": 5}, "feed_fallback is a function, not 5"),
    ("urls", {"cacert": 5}, "cacert is the name of a file, not 5"),
    ("urls", {"netrc": 5}, "netrc is True or the name of a netrc file, not 5"),
    ("urls", {"host_map": 5}, "host_map is a dict of hosts, not 5"),
    ("urls", {"record": 5}, "record is the name of a folder or a WARC file, not 5"),
    ("urls", {"record": __file__}, f"{__file__} is a file; a recording is a folder, or a file named .warc or .warc.gz"),
    ("urls", {"include": b"x"}, "include is a regular expression, or several, not b'x'"),
    ("discover", {"on_item": 5}, "on_item is a function, not 5"),
    ("audit", {"crawl": 5}, "crawl is the name of a file, not 5"),
    ("audit", {"check_urls": 2, "save_checks": 5}, "save_checks is the name of a file, not 5"),
]


@pytest.mark.parametrize(("name", "keywords", "message"), WRONG_VALUES)
def test_a_value_of_a_wrong_type_names_its_keyword(name: str, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.UsageError) as error:
        getattr(sr, name)(SHOP, **keywords)
    assert str(error.value) == message


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistake_is_reported_with_a_correction(call: Callable[[], object], message: str) -> None:
    with pytest.raises(sr.UsageError) as error:
        call()
    assert str(error.value) == message


def test_session_of_another_library_is_reported() -> None:
    with pytest.raises(sr.UsageError, match=r"ClientSession\(connector=guarded_connector\(\)\)"):
        sr.SitemapReader(session=NoFetcher())  # type: ignore[arg-type]


def test_values_of_headers_are_not_repeated() -> None:
    for headers in ("Authorization: Bearer s3cret", ["Authorization: Bearer s3cret"], [("Cookie", "s3cret", "x")]):
        with pytest.raises(sr.UsageError) as error:
            sr.urls("a.example", headers=headers)  # type: ignore[arg-type]
        assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("text", ["https://example.com/sitemap.xml", "https://e.com/a\n", "sitemap", "<a>b.xml", ""])
def test_text_that_may_be_a_document_is_parsed(text: str) -> None:
    assert sr.parse(text).outcome is not None


# --- keywords ---------------------------------------------------------------------------------------------------

READER: Any = sr.SitemapReader()
EVERY: list[tuple[str, Callable[..., object]]] = [
    ("urls", lambda **kw: sr.urls("a.example", **kw)),
    ("changes", lambda **kw: sr.changes("a.example", state="never-made.db", **kw)),
    ("snapshot", lambda **kw: sr.snapshot("a.example", **kw)),
    ("discover", lambda **kw: sr.discover("a.example", **kw)),
    ("audit", lambda **kw: sr.audit("a.example", **kw)),
    ("SitemapReader", lambda **kw: sr.SitemapReader(**kw)),
]


@pytest.mark.parametrize(("name", "call"), EVERY, ids=[name for name, _ in EVERY])
def test_keywords_of_other_libraries_are_translated(name: str, call: Callable[..., object]) -> None:
    for given, ours in [
        ({"timeout": 3}, "limits=Limits(read_seconds=3)"),
        ({"retries": 2}, "limits=Limits(tries=3), the first try included"),
        ({"max_depth": 7}, "limits=Limits(max_index_depth=7)"),
        ({"max_decoded_bytes": 9}, "limits=Limits(max_decoded_bytes=9)"),
        ({"ignore_robots": True}, "obey_robots=False"),
    ]:
        with pytest.raises(UnknownKeyword) as error:
            call(**given)
        assert str(error.value) == f"{name}() has no keyword {min(given)}; give {ours}"


@pytest.mark.parametrize(("name", "call"), EVERY, ids=[name for name, _ in EVERY])
def test_a_keyword_that_is_misspelt_is_suggested(name: str, call: Callable[..., object]) -> None:
    with pytest.raises(UnknownKeyword, match=rf"^{name}\(\) has no keyword user_agnet; did you mean user_agent\?$"):
        call(user_agnet="bot")


def test_unknown_keyword_is_reported_with_all_keywords() -> None:
    with pytest.raises(UnknownKeyword, match=r"^discover\(\) has no keyword zzz; it has allow_.*, target") as error:
        sr.discover("a.example", zzz=1)  # type: ignore[call-arg]
    assert isinstance(error.value, sr.UsageError)
    assert isinstance(error.value, TypeError)
    assert "options" not in str(error.value)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: sr.SitemapReader(since="7d"), "SitemapReader() has no keyword since; its urls() takes it"),  # type: ignore[call-arg]
    (lambda: sr.SitemapReader(state="s"), "SitemapReader() has no keyword state; its changes() takes it"),  # type: ignore[call-arg]
    (lambda: sr.audit("a", jobs=2), "audit() has no keyword jobs; it has allow_private, as_of, "),  # type: ignore[call-arg]
    (lambda: sr.snapshot("a", jobs=2), "snapshot() has no keyword jobs; it has allow_private, at, auth, "),  # type: ignore[call-arg]
    (lambda: READER.urls("a", scope="any"), "urls() has no keyword scope; SitemapReader takes it"),
    (lambda: READER.urls("a", db="s"), "urls() has no keyword db; it has exclude, follow, include, "),
    (lambda: READER.urls("a", timeout=3), "urls() has no keyword timeout; SitemapReader takes limits=Limits(re"),
    (lambda: READER.changes("a", state="s", exlude="x"), "changes() has no keyword exlude; did you mean exclude?"),
    (lambda: READER.discover("a", onitem=print), "discover() has no keyword onitem; did you mean on_item?"),
])
def test_keywords_of_a_reader_and_of_its_methods_are_not_mixed_up(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UnknownKeyword) as error:
        call()
    assert str(error.value).startswith(message)


def test_a_value_is_repeated_only_where_it_is_short_and_no_secret() -> None:
    with pytest.raises(UnknownKeyword, match=r"give include=…, a regular expression$"):
        sr.urls("a.example", regex="x" * 50)  # type: ignore[call-arg]
    for name in ("auth", "cookies"):
        with pytest.raises(UnknownKeyword) as error:
            READER.urls("a.example", **{name: "s3cret"})
        assert "s3cret" not in str(error.value)


def test_the_table_names_keywords_that_there_are() -> None:
    known = {*inspect.signature(sr.urls).parameters, *inspect.signature(sr.SitemapReader).parameters, "state"}
    for name, ours in FOREIGN_KEYWORDS.items():
        reported = ours.format(1, next=2)
        assert name not in known
        assert reported.partition("=")[0] in known
        if reported.startswith("limits="):
            assert reported.partition("Limits(")[2].partition("=")[0] in attrs.fields_dict(sr.Limits)


def test_decorated_functions_keep_their_signature() -> None:
    assert inspect.iscoroutinefunction(sr.SitemapReader.discover.__wrapped__)  # type: ignore[attr-defined]
    assert (sr.urls.__name__, sr.urls.__module__) == ("urls", "sitemap_reader.client.crawler")
    assert sr.urls.__doc__.startswith("A stream of every URL")  # type: ignore[union-attr]


# --- async functions, which are never awaited ---


async def returns_false(ref: object) -> bool:
    return False


class AsyncCallable:
    async def __call__(self, item: object) -> bool:
        return False

    async def method(self, item: object) -> bool:
        return False


async def generator(item: object) -> AsyncIterator[None]:
    yield


ASYNC = {
    "function": returns_false,
    "object": AsyncCallable(),
    "method": AsyncCallable().method,
    "partial function": partial(returns_false),
    "partial object": partial(AsyncCallable()),
    "generator": generator,
}


@pytest.mark.parametrize("function", ASYNC.values(), ids=ASYNC)
@pytest.mark.parametrize("keyword", ["follow", "no_follow", "on_outcome", "on_item", "on_progress", "on_wait"])
def test_an_async_callback_is_a_usage_error(keyword: str, function: Any) -> None:
    with pytest.raises(sr.UsageError, match=f"{keyword} is called, and not awaited: give a function made by def"):
        sr.urls(SHOP, **{keyword: function})


async def test_an_async_callback_is_a_usage_error_everywhere(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    for keyword in ("follow", "on_document", "clock"):
        with pytest.raises(sr.UsageError, match=f"{keyword} is called, and not awaited"):
            sr.changes(SHOP, state=state, **{keyword: returns_false})
    with pytest.raises(sr.UsageError, match="on_item is called, and not awaited"):
        sr.discover(SHOP, on_item=returns_false)
    with pytest.raises(sr.UsageError, match="stop is called, and not awaited"):
        sr.audit(SHOP, stop=returns_false)
    async with sr.SitemapReader() as reader:
        for keyword in ("follow", "on_outcome"):
            with pytest.raises(sr.UsageError, match=f"{keyword} is called, and not awaited"):
                reader.urls(SHOP, **{keyword: returns_false})


def wrapped(function: Any) -> Any:
    """As many decorators do: the result is still to be awaited."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


async def is_never_awaited(*args: object, **kwargs: object) -> bool:
    return False


HIDDEN = {
    "lambda": lambda *args, **kwargs: is_never_awaited(*args, **kwargs),
    "wraps": wrapped(is_never_awaited),
    "object": wrapped(AsyncCallable().method),
}
BROKEN_FEED = b"<list><item><link>https://a.example/1</link></item></list>"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("keyword", ["follow", "no_follow", "on_outcome", "on_item", "on_progress"])
async def test_a_callback_whose_result_has_to_be_awaited_is_a_usage_error(keyword: str, function: Any) -> None:
    with pytest.raises(sr.UsageError, match=f"^{keyword} is called, and not awaited: give a function made by def"):
        list(sr.urls(SHOP, **{keyword: function}))
    async with sr.SitemapReader() as reader, reader.urls(SHOP, **{keyword: function}) as urls:
        with pytest.raises(sr.UsageError, match=f"^{keyword} is called, and not awaited"):
            _ = [url async for url in urls]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_a_callback_whose_result_has_to_be_awaited_is_a_usage_error_everywhere(tmp_path: Path) -> None:
    function: Any = HIDDEN["wraps"]
    feed = tmp_path / "feed.xml"
    feed.write_bytes(BROKEN_FEED)
    reads: list[tuple[str, Callable[[], Any]]] = [
        ("follow", lambda: list(sr.changes(SHOP, state=tmp_path / "a.db", follow=function))),
        ("on_document", lambda: list(sr.changes(SHOP, state=tmp_path / "b.db", on_document=function))),
        ("clock", lambda: sr.changes(SHOP, state=tmp_path / "c.db", clock=function)),
        ("on_item", lambda: sr.discover(SHOP, on_item=function)),
        ("on_occurrence", lambda: sr.audit(SHOP, on_occurrence=function)),
        ("on_checked", lambda: sr.audit(SHOP, check_urls=2, on_checked=function)),
        ("stop", lambda: sr.audit(SHOP, stop=function)),
        ("feed_fallback", lambda: list(sr.urls(feed, base="https://a.example", feed_fallback=function))),
    ]
    for keyword, read in reads:
        with pytest.raises(sr.UsageError, match=f"^{keyword} is called, and not awaited"):
            read()


async def test_a_callback_may_start_a_task() -> None:
    found: list[object] = []

    async def keep(outcome: object) -> None:
        found.append(outcome)

    tasks: list[Any] = []

    def start(outcome: object) -> Any:
        tasks.append(asyncio.create_task(keep(outcome)))
        return tasks[-1]

    async with sr.SitemapReader() as reader, reader.urls(SHOP, on_outcome=start) as urls:
        assert sum([1 async for _ in urls]) == 640
    await asyncio.gather(*tasks)
    assert len(urls.outcomes) == len(found) > 0


# --- without asyncio ---


async def _in_a_block() -> None:
    async with sr.SitemapReader():
        pass


async def _in_a_loop() -> None:
    async for _ in sr.SitemapReader().urls("a.example"):
        pass


async def _of_discover() -> None:
    await sr.SitemapReader().discover("a.example")


@pytest.mark.parametrize("read", [_in_a_block, _in_a_loop, _of_discover])
def test_a_reader_on_another_event_loop_says_what_to_call(read: Any) -> None:
    """As on trio, which sends None to the coroutine, too."""
    with pytest.raises(sr.UsageError, match=r"SitemapReader needs asyncio.*; read with sr\.urls\(\) or sr\.Reader"):
        read().send(None)
