"""What a document says of its mends: each stands with the entry that it is in, those between entries for themselves.

In: the Mends of a mender, and places in the parser's count up to which something has become certain. What stands in
bytes that are lost is not told: of these it is said that they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.problems import Problem, over_limit
from .budget import EVENT
from .errors import Stop
from .recovery.mends import Mends

if TYPE_CHECKING:
    from ...model.limits import Limits
    from .budget import Budget
    from .elements import Entry
    from .replay_buffer import Pending


class Told:
    """Between begin() and end() of() an entry, release() and forget() take its mends; `out` gets what belongs to none.

    `is_error` once one of them may have cost an entry. Stop where there were too many of them.
    """

    def __init__(self, limits: Limits, budget: Budget, pending: Pending, out: list[Entry | Problem]) -> None:
        self.is_error = False
        self._limits = limits
        self._budget = budget
        self._pending = pending
        self._out = out
        self._mends: Mends | None = None

    def begin(self) -> Mends:
        """From here on there are some: the place for them."""
        self._mends = Mends(self._limits.max_entry_problems, self._limits.max_repairs)
        return self._mends

    def end(self) -> None:
        """What is mended from here on is of no interest."""
        self._mends = None

    def of(self, end: int, first_line: int) -> tuple[Problem, ...]:
        """Those of what ends at `end` and began on this line; those before it go out for themselves."""
        self._budget.count(EVENT)
        if self._mends is None:
            return ()
        mends = self._taken(self._mends, self._pending.mended(end))
        self._judge(self._mends, end)
        self._out += [mend for mend in mends if (mend.line or 0) < first_line]
        return tuple(mend for mend in mends if (mend.line or 0) >= first_line)

    def release(self, position: int | None) -> None:
        """Those up to this offset of what is pending go out; None: all."""
        if self._mends is not None:
            until = None if position is None else self._pending.mended(self._pending.base + position)
            self._out += self._taken(self._mends, until)

    def forget(self, position: int | None) -> None:
        """Those up to there stand in what is lost."""
        if self._mends is not None:
            index = self._pending.end if position is None else self._pending.base + position
            is_error = self._mends.forget(None if position is None else self._pending.mended(index))
            self.is_error = self.is_error or is_error
            self._judge(self._mends, index)

    def _judge(self, mends: Mends, index: int) -> None:
        if mends.over_line is not None:
            limit = self._limits.max_repairs
            raise Stop(over_limit("max_repairs", limit, "places that were mended", mends.over_line), index)

    def _taken(self, mends: Mends, until: int | None) -> list[Problem]:
        taken = mends.taken(until)
        self.is_error = self.is_error or any(mend.severity == "error" for mend in taken)
        return taken
