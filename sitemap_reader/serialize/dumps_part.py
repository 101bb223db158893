"""Dumps that were written before, as files: a path -> its lines, as records and as dicts. dump_lines.py reads them.

What is no dump is a UsageError that says what to try.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ..model.errors import UsageError
from .compression import SUFFIXES
from .dumps import STDIN, numbered_forms
from .restore import from_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from ..model.records import UrlRecord
    from .dumps import Form
    from .jsonl import Line

# What the names of dumps end in.
DUMP_SUFFIXES = (".parquet", *(lines + packed for lines in (".jsonl", ".ndjson") for packed in ("", *SUFFIXES)))
WARC_SUFFIXES = (".warc", ".warc.gz")  # a site, recorded
# What ends so is a file, also where there is none; unless there may be a host before it, as in a URL without scheme.
_FILES = (".gz", ".zst", ".csv", ".tsv", ".xml", ".txt", ".json")
_URL = re.compile(r"https?://", re.IGNORECASE)


class Dump:
    """Lines that are somewhere: iterating gives the UrlRecords, each time from the beginning, and one at a time.

    Lines of other types are passed over; items() has them too. UsageError where a line is none, with `file:line`.
    """

    @property
    def name(self) -> str:
        """What messages call it."""
        raise NotImplementedError

    def numbered(self) -> Iterator[tuple[int, Form]]:
        """The lines, as numbered_forms() gives them."""
        raise NotImplementedError

    @property
    def read_at(self) -> datetime | None:
        """When the sites were read; None where nobody knows."""
        return None

    @property
    def is_of_one_site(self) -> bool:
        """Whether all lines are known to be of one site, whatever it is called there."""
        return False

    def __iter__(self) -> Iterator[UrlRecord]:
        for number, form in self.numbered():
            if "type" not in form:
                yield self._record(number, form)  # type: ignore[misc] # a line without "type" is one

    def items(self) -> Iterator[Line]:
        """Every line as what it is: UrlRecord, SitemapRef, Problem, Outcome, Candidate, Change."""
        for number, form in self.numbered():
            yield self._record(number, form)

    def forms(self) -> Iterator[Form]:
        """Every line as a dict, as it stands there, with what belongs to no record, such as `site`."""
        for _, form in self.numbered():
            yield form

    def _record(self, number: int, form: Form) -> Line:
        try:
            return from_json(form)
        except UsageError as exc:
            raise UsageError(f"{self.name}:{number}: {exc}") from None


@attrs.frozen
class DumpFile(Dump):
    """A dump on disk."""

    path: Path

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def numbered(self) -> Iterator[tuple[int, Form]]:
        """Reads the file."""
        with open_file(self.path) as stream:
            yield from numbered_forms(stream, str(self.path))


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """The file, for numbered_forms(); UsageError where there is none, or it cannot be read."""
    name = os.fspath(path)
    kind = "a URL" if _URL.match(name) else "a folder" if os.path.isdir(name) else None
    if kind:
        hint = f"`sitemap-reader dump {name} > urls.jsonl` makes one"
        if os.path.isfile(os.path.join(name, "urls.parquet")):  # a Snapshot's
            hint = f"sr.load({name!r}) opens it"
        raise UsageError(f"{name} is {kind}, and a dump is a file: {hint}")
    try:
        return open(name, "rb")
    except FileNotFoundError:
        raise UsageError(f"there is no file {name}; `sitemap-reader dump HOST > urls.jsonl` makes a dump") from None
    except (OSError, ValueError) as exc:  # ValueError: the name holds a NUL
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"cannot read {name}: {reason}; give a file that you may read") from exc


def is_warc_name(name: str) -> bool:
    """Whether what is called so is a WARC, unless it is a folder."""
    return name.lower().endswith(WARC_SUFFIXES)


def is_dump_name(name: str) -> bool:
    """Whether it is meant as a file, and not as a site; a pipe, as of the shell's <(...), is one too."""
    if "://" in name or is_warc_name(name):
        return False
    if name == STDIN or name.endswith(DUMP_SUFFIXES) or (name.endswith(_FILES) and "/" not in name):
        return not os.path.isdir(name)
    try:
        return os.path.exists(name) and not os.path.isdir(name)
    except ValueError:  # it holds a NUL
        return False
