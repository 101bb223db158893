"""docs/records.md and the schemas agree: every key is documented with its types.

Its examples are run by test_records_examples.py.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader import schema
from sitemap_reader.model import is_object, item_of, without_null
from sitemap_reader.serialize import COUNTS, TYPES, keys_of, line_type, mapped

PAGE = Path(__file__).parent.parent / "docs" / "records.md"
TEXT = PAGE.read_text("utf-8")

JSON_WORDS = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    datetime: "date",
    COUNTS: "object of integer",
}
ARROW_WORDS = {
    str: "string",
    int: "int64",
    float: "double",
    bool: "bool",
    datetime: "timestamp[us, tz=UTC]",
    COUNTS: "map<string, int64>",
}


# --- expected tables ---


@attrs.frozen
class Row:
    """A row of a table of keys."""

    key: str
    json: str
    arrow: str


OR_NOT = {
    (False, False): "",
    (True, False): " or null",
    (False, True): " or absent",
    (True, True): ", null or absent",
}


def row(name: str, hint: Any, optional: frozenset[str]) -> Row:
    or_not = OR_NOT[without_null(hint) is not hint, name in optional]
    json = mapped(hint, JSON_WORDS, "list of {}".format, lambda kind, _: f"[{kind}](#{kind.lower()})")
    return Row(name, json + or_not, mapped(hint, ARROW_WORDS, "list<{}>".format, lambda *_: "struct"))


def objects(hint: Any) -> Iterator[Any]:
    """The object and its nested objects, parents first."""
    hint = item_of(without_null(hint)) or without_null(hint)
    if is_object(hint):
        yield hint
        for each in keys_of(hint).values():
            yield from objects(each)


OBJECTS = {each.__name__: each for record in (sr.UrlRecord, *TYPES.values()) for each in objects(line_type(record))}


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
def test_a_table_has_the_keys_and_types_of_the_lines(name: str) -> None:
    rows = tables()[name]
    optional = getattr(OBJECTS[name], "__optional_keys__", frozenset())
    expected = [row(key, hint, optional) for key, hint in keys_of(OBJECTS[name]).items()]
    assert [Row(key, json, arrow) for key, json, arrow, _ in rows] == expected
    assert [key for key, _, _, meaning in rows if not meaning] == []


@pytest.mark.parametrize("name", OBJECTS)
def test_every_word_that_a_key_may_be_is_named(name: str) -> None:
    hints = map(without_null, keys_of(OBJECTS[name]).values())
    words = {word for hint in hints if get_origin(hint) is Literal for word in get_args(hint)}
    assert {word for word in words if f"`{word}`" not in TEXT} == set()


def test_arrow_types_are_those_of_the_schema() -> None:
    pa = pytest.importorskip("pyarrow")
    declared = eval(schema("arrow"), {"pa": pa})  # noqa: S307

    words = mapped(line_type(sr.UrlRecord), ARROW_WORDS, "list<item: {}>".format, lambda _, keys: keys_of_struct(keys))
    assert str(pa.struct(list(declared))) == words


def keys_of_struct(keys: dict[str, str]) -> str:
    return f"struct<{', '.join(f'{name}: {each}' for name, each in keys.items())}>"


def test_the_examples_are_lines() -> None:
    lines = re.findall(r"^```json\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert [type(sr.from_json(line)).__name__ for line in lines] == ["UrlRecord", "Change"]
    for line in lines:
        assert sr.json_line(sr.from_json(line)).decode() == line
