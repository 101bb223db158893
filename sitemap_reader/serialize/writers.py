"""Sinks that write URLs in the FORMATS, the table at the end.

Lines with "type" can only be written as JSONL without fields; for any other sink the caller leaves them out. The
options import this module, so it imports the schema and pyarrow on first use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..model.errors import UsageError
from .byte_streams import Sink, check_compression, split_compression

if TYPE_CHECKING:
    from ..model.records import Change
    from ..model.url_batch import UrlBatch
    from .byte_streams import Blocks
    from .schema import Fields

_LINE_END = re.compile(r"[\r\n]")


@attrs.frozen
class OutputFormat:
    """An output format of URLs; `title` is its name in texts.

    `make_sink` takes the stream, the fields or None for all, and whether to guard cells. The first of `suffixes` is the
    usual one. `is_binary`: is not for terminals, is compressed already, and cannot be read without its end.
    """

    title: str
    suffixes: tuple[str, ...]
    make_sink: Callable[[Blocks, Fields | None, bool], Sink]
    takes_fields: bool = True
    is_binary: bool = False
    needs_pyarrow: bool = False


def check_format(format: str, fields: Fields | None = None) -> None:
    """UsageError where make_sink() would raise one; for a check before any file is opened."""
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    if fields is not None and not FORMATS[format].takes_fields:
        template = '{format} is the locs alone, without fields; {format="tsv"} has fields, one URL a line'
        raise UsageError.of(template, format=format)
    if FORMATS[format].needs_pyarrow:
        from .arrow import require_pyarrow

        require_pyarrow(f"{format} needs")


def check_name(name: str, format: str) -> None:
    """UsageError for a file whose suffix is that of a compression which is not installed, or the format has itself."""
    compression = split_compression(name)[1]
    check_compression(compression, name)
    written = FORMATS[format]
    if compression and written.is_binary:
        raise UsageError(
            f"{name}: {written.title} is compressed already", remedy=f"give a name in {written.suffixes[0]}"
        )


def format_of(name: str) -> str:
    """The format that the suffix of a file stands for; UsageError for any other suffix.

    >>> format_of("urls.csv.gz"), format_of("URLS.NDJSON")
    ('csv', 'jsonl')
    """
    suffix = os.path.splitext(split_compression(name)[0])[1].lower()
    for format, written in FORMATS.items():
        if suffix in written.suffixes:
            return format
    names = ", ".join(written.suffixes[0] for written in FORMATS.values())
    raise UsageError(f"the suffix of {name} is no format", remedy=f"give `format`, or a name in {names}")


def make_sink(format: str, out: Blocks, *, fields: Fields | None = None, guard: bool = True) -> Sink:
    """The sink for one of FORMATS.

    Without `fields` all keys are written: in JSONL those of the object, in other formats a column for each in the
    documented order. In tables text is guarded() unless `guard` is False: then it is written unchanged, and a
    spreadsheet may run it. UsageError for another format, for txt with fields, and for parquet
    without pyarrow.
    """
    check_format(format, fields)
    return FORMATS[format].make_sink(out, fields, guard)


class _Jsonl(Sink):
    def __init__(self, out: Blocks, fields: Fields | None, guard: bool) -> None:
        super().__init__(out)
        self._fields = fields

    def write(self, json_object: dict[str, Any]) -> None:
        line = self._fields.select(json_object) if self._fields else json_object
        self._out.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def write_urls(self, batch: UrlBatch, *, site: str | None = None) -> None:
        from .jsonl import encode_urls, json_column

        if self._fields is None:
            self._out.write_lines(encode_urls(batch, site=site))
        elif self._fields.has_paths:
            super().write_urls(batch, site=site)
        else:
            columns = [
                [b'"%s":%s' % (name.encode(), value or b"null") for value in json_column(batch, name, site)]
                for name in self._fields.names
            ]
            self._out.write_lines(b"".join([b"{%s}\n" % b",".join(row) for row in zip(*columns, strict=True)]))

    def write_changes(self, piece: UrlBatch | list[Change], *, site: str | None = None) -> None:
        from .jsonl import encode_changes

        if self._fields is None:
            self._out.write_lines(encode_changes(piece, site=site))
        else:
            super().write_changes(piece, site=site)


class _Text(Sink):
    def write(self, json_object: dict[str, Any]) -> None:
        loc = json_object.get("loc")
        if type(loc) is not str or _LINE_END.search(loc):
            raise UsageError(f"the loc {orjson.dumps(loc).decode()} is no line of text; --format jsonl takes any")
        self._out.write(f"{loc}\n".encode())

    def write_urls(self, batch: UrlBatch, *, site: str | None = None) -> None:
        self._out.write_lines("".join(f"{loc}\n" for loc in batch.locs).encode())


class _Table(Sink):
    """A header of names, then a line for each object."""

    def __init__(self, row: Callable[[list[str]], bytes], out: Blocks, fields: Fields | None, guard: bool) -> None:
        super().__init__(out)
        self._text = guarded if guard else str
        self._fields = fields or _all_fields()
        self._row = row
        self._has_header = False

    def write(self, json_object: dict[str, Any]) -> None:
        text = self._text
        # Text as it is, else compact JSON, so numbers and booleans as in the JSONL.
        cells = [
            text(value) if type(value) is str else "" if value is None else orjson.dumps(value).decode()
            for value in self._fields.values(json_object)
        ]
        self._begin()
        self._out.write(self._row(cells))

    def write_urls(self, batch: UrlBatch, *, site: str | None = None) -> None:
        from .jsonl import json_column

        if self._fields.has_paths:
            super().write_urls(batch, site=site)
            return
        self._begin()
        columns = (map(self._json_cell, json_column(batch, name, site)) for name in self._fields.names)
        self._out.write_lines(b"".join([self._row([*row]) for row in zip(*columns, strict=True)]))

    def _json_cell(self, value: bytes | None) -> str:
        if value is None:
            return ""
        return self._text(orjson.loads(value)) if value.startswith(b'"') else value.decode()

    def close(self) -> None:
        self._begin()
        self.flush()

    def _begin(self) -> None:
        if not self._has_header:
            self._has_header = True
            self._out.write(self._row([*self._fields.names]))


# OWASP, "CSV Injection": a spreadsheet runs a cell that begins so as a formula. Some remove blanks and control
# characters before it, and those of East Asia read full-width and small signs as the ASCII ones.
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\x7f\xad\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫]")


def guarded(text: str) -> str:
    """The text of a cell, with an apostrophe before one that a spreadsheet would run as a formula.

    >>> guarded("=1+1"), guarded(" ＝1+1"), guarded("Shoes")
    ("'=1+1", "' ＝1+1", 'Shoes')
    """
    return f"'{text}" if _FORMULA.match(text) else text


# Linear TSV: a record is one line, as these are escaped.
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def separated_row(separator: str, cells: list[str], escapes: dict[int, str] | None = None) -> bytes:
    r"""A line of cells; `escapes` are those of characters in cells.

    RFC 4180 2.6 and 2.7: a cell with a separator, a quote or a line end stands in quotes, and quotes inside are
    doubled; also in TSV, as pandas, DuckDB, polars and spreadsheets take a lone quote for the beginning of a cell of
    many lines. Lines end with \n all the same: they read both, and cut or awk would find a \r in the last column.
    (Python's csv.writer takes twice as long, and leaves a lone \r bare if lines end with \n.)
    """
    line = separator.join(cells)
    is_plain = not ('"' in line or "\n" in line or "\r" in line or line.count(separator) >= len(cells))
    if escapes is not None and (not is_plain or "\\" in line):
        cells = [cell.translate(escapes) for cell in cells]
        line = separator.join(cells)
    if not is_plain:
        line = separator.join([_quoted(cell, separator) for cell in cells])
    # One empty cell would be a blank line, which readers skip.
    return f"{line}\n".encode() if line else b'""\n'


def _quoted(cell: str, separator: str) -> str:
    needs_quotes = '"' in cell or separator in cell or "\n" in cell or "\r" in cell
    return '"' + cell.replace('"', '""') + '"' if needs_quotes else cell


def _parquet(out: Blocks, fields: Fields | None, guard: bool) -> Sink:
    from .arrow import ParquetSink

    return ParquetSink(out, fields or _all_fields())


def _all_fields() -> Fields:
    from .schema import all_fields

    return all_fields()


# Value of --format -> the format, in the order of the help.
FORMATS = {
    "jsonl": OutputFormat("JSONL", (".jsonl", ".ndjson"), _Jsonl),
    "csv": OutputFormat("CSV", (".csv",), partial(_Table, partial(separated_row, ","))),
    "tsv": OutputFormat("TSV", (".tsv",), partial(_Table, partial(separated_row, "\t", escapes=_ESCAPES))),
    "txt": OutputFormat("plain text", (".txt",), lambda out, fields, guard: _Text(out), takes_fields=False),
    "parquet": OutputFormat("Parquet", (".parquet",), _parquet, is_binary=True, needs_pyarrow=True),
}
