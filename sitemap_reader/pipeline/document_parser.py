"""Parses one body and selects what the caller wants: wire bytes in, batches of items out.

Runs in any thread, in one at a time. Never fetches, never waits.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from ..frontier.lastmod_trust import LastmodEvidence
from ..model.errors import SitemapReaderError
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..model.url_batch import BatchItem, UrlBatch, batched, unbatched
from ..parser.parser import SitemapParser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..frontier.filters import Selection
    from ..model.limits import Limits
    from ..model.problems import Problem
    from ..model.records import Item
    from ..parser.content.decoder import ReadPrefix
    from ..parser.content.sniff import Format
    from ..parser.dialects.feed_fallback import FallbackLinks
    from ..parser.normalise.scope import Scope, ScopeMode

# About how much a batch takes in memory: to pass one to another thread costs some 100 us.
_BATCH_BYTES = 256 * 1024
_ITEM_BYTES = 256
# The least size that a piece of the input counts for: other documents have their turn after some 4 MiB without items.
_MIN_PIECE_BYTES = 4 * 1024

Batch: TypeAlias = list[BatchItem]
_URL_ITEMS = frozenset({UrlBatch, SitemapRef})
FallbackAnswer: TypeAlias = "FallbackLinks | SitemapReaderError"


class DocumentParser:
    """Parses one body: parse() each chunk, iterating to the end; then end(), and with a `fallback_request` finish().

    Keywords of SitemapParser have its meaning. `selection` filters URLs. `skipped` counts items that an earlier try
    returned. `former` is the scope of an earlier reading: only what that dropped is returned. `sniff_only` stops once
    the format is known, and returns no URLs. `asks_fallback`: a feed fallback will be called if needed.

    `items` counts what the SitemapParser returned. `has_yielded`: a URL or a child was among that, selected or not.
    `fallback_request`: the arguments for a feed fallback, to be called before finish(). `regained` counts what a second
    reading returned, by the reason for which the first one dropped it. `dates` are those of all URLs, selected or not,
    where the selection has a date filter.
    """

    def __init__(
        self,
        *,
        url: str,
        final_url: str,
        content_type: str | None,
        content_encoding: str | None = None,
        scope: ScopeMode,
        authorities: tuple[str, ...],
        limits: Limits,
        selection: Selection,
        extras: bool = False,
        asks_fallback: bool = False,
        prefix: ReadPrefix | None = None,
        skipped: int = 0,
        former: Scope | None = None,
        sniff_only: bool = False,
    ) -> None:
        self._parser = SitemapParser(
            url=url,
            final_url=final_url,
            content_type=content_type,
            content_encoding=content_encoding,
            scope=scope,
            authorities=authorities,
            child_scope="any",  # the frontier checks URL scope: it knows about robots.txt files of other hosts
            limits=limits,
            extras=extras,
            feed_fallback=self._stored_answer if asks_fallback else None,
            prefix=prefix,
        )
        self._selection = selection
        self._skipped = skipped
        self._former = former
        self._sniff_only = sniff_only
        self._closing: Iterator[list[Item]] = iter(())
        self._answer: FallbackAnswer | None = None
        self._filtered: Counter[str] = Counter()
        self._takes_every_record = selection.takes_all and former is None and not sniff_only
        self.items = 0
        self.has_yielded = False
        self.fallback_request: tuple[bytes, str | None] | None = None
        self.regained: Counter[str] = Counter()
        self.dates = None if selection.window.since is None else LastmodEvidence()

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._parser.robots_text

    @property
    def format(self) -> Format | None:
        """The format; None until it is known."""
        return self._parser.format

    @property
    def needs_no_more(self) -> bool:
        """Whether no more bytes are needed: a limit was reached, or the format is known."""
        return self._parser.stopped or self._has_sniffed

    @property
    def has_caught_up(self) -> bool:
        """Whether it is as far as an earlier try."""
        return self.items >= self._skipped and not self.is_shorter

    @property
    def is_shorter(self) -> bool:
        """Whether fewer bytes were read than by an earlier try."""
        return self._parser.is_shorter

    @property
    def prefix(self) -> ReadPrefix:
        """The bytes read so far, for a later try."""
        return self._parser.prefix

    @property
    def outcome(self) -> Outcome:
        """The Outcome so far."""
        outcome = self._parser.outcome
        outcome.dropped.update(self._filtered)
        outcome.kept -= self._filtered.total()
        return outcome

    def parse(self, chunk: bytes) -> Iterator[Batch]:
        """Yields the selected items of a chunk, in small batches."""
        for items in self._parser.batches(chunk):
            yield self._select(items)
            if self._has_sniffed:
                return

    def end(self, *, cut: bool = False) -> Batch:
        """Returns the last items, without those that wait for a `fallback_request`; `cut`: the bytes broke off."""
        if self._has_sniffed:
            return []
        self._closing = self._parser.closing(cut=cut)
        batch = self._select([*next(self._closing, [])])
        self.fallback_request = self._parser.fallback_question
        return batch if self.fallback_request else batch + self._rest()

    def finish(self, answer: FallbackAnswer) -> Batch:
        """Returns the items that depend on the feed fallback."""
        self._answer, self.fallback_request = answer, None
        return self._rest()

    def release(self) -> None:
        """Frees the parser's memory: its parts refer to each other, and would wait for a garbage collection."""
        vars(self._parser).clear()

    @property
    def _has_sniffed(self) -> bool:
        return self._sniff_only and self._parser.format is not None

    def _rest(self) -> Batch:
        return self._select([*next(self._closing, [])])

    def _stored_answer(self, body: bytes, url: str | None, /, *, limits: Limits) -> FallbackLinks:
        """The parser's feed fallback: returns or raises the answer that finish() was called with."""
        if self._answer is None:
            raise SitemapReaderError("the feed fallback was not called")
        if isinstance(self._answer, SitemapReaderError):
            raise self._answer
        return self._answer

    # --- selection ---

    def _select(self, items: Iterable[Item | UrlBatch]) -> Batch:
        if self.dates is not None:
            items = batched(items)
            for urls in items:
                if isinstance(urls, UrlBatch):
                    self.dates.add(urls.columns.lastmods, urls.columns.precisions)
        if self._takes_every_record and self.items >= self._skipped:
            batch = batched(items)
            self.has_yielded = self.has_yielded or not _URL_ITEMS.isdisjoint(map(type, batch))
            self.items += sum(len(item) if isinstance(item, UrlBatch) else 1 for item in batch)
            return batch
        if self._former is None:
            return batched(item for item in unbatched(items) if self._is_selected(item))
        return batched(self._dropped_before(unbatched(items), self._former))

    def _is_selected(self, item: Item) -> bool:
        self.items += 1
        is_new = self.items > self._skipped
        if isinstance(item, UrlRecord):
            self.has_yielded = True
            return self._matches_selection(item) and is_new and not self._sniff_only
        self.has_yielded = self.has_yielded or isinstance(item, SitemapRef)
        return is_new

    def _matches_selection(self, record: UrlRecord) -> bool:
        """Whether the selection has the record; others are counted by reason."""
        reason = self._selection.refuses(record)
        if reason:
            self._filtered[reason] += 1
        return reason is None

    def _dropped_before(self, items: list[Item], former: Scope) -> list[Item]:
        """Returns the records that an earlier reading dropped, each with the problems that were not reported then."""
        regained: list[Item] = []
        for item in items:
            self.items += 1
            if not isinstance(item, UrlRecord):
                continue
            reason = former.reason(item.loc)
            if self._matches_selection(item) and reason is not None and self.items > self._skipped:
                self.regained[reason] += 1
                regained += [problem for problem in item.problems if not _was_reported(problem)]
                regained.append(item)
        return regained


def take_batch(batches: Iterator[Batch]) -> tuple[Batch, bool]:
    """Joins batches up to about _BATCH_BYTES; returns that, and whether there are no more."""
    found: Batch = []
    size = 0
    for batch in batches:
        found += batch
        size += max(_MIN_PIECE_BYTES, sum(map(_size, batch)))
        if size >= _BATCH_BYTES:
            return found, False
    return found, True


def _size(item: BatchItem) -> int:
    """About how many bytes of memory an item takes."""
    return _ITEM_BYTES * (len(item) if isinstance(item, UrlBatch) else 1)


def _was_reported(problem: Problem) -> bool:
    """Whether a problem of an entry was reported when its URL was dropped: those of its markup and its loc were."""
    return problem.field == "loc" or problem.code.startswith("S")
