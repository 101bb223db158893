"""Hosts that refuse are distinguished from hosts without sitemaps: one report each, and completeness."""

import re
from itertools import chain

import attrs
import pytest
from kit import Site
from simulated import INDEX, MAP, REFUSED, ROBOTS, SITE, Pages, Reply, Walk, index, names, urlset, walk

import sitemap_reader as sr
from sitemap_reader import NothingFound, NothingReadable, Problem
from sitemap_reader.client import SummaryBuilder
from sitemap_reader.frontier import WELL_KNOWN, Failed
from sitemap_reader.parser import robots_body
from sitemap_reader.serialize import in_batches

PATHS = [f"{SITE}{path}" for path in WELL_KNOWN]
PAGE = "<!DOCTYPE html><html><head><title>One moment</title></head></html>"
HOME = f"{SITE}/"
SECOND = PATHS[1]
GOOD = urlset(f"{SITE}/1")
REFUSALS: list[Reply] = [400, 401, 403, 405, 407, 418, 429, 451, 500, 503, 599, 304, REFUSED]
CODES = {
    **dict.fromkeys((400, 401, 403, 405, 407, 418, 451), "F17"),
    **dict.fromkeys((429, 500, 503, 599, 304), "F18"),
}


def ledger_of(targets: str | list[str], pages: Pages, **plan: object) -> tuple[SummaryBuilder, list[str]]:
    """The SummaryBuilder of a crawl, and its errors and warnings as text."""
    seen = walk(targets, pages, **plan)
    ledger = SummaryBuilder()
    ledger.record([*chain.from_iterable(in_batches(seen.records)), *seen.reported])
    ledger.progress.urls = len(seen.records)
    reported = [each for each in seen.reported if isinstance(each, Problem) and each.severity != "notice"]
    return ledger, [f"{each.severity} {each.code} {each.sitemap}" for each in reported]


@pytest.mark.parametrize("reply", REFUSALS)
def test_refused_path_is_reported_once_for_the_host(reply: Reply) -> None:
    ledger, reported = ledger_of(SITE, {ROBOTS: "User-agent: *\n", **dict.fromkeys(PATHS, reply)})
    code = "F04" if isinstance(reply, Failed) else CODES[reply]
    assert reported == [f"warning F09 {ROBOTS}", f"error {code} {MAP}"]
    assert isinstance(ledger.verdict(SITE), NothingReadable)
    (outcome,) = [each for each in ledger.outcomes if each.url == MAP]
    assert (outcome.complete, outcome.why, outcome.problems) == (False, "well-known", {code: 1})
    assert outcome.status == (None if isinstance(reply, Failed) else reply)
    assert re.search("; (check |raise |try |--)", outcome.samples[0].message), "it says what helps"


AGENT = "another User-Agent (-A, user_agent=...)"
REMEDIES = {
    304: f"try {AGENT}, or have this one allow-listed",
    401: '--auth (auth="USER:PASSWORD") signs in',
    403: f"try {AGENT}, or have this one allow-listed",
    407: "check the user and the password of the proxy (--proxy)",
    429: "try again later, or raise max_wait_seconds (--max-wait) to wait longer",
    451: "try from another network (--proxy)",
    500: "try again later",
}


@pytest.mark.parametrize(("status", "remedy"), REMEDIES.items())
def test_remedy_fits_the_status(status: int, remedy: str) -> None:
    (candidate,) = walk(SITE, dict.fromkeys(PATHS, status)).frontier.sites[0].candidates
    assert str(candidate.problem).partition("; ")[2] == remedy


def test_rate_limited_host_is_not_probed_further() -> None:
    assert set(walk(SITE, {ROBOTS: "", **dict.fromkeys(PATHS, 429)}).documents) == {HOME, MAP}
    assert set(walk(SITE, {ROBOTS: "", **dict.fromkeys(PATHS, 403)}).documents) == {HOME, *PATHS}


def test_skipped_host_is_reported_even_if_only_its_robots_txt_was_requested() -> None:
    """A sitemap on that host is named later."""
    cdn, first, last = "https://cdn.example", f"{SITE}/a.xml", f"{SITE}/b.xml"
    pages: Pages = {
        ROBOTS: names(first),
        first: index(f"{cdn}/1.xml", last),
        f"{cdn}/robots.txt": (429, {"retry-after": "999"}),
        last: [503, (302, {"location": f"{cdn}/2.xml"})],  # at the second try
    }
    seen = walk(SITE, pages)
    assert seen.requested[-1] == last
    assert [each.sitemap for each in seen.reported if isinstance(each, Problem) and each.severity == "error"] == [
        f"{cdn}/robots.txt"
    ]
    assert not seen.outcomes[last].complete


