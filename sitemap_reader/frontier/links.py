"""Who lists what: Sitemap lines and the children of indexes come in, new documents go out to be read.

A document is known once, whoever lists it; each that does is its parent, and hands down what it holds. A child that
lacks proof is not read before there is some. Never decides when anything is asked for.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..parser.normalise.urls import directory, origin, without_userinfo
from .document_request import DocumentRequest
from .events import place
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


# ----------------------------------------------------------------------------------------------------
# A child that an index lists -> whether to read it, and what to note.
#
# Sources: sitemaps.org ("Sitemaps & Cross Submits", "Sitemap file location"), and the caps of the plan.


@attrs.frozen
class Verdict:
    """`read` it or not; a Problem's `code` and `message`; why it was `pruned` at the caller's wish.

    `missing`: what is not read was asked for, so the index is not complete. `unproven`: what its place differs in,
    where it is not read unless it is proven yet.
    """

    read: bool
    code: str | None = None
    message: str = ""
    pruned: str | None = None
    missing: bool = False
    unproven: DropReason | None = None


@attrs.frozen
class LinkRules:
    """What decides on children, the same for the whole walk."""

    proofs: Authorities
    window: Window | None  # None: no child is skipped by its date
    follow: Callable[[SitemapRef], bool] | None
    no_follow: Patterns
    limits: Limits

    def judge(self, index: DocumentRequest, ref: SitemapRef) -> Verdict:
        """The verdict on a child that was not listed before."""
        if self.no_follow.find_in(ref.loc):
            return Verdict(False, pruned="no-follow")
        if self.follow is not None and not self.follow(ref):
            return Verdict(False, pruned="follow")
        too_deep = self.judge_depth(index, ref)
        if too_deep is None and self.window is not None and self.window.prunes(ref):
            return Verdict(False, pruned="since")
        return too_deep or self.judge_place(index, ref)

    def judge_depth(self, index: DocumentRequest, ref: SitemapRef) -> Verdict | None:
        """The verdict on a child that lies too deep."""
        limit = self.limits.max_index_depth
        if index.depth < limit:
            return None
        message = f"{ref.loc} lies below {limit} indexes: not read; {advice('max_index_depth')}"
        return Verdict(False, "S14", message, missing=True)

    def judge_place(self, index: DocumentRequest, ref: SitemapRef) -> Verdict:
        """The verdict on where a child lies, by what is proven so far."""
        reason = self.proofs.distance(ref, self.proofs.inheritance(index))
        if reason is not None:
            return Verdict(False, "U04", f"{ref.loc} is on another {reason}, without proof: not read", unproven=reason)
        child = without_userinfo(ref.loc)
        if origin(child) == origin(index.url) and not child.startswith(directory(index.url)):
            return Verdict(True, "S13", f"{ref.loc} is above the index's directory: read all the same")
        return Verdict(True)


# Children that are remembered by the indexes that list them, all together: to say that one is listed twice, and to hand
# down what an index gains. Indexes may list a thousand times as many as are ever read.
_MOST_REMEMBERED = 1_000_000


class Listings:
    """The listings of a walk. `queue` takes each document that is new; `pruned` counts those not asked for.

    Children that are older than what is asked for wait in `dates` for what their index's dates are worth.
    """

    def __init__(
        self,
        plan: Plan,
        register: KnownDocuments,
        proofs: Authorities,
        permission: RobotsPolicy,
        events: Events,
        queue: Callable[[DocumentRequest], None],
    ) -> None:
        self.pruned: Counter[str] = Counter()
        self._pruned: dict[str, str] = {}
        self._plan = plan
        self._register = register
        self._authorities = proofs
        self._policy = permission
        self._events = events
        self._queue = queue
        self._remembered = 0
        self._robots = 0  # that documents list or redirect to
        window = None if plan.trust_lastmod == "never" else plan.selection.window
        self._rules = LinkRules(proofs, window, plan.follow, plan.no_follow, plan.limits)
        self.dates = IndexDateChecks(plan, events, self)

    def enter(self, request: DocumentRequest, ref: SitemapRef) -> None:
        """A document lists another, right now."""
        if request.is_robots and without_userinfo(ref.loc) in (request.asked, request.url):
            self._events.note(request, "S05", f"{ref.loc} lists itself: not followed", ref)
        elif request.is_robots:
            request.named.append(ref)
            self._named_by_robots(request, ref)
        else:
            self._listed(request, ref)

    def enter_anew(self, robots: DocumentRequest) -> None:
        """A robots.txt that was read before counts for one site more."""
        for ref in robots.named:
            self._named_by_robots(robots, ref)

    def robots_at(self, url: str, parent: DocumentRequest) -> DocumentRequest | None:
        """The robots.txt that a document lists or redirects to: what it names is read; None where it is none."""
        robots = self._policy.robots_at(url)
        if robots is None:
            return None
        if not robots.parents:
            self._robots += 1
            robots.depth = parent.depth + 1
            robots.add_parent(parent.asked)
            self.enter_anew(robots)
        self._name(robots, parent)
        if robots.outcome and robots.status and 400 <= robots.status <= 499:  # which permits all, and is no news else
            self._events.note(parent, "F01", f"{robots.asked} answered {robots.status}, and is listed as a sitemap")
            parent.missing = True
        return robots

    def enter_alias(self, alias: DocumentRequest, known: DocumentRequest) -> None:
        """A document redirects to one that is known: whoever vouches for it vouches for that, too."""
        if self._register.is_above(known, alias) and not known.waits_for(alias):
            message = f"{alias.asked} lists itself: it redirects to {known.asked}, which lists it or leads to it"
            self._events.note(alias, "S05", f"{message}: not followed")
        known.add_parent(alias.asked)
        if not alias.is_guess:  # two guesses may both lead to the home page
            self._events.report_guess(known)
        self._authorities.widen(known, self._authorities.of(alias))

    def settle(self, steps: int) -> bool:
        """What indexes gained goes to all below them, and may cover what they list elsewhere; whether that is done."""
        if not self._authorities.is_settled:
            for listing in islice(self._authorities.hand_down(), steps):
                if listing is not None:
                    self._adopt(*listing)
        return self._authorities.is_settled

    def give_up_unproven(self, index: DocumentRequest, most: int) -> int:
        """No more proof will come: what the index lists elsewhere is not read. So many of it, `most` at most."""
        given_up = self._authorities.given_up(index, most)
        for ref in given_up:
            known = self._register.get(ref.loc)
            if known is not None:  # it was read on another's word
                self._name(known, index)
            else:
                self._drop(index, ref, self._rules.judge_place(index, ref))
        return len(given_up)

    # --- robots.txt ---

    def _named_by_robots(self, request: DocumentRequest, ref: SitemapRef) -> None:
        """A Sitemap line: proof for the whole host, and a candidate where the site is ours."""
        self._authorities.name(request, ref.loc)
        known = self._register.get(ref.loc)
        counts = request.sites or request.parents  # else it is read for what it permits and proves
        if known is None and counts and self._plan.no_follow.find_in(ref.loc):
            self._prune(ref.loc, "no-follow")
            for site in request.sites:
                site.found = True  # there is a sitemap all the same, and no reason to guess
        elif known is None and counts and self._is_near(request, ref) and self._has_room(request, ref):
            known = self.robots_at(ref.loc, request)
            if known is None:
                known = DocumentRequest(ref.loc, ref.loc, "robots", depth=request.depth, listed_at=place(ref))
                self._add(known)
        if known is not None:
            self._name(known, request)
            for site in request.sites:
                site.expect(known)
        for listing in self._authorities.proven(ref.loc):
            self._adopt(*listing)

    def _is_near(self, robots: DocumentRequest, ref: SitemapRef) -> bool:
        """One robots.txt may name another, and so on."""
        verdict = self._rules.judge_depth(robots, ref) if robots.depth else None
        if verdict is None:
            return True
        self._events.note(robots, verdict.code or "", verdict.message, ref)
        robots.missing = True
        return False

    # --- indexes ---

    def _listed(self, request: DocumentRequest, ref: SitemapRef) -> None:
        request.is_index = True
        key = without_userinfo(ref.loc)
        known = self._register.get(key)
        if known is not None and self._register.is_above(known, request):
            self._events.note(request, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
            self._listed_again(request, ref, known)
        elif request.lists(key):
            self._events.note(request, "S12", f"{ref.loc} is listed twice", ref)
        elif known is not None:
            self._listed_again(request, ref, known)
        elif self._plan.descend:
            self._judge(request, ref)
        if self._remembered < _MOST_REMEMBERED and not request.lists(key):
            self._remembered += 1
            request.add_child(key)

    def _listed_again(self, request: DocumentRequest, ref: SitemapRef, known: DocumentRequest) -> None:
        """By another index than the first one: what may lie elsewhere only with proof gains nothing without."""
        self._name(known, request)
        inherited = self._authorities.inheritance(request)
        if self._authorities.distance(ref, inherited) is None:
            self._authorities.widen(known, inherited)

    def _judge(self, request: DocumentRequest, ref: SitemapRef) -> None:
        verdict = self._rules.judge(request, ref)
        if verdict.pruned == "since" and self.dates.is_needed:
            self.dates.defer(request, ref)
        else:
            self._carry_out(request, ref, verdict)

    def _carry_out(
        self, request: DocumentRequest, ref: SitemapRef, verdict: Verdict, *, is_probe: bool = False
    ) -> None:
        request.missing = request.missing or verdict.missing
        if verdict.pruned:
            request.skipped += verdict.pruned == "since"
            self._prune(ref.loc, verdict.pruned)
        if verdict.unproven:
            self._await_proof(request, ref, verdict)
        elif verdict.code:
            self._events.note(request, verdict.code, verdict.message, ref)
        if verdict.read:
            self._adopt(request, ref, is_probe=is_probe)

    # --- children that were deferred by their date ---

    def may_read(self, index: DocumentRequest, ref: SitemapRef) -> bool:
        """Whether a deferred child is not known yet, and may lie where it does."""
        return self._register.get(ref.loc) is None and self._rules.judge_place(index, ref).read

    def probe(self, index: DocumentRequest, ref: SitemapRef) -> DocumentRequest | None:
        """Reads one that may be read, to see what the dates of its index are worth; None where there is no room."""
        self._carry_out(index, ref, self._rules.judge_place(index, ref), is_probe=True)
        return self._register.get(ref.loc)

    def read(self, index: DocumentRequest, ref: SitemapRef) -> None:
        """Reads one as if its index had not said how old it is."""
        known = self._register.get(ref.loc)
        if known is not None:
            self._listed_again(index, ref, known)
        else:
            self._carry_out(index, ref, self._rules.judge_place(index, ref))

    def skip(self, index: DocumentRequest, ref: SitemapRef) -> None:
        """Leaves one out, unless something else has had it read."""
        known = self._register.get(ref.loc)
        if known is not None:
            self._listed_again(index, ref, known)
        else:
            index.skipped += 1
            self._prune(ref.loc, "since")

    def refuse(self, index: DocumentRequest, ref: SitemapRef, message: str) -> None:
        """One that cannot be decided on."""
        self._cap(index, ref, message)

    # --- what is not read, and what is ---

    def _await_proof(self, request: DocumentRequest, ref: SitemapRef, verdict: Verdict) -> None:
        limits = self._plan.limits
        if not self._authorities.await_proof(request, ref, limits.max_documents):
            self._drop(request, ref, verdict)
        elif not self._policy.ask_for_proof(ref.loc):
            what = f"{ref.loc}: the robots.txt of {limits.max_proof_hosts:,} hosts has been asked for proof by now"
            self._cap(request, ref, f"{what}, and that of others is not; {advice('max_proof_hosts')}")

    def _drop(self, index: DocumentRequest, ref: SitemapRef, verdict: Verdict) -> None:
        self._events.note(index, "U04", verdict.message, ref)
        index.forgone[str(verdict.unproven)] += 1

    def _adopt(self, index: DocumentRequest, ref: SitemapRef, *, is_probe: bool = False) -> None:
        """A child that may be read, with all that its index holds by now."""
        known = self._register.get(ref.loc)
        if known is not None:
            self._listed_again(index, ref, known)
        elif self._has_room(index, ref) and not self._lists_robots(index, ref):
            child = DocumentRequest(ref.loc, ref.loc, "index", depth=index.depth + 1)
            child.authorities = self._authorities.inheritance(index)
            child.listed_at, child.listed_line, child.is_probe = place(ref), ref.line, is_probe
            if ref.lastmod is not None and ref.lastmod_precision is not None:
                child.stated = ref.lastmod, ref.lastmod_precision
            child.add_parent(index.asked)
            self.dates.expect(index, child)
            self._add(child)

    def _lists_robots(self, index: DocumentRequest, ref: SitemapRef) -> bool:
        """In place of a sitemap."""
        robots = self.robots_at(ref.loc, index)
        if robots is not None and self._register.is_above(robots, index):
            self._events.note(index, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
        return robots is not None

    def _prune(self, loc: str, reason: str) -> None:
        """A sitemap that is not asked for, counted once however many documents list it, unless it is read after all."""
        if loc not in self._pruned:
            self.pruned[reason] += 1
        if len(self._pruned) < _MOST_REMEMBERED:
            self._pruned.setdefault(loc, reason)

    # --- documents ---

    def _name(self, known: DocumentRequest, parent: DocumentRequest) -> None:
        """One more document lists it; if it was only guessed before, its failure is news from now on."""
        known.add_parent(parent.asked)
        self._events.report_guess(known)

    def _add(self, request: DocumentRequest) -> None:
        """A new document: known from now on, and waiting for its host."""
        reason = self._pruned.pop(request.asked, None)
        if reason is not None:
            self.pruned -= Counter({reason: 1})
        self._register.add(request)
        self._queue(request)

    def _has_room(self, request: DocumentRequest, ref: SitemapRef) -> bool:
        """Whether one document more may be read; the first that may not is named, for all behind it."""
        limit = self._plan.limits.max_documents
        if self._register.documents + self._robots < limit:
            return True
        message = f"{ref.loc} and what is listed behind it is not read: there are more than {limit:,} documents"
        self._cap(request, ref, f"{message}; {advice('max_documents')}")
        return False

    def _cap(self, request: DocumentRequest, ref: SitemapRef, message: str) -> None:
        """A limit of the walk keeps something from being read: said once of each document."""
        if "S16" not in request.tally.counts:
            self._events.note(request, "S16", message, ref)
        request.missing = True
