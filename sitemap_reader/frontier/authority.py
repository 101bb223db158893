"""Which URLs each document of a crawl may list: its scope, by all that is known so far (cross-submission).

Its authorities are the URL prefixes that it may list besides its own directory. What an index gains is passed on to all
below it, however late, in short steps, as an index may list a million documents.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from ..parser.normalise.scope import Scope, verified_prefixes
from ..parser.normalise.urls import directory, without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.records import SitemapRef
    from ..parser.normalise.scope import DropReason, ScopeMode
    from .documents import Document, KnownDocuments

# How often a document may gain authorities by being listed once more. Each gain may concern all documents below it, so
# indexes that list each other from ever higher directories would keep a crawl busy. Sites need one or two.
MAX_SCOPE_EXTENSIONS = 32

# Where an index may list sitemaps without verification: below its directory, or elsewhere on its host.
_ON_ITS_HOST = (None, "path")

Listing = tuple["Document", "SitemapRef"]


class Authorities:
    """The authorities of each document in `documents`, and the listings that wait for robots.txt verification."""

    def __init__(self, mode: ScopeMode, documents: KnownDocuments) -> None:
        self._mode = mode
        self._documents = documents
        self._by_robots: dict[str, tuple[str, ...]] = {}  # URL -> what the robots.txt files that name it grant
        # Listings out of scope: index -> URL -> the listing, and URL -> the indexes.
        self._unverified: dict[Document, dict[str, SitemapRef]] = {}
        self._unverified_in: dict[str, list[Document]] = {}
        self._unverified_count = 0
        self._extensions: Counter[Document] = Counter()
        self._passed_on: dict[Document, tuple[str, ...]] = {}  # a cache, cleared by each new Sitemap line
        self._extended: dict[Document, None] = {}  # the indexes that have gained something to pass on
        self._steps: Iterator[Listing | None] | None = None

    def of(self, document: Document) -> tuple[str, ...]:
        """The URL prefixes that a document may list besides its own directory, by what is known now."""
        found = document.inherited_authorities
        found += self.granted_by_robots(document.original_url) + self.granted_by_robots(document.url)
        if document.why in ("given", "well-known"):  # submitted: its scope is its host
            found += verified_prefixes(document.original_url, document.url)
        return tuple(dict.fromkeys(found))

    def passed_on(self, index: Document) -> tuple[str, ...]:
        """The authorities that an index passes on to its children: its own, and its directory."""
        passed_on = self._passed_on.get(index)
        if passed_on is None:
            passed_on = self._passed_on[index] = (*self.of(index), directory(index.url))
        return passed_on

    def granted_by_robots(self, url: str) -> tuple[str, ...]:
        return self._by_robots.get(without_userinfo(url), ())

    def out_of_scope(self, ref: SitemapRef, authorities: tuple[str, ...]) -> DropReason | None:
        """What of a child's URL is out of scope for an index with these authorities; None if it may list it."""
        # sitemaps.org: the sitemaps of an index are on its host. A robots.txt that names a sitemap verifies it, on
        # whichever host it is.
        if ref.loc.startswith(authorities):
            return None
        reason = Scope(self._mode, authorities).reason(ref.loc)
        return None if reason in _ON_ITS_HOST or self.granted_by_robots(ref.loc) else reason

    def scope_of(self, document: Document, authorities: tuple[str, ...] | None = None) -> Scope:
        """The scope of a document, by what is known now, or with the authorities of an earlier time."""
        # When its Outcome comes it grows no more: what was dropped as out of scope may be in scope by then.
        own = self.of(document) if authorities is None else authorities
        return Scope(self._mode, (*own, directory(document.url)))

    def add_sitemap_line(self, robots: Document, url: str) -> None:
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

    def extend(self, document: Document, authorities: tuple[str, ...]) -> None:
        """A known document is listed by one more, which passes on these authorities."""
        if self._gains(document, authorities) and document.is_index:
            self._extended[document] = None

    def _gains(self, document: Document, authorities: tuple[str, ...]) -> bool:
        new = tuple(each for each in authorities if not each.startswith(document.inherited_authorities))
        if new:
            present = (*self.of(document), directory(document.url))
            new = tuple(each for each in new if not each.startswith(present))
        if not new or self._extensions[document] >= MAX_SCOPE_EXTENSIONS:
            return False
        self._extensions[document] += 1
        document.inherited_authorities += new
        self._passed_on.pop(document, None)
        return True

    @property
    def is_propagated(self) -> bool:
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

    def _propagate(self, index: Document) -> Iterator[Listing | None]:
        authorities = self.passed_on(index)
        scope = Scope(self._mode, authorities)
        yield None
        for url in index.children:  # which may grow between the steps
            child = self._documents.get(url)
            if child is not None and (scope.reason(url) in _ON_ITS_HOST or self.granted_by_robots(url)):
                self.extend(child, authorities)
            yield None
        unverified = self._unverified.get(index, {})
        for key in [*unverified]:
            is_covered = key in unverified and scope.reason(key) in _ON_ITS_HOST
            yield (index, unverified.pop(key)) if is_covered else None

    def add_unverified(self, index: Document, ref: SitemapRef, limit: int) -> bool:
        """Records a listing that a robots.txt may verify later; False if there are `limit` of them already."""
        if self._unverified_count >= limit:
            return False
        self._unverified_count += 1
        key = without_userinfo(ref.loc)
        self._unverified.setdefault(index, {})[key] = ref
        self._unverified_in.setdefault(key, []).append(index)
        return True

    def has_unverified(self, index: Document) -> bool:
        return bool(self._unverified.get(index))

    def pop_verified(self, url: str) -> list[Listing]:
        """The recorded listings of a URL that a robots.txt names by now; each is returned once."""
        key = without_userinfo(url)
        indexes = self._unverified_in.pop(key, []) if self.granted_by_robots(url) else []
        return [(index, self._unverified[index].pop(key)) for index in indexes if key in self._unverified[index]]

    def pop_unverified(self, index: Document, limit: int) -> list[SitemapRef]:
        """Up to `limit` recorded listings of an index that no robots.txt has verified; each is returned once."""
        unverified = self._unverified.get(index, {})
        return [unverified.pop(key) for key in [*islice(unverified, limit)]]
