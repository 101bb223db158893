"""The SQLite state file: what each site listed in earlier runs, and what is new, updated or removed since.

Batches of a run go in; changes come out. Imports pipeline/ and all folders below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .change_log import LogEntry as LogEntry
    from .documents import StoredDocument as StoredDocument
    from .state import State as State
    from .state import StoredRun as StoredRun
    from .state import StoredSite as StoredSite

_NAMES = {
    ".change_log": ("LogEntry",),
    ".documents": ("StoredDocument",),
    ".state": ("State", "StoredRun", "StoredSite"),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
