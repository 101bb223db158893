"""The changes of a run with a state: the rules of new, updated and removed URLs, one by one."""

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import kit
import pytest
from changing_sites import DAY, HOUR, NOTHING, Document, World, entries, loc

import sitemap_reader as sr


def world(**documents: Document) -> World:
    """A World of documents by name, without `.xml`; all of them listed."""
    named = {f"{name}.xml": document for name, document in documents.items()}
    return World(named, listed=[*named])


def two() -> World:
    return world(a=Document(entries("a1", "a2", "a3")), b=Document(entries("b1", "b2", "b3")))


# --- histories ----------------------------------------------------------------------------------------------


def many(count: int, name: str = "p") -> Document:
    return Document(entries(*(f"{name}{number}" for number in range(count))))


def edit(site: World, **values: Document | str | int) -> None:
    """Gives documents other pages, such as `a b @date`, or another status; a feed is one whose name begins with `f`."""
    for name, value in values.items():
        path = f"{name}.xml"
        if path not in site.documents:
            site.documents[path] = Document(is_feed=name.startswith("f"))
            site.listed.append(path)
        if isinstance(value, int):
            site.documents[path].status = value
        elif isinstance(value, Document):
            site.documents[path].entries = value.entries
        else:
            names, _, date = value.partition("@")
            site.documents[path].entries = entries(*names.split(), lastmod=date or None)


A_B, A_F = {"a": "a1 a2 a3", "b": "b1 b2 b3"}, {"a": "a1", "f": "f1 f2"}
OLD, NEW = "@2026-01-01", "@2026-01-05"
# What a site has in the first run, when all of it is new; then for each run what changes before, what is reported
# (+ new, ~ updated, - removed, and how many are held back; or the number of each), and the time since the last run.
# One more run reports nothing.
HISTORIES: dict[str, list[Any]] = {
    "a URL that is listed twice is new once": [{"a": "x y", "b": "x z"}],
    **{f"a new URL is not updated in the same run, {first}": [  # the state has the newer date
        {"a": f"x {first}", "b": f"x y {second}"}, ({}, ""),
        ({"c": f"z {first}", "d": "z x @2026-01-06"}, "+z ~x"),
    ] for first, second in ((OLD, NEW), (NEW, OLD))},
    "a URL that moves with a new date is updated": [{"a": f"x y {OLD}"}, ({"a": f"y {OLD}", "b": f"x {NEW}"}, "~x")],
    "a URL that moves to a later sitemap": [A_B, ({"a": "a1 a2", "b": "b1 b2 b3 a3"}, "")],
    "a URL that moves to an earlier sitemap": [A_B, ({"a": "a1 a2 a3 b3", "b": "b1 b2"}, "")],
    # --- missing documents: one answer removes nothing, and two a day apart do
    **{f"{status} for a day": [
        A_B, ({"a": status}, ""), ({}, "", 23 * HOUR), ({}, "-a1 -a2 -a3", HOUR),
        ({"b": "b2 b3"}, "-b1"),  # it blocks no removals any more
        ({"a": 200}, "+a1 +a2 +a3"),
    ] for status in (404, 410)},
    "404 between two answers is forgotten": [A_B, ({"a": 404}, ""), ({"a": 200}, "", DAY), ({"a": 404}, "", DAY)],
    "a clock that is set back removes nothing": [A_B, ({"a": 404}, ""), ({}, "", -30 * DAY)],
    # --- feeds
    "a URL that leaves a feed is neither removed nor new again": [
        A_F, ({"f": "f2 f3"}, "+f3"), ({"f": "f1"}, "", 30 * DAY),
    ],
    "a URL that left a feed long ago is forgotten": [
        A_F, ({"f": "f2"}, ""), ({}, "", 91 * DAY), ({"f": "f1 f2"}, "+f1"),
    ],
    "a URL that left a feed is removed when its sitemap drops it": [
        {"a": "a1 both", "f": "both f1"}, ({"f": "f1"}, ""), ({"a": "a1"}, "-both"),
    ],
    # --- mass removals
    "moved URLs are not held back": [
        {"a": "a1 a2 a3", "b": f"b1 {OLD}"}, ({"a": "", "b": f"b1 a1 a2 {OLD}"}, "~a1 ~a2 1"), ({}, "-a3", DAY),
    ],
    "URLs of a feed count neither as lost nor as left": [
        {"a": many(21), "f": many(100, "f")}, ({"a": many(10), "f": many(1, "g")}, "+g0 11"), ({"a": ""}, "21"),
    ],
    "404 for a day is not held back for another, and what else is lost is": [
        {"a": many(30, "a"), "b": many(3, "b"), "c": many(3, "c")},
        ({"a": 404}, ""), ({"b": ""}, (0, 0, 30, 3), DAY),
    ],
    "later removals wait for a day of their own": [
        {"a": many(30), "b": many(2, "b")}, ({"a": many(10)}, "20"), ({"b": ""}, "22", DAY - HOUR),
        ({}, (0, 0, 20, 2), HOUR), ({"a": many(5)}, (0, 0, 5, 2)),  # 5 of 12 more
    ],
    "a failure between does not shorten the wait": [  # such a run reports no removals
        {"a": many(5, "a"), "b": many(5, "b")}, ({"a": ""}, "5"), ({"b": 500}, "", DAY), ({"b": 200}, (0, 0, 5, 0)),
    ],
    "new URLs do not offset removals, nor do those of an earlier run": [
        {"a": many(150)}, ({"a": many(300, "q")}, (300, 0, 0, 150)), *[({}, "150")] * 2,
    ],
    "new URLs of a partial run do not offset removals": [
        {"a": many(1500), "b": "b1"}, ({"a": many(3000, "q"), "b": 500}, (3000, 0, 0, 0)), ({"b": 200}, "1500"),
    ],
    "URLs of partial runs count": [
        {"a": many(6000), "b": 500}, ({"a": many(4900), "b": 200}, (0, 0, 1100, 0)),
    ],
    "expired URLs do not count, while a sitemap fails": [
        {"a": many(4000), "b": "b1", "f": ""},
        *(({"b": 500, "f": many(1000, f"f{run}-")}, (1000, 0, 0, 0)) for run in range(4)),
        ({"b": 200, "a": many(2999)}, (0, 0, 1001, 0)),
    ],
}


