"""Reads a site's sitemaps as a crawler should. What is named here is public; what is not may change.

Names load on first use, so that parsing a document does not import a network library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .version import __version__

if TYPE_CHECKING:
    from . import scale as scale
    from .analysis.reading import load, snapshot
    from .analysis.snapshot import Snapshot
    from .blocking import changes, discover, urls
    from .checks.audit import audit
    from .checks.explaining import Explanation, explain
    from .checks.findings import Finding
    from .checks.report import Report
    from .compare import Changes, Counts, diff
    from .crawl.changes import Counted
    from .crawl.documents import StoredDocument
    from .crawl.feedchild import FallbackResult, feedparser_fallback
    from .crawl.fetch import AiohttpFetcher, Fetcher, Response, guarded_connector
    from .crawl.replay import ReplayFetcher
    from .crawl.state import State, StoredRun, StoredSite
    from .crawl.warc.fetcher import WarcFetcher
    from .errors import (
        FallbackFailed,
        FetchError,
        NothingFound,
        NothingReadable,
        PartialRead,
        ReadError,
        SitemapReaderError,
        StateError,
        UsageError,
    )
    from .jsonl import json_form, json_line
    from .ledger import Problems, Progress, Summary
    from .limits import Limits
    from .problems import CATALOGUE, Problem
    from .read.bodies import Document, iter_parse, parse
    from .read.document import SitemapParser
    from .read.fallback import FeedFallback
    from .reader import SitemapReader
    from .records import (
        Alternate,
        Candidate,
        Change,
        Extra,
        Image,
        Item,
        News,
        Outcome,
        SitemapRef,
        UrlRecord,
        Video,
    )
    from .restore import from_json
    from .seen import Seen
    from .shapes import schema
    from .streams import AsyncUrlStream, UrlStream
    from .syncing import AsyncChangeStream, ChangeStream
    from .walk.honesty import History, Honesty, honesty

# Module -> the public names that live there.
_HOMES = {
    "analysis.reading": ("load", "snapshot"),
    "analysis.snapshot": ("Snapshot",),
    "blocking": ("changes", "discover", "urls"),
    "checks.audit": ("audit",),
    "checks.explaining": ("Explanation", "explain"),
    "checks.findings": ("Finding",),
    "checks.report": ("Report",),
    "compare": ("Changes", "Counts", "diff"),
    "crawl.changes": ("Counted",),
    "crawl.documents": ("StoredDocument",),
    "crawl.feedchild": ("FallbackResult", "feedparser_fallback"),
    "crawl.fetch": ("AiohttpFetcher", "Fetcher", "Response", "guarded_connector"),
    "crawl.replay": ("ReplayFetcher",),
    "crawl.state": ("State", "StoredRun", "StoredSite"),
    "crawl.warc.fetcher": ("WarcFetcher",),
    "errors": (
        "FallbackFailed",
        "FetchError",
        "NothingFound",
        "NothingReadable",
        "PartialRead",
        "ReadError",
        "SitemapReaderError",
        "StateError",
        "UsageError",
    ),
    "jsonl": ("json_form", "json_line"),
    "ledger": ("Problems", "Progress", "Summary"),
    "limits": ("Limits",),
    "problems": ("CATALOGUE", "Problem"),
    "read.bodies": ("Document", "iter_parse", "parse"),
    "read.document": ("SitemapParser",),
    "read.fallback": ("FeedFallback",),
    "reader": ("SitemapReader",),
    "records": (
        "Alternate",
        "Candidate",
        "Change",
        "Extra",
        "Image",
        "Item",
        "News",
        "Outcome",
        "SitemapRef",
        "UrlRecord",
        "Video",
    ),
    "restore": ("from_json",),
    "seen": ("Seen",),
    "shapes": ("schema",),
    "streams": ("AsyncUrlStream", "UrlStream"),
    "syncing": ("AsyncChangeStream", "ChangeStream"),
    "walk.honesty": ("History", "Honesty", "honesty"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
# Whose names are asked for by theirs: `sr.scale.harvest()`.
_ROOMS = ("scale",)

__all__ = [
    "CATALOGUE",
    "AiohttpFetcher",
    "Alternate",
    "AsyncChangeStream",
    "AsyncUrlStream",
    "Candidate",
    "Change",
    "ChangeStream",
    "Changes",
    "Counted",
    "Counts",
    "Document",
    "Explanation",
    "Extra",
    "FallbackFailed",
    "FallbackResult",
    "FeedFallback",
    "FetchError",
    "Fetcher",
    "Finding",
    "History",
    "Honesty",
    "Image",
    "Item",
    "Limits",
    "News",
    "NothingFound",
    "NothingReadable",
    "Outcome",
    "PartialRead",
    "Problem",
    "Problems",
    "Progress",
    "ReadError",
    "ReplayFetcher",
    "Report",
    "Response",
    "Seen",
    "SitemapParser",
    "SitemapReader",
    "SitemapReaderError",
    "SitemapRef",
    "Snapshot",
    "State",
    "StateError",
    "StoredDocument",
    "StoredRun",
    "StoredSite",
    "Summary",
    "UrlRecord",
    "UrlStream",
    "UsageError",
    "Video",
    "WarcFetcher",
    "__version__",
    "audit",
    "changes",
    "diff",
    "discover",
    "explain",
    "feedparser_fallback",
    "from_json",
    "guarded_connector",
    "honesty",
    "iter_parse",
    "json_form",
    "json_line",
    "load",
    "parse",
    "schema",
    "snapshot",
    "urls",
]


if not TYPE_CHECKING:  # a type checker must not take every name for one that exists

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
