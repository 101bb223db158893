"""Compares the sitemaps with a crawl of the site (C01 to C13) and with an earlier dump and its crawl (X03).

Reads the crawl file before the sitemaps, and once more if indexable pages are in no sitemap, or pages have the same
content. Keeps some 130 bytes a row.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from itertools import compress, count, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import attrs

from ..model.columns import PRECISIONS, micros
from ..model.problems import count_of
from ..model.url_batch import lastmod_of
from ..parser.normalise.dates import period_end
from ..parser.normalise.urls import host
from ..serialize.jsonl import stamp
from ..state.rows import moment
from .crawl_file import CrawledPage, CrawlFile, is_check_file
from .documents import INCOMPLETE, CountedUrls, WholeSiteCheck
from .findings import Check, location, location_of, place_of, url_key, url_keys
from .page_faults import BUSY, NO_CONTENT, PAGE_CODES, KnownPage, faults_of, is_page_status
from .urls import PARAMETER

if TYPE_CHECKING:
    from ..frontier.robots_rules import AgentRules, Rules
    from ..model.records import Precision
    from ..model.url_batch import UrlBatch
    from .baseline import Baseline
    from .findings import Findings, Location


# A crawl with a smaller share of the number of listed URLs is hardly one of the whole site.
_PARTIAL = 0.2
_BITS = 3  # for the index of a precision


class FormerLastmods:
    """The lastmods that pages had, by key, some 64 bits each: periods, so that 2026-11-01 is 2026-11-01T10:00Z, too."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._more: dict[int, set[int]] = {}  # if several sitemaps list a page

    def __contains__(self, key: object) -> bool:
        return key in self._first

    def add(self, key: int, lastmod: datetime, precision: Precision | None) -> None:
        packed = _packed(lastmod, precision)
        if self._first.setdefault(key, packed) != packed:
            self._more.setdefault(key, set()).add(packed)

    def other_than(self, key: int, lastmod: datetime, precision: Precision | None) -> str | None:
        """The first lastmod that the page had, if it differs; None if one overlaps, or the page had none."""
        first = self._first.get(key)
        if first is None or first == _packed(lastmod, precision):
            return None
        end = period_end(lastmod, precision or "second")
        for known in map(_unpacked, (first, *self._more.get(key, ()))):
            if known[0] < end and lastmod < period_end(*known):
                return None
        had, stated = _unpacked(first)
        return had.date().isoformat() if stated == "day" else stamp(had)


def _packed(lastmod: datetime, precision: Precision | None) -> int:
    return (micros(lastmod) << _BITS) + PRECISIONS.index(precision or "second")


def _unpacked(packed: int) -> tuple[datetime, Precision]:
    number, index = divmod(packed, 1 << _BITS)
    return moment(number), PRECISIONS[index]


# Fields -> codes that cannot be checked without a column of one of them, and whether a note says so.
_CODES_BY_FIELDS: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {
    ("status", "reason"): (("C01", "C02", "C09"), True),
    ("status",): (("C06",), True),
    ("canonical", "reason"): (("C04",), True),
    ("noindex", "robots", "robots_header", "reason"): (("C03",), True),
    ("soft404",): (("C07",), False),
    ("error", "status_text", "reason"): (("C08",), False),
    ("refresh",): (("C10",), False),
    ("canonical",): (("C11",), False),
    ("empty",): (("C12",), False),
    ("hash",): (("C13",), False),
}


@attrs.frozen
class _OddPage:
    """A page with a fault. Its other URL, a canonical or a target, is the first `shared` characters of its own, and
    `rest`: so it is short, and the same for many pages.
    """

    state: CrawledPage  # without what differs from page to page
    field: str = ""  # of the other URL
    shared: int = 0
    rest: str = ""
    codes: tuple[str, ...] = ()  # without C05

    def page(self, loc: str) -> CrawledPage:
        changed: dict[str, Any] = {self.field: loc[: self.shared] + self.rest} if self.field else {}
        return attrs.evolve(self.state, url=loc, **changed)


_ABSENT = object()
# Pages of which nothing is known: the crawler did not request them, or too often.
_BLOCKED = _OddPage(CrawledPage(0, "", reason="blocked"))
_BUSY = _OddPage(CrawledPage(0, "", status=BUSY))
Part = TypeVar("Part")
_CLEARED: dict[str, Any] = {"line": 0, "url": "", "hash": None, "title": None, "indexable": True}


