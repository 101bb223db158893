"""The links between documents: Sitemap lines and the children of indexes in, new documents in the queues out.

Each document is known once, whichever documents list it: they are its parents, and pass their authorities on to it. A
child that is out of scope is not read before a robots.txt has verified it. Sources: sitemaps.org ("Sitemaps & Cross
Submits", "Sitemap file location").

Authorities state which URLs each document of a crawl may list: its scope, by all that is known so far. The authorities
of a document are the URL prefixes that it may list besides its own directory. What an index gains is passed on to all
below it, however late, in short steps, as an index may list a million documents.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..model.records import PROBED, SitemapRef
from ..parser.content.sniff import Format
from ..parser.normalise.scope import Scope, verified_prefixes
from ..parser.normalise.urls import directory, origin, without_userinfo
from .documents import Document, Skip, has_scope_drops
from .responses import code_of
from .revalidation import IndexDateChecks

if TYPE_CHECKING:
    from ..parser.normalise.scope import DropReason, ScopeMode
    from .documents import Events, KnownDocuments, SkipReason
    from .plan import Plan
    from .robots_policy import HostRobots


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
        if document.why == "given" or document.why in PROBED:  # submitted: its scope is its host
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


# How sitemaps are named; an HTML page at such a URL is an error page in place of one.
_SITEMAP_NAME = re.compile(r"sitemap|\.(?:xml|gz|txt|rss|atom)(?:\?|$)|/feed/?$", re.IGNORECASE)
# Children that are recorded with the indexes that list them, all together: to report one that is listed twice, and to
# pass on what an index gains. Indexes may list a thousand times as many as are ever read.
_MAX_RECORDED = 1_000_000
_TOO_DEEP = "S14"


@attrs.frozen
class LinkDecision:
    """Whether to `read` a child; else the Problem, or the filter by which it is `pruned`."""

    read: bool
    code: str | None = None
    message: str = ""
    pruned: SkipReason | None = None
    incomplete: bool = False  # a limit keeps it from being read
    out_of_scope: DropReason | None = None  # the part of its URL; it is then read only if a robots.txt verifies it
    remedy: str | None = None


@attrs.define(eq=False, repr=False)
class Links:
    """The links of a crawl."""

    _plan: Plan
    _documents: KnownDocuments
    _authorities: Authorities
    _policy: HostRobots
    _events: Events
    pruned: Counter[str] = attrs.field(factory=Counter, init=False)  # children that a filter excludes, by reason
    # children older than `since` wait here until the dates of their index have been checked
    dates: IndexDateChecks = attrs.field(init=False)
    _pruned: dict[str, str] = attrs.field(factory=dict, init=False)
    # URL -> the filter that excludes what a robots.txt names; several may name it, and `follow` decides once
    _of_robots: dict[str, SkipReason | None] = attrs.field(factory=dict, init=False)
    _recorded: int = attrs.field(default=0, init=False)
    _waiting_deep: int = attrs.field(default=0, init=False)
    # Index -> its children that are below the limit.
    _deep: dict[Document, list[SitemapRef]] = attrs.field(factory=dict, init=False)
    _robots: int = attrs.field(default=0, init=False)  # robots.txt files that documents list or redirect to

    def __attrs_post_init__(self) -> None:
        self.dates = IndexDateChecks(self._plan, self._events)

    def add(self, document: Document, ref: SitemapRef) -> None:
        if document.serves_discovery and without_userinfo(ref.loc) in (document.original_url, document.url):
            return
        if document.is_start_page:
            document.sitemap_lines = [*document.sitemap_lines, ref]
        elif document.is_robots:
            document.sitemap_lines = document.sitemap_lines or []
            document.sitemap_lines.append(ref)
            self._add_sitemap_line(document, ref)
        else:
            self._add_child(document, ref)

    def add_document(self, document: Document) -> None:
        reason = self._pruned.pop(document.original_url, None)
        if reason is not None:
            self.pruned -= Counter({reason: 1})
        self._documents.add(document)
        self._events.list(document)

    def add_lines_again(self, robots: Document) -> None:
        for ref in robots.sitemap_lines:
            self._add_sitemap_line(robots, ref)

    def end_lines(self, robots: Document) -> None:
        """A name that no Sitemap line has is meant for the children of these indexes, which are read then."""
        left = [ref for ref in robots.sitemap_lines if self._of_robots.get(ref.loc) == "follow"]
        if self._plan.follow_by_name and all(self._of_robots.get(ref.loc) for ref in robots.sitemap_lines):
            self._of_robots |= dict.fromkeys((ref.loc for ref in left), None)
            for ref in left:
                self._add_sitemap_line(robots, ref)

    def robots_at(self, url: str, parent: Document) -> Document | None:
        """The robots.txt that a document lists or redirects to, whose Sitemap lines count; None for another URL."""
        robots = self._policy.robots_at(url)
        if robots is None:
            return None
        if not robots.parents:
            self._robots += 1
            robots.depth = parent.depth + 1
            robots.add_parent(parent.original_url)
            self.add_lines_again(robots)
        self._add_parent(robots, parent)
        if robots.outcome and robots.status and 400 <= robots.status <= 499:  # reported only because it is listed
            message = f"{robots.original_url} answered {robots.status}, and is listed as a sitemap"
            self._events.note(parent, code_of(robots.status), message, incomplete=True)
        return robots

    def add_alias(self, alias: Document, known: Document) -> None:
        """A document redirects to one that is known, and passes its authorities on to that."""
        if self._documents.is_above(known, alias) and not known.is_alias_of(alias):
            target = known.original_url
            message = f"{alias.original_url} lists itself: it redirects to {target}, which lists it or leads to it"
            self._events.note(alias, "S05", f"{message}: not followed")
        known.add_parent(alias.original_url)
        self._lower_depth(known, alias.depth)
        if not alias.is_probe:  # two probes may both lead to the home page
            self._events.report_probe(known)
        self._authorities.extend(known, self._authorities.of(alias))

    def propagate(self, steps: int) -> bool:
        """Passes authorities on, in so many steps, and reads what they bring into scope; whether that is done."""
        if not self._authorities.is_propagated:
            for listing in islice(self._authorities.propagate(), steps):
                if listing is not None:
                    self._read_child(*listing)
        return self._authorities.is_propagated

    def drop_unverified(self, index: Document, limit: int) -> int:
        """Drops up to `limit` children of an index that no robots.txt has verified; returns how many it handled."""
        unverified = self._authorities.pop_unverified(index, limit)
        for ref in unverified:
            known = self._documents.get(ref.loc)
            if known is not None:  # read because another document lists it
                self._add_parent(known, index)
            else:
                self._drop(index, ref, self._decide_by_place(index, ref))
        return len(unverified)

    def may_list_pages(self, index: Document) -> bool:
        """Whether no child of an index is named like a sitemap: what it lists may be the pages themselves."""
        return index.is_index and bool(index.children) and not any(map(_SITEMAP_NAME.search, index.children))

    def note_pages(self, index: Document) -> None:
        """Reports an index whose children all turned out to be HTML pages."""
        children = [self._documents.get(url) for url in index.children]
        if all(child and child.outcome and child.outcome.format == Format.HTML for child in children):
            what = f"all {len(children):,} children are HTML pages" if children[1:] else "its child is an HTML page"
            self._events.note(index, "F05", f"{what}: a <urlset> was meant, in which pages are listed")

    def _add_sitemap_line(self, robots: Document, ref: SitemapRef) -> None:
        """Verifies the document for the whole host of the robots.txt; of a seed's site it is a candidate."""
        self._authorities.add_sitemap_line(robots, ref.loc)
        known = self._documents.get(ref.loc)
        counts = robots.sites or robots.parents  # else it is read for its rules and for verification only
        if known is None and counts and (reason := self._filter_of_line(ref)):
            self._prune(ref, reason)
            for site in robots.sites:
                site.found = True  # there is a sitemap all the same, so no probe is needed
        elif known is None and counts and self._is_within_depth(robots, ref) and self._is_within_limit(robots, ref):
            known = self.robots_at(ref.loc, robots)
            if known is None:
                known = Document(ref.loc, "robots", listed=ref, depth=robots.depth)
                self.add_document(known)
        if known is not None:
            self._add_parent(known, robots)
            for site in robots.sites:
                site.add_candidate(known)
        for listing in self._authorities.pop_verified(ref.loc):
            self._read_child(*listing)

    def _filter_of_line(self, ref: SitemapRef) -> SkipReason | None:
        if ref.loc not in self._of_robots:
            self._of_robots[ref.loc] = self._filter_of(ref)
        return self._of_robots[ref.loc]

    def _filter_of(self, ref: SitemapRef) -> SkipReason | None:
        """The filter of the caller that excludes a sitemap which a document lists."""
        plan = self._plan
        if plan.no_follow is not None and plan.no_follow(ref):
            return "no-follow"
        return "follow" if plan.follow is not None and not plan.follow(ref) else None

    def may_probe(self, ref: SitemapRef) -> bool:
        """Whether a guess may be tried: neither is it known, nor excluded by a filter."""
        if ref.loc in self._documents or self._of_robots.get(ref.loc) is not None:
            return False
        return self._plan.no_follow is None or not self._plan.no_follow(ref)

    def of_start_page(self, page: Document) -> list[SitemapRef]:
        """The links of a start page that may be tried: those to its host, as another proves nothing by them."""
        hosts = verified_prefixes(page.original_url, page.url)
        return [ref for ref in page.sitemap_lines if ref.loc.startswith(hosts) and self.may_probe(ref)]

    def _is_within_depth(self, robots: Document, ref: SitemapRef) -> bool:
        """False where robots.txt files name each other too deep."""
        decision = self._decide_by_depth(robots, ref) if robots.depth else None
        if decision is not None:
            self._carry_out(robots, ref, decision)
        return decision is None

    def _add_child(self, index: Document, ref: SitemapRef) -> None:
        index.is_index = True
        key = without_userinfo(ref.loc)
        known = self._documents.get(key)
        if index.lists(key):
            self._events.note(index, "S12", f"{ref.loc} is listed twice", ref)
        elif known is not None:
            self._add_listing(index, ref, known)
            place = self._decide_by_place(index, ref)
            if place.read and place.code and known is not index:
                self._events.note(index, place.code, place.message, ref)
        elif self._plan.descend:
            decision = self._decide(index, ref)
            if decision.pruned == "since" and self.dates.is_needed:
                if not self.dates.add(index, ref):
                    message = (
                        f"{ref.loc} and what is listed behind it is not read: too many sitemaps wait to be checked"
                    )
                    self._refuse(index, ref, message, '--trust-lastmod (trust_lastmod="always") skips them')
            else:
                self._carry_out(index, ref, decision)
        if self._recorded < _MAX_RECORDED and not index.lists(key):
            self._recorded += 1
            index.add_child(key)

    def _add_listing(self, index: Document, ref: SitemapRef, known: Document) -> None:
        """A known document is listed by one more index; out of that index's scope, it gains no authorities."""
        self._add_parent(known, index)
        passed_on = self._authorities.passed_on(index)
        if self._authorities.out_of_scope(ref, passed_on) is None:
            self._authorities.extend(known, passed_on)

    def _decide(self, index: Document, ref: SitemapRef) -> LinkDecision:
        plan = self._plan
        if reason := self._filter_of(ref):
            return LinkDecision(False, pruned=reason)
        too_deep = self._decide_by_depth(index, ref)
        if too_deep is None and plan.trust_lastmod != "never" and plan.selection.window.prunes(ref):
            return LinkDecision(False, pruned="since")
        return too_deep or self._decide_by_place(index, ref)

    def _decide_by_depth(self, index: Document, ref: SitemapRef) -> LinkDecision | None:
        limit = self._plan.limits.max_index_depth
        if index.depth < limit:
            return None
        message = f"{ref.loc} lies below {limit} indexes: not read"
        return LinkDecision(False, _TOO_DEEP, message, incomplete=True, remedy=advice("max_index_depth"))

    def _decide_by_place(self, index: Document, ref: SitemapRef) -> LinkDecision:
        reason = self._authorities.out_of_scope(ref, self._authorities.passed_on(index))
        if reason is not None:
            message = f"{ref.loc} is on another {reason}, not verified by robots.txt: not read"
            return LinkDecision(False, "U04", message, out_of_scope=reason)
        child = without_userinfo(ref.loc)
        if origin(child) == origin(index.url) and not child.startswith(directory(index.url)):
            return LinkDecision(True, "S13", f"{ref.loc} is above the index's directory; it is read anyway")
        return LinkDecision(True)

    def _carry_out(self, index: Document, ref: SitemapRef, decision: LinkDecision, *, is_sample: bool = False) -> None:
        if decision.pruned:
            self._skip(index, ref, decision.pruned)
        elif decision.out_of_scope:
            self._verify(index, ref, decision)
        elif decision.code == _TOO_DEEP and index.is_index and self._waiting_deep < self._plan.limits.max_documents:
            self._waiting_deep += 1
            self._deep.setdefault(index, []).append(ref)
        elif decision.code:
            incomplete, remedy = decision.incomplete, decision.remedy
            self._events.note(index, decision.code, decision.message, ref, incomplete=incomplete, remedy=remedy)
        if decision.read:
            self._read_child(index, ref, is_sample=is_sample)

    def decide_waiting(self, steps: int) -> Iterator[Document]:
        """Reads or skips about so many of them; yields each index of which none waits any more."""
        for decision in self.dates.decisions(steps):
            index, ref = decision.index, decision.ref
            if ref is None:
                yield index
                continue
            known, is_sample = self._documents.get(ref.loc), decision.action == "sample"
            if known is not None:
                if not is_sample:
                    self._add_listing(index, ref, known)
            elif decision.action == "skip":
                self._skip(index, ref, "since")
            else:
                place = self._decide_by_place(index, ref)
                if place.read or not is_sample:
                    self._carry_out(index, ref, place, is_sample=is_sample)

    def _refuse(self, index: Document, ref: SitemapRef, message: str, remedy: str) -> None:
        """A limit of the crawl keeps something from being read: reported once for each document that lists some."""
        self._events.decide(Skip, ref.loc, "limit", message, ref)
        if "S16" not in index.report.problems.counts:
            self._events.note(index, "S16", message, ref, incomplete=True, remedy=remedy)

    def _skip(self, index: Document, ref: SitemapRef, reason: SkipReason) -> None:
        if reason == "since":
            index.report.skipped += 1
        self._prune(ref, reason)

    def _prune(self, ref: SitemapRef, reason: SkipReason) -> None:
        """Counts a sitemap that a filter excludes, once however many documents list it, unless it is read after all."""
        self._events.decide(Skip, ref.loc, reason, "", ref)
        if ref.loc not in self._pruned:
            self.pruned[reason] += 1
        if len(self._pruned) < _MAX_RECORDED:
            self._pruned.setdefault(ref.loc, reason)

    def _verify(self, index: Document, ref: SitemapRef, decision: LinkDecision) -> None:
        limits = self._plan.limits
        if not self._authorities.add_unverified(index, ref, limits.max_documents):
            self._drop(index, ref, decision)
        elif not self._policy.request_for_verification(ref.loc):
            what = f"{ref.loc} is not verified: the robots.txt of {limits.max_proof_hosts:,} other hosts"
            self._refuse(index, ref, f"{what} has been requested already", advice("max_proof_hosts"))

    def _drop(self, index: Document, ref: SitemapRef, decision: LinkDecision) -> None:
        self._events.decide(Skip, ref.loc, "scope", decision.message, ref)
        self._events.note(index, "U04", decision.message, ref)
        index.report.unread_children = index.report.unread_children or Counter()
        index.report.unread_children[str(decision.out_of_scope)] += 1

    def _read_child(self, index: Document, ref: SitemapRef, *, is_sample: bool = False) -> None:
        """Adds a child that is in scope, with the authorities that its index has by now."""
        known = self._documents.get(ref.loc)
        if known is not None:
            self._add_listing(index, ref, known)
        elif self._is_within_limit(index, ref) and not self._is_robots(index, ref):
            child = Document(ref.loc, "index", listed=ref, depth=index.depth + 1, is_sample=is_sample)
            child.inherited_authorities = self._authorities.passed_on(index)
            child.add_parent(index.original_url)
            self.dates.expect(index, child)
            self.add_document(child)

    def _is_robots(self, index: Document, ref: SitemapRef) -> bool:
        """Whether an index lists a robots.txt in place of a sitemap; it is read as one then."""
        return self.robots_at(ref.loc, index) is not None

    def _add_parent(self, known: Document, parent: Document) -> None:
        known.add_parent(parent.original_url)
        self._events.report_probe(known)
        is_line = parent.is_robots and not known.is_robots
        self._lower_depth(known, parent.depth + (not is_line))

    def _lower_depth(self, document: Document, depth: int) -> None:
        """A document is listed nearer to the seeds than it was, and so are those below it."""
        lower = [(document, depth)] if depth < document.depth else []
        while lower:
            document, depth = lower.pop()
            if depth < document.depth:
                document.depth = depth
                children = (self._documents.get(url) for url in document.children)
                lower += [(child, depth + 1) for child in children if child is not None]

    @property
    def has_deep(self) -> bool:
        return bool(self._deep)

    def is_waiting(self, index: Document) -> bool:
        """Whether children of an index wait, as it may yet be listed nearer to the seeds."""
        return index in self._deep

    def decide_deep(self) -> bool:
        """Reads the children of indexes that are near enough by now; if there are none, those that wait are too deep.

        Call it when nothing else is left to read. Returns whether any waited.
        """
        waiting, limit = bool(self._deep), self._plan.limits.max_index_depth
        near = [index for index in self._deep if index.depth < limit]
        for index in sorted(near, key=lambda each: each.original_url):
            for ref in self._deep.pop(index):
                known = self._documents.get(ref.loc)
                if known is not None:
                    self._add_listing(index, ref, known)
                else:
                    self._carry_out(index, ref, self._decide(index, ref))
        if not near:
            self.report_deep()
        return waiting

    def report_deep(self) -> None:
        """Reports the children that wait as too deep, unless they were read as another document lists them."""
        deep, self._deep, self._waiting_deep = self._deep, {}, 0
        for index, refs in deep.items():
            for ref in refs:
                known, decision = self._documents.get(ref.loc), self._decide_by_depth(index, ref)
                if known is not None:
                    self._add_listing(index, ref, known)
                elif decision is not None:
                    self._events.decide(Skip, ref.loc, "limit", decision.message, ref)
                    self._events.note(index, _TOO_DEEP, decision.message, ref, incomplete=True, remedy=decision.remedy)

    def _is_within_limit(self, document: Document, ref: SitemapRef) -> bool:
        """Whether max_documents allows one more; the first that it excludes is reported, for all that follow."""
        limit = self._plan.limits.max_documents
        if self._documents.count + self._robots < limit:
            return True
        message = f"{ref.loc} and what is listed behind it is not read: there are more than {limit:,} documents"
        self._refuse(document, ref, message, advice("max_documents"))
        return False