@pytest.mark.parametrize("case", HISTORIES)
def test_what_each_run_of_a_history_reports(state: Path, case: str) -> None:
    first, *runs = HISTORIES[case]
    site = World()
    edit(site, **first)
    answered = [document.entries for document in site.documents.values() if document.status == 200]
    assert {loc(name) for name in site.run(state).of("new")} == set().union(*answered)
    for change, expected, *after in runs:
        edit(site, **change)
        site.later(*after or [0 * DAY])
        run = site.run(state)
        held_back = run.stream.counts.held_back
        if isinstance(expected, tuple):
            assert (*map(len, run.reported), held_back) == expected
        else:
            marked = {mark + name for mark, names in zip("+~-", run.reported, strict=True) for name in names}
            assert marked | ({str(held_back)} - {"0"}) == {*expected.split()}
    assert site.run(state).reported == NOTHING


# --- new and unchanged URLs ---------------------------------------------------------------------


def test_the_first_time_everything_is_new_and_then_nothing(state: Path) -> None:
    site = two()
    first = site.run(state)
    assert first.reported == ({"a1", "a2", "a3", "b1", "b2", "b3"}, set(), set())
    assert str(first.stream.counts) == "6 new, 0 updated, 0 removed"
    second = site.run(state)
    assert second.reported == NOTHING
    assert site.requested == {"robots.txt": 200, "index.xml": 304, "a.xml": 304, "b.xml": 304}
    assert second.stream.complete
    assert second.stream.summary.not_modified == 3


@pytest.mark.parametrize(("has_etags", "age_seconds", "status"), [
    (False, None, 200),  # the same bytes are no change
    (False, 60, 304),
    (False, 59, 200),  # the document may change again in the second of its Last-Modified
    (True, 0, 304),  # both are sent
])
def test_unchanged_documents_are_requested_with_their_validators(
    state: Path, has_etags: bool, age_seconds: int | None, status: int
) -> None:
    site = two()
    site.has_etags = has_etags
    site.modified = None if age_seconds is None else site.now - timedelta(seconds=age_seconds)
    site.run(state)
    assert site.run(state).reported == NOTHING
    assert site.requested["a.xml"] == status


