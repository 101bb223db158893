"""The lastmods of a document -> their history -> the score of trust in them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.frontier import (
    Batch,
    History,
    Lastmod,
    LastmodEvidence,
    LastmodTrust,
    is_behind,
    is_proven,
    judge_history,
    needs_finding,
    total,
)
from sitemap_reader.model import PRECISIONS, SUBSECOND, lastmod_columns
from sitemap_reader.model.records import News, UrlRecord
from sitemap_reader.model.url_batch import UrlBatch
from sitemap_reader.parser.normalise.dates import parse_date
from sitemap_reader.serialize import in_batches

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
    ({"dense": 95}, 0.05, "95% are of the largest build or import of their sitemap"),
    ({"dense": 60, "batches": (attrs.evolve(SAME, last=86_399),)}, 0.4, "60% on 2026-06-13: a build or an import"),
    ({"dense": 60, "batches": (SAME, attrs.evolve(NEAR, count=4))}, 0.4,
     "60% have the same lastmod, 2026-06-13: a build or an import"),
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


def test_a_batch_of_less_than_a_twentieth_is_no_sign() -> None:
    """Of several documents together: each of them has none so small."""
    history = History(entries=1_000, dated=1_000, dense=50, batches=(attrs.evolve(SAME, count=50),))
    assert (judge_history(history).score, len(history.named)) == (0.95, 1)
    fewer = attrs.evolve(history, dense=49, batches=(attrs.evolve(SAME, count=49),))
    assert (judge_history(fewer), fewer.named) == (LastmodTrust(1.0, (), 1.0), [])


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
    builds = [86_400 * day + 61 for day in range(1, 6)]
    numbers = [builds[0]] * 10 + [builds[1]] * 30 + [builds[2]] * 11 + [builds[3]] * 12
    history = counted(numbers).history()
    assert [(batch.date[:10], batch.count) for batch in history.named] == [
        ("1970-01-03", 30), ("1970-01-05", 12), ("1970-01-04", 11),
    ]
    assert [batch.count for batch in history.batches] == [30, 12, 11, 10]
    spread = [86_400 * day for day in range(100, 100 + 157)]
    assert len(counted([*numbers, *spread]).history().batches) == 3  # 11 of 220
    assert len(counted([*numbers, *spread, 0]).history().batches) == 2  # 11 of 221


def test_different_fractions_of_a_second_are_not_the_same_lastmod() -> None:
    batches = [counted([7_000_000] * 9 + [last], SUBSECOND).history().batches for last in (7_000_000, 7_000_001)]
    assert [[str(batch) for batch in some] for some in batches] == [
        ["1970-01-01T00:00:07Z"], ["within 1 min on 1970-01-01"],
    ]


@pytest.mark.parametrize(("number", "code", "least"), [
    (86_400, DAY, 20),
    (86_400, PRECISIONS.index("month"), 20),
    (86_400, SECOND, 20),  # midnight
    (86_400 + 5 * 1_800, MINUTE, 20),  # midnight in another zone, or the time of a planned post
    (86_400 + 5 * 1_800 + 60, MINUTE, 10),
    (86_400 + 1, SECOND, 10),
])
def test_dates_that_state_no_minute_are_a_batch_if_half_of_all_are_equal(number: int, code: int, least: int) -> None:
    """Of forty dates; many pages of a blog or of a news site are of one day."""
    others = [86_400 * 40 * day for day in range(2, 42)]
    for count in (least - 1, least):
        history = counted([number] * count + others[count:], code).history()
        assert history.dense == (count if count == least else 0)
        assert [batch.first for batch in history.batches] == [number] * (count == least)
    assert history.batches[0].has_one_date


def urls(*entries: tuple[str, datetime | None, str], published: str | None = None) -> UrlBatch:
    """Of paths with lastmods and their precision, all of news that was published then."""
    date = parse_date(published) if published else None
    news = date and News(publication_date=date.moment, publication_date_precision=date.precision)
    records = [UrlRecord(f"https://a.example{path}", *lastmod, news=news) for path, *lastmod in entries]
    ((batch,),) = in_batches(records)
    return batch


NOON = datetime(2020, 12, 8, 12, 3, tzinfo=UTC)


@pytest.mark.parametrize(("path", "precision", "published", "dense"), [
    ("/a", "day", None, 12),
    ("/2020-12-08-a", "day", None, 0),
    ("/2020/12/08/a", "second", None, 0),
    ("/2020-12-09-a", "day", None, 12),
    ("/2020/12/a", "day", None, 12),
    ("/a", "day", "2020-12-08", 0),
    ("/a", "day", "2020-12-08T09:00:00Z", 0),
    ("/a", "second", "2020-12-08", 0),
    ("/a", "second", "2020-12-08T12:03:00Z", 12),  # a build may have written both
    ("/a", "day", "2020-12-09", 12),
    ("/2020-12-08-a", "day", "2020-12-09", 0),
])
def test_dates_that_urls_or_news_confirm_are_no_batch(
    path: str, precision: str, published: str | None, dense: int
) -> None:
    """They count in all other respects."""
    batch = urls(*[(path, NOON, precision)] * 12, ("/b", None, "day"), published=published)
    evidence = LastmodEvidence()
    for part in (batch.part(0, 5), batch.part(5, 13)):
        evidence.add_urls(part, NOON.timestamp())
    history = evidence.history()
    assert (history.entries, history.dated, history.dense) == (13, 12, dense)
    assert history.at_fetch == (12 if precision == "second" else 0)
    assert evidence.newest() == (NOON, precision)


def test_dates_of_a_build_are_a_batch_beside_confirmed_ones() -> None:
    """Half of the dates, nine or ten of twenty, are the day of a build, as are four whose URLs state that day."""
    others = [(f"/{day}", NOON - timedelta(days=day), "day") for day in range(1, 8)]
    for built in (9, 13):
        batch = urls(*[("/a", NOON, "day")] * built, *[("/2020-12-08-a", NOON, "day")] * 4, *others)
        evidence = LastmodEvidence()
        evidence.add_urls(batch)
        assert evidence.history().dense == (built if built == 13 else 0)


def test_batches_of_documents_are_joined_within_ten_minutes() -> None:
    build = [counted([start + number for number in range(10)]).history() for start in (0, 300, 590, 591)]
    assert total(build[:3]).batches == (Batch("1970-01-01", 0, 599, 30),)
    same = [counted([number] * 10).history() for number in (7, 7, 8)]
    assert [str(total(same[:end]).batches[0]) for end in (2, 3)] == [
        "1970-01-01T00:00:07Z", "within 1 min on 1970-01-01",
    ]
    assert [batch.count for batch in total(build).batches] == [30, 10]
    assert total(build).dense == 40


def test_times_of_all_precisions_are_counted_together() -> None:
    """But not with days: that a time is the first of its day means nothing."""
    evidence = LastmodEvidence()
    evidence.add([60] * 5 + [60_000_000] * 5 + [0] * 9 + [None], [SECOND] * 5 + [SUBSECOND] * 5 + [DAY] * 9 + [None])
    batch = Batch("1970-01-01T00:01:00Z", 60, 60, 10)
    assert evidence.history() == History(entries=20, dated=19, dense=10, batches=(batch,))
    assert evidence.newest() == (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), "second")
    assert evidence.summary().latest_end == datetime(1970, 1, 2, tzinfo=UTC)


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
@pytest.mark.parametrize(("seconds", "batch"), [
    (43, "within 10 min on 2027-01-15"),
    (2_500, "within 60 min on 2027-01-15"),
    (60_000, "2027-01-15"),
    (30 * 86_400, None),
])
def test_more_dates_than_are_counted_as_they_are(
    monkeypatch: pytest.MonkeyPatch, code: int, seconds: int, batch: str | None
) -> None:
    """400 dates at equal distances, which are no batch in minutes, hours or days; and beside 40 of ten minutes."""
    monkeypatch.setattr("sitemap_reader.frontier.lastmod_trust._MAX_DATES", 300)
    scale = 1_000_000 if code == SUBSECOND else 1
    spread = [(READ_AT - 86_400 - number * seconds) * scale for number in range(400)]
    build = [(READ_AT - number * 14) * scale for number in range(40)]
    assert counted(spread, code).history().batches == ()
    evidence = counted(spread + build, code, parts=7)
    assert [str(each) for each in evidence.history().batches] == [batch] * (batch is not None)
    assert evidence.newest() == (datetime.fromtimestamp(READ_AT, UTC), PRECISIONS[code])
    assert sum(map(len, evidence._counts.values())) <= 300


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
