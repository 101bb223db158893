"""The frontier in simulated crawls: robots rules, discovery, children, redirects, politeness, outcomes."""

import sys
from datetime import UTC, datetime
from itertools import pairwise

import attrs
import pytest
from simulated import (
    INDEX,
    MAP,
    REFUSED,
    ROBOTS,
    SITE,
    TODAY,
    Pages,
    Reply,
    RequestsAll,
    Walk,
    answer,
    index,
    names,
    problems,
    reports,
    urlset,
    walk,
)

from sitemap_reader import Limits, Outcome, Problem, SitemapRef, from_json, json_line
from sitemap_reader.client import SummaryBuilder
from sitemap_reader.frontier import (
    WELL_KNOWN,
    Arrived,
    Failed,
    Finished,
    Head,
    Plan,
    Selection,
    Window,
    parse_rules,
    parse_target,
)
from sitemap_reader.serialize import UNWRITTEN

# --- robots.txt: rules -----------------------------------------------------------------------------------


WWW, HTTP, OTHER = "https://www.shop.example", "http://shop.example", "https://other.example"
A, B, ROUND = f"{SITE}/a.xml", f"{SITE}/b.xml", f"{SITE}/round.xml"
ONE, TWO = urlset(f"{SITE}/1"), urlset(f"{SITE}/2")
CHAIN = [f"{SITE}/{number}.xml" for number in range(9)]
C, DEEP = f"{SITE}/c.xml", f"{SITE}/maps/index.xml"


def to(url: str) -> Reply:
    return 301, {"location": url}


def of(host: str) -> list[str]:
    """A document on another host, behind its robots.txt."""
    return [f"{host}/robots.txt", f"{host}/a.xml"]


RULES_OF_BOTS = f"User-agent: bot\nDisallow: /\n\nUser-agent: *\nAllow: /\n\nSitemap: {MAP}\n"
FORBIDDEN: Pages = {ROBOTS: names(MAP, rules="Disallow: /\nCrawl-delay: 9"), MAP: ONE}
DOWN: Pages = {above: index(below) for above, below in pairwise(CHAIN[:4])} | {CHAIN[3]: ONE}
ALONG: Pages = {start: to(end) for start, end in pairwise(CHAIN[:4])} | {CHAIN[3]: ONE}
SLOW: Pages = {ROBOTS: names(rules="Crawl-delay: 31"), MAP: ONE}
HOME = f"{SITE}/"
BUSY: Reply = 503, {"retry-after": "3600"}
BOTH: Pages = {ROBOTS: names(MAP, B), MAP: ONE, B: TWO}

