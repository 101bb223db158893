"""Checks listed URLs themselves (C01 to C04, C07 to C15): a sample of them is fetched, and judged as a crawl would be.

Gives problems where the URLs are listed, estimates for all URLs, and a line of JSON for each result, which
crawl_file.py reads. Sends no request: the responses come from an iterator.

PageDates compares the lastmods of sitemaps with what the pages themselves say of their last change (C15). A page says
it with `dateModified` or `article:modified_time`, or else with the header Last-Modified, which counts only where it is
old: a page that is generated on request is always new. A single difference may have a good reason, so a sitemap is
reported if most of its pages that could be compared contradict it.

ImageSample: whether images and thumbnails of videos that sitemaps list can be loaded (C14), of a bounded sample.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from hashlib import blake2b, sha256
from http import HTTPStatus
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import attrs
import orjson

from ..client.progressbar import BarState, ProgressBar, duration_of
from ..frontier.responses import is_html, is_success
from ..model.errors import UsageError
from ..model.problems import count_of, report
from ..model.url_batch import lastmod_of
from ..parser.normalise.dates import format_date, parse_date, period_end
from ..parser.normalise.urls import clean_url, host, is_web_url, origin, without_userinfo
from ..serialize.jsonl import stamp
from .crawl_file import CrawledPage, is_check_file, resolved_canonical, shown
from .crawled import SamePages
from .extensions import CONTRADICTORY_PAGE, packed_alternates
from .findings import Check, location, url_key, url_keys
from .page_faults import BUSY, CONTENT_CODES, PAGE_CODES, REFUSALS, KnownPage, faults_of
from .page_signals import (
    LEAST_SHELL_WORDS,
    PageSignals,
    is_like,
    is_same_shell,
    names_an_error,
    read_refresh,
    read_signals,
    require_selectolax,
)
from .url_sample import FaultEstimate, StratumCounts, UrlCheckSummary, UrlSample, estimate, rank_of

if TYPE_CHECKING:
    from ..frontier.robots_rules import AgentRules
    from ..model.problems import PageKind, Problem
    from ..model.url_batch import UrlBatch
    from ..pipeline.page_fetcher import PageResponse
    from .crawled import CrawlCheck
    from .findings import Findings, Place
    from .url_sample import ListedUrl, SampledStratum


MOST_MEDIA = 100
# Nested column, its key, the tag, and what it is.
_MEDIA = (("images", "loc", "image:loc", "image"), ("videos", "thumbnail_loc", "video:thumbnail_loc", "thumbnail"))
# A server that does not know the type of a file sends these.
_UNTYPED = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_rank = attrgetter("rank")


@attrs.frozen
class _ListedImage:
    """The URL of an image, and its first listing, in the order of sitemaps and lines."""

    rank: float
    url: str
    field: str
    noun: str
    page: str
    sitemap: str | None
    line: int | None

    @property
    def order(self) -> tuple[str, int, str]:
        return self.sitemap or "", self.line or 0, self.page


class ImageSample:
    """The images whose hashes are lowest, whatever the order in which sitemaps arrive; `limit` of them at most."""

    def __init__(self, limit: int, seed: int) -> None:
        self.listed = 0
        self.folder: str | None = None  # where they are read from, in place of the network
        self._limit = limit
        self._key = str(seed).encode()[:64]
        self._highest = 1.0
        self._kept: dict[str, _ListedImage] = {}
        self._problems: list[tuple[_ListedImage, Problem]] = []
        self._checked: set[str] = set()
        self._unknown: Counter[str] = Counter()

    def add(self, batch: UrlBatch) -> None:
        for column, key, tag, noun in _MEDIA:
            urls = batch.items(column, key)
            if not urls:
                continue
            self.listed += len(urls)
            for url, index in zip(urls, batch.owners(column), strict=True):
                if url is None or (rank := rank_of(url, self._key)) > self._highest or not is_web_url(url):
                    continue
                found = _ListedImage(rank, url, tag, noun, batch.locs[index], batch.sitemap, batch.lines[index])
                known = self._kept.setdefault(url, found)
                if found.order < known.order:
                    self._kept[url] = found
            if len(self._kept) > 2 * self._limit:
                self._cut()

    def _cut(self) -> None:
        kept = sorted(self._kept.values(), key=_rank)[: self._limit]
        self._kept = {each.url: each for each in kept}
        if len(kept) == self._limit:
            self._highest = kept[-1].rank  # another listing of it may come

    def draw(self) -> list[str]:
        """The URLs to request."""
        self._cut()
        return [*self._kept]

    def judge(self, response: PageResponse) -> None:
        """Takes a response for one of them; ignores others."""
        image = self._kept.get(response.url)
        if image is None:
            return
        unknown = _unknown(response)
        if unknown is not None:
            self._unknown[unknown] += 1
            return
        self._checked.add(response.url)
        fault = _fault(response, self.folder)
        if fault is not None:
            kind, text = fault
            message = f"{image.page}: the {image.noun} {image.url} {text}"
            place = {"sitemap": image.sitemap, "line": image.line, "url": image.page}
            self._problems.append(
                (image, report("C14", message, **place, field=image.field, raw=image.url, kind=kind))  # type: ignore[arg-type]
            )

    def report(self, findings: Findings) -> bool:
        """Reports the faults; whether any image was checked."""
        for _, problem in sorted(self._problems, key=lambda each: (each[0].order, each[0].url)):
            findings.add(problem)
        return bool(self._checked)

    def notes(self) -> Iterator[str]:
        if self._checked and len(self._checked) < self.listed:
            yield f"C14: {len(self._checked):,} of {self.listed:,} listed images and thumbnails checked"
        for reason, number in sorted(self._unknown.items()):
            yield f"C14: {count_of(number, 'image')} not checked: {reason}"


def _unknown(response: PageResponse) -> str | None:
    """Why nothing is known of an image."""
    failure = response.failure
    if failure is not None and not (failure.code == "F04" and failure.is_sent):
        return failure.message
    if response.status in REFUSALS:
        return f"the server answers {response.status}, and may refuse this client alone"
    return None


def _fault(response: PageResponse, folder: str | None) -> tuple[PageKind, str] | None:
    if response.failure is not None:
        return "image that does not respond", f"does not respond ({response.failure.message})"
    status = response.final_status if response.target else response.status
    if status is not None and status >= 300 and status != 304:
        if folder is not None and status == HTTPStatus.NOT_FOUND:
            return "image with an error", f"is not in {folder}"
        return "image with an error", "redirects without an end" if status < 400 else f"answers {status}"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.target or kind in _UNTYPED or kind.startswith("image/"):
        return None
    return "image that is none", f"is {kind}"


# Time zones, caches, and a day that is stated without its time.
TOLERANCE = timedelta(days=2)
LEAST_PAGES = 3
_LEAST_SHARE = 0.5


@attrs.define
class _Compared:
    """Of a sitemap: the number of pages that could be compared, and the contradictions."""

    pages: int = 0
    problems: list[Problem] = attrs.field(factory=list)


class PageDates:
    """add() each page that was checked, then report()."""

    def __init__(self) -> None:
        self._by_sitemap: dict[str, _Compared] = {}

    def add(self, listed: ListedUrl, headers: Mapping[str, str], signals: PageSignals, now: datetime) -> None:
        lastmod, precision = lastmod_of(*listed.lastmod)
        dates, source = _dates(headers, signals, now)
        if lastmod is None or not dates:
            return
        compared = self._by_sitemap.setdefault(listed.sitemap, _Compared())
        compared.pages += 1
        kind: PageKind
        if lastmod - dates[-1] > TOLERANCE:
            kind, changed = "lastmod after the last change", dates[-1]
        elif source != _HEADER and dates[0] - period_end(lastmod, precision or "second") > TOLERANCE:
            kind, changed = "lastmod before the last change", dates[0]
        else:
            return
        text, loc = format_date(lastmod, precision), listed.loc
        message = f"{loc}: the lastmod is {text}, and the page was last changed on {changed:%Y-%m-%d} ({source})"
        place: Place = {"sitemap": listed.sitemap, "line": listed.line, "url": loc}
        compared.problems.append(report("C15", message, **place, field="lastmod", raw=text, kind=kind))

    def report(self, findings: Findings) -> bool:
        """Reports the pages of sitemaps that most pages contradict; whether any page could be compared."""
        for _, compared in sorted(self._by_sitemap.items()):
            found = compared.problems
            if len(found) >= LEAST_PAGES and len(found) >= _LEAST_SHARE * compared.pages:
                for each in sorted(found, key=lambda each: (each.line or 0, each.url or "")):
                    findings.add(each)
        return bool(self._by_sitemap)


_HEADER = "Last-Modified"
_FIRST_YEAR = 1995  # 1970-01-01 is no date of a change


def _dates(headers: Mapping[str, str], signals: PageSignals, now: datetime) -> tuple[tuple[datetime, ...], str]:
    """When a page says that it was changed, the earliest date first, and what says so; none that is about now."""
    stated = tuple(each for each in signals.modified if each < now - TOLERANCE)
    if signals.modified:
        return (stated, "dateModified") if len(stated) == len(signals.modified) else ((), "")
    date = parse_date(headers.get("last-modified", "").strip(), "rss")
    if date is None or date.moment >= now - TOLERANCE or date.moment.year < _FIRST_YEAR:
        return (), ""
    return (date.moment,), _HEADER


CheckSize = int | Literal["all"]

_DISALLOWED, _NO_RESPONSE = "F02", "F04"
_CUT_HEAD = "checked for C03 and C04 in part: the head has not ended where the page was cut"
# The error page of a site that a generator builds, at its own URL.
_ERROR_PAGE = re.compile(r"/404(?:\.html?|/index\.html?)")
# A page with so many words is an article about an error, and no error, if it names itself as canonical.
_MOST_ERROR_WORDS = 300
# From so many pages of a host on, and for such a share of them, an answer that is always the same is no soft 404.
_SHELL_SHARE = 0.5


@attrs.frozen
class CheckProgress:
    """How far a check of URLs is; `seconds_left` is None before the first result."""

    done: int
    total: int
    seconds_left: float | None = None


def check_bar() -> ProgressBar:
    """A progress bar for CheckProgress, with the time left."""

    def state(progress: CheckProgress) -> BarState:
        left = "" if progress.seconds_left is None else f"{duration_of(progress.seconds_left)} left"
        return BarState(progress.done, progress.total, left)

    return ProgressBar("URLs checked", state)


@attrs.frozen
class UrlCheck:
    """The result for one URL, in the order of its JSON line; None where it is unknown or does not apply."""

    url: str
    status: int | None = None
    redirect_url: str | None = None  # the first target
    final_url: str | None = None  # the end of the redirects
    final_status: int | None = None
    content_type: str | None = None
    canonical: str | None = None
    noindex: bool = False
    meta_directives: str | None = None
    header_directives: str | None = None
    robots_allowed: bool = True
    meta_refresh: str | None = None  # `0; url=…`, to another URL
    canonicals: tuple[str, ...] = ()  # if there are several
    canonical_fault: str | None = None  # as C11 has it
    empty: bool = False  # no byte, or HTML with nothing in it
    soft_404: bool = False
    title: str | None = None
    hash: str | None = None  # of a whole HTML page
    body_bytes: int | None = None
    seconds: float | None = None
    fetch_error: str | None = None  # why the page did not respond
    not_checked: str | None = None  # why its status, or with a status its content, is not known for another reason
    checked_at: str | None = None
    sitemap: str | None = None
    line: int | None = None

    def json_line(self) -> bytes:
        """The result as a line of a crawl file; it begins with CHECK_LINE."""
        return orjson.dumps({"type": "url_check", **attrs.asdict(self)}, option=orjson.OPT_APPEND_NEWLINE)

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(fault.code for fault in faults_of(self.page))

    @property
    def page(self) -> CrawledPage:
        """The result as a crawl file has it."""
        stated = (("X-Robots-Tag", self.header_directives), ("robots meta", self.meta_directives))
        return CrawledPage(
            0,
            self.url,
            self.status,
            self.canonical,
            self.noindex,
            self.hash,
            soft_404=self.soft_404,
            error=self.fetch_error,
            directives="; ".join(f"{name}: {text}" for name, text in stated if text),
            redirect_url=self.redirect_url or "",
            final_url=self.final_url,
            final_status=self.final_status,
            refresh=read_refresh(self.meta_refresh or ""),
            canonicals=self.canonicals,
            canonical_fault=self.canonical_fault,
            empty=self.empty,
            title=self.title,
        )


# Those of pages beside each other, of their images and of their dates; no share of all URLs follows.
COMPARED_CODES = ("C13", "C14", "C15")


class UrlChecks(Check):
    """Collects the sample while sitemaps are read; then run() checks what `crawl` lacks; on_end() reports problems."""

    codes: ClassVar[tuple[str, ...]] = (*PAGE_CODES, *COMPARED_CODES)

    def __init__(
        self,
        size: CheckSize,
        save: str | os.PathLike[str] | None,
        seed: int,
        crawl: CrawlCheck | None,
        crawl_name: str | None,
    ) -> None:
        """UsageError for values that are not allowed. The results are saved to a file, if one is given."""
        if size != "all" and (type(size) is not int or size < 1):
            raise UsageError(keyword="check_urls", value=size, allowed='a number of URLs, 1 or more, or "all"')
        if type(seed) is not int:
            raise UsageError(keyword="seed", value=seed, allowed="a whole number")
        require_selectolax()
        self.notes: list[str] = []
        self.robots: AgentRules | None = None
        self.alternates: dict[int, bytes] = {}
        self.folder: str | None = None  # where pages are read from, in place of the network
        self.base = ""  # the URL of that folder
        self._seed = seed
        self._crawl = crawl
        self._sample = UrlSample(None if size == "all" else size, seed)
        self._writer = None if save is None else CheckWriter(Path(save), crawl_name)
        self._strata: list[SampledStratum] = []
        self._listed: dict[str, ListedUrl] = {}
        self._images = ImageSample(MOST_MEDIA if size == "all" else min(size, MOST_MEDIA), seed)
        self._dates = PageDates()
        self._comparable: set[str] = set()  # URLs of pages with a text, which may be compared
        self._codes: dict[str, tuple[str, ...]] = {}  # of the URLs that have a result
        self._undecodable: set[str] = set()  # those of them that have none for CONTENT_CODES
        self._faulty: list[UrlCheck] = []
        self._same = SamePages()
        self._status: dict[str, int | None] = {}
        self._ends: dict[str, int] = {}  # URLs to which redirects lead in the end, and their status
        self._soft_404s: _Soft404s = _Soft404s()
        self._reused: set[str] = set()  # known from the crawl file
        self._disallowed = self._done = 0
        self._reasons: Counter[str] = Counter()
        self._is_stopped = True

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        lastmods = zip(batch.lastmods, batch.precisions, strict=True)
        self._sample.add(batch.sitemap or "", batch.locs, url_keys(batch.locs), batch.lines, lastmods)
        self._images.add(batch)

    def run(
        self,
        fetch: Callable[[Sequence[str], Callable[[], None]], Iterable[PageResponse]],
        on_progress: Callable[[CheckProgress], None],
    ) -> None:
        """Checks the sample; `fetch` gets the URLs, and a function to call while it waits. Its exceptions end it."""
        self._strata = self._sample.draw()
        self._listed = {url.loc: url for stratum in self._strata for url in stratum.urls}
        urls = []
        for url in sorted(self._listed.values(), key=lambda url: url.rank):
            codes = None if self._crawl is None else self._crawl.codes_of(url_key(url.loc))
            if codes is None:
                urls.append(url.loc)
            else:
                self._codes[url.loc] = codes
                self._reused.add(url.loc)
        probes = self._soft_404s.add_probes(urls, self._seed)
        self._images.folder = self.folder
        pages, images = {*urls}, self._images.draw()
        started, total = time.monotonic(), len(pages.union(images))

        def report_progress() -> None:
            seconds = time.monotonic() - started
            left = seconds / self._done * (total - self._done) if self._done else None
            on_progress(CheckProgress(self._done, total, left))

        report_progress()
        with ExitStack() as stack:
            if self._writer is not None:
                stack.callback(self._writer.close)
            stack.callback(lambda: self._keep_all(self._soft_404s.decide()))
            for response in fetch([*probes, *urls, *images], report_progress) if total else ():
                if response.url in probes:
                    self._keep_all(self._soft_404s.set_missing(response))
                    continue
                self._done += 1
                self._images.judge(response)
                if response.url in pages:
                    self._keep_all(self._soft_404s.judge(*self._judged(response)))
                report_progress()
            self._is_stopped = False

    def _judged(self, response: PageResponse) -> tuple[UrlCheck, PageSignals]:
        now = datetime.now(UTC)
        signals = read_signals(response.headers, response.body, now)
        url, failure, listed = response.url, response.failure, self._listed[response.url]
        is_whole = response.is_whole and response.status == 200 and is_html(response.headers)
        is_page = is_success(response.status)
        is_cut = not response.is_whole and is_page and is_html(response.headers)
        is_silent = failure is not None and failure.code == _NO_RESPONSE and failure.is_sent
        not_checked = failure.message if failure is not None and not is_silent else None
        if response.status == HTTPStatus.NOT_MODIFIED:
            not_checked = "answers 304 to a request without a condition"
        if response.undecodable is not None:
            not_checked = f"Content-Encoding {shown(response.undecodable)} cannot be decoded"
        check = UrlCheck(
            url,
            response.status,
            redirect_url=response.target,
            final_url=response.final_url if response.target else None,
            final_status=response.final_status if response.target else None,
            content_type=response.headers.get("content-type"),
            noindex=signals.noindex and is_page,
            meta_directives=signals.directives,
            header_directives=signals.header_directives,
            robots_allowed=failure is None or failure.code != _DISALLOWED,
            empty=is_page and (response.is_empty or (is_whole and not signals.has_content)),
            title=signals.title,
            hash=f"sha256:{sha256(response.body).hexdigest()}" if is_whole else None,
            body_bytes=response.body_bytes if response.status is not None else None,
            seconds=round(response.seconds, 3) if response.status is not None else None,
            fetch_error=failure.message if failure is not None and is_silent else None,
            not_checked=not_checked,
            checked_at=stamp(now),
            sitemap=listed.sitemap,
            line=listed.line,
        )
        if is_page:
            check = attrs.evolve(check, meta_refresh=_refresh(signals, url), **_canonical_fields(signals, url))
        is_sound = is_page and not check.codes
        if is_sound and is_cut and not (signals.has_whole_head or not_checked):
            self._reasons[_CUT_HEAD] += 1
        if is_sound:
            self._dates.add(listed, response.headers, signals, now)
        has_all_links = not (is_cut or not_checked) or signals.has_whole_head
        if is_sound and has_all_links and (alternates := _alternates(signals, url)):
            self.alternates[url_key(url)] = packed_alternates(alternates)
        if signals.words is not None and signals.words.total() >= LEAST_SHELL_WORDS:
            self._comparable.add(url)
        return check, signals

    def _keep_all(self, checks: Iterable[UrlCheck]) -> None:
        for check in checks:
            if self._writer is not None and (check.not_checked is None or not check.robots_allowed):
                self._writer.write(check)  # what is left out will be requested again
            if not check.robots_allowed:
                self._disallowed += 1
                self._codes[check.url] = ()  # search engines cannot see what it is, either: U12 reports it
                continue
            if check.not_checked is not None:
                what = "" if check.status is None else f" for {', '.join(CONTENT_CODES)}"
                self._reasons[f"not checked{what}: {check.not_checked}"] += 1
                if check.status is None:
                    continue
                self._undecodable.add(check.url)
            self._codes[check.url] = codes = check.codes
            self._status[check.url] = check.status
            if check.final_url is not None and check.final_status not in (None, BUSY):
                self._ends[check.final_url] = max(check.final_status, self._ends.get(check.final_url, 0))
            if codes:
                self._faulty.append(check)
            elif check.hash is not None and self._is_comparable(check.url):
                self._same.add(check.hash, check.sitemap, check.line, check.url)

    def results(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The key of each URL that has a result, and the codes of its faults."""
        return zip(url_keys([*self._codes]), self._codes.values(), strict=True)

    def on_end(self, findings: Findings) -> None:
        for check in sorted(self._faulty, key=lambda each: (each.sitemap or "", each.line or 0, each.url)):
            at = location(check.sitemap, check.line, check.url)
            for fault in faults_of(check.page, self._look_up):
                if self.folder is not None and fault.code == "C01" and check.status == HTTPStatus.NOT_FOUND:
                    fault = attrs.evolve(fault, text=f"is not in {self.folder}")
                findings.add(fault.problem(at))
        compared = {
            "C13": self._same.report(findings),
            "C14": self._images.report(findings),
            "C15": self._dates.report(findings),
        }
        self.notes += self._final_notes()
        known = {code for code in PAGE_CODES if any(self._is_known(url, code) for url in self._codes)}
        known |= {code for code, is_known in compared.items() if is_known}
        known |= {*self._crawl.codes} - {*self._crawl.unchecked} if self._crawl is not None else set()
        # "" also where a crawl file has not shown it.
        self.unchecked = {code: "" if code in known else _UNCHECKED.get(code, _NO_PAGE) for code in self.codes}

    def _is_comparable(self, url: str) -> bool:
        return url in self._comparable and url not in self._soft_404s.shells

    def _look_up(self, url: str) -> KnownPage:
        """What is known of another URL, by this check or by the crawl file, and by robots.txt."""
        is_reached = url in self._status or url in self._ends
        if self._crawl is not None and not is_reached:
            return self._crawl.look_up(url)
        rules = "" if self.robots is None else self.robots.rules(url) or ""
        if url in self._status:
            codes = self._codes[url]
            return KnownPage(self._status[url], "C03" in codes, rules=rules, is_copy="C04" in codes)
        return KnownPage(self._ends.get(url), rules=rules)

    def _final_notes(self) -> Iterator[str]:
        statuses = Counter(self._status.values())
        refused, absent = sum(statuses[status] for status in REFUSALS), statuses[HTTPStatus.NOT_FOUND]
        if refused * 2 > statuses.total():
            yield (
                f"{refused:,} of {statuses.total():,} checked URLs answer 401 or 403: the site may refuse this "
                "client; try another User-Agent (-A, user_agent=...), or have this one allow-listed"
            )
        if self.folder is not None and absent * 2 > statuses.total():
            urls = f"{absent:,} of {count_of(statuses.total(), 'checked URL')}"
            reason = "it seems not to be what is published; build the site first"
            start = f"{self.base}{next(iter(self._status)).removeprefix(self.base).partition('/')[0]}/"
            if absent == statuses.total() and all(url.startswith(start) for url in self._status):
                reason = (
                    f"if it is published at {start}, read it with that as --base (base=...); else build the site first"
                )
            yield f"{self.folder} has no file for {urls}: {reason}"
        for reason, count in sorted(self._reasons.items(), key=lambda each: (-each[1], each[0]))[:3]:
            yield f"{count_of(count, 'URL')} {reason}"
        yield from self._soft_404s.notes
        yield from self._images.notes()
        if self._writer is not None and self._writer.error is not None:
            yield self._writer.error

    def summary(self) -> UrlCheckSummary:
        return UrlCheckSummary(
            urls=self._sample.urls,
            sampled=len(self._listed),
            checked=len(self._codes) - self._disallowed,
            reused=len(self._reused),
            disallowed=self._disallowed,
            strata=len(self._strata),
            seed=self._seed,
            complete=not self._is_stopped,
            estimates=tuple(self._estimates()),
        )

    def _estimates(self) -> Iterator[FaultEstimate]:
        # Where the content is not known, the headers show some faults and never their absence: no share follows.
        left_out = {code for url in self._undecodable for code in self._codes[url]}
        for code in (each for each in PAGE_CODES if each not in left_out):
            counts = []
            for stratum in self._strata:
                codes = [self._codes[url.loc] for url in stratum.urls if self._is_known(url.loc, code)]
                counts.append(StratumCounts(stratum.size, len(codes), sum(code in each for each in codes)))
            share = estimate(counts)
            if share is not None:
                found, urls = sum(each.faulty for each in counts), round(share.share * self._sample.urls)
                yield FaultEstimate(code, found, share.share, share.low, share.high, urls)

    def is_page_known(self, url: str, code: str) -> bool:
        """Whether a page was checked for a code."""
        if code == CONTRADICTORY_PAGE:
            return url in self._status and url not in self._undecodable
        return code in PAGE_CODES and self._is_known(url, code)

    def _is_known(self, url: str, code: str) -> bool:
        """Whether a page has the fault, or surely not."""
        codes = self._codes.get(url)
        if codes is None or code in codes:
            return codes is not None
        is_open = url in self._undecodable and code in CONTENT_CODES
        return not is_open and not (self._crawl is not None and url in self._reused and code in self._crawl.unchecked)


