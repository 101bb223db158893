"""Compares the sitemaps with a crawl of the site (C01 to C08) and with an earlier dump and its crawl (X03).

Reads the crawl file before the sitemaps, and once more if indexable pages are in no sitemap. Keeps some 130 bytes a
row.
"""

from __future__ import annotations

import os
from itertools import compress, count, repeat
from typing import TYPE_CHECKING, ClassVar, Self

import attrs

from ..model.columns import PRECISIONS, micros
from ..model.problems import count_of
from ..model.url_batch import lastmod_of
from ..parser.normalise.dates import period_end
from ..parser.normalise.urls import host
from ..serialize.jsonl import stamp
from ..state.rows import moment
from .crawl_file import CrawlFile, is_check_file
from .documents import INCOMPLETE, CountedUrls, WholeSiteCheck
from .findings import Check, location_of, place_of, url_key, url_keys

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from ..model.records import Precision
    from ..model.url_batch import UrlBatch
    from .baseline import Baseline
    from .crawl_file import CrawledPage
    from .findings import Findings, Location


# Faults of a page by itself, which the crawl of others need not show.
PAGE_CODES = ("C01", "C02", "C03", "C04", "C07", "C08")

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


# Field -> codes that cannot be checked without a column of it.
_CODES_BY_FIELD: dict[str, tuple[str, ...]] = {"status": ("C01", "C02", "C06"), "canonical": ("C04",)}
_NOINDEX_FIELDS = frozenset({"noindex", "robots", "robots_header", "reason"})


@attrs.frozen
class _PageFaults:
    """The faults of a page. Its canonical URL is the first `shared` characters of its loc, then `rest`."""

    status: int | None = None
    noindex: bool = False
    shared: int | None = None
    rest: str = ""
    soft_404: bool = False
    error: str | None = None  # why it did not respond

    @property
    def codes(self) -> tuple[str, ...]:
        """The code of each fault; of an error or a redirect only that."""
        if self.error is not None:
            return ("C08",)
        if self.status is not None and self.status >= 400:
            return ("C01",)
        if not _is_page_status(self.status):
            return ("C02",)
        of_page = {"C03": self.noindex, "C04": self.shared is not None, "C07": self.soft_404}
        return tuple(code for code, is_fault in of_page.items() if is_fault)

    def message(self, code: str, loc: str, crawl: str) -> str:
        texts = {
            "C01": f"answers {self.status}",
            "C02": f"redirects ({self.status})",
            "C03": "is noindex",
            "C04": f"has the canonical {loc[: self.shared]}{self.rest}",
            "C07": "is a soft 404",
        }
        if code == "C08":
            return f"{loc} does not respond in {crawl}: {self.error}"
        return f"{loc} {texts[code]} in {crawl}"


_ABSENT = _PageFaults()


