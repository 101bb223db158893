"""A site in a few numbers, for the report: URLs in, many at a time; counts by month, by section, by format out."""

from __future__ import annotations

import re
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

from ..parser.content.sniff import SITEMAP_FORMATS
from ..statistics.collector import Fact
from ..statistics.facts import Tops, facts, share
from .check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.records import Outcome
    from .check import Listed
    from .findings import Findings

_MOST_SECTIONS = 15
# A folder is what stands before another name: the last name of a path is the page.
_SECTION = re.compile(r"^[a-z]+://[^/\n]*(/(?:[^/?#\n]*/(?=[^/?#\n]))?)", re.MULTILINE)
_month = attrgetter("year", "month")


def _sections(listed: Listed) -> Counter[str]:
    """The first folders. A sitemap often lists one of them, and then it is enough to count how many begin so."""
    first = _SECTION.search(listed.text)
    if first is not None and len(first[1]) > 1 and listed.text.count(f"\n{first[0]}") == len(listed.locs):
        is_folder = not any(f"{first[0]}{end}" in listed.text for end in "\n/?#")
        if is_folder and not listed.text.endswith(first[0]):
            return Counter({first[1]: len(listed.locs)})
    return Counter(_SECTION.findall(listed.text))


class Survey(Check):
    """Hears all, and judges nothing. Then facts()."""

    codes = ()

    def __init__(self) -> None:
        self._urls = 0
        self._dated = 0
        self._months: Counter[tuple[int, int]] = Counter()
        self._sections = Tops()
        self._formats: Counter[str] = Counter()

    def urls(self, listed: Listed, found: Findings) -> None:
        """Counts them."""
        self._urls += len(listed.locs)
        self._dated += len(listed.dated)
        self._months.update(map(_month, listed.dated))
        for section, count in _sections(listed).items():
            self._sections.add(section, count)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Counts sitemaps."""
        if outcome.format in SITEMAP_FORMATS:
            self._formats[outcome.format] += 1

    def facts(self) -> Iterator[Fact]:
        """As Report.facts has them."""
        urls = self._urls
        months = [(f"{year}-{month:02}", count) for (year, month), count in sorted(self._months.items())]
        yield from facts("lastmod month", months, urls)
        if urls:
            undated = urls - self._dated
            yield Fact("lastmod none", "none", undated, share(undated, urls))
        yield from self._sections.facts("sections", _MOST_SECTIONS, urls)
        yield from facts("formats", self._formats.most_common(), self._formats.total())
