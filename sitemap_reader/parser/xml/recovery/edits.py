"""Edits of damaged bytes, each an offset range, a replacement and a Problem; and the log of repairs to be reported.

An edit is `sure` where it undoes one typing slip: its Problem is a warning. Otherwise more may be missing than can be
seen, and its Problem is an error.
"""

from __future__ import annotations

from array import array
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs

from ....model.problems import Problem, Severity, report
from ..scan import restore_controls
from .tokenizer import blank, shown

if TYPE_CHECKING:
    from .tokenizer import Token


@attrs.frozen
class Edit:
    """Replaces the bytes from `start` to `stop`; `problem` reports it."""

    start: int
    stop: int
    replacement: bytes
    problem: Problem


class Edits:
    """The edits of one entry, or of what stands between two."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._starts: set[int] = set()

    def __len__(self) -> int:
        return len(self._edits)

    @property
    def in_order(self) -> list[Edit]:
        """The edits by offset; several may begin at the same one."""
        return sorted(self._edits, key=lambda edit: edit.start)

    def has(self, start: int) -> bool:
        """Whether an edit begins at the offset."""
        return start in self._starts

    def insert(self, offset: int, written: bytes, place: str, *, sure: bool = True) -> None:
        """Inserts what is missing; `place` says where, in words."""
        self.add(offset, offset, written, f"{shown(written)} is missing: it was added {place}", sure=sure)

    def read_as(self, token: Token, text: bytes, *, sure: bool = True) -> None:
        """Replaces a token by what it stands for."""
        self._replace(token, text, f"{shown(token.written)} was read as {shown(text)}", sure=sure)

    def blank_out(self, token: Token, what: str, *, code: str = "S01", sure: bool = True) -> None:
        """Blanks out a token that has no meaning; `what` says why."""
        message = f"{shown(token.written)} {what}: it was skipped"
        self._replace(token, blank(token.written), message, code=code, sure=sure)

    def _replace(self, token: Token, text: bytes, message: str, *, code: str = "S01", sure: bool = True) -> None:
        lines = token.written.count(b"\n") - text.count(b"\n")  # later lines keep their numbers
        self.add(token.start, token.end, text + b"\n" * lines, message, token.written, code=code, sure=sure)

    def add(
        self, start: int, stop: int, text: bytes, what: str, raw: bytes = b"", *, code: str = "S01", sure: bool = True
    ) -> None:
        """Any other edit, with its message `what` and the bytes to quote, `raw`."""
        severity: Severity = "warning" if sure else "error"
        message = what if sure else f"{what}; more may be lost"
        self._starts.add(start)
        written = restore_controls(raw.decode("utf-8", "ignore")) or None
        self._edits.append(Edit(start, stop, text, report(code, message, severity=severity, raw=written)))


# More than these are in one entry, which reports fewer: the rest is kept as offsets and lines only.
_MAX_WAITING = 10_000


@attrs.define
class Repair:
    """One repaired place: its end in the repaired bytes, and what to report."""

    end: int
    problem: Problem


class RepairLog:
    """Repairs in the order of the bytes; take() removes them, as at most `max_reported` Problems, the last a count.

    Once more than `max_repairs` were taken in all, `limit_line` is the line of the first one above that limit.
    """

    def __init__(self, max_reported: int, max_repairs: int) -> None:
        self.limit_line: int | None = None
        self._left = max_repairs
        self._max_reported = max_reported
        self._max_waiting = max(max_reported, _MAX_WAITING)
        self._waiting: deque[Repair] = deque()
        # Of the repairs after these only the end and the line are kept; a line below 0 is that of an error.
        self._ends = array("q")
        self._lines = array("q")

    def add(self, repair: Repair) -> None:
        """Appends one that follows all others."""
        self._waiting.append(repair)

    def merge(self, repairs: list[Repair]) -> None:
        """Inserts repairs of the structure, which most of the logged ones follow."""
        last = max(repair.end for repair in repairs)
        before: list[Repair] = []
        while self._waiting and self._waiting[0].end <= last:
            before.append(self._waiting.popleft())
        self._waiting.extendleft(reversed(sorted((*before, *repairs), key=attrgetter("end"))))

    def condense(self) -> None:
        """Keeps _MAX_WAITING in full; called between windows, when all that are logged belong to one entry."""
        extra = [self._waiting.pop() for _ in range(len(self._waiting) - self._max_waiting)]
        for repair in reversed(extra):
            self.count(repair.end, repair.problem.line or 1, repair.problem.severity)

    @property
    def remaining(self) -> int:
        """How many may be passed to count_reported()."""
        return min(self._max_reported, self._left) if self.is_empty else 0

    def count_reported(self, count: int) -> None:
        """Counts repairs that were reported without the log."""
        self._left -= count

    @property
    def is_empty(self) -> bool:
        """Whether no repair is logged."""
        return not self._waiting and not self._ends

    @property
    def is_full(self) -> bool:
        """Whether further repairs of the same entry need only count()."""
        return len(self._waiting) >= self._max_waiting

    def count(self, end: int, line: int, severity: Severity) -> None:
        """Appends one of which only end and line are kept."""
        self._ends.append(end)
        self._lines.append(-line if severity == "error" else line)

    def take(self, until: int | None) -> list[Problem]:
        """Removes those up to the offset `until` of the repaired bytes, None: all; their Problems."""
        problems, lines = self._pop_until(until)
        count = len(lines)
        if len(problems) + count <= self._max_reported:
            return problems
        rest = problems[self._max_reported - 1 :]
        count += len(rest)
        is_error = any(problem.severity == "error" for problem in rest) or any(line < 0 for line in lines)
        severity: Severity = "error" if is_error else "warning"
        line = rest[0].line if rest else abs(lines[0])
        what = f"{count:,} more places were repaired; raise max_entry_problems to see each"
        return [*problems[: self._max_reported - 1], report("S01", what, severity=severity, line=line)]

    def discard(self, until: int | None) -> bool:
        """Removes those up to `until` unreported, as their bytes are lost; whether one was an error."""
        problems, lines = self._pop_until(until)
        return any(problem.severity == "error" for problem in problems) or any(line < 0 for line in lines)

    def _pop_until(self, until: int | None) -> tuple[list[Problem], array[int]]:
        """Removes those up to `until`: the Problems, and the lines of those without one."""
        problems: list[Problem] = []
        while self._waiting and (until is None or self._waiting[0].end <= until):
            problems.append(self._waiting.popleft().problem)
        count = 0
        while count < len(self._ends) and (until is None or self._ends[count] <= until):
            count += 1
        lines = self._lines[:count]
        del self._ends[:count], self._lines[:count]
        taken = len(problems) + count
        if self.limit_line is None and taken > self._left:
            over = self._left
            self.limit_line = problems[over].line if over < len(problems) else abs(lines[over - len(problems)])
        self._left -= taken
        return problems, lines
