"""Summary: a run in numbers, and as a line of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import attrs

from .messages import Message
from .problems import count_of

# Reasons in Outcome.dropped beside those of scope -> how messages name them.
UNWANTED: dict[str, str] = {"date": "outside the dates", "pattern": "outside the patterns"}


@attrs.frozen
class Summary:
    """A run in numbers. `str()` is one line; the command line ends with it, with options in place of keywords."""

    urls: int
    sitemaps_read: int
    sitemaps: int
    dropped: dict[str, int]  # out of scope: reason -> count
    unwanted: dict[str, int]  # filtered out, by date or pattern: reason -> count
    repeated: int  # listings of a URL that was yielded before, with unique
    not_modified: int  # unchanged sitemaps, which were not read
    pruned: dict[str, int]  # sitemaps that were not requested: reason -> count
    checked: int  # samples that confirmed that sitemaps with the reason "since" may be skipped
    since: datetime | None  # `since` as a datetime; of several runs the earliest
    problems: int
    failed: int  # sitemaps that gave nothing because of an error
    incomplete: int  # sitemaps that gave a part
    robots_failed: int  # robots.txt files that could not be read whole
    seconds: float
    stopped: bool = False  # the run has not come to its end: it was closed, interrupted, cut by a deadline, or goes on
    limited: bool = False  # it ended at the `limit`

    @property
    def complete(self) -> bool:
        """Whether the run came to its end, or its `limit`, and every sitemap and robots.txt was read whole."""
        return not (self.stopped or self.failed or self.incomplete or self.robots_failed)

    def __add__(self, other: Summary) -> Summary:
        fields = attrs.asdict(self, recurse=False)
        since = min(filter(None, (self.since, other.since)), default=None)
        for name, mine in fields.items():
            theirs = getattr(other, name)
            if isinstance(mine, dict):
                fields[name] = dict(Counter(mine) + Counter(theirs))
            elif isinstance(mine, bool):
                fields[name] = mine or theirs
            elif isinstance(mine, int | float):
                fields[name] = mine + theirs
        return Summary(**{**fields, "since": since})

    def __str__(self) -> str:
        return str(self.text)

    @property
    def text(self) -> Message:
        """`4,000 URLs in 3 sitemaps; 2 problems; 1.2 s`."""
        # Most documents of a run that ended at its limit were not read to their end: they are not counted.
        parts = [f"the first {count_of(self.urls, 'URL')}"] if self.limited else self._documents()
        if self.problems:
            parts.append(count_of(self.problems, "problem"))
        if self.stopped:
            parts.append("stopped")
        return Message.joined("; ", [*parts, f"{self.seconds:.1f} s"])

    def _documents(self) -> list[str]:
        read, sitemaps = self.sitemaps_read - self.not_modified, count_of(self.sitemaps, "sitemap")
        of_all = "" if read == self.sitemaps else f"{read:,} of "
        parts = [f"{count_of(self.urls, 'URL')} from {of_all}{sitemaps}"]
        if self.dropped:
            parts.append(dropped_text(self.dropped))
        parts += [f"{self.unwanted[reason]:,} {words}" for reason, words in UNWANTED.items() if reason in self.unwanted]
        if self.repeated:
            parts.append(f"{self.repeated:,} listed again")
        if self.not_modified:
            parts.append(f"{count_of(self.not_modified, 'sitemap')} not modified")
        return parts + [self._pruned(reason, count) for reason, count in sorted(self.pruned.items())]

    def partial_line(self) -> str | None:
        """`partial:` and what is missing; None if nothing is."""
        return f"partial: {missing}" if (missing := self.missing()) else None

    def missing(self) -> str:
        """`1 sitemap could not be read`; empty if nothing is missing."""
        parts = (
            (self.failed, f"{count_of(self.failed, 'sitemap')} could not be read"),
            (self.incomplete, f"{count_of(self.incomplete, 'sitemap')} could be read in part only"),
            (self.robots_failed, f"{self.robots_failed:,} robots.txt could not be read"),
            (self.stopped, "stopped before its end"),
        )
        return ", ".join(text for count, text in parts if count)

    def _pruned(self, reason: str, count: int) -> str:
        if reason != "since" or self.since is None:
            return f"{count_of(count, 'sitemap')} left out ({reason})"
        moment = self.since.astimezone(UTC).isoformat()
        since = moment[:10] if moment[10:19] == "T00:00:00" else f"{moment[:16]}Z"
        others = f"{count_of(self.checked, 'other')} checked" if self.checked else "not checked"
        return f"{count_of(count, 'sitemap')} skipped: index lastmod before {since}, {others}"


def dropped_text(dropped: Mapping[str, int]) -> Message:
    """`3 dropped (host 2, path 1; scope="any" keeps it)`."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(dropped.items()))
    return Message.of(
        '{count:,} dropped ({reasons}; {scope="any"} keeps it)', count=sum(dropped.values()), reasons=reasons
    )
