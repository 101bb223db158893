"""The state of an earlier crawl -> whether a document is requested, and its conditions; and the frontier with a state.
"""

import gzip
from collections.abc import Callable
from datetime import datetime, timedelta

import attrs
import pytest
from simulated import INDEX, MAP, ROBOTS, SITE, TODAY, Pages, index, names, urlset, walk

from sitemap_reader import Outcome, SitemapRef, UsageError
from sitemap_reader.frontier import (
    Arrived,
    CachedDocument,
    Document,
    DocumentCache,
    Finished,
    Frontier,
    Head,
    Listed,
    Plan,
    is_strong,
    parse_target,
)

DAY = timedelta(days=1)
STATED = (TODAY - 5 * DAY, "second")
HOST = (f"{SITE}/", "http://shop.example/")
READ = CachedDocument(
    "urlset",
    etag='"1"',
    authorities=frozenset(HOST),
    listed=STATED,  # type: ignore[arg-type]
    read_at=TODAY - 2 * DAY,
    looked_at=TODAY - timedelta(hours=1),
    index_is_accurate=True,
)


def memory(known: CachedDocument = READ, trust: str = "auto", **more: object) -> DocumentCache:
    return DocumentCache(TODAY, trust, {MAP: known}, frozenset({MAP}), **more)  # type: ignore[arg-type]


