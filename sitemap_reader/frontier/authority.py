"""Which URLs each document of a crawl may list: its scope, by all that is known so far (cross-submission).

In: Sitemap lines, listings, redirects. Out: the authorities of a document (the URL prefixes that it may list besides
its own directory), and the listings that a robots.txt has verified. What an index gains is passed on to all below it,
however late, in short steps, as an index may list a million documents. Nothing here requests anything.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from ..parser.normalise.scope import Scope, verified_prefixes
from ..parser.normalise.urls import directory, without_userinfo
from .document_request import Reread, has_scope_drops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..model.records import Outcome, SitemapRef
    from ..parser.normalise.scope import DropReason, ScopeMode
    from .document_request import DocumentRequest, KnownDocuments
    from .events import Events

# How often a document may gain authorities by being listed once more. Each gain may concern all documents below it, so
# indexes that list each other from ever higher directories would keep a crawl busy. Sites need one or two.
MAX_SCOPE_EXTENSIONS = 32

# Where an index may list sitemaps without verification: below its directory, or elsewhere on its host.
_ON_ITS_HOST = (None, "path")

Listing = tuple["DocumentRequest", "SitemapRef"]


class Authorities:
    """The authorities of each document in `documents`, and the listings that wait for robots.txt verification."""

    def __init__(self, mode: ScopeMode, documents: KnownDocuments) -> None:
        self._mode = mode
        self._documents = documents
        self._by_robots: dict[str, tuple[str, ...]] = {}  # URL -> what the robots.txt files that name it grant
        self._unverified: dict[str, list[DocumentRequest]] = {}  # URL -> the indexes that list it out of scope
        self._unverified_count = 0
        self._passed_on: dict[DocumentRequest, tuple[str, ...]] = {}  # a cache, cleared by each new Sitemap line
        self._extended: dict[DocumentRequest, None] = {}  # the indexes that have gained something to pass on
        self._steps: Iterator[Listing | None] | None = None

    def authorities_of(self, request: DocumentRequest) -> tuple[str, ...]:
        """The URL prefixes that a document may list besides its own directory."""
        found = request.inherited_authorities
        found += self.granted_by_robots(request.original_url) + self.granted_by_robots(request.url)
        if request.why in ("given", "well-known"):  # submitted: its scope is its host
            found += verified_prefixes(request.original_url, request.url)
        return tuple(dict.fromkeys(found))

    def passed_on(self, index: DocumentRequest) -> tuple[str, ...]:
        """The authorities that an index passes on to its children: its own, and its directory."""
        passed_on = self._passed_on.get(index)
        if passed_on is None:
            passed_on = self._passed_on[index] = (*self.authorities_of(index), directory(index.url))
        return passed_on

    def granted_by_robots(self, url: str) -> tuple[str, ...]:
        """The authorities that robots.txt files grant a document by naming it; empty where none does."""
        return self._by_robots.get(without_userinfo(url), ())

    def out_of_scope(self, ref: SitemapRef, authorities: tuple[str, ...]) -> DropReason | None:
        """What of a child's URL is out of scope for an index with these authorities; None if it may list the child.

        sitemaps.org: the sitemaps of an index are on its host. A robots.txt that names a sitemap verifies it, on
        whichever host it is.
        """
        if ref.loc.startswith(authorities):
            return None
        reason = Scope(self._mode, authorities).reason(ref.loc)
        return None if reason in _ON_ITS_HOST or self.granted_by_robots(ref.loc) else reason

    def plan_reread(self, request: DocumentRequest) -> Reread | None:
        """A second reading, if an authority gained since the first one may cover some of what that dropped.

        An authority can regain only URLs that were dropped for the reason for which it lies outside the former scope
        itself: one on another host regains nothing if only paths were dropped.
        """
        former, first = Scope(self._mode, (*request.authorities, directory(request.url))), request.outcome
        if first is None or not any(former.reason(each) in first.dropped for each in self.authorities_of(request)):
            return None
        return Reread(former, first)

    # --- gains ---

    def add_sitemap_line(self, robots: DocumentRequest, url: str) -> None:
        """A robots.txt names a document: it may list all URLs of the robots.txt's host."""
        before = self.granted_by_robots(url)
        granted = tuple(dict.fromkeys(before + verified_prefixes(robots.original_url, robots.url)))
        if granted == before:  # thousands of lines may name the same index, and each may concern all below it
            return
        self._by_robots[without_userinfo(url)] = granted
        self._passed_on.clear()
        known = self._documents.get(url)
        if known is not None and known.is_index:
            self._extended[known] = None

    def extend(self, request: DocumentRequest, authorities: tuple[str, ...]) -> None:
        """A known document is listed by one more, which passes on these authorities."""
        if self._gains(request, authorities) and request.is_index:
            self._extended[request] = None

    def _gains(self, request: DocumentRequest, authorities: tuple[str, ...]) -> bool:
        new = tuple(each for each in authorities if not each.startswith(request.inherited_authorities))
        if new:
            present = (*self.authorities_of(request), directory(request.url))
            new = tuple(each for each in new if not each.startswith(present))
        if not new or request.scope_extensions >= MAX_SCOPE_EXTENSIONS:
            return False
        request.scope_extensions += 1
        request.inherited_authorities += new
        self._passed_on.pop(request, None)
        return True

    @property
    def is_propagated(self) -> bool:
        """Whether all gains have been passed on."""
        return self._steps is None and not self._extended

    def propagate(self) -> Iterator[Listing | None]:
        """Passes the gains of indexes on to all below them, in short steps; a later call continues.

        Yields each listing that comes into scope, once, and None for the other steps.
        """
        self._steps = self._steps or self._propagate_all()
        return self._steps

    def _propagate_all(self) -> Iterator[Listing | None]:
        try:
            while self._extended:
                yield from self._propagate(self._extended.popitem()[0])
        finally:
            self._steps = None

    def _propagate(self, index: DocumentRequest) -> Iterator[Listing | None]:
        """Passes an index's authorities on to the known documents that it may list."""
        authorities = self.passed_on(index)
        scope = Scope(self._mode, authorities)
        yield None
        for url in index.children:  # which may grow between the steps
            child = self._documents.get(url)
            if child is not None and (scope.reason(url) in _ON_ITS_HOST or self.granted_by_robots(url)):
                self.extend(child, authorities)
            yield None
        for key in [*index.unverified_children]:
            is_covered = key in index.unverified_children and scope.reason(key) in _ON_ITS_HOST
            yield (index, index.unverified_children.pop(key)) if is_covered else None

    # --- listings out of scope ---

    def add_unverified(self, index: DocumentRequest, ref: SitemapRef, limit: int) -> bool:
        """Records a listing that a robots.txt may verify later; False if there are `limit` of them already."""
        if self._unverified_count >= limit:
            return False
        self._unverified_count += 1
        key = without_userinfo(ref.loc)
        index.unverified_children[key] = ref
        self._unverified.setdefault(key, []).append(index)
        return True

    def pop_verified(self, url: str) -> list[Listing]:
        """The recorded listings of a URL that a robots.txt names by now; each is returned once."""
        key = without_userinfo(url)
        indexes = self._unverified.pop(key, []) if self.granted_by_robots(url) else []
        return [(index, index.unverified_children.pop(key)) for index in indexes if key in index.unverified_children]

    def pop_unverified(self, index: DocumentRequest, limit: int) -> list[SitemapRef]:
        """Up to `limit` recorded listings of an index that no robots.txt has verified; each is returned once."""
        return [index.unverified_children.pop(key) for key in [*islice(index.unverified_children, limit)]]


