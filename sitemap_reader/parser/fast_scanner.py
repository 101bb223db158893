"""Scanner for plain entries: UTF-8 bytes after an entry of a `<urlset>` in, records of the next entries out.

A plain entry is a `<url>` with at most the four fields, in the order of the schema, and then extensions that
fast_extensions.py can read. One regular expression matches many of them, column by column. Whatever it does not match
is left to expat (xml/reader.py, which also decides when to scan); the output is always what expat and the Normaliser
alone would give.
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


# Bytes that are matched at once; a longer entry is not plain.
WINDOW_BYTES = 64 * 1024
_FIRST_WINDOW_BYTES = 1024
_END = "</url>"
_END_TAG = _END.encode()

_GAP = r"[ \t\r\n]*+"
# The text of a field: ASCII without markup, nor `\r`, which expat turns into a line feed.
_TEXT = r"[\t\n -%'-;=?-~]"


@cache  # most documents need one of the two
def _entries(ampersand: str) -> re.Pattern[str]:
    """Matches entries in which `&` is written like `ampersand`, in linear time: no two adjacent parts overlap.

    Optional parts are `(?: ... | )`: `( ... )?` takes a third more time in re.
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
        | ( .+ )                                            # the rest, from the first other entry on
        """,
        re.VERBOSE | re.ASCII | re.DOTALL,
    )


_ESCAPED = "&amp;"
# And a bare `&`, which is no reference; xml/recovery/characters.py decides on others.
_ESCAPED_OR_BARE = r"& (?: amp; | (?! \# | [A-Za-z][A-Za-z0-9]*; ) )"
_BARE = re.compile("&(?!amp;)")
_FIRST = re.compile(rf"{_GAP}(?=<url>)")


class Fields(NamedTuple):
    """The groups of the regular expression as columns, one item for each entry; None for a missing field.

    A URL is in `locs` where it is canonical, else in `other_locs`; a date in `stamps` where it is a usual timestamp,
    else in `other_dates`. `extension_xml` is for fast_extensions.py.
    """

    entries: Sequence[str]
    locs: Sequence[str | None]
    other_locs: Sequence[str | None]
    stamps: Sequence[str | None]
    other_dates: Sequence[str | None]
    changefreqs: Sequence[str | None]
    priorities: Sequence[str | None]
    extension_xml: Sequence[str | None]


# Strings that split() gives for each match: the text before it, the columns, and the rest.
_COLUMNS = range(1, 1 + len(Fields._fields))
_STRIDE = 1 + len(_COLUMNS) + 1
_EXTENSION_COLUMN = _COLUMNS[-1]


class EntryBlock(NamedTuple):
    """Consecutive plain entries, and the line of each. `is_last`: the next one is not plain.

    The block is `size` bytes with `breaks` line breaks, from the end of the entry before it. `bare_ampersands` are
    offsets of `&` to be repaired; the Problem of each is appended to `repairs`. `extensions` is what `extension_reader`
    has read of each entry.
    """

    fields: Fields
    lines: list[int]
    size: int
    breaks: int
    is_last: bool
    bare_ampersands: list[int]
    repairs: list[Problem]
    extensions: list[Extensions]
    extension_reader: ExtensionReader

    @property
    def is_worthwhile(self) -> bool:
        """False where expat would be no slower, as most extensions were read as elements."""
        unusual = sum(each[-1] is not None for each in self.extensions) if any(self.fields.extension_xml) else 0
        return 2 * unusual <= len(self.lines)


def scan_blocks(
    data: bytes, start: int, line: int, max_bare_ampersands: Callable[[], int], extension_reader: ExtensionReader
) -> Iterator[EntryBlock]:
    """The plain entries from `start` on, where an entry has ended on `line`, in blocks; up to the first other one.

    `max_bare_ampersands` returns how many `&` may be repaired in the next block.
    """
    # The first window is small: where one entry in five is not plain, the rest of a window is scanned in vain.
    is_short = data.find(_END_TAG, start, start + _FIRST_WINDOW_BYTES) >= 0
    window = _FIRST_WINDOW_BYTES if is_short else WINDOW_BYTES
    while block := _block(data[start : start + window], line, max_bare_ampersands(), extension_reader):
        yield block
        if block.is_last or start + window >= len(data):
            return
        start, line = start + block.size, line + block.breaks
        window = min(4 * window, WINDOW_BYTES)


def _block(window: bytes, line: int, max_bare_ampersands: int, extension_reader: ExtensionReader) -> EntryBlock | None:
    # In Latin-1 each byte is a character, and no pattern matches one beyond ASCII.
    text = window.decode("latin-1")
    first = _FIRST.match(text)
    if first is None:
        return None
    found: list[Any] = _entries(_ESCAPED_OR_BARE if max_bare_ampersands else _ESCAPED).split(text[first.end() :])
    rest = found[-2] or ""
    matched = len(found) - _STRIDE * bool(rest)
    read = extension_reader.read(found[_EXTENSION_COLUMN:matched:_STRIDE], with_bare=max_bare_ampersands > 0)
    if not read:
        return None
    refused = _STRIDE * len(read)
    fields = Fields(*(found[column:refused:_STRIDE] for column in _COLUMNS))
    end = len(text) - len(rest) - sum(map(len, found[refused + 1 : matched : _STRIDE]))
    size = text.rindex(_END, 0, end) + len(_END)
    if "\r" in text and text.count("\r", 0, size) != text.count("\r\n", 0, size):
        return None  # expat counts a `\r` alone as a line break
    breaks = map(str.count, fields.entries, repeat("\n"))
    lines = [*accumulate(breaks, initial=line + text.count("\n", 0, first.end()))]
    all_breaks = lines.pop() - text.count("\n", size, end) - line
    bare_ampersands = [match.start() for match in _BARE.finditer(text, 0, size)] if max_bare_ampersands else []
    if len(bare_ampersands) > max_bare_ampersands:
        return _block(window, line, 0, extension_reader)
    # The next entry is complete, and not plain, or has extensions that are not; else the window cuts it.
    is_last = end + len(rest) < len(text) or _END in rest
    return EntryBlock(fields, lines, size, all_breaks, is_last, bare_ampersands, [], read, extension_reader)


# The beginning of an entry that may be plain.
_BEGINNING = re.compile(
    rf"""
    {_GAP} (?: <url> {_GAP} (?: <loc> {_TEXT}* (?: &amp; {_TEXT}* )*
        (?: </loc> {_GAP} (?: <(lastmod|changefreq|priority)> {_TEXT}* </\1> {_GAP} ){{0,2}}
                          (?: <(?:lastmod|changefreq|priority)> {_TEXT}* )? )?
    )? )?
    (?: < [a-z/]* )?                                        # an unended tag
    """.encode(),
    re.VERBOSE,
)
_MAX_BEGINNING_BYTES = 2048


def entry_end(data: bytes, start: int) -> int | None:
    """The offset after the next `</url>`; None where there is none."""
    end = data.find(_END_TAG, start)
    return None if end < 0 else end + len(_END_TAG)


def may_begin_entry(rest: bytes) -> bool:
    """Whether the bytes may be the beginning of a plain entry, and are few."""
    return len(rest) <= _MAX_BEGINNING_BYTES and _BEGINNING.fullmatch(rest) is not None


def limits_allow_fast_path(limits: Limits) -> bool:
    """Whether no limit can be met by plain entries, so that the scanner need not check any."""
    return (
        min(limits.max_entry_bytes, limits.max_token_bytes) >= 2 * WINDOW_BYTES
        and limits.max_entry_elements >= len(("loc", "lastmod", "changefreq", "priority"))
        and limits.max_xml_depth >= len(("urlset", "url", "loc"))
    )


# --- from fields to records ---

# The usual spellings; others are left to the Normaliser.
_COMMON_CHANGEFREQS: dict[str | None, ChangeFreq | None] = {
    None: None,
    **{spelled: each for each in get_args(ChangeFreq) for spelled in (each, each.title(), each.upper())},
}
_PRIORITY_TEXTS = (
    "0",
    "1",
    *(f"{tenth / 10:.1f}" for tenth in range(11)),
    *(f"{number / 100:.2f}" for number in range(101)),
)
_COMMON_PRIORITIES: dict[str | None, float | None] = {None: None, **{text: float(text) for text in _PRIORITY_TEXTS}}


# The instant, and its precision.
Lastmod = tuple["datetime | None", "Precision | None"]


class _LastmodCache(dict["str | None", Lastmod]):
    """A date in another format -> Lastmod; KeyError where it is invalid or needs a repair."""

    def __missing__(self, text: str) -> Lastmod:
        date = parse_date(text)
        if date is None or date.repair:
            raise KeyError(text)
        read = (date.moment, date.precision)
        if len(self) < _MAX_DATES:
            self[text] = read
        return read


_MAX_DATES = 4096  # most documents have few distinct days


class Columns(NamedTuple):
    """The record fields of entries that are all valid, without Problems.

    `extensions` are those of EXTENSIONS; None where no entry has any.
    """

    locs: Sequence[str]
    lastmods: Sequence[datetime | None]
    precisions: Sequence[Precision | None]
    changefreqs: Sequence[ChangeFreq | None]
    priorities: Sequence[float | None]
    lines: Sequence[int]
    extensions: Sequence[Iterable[Any]] | None


# Columns and the URL of their document -> items.
Make = Callable[[Columns, "str | None"], "list[Any]"]
_NO_EXTENSIONS = [*map(repeat, NO_EXTENSIONS)]


def records_of(columns: Columns, sitemap: str | None) -> list[UrlRecord]:
    """The records of columns."""
    *fields, lines, extensions = columns
    return [*map(UrlRecord, *fields, *(extensions or _NO_EXTENSIONS), repeat(()), repeat(sitemap), lines)]


@attrs.define
class Entries:
    """Valid entries of one document as columns, without extensions and Problems: kept as such, they cost no records."""

    columns: Columns
    sitemap: str | None

    @property
    def urls(self) -> int:
        """The number of entries."""
        return len(self.columns.lines)


def merged(several: Sequence[Entries]) -> Entries:
    """Several Entries of one document as one."""
    if len(several) == 1:
        return several[0]
    parts = zip(*(each.columns[:-1] for each in several), strict=True)
    columns: list[Any] = [*([*chain.from_iterable(each)] for each in parts), None]
    return Entries(Columns(*columns), several[0].sitemap)


class FastNormaliser:
    """Turns blocks into records; entries that are not valid as they are go to the Normaliser.

    `scope` is the URL scope of the document. `read_raw` passes a RawEntry to the Normaliser and counts its Problems;
    `count_problem` counts a Problem and returns it with the document's URL. `make` turns valid columns into items.
    """

    def __init__(
        self,
        normaliser: Normaliser,
        scope: Scope,
        read_raw: Callable[[RawEntry], list[Item]],
        count_problem: Callable[[Problem], Problem],
        make: Make,
    ) -> None:
        self._normaliser = normaliser
        self._scope = scope
        self._read_raw = read_raw
        self._count_problem = count_problem
        self._make = make
        self._lastmods = _LastmodCache({None: (None, None)})

    def items(self, block: EntryBlock, max_entries: int) -> list[Item]:
        """The records of at most `max_entries` entries in document order, each after its Problems."""
        columns = self._columns(block) if len(block.lines) <= max_entries else None
        if columns is None:
            return self._one_by_one(block, max_entries)
        self._normaliser.entries += len(columns.lines)
        self._normaliser.kept += len(columns.lines)
        return self._make(columns, self._normaliser.sitemap)

    def _columns(self, block: EntryBlock) -> Columns | None:
        """The columns of a block; None where an entry may have a Problem."""
        fields = block.fields
        if not all(fields.locs):
            return None
        locs = cast("Sequence[str]", fields.locs)
        joined = "\n".join(locs)  # no clean URL has a line feed
        if "&" in joined:
            locs = joined.replace("&amp;", "&").split("\n")
        if "%2" in joined or max(map(len, locs)) >= PROTOCOL_MAX_LOC_CHARACTERS:
            return None
        if not all(map(str.startswith, locs, repeat(self._scope.covered))):
            return None
        extensions: Sequence[Iterable[Any]] | None = None
        if any(fields.extension_xml):
            *extensions, elements = [*zip(*block.extensions, strict=True)]
            if any(each is not None for each in elements):
                return None
        try:
            moments, precisions = self._dates(fields.stamps, fields.other_dates)
            changefreqs = [*map(_COMMON_CHANGEFREQS.__getitem__, fields.changefreqs)]
            priorities = [*map(_COMMON_PRIORITIES.__getitem__, fields.priorities)]
        except (KeyError, ValueError, OverflowError):
            return None
        return Columns(locs, moments, precisions, changefreqs, priorities, block.lines, extensions)

    def _dates(
        self, stamps: Sequence[str | None], others: Sequence[str | None]
    ) -> tuple[Sequence[datetime | None], Sequence[Precision | None]]:
        """The instants and their precisions, as by read_stamp(); an error where a date is invalid."""
        read, precision_of, lastmods = datetime.fromisoformat, STAMP_PRECISIONS, self._lastmods
        moments: Sequence[datetime | None]
        precisions: Sequence[Precision | None]
        if all(stamps):
            texts = cast("Sequence[str]", stamps)
            moments, precisions = [*map(read, texts)], [precision_of[stamp[19:20]] for stamp in texts]
        else:
            dates = [
                (read(stamp), precision_of[stamp[19:20]]) if stamp else lastmods[other]
                for stamp, other in zip(stamps, others, strict=True)
            ]
            moments, precisions = zip(*dates, strict=True)
        return [each if each is None or each.tzinfo is UTC else each.astimezone(UTC) for each in moments], precisions

    def _lastmod(self, stamp: str | None, other: str | None) -> Lastmod:
        """The lastmod of one entry; KeyError where it is invalid."""
        if not stamp:
            return self._lastmods[other]
        date = read_stamp(stamp)
        if date is None:
            raise KeyError(stamp)
        return date.moment, date.precision

    def _one_by_one(self, block: EntryBlock, max_entries: int) -> list[Item]:
        sitemap, covered, reason = self._normaliser.sitemap, self._scope.covered, self._scope.reason
        repairs = iter(block.repairs)
        out: list[Item] = []
        problems: tuple[Problem, ...] = ()
        unusual = 0
        rows = zip(*block.fields, block.extensions, block.lines, strict=True)
        for row in islice(rows, max_entries):
            _, clean_loc, other_loc, stamp, other_date, *others = row
            changefreq_text, priority_text, extension_xml, extensions, line = others
            *values, elements = extensions
            loc = (clean_loc or "").replace("&amp;", "&")
            if other_loc:
                loc, problems = _repaired_loc(other_loc, repairs)
            try:
                moment, precision = self._lastmod(stamp, other_date)
                changefreq, priority = _COMMON_CHANGEFREQS[changefreq_text], _COMMON_PRIORITIES[priority_text]
                is_unusual = not loc or len(loc) >= PROTOCOL_MAX_LOC_CHARACTERS or elements is not None
            except KeyError:
                is_unusual = True
            if is_unusual or not ((loc.startswith(covered) and "%2" not in loc) or reason(loc) is None):
                if elements is None:
                    elements = block.extension_reader.elements(extension_xml)
                texts = (clean_loc or other_loc, stamp or other_date, changefreq_text, priority_text)
                out += self._read_raw(_raw_entry(texts, line, elements, problems))
                unusual, problems = unusual + 1, ()
            else:
                fields = (loc, moment, precision, changefreq, priority, *values, (), sitemap, line)
                record = UrlRecord(*fields)  # mypy does not count what *values adds
                if problems:
                    record.problems, problems = tuple(map(self._count_problem, problems)), ()
                    out += record.problems
                out.append(record)
        read = min(max_entries, len(block.lines)) - unusual
        self._normaliser.entries += read
        self._normaliser.kept += read
        return out


def _repaired_loc(text: str, repairs: Iterator[Problem]) -> tuple[str, tuple[Problem, ...]]:
    """The loc with each bare `&` repaired, "" where that is not canonical; and the Problems of these repairs."""
    bare_ampersands = text.count("&") - text.count("&amp;")
    loc = text.replace("&amp;", "&")
    return loc if bare_ampersands and is_clean(loc) else "", tuple(islice(repairs, bare_ampersands))


def _raw_entry(
    texts: tuple[str | None, ...], line: int, elements: list[Element], problems: tuple[Problem, ...]
) -> RawEntry:
    loc, lastmod, changefreq, priority = ((text or "").strip() for text in texts)
    return RawEntry("url", loc.replace("&amp;", "&"), line, lastmod, changefreq, priority, elements, [*problems])
