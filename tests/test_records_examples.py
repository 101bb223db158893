"""The examples of docs/records.md give the expected lines."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from corpus_cases import CORPUS
from docs_runs import blocks
from tiers import needs, not_installed

import sitemap_reader as sr
from sitemap_reader import schema

pytestmark = pytest.mark.slow


def texts(language: str) -> list[str]:
    return [block.text for block in blocks("docs/records.md") if block.language == language]


DUCKDB = """import sys, duckdb
assert sys.argv[1] == "-c"
for row in duckdb.execute(sys.argv[2]).fetchall(): print(*row)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dump, the same among other lines, and programs with the names of the page."""
    folder = tmp_path_factory.mktemp("examples")
    urls = (CORPUS / "sites" / "shop.jsonl").read_bytes()
    (folder / "urls.jsonl").write_bytes(urls)
    others = (sr.SitemapRef("https://shop.example/a.xml"), sr.Outcome(), sr.Candidate("https://shop.example/", "given"))
    (folder / "mixed.jsonl").write_bytes(urls + b"".join(map(sr.json_line, others)))
    changes = [sr.Change("new", sr.UrlRecord("https://shop.example/a")), sr.Change("removed", sr.UrlRecord("/b"))]
    (folder / "changes.jsonl").write_bytes(b"".join(map(sr.json_line, changes)))
    (folder / "query.py").write_text(DUCKDB)
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for name, arguments in {"sitemap-reader": "-m sitemap_reader", "duckdb": f"{folder}/query.py"}.items():
        (bin_folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        (bin_folder / name).chmod(0o755)
    return folder


def shown(folder: Path, *command: str) -> str:
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


LINES = [json.loads(line) for line in (CORPUS / "sites" / "shop.jsonl").read_text("utf-8").splitlines()]
IMAGES = [(line["loc"], image) for line in LINES for image in line.get("images", ())]
# A program, a text that only its example has -> the output lines.
SHELL: dict[tuple[str, str], list[str]] = {
    ("jq", "mixed.jsonl"): [],
    ("duckdb", "SELECT loc FROM read_json"): [line["loc"] for line in LINES],
    ("duckdb", "UNNEST"): [f"{loc} {image['loc']}" for loc, image in IMAGES],
    ("duckdb", "changes.parquet"): ["2"],
    ("jq", "@tsv"): [
        *(f"{line['loc']}\t{line['images'][0]['title'] or ''}" for line in LINES if "images" in line),
        *(line["loc"] for line in LINES if line["lastmod_precision"] == "second"),
    ],
}


def test_every_example_is_tried() -> None:
    assert [[text for _, text in SHELL if text in block] for block in texts("sh")] == [[text] for _, text in SHELL]
    assert len(texts("python")) == len(PYTHON)


@pytest.mark.parametrize(("program", "text"), SHELL)
def test_shell_examples_run_as_they_stand(folder: Path, program: str, text: str) -> None:
    here = shutil.which("jq") if program == "jq" else find_spec("duckdb")
    if here is None:
        pytest.skip(not_installed([program]))
    (block,) = (each for each in texts("sh") if text in each)
    assert shown(folder, "sh", "-ec", block).splitlines() == SHELL[program, text]
    assert [json.loads(line) for line in (folder / "urls.jsonl").read_text("utf-8").splitlines()] == LINES


PYTHON = {"polars": f"shape: ({len(IMAGES)}, 2)", "pyarrow": f"{len(LINES)}\n"}


@pytest.mark.parametrize("library", PYTHON)
def test_python_examples_run_as_they_stand(folder: Path, library: str) -> None:
    needs(library)
    (block,) = (each for each in texts("python") if f"import {library}" in each)
    assert PYTHON[library] in shown(folder, sys.executable, "-W", "error", "-c", block)
    if library == "pyarrow":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.read_table(folder / "urls.parquet")
        assert table.schema == eval(schema("arrow"), {"pa": pa})  # noqa: S307
        assert sum(bool(news) for news in table["news"].to_pylist()) == sum("news" in line for line in LINES) > 0
