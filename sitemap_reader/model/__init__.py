"""Records, problems, limits and errors: the values that all other folders exchange. Imports no other folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
