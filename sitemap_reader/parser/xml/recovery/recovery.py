"""Recovery from markup that is not well-formed: an XmlFault and the replay buffer in, a buffer that can be parsed out.

At the first fault, character repair is switched on for the rest of the document (characters.py). At further ones
undeclared prefixes are declared, or the structure of the entry is repaired (structure.py). Where that fails, the entry
is skipped with a Problem, and reading goes on at the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....model.limits import over_limit
from ....model.problems import Problem, report
from ..errors import (
    CANDIDATE_STEPS,
    ENDED_EARLY,
    MOVED_BYTES_PER_STEP,
    UNBOUND_PREFIX,
    UNCLOSED_SECTION,
    Stop,
    XmlFault,
)
from ..scan import declared_prefixes, end_tag, epilog_end, next_resume_point, tag_name, unbound_prefixes
from .characters import CharacterRepair
from .edits import Edit
from .structure import StructureRepair

if TYPE_CHECKING:
    from ....model.limits import Limits
    from ..entry_builder import EntryBuilder
    from ..errors import Budget
    from ..expat_driver import ExpatDriver
    from ..replay_buffer import RepairReport, ReplayBuffer


class UndeclaredPrefixes:
    """Declares prefixes that a document uses and does not declare, no more than `limit` of them.

    A prefix such as `image` gets its usual namespace, any other one a namespace of its own.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._declared: set[str] = set()

    def declare(self, data: bytes | bytearray, fault: XmlFault, builder: EntryBuilder) -> list[Edit]:
        """Declares the prefixes of the tag at fault on the root; no edits where none are missing, or too many."""
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


# A fault counts once more for each so many bytes of ancestors' tags, which a new parser reads again, and for each so
# many edits that did not help.
_HEAD_BYTES = 4096
_EDITS = 10
# Constructs that may be unended where the bytes end.
_UNENDED = {b"<!--": "a comment", b"<?": "a processing instruction"}


