"""The promise of docs/versions.md: the lines of a version of the JSONL stay readable as that version declares them.

`jsonl_1.schema.json` is the schema of version 1 as it was published. It is never changed: an incompatible line needs
another version, with a file of its own.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sitemap_reader import schema
from sitemap_reader.serialize import JSONL_VERSION

PUBLISHED = json.loads(Path(__file__).with_name(f"jsonl_{JSONL_VERSION}.schema.json").read_text("utf-8"))


def broken_promises(published: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What a reader of the published schema would miss; new objects, keys and words are none of it."""
    found = [f"{name} is gone" for name in published["$defs"] if name not in now["$defs"]]
    for name, old in published["$defs"].items():
        new = now["$defs"].get(name, old)
        found += [f"{name}.{key} may be absent" for key in old["required"] if key not in new["required"]]
        for key, value in old["properties"].items():
            if without_new_words(new["properties"].get(key), value) != value:
                found.append(f"{name}.{key} is {new['properties'].get(key)} in place of {value}")
    return found


def without_new_words(new: Any, old: dict[str, Any]) -> Any:
    if new is None or "enum" not in new:
        return new
    return {**new, "enum": [word for word in new["enum"] if word in old.get("enum", ())]}


def test_the_lines_are_those_of_their_version() -> None:
    now = json.loads(schema("json"))
    assert now["$id"] == PUBLISHED["$id"] == f"urn:sitemap-reader:jsonl:{JSONL_VERSION}"
    assert not broken_promises(PUBLISHED, now), "read docs/versions.md, and raise JSONL_VERSION if it must be"


@pytest.mark.parametrize(("change", "broken"), [
    (lambda url: url["properties"].pop("line"), ["UrlRecord.line is None in place of"]),
    (lambda url: url["required"].remove("loc"), ["UrlRecord.loc may be absent"]),
    (lambda url: url["properties"]["priority"].update(type="number"), ["UrlRecord.priority is {'type': 'number'}"]),
    (lambda url: url["properties"].update(added={"type": "string"}), []),
    (lambda url: url["properties"]["lastmod_precision"]["enum"].append("week"), []),
    (lambda url: url["properties"]["lastmod_precision"]["enum"].remove("day"), ["UrlRecord.lastmod_precision is"]),
], ids=["removed", "optional", "retyped", "added", "word added", "word removed"])
def test_changes_of_a_line_are_found(change: Any, broken: list[str]) -> None:
    now = json.loads(schema("json"))
    change(now["$defs"]["UrlRecord"])
    found = broken_promises(PUBLISHED, now)
    assert len(found) == len(broken)
    assert all(text.startswith(start) for text, start in zip(found, broken, strict=True))
