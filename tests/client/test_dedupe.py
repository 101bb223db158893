from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader import UrlSet
from sitemap_reader.client import summary as room


def loc(number: int) -> str:
    return f"https://example.com/page/{number}"


def bytes_of(seen: UrlSet) -> int:
    return sum(map(sys.getsizeof, [seen, seen.__dict__, seen._buckets, *seen._buckets]))


def marks_of(seen: UrlSet) -> list[bytes]:
    return [bucket[start : start + 10] for bucket in seen._buckets for start in range(0, len(bucket), 10)]


@given(st.lists(st.text(max_size=3)))
def test_url_set_agrees_with_a_set(locs: list[str]) -> None:
    seen, known = UrlSet(), set[str]()
    for each in locs:
        assert seen.add(each) == (each not in known)
        known.add(each)
        assert len(seen) == len(known)


@pytest.mark.slow
def test_added_urls_are_found_after_growth() -> None:
    seen = UrlSet()
    for number in range(30_000):
        assert seen.add(loc(number))
        assert not seen.add(loc(number // 2))
    assert not any(seen.add(loc(number)) for number in range(30_000))
    assert len(seen) == 30_000


@pytest.mark.smoke("100000")
@pytest.mark.slow
@pytest.mark.parametrize("count", [10_000, 20_000, 50_000, 100_000, 200_000])
def test_a_url_takes_16_bytes_at_most(count: int) -> None:
    seen = UrlSet()
    for number in range(count - 100):
        seen.add(loc(number))
    # Buckets are split one at a time, so memory grows evenly: a few sizes show it.
    for number in range(count - 100, count):
        seen.add(loc(number))
        if number % 7 == 0:
            assert bytes_of(seen) <= 16 * len(seen)
    assert bytes_of(seen) <= 16 * count
    assert max(map(len, seen._buckets)) < 10 * 150  # all buckets are short


def test_growth_keeps_every_mark_findable() -> None:
    seen = UrlSet()
    for number in range(5_000):
        seen.add(loc(number))
    buckets = seen._buckets
    assert len(set(marks_of(seen))) == len(marks_of(seen)) == 5_000
    for place, bucket in enumerate(buckets):
        for start in range(0, len(bucket), 10):
            number = int.from_bytes(bucket[start : start + 4], "little") & seen._mask
            assert (number if number < len(buckets) else number & (seen._mask >> 1)) == place


@pytest.mark.parametrize(("bucket", "mark", "is_held"), [
    (b"", b"0123456789", False),
    (b"0123456789", b"0123456789", True),
    (b"abcdefghij0123456789", b"0123456789", True),
    # Across the boundary of two marks, and at every offset from it.
    (b"abcde01234" b"56789fghij", b"0123456789", False),
    (b"a012345678" b"9bcdefghij", b"0123456789", False),
    (b"abcdefghi0" b"123456789j", b"0123456789", False),
    # First across a boundary, then whole; at overlapping positions.
    (b"abcde01234" b"56789fghij" b"0123456789", b"0123456789", True),
    (b"xaaaaaaaaa" b"aaaaaaaaaa", b"aaaaaaaaaa", True),
    (b"xaaaaaaaaa" b"aaaaaaaaax", b"aaaaaaaaaa", False),
])
def test_a_mark_is_found_only_where_one_begins(bucket: bytes, mark: bytes, is_held: bool) -> None:
    assert room._holds(bucket, mark) is is_held


def test_a_url_whose_mark_lies_across_two_others_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = {"a": b"aaaaaaa012", "b": b"3456789bbb", "c": b"0123456789"}

    class Chosen:
        def __init__(self, loc: str = "") -> None:
            self.loc = loc

        def copy(self) -> Chosen:
            return Chosen()

        def update(self, data: bytes) -> None:
            self.loc += data.decode()

        def digest(self) -> bytes:
            return marks[self.loc]

    seen = UrlSet()
    monkeypatch.setattr(seen, "_hash", Chosen())
    assert [seen.add(each) for each in "abcabc"] == [True, True, True, False, False, False]


def test_two_of_them_never_share_their_marks() -> None:
    first, second = UrlSet(), UrlSet()
    for number in range(100):
        first.add(loc(number))
        second.add(loc(number))
    assert not set(marks_of(first)) & set(marks_of(second))


def test_any_text_can_be_added() -> None:
    seen = UrlSet()
    assert [seen.add(each) for each in ("", "\ud800", "é", "é", "\ud800")] == [True, True, True, False, False]


@given(st.lists(st.text(max_size=3)), st.text(max_size=3))
def test_membership_test_adds_nothing(locs: list[str], other: str) -> None:
    seen = UrlSet()
    for each in locs:
        seen.add(each)
    assert (other in seen) == (other in locs)
    assert len(seen) == len({*locs})


def test_url_set_round_trip() -> None:
    seen = UrlSet()
    for number in range(1_000):
        seen.add(loc(number))
    again = UrlSet.from_bytes(seen.to_bytes())
    assert len(again) == 1_000
    assert not any(again.add(loc(number)) for number in range(1_000))
    assert again.add(loc(1_000))
    assert len(UrlSet.from_bytes(UrlSet().to_bytes())) == 0


@pytest.mark.parametrize("size", [0, 15, 17, 25, 27])
def test_bytes_that_are_no_set_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="no UrlSet"):
        UrlSet.from_bytes(bytes(size))