def listed(lastmod: tuple[datetime | None, str | None]) -> Listed:
    return Listed(Document(MAP, "index", listed=SitemapRef(MAP, *lastmod)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("change", "trust", "expected"), [
    ({}, "auto", True),
    ({}, "always", True),
    ({}, "never", False),
    ({"index_is_accurate": False}, "auto", False),
    ({"index_is_accurate": False}, "always", True),
    ({"listed": None}, "always", False),
    ({"listed": (TODAY, "second")}, "always", False),
    ({"listed": (STATED[0], "day")}, "always", False),
    ({"authorities": frozenset({f"{SITE}/"})}, "always", False),
    ({"authorities": None}, "always", False),
    # At least 12 hours after the end of the period.
    ({"read_at": STATED[0] + timedelta(seconds=1, hours=12)}, "auto", False),
    ({"read_at": STATED[0] + timedelta(seconds=2, hours=12)}, "auto", True),
    # At least once a day; a request time in the future does not count.
    ({"looked_at": TODAY - DAY}, "auto", False),
    ({"looked_at": TODAY - DAY + timedelta(seconds=1)}, "auto", True),
    ({"looked_at": TODAY + DAY}, "auto", False),
    ({"looked_at": TODAY - 9 * DAY}, "always", True),
])
def test_when_a_document_is_not_requested(change: dict[str, object], trust: str, expected: bool) -> None:
    known = attrs.evolve(READ, **change)  # type: ignore[arg-type]
    assert (memory(known, trust).skipped(listed(STATED), HOST) is known) is expected


def test_a_day_counts_to_its_end() -> None:
    day = (TODAY.replace(hour=0) - 5 * DAY, "day")
    for hours, expected in ((36, False), (37, True)):
        known = attrs.evolve(READ, listed=day, read_at=day[0] + timedelta(hours=hours))
        assert (memory(known).skipped(listed(day), HOST) is known) is expected


def test_undated_child_is_requested() -> None:
    assert memory(trust="always").skipped(listed((None, None)), HOST) is None


@pytest.mark.parametrize(("known", "headers"), [
    (READ, {"If-None-Match": '"1"'}),
    (attrs.evolve(READ, etag=None, last_modified="x"), {"If-Modified-Since": "x"}),
    (attrs.evolve(READ, last_modified="x"), {"If-None-Match": '"1"', "If-Modified-Since": "x"}),
    (attrs.evolve(READ, etag=None), {}),
])
def test_conditions(known: CachedDocument, headers: dict[str, str]) -> None:
    assert known.conditions == headers


@pytest.mark.parametrize(("text", "expected"), [
    ("Sun, 01 Mar 2026 11:58:59 GMT", True),
    ("Sun, 01 Mar 2026 11:59:00 GMT", True),
    *((text, False) for text in ("Sun, 01 Mar 2026 11:59:01 GMT", "Sun, 01 Mar 2026 13:00:00 GMT", "yesterday", "")),
    ("Sun, 01 Mar 2026 11:58:59 -0000", True),
])
def test_recent_last_modified_is_not_sent(text: str, expected: bool) -> None:
    """The document may change again in the second of its Last-Modified."""
    assert is_strong(text, TODAY) is expected


# --- crawls --------------------------------------------------------------------------------------------------

PAGES = {ROBOTS: names(INDEX), INDEX: index(MAP), MAP: urlset(f"{SITE}/1")}


def known_index(*children: str, stated: object = None) -> CachedDocument:
    lastmod, precision = stated or (None, None)  # type: ignore[misc]
    refs = tuple(SitemapRef(child, lastmod, precision, INDEX, number) for number, child in enumerate(children, 2))
    return CachedDocument("sitemapindex", etag='"i"', authorities=frozenset(HOST), children=refs)


def test_children_of_an_unchanged_index_are_read() -> None:
    known = DocumentCache(TODAY, "auto", {INDEX: known_index(MAP)}, frozenset({INDEX}))
    seen = walk("shop.example", {**PAGES, INDEX: 304}, cache=known)
    assert seen.requested == [ROBOTS, INDEX, MAP]
    assert seen.locs == [f"{SITE}/1"]
    assert seen.outcomes[INDEX].not_modified
    assert seen.outcomes[INDEX].etag == '"i"'
    assert seen.outcomes[MAP].parents == [INDEX]
    assert not seen.codes


def test_what_is_skipped_is_answered_from_what_the_caller_has() -> None:
    frontier = Frontier([parse_target(INDEX)], Plan(obey_robots=False, probe="never"))
    (given,) = frontier.take()
    request = frontier.skip(given)
    assert frontier.awaits_answers
    frontier.receive(request, SitemapRef(MAP, sitemap=INDEX), 0.0, TODAY)
    frontier.receive(request, Finished(known_index(MAP).outcome), 0.0, TODAY)
    child, outcome = frontier.take()
    assert (child.url, child.ref.sitemap, outcome.url, outcome.not_modified) == (MAP, INDEX, INDEX, True)
    assert not frontier.done
    frontier.request(child)
    assert [request.url for request in frontier.next_requests(0.0)] == [ROBOTS]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Frontier(["example.com"], Plan()), "a seed is what parse_target.. returns, not 'example.com'"),  # type: ignore[list-item]
    (lambda: parse_target(None), "target is a host such as example.com, or a URL, not None"),  # type: ignore[arg-type]
    (lambda: Plan(per_host=0), "per_host is a whole number, 1 or more, not 0"),
    (lambda: Plan(concurrency=0), "concurrency is a whole number, 1 or more, not 0"),
])
def test_what_would_never_request_anything_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_headers_of_an_answer_may_have_names_in_any_case() -> None:
    frontier = Frontier([parse_target(MAP)], Plan(obey_robots=False, probe="never"))
    frontier.request(*frontier.take())  # type: ignore[arg-type]
    (robots,) = frontier.next_requests(0.0)
    frontier.receive(robots, Head(404, {}), 0.0, TODAY)
    (request,) = frontier.next_requests(0.0)
    frontier.receive(request, Head(301, {"Location": "/moved.xml"}), 0.0, TODAY)
    (moved,) = frontier.next_requests(1.0)
    assert moved.url.endswith("/moved.xml")
    frontier.receive(moved, Head(503, {"Retry-After": "7"}), 1.0, TODAY)
    assert frontier.wait(1.0) == 7.0
    parser = frontier.parser(moved, {"Content-Encoding": "gzip"})
    assert len([*parser.feed(gzip.compress(urlset(f"{SITE}/1"))), *parser.close()]) == 1


