"""XML of any dialect: UTF-8 chunks in, raw entries and Problems out, in document order.

XmlReader picks the dialect by the root element (DIALECTS). Plain entries take the fast path (fast_scanner.py); all else
goes to EntryParser, which reads with expat and recovers from damage. No entity of the document is ever resolved. A
field that is cut off is left out, never shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from xml.parsers import expat

from ...model.problems import Problem, report
from ..content.sniff import ROOTS, Format
from ..dialects import feed, urlset
from ..fast_scanner import EntryBlock, entry_end, limits_allow_fast_path, may_begin_entry, scan_blocks
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
    html_page,
)
from .expat_driver import BareDoctype, ExpatDriver
from .recovery.recovery import Recovery
from .recovery.tokenizer import blank_doctype
from .replay_buffer import RepairReport, ReplayBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...model.limits import Limits
    from ..dialects.text import TextLines
    from ..fast_extensions import ExtensionReader
    from ..normalise.entry import RawEntry
    from .elements import Entry, Vocabulary
    from .errors import Budget
    from .recovery.characters import CharacterRepair

    OpenRoot = Callable[[str, str], Vocabulary]


class EntryParser:
    """Reads XML that may be damaged: at a fault expat restarts after the last complete entry, with repaired bytes.

    feed() and close() return the Entries and Problems that further bytes cannot change. `complete` is False once an
    entry may be missing. `open_root(namespace, name)` returns the vocabulary of the document, or raises Stop. The first
    byte is on `line`. Where it `is_after_entry`, skip_block() may skip plain entries.
    """

    def __init__(self, limits: Limits, open_root: OpenRoot, budget: Budget, line: int = 1) -> None:
        self._budget = budget
        self._may_replace = True
        self._buffer = ReplayBuffer(line, limits.max_entry_bytes)
        out: list[Entry | Problem] = []
        self._repair_report = RepairReport(limits, budget, self._buffer, out)
        self._builder = EntryBuilder(limits, open_root, self._buffer, out, self._repair_report.take_for_entry)
        self._driver = ExpatDriver(self._buffer, self._builder, budget, limits.max_token_bytes)
        self._recovery = Recovery(limits, budget, self._buffer, self._repair_report, self._builder, self._driver)

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
        return self._builder.take()

    @property
    def complete(self) -> bool:
        return self._recovery.complete and not (self._builder.lost_location or self._repair_report.is_error)

    @property
    def stopped(self) -> bool:
        return self._recovery.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._recovery.cut

    @property
    def is_after_entry(self) -> bool:
        """Whether all is read, up to the end of an entry in a `<urlset>` without a prefix."""
        return (
            self._buffer.is_at_entry_end
            and (self._builder.after_entry and self._builder.names == [b"urlset"])
            and not (self._recovery.is_waiting or self.stopped)
            and (not self._character_repair or self._character_repair.is_idle)
        )

    @property
    def line(self) -> int:
        """The line that it has reached."""
        return self._builder.line()

    @property
    def extension_reader(self) -> ExtensionReader:
        """The reader of extensions in plain entries of this document."""
        return self._builder.extension_reader

    def max_bare_ampersands(self) -> int:
        """How many bare `&` skip_block() may repair."""
        return self._character_repair.max_bare_ampersands(self._builder.line()) if self._character_repair else 0

    def skip_block(self, block: EntryBlock, data: bytes) -> None:
        """Skips the bytes of a block, which expat is not given."""
        self._driver.skip(block.size, block.breaks)
        if self._character_repair:
            block.repairs.extend(self._character_repair.skip(data, block.bare_ampersands))

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
                self._builder.drop_read_bytes()
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
        self._builder.drop_read_bytes()
        is_read = not (self._recovery.is_waiting or self.stopped)
        if is_read and self._buffer.is_too_long(self._driver.token):
            raise self._buffer.too_long()

    def _fault_of(self, code: int) -> XmlFault:
        # expat finds an unclosed section where the bytes end.
        index = self._builder.section_index if code == UNCLOSED_SECTION else self._driver.error_index
        return self._fault_at(index, expat.ErrorString(code), code)

    def _fault_at(self, index: int, what: str, code: int | None = None, misplaced: Misplaced | None = None) -> XmlFault:
        """The fault at expat's byte `index`."""
        self._builder.drop_read_bytes()
        position = max(0, self._buffer.offset(index))
        return XmlFault(position, self._buffer.line_at(position), what, code, misplaced)


# The most entries between two attempts of the fast path.
_MAX_INTERVAL = 4096


