"""The schedule: documents are due at their threshold, budgets hold, and signals count by their precision."""

import math
import random
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap_reader import UsageError
from sitemap_reader.watching import (
    ADJUST_SECONDS,
    DAY,
    HOUR,
    NEARLY,
    Budget,
    ChangeRate,
    Prior,
    Schedule,
    SignalRecord,
    TokenBucket,
)


class Constant(ChangeRate):
    """A rate that checks do not revise."""

    def observe(self, *_: object, **__: object) -> None:
        pass


def rate_of(per_day: float) -> Constant:
    return Constant(Prior(per_day * 1e6, DAY * 1e6))


def schedule_of(per_day: dict[str, float], per_hour: float, host_per_hour: float | None = None, **options) -> Schedule:
    """Documents `host/name` with known rates, all looked at at 0; half of the requests at once have been used."""
    schedule = Schedule(Budget(per_hour, host_per_hour))
    schedule.requests_made("another", max(per_hour / 4, 4) / 2, 0.0)
    for key, rate in per_day.items():
        schedule.add(key, key.split("/")[0], rate_of(rate), 0.0, **options)
    return schedule


def run(schedule: Schedule, until: float, changed: bool = False) -> dict[str, list[float]]:
    """Makes all visits until a time; key -> the times of its looks."""
    looks: dict[str, list[float]] = {}
    now = 0.0
    while (due := schedule.next_due(now)) is not None and due < until:
        now = max(due, now)
        for host, keys in schedule.pop_due(now):
            for key in keys:
                schedule.requests_made(host, 1, now)
                looks.setdefault(str(key), []).append(now)
                schedule.looked(key, now, changed=changed)
            schedule.end_visit(host, now)
    return looks


# --- the threshold ---


def test_one_document_is_looked_at_as_often_as_the_budget_permits():
    schedule = schedule_of({"a/1": 1.0}, per_hour=1.0)
    assert schedule.due_at("a/1", 0.0) == pytest.approx(HOUR)
    assert schedule.theta == pytest.approx(1 / DAY * HOUR**2 / 2)


def test_looks_are_in_proportion_to_the_square_root_of_the_rates():
    looks = run(schedule_of({"a/1": 1.0, "b/1": 16.0, "c/1": 0.25}, per_hour=1.0), 60 * DAY)
    numbers = {key: len(times) for key, times in looks.items()}
    assert numbers["b/1"] / numbers["a/1"] == pytest.approx(4.0, rel=0.05)
    assert numbers["a/1"] / numbers["c/1"] == pytest.approx(2.0, rel=0.05)
    assert sum(numbers.values()) == pytest.approx(60 * 24, rel=0.03)


def test_a_document_is_due_at_theta_and_nearly_due_before():
    schedule = schedule_of({"a/1": 1.0}, per_hour=1.0)
    for now in range(60, 2 * 3600, 60):
        index = now * now / 2 / DAY
        assert schedule.is_due("a/1", now) == (index >= NEARLY * schedule.theta)
        theta = schedule.theta
        assert bool(schedule.pop_due(now)) == (index >= theta)
        if index >= theta:
            break
    assert now > 2000


def test_theta_is_lower_while_requests_are_left_over_than_while_they_are_short():
    schedule = Schedule(Budget(40))
    schedule.add("a/1", "a", rate_of(1.0), 0.0)
    full = schedule.due_at("a/1", 0.0)
    schedule.requests_made("another", 5, 0.0)
    half = schedule.due_at("a/1", 0.0)
    schedule.requests_made("another", 5, 0.0)
    empty = schedule.due_at("a/1", 0.0)
    assert (full / half) ** 2 == pytest.approx((half / empty) ** 2) == pytest.approx(1 / 1.5)


def test_a_visit_has_the_documents_of_the_host_that_are_nearly_due():
    schedule = schedule_of({"a/1": 1.0, "a/2": 0.9, "a/3": 0.2, "b/1": 0.9}, per_hour=1.0)
    now = schedule.due_at("a/1", 0.0) + 1
    assert schedule.pop_due(now) == [("a", ("a/1", "a/2"))]


def test_a_new_document_is_due_at_once():
    schedule = Schedule(Budget(60))
    schedule.add("x", "a", ChangeRate(), -math.inf)
    assert schedule.next_due(5.0) == 5.0
    assert schedule.pop_due(5.0) == [("a", ("x",))]


def test_a_large_budget_keeps_the_minimum_interval():
    looks = run(schedule_of({"a/1": 5.0}, per_hour=3600.0), HOUR)["a/1"]
    assert min(b - a for a, b in pairwise(looks)) >= 60.0
    assert len(looks) >= 50


