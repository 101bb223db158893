"""How XML is read on where it is damaged: a Fault and the pending bytes in, those to go on with left pending.

At the first fault the characters are mended, from there to the end (mending.py); at further ones the entry is set
straight (repair.py); where that does not help, reading goes on at the next entry, and it is said what was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....model.limits import over_limit
from ....model.problems import Problem, report
from ..errors import ENDED_EARLY, LANDMARK, MOVED, UNBOUND_PREFIX, UNCLOSED_SECTION, Fault, Stop
from ..scan import declared_prefixes, end_tag, epilog_end, next_landmark, tag_name, unbound_prefixes
from .characters import CharacterRepair
from .edits import Edit
from .structure import StructureRepair

if TYPE_CHECKING:
    from ....model.limits import Limits
    from ..entry_builder import Builder
    from ..errors import Budget
    from ..expat_driver import Driver
    from ..replay_buffer import RepairReport, ReplayBuffer


# ----------------------------------------------------------------------------------------------------
# Prefixes that nobody declared: which ones a tag uses, and what declares them for the rest of the document.


class Prefixes:
    """Declares no more than `limit` of them; each is read as what it usually means, or as a namespace of its own."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._declared: set[str] = set()

    def declare(self, data: bytes | bytearray, fault: Fault, builder: Builder) -> list[Edit]:
        """At the root, through `builder`, or in the root's tag; the edits that say so, none where that is no help."""
        prefixes = unbound_prefixes(data, fault.position) - self._declared - builder.declared
        before = declared_prefixes(data[: fault.position])  # by the entry, around the tag or beside it
        prefixes = prefixes - before or prefixes
        if len(self._declared) + len(prefixes) > self._limit:
            fault.limit = "max_prefixes"
            return []
        self._declared |= prefixes
        edits = []
        for prefix in sorted(prefixes):
            namespace = builder.prefixes.get(prefix) or f"urn:unbound:{prefix}"
            attribute = f' xmlns:{prefix}="{namespace}"'.encode()
            message = f'the prefix "{prefix}" is not declared, it was read as {namespace}'
            problem = report("S01", message, severity="warning")
            place = fault.position + 1 + len(tag_name(data, fault.position))
            edits.append(Edit(place, place, b"" if builder.root_seen else attribute, problem))
            if builder.root_seen:
                builder.declare(attribute)
        return edits


# A fault counts once more for so many bytes of the tags around, which a new parser reads again, and for so many edits
# that were of no help.
_HEAD_BYTES = 4096
_EDITS = 10
# What may have begun and not ended when the bytes do.
_UNENDED = {b"<!--": "a comment", b"<?": "a processing instruction"}


