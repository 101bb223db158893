"""Lastmods: forms in; oldest, newest, most common, how recent and how exact out.

Dates are text here, cut to what was stated: then its order is that of the dates, and no hour is invented.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..parser.normalise.dates import STATED_CHARACTERS, tolerance
from ..serialize.jsonl import stamp
from .facts import Fact, Tops, facts, share
from .trust import Trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

RECENT_DAYS = (7, 30, 365)
MAX_YEARS, MAX_MONTHS = 5, 6
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z")


def as_stated(lastmod: str, precision: str) -> str:
    """A full stamp, cut to its precision.

    >>> as_stated("2026-11-01T00:00:00Z", "day"), as_stated("2026-11-01T08:30:00Z", "minute")
    ('2026-11-01', '2026-11-01T08:30Z')
    """
    return _with_zone(_cut(lastmod, precision))


class Dates:
    """take() every form, then facts(). `now` is aware."""

    def __init__(self, now: datetime) -> None:
        self._ahead = {name: _text(now + tolerance(name))[:chars] for name, chars in STATED_CHARACTERS.items()}
        # A day counts if any of it is within; a month or a year, of which most may lie before, if it began within.
        since = [_text(now - timedelta(days=days)) for days in RECENT_DAYS]
        precisions = STATED_CHARACTERS.items()
        self._since = [{precision: text[: max(chars, 10)] for precision, chars in precisions} for text in since]
        self._recent = [0] * len(RECENT_DAYS)
        self._future = 0
        self._precisions: Counter[str] = Counter()
        self._years: Counter[str] = Counter()
        self._months: Counter[str] = Counter()
        self._weekdays: Counter[str] = Counter()
        self._hours: Counter[str] = Counter()
        self._trust = Trust()
        self._values = Tops()
        self._oldest = self._newest = ("", 0)

    def take(self, form: Mapping[str, Any]) -> None:
        """Takes in a URL; ValueError where its date is no full stamp."""
        self._trust.take(form)
        lastmod = form.get("lastmod")
        if lastmod is None:
            return
        if not _STAMP.fullmatch(lastmod):
            raise ValueError(f"lastmod {lastmod[:60]!r} is no full stamp such as 2026-11-01T00:00:00Z")
        precision = form.get("lastmod_precision") or "second"
        text = _cut(lastmod, precision)
        self._precisions[precision] += 1
        self._values.add(text)
        self._years[text[:4]] += 1
        self._bound(text)
        self._age(text, precision)
        self._rhythm(text)

    def _bound(self, text: str) -> None:
        oldest, oldest_count = self._oldest
        if not oldest or text <= oldest:
            self._oldest = text, oldest_count + 1 if text == oldest else 1
        newest, newest_count = self._newest
        if text >= newest:
            self._newest = text, newest_count + 1 if text == newest else 1

    def _rhythm(self, text: str) -> None:
        """Only of what is stated."""
        chars = len(text)
        if chars > STATED_CHARACTERS["year"]:
            self._months[text[:7]] += 1
        if chars > STATED_CHARACTERS["month"]:
            self._weekdays[_weekday(text[:10])] += 1
        if chars > STATED_CHARACTERS["day"]:
            self._hours[f"{text[11:13]}:00"] += 1

    def _age(self, text: str, precision: str) -> None:
        if text > self._ahead[precision]:
            self._future += 1
            return
        for number, since in enumerate(self._since):
            if text >= since[precision]:
                self._recent[number] += 1
                return

    def facts(self, urls: int) -> Iterator[Fact]:
        """All of them; shares are of all URLs, dated or not."""
        stated = self._values.total
        yield Fact("lastmod", "stated", stated, share(stated, urls))
        if not stated:
            return
        if self._future:
            yield Fact("lastmod", "in the future", self._future, share(self._future, urls))
        yield from self._trust.facts(self._future, urls)
        ends = [("oldest", self._oldest), ("newest", self._newest)]
        for name, (text, count) in ends + [("most common", pair) for pair in self._values.top(1)]:
            yield Fact(f"lastmod {name}", _with_zone(text), count, share(count, urls))
        within = [(f"{days} days", sum(self._recent[: number + 1])) for number, days in enumerate(RECENT_DAYS)]
        yield from facts("lastmod within", within, urls)
        precisions = [(name, self._precisions[name]) for name in STATED_CHARACTERS if self._precisions[name]]
        yield from facts("lastmod precision", precisions, urls)
        yield from facts("lastmod month", sorted(self._months.items(), reverse=True)[:MAX_MONTHS], urls)
        for name, counts in (("weekday", self._weekdays), ("hour", self._hours)):
            busiest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:1]
            yield from facts(f"lastmod busiest {name}", busiest, counts.total())
        years = sorted(self._years.items(), reverse=True)
        older = sum(count for _, count in years[MAX_YEARS:])
        yield from facts("lastmod year", years[:MAX_YEARS] + [("other", older)] * bool(older), urls)


@lru_cache(maxsize=4096)
def _weekday(day: str) -> str:
    return _WEEKDAYS[date.fromisoformat(day).weekday()]


def _cut(lastmod: str, precision: str) -> str:
    return lastmod[:-1][: STATED_CHARACTERS[precision]]


def _with_zone(text: str) -> str:
    return f"{text}Z" if "T" in text else text


def _text(moment: datetime) -> str:
    return (stamp(moment) or "")[:-1]
