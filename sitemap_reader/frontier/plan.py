"""What a walk is to do: one value, the same for all its sites. Nothing in it changes on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..model.limits import Limits
from .filters import Patterns, Selection
from .revalidation import DocumentCache, Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import SitemapRef
    from ..parser.normalise.scope import ScopeMode
    from .seeds import Probe


@attrs.frozen
class Plan:
    """What a walk is to do; the same for all its sites."""

    scope: ScopeMode = "protocol"
    selection: Selection = attrs.field(factory=Selection)
    trust_lastmod: Trust = "auto"  # whether what an index calls older than the selection is skipped: see index_dates.py
    probe: Probe = "auto"
    obey_robots: bool = True
    is_recording: bool = False  # nothing is waited for, so that no Crawl-delay is too long
    follow: Callable[[SitemapRef], bool] | None = None  # which children of an index to read
    no_follow: Patterns = attrs.field(factory=Patterns)  # sitemaps never to read, whoever lists them
    user_agent: str = "sitemap-reader"
    concurrency: int = 16
    per_host: int = 4
    descend: bool = True  # False: the candidates only, not their children
    memory: DocumentCache = attrs.field(factory=DocumentCache)  # of an earlier walk
    limits: Limits = attrs.field(factory=Limits)
