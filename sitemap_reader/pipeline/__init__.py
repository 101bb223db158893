"""Drives a frontier with a fetcher: requests are sent, bodies are parsed outside the event loop.

Seeds go in; batches of URL records, sitemap links, problems and outcomes come out. Also runs feedparser in a child
process. Imports model, serialize, parser, frontier and fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..model.errors import FallbackFailed as FallbackFailed
    from ..parser.dialects.feed_fallback import FeedFallback as FeedFallback
    from .feedparser_process import FallbackResult as FallbackResult
    from .feedparser_process import feedparser_fallback as feedparser_fallback

_NAMES = {
    "..model.errors": ("FallbackFailed",),
    "..parser.dialects.feed_fallback": ("FeedFallback",),
    ".feedparser_process": ("FallbackResult", "feedparser_fallback"),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
