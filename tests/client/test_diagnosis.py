"""Answers that hide a sitemap: errors whose body is one, redirects that set a cookie, indexes that list pages."""

from __future__ import annotations

import gzip
import zlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader.fetch.client import Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

SITE = "https://e.example"
OTHER = "https://other.example"
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urlset(*locs: str) -> bytes:
    return f'<urlset xmlns="{NS}">{"".join(f"<url><loc>{loc}</loc></url>" for loc in locs)}</urlset>'.encode()


def index(*locs: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f'<sitemapindex xmlns="{NS}">{entries}</sitemapindex>'.encode()


@attrs.define
class Web:
    """A Fetcher; a page is a body, or a function of the request's Cookie that gives status, headers and body."""

    pages: dict[str, Any]
    cookies: list[tuple[str, str | None]] = attrs.field(factory=list)  # URL and Cookie of each request

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        cookie = {name.lower(): value for name, value in headers.items()}.get("cookie")
        self.cookies.append((url, cookie))
        page = self.pages.get(url, (404, {}, b""))
        page = page(cookie) if callable(page) else page
        status, fields, body = page if isinstance(page, tuple) else (200, {}, page)

        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, len(body), 1_000):
                yield body[at : at + 1_000]

        yield Response(status, fields, chunks(), url)

    def sent(self, url: str) -> list[str | None]:
        return [cookie for asked, cookie in self.cookies if asked == url]


def read(web: Web, target: str = SITE, **options: Any) -> tuple[list[str], sr.UrlStream]:
    with sr.urls(target, fetcher=web, limits=sr.Limits(tries=1), **options) as urls:
        try:
            return [url.loc for url in urls], urls
        except (sr.NothingFound, sr.NothingReadable):
            return [], urls


def messages(urls: sr.UrlStream, code: str) -> list[str]:
    return [problem.message for problem in urls.problems.samples if problem.code == code]


# --- a robots.txt whose Content-Encoding is not read ---


@pytest.mark.parametrize("target", [SITE, f"{SITE}/sitemap.xml"])
def test_a_robots_txt_that_cannot_be_decoded_may_forbid_all(target: str) -> None:
    """RFC 9309 2.3.1.4: rules that cannot be read are no permission."""
    packed = (200, {"Content-Encoding": "dcb"}, zlib.compress(b"User-agent: *\nDisallow: /"))
    web = Web({f"{SITE}/robots.txt": packed, f"{SITE}/sitemap.xml": urlset(f"{SITE}/a")})
    found, urls = read(web, target)
    assert (found, urls.complete) == ([], False)
    assert messages(urls, "F04") == ["Content-Encoding dcb is not read; go on with --no-robots (obey_robots=False)"]
    assert web.sent(f"{SITE}/sitemap.xml") == []
    assert read(web, target, obey_robots=False)[0] == [f"{SITE}/a"]


@pytest.mark.parametrize("coding", ["utf-8", "none", "dcb"])
def test_a_wrong_content_encoding_of_a_plain_robots_txt_does_not_matter(coding: str) -> None:
    robots = (200, {"Content-Encoding": coding}, b"User-agent: *\nDisallow: /x\n")
    found, urls = read(Web({f"{SITE}/robots.txt": robots, f"{SITE}/sitemap.xml": urlset(f"{SITE}/a")}))
    assert (found, urls.complete) == ([f"{SITE}/a"], True)


# --- errors whose body is a sitemap ---


@pytest.mark.parametrize(("status", "code"), [(404, "F01"), (410, "F01"), (403, "F17"), (500, "F18"), (503, "F18")])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_error_with_a_sitemap_as_its_body_says_so(status: int, code: str, pack: Callable[[bytes], bytes]) -> None:
    body = pack(b'<?xml version="1.0"?>\n' + urlset(*(f"{SITE}/{n}" for n in range(2_000))))
    web = Web({f"{SITE}/s.xml": urlset(f"{SITE}/a"), f"{SITE}/2.xml": (status, {}, body)})
    web.pages[f"{SITE}/robots.txt"] = f"Sitemap: {SITE}/s.xml\nSitemap: {SITE}/2.xml".encode()
    locs, urls = read(web)
    assert locs == [f"{SITE}/a"]
    (message,) = messages(urls, code)
    assert "though the body is a sitemap (<urlset>) (listed in " in message
    assert message.endswith("; search engines read it only with status 200")
    assert not urls.complete


ATOM = b'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="https://e.example/a"/>'
LIST = "".join(f"{SITE}/{n}\n" for n in range(2_000)).encode()


