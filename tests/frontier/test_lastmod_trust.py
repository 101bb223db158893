"""The lastmods of a document -> their history -> the score of trust in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.frontier import (
    Batch,
    History,
    LastmodEvidence,
    LastmodTrust,
    is_behind,
    is_proven,
    judge_history,
    needs_finding,
    total,
)
from sitemap_reader.model import PRECISIONS, SUBSECOND, lastmod_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_reader.frontier import Lastmod

READ_AT = 1_800_000_000
DAY, MINUTE, SECOND = map(PRECISIONS.index, ("day", "minute", "second"))

GOOD = History(entries=100, dated=100, both=10)
SAME, NEAR = Batch("2026-06-13", 0, 0, 60), Batch("2026-06-13", 0, 61, 50)


def test_dates_without_signs_are_trusted() -> None:
    assert judge_history(GOOD).score == 1.0
    assert judge_history(GOOD).reasons == ()


@pytest.mark.parametrize(("seen", "score", "reason"), [
    ({"dense": 60, "batches": (SAME,)}, 0.4, "60% have the same lastmod, 2026-06-13: a build or an import"),
    ({"dense": 50, "batches": (NEAR,)}, 0.5, "50% within 2 min on 2026-06-13: a build or an import"),
    ({"dense": 60, "batches": (SAME, attrs.evolve(NEAR, date="2026-01-02", count=10))}, 0.4,
     "60% on 2026-06-13, 10% within 2 min on 2026-01-02: builds or imports"),
    ({"dense": 90, "batches": (SAME,)}, 0.1,
     "90% are of the largest build or import of their sitemap, such as 60% on 2026-06-13"),
    ({"dense": 95}, 0.05, "95% within ten minutes: a build or an import"),
    ({"future": 10}, 0.9, "10% have a lastmod in the future"),
    ({"at_fetch": 100}, 0.0, "100% have the time of the request as their lastmod"),
    ({"entry_only": 10}, 0.5, "50% of the changes did not change the lastmod"),
    ({"lastmod_only": 10}, 0.75, "50% of the changes changed only the lastmod"),
    ({"lastmod_only": 990}, 0.505, "99% of the changes changed only the lastmod"),
    ({"dated": 1000, "future": 1}, 0.999, "under 1% have a lastmod in the future"),
])
def test_each_sign_lowers_the_score_and_says_why(seen: dict[str, Any], score: float, reason: str) -> None:
    verdict = judge_history(attrs.evolve(GOOD, **seen))
    assert verdict.score == pytest.approx(score)
    assert verdict.reasons == (reason,)
    if seen.get("dated", 100) == 100:
        assert str(verdict) == f"{int(score * 100) / 100:.2f} ({reason})"  # rounded down


def test_few_dates_that_are_alike_are_no_sign() -> None:
    assert judge_history(History(entries=9, dated=9, dense=9)).score == 1.0
    assert judge_history(History(entries=10, dated=10, dense=10)).score == 0.0
    assert judge_history(History(entries=4, dated=4, at_fetch=4)).score == 1.0
    assert judge_history(History(entries=5, dated=5, at_fetch=5)).score == 0.0


def test_without_dates_there_is_no_score() -> None:
    assert judge_history(History()) == LastmodTrust(None)
    assert judge_history(History(entries=4)) == LastmodTrust(None, coverage=0.0)
    assert str(judge_history(History(entries=4))) == "none (no entry has a lastmod)"


def test_coverage_stands_beside_the_score() -> None:
    few = judge_history(History(entries=100, dated=14))
    assert (few.score, few.coverage) == (1.0, 0.14)
    assert str(few) == "1.00 (only 14% have a lastmod)"


COUNTS = [field.name for field in attrs.fields(History) if field.name != "batches"]


@given(st.builds(History, **{name: st.integers(0, 50) for name in COUNTS}))
def test_a_score_lies_between_0_and_1(seen: History) -> None:
    seen = attrs.evolve(seen, dated=max(1, seen.dated, seen.dense, seen.future, seen.at_fetch))
    score = judge_history(seen).score
    assert score is not None
    assert 0.0 <= score <= 1.0


@pytest.mark.parametrize(("seen", "expected"), [
    ({"both": 2}, False),
    ({"both": 3}, True),
    ({"both": 3, "entry_only": 1}, False),
    ({"both": 30, "entry_only": 1}, True),
    ({"both": 3, "lastmod_only": 3}, False),
    ({"both": 3, "dated": 0}, False),
])
def test_index_is_trusted_after_three_correct_changes(seen: dict[str, int], expected: bool) -> None:
    assert is_proven(attrs.evolve(History(entries=5, dated=5), **seen)) is expected


# --- counting ---


def counted(
    numbers: Sequence[int | None], code: int | None = SECOND, read_at: float | None = READ_AT, parts: int = 1
) -> LastmodEvidence:
    """The evidence of these lastmods, given in so many parts."""
    evidence = LastmodEvidence()
    size = max(1, -(-len(numbers) // parts))
    for start in range(0, len(numbers), size):
        some = numbers[start : start + size]
        evidence.add(some, [None if number is None else code for number in some], read_at)
    return evidence


@pytest.mark.parametrize(("seconds", "precision", "future"), [
    (600, SECOND, 0),
    (601, SECOND, 1),
    (601, MINUTE, 1),
    (601, DAY, 0),
    (86_400, DAY, 0),
    (86_401, DAY, 1),
    (86_401, PRECISIONS.index("year"), 1),
])
def test_the_future_begins_when_no_clock_and_no_zone_can_explain_it(seconds: int, precision: int, future: int) -> None:
    evidence = counted([READ_AT + seconds, READ_AT - 86_400], precision)
    assert evidence.history().future == future
    assert evidence.history(as_of=READ_AT + 1).future == 0
    assert counted([READ_AT + seconds], precision, None).history().future == 0  # without a time to compare with


@pytest.mark.parametrize(("seconds", "at_fetch"), [
    (-100 - 61, 0),  # before the request
    (-100 - 60, 5),
    (-30, 5),
    (60, 5),
    (61, 0),
])
def test_dates_near_the_request(seconds: int, at_fetch: int) -> None:
    """A margin of a minute, for clocks that are wrong; the response took 100 seconds."""
    date = READ_AT + seconds
    for number, precision in ((date, SECOND), (date, MINUTE), (date * 1_000_000, SUBSECOND)):
        evidence = counted([number] * 5, precision)
        evidence.read(READ_AT, 100)
        assert evidence.history().at_fetch == at_fetch
    assert counted([date] * 5, read_at=None).history().at_fetch == 0
    assert counted([date] * 4).history().at_fetch == 0


def test_date_without_a_time_is_no_request_time() -> None:
    evidence = counted([READ_AT] * 5 + [None], DAY)
    assert evidence.history() == History(entries=6, dated=5)


@pytest.mark.parametrize(("numbers", "batch"), [
    ([7] * 9, None),
    ([7] * 10, Batch("1970-01-01T00:00:07Z", 7, 7, 10)),
    ([7] * 10 + [607], Batch("1970-01-01T00:00:07Z", 7, 7, 10)),
    ([7] * 10 + [606], Batch("1970-01-01", 7, 606, 11)),
    ([*range(0, 599 * 10, 599)], None),
    ([*range(0, 600, 60)], Batch("1970-01-01", 0, 540, 10)),
    ([*range(0, 610, 61)], Batch("1970-01-01", 0, 549, 10)),
    ([*range(0, 670, 67)], None),
])
def test_dates_of_a_batch_are_less_than_ten_minutes_apart(numbers: list[int], batch: Batch | None) -> None:
    history = counted(numbers).history()
    assert history.batches == (() if batch is None else (batch,))
    assert history.dense == (batch.count if batch else 0)
    assert counted([number * 1_000_000 for number in numbers], SUBSECOND).history() == history


def test_largest_three_batches_are_named_with_a_twentieth_of_the_dates_each() -> None:
    days = [86_400 * day for day in range(1, 6)]
    numbers = [days[0]] * 10 + [days[1]] * 30 + [days[2]] * 11 + [days[3]] * 12
    assert [(batch.date, batch.count) for batch in counted(numbers, DAY).history().batches] == [
        ("1970-01-03", 30), ("1970-01-05", 12), ("1970-01-04", 11),
    ]
    spread = [86_400 * day for day in range(100, 100 + 157)]
    assert len(counted([*numbers, *spread], DAY).history().batches) == 3  # 11 of 220
    assert len(counted([*numbers, *spread, 0], DAY).history().batches) == 2  # 11 of 221
    month = counted([days[0]] * 10, PRECISIONS.index("month")).history()
    assert month.batches[0].date == "1970-01"


def test_batches_of_documents_are_joined_within_ten_minutes() -> None:
    build = [counted([start + number for number in range(10)]).history() for start in (0, 300, 590, 591)]
    assert total(build[:3]).batches == (Batch("1970-01-01", 0, 599, 30),)
    assert [batch.count for batch in total(build).batches] == [30, 10]
    assert total(build).dense == 40


def test_dates_of_all_precisions_are_counted_together() -> None:
    """A day, and its first moment."""
    evidence = LastmodEvidence()
    evidence.add([86_400] * 5 + [86_400_000_000] * 5 + [None], [DAY] * 5 + [SUBSECOND] * 5 + [None])
    batch = Batch("1970-01-02", 86_400, 86_400, 10)
    assert evidence.history() == History(entries=11, dated=10, dense=10, batches=(batch,))
    assert evidence.precision is None
    assert evidence.newest() == (datetime(1970, 1, 2, tzinfo=UTC), "day")
    assert evidence.summary().latest_end == datetime(1970, 1, 3, tzinfo=UTC)


@pytest.mark.parametrize("until", [None, 12])
def test_newest_lastmod_of_those_that_are_not_later(until: int | None) -> None:
    moment = None if until is None else datetime.fromtimestamp(until, UTC)
    newest = counted([10, 12, 13, None, 11]).newest(moment)
    assert newest == (datetime.fromtimestamp(until or 13, UTC), "second")
    assert counted([13]).newest(datetime.fromtimestamp(12, UTC)) is None
    assert counted([None]).newest() is None


@given(
    st.lists(st.none() | st.integers(0, 400).map(lambda number: READ_AT - 100 + number * 37), min_size=1),
    st.integers(1, 5),
    st.integers(1, 30),
    st.sampled_from([SECOND, DAY]),
)
def test_parts_in_any_order_have_the_result_of_the_whole(
    numbers: list[int | None], parts: int, limit: int, code: int
) -> None:
    """Also with more distinct dates than are counted as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sitemap_reader.frontier.lastmod_trust._MAX_DATES", limit)
        whole = counted(numbers, code)
        merged = counted(numbers[: len(numbers) // 2], code)
        merged.merge(counted(numbers[len(numbers) // 2 :], code, parts=2))
        for other in (counted(numbers, code, parts=parts), counted(numbers[::-1], code, parts=parts), merged):
            assert (other.history(), other.summary()) == (whole.history(), whole.summary())
    assert whole.newest() == counted(numbers, code).newest()


@pytest.mark.parametrize("code", [SECOND, SUBSECOND])
def test_more_dates_than_are_counted_as_they_are(code: int) -> None:
    """12,000 dates within ten minutes, and as many days before; subsecond dates are equal within a second."""
    scale = 1_000_000 if code == SUBSECOND else 1
    numbers = [READ_AT * scale - number * scale // 21 for number in range(12_000)]
    days = [(READ_AT - 86_400 * (number + 2)) * scale for number in range(12_000)]
    assert counted(numbers, code).history().dense == 12_000
    evidence = counted(days + numbers, code, parts=7)
    assert evidence.history().dense >= 12_000
    assert evidence.newest() == (datetime.fromtimestamp(READ_AT, UTC), PRECISIONS[code])
    assert len(evidence._counts[code]) <= 10_000


def test_documents_are_judged_together_by_their_sum() -> None:
    few, many = counted([7] * 9).history(), counted([7] * 10).history()
    assert total([few, few, many]) == History(entries=28, dated=28, dense=10, batches=many.batches)


# --- rules of the audit ---


def test_findings_need_more_than_the_score_does() -> None:
    """Twenty dates, nine in ten of them; every date at the time of the request; less than half of the entries."""
    history = History(entries=20, dated=20, dense=18)
    assert needs_finding(history) == {"dense"}
    assert needs_finding(attrs.evolve(history, dense=17)) == set()
    assert needs_finding(History(entries=19, dated=19, dense=19)) == set()
    assert needs_finding(History(entries=5, dated=5, at_fetch=5)) == {"at_fetch"}
    assert needs_finding(History(entries=6, dated=6, at_fetch=5)) == set()
    assert needs_finding(History(entries=4, dated=2)) == set()
    assert needs_finding(History(entries=5, dated=2)) == {"undated"}


def test_index_is_behind_an_entry_that_no_zone_explains() -> None:
    noon = datetime(2026, 10, 1, 12, tzinfo=UTC)
    listed: Lastmod = (noon, "second")
    assert not is_behind(listed, (noon + timedelta(minutes=10), "second"))
    assert is_behind(listed, (noon + timedelta(minutes=10, seconds=1), "second"))
    assert not is_behind(listed, (noon + timedelta(hours=23), "day"))
    assert not is_behind(listed, None)
    assert lastmod_columns(*listed) == (int(noon.timestamp()), SECOND)
