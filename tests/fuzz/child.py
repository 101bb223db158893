"""One target under atheris, in a process of its own, as run.py calls it: TARGET WORK FOUND [libFuzzer options].

A finding is minimised and written to FOUND/TARGET/; the target continues. Each fault is written once.
"""

import hashlib
import sys
import time
import traceback
from pathlib import Path
from random import Random

from targets import Target

SECONDS_TO_MINIMISE = 10.0
PACKAGE = "sitemap_reader"


def signature(error: BaseException) -> str:
    """The key that distinguishes faults: the broken rule, or the origin of the exception."""
    rule = getattr(error, "rule", None)
    if rule is not None:
        return str(rule)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside"
    return f"{type(error).__name__} in {where}"


def fault_of(target: Target, body: bytes, *, thorough: bool) -> str | None:
    try:
        target.check(body, thorough=thorough)
    except Exception as error:
        return signature(error)
    return None


def minimised(target: Target, body: bytes, fault: str) -> bytes:
    """The shortest input with the same fault found by removing ever smaller pieces."""
    until = time.monotonic() + SECONDS_TO_MINIMISE
    size = len(body)
    while size and time.monotonic() < until:
        place, size, shorter = 0, size // 2, False
        while size and place < len(body) and time.monotonic() < until:
            less = body[:place] + body[place + size :]
            if fault_of(target, less, thorough=True) == fault:
                body, shorter = less, True
            else:
                place += size
        if shorter and size == 1:
            size = 4
    return body


class Finder:
    """Calls a target's check and keeps its findings."""

    def __init__(self, name: str, target: Target, folder: Path) -> None:
        self._name = name
        self._target = target
        self._folder = folder
        self.known: set[str] = set()

    def __call__(self, body: bytes) -> None:
        try:
            self._target.check(body)
        except Exception as error:
            self._keep(body, error)

    def _keep(self, body: bytes, error: Exception) -> None:
        fault = signature(error)
        if fault in self.known:
            return
        self.known.add(fault)
        if fault_of(self._target, body, thorough=True) == fault:
            body = minimised(self._target, body, fault)
        path = self._folder / hashlib.sha256(body).hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        print(f"FOUND {self._name}\t{path}\t{fault}\t{body[:300]!r}", flush=True)


def main(name: str, work: str, found: str, *options: str) -> None:
    import atheris

    with atheris.instrument_imports(include=[PACKAGE]):
        from targets import TARGETS

    from mutate import mutate

    target = TARGETS[name]

    def changed(data: bytes, max_bytes: int, seed: int) -> bytes:
        rng = Random(seed)  # noqa: S311 - the fuzzer's own seed
        if rng.random() < 0.1:
            return bytes(atheris.Mutate(data, max_bytes))
        return mutate(data, target.tokens, rng, min(max_bytes, target.max_bytes))

    seeds = Path(work)
    seeds.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds:
        (seeds / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    finder = Finder(name, target, Path(found) / name)
    arguments = [sys.argv[0], work, f"-max_len={target.max_bytes}", *options]
    atheris.Setup(arguments, finder, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
