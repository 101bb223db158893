"""The examples in docstrings are right."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sitemap_reader

PACKAGE = Path(sitemap_reader.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", [*WITH_EXAMPLES, "docs_runs", "tiers"])
def test_examples_give_what_they_show(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
