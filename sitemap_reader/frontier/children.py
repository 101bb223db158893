"""A child that an index lists -> whether to read it, and what to note.

Sources: sitemaps.org ("Sitemaps & Cross Submits", "Sitemap file location"), and the caps of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..parser.normalise.urls import directory, origin, without_userinfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.limits import Limits
    from ..model.records import SitemapRef
    from ..parser.normalise.scope import Reason
    from .authority import Proofs
    from .document_request import Visit
    from .filters import Patterns
    from .window import Window


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
    unproven: Reason | None = None


@attrs.frozen
class ChildRules:
    """What decides on children, the same for the whole walk."""

    proofs: Proofs
    window: Window | None  # None: no child is skipped by its date
    follow: Callable[[SitemapRef], bool] | None
    no_follow: Patterns
    limits: Limits

    def judge(self, index: Visit, ref: SitemapRef) -> Verdict:
        """The verdict on a child that was not listed before."""
        if self.no_follow.find_in(ref.loc):
            return Verdict(False, pruned="no-follow")
        if self.follow is not None and not self.follow(ref):
            return Verdict(False, pruned="follow")
        too_deep = self.judge_depth(index, ref)
        if too_deep is None and self.window is not None and self.window.prunes(ref):
            return Verdict(False, pruned="since")
        return too_deep or self.judge_place(index, ref)

    def judge_depth(self, index: Visit, ref: SitemapRef) -> Verdict | None:
        """The verdict on a child that lies too deep."""
        limit = self.limits.max_index_depth
        if index.depth < limit:
            return None
        message = f"{ref.loc} lies below {limit} indexes: not read; {advice('max_index_depth')}"
        return Verdict(False, "S14", message, missing=True)

    def judge_place(self, index: Visit, ref: SitemapRef) -> Verdict:
        """The verdict on where a child lies, by what is proven so far."""
        reason = self.proofs.distance(ref, self.proofs.inheritance(index))
        if reason is not None:
            return Verdict(False, "U04", f"{ref.loc} is on another {reason}, without proof: not read", unproven=reason)
        child = without_userinfo(ref.loc)
        if origin(child) == origin(index.url) and not child.startswith(directory(index.url)):
            return Verdict(True, "S13", f"{ref.loc} is above the index's directory: read all the same")
        return Verdict(True)
