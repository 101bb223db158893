"""Which documents need no request: by what an earlier crawl read, or as older than `since` by an index.

Whether a document that an earlier crawl read has to be requested again, and with which conditions: RFC 9110 8.8 and
13.1 (validators, conditional requests).

Whether the lastmods of an index are accurate enough to skip its older children: when it has ended, up to three of those
are read as samples; then all others, if a date found below the index contradicts it, or none, if none does. Each index
is judged on its own, by all that is read below it. No child is skipped unless at least one sample could be read.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

import attrs

from ..model.columns import EPOCH, PRECISIONS
from ..model.options import AutoMode
from ..model.records import Outcome, SitemapRef
from ..model.url_batch import PRECISION_CODES
from ..parser.normalise.dates import format_date, period_end
from .documents import http_date
from .lastmod_trust import is_behind

if TYPE_CHECKING:
    from .documents import Document, DocumentRequest, Events, Listed
    from .lastmod_trust import Lastmod, LastmodSummary
    from .plan import Plan


Trust = AutoMode

# A child that changed late on the day that its lastmod names may have been read before that change.
_SAFE_AFTER = timedelta(hours=12)
_LOOK_AGAIN_AFTER = timedelta(hours=24)
_NEVER = datetime.min.replace(tzinfo=UTC)
# A document can change twice in the second that its Last-Modified names (RFC 9110 8.8.2.2). Clocks differ.
_WEAK_SECONDS = 60.0


@attrs.frozen
class CachedDocument:
    """A document as an earlier crawl read it, to its end.

    `authorities` were its scope besides its own directory, None where it listed more than that. `listed` is the
    lastmod that its index stated then; `read_at` is when that reading began, `looked_at` when it was last requested.
    """

    format: str
    etag: str | None = None
    last_modified: str | None = None
    sha256: str | None = None
    authorities: frozenset[str] | None = None
    listed: Lastmod | None = None
    read_at: datetime = _NEVER
    looked_at: datetime = _NEVER
    index_is_accurate: bool = False
    children: tuple[SitemapRef, ...] = ()

    @property
    def conditions(self) -> dict[str, str]:
        validators = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in validators.items() if value is not None}

    @property
    def outcome(self) -> Outcome:
        if self is NOT_READ:
            return Outcome(complete=False)
        return Outcome(
            format=self.format, sha256=self.sha256, not_modified=True, etag=self.etag, last_modified=self.last_modified
        )


NOT_READ = CachedDocument("")  # one that was never read, and is not requested now


class StoredDocuments(Protocol):
    """What the caller of a frontier knows of the documents that it lists; a DocumentCache is one.

    `authorities` are those of Frontier.authorities_of().
    """

    def skipped(self, listed: Listed, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The stored document that takes the place of a request; None to request it."""
        ...

    def confirmed(self, request: DocumentRequest, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The stored document that a 304 would confirm; None for a request without conditions."""
        ...


@attrs.frozen
class DocumentCache:
    """What earlier crawls know: `documents` that were read to their end, `names` of all that ever were a sitemap.

    `already_read` (URL -> format) are documents that this very crawl read before it was interrupted: they list no other
    document, and all their entries were yielded.
    """

    now: datetime = _NEVER
    trust: Trust = "never"
    documents: Mapping[str, CachedDocument] = attrs.field(factory=dict)
    names: frozenset[str] = frozenset()
    already_read: Mapping[str, str] = attrs.field(factory=dict)

    def known(self, url: str, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The cached document, if its scope is the same as it was then."""
        known = self.documents.get(url)
        return known if known is not None and known.authorities == frozenset(authorities) else None

    def skipped(self, listed: Listed, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The cached document, if it is already read, or its listed lastmod is reason enough not to request it."""
        if listed.url in self.already_read:
            return CachedDocument(self.already_read[listed.url])
        lastmod = listed.document.listed_lastmod
        known = self.known(listed.url, authorities) if lastmod is not None else None
        if known is None or known.listed != lastmod:
            return None
        return known if _TRUSTS[self.trust](known, self.now) else None

    def confirmed(self, request: DocumentRequest, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The cached document, if the request may have conditions, and it has a validator."""
        known = self.known(request.document.original_url, authorities) if request.may_be_conditional else None
        return known if known is not None and known.conditions else None


def is_strong(last_modified: str, read_at: datetime) -> bool:
    """Whether a Last-Modified distinguishes the body read at that moment from all later ones (RFC 9110 8.8.2.2)."""
    modified = http_date(last_modified)
    return modified is not None and (read_at - modified).total_seconds() >= _WEAK_SECONDS


def _is_proven(known: CachedDocument, now: datetime) -> bool:
    if known.listed is None or not known.index_is_accurate:
        return False
    # A `looked_at` in the future, from a clock that was set back since, does not count.
    was_seen_lately = known.looked_at <= now < known.looked_at + _LOOK_AGAIN_AFTER
    return was_seen_lately and known.read_at - period_end(*known.listed) > _SAFE_AFTER


_TRUSTS: dict[Trust, Callable[[CachedDocument, datetime], bool]] = {
    "auto": _is_proven,
    "always": lambda known, now: True,
    "never": lambda known, now: False,
}


# How many of the children that would be skipped are read as samples; and how many are tried for that.
_SAMPLES = 3
_MAX_CANDIDATES = 6
# Children that wait, all indexes together; more only where more documents than that may be read.
_MAX_WAITING = 1_000_000
_MICROSECOND = timedelta(microseconds=1)


@attrs.frozen
class Decision:
    """What to do with a waiting child of an index; or with the index, when none of its children waits any more: end.

    A sample that is read has to be passed to IndexDateChecks.expect() before the next decision is taken.
    """

    action: Literal["sample", "read", "skip", "end"]
    index: Document
    ref: SitemapRef | None = None


class WaitingChildren:
    """Children of one index that are neither read nor skipped yet, in its order: about thirty bytes each plus the URL.

    Candidates for samples: the newest, most likely to have changed since the index was written; the oldest, which shows
    dates that are invented or never updated; the middle one of the list; then the next newest ones.
    """

    def __init__(self) -> None:
        self.count = 0
        self._locs: list[str | None] = []
        self._lastmods = array("q")  # microseconds since 1970
        self._precisions = bytearray()
        self._lines = array("q")
        self._next = 0
        self._newest: list[tuple[int, int]] = []  # (lastmod, position), the greatest; of equal ones the last listed
        self._oldest: tuple[int, int] | None = None

    def add(self, ref: SitemapRef) -> None:
        assert ref.lastmod is not None  # noqa: S101 - for the type checker: without one no child waits
        assert ref.lastmod_precision is not None  # noqa: S101
        position, lastmod = len(self._locs), (ref.lastmod - EPOCH) // _MICROSECOND
        self._locs.append(ref.loc)
        self._lastmods.append(lastmod)
        self._precisions.append(PRECISION_CODES[ref.lastmod_precision])
        self._lines.append(-1 if ref.line is None else ref.line)
        self.count += 1
        entry = lastmod, position
        if self._oldest is None or entry < self._oldest:
            self._oldest = entry
        if len(self._newest) < _MAX_CANDIDATES or entry > self._newest[0]:
            insort(self._newest, entry)
            del self._newest[:-_MAX_CANDIDATES]

    def candidates(self) -> list[int]:
        newest, *next_newest = [position for _, position in reversed(self._newest)]
        oldest = [] if self._oldest is None else [self._oldest[1]]
        positions = dict.fromkeys([newest, *oldest, len(self._locs) // 2, *next_newest])
        return [*positions][:_MAX_CANDIDATES]

    def at(self, position: int, index: str) -> SitemapRef:
        line = self._lines[position]
        lastmod = EPOCH + self._lastmods[position] * _MICROSECOND
        precision = PRECISIONS[self._precisions[position]]
        return SitemapRef(str(self._locs[position]), lastmod, precision, index, None if line < 0 else line)

    def remove(self, position: int) -> None:
        self._locs[position] = None
        self.count -= 1

    def pop(self, index: str) -> SitemapRef:
        while self._locs[self._next] is None:
            self._next += 1
        ref = self.at(self._next, index)
        self.remove(self._next)
        return ref


@attrs.frozen
class DateContradiction:
    """A document that shows that the dates of its index are not accurate: its listed lastmod, and what it has."""

    child: Document
    listed: Lastmod
    newest: Lastmod | None  # None: no entry has a date, or a newer one


@attrs.define(eq=False)
class IndexCheck:
    """The check of one index."""

    index: Document
    waiting: WaitingChildren = attrs.field(factory=WaitingChildren)
    candidates: list[int] | None = None  # None until the index has ended and some were chosen
    checked: int = 0
    pending: int = 0  # documents below it that are still being read
    contradiction: DateContradiction | None = None
    has_ended: bool = False
    reads_all: bool | None = None  # the decision on the waiting children; None before there is one
    is_over: bool = False
    is_due: bool = False


class IndexDateChecks:
    """add() children as they are listed, call ended() for each document, and carry out decisions() until it is_idle."""

    def __init__(self, plan: Plan, events: Events) -> None:
        self.checked = 0
        self._window = plan.selection.window
        self.is_needed = self._window.since is not None and plan.trust_lastmod == "auto"
        self._events = events
        self._free = max(_MAX_WAITING, plan.limits.max_documents)
        self._checks: dict[Document, IndexCheck] = {}  # by index
        self._listed_by: dict[Document, IndexCheck] = {}  # child -> the check of the index that lists it
        self._due: deque[IndexCheck] = deque()
        self._unreported: dict[Document, None] = {}  # indexes that have ended, and have waiting children

    @property
    def is_idle(self) -> bool:
        return not self._due

    def _check_of(self, index: Document) -> IndexCheck | None:
        if not self.is_needed:
            return None
        check = self._checks.get(index)
        if check is None:
            check = self._checks[index] = IndexCheck(index)
        return check

    def add(self, index: Document, ref: SitemapRef) -> bool:
        """A child that would be skipped. False where too many wait: it is neither read nor skipped."""
        check = self._check_of(index)
        assert check is not None  # noqa: S101 - for the type checker
        if self._free <= 0:
            return False
        self._free -= 1
        check.waiting.add(ref)
        return True

    def expect(self, index: Document, child: Document) -> None:
        """A child is going to be read, for any reason."""
        check = self._check_of(index)
        if check is not None:
            self._listed_by[child] = check
            check.pending += 1

    def ended(self, document: Document, outcome: Outcome) -> bool:
        """A document has ended. Whether it is an index with waiting children, whose end is reported later."""
        if document in self._listed_by:
            self._compare(document, outcome)
        check = self._checks.get(document)
        if check is None:
            self._release(document)
            return False
        check.has_ended = True
        self._wake(check)
        if check.waiting.count:
            self._unreported[document] = None
        return document in self._unreported

    def decisions(self, steps: int) -> Iterator[Decision]:
        """Decides on about so many waiting children, and yields each index that has none left."""
        while self._due and steps > 0:
            check = self._due.popleft()
            check.is_due = False
            waiting = check.waiting.count
            yield from self._decisions(check, steps)
            steps -= 1 + waiting - check.waiting.count
            if check.has_ended and not check.waiting.count:
                if check.index in self._unreported:
                    del self._unreported[check.index]
                    yield Decision("end", check.index)
                if not (check.pending or check.is_over):
                    check.is_over = True
                    self._release(check.index)
            elif check.reads_all is not None:
                self._wake(check)

    def abandon(self) -> list[Document]:
        """The indexes whose end has not been reported, as nothing more is requested; none of them is judged."""
        unreported, self._unreported = [*self._unreported], {}
        return unreported

    def _compare(self, document: Document, outcome: Outcome) -> None:
        source = document.last_alias
        dates = source.dates
        # An index has no dates of URLs, and an incomplete document may have newer ones behind the cut.
        was_read = outcome.complete and not (source.is_index or outcome.not_modified)
        child = document
        while (check := self._listed_by.get(child)) is not None:
            if was_read and child.is_sample:
                child.is_sample = False  # counted once; a contradiction is found below
                check.checked += 1
            if dates is not None and check.contradiction is None and child.listed_lastmod is not None:
                read_at = check.index.received.read_at
                check.contradiction = self._contradiction(child, child.listed_lastmod, dates, read_at)
                if check.contradiction is not None:
                    self._wake(check)
            child = check.index

    def _contradiction(
        self, child: Document, listed: Lastmod, dates: LastmodSummary, read_at: datetime | None
    ) -> DateContradiction | None:
        """How the dates in a child contradict its listed lastmod; None where they do not."""
        # For a child that would be skipped: any entry within the date filter. For any child: a date that the listed one
        # is behind (D05), and that is not later than the moment at which the index was read.
        window, end = self._window, period_end(*listed)
        since = window.since
        assert since is not None  # noqa: S101 - for the type checker: else nothing is checked
        is_lost = end <= since and (
            (dates.undated > 0 and window.undated == "keep") or (dates.latest_end or end) > since
        )
        newest = None
        if dates.newest is not None and dates.newest[0] >= end:
            newest = dates.newest
        is_newer = is_behind(listed, newest) and (read_at is None or newest is None or newest[0] <= read_at)
        if not (is_lost or is_newer):
            return None
        return DateContradiction(child, listed, newest)

    def _decisions(self, check: IndexCheck, steps: int) -> Iterator[Decision]:
        if not check.has_ended:
            return
        if check.reads_all is None and check.waiting.count and check.contradiction is None:
            yield from self._samples(check)
        if check.reads_all is None:
            check.reads_all = self._reads_all(check)
        if check.reads_all is None:
            return
        taken = min(steps, check.waiting.count)
        self._free += taken
        for _ in range(taken):
            ref = check.waiting.pop(check.index.original_url)
            yield Decision("read" if check.reads_all else "skip", check.index, ref)
        if not check.waiting.count:
            check.waiting = WaitingChildren()

    def _reads_all(self, check: IndexCheck) -> bool | None:
        """True to read all waiting children, False to skip them, None where samples are still being read."""
        if not check.waiting.count:
            return False
        if check.contradiction is not None:
            self._report(check.index, check.contradiction)
            return True
        if check.pending:
            return None
        self.checked += check.checked
        return not check.checked

    def _samples(self, check: IndexCheck) -> Iterator[Decision]:
        """As many candidates as are missing from the number of samples; more where none of these can be read."""
        is_first = check.candidates is None
        if check.candidates is None:
            check.candidates = check.waiting.candidates()
        while check.candidates and (is_first or not check.pending) and check.checked < _SAMPLES:
            is_first, wanted = False, _SAMPLES - check.checked
            while wanted and check.candidates:
                position, pending = check.candidates.pop(0), check.pending
                yield Decision("sample", check.index, check.waiting.at(position, check.index.original_url))
                if check.pending > pending:
                    check.waiting.remove(position)
                    self._free += 1
                    wanted -= 1

    def _report(self, index: Document, found: DateContradiction) -> None:
        if found.newest is None:
            return
        listed = format_date(*found.listed)
        message = (
            f"{found.child.original_url} has the index lastmod {listed}, but an entry of {format_date(*found.newest)}: "
            "no sitemap of this index is skipped by its lastmod"
        )
        ref = SitemapRef(listed, line=found.child.listed.line if found.child.listed else None)
        self._events.note(index, "D05", message, ref, field="lastmod")

    def _wake(self, check: IndexCheck) -> None:
        if not check.is_due:
            check.is_due = True
            self._due.append(check)

    def _release(self, document: Document) -> None:
        """A document and all below it have ended: the index that lists it waits for one less."""
        above = self._listed_by.get(document)
        if above is not None:
            above.pending -= 1
            if not above.pending:
                self._wake(above)
