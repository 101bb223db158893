"""XML of any dialect: UTF-8 chunks in, raw entries and Problems out, in document order.

XmlReader picks the dialect by the root element (DIALECTS). FastPath has the scanner read plain entries; all else goes
to EntryParser. That reads with expat; where it stops, the tolerant parser goes on from the last complete entry, and
what that cannot read is skipped with a Problem, up to the next entry. No entity of the document is ever resolved. A
field that is cut off is left out, never shortened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol
from xml.parsers import expat
from xml.parsers.expat import ExpatError

from ...model.problems import Problem, count_of, report
from ..content.sniff import MAX_JUNK_BYTES, ROOTS, Format, find_beginning
from ..dialects import feed, urlset
from ..fast_path import DocumentScanner, is_possible
from .elements import ATOM, RSS, SITEMAP, count_urls
from .entry_builder import EntryBuilder
from .expat_driver import BareDoctype, ExpatDriver
from .markup import (
    HTML,
    KNOWN,
    SECTION,
    ReplayBuffer,
    blank_doctype,
    element_end,
    epilog_end,
    find_part,
    first_child,
    holds_part,
    local,
    next_resume_point,
    reference_repair,
    tags_with_urls,
)
from .markup import ROOTS as AROUND_ENTRIES
from .repairs import (
    CANDIDATE_STEPS,
    ENDED_EARLY,
    LOST_STEPS,
    TAG_STEPS,
    BudgetExceeded,
    Misplaced,
    NoRoot,
    RepairLog,
    Stop,
    XmlFault,
    html_page,
)
from .tolerant_parser import Lost, TolerantParser, missing_tag_repair

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ..content.sniff import Beginning
    from ..normalise.entry import RawEntry
    from ..normalise.scope import Scope
    from ..scanner import ScannedEntries
    from .elements import Entry, Namespaces, Vocabulary
    from .entry_builder import OpenEntry
    from .repairs import Budget

    OpenRoot = Callable[[str, str], Vocabulary | None]
    ReadEntry = Callable[[Entry], list[RawEntry]]


class Reader(Protocol):
    """A format's parser: UTF-8 chunks in, raw entries and problems out. `cut`: the bytes ended early."""

    @property
    def complete(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    def feed(self, data: bytes) -> Iterable[RawEntry | ScannedEntries | Problem]: ...
    def close(self, *, cut: bool) -> Iterable[RawEntry | ScannedEntries | Problem]: ...


EntryReader = Callable[["Entry", "Limits"], "list[RawEntry]"]
# Format -> (root namespace -> vocabulary, the EntryReader of a document)
DIALECTS: dict[Format, tuple[Callable[[str], Vocabulary], Callable[[], EntryReader]]] = {
    Format.URLSET: (partial(urlset.vocabulary, implied_entry="url"), urlset.entry_reader),
    Format.INDEX: (partial(urlset.vocabulary, implied_entry="sitemap"), urlset.entry_reader),
    Format.RSS: (feed.rss_vocabulary, lambda: feed.rss_entries),
    Format.ATOM: (feed.atom_vocabulary, lambda: feed.atom_entries),
}


class XmlReader:
    """Reads XML of the dialect that its root element names; the first byte is on `line`.

    `scopes` are those of pages and sitemaps, by which the scanner judges URLs; None: expat reads every entry. `extras`:
    elements without a field are read.
    """

    def __init__(
        self,
        limits: Limits,
        budget: Budget,
        line: int = 1,
        *,
        scopes: Mapping[str, Scope] | None = None,
        extras: bool = False,
    ) -> None:
        self.format: Format | None = None
        self._limits = limits
        self._parser = EntryParser(limits, self._open_root, self._read_entry, budget, line)
        self._path: FastPath | EntryParser = self._parser
        if scopes and is_possible(limits):
            self._path = FastPath(self._parser, limits, scopes, extras=extras)
        self._raw_entries: EntryReader  # set at the root

    @property
    def complete(self) -> bool:
        return self._parser.complete

    @property
    def stopped(self) -> bool:
        return self._parser.stopped

    @property
    def cut(self) -> bool:
        return self._parser.cut

    def feed(self, data: bytes) -> Iterator[RawEntry | ScannedEntries | Problem]:
        return self._path.feed(data)

    def close(self, *, cut: bool) -> Iterator[RawEntry | ScannedEntries | Problem]:
        return self._path.close()

    def free(self) -> None:
        """Frees what is kept of a document that has ended: the parts refer to each other."""
        self._parser.free()

    def _read_entry(self, entry: Entry) -> list[RawEntry]:
        return self._raw_entries(entry, self._limits)

    def _open_root(self, namespace: str, name: str) -> Vocabulary | None:
        if name.lower() in ("html", "body"):
            self.format = Format.HTML
            raise Stop(html_page())
        self.format = ROOTS.get(name) or urlset.ROOTS.get(name.lower())
        if self.format is None:
            return None
        vocabulary, entry_reader = DIALECTS[self.format]
        self._raw_entries = entry_reader()
        opened = vocabulary(namespace)
        dialect = urlset if self.format in (Format.URLSET, Format.INDEX) else feed
        opened.root_problems = dialect.judge_root(namespace, name)
        return opened


# --- plain entries, with the scanner ---

# The most entries between two attempts.
_MAX_INTERVAL = 4096
# The beginning of an entry is kept for the next chunk if it is no longer, as it is scanned again then.
_MAX_PARTIAL_BYTES = 8 * 1024
_ENTRY_END = re.compile(rb"</(?:[\w.-]+:)?(?:url|sitemap|item|entry)>")
_FIRST_PLACE = re.compile(rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex)(?:\s[^<>]*+)?>|" + _ENTRY_END.pattern)


class FastPath:
    """Scans plain entries, and feeds all else to `parser`; the output is what the parser alone would give.

    The scanner is tried after the start of the root, and each entry that the parser has read; after an attempt that
    found nothing, the number of entries to the next one doubles. `scopes` are those of pages and sitemaps. `extras`:
    elements without a field are read, which the scanner leaves out of feeds.
    """

    def __init__(self, parser: EntryParser, limits: Limits, scopes: Mapping[str, Scope], *, extras: bool) -> None:
        self._parser = parser
        self._limits = limits
        self._scopes = scopes
        self._extras = extras
        self._scanner: DocumentScanner | None = None
        self._place = _FIRST_PLACE
        self._interval = self._entries_left = 1  # entries up to the next attempt
        self._partial_entry = b""

    def feed(self, data: bytes) -> Iterator[RawEntry | ScannedEntries | Problem]:
        """Yields raw entries, blocks of scanned entries, and Problems, that further bytes cannot change."""
        data, self._partial_entry = self._partial_entry + data, b""
        position, is_continued = 0, False
        while (end := self._next_attempt(data, position)) is not None:
            if end > position:
                yield from self._parser.feed(data[position:end], is_continued=is_continued)
                is_continued = True
            block, is_cut = self._scan(data, end)
            position = end
            if block:
                position += block.size
                yield block
            if is_cut and len(data) - position <= _MAX_PARTIAL_BYTES:
                self._partial_entry, self._entries_left = data[position:], 0
                return
        yield from self._parser.feed(data[position:], is_continued=is_continued)

    def close(self) -> Iterator[RawEntry | ScannedEntries | Problem]:
        partial_entry, self._partial_entry = self._partial_entry, b""
        if partial_entry:
            yield from self._parser.feed(partial_entry)
        yield from self._parser.close()

    def _next_attempt(self, data: bytes, start: int) -> int | None:
        """The end of the tag after which the next attempt is due; None where it is not in `data`."""
        while self._entries_left:
            match = self._place.search(data, start)
            if match is None:
                return None
            start = match.end()
            self._entries_left -= 1
        return start

    def _scan(self, data: bytes, start: int) -> tuple[ScannedEntries | None, bool]:
        """The block of entries from `start` on, if there are some, and whether the bytes end in the next entry."""
        block = self._block(data, start)
        is_cut = block is not None and block.is_cut
        self._place = _ENTRY_END
        self._interval = 1 if block or is_cut else min(2 * self._interval, _MAX_INTERVAL)
        self._entries_left = self._interval
        if block:
            self._parser.skip_block(block)
        return block, is_cut

    def _block(self, data: bytes, start: int) -> ScannedEntries | None:
        parser = self._parser
        if not parser.is_between_entries:
            return None
        if self._scanner is None or not self._scanner.is_for(parser.builder.head):
            self._scanner = DocumentScanner(parser.builder, self._limits, self._scopes, extras=self._extras)
        return self._scanner.scan(data, start, parser.line, parser.max_repairs)


# --- entries, with expat and with the tolerant parser ---

# The tags before an entry that is the first of what is left of a document, and the namespaces to declare there.
_LOST_TAGS: dict[bytes, tuple[str, Namespaces]] = {
    b"url": ("<{0}urlset{1}>", SITEMAP),
    b"sitemap": ("<{0}sitemapindex{1}>", SITEMAP),
    b"item": ("<{0}rss{1}><{0}channel>", RSS),
    b"entry": ("<{0}feed{1}>", ATOM),
}
# Elements that may stand before the root without being the root of another format.
_JUNK = HTML | (KNOWN - AROUND_ENTRIES) | {b"channel"}
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


class EntryParser:
    """Reads XML that may be damaged.

    feed() and close() yield what `read_entry` makes of each Entry, and the Problems, that further bytes cannot change.
    `open_root(namespace, name)` returns the vocabulary of the document, None for an element that is no root, or raises
    Stop. The first byte is on `line`. `builder` knows the tags around entries. Where the parser `is_between_entries`,
    skip_block() may skip plain entries. `stopped` is True once reading has ended, `cut` where the bytes ended before
    the root element did. The methods that read return True where expat can go on with the buffer, False where more
    bytes are needed; `final`: none come.
    """

    def __init__(
        self, limits: Limits, open_root: OpenRoot, read_entry: ReadEntry, budget: Budget, line: int = 1
    ) -> None:
        self._limits = limits
        self._read_entry = read_entry
        self._budget = budget
        self._buffer = buffer = ReplayBuffer(line, limits)
        self._repairs = RepairLog(limits)
        self.builder = EntryBuilder(limits, open_root, buffer, self._repairs, budget)
        self._driver = ExpatDriver(buffer, self.builder, budget, limits.max_token_bytes)
        self.stopped = self.cut = False
        self._may_replace = True
        self._has_lost = False  # an entry
        self._is_tolerant = False  # reading with the tolerant parser, up to the end of the root element
        self._is_skipping = False  # up to the next entry
        self._is_after_root = False  # skipping what follows the root element
        self._wake_bytes = 0  # size of the buffer from which on the next entry or the root is looked for again
        self._missing: NoRoot | None = None  # what stands in place of the root, which is looked for
        self._made: TolerantParser | None = None

    @property
    def _tolerant(self) -> TolerantParser:
        if self._made is None:
            self._made = TolerantParser(
                self._limits, self._budget, self._driver, self._buffer, self.builder, self._repairs
            )
        return self._made

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
            self._stop(stop.problem)
        except BudgetExceeded:
            self._stop(self._budget.problem(self.builder.line))
        finally:  # an internal error ends the document behind its complete entries
            for item in self.builder.take():
                if isinstance(item, Problem):
                    yield item
                else:
                    yield from self._read_entry(item)

    @property
    def complete(self) -> bool:
        """Whether no entry is missing so far."""
        return not (self._has_lost or self.builder.lost_location or self._repairs.is_error)

    # --- plain entries, which the scanner reads ---

    @property
    def is_between_entries(self) -> bool:
        """Whether all is read, up to the end tag of an entry, or the start tag of a root that holds entries only."""
        buffer = self._buffer
        # A URL outside of any location is reported at the next entry.
        is_pending = self._is_skipping or (self._made is not None and self._made.has_stray_url)
        return not (buffer.data or is_pending or self.stopped) and (buffer.is_after_entry or buffer.is_after_root)

    @property
    def line(self) -> int:
        """The line that it has reached, where it `is_between_entries`."""
        return self._buffer.line

    @property
    def max_repairs(self) -> int:
        """How many repairs a block may hold that skip_block() is given."""
        faults = self._made.remaining_faults if self._made else self._limits.max_faults
        return min(self._repairs.remaining, faults)

    def skip_block(self, block: ScannedEntries) -> None:
        """Skips the bytes of a block. One with repairs was damaged, as where expat stops."""
        for offset, line, tag in block.repairs:
            shown = missing_tag_repair(f"</{tag}>") if tag else reference_repair(block.data, offset)
            block.shown_repairs.append((line, *shown))
        self._repairs.count_reported(len(block.shown_repairs))
        self._buffer.skip(block.size, block.breaks, block.end_tag_size)
        damaged, last_repairs = block.missing_tags
        if damaged:
            self._repairs.is_damaged = True
            self._tolerant.count_faults(damaged)
        if block.repairs and not self._is_tolerant:
            self._is_tolerant = True
            self._tolerant.attach()
        if self._is_tolerant:
            self._tolerant.go_on(last_repairs)

    # --- reading ---

    def _read(self, data: bytes, *, final: bool) -> None:
        if self.stopped:
            return
        self._buffer.data += data
        may_go_on = True
        if self._is_tolerant or self._missing:
            may_go_on = self._resume(final=final)
        elif self._may_replace:
            self._driver.replace_parser()
        while may_go_on:
            may_go_on = self._parse(final=final)
        if not (self._is_tolerant or self._missing or self.stopped):
            self._buffer.drop_read()
            if self._buffer.is_too_long(self._driver.token):
                raise self._buffer.too_long()
        if final:
            self._repairs.report_hiding()
            self.builder.out += self._repairs.take()

    def _parse(self, *, final: bool) -> bool:
        try:
            self._driver.feed(final=final)
        except ExpatError as error:
            fault = XmlFault(self._driver.error_offset, expat.ErrorString(error.code), error.code)
            return self._recover(fault, final=final)
        except Misplaced as misplaced:
            return self._recover(XmlFault(misplaced.offset, str(misplaced), None), final=final)
        except NoRoot as missing:
            return self._find_root(missing, final=final)
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
        if self._buffer.is_too_long(fault.offset):
            raise self._buffer.too_long()
        if final and fault.code in ENDED_EARLY and not self.builder.is_over:
            self._end_early(fault.offset)
            return False
        self._is_tolerant = True
        if self.builder.is_over:
            return self._skip_epilog(fault, final=final) and self._read_tolerantly(final=final)
        self._tolerant.begin(fault)
        return self._read_tolerantly(final=final)

    def _resume(self, *, final: bool) -> bool:
        is_awake = final or len(self._buffer) >= self._wake_bytes
        if self._missing:
            return is_awake and self._find_root(self._missing, final=final)
        if self._is_skipping and not (is_awake and self._skip_to_entry(self._buffer.start, final=final)):
            return False
        return self._read_tolerantly(final=final)

    def _read_tolerantly(self, *, final: bool) -> bool:
        """Reads with the tolerant parser, up to the end of the root element, behind which expat goes on."""
        while True:
            try:
                is_over = self._tolerant.read(final=final)
            except NoRoot as missing:
                return self._find_root(missing, final=final)
            except Lost as lost:
                if not self._skip_entry(lost, final=final):
                    return False
                continue
            if is_over:
                self._is_tolerant = False
                self._driver.restart()
            elif final:
                self._end_early(self._tolerant.position)
            return is_over

    def _stop(self, problem: Problem) -> None:
        self.builder.report_noted()
        if self.builder.root_seen:
            self.builder.out += self._repairs.take()
        self.builder.out.append(problem)
        self._end()

    def _end(self) -> None:
        self._has_lost = self.stopped = True

    # --- the beginning ---

    def _find_root(self, missing: NoRoot, *, final: bool) -> bool:
        """Skips what stands before the root element, or before the first entry if that is lost.

        Stop where neither follows within MAX_JUNK_BYTES.
        """
        buffer, start = self._buffer, self._buffer.relative(missing.offset)
        self._missing = missing
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
        buffer, out = self._buffer, self.builder.out
        line, skipped = buffer.line_at(buffer.start + start), found.offset - start
        self._repairs.forget()
        if found.kind == "root":
            raw = buffer.data[start : found.offset].decode("utf-8", "replace").strip()
            what = f"skipped {count_of(skipped, 'byte')} before the root element"
            out.append(report("S08", what, line=line, raw=raw))
        buffer.begin_entry(buffer.start + found.offset)
        if found.kind in ("entry", "location"):
            what = "the beginning of the document is lost: it was read from its first entry on"
            out.append(report("S01", what, line=line, kind="document cut off"))
            self._has_lost = True
            buffer.prepend(_lost_tags(found))
        self._missing, self._is_tolerant = None, False
        self._driver.restart()

    # --- the end ---

    def _skip_epilog(self, fault: XmlFault, *, final: bool) -> bool:
        # After the root element expat reads a quote as the start of a literal, up to the next quote.
        offset = self._buffer.start + epilog_end(self._buffer.data, self._buffer.relative(fault.offset))
        what, line = "content follows the end of the root element", self._buffer.line_at(offset)
        self._tolerant.count_fault(offset)
        self.builder.out.append(
            report("S01", what, line=line, severity="warning", kind="content after the root element")
        )
        self._repairs.has_epilog = self._is_after_root = True
        return self._skip_to_entry(offset, final=final)

    def _end_early(self, offset: int) -> None:
        """Ends reading where the bytes end early, and keeps the complete fields of the last entry."""
        data, start = self._buffer.data, self._buffer.relative(offset)
        if self._is_tolerant:  # behind the text
            begun = data.find(b"<", start)
            start = len(data) if begun < 0 else begun
        if data.endswith(b"\r"):  # expat may have read it as a line break, or wait for a `\n`
            start = min(start, len(data) - 1)
        what = self._unended_at(start) or "the end of the root element was not reached"
        self.cut = True
        ends = data.startswith(b"</", start)
        if self._is_tolerant:
            opened = self._tolerant.take_opened(ends=ends)
        else:
            self._driver.flush_text()
            opened = self.builder.open_entry(ends=ends)
        line = self._buffer.line_at(self._buffer.start + start)
        self._emit(opened, report("S01", what, line=line, kind="document cut off"))
        self._end()

    def _unended_at(self, start: int) -> str | None:
        """What is lost where a comment or the like begins there, which never ends."""
        found = (name for opening, name in _UNENDED.items() if self._buffer.data.startswith(opening, start))
        name = next(found, None)
        return name and f"{name} never ends: what is behind its beginning is lost"

    # --- what is lost ---

    def _emit(self, opened: OpenEntry | None, problem: Problem, *, keeps_entry: bool = True) -> bool:
        """Emits an entry that was cut with a problem; without a location the problem alone: False."""
        out = self.builder.out
        if opened is None or not opened.has_location or not keeps_entry:
            out += self._repairs.take() if opened is None else opened.entry.problems
            out.append(problem)
            return False
        opened.entry.problems += (problem,)
        out.append(opened.entry)
        self.builder.lost_location = self.builder.lost_location or opened.is_location_open
        return True

    def _skip_entry(self, lost: Lost, *, final: bool) -> bool:
        """Skips the rest of an entry, or of what stands between two."""
        if not self.builder.root_seen:
            raise Stop(report("S01", f"{lost}, before the root element", line=lost.line, kind="entry lost"))
        self._budget.spend(LOST_STEPS)
        self._repairs.is_damaged = True
        what = f"{lost}: lost up to the next entry"
        problem = report("S01", what, line=lost.line, kind="entry lost", remedy=lost.remedy)
        opened = self._tolerant.take_opened()
        is_kept = self._emit(opened, problem, keeps_entry=lost.keeps_entry)
        if not (is_kept and opened) or self._has_lost_url(opened, lost.resume):
            self._has_lost = True
        self._is_after_root = self.builder.is_over
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
        location = self.builder.location
        if self._is_after_root and location.endswith(b"link"):  # HTML has <link> too
            location = b""
        start, ends = buffer.relative(offset), not self._is_after_root
        point = next_resume_point(buffer.data, start, ends=ends, location=location, max_delimited_bytes=longest)
        self._is_skipping = point.offset is None
        reached = point.offset
        if reached is None:
            reached = len(buffer) if final and not point.is_unended else min(point.searched, len(buffer))
        self._budget.spend_on_markup(buffer.data, start, max(start, reached), CANDIDATE_STEPS)
        if point.passed_location or self._may_hold_entry(start, reached):
            if self._is_after_root and not self._has_lost:
                # Without a line: where the search went on depends on how the bytes were cut.
                what = "an entry behind the end of the root element is lost"
                self.builder.out.append(report("S01", what, kind="content after the root element"))
            self._has_lost = True
        buffer.drop_until(buffer.start + reached)
        if point.offset is None:
            if point.is_unended and len(buffer) > longest:
                raise buffer.unended_token(buffer.start)
            self._wake_bytes = 2 * len(buffer) if point.is_unended else 0
            self.stopped = final
            if final and self._is_after_root and point.is_unended and holds_part(buffer.data):
                what = self._unended_at(0) or ""
                line = buffer.line_at(buffer.start)
                self.builder.out.append(report("S01", what, line=line, kind="document cut off"))
                self._has_lost = True
            self._has_lost = self._has_lost or (final and not self._is_after_root)
            return False
        buffer.begin_entry(buffer.start)
        if self._is_after_root:
            self.builder.reopen_root()
            self._tolerant.attach()
            self._is_after_root = False
        self._tolerant.go_on()
        return True
