"""The Problems of repairs, from where they are made to the entry that they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.limits import advice, over_limit
from ...model.problems import Problem, Severity, report
from .errors import Stop

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Kind


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
            raise Stop(over_limit("max_repairs", self._max_repairs, "places that were repaired", line))
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
