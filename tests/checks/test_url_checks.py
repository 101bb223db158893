"""check_urls: listed pages of a server are fetched, judged, reported where they are listed, and stored for `crawl`."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import warcs
from docs_site import SITES
from kit import Site, dump, files, objects, robots, run, urlset, xml
from servers import Page, SiteServer

import sitemap_reader as sr
from sitemap_reader import FetchError, Report, UsageError
from sitemap_reader.checks import PAGE_CODES, UrlCheck
from sitemap_reader.model import PageKind

pytestmark = pytest.mark.usefixtures("short_backoffs")

Serve = Callable[..., SiteServer]

ONE_TRY = sr.Limits(tries=1)
HTML = {"Content-Type": "text/html; charset=utf-8"}
WORDS = " ".join(f"word{number}" for number in range(40))
MENU = " ".join(f"item{number}" for number in range(30))


def html(text: str, status: int = 200, **headers: str) -> Page:
    """A page with a word in its body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {**HTML, **named}, f"{text}<p>word".encode()


@pytest.fixture
def serve(site_server: Any) -> Serve:
    """`serve(pages, rules, others)` -> a server whose sitemap lists the pages, from line 2 on, and other URLs."""

    def start(pages: Mapping[str, Page], rules: str = "", *others: str) -> SiteServer:
        server: SiteServer = site_server({})
        named = robots(f"{server.url}/map.xml", rules=f"User-agent: *\n{rules}\n")
        listed = urlset(*(f"{server.url}{path}" for path in pages), *others)
        server.pages = {**pages, "/robots.txt": (200, {}, named), "/map.xml": xml(listed)}
        return server

    return start


def checked(server: SiteServer, size: Any = "all", **options: Any) -> Report:
    return sr.audit(server.url, allow_private=True, check_urls=size, **{"select": "C", **options})


def found(report: Report, start: str) -> dict[str, list[str]]:
    """Code -> `line: message` of each sample in the order of lines, URLs without the origin."""
    samples: dict[str, list[sr.Problem]] = {}
    for finding in report.findings:
        samples.setdefault(finding.code, []).extend(finding.samples)
    return {
        code: [f"{each.line}: {each.message.replace(start, '')}" for each in sorted(found, key=lambda each: each.line)]
        for code, found in samples.items()
    }


FAULTS: dict[str, Page] = {
    "/": html("<title>Home</title>"),
    "/gone": html("<title>Gone</title>", 410),
    "/moved": html("", 301, Location="/"),
    "/lost": html("", 302, Location="/nowhere"),
    "/far": html("", 302, Location="/moved"),
    "/hidden": html("<meta name=robots content=noindex>"),
    "/header": html("", X_Robots_Tag="none"),
    "/copy": html('<link rel=canonical href="/">'),
    "/same": html('<link rel=canonical href="/same#top">'),
    "/soft": html("<title>Shop</title><h1>Page not found</h1>"),
    "/about-404": html(f"<title>Page not found</title><link rel=canonical href='/about-404'><p>{'word ' * 300}"),
    "/file.pdf": (200, {"Content-Type": "application/pdf", "X-Robots-Tag": "noindex"}, b"%PDF"),
    "/private/x": html("<title>Gone</title>", 404),
}
ROBOTS = "Disallow: /private/"


START = (
    "; remove the URL from the sitemap; if its page is gone, answer 404 or 410: search engines may take a redirect to "
    "the start page for a soft 404"
)


def test_each_fault_is_reported_where_the_url_is_listed(serve: Serve) -> None:
    server = serve(FAULTS, ROBOTS)
    report = checked(server)
    assert found(report, server.url) == {
        "C01": ["3: /gone answers 410"],
        "C02": [
            f"4: /moved redirects (301) to /{START}",
            "5: /lost redirects (302) to /nowhere, which answers 404; remove the URL from the sitemap, or redirect it "
            "to a page that exists",
            f"6: /far redirects (302) to /moved and on to /, which answers 200{START}",
        ],
        "C03": [
            "7: /hidden is noindex (robots meta: noindex)",
            "8: /header is noindex (X-Robots-Tag: none)",
            "13: /file.pdf is noindex (X-Robots-Tag: noindex)",
        ],
        "C04": ["9: /copy has the canonical /"],
        "C07": ["11: /soft answers 200 with an error page: Shop"],
    }
    checks = report.url_checks
    assert (checks.urls, checks.sampled, checks.checked, checks.disallowed) == (13, 13, 12, 1)
    assert {each.code: each.found for each in checks.estimates} == {
        "C01": 1, "C02": 3, "C03": 3, "C04": 1, "C07": 1, "C08": 0, "C09": 0, "C10": 0, "C11": 0, "C12": 0
    }  # fmt: skip
    assert all(each.share == each.low == each.high for each in checks.estimates)
    requests = server.requests()
    assert max(Counter(requests).values()) == 1
    assert "/private/x" not in requests
    assert {request.method for request in server.received} == {"GET"}
    assert f"{server.url}: 3 errors" in str(report)
    assert "12 of 13 unique URLs checked; 1 not fetched, as robots.txt disallows it" in str(report)
    assert checks.lines()[:2] == ["3 of 12 checked URLs redirect (C02)", "3 of 12 checked URLs are noindex (C03)"]
    assert "1 of 12 checked URLs is a soft 404 (C07)" in checks.lines()
    assert json.loads(report.to_json())["url_checks"]["estimates"][0]["code"] == "C01"


def test_a_canonical_is_resolved_against_the_base_of_its_page(serve: Serve) -> None:
    link = "<link rel=canonical href=shop/lamp>"
    server = serve({
        "/shop/lamp": html(f"<base href=/>{link}"),
        "/lamp": html(f"<base href=/en/>{link}"),
        "/file/lamp": html("<base href=/en/>", Link="<lamp>; rel=canonical"),
    })  # fmt: skip
    assert found(checked(server), server.url) == {"C04": ["3: /lamp has the canonical /en/shop/lamp"]}


def test_a_sample_has_estimates_and_its_seed(serve: Serve) -> None:
    pages = {f"/{n}": html("", 404 if n % 4 == 0 else 200) for n in range(100)}
    server = serve(pages)
    report = checked(server, 40, seed=3)
    checks = report.url_checks
    assert (checks.urls, checks.sampled, checks.checked, checks.seed) == (100, 40, 40, 3)
    errors = checks.estimates[0]
    assert errors.low < errors.share < errors.high
    assert 0.02 < errors.share < 0.6  # the port is in the URLs, so each run draws another sample; the truth is 0.25
    assert errors.found == sum(finding.count for finding in report.findings if finding.code == "C01")
    assert len({path for path in server.requests() if path in pages}) == 40
    assert next(map(str, checks.lines())).endswith("answer 4xx or 5xx (C01)")
    again = serve(pages)
    assert checked(again, 40, seed=3).url_checks.sampled == 40


