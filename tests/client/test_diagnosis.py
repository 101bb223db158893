"""Answers that hide a sitemap: errors whose body is one, redirects that set a cookie, indexes that list pages, a host
that only http reaches."""

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from kit import Site, feed, gz, index, read, robots, urlset

import sitemap_reader as sr

SITE = "https://e.example"
OTHER = "https://other.example"


def cookies(site: Site, url: str = "") -> list[str | None]:
    """The Cookie of each request, or of those of a URL."""
    sent = zip(site.requests, site.headers, strict=True)
    return [headers.get("cookie") for requested, headers in sent if not url or requested == url]


# --- a robots.txt whose Content-Encoding is not read ---


@pytest.mark.parametrize("target", [SITE, f"{SITE}/sitemap.xml"])
def test_a_robots_txt_that_cannot_be_decoded_may_forbid_all(target: str) -> None:
    """RFC 9309 2.3.1.4: rules that cannot be read are no permission."""
    packed = (200, {"Content-Encoding": "dcb"}, zlib.compress(b"User-agent: *\nDisallow: /"))
    site = Site({"/robots.txt": packed, "/sitemap.xml": urlset(f"{SITE}/a")}, SITE)
    reading = read(site, target)
    assert (reading.locs, reading.stream.complete) == ([], False)
    assert reading.messages("F04") == ["Content-Encoding dcb is not read; go on with --no-robots (obey_robots=False)"]
    assert f"{SITE}/sitemap.xml" not in site.requests
    assert read(site, target, obey_robots=False).locs == [f"{SITE}/a"]


@pytest.mark.parametrize("coding", ["utf-8", "none", "dcb"])
def test_a_wrong_content_encoding_of_a_plain_robots_txt_does_not_matter(coding: str) -> None:
    plain = (200, {"Content-Encoding": coding}, b"User-agent: *\nDisallow: /x\n")
    reading = read(Site({"/robots.txt": plain, "/sitemap.xml": urlset(f"{SITE}/a")}, SITE))
    assert (reading.locs, reading.stream.complete) == ([f"{SITE}/a"], True)


# --- errors whose body is a sitemap ---


LIST = "".join(f"{SITE}/{n}\n" for n in range(2_000)).encode()
BODIES = {
    "<urlset>": b'<?xml version="1.0"?>\n' + urlset(*(f"{SITE}/{n}" for n in range(2_000))),
    "RSS": b"<rss><channel><title>t</title></channel></rss>",
    "Atom": b'<?xml version="1.0"?>\n' + feed(f"{SITE}/a", kind="atom").removesuffix(b"</feed>\n"),
    "a list of URLs": LIST,
    "a list of two URLs": f"{SITE}/a\n{SITE}/b".encode(),
}


@pytest.mark.parametrize(("status", "code"), [(404, "F01"), (410, "F01"), (403, "F17"), (500, "F18"), (503, "F18")])
@pytest.mark.parametrize("pack", [bytes, gz])
@pytest.mark.parametrize("name", BODIES)
def test_an_error_with_a_sitemap_as_its_body_says_so(
    status: int, code: str, pack: Callable[[bytes], bytes], name: str
) -> None:
    """Also one that is listed beside a sitemap that can be read."""
    pages = {"/s.xml": urlset(f"{SITE}/a"), "/2.xml": (status, {"content-type": "text/plain"}, pack(BODIES[name]))}
    reading = read(Site({"/robots.txt": robots(f"{SITE}/s.xml", f"{SITE}/2.xml"), **pages}, SITE))
    assert (reading.locs, reading.stream.complete) == ([f"{SITE}/a"], False)
    (message,) = reading.messages(code)
    assert f"though the body is a sitemap ({name.replace(' two', '')}) (listed in " in message
    assert message.endswith("; search engines read it only with status 200")


@pytest.mark.parametrize("body", [
    b"",
    b"<html>no sitemap",
    b"<p>&lt;urlset>",
    f"{SITE}/a\n".encode(),
    f"{SITE}/a\n{SITE}/b\nwere not found\n".encode(),
    f"Not found. See\n{SITE}/a\n{SITE}/b\n".encode(),
    f"<!DOCTYPE html>\n{SITE}/a\n{SITE}/b\n".encode(),
    b"\0" * 9_000,
])
def test_an_error_with_another_body_is_an_error_alone(body: bytes) -> None:
    site = Site({"/robots.txt": b"", "/2.xml": (404, {}, body)}, SITE)
    assert read(site, f"{SITE}/2.xml").messages("F01") == ["404 Not Found"]


