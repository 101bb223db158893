"""The modules of the Scrapy adapter that need no Scrapy, also where it is not installed: `items`."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import sitemap_reader.integrations as integrations

PACKAGE = f"{integrations.__name__}.scrapy"

with pytest.MonkeyPatch.context() as patch:
    if find_spec("scrapy") is None:  # importing the package itself needs Scrapy
        package = ModuleType(PACKAGE)
        package.__path__ = [str(Path(integrations.__path__[0]) / "scrapy")]
        patch.setitem(sys.modules, PACKAGE, package)
    items = import_module(f"{PACKAGE}.items")

