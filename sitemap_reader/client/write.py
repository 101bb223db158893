"""write(): a stream, or other records and changes, to a file of one of the FORMATS, as they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import attrs

from ..model.errors import UsageError, json_without_commands
from ..model.options import FILE_NAME
from ..model.records import Change, UrlRecord
from ..model.url_batch import UrlBatch
from ..serialize.byte_streams import split_compression
from ..serialize.jsonl import to_dict
from ..serialize.output_files import OutputFile, open_output_file
from ..serialize.schema import fields_of, parse_fields
from ..serialize.writers import FORMATS, check_format, check_name, format_of, make_sink
from .streams import AsyncStream, ChangeRun, Stream, pieces_of

if TYPE_CHECKING:
    from ..serialize.byte_streams import Sink
    from ..serialize.schema import Fields


def write(
    items: Iterable[UrlRecord | Change],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    fields: Sequence[str] | None = None,
) -> int:
    """Writes URLs or changes to a file as they are read, in little memory, and returns how many; closes a stream.

    `items` are what urls(), changes(), snapshot(), load() or diff() return, or any records or changes. `format` is one
    of `dump --format`, by default that of the suffix; `.gz` or `.zst` behind it compresses. `fields` are those of
    `dump --fields`, such as ["loc", "images.loc"]; by default all of them.

    The file is made beside the named one, and replaces it at the end. Where an exception comes first, it is raised, and
    the file has what was read until then, or if that was nothing stays as it was. The changes of changes() are
    different: they go into the named file itself before the next ones are requested, which counts as their delivery.

    UsageError for arguments that are not allowed, before anything is requested; OSError where the file cannot be
    written; and what the stream raises.
    """
    if isinstance(items, AsyncStream):
        remedy = "give it sr.urls() or sr.changes(), which read in a thread, or `async for` and json_line()"
        raise UsageError("write() takes no stream of a SitemapReader", remedy=remedy)
    if not hasattr(items, "__iter__") or isinstance(items, str | bytes):
        raise UsageError(keyword="items", value=items, allowed="a stream, or an iterable of UrlRecords or Changes")
    FILE_NAME("path", path)
    if not os.fspath(path):
        raise UsageError("path is the name of a file, and empty")
    is_list = isinstance(fields, Sequence) and not isinstance(fields, str) and all(isinstance(e, str) for e in fields)
    if not (fields is None or is_list):
        raise UsageError(keyword="fields", value=fields, allowed='a list of names, such as ["loc"]')
    chosen = None if fields is None else parse_fields(",".join(fields), option="fields")
    with items if isinstance(items, Stream) else nullcontext():
        return _write(items, os.fspath(path), format, chosen)


def _write(items: Iterable[Any], name: str, format: str | None, fields: Fields | None) -> int:
    format = format_of(name) if format is None else format
    check_format(format, fields)
    check_name(name, format)
    run = items._run if isinstance(items, Stream) else None
    has_changes = isinstance(run, ChangeRun)
    if isinstance(run, ChangeRun):
        _check_changes(run, format, fields)
    pieces = pieces_of(items) if isinstance(items, Stream) else items
    stream = open_output_file(name, in_place=has_changes)
    escape = json_without_commands if format == "jsonl" else None
    file = OutputFile.of(stream, name, format, split_compression(name)[1], escape=escape)
    writer = _Writer(file, format, fields, has_changes, takes_many=run is not None)
    try:
        for piece in pieces:
            writer.write(piece)
    except BaseException:
        writer.close(keep=writer.count > 0)
        raise
    writer.close(keep=True)
    return writer.count


def _check_changes(run: ChangeRun, format: str, fields: Fields | None) -> None:
    """UsageError where the changes of a state cannot be written with these arguments."""
    if run.is_manual:
        raise UsageError("write() delivers changes itself", remedy='leave ack="manual" out')
    if FORMATS[format].is_binary:
        why = f"a {FORMATS[format].title} file that a kill cuts cannot be read, and its changes count as delivered"
        raise UsageError(why, remedy="give a name in .jsonl or .csv, or write the batches of arrow()")
    _refuse_fields(fields)


def _refuse_fields(fields: Fields | None) -> None:
    if fields is not None:
        raise UsageError(keyword="fields", value=fields.names, allowed="for URLs only; a change has all")


@attrs.define
class _Writer:
    """Writes items, which are all URLs or all changes, and counts them."""

    file: OutputFile
    format: str
    fields: Fields | None
    has_changes: bool
    takes_many: bool  # of a stream, which gives pieces
    count: int = 0
    _sink: Sink | None = None

    @property
    def sink(self) -> Sink:
        if self._sink is None:
            if self.has_changes:
                _refuse_fields(self.fields)
            # In JSONL each line has its own keys.
            fields = fields_of(Change) if self.has_changes and self.format not in ("jsonl", "txt") else self.fields
            self._sink = make_sink(self.format, self.file.blocks, fields=fields)
        return self._sink

    def write(self, piece: Any) -> None:
        is_many = self.takes_many and isinstance(piece, UrlBatch | list)
        if not is_many:
            if not isinstance(piece, UrlRecord | Change):
                remedy = "give the stream itself, in place of its batches()" if isinstance(piece, list) else ""
                raise UsageError(f"a {type(piece).__name__} is neither a UrlRecord nor a Change", remedy=remedy)
            if self._sink is None:
                self.has_changes = isinstance(piece, Change)
            if isinstance(piece, Change) != self.has_changes:
                raise UsageError("there are URLs and changes", remedy="write each to a file of its own")
            self.sink.write(to_dict(piece))
        elif self.has_changes:
            self.sink.write_changes(piece)
            self.sink.flush()  # what is requested next counts as delivered
        else:
            self.sink.write_urls(piece)
        self.count += len(piece) if is_many else 1

    def close(self, *, keep: bool) -> None:
        try:
            if keep:
                self.sink.close()
        except BaseException:
            keep = keep and not self.file.needs_end
            raise
        finally:
            self.file.close(keep)
