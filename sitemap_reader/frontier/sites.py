"""Discovery of one site as a small state machine: robots.txt, then what it names, then well-known paths.

In: what became of each candidate. Out: the next URL to guess, if it is time to guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..model.records import Candidate, Outcome
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from .seeds import WELL_KNOWN, Probe, Seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .document_request import Visit


@attrs.define(eq=False)
class Site:
    """`pending` counts the candidates that are still on their way; `candidates` is what discovery reports."""

    seed: Seed
    probe: Probe
    origin: str
    other_origins: list[str]
    awaits_robots: bool = False
    pending: int = 0
    found: bool = False  # a named candidate holds a sitemap
    candidates: list[Candidate] = attrs.field(factory=list)
    first_failure: Visit | None = None  # robots.txt at the first of several origins
    is_over: bool = False  # nothing more will be asked for on its account
    pages: list[Visit] = attrs.field(factory=list)  # well-known paths with an HTML page
    _is_absent: bool = False  # a well-known path has neither a sitemap nor a page
    _paths: Iterator[str] = attrs.field(factory=lambda: iter(WELL_KNOWN))
    _guess_found: bool = False

    @classmethod
    def of(cls, seed: Seed, probe: Probe) -> Site:
        first, *others = seed.origins
        return cls(seed, probe, first, others)

    def expect(self, visit: Visit) -> None:
        """A candidate, which may be that of another site already, and may have come to its end."""
        if self in visit.sites:
            return
        self.pending += 1
        if visit.outcome:
            self.settled(visit.outcome)
        else:
            visit.sites.append(self)

    def settled(self, outcome: Outcome) -> None:
        """A candidate has come to its end."""
        self.pending -= 1
        holds = outcome.format in SITEMAP_FORMATS
        guess = outcome.why == "well-known"
        if guess:
            self._guess_found = self._guess_found or holds
            is_absent = not (holds or outcome.format == Format.HTML or "F02" in outcome.problems)
            self._is_absent = self._is_absent or is_absent
        else:
            self.found = self.found or holds
        if holds or not guess:
            self.list_candidate(outcome)

    def list_candidate(self, outcome: Outcome) -> None:
        """Discovery reports it."""
        errors = (p for p in outcome.samples if p.severity == "error" or p.code == "F15")
        error = next((f"{p.code} {p.message}" for p in errors), None)
        self.candidates.append(Candidate(outcome.url or "", outcome.why, outcome.status, outcome.format, error))

    @property
    def has_sitemap(self) -> bool:
        """One was found, at whatever place."""
        return self.found or self._guess_found

    @property
    def has_only_pages(self) -> bool:
        """All well-known paths that were asked for have an HTML page, and nothing is known of any other place."""
        return bool(self.pages) and not (self._is_absent or self.candidates)

    def next_guess(self) -> str | None:
        """The next well-known URL, once all named candidates are through and unless it is not called for."""
        if self.pending or self._guess_found or self.seed.document or self.seed.robots_only:
            return None
        if self.probe == "never" or (self.probe == "auto" and self.found):
            return None
        path = next(self._paths, None)
        if path is None:
            return None
        return self.origin + path
