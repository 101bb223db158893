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

from ...model.problems import report
from .errors import PARSER_STEPS, TAG_STEPS, Misplaced, Stop

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
    "StartNamespaceDeclHandler",
    "StartElementHandler",
    "EndElementHandler",
    "CharacterDataHandler",
    "StartCdataSectionHandler",
    "EndCdataSectionHandler",
    "ProcessingInstructionHandler",
    "CommentHandler",
)


class BareDoctype(Exception):
    """A DOCTYPE that names an external subset, to be blanked before expat reads it."""


def secure_parser(head: bytes) -> expat.XMLParserType:
    """A parser that has read `head`, without handlers for elements.

    At a DTD that declares something it raises Stop or DefusedXmlException, at one with an external subset BareDoctype.
    """
    parser = expat.ParserCreate("utf-8", "}")
    if hasattr(parser, "SetReparseDeferralEnabled"):  # expat 2.6 and later may not scan the end of a token at once
        parser.SetReparseDeferralEnabled(False)  # feed() limits itself how often a token is scanned
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
# A parser is given this much at once.
_SLICE_BYTES = 64 * 1024
# What a parser reads that begins behind the root element.
_ENDED_ROOT = b"<root/>"


class ExpatDriver:
    """Gives the bytes of the replay buffer to expat; feed() raises what a fault leads to.

    That is ExpatError, and from the handlers Misplaced, BareDoctype, TooLong and Stop; BudgetExceeded. The parser read
    `head_bytes` of ancestors' start tags first, and begins at the offset `start` of the document.
    """

    def __init__(self, buffer: ReplayBuffer, builder: EntryBuilder, budget: Budget, max_token_bytes: int) -> None:
        self._buffer = buffer
        self._builder = builder
        self._budget = budget
        self._max_token_bytes = max_token_bytes
        self.token = 0  # offset of the token that has not ended
        self._given = 0  # offset up to which the parser was given bytes
        self.start = self.head_bytes = 0
        self._shift = 0  # added to a byte index of the parser, gives an offset of the document
        self._parser = self._new_parser(b"")

    def free(self) -> None:
        """Frees what is kept of a document that has ended."""
        release(self._parser)

    @property
    def error_offset(self) -> int:
        """The offset at which the parser stopped."""
        return self._parser.ErrorByteIndex + self._shift

    def feed(self, *, final: bool) -> None:
        """Parses the rest of the buffer, up to a token that is longer than max_token_bytes.

        expat scans an unended token anew at each call: it is called when there are twice as many bytes.
        """
        buffer, limit = self._buffer, self._max_token_bytes
        while self._given < buffer.end or final:
            begun = self._given - self.token  # bytes of the unended token that expat was given
            if begun > _SHORT_TOKEN_BYTES and buffer.end - self._given < min(begun, limit - begun) and not final:
                return
            start = buffer.relative(self._given)
            piece = bytes(buffer.data[start : start + min(limit - begun, max(_SLICE_BYTES, begun))])
            self._given += len(piece)
            is_last = final and self._given == buffer.end
            self._parse(piece, final=is_last)
            if is_last:
                return
            self.token = max(self.token, self._parser.CurrentByteIndex + self._shift)
            section = self._builder.section_start
            if self._builder.in_section and self._given - section >= limit:
                raise Misplaced("a CDATA section does not end", section)
            if self._given - self.token >= limit:
                raise self._buffer.unended_token(self.token)

    def restart(self) -> None:
        """Starts a new parser inside the same elements, at the beginning of the buffer; or behind the root element."""
        release(self._parser)
        head = _ENDED_ROOT if self._builder.is_over else self._builder.head
        self._budget.spend(PARSER_STEPS)
        self._budget.spend_on_markup(head, 0, len(head), TAG_STEPS)
        self._parser = self._new_parser(head)

    def replace_parser(self) -> None:
        """Restarts after _MAX_PARSER_BYTES, as a parser keeps all names and prefixes of the document."""
        # Each parser reads the ancestors' tags.
        is_worth = self._buffer.start - self.start >= max(_MAX_PARSER_BYTES, self.head_bytes)
        if is_worth and self._builder.root_seen and not self._builder.is_over:
            self.restart()

    def skip(self, size: int, breaks: int) -> None:
        """Skips bytes with so many line breaks, which expat is not given."""
        self._shift += size
        self._given += size
        self.token += size
        self._builder.skip(size, breaks)

    def _new_parser(self, head: bytes) -> XMLParserType:
        parser = secure_parser(head)
        buffer = self._buffer
        self.start = self.token = self._given = buffer.start
        self.head_bytes = len(head)
        self._shift = buffer.start - len(head)
        self._builder.attach(parser, buffer.tag_at, self._shift, buffer.line - 1)
        return parser

    def _parse(self, data: bytes, *, final: bool) -> None:
        end = len(data)
        try:
            self._parser.Parse(data, final)
        except DefusedXmlException as error:
            raise Stop(report("S09", "the DTD declares entities: the document is refused")) from error
        except ExpatError:
            end -= self._given - self.error_offset
            raise
        except Misplaced as misplaced:
            end -= self._given - misplaced.offset
            raise
        finally:
            self._budget.spend_on_markup(data, 0, end, TAG_STEPS)