def test_a_well_known_path_with_an_error_and_a_sitemap_is_reported_where_nothing_else_is() -> None:
    site = Site({"/robots.txt": robots(), "/sitemap.xml": (404, {}, index(f"{SITE}/1.xml"))}, SITE)
    (message,) = read(site).messages("F01")
    assert "though the body is a sitemap (<sitemapindex>); " in message
    site.pages["/sitemap_index.xml"] = urlset(f"{SITE}/a")
    reading = read(site)
    assert (reading.locs, reading.stream.complete, reading.messages("F01")) == ([f"{SITE}/a"], True, [])


# --- cookies within the redirects of a document ---


def asks_for_cookie(body: bytes, *lines: str, to: str = "") -> Callable[[Mapping[str, str]], Any]:
    """A page that is redirected, with these Set-Cookie lines, until the request has the cookie ok=1."""

    def page(headers: Mapping[str, str]) -> Any:
        if "ok=1" in headers.get("cookie", "").split("; "):
            return body
        return 302, {"Location": to, "Set-Cookie": ", ".join(lines)}, b""

    return page


PATH = "/maps/s.xml"
MAP = SITE + PATH
BODY = urlset(f"{SITE}/maps/a")


@pytest.mark.parametrize("line", [
    "ok=1",
    "ok=1; Path=/; HttpOnly; Secure; SameSite=None; Partitioned; Priority=High",
    "ok=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Path=/maps",
    "x=y, ok=1; Max-Age=60; Path=/maps/s.xml",
    "ok=0, ok=1",
    "gone=1; Max-Age=0; Domain=e.example, ok=1; Domain=.e.example",
    'quoted="a b"; Path=/, ok=1; Path=relative',
])
def test_a_redirect_to_itself_that_sets_a_cookie_is_followed_with_it(line: str) -> None:
    site = Site({PATH: asks_for_cookie(BODY, line, to=MAP)}, SITE)
    reading = read(site, MAP)
    assert (reading.locs, reading.stream.complete) == ([f"{SITE}/maps/a"], True)
    assert site.requests.count(MAP) == 2


def test_a_robots_txt_and_a_check_on_another_page_may_need_a_cookie() -> None:
    check = f"{SITE}/check?to=s"
    pages = {
        "/robots.txt": asks_for_cookie(robots(MAP), "ok=1", to="/robots.txt"),
        PATH: asks_for_cookie(BODY, "ok=1; Path=/", to=check),
        check: (302, {"location": PATH}, b""),
    }
    site = Site(pages, SITE)
    reading = read(site)
    assert (reading.locs, reading.stream.complete) == ([f"{SITE}/maps/a"], True)
    assert cookies(site, MAP) == [None, "ok=1"]  # cookies of a robots.txt are not those of a sitemap
    assert cookies(site, check) == ["ok=1"]


@pytest.mark.parametrize(("line", "to"), [
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
])
def test_a_cookie_goes_nowhere_else(line: str, to: str) -> None:
    site = Site({PATH: (302, {"location": to, "set-cookie": line}, b""), to: BODY}, SITE)
    read(site, MAP, scope="any")
    assert {*cookies(site)} == {None}
    assert to in site.requests


def test_cookies_of_the_caller_are_sent_with_those_of_the_server() -> None:
    site = Site({PATH: asks_for_cookie(BODY, "ok=1; Path=/", to=MAP)}, SITE)
    assert read(site, MAP, headers={"cookie": "consent=yes; ok=0"}).locs == [f"{SITE}/maps/a"]
    assert cookies(site, MAP) == ["consent=yes; ok=0", "consent=yes; ok=1"]


def test_a_cookie_changes_though_there_are_as_many_as_are_kept() -> None:
    first = ", ".join(f"n{number}=1" for number in range(20))

    def page(headers: Mapping[str, str]) -> Any:
        cookie = headers.get("cookie")
        if cookie and "n3=2" in cookie:
            return BODY
        return 302, {"location": MAP, "set-cookie": "n3=2" if cookie else first}, b""

    assert read(Site({PATH: page}, SITE), MAP).locs == [f"{SITE}/maps/a"]


