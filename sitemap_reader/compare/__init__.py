"""Compares two dumps or state files: paths or records go in; new, updated and removed URLs come out.

Imports client/ and all folders below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .diff import Changes as Changes

_NAMES = {
    ".diff": ("Changes",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