@attrs.define(eq=False, repr=False)
class WaitingDocuments:
    """Documents that have ended, but whose scope another site's robots.txt may still extend."""

    _plan: Plan
    _authorities: Authorities
    _links: Links
    _policy: HostRobots
    _events: Events
    _waiting: deque[Document] = attrs.field(factory=deque, init=False)

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def end(self, document: Document) -> None:
        """Reports the end of a document, unless it waits: robots.txt verification, or its children, may change it."""
        outcome = document.outcome
        may_change = self._authorities.has_unverified(document) or (outcome and has_scope_drops(outcome))
        may_change = may_change or self._links.is_waiting(document)
        if self._plan.descend and (may_change or self._links.may_list_pages(document)):
            self._waiting.append(document)
        else:
            self._events.report_end(document)

    def decide(self, steps: int) -> None:
        """Decides on about so many waiting documents and children; call it when no verification can follow."""
        while self._waiting and steps > 0:
            document = self._waiting[0]
            steps -= 1 + self._links.drop_unverified(document, steps)
            if self._authorities.has_unverified(document):
                return
            self._waiting.popleft()
            self._end(document)

    def _end(self, document: Document) -> None:
        if self._links.may_list_pages(document):
            self._links.note_pages(document)
        self._events.report_end(document)

    def abandon(self) -> None:
        """Reports the end of all waiting documents as they are: nothing more is requested."""
        for document in self._waiting:
            self._end(document)
        self._waiting.clear()
