"""Records, problems, limits and errors: the values that all other folders exchange.

Imports no other folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .problems import CATALOGUE as CATALOGUE

_NAMES = {
    ".problems": ("CATALOGUE",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
