"""What became of runs: outcomes and problems in; how sitemaps were read, their formats, problems by code out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from ..parser.content.sniff import Format
from .facts import Fact, Tops

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STATES = ("complete", "partial", "failed")


@attrs.frozen
class _Document:
    format: str
    state: str
    bytes_decoded: int
    dropped: Mapping[str, int]
    is_alias: bool


class Runs:
    """Documents, by the URL that they were in the end: one that several URLs lead to is one. And problems."""

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._robots_failed = 0
        self._has_run = False
        self._reported, self._on_urls = Tops(), Tops()

    def __bool__(self) -> bool:
        return self._has_run

    def take_outcome(self, form: Mapping[str, Any]) -> None:
        """Takes in a document. There are no more of them than a run may have."""
        self._has_run = True
        if form["format"] == Format.ROBOTS:
            self._robots_failed += not form["complete"]
            return
        url = form["url"]
        place = form["final_url"] or url or f"{len(self._documents)}"
        state = "complete" if form["complete"] else "partial" if form["entries"] else "failed"
        known = self._documents.get(place)
        if known is None or known.is_alias:
            self._documents[place] = _Document(
                form["format"] or "unknown", state, form["bytes_decoded"], form["dropped"], place != url
            )

    def take_problem(self, form: Mapping[str, Any]) -> None:
        """Takes in a problem that has a line of its own."""
        self._has_run = True
        self._reported.add(form["code"])

    def take_url(self, form: Mapping[str, Any]) -> None:
        """Takes in the problems of a URL."""
        for problem in form["problems"]:
            self._on_urls.add(problem["code"])

    def dropped(self, urls: int) -> Iterator[Fact]:
        """URLs by the reason why they are not among those listed."""
        dropped = Tops()
        for document in self._documents.values():
            for reason, count in document.dropped.items():
                dropped.add(reason, count)
        return dropped.facts("urls dropped", 5)

    def documents(self, urls: int) -> Iterator[Fact]:
        """Sitemaps: how they were read, of which formats they are, how large."""
        states, formats, sizes = Tops(), Tops(), Tops()
        for document in self._documents.values():
            states.add(document.state)
            formats.add(document.format)
            if document.bytes_decoded:
                sizes.add(document.format, document.bytes_decoded)
        yield from states.facts("sitemaps", len(_STATES), states.total, order=lambda pair: _STATES.index(pair[0]))
        if self._robots_failed:
            yield Fact("sitemaps", "robots.txt failed", self._robots_failed)
        yield from formats.facts("sitemaps format", 5, formats.total)
        yield from sizes.facts("sitemaps bytes", 5, sizes.total)

    def problems(self, urls: int) -> Iterator[Fact]:
        """By code. A run reports those of its URLs too."""
        return (self._reported if self else self._on_urls).facts("problems", 10)
