"""expat without DTDs, on the bytes of the replay buffer: no entity is declared or resolved, nothing is fetched.

The handlers that refuse a DTD are those of defusedxml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.parsers.expat import ExpatError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from ...model.problems import report
from .repairs import PARSER_STEPS, TAG_STEPS, Misplaced, Stop

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from .entry_builder import EntryBuilder
    from .markup import ReplayBuffer
    from .repairs import Budget

# Its handlers only raise: one serves all parsers, and making one takes longer than making a parser.
_DEFUSED = DefusedXMLParser(target=object())
# Set by EntryBuilder.attach().
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
    """Removes the handlers of a parser, which refer to each other, so that it is freed without garbage collection."""
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

    That is ExpatError, and from the handlers Misplaced, BareDoctype and Stop; BudgetExceeded. Each parser reads the
    start tags of ancestors first, its `head`. Behind a fault read_entry() reads single entries.
    """

    def __init__(self, buffer: ReplayBuffer, builder: EntryBuilder, budget: Budget, max_token_bytes: int) -> None:
        self._buffer = buffer
        self._builder = builder
        self._budget = budget
        self._max_token_bytes = max_token_bytes
        self._parser = self._new_parser(b"")

    def _new_parser(self, head: bytes) -> XMLParserType:
        parser = secure_parser(head)
        buffer = self._buffer
        self._head, self._start = head, buffer.start
        self._is_between_entries = False  # where read_entry() can go on
        # As indices of the parser, which is not given the bytes that are skipped.
        self._given = len(head)  # up to which it was given bytes
        self._token = len(head)  # where the token begins that has not ended
        self._shift = buffer.start - buffer.skipped - len(head)
        self._builder.abandon()
        self._builder.attach(parser, self)
        return parser

    def free(self) -> None:
        """Frees what is kept of a document that has ended."""
        release(self._parser)

    # --- positions in the document ---

    def _offset(self, index: int) -> int:
        return index + self._shift + self._buffer.skipped

    @property
    def offset(self) -> int:
        """The offset of the present event."""
        return self._parser.CurrentByteIndex + self._shift + self._buffer.skipped

    @property
    def line(self) -> int:
        """The line of the present event."""
        return self._buffer.line_at(max(self.offset, self._buffer.start))

    @property
    def start_tag(self) -> bytes:
        """The tag of the present event, as written."""
        return self._buffer.tag_at(self.offset)

    @property
    def token(self) -> int:
        """The offset of the token that has not ended."""
        return self._offset(self._token)

    @property
    def error_offset(self) -> int:
        """The offset at which the parser stopped."""
        return self._offset(self._parser.ErrorByteIndex)

    # --- reading ---

    def feed(self, *, final: bool) -> None:
        """Parses the rest of the buffer, up to a token that is longer than max_token_bytes.

        expat scans an unended token anew at each call: it is called when there are twice as many bytes.
        """
        buffer, limit = self._buffer, self._max_token_bytes
        while (rest := buffer.end - self._offset(self._given)) or final:
            begun = self._given - self._token  # bytes of the unended token that expat was given
            if begun > _SHORT_TOKEN_BYTES and rest < min(begun, limit - begun) and not final:
                return
            start = len(buffer) - rest
            piece = bytes(buffer.data[start : start + min(limit - begun, max(_SLICE_BYTES, begun))])
            self._given += len(piece)
            is_last = final and len(piece) == rest
            self._parse(piece, final=is_last)
            if is_last:
                return
            self._token = max(self._token, self._parser.CurrentByteIndex)
            section = self._builder.section_start
            if self._builder.in_section and self._offset(self._given) - section >= limit:
                raise Misplaced("a CDATA section does not end", section)
            if self._given - self._token >= limit:
                raise buffer.unended_token(self.token)

    def _parse(self, data: bytes, *, final: bool) -> None:
        unread = 0
        try:
            self._parser.Parse(data, final)
        except DefusedXmlException as error:
            raise Stop(report("S09", "the DTD declares entities: the document is refused")) from error
        except ExpatError:
            unread = self._given - self._parser.ErrorByteIndex
            raise
        except Misplaced as misplaced:
            unread = self._offset(self._given) - misplaced.offset
            raise
        finally:
            self._budget.spend_on_markup(data, 0, len(data) - unread, TAG_STEPS)

    def flush_text(self) -> None:
        """Has the text before an error given to the builder, which pyexpat collects."""
        self._parser.CharacterDataHandler = self._parser.CharacterDataHandler

    def read_entry(self, start: int, stop: int) -> bool:
        """Reads an entry between two offsets; False where it is damaged, or is no entry for expat, or ends elsewhere.

        A new parser reads the head: no sooner than behind as many other bytes.
        """
        builder, head = self._builder, self._builder.head
        is_used_up = self._given - len(self._head) >= max(_MAX_PARSER_BYTES, len(head))
        if is_used_up or self._head != head or not self._is_between_entries:
            if start - self._start < len(head):
                return False
            self._begin(head)
            self._start = start
        builder.attach(self._parser, self, entries_only=True)
        first = self._buffer.start
        data = bytes(self._buffer.data[start - first : stop - first])
        self._shift = start - self._buffer.skipped - self._given
        self._given += len(data)
        self._is_between_entries = False
        try:
            self._parse(data, final=False)
        except (ExpatError, Misplaced):
            return False
        self._is_between_entries = not builder.is_in_entry
        return self._is_between_entries

    def restart(self) -> None:
        """Starts a new parser inside the same elements, at the beginning of the buffer; or behind the root element."""
        self._begin(_ENDED_ROOT if self._builder.is_over else self._builder.head)

    def _begin(self, head: bytes) -> None:
        release(self._parser)
        self._budget.spend(PARSER_STEPS)
        self._budget.spend_on_markup(head, 0, len(head), TAG_STEPS)
        self._parser = self._new_parser(head)

    def replace_parser(self) -> None:
        """Restarts after _MAX_PARSER_BYTES, as a parser keeps all names and prefixes of the document."""
        # Each parser reads the ancestors' tags.
        is_worth = self._buffer.start - self._start >= max(_MAX_PARSER_BYTES, len(self._head))
        if is_worth and self._builder.root_seen and not self._builder.is_over:
            self.restart()