_NO_PAGE = "no page could be checked"
_UNCHECKED = {
    "C13": "no two pages could be compared",
    "C14": "no image or thumbnail could be checked",
    "C15": "no page with a lastmod says when it was changed",
}


def _refresh(signals: PageSignals, url: str) -> str | None:
    if signals.refresh is None:
        return None
    base = clean_url(signals.head_base, url).url if signals.head_base else None
    target = clean_url(signals.refresh.target, base or url).url
    return f"{signals.refresh.seconds}; url={target}" if target and target != url else None


def _canonical_fields(signals: PageSignals, url: str) -> dict[str, Any]:
    """The canonical fields of a UrlCheck: search engines read those of the header and of the head."""
    stated: list[tuple[str, str | None]] = [(text, None) for text in signals.header_canonicals]
    stated += [(text, signals.head_base) for text in signals.head_canonicals if text]
    resolved = dict.fromkeys(resolved_canonical(text, url, base) for text, base in stated)
    canonicals = tuple(each for each in resolved if each is not None)
    fault = None
    if len(canonicals) > 1:
        fault = "several canonical URLs"
    elif any(_lacks_scheme(text, url) for text, _ in stated):
        fault = "canonical without its scheme"
    elif stated and not canonicals:
        fault = "unreadable canonical"
    elif not stated and signals.head_canonicals:
        fault = "empty canonical"
    elif not stated and any(signals.body_canonicals):
        fault = "canonical outside of the head"
    return {
        "canonical": canonicals[0] if canonicals else None,
        "canonicals": canonicals if len(canonicals) > 1 else (),
        "canonical_fault": fault,
    }


