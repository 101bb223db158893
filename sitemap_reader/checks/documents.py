"""How often the site lists what: URLs in; what is listed again, or in two spellings, out (U06, U07, U11).

Of each URL its key is kept, and which sitemap listed it first: some 100 bytes.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs

from ..client.summary import count_of
from ..frontier.filters import UNWANTED
from ..parser.content.sniff import FEEDS, SITEMAP_FORMATS
from ..parser.normalise.urls import host, without_userinfo
from .findings import Check

if TYPE_CHECKING:
    from ..model.records import Outcome, UrlRecord
    from .findings import Findings, Listed, Place


# ----------------------------------------------------------------------------------------------------
# Sitemaps as a whole: outcomes in; what they lack out. And a place to gather what the URLs of each amount to.


Collected = TypeVar("Collected")


class ByDocument(Check, Generic[Collected]):
    """A check that gathers something of each sitemap while it is read, and judges it at its end.

    Of a dump the end of a sitemap is only known where there is a line for its outcome: the rest is judged at the end.
    """

    is_by_sitemap = True

    def __init__(self) -> None:
        self._gathered: dict[str, Collected] = {}

    def new(self) -> Collected:
        """Nothing yet."""
        raise NotImplementedError

    def judge(self, sitemap: str, gathered: Collected, outcome: Outcome | None, found: Findings) -> None:
        """All of a sitemap has passed."""
        raise NotImplementedError

    def of(self, sitemap: str) -> Collected:
        """What was gathered of a sitemap so far."""
        gathered = self._gathered.get(sitemap)
        if gathered is None:
            gathered = self._gathered[sitemap] = self.new()
        return gathered

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Its end."""
        gathered = self._gathered.pop(outcome.url or "", None)
        if gathered is not None:
            self.judge(outcome.url or "", gathered, outcome, found)

    def end(self, found: Findings) -> None:
        """Those whose end nobody told."""
        for sitemap, gathered in self._gathered.items():
            self.judge(sitemap, gathered, None, found)
        self._gathered.clear()


class Answers(Check):
    """How sitemaps are served (F10)."""

    codes = ("F10",)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Validators let a crawler ask whether anything has changed."""
        is_sitemap = outcome.status == 200 and outcome.format in SITEMAP_FORMATS and not outcome.not_modified
        if is_sitemap and not (outcome.etag or outcome.last_modified):
            told = "the answer has neither ETag nor Last-Modified: it is fetched whole each time"
            found.note("F10", told, sitemap=outcome.url)


class Emptiness(Check):
    """Sitemaps that list nothing (S06)."""

    codes = ("S06",)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """What was not read, or is another one under a second name, is not judged."""
        is_sitemap = outcome.format in SITEMAP_FORMATS and outcome.bytes_decoded and not outcome.not_modified
        is_known = outcome.complete or outcome.entries  # else it broke off before its first entry
        is_filtered = not UNWANTED.keys().isdisjoint(outcome.dropped)  # as a dump may be
        if is_sitemap and is_known and not is_filtered and not outcome.kept:
            told = "it has no entry" if not outcome.entries else f"none of its {outcome.entries:,} entries can be kept"
            found.note("S06", told, sitemap=outcome.url)


# Pairs of sitemaps, and origins, that are told apart.
_MOST_PAIRS = 10_000
_MOST_ORIGINS = 10_000


@attrs.define
class _Places:
    """Of a sitemap, as long as it is read: keys and lines; `elsewhere` are keys that another one listed first."""

    keys: array[int] = attrs.field(factory=lambda: array("q"))
    lines: array[int] = attrs.field(factory=lambda: array("q"))
    elsewhere: set[int] = attrs.field(factory=set)

    def line_of(self, key: int) -> int | None:
        """Where it stands first; None where nobody knows."""
        return self.lines[self.keys.index(key)] or None if key in self.keys else None


@attrs.define
class _Shared:
    """URLs that two sitemaps list."""

    urls: int
    first: Place


class Listings(Check):
    """What is listed where (U06, U07). It is asked first, so that the others know which URLs there are.

    `first` has the sitemap that listed each URL first, by its key; `repeated` are the keys that came up again.
    """

    codes = ("U06", "U07")

    def __init__(self) -> None:
        self.first: dict[int, str] = {}
        self.repeated: set[int] = set()
        self.listings = 0
        self._places: dict[str, _Places] = {}
        self._shared: dict[tuple[str, str], _Shared] = {}
        self._recent: set[str] = set()  # sitemaps of what is new, which others list as well

    def urls(self, listed: Listed, found: Findings) -> None:
        """Mostly all of them are new."""
        self.listings += len(listed.keys)
        if not listed.names_sitemap:
            self._recent.add(listed.sitemap)  # whatever else lists it
        places = self._places.get(listed.sitemap) or self._places.setdefault(listed.sitemap, _Places())
        fresh = dict.fromkeys(listed.keys, listed.sitemap)
        if len(fresh) == len(listed.keys) and self.first.keys().isdisjoint(fresh):
            self.first.update(fresh)
        else:
            self._look(listed, places, found)
        places.keys.extend(listed.keys)
        places.lines.extend([line or 0 for line in listed.lines])

    def _look(self, listed: Listed, places: _Places, found: Findings) -> None:
        for place, key in enumerate(listed.keys):
            first = self.first.get(key)
            if first is None:
                self.first[key] = listed.sitemap
                continue
            self.repeated.add(key)
            if not listed.names_sitemap:
                continue
            if first != listed.sitemap and first in self._recent:
                self.first[key] = listed.sitemap
                if first in self._places:
                    self._places[first].elsewhere.add(key)  # it has listed it all the same
            elif first == listed.sitemap or key in places.elsewhere:
                self._note_again(listed, place, places, found)
            else:
                places.elsewhere.add(key)
                self._share((first, listed.sitemap), listed.at(place))

    def _note_again(self, listed: Listed, place: int, places: _Places, found: Findings) -> None:
        def told() -> str:
            key = listed.keys[place]
            line = places.line_of(key) or listed.lines[listed.keys.index(key)]
            is_here = line is not None and line != listed.lines[place]
            return f"{listed.locs[place]} is listed " + (f"on line {line} already" if is_here else "before")

        found.note("U06", told, **listed.at(place))

    def _share(self, pair: tuple[str, str], place: Place) -> None:
        if pair not in self._shared and len(self._shared) >= _MOST_PAIRS:
            pair = pair[0], ""  # all others
        shared = self._shared.get(pair)
        if shared is None:
            self._shared[pair] = _Shared(1, place)
        else:
            shared.urls += 1

    def record(self, record: UrlRecord, found: Findings) -> None:
        """News are what is new."""
        if record.news is not None and record.sitemap is not None:
            self._recent.add(record.sitemap)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Feeds are, too."""
        self._places.pop(outcome.url or "", None)
        if outcome.format in FEEDS:
            self._recent.add(outcome.url or "")

    def end(self, found: Findings) -> None:
        """Tells of the pairs of sitemaps; the one that came first depends on which was answered first."""
        for pair, shared in self._shared.items():
            if self._recent.isdisjoint(pair):
                others = f" and {shared.urls - 1:,} more are" if shared.urls > 1 else " is"
                told = f"{shared.first['raw']}{others} in {pair[0]} too"
                found.note("U07", told, **shared.first, count=shared.urls)


