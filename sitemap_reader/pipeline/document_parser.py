"""One body, without a network: wire bytes in, what the caller wants of them out, as records or as their JSON lines.

How a body is to be read is a Task, and how far that is a State. Both pass between processes, as do the items: where
a sieve works is for hands.py and workers.py to say. Never waits for anything.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias, cast

import attrs

from ..frontier.filters import Dates
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

# What is handed over at once, about: it is held in memory, and to hand it to somebody else costs some 100 us.
_ENOUGH_BYTES = 256 * 1024
_ITEM_BYTES = 256
# What a piece counts for, if nothing of it is wanted: other documents have their turn after some 4 MiB of such.
_PIECE_BYTES = 4 * 1024

# Several URLs at once.
Many = Lines | Entries
Piece: TypeAlias = list["Item | Many"]
_GIVEN = frozenset({UrlRecord, Lines, Entries, SitemapRef})
Answer: TypeAlias = "FallbackLinks | SitemapReaderError"


@attrs.frozen
class AsLines:
    """Records are to be given as JSON lines, with the `site` in each if there is one."""

    site: str | None = None


@attrs.frozen
class Task:
    """How one body is to be read, and what of it is wanted.

    Of the parser: what SitemapParser has by the same names; with `asks_fallback` somebody will answer its question. Of
    the caller: the `selection`; `as_lines`, or `as_entries` where what is plain may stay as it is. Of the walk:
    `skipped` items came out of an earlier try; with `former`, which covers what a first reading gave, only the rest is
    wanted. `peek` stops where it is clear what the body is, and gives no record.
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
    peek: bool = False
    as_lines: AsLines | None = None
    as_entries: bool = False
    content_encoding: str | None = None


@attrs.frozen
class State:
    """How far a sieve is.

    `items` counts what its parser gave. `has_given`: a URL or a child was among that, wanted or not. `needs_no_more`
    bytes: a limit was reached, or what is asked for is known. `has_caught_up`: it is as far as an earlier try was, and
    `is_shorter` where the bytes are not. `question`: what a feed fallback is to be asked, before finish(). `regained`
    counts what a second reading gave, by the reason for which the first one dropped it. `dates` are those of all
    URLs, wanted or not, where some are wanted by their date alone.
    """

    items: int
    has_given: bool
    format: str | None
    needs_no_more: bool
    has_caught_up: bool
    is_shorter: bool
    prefix: ReadPrefix
    outcome: Outcome
    question: tuple[bytes, str | None] | None
    regained: Counter[str]
    dates: Dates | None = None