@pytest.mark.parametrize(("status", "code"), [(404, "F01"), (403, "F17"), (500, "F18")])
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<rss><channel><title>t</title></channel></rss>", "RSS"),
        (ATOM, "Atom"),
        (LIST, "a list of URLs"),
        (gzip.compress(LIST), "a list of URLs"),
        (f"{SITE}/a\n{SITE}/b".encode(), "a list of URLs"),
    ],
)
def test_feeds_and_lists_of_urls_are_sitemaps_too(status: int, code: str, body: bytes, shown: str) -> None:
    pages = {f"{SITE}/robots.txt": b"", f"{SITE}/2.txt": (status, {"content-type": "text/plain"}, body)}
    _, urls = read(Web(pages), f"{SITE}/2.txt")
    (message,) = messages(urls, code)
    assert f"though the body is a sitemap ({shown}); search engines read it only with status 200" in message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>no sitemap",
        b"<p>&lt;urlset>",
        f"{SITE}/a\n".encode(),
        f"{SITE}/a\n{SITE}/b\nwere not found\n".encode(),
        f"Not found. See\n{SITE}/a\n{SITE}/b\n".encode(),
        f"<!DOCTYPE html>\n{SITE}/a\n{SITE}/b\n".encode(),
        b"\0" * 9_000,
    ],
)
def test_an_error_with_another_body_is_an_error_alone(body: bytes) -> None:
    _, urls = read(Web({f"{SITE}/robots.txt": b"", f"{SITE}/2.xml": (404, {}, body)}), f"{SITE}/2.xml")
    assert messages(urls, "F01") == ["404 Not Found"]


def test_a_well_known_path_with_an_error_and_a_sitemap_is_reported_where_nothing_else_is() -> None:
    web = Web({f"{SITE}/robots.txt": b"User-agent: *\n", f"{SITE}/sitemap.xml": (404, {}, index(f"{SITE}/1.xml"))})
    _, urls = read(web)
    (message,) = messages(urls, "F01")
    assert "though the body is a sitemap (<sitemapindex>)" in message
    web.pages[f"{SITE}/sitemap_index.xml"] = urlset(f"{SITE}/a")
    locs, urls = read(web)
    assert locs == [f"{SITE}/a"]
    assert urls.complete
    assert not messages(urls, "F01")


# --- cookies within the redirects of a document ---


def asks_for_cookie(body: bytes, *lines: str, to: str = "", needs: str = "ok=1") -> Callable[[str | None], Any]:
    """A page that is redirected, with these Set-Cookie lines, until the request has the cookie that it `needs`."""

    def page(cookie: str | None) -> Any:
        if needs in (cookie or "").split("; "):
            return 200, {}, body
        return 302, {"Location": to, "Set-Cookie": ", ".join(lines)}, b""

    return page


MAP = f"{SITE}/maps/s.xml"
BODY = urlset(f"{SITE}/maps/a")


@pytest.mark.parametrize(
    "line",
    [
        "ok=1",
        "ok=1; Path=/; HttpOnly; Secure; SameSite=None; Partitioned; Priority=High",
        "ok=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Path=/maps",
        "x=y, ok=1; Max-Age=60; Path=/maps/s.xml",
        "ok=0, ok=1",
        "gone=1; Max-Age=0; Domain=e.example, ok=1; Domain=.e.example",
        'quoted="a b"; Path=/, ok=1; Path=relative',
    ],
)
def test_a_redirect_to_itself_that_sets_a_cookie_is_followed_with_it(line: str) -> None:
    web = Web({MAP: asks_for_cookie(BODY, line, to=MAP)})
    locs, urls = read(web, MAP)
    assert (locs, urls.complete) == ([f"{SITE}/maps/a"], True)
    assert len(web.sent(MAP)) == 2


def test_a_robots_txt_and_a_check_on_another_page_may_need_a_cookie() -> None:
    check = f"{SITE}/check?to=s"
    web = Web(
        {
            f"{SITE}/robots.txt": asks_for_cookie(f"Sitemap: {MAP}".encode(), "ok=1", to="/robots.txt"),
            MAP: asks_for_cookie(BODY, "ok=1; Path=/", to=check),
            check: (302, {"location": "/maps/s.xml"}, b""),
        }
    )
    locs, urls = read(web)
    assert (locs, urls.complete) == ([f"{SITE}/maps/a"], True)
    assert web.sent(MAP) == [None, "ok=1"]  # cookies of a robots.txt are not those of a sitemap
    assert web.sent(check) == ["ok=1"]


