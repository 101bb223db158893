"""Compares two dumps or state files: paths or records go in; new, updated and removed URLs come out.

Imports client/ and all folders below it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
