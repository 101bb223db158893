"""XML that may be damaged: UTF-8 chunks in, entries (builder.py) and Problems out, in document order.

At a fault expat (driver.py) restarts behind the last complete entry, with the bytes that recovery.py gives. What comes
out is never a part of a field, and no entity of the document's own is ever resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from ...model.problems import Problem, report
from .budget import TAG, Spent
from .entry_builder import Builder
from .errors import UNCLOSED_SECTION, Fault, Misplaced, Stop, TooLong, UnendedSection
from .expat_driver import Driver
from .guard import BareDoctype
from .recovery.recovery import Recovery
from .recovery.tokenizer import blank_doctype
from .replay_buffer import Pending
from .told import Told

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...model.limits import Limits
    from ..fast_extensions import Tails
    from ..fast_scanner import Block
    from .budget import Budget
    from .elements import Entry, Vocabulary
    from .recovery.characters import Mender

    OpenRoot = Callable[[str, str], Vocabulary]


class Markup:
    """feed() and close() give what has become certain; `complete` is False once an entry may be missing.

    `open_root(namespace, name)` gives the vocabulary of the document, or raises Stop. The first byte is on `line`.
    Where it `is_behind_entry` it may be told to pass_over() what follows.
    """

    def __init__(self, limits: Limits, open_root: OpenRoot, budget: Budget, line: int = 1) -> None:
        self._budget = budget
        self._may_renew = True
        self._pending = Pending(line, limits.max_entry_bytes)
        out: list[Entry | Problem] = []
        self._told = Told(limits, budget, self._pending, out)
        self._builder = Builder(limits, open_root, self._pending, out, self._told.of)
        self._driver = Driver(self._pending, self._builder, budget, limits.max_token_bytes)
        self._recovery = Recovery(limits, budget, self._pending, self._told, self._builder, self._driver)

    def feed(self, data: bytes, *, goes_on: bool = False) -> list[Entry | Problem]:
        """`goes_on`: it is a further piece of what the caller got at once."""
        self._may_renew = not goes_on
        return self._take(data, final=False)

    def close(self) -> list[Entry | Problem]:
        return self._take(b"", final=True)

    def _take(self, data: bytes, *, final: bool) -> list[Entry | Problem]:
        try:
            self._read(data, final=final)
        except Stop as stop:
            self._recovery.stop(stop.problem, self._driver.index if stop.index is None else stop.index)
        except Spent:
            self._recovery.stop(self._budget.problem(self.line), self._driver.index)
        return self._builder.taken()

    @property
    def complete(self) -> bool:
        return self._recovery.complete and not (self._builder.lost_location or self._told.is_error)

    @property
    def stopped(self) -> bool:
        return self._recovery.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._recovery.cut

    @property
    def is_behind_entry(self) -> bool:
        """Whether all is read, up to the end of an entry in a `<urlset>`, which has no prefix, nor need its entries."""
        return (
            self._pending.stands_behind_entry
            and (self._builder.behind_entry and self._builder.names == [b"urlset"])
            and not (self._recovery.is_waiting or self.stopped)
            and (not self._mender or self._mender.is_clear)
        )

    @property
    def line(self) -> int:
        """The one that it has reached."""
        return self._builder.line()

    @property
    def tails(self) -> Tails:
        """What reads the tails of plain entries here."""
        return self._builder.tails

    def most_bare(self) -> int:
        """How many `&` may be passed over that are to be mended."""
        return self._mender.most_bare(self._builder.line()) if self._mender else 0

    def pass_over(self, block: Block, data: bytes) -> None:
        """Expat is not shown `data`, which is the block."""
        self._driver.pass_over(block.size, block.breaks)
        if self._mender:
            block.mends.extend(self._mender.pass_over(data, block.bare))

    @property
    def _mender(self) -> Mender | None:
        """What the bytes go through from the first fault on."""
        return self._recovery.mender

    def _read(self, data: bytes, *, final: bool) -> None:
        self._go_on(self._mender.feed(data, final=final) if self._mender else data, final=final)
        while self._mender and self._mender.is_behind and not self.stopped:
            self._go_on(self._mender.feed(b"", final=final), final=final)

    def _go_on(self, data: bytes, *, final: bool) -> None:
        """With bytes that are mended, if they have to be."""
        if self.stopped:
            return
        goes_on = True
        if self._recovery.is_waiting:
            self._pending.data += data
            data, goes_on = b"", self._recovery.look_again(final=self._is_last(final))
        if goes_on:
            if self._may_renew:
                self._driver.renew()
            self._parse(data, final=final)
        self._trim()
        if self._is_last(final):
            self._told.release(None)

    def _is_last(self, final: bool) -> bool:
        """Whether nothing comes any more, not from the mender either."""
        return final and not (self._mender and self._mender.is_behind)

    # --- expat ---

    def _parse(self, data: bytes, *, final: bool) -> None:
        """Feeds expat, and after each fault what recovery gives, until nothing is left."""
        goes_on = True
        while goes_on:
            is_last = self._is_last(final)
            try:
                return self._driver.feed(data, final=is_last, is_repaired=self._mender is not None)
            except expat.ExpatError as error:
                goes_on = self._recovery.recover(self._fault_of(error.code), final=is_last)
            except UnendedSection:
                goes_on = self._recovery.recover(self._fault_of(UNCLOSED_SECTION), final=is_last)
            except Misplaced as misplaced:
                fault = self._fault_at(misplaced.index, str(misplaced), misplaced=misplaced)
                goes_on = self._recovery.recover(fault, final=is_last)
            except BareDoctype:
                self._blank_doctype()
            except TooLong:
                self._builder.forget_passed()
                raise self._pending.too_long() from None
            data = b""

    def _blank_doctype(self) -> None:
        self._budget.look(self._pending.data, 0, len(self._pending), TAG)
        blanked = blank_doctype(bytes(self._pending.data))
        if blanked == self._pending.data:
            raise Stop(report("S09", "the DOCTYPE cannot be told from the rest: refused"))
        self._pending.data[:] = blanked
        self._driver.restart()

    def _trim(self) -> None:
        self._builder.forget_passed()
        is_read = not (self._recovery.is_waiting or self.stopped)
        if is_read and self._pending.is_too_long(self._driver.token):
            raise self._pending.too_long()

    def _fault_of(self, code: int) -> Fault:
        # expat finds an unclosed section where the bytes end.
        index = self._builder.section_index if code == UNCLOSED_SECTION else self._driver.error_index
        return self._fault_at(index, expat.ErrorString(code), code)

    def _fault_at(
        self, index: int, what: str, code: int | None = None, misplaced: Misplaced | None = None
    ) -> Fault:
        """The fault at `index` of expat's count."""
        self._builder.forget_passed()
        position = max(0, self._pending.offset(index))
        return Fault(position, self._pending.line_at(position), what, code, misplaced)
