"""UrlQuery: the keywords of SitemapReader.urls() in; the fields of a crawl plan and a SummaryBuilder out.

Checks values, and guards the callbacks. Never starts a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from ..frontier.filters import make_patterns, make_selection
from ..model.errors import UsageError
from ..model.options import with_defaults
from .dedupe import UrlSet
from .keywords import check_is_called
from .options import PatternOptions, QueryOptions
from .summary import SummaryBuilder
from .thread_bridge import CallbackGuard, wrap_callback

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ..model.records import SitemapRef

Argument = TypeVar("Argument")


class UrlQuery:
    """Which URLs and sitemaps a caller wants, and its callbacks: `options` has all keywords of urls().

    UsageError for values that are not allowed.
    """

    def __init__(self, **options: Unpack[QueryOptions]) -> None:
        self.options = with_defaults(QueryOptions, options)
        unique = self.options["unique"]
        if not isinstance(unique, bool | UrlSet):
            raise UsageError(keyword="unique", value=unique, allowed="True, False or a UrlSet")
        self._guard = CallbackGuard()

    def changed(self, **options: Unpack[QueryOptions]) -> UrlQuery:
        """The same with other values of these keywords."""
        changed: QueryOptions = {**self.options, **options}
        return UrlQuery(**changed)

    def plan_fields(self, now: datetime) -> dict[str, Any]:
        """The fields of Plan that the query decides; UsageError for dates and patterns that are not valid."""
        dates = ("since", "until", "undated")
        selected = {name: self.options[name] for name in (*dates, "include", "exclude")}  # type: ignore[literal-required]
        return {
            "trust_lastmod": self.options["trust_lastmod"],
            "selection": make_selection(now, **selected),
            "follow": self._follow(),
            "no_follow": make_patterns("no_follow", self.options["no_follow"]),
        }

    def summary_builder(self) -> SummaryBuilder:
        """A SummaryBuilder that calls the query's callbacks."""
        given = self.options
        seen = (UrlSet() if given["unique"] else None) if isinstance(given["unique"], bool) else given["unique"]
        on_outcome, on_item = self.guarded(given["on_outcome"]), self.guarded(given["on_item"])
        return SummaryBuilder(on_outcome, on_item, seen=seen, limit=given["limit"])

    def guarded(self, callback: Callable[[Argument], None] | None) -> Callable[[Argument], None] | None:
        """The callback, which is not called any more once it or another callback of the query has raised."""
        return callback and self._guard.guarded(callback)

    def _follow(self) -> Callable[[SitemapRef], bool] | None:
        follow = self.options["follow"]
        if callable(follow):
            check_is_called("follow", follow)
            return wrap_callback(follow)
        patterns = make_patterns("follow", follow)
        return (lambda ref: patterns.find_in(ref.loc)) if patterns else None

    def settings(self) -> dict[str, Any]:
        """The patterns that decide what is read, as JSON values; a state can only be compared under the same ones."""
        return {name: _texts(name, self.options[name]) for name in PatternOptions.__annotations__}  # type: ignore[literal-required]


def _texts(name: str, given: Any) -> list[str]:
    return ["a function"] if callable(given) else [each.pattern for each in make_patterns(name, given).patterns]
