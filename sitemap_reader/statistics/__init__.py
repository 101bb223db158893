"""Statistics of a site: how many URLs, sitemaps, dates, extensions and problems it has.

UrlBatches, outcomes and problems go in; facts (group, name, count, share) come out. Imports client/ and all folders
below it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
