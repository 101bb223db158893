"""Fetches URLs: the Fetcher protocol, its aiohttp implementation with an SSRF guard, recordings and WARC files.

A URL and headers go in; a Response with the chunks of its body, or a FetchError, comes out. One request per call: the
frontier decides about redirects and retries. Imports model, serialize, parser and frontier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..model.errors import FetchError as FetchError
    from .client import AiohttpFetcher as AiohttpFetcher
    from .client import Fetcher as Fetcher
    from .client import Response as Response
    from .client import guarded_connector as guarded_connector
    from .replay import ReplayFetcher as ReplayFetcher
    from .ssrf_guard import address_refusal as address_refusal
    from .warc.fetcher import WarcFetcher as WarcFetcher

_NAMES = {
    "..model.errors": ("FetchError",),
    ".client": ("AiohttpFetcher", "Fetcher", "Response", "guarded_connector"),
    ".replay": ("ReplayFetcher",),
    ".ssrf_guard": ("address_refusal",),
    ".warc.fetcher": ("WarcFetcher",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
