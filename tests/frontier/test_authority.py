"""Late robots.txt verification: URLs and children that wait for a robots.txt, and the limits of that."""

from collections.abc import Iterator
from typing import Any

import pytest
from calls import calls_of
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

from sitemap_reader import Limits, Outcome, Problem, SitemapRef
from sitemap_reader.frontier import (
    Authorities,
    DocumentRequest,
    Finished,
    Head,
    Listing,
    Plan,
    links,
    parse_target,
)

HOST = "https://host.example"
NARROW, PROVEN, SHARED = f"{HOST}/n/index.xml", f"{HOST}/r.xml", f"{HOST}/x/s.xml"
LOCS = (f"{SITE}/1", f"{HOST}/x/2", f"{HOST}/3", f"{HOST}/4", "https://other.example/5")
# The shop names an index on another host; the robots.txt there verifies a second index, which lists the sitemap again.
LATE: Pages = {
    ROBOTS: names(NARROW),
    NARROW: index(SHARED, PROVEN),
    f"{HOST}/robots.txt": names(PROVEN),
    PROVEN: index(SHARED),
    SHARED: urlset(*LOCS),
}


def late(**plan: object) -> Walk:
    return walk(SITE, LATE, **plan)


OURS, A, B = f"{HOST}/robots.txt", f"{SITE}/a.xml", f"{SITE}/b.xml"
CHILD, OTHER, THERE = (f"https://other.example/{name}" for name in ("s.xml", "robots.txt", "index.xml"))
MOVED, TEXT, BETWEEN = f"{HOST}/x/moved.xml", f"{HOST}/moved.txt", f"{HOST}/n/more.xml"
SLOW, FORBIDS = names(CHILD, rules="Crawl-delay: 999"), names(CHILD, rules="Disallow: /")
IN_ORDER, ABOVE = [ROBOTS, OURS, NARROW, SHARED, PROVEN], [f"S13 {NARROW} {each}" for each in (SHARED, PROVEN)]
OTHERS = [f"https://other.example/{number}.xml" for number in range(3)]
# The target, its pages, the options; then what is requested, the pages returned, what is reported, and some outcomes.
WALKS: dict[str, tuple[str, Pages, dict[str, Any], list[str], list[str], list[str], dict[str, dict[str, Any]]]] = {
    # Before it verifies a child, its host is no part of the crawl.
    "the robots.txt of a host is reported once it verifies": (
        SITE, {ROBOTS: names(INDEX), INDEX: index(MAP, MOVED), MAP: index(), OURS: (301, {"location": TEXT}),
               TEXT: names(INDEX, rules="Crawl-delay: 999"), MOVED: urlset(f"{HOST}/x")}, {"is_recording": True},
        [ROBOTS, INDEX, OURS, MAP, TEXT, MOVED], [f"{HOST}/x"], [f"F03 {OURS}", f"notice F15 {OURS}"], {OURS: {}}),
    "a sitemap that was redirected": (
        SITE, {**LATE, NARROW: index(SHARED, BETWEEN), BETWEEN: index(PROVEN), SHARED: (301, {"location": MOVED}),
               MOVED: urlset(*LOCS)}, {},
        [*IN_ORDER[:4], BETWEEN, PROVEN, MOVED], [*LOCS[:4]],
        [ABOVE[0], f"F03 {SHARED}", f"S13 {BETWEEN} {PROVEN}"],
        {SHARED: {"kept": 4}}),
    "an index with a page, and a child that is not verified": (
        SITE, {**LATE, SHARED: index(CHILD, f"<url><loc>{HOST}/3</loc></url>")}, {},
        [*IN_ORDER, OTHER], [f"{HOST}/3"], [*ABOVE, f"U04 {SHARED} {CHILD}"],
        {SHARED: {"kept": 1, "dropped": {"host": 1}, "problems": {"U04": 1}}}),
    "a robots.txt that verifies a child": (  # which is elsewhere, not above: no S13
        INDEX, {INDEX: index(CHILD), OTHER: SLOW, CHILD: urlset()}, {"is_recording": True},
        [ROBOTS, INDEX, OTHER, CHILD], [], [f"notice F15 {OTHER}"],
        {OTHER: {}, CHILD: {"parents": [INDEX], "why": "index"}}),
    "a verified child that the rules of its host forbid": (
        INDEX, {INDEX: index(CHILD), OTHER: FORBIDS, CHILD: urlset()}, {},
        [ROBOTS, INDEX, OTHER], [], [f"F02 {CHILD}", f"partial {CHILD}"], {}),
    "the same if rules are not obeyed": (
        INDEX, {INDEX: index(CHILD), OTHER: FORBIDS, CHILD: urlset(f"{SITE}/1")}, {"obey_robots": False},
        [ROBOTS, INDEX, OTHER, CHILD], [f"{SITE}/1"], [], {}),
    "more children to verify than documents": (
        INDEX, {INDEX: index(*OTHERS), OTHER: names(*OTHERS)}, {"limits": Limits(max_documents=2)},
        [ROBOTS, INDEX, OTHER, OTHERS[0]], [],
        [f"U04 index.xml {OTHERS[2]}", f"S16 index.xml {OTHERS[1]}", f"F01 {OTHERS[0]}",
         f"partial {OTHERS[0]}", "partial index.xml"], {}),
    "children that are filtered": (
        INDEX, {INDEX: index(CHILD), OTHER: names(CHILD)}, {"follow": lambda ref: False}, [ROBOTS, INDEX], [], [], {}),
    "discovery": (INDEX, {INDEX: index(CHILD), OTHER: names(CHILD)}, {"descend": False}, [ROBOTS, INDEX], [], [], {}),
    "a verified child of two indexes": (
        SITE, {ROBOTS: names(A, B), A: index(CHILD), B: index(CHILD), OTHER: names(CHILD), CHILD: urlset()}, {},
        [ROBOTS, A, B, OTHER, CHILD], [], [], {CHILD: {"parents": [A, B]}}),
    "a child that another listing verifies": (
        SITE, {ROBOTS: names(A, THERE), A: index(CHILD), THERE: index(CHILD), CHILD: urlset()}, {},
        [ROBOTS, A, OTHER, THERE, CHILD], [], [], {CHILD: {"parents": [THERE, A]}}),
}


