"""Changes as lines of output: JSON lines, TSV, CSV, or a line for people.

In: the forms of changes, one by one. Out: encoded lines, as they come: nothing is held back to be aligned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import orjson

from ..model.records import Precision
from ..statistics.collector import as_stated
from .columns import shown
from .tables import SEPARATED, separated_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..serialize.dumps import Form

HEADER = ("change", "loc", "lastmod", "previous_lastmod", "changed")
_SIGNS = {"new": "+", "updated": "~", "removed": "-"}
_DATE = ("lastmod", "lastmod_precision")
_PRECISIONS = get_args(Precision)


def change_lines(
    format: str, forms: Iterable[Form], *, encoding: str, names_sites: bool, guard: bool
) -> Iterator[bytes]:
    """The lines in a format of ROWS_FORMATS, behind its header; `guard` is that of separated_line()."""
    if format in SEPARATED:
        return _separated(format, forms, names_sites, guard)
    return _jsonl(forms) if format == "jsonl" else _table(forms, encoding)


def change_header(format: str, *, names_sites: bool) -> bytes:
    """What stands in front of them: nothing but of TSV and CSV."""
    return separated_line(format, (*_front(names_sites), *HEADER), guard=False) if format in SEPARATED else b""


def _jsonl(forms: Iterable[Form]) -> Iterator[bytes]:
    return (orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE) for form in forms)


def _separated(format: str, forms: Iterable[Form], names_sites: bool, guard: bool) -> Iterator[bytes]:
    front = _front(names_sites)
    for form in forms:
        cells = [form["change"], form["loc"], form.get("lastmod"), form.get("previous_lastmod")]
        row = [*map(form.get, front), *map(_text, cells), ",".join(_changed(form))]
        yield separated_line(format, row, guard)


def _front(names_sites: bool) -> tuple[str, ...]:
    return ("site",) if names_sites else ()


def _table(forms: Iterable[Form], encoding: str) -> Iterator[bytes]:
    """A line for each, not aligned: that would take all of them at once."""
    for form in forms:
        told = [f"lastmod {_date(form, 'previous_')} -> {_date(form)}"] if set(_DATE) & set(_changed(form)) else []
        told += [name for name in _changed(form) if name not in _DATE]
        line = f"{_SIGNS[form['change']]} {form['loc']}" + (f"  {', '.join(told)}" if told else "")
        yield f"{shown(line, encoding)}\n".encode(encoding)


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
