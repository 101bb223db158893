"""What reading a document may cost: steps of work, counted and never timed, against the bytes that have come.

A step is about what expat needs for one byte of text, some 10 ns. All that can take more time than its bytes deserve
spends steps before, or right after, it does the work: so no loop goes on without an end, whatever is in the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.problems import Problem, over_limit

if TYPE_CHECKING:
    from ...model.limits import Limits

# A document may cost as much as if so many more bytes had come: small ones need not be cheap.
ALLOWED_BYTES = 64 * 1024

# Steps, as measured.
TAG = 60  # that expat reads, and that becomes an element
EVENT = 400  # the end of an entry, or a tag between entries
LANDMARK = 60  # a `<` that is judged while the next entry is looked for
PARSER = 4000  # a new one, behind a fault
TOKEN = 350  # of an entry that is repaired
LEVEL = 10  # of elements that are open around it
EDIT = 400
CHARACTERS = 400  # a place where characters are repaired
REFERENCE = 60  # a place that might be one
ENTRY = 700  # or a line, that is cleaned and judged by itself
PROBLEM = 600
COPIED = 16  # bytes that are copied and searched for one byte in a step
MOVED = 256  # bytes that are moved in a step


class Spent(Exception):
    """Raised once, when the steps are used up: the document ends here, with `problem()`."""


class Budget:
    """receive() bytes, then spend() steps, or count() them: no more than `max_work_per_byte` for each.

    `steps` is how many there were.
    """

    def __init__(self, limits: Limits) -> None:
        self.steps = 0
        self._per_byte = limits.max_work_per_byte
        self._most: float = ALLOWED_BYTES * self._per_byte

    def receive(self, count: int) -> None:
        """So many decoded bytes have come."""
        self._most += count * self._per_byte

    def spend(self, steps: int) -> None:
        """Counts work; Spent where it `is_used_up`."""
        self.steps += steps
        if self.steps > self._most and self.is_used_up():
            raise Spent

    def count(self, steps: int) -> None:
        """Counts work that cannot be broken off: is_used_up() is asked later."""
        self.steps += steps

    def is_used_up(self) -> bool:
        """True once, behind the first step too many: after that, what ends the document is free."""
        if self.steps <= self._most:
            return False
        self._most = float("inf")
        return True

    def look(self, data: bytes | bytearray, start: int, stop: int, each: int) -> None:
        """Work on bytes of markup: a step for each, and so many for `each` tag in it."""
        if stop > start:
            self.spend(stop - start + each * data.count(b"<", start, stop))

    def problem(self, line: int | None = None) -> Problem:
        """S16, with the field to raise."""
        return over_limit("max_work_per_byte", self._per_byte, "steps of work for each byte read", line)
