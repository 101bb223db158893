"""Keeps the URLs that are out of the scope of their document (U04, U05) until it has ended.

In front of the Outcome of their document come those that are in scope by now, as a robots.txt that was read later has
verified it, and the problems of the others.

A SpillBuffer keeps stores of URLs in memory up to a limit, beyond that in a temporary file.
"""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import attrs

from ..model.errors import StateError
from ..model.limits import MIB
from ..model.problems import Problem, Problems
from ..model.records import Outcome
from ..model.url_batch import OutOfScope, UrlBatch
from ..parser.fast_path import new_columns
from ..parser.normalise.entry import SCOPE_CODES, scope_problem

if TYPE_CHECKING:
    from ..frontier.documents import Document
    from ..frontier.frontier import Frontier
    from ..model.columns import UrlColumns
    from ..parser.normalise.scope import Scope
    from .document_parser import Batch, ParserItems


# Many documents may wait until robots.txt is verified: their URLs together may be most of a site.
SPILL_MEMORY_BYTES = 48 * 1024 * 1024
_PROBLEM_BYTES = 700  # of a URL with one


@attrs.frozen(eq=False)
class SpillHandle:
    """A stored store of URLs: `bytes` in memory, or in the temporary file from `start` on."""

    bytes: int
    store: UrlColumns | None = None
    start: int = 0


