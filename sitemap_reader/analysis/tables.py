"""Arrow tables of a Snapshot: Table, which pandas, polars, DuckDB and pyarrow read; and TableBuilder, which makes them.

A Parquet file holds only the URLs, a folder all three tables; SnapshotMetadata is stored in the schema of each file.
SnapshotTables adds the column `site`, the parts of each URL, and the facts about how the sites were read; measures and
renderers take it, and Snapshot adds them as methods.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property, partial, wraps
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, overload

import attrs
import orjson

from ..frontier.plan import make_patterns
from ..model.errors import UsageError, install_hint, printable, printable_lines
from ..model.problems import Problem
from ..model.records import Outcome, UrlRecord
from ..serialize.arrow import Batches, arrow_schema, require_pyarrow
from ..serialize.dumps import Dump, DumpFile, numbered_objects, only_dump_lines, open_file, row_object
from ..serialize.jsonl import to_dict
from ..serialize.schema import SITE, SOMETIMES, all_fields, fields_of
from ..serialize.writers import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    import pandas as pd
    import polars as pl

    from ..frontier.plan import Pattern
    from ..model.records import Item
    from ..model.url_batch import UrlBatch
    from ..serialize.dumps import JsonObject
    from ..serialize.schema import Fields


_SHOWN_ROWS = 5
# Columns that only some sources have, both timestamps. `first_seen`, of `urls`: the time of the first known state of
# the site that lists the loc; null if that is the oldest, as it may have been listed before. `read_at`, of `urls` and
# `sitemaps`: when the reading of the site began, in a harvest of many.
FIRST_SEEN, READ_AT = "first_seen", "read_at"
_SOMETIMES = (*SOMETIMES[Outcome], SITE)  # keys that not every line of an outcome or problem has


class DerivedColumns:
    """Columns that are computed when they are first needed, and kept."""

    def __init__(
        self,
        compute: Callable[[Sequence[str]], Mapping[str, Any]],
        fixed: Collection[str],
        find_names: Callable[[DerivedColumns], Collection[str]] | None = None,
    ) -> None:
        """`fixed` are the names of the columns, or, with `find_names`, those that all tables have."""
        self._compute, self._fixed, self._find_names = compute, fixed, find_names
        self._kept: dict[str, Any] = {}

    @cached_property
    def names(self) -> Collection[str]:
        return self._fixed if self._find_names is None else self._find_names(self)

    def __contains__(self, name: str) -> bool:
        return name in self._fixed or name in self.names

    def take(self, names: Sequence[str]) -> dict[str, Any]:
        """Name -> column, an array of pyarrow."""
        if missing := [name for name in names if name not in self._kept]:
            self._kept |= self._compute(missing)
        return {name: self._kept[name] for name in names}


class Table:
    """An Arrow table that exports itself by the Arrow PyCapsule interface (`__arrow_c_stream__`).

    `pd.DataFrame.from_arrow(table)`, `pl.DataFrame(table)` and `pa.table(table)` accept it, and DuckDB's `FROM urls` if
    a variable of that name holds it; it does not look up attributes, as in `FROM site.urls`. Dates are in UTC, in
    microseconds.

    `table["loc"]` is a pandas.Series, `table[["loc", "lastmod"]]` a pandas.DataFrame. Iteration yields rows, as dicts.
    """

    def __init__(self, name: str, stored: Any, *derived: DerivedColumns) -> None:
        """`name` is that of sql(), `stored` a pyarrow.Table, to which the derived columns are appended on first use."""
        self.name = name
        self.stored = stored
        self._derived = derived

    if not TYPE_CHECKING:  # type checkers know the attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"a Table has no {name}: use .to_pandas()", name=name, obj=self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.stored.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict; to_pandas() is a hundred times as fast."""
        for batch in self.to_arrow().to_batches(max_chunksize=1024):
            yield from batch.to_pylist()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "stored"]

    @property
    def columns(self) -> list[str]:
        """The names of the columns; derived ones come last."""
        return [*self.stored.column_names, *chain.from_iterable(each.names for each in self._derived)]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self), len(self.columns)

    @overload
    def __getitem__(self, columns: str) -> pd.Series[Any]: ...
    @overload
    def __getitem__(self, columns: list[str]) -> pd.DataFrame: ...
    def __getitem__(self, columns: str | list[str]) -> pd.Series[Any] | pd.DataFrame:
        if isinstance(columns, str):
            return self.to_pandas(columns)[columns]
        if type(columns) is list and {*map(type, columns)} <= {str}:
            return self.to_pandas(columns)
        raise UsageError(
            f'a Table is indexed by columns, such as ["loc"] or [["loc", "lastmod"]], not by {type(columns).__name__}: '
            "rows are selected in to_pandas() or sql()"
        )

    def __contains__(self, column: object) -> bool:
        return column in self.columns

    def to_arrow(self, columns: str | Sequence[str] | None = None) -> Any:
        """A pyarrow.Table of all columns, or of some."""
        if columns is None:
            return self.to_arrow(self.columns)
        names = [columns] if isinstance(columns, str) else [*columns]
        found = {name: self.stored[name] for name in names if name in self.stored.column_names}
        for derived in self._derived:
            if not found.keys() >= {*names}:
                found |= derived.take([name for name in names if name not in found and name in derived])
        if missing := [name for name in names if name not in found]:
            raise UsageError(f"there is no column {missing[0]!r}; there are {', '.join(self.columns)}")
        import pyarrow as pa

        fields = [
            self.stored.schema.field(name) if name in self.stored.column_names else pa.field(name, found[name].type)
            for name in names
        ]
        return pa.table([found[name] for name in names], schema=pa.schema(fields))

    def to_pandas(self, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        """A pandas.DataFrame of all columns, or of some; null is None, NaN, NaT or NA.

        Columns of lists and structs keep their Arrow type (pandas.ArrowDtype): values are lists and dicts, made when
        they are needed, `.list` and `.struct` are their accessors. As pandas compares no lists, drop_duplicates() needs
        the names of other columns.
        """
        _require("pandas", "to_pandas()")
        return _to_pandas(self.to_arrow(columns))

    def to_polars(self) -> pl.DataFrame:
        """A polars.DataFrame of all columns."""
        _require("polars", "to_polars()")
        import polars

        return polars.DataFrame(self)

    def sql(self, query: str) -> pd.DataFrame:
        """The result of a query of DuckDB, in which this table has its own name: `SELECT … FROM urls`.

        Days and hours are those of UTC. UsageError, with the message of DuckDB, for a query that it refuses.
        """
        return run_query(query, {self.name: lambda: self})

    def head(self, rows: int = _SHOWN_ROWS) -> pd.DataFrame:
        """The first rows, as a pandas.DataFrame."""
        return _to_pandas(self.to_arrow().slice(0, rows))

    def __repr__(self) -> str:
        return printable(f"<Table of {len(self):,} rows: {', '.join(self.columns)}>")

    def _repr_html_(self) -> str:
        head = printable_lines(self.head()._repr_html_())
        return f"{head}\n<p>{len(self):,} rows</p>" if len(self) > _SHOWN_ROWS else head


def _to_pandas(table: Any) -> pd.DataFrame:
    """Nested columns without an object for each row: of 3,000,000 URLs they took 2 GB."""
    import pandas as pd
    from pyarrow import types

    return table.to_pandas(types_mapper=lambda kind: pd.ArrowDtype(kind) if types.is_nested(kind) else None)


def run_query(query: str, tables: Mapping[str, Callable[[], Table]]) -> pd.DataFrame:
    """The result of a query of DuckDB over these tables; one that the query does not name is not computed."""
    for package in ("duckdb", "pandas"):
        _require(package, "sql()")
    import duckdb

    if not isinstance(query, str):
        raise UsageError(f"sql() takes a query of {', '.join(tables)} as text, and not {query!r}")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        try:
            for name, table in tables.items():
                if re.search(rf"\b{name}\b", query, re.IGNORECASE):
                    connection.register(name, table().to_arrow())
            result = connection.sql(query)
            if result is None:
                raise UsageError("the query returns no rows: sql() takes a SELECT")
            return result.df()
        except duckdb.Error as exc:
            raise UsageError(f"DuckDB refuses the query; the tables are {', '.join(tables)}: {exc}") from exc


def _require(package: str, needs: str) -> None:
    if find_spec(package) is None:
        raise UsageError(f"{needs} needs {_PACKAGES[package]}: {install_hint('analysis')}")


_PACKAGES = {"duckdb": "DuckDB", "pandas": "pandas", "polars": "polars"}


def has_any(column: Any) -> Any:
    """Whether each row has a value; for a column of lists, at least one item."""
    from pyarrow import compute, types

    if types.is_list(column.type):
        return compute.greater(compute.fill_null(compute.list_value_length(column), 0), 0)
    return compute.is_valid(column)


@attrs.frozen
class Tables:
    """Three pyarrow.Tables with the keys of the JSON lines as columns, in the documented order, and `site`."""

    urls: Any
    sitemaps: Any
    problems: Any


def loaded(tables: Tables) -> Tables:
    """The tables themselves: a picklable loader for tables that are in memory."""
    return tables


class TableBuilder:
    def __init__(self) -> None:
        self._urls = Batches(all_fields())
        self._others = {"outcome": Batches(fields_of(Outcome)), "problem": Batches(fields_of(Problem))}
        self._outcomes: list[tuple[Outcome, str | None]] = []  # of a run, which adds parents to them until it ends

    def add_urls(self, urls: UrlBatch, site: str | None = None) -> None:
        self._urls.add_urls(urls, site=site)

    def add_item(self, item: Item, site: str | None = None) -> None:
        """Other items than problems and outcomes are ignored."""
        if isinstance(item, Outcome):
            self._outcomes.append((item, site))
        elif isinstance(item, Problem):
            self._add_object(to_dict(item, site=site))

    def add_dump(self, stream: BinaryIO, name: str) -> None:
        """UsageError, with the line number, for a line that is not of a dump."""
        for number, json_object in only_dump_lines(numbered_objects(stream, name), name):
            try:
                self._add_object(json_object)
            except UsageError as exc:
                raise UsageError(f"{name}:{number}: {exc}") from None

    def tables(self) -> Tables:
        import pyarrow as pa

        for outcome, site in self._outcomes:
            self._add_object(to_dict(outcome, site=site))
        self._outcomes = []
        tables = []
        for batches in (self._urls, *self._others.values()):
            batches.end()
            tables.append(pa.Table.from_batches(batches.take(), batches.schema))
        return Tables(*tables)

    def _add_object(self, json_object: JsonObject) -> None:
        batches = self._others.get(json_object["type"]) if "type" in json_object else self._urls
        if batches is not None:
            batches.add(json_object)
            if batches.is_full:
                batches.end()


def json_objects(tables: Tables) -> Iterator[JsonObject]:
    """The JSON lines that the tables were built from, as dicts: URLs, then problems and outcomes."""
    for kind, whole in ((None, tables.urls), ("problem", tables.problems), ("outcome", tables.sitemaps)):
        table = whole.select([name for name in whole.column_names if name not in (FIRST_SEEN, READ_AT)])
        for batch in table.to_batches(max_chunksize=1024):
            for row in batch.to_pylist():
                yield row_object(row) if kind is None else {"type": kind, **_report_object(row)}


def _report_object(row: JsonObject) -> JsonObject:
    # Columns with a list of (name, count), which is an object in JSON.
    listed = {name: row[name] or () for name in ("dropped", "problems") if name in row}
    counts: JsonObject = {name: {count["name"]: count["count"] for count in rows} for name, rows in listed.items()}
    return {name: value for name, value in {**row, **counts}.items() if value is not None or name not in _SOMETIMES}


def select_rows(
    tables: Tables,
    sites: list[str] | None,
    include: Pattern | Iterable[Pattern] | None,
    exclude: Pattern | Iterable[Pattern] | None,
    rows: Any = None,
) -> Tables:
    """The rows of these sites, with only the URLs that match; UsageError for a site that the tables lack.

    `rows` says of each URL whether it is kept, as an array of pyarrow.
    """
    import pyarrow as pa
    from pyarrow import compute

    urls = tables.urls if rows is None else tables.urls.filter(rows)
    sitemaps, problems = tables.sitemaps, tables.problems
    if sites is not None:
        names = pa.array(sorted(sites), pa.string())
        urls, sitemaps, problems = (
            table.filter(compute.is_in(table["site"], names)) for table in (urls, sitemaps, problems)
        )
    known = tables.urls["site"].unique().to_pylist()
    if sites is not None and (missing := {*sites}.difference(known)):
        raise UsageError(f"there is no site {', '.join(sorted(missing))}; there are {', '.join(sorted(known))}")
    included, excluded = make_patterns("include", include), make_patterns("exclude", exclude)
    if included or excluded:
        locs = urls["loc"].to_pylist()
        matches = [(not included or included.find_in(loc)) and not excluded.find_in(loc) for loc in locs]
        urls = urls.filter(pa.array(matches, pa.bool_()))
    return Tables(urls, sitemaps, problems)


def as_reusable(given: Any) -> Any:
    """An iterable as a list, so that it can be iterated again."""
    return [*given] if isinstance(given, Iterable) and not isinstance(given, str) else given


# --- what measures take ---------------------------------------------------------------------------------------

# How many of its URLs name the site of a file that names none.
_HOST_SAMPLE_ROWS = 10_000
# What identifies a page; `urls` may list it several times.
PAGE_KEY = ["site", "loc"]
_OF_ANY_LISTING = ("alternates", "images", "videos", "news")  # see SnapshotTables.pages


def site_label(name: str) -> str:
    """The name of a site in tables, from that in a state: without https and the slash of the root.

    >>> site_label("https://shop.example/")
    'shop.example'
    """
    return name.replace("https://", "").removesuffix("/")


@attrs.frozen
class SnapshotMetadata:
    """How a Snapshot was read: `at` and `until` are when reading began and ended, None if unknown.

    `is_day`: only the day of these is known. `complete`: whether everything was read, None if unknown. `choice`: the
    filters on URLs as text, None without any. `robots`: origin -> its robots.txt, None if none is known. `moves`: hosts
    of page keys of this state, each with the one to which the site moved later; None if nothing was compared.
    """

    at: datetime | None = None
    until: datetime | None = None
    is_day: bool = False
    complete: bool | None = None
    choice: str | None = None
    notes: tuple[str, ...] = ()
    robots: dict[str, str] | None = attrs.field(default=None, repr=False, hash=False)
    moves: dict[str, str] | None = attrs.field(default=None, repr=False, hash=False)


@attrs.define(slots=False, eq=False, repr=False)
class SnapshotTables(Dump):
    """What one site or several list at a moment. `urls`, `pages`, `sitemaps` and `problems` are Tables."""

    _name: str
    _load: Callable[[], Tables]
    _metadata: SnapshotMetadata
    _file: DumpFile | None = attrs.field(default=None, kw_only=True)
    _site: str | None = attrs.field(default=None, kw_only=True)
    _main_host: str | None = attrs.field(default=None, kw_only=True)  # names a site without a name; None: of most URLs
    earlier: tuple[SnapshotTables, ...] = attrs.field(default=(), kw_only=True)  # the states before, oldest first
    _sites: tuple[str, ...] | None = attrs.field(default=None, kw_only=True)  # of a part, also those without a page
    whole: SnapshotTables | None = attrs.field(default=None, kw_only=True)  # of which this is a part, by filter()
    newest: SnapshotTables | None = attrs.field(default=None, kw_only=True)  # of the pages of an archive its last state
    _numbers: Any = attrs.field(default=None, kw_only=True)  # PageNumbers of `urls` of `earlier` and of this one
    _kept: dict[Any, Any] = attrs.field(factory=dict, init=False)  # of once(), and measures

    def __dir__(self) -> list[str]:
        internal = {"is_named", "is_of_one_site", "numbered", "whole", "newest", "rows_of_pages"}  # of this package
        return [name for name in super().__dir__() if name not in internal]

    # --- metadata ---

    @property
    def name(self) -> str:
        """The targets, or the path of the file."""
        return self._name

    @cached_property
    def at(self) -> datetime:
        """The reference time for ages: when the sites were read if that is known, else when this was loaded."""
        return self._metadata.at or datetime.now(UTC)

    @property
    def read_at(self) -> datetime | None:
        """When reading began; None if unknown, as for a file of JSON lines."""
        return self._metadata.at

    @property
    def read_until(self) -> datetime | None:
        """When reading ended; None if unknown, or if only the day is known."""
        return None if self._metadata.is_day else self._metadata.until or self._metadata.at

    @property
    def read_on(self) -> str | None:
        """The day of reading as text, with the minute if it is known; None if unknown."""
        at = self._metadata.at
        date_format = "%Y-%m-%d" if self._metadata.is_day else "%Y-%m-%d %H:%M UTC"
        return None if at is None else at.strftime(date_format)

    @property
    def choice(self) -> str | None:
        """The filters that selected the URLs, as text; None if there were none."""
        return self._metadata.choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tables lack, as sentences: URLs out of scope or filtered, sitemaps not read or read in part."""
        chosen = (f"only some of the URLs: {self.choice}",) if self.choice else ()
        return tuple(map(printable, (*chosen, *self._metadata.notes)))

    @cached_property
    def complete(self) -> bool | None:
        """Whether everything was read; None if unknown, as for a dump that was written without its report."""
        if self._metadata.complete is not None:
            return self._metadata.complete
        states = self._tables.sitemaps["complete"]
        return all(states.to_pylist()) if len(states) else None

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """The values of the column `site`, in order of first appearance; of a part also those without a URL."""
        if self._sites is not None:
            return self._sites
        return tuple(self.urls.stored["site"].unique().to_pylist())

    # --- JSON lines ---

    @property
    def is_of_one_site(self) -> bool:
        """Whether all lines belong to one site; False for a file, which would have to be read to know."""
        return self._file is None and len(self.sites) == 1

    def numbered(self) -> Iterator[tuple[int, JsonObject]]:
        if self._file is not None:
            yield from self._file.numbered()
        else:
            yield from enumerate(json_objects(self._tables), 1)

    # --- tables ---

    @cached_property
    def _tables(self) -> Tables:
        require_pyarrow("a Snapshot's tables need", "analysis")
        return self._load()

    @property
    def is_named(self) -> bool:
        """Whether the site was named by the caller or in the file, rather than after its most frequent host."""
        return self._site is not None or not self._tables.urls["site"].null_count

    @cached_property
    def _default_site(self) -> str | None:
        """The name for rows without a site: the most frequent host among the first URLs."""
        urls = self._tables.urls
        if self._site is not None or not len(urls) or not urls["site"].null_count:
            return self._site
        return self._main_host or main_host(urls) or self.name

    @cached_property
    def urls(self) -> Table:
        """One row per listing: the fields of UrlRecord, `site`, and the parts of the URL.

        The parts come last and are computed on first use: `page_key host domain path depth dir_1 … dir_n slug
        extension query_keys`. The last segment of the path is the page, and gives the `slug`; those before it are
        folders.
        """
        urls = with_site(self._tables.urls, self._default_site)
        return Table("urls", urls, self._url_parts(urls))

    @cached_property
    def pages(self) -> Table:
        """One row per page, with the columns of `urls`; see Snapshot.pages."""
        pages = None if self._lists_once else _pages(self.urls.stored)
        return self.urls if pages is None else Table("pages", pages, self._url_parts(pages))

    @property
    def _lists_once(self) -> bool:
        """Whether it is known that no page is listed twice: in an archive, and in a part of such a Snapshot."""
        return self.newest is not None or (self.whole is not None and self.whole.pages.stored is self.whole.urls.stored)

    def rows_of_pages(self, pages: Any) -> Any:
        """Of each row of `urls` whether it lists one of these pages, a mask of `pages`, as an array of pyarrow."""
        import pyarrow as pa
        from pyarrow import compute

        listed, mask = self.pages.stored, pa.array(pages)
        if listed is self.urls.stored:
            return mask
        return compute.is_in(page_ids(self.urls.stored), page_ids(listed.select(PAGE_KEY).filter(mask)))

    def _url_parts(self, table: Any) -> DerivedColumns:
        from .url_parts import URL_PARTS, url_part_columns

        compute = partial(url_part_columns, table["loc"], moves=self._metadata.moves)
        return DerivedColumns(compute, URL_PARTS, _url_part_names)

    @cached_property
    def sitemaps(self) -> Table:
        """One row per fetched document: the fields of Outcome."""
        return Table("sitemaps", with_site(self._tables.sitemaps, self._default_site))

    @cached_property
    def problems(self) -> Table:
        """One row per problem: the fields of Problem."""
        return Table("problems", with_site(self._tables.problems, self._default_site))

    def sql(self, query: str) -> pd.DataFrame:
        """The result of a query of DuckDB over `urls`, `pages`, `sitemaps` and `problems`, as a pandas.DataFrame.

        Days and hours are those of UTC. UsageError, with the message of DuckDB, for a query that it refuses.
        """
        return run_query(query, {name: partial(getattr, self, name) for name in self._table_names})

    _table_names: ClassVar[tuple[str, ...]] = ("urls", "pages", "sitemaps", "problems")


def _url_part_names(parts: DerivedColumns) -> list[str]:
    from .url_parts import url_part_names

    return url_part_names(**parts.take(["depth"]))


def main_host(urls: Any) -> str | None:
    """The most frequent host of the URLs without a site, of a sample of a pyarrow.Table; None if there is none."""
    from .url_parts import url_part_columns

    rows = urls["site"].is_null().to_numpy().nonzero()[0]
    sample = rows[:: len(rows) // _HOST_SAMPLE_ROWS + 1]
    hosts = Counter(url_part_columns(urls["loc"].take(sample), ["host"])["host"].drop_null().to_pylist())
    return hosts.most_common(1)[0][0] if hosts else None


Result = TypeVar("Result")


def keep(snapshot: SnapshotTables, key: Any, compute: Callable[[], Result]) -> Result:
    """What is computed once of a Snapshot."""
    if key not in snapshot._kept:
        snapshot._kept[key] = compute()
    result: Result = snapshot._kept[key]
    return result


def once(compute: Callable[[SnapshotTables], Result]) -> Callable[[SnapshotTables], Result]:
    """A function of a Snapshot whose result the Snapshot keeps, so that measures share it."""

    @wraps(compute)
    def kept(snapshot: SnapshotTables) -> Result:
        name = f"{compute.__module__}.{compute.__qualname__}"
        return keep(snapshot, name, partial(compute, snapshot))

    return kept


@once
def rows_in_whole(snapshot: SnapshotTables) -> Any:
    """For each page of a part of a Snapshot its row in the pages of the whole one, as a numpy array.

    What a page is, such as the language of its path, shows in the pages beside it, which a filter may leave out.
    """
    from pyarrow import compute

    assert snapshot.whole is not None  # noqa: S101 - for the type checker
    mine, theirs = (page_ids(each.pages.stored) for each in (snapshot, snapshot.whole))
    return compute.index_in(mine, theirs).to_numpy()


def page_ids(table: Any) -> Any:
    """`site loc` of each row as a pyarrow.Array of one text."""
    import pyarrow as pa
    from pyarrow import compute

    kind = pa.large_string()  # all together may exceed 2 GiB
    sites, locs = (table[name].cast(kind) for name in PAGE_KEY)
    return compute.binary_join_element_wise(compute.fill_null(sites, ""), locs, pa.scalar(" ", kind)).combine_chunks()


def _pages(urls: Any) -> Any:
    """None if no page is listed twice."""
    import pandas as pd
    from pyarrow import compute

    if compute.count_distinct(urls["loc"]).as_py() == len(urls):  # of most sites: a third of the time of pandas
        return None
    listings = urls.select([*PAGE_KEY, "lastmod"]).to_pandas()
    if not listings.duplicated(PAGE_KEY).any():
        return None
    order = listings["lastmod"].sort_values(ascending=False, kind="stable", na_position="last").index
    numbers = listings.groupby(PAGE_KEY, sort=False, dropna=False).ngroup().loc[order]  # row -> number of the page
    newest = numbers.drop_duplicates()
    rows = pd.Series(newest.index, index=newest).sort_values()  # number of the page -> row
    pages = urls.take(rows.to_numpy())
    for at, name in enumerate(urls.column_names):
        if name in _OF_ANY_LISTING:
            stated = numbers[has_any(urls[name]).to_numpy()[numbers.index]].drop_duplicates()
            of_column = pd.Series(stated.index, index=stated).reindex(rows.index).fillna(rows).astype("int64")
            pages = pages.set_column(at, urls.schema.field(at), urls[name].take(of_column.to_numpy()))
    return pages


def with_site(table: Any, site: str | None) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    number = table.schema.get_field_index("site")
    filled = compute.fill_null(table["site"], pa.scalar(site, pa.string())) if site is not None else table["site"]
    return table.set_column(number, table.schema.field("site"), filled)


# --- Parquet ---

PARQUET = ".parquet"
# Name of a table, and of its file without suffix -> the class of its rows.
_RECORDS: dict[str, type] = {"urls": UrlRecord, "sitemaps": Outcome, "problems": Problem}
_METADATA_KEY = b"sitemap_reader"
_OTHER_FILES = {".json", ".gz", ".xlsx", ".feather", ".arrow", ".zip"}
_OTHER_FILES |= {suffix for format in FORMATS.values() for suffix in format.suffixes} - {PARQUET}


def write_parquet(tables: Tables, metadata: SnapshotMetadata, path: Path) -> None:
    """Writes the URLs to a file whose name ends in .parquet, or all tables to a folder, which is created if missing.

    Existing files are replaced once the new one is complete. OSError if it cannot be written.
    """
    if path.suffix.lower() in _OTHER_FILES:
        raise UsageError(f"{path}: a Snapshot is written to a file that ends in {PARQUET}, or to a folder")
    if path.suffix == PARQUET:
        _write_table(tables.urls, metadata, path)
        return
    path.mkdir(parents=True, exist_ok=True)
    for name in _RECORDS:
        _write_table(getattr(tables, name), metadata, path / f"{name}{PARQUET}")


def _write_table(table: Any, metadata: SnapshotMetadata, path: Path) -> None:
    from pyarrow import parquet

    stored = orjson.dumps(attrs.asdict(metadata))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        parquet.write_table(table.replace_schema_metadata({_METADATA_KEY: stored}), unfinished, compression="zstd")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_metadata(path: Path) -> SnapshotMetadata:
    """The metadata that write_parquet() wrote to a file, or a folder of them; the default for other files."""
    file = _urls_in(path) if path.is_dir() else path
    if file.suffix != PARQUET:
        return SnapshotMetadata()
    require_pyarrow(f"{file} is Parquet, which needs")
    from pyarrow import ArrowException, parquet

    try:
        stored = (parquet.read_schema(file).metadata or {}).get(_METADATA_KEY)
        values = {} if stored is None else orjson.loads(stored)
        fields: dict[str, Any] = {name: values[name] for name in ("is_day", "complete", "choice") if name in values}
        robots = values.get("robots")
        fields["robots"] = {**robots} if isinstance(robots, dict) and all(map(_is_text, robots.values())) else None
        for name in ("at", "until"):
            fields[name] = datetime.fromisoformat(values[name]) if values.get(name) else None
        return SnapshotMetadata(**fields, notes=tuple(values.get("notes", ())))
    except (ArrowException, OSError, ValueError, TypeError, AttributeError) as exc:
        raise UsageError(f"{file}: damaged Parquet: {exc}") from exc


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def read_tables(path: Path) -> Tables:
    """The tables of a dump in any format, or of a folder; missing tables are empty."""
    if not path.is_dir():
        return _read_file(path)
    urls = _read_file(_urls_in(path)).urls
    others = (read_table(path / f"{name}{PARQUET}", name) for name in ("sitemaps", "problems"))
    return Tables(urls, *others)


def _urls_in(folder: Path) -> Path:
    return folder / f"urls{PARQUET}"


def _read_file(path: Path) -> Tables:
    builder = TableBuilder()
    if path.suffix == PARQUET and (urls := read_table(path, "urls")) is not None:
        return attrs.evolve(builder.tables(), urls=urls)
    with open_file(path) as stream:
        builder.add_dump(stream, str(path))
    return builder.tables()


def read_table(path: Path, name: str, fields: Fields | None = None) -> Any:
    """The table with our columns, or `fields`; None for URLs in another layout, which are read row by row instead."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema(fields or fields_of(_RECORDS[name]))
    if not path.is_file():
        return schema.empty_table()
    try:
        table = parquet.read_table(path, use_threads=True)
        is_odd = name == "urls" and ("loc" not in table.column_names or table["loc"].null_count)
        if is_odd or "type" in table.column_names:
            return None
        for optional in (FIRST_SEEN, READ_AT):
            if optional in table.column_names and optional not in schema.names:
                schema = schema.append(pa.field(optional, pa.timestamp("us", "UTC")))
        missing = pa.nulls(table.num_rows)
        columns = [table[field.name] if field.name in table.column_names else missing for field in schema]
        return pa.table(columns, names=schema.names).cast(schema)
    except (pa.ArrowException, OSError, ValueError) as exc:
        if name == "urls":
            return None
        raise UsageError(f"{path}: damaged Parquet: {exc}") from exc


# --- advertools: the columns of its sitemap_to_df() ---

_ALWAYS = ("loc", "lastmod", "changefreq", "priority")
# Columns of lists, of which the last item is kept -> prefix for its fields.
_LISTS = {"images": "image_", "videos": "video_"}
_NEWS = {
    "name": "publication_name",
    "language": "publication_language",
    "title": "news_title",
    "publication_date": "news_publication_date",
    "keywords": "news_keywords",
    "genres": "news_genres",
    "stock_tickers": "news_stock_tickers",
    "access": "news_access",
    "geo_targeting": "news_geo_locations",
}


def advertools_frame(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per listing: the columns with at least one value, besides those that are always present.

    advertools names each column after the tag, prefixed with its parent's, and keeps only the last of several images or
    videos of a page. The values are not advertools': lastmod is always a UTC datetime column.
    """
    import pandas as pd

    stored = snapshot.urls.stored
    frame = stored.select([*_ALWAYS]).to_pandas()
    for name, prefix in _LISTS.items():
        for field, column in _last_items(stored[name]).items():
            frame[f"{prefix}{field}"] = column
    for field, column in _fields(stored["news"]).items():
        if field in _NEWS:
            frame[_NEWS[field]] = column
    frame = frame.loc[:, [name for name in frame if name in _ALWAYS or frame[name].notna().any()]]
    frame["sitemap"] = stored["sitemap"].to_pandas()
    sitemaps = snapshot.sitemaps.to_pandas(["url", "etag", "last_modified", "bytes_decoded"]).drop_duplicates("url")
    sitemaps["sitemap_last_modified"] = pd.to_datetime(sitemaps.pop("last_modified"), utc=True, errors="coerce")
    sitemaps["sitemap_size_mb"] = sitemaps.pop("bytes_decoded") / 1024 / 1024
    frame = frame.merge(sitemaps.rename(columns={"url": "sitemap"}), how="left", on="sitemap")
    frame["download_date"] = pd.Timestamp(snapshot.at)
    return frame


def _last_items(column: Any) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import compute

    lists = column.combine_chunks()
    lengths = compute.fill_null(compute.list_value_length(lists), 0)
    last = compute.if_else(compute.greater(lengths, 0), compute.subtract(lists.offsets[1:], 1), None)
    return _fields(pa.chunked_array([lists.values.take(last)]))


def _fields(column: Any) -> dict[str, Any]:
    """Field -> pandas column for a column of structs; lists of strings are joined with ", "."""
    from pyarrow import compute, types

    columns = {}
    for field in column.type:
        values = compute.struct_field(column, field.name)
        if types.is_list(field.type) and types.is_string(field.type.value_type):
            values = compute.binary_join(values, ", ")
            values = compute.if_else(compute.equal(values, ""), None, values)
        if types.is_struct(field.type):
            values = compute.struct_field(values, "value") if field.type.get_field_index("value") >= 0 else None
        if values is not None and not types.is_list(values.type):
            columns[field.name] = values.to_pandas()
    return columns