def test_steps_and_answers_that_do_not_fit_are_refused() -> None:
    frontier = Frontier([parse_target(MAP)], Plan(obey_robots=False, probe="never"))
    (given,) = frontier.take()
    frontier.request(given)
    for decide in (frontier.request, frontier.skip):
        with pytest.raises(UsageError, match=f"{MAP} is queued"):
            decide(given)
    (robots,) = frontier.next_requests(0.0)
    frontier.receive(robots, Head(404, {}), 0.0, TODAY)
    (request,) = frontier.next_requests(0.0)
    unchanged = Finished(Outcome(format="urlset"))
    with pytest.raises(UsageError, match="no NoneType can be received for it"):
        frontier.receive(request, None, 0.0, TODAY)  # type: ignore[arg-type]
    for answer in (unchanged, Arrived(), SitemapRef(MAP)):
        with pytest.raises(UsageError, match=f"{MAP} is requested: no {type(answer).__name__} can be received"):
            frontier.receive(request, answer, 0.0, TODAY)
    assert frontier.receive(request, Head(200, {}), 0.0, TODAY)
    frontier.receive(request, unchanged, 0.0, TODAY)
    with pytest.raises(UsageError, match=f"{MAP} is reported: no Finished"):
        frontier.receive(request, unchanged, 0.0, TODAY)
    assert frontier.done


def test_child_that_is_not_requested_ends_as_unchanged() -> None:
    documents = {INDEX: known_index(MAP, stated=STATED), MAP: attrs.evolve(READ, authorities=_held())}
    seen = walk(
        "shop.example", {**PAGES, INDEX: 304}, cache=DocumentCache(TODAY, "auto", documents, frozenset(documents))
    )
    assert seen.requested == [ROBOTS, INDEX]
    outcome = seen.outcomes[MAP]
    assert (outcome.not_modified, outcome.status, outcome.complete) == (True, None, True)
    assert (outcome.format, outcome.parents, outcome.why) == ("urlset", [INDEX], "index")


def _held() -> frozenset[str]:
    """The scope of a child of the index: that of the index, with its own directory."""
    seen = walk("shop.example", PAGES)
    return frozenset(seen.outcomes[MAP].authorities)


def test_unconditional_304_is_a_failure() -> None:
    seen = walk("shop.example", {**PAGES, MAP: 304})
    assert seen.codes == ["F18"]
    assert not seen.outcomes[MAP].complete


def test_document_with_a_wider_scope_is_requested_unconditionally() -> None:
    for held, status in ((_held(), True), (_held() | {"https://other.example/"}, False)):
        known = DocumentCache(TODAY, "auto", {MAP: attrs.evolve(READ, authorities=held)}, frozenset({MAP}))
        seen = walk("shop.example", {**PAGES, MAP: 304}, cache=known)
        assert seen.outcomes[MAP].not_modified is status


def test_failed_well_known_path_with_an_earlier_sitemap_is_reported() -> None:
    guess = f"{SITE}/sitemap.xml"
    known = DocumentCache(TODAY, "auto", {}, frozenset({guess}))
    assert walk("shop.example", {ROBOTS: names()}).codes == ["F09"]
    seen = walk("shop.example", {ROBOTS: names()}, cache=known)
    assert (seen.codes, seen.outcomes[guess].complete) == (["F09", "F01"], False)


@pytest.mark.parametrize(("target", "pages"), [
    (MAP, {}),
    ("shop.example", {ROBOTS: names(MAP)}),
    ("shop.example", {ROBOTS: names(INDEX), INDEX: index(MAP)}),
    ("shop.example", {ROBOTS: names()}),
], ids=["given", "robots", "index", "guess"])
def test_unchanged_document_is_not_requested_by_any_parent(target: str, pages: Pages) -> None:
    seen = walk(target, pages, cache=DocumentCache(already_read={MAP: "urlset"}))
    assert MAP not in seen.requested
    assert not seen.locs
    outcome = seen.outcomes[MAP]
    assert (outcome.format, outcome.not_modified, outcome.complete) == ("urlset", True, True)
    assert [url for url in seen.requested if "sitemap" in url] == []  # it holds a sitemap: no other path is probed