class SpillBuffer:
    """Keeps stores of URLs: put() returns a handle, get() reads it any number of times, drop() frees it."""

    def __init__(self, memory_bytes: int = SPILL_MEMORY_BYTES) -> None:
        self._free_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._live_in_file = 0  # handles that were put and not dropped

    def put(self, store: UrlColumns) -> SpillHandle:
        """Keeps a store and returns its handle. StateError where the disk is full."""
        size = sys.getsizeof(store) + _PROBLEM_BYTES * len(store.problems)
        if size <= self._free_bytes:
            self._free_bytes -= size
            return SpillHandle(size, store)
        data = pickle.dumps(store)
        with _file_errors():
            if self._file is None:
                from tempfile import TemporaryFile  # here: most crawls need none

                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            start = self._file.seek(0, 2)
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        self._live_in_file += 1
        return SpillHandle(len(data), start=start)

    def get(self, handle: SpillHandle) -> UrlColumns:
        if handle.store is not None:
            return handle.store
        assert self._file is not None  # noqa: S101 - for the type checker: put() made it
        with _file_errors():
            self._file.seek(handle.start)
            store: UrlColumns = pickle.loads(self._file.read(handle.bytes))  # noqa: S301 - our own
            return store

    def drop(self, handle: SpillHandle) -> None:
        """Frees the store of a handle; the file is removed when its last handle is dropped."""
        if handle.store is not None:
            self._free_bytes += handle.bytes
            return
        self._live_in_file -= 1
        if not self._live_in_file:
            self.close()

    def close(self) -> None:
        """Removes the file. May be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot write a temporary file: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(message, is_unwritable=True) from exc


# URLs that are kept as one.
_PACK_URLS = 256
# Of a crawl; what is beyond is in a file.
_MEMORY_BYTES = 16 * MIB


@attrs.define(eq=False)
class _Kept:
    """The URLs of one document in its order, packed but for the last few; and the scope that they are out of."""

    document: Document
    scope: Scope
    packs: list[SpillHandle] = attrs.field(factory=list)
    last: UrlColumns = attrs.field(factory=new_columns)


@attrs.define(eq=False)
class OutOfScopeUrls:
    """The URLs out of scope of all documents of a crawl that have not ended."""

    _frontier: Frontier
    _spill: SpillBuffer = attrs.field(factory=lambda: SpillBuffer(_MEMORY_BYTES), init=False)
    _kept: dict[str, _Kept] = attrs.field(factory=dict, init=False)

    def keep(self, document: Document, batch: ParserItems, *, final: bool = False) -> Batch:
        """Returns the batch without the URLs that are kept; `final`: it is the last of its document."""
        others: Batch = []
        kept = self._kept.get(document.original_url)
        for item in batch:
            if not isinstance(item, OutOfScope):
                others.append(item)
                continue
            if kept is None:
                scope = self._frontier.scope_of(document, document.authorities)
                kept = self._kept[document.original_url] = _Kept(document, scope)
            kept.last.append(item.record)
        if kept is not None and len(kept.last) >= (1 if final else _PACK_URLS):
            kept.packs.append(self._spill.put(kept.last))
            kept.last = new_columns()
        return others

    def with_kept(self, events: Iterable[Problem | Outcome], *, regains: bool = True) -> Iterator[Batch]:
        """The events, each Outcome behind what was kept for it; with `regains` the URLs that are in scope by now."""
        batch: Batch = []
        for event in events:
            kept = self._kept.pop(event.url or "", None) if isinstance(event, Outcome) else None
            if kept is not None and isinstance(event, Outcome):
                yield batch
                scope = self._frontier.scope_of(kept.document) if regains else kept.scope
                if scope == kept.scope:
                    for _, problems in self._stored(kept, event.url):
                        yield [*problems.values()]
                else:
                    yield from self._judged_again(kept, event, scope)
                batch = []
            batch.append(event)
        yield batch

    def _judged_again(self, kept: _Kept, outcome: Outcome, scope: Scope) -> Iterator[Batch]:
        """The URLs of a document that are in a scope which has grown, and the problems of the others."""
        # The outcome states what holds by now: a URL on a host that was verified may be out of scope by its path.
        dropped, before, after = Counter(outcome.dropped), Counter[str](), Problems()
        selection = self._frontier.plan.selection
        for urls, found in self._stored(kept, outcome.url):
            before.update(problem.code for problem in found.values())
            reasons = [*map(scope.reason, urls.locs)]
            dropped.subtract(filter(None, map(kept.scope.reason, urls.locs)))
            dropped.update(filter(None, reasons))
            problems = [scope_problem(each, found[at]) for at, each in enumerate(reasons) if each and at in found]
            regained = urls.only([reason is None for reason in reasons])
            filtered = selection.reasons(regained)
            dropped.update(filter(None, filtered))
            regained = regained.only([reason is None for reason in filtered])
            outcome.kept += len(regained)
            problems += [each for of_url in regained.problems.values() for each in of_url if not _was_reported(each)]
            for problem in problems:
                after.add(problem)
            yield [*problems, *([regained] if len(regained) else [])]
        outcome.dropped = {reason: count for reason, count in dropped.items() if count > 0}
        outcome.problems = dict(Counter(outcome.problems) - before + after.counts)
        others = (each for each in outcome.samples if not (each.code in SCOPE_CODES and each.field == "loc"))
        samples = Problems()
        for sample in (*others, *after.samples):
            samples.add(sample)
        outcome.samples = tuple(samples.samples)
        outcome.authorities = self._frontier.authorities_of(kept.document)

    def _stored(self, kept: _Kept, sitemap: str | None) -> Iterator[tuple[UrlBatch, dict[int, Problem]]]:
        """What was kept; and by index, taken out of it, the problems that say why URLs are out of scope."""
        for handle in kept.packs:
            store = self._spill.get(handle)
            self._spill.drop(handle)
            yield UrlBatch(sitemap, store), _take_problems(store)
        if len(kept.last):
            yield UrlBatch(sitemap, kept.last), _take_problems(kept.last)

    def close(self) -> None:
        self._spill.close()


def _take_problems(store: UrlColumns) -> dict[int, Problem]:
    found = {at: each for at, problems in store.problems.items() for each in problems if each.code in SCOPE_CODES}
    for at, problem in found.items():
        others = tuple(each for each in store.problems.pop(at) if each is not problem)
        if others:
            store.problems[at] = others
    return found


def _was_reported(problem: Problem) -> bool:
    """Whether a problem of an entry was reported when its URL was kept: those of its markup and its loc were."""
    return problem.field == "loc" or problem.code.startswith("S")
