"""Checks of whole sitemaps (F10, S06), and of URLs that are listed again or in two variants (U06, U07, U11).

Also what other checks build on. Keeps the hash of each URL and the sitemap that listed it first: some 100 bytes a URL.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import attrs

from ..frontier.filters import has_filter_drops
from ..model.problems import count_of
from ..parser.content.sniff import FEEDS, SITEMAP_FORMATS
from ..parser.normalise.urls import host, without_userinfo
from .findings import Check, location_of, url_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from datetime import datetime

    from ..frontier.plan import Seed
    from ..frontier.robots_agents import AgentRules
    from ..model.records import Outcome, SitemapRef
    from ..model.url_batch import UrlBatch
    from .findings import Findings, Location


Stats = TypeVar("Stats")


class PerSitemapCheck(Check, Generic[Stats]):
    """Base class of checks that collect statistics of each sitemap while it is read, and check them at its end."""

    is_by_sitemap = True
    new_stats: Callable[[], Stats]

    def __init__(self) -> None:
        self.stats: defaultdict[str, Stats] = defaultdict(self.new_stats)

    def check_sitemap(self, sitemap: str, stats: Stats, outcome: Outcome | None, findings: Findings) -> None:
        """Called with the statistics of a completed sitemap; `outcome` is None if the dump has none."""
        raise NotImplementedError

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        stats = self.stats.pop(outcome.url or "", None)
        if stats is not None:
            self.check_sitemap(outcome.url or "", stats, outcome, findings)

    def on_end(self, findings: Findings) -> None:
        for sitemap, stats in self.stats.items():  # a dump without outcomes does not state where a sitemap ends
            self.check_sitemap(sitemap, stats, None, findings)
        self.stats.clear()


INCOMPLETE = "not all sitemaps were read completely"


class WholeSiteCheck(Check):
    """Base class of checks that conclude from what no sitemap lists, or from all URLs together."""

    def __init__(self) -> None:
        self.notes: list[str] = []  # sentences on what was not checked, complete after on_end()
        self.unchecked: dict[str, str] = {}
        self.is_complete = True  # each document was read completely
        self.is_filtered = False  # a filter left out URLs
        self._named: set[str] = set()
        self._read: set[str | None] = set()

    @property
    def has_all_sitemaps(self) -> bool:
        """Whether all sitemaps that are named were read, and completely; True if a dump does not state it."""
        return self.is_complete and (not self._read or self._named <= self._read)

    @property
    def has_whole_site(self) -> bool:
        """Whether these are all URLs of all sitemaps."""
        return self.has_all_sitemaps and not self.is_filtered

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        self._named.add(ref.loc)  # a target may be only one of them

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        self._read.add(outcome.url)
        self.is_complete = self.is_complete and outcome.complete
        self.is_filtered = self.is_filtered or has_filter_drops(outcome)

    def leave_out(self, codes: Iterable[str], note: str) -> None:
        self.notes.append(note)
        self.unchecked = {**self.unchecked, **dict.fromkeys(codes, note)}


class MissingValidators(Check):
    codes = ("F10",)

    def __init__(self, has_headers: Callable[[str], bool] = lambda url: True) -> None:
        self._has_headers = has_headers

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        is_sitemap = outcome.status == 200 and outcome.format in SITEMAP_FORMATS and not outcome.not_modified
        has_validator = outcome.etag or outcome.last_modified
        if is_sitemap and not has_validator and self._has_headers(outcome.final_url or outcome.url or ""):
            message = "the answer has neither ETag nor Last-Modified: it is fetched whole each time"
            findings.report("F10", message, sitemap=outcome.url)


class EmptySitemaps(Check):
    codes = ("S06",)

    def __init__(self, *, sees_other_hosts: bool = True) -> None:
        self._sees_other_hosts = sees_other_hosts

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        is_sitemap = outcome.format in SITEMAP_FORMATS and outcome.bytes_decoded and not outcome.not_modified
        is_known = outcome.complete or outcome.entries  # else reading stopped before the first entry
        is_filtered = has_filter_drops(outcome)  # a filtered dump
        is_judged = self._sees_other_hosts or "host" not in outcome.dropped
        if is_sitemap and is_known and is_judged and not is_filtered and not outcome.kept:
            entries = outcome.entries
            message = f"search engines can use none of its {entries:,} entries" if entries else "it has no entry"
            findings.report("S06", message, sitemap=outcome.url)


# Beyond these, pairs of sitemaps are counted together, and origins are left out.
_MAX_PAIRS = 10_000
_MAX_ORIGINS = 10_000


@attrs.define
class _SitemapKeys:
    """Keys and lines of the sitemap being read; `elsewhere` are keys that another sitemap listed first."""

    keys: list[int] = attrs.field(factory=list)
    lines: list[int | None] = attrs.field(factory=list)
    elsewhere: set[int] = attrs.field(factory=set)


@attrs.define
class CountedUrls:
    places: list[Location] = attrs.field(factory=list)
    count: int = 0

    def add(self, at: Location, *, keeps_each: bool) -> None:
        self.count += 1
        if keeps_each or not self.places:
            self.places.append(at)


class DuplicateUrls(Check):
    """URLs listed twice in a sitemap (U06) or in several (U07). It runs before checks that need its sets."""

    codes = ("U06", "U07")

    def __init__(self) -> None:
        self.first: dict[int, str] = {}  # key of a URL -> the sitemap that listed it first
        self.repeated: set[int] = set()  # keys of URLs listed again
        self.listings = 0
        self.unnamed: str | None = None  # in place of the sitemap of URLs that a dump lists without one
        self._open: dict[str, _SitemapKeys] = {}
        self._shared: dict[tuple[str, str], CountedUrls] = {}  # of two sitemaps
        self._news_and_feeds: set[str] = set()  # they repeat new URLs of other sitemaps

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        sitemap, keys = batch.sitemap or "", url_keys(batch.locs)
        self.listings += len(keys)
        here = self._open.setdefault(sitemap, _SitemapKeys())
        known = len(here.keys)
        here.keys += keys
        here.lines += batch.lines
        new_keys = dict.fromkeys(keys, sitemap)
        if len(new_keys) == len(keys) and self.first.keys().isdisjoint(keys):  # as in most batches
            self.first.update(new_keys)
        else:
            self._find_repeated(batch, here, known, findings)
        if sitemap == self.unnamed or any(batch.counts("news")):
            self._news_and_feeds.add(sitemap)  # a sitemap that is named later counts as the first

    def _find_repeated(self, batch: UrlBatch, here: _SitemapKeys, known: int, findings: Findings) -> None:
        sitemap = batch.sitemap or ""
        for index, key in enumerate(here.keys[known:]):
            first = self.first.get(key)
            if first is None:
                self.first[key] = sitemap
                continue
            self.repeated.add(key)
            if sitemap == self.unnamed:
                continue
            if first != sitemap and first in self._news_and_feeds:
                self.first[key] = sitemap
                if first in self._open:
                    self._open[first].elsewhere.add(key)
            elif first == sitemap or key in here.elsewhere:
                self._report_repeated(batch, index, key, here, findings)
            else:
                here.elsewhere.add(key)
                pair = first, sitemap
                if pair not in self._shared and len(self._shared) >= _MAX_PAIRS:
                    pair = first, ""  # beyond the limit: by the first sitemap only
                shared = self._shared.setdefault(pair, CountedUrls())
                shared.add(location_of(batch, index), keeps_each=findings.needs_each)

    def _report_repeated(self, batch: UrlBatch, index: int, key: int, here: _SitemapKeys, findings: Findings) -> None:
        def message() -> str:  # which searches all keys
            line = here.lines[here.keys.index(key)]
            is_here = line is not None and line != batch.lines[index]
            return f"{batch.locs[index]} is listed " + (f"on line {line} already" if is_here else "before")

        findings.report("U06", message, **location_of(batch, index))

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        self._open.pop(outcome.url or "", None)
        if outcome.format in FEEDS:
            self._news_and_feeds.add(outcome.url or "")

    def on_end(self, findings: Findings) -> None:
        """Reports each pair of sitemaps that share URLs, at the sitemap that was read later."""
        for pair, shared in self._shared.items():
            if not self._news_and_feeds.isdisjoint(pair):
                continue
            here = 1 if findings.needs_each else shared.count
            for at in shared.places:
                others = f" and {here - 1:,} more are" if here > 1 else " is"
                findings.report("U07", f"{at['url']}{others} in {pair[0]} too", **at, count=here)


class UrlVariants(Check):
    """Pages listed with and without a final slash, and hosts under http and https or with and without www (U11)."""

    codes = ("U11",)

    def __init__(self, listings: DuplicateUrls) -> None:
        self._urls = listings
        self._origins: dict[str, CountedUrls] = {}
        self._has_slashes = self._has_bare = False
        self._reported: set[int] = set()

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for full, here in batch.origins:
            origin = without_userinfo(f"{full}/")[:-1]
            known = self._origins.get(origin)
            if known is not None:
                known.count += len(here)
            elif len(self._origins) < _MAX_ORIGINS:
                self._origins[origin] = CountedUrls([location_of(batch, here[0])], len(here))
        self._find_slash_variants(batch, findings)

    def _find_slash_variants(self, batch: UrlBatch, findings: Findings) -> None:
        # The second URL of a pair finds the first. While all or none end in a slash there is no pair.
        locs = batch.locs
        if not self._has_slashes:
            self._has_slashes = any([loc[-1] == "/" and loc.count("/") > 3 and "?" not in loc for loc in locs])
        if not self._has_bare:
            self._has_bare = any([loc[-1] != "/" for loc in locs])
        if not (self._has_slashes and self._has_bare):
            return
        others = [loc[:-1] if loc[-1] == "/" else f"{loc}/" for loc in locs]
        other_keys = url_keys(others)
        first = self._urls.first
        if first.keys().isdisjoint(other_keys):
            return
        keys = url_keys(locs)
        here = {key: index for index, key in reversed([*enumerate(keys)])}  # the first listing of each
        for index, (key, other) in enumerate(zip(other_keys, others, strict=True)):
            is_earlier = key in first and here.get(key, -1) < index and "?" not in other
            if is_earlier and not self._reported.issuperset((key, keys[index])):
                self._reported |= {key, keys[index]}
                findings.report("U11", f"{locs[index]} and {other} are both listed", **location_of(batch, index))

    def on_end(self, findings: Findings) -> None:
        """Reports origins that are a variant of one with more URLs."""
        variants: dict[tuple[str, str], list[str]] = {}
        for origin in self._origins:
            variants.setdefault(_host_and_port(origin), []).append(origin)
        for origins in variants.values():
            main, *others = sorted(origins, key=lambda origin: (-self._origins[origin].count, origin))
            for origin in others:
                here, there = self._origins[origin], self._origins[main]
                kinds = []
                if origin.partition("://")[0] != main.partition("://")[0]:
                    kinds.append("http and https")
                if host(f"{origin}/") != host(f"{main}/"):
                    kinds.append("www and the bare host")
                message = f"{count_of(here.count, 'URL')} on {origin}, {there.count:,} on {main}"
                findings.report("U11", f"{message}: {', '.join(kinds)} are mixed", **here.places[0], count=here.count)


def _host_and_port(origin: str) -> tuple[str, str]:
    """Host without www., and port: the same for all variants of an origin."""
    _, _, authority = origin.partition("://")
    name = host(f"{origin}/")
    return name.removeprefix("www."), authority[len(name) :]


class PageResults(Protocol):
    """A check that knows the responses of pages, or some of them."""

    def results(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The key of each page that was checked, and the codes of its faults; complete when all else has been read."""