OF_PROXY = Failed("F04", "the proxy answered 407", transient=False, remedy="check the user", of_proxy=True)


@pytest.mark.parametrize("place", [ROBOTS, HOME, MAP, INDEX])
def test_refusal_of_the_proxy_ends_all_requests_and_is_reported_once(place: str) -> None:
    """RFC 9110 15.5.8: it is no answer of the host, and the same for every request."""
    cdn = "https://cdn.example"
    children = [f"{host}/{number}.xml" for host in (SITE, cdn) for number in range(9)]
    pages: Pages = {ROBOTS: names(INDEX) if place == INDEX else "User-agent: *", INDEX: index(*children)}
    refused = [*children, f"{cdn}/robots.txt"] if place == INDEX else [place]
    pages |= dict.fromkeys(refused, OF_PROXY)
    for target in (SITE, SITE.partition("//")[2]):
        seen = walk(target, pages, concurrency=1, scope="any")
        ledger, reported = ledger_of(target, pages, concurrency=1, scope="any")
        assert len(seen.requested) == {ROBOTS: 1, HOME: 2, MAP: 3, INDEX: 3}[place]
        assert len([line for line in reported if line.startswith("error")]) == 1
        assert isinstance(ledger.verdict(target), NothingReadable)
        assert not ledger.complete


def errors_and_notes(seen: Walk) -> list[int]:
    """How many problems are errors, and how many notices."""
    severities = [each.severity for each in seen.reported if isinstance(each, Problem)]
    return [severities.count("error"), severities.count("notice")]


@pytest.mark.parametrize("concurrency", [1, 2, 16])
def test_refusal_of_the_proxy_is_one_error_wherever_it_comes(concurrency: int) -> None:
    maps = [f"{SITE}/{number}.xml" for number in range(8)]
    pages: Pages = {ROBOTS: names(*maps), **dict.fromkeys(maps, OF_PROXY)}
    assert errors_and_notes(walk(SITE, pages, concurrency=concurrency, per_host=4)) == [1, 7]
    for pages in ({ROBOTS: OF_PROXY}, {ROBOTS: "User-agent: *", MAP: OF_PROXY}, {ROBOTS: OF_PROXY, MAP: OF_PROXY}):
        for target in (MAP, MAP.replace("https", "http")):
            place = target.removesuffix("/sitemap.xml")
            there: Pages = {url.replace(SITE, place): reply for url, reply in pages.items()}
            for obeys in (True, False):
                seen = walk(target, there, concurrency=concurrency, obey_robots=obeys)
                assert errors_and_notes(seen)[0] == 1
                assert not seen.outcomes[target].complete


def test_refusal_of_the_proxy_is_an_error_also_of_what_is_else_not_reported() -> None:
    """The robots.txt of a host that is requested only for what it names, and a path of a host that refused another."""
    cdn = "https://cdn.shop.example"
    pages: Pages = {ROBOTS: names(MAP), MAP: urlset(f"{cdn}/1"), f"{cdn}/robots.txt": OF_PROXY}
    assert errors_and_notes(walk(SITE, pages)) == [1, 0]
    blocked: Pages = {ROBOTS: "User-agent: *", PATHS[0]: 403, PATHS[1]: OF_PROXY}
    seen = walk(SITE, blocked)
    assert errors_and_notes(seen) == [2, 0]
    assert seen.problem("F04").sitemap == PATHS[1]


@pytest.mark.parametrize("place", [ROBOTS, MAP])
def test_a_407_of_a_host_ends_the_requests_to_this_host_alone(place: str) -> None:
    cdn = "https://cdn.example"
    listed = [f"{cdn}/1.xml", f"{SITE}/1.xml", f"{SITE}/2.xml"]
    pages: Pages = {ROBOTS: names(INDEX), INDEX: index(*listed), **{url: urlset(f"{url}#") for url in listed}}
    walled = place.replace(SITE, cdn)
    pages |= {f"{cdn}/robots.txt": "User-agent: *", walled: 407, f"{cdn}/1.xml": 407}
    seen = walk(SITE, pages, concurrency=1, scope="any")
    assert {url for url in seen.requested if url.startswith(SITE)} == {ROBOTS, INDEX, *listed[1:]}
    assert seen.outcomes[listed[1]].complete
    (error,) = [each for each in seen.reported if isinstance(each, Problem) and each.severity == "error"]
    assert error.code == "F17"
    ledger, reported = ledger_of(SITE, dict.fromkeys([ROBOTS, *PATHS], 407))
    assert len([line for line in reported if line.startswith("error")]) == 1
    assert isinstance(ledger.verdict(SITE), NothingReadable)


