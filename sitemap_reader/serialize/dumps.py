"""Reads dumps lazily; data that is none is a UsageError with file and line, and what to try."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from gzip import GzipFile
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import attrs
import orjson

from ..model.errors import UsageError
from ..model.records import UrlRecord
from ..model.url_batch import UrlBatch, joined
from ..parser.fast_path import new_columns
from .arrow import require_pyarrow
from .byte_streams import MAGIC, SUFFIXES, compression_of, damage, decompressed
from .jsonl import from_json, stamp
from .schema import SOMETIMES
from .writers import FORMATS

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    _Body = io.BufferedReader[Any]

    from ..model.records import Item
    from ..model.url_batch import BatchItem
    from .schema import Line


JsonObject = dict[str, Any]

# An entry of a sitemap is at most 4 MiB, and escaping makes it longer: a longer line is of no dump.
MAX_LINE_BYTES = 64 * 1024 * 1024
BATCH_ROWS, BATCH_ITEMS = 1024, 2_000
SHOWN_CHARS = 60
# The name of the standard input in messages, and as an argument.
STDIN_NAME, STDIN = "stdin", "-"

SQLITE = b"SQLite format 3"  # the first bytes of a database
PARQUET, _BOM = b"PAR1", b"\xef\xbb\xbf"


def numbered_objects(
    stream: BinaryIO, name: str, *, before_read: Callable[[], object] | None = None, rule: str | None = None
) -> Iterator[tuple[int, JsonObject]]:
    """The lines of a dump, those with "type" included, or the rows of Parquet, each with its number from 1.

    `name` is the name in errors. A line without "type" has a "loc" that is text; nothing else is checked. The stream
    stays open; it must be seekable only for Parquet. `before_read` is called before each read, which may block; what it
    raises is passed on unchanged. `rule` is what to say of other text, if the lines are not those of a dump.
    """
    source = io.BufferedReader(Ahead(stream, name, before_read), 1 << 16)
    head = source.peek(len(PARQUET))
    if head.startswith(PARQUET):
        yield from _parquet_objects(stream, name)
        return
    compression = compression_of(head)
    yield from _json_objects(decompressed(source, compression, name) if compression else source, name, rule)


# --- JSON lines ------------------------------------------------------------------------------------------------


class Ahead(io.RawIOBase):
    """A stream whose first read returns enough bytes to recognise its format; `read_bytes` were read of it so far."""

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        before_read: Callable[[], object] | None = None,
        *,
        first_bytes: int = len(PARQUET),
    ) -> None:
        self.read_bytes = 0
        self._stream = stream
        self._name = name
        self._before_read = before_read
        self._first_bytes = first_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._before_read is not None:
            self._before_read()
        view = memoryview(buffer)
        try:
            data = self._read(len(view))
        except OSError as exc:
            raise UsageError(f"cannot read {self._name}: {exc.strerror or exc}") from exc
        view[: len(data)] = data
        self.read_bytes += len(data)
        return len(data)

    def _read(self, size: int) -> bytes:
        first, self._first_bytes = self._first_bytes, 0
        if not first:
            return getattr(self._stream, "read1", self._stream.read)(size) or b""
        data = self._stream.read(first)
        if isinstance(data, str):
            raise UsageError(f'{self._name} gives text, and a dump is read as bytes: open it with "rb"')
        while len(data) < first and (more := self._stream.read(first - len(data))):
            data += more
        return data


def _json_objects(stream: BinaryIO | _Body, name: str, rule: str | None) -> Iterator[tuple[int, JsonObject]]:
    is_first = True
    for number, line in _lines(stream, name):
        bare = line.removeprefix(_BOM).strip()
        if not bare:
            continue
        try:
            json_object = orjson.loads(bare)
        except orjson.JSONDecodeError:
            json_object = None
        if type(json_object) is not dict:
            raise _no_line(name, number, line, bare, rule if rule or is_first else _RULE)
        yield number, checked(json_object, name, number, rule)
        is_first = False


def _lines(stream: BinaryIO | _Body, name: str) -> Iterator[tuple[int, bytes]]:
    for number in count(1):
        try:
            line = stream.readline(MAX_LINE_BYTES + 1)
        except damage() as exc:
            body: object = stream
            file = "gzip file" if isinstance(body, GzipFile) else "zstd file"
            reason = f"here the {file} is cut" if isinstance(exc, EOFError) else f"the {file} is damaged ({exc})"
            raise UsageError(f"{name}:{number}: {reason}; the lines before are whole") from exc
        if not line:
            return
        if len(line) > MAX_LINE_BYTES:
            reason = f"more than {MAX_LINE_BYTES:,} bytes without a line end"
            raise UsageError(f"{name}:{number}: {reason}: {_shown(line)}; {_hint(line, name)}")
        yield number, line


def checked(json_object: JsonObject, name: str, number: int, rule: str | None = None) -> JsonObject:
    """The JSON object if it has a textual "type", or without one a textual "loc"; else UsageError, with the `rule`."""
    kind = json_object.get("type")
    if kind is None:
        if type(json_object.get("loc")) is not str:
            shown = _shown(orjson.dumps(json_object, default=repr))
            fault = 'no "loc"' if json_object.get("loc") is None else 'a "loc" that is not text'
            reason = f'a line without "type" is a URL, and this one has {fault}: {shown}'
            raise UsageError(f"{name}:{number}: {reason}{f'; {rule}' if rule else ''}")
        json_object.pop("type", None)  # null is the same as absent
    elif type(kind) is not str:
        raise UsageError(f'{name}:{number}: "type" is not text: {_shown(orjson.dumps(json_object, default=repr))}')
    return json_object


def _no_line(name: str, number: int, line: bytes, bare: bytes, rule: str | None) -> UsageError:
    """`rule` is what to do; None: by what the file seems to be."""
    place, shown = f"{name}:{number}", _shown(bare)
    if bare.startswith(b"{") and not line.endswith(b"\n"):
        return UsageError(
            f"{place}: the last line is cut, as where a dump is stopped: {shown}; the lines before are whole"
        )
    if bare.startswith(b"{") and bare.decode("utf-8", "ignore").encode() != bare:
        return UsageError(f"{place}: not UTF-8: {shown}; {_with_file(_CONVERT, name)}")
    return UsageError(f"{place}: no JSON object: {shown}; {rule or _hint(bare, name)}")


_RULE = "a dump has one on each line, as `sitemap-reader dump` writes it"
_CONVERT = "if it is Latin-1, `iconv -f ISO-8859-1 -t UTF-8 {}` converts it"
# The beginning of a file that is not a dump -> what to try. {} is the file, as an argument.
_BEGINNINGS = (
    ((b"\xff\xfe", b"\xfe\xff"), "that is UTF-16, as some shells write what is redirected: write with -o FILE"),
    ((b"<",), "that is XML: `sitemap-reader parse {}` reads a document"),
    ((b"http://", b"https://"), "that is a list of URLs: `sitemap-reader parse {}` writes it as JSONL"),
    ((b"[",), "that is a JSON array: `jq -c '.[]' {}` writes a line for each"),
    ((b"{",), "if it is JSON over several lines, `jq -c . {}` writes each object on one"),
    ((b"loc,", b"loc\t", b'"loc",', b"url,", b"site,loc", b"site\tloc"), "that is a table: dump to JSONL or Parquet"),
    ((*MAGIC.values(), b"BZh", b"\xfd7zXZ", b"PK\x03\x04", PARQUET), "it is packed: unpack it first"),
    ((SQLITE,), "that is an SQLite database, and no dump"),
)


def _hint(line: bytes, name: str) -> str:
    line = line[:SHOWN_CHARS].lower()
    hints = (hint for beginnings, hint in _BEGINNINGS if line.startswith(tuple(map(bytes.lower, beginnings))))
    return _with_file(next(hints, _RULE), name)


def _with_file(hint: str, name: str) -> str:
    return hint.replace("{}", STDIN if name == STDIN_NAME else name)


def _shown(line: bytes) -> str:
    text = line[: 4 * SHOWN_CHARS].decode("utf-8", "replace")
    return repr(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…")


# --- Parquet ---------------------------------------------------------------------------------------------------

# Keys that a line omits where the column is null, false or empty.
_SOMETIMES = ("type", *SOMETIMES[UrlRecord], "site")


def _parquet_objects(stream: BinaryIO, name: str) -> Iterator[tuple[int, JsonObject]]:
    require_pyarrow(f"{name} is Parquet, which needs")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    if not stream.seekable():
        raise UsageError(f"{name} is Parquet, which is read from its end: give it as a file, not through a pipe")
    number = 0
    try:
        file = ParquetFile(stream)
        if "loc" not in file.schema_arrow.names:
            raise UsageError(f"{name} has no column loc, so it is no dump; it has {', '.join(file.schema_arrow.names)}")
        for batch in file.iter_batches(BATCH_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield number, checked(row_object(row), name, number)
    except UsageError:
        raise
    except (ArrowException, OSError, ValueError, OverflowError) as exc:  # UnicodeDecodeError is a ValueError
        hint = "it has no end where its writing was stopped" if not number else f"the {number:,} rows before are whole"
        raise UsageError(f"{name}: damaged Parquet: {exc}; {hint}") from exc


def row_object(row: JsonObject) -> JsonObject:
    """A row of Parquet or Arrow as the JSON object of its line."""
    json_object = {key: _plain(value) for key, value in row.items()}
    for key in _SOMETIMES:
        if not json_object.get(key, True):
            del json_object[key]
    return json_object


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, datetime):
        # DuckDB's TIMESTAMP has no zone: it is in UTC.
        return stamp(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, str | int | float | None):
        raise ValueError(f"{value!r:.60} is a {type(value).__name__}, which no dump holds")
    return value


# --- records ----------------------------------------------------------------------------------------------------------


def numbered_records(numbered: Iterable[tuple[int, JsonObject]], name: str) -> Iterator[tuple[int, Line]]:
    for number, json_object in numbered:
        yield number, record_at(name, number, json_object)


def record_at(name: str, number: int, json_object: JsonObject) -> Line:
    """UsageError with the place of the line."""
    try:
        return from_json(json_object)
    except UsageError as exc:
        raise UsageError(f"{name}:{number}: {exc}") from None


def in_batches(items: Iterable[Item]) -> Iterator[list[BatchItem]]:
    """The items of a dump, many at a time, with a UrlBatch in place of consecutive records of one document."""
    items = iter(items)
    while some := [*islice(items, BATCH_ITEMS)]:
        store, sitemap = new_columns(), None
        found: list[BatchItem] = []
        for item in some:
            if not isinstance(item, UrlRecord):
                found.append(item)
                continue
            if item.sitemap != sitemap:
                store, sitemap = new_columns(), item.sitemap
            store.append(item)
            found.append(UrlBatch(sitemap, store, len(store) - 1))
        yield joined(found)


# Types of lines that a dump does not have -> what a file of them lists.
_OTHER_LISTS = {"change": "changes", "candidate": "sitemaps", "finding": "findings"}


def only_dump_lines(numbered: Iterable[tuple[int, JsonObject]], name: str) -> Iterator[tuple[int, JsonObject]]:
    """The same JSON objects; UsageError at one of a list of changes or of sitemaps."""
    for number, json_object in numbered:
        if what := _OTHER_LISTS.get(json_object.get("type", "")):
            hint = f"that is a list of {what}, not a dump: `sitemap-reader dump` makes one"
            raise UsageError(f"{name}:{number}: {hint}")
        yield number, json_object


# --- files ------------------------------------------------------------------------------------------------------------


# The suffixes of dumps.
_LINES = FORMATS["jsonl"].suffixes
DUMP_SUFFIXES = (*FORMATS["parquet"].suffixes, *(lines + packed for lines in _LINES for packed in ("", *SUFFIXES)))
WARC_SUFFIXES = (".warc", ".warc.gz")  # a recorded crawl
# Suffixes of files, whether they exist or not: none is a top-level domain.
_FORMAT_SUFFIXES = (suffix for format in FORMATS.values() for suffix in format.suffixes)
_FILES = (*SUFFIXES, *_FORMAT_SUFFIXES, ".xml", ".json", ".html", ".htm")
_URL = re.compile(r"https?://", re.IGNORECASE)


class Dump:
    """A dump that can be read any number of times; iterating yields the UrlRecords one by one.

    Lines of other types are skipped; items() yields them too. UsageError, with `file:line`, for an invalid line.
    """

    @property
    def name(self) -> str:
        """The name in messages."""
        raise NotImplementedError

    def numbered(self) -> Iterator[tuple[int, JsonObject]]:
        raise NotImplementedError

    @property
    def read_at(self) -> datetime | None:
        """When the sites were read; None where that is not known."""
        return None

    @property
    def is_of_one_site(self) -> bool:
        """Whether all lines are known to be of one site, even if its names differ."""
        return False

    def __iter__(self) -> Iterator[UrlRecord]:
        urls = (numbered for numbered in self.numbered() if "type" not in numbered[1])
        for _, record in numbered_records(urls, self.name):
            yield record  # type: ignore[misc] # a line without "type" is one

    def items(self) -> Iterator[Line]:
        """Every line as its record: UrlRecord, SitemapRef, Problem, Outcome, Candidate or Change."""
        for _, record in numbered_records(self.numbered(), self.name):
            yield record

    def dicts(self) -> Iterator[JsonObject]:
        """Every line as a dict, with keys that belong to no record, such as `site`."""
        for _, json_object in self.numbered():
            yield json_object


@attrs.frozen
class DumpFile(Dump):
    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def numbered(self) -> Iterator[tuple[int, JsonObject]]:
        with open_file(self.path) as stream:
            yield from numbered_objects(stream, str(self.path))


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """UsageError where the file is missing or cannot be read."""
    name = os.fspath(path)
    kind = "a URL" if _URL.match(name) else "a folder" if os.path.isdir(name) else None
    if kind:
        hint = f"`sitemap-reader dump {name} > urls.jsonl` (or sr.Snapshot.to_parquet) makes one"
        if os.path.isfile(os.path.join(name, "urls.parquet")):  # a Snapshot's
            hint = f"sr.load({name!r}) opens it"
        raise UsageError(f"{name} is {kind}, and a dump is a file: {hint}")
    try:
        return open(name, "rb")
    except FileNotFoundError:
        hint = "`sitemap-reader dump HOST > urls.jsonl` (or sr.Snapshot.to_parquet) makes a dump"
        raise UsageError(f"there is no file {name}; {hint}") from None
    except (OSError, ValueError) as exc:  # ValueError: the name holds a NUL
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"cannot read {name}: {reason}", remedy="give a file that you may read") from exc


def wal_name(path: str | os.PathLike[str]) -> str:
    """The file that an SQLite database has beside it while it is open, or if its last process was killed."""
    return f"{os.path.realpath(path)}-wal"


def is_open_database(path: str | os.PathLike[str]) -> bool:
    """Whether this is a database that only SQLite may open now.

    POSIX releases all locks of a process on a file as soon as it closes any descriptor of it, also those of a run in
    another thread.
    """
    return os.path.exists(wal_name(path))


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether it can be read only once, such as the shell's <(...)."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # open_file() reports it
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@attrs.define
class ReusableFile:
    """A file that open() opens any number of times; what a pipe gives is kept in a temporary file."""

    path: Path
    _kept: BinaryIO | None = attrs.field(default=None, init=False)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        if self._kept is None and is_pipe(self.path):
            from tempfile import TemporaryFile  # here: few inputs are pipes

            kept = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - it is closed with this object
            weakref.finalize(self, kept.close)
            with open_file(self.path) as stream:
                shutil.copyfileobj(stream, kept)
            self._kept = kept
        if self._kept is None:
            with open_file(self.path) as stream:
                yield stream
        else:
            self._kept.seek(0)
            yield self._kept


def is_warc_name(name: str) -> bool:
    return name.lower().endswith(WARC_SUFFIXES)


def has_file_suffix(name: str) -> bool:
    """Whether a name ends like that of a file, and has no slash, as a URL without a scheme has."""
    return "/" not in name and name.lower().endswith(_FILES)


def is_dump_name(name: str) -> bool:
    """Whether a name is that of a file or pipe (such as the shell's <(...)), and not of a site."""
    if "://" in name or is_warc_name(name):
        return False
    if name == STDIN or name.endswith(DUMP_SUFFIXES) or has_file_suffix(name):
        return not os.path.isdir(name)
    try:
        return os.path.exists(name) and not os.path.isdir(name)
    except ValueError:  # it holds a NUL
        return False
