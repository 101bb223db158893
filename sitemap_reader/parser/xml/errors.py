"""Exceptions of the XML parser, the fault that recovery gets, and the budget of work for a document.

Raised in the expat handlers and the driver, caught in entry_parser.py, answered in recovery/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs

from ...model.limits import over_limit
from ...model.problems import Problem, report

if TYPE_CHECKING:
    from ...model.limits import Limits


_CODES = expat.errors.codes
# At the end of the bytes these mean that the document is cut short.
ENDED_EARLY = frozenset(
    _CODES[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)


class Misplaced(Exception):
    """Well-formed markup that cannot be right, at an `offset` of the document."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


class NoRoot(Exception):
    """An element that is no root of a known format, at an `offset` of the document; without a `name`, text."""

    def __init__(self, offset: int, name: bytes = b"") -> None:
        super().__init__()
        self.offset = offset
        self.name = name

    def problem(self, line: int) -> Problem:
        """The Problem of a document without a root element, where this is on a line."""
        if not self.name:
            return report(
                "S01", "text stands in place of the root element", line=line, kind="text without a root element"
            )
        name = self.name.rpartition(b":")[2].decode("utf-8", "replace")
        return report("S15", f"the root element is <{name[:80]}>: not a sitemap")


class Stop(Exception):
    """Reading of the document ends with `problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@attrs.frozen
class XmlFault:
    """What stopped expat: an offset in the document, and a message. `code` is its own; None for misplaced markup."""

    offset: int
    what: str
    code: int | None


def html_page() -> Problem:
    return report("F05", "an HTML page where a sitemap should be")


# --- the budget: steps of work, counted and never timed, in proportion to the bytes received ---

# A step is about the time that expat takes for one byte of text, some 10 ns. All work that can grow faster than the
# bytes spends steps: so no document can make a loop run on.

# Added to the bytes of each document, so that small ones may be damaged too.
ALLOWED_BYTES = 64 * 1024

# Steps, as measured: for
TAG_STEPS = 60  # a tag that expat reads and that becomes an element
EVENT_STEPS = 400  # the end of an entry, or a tag between entries
CANDIDATE_STEPS = 60  # a `<` in the search for the next entry
PARSER_STEPS = 4000  # a new parser
TOKEN_STEPS = 350  # a token of an entry that is repaired
CHECK_STEPS = 350  # a token of an entry whose tags may not match
LEVEL_STEPS = 10  # each element that is open around the token
REPAIR_STEPS = 400  # a repair of the structure
LOST_STEPS = 10_000  # an entry that is lost
CHARACTER_REPAIR_STEPS = 400  # a repair of characters
ENTRY_STEPS = 700  # an entry or line that is normalised
PROBLEM_STEPS = 600


class BudgetExceeded(Exception):
    """Raised once, when the budget is used up: the document ends with Budget.problem()."""


class Budget:
    """Limits the steps of work to `max_work_per_byte` for each byte received, plus an allowance.

    `steps` is the number spent so far.
    """

    def __init__(self, limits: Limits) -> None:
        self.steps = 0
        self._per_byte = limits.max_work_per_byte
        self._limit: float = ALLOWED_BYTES * self._per_byte

    def receive(self, count: int) -> None:
        """Adds decoded bytes."""
        self._limit += count * self._per_byte

    def spend(self, steps: int) -> None:
        """Adds steps; BudgetExceeded above the limit."""
        self.steps += steps
        if self.steps > self._limit and self.is_exceeded():
            raise BudgetExceeded

    def count(self, steps: int) -> None:
        """Adds steps of work that cannot be interrupted; the next spend() or is_exceeded() checks them."""
        self.steps += steps

    def is_exceeded(self) -> bool:
        """True once, above the limit; the work that ends the document is free."""
        if self.steps <= self._limit:
            return False
        self._limit = float("inf")
        return True

    def spend_on_markup(self, data: bytes | bytearray, start: int, stop: int, steps_per_tag: int) -> None:
        """Spends a step for each byte of markup, and `steps_per_tag` for each tag."""
        if stop > start:
            self.spend(stop - start + steps_per_tag * data.count(b"<", start, stop))

    def problem(self, line: int | None = None) -> Problem:
        """The Problem of a budget that is used up (S16)."""
        return over_limit("max_work_per_byte", self._per_byte, "steps of work for each byte read", line)
