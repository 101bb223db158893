"""Drives expat: bytes of the replay buffer in, events to the EntryBuilder out.

Enforces max_token_bytes, limits how often expat scans an unended token, and charges the budget. A parser can be
replaced at any point: the new one reads the start tags of the open ancestors first. Errors are raised, not handled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.parsers.expat import ExpatError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from ...model.limits import over_limit
from ...model.problems import Problem, report
from .errors import PARSER_STEPS, TAG_STEPS, Misplaced, Stop, UnendedSection

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from .entry_builder import EntryBuilder
    from .errors import Budget
    from .replay_buffer import ReplayBuffer


# --- expat without DTDs: no entity is declared or resolved, nothing is fetched (defusedxml) ---

# Its handlers only raise: one serves all parsers, and making one takes longer than making a parser.
_DEFUSED = DefusedXMLParser(target=object())
# Set by EntryBuilder.attach(): closures that refer to the parser.
_HANDLERS = (
    "StartElementHandler",
    "EndElementHandler",
    "CharacterDataHandler",
    "StartCdataSectionHandler",
    "EndCdataSectionHandler",
)


class BareDoctype(Exception):
    """A DOCTYPE that names an external subset, to be blanked before expat reads it."""


def secure_parser(head: bytes) -> expat.XMLParserType:
    """A parser that has read `head`, without handlers for elements.

    At a DTD that declares something it raises Stop or DefusedXmlException, at one with an external subset BareDoctype.
    """
    parser = expat.ParserCreate("utf-8", "}")
    parser.buffer_text = True
    parser.EntityDeclHandler = _DEFUSED.defused_entity_decl
    parser.UnparsedEntityDeclHandler = _DEFUSED.defused_unparsed_entity_decl
    parser.ExternalEntityRefHandler = _DEFUSED.defused_external_entity_ref_handler  # type: ignore[assignment]  # raises
    parser.StartDoctypeDeclHandler = _check_doctype
    if head:
        parser.Parse(head, False)
    return parser


def release(parser: expat.XMLParserType) -> None:
    """Removes the handlers of a parser, which refer to it, so that it is freed without garbage collection."""
    for handler in _HANDLERS:
        setattr(parser, handler, None)


def _check_doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
    """Accepts a DOCTYPE that declares nothing (RSS 0.91 has one)."""
    if has_internal_subset:
        raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
    if system or public:
        raise BareDoctype


# After so many bytes a parser is replaced: it keeps every name of the document.
_MAX_PARSER_BYTES = 2 * 1024 * 1024
# Up to this length an unended token is scanned again with each piece.
_SHORT_TOKEN_BYTES = 4096
# A new parser is given this much first, then twice as much each time: faults are often close to each other.
_SLICE_BYTES = 512
_MAX_SLICE_BYTES = 16 * 1024
_SECTION = b"<![CDATA["


class ExpatDriver:
    """Gives the bytes of the replay buffer to expat; feed() raises what a fault leads to.

    That is ExpatError, UnendedSection, and from the handlers Misplaced, BareDoctype, TooLong and Stop; BudgetExceeded.
    The parser read `head_bytes` of ancestors' start tags first; the unended token begins at its index `token`.
    `sections_end` is False where all bytes are in the buffer, and no CDATA section in it has an end.
    """

    def __init__(self, buffer: ReplayBuffer, builder: EntryBuilder, budget: Budget, max_token_bytes: int) -> None:
        self._buffer = buffer
        self._builder = builder
        self._budget = budget
        self._max_token_bytes = max_token_bytes
        self.sections_end = True
        self.token = self.head_bytes = 0
        self._skipped_bytes = 0  # by this parser
        self._slice_bytes = _SLICE_BYTES
        self._parser = self._new_parser(b"")

    @property
    def error_index(self) -> int:
        """The byte index at which the parser stopped."""
        return self._parser.ErrorByteIndex

    @property
    def index(self) -> int:
        """The byte index of the parser's last event."""
        return self._parser.CurrentByteIndex

    def feed(self, data: bytes, *, final: bool, is_repaired: bool) -> None:
        """Parses the rest of the buffer, and `data`, up to a token that is longer than max_token_bytes.

        expat scans an unended token anew at each call: it is called when there are twice as many bytes.
        `is_repaired`: the bytes went through CharacterRepair, so that each CDATA section has an end.
        """
        buffer, limit = self._buffer, self._max_token_bytes
        buffer.data += data
        while buffer.unshown or final:
            begun = buffer.shown_end - self.token  # bytes of the unended token that expat was given
            if begun > _SHORT_TOKEN_BYTES and buffer.unshown < min(begun, limit - begun) and not final:
                return
            piece = buffer.show(self._max_shown(limit - begun, begun, is_repaired=is_repaired))
            is_last = final and not buffer.unshown
            self._parse(piece, final=is_last)
            if self._builder.in_section and not self.sections_end:
                raise UnendedSection
            if is_last:
                return
            self.token = max(self.token, self.index)
            section = self._builder.section_index
            if self._builder.in_section and not is_repaired and buffer.shown_end - section >= limit:
                raise Misplaced("a CDATA section does not end", section)
            if buffer.shown_end - self.token >= limit:
                raise Stop(self.unended_token(self.token), self.token)

    def _max_shown(self, limit: int, begun: int, *, is_repaired: bool) -> int:
        """How many bytes to give at once: fewer where another parser may have to read them again."""
        max_bytes = min(limit, max(self._slice_bytes, begun)) if is_repaired else limit
        self._slice_bytes = min(2 * self._slice_bytes, _MAX_SLICE_BYTES)
        if self.sections_end:
            return max_bytes
        section = self._buffer.data.find(_SECTION, self._buffer.shown, self._buffer.shown + max_bytes)
        return max_bytes if section < 0 else section + len(_SECTION) - self._buffer.shown

    def unended_token(self, index: int) -> Problem:
        """The Problem of the token that begins at an index."""
        line = self._buffer.line_at(self._buffer.offset(index))
        return over_limit("max_token_bytes", self._max_token_bytes, "bytes in one comment, tag or other token", line)

    def restart(self) -> None:
        """Starts a new parser inside the same elements, at the beginning of the buffer."""
        release(self._parser)
        head = self._builder.head()
        self._budget.spend(PARSER_STEPS)
        self._budget.spend_on_markup(head, 0, len(head), TAG_STEPS)
        self._parser = self._new_parser(head)

    def replace_parser(self) -> None:
        """Restarts after _MAX_PARSER_BYTES, as a parser keeps all names and prefixes of the document."""
        read = self._buffer.base - self.head_bytes + self._skipped_bytes
        is_worth = read >= max(_MAX_PARSER_BYTES, self.head_bytes)  # each parser reads the ancestors' tags
        if not is_worth or self._builder.is_over or not self._builder.root_seen:
            return
        self.restart()

    def skip(self, size: int, breaks: int) -> None:
        """Skips bytes with so many line breaks, which expat is not given."""
        self._skipped_bytes += size
        self._builder.skip_lines(breaks)
        self._buffer.line += breaks

    def _new_parser(self, head: bytes) -> XMLParserType:
        """A parser that has read `head`."""
        parser = secure_parser(head)
        self._skipped_bytes, self._slice_bytes = 0, _SLICE_BYTES
        self.head_bytes = len(head)
        self._buffer.rebase(len(head))
        self.token = len(head)
        self._builder.attach(parser, len(head) - self._buffer.counted, self._buffer.line - 1)
        return parser

    def _parse(self, data: bytes, *, final: bool) -> None:
        end = len(data)
        try:
            self._parser.Parse(data, final)
        except DefusedXmlException as error:
            raise Stop(report("S09", "the DTD declares entities: the document is refused")) from error
        except ExpatError:
            end -= self._buffer.shown_end - self.error_index
            raise
        except Misplaced as misplaced:
            end -= self._buffer.shown_end - misplaced.index
            raise
        finally:
            self._budget.spend_on_markup(data, 0, end, TAG_STEPS)
