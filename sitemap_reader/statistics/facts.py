"""Counters of statistics: add() takes what is counted, facts() yields the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import attrs

from ..frontier.lastmod_trust import History, LastmodEvidence, indications, judge_history, total, trust_in_words
from ..model.url_batch import moment_of, precision_of
from ..parser.normalise.dates import PRECISION_CHARACTERS
from ..serialize.jsonl import stamp

if TYPE_CHECKING:
    from ..frontier.lastmod_trust import Kind
    from ..model.records import Precision
    from ..model.url_batch import UrlBatch


MAX_NAMES = 20_000
MAX_NAME_CHARS = 200
MIN_INEXACT_SHARE = 0.01

Pair = tuple[str, int]


@attrs.frozen
class Fact:
    """A number of a site: the `count` of `name` in a group; `share` (0 to 1) is its part of all, None if unsuited.

    The groups, in their order; empty ones are omitted. Listings are counted: a URL that two sitemaps list counts twice,
    and once as `repeated`. Shares are of all listings, except for sitemaps and bytes.

    - `urls`: `listed`; `repeated`: listings of a URL that was listed before; `in sitemaps`, `on hosts`: how many of
      these there are. `urls with`: those that have `images`, `videos` and the other fields of extensions, `extras`.
      `urls dropped`: URLs that were dropped, by reason. `items`: how many there are of those that are lists. `hosts`:
      the 3 that have most.
    - `sitemaps`: documents that are `complete`, `partial` (some of it was read) or `failed`; `robots.txt failed`.
      `sitemaps format`, `sitemaps bytes`: how many there are of a format, and their unpacked size; 5 formats. These
      and `urls dropped` need lines of type outcome.
    - `lastmod`: `stated`; `in the future`; as shares of those stated: `in a batch`, those within the ten minutes that
      hold most of their sitemap, if ten or more are; `at the time of reading`, if five or more of a sitemap are.
      `lastmod batch`: the dates of the largest batches (builds, imports), at most 3. `lastmod verdict`: how far they
      can be trusted, with their score (0 to 1); count and share are those of the stated. `lastmod oldest`, `newest`,
      `most common`: the name is the date, as exact as it was stated. `lastmod within`: `7 days`, `30 days`, `365 days`
      before now; a day that overlaps them counts, as for --since, a month or a year that began then. `lastmod
      precision`. `lastmod month`: the newest 6. `lastmod busiest weekday`, `lastmod busiest hour`, in UTC, with their
      share of those that state one. `lastmod year`: the newest 5.
    - `changefreq`; `priority`: the 5 values that most have; `none`: those that state none.
    - `sections`: the first folder of the path below one that states a language, the 10 that have most; `/` has those
      that lie in none. The last name of a path is the page, with or without a slash behind it. `depth`: how many names
      the path has.
    - `hreflang`: URLs that have an alternate with this code, the 10 that have most.
    - `robots.txt Googlebot`, and so for each crawler of --robots-for: URLs that it permits (`allowed`), and that it
      forbids (`disallowed`); `not checked`, where the robots.txt of the host is not known. `robots.txt Googlebot
      disallowed`: the 5 sections that have most of these.
    - `problems`: by code; all of a run, where there are lines of type outcome or problem, else those of the URLs.

    `other` is what the names before it leave.
    """

    group: str
    name: str
    count: int
    share: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"type": "statistic", **attrs.asdict(self)}


class TopCounts:
    """Counts by name in bounded memory; top() returns the most frequent names.

    Exact for up to `max_names` names. Beyond that rare names are discarded, and counts may be too low by
    2 / `max_names` of the total: no frequent name is missed, wherever it occurs (Misra and Gries, 1982). Then top()
    returns only names with a share of at least MIN_INEXACT_SHARE, for which that error is small.

    >>> hosts = TopCounts()
    >>> for host in ("a.example", "b.example", "a.example"):
    ...     hosts.add(host)
    >>> hosts.top(1)
    [('a.example', 2)]
    """

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        self.total = 0
        self.is_exact = True
        self._max_names = max_names
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, name: str, count: int = 1) -> None:
        """Adds to the count of a name; names over MAX_NAME_CHARS are cut."""
        if len(name) > MAX_NAME_CHARS:
            name = f"{name[:MAX_NAME_CHARS]}…"
        self.total += count
        self._counts[name] = self._counts.get(name, 0) + count
        if len(self._counts) > self._max_names:
            less = sorted(self._counts.values(), reverse=True)[self._max_names // 2]
            self._counts = {name: count - less for name, count in self._counts.items() if count > less}
            self.is_exact = False

    def update(self, names: Iterable[str]) -> None:
        for name, count in Counter(names).items():
            self.add(name, count)

    def items(self) -> Iterable[Pair]:
        return self._counts.items()

    def top(self, number: int) -> list[Pair]:
        """The names with the highest counts; equal ones sorted by name."""
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
        """Facts of the top names, sorted by `order` or by count, and of the `other` names; shares are of `total`.

        `missing` names the fact that counts items without a name: `total` minus the items counted here.
        """
        shown = self.top(number)
        yield from facts(group, sorted(shown, key=order) if order else shown, total)
        left = self.total - sum(count for _, count in shown)
        unnamed = 0 if missing is None or total is None else total - self.total
        rest = (("other", left), (missing or "", unnamed))
        yield from facts(group, (pair for pair in rest if pair[1]), total)


def facts(group: str, pairs: Iterable[Pair], total: int | None = None) -> Iterator[Fact]:
    for name, count in pairs:
        yield Fact(group, name, count, share(count, total))


def share(count: int, total: int | None) -> float | None:
    """The part of a total, from 0 to 1; None if that is 0 or None."""
    return count / total if total else None


# --- trust in the lastmods ---

_MAX_OPEN = 64  # sitemaps are read concurrently, so their URLs are interleaved
# Kind of evidence -> the name of its fact.
_NAMES: dict[Kind, str] = {"future": "in the future", "dense": "in a batch", "at_fetch": "at the time of reading"}


def trust_facts(history: History, urls: int) -> Iterator[Fact]:
    counts = {each.kind: each.count for each in indications(history)}
    for kind, name in _NAMES.items():
        if kind in counts:
            yield Fact("lastmod", name, counts[kind], share(counts[kind], urls if kind == "future" else history.dated))
    for batch in history.named:
        yield Fact("lastmod batch", str(batch), batch.count, share(batch.count, history.dated))
    yield Fact("lastmod verdict", trust_in_words(judge_history(history)), history.dated, share(history.dated, urls))


# --- lastmods ---
#
# Dates are text here, cut to their precision: it sorts like the dates, and no time of day is invented.

RECENT_DAYS = (7, 30, 365)
MAX_YEARS, MAX_MONTHS = 5, 6
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def as_stated(lastmod: str, precision: str) -> str:
    """The date of a JSON line, cut to its precision.

    >>> as_stated("2026-11-01T00:00:00Z", "day"), as_stated("2026-11-01T08:30:00Z", "minute")
    ('2026-11-01', '2026-11-01T08:30Z')
    """
    return _with_zone(lastmod[:-1][: PRECISION_CHARACTERS[precision]])


class LastmodStatistics:
    """Counts of lastmods, and the evidence against them.

    `now` is aware. `clock` is the time of reading; without one that is unknown, and lastmods after `now` are in the
    future. The evidence of each sitemap is counted in bounded memory, and then summed.
    """

    def __init__(self, now: datetime, clock: Callable[[], datetime] | None = None) -> None:
        # A day counts if any of it is within; a month or a year, most of which may be before, if it began within.
        since = [_text(now - timedelta(days=days)) for days in RECENT_DAYS]
        precisions = PRECISION_CHARACTERS.items()
        self._since = [{precision: text[: max(chars, 10)] for precision, chars in precisions} for text in since]
        self._recent = [0] * len(RECENT_DAYS)
        self._precisions: Counter[str] = Counter()
        self._years: Counter[str] = Counter()
        self._months: Counter[str] = Counter()
        self._weekdays: Counter[str] = Counter()
        self._hours: Counter[str] = Counter()
        self._as_of = None if clock else now.timestamp()
        self._clock = clock
        self._open: dict[str | None, LastmodEvidence] = {}
        self._history = History()
        self._values = TopCounts()
        self._oldest = self._newest = ("", 0)

    def add(self, urls: UrlBatch) -> None:
        evidence = self._open.setdefault(urls.sitemap, LastmodEvidence())
        evidence.add_urls(urls, self._clock().timestamp() if self._clock else None)
        if len(self._open) > _MAX_OPEN:
            self.end_sitemap(next(iter(self._open)))
        for code, numbers in urls.dates.items():
            for number, count in Counter(numbers).items():
                self._count(moment_of(number, code), precision_of(code) or "second", count)

    def _count(self, lastmod: datetime, precision: Precision, count: int) -> None:
        text = _text(lastmod)[: PRECISION_CHARACTERS[precision]]
        self._precisions[precision] += count
        self._values.add(text, count)
        self._years[text[:4]] += count
        self._oldest = _extreme(self._oldest, text, count, min)
        self._newest = _extreme(self._newest, text, count, max)
        for number, since in enumerate(self._since):
            if text >= since[precision]:
                self._recent[number] += count
                break
        chars = len(text)
        if chars > PRECISION_CHARACTERS["year"]:
            self._months[text[:7]] += count
        if chars > PRECISION_CHARACTERS["month"]:
            self._weekdays[_WEEKDAYS[lastmod.weekday()]] += count
        if chars > PRECISION_CHARACTERS["day"]:
            self._hours[f"{text[11:13]}:00"] += count

    def end_sitemap(self, sitemap: str | None, seconds: float = 0.0) -> None:
        """Sums up the evidence of a sitemap that was read to its end, in so many seconds."""
        evidence = self._open.pop(sitemap, None)
        if evidence is not None:
            if self._clock:
                evidence.read(self._clock().timestamp(), seconds)
            self._history = total([self._history, evidence.history(as_of=self._as_of)])

    def facts(self, urls: int) -> Iterator[Fact]:
        """All facts; shares are of all URLs, with and without a lastmod."""
        stated = self._values.total
        yield Fact("lastmod", "stated", stated, share(stated, urls))
        if not stated:
            return
        for sitemap in [*self._open]:
            self.end_sitemap(sitemap)
        history = self._history
        yield from trust_facts(history, urls)
        ends = [("oldest", self._oldest), ("newest", self._newest)]
        for name, (text, count) in ends + [("most common", pair) for pair in self._values.top(1)]:
            yield Fact(f"lastmod {name}", _with_zone(text), count, share(count, urls))
        recent = [count - history.future for count in accumulate(self._recent)]  # which has all that are in the future
        within = [(f"{days} days", count) for days, count in zip(RECENT_DAYS, recent, strict=True)]
        yield from facts("lastmod within", within, urls)
        precisions = [(name, self._precisions[name]) for name in PRECISION_CHARACTERS if self._precisions[name]]
        yield from facts("lastmod precision", precisions, urls)
        yield from facts("lastmod month", sorted(self._months.items(), reverse=True)[:MAX_MONTHS], urls)
        for name, counts in (("weekday", self._weekdays), ("hour", self._hours)):
            busiest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:1]
            yield from facts(f"lastmod busiest {name}", busiest, counts.total())
        years = sorted(self._years.items(), reverse=True)
        older = sum(count for _, count in years[MAX_YEARS:])
        yield from facts("lastmod year", years[:MAX_YEARS] + [("other", older)] * bool(older), urls)


def _extreme(known: tuple[str, int], text: str, count: int, better: Callable[[str, str], str]) -> tuple[str, int]:
    if not known[0] or better(known[0], text) != known[0]:
        return text, count
    return known[0], known[1] + count if text == known[0] else known[1]


def _with_zone(text: str) -> str:
    return f"{text}Z" if "T" in text else text


def _text(moment: datetime) -> str:
    return (stamp(moment) or "")[:-1]
