"""The plain path: UTF-8 bytes in that begin right behind an entry of a `<urlset>`, its next entries out, as rows.

One regular expression describes a `<url>` as nearly all of them are: at most the four fields, in the order of the
schema, and behind them what tails.py may be able to read. Where it does not match, nothing is said of what stands
there: that is for expat to read, which is what decides on all markup (markup.py). The rows become records here too: a
value that is not as it should be goes to the Normaliser. What comes out is always what expat and the Normaliser alone
would have given.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from itertools import accumulate, islice, repeat
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from ..limits import PROTOCOL_MAX_LOC_CHARACTERS
from ..records import ChangeFreq, UrlRecord
from .dates import STAMP, parse_date, read_stamp
from .normalise import RawEntry
from .urls import CANONICAL_IN_XML, is_clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from xml.etree.ElementTree import Element

    from ..limits import Limits
    from ..problems import Problem
    from ..records import Item, Precision
    from .normalise import Normaliser
    from .scope import Scope
    from .tails import Extensions, Tails

# So much is looked at at once; no entry that is longer is plain.
WINDOW_BYTES = 16 * 1024
_FIRST_WINDOW_BYTES = 1024
_END = "</url>"
_END_TAG = _END.encode()

_GAP = r"[ \t\r\n]*"
# What may stand in a field: ASCII without markup. Of a `\r` expat would make a line feed.
_TEXT = r"[\t\n -%'-;=?-~]"


def _entries(ampersand: str) -> re.Pattern[str]:
    """Entries in which `&` is written so. No two parts that follow each other match the same text: it is linear."""
    other = rf"{_TEXT}* (?: {ampersand} {_TEXT}* )*"
    return re.compile(
        rf"""
        ( <url> {_GAP}
            <loc> (?: {_GAP} ( {CANONICAL_IN_XML} ) {_GAP} | ( {other} ) ) </loc> {_GAP}
            (?: <lastmod> (?: ( {STAMP} ) | ( {_TEXT}+ ) ) </lastmod> {_GAP} )?
            (?: <changefreq> ( {_TEXT}+ ) </changefreq> {_GAP} )?
            (?: <priority> ( {_TEXT}+ ) </priority> {_GAP} )?
            ( <[a-z]+: [^<]*+ (?: <(?![!?]|/url>) [^<]*+ )* )?
        </url> {_GAP} )
        | ( .+ )                                            # the rest, from the first on that is no such entry
        """,
        re.VERBOSE | re.ASCII | re.DOTALL,
    )


_ENTRIES = _entries("&amp;")
# What is no reference whatever stands behind it: mending.py decides on the others.
_ENTRIES_WITH_BARE = _entries(r"& (?: amp; | (?! \# | [A-Za-z][A-Za-z0-9]*; ) )")
_BARE = re.compile("&(?!amp;)")
_FIRST = re.compile(rf"{_GAP}(?=<url>)")

# All of it, a clean loc, another; a stamp, another lastmod; changefreq, priority; the tail (tails.py); behind the last.
Row = tuple[str, str, str, str, str, str, str, str, str]
_TAIL = 7


class Block(NamedTuple):
    """Entries that stand one behind another, and the line of each. `is_last`: the next one is not plain.

    From behind the entry before them to their own end it is `size` bytes with `breaks` line breaks. At the offsets
    `bare` an `&` is to be mended; `mends` is where whoever does that puts a Problem for each. `extensions`
    is what `tails` has read of each entry.
    """

    rows: list[Row]
    lines: list[int]
    size: int
    breaks: int
    is_last: bool
    bare: list[int]
    mends: list[Problem]
    extensions: list[Extensions]
    tails: Tails

    @property
    def is_worth_it(self) -> bool:
        """False where expat would have been no slower: most of the tails had to become elements."""
        return 2 * sum(each[-1] is not None for each in self.extensions) <= len(self.rows)


def plain_blocks(data: bytes, start: int, line: int, most_bare: Callable[[], int], tails: Tails) -> Iterator[Block]:
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


def _block(data: bytes, line: int, most_bare: int, tails: Tails) -> Block | None:
    # In Latin-1 each byte is a character: what is not ASCII is none that is looked for.
    text = data.decode("latin-1")
    first = _FIRST.match(text)
    if first is None:
        return None
    entries = _ENTRIES_WITH_BARE if most_bare else _ENTRIES
    rows: list[Row] = entries.findall(text, first.end())
    rest = rows[-1][-1]
    if rest:
        rows.pop()
    read = tails.read([row[_TAIL] for row in rows], with_bare=most_bare > 0)
    end = len(text) - len(rest) - sum(len(row[0]) for row in rows[len(read) :])
    del rows[len(read) :]
    if not rows:
        return None
    size = text.rindex(_END, 0, end) + len(_END)
    if "\r" in text and text.count("\r", 0, size) != text.count("\r\n", 0, size):
        return None  # to expat a `\r` alone ends a line too
    lines = [*accumulate([row[0].count("\n") for row in rows], initial=line + text.count("\n", 0, first.end()))]
    breaks = lines.pop() - text.count("\n", size, end) - line
    bare = [match.start() for match in _BARE.finditer(text, 0, size)] if most_bare else []
    if len(bare) > most_bare:
        return _block(data, line, 0, tails)
    # Behind them stands what tails.py refused, or an entry that is all there; else the window cuts the next one.
    is_last = end + len(rest) < len(text) or _END in rest
    return Block(rows, lines, size, breaks, is_last, bare, [], read, tails)


# So many entries at most go by before the plain path is tried once more.
_MOST_BETWEEN = 4096
# The beginning of an entry, of which there is nothing to say yet.
_MOST_HELD = 2048
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


class PlainPath:
    """When to try the plain path: behind every entry, but ever less often where what follows is not plain.

    It is not for those to whom it is not open, nor where a limit is lower than what it might let pass.
    """

    def __init__(self, limits: Limits, *, is_open: bool) -> None:
        self._is_open = is_open and _allows(limits)
        self._between = self._left = 1  # how many entries go by before it is tried, and how many of these are to come
        self._is_clear = False  # nothing stands before what comes next but whole entries
        self._held = b""

    def joined(self, data: bytes) -> bytes:
        """The data, behind what was held."""
        data, self._held = self._held + data, b""
        return data

    def next_try(self, data: bytes, start: int) -> int | None:
        """Where the entry ends, from `start` on, behind which to try; None where all of `data` goes by."""
        while self._is_open and self._left and (start := data.find(_END_TAG, start)) >= 0:
            start += len(_END_TAG)
            self._left -= 1
        return None if self._left or not self._is_open else start

    def tried(self, data: bytes, start: int, *, is_clear: bool, was_worth_it: bool) -> None:
        """It led to `start`, behind which stands what is not plain. Not `is_clear`: it could not be entered."""
        self._is_clear = is_clear
        if was_worth_it:
            self._between = 1
        elif not is_clear or data.find(_END_TAG, start) >= 0:
            self._between = min(2 * self._between, _MOST_BETWEEN)
        self._left = self._between

    def left_over(self, data: bytes, start: int, *, final: bool) -> bytes:
        """What is not to be held: a short beginning of an entry is, until the rest of it is there."""
        rest = data[start:]
        self._is_clear = self._is_clear and not final and len(rest) <= _MOST_HELD and bool(_BEGINNING.fullmatch(rest))
        if self._is_clear:
            self._held, self._left = rest, 0
            return b""
        return rest


def _allows(limits: Limits) -> bool:
    """Whether every limit lets a plain entry pass, the end of the one before it and the gap between."""
    return (
        min(limits.max_entry_bytes, limits.max_token_bytes) >= 2 * WINDOW_BYTES
        and limits.max_entry_elements >= len(("loc", "lastmod", "changefreq", "priority"))
        and limits.max_xml_depth >= len(("urlset", "url", "loc"))
    )


# --- rows to records ---

# What is nearly always there, also nothing; other spellings are for the Normaliser.
_USUAL_CHANGEFREQS: dict[str, ChangeFreq | None] = {
    "": None,
    **{spelled: each for each in get_args(ChangeFreq) for spelled in (each, each.title(), each.upper())},
}
_WEIGHTS = ("0", "1", *(f"{tenth / 10:.1f}" for tenth in range(11)), *(f"{number / 100:.2f}" for number in range(101)))
_USUAL_PRIORITIES: dict[str, float | None] = {"": None, **{text: float(text) for text in _WEIGHTS}}


# The instant, and how much was stated.
Lastmod = tuple["datetime | None", "Precision | None"]


class _Lastmods(dict[str, Lastmod]):
    """What is no stamp -> what it states. KeyError where there is something to say of it."""

    def __missing__(self, text: str) -> Lastmod:
        date = parse_date(text)
        if date is None or date.repair:
            raise KeyError(text)
        read = (date.moment, date.precision)
        if len(self) < _MOST_DATES:
            self[text] = read
        return read


_WHOLE_SECONDS_IN_UTC = {"Z", "+00:00"}
NO_EXTENSIONS = (repeat(()), repeat(()), repeat(None), repeat(()), repeat(False))
_MOST_DATES = 4096  # most documents have few different days


class Columns(NamedTuple):
    """The fields of entries of which there is nothing to say, each of which may be iterated once.

    `extensions` are five columns, NO_EXTENSIONS where no entry has any.
    """

    locs: Iterable[str]
    lastmods: Iterable[datetime | None]
    precisions: Iterable[Precision | None]
    changefreqs: Iterable[ChangeFreq | None]
    priorities: Iterable[float | None]
    extensions: Sequence[Iterable[Any]]
    lines: Iterable[int]


# The columns, and the URL of their document -> what comes out for them.
Make = Callable[[Columns, "str | None"], "list[Any]"]


def records_of(columns: Columns, sitemap: str | None) -> list[UrlRecord]:
    """The records of many entries."""
    *fields, extensions, lines = columns
    return [*map(UrlRecord, *fields, *extensions, repeat(()), repeat(sitemap), lines)]


class PlainCleaner:
    """Rows in, their records out, and the problems of those for which the Normaliser was asked.

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
        self._lastmods = _Lastmods({"": (None, None)})

    def items(self, block: Block, room: int) -> list[Item]:
        """The records of no more than `room` entries in document order, each behind its problems."""
        records = self._records(block) if len(block.rows) <= room else None
        if records is None:
            return self._one_by_one(block, room)
        self._normaliser.entries += len(block.rows)
        self._normaliser.kept += len(block.rows)
        return records

    def _records(self, block: Block) -> list[Item] | None:
        """The records of entries of which there is nothing to say, column by column; None where there may be."""
        _, written, _, stamps, others, often, weights, tails, _ = zip(*block.rows, strict=True)
        if not all(written):
            return None
        locs, joined = written, "".join(written)
        if "&" in joined:
            locs = tuple(loc.replace("&amp;", "&") for loc in written)
        if "%2" in joined or max(map(len, locs)) >= PROTOCOL_MAX_LOC_CHARACTERS:
            return None
        if not all(map(methodcaller("startswith", self._scope.covered), locs)):
            return None
        extensions: Sequence[Iterable[Any]] = NO_EXTENSIONS
        if any(tails):
            *extensions, elements = [*zip(*block.extensions, strict=True)]
            if any(each is not None for each in elements):
                return None
        try:
            moments, precisions = self._dates(stamps, others)
            changefreqs = map(_USUAL_CHANGEFREQS.__getitem__, often)
            priorities = map(_USUAL_PRIORITIES.__getitem__, weights)
            columns = Columns(locs, moments, precisions, changefreqs, priorities, extensions, block.lines)
            return self._make(columns, self._normaliser.sitemap)
        except (KeyError, ValueError):
            return None

    def _dates(self, stamps: Sequence[str], others: Sequence[str]) -> tuple[Iterable[Any], Iterable[Any]]:
        """The instants and their precisions; KeyError or ValueError where there is something to say of one."""
        if not any(stamps):
            moments, precisions = zip(*map(self._lastmods.__getitem__, others), strict=True)
            return moments, precisions
        if {stamp[19:] for stamp in stamps} <= _WHOLE_SECONDS_IN_UTC:
            return map(datetime.fromisoformat, stamps), repeat("second")
        moments, precisions = zip(*map(self._lastmod, stamps, others), strict=True)
        return moments, precisions

    def _lastmod(self, stamp: str, other: str) -> Lastmod:
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
        for row, line, extensions in zip(block.rows[:room], block.lines, block.extensions, strict=False):
            _, loc, text, stamp, other, often, weight, _, _ = row
            images, videos, news, alternates, mobile, elements = extensions
            if "&" in loc:
                loc = loc.replace("&amp;", "&")
            elif text:
                loc, problems = _mended(text, mends)
            try:
                moment, precision = self._lastmod(stamp, other)
                changefreq, priority = _USUAL_CHANGEFREQS[often], _USUAL_PRIORITIES[weight]
                is_odd = not loc or len(loc) >= PROTOCOL_MAX_LOC_CHARACTERS or elements is not None
            except KeyError:
                is_odd = True
            if is_odd or not ((loc.startswith(covered) and "%2" not in loc) or reason(loc) is None):
                if elements is None:
                    elements = block.tails.elements(row[_TAIL])
                out += self._clean(_raw_entry(row, line, elements, problems))
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
        read = min(room, len(block.rows)) - odd
        self._normaliser.entries += read
        self._normaliser.kept += read
        return out


def _mended(text: str, mends: Iterator[Problem]) -> tuple[str, tuple[Problem, ...]]:
    """A loc that is clean once each `&` is written as it should be, or none; with its own of the block's mends."""
    bare = text.count("&") - text.count("&amp;")
    loc = text.replace("&amp;", "&")
    return loc if bare and is_clean(loc) else "", tuple(islice(mends, bare))


def _raw_entry(row: Row, line: int, elements: list[Element], problems: tuple[Problem, ...]) -> RawEntry:
    _, loc, other, stamp, date, often, weight, _, _ = row
    text = (loc or other).replace("&amp;", "&").strip()
    return RawEntry("url", text, line, (stamp or date).strip(), often.strip(), weight.strip(), elements, [*problems])
