"""The Crawlee example of docs/integrations.md with another host, as Crawlee has its own HTTP client."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from docs_runs import SECONDS, blocks
from servers import NginxServer
from shops import shop
from tiers import needs

pytestmark = pytest.mark.slow


def test_the_example_crawls_all_that_the_shop_lists(nginx: Callable[..., NginxServer], tmp_path: Path) -> None:
    needs("crawlee")
    server, locs = shop(nginx, tmp_path / "www")
    (block,) = (block for block in blocks("docs/integrations.md") if "HttpCrawler(" in block.text)
    program = block.text.replace('"example.com"', f'"{server.url}", allow_private=True')
    assert program != block.text
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "CRAWLEE_STORAGE_DIR": str(tmp_path / "storage")},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    dataset = tmp_path / "storage" / "datasets" / "default"
    items = [json.loads(path.read_text()) for path in dataset.glob("[0-9]*.json")]
    assert sorted(item["url"] for item in items) == sorted(locs)
    requested = server.requests()
    assert len(requested) == len(set(requested))
