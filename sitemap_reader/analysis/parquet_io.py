"""Snapshots on disk: tables to Parquet (zstd), and back. A file has the URLs alone, a folder all three tables."""

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
from .tables import TableBuilder, Tables

if TYPE_CHECKING:
    from pathlib import Path

PARQUET = ".parquet"
# The tables: file without suffix -> whose lines are its rows.
_RECORDS: dict[str, type] = {"urls": UrlRecord, "sitemaps": Outcome, "problems": Problem}
_KEY = b"sitemap_reader"
_OTHER_FILES = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".gz", ".xlsx", ".feather", ".arrow", ".zip"}


@attrs.frozen
class SnapshotMetadata:
    """From when until when it was read, None if nobody knows; `is_day`: of these the day alone is known.

    `complete`: whether all was read, None if nobody knows. `choice` says which URLs alone were taken, if not all.
    """

    at: datetime | None = None
    until: datetime | None = None
    is_day: bool = False
    complete: bool | None = None
    choice: str | None = None
    notes: tuple[str, ...] = ()


def write(gathered: Tables, circumstances: SnapshotMetadata, path: Path) -> None:
    """The URLs to a file whose name ends in .parquet, or all tables to a folder, which is made where it is missing.

    What was there under these names is replaced, once the new one is whole. OSError where it cannot be written.
    """
    if path.suffix.lower() in _OTHER_FILES:
        raise UsageError(f"{path}: a Snapshot is written to a file that ends in {PARQUET}, or to a folder")
    if path.suffix == PARQUET:
        _write_table(gathered.urls, circumstances, path)
        return
    path.mkdir(parents=True, exist_ok=True)
    for name in _RECORDS:
        _write_table(getattr(gathered, name), circumstances, path / f"{name}{PARQUET}")


def _write_table(table: Any, circumstances: SnapshotMetadata, path: Path) -> None:
    from pyarrow import parquet

    told = orjson.dumps(attrs.asdict(circumstances))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        parquet.write_table(table.replace_schema_metadata({_KEY: told}), unfinished, compression="zstd")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def circumstances_of(path: Path) -> SnapshotMetadata:
    """What a Parquet file of ours, or a folder of them, tells of its reading."""
    file = _urls_in(path) if path.is_dir() else path
    if file.suffix != PARQUET:
        return SnapshotMetadata()
    require_pyarrow(f"{file} is Parquet, which needs")
    from pyarrow import ArrowException, parquet

    try:
        told = (parquet.read_schema(file).metadata or {}).get(_KEY)
        form = {} if told is None else orjson.loads(told)
        known: dict[str, Any] = {name: form[name] for name in ("is_day", "complete", "choice") if name in form}
        for name in ("at", "until"):
            known[name] = datetime.fromisoformat(form[name]) if form.get(name) else None
        return SnapshotMetadata(**known, notes=tuple(form.get("notes", ())))
    except (ArrowException, OSError, ValueError, TypeError, AttributeError) as exc:
        raise UsageError(f"{file}: damaged Parquet: {exc}") from exc


def read(path: Path) -> Tables:
    """The tables of a dump of any kind, or of a folder; those that are not there are empty."""
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
    gathering = TableBuilder()
    if path.suffix == PARQUET and (urls := _read_table(path, "urls")) is not None:
        return attrs.evolve(gathering.gathered(), urls=urls)
    with open_file(path) as stream:
        gathering.dump(stream, str(path))
    return gathering.gathered()


def _read_table(path: Path, name: str) -> Any:
    """The columns as we have them; None where URLs are written so differently that they are better read one by one."""
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
