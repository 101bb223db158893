"""The crawler of docs/frontier.md reads what the reader of this package reads, from a real server."""

import gzip
import itertools
from collections.abc import Callable, Iterator

import pytest
from docs_runs import blocks
from kit import index, urlset
from servers import SiteServer, free_port

import sitemap_reader as sr

pytest.importorskip("requests")


@pytest.fixture
def crawl() -> Callable[[str], Iterator[sr.UrlRecord]]:
    (example,) = (block.text for block in blocks("docs/frontier.md") if block.language == "python")
    names: dict[str, object] = {}
    exec(example.rpartition("\n\nprint(")[0], names)  # noqa: S102 - our own
    return names["crawl"]  # type: ignore[return-value]


def test_it_reads_what_the_reader_reads(crawl: Callable[[str], Iterator[sr.UrlRecord]]) -> None:
    with SiteServer({}) as site:
        mine = site.url
        children = (f"{mine}/{name}.xml" for name in ("a", "moved", "private", "none"))
        bodies = {
            "/robots.txt": f"User-agent: *\nDisallow: /private\nSitemap: {mine}/index.xml\n".encode(),
            "/index.xml": index(*children),
            "/a.xml": gzip.compress(urlset(f"{mine}/1", f"{mine}/2", "https://other.example/3")),
            "/b.xml": urlset(f"{mine}/4"),
            "/private.xml": urlset(f"{mine}/5"),
        }
        site.pages = {path: (200, {}, body) for path, body in bodies.items()}
        site.pages["/moved.xml"] = (301, {"location": "/b.xml"}, b"")
        found = sorted(record.loc for record in crawl(mine))
        requested = site.requests()
        with sr.urls(mine, allow_private=True) as urls:
            assert found == sorted(record.loc for record in urls) == [f"{mine}/{number}" for number in (1, 2, 4)]
    assert sorted(requested) == ["/a.xml", "/b.xml", "/index.xml", "/moved.xml", "/none.xml", "/robots.txt"]


def test_a_server_that_does_not_answer_is_reported(
    crawl: Callable[[str], Iterator[sr.UrlRecord]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert [*crawl(f"http://127.0.0.1:{free_port()}/")] == []
    assert "F04" in capsys.readouterr().out
