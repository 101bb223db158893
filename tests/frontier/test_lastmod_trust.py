"""The history of a document's lastmods -> the score of trust in them."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.frontier import History, judge_history
from sitemap_reader.frontier.lastmod_trust import is_proven

GOOD = History(entries=100, dated=100, identical=2, both=10)


def test_dates_without_signs_are_trusted() -> None:
    assert judge_history(GOOD).score == 1.0
    assert judge_history(GOOD).reasons == ()


@pytest.mark.parametrize(
    ("seen", "score", "reason"),
    [
        ({"dated": 0}, 0.0, "no entry has a lastmod"),
        ({"identical": 100}, 0.0, "100% have the same lastmod"),
        ({"identical": 60}, 0.4, "60% have the same lastmod"),
        ({"future": 10}, 0.9, "10% have a lastmod in the future"),
        ({"at_fetch": 100}, 0.0, "100% have the time of the request as their lastmod"),
        ({"entry_only": 10}, 0.5, "50% of the changes did not change the lastmod"),
        ({"lastmod_only": 10}, 0.75, "50% of the changes changed only the lastmod"),
        ({"lastmod_only": 990}, 0.505, "99% of the changes changed only the lastmod"),
        ({"dated": 1000, "future": 1}, 0.999, "under 1% have a lastmod in the future"),
    ],
)
def test_each_sign_lowers_the_score_and_says_why(seen: dict[str, int], score: float, reason: str) -> None:
    verdict = judge_history(attrs.evolve(GOOD, **{"identical": 0, **seen}))
    assert verdict.score == pytest.approx(score)
    assert verdict.reasons == (reason,)
    assert str(verdict) == f"{verdict.score:.2f} ({reason})"


def test_few_dates_that_are_alike_are_no_sign() -> None:
    assert judge_history(History(entries=9, dated=9, identical=9)).score == 1.0
    assert judge_history(History(entries=10, dated=10, identical=10)).score == 0.0


def test_empty_history_has_no_score() -> None:
    assert judge_history(History()) == judge_history(History())
    assert judge_history(History()).score == 0.0
    assert judge_history(History()).reasons == ()


@given(st.builds(History, **{field.name: st.integers(0, 50) for field in attrs.fields(History)}))
def test_a_score_lies_between_0_and_1(seen: History) -> None:
    seen = attrs.evolve(seen, dated=max(seen.dated, seen.identical, seen.future, seen.at_fetch))
    assert 0.0 <= judge_history(seen).score <= 1.0


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"both": 2}, False),
        ({"both": 3}, True),
        ({"both": 3, "entry_only": 1}, False),
        ({"both": 30, "entry_only": 1}, True),
        ({"both": 3, "lastmod_only": 3}, False),
        ({"both": 3, "dated": 0}, False),
    ],
)
def test_index_is_trusted_after_three_correct_changes(seen: dict[str, int], expected: bool) -> None:
    assert is_proven(attrs.evolve(History(entries=5, dated=5), **seen)) is expected
