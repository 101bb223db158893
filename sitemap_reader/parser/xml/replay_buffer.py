"""Bytes since the last complete entry, kept so that another parser can read them again, and repairs not yet reported.

Offsets are relative to the buffer. The buffer converts between two counts over the whole document: expat's byte index,
which starts anew with each parser, and the count of bytes that recovery/characters.py gave, which ignores edits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.limits import over_limit
from ...model.problems import Problem, placed
from .errors import EVENT_STEPS, Stop
from .recovery.edits import Repair, RepairLog
from .scan import tag_end

if TYPE_CHECKING:
    from ...model.limits import Limits
    from .elements import Entry
    from .errors import Budget
    from .recovery.edits import Edit


class ReplayBuffer:
    """`data` begins on `line` of the document and at index `base` of the parser, which was given `shown` bytes of it.

    Up to `repaired_end` the structure was repaired by edits. `counted` bytes before `data` count for max_entry_bytes:
    those of the last tag outside entries.
    """

    def __init__(self, line: int, max_entry_bytes: int) -> None:
        self.data = bytearray()
        self.line = line
        self.base = self.shown = 0
        self.repaired_end = 0
        self.counted = 0
        self._max_entry_bytes = max_entry_bytes
        self._to_repaired = 0  # added to an index of the parser, gives one of the repaired bytes

    def __len__(self) -> int:
        return len(self.data)

    @property
    def end(self) -> int:
        """The parser's index of the end of the buffer."""
        return self.base + len(self.data)

    @property
    def shown_end(self) -> int:
        """The parser's index up to which it was given bytes."""
        return self.base + self.shown

    @property
    def unshown(self) -> int:
        """How many bytes the parser has not been given yet."""
        return len(self.data) - self.shown

    def show(self, max_bytes: int) -> bytes:
        """The next bytes for the parser, which count as shown."""
        piece = bytes(self.data[self.shown : self.shown + max_bytes])
        self.shown += len(piece)
        return piece

    def line_at(self, offset: int) -> int:
        """The line of the document at an offset."""
        return self.line + self.data.count(b"\n", 0, offset)

    def offset(self, index: int) -> int:
        """The offset of a parser's index."""
        return index - self.base

    def repaired_index(self, index: int) -> int:
        """The parser's index as one of the repaired bytes."""
        return index + self._to_repaired

    def tag_at(self, index: int) -> bytes:
        """The tag that begins at a parser's index, as written, on one line."""
        start = self.offset(index)
        return bytes(self.data[start : tag_end(self.data, start)]).replace(b"\n", b" ")

    def bytes_before(self, index: int) -> bytes:
        """The two bytes before a parser's index."""
        offset = self.offset(index)
        return bytes(self.data[max(0, offset - 2) : offset])

    def drop(self, count: int) -> None:
        """Removes the first bytes."""
        self.line += self.data.count(b"\n", 0, count)
        del self.data[:count]
        self.base += count
        self.shown = max(0, self.shown - count)
        self.repaired_end = max(0, self.repaired_end - count)

    def forget_up_to(self, event: int, *, is_tag: bool) -> None:
        """Removes all before the event at a parser's index; with its tag, if it is one."""
        end = self.offset(event)
        self.drop(tag_end(self.data, end) if is_tag else end)
        self.counted = self.base - event

    def is_too_long(self, index: int) -> bool:
        """Whether an entry that is still open at a parser's index has more than max_entry_bytes."""
        return self.counted + self.offset(index) > self._max_entry_bytes

    def too_long(self) -> Stop:
        """The exception for it, with the index of the limit: the report does not depend on how the bytes are cut."""
        limit = self._max_entry_bytes
        problem = over_limit("max_entry_bytes", limit, "bytes without the end of an entry", self.line)
        return Stop(problem, self.base - self.counted + limit)

    @property
    def is_at_entry_end(self) -> bool:
        """Whether the buffer is empty behind an end tag, so that no restart would read any of it again."""
        return not self.data and not self.repaired_end and self.counted > 0

    def rebase(self, base: int) -> None:
        """Makes `base` the index at which a new parser, which was given nothing yet, reads on."""
        self._to_repaired += self.base - base
        self.base, self.shown = base, 0

    def begin_character_repair(self) -> None:
        """From the first byte of the buffer on all bytes count as repaired ones."""
        self._to_repaired = -self.base

    def apply(self, edits: list[Edit], end: int | None) -> list[Repair]:
        """Applies edits in the order of their offsets, and moves repaired_end to `end`; the repairs to report."""
        growth = sum(len(edit.replacement) - (edit.stop - edit.start) for edit in edits)
        self._to_repaired -= growth
        self.repaired_end = growth + (self.repaired_end if end is None else end)
        edited, done, line = bytearray(), 0, self.line
        repairs: list[Repair] = []
        for edit in edits:
            edited += self.data[done : edit.start]
            line += self.data.count(b"\n", done, edit.start)
            repairs.append(Repair(self.repaired_index(self.base + len(edited)), placed(edit.problem, line=line)))
            edited += edit.replacement
            line += self.data.count(b"\n", edit.start, edit.stop)
            done = edit.stop
        self.data[:done] = edited
        return repairs


