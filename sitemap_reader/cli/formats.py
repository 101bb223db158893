"""Which format a command writes: the one that --format names, else the one that the suffix of -o stands for.

In: both, as typed, and the formats that the command has. Out: one of these. One table of suffixes for all commands.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..model.errors import UsageError
from ..serialize.compression import split_compression

if TYPE_CHECKING:
    from collections.abc import Sequence

# Suffix, without that of a compression -> the formats that it may stand for; a command has one of them, or none.
SUFFIXES = {
    ".jsonl": ("jsonl",),
    ".ndjson": ("jsonl",),
    ".csv": ("csv",),
    ".tsv": ("tsv",),
    ".txt": ("txt", "table", "text"),
    ".parquet": ("parquet",),
    ".json": ("json",),
    ".html": ("html",),
    ".htm": ("html",),
}
# Suffix that a command does not write -> what to do instead.
_OTHERS = {
    ".json": "the suffix of JSON lines is .jsonl; give --format jsonl to write them to {0}",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "{1} is not written; spreadsheets read .csv"),
    **dict.fromkeys((".bz2", ".xz", ".zip", ".7z"), "files are compressed as .gz or .zst, not as {1}"),
    **dict.fromkeys((".xml", ".pdf", ".md"), "no command writes {1}"),
}


def suffix_formats(output: str | None) -> tuple[str, ...]:
    """The formats that the suffix of a name may stand for.

    >>> suffix_formats("urls.ndjson"), suffix_formats("URLS.CSV.gz"), suffix_formats("report.htm"), suffix_formats("-")
    (('jsonl',), ('csv',), ('html',), ())
    """
    return SUFFIXES.get(_suffix(output), ())


def format_for(output: str | None, format: str | None, formats: Sequence[str]) -> str | None:
    """`format`, else which of `formats` the suffix stands for, else None; UsageError for a suffix of another one."""
    if format is not None:
        return format
    meant = [each for each in suffix_formats(output) if each in formats]
    if meant:
        return meant[0]
    suffix = _suffix(output)
    if suffix in _OTHERS:
        raise UsageError(f"-o {output}: {_OTHERS[suffix].format(output, suffix)}")
    if suffix in SUFFIXES:
        raise UsageError(f"-o {output}: {suffix} is not a format of this command; give --format {'|'.join(formats)}")
    return None


def _suffix(output: str | None) -> str:
    return os.path.splitext(split_compression(output or "")[0])[1].lower()