@pytest.mark.parametrize("case", WALKS)
def test_what_authorities_let_a_crawl_read(case: str) -> None:
    target, pages, plan, requested, locs, reported, outcomes = WALKS[case]
    seen = walk(target, pages, **plan)
    assert (seen.requested, seen.locs, reports(seen)) == (requested, locs, reported)
    for url, expected in outcomes.items():
        assert {name: getattr(seen.outcomes[url], name) for name in expected} == expected
    assert seen.frontier.done


# --- URLs that are in scope by a later listing ----------------------------------------------


def test_what_was_dropped_is_returned_when_a_robots_txt_verifies_it() -> None:
    seen = late()
    assert seen.documents == [NARROW, SHARED, PROVEN]
    assert seen.locs == [*LOCS[:4]]
    outcome = seen.outcomes[SHARED]
    assert (outcome.kept, outcome.dropped, outcome.complete) == (4, {"host": 1}, True)
    assert outcome.problems == {"U04": 1}, "with all that is known in the end"
    assert [sample.raw for sample in outcome.samples] == [LOCS[4]]
    assert outcome.parents == [NARROW, PROVEN]
    assert seen.frontier.documents_done == seen.frontier.documents_known == 3


def test_outcome_waits_until_no_wider_authority_can_come() -> None:
    reported = [reported.url for reported in late().reported if isinstance(reported, Outcome)]
    assert reported.index(SHARED) > reported.index(PROVEN)
    assert reported.count(SHARED) == 1


def test_documents_that_dropped_nothing_end_at_once() -> None:
    pages = {**LATE, NARROW: index(SHARED, MAP), MAP: urlset(f"{SITE}/1")}
    reported = [reported.url for reported in walk(SITE, pages).reported if isinstance(reported, Outcome)]
    assert reported.index(MAP) < reported.index(SHARED)


