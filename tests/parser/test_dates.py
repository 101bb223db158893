"""Every dialect of lastmod that is read, the problems of repaired ones, and invalid dates."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import feed, index, parse, urlset

import sitemap_reader as sr
from sitemap_reader.parser import Date, parse_date, period_end
from sitemap_reader.parser.normalise import dates
from sitemap_reader.serialize import stamp

CLEAN = [
    ("2014-06-03T10:30:15Z", "2014-06-03T10:30:15Z", "second"),
    ("2014-06-03T10:30:15.25Z", "2014-06-03T10:30:15.25Z", "subsecond"),
    # a stated fraction of zero is kept
    ("2014-06-03T00:00:00Z", "2014-06-03T00:00:00Z", "second"),
    ("2014-06-03T10:30:15.000Z", "2014-06-03T10:30:15Z", "subsecond"),
    # fractions: any number of digits, cut, never rounded
    ("2014-06-03T10:30:15.9999999+00:00", "2014-06-03T10:30:15.999999Z", "subsecond"),
    ("2014-06-03T10:30:15." + "9" * 5000 + "Z", "2014-06-03T10:30:15.999999Z", "subsecond"),
    # offsets, up to the largest ones in use
    ("2014-06-03T10:30:15+00:00", "2014-06-03T10:30:15Z", "second"),
    ("2014-06-03T10:30:15-00:00", "2014-06-03T10:30:15Z", "second"),
    ("2014-06-03T10:30:15+01:00", "2014-06-03T09:30:15Z", "second"),
    ("2014-06-03T10:30+05:45", "2014-06-03T04:45:00Z", "minute"),
    # the calendar
    ("2016-02-29", "2016-02-29T00:00:00Z", "day"),
    ("0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00Z", "second"),
    ("9999-12-31", "9999-12-31T00:00:00Z", "day"),
]

NO_ZONE = "no zone, read as UTC"
REPAIRED = [
    ("2014-06-03 10:30:15Z", "2014-06-03T10:30:15Z", "second", "space instead of T"),
    ("2014-06-03  10:30Z", "2014-06-03T10:30:00Z", "minute", "space instead of T"),
    ("2014-06-03T10:30:15.5", "2014-06-03T10:30:15.5Z", "subsecond", NO_ZONE),
    ("2014-06-03T10:30:15 +01:00", "2014-06-03T09:30:15Z", "second", "space before the zone"),
    ("2014-6", "2014-06-01T00:00:00Z", "month", "one-digit month or day"),
    ("2014/6/3 08:00", "2014-06-03T08:00:00Z", "minute",
     f"/ instead of -; one-digit month or day; space instead of T; {NO_ZONE}"),
    # ISO 8601: the end of the day
    ("2014-06-03T24:00:00+02:00", "2014-06-03T22:00:00Z", "second", "24:00, read as the next day"),
    # time of a 12-hour clock
    ("2014-06-03 8:30 AM", "2014-06-03T08:30:00Z", "minute", f"space instead of T; 12-hour clock; {NO_ZONE}"),
    ("2014-06-03 08:30:15 PM", "2014-06-03T20:30:15Z", "second", f"space instead of T; 12-hour clock; {NO_ZONE}"),
    ("2014-06-03T12:30p.m.Z", "2014-06-03T12:30:00Z", "minute", "12-hour clock"),
    # other ways to write a part
    ("2014-06-03T8:30:00Z", "2014-06-03T08:30:00Z", "second", "one-digit hour"),
    ("2014-06-03T10:30:00-5:00", "2014-06-03T15:30:00Z", "second", "offset not written as +hh:mm"),
    ("2014-06-03T10:30:00+00:00Z", "2014-06-03T10:30:00Z", "second", "offset not written as +hh:mm"),
    ("2014.06.03", "2014-06-03T00:00:00Z", "day", ". instead of -"),
    ("2014.6.3 10:30Z", "2014-06-03T10:30:00Z", "minute",
     ". instead of -; one-digit month or day; space instead of T"),
    # xs:date
    ("2014-06-03Z", "2014-06-03T00:00:00Z", "day", "the zone of a day, left out"),
    ("2014-06-03+02:00", "2014-06-03T00:00:00Z", "day", "the zone of a day, left out"),
    ("2014-06-03-11:30", "2014-06-03T00:00:00Z", "day", "the zone of a day, left out"),
    # ISO 8601 without separators
    ("20140603", "2014-06-03T00:00:00Z", "day", "without separators"),
    ("19900101", "1990-01-01T00:00:00Z", "day", "without separators"),
    ("21001231", "2100-12-31T00:00:00Z", "day", "without separators"),
    ("20140603T103015Z", "2014-06-03T10:30:15Z", "second", "without separators"),
    ("20140603T1030", "2014-06-03T10:30:00Z", "minute", f"without separators; {NO_ZONE}"),
    ("20140603T103015.5+0200", "2014-06-03T08:30:15.5Z", "subsecond",
     "without separators; offset not written as +hh:mm"),
    # what is not seen
    ("\u200b2014-06-03", "2014-06-03T00:00:00Z", "day", "invisible characters around it"),
    ("2014-06-03T10:30:15Z\u200e", "2014-06-03T10:30:15Z", "second", "invisible characters around it"),
    ("\ufeff \u200b2014-06-03 10:30", "2014-06-03T10:30:00Z", "minute",
     f"space instead of T; {NO_ZONE}; invisible characters around it"),
    # numbers
    ("9999999999", "2286-11-20T17:46:39Z", "second", "epoch seconds"),
]

RFC822 = [
    ("Mon, 03 Jun 96 10:30:15 UTC", "1996-06-03T10:30:15Z", "second"),
    ("03 Jun 49 00:00 GMT", "2049-06-03T00:00:00Z", "minute"),  # RFC 2822 4.3: the window
    ("03 Jun 50 00:00 GMT", "1950-06-03T00:00:00Z", "minute"),
    ("Tue, 03 Jun 2014 10:30:15 -0330", "2014-06-03T14:00:15Z", "second"),
    ("tue,03  JUN  2014 10:30:15 gmt", "2014-06-03T10:30:15Z", "second"),
]

NO_DATE = [
    "", "-", "yesterday", "Mon", "now", "None",
    "2014-02-31", "2015-02-29", "2014-13-01", "2014-00", "2014-06-00",  # not in the calendar
    "0000", "0000-00-00", "0000-00-00 00:00:00", "0000-00-00T00:00:00Z",
    "11/09/2025", "09-11-2025", "03.06.2014", "3/Jun/14",  # day or month first, and short years: a guess
    "2014-06/03", "2014.06", "03.06.2014 10:30", "13/09/2025", "14-06-03",
    "2026-W46-2", "2026-314", "2026W462", "202611101030", "20261110103000",  # other ISO 8601 forms
    "20260230", "19891231", "21010101", "20261110T", "20261110T10Z", "20261110T103000+1500", "20261110T2530Z",
    "123456789", "14017914150", "14017914152500", "-1401791415", "1401791415.5", "1e9",
    "2014-06-03T10:30:15+19:00", "2014-06-03T10:30:15-1430",
    "2014-06-03T10:30:15+01:60", "2014-06-03T10:30:15+1", "2014-06-03T10:30:15IST", "2014-06-03T10:30:15+02:00Z",
    "2014-06-03+15:00", "2014-06-03+0200", "2014-06Z", "2014-06-03 13:30 PM", "2014-06-03 0:30 am",
    "2014-06-03T25:00:00Z", "2014-06-03T24:00:01Z", "2014-06-03T24:30Z", "2014-06-03T10:60Z",
    "2014-06-03T10:30:61Z", "2014-06-03T10:30:15.Z", "2014-06-03T10Z", "2014-06-03T",
    "2014-06-03T10:30:15ZZ", "2014-06-03T10:30:15Z junk",
    "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "9999-12-31T24:00Z",  # off the calendar in UTC
    "Tue, 31 Feb 2014 10:30:15 GMT", "Tue, 03 Jun 2014 10:30:15 XYZ", "Tue, 03 Jun 2014 10:30:15 A",
    "Tue, 03 Jun 214 10:30 GMT", "Tue, 03 Jun 2014 10:30:15 +2000",
    "٢٠١٤-٠٦-٠٣", "２０１４", "２０１４-06-03T10:30:15Z", "140179141５", "03 Jun 201４ 10:30 GMT",  # digits are ASCII
    "2014−06−03", "2014-06-03\x00", "3 ſep 2014 10:30 GMT",
    "\u200b", "\ufeff\u200b \u200e", "2014-06-\u200b03",
    "2014-06-03\n", " 2014-06-03",  # the text arrives stripped; other white space belongs to it
]


def form(date: Date | None) -> tuple[str | None, str, str | None] | None:
    return date and (stamp(date.moment), date.precision, date.repair)


# --- known dialects by group, in each variant ---

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
LONG_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
               "November", "December"]
SPACE, OFFSET, RFC_822 = "space instead of T", "offset not written as +hh:mm", "RFC 822 form"
NAMED, BY_NAME = "month by name", "zone by name"
GO = f"{SPACE}; space before the zone; {OFFSET}; {BY_NAME}"
DIALECTS: dict[str, list[tuple[str, str | None, str | None, str | None]]] = {
    "fractions of 1 to 9 digits": [
        (f"2014-06-03T10:30:00.{'123456789'[:digits]}Z", f"2014-06-03T10:30:00.{'123456'[:digits]}Z", "subsecond", None)
        for digits in range(1, 10)
    ],
    "fractions in other forms": [
        ("2014-06-03T10:30:00.5+01:00", "2014-06-03T09:30:00.5Z", "subsecond", None),
        ("2014-06-03 10:30:00.123456789", "2014-06-03T10:30:00.123456Z", "subsecond", f"{SPACE}; {NO_ZONE}"),
        ("2014-06-03T10:30:00.123456789+0100", "2014-06-03T09:30:00.123456Z", "subsecond", OFFSET),
        ("2014-06-03T10:30.5Z", None, None, None),
        ("2014-06-03T10:30:00,5Z", "2014-06-03T10:30:00.5Z", "subsecond", "comma before the fraction"),
        ("2014-06-03T10:30,5Z", None, None, None),
    ],
    "t and z": [
        ("2014-06-03t10:30:00z", "2014-06-03T10:30:00Z", "second", None),
        ("2014-06-03t10:30:00Z", "2014-06-03T10:30:00Z", "second", None),
        ("2014-06-03T10:30:00z", "2014-06-03T10:30:00Z", "second", None),
        ("2014-06-03t10:30:00.5+01:00", "2014-06-03T09:30:00.5Z", "subsecond", None),
        ("2014-06-03 10:30:00z", "2014-06-03T10:30:00Z", "second", SPACE),
    ],
    "offsets to +-14:00": [
        ("2014-06-03T10:30:00+14:00", "2014-06-02T20:30:00Z", "second", None),
        ("2014-06-03T10:30:00-14:00", "2014-06-04T00:30:00Z", "second", None),
        ("2014-06-03T10:30:00+13:59", "2014-06-02T20:31:00Z", "second", None),
        ("2014-06-03T10:30:00-12:45", "2014-06-03T23:15:00Z", "second", None),
        ("2014-06-03T10:30:00+1400", "2014-06-02T20:30:00Z", "second", OFFSET),
        ("2014-06-03T10:30:00-14", "2014-06-04T00:30:00Z", "second", OFFSET),
        *((f"2014-06-03T10:30:00{offset}", None, None, None)
          for offset in ["+14:01", "-14:01", "+14:30", "+15:00", "-15:00", "+1401", "+15", "+24:00", "+99:99"]),
    ],
    "no T, no zone, no minutes in it, no zeros, slashes": [
        ("2014-06-03 10:30:00", "2014-06-03T10:30:00Z", "second", f"{SPACE}; {NO_ZONE}"),
        ("2014-06-03 10:30", "2014-06-03T10:30:00Z", "minute", f"{SPACE}; {NO_ZONE}"),
        ("2014-06-03T10:30:00", "2014-06-03T10:30:00Z", "second", NO_ZONE),
        ("2014-06-03T10:30:00+0100", "2014-06-03T09:30:00Z", "second", OFFSET),
        ("2014-06-03T10:30:00+01", "2014-06-03T09:30:00Z", "second", OFFSET),
        ("2014-06-03 10:30:00 +0100", "2014-06-03T09:30:00Z", "second", f"{SPACE}; space before the zone; {OFFSET}"),
        ("2014-6-3", "2014-06-03T00:00:00Z", "day", "one-digit month or day"),
        ("2014-6-03", "2014-06-03T00:00:00Z", "day", "one-digit month or day"),
        ("2014/06/03", "2014-06-03T00:00:00Z", "day", "/ instead of -"),
        ("2014/06", "2014-06-01T00:00:00Z", "month", "/ instead of -"),
        ("2014/06/03 10:30:00", "2014-06-03T10:30:00Z", "second", f"/ instead of -; {SPACE}; {NO_ZONE}"),
    ],
    "RFC 822": [
        ("Wed, 03 Jun 2014 10:30:00 GMT", "2014-06-03T10:30:00Z", "second", RFC_822),
        ("Wed, 03 Jun 14 10:30:00 GMT", "2014-06-03T10:30:00Z", "second", RFC_822),
        ("03 Jun 2014 10:30:00 GMT", "2014-06-03T10:30:00Z", "second", RFC_822),
        ("Wed, 03 Jun 2014 10:30 GMT", "2014-06-03T10:30:00Z", "minute", RFC_822),
        ("3 Jun 14 10:30 +0200", "2014-06-03T08:30:00Z", "minute", RFC_822),
        ("Wed, 03 Jun 2014 10:30:00", "2014-06-03T10:30:00Z", "second", f"{RFC_822}; {NO_ZONE}"),
        ("Wed, 03 Jun 2014 24:00:00 GMT", "2014-06-04T00:00:00Z", "second", f"{RFC_822}; 24:00, read as the next day"),
        ("3 Jun 2014 24:00:00", "2014-06-04T00:00:00Z", "second", f"{RFC_822}; {NO_ZONE}; 24:00, read as the next day"),
        ("Wed, 03 Jun 2014 10:30:60 GMT", "2014-06-03T10:30:59Z", "second", f"{RFC_822}; :60, read as :59"),
        *((f"1 {month} 2014 00:00 GMT", f"2014-{number:02}-01T00:00:00Z", "minute", RFC_822)
          for number, month in enumerate(MONTHS, 1)),
        *((f"{day}, 03 Jun 2014 10:30:00 GMT", "2014-06-03T10:30:00Z", "second", RFC_822)
          for day in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]),
    ],
    "RFC 850": [
        ("Sunday, 12-Aug-12 10:30:00 GMT", "2012-08-12T10:30:00Z", "second", "RFC 850 form"),
        ("Saturday, 25-Sep-99 01:30:00 GMT", "1999-09-25T01:30:00Z", "second", "RFC 850 form"),
        *((text, None, None, None)
          for text in ["Sunday, 12-Aug-12", "12-Aug-12 10:30:00 GMT", "Sunday, 12-Aug-12 10:30:00 CET"]),
    ],
    "months by name": [
        *((each, "2012-08-12T00:00:00Z", "day", NAMED) for each in (
            "12 August 2012", "12th Aug., 2012", "12. August 2012", "12. Aug. 2012", "12.Aug.2012",
            "12th of August 2012", "12-Aug-2012", "Sunday, 12 August 2012", "August 12, 2012", "2012-Aug-12",
        )),
        ("Tue, 03 Jun 2014", "2014-06-03T00:00:00Z", "day", NAMED),
        ("sept 1st 2012", "2012-09-01T00:00:00Z", "day", NAMED),
        ("August 2012", "2012-08-01T00:00:00Z", "month", NAMED),
        ("Sat 25 Sep 2010 01:30:00 GMT", "2010-09-25T01:30:00Z", "second", NAMED),
        ("Tuesday, 03 Jun 2014 10:30:00 GMT", "2014-06-03T10:30:00Z", "second", NAMED),
        ("Tue, 03 June 2014 10:30 EST", "2014-06-03T15:30:00Z", "minute", NAMED),
        ("Tue, 03 Jun 2014 10:30:00 Pacific Daylight Time", "2014-06-03T17:30:00Z", "second", NAMED),
        ("Tue, 03 Jun 2014 10:30:00 +02:00", "2014-06-03T08:30:00Z", "second", NAMED),
        ("Mon Sep 06 2021 07:33:05 GMT+0200 (CEST)", "2021-09-06T05:33:05Z", "second", NAMED),  # JavaScript
        ("Mon Sep 06 2021 07:33:05 GMT-0330 (Newfoundland)", "2021-09-06T11:03:05Z", "second", NAMED),
        ("Sun Aug 12 2012 10:30:00 GMT+0200 (Mitteleuropäische Sommerzeit)", "2012-08-12T08:30:00Z", "second", NAMED),
        ("Sun Aug 12 2012 10:30:00 GMT+0800 (中国标准时间)", "2012-08-12T02:30:00Z", "second", NAMED),
        ("Sun Aug 12 2012 10:30:00 GMT-0300 (GMT-03:00)", "2012-08-12T13:30:00Z", "second", NAMED),
        ("17/May/2024:08:30:00 +0200", "2024-05-17T06:30:00Z", "second", NAMED),  # Apache
        ("17 May 2024 - 08:30", "2024-05-17T08:30:00Z", "minute", f"{NAMED}; {NO_ZONE}"),  # Drupal
        ("3 June 2014 10:30 CET", "2014-06-03T09:30:00Z", "minute", NAMED),
        ("Tue Jun  3 10:30:00 2014", "2014-06-03T10:30:00Z", "second", f"{NAMED}; {NO_ZONE}"),  # asctime
        ("Tue Jun  3 10:30:00 UTC 2014", "2014-06-03T10:30:00Z", "second", NAMED),  # date
        ("Tue Jun 3 10:30:00 2014 +0200", "2014-06-03T08:30:00Z", "second", NAMED),  # git
        ("June 3, 2014 5:30 pm", "2014-06-03T17:30:00Z", "minute", f"{NAMED}; 12-hour clock; {NO_ZONE}"),
        ("June 3, 2014 at 12:30:15 a.m. UTC", "2014-06-03T00:30:15Z", "second", f"{NAMED}; 12-hour clock"),
        ("3 June 2014 24:00 GMT", "2014-06-04T00:00:00Z", "minute", "month by name; 24:00, read as the next day"),
        *((f"1 {month} 2014", f"2014-{number:02}-01T00:00:00Z", "day", NAMED)
          for number, month in enumerate(LONG_MONTHS, 1)),
        *((f"{day} 3 Jun 2014", "2014-06-03T00:00:00Z", "day", NAMED)
          for day in ["Tue", "Tues,", "Wednesday", "Thurs.", "Friday,", "Saturday", "Sun,"]),
        *((text, None, None, None)
          for text in ["31 February 2014", "32 August 2012", "August 12", "12 August", "12 August 12", "August",
                       "Friday", "12 août 2012", "12 Augustus 2012", "June 3, 2014 13:30 pm", "June 3, 2014 0:30 am",
                       "25-Sep-10 01:30:00 GMT", "Tue Jun 3 10:30:00 CST 2014", "3 June 2014 10:30 IST",
                       "12 of August", "3 June 2014 10:30 GMT+0200 ()",
                       "3 June 2014 10:30 GMT+15", "3 June 2014 and more", "3 June 2014 10:30 ("]),
    ],
    "zones by name": [
        *((f"03 Jun 2014 10:30:00 {name}", f"2014-06-03T{10 - hours}:30:00Z", "second", RFC_822)
          for name, hours in [("UT", 0), ("UTC", 0), ("GMT", 0), ("Z", 0), ("EST", -5), ("EDT", -4), ("CST", -6),
                              ("CDT", -5), ("MST", -7), ("MDT", -6), ("PST", -8), ("PDT", -7), ("pdt", -7)]),
        *((f"03 Jun 2014 10:30:00 {name}", f"2014-06-03T{10 - hours:02}:30:00Z", "second",
           f"{RFC_822}; a zone that RFC 822 does not name")
          for name, hours in [("WET", 0), ("BST", 1), ("CET", 1), ("CEST", 2), ("EEST", 3), ("MSK", 3), ("JST", 9),
                              ("jst", 9), ("HST", -10)]),
        *((f"03 Jun 2014 10:30:00 {name}", None, None, None) for name in ["IST", "A", "Y", "XX", "CXT", "MESZ"]),
        ("2014-06-03T10:30:00CEST", "2014-06-03T08:30:00Z", "second", BY_NAME),
        ("2014-06-03T10:30:00 GMT", "2014-06-03T10:30:00Z", "second", BY_NAME),
        ("2014-06-03T10:30:00EST", "2014-06-03T15:30:00Z", "second", BY_NAME),
        ("2014-06-03 10:30:00 UTC", "2014-06-03T10:30:00Z", "second", f"{SPACE}; {BY_NAME}"),
        ("2014-06-03 10:30 Eastern Standard Time", "2014-06-03T15:30:00Z", "minute", f"{SPACE}; {BY_NAME}"),
        ("2014-06-03 10:30:00 UTC+2", "2014-06-03T08:30:00Z", "second", f"{SPACE}; {BY_NAME}"),
        ("2014-06-03 10:30:00 +0000 UTC", "2014-06-03T10:30:00Z", "second", GO),
        ("2014-06-03 10:30:00.5 +0200 CEST m=+0.01", "2014-06-03T08:30:00.5Z", "subsecond", GO),
        ("2014-06-03T10:30:00+02:00[Europe/Berlin]", "2014-06-03T08:30:00Z", "second", BY_NAME),  # Java
        *((f"2014-06-03T10:30:00 {name}", None, None, None)
          for name in ["CST", "IST", "A", "Z UTC", "+0000 utc x"]),
    ],
    "24:00 and :60": [
        ("2014-06-03T24:00:00Z", "2014-06-04T00:00:00Z", "second", "24:00, read as the next day"),
        ("2014-02-28T24:00Z", "2014-03-01T00:00:00Z", "minute", "24:00, read as the next day"),
        ("2014-06-03 24:00:00", "2014-06-04T00:00:00Z", "second", f"{SPACE}; {NO_ZONE}; 24:00, read as the next day"),
        ("2014-06-30T23:59:60Z", "2014-06-30T23:59:59Z", "second", ":60, read as :59"),
        ("2014-07-01T01:59:60.5+02:00", "2014-06-30T23:59:59.5Z", "subsecond", ":60, read as :59"),
        ("2014-06-03T24:00:00.1Z", None, None, None),
    ],
    "ten digits, or thirteen": [
        ("1401791400", "2014-06-03T10:30:00Z", "second", "epoch seconds"),
        ("1401791400123", "2014-06-03T10:30:00.123Z", "subsecond", "epoch milliseconds"),
        ("1401791400000", "2014-06-03T10:30:00Z", "subsecond", "epoch milliseconds"),
        *(("1" * digits, None, None, None) for digits in [5, 6, 7, 8, 9, 11, 12, 14, 16, 19, 5000]),
    ],
    "clean in both dialects": [(*row, None) for row in CLEAN],
    "repaired": REPAIRED,
    "clean in RSS": [(*row, RFC_822) for row in RFC822],
    "no date": [(text, None, None, None) for text in NO_DATE],
}
ROWS = [pytest.param(*row, id=f"{group}: {row[0][:40]}") for group, rows in DIALECTS.items() for row in rows]


@pytest.mark.parametrize(("text", "moment", "precision", "repair"), ROWS)
def test_each_variant_of_each_dialect(text, moment, precision, repair):
    expected = None if moment is None else (moment, precision, repair)
    assert form(parse_date(text)) == expected
    if expected and repair:  # the usual form of feeds is no repair there
        expected = (moment, precision, repair.removeprefix(RFC_822).removeprefix("; ") or None)
    assert form(parse_date(text, "rss")) == expected


# --- the zeros of clocks ---


@pytest.mark.parametrize(("text", "is_zero"), [
    ("0001-01-01", True), ("0001-01-01T00:00:00Z", True), ("1601-01-01T00:00Z", True), ("1753-01-01", True),
    ("1899-12-30", True), ("1900-01-01", True), ("1970-01-01", True), ("1970-01-01T00:00:00+02:00", True),
    ("1970-01-01T01:00:00+01:00", True), ("1969-12-31T16:00:00-08:00", True), ("1970-01-01T00:00:01Z", True),
    ("1969-12-31", True), ("Thu, 01 Jan 1970 00:00:00 +0000", True), ("1970-01-01 00:00:00", True),
    ("0000000000", True), ("1970-01-01T14:00Z", True), ("1970-01-01T14:01Z", False), ("1969-12-31T10:00Z", False),
    ("1970-01-02", False), ("1969-12-30", False), ("1970", False), ("1970-01", False),
    ("1980-01-01T00:00:00+00:00", True), ("1980-01-02", False), ("1980", False),
    ("1951-12-17T12:00:00+00:00", False), ("2026-01-01", False),
])
def test_the_zero_of_a_clock_is_no_date_of_a_page(text, is_zero):
    assert dates.is_zero_of_clock(parse_date(text)) is is_zero


@pytest.mark.parametrize("text", ["1970-01-01", "1980-01-01", "1980-01-01T00:00:00Z", "1980-01-01T00:00:00+00:00"])
def test_the_zero_of_a_clock_is_no_lastmod_of_a_plain_entry(text):
    for scans in (True, False):
        read = parse(urlset(f"<url><loc>https://example.com/</loc><lastmod>{text}</lastmod></url>"), scans=scans)
        assert [each.lastmod for each in read.of(sr.UrlRecord)] == [None]
        assert [(each.code, each.raw) for each in read.of(sr.Problem)] == [("D01", text)]


# --- repeated texts ---


@pytest.mark.parametrize("text", ["2014-06-03T10:30:00Z", "2014-06-03 10:30", "3 Jun 2014 10:30 GMT", "1401791400"])
def test_repeated_text_is_parsed_once(text):
    first = parse_date(text)
    assert first is not None
    assert parse_date(text) is first


def test_repeated_unreadable_text_is_parsed_once(monkeypatch):
    assert parse_date("no date at all") is None
    monkeypatch.setattr(dates, "_parse", lambda *_: pytest.fail("read again"))
    assert parse_date("no date at all") is None


def test_dialects_are_remembered_apart():
    text = "5 Jun 2014 10:30:00 GMT"
    assert [parse_date(text, dialect).repair for dialect in ("rss", "w3c", "rss")] == [None, RFC_822, None]


def test_memory_for_repeated_texts_is_bounded():
    for number in range(5000):
        parse_date(f"2014-06-03T10:30:00.{number}Z")
    remembered = dates._cached.cache_info()
    assert remembered.currsize <= remembered.maxsize <= 4096
    parse_date("x" * 41)
    parse_date("2014-06-03T10:30:00." + "1" * 41 + "Z")
    assert dates._cached.cache_info().misses == remembered.misses  # long texts are not kept


@given(st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_dates_written_by_python_are_read_back(moment, minutes):
    local = moment.replace(tzinfo=UTC) if minutes == 0 else None
    if local is None:
        zone = datetime.strptime(f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}", "%z")
        local = moment.replace(tzinfo=zone.tzinfo)
    try:
        expected = local.astimezone(UTC)
    except OverflowError:
        expected = None
    date = parse_date(local.isoformat())
    assert (date and date.moment) == expected


@pytest.mark.parametrize(("start", "precision", "end"), [
    ("2014", "year", "2015-01-01T00:00:00Z"),
    ("2014-06", "month", "2014-07-01T00:00:00Z"),
    ("2014-12", "month", "2015-01-01T00:00:00Z"),
    ("2016-02-28", "day", "2016-02-29T00:00:00Z"),
    ("2014-12-31", "day", "2015-01-01T00:00:00Z"),
    ("2014-06-03T10:30Z", "minute", "2014-06-03T10:31:00Z"),
    ("2014-06-03T10:30:59Z", "second", "2014-06-03T10:31:00Z"),
    ("2014-06-03T10:30:59.5Z", "subsecond", "2014-06-03T10:30:59.500001Z"),
    # no year 10000: the last representable instant
    ("9999", "year", "9999-12-31T23:59:59.999999Z"),
    ("9999-12", "month", "9999-12-31T23:59:59.999999Z"),
    ("9999-12-31", "day", "9999-12-31T23:59:59.999999Z"),
    ("9999-12-31T23:59:59Z", "second", "9999-12-31T23:59:59.999999Z"),
])
def test_a_period_ends_where_the_next_begins(start, precision, end):
    date = parse_date(start)
    assert date.precision == precision
    assert stamp(period_end(date.moment, date.precision)) == end


def test_periods_of_a_leap_year_are_without_gaps():
    moment = datetime(2016, 1, 1, tzinfo=UTC)
    months = []
    while moment.year == 2016:
        months.append(moment)
        moment = period_end(moment, "month")
    assert [month.month for month in months] == list(range(1, 13))
    assert moment - months[0] == timedelta(days=366)


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize(("body", "line", "message"), [
    (urlset("<url><loc>https://a.example/1</loc><lastmod></lastmod></url>", "https://a.example/2"), 2, "1 entry"),
    (
        urlset("https://a.example/1", *["<url><loc>https://a.example/2</loc><lastmod/></url>"] * 2_000),
        3,
        "2,000 entries",
    ),
    (index("<sitemap><loc>https://a.example/1</loc><lastmod> \n </lastmod></sitemap>"), 2, "1 entry"),
    (urlset("<url><loc>https://a.example/[1]</loc><lastmod/></url>"), 2, "1 entry"),  # which is read by itself
    (urlset(("https://a.example/1", "2026-10-01"), "https://a.example/[2]"), None, None),
    (urlset("<url><loc>https://b.example/1</loc><lastmod/></url>"), None, None),  # out of scope
    (b"<urlset><url><loc>https://a.example/1</loc><lastmod>", None, None),  # cut
    (feed("https://a.example/1").replace(b"</item>", b"<pubDate/></item>"), None, None),
])
def test_empty_dates_are_counted(body: bytes, line: int | None, message: str | None, scans: bool) -> None:
    parsing = parse(body, url="https://a.example/s.xml", scope="host", scans=scans)
    found = [(each.line, each.severity, each.message) for each in parsing.of(sr.Problem) if each.code == "D01"]
    assert found == ([(line, "notice", f"empty <lastmod>: {message}")] if message else [])
