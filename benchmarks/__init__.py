"""Measurements against other readers, run as modules from the root of the repository: `python -m benchmarks.NAME`."""

import sys
from pathlib import Path

# Servers and generated sites are those of the tests.
sys.path.append(str(Path(__file__).parent.parent / "tests"))
