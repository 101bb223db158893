"""Backoff, Retry-After, and one host's pace, on a clock of plain numbers."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.frontier import HostPace, backoff, retry_after

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("tries", "middle"), [(1, 0.5), (2, 1.0), (3, 2.0), (6, 16.0), (7, 30.0), (8, 30.0), (10_000, 30.0)]
)
def test_backoff_doubles_up_to_thirty_seconds(tries: int, middle: float) -> None:
    assert backoff(tries, 0.5) == middle
    assert backoff(tries, 0.0) == middle / 2
    assert backoff(tries, 0.999) < middle * 1.5


@pytest.mark.parametrize(("value", "seconds"), [
    ("0", 0.0),
    ("120", 120.0),
    (" 7 ", 7.0),
    ("86399", 86_399.0),
    ("86401", 86_400.0),
    ("9" * 5000, 86_400.0),
    ("Mon, 02 Mar 2026 12:00:01 GMT", 86_400.0),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
    ("Fri, 31 Dec 9999 23:59:59 -2359", 86_400.0),
    ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ("Sun, 01 Mar 2026 12:01:30 GMT", 90.0),
    ("Sunday, 01-Mar-26 12:00:10 GMT", 10.0),
    ("Sun Mar  1 12:00:05 2026", 5.0),
    ("Sun, 01 Mar 2026 11:59:59 GMT", 0.0),
    ("Sun, 01 Mar 1970 00:00:00 GMT", 0.0),
])
def test_retry_after_in_seconds_or_as_a_date(value: str, seconds: float) -> None:
    assert retry_after(value, NOW) == seconds


@pytest.mark.parametrize("value", [
    None, "", " ", "soon", "-5", "1.5", "\u0661", "\u00b2", "1e3", "nan", "Sun, 99 Mar 2026 12:00:00 GMT", ",",
])
def test_retry_after_that_is_junk(value: str | None) -> None:
    assert retry_after(value, NOW) is None


@given(st.text(max_size=40) | st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d+:\d+:\d+ .{0,9}"))
def test_retry_after_takes_any_text(value: str) -> None:
    seconds = retry_after(value, NOW)
    assert seconds is None or 0 <= seconds <= 86_400


def test_a_host_takes_so_many_requests_at_once() -> None:
    pace = HostPace(per_host=2)
    assert pace.ready(-1e9)
    pace.started(0.0)
    assert pace.ready(0.0)
    pace.started(0.0)
    assert not pace.ready(100.0)
    pace.finished()
    assert pace.ready(101.0)


def test_crawl_delay_that_becomes_known_counts_from_the_last_start() -> None:
    pace = HostPace(per_host=4)
    pace.started(10.0)
    pace.finished()
    pace.delay_seconds = 5.0
    assert (pace.next_at, pace.ready(14.9), pace.ready(15.0)) == (15.0, False, True)


def test_crawl_delay_of_zero_is_none() -> None:
    assert HostPace(per_host=4, delay_seconds=0.0).slots == 4


def test_retry_after_blocks_the_host_and_is_never_shortened() -> None:
    pace = HostPace(per_host=4)
    pace.pause(60.0)
    pace.pause(30.0)
    assert (pace.ready(59.9), pace.next_at, pace.ready(60.0)) == (False, 60.0, True)
    pace.delay_seconds = 10.0
    pace.started(60.0)
    pace.finished()
    assert pace.next_at == 70.0