def test_the_scope_of_a_document_that_is_listed_more_widely_grows_until_its_end() -> None:
    frontier = RequestsAll([parse_target(NARROW)], Plan())
    (robots,) = frontier.next_requests(0.0)
    frontier.receive(robots, Head(404, {}), 0.0, TODAY)
    (top,) = frontier.next_requests(0.0)
    top.document.inherited_authorities, top.document.why = (), "index"  # as if its scope were its own directory only
    frontier.receive(top, Head(200, {}), 0.0, TODAY)
    frontier.receive(top, SitemapRef(SHARED), 0.0, TODAY)
    (reading,) = frontier.next_requests(0.0)
    frontier.receive(reading, Head(200, {}), 0.0, TODAY)
    assert reading.document.authorities == (f"{HOST}/n/",)
    other = f"{HOST}/index.xml"
    frontier.receive(top, SitemapRef(other), 0.0, TODAY)
    frontier.receive(top, Finished(Outcome(format="sitemapindex")), 0.0, TODAY)
    (wide,) = frontier.next_requests(0.0)
    frontier.receive(wide, Head(200, {}), 0.0, TODAY)
    frontier.receive(wide, SitemapRef(SHARED), 0.0, TODAY)
    assert reading.document.authorities == (f"{HOST}/n/",), "a reading ends as it began"
    frontier.receive(reading, Finished(Outcome(format="urlset", dropped={"path": 1}, sha256="1")), 0.0, TODAY)
    assert frontier.next_requests(0.0) == []
    frontier.receive(wide, Finished(Outcome(format="sitemapindex")), 0.0, TODAY)
    assert SHARED not in [each.url for each in frontier.take() if isinstance(each, Outcome)]
    assert not frontier.done
    assert frontier.next_requests(0.0) == []
    assert frontier.done
    assert SHARED in [each.url for each in frontier.take() if isinstance(each, Outcome)]
    assert f"{HOST}/" in frontier.authorities_of(reading.document)
    assert frontier.scope_of(reading.document).reason(f"{HOST}/x") is None
    assert frontier.scope_of(reading.document, reading.document.authorities).reason(f"{HOST}/x") == "path"


def test_indexes_may_widen_a_scope_step_by_step() -> None:
    """Each index lists the sitemap, which is read first, and the next index above."""
    folders = ["/".join("abcdef"[:depth]) for depth in range(6, 0, -1)]
    tops = [f"{HOST}/{folder}/index.xml" for folder in folders]
    deep = f"{HOST}/x/y/s.xml"
    pages: Pages = {ROBOTS: names(tops[0]), deep: urlset(*(f"{HOST}/{folder}/page" for folder in folders))}
    for top, above in zip(tops, [*tops[1:], deep], strict=True):
        pages[top] = index(deep, above)
    seen = walk(SITE, pages)
    assert seen.documents == [tops[0], deep, *tops[1:]]
    assert len(seen.locs) == len(set(seen.locs)) == 6
    assert seen.outcomes[deep].dropped == {}


@pytest.mark.parametrize(("more", "dropped"), [(0, {}), (1, {"path": 1})])
def test_gained_authorities_are_limited(more: int, dropped: dict[str, int]) -> None:
    numbers = range(1 + links.MAX_SCOPE_EXTENSIONS + more)
    tops = [f"{HOST}/{number}/index.xml" for number in numbers]
    pages: Pages = {ROBOTS: names(*tops), SHARED: urlset(*(f"{HOST}/{number}/page" for number in numbers))}
    seen = walk(SITE, {**pages, **{top: index(SHARED) for top in tops}})
    assert seen.outcomes[SHARED].dropped == dropped
    assert len(seen.locs) == 1 + links.MAX_SCOPE_EXTENSIONS


# --- children elsewhere -----------------------------------------------------------------------------------------


def test_robots_txt_of_a_child_host_is_requested_once() -> None:
    children = [f"https://other.example/{number}.xml" for number in range(9)]
    pages: Pages = {INDEX: index(*children), OTHER: names(*children[3:5]), **{each: urlset() for each in children}}
    seen = walk(INDEX, pages)
    assert seen.requested.count(OTHER) == 1
    assert seen.documents == [INDEX, *children[3:5]]
    assert [problem.raw for problem in problems(seen, "U04")] == [*children[:3], *children[5:]]
    outcome = seen.outcomes[INDEX]
    assert (outcome.problems, outcome.complete) == ({"U04": 7}, True)
    assert (outcome.kept, outcome.dropped) == (2, {"host": 7})
    assert [sample.code for sample in outcome.samples] == ["U04"] * 5


@pytest.mark.parametrize("reply", [404, 500, REFUSED, (429, {"retry-after": "86400"}), "<html></html>", names(MAP)])
def test_robots_txt_that_verifies_nothing_is_not_reported(reply: Reply) -> None:
    seen = walk(INDEX, {INDEX: index(CHILD, MAP), MAP: urlset(), OTHER: reply, CHILD: urlset()})
    assert OTHER in seen.requested
    assert CHILD not in seen.requested
    assert seen.codes == ["U04"]
    assert list(seen.outcomes) == [ROBOTS, MAP, INDEX]
    assert all(outcome.complete for outcome in seen.outcomes.values())


