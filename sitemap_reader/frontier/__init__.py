"""A crawl of sitemaps as a state machine without I/O: seeds, robots.txt policy, politeness, links, revalidation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
