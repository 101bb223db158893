"""The settings of a crawl: one immutable value, the same for all its sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..model.limits import Limits
from .filters import Patterns, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import SitemapRef
    from ..parser.normalise.scope import ScopeMode
    from .revalidation import Trust
    from .seeds import Probe


@attrs.frozen
class Plan:
    """What a crawl fetches, and how."""

    scope: ScopeMode = "protocol"
    selection: Selection = attrs.field(factory=Selection)
    trust_lastmod: Trust = "auto"  # skip children that an index calls older than the selection: see index_dates.py
    probe: Probe = "auto"
    obey_robots: bool = True
    is_recording: bool = False  # the answers are recorded ones: no delay is kept, so no Crawl-delay is too long
    follow: Callable[[SitemapRef], bool] | None = None  # which children of an index to read
    no_follow: Patterns = attrs.field(factory=Patterns)  # sitemaps that are never read
    user_agent: str = "sitemap-reader"
    sends_user_agent: bool = True  # False: the caller's fetcher sends one of its own
    concurrency: int = 16
    per_host: int = 4
    delay_seconds: float = 0.0  # between the starts of two requests to a host; a longer Crawl-delay replaces it
    extras: bool = False  # elements without a field are kept
    sniff_only: bool = False  # a document is read until its format is known, and gives no records
    descend: bool = True  # False: the candidates only, not their children
    former_sitemaps: frozenset[str] = frozenset()  # URLs that an earlier crawl read: their failures are reported
    limits: Limits = attrs.field(factory=Limits)
