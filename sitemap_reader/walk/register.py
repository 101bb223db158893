"""The documents of a walk: each known once, by every URL that it goes by, with all that list it.

In: visits. Out: which are known, and who stands above whom. Parents may form cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .visit import Visit


# Parents that are looked at for a cycle. Sites have a handful.
_NEAREST = 64


class Register:
    """Visits by URL: the one that was asked for, and where redirects led."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def __contains__(self, url: str) -> bool:
        return url in self._visits

    def get(self, url: str) -> Visit | None:
        """The document that is known by this URL."""
        return self._visits.get(url)

    def add(self, url: str, visit: Visit) -> None:
        """From now on the document is known by this URL."""
        self._visits[url] = visit

    def is_above(self, known: Visit, visit: Visit) -> bool:
        """Is `known` the visit itself, or among those that list it, at any distance?

        In a thicket of indexes that all list each other only the nearest parents are looked at: nothing hangs on
        the answer but a word to the user, since a document that is known is never asked for again.
        """
        seen: set[str] = set()
        above = list(visit.parents[:_NEAREST])
        while above and known is not visit and len(seen) < _NEAREST:
            url = above.pop()
            parent = self._visits.get(url)
            if parent is known:
                return True
            if parent is not None and url not in seen:
                seen.add(url)
                above += parent.parents[:_NEAREST]
        return known is visit

    def is_in_index(self, visit: Visit) -> bool:
        """Is it listed by an index other than itself?"""
        parents = (self._visits.get(url) for url in visit.parents if url != visit.asked)
        return any(parent is not None and parent.is_index for parent in parents)
