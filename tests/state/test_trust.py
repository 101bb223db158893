"""trust_lastmod: children are not requested if their index is trusted, and its dates are checked."""

from pathlib import Path

import pytest
from changing_sites import DAY, HOUR, NOTHING, Document, World, entries

import sitemap_reader as sr
from sitemap_reader import Outcome


@pytest.fixture
def site() -> World:
    """Two documents that their index dates."""
    documents = {f"{name}.xml": Document(entries(f"{name}1"), lastmod="2025-12-01") for name in "ab"}
    return World(documents, listed=[*documents])


def publish(site: World, number: int) -> None:
    """Publishes a new page, with a new date in the index."""
    site.documents["a.xml"].entries |= entries(f"new{number}")
    site.documents["a.xml"].lastmod = f"{site.now - DAY:%Y-%m-%dT%H:%M:%SZ}"


def trust_of(state: Path, name: str) -> sr.frontier.LastmodTrust:
    with sr.state.State(state) as opened:
        return {document.url.rpartition("/")[2]: document.lastmod_trust for document in opened.documents()}[name]


def prove(site: World, state: Path, changes: int) -> None:
    """Runs with an index that dates so many changes correctly."""
    site.run(state)
    for number in range(changes):
        site.later(3 * HOUR)
        publish(site, number)
        assert site.run(state).of("new") == {f"new{number}"}


@pytest.mark.parametrize(("changes", "requested"), [(2, True), (3, False)])
def test_trust_auto_needs_three_correct_changes(state: Path, site: World, changes: int, requested: bool) -> None:
    prove(site, state, changes)
    site.later(3 * HOUR)
    run = site.run(state)
    assert run.reported == NOTHING
    assert ("a.xml" in site.requested) is requested
    assert ("b.xml" in site.requested) is requested
    assert run.stream.summary.not_modified == 3


def test_trust_auto_requests_again_after_a_day(state: Path, site: World) -> None:
    prove(site, state, 3)
    site.documents["b.xml"].entries |= entries("undated")  # the index date does not change
    site.later(20 * HOUR)
    assert site.run(state).reported == NOTHING
    site.later(5 * HOUR)
    assert site.run(state).reported == ({"undated"}, set(), set())
    assert trust_of(state, "index.xml").reasons == ("25% of the changes did not change the lastmod",)
    site.later(HOUR)
    site.run(state)
    assert "b.xml" in site.requested  # the index is no longer trusted


def test_trust_auto_requests_recently_changed_documents(state: Path, site: World) -> None:
    """Within twelve hours after the day of its lastmod the document may have changed again on that day."""
    prove(site, state, 3)
    site.documents["b.xml"].lastmod = f"{site.now:%Y-%m-%d}"
    site.documents["b.xml"].entries |= entries("today")
    assert site.run(state).reported == ({"today"}, set(), set())
    site.later(HOUR)
    site.run(state)
    assert "b.xml" in site.requested
    assert "a.xml" not in site.requested


def test_trust_always_relies_on_the_index(state: Path, site: World) -> None:
    site.run(state)
    site.documents["a.xml"].entries |= entries("undated")
    site.later(30 * DAY)
    run = site.run(state, trust_lastmod="always")
    assert run.reported == NOTHING
    assert set(site.requested) == {"robots.txt", "index.xml"}
    skipped: Outcome = run.outcomes["a.xml"]
    assert (skipped.not_modified, skipped.status, skipped.format) == (True, None, "urlset")
    assert site.run(state, trust_lastmod="never").reported == ({"undated"}, set(), set())


def test_undated_documents_are_always_requested(state: Path, site: World) -> None:
    site.documents["a.xml"].lastmod = None
    site.run(state)
    site.run(state, trust_lastmod="always")
    assert site.requested["a.xml"] == 304
    assert "b.xml" not in site.requested


def test_full_requests_all_documents(state: Path, site: World) -> None:
    site.run(state)
    assert site.run(state, trust_lastmod="always", full=True).reported == NOTHING
    assert site.requested == {"robots.txt": 200, "index.xml": 200, "a.xml": 200, "b.xml": 200}


def test_a_document_that_was_read_in_part_is_not_trusted(state: Path, site: World) -> None:
    site.run(state)
    site.documents["a.xml"].is_cut = True
    site.documents["a.xml"].entries |= entries("more")
    site.documents["a.xml"].lastmod = "2025-12-05"
    site.run(state)
    site.documents["a.xml"].is_cut = False
    assert site.run(state, trust_lastmod="always").reported[2] == set()
    assert site.requested["a.xml"] == 200


