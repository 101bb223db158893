"""Rate limits and sets with expiry: each limit just under and just over, and the bound of their memory."""

import pytest

from sitemap_reader.watching import ExpiringSet, Rate, RateTable


def taken(table: RateTable, key: str, now: float, tries: int = 100) -> int:
    return sum(not table.take(key, now) for _ in range(tries))


@pytest.mark.parametrize("burst", [1, 2, 7])
@pytest.mark.parametrize("now", [0.0, 0.1, 1e9 + 0.3])
def test_a_burst_is_taken_and_not_one_more(burst, now):
    assert taken(RateTable(Rate(60, burst)), "a", now) == burst


def test_a_token_comes_back_after_its_time_and_not_before():
    table = RateTable(Rate(per_hour=60, burst=2))
    assert taken(table, "a", 0.0) == 2
    assert table.take("a", 59.9) == pytest.approx(0.1)
    assert table.take("a", 60.0) == 0
    assert table.take("a", 60.0) == pytest.approx(60)


def test_a_refusal_takes_nothing():
    table = RateTable(Rate(per_hour=60, burst=1))
    assert taken(table, "a", 0.0, tries=1000) == 1
    assert table.take("a", 60.0) == 0


def test_tokens_do_not_add_up_beyond_the_burst():
    table = RateTable(Rate(per_hour=60, burst=2))
    table.take("a", 0.0)
    assert taken(table, "a", 1e6) == 2


def test_keys_have_buckets_of_their_own():
    table = RateTable(Rate(per_hour=60, burst=1))
    assert [table.take(key, 0.0) for key in "ab"] == [0, 0]


def test_in_the_long_run_the_rate_holds():
    table = RateTable(Rate(per_hour=60, burst=5))
    assert sum(not table.take("a", float(second)) for second in range(3600)) == 60 + 4


def test_a_full_table_forgets_the_key_that_was_used_longest_ago():
    table = RateTable(Rate(per_hour=1, burst=2), max_keys=2)
    for key in "abac":
        assert table.take(key, 0.0) == 0
    assert len(table) == 2
    assert table.wait_seconds("a", 0.0) > 0
    assert taken(table, "c", 0.0) == 1
    assert taken(table, "b", 0.0) == 2


def test_a_key_expires_after_its_time_and_not_before():
    keys = ExpiringSet(10)
    keys.add("a", 5.0)
    assert keys.has("a", 14.9)
    assert not keys.has("a", 15.0)
    assert not keys.has("b", 5.0)


def test_adding_deletes_what_has_expired():
    keys = ExpiringSet(10)
    for number in range(5):
        keys.add(str(number), float(number))
    keys.add("new", 13.0)
    assert len(keys) == 2
    assert keys.has("4", 13.0)


def test_a_full_set_forgets_the_oldest_key():
    keys = ExpiringSet(10, max_keys=2)
    for key in "abac":
        keys.add(key, 0.0)
    assert [keys.has(key, 0.0) for key in "abc"] == [True, False, True]
