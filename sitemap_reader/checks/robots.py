"""URLs that robots.txt forbids: locs and the rules of their hosts in, those that no crawler may ask for out (U12).

Rules are asked through Protego, which takes its time where a robots.txt has many: there is a budget.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..walk.robots import Rules
    from .check import Listed, Place
    from .findings import Findings

BUDGET_SECONDS = 2.0
# Of those for which there was no time, every nth is tried at the end: so many of them, or up to half as many more.
_SAMPLE = 2_000
# So many beginnings are looked for in all URLs at once.
_FEW = 20


@attrs.define
class _Host:
    rules: Rules
    suspects: tuple[str, ...]


class Forbidden(Check):
    """What robots.txt forbids (U12). `rules_of` gives the rules of a URL's host, None where they are not known."""

    codes = ("U12",)

    def __init__(
        self,
        rules_of: Callable[[str], Rules | None],
        *,
        budget_seconds: float = BUDGET_SECONDS,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._rules_of = rules_of
        self._budget = budget_seconds
        self._clock = clock
        self._hosts: dict[str, _Host | None] = {}
        self._untried = 0
        self._every = 1
        self._sample: list[tuple[Rules, Place]] = []
        self.notes: list[str] = []
        self._unknown = 0
        self._looked_at = 0

    def urls(self, listed: Listed, found: Findings) -> None:
        """Those that may be forbidden are tried, as long as there is time."""
        for origin, places in listed.origins():
            self._looked_at += len(places)
            host = self._host(origin)
            if host is None:
                self._unknown += len(places)
                continue
            if _may_hold(listed.text, host.suspects):
                suspects = [place for place in places if _may_be(listed.locs[place], host.suspects)]
                self._try(host.rules, listed, suspects, found)

    def _host(self, origin: str) -> _Host | None:
        if origin not in self._hosts:
            rules = self._rules_of(f"{origin}/")
            self._hosts[origin] = None if rules is None else _Host(rules, rules.suspects(origin))
        return self._hosts[origin]

    def _try(self, rules: Rules, listed: Listed, suspects: list[int], found: Findings) -> None:
        started = self._clock()
        for number, place in enumerate(suspects):
            if self._clock() - started > self._budget:
                self._put_off(rules, listed, suspects[number:])
                break
            _ask(rules, listed.at(place), found)
        self._budget -= self._clock() - started

    def _put_off(self, rules: Rules, listed: Listed, places: list[int]) -> None:
        """Keeps every nth of all that were put off; where these become too many, every second of them."""
        first = -self._untried % self._every
        self._untried += len(places)
        self._sample += [(rules, listed.at(place)) for place in places[first :: self._every]]
        while len(self._sample) >= 2 * _SAMPLE:
            self._sample = self._sample[::2]
            self._every *= 2

    def end(self, found: Findings) -> None:
        """The sample, with as much time as there was."""
        if self._untried:
            tried = self._try_sample(found)
            asked = self._looked_at - self._unknown - self._untried + tried
            self.notes.append(
                f"U12: for want of time robots.txt was held against {asked:,} of {self._looked_at:,} URLs: the first "
                f"ones, and {tried:,} evenly among the others"
            )
        elif self._unknown:
            told = "all" if self._unknown == self._looked_at else f"{self._unknown:,} of {self._looked_at:,}"
            self.notes.append(f"U12: the robots.txt of {told} URLs' hosts was not read, so that is not judged")

    def _try_sample(self, found: Findings) -> int:
        ends = self._clock() + BUDGET_SECONDS
        for number, (rules, place) in enumerate(self._sample):
            if self._clock() > ends:
                return number
            _ask(rules, place, found)
        return len(self._sample)


def _may_hold(text: str, suspects: tuple[str, ...]) -> bool:
    """Whether one of many URLs may be forbidden: mostly this is all that is asked."""
    if not suspects:
        return False
    if len(suspects) > _FEW or "%" in text:
        return True
    return any(f"\n{suspect}" in text for suspect in suspects)


def _may_be(loc: str, suspects: tuple[str, ...]) -> bool:
    if loc.startswith(suspects):
        return True
    if "%" not in loc:
        return False
    plain = unquote(loc)  # as Protego does; and where dots were escaped, it may be another path
    return plain.startswith(suspects) or "/." in plain


def _ask(rules: Rules, place: Place, found: Findings) -> None:
    if not rules.allows(place["raw"]):
        found.note("U12", f"robots.txt forbids {place['raw']}", **place)