@pytest.mark.parametrize("status", [400, 401, 403, 451])
def test_a_refused_robots_txt_is_an_error_and_the_paths_are_tried(status: int) -> None:
    """RFC 9309 2.3.1.3: all is allowed; which sitemaps it names is not known."""
    ledger, reported = ledger_of(SITE, {ROBOTS: status, MAP: GOOD})
    assert reported == [f"error F17 {ROBOTS}"]
    assert (ledger.summary().urls, ledger.complete, ledger.summary().robots_failed) == (1, False, 1)
    ledger, reported = ledger_of(SITE, {ROBOTS: status, **dict.fromkeys(PATHS, status)})
    assert reported == [f"error F17 {ROBOTS}"], "once for the host"
    assert isinstance(ledger.verdict(SITE), NothingReadable)


def test_refused_robots_txt_of_a_document_target_is_a_notice() -> None:
    """No requested document is missing."""
    seen = walk(MAP, {ROBOTS: 403, MAP: GOOD})
    problem = seen.problem("F14")
    assert (problem.severity, "403 Forbidden" in problem.message) == ("notice", True)
    assert seen.outcomes[ROBOTS].complete
    ledger, reported = ledger_of(MAP, {ROBOTS: 403, MAP: 403})
    assert reported == [f"error F17 {MAP}"]
    assert walk(MAP, {MAP: 401}).problem("F17").message == '401 Unauthorized; --auth (auth="USER:PASSWORD") signs in'
    assert walk(MAP, {MAP: 404}).problem("F01").message == "404 Not Found"
    assert isinstance(ledger.verdict(MAP), NothingReadable)


@pytest.mark.parametrize(("robots", "paths", "reported"), [
    (PAGE, dict.fromkeys(PATHS, PAGE), [f"error F05 {ROBOTS}"]),
    (PAGE, {}, [f"error F05 {ROBOTS}"]),
    (404, dict.fromkeys(PATHS, PAGE), [f"error F05 {MAP}"]),
    ("User-agent: *\n", dict.fromkeys(PATHS, PAGE), [f"warning F09 {ROBOTS}", f"error F05 {MAP}"]),
    (PAGE, {MAP: 403}, [f"error F17 {MAP}", f"warning F05 {ROBOTS}"]),
    (404, {MAP: (302, {"location": f"{SITE}/"}), f"{SITE}/": PAGE, **dict.fromkeys(PATHS[1:], PAGE)}, None),
], ids=["all", "robots", "paths", "paths, robots is text", "and 403", "a redirect to the home page"])
def test_html_at_every_path_is_reported_as_a_block(robots: Reply, paths: Pages, reported: list[str] | None) -> None:
    ledger, found = ledger_of(SITE, {ROBOTS: robots, **paths})
    assert found == ([f"error F05 {MAP}"] if reported is None else reported)
    assert isinstance(ledger.verdict(SITE), NothingReadable)
    assert not ledger.complete
    assert sum(outcome.complete is False for outcome in ledger.outcomes) == 1
    assert sum(ledger.problems.counts.values()) == sum(sum(each.problems.values()) for each in ledger.outcomes)


@pytest.mark.parametrize(("pages", "reported"), [
    ({ROBOTS: PAGE, MAP: GOOD}, [f"warning F05 {ROBOTS}"]),
    ({ROBOTS: PAGE, MAP: PAGE, SECOND: GOOD}, [f"warning F05 {ROBOTS}"]),
    ({ROBOTS: 404, MAP: PAGE, SECOND: GOOD}, []),
    ({ROBOTS: "User-agent: *\n", MAP: PAGE, SECOND: GOOD}, [f"warning F09 {ROBOTS}"]),
    ({ROBOTS: names(MAP), MAP: GOOD, **dict.fromkeys(PATHS[1:], PAGE)}, []),
])
def test_html_at_some_paths_keeps_a_site_with_a_sitemap_complete(pages: Pages, reported: list[str]) -> None:
    for probe in ("auto", "always"):
        ledger, found = ledger_of(SITE, pages, probe=probe)
        assert (found, ledger.complete, ledger.summary().urls) == (reported, True, 1)
        assert not any(outcome.format == "html" for outcome in ledger.outcomes)


