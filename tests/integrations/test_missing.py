"""An adapter whose framework is not installed says what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("framework", ["Scrapy", "Crawlee"])
def test_without_its_framework_the_import_says_what_to_install(framework: str) -> None:
    name = framework.lower()
    code = f"import sys; sys.modules['{name}'] = None; import sitemap_reader.integrations.{name}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr.splitlines()[-1] == (
        f"ImportError: sitemap_reader.integrations.{name} needs {framework}: "
        f"pip install 'sitemap-reader[{name}]'"
    )
