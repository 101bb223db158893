"""SummaryBuilder: items are counted before callbacks run, and each document once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sitemap_reader import Item, NothingReadable, Outcome, UrlRecord, UrlSet
from sitemap_reader.client import SummaryBuilder
from sitemap_reader.model import UrlBatch, report
from sitemap_reader.parser import batch_of

SITE = "https://shop.example"


def outcome(name: str, leads_to: str | None = None, *, complete: bool = True) -> Outcome:
    url = f"{SITE}/{name}"
    final_url = f"{SITE}/{leads_to}" if leads_to else url
    return Outcome(url=url, final_url=final_url, format="urlset", entries=1, complete=complete)


@pytest.mark.parametrize("name", ["on_item", "on_outcome"])
def test_whole_batch_is_counted_if_the_callback_raises(name: str) -> None:
    def receive(item: object) -> None:
        raise LookupError

    ledger = SummaryBuilder(**{name: receive})
    with pytest.raises(LookupError):
        ledger.record([outcome("a.xml"), report("D01", "no date"), outcome("b.xml", complete=False)])
    assert [each.url for each in ledger.outcomes] == [f"{SITE}/a.xml", f"{SITE}/b.xml"]
    assert (len(ledger.problems), ledger.complete) == (1, False)


@pytest.mark.parametrize(("name", "kept", "samples"), [
    ("on_item", 2000, 1000), ("on_outcome", 2000, 1000), (None, 4500, 1500),
])
def test_what_is_kept_beside_a_callback_is_bounded(name: str | None, kept: int, samples: int) -> None:
    ledger = SummaryBuilder(**{name: lambda item: None} if name else {})
    ledger.record(outcome(f"{number}.xml") for number in range(3000))
    for number in range(1500):
        ledger.record([outcome(f"no{number}.xml", complete=False), report("F01", "gone", sitemap=f"no{number}.xml")])
    summary = ledger.summary()
    assert (summary.sitemaps, summary.incomplete, len(ledger.problems)) == (4500, 1500, 1500)
    assert (len(ledger.outcomes), len(ledger.problems.samples)) == (kept, samples)
    assert sum(not each.complete for each in ledger.outcomes) == min(kept - 1000, 1500)
    assert isinstance(ledger.verdict("shop.example"), NothingReadable)


@pytest.mark.parametrize(("outcomes", "sitemaps"), [
    ([outcome("a.xml"), outcome("b.xml")], 2),
    ([outcome("b.xml", "a.xml"), outcome("a.xml")], 1),
    ([outcome("a.xml", "c.xml"), outcome("b.xml", "c.xml")], 1),
    ([outcome("a.xml", "c.xml"), outcome("b.xml", "c.xml"), outcome("d.xml", "b.xml")], 1),
])
def test_documents_with_the_same_final_url_count_once(outcomes: list[Item], sitemaps: int) -> None:
    ledger = SummaryBuilder()
    ledger.record(outcomes)
    assert ledger.summary().sitemaps == sitemaps


def test_filtered_urls_beside_failures_are_a_partial_result() -> None:
    read, failed = outcome("s.xml"), outcome("no.xml", complete=False)
    read.dropped, failed.entries = {"date": 1}, 0
    ledger, nothing = SummaryBuilder(), SummaryBuilder()
    ledger.record([read, failed])
    nothing.record([failed])
    assert ledger.verdict("shop.example") is None
    assert ledger.summary().partial_line() == "partial: 1 sitemap could not be read"
    assert isinstance(nothing.verdict("shop.example"), NothingReadable)


# --- URLs ---


def urls(*names: str, **fields: Any) -> UrlBatch:
    records = [UrlRecord(f"{SITE}/{name}", sitemap=f"{SITE}/s.xml", **fields) for name in names]
    return batch_of(f"{SITE}/s.xml", records)


def locs(given: UrlBatch) -> list[str]:
    return [record.loc.removeprefix(f"{SITE}/") for record in given.records()]


def test_urls_are_counted_and_given_as_they_are() -> None:
    ledger, some = SummaryBuilder(), urls("a", "b", "a")
    assert ledger.count_batch(some) is some
    assert ledger.progress.urls == ledger.summary().urls == 3
    assert ledger.summary().repeated == 0


@pytest.mark.parametrize(("limit", "given", "is_full"), [
    (1, ["a"], True), (3, ["a", "b", "c"], True), (4, ["a", "b", "c", "d"], True), (6, [*"abcde"], False),
])
def test_urls_are_limited(limit: int, given: list[str], is_full: bool) -> None:
    ledger, one_by_one = SummaryBuilder(limit=limit), SummaryBuilder(limit=limit)
    taken = [locs(ledger.count_batch(some)) for some in (urls("a", "b"), urls("c"), urls("d", "e"))]
    assert [loc for some in taken for loc in some] == [loc for loc in "abcde" if one_by_one.count_url(loc)] == given
    for each in (ledger, one_by_one):
        assert each.summary().urls == len(given)
        assert each.is_full is is_full


def test_unique_urls_share_one_url_set() -> None:
    seen = UrlSet()
    one, two = SummaryBuilder(seen=seen), SummaryBuilder(seen=seen)
    assert locs(one.count_batch(urls("a", "b", "a"))) == ["a", "b"]
    assert locs(two.count_batch(urls("b", "c"))) == ["c"]
    assert [(each.summary().urls, each.summary().repeated) for each in (one, two)] == [(2, 1), (1, 1)]


def test_urls_beyond_the_limit_are_not_added_to_the_url_set() -> None:
    seen = UrlSet()
    one, two = SummaryBuilder(seen=seen, limit=2), SummaryBuilder(seen=seen)
    assert locs(one.count_batch(urls("a", "a", "b", "a", "c"))) == ["a", "b"]
    assert (one.summary().urls, one.summary().repeated) == (2, 1)
    assert locs(two.count_batch(urls("c"))) == ["c"]


def test_limited_urls_keep_what_they_state() -> None:
    dated = {"lastmod": datetime(2024, 1, 31, tzinfo=UTC), "lastmod_precision": "day"}
    some, rich = urls("a", "b", **dated), urls("a", "b", **dated, mobile=True)
    assert SummaryBuilder(limit=1).count_batch(some).records() == some.records()[:1]
    assert SummaryBuilder(limit=1).count_batch(rich).records() == rich.records()[:1]
    assert SummaryBuilder(seen=UrlSet()).count_batch(rich).records() == rich.records()


def test_batch_returns_urls_and_counts_everything_else() -> None:
    received: list[Item] = []
    problem, some, ended = report("D01", "one"), urls("a"), outcome("a.xml")
    ledger = SummaryBuilder(on_item=received.append)
    assert ledger.record([problem, some, ended]) == [some]
    assert received == [problem, ended]
    assert ledger.outcomes == [ended]
