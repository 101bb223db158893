"""Whether a document that an earlier crawl read has to be requested again, and with which conditions.

In: a DocumentCache, the documents as they were read then. Out: the validators for a conditional request, or the
decision to skip it; the children of an unchanged index are listed from the cache. Sources: RFC 9110 8.8 and 13.1
(validators, conditional requests).
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from ..model.options import AutoMode
from ..model.records import Outcome
from ..parser.normalise.dates import period_end
from .cookies import http_date

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..model.records import SitemapRef
    from .authority import Authorities
    from .document_request import Document
    from .lastmod_trust import Lastmod

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


_NOT_READ = CachedDocument("")


@attrs.frozen
class DocumentCache:
    """What earlier crawls know: `documents` that were read to their end, `names` of all that ever were a sitemap.

    `already_read` (URL -> format) are documents that this very crawl read before it was interrupted: they list no other
    document, and all their entries were yielded.

    `is_due(url, listing, is_known)` decides whether a document is requested in this crawl; None requests all.
    `is_known`: it is among the `documents`, with the same scope. One that is not due ends like one that is unchanged,
    or if it is not known, without an entry and incomplete.
    """

    now: datetime = _NEVER
    trust: Trust = "never"
    documents: Mapping[str, CachedDocument] = attrs.field(factory=dict)
    names: frozenset[str] = frozenset()
    already_read: Mapping[str, str] = attrs.field(factory=dict)
    is_due: Callable[[str, SitemapRef | None, bool], bool] | None = None

    def known(self, url: str, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The cached document, if its scope is the same as it was then."""
        known = self.documents.get(url)
        return known if known is not None and known.authorities == frozenset(authorities) else None

    def skipped(self, url: str, listed: Lastmod | None, authorities: tuple[str, ...]) -> CachedDocument | None:
        """The cached document, if it is already read, or its listed lastmod is reason enough not to request it."""
        if url in self.already_read:
            return CachedDocument(self.already_read[url])
        known = self.known(url, authorities) if listed is not None else None
        if known is None or known.listed != listed:
            return None
        return known if _TRUSTS[self.trust](known, self.now) else None


def conditions(known: CachedDocument) -> dict[str, str]:
    """The headers of a conditional request: send the document only if it has changed."""
    validators = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in validators.items() if value is not None}


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


@attrs.define(eq=False, repr=False)
class Revalidator:
    """Applies a DocumentCache to the documents of a crawl."""

    _cache: DocumentCache
    _authorities: Authorities
    # Each with its children that have not been listed yet.
    _unchanged: deque[tuple[Document, CachedDocument, Iterator[SitemapRef]]] = attrs.field(factory=deque)

    @property
    def is_idle(self) -> bool:
        """Whether unchanged() has nothing to do."""
        return not self._unchanged

    def conditions(self, document: Document) -> dict[str, str]:
        """The conditions of a request; none where part of the document is here already: it is needed whole."""
        request = document.request
        if not self._cache.documents or document.is_robots or request.reread or request.resume:
            return {}
        known = self._cache.known(document.original_url, self._authorities.authorities_of(document))
        return {} if known is None else conditions(known)

    def skips(self, document: Document) -> bool:
        """Whether a newly listed document need not be requested; it counts as unchanged then, or as not due."""
        cache, url = self._cache, document.original_url
        if not (cache.documents or cache.already_read or cache.is_due):
            return False
        authorities = self._authorities.authorities_of(document)
        found = cache.skipped(url, document.listed_lastmod, authorities)
        if found is None and cache.is_due is not None:
            known = cache.known(url, authorities)
            found = None if cache.is_due(url, document.listed, known is not None) else known or _NOT_READ
        if found is not None:
            self._add(document, found)
        return found is not None

    def confirm(self, document: Document) -> None:
        """The server answers 304: the document is unchanged."""
        document.authorities = self._authorities.authorities_of(document)
        self._add(document, self._cache.documents[document.original_url])

    def _add(self, document: Document, known: CachedDocument) -> None:
        received = document.received
        etag, last_modified = received.etag or known.etag, received.last_modified or known.last_modified
        document.received = attrs.evolve(received, etag=etag, last_modified=last_modified)
        self._unchanged.append((document, known, iter(known.children)))

    def unchanged(self, steps: int) -> Iterator[tuple[Document, SitemapRef | Outcome]]:
        """The unchanged documents, each with its cached children and then its outcome; about so many at a time."""
        while self._unchanged and steps > 0:
            document, known, children = self._unchanged[0]
            for ref in islice(children, steps):
                steps -= 1
                yield document, ref
            if steps > 0:
                steps -= 1
                self._unchanged.popleft()
                yield document, _outcome(known)


def _outcome(known: CachedDocument) -> Outcome:
    if known is _NOT_READ:
        return Outcome(complete=False)
    return Outcome(format=known.format, sha256=known.sha256, not_modified=True)
