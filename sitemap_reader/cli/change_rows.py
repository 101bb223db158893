"""Changes as lines of output: JSON lines, TSV, or a line for people.

In: the forms of changes, one by one. Out: encoded lines, as they come: nothing is held back to be aligned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import orjson

from ..records import Precision
from ..statistics import as_stated
from .columns import shown
from .table import tsv_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..dump_lines import Form

HEADER = ("change", "loc", "lastmod", "previous_lastmod", "changed")
_SIGNS = {"new": "+", "updated": "~", "removed": "-"}
_DATE = ("lastmod", "lastmod_precision")
_PRECISIONS = get_args(Precision)


def change_lines(format: str, forms: Iterable[Form], *, encoding: str, names_sites: bool) -> Iterator[bytes]:
    """The lines in a format of ROWS_FORMATS, behind its header."""
    return _WRITERS[format](forms, encoding, names_sites)


def change_header(format: str, *, names_sites: bool) -> bytes:
    """What stands in front of them: nothing but of TSV."""
    return tsv_line((*_front(names_sites), *HEADER)) if format == "tsv" else b""


def _jsonl(forms: Iterable[Form], encoding: str, names_sites: bool) -> Iterator[bytes]:
    return (orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE) for form in forms)


def _tsv(forms: Iterable[Form], encoding: str, names_sites: bool) -> Iterator[bytes]:
    front = _front(names_sites)
    for form in forms:
        cells = [form["change"], form["loc"], form.get("lastmod"), form.get("previous_lastmod")]
        yield tsv_line([*map(form.get, front), *map(_text, cells), ",".join(_changed(form))])


def _front(names_sites: bool) -> tuple[str, ...]:
    return ("site",) if names_sites else ()


def _table(forms: Iterable[Form], encoding: str, names_sites: bool) -> Iterator[bytes]:
    """A line for each, not aligned: that would take all of them at once."""
    for form in forms:
        told = [f"lastmod {_date(form, 'previous_')} -> {_date(form)}"] if set(_DATE) & set(_changed(form)) else []
        told += [name for name in _changed(form) if name not in _DATE]
        line = f"{_SIGNS[form['change']]} {form['loc']}" + (f"  {', '.join(told)}" if told else "")
        yield f"{shown(line, encoding)}\n".encode(encoding)


_WRITERS: dict[str, Callable[[Iterable[Form], str, bool], Iterator[bytes]]] = {
    "jsonl": _jsonl,
    "tsv": _tsv,
    "table": _table,
}


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