@attrs.frozen
class AuditContext:
    """What checks may use beside the items that they receive."""

    now: datetime  # from which ages are computed
    clock: Callable[[], datetime]  # goes on while a site is read
    listings: DuplicateUrls  # has seen each batch before other checks
    robots: AgentRules | None  # None for a dump
    has_headers: Callable[[str], bool]  # whether the headers that came for a URL are known
    allowed_hosts: Container[str]  # private addresses that are not reported
    seeds: Sequence[Seed] = ()
    knows: Callable[[str], bool] = lambda url: True  # whether the answer for a URL is known
    is_mapped: bool = False  # answers are those of a staging host
    is_local: bool = False  # files of one host
    page_results: Sequence[PageResults] = ()  # checks that know responses of pages

    @property
    def covers_site(self) -> bool:
        """Whether the target is a site, not one of its sitemaps."""
        return bool(self.seeds) and all(seed.document is None for seed in self.seeds)


# The audit rules of a module: functions that make a check; None where it has nothing to check with.
CheckFactories = tuple["Callable[[AuditContext], Check | None]", ...]

CHECKS: CheckFactories = (
    lambda context: UrlVariants(context.listings),
    lambda context: EmptySitemaps(sees_other_hosts=not context.is_local),
    lambda context: MissingValidators(context.has_headers),
)