@pytest.mark.parametrize(
    ("line", "to"),
    [
        ("ok=1; Path=/", f"{OTHER}/s.xml"),
        ("ok=1; Path=/; Domain=example", f"{OTHER}/s.xml"),
        ("ok=1; Path=/; Secure", "http://e.example/maps/s.xml"),
        ("ok=1; Path=/other", f"{SITE}/maps/t.xml"),
        ("ok=1; Path=/ma", f"{SITE}/maps/t.xml"),
        ("ok=1; Path=/", "https://www.e.example/maps/s.xml"),
        ("ok=1; Path=/", "https://e.example:8443/maps/s.xml"),
        ("ok=1; Path=/; Max-Age=-1", f"{SITE}/maps/t.xml"),
        ("ok=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", f"{SITE}/maps/t.xml"),
        ("ok=1\r\nX-Evil: 1; Path=/", f"{SITE}/maps/t.xml"),
        (f"ok=1{'x' * 5_000}; Path=/", f"{SITE}/maps/t.xml"),
    ],
)
def test_a_cookie_goes_nowhere_else(line: str, to: str) -> None:
    web = Web({MAP: (302, {"location": to, "set-cookie": line}, b""), to: BODY})
    read(web, MAP, scope="any")
    assert [cookie for _, cookie in web.cookies] == [None] * len(web.cookies)
    assert (to, None) in web.cookies


def test_cookies_of_the_caller_are_sent_with_those_of_the_server() -> None:
    web = Web({MAP: asks_for_cookie(BODY, "ok=1; Path=/", to=MAP)})
    locs, _ = read(web, MAP, headers={"cookie": "consent=yes; ok=0"})
    assert locs == [f"{SITE}/maps/a"]
    assert web.sent(MAP) == ["consent=yes; ok=0", "consent=yes; ok=1"]


def test_a_cookie_changes_though_there_are_as_many_as_are_kept() -> None:
    first = ", ".join(f"n{number}=1" for number in range(20))

    def page(cookie: str | None) -> tuple[int, dict[str, str], bytes]:
        if cookie is None or "n3=2" not in cookie:
            return 302, {"location": MAP, "set-cookie": first if cookie is None else "n3=2"}, b""
        return 200, {}, BODY

    assert read(Web({MAP: page}), MAP)[0] == [f"{SITE}/maps/a"]


def test_a_loop_that_no_cookie_ends_names_the_cookie() -> None:
    cause = "the server sets a cookie and redirects to the same URL"
    web = Web({MAP: (302, {"location": MAP, "set-cookie": "ok=1"}, b"")})
    _, urls = read(web, MAP)
    assert messages(urls, "F04") == [f"redirect loop: {MAP} -> {MAP} -> {MAP}; {cause}"]
    assert len(web.sent(MAP)) == 2
    numbers = iter(range(100))
    web = Web({MAP: lambda cookie: (302, {"location": MAP, "set-cookie": f"ok={next(numbers)}"}, b"")})
    _, urls = read(web, MAP)
    assert cause in messages(urls, "F04")[0]
    assert len(web.sent(MAP)) == sr.Limits().max_redirects + 1
    web = Web({MAP: (302, {"location": MAP}, b"")})
    assert messages(read(web, MAP)[1], "F04") == [f"redirect loop: {MAP} -> {MAP}"]


# --- indexes that list pages ---

PAGE = (200, {"content-type": "text/html"}, b"<!doctype html><title>a</title>")
MEANT = "a <urlset> was meant, in which pages are listed"


def indexed(children: dict[str, Any]) -> Web:
    return Web({f"{SITE}/map.xml": index(*children), **children})


def test_an_index_of_pages_is_named_as_one() -> None:
    _, urls = read(indexed({f"{SITE}/a": PAGE, f"{SITE}/b/": PAGE}), f"{SITE}/map.xml")
    (outcome,) = [each for each in urls.outcomes if each.url == f"{SITE}/map.xml"]
    assert [each.message for each in outcome.samples] == [f"all 2 children are HTML pages: {MEANT}"]
    _, urls = read(indexed({f"{SITE}/a?b=c": PAGE}), f"{SITE}/map.xml")
    assert f"its child is an HTML page: {MEANT}" in messages(urls, "F05")


@pytest.mark.parametrize(
    "children",
    [
        {f"{SITE}/a": PAGE, f"{SITE}/b": urlset(f"{SITE}/c")},
        {f"{SITE}/a": PAGE, f"{SITE}/b": (404, {}, b"")},
        {f"{SITE}/a.xml": PAGE, f"{SITE}/b.xml.gz": PAGE},  # error pages in place of sitemaps
        {f"{SITE}/sitemap/1": PAGE, f"{SITE}/map.php?type=sitemap": PAGE},
        {f"{SITE}/a": urlset(f"{SITE}/c")},
    ],
)
def test_other_indexes_are_not_named_so(children: dict[str, Any]) -> None:
    _, urls = read(indexed(children), f"{SITE}/map.xml")
    assert not any(MEANT in message for message in messages(urls, "F05"))