# target, pages, plan; the requested URLs (without a first ROBOTS), the numbers of the pages that came out, the reports
WALKS: dict[str, tuple[str | list[str], Pages, dict[str, object], list[str], str, list[str]]] = {
    # robots.txt
    "rules for our User-Agent": (SITE, {ROBOTS: RULES_OF_BOTS, MAP: ONE}, {"user_agent": "bot/2.0"}, [], "",
                                 ["F02 sitemap.xml", "partial sitemap.xml"]),
    "rules for another": (SITE, {ROBOTS: RULES_OF_BOTS, MAP: ONE}, {"user_agent": "other/2.0"}, [MAP], "1", []),
    "rules that are not obeyed": (SITE, FORBIDDEN, {"obey_robots": False}, [MAP], "1", []),
    "forbidden": (SITE, {ROBOTS: names(MAP, rules="Disallow: /sitemap.xml"), MAP: ONE}, {"probe": "never"}, [], "",
                  ["F02 sitemap.xml", "partial sitemap.xml"]),
    "unreachable, not obeyed": (SITE, {ROBOTS: 500, MAP: ONE}, {"obey_robots": False}, [ROBOTS, ROBOTS, HOME, MAP], "1",
                                ["F18 robots.txt", "partial robots.txt"]),
    "redirected to a document": (MAP, {ROBOTS: to(MAP), MAP: ONE}, {}, [MAP, MAP], "1",
                                 ["F03 robots.txt", "notice F14 robots.txt"]),
    "redirected to another domain, does not apply there": (
        SITE, {ROBOTS: to(f"{OTHER}/robots.txt"), f"{OTHER}/robots.txt": names(f"{OTHER}/a.xml"),
               f"{OTHER}/a.xml": urlset(f"{OTHER}/1")}, {},
        [f"{OTHER}/robots.txt", f"{OTHER}/robots.txt", f"{OTHER}/a.xml"], "1", ["F03 robots.txt"]),
    "that names itself": (
        SITE, {ROBOTS: names(ROBOTS, A, "http://me:x@shop.example/robots.txt"), A: ONE}, {},
        [f"{HTTP}/robots.txt", A], "1", []),
    "that names itself alone": (SITE, {ROBOTS: names(ROBOTS)}, {"probe": "never"}, [], "",
                                ["F09 robots.txt"]),
    "that names another": (SITE, {ROBOTS: names(of(WWW)[0]), of(WWW)[0]: names(of(WWW)[1]),
                                  of(WWW)[1]: urlset(f"{WWW}/1")}, {}, of(WWW), "1", []),
    "that names one that is missing": (SITE, {ROBOTS: names(of(WWW)[0]), MAP: ONE}, {},
                                       [of(WWW)[0], HOME, MAP], "1", []),
    "that names one that is refused": (
        SITE, {ROBOTS: names(of(WWW)[0]), of(WWW)[0]: REFUSED, MAP: ONE}, {}, [*[of(WWW)[0]] * 3, HOME, MAP], "1",
        [f"F04 {WWW}/robots.txt", f"partial {WWW}/robots.txt"]),
    "not there, and listed": (INDEX, {INDEX: index(ROBOTS)}, {}, [INDEX], "", ["F01 index.xml", "partial index.xml"]),
    "not there, and redirected to": (INDEX, {INDEX: to(ROBOTS)}, {}, [INDEX], "",
                                     ["F03 index.xml", "F01 index.xml", "partial index.xml"]),
    # hosts that are skipped: a well-known path represents one without a named sitemap
    "a long delay": (SITE, SLOW, {}, [], "",
                     ["F15 robots.txt", "F09 robots.txt", "notice F15 sitemap.xml", "partial sitemap.xml"]),
    "a long delay that is not obeyed": (SITE, SLOW, {"obey_robots": False}, [HOME, MAP], "1",
                                        ["F09 robots.txt"]),
    "a long delay of another host": (
        SITE, {ROBOTS: names(MAP), MAP: index(A, f"{OTHER}/a.xml"), A: ONE,
               f"{OTHER}/robots.txt": names(rules="Crawl-delay: 60")}, {"scope": "any"},
        [MAP, A, f"{OTHER}/robots.txt"], "1",
        [f"F15 {OTHER}/robots.txt", f"notice F15 {OTHER}/a.xml", f"partial {OTHER}/a.xml"]),
    "a long Retry-After of a path": (SITE, {MAP: BUSY}, {}, [HOME, MAP], "",
                                     ["F18 sitemap.xml", "partial sitemap.xml"]),
    # targets
    "a document, of which nothing is probed": (f"{A}?page=2", {ROBOTS: names(MAP), f"{A}?page=2": ONE, MAP: TWO}, {},
                                               [f"{A}?page=2"], "1", []),
    "host over http": (
        "shop.example",
        {ROBOTS: REFUSED, f"{HTTP}/robots.txt": names(f"{HTTP}/map.xml"), f"{HTTP}/map.xml": urlset(f"{HTTP}/1")}, {},
        [f"{HTTP}/robots.txt", f"{HTTP}/map.xml"], "1", []),
    "host over neither": (
        "shop.example", {ROBOTS: REFUSED, f"{HTTP}/robots.txt": REFUSED}, {}, [f"{HTTP}/robots.txt"] * 3, "",
        [f"F04 {HTTP}/robots.txt", f"partial {HTTP}/robots.txt", "partial robots.txt"]),
    "host over https": ("shop.example", {MAP: ONE}, {}, [HOME, MAP], "1", []),
    # http answers and names a sitemap on the failed https host: the sitemap must not wait forever.
    "sitemap on the failed scheme": (
        "shop.example", {ROBOTS: [REFUSED, 404], f"{HTTP}/robots.txt": names(MAP), MAP: ONE}, {},
        [f"{HTTP}/robots.txt", ROBOTS, MAP], "1", []),
    "robots.txt": (ROBOTS, {ROBOTS: names(A), A: 404, MAP: ONE}, {}, [A], "", ["F01 a.xml", "partial a.xml"]),
    "document and site": ([MAP, SITE], BOTH, {}, [MAP, B], "12", []),
    "site and document": ([SITE, MAP], BOTH, {}, [MAP, B], "12", []),
    "document twice": ([MAP, MAP], {MAP: ONE}, {}, [MAP], "1", []),
    # neither site has a reason to guess
    "two sites that name one document": ([SITE, WWW], {ROBOTS: names(MAP), f"{WWW}/robots.txt": names(MAP), MAP: ONE},
                                         {}, [f"{WWW}/robots.txt", MAP], "1", []),
    # discovery
    "well-known paths in their order": (SITE, {SITE + WELL_KNOWN[3]: ONE, SITE + WELL_KNOWN[5]: TWO}, {},
                                        [HOME, *(SITE + path for path in WELL_KNOWN[:4])], "1", []),
    "a well-known path that redirects": (SITE, {MAP: to(A), A: ONE}, {}, [HOME, MAP, A], "1", ["F03 sitemap.xml"]),
    "a named sitemap is missing": (SITE, {ROBOTS: names(A), A: 404, MAP: ONE}, {}, [A, HOME, MAP], "1",
                                   ["F01 a.xml", "partial a.xml"]),
    "a named sitemap is a page": (SITE, {ROBOTS: names(A), A: "<html></html>", MAP: ONE}, {}, [A, HOME, MAP], "1",
                                  ["partial a.xml"]),
    "a named sitemap is refused": (SITE, {ROBOTS: names(A), A: REFUSED, MAP: ONE}, {}, [A, A, A, HOME, MAP], "1",
                                   ["F04 a.xml", "partial a.xml"]),
    "probing waits for every named one": (SITE, {ROBOTS: names(A, B), A: 404, B: ONE, MAP: TWO}, {}, [A, B], "1",
                                          ["F01 a.xml", "partial a.xml"]),
    "probe if needed": (SITE, {ROBOTS: names(A), A: ONE, MAP: TWO}, {}, [A], "1", []),
    "probe always": (SITE, {ROBOTS: names(A), A: ONE, MAP: TWO}, {"probe": "always"}, [A, HOME, MAP], "12", []),
    "probe always, behind a named path": (SITE, {ROBOTS: names(MAP), MAP: ONE}, {"probe": "always"},
                                          [MAP, HOME, *(SITE + path for path in WELL_KNOWN[1:])], "1", []),
    "probe never": (SITE, {MAP: ONE}, {"probe": "never"}, [], "", []),
    "no probing of an unresponsive host": (SITE, {ROBOTS: REFUSED}, {"obey_robots": False}, [ROBOTS, ROBOTS], "",
                                           ["F04 robots.txt", "partial robots.txt"]),
    # documents
    "children of an index": (INDEX, {INDEX: index(A, B), A: ONE, B: TWO}, {}, [INDEX, A, B], "12", []),
    "a child elsewhere": (INDEX, {INDEX: index(f"{OTHER}/a.xml")}, {"scope": "any"}, [INDEX, *of(OTHER)], "",
                          ["F01 https://other.example/a.xml", "partial https://other.example/a.xml"]),
    "a child in the domain": (INDEX, {INDEX: index(f"{WWW}/a.xml")}, {"scope": "domain"}, [INDEX, *of(WWW)], "",
                              ["F01 https://www.shop.example/a.xml", "partial https://www.shop.example/a.xml"]),
    "a child over http": (INDEX, {INDEX: index(f"{HTTP}/a.xml")}, {"scope": "host"}, [INDEX, *of(HTTP)], "",
                          ["F01 http://shop.example/a.xml", "partial http://shop.example/a.xml"]),
    "a child above the directory": (DEEP, {DEEP: index(MAP, f"{SITE}/maps/b.xml"), MAP: ONE}, {},
                                    [DEEP, MAP, f"{SITE}/maps/b.xml"], "1",
                                    ["S13 maps/index.xml sitemap.xml", "F01 maps/b.xml", "partial maps/b.xml"]),
    "a child twice": (INDEX, {INDEX: index(MAP, MAP), MAP: ONE}, {}, [INDEX, MAP], "1", ["S12 index.xml sitemap.xml"]),
    "an index lists itself": (INDEX, {INDEX: index(INDEX, MAP), MAP: ONE}, {}, [INDEX, MAP], "1",
                              []),
    "a cycle of indexes": (A, {A: index(B), B: index(C), C: index(A, MAP), MAP: ONE}, {}, [A, B, C, MAP], "1",
                           []),
    "an index within an index": (INDEX, {INDEX: index(A), A: index(MAP), MAP: ONE}, {}, [INDEX, A, MAP], "1",
                                 []),
    "indexes down to the limit": (CHAIN[0], DOWN, {"limits": Limits(max_index_depth=3)}, CHAIN[:4], "1",
                                  []),
    "indexes beyond the limit": (CHAIN[0], DOWN, {"limits": Limits(max_index_depth=2)}, CHAIN[:3], "",
                                 ["S14 2.xml 3.xml", "partial 2.xml"]),
    "redirects up to the limit": (CHAIN[0], ALONG, {"limits": Limits(max_redirects=3)}, CHAIN[:4], "1",
                                  ["F03 0.xml", "F03 0.xml", "F03 0.xml"]),
    "redirects beyond the limit": (CHAIN[0], ALONG, {"limits": Limits(max_redirects=2)}, CHAIN[:3], "",
                                   ["F03 0.xml", "F03 0.xml", "F04 0.xml", "partial 0.xml"]),
    # It may have changed later, and list older pages.
    "a child behind the window": (
        INDEX, {INDEX: index(MAP, lastmod="2025-01-31"), MAP: ONE},
        {"selection": Selection(Window(until=datetime(2024, 1, 1, tzinfo=UTC)))}, [INDEX, MAP], "1", []),
    "without descent": (INDEX, {INDEX: index(MAP), MAP: ONE}, {"descend": False}, [INDEX], "", []),
    "five levels": (CHAIN[0], {above: index(below) for above, below in pairwise(CHAIN)}, {}, CHAIN[:6], "",
                    ["S14 5.xml 6.xml", "partial 5.xml"]),
    "redirect to a known document": (INDEX, {INDEX: index(A, B), A: ONE, B: to(A)}, {}, [INDEX, A, B], "1",
                                     ["F03 b.xml"]),
    "tries count anew behind a redirect": (MAP, {MAP: [500, 500, to(B)], B: [500, 500, ONE]}, {}, [MAP] * 3 + [B] * 3,
                                           "1", ["F03 sitemap.xml"]),
}


@pytest.mark.parametrize(("target", "pages", "plan", "requested", "pages_read", "reported"), WALKS.values(), ids=WALKS)
def test_what_is_requested_and_read(
    target: str | list[str], pages: Pages, plan: dict[str, object], requested: list[str], pages_read: str,
    reported: list[str],
) -> None:
    seen = walk(target, pages, **plan)
    assert seen.requested == [ROBOTS, *requested]
    assert [loc[-1] for loc in seen.locs] == [*pages_read]
    assert reports(seen) == reported
    assert seen.frontier.documents_known == seen.frontier.documents_done


def test_documents_wait_until_robots_txt_has_been_read() -> None:
    frontier = RequestsAll([parse_target(MAP)], Plan())
    (robots,) = frontier.next_requests(0.0)
    assert robots.url == ROBOTS
    assert frontier.next_requests(5.0) == []
    assert frontier.wait(5.0) is None
    frontier.receive(robots, Head(404, {}), 6.0, TODAY)
    assert [request.url for request in frontier.next_requests(6.0)] == [MAP]


