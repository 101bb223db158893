"""Keeps what a document has out of its scope (U04, U05) until the document has ended.

In: batches of items, and the events of a frontier. Out: the same batches without these problems; the events, with the
problems that still hold in front of their document's Outcome. A robots.txt that is read later may verify a document,
which is then read once more: the problems of that reading replace those of the first.
"""

from __future__ import annotations

import marshal
import zlib
from typing import TYPE_CHECKING

import attrs

from ..frontier.document_request import SCOPE_CODES, Finished
from ..model.limits import MIB
from ..model.problems import Problem
from ..model.records import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..frontier.document_request import Answer, DocumentRequest
    from .document_parser import Batch

# A problem takes some 600 bytes, packed with others 10 to 50: a document may drop a million URLs.
_PACK_PROBLEMS = 256
# Of a crawl, packed. What is beyond is reported at once, also where it may be withdrawn.
_MEMORY_BYTES = 16 * MIB


@attrs.define
class _Kept:
    """The problems of one reading, packed but for the last few."""

    packs: list[bytes] = attrs.field(factory=list)
    last: list[Problem] = attrs.field(factory=list)

    def pack(self) -> int:
        """Packs the last problems; returns the bytes that this takes."""
        if not self.last:
            return 0
        values = [attrs.astuple(problem) for problem in self.last]
        self.packs.append(zlib.compress(marshal.dumps(values), 1))
        self.last = []
        return len(self.packs[-1])

    def batches(self) -> Iterator[Batch]:
        for pack in self.packs:
            yield [Problem(*values) for values in marshal.loads(zlib.decompress(pack))]  # noqa: S302 - our own
        if self.last:
            yield [*self.last]


@attrs.define(eq=False)
class ScopeProblems:
    """The problems of all documents of a crawl that have not ended."""

    _free_bytes: int = _MEMORY_BYTES
    _first: dict[str, _Kept] = attrs.field(factory=dict, init=False)
    _second: dict[str, _Kept] = attrs.field(factory=dict, init=False)

    def keep(self, request: DocumentRequest, batch: Batch, *, final: bool) -> Batch:
        """Returns the batch without the problems that are kept; `final`: it is the last of its reading."""
        readings = self._second if request.reread else self._first
        kept = readings.get(request.document.original_url)
        found = [item for item in batch if isinstance(item, Problem) and item.code in SCOPE_CODES]
        if found and self._free_bytes > 0:
            kept = readings.setdefault(request.document.original_url, kept or _Kept())
            kept.last += found
            batch = [item for item in batch if not (isinstance(item, Problem) and item.code in SCOPE_CODES)]
        if kept is not None and (final or len(kept.last) >= _PACK_PROBLEMS):
            self._free_bytes -= kept.pack()
        return batch

    def end_second(self, request: DocumentRequest, answer: Answer) -> None:
        """A second reading has ended: its problems replace those of the first, if its outcome does."""
        assert request.reread is not None  # noqa: S101 - for the type checker
        url = request.document.original_url
        second = self._second.pop(url, _Kept())
        if isinstance(answer, Finished) and request.reread.is_replaced_by(answer.outcome):
            self._free(self._first.pop(url, _Kept()))
            self._first[url] = second
        else:
            self._free(second)

    def _free(self, kept: _Kept) -> None:
        self._free_bytes += sum(map(len, kept.packs))

    def with_problems(self, events: Iterable[Problem | Outcome]) -> Iterator[Batch]:
        """The events, each Outcome behind the problems that were kept for it."""
        batch: Batch = []
        for event in events:
            kept = self._first.pop(event.url or "", None) if isinstance(event, Outcome) else None
            if kept is not None:
                self._free(kept)
                yield batch
                yield from kept.batches()
                batch = []
            batch.append(event)
        yield batch
