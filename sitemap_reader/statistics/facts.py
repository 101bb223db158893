"""What is told of a site, and the counters behind it: names in, facts out. Bounded, whatever the names are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_NAMES = 20_000
MAX_NAME_CHARS = 200
MIN_INEXACT_SHARE = 0.01

Pair = tuple[str, int]


@attrs.frozen
class Fact:
    """`count` things of the group are what `name` says; `share` is their part of all, where that makes sense.

    The groups, in this order, those that have something to say. Listings are counted: a URL that two sitemaps list
    counts twice, except where `repeated` tells it. Shares are of all listings, but for sitemaps and bytes.

    - `urls`: `listed`; `repeated`: listings of a URL that was listed before; `in sitemaps`, `on hosts`: how many of
      these there are. `urls with`: those that have `images`, `videos`, `news`, `alternates`, `mobile`, `extras`.
      `urls dropped`: what is not among those listed, by reason. `items`: how many images, videos and alternates there
      are. `hosts`: the 3 that have most.
    - `sitemaps`: documents that are `complete`, `partial` (some of it was read) or `failed`; `robots.txt failed`.
      `sitemaps format`, `sitemaps bytes`: how many there are of a format, and their unpacked size; 5 formats. These
      and `urls dropped` are told only where there are lines of type outcome.
    - `lastmod`: `stated`; `in the future`; `alike`: those that have the most frequent one of their sitemap, if ten or
      more have it, as a share of those stated. `lastmod verdict`: what they are worth, with the score of honesty() (0
      to 1); count and share are those of the stated. `lastmod oldest`, `newest`, `most common`: the name is the date,
      as exact as it was stated. `lastmod within`: `7 days`, `30 days`, `365 days` before now; a day that overlaps them
      counts, as for --since, a month or a year that began then. `lastmod precision`. `lastmod month`: the newest 6.
      `lastmod busiest weekday`, `lastmod busiest hour`, in UTC, with their share of those that state one. `lastmod
      year`: the newest 5.
    - `changefreq`; `priority`: the 5 values that most have; `none`: those that state none.
    - `sections`: the first folder of the path, the 10 that have most; `/` has those that lie in none. The last name of
      a path is the page, with or without a slash behind it. `depth`: how many names the path has.
    - `hreflang`: URLs that have an alternate with this code, the 10 that have most.
    - `problems`: by code; all of a run, where there are lines of type outcome or problem, else those of the URLs.

    `other` is what the names before it leave.
    """

    group: str
    name: str
    count: int
    share: float | None = None

    def form(self) -> dict[str, Any]:
        """The JSON line as a dict."""
        return {"type": "statistic", **attrs.asdict(self)}


class Tops:
    """Counts by name, to tell those that have most.

    Exact for up to `room` names. Where there are more, rare ones are given up, and counts may be too low by
    2 / `room` of the total: no frequent name is missed, wherever it stands (Misra and Gries, 1982). Then names are
    told from a share of MIN_INEXACT_SHARE on, where that error is small.

    >>> hosts = Tops()
    >>> for host in ("a.example", "b.example", "a.example"):
    ...     hosts.add(host)
    >>> hosts.top(1)
    [('a.example', 2)]
    """

    def __init__(self, room: int = MAX_NAMES) -> None:
        self.total = 0
        self.is_exact = True
        self._room = room
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, name: str, count: int = 1) -> None:
        """Counts it; long names by their beginning."""
        if len(name) > MAX_NAME_CHARS:
            name = f"{name[:MAX_NAME_CHARS]}…"
        self.total += count
        self._counts[name] = self._counts.get(name, 0) + count
        if len(self._counts) > self._room:
            self._give_up()

    def top(self, number: int) -> list[Pair]:
        """The names with the highest counts; equal ones in the order of the alphabet."""
        least = 0 if self.is_exact else MIN_INEXACT_SHARE * self.total
        pairs = (pair for pair in self._counts.items() if pair[1] >= least)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:number]

    def facts(
        self,
        group: str,
        number: int,
        total: int | None = None,
        *,
        order: Callable[[Pair], Any] | None = None,
        missing: str | None = None,
    ) -> Iterator[Fact]:
        """The top names, in `order` or by count, and what they leave; shares are of `total`.

        `missing` is the name of what has none.
        """
        shown = self.top(number)
        yield from facts(group, sorted(shown, key=order) if order else shown, total)
        left = self.total - sum(count for _, count in shown)
        missed = 0 if missing is None or total is None else total - self.total
        rest = (("other", left), (missing or "", missed))
        yield from facts(group, (pair for pair in rest if pair[1]), total)

    def _give_up(self) -> None:
        less = sorted(self._counts.values(), reverse=True)[self._room // 2]
        self._counts = {name: count - less for name, count in self._counts.items() if count > less}
        self.is_exact = False


def facts(group: str, pairs: Iterable[Pair], total: int | None = None) -> Iterator[Fact]:
    """One of each pair."""
    for name, count in pairs:
        yield Fact(group, name, count, share(count, total))


def share(count: int, total: int | None) -> float | None:
    """The part, from 0 to 1; None of nothing."""
    return count / total if total else None