def test_rules_are_known_without_obey_robots() -> None:
    pages = {ROBOTS: names(MAP, rules="Disallow: /p\nCrawl-delay: 9"), MAP: urlset(f"{SITE}/p/1")}
    seen = walk(SITE, pages, obey_robots=False)
    assert seen.at == [0.0, 0.0]
    rules = seen.frontier.policy.rules(f"{SITE}/p/1")
    assert seen.locs == [f"{SITE}/p/1"]
    assert rules is not None
    assert rules.refusal(f"{SITE}/p/1") == ""


@pytest.mark.parametrize("reply", [429, 500, 503, REFUSED])
def test_robots_txt_that_is_unreachable_forbids_all_after_the_tries(reply: Reply) -> None:
    seen = walk(MAP, {ROBOTS: reply, MAP: ONE})
    assert seen.requested == [ROBOTS] * 3
    assert seen.codes == ["F04" if reply is REFUSED else "F18", "F02"]
    forbidden = seen.problem("F02")
    assert (forbidden.sitemap, forbidden.severity) == (MAP, "notice"), "the reason was reported"
    assert not seen.outcomes[ROBOTS].complete


def failure(targets: list[str], pages: Pages, **plan: object) -> str:
    """The problem of the first target's robots.txt; all other problems are notices."""
    reported = [each for each in walk(targets, pages, **plan).reported if isinstance(each, Problem)]
    (error,) = [each for each in reported if each.severity != "notice"]
    assert error.sitemap == ROBOTS
    return error.message


ALLOW = "shop.example is a private address; --allow-private (allow_private=True) permits it"
ADDRESS, _, ALLOWS = ALLOW.partition("; ")
PRIVATE = Failed("F13", ADDRESS, transient=False, remedy=ALLOWS)


@pytest.mark.parametrize("obey_robots", [True, False])
def test_advice_for_a_refused_address_is_not_no_robots(obey_robots: bool) -> None:
    for target in (MAP, SITE):
        pages: Pages = {ROBOTS: PRIVATE}
        assert failure([target], pages, obey_robots=obey_robots or target == MAP) == ALLOW


def test_advice_depends_on_the_reason() -> None:
    server = "500 Internal Server Error"
    closed = f"{server}, so nothing on this host is fetched; try again later, or go on with --no-robots "
    assert failure([MAP], {ROBOTS: 500}) == failure([SITE], {ROBOTS: 500}) == f"{closed}(obey_robots=False)"
    assert failure([SITE], {ROBOTS: 500}, obey_robots=False) == f"{server}; try again later"
    other = "try again later, or with another User-Agent (-A, user_agent=...)"
    assert failure([MAP], {ROBOTS: REFUSED}) == f"connection refused; {other}", "and not --no-robots"
    recorded = attrs.evolve(REFUSED, transient=False)  # as in a recording, which has no retries
    assert failure([MAP], {ROBOTS: recorded}, is_recording=True) == f"connection refused; {other}"
    busy = failure([MAP], {ROBOTS: (429, {"retry-after": "999"})})
    assert busy.endswith("Retry-After 999 s is over 60 s; raise max_wait_seconds (--max-wait) to wait for it")
    elsewhere = "https://other.example/s.xml"
    pages: Pages = {MAP: urlset(f"{SITE}/page"), "https://other.example/robots.txt": [503, names()]}
    limits = Limits(max_site_bytes=1)
    (problem,) = problems(walk([MAP, elsewhere], pages, limits=limits), "S16")[:1]
    assert problem.message.endswith("not read; raise max_site_bytes to go on")


# --- where a site starts --------------------------------------------------------------------------------------


def test_an_answer_that_breaks_off_is_no_reason_for_http() -> None:

    frontier = RequestsAll([parse_target("shop.example")], Plan(), jitter=lambda: 0.5)
    (robots,) = frontier.next_requests(0.0)
    assert frontier.receive(robots, Head(200, {}), 0.0, TODAY)
    frontier.receive(robots, Failed("F04", "reset"), 0.0, TODAY)
    (again,) = frontier.next_requests(60.0)
    assert again.url == ROBOTS


def test_same_failure_of_both_schemes_is_reported_once() -> None:
    http = "http://shop.example/robots.txt"
    no_host = Failed("F04", "no such host", transient=False, remedy="check the spelling")
    expired = Failed("F04", "expired", transient=False, remedy="--insecure does not check it")
    closed = Failed("F04", "refused", transient=False, remedy="check the port")
    for https, other, reported in (
        (no_host, no_host, "no such host; check the spelling"),
        (expired, closed, "refused; over https: expired; --insecure does not check it"),
        (expired, attrs.evolve(expired, remedy=""), "expired; over https: expired; --insecure does not check it"),
        (Failed("F04", "no TLS", transient=False), REFUSED, "connection refused; over https: no TLS; try again later"),
        (Failed("F04", "reset"), closed, "refused; over https: reset; try again later"),
        (closed, 403, "refused; over http: 403 Forbidden; try another User-Agent"),
    ):
        seen = walk("shop.example", {ROBOTS: https, http: other})
        (problem,) = [each for each in seen.reported if isinstance(each, Problem)]
        assert (problem.sitemap, problem.message[: len(reported)]) == (http, reported)
        assert seen.outcomes[ROBOTS].samples[0].message == https.text
        assert [sum(seen.outcomes[url].problems.values()) for url in (ROBOTS, http)] == [1, 1]
        assert not any(outcome.complete for outcome in seen.outcomes.values())


def test_failure_over_https_is_reported_where_http_has_no_sitemap() -> None:
    """What answers over http need not be the site."""
    seen = walk("shop.example", {ROBOTS: REFUSED})
    (problem,) = [each for each in seen.reported if isinstance(each, Problem)]
    expected = f"F04 {ROBOTS}: connection refused; discovery over http finds no sitemap; try again later"
    assert str(problem).startswith(expected)
    assert (seen.outcomes[ROBOTS].complete, seen.outcomes[ROBOTS].problems) == (False, {"F04": 1})
    assert seen.outcomes[ROBOTS].samples == (problem,)


@pytest.mark.parametrize("targets", [["shop.example"] * 3, ["shop.example", SITE], [SITE, "shop.example"]])
def test_failed_https_origin_is_reported_once_for_several_sites(targets: list[str]) -> None:
    http = "http://shop.example/robots.txt"
    seen = walk(targets, {ROBOTS: REFUSED, http: REFUSED})
    assert seen.outcomes.keys() == {ROBOTS, http}
    assert {(problem.code, problem.sitemap) for problem in problems(seen, "F04")} >= {("F04", http)}
    assert not any(outcome.complete for outcome in seen.outcomes.values())


def test_failed_well_known_path_is_reported_if_an_index_lists_it() -> None:
    """It is not requested again, so no other problem would report the missing sitemap."""
    other, found = f"{SITE}/other.xml", SITE + WELL_KNOWN[1]
    seen = walk(SITE, {found: index(MAP, other), other: urlset(f"{SITE}/page")})
    assert seen.documents == [HOME, MAP, found, other]
    assert str(seen.problem("F01")) == f"F01 {MAP}: 404 Not Found"
    outcome = seen.outcomes[MAP]
    assert (outcome.complete, outcome.parents, outcome.why) == (False, [found], "well-known")
    seen = walk(SITE, {found: index(other), other: (302, {"location": MAP})})
    assert str(seen.problem("F01")) == f"F01 {MAP}: 404 Not Found", "a redirect leads to it"
    both = walk(SITE, {found: index(f"{SITE}/a.xml", MAP), f"{SITE}/a.xml": index(MAP)})
    assert both.codes.count("F01") == 1
    assert both.outcomes[MAP].parents == [found, f"{SITE}/a.xml"]


# --- robots.txt verification -----------------------------------------------------------------------------------


def test_the_robots_txt_of_hosts_in_the_domain_whose_urls_are_dropped_is_requested() -> None:
    www, cdn, other = "https://www.shop.example", "https://cdn.shop.example", "https://other.example"
    locs = [f"{SITE}/1", f"{www}/2", f"{cdn}/3", f"{cdn}/4", f"{other}/5"]
    pages: Pages = {ROBOTS: names(MAP), MAP: urlset(*locs)}
    pages |= {f"{host}/robots.txt": names(MAP) for host in (www, other)}
    seen = walk(SITE, pages)
    assert seen.locs == locs[:2]
    assert seen.requested == [ROBOTS, MAP, f"{www}/robots.txt", f"{cdn}/robots.txt"]
    assert seen.outcomes[MAP].dropped == {"host": 3}
    assert f"{cdn}/robots.txt" not in seen.outcomes
    one = walk(SITE, pages, limits=Limits(max_proof_hosts=1))
    assert one.requested == [ROBOTS, MAP, f"{www}/robots.txt"]


