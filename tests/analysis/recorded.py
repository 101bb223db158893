"""Snapshots: of the recorded sites of the corpus, of their dumps, and of records that a test lists."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import kit
from corpus_cases import CORPUS

import sitemap_reader as sr

SITES = CORPUS / "sites"
AT = datetime(2026, 6, 15, 12, tzinfo=UTC)
RECORDED = datetime(2026, 10, 26, 7, 15, tzinfo=UTC)
STOPPED = "stopped before the end: only what was read until then is here"
URL = b'{"loc":"https://a.example/1"}\n'


@cache
def snapshot(name: str) -> sr.Snapshot:
    return sr.snapshot(SITES / name, show_progress=False)


def dump(folder: Path, name: str) -> Path:
    """The dump of the site as a file, with its report."""
    return kit.dumped(SITES / name, folder / f"{name}.jsonl")


def snapshot_of(
    folder: Path, *records: Any, at: Any = AT, name: str = "urls", site: str | None = None, **sites: Iterable[Any]
) -> sr.Snapshot:
    """The snapshot of a file with these records; those given by keyword belong to the site of that name."""
    return sr.load(kit.dump(folder / f"{name}.jsonl", *records, **sites), at=at, site=site)


def pages(*paths: str, host: str = "a.example", **more: Any) -> list[sr.UrlRecord]:
    return [sr.UrlRecord(f"https://{host}/{path}", **more) for path in paths]


def rows(frame: Any, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame[[*columns]].itertuples(index=False, name=None))


def comparable(forms: Iterable[dict[str, Any]]) -> Counter[str]:
    """The lines without values that differ from run to run, and without `site`, which a dump of one site lacks."""
    return Counter(json.dumps({**form, "site": None, "seconds": None}, sort_keys=True) for form in forms)