class DeferredDocuments:
    """Documents that have ended, but whose scope another site's robots.txt may still extend.

    end() takes each document, and settle() decides, when all have been read, until it is_empty: the end is reported,
    or the document goes to `queue` to be read once more. `drop_unverified` drops up to so many children of an index,
    and returns how many it dropped.
    """

    def __init__(
        self,
        authorities: Authorities,
        events: Events,
        drop_unverified: Callable[[DocumentRequest, int], int],
        queue: Callable[[DocumentRequest], None],
        *,
        descend: bool,
    ) -> None:
        self._authorities = authorities
        self._events = events
        self._drop_unverified = drop_unverified
        self._queue = queue
        self._descend = descend
        self._waiting: deque[DocumentRequest] = deque()
        self._rereading: dict[DocumentRequest, None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no document waits; some may be read for the second time."""
        return not self._waiting

    def end(self, request: DocumentRequest, outcome: Outcome) -> None:
        """Reports the end of a document, or defers it if robots.txt verification could change its outcome."""
        if self._descend and (request.unverified_children or has_scope_drops(outcome)):
            self._waiting.append(request)
        else:
            self._events.report_end(request)

    def settle(self, steps: int) -> None:
        """Decides on about so many deferred documents and children; call it when no verification can follow.

        A document is read twice at most, however often it gained authorities: by now it has all of them.
        """
        while self._waiting and steps > 0:
            request = self._waiting[0]
            steps -= 1 + self._drop_unverified(request, steps)
            if request.unverified_children:
                return
            self._waiting.popleft()
            request.reread = self._authorities.plan_reread(request)
            if request.reread:
                request.resume, request.tries, request.not_before, request.network_seconds = None, 0, 0.0, 0.0
                self._rereading[request] = None
                self._queue(request)
            else:
                self._events.report_end(request)

    def end_reread(self, request: DocumentRequest, outcome: Outcome) -> None:
        """Reports the end of a document after its second reading."""
        assert request.reread is not None  # noqa: S101 - for the type checker
        del self._rereading[request]
        self._events.report_reread_end(request, request.reread, outcome)

    def abandon(self) -> None:
        """Reports the end of all deferred documents as they are: nothing more is requested."""
        for request in (*self._waiting, *self._rereading):
            self._events.report_end(request)
        self._waiting.clear()
        self._rereading.clear()
