"""How accurate a document's lastmods are: observed changes in, a score from 0 to 1 with its reasons out.

The same for a urlset, whose entries are pages, and for an index, whose entries are sitemaps. Whether a sitemap changed
is known from reading it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

# Fewer identical dates are no sign against them.
FEW_ALIKE = 10
# How many changes an index must have dated correctly before its lastmods are a reason to skip a child.
_PROVEN_CHANGES = 3
_TRUSTED_SCORE = 0.9
# The lowest score -> its verdict.
_VERDICTS = ((_TRUSTED_SCORE, "can be trusted"), (0.5, "are doubtful"), (0.0, "cannot be trusted"))


@attrs.frozen
class History:
    """Observations of a document, as numbers of entries.

    Of the last reading: `dated` have a lastmod, `identical` the most frequent one, `future` one later than the time of
    the reading, `at_fetch` that time. Of all readings together: `both` entry and lastmod changed, `lastmod_only` the
    lastmod alone, `entry_only` the entry alone.
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
        """A History with one more observation: whether an entry changed, and whether its lastmod did."""
        return attrs.evolve(
            self,
            both=self.both + (entry and lastmod),
            lastmod_only=self.lastmod_only + (lastmod and not entry),
            entry_only=self.entry_only + (entry and not lastmod),
        )

    @property
    def changes(self) -> int:
        """How many changes of an entry or its lastmod were observed."""
        return self.both + self.lastmod_only + self.entry_only


@attrs.frozen
class LastmodTrust:
    """`score`: 1 where no observation contradicts the lastmods, 0 where they are useless; `reasons` for less."""

    score: float
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.score:.2f}" + (f" ({'; '.join(self.reasons)})" if self.reasons else "")


@attrs.frozen
class _Sign:
    """A share of the entries (0 to 1) that counts against the lastmods, with its wording and weight."""

    share: Callable[[History], float]
    words: str
    weight: float = 1.0


def _of(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


_SIGNS = (
    # All on one day, after a migration or from a generator: they do not distinguish pages.
    _Sign(
        lambda seen: _of(seen.identical, seen.dated) if seen.identical >= FEW_ALIKE else 0.0, "have the same lastmod"
    ),
    _Sign(lambda seen: _of(seen.future, seen.dated), "have a lastmod in the future"),
    _Sign(lambda seen: _of(seen.at_fetch, seen.dated), "have the time of the request as their lastmod"),
    _Sign(lambda seen: _of(seen.entry_only, seen.changes), "of the changes left the lastmod as it was"),
    # A date that is too new costs a needless request; one that is too old, a missed change.
    _Sign(lambda seen: _of(seen.lastmod_only, seen.changes), "of the changes were the lastmod's alone", 0.5),
)


def honesty(seen: History) -> LastmodTrust:
    """The score of a document's lastmods; 0 where no entry has one.

    Each sign reduces the score by its weighted share.

    >>> str(honesty(History(entries=4, dated=4, future=1)))
    '0.75 (25% have a lastmod in the future)'
    """
    if not seen.dated:
        return LastmodTrust(0.0, ("no entry has a lastmod",) if seen.entries else ())
    score, reasons = 1.0, []
    for sign in _SIGNS:
        share = sign.share(seen)
        if share:
            score *= 1.0 - share * sign.weight
            reasons.append(f"{_percent(share)} {sign.words}")
    return LastmodTrust(round(score, 3), tuple(reasons))


def in_words(judged: LastmodTrust) -> str:
    """The verdict, to follow "lastmods" in a sentence.

    >>> in_words(LastmodTrust(0.95))
    'can be trusted (0.95)'
    """
    return next(f"{words} ({judged.score:.2f})" for least, words in _VERDICTS if judged.score >= least)


def is_proven(seen: History) -> bool:
    """Whether an index has been accurate often enough that a child with the same lastmod is not requested."""
    return seen.both >= _PROVEN_CHANGES and honesty(seen).score >= _TRUSTED_SCORE


def _percent(share: float) -> str:
    """A percentage; never 0% for more than nothing, nor 100% for less than all."""
    if share < 0.01:
        return "under 1%"
    return f"{min(round(share * 100), 99) if share < 1 else 100}%"
