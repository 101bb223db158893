"""Every example of README.md and docs/*.md runs, prints what the page shows, and passes the type check."""

import fcntl
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_runs import PAGES, ROOT, blocks, differences, imported, tried
from tiers import not_installed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_examples_print(tmp_path: Path, page: str) -> None:
    """One test a page, as its examples depend on each other; each difference is reported with its line."""
    if all(block.missing for block in tried(page)):
        pytest.skip(not_installed(sorted({name for block in tried(page) for name in block.missing})))
    if differing := differences(page, tmp_path):
        pytest.fail("\n".join(differing), pytrace=False)


@pytest.mark.parametrize("page", PAGES)
def test_no_example_of_a_page_is_left_out(page: str) -> None:
    if left_out := [f"{block}: {not_installed(block.missing)}" for block in tried(page) if block.missing]:
        pytest.skip("\n".join(left_out))


# Not in test-full, as tests/integrations and tests/scale say: their types are not checked.
NOT_NEEDED = ("airflow", "celery", "pyspark", "ray")
# Examples for other programs, such as spiders and DAGs, have no annotations.
FOREIGN = ("docs/integrations.md", "docs/tutorial-crawler.md")
FOREIGN_RULES = """\
# mypy: disallow-any-generics=false, disallow-incomplete-defs=false, disallow-subclassing-any=false
# mypy: disallow-untyped-calls=false, disallow-untyped-decorators=false, disallow-untyped-defs=false
# mypy: warn-return-any=false
"""


def test_python_examples_pass_the_type_check_of_the_package(tmp_path: Path) -> None:
    """With the rules and the cache of the package's check, so that types of other packages are read once."""
    examples = [block for page in (*PAGES, "docs/records.md") for block in blocks(page) if block.language == "python"]
    needed = {"mypy"}.union(*(imported(block.text) for block in examples)) - {*NOT_NEEDED}
    if absent := sorted(name for name in needed if find_spec(name) is None):
        pytest.skip(not_installed(absent))
    names = {f"example_{number}": block for number, block in enumerate(examples)}
    for name, block in names.items():
        (tmp_path / f"{name}.py").write_text(block.text + FOREIGN_RULES * (block.page in FOREIGN))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *(tmp_path / f"{name}.py" for name in names)]
    cache = ROOT / ".mypy_cache"
    cache.mkdir(exist_ok=True)
    with (cache / "lock").open("w") as lock:  # for concurrent test runs
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    wrong = re.sub(r"\S*(example_\d+)\.py:", lambda match: f"{names[match[1]]}, its line ", result.stdout)
    assert (wrong, result.stderr) == ("", "")
