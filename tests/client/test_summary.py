"""SummaryBuilder: items are counted before callbacks run, and each document once."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from sitemap_reader.client.dedupe import UrlSet
from sitemap_reader.client.summary import SummaryBuilder
from sitemap_reader.model.errors import NothingReadable
from sitemap_reader.model.problems import report
from sitemap_reader.model.records import Item, Outcome, UrlRecord
from sitemap_reader.serialize.jsonl import Lines, json_lines

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
        ledger.take([outcome("a.xml"), report("D01", "no date"), outcome("b.xml", complete=False)], UrlRecord)
    assert [each.url for each in ledger.outcomes] == [f"{SITE}/a.xml", f"{SITE}/b.xml"]
    assert (len(ledger.problems), ledger.complete) == (1, False)


def test_items_are_reported_in_order_and_records_returned() -> None:
    received: list[Item] = []
    first, second, record = report("D01", "one"), outcome("a.xml"), UrlRecord(f"{SITE}/1")
    assert SummaryBuilder(on_item=received.append).take([first, record, second], UrlRecord) == [record]
    assert received == [first, second]


@pytest.mark.parametrize(
    ("outcomes", "sitemaps"),
    [
        ([outcome("a.xml"), outcome("b.xml")], 2),
        ([outcome("b.xml", "a.xml"), outcome("a.xml")], 1),
        ([outcome("a.xml", "c.xml"), outcome("b.xml", "c.xml")], 1),
        ([outcome("a.xml", "c.xml"), outcome("b.xml", "c.xml"), outcome("d.xml", "b.xml")], 1),
    ],
)
def test_documents_with_the_same_final_url_count_once(outcomes: list[Item], sitemaps: int) -> None:
    ledger = SummaryBuilder()
    ledger.take(outcomes, UrlRecord)
    assert ledger.summary().sitemaps == sitemaps


def test_filtered_urls_beside_failures_are_a_partial_result() -> None:
    read, failed = outcome("s.xml"), outcome("no.xml", complete=False)
    read.dropped, failed.entries = {"date": 1}, 0
    ledger, nothing = SummaryBuilder(), SummaryBuilder()
    ledger.take([read, failed], UrlRecord)
    nothing.take([failed], UrlRecord)
    assert ledger.verdict("shop.example") is None
    assert ledger.summary().partial_line() == "partial: 1 sitemap could not be read"
    assert isinstance(nothing.verdict("shop.example"), NothingReadable)


# --- lines ---


def lines(*names: str, lastmod: datetime | None = None) -> Lines:
    return json_lines([UrlRecord(f"{SITE}/{name}", lastmod) for name in names])


def locs(given: Lines) -> list[str]:
    return [json.loads(line)["loc"].removeprefix(f"{SITE}/") for line in given.data.splitlines()]


def test_lines_are_counted_and_given_as_they_are() -> None:
    ledger, some = SummaryBuilder(), lines("a", "b", "a")
    assert ledger.count_lines(some) is some
    assert ledger.progress.urls == ledger.summary().urls == 3
    assert ledger.summary().repeated == 0


@pytest.mark.parametrize(
    ("limit", "given", "is_full"),
    [(1, ["a"], True), (3, ["a", "b", "c"], True), (4, ["a", "b", "c", "d"], True), (6, [*"abcde"], False)],
)
def test_lines_are_limited(limit: int, given: list[str], is_full: bool) -> None:
    ledger = SummaryBuilder(limit=limit)
    taken = [locs(ledger.count_lines(some)) for some in (lines("a", "b"), lines("c"), lines("d", "e"))]
    assert [loc for some in taken for loc in some] == given
    assert ledger.summary().urls == len(given)
    assert ledger.is_full is is_full


def test_unique_lines_share_one_url_set() -> None:
    seen = UrlSet()
    one, two = SummaryBuilder(seen=seen), SummaryBuilder(seen=seen)
    assert locs(one.count_lines(lines("a", "b", "a"))) == ["a", "b"]
    assert locs(two.count_lines(lines("b", "c"))) == ["c"]
    assert [(each.summary().urls, each.summary().repeated) for each in (one, two)] == [(2, 1), (1, 1)]


def test_lines_beyond_the_limit_are_not_added_to_the_url_set() -> None:
    seen = UrlSet()
    one, two = SummaryBuilder(seen=seen, limit=2), SummaryBuilder(seen=seen)
    assert locs(one.count_lines(lines("a", "a", "b", "a", "c"))) == ["a", "b"]
    assert (one.summary().urls, one.summary().repeated) == (2, 1)
    assert locs(two.count_lines(lines("c"))) == ["c"]


def test_only_returned_undated_lines_are_counted() -> None:
    dated = lines("c", lastmod=datetime(2024, 1, 31, tzinfo=UTC))
    both = Lines(lines("a", "b").data + dated.data, 3, 2)
    assert SummaryBuilder(limit=1).count_lines(both).undated == 1
    assert SummaryBuilder(seen=UrlSet()).count_lines(Lines(both.data * 2, 6, 4)).undated == 2


def test_batch_returns_lines_and_counts_everything_else() -> None:
    received: list[Item] = []
    problem, some, ended = report("D01", "one"), lines("a"), outcome("a.xml")
    ledger = SummaryBuilder(on_item=received.append)
    assert ledger.take([problem, some, ended], Lines) == [some]
    assert received == [problem, ended]
    assert ledger.outcomes == [ended]
