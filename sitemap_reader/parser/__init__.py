"""The parser: bytes of one document in; UrlRecords, SitemapRefs, Problems and an Outcome out.

Pure: no I/O, no clock, no globals. Imports model/ only.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
