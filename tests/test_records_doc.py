"""docs/records.md and the shapes, held together: every key stands there with its types, and what it shows runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from corpus_cases import CORPUS

import sitemap_reader as sr
from sitemap_reader.jsonl import TYPES
from sitemap_reader.shapes import Field, Many, Object, Scalar, Shape, line_shape, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent.parent / "docs" / "records.md"
TEXT = PAGE.read_text("utf-8")

JSON_WORDS = {
    "text": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "moment": "date",
    "counts": "object of integer",
}
ARROW_WORDS = {
    "text": "string",
    "integer": "int64",
    "number": "double",
    "boolean": "bool",
    "moment": "timestamp[us, tz=UTC]",
    "counts": "map<string, int64>",
}


# --- what the page has to say ---


@attrs.frozen
class Row:
    """One key, as its table has it."""

    key: str
    json: str
    arrow: str


def json_words(shape: Shape) -> str:
    if isinstance(shape, Many):
        return f"list of {json_words(shape.of)}"
    if isinstance(shape, Object):
        return f"[{shape.name}](#{shape.name.lower()})"
    return JSON_WORDS[shape.kind]


def arrow_words(shape: Shape) -> str:
    if isinstance(shape, Many):
        return f"list<{arrow_words(shape.of)}>"
    return "struct" if isinstance(shape, Object) else ARROW_WORDS[shape.kind]


OR_NOT = {
    (False, False): "",
    (True, False): " or null",
    (False, True): " or absent",
    (True, True): ", null or absent",
}


def row(field: Field) -> Row:
    or_not = OR_NOT[field.may_be_null, field.may_be_absent]
    return Row(field.name, json_words(field.shape) + or_not, arrow_words(field.shape))


def objects(shape: Shape) -> Iterator[Object]:
    """The object and those inside, each before its parts."""
    if isinstance(shape, Many):
        yield from objects(shape.of)
    elif isinstance(shape, Object):
        yield shape
        for field in shape.fields:
            yield from objects(field.shape)


OBJECTS = {each.name: each for record in (sr.UrlRecord, *TYPES.values()) for each in objects(line_shape(record))}


# --- what it says ---


def tables() -> dict[str, list[tuple[str, str, str, str]]]:
    """The rows of each section that has a table of keys."""
    found = {}
    for section in re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| (.*?) \|$", section, re.MULTILINE)
        if rows:
            found[section.partition("\n")[0]] = rows
    return found


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_every_object_has_a_table_in_the_order_of_the_lines() -> None:
    assert list(tables()) == list(OBJECTS)


@pytest.mark.parametrize("name", OBJECTS)
def test_a_table_has_the_keys_and_types_of_the_shape(name: str) -> None:
    rows = tables()[name]
    assert [Row(key, json, arrow) for key, json, arrow, _ in rows] == [row(field) for field in OBJECTS[name].fields]
    assert [key for key, _, _, meaning in rows if not meaning] == []


@pytest.mark.parametrize("name", OBJECTS)
def test_every_word_that_a_key_may_be_is_named(name: str) -> None:
    shapes = [field.shape for field in OBJECTS[name].fields]
    choices = {choice for shape in shapes if isinstance(shape, Scalar) for choice in shape.choices}
    assert {choice for choice in choices if f"`{choice}`" not in TEXT} == set()


def test_arrow_types_are_those_of_the_schema() -> None:
    pa = pytest.importorskip("pyarrow")
    declared = eval(schema("arrow"), {"pa": pa})  # noqa: S307

    def check(found: Any, shape: Shape) -> None:
        if isinstance(shape, Many):
            check(found.value_type, shape.of)
        elif isinstance(shape, Scalar):
            assert str(found) == ARROW_WORDS[shape.kind]
        else:
            assert [each.name for each in found] == [field.name for field in shape.fields]
            for field in shape.fields:
                check(found.field(field.name).type, field.shape)

    check(pa.struct(list(declared)), line_shape(sr.UrlRecord))


def test_links_within_the_page_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#(.+?)\)", TEXT)) <= anchors


def test_the_examples_are_lines() -> None:
    lines = blocks("json")
    assert [type(sr.from_json(line)).__name__ for line in lines] == ["UrlRecord", "Change"]
    for line in lines:
        assert sr.json_line(sr.from_json(line)).decode() == line


# --- what it shows ---

DUCKDB = """import sys, duckdb
assert sys.argv[1] == "-c"
for row in duckdb.execute(sys.argv[2]).fetchall(): print(*row)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump, the same among other lines, and programs by the names that the page uses."""
    folder = tmp_path_factory.mktemp("examples")
    urls = (CORPUS / "sites" / "shop.jsonl").read_bytes()
    (folder / "urls.jsonl").write_bytes(urls)
    others = (sr.SitemapRef("https://shop.example/a.xml"), sr.Outcome(), sr.Candidate("https://shop.example/", "given"))
    (folder / "mixed.jsonl").write_bytes(urls + b"".join(map(sr.json_line, others)))
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
# A program, what only its example says -> the lines that come out.
SHELL: dict[tuple[str, str], list[str]] = {
    ("jq", "mixed.jsonl"): [],
    ("duckdb", "SELECT loc FROM read_json"): [line["loc"] for line in LINES],
    ("duckdb", "UNNEST"): [f"{loc} {image['loc']}" for loc, image in IMAGES],
    ("jq", "@tsv"): [
        *(f"{line['loc']}\t{line['images'][0]['title'] or ''}" for line in LINES if "images" in line),
        *(line["loc"] for line in LINES if line["lastmod_precision"] == "second"),
    ],
}


def test_every_example_is_tried() -> None:
    assert [[text for _, text in SHELL if text in block] for block in blocks("sh")] == [[text] for _, text in SHELL]
    assert len(blocks("python")) == len(PYTHON)


@pytest.mark.parametrize(("program", "text"), SHELL)
def test_shell_examples_run_as_they_stand(folder: Path, program: str, text: str) -> None:
    if program == "jq" and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    if program == "duckdb":
        pytest.importorskip("duckdb")
    (block,) = (each for each in blocks("sh") if text in each)
    assert shown(folder, "sh", "-ec", block).splitlines() == SHELL[program, text]
    assert [json.loads(line) for line in (folder / "urls.jsonl").read_text("utf-8").splitlines()] == LINES


PYTHON = {"polars": f"shape: ({len(IMAGES)}, 2)", "pyarrow": f"{len(LINES)}\n"}


@pytest.mark.parametrize("library", PYTHON)
def test_python_examples_run_as_they_stand(folder: Path, library: str) -> None:
    pytest.importorskip(library)
    (block,) = (each for each in blocks("python") if f"import {library}" in each)
    assert PYTHON[library] in shown(folder, sys.executable, "-W", "error", "-c", block)
    if library == "pyarrow":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(folder / "urls.parquet")
        assert table.schema == eval(schema("arrow"), {"pa": pytest.importorskip("pyarrow")})  # noqa: S307
        assert sum(bool(news) for news in table["news"].to_pylist()) == sum("news" in line for line in LINES) > 0
