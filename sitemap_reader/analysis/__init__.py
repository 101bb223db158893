"""Sites as tables: Snapshot, its measures and their charts. Needs the extra `analysis`.

In: a run of SitemapReader, or a dump on disk. Out: Arrow tables, pandas frames, charts. Imports every folder but cli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .charts import Chart as Chart
    from .measure import Measure as Measure
    from .snapshot import Snapshot as Snapshot
    from .tables import Table as Table

_NAMES = {
    ".charts": ("Chart",),
    ".measure": ("Measure",),
    ".snapshot": ("Snapshot",),
    ".tables": ("Table",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