@attrs.define
class _Origin:
    urls: int
    first: Place


class Spellings(Check):
    """The same page, or host, in two spellings (U11)."""

    codes = ("U11",)

    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        self._origins: dict[str, _Origin] = {}
        self._has_slashes = False
        self._told: set[int] = set()

    def urls(self, listed: Listed, found: Findings) -> None:
        """Counts the origins, and looks for URLs that differ by a slash."""
        for full, places in listed.origins:
            origin = without_userinfo(f"{full}/")[:-1]
            known = self._origins.get(origin)
            if known is not None:
                known.urls += len(places)
            elif len(self._origins) < _MOST_ORIGINS:
                self._origins[origin] = _Origin(len(places), listed.at(places[0]))
        self._look_for_slashes(listed, found)

    def _look_for_slashes(self, listed: Listed, found: Findings) -> None:
        # Where one of the two comes first, the other one finds it: so long as no URL has a slash there is no need.
        ending = [loc for loc in listed.locs if loc[-1] == "/" and loc.count("/") > 3 and "?" not in loc]
        self._has_slashes = self._has_slashes or bool(ending)
        if not self._has_slashes:
            return
        others = [loc[:-1] if loc[-1] == "/" else f"{loc}/" for loc in listed.locs]
        first = self._listings.first
        if first.keys().isdisjoint(map(hash, others)):
            return
        here = {key: place for place, key in reversed([*enumerate(listed.keys)])}  # where each stands first
        for place, other in enumerate(others):
            key = hash(other)
            is_earlier = key in first and here.get(key, -1) < place and "?" not in other
            if is_earlier and not self._told.issuperset((key, listed.keys[place])):
                self._told |= {key, listed.keys[place]}
                found.note("U11", f"{listed.locs[place]} and {other} are both listed", **listed.at(place))

    def end(self, found: Findings) -> None:
        """Tells of origins that are another spelling of one that has more URLs."""
        spelled: dict[tuple[str, str], list[str]] = {}
        for origin in self._origins:
            spelled.setdefault(_bare(origin), []).append(origin)
        for several in spelled.values():
            main, *others = sorted(several, key=lambda origin: (-self._origins[origin].urls, origin))
            for origin in others:
                self._tell(origin, main, found)

    def _tell(self, origin: str, main: str, found: Findings) -> None:
        here, there = self._origins[origin], self._origins[main]
        told = f"{count_of(here.urls, 'URL')} on {origin}, {there.urls:,} on {main}"
        found.note("U11", f"{told}: {_difference(origin, main)} are mixed", **here.first, count=here.urls)


def _bare(origin: str) -> tuple[str, str]:
    """What the spellings of an origin have in common: host and port."""
    _, _, authority = origin.partition("://")
    name = host(f"{origin}/")
    return name.removeprefix("www."), authority[len(name) :]


def _difference(one: str, other: str) -> str:
    kinds = []
    if one.partition("://")[0] != other.partition("://")[0]:
        kinds.append("http and https")
    if host(f"{one}/") != host(f"{other}/"):
        kinds.append("www and the bare host")
    return ", ".join(kinds)
