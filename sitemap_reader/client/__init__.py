"""Reads sites for the caller: SitemapReader with asyncio, urls() and changes() without, and their streams."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
