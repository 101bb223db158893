"""What has to be changed in damaged bytes: offsets and replacements, each with the Problem that says so.

An edit is sure where it undoes one slip of the hand: a warning. Where it is not, more than anybody can know of may be
gone: an error.
"""

from __future__ import annotations

from array import array
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs

from ....model.problems import Problem, Severity, report
from ..scan import controls_back
from .tokenizer import blank, shown

if TYPE_CHECKING:
    from .tokenizer import Token


@attrs.frozen
class Edit:
    """Bytes to put in the place of those from `start` to `stop`, and the mend to report."""

    start: int
    stop: int
    replacement: bytes
    problem: Problem


class Edits:
    """The edits of one piece, in the making; `in_order` is how they are carried out."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._starts: set[int] = set()

    def __len__(self) -> int:
        return len(self._edits)

    @property
    def in_order(self) -> list[Edit]:
        """In the order of the bytes; more than one may begin at the same."""
        return sorted(self._edits, key=lambda edit: edit.start)

    def has(self, start: int) -> bool:
        """Whether one begins there."""
        return start in self._starts

    def put(self, where: int, written: bytes, place: str, *, sure: bool = True) -> None:
        """Something is missing."""
        self.add(where, where, written, f"{shown(written)} is missing: it was put {place}", sure=sure)

    def read_as(self, token: Token, text: bytes, *, sure: bool = True) -> None:
        """Something is meant for something else."""
        self._replace(token, text, f"{shown(token.written)} was read as {shown(text)}", sure=sure)

    def pass_over(self, token: Token, what: str, *, code: str = "S01", sure: bool = True) -> None:
        """Something means nothing."""
        message = f"{shown(token.written)} {what}: it was passed over"
        self._replace(token, blank(token.written), message, code=code, sure=sure)

    def _replace(self, token: Token, text: bytes, message: str, *, code: str = "S01", sure: bool = True) -> None:
        lines = token.written.count(b"\n") - text.count(b"\n")  # so that the lines behind it keep their numbers
        self.add(token.start, token.end, text + b"\n" * lines, message, token.written, code=code, sure=sure)

    def add(
        self, start: int, stop: int, text: bytes, what: str, raw: bytes = b"", *, code: str = "S01", sure: bool = True
    ) -> None:
        """Anything else, with words of its own."""
        severity: Severity = "warning" if sure else "error"
        message = what if sure else f"{what}; more may be lost"
        self._starts.add(start)
        written = controls_back(raw.decode("utf-8", "ignore")) or None
        self._edits.append(Edit(start, stop, text, report(code, message, severity=severity, raw=written)))


# ----------------------------------------------------------------------------------------------------
# What was mended and is still to be told: each place with its Problem, in the order of the bytes, until it is taken.
#
# An entry may have more of them than anybody wants to hear of: those are only counted.


# So many may wait, each with its Problem. More there are in one entry only, of which so many are never told.
_MAX_WAITING = 10_000


@attrs.define
class Repair:
    """One mended place: where it ends in the mended bytes, and what to report."""

    end: int
    problem: Problem


class RepairLog:
    """add() and join() put them in; taken() takes them out, no more than `max_told` at once, and counts the rest.

    Of more than `max_taken` in all, `over_line` is where the first stands that is one too many.
    """

    def __init__(self, max_told: int, max_taken: int) -> None:
        self.over_line: int | None = None
        self._left = max_taken
        self._max_told = max_told
        self._max_waiting = max(max_told, _MAX_WAITING)
        self._waiting: deque[Repair] = deque()
        # Of what waits behind them only this is known: where each ends, and its line, below 0 for an error.
        self._ends = array("q")
        self._lines = array("q")

    def add(self, mend: Repair) -> None:
        """One that stands behind all others."""
        self._waiting.append(mend)

    def join(self, mends: list[Repair]) -> None:
        """Repairs of the structure. Most of what waits stands behind them."""
        last = max(mend.end for mend in mends)
        before: list[Repair] = []
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
        what = f"{count:,} more places were mended; raise max_entry_problems to see each"
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
