"""The rules that compare a document with its previous version, without a database."""

from itertools import chain

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader.frontier import History
from sitemap_reader.parser import batch_of
from sitemap_reader.state import (
    DocumentChanges,
    Listing,
    PreviousListings,
    Rows,
    change_pieces,
    counted_places,
    new_pieces,
    pack_stated,
)

SECRET = b"0123456789abcdef"
MAP = "https://a.example/map.xml"
LISTED, LEFT_OPEN, EXPIRED = 0, 1, 2  # as in the queries of urls.py


def listing(document: int, lastmod: int | None = None, priority: float | None = None) -> Listing:
    return Listing(document, lastmod, None if lastmod is None else 4, None, priority, None)


def rows_of(*names: str) -> Rows:
    records = [sr.UrlRecord(f"https://a.example/{name}", line=1) for name in names]
    return Rows.of(batch_of(MAP, records), SECRET)


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


@pytest.mark.parametrize(("first", "second", "place"), [(5, 4, 0), (4, 5, 1), (4, 4, 0), (None, 4, 1)])
@pytest.mark.parametrize("is_one_batch", [True, False])
def test_newest_listing_counts_or_the_first_of_equal_ones(
    first: int | None, second: int | None, place: int, is_one_batch: bool
) -> None:
    dates = [first, None, second]
    stated = [pack_stated(date, None if date is None else 4, None, None) for date in dates]
    urls = attrs.evolve(rows_of("x", "y", "x"), stated=stated)
    batches = [urls] if is_one_batch else [urls.only([at == index for at in range(3)]) for index in range(3)]
    assert counted_places(lambda: batches) == {urls.keys[0]: 2 * place}


def test_urls_that_are_listed_once_have_no_place() -> None:
    assert counted_places(lambda: [rows_of("x", "y"), rows_of("z")]) == {}


# --- how a document changes ---


def test_changes_are_counted_by_the_fields_changed_with_lastmod() -> None:
    seen = DocumentChanges()
    old = listing(1, 5, 0.5)
    for new in (listing(1, 6, 0.4), listing(1, 6, 0.5), listing(1, 7, 0.5), listing(1, 5, 0.1), old):
        seen.count(old, new)
    seen.count(listing(1, None, 0.5), listing(1, None, 0.4))  # without a lastmod it cannot have changed
    assert (seen.both, seen.lastmod_only, seen.entry_only) == (1, 2, 1)


@pytest.mark.parametrize(("entries", "lastmod_only"), [(3, 42), (4, 40)])
def test_lastmods_that_change_alone_count_where_most_do(entries: int, lastmod_only: int) -> None:
    before = History(both=10, lastmod_only=40, entry_only=20)
    now = DocumentChanges(both=1, lastmod_only=2, entry_only=3).update_history(before, entries)
    assert (now.both, now.lastmod_only, now.entry_only) == (11, lastmod_only, 23)


# --- pieces ---


@pytest.mark.parametrize(("most", "sizes"), [(1, [1, 1, 1, 1]), (3, [3, 1]), (4, [4]), (1000, [4])])
def test_changes_come_in_pieces(monkeypatch: pytest.MonkeyPatch, most: int, sizes: list[int]) -> None:
    monkeypatch.setattr("sitemap_reader.state.diff_rules.MAX_PIECE_URLS", most)
    changes = [sr.Change("removed", sr.UrlRecord(f"https://a.example/{number}")) for number in range(4)]
    pieces = [*change_pieces([None, *changes[:2], None, None, *changes[2:], None])]
    assert [len(piece) for piece in pieces] == sizes
    assert [*chain.from_iterable(pieces)] == changes


def test_a_piece_of_changes_does_not_wait_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a document whose URLs are all updated is not in memory as changes."""
    monkeypatch.setattr("sitemap_reader.state.diff_rules.MAX_PIECE_URLS", 2)
    made = iter([sr.Change("removed", sr.UrlRecord(f"https://a.example/{number}")) for number in range(5)])
    next(change_pieces(made))
    assert len([*made]) == 3


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_new_urls_come_in_their_order(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("sitemap_reader.state.diff_rules.MAX_PIECE_URLS", most)
    records = [
        sr.UrlRecord(f"https://a.example/{number}", mobile=number in (2, 3, 6), sitemap=MAP, line=number)
        for number in range(8)
    ]
    reported: list[sr.UrlRecord] = []
    for piece in new_pieces(batch_of(MAP, records)):
        assert 0 < len(piece) <= most
        assert piece.sitemap == MAP
        reported += piece.records()
    assert reported == records
