"""One target without atheris, as sanitized.py calls it: TARGET INPUT FOUND SECONDS SEED.

INPUT is the file that holds each input while it is checked: that of a process that died is still there.
"""

import sys
import time
from pathlib import Path
from random import Random

from child import Finder
from mutate import mutate
from targets import TARGETS


def main(name: str, current: str, found: str, seconds: str, seed: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds)
    finder = Finder(name, target, Path(found) / name)
    rng = Random(int(seed))  # noqa: S311 - nothing is to be kept secret
    until = time.monotonic() + float(seconds)
    executions = 0
    while time.monotonic() < until:
        body = mutate(rng.choice(seeds), target.tokens, rng, target.max_bytes)
        Path(current).write_bytes(body)
        finder(body)
        executions += 1
    print(f"EXECUTED {executions}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