@pytest.mark.parametrize("more", [0, 1, 2])
def test_hosts_requested_for_verification_are_limited(more: int) -> None:
    limits = Limits(max_proof_hosts=3)
    count = limits.max_proof_hosts + more
    hosts = [f"https://h{number}.example" for number in range(count)]
    seen = walk(INDEX, {INDEX: index(*(f"{host}/s.xml" for host in hosts))}, limits=limits)
    assert len(seen.requested) == 2 + limits.max_proof_hosts
    assert seen.outcomes[INDEX].problems == {"U04": count} | ({"S16": 1} if more else {})
    assert seen.outcomes[INDEX].dropped == {"host": count}
    assert seen.outcomes[INDEX].complete is not bool(more)
    assert not more or "raise max_proof_hosts" in seen.problem("S16").message


# --- one robots.txt for several sites ---------------------------------------------------------------------------


def test_http_fallback_uses_a_robots_txt_that_was_read_before() -> None:
    http = "http://shop.example"
    frontier = RequestsAll([parse_target("shop.example"), parse_target(f"{http}/x.xml")], Plan(), jitter=lambda: 0.5)
    https_robots, http_robots = sorted(frontier.next_requests(0.0), key=lambda request: request.url, reverse=True)
    frontier.receive(http_robots, Head(200, {}), 0.0, TODAY)
    frontier.receive(http_robots, SitemapRef(f"{http}/a.xml"), 0.0, TODAY)
    frontier.receive(http_robots, Finished(Outcome(format="robots")), 0.0, TODAY)
    assert frontier.next_requests(0.0) == [], "the site may be named by the other robots.txt yet"
    frontier.receive(https_robots, REFUSED, 1.0, TODAY)
    assert {request.url for request in frontier.next_requests(1.0)} == {f"{http}/x.xml", f"{http}/a.xml"}


