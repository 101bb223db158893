"""Which of a site's URLs and sitemaps the caller wants: by date, and by patterns of their URLs.

In: what was asked for, as text or as compiled patterns. Out: the reason why a record is not wanted, or None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs

from ..model.errors import UsageError
from .window import Window, make_window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ..model.records import UrlRecord
    from .window import Moment, Undated

Pattern = str | re.Pattern[str]
# Why a record that the site may list is not given out, beside the reasons of scope in Outcome.dropped: in words.
UNWANTED: dict[str, str] = {"date": "outside the dates", "pattern": "outside the patterns"}


@attrs.frozen
class Patterns:
    """Regular expressions, searched for anywhere in a URL, as it is and as people write it: `%C3%A9` is also `é`."""

    patterns: tuple[re.Pattern[str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def find_in(self, url: str) -> bool:
        """Whether one of them is found."""
        if not self.patterns:  # most walks have none, and many URLs an escape
            return False
        return self._find_in(url) or ("%" in url and self._find_in(unquote(url)))

    def _find_in(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self.patterns)


def make_patterns(name: str, given: Pattern | Iterable[Pattern] | None) -> Patterns:
    """One pattern, several, or none; UsageError, with `name`, for what is no regular expression."""
    if given is None:
        return Patterns()
    several = [given] if isinstance(given, str | re.Pattern) else given
    if not hasattr(several, "__iter__"):
        raise UsageError(f"{name} must be a regular expression, or several, not {given!r}")
    return Patterns(tuple(_compiled(name, pattern) for pattern in several))


def _compiled(name: str, pattern: Pattern) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except TypeError as exc:
        raise UsageError(f"{name} must be a regular expression, or several, not {pattern!r}") from exc
    except re.error as exc:
        raise UsageError(
            f"{name}: {pattern!r} is no regular expression: {exc}; put a backslash before . ? + * ( [ that stand "
            "for themselves"
        ) from exc


def make_selection(
    now: datetime,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    undated: Undated = "keep",
    include: Pattern | Iterable[Pattern] | None = None,
    exclude: Pattern | Iterable[Pattern] | None = None,
) -> Selection:
    """The Selection of what was asked for; UsageError for what cannot be."""
    window = make_window(since, until, undated, now)
    return Selection(window, make_patterns("include", include), make_patterns("exclude", exclude))


@attrs.frozen
class Selection:
    """Dates, and patterns of pages: one of `include` if there are any, and none of `exclude`."""

    window: Window = attrs.field(factory=Window)
    include: Patterns = attrs.field(factory=Patterns)
    exclude: Patterns = attrs.field(factory=Patterns)

    @property
    def takes_all(self) -> bool:
        """Whether no record can be refused."""
        return self.window.takes_all and not self.include and not self.exclude

    def refuses(self, record: UrlRecord) -> str | None:
        """Why the record is not wanted; None if it is."""
        if not self.window.takes(record):
            return "date"
        if (self.include and not self.include.find_in(record.loc)) or self.exclude.find_in(record.loc):
            return "pattern"
        return None
