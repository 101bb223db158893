"""The estimate of a document's changes: known rates are recovered, and integrals agree with sums."""

import json
import random

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.watching import (
    DAY,
    HALF_LIFE_SECONDS,
    HOUR,
    ChangeRate,
    Population,
    Prior,
    SignalRecord,
    prior_for,
    prior_of_dates,
)


def checked(per_second: float, interval: float, checks: int, *, exact: bool = False) -> ChangeRate:
    """The estimate after regular checks of a Poisson process."""
    rng, rate, at = random.Random(7), ChangeRate(), 0.0  # noqa: S311 - not for secrets
    following = rng.expovariate(per_second)
    for _ in range(checks):
        found = []
        while following <= at + interval:
            found.append(following)
            following += rng.expovariate(per_second)
        rate.observe(at, at + interval, changed=bool(found), moments=found if exact else ())
        at += interval
    return rate


def profiled(hours: dict[int, int]) -> ChangeRate:
    rate = ChangeRate()
    moments = [day * DAY + hour * HOUR + 600 for hour, days in hours.items() for day in range(days)]
    rate.observe(-1, 30 * DAY, changed=True, moments=moments)
    return rate


@pytest.mark.parametrize(("per_second", "interval"), [(1 / HOUR, HOUR), (1 / DAY, DAY), (1 / DAY, DAY / 8)])
def test_rate_of_a_poisson_process_is_recovered(per_second, interval):
    assert checked(per_second, interval, 300).per_second == pytest.approx(per_second, rel=0.25)


def test_known_times_recover_a_rate_that_is_faster_than_the_checks():
    assert checked(20 / DAY, DAY, 60, exact=True).per_second == pytest.approx(20 / DAY, rel=0.15)
    assert checked(20 / DAY, DAY, 60).per_second < 10 / DAY


def test_unchanged_checks_lower_and_changed_ones_raise_the_rate():
    rate = ChangeRate(Prior(0.5, DAY))
    rate.observe(0, DAY, changed=False)
    assert rate.per_second == pytest.approx(0.25 / DAY)
    lower = rate.per_second
    rate.observe(DAY, 2 * DAY, changed=True)
    assert rate.per_second > 2 * lower


def test_a_change_after_a_long_time_adds_less_than_one_after_a_short_time():
    early, late = ChangeRate(), ChangeRate()
    early.observe(0, HOUR, changed=True)
    late.observe(0, 20 * DAY, changed=True)
    assert early.per_second > 2 * ChangeRate().per_second
    assert late.per_second < early.per_second / 2


def test_a_count_without_times_counts_in_full():
    rate = ChangeRate(Prior(1.0, DAY))
    rate.observe(0, DAY, changed=True, count=4.0)
    assert (rate.events, rate.seconds) == (pytest.approx(5.0), pytest.approx(2 * DAY))


def test_a_half_life_halves_the_distance_to_the_prior():
    rate = ChangeRate(Prior(1.0, DAY), events=9.0, seconds=5 * DAY)
    rate.observe(0, HALF_LIFE_SECONDS, changed=False)
    assert rate.events == pytest.approx(5.0)
    assert rate.seconds == pytest.approx(3 * DAY + HALF_LIFE_SECONDS)


def test_moments_outside_the_period_are_ignored():
    rate = ChangeRate(Prior(1.0, DAY))
    rate.observe(1000, DAY, changed=True, moments=[1000, 1001, DAY, DAY + 1])
    assert rate.events == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize(("apart", "changes"), [(59.0, 1), (60.0, 2)])
def test_lastmods_within_a_minute_are_one_change(apart, changes):
    rate = ChangeRate(Prior(1.0, DAY))
    rate.observe(0, DAY, changed=True, moments=[5000.0, 5000.0 + apart])
    assert rate.events == pytest.approx(1.0 + changes)


@pytest.mark.parametrize("until", [5.0, 4.0, float("inf"), float("nan")])
def test_a_period_without_a_length_changes_nothing(until):
    rate = ChangeRate()
    rate.observe(5.0, until, changed=True)
    assert rate == ChangeRate()


def test_a_rate_without_a_profile_has_the_closed_form():
    rate = ChangeRate(Prior(1.0, DAY))
    assert rate.expected(0, 2 * DAY) == pytest.approx(2.0)
    assert rate.delay(0, 2 * DAY) == pytest.approx(2 * DAY)
    assert rate.reached(100.0, 2 * DAY) == pytest.approx(100.0 + 2 * DAY)


