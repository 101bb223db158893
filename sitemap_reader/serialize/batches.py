"""URLs, or changes, to record batches of Arrow: forms or whole JSON lines in, batches out as they fill.

Lines as json_line() writes them go through Arrow's own reader of JSON; all others through arrow.Rows, and what comes
out is the same. Never has more in memory than was not taken.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from ..model.records import Change, UrlRecord
from .arrow import Rows, arrow_schema
from .projection import fields_of

if TYPE_CHECKING:
    from .projection import Fields

# Either ends a batch: rows as Python has them take some ten times what they take in a batch.
BATCH_ROWS, BATCH_BYTES = 1_024, 1 << 20
# So many bytes of lines are read at once: each time costs a millisecond or two.
LINES_BYTES = 1 << 20


class Batches:
    """add() forms and lines, take() the batches; their rows stand in the order in which they were added."""

    def __init__(self, fields: Fields) -> None:
        self._converted = Rows(fields)
        self.schema = self._converted.schema
        self.ready: list[Any] = []
        self._takes_lines = frozenset(fields.names) <= frozenset(fields_of(_record(self.schema)).names)
        self._rows: list[list[Any]] = []
        self._row_bytes = 0
        self._lines: list[bytes] = []
        self._line_bytes = 0

    def add(self, form: dict[str, Any]) -> None:
        """Takes one form; UsageError for a value that is not of its column's type, and the form is not taken."""
        row = self._converted.row(form)
        if self._lines:
            self._end_lines()
        self._rows.append(row)
        self._row_bytes += len(orjson.dumps(row))

    def add_lines(self, lines: bytes) -> None:
        """Takes lines of URLs, or where there are columns of changes of those, as json_line() writes them."""
        self._lines.append(lines)
        self._line_bytes += len(lines)

    def try_lines(self, lines: bytes) -> int:
        """Takes URL lines of somebody, and says how many; 0 where it took none, as there may be others among them."""
        table = lines_table(lines, self.schema) if self._takes_lines else None
        if table is None:
            return 0
        self.end()
        self.ready += table.to_batches()
        return int(table.num_rows)

    @property
    def is_full(self) -> bool:
        """Whether it is time for end(), so that little waits."""
        return (
            len(self._rows) >= BATCH_ROWS or self._row_bytes >= BATCH_BYTES or self._line_bytes >= LINES_BYTES
        )

    def end(self) -> None:
        """Makes batches of all that waits."""
        if self._lines:
            self._end_lines()
        self._end_rows()

    def take(self) -> list[Any]:
        """The batches that are ready."""
        ready, self.ready = self.ready, []
        return ready

    def _end_rows(self) -> None:
        if self._rows:
            rows, self._rows, self._row_bytes = self._rows, [], 0
            self.ready.append(self._converted.batch(rows))

    def _end_lines(self) -> None:
        lines, self._lines, self._line_bytes = b"".join(self._lines), [], 0
        self._end_rows()
        table = lines_table(lines, self.schema) if self._takes_lines else None
        if table is not None:
            self.ready += table.to_batches()
            return
        for line in lines.splitlines():
            self.add(orjson.loads(line))
            if self.is_full:
                self._end_rows()


# --- many lines at once ---

_PARSED_AT_ONCE_BYTES = 1 << 20
# A date -> what stands behind it as we write it. In text there is no bare quotation mark.
_STAMPED = {name: f'Z","{name}_precision":'.encode() for name in ("lastmod", "previous_lastmod")}
# As a key with a stamp, with null, and as a text of its own.
_DATES_INSIDE = tuple(
    (f'"{key}"'.encode(), [f'Z","{key}_precision":'.encode(), *(f'"{key}"{end}'.encode() for end in (":null", *",}]"))])
    for key in ("publication_date", "expiration_date", "premier_date")
)
_NO_NUMBER = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")
# Nothing else is escaped by number when we write.
_FOREIGN_ESCAPE = re.compile(rb"\\u(?!00[01])")
_HAVE_DATES_AND_NUMBERS = ("videos", "news")
# Whose lines -> what their "type" says.
_TYPES = {UrlRecord: None, Change: "change"}
_YEAR_ONE = -62_135_596_800_000_000  # in microseconds: Python has no dates before


def lines_table(lines: bytes, schema: Any) -> Any:
    """A pyarrow.Table of the lines of URLs, or of changes, each with its line feed, in a tenth of the time of Rows.

    `schema` has columns of either. None where the lines may be anything else than json_line() writes: Arrow's reader
    takes what is no JSON line of ours, such as `NaN`, or dates without a zone.
    """
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if not (lines.startswith(b"{") and lines.endswith(b"}\n") and _is_text(lines)):
        return None
    record = _record(schema)
    expected = arrow_schema(fields_of(record)).append(pa.field("type", pa.string()))
    parsing = arrow_json.ParseOptions(explicit_schema=expected, unexpected_field_behavior="error")
    reading = arrow_json.ReadOptions(block_size=_PARSED_AT_ONCE_BYTES)
    try:
        table = arrow_json.read_json(pa.BufferReader(lines), read_options=reading, parse_options=parsing)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table.select(schema.names) if _is_ours(table, lines, _TYPES[record]) else None


def _record(schema: Any) -> type:
    """Whose lines these columns are of."""
    return Change if "change" in schema.names else UrlRecord


def _is_ours(table: Any, lines: bytes, kind: str | None) -> bool:
    """Whether each line was one object of its kind, its dates stamps and its numbers numbers."""
    from pyarrow import compute

    rows = table.num_rows
    dates = [name for name in _STAMPED if name in table.column_names]
    stated = {name: rows - table[name].null_count for name in ("loc", *dates, *_HAVE_DATES_AND_NUMBERS)}
    # What stands at such a place is always the end of one object and the beginning of the next.
    if lines.count(b"}\n{") + 1 != rows or lines.count(b"\n") != rows:
        return False
    if stated["loc"] != rows or (b"\\u" in lines and _FOREIGN_ESCAPE.search(lines)):
        return False
    if table["type"].unique().to_pylist() != [kind]:
        return False
    is_finite = compute.all(compute.is_finite(table["priority"])).as_py()
    if is_finite is False:  # None: there is no priority
        return False
    for name in dates:
        if lines.count(_STAMPED[name]) != stated[name]:
            return False
        if stated[name] and compute.min(table[name]).value < _YEAR_ONE:
            return False
    return not any(stated[name] for name in _HAVE_DATES_AND_NUMBERS) or _is_ours_inside(lines)


def _is_ours_inside(lines: bytes) -> bool:
    """The same of the dates and numbers of videos and news."""
    if any(lines.count(key) != sum(map(lines.count, places)) for key, places in _DATES_INSIDE):
        return False
    may_be_none = b"NaN" in lines or b"Inf" in lines
    return b'"0000-' not in lines and not (may_be_none and _NO_NUMBER.search(lines))


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
