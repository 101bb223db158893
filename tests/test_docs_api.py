"""docs/api: every public name is in the reference."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec

import pytest
from docs_runs import ROOT
from tiers import not_installed

import sitemap_reader

DOCUMENTED = set(
    re.findall(
        r"^\.\. (?:auto)?(?:function|class|exception|data):: (\S+)$",
        "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "api").glob("*.md")),
        re.MULTILINE,
    )
)
# Module -> the package that it needs.
MODULES = {
    "": None,
    **dict.fromkeys(sitemap_reader.SUBPACKAGES),
    "scale": "dask",
    "testing": None,
    "integrations.crawlee": "crawlee",
    "integrations.scrapy": "scrapy",
}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    needed = MODULES[name]
    if needed and find_spec(needed) is None:
        pytest.skip(not_installed([needed]))
    module = import_module(f"sitemap_reader.{name}".rstrip("."))
    # A name of several modules is listed once, as that of the package if it has it.
    names = {each for each in module.__all__ if each != "__version__"}
    listed = {each.rpartition(".")[2] for each in DOCUMENTED}
    assert names - listed - {"Dates", "Extension", "Layout"} == set()  # types of arguments of make_site()
