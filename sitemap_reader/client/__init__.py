"""Reads sites for the caller: SitemapReader with asyncio, urls() and changes() without, and their streams.

A target and keywords go in; URL records or changes, progress, problems and a summary come out. Drives pipeline/ and
state/; imports all folders below client/.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