class RepairReport:
    """Assigns the Problems of repairs to the entry that they are in; those between entries go to `out`.

    Repairs in bytes that are skipped are not reported: one Problem says that those bytes are lost. `is_error` is True
    once a repair may have cost an entry. Raises Stop where there were more than max_repairs.
    """

    def __init__(self, limits: Limits, budget: Budget, buffer: ReplayBuffer, out: list[Entry | Problem]) -> None:
        self.is_error = False
        self._limits = limits
        self._budget = budget
        self._buffer = buffer
        self._out = out
        self._repairs: RepairLog | None = None

    def start(self) -> RepairLog:
        """The log for the repairs from here on."""
        self._repairs = RepairLog(self._limits.max_entry_problems, self._limits.max_repairs)
        return self._repairs

    def end(self) -> None:
        """Discards all repairs that are not reported yet, and those to come."""
        self._repairs = None

    def take_for_entry(self, end: int, first_line: int) -> tuple[Problem, ...]:
        """The Problems of an entry from `first_line` to the parser's index `end`; those before it go to `out`."""
        self._budget.count(EVENT_STEPS)
        if self._repairs is None:
            return ()
        repairs = self._take_problems(self._repairs, self._buffer.repaired_index(end))
        self._check_limit(self._repairs, end)
        self._out += [repair for repair in repairs if (repair.line or 0) < first_line]
        return tuple(repair for repair in repairs if (repair.line or 0) >= first_line)

    def emit_until(self, position: int | None) -> None:
        """Moves those up to an offset of the buffer to `out`; None: all."""
        if self._repairs is not None:
            until = None if position is None else self._buffer.repaired_index(self._buffer.base + position)
            self._out += self._take_problems(self._repairs, until)

    def discard_until(self, position: int | None) -> None:
        """Discards those up to an offset of the buffer, as these bytes are skipped; None: all."""
        if self._repairs is not None:
            index = self._buffer.end if position is None else self._buffer.base + position
            is_error = self._repairs.discard(None if position is None else self._buffer.repaired_index(index))
            self.is_error = self.is_error or is_error
            self._check_limit(self._repairs, index)

    def _check_limit(self, repairs: RepairLog, index: int) -> None:
        if repairs.limit_line is not None:
            limit = self._limits.max_repairs
            raise Stop(over_limit("max_repairs", limit, "places that were repaired", repairs.limit_line), index)

    def _take_problems(self, repairs: RepairLog, until: int | None) -> list[Problem]:
        problems = repairs.take(until)
        self.is_error = self.is_error or any(problem.severity == "error" for problem in problems)
        return problems