class FastPath:
    """Scans plain entries itself and feeds all else to `parser`; the output is what the parser alone would give.

    The fast path is tried after each entry; after each attempt that did not pay, the number of entries to the next one
    doubles.
    """

    def __init__(self, parser: EntryParser) -> None:
        self._parser = parser
        self._interval = self._entries_left = 1  # entries from one attempt to the next
        self._is_between_entries = False  # all before the next byte is complete entries
        self._partial_entry = b""  # the beginning of a plain entry, until the rest comes

    def feed(self, data: bytes) -> list[Entry | EntryBlock | Problem]:
        """Entries, blocks of plain entries, and Problems, that further bytes cannot change."""
        data, self._partial_entry = self._partial_entry + data, b""
        out: list[Entry | EntryBlock | Problem] = []
        position, is_continued = 0, False
        while (end := self._next_attempt(data, position)) is not None:
            out += self._parser.feed(data[position:end], is_continued=is_continued)
            position, is_continued = self._try_fast_path(data, end, out), True
        rest = data[position:]
        self._is_between_entries = self._is_between_entries and may_begin_entry(rest)
        if self._is_between_entries:
            self._partial_entry, self._entries_left = rest, 0
        else:
            out += self._parser.feed(rest, is_continued=is_continued)
        return out

    def close(self) -> list[Entry | EntryBlock | Problem]:
        """The rest."""
        partial_entry, self._partial_entry = self._partial_entry, b""
        return [*self._parser.feed(partial_entry), *self._parser.close()]

    def _next_attempt(self, data: bytes, start: int) -> int | None:
        """The end of the entry after which the next attempt is due; None where it is not in `data`."""
        end: int | None = start
        while self._entries_left and end is not None:
            end = entry_end(data, end)
            self._entries_left -= end is not None
        return end

    def _try_fast_path(self, data: bytes, start: int, out: list[Entry | EntryBlock | Problem]) -> int:
        """Appends the plain entries from `start` on to `out`; the offset of their end."""
        self._is_between_entries = self._parser.is_after_entry
        end, is_worthwhile = self._scan(data, start, out) if self._is_between_entries else (start, False)
        if is_worthwhile:
            self._interval = 1
        elif not self._is_between_entries or entry_end(data, end) is not None:
            self._interval = min(2 * self._interval, _MAX_INTERVAL)
        self._entries_left = self._interval
        return end

    def _scan(self, data: bytes, start: int, out: list[Entry | EntryBlock | Problem]) -> tuple[int, bool]:
        parser, is_worthwhile = self._parser, False
        for block in scan_blocks(data, start, parser.line, parser.max_bare_ampersands, parser.extension_reader):
            out.append(block)
            end = start + block.size
            parser.skip_block(block, data[start:end])
            start, is_worthwhile = end, block.is_worthwhile
            if not is_worthwhile:
                break
        return start, is_worthwhile


class Reader(Protocol):
    """A format's parser: UTF-8 chunks in, raw entries and problems out. `cut`: the bytes ended early."""

    @property
    def complete(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    def feed(self, data: bytes) -> Iterable[RawEntry | EntryBlock | TextLines | Problem]: ...
    def close(self, *, cut: bool) -> Iterable[RawEntry | EntryBlock | TextLines | Problem]: ...


# Format -> (root namespace -> vocabulary, entry -> raw entries)
DIALECTS: dict[Format, tuple[Callable[[str], Vocabulary], Callable[[Entry, Limits], list[RawEntry]]]] = {
    Format.URLSET: (urlset.urlset_vocabulary, urlset.raw_entries),
    Format.INDEX: (urlset.index_vocabulary, urlset.raw_entries),
    Format.RSS: (feed.rss_vocabulary, feed.rss_entries),
    Format.ATOM: (feed.atom_vocabulary, feed.atom_entries),
}


class XmlReader:
    """Reads XML of the dialect that its root element names; the first byte is on `line`. `plain`: use the fast path."""

    def __init__(self, limits: Limits, budget: Budget, line: int = 1, *, plain: bool = True) -> None:
        self.format: Format | None = None
        self._limits = limits
        self._parser = EntryParser(limits, self._open_root, budget, line)
        self._path = FastPath(self._parser) if plain and limits_allow_fast_path(limits) else self._parser
        self._opening: list[Problem] = []
        self._raw_entries: Callable[[Entry, Limits], list[RawEntry]] = urlset.raw_entries

    @property
    def complete(self) -> bool:
        return self._parser.complete

    @property
    def stopped(self) -> bool:
        return self._parser.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._parser.cut

    def feed(self, data: bytes) -> Iterator[RawEntry | EntryBlock | Problem]:
        return self._raw_items(self._path.feed(data))

    def close(self, *, cut: bool) -> Iterator[RawEntry | EntryBlock | Problem]:
        return self._raw_items(self._path.close())

    def _raw_items(self, items: Iterable[Entry | EntryBlock | Problem]) -> Iterator[RawEntry | EntryBlock | Problem]:
        yield from self._opening
        self._opening = []
        for item in items:
            if isinstance(item, Problem | EntryBlock):
                yield item
            else:
                yield from self._raw_entries(item, self._limits)

    def _open_root(self, namespace: str, name: str) -> Vocabulary:
        if name.lower() == "html":
            self.format = Format.HTML
            raise Stop(html_page())
        self.format = ROOTS.get(name) or urlset.ROOTS.get(name.lower())
        if self.format is None:
            raise Stop(report("S15", f"the root element is <{name[:80]}>: not a sitemap"))
        if self.format in (Format.URLSET, Format.INDEX):
            self._opening = urlset.judge_root(namespace, name)
        vocabulary, self._raw_entries = DIALECTS[self.format]
        names = vocabulary(namespace)
        for tag in ("url", "loc", "lastmod", "changefreq", "priority"):  # the fast path skips them
            names[f"{namespace}}}{tag}" if namespace else tag]
        return names
