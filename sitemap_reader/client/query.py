"""What a caller of a stream asks for: his keywords in, the plan of a walk and a ledger that tells him out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

import attrs

from ..frontier.filters import make_patterns, make_selection
from ..frontier.revalidation import Trust
from ..model.errors import UsageError
from .callbacks import Listening, carried
from .dedupe import Seen
from .summary import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from ..frontier.filters import Pattern, Patterns
    from ..frontier.window import Moment, Undated
    from ..model.records import Item, Outcome, SitemapRef
    from .summary import Progress

Heard = TypeVar("Heard")


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """UsageError for another value."""
    if value not in allowed:
        raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


@attrs.frozen
class Asked:
    """What a caller asks for, as he put it; the fields are the keywords of SitemapReader.urls()."""

    since: Moment | None = None
    until: Moment | None = None
    undated: Undated = "keep"
    trust_lastmod: Trust = "auto"
    include: Pattern | Iterable[Pattern] | None = None
    exclude: Pattern | Iterable[Pattern] | None = None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None
    no_follow: Pattern | Iterable[Pattern] | None = None
    unique: bool | Seen = False
    on_outcome: Callable[[Outcome], None] | None = None
    on_item: Callable[[Item], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    show_progress: bool = False
    most: int | None = None
    _listening: Listening = attrs.field(factory=Listening, init=False)

    def plan(self, now: datetime) -> dict[str, Any]:
        """Fields of Plan; UsageError for what cannot be."""
        one_of("trust_lastmod", self.trust_lastmod, get_args(Trust))
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

    def ledger(self) -> Ledger:
        """A ledger that tells whom it was asked to tell."""
        seen = (Seen() if self.unique else None) if isinstance(self.unique, bool) else self.unique
        return Ledger(self.hears(self.on_outcome), self.hears(self.on_item), seen=seen, most=self.most)

    def hears(self, function: Callable[[Heard], None] | None) -> Callable[[Heard], None] | None:
        """One of the functions that only hear, guarded together with the others."""
        return function and self._listening.guarded(function)

    def _follow(self) -> Callable[[SitemapRef], bool] | None:
        if callable(self.follow):
            return carried(self.follow)
        patterns = make_patterns("follow", self.follow)
        return (lambda ref: patterns.find_in(ref.loc)) if patterns else None

    def settings(self) -> dict[str, Any]:
        """What decides on what is read, as JSON can hold it: a state is only good for the same."""
        return {
            "include": _texts(make_patterns("include", self.include)),
            "exclude": _texts(make_patterns("exclude", self.exclude)),
            "follow": ["a function"] if callable(self.follow) else _texts(make_patterns("follow", self.follow)),
            "no_follow": _texts(make_patterns("no_follow", self.no_follow)),
        }


def _texts(patterns: Patterns) -> list[str]:
    return [pattern.pattern for pattern in patterns.patterns]
