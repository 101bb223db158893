"""Whether a document that an earlier crawl read has to be requested again, and with which conditions.

Sources: RFC 9110 8.8 and 13.1 (validators, conditional requests).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import attrs

from ..model.options import AutoMode
from ..model.records import Outcome
from ..parser.normalise.dates import period_end
from .documents import http_date

if TYPE_CHECKING:
    from ..model.records import SitemapRef
    from .documents import DocumentRequest, Listed
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
