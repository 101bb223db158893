"""`since` and lastmods of indexes: the result equals a filter of all URLs, or the skipped children are counted."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from dated_sites import ACCURATE, INDEX, SITE, STALE, TODAY, at_random, partly_stale, some_world
from simulated import Pages, RequestsAll, Walk, index, names, reports, urlset, walk

from sitemap_reader import Limits, Outcome, SitemapRef
from sitemap_reader.frontier import (
    Finished,
    Head,
    Plan,
    Selection,
    Undated,
    WaitingChildren,
    Window,
    parse_target,
)

SINCE = datetime(2026, 2, 1, tzinfo=UTC)
OTHER = f"{SITE}/other.xml"
CHILDREN = [f"{SITE}/{number}.xml" for number in range(8)]


def since(moment: datetime = SINCE, undated: Undated = "drop") -> Selection:
    return Selection(Window(since=moment, undated=undated))


def dated(*lastmods: str | None) -> bytes:
    """A sitemap of URLs with these lastmods."""
    locs = ((f"{SITE}/{number}", lastmod) for number, lastmod in enumerate(lastmods))
    return urlset(*((loc, lastmod) if lastmod else loc for loc, lastmod in locs))


def listing(stated: dict[str, str]) -> bytes:
    """An index with these lastmods of its children, one a line from line 2 on."""
    return index(*stated.items())


def old_site(lastmod: str = "2025-06-01", **others: bytes) -> Pages:
    """A site of eight old children with old lastmods in the index. `others` are bodies by number: c3=..."""
    bodies = {f"{SITE}/{name[1:]}.xml": body for name, body in others.items()}
    return {INDEX: listing(dict.fromkeys(CHILDREN, lastmod)), **dict.fromkeys(CHILDREN, dated(lastmod)), **bodies}


# --- random sites ---


def wanted(seen: Walk, window: Window) -> set[str]:
    return {record.loc for record in seen.records if window.takes(record.lastmod, record.lastmod_precision)}


@pytest.mark.smoke("frozen-20-20")
@pytest.mark.slow
@pytest.mark.parametrize(("says", "sites", "equal"), [
    *((says, 30, 30) for says in ACCURATE),
    *((says, 20, 20) for says in STALE),
    (at_random, 25, 25),
    (partly_stale, 25, 21),
], ids=lambda value: getattr(value, "__name__", None))
def test_since_equals_a_filter_of_everything_or_counts_the_skipped(says, sites: int, equal: int) -> None:  # type: ignore[no-untyped-def]
    """200 sites.

    If only a few index dates are wrong, the three children read may not show it; then skipped children are counted.
    """
    found = requested = all_requested = 0
    for seed in range(sites):
        chance = random.Random(f"{says.__name__} {seed}")  # noqa: S311 - no secret
        undated: Undated = chance.choice(["keep", "drop"])
        world = some_world(chance, says, undated=undated == "keep" and seed % 3 == 0)
        window = Window(since=TODAY - timedelta(days=chance.choice([1, 7, 30])), undated=undated)
        auto = walk(INDEX, world.pages, selection=Selection(window), chance=chance)
        everything = walk(INDEX, world.pages, selection=Selection(window), trust_lastmod="never")
        missing = wanted(everything, window) - wanted(auto, window)
        skipped = set(everything.documents) - set(auto.documents)
        assert all(outcome.complete for outcome in auto.outcomes.values())
        assert wanted(auto, window) <= wanted(everything, window)
        assert missing <= {record.loc for record in everything.records if record.sitemap in skipped}
        assert bool(skipped) == bool(auto.frontier.pruned["since"])
        assert bool(skipped) == bool(auto.frontier.checked)
        found += not missing
        requested += len(auto.documents)
        all_requested += len(everything.documents)
    assert found >= equal
    if says.__name__ in ("accurate", "touched"):
        assert requested < 0.75 * all_requested


# --- evidence ---


INNER, LOST, FAR = [f"{SITE}/inner{number}.xml" for number in range(8)], f"{SITE}/lost.xml", "https://far.example/s.xml"
OLD = dict.fromkeys(CHILDREN, "2025-06-01")
WHOLE = dated("2025-06-01", "2025-06-01")
ALL = "index 7 0 4 1 2 3 5 6"
# The pages, the options; then the names of the documents that are read, what is reported, and how many are left out
# for which reason.
WALKS: dict[str, tuple[Pages, dict[str, Any], str, list[str]]] = {
    "three children are read, and the others skipped": (old_site(), {}, "index 7 0 4", ["since: 5"]),
    **{f"of {few} children none is skipped": (
        {INDEX: listing(dict.fromkeys(CHILDREN[:few], "2025-06-01")), **dict.fromkeys(CHILDREN, dated("2026-02-20"))},
        {}, f"index {order}", []) for few, order in ((1, "0"), (2, "1 0"), (3, "2 0 1"))},
    "undated URLs that count": (
        old_site(c7=dated("2025-06-01", None)), {"selection": since(undated="keep")}, ALL, []),
    "undated URLs that do not": (old_site(c7=dated("2025-06-01", None)), {}, "index 7 0 4", ["since: 5"]),
    **{f"another child, of {holds}": (
        {**old_site(), OTHER: dated(holds), INDEX: listing({**OLD, OTHER: "2026-02-10"})},
        {}, f"index other {read}", [found]) for holds, read, found in (
            ("2026-02-10", "7 0 4", "since: 5"),
            ("2026-02-20", "7 0 4 1 2 3 5 6", "D05 index.xml 2026-02-10"),
            ("2026-03-09", "7 0 4", "since: 5"))},  # it was written since the index was read
    "an inner index checks all ancestors": (
        {**old_site(), INNER[0]: listing({OTHER: "2025-05-01"}), OTHER: dated("2026-02-20"),
         INDEX: listing({**OLD, INNER[0]: "2025-06-02"})},
        {}, "index inner0 0 4 other 1 2 3 5 6 7", ["D05 index.xml 2025-06-02"]),
    **{f"samples that fail by {reply} are replaced": (
        {**old_site(), CHILDREN[7]: reply, CHILDREN[4]: reply},
        {}, "index 7 0 4 6 5", [*found, "partial 7.xml", "partial 4.xml", "since: 3"])
        for reply, found in ((404, ["F01 7.xml", "F01 4.xml"]), ("<html></html>", []))},
    # All children of the inner indexes fail, so no date is known. The second child is not among those sampled.
    "inner indexes confirm nothing by themselves": (
        {INDEX: listing(dict.fromkeys([INNER[0], OTHER, *INNER[1:]], "2025-06-01")),
         **dict.fromkeys(INNER, index(LOST)), LOST: 404, OTHER: dated("2026-02-10")},
        {}, "index inner7 inner0 inner3 lost inner6 inner5 inner4 other inner1 inner2",
        ["F01 lost.xml", "partial lost.xml"]),
    # The newest entry of a document may be where it broke off.
    "documents that broke off confirm nothing": (
        {INDEX: listing(dict.fromkeys(CHILDREN[:4], "2025-06-01")),
         **dict.fromkeys(CHILDREN[:4], WHOLE[: WHOLE.rindex(b"<lastmod>")])},
        {}, "index 3 0 2 1", [f"partial {number}.xml" for number in "3021"]),
    "nothing can be checked": (
        {INDEX: listing(OLD)}, {}, "index 7 0 4 6 5 3 1 2",
        [f"{what} {number}.xml" for what in ("F01", "partial") for number in "70465312"]),
    "other reasons come first": (
        old_site(c7=dated("2026-02-20")),
        {"no_follow": lambda ref: "/7.xml" in ref.loc, "follow": lambda ref: "/6" not in ref.loc},
        "index 5 0 3", ["follow: 1", "no-follow: 1", "since: 3"]),
    "a truncated index": (
        {**old_site(), INDEX: str(old_site()[INDEX]).partition(CHILDREN[5])[0]},
        {}, "index 4 0 2", ["partial index.xml", "since: 2"]),
    "more waiting children than documents": (
        old_site(c7=dated("2026-02-20")), {"limits": Limits(max_documents=6)},
        "index 7 0 4 1 2", ["D05 index.xml 2025-06-01", "S16 index.xml 3.xml", "partial index.xml"]),
    "a waiting child on another host": (
        {**old_site(), INDEX: listing({FAR: "2025-06-09", **OLD})}, {}, "index 0 3 7", ["since: 6"]),
}


@pytest.mark.parametrize("case", WALKS)
def test_which_children_are_skipped_by_their_dates(case: str) -> None:
    pages, plan, read, found = WALKS[case]
    seen = walk(INDEX, pages, **{"selection": since(), **plan})
    pruned = seen.frontier.pruned
    assert " ".join(url.removeprefix(f"{SITE}/").removesuffix(".xml") for url in seen.documents) == read
    assert reports(seen) + [f"{reason}: {count}" for reason, count in sorted(pruned.items())] == found
    assert seen.outcomes[INDEX].skipped == pruned["since"]
    assert seen.frontier.checked == (3 if pruned["since"] else 0)


def test_the_newest_and_the_oldest_are_read_first() -> None:
    dates = ["2025-06-03", "2025-06-01", "2025-06-08", "2025-06-02", "2025-06-05", "2025-06-06", "2025-06-07"]
    waiting = WaitingChildren()
    for number, date in enumerate(dates):
        waiting.add(SitemapRef(CHILDREN[number], datetime.fromisoformat(date).replace(tzinfo=UTC), "day"))
    assert waiting.candidates() == [2, 1, 3, 6, 5, 4]


def test_child_newer_than_its_index_date_disables_skipping_and_is_reported_once() -> None:
    pages = old_site(c0=dated("2025-01-01", "2026-02-20T08:00:00Z"), c7=dated("2026-02-21"))
    seen = walk(INDEX, pages, selection=since())
    assert len(seen.documents) == 9
    assert not seen.frontier.pruned
    reported = seen.problem("D05")
    assert (reported.severity, reported.sitemap) == ("warning", INDEX)
    assert (reported.field, reported.raw) == ("lastmod", "2025-06-01")
    assert reported.line == 9  # the line of the child in the index
    assert reported.message.startswith(f"{CHILDREN[7]} has the index lastmod 2025-06-01, but an entry of 2026-02-21:")
    assert seen.outcomes[INDEX].problems == {"D05": 1}
    assert seen.reported.index(reported) < seen.reported.index(seen.outcomes[INDEX])


@pytest.mark.parametrize(("listed", "holds", "is_believed"), [
    ("2025-06-01", "2025-06-01T23:59:59Z", True),
    ("2025-06-01", "2025-06-02T23:59:59Z", True),  # the day may have begun elsewhere
    ("2025-06-01", "2025-06-03", False),
    ("2025-06-01T10:00:00Z", "2025-06-01T10:09:00Z", True),  # clocks differ
    ("2025-06-01T10:00:00Z", "2025-06-01T10:11:00Z", False),
    ("2025-06-01T10:00:00Z", "2025-06-01", True),
    ("2025-06", "2025-06-30", True),
    ("2025-06", "2025-07-03", False),
    ("2026-01-31", "2026-01-31T23:00:00Z", True),
    ("2026-01-31", "2026-02-01T00:00:00Z", False),  # it is within `since`, whatever the tolerance
    ("2026-01-31", "2026", False),  # a year that overlaps `since`
    ("2025-06-01", "2027-01-01", False),  # in the future, and within `since`
])
def test_date_of_a_url_confirms_or_contradicts_the_index(listed: str, holds: str, is_believed: bool) -> None:
    seen = walk(INDEX, old_site(listed, c7=dated(listed, holds), c0=dated(listed), c4=dated(listed)), selection=since())
    assert seen.frontier.pruned == ({"since": 5} if is_believed else {})


def test_redirected_child_has_the_dates_of_its_target() -> None:
    pages: Pages = {**old_site(), CHILDREN[7]: (301, {"location": "/other.xml"}), OTHER: dated("2026-02-20")}
    pages[INDEX] = listing({OTHER: "2026-02-20", **dict.fromkeys(CHILDREN, "2025-06-01")})
    seen = walk(INDEX, pages, selection=since())
    assert not seen.frontier.pruned
    assert seen.problem("D05").message.startswith(f"{CHILDREN[7]} has the index lastmod 2025-06-01, ")


# --- with other rules ---


@pytest.mark.parametrize(("first", "last"), [(INDEX, OTHER), (OTHER, INDEX)])
def test_child_read_by_another_index_is_not_counted_as_skipped(first: str, last: str) -> None:
    """In either order of reading."""
    pages = {**old_site(), OTHER: listing(dict.fromkeys(CHILDREN[1:4], "2026-02-20"))}
    pages |= dict.fromkeys(CHILDREN[1:4], dated("2026-02-20"))
    pages[f"{SITE}/robots.txt"] = names(first, last)
    seen = walk(SITE, pages, selection=since(), per_host=1)
    assert len(seen.documents) == 8
    assert {INDEX, OTHER, *CHILDREN[1:4]} <= set(seen.documents)
    assert seen.frontier.pruned == {"since": 2}
    assert {INDEX, OTHER} <= set(seen.outcomes[CHILDREN[1]].parents)


def test_too_many_waiting_children_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemap_reader.frontier.revalidation._MAX_WAITING", 5)
    seen = walk(INDEX, old_site(), selection=since(), limits=Limits(max_documents=7))
    assert seen.frontier.pruned == {"since": 4}
    assert "--trust-lastmod" in seen.problem("S16").message
    assert not seen.outcomes[INDEX].complete


@pytest.mark.slow
def test_children_are_decided_on_in_batches() -> None:
    children = [f"{SITE}/{number}.xml" for number in range(5_000)]
    pages: Pages = {INDEX: index(*children, lastmod="2025-06-01"), **dict.fromkeys(children, urlset())}
    seen = walk(INDEX, pages, selection=since())
    assert seen.frontier.pruned == {"since": 4_997}
    frontier = seen.frontier
    assert frontier.done


def test_left_crawl_reports_an_index_with_waiting_children() -> None:
    frontier = RequestsAll([parse_target(INDEX)], Plan(selection=since(), obey_robots=False))
    (robots,) = frontier.next_requests(0.0)
    frontier.receive(robots, Head(404, {}), 0.0, TODAY)
    (request,) = frontier.next_requests(0.0)
    frontier.receive(request, Head(200, {}), 0.0, TODAY)
    for child in CHILDREN:
        frontier.receive(request, SitemapRef(child, datetime(2025, 6, 1, tzinfo=UTC), "day", INDEX, 2), 0.0, TODAY)
    frontier.receive(request, Finished(Outcome(format="index", entries=8)), 0.0, TODAY)
    frontier.next_requests(0.0)
    assert INDEX not in [reported.url for reported in frontier.take() if isinstance(reported, Outcome)]
    assert INDEX in [reported.url for reported in frontier.abandon() if isinstance(reported, Outcome)]
