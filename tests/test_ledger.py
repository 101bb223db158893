"""What a run has brought: entered before anybody is told of it, and each document counted once."""

from __future__ import annotations

import pytest

from sitemap_reader.errors import NothingReadable
from sitemap_reader.ledger import Ledger
from sitemap_reader.problems import report
from sitemap_reader.records import Item, Outcome, UrlRecord

SITE = "https://shop.example"


def outcome(name: str, leads_to: str | None = None, *, complete: bool = True) -> Outcome:
    url = f"{SITE}/{name}"
    final_url = f"{SITE}/{leads_to}" if leads_to else url
    return Outcome(url=url, final_url=final_url, format="urlset", entries=1, complete=complete)


@pytest.mark.parametrize("name", ["on_item", "on_outcome"])
def test_all_of_a_batch_is_entered_though_who_is_told_of_it_raises(name: str) -> None:
    def hear(item: object) -> None:
        raise LookupError

    ledger = Ledger(**{name: hear})
    with pytest.raises(LookupError):
        ledger.take([outcome("a.xml"), report("D01", "no date"), outcome("b.xml", complete=False)], UrlRecord)
    assert [each.url for each in ledger.outcomes] == [f"{SITE}/a.xml", f"{SITE}/b.xml"]
    assert (len(ledger.problems), ledger.complete) == (1, False)


def test_items_are_told_in_their_order_and_records_passed_on() -> None:
    heard: list[Item] = []
    first, second, record = report("D01", "one"), outcome("a.xml"), UrlRecord(f"{SITE}/1")
    assert Ledger(on_item=heard.append).take([first, record, second], UrlRecord) == [record]
    assert heard == [first, second]


@pytest.mark.parametrize(
    ("outcomes", "sitemaps"),
    [
        ([outcome("a.xml"), outcome("b.xml")], 2),
        ([outcome("b.xml", "a.xml"), outcome("a.xml")], 1),
        ([outcome("a.xml", "c.xml"), outcome("b.xml", "c.xml")], 1),
        ([outcome("a.xml", "c.xml"), outcome("b.xml", "c.xml"), outcome("d.xml", "b.xml")], 1),
    ],
)
def test_documents_that_lead_to_one_place_count_once(outcomes: list[Item], sitemaps: int) -> None:
    ledger = Ledger()
    ledger.take(outcomes, UrlRecord)
    assert ledger.summary().sitemaps == sitemaps


def test_what_was_left_out_as_asked_beside_what_failed_is_a_part_and_not_nothing() -> None:
    read, failed = outcome("s.xml"), outcome("no.xml", complete=False)
    read.dropped, failed.entries = {"date": 1}, 0
    ledger, nothing = Ledger(), Ledger()
    ledger.take([read, failed], UrlRecord)
    nothing.take([failed], UrlRecord)
    assert ledger.verdict("shop.example") is None
    assert ledger.summary().partial_line() == "partial: 1 sitemap could not be read"
    assert isinstance(nothing.verdict("shop.example"), NothingReadable)
