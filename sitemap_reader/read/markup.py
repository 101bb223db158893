"""The guarded expat driver: UTF-8 chunks in, entries (tree.py) and Problems out, in document order.

At a fault it restarts behind the last complete entry with the damage mended (repair.py); where that does not
help it goes on at the next entry and says what was lost. It never gives a part of an entry, and never resolves
an entity of the document's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from ..problems import Problem, over_limit, report
from . import repair
from .tree import Builder, Entry, NestedEntry, Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..limits import Limits
    from .tree import Vocabulary

_JUNK_AFTER_END = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
# Errors that, at the end of the bytes, only mean that they ran out.
_ENDED_EARLY = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)


# How often one entry is cured: enough for the prefixes of an entry, and a bound on the time it takes.
_MAX_CURES = 8


class _BareDoctype(Exception):
    """A DOCTYPE that names an external subset: to be blanked before expat sees it."""


class Markup:
    """feed() and close() give what has become certain; `complete` is False once an entry may be missing.

    `open_root(namespace, name)` gives the vocabulary of the document, or raises Stop. The first byte is on `line`.
    """

    def __init__(self, limits: Limits, open_root: Callable[[str, str], Vocabulary], line: int = 1) -> None:
        self.complete = True
        self.stopped = False
        self.cut = False  # the bytes ended before the root element did
        self._limits = limits
        self._pending = bytearray()  # what expat was fed and a restart may need again
        self._pending_line = line
        self._base = 0  # where _pending begins, in expat's count of bytes
        self._mend_base = 0  # what to add to expat's count to get the mender's
        self._mender: repair.Mender | None = None
        self._skipping = False
        self._cures = 0  # since something was settled
        self._builder = Builder(limits, open_root, self._written_at, self._written_before, self._mends_of)
        self._expat = self._new_expat(b"")

    def feed(self, data: bytes) -> list[Entry | Problem]:
        return self._take(data, final=False)

    def close(self) -> list[Entry | Problem]:
        return self._take(b"", final=True)

    def _take(self, data: bytes, *, final: bool) -> list[Entry | Problem]:
        if not self.stopped:
            rest: bytes | None = self._mender.feed(data, final=final) if self._mender else data
            if self._skipping:
                self._pending += rest or b""
                rest = self._next_entry(0, final=final)
            if rest is not None:
                self._parse(rest, final=final)
            self._trim()
            if final:
                self._release_mends(None)
        out = self._builder.out[:]
        self._builder.out.clear()
        return out

    # --- expat ---

    def _new_expat(self, head: bytes) -> expat.XMLParserType:
        """A parser that stands behind `head`, with defusedxml's guard and our own."""
        parser: expat.XMLParserType = DefusedXMLParser(target=object(), encoding="utf-8").parser
        parser.DefaultHandlerExpand = None
        parser.StartDoctypeDeclHandler = _judge_doctype
        if head:
            parser.Parse(head, False)
        self._base = len(head)
        self._builder.attach(parser, len(head), self._pending_line - 1)
        return parser

    def _parse(self, data: bytes, *, final: bool) -> None:
        """Feeds expat, and after each fault what recovery gives, until nothing is left."""
        rest: bytes | None = data
        while rest is not None:
            self._pending += rest
            try:
                self._expat.Parse(rest, final)
                return
            except expat.ExpatError as error:
                rest = self._recover(error, final=final)
            except _BareDoctype:
                blanked = repair.blank_doctype(bytes(self._pending))
                if blanked == self._pending:
                    return self._stop(report("S09", "the DOCTYPE cannot be told from the rest: refused"))
                self._pending[:] = blanked
                rest = self._restart()
            except NestedEntry as nested:
                rest = self._close_entry(nested.index, final=final)
            except Stop as stop:
                return self._stop(stop.problem)
            except DefusedXmlException:
                return self._stop(report("S09", "the DTD declares entities: the document is refused"))

    def _restart(self) -> bytes:
        """A new parser inside the same elements; gives the pending bytes, to be fed to it."""
        absolute = self._base + self._mend_base
        self._expat = self._new_expat(self._builder.head())
        self._mend_base = absolute - self._base
        data = bytes(self._pending)
        self._pending.clear()
        return data

    def _drop(self, count: int) -> None:
        """Forgets the first pending bytes."""
        self._pending_line += self._pending.count(b"\n", 0, count)
        del self._pending[:count]
        self._base += count

    def _settle(self) -> None:
        """Forgets what no restart needs: all up to the end of the last tag outside entries."""
        event = self._builder.last_event
        if event is not None:
            end = event - self._base
            self._drop(repair.tag_end(self._pending, end) if self._builder.last_event_is_tag else end)
            self._builder.last_event = None
            self._cures = 0

    def _trim(self) -> None:
        self._settle()
        limit = self._limits.max_entry_bytes
        held = len(self._pending) + (self._mender.held_bytes if self._mender else 0)
        if held > limit and not self.stopped:
            self._stop(over_limit("max_entry_bytes", limit, "bytes in one entry", self._pending_line))

    def _written_at(self, index: int) -> bytes:
        """The tag that begins at `index` of expat's count, as written, on one line."""
        start = index - self._base
        return bytes(self._pending[start : repair.tag_end(self._pending, start)]).replace(b"\n", b" ")

    def _written_before(self, index: int) -> bytes:
        """The two bytes before `index` of expat's count."""
        return bytes(self._pending[max(0, index - self._base - 2) : index - self._base])

    def _stop(self, problem: Problem) -> None:
        self._builder.out.append(problem)
        self.complete = False
        self.stopped = True

    # --- damage ---

    def _recover(self, error: expat.ExpatError, *, final: bool) -> bytes | None:
        """The bytes to go on with after a fault; None where there are none yet."""
        self._settle()
        position = max(0, self._expat.ErrorByteIndex - self._base)
        line = self._pending_line + self._pending.count(b"\n", 0, position)
        if error.code == _JUNK_AFTER_END:
            what = "there is more behind the end of the root element"
            self._builder.out.append(report("S01", what, line=line, severity="warning"))
            return self._next_entry(position, final=final)
        fault = expat.ErrorString(error.code)
        if final and error.code in _ENDED_EARLY:
            self.cut = True
            self._stop(report("S01", "the document ends before its root element does", line=line))
            return None
        if self._mender is None:
            return self._mend(final=final)
        edits = repair.cure(error.code, self._pending, position, self._builder.prefixes)
        if edits and self._cures < _MAX_CURES:
            return self._cure(edits, self._mender)
        if not self._builder.root_seen:
            self._stop(report("S01", f"{fault}, before the root element", line=line))
            return None
        self._release_mends(position)
        self.complete = False
        self._builder.out.append(report("S01", f"{fault}: lost up to the next entry", line=line))
        # The token at the fault would fail again: the search begins behind its first byte.
        return self._next_entry(position + 1, final=final)

    def _mend(self, *, final: bool) -> bytes:
        """The first fault: from the last complete entry on, every byte goes through the mender."""
        self._settle()
        self._mend_base = -self._base
        self._mender = repair.Mender(self._pending_line)
        self._pending[:] = self._mender.feed(bytes(self._pending), final=final)
        return self._restart()

    def _close_entry(self, index: int, *, final: bool) -> bytes:
        """An entry begins right inside another, at `index` of expat's count."""
        self._settle()
        if self._mender is None:
            return self._mend(final=final)
        position = index - self._base
        return self._cure(repair.close_entry(self._pending, position), self._mender)

    def _cure(self, edits: list[repair.Edit], mender: repair.Mender) -> bytes:
        """Carries out the edits, in their order, and starts again."""
        self._cures += 1
        # The mender's count knows nothing of the edits.
        self._mend_base -= sum(len(edit.replacement) - (edit.stop - edit.start) for edit in edits)
        cured, done = bytearray(), 0
        for edit in edits:
            cured += self._pending[done : edit.start]
            line = self._pending_line + cured.count(b"\n")
            mender.add(self._base + len(cured) + self._mend_base, attrs.evolve(edit.problem, line=line))
            cured += edit.replacement
            done = edit.stop
        self._pending[:] = cured + self._pending[done:]
        return self._restart()

    def _next_entry(self, start: int, *, final: bool) -> bytes | None:
        """The bytes from the next entry on; None while there is none."""
        found, keep = repair.next_entry(self._pending, start)
        self._skipping = found is None
        if found is None:
            self._drop(min(keep, len(self._pending)))
            self.stopped = final
            return None
        self._drop(found)
        return self._restart()

    def _mends_of(self, end: int, first_line: int) -> tuple[Problem, ...]:
        """The mends inside the entry that ends at `end`; those before it are given for themselves."""
        if self._mender is None:
            return ()
        mends = self._mender.taken(end + self._mend_base)
        self._builder.out += [mend for mend in mends if (mend.line or 0) < first_line]
        return tuple(mend for mend in mends if (mend.line or 0) >= first_line)

    def _release_mends(self, position: int | None) -> None:
        if self._mender is not None:
            until = None if position is None else self._base + position + self._mend_base
            self._builder.out += self._mender.taken(until)


def _judge_doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
    """A DOCTYPE may be there (RSS 0.91 has one), but it may not declare anything."""
    if has_internal_subset:
        raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
    if system or public:
        raise _BareDoctype