def test_a_removed_document_is_not_visited():
    schedule = schedule_of({"a/1": 1.0, "b/1": 1.0}, per_hour=1.0)
    schedule.remove("a/1")
    schedule.remove("unknown")
    assert set(run(schedule, 10 * DAY)) == {"b/1"}
    assert len(schedule) == 1
    schedule.remove("b/1")
    assert schedule.next_due(0.0) is None


def test_a_document_that_is_added_again_is_replaced():
    schedule = schedule_of({"a/1": 1.0}, per_hour=1.0)
    schedule.add("a/1", "a", rate_of(1.0), 10 * DAY)
    assert len(schedule) == 1
    assert schedule.due_at("a/1", 10 * DAY) == pytest.approx(10 * DAY + HOUR)


def test_looks_revise_the_rate():
    schedule = Schedule(Budget(10))
    schedule.add("x", "a", ChangeRate(), 0.0)
    schedule.looked("x", HOUR, changed=True)
    assert schedule.rate("x").per_second > ChangeRate().per_second


# --- budgets ---


def test_a_bucket_is_full_at_first_and_fills_by_time():
    bucket = TokenBucket.of(60)
    assert bucket.available(0.0) == 15
    bucket.use(15, 0.0)
    assert bucket.available_at(0.0) == pytest.approx(60.0)
    assert bucket.available(59.0) < 1
    assert bucket.available(60.0) == pytest.approx(1.0)
    assert bucket.available(1e9) == 15


@pytest.mark.slow
def test_no_more_requests_than_the_budget_are_made():
    schedule = schedule_of({f"{n}/1": 50.0 for n in range(200)}, per_hour=40.0)
    looks = sorted(at for times in run(schedule, 5 * DAY).values() for at in times)
    assert 5 * 24 * 40 * 0.85 <= len(looks) <= 5 * 24 * 40 + 10
    for first, last in zip(looks, looks[50:], strict=False):
        assert last - first >= HOUR - 1


@pytest.mark.slow
def test_a_host_has_its_own_budget():
    schedule = schedule_of({f"big/{n}": 10.0 for n in range(50)} | {"small/1": 10.0}, 100.0, 10.0)
    looks = run(schedule, 5 * DAY)
    small = len(looks.pop("small/1"))
    assert sum(map(len, looks.values())) == pytest.approx(5 * 24 * 10, rel=0.05)
    assert small > 5 * 24 * 9


def test_water_filling_leaves_the_rest_of_a_full_host_to_the_others():
    demands = {f"big/{n}": 100.0 for n in range(100)} | {"small/1": 1.0, "other/1": 1.0}
    schedule = schedule_of(demands, 10.0, 6.0)
    assert schedule.due_at("small/1", 0.0) == pytest.approx(2 * HOUR / 4.0, rel=0.01)
    assert schedule.due_at("big/1", 0.0) == pytest.approx(100 * HOUR / 6.0 / math.sqrt(1.5), rel=0.01)  # uses all


def test_take_stops_at_the_budget_of_the_host():
    schedule = schedule_of({"a/1": 1.0, "b/1": 1.0}, 60.0, 16.0)
    schedule.begin_visit("a")
    assert [schedule.take("a", 0.0) for _ in range(5)] == [True] * 4 + [False]
    assert schedule.available_at("a", 0.0) == pytest.approx(HOUR / 16)
    assert schedule.take("b", 0.0)
    assert schedule.take("a", HOUR / 16 + 0.1)


def test_a_visit_keeps_the_requests_of_its_documents():
    schedule = schedule_of({f"a/{n}": 1.0 for n in range(9)}, 100.0, 16.0)
    ((host, keys),) = schedule.pop_due(10 * DAY)
    assert len(keys) == 4
    assert not schedule.take(host, 10 * DAY)
    schedule.requests_made(host, 3, 10 * DAY)
    assert not schedule.take(host, 10 * DAY)
    schedule.end_visit(host, 10 * DAY)  # gives the fourth back
    assert [schedule.take(host, 10 * DAY) for _ in range(2)] == [True, False]


def test_a_visit_of_a_host_without_documents_keeps_to_the_budget():
    schedule = Schedule(Budget(100, 16))
    schedule.begin_visit("a")
    assert [schedule.take("a", 0.0) for _ in range(5)] == [True] * 4 + [False]
    schedule.requests_made("a", 4, 0.0)
    schedule.end_visit("a", 0.0)
    assert schedule.available_at("a", 0.0) == 0.0  # it is forgotten
    assert schedule.pop_due(0.0) == []


