"""changefreq and priority: forms in, the distribution of each out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .facts import Tops

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .facts import Fact


class Hints:
    """take() every form, then facts()."""

    def __init__(self) -> None:
        self._changefreqs, self._priorities = Tops(), Tops()

    def take(self, form: Mapping[str, Any]) -> None:
        """Takes in a URL."""
        changefreq, priority = form.get("changefreq"), form.get("priority")
        if changefreq is not None:
            self._changefreqs.add(changefreq)
        if priority is not None:
            self._priorities.add(format(priority, "g"))

    def facts(self, urls: int) -> Iterator[Fact]:
        """By count; priorities by value."""
        yield from self._changefreqs.facts("changefreq", 7, urls, missing="none")
        yield from self._priorities.facts("priority", 5, urls, order=lambda pair: -float(pair[0]), missing="none")