@pytest.mark.slow
def test_repeated_sitemap_lines_cost_as_much_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each line may concern all children of the index."""
    handed, real = [], Authorities._propagate

    def counted(self: Authorities, index: DocumentRequest) -> Iterator[Listing | None]:
        handed.append(index.original_url)
        return real(self, index)

    monkeypatch.setattr(Authorities, "_propagate", counted)
    child = "https://cdn.example/x.xml"
    pages: Pages = {INDEX: index(child, MAP), MAP: urlset(), "https://cdn.example/robots.txt": names(*[INDEX] * 500)}
    seen = walk(INDEX, pages)
    assert handed == [INDEX]
    assert child in seen.requested  # the robots.txt of its host names the index, so the index may list that host


# --- what one call costs ----------------------------------------------------------------------------------------


def play(frontier: RequestsAll, visits: list[DocumentRequest], pages: Pages) -> None:
    for request in visits:
        reply = pages.get(request.url, 404)
        assert not isinstance(reply, list)
        answer(Walk(frontier), request, reply, 0.0)


def propagating(children: int) -> tuple[RequestsAll, list[str]]:
    """A crawl in which an index has gained an authority; none of its many children has been read."""
    listed = [f"{HOST}/n/{number}.xml" for number in range(children)]
    pages: Pages = {ROBOTS: names(NARROW), f"{HOST}/robots.txt": names(PROVEN), PROVEN: index(NARROW)}
    frontier = RequestsAll([parse_target(SITE)], Plan(concurrency=1))
    for _ in range(4):
        play(frontier, frontier.next_requests(0.0), {**pages, NARROW: index(PROVEN, *listed)})
    return frontier, listed


@pytest.mark.slow
def test_gained_authority_reaches_children_before_their_requests() -> None:
    frontier, listed = propagating(9_000)
    turns = 0
    while not (started := frontier.next_requests(0.0)):
        assert (frontier.done, frontier.wait(0.0)) == (False, 0.0)
        turns += 1
    assert turns >= 4
    (first,) = started
    assert first.url == listed[0]
    assert frontier.receive(first, Head(200, {}), 0.0, TODAY)
    assert f"{HOST}/" in first.document.authorities
    assert frontier.wait(0.0) is None


@pytest.mark.slow
def test_dropped_urls_wait_until_authorities_are_propagated() -> None:
    """The children have been read and no host is waited for, but authorities are not propagated yet."""
    listed = [f"{HOST}/n/{number}.xml" for number in range(3_000)]
    frontier = RequestsAll([parse_target(SITE)], Plan(concurrency=9_999, per_host=9_999))
    play(frontier, frontier.next_requests(0.0), {ROBOTS: names(NARROW)})
    play(frontier, frontier.next_requests(0.0), {f"{HOST}/robots.txt": names(PROVEN)})
    play(frontier, frontier.next_requests(0.0), {NARROW: index(PROVEN, *listed)})
    wide, *children = [*frontier.next_requests(0.0), *frontier.next_requests(0.0)]
    assert len(children) == len(listed)
    for request in reversed(children):  # the last ended child is the first to get it
        assert frontier.receive(request, Head(200, {}), 0.0, TODAY)
        frontier.receive(request, Finished(Outcome(format="urlset", dropped={"path": 1}, sha256="1")), 0.0, TODAY)
    play(frontier, [wide], {PROVEN: index(NARROW)})
    frontier.take()
    assert (frontier.next_requests(0.0), frontier.take()) == ([], [])
    assert (frontier.done, frontier.wait(0.0)) == (False, 0.0)
    while not frontier.done:
        assert frontier.next_requests(0.0) == []
    assert {each.url for each in frontier.take() if isinstance(each, Outcome)} >= {*listed}
    assert {frontier.scope_of(request.document).reason(f"{HOST}/x") for request in children} == {None}


@pytest.mark.slow
def test_cost_of_a_propagation_step_is_constant() -> None:
    def dearest(children: int) -> int:
        frontier, _ = propagating(children)
        return max(calls_of(lambda: frontier.next_requests(0.0)) for _ in range(3))

    assert dearest(20_000) < 1.1 * dearest(10_000)


@pytest.mark.slow
def test_children_listed_during_propagation_gain_the_authority() -> None:
    """The index is still being read when a propagation step ends."""
    listed = [f"{HOST}/n/{number}.xml" for number in range(5_000)]
    late = f"{HOST}/n/late.xml"
    frontier = RequestsAll([parse_target(SITE)], Plan(concurrency=2))
    play(frontier, frontier.next_requests(0.0), {ROBOTS: names(NARROW)})
    play(frontier, frontier.next_requests(0.0), {f"{HOST}/robots.txt": names(PROVEN)})
    (narrow,) = frontier.next_requests(0.0)
    assert frontier.receive(narrow, Head(200, {}), 0.0, TODAY)
    for child in (PROVEN, *listed):
        frontier.receive(narrow, SitemapRef(child), 0.0, TODAY)
    play(frontier, frontier.next_requests(0.0), {PROVEN: index(NARROW)})
    assert frontier.next_requests(0.0) == []
    frontier.receive(narrow, SitemapRef(late), 0.0, TODAY)
    frontier.receive(narrow, Finished(Outcome(format="sitemapindex")), 0.0, TODAY)
    held: dict[str, tuple[str, ...]] = {}
    while not frontier.done:
        for request in frontier.next_requests(0.0):
            frontier.receive(request, Head(200, {}), 0.0, TODAY)
            held[request.url] = request.document.authorities
            frontier.receive(request, Finished(Outcome(format="urlset")), 0.0, TODAY)
    assert held.keys() == {*listed, late}
    assert all(f"{HOST}/" in holds for holds in held.values())


@pytest.mark.slow
def test_unverified_children_are_reported_in_batches() -> None:
    children = [f"https://other.example/{number}.xml" for number in range(2_500)]
    frontier, reported = RequestsAll([parse_target(INDEX)], Plan()), []
    for page in (names(), index(*children), names()):
        (request,) = frontier.next_requests(0.0)
        answer(Walk(frontier), request, page, 0.0)
    while not frontier.done:
        assert frontier.wait(0.0) == 0.0
        assert frontier.next_requests(0.0) == []
        reported.append(frontier.take())
    codes = [[each.code for each in some if isinstance(each, Problem)] for some in reported]
    assert sum(map(len, codes)) == len(children)
    assert max(map(len, codes)) <= 1_000
    (outcome,) = [each for some in reported for each in some if isinstance(each, Outcome) and each.url == INDEX]
    assert (outcome.dropped, outcome.problems) == ({"host": 2_500}, {"U04": 2_500})