def test_a_profile_puts_the_changes_into_their_hour():
    rate = profiled({5: 20})
    assert rate.expected(DAY, 2 * DAY) == pytest.approx(rate.per_second * DAY)
    in_peak = rate.expected(DAY + 5 * HOUR, DAY + 6 * HOUR) / rate.expected(DAY, 2 * DAY)
    assert in_peak == pytest.approx((20 + 4 / 24) / 24)


@given(
    since=st.floats(0, 2e9),
    amount=st.floats(1e-2, 1e8),
    hours=st.dictionaries(st.integers(0, 23), st.integers(1, 29), min_size=1),
)
def test_reached_is_the_inverse_of_delay(since, amount, hours):
    rate = profiled(hours)
    assert rate.delay(since, rate.reached(since, amount)) == pytest.approx(amount, rel=1e-4, abs=1e-2)


def test_delay_is_the_sum_of_its_parts():
    rate, since, steps = profiled({5: 20, 17: 9}), 3.3 * DAY, 40_000
    width = 2.7 * DAY / steps
    parts = (rate.expected(since + n * width, since + (n + 1) * width) * (n + 0.5) * width for n in range(steps))
    assert rate.delay(since, since + 2.7 * DAY) == pytest.approx(sum(parts), rel=1e-4)


def test_after_peak_is_the_end_of_the_hours_of_a_daily_build():
    rate = profiled({5: 20, 6: 20})
    assert rate.after_peak(5 * HOUR - 1) == 5 * HOUR - 1
    assert rate.after_peak(5 * HOUR) == 7 * HOUR
    assert rate.after_peak(7 * HOUR) == 7 * HOUR
    assert ChangeRate().after_peak(5.0) == 5.0


def test_office_hours_are_no_peak():
    rate = profiled(dict.fromkeys(range(9, 17), 5))
    assert rate.after_peak(12 * HOUR) == 12 * HOUR


def test_old_changes_leave_a_profile():
    rate = profiled({5: 30})
    moments = [(40 + day) * DAY + 20 * HOUR for day in range(120)]
    rate.observe(30 * DAY, 170 * DAY, changed=True, moments=moments)
    assert rate.after_peak(5.5 * HOUR) == 5.5 * HOUR
    assert rate.after_peak(20.5 * HOUR) == 21 * HOUR


def test_json_round_trip():
    rate = profiled({5: 20, 23: 1})
    again = ChangeRate.from_json(json.loads(json.dumps(rate.to_json())))
    assert again.to_json() == rate.to_json()
    assert again.hours == rate.hours
    assert again.per_second == pytest.approx(rate.per_second, rel=1e-4)
    assert ChangeRate.from_json({**rate.to_json(), "later": 1}).hours == rate.hours


BROKEN = [
    None, [], "x", {}, {"events": 1}, {"events": "1", "seconds": 2}, {"events": -1, "seconds": 2},
    {"events": 0, "seconds": 2}, {"events": 1, "seconds": 0}, {"events": True, "seconds": 1},
    {"events": float("nan"), "seconds": 1}, {"events": float("inf"), "seconds": 1},
]  # fmt: skip


@pytest.mark.parametrize("values", BROKEN, ids=str)
def test_broken_json_gives_the_prior(values):
    assert ChangeRate.from_json(values, Prior(0.5, DAY)) == ChangeRate(Prior(0.5, DAY))


def test_json_keeps_the_prior_that_others_suggest():
    rate = ChangeRate(Prior(0.5, DAY))
    rate.move_to(Prior(2.0, 3 * DAY))
    rate.observe(0, HOUR, changed=True)
    again = ChangeRate.from_json(json.loads(json.dumps(rate.to_json())), Prior(0.5, DAY))
    assert (again.start, again.prior) == (Prior(0.5, DAY), Prior(2.0, 3 * DAY))


@pytest.mark.parametrize("prior", [None, 5, [1.0], [1.0, 0.0], [1.0, -1.0], ["a", "b"], [1.0, 2.0, 3.0]], ids=str)
def test_a_broken_prior_is_replaced_by_the_start(prior):
    rate = ChangeRate.from_json({"events": 2, "seconds": 50, "prior": prior}, Prior(0.5, DAY))
    assert (rate.events, rate.prior) == (2.0, Prior(0.5, DAY))


@pytest.mark.parametrize("hours", [None, 5, [1] * 23, [1] * 25, ["a"] * 24, [-1] * 24], ids=str)
def test_a_broken_profile_is_left_out(hours):
    rate = ChangeRate.from_json({"events": 2, "seconds": 50, "hours": hours})
    assert (rate.events, rate.seconds, rate.hours) == (2.0, 50.0, None)