# Bodies with status 200 that bot walls and catch-all servers send for each path.
WALLS = {
    "a page without doctype": '<html style="height:100%"><body><iframe src="/_Incapsula_Resource?S=31"></iframe>',
    "a redirect in a page": '<meta http-equiv="refresh" content="0; url=/captcha">',
    "a tag": "<p>Access denied</p>",
    "text": "Access denied",
    "text with keys": "Access denied\nIP: 192.0.2.1\nUser-Agent: bot/1.0 (+https://bot.example)\nRequest ID: 12\n",
    "ok": "ok",
    "null": "null",
    "a list": "[]",
    "JSON": '{"error": "not found"}',
    "XML": '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "an image": "\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "Markdown": "# Not found\n\nThere is nothing here.\n",
    "nothing": "",
    "white space": " \r\n\n",
    "comments": "# nothing here\n",
}


def with_number(body: str, number: int) -> str:
    """The body as a wall sends it that puts the number of the request into each; an empty one stays empty."""
    return f"{body.rstrip()} {number}\n" if body.strip() else body


@pytest.mark.slow
@pytest.mark.parametrize("name", WALLS)
def test_a_host_with_one_kind_of_page_for_all_paths_is_blocked(name: str) -> None:
    body = WALLS[name]
    same: Pages = dict.fromkeys([ROBOTS, *PATHS], body)
    numbered: Pages = {url: with_number(body, number) for number, url in enumerate(same)}
    home: Pages = {url: (302, {"location": f"{SITE}/blocked"}) for url in same} | {f"{SITE}/blocked": body}
    code = "F05" if body.startswith(("<html", "<meta")) else "F17"
    for pages in (same, home) if name == "comments" else (same, numbered, home):
        ledger, reported = ledger_of(SITE, pages)
        assert reported == [f"error {code} {ROBOTS}"]
        assert isinstance(ledger.verdict(SITE), NothingReadable)
        assert (ledger.blocked, ledger.complete) == (True, False)
        (candidate,) = walk(SITE, pages).frontier.sites[0].candidates
        assert (candidate.url, candidate.status, str(candidate.problem)[:3]) == (ROBOTS, 200, code)


NOTHING_FOUND: list[tuple[str, Pages]] = [
    ("an empty robots.txt", {ROBOTS: ""}),
    ("an empty robots.txt, an empty sitemap", {ROBOTS: "", MAP: ""}),
    ("comments", {ROBOTS: "# no sitemap\n"}),
    ("comments, and JSON for all paths", {ROBOTS: "# no sitemap\n", **dict.fromkeys(PATHS, "{}")}),
    ("text in place of robots.txt alone", {ROBOTS: "We have none."}),
    *((f"rules, and {name} for all paths", {ROBOTS: "User-agent: *\nDisallow: /cart\n", **dict.fromkeys(PATHS, body)})
      for name, body in (("JSON", "{}"), ("text", "Not found"), ("nothing", ""))),
    ("no robots.txt, and JSON for all paths", dict.fromkeys(PATHS, "{}")),
    ("rules of odd spelling", {ROBOTS: "useragent: *\ndissallow /x\n", **dict.fromkeys(PATHS, "{}")}),
    ("a Crawl-delay", {ROBOTS: "Crawl-delay: 1\n", **dict.fromkeys(PATHS, "{}")}),
]


@pytest.mark.parametrize("pages", [pages for _, pages in NOTHING_FOUND], ids=[name for name, _ in NOTHING_FOUND])
def test_a_host_that_answers_is_believed_to_have_no_sitemap(pages: Pages) -> None:
    ledger, reported = ledger_of(SITE, pages)
    assert isinstance(ledger.verdict(SITE), NothingFound)
    assert ledger.complete
    assert not [line for line in reported if line.startswith("error")]


@pytest.mark.parametrize("name", WALLS)
def test_a_page_in_place_of_robots_txt_is_a_warning_if_a_sitemap_is_found(name: str) -> None:
    ledger, reported = ledger_of(SITE, {ROBOTS: WALLS[name], MAP: "Not found", SECOND: GOOD})
    body = robots_body(WALLS[name])
    assert reported == [f"warning {dict(html='F05', other='F14').get(body, 'F09')} {ROBOTS}"]
    assert (ledger.complete, ledger.summary().urls) == (True, 1)


