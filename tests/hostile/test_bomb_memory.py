"""Each hostile document takes little memory and is read no further than necessary, in a separate process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bombs import ALL, BOMBS, DAMAGED

pytestmark = pytest.mark.slow

CHILD = Path(__file__).parent / "bomb_child.py"
GROUPS = {
    "gzip": [name for name in BOMBS if name.startswith("gzip: ")],
    "documents": [name for name in BOMBS if not name.startswith("gzip: ")],
    "damaged": [*DAMAGED],
    "index": ["long index"],
}


@pytest.mark.smoke("documents")
@pytest.mark.parametrize("group", GROUPS)
def test_memory_stays_flat_and_reading_stops_early(group: str) -> None:
    run = subprocess.run([sys.executable, CHILD, *GROUPS[group]], stdout=subprocess.PIPE, check=True, timeout=600)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    assert [result["name"] for result in results] == GROUPS[group]
    for result in results:
        bomb = ALL[result["name"]]
        assert frozenset(result["codes"]) == bomb.codes, result
        assert (result["entries"], result["complete"]) == (bomb.entries, bomb.complete), result
        assert result["extra_kib"] < bomb.extra_kib, result
        assert result["taken"] == result["size"] if bomb.taken is None else result["taken"] <= bomb.taken, result
        # Not a benchmark: quadratic work on 20 MiB would take hours.
        assert result["seconds"] < 120, result
