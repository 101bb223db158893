"""What an earlier walk learned of a site's documents: whether one has to be asked for, and how.

In: documents as they were left, and the present moment. Out: the conditions to ask under, or that a document is as it
was, without asking. Sources: RFC 9110 8.8 and 13.1 (validators, conditional requests).
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.records import Outcome
from ..parser.normalise.dates import period_end
from .host_queue import http_date

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..model.records import Precision, SitemapRef
    from .authority import Authorities
    from .document_request import DocumentRequest


Trust = Literal["auto", "always", "never"]
# What an index states of a child: its lastmod, and how much of it.
Stated = tuple[datetime, "Precision"]

# A child that changed late on the day which its lastmod names may have been read before that.
_SETTLED_AFTER = timedelta(hours=12)
_LOOK_AGAIN_AFTER = timedelta(hours=24)
_NEVER = datetime.min.replace(tzinfo=UTC)
# A document can change twice in the second that its Last-Modified names (RFC 9110 8.8.2.2). Clocks differ.
_WEAK_SECONDS = 60.0


@attrs.frozen
class CachedDocument:
    """A document that was read whole: what it was, and how to ask whether it still is.

    `authorities` is what it spoke for besides its own directory, None where it listed more than it may. `listed` is
    what its index stated of it at that reading, which began at `read_at`; `looked_at` is when it was last asked for.
    """

    format: str
    etag: str | None = None
    last_modified: str | None = None
    sha256: str | None = None
    authorities: frozenset[str] | None = None
    listed: Stated | None = None
    read_at: datetime = _NEVER
    looked_at: datetime = _NEVER
    index_is_accurate: bool = False
    children: tuple[SitemapRef, ...] = ()


@attrs.frozen
class DocumentCache:
    """`documents` are those that were read whole, `names` all that ever held a sitemap. Empty, it remembers nothing.

    `settled` (URL -> format) are those of this very walk, before it was broken off: they list no other document, and
    all that they hold was given.
    """

    now: datetime = _NEVER
    trust: Trust = "never"
    documents: Mapping[str, CachedDocument] = attrs.field(factory=dict)
    names: frozenset[str] = frozenset()
    settled: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def skips_none(self) -> bool:
        """Whether every document is asked for."""
        return not (self.documents or self.settled)

    def known(self, url: str, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The document as it was left, if it may speak for the same as it did then."""
        known = self.documents.get(url)
        return known if known is not None and known.authorities == frozenset(authorities) else None

    def skipped(self, url: str, stated: Stated | None, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The same, if it is settled, or what its index states of it now is reason enough not to ask."""
        if url in self.settled:
            return CachedDocument(self.settled[url])
        known = self.known(url, authorities) if stated is not None else None
        if known is None or known.listed != stated:
            return None
        return known if _TRUSTS[self.trust](known, self.now) else None


def conditions(known: CachedDocument) -> dict[str, str]:
    """Request headers: send the document only if it has changed."""
    told = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in told.items() if value is not None}


def is_strong(last_modified: str, read_at: datetime) -> bool:
    """Whether a Last-Modified tells the body of that moment from every later one (RFC 9110 8.8.2.2)."""
    modified = http_date(last_modified)
    return modified is not None and (read_at - modified).total_seconds() >= _WEAK_SECONDS


def _is_proven(known: CachedDocument, now: datetime) -> bool:
    if known.listed is None or not known.index_is_accurate:
        return False
    # A clock that was set back does not make a look of the future last for ever.
    was_seen_lately = known.looked_at <= now < known.looked_at + _LOOK_AGAIN_AFTER
    return was_seen_lately and known.read_at - period_end(*known.listed) > _SETTLED_AFTER


_TRUSTS: dict[Trust, Callable[[CachedDocument, datetime], bool]] = {
    "auto": _is_proven,
    "always": lambda known, now: True,
    "never": lambda known, now: False,
}


# ----------------------------------------------------------------------------------------------------
# What a walk does with its memory: asks under conditions, or not at all; what is unchanged lists what it did.
#
# In: visits. Out: the headers to ask with; the children of what is unchanged, some a turn, as an index may list a great
# many; then the visits that are through.


class Revalidator:
    """Documents that are unchanged go through go_on() until it is_idle. `enter` hears of each child."""

    def __init__(
        self, memory: DocumentCache, proofs: Authorities, enter: Callable[[DocumentRequest, SitemapRef], None]
    ) -> None:
        self._memory = memory
        self._authorities = proofs
        self._enter = enter
        self._waiting: deque[tuple[DocumentRequest, CachedDocument, int]] = (
            deque()
        )  # and how many of its children are entered

    @property
    def is_idle(self) -> bool:
        """Nothing is left to enter."""
        return not self._waiting

    def conditions(self, request: DocumentRequest) -> dict[str, str]:
        """Under which a document is asked for: one of which a part is here already is needed whole."""
        if not self._memory.documents or request.is_robots or request.again or request.reached:
            return {}
        known = self._memory.known(request.asked, self._authorities.of(request))
        return {} if known is None else conditions(known)

    def skips(self, request: DocumentRequest) -> bool:
        """Whether a document that is named now need not be asked for; it is unchanged then."""
        if self._memory.skips_none:
            return False
        known = self._memory.skipped(request.asked, request.stated, self._authorities.of(request))
        if known is not None:
            self._add(request, known)
        return known is not None

    def confirm(self, request: DocumentRequest, headers: Mapping[str, str]) -> None:
        """The server says that a document is unchanged."""
        request.etag, request.last_modified = headers.get("etag"), headers.get("last-modified")
        request.holds = self._authorities.of(request)
        self._add(request, self._memory.documents[request.asked])

    def _add(self, request: DocumentRequest, known: CachedDocument) -> None:
        request.etag = request.etag or known.etag
        request.last_modified = request.last_modified or known.last_modified
        self._waiting.append((request, known, 0))

    def go_on(self, steps: int) -> Iterator[tuple[DocumentRequest, Outcome]]:
        """Enters about so many children; gives the documents that have no more, with their outcomes."""
        while self._waiting and steps > 0:
            request, known, start = self._waiting.popleft()
            some = known.children[start : start + steps]
            steps -= 1 + len(some)
            for ref in some:
                self._enter(request, ref)
            if start + len(some) < len(known.children):
                self._waiting.appendleft((request, known, start + len(some)))
            else:
                yield request, Outcome(format=known.format, sha256=known.sha256, not_modified=True)
