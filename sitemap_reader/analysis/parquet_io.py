"""Snapshots on disk: Tables to Parquet (zstd), and Parquet or a dump to Tables.

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
from .tables import SnapshotMetadata, TableBuilder, Tables

if TYPE_CHECKING:
    from pathlib import Path

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
    others = (_read_table(path / f"{name}{PARQUET}", name) for name in ("sitemaps", "problems"))
    return Tables(urls, *others)


def _urls_in(folder: Path) -> Path:
    urls = folder / f"urls{PARQUET}"
    if urls.is_file():
        return urls
    if (folder / "site.toml").is_file():
        raise UsageError(f"{folder} is a recording of a site: sr.snapshot({str(folder)!r}) reads it")
    raise UsageError(f"there is no {urls.name} in {folder}: a Snapshot's to_parquet() writes such a folder")


def _read_file(path: Path) -> Tables:
    builder = TableBuilder()
    if path.suffix == PARQUET and (urls := _read_table(path, "urls")) is not None:
        return attrs.evolve(builder.tables(), urls=urls)
    with open_file(path) as stream:
        builder.add_dump(stream, str(path))
    return builder.tables()


def _read_table(path: Path, name: str) -> Any:
    """The table with the columns of our schema; None for URLs in another layout, which are read row by row instead."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema(fields_of(_RECORDS[name]))
    if not path.is_file():
        return schema.empty_table()
    try:
        table = parquet.read_table(path, use_threads=True)
        if "type" in table.column_names or ("loc" not in table.column_names and name == "urls"):
            return None
        missing = pa.nulls(table.num_rows)
        if name == "urls" and table["loc"].null_count:
            return None
        columns = [table[field.name] if field.name in table.column_names else missing for field in schema]
        return pa.table(columns, names=schema.names).cast(schema)
    except (pa.ArrowException, OSError, ValueError) as exc:
        if name == "urls":
            return None
        raise UsageError(f"{path}: damaged Parquet: {exc}") from exc
