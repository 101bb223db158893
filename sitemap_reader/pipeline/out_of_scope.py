"""Keeps the URLs that are out of the scope of their document (U04, U05) until it has ended.

In front of the Outcome of their document come those that are in scope by now, as a robots.txt that was read later has
verified it, and the problems of the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from ..model.limits import MIB
from ..model.problems import Problem, Problems
from ..model.records import Outcome
from ..model.url_batch import OutOfScope, UrlBatch
from ..parser.compiled import new_columns
from ..parser.normalise.entry import SCOPE_CODES, scope_problem
from .spill_buffer import SpillBuffer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..frontier.documents import Document
    from ..frontier.frontier import Frontier
    from ..model.columns import UrlColumns
    from ..parser.normalise.scope import Scope
    from .document_parser import Batch, ParserItems
    from .spill_buffer import SpillHandle

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
