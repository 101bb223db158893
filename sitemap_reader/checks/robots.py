"""URLs that robots.txt forbids: locs and the rules of their hosts in, those that no crawler may ask for out (U12).

Rules are asked through Protego, which takes its time where a robots.txt has many: there is a budget.
"""

from __future__ import annotations

from bisect import bisect_right
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..frontier.robots_rules import Rules
    from .check import Listed, Place
    from .findings import Findings

BUDGET_SECONDS = 2.0  # while URLs come, and once more for each of the samples at the end
# Of those for which there was no time, or no rules yet, every nth is tried at the end: so many, up to twice as many.
_SAMPLE = 2_000
# So many beginnings are looked for in all URLs at once.
_FEW = 20


class _Host:
    """The rules of a host, and a quick way to tell what they cannot forbid."""

    def __init__(self, rules: Rules, origin: str) -> None:
        self.rules = rules
        self._suspects: list[str] = []
        for suspect in sorted(rules.suspects(origin)):
            if not self._suspects or not suspect.startswith(self._suspects[-1]):
                self._suspects.append(suspect)

    def may_forbid_some(self, text: str) -> bool:
        """Whether one of many URLs may be forbidden: mostly this is all that is asked."""
        if len(self._suspects) > _FEW or ("%" in text and self._suspects):
            return True
        return any(f"\n{suspect}" in text for suspect in self._suspects)

    def may_forbid(self, loc: str) -> bool:
        """Whether it begins as a path that is forbidden; escapes are undone, as Protego does."""
        if self._begins(loc):
            return True
        if "%" not in loc:
            return False
        plain = unquote(loc)
        return self._begins(plain) or "/." in plain  # where dots were escaped, it may be another path

    def _begins(self, loc: str) -> bool:
        # None of the beginnings begins with another one, so only the last that is not behind the URL can be its own.
        place = bisect_right(self._suspects, loc)
        return place > 0 and loc.startswith(self._suspects[place - 1])

    def forbids(self, loc: str) -> bool:
        """What Protego says: "" stands for a rule; a text says that it was not asked, as it would take too long."""
        return self.rules.refusal(loc) == ""


@attrs.define
class _PutOff:
    """URLs that wait for the end: how many, and every nth of them, each with its origin."""

    urls: int = 0
    sample: list[tuple[str, Place]] = attrs.field(factory=list)
    _every: int = 1

    def add(self, origin: str, listed: Listed, places: list[int]) -> None:
        """Some more; where the sample becomes too large, every second stays."""
        first = -self.urls % self._every
        self.urls += len(places)
        self.sample += [(origin, listed.at(place)) for place in places[first :: self._every]]
        while len(self.sample) >= 2 * _SAMPLE:
            self.sample = self.sample[::2]
            self._every *= 2


class Forbidden(Check):
    """What robots.txt forbids (U12). `rules_of` gives the rules of a URL's host, None as long as they are not known."""

    codes = ("U12",)

    def __init__(
        self,
        rules_of: Callable[[str], Rules | None],
        *,
        budget_seconds: float = BUDGET_SECONDS,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.notes: list[str] = []
        self._rules_of = rules_of
        self._seconds = budget_seconds
        self._left = budget_seconds
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._urls = 0
        self._late, self._unknown = _PutOff(), _PutOff()

    def urls(self, listed: Listed, found: Findings) -> None:
        """Those that may be forbidden are tried, as long as there is time."""
        for origin, places in listed.origins:
            self._urls += len(places)
            host = self._host(origin)
            if host is None:
                self._unknown.add(origin, listed, places)
            elif host.may_forbid_some(listed.text):
                self._try(host, origin, listed, places, found)

    def _host(self, origin: str) -> _Host | None:
        if origin not in self._hosts:
            rules = self._rules_of(f"{origin}/")
            if rules is None:
                return None
            self._hosts[origin] = _Host(rules, origin)
        return self._hosts[origin]

    def _try(self, host: _Host, origin: str, listed: Listed, places: list[int], found: Findings) -> None:
        started = self._clock()
        suspects = [place for place in places if host.may_forbid(listed.locs[place])]
        for number, place in enumerate(suspects):
            if self._clock() - started > self._left:
                self._late.add(origin, listed, suspects[number:])
                break
            _ask(host, listed.at(place), found)
        self._left -= self._clock() - started

    def end(self, found: Findings) -> None:
        """The samples, with as much time as there was; what could not be judged is told."""
        unknown = self._try_sample(self._unknown, found)
        late = self._try_sample(self._late, found)
        unasked = self._unknown.urls - unknown + self._late.urls - late
        if unasked:
            has_hosts = all(self._host(origin) for origin, _ in self._unknown.sample)
            reasons = ["robots.txt of other hosts was not fetched"] * (not has_hosts)
            reasons += ["there was no time for more"] * (self._late.urls > late or (has_hosts and bool(unasked)))
            asked = f"{self._urls - unasked:,} of {self._urls:,} URLs"
            self.notes.append(f"U12 checked {asked}; {', and '.join(reasons)}")

    def _try_sample(self, put_off: _PutOff, found: Findings) -> int:
        """How many could be tried."""
        ends, tried = self._clock() + self._seconds, 0
        for origin, place in put_off.sample:
            host = self._host(origin)
            if host is None:
                continue
            if self._clock() > ends:
                break
            tried += 1
            if host.may_forbid(place["raw"]):
                _ask(host, place, found)
        return tried


def _ask(host: _Host, place: Place, found: Findings) -> None:
    if host.forbids(place["raw"]):
        found.note("U12", f"robots.txt forbids {place['raw']}", **place)
