"""Sitemaps as a whole: outcomes in; what they lack out. And a place to gather what the URLs of each amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ..frontier.filters import UNWANTED
from ..parser.content.sniff import SITEMAP_FORMATS
from .check import Check

if TYPE_CHECKING:
    from ..model.records import Outcome
    from .findings import Findings

Gathered = TypeVar("Gathered")


class ByDocument(Check, Generic[Gathered]):
    """A check that gathers something of each sitemap while it is read, and judges it at its end.

    Of a dump the end of a sitemap is only known where there is a line for its outcome: the rest is judged at the end.
    """

    is_by_sitemap = True

    def __init__(self) -> None:
        self._gathered: dict[str, Gathered] = {}

    def new(self) -> Gathered:
        """Nothing yet."""
        raise NotImplementedError

    def judge(self, sitemap: str, gathered: Gathered, outcome: Outcome | None, found: Findings) -> None:
        """All of a sitemap has passed."""
        raise NotImplementedError

    def of(self, sitemap: str) -> Gathered:
        """What was gathered of a sitemap so far."""
        gathered = self._gathered.get(sitemap)
        if gathered is None:
            gathered = self._gathered[sitemap] = self.new()
        return gathered

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Its end."""
        gathered = self._gathered.pop(outcome.url or "", None)
        if gathered is not None:
            self.judge(outcome.url or "", gathered, outcome, found)

    def end(self, found: Findings) -> None:
        """Those whose end nobody told."""
        for sitemap, gathered in self._gathered.items():
            self.judge(sitemap, gathered, None, found)
        self._gathered.clear()


class Answers(Check):
    """How sitemaps are served (F10)."""

    codes = ("F10",)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Validators let a crawler ask whether anything has changed."""
        is_sitemap = outcome.status == 200 and outcome.format in SITEMAP_FORMATS and not outcome.not_modified
        if is_sitemap and not (outcome.etag or outcome.last_modified):
            told = "the answer has neither ETag nor Last-Modified: it is fetched whole each time"
            found.note("F10", told, sitemap=outcome.url)


class Emptiness(Check):
    """Sitemaps that list nothing (S06)."""

    codes = ("S06",)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """What was not read, or is another one under a second name, is not judged."""
        is_sitemap = outcome.format in SITEMAP_FORMATS and outcome.bytes_decoded and not outcome.not_modified
        is_known = outcome.complete or outcome.entries  # else it broke off before its first entry
        is_filtered = not UNWANTED.keys().isdisjoint(outcome.dropped)  # as a dump may be
        if is_sitemap and is_known and not is_filtered and not outcome.kept:
            told = "it has no entry" if not outcome.entries else f"none of its {outcome.entries:,} entries can be kept"
            found.note("S06", told, sitemap=outcome.url)
