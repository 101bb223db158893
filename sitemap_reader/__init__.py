"""Reads a site's sitemaps as a crawler should. What is named here is public; what is not may change.

Names load on first use, so that parsing a document does not import a network library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .version import __version__

if TYPE_CHECKING:
    from . import scale as scale
    from .analysis.snapshot import Snapshot
    from .analysis.sources import load, snapshot
    from .checks.audit import audit
    from .checks.findings import Finding
    from .checks.report import Report
    from .checks.rule_docs import Explanation, explain
    from .client.dedupe import UrlSet
    from .client.reader import SitemapReader
    from .client.streams import AsyncChangeStream, AsyncUrlStream, ChangeStream, UrlStream
    from .client.summary import Problems, Progress, Summary
    from .client.sync_api import changes, discover, urls
    from .compare.diff import Changes, Counts, diff
    from .fetch.client import AiohttpFetcher, Fetcher, Response, guarded_connector
    from .fetch.replay import ReplayFetcher
    from .fetch.warc.fetcher import WarcFetcher
    from .frontier.lastmod_trust import History, LastmodTrust, honesty
    from .model.errors import (
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
    from .model.limits import Limits
    from .model.problems import CATALOGUE, Problem
    from .model.records import (
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
    from .parser.dialects.feed_fallback import FeedFallback
    from .parser.parser import Document, SitemapParser, iter_parse, parse
    from .pipeline.feedparser_process import FallbackResult, feedparser_fallback
    from .serialize.jsonl import from_json, json_form, json_line
    from .serialize.schema import schema
    from .state.documents import StoredDocument
    from .state.state import State, StoredRun, StoredSite
    from .state.sync import Counted

# Module -> the public names that live there.
_HOMES = {
    "analysis.sources": ("load", "snapshot"),
    "analysis.snapshot": ("Snapshot",),
    "client.sync_api": ("changes", "discover", "urls"),
    "checks.audit": ("audit",),
    "checks.rule_docs": ("Explanation", "explain"),
    "checks.findings": ("Finding",),
    "checks.report": ("Report",),
    "compare.diff": ("Changes", "Counts", "diff"),
    "state.sync": ("Counted",),
    "state.documents": ("StoredDocument",),
    "pipeline.feedparser_process": ("FallbackResult", "feedparser_fallback"),
    "fetch.client": ("AiohttpFetcher", "Fetcher", "Response", "guarded_connector"),
    "fetch.replay": ("ReplayFetcher",),
    "state.state": ("State", "StoredRun", "StoredSite"),
    "fetch.warc.fetcher": ("WarcFetcher",),
    "model.errors": (
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
    "serialize.jsonl": ("from_json", "json_form", "json_line"),
    "client.summary": ("Problems", "Progress", "Summary"),
    "model.limits": ("Limits",),
    "model.problems": ("CATALOGUE", "Problem"),
    "parser.parser": ("Document", "SitemapParser", "iter_parse", "parse"),
    "parser.dialects.feed_fallback": ("FeedFallback",),
    "client.reader": ("SitemapReader",),
    "model.records": (
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
    "client.dedupe": ("UrlSet",),
    "serialize.schema": ("schema",),
    "client.streams": ("AsyncChangeStream", "AsyncUrlStream", "ChangeStream", "UrlStream"),
    "frontier.lastmod_trust": ("History", "LastmodTrust", "honesty"),
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
    "Image",
    "Item",
    "LastmodTrust",
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
    "UrlSet",
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