@pytest.mark.parametrize("target", [SITE, MAP], ids=["guessed", "named by the user"])
@pytest.mark.parametrize(("final", "proven"), [("https://www.shop.example", True), ("https://evil.example", False)])
def test_redirected_document_verifies_the_other_host_within_one_domain(final: str, proven: bool, target: str) -> None:
    moved = f"{final}/maps/a.xml"
    locs = [f"{SITE}/1", f"{final}/maps/2", f"{final}/3"]
    seen = walk(target, {MAP: to(moved), moved: urlset(*locs)})
    assert seen.locs == (locs if proven else locs[:2])


@pytest.mark.parametrize(("limit", "read"), [(3, True), (2, False), (0, False)])
def test_redirects_of_robots_txt_have_a_limit_of_their_own(limit: int, read: bool) -> None:
    steps = [ROBOTS, *(f"{SITE}/r{number}" for number in range(3))]
    pages: Pages = {start: (302, {"location": end}) for start, end in pairwise(steps)}
    pages |= {steps[-1]: names(INDEX, rules="Disallow: /b.xml"), INDEX: urlset(f"{SITE}/page")}
    seen = walk(ROBOTS, pages, limits=Limits(max_robots_redirects=limit, max_redirects=0))
    assert seen.requested == ([*steps, INDEX] if read else steps[: limit + 1])
    reported = [problem.message for problem in problems(seen, "F14")]
    assert [f"more than {limit} redirects; raise max_robots_redirects" in message for message in reported] == (
        [] if read else [True]
    )


# --- discovery ------------------------------------------------------------------------------------------------


def test_failed_well_known_paths_have_no_outcome_and_no_problem() -> None:
    pages: Pages = {
        SITE + WELL_KNOWN[1]: "<html><body>not here</body></html>",
        SITE + WELL_KNOWN[2]: to(f"{SITE}/"),
        SITE + WELL_KNOWN[3]: 410,
        SITE + WELL_KNOWN[4]: "",
    }
    seen = walk(SITE, pages)
    assert [url for url in dict.fromkeys(seen.documents) if url != f"{SITE}/"] == [SITE + path for path in WELL_KNOWN]
    assert list(seen.outcomes) == [ROBOTS]
    assert seen.codes == []
    assert seen.frontier.sites[0].candidates == []


def test_candidates_are_named_sitemaps_and_the_found_path() -> None:
    seen = walk(SITE, {ROBOTS: names(f"{SITE}/a.xml"), SITE + WELL_KNOWN[1]: urlset()})
    candidates = seen.frontier.sites[0].candidates
    assert [(each.url, each.why, each.status, each.format) for each in candidates] == [
        (f"{SITE}/a.xml", "robots", 404, None),
        (SITE + WELL_KNOWN[1], "well-known", 200, "urlset"),
    ]
    assert str(candidates[0].problem).startswith("F01 404 Not Found")


# --- children of an index -------------------------------------------------------------------------------------


def test_robots_txt_is_a_parent_of_a_listed_target() -> None:
    assert walk(MAP, {ROBOTS: names(MAP), MAP: urlset()}).outcomes[MAP].parents == [ROBOTS]


def test_a_document_of_several_parents_is_fetched_once_and_has_them_all() -> None:
    pages = {ROBOTS: names(A, B, MAP), A: index(MAP), B: index(MAP), MAP: ONE}
    seen = walk(SITE, pages)
    assert sorted(seen.documents) == sorted([A, B, MAP])
    assert seen.outcomes[MAP].parents == [ROBOTS, A, B]
    assert "S12" not in seen.codes


def test_parents_that_come_later_are_in_the_outcome() -> None:
    """The second parent lists the document after its outcome was reported."""
    seen = walk(SITE, {ROBOTS: names(A, B), A: index(MAP, MAP), B: [503, index(MAP)], MAP: urlset()})
    assert seen.outcomes[MAP].parents == [A, B]


def test_no_more_documents_are_read_than_the_limit() -> None:
    children = [f"{SITE}/{number}.xml" for number in range(3)]
    pages: Pages = {INDEX: index(*children), **{child: urlset() for child in children}}
    exact = walk(INDEX, pages, limits=Limits(max_documents=4))
    assert exact.documents == [INDEX, *children]
    assert exact.codes == []
    under = walk(INDEX, pages, limits=Limits(max_documents=2))
    assert under.documents == [INDEX, *children[:1]]
    assert under.codes == ["S16"], "reported once, however many are left out"
    assert "max_documents" in under.problem("S16").message
    assert not under.outcomes[INDEX].complete


def test_no_more_bytes_are_read_than_the_limit() -> None:
    body = ONE
    pages: Pages = {A: body, B: body}
    assert walk([A, B], pages, per_host=1, limits=Limits(max_site_bytes=len(body))).documents == [A, B]
    under = walk([A, B], pages, per_host=1, limits=Limits(max_site_bytes=len(body) - 1))
    assert under.documents == [A]
    assert "max_site_bytes" in under.problem("S16").message
    assert not under.outcomes[B].complete


def test_children_older_than_the_window_are_left_out_and_counted() -> None:
    pages = {INDEX: index(MAP, f"{SITE}/b.xml", lastmod="2025-01-31"), MAP: urlset()}
    february = Selection(Window(since=datetime(2025, 2, 1, tzinfo=UTC)))
    old = walk(INDEX, pages, selection=february, trust_lastmod="always")
    assert old.documents == [INDEX]
    assert old.frontier.pruned == {"since": 2}
    assert (old.outcomes[INDEX].complete, old.outcomes[INDEX].skipped) == (True, 2)
    same_day = Selection(Window(since=datetime(2025, 1, 31, 12, tzinfo=UTC)))
    for seen in (
        walk(INDEX, pages, selection=same_day, trust_lastmod="always"),
        walk(INDEX, pages, selection=february, trust_lastmod="never"),
    ):
        assert len(seen.documents) == 3
        assert not seen.frontier.pruned


def test_the_caller_decides_which_children_are_followed() -> None:
    a, b = f"{SITE}/product.xml", f"{SITE}/blog.xml"
    seen = walk(INDEX, {INDEX: index(a, b), a: urlset(), b: urlset()}, follow=lambda ref: "product" in ref.loc)
    assert seen.documents == [INDEX, a]
    assert seen.frontier.pruned == {"follow": 1}
    assert seen.outcomes[INDEX].complete


def test_follow_is_called_once_for_each_sitemap_that_several_robots_txt_name() -> None:
    """That of the second host redirects to that of the first: its lines are read twice."""
    other, called = "https://www.shop.example", []
    pages = {ROBOTS: f"Sitemap: {MAP}\nSitemap: {INDEX}\n", f"{other}/robots.txt": (301, {"location": ROBOTS})}
    seen = walk([SITE, other], pages, follow=lambda ref: called.append(ref.loc))
    assert (called, seen.documents) == ([MAP, INDEX], [])
    assert seen.frontier.pruned == {"follow": 2}


# --- redirects ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_and_noted(status: int) -> None:
    seen = walk(MAP, {MAP: (status, {"location": "/s/moved.xml"}), f"{SITE}/s/moved.xml": urlset(f"{SITE}/s/1")})
    assert seen.locs == [f"{SITE}/s/1"]
    assert "https://shop.example/s/moved.xml" in seen.problem("F03").message
    outcome = seen.outcomes[MAP]
    assert (outcome.url, outcome.final_url, outcome.status) == (MAP, f"{SITE}/s/moved.xml", 200)
    assert [record.sitemap for record in seen.records] == [MAP]


def test_a_redirect_without_a_location_is_a_failure() -> None:
    seen = walk(MAP, {MAP: 302})
    assert seen.problem("F18").message.startswith("302 Found")


