"""What was mended and is still to be told: each place with its Problem, in the order of the bytes, until it is taken.

An entry may have more of them than anybody wants to hear of: those are only counted.
"""

from __future__ import annotations

from array import array
from collections import deque
from operator import attrgetter

import attrs

from ....model.problems import Problem, Severity, report

# So many may wait, each with its Problem. More there are in one entry only, of which so many are never told.
_MAX_WAITING = 10_000


@attrs.define
class Mend:
    """One mended place: where it ends in the mended bytes, and what to report."""

    end: int
    problem: Problem


class Mends:
    """add() and join() put them in; taken() takes them out, no more than `max_told` at once, and counts the rest.

    Of more than `max_taken` in all, `over_line` is where the first stands that is one too many.
    """

    def __init__(self, max_told: int, max_taken: int) -> None:
        self.over_line: int | None = None
        self._left = max_taken
        self._max_told = max_told
        self._max_waiting = max(max_told, _MAX_WAITING)
        self._waiting: deque[Mend] = deque()
        # Of what waits behind them only this is known: where each ends, and its line, below 0 for an error.
        self._ends = array("q")
        self._lines = array("q")

    def add(self, mend: Mend) -> None:
        """One that stands behind all others."""
        self._waiting.append(mend)

    def join(self, mends: list[Mend]) -> None:
        """Repairs of the structure. Most of what waits stands behind them."""
        last = max(mend.end for mend in mends)
        before: list[Mend] = []
        while self._waiting and self._waiting[0].end <= last:
            before.append(self._waiting.popleft())
        self._waiting.extendleft(reversed(sorted((*before, *mends), key=attrgetter("end"))))

    def condense(self) -> None:
        """Between two windows, of which the first was read as far as can be: what waits belongs to one entry."""
        extra = [self._waiting.pop() for _ in range(len(self._waiting) - self._max_waiting)]
        for mend in reversed(extra):
            self.count(mend.end, mend.problem.line or 1, mend.problem.severity)

    @property
    def room(self) -> int:
        """So many may be told_at_once()."""
        return min(self._max_told, self._left) if self.is_empty else 0

    def told_at_once(self, count: int) -> None:
        """So many more were made, and are told without waiting here."""
        self._left -= count

    @property
    def is_empty(self) -> bool:
        """Whether none waits."""
        return not self._waiting and not self._ends

    @property
    def is_full(self) -> bool:
        """Whether more of the same entry need only be counted."""
        return len(self._waiting) >= self._max_waiting

    def count(self, end: int, line: int, severity: Severity) -> None:
        """One more, of which no more is to be told."""
        self._ends.append(end)
        self._lines.append(-line if severity == "error" else line)

    def taken(self, until: int | None) -> list[Problem]:
        """Takes out those up to the offset `until` of the mended bytes; None: all."""
        told, lines = self._out(until)
        count = len(lines)
        if len(told) + count <= self._max_told:
            return told
        rest = told[self._max_told - 1 :]
        count += len(rest)
        is_error = any(problem.severity == "error" for problem in rest) or any(line < 0 for line in lines)
        severity: Severity = "error" if is_error else "warning"
        line = rest[0].line if rest else abs(lines[0])
        what = f"{count:,} more places were mended; raise max_entry_problems to be told of each"
        return [*told[: self._max_told - 1], report("S01", what, severity=severity, line=line)]

    def forget(self, until: int | None) -> bool:
        """Takes them out untold: what they mended is lost. Whether there was an error among them."""
        told, lines = self._out(until)
        return any(problem.severity == "error" for problem in told) or any(line < 0 for line in lines)

    def _out(self, until: int | None) -> tuple[list[Problem], array[int]]:
        """Those up to there, and the lines of those that are only counted."""
        told: list[Problem] = []
        while self._waiting and (until is None or self._waiting[0].end <= until):
            told.append(self._waiting.popleft().problem)
        count = 0
        while count < len(self._ends) and (until is None or self._ends[count] <= until):
            count += 1
        lines = self._lines[:count]
        del self._ends[:count], self._lines[:count]
        taken = len(told) + count
        if self.over_line is None and taken > self._left:
            over = self._left
            self.over_line = told[over].line if over < len(told) else abs(lines[over - len(told)])
        self._left -= taken
        return told, lines