@pytest.mark.parametrize("status", [202, 203, 204, 205, 206])
def test_success_without_the_document_is_a_failure(status: int) -> None:
    code, child = "F17" if status == 202 else "F18", f"{SITE}/child.xml"
    for pages, place in (
        ({ROBOTS: status, MAP: GOOD}, ROBOTS),
        ({ROBOTS: status, **dict.fromkeys(PATHS, status)}, ROBOTS),
        ({ROBOTS: "User-agent: *\nSitemap: /child.xml", child: status, MAP: GOOD}, child),
        ({ROBOTS: names(INDEX), INDEX: index(child), child: status}, child),
    ):
        ledger, reported = ledger_of(SITE, pages)
        assert [line for line in reported if line.startswith("error")] == [f"error {code} {place}"]
        assert not ledger.complete


# target, pages, plan; the errors and warnings, the error of the site or the number of its URLs, whether it is complete
VERDICTS: list[tuple[str, Pages, dict[str, object], list[str], type[Exception] | int, bool]] = [
    *((SITE, dict.fromkeys([ROBOTS, *PATHS], status), {}, [], NothingFound, True) for status in (404, 410)),
    (SITE, {ROBOTS: names(rules="Disallow: /")}, {}, [f"warning F09 {ROBOTS}"], NothingFound, True),
    (SITE, {MAP: PAGE, SECOND: PAGE}, {}, [], NothingFound, True),
    *((SITE, {MAP: reply, SECOND: GOOD}, {}, [f"error {code} {MAP}"], 1, False)
      for reply, code in ((403, "F17"), (500, "F18"), (REFUSED, "F04"))),
    (SITE, {ROBOTS: 429, MAP: GOOD}, {"obey_robots": False}, [f"error F18 {ROBOTS}"], 1, False),
    (ROBOTS, {ROBOTS: PAGE, MAP: GOOD}, {}, [f"error F05 {ROBOTS}"], NothingReadable, False),
    *((ROBOTS, {ROBOTS: body, MAP: GOOD}, {}, [f"error F17 {ROBOTS}"], NothingReadable, False)
      for body in WALLS.values() if robots_body(body) == "other"),
]


@pytest.mark.parametrize(("target", "pages", "plan", "reported", "verdict", "complete"), VERDICTS)
def test_verdict_on_a_site(
    target: str, pages: Pages, plan: dict[str, object], reported: list[str], verdict: type[Exception] | int,
    complete: bool,
) -> None:
    ledger, found = ledger_of(target, pages, **plan)
    assert found == reported
    error = ledger.verdict(target)
    assert (ledger.summary().urls if error is None else type(error)) == verdict
    assert ledger.complete is complete


def test_the_header_of_a_bot_wall_is_in_the_message() -> None:
    wall: Reply = (202, {"x-amzn-waf-action": "challenge", "cf-mitigated": "\x1b[2J"})
    seen = walk(SITE, dict.fromkeys([ROBOTS, *PATHS], wall))
    assert seen.problem("F17").message.startswith("202 Accepted (x-amzn-waf-action: challenge); try another User-Agent")


@pytest.mark.parametrize("targets", [[SITE, "shop.example"], ["shop.example", SITE]])
def test_two_targets_on_one_host_have_one_verdict(targets: list[str]) -> None:
    ledger, reported = ledger_of(targets, {ROBOTS: PAGE, MAP: GOOD})
    assert (reported, ledger.complete) == ([f"warning F05 {ROBOTS}"], True)
    ledger, reported = ledger_of(targets, {ROBOTS: PAGE, **dict.fromkeys(PATHS, PAGE)})
    assert (reported, ledger.complete) == ([f"error F05 {ROBOTS}"], False)


def test_html_response_is_reported_if_the_crawl_is_left_early() -> None:
    seen = walk(SITE, {ROBOTS: PAGE, MAP: GOOD})
    assert [each.code for each in seen.reported if isinstance(each, Problem)] == ["F05"]
    assert seen.frontier.abandon() == []


def test_a_page_for_the_robots_txt_of_another_host_is_a_warning() -> None:
    cdn = "https://cdn.example"
    seen = walk(f"{cdn}/map.xml", {f"{cdn}/robots.txt": PAGE, f"{cdn}/map.xml": urlset(f"{cdn}/1")})
    assert seen.problem("F05").severity == "warning"
    assert all(outcome.complete for outcome in seen.outcomes.values())


