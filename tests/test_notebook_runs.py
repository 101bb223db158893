"""The notebooks run offline, and their asserts hold.

Here their cells run in order as a program; `.ci/run` executes them in Jupyter.
"""

import ast
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_notebooks import NOTEBOOKS, cells, source
from tiers import not_installed

pytestmark = pytest.mark.slow


def shown(text: str) -> str:
    """A cell as a program that also renders the value of its last line, as a notebook does."""
    tree = ast.parse(text)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return text
    before = text.splitlines()[: tree.body[-1].lineno - 1]
    return "\n".join([*before, f"_show({ast.unparse(tree.body[-1].value)})"])


SHOW = """
def _show(value):
    for name in ("_repr_mimebundle_", "_repr_html_"):
        if hasattr(type(value), name):
            made = getattr(value, name)()
            assert made, name
            return
    assert repr(value)
"""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_cells_run(notebook: Path, tmp_path: Path) -> None:
    texts = [source(cell) for cell in cells(notebook)]
    imported = set(re.findall(r"^(?:import|from) (\w+)", "\n".join(texts), re.MULTILINE))
    if absent := sorted(name for name in {*imported, "altair", "pandas"} if find_spec(name) is None):
        pytest.skip(not_installed(absent))
    program = "\n\n".join([SHOW, *map(shown, texts)])
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    # pandas warns about DuckDB's calls.
    command = [sys.executable, "-W", "error", "-W", "ignore:The inplace keyword", "-c", program]
    ran = subprocess.run(command, cwd=notebook.parent, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