@pytest.mark.parametrize(
    "steps", [[MAP, MAP], [MAP, f"{SITE}/b.xml", MAP], [MAP, f"{SITE}/b.xml", f"{SITE}/c.xml", f"{SITE}/b.xml"]]
)
def test_a_redirect_loop_ends_with_an_error(steps: list[str]) -> None:
    seen = walk(MAP, {start: (302, {"location": end}) for start, end in pairwise(steps)})
    assert "redirect loop" in seen.problem("F04").message
    assert seen.documents == steps[:-1]
    assert not seen.outcomes[MAP].complete


def test_redirect_to_another_host_requests_its_robots_txt() -> None:
    moved = "https://cdn.example/s.xml"
    pages: Pages = {MAP: (302, {"location": moved}), moved: urlset("https://cdn.example/1")}
    seen = walk(MAP, pages)
    assert seen.requested == [ROBOTS, MAP, "https://cdn.example/robots.txt", moved]
    forbidden = walk(MAP, {**pages, "https://cdn.example/robots.txt": names(rules="Disallow: /")})
    assert moved not in forbidden.requested
    assert "https://cdn.example/robots.txt" in forbidden.problem("F02").message


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://shop.example/a.xml", "javascript:0", "http://[/"])
def test_a_redirect_out_of_http_is_refused(location: str) -> None:
    seen = walk(MAP, {MAP: (302, {"location": location})})
    assert "no http or https URL" in seen.problem("F04").message
    assert not seen.outcomes[MAP].complete


@pytest.mark.parametrize("pages", [
    {INDEX: index(ROUND), ROUND: to(INDEX)},
    {INDEX: index(ROUND), ROUND: to(B), B: (302, {"location": INDEX})},
    {INDEX: index(A), A: index(ROUND), ROUND: to(INDEX)},
    {INDEX: index(A, ROUND), A: index(ROUND), ROUND: to(A)},
    {
        f"{WWW}/robots.txt": names(ROUND),
        INDEX: (302, {"location": f"{WWW}/i.xml"}),
        f"{WWW}/i.xml": index(ROUND),
        ROUND: to(f"{WWW}/i.xml"),
    },
], ids=["at once", "in two steps", "from below", "to the other parent", "on another host"])
def test_an_index_that_leads_to_itself_by_a_redirect_is_noted(pages: Pages) -> None:
    seen = walk(INDEX, pages, scope="domain")
    problem = seen.problem("S05")
    assert (problem.sitemap, "lists itself" in problem.message) == (ROUND, True)
    assert len(seen.requested) == len(set(seen.requested))
    assert all(outcome.complete for outcome in seen.outcomes.values())


def test_redirect_to_an_index_that_does_not_list_it_is_no_cycle() -> None:
    pages: Pages = {ROBOTS: names(INDEX, A, ROUND), INDEX: index(A, ROUND), ROUND: to(A), A: urlset()}
    assert "S05" not in walk(SITE, pages).codes
    assert "S05" not in walk(INDEX, pages).codes


# --- robots.txt, once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [SITE, INDEX, [ROBOTS, SITE, INDEX]], ids=["site", "document", "all"])
@pytest.mark.parametrize("obey_robots", [True, False])
def test_robots_txt_listed_by_an_index_is_requested_once_and_its_sitemaps_are_read(
    target: str | list[str], obey_robots: bool
) -> None:
    pages: Pages = {ROBOTS: names(INDEX, A), INDEX: index(ROBOTS, B), A: ONE, B: TWO}
    seen = walk(target, pages, obey_robots=obey_robots)
    assert sorted(seen.requested) == sorted([ROBOTS, INDEX, A, B])
    assert sorted(seen.locs) == [f"{SITE}/1", f"{SITE}/2"]
    assert seen.outcomes[ROBOTS].parents == [INDEX]
    assert seen.outcomes[A].parents == [ROBOTS]
    assert seen.frontier.documents_done == seen.frontier.documents_known
    assert seen.codes == []


@pytest.mark.parametrize("target", [SITE, INDEX])
def test_a_document_that_redirects_to_robots_txt_is_an_alias_of_it(target: str) -> None:
    pages: Pages = {ROBOTS: names(INDEX, A), INDEX: index(ROUND), ROUND: to(ROBOTS)}
    seen = walk(target, {**pages, A: ONE})
    assert sorted(seen.requested) == sorted([ROBOTS, INDEX, ROUND, A])
    assert (seen.locs, seen.outcomes[ROUND].format) == ([f"{SITE}/1"], "robots")


def test_robots_txt_redirected_within_its_domain_applies_to_both_hosts() -> None:
    pages: Pages = {
        ROBOTS: to(f"{WWW}/robots.txt"),
        f"{WWW}/robots.txt": names(f"{WWW}/a.xml", f"{WWW}/no.xml", rules="Disallow: /no.xml\nCrawl-delay: 7"),
        f"{WWW}/a.xml": index(f"{WWW}/b.xml", f"{WWW}/robots.txt"),
        f"{WWW}/b.xml": urlset(f"{WWW}/1", f"{SITE}/2"),
    }
    seen = walk(SITE, pages)
    assert seen.requested == [ROBOTS, f"{WWW}/robots.txt", f"{WWW}/a.xml", f"{WWW}/b.xml"]
    assert seen.locs == [f"{WWW}/1", f"{SITE}/2"]
    assert seen.problem("F02").sitemap == f"{WWW}/no.xml"
    assert seen.at[3] - seen.at[2] == 7
    failed = walk(SITE, {**pages, f"{WWW}/robots.txt": 503})
    assert set(failed.requested) == {ROBOTS, f"{WWW}/robots.txt"}


@pytest.mark.parametrize("targets", [[SITE, WWW], [WWW, SITE], [SITE, f"{WWW}/robots.txt"]])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_robots_txt_redirected_to_a_pending_one_ends_with_it(targets: list[str], concurrency: int) -> None:
    pages: Pages = {
        ROBOTS: to(f"{WWW}/robots.txt"),
        f"{WWW}/robots.txt": names(A, f"{SITE}/no.xml", rules="Disallow: /no.xml"),
        A: urlset(f"{SITE}/1", f"{WWW}/2"),
    }
    seen = walk(targets, pages, concurrency=concurrency)
    assert sorted(seen.requested) == sorted([ROBOTS, f"{WWW}/robots.txt", A])
    assert seen.locs == [f"{SITE}/1", f"{WWW}/2"]
    assert seen.problem("F02").sitemap == f"{SITE}/no.xml"
    assert [len(site.candidates) for site in seen.frontier.sites] == [2, 2]
    failed = walk(targets, {**pages, f"{WWW}/robots.txt": 503}, concurrency=concurrency)
    assert set(failed.requested) == {ROBOTS, f"{WWW}/robots.txt"}
    assert not any(outcome.complete for outcome in failed.outcomes.values())


@pytest.mark.parametrize("targets", [[SITE, WWW], [WWW, SITE]])
def test_robots_txt_that_redirect_to_each_other_permit_all(targets: list[str]) -> None:
    pages: Pages = {ROBOTS: to(f"{WWW}/robots.txt"), f"{WWW}/robots.txt": to(ROBOTS), MAP: ONE}
    assert walk(targets, pages).locs == [f"{SITE}/1"]


def test_robots_txt_is_requested_at_its_redirect_target_if_that_failed() -> None:
    plain = "http://www.shop.example"
    pages: Pages = {
        ROBOTS: to(f"{WWW}/robots.txt"),
        f"{WWW}/robots.txt": REFUSED,
        f"{plain}/robots.txt": names(f"{plain}/a.xml"),
        f"{plain}/a.xml": urlset(f"{plain}/1"),
    }
    for targets in (["www.shop.example", SITE], [SITE, "www.shop.example"]):
        seen = walk(targets, pages)
        assert seen.locs == [f"{plain}/1"]
        assert not seen.outcomes[ROBOTS].complete