def test_unrequested_index_keeps_its_children(state: Path) -> None:
    """An index within an index, skipped whole."""
    outer = World({"a.xml": Document(entries("a1"), lastmod="2025-12-01")}, listed=["a.xml"])
    inner = outer.documents["inner.xml"] = Document(lastmod="2025-12-01")
    inner.body = outer._index()
    outer.listed = ["inner.xml"]
    outer.run(state)
    run = outer.run(state, trust_lastmod="always")
    assert run.reported == NOTHING
    assert set(outer.requested) == {"robots.txt", "index.xml"}
    unchanged = {name for name, outcome in run.outcomes.items() if outcome.not_modified}
    assert unchanged == {"index.xml", "inner.xml", "a.xml"}
    assert outer.run(state).reported == NOTHING
    assert outer.requested["a.xml"] == 304


def test_wrong_index_dates_are_detected(state: Path, site: World) -> None:
    """Each run the index has new dates, and nothing has changed."""
    for day in range(1, 5):
        for document in site.documents.values():
            document.lastmod = f"2025-12-{day:02}"
        site.run(state)
        site.later(DAY)
    assert trust_of(state, "index.xml").reasons == ("100% of the changes changed only the lastmod",)


def test_dates_of_pages_are_scored(state: Path) -> None:
    site = World({"a.xml": Document(entries(*(f"p{n}" for n in range(20)), lastmod="2026-01-01T00:00:10Z"))})
    site.listed = ["a.xml"]
    received: list[sr.state.StoredDocument] = []
    site.run(state, on_document=received.append)
    assert [str(document.lastmod_trust) for document in received if document.format == "urlset"] == [
        "0.00 (100% have the same lastmod, 2026-01-01T00:00:10Z: a build or an import; "
        "100% have the time of the request as their lastmod)"
    ]
    site.documents["a.xml"].entries = entries(*(f"q{n}" for n in range(9)), lastmod="2027-01-01")
    site.run(state)
    assert trust_of(state, "a.xml") == sr.frontier.LastmodTrust(0.0, ("100% have a lastmod in the future",), 1.0)


def test_changes_under_the_same_date_are_detected(state: Path) -> None:
    pages = {f"https://shop.example/p{n}": (f"2025-12-{n + 1:02}", "0.5") for n in range(4)}
    site = World({"a.xml": Document(dict(pages))}, listed=["a.xml"])
    site.run(state)
    site.documents["a.xml"].entries |= {url: (day, "0.6") for url, (day, _) in [*pages.items()][:1]}
    site.run(state)
    assert trust_of(state, "a.xml").reasons == ("100% of the changes did not change the lastmod",)


def test_regenerated_sitemap_is_detected(state: Path) -> None:
    """All dates change at once, and nothing else."""
    site = World({"a.xml": Document()}, listed=["a.xml"])
    for day in (1, 2):
        site.documents["a.xml"].entries = {
            f"https://shop.example/p{n}": (f"2025-12-{day:02}T{n:02}:00:00Z", None) for n in range(20)
        }
        site.run(state)
    assert trust_of(state, "a.xml").reasons == ("100% of the changes changed only the lastmod",)


def test_a_sitemap_that_was_gone_is_read_when_it_is_back(state: Path, site: World) -> None:
    """With any index date: its URLs were reported as removed."""
    site.run(state)
    site.documents["a.xml"].status = 404
    for removed in (set(), {"a1"}):
        site.later(DAY)
        assert site.run(state).of("removed") == removed
    site.documents["a.xml"].status = 200
    assert site.run(state, trust_lastmod="always").reported == ({"a1"}, set(), set())


@pytest.mark.parametrize(("most", "status"), [(2, 304), (1, 200)])
def test_an_index_of_very_many_children_is_read_anew(
    state: Path, site: World, monkeypatch: pytest.MonkeyPatch, most: int, status: int
) -> None:
    """The children are not stored, so a 304 would lose them."""
    monkeypatch.setattr("sitemap_reader.state.documents._MAX_CHILDREN", most)
    site.run(state)
    site.documents["b.xml"].entries |= entries("new")
    assert site.run(state).reported == ({"new"}, set(), set())
    assert site.requested["index.xml"] == status


@pytest.mark.parametrize(("alike", "percent", "score"), [(15, 50, 0.5), (20, 67, 0.333)])
def test_dates_of_an_index_are_counted_by_child(state: Path, alike: int, percent: int, score: float) -> None:
    """Each date with its number of occurrences."""
    dates = ["2025-12-01"] * alike + [f"2025-11-{number:02}" for number in range(1, 31 - alike)]
    documents = {f"{number}.xml": Document(entries(f"p{number}"), lastmod=date) for number, date in enumerate(dates)}
    site = World(documents, listed=[*documents])
    site.run(state)
    trust = trust_of(state, "index.xml")
    assert trust.score == score
    assert [reason.partition(",")[0] for reason in trust.reasons] == [f"{percent}% have the same lastmod"]
