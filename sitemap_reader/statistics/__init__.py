"""Statistics of a site: how many URLs, sitemaps, dates, extensions and problems it has, as Facts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