def test_a_record_of_a_new_url_is_what_urls_gives(state: Path) -> None:
    body = b"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
      xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
      <url><loc>https://shop.example/1</loc><lastmod>2026-01-01T10:00:00.25Z</lastmod><priority>0.1</priority></url>
      <url><loc>https://shop.example/2</loc><lastmod>Mon</lastmod><changefreq>daily</changefreq></url>
      <url><loc>https://shop.example/3</loc><image:image><image:loc>/i.png</image:loc></image:image></url>
      <url><loc>https://shop.example/4</loc><lastmod>0045-01</lastmod></url>
      <url><loc>https://shop.example/5</loc></url>
    </urlset>"""
    site = world(a=Document(body=body))
    with sr.urls("https://shop.example", fetcher=site) as urls:
        expected = [*urls]
    changes = site.run(state).changes
    assert [sr.to_dict(change.record) for change in changes] == [sr.to_dict(record) for record in expected]
    assert {change.change for change in changes} == {"new"}
    assert site.run(state).reported == NOTHING
    site.documents["a.xml"].body = body + b"\n"
    assert site.run(state).reported == NOTHING


def test_a_new_url_of_two_known_sitemaps_is_not_updated(state: Path) -> None:
    site = world(a=Document(entries("x")), b=Document(entries("y")))
    site.run(state)
    site.documents["a.xml"].entries |= entries("z", lastmod="2026-01-01")
    site.documents["b.xml"].entries |= entries("z", lastmod="2026-01-05")
    assert site.run(state).reported == ({"z"}, set(), set())
    assert site.run(state).reported == NOTHING
    site.documents["b.xml"].entries |= entries("z", lastmod="2026-01-06")
    (change,) = site.run(state).changes
    assert (change.change, str(change.previous_lastmod)[:10]) == ("updated", "2026-01-05")


def test_a_url_twice_in_one_document_counts_once_with_its_newest_date(state: Path) -> None:
    twice = kit.urlset(*((loc("x"), f"2026-01-{day}") for day in ("01", "03", "02")))
    site = world(a=Document(body=twice))
    (change,) = site.run(state).changes
    assert str(change.record.lastmod).startswith("2026-01-03")
    site.documents["a.xml"].body = twice + b"<!-- -->"
    assert site.run(state).reported == NOTHING


# --- updated ---------------------------------------------------------------------------------------------------


def test_changed_fields_are_updates(state: Path) -> None:
    site = world(a=Document(entries("x", "y", lastmod="2026-01-01", priority="0.5")))
    site.run(state)
    site.documents["a.xml"].entries[loc("x")] = ("2026-01-02T08:00:00Z", "0.9")
    (change,) = site.run(state).changes
    assert change.changed == ("lastmod", "lastmod_precision", "priority")
    assert str(change.previous_lastmod) == "2026-01-01 00:00:00+00:00"
    assert change.previous_lastmod_precision == "day"
    assert change.record.priority == 0.9
    assert change.record.line == 2


def test_on_lastmod_other_fields_are_no_change_but_are_remembered(state: Path) -> None:
    site = world(a=Document(entries("x", lastmod="2026-01-01", priority="0.5")))
    site.run(state)
    site.documents["a.xml"].entries = entries("x", lastmod="2026-01-01", priority="0.9")
    assert site.run(state, on="lastmod").reported == NOTHING
    assert site.run(state).reported == NOTHING
    site.documents["a.xml"].entries = entries("x", lastmod="2026-01-02", priority="0.1")
    (change,) = site.run(state, on="lastmod").changes
    assert change.changed == ("lastmod",)


@pytest.mark.parametrize(("field", "nested"), [
    ("images", "<i:image><i:loc>https://shop.example/{}.png</i:loc></i:image>"),
    ("videos", "<v:video><v:title>{}</v:title></v:video>"),
    ("news", "<n:news><n:title>{}</n:title></n:news>"),
    ("alternates", '<x:link rel="alternate" hreflang="{}" href="https://shop.example/en"/>'),
    ("mobile", "<m:mobile/>"),
])
def test_nested_values_are_compared(state: Path, field: str, nested: str) -> None:
    head = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
      xmlns:i="http://www.google.com/schemas/sitemap-image/1.1" xmlns:v="http://www.google.com/schemas/sitemap-video/1.1"
      xmlns:n="http://www.google.com/schemas/sitemap-news/0.9" xmlns:x="http://www.w3.org/1999/xhtml"
      xmlns:m="http://www.google.com/schemas/sitemap-mobile/1.0"><url><loc>https://shop.example/1</loc>"""
    site = world(a=Document(body=(head + "</url></urlset>").encode()))
    site.run(state)
    for text in ("en", "de"):
        site.documents["a.xml"].body = f"{head}{nested.format(text)}</url></urlset>".encode()
        changes = site.run(state).changes
        assert [change.changed for change in changes] == ([(field,)] if field != "mobile" or text == "en" else [])
        assert all(getattr(change.record, field) for change in changes)


def test_of_several_listings_the_newest_counts(state: Path) -> None:
    site = world(a=Document(entries("x", lastmod="2026-01-05")), b=Document(entries("x", lastmod="2026-01-01")))
    site.run(state)
    site.documents["b.xml"].entries = entries("x", lastmod="2026-01-04")
    assert site.run(state).reported == NOTHING
    site.documents["b.xml"].entries = entries("x", lastmod="2026-01-06")
    (change,) = site.run(state).changes
    assert (change.change, change.record.sitemap) == ("updated", "https://shop.example/b.xml")
    site.documents["b.xml"].entries = entries("x", lastmod="2026-01-03")
    (change,) = site.run(state).changes
    assert (change.change, change.record.sitemap) == ("updated", "https://shop.example/a.xml")


# --- moved and removed -----------------------------------------------------------------------------------------


def test_a_removed_url_has_its_last_values(state: Path) -> None:
    site = world(a=Document(entries("x", "y", lastmod="2026-01-01", priority="0.5")))
    site.run(state)
    del site.documents["a.xml"].entries[loc("x")]
    (change,) = site.run(state).changes
    assert sr.to_dict(change) == {
        "type": "change", "change": "removed", "loc": "https://shop.example/x", "lastmod": "2026-01-01T00:00:00Z",
        "lastmod_precision": "day", "changefreq": None, "priority": 0.5, "sitemap": "https://shop.example/a.xml",
    }
    assert site.run(state).reported == NOTHING
    site.documents["a.xml"].entries = entries("x", "y", lastmod="2026-01-01", priority="0.5")
    assert site.run(state).reported == ({"x"}, set(), set())