class Recovery:
    """recover() from a fault: then the driver goes on with what is pending. False: not yet, it `is_waiting` for more.

    That comes among the pending bytes; then look_again() says what recover() did not. `complete` is False once an
    entry was lost, `stopped` once nothing more is read, `cut` where the bytes ended before the root element did. Behind
    the first fault the bytes go through `mender`. `final`: no more bytes come.
    """

    def __init__(
        self,
        limits: Limits,
        budget: Budget,
        pending: ReplayBuffer,
        told: RepairReport,
        builder: Builder,
        driver: Driver,
    ) -> None:
        self.complete = True
        self.stopped = False
        self.cut = False
        self.mender: CharacterRepair | None = None
        self._limits = limits
        self._budget = budget
        self._pending = pending
        self._told = told
        self._builder = builder
        self._driver = driver
        self._straightener: StructureRepair | None = None  # while it waits for the rest of its entry
        self._fault: Fault | None = None  # the one that it is there for
        self._wake_bytes = 0  # how much has to be pending before it pays to look again
        self._reached = -1  # up to where all bytes were set straight, in the mender's count
        self._faults = 0  # where the structure broke, by what it cost
        self._prefixes = Prefixes(limits.max_prefixes)
        self._skipping = False
        self._endless: set[bytes] = set()  # names that no end tag to come has
        self._behind_root = False  # skipping what stands behind the end of the root element

    @property
    def is_waiting(self) -> bool:
        """Whether it needs more bytes: the rest of an entry, or the next one."""
        return self._skipping or self._straightener is not None

    def recover(self, fault: Fault, *, final: bool) -> bool:
        """Whether there is something to go on with after a fault."""
        if self._pending.is_too_long(self._pending.base + fault.position):
            raise self._pending.too_long()
        is_over = self._builder.is_over
        if final and fault.code in ENDED_EARLY and not is_over:
            self._cut_short(fault)
            return False
        if self.mender is None and not is_over:
            return self._mend(final=final)
        self._count(fault, 1 + self._driver.head_bytes // _HEAD_BYTES)
        if is_over:
            return self._leave_root(fault, final=final)
        if fault.code == UNCLOSED_SECTION:
            return self._lose(fault, 0, final=final)
        if fault.code == UNBOUND_PREFIX:
            self._budget.spend(self._driver.head_bytes + fault.position)  # where it might be declared
            if edits := self._prefixes.declare(self._pending.data, fault, self._builder):
                return self._carry_out(edits)
        if fault.position < self._pending.straight:  # it was set straight before, and that was not enough
            return self._lose(fault, 0, final=final)
        self._fault, self._straightener = fault, self._straightener_for(fault)
        return self._straighten(final=final)

    def look_again(self, *, final: bool) -> bool:
        """For the end of what is waited for; only when there is twice as much, so that time stays linear."""
        longest = self._limits.max_entry_bytes + self._limits.max_token_bytes
        if len(self._pending) < min(self._wake_bytes, longest) and not final:
            return False
        goes_on = self._skip(0, final=final) if self._skipping else self._straighten(final=final)
        self._wake_bytes = 0 if goes_on else 2 * len(self._pending)
        return goes_on

    def stop(self, problem: Problem, index: int) -> None:
        """Reading ends at this index of expat's count: of no interest is what was mended behind it, or for nothing."""
        if self._builder.root_seen:
            self._told.release(self._pending.offset(index))
        self._builder.out.append(problem)
        self._end()

    def _end(self) -> None:
        """Nothing more is read, and what is still to be told of mends stands in what is lost."""
        self._told.end()
        self.mender = None
        self.complete = False
        self.stopped = True

    def _count(self, fault: Fault, cost: int) -> None:
        """If faults were not counted, each by what it costs, a few kilobytes of them could cost minutes."""
        self._faults += cost
        if self._faults > self._limits.max_faults:
            what = "places where the markup breaks"
            problem = over_limit("max_faults", self._limits.max_faults, what, fault.line)
            raise Stop(problem, self._pending.base + fault.position)

    def _leave_root(self, fault: Fault, *, final: bool) -> bool:
        # A quote begins a literal to expat here: it goes on to the next one.
        position = epilog_end(self._pending.data, fault.position)
        what = "there is more behind the end of the root element"
        self._told.release(position)
        self._builder.out.append(report("S01", what, line=self._pending.line_at(position), severity="warning"))
        self._behind_root = True
        return self._skip(position, final=final)

    def _cut_short(self, fault: Fault) -> None:
        """The bytes have run out; what is whole of the last entry is not lost with the rest."""
        what = "reading ends before the root element does"
        for opening, name in _UNENDED.items():
            if self._pending.data.startswith(opening, fault.position):
                what = f"{name} never ends: what is behind its beginning is lost"
        self.cut = True
        self._give_open_entry(fault, report("S01", what, line=fault.line))
        self._end()

    def _give_open_entry(self, fault: Fault, problem: Problem) -> bool:
        """Gives the fields of the entry at fault that were whole by then, with the problem; or that alone."""
        ends = fault.code in ENDED_EARLY and self._pending.data.startswith(b"</", fault.position)
        entry = self._builder.take_open_entry(self._pending.base + fault.position, ends=ends)
        self._told.release(fault.position)
        if entry is None:
            self._builder.out.append(problem)
            return False
        entry.problems += (problem,)
        self._builder.out.append(entry)
        return True

    def _mend(self, *, final: bool) -> bool:
        """The first fault: from the last complete entry on, every byte goes through the mender."""
        self._pending.begin_mending()
        mends, longest = self._told.begin(), self._limits.max_token_bytes
        self.mender = CharacterRepair(self._pending.line, mends, longest, self._budget)
        self._pending.data[:] = self.mender.feed(bytes(self._pending.data), final=final)
        return self._restart()

    def _restart(self) -> bool:
        """A new parser takes what is pending."""
        self._driver.restart()
        return True

    def _straightener_for(self, fault: Fault) -> StructureRepair:
        names, limits, budget = self._builder.names, self._limits, self._budget
        if fault.misplaced and fault.misplaced.loose_entry:
            prefix, colon, _ = tag_name(self._pending.data, fault.position).rpartition(b":")
            loose = prefix + colon + fault.misplaced.loose_entry.encode()
            return StructureRepair(fault.position, fault.position, names, limits, budget, inside=True, loose=loose)
        self._budget.look(self._pending.data, 0, fault.position, LANDMARK)
        entry = next_landmark(self._pending.data, 0, fault.position + 1, ends=False).found
        inside = entry is not None and entry < fault.position and self._builder.root_seen
        behind_entry = self._builder.behind_entry
        start = entry or 0 if inside else 0
        return StructureRepair(start, fault.position, names, limits, budget, inside=inside, behind_entry=behind_entry)

    def _straighten(self, *, final: bool) -> bool:
        """Sets the entry at fault straight, once all of it is there."""
        straightener, fault = self._straightener, self._fault
        if straightener is None or fault is None:
            return False
        is_ready, base = straightener.go_on(self._pending.data), self._pending.base
        reached = base + (straightener.at if straightener.end is None else straightener.end)
        if not is_ready:  # what has not ended has no more bytes than a token may have
            reached = max(reached, self._pending.end - self._limits.max_token_bytes)
        if self._pending.is_too_long(reached):
            raise self._pending.too_long()
        if not is_ready:
            if final:
                self._cut_short(fault)
            return False
        self._straightener = None
        end = straightener.end or straightener.begun_again
        fault.limit = straightener.limit or fault.limit
        # Where nothing behind the fault is settled, the same fault would come again.
        reached = self._pending.mended(reached)
        # Each time it has to get further than before, or it might go on for ever.
        if straightener.hopeless or not straightener.edits or reached <= self._reached:
            self._count(fault, len(straightener.edits) // _EDITS)
            return self._lose(fault, end, is_void=straightener.is_void, final=final)
        self._reached = reached
        return self._carry_out(straightener.edits.in_order, end)

    def _carry_out(self, edits: list[Edit], end: int | None = None) -> bool:
        """Carries out the edits, in their order, and starts again. Up to `end` the bytes are straight then."""
        self._budget.spend(len(self._pending) // MOVED)
        mends = self._pending.carry_out(edits, end)
        if self.mender:
            self.mender.mends.join(mends)
        return self._restart()

    def _lose(self, fault: Fault, end: int, *, is_void: bool = False, final: bool) -> bool:
        """Gives up what is left of the entry at fault, up to `end` at least; if `is_void` all of it."""
        if not self._builder.root_seen:
            raise Stop(fault.before_root, self._pending.base + fault.position)
        problem = fault.lost
        if is_void:
            self._told.release(fault.position)
            self._builder.out.append(problem)
        if is_void or not self._give_open_entry(fault, problem):
            self.complete = False
        if fault.code == UNCLOSED_SECTION:  # what stands in it up to the end of its element is text
            self._driver.sections_end = not final
            end = max(end, self._section_end_tag(fault.position, final=final))
        if fault.misplaced and fault.misplaced.section_end:
            end = max(end, self._pending.offset(fault.misplaced.section_end))
        return self._skip(max(fault.next_position, end), final=final)

    def _section_end_tag(self, start: int, *, final: bool) -> int:
        """Where the element ends, or the next of its name, in which a CDATA section has begun there; -1: nowhere."""
        name = self._builder.section_of.encode()
        if name in self._endless:
            return -1
        end = end_tag(self._pending.data, start, name)
        self._budget.look(self._pending.data, start, len(self._pending) if end < 0 else end, 1)
        if end < 0 and final:
            self._endless.add(name)
        return end

    def _skip(self, start: int, *, final: bool) -> bool:
        """Goes on from the next entry, or the end of the root element; False while there is none."""
        location = self._builder.location
        if self._behind_root and location.endswith(b"link"):  # HTML's
            location = b""
        longest, ends = self._limits.max_token_bytes, not self._behind_root
        landmark = next_landmark(self._pending.data, start, ends=ends, location=location, longest=longest)
        reached = len(self._pending) if landmark.found is None else landmark.found
        self._budget.look(self._pending.data, start, reached, LANDMARK)
        if landmark.passed_location:
            self.complete = False
        self._skipping = landmark.found is None
        passed = min(landmark.searched, len(self._pending)) if landmark.found is None else landmark.found
        self._told.forget(None if final and landmark.found is None else passed)
        if landmark.found is None:
            self._pending.drop(passed)
            if landmark.is_aside and len(self._pending) > longest:
                raise Stop(self._driver.endless_token(self._pending.base), self._pending.base)
            self.stopped = final
            self.complete = self.complete and (self._behind_root or not final)
            return False
        self._behind_root, self._pending.counted = False, 0
        self._pending.drop(passed)
        return self._restart()
