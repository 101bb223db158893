"""What differs between two dumps: their lines in, changes out.

In: paths, Snapshots, States, binary streams or records, OLD and NEW. Out: Changes, new and updated ones in the order of
NEW, then removed ones in the order of OLD.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..model.errors import UsageError
from ..serialize.jsonl import COMPARED, STATED, On
from .diff import Changes, Counts, compare
from .sides import is_state, open_side, stream_side

if TYPE_CHECKING:
    from .sides import Source

__all__ = ["COMPARED", "STATED", "Changes", "Counts", "On", "compare", "diff", "is_state", "open_side", "stream_side"]


def diff(old: Source, new: Source, *, on: On = "any") -> Changes:
    """What is new, updated and removed in `new`, of which `old` is an earlier state.

    Each is a path of a dump or of a state that changes() keeps, a Snapshot, a State, a binary stream of a dump, or
    anything that gives UrlRecords, as urls() does. Both are read to their ends at once.

    A URL is its `loc`; in dumps that both name a `site`, each site's URLs are its own. Where a dump lists one several
    times, the listing with the newest lastmod counts, of equal ones the first. It is updated where anything differs
    that the site states of it, or with `on="lastmod"`, its date or the precision; that it moved to another sitemap is
    no change. Keys that one of the dumps never has, because it was written with some fields only, are not compared:
    Changes.notes says so.

    UsageError for what is no dump, lists changes, or has lines but no URL. OSError where the temporary folder is full.
    """
    if on not in COMPARED:
        raise UsageError(f"on must be one of {', '.join(COMPARED)}, not {on!r}")
    with ExitStack() as files:
        # Both are opened before one is read: a NEW that is missing is told at once.
        return compare(open_side(old, "old", files), open_side(new, "new", files), on)