def test_a_host_that_is_visited_has_no_second_visit():
    schedule = schedule_of({"a/1": 1.0}, 60.0)
    schedule.begin_visit("a")
    assert schedule.pop_due(DAY) == []
    schedule.end_visit("a", DAY)
    assert schedule.pop_due(DAY) == [("a", ("a/1",))]


def test_requests_without_take_count_too():
    schedule = Schedule(Budget(60.0))
    schedule.begin_visit("a")
    schedule.requests_made("a", 20, 0.0)
    assert not schedule.take("a", 0.0)
    assert schedule.available_at("a", 0.0) == pytest.approx(6 * 60.0)


def test_theta_rises_if_looks_cost_more_requests_than_one():
    schedule = schedule_of({f"{n}/1": 1.0 for n in range(100)}, 100.0)
    before = schedule.due_at("0/1", 0.0)
    for step in range(100):
        schedule.requests_made("0", 100, step * ADJUST_SECONDS)
        schedule.next_due(step * ADJUST_SECONDS)
    assert schedule.due_at("0/1", 0.0) > 1.5 * before


def test_an_overloaded_schedule_visits_the_largest_index_first():
    schedule = schedule_of({f"{n}/1": 1.0 + n for n in range(20)}, per_hour=1.0)
    visits = schedule.pop_due(100 * DAY, 3)
    assert [host for host, _ in visits] == ["19", "18", "17"]
    assert len(schedule.pop_due(100 * DAY)) == 1  # four requests at once
    assert schedule.pop_due(100 * DAY) == []
    schedule.end_visit("18", 100 * DAY)
    assert [host for host, _ in schedule.pop_due(100 * DAY)] == ["18"]


def test_a_limit_counts_documents():
    schedule = schedule_of({f"a/{n}": 1.0 + n for n in range(20)}, per_hour=100.0)
    assert schedule.pop_due(100 * DAY, 3) == [("a", ("a/19", "a/18", "a/17"))]


@pytest.mark.parametrize("budget", [(0, None), (-1, None), (math.inf, None), (math.nan, None), (5, 0)], ids=str)
def test_a_budget_must_be_positive(budget):
    with pytest.raises(UsageError, match="positive number of requests an hour"):
        Budget(*budget)


# --- visits ---


def test_a_host_is_in_one_visit_at_a_time():
    schedule = schedule_of({"a/1": 1.0, "a/2": 0.5}, per_hour=1.0)
    assert schedule.pop_due(3 * HOUR)
    assert schedule.pop_due(30 * DAY) == []
    schedule.looked("a/1", 30 * DAY, changed=False)
    schedule.end_visit("a", 30 * DAY)
    assert schedule.pop_due(30 * DAY + 2) == [("a", ("a/2",))]


def test_documents_that_a_visit_left_out_are_due_again_but_not_before_the_retry():
    schedule = schedule_of({"a/1": 1.0}, per_hour=1.0)
    schedule.pop_due(2 * HOUR)
    schedule.end_visit("a", 2 * HOUR, retry_at=5 * HOUR)
    assert schedule.next_due(2 * HOUR) == 5 * HOUR
    assert schedule.pop_due(5 * HOUR - 1) == []
    assert schedule.pop_due(5 * HOUR) == [("a", ("a/1",))]


def test_a_paused_host_is_not_visited():
    schedule = schedule_of({"a/1": 1.0, "b/1": 1.0}, per_hour=10.0)
    schedule.pause("a", 10 * DAY)
    looks = run(schedule, 11 * DAY)
    assert min(looks["a/1"]) >= 10 * DAY
    assert min(looks["b/1"]) < DAY


def test_a_document_that_is_removed_during_its_visit_does_not_return():
    schedule = schedule_of({"a/1": 1.0, "b/1": 1.0}, per_hour=1.0)
    schedule.pop_due(30 * DAY)
    schedule.remove("a/1")
    schedule.end_visit("a", 30 * DAY)
    schedule.end_visit("b", 30 * DAY)
    assert [host for host, _ in schedule.pop_due(60 * DAY)] == ["b"]


# --- signals ---


def signalled(precision: float, *, recall: float = 0.9, per_day: float = 0.1) -> Schedule:
    schedule = Schedule(Budget(0.2))
    schedule.set_source("index", SignalRecord(1e3, 1e3 * precision, 1e3, 1e3 * recall))
    schedule.add("index", "a", rate_of(0.5), 0.0)
    for name in ("x", "y"):
        schedule.add(name, "a", rate_of(per_day), 0.0, source="index")
    return schedule


def test_a_signal_makes_a_document_due():
    schedule = signalled(0.9)
    assert not schedule.is_due("x", HOUR)
    assert schedule.signal("x", HOUR, "index")
    assert schedule.is_due("x", HOUR)
    assert not schedule.is_due("y", HOUR)