def test_robots_txt_that_name_each_other_are_bounded() -> None:
    hosts = [f"https://{number}.shop.example" for number in range(9)]
    pages: Pages = {f"{one}/robots.txt": names(f"{two}/robots.txt") for one, two in pairwise(hosts)}
    seen = walk(hosts[0], pages, probe="never")
    assert seen.requested == [f"{host}/robots.txt" for host in hosts[:6]]
    assert seen.problem("S14").sitemap == f"{hosts[5]}/robots.txt"
    few = walk(hosts[0], pages, probe="never", limits=Limits(max_documents=2))
    assert few.requested == [f"{host}/robots.txt" for host in hosts[:3]]
    assert few.problem("S16").sitemap == few.requested[2]


# --- retries and politeness -----------------------------------------------------------------------------------------


def test_failures_that_pass_are_tried_again_with_growing_waits() -> None:
    seen = walk(MAP, {MAP: [REFUSED, 500, ONE]})
    assert seen.documents == [MAP] * 3
    assert seen.at[1:] == [0.0, 0.5, 1.5]
    assert seen.locs == [f"{SITE}/1"]
    assert seen.codes == []


@pytest.mark.parametrize(("pages", "tries"), [
    ({ROBOTS: [500, names()], MAP: [REFUSED, 500, ONE]}, {ROBOTS: 2, MAP: 3}),
    ({ROBOTS: [500, REFUSED, 503], MAP: ONE}, {ROBOTS: 3, MAP: 0}),
    ({MAP: to(B), B: [500, 500, ONE]}, {ROBOTS: 1, MAP: 3}),
    ({MAP: [500, to(B)], B: [500, to(C)], C: ONE}, {ROBOTS: 1, MAP: 3}),
    ({MAP: index(B), B: to(MAP)}, {ROBOTS: 1, MAP: 1, B: 1}),
    ({ROBOTS: names(rules="Disallow: /b.xml"), MAP: to(B), B: ONE}, {ROBOTS: 1, MAP: 1}),
    ({MAP: attrs.evolve(REFUSED, transient=False, is_sent=False)}, {ROBOTS: 1, MAP: 0}),
])
def test_tries_of_an_outcome_are_its_requests_without_redirects(pages: Pages, tries: dict[str, int]) -> None:
    seen = walk(MAP, pages)
    assert {url: outcome.tries for url, outcome in seen.outcomes.items()} == tries


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_a_document_is_tried_as_often_as_the_limit_says(tries: int) -> None:
    seen = walk(MAP, {MAP: 502}, limits=Limits(tries=tries))
    assert seen.documents == [MAP] * tries
    assert seen.problem("F18").message == "502 Bad Gateway"


@pytest.mark.parametrize("reply", [400, 403, 404, 410, 206, 304, 999, 101, Failed("F13", "refused", transient=False)])
def test_permanent_failures_are_not_retried(reply: Reply) -> None:
    seen = walk(MAP, {MAP: reply})
    assert seen.documents == [MAP]
    assert not seen.outcomes[MAP].complete


@pytest.mark.parametrize("url", [MAP, ROBOTS])
def test_a_part_of_a_document_is_no_answer(url: str) -> None:
    """A 206 to a request without Range may hold any part."""
    frontier = RequestsAll([parse_target(url)], Plan(), jitter=lambda: 0.5)
    (request,) = frontier.next_requests(0.0)
    if url == MAP:
        frontier.receive(request, Head(404, {}), 0.0, TODAY)
        (request,) = frontier.next_requests(0.0)
    reads_body = frontier.receive(request, Head(206, {"content-range": "bytes 0-99/900"}), 0.0, TODAY)
    assert not reads_body
    assert frontier.done
    reported = [reported for reported in frontier.take() if isinstance(reported, Problem)]
    assert [(problem.code, problem.message.partition("; ")[0]) for problem in reported] == [
        ("F18", "206 Partial Content")
    ]


def test_document_that_fails_finally_keeps_what_was_read() -> None:
    read = Finished(Outcome(entries=7, kept=7, format="urlset"))
    part = Failed("F04", "reset", transient=False, read=read)
    seen = walk(MAP, {MAP: part})
    assert seen.documents == [MAP]
    assert (seen.outcomes[MAP].kept, seen.outcomes[MAP].complete) == (7, False)
    assert seen.problem("F04").message == "reset"


def test_listing_place_is_in_the_message() -> None:
    seen = walk(INDEX, {INDEX: index(MAP)})
    assert seen.problem("F01").message == "404 Not Found (listed in /index.xml:2)"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("requested", ["20", "Sun, 01 Mar 2026 12:00:20 GMT"])
def test_retry_after_holds_the_whole_host(status: int, requested: str) -> None:
    other = f"{SITE}/b.xml"
    pages: Pages = {MAP: [(status, {"retry-after": requested}), urlset()], other: urlset()}
    seen = walk([MAP, other], pages, per_host=1)
    assert dict(zip(seen.requested, seen.at, strict=True)) == {ROBOTS: 0.0, MAP: 20.0, other: 20.0}


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_a_minimum(status: int) -> None:
    assert walk(MAP, {MAP: [(status, {"retry-after": "0"}), urlset()]}).at[-1] == 0.5


@pytest.mark.parametrize(("most", "at"), [(60.0, [0.0, 5.0, 15.0]), (7.0, [0.0, 5.0, 12.0]), (0.0, [0.0, 0.5, 1.5])])
@pytest.mark.parametrize("headers", [{}, {"retry-after": "soon"}])
def test_a_429_without_a_time_waits_five_seconds_then_twice_as_long(
    headers: dict[str, str], most: float, at: list[float]
) -> None:
    other = f"{SITE}/b.xml"
    limits = Limits(max_wait_seconds=most)
    pages: Pages = {MAP: [(429, headers), (429, headers), urlset()], other: urlset()}
    seen = walk([MAP, other], pages, per_host=1, limits=limits)
    requested = [*zip(seen.at, seen.requested, strict=True)]
    assert [at for at, url in requested if url == MAP] == at
    assert next(at for at, url in requested if url == other) >= min(most, 5.0)  # no request to the whole host
    assert not seen.codes


@pytest.mark.parametrize(("seconds", "given_up"), [("60", False), ("61", True)])
def test_host_with_a_too_long_retry_after_is_skipped_and_reported(seconds: str, given_up: bool) -> None:
    other = f"{SITE}/b.xml"
    pages: Pages = {MAP: [(503, {"retry-after": seconds}), urlset()], other: urlset()}
    seen = walk([MAP, other], pages, per_host=1)
    assert seen.codes == (["F18", "F18"] if given_up else [])
    assert (seen.documents == [MAP]) is given_up
    assert all(outcome.complete is not given_up for url, outcome in seen.outcomes.items() if url != ROBOTS)


def test_skipped_host_takes_no_new_documents() -> None:
    elsewhere = "https://maps.example/index.xml"
    pages: Pages = {
        ROBOTS: names(MAP, elsewhere),
        MAP: (429, {"retry-after": "86400"}),
        elsewhere: index(f"{SITE}/late.xml"),
    }
    seen = walk(SITE, pages, probe="never")
    assert f"{SITE}/late.xml" not in seen.requested
    assert "max_wait_seconds" in seen.outcomes[f"{SITE}/late.xml"].samples[0].message


@pytest.mark.parametrize(("rules", "own", "apart"), [
    ("Crawl-delay: 10", 0.0, 10), ("Crawl-delay: 10", 5.0, 10), ("Crawl-delay: 10", 20.0, 20), ("", 5.0, 5),
])
def test_the_longer_delay_makes_it_one_in_flight_and_spaces_the_starts(rules: str, own: float, apart: int) -> None:
    children = [f"{SITE}/{number}.xml" for number in range(4)]
    pages: Pages = {ROBOTS: names(*children, rules=rules)}
    seen = walk(SITE, {**pages, **{child: urlset() for child in children}}, takes=1.0, delay_seconds=own)
    assert seen.most_in_flight == 1
    assert seen.at == [0.0, *(float(apart * number) for number in (1, 2, 3, 4))]


