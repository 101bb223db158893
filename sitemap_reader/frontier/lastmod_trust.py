"""Lastmod trust: counts of what was observed of a document's lastmods in, a score from 0 to 1 with its reasons out.

The rule is the same for a urlset, whose entries are pages, and for an index, whose entries are sitemaps. Of an index
the observations are exact: its children were read, so it is known which of them changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

# Fewer equal dates than this are not evidence of a generated stamp.
FEW_ALIKE = 10
# An index must have dated this many changes correctly before an unchanged lastmod is a reason not to fetch a child.
_PROVEN_CHANGES = 3
_TRUSTED_SCORE = 0.9
# Lowest score -> wording.
_VERDICTS = ((_TRUSTED_SCORE, "can be trusted"), (0.5, "are doubtful"), (0.0, "cannot be trusted"))


@attrs.frozen
class History:
    """Observations of one document's lastmods, as numbers of entries.

    From the last time that it was read: `dated` have a lastmod; `identical` have the most frequent one; `future` have
    one after the time of the request, `at_fetch` one at that time. From all times together: `both` entry and lastmod
    changed; `lastmod_only` changed while the entry did not; `entry_only` changed while its lastmod did not.
    """

    entries: int = 0
    dated: int = 0
    identical: int = 0
    future: int = 0
    at_fetch: int = 0
    both: int = 0
    lastmod_only: int = 0
    entry_only: int = 0

    def counting(self, entry: bool, lastmod: bool) -> History:
        """A copy with one more observation: whether an entry changed, and whether its lastmod did."""
        return attrs.evolve(
            self,
            both=self.both + (entry and lastmod),
            lastmod_only=self.lastmod_only + (lastmod and not entry),
            entry_only=self.entry_only + (entry and not lastmod),
        )

    @property
    def changes(self) -> int:
        """The number of observed changes of an entry or its lastmod."""
        return self.both + self.lastmod_only + self.entry_only


@attrs.frozen
class LastmodTrust:
    """`score`: 1 without evidence against the lastmods, 0 where they carry no information. `reasons`: the evidence."""

    score: float
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.score:.2f}" + (f" ({'; '.join(self.reasons)})" if self.reasons else "")


@attrs.frozen
class _Indicator:
    """Evidence against the lastmods: the share of entries that show it (0 to 1), its wording, and its weight."""

    share: Callable[[History], float]
    words: str
    weight: float = 1.0


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


_INDICATORS = (
    # All on one day, as after a migration or in a generated file: such dates distinguish no page from another.
    _Indicator(
        lambda history: _ratio(history.identical, history.dated) if history.identical >= FEW_ALIKE else 0.0,
        "have the same lastmod",
    ),
    _Indicator(lambda history: _ratio(history.future, history.dated), "have a lastmod in the future"),
    _Indicator(
        lambda history: _ratio(history.at_fetch, history.dated), "have the time of the request as their lastmod"
    ),
    _Indicator(
        lambda history: _ratio(history.entry_only, history.changes), "of the changes did not change the lastmod"
    ),
    # Half the weight: a lastmod that is too new costs a needless fetch, one that is too old hides a change.
    _Indicator(
        lambda history: _ratio(history.lastmod_only, history.changes), "of the changes changed only the lastmod", 0.5
    ),
)


def judge_history(history: History) -> LastmodTrust:
    """The trust that a document's lastmods deserve; a document without any lastmod has a score of 0.

    The score is the product of 1 - share * weight over all indicators.

    >>> str(judge_history(History(entries=4, dated=4, future=1)))
    '0.75 (25% have a lastmod in the future)'
    """
    if not history.dated:
        return LastmodTrust(0.0, ("no entry has a lastmod",) if history.entries else ())
    score, reasons = 1.0, []
    for indicator in _INDICATORS:
        share = indicator.share(history)
        if share:
            score *= 1.0 - share * indicator.weight
            reasons.append(f"{_percent(share)} {indicator.words}")
    return LastmodTrust(round(score, 3), tuple(reasons))


def trust_in_words(trust: LastmodTrust) -> str:
    """The predicate of a sentence that begins with "lastmods".

    >>> trust_in_words(LastmodTrust(0.95))
    'can be trusted (0.95)'
    """
    return next(f"{words} ({trust.score:.2f})" for min_score, words in _VERDICTS if trust.score >= min_score)


def is_proven(history: History) -> bool:
    """Whether an index is reliable enough that a child is not fetched while its lastmod stays the same."""
    return history.both >= _PROVEN_CHANGES and judge_history(history).score >= _TRUSTED_SCORE


def _percent(share: float) -> str:
    """Never rounded to 0% or, below 1, to 100%."""
    if share < 0.01:
        return "under 1%"
    return f"{min(round(share * 100), 99) if share < 1 else 100}%"
