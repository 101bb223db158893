"""What each document of a walk may speak for, by all that is known so far.

In: Sitemap lines, listings, redirects. Out: the authorities of a visit, and which listings have the proof that they
lacked. Authorities travel down: what an index gains goes to all that it lists, however late, step by step, as an index
may list a million. Never asks for anything.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ..parser.normalise.scope import Scope, verified_prefixes
from ..parser.normalise.urls import directory, without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.records import SitemapRef
    from ..parser.normalise.scope import DropReason, ScopeMode
    from .document_request import DocumentRequest, KnownDocuments

# How often a document may gain authorities by being listed once more. Each time may concern all below it, so indexes
# that list each other from ever higher directories would keep a walk busy. Sites need one or two.
MAX_GAINS = 32

# Where an index may list sitemaps without another's word: below its directory, or elsewhere on its host.
_NEAR = (None, "path")

Listing = tuple["DocumentRequest", "SitemapRef"]


class Authorities:
    """Authorities by document. `register` says which documents are known."""

    def __init__(self, mode: ScopeMode, register: KnownDocuments) -> None:
        self._mode = mode
        self._register = register
        self._named: dict[str, tuple[str, ...]] = {}  # document -> what the robots.txt files that name it prove
        self._lacking: dict[str, list[DocumentRequest]] = {}  # document -> the indexes that list it without proof
        self._lacking_count = 0
        self._inheritances: dict[DocumentRequest, tuple[str, ...]] = {}  # as long as nothing is learned
        self._gained: dict[DocumentRequest, None] = {}  # the indexes that have something to hand down
        self._handing: Iterator[Listing | None] | None = None

    # --- what is held ---

    def of(self, request: DocumentRequest) -> tuple[str, ...]:
        """What a document may speak for besides its own directory."""
        held = request.authorities + self.named(request.asked) + self.named(request.url)
        if request.why in ("given", "well-known"):  # submitted: it speaks for its host
            held += verified_prefixes(request.asked, request.url)
        return tuple(dict.fromkeys(held))

    def inheritance(self, index: DocumentRequest) -> tuple[str, ...]:
        """What an index hands down to what it lists: all that it holds, its own directory included."""
        inherited = self._inheritances.get(index)
        if inherited is None:
            inherited = self._inheritances[index] = (*self.of(index), directory(index.url))
        return inherited

    def named(self, url: str) -> tuple[str, ...]:
        """What robots.txt files prove for a document by naming it; empty where none does."""
        return self._named.get(without_userinfo(url), ())

    def distance(self, ref: SitemapRef, inherited: tuple[str, ...]) -> DropReason | None:
        """None where an index may list the child, else what the child's place differs in.

        sitemaps.org: the sitemaps of an index lie on its host. A robots.txt that names one is the proof for it,
        wherever it lies.
        """
        if ref.loc.startswith(inherited):
            return None
        reason = Scope(self._mode, inherited).reason(ref.loc)
        return None if reason in _NEAR or self.named(ref.loc) else reason

    # --- what is learned ---

    def name(self, robots: DocumentRequest, url: str) -> None:
        """A Sitemap line: proof for the whole host whose robots.txt it stands in."""
        before = self.named(url)
        proven = tuple(dict.fromkeys(before + verified_prefixes(robots.asked, robots.url)))
        if proven == before:  # thousands of lines may name the same index, and each may concern all below it
            return
        self._named[without_userinfo(url)] = proven
        self._inheritances.clear()
        known = self._register.get(url)
        if known is not None and known.is_index:
            self._gained[known] = None

    def widen(self, request: DocumentRequest, authorities: tuple[str, ...]) -> None:
        """A document that is known is listed by somebody who holds these."""
        if self._gains(request, authorities) and request.is_index:
            self._gained[request] = None

    def _gains(self, request: DocumentRequest, authorities: tuple[str, ...]) -> bool:
        new = tuple(each for each in authorities if not each.startswith(request.authorities))
        if new:
            held = (*self.of(request), directory(request.url))
            new = tuple(each for each in new if not each.startswith(held))
        if not new or request.gains >= MAX_GAINS:
            return False
        request.gains += 1
        request.authorities += new
        self._inheritances.pop(request, None)
        return True

    @property
    def is_settled(self) -> bool:
        """All that was gained has been handed down."""
        return self._handing is None and not self._gained

    def hand_down(self) -> Iterator[Listing | None]:
        """What indexes gained, to all below them, in short steps: it may be left, and asked for again to go on.

        Gives the listings that need no other proof by now, each once.
        """
        self._handing = self._handing or self._hand_all_down()
        return self._handing

    def _hand_all_down(self) -> Iterator[Listing | None]:
        try:
            while self._gained:
                yield from self._hand_down(self._gained.popitem()[0])
        finally:
            self._handing = None

    def _hand_down(self, index: DocumentRequest) -> Iterator[Listing | None]:
        """What an index holds, to the known documents that it lists, but for those that it may not list."""
        inherited = self.inheritance(index)
        scope = Scope(self._mode, inherited)
        yield None
        for url in index.children:  # perhaps more of them from step to step
            child = self._register.get(url)
            if child is not None and (scope.reason(url) in _NEAR or self.named(url)):
                self.widen(child, inherited)
            yield None
        for key in [*index.unproven]:
            covered = key in index.unproven and scope.reason(key) in _NEAR
            yield (index, index.unproven.pop(key)) if covered else None

    # --- what lacks proof ---

    def await_proof(self, index: DocumentRequest, ref: SitemapRef, limit: int) -> bool:
        """Remembers a listing that lacks proof, if there are not too many of them already."""
        if self._lacking_count >= limit:
            return False
        self._lacking_count += 1
        key = without_userinfo(ref.loc)
        index.unproven[key] = ref
        self._lacking.setdefault(key, []).append(index)
        return True

    def proven(self, url: str) -> list[Listing]:
        """The listings of a document that a robots.txt names by now. Each is given once."""
        key = without_userinfo(url)
        indexes = self._lacking.pop(key, []) if self.named(url) else []
        return [(index, index.unproven.pop(key)) for index in indexes if key in index.unproven]

    def given_up(self, index: DocumentRequest, most: int) -> list[SitemapRef]:
        """The next listings of an index for which no proof has come. Each is given once."""
        return [index.unproven.pop(key) for key in [*islice(index.unproven, most)]]
