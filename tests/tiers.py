"""What a test of both tiers goes by: how much is asked of it, and whether the packages of the extra test-full are here.

conftest.py has which tests are slow.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

SYSTEM_PROGRAMS = ("curl", "flock", "jq")  # which pip does not install

FULL = "SITEMAP_READER_TEST_FULL"  # the environment has it where --full is given, so that child processes see it


def is_full() -> bool:
    """Whether all tests run, as by `pytest --full`."""
    return FULL in os.environ


def examples(full: int, fast: int | None = None) -> int:
    """How many examples of a property are tried: with --full, and without, which is a quarter where it is not said."""
    return full if is_full() else fast or max(1, full // 4)


def not_installed(names: Iterable[str]) -> str:
    """The reason to skip what needs these programs or packages.

    >>> not_installed(["jq", "polars"])
    "jq is not installed; polars is not installed: pip install '.[test-full]'"
    """
    extra = ": pip install '.[test-full]'"
    return "; ".join(f"{name} is not installed{'' if name in SYSTEM_PROGRAMS else extra}" for name in names)


def needs(module: str) -> Any:
    """The module; what asks for it is skipped where it is missing."""
    return pytest.importorskip(module, reason=not_installed([module.partition(".")[0]]))
