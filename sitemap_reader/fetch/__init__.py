"""Fetches URLs: the Fetcher protocol, its aiohttp implementation with an SSRF guard, recordings and WARC files.

One request per call: the frontier decides about redirects and retries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
