"""The fields of plain entries (plain.py) in, their records out: all of a block at once, column by column.

Where there may be something to say of an entry, its block is read one by one, and what is not as it should be goes to
the Normaliser. What comes out is always what the Normaliser alone would have given.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

import attrs

from ..model.limits import PROTOCOL_MAX_LOC_CHARACTERS
from ..model.records import ChangeFreq, UrlRecord
from .normalise.dates import STAMP_PRECISIONS, parse_date, read_stamp
from .normalise.entry import RawEntry
from .normalise.urls import is_clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from xml.etree.ElementTree import Element

    from ..model.problems import Problem
    from ..model.records import Item, Precision
    from .fast_scanner import Block
    from .normalise.entry import Normaliser
    from .normalise.scope import Scope

# What is nearly always there, also nothing; other spellings are for the Normaliser.
_USUAL_CHANGEFREQS: dict[str | None, ChangeFreq | None] = {
    None: None,
    **{spelled: each for each in get_args(ChangeFreq) for spelled in (each, each.title(), each.upper())},
}
_WEIGHTS = ("0", "1", *(f"{tenth / 10:.1f}" for tenth in range(11)), *(f"{number / 100:.2f}" for number in range(101)))
_USUAL_PRIORITIES: dict[str | None, float | None] = {None: None, **{text: float(text) for text in _WEIGHTS}}


# The instant, and how much was stated.
Lastmod = tuple["datetime | None", "Precision | None"]


class _Lastmods(dict["str | None", Lastmod]):
    """What is no stamp -> what it states. KeyError where there is something to say of it."""

    def __missing__(self, text: str) -> Lastmod:
        date = parse_date(text)
        if date is None or date.repair:
            raise KeyError(text)
        read = (date.moment, date.precision)
        if len(self) < _MOST_DATES:
            self[text] = read
        return read


_MOST_DATES = 4096  # most documents have few different days


class Columns(NamedTuple):
    """The fields of entries of which there is nothing to say.

    `extensions` are five columns more, None where no entry has any.
    """

    locs: Sequence[str]
    lastmods: Sequence[datetime | None]
    precisions: Sequence[Precision | None]
    changefreqs: Sequence[ChangeFreq | None]
    priorities: Sequence[float | None]
    lines: Sequence[int]
    extensions: Sequence[Iterable[Any]] | None


# The columns, and the URL of their document -> what comes out for them.
Make = Callable[[Columns, "str | None"], "list[Any]"]
_NO_EXTENSIONS = (repeat(()), repeat(()), repeat(None), repeat(()), repeat(False))


def records_of(columns: Columns, sitemap: str | None) -> list[UrlRecord]:
    """The records of many entries."""
    *fields, lines, extensions = columns
    return [*map(UrlRecord, *fields, *(extensions or _NO_EXTENSIONS), repeat(()), repeat(sitemap), lines)]


@attrs.define
class Entries:
    """Entries of one document of which nothing but these columns is to be told; they have no extensions."""

    columns: Columns
    sitemap: str | None

    @property
    def urls(self) -> int:
        """How many there are."""
        return len(self.columns.lines)


def merged(several: Sequence[Entries]) -> Entries:
    """Those of one document, as one."""
    if len(several) == 1:
        return several[0]
    parts = zip(*(each.columns[:-1] for each in several), strict=True)
    columns: list[Any] = [*([*chain.from_iterable(each)] for each in parts), None]
    return Entries(Columns(*columns), several[0].sitemap)


class PlainCleaner:
    """Blocks in, their records out, and the problems of those for which the Normaliser was asked.

    `scope` is what the document may speak for; `clean` has an entry read by the Normaliser, and what it says counted;
    `note` counts a Problem, and gives it with the document's name. `make` makes records of many that are clean.
    """

    def __init__(
        self,
        normaliser: Normaliser,
        scope: Scope,
        clean: Callable[[RawEntry], list[Item]],
        note: Callable[[Problem], Problem],
        make: Make,
    ) -> None:
        self._normaliser = normaliser
        self._scope = scope
        self._clean = clean
        self._note = note
        self._make = make
        self._lastmods = _Lastmods({None: (None, None)})

    def items(self, block: Block, room: int) -> list[Item]:
        """The records of no more than `room` entries in document order, each behind its problems."""
        columns = self._columns(block) if len(block.lines) <= room else None
        if columns is None:
            return self._one_by_one(block, room)
        self._normaliser.entries += len(columns.lines)
        self._normaliser.kept += len(columns.lines)
        return self._make(columns, self._normaliser.sitemap)

    def _columns(self, block: Block) -> Columns | None:
        """None where there may be something to say of an entry."""
        fields = block.fields
        if not all(fields.locs):
            return None
        locs = cast("Sequence[str]", fields.locs)
        written = "\n".join(locs)  # no clean URL has a line feed
        if "&" in written:
            locs = written.replace("&amp;", "&").split("\n")
        if "%2" in written or max(map(len, locs)) >= PROTOCOL_MAX_LOC_CHARACTERS:
            return None
        if not all(map(str.startswith, locs, repeat(self._scope.covered))):
            return None
        extensions: Sequence[Iterable[Any]] | None = None
        if any(fields.tails):
            *extensions, elements = [*zip(*block.extensions, strict=True)]
            if any(each is not None for each in elements):
                return None
        try:
            moments, precisions = self._dates(fields.stamps, fields.other_dates)
            changefreqs = [*map(_USUAL_CHANGEFREQS.__getitem__, fields.changefreqs)]
            priorities = [*map(_USUAL_PRIORITIES.__getitem__, fields.priorities)]
        except (KeyError, ValueError, OverflowError):
            return None
        return Columns(locs, moments, precisions, changefreqs, priorities, block.lines, extensions)

    def _dates(
        self, stamps: Sequence[str | None], others: Sequence[str | None]
    ) -> tuple[Sequence[datetime | None], Sequence[Precision | None]]:
        """The instants and their precisions; as read_stamp(), or an error where there is something to say of one."""
        read, precision_of, lastmods = datetime.fromisoformat, STAMP_PRECISIONS, self._lastmods
        moments: Sequence[datetime | None]
        precisions: Sequence[Precision | None]
        if all(stamps):
            written = cast("Sequence[str]", stamps)
            moments, precisions = [*map(read, written)], [precision_of[stamp[19:20]] for stamp in written]
        else:
            dates = [
                (read(stamp), precision_of[stamp[19:20]]) if stamp else lastmods[other]
                for stamp, other in zip(stamps, others, strict=True)
            ]
            moments, precisions = zip(*dates, strict=True)
        return [each if each is None or each.tzinfo is UTC else each.astimezone(UTC) for each in moments], precisions

    def _lastmod(self, stamp: str | None, other: str | None) -> Lastmod:
        """KeyError where there is something to say of it."""
        if not stamp:
            return self._lastmods[other]
        date = read_stamp(stamp)
        if date is None:
            raise KeyError(stamp)
        return date.moment, date.precision

    def _one_by_one(self, block: Block, room: int) -> list[Item]:
        sitemap, covered, reason = self._normaliser.sitemap, self._scope.covered, self._scope.reason
        mends = iter(block.mends)
        out: list[Item] = []
        problems: tuple[Problem, ...] = ()
        odd = 0
        rows = zip(*block.fields, block.extensions, block.lines, strict=True)
        for row in islice(rows, room):
            _, written, other_loc, stamp, other_date, often, weight, tail, extensions, line = row
            images, videos, news, alternates, mobile, elements = extensions
            loc = (written or "").replace("&amp;", "&")
            if other_loc:
                loc, problems = _mended(other_loc, mends)
            try:
                moment, precision = self._lastmod(stamp, other_date)
                changefreq, priority = _USUAL_CHANGEFREQS[often], _USUAL_PRIORITIES[weight]
                is_odd = not loc or len(loc) >= PROTOCOL_MAX_LOC_CHARACTERS or elements is not None
            except KeyError:
                is_odd = True
            if is_odd or not ((loc.startswith(covered) and "%2" not in loc) or reason(loc) is None):
                if elements is None:
                    elements = block.tails.elements(tail)
                texts = (written or other_loc, stamp or other_date, often, weight)
                out += self._clean(_raw_entry(texts, line, elements, problems))
                odd, problems = odd + 1, ()
            else:
                record = UrlRecord(
                    loc, moment, precision, changefreq, priority, images, videos, news, alternates, mobile, (),
                    sitemap, line,
                )  # fmt: skip
                if problems:
                    record.problems, problems = tuple(map(self._note, problems)), ()
                    out += record.problems
                out.append(record)
        read = min(room, len(block.lines)) - odd
        self._normaliser.entries += read
        self._normaliser.kept += read
        return out


def _mended(text: str, mends: Iterator[Problem]) -> tuple[str, tuple[Problem, ...]]:
    """A loc that is clean once each `&` is written as it should be, or none; with its own of the block's mends."""
    bare = text.count("&") - text.count("&amp;")
    loc = text.replace("&amp;", "&")
    return loc if bare and is_clean(loc) else "", tuple(islice(mends, bare))


def _raw_entry(
    texts: tuple[str | None, ...], line: int, elements: list[Element], problems: tuple[Problem, ...]
) -> RawEntry:
    loc, lastmod, changefreq, priority = ((text or "").strip() for text in texts)
    return RawEntry("url", loc.replace("&amp;", "&"), line, lastmod, changefreq, priority, elements, [*problems])
