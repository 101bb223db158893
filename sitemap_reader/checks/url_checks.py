"""Checks listed URLs themselves (C01 to C04, C07, C08): a sample of them is fetched, and judged as a crawl would be.

Gives problems where the URLs are listed, estimates for all URLs, and a line of JSON for each result, which
crawl_file.py reads. Sends no request: the responses come from an iterator.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import attrs
import orjson

from ..client.progressbar import BarState, ProgressBar, duration_of
from ..frontier.responses import is_html, is_success
from ..model.errors import UsageError
from ..model.problems import count_of
from ..parser.normalise.urls import origin, without_userinfo
from ..serialize.jsonl import stamp
from .crawl_file import CrawledPage, is_check_file, resolved_canonical, shown
from .crawled import PAGE_CODES, codes_of
from .findings import Check, url_key, url_keys
from .page_signals import PageSignals, is_like, names_an_error, read_signals, require_selectolax
from .url_sample import FaultEstimate, StratumCounts, UrlCheckSummary, UrlSample, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..model.url_batch import UrlBatch
    from ..pipeline.page_fetcher import PageResponse
    from .crawled import CrawlCheck
    from .findings import Findings
    from .url_sample import ListedUrl, SampledStratum

CheckSize = int | Literal["all"]

_DISALLOWED, _NO_RESPONSE = "F02", "F04"
# Faults that the content of a page shows; status and headers may not.
_CONTENT_CODES = ("C03", "C04", "C07")
_CUT_HEAD = "checked for C03 and C04 in part: the head has not ended where the page was cut"
_REFUSALS = frozenset({401, 403})
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
        page = CrawledPage(
            0, self.url, self.status, self.canonical, self.noindex, soft_404=self.soft_404, error=self.fetch_error
        )
        return codes_of(page)

    def message(self, code: str) -> str:
        return f"{self.url} {_MESSAGES[code](self)}"


def _redirect_text(check: UrlCheck) -> str:
    if check.redirect_url is None:
        return f"redirects ({check.status}) without a usable target"
    text = f"redirects ({check.status}) to {check.redirect_url}"
    if check.final_url != check.redirect_url and check.final_status is not None:
        return f"{text} and on to {check.final_url}, which answers {check.final_status}"
    return text if check.final_status in (None, 200) else f"{text}, which answers {check.final_status}"


def _noindex_text(check: UrlCheck) -> str:
    sources = (("X-Robots-Tag", check.header_directives), ("robots meta", check.meta_directives))
    return f"is noindex ({'; '.join(f'{name}: {text}' for name, text in sources if text)})"


_MESSAGES: dict[str, Callable[[UrlCheck], str]] = {
    "C01": lambda check: f"answers {check.status}",
    "C02": _redirect_text,
    "C03": _noindex_text,
    "C04": lambda check: f"has the canonical {check.canonical}",
    "C07": lambda check: f"answers {check.status} with an error page{f': {check.title}' if check.title else ''}",
    "C08": lambda check: f"does not respond: {check.fetch_error}",
}


class UrlChecks(Check):
    """Collects the sample while sitemaps are read; then run() checks what `crawl` lacks; on_end() reports problems."""

    codes: ClassVar[tuple[str, ...]] = PAGE_CODES

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
        self.is_local = False  # pages are read from the disk, which may not have all
        self._seed = seed
        self._crawl = crawl
        self._sample = UrlSample(None if size == "all" else size, seed)
        self._writer = None if save is None else CheckWriter(Path(save), crawl_name)
        self._strata: list[SampledStratum] = []
        self._listed: dict[str, ListedUrl] = {}
        self._codes: dict[str, tuple[str, ...]] = {}  # of the URLs that have a result
        self._undecodable: set[str] = set()  # those of them that have none for _CONTENT_CODES
        self._faulty: list[UrlCheck] = []
        self._soft_404s: _Soft404s = _Soft404s()
        self._statuses: Counter[int | None] = Counter()
        self._reused = self._disallowed = self._done = 0
        self._reasons: Counter[str] = Counter()
        self._is_stopped = True

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        self._sample.add(batch.sitemap or "", batch.locs, url_keys(batch.locs), batch.lines)

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
                self._reused += 1
        probes = self._soft_404s.add_probes(urls, self._seed)
        started, total = time.monotonic(), len(urls)

        def report_progress() -> None:
            seconds = time.monotonic() - started
            left = seconds / self._done * (total - self._done) if self._done else None
            on_progress(CheckProgress(self._done, total, left))

        report_progress()
        with ExitStack() as stack:
            if self._writer is not None:
                stack.callback(self._writer.close)
            stack.callback(lambda: self._keep_all(self._soft_404s.decide()))
            for response in fetch([*probes, *urls], report_progress) if urls else ():
                if response.url in probes:
                    self._keep_all(self._soft_404s.set_missing(response))
                    continue
                self._done += 1
                self._keep_all(self._soft_404s.judge(*self._judged(response)))
                report_progress()
            self._is_stopped = False

    def _judged(self, response: PageResponse) -> tuple[UrlCheck, PageSignals]:
        signals = read_signals(response.headers, response.body)
        url, failure, listed = response.url, response.failure, self._listed[response.url]
        is_whole = response.is_whole and response.status == 200 and is_html(response.headers)
        is_page = is_success(response.status)
        is_cut = not response.is_whole and is_page and is_html(response.headers)
        canonical = signals.canonical if is_page else None
        is_silent = failure is not None and failure.code == _NO_RESPONSE and not self.is_local
        not_checked = failure.message if failure is not None and not is_silent else None
        if response.undecodable is not None:
            not_checked = f"Content-Encoding {shown(response.undecodable)} cannot be decoded"
        check = UrlCheck(
            url,
            response.status,
            redirect_url=response.target,
            final_url=response.final_url if response.target else None,
            final_status=response.final_status if response.target else None,
            content_type=response.headers.get("content-type"),
            canonical=resolved_canonical(canonical, url, signals.base) if canonical else None,
            noindex=signals.noindex and is_page,
            meta_directives=signals.directives,
            header_directives=signals.header_directives,
            robots_allowed=failure is None or failure.code != _DISALLOWED,
            title=signals.title,
            hash=f"sha256:{sha256(response.body).hexdigest()}" if is_whole else None,
            body_bytes=response.body_bytes if response.status is not None else None,
            seconds=round(response.seconds, 3) if response.status is not None else None,
            fetch_error=failure.message if failure is not None and is_silent else None,
            not_checked=not_checked,
            checked_at=stamp(datetime.now(UTC)),
            sitemap=listed.sitemap,
            line=listed.line,
        )
        if is_cut and not (signals.has_whole_head or not_checked or check.codes):
            self._reasons[_CUT_HEAD] += 1
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
                what = "" if check.status is None else f" for {', '.join(_CONTENT_CODES)}"
                self._reasons[f"not checked{what}: {check.not_checked}"] += 1
                if check.status is None:
                    continue
                self._undecodable.add(check.url)
            self._codes[check.url] = codes = check.codes
            self._statuses[check.status] += 1
            if codes:
                self._faulty.append(check)

    def on_end(self, findings: Findings) -> None:
        for check in sorted(self._faulty, key=lambda each: (each.sitemap or "", each.line or 0, each.url)):
            at: Any = {"sitemap": check.sitemap, "line": check.line, "field": "loc", "raw": check.url}
            for code in check.codes:
                findings.report(code, check.message(code), **at)
        self.notes += self._final_notes()
        known = {code for code in PAGE_CODES if any(self._is_known(url, code) for url in self._codes)}
        self.unchecked = {code: "no page could be checked" for code in PAGE_CODES if code not in known}

    def _final_notes(self) -> Iterator[str]:
        refused = sum(self._statuses[status] for status in _REFUSALS)
        if refused * 2 > self._statuses.total():
            yield (
                f"{refused:,} of {self._statuses.total():,} checked URLs answer 401 or 403: the site may refuse this "
                "client; try another User-Agent (-A, user_agent=...), or have this one allow-listed"
            )
        for reason, count in self._reasons.most_common(3):
            yield f"{count_of(count, 'URL')} {reason}"
        yield from self._soft_404s.notes
        if self._writer is not None and self._writer.error is not None:
            yield self._writer.error

    def summary(self) -> UrlCheckSummary:
        return UrlCheckSummary(
            urls=self._sample.urls,
            sampled=len(self._listed),
            checked=len(self._codes),
            reused=self._reused,
            disallowed=self._disallowed,
            strata=len(self._strata),
            seed=self._seed,
            complete=not self._is_stopped,
            estimates=tuple(self._estimates()),
        )

    def _estimates(self) -> Iterator[FaultEstimate]:
        judges_soft_404 = self._crawl is None or not self._reused or self._crawl.judges_soft_404
        # Where the content is not known, the headers show some faults and never their absence: no share follows.
        left_out = {code for url in self._undecodable for code in self._codes[url]}
        left_out |= set() if judges_soft_404 else {"C07"}
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
        return code in PAGE_CODES and self._is_known(url, code)

    def _is_known(self, url: str, code: str) -> bool:
        """Whether a page has the fault, or surely not."""
        codes = self._codes.get(url)
        is_open = url in self._undecodable and code in _CONTENT_CODES
        return codes is not None and (code in codes or not is_open)


class _Soft404s:
    """Judges which pages are soft 404s, by their titles and by the answer of each host for a path that does not exist.

    A page that is as this answer waits for the end: if most pages of a host are, a script draws them from one HTML
    file, and what they show is unknown.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._probes: dict[str, str] = {}  # URL -> origin
        self._missing: dict[str, PageSignals | None] = {}  # by origin; None: it answers with an error, as it should
        self._waiting: dict[str, list[tuple[UrlCheck, PageSignals]]] = {}
        self._alike: dict[str, list[UrlCheck]] = {}
        self._pages: Counter[str] = Counter()

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
        is_own_canonical = check.canonical == check.url  # a page about such errors, rather than one of them
        if is_page and not is_own_canonical and (names_an_error(signals.title) or names_an_error(signals.heading)):
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
                yield check

    def decide(self) -> Iterator[UrlCheck]:
        """The checks that were kept back."""
        for waiting in self._waiting.values():
            yield from (check for check, _ in waiting)
        self._waiting.clear()
        for place, checks in self._alike.items():
            is_shell = len(checks) > self._pages[place] * _SHELL_SHARE
            if is_shell:
                pages = f"{len(checks):,} of {count_of(self._pages[place], 'checked page')}"
                self.notes.append(
                    f"{place} sends the same HTML for a path that does not exist as for {pages}: C07 not checked there"
                )
            yield from (attrs.evolve(check, soft_404=not is_shell) for check in checks)
        self._alike.clear()


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
