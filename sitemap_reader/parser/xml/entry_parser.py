"""EntryParser: UTF-8 chunks of XML that may be damaged in, raw entries and Problems out, in document order.

It reads with expat. Where that stops, Recovery has the tolerant parser read the rest of the document, from the last
complete entry on; what that cannot read is skipped with a Problem, up to the next entry. No entity of the document is
ever resolved. A field that is cut off is left out, never shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs

from ...model.problems import Problem, counted, report
from ..content.sniff import MAX_JUNK_BYTES, find_beginning
from .elements import ATOM, RSS, SITEMAP, count_urls
from .entry_builder import EntryBuilder
from .errors import (
    CANDIDATE_STEPS,
    ENDED_EARLY,
    LOST_STEPS,
    TAG_STEPS,
    BudgetExceeded,
    Misplaced,
    NoRoot,
    Stop,
    XmlFault,
)
from .expat_driver import BareDoctype, ExpatDriver
from .recovery.characters import reference_repair
from .recovery.structure import Lost, missing_tag_repair
from .recovery.tokenizer import HTML, KNOWN, SECTION
from .recovery.tolerant_parser import TolerantParser
from .repair_log import RepairLog
from .replay_buffer import ReplayBuffer
from .scan import (
    ROOTS,
    blank_doctype,
    element_end,
    epilog_end,
    find_part,
    first_child,
    holds_part,
    local,
    next_resume_point,
    tags_with_urls,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...model.limits import Limits
    from ..content.sniff import Beginning
    from ..normalise.entry import RawEntry
    from ..scanner import ScannedEntries
    from .elements import Entry, Namespaces, Vocabulary
    from .entry_builder import OpenEntry
    from .errors import Budget

    OpenRoot = Callable[[str, str], Vocabulary | None]
    ReadEntry = Callable[[Entry], list[RawEntry]]


class EntryParser:
    """Reads XML that may be damaged: where expat stops, Recovery reads on.

    feed() and close() yield what `read_entry` makes of each Entry, and the Problems, that further bytes cannot change.
    `complete` is False once an entry may be missing. `open_root(namespace, name)` returns the vocabulary of the
    document, None for an element that is no root, or raises Stop. The first byte is on `line`. `builder` knows the tags
    around entries. Where the parser `is_between_entries`, skip_block() may skip plain entries.
    """

    def __init__(
        self, limits: Limits, open_root: OpenRoot, read_entry: ReadEntry, budget: Budget, line: int = 1
    ) -> None:
        self._read_entry = read_entry
        self._budget = budget
        self._may_replace = True
        self._buffer = ReplayBuffer(line, limits)
        self._repairs = RepairLog(limits)
        self.builder = EntryBuilder(limits, open_root, self._buffer, self._repairs, budget)
        self._driver = ExpatDriver(self._buffer, self.builder, budget, limits.max_token_bytes)
        self._recovery = Recovery(limits, budget, self._buffer, self._repairs, self.builder, self._driver)

    def feed(self, data: bytes, *, is_continued: bool = False) -> Iterator[RawEntry | Problem]:
        """`is_continued`: another piece of the same chunk, between which the parser is not replaced."""
        self._may_replace = not is_continued
        return self._run(data, final=False)

    def close(self) -> Iterator[RawEntry | Problem]:
        return self._run(b"", final=True)

    def free(self) -> None:
        """Frees what is kept of a document that has ended: the parts refer to each other."""
        self._driver.free()
        del self._read_entry
        self.builder.free()

    def _run(self, data: bytes, *, final: bool) -> Iterator[RawEntry | Problem]:
        try:
            self._read(data, final=final)
        except Stop as stop:
            self._recovery.stop(stop.problem)
        except BudgetExceeded:
            self._recovery.stop(self._budget.problem(self.builder.line))
        finally:  # an internal error ends the document behind its complete entries
            for item in self.builder.take():
                if isinstance(item, Problem):
                    yield item
                else:
                    yield from self._read_entry(item)

    @property
    def complete(self) -> bool:
        return self._recovery.complete and not (self.builder.lost_location or self._repairs.is_error)

    @property
    def stopped(self) -> bool:
        return self._recovery.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._recovery.cut

    @property
    def is_between_entries(self) -> bool:
        """Whether all is read, up to the end tag of an entry, or the start tag of a root that holds entries only."""
        buffer, recovery = self._buffer, self._recovery
        is_read = not (buffer.data or recovery.is_pending or recovery.stopped)
        return is_read and (buffer.is_after_entry or buffer.is_after_root)

    @property
    def line(self) -> int:
        """The line that it has reached, where it `is_between_entries`."""
        return self._buffer.line

    @property
    def max_repairs(self) -> int:
        """How many repairs a block may hold that skip_block() is given."""
        return min(self._repairs.remaining, self._recovery.remaining_faults)

    def skip_block(self, block: ScannedEntries) -> None:
        """Skips the bytes of a block, which expat is not given."""
        for offset, line, tag in block.repairs:
            shown = missing_tag_repair(f"</{tag}>") if tag else reference_repair(block.data, offset)
            block.shown_repairs.append((line, *shown))
        self._repairs.count_reported(len(block.shown_repairs))
        self._buffer.skip(block.size, block.breaks, block.end_tag_size)
        self._recovery.skip(block)

    def _read(self, data: bytes, *, final: bool) -> None:
        if self.stopped:
            return
        self._buffer.data += data
        may_go_on = True
        if self._recovery.is_reading:
            may_go_on = self._recovery.resume(final=final)
        elif self._may_replace:
            self._driver.replace_parser()
        while may_go_on:
            may_go_on = self._parse(final=final)
        if not (self._recovery.is_reading or self.stopped):
            self._buffer.drop_read()
            if self._buffer.is_too_long(self._driver.token):
                raise self._buffer.too_long()
        if final:
            self._repairs.report_hiding()
            self.builder.out += self._repairs.take()

    # --- expat ---

    def _parse(self, *, final: bool) -> bool:
        """Feeds expat; whether it can go on after a fault."""
        try:
            self._driver.feed(final=final)
        except expat.ExpatError as error:
            fault = XmlFault(self._driver.error_offset, expat.ErrorString(error.code), error.code)
            return self._recover(fault, final=final)
        except Misplaced as misplaced:
            return self._recover(XmlFault(misplaced.offset, str(misplaced), None), final=final)
        except NoRoot as missing:
            return self._recovery.find_root(missing, final=final)
        except BareDoctype:
            self._blank_doctype()
            return True
        return False

    def _blank_doctype(self) -> None:
        self._budget.spend_on_markup(self._buffer.data, 0, len(self._buffer), TAG_STEPS)
        blanked = blank_doctype(bytes(self._buffer.data))
        if blanked == self._buffer.data:
            raise Stop(report("S09", "the DOCTYPE cannot be separated from the rest: refused"))
        self._buffer.data[:] = blanked
        self._driver.restart()

    def _recover(self, fault: XmlFault, *, final: bool) -> bool:
        self._buffer.drop_read()
        return self._recovery.recover(fault, final=final)


# --- recovery ---

# The tags before an entry that is the first of what is left of a document, and the namespaces to declare there.
_LOST_TAGS: dict[bytes, tuple[str, Namespaces]] = {
    b"url": ("<{0}urlset{1}>", SITEMAP),
    b"sitemap": ("<{0}sitemapindex{1}>", SITEMAP),
    b"item": ("<{0}rss{1}><{0}channel>", RSS),
    b"entry": ("<{0}feed{1}>", ATOM),
}
# Elements that may stand before the root without being the root of another format.
_JUNK = HTML | (KNOWN - ROOTS) | {b"channel"}
_JUNK |= frozenset(b"dd dl dt form h1 h2 h3 h4 h5 h6 iframe noscript script small style table td th tr tt u".split())


def _lost_tags(found: Beginning) -> bytes:
    """The start tags that are missing before an entry, or before the location of one."""
    prefix, colon, own = found.name.decode().rpartition(":")
    name = own.lower().encode()
    tags, namespaces = _LOST_TAGS[name if name in _LOST_TAGS else b"url"]
    declared = {**namespaces.usual, prefix: namespaces.usual[""]}
    attributes = "".join(f' xmlns{":" * bool(each)}{each}="{uri}"' for each, uri in declared.items())
    own_tag = b"<%s>" % found.name if found.kind == "location" else b""
    return tags.format(prefix + colon, attributes).encode() + own_tag


# Constructs that may be unended where the bytes end.
_UNENDED = {b"<!--": "a comment", b"<?": "a processing instruction", b"<![CDATA[": "a CDATA section"}


@attrs.define(eq=False)
class Recovery:
    """recover() returns True where the driver can go on with the buffer, False where more bytes are needed.

    With more bytes in the buffer, resume() returns the same. `complete` is False once an entry was lost, `stopped` once
    reading has ended, `cut` where the bytes ended before the root element did. It `is_reading` up to the end of the
    root element. `final`: no more bytes come.
    """

    _limits: Limits
    _budget: Budget
    _buffer: ReplayBuffer
    _repairs: RepairLog
    _builder: EntryBuilder
    _driver: ExpatDriver
    complete: bool = True
    stopped: bool = False
    cut: bool = False
    is_reading: bool = False  # with the tolerant parser, and not with expat
    is_skipping: bool = False  # up to the next entry
    _wake_bytes: int = 0  # size of the buffer from which on that is looked for again
    _is_after_root: bool = False  # skipping what follows the root element
    _missing: NoRoot | None = None  # what stands in place of the root, which is looked for
    _made: TolerantParser | None = None

    @property
    def _tolerant(self) -> TolerantParser:
        if self._made is None:
            self._made = TolerantParser(self._limits, self._budget, self._buffer, self._builder, self._repairs)
        return self._made

    @property
    def remaining_faults(self) -> int:
        """How many entries with missing tags a block may hold."""
        return self._made.remaining_faults if self._made else self._limits.max_faults

    @property
    def is_pending(self) -> bool:
        """Whether it skips to the next entry, or has found a URL that is reported there."""
        return self.is_skipping or (self._made is not None and self._made.has_stray_url)

    def recover(self, fault: XmlFault, *, final: bool) -> bool:
        """Reads on where expat stopped; whether expat can go on."""
        if self._buffer.is_too_long(fault.offset):
            raise self._buffer.too_long()
        if final and fault.code in ENDED_EARLY and not self._builder.is_over:
            self._end_early(fault.offset, is_tolerant=False)
            return False
        self.is_reading = True
        if self._builder.is_over:
            return self._skip_epilog(fault, final=final) and self._read(final=final)
        self._tolerant.begin(fault)
        return self._read(final=final)

    def find_root(self, missing: NoRoot, *, final: bool) -> bool:
        """Skips what stands before the root element, or before the first entry if that is lost; as recover().

        Stop where neither follows within MAX_JUNK_BYTES.
        """
        buffer, start = self._buffer, self._buffer.relative(missing.offset)
        self._missing, self.is_reading = missing, True
        searched = self._search_start(missing, start)
        found = None if searched is None else find_beginning(buffer.data, searched, final=final)
        reached = found.offset if found else min(len(buffer), start + 2 * MAX_JUNK_BYTES)
        self._budget.spend_on_markup(buffer.data, start, reached, CANDIDATE_STEPS)
        if found is None:
            if final or len(buffer) - start > 2 * MAX_JUNK_BYTES:
                raise Stop(missing.problem(buffer.line_at(missing.offset)))
            self._wake_bytes = 2 * len(buffer)
            return False
        self._begin(found, start)
        return True

    def _search_start(self, missing: NoRoot, start: int) -> int | None:
        """Where a root may begin: not in an element that may be the root of another format, such as SVG or SOAP.

        But a sitemap that comes first in such an element is the document. None where more bytes are needed.
        """
        data = self._buffer.data
        if not missing.name:
            return start + (not data.startswith(SECTION, start))
        if local(missing.name).lower() in _JUNK:
            return start
        first = first_child(data, start, start + MAX_JUNK_BYTES)
        if first is None:
            return None
        if first["root"] and b"/schemas/sitemap/" in first.group():
            return first.start("root")
        return element_end(data, start, missing.name, start + MAX_JUNK_BYTES)

    def _begin(self, found: Beginning, start: int) -> None:
        """Has expat go on at the beginning that was found behind what begins at `start`."""
        buffer, out = self._buffer, self._builder.out
        line, skipped = buffer.line_at(buffer.start + start), found.offset - start
        self._repairs.forget()
        if found.kind == "root":
            out.append(report("S08", f"skipped {counted(skipped, 'bytes')} before the root element", line=line))
        buffer.begin_entry(buffer.start + found.offset)
        if found.kind in ("entry", "location"):
            what = "the beginning of the document is lost: it was read from its first entry on"
            out.append(report("S01", what, line=line, kind="document cut off"))
            self.complete = False
            buffer.prepend(_lost_tags(found))
        self._missing, self.is_reading = None, False
        self._driver.restart()

    def resume(self, *, final: bool) -> bool:
        """recover() with more bytes."""
        if self._missing:
            return (len(self._buffer) >= self._wake_bytes or final) and self.find_root(self._missing, final=final)
        if self.is_skipping:
            if len(self._buffer) < self._wake_bytes and not final:
                return False
            if not self._skip_to_entry(self._buffer.start, final=final):
                return False
        return self._read(final=final)

    def skip(self, block: ScannedEntries) -> None:
        """Moves past a block, whose bytes are not put into the buffer."""
        damaged, last_repairs = block.missing_tags
        if damaged:
            self._repairs.is_damaged = True
            self._tolerant.count_faults(damaged)
        if block.repairs and not self.is_reading:
            self.is_reading = True
            self._tolerant.attach()
        if self.is_reading:
            self._tolerant.go_on(last_repairs)

    def stop(self, problem: Problem) -> None:
        self._builder.report_noted()
        if self._builder.root_seen:
            self._builder.out += self._repairs.take()
        self._builder.out.append(problem)
        self._end()

    def _end(self) -> None:
        self.complete = False
        self.stopped = True

    def _read(self, *, final: bool) -> bool:
        """Reads with the tolerant parser, up to the end of the root element, behind which expat goes on."""
        while True:
            try:
                is_over = self._tolerant.read(final=final)
            except NoRoot as missing:
                return self.find_root(missing, final=final)
            except Lost as lost:
                if not self._skip_entry(lost, final=final):
                    return False
                continue
            if is_over:
                self.is_reading = False
                self._driver.restart()
            elif final:
                self._end_early(self._tolerant.position, is_tolerant=True)
            return is_over

    def _skip_epilog(self, fault: XmlFault, *, final: bool) -> bool:
        # After the root element expat reads a quote as the start of a literal, up to the next quote.
        offset = self._buffer.start + epilog_end(self._buffer.data, self._buffer.relative(fault.offset))
        what, line = "content follows the end of the root element", self._buffer.line_at(offset)
        self._tolerant.count_fault(offset)
        self._builder.out.append(
            report("S01", what, line=line, severity="warning", kind="content after the root element")
        )
        self._repairs.has_epilog = self._is_after_root = True
        return self._skip_to_entry(offset, final=final)

    def _end_early(self, offset: int, *, is_tolerant: bool) -> None:
        """Ends reading where the bytes end early, and keeps the complete fields of the last entry."""
        data, start = self._buffer.data, self._buffer.relative(offset)
        if is_tolerant:  # behind the text
            begun = data.find(b"<", start)
            start = len(data) if begun < 0 else begun
        if data.endswith(b"\r"):  # expat may have read it as a line break, or wait for a `\n`
            start = min(start, len(data) - 1)
        what = self._unended_at(start) or "the end of the root element was not reached"
        self.cut = True
        ends = data.startswith(b"</", start)
        if not is_tolerant:
            self._driver.flush_text()
        opened = self._tolerant.take_opened(ends=ends) if is_tolerant else self._builder.open_entry(ends=ends)
        line = self._buffer.line_at(self._buffer.start + start)
        self._emit(opened, report("S01", what, line=line, kind="document cut off"))
        self._end()

    def _unended_at(self, start: int) -> str | None:
        """What is lost where a comment or the like begins there, which never ends."""
        found = (name for opening, name in _UNENDED.items() if self._buffer.data.startswith(opening, start))
        name = next(found, None)
        return name and f"{name} never ends: what is behind its beginning is lost"

    def _emit(self, opened: OpenEntry | None, problem: Problem, *, keeps_entry: bool = True) -> bool:
        """Emits an entry that was cut with a problem; without a location the problem alone: False."""
        out = self._builder.out
        if opened is None or not opened.has_location or not keeps_entry:
            out += self._repairs.take() if opened is None else opened.entry.problems
            out.append(problem)
            return False
        opened.entry.problems += (problem,)
        out.append(opened.entry)
        self._builder.lost_location = self._builder.lost_location or opened.is_location_open
        return True

    def _skip_entry(self, lost: Lost, *, final: bool) -> bool:
        """Skips the rest of an entry, or of what stands between two."""
        if not self._builder.root_seen:
            raise Stop(report("S01", f"{lost}, before the root element", line=lost.line, kind="entry lost"))
        self._budget.spend(LOST_STEPS)
        self._repairs.is_damaged = True
        what = f"{lost}: lost up to the next entry"
        problem = report("S01", what, line=lost.line, kind="entry lost", remedy=lost.remedy)
        opened = self._tolerant.take_opened()
        is_kept = self._emit(opened, problem, keeps_entry=lost.keeps_entry)
        if not (is_kept and opened) or self._has_lost_url(opened, lost.resume):
            self.complete = False
        self._is_after_root = self._builder.is_over
        return self._skip_to_entry(lost.resume, final=final)

    def _has_lost_url(self, opened: OpenEntry, stop: int) -> bool:
        """Whether the bytes of a kept entry have a URL that it has not: that of the next one, perhaps."""
        start = self._buffer.relative(self._tolerant.entry_start)
        found = tags_with_urls(self._buffer.data, start, self._buffer.relative(stop))
        return len(found) > count_urls(opened.entry.element)

    def _may_hold_entry(self, start: int, stop: int) -> bool:
        """Whether a part of an entry may stand in bytes that are skipped."""
        data = self._buffer.data  # in which either may begin before `stop`
        has_url = self._repairs.is_damaged and data.find(b"://", start, stop + 2) >= 0
        return has_url or (self._is_after_root and find_part(data, start, stop + 1) is not None)

    def _skip_to_entry(self, offset: int, *, final: bool) -> bool:
        """Has the tolerant parser go on at the next entry, or the end of the root; False while there is neither."""
        buffer, longest = self._buffer, self._limits.max_token_bytes
        location = self._builder.location
        if self._is_after_root and location.endswith(b"link"):  # HTML has <link> too
            location = b""
        start, ends = buffer.relative(offset), not self._is_after_root
        point = next_resume_point(buffer.data, start, ends=ends, location=location, max_delimited_bytes=longest)
        self.is_skipping = point.offset is None
        reached = point.offset
        if reached is None:
            reached = len(buffer) if final and not point.is_unended else min(point.searched, len(buffer))
        self._budget.spend_on_markup(buffer.data, start, max(start, reached), CANDIDATE_STEPS)
        if point.passed_location or self._may_hold_entry(start, reached):
            if self._is_after_root and self.complete:
                # Without a line: where the search went on depends on how the bytes were cut.
                what = "an entry behind the end of the root element is lost"
                self._builder.out.append(report("S01", what, kind="content after the root element"))
            self.complete = False
        buffer.drop_until(buffer.start + reached)
        if point.offset is None:
            if point.is_unended and len(buffer) > longest:
                raise buffer.unended_token(buffer.start)
            self._wake_bytes = 2 * len(buffer) if point.is_unended else 0
            self.stopped = final
            if final and self._is_after_root and point.is_unended and holds_part(buffer.data):
                what = self._unended_at(0) or ""
                line = buffer.line_at(buffer.start)
                self._builder.out.append(report("S01", what, line=line, kind="document cut off"))
                self.complete = False
            self.complete = self.complete and (self._is_after_root or not final)
            return False
        buffer.begin_entry(buffer.start)
        if self._is_after_root:
            self._builder.reopen_root()
            self._tolerant.attach()
            self._is_after_root = False
        self._tolerant.go_on()
        return True