class _OddPages:
    """Makes an _OddPage of each row with a fault; equal parts are shared."""

    def __init__(self) -> None:
        self._parts: dict[Any, Any] = {}

    def of(self, page: CrawledPage) -> _OddPage | None:
        """None for a page without a fault."""
        has_other_canonical = page.canonical is not None and page.canonical != page.url
        is_plain = not (
            has_other_canonical or page.noindex or page.reason or page.error or page.soft_404 or page.refresh
            or page.canonicals or page.canonical_fault or page.empty or page.is_orphan
        )  # fmt: skip
        if is_plain and is_page_status(page.status) and page.status not in NO_CONTENT:
            return None
        if page.reason == "blocked" or page.status == BUSY:
            return _BUSY if page.status == BUSY else _BLOCKED
        if not (faults := faults_of(page)) and not page.is_orphan:
            return None
        state = attrs.evolve(page, **_CLEARED, is_orphan=bool(page.is_orphan and not faults))
        field = "" if is_page_status(page.status) else "redirect_url"
        if not field and has_other_canonical:
            field = "canonical"
        other = getattr(page, field) if field else None
        if not other:
            field = other = ""
        else:
            cleared: dict[str, Any] = {field: None}
            state = attrs.evolve(state, **cleared)
        shared = len(os.path.commonprefix([page.url, other]))  # noqa: RUF071 - of text, and no path
        codes = self._one(tuple(fault.code for fault in faults))
        return self._one(_OddPage(self._one(state), field, shared, other[shared:], codes))

    def _one(self, part: Part) -> Part:
        """The first of equal parts."""
        first: Part = self._parts.setdefault(part, part)
        return first