FAULTS = [{"status": 500}, {"is_cut": True}, {"status": 403}, {"body": b"<html><p>Hi</p></html>"}, {"body": b""}]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_document_that_is_not_whole_removes_nothing_anywhere(state: Path, fault: dict[str, object]) -> None:
    site = two()
    site.has_etags = False
    site.run(state)
    del site.documents["b.xml"].entries[loc("b1")]
    before = site.documents["a.xml"]
    site.documents["a.xml"] = Document({**before.entries}, **fault)  # type: ignore[arg-type]
    failed = site.run(state)
    assert failed.reported == NOTHING
    assert not failed.stream.complete
    site.documents["a.xml"] = before
    assert site.run(state).reported == (set(), set(), {"b1"})


def test_partial_document_reports_new_urls_and_stores_no_validator(state: Path) -> None:
    site = world(a=Document(entries(*(f"p{number}" for number in range(30)))))
    site.run(state)
    site.documents["a.xml"].entries = entries("new", *(f"p{number}" for number in range(29)))
    site.documents["a.xml"].is_cut = True
    assert site.run(state).reported == ({"new"}, set(), set())
    with sr.state.State(state) as opened:
        stored = {document.url: document for document in opened.documents()}["https://shop.example/a.xml"]
    assert (stored.etag, stored.complete) == (None, False)
    site.documents["a.xml"].is_cut = False
    assert site.run(state).reported == (set(), set(), {"p29"})


def test_an_entry_that_was_cut_off_is_not_updated(state: Path) -> None:
    """What it lacks may stand behind the cut; a URL that is not known yet is new all the same."""
    site = world(a=Document({loc("a1"): ("2026-01-01", "0.5"), loc("a2"): ("2026-01-02", "0.6")}))
    site.run(state)
    whole = site.documents["a.xml"]
    body = whole.text()
    for name, reported in (("a2", NOTHING), ("a3", ({"a3"}, set(), set()))):
        cut = body.replace(b"a2", name.encode())
        site.documents["a.xml"] = Document(body=cut[: cut.index(b"<lastmod>2026-01-02")])
        assert site.run(state).reported == reported
    site.documents["a.xml"] = whole
    assert site.run(state).reported == (set(), set(), {"a3"})


def test_a_failing_index_removes_nothing(state: Path) -> None:
    site = two()
    site.run(state)
    site.index.status = 500
    with pytest.raises(sr.NothingReadable):
        site.run(state)
    site.index.status = 200
    site.listed = ["b.xml"]
    site.index.is_cut = True
    with pytest.raises(sr.NothingReadable):
        site.run(state)
    site.index.is_cut = False
    assert site.run(state).reported == (set(), set(), {"a1", "a2", "a3"})


# --- missing documents -----------------------------------------------------------------------------------------


def test_child_of_an_unread_index_is_not_missing(state: Path) -> None:
    """A day without a response of the index does not count for its children."""
    site = two()
    site.run(state)
    site.index.status = 500
    with pytest.raises(sr.NothingReadable):
        site.run(state)
    site.later(2 * DAY)
    site.index.status, site.documents["a.xml"].status = 200, 404
    assert site.run(state).reported == NOTHING
    site.later(DAY)
    assert site.run(state).reported == (set(), set(), {"a1", "a2", "a3"})


def test_child_dropped_by_a_complete_index_is_gone_at_once(state: Path) -> None:
    site = two()
    site.run(state)
    site.listed = ["b.xml"]
    run = site.run(state)
    assert run.reported == (set(), set(), {"a1", "a2", "a3"})
    assert run.codes == {"X02": 1}
    assert "a.xml" not in site.requested


def test_removals_are_reported_even_if_no_document_is_readable(state: Path) -> None:
    """All children of the index have been missing for a day: the run is partial, and no failure."""
    site = two()
    site.documents["b.xml"].status = 404
    site.run(state)
    site.listed = ["b.xml"]
    site.later(DAY)
    assert site.run(state).stream.counts.held_back == 3  # the site lists nothing
    site.later(DAY)
    run = site.run(state)
    assert run.reported == (set(), set(), {"a1", "a2", "a3"})
    assert not run.stream.complete


def test_a_sitemap_that_is_no_longer_listed_is_gone_a_day_later(state: Path) -> None:
    """robots.txt is no index: it may change and name no sitemap."""
    site = two()
    site.run(state)
    index, site.index = site.index, Document(status=404)
    for later in (HOUR, DAY):
        with pytest.raises(sr.NothingReadable):
            site.run(state)
        site.later(later)
    assert site.run(state).reported == (set(), set(), {"a1", "a2", "a3", "b1", "b2", "b3"})
    with pytest.raises(sr.NothingReadable):
        site.run(state)
    site.index = index
    assert site.run(state).reported == ({"a1", "a2", "a3", "b1", "b2", "b3"}, set(), set())


# --- feeds and news --------------------------------------------------------------------------------------------