class Recovery:
    """recover() returns True where the driver can go on with the buffer, False where it `is_waiting` for more bytes.

    With more bytes in the buffer, resume() returns the same. `complete` is False once an entry was lost, `stopped` once
    reading has ended, `cut` where the bytes ended before the root element did. From the first fault on all bytes go
    through `character_repair`. `final`: no more bytes come.
    """

    def __init__(
        self,
        limits: Limits,
        budget: Budget,
        buffer: ReplayBuffer,
        repair_report: RepairReport,
        builder: EntryBuilder,
        driver: ExpatDriver,
    ) -> None:
        self.complete = True
        self.stopped = False
        self.cut = False
        self.character_repair: CharacterRepair | None = None
        self._limits = limits
        self._budget = budget
        self._buffer = buffer
        self._repair_report = repair_report
        self._builder = builder
        self._driver = driver
        self._structure_repair: StructureRepair | None = None  # while it needs the rest of its entry
        self._fault: XmlFault | None = None  # the one that it repairs
        self._wake_bytes = 0  # size of the buffer from which on resume() tries again
        self._reached = -1  # up to where the structure was repaired, an index of the repaired bytes
        self._faults = 0  # weighted by their cost
        self._prefixes = UndeclaredPrefixes(limits.max_prefixes)
        self._is_skipping = False
        self._unended_names: set[bytes] = set()  # names without an end tag in the rest of the document
        self._after_root = False  # skipping what follows the root element

    @property
    def is_waiting(self) -> bool:
        """Whether it needs more bytes: the rest of the entry, or the next one."""
        return self._is_skipping or self._structure_repair is not None

    def recover(self, fault: XmlFault, *, final: bool) -> bool:
        """Repairs or skips what is at fault; whether parsing can go on."""
        if self._buffer.is_too_long(self._buffer.base + fault.position):
            raise self._buffer.too_long()
        is_over = self._builder.is_over
        if final and fault.code in ENDED_EARLY and not is_over:
            self._end_early(fault)
            return False
        if self.character_repair is None and not is_over:
            return self._start_character_repair(final=final)
        self._count(fault, 1 + self._driver.head_bytes // _HEAD_BYTES)
        if is_over:
            return self._skip_epilog(fault, final=final)
        if fault.code == UNCLOSED_SECTION:
            return self._skip_entry(fault, 0, final=final)
        if fault.code == UNBOUND_PREFIX:
            self._budget.spend(self._driver.head_bytes + fault.position)  # the bytes that are searched for declarations
            if edits := self._prefixes.declare(self._buffer.data, fault, self._builder):
                return self._apply(edits)
        if fault.position < self._buffer.repaired_end:  # repaired before, and not enough
            return self._skip_entry(fault, 0, final=final)
        self._fault, self._structure_repair = fault, self._structure_repair_for(fault)
        return self._repair_structure(final=final)

    def resume(self, *, final: bool) -> bool:
        """recover() with more bytes; only tries when they have doubled, so that time stays linear."""
        longest = self._limits.max_entry_bytes + self._limits.max_token_bytes
        if len(self._buffer) < min(self._wake_bytes, longest) and not final:
            return False
        goes_on = self._skip_to_entry(0, final=final) if self._is_skipping else self._repair_structure(final=final)
        self._wake_bytes = 0 if goes_on else 2 * len(self._buffer)
        return goes_on

    def stop(self, problem: Problem, index: int) -> None:
        """Ends reading at expat's `index`, with `problem`; repairs after it are not reported."""
        if self._builder.root_seen:
            self._repair_report.emit_until(self._buffer.offset(index))
        self._builder.out.append(problem)
        self._end()

    def _end(self) -> None:
        """Marks the document as stopped; repairs not yet reported are in bytes that are lost."""
        self._repair_report.end()
        self.character_repair = None
        self.complete = False
        self.stopped = True

    def _count(self, fault: XmlFault, cost: int) -> None:
        """Adds a fault with its cost; Stop above max_faults, as a few kilobytes of faults could take minutes."""
        self._faults += cost
        if self._faults > self._limits.max_faults:
            what = "places where the markup breaks"
            problem = over_limit("max_faults", self._limits.max_faults, what, fault.line)
            raise Stop(problem, self._buffer.base + fault.position)

    def _skip_epilog(self, fault: XmlFault, *, final: bool) -> bool:
        # After the root element expat reads a quote as the start of a literal, up to the next quote.
        position = epilog_end(self._buffer.data, fault.position)
        what = "content follows the end of the root element"
        self._repair_report.emit_until(position)
        self._builder.out.append(report("S01", what, line=self._buffer.line_at(position), severity="warning"))
        self._after_root = True
        return self._skip_to_entry(position, final=final)

    def _end_early(self, fault: XmlFault) -> None:
        """Ends reading where the bytes end early, and keeps the complete fields of the last entry."""
        what = "the end of the root element was not reached"
        for opening, name in _UNENDED.items():
            if self._buffer.data.startswith(opening, fault.position):
                what = f"{name} never ends: what is behind its beginning is lost"
        self.cut = True
        self._emit_open_entry(fault, report("S01", what, line=fault.line))
        self._end()

    def _emit_open_entry(self, fault: XmlFault, problem: Problem) -> bool:
        """Emits the complete fields of the entry at fault, with the problem; without a loc the problem alone: False."""
        ends = fault.code in ENDED_EARLY and self._buffer.data.startswith(b"</", fault.position)
        entry = self._builder.take_open_entry(self._buffer.base + fault.position, ends=ends)
        self._repair_report.emit_until(fault.position)
        if entry is None:
            self._builder.out.append(problem)
            return False
        entry.problems += (problem,)
        self._builder.out.append(entry)
        return True

    def _start_character_repair(self, *, final: bool) -> bool:
        """At the first fault: from the last complete entry on all bytes go through character repair."""
        self._buffer.begin_character_repair()
        log, longest = self._repair_report.start(), self._limits.max_token_bytes
        self.character_repair = CharacterRepair(self._buffer.line, log, longest, self._budget)
        self._buffer.data[:] = self.character_repair.feed(bytes(self._buffer.data), final=final)
        return self._restart()

    def _restart(self) -> bool:
        """Gives the buffer to a new parser."""
        self._driver.restart()
        return True

    def _structure_repair_for(self, fault: XmlFault) -> StructureRepair:
        position = fault.position
        names, limits, budget = self._builder.names, self._limits, self._budget
        if fault.misplaced and fault.misplaced.implied_entry:
            prefix, colon, _ = tag_name(self._buffer.data, fault.position).rpartition(b":")
            implied = prefix + colon + fault.misplaced.implied_entry.encode()
            return StructureRepair(position, position, names, limits, budget, inside=True, implied_entry=implied)
        self._budget.spend_on_markup(self._buffer.data, 0, fault.position, CANDIDATE_STEPS)
        entry = next_resume_point(self._buffer.data, 0, fault.position + 1, ends=False).offset
        inside = entry is not None and entry < fault.position and self._builder.root_seen
        after_entry = self._builder.after_entry
        start = entry or 0 if inside else 0
        return StructureRepair(start, fault.position, names, limits, budget, inside=inside, after_entry=after_entry)

    def _repair_structure(self, *, final: bool) -> bool:
        """Repairs the structure of the entry at fault, once all of it is in the buffer."""
        structure_repair, fault = self._structure_repair, self._fault
        if structure_repair is None or fault is None:
            return False
        is_ready, base = structure_repair.advance(self._buffer.data), self._buffer.base
        reached = base + (structure_repair.position if structure_repair.end is None else structure_repair.end)
        if not is_ready:  # the unended token has no more than max_token_bytes
            reached = max(reached, self._buffer.end - self._limits.max_token_bytes)
        if self._buffer.is_too_long(reached):
            raise self._buffer.too_long()
        if not is_ready:
            if final:
                self._end_early(fault)
            return False
        self._structure_repair = None
        end = structure_repair.end or structure_repair.last_duplicate
        fault.limit = structure_repair.limit or fault.limit
        # An edit that reaches no further than the fault would lead to the same fault.
        reached = self._buffer.repaired_index(reached)
        # Each repair has to reach further than the one before, so that the loop ends.
        if structure_repair.failed or not structure_repair.edits or reached <= self._reached:
            self._count(fault, len(structure_repair.edits) // _EDITS)
            return self._skip_entry(fault, end, discard_entry=structure_repair.discard_entry, final=final)
        self._reached = reached
        return self._apply(structure_repair.edits.in_order, end)

    def _apply(self, edits: list[Edit], end: int | None = None) -> bool:
        """Applies the edits, marks the bytes up to `end` as repaired, and restarts the parser."""
        self._budget.spend(len(self._buffer) // MOVED_BYTES_PER_STEP)
        repairs = self._buffer.apply(edits, end)
        if self.character_repair:
            self.character_repair.log.merge(repairs)
        return self._restart()

    def _skip_entry(self, fault: XmlFault, end: int, *, discard_entry: bool = False, final: bool) -> bool:
        """Skips the rest of the entry at fault, up to `end` at least; with `discard_entry` all of it."""
        if not self._builder.root_seen:
            raise Stop(fault.before_root, self._buffer.base + fault.position)
        problem = fault.lost
        if discard_entry:
            self._repair_report.emit_until(fault.position)
            self._builder.out.append(problem)
        if discard_entry or not self._emit_open_entry(fault, problem):
            self.complete = False
        if fault.code == UNCLOSED_SECTION:  # up to the end of its element it is text
            self._driver.sections_end = not final
            end = max(end, self._section_end_tag(fault.position, final=final))
        if fault.misplaced and fault.misplaced.section_end:
            end = max(end, self._buffer.offset(fault.misplaced.section_end))
        return self._skip_to_entry(max(fault.next_position, end), final=final)

    def _section_end_tag(self, start: int, *, final: bool) -> int:
        """The next end tag of the element whose CDATA section begins at `start`; -1: none."""
        name = self._builder.section_of.encode()
        if name in self._unended_names:
            return -1
        end = end_tag(self._buffer.data, start, name)
        self._budget.spend_on_markup(self._buffer.data, start, len(self._buffer) if end < 0 else end, 1)
        if end < 0 and final:
            self._unended_names.add(name)
        return end

    def _skip_to_entry(self, start: int, *, final: bool) -> bool:
        """Restarts the parser at the next entry, or the end of the root element; False while there is neither."""
        location = self._builder.location
        if self._after_root and location.endswith(b"link"):  # HTML has <link> too
            location = b""
        longest, ends = self._limits.max_token_bytes, not self._after_root
        resume_point = next_resume_point(
            self._buffer.data, start, ends=ends, location=location, max_delimited_bytes=longest
        )
        reached = len(self._buffer) if resume_point.offset is None else resume_point.offset
        self._budget.spend_on_markup(self._buffer.data, start, reached, CANDIDATE_STEPS)
        if resume_point.passed_location:
            self.complete = False
        self._is_skipping = resume_point.offset is None
        searched = min(resume_point.searched, len(self._buffer)) if resume_point.offset is None else resume_point.offset
        self._repair_report.discard_until(None if final and resume_point.offset is None else searched)
        if resume_point.offset is None:
            self._buffer.drop(searched)
            if resume_point.is_unended and len(self._buffer) > longest:
                raise Stop(self._driver.unended_token(self._buffer.base), self._buffer.base)
            self.stopped = final
            self.complete = self.complete and (self._after_root or not final)
            return False
        self._after_root, self._buffer.counted = False, 0
        self._buffer.drop(searched)
        return self._restart()
