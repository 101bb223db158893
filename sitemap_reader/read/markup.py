"""XML that may be damaged: UTF-8 chunks in, entries (builder.py) and Problems out, in document order.

At a fault expat (driver.py) restarts behind the last complete entry: first with the characters mended (mending.py),
then with the entry set straight (repair.py); where that does not help it goes on at the next entry and says what was
lost. It never gives a part of a field, and never resolves an entity of the document's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from ..problems import Problem, over_limit, report
from .builder import Builder
from .driver import Driver
from .faults import Fault, Misplaced, Stop, TooLong
from .guard import BareDoctype
from .landmarks import end_tag, epilog_end, next_landmark, tag_end, tag_name
from .mending import Mender
from .mends import Mends
from .pending import Pending
from .prefixes import Prefixes
from .repair import Straightener
from .tokens import blank_doctype
from .told import Told

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..limits import Limits
    from .edits import Edit
    from .plain import Block
    from .tails import Tails
    from .tree import Entry, Vocabulary

    OpenRoot = Callable[[str, str], Vocabulary]

_UNBOUND_PREFIX = expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]
# Errors that, at the end of the bytes, only mean that they ran out.
_ENDED_EARLY = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)
_UNCLOSED_SECTION = expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION]

# A fault counts once more for so many bytes of the tags around, which a new parser reads again, and for so many edits
# that were of no help.
_HEAD_BYTES = 4096
_EDITS = 10
# What may have begun and not ended when the bytes do.
_UNENDED = {b"<!--": "a comment", b"<?": "a processing instruction"}


class Markup:
    """feed() and close() give what has become certain; `complete` is False once an entry may be missing.

    `open_root(namespace, name)` gives the vocabulary of the document, or raises Stop. The first byte is on `line`.
    Where it `is_behind_entry` it may be told to pass_over() what follows.
    """

    def __init__(self, limits: Limits, open_root: OpenRoot, line: int = 1) -> None:
        self.complete = True
        self.stopped = False
        self.cut = False  # the bytes ended before the root element did
        self._may_renew = True
        self._limits = limits
        self._pending = Pending(line)
        self._mender: Mender | None = None
        self._straightener: Straightener | None = None  # while it waits for the rest of its entry
        self._fault: Fault | None = None  # the one that it is there for
        self._wake_bytes = 0  # how much has to be pending before it pays to look again
        self._reached = -1  # up to where all bytes were set straight, in the mender's count
        self._faults = 0  # where the structure broke, by what it cost
        self._prefixes = Prefixes(limits.max_prefixes)
        self._skipping = False
        self._behind_root = False  # skipping what stands behind the end of the root element
        out: list[Entry | Problem] = []
        self._told = Told(limits, self._pending, out)
        self._builder = Builder(limits, open_root, self._pending, out, self._told.of)
        self._driver = Driver(self._pending, self._builder, limits.max_token_bytes)

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
            self._stop(stop.problem, self._driver.index if stop.index is None else stop.index)
        self.complete = self.complete and not (self._builder.lost_location or self._told.is_error)
        return self._builder.taken()

    @property
    def is_behind_entry(self) -> bool:
        """Whether all is read, up to the end of an entry in a `<urlset>`, which has no prefix, nor need its entries."""
        return (
            self._pending.stands_behind_entry
            and (self._builder.behind_entry and self._builder.names == [b"urlset"])
            and not (self._skipping or self._straightener or self.stopped or self._driver.has_withheld)
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

    def _read(self, data: bytes, *, final: bool) -> None:
        self._go_on(self._mender.feed(data, final=final) if self._mender else data, final=final)
        while self._mender and self._mender.is_behind and not self.stopped:
            self._go_on(self._mender.feed(b"", final=final), final=final)

    def _go_on(self, data: bytes, *, final: bool) -> None:
        """With bytes that are mended, if they have to be."""
        if self.stopped:
            return
        rest: bytes | None = data
        if self._skipping or self._straightener:
            self._pending.data += data
            rest = self._look_again(final=self._is_last(final))
        if rest is not None:
            self._parse((self._driver.renewed() if self._may_renew else b"") + rest, final=final)
        self._trim()
        if self._is_last(final):
            self._told.release(None)

    def _is_last(self, final: bool) -> bool:
        """Whether nothing comes any more, not from the mender either."""
        return final and not (self._mender and self._mender.is_behind)

    def _look_again(self, *, final: bool) -> bytes | None:
        """For the end of what is waited for; only when there is a good part more, so that time stays linear."""
        longest = self._limits.max_entry_bytes + self._limits.max_token_bytes
        if len(self._pending) < min(self._wake_bytes, longest) and not final:
            return None
        rest = self._skip(0, final=final) if self._skipping else self._straighten(final=final)
        self._wake_bytes = len(self._pending) * 5 // 4 if rest is None else 0
        return rest

    # --- expat ---

    def _parse(self, data: bytes, *, final: bool) -> None:
        """Feeds expat, and after each fault what recovery gives, until nothing is left."""
        rest: bytes | None = data
        while rest is not None:
            is_last = self._is_last(final)
            try:
                return self._driver.feed(rest, final=is_last, sections_end=self._mender is not None)
            except expat.ExpatError as error:
                rest = self._recover(self._fault_of(error), final=is_last)
            except Misplaced as misplaced:
                fault = self._fault_at(misplaced.index, str(misplaced), misplaced=misplaced)
                rest = self._recover(fault, final=is_last)
            except BareDoctype:
                rest = self._blank_doctype()
            except TooLong:
                raise self._too_long() from None

    def _blank_doctype(self) -> bytes:
        self._driver.give_back()
        blanked = blank_doctype(bytes(self._pending.data))
        if blanked == self._pending.data:
            raise Stop(report("S09", "the DOCTYPE cannot be told from the rest: refused"))
        self._pending.data[:] = blanked
        return self._driver.restart()

    def _settle(self) -> None:
        """Forgets what no restart needs: all up to the end of the last tag outside entries."""
        event = self._builder.last_event
        if event is not None:
            end = self._pending.offset(event)
            self._pending.drop(tag_end(self._pending.data, end) if self._builder.last_event_is_tag else end)
            self._pending.counted = self._pending.base - event
            self._builder.last_event = None

    def _trim(self) -> None:
        self._settle()
        if not (self._skipping or self._straightener or self.stopped) and self._is_too_long(self._driver.token):
            raise self._too_long()

    def _is_too_long(self, index: int) -> bool:
        """Whether what has not ended by this index of expat's count has more bytes than an entry may have."""
        return self._pending.counted + self._pending.offset(index) > self._limits.max_entry_bytes

    def _too_long(self) -> Stop:
        """Wherever that was noticed, all up to the limit is told, and no more."""
        self._settle()
        limit = self._limits.max_entry_bytes
        problem = over_limit("max_entry_bytes", limit, "bytes without the end of an entry", self._pending.line)
        return Stop(problem, self._pending.base - self._pending.counted + limit)

    def _stop(self, problem: Problem, index: int) -> None:
        """Reading ends at this index of expat's count: of no interest is what was mended behind it, or for nothing."""
        if self._builder.root_seen:
            self._told.release(self._pending.offset(index))
        self._end_mending()
        self._builder.out.append(problem)
        self.complete = False
        self.stopped = True

    # --- damage ---

    def _fault_of(self, error: expat.ExpatError) -> Fault:
        # expat finds an unclosed section where the bytes end.
        is_section = error.code == _UNCLOSED_SECTION
        index = self._builder.section_index if is_section else self._driver.error_index
        return self._fault_at(index, expat.ErrorString(error.code), error.code)

    def _fault_at(
        self, index: int, what: str, code: int | None = None, misplaced: Misplaced | None = None
    ) -> Fault:
        """The fault at `index` of expat's count."""
        self._driver.give_back()
        self._settle()
        position = max(0, self._pending.offset(index))
        return Fault(position, self._pending.line_at(position), what, code, misplaced)

    def _recover(self, fault: Fault, *, final: bool) -> bytes | None:
        """The bytes to go on with after a fault; None where there are none yet."""
        if self._is_too_long(self._pending.base + fault.position):
            raise self._too_long()
        is_over = self._builder.is_over
        if final and fault.code in _ENDED_EARLY and not is_over:
            self._cut_short(fault)
            return None
        if self._mender is None and not is_over:
            return self._mend(final=final)
        self._count(fault, 1 + self._driver.head_bytes // _HEAD_BYTES)
        if is_over:
            return self._leave_root(fault, final=final)
        if fault.code == _UNCLOSED_SECTION:
            return self._lose(fault, 0, final=final)
        is_unbound = fault.code == _UNBOUND_PREFIX
        if is_unbound and (edits := self._prefixes.declare(self._pending.data, fault, self._builder)):
            return self._carry_out(edits)
        if fault.position < self._pending.straight:  # it was set straight before, and that was not enough
            return self._lose(fault, 0, final=final)
        self._fault, self._straightener = fault, self._straightener_for(fault)
        return self._straighten(final=final)

    def _count(self, fault: Fault, cost: int) -> None:
        """If faults were not counted, each by what it costs, a few kilobytes of them could cost minutes."""
        self._faults += cost
        if self._faults > self._limits.max_faults:
            what = "places where the markup breaks"
            problem = over_limit("max_faults", self._limits.max_faults, what, fault.line)
            raise Stop(problem, self._pending.base + fault.position)

    def _leave_root(self, fault: Fault, *, final: bool) -> bytes | None:
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
        self._end_mending()  # what was mended behind it is lost with the rest
        self.complete = False
        self.stopped = True

    def _give_open_entry(self, fault: Fault, problem: Problem) -> bool:
        """Gives the fields of the entry at fault that were whole by then, with the problem; or that alone."""
        ends = fault.code in _ENDED_EARLY and self._pending.data.startswith(b"</", fault.position)
        entry = self._builder.take_open_entry(self._pending.base + fault.position, ends=ends)
        self._told.release(fault.position)
        if entry is None:
            self._builder.out.append(problem)
            return False
        entry.problems += (problem,)
        self._builder.out.append(entry)
        return True

    def _mend(self, *, final: bool) -> bytes:
        """The first fault: from the last complete entry on, every byte goes through the mender."""
        self._pending.begin_mending()
        limits = self._limits
        mends = Mends(limits.max_entry_problems, limits.max_repairs)
        self._told.begin(mends)
        self._mender = Mender(self._pending.line, mends, limits.max_token_bytes)
        self._pending.data[:] = self._mender.feed(bytes(self._pending.data), final=final)
        return self._driver.restart()

    def _end_mending(self) -> None:
        self._mender = None
        self._told.end()

    def _straightener_for(self, fault: Fault) -> Straightener:
        names, room = self._builder.names, self._limits.max_entry_repairs
        if fault.misplaced and fault.misplaced.loose_entry:
            prefix, colon, _ = tag_name(self._pending.data, fault.position).rpartition(b":")
            loose = prefix + colon + fault.misplaced.loose_entry.encode()
            return Straightener(fault.position, fault.position, names, room, inside=True, loose=loose)
        entry = next_landmark(self._pending.data, 0, fault.position + 1, ends=False).found
        inside = entry is not None and entry < fault.position and self._builder.root_seen
        behind_entry = self._builder.behind_entry
        start = entry or 0 if inside else 0
        return Straightener(start, fault.position, names, room, inside=inside, behind_entry=behind_entry)

    def _straighten(self, *, final: bool) -> bytes | None:
        """Sets the entry at fault straight, once all of it is there."""
        straightener, fault = self._straightener, self._fault
        if straightener is None or fault is None:
            return None
        is_ready, base = straightener.go_on(self._pending.data), self._pending.base
        reached = base + (straightener.at if straightener.end is None else straightener.end)
        if not is_ready:  # what has not ended has no more bytes than a token may have
            reached = max(reached, self._pending.end - self._limits.max_token_bytes)
        if self._is_too_long(reached):
            raise self._too_long()
        if not is_ready:
            if final:
                self._cut_short(fault)
            return None
        self._straightener = None
        end = straightener.end or 0
        if straightener.has_too_many:
            fault.limit = "max_entry_repairs"
        # Where nothing behind the fault is settled, the same fault would come again.
        reached = self._pending.mended(reached)
        # Each time it has to get further than before, or it might go on for ever.
        if straightener.hopeless or not straightener.edits or reached <= self._reached:
            self._count(fault, len(straightener.edits) // _EDITS)
            return self._lose(fault, end, is_void=straightener.is_void, final=final)
        self._reached = reached
        return self._carry_out(straightener.edits.in_order, end)

    def _carry_out(self, edits: list[Edit], end: int | None = None) -> bytes:
        """Carries out the edits, in their order, and starts again. Up to `end` the bytes are straight then."""
        mends = self._pending.carry_out(edits, end)
        if self._mender:
            self._mender.mends.join(mends)
        return self._driver.restart()

    def _lose(self, fault: Fault, end: int, *, is_void: bool = False, final: bool) -> bytes | None:
        """Gives up what is left of the entry at fault, up to `end` at least; if `is_void` all of it."""
        if not self._builder.root_seen:
            problem = report("S01", f"{fault.what}, before the root element", line=fault.line)
            raise Stop(problem, self._pending.base + fault.position)
        problem = fault.lost
        if is_void:
            self._told.release(fault.position)
            self._builder.out.append(problem)
        if is_void or not self._give_open_entry(fault, problem) or self._builder.lost_location:
            self.complete = False
        if fault.code == _UNCLOSED_SECTION:  # what stands in it up to the end of its element is text
            end = max(end, end_tag(self._pending.data, fault.position, self._builder.section_of.encode()))
        if fault.misplaced and fault.misplaced.section_end:
            end = max(end, self._pending.offset(fault.misplaced.section_end))
        return self._skip(max(fault.next_position, end), final=final)

    def _skip(self, start: int, *, final: bool) -> bytes | None:
        """The bytes from the next entry, or the end of the root element, on; None while there is none."""
        location = self._builder.location
        if self._behind_root and location.endswith(b"link"):  # HTML's
            location = b""
        longest, ends = self._limits.max_token_bytes, not self._behind_root
        landmark = next_landmark(self._pending.data, start, ends=ends, location=location, longest=longest)
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
            return None
        self._behind_root, self._pending.counted = False, 0
        self._pending.drop(passed)
        return self._driver.restart()
