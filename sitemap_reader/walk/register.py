"""The documents of a walk: each known once, by every URL that it goes by, with all that list it.

In: visits. Out: which are known, and who stands above whom. Parents may form cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.urls import without_userinfo

if TYPE_CHECKING:
    from .visit import Visit


# Parents that are looked at for a cycle. Sites have a handful.
_NEAREST = 64


class Register:
    """Visits by URL: the one that was asked for, and where redirects led.

    Userinfo is never sent, so URLs that differ only in that are one document.
    """

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}
        self.documents = 0

    def __contains__(self, url: str) -> bool:
        return self.get(url) is not None

    def get(self, url: str) -> Visit | None:
        """The document that is known by this URL."""
        return self._visits.get(without_userinfo(url))

    def add(self, visit: Visit) -> None:
        """A new document, by the URL under which it is asked for."""
        self.documents += 1
        self.add_name(visit.asked, visit)

    def add_name(self, url: str, visit: Visit) -> None:
        """From now on the document is known by this URL too."""
        self._visits[without_userinfo(url)] = visit

    def is_above(self, known: Visit, visit: Visit) -> bool:
        """Is `known` the visit itself, or among those that list it, at any distance?

        In a thicket of indexes that all list each other only the nearest parents are looked at: nothing hangs on
        the answer but a word to the user, since a document that is known is never asked for again.
        """
        seen: set[str] = set()
        above = list(visit.parents[:_NEAREST])
        while above and known is not visit and len(seen) < _NEAREST:
            url = above.pop()
            parent = self.get(url)
            if parent is known:
                return True
            if parent is not None and url not in seen:
                seen.add(url)
                above += parent.parents[:_NEAREST]
        return known is visit

    def is_in_index(self, visit: Visit) -> bool:
        """Is it listed by an index other than itself?"""
        parents = (self.get(url) for url in visit.parents if url != visit.asked)
        return any(parent is not None and parent.is_index for parent in parents)
