"""`schema` prints the result of sitemap_reader.serialize.schema(), without importing a network library."""

from pathlib import Path
from typing import get_args

import pytest
from cli_runs import refusal
from kit import run

from sitemap_reader import schema
from sitemap_reader.cli.main import main
from sitemap_reader.serialize import Language


@pytest.mark.parametrize("language", get_args(Language))
def test_schema_is_printed_to_stdout_and_nothing_else(language: Language) -> None:
    result = run("schema", language)
    assert (result.exit_code, result.stdout, result.stderr) == (0, schema(language) + "\n", "")


def test_every_language_can_be_chosen() -> None:
    (argument,) = (param for param in main.commands["schema"].params if param.name == "language")
    assert tuple(argument.type.choices) == get_args(Language)


def test_schema_is_written_to_a_file_in_place_of_what_it_held(tmp_path: Path) -> None:
    file = tmp_path / "line.schema.json"
    file.write_text("x" * 100_000)
    result = run("schema", "json", "-o", file)
    assert (result.exit_code, result.stdout, file.read_text()) == (0, "", schema("json") + "\n")


@pytest.mark.parametrize("arguments", [["sql"], []])
def test_an_unknown_language_is_a_usage_error_that_names_those_there_are(arguments: list[str]) -> None:
    line = refusal("schema", *arguments)
    assert line.startswith("error: ")
    assert all(language in line for language in get_args(Language))