@pytest.mark.parametrize(("delay", "limit", "remedy"), [
    ("30", 30.0, None),
    ("30.5", 30.0, "raise max_crawl_delay_seconds (--max-crawl-delay) to wait for it"),
    ("300", 30.0, "raise max_crawl_delay_seconds (--max-crawl-delay) to wait for it"),
    ("301", 30.0, "--no-robots (obey_robots=False) reads it without"),
    ("300", 300.0, None),
    ("20.5", 20.0, "raise max_crawl_delay_seconds (--max-crawl-delay) to wait for it"),
    ("0.5", 0.0, "raise max_crawl_delay_seconds (--max-crawl-delay) to wait for it"),
    ("0", 0.0, None),
])
def test_a_host_with_a_longer_crawl_delay_is_skipped(delay: str, limit: float, remedy: str | None) -> None:
    pages: Pages = {ROBOTS: names(MAP, rules=f"Crawl-delay: {delay}"), MAP: urlset()}
    seen = walk(SITE, pages, limits=Limits(max_crawl_delay_seconds=limit))
    if remedy is None:
        assert seen.at == [0.0, float(delay)]
        assert "F15" not in seen.codes
        return
    assert seen.requested == [ROBOTS]
    error, reported = problems(seen, "F15")
    assert (error.severity, error.sitemap) == ("error", ROBOTS)
    assert error.message.startswith(f"Crawl-delay of {delay} s is over {limit:g} s: nothing on this host is fetched; ")
    assert error.message.endswith(remedy)
    assert (reported.severity, reported.sitemap) == ("notice", MAP)
    assert reported.message.startswith(f"not read: {SITE}: Crawl-delay of {delay} s is over ")
    assert seen.outcomes[ROBOTS].complete
    assert not seen.outcomes[MAP].complete


def test_duration_of_a_crawl_delay_is_known() -> None:
    children = [f"{SITE}/{number}.xml" for number in range(4)]
    frontier = RequestsAll([parse_target(SITE)], Plan())
    (robots,) = frontier.next_requests(0.0)
    assert frontier.policy.longest_delay() is None
    assert frontier.receive(robots, Head(200, {}), 0.0, TODAY)
    for child in children:
        frontier.receive(robots, SitemapRef(child, sitemap=ROBOTS), 0.0, TODAY)
    rules = parse_rules("User-agent: *\nCrawl-delay: 10", "bot")
    frontier.receive(robots, Finished(Outcome(format="robots"), rules), 0.0, TODAY)
    assert len(frontier.take()) == 1
    delay = frontier.policy.longest_delay()
    assert delay is not None
    assert (delay.host, delay.delay_seconds, delay.documents, delay.seconds_left) == (SITE, 10.0, 4, 40.0)


@pytest.mark.parametrize("per_host", [1, 3])
def test_per_host_limits_concurrent_requests(per_host: int) -> None:
    children = [f"{SITE}/{number}.xml" for number in range(9)]
    seen = walk(SITE, {ROBOTS: names(*children)}, per_host=per_host, probe="never")
    assert seen.most_a_host == per_host


@pytest.mark.parametrize("concurrency", [1, 5])
def test_concurrency_limits_requests_to_all_hosts(concurrency: int) -> None:
    children = [f"https://h{number}.example/{page}.xml" for number in range(4) for page in range(4)]
    pages: Pages = {ROBOTS: names(*children), **{child: urlset() for child in children}}
    seen = walk(SITE, pages, concurrency=concurrency)
    assert seen.most_in_flight == concurrency
    assert set(seen.documents) == set(children)


def test_four_a_host_and_sixteen_in_all_are_the_defaults() -> None:
    assert (Plan().per_host, Plan().concurrency) == (4, 16)


def test_received_document_frees_its_slot_within_a_bound() -> None:
    children = [f"{SITE}/{number}.xml" for number in range(6)]
    frontier = RequestsAll([parse_target(SITE)], Plan(per_host=2, probe="never"))
    (robots,) = frontier.next_requests(0.0)
    frontier.receive(robots, Head(200, {}), 0.0, TODAY)
    for child in children:
        frontier.receive(robots, SitemapRef(child), 0.0, TODAY)
    frontier.receive(robots, Finished(Outcome(format="robots")), 0.0, TODAY)
    requested = []
    for _ in children:
        started = frontier.next_requests(0.0)
        requested += started
        for request in started:
            frontier.receive(request, Head(200, {}), 0.0, TODAY)
            frontier.receive(request, Arrived(), 0.0, TODAY)
    # two being parsed, and two whose slots are not free yet
    assert [request.url for request in requested] == children[:4]
    assert (frontier.in_flight, frontier.awaits_answers, frontier.done) == (2, True, False)
    for request in requested[:2]:
        frontier.receive(request, Finished(Outcome(format="urlset")), 0.0, TODAY)
    assert (frontier.in_flight, frontier.awaits_answers) == (2, True)
    for request in requested[2:]:
        frontier.receive(request, Failed("F04", "it shrank", transient=False), 0.0, TODAY)
    assert (frontier.in_flight, frontier.awaits_answers) == (0, False)
    assert [request.url for request in frontier.next_requests(0.0)] == children[4:]


# --- outcomes and counts ---------------------------------------------------------------------------------------------


def test_validators_and_status_are_in_the_outcome() -> None:
    frontier = RequestsAll([parse_target(MAP)], Plan())
    (robots,) = frontier.next_requests(0.0)
    frontier.receive(robots, Head(404, {}), 0.0, TODAY)
    (request,) = frontier.next_requests(0.0)
    assert frontier.receive(request, Head(200, {"etag": '"7"', "last-modified": "yesterday"}), 0.0, TODAY)
    frontier.receive(request, Finished(Outcome(format="urlset")), 0.0, TODAY)
    (outcome,) = [reported for reported in frontier.take() if isinstance(reported, Outcome) and reported.url == MAP]
    assert (outcome.etag, outcome.last_modified, outcome.status) == ('"7"', "yesterday", 200)


def test_problems_of_the_crawl_are_counted_in_the_outcome() -> None:
    seen = walk(INDEX, {INDEX: index(*[f"https://other.example/{number}.xml" for number in range(8)])})
    outcome = seen.outcomes[INDEX]
    assert outcome.problems == {"U04": 8}
    assert [sample.code for sample in outcome.samples] == ["U04"] * 5


def test_a_document_waits_for_every_site_that_may_name_it() -> None:
    """One sitemap for two hosts: if read before the second robots.txt, half of it would be out of scope."""
    shared = "https://maps.example/all.xml"
    alpha, beta = "https://alpha.example", "https://beta.example"
    pages: Pages = {
        f"{alpha}/robots.txt": names(shared),
        f"{beta}/robots.txt": [503, names(shared)],
        shared: urlset(f"{alpha}/1", f"{beta}/1"),
    }
    seen = walk([alpha, beta], pages)
    assert seen.locs == [f"{alpha}/1", f"{beta}/1"]
    assert seen.outcomes[shared].parents == [f"{alpha}/robots.txt", f"{beta}/robots.txt"]
    assert seen.documents == [shared]


def test_two_sites_on_one_host_share_its_robots_txt() -> None:
    pages: Pages = {ROBOTS: names(MAP), MAP: ONE}
    seen = walk(["shop.example", SITE, f"{SITE}/robots.txt"], pages)
    assert seen.requested == [ROBOTS, MAP]
    assert [[found.url for found in site.candidates] for site in seen.frontier.sites] == [[MAP]] * 3


def test_an_alias_ends_with_the_document_that_it_redirects_to() -> None:
    for order in ([A, B], [B, A]):
        seen = walk(SITE, {ROBOTS: names(*order), A: to(B), B: ONE})
        assert (seen.outcomes[A].format, seen.outcomes[B].parents) == ("urlset", [ROBOTS, A])
        assert [found.format for found in seen.frontier.sites[0].candidates] == ["urlset", "urlset"]
        broken = walk(SITE, {ROBOTS: names(*order), A: to(B), B: 404})
        assert not broken.outcomes[A].complete


def test_documents_that_redirect_to_each_other_fail() -> None:
    seen = walk(SITE, {ROBOTS: names(A, B), A: to(B), B: to(A)})
    assert not seen.outcomes[A].complete
    assert not seen.outcomes[B].complete
    assert "loop" in seen.problem("F04").message
    assert "S05" not in seen.codes


