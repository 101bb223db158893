"""The text of an extension's tag or attribute -> a typed value, or None with a Problem.

In: text, stripped, and the name of what holds it. Nothing is guessed: what cannot be read is None, its text in the
Problem.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from ..normalise.dates import parse_date
from ..normalise.urls import clean_url, is_app_link, is_clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...model.records import Extra
    from ..normalise.dates import Date, Dialect

    Note = Callable[[str, str, str, str], None]  # (code, message, field, raw)
    Kind = Callable[["Reading", str, str], Any]  # (reading, text, field) -> value


@attrs.define
class Reading:
    """What the values of one entry are read with: the URL they are relative to, and where faults go.

    `note` is called for each fault. `extras` collects what no field is for; None: not
    wanted. `may_be_relative`: a relative URL is no fault.
    """

    base: str | None
    note: Note
    date_dialect: Dialect = "w3c"
    extras: list[Extra] | None = None
    may_be_relative: bool = False


def text(reading: Reading, text: str, field: str) -> str:
    """As it stands."""
    return text


def names(reading: Reading, text: str, field: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def url(reading: Reading, text: str, field: str) -> str | None:
    """Cleaned as a `loc` is, with the same codes."""
    return text if is_clean(text) else _url(reading, text, field, "U01")


def href(reading: Reading, text: str, field: str) -> str | None:
    """The same, or a link into an app, as written; a relative one has a code of its own, as the engines forbid it."""
    return text if is_clean(text) or is_app_link(text) else _url(reading, text, field, "L06")


def _url(reading: Reading, text: str, field: str, relative: str) -> str | None:
    loc = clean_url(text, reading.base)
    for code, message in loc.faults(may_be_relative=reading.may_be_relative):
        reading.note(relative if code == "U01" else code, f"{field}: {message}", field, text)
    return loc.url


def date(reading: Reading, text: str, field: str) -> Date | None:
    """The instant and its precision."""
    return read_date(text, field, reading.date_dialect, reading.note)


def read_date(text: str, field: str, dialect: Dialect, note: Note) -> Date | None:
    """The same for who has no Reading: an entry's own lastmod."""
    value = parse_date(text, dialect)
    if value is None:
        note("D01", f'{field} "{text[:80]}" is no date', field, text)
    elif value.repair:
        note("D06", f'{field} "{text[:80]}": {value.repair}', field, text)
    return value


def boolean(reading: Reading, text: str, field: str) -> bool | None:
    """`yes` or `no`, and what else can only mean these."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        _unreadable(reading, text, field, "is not yes or no")
    return value


_BOOLEANS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0"), False),
}


def whole(most: int = 2**63 - 1) -> Kind:
    """A whole number from 0 to `most`; more than 64 bits have no place in a column."""
    return _number(int, _WHOLE, "a whole number", most)


def decimal(most: int = 10**15) -> Kind:
    """A decimal number from 0 to `most`; a comma or an exponent is none."""
    return _number(float, _DECIMAL, "a number of 0 or more", most)


def _number(make: Callable[[str], float], form: re.Pattern[str], what: str, most: int) -> Kind:
    def read(reading: Reading, text: str, field: str) -> float | None:
        if not form.fullmatch(text):
            _unreadable(reading, text, field, f"is not {what}")
        elif (value := make(text)) > most:
            _unreadable(reading, text, field, f"is more than {most:,}")
        else:
            return value
        return None

    return read


# As the schemas' integers and decimals may be written, at a length that somebody might write.
_WHOLE = re.compile(r"\+?[0-9]{1,40}")
_DECIMAL = re.compile(r"\+?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")


def _unreadable(reading: Reading, text: str, field: str, why: str) -> None:
    reading.note("V05", f'{field} "{text[:80]}" {why}', field, text)
