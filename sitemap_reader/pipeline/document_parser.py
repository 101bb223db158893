"""Parses one body and selects what the caller wants: wire bytes in, batches of items and an Outcome out.

Runs in any thread, in one at a time.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..frontier.documents import Finished, ResumePoint
from ..frontier.frontier import make_parser
from ..frontier.lastmod_trust import LastmodEvidence
from ..frontier.plan import Selection
from ..model.errors import SitemapReaderError
from ..model.limits import Limits
from ..model.problems import Problem
from ..model.records import PROBED, SitemapRef
from ..model.url_batch import BatchItem, OutOfScope, ParserItem, UrlBatch, joined
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.parser import SitemapParser

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..frontier.documents import DocumentRequest
    from ..frontier.plan import Plan
    from ..parser.dialects.feed_fallback import FallbackLinks
    from ..parser.dialects.robots import RobotsBody

Batch: TypeAlias = list[BatchItem]
ParserItems: TypeAlias = list[ParserItem]
_PAGES = SITEMAP_FORMATS - {Format.INDEX}
# How many problems may wait for the first entry of their document.
_DEFERRED_ITEMS = 64
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f]")
FallbackAnswer: TypeAlias = "FallbackLinks | SitemapReaderError"


class DocumentParser:
    """Parses the body of one response: parse() each chunk, then end(), and with a `fallback_request` finish().

    These calls run in threads, one at a time: see ParseExecutor. due() then says which of their items to pass on now.
    The items of an earlier try, which ended at the `resume` point of the request, are not returned again.
    """

    def __init__(
        self, request: DocumentRequest, plan: Plan, headers: Mapping[str, str], *, asks_fallback: bool = False
    ) -> None:
        document, resume = request.document, request.resume
        self._request, self._plan, self._headers, self._asks_fallback = request, plan, headers, asks_fallback
        self._document = document
        self._selection = plan.selection
        self._skipped = resume.items if resume else 0  # items that are to come, and were returned before
        self._sniff_only = plan.sniff_only and not document.serves_discovery
        self._takes_all = plan.selection == Selection() and not self._sniff_only
        self._closing: Iterator[list[BatchItem]] = iter(())
        self._answer: FallbackAnswer | None = None
        self._filtered: Counter[str] = Counter()
        self._dates = None if plan.selection.window.since is None else LastmodEvidence()
        self._deferred: ParserItems = []  # until the first entry; of a probe, until it is a sitemap
        self.items = 0
        self.has_yielded = False
        self.has_emitted = resume is not None
        self.fallback_request: tuple[bytes, str | None] | None = None
        self.is_last = self.has_ended = False
        self.late_at = math.inf
        self.is_large = False  # more than one chunk and one batch: kept by ParseExecutor
        self.call: Future[Any] | None = None  # the last one

    @cached_property
    def _parser(self) -> SitemapParser:
        """Made when it is first used, in a thread: that takes as long as to send a request."""
        request = self._request
        return make_parser(
            request,
            self._headers,
            self._plan,
            feed_fallback=self._stored_answer if self._asks_fallback else None,
            prefix=request.resume.prefix if request.resume else None,
            _is_due=lambda: time.monotonic() >= self.late_at,
            _keeps_out_of_scope=not self._sniff_only,
        )

    @property
    def robots_text(self) -> str:
        return self._parser.robots_text

    @property
    def robots_body(self) -> RobotsBody | None:
        return self._parser.robots_body

    @property
    def robots_fault(self) -> str | None:
        """Why a robots.txt could not be read: its Content-Encoding could not be undone, and it is no plain text."""
        return self._parser.unread_encoding if _BINARY.search(self.robots_text) else None

    @property
    def lists_pages(self) -> bool:
        """Whether its format is known, and one without links to other documents."""
        return self._parser.format in _PAGES

    @property
    def needs_no_more(self) -> bool:
        """Whether no more bytes are needed: a limit was reached, or the format is known."""
        return self._parser.stopped or self._has_sniffed

    @property
    def has_caught_up(self) -> bool:
        return not self._skipped and not self.is_shorter

    @property
    def is_shorter(self) -> bool:
        return self._parser.is_shorter

    @property
    def resume_point(self) -> ResumePoint:
        return ResumePoint(self._parser.prefix, self.items, self.result)

    @property
    def result(self) -> Finished:
        outcome = self._parser.outcome
        outcome.dropped.update(self._filtered)
        outcome.kept -= self._filtered.total()
        if self._is_page:
            outcome.format, outcome.complete = None, False
        dates = None if self._dates is None else self._dates.summary()
        return Finished(outcome, dates=dates, dropped_origins=self._parser.dropped_origins)

    def parse(self, chunk: bytes) -> Iterator[tuple[ParserItems, bool]]:
        """The selected items of a chunk, in batches, each with whether it is the last, with those of end()."""
        for items in self._parser.batches(chunk):
            batch = self._select(items)
            is_last = self._parser.has_read or self._has_sniffed
            if is_last and self.is_last:
                batch += self.end()
            yield batch, is_last
            if is_last:
                return
        yield [], True

    def end(self, *, cut: bool = False) -> ParserItems:
        """Returns the last items, without those that wait for a `fallback_request`; `cut`: the bytes broke off."""
        self.has_ended = True
        if self._has_sniffed:
            return []
        self._closing = self._parser.closing(cut=cut)
        batch = self._select(next(self._closing, []))
        self.fallback_request = self._parser.fallback_question
        return batch if self.fallback_request else batch + self._rest()

    def finish(self, answer: FallbackAnswer) -> ParserItems:
        self._answer, self.fallback_request = answer, None
        return self._rest()

    def due(self, batch: ParserItems, *, final: bool = False) -> ParserItems:
        """The items to pass on now: problems that a retry might repeat are deferred until there is a first entry."""
        self.has_emitted = self.has_emitted or self.has_yielded
        self._deferred += batch
        is_due = final or self.has_emitted or len(self._deferred) >= _DEFERRED_ITEMS
        is_sitemap = self._parser.format in SITEMAP_FORMATS and not self._is_page
        if not is_due or (self._document.is_probe and not is_sitemap):
            return []
        due, self._deferred = self._deferred, []
        if self._is_page:
            problems = (item.problem if isinstance(item, OutOfScope) else item for item in due)
            due = [problem for problem in problems if isinstance(problem, Problem)]
        self.has_emitted = self.has_emitted or bool(due)
        return due

    def release(self) -> None:
        """Frees the memory when its call has ended: its parts refer to each other, and would wait for a collection."""
        free = partial(_free, vars(self._parser))  # with a reference to self it would be a cycle
        if self.call is None:
            free()
        else:
            self.call.add_done_callback(free)

    @property
    def _is_page(self) -> bool:
        """Whether it is text of a bot wall, or a soft 404, that names some URL: most of its lines are none."""
        # Nothing but its name suggests that a document that was found by a guess is a sitemap.
        if self._parser.format != Format.TEXT or self._document.why not in PROBED:
            return False
        outcome = self._parser.outcome
        return 0 < outcome.entries >= 2 * (outcome.kept + sum(outcome.dropped.values()))

    @property
    def _has_sniffed(self) -> bool:
        return self._sniff_only and self._parser.format is not None

    def _rest(self) -> ParserItems:
        return self._select(next(self._closing, []))

    def _stored_answer(self, body: bytes, url: str | None, /, *, limits: Limits) -> FallbackLinks:
        if self._answer is None:
            raise SitemapReaderError("the feed fallback was not called")
        if isinstance(self._answer, SitemapReaderError):
            raise self._answer
        return self._answer

    def _select(self, items: Iterable[ParserItem]) -> ParserItems:
        selected: ParserItems = []
        for item in items:
            count = len(item) if isinstance(item, UrlBatch) else 1
            repeated, self._skipped = min(self._skipped, count), max(self._skipped - count, 0)
            self.items += count
            if isinstance(item, UrlBatch):
                if self._dates is not None:
                    self._dates.add(item.lastmods, item.precisions)
                self.has_yielded = True
                selected += self._selected_urls(item, repeated)
                continue
            self.has_yielded = self.has_yielded or isinstance(item, SitemapRef)
            if not repeated and not (self._sniff_only and isinstance(item, OutOfScope)):
                selected.append(item)
        return joined(selected)

    def _selected_urls(self, urls: UrlBatch, repeated: int) -> Iterator[ParserItem]:
        """The selected URLs of a batch, of which the first ones are `repeated`: an earlier try has returned them."""
        if self._takes_all and not repeated:
            yield urls
            return
        reasons = self._selection.reasons(urls)
        self._filtered.update(filter(None, reasons))
        mask = [reason is None and index >= repeated for index, reason in enumerate(reasons)]
        if not self._sniff_only and (selected := urls.only(mask)):
            yield selected


def _free(parts: dict[str, Any], call: object = None) -> None:
    if parts.get("_markup") is not None:
        parts["_markup"].free()
    parts.clear()


def sitemap_format(start: bytes, headers: Mapping[str, str], *, is_cut: bool) -> str | None:
    """The format of a body that begins with these bytes, if it is a sitemap; no more than they are is decoded."""
    # A text is one if it has several lines and all are URLs: a message may name a URL, too. `is_cut`: more bytes
    # follow.
    limits = Limits(max_decoded_bytes=max(len(start), 1))
    parser = SitemapParser(content_encoding=headers.get("content-encoding"), limits=limits)
    for _ in parser.pieces(start):
        if parser.format not in (None, Format.TEXT):
            break
    else:
        parser.close(cut=is_cut or parser.stopped)
    if parser.format not in SITEMAP_FORMATS:
        return None
    outcome = parser.outcome
    is_message = parser.format == Format.TEXT and not outcome.entries == outcome.kept > 1
    return None if is_message else parser.format.value
