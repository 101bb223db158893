"""Fetches URLs: the Fetcher protocol, its aiohttp implementation with an SSRF guard, recordings and WARC files.

A URL and headers go in; a Response with the chunks of its body, or a FetchError, comes out. One request per call: the
frontier decides about redirects and retries. Imports model, serialize, parser and frontier.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
