"""docs/records.md and the schemas agree: every key is documented with its types.

Its examples are run by test_records_examples.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader.serialize.jsonl import TYPES
from sitemap_reader.serialize.schema import Field, Many, Object, Scalar, Shape, line_shape, schema

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


# --- expected tables ---


@attrs.frozen
class Row:
    """A row of a table of keys."""

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
    """The object and its nested objects, parents first."""
    if isinstance(shape, Many):
        yield from objects(shape.of)
    elif isinstance(shape, Object):
        yield shape
        for field in shape.fields:
            yield from objects(field.shape)


OBJECTS = {each.name: each for record in (sr.UrlRecord, *TYPES.values()) for each in objects(line_shape(record))}


# --- the page ---


def tables() -> dict[str, list[tuple[str, str, str, str]]]:
    """The rows of each section that has a table of keys."""
    found = {}
    for section in re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| (.*?) \|$", section, re.MULTILINE)
        if rows:
            found[section.partition("\n")[0]] = rows
    return found


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


def test_the_examples_are_lines() -> None:
    lines = re.findall(r"^```json\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert [type(sr.from_json(line)).__name__ for line in lines] == ["UrlRecord", "Change"]
    for line in lines:
        assert sr.json_line(sr.from_json(line)).decode() == line
