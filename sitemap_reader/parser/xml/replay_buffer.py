"""The bytes that expat was shown and a restart may need again, all behind the last complete entry; and those to come.

Offsets count from their beginning. Two counts go through a whole document: that of the parser, which begins anew with
each restart, and that of the mended bytes (mending.py), which knows nothing of edits. Both are kept in step here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.limits import over_limit
from ...model.problems import Problem, placed
from .errors import EVENT, Stop
from .recovery.edits import Repair, RepairLog
from .scan import tag_end

if TYPE_CHECKING:
    from ...model.limits import Limits
    from .elements import Entry
    from .errors import Budget
    from .recovery.edits import Edit


class ReplayBuffer:
    """`data` begins on `line`, and at `base` of the parser's count, which was `shown` so many bytes of it.

    Up to `straight` it was set straight by edits.

    `counted` bytes before it count for max_entry_bytes: those of the last tag outside entries.
    """

    def __init__(self, line: int, max_entry_bytes: int) -> None:
        self.data = bytearray()
        self.line = line
        self.base = self.shown = 0
        self.straight = 0
        self.counted = 0
        self._max_entry_bytes = max_entry_bytes
        self._to_mended = 0  # what to add to the parser's count to get that of the mended bytes

    def __len__(self) -> int:
        return len(self.data)

    @property
    def end(self) -> int:
        """Where they end in the parser's count."""
        return self.base + len(self.data)

    @property
    def shown_end(self) -> int:
        """Where what expat was shown ends, in its count."""
        return self.base + self.shown

    @property
    def withheld(self) -> int:
        """How many bytes expat has not been shown yet."""
        return len(self.data) - self.shown

    def show(self, most: int) -> bytes:
        """The next bytes that expat is shown."""
        piece = bytes(self.data[self.shown : self.shown + most])
        self.shown += len(piece)
        return piece

    def line_at(self, offset: int) -> int:
        """The line of the document."""
        return self.line + self.data.count(b"\n", 0, offset)

    def offset(self, index: int) -> int:
        """The offset of an index of the parser's count."""
        return index - self.base

    def mended(self, index: int) -> int:
        """An index of the parser's count in that of the mended bytes."""
        return index + self._to_mended

    def written_at(self, index: int) -> bytes:
        """The tag that begins at an index of the parser's count, as written, on one line."""
        start = self.offset(index)
        return bytes(self.data[start : tag_end(self.data, start)]).replace(b"\n", b" ")

    def written_before(self, index: int) -> bytes:
        """The two bytes before it."""
        offset = self.offset(index)
        return bytes(self.data[max(0, offset - 2) : offset])

    def drop(self, count: int) -> None:
        """Forgets the first bytes."""
        self.line += self.data.count(b"\n", 0, count)
        del self.data[:count]
        self.base += count
        self.shown = max(0, self.shown - count)
        self.straight = max(0, self.straight - count)

    def forget_up_to(self, event: int, *, is_tag: bool) -> None:
        """All that stands before an event at this index of the parser's count; with its tag, if it is one."""
        end = self.offset(event)
        self.drop(tag_end(self.data, end) if is_tag else end)
        self.counted = self.base - event

    def is_too_long(self, index: int) -> bool:
        """Whether what has not ended by this index of the parser's count has more bytes than an entry may have."""
        return self.counted + self.offset(index) > self._max_entry_bytes

    def too_long(self) -> Stop:
        """Wherever that was noticed, all up to the limit is told, and no more."""
        limit = self._max_entry_bytes
        problem = over_limit("max_entry_bytes", limit, "bytes without the end of an entry", self.line)
        return Stop(problem, self.base - self.counted + limit)

    @property
    def stands_behind_entry(self) -> bool:
        """Whether nothing is pending, behind what has as many bytes as the usual end tag of an entry."""
        return not self.data and not self.straight and self.counted == len(b"</url>")

    def rebase(self, base: int) -> None:
        """A new parser counts from another beginning, and was shown nothing."""
        self._to_mended += self.base - base
        self.base, self.shown = base, 0

    def begin_mending(self) -> None:
        """From the first of them on all bytes are counted as mended ones."""
        self._to_mended = -self.base

    def carry_out(self, edits: list[Edit], end: int | None) -> list[Repair]:
        """Carries out the edits, in their order; up to `end` the bytes are straight then. What there is to report."""
        growth = sum(len(edit.replacement) - (edit.stop - edit.start) for edit in edits)
        self._to_mended -= growth
        self.straight = growth + (self.straight if end is None else end)
        edited, done, line = bytearray(), 0, self.line
        mends: list[Repair] = []
        for edit in edits:
            edited += self.data[done : edit.start]
            line += self.data.count(b"\n", done, edit.start)
            mends.append(Repair(self.mended(self.base + len(edited)), placed(edit.problem, line=line)))
            edited += edit.replacement
            line += self.data.count(b"\n", edit.start, edit.stop)
            done = edit.stop
        self.data[:done] = edited
        return mends


# ----------------------------------------------------------------------------------------------------
# What a document says of its mends: each stands with the entry that it is in, those between entries for themselves.
#
# In: the Mends of a mender, and places in the parser's count up to which something has become certain. What stands in
# bytes that are lost is not told: of these it is said that they are.


class RepairReport:
    """Between begin() and end() of() an entry, release() and forget() take its mends; `out` gets what belongs to none.

    `is_error` once one of them may have cost an entry. Stop where there were too many of them.
    """

    def __init__(self, limits: Limits, budget: Budget, pending: ReplayBuffer, out: list[Entry | Problem]) -> None:
        self.is_error = False
        self._limits = limits
        self._budget = budget
        self._pending = pending
        self._out = out
        self._mends: RepairLog | None = None

    def begin(self) -> RepairLog:
        """From here on there are some: the place for them."""
        self._mends = RepairLog(self._limits.max_entry_problems, self._limits.max_repairs)
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

    def _judge(self, mends: RepairLog, index: int) -> None:
        if mends.over_line is not None:
            limit = self._limits.max_repairs
            raise Stop(over_limit("max_repairs", limit, "places that were mended", mends.over_line), index)

    def _taken(self, mends: RepairLog, until: int | None) -> list[Problem]:
        taken = mends.taken(until)
        self.is_error = self.is_error or any(mend.severity == "error" for mend in taken)
        return taken
