"""The rules that compare a document with its previous version, without a database."""

from __future__ import annotations

import pytest

import sitemap_reader as sr
from sitemap_reader.frontier.lastmod_trust import History
from sitemap_reader.parser.fast_scanner import Entries
from sitemap_reader.serialize.jsonl import Lines
from sitemap_reader.state.diff_rules import DocumentChanges, PreviousListings, change_pieces, deduplicate
from sitemap_reader.state.document_buffer import LastmodCounts
from sitemap_reader.state.rows import Keys, Listing, UrlColumns, columns_of_records

KEYS = Keys(b"0123456789abcdef")
MAP = "https://a.example/map.xml"
LISTED, LEFT_OPEN, EXPIRED = 0, 1, 2  # as in the queries of urls.py


def listing(document: int, lastmod: int | None = None, priority: str | None = None) -> Listing:
    return Listing(document, lastmod, None if lastmod is None else 4, None, priority, None)


def stated(*names: str, **fields: object) -> UrlColumns:
    return columns_of_records([sr.UrlRecord(f"https://a.example/{name}", line=1, **fields) for name in names], KEYS)  # type: ignore[arg-type]


# --- previous listings ---


def test_expired_listing_counts_only_without_another() -> None:
    here, there, left, expired = (listing(number) for number in range(4))
    ways = [(EXPIRED, expired), (LISTED, there), (LEFT_OPEN, left)]
    assert PreviousListings({7: here}, {7: ways}).counted(7) == [here, there, left]
    assert PreviousListings({}, {7: ways}).counted(7) == [there, left]
    assert PreviousListings({}, {7: [(EXPIRED, expired)]}).counted(7) == [expired]
    assert PreviousListings({7: here}).counted(7) == [here]


def test_previous_listing_by_the_same_document_does_not_count() -> None:
    there, left, expired = listing(1), listing(2), listing(3)
    before = PreviousListings({}, {7: [(LISTED, there), (LEFT_OPEN, left), (EXPIRED, expired)]})
    assert before.counted_elsewhere(7, document=9) == [there, left]
    assert before.counted_elsewhere(7, document=2) == [there]
    assert before.counted_elsewhere(8, document=9) == []


# --- a URL that is listed twice ---


def priorities(some: list[UrlColumns]) -> list[str | None]:
    return [priority for each in some for priority in each.priorities]


@pytest.mark.parametrize(("first", "second", "kept"), [(5, 4, "0.1"), (4, 5, "0.2"), (4, 4, "0.1"), (None, 4, "0.2")])
def test_newest_listing_counts_or_the_first_of_equal_ones(first: int | None, second: int | None, kept: str) -> None:
    one, other = (
        stated("x", priority=priority)._replace(lastmods=[lastmod], precisions=[None if lastmod is None else 4])
        for lastmod, priority in ((first, 0.1), (second, 0.2))
    )
    assert priorities(deduplicate([one, other], {}, frozenset())) == [kept]


@pytest.mark.parametrize(("lastmod", "counts"), [(4, False), (5, False), (6, True)])
def test_stored_listing_counts_as_the_first(lastmod: int, counts: bool) -> None:
    one = stated("x", priority=0.5)._replace(lastmods=[lastmod], precisions=[4])
    key = one.keys[0]
    own = {key: listing(1, 5)}
    assert bool(priorities(deduplicate([one], own, frozenset({key})))) is counts
    assert priorities(deduplicate([one], own, frozenset())) == ["0.5"], "it is in the state, and not listed yet"


# --- how a document changes ---


def test_changes_are_counted_by_the_fields_changed_with_lastmod() -> None:
    seen = DocumentChanges()
    old = listing(1, 5, "0.5")
    for new in (listing(1, 6, "0.4"), listing(1, 6, "0.5"), listing(1, 7, "0.5"), listing(1, 5, "0.1"), old):
        seen.count(old, new)
    seen.count(listing(1, None, "0.5"), listing(1, None, "0.4"))  # without a lastmod it cannot have changed
    assert (seen.both, seen.lastmod_only, seen.entry_only) == (1, 2, 1)


@pytest.mark.parametrize(("entries", "lastmod_only"), [(3, 42), (4, 40)])
def test_lastmods_that_change_alone_count_where_most_do(entries: int, lastmod_only: int) -> None:
    before = History(both=10, lastmod_only=40, entry_only=20)
    now = DocumentChanges(both=1, lastmod_only=2, entry_only=3).update_history(before, entries)
    assert (now.both, now.lastmod_only, now.entry_only) == (11, lastmod_only, 23)


@pytest.mark.parametrize(
    ("seconds", "future", "at_fetch"),
    [
        (-61, 0, 0),  # before the request
        (-60, 0, 1),
        (30, 0, 1),
        (100 + 60, 0, 1),  # the response took 100 seconds
        (100 + 61, 1, 0),
    ],
)
def test_dates_near_the_request_and_in_the_future(seconds: int, future: int, at_fetch: int) -> None:
    """A margin of a minute, for clocks that are wrong."""
    began = 1_800_000_000
    for number, precision in ((began + seconds, 4), ((began + seconds) * 1_000_000, 5)):
        dates = LastmodCounts(began)
        dates.add(stated("x")._replace(lastmods=[number], precisions=[precision]), began + 100)
        assert (dates.entries, dates.dated, dates.future, dates.at_fetch) == (1, 1, future, at_fetch)


def test_date_without_a_time_is_no_request_time() -> None:
    dates = LastmodCounts(1_800_000_000)
    dates.add(stated("x", "y")._replace(lastmods=[1_800_000_000, None], precisions=[2, None]), 1_800_000_000)
    assert (dates.entries, dates.dated, dates.at_fetch) == (2, 1, 0)


# --- new ones ---


def test_new_urls_come_in_their_order_whether_plain_or_not() -> None:
    records = [
        sr.UrlRecord(f"https://a.example/{number}", mobile=number in (2, 3, 6), line=number) for number in range(8)
    ]
    reported: list[str] = []
    kinds: list[type] = []
    for piece in change_pieces(columns_of_records(records, KEYS), MAP):
        kinds.append(type(piece))
        if isinstance(piece, Entries):
            assert piece.sitemap == MAP
            reported += piece.columns.locs
        elif isinstance(piece, Lines):
            lines = piece.data.splitlines()
            assert len(lines) == piece.urls
            reported += [sr.from_json(line).loc for line in lines]  # type: ignore[union-attr]
    assert reported == [record.loc for record in records]
    assert kinds == [Entries, Lines, Entries, Lines, Entries]


def test_mixed_urls_are_split_by_kind() -> None:
    plain = stated("x", "y")
    assert [type(piece) for piece in change_pieces(plain, MAP)] == [Entries]
    (piece,) = change_pieces(stated("", mobile=True), MAP)
    assert isinstance(piece, Lines)
