"""The two tiers of tests: the number of examples, and skips where something is not installed."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

from sitemap_reader.parser import scanner

SYSTEM_PROGRAMS = ("curl", "flock", "jq")  # which pip does not install

needs_scanner = pytest.mark.skipif(scanner is None, reason="installed without a compiler: there is no scanner")

FULL = "SITEMAP_READER_TEST_FULL"  # set in the environment with --full, so that child processes see it


def is_full() -> bool:
    """Whether all tests run, as by `pytest --full`."""
    return FULL in os.environ


def examples(full: int, fast: int | None = None) -> int:
    """The number of examples of a property: with --full, and without it, by default a quarter."""
    return full if is_full() else fast or max(1, full // 4)


def not_installed(names: Iterable[str]) -> str:
    """The reason to skip tests that need these programs or packages.

    >>> not_installed(["jq", "polars"])
    "jq is not installed; polars is not installed: pip install '.[test-full]'"
    """
    extra = ": pip install '.[test-full]'"
    return "; ".join(f"{name} is not installed{'' if name in SYSTEM_PROGRAMS else extra}" for name in names)


def needs(module: str) -> Any:
    """The module; the calling tests are skipped if it is missing."""
    return pytest.importorskip(module, reason=not_installed([module.partition(".")[0]]))
