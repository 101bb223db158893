"""The streams of changes: what a run finds new, updated and removed, for callers with a loop and without one.

In: a Run, and the state that it is held against. Out: Changes one by one, or as JSON lines. A change counts as
delivered when the next one is asked for; leaving early commits no document of which some were not.
"""

from __future__ import annotations

from contextlib import aclosing, closing, contextmanager, nullcontext
from inspect import GEN_RUNNING, getgeneratorstate
from typing import TYPE_CHECKING

import attrs

from ..model.records import Change, UrlRecord
from ..parser.plain_records import Entries, records_of
from ..pipeline.aside import Aside
from ..serialize.jsonl import NEW, Lines, joined, json_line, lines_of_columns, new_lines
from ..serialize.restore import from_json
from .streams import AsyncStream, Stream, ThreadStream, Walk, batches_of, ticking
from .summary import Given

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    from ..model.errors import ReadError
    from ..model.problems import Problem
    from ..pipeline.crawl import Batch
    from ..state.diff_rules import ChangePiece
    from ..state.documents import StoredDocument
    from ..state.sync import Counted, Following


@attrs.define(eq=False)
class ChangeWalk(Walk):
    """A walk whose batches are held against a state; `site` is a key that each JSON line gets."""

    following: Following = attrs.field(kw_only=True)
    on_document: Callable[[StoredDocument], None] | None = attrs.field(default=None, kw_only=True)
    site: str | None = attrs.field(default=None, kw_only=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """As of any walk; what was not delivered is undone at the end."""
        with closing(self.following), Walk.reading(self):
            yield

    def pieces(self, batch: Batch) -> Iterator[ChangePiece]:
        """What a batch brings to light; then whoever wants to hears how far it is."""
        self.enter(batch)
        yield from self.following.take(batch, self.on_document)
        self.tell_progress()

    def last_pieces(self) -> Iterator[ChangePiece]:
        """What is found at the end of all."""
        return self.following.finish(self._note)

    def changes(self, batch: Batch) -> Iterator[Change]:
        """What a batch brings to light, one by one."""
        return _changes(self.pieces(batch))

    def last_changes(self) -> Iterator[Change]:
        """What is found at the end of all, one by one."""
        return _changes(self.last_pieces())

    def change_lines(self, batch: Batch) -> Iterator[Lines]:
        """What a batch brings to light, as JSON lines."""
        return (_lines(piece, self.site) for piece in self.pieces(batch))

    def last_lines(self) -> Iterator[Lines]:
        """What is found at the end of all, as JSON lines."""
        return (_lines(piece, self.site) for piece in self.last_pieces())

    def verdict(self) -> ReadError | None:
        """The same; there is none where there was anything to tell."""
        return None if any(attrs.astuple(self.following.counts)) else Walk.verdict(self)

    def _note(self, problem: Problem) -> None:
        self.take([problem], UrlRecord)


def _changes(pieces: Iterator[ChangePiece]) -> Iterator[Change]:
    for piece in pieces:
        yield from changes_of(piece)


def changes_of(piece: ChangePiece) -> Iterator[Change]:
    """Those of a piece, one by one."""
    if isinstance(piece, Entries):
        return (Change("new", record) for record in records_of(piece.columns, piece.sitemap))
    if isinstance(piece, Lines):
        records = (from_json(line) for line in piece.data.splitlines())
        return (Change("new", record) for record in records if isinstance(record, UrlRecord))
    return iter(piece)


def _lines(piece: ChangePiece, site: str | None) -> Lines:
    if isinstance(piece, Entries):
        return lines_of_columns(*piece.columns[:-1], sitemap=piece.sitemap, site=site, head=NEW)
    if isinstance(piece, Lines):
        return new_lines(piece, site=site)
    return joined([Lines(json_line(change, site=site), 1, 0) for change in piece])


class _ChangeStream(Stream):
    """What these streams tell beside the changes."""

    _walk: ChangeWalk

    @property
    def counts(self) -> Counted:
        """How many URLs were found to be what, so far."""
        return self._walk.following.counts

    @property
    def removals_suspended(self) -> bool:
        """Whether it came to its end without deciding what is removed, as a document could not be read whole."""
        return self._walk.following.removals_suspended


class AsyncChangeStream(_ChangeStream, AsyncStream[Change]):
    """Changes by `async for`; leaving its block cancels what is on its way, and undoes what was not delivered whole.

    At the end it raises NothingFound or NothingReadable where there was not one sitemap.
    """

    def __init__(self, walk: ChangeWalk) -> None:
        super().__init__(walk, _changes_async(walk))

    async def close(self) -> None:
        """Cancels every request of this stream, and lets go of the state. May be called twice."""
        await super().close()
        self._walk.following.close()


async def _changes_async(walk: ChangeWalk) -> AsyncGenerator[Change, None]:
    """SQLite works in a thread beside the loop. No generator within this one: see streams._Batches."""
    aside = Aside("sitemap-reader-state")
    with walk.reading(), ticking(walk) if walk.bar else nullcontext():
        try:
            async with aclosing(batches_of(walk.run)) as batches:
                async for batch in batches:
                    pieces = walk.pieces(batch)
                    while (piece := await aside.do(next, pieces, None)) is not None:
                        for change in changes_of(piece):
                            yield change
            pieces = walk.last_pieces()
            while (piece := await aside.do(next, pieces, None)) is not None:
                for change in changes_of(piece):
                    yield change
        finally:
            await aside.close()
    walk.judge()


class _ThreadChanges(_ChangeStream, ThreadStream[Given]):
    """Those without a loop."""

    _walk: ChangeWalk

    def close(self) -> None:
        """Cancels every request, joins the thread, lets go of the state; may be called from any thread, and twice."""
        super().close()
        if getgeneratorstate(self._given) != GEN_RUNNING:  # else another thread is at it, and lets go at its end
            self._walk.following.close()


class ChangeStream(_ThreadChanges[Change]):
    """Changes by `for`, once; a context manager whose end cancels what is on its way, and joins the reading thread.

    At the end it raises NothingFound or NothingReadable where there was not one sitemap.
    """

    def __init__(
        self, walk: ChangeWalk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.changes, walk.last_changes)


class ChangeLineStream(_ThreadChanges[Lines]):
    """The same as JSON lines, many at a time."""

    def __init__(
        self, walk: ChangeWalk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.change_lines, walk.last_lines)
