"""docs/api: the reference has every public name."""

import re
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec

import pytest
from docs_runs import ROOT
from tiers import not_installed

import sitemap_reader

ENTRY = re.compile(r"^\.\. (?:auto)?(?:function|class|exception|data):: (?:(\S+)\.)?(\w+)$", re.MULTILINE)
# Module -> its names in the reference.
DOCUMENTED: defaultdict[str, set[str]] = defaultdict(set)
for page in (ROOT / "docs" / "api").glob("*.md"):
    for module, name in ENTRY.findall(page.read_text("utf-8")):
        DOCUMENTED[module or "sitemap_reader"].add(name)
STUB = (ROOT / "sitemap_reader" / "__init__.pyi").read_text("utf-8")
SUBPACKAGES = re.findall(r"^from \. import (\w+)", STUB, re.MULTILINE)
# Module -> the package that it needs.
MODULES = {
    "sitemap_reader": None,
    **dict.fromkeys(f"sitemap_reader.{name}" for name in SUBPACKAGES),
    "sitemap_reader.scale": "dask",
    "sitemap_reader.integrations.crawlee": "crawlee",
    "sitemap_reader.integrations.scrapy": "scrapy",
}
UNLISTED = {"__version__"}


# What the examples of the docs and the notebooks import from the package.
IMPORT = re.compile(r"^ *\"?(?:from (sitemap_reader(?:\.\w+)*) import|import (sitemap_reader(?:\.\w+)+))", re.MULTILINE)
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]


def test_examples_import_public_modules_only() -> None:
    found = {
        (str(page.relative_to(ROOT)), name)
        for page in PAGES
        for names in IMPORT.findall(page.read_text("utf-8"))
        for name in names
        if name and name not in MODULES
    }
    assert found == set(), "docs/api: what is not on these pages may change in any release"


def test_the_reference_has_every_name_of_the_package() -> None:
    assert {*dir(sitemap_reader)} - {*SUBPACKAGES} - UNLISTED - DOCUMENTED["sitemap_reader"] == set()


@pytest.mark.parametrize("name", MODULES)
def test_the_names_of_the_reference_exist(name: str) -> None:
    needed = MODULES[name]
    if needed and find_spec(needed) is None:
        pytest.skip(not_installed([needed]))
    module = import_module(name)
    assert {each for each in DOCUMENTED[name] if not hasattr(module, each)} == set()