@pytest.mark.parametrize("reply", [403, PAGE, 500])
def test_refused_named_sitemaps_are_not_reported_again_by_path(reply: Reply) -> None:
    named = f"{SITE}/named.xml"
    ledger, reported = ledger_of(SITE, {ROBOTS: names(named), named: reply, **dict.fromkeys(PATHS, reply)})
    assert [line.rpartition(" ")[2] for line in reported] in ([named], [])
    assert isinstance(ledger.verdict(SITE), NothingReadable)


def test_children_of_a_host_without_robots_txt_are_notices() -> None:
    dead = "https://dead.example"
    children = index(*(f"{dead}/{number}.xml" for number in range(3)))
    pages: Pages = {ROBOTS: names(MAP), MAP: children, f"{dead}/robots.txt": attrs.evolve(REFUSED, remedy="see")}
    ledger, reported = ledger_of(SITE, pages, scope="any")
    assert reported == [f"error F04 {dead}/robots.txt"]
    assert ledger.summary().failed == 3
    assert ledger.problems.counts["F02"] == 3
    (refused, *_) = [each for each in ledger.problems.samples if each.code == "F02"]
    assert "(robots.txt: connection refused; see) " in refused.message


def test_discovery_lists_refused_documents() -> None:
    for pages, row in (
        ({ROBOTS: 403}, (ROBOTS, 403)), ({MAP: 503}, (MAP, 503)), ({ROBOTS: REFUSED}, (ROBOTS, None)),
        ({ROBOTS: PAGE}, (ROBOTS, 200)), (dict.fromkeys(PATHS, PAGE), (MAP, 200)),
    ):
        (candidate,) = walk(SITE, pages).frontier.sites[0].candidates
        assert (candidate.url, candidate.status) == row
        assert candidate.problem is not None
    assert walk(SITE, {}).frontier.sites[0].candidates == []


@pytest.mark.parametrize("reply", [404, 410, 403, 500, REFUSED, "User-agent: *\n"])
def test_only_a_read_robots_txt_is_reported_as_naming_no_sitemap(reply: Reply) -> None:
    """The robots.txt of this target is redirected to that of another target."""
    www = "https://www.shop.example/robots.txt"
    _, reported = ledger_of([SITE, www], {ROBOTS: reply, www: (301, {"location": ROBOTS})})
    assert (f"warning F09 {www}" in reported) is isinstance(reply, str)


def test_reported_https_origin_is_not_requested_again() -> None:
    """Over https nothing answers, over http robots.txt refuses, and an index lists a child over https."""
    plain = SITE.replace("https", "http")
    child = f"{SITE}/b.xml"
    refused = attrs.evolve(REFUSED, remedy="see the wiki")
    pages: Pages = {ROBOTS: refused, f"{plain}/robots.txt": 401, f"{plain}/sitemap.xml": index(child), child: GOOD}
    seen = walk("shop.example", pages, scope="any")
    assert seen.requested.count(ROBOTS) == 1
    assert [(each.sitemap, each.code) for each in seen.reported if isinstance(each, Problem)] == [
        (f"{plain}/robots.txt", "F17"), (child, "F02"),
    ]
    assert "(robots.txt: connection refused; see the wiki) " in seen.problem("F02").message
    assert not seen.outcomes[ROBOTS].complete
    assert walk("shop.example", pages, scope="any", obey_robots=False).requested.count(ROBOTS) == 1


def test_refused_credentials_are_named() -> None:
    """Not the option that gave them."""
    refused = "the login of --auth (auth=...), --header (headers=...), --netrc (netrc=True) or the URL is refused"
    site = Site({"/map.xml": (401, {}, b"")}, "https://e.com")
    for target, options in (
        ("https://e.com/map.xml", {"auth": "me:wrong"}), ("https://me:wrong@e.com/map.xml", {}),
        ("https://e.com/map.xml", {"headers": {"Authorization": "Bearer old"}}),
    ):  # fmt: skip
        with sr.urls(target, fetcher=site, **options) as stream, pytest.raises(NothingReadable):
            list(stream)
        (sample,) = [each for each in stream.problems.samples if each.code == "F17"]
        assert sample.message == f"401 Unauthorized; {refused}"
    with sr.urls("https://e.com/map.xml", fetcher=site) as stream, pytest.raises(NothingReadable):
        list(stream)
    assert "signs in" in stream.problems.samples[-1].message
