"""The links between documents: Sitemap lines and the children of indexes in, new documents to read out.

Each document is known once, whichever documents list it: they are its parents, and pass their authorities on to it. A
child that is out of scope is not read before a robots.txt has verified it. When a document is requested is not decided
here. Sources: sitemaps.org ("Sitemaps & Cross Submits", "Sitemap file location").
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..parser.normalise.urls import directory, origin, without_userinfo
from .document_request import DocumentRequest
from .events import listing_place
from .index_dates import IndexDateChecks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.limits import Limits
    from ..model.records import SitemapRef
    from ..parser.normalise.scope import DropReason
    from .authority import Authorities
    from .document_request import KnownDocuments
    from .events import Events
    from .filters import Patterns, Window
    from .plan import Plan
    from .robots_policy import RobotsPolicy

# Children that are recorded with the indexes that list them, all together: to report one that is listed twice, and to
# pass on what an index gains. Indexes may list a thousand times as many as are ever read.
_MAX_RECORDED = 1_000_000


@attrs.frozen
class LinkDecision:
    """Whether to `read` a child; a Problem's `code` and `message`; by which of the caller's filters it is `pruned`.

    `incomplete`: a limit keeps it from being read, so the index is not complete. `out_of_scope`: the part of its
    URL (scheme, host, port, path) that is out of scope; it is then read only if a robots.txt verifies it.
    """

    read: bool
    code: str | None = None
    message: str = ""
    pruned: str | None = None
    incomplete: bool = False
    out_of_scope: DropReason | None = None


@attrs.frozen
class LinkRules:
    """The rules that decide on children, the same for the whole crawl."""

    authorities: Authorities
    window: Window | None  # None: no child is skipped by its lastmod
    follow: Callable[[SitemapRef], bool] | None
    no_follow: Patterns
    limits: Limits

    def decide(self, index: DocumentRequest, ref: SitemapRef) -> LinkDecision:
        """The decision on a child that was not listed before."""
        if self.no_follow.find_in(ref.loc):
            return LinkDecision(False, pruned="no-follow")
        if self.follow is not None and not self.follow(ref):
            return LinkDecision(False, pruned="follow")
        too_deep = self.decide_by_depth(index, ref)
        if too_deep is None and self.window is not None and self.window.prunes(ref):
            return LinkDecision(False, pruned="since")
        return too_deep or self.decide_by_place(index, ref)

    def decide_by_depth(self, index: DocumentRequest, ref: SitemapRef) -> LinkDecision | None:
        """The decision on a child below too many indexes; None for any other."""
        limit = self.limits.max_index_depth
        if index.depth < limit:
            return None
        message = f"{ref.loc} lies below {limit} indexes: not read; {advice('max_index_depth')}"
        return LinkDecision(False, "S14", message, incomplete=True)

    def decide_by_place(self, index: DocumentRequest, ref: SitemapRef) -> LinkDecision:
        """The decision by where a child is, with the authorities known so far."""
        reason = self.authorities.out_of_scope(ref, self.authorities.passed_on(index))
        if reason is not None:
            message = f"{ref.loc} is on another {reason}, not verified by robots.txt: not read"
            return LinkDecision(False, "U04", message, out_of_scope=reason)
        child = without_userinfo(ref.loc)
        if origin(child) == origin(index.url) and not child.startswith(directory(index.url)):
            return LinkDecision(True, "S13", f"{ref.loc} is above the index's directory; it is read anyway")
        return LinkDecision(True)


class Links:
    """The links of a crawl. `queue` takes each new document; `pruned` counts the children that a filter excludes.

    Children that are older than `since` are deferred in `dates` until the dates of their index have been checked.
    """

    def __init__(
        self,
        plan: Plan,
        documents: KnownDocuments,
        authorities: Authorities,
        policy: RobotsPolicy,
        events: Events,
        queue: Callable[[DocumentRequest], None],
    ) -> None:
        self.pruned: Counter[str] = Counter()
        self._pruned: dict[str, str] = {}
        self._plan = plan
        self._documents = documents
        self._authorities = authorities
        self._policy = policy
        self._events = events
        self._queue = queue
        self._recorded = 0
        self._robots = 0  # robots.txt files that documents list or redirect to
        window = None if plan.trust_lastmod == "never" else plan.selection.window
        self._rules = LinkRules(authorities, window, plan.follow, plan.no_follow, plan.limits)
        self.dates = IndexDateChecks(plan, events, self)

    def add(self, request: DocumentRequest, ref: SitemapRef) -> None:
        """A document lists another."""
        if request.is_robots and without_userinfo(ref.loc) in (request.original_url, request.url):
            self._events.note(request, "S05", f"{ref.loc} lists itself: not followed", ref)
        elif request.is_robots:
            request.sitemap_lines.append(ref)
            self._add_sitemap_line(request, ref)
        else:
            self._add_child(request, ref)

    def add_lines_again(self, robots: DocumentRequest) -> None:
        """Adds the Sitemap lines of a robots.txt that was read before, for one more site."""
        for ref in robots.sitemap_lines:
            self._add_sitemap_line(robots, ref)

    def robots_at(self, url: str, parent: DocumentRequest) -> DocumentRequest | None:
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
            self._events.note(parent, "F01", message)
            parent.is_incomplete = True
        return robots

    def add_alias(self, alias: DocumentRequest, known: DocumentRequest) -> None:
        """A document redirects to one that is known, and passes its authorities on to that."""
        if self._documents.is_above(known, alias) and not known.is_alias_of(alias):
            target = known.original_url
            message = f"{alias.original_url} lists itself: it redirects to {target}, which lists it or leads to it"
            self._events.note(alias, "S05", f"{message}: not followed")
        known.add_parent(alias.original_url)
        if not alias.is_probe:  # two probes may both lead to the home page
            self._events.report_probe(known)
        self._authorities.extend(known, self._authorities.authorities_of(alias))

    def settle(self, steps: int) -> bool:
        """Passes authorities on, in so many steps, and reads what they bring into scope; whether that is done."""
        if not self._authorities.is_propagated:
            for listing in islice(self._authorities.propagate(), steps):
                if listing is not None:
                    self._read_child(*listing)
        return self._authorities.is_propagated

    def drop_unverified(self, index: DocumentRequest, limit: int) -> int:
        """Drops up to `limit` children of an index that no robots.txt has verified; returns how many it handled."""
        unverified = self._authorities.pop_unverified(index, limit)
        for ref in unverified:
            known = self._documents.get(ref.loc)
            if known is not None:  # read because another document lists it
                self._add_parent(known, index)
            else:
                self._drop(index, ref, self._rules.decide_by_place(index, ref))
        return len(unverified)

    # --- robots.txt ---

    def _add_sitemap_line(self, request: DocumentRequest, ref: SitemapRef) -> None:
        """Verifies the document for the whole host of the robots.txt; of a seed's site it is a candidate."""
        self._authorities.add_sitemap_line(request, ref.loc)
        known = self._documents.get(ref.loc)
        counts = request.sites or request.parents  # else it is read for its rules and for verification only
        if known is None and counts and self._plan.no_follow.find_in(ref.loc):
            self._prune(ref.loc, "no-follow")
            for site in request.sites:
                site.found = True  # there is a sitemap all the same, so no probe is needed
        elif known is None and counts and self._is_within_depth(request, ref) and self._is_within_limit(request, ref):
            known = self.robots_at(ref.loc, request)
            if known is None:
                place = listing_place(ref)
                known = DocumentRequest(ref.loc, ref.loc, "robots", depth=request.depth, listed_at=place)
                self._add_document(known)
        if known is not None:
            self._add_parent(known, request)
            for site in request.sites:
                site.add_candidate(known)
        for listing in self._authorities.pop_verified(ref.loc):
            self._read_child(*listing)

    def _is_within_depth(self, robots: DocumentRequest, ref: SitemapRef) -> bool:
        """False where robots.txt files name each other too deep."""
        decision = self._rules.decide_by_depth(robots, ref) if robots.depth else None
        if decision is None:
            return True
        self._events.note(robots, decision.code or "", decision.message, ref)
        robots.is_incomplete = True
        return False

    # --- indexes ---

    def _add_child(self, request: DocumentRequest, ref: SitemapRef) -> None:
        request.is_index = True
        key = without_userinfo(ref.loc)
        known = self._documents.get(key)
        if known is not None and self._documents.is_above(known, request):
            self._events.note(request, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
            self._add_listing(request, ref, known)
        elif request.lists(key):
            self._events.note(request, "S12", f"{ref.loc} is listed twice", ref)
        elif known is not None:
            self._add_listing(request, ref, known)
        elif self._plan.descend:
            self._decide(request, ref)
        if self._recorded < _MAX_RECORDED and not request.lists(key):
            self._recorded += 1
            request.add_child(key)

    def _add_listing(self, request: DocumentRequest, ref: SitemapRef, known: DocumentRequest) -> None:
        """A known document is listed by one more index; out of that index's scope, it gains no authorities."""
        self._add_parent(known, request)
        passed_on = self._authorities.passed_on(request)
        if self._authorities.out_of_scope(ref, passed_on) is None:
            self._authorities.extend(known, passed_on)

    def _decide(self, request: DocumentRequest, ref: SitemapRef) -> None:
        decision = self._rules.decide(request, ref)
        if decision.pruned == "since" and self.dates.is_needed:
            self.dates.defer(request, ref)
        else:
            self._carry_out(request, ref, decision)

    def _carry_out(
        self, request: DocumentRequest, ref: SitemapRef, decision: LinkDecision, *, is_sample: bool = False
    ) -> None:
        request.is_incomplete = request.is_incomplete or decision.incomplete
        if decision.pruned:
            request.skipped += decision.pruned == "since"
            self._prune(ref.loc, decision.pruned)
        if decision.out_of_scope:
            self._verify(request, ref, decision)
        elif decision.code:
            self._events.note(request, decision.code, decision.message, ref)
        if decision.read:
            self._read_child(request, ref, is_sample=is_sample)

    # --- deferred children: index_dates.ChildHandler ---

    def may_read(self, index: DocumentRequest, ref: SitemapRef) -> bool:
        """Whether a deferred child is not known yet, and in scope."""
        return self._documents.get(ref.loc) is None and self._rules.decide_by_place(index, ref).read

    def read_sample(self, index: DocumentRequest, ref: SitemapRef) -> DocumentRequest | None:
        """Reads a deferred child to check the dates of its index; None where no more documents may be read."""
        self._carry_out(index, ref, self._rules.decide_by_place(index, ref), is_sample=True)
        return self._documents.get(ref.loc)

    def read(self, index: DocumentRequest, ref: SitemapRef) -> None:
        """Reads a deferred child as if it had no lastmod."""
        known = self._documents.get(ref.loc)
        if known is not None:
            self._add_listing(index, ref, known)
        else:
            self._carry_out(index, ref, self._rules.decide_by_place(index, ref))

    def skip(self, index: DocumentRequest, ref: SitemapRef) -> None:
        """Skips a deferred child, unless another document has had it read."""
        known = self._documents.get(ref.loc)
        if known is not None:
            self._add_listing(index, ref, known)
        else:
            index.skipped += 1
            self._prune(ref.loc, "since")

    def refuse(self, index: DocumentRequest, ref: SitemapRef, message: str) -> None:
        """Reports a child that cannot be deferred."""
        self._report_limit(index, ref, message)

    # --- children that are not read, and those that are ---

    def _verify(self, request: DocumentRequest, ref: SitemapRef, decision: LinkDecision) -> None:
        """Has the robots.txt of an out-of-scope child's host requested, as far as the limits allow."""
        limits = self._plan.limits
        if not self._authorities.add_unverified(request, ref, limits.max_documents):
            self._drop(request, ref, decision)
        elif not self._policy.request_for_verification(ref.loc):
            what = f"{ref.loc} is not verified: the robots.txt of {limits.max_proof_hosts:,} other hosts"
            message = f"{what} has been requested already; {advice('max_proof_hosts')}"
            self._report_limit(request, ref, message)

    def _drop(self, index: DocumentRequest, ref: SitemapRef, decision: LinkDecision) -> None:
        self._events.note(index, "U04", decision.message, ref)
        index.unread_children[str(decision.out_of_scope)] += 1

    def _read_child(self, index: DocumentRequest, ref: SitemapRef, *, is_sample: bool = False) -> None:
        """Adds a child that is in scope, with the authorities that its index has by now."""
        known = self._documents.get(ref.loc)
        if known is not None:
            self._add_listing(index, ref, known)
        elif self._is_within_limit(index, ref) and not self._is_robots(index, ref):
            child = DocumentRequest(ref.loc, ref.loc, "index", depth=index.depth + 1)
            child.inherited_authorities = self._authorities.passed_on(index)
            child.listed_at, child.listed_line, child.is_sample = listing_place(ref), ref.line, is_sample
            if ref.lastmod is not None and ref.lastmod_precision is not None:
                child.listed_lastmod = ref.lastmod, ref.lastmod_precision
            child.add_parent(index.original_url)
            self.dates.expect(index, child)
            self._add_document(child)

    def _is_robots(self, index: DocumentRequest, ref: SitemapRef) -> bool:
        """Whether an index lists a robots.txt in place of a sitemap; it is read as one then."""
        robots = self.robots_at(ref.loc, index)
        if robots is not None and self._documents.is_above(robots, index):
            self._events.note(index, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
        return robots is not None

    def _prune(self, loc: str, reason: str) -> None:
        """Counts a sitemap that a filter excludes, once however many documents list it, unless it is read after all."""
        if loc not in self._pruned:
            self.pruned[reason] += 1
        if len(self._pruned) < _MAX_RECORDED:
            self._pruned.setdefault(loc, reason)

    def _add_parent(self, known: DocumentRequest, parent: DocumentRequest) -> None:
        """One more document lists it; a failure of a probe is reported from now on."""
        known.add_parent(parent.original_url)
        self._events.report_probe(known)

    def _add_document(self, request: DocumentRequest) -> None:
        reason = self._pruned.pop(request.original_url, None)
        if reason is not None:
            self.pruned -= Counter({reason: 1})
        self._documents.add(request)
        self._queue(request)

    def _is_within_limit(self, request: DocumentRequest, ref: SitemapRef) -> bool:
        """Whether max_documents allows one more; the first that it excludes is reported, for all that follow."""
        limit = self._plan.limits.max_documents
        if self._documents.count + self._robots < limit:
            return True
        message = f"{ref.loc} and what is listed behind it is not read: there are more than {limit:,} documents"
        self._report_limit(request, ref, f"{message}; {advice('max_documents')}")
        return False

    def _report_limit(self, request: DocumentRequest, ref: SitemapRef, message: str) -> None:
        """A limit of the crawl keeps something from being read: reported once for each document that lists some."""
        if "S16" not in request.tally.counts:
            self._events.note(request, "S16", message, ref)
        request.is_incomplete = True
