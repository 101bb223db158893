"""Values that depend on when and how a Snapshot was read: ages, future dates, filters."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


from corpus_cases import CORPUS
from kit import dump

import sitemap_reader as sr
from sitemap_reader import Snapshot
from sitemap_reader.analysis import SnapshotMetadata, TableBuilder, loaded
from sitemap_reader.parser import batch_of
from sitemap_reader.serialize import in_batches
from sitemap_reader.statistics import Statistics

BEGAN = datetime(2026, 11, 2, 10, tzinfo=UTC)
SHOP = CORPUS / "sites" / "shop"
MARKET = CORPUS / "market"


def pages(*moments: datetime, precision: Any = "second") -> list[sr.UrlRecord]:
    return [
        sr.UrlRecord(f"https://a.example/{number}", moment, precision, sitemap="https://a.example/s.xml", line=number)
        for number, moment in enumerate(moments)
    ]


def read_from(records: Iterable[sr.UrlRecord], began: datetime, until: datetime) -> Snapshot:
    builder = TableBuilder()
    builder.add_urls(batch_of("https://a.example/s.xml", records), "a.example")
    tables = builder.tables()
    return Snapshot("a.example", lambda: tables, SnapshotMetadata(began, until, complete=True))


# --- long crawls ---


def test_future_begins_at_the_end_of_the_crawl() -> None:
    """A site that takes two hours may change in that time; its dates are not wrong then."""
    moments = [BEGAN - timedelta(days=number + 1) for number in range(18)]
    during, ahead = [BEGAN + timedelta(minutes=90)] * 5, BEGAN + timedelta(hours=3)
    snapshot = read_from(pages(*moments, *during, ahead), BEGAN, BEGAN + timedelta(hours=2))
    (row,) = snapshot.lastmod_trust().to_dict("records")
    assert (row["future"], row["at_fetch"]) == (1, 5)


def test_date_without_a_time_is_no_request_time(tmp_path: Path) -> None:
    path = dump(tmp_path / "urls.jsonl", *pages(*[datetime(2026, 11, 2, 23, 55, tzinfo=UTC)] * 12))
    on_day = sr.load(path, at="2026-11-02")
    assert on_day.lastmod_trust()["at_fetch"].tolist() == [0]
    assert on_day.read_on == "2026-11-02"
    assert "read 2026-11-02:" in on_day._repr_html_()
    at_once = sr.load(path, at="2026-11-02T23:55:00Z")
    assert at_once.lastmod_trust()["at_fetch"].tolist() == [12]
    assert at_once.read_on == "2026-11-02 23:55 UTC"


@pytest.mark.parametrize("minutes", [-5, 5, 9, 11, 60])
@pytest.mark.parametrize("precision", ["second", "day"])
def test_stats_and_snapshot_agree_on_future_dates(minutes: int, precision: str) -> None:
    moment = BEGAN + timedelta(minutes=minutes)
    if precision == "day":
        moment = (moment + timedelta(days=1 + (minutes > 9))).replace(hour=0, minute=0)
    records = pages(*[moment] * 3, precision=precision)
    statistics = Statistics(BEGAN)
    statistics.add(batch_of("https://a.example/s.xml", records))
    ahead = sum(fact.count for fact in statistics.facts() if fact.name == "in the future")
    snapshot = read_from(records, BEGAN, BEGAN)
    assert snapshot.lastmod_trust()["future"].sum() == ahead
    ages = snapshot.freshness().set_index("age")["pages"]
    assert ages.get("in the future", 0) == ahead


RECORDINGS = sorted(path.parent for path in [*CORPUS.glob("sites/*/site.toml"), *MARKET.glob("*/site.toml")])


@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda path: path.name)
def test_stats_and_snapshot_have_the_same_verdict_on_dates(folder: Path) -> None:
    snapshot = sr.snapshot(folder, show_progress=False)
    if len(snapshot.sites) > 1:
        pytest.skip("stats takes all sites of a target together")
    statistics = Statistics(snapshot.at)
    for item in chain.from_iterable(in_batches(snapshot.items())):  # type: ignore[arg-type] # a snapshot has no changes
        statistics.add(item)
    verdicts = [fact.name for fact in statistics.facts() if fact.group == "lastmod verdict"]
    assert all(verdict in snapshot.lastmod_trust().finding for verdict in verdicts)
    assert len(verdicts) == any(record.lastmod for record in snapshot)


# --- filters ---


@pytest.mark.slow
def test_filters_are_named_in_repr_card_and_measures(tmp_path: Path) -> None:
    site = sr.snapshot(SHOP, show_progress=False)
    posts = site.filter(include="/blog/")
    assert (len(posts.urls), posts.choice, posts.complete) == (25, "include '/blog/'", True)
    assert posts.notes == ("only some of the URLs: include '/blog/'",)
    assert "include &#x27;/blog/&#x27;" in posts._repr_html_()
    assert "only some URLs are compared (include '/blog/')" in site.churn(posts).rule
    assert "only some URLs are compared (include '/blog/')" in site.growth(posts).rule
    posts.to_parquet(tmp_path / "posts")
    assert sr.load(tmp_path / "posts").choice == posts.choice


def test_urls_that_filters_dropped_are_counted() -> None:
    site = sr.snapshot(SHOP, show_progress=False, include="/blog/", since="2020-01-01")
    assert site.choice == "since '2020-01-01', include '/blog/'"
    assert site.filter(exclude="post-1").choice == "since '2020-01-01', include '/blog/'; exclude 'post-1'"


@pytest.mark.parametrize(("requested", "choice"), [
    ({"include": ["/blog/", re.compile("/x/")]}, "include '/blog/' or '/x/'"),
    ({"exclude": iter("abcdefg")}, "exclude 'a' or 'b' or 'c' or 'd' or 'e' or 2 more"),
    ({"follow": lambda ref: True}, "follow a function"),
    ({"since": datetime(2020, 1, 1, tzinfo=UTC)}, "since 2020-01-01 00:00:00+00:00"),
    ({"until": timedelta(days=7)}, "until 7 days, 0:00:00"),
])
def test_filters_are_described_in_words(requested: dict[str, Any], choice: str) -> None:
    assert sr.snapshot(SHOP, show_progress=False, **requested).choice == choice


def test_filters_on_several_sites_are_described_in_words() -> None:
    market = sr.snapshot([MARKET / "tealeaf", MARKET / "kettle"], show_progress=False)
    both = market.filter(site=iter(["kettle.example", "tealeaf.example"]))
    rule = both.growth(market).rule
    assert "only some URLs are compared (site 'kettle.example' or 'tealeaf.example')" in rule
    assert "[" not in rule


def test_an_iterator_of_patterns_holds_for_every_site() -> None:
    some = sr.snapshot([MARKET / "tealeaf", MARKET / "kettle"], show_progress=False, include=iter(["/no-such-page/"]))
    assert (len(some.urls), some.choice) == (0, "include '/no-such-page/'")
    market = sr.snapshot(MARKET / "kettle", show_progress=False)
    assert market.filter(include=iter(["/blog/"])).choice == "include '/blog/'"


# --- arguments of snapshot() ---


def test_no_site_is_read_if_one_target_is_invalid() -> None:
    received: list[object] = []
    with pytest.raises(sr.UsageError, match="there is no file or folder /nope"):
        sr.snapshot([SHOP, "/nope"], show_progress=False, on_progress=received.append)
    assert received == []


def test_a_site_that_is_named_twice_is_read_once() -> None:
    assert len(sr.snapshot([str(SHOP), str(SHOP)], show_progress=False).urls) == 640
    assert len(sr.snapshot([SHOP, SHOP], show_progress=False).urls) == 640


@pytest.mark.parametrize("target", [None, 3, [3], [None], []])
def test_invalid_target_is_reported(target: Any) -> None:
    with pytest.raises(sr.UsageError, match="target"):
        sr.snapshot(target)


def test_unknown_keyword_is_named() -> None:
    with pytest.raises(TypeError, match=r"snapshot\(\) has no keyword site; it has "):
        sr.snapshot(SHOP, site="x")  # type: ignore[call-arg]


def test_snapshot_is_written_to_parquet_only(tmp_path: Path) -> None:
    site = sr.snapshot(SHOP, show_progress=False)
    with pytest.raises(sr.UsageError, match="a file that ends in"):
        site.to_parquet(tmp_path / "urls.csv")
    assert not list(tmp_path.iterdir())


def test_a_snapshot_can_be_pickled() -> None:
    site = sr.snapshot(SHOP, show_progress=False)
    again = pickle.loads(pickle.dumps(site))  # noqa: S301 - our own
    assert again.urls.to_arrow().equals(site.urls.to_arrow())
    assert loaded(site._tables) is site._tables


# --- with another snapshot ---


def test_dump_without_a_site_is_compared_with_the_site_of_the_other(tmp_path: Path) -> None:
    """All its URLs may be on another host than the target."""
    records = [sr.UrlRecord(f"https://www.x.example/{number}") for number in range(3)]
    old = sr.load(dump(tmp_path / "old.jsonl", *records[:2]), at="2026-10-01")
    new = sr.load(dump(tmp_path / "new.jsonl", **{"x.example": records}), at="2026-11-01")
    churn = new.churn(old)
    assert churn[["site", "new", "removed", "unchanged"]].to_numpy().tolist() == [["x.example", 1, 0, 2]]
    assert new.growth(old)["site"].tolist() == ["x.example", "x.example"]


def test_later_snapshot_is_refused_as_earlier(tmp_path: Path) -> None:
    path = dump(tmp_path / "urls.jsonl", *pages(BEGAN))
    early, late = sr.load(path, at="2026-10-01"), sr.load(path, at="2026-11-01")
    assert late.churn(early)["unchanged"].sum() == 1
    with pytest.raises(sr.UsageError, match="was read later than"):
        early.churn(late)


def test_completeness_may_be_unknown(tmp_path: Path) -> None:
    plain = sr.load(dump(tmp_path / "urls.jsonl", *pages(BEGAN)))
    assert plain.growth([])["complete"].isna().tolist() == [True]


def test_rows_of_a_measure_can_be_drawn_alone() -> None:
    sections = sr.snapshot(SHOP, show_progress=False).sections(by_language=True)
    drawn = sections.chart(sections[sections["pages"] > 100]).to_svg()
    assert "/de/" in drawn
    assert "/magazine/" not in drawn


def test_the_worst_sitemaps_come_first(tmp_path: Path) -> None:
    good = [
        sr.UrlRecord(f"https://a.example/{site}/{n}", BEGAN - timedelta(days=n), "day", sitemap=f"s{site}")
        for site in range(30)
        for n in range(3)
    ]
    bad = [sr.UrlRecord("https://a.example/bad", BEGAN + timedelta(days=9), "day", sitemap="bad")]
    trust = sr.load(dump(tmp_path / "urls.jsonl", *good, *bad), at=BEGAN).lastmod_trust()
    assert trust["sitemap"].iloc[0] == "bad"
    assert ">bad<" in trust.chart().to_svg()


def test_of_many_languages_those_with_most_links_are_drawn(tmp_path: Path) -> None:
    def page(number: int, language: str) -> sr.UrlRecord:
        links = (
            sr.Alternate("en", f"https://a.example/{number}"),
            sr.Alternate(language, f"https://a.example/x/{number}"),
        )
        return sr.UrlRecord(f"https://a.example/{number}", alternates=links)

    rare = [page(number, f"a{number}") for number in range(40)]
    frequent = [page(100 + number, "zh") for number in range(5)]
    picture = sr.load(dump(tmp_path / "urls.jsonl", *rare, *frequent)).hreflang().chart().to_svg()
    assert ">zh<" in picture
    assert "17 more columns in the table" in picture
