"""The crawlers of docs/frontier.md, on requests, trio and Twisted, read what the reader reads, from a real server."""

import gzip
import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from docs_runs import blocks, imported
from kit import index, urlset
from servers import Page, Received, SiteServer, free_port
from tiers import needs

import sitemap_reader as sr

PROGRAMS = [block.text for block in blocks("docs/frontier.md") if block.language == "python"]
# Library -> the last statement of its program, and one that prints each URL.
LIBRARIES = {
    "requests": ('print(sum(1 for _ in crawl("example.com")))', 'print(*(url.loc for url in crawl("example.com")))'),
    "trio": ("print(sum([1 async for _ in receive]))", "print(*[url.loc async for url in receive])"),
    "twisted": ("print(len(found))", "print(*(url.loc for url in found))"),
}
SECONDS = 60


def program_of(library: str) -> str:
    (text,) = (text for text in PROGRAMS if library in text.partition("import sitemap_reader")[0])
    return text


class BusyAtFirst(SiteServer):
    """A site of 1,500 URLs in three sitemaps: one moved, one compressed, one on another host, which robots.txt proves.

    The last answers 503 with Retry-After: 1 to the first request. `most` is how many requests were made at once.
    """

    def __init__(self) -> None:
        super().__init__({})
        mine, other = self.url, self.url.replace("127.0.0.1", "localhost")
        self.locs = [f"{mine}/page-{number:04}" for number in range(1500)]
        robots = f"User-agent: *\nDisallow: /private\nSitemap: {mine}/index.xml\nSitemap: {other}/c.xml\n".encode()
        listed = (f"{mine}/{name}.xml" for name in ("moved", "b", "private", "none"))
        bodies = {
            "/robots.txt": robots,
            "/index.xml": index(*listed),
            "/a.xml": urlset(*self.locs[:500]),
            "/b.xml": gzip.compress(urlset(*self.locs[500:1000], "https://other.example/3")),
            "/c.xml": urlset(*self.locs[1000:]),
            "/private.xml": urlset(f"{mine}/private"),
        }
        self.pages = {path: (200, {}, body) for path, body in bodies.items()}
        self.pages["/moved.xml"] = (301, {"location": "/a.xml"}, b"")
        self.most, self._now, self._lock = 0, 0, threading.Lock()
        self._both = threading.Event()

    def page(self, request: Received) -> Page:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        if request.path in ("/moved.xml", "/b.xml"):  # waits a moment for another request
            self._both.wait(0.2)
        if self.most > 1:
            self._both.set()
        with self._lock:
            self._now -= 1
        if request.path == "/c.xml" and self.requests().count("/c.xml") == 1:
            return 503, {"retry-after": "1"}, b""
        return super().page(request)


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_yields_what_the_reader_yields(library: str) -> None:
    for module in imported(program_of(library)):
        needs(module)
    with BusyAtFirst() as site:
        text = program_of(library).replace(*LIBRARIES[library]).replace('"example.com"', f'"{site.url}"')
        command = [sys.executable, "-X", "dev", "-W", "error", "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        requested, most = site.requests(), site.most
        with sr.urls(site.url, allow_private=True) as urls:
            assert sorted(url.loc for url in urls) == site.locs
    assert (done.returncode, done.stderr) == (0, "")
    *problems, printed = done.stdout.splitlines()
    assert sorted(printed.split()) == site.locs
    assert {line.split()[0] for line in problems} == {"F01", "F02", "F03"}
    documents = ["/a.xml", "/b.xml", "/c.xml", "/c.xml", "/index.xml", "/moved.xml", "/none.xml"]
    assert sorted(requested) == sorted([*documents, "/robots.txt", "/robots.txt"])  # of both hosts
    assert most == 1 if library == "requests" else 1 < most <= 4  # two for each of both hosts


# --- on requests ---


@pytest.fixture
def crawl() -> Callable[[str], Iterator[sr.UrlRecord]]:
    needs("requests")
    names: dict[str, object] = {}
    exec(program_of("requests").rpartition("\n\nprint(")[0], names)  # noqa: S102 - our own
    return names["crawl"]  # type: ignore[return-value]


def test_it_reads_a_sitemap_that_is_given(crawl: Callable[[str], Iterator[sr.UrlRecord]]) -> None:
    with SiteServer({}) as site:
        site.pages["/a.xml"] = (200, {}, urlset(f"{site.url}/1", "https://other.example/1"))
        assert [url.loc for url in crawl(f"{site.url}/a.xml")] == [f"{site.url}/1"]


def test_a_server_that_does_not_answer_is_reported(
    crawl: Callable[[str], Iterator[sr.UrlRecord]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert [*crawl(f"http://127.0.0.1:{free_port()}/")] == []
    assert "F04" in capsys.readouterr().out


def test_it_finds_sitemaps_by_links_of_the_start_page(crawl: Callable[[str], Iterator[sr.UrlRecord]]) -> None:
    with SiteServer({}) as site:
        site.pages["/"] = (200, {"Content-Type": "text/html"}, b"<html><a href=site-map.xml>Sitemap</a></html>")
        site.pages["/site-map.xml"] = (200, {}, urlset(f"{site.url}/1"))
        assert [url.loc for url in crawl(site.url)] == [f"{site.url}/1"]
        assert site.requests() == ["/robots.txt", "/", "/site-map.xml"]
