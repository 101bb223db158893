"""What a site is held against besides its own rules: names of files in, the checks that do so out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ...errors import UsageError
from .crawled import Crawl, Unchanged
from .earlier import Earlier, open_baseline

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from ..check import Check
    from ..findings import Findings


@attrs.frozen
class Against:
    """The export of a crawler; an earlier dump or a state, and the export of that time."""

    crawl: str | os.PathLike[str] | None = None
    baseline: str | os.PathLike[str] | None = None
    state: str | os.PathLike[str] | None = None
    baseline_crawl: str | os.PathLike[str] | None = None

    def refuse(self) -> None:
        """UsageError for what does not go together."""
        if self.baseline is not None and self.state is not None:
            raise UsageError("baseline and state both say what was there before: give one of them")
        if self.baseline_crawl is not None and (self._earlier is None or self.crawl is None):
            raise UsageError("baseline_crawl is compared with crawl, and lastmods with those of a baseline: give both")

    def checks(self, found: Findings, site: str | None, *, seeds: str | None = None) -> Iterator[Check]:
        """Those that are asked for, their files read. A dump of several sites has `site`; a state calls it `seeds`."""
        if self.crawl is not None and found.wants(Crawl.codes):
            yield Crawl.read(self.crawl)
        if self._earlier is None:
            return
        baseline = open_baseline(self._earlier, site if self.state is None else seeds)
        if found.wants(Earlier.codes):
            yield Earlier.read(baseline)
        if self.baseline_crawl is not None and self.crawl is not None and found.wants(Unchanged.codes):
            yield Unchanged.read(baseline, self.baseline_crawl, self.crawl)

    @property
    def _earlier(self) -> str | os.PathLike[str] | None:
        return self.baseline if self.baseline is not None else self.state
