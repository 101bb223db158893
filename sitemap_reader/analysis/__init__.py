"""Sites as tables: Snapshot, its measures and their charts. Needs the extra `analysis`.

In: a run of SitemapReader, or a dump on disk. Out: Arrow tables, pandas frames, charts. Imports every folder but cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