def test_document_waiting_on_a_failed_scheme_is_reported() -> None:
    seen = walk(["shop.example", A], {ROBOTS: REFUSED, f"{HTTP}/robots.txt": "", A: ONE})
    assert not seen.outcomes[A].complete, "its host's robots.txt is unreachable"


def test_documents_that_redirect_to_each_other_count_as_one_that_could_not_be_read() -> None:
    """If both were aliases, no outcome would be incomplete."""
    pages: Pages = {INDEX: index(A, B, MAP), A: (302, {"location": B}), B: (302, {"location": A}), MAP: urlset("x")}
    seen = walk(INDEX, pages)
    ledger = SummaryBuilder()
    ledger.record(seen.reported)
    assert (ledger.complete, ledger.summary().complete) == (False, False)
    assert (ledger.summary().failed, ledger.summary().sitemaps) == (1, 3)
    assert (seen.outcomes[B].final_url, seen.outcomes[A].final_url) == (B, B)


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize(("reply", "read", "failed"), [(urlset(f"{SITE}/page"), 1, 0), (404, 0, 1)])
def test_documents_redirected_to_the_same_unlisted_url_are_one(
    reply: Reply, read: int, failed: int, concurrency: int
) -> None:
    """The first one redirected there is read, the others are its aliases."""
    first, second, third, place = (f"{SITE}/{name}.xml" for name in ("first", "second", "third", "place"))
    pages: Pages = {each: (302, {"location": place}) for each in (first, second)}
    pages |= {INDEX: index(first, second, third), third: (302, {"location": second}), place: reply}
    seen = walk(INDEX, pages, concurrency=concurrency)
    assert sorted(seen.documents) == sorted([INDEX, first, second, third, place])
    assert len(seen.locs) == read
    assert seen.outcomes[first].parents == [INDEX, second]
    assert {url[len(SITE) :]: str(outcome.final_url)[len(SITE) :] for url, outcome in seen.outcomes.items()} == {
        "/robots.txt": "/robots.txt", "/index.xml": "/index.xml", "/first.xml": "/place.xml",
        "/second.xml": "/place.xml", "/third.xml": "/second.xml",
    }
    assert [seen.outcomes[url].entries for url in (first, second, third)] == [read, 0, 0]
    assert all(seen.outcomes[url].complete is bool(read) for url in (first, second, third))
    ledger = SummaryBuilder()
    ledger.record(seen.reported)
    summary = ledger.summary()
    assert (summary.sitemaps, summary.sitemaps_read, summary.failed) == (2, 1 + read, failed)


@pytest.mark.parametrize("reply", ["<html><body>Home</body></html>", 404])
def test_well_known_paths_redirected_to_one_page_are_not_reported(reply: Reply) -> None:
    """Many sites redirect missing paths to their home page."""
    home = {f"{SITE}{path}": (302, {"location": f"{SITE}/"}) for path in WELL_KNOWN[:-1]}
    pages: Pages = {**home, ROBOTS: "", f"{SITE}/": reply, f"{SITE}{WELL_KNOWN[-1]}": urlset(f"{SITE}/page")}
    seen = walk(SITE, pages)
    assert seen.locs == [f"{SITE}/page"]
    ledger = SummaryBuilder()
    ledger.record(seen.reported)
    assert ledger.summary().complete
    assert (ledger.summary().sitemaps, [problem.code for problem in ledger.problems.samples]) == (1, ["F09"])


def test_of_redirects_to_one_document_the_first_by_url_has_its_entries() -> None:
    """Whichever answers first: redirects wait until all else has been read."""
    first, late, place = (f"{SITE}/{name}.xml" for name in ("first", "late", "place"))
    pages: Pages = {first: to(place), place: urlset(f"{SITE}/page"), INDEX: index(first, late)}
    seen = walk(INDEX, {**pages, late: [500, 500, to(place)]})
    assert seen.documents == [INDEX, first, late, late, late, place]
    assert (seen.outcomes[first].final_url, seen.outcomes[late].final_url) == (place, place)
    outcome = seen.outcomes[late]
    assert (outcome.format, outcome.entries, outcome.complete) == ("urlset", 0, True)


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True])
def test_a_chain_of_documents_that_redirect_to_each_other_may_be_of_any_length(backwards: bool) -> None:
    chain = [f"{SITE}/{number}.xml" for number in range(900)]  # walk() has at most a thousand turns
    pages: Pages = {start: (302, {"location": end}) for start, end in pairwise(chain)}
    pages |= {INDEX: index(*(reversed(chain) if backwards else chain)), chain[-1]: [503, urlset(f"{SITE}/page")]}
    low = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        seen = walk(INDEX, pages)
    finally:
        sys.setrecursionlimit(low)
    assert seen.locs == [f"{SITE}/page"]
    assert len(seen.outcomes) == 902  # robots.txt and the index are included
    assert all(outcome.complete for outcome in seen.outcomes.values())


@pytest.mark.parametrize("robots", [404, 500, REFUSED, (302, {"location": "ftp://x/"}), names()], ids=str)
def test_every_outcome_is_a_line_of_json(robots: Reply) -> None:
    alias = f"{SITE}/alias.xml"
    seen = walk("shop.example", {ROBOTS: robots, MAP: index(alias, INDEX), alias: (302, {"location": MAP})})
    for outcome in seen.outcomes.values():
        unwritten = dict.fromkeys(UNWRITTEN[Outcome])
        tries = max(outcome.tries, 1)
        reported = attrs.evolve(outcome, **{**unwritten, "samples": (), "authorities": (), "skipped": 0}, tries=tries)
        assert from_json(json_line(outcome)) == reported


# --- what one call costs --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_forbidden_documents_are_reported_in_batches() -> None:
    """None of them is ever in flight, so the call has no other end."""
    children = [f"{SITE}/no/{number}.xml" for number in range(5_000)]
    seen = walk(INDEX, {ROBOTS: names(rules="Disallow: /no/"), INDEX: index(*children)})
    assert len(problems(seen, "F02")) == len(children)
    frontier, reported = RequestsAll([parse_target(INDEX)], Plan()), []
    for page in (names(rules="Disallow: /no/"), index(*children)):
        (request,) = frontier.next_requests(0.0)
        answer(Walk(frontier), request, page, 0.0)
    while not frontier.done:
        assert frontier.wait(0.0) == 0.0
        assert frontier.next_requests(0.0) == []
        reported.append(sum(isinstance(each, Problem) for each in frontier.take()))
    assert sum(reported) == len(children)
    assert max(reported) <= 2_000


@pytest.mark.slow
@pytest.mark.parametrize("length", [10, 250])
def test_expensive_rules_are_matched_for_a_few_documents_in_one_call(length: int) -> None:
    rules = "\n".join(f"Disallow: /*aaaaab{number:x}$" for number in range(18_000))
    children = [f"{SITE}/{'a' * length}{number}.xml" for number in range(30)]
    frontier = RequestsAll([parse_target(INDEX)], Plan(per_host=1000, concurrency=1000))
    for page in (names(rules=rules), index(*children)):
        (request,) = frontier.next_requests(0.0)
        answer(Walk(frontier), request, page, 0.0)
    calls = []
    while len(calls) < 100 and sum(calls) < 30:
        calls.append(len(frontier.next_requests(0.0)))
    assert sum(calls) == 30
    assert 1 <= max(calls) <= 3


@pytest.mark.slow
def test_waiting_documents_end_in_batches() -> None:
    children = [f"{SITE}/{number}.xml" for number in range(2_500)]
    frontier, seen = RequestsAll([parse_target(INDEX)], Plan(concurrency=9999, per_host=9999)), []
    for page in (names(), index(*children)):
        (request,) = frontier.next_requests(0.0)
        answer(Walk(frontier), request, page, 0.0)
    for request in [*frontier.next_requests(0.0), *frontier.next_requests(0.0)]:
        answer(Walk(frontier), request, urlset("https://other.example/"), 0.0)
    while not frontier.done:
        assert frontier.wait(0.0) == 0.0
        assert frontier.next_requests(0.0) == []
        seen.append(sum(isinstance(each, Outcome) for each in frontier.take()))
    assert sum(seen) == 2_502
    assert max(seen[1:]) <= 1_000
