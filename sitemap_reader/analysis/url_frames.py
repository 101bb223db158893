"""Tables of URLs from elsewhere, as the table `urls` of a Snapshot: DataFrames, Arrow tables, CSV, lists of URLs.

A column of URLs is needed: it is found by its name, or else by its values. Columns with the names of ours are converted
to our types, as our own CSV and DataFrames have them; the others are left out, and named in a note.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import attrs
import orjson
import pyarrow as pa
from pyarrow import compute, types
from pyarrow import csv as arrow_csv

from ..client.summary import count_of
from ..compare.url_files import table_columns, table_header
from ..model.errors import UsageError
from ..model.records import ChangeFreq, Precision
from ..parser.normalise.dates import TIMED, parse_date
from ..parser.normalise.urls import clean_url
from ..serialize.arrow import arrow_schema
from ..serialize.byte_streams import MAGIC, compression_of, damage, decompressed
from ..serialize.dumps import open_file
from ..serialize.schema import all_fields
from .notes import name_first
from .tables import FIRST_SEEN, READ_AT, TableBuilder, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_DATES = ("lastmod", FIRST_SEEN, READ_AT)
_WORDS = {"changefreq": get_args(ChangeFreq), "lastmod_precision": get_args(Precision)}
_TIME = pa.timestamp("us", "UTC")
# Columns that the tables of a Snapshot have besides: they are computed again.
_COMPUTED = re.compile(r"page_key|host|domain|path|depth|dir_[0-9]+|slug|extension|query_keys|section|language")
_SAMPLE_ROWS = 100
_TSV_ESCAPES = {r"\t": "\t", r"\n": "\n", r"\r": "\r", r"\\": "\\"}  # as in serialize/writers.py


def frame_tables(frame: Any) -> tuple[Tables, list[str]]:
    """The tables of what has `__arrow_c_stream__`, and notes; UsageError, with the column, where that is impossible."""
    if hasattr(frame, "iloc"):  # pandas: a column that is not needed may hold what Arrow has no type for
        frame = frame.to_frame() if frame.ndim == 1 else frame
        frame = frame.reset_index() if any(frame.index.names) else frame
        names = [str(name) for name in frame.columns]
        places = _places(names, (frame.iloc[:_SAMPLE_ROWS, place].tolist() for place in range(len(names))))
        frame = frame.iloc[:, [*places.values()]].set_axis([*places], axis=1)
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as exc:
        what = f"this {type(frame).__name__} is no table that Arrow can hold: {exc}"
        raise UsageError(what, remedy="give a table with a column of URLs") from exc
    if not hasattr(frame, "iloc"):
        names = table.column_names
        places = _places(names, (column.slice(0, _SAMPLE_ROWS).to_pylist() for column in table.columns))
        table = pa.table([table.column(place) for place in places.values()], names=[*places])
    urls, notes = _urls(table, {key: names[place] for key, place in places.items()})
    used = {*places.values()}
    others = [name for place, name in enumerate(names) if place not in used and not _COMPUTED.fullmatch(name)]
    if others:
        notes.append(f"{count_of(len(others), 'column')} left out: {name_first(others, ', ')}")
    return attrs.evolve(TableBuilder().tables(), urls=urls), notes


def csv_tables(path: Path, head: bytes) -> tuple[Tables, list[str]]:
    """The tables of a CSV or TSV file, also compressed; `head` are its first bytes. Notes count wrong rows."""
    wrong: list[Any] = []

    def skip(row: Any) -> str:
        wrong.append(row)
        return "skip"

    header = table_header(head)
    if header is None:
        raise UsageError(f"{path} has no column of URLs with a name", remedy="name it loc, in the first line")
    numbers = [str(number) for number, _ in enumerate(header.names)]  # names may be there twice
    with open_file(path) as file:
        start = file.read(len(max(MAGIC.values(), key=len)))
        file.seek(0)
        compression = compression_of(start)
        try:
            table = arrow_csv.read_csv(
                file if compression is None else decompressed(file, compression, str(path)),
                arrow_csv.ReadOptions(
                    skip_rows=header.line, column_names=numbers, encoding=header.encoding.removesuffix("-sig")
                ),
                arrow_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True, invalid_row_handler=skip),
                arrow_csv.ConvertOptions(column_types=dict.fromkeys(numbers, pa.string()), null_values=[""]),
            )
        except (pa.ArrowException, OSError, ValueError, *damage()) as exc:
            raise UsageError(f"{path} cannot be read as a table: {exc}", remedy="save it as CSV in UTF-8") from exc
    table = table.rename_columns([*header.names])
    if header.delimiter == "\t":
        table = pa.table([_unescape(column) for column in table.columns], names=table.column_names)
    try:
        tables, notes = frame_tables(table)
    except UsageError as exc:
        raise UsageError(f"{path}: {exc}") from exc
    if wrong:
        notes.append(f"{count_of(len(wrong), 'row')} left out, with other numbers of cells than the header")
    notes += [] if table.num_rows else ["there is no row"]
    return tables, [f"{path}: {note}" for note in notes]


def _unescape(column: Any) -> Any:
    if not types.is_string(column.type) or not compute.any(compute.match_substring(column, "\\")).as_py():
        return column
    texts = column.to_pylist()
    return pa.array([text and re.sub(r"\\[tnr\\]", lambda found: _TSV_ESCAPES[found[0]], text) for text in texts])


def _places(names: Sequence[str], values: Iterable[Sequence[Any]]) -> dict[str, int]:
    """Key of a URL's line -> the place of its column, with that of the URLs first."""
    places = table_columns(names, (*arrow_schema(all_fields()).names, FIRST_SEEN, READ_AT), values)
    if "loc" not in places:
        shown = ", ".join(names) or "no column"
        raise UsageError(f"there is no column of URLs in this table; it has {shown}", remedy="name it loc")
    return places


