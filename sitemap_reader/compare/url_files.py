"""Reads any file of URLs as the JSON objects of a dump: dumps, sitemaps, lists of URLs, tables with a column of them.

A file is recognised by its first bytes, which are not lost: a pipe is opened and read once. Fetches nothing.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from ..model.errors import UsageError
from ..model.problems import Problem, first_error
from ..model.records import UrlRecord
from ..parser.content.sniff import Format
from ..parser.normalise.dates import parse_date
from ..parser.normalise.urls import clean_url
from ..parser.parser import SitemapParser
from ..serialize.byte_streams import compression_of, damage, decompressed
from ..serialize.dumps import PARQUET, SQLITE, Ahead, Dump, ReusableFile, numbered_objects, open_file
from ..serialize.jsonl import stamp, to_dict

if TYPE_CHECKING:
    from ..model.records import Item
    from ..serialize.dumps import JsonObject

    Numbered = Iterator[tuple[int, JsonObject]]

# What can be compared, for messages.
ACCEPTED = "a dump, a state of sync, a sitemap, a list of URLs, or a table with a column loc, url or Address"

_HEAD_BYTES = 4096
_CHUNK_BYTES = 64 * 1024
_BOM, _BOMS_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_DUMP = re.compile(rb"\s*(?:[{\[]|$)|PAR1|" + re.escape(SQLITE))
_DOCUMENT = re.compile(r"\s*(?:<|https?://)", re.IGNORECASE)
_LISTS = (".txt", ".txt.gz")


class UrlFile(Dump):
    """A file of URLs as a dump, which is read any number of times."""

    def __init__(self, path: Path) -> None:
        self._file = ReusableFile(path)

    @property
    def name(self) -> str:
        return str(self._file.path)

    def numbered(self) -> Numbered:
        with self._file.open() as stream:
            yield from url_objects(stream, self.name)


def read_once(path: str) -> Numbered:
    """url_objects() of a file that is opened when the first is taken."""
    with open_file(path) as stream:
        yield from url_objects(stream, path)


def url_objects(stream: BinaryIO, name: str) -> Numbered:
    """The lines of a dump, or the URLs of another file as such, each with its number; UsageError for any other file.

    A sitemap states what its entries do, a list the locs alone, a table the columns that it has.
    """
    source: Any = io.BufferedReader(Ahead(stream, name, first_bytes=_HEAD_BYTES), 1 << 16)
    head = source.peek(_HEAD_BYTES)
    if head.startswith(PARQUET) and stream.seekable():  # it is read from its end
        stream.seek(-source.raw.read_bytes, os.SEEK_CUR)
        yield from numbered_objects(stream, name)
        return
    compression = compression_of(head)
    if compression is not None:
        head = _decompressed_head(head, compression, name)
    text, header = _text(head), table_header(head)
    if _DOCUMENT.match(text) or (text and header is None and name.lower().endswith(_LISTS)):  # other text may be first
        yield from _document_objects(source if compression == "gzip" else _plain(source, compression, name), name)
    elif header is not None:
        yield from _table_objects(_plain(source, compression, name), header, name)
    else:
        yield from numbered_objects(source, name)


def _plain(source: Any, compression: str | None, name: str) -> Any:
    return source if compression is None else decompressed(source, compression, name)


def _decompressed_head(head: bytes, compression: str, name: str) -> bytes:
    with suppress(*damage()):  # numbered_objects() reports it
        return bytes(decompressed(io.BytesIO(head), compression, name).read1(_HEAD_BYTES))
    return b""


def _encoding(head: bytes) -> str:
    return "utf-16" if head.startswith(_BOMS_16) else "utf-8-sig"


def _text(head: bytes) -> str:
    """Empty for a dump."""
    return "" if _DUMP.match(head.removeprefix(_BOM)) else head.decode(_encoding(head), "ignore")


# --- sitemaps, and lists of URLs ---


def _document_objects(body: Any, name: str) -> Numbered:
    parser, urls, faults = SitemapParser(name=name), 0, list[Problem]()
    for item in _items(parser, body, name):
        if isinstance(item, UrlRecord):
            urls += 1
            is_list = parser.format == Format.TEXT
            # The file is no sitemap of the site, so that none can be missing there.
            yield item.line or urls, {"loc": item.loc} if is_list else {**to_dict(item), "sitemap": None}
        elif isinstance(item, Problem):
            faults = [each for each in (first_error([*faults, item]),) if each]
    outcome = parser.outcome
    if urls:
        yield urls, to_dict(attrs.evolve(outcome, url=None, final_url=None))
    elif outcome.format == Format.INDEX:
        raise UsageError(
            f"{name} is a sitemap index, which lists sitemaps and no pages",
            remedy="give a dump: `sitemap-reader dump HOST` reads all of them",
        )
    elif not outcome.complete:
        reason = f": {faults[0].code} {faults[0].message}" if faults else ""
        raise UsageError(f"no URL could be read from {name}{reason}", remedy=f"give {ACCEPTED}")


def _items(parser: SitemapParser, body: Any, name: str) -> Iterator[Item]:
    try:
        while not parser.stopped and (chunk := body.read(_CHUNK_BYTES)):
            for piece in parser.pieces(chunk):
                yield from piece
    except damage() as exc:
        raise _damaged(name, exc) from exc
    yield from parser.close()


def _damaged(name: str, exc: BaseException) -> UsageError:
    return UsageError(f"{name} is damaged, or cut ({exc})", remedy="compress it again")


# --- tables ---

# Names of the column of URLs, by preference, in lower case and without blanks: of dumps, Screaming Frog, Search
# Console, and other crawlers.
_URL_COLUMNS = ("loc", "url", "address", "fullurl", "pageurl", "pageaddress", "toppages", "uri", "page", "landingpage")
_OTHER_COLUMNS = ("lastmod", "lastmod_precision", "changefreq", "priority", "sitemap", "site")
_DELIMITERS = ",;\t"
_HEADER_LINES = 5  # there may be a title above


@attrs.frozen
class Header:
    """`line` counts from 1; `names` are those of all columns."""

    line: int
    delimiter: str
    encoding: str
    names: tuple[str, ...]
    places: dict[str, int]  # key of a line of a dump -> place of its column


def table_header(head: bytes) -> Header | None:
    """The header of a table, from its first bytes: one of the first lines, in the reading with the most columns.

    One of them has the name of a column of URLs, or the next line has a URL there. None for any other file.
    """
    text = _text(head)
    lines = [] if _DOCUMENT.match(text) else text.splitlines()[: _HEADER_LINES + 1]
    lines = [*takewhile(lambda line: not line.lstrip().startswith("<"), lines)]  # XML below other text
    for is_named in (True, False):
        for line, (row, below) in enumerate(zip_longest(lines, lines[1:], fillvalue=""), 1):
            delimiter, names = max(((each, _cells(row, each)) for each in _DELIMITERS), key=lambda found: len(found[1]))
            cells = _cells(below, delimiter)
            is_row = not is_named and len(cells) == len(names) > 1
            places = table_columns(names, values=[[cell] for cell in cells] if is_row else ())
            if "loc" in places:
                return Header(line, delimiter, _encoding(head), tuple(names), places)
    return None


def table_columns(
    names: Sequence[str], keys: Sequence[str] = _OTHER_COLUMNS, values: Iterable[Sequence[Any]] = ()
) -> dict[str, int]:
    """Key of a line of a dump -> the place of the column with that name; case, blanks and signs do not matter.

    If no name is one of a column of URLs, it is the first of which most texts are URLs: `values` has some of each.

    >>> table_columns(["Top pages", "Clicks", "Last Mod"])
    {'loc': 0, 'lastmod': 2}
    """
    plain = [re.sub(r"[\W_]+", "", name).casefold() for name in names]
    named = (plain.index(known) for known in _URL_COLUMNS if known in plain)
    loc = next(chain(named, (place for place, some in enumerate(values) if _are_urls(some))), None)
    wanted = {key: key.replace("_", "") for key in keys if key != "loc"}
    places = {key: plain.index(name) for key, name in wanted.items() if name in plain}
    return places if loc is None else {"loc": loc, **{key: place for key, place in places.items() if place != loc}}


def _are_urls(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    return 2 * sum(text.lstrip()[:8].lower().startswith(("http://", "https://")) for text in texts) > len(texts)


def _cells(line: str, delimiter: str) -> list[str]:
    with suppress(csv.Error):
        return next(csv.reader([line], delimiter=delimiter), [])
    return []


def _table_objects(body: Any, header: Header, name: str) -> Numbered:
    urls, others = 0, list[str]()
    lines = io.TextIOWrapper(body, header.encoding, newline="")
    try:
        for _ in range(header.line):
            lines.readline()
        table = csv.reader(lines, delimiter=header.delimiter)
        for row in table:
            cells = {key: row[place].strip() for key, place in header.places.items() if place < len(row)}
            if not cells.get("loc"):
                continue
            loc = clean_url(cells["loc"]).url
            if loc is None:
                others = others or [cells["loc"]]
                continue
            urls += 1
            yield header.line + table.line_num, _object({**cells, "loc": loc})
    except damage() as exc:
        raise _damaged(name, exc) from exc
    except UnicodeDecodeError as exc:
        raise UsageError(f'{name} is not UTF-8: save it as UTF-8 (in Excel, "CSV UTF-8")') from exc
    except csv.Error as exc:
        place = f"{name}:{header.line + table.line_num}"
        raise UsageError(
            f"{place}: this row cannot be read ({exc})", remedy="leave out columns with long texts"
        ) from exc
    if others and not urls:
        remedy = "give absolute URLs, with https://"
        raise UsageError(f"{name} has no row with the URL of a page; {others[0]!r:.80} is none", remedy=remedy)


def _object(cells: dict[str, str]) -> JsonObject:
    """The line of a dump that states what the cells do."""
    line: JsonObject = {key: value or None for key, value in cells.items()}
    stated = parse_date(cells.get("lastmod", ""))
    if stated is not None:
        line["lastmod"] = stamp(stated.moment)
    with suppress(ValueError):
        if cells.get("priority"):
            line["priority"] = float(cells["priority"])
    return line
