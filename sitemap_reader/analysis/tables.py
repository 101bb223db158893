"""A table of a Snapshot: columns of Arrow in; the same out to pandas, polars, DuckDB, pyarrow, and a notebook.

Columns that are derived are computed when somebody first asks for one. Never changes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