def test_news_that_leave_their_sitemap_are_not_removed(state: Path) -> None:
    body = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
      xmlns:n="http://www.google.com/schemas/sitemap-news/0.9">{}</urlset>"""
    news = "<url><loc>https://shop.example/n</loc><n:news><n:title>t</n:title></n:news></url>"
    page = "<url><loc>https://shop.example/p</loc></url>"
    site = world(a=Document(body=body.format(news + page).encode()))
    assert site.run(state).reported == ({"n", "p"}, set(), set())
    site.documents["a.xml"].body = body.format("").encode()
    assert site.run(state).stream.counts.held_back == 1
    assert site.run(state, accept_removals=True).reported == (set(), set(), {"p"})


@pytest.mark.parametrize("limits", [sr.Limits(tries=1, max_documents=2), sr.Limits(tries=1, max_index_depth=0)])
def test_children_of_an_unchanged_index_that_a_limit_leaves_out_are_not_gone(state: Path, limits: sr.Limits) -> None:
    site = two()
    site.run(state)
    run = site.run(state, limits=limits)
    assert site.requested["index.xml"] == 304
    assert (run.reported, run.stream.complete) == (NOTHING, False)
    assert site.run(state).reported == NOTHING


# --- mass removals -------------------------------------------------------------------------------------------------


# What the first and the second run find in each sitemap, and how many removals are held back then.
MASS_REMOVALS = {
    "5 to 0": ({"a": 5}, {"a": 0}, 5),
    "1 to 0": ({"a": 1}, {"a": 0}, 1),
    "2 of 3": ({"a": 3}, {"a": 1}, 0),
    "10 of 11": ({"a": 11}, {"a": 1}, 0),
    "11 of 21": ({"a": 21}, {"a": 10}, 11),
    "11 of 22, exactly half": ({"a": 22}, {"a": 11}, 0),
    "11 of 21, from two sitemaps": ({"a": 11, "b": 10}, {"a": 5, "b": 5}, 11),
    "one of two sitemaps is empty": ({"a": 3, "b": 30}, {"a": 0, "b": 30}, 3),
    "one is empty, one loses some": ({"a": 3, "b": 30}, {"a": 0, "b": 20}, 3),
    "one is empty, one loses nearly all": ({"a": 3, "b": 30}, {"a": 0, "b": 5}, 28),
    "one of two is no longer listed": ({"a": 10, "b": 10}, {"b": 10}, 0),
    "the larger one is no longer listed": ({"a": 11, "b": 10}, {"b": 10}, 11),
    "the index lists nothing": ({"a": 3, "b": 3}, {}, 6),
    "one stays, and is empty": ({"a": 3, "b": 3}, {"b": 0}, 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", MASS_REMOVALS)
def test_mass_removals_wait_for_a_second_run_a_day_later(state: Path, case: str) -> None:
    first, second, held_back = MASS_REMOVALS[case]
    site = world(**{name: many(count, name) for name, count in first.items()})
    site.run(state)
    for name in first:
        site.documents[f"{name}.xml"].entries = many(second.get(name, 0), name).entries
    site.listed = [f"{name}.xml" for name in second]
    gone = sum(first.values()) - sum(second.values())
    run = site.run(state)
    assert (len(run.of("removed")), run.stream.counts.held_back) == (gone - held_back, held_back)
    assert run.codes.get("X01", 0) == bool(held_back)
    site.later(DAY - HOUR)
    again = site.run(state)
    assert (again.reported, again.stream.counts.held_back) == (NOTHING, held_back)
    assert again.codes == ({"X01": 1} if held_back else {})
    with sr.state.State(state) as opened:
        latest = opened.runs()[0]
    assert (latest.complete, latest.held_back) == (not held_back, held_back)
    site.later(HOUR)
    last = site.run(state)
    assert (len(last.of("removed")), last.stream.counts.held_back, last.codes) == (held_back, 0, {})
    assert site.run(state).reported == NOTHING


@pytest.mark.parametrize("case", [case for case, (*_, held_back) in MASS_REMOVALS.items() if held_back])
def test_urls_that_return_while_held_back_are_not_new(state: Path, case: str) -> None:
    first, second, _ = MASS_REMOVALS[case]
    site = world(**{name: many(count, name) for name, count in first.items()})
    site.run(state)
    documents, site.documents = site.documents, {f"{name}.xml": many(count, name) for name, count in second.items()}
    listed, site.listed = site.listed, [*site.documents]
    removed = site.run(state).of("removed")
    site.documents, site.listed = documents, listed
    assert site.run(state).reported == (removed, set(), set())
    site.later(2 * DAY)
    assert site.run(state).reported == NOTHING


@pytest.mark.parametrize("case", [case for case, (*_, held_back) in MASS_REMOVALS.items() if held_back])
def test_accepted_removals_are_not_held_back(state: Path, case: str) -> None:
    first, second, _ = MASS_REMOVALS[case]
    site = world(**{name: many(count, name) for name, count in first.items()})
    site.run(state)
    site.documents |= {f"{name}.xml": many(count, name) for name, count in second.items()}
    site.listed = [f"{name}.xml" for name in second]
    run = site.run(state)
    accepted = site.run(state, accept_removals=True)
    assert len(run.of("removed") | accepted.of("removed")) == sum(first.values()) - sum(second.values())
    assert (accepted.stream.counts.held_back, accepted.stream.complete) == (0, True)
    assert site.run(state).reported == NOTHING


def test_removals_that_are_held_back_say_why(state: Path) -> None:
    hint = "removed if a run 24 hours later finds the same, or with --accept-removals (accept_removals=True)"
    site = world(a=many(3, "a"), b=many(30, "b"))
    site.run(state)
    for name, count, lost in (
        ("a", 0, "3 URLs are no longer listed, as its sitemap lists nothing now"),
        ("b", 5, "28 URLs are no longer listed, over half of all"),
        ("b", 0, "33 URLs are no longer listed, and no other is"),
    ):
        site.documents[f"{name}.xml"] = many(count, name)
        (problem,) = site.run(state).stream.problems.samples
        assert problem.code == "X01"
        assert str(problem) == f"X01 https://shop.example/: {lost}: held back; {hint}"


def test_a_urlset_that_becomes_an_index_has_not_lost_its_urls(state: Path) -> None:
    site = world(a=many(5, "a"), b=many(20, "b"))
    site.run(state)
    site.documents["c.xml"] = many(4, "a")
    site.documents["a.xml"].body = kit.index(loc("c.xml"))
    assert site.run(state).reported == (set(), set(), {"a4"})


def test_an_index_that_lists_nothing_beside_another_is_held_back(state: Path) -> None:
    """Its children were not left out by choice; those of the other index were."""

    def index(*names: str) -> Document:
        return Document(body=kit.index(*map(loc, names)))

    site = world(one=index("a.xml"), two=index("b.xml", "c.xml"))
    site.documents |= {f"{name}.xml": many(4, name) for name in "abc"}
    site.run(state)
    site.documents["one.xml"], site.documents["two.xml"] = index(), index("c.xml")
    for later in (HOUR, DAY - HOUR):
        run = site.run(state)
        assert run.stream.counts.held_back == 4
        site.later(later)
    assert site.run(state).reported == (set(), set(), {f"a{number}" for number in range(4)})


def test_urls_that_new_settings_exclude_are_no_empty_sitemap(state: Path) -> None:
    """But most of a site is held back with other settings, too."""
    site = world(a=many(5, "a"), b=many(15, "b"))
    site.run(state)
    assert len(site.run(state, full=True, exclude="/a").of("removed")) == 5
    run = site.run(state, full=True, exclude="/b")
    assert (run.of("new"), run.stream.counts.held_back) == ({f"a{number}" for number in range(5)}, 15)


# --- validators ----------------------------------------------------------------------------------------------------

ETAG, DATE = '"1"', "Thu, 01 Jan 2026 00:00:00 GMT"
VALIDATORS = [
    (ETAG, DATE, 304),
    ('"' + "x" * 1022 + '"', None, 304),
    ("W/'x'", None, 304),
    *((etag, None, 200)
      for etag in ('"' + "x" * 1023 + '"', '"é"', '"\x1b[31m"', '"a\x7fb"', '"\xff"', '"\x85"', "")),
    (None, DATE, 304),
    (None, "\x07" + DATE, 200),
    (None, "yesterday", 200),
    (ETAG, "yesterday", "etag only"),
    ('"\x07"', DATE, "date only"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("etag", "modified", "answer"), VALIDATORS)
@pytest.mark.parametrize("is_old", [False, True])
def test_a_validator_that_cannot_be_sent_is_not(
    state: Path, etag: str | None, modified: str | None, answer: int | str, is_old: bool
) -> None:
    """The sitemap is read again in each run; `is_old`: an earlier version stored the validators as they came."""
    site = two()
    site.now += DAY
    sent: list[dict[str, str]] = []
    headers = {name: value for name, value in (("etag", etag), ("last-modified", modified)) if value is not None}

    class Server:
        @asynccontextmanager
        async def fetch(self, url: str, conditions: Mapping[str, str]) -> AsyncIterator[sr.fetch.Response]:
            async with site.fetch(url, {}) as response:
                if url != loc("a.xml"):
                    yield response
                    return
                sent.append({name: value for name, value in conditions.items() if name.startswith("If-")})
                status = 304 if sent[-1] else 200
                yield sr.fetch.Response(status, headers, response.chunks, url)

    options = {"fetcher": Server(), "state": state, "clock": lambda: site.now}
    for _ in range(2):
        with sr.changes("https://shop.example", **options) as stream:  # type: ignore[arg-type]
            changes = [*stream]
        assert stream.complete
        if is_old and isinstance(answer, int):
            with closing(sqlite3.connect(state)) as db, db:
                values = [None if value is None else value.encode() for value in (etag, modified)]
                query = "UPDATE document SET etag = CAST(? AS TEXT), last_modified = CAST(? AS TEXT) WHERE url = ?"
                if modified != "yesterday":
                    db.execute(query, (*values, loc("a.xml")))
    assert changes == []
    assert sent[0] == {}
    expected = {"etag only": {"If-None-Match": etag}, "date only": {"If-Modified-Since": modified}, 200: {}}
    both = {"If-None-Match": etag, "If-Modified-Since": modified}
    assert sent[1] == expected.get(answer, {name: value for name, value in both.items() if value is not None})


# --- late verification -------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_bytes", [0, 10**6])
def test_the_urls_of_deferred_documents_may_be_on_disk(
    state: Path, monkeypatch: pytest.MonkeyPatch, memory_bytes: int
) -> None:
    """A document that lists a URL of another host ends with the crawl."""
    monkeypatch.setattr("sitemap_reader.state.sync.SPILL_MEMORY_BYTES", memory_bytes)
    foreign = {"https://other.example/": (None, None)}
    names = {"a": [f"a{n}" for n in range(50)], "b": [f"b{n}" for n in range(50)]}
    site = world(**{name: Document(entries(*pages) | foreign) for name, pages in names.items()})
    assert site.run(state).reported == ({*names["a"], *names["b"]}, set(), set())
    site.documents["a.xml"].entries.pop(loc("a7"))
    site.documents["b.xml"].entries |= entries("b8", priority="0.5")
    assert site.run(state).reported == (set(), {"b8"}, {"a7"})


# --- delivered and committed -----------------------------------------------------------------------------------


def test_leaving_early_commits_only_fully_delivered_documents(state: Path) -> None:
    site = world(a=Document(entries("a1", "a2", "a3")))
    with site.changes(state) as stream:
        first = next(iter(stream))
    assert first.record.loc == loc("a1")
    assert site.run(state).reported == ({"a1", "a2", "a3"}, set(), set())


def test_a_delivered_document_is_not_reported_again(state: Path) -> None:
    site = world(a=Document(entries("a1", "a2")), b=Document(entries("b1", "b2")))
    with site.changes(state, per_host=1) as stream:
        taken = {change.record.loc for _, change in zip(range(3), stream, strict=False)}
    rest = site.run(state).of("new")
    assert {loc(name) for name in rest} | taken == {loc(name) for name in ("a1", "a2", "b1", "b2")}
    assert len(rest) == 2


@pytest.mark.parametrize(("urls", "seconds", "commits"), [(1, 99, 5), (22, 99, 2), (1_000, 99, 1), (1_000, 0, 5)])
def test_documents_are_committed_together(
    state: Path, monkeypatch: pytest.MonkeyPatch, urls: int, seconds: int, commits: int
) -> None:
    """Each document counts as one more; the index is one, too, and the end of the run commits the rest."""
    monkeypatch.setattr("sitemap_reader.state.sync._COMMIT_URLS", urls)
    monkeypatch.setattr("sitemap_reader.state.sync._COMMIT_SECONDS", seconds)
    commit, seen = sr.state.State.commit, []
    monkeypatch.setattr(sr.state.State, "commit", lambda state: (commit(state), seen.append(1)))
    site = world(**{name: many(10, name) for name in "abc"})
    assert len(site.run(state).of("new")) == 30
    assert len(seen) == commits


def test_a_document_that_is_left_when_stored_in_part_takes_those_before_it_back(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sitemap_reader.state.urls.MAX_BATCH_URLS", 1)
    monkeypatch.setattr("sitemap_reader.state.sync._COMMIT_SECONDS", 99)
    site = world(a=many(2, "a"), b=many(5_000, "b"))
    with site.changes(state, per_host=1) as stream:
        assert len([*zip(range(4_500), stream, strict=False)]) == 4_500
    assert len(site.run(state).of("new")) == 5_002


def test_a_dry_run_leaves_the_state_as_it_is(state: Path) -> None:
    site = two()
    assert site.run(state, dry_run=True).reported == ({"a1", "a2", "a3", "b1", "b2", "b3"}, set(), set())
    assert not state.exists()
    site.run(state)
    before = state.read_bytes()
    del site.documents["a.xml"].entries[loc("a1")]
    assert site.run(state, dry_run=True).reported == (set(), set(), {"a1"})
    assert state.read_bytes() == before
    assert site.run(state).reported == (set(), set(), {"a1"})


def test_other_settings_need_a_full_run(state: Path) -> None:
    site = two()
    site.run(state)
    with pytest.raises(sr.UsageError, match="scope protocol before, but with scope any now; full=True"):
        site.run(state, scope="any")
    with pytest.raises(sr.UsageError, match="include none before, but with include a now"):
        site.run(state, include="a")
    assert site.run(state, include="a1", full=True).reported == (set(), set(), {"a2", "a3", "b1", "b2", "b3"})
    assert set(site.requested.values()) == {200}
    assert site.run(state, include="a1").reported == NOTHING
    run = site.run(state, include="a1", no_follow="b", full=True)
    assert (run.reported, run.codes) == (NOTHING, {})  # b.xml is filtered, and has not vanished
    # The meaning of `follow` has changed since version 0.2.
    with pytest.raises(sr.UsageError, match=r"follow none, .*follow_applies_to indexes and robots\.txt now"):
        site.run(state, include="a1", follow=lambda ref: True)


def test_changed_settings_apply_to_documents_unread_in_a_left_run(state: Path) -> None:
    """Documents read with the previous settings are not taken as unchanged."""
    site = two()
    site.run(state)

    def stop(document: sr.state.StoredDocument) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        site.run(state, include="1$", full=True, on_document=stop)  # the index has ended, its children have not
    assert site.run(state, include="1$").reported == (set(), set(), {"a2", "a3", "b2", "b3"})
    assert {site.requested["a.xml"], site.requested["b.xml"]} == {200}


def test_sites_in_one_state_are_independent(state: Path) -> None:
    site = two()
    site.run(state)
    with sr.state.State(state) as opened:
        other = {"fetcher": site, "state": opened, "clock": lambda: site.now}
        with sr.changes("https://shop.example/b.xml", **other) as stream:  # type: ignore[arg-type]
            assert len([*stream]) == 3
        with sr.changes(f"{loc('')}", **other) as stream:  # type: ignore[arg-type]
            assert [*stream] == []
        assert [(each.name, each.documents, each.urls) for each in opened.sites()] == [
            ("https://shop.example/", 3, 6),
            ("https://shop.example/b.xml", 1, 3),
        ]
        assert {record.loc for record in opened.entries("shop.example")} == {
            loc(name) for name in ("a1", "a2", "a3", "b1", "b2", "b3")
        }
        assert [run.new for run in opened.runs()] == [0, 3, 6]


def test_a_state_serves_one_stream_at_a_time(state: Path) -> None:
    """A second stream does not disturb the first."""
    site = two()
    with sr.state.State(state, create=True) as opened:
        with site.changes(opened) as first:
            one = next(iter(first))
            with pytest.raises(sr.UsageError, match=r"another stream is using .*: close that first"):
                site.changes(opened)
            assert len([one, *first]) == 6
        assert site.run(opened).reported == NOTHING


def test_mistyped_site_leaves_nothing_in_the_state(state: Path) -> None:
    site = two()
    with sr.state.State(state, create=True) as opened:
        with pytest.raises(sr.NothingReadable):
            list(sr.changes("https://shop.example/nonsense.xml", state=opened, fetcher=site))
        assert (opened.sites(), opened.runs()) == ([], [])
        site.run(opened)
        site.index.status = 500
        with pytest.raises(sr.NothingReadable):
            site.run(opened)
        assert [run.complete for run in opened.runs()] == [False, True]  # settings of a known site are kept


def test_a_state_of_a_wrong_type_raises(state: Path) -> None:
    with pytest.raises(sr.UsageError, match="state is the name of a file, or a State, not None"):
        sr.changes("shop.example", state=None)  # type: ignore[arg-type]
    opened = sr.state.State(state, create=True)
    opened.close()
    for use in (opened.sites, opened.documents, lambda: sr.changes("shop.example", state=opened)):
        with pytest.raises(sr.StateError, match=r"state\.db is closed; open it again"):
            use()


def test_patterns_may_hold_invalid_unicode(state: Path) -> None:
    """As passed by a shell."""
    site = two()
    assert site.run(state, exclude="\udcff").reported[0] == {"a1", "a2", "a3", "b1", "b2", "b3"}
    with pytest.raises(sr.UsageError, match=r"exclude \\udcff before, but with exclude none now"):
        site.run(state)


def test_possibly_reported_removal_is_reverted(state: Path) -> None:
    """A run is left after its first removal, and then the site has its pages again."""
    site = two()
    site.run(state)
    listed, site.listed = site.listed, ["b.xml"]
    with site.changes(state) as stream:
        gone = next(iter(stream))
    assert gone.change == "removed"
    site.listed = listed
    run = site.run(state)
    assert run.reported == ({"a1", "a2", "a3"}, set(), set())
    assert site.run(state).reported == NOTHING


@pytest.mark.parametrize("listed", [["a.xml", "f.xml"], ["f.xml", "a.xml"]])
def test_expired_url_is_new_after_a_possibly_reported_removal(state: Path, listed: list[str]) -> None:
    site = world(a=Document(entries("k", "a1")), f=Document(entries("k", "f1"), is_feed=True))
    site.listed = listed
    site.run(state)
    site.documents["a.xml"].entries, site.documents["f.xml"].entries = entries("a1"), entries("f1")
    with site.changes(state) as stream:
        left = [change.change for change, _ in zip(stream, range(1), strict=False)]
    site.documents["a.xml"].entries = entries("k", "a1")
    assert site.run(state).reported == ({"k"} if left else set(), set(), set())


def test_possibly_reported_removals_are_reported_again(state: Path) -> None:
    site = two()
    site.run(state)
    site.listed = ["b.xml"]
    for _ in range(2):
        with site.changes(state) as stream:
            assert next(iter(stream)).change == "removed"
    assert site.run(state).reported == (set(), set(), {"a1", "a2", "a3"})
    assert site.run(state).reported == NOTHING


def test_a_document_that_never_ended_does_not_block_removals(state: Path) -> None:
    """The run was left within that document, after another one that was committed."""
    site = two()
    with site.changes(state) as stream:
        assert len([change for change, _ in zip(stream, range(4), strict=False)]) == 4
    site.listed = ["b.xml"]
    site.documents["b.xml"].entries = entries("b9")
    run = site.run(state)
    assert run.stream.complete
    assert run.of("removed") | run.of("new") >= {"b9"}
    with sr.state.State(state) as opened:
        assert [document.url for document in opened.documents()] == [loc("index.xml"), loc("b.xml")]