def test_priors_by_kind():
    news, feed, urlset = (prior_for(name) for name in ("news", "rss", "urlset"))
    assert prior_for("urlset", is_news=True) == news
    assert news.seconds < feed.seconds < urlset.seconds
    assert prior_for("something") == urlset


@pytest.mark.parametrize("evidence", [
    {"max_age_seconds": 30 * DAY},
    {"age_seconds": 3 * 365 * DAY},
], ids=lambda evidence: next(iter(evidence)))
def test_evidence_of_rare_changes_lowers_the_prior(evidence):
    without, prior = prior_for("rss"), prior_for("rss", **evidence)
    assert prior.events / prior.seconds < 0.5 * without.events / without.seconds


def test_an_age_of_years_leaves_a_change_in_years():
    prior = prior_for("urlset", age_seconds=3 * 365 * DAY)
    assert prior.seconds / prior.events > 365 * DAY


@pytest.mark.parametrize(("max_age", "counts"), [(59, False), (60, True), (float("inf"), False), (0, False)])
def test_a_max_age_of_less_than_a_minute_is_no_evidence(max_age, counts):
    assert (prior_for("urlset", max_age_seconds=max_age) != prior_for("urlset")) is counts


def test_dates_of_items_give_the_mean_of_the_last_gaps():
    dates = [now - 100 * DAY for now in range(5)]  # long ago, within seconds: one change
    dates += [100 * HOUR + 2 * HOUR * number for number in range(6)]
    now = dates[-1] + 2 * HOUR
    prior = prior_of_dates(dates, now)
    assert prior == Prior(1.0, 2 * HOUR)
    assert prior_of_dates([*reversed(dates), now + DAY], now) == prior  # in any order, without those in the future
    later = prior_of_dates(dates, now + 12 * HOUR)
    assert later is not None
    assert later.seconds == 4 * HOUR  # the silence counts


def test_a_feed_of_years_ago_has_a_low_rate_of_little_weight():
    prior = prior_of_dates([DAY * number for number in range(10)], 1000 * DAY)
    assert prior is not None
    assert prior.seconds == pytest.approx(HALF_LIFE_SECONDS)
    assert prior.events / prior.seconds == pytest.approx(6 / (996 * DAY))


@pytest.mark.parametrize("dates", [[], [1.0, 2.0, 3.0, 4.0, 5.0], [0.0, DAY, 2 * DAY], [DAY * 9] * 9], ids=str)
def test_few_dates_say_nothing(dates):
    assert prior_of_dates(dates, 10 * DAY) is None


def test_history_overrules_a_prior():
    slow = ChangeRate(prior_for("urlset", max_age_seconds=30 * DAY))
    for number in range(100):
        slow.observe(number * HOUR, (number + 1) * HOUR, changed=number % 4 == 0)
    assert slow.per_second == pytest.approx(1 / (4 * HOUR), rel=0.5)


# --- what other documents suggest ---


def population_of(factors: list[float], checks: int, interval: float = DAY) -> Population:
    """Documents whose rates are multiples of what their kind suggests, checked in turn."""
    rng, population = random.Random(7), Population()  # noqa: S311 - not for secrets
    start = Prior(0.5, DAY)
    rates = [ChangeRate(start) for _ in factors]
    for check in range(checks):
        for factor, rate in zip(factors, rates, strict=True):
            changes = sum(rng.random() < factor * 0.5 * interval / DAY / 1000 for _ in range(1000))
            population.add(rate, -1)
            rate.move_to(population.prior(start))
            rate.observe(check * interval, (check + 1) * interval, changed=changes > 0, count=float(changes))
            population.add(rate)
    return population


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "mean"), [(0.5, 1.0), (1.0, 3.0), (4.0, 3.0)])
def test_the_spread_of_the_rates_of_documents_is_recovered(shape, mean):
    rng = random.Random(3)  # noqa: S311 - not for secrets
    factors = [rng.gammavariate(shape, mean / shape) for _ in range(400)]
    prior = population_of(factors, 25).prior(Prior(0.5, DAY))
    assert prior.events == pytest.approx(shape, rel=0.3)
    assert prior.events / prior.seconds == pytest.approx(mean * 0.5 / DAY, rel=0.2)