def test_results_are_stored_and_not_requested_again(serve: Serve, tmp_path: Path) -> None:
    server, file = serve(FAULTS, ROBOTS), tmp_path / "checks.jsonl"
    first = checked(server, 5, save_checks=file)
    rows = {row["url"].removeprefix(server.url): row for row in objects(file.read_bytes())}
    assert len(rows) == 5
    assert {row["type"] for row in rows.values()} == {"url_check"}
    server.received.clear()
    second = checked(server, "all", crawl=file, save_checks=file)
    assert {*rows}.isdisjoint({*server.requests()} - {"/", "/moved"})  # to which others redirect
    assert len(file.read_bytes().splitlines()) == 13
    checks = second.url_checks
    assert checks.reused == 5
    server.received.clear()
    third = checked(server, 5, crawl=file)
    assert {*server.requests()} == {"/robots.txt", "/map.xml"}
    assert [each.found for each in third.url_checks.estimates] == [each.found for each in first.url_checks.estimates]
    fourth = sr.audit(server.url, allow_private=True, crawl=file, select="C")
    assert {each.code: each.count for each in fourth.findings} == {each.code: each.count for each in second.findings}
    assert fourth.url_checks is None
    assert any(each.endswith("checks.jsonl has checked URLs only: C05 and C06 not checked") for each in fourth.notes)


def test_a_crawl_without_soft_404s_gives_no_estimate_of_them(serve: Serve, tmp_path: Path) -> None:
    server, file = serve(FAULTS), tmp_path / "crawl.csv"
    file.write_text(f"url,status\n{server.url}/gone,410\n")
    report = checked(server, "all", crawl=file)
    assert "/gone" not in server.requests()
    shares = {each.code: each.share for each in report.url_checks.estimates}
    # Of /gone nothing is known but its status.
    assert (shares["C01"], shares["C07"]) == pytest.approx((2 / 13, 1 / 12), abs=0.01)
    assert {each.code: each.count for each in report.findings}["C01"] == 2  # /gone by the crawl, /private/x now