def _urls(table: Any, names: dict[str, str]) -> tuple[Any, list[str]]:
    """The table `urls` of a table with our columns, and notes; `names` are those that the columns had."""
    schema, notes = arrow_schema(all_fields()), list[str]()
    for name in (FIRST_SEEN, READ_AT):
        schema = schema.append(pa.field(name, _TIME)) if name in table.column_names else schema
    locs = _text(table["loc"], names["loc"]).to_pylist()
    cleaned = [clean_url(loc.strip()).url if loc else None for loc in locs]
    if (without := cleaned.count(None)) == len(locs) and locs:
        first = next(filter(None, locs), "")
        what = f"there is no URL in the column {names['loc']!r}: the first value is {first!r:.80}"
        raise UsageError(what, remedy="give absolute URLs, with https://")
    columns = {"loc": pa.array(cleaned, pa.string())}
    stated = {name for name in table.column_names if table[name].null_count < len(locs)} - {"loc"}  # null has any type
    for field in [field for field in schema if field.name in stated]:
        column, name, wrong = table[field.name], names[field.name], list[object]()
        if field.name in _DATES:
            columns[field.name], precisions, wrong = _dates(column, name)
            columns |= {"lastmod_precision": precisions} if field.name == "lastmod" else {}
        else:
            columns[field.name], wrong = _valid(_convert(column, field.type, name), field.name)
        if wrong:
            found = name_first([*dict.fromkeys(map(repr, wrong))], ", ")
            notes.append(f"{count_of(len(wrong), 'value')} left out of {name!r}: {found}")
    urls = pa.table([columns.get(field.name, pa.nulls(len(locs), field.type)) for field in schema], schema=schema)
    if without:
        urls = urls.filter(urls["loc"].is_valid())
        notes.append(f"{count_of(without, 'row')} left out, without a URL in {names['loc']!r}")
    return urls, notes


def _text(column: Any, name: str) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowException as exc:
        raise UsageError(f"the column {name!r} has no text, but {column.type}", remedy="name the URLs loc") from exc


def _convert(column: Any, kind: Any, name: str) -> Any:
    """UsageError for a value that our column cannot hold."""
    is_text = types.is_string(column.type) or types.is_large_string(column.type) or types.is_string_view(column.type)
    try:
        if is_text and types.is_nested(kind):  # as in our CSV
            return pa.array([orjson.loads(text) if text else None for text in column.to_pylist()], kind)
        if is_text:
            column = compute.if_else(compute.equal(column.cast(pa.string()), ""), None, column.cast(pa.string()))
        return column.cast(kind)
    except (pa.ArrowException, ValueError, TypeError) as exc:
        remedy = "drop or rename the column, or convert its values"
        raise UsageError(f"the column {name!r} cannot be read as {kind}: {exc}", remedy=remedy) from exc


def _valid(column: Any, key: str) -> tuple[Any, list[object]]:
    """The values that a sitemap may state, and the others; a word may be written in any case."""
    if key in _WORDS:
        column = compute.utf8_lower(column)
        is_valid = compute.is_in(column, pa.array(_WORDS[key]))
    elif key == "priority":
        is_valid = compute.and_(compute.greater_equal(column, 0), compute.less_equal(column, 1))
    else:
        return column, []
    wrong = column.filter(compute.invert(is_valid)).drop_null()
    return compute.if_else(is_valid, column, None), wrong.to_pylist()


def _dates(column: Any, name: str) -> tuple[Any, Any, list[object]]:
    """The moments, how precise each is, and texts that are no dates. Where none has a time, each is a day."""
    wrong: list[object] = []
    if types.is_timestamp(column.type) or types.is_date(column.type):
        moments = column.cast(_TIME, safe=False)  # a time without a zone is taken as one of UTC
        precisions = compute.if_else(moments.is_valid(), "second", None)
    else:
        texts = _text(column, name).to_pylist()
        dates = [parse_date(text.strip()) if text else None for text in texts]
        wrong = [text for text, date in zip(texts, dates, strict=True) if text and date is None]
        moments = pa.chunked_array([pa.array([date and date.moment for date in dates], _TIME)])
        precisions = pa.array([date and date.precision for date in dates], pa.string())
    if compute.all(compute.equal(compute.floor_temporal(moments, unit="day"), moments)).as_py():
        is_timed = compute.is_in(precisions, pa.array([*TIMED]))
        precisions = compute.if_else(is_timed, "day", precisions)
    return moments, precisions, wrong
