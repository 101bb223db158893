"""What damage leads to: the exceptions that end reading, the budget of work, and the log of repairs.

Nothing is read here: reader.py, entry_builder.py and tolerant_parser.py raise, spend and add.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs

from ...model.limits import advice, over_limit
from ...model.problems import Problem, Severity, report

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Kind

# --- exceptions ---

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


# So many in a row are no text: a hole in a file, in which the end of an entry and the beginning of another fit.
HOLE_BYTES = 16
has_hole = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]{%d}" % HOLE_BYTES).search
# The message where one is in a document of lines.
LINE_IN_HOLE = "a hole of control characters in a line: it is lost, and others may be"


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
        return over_limit("max_work_per_byte", self._per_byte, "step of work for each byte read", line)


# --- the log ---


class RepairLog:
    """Repairs in the order of the document; take() removes them, as at most max_entry_problems Problems.

    The last of so many is a count. `made` is the number of all repairs of the document: Stop above max_repairs.
    `is_error` is True once a repair that was taken or lost may have cost an entry, `is_damaged` once markup was
    repaired or lost, `has_epilog` once content followed the root element.
    """

    def __init__(self, limits: Limits) -> None:
        self.made = 0
        self.is_error = False
        self.is_damaged = self.has_epilog = False
        self._hiding: tuple[str, int, int] | None = None  # the first that may hide an entry, its line and offset
        self._max_reported = limits.max_entry_problems
        self._max_repairs = limits.max_repairs
        self._problems: list[Problem] = []
        self._taken = 0  # of those made
        self._more = 0  # that are only counted
        self._more_severity: Severity = "warning"

    @property
    def remaining(self) -> int:
        """How many count_reported() may be given."""
        return min(self._max_reported, self._max_repairs - self.made)

    def count_reported(self, count: int) -> None:
        """Counts repairs whose Problems do not come from here."""
        self.made += count
        self._taken += count

    @property
    def holds_error(self) -> bool:
        """Whether one that was not taken may have cost an entry."""
        return self._more_severity == "error" or any(problem.severity == "error" for problem in self._problems)

    @property
    def is_full(self) -> bool:
        """Whether further ones are only counted, and their texts do not matter."""
        return len(self._problems) >= self._max_reported

    def add(
        self,
        code: str,
        message: str,
        line: int,
        raw: str | None = None,
        severity: Severity = "warning",
        *,
        kind: Kind | None,
    ) -> None:
        """Appends one that follows all others."""
        self.made += 1
        if self.made > self._max_repairs:
            raise Stop(over_limit("max_repairs", self._max_repairs, "repair", line))
        if not self.is_full:
            self._problems.append(report(code, message, severity=severity, line=line, raw=raw, kind=kind))
            return
        self._more += 1
        if severity == "error":
            self._more_severity = severity

    def note_hiding(self, what: str, line: int, offset: int) -> None:
        """Notes that a comment or the like holds a part of an entry: no fault, unless its own markup is damaged."""
        self._hiding = self._hiding or (what, line, offset)

    def forget_hiding(self, offset: int) -> None:
        """Forgets what was noted from an offset on, as the bytes there are read again."""
        if self._hiding is not None and self._hiding[2] >= offset:
            self._hiding = None

    def report_hiding(self) -> None:
        """At the end of the document: reports that once, if other markup of the document is damaged."""
        if (self.is_damaged or self.has_epilog) and self._hiding is not None:
            what, line, _ = self._hiding
            message = f"as markup is damaged, {what} may hold an entry, which is lost"
            self.add("S01", message, line, severity="error", kind="entry that may be hidden")

    def forget(self) -> None:
        """Forgets all since the last call of take(), and what it may hide: it was made in bytes that are skipped."""
        self._clear()
        self.is_damaged, self._hiding = False, None

    def take(self) -> tuple[Problem, ...]:
        """Removes the Problems since the last call."""
        if not self._problems and not self._more:
            return ()
        problems = self._problems
        if self._more:
            last = problems.pop() if problems else report("S01", "")
            severity: Severity = "error" if "error" in (last.severity, self._more_severity) else "warning"
            what, remedy = f"{self._more + 1:,} more places were repaired", advice("max_entry_problems", "see each")
            kind: Kind = "further repairs, not reported each"
            problems.append(report("S01", what, severity=severity, line=last.line, kind=kind, remedy=remedy))
        self.is_error = self.is_error or any(problem.severity == "error" for problem in problems)
        self._clear()
        return tuple(problems)

    def cut(self, made: int | None) -> None:
        """Forgets those after so many of the document, which are in bytes that are lost; what they cost stays lost."""
        if made is None or made >= self.made:
            return
        kept = max(0, made - self._taken)
        is_error = any(problem.severity == "error" for problem in self._problems[kept:])
        self.is_error = self.is_error or is_error or self._more_severity == "error"
        self._more = max(0, kept - len(self._problems))
        self._more_severity = self._more_severity if self._more else "warning"
        del self._problems[kept:]
        self.made = made

    def _clear(self) -> None:
        self._problems, self._more, self._more_severity = [], 0, "warning"
        self._taken = self.made
