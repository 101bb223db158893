"""Parses dates: the stripped text of a date element in; a Date (UTC, precision, repairs) out, or None.

Reads W3C dates, RFC 822 dates and other texts with one reading. Never raises for bad text, never guesses the order of
day and month, and never fills in a missing part. read_date() in dialects/extensions.py reports D01 and D06.

date_in_url() reads the date that the path of a URL states: blogs and news sites write the day of publication there.
Not read as dates are a year alone, a year and month in one segment (2011-12 is as often a season), eight digits with no
title behind them (as often an id), and queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import attrs

from .urls import INVISIBLE, PADDING

if TYPE_CHECKING:
    from ...model.records import Precision


Dialect = Literal["w3c", "rss"]
Parts = dict[str, "str | None"]


# Not frozen: that would take a third of the time of parsing a timestamp.
@attrs.define
class Date:
    """A parsed date: `moment` is the start (UTC) of the period that `precision` names.

    `repair` is None for a valid date, else a phrase that says how the text was interpreted. Objects are cached and
    shared: do not modify them.
    """

    moment: datetime
    precision: Precision
    repair: str | None = None


def parse_date(text: str, dialect: Dialect = "w3c") -> Date | None:
    """Parses one date; None if the text is not a date.

    The six levels of the W3C profile of ISO 8601 (https://www.w3.org/TR/NOTE-datetime) are valid in both dialects,
    RFC 822 dates in `rss` only. Fractions are truncated to microseconds.

    >>> date = parse_date("2024-05-17T08:30+02:00")
    >>> date.moment.isoformat(), date.precision, date.repair
    ('2024-05-17T06:30:00+00:00', 'minute', None)
    >>> parse_date("2024-05-17 08:30:00").repair
    'space instead of T; no zone, read as UTC'
    >>> parse_date("August 12, 2012").repair
    'month by name'
    >>> parse_date("11/09/2025")
    """
    return _cached(text, dialect) if len(text) <= _MAX_CACHED_CHARACTERS else _parse(text, dialect)


def _parse(text: str, dialect: Dialect) -> Date | None:
    valid = _W3C.fullmatch(text)
    if valid is not None:
        return read_stamp(text) if valid.lastgroup == "stamp" else _period(text)
    for pattern, read in _VARIANTS:
        match = pattern.fullmatch(text)
        if match is not None:
            return read({**_NO_PARTS, **match.groupdict()}, dialect)
    return _parse_padded(text, dialect) if text[:1] in _INVISIBLE_PADDING or text[-1:] in _INVISIBLE_PADDING else None


def _parse_padded(text: str, dialect: Dialect) -> Date | None:
    bare = text.strip(PADDING)
    date = _parse(bare, dialect) if bare else None
    phrases = (date.repair, "invisible characters around it") if date else ()
    return date and attrs.evolve(date, repair="; ".join(filter(None, phrases)))


# Of white space, the text arrives without any other around it.
_INVISIBLE_PADDING = INVISIBLE + "\ufeff"

# Most sites have few distinct dates. Texts longer than any date would only take memory.
_MAX_CACHED_CHARACTERS = 40
_cached = lru_cache(maxsize=2048)(_parse)


# What programs write for a date that they do not have: the zeros of .NET and Go, Windows, SQL Server (two), OLE, Unix,
# DOS. No page is as old.
_ZEROS = [
    datetime(*day, tzinfo=UTC)
    for day in ((1, 1, 1), (1601, 1, 1), (1753, 1, 1), (1899, 12, 30), (1900, 1, 1), (1970, 1, 1), (1980, 1, 1))
]


def is_zero_of_clock(date: Date) -> bool:
    """Whether a date is no date of a page, but the zero of a program's clock, in the time zone of any place.

    >>> [is_zero_of_clock(parse_date(text)) for text in ("1970-01-01", "1969-12-31T19:00-05:00", "1970", "1951-12-17")]
    [True, True, False, False]
    """
    if date.precision in ("year", "month") or date.moment - _ZEROS[-1] > _MAX_OFFSET:
        return False
    length = timedelta(days=date.precision == "day")
    return any(-_MAX_OFFSET - length < date.moment - zero <= _MAX_OFFSET for zero in _ZEROS)


# Of a text that is a date: a time of day at its end, which is not the offset of a zone.
_NO_ZONE = re.compile(
    r"(?<![-+])(?<![-+]\d)\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\.?)?\Z", re.IGNORECASE | re.ASCII
)


def has_local_time(text: str) -> bool:
    """Whether a date has a time of day, but no zone: its moment may be 14 hours off.

    >>> [has_local_time(text) for text in ("2026-11-01T08:00", "2026-11-01 08:00+0100", "2026-11-01T08:00+01:00")]
    [True, False, False]
    """
    return _NO_ZONE.search(text.strip(PADDING)) is not None


# Precisions that state a time.
TIMED = frozenset({"minute", "second", "subsecond"})
# Clocks differ; a stated day may begin earlier in another time zone.
CLOCK_TOLERANCE, DAY = timedelta(minutes=10), timedelta(days=1)


def tolerance(precision: str | None) -> timedelta:
    """How far a date may lie after a moment before it counts as later."""
    return CLOCK_TOLERANCE if precision in TIMED else DAY


def period_end(moment: datetime, precision: str) -> datetime:
    """The first instant after the stated period; datetime.max for the end of year 9999.

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

# Precision -> how many characters of YYYY-MM-DDTHH:MM:SS.ffffff it states.
PRECISION_CHARACTERS = {"year": 4, "month": 7, "day": 10, "minute": 16, "second": 19, "subsecond": 26}


def format_date(moment: datetime, precision: str | None) -> str:
    """The date as ISO 8601 text, with the precision it was stated with.

    >>> moment = datetime(2026, 11, 1, 8, tzinfo=UTC)
    >>> format_date(moment, "day"), format_date(moment, "minute")
    ('2026-11-01', '2026-11-01T08:00Z')
    """
    text = moment.astimezone(UTC).isoformat()[:-6][: PRECISION_CHARACTERS[precision or "second"]]
    if precision == "subsecond" and moment.microsecond:
        text = text.rstrip("0")
    return f"{text}Z" if precision in TIMED or precision is None else text


# --- W3C dates ----------------------------------------------------------------------------------------------

# YYYY-MM-DDThh:mm[:ss[.s+]]TZD, for a verbose pattern with ASCII digits: int() and fromisoformat() differ on which
# others they accept.
STAMP = r"""
    [0-9]{4}-[0-9]{2}-[0-9]{2}
    T (?:[01][0-9]|2[0-3]) : [0-5][0-9]                     # 24:00 is a repair, below
    (?: : [0-5][0-9] (?: \.[0-9]+ | ) | )
    (?: Z | [+-] (?: (?:0[0-9]|1[0-3]) : [0-5][0-9] | 14:00 ) )   # no zone is more than 14 hours off
"""
_W3C = re.compile(
    rf"""
    (?P<stamp> {STAMP} )
    | (?P<period> \d{{4}} (?: -\d\d (?: -\d\d )? )? )         # YYYY, YYYY-MM, YYYY-MM-DD
    """,
    re.VERBOSE | re.ASCII,
)


# The 20th character of a STAMP -> its precision: it follows the seconds, and begins a fraction.
STAMP_PRECISIONS: dict[str, Precision] = {
    "": "minute", ":": "minute", "Z": "second", "+": "second", "-": "second", ".": "subsecond",
}  # fmt: skip


def read_stamp(text: str) -> Date | None:
    """The Date of a text that matches STAMP; None if there is no such date."""
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


# --- common variants that are unambiguous -------------------------------------------------------------------

# Names that mean one zone: not IST, which is that of India, Ireland and Israel.
_OTHER_ZONES = {
    "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "SGT": 8, "HKT": 8, "JST": 9,
    "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "AKST": -9, "AKDT": -8, "HST": -10,
}  # fmt: skip
# Hours off UTC of the names that RFC 822 5.1 defines, of others, and of their full names. Of the military letters only
# Z: the others have the wrong sign there (RFC 1123 5.2.14).
_ZONES = {
    "Z": 0, "UT": 0, "UTC": 0, "GMT": 0,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    **_OTHER_ZONES,
    "UNIVERSAL TIME": 0, "COORDINATED UNIVERSAL TIME": 0, "GREENWICH MEAN TIME": 0,
    **{
        f"{name} {kind} TIME": hours + (kind == "DAYLIGHT")
        for name, hours in (("EASTERN", -5), ("CENTRAL", -6), ("MOUNTAIN", -7), ("PACIFIC", -8))
        for kind in ("STANDARD", "DAYLIGHT")
    },
}  # fmt: skip
# For a verbose pattern. Outside of RFC 822, CST is as often the time of China.
_ZONE_NAMES = "|".join(name.replace(" ", "[ ]") for name in _ZONES if name not in ("Z", "CST"))
_ZONE_NAMES = rf"(?: (?:GMT|UTC) [+-]\d\d? (?: :?\d\d )? | {_ZONE_NAMES} )"

_HALF = r"(?: [ ]? (?P<half>[ap]) \.?m\b\.? )?"
_NEAR_W3C = re.compile(
    r"""
    (?P<year>\d{4})
    (?P<between> [-/] | \.(?=\d\d?\.) )                    # year first: otherwise the order would be a guess
    (?P<month>\d{1,2})
    (?: (?P=between)    (?P<day>\d{1,2})
        (?: (?P<zone_of_day> Z | [+-](?:0\d|1[0-4]):[0-5]\d )  # xs:date
          | (?P<t>[Tt]|[ \t\r\n]+)
            (?P<hour>\d\d?) : (?P<minute>\d\d)
            (?: : (?P<second>\d\d) (?: (?P<point>[.,]) (?P<fraction>\d+) )? )?
            """
    + _HALF
    + r"""
            (?: (?P<gap>[ ]*) (?P<zone> Z | [+-]00:00Z | [+-]\d\d(?: :?\d\d )? | [+-]\d:\d\d | """
    + _ZONE_NAMES
    + r""" )
                (?P<label> \[ [\w/+-]+ \]                      # Java: +02:00[Europe/Berlin]
                  | (?<=\d) (?-i: [ ] (?: [A-Z]{1,5} | [+-]\d\d (?:\d\d)? ) (?: [ ] m=[+-][\d.]+ )? )  # Go: +0200 CEST
                )?
            )?
        )?
    )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

# ISO 8601 without separators. Of eight digits, other years may be numbers.
_BASIC = re.compile(
    r"""
    (?P<year>199\d|20\d\d|2100) (?P<month>\d\d) (?P<day>\d\d)
    (?: (?P<t>T) (?P<hour>\d\d) (?P<minute>\d\d) (?: (?P<second>\d\d) (?: [.,] (?P<fraction>\d+) )? )?
        (?P<zone> Z | [+-]\d\d(?: :?\d\d )? )?
    )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

_SHORT_MONTH = "(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
# RFC 822 5.1, with the four-digit years of RFC 1123 5.2.14. Weekdays are ignored: many contradict the date.
_RFC822 = re.compile(
    rf"""
    (?: (?:mon|tue|wed|thu|fri|sat|sun) \s*,\s* )?
    (?P<day>\d{{1,2}}) \s+ {_SHORT_MONTH} \s+ (?P<year>\d{{4}}|\d\d) \s+
    (?P<hour>\d\d) : (?P<minute>\d\d) (?: : (?P<second>\d\d) )?
    (?: \s+ (?P<zone> [+-]\d{{4}} | [a-z]{{1,4}} ) )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
# RFC 9110 5.6.7. Behind a day of the week, the first number is no year.
_RFC850 = re.compile(
    rf"""
    (?: mon | tues | wednes | thurs | fri | satur | sun ) day,[ ]
    (?P<day>\d\d) (?P<between>-) {_SHORT_MONTH} - (?P<year>\d\d) [ ]
    (?P<hour>\d\d) : (?P<minute>\d\d) : (?P<second>\d\d) [ ] (?P<zone>GMT)
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

_WEEKDAY = r"(?: (?: mon | tue(?:s)? | wed(?:nes)? | thu(?:rs?)? | fri | sat(?:ur)? | sun ) (?:day)? \.? [\s,]{1,3} )?"
_MONTH = r"""
    (?P<name> jan(?:uary)? | feb(?:ruary)? | mar(?:ch)? | apr(?:il)? | may | june? | july? | aug(?:ust)?
      | sept?(?:ember)? | oct(?:ober)? | nov(?:ember)? | dec(?:ember)? ) \.?
"""
_DAY = r"(?P<day>\d\d?) (?: st | nd | rd | th | \. )? (?: [ ] of (?=[ ]) )?"
_YEAR = r"(?P<year>\d{4})"
_BETWEEN = r"(?: [\s,]{1,3} | [-/.] )"
_CLOCK = rf"""
    (?P<hour>\d\d?) : (?P<minute>\d\d) (?: : (?P<second>\d\d) (?: \. (?P<fraction>\d{{1,9}}) )? )? {_HALF}
"""
_ZONE = rf"(?: [ ]? (?P<zone> Z | [+-]\d\d:?\d\d | {_ZONE_NAMES} ) (?: \s? \( [^()]{{2,80}} \) )? )?"
_AT = rf"(?: (?: [\s,]{{1,3}} (?: (?: at | - ) \s )? | : ) {_CLOCK} {_ZONE} )?"
# Dates with the name of the month, and a year of four digits: no order is a guess. All repetitions have a limit, as six
# patterns are tried for each text that is no date.
_NAMED_MONTH = [
    re.compile(pattern, re.VERBOSE | re.ASCII | re.IGNORECASE)
    for pattern in (
        rf"{_WEEKDAY} {_DAY} {_BETWEEN} {_MONTH} {_BETWEEN} {_YEAR} {_AT}",  # 25 September 2010 01:30 GMT; Apache
        rf"{_WEEKDAY} {_MONTH} {_BETWEEN} {_DAY} {_BETWEEN} {_YEAR} {_AT}",  # August 12, 2012; JavaScript
        rf"{_WEEKDAY} {_MONTH} {_BETWEEN} {_DAY} \s {_CLOCK} {_ZONE} \s {_YEAR}",  # date, asctime
        rf"{_WEEKDAY} {_MONTH} {_BETWEEN} {_DAY} \s {_CLOCK} \s {_YEAR} {_ZONE}",  # git
        rf"{_YEAR} {_BETWEEN} {_MONTH} (?: {_BETWEEN} {_DAY} {_AT} )?",
        rf"{_MONTH} {_BETWEEN} {_YEAR}",
    )
]

# Ten digits last until 2286; twelve digits may be a compact date as well as a number.
_EPOCH = re.compile(r"(?P<seconds>\d{10})(?P<milliseconds>\d{3})?", re.ASCII)

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_MAX_OFFSET = timedelta(hours=14)
_START_OF_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Repairs = tuple[tuple[str, "Callable[[Parts], object]"], ...]

_CLOCK_REPAIRS: Repairs = (
    ("12-hour clock", lambda part: part["half"]),
    ("no zone, read as UTC", lambda part: part["hour"] and not part["zone"]),
    ("24:00, read as the next day", lambda part: part["hour"] == "24"),
    (":60, read as :59", lambda part: part["second"] == "60"),
)
_W3C_REPAIRS: Repairs = (
    ("without separators", lambda part: part["between"] is None),
    ("/ instead of -", lambda part: part["between"] == "/"),
    (". instead of -", lambda part: part["between"] == "."),
    ("one-digit month or day", lambda part: len(part["month"] or "") == 1 or len(part["day"] or "") == 1),
    ("one-digit hour", lambda part: len(part["hour"] or "") == 1 and not part["half"]),
    ("space instead of T", lambda part: (part["t"] or "T") not in "Tt"),
    ("space before the zone", lambda part: part["gap"] and not _is_name(part["zone"])),
    ("comma before the fraction", lambda part: part["point"] == ","),
    (
        "offset not written as +hh:mm",
        lambda part: len(part["zone"] or "Z") not in (1, 6) and not _is_name(part["zone"]),
    ),
    ("the zone of a day, left out", lambda part: part["zone_of_day"]),
    ("zone by name", lambda part: part["label"] or _is_name(part["zone"])),
    *_CLOCK_REPAIRS,
)
_NAMED_MONTH_REPAIRS: Repairs = (("month by name", lambda _: True), *_CLOCK_REPAIRS)
_RFC_REPAIRS: Repairs = (
    ("RFC 850 form", lambda part: part["between"]),
    ("a zone that RFC 822 does not name", lambda part: (part["zone"] or "").upper() in _OTHER_ZONES),
    *_CLOCK_REPAIRS,
)
_RFC822_REPAIRS: dict[str, Repairs] = {
    "rss": _RFC_REPAIRS,
    "w3c": (("RFC 822 form", lambda part: not part["between"]), *_RFC_REPAIRS),
}

# The finest part that is present decides.
_PRECISIONS: tuple[tuple[str, Precision], ...] = (
    ("fraction", "subsecond"),
    ("second", "second"),
    ("minute", "minute"),
    ("day", "day"),
)


def _is_name(zone: str | None) -> bool:
    return zone is not None and zone[0] not in "+-Zz"


def _read_near_w3c(part: Parts, dialect: Dialect) -> Date | None:
    return _date(int(part["year"] or 0), int(part["month"] or 0), part, _W3C_REPAIRS)


def _read_rfc822(part: Parts, dialect: Dialect) -> Date | None:
    written = part["year"] or ""
    # RFC 2822 4.3: two digits up to 49 are 20xx, the others 19xx.
    year = int(written) + (0 if len(written) == 4 else 2000 if written < "50" else 1900)
    return _date(year, _MONTHS[(part["name"] or "").lower()], part, _RFC822_REPAIRS[dialect])


def _read_named_month(part: Parts, dialect: Dialect) -> Date | None:
    return _date(int(part["year"] or 0), _MONTHS[(part["name"] or "")[:3].lower()], part, _NAMED_MONTH_REPAIRS)


def _read_epoch(part: Parts, dialect: Dialect) -> Date:
    seconds, milliseconds = int(part["seconds"] or 0), part["milliseconds"]
    moment = _START_OF_EPOCH + timedelta(seconds=seconds, milliseconds=int(milliseconds or 0))
    if milliseconds is None:
        return Date(moment, "second", "epoch seconds")
    return Date(moment, "subsecond", "epoch milliseconds")


_VARIANTS: tuple[tuple[re.Pattern[str], Callable[[Parts, Dialect], Date | None]], ...] = (
    (_NEAR_W3C, _read_near_w3c),
    (_BASIC, _read_near_w3c),
    (_RFC822, _read_rfc822),
    (_RFC850, _read_rfc822),
    (_EPOCH, _read_epoch),
    *((pattern, _read_named_month) for pattern in _NAMED_MONTH),
)
# Each pattern has some of these.
_NO_PARTS: Parts = {name: None for pattern, _ in _VARIANTS for name in pattern.groupindex}


def _date(year: int, month: int, part: Parts, repairs: Repairs) -> Date | None:
    offset = _offset(part["zone"])
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if offset is None or (part["half"] and not 1 <= hour <= 12):
        return None
    if part["half"]:
        hour = hour % 12 + 12 * (part["half"] in "pP")
    microsecond = int((part["fraction"] or "")[:6].ljust(6, "0"))
    # ISO 8601: 24:00 is the end of the day. datetime rejects any other time past 23:59.
    end_of_day = hour == 24 and not (minute or second or microsecond)
    try:
        moment = datetime(
            year,
            month,
            int(part["day"] or 1),
            0 if end_of_day else hour,
            minute,
            59 if second == 60 else second,  # datetime has no leap seconds
            microsecond,
            UTC,
        )
        moment += timedelta(days=end_of_day) - offset
    except (ValueError, OverflowError):
        return None
    phrases = [phrase for phrase, applies in repairs if applies(part)]
    precision: Precision = next((each for name, each in _PRECISIONS if part[name]), "month")
    return Date(moment, precision, "; ".join(phrases) or None)


_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d\d?):?(\d\d)?Z?", re.ASCII | re.IGNORECASE)


def _offset(zone: str | None) -> timedelta | None:
    """The offset of `Z`, `+hh`, `+hhmm`, `+hh:mm`, a name, a name with an offset, or no zone; None if it is invalid."""
    match = _OFFSET.fullmatch(zone or "")
    if match is None:
        hours = _ZONES.get(zone.upper()) if zone else 0
        return None if hours is None else timedelta(hours=hours)
    sign, hours_off, minutes = match.groups("0")
    offset = timedelta(hours=int(hours_off), minutes=int(minutes))
    if int(minutes) > 59 or offset > _MAX_OFFSET:
        return None
    return offset if sign == "+" else -offset


# --- dates in URLs ---


_URL_YEAR, _URL_MONTH, _URL_DAY = "(?:199[5-9]|20[0-9][0-9])", "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_END = "(?:[^0-9A-Za-z]|$)"
_URL_DAY = (
    rf"[-_/]{_URL_YEAR}-{_URL_MONTH}-{_URL_DAY}{_END}"  # anywhere in a segment, as nothing else looks like it
    rf"|/{_URL_YEAR}(?:_{_URL_MONTH}_{_URL_DAY}{_END}|/{_URL_MONTH}/{_URL_DAY}{_END}|{_URL_MONTH}{_URL_DAY}[-_])"
)
# The date is the digits of the one group that has some: eight, or six without a day. RE2 (Arrow, DuckDB) takes the
# pattern too: it has no assertions, and a group that has nothing is empty there.
# Of 258,387 real URLs 2,309 have such a date. Of 625 days with a lastmod beside them 507 are its day, 116 earlier, and
# two the day after (in UTC); of 218 beside the publication date of news, all are that day or next to it.
URL_DATE = rf"^[^?#]*?(?P<day>{_URL_DAY})|^[^?#]*?(?P<month>/{_URL_YEAR}/{_URL_MONTH}(?:[/?#]|$))"
_search, _find_days = re.compile(URL_DATE).search, re.compile(_URL_DAY, re.MULTILINE).finditer
# What such a date has at least: two patterns, as one with a literal at its beginning is ten times as fast.
HINTS = [f"{years}[-_/]?[01][0-9]" for years in ("20[0-9][0-9]", "199[5-9]")]


def date_in_url(loc: str) -> tuple[datetime, Precision] | None:
    """The day or the month that a URL states, from 1995 to 2099; None if it states none.

    An event may be later than now.

    >>> date_in_url("https://a.example/blog/2020-12-08-title/"), date_in_url("https://a.example/2020/12/title?page=2")
    ((datetime.datetime(2020, 12, 8, 0, 0, tzinfo=datetime.timezone.utc), 'day'), \
(datetime.datetime(2020, 12, 1, 0, 0, tzinfo=datetime.timezone.utc), 'month'))
    >>> date_in_url("https://a.example/1920x1080/2048/20201208")
    """
    found = _search(loc)
    moment = found and _moment(found["day"] or found["month"])
    return (moment, "day" if found and found["day"] else "month") if moment else None


def days_in_urls(text: str) -> Iterator[tuple[int, datetime]]:
    """The days that date_in_url() finds in many URLs, each behind a line feed, with the indexes of the URLs.

    >>> [(index, day.year) for index, day in days_in_urls("\\n/blog/\\n/2020/12/08/\\n/2020/12/\\n/1999-12-31")]
    [(1, 2020), (3, 1999)]
    """
    if not any(re.search(hint, text) for hint in HINTS):
        return
    last = index = -1
    at, has_query = 0, "?" in text or "#" in text
    for match in _find_days(text):
        index, at = index + text.count("\n", at, match.start()), match.start()
        if index == last or (has_query and re.search("[?#]", text[text.rindex("\n", 0, at) : at])):
            continue
        last = index
        day = _moment(match[0])
        if day is not None:
            yield index, day


@lru_cache(maxsize=4096)
def _moment(text: str) -> datetime | None:
    """The date of all digits in a text; None if there is no such day."""
    digits = re.sub("[^0-9]", "", text)
    try:
        return datetime(int(digits[:4]), int(digits[4:6]), int(digits[6:] or 1), tzinfo=UTC)
    except ValueError:  # 31 February
        return None
