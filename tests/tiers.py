"""What a test of both tiers goes by: how much is asked of it, and whether the packages of the extra test-full are here.

conftest.py has which tests are slow.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

FULL = "SITEMAP_READER_TEST_FULL"  # the environment has it where --full is given, so that child processes see it


def is_full() -> bool:
    """Whether all tests run, as by `pytest --full`."""
    return FULL in os.environ


def examples(full: int, fast: int | None = None) -> int:
    """How many examples of a property are tried: with --full, and without, which is a quarter where it is not said."""
    return full if is_full() else fast or max(1, full // 4)


def needs(module: str) -> Any:
    """The module; what asks for it is skipped where it is missing."""
    package = module.partition(".")[0]
    return pytest.importorskip(module, reason=f"{package} is not installed: pip install '.[test-full]'")
