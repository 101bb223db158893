"""The exception of broken rules, and cuts of inputs that depend on the bytes only."""

import zlib
from collections.abc import Iterator, Sequence
from random import Random


class Broken(AssertionError):
    """The broken rule, in words that are the same for every input; `seen` are the actual values."""

    def __init__(self, rule: str, *seen: object) -> None:
        super().__init__(rule, *(repr(each)[:1500] for each in seen))
        self.rule = rule


def hold(condition: object, rule: str, *seen: object) -> None:
    """Raises Broken unless the condition holds."""
    if not condition:
        raise Broken(rule, *seen)


def dice(body: bytes) -> Random:
    """A random generator seeded by the bytes."""
    return Random(zlib.crc32(body))  # noqa: S311 - nothing is to be kept secret


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def cuttings(body: bytes, *, thorough: bool, sizes: Sequence[int] = (1, 2, 7, 64)) -> Iterator[list[bytes]]:
    """The body cut at random places; with `thorough` also in equal pieces of these sizes."""
    rng = dice(body)
    for _ in range(3 if thorough else 1):
        places = sorted(rng.randrange(len(body) + 1) for _ in range(rng.randrange(1, 12)))
        yield [body[start:stop] for start, stop in zip([0, *places], [*places, len(body)], strict=True)]
    if thorough:
        yield from (cut(body, size) for size in sizes)