def test_a_signal_of_a_source_that_is_mostly_wrong_does_not_count():
    schedule = signalled(0.1)
    before = schedule.due_at("x", HOUR)
    assert not schedule.signal("x", HOUR, "index")
    assert schedule.due_at("x", HOUR) == before


def test_documents_whose_changes_are_signalled_are_looked_at_less_without_a_signal():
    with_index, without = signalled(0.9), signalled(0.1)
    assert with_index.due_at("x", 0.0) > 2 * without.due_at("x", 0.0)


def test_a_look_takes_the_signals_back():
    schedule = signalled(0.9)
    schedule.signal("x", HOUR, "index")
    schedule.looked("x", HOUR, changed=True)
    assert not schedule.is_due("x", 2 * HOUR)


def test_looks_measure_the_precision():
    schedule = Schedule(Budget(10))
    for key in ("x", "y"):
        schedule.add(key, "a", ChangeRate(), 0.0, source="index")
    for step in range(1, 30):
        schedule.signal("x", step * HOUR, "index", step * HOUR)
        schedule.looked("x", step * HOUR, changed=step % 2 == 0)
    assert schedule.source("index").precision == pytest.approx(0.5, abs=0.05)


def test_an_index_that_always_signals_all_children_is_ignored_and_its_children_are_planned_anew():
    schedule = Schedule(Budget(10))
    schedule.add("index", "a", ChangeRate(), 0.0)
    for key in ("x", "y", "z"):
        schedule.add(key, "a", ChangeRate(), 0.0, source="index")
    for step in range(1, 40):
        counts = [schedule.signal(key, step * HOUR, "index") for key in ("x", "y", "z")]
        schedule.looked("index", step * HOUR, changed=any(counts))
    assert not any(counts)
    assert schedule.rate("index").events < 1.0
    due = schedule.due_at("x", 40 * HOUR)
    assert due == pytest.approx(ChangeRate().reached(0.0, schedule.theta))


def test_a_source_of_pings_that_are_false_loses_its_trust():
    schedule = Schedule(Budget(10))
    schedule.add("x", "a", ChangeRate(), 0.0)
    for step in range(1, 10):
        schedule.signal("x", step * HOUR, "ping")
        schedule.looked("x", step * HOUR, changed=False)
    assert not schedule.signal("x", 10 * HOUR, "ping")


def test_signals_of_unknown_documents_and_many_signals_are_harmless():
    schedule = signalled(0.9)
    assert schedule.signal("unknown", HOUR, "index")
    for _ in range(1000):
        schedule.signal("x", HOUR, "index")
    assert len(schedule._documents["x"].signals) == 50


# --- properties ---


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    rates=st.lists(st.floats(0.01, 50.0), min_size=1, max_size=12),
    per_hour=st.floats(0.2, 50.0),
    host=st.floats(0.2, 50.0),
    seed=st.integers(0, 10),
)
def test_every_document_is_looked_at_and_budgets_hold(rates, per_hour, host, seed):
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    schedule = Schedule(Budget(per_hour, host))
    for number, rate in enumerate(rates):
        schedule.add(number, f"h{number % 3}", rate_of(rate), -math.inf)
    now, made = 0.0, {"h0": 0, "h1": 0, "h2": 0}
    seen = set()
    while now < 5 * DAY and sum(made.values()) < 600:
        due = schedule.next_due(now)
        assert due is not None
        now = max(now, due)
        for name, keys in schedule.pop_due(now):
            for key in keys:
                schedule.requests_made(name, 1, now)
                made[name] += 1
                seen.add(key)
                schedule.looked(key, now, changed=rng.random() < 0.5)
            schedule.end_visit(name, now)
    for count in (*made.values(),):
        assert count <= max(min(host, per_hour) / 4, 4) + min(host, per_hour) * now / HOUR + 1
    assert sum(made.values()) <= max(per_hour / 4, 4) + per_hour * now / HOUR + 1
    assert seen == set(range(len(rates)))


@pytest.mark.slow
def test_many_documents_take_little_memory():
    began, schedule = time.process_time(), Schedule(Budget(10_000))
    for number in range(20_000):
        schedule.add(number, str(number // 5), ChangeRate(), 0.0)
    assert schedule.next_due(0.0) is not None
    sizes = [sys.getsizeof(schedule._documents[0]), sys.getsizeof(schedule.rate(0))]
    assert sum(sizes) < 400
    assert time.process_time() - began < 60  # 0.5 s; a cost that grows with the square takes hours