def test_a_crawl_of_another_program_is_not_written_to(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "crawl.csv"
    file.write_text("url,status\nhttps://e.example/,200\n")
    with pytest.raises(UsageError, match="is the crawl of another program"):
        checked(serve({}), "all", crawl=file, save_checks=file)
    assert file.read_text() == "url,status\nhttps://e.example/,200\n"


def test_an_older_file_is_replaced_by_the_first_result_only(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "checks.jsonl"
    file.write_text("old\n")
    checked(serve({}), "all", save_checks=file)
    assert file.read_text() == "old\n"
    checked(serve({"/a": html("")}), "all", save_checks=file)
    assert file.read_text().startswith('{"type":"url_check","url":"http')


def test_headers_and_logins_stay_on_the_site(serve: Serve, site_server: Any) -> None:
    other = site_server({"/x": html("")})
    there = other.url.replace("127.0.0.1", "localhost")
    server = serve({"/a": html("", 301, Location=f"{there}/x"), "/b": html("")})
    checked(server, auth="user:secret", headers={"X-Key": "secret"})
    assert {request.path for request in server.received if "x-key" in request.headers} >= {"/a", "/b"}
    assert other.received == []  # another host is not followed
    server = serve({"/b": html("")}, "", f"{there}/x")
    checked(server, auth="user:secret", headers={"X-Key": "secret"}, scope="any")
    assert {request.path for request in other.received} >= {"/robots.txt", "/x"}
    assert not [r for r in other.received if {"x-key", "authorization"} & r.headers.keys()]


def test_what_could_not_be_checked_is_requested_again(serve: Serve, tmp_path: Path) -> None:
    busy = html("", 429, Retry_After="999")
    server, file = serve({"/a": busy}), tmp_path / "checks.jsonl"
    report = checked(server, save_checks=file)
    assert report.url_checks.checked == 0
    why = f"{server.url} is skipped: 429 Too Many Requests, Retry-After 999 s is over 60 s"
    assert f"1 URL not checked: {why}; raise max_wait_seconds (--max-wait) to wait for it" in report.notes
    assert not file.exists()
    server.pages["/a"] = html("")
    assert checked(server, save_checks=file).url_checks.checked == 1


def test_private_addresses_are_not_requested(serve: Serve) -> None:
    report = sr.audit(serve({"/a": html("")}).url, check_urls="all")
    assert report.url_checks.checked == 0


def anything(pages: Mapping[str, Page], answer: Page) -> Any:
    """Pages of a server with an answer for each path."""
    return SimpleNamespace(get=lambda path, default: pages.get(path, answer))


def test_a_page_as_for_a_missing_path_is_a_soft_404(serve: Serve) -> None:
    missing = html(f"<title>Shop</title>{MENU} nothing is here")
    pages = {f"/{n}": html(f"<title>Lamp {n}</title>{MENU} a lamp") for n in range(4)}
    server = serve({"/": missing, **pages, "/old": missing, "/older": missing})
    server.pages = anything(server.pages, missing)
    report = checked(server)
    assert found(report, server.url) == {
        "C07": ["7: /old answers 200 with an error page: Shop", "8: /older answers 200 with an error page: Shop"]
    }


def test_pages_that_a_script_draws_are_neither_soft_404s_nor_identical(serve: Serve) -> None:
    shell = html(f"<title>Shop</title>{WORDS}")
    server = serve({f"/{n}": shell for n in range(6)})
    server.pages = anything(server.pages, shell)
    report = checked(server)
    assert found(report, server.url) == {}
    note = f"{server.url} sends the same HTML for a path that does not exist as for 6 of 6 checked pages: C07 not"
    assert any(each.startswith(note) for each in report.notes)


def test_of_pages_with_few_words_the_note_says_so(serve: Serve) -> None:
    shell = html("<title>App</title><div id=app></div><script src=/app.js></script>")
    server = serve({**{f"/{n}": shell for n in range(2)}, "/own": html("<title>Own</title>")})
    assert not any("C07 not checked" in each for each in checked(server).notes)
    server.pages = anything(server.pages, shell)
    assert f"{server.url} sends the same HTML for a path that does not exist as for 2 of 3 checked pages: C07 not " \
        "checked there" in checked(server).notes


def test_a_site_that_refuses_the_client_is_noted(serve: Serve) -> None:
    server = serve({f"/{n}": html("", 403 if n < 3 else 200) for n in range(5)})
    assert any(each.startswith("3 of 5 checked URLs answer 401 or 403") for each in checked(server).notes)
    server = serve({f"/{n}": html("", 403 if n < 2 else 200) for n in range(5)})
    assert not any("401 or 403" in each for each in checked(server).notes)


def test_what_does_not_respond_is_reported(serve: Serve) -> None:
    server = serve({"/b": html("")}, "", "http://127.0.0.1:1/x")
    report = checked(server, scope="any", obey_robots=False, limits=sr.Limits(tries=1))
    assert found(report, server.url) == {
        "C08": ["3: http://127.0.0.1:1/x does not respond (connection refused by 127.0.0.1:1)"]
    }


def test_a_stopped_check_keeps_what_is_known(serve: Serve, tmp_path: Path) -> None:
    server, file = serve({f"/{n}": html("", 404) for n in range(50)}), tmp_path / "checks.jsonl"
    done: list[Any] = []
    stop = lambda: any(each.done >= 10 for each in done)  # noqa: E731
    report = checked(server, 40, save_checks=file, on_checked=done.append, stop=stop)
    checks = report.url_checks
    assert 10 <= checks.checked < 40
    assert checks.complete is False
    assert report.complete is True  # all sitemaps were read
    assert len(file.read_bytes().splitlines()) == checks.checked
    assert {each.code: each.count for each in report.findings} == {"C01": checks.checked}
    assert "the check of URLs was stopped" in str(report)
    assert f"{checks.checked} of 50 unique URLs checked (sample by sitemap and section, seed 0)" in str(report)
    assert done[0].done == 0
    assert done[0].seconds_left is None
    assert done[-1].total == 40


@pytest.mark.parametrize("is_warc", [False, True])
def test_of_a_recording_only_its_own_pages_are_checked(tmp_path: Path, *, is_warc: bool) -> None:
    home = "https://e.example"
    bodies = {
        "robots.txt": robots(f"{home}/s.xml"),
        "s.xml": urlset(*(f"{home}/{name}" for name in ("good", "missing", "unrecorded"))),
        "good": b"x",
    }
    if is_warc:
        missing = warcs.response(url=f"{home}/missing", status="404 Not Found")
        answers = [warcs.response(body, url=f"{home}/{name}") for name, body in bodies.items()]
        recording = warcs.write(tmp_path / "site.warc", *answers, missing)
    else:
        recording = Site({**bodies, "missing.headers": "status: 404\n"}, home).write(tmp_path)
    report = sr.audit(recording, check_urls="all", select="C")
    assert (report.url_checks.sampled, report.url_checks.checked) == (3, 2)
    assert {finding.code: finding.count for finding in report.findings} == {"C01": 1}
    assert "1 URL not checked: it is not in the recording" in report.notes


def test_rules_are_not_checked_where_no_page_could_be() -> None:
    report = sr.audit(SITES / "shop", check_urls=3, select="C")
    assert report.url_checks.checked == 0
    assert not report.findings
    assert {report.rules[code] for code in PAGE_CODES} == {"no page could be checked"}


@pytest.mark.parametrize(("options", "message"), [
    ({"check_urls": 0}, "check_urls is a number of URLs, 1 or more"),
    ({"check_urls": True}, "check_urls is a number of URLs, 1 or more"),
    ({"check_urls": "some"}, 'or "all", not \'some\''),
    ({"check_urls": 5, "seed": "x"}, "seed is a whole number"),
    ({"save_checks": "x"}, "give check_urls= too"),
    ({"check_urls": 5, "select": "D"}, "check_urls= finds C01, C02"),
    ({"check_urls": 5, "save_checks": "/nowhere/x.jsonl"}, "cannot be written"),
    ({"check_urls": 5, "select": "C05"}, "C05 needs a crawl of the site"),
])
def test_mistakes_are_refused_before_any_request(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sr.audit("https://e.invalid", **options)


def test_a_dump_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a dump: give the site"):
        sr.audit(dump(tmp_path / "urls.jsonl", {"loc": "https://e.example/"}), check_urls=5)


def test_a_line_of_results_has_all_fields() -> None:
    line = json.loads(UrlCheck("https://e.example/").json_line())
    assert list(line)[:3] == ["type", "url", "status"]
    assert len(line) == 26


def test_pages_of_a_mapped_host_are_requested_from_the_other_alone(serve: Serve) -> None:
    staging, production = serve({"/1": html("", 404), "/2": html("x")}), serve({"/1": html("x"), "/2": html("x")})
    staging.pages |= {path: production.pages[path] for path in ("/robots.txt", "/map.xml")}
    report = sr.audit(
        production.url, host_map={production.url: staging.url}, auth="me:secret", allow_private=True, check_urls="all",
        select="C",
    )  # fmt: skip
    assert production.requests() == []
    assert {"/1", "/2"} <= {*staging.requests()}
    assert found(report, production.url) == {"C01": ["2: /1 answers 404"]}


BR = {"Content_Encoding": "br"}


def test_a_page_that_cannot_be_decoded_has_a_status_and_no_result_for_its_content(serve: Any, tmp_path: Path) -> None:
    pages = {
        "/packed": html("x", **BR), "/plain": html("x"), "/gone": html("x", 404, **BR),
        "/moved": html("x", 301, Location="/plain", **BR), "/copy": html("<link rel=canonical href=/>"),
    }  # fmt: skip
    server, saved = serve(pages), tmp_path / "checks.jsonl"
    report = checked(server, save_checks=saved)
    assert {code: len(each) for code, each in found(report, server.url).items()} == {"C01": 1, "C02": 1, "C04": 1}
    note = "1 URL not checked for C03, C04, C07, C10, C11, C12: Content-Encoding 'br' cannot be decoded"
    assert report.notes[-1] == note
    assert report.url_checks.checked == 5
    shares = {each.code: each.share for each in report.url_checks.estimates}
    found_shares = {code: share for code, share in shares.items() if share}
    assert found_shares == {"C01": 1 / 5, "C02": 1 / 5, "C04": pytest.approx(1 / 4)}
    assert f"{server.url}/packed" not in saved.read_text()
    assert len(saved.read_text().splitlines()) == 4
    assert not any(report.rules[code] for code in PAGE_CODES)


def test_headers_of_a_page_that_cannot_be_decoded_show_faults_and_no_share(serve: Serve) -> None:
    server = serve({"/hidden": html("x", X_Robots_Tag="noindex", **BR), "/packed": html("x", **BR)})
    report = checked(server)
    assert found(report, server.url) == {"C03": ["2: /hidden is noindex (X-Robots-Tag: noindex)"]}
    assert {each.code for each in report.url_checks.estimates} == {"C01", "C02", "C08", "C09"}
    without = {code for code in PAGE_CODES if report.rules[code] == "no page could be checked"}
    assert without == {"C04", "C07", "C10", "C11", "C12"}


def test_pages_that_are_cut_in_their_head_are_counted(serve: Serve) -> None:
    style = f"<style>{'.a{color:red}' * 25_000}</style>"
    hidden = "<meta name=robots content=noindex>"
    server = serve({
        "/late": html(f"{style}{hidden}"),
        "/early": html(f"{hidden}{style}"),
        "/body": html(f"<title>x</title><p>x{style}"),
        "/broken": (200, {**HTML, "Content-Length": "999", "Connection": "close"}, b"<title>x</title>"),
        "/small": html("<title>x</title>"),
    })  # fmt: skip
    report = checked(server)
    assert found(report, server.url) == {"C03": ["3: /early is noindex (robots meta: noindex)"]}
    note = "2 URLs checked for C03 and C04 in part: the head has not ended where the page was cut"
    assert report.notes[-1] == note
    assert report.url_checks.checked == 5


def test_a_host_whose_robots_txt_cannot_be_read_has_no_result(serve: Serve, tmp_path: Path) -> None:
    other = serve({"/x": html("x")})
    other.pages["/robots.txt"] = (500, {}, b"")
    server = serve({"/1": html("x")}, "", f"{other.url}/x")
    saved = tmp_path / "checks.jsonl"
    report = checked(server, scope="any", save_checks=saved, limits=sr.Limits(tries=1))
    assert (report.url_checks.checked, report.url_checks.disallowed) == (1, 0)
    assert [each["url"] for each in objects(saved.read_text())] == [f"{server.url}/1"]


@pytest.mark.parametrize("allow_private", [True, False])
def test_a_page_of_a_host_that_does_not_exist_does_not_respond(*, allow_private: bool) -> None:
    gone = FetchError("gone.example: no such host", remedy="check the spelling")
    private = FetchError("gone.example has a private address", code="F13", transient=False)
    fails = gone if allow_private else private
    listed = urlset("https://a.example/", "https://gone.example/x")
    pages = {"https://a.example/robots.txt": robots("https://a.example/map.xml"), "https://a.example/map.xml": listed}
    site = Site(lambda url: fails if "gone" in url else pages.get(url, html("x")))
    report = sr.audit("https://a.example", fetcher=site, scope="any", select="C", check_urls="all", limits=ONE_TRY)
    if allow_private:
        (finding,) = report.findings
        assert finding.samples[0].message == "https://gone.example/x does not respond (gone.example: no such host)"
        assert (finding.code, report.url_checks.checked) == ("C08", 2)
    else:
        assert report.findings == ()
        assert report.notes[0] == "1 URL not checked: gone.example has a private address"


def test_a_host_that_answers_at_the_second_try_is_not_silent() -> None:
    gone = FetchError("gone.example: connection reset")
    listed = urlset("https://a.example/", "https://gone.example/x")
    answers = [gone, 503]
    pages = {
        "https://a.example/robots.txt": robots("https://a.example/map.xml"), "https://a.example/map.xml": listed,
        "https://gone.example/robots.txt": answers,
    }  # fmt: skip
    site = Site(lambda url: pages.get(url, html("x")))
    options: dict[str, Any] = {"scope": "any", "select": "C", "check_urls": "all"}
    report = sr.audit("https://a.example", fetcher=site, limits=sr.Limits(tries=3, max_proof_hosts=0), **options)
    assert report.findings == ()
    assert "503 Service Unavailable" in report.notes[0]


def test_pages_that_are_not_in_the_folder_have_no_result(tmp_path: Path) -> None:
    listed = urlset("https://e.example/", "https://other.example/")
    public = files(tmp_path / "public", {"index.html": "<p>x</p>", "sitemap.xml": listed})
    report = sr.audit(public, base="https://e.example", check_urls="all", select="C", scope="any")
    assert report.findings == ()
    assert report.url_checks.checked == 1


OWN = "<link rel=canonical href='{}'>"
# Path -> the page, and the code, severity and text of its fault; None: it has none.
STATES: dict[str, tuple[Page, tuple[str, str, str] | None]] = {
    "/fine": (html("<title>Fine</title>"), None),
    "/members": (html("", 401), ("C09", "warning", "answers 401")),
    "/walled": (html("", 403), ("C09", "warning", "answers 403")),
    "/broken": (html("", 500), ("C01", "error", "answers 500")),
    "/gone": (html("", 404), ("C01", "error", "answers 404")),
    "/to-fine": (html("", 301, Location="/fine"), ("C02", "warning", "redirects (301) to /fine")),
    "/to-gone": (html("", 301, Location="/gone"), (
        "C02", "error", "redirects (301) to /gone, which answers 404; remove the URL from the sitemap, or redirect")),
    "/far": (html("", 302, Location="/to-gone"), (
        "C02", "error", "redirects (302) to /to-gone and on to /gone, which answers 404; remove")),
    "/loop": (html("", 302, Location="/loop"), ("C02", "error", "redirects (302) to /loop and on and on, in a loop")),
    "/round": (html("", 302, Location="/round2"), (
        "C02", "error", "redirects (302) to /round2 and on and on, in a loop or more than ten times; let the URL")),
    "/choices": (html("", 300, Location="/fine"), ("C02", "warning", "redirects (300) to /fine")),
    "/only-choices": (html("", 300), ("C02", "error", "redirects (300) without a usable target")),
    "/to-hidden": (html("", 301, Location="/for-google"), (
        "C02", "error", "redirects (301) to /for-google, which is noindex; remove the URL from the sitemap, or let")),
    "/to-private": (html("", 301, Location="/private/x"), (
        "C02", "error", 'redirects (301) to /private/x, which is disallowed by robots.txt:2 "Disallow: /private/" '
        "(Googlebot and Bingbot); remove the URL from the sitemap, or allow its target in robots.txt")),
    "/busy": ((429, {"Retry-After": "0"}, b""), None),
    "/to-busy": (html("", 302, Location="/busy"), ("C02", "warning", "redirects (302) to /busy")),
    "/copy-of-busy": (html(OWN.format("/busy")), ("C04", "warning", "has the canonical /busy")),
    "/unchanged": ((304, {}, b""), None),
    "/no-content": ((204, {}, b""), ("C12", "warning", "answers 204, which says that it has no content")),
    "/reset": ((205, {"Content-Length": "0"}, b""), ("C12", "warning", "answers 205, which says that it has no")),
    "/part": (html("<title>x</title>", 206), None),
    "/switch": ((101, {}, b""), ("C08", "error", "does not respond: 101 is no final response")),
    "/nowhere": (html("", 302), ("C02", "error", "redirects (302) without a usable target; let the URL answer")),
    "/bad-target": (html("", 302, Location="javascript:x()"), ("C02", "error", "redirects (302) without a usable")),
    "/to-staging": (html("", 301, Location="http://staging.e.example:1/"), (
        "C02", "error", "redirects (301) to http://staging.e.example:1/; correct the redirect: its host seems not")),
    "/away": (html("", 301, Location="https://other.example/"), (
        "C02", "error", "redirects (301) to https://other.example/; remove the URL from the sitemap: its page is on")),
    "/old": (html("", 301, Location="/"), (
        "C02", "warning", "redirects (301) to /; remove the URL from the sitemap; if its page is gone, answer 404 or")),
    "/index.php": (html("", 301, Location="/"), ("C02", "warning", "redirects (301) to /")),
    "/for-google": (html("<meta name=Googlebot content=noindex>"), (
        "C03", "error", "is noindex (robots meta: googlebot: noindex)")),
    "/expired": (html("<meta name=robots content='unavailable_after: 2020-01-01'>"), (
        "C03", "error", "is noindex (robots meta: unavailable_after: 2020-01-01)")),
    "/expires": (html("<meta name=robots content='unavailable_after: 2999-01-01'>"), None),
    "/refresh": (html("<meta http-equiv=refresh content='0;url=/fine'>"), (
        "C10", "warning", "leads on to /fine at once")),
    "/refresh-header": (html("", Refresh="0; url=/gone"), (
        "C10", "error", "leads on to /gone at once, which answers 404; remove the URL from the")),
    "/refresh-hidden": (html("<meta http-equiv=refresh content='0;url=/for-google'>"), (
        "C10", "error", "leads on to /for-google at once, which is noindex; remove the URL from the sitemap, or")),
    "/refresh-late": (html("<meta http-equiv=Refresh content='5; URL=/fine'>"), (
        "C10", "notice", "leads on to /fine after 5 s; remove the meta refresh")),
    "/reload": (html("<meta http-equiv=refresh content='300'>"), None),
    "/reload-itself": (html("<meta http-equiv=refresh content='300; url=/reload-itself'>"), None),
    "/two": (html(OWN.format("/two") + OWN.format("/fine")), (
        "C11", "warning", "names several canonical URLs: /two, /fine")),
    "/twice": (html(OWN.format("/twice") * 2, Link="</twice>; rel=canonical"), None),
    "/header": (html(OWN.format("/header"), Link="</fine>; rel=canonical"), (
        "C11", "warning", "names several canonical URLs: /fine, /header")),
    "/in-body": (html(f"<p>text{OWN.format('/in-body')}"), (
        "C11", "warning", "names its canonical URL outside of the head")),
    "/in-both": (html(f"{OWN.format('/in-both')}<p>text{OWN.format('/fine')}"), None),
    "/empty-canonical": (html(OWN.format("")), ("C11", "warning", "has an empty canonical link")),
    "/no-canonical": (html("<link rel=canonical>"), ("C11", "warning", "has an empty canonical link")),
    "/unreadable": (html(OWN.format("https://")), ("C11", "warning", "has a canonical link that is no URL")),
    "/no-scheme": (html("<link rel=canonical href='127.0.0.1/no-scheme'>"), (
        "C11", "warning", "names a canonical URL without https://")),
    "/copy": (html(OWN.format("/fine")), ("C04", "warning", "has the canonical /fine")),
    "/copy-of-copy": (html(OWN.format("/copy")), (
        "C04", "warning", "has the canonical /copy, which has another canonical URL itself; correct the canonical")),
    "/copy-of-gone": (html(OWN.format("/gone")), (
        "C04", "warning", "has the canonical /gone, which answers 404; correct the canonical URL of the page, or")),
    "/copy-of-moved": (html(OWN.format("/to-fine")), (
        "C04", "warning", "has the canonical /to-fine, which answers 301; correct the canonical URL of the page, and")),
    "/copy-of-hidden": (html(OWN.format("/for-google")), (
        "C04", "warning", "has the canonical /for-google, which is noindex; correct the canonical URL of the page")),
    "/copy-of-private": (html(OWN.format("/private/x")), (
        "C04", "warning", 'has the canonical /private/x, which is disallowed by robots.txt:2 "Disallow: /private/" '
        "(Googlebot and Bingbot); correct the canonical URL of the page, or allow the page at it in robots.txt")),
    "/on-staging": (html(OWN.format("https://staging.e.example/on-staging")), (
        "C04", "warning", "has the canonical https://staging.e.example/on-staging; correct the canonical URL of the "
        "page: its host seems not")),
    "/on-localhost": (html(OWN.format("http://localhost:1313/x")), (
        "C04", "warning", "has the canonical http://localhost:1313/x; correct the canonical URL of the page: its")),
    "/on-lost": (html(OWN.format("/nothing-there")), (
        "C04", "warning", "has the canonical /nothing-there, which answers 404; correct the canonical URL of the")),
    "/to-lost": (html("", 301, Location="/nothing-there"), (
        "C02", "error", "redirects (301) to /nothing-there, which answers 404; remove the URL")),
    "/elsewhere": (html(OWN.format("https://other.example/x")), (
        "C04", "warning", "has the canonical https://other.example/x; remove the URL from the sitemap if the other")),
    "/soft": (html(f"<title>404 - Page not found</title>{OWN.format('/soft')}"), (
        "C07", "warning", "answers 200 with an error page: 404 - Page not found")),
    "/404.html": (html("<title>Shop</title>"), ("C07", "warning", "answers 200 with an error page: Shop")),
    "/no-byte": ((200, HTML, b""), ("C12", "warning", "answers 200 with an empty page")),
    "/no-byte.pdf": ((200, {"Content-Type": "application/pdf"}, b""), (
        "C12", "warning", "answers 200 with an empty page")),
    "/nothing": ((200, HTML, b"<title>x</title><p> </p>"), ("C12", "warning", "answers 200 with an empty page")),
    "/script": ((200, HTML, b"<title>x</title><div id=app></div><script src=/app.js></script>"), None),
    "/picture": ((200, HTML, b"<title>x</title><img src=/a.png>"), None),
}  # fmt: skip


# Kinds of images and dates, and of a page on https.
OF_OTHER_TESTS = {
    *("image with an error", "image that is none", "image that does not respond", "canonical on http"),
    "redirect to http",
    *("lastmod after the last change", "lastmod before the last change"),
    *("another URL for a code", "codes on one side only"),
}


def test_each_state_of_a_page_has_its_fault(serve: Serve) -> None:
    server = serve({path: page for path, (page, _) in STATES.items()}, "Disallow: /private/")
    server.pages = {**server.pages, "/": html(""), "/round2": html("", 302, Location="/round")}
    report = checked(server, samples=99, limits=ONE_TRY)
    wanted = {path: fault for path, (_, fault) in STATES.items() if fault is not None}
    seen = {}
    for problem in (each for finding in report.findings for each in finding.samples):
        path = (problem.url or "").removeprefix(server.url)
        text = problem.message.replace(server.url, "").removeprefix(f"{path} ")
        assert path not in seen, problem
        seen[path] = (problem.code, problem.severity, text[: len(wanted.get(path, ("", "", ""))[2])])
    assert seen == wanted
    kinds = {each.kind for finding in report.findings for each in finding.kinds}
    assert {*get_args(PageKind)} - kinds - OF_OTHER_TESTS == kinds - {*get_args(PageKind)} == set()
    of_redirects = (each for finding in report.findings if finding.code == "C02" for each in finding.kinds)
    redirects = {each.kind: each.count for each in of_redirects}
    assert redirects == {
        "redirect within the site": 4, "redirect to an error": 3, "redirect loop": 2, "redirect without a target": 3,
        "redirect to another site": 1, "redirect to the start page": 1, "redirect to a noindex page": 1,
        "redirect to a disallowed page": 1, "redirect to a host that is not public": 1,
    }  # fmt: skip
    assert [each.partition(";")[0] for each in report.notes if each.startswith("1 URL")] == [
        "1 URL not checked for C03, C04, C07, C10, C11, C12: answers 304 to a request without a condition",
        "1 URL not checked: 429 Too Many Requests",
    ]


def test_saved_results_have_the_same_faults(serve: Serve, tmp_path: Path) -> None:
    server, saved = serve({path: page for path, (page, _) in STATES.items()}), tmp_path / "checks.jsonl"
    first = checked(server, save_checks=saved)
    again = sr.audit(server.url, allow_private=True, crawl=saved, select="C")
    shown, shown_again = (
        {(each.code, each.severity, each.count, each.kinds) for each in report.findings} for report in (first, again)
    )
    assert shown == shown_again


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A folder whose sitemap lists its page and two that it lacks."""
    listed = urlset("https://e.example/", "https://e.example/gone", "https://e.example/old")
    return files(tmp_path / "public", {"index.html": "<p>x</p>", "sitemap.xml": listed})


def audited(public: Path, *options: str | Path) -> str:
    command = ["audit", public, "--base", "https://e.example", "--check-urls", "all", "--select", "C", "-q"]
    return str(run(*command, *options).stdout)


def test_every_format_has_the_url_of_the_page(public: Path, tmp_path: Path) -> None:
    gone = "https://e.example/gone"
    rows = [*csv.DictReader(audited(public, "--format", "csv").splitlines())]
    assert [(row["code"], row["url"], row["sitemap"]) for row in rows] == [
        ("C01", gone, "https://e.example/sitemap.xml"),
        ("C01", "https://e.example/old", "https://e.example/sitemap.xml"),
    ]
    (finding,) = json.loads(audited(public, "--format", "json"))["findings"]
    assert finding["samples"][0]["url"] == gone
    found = json.loads(audited(public, "--format", "sarif"))["runs"][0]["results"][0]
    assert gone in json.dumps(found["locations"])
    page = tmp_path / "report.html"
    audited(public, "-o", page)
    assert gone in page.read_text("utf-8")
    config = files(tmp_path, {"c.toml": '[[audit.ignore]]\ncode = "C01"\nurl = "/gone$"\nreason = "moved soon"\n'})
    assert "1 error" in audited(public, "--config", config / "c.toml").partition("\n")[0]


def test_what_is_not_in_the_folder_is_not_called_an_answer(public: Path) -> None:
    report = sr.audit(public, base="https://e.example", check_urls="all", select="C")
    (finding,) = report.findings
    assert finding.samples[0].message == f"https://e.example/gone is not in {public}"
    note = f"{public} has no file for 2 of 3 checked URLs: it seems not to be what is published; build the site first"
    assert note in report.notes
    (public / "old.html").write_text("<p>x")
    report = sr.audit(public, base="https://e.example", check_urls="all", select="C")
    assert not any("build the site" in note for note in report.notes)


@pytest.mark.parametrize(("base", "is_hinted"), [("https://e.example", True), ("https://e.example/shop", False)])
def test_a_base_without_the_path_of_all_pages_is_named(tmp_path: Path, base: str, is_hinted: bool) -> None:
    listed = urlset("https://e.example/shop/", "https://e.example/shop/a")
    folder = files(tmp_path / "docs", {"index.html": "x", "sitemap.xml": listed})
    hint = (
        f"{folder} has no file for 2 of 2 checked URLs: if it is published at https://e.example/shop/, read it with "
        "that as --base (base=...); else build the site first"
    )
    assert (hint in sr.audit(folder, base=base, check_urls="all").notes) is is_hinted


def test_an_image_that_is_not_in_the_folder_is_not_called_an_answer(public: Path) -> None:
    spaces = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    image = "<image:image><image:loc>https://e.example/a.png</image:loc></image:image>"
    entry = f"<url><loc>https://e.example/</loc>{image}</url>"
    (public / "sitemap.xml").write_text(urlset(entry).decode().replace("<urlset", f"<urlset {spaces}", 1))
    (finding,) = sr.audit(public, base="https://e.example", check_urls="all", select="C").findings
    assert finding.samples[0].message == f"https://e.example/: the image https://e.example/a.png is not in {public}"


def test_a_page_of_a_host_that_is_not_mapped_is_not_requested(serve: Serve) -> None:
    staging = serve({})
    production = "https://shop.invalid"
    listed = xml(urlset(f"{production}/a", "http://shop.invalid/b"))
    staging.pages = {"/robots.txt": (200, {}, robots(f"{production}/map.xml")), "/map.xml": listed, "/a": html("x")}
    report = sr.audit(
        production, host_map={production: staging.url}, allow_private=True, check_urls="all", select="C", scope="any"
    )
    assert report.findings == ()
    assert report.url_checks.headline == "1 of 2 unique URLs checked; 1 not checked"
    assert any(note.startswith("1 URL not checked: not requested: ") for note in report.notes)
    assert [line for line in report.url_checks.lines() if "C08" in line and "none found" in line]


# --- pages beside each other, images, dates ---


def test_identical_pages_are_one_finding_a_group(serve: Serve) -> None:
    one, two = (html(f"<title>{name}</title>{WORDS}") for name in ("One", "Two"))
    noindex = html(f"<meta name=robots content=noindex>{WORDS}")
    server = serve({
        "/a": one, "/b": two, "/c": one, "/d": one, "/e": two, "/short": html("x"), "/short2": html("x"),
        "/hidden": noindex, "/hidden2": noindex, "/moved": html("", 301, Location="/a"),
    })  # fmt: skip
    report = checked(server, select="C13")
    assert found(report, server.url) == {
        "C13": ["2: /a is the same page as /c and 1 more", "3: /b is the same page as /e"]
    }


def with_images(server: SiteServer, *images: str) -> None:
    """Gives the server a page with these images, at line 2."""
    listed = "".join(f"<image:image><image:loc>{each}</image:loc></image:image>" for each in images)
    video = f"<video:video><video:thumbnail_loc>{server.url}/thumb.jpg</video:thumbnail_loc></video:video>"
    names = "http://www.google.com/schemas/sitemap-{0}/1.1"
    spaces = " ".join(f'xmlns:{each}="{names.format(each)}"' for each in ("image", "video"))
    body = urlset().decode().replace("<urlset", f"<urlset {spaces}", 1).replace(
        "</urlset>", f"<url><loc>{server.url}/a</loc>{listed}{video}</url></urlset>"
    )  # fmt: skip
    server.pages = {**server.pages, "/map.xml": xml(body.encode())}


def test_images_and_thumbnails_that_do_not_load_are_reported(serve: Serve) -> None:
    image = (200, {"Content-Type": "image/png"}, b"png")
    server = serve({"/a": html("x")})
    server.pages |= {
        "/good.png": image, "/raw.png": (200, {"Content-Type": "application/octet-stream"}, b"png"),
        "/moved.png": html("", 301, Location="/good.png"), "/lost.png": html("", 301, Location="/none.png"),
        "/page.png": html("x"), "/walled.png": html("", 403), "/thumb.jpg": html("", 410),
    }  # fmt: skip
    names = ("good", "raw", "moved", "lost", "page", "walled", "none")
    with_images(server, *(f"{server.url}/{name}.png" for name in names))
    report = checked(server, select="C")
    wanted = {
        "/none.png": "image /none.png answers 404", "/page.png": "image /page.png is text/html",
        "/lost.png": "image /lost.png answers 404", "/thumb.jpg": "thumbnail /thumb.jpg answers 410",
    }  # fmt: skip
    (finding,) = report.findings
    assert {each.raw.replace(server.url, ""): each.message.replace(server.url, "") for each in finding.samples} == {
        name: f"/a: the {text}" for name, text in wanted.items()
    }
    assert {(each.url, each.line, each.severity) for each in finding.samples} == {(f"{server.url}/a", 2, "warning")}
    assert {each.kind: each.count for each in finding.kinds} == {"image with an error": 3, "image that is none": 1}
    assert "C14: 1 image not checked: the server answers 403, and may refuse this client alone" in report.notes
    assert max(Counter(server.requests()).values()) == 1


def test_an_image_that_does_not_respond_is_reported(serve: Serve) -> None:
    server = serve({"/a": html("x")})
    server.pages |= {"/thumb.jpg": (200, {"Content-Type": "image/jpeg"}, b"jpeg")}
    with_images(server, "http://127.0.0.1:1/x.png")
    report = checked(server, obey_robots=False, limits=sr.Limits(tries=1))
    text = "the image http://127.0.0.1:1/x.png does not respond (connection refused by 127.0.0.1:1)"
    assert found(report, server.url) == {"C14": [f"2: /a: {text}"]}
    assert [each.kind for each in report.findings[0].kinds] == ["image that does not respond"]


@pytest.mark.parametrize(("size", "requested"), [(3, 3), ("all", 8)])
def test_no_more_images_than_urls_are_requested(serve: Serve, size: Any, requested: int) -> None:
    server = serve({"/a": html("x")})
    with_images(server, *(f"{server.url}/{n}.png" for n in range(7)))
    report = checked(server, size)
    asked = [path for path in server.requests() if path.endswith((".png", ".jpg"))]
    assert len(asked) == requested
    assert ("C14: 3 of 8 listed images and thumbnails checked" in report.notes) is (size == 3)


def changed(date: str, **headers: str) -> Page:
    return html(f'<script type="application/ld+json">{{"dateModified": "{date}"}}</script>', **headers)


def dated(serve: Serve, *pages: tuple[str, Page]) -> Report:
    """A check of pages with their lastmods."""
    server = serve({f"/{n}": page for n, (_, page) in enumerate(pages)})
    entries = [(f"{server.url}/{n}", lastmod) for n, (lastmod, _) in enumerate(pages)]
    server.pages = {**server.pages, "/map.xml": xml(urlset(*entries))}
    return checked(server, select="C15")


OLD, NEW = ("2026-10-20", changed("2020-05-01")), ("2020-05-01", changed("2026-06-01T10:00:00Z"))
RIGHT = ("2020-05-01", changed("2020-05-02"))
FILE = html("x", Last_Modified="Fri, 01 May 2020 10:00:00 GMT")
TODAY = html("x", Last_Modified="Fri, 01 May 2099 10:00:00 GMT")


@pytest.mark.parametrize(("pages", "count"), [
    ([OLD] * 3, 3),
    ([OLD] * 2, 0),
    ([OLD] * 3 + [RIGHT] * 3, 3),
    ([OLD] * 3 + [RIGHT] * 4, 0),
    ([OLD, NEW, NEW], 3),
    ([("2026-10-20", FILE)] * 3, 3),
    ([("2019-10-20", FILE)] * 3, 0),  # a file is written anew when the site is built
    ([("2026-10-20", TODAY)] * 3, 0),
    ([("2020", changed("2020-11-01"))] * 3, 0),
    ([("2020-05-03", changed("2020-05-01T12:00:00Z"))] * 3, 0),
    ([("2020-05-04", changed("2020-05-01T12:00:00Z"))] * 3, 3),
    ([("2020-05-01", changed("2020-05-03T12:00:00Z"))] * 3, 0),
    ([("2020-05-01", changed("2020-05-04T12:00:00Z"))] * 3, 3),
    ([("2020-05-01", changed("2099-05-04"))] * 3, 0),  # made on request
])
def test_lastmods_that_most_pages_contradict_are_reported(serve: Serve, pages: list[Any], count: int) -> None:
    assert sum(finding.count for finding in dated(serve, *pages).findings) == count


def test_a_contradicted_lastmod_names_both_dates(serve: Serve) -> None:
    report = dated(serve, OLD, NEW, ("2026-10-20", FILE))
    (finding,) = report.findings
    assert [each.message.partition(": the ")[2] for each in sorted(finding.samples, key=lambda each: each.url)] == [
        "lastmod is 2026-10-20, and the page was last changed on 2020-05-01 (dateModified)",
        "lastmod is 2020-05-01, and the page was last changed on 2026-06-01 (dateModified)",
        "lastmod is 2026-10-20, and the page was last changed on 2020-05-01 (Last-Modified)",
    ]
    assert {each.kind: each.count for each in finding.kinds} == {
        "lastmod after the last change": 2, "lastmod before the last change": 1
    }  # fmt: skip


# --- hreflang of pages ---

XHTML = "http://www.w3.org/1999/xhtml"
LISTED = {"en": "/a", "de": "/de/a", "x-default": "/a"}


def links(**stated: str) -> str:
    return "".join(
        f"<link rel=alternate hreflang={code.replace('_', '-')} href='{href}'>" for code, href in stated.items()
    )


def linked(page: Page, serve: Serve, listed: Mapping[str, str] = LISTED, **options: Any) -> Report:
    """A check of a page whose sitemap has these alternates, and which is listed a second time without any."""
    server = serve({"/a": page})
    tags = "".join(
        f'<xhtml:link rel="alternate" hreflang="{code}" href="{server.url}{path}"/>' for code, path in listed.items()
    )
    entry = f'<url xmlns:xhtml="{XHTML}"><loc>{server.url}/a</loc>{tags}</url>'
    server.pages["/map.xml"] = xml(urlset(entry, f"{server.url}/a"))
    page_status, headers, body = page
    server.pages["/a"] = page_status, headers, body.replace(b"SITE", server.url.encode())
    return checked(server, **{"select": "L12", **options})


DE = "the page has /en/a for de, and the sitemap /de/a"


@pytest.mark.parametrize(("page", "expected"), [
    (html(links(en="/a", de="/de/a", x_default="/a")), None),
    # Spelled otherwise, and in the header.
    (html(links(EN="SITE/a", De="de/a", X_Default="./a#top")), None),
    (html(links(en="/%61", de="/x/../de/a", x_default="?")), "the page has /a? for x-default, and the sitemap /a"),
    (html("<base href=/de/>" + links(en="../a", de="a", x_default="/a")), None),
    (html(links(en="/a"),
          Link='</de/a>; rel="alternate"; hreflang="de", </a>; hreflang=X-default; rel=alternate'), None),
    ((200, {"Content-Type": "application/pdf", "Link": "</a>; rel=alternate; hreflang=en, </de/a>; rel=alternate; "
      "hreflang=de, </a>; rel=alternate; hreflang=x-default"}, b"%PDF"), None),
    # None of its own, or only what does not count.
    (html(""), None),
    (html("<link rel=alternate type=application/rss+xml href=/feed><link rel=alternate hreflang=fr>"), None),
    (html("<link rel=stylesheet hreflang=fr href=/fr/a>"), None),
    (html(f"<p>text{links(fr='/fr/a')}"), None),
    (html("<link rel=alternate hreflang=fr href=https://>"), None),
    (html(f"<meta name=robots content=noindex>{links(fr='/fr/a')}"), None),
    (html(links(fr="/fr/a"), 404), None),
    (html("", Link=", ".join(["</fr/a>; rel=alternate; hreflang=fr"] * 400)), None),
    # Contradictions.
    (html(links(en="/a", de="/en/a", x_default="/a")), DE),
    (html(links(en="/a", x_default="/a"), Link="</en/a>; rel=alternate; hreflang=de"), DE),
    (html(links(en="/a", de="/de/a/", x_default="/")),
     "the page has /de/a/ for de, and the sitemap /de/a, and 1 more of its codes differ"),
    (html(links(de="/en/a")), DE),
    (html(links(en="/a", de="/de/a", x_default="/a") + links(de="/at/a")),
     "the page has /at/a for de, and the sitemap /de/a"),
    # On one side only.
    (html(links(en="/a", de="/de/a")), "notice only the sitemap has x-default"),
    (html(links(en="/a", de="/de/a", x_default="/a", fr="/fr/a")), "notice only the page has fr"),
    (html(links(en="/a", aa="/aa", bb="/bb", cc="/cc", dd="/dd", ee="/ee", ff="/ff")),
     "notice only the page has aa, bb, cc, dd, ee …; only the sitemap has de, x-default"),
])  # fmt: skip
def test_a_page_that_contradicts_the_hreflang_of_its_sitemap_is_reported(
    page: Page, expected: str | None, serve: Serve
) -> None:
    report = linked(page, serve)
    samples = [each for finding in report.findings for each in finding.samples]
    if expected is None:
        assert samples == []
        return
    (problem,) = samples
    loc = problem.url or ""
    assert (problem.line, problem.field, problem.raw) == (2, "loc", loc)
    text = problem.message.replace(loc.removesuffix("/a"), "").removeprefix("/a: ")
    severity = "" if problem.severity == "warning" else f"{problem.severity} "
    assert expected in f"{severity}{text}"
    assert problem.kind == ("codes on one side only" if severity else "another URL for a code")


def test_a_page_that_is_cut_in_its_head_is_not_compared(serve: Serve) -> None:
    style = f"<style>{' ' * 300 * 1024}</style>"
    assert linked(html(f"{links(fr='/fr/a')}{style}"), serve).findings == ()
    assert [each.code for each in linked(html(f"{links(fr='/fr/a')}<p>x{style}"), serve).findings] == ["L12"]


def test_without_hreflang_on_both_sides_nothing_is_compared(serve: Serve) -> None:
    why = "no page that was fetched has hreflang, and has it in the sitemap, too"
    for page, listed, expected in (
        (html(""), LISTED, why),
        (html(links(en="/a")), {}, why),
        (html(links(en="/a")), {"en": "/a"}, ""),
    ):
        report = linked(page, serve, listed)
        assert (report.findings, report.rules["L12"]) == ((), expected)
    with pytest.raises(UsageError, match="L12 needs responses of the pages"):
        sr.audit("https://a.example", select="L12")


def test_a_page_that_no_longer_contradicts_its_sitemap_is_fixed(serve: Any, tmp_path: Path) -> None:
    server = serve({"/a": html(links(en="/a", de="/en/a")), "/b": html("")})
    tags = f'<xhtml:link rel="alternate" hreflang="de" href="{server.url}/de/a"/>'
    entry = f'<url xmlns:xhtml="{XHTML}"><loc>{server.url}/{{}}</loc>{tags}</url>'
    server.pages["/map.xml"] = xml(urlset(entry.format("a"), entry.format("b")))
    rows: list[Any] = []
    assert len(checked(server, select="L12", on_occurrence=rows.append).findings) == 1
    known = dump(tmp_path / "known.jsonl", *(each.to_dict() for each in rows))
    server.pages["/b"] = html(links(de="/de/a"))
    again = checked(server, select="L12", known=known)
    assert (again.findings[0].new, again.fixed.count) == (0, 0)
    server.pages["/a"] = html(links(de="/de/a"))
    again = checked(server, select="L12", known=known)
    assert (again.findings, again.fixed.count) == ((), 1)
