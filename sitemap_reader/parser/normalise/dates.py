"""lastmod dialects -> instant + precision.

In: the stripped text of a date element. Out: a Date (UTC, the start of the stated period, how much was stated
and what had to be mended), or None where it is no date. Never raises for bad text, never guesses the order of
day and month, and never fills a missing part with today's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...model.records import Precision

Dialect = Literal["w3c", "rss"]
Parts = dict[str, "str | None"]


# Not frozen, which would take a third of the time of reading a stamp.
@attrs.define
class Date:
    """An instant as it was stated: `moment` is aware, UTC, the start of the period that `precision` names.

    `repair` is None for a clean form, else a phrase that says what was read into the text. A text that is read again
    gives the same object: it is not to be changed.
    """

    moment: datetime
    precision: Precision
    repair: str | None = None


def parse_date(text: str, dialect: Dialect = "w3c") -> Date | None:
    """Read one date, or give None where the text is none.

    The six levels of the W3C profile of ISO 8601 (https://www.w3.org/TR/NOTE-datetime) are clean in both
    dialects, RFC 822 dates are clean in `rss` only. Fractions are cut to microseconds.

    >>> date = parse_date("2024-05-17T08:30+02:00")
    >>> date.moment.isoformat(), date.precision, date.repair
    ('2024-05-17T06:30:00+00:00', 'minute', None)
    >>> parse_date("2024-05-17 08:30:00").repair
    'space instead of T; no zone, read as UTC'
    >>> parse_date("11/09/2025")
    """
    return _remembered(text, dialect) if len(text) <= _REMEMBERED_CHARACTERS else _read(text, dialect)


def _read(text: str, dialect: Dialect) -> Date | None:
    clean = _W3C.fullmatch(text)
    if clean is not None:
        return read_stamp(text) if clean.lastgroup == "stamp" else _period(text)
    for shape, read in _SHAPES:
        match = shape.fullmatch(text)
        if match is not None:
            return read(match.groupdict(), dialect)
    return None


# Most sites have few different dates, and those without a date have one text for it. What is longer than any date
# that people write would only take memory.
_REMEMBERED_CHARACTERS = 40
_remembered = lru_cache(maxsize=2048)(_read)


# Precisions that state a time.
TIMED = frozenset({"minute", "second", "subsecond"})
# Clocks differ a little; where a day is stated, it may have begun elsewhere.
CLOCK_TOLERANCE, DAY = timedelta(minutes=10), timedelta(days=1)


def tolerance(precision: str | None) -> timedelta:
    """How much later a date may be than it should, before it counts as later."""
    return CLOCK_TOLERANCE if precision in TIMED else DAY


def period_end(moment: datetime, precision: str) -> datetime:
    """The first instant after the stated period; for the end of year 9999 the last one there is.

    `moment` is the start of the period, `precision` one of records.Precision.
    """
    try:
        if precision == "year":
            return moment.replace(year=moment.year + 1)
        if precision == "month":
            return moment.replace(year=moment.year + moment.month // 12, month=moment.month % 12 + 1)
        return moment + _LENGTHS[precision]
    except (ValueError, OverflowError):
        return datetime.max.replace(tzinfo=UTC)


_LENGTHS = {
    "day": timedelta(days=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "subsecond": timedelta(microseconds=1),
}

# How many characters of YYYY-MM-DDTHH:MM:SS.ffffff a precision states.
PRECISION_CHARACTERS = {"year": 4, "month": 7, "day": 10, "minute": 16, "second": 19, "subsecond": 26}


def format_date(moment: datetime, precision: str | None) -> str:
    """A date as exact as it was stated.

    >>> moment = datetime(2026, 11, 1, 8, tzinfo=UTC)
    >>> format_date(moment, "day"), format_date(moment, "minute")
    ('2026-11-01', '2026-11-01T08:00Z')
    """
    text = moment.astimezone(UTC).isoformat()[:-6][: PRECISION_CHARACTERS[precision or "second"]]
    if precision == "subsecond" and moment.microsecond:
        text = text.rstrip("0")
    return f"{text}Z" if precision in TIMED or precision is None else text


# --- the clean forms ----------------------------------------------------------------------------------------

# YYYY-MM-DDThh:mm[:ss[.s+]]TZD, for a verbose pattern in which digits are ASCII digits: int() and fromisoformat()
# differ on which others they take.
STAMP = r"""
    [0-9]{4}-[0-9]{2}-[0-9]{2}
    T (?:[01][0-9]|2[0-3]) : [0-5][0-9]                     # 24:00 is mended, below
    (?: : [0-5][0-9] (?: \.[0-9]+ | ) | )
    (?: Z | [+-] (?: (?:0[0-9]|1[0-3]) : [0-5][0-9] | 14:00 ) )   # no zone is further off than 14 hours
"""
_W3C = re.compile(
    rf"""
    (?P<stamp> {STAMP} )
    | (?P<period> \d{{4}} (?: -\d\d (?: -\d\d )? )? )         # YYYY, YYYY-MM, YYYY-MM-DD
    """,
    re.VERBOSE | re.ASCII,
)


# What its 20th character says of a stamp: whether seconds stand before it, and a fraction behind it.
STAMP_PRECISIONS: dict[str, Precision] = {
    "": "minute", ":": "minute", "Z": "second", "+": "second", "-": "second", ".": "subsecond",
}  # fmt: skip


def read_stamp(text: str) -> Date | None:
    """What has the form of a STAMP; None where it is no date."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not UTC:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):  # 31 February; the first or last hours of the calendar
        return None
    return Date(moment, STAMP_PRECISIONS[text[19:20]])


def _period(text: str) -> Date | None:
    year, month, day = text[:4], text[5:7], text[8:]
    try:
        moment = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    except ValueError:
        return None
    return Date(moment, "day" if day else "month" if month else "year")


# --- what else is seen, and unambiguous ---------------------------------------------------------------------

_NEAR_W3C = re.compile(
    r"""
    (?P<year>\d{4})
    (?P<between>[-/])   (?P<month>\d{1,2})                  # year first, or the order would be a guess
    (?: (?P=between)    (?P<day>\d{1,2})
        (?: (?P<t>[Tt]|[ \t\r\n]+)
            (?P<hour>\d\d) : (?P<minute>\d\d)
            (?: : (?P<second>\d\d) (?: \. (?P<fraction>\d+) )? )?
            (?: (?P<gap>[ ]*) (?P<zone> [Zz] | [+-]\d\d(?: :?\d\d )? ) )?
        )?
    )?
    """,
    re.VERBOSE | re.ASCII,
)

# RFC 822 5.1, with the four-digit years of RFC 1123 5.2.14. Weekdays are not looked at: many contradict the
# date, and it is the date that people set.
_RFC822 = re.compile(
    r"""
    (?: (?:mon|tue|wed|thu|fri|sat|sun) \s*,\s* )?
    (?P<day>\d{1,2}) \s+
    (?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) \s+
    (?P<year>\d{4}|\d\d) \s+
    (?P<hour>\d\d) : (?P<minute>\d\d) (?: : (?P<second>\d\d) )?
    (?: \s+ (?P<zone> [+-]\d{4} | [a-z]{1,3} ) )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

# Ten digits end in 2286; eight or twelve digits would be a compact date, which nobody can tell from a number.
_EPOCH = re.compile(r"(?P<seconds>\d{10})(?P<milliseconds>\d{3})?", re.ASCII)

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
# Hours off UTC. Of the military letters only Z: the others have the wrong sign in RFC 822 (RFC 1123 5.2.14).
_ZONES = {
    "Z": 0, "UT": 0, "UTC": 0, "GMT": 0,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
_MAX_OFFSET = timedelta(hours=14)
_START_OF_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Repairs = tuple[tuple[str, "Callable[[Parts], object]"], ...]

_CLOCK_REPAIRS: Repairs = (
    ("no zone, read as UTC", lambda part: part["hour"] and not part["zone"]),
    ("24:00, read as the next day", lambda part: part["hour"] == "24"),
    (":60, read as :59", lambda part: part["second"] == "60"),
)
_W3C_REPAIRS: Repairs = (
    ("/ instead of -", lambda part: part["between"] == "/"),
    ("one-digit month or day", lambda part: len(part["month"] or "") == 1 or len(part["day"] or "") == 1),
    ("space instead of T", lambda part: (part["t"] or "T") not in "Tt"),
    ("space before the zone", lambda part: part["gap"]),
    ("offset not written as +hh:mm", lambda part: len(part["zone"] or "") in (3, 5)),
    *_CLOCK_REPAIRS,
)
_RFC822_REPAIRS: dict[str, Repairs] = {
    "rss": _CLOCK_REPAIRS,
    "w3c": (("RFC 822 form", lambda _: True), *_CLOCK_REPAIRS),
}

# What is stated last decides; a part that is absent is None.
_PRECISIONS: tuple[tuple[str, Precision], ...] = (
    ("fraction", "subsecond"),
    ("second", "second"),
    ("minute", "minute"),
    ("day", "day"),
)


def _read_near_w3c(part: Parts, dialect: Dialect) -> Date | None:
    return _date(int(part["year"] or 0), int(part["month"] or 0), part, _W3C_REPAIRS)


def _read_rfc822(part: Parts, dialect: Dialect) -> Date | None:
    written = part["year"] or ""
    # RFC 2822 4.3: two digits up to 49 are 20xx, the others 19xx.
    year = int(written) + (0 if len(written) == 4 else 2000 if written < "50" else 1900)
    return _date(year, _MONTHS[(part["name"] or "").lower()], part, _RFC822_REPAIRS[dialect])


def _read_epoch(part: Parts, dialect: Dialect) -> Date:
    seconds, milliseconds = int(part["seconds"] or 0), part["milliseconds"]
    moment = _START_OF_EPOCH + timedelta(seconds=seconds, milliseconds=int(milliseconds or 0))
    if milliseconds is None:
        return Date(moment, "second", "epoch seconds")
    return Date(moment, "subsecond", "epoch milliseconds")


_SHAPES: tuple[tuple[re.Pattern[str], Callable[[Parts, Dialect], Date | None]], ...] = (
    (_NEAR_W3C, _read_near_w3c),
    (_RFC822, _read_rfc822),
    (_EPOCH, _read_epoch),
)


def _date(year: int, month: int, part: Parts, repairs: Repairs) -> Date | None:
    offset = _offset(part["zone"])
    if offset is None:
        return None
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    microsecond = int((part.get("fraction") or "")[:6].ljust(6, "0"))
    # ISO 8601: 24:00 is the end of the day. Any other time past 23:59 is none, and datetime refuses it.
    end_of_day = hour == 24 and not (minute or second or microsecond)
    try:
        moment = datetime(
            year,
            month,
            int(part["day"] or 1),
            0 if end_of_day else hour,
            minute,
            59 if second == 60 else second,  # a leap second has no place in datetime
            microsecond,
            UTC,
        )
        moment += timedelta(days=end_of_day) - offset
    except (ValueError, OverflowError):
        return None
    phrases = [phrase for phrase, applies in repairs if applies(part)]
    return Date(moment, _precision(part), "; ".join(phrases) or None)


def _precision(part: Mapping[str, str | None]) -> Precision:
    return next((precision for name, precision in _PRECISIONS if part.get(name)), "month")


def _offset(zone: str | None) -> timedelta | None:
    """`Z`, `+hh`, `+hhmm`, `+hh:mm`, a name, or nothing; None where it can be no zone."""
    if zone is None:
        return timedelta(0)
    if zone[0] not in "+-":
        hours = _ZONES.get(zone.upper())
        return None if hours is None else timedelta(hours=hours)
    minutes = int(zone[3:].lstrip(":") or 0)
    offset = timedelta(hours=int(zone[1:3]), minutes=minutes)
    if minutes > 59 or offset > _MAX_OFFSET:
        return None
    return offset if zone[0] == "+" else -offset
