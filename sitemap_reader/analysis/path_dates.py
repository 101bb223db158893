"""Dates in the names of files and folders: the parts of a path in; the time that they state out, as text of a lastmod.

An archive of sitemaps names each state by its time, in one of many notations. Nothing is guessed: a name without a
whole date has none, and numbers that are no date are ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..parser.normalise.dates import parse_date, period_end

if TYPE_CHECKING:
    from collections.abc import Iterable

# What at="name" accepts, for messages and docs: the parts of a date may be joined by -, _ or ., or by nothing.
ACCEPTED = "2026-01-15T10:43:46Z, 2026-01-15T104346, 20260115104346, 2026-01-15, 20260115 or 2026-01"

_DATE = re.compile(
    r"""
    (?<!\d)
    (?P<year>(?:19|20)\d\d)
    (?P<joint>[-_.]?)
    (?P<month>0[1-9]|1[0-2])
    (?:
        (?P=joint)(?P<day>0[1-9]|[12]\d|3[01])
        (?:
            (?:[T _-]|(?<=\d{8}))                   # nothing, in 20260115104346
            (?P<hour>[01]\d|2[0-3])
            [:._-]?(?P<minute>[0-5]\d)
            (?:[:._-]?(?P<second>[0-5]\d)(?:[.,]\d{1,6})?)?
            (?P<zone>Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?    # without one: UTC
        )?
        | (?<=[-_.]\d\d)                            # a month alone: 2026-01, as 202601 may be any number
    )
    (?!\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DAY_PARTS, _TIME_PARTS = ("year", "month", "day"), ("hour", "minute", "second")


def date_in_name(name: str) -> str | None:
    """The most precise date of a name, of several the first; None without one.

    >>> date_in_name("shop-2026-01-15T104346.xml.gz"), date_in_name("20260115"), date_in_name("shop_2026_01")
    ('2026-01-15T10:43:46Z', '2026-01-15', '2026-01')
    >>> date_in_name("sitemap-2.xml"), date_in_name("2026.xml"), date_in_name("2026-02-31.xml")
    (None, None, None)
    """
    found = [text for match in _DATE.finditer(name) if (text := _text(match)) and parse_date(text) is not None]
    return max(found, key=len, default=None)


def _text(match: re.Match[str]) -> str:
    day = "-".join(filter(None, match.group(*_DAY_PARTS)))
    time = ":".join(filter(None, match.group(*_TIME_PARTS)))
    zone = match["zone"] or "Z"
    zone = zone if ":" in zone or len(zone) == 1 else f"{zone[:3]}:{zone[3:]}"
    return f"{day}T{time}{zone.upper()}" if time else day


def date_in_path(names: Iterable[str]) -> str | None:
    """The date of a path, whose names go from the outermost folder to the file; None without one.

    A date of a folder is that of all files in it; one further in counts only where it lies within the folder's, as a
    day does within its month. So the sitemap of posts of a month does not change the date of a dated folder.

    >>> date_in_path(["2026-01", "2026-01-15.xml"]), date_in_path(["2026-01-15", "posts-2019-03.xml"])
    ('2026-01-15', '2026-01-15')
    """
    stated: str | None = None
    start, end = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for text in filter(None, map(date_in_name, names)):
        parsed = parse_date(text)
        if parsed is None:
            continue
        first, last = parsed.moment, period_end(parsed.moment, parsed.precision)
        if start <= first and last <= end:
            stated, start, end = text, first, last
    return stated
