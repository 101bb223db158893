"""Whether the lastmods that an index states are reason enough to skip its older children (`since`).

In: the children that an index calls older than all that is asked for; at the end of each document, the dates in it.
Out, when the index has ended: up to three of those children to be read first; then all others, to be read where a date
below the index contradicts it, to be skipped where none does. Each index is judged for itself, by all that is read
below it. Never decides where a child may lie, and never skips any where not one could be checked.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, get_args

import attrs

from ..model.records import Precision, SitemapRef
from ..parser.normalise.dates import format_date, period_end, tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.records import Outcome
    from .document_request import DocumentRequest
    from .events import Events
    from .filters import Dates
    from .plan import Plan
    from .revalidation import Stated

# How many of the children that would be skipped are read before an index is believed; and how many are tried for that.
_CHECKED = 3
_MOST_TRIED = 6
# Children that wait for a verdict, all indexes together; more only where more documents than that may be read.
_MOST_DEFERRED = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PRECISIONS: tuple[Precision, ...] = get_args(Precision)


class Children(Protocol):
    """What becomes of a deferred child: see Listings."""

    def may_read(self, index: DocumentRequest, ref: SitemapRef) -> bool: ...
    def read(self, index: DocumentRequest, ref: SitemapRef) -> None: ...
    def probe(self, index: DocumentRequest, ref: SitemapRef) -> DocumentRequest | None: ...
    def skip(self, index: DocumentRequest, ref: SitemapRef) -> None: ...
    def refuse(self, index: DocumentRequest, ref: SitemapRef, message: str) -> None: ...


class Deferred:
    """Children of one index that wait for its verdict, in its order: some thirty bytes each beside their URL.

    Some are tried first: the newest, as what changed since the index was written is most likely that; the oldest, which
    shows dates that are made up or never written again; the one in the middle of the list; then the next newest ones.
    """

    def __init__(self) -> None:
        self.count = 0
        self._locs: list[str | None] = []
        self._lastmods = array("q")  # microseconds since 1970
        self._precisions = bytearray()
        self._lines = array("q")
        self._next = 0
        self._newest: list[tuple[int, int]] = []  # (lastmod, place), the greatest ones, of equal ones the last listed
        self._oldest: tuple[int, int] | None = None

    def add(self, ref: SitemapRef) -> None:
        assert ref.lastmod is not None  # noqa: S101 - for the type checker: without one nothing is deferred
        assert ref.lastmod_precision is not None  # noqa: S101
        place, lastmod = len(self._locs), (ref.lastmod - _EPOCH) // _MICROSECOND
        self._locs.append(ref.loc)
        self._lastmods.append(lastmod)
        self._precisions.append(_PRECISIONS.index(ref.lastmod_precision))
        self._lines.append(-1 if ref.line is None else ref.line)
        self.count += 1
        entry = lastmod, place
        if self._oldest is None or entry < self._oldest:
            self._oldest = entry
        if len(self._newest) < _MOST_TRIED or entry > self._newest[0]:
            insort(self._newest, entry)
            del self._newest[:-_MOST_TRIED]

    def candidates(self) -> list[int]:
        """The places to try, in this order."""
        newest, *next_newest = [place for _, place in reversed(self._newest)]
        oldest = [] if self._oldest is None else [self._oldest[1]]
        places = dict.fromkeys([newest, *oldest, len(self._locs) // 2, *next_newest])
        return [*places][:_MOST_TRIED]

    def at(self, place: int, index: str) -> SitemapRef:
        """The child at a place, which still waits."""
        line = self._lines[place]
        lastmod = _EPOCH + self._lastmods[place] * _MICROSECOND
        precision = _PRECISIONS[self._precisions[place]]
        return SitemapRef(str(self._locs[place]), lastmod, precision, index, None if line < 0 else line)

    def take(self, place: int) -> None:
        """The child at a place waits no more."""
        self._locs[place] = None
        self.count -= 1

    def pop(self, index: str) -> SitemapRef:
        """The first child that waits."""
        while self._locs[self._next] is None:
            self._next += 1
        ref = self.at(self._next, index)
        self.take(self._next)
        return ref


@attrs.frozen
class Evidence:
    """A document that shows that its index cannot be relied on: what the index states of it, and what it holds."""

    loc: str
    line: int | None
    stated: Stated
    newest: Stated | None  # None: what it holds has no date, or none that is newer


@attrs.define(eq=False)
class IndexCheck:
    """One index under examination. `pending` counts the documents below it that are still being read."""

    index: DocumentRequest
    deferred: Deferred = attrs.field(factory=Deferred)
    candidates: list[int] | None = None  # None until the index has ended and some were chosen
    checked: int = 0
    pending: int = 0
    evidence: Evidence | None = None
    has_ended: bool = False
    reads: bool | None = None  # the verdict
    is_reported: bool = False
    is_over: bool = False
    is_due: bool = False


class IndexDateChecks:
    """defer() children as they are listed, call ended() for each document, and go_on() until it is_idle.

    `checked` counts the children that were read to see whether others may be skipped, and confirmed that.
    """

    def __init__(self, plan: Plan, events: Events, children: Children) -> None:
        self.checked = 0
        self._window = plan.selection.window
        self.is_needed = self._window.since is not None and plan.trust_lastmod == "auto"
        self._events = events
        self._children = children
        self._room = max(_MOST_DEFERRED, plan.limits.max_documents)
        self._due: deque[IndexCheck] = deque()
        self._unreported: dict[DocumentRequest, None] = {}

    @property
    def is_idle(self) -> bool:
        """Nothing can be decided before another document has ended."""
        return not self._due

    def of(self, index: DocumentRequest) -> IndexCheck | None:
        """The check of an index, begun with its first child; None where nothing is to be checked."""
        if index.check is None and self.is_needed:
            index.check = IndexCheck(index)
        return index.check

    def defer(self, index: DocumentRequest, ref: SitemapRef) -> None:
        """A child that would be skipped."""
        check = self.of(index)
        assert check is not None  # noqa: S101 - for the type checker
        if self._room > 0:
            self._room -= 1
            check.deferred.add(ref)
        else:
            message = f"{ref.loc} and what is listed behind it is not read: too many sitemaps wait to be checked"
            self._children.refuse(index, ref, f'{message}; --trust-lastmod (trust_lastmod="always") skips them')

    def expect(self, index: DocumentRequest, child: DocumentRequest) -> None:
        """A child is going to be read, for whatever reason."""
        check = self.of(index)
        if check is not None:
            child.listed_by = check
            check.pending += 1

    def ended(self, request: DocumentRequest, outcome: Outcome) -> bool:
        """A document has come to its end. Whether it is an index with children that wait, so that its own has to."""
        if request.listed_by is not None:
            self._learn(request, outcome)
        check = request.check
        if check is None:
            self._release(request)
            return False
        check.has_ended = True
        self._rouse(check)
        if not check.deferred.count:
            check.is_reported = True
        else:
            self._unreported[request] = None
        return not check.is_reported

    def go_on(self, steps: int) -> Iterator[DocumentRequest]:
        """Decides on some of the children that wait; gives each index that has none left."""
        while self._due and steps > 0:
            check = self._due.popleft()
            check.is_due = False
            steps -= 1 + self._settle(check, steps)
            if check.has_ended and not check.deferred.count:
                if not check.is_reported:
                    check.is_reported = True
                    del self._unreported[check.index]
                    yield check.index
                if not (check.pending or check.is_over):
                    check.is_over = True
                    self._release(check.index)
            elif check.reads is not None:
                self._rouse(check)

    def abandon(self) -> list[DocumentRequest]:
        """Nothing more will be asked: the indexes whose end has not been reported, which is no verdict on them."""
        unreported, self._unreported = [*self._unreported], {}
        return unreported

    # --- evidence ---

    def _learn(self, request: DocumentRequest, outcome: Outcome) -> None:
        """What a document holds is held against all that lists it, directly or by way of other indexes."""
        source = request
        while source.alias_of is not None:
            source = source.alias_of
        dates = source.dates
        # An index has no dates of URLs, and behind a cut there may be newer ones.
        was_read = outcome.complete and not (source.is_index or outcome.not_modified)
        child = request
        while (check := child.listed_by) is not None:
            if was_read and child.is_probe:
                child.is_probe = False  # it has confirmed the index, or what follows contradicts it
                check.checked += 1
            if dates is not None and check.evidence is None and child.stated is not None:
                check.evidence = self._evidence(child, child.stated, dates, check.index.read_at)
                if check.evidence is not None:
                    self._rouse(check)
            child = check.index

    def _evidence(
        self, child: DocumentRequest, said: Stated, dates: Dates, read_at: datetime | None
    ) -> Evidence | None:
        """Why an index that says this of a child is not to be relied on, if the child holds such dates.

        Of a child that would be skipped: all that it holds and that is asked for. Of any: a date that is later than
        the index says, by as much as D05 grants, and not later than the index itself was read.
        """
        window, end = self._window, period_end(*said)
        since = window.since
        assert since is not None  # noqa: S101 - for the type checker: else nothing is checked
        is_lost = end <= since and (
            (dates.undated > 0 and window.undated == "keep") or (dates.latest_end or end) > since
        )
        newest = None
        if dates.newest is not None and dates.newest[0] >= end:
            newest = dates.newest
        is_newer = (
            newest is not None
            and newest[0] - end >= max(tolerance(said[1]), tolerance(newest[1]))
            and (read_at is None or newest[0] <= read_at)
        )
        return Evidence(child.asked, child.listed_line, said, newest) if is_lost or is_newer else None

    # --- the verdict ---

    def _settle(self, check: IndexCheck, steps: int) -> int:
        """What can be decided of an index by now, in so many steps; gives those taken."""
        if not check.has_ended:
            return 0
        if check.reads is None:
            check.reads = self._verdict(check)
        if check.reads is None:
            return 0
        index, children = check.index, self._children
        do = children.read if check.reads else children.skip
        taken = min(steps, check.deferred.count)
        self._room += taken
        for _ in range(taken):
            do(index, check.deferred.pop(index.asked))
        if not check.deferred.count:
            check.deferred = Deferred()
        return taken

    def _verdict(self, check: IndexCheck) -> bool | None:
        """True to read all that waits, False to skip it, None where more has to be read first."""
        if not check.deferred.count:
            return False
        if check.evidence is not None:
            self._report(check.index, check.evidence)
            return True
        if check.candidates is None:
            check.candidates = check.deferred.candidates()
            self._probe(check)
        while not check.pending and check.checked < _CHECKED and check.candidates:
            self._probe(check)
        if check.pending:
            return None
        if check.checked:
            self.checked += check.checked
            return False
        return True

    def _probe(self, check: IndexCheck) -> None:
        """Has as many read as there have to be yet."""
        wanted, index = _CHECKED - check.checked, check.index
        while wanted and check.candidates:
            place = check.candidates.pop(0)
            ref = check.deferred.at(place, index.asked)
            if self._children.may_read(index, ref):
                check.deferred.take(place)
                self._room += 1
                wanted -= self._children.probe(index, ref) is not None

    def _report(self, index: DocumentRequest, evidence: Evidence) -> None:
        if evidence.newest is None:
            return
        said = format_date(*evidence.stated)
        message = (
            f"{evidence.loc} is said to be of {said}, and has an entry of {format_date(*evidence.newest)}: "
            "no sitemap of this index is skipped by its lastmod"
        )
        ref = SitemapRef(said, line=evidence.line)
        self._events.note(index, "D05", message, ref, field="lastmod")

    # --- what is left ---

    def _rouse(self, check: IndexCheck) -> None:
        if not check.is_due:
            check.is_due = True
            self._due.append(check)

    def _release(self, request: DocumentRequest) -> None:
        """A document, with all below it, is over for the index that listed it."""
        above = request.listed_by
        if above is not None:
            above.pending -= 1
            if not above.pending:
                self._rouse(above)
