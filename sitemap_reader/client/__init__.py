"""Reads sites for the caller: SitemapReader with asyncio, urls() and changes() without, and their streams.

A target and keywords go in; URL records or changes, progress, problems and a summary come out. Drives pipeline/ and
state/; imports all folders below client/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .dedupe import UrlSet as UrlSet
    from .reader import SitemapReader as SitemapReader
    from .streams import AsyncStream as AsyncStream
    from .streams import Stream as Stream
    from .summary import Problems as Problems
    from .summary import Progress as Progress
    from .summary import Summary as Summary
    from .targets import Target as Target
    from .targets import find_target as find_target

_NAMES = {
    ".dedupe": ("UrlSet",),
    ".reader": ("SitemapReader",),
    ".streams": ("AsyncStream", "Stream"),
    ".summary": ("Problems", "Progress", "Summary"),
    ".targets": ("Target", "find_target"),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
