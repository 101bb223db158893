"""The documents of a walk: each known once, by every URL that it goes by, with all that list it.

In: visits. Out: which are known, and who stands above whom. Parents may form cycles.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from ..parser.normalise.urls import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .document_request import Visit


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
        """Is `known`, a document or a robots.txt, the visit itself, or among those that list it, at any distance?

        In a thicket of indexes that all list each other only the nearest parents are looked at: nothing hangs on
        the answer but a word to the user, since a document that is known is never asked for again.
        """
        above = islice(self._above(visit), _NEAREST)
        return known is visit or any(url == known.asked or self.get(url) is known for url in above)

    def _above(self, visit: Visit) -> Iterator[str]:
        """What lists it, then what lists that, each once."""
        seen: set[str] = set()
        nearest = deque([visit])
        while nearest:
            for url in nearest.popleft().parents:
                if url not in seen:
                    seen.add(url)
                    yield url
                    parent = self.get(url)
                    if parent is not None:  # it is no robots.txt
                        nearest.append(parent)

    def is_in_index(self, visit: Visit) -> bool:
        """Is it listed by an index other than itself?"""
        parents = (self.get(url) for url in visit.parents if url != visit.asked)
        return any(parent is not None and parent.is_index for parent in parents)
