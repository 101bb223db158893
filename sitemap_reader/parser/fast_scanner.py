"""Plain entries: UTF-8 bytes in that begin right behind an entry of a `<urlset>`, the fields of its next entries out.

One regular expression describes a `<url>` as nearly all of them are: at most the four fields, in the order of the
schema, and behind them what tails.py may be able to read. Where it does not match, nothing is said of what stands
there: that is for expat to read, which is what decides on all markup (markup.py). plain_path.py says when it is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate, chain, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

import attrs

from ..model.limits import PROTOCOL_MAX_LOC_CHARACTERS
from ..model.records import NO_EXTENSIONS, ChangeFreq, UrlRecord
from .normalise.dates import STAMP, STAMP_PRECISIONS, parse_date, read_stamp
from .normalise.entry import RawEntry
from .normalise.urls import CANONICAL_IN_XML, is_clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from xml.etree.ElementTree import Element

    from ..model.limits import Limits
    from ..model.problems import Problem
    from ..model.records import Item, Precision
    from .fast_extensions import ExtensionReader, Extensions
    from .normalise.entry import Normaliser
    from .normalise.scope import Scope


# So much is looked at at once; no entry that is longer is plain.
WINDOW_BYTES = 64 * 1024
_FIRST_WINDOW_BYTES = 1024
_END = "</url>"
_END_TAG = _END.encode()

_GAP = r"[ \t\r\n]*+"
# What may stand in a field: ASCII without markup. Of a `\r` expat would make a line feed.
_TEXT = r"[\t\n -%'-;=?-~]"


@cache  # most documents need the first alone
def _entries(ampersand: str) -> re.Pattern[str]:
    """Entries in which `&` is written so. No two parts that follow each other match the same text: it is linear.

    What may be missing is `(?: ... | )`: with `( ... )?` re takes a third more time.
    """
    other = rf"{_TEXT}* (?: {ampersand} {_TEXT}* )*"
    return re.compile(
        rf"""
        ( <url> {_GAP}
            <loc> (?: {_GAP} ( {CANONICAL_IN_XML} ) {_GAP} | ( {other} ) ) </loc> {_GAP}
            (?: <lastmod> (?: ( {STAMP} ) | ( {_TEXT}+ ) ) </lastmod> {_GAP} | )
            (?: <changefreq> ( {_TEXT}+ ) </changefreq> {_GAP} | )
            (?: <priority> ( {_TEXT}+ ) </priority> {_GAP} | )
            (?: ( <[a-z]+: [^<]*+ (?: <(?![!?]|/url>) [^<]*+ )* ) | )
        </url> {_GAP} )
        | ( .+ )                                            # the rest, from the first on that is no such entry
        """,
        re.VERBOSE | re.ASCII | re.DOTALL,
    )


_ESCAPED = "&amp;"
# And what is no reference whatever stands behind it: mending.py decides on the others.
_ESCAPED_OR_BARE = r"& (?: amp; | (?! \# | [A-Za-z][A-Za-z0-9]*; ) )"
_BARE = re.compile("&(?!amp;)")
_FIRST = re.compile(rf"{_GAP}(?=<url>)")


class Fields(NamedTuple):
    """What stands in entries, by columns, None where there is nothing: the groups of the regular expression.

    A loc is clean or another, a date is a stamp or another; the tail is for tails.py.
    """

    entries: Sequence[str]
    locs: Sequence[str | None]
    other_locs: Sequence[str | None]
    stamps: Sequence[str | None]
    other_dates: Sequence[str | None]
    changefreqs: Sequence[str | None]
    priorities: Sequence[str | None]
    tails: Sequence[str | None]


# split() gives so many strings for a match: what stands before it, the columns, and the rest.
_COLUMNS = range(1, 1 + len(Fields._fields))
_STRIDE = 1 + len(_COLUMNS) + 1
_TAIL = _COLUMNS[-1]


class Block(NamedTuple):
    """Entries that stand one behind another, and the line of each. `is_last`: the next one is not plain.

    From behind the entry before them to their own end it is `size` bytes with `breaks` line breaks. At the offsets
    `bare` an `&` is to be mended; `mends` is where whoever does that puts a Problem for each. `extensions`
    is what `tails` has read of each entry.
    """

    fields: Fields
    lines: list[int]
    size: int
    breaks: int
    is_last: bool
    bare: list[int]
    mends: list[Problem]
    extensions: list[Extensions]
    tails: ExtensionReader

    @property
    def is_worth_it(self) -> bool:
        """False where expat would have been no slower: most of the tails had to become elements."""
        odd = sum(each[-1] is not None for each in self.extensions) if any(self.fields.tails) else 0
        return 2 * odd <= len(self.lines)


def plain_blocks(
    data: bytes, start: int, line: int, most_bare: Callable[[], int], tails: ExtensionReader
) -> Iterator[Block]:
    """The plain entries that begin at `start`, right behind an entry that ends on this line: as many as follow.

    `most_bare` says how many a block may have that are to be mended.
    """
    # At first a little: where one in five is not plain, all behind it in a window is read in vain.
    is_short = data.find(_END_TAG, start, start + _FIRST_WINDOW_BYTES) >= 0
    window = _FIRST_WINDOW_BYTES if is_short else WINDOW_BYTES
    while block := _block(data[start : start + window], line, most_bare(), tails):
        yield block
        if block.is_last or start + window >= len(data):
            return
        start, line = start + block.size, line + block.breaks
        window = min(4 * window, WINDOW_BYTES)


def _block(window: bytes, line: int, most_bare: int, tails: ExtensionReader) -> Block | None:
    # In Latin-1 each byte is a character: what is not ASCII is none that is looked for.
    text = window.decode("latin-1")
    first = _FIRST.match(text)
    if first is None:
        return None
    found: list[Any] = _entries(_ESCAPED_OR_BARE if most_bare else _ESCAPED).split(text[first.end() :])
    rest = found[-2] or ""
    behind = len(found) - _STRIDE * bool(rest)
    read = tails.read(found[_TAIL:behind:_STRIDE], with_bare=most_bare > 0)
    if not read:
        return None
    refused = _STRIDE * len(read)
    fields = Fields(*(found[column:refused:_STRIDE] for column in _COLUMNS))
    end = len(text) - len(rest) - sum(map(len, found[refused + 1 : behind : _STRIDE]))
    size = text.rindex(_END, 0, end) + len(_END)
    if "\r" in text and text.count("\r", 0, size) != text.count("\r\n", 0, size):
        return None  # to expat a `\r` alone ends a line too
    breaks = map(str.count, fields.entries, repeat("\n"))
    lines = [*accumulate(breaks, initial=line + text.count("\n", 0, first.end()))]
    all_breaks = lines.pop() - text.count("\n", size, end) - line
    bare = [match.start() for match in _BARE.finditer(text, 0, size)] if most_bare else []
    if len(bare) > most_bare:
        return _block(window, line, 0, tails)
    # Behind them stands what tails.py refused, or an entry that is all there; else the window cuts the next one.
    is_last = end + len(rest) < len(text) or _END in rest
    return Block(fields, lines, size, all_breaks, is_last, bare, [], read, tails)


# --- where it may be entered and left ---

# The beginning of an entry, of which there is nothing to say yet.
_BEGINNING = re.compile(
    rf"""
    {_GAP} (?: <url> {_GAP} (?: <loc> {_TEXT}* (?: &amp; {_TEXT}* )*
        (?: </loc> {_GAP} (?: <(lastmod|changefreq|priority)> {_TEXT}* </\1> {_GAP} ){{0,2}}
                          (?: <(?:lastmod|changefreq|priority)> {_TEXT}* )? )?
    )? )?
    (?: < [a-z/]* )?                                        # of a tag that has not ended nothing is said
    """.encode(),
    re.VERBOSE,
)
_MOST_BEGINNING_BYTES = 2048


def entry_end(data: bytes, start: int) -> int | None:
    """Where the first entry ends that does so behind `start`."""
    end = data.find(_END_TAG, start)
    return None if end < 0 else end + len(_END_TAG)


def is_beginning(rest: bytes) -> bool:
    """Whether it may be the beginning of a plain entry, and short."""
    return len(rest) <= _MOST_BEGINNING_BYTES and _BEGINNING.fullmatch(rest) is not None


def pass_all(limits: Limits) -> bool:
    """Whether every limit lets any plain entry pass, the end of the one before it and the gap between."""
    return (
        min(limits.max_entry_bytes, limits.max_token_bytes) >= 2 * WINDOW_BYTES
        and limits.max_entry_elements >= len(("loc", "lastmod", "changefreq", "priority"))
        and limits.max_xml_depth >= len(("urlset", "url", "loc"))
    )


# ----------------------------------------------------------------------------------------------------
# The fields of plain entries (plain.py) in, their records out: all of a block at once, column by column.
#
# Where there may be something to say of an entry, its block is read one by one, and what is not as it should be goes to
# the Normaliser. What comes out is always what the Normaliser alone would have given.


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

    `extensions` are those of EXTENSIONS, None where no entry has any.
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
_NO_EXTENSIONS = [*map(repeat, NO_EXTENSIONS)]


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


class FastNormaliser:
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
            *values, elements = extensions
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
                fields = (loc, moment, precision, changefreq, priority, *values, (), sitemap, line)
                record = UrlRecord(*fields)  # mypy does not count what *values adds
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
