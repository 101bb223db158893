"""Plain entries: UTF-8 bytes in that begin right behind an entry of a `<urlset>`, the fields of its next entries out.

One regular expression describes a `<url>` as nearly all of them are: at most the four fields, in the order of the
schema, and behind them what tails.py may be able to read. Where it does not match, nothing is said of what stands
there: that is for expat to read, which is what decides on all markup (markup.py). plain_path.py says when it is tried.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from .normalise.dates import STAMP
from .normalise.urls import CANONICAL_IN_XML

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..model.limits import Limits
    from ..model.problems import Problem
    from .fast_extensions import Extensions, Tails

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
    tails: Tails

    @property
    def is_worth_it(self) -> bool:
        """False where expat would have been no slower: most of the tails had to become elements."""
        odd = sum(each[-1] is not None for each in self.extensions) if any(self.fields.tails) else 0
        return 2 * odd <= len(self.lines)


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


def _block(window: bytes, line: int, most_bare: int, tails: Tails) -> Block | None:
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
