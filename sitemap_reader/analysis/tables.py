"""A table of a Snapshot: columns of Arrow in; the same out to pandas, polars, DuckDB, pyarrow, and a notebook.

Columns that are derived are computed when somebody first asks for one. Never changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..frontier.filters import make_patterns
from ..model.errors import UsageError
from ..model.problems import Problem
from ..model.records import Outcome
from ..serialize.arrow import Batches
from ..serialize.dumps import numbered_blocks, row_form
from ..serialize.jsonl import json_form
from ..serialize.projection import all_fields, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from ..frontier.filters import Pattern
    from ..model.records import Item
    from ..serialize.dumps import Block, Form


_SHOWN_ROWS = 5


class Table:
    """Rows of one kind, as Arrow has them: what reads Arrow's stream (`__arrow_c_stream__`) takes it as it is.

    So `pd.DataFrame.from_arrow(table)`, `pl.DataFrame(table)`, `pa.table(table)`, and DuckDB's `FROM urls`, where a
    variable of that name holds it; as often as you like. Dates are in UTC, in microseconds.
    """

    def __init__(self, stored: Any, derive: Callable[[Any], dict[str, Any]] | None = None) -> None:
        """`stored` is a pyarrow.Table; `derive` gives the columns to be added to it."""
        self.stored = stored
        self._derive = derive

    @cached_property
    def _whole(self) -> Any:
        table = self.stored
        for name, column in (self._derive(table) if self._derive else {}).items():
            table = table.append_column(name, column)
        return table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._whole.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.stored.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, derived ones last."""
        return list(self._whole.column_names)

    def to_arrow(self) -> Any:
        """The pyarrow.Table."""
        return self._whole

    def to_pandas(self, columns: str | Sequence[str] | None = None) -> Any:
        """A pandas.DataFrame of all columns, or of some. Nested values are lists and dicts; null is None or NaN."""
        return self._some(columns).to_pandas()

    def head(self, rows: int = _SHOWN_ROWS) -> Any:
        """The first rows, as a pandas.DataFrame."""
        return self._whole.slice(0, rows).to_pandas()

    def take(self, places: Sequence[int]) -> Table:
        """The rows at these places."""
        return Table(self.stored.take(places), self._derive)

    def _some(self, asked: str | Sequence[str] | None) -> Any:
        if asked is None:
            return self._whole
        columns = [asked] if isinstance(asked, str) else [*asked]
        if missing := [name for name in columns if name not in self.stored.column_names and name not in self.columns]:
            raise UsageError(f"there is no column {missing[0]!r}; there are {', '.join(self.columns)}")
        is_stored = frozenset(columns) <= frozenset(self.stored.column_names)
        return (self.stored if is_stored else self._whole).select(columns)

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        head: str = self.head()._repr_html_()
        return f"{head}\n<p>{len(self):,} rows</p>" if len(self) > _SHOWN_ROWS else head


def has_any(column: Any) -> Any:
    """Of each row, whether there is anything: a list with an item, or a value."""
    from pyarrow import compute, types

    if types.is_list(column.type):
        return compute.greater(compute.fill_null(compute.list_value_length(column), 0), 0)
    return compute.is_valid(column)


# ----------------------------------------------------------------------------------------------------
# What a run or a dump tells, gathered into tables: JSON lines, items and forms in, three pyarrow.Tables out.


_OTHER = b'{"type":'
_KNOWN = ("sitemap", "problem", "outcome")


@attrs.frozen
class Tables:
    """Three pyarrow.Tables: their columns are the keys of the lines, in the documented order, and `site`."""

    urls: Any
    sitemaps: Any
    problems: Any


