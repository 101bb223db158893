"""StaticFilesFetcher: what a URL of a site gives that is served from a folder, and what is refused."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sitemap_reader import FetchError
from sitemap_reader.fetch import OneDocumentFetcher, StaticFilesFetcher

BASE = "https://www.example.com/"
FILES = ("index.html", "robots.txt", "sitemap.xml", "maps/news.xml.gz", "about.html", "blog/index.html",
         "blog/eins.html", "a b.html", "größe/index.html", "Case.html", "both.html", "both/index.html",
         "empty/other.html", "feed.rss", "plain", "v1.2/index.html")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    public = tmp_path / "public"
    for name in FILES:
        path = public / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "secret.xml").write_text("secret")
    return public


def get(fetcher: StaticFilesFetcher | OneDocumentFetcher, url: str) -> tuple[int, str | None, bytes]:
    """Status, Location or Content-Type (which no file has), and body."""

    async def run() -> tuple[int, str | None, bytes]:
        async with fetcher.fetch(url, {}) as response:
            body = b"".join([chunk async for chunk in response.chunks])
            return response.status, response.headers.get("location", response.headers.get("content-type")), body

    return asyncio.run(run())


@pytest.mark.parametrize(("path", "file"), [
    ("", "index.html"), ("index.html", "index.html"), ("robots.txt", "robots.txt"), ("sitemap.xml", "sitemap.xml"),
    ("sitemap.xml?page=2", "sitemap.xml"), ("maps/news.xml.gz", "maps/news.xml.gz"), ("about", "about.html"),
    ("about.html", "about.html"), ("blog/", "blog/index.html"), ("blog/eins", "blog/eins.html"), ("a%20b", "a b.html"),
    ("gr%C3%B6%C3%9Fe/", "größe/index.html"), ("both", "both.html"), ("both/", "both/index.html"),
    ("feed.rss", "feed.rss"), ("plain", "plain"), ("%61bout", "about.html"),
])
def test_file_is_served_for_the_urls_that_hosts_give_it(folder: Path, path: str, file: str) -> None:
    assert get(StaticFilesFetcher(folder, BASE), BASE + path) == (200, None, file.encode())


@pytest.mark.parametrize("path", ["blog", "v1.2", "gr%C3%B6%C3%9Fe"])
def test_folder_without_its_slash_redirects_to_it(folder: Path, path: str) -> None:
    files = StaticFilesFetcher(folder, BASE)
    assert get(files, f"{BASE}{path}") == (301, f"{BASE}{path}/", b"")
    assert get(files, f"{BASE}{path}?a=/") == (301, f"{BASE}{path}/?a=/", b"")
    assert files.file_of(BASE + path) is None


@pytest.mark.parametrize("path", [
    "nosuch", "nosuch/x", "about/", "case", "ABOUT.html", "empty", "empty/", "blog//", "/about", "about.html/x",
    "sitemap.xml/", "..", "../secret.xml", "%2E%2E/secret.xml", "..%2Fsecret.xml", "blog/%2e%2e/about.html",
    "blog%2Feins.html", "%00", ".", "a%FF", "\\..\\secret.xml",
])
def test_what_is_not_listed_in_the_folder_is_a_404(folder: Path, path: str) -> None:
    assert get(StaticFilesFetcher(folder, BASE), BASE + path) == (404, None, b"")


@pytest.mark.parametrize("url", [
    "http://www.example.com/sitemap.xml", "https://example.com/sitemap.xml", "https://www.example.com:8443/sitemap.xml",
    "https://www.example.com.evil.test/sitemap.xml",
])
def test_other_hosts_are_refused_and_have_no_robots_txt(folder: Path, url: str) -> None:
    files = StaticFilesFetcher(folder, BASE)
    with pytest.raises(FetchError, match=rf"it is not in .*public, which is read as {BASE}: no request") as error:
        get(files, url)
    assert not error.value.transient
    assert files.file_of(url) is None
    assert get(files, url.replace("/sitemap.xml", "/robots.txt")) == (404, None, b"")


def test_folder_below_a_path_of_its_host(folder: Path) -> None:
    files = StaticFilesFetcher(folder, "https://user.github.io/project/")
    assert get(files, "https://user.github.io/project/")[2] == b"index.html"
    assert get(files, "https://user.github.io/project/about")[2] == b"about.html"
    assert get(files, "https://user.github.io/project") == (301, "https://user.github.io/project/", b"")
    assert get(files, "https://user.github.io/robots.txt") == (404, None, b"")  # that of the host, not of the project
    assert get(files, "https://user.github.io/project/robots.txt")[2] == b"robots.txt"
    with pytest.raises(FetchError, match="it is not in"):
        get(files, "https://user.github.io/sitemap.xml")
    with pytest.raises(FetchError, match="it is not in"):
        get(files, "https://user.github.io/projects/sitemap.xml")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_symbolic_links_that_leave_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "out.xml").symlink_to(tmp_path / "secret.xml")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.xml").symlink_to(folder / "sitemap.xml")
    (folder / "dangling.xml").symlink_to(folder / "nosuch.xml")
    files = StaticFilesFetcher(folder, BASE)
    for path in ("out.xml", "up/secret.xml"):
        with pytest.raises(FetchError, match=r"is a symbolic link, or below one, that leads out of .*public: not"):
            get(files, BASE + path)
        assert files.file_of(BASE + path) is None
    assert get(files, f"{BASE}in.xml")[2] == b"sitemap.xml"
    assert get(files, f"{BASE}dangling.xml")[0] == 404


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_the_folder_may_be_a_symbolic_link_itself(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(folder)
    assert get(StaticFilesFetcher(tmp_path / "current", BASE), f"{BASE}about")[2] == b"about.html"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_pipe_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe.xml")
    assert get(StaticFilesFetcher(folder, BASE), f"{BASE}pipe.xml")[0] == 404


def test_unreadable_file_is_a_fetch_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FetchError, match=r"cannot read .*about\.html: Permission denied"):
        get(StaticFilesFetcher(folder, BASE), f"{BASE}about")


def test_file_of_a_url_is_relative_to_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    for place in ("public", "public/", "./public", folder):
        files = StaticFilesFetcher(place, BASE)
        assert files.file_of(f"{BASE}maps/news.xml.gz") == Path("public/maps/news.xml.gz")
        assert files.file_of(BASE) == Path("public/index.html")
        assert files.file_of(f"{BASE}nosuch.xml") is None
    monkeypatch.chdir(folder)
    assert StaticFilesFetcher(".", BASE).file_of(f"{BASE}sitemap.xml") == Path("sitemap.xml")
    monkeypatch.chdir(folder / "blog")
    assert StaticFilesFetcher("..", BASE).file_of(f"{BASE}sitemap.xml") == folder / "sitemap.xml"


def test_document_may_have_another_name_than_its_file(folder: Path) -> None:
    url = f"{BASE}maps/other.xml"
    files = StaticFilesFetcher(folder / "maps", f"{BASE}maps/", document=(url, folder / "maps" / "news.xml.gz"))
    assert get(files, url) == (200, None, b"maps/news.xml.gz")
    assert get(files, f"{BASE}maps/news.xml.gz")[0] == 200
    with pytest.raises(FetchError, match="it is not in"):
        get(files, f"{BASE}sitemap.xml")


def test_one_document_is_all_that_its_host_has() -> None:
    one = OneDocumentFetcher(f"{BASE}sitemap.xml", b"<urlset/>")
    assert get(one, f"{BASE}sitemap.xml") == (200, None, b"<urlset/>")
    assert get(one, f"{BASE}robots.txt") == (404, None, b"")
    with pytest.raises(FetchError, match=rf"not read: only {BASE}sitemap.xml was given, and no request is made"):
        get(one, f"{BASE}child.xml")
