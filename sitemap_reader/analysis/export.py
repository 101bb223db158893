"""Snapshots in other forms: Tables to Parquet (zstd) and back, dumps to Tables, and the frame of advertools.

A Parquet file holds only the URLs, a folder all three tables; SnapshotMetadata is stored in the schema of each file.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..model.errors import UsageError
from ..model.problems import Problem
from ..model.records import Outcome, UrlRecord
from ..serialize.arrow import arrow_schema, require_pyarrow
from ..serialize.dumps import open_file
from ..serialize.projection import fields_of
from ..serialize.writers import FORMATS
from .tables import FIRST_SEEN, READ_AT, SnapshotMetadata, TableBuilder, Tables

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from ..serialize.projection import Fields
    from .tables import SnapshotTables

PARQUET = ".parquet"
# Name of a table, and of its file without suffix -> the class of its rows.
_RECORDS: dict[str, type] = {"urls": UrlRecord, "sitemaps": Outcome, "problems": Problem}
_METADATA_KEY = b"sitemap_reader"
_OTHER_FILES = {".json", ".gz", ".xlsx", ".feather", ".arrow", ".zip"}
_OTHER_FILES |= {suffix for format in FORMATS.values() for suffix in format.suffixes} - {PARQUET}


def write(tables: Tables, metadata: SnapshotMetadata, path: Path) -> None:
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
    """The metadata in a Parquet file that write() wrote, or in a folder of them; the default for other files."""
    file = _urls_in(path) if path.is_dir() else path
    if file.suffix != PARQUET:
        return SnapshotMetadata()
    require_pyarrow(f"{file} is Parquet, which needs")
    from pyarrow import ArrowException, parquet

    try:
        stored = (parquet.read_schema(file).metadata or {}).get(_METADATA_KEY)
        values = {} if stored is None else orjson.loads(stored)
        fields: dict[str, Any] = {name: values[name] for name in ("is_day", "complete", "choice") if name in values}
        for name in ("at", "until"):
            fields[name] = datetime.fromisoformat(values[name]) if values.get(name) else None
        return SnapshotMetadata(**fields, notes=tuple(values.get("notes", ())))
    except (ArrowException, OSError, ValueError, TypeError, AttributeError) as exc:
        raise UsageError(f"{file}: damaged Parquet: {exc}") from exc


def read(path: Path) -> Tables:
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
_SITEMAP_COLUMNS = ("etag", "sitemap_last_modified", "sitemap_size_mb")


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
    frame = frame.merge(_sitemap_columns(snapshot), how="left", on="sitemap")
    frame["download_date"] = pd.Timestamp(snapshot.at)
    return frame


def _last_items(column: Any) -> dict[str, Any]:
    """Field -> pandas column for the last item of each list."""
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


def _sitemap_columns(snapshot: SnapshotTables) -> pd.DataFrame:
    import pandas as pd

    sitemaps = snapshot.sitemaps.to_pandas(["url", "etag", "last_modified", "bytes_decoded"]).drop_duplicates("url")
    sitemaps["sitemap_last_modified"] = pd.to_datetime(sitemaps.pop("last_modified"), utc=True, errors="coerce")
    sitemaps["sitemap_size_mb"] = sitemaps.pop("bytes_decoded") / 1024 / 1024
    return sitemaps.rename(columns={"url": "sitemap"})[["sitemap", *_SITEMAP_COLUMNS]]