def test_a_loop_that_no_cookie_ends_names_the_cookie() -> None:
    cause, numbers = "the server sets a cookie and redirects to the same URL", iter(range(100))
    too_many = f"more than 10 redirects; {cause}; raise max_redirects to follow more"
    for set_cookie, requests, message in (
        (lambda: {"set-cookie": "ok=1"}, 2, f"redirect loop: {MAP} -> {MAP} -> {MAP}; {cause}"),
        (lambda: {"set-cookie": f"ok={next(numbers)}"}, 11, too_many),
        (dict, 1, f"redirect loop: {MAP} -> {MAP}"),
    ):
        site = Site({PATH: lambda _: (302, {"location": MAP, **set_cookie()}, b"")}, SITE)  # noqa: B023 - used here
        assert read(site, MAP).messages("F04") == [message]
        assert site.requests.count(MAP) == requests


# --- indexes that list pages ---

PAGE = (200, {"content-type": "text/html"}, b"<!doctype html><title>a</title>")
MEANT = "a <urlset> was meant, in which pages are listed"


def messages_of_index(children: dict[str, Any]) -> list[str]:
    """The messages of F05 of an index of these children."""
    return read(Site({"/map.xml": index(*children), **children}, SITE), f"{SITE}/map.xml").messages("F05")


@pytest.mark.parametrize(("paths", "message"), [
    (["a", "b/"], "all 2 children are HTML pages"), (["a?b=c"], "its child is an HTML page"),
])
def test_an_index_of_pages_is_named_as_one(paths: list[str], message: str) -> None:
    assert f"{message}: {MEANT}" in messages_of_index({f"{SITE}/{path}": PAGE for path in paths})


@pytest.mark.parametrize("children", [
    {f"{SITE}/a": PAGE, f"{SITE}/b": urlset(f"{SITE}/c")},
    {f"{SITE}/a": PAGE, f"{SITE}/b": (404, {}, b"")},
    {f"{SITE}/a.xml": PAGE, f"{SITE}/b.xml.gz": PAGE},  # error pages in place of sitemaps
    {f"{SITE}/sitemap/1": PAGE, f"{SITE}/map.php?type=sitemap": PAGE},
    {f"{SITE}/a": urlset(f"{SITE}/c")},
])
def test_other_indexes_are_not_named_so(children: dict[str, Any]) -> None:
    assert not any(MEANT in message for message in messages_of_index(children))


# --- a host that fails over https ---


def test_a_host_without_a_sitemap_over_http_has_the_failure_over_https() -> None:
    """What answers over http need not be the site: it has not been seen that there is no sitemap."""
    pages = sr.fetch.DictFetcher({"https://e.example/robots.txt": sr.FetchError("connection refused")})
    message = "connection refused; discovery over http finds no sitemap; try again later, or with another User-Agent"
    with sr.urls("e.example", fetcher=pages, limits=sr.Limits(tries=1)) as urls:
        with pytest.raises(sr.NothingReadable, match=f"F04 https://e.example/robots.txt: {message}$"):
            list(urls)
        assert (urls.complete, urls.problems.counts) == (False, {"F04": 1})
    (candidate,) = sr.discover("e.example", fetcher=pages, limits=sr.Limits(tries=1))
    assert (candidate.url, candidate.problem) == ("https://e.example/robots.txt", f"F04 {message}")


@pytest.mark.parametrize(("sitemap", "error"), [(urlset("http://e.example/a"), None), (500, sr.NothingReadable)])
def test_a_host_with_a_sitemap_over_http_has_no_failure_over_https(sitemap: Any, error: Any) -> None:
    site = Site({
        "https://e.example/robots.txt": sr.FetchError("connection refused"),
        "http://e.example/robots.txt": robots("http://e.example/s.xml"), "http://e.example/s.xml": sitemap,
    }, "http://e.example")
    reading = read(site, "e.example")
    assert ("F04" in reading.codes, reading.error and type(reading.error)) == (False, error)