class TableBuilder:
    """lines() and items of a run, or all of a dump(); then gathered()."""

    def __init__(self) -> None:
        self._urls = Batches(all_fields())
        self._others = {"outcome": Batches(fields_of(Outcome)), "problem": Batches(fields_of(Problem))}

    def lines(self, lines: bytes) -> None:
        """URLs, as json_line() writes them."""
        self._urls.add_lines(lines)
        self._end(self._urls)

    def hear(self, item: Item, site: str | None = None) -> None:
        """An item of a run that is no URL."""
        if isinstance(item, Problem | Outcome):
            self._form(json_form(item, site=site))

    def dump(self, stream: BinaryIO, name: str) -> None:
        """The lines of a dump; UsageError, with the number of the line, for what is none."""
        for block in numbered_blocks(stream, name):
            try:
                is_taken = self._take_at_once(block)
            except UsageError:
                TableBuilder()._one_by_one(block, name)  # says in which line
                raise
            if not is_taken:
                self._one_by_one(block, name)

    def gathered(self) -> Tables:
        """All that was."""
        tables = []
        for batches in (self._urls, *self._others.values()):
            batches.end()
            tables.append(_table(batches))
        return Tables(*tables)

    def _take_at_once(self, block: Block) -> bool:
        """Takes a block whose lines are as we write them, those of a report among them."""
        if block.lines is None:
            return False
        urls, others = block.lines, list[bytes]()
        if _OTHER in urls:
            lines = urls.splitlines(keepends=True)
            others = [line for line in lines if line.startswith(_OTHER)]
            urls = b"".join(line for line in lines if not line.startswith(_OTHER))
        forms = [*map(_parsed, others)]
        if None in forms or not self._urls.try_lines(urls):
            return False
        for form in forms:
            self._form(form or {})
        return True

    def _one_by_one(self, block: Block, name: str) -> None:
        for number, form in block.numbered():
            self._numbered(number, form, name)

    def _numbered(self, number: int, form: Form, name: str) -> None:
        if form.get("type") in ("change", "candidate"):
            what = "changes" if form["type"] == "change" else "sitemaps"
            raise UsageError(f"{name}:{number}: that is a list of {what}, and no dump: `sitemap-reader dump` makes one")
        try:
            self._form(form)
        except UsageError as exc:
            raise UsageError(f"{name}:{number}: {exc}") from None

    def _form(self, form: Form) -> None:
        batches = self._others.get(form["type"]) if "type" in form else self._urls
        if batches is not None:
            batches.add(form)
            self._end(batches)

    def _end(self, batches: Batches) -> None:
        if batches.is_full:
            batches.end()


def _parsed(line: bytes) -> Form | None:
    """The form of an outcome, a problem or a sitemap."""
    try:
        form: Form = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return form if form["type"] in _KNOWN else None


def _table(batches: Batches) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches(batches.take(), batches.schema)


def forms_of(gathered: Tables) -> Iterator[Form]:
    """The lines that these tables were made of: problems and outcomes behind the URLs."""
    for kind, table in ((None, gathered.urls), ("problem", gathered.problems), ("outcome", gathered.sitemaps)):
        for batch in table.to_batches(max_chunksize=1024):
            for row in batch.to_pylist():
                yield row_form(row) if kind is None else {"type": kind, **_other_form(row)}


def _other_form(row: Form) -> Form:
    counts = {name: {each["name"]: each["count"] for each in row[name]} for name in _COUNTS if name in row}
    form: Form = {**row, **counts}
    if form.get("site") is None:
        form.pop("site", None)
    return form


_COUNTS = ("dropped", "problems")


# ----------------------------------------------------------------------------------------------------
# Some of a Snapshot's rows: three tables and what is asked for in, the same with fewer rows out.


# How many values of a keyword are named.
_NAMED = 5


def chosen(
    tables: Tables,
    sites: list[str] | None,
    include: Pattern | Iterable[Pattern] | None,
    exclude: Pattern | Iterable[Pattern] | None,
) -> Tables:
    """The rows of these sites, and of their URLs those that are asked for; UsageError for a site that is not there."""
    import pyarrow as pa

    urls, sitemaps, problems = (_of_sites(table, sites) for table in (tables.urls, tables.sitemaps, tables.problems))
    there = tables.urls["site"].unique().to_pylist()
    if sites is not None and (missing := {*sites}.difference(there)):
        raise UsageError(f"there is no site {', '.join(sorted(missing))}; there are {', '.join(sorted(there))}")
    wanted, unwanted = make_patterns("include", include), make_patterns("exclude", exclude)
    if wanted or unwanted:
        locs = urls["loc"].to_pylist()
        places = [
            place for place, loc in enumerate(locs) if (not wanted or wanted.find_in(loc)) and not unwanted.find_in(loc)
        ]
        urls = urls.take(pa.array(places, pa.int64()))
    return Tables(urls, sitemaps, problems)


def choice_of(asked: dict[str, Any]) -> str:
    """What is asked for, in words: `include '/blog/'`; nothing where nothing is. Several values are a list or tuple.

    >>> choice_of({"site": ["a.example", "b.example"], "include": "/x/", "exclude": None})
    "site 'a.example' or 'b.example', include '/x/'"
    """
    return ", ".join(f"{name} {_in_words(value)}" for name, value in asked.items() if value is not None)


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        more = [f"{len(value) - _NAMED:,} more"] if len(value) > _NAMED else []
        return " or ".join([*map(_in_words, value[:_NAMED]), *more]) or "none"
    text = getattr(value, "pattern", value)  # of a regular expression
    return f"'{text}'" if isinstance(text, str) else "a function" if callable(text) else str(text)


def repeatable(given: Any) -> Any:
    """The value of a keyword that takes one or several, so that it can be read more than once."""
    return [*given] if isinstance(given, Iterable) and not isinstance(given, str) else given


def _of_sites(table: Any, sites: list[str] | None) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    if sites is None:
        return table
    return table.filter(compute.is_in(table["site"], pa.array(sorted(sites), pa.string())))
