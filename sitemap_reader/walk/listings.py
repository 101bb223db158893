"""Who lists what: Sitemap lines and the children of indexes come in, new documents go out to be read.

A document is known once, whoever lists it; each that does is its parent, and hands down what it holds. A child that
lacks proof is not read before there is some. Never decides when anything is asked for.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..limits import advice
from ..read.urls import without_userinfo
from .children import ChildRules
from .telling import place
from .visit import Visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..records import SitemapRef
    from .children import Verdict
    from .permission import Permission
    from .plan import Plan
    from .proofs import Proofs
    from .register import Register
    from .telling import Telling


# Children that are remembered by the indexes that list them, all together: to say that one is listed twice, and to hand
# down what an index gains. Indexes may list a thousand times as many as are ever read.
_MOST_REMEMBERED = 1_000_000


class Listings:
    """The listings of a walk. `queue` takes each document that is new; `pruned` counts those not asked for."""

    def __init__(
        self,
        plan: Plan,
        register: Register,
        proofs: Proofs,
        permission: Permission,
        telling: Telling,
        queue: Callable[[Visit], None],
    ) -> None:
        self.pruned: Counter[str] = Counter()
        self._plan = plan
        self._register = register
        self._proofs = proofs
        self._permission = permission
        self._telling = telling
        self._queue = queue
        self._remembered = 0
        self._rules = ChildRules(proofs, plan.window, plan.follow, plan.limits)

    def enter(self, visit: Visit, ref: SitemapRef) -> None:
        """A document lists another, right now."""
        if visit.is_robots:
            visit.named.append(ref)
            self._named_by_robots(visit, ref)
        else:
            self._listed(visit, ref)

    def enter_anew(self, robots: Visit) -> None:
        """A robots.txt that was read before counts for one site more."""
        for ref in robots.named:
            self._named_by_robots(robots, ref)

    def widen(self, known: Visit, authorities: tuple[str, ...]) -> None:
        """A document turns out to be one that others vouch for too."""
        self._gained(self._proofs.widen(known, authorities))

    def give_up_unproven(self, index: Visit) -> None:
        """No more proof will come: what the index lists elsewhere is not read."""
        for ref in self._proofs.given_up(index):
            known = self._register.get(ref.loc)
            if known is not None:  # it was read on another's word
                known.add_parent(index.asked)
            else:
                self._drop(index, ref, self._rules.judge_place(index, ref))

    # --- robots.txt ---

    def _named_by_robots(self, visit: Visit, ref: SitemapRef) -> None:
        """A Sitemap line: proof for the whole host, and a candidate where the site is ours."""
        gained = self._proofs.name(visit, ref.loc)
        known = self._register.get(ref.loc)
        if known is None and visit.sites and self._has_room(visit, ref):
            known = Visit(ref.loc, ref.loc, "robots", listed_at=place(ref))
            self._add(known)
        if known is not None:
            known.add_parent(visit.asked)
            for site in visit.sites:
                site.expect(known)
        for listing in self._proofs.proven(ref.loc):
            self._adopt(*listing)
        self._gained(gained)

    # --- indexes ---

    def _listed(self, visit: Visit, ref: SitemapRef) -> None:
        visit.is_index = True
        key = without_userinfo(ref.loc)
        known = self._register.get(key)
        if known is not None and self._register.is_above(known, visit):
            self._telling.note(visit, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
            self._listed_again(visit, ref, known)
        elif key in visit.children:
            self._telling.note(visit, "S12", f"{ref.loc} is listed twice", ref)
        elif known is not None:
            self._listed_again(visit, ref, known)
        elif self._plan.descend:
            self._judge(visit, ref)
        if self._remembered < _MOST_REMEMBERED and key not in visit.children:
            self._remembered += 1
            visit.children.add(key)

    def _listed_again(self, visit: Visit, ref: SitemapRef, known: Visit) -> None:
        """By another index than the first one: what may lie elsewhere only with proof gains nothing without."""
        known.add_parent(visit.asked)
        inherited = self._proofs.inheritance(visit)
        if self._proofs.distance(ref, inherited) is None:
            self.widen(known, inherited)

    def _judge(self, visit: Visit, ref: SitemapRef) -> None:
        verdict = self._rules.judge(visit, ref)
        visit.missing = visit.missing or verdict.missing
        if verdict.pruned:
            self.pruned[verdict.pruned] += 1
        if verdict.unproven:
            self._await_proof(visit, ref, verdict)
        elif verdict.code:
            self._telling.note(visit, verdict.code, verdict.message, ref)
        if verdict.read:
            self._adopt(visit, ref)

    def _await_proof(self, visit: Visit, ref: SitemapRef, verdict: Verdict) -> None:
        limits = self._plan.limits
        if not self._proofs.await_proof(visit, ref, limits.max_documents):
            self._drop(visit, ref, verdict)
        elif not self._permission.ask_for_proof(ref.loc):
            what = f"{ref.loc}: the robots.txt of {limits.max_proof_hosts:,} hosts has been asked for proof by now"
            self._cap(visit, ref, f"{what}, and that of others is not; {advice('max_proof_hosts')}")

    def _drop(self, index: Visit, ref: SitemapRef, verdict: Verdict) -> None:
        self._telling.note(index, "U04", verdict.message, ref)
        index.forgone[str(verdict.unproven)] += 1

    def _adopt(self, index: Visit, ref: SitemapRef) -> None:
        """A child that may be read, with all that its index holds by now."""
        known = self._register.get(ref.loc)
        if known is not None:
            self._listed_again(index, ref, known)
        elif self._has_room(index, ref):
            child = Visit(ref.loc, ref.loc, "index", depth=index.depth + 1)
            child.authorities = self._proofs.inheritance(index)
            child.listed_at = place(ref)
            child.add_parent(index.asked)
            self._add(child)

    def _gained(self, indexes: list[Visit]) -> None:
        """Indexes that may speak for more now: also for some of what they list elsewhere?"""
        for index in indexes:
            for listing in self._proofs.covered(index):
                self._adopt(*listing)

    # --- documents ---

    def _add(self, visit: Visit) -> None:
        """A new document: known from now on, and waiting for its host."""
        self._register.add(visit)
        self._queue(visit)

    def _has_room(self, visit: Visit, ref: SitemapRef) -> bool:
        """Whether one document more may be read; the first that may not is named, for all behind it."""
        limit = self._plan.limits.max_documents
        if self._register.documents < limit:
            return True
        message = f"{ref.loc} and what is listed behind it is not read: there are more than {limit:,} documents"
        self._cap(visit, ref, f"{message}; {advice('max_documents')}")
        return False

    def _cap(self, visit: Visit, ref: SitemapRef, message: str) -> None:
        """A limit of the walk keeps something from being read: said once of each document."""
        if "S16" not in visit.tally.counts:
            self._telling.note(visit, "S16", message, ref)
        visit.missing = True
