"""Buffers the URLs of a document until its end, and counts its lastmods.

In: UrlBatches as they are read. Out, at the end of the document: the same, joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..frontier.lastmod_trust import LastmodEvidence
from ..model.url_batch import UrlBatch
from .diff_rules import MAX_BATCH_URLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.columns import UrlColumns
    from ..pipeline.spill_buffer import SpillBuffer, SpillHandle


class DocumentBuffer:
    """The URLs of one document: add() while it is read, then batches() in its order.

    `cut_locs`: URLs of entries at which the document was cut off, so that not all that they state was read.
    """

    def __init__(self, spill: SpillBuffer) -> None:
        self.lastmods = LastmodEvidence()
        self.cut_locs: set[str] = set()
        self._spill = spill
        self._handles: list[SpillHandle] = []

    def add(self, urls: UrlBatch, now: int) -> None:
        """Adds URLs that were read at `now`, in seconds since 1970."""
        self.lastmods.add(urls.lastmods, urls.precisions, now)
        for index, problems in urls.problems.items():
            if any(problem.code == "S01" and problem.severity == "error" for problem in problems):
                self.cut_locs.add(urls.locs[index])
        store = urls.store
        if len(urls) < len(store):
            store = store.empty()
            store.extend(urls.store, urls.start, urls.stop)
        self._handles.append(self._spill.put(store))

    def batches(self, sitemap: str) -> Iterator[UrlBatch]:
        """What was added, in batches of at least MAX_BATCH_URLS; the last may have fewer."""
        joined: UrlColumns | None = None
        for store in map(self._spill.get, self._handles):
            joined = joined or store.empty()
            joined.extend(store, 0, len(store))
            if len(joined) >= MAX_BATCH_URLS:
                yield UrlBatch(sitemap, joined)
                joined = None
        if joined:
            yield UrlBatch(sitemap, joined)

    def release(self) -> None:
        """Frees what was added. May be called twice."""
        for handle in self._handles:
            self._spill.drop(handle)
        self._handles = []
