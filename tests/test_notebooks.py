"""The notebooks as they are stored: without outputs, and offline. That their cells run: test_notebook_runs.py."""

import json
import re
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_are_four_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["01_one_site", "02_competitors", "03_over_time", "04_changes"]


def test_the_extra_has_what_notebooks_and_their_page_import() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    installed = {re.split(r"[\[>]", name)[0] for name in [*extras["notebook"], *extras["analysis"]]}
    texts = [source(cell) for path in NOTEBOOKS for cell in cells(path)]
    texts.append((ROOT / "docs/analysis.md").read_text("utf-8"))
    imported = {name for text in texts for name in re.findall(r"^(?:import|from) ([a-z]\w+)", text, re.MULTILINE)}
    assert {"polars", "duckdb"} <= imported
    assert imported - {*sys.stdlib_module_names, "sitemap_reader"} <= installed


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_the_sites_to_replace_and_ends_with_the_facts_of_its_data(notebook: Path) -> None:
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells(notebook)), "are stored"
    first, *_, last = map(source, cells(notebook))
    assert "own" in first
    assert any(name in first for name in ("TARGET = ", "TARGETS = ", "FOLDER = ", "STATE = "))
    assert last.startswith("if ")
    assert last.count("    assert ") >= 5


# --- their data ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng packs the same text to other bytes")
def test_the_script_writes_the_market_again_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "make_market", tmp_path], check=True)
    assert files(tmp_path) == files(ROOT / "corpus" / "market")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