class CrawlCheck(WholeSiteCheck):
    codes: ClassVar[tuple[str, ...]] = (*PAGE_CODES, "C05", "C06")

    def __init__(self, file: CrawlFile) -> None:
        super().__init__()
        self._file = file
        self._faults: dict[int, _PageFaults | None] = {}  # None: no fault
        self._unlisted: set[int] = set()  # indexable pages that no sitemap has listed so far
        self._hosts: set[str] = set()  # with a listed URL
        self._has_common_url = False  # a listed URL is in the crawl
        self._listed = 0
        self._has_uncrawled = False
        self._uncrawled: dict[str, CountedUrls] = {}  # by sitemap; until a common URL is found
        self._is_sample = is_check_file(file.name)  # of the listed URLs: C05 and C06 are not reported from it

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """The check for a crawl file, which is read; UsageError as of CrawlFile."""
        check = cls(file := CrawlFile(os.fspath(path)))
        same: dict[_PageFaults, _PageFaults] = {}  # shared by pages with the same faults
        for row in file:
            key = url_key(row.url)
            if key in check._faults:  # a variant of the same URL: the first row counts
                continue
            faults = _faults_of(row)
            check._faults[key] = None if faults is None else same.setdefault(faults, faults)
            if faults is None and row.status == 200 and row.indexable:
                check._unlisted.add(key)
        missing = {field: codes for field, codes in _CODES_BY_FIELD.items() if field not in file.fields}
        if _NOINDEX_FIELDS.isdisjoint(file.fields):
            missing["noindex"] = ("C03",)
        for field, codes in missing.items():
            check.unchecked |= dict.fromkeys(codes, f"needs a column of {field}, which {file.name} lacks")
        if missing:
            unchecked = ", ".join(sorted(check.unchecked))
            check.notes.append(f"{file.name} has no column of {', '.join(missing)}: {unchecked} not checked")
        if file.unusable:
            rows = f"{count_of(file.unusable, 'row')} without a URL of a page"
            check.notes.append(f"{file.name}: {rows}, the first in line {file.first_unusable}; skipped")
        return check

    @property
    def judges_soft_404(self) -> bool:
        return "soft404" in self._file.fields

    def codes_of(self, key: int) -> tuple[str, ...] | None:
        """The codes of a page's faults by the key of its URL; None if the file does not have it."""
        faults = self._faults.get(key, _ABSENT)
        if faults is _ABSENT:
            return None
        return () if faults is None else faults.codes

    def is_page_known(self, url: str, code: str) -> bool:
        """Whether the file has a page."""
        return url_key(url) in self._faults

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        keys = url_keys(batch.locs)
        self._listed += len(keys)
        self._unlisted.difference_update(keys)
        self._hosts.update([host(f"{origin}/") for origin, _ in batch.origins])
        faults = list(map(self._faults.get, keys, repeat(_ABSENT)))
        if not self._has_common_url:
            self._has_common_url = faults.count(_ABSENT) < len(faults)
            if self._has_common_url:  # the URLs received before the first one that is in the crawl
                for missing in self._uncrawled.values():
                    for at in missing.places:
                        self._report_uncrawled(at, 1 if findings.needs_each else missing.count, findings)
                self._uncrawled.clear()
        for index in compress(count(), faults):
            self._report(faults[index], batch, index, findings)

    def _report(self, fault: _PageFaults | None, batch: UrlBatch, index: int, findings: Findings) -> None:
        at = location_of(batch, index)
        if fault is not None and fault is not _ABSENT:
            for code in fault.codes:
                findings.report(code, fault.message(code, at["raw"], self._file.name), **at)
        elif self._is_sample:
            return
        elif self._has_common_url:
            self._report_uncrawled(at, 1, findings)
        else:
            self._uncrawled.setdefault(batch.sitemap or "", CountedUrls()).add(at, keeps_each=findings.needs_each)

    def _report_uncrawled(self, at: Location, number: int, findings: Findings) -> None:
        self._has_uncrawled = True
        findings.report("C05", f"{at['raw']} is listed, and not in {self._file.name}", **at, count=number)

    def on_end(self, findings: Findings) -> None:
        """C06, unless the crawl is of another site."""
        name = self._file.name
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
            if self._has_uncrawled and findings.includes(("C05",)) and len(self._faults) < _PARTIAL * self._listed:
                pages = count_of(len(self._faults), "page")
                self.notes.append(
                    f"{name} has {pages}, the sitemaps {self._listed:,}: C05 may only mean that the crawl was partial"
                )

    def _report_unlisted(self, findings: Findings) -> None:
        """Reports pages in the order of the file; those on hosts without a listed URL belong to another site."""
        elsewhere = 0
        for row in self._file:
            key = url_key(row.url)
            if key not in self._unlisted:
                continue
            self._unlisted.discard(key)
            if host(row.url) not in self._hosts:
                elsewhere += 1
                continue
            message = f"{row.url} is indexable, and no sitemap lists it"
            findings.report("C06", message, sitemap=self._file.name, line=row.line, field="url", url=row.url)
        if elsewhere:
            pages = count_of(elsewhere, "page")
            self.notes.append(f"{self._file.name}: {pages} on hosts that no sitemap lists, left out of C06")


def codes_of(row: CrawledPage) -> tuple[str, ...]:
    faults = _faults_of(row)
    return () if faults is None else faults.codes


def _faults_of(row: CrawledPage) -> _PageFaults | None:
    has_other_canonical = row.canonical is not None and row.canonical != row.url
    is_plain = not (has_other_canonical or row.noindex or row.soft_404 or row.error)
    if is_plain and _is_page_status(row.status):
        return None
    shared, rest = None, ""
    if has_other_canonical and row.canonical:
        # Without what the URL has too, it is short, and the same for many pages.
        pairs = enumerate(zip(row.url, row.canonical, strict=False))
        shared = next((index for index, (one, other) in pairs if one != other), min(len(row.url), len(row.canonical)))
        rest = row.canonical[shared:]
    return _PageFaults(row.status, row.noindex, shared, rest, row.soft_404, row.error)


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
        hashes = {url_key(row.url): hash(row.hash) for row in before if row.hash and _is_page_status(row.status)}
        keys = ((url_key(row.url), hash(row.hash)) for row in now if row.hash and _is_page_status(row.status))
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


def _is_page_status(status: int | None) -> bool:
    """Whether it is neither a redirect nor an error; 304 means that the page is as the crawler has it."""
    return status is None or status < 300 or status == 304
