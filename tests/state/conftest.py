"""The state of a test."""

from pathlib import Path

import pytest


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The name of a state that does not exist yet."""
    return tmp_path / "state.db"
