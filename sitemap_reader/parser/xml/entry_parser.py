"""EntryParser: UTF-8 chunks of XML that may be damaged in, Entries and Problems out, in document order.

It reads with expat and recovers from damage. No entity of the document is ever resolved. A field that is cut off is
left out, never shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from ...model.problems import Problem, report
from .entry_builder import EntryBuilder
from .errors import (
    TAG_STEPS,
    UNCLOSED_SECTION,
    BudgetExceeded,
    Misplaced,
    Stop,
    TooLong,
    UnendedSection,
    XmlFault,
)
from .expat_driver import BareDoctype, ExpatDriver
from .recovery.recovery import Recovery
from .recovery.tokenizer import blank_doctype
from .replay_buffer import RepairReport, ReplayBuffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...model.limits import Limits
    from ..scanner import ScannedEntries
    from .elements import Entry, Vocabulary
    from .errors import Budget
    from .recovery.characters import CharacterRepair

    OpenRoot = Callable[[str, str], Vocabulary]


class EntryParser:
    """Reads XML that may be damaged: at a fault expat restarts after the last complete entry, with repaired bytes.

    feed() and close() return the Entries and Problems that further bytes cannot change. `complete` is False once an
    entry may be missing. `open_root(namespace, name)` returns the vocabulary of the document, or raises Stop. The first
    byte is on `line`. `builder` knows the tags around entries. Where the parser `is_after_entry`, skip_block() may skip
    plain entries.
    """

    def __init__(self, limits: Limits, open_root: OpenRoot, budget: Budget, line: int = 1) -> None:
        self._budget = budget
        self._may_replace = True
        self._buffer = ReplayBuffer(line, limits.max_entry_bytes)
        out: list[Entry | Problem] = []
        self._repair_report = RepairReport(limits, budget, self._buffer, out)
        self.builder = EntryBuilder(limits, open_root, self._buffer, out, self._repair_report.take_for_entry)
        self._driver = ExpatDriver(self._buffer, self.builder, budget, limits.max_token_bytes)
        self._recovery = Recovery(limits, budget, self._buffer, self._repair_report, self.builder, self._driver)

    def feed(self, data: bytes, *, is_continued: bool = False) -> list[Entry | Problem]:
        """`is_continued`: another piece of the same chunk, between which the parser is not replaced."""
        self._may_replace = not is_continued
        return self._run(data, final=False)

    def close(self) -> list[Entry | Problem]:
        return self._run(b"", final=True)

    def _run(self, data: bytes, *, final: bool) -> list[Entry | Problem]:
        try:
            self._feed_all(data, final=final)
        except Stop as stop:
            self._recovery.stop(stop.problem, self._driver.index if stop.index is None else stop.index)
        except BudgetExceeded:
            self._recovery.stop(self._budget.problem(self.line), self._driver.index)
        return self.builder.take()

    @property
    def complete(self) -> bool:
        return self._recovery.complete and not (self.builder.lost_location or self._repair_report.is_error)

    @property
    def stopped(self) -> bool:
        return self._recovery.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._recovery.cut

    @property
    def is_after_entry(self) -> bool:
        """Whether all is read, up to the end tag of an entry."""
        return (
            self._buffer.is_at_entry_end
            and self.builder.after_entry
            and not (self._recovery.is_waiting or self.stopped)
            and (not self._character_repair or self._character_repair.is_idle)
        )

    @property
    def line(self) -> int:
        """The line that it has reached."""
        return self.builder.line()

    def max_bare_ampersands(self) -> int:
        """How many bare `&` skip_block() may repair."""
        return self._character_repair.max_bare_ampersands(self.builder.line()) if self._character_repair else 0

    def skip_block(self, block: ScannedEntries) -> None:
        """Skips the bytes of a block, which expat is not given."""
        self._driver.skip(block.size, block.breaks)
        self._buffer.counted = block.end_tag_size
        if self._character_repair:
            data = block.data[block.start : block.start + block.size]
            block.repairs = self._character_repair.skip(data, block.bare_ampersands)

    @property
    def _character_repair(self) -> CharacterRepair | None:
        """The filter of all bytes from the first fault on."""
        return self._recovery.character_repair

    def _feed_all(self, data: bytes, *, final: bool) -> None:
        if self._character_repair:
            data = self._character_repair.feed(data, final=final)
        self._parse_repaired(data, final=final)
        while self._character_repair and self._character_repair.has_more and not self.stopped:
            self._parse_repaired(self._character_repair.feed(b"", final=final), final=final)

    def _parse_repaired(self, data: bytes, *, final: bool) -> None:
        """Parses bytes that went through character repair."""
        if self.stopped:
            return
        may_go_on = True
        if self._recovery.is_waiting:
            self._buffer.data += data
            data, may_go_on = b"", self._recovery.resume(final=self._is_last(final))
        if may_go_on:
            if self._may_replace:
                self._driver.replace_parser()
            self._parse(data, final=final)
        self._trim()
        if self._is_last(final):
            self._repair_report.emit_until(None)

    def _is_last(self, final: bool) -> bool:
        """Whether these are the last bytes, those in character repair included."""
        return final and not (self._character_repair and self._character_repair.has_more)

    # --- expat ---

    def _parse(self, data: bytes, *, final: bool) -> None:
        """Feeds expat, and after each fault the repaired bytes, until the buffer is read."""
        may_go_on = True
        while may_go_on:
            is_last = self._is_last(final)
            try:
                return self._driver.feed(data, final=is_last, is_repaired=self._character_repair is not None)
            except expat.ExpatError as error:
                may_go_on = self._recovery.recover(self._fault_of(error.code), final=is_last)
            except UnendedSection:
                may_go_on = self._recovery.recover(self._fault_of(UNCLOSED_SECTION), final=is_last)
            except Misplaced as misplaced:
                fault = self._fault_at(misplaced.index, str(misplaced), misplaced=misplaced)
                may_go_on = self._recovery.recover(fault, final=is_last)
            except BareDoctype:
                self._blank_doctype()
            except TooLong:
                self.builder.drop_read_bytes()
                raise self._buffer.too_long() from None
            data = b""

    def _blank_doctype(self) -> None:
        self._budget.spend_on_markup(self._buffer.data, 0, len(self._buffer), TAG_STEPS)
        blanked = blank_doctype(bytes(self._buffer.data))
        if blanked == self._buffer.data:
            raise Stop(report("S09", "the DOCTYPE cannot be separated from the rest: refused"))
        self._buffer.data[:] = blanked
        self._driver.restart()

    def _trim(self) -> None:
        self.builder.drop_read_bytes()
        is_read = not (self._recovery.is_waiting or self.stopped)
        if is_read and self._buffer.is_too_long(self._driver.token):
            raise self._buffer.too_long()

    def _fault_of(self, code: int) -> XmlFault:
        # expat finds an unclosed section where the bytes end.
        index = self.builder.section_index if code == UNCLOSED_SECTION else self._driver.error_index
        return self._fault_at(index, expat.ErrorString(code), code)

    def _fault_at(self, index: int, what: str, code: int | None = None, misplaced: Misplaced | None = None) -> XmlFault:
        """The fault at expat's byte `index`."""
        self.builder.drop_read_bytes()
        position = max(0, self._buffer.offset(index))
        return XmlFault(position, self._buffer.line_at(position), what, code, misplaced)