def _alternates(signals: PageSignals, url: str) -> list[tuple[str, str]]:
    """The hreflang codes of a page and their absolute URLs; none if its Link header was not read whole."""
    base = clean_url(signals.head_base, url).url if signals.head_base else None
    stated = [(code, clean_url(text, url).url) for code, text in signals.header_alternates or ()]
    stated += [(code, clean_url(text, base or url).url) for code, text in signals.head_alternates]
    return [] if signals.header_alternates is None else [(code, href) for code, href in stated if code and href]


def _lacks_scheme(canonical: str, url: str) -> bool:
    """Whether a relative canonical begins with the host of the page: `www.example.com/a` is a path."""
    name = host(url).removeprefix("www.")
    return canonical.partition("/")[0].lower() in (name, f"www.{name}")


class _Soft404s:
    """Judges which pages are soft 404s, by their titles and by the answer of each host for a path that does not exist.

    A page that is as this answer waits for the end: if most pages of a host are, a script draws them from one HTML
    file, and what they show is unknown.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.shells: set[str] = set()  # URLs of pages that a script draws
        self._probes: dict[str, str] = {}  # URL -> origin
        self._missing: dict[str, PageSignals | None] = {}  # by origin; None: it answers with an error, as it should
        self._waiting: dict[str, list[tuple[UrlCheck, PageSignals]]] = {}
        self._alike: dict[str, list[UrlCheck]] = {}
        self._pages: Counter[str] = Counter()
        self._bare: Counter[str] = Counter()  # pages of few words, which are those of the answer for a missing path

    def add_probes(self, urls: Iterable[str], seed: int) -> list[str]:
        """A URL for each origin that cannot exist there."""
        origins = dict.fromkeys(origin(without_userinfo(url)) for url in urls)
        for each in origins:
            digest = blake2b(f"{seed} {each}".encode(), digest_size=10).hexdigest()
            self._probes[f"{each}/{digest}"] = each
        return [*self._probes]

    def set_missing(self, response: PageResponse) -> Iterator[UrlCheck]:
        """Takes the answer for such a URL, and judges the pages that waited for it."""
        place = self._probes[response.url]
        is_page = is_success(response.status)
        self._missing[place] = read_signals(response.headers, response.body) if is_page else None
        for check, signals in self._waiting.pop(place, ()):
            yield from self.judge(check, signals)

    def judge(self, check: UrlCheck, signals: PageSignals) -> Iterator[UrlCheck]:
        """The check with its verdict, unless that is known later only."""
        place = origin(without_userinfo(check.url))
        is_page = signals.words is not None and is_success(check.status)
        if is_page and _is_error_page(check, signals):
            yield attrs.evolve(check, soft_404=True)
        elif is_page and place not in self._missing:
            self._waiting.setdefault(place, []).append((check, signals))
        else:
            self._pages[place] += is_page
            missing = self._missing.get(place)
            is_home = without_userinfo(check.url) == f"{place}/"  # some servers send the home page for any path
            if is_page and missing is not None and not is_home and is_like(signals, missing):
                self._alike.setdefault(place, []).append(check)
            else:
                self._bare[place] += is_page and missing is not None and is_same_shell(signals, missing)
                yield check

    def decide(self) -> Iterator[UrlCheck]:
        """The checks that were kept back."""
        for waiting in self._waiting.values():
            yield from (check for check, _ in waiting)
        self._waiting.clear()
        for place, checks in sorted(self._alike.items()):
            is_shell = len(checks) > self._pages[place] * _SHELL_SHARE
            if is_shell:
                self._bare[place] += len(checks)
                self.shells.update(check.url for check in checks)
            yield from (attrs.evolve(check, soft_404=not is_shell) for check in checks)
        self._alike.clear()
        for place, count in sorted((+self._bare).items()):
            pages = f"{count:,} of {count_of(self._pages[place], 'checked page')}"
            self.notes.append(
                f"{place} sends the same HTML for a path that does not exist as for {pages}: C07 not checked there"
            )


def _is_error_page(check: UrlCheck, signals: PageSignals) -> bool:
    """Whether a page is an error page by its URL, or by its title or heading, unless it is an article about errors."""
    if _ERROR_PAGE.fullmatch(check.url[len(origin(check.url)) :].partition("?")[0]):
        return True
    if check.canonical == check.url and signals.words is not None and signals.words.total() > _MOST_ERROR_WORDS:
        return False
    return names_an_error(signals.title) or names_an_error(signals.heading)


class CheckWriter:
    """Writes each result to a file, which it replaces when the first one comes; to the crawl file, it adds them."""

    def __init__(self, path: Path, crawl_name: str | None = None) -> None:
        """UsageError for a file that cannot be written, and for the crawl file of another program."""
        self._path = path
        self._adds = crawl_name is not None and path.exists() and path.samefile(crawl_name)
        if self._adds and not is_check_file(os.fspath(path)):
            what, remedy = f"{path} is the crawl of another program", "name another file"
            raise UsageError(what, keyword="save_checks", remedy=remedy)
        self.error: str | None = None  # why writing ended early; the check goes on
        self._file: BinaryIO | None = None
        folder = path.parent
        if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
            what, remedy = f"{path} cannot be written", "name a file in a folder that you may write to"
            raise UsageError(what, keyword="save_checks", remedy=remedy)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, check: UrlCheck) -> None:
        """Writes a line; unbuffered, so that it is kept whatever happens next."""
        if self.error is not None:
            return
        try:
            if self._file is None:
                self._file = self._path.open("ab" if self._adds else "wb", buffering=0)
            self._file.write(check.json_line())
        except OSError as exc:
            self.error = f"{self._path} has not all results: {exc.strerror or exc}"
