"""UrlQuery: the keywords of SitemapReader.urls() in; the fields of a crawl plan and a SummaryBuilder out.

Checks values, and guards the callbacks. Never starts a request.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import attrs

from ..frontier.filters import make_patterns, make_selection
from ..frontier.revalidation import Trust
from ..model.errors import UsageError
from ..model.limits import MOST_DELAY_SECONDS
from .dedupe import UrlSet
from .keywords import check_is_called
from .summary import SummaryBuilder
from .thread_bridge import CallbackGuard, wrap_callback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from ..frontier.filters import Moment, Pattern, Patterns, Undated
    from ..model.records import Item, Outcome, SitemapRef
    from .summary import Progress


Argument = TypeVar("Argument")


def check_choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """Raises UsageError for a value that is not allowed."""
    if value not in allowed:
        raise UsageError(keyword=name, value=value, allowed=f"one of {', '.join(allowed)}")


def check_positive(**numbers: object) -> None:
    """Raises UsageError for what is no whole number of at least 1; None stands for a keyword that was not given."""
    for name, number in numbers.items():
        if number is not None and (not isinstance(number, int) or number < 1):
            raise UsageError(f"{name} must be 1 or more, not {number!r}")


def check_seconds(name: str, seconds: object) -> float:
    """The given number of seconds; UsageError for one that is negative, too long, or not a number."""
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise UsageError(f"{name} must be a number of seconds, 0 or more, not {seconds!r}")
    if seconds > MOST_DELAY_SECONDS:
        raise UsageError(f"{name} must be {MOST_DELAY_SECONDS:g} seconds or less, not {seconds!r:.60}")
    return float(seconds)


@attrs.frozen
class UrlQuery:
    """Which URLs and sitemaps a caller wants, and its callbacks; the fields are QueryOptions."""

    since: Moment | None = None
    until: Moment | None = None
    undated: Undated = "keep"
    trust_lastmod: Trust = "auto"
    include: Pattern | Iterable[Pattern] | None = None
    exclude: Pattern | Iterable[Pattern] | None = None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None
    no_follow: Pattern | Iterable[Pattern] | None = None
    unique: bool | UrlSet = False
    on_outcome: Callable[[Outcome], None] | None = None
    on_item: Callable[[Item], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    show_progress: bool = False
    limit: int | None = None
    _guard: CallbackGuard = attrs.field(factory=CallbackGuard, init=False)

    def plan_fields(self, now: datetime) -> dict[str, Any]:
        """The fields of Plan that the query decides; UsageError for values that are not allowed."""
        check_choice("trust_lastmod", self.trust_lastmod, get_args(Trust))
        check_positive(limit=self.limit)
        return {
            "trust_lastmod": self.trust_lastmod,
            "selection": make_selection(
                now,
                since=self.since,
                until=self.until,
                undated=self.undated,
                include=self.include,
                exclude=self.exclude,
            ),
            "follow": self._follow(),
            "no_follow": make_patterns("no_follow", self.no_follow),
        }

    def summary_builder(self) -> SummaryBuilder:
        """A SummaryBuilder that calls the query's callbacks."""
        seen = (UrlSet() if self.unique else None) if isinstance(self.unique, bool) else self.unique
        on_outcome, on_item = self.guarded(self.on_outcome), self.guarded(self.on_item)
        return SummaryBuilder(on_outcome, on_item, seen=seen, limit=self.limit)

    def guarded(self, callback: Callable[[Argument], None] | None) -> Callable[[Argument], None] | None:
        """The callback, which is not called any more once it or another callback of the query has raised."""
        return callback and self._guard.guarded(callback)

    def _follow(self) -> Callable[[SitemapRef], bool] | None:
        if callable(self.follow):
            check_is_called("follow", self.follow)
            return wrap_callback(self.follow)
        patterns = make_patterns("follow", self.follow)
        return (lambda ref: patterns.find_in(ref.loc)) if patterns else None

    def settings(self) -> dict[str, Any]:
        """The patterns that decide what is read, as JSON values; a state can only be compared under the same ones."""
        return {
            "include": _texts(make_patterns("include", self.include)),
            "exclude": _texts(make_patterns("exclude", self.exclude)),
            "follow": ["a function"] if callable(self.follow) else _texts(make_patterns("follow", self.follow)),
            "no_follow": _texts(make_patterns("no_follow", self.no_follow)),
        }


def _texts(patterns: Patterns) -> list[str]:
    return [pattern.pattern for pattern in patterns.patterns]
