"""Every example of README.md and docs/*.md, as it stands: it runs, prints what the page shows, and has right types."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from docs_runs import PAGES, ROOT, blocks, differences, imported, tried
from tiers import not_installed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_examples_print(tmp_path: Path, page: str) -> None:
    """One test a page, as its examples follow from each other; each that differs is reported, with its line."""
    if all(block.missing for block in tried(page)):
        pytest.skip(not_installed(sorted({name for block in tried(page) for name in block.missing})))
    if differing := differences(page, tmp_path):
        pytest.fail("\n".join(differing), pytrace=False)


@pytest.mark.parametrize("page", PAGES)
def test_no_example_of_a_page_is_left_out(page: str) -> None:
    if left_out := [f"{block}: {not_installed(block.missing)}" for block in tried(page) if block.missing]:
        pytest.skip("\n".join(left_out))


# These say nothing of their types; Airflow has an environment of its own: tests/integrations/test_airflow.py.
UNTYPED = ("airflow", "pandas", "pyarrow")
# The examples for other programs are as those are: spiders and DAGs have no annotations.
FOREIGN = "docs/integrations.md"
NOT_FOR_FOREIGN = (
    "disallow_any_generics", "disallow_incomplete_defs", "disallow_subclassing_any", "disallow_untyped_calls",
    "disallow_untyped_decorators", "disallow_untyped_defs", "warn_return_any",
)  # fmt: skip


def test_python_examples_pass_the_strictest_type_check_there_is_for_them(tmp_path: Path) -> None:
    examples = [block for page in (*PAGES, "docs/records.md") for block in blocks(page) if block.language == "python"]
    needed = {"mypy"}.union(*(imported(block.text) for block in examples)) - {*UNTYPED}
    if absent := sorted(name for name in needed if find_spec(name) is None):
        pytest.skip(not_installed(absent))
    names = {f"example_{number}": block for number, block in enumerate(examples)}
    for name, block in names.items():
        (tmp_path / f"{name}.py").write_text(block.text)
    untyped = ",".join(f"{name}.*" for name in UNTYPED)
    foreign = ",".join(name for name, block in names.items() if block.page == FOREIGN)
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = true\n[mypy-{untyped}]\nignore_missing_imports = true\n[mypy-{foreign}]\n"
        + "".join(f"{name} = false\n" for name in NOT_FOR_FOREIGN)
    )
    # The types of other packages take half a minute, once.
    cache = ROOT / ".mypy_cache" / "docs"
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(cache)]
    with (cache / "lock").open("w") as lock:  # for runs of the tests at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = subprocess.run(
            [*command, *(f"{name}.py" for name in names)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    wrong = re.sub(r"(example_\d+)\.py:", lambda match: f"{names[match[1]]}, its line ", result.stdout)
    assert (wrong, result.stderr) == ("", "")
