"""docs/dependencies.md: the table has every direct dependency, with its floor and extras; licences are stated."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts/write_dependencies"))


def test_table_has_each_dependency_with_its_floor_and_extras() -> None:
    table = (ROOT / "docs/dependencies.md").read_text("utf-8").partition(SCRIPT["HEAD"])[2].partition("\n\n")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()]
    assert {name: (floor, extras) for name, floor, extras, _, _ in rows} == {
        name: (floor, ", ".join(filter(None, extras)) or "-")
        for name, (floor, extras) in SCRIPT["requirements"]().items()
    }
    assert all(cell not in {"", "?"} for row in rows for cell in row)
