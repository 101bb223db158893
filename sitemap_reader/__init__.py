"""Reads a site's sitemaps into typed URL records.

A target or the bytes of a document go in; typed records, problems and outcomes come out. The names in `__all__` and
those of the subpackages in SUBPACKAGES are public; everything else may change. Both load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_exports import lazy_exports
from .version import __version__ as __version__

if TYPE_CHECKING:  # the same names as in _NAMES, for type checkers and editors
    from . import analysis as analysis
    from . import checks as checks
    from . import client as client
    from . import compare as compare
    from . import fetch as fetch
    from . import frontier as frontier
    from . import model as model
    from . import pipeline as pipeline
    from . import scale as scale
    from . import state as state
    from . import watching as watching
    from .analysis.charts import Chart as Chart
    from .analysis.measure import Measure as Measure
    from .analysis.snapshot import Snapshot as Snapshot
    from .analysis.sources import load as load
    from .analysis.sources import snapshot as snapshot
    from .analysis.tables import Table as Table
    from .checks.audit import audit as audit
    from .checks.report import Report as Report
    from .checks.rule_docs import explain as explain
    from .client.dedupe import UrlSet as UrlSet
    from .client.reader import SitemapReader as SitemapReader
    from .client.streams import AsyncStream as AsyncStream
    from .client.streams import Stream as Stream
    from .client.summary import Summary as Summary
    from .client.sync_api import changes as changes
    from .client.sync_api import discover as discover
    from .client.sync_api import urls as urls
    from .compare.diff import diff as diff
    from .model.errors import NothingFound as NothingFound
    from .model.errors import NothingReadable as NothingReadable
    from .model.errors import PartialRead as PartialRead
    from .model.errors import ReadError as ReadError
    from .model.errors import SitemapReaderError as SitemapReaderError
    from .model.errors import StateError as StateError
    from .model.errors import UsageError as UsageError
    from .model.limits import Limits as Limits
    from .model.problems import Problem as Problem
    from .model.records import Alternate as Alternate
    from .model.records import Candidate as Candidate
    from .model.records import Change as Change
    from .model.records import ChangeCounts as ChangeCounts
    from .model.records import Extra as Extra
    from .model.records import Image as Image
    from .model.records import Item as Item
    from .model.records import News as News
    from .model.records import Outcome as Outcome
    from .model.records import SitemapRef as SitemapRef
    from .model.records import UrlRecord as UrlRecord
    from .model.records import Video as Video
    from .model.records import WatchedChange as WatchedChange
    from .parser.parser import Document as Document
    from .parser.parser import SitemapParser as SitemapParser
    from .parser.parser import iter_parse as iter_parse
    from .parser.parser import parse as parse
    from .serialize.jsonl import from_json as from_json
    from .serialize.jsonl import json_line as json_line
    from .serialize.jsonl import to_dict as to_dict
    from .serialize.schema import schema as schema
    from .watching.api import watch as watch

# Module -> the public names that it defines.
_NAMES = {
    ".analysis.charts": ("Chart",),
    ".analysis.measure": ("Measure",),
    ".analysis.snapshot": ("Snapshot",),
    ".analysis.sources": ("load", "snapshot"),
    ".analysis.tables": ("Table",),
    ".checks.audit": ("audit",),
    ".checks.report": ("Report",),
    ".checks.rule_docs": ("explain",),
    ".client.dedupe": ("UrlSet",),
    ".client.reader": ("SitemapReader",),
    ".client.streams": ("AsyncStream", "Stream"),
    ".client.summary": ("Summary",),
    ".client.sync_api": ("changes", "discover", "urls"),
    ".compare.diff": ("diff",),
    ".model.errors": (
        "NothingFound",
        "NothingReadable",
        "PartialRead",
        "ReadError",
        "SitemapReaderError",
        "StateError",
        "UsageError",
    ),
    ".model.limits": ("Limits",),
    ".model.problems": ("Problem",),
    ".model.records": (
        "Alternate",
        "Candidate",
        "Change",
        "ChangeCounts",
        "Extra",
        "Image",
        "Item",
        "News",
        "Outcome",
        "SitemapRef",
        "UrlRecord",
        "Video",
        "WatchedChange",
    ),
    ".parser.parser": ("Document", "SitemapParser", "iter_parse", "parse"),
    ".serialize.jsonl": ("from_json", "json_line", "to_dict"),
    ".serialize.schema": ("schema",),
    ".watching.api": ("watch",),
}
# Classes whose modules import pandas: not part of `import *`, which works without it.
_NEED_PANDAS = ("Chart", "Measure")
# Public names for special needs: `sr.state.State`, `sr.fetch.ReplayFetcher`. docs/api lists them.
SUBPACKAGES = (
    "analysis",
    "checks",
    "client",
    "compare",
    "fetch",
    "frontier",
    "model",
    "pipeline",
    "scale",
    "state",
    "watching",
)

if not TYPE_CHECKING:  # a type checker would accept any attribute of a module with __getattr__
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES, SUBPACKAGES)
    __all__ += ["__version__"]
    __all__ = [name for name in __all__ if name not in _NEED_PANDAS]