class DocumentParser:
    """pieces() of each chunk, iterated to the end; then end(), and where there is a `question` finish()."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._parser = SitemapParser(
            url=task.url,
            final_url=task.final_url,
            content_type=task.content_type,
            content_encoding=task.content_encoding,
            scope=task.scope,
            authorities=task.authorities,
            child_scope="any",  # the frontier knows more proofs than the document
            limits=task.limits,
            extras=task.extras,
            feed_fallback=self._answered if task.asks_fallback else None,
            prefix=task.prefix,
            _make=self._made,
        )
        self._steps: Iterator[list[Item]] = iter(())
        self._question: tuple[bytes, str | None] | None = None
        self._answer: Answer | None = None
        self._items = 0
        self._has_given = False
        self._unwanted: Counter[str] = Counter()
        self._regained: Counter[str] = Counter()
        self._dates = None if task.selection.window.since is None else Dates()
        self._takes_every_record = task.selection.takes_all and task.former is None and not task.peek
        # Nobody looks at each record.
        self._takes_many = self._takes_every_record and not task.skipped

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._parser.robots_text

    @property
    def state(self) -> State:
        """How far it is."""
        parser = self._parser
        outcome = parser.outcome
        outcome.dropped.update(self._unwanted)
        outcome.kept -= self._unwanted.total()
        return State(
            items=self._items,
            has_given=self._has_given,
            format=parser.format and parser.format.value,
            needs_no_more=parser.stopped or self._has_peeked,
            has_caught_up=self._items >= self._task.skipped and not parser.is_shorter,
            is_shorter=parser.is_shorter,
            prefix=parser.prefix,
            outcome=outcome,
            question=self._question,
            regained=self._regained.copy(),
            dates=self._dates and attrs.evolve(self._dates),
        )

    def pieces(self, chunk: bytes) -> Iterator[Piece]:
        """What is wanted of a chunk, a little at a time."""
        for items in self._parser.pieces(chunk):
            yield self._wanted([*items])
            if self._has_peeked:
                return

    def end(self, *, cut: bool = False) -> Piece:
        """The last items, `cut` where the bytes broke off; all of them unless there is a question now."""
        if self._has_peeked:
            return []
        self._steps = self._parser.closing(cut=cut)
        piece = self._wanted([*next(self._steps, [])])
        self._question = self._parser.fallback_question
        return piece if self._question else piece + self._rest()

    def finish(self, answer: Answer) -> Piece:
        """What is left to say when the question is answered."""
        self._answer, self._question = answer, None
        return self._rest()

    def release(self) -> None:
        """Frees all that the parser holds: its parts know each other, and would wait for a garbage collection."""
        vars(self._parser).clear()

    @property
    def _has_peeked(self) -> bool:
        return self._task.peek and self._parser.format is not None

    def _rest(self) -> Piece:
        return self._wanted([*next(self._steps, [])])

    def _answered(self, body: bytes, url: str | None, /, *, limits: Limits) -> FallbackLinks:
        """The parser's fallback: who is asked is not known here."""
        if self._answer is None:
            raise SitemapReaderError("nobody answered for it")
        if isinstance(self._answer, SitemapReaderError):
            raise self._answer
        return self._answer

    # --- what is wanted ---

    def _made(self, columns: Columns, sitemap: str | None) -> Piece:
        """What comes out for plain entries: many at once, if that is what is asked for."""
        form = self._task.as_lines
        if self._takes_many and columns.extensions is None:
            if self._task.as_entries:
                return [Entries(columns, sitemap)]
            if form is not None:
                return [lines_of_columns(*columns[:-1], sitemap=sitemap, site=form.site)]
        return [*records_of(columns, sitemap)]

    def _wanted(self, items: Piece) -> Piece:
        if self._takes_every_record and self._items >= self._task.skipped:
            self._has_given = self._has_given or not _GIVEN.isdisjoint(map(type, items))
            self._items += sum(item.urls if isinstance(item, Many) else 1 for item in items)
        elif self._task.former is None:
            items = [item for item in items if self._wants(item)]
        else:
            items = self._regained_of(items, self._task.former)
        return _in_lines(items, self._task.as_lines) if self._task.as_lines else items

    def _wants(self, item: Item | Many) -> bool:
        self._items += 1
        is_new = self._items > self._task.skipped
        if isinstance(item, UrlRecord):
            self._has_given = True
            return self._chooses(item) and is_new and not self._task.peek
        self._has_given = self._has_given or isinstance(item, SitemapRef)
        return is_new

    def _chooses(self, record: UrlRecord) -> bool:
        """Whether the caller wants it; what he does not is counted."""
        if self._dates is not None:
            self._dates.add(record)
        reason = self._task.selection.refuses(record)
        if reason:
            self._unwanted[reason] += 1
        return reason is None

    def _regained_of(self, items: Piece, former: Scope) -> Piece:
        """What an earlier reading dropped, each with the problems that could not come up then."""
        regained: Piece = []
        for item in items:
            self._items += 1
            if not isinstance(item, UrlRecord):
                continue
            reason = former.reason(item.loc)
            if self._chooses(item) and reason is not None and self._items > self._task.skipped:
                self._regained[reason] += 1
                regained += [problem for problem in item.problems if not _was_told(problem)]
                regained.append(item)
        return regained


def some(pieces: Iterator[Piece]) -> tuple[Piece, bool]:
    """As many of the next pieces as are worth handing over at once, as one; and whether there are no more."""
    found: Piece = []
    size = 0
    for piece in pieces:
        found += piece
        size += max(_PIECE_BYTES, sum(map(_size, piece)))
        if size >= _ENOUGH_BYTES:
            return found, False
    return found, True


def _size(item: Item | Many) -> int:
    """About what it takes in memory."""
    if isinstance(item, Lines):
        return len(item.data)
    return _ITEM_BYTES * (item.urls if isinstance(item, Entries) else 1)


def _in_lines(items: Piece, form: AsLines) -> Piece:
    """The lines of the records come behind all else."""
    others: Piece = []
    lines: list[Lines] = []
    for kind, some_of_it in groupby(items, type):  # the lines in their order
        if kind is UrlRecord:
            lines.append(json_lines(cast("Iterator[UrlRecord]", some_of_it), site=form.site))
        elif kind is Lines:
            lines += cast("Iterator[Lines]", some_of_it)
        else:
            others += some_of_it
    return [*others, joined(lines)] if lines else others


def _was_told(problem: Problem) -> bool:
    """Of an entry that was dropped: its markup and its location had been looked at by then, and nothing else."""
    return problem.field == "loc" or problem.code.startswith("S")
