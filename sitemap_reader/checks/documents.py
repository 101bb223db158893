"""Checks of whole sitemaps (F10, S04 to S06, S10), and of URLs that are listed again (U06, U07).

Also what other checks build on. Keeps the hash of each URL and each of its listings: some 100 bytes a URL.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import attrs

from ..frontier.plan import has_filter_drops
from ..model.records import Precision
from ..model.url_batch import lastmod_of
from ..parser.content.sniff import FEEDS, SITEMAP_FORMATS, Format
from ..parser.normalise.dates import DAY, format_date, period_end
from ..parser.normalise.urls import comparable, is_robots_txt
from .findings import Check, listing_of, location, location_of, url_keys

if TYPE_CHECKING:
    from ..client.sitemap_tree import SitemapTree
    from ..frontier.plan import Seed
    from ..frontier.robots_rules import AgentRules
    from ..model.problems import Kind, Severity
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
            message, field, severity = _describe_empty(outcome)
            findings.report("S06", message, sitemap=outcome.url, field=field, usual=severity)


def _describe_empty(outcome: Outcome) -> tuple[str, str | None, Severity | None]:
    """What is wrong with a sitemap without valid entries, the field at fault, and a severity that is not the usual."""
    entries = f"{outcome.entries:,} entries"
    if not outcome.entries and _NEWS_NAME.search(outcome.url or ""):
        return "it has no entry: there may be no news of the last two days", None, "notice"
    if not outcome.entries:
        return "it has no entry", None, None
    where = [words for words, reasons in _OUT_OF_SCOPE.items() if not reasons.isdisjoint(outcome.dropped)]
    if where and outcome.entries == sum(outcome.dropped.values()):
        return f"all of its {entries} are {' or '.join(where)}: search engines may ignore them", "loc", None
    return f"search engines can use none of its {entries}", None, None


# Where URLs are that a sitemap may not list -> the reasons of Outcome.dropped.
_OUT_OF_SCOPE = {
    "of another host, scheme or port": frozenset({"host", "scheme", "port"}),
    "above its directory": frozenset({"path"}),
}
# The name of a news sitemap, which Google allows to be empty: `news.xml`, `sitemap-news.xml`, `googlenews.php`.
_NEWS_NAME = re.compile(r"news(?!letter)[^/?#]*(?:[?#]|\Z)", re.IGNORECASE)


class NestedIndexes(Check):
    """Indexes that an index lists (S04), and those that list each other (S05)."""

    codes = ("S04", "S05")

    def __init__(self, tree: SitemapTree) -> None:
        self._tree = tree

    def on_end(self, findings: Findings) -> None:
        for ref, is_cycle in self._tree.inner_indexes():
            usual: Severity | None = None
            if is_cycle:
                way = "" if ref.sitemap == ref.loc else ", by way of this document"
                code, message = "S05", f"{ref.loc} lists itself{way}"
                if any(map(is_robots_txt, (ref.loc, ref.sitemap or ref.loc))):
                    usual = "warning"  # no index within an index
            else:
                code, message = "S04", f"{ref.loc} is an index, and the index {ref.sitemap} lists it"
            findings.report(code, message, **listing_of(ref), usual=usual)


class MisplacedEntries(Check):
    """Sitemaps that a urlset lists, and URLs that an index lists (S10)."""

    codes = ("S10",)

    def __init__(self) -> None:
        self._first: dict[tuple[str | None, Format], tuple[Location, int]] = {}  # in documents of this format

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        key = batch.sitemap, Format.INDEX
        first, count = self._first.get(key) or (location_of(batch, 0), 0)
        self._first[key] = first, count + len(batch)

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        key = ref.sitemap, Format.URLSET
        first, count = self._first.get(key) or (listing_of(ref), 0)
        self._first[key] = first, count + 1

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        for format, (tag, root) in _MISPLACED.items():
            found = self._first.pop((outcome.url, format), None)
            if found is not None and outcome.format == format:
                place, count = found
                others = f", and {count - 1:,} more are" if count > 1 else ""
                message = f"<{tag}> with {place['raw']} is in a <{root}>{others}"
                place["field"] = tag
                findings.report("S10", message, **place, usual="error" if count == outcome.kept else None)


# Format -> the entry that it has no place for, and its root.
_MISPLACED = {Format.INDEX: ("url", "sitemapindex"), Format.URLSET: ("sitemap", "urlset")}


@attrs.define
class CountedUrls:
    places: list[Location] = attrs.field(factory=list)
    count: int = 0

    def add(self, at: Location, *, keeps_each: bool) -> None:
        self.count += 1
        if keeps_each or not self.places:
            self.places.append(at)


_NO_LINE = -1
_UNDATED = 255
Period = tuple[datetime, datetime, Precision]


@attrs.define
class _SitemapKeys:
    """Keys, lines and lastmods of the URLs of a sitemap, in its order, and the indexes of those with a fragment."""

    keys: array[int] = attrs.field(factory=lambda: array("q"))
    lines: array[int] = attrs.field(factory=lambda: array("q"))
    lastmods: array[int] = attrs.field(factory=lambda: array("q"))
    precisions: bytearray = attrs.field(factory=bytearray)
    fragments: set[int] = attrs.field(factory=set)

    def add_lastmods(self, batch: UrlBatch) -> None:
        numbers, codes = batch.lastmods, batch.precisions
        if len(batch.dates) == 1 and None not in batch.precisions:  # as in most batches
            self.lastmods.extend(numbers)  # type: ignore[arg-type]
            self.precisions += bytes([codes[0] or 0]) * len(batch)
            return
        self.lastmods.extend([number or 0 for number in numbers])
        self.precisions += bytes([_UNDATED if code is None else code for code in codes])

    def line(self, index: int) -> int | None:
        line = self.lines[index]
        return None if line == _NO_LINE else line

    def period(self, index: int) -> Period | None:
        """The first and the last moment of a lastmod, and its precision."""
        code = self.precisions[index]
        start, precision = lastmod_of(self.lastmods[index], code)
        if code == _UNDATED or start is None or precision is None:
            return None
        return start, period_end(start, precision), precision


class DuplicateUrls(Check):
    """URLs listed twice in a sitemap (U06) or in several (U07), but for those of U08, each of which is to be removed.

    It runs before checks that need its sets.

    Keeps 25 bytes of each listing and the key of each URL, so that they are compared in the order of the sitemaps' URLs
    when all have been read.
    """

    codes = ("U06", "U07")

    def __init__(self) -> None:
        self.listed: set[int] = set()  # the keys of all URLs
        self.repeated: set[int] = set()  # keys of URLs listed again
        self.listings = 0
        self.unnamed: str | None = None  # in place of the sitemap of URLs that a dump lists without one
        self._sitemaps: dict[str, _SitemapKeys] = {}
        self._locs: dict[int, str] = {}  # of repeated URLs
        self._news_and_feeds: set[str] = set()  # they repeat new URLs of other sitemaps

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        sitemap, keys = batch.sitemap or "", url_keys(batch.locs)
        self.listings += len(keys)
        here = self._sitemaps.setdefault(sitemap, _SitemapKeys())
        for index, problems in batch.problems.items():
            if any(each.code == "U08" and each.field == "loc" for each in problems):
                here.fragments.add(len(here.keys) + index)
        here.keys.extend(array("q", keys))  # in one piece: an array takes a list number by number
        here.lines.extend(array("q", [_NO_LINE if line is None else line for line in batch.lines]))
        here.add_lastmods(batch)
        known = len(self.listed)
        if self.listed.isdisjoint(keys):
            self.listed.update(keys)
        if len(self.listed) - known < len(keys):  # not as in most batches
            self._find_repeated(batch, keys, known)
        if sitemap == self.unnamed or any(batch.counts("news")):
            self._news_and_feeds.add(sitemap)

    @property
    def sitemaps(self) -> Set[str]:
        """Those that list URLs."""
        return self._sitemaps.keys()

    def _find_repeated(self, batch: UrlBatch, keys: list[int], known: int) -> None:
        new = set(keys) if len(self.listed) > known else {*keys} - self.listed
        self.listed |= new
        for key, loc in zip(keys, batch.locs, strict=True):
            if key in new:
                new.remove(key)
                continue
            self.repeated.add(key)
            # Which of its spellings comes first depends on the order of documents.
            self._locs[key] = comparable(loc) if "%" in loc else loc

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        if outcome.format in FEEDS:
            self._news_and_feeds.add(outcome.url or "")

    def on_end(self, findings: Findings) -> None:
        """Reports URLs where they are listed again, in the same sitemap or in one after the first by its URL."""
        first: dict[int, tuple[str, int]] = {}
        here: dict[int, int] = {}
        last: str | None = None
        for sitemap, index, key in self._places(self.repeated):
            there = self._sitemaps[sitemap]
            if sitemap == self.unnamed or index in there.fragments:
                continue
            if sitemap != last:
                here, last = {}, sitemap
            loc, line = self._locs[key], there.line(index)
            place = location(sitemap, line, loc)
            if key in here:
                before = there.line(here[key])
                where = f"on line {before} already" if line not in (None, before) else "before"
                date, kind = self._contradiction((sitemap, here[key]), (sitemap, index))
                findings.report("U06", f"{loc} is listed {where}{date}", **place, kind=kind)
                continue
            here[key] = index
            if sitemap not in self._news_and_feeds:
                other = first.setdefault(key, (sitemap, index))
                if other[0] != sitemap:
                    date, kind = self._contradiction(other, (sitemap, index))
                    findings.report("U07", f"{loc} is in {other[0]} too{date}", **place, kind=kind)

    def _contradiction(self, *listings: tuple[str, int]) -> tuple[str, Kind | None]:
        """`, there with the lastmod 2026-10-02, here 2026-10-20`, and the kind; nothing if the periods overlap."""
        there, here = (self._sitemaps[sitemap].period(index) for sitemap, index in listings)
        if there is None or here is None:
            return "", None
        slack = timedelta() if there[2] == here[2] else DAY  # a day may be that of another time zone
        if there[0] < here[1] + slack and here[0] < there[1] + slack:
            return "", None
        dates = (format_date(start, precision) for start, _, precision in (there, here))
        return ", there with the lastmod {}, here {}".format(*dates), "with another lastmod"

    def places_of(self, keys: Set[int]) -> Iterator[tuple[str, int | None, int]]:
        """Sitemap, line and key of each listing of these, by the sitemaps' URLs."""
        return ((sitemap, self._sitemaps[sitemap].line(index), key) for sitemap, index, key in self._places(keys))

    def _places(self, keys: Set[int]) -> Iterator[tuple[str, int, int]]:
        """Sitemap, index and key of each listing."""
        for sitemap, there in sorted(self._sitemaps.items()) if keys else ():
            if not keys.isdisjoint(there.keys):
                yield from ((sitemap, index, key) for index, key in enumerate(there.keys) if key in keys)


class PageResults(Protocol):
    """A check that knows the responses of pages, or some of them."""

    @property
    def alternates(self) -> Mapping[int, bytes]:
        """The hreflang annotations of pages themselves, by their keys: see packed_alternates()."""

    def results(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The key of each page that was checked, and the codes of its faults; complete when all else has been read."""


@attrs.frozen
class AuditContext:
    """What checks may use beside the items that they receive."""

    now: datetime  # from which ages are computed
    clock: Callable[[], datetime]  # goes on while a site is read
    listings: DuplicateUrls  # has seen each batch before other checks
    tree: SitemapTree
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
    lambda context: EmptySitemaps(sees_other_hosts=not context.is_local),
    lambda context: NestedIndexes(context.tree),
    lambda _: MisplacedEntries(),
    lambda context: MissingValidators(context.has_headers),
)
