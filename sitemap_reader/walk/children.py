"""A child that an index lists -> whether to read it, and what to note.

Sources: sitemaps.org ("Sitemaps & Cross Submits", "Sitemap file location"), and the caps of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..read.scope import Mode, Scope
from ..read.urls import directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..limits import Limits
    from ..records import SitemapRef
    from .visit import Visit
    from .window import Window


@attrs.frozen
class Verdict:
    """`read` it or not; a Problem's `code` and `message`; why it was `pruned` at the caller's wish.

    `missing`: what is not read was asked for, so the index is not complete.
    """

    read: bool
    code: str | None = None
    message: str = ""
    pruned: str | None = None
    missing: bool = False


@attrs.frozen
class ChildRules:
    """What decides on children, the same for the whole walk."""

    scope: Mode
    window: Window
    follow: Callable[[SitemapRef], bool] | None
    limits: Limits

    def judge(self, index: Visit, ref: SitemapRef, proofs: tuple[str, ...]) -> Verdict:
        """The verdict on a child that was not listed before; `proofs` is what robots.txt files say for it."""
        if self.window.prunes(ref):
            return Verdict(False, pruned="since")
        if self.follow is not None and not self.follow(ref):
            return Verdict(False, pruned="follow")
        limit = self.limits.max_index_depth
        if index.depth >= limit:
            message = f"{ref.loc} lies below {limit} indexes: not read; raise max_index_depth to go on"
            return Verdict(False, "S14", message, missing=True)
        reason = Scope(self.scope, ref.authorities).reason(ref.loc)
        # A robots.txt that names the child is the proof, wherever the child lies.
        if reason not in (None, "path") and not proofs:
            return Verdict(False, "U04", f"{ref.loc} is on another {reason}, without proof: not read")
        if not ref.loc.startswith(directory(index.url)):
            return Verdict(True, "S13", f"{ref.loc} is above the index's directory: read all the same")
        return Verdict(True)
