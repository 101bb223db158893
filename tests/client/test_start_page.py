"""Sitemaps to which the start page of a site links: when it is requested, what of it is read, and what is reported."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kit import HOST, Site, index, read, robots, run, serve, urlset, xml
from servers import SiteServer

import sitemap_reader as sr
from sitemap_reader.frontier import WELL_KNOWN

pytestmark = pytest.mark.usefixtures("short_backoffs")
HOME, ROBOTS, LINKED = f"{HOST}/", f"{HOST}/robots.txt", f"{HOST}/maps/site-map.xml"
WWW = "https://www.a.example"
HTML = {"content-type": "text/html; charset=utf-8"}
FIRST = xml(urlset(f"{HOST}/1"))
BOTH = urlset(f"{HOST}/maps/1", f"{HOST}/2")
NO_NAME = "User-agent: *\nAllow: /\n"


def page(*links: str, status: int = 200, **fields: str) -> tuple[int, dict[str, str], bytes]:
    tags = "".join(f'<a href="{link}">map</a>' for link in links)
    return status, {**HTML, **fields}, f"<!doctype html><html><body>{tags}</body></html>".encode()


def site(**pages: Any) -> Site:
    """A site with a start page that links to a sitemap; pages by `robots`, `home`, `linked`, or path with _ for /."""
    given = {"robots": NO_NAME, "home": page("/maps/site-map.xml"), "linked": xml(BOTH), **pages}
    named = {"/robots.txt": given.pop("robots"), "/": given.pop("home"), "/maps/site-map.xml": given.pop("linked")}
    return Site({**named, **{f"/{name}.xml": body for name, body in given.items()}})


def test_a_linked_sitemap_is_read_in_place_of_well_known_paths() -> None:
    shop = site(sitemap=FIRST)
    reading = read(shop)
    assert shop.requests == [ROBOTS, HOME, LINKED]
    assert reading.locs == [f"{HOST}/maps/1", f"{HOST}/2"]  # its scope is the host, as that of one at a well-known path
    assert (reading.outcome(LINKED).why, reading.stream.complete, reading.codes) == ("link", True, ["F09"])
    assert [each.url for each in reading.of(sr.Outcome)] == [ROBOTS, LINKED]
    assert reading.of(sr.SitemapRef) == []


@pytest.mark.parametrize(("options", "pages", "requested"), [
    ({}, {"robots": robots(LINKED)}, [ROBOTS, LINKED]),
    ({}, {"robots": robots(f"{HOST}/no.xml")}, [ROBOTS, f"{HOST}/no.xml", HOME, LINKED]),
    ({"probe": "never"}, {}, [ROBOTS]),
    ({"probe": "always"}, {"robots": robots(f"{HOST}/a.xml"), "a": FIRST}, [ROBOTS, f"{HOST}/a.xml", HOME, LINKED]),
    ({}, {"home": 404}, [ROBOTS, HOME, *(HOST + path for path in WELL_KNOWN)]),
    ({}, {"home": 503}, [ROBOTS, HOME, *(HOST + path for path in WELL_KNOWN)]),
    ({}, {"home": sr.FetchError("reset")}, [ROBOTS, HOME, *(HOST + path for path in WELL_KNOWN)]),
    ({}, {"linked": 404, "sitemap": FIRST}, [ROBOTS, HOME, LINKED, f"{HOST}/sitemap.xml"]),
    ({}, {"linked": page(), "sitemap": FIRST}, [ROBOTS, HOME, LINKED, f"{HOST}/sitemap.xml"]),
    ({}, {"robots": "User-agent: *\nDisallow: /$\nDisallow: /sitemap_i\n", "sitemap": FIRST},
     [ROBOTS, f"{HOST}/sitemap.xml"]),
    ({"no_follow": "site-map"}, {"sitemap": FIRST}, [ROBOTS, HOME, f"{HOST}/sitemap.xml"]),
    ({"follow": "no such"}, {}, [ROBOTS, HOME, LINKED]),
])
def test_when_it_is_requested(options: dict[str, Any], pages: dict[str, Any], requested: list[str]) -> None:
    shop = site(**pages)
    read(shop, **options, limits=sr.Limits(tries=3))
    assert shop.requests == requested


@pytest.mark.parametrize("target", [f"{HOST}/a.xml", ROBOTS])
def test_it_is_not_requested_for_a_document_or_a_robots_txt(target: str) -> None:
    shop = site(a=404)
    read(shop, target)
    assert HOME not in shop.requests


@pytest.mark.parametrize(("home", "error"), [
    (404, sr.NothingFound), (403, sr.NothingFound), (500, sr.NothingFound), (page(), sr.NothingFound),
    (b"\x00\xff", sr.NothingFound), ((200, {"content-encoding": "unknown"}, b"x"), sr.NothingFound),
    ((302, {"location": "/"}, b""), sr.NothingFound), (sr.FetchError("reset"), sr.NothingFound),
])
def test_a_start_page_that_cannot_be_read_is_no_problem(home: Any, error: type[sr.ReadError]) -> None:
    reading = read(site(home=home))
    assert ([each.url for each in reading.of(sr.Outcome)], reading.codes) == ([ROBOTS], ["F09"])
    assert isinstance(reading.error, error)


def test_a_start_page_with_a_long_retry_after_closes_the_host_as_a_well_known_path_does() -> None:
    shop = site(home=(429, {"retry-after": "9999"}, b""), sitemap=FIRST)
    reading = read(shop)
    assert shop.requests == [ROBOTS, HOME]
    assert isinstance(reading.error, sr.NothingReadable)
    assert reading.outcome(HOME).problems == {"F18": 1}


@pytest.mark.parametrize(("linked", "codes"), [(404, []), (page(), []), (403, ["F17"]), (500, ["F18"])])
def test_a_link_to_no_sitemap_is_like_a_well_known_path_without_one(linked: Any, codes: list[str]) -> None:
    reading = read(site(linked=linked, sitemap=FIRST))
    assert reading.locs == [f"{HOST}/1"]
    assert (reading.codes, reading.stream.complete) == (["F09", *codes], not codes)


def test_links_to_another_host_are_not_tried() -> None:
    shop = site(home=page("https://b.example/sitemap.xml", f"{WWW}/sitemap.xml", "/maps/site-map.xml"))
    read(shop)
    assert shop.requests == [ROBOTS, HOME, LINKED]


def test_relative_links_resolve_against_the_url_behind_redirects() -> None:
    """And those to that host are tried, if it is of the same domain."""
    shop = site(home=(301, {"location": f"{WWW}/en/"}, b""))
    shop.pages |= {f"{WWW}/en/": page("site-map.xml"), f"{WWW}/en/site-map.xml": xml(urlset(f"{WWW}/en/1"))}
    reading = read(shop)
    assert reading.locs == [f"{WWW}/en/1"]
    assert [url for url in shop.requests if "robots" not in url] == [HOME, f"{WWW}/en/", f"{WWW}/en/site-map.xml"]
    assert reading.codes == ["F09"]  # that it redirects is not reported


def test_links_of_another_site_to_which_it_redirects_are_not_tried() -> None:
    shop = site(home=(301, {"location": "https://parked.example/"}, b""))
    shop.pages |= {"https://parked.example/": page("/sitemap.xml")}
    read(shop)
    assert "https://parked.example/sitemap.xml" not in shop.requests


def test_no_more_is_read_than_512_kib() -> None:
    shop = site(home=(200, HTML, b'<a href="/maps/site-map.xml">' + b" " * 4_000_000))
    assert len(read(shop).locs) == 2
    assert shop.taken[HOME] < 1_000_000


def test_a_linked_index_is_followed() -> None:
    shop = site(linked=xml(index(f"{HOST}/a.xml")), a=FIRST)
    reading = read(shop)
    assert (reading.locs, reading.outcome(f"{HOST}/a.xml").why) == ([f"{HOST}/1"], "index")


def test_discover_lists_a_linked_sitemap() -> None:
    (found,) = sr.discover(HOST, fetcher=site())
    assert (found.url, found.why, found.status, found.format, found.problem) == (LINKED, "link", 200, "urlset", None)
    assert sr.discover(HOST, fetcher=site(linked=404)) == []


@pytest.fixture
def server() -> Any:
    with serve(site()) as running:
        yield running


@pytest.mark.parametrize("record", ["recorded", "recorded.warc.gz"])
def test_a_recording_has_the_start_page(server: SiteServer, tmp_path: Path, record: str) -> None:
    first = read(server.url, record=tmp_path / record)
    assert read(Site({}), str(tmp_path / record), fetcher=None).locs == first.locs != []
    for command in ("discover", "tree"):
        assert "site-map.xml" in run(command, tmp_path / record).stdout
    assert "\tlink\t" in run("discover", tmp_path / record).stdout


def test_a_recording_without_the_start_page_is_read_as_before(tmp_path: Path) -> None:
    shop = Site({"/robots.txt": NO_NAME, "/sitemap.xml": FIRST[-1]})
    folder = shop.write(tmp_path / "site")
    reading = read(Site({}), str(folder), fetcher=None)
    assert (reading.locs, reading.codes, reading.stream.complete) == ([f"{HOST}/1"], ["F09"], True)
    report = sr.audit(folder)
    assert "not in the recording" not in " ".join(report.notes)


# --- incremental runs -----------------------------------------------------------------------------------------


def changes(shop: Site, state: Path, **options: Any) -> tuple[list[tuple[str, str]], sr.Stream[sr.Change]]:
    stream = sr.changes(HOST, fetcher=shop, state=state, limits=sr.Limits(tries=1), **options)
    with stream:
        try:
            return [(each.change, each.record.loc.removeprefix(HOST)) for each in stream], stream
        except sr.ReadError:
            return [], stream


def validated(headers: dict[str, str]) -> Any:
    if headers.get("if-none-match") == '"1"':
        return 304
    return 200, {"etag": '"1"', "content-type": "application/xml"}, BOTH


def test_a_linked_sitemap_that_is_unchanged_stays_known(tmp_path: Path) -> None:
    shop, state = site(linked=validated), tmp_path / "state.db"
    assert changes(shop, state)[0] == [("new", "/maps/1"), ("new", "/2")]
    shop.requests.clear()
    found, stream = changes(shop, state)
    assert (found, stream.summary.not_modified, stream.complete) == ([], 1, True)
    assert shop.requests == [ROBOTS, HOME, LINKED]
    assert not [fields for url, fields in zip(shop.requests, shop.headers, strict=False) if url == HOME and
                "if-none-match" in fields]
    with sr.state.State(state) as opened:
        assert [each.url for each in opened.documents()] == [LINKED]


@pytest.mark.parametrize("home", [403, 503, sr.FetchError("reset")])
def test_a_start_page_that_is_refused_later_removes_nothing(tmp_path: Path, home: Any) -> None:
    """It may link to what an earlier run has read: the host counts as blocked."""
    shop, state = site(), tmp_path / "state.db"
    changes(shop, state)
    shop.pages["/"] = home
    found, stream = changes(shop, state, accept_removals=True)
    assert (found, stream.complete) == ([], False)
    assert [each.url for each in stream.outcomes] == [ROBOTS, HOME]


def test_a_start_page_that_links_to_it_no_more_removes_its_urls(tmp_path: Path) -> None:
    shop, state = site(), tmp_path / "state.db"
    changes(shop, state)
    shop.pages |= {"/": page(), "/sitemap.xml": FIRST}
    assert sorted(changes(shop, state, accept_removals=True)[0])[:1] == [("new", "/1")]


# --- cookies -------------------------------------------------------------------------------------------------


def test_a_site_that_sets_a_cookie_by_a_redirect_to_itself_is_read() -> None:
    bodies = {"/robots.txt": NO_NAME, "/": page("/sitemap-a.xml"), "/sitemap-a.xml": FIRST}

    def answer(path: str, headers: dict[str, str]) -> Any:
        wall = 302, {"location": path, "set-cookie": "wall=1; Path=/"}, b""
        return bodies[path] if headers.get("cookie") == "wall=1" else wall

    shop = Site({path: partial(answer, path) for path in bodies})
    reading = read(shop)
    assert (reading.locs, reading.stream.complete) == ([f"{HOST}/1"], True)
    assert shop.requests == [url for url in (ROBOTS, HOME, f"{HOST}/sitemap-a.xml") for _ in range(2)]
