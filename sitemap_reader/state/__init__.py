"""The SQLite state file: what each site listed in earlier runs, and what is new, updated or removed since."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