class CrawlCheck(WholeSiteCheck):
    codes: ClassVar[tuple[str, ...]] = (*PAGE_CODES, "C05", "C06", "C13")
    alternates: Mapping[int, bytes] = MappingProxyType({})  # a crawl file has no column of them

    def __init__(self, file: CrawlFile) -> None:
        super().__init__()
        # The rules of a URL's host, once its robots.txt was read.
        self.rules_of: Callable[[str], Rules | None] = lambda url: None
        self.robots: AgentRules | None = None
        # Faulty pages that lead to a host whose robots.txt was not known when they came; and whether one was met.
        self._waiting: list[tuple[_OddPage, Location]] = []
        self._leads_to_unknown = False
        self._file = file
        self._odd: dict[int, _OddPage | None] = {}  # None: no fault
        self._ends: dict[int, int] = {}  # key of a URL to which redirects lead in the end -> its status
        self._same = SamePages()
        self._contents: dict[int, str] = {}  # key of a page -> its hash, which other pages have, too
        self._unlisted: set[int] = set()  # indexable pages that no sitemap has listed so far
        self._hosts: set[str] = set()  # with a listed URL
        self._has_common_url = False  # a listed URL is in the crawl
        self._listed = 0
        self._unseen: Counter[_OddPage] = Counter()
        self._has_uncrawled = False
        self._uncrawled: dict[str, CountedUrls] = {}  # by sitemap; until a common URL is found
        self._is_sample = is_check_file(file.name)  # of the listed URLs: C05 and C06 are not reported from it

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """The check for a crawl file, which is read; UsageError as of CrawlFile."""
        check = cls(file := CrawlFile(os.fspath(path)))
        pages, seen, repeated, has_linked = _OddPages(), set[int](), set[int](), False
        for row in file:
            key = url_key(row.url)
            if key in check._odd:  # a variant of the same URL: the first row counts
                continue
            has_linked = has_linked or row.is_orphan is False
            if row.final_url and row.final_status not in (None, BUSY):
                end = url_key(row.final_url)
                check._ends[end] = max(row.final_status, check._ends.get(end, 0))
            odd = check._odd[key] = pages.of(row)
            if (odd is None or odd.state.is_orphan) and row.status == 200 and row.indexable:
                check._unlisted.add(key)
                if row.hash is not None:
                    content = hash(row.hash)
                    (repeated if content in seen else seen).add(content)
        if not has_linked:  # the columns of links are not filled in
            for key, odd in check._odd.items():
                if odd is not None and odd.state.is_orphan:
                    check._odd[key] = None
        if repeated:
            check._contents = {
                key: row.hash
                for row in file
                if row.hash is not None and hash(row.hash) in repeated and (key := url_key(row.url)) in check._unlisted
            }
        check._note_columns()
        return check

    def _note_columns(self) -> None:
        file, noted = self._file, dict[str, str]()
        for fields, (codes, is_noted) in _CODES_BY_FIELDS.items():
            if file.fields.isdisjoint(fields):
                self.unchecked |= dict.fromkeys(codes, f"needs a column of {fields[0]}, which {file.name} lacks")
                noted |= dict.fromkeys(codes, fields[0]) if is_noted else {}
        if noted:
            lacking = ", ".join(dict.fromkeys(noted.values()))
            self.notes.append(f"{file.name} has no column of {lacking}: {', '.join(sorted(noted))} not checked")
        if file.unusable:
            rows = f"{count_of(file.unusable, 'row')} without a URL of a page"
            self.notes.append(f"{file.name}: {rows}, the first in line {file.first_unusable}; skipped")

    def codes_of(self, key: int) -> tuple[str, ...] | None:
        """The codes of a page's faults by the key of its URL; None if the file does not have it, or not its answer."""
        odd = self._odd.get(key, _ABSENT)
        if odd is _ABSENT or odd is _BLOCKED or odd is _BUSY:
            return None
        return odd.codes if isinstance(odd, _OddPage) else ()

    def look_up(self, url: str) -> KnownPage:
        """What the file and robots.txt say of a URL."""
        key = url_key(url)
        odd = self._odd.get(key)
        rules = None if self.robots is None else self.robots.rules(url)
        self._leads_to_unknown |= rules is None
        if odd is None or odd is _BUSY:
            return KnownPage(None if key in self._odd else self._ends.get(key), rules=rules or "")
        page = odd.page(url)
        return KnownPage(page.status, page.noindex, page.redirect_url, rules or "", is_copy="C04" in odd.codes)

    def is_page_known(self, url: str, code: str) -> bool:
        """Whether the file has a page."""
        return url_key(url) in self._odd

    def results(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The key of each page of the file, and the codes of its faults."""
        return ((key, codes) for key in self._odd if (codes := self.codes_of(key)) is not None)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        keys = url_keys(batch.locs)
        self._listed += len(keys)
        self._unlisted.difference_update(keys)
        self._hosts.update([host(f"{origin}/") for origin, _ in batch.origins])
        odd = list(map(self._odd.get, keys, repeat(_ABSENT)))
        if not self._has_common_url:
            self._has_common_url = odd.count(_ABSENT) < len(odd)
            if self._has_common_url:  # the URLs received before the first one that is in the crawl
                for missing in self._uncrawled.values():
                    for at in missing.places:
                        self._report_uncrawled(at, 1 if findings.needs_each else missing.count, findings)
                self._uncrawled.clear()
        for index in compress(count(), odd):
            self._report(odd[index], batch, index, findings)
        if self._contents:
            for index in compress(count(), map(self._contents.__contains__, keys)):
                self._same.add(self._contents[keys[index]], batch.sitemap, batch.lines[index], batch.locs[index])

    def _report(self, odd: object, batch: UrlBatch, index: int, findings: Findings) -> None:
        at = location_of(batch, index)
        if odd is _BLOCKED or odd is _BUSY:
            self._unseen[odd] += 1
        elif isinstance(odd, _OddPage) and odd.state.is_orphan:
            message = f"{at['raw']} is in {self._file.name}, but no link of the site leads to it"
            findings.report("C05", message, **at)
        elif isinstance(odd, _OddPage):
            self._report_faults(odd, at, findings)
        elif self._is_sample:
            return
        elif self._has_common_url:
            self._report_uncrawled(at, 1, findings)
        else:
            self._uncrawled.setdefault(batch.sitemap or "", CountedUrls()).add(at, keeps_each=findings.needs_each)

    def _report_faults(self, odd: _OddPage, at: Location, findings: Findings, *, is_end: bool = False) -> None:
        self._leads_to_unknown = False
        faults = faults_of(odd.page(at["raw"]), self.look_up)
        if self._leads_to_unknown and self.robots is not None and not is_end:
            self._waiting.append((odd, at))
            return
        for fault in faults:
            findings.add(fault.problem(at, f" in {self._file.name}"))

    def _report_uncrawled(self, at: Location, number: int, findings: Findings) -> None:
        self._has_uncrawled = True
        findings.report("C05", f"{at['raw']} is listed, and not in {self._file.name}", **at, count=number)

    def on_end(self, findings: Findings) -> None:
        """C06, unless the crawl is of another site, and C13."""
        name = self._file.name
        self._same.report(findings, f" in {name}")
        for odd, at in self._waiting:
            self._report_faults(odd, at, findings, is_end=True)
        if blocked := self._unseen[_BLOCKED]:
            urls, them = count_of(blocked, "listed URL"), "it" if blocked == 1 else "them"
            self.notes.append(f"{name}: the crawler did not request {urls}, as robots.txt disallows {them}")
        if busy := self._unseen[_BUSY]:
            urls = count_of(busy, "listed URL")
            self.notes.append(f"{name}: {urls} answered 429 (too many requests), which says nothing of the page")
        if self._uncrawled and not self._has_common_url:
            self.notes.append(f"{name} has none of the URLs listed: is it of this site?")
            self.unchecked = dict.fromkeys(self.codes, f"{name} has none of the URLs listed")
        elif self._is_sample:
            self.notes.append(f"{name} has checked URLs only: C05 and C06 not checked")
            self.unchecked |= dict.fromkeys(("C05", "C06"), f"needs a crawl of the site; {name} has checked URLs only")
        else:
            if self._unlisted and findings.includes(("C06",)):
                if self.has_whole_site:
                    self._report_unlisted(findings)
                else:
                    self.leave_out(["C06"], f"{INCOMPLETE}: C06 not checked")
            if self._has_uncrawled and findings.includes(("C05",)) and len(self._odd) < _PARTIAL * self._listed:
                pages = count_of(len(self._odd), "page")
                self.notes.append(
                    f"{name} has {pages}, the sitemaps {self._listed:,}: C05 may only mean that the crawl was partial"
                )

    def _report_unlisted(self, findings: Findings) -> None:
        """Reports pages in the order of the file, but none that a sitemap should not list."""
        left_out: Counter[str] = Counter()
        for row in self._file:
            key = url_key(row.url)
            if key not in self._unlisted:
                continue
            self._unlisted.discard(key)
            why = self._why_unlisted(row.url)
            if why is not None:
                left_out[why] += 1
                continue
            message = f"{row.url} is indexable, and no sitemap lists it"
            findings.report("C06", message, sitemap=self._file.name, line=row.line, field="url", url=row.url)
        for why, number in sorted(left_out.items()):
            self.notes.append(f"{self._file.name}: {count_of(number, 'page')} {why}, left out of C06")

    def _why_unlisted(self, url: str) -> str | None:
        """Why a sitemap need not list a page: it is of another site, is written otherwise, or may not be crawled."""
        if host(url) not in self._hosts:
            return "on hosts that no sitemap lists"
        if PARAMETER.search(url):
            return "with a session or tracking parameter"
        rules = self.rules_of(url)
        return "that robots.txt disallows" if rules is not None and rules.refusal(url) == "" else None


class SamePages:
    """Listed pages by their content; report() reports each content of several URLs once (C13)."""

    def __init__(self) -> None:
        self._places: dict[int, dict[str, tuple[str, int]]] = {}  # hash -> URL -> its first sitemap, and the line

    def add(self, content: str, sitemap: str | None, line: int | None, loc: str) -> None:
        places = self._places.setdefault(hash(content), {})
        place = sitemap or "", line or 0
        places[loc] = min(places.get(loc, place), place)

    def report(self, findings: Findings, source: str = "") -> bool:
        """Whether any page could be compared."""
        groups = [
            sorted((*place, loc) for loc, place in each.items()) for each in self._places.values() if len(each) > 1
        ]
        for (sitemap, line, loc), *others in sorted(groups):
            also = others[0][2] + (f" and {len(others) - 1:,} more" if others[1:] else "")
            at = location(sitemap or None, line or None, loc)
            findings.report("C13", f"{loc} is the same page as {also}{source}", **at)
        return bool(self._places)


class UnchangedContentCheck(Check):
    """X03: pages whose lastmod changed while both crawls have the same content hash."""

    codes: ClassVar[tuple[str, ...]] = ("X03",)

    def __init__(self, before: FormerLastmods, crawls: tuple[str, str], notes: Collection[str] = ()) -> None:
        self.notes = list(notes)
        self._before = before
        self._crawls = crawls

    @classmethod
    def read(cls, baseline: Baseline, baseline_crawl: str | os.PathLike[str], crawl: str | os.PathLike[str]) -> Self:
        """The check for a baseline and the crawl of its time, which are read; UsageError for invalid files."""
        before, now = CrawlFile(os.fspath(baseline_crawl)), CrawlFile(os.fspath(crawl))
        # Redirects and errors have no content of the page.
        hashes = {url_key(row.url): hash(row.hash) for row in before if row.hash and is_page_status(row.status)}
        keys = ((url_key(row.url), hash(row.hash)) for row in now if row.hash and is_page_status(row.status))
        same = {key for key, content in keys if hashes.get(key) == content}
        lastmods = FormerLastmods()
        for record in baseline.listings():
            key = url_key(record.loc)
            if key in same and record.lastmod is not None:
                lastmods.add(key, record.lastmod, record.lastmod_precision)
        without_hash = [file.name for file in (before, now) if "hash" not in file.fields]
        notes = [f"{name} has no column of hash: X03 not checked" for name in without_hash]
        return cls(lastmods, (before.name, now.name), notes)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        keys = url_keys(batch.locs)
        for index in compress(count(), map(self._before.__contains__, keys)):
            lastmod, precision = lastmod_of(batch.lastmods[index], batch.precisions[index])
            if lastmod is None:
                continue
            earlier = self._before.other_than(keys[index], lastmod, precision)
            if earlier is not None:
                loc, (before, now) = batch.locs[index], self._crawls
                message = f"{loc}: the lastmod was {earlier}, and the content is the same in {before} and {now}"
                findings.report("X03", message, **place_of(batch, index), field="lastmod", raw=stamp(lastmod))