@pytest.mark.slow
def test_few_checks_say_little_of_one_of_many_like_documents():
    alike = population_of([2.0] * 300, 10).prior(Prior(0.5, DAY))
    differing = population_of([0.01, 0.1, 1.0, 10.0] * 75, 10).prior(Prior(0.5, DAY))
    assert alike.events > 8 * differing.events


def test_a_document_that_is_taken_back_leaves_nothing():
    population, rate = Population(), ChangeRate(Prior(0.5, DAY))
    population.add(rate)  # it was never checked
    assert population == Population()
    rate.observe(0, DAY, changed=True)
    population.add(rate)
    assert population.documents == Population().documents + 1
    population.add(rate, -1)
    assert attrs.astuple(population) == pytest.approx(attrs.astuple(Population()))


def test_a_document_with_a_weak_start_counts_less():
    population, rate = Population(), ChangeRate(Prior(0.05, 3 * DAY))
    rate.observe(0, DAY, changed=True)
    population.add(rate)
    assert population.documents == pytest.approx(Population().documents + 0.1)


def test_without_checks_the_prior_is_the_start():
    assert Population().prior(Prior(0.3, DAY)).events == pytest.approx(0.3, rel=0.02)
    assert Population().prior(Prior(0.3, DAY)).seconds == pytest.approx(DAY, rel=0.02)


def test_another_prior_keeps_what_checks_have_added():
    rate = ChangeRate(Prior(0.5, DAY))
    rate.observe(0, 4 * DAY, changed=False)
    rate.move_to(Prior(3.0, 2 * DAY))
    assert (rate.events, rate.seconds) == (3.0, pytest.approx(6 * DAY, rel=0.15))
    assert rate.start == Prior(0.5, DAY)


@given(st.floats(0.05, 20), st.floats(60, 90 * DAY), st.floats(0.05, 20), st.floats(60, 90 * DAY), st.booleans())
def test_a_rate_stays_positive_with_any_prior(events, seconds, others, later, changed):
    rate = ChangeRate(Prior(events, seconds))
    rate.observe(0, DAY, changed=changed)
    rate.move_to(Prior(others, later))
    rate.observe(DAY, 2 * DAY, changed=changed)
    assert 0 < rate.per_second < 1e3


# --- signals ---


def record_of(signals: int, changed: int, *, unsignalled: int = 0) -> SignalRecord:
    record = SignalRecord()
    for number in range(signals):
        record.add(1, changed=number < changed)
    for _ in range(unsignalled):
        record.add(0, changed=True)
    return record


def test_precision_and_recall_are_shares():
    record = record_of(40, 30, unsignalled=30)
    assert record.precision == pytest.approx(0.75, abs=0.03)
    assert record.recall == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("signals", "is_trusted"), [(0, True), (1, False)])
def test_a_first_signal_that_is_false_costs_the_trust(signals, is_trusted):
    assert record_of(signals, 0).is_trusted is is_trusted


@pytest.mark.parametrize(("sent", "is_trusted"), [(77, True), (81, False)])
def test_an_index_that_signals_nearly_all_children_is_not_trusted(sent, is_trusted):
    record = record_of(10, 10)
    record.add_look(sent, 98)
    assert record.is_trusted is is_trusted


def test_an_index_that_becomes_accurate_is_trusted_again():
    record = record_of(10, 10)
    for _ in range(300):
        record.add_look(6, 6)
    assert not record.is_trusted
    for _ in range(60):
        record.add_look(1, 6)
    assert record.is_trusted


def test_of_several_signals_before_a_change_at_least_one_was_right():
    record = SignalRecord()
    record.add(10, changed=True)
    assert 1.0 <= record.right <= 10.0


def test_a_change_that_the_index_could_not_yet_signal_is_not_missed_by_it():
    record = SignalRecord()
    record.add(0, changed=True, share=0.0)
    record.add(0, changed=True, share=float("-inf"))
    assert record.recall == SignalRecord().recall
    record.add(0, changed=True, share=1.0)
    assert record.recall < SignalRecord().recall


def test_records_keep_a_bounded_memory():
    record = record_of(2000, 2000)
    for _ in range(300):
        record.add(1, changed=False)
    assert not record.is_trusted


def test_json_round_trip_of_a_record():
    record = record_of(9, 5, unsignalled=2)
    assert SignalRecord.from_json(json.loads(json.dumps(record.to_json()))).to_json() == record.to_json()


@pytest.mark.parametrize("values", [None, {}, {"signals": 1}, {**SignalRecord().to_json(), "right": 1}], ids=str)
def test_a_broken_record_is_empty(values):
    assert SignalRecord.from_json(values) == SignalRecord()
