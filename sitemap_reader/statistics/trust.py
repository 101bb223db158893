"""What the lastmods of a site are worth: forms in, the verdict out. Bounded, however many sitemaps there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from ..frontier.lastmod_trust import FEW_ALIKE, History, honesty, in_words
from .facts import Fact, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Documents are read side by side, some at a time; and of each so many different dates are counted.
_MAX_OPEN, _MAX_DATES = 64, 10_000


@attrs.define
class _Open:
    """A sitemap that may go on."""

    entries: int = 0
    dates: Counter[str] = attrs.field(factory=Counter)
    dated: int = 0


class Trust:
    """take() every form, then facts(). Dates are judged by sitemap, and counted together."""

    def __init__(self) -> None:
        self._open: dict[object, _Open] = {}
        self._sum = History()

    def take(self, form: Mapping[str, Any]) -> None:
        """Takes in a URL."""
        sitemap = form.get("sitemap")
        seen = self._open.get(sitemap)
        if seen is None:
            seen = self._open[sitemap] = _Open()
            if len(self._open) > _MAX_OPEN:
                self._close(next(iter(self._open)))
        seen.entries += 1
        lastmod = form.get("lastmod")
        if lastmod is not None:
            seen.dated += 1
            if lastmod in seen.dates or len(seen.dates) < _MAX_DATES:
                seen.dates[lastmod] += 1

    def facts(self, future: int, urls: int) -> Iterator[Fact]:
        """The verdict; `future` of the dates lie ahead."""
        for sitemap in [*self._open]:
            self._close(sitemap)
        seen = attrs.evolve(self._sum, future=future)
        if seen.identical:
            yield Fact("lastmod", "alike", seen.identical, share(seen.identical, seen.dated))
        yield Fact("lastmod verdict", in_words(honesty(seen)), seen.dated, share(seen.dated, urls))

    def _close(self, sitemap: object) -> None:
        seen = self._open.pop(sitemap)
        most = max(seen.dates.values(), default=0)
        self._sum = attrs.evolve(
            self._sum,
            entries=self._sum.entries + seen.entries,
            dated=self._sum.dated + seen.dated,
            identical=self._sum.identical + (most if most >= FEW_ALIKE else 0),
        )
