"""Parses one body and selects what the caller wants: wire bytes in, batches of records or JSON lines out.

A ParseTask states how a body is parsed, ParseProgress how far that is. Both, and the items, can be pickled: executors
run a DocumentParser in a thread or another process. Never fetches, never blocks.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias, cast

import attrs

from ..frontier.filters import LastmodSummary
from ..model.errors import SitemapReaderError
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..parser.fast_scanner import Entries, records_of
from ..parser.parser import SitemapParser
from ..serialize.jsonl import Lines, joined, json_lines, lines_of_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..frontier.filters import Selection
    from ..model.limits import Limits
    from ..model.problems import Problem
    from ..model.records import Item
    from ..parser.content.decoder import ReadPrefix
    from ..parser.dialects.feed_fallback import FallbackLinks
    from ..parser.fast_scanner import Columns
    from ..parser.normalise.scope import Scope, ScopeMode

# About how much a batch takes in memory: to pass one to another thread costs some 100 us.
_BATCH_BYTES = 256 * 1024
_ITEM_BYTES = 256
# The least size that a piece of the input counts for: other documents have their turn after some 4 MiB without items.
_MIN_PIECE_BYTES = 4 * 1024

# Items that hold several URLs.
UrlGroup = Lines | Entries
Batch: TypeAlias = list["Item | UrlGroup"]
_URL_ITEMS = frozenset({UrlRecord, Lines, Entries, SitemapRef})
FallbackAnswer: TypeAlias = "FallbackLinks | SitemapReaderError"


@attrs.frozen
class LineOptions:
    """Makes records come as JSON lines, each with the `site` if there is one."""

    site: str | None = None


@attrs.frozen
class ParseTask:
    """How one body is parsed, and which of its items are returned.

    Fields of SitemapParser have its names. `asks_fallback`: a feed fallback will be called if needed.
    `selection` filters records; with `as_lines` they are returned as Lines, with `as_entries` those of the fast path
    as Entries. `skipped` counts items that an earlier try returned. `former` is the scope of an earlier reading: only
    what that dropped is returned. `sniff_only` stops once the format is known, and returns no records.
    """

    url: str
    final_url: str
    content_type: str | None
    scope: ScopeMode
    authorities: tuple[str, ...]
    limits: Limits
    selection: Selection
    extras: bool = False
    asks_fallback: bool = False
    prefix: ReadPrefix | None = None
    skipped: int = 0
    former: Scope | None = None
    sniff_only: bool = False
    as_lines: LineOptions | None = None
    as_entries: bool = False
    content_encoding: str | None = None


@attrs.frozen
class ParseProgress:
    """How far a DocumentParser is.

    `items` counts what its parser returned. `has_yielded`: a URL or a child was among that, selected or not.
    `needs_no_more` bytes: a limit was reached, or the format is known. `has_caught_up`: it is as far as an earlier try;
    `is_shorter`: the document ended before that. `fallback_request`: the arguments for a feed fallback, to be called
    before finish(). `regained` counts what a second reading returned, by the reason for which the first one dropped it.
    `dates` are those of all URLs, selected or not, where the selection has a date filter.
    """

    items: int
    has_yielded: bool
    format: str | None
    needs_no_more: bool
    has_caught_up: bool
    is_shorter: bool
    prefix: ReadPrefix
    outcome: Outcome
    fallback_request: tuple[bytes, str | None] | None
    regained: Counter[str]
    dates: LastmodSummary | None = None


class DocumentParser:
    """Parses one body: parse() each chunk, iterating to the end; then end(), and with a `fallback_request` finish()."""

    def __init__(self, task: ParseTask) -> None:
        self._task = task
        self._parser = SitemapParser(
            url=task.url,
            final_url=task.final_url,
            content_type=task.content_type,
            content_encoding=task.content_encoding,
            scope=task.scope,
            authorities=task.authorities,
            child_scope="any",  # the frontier checks URL scope: it knows about robots.txt files of other hosts
            limits=task.limits,
            extras=task.extras,
            feed_fallback=self._stored_answer if task.asks_fallback else None,
            prefix=task.prefix,
            _make=self._make_items,
        )
        self._closing: Iterator[list[Item]] = iter(())
        self._fallback_request: tuple[bytes, str | None] | None = None
        self._answer: FallbackAnswer | None = None
        self._items = 0
        self._has_yielded = False
        self._filtered: Counter[str] = Counter()
        self._regained: Counter[str] = Counter()
        self._dates = None if task.selection.window.since is None else LastmodSummary()
        self._takes_every_record = task.selection.takes_all and task.former is None and not task.sniff_only
        self._takes_groups = self._takes_every_record and not task.skipped

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._parser.robots_text

    @property
    def progress(self) -> ParseProgress:
        """How far it is now."""
        parser = self._parser
        outcome = parser.outcome
        outcome.dropped.update(self._filtered)
        outcome.kept -= self._filtered.total()
        return ParseProgress(
            items=self._items,
            has_yielded=self._has_yielded,
            format=parser.format and parser.format.value,
            needs_no_more=parser.stopped or self._has_sniffed,
            has_caught_up=self._items >= self._task.skipped and not parser.is_shorter,
            is_shorter=parser.is_shorter,
            prefix=parser.prefix,
            outcome=outcome,
            fallback_request=self._fallback_request,
            regained=self._regained.copy(),
            dates=self._dates and attrs.evolve(self._dates),
        )

    def parse(self, chunk: bytes) -> Iterator[Batch]:
        """Yields the selected items of a chunk, in small batches."""
        for items in self._parser.pieces(chunk):
            yield self._select([*items])
            if self._has_sniffed:
                return

    def end(self, *, cut: bool = False) -> Batch:
        """Returns the last items, without those that wait for a `fallback_request`; `cut`: the bytes broke off."""
        if self._has_sniffed:
            return []
        self._closing = self._parser.closing(cut=cut)
        batch = self._select([*next(self._closing, [])])
        self._fallback_request = self._parser.fallback_question
        return batch if self._fallback_request else batch + self._rest()

    def finish(self, answer: FallbackAnswer) -> Batch:
        """Returns the items that depend on the feed fallback."""
        self._answer, self._fallback_request = answer, None
        return self._rest()

    def release(self) -> None:
        """Frees the parser's memory: its parts refer to each other, and would wait for a garbage collection."""
        vars(self._parser).clear()

    @property
    def _has_sniffed(self) -> bool:
        return self._task.sniff_only and self._parser.format is not None

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

    def _make_items(self, columns: Columns, sitemap: str | None) -> Batch:
        """Returns the items for entries of the fast path: as a group, if the task asks for that."""
        options = self._task.as_lines
        if self._takes_groups and columns.extensions is None:
            if self._task.as_entries:
                return [Entries(columns, sitemap)]
            if options is not None:
                return [lines_of_columns(*columns[:-1], sitemap=sitemap, site=options.site)]
        return [*records_of(columns, sitemap)]

    def _select(self, items: Batch) -> Batch:
        if self._takes_every_record and self._items >= self._task.skipped:
            self._has_yielded = self._has_yielded or not _URL_ITEMS.isdisjoint(map(type, items))
            self._items += sum(item.urls if isinstance(item, UrlGroup) else 1 for item in items)
        elif self._task.former is None:
            items = [item for item in items if self._is_selected(item)]
        else:
            items = self._dropped_before(items, self._task.former)
        return _to_lines(items, self._task.as_lines) if self._task.as_lines else items

    def _is_selected(self, item: Item | UrlGroup) -> bool:
        self._items += 1
        is_new = self._items > self._task.skipped
        if isinstance(item, UrlRecord):
            self._has_yielded = True
            return self._matches_selection(item) and is_new and not self._task.sniff_only
        self._has_yielded = self._has_yielded or isinstance(item, SitemapRef)
        return is_new

    def _matches_selection(self, record: UrlRecord) -> bool:
        """Whether the selection has the record; others are counted by reason."""
        if self._dates is not None:
            self._dates.add(record)
        reason = self._task.selection.refuses(record)
        if reason:
            self._filtered[reason] += 1
        return reason is None

    def _dropped_before(self, items: Batch, former: Scope) -> Batch:
        """Returns the records that an earlier reading dropped, each with the problems that were not reported then."""
        regained: Batch = []
        for item in items:
            self._items += 1
            if not isinstance(item, UrlRecord):
                continue
            reason = former.reason(item.loc)
            if self._matches_selection(item) and reason is not None and self._items > self._task.skipped:
                self._regained[reason] += 1
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


def _size(item: Item | UrlGroup) -> int:
    """About how many bytes of memory an item takes."""
    if isinstance(item, Lines):
        return len(item.data)
    return _ITEM_BYTES * (item.urls if isinstance(item, Entries) else 1)


def _to_lines(items: Batch, options: LineOptions) -> Batch:
    """Converts records to lines, in their order, behind all other items."""
    others: Batch = []
    lines: list[Lines] = []
    for kind, group in groupby(items, type):
        if kind is UrlRecord:
            lines.append(json_lines(cast("Iterator[UrlRecord]", group), site=options.site))
        elif kind is Lines:
            lines += cast("Iterator[Lines]", group)
        else:
            others += group
    return [*others, joined(lines)] if lines else others


def _was_reported(problem: Problem) -> bool:
    """Whether a problem of an entry was reported when its URL was dropped: those of its markup and its loc were."""
    return problem.field == "loc" or problem.code.startswith("S")
