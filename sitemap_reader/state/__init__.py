"""The SQLite state file: what each site listed in earlier runs, and what is new, updated or removed since.

Batches of a run go in; changes come out. Imports pipeline/ and all folders below it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
