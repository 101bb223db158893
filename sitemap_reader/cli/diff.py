"""`diff`: what is new, updated and removed between two dumps."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, get_args

import orjson

from ..compare import compare, stream_side
from ..dumps import STDIN
from ..errors import UsageError
from ..records import Precision
from ..statistics import as_stated
from .columns import encoding_of, shown
from .exits import Exit
from .inputs import called, opened
from .interrupts import Interrupts
from .messages import Console
from .output import open_outputs, rows_format_for
from .table import tsv_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..compare import Changes, On
    from ..dumps import Form

HEADER = ("change", "loc", "lastmod", "previous_lastmod", "changed")
_SIGNS = {"new": "+", "updated": "~", "removed": "-"}
_DATE = ("lastmod", "lastmod_precision")
_PRECISIONS = get_args(Precision)


def run(
    *,
    old: str,
    new: str,
    on: On,
    exit_code: bool,
    output: str | None,
    format: str | None,
    quiet: bool,
) -> Exit:
    """Writes the changes; `old` and `new` are files, one of them may be - for stdin."""
    console = Console(quiet=quiet)
    started = time.monotonic()
    if old == new == STDIN:
        raise UsageError("OLD and NEW cannot both be stdin; give a file for one of them")
    write = _WRITERS[rows_format_for(output, format, elsewhere="jsonl")]
    with ExitStack() as files:
        bodies = [(called(name), files.enter_context(opened(name))) for name in (old, new)]
        interrupts = files.enter_context(Interrupts())
        outputs = files.enter_context(open_outputs(output, None, interrupts))
        for name, body in bodies:
            if outputs.holds(body):
                raise UsageError(f"{name} is read and written at once; write to another file")
        before, after = (stream_side(body, name) for name, body in bodies)
        try:
            changes = files.enter_context(compare(before, after, on))
            outputs.begin()
            for line in write(changes, encoding_of(output)):
                outputs.records.write(line)
        except KeyboardInterrupt:
            return console.end(None, None, [Exit.INTERRUPTED])
    for note in () if quiet else changes.notes:
        console.line(f"note {note}")
    code = Exit.THRESHOLD if exit_code and len(changes) else Exit.COMPLETE
    return console.end(f"{changes.summary}; {time.monotonic() - started:.1f} s", None, [code])


def _jsonl(changes: Changes, encoding: str) -> Iterator[bytes]:
    return (orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE) for form in changes.forms())


def _tsv(changes: Changes, encoding: str) -> Iterator[bytes]:
    """One row at a time; no rows, no header."""
    if not len(changes):
        return
    front = ("site",) if changes.names_sites else ()
    yield tsv_line((*front, *HEADER))
    for form in changes.forms():
        cells = [form["change"], form["loc"], form.get("lastmod"), form.get("previous_lastmod")]
        yield tsv_line([*(form.get(name) for name in front), *map(_text, cells), ",".join(_changed(form))])


def _table(changes: Changes, encoding: str) -> Iterator[bytes]:
    """A line for each, not aligned: that would take all of them at once."""
    for form in changes.forms():
        told = [f"lastmod {_date(form, 'previous_')} -> {_date(form)}"] if set(_DATE) & set(_changed(form)) else []
        told += [name for name in _changed(form) if name not in _DATE]
        line = f"{_SIGNS[form['change']]} {form['loc']}" + (f"  {', '.join(told)}" if told else "")
        yield f"{shown(line, encoding)}\n".encode(encoding)


_WRITERS: dict[str, Callable[[Changes, str], Iterator[bytes]]] = {"jsonl": _jsonl, "tsv": _tsv, "table": _table}


def _changed(form: Form) -> list[str]:
    return [] if form["change"] != "updated" else [*form["changed"]]


def _date(form: Form, prefix: str = "") -> str:
    """As precise as it is stated."""
    moment, precision = (form.get(f"{prefix}{name}") for name in _DATE)
    if not isinstance(moment, str):
        return "none"
    return as_stated(moment, str(precision)) if precision in _PRECISIONS else moment


def _text(value: Any) -> str:
    return "" if value is None else str(value)
