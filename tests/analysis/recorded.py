"""The recorded sites of the corpus, as Snapshots and as dumps of the command line."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from corpus_cases import CORPUS

import sitemap_reader as sr
from sitemap_reader.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SITES = CORPUS / "sites"
RECORDED = datetime(2026, 10, 26, 7, 15, tzinfo=UTC)
STOPPED = "stopped before the end: only what was read until then is here"
URL = b'{"loc":"https://a.example/1"}\n'


@cache
def snapshot(name: str) -> sr.Snapshot:
    return sr.snapshot(SITES / name, show_progress=False)


def dump(folder: Path, name: str, *options: str) -> Path:
    """The dump of the site as a file, with its report."""
    file = folder / f"{name}.jsonl"
    result = CliRunner().invoke(main, ["dump", str(SITES / name), "--report", "-", *options])
    file.write_text(result.stdout, encoding="utf-8")
    return file


def comparable(forms: Iterable[dict[str, Any]]) -> Counter[str]:
    """The lines without values that differ from run to run, and without `site`, which a dump of one site lacks."""
    return Counter(json.dumps({**form, "site": None, "seconds": None}, sort_keys=True) for form in forms)
