"""URLs, each by itself: locs in, those that no sitemap should list out (U09, U13, U14)."""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_right
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs

from ..parser.normalise.urls import host
from .findings import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from ..frontier.robots_rules import Rules
    from .findings import Findings, Listed, Place


_SESSIONS = (
    "jsessionid phpsessid aspsessionid[a-z]* asp.net_sessionid sessionid session_id sid cfid cftoken zenid oscsid"
)
_TRACKING = (
    "utm_[a-z_]+ gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid "
    "_ga _gl _hsenc _hsmi __hssc __hstc hsctatracking mkt_tok vero_id s_kwcid ef_id pk_campaign pk_kwd mtm_[a-z]+"
)
_NAMES = "|".join(f"{_SESSIONS} {_TRACKING}".replace(".", r"\.").split())
# Java's stands behind a semicolon in the path.
_PARAMETER = re.compile(rf"(?:[?&;])({_NAMES})(?:=|(?=[&#;?\n])|\Z)", re.IGNORECASE)

_ASSETS = (
    "avif bmp gif ico jpeg jpg png svg tif tiff webp "
    "3gp avi flac m4a m4v mkv mov mp3 mp4 mpeg mpg ogg ogv wav webm wmv "
    "7z bz2 gz jar rar tar tgz zip css js mjs map json rss atom xml xsl eot otf ttf woff woff2 "
    "apk deb dmg exe iso msi rpm wasm"
)
ASSETS = frozenset(_ASSETS.split())
# What URLs end in, whatever that is: looked for in many at once.
_ENDINGS = re.compile(r"\.([A-Za-z0-9]{2,5})(?:[?#\n]|\Z)")
_ASSET = re.compile(rf"[a-z]+://[^/]*/[^?#]*\.({'|'.join(sorted(ASSETS))})(?=[?#]|\Z)", re.IGNORECASE)


class Parameters(Check):
    """Parameters that tell visitors apart, not pages (U09)."""

    codes = ("U09",)

    def urls(self, listed: Listed, found: Findings) -> None:
        """Those in which one is found."""
        if ("?" not in listed.text and ";" not in listed.text) or not _PARAMETER.search(listed.text):
            return
        for place, match in enumerate(map(_PARAMETER.search, listed.locs)):
            if match is None:
                continue
            told = f"{listed.locs[place]} has the parameter {match[1]}"
            found.note("U09", told, **listed.at(place))


class Assets(Check):
    """What is no page (U13)."""

    codes = ("U13",)

    def urls(self, listed: Listed, found: Findings) -> None:
        """Those whose path ends in the extension of something else."""
        if ASSETS.isdisjoint(map(str.lower, {*_ENDINGS.findall(listed.text)})):
            return
        for place, match in enumerate(map(_ASSET.match, listed.locs)):
            if match is None:
                continue
            told = f"{listed.locs[place]} ends in .{match[1]}: no page"
            found.note("U13", told, **listed.at(place))


class Hosts(Check):
    """Hosts that cannot be reached from outside (U14), but for those that the caller has `permitted`."""

    codes = ("U14",)

    def __init__(self, permitted: Container[str] = ()) -> None:
        self._permitted = permitted

    def urls(self, listed: Listed, found: Findings) -> None:
        """One look at each origin."""
        for origin, places in listed.origins:
            name = host(f"{origin}/")
            for place in places if _is_private(name) and name not in self._permitted else ():
                found.note("U14", f"{listed.locs[place]}: {name} is a private address", **listed.at(place))


def _is_private(name: str) -> bool:
    name = name.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return False


# ----------------------------------------------------------------------------------------------------
# URLs that robots.txt forbids: locs and the rules of their hosts in, those that no crawler may ask for out (U12).
#
# Rules are asked through Protego, which takes its time where a robots.txt has many: there is a budget.


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
