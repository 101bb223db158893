"""What an oracle raises, and how it cuts its input: the same bytes are always cut the same."""

from __future__ import annotations

import zlib
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Broken(AssertionError):
    """What does not hold, in a few words that are the same for every input; `seen` is what was there instead."""

    def __init__(self, rule: str, *seen: object) -> None:
        super().__init__(rule, *(repr(each)[:1500] for each in seen))
        self.rule = rule


def hold(condition: object, rule: str, *seen: object) -> None:
    """Broken, unless the condition holds."""
    if not condition:
        raise Broken(rule, *seen)


def dice(body: bytes) -> Random:
    """Chances that depend on the bytes alone."""
    return Random(zlib.crc32(body))  # noqa: S311 - nothing is to be kept secret


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def cuttings(body: bytes, *, thorough: bool, sizes: Sequence[int] = (1, 2, 7, 64)) -> Iterator[list[bytes]]:
    """The body in pieces: at random places; where it is to be `thorough` also in equal ones of these sizes."""
    rng = dice(body)
    for _ in range(3 if thorough else 1):
        places = sorted(rng.randrange(len(body) + 1) for _ in range(rng.randrange(1, 12)))
        yield [body[start:stop] for start, stop in zip([0, *places], [*places, len(body)], strict=True)]
    if thorough:
        yield from (cut(body, size) for size in sizes)
