"""What a site is held against besides its own rules: files, a Snapshot or a State in, the checks that do so out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..model.errors import UsageError
from ..model.problems import CATALOGUE
from .baseline import Earlier, open_baseline
from .crawled import Crawl, Unchanged

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from ..state.state import State
    from .baseline import Source
    from .check import Check
    from .findings import Findings


@attrs.frozen
class Against:
    """The export of a crawler; an earlier dump or a state, and the export of that time."""

    crawl: str | os.PathLike[str] | None = None
    baseline: Source | None = None
    state: str | os.PathLike[str] | State | None = None
    baseline_crawl: str | os.PathLike[str] | None = None

    def refuse(self, selected: Iterable[str] = ()) -> None:
        """UsageError for what does not go together, and for selected codes that need what is not given."""
        if self.baseline is not None and self.state is not None:
            raise UsageError("a baseline and a state both say what was there before: give one of them")
        if self.baseline_crawl is not None and (self._earlier is None or self.crawl is None):
            raise UsageError("baseline_crawl= is compared with a crawl and a baseline: give crawl= and baseline= too")
        needs = {code: what for codes, what in self._missing() for code in codes}
        for beginning in selected:
            meant = [code for code in CATALOGUE if code.startswith(beginning)]
            if needs.keys() >= {*meant}:
                raise UsageError(f"{beginning} needs {', and '.join(sorted({needs[code] for code in meant}))}")

    def _missing(self) -> list[tuple[tuple[str, ...], str]]:
        """Codes that cannot be found, and what they need."""
        given = (self.crawl, self._earlier, self.baseline_crawl)
        return [needs for needs, file in zip(_NEEDS, given, strict=True) if file is None]

    def checks(self, found: Findings, site: str | None, *, seeds: str | None = None) -> Iterator[Check]:
        """Those that are asked for, their files read. A dump of several sites has `site`; a state calls it `seeds`."""
        if self.crawl is not None and found.wants(Crawl.codes):
            yield Crawl.read(self.crawl)
        if self._earlier is None:
            return
        baseline = open_baseline(self._earlier, site, seeds=seeds, is_kept=self.state is not None)
        if found.wants(Earlier.codes):
            yield Earlier.read(baseline)
        if self.baseline_crawl is not None and self.crawl is not None and found.wants(Unchanged.codes):
            yield Unchanged.read(baseline, self.baseline_crawl, self.crawl)

    @property
    def _earlier(self) -> Source | None:
        return self.baseline if self.baseline is not None else self.state


# In the order of _missing().
_NEEDS = (
    (Crawl.codes, "what a crawler found (crawl=FILE)"),
    (Earlier.codes, "an earlier dump or a state (baseline=DUMP, state=FILE)"),
    (Unchanged.codes, "an earlier crawl and dump (baseline_crawl=FILE, baseline=DUMP, crawl=FILE)"),
)
