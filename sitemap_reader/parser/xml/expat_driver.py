"""Drives expat: pending bytes in, events to the Builder. At any place another parser can take the place of the first.

How long a token may be is judged here, and how often expat looks through one that has not ended. What it raises at a
fault is answered elsewhere. All that expat reads is charged to the budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.parsers.expat import ExpatError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from ...model.limits import over_limit
from ...model.problems import Problem, report
from .errors import PARSER, TAG, Misplaced, Stop, UnendedSection

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from .entry_builder import Builder
    from .errors import Budget
    from .replay_buffer import ReplayBuffer


# ----------------------------------------------------------------------------------------------------
# expat with defusedxml's guard and our own: no DTD declares anything, no entity is resolved, nothing is fetched.


# Its handlers only raise: one serves for all parsers, and making one takes longer than making a parser.
_DEFUSED = DefusedXMLParser(target=object())
# What builder.py sets, which holds the parser that it is set in.
_HANDLERS = (
    "StartElementHandler",
    "EndElementHandler",
    "CharacterDataHandler",
    "StartCdataSectionHandler",
    "EndCdataSectionHandler",
)


class BareDoctype(Exception):
    """A DOCTYPE that names an external subset: to be blanked before expat sees it."""


def guarded_parser(head: bytes) -> expat.XMLParserType:
    """A parser that stands behind `head`, which it has read with no handler but the guard's.

    From a DTD it raises Stop or DefusedXmlException, from one that only names another BareDoctype.
    """
    parser = expat.ParserCreate("utf-8", "}")
    parser.buffer_text = True
    parser.EntityDeclHandler = _DEFUSED.defused_entity_decl
    parser.UnparsedEntityDeclHandler = _DEFUSED.defused_unparsed_entity_decl
    parser.ExternalEntityRefHandler = _DEFUSED.defused_external_entity_ref_handler  # type: ignore[assignment]  # raises
    parser.StartDoctypeDeclHandler = _judge_doctype
    if head:
        parser.Parse(head, False)
    return parser


def forget(parser: expat.XMLParserType) -> None:
    """Frees a parser that is done with: its handlers hold it, and it would wait for a garbage collection."""
    for handler in _HANDLERS:
        setattr(parser, handler, None)


def _judge_doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
    """A DOCTYPE may be there (RSS 0.91 has one), but it may not declare anything."""
    if has_internal_subset:
        raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
    if system or public:
        raise BareDoctype


# What one parser is given, at least: a bound on the names that it has to remember.
_MAX_PARSER_BYTES = 2 * 1024 * 1024
# A token that is shorter may be looked through again and again.
_SHORT_TOKEN_BYTES = 4096
# Behind a fault there may soon be another one: what a new parser is shown at first, and then twice as much each time.
_SLICE_BYTES = 512
_MAX_SLICE_BYTES = 16 * 1024
_SECTION = b"<![CDATA["


class Driver:
    """feed() shows expat the bytes, which are `pending` until no restart needs them any more.

    It raises ExpatError, and what the handlers raise: Misplaced, BareDoctype, TooLong, Stop; Spent when the budget is.
    The parser stands behind `head_bytes` of tags around, and the token that has not ended begins at `token`, in its
    count. `sections_end` is False where none of the CDATA sections in what is pending does, and all has come.
    """

    def __init__(self, pending: ReplayBuffer, builder: Builder, budget: Budget, max_token_bytes: int) -> None:
        self._pending = pending
        self._builder = builder
        self._budget = budget
        self._max_token_bytes = max_token_bytes
        self.sections_end = True
        self.token = self.head_bytes = 0
        self._passed_over = 0  # since the parser was made
        self._slice_bytes = _SLICE_BYTES
        self._parser = self._new_parser(b"")

    @property
    def error_index(self) -> int:
        """Where the parser stopped, in its count."""
        return self._parser.ErrorByteIndex

    @property
    def index(self) -> int:
        """Where the event is that it told last, in its count."""
        return self._parser.CurrentByteIndex

    def feed(self, data: bytes, *, final: bool, is_repaired: bool) -> None:
        """All that expat has not been shown, and the data, up to where a token has more bytes than one may have.

        expat looks through a token that has not ended again at each call: it is called when there is twice as much.
        `is_repaired`: the bytes went through the Mender, which has given every CDATA section an end.
        """
        pending, limit = self._pending, self._max_token_bytes
        pending.data += data
        while pending.withheld or final:
            begun = pending.shown_end - self.token  # of the token that has not ended, what expat has seen
            if begun > _SHORT_TOKEN_BYTES and pending.withheld < min(begun, limit - begun) and not final:
                return
            piece = pending.show(self._most_shown(limit - begun, begun, is_repaired=is_repaired))
            is_last = final and not pending.withheld
            self._parse(piece, final=is_last)
            if self._builder.in_section and not self.sections_end:
                raise UnendedSection
            if is_last:
                return
            self.token = max(self.token, self.index)
            section = self._builder.section_index
            if self._builder.in_section and not is_repaired and pending.shown_end - section >= limit:
                raise Misplaced("a CDATA section does not end", section)
            if pending.shown_end - self.token >= limit:
                raise Stop(self.endless_token(self.token), self.token)

    def _most_shown(self, limit: int, begun: int, *, is_repaired: bool) -> int:
        """How many bytes to show at once: less where the rest may have to be shown to another parser."""
        most = min(limit, max(self._slice_bytes, begun)) if is_repaired else limit
        self._slice_bytes = min(2 * self._slice_bytes, _MAX_SLICE_BYTES)
        if self.sections_end:
            return most
        section = self._pending.data.find(_SECTION, self._pending.shown, self._pending.shown + most)
        return most if section < 0 else section + len(_SECTION) - self._pending.shown

    def endless_token(self, index: int) -> Problem:
        """What to say of the token that begins at this index."""
        line = self._pending.line_at(self._pending.offset(index))
        return over_limit("max_token_bytes", self._max_token_bytes, "bytes in one comment, tag or other token", line)

    def restart(self) -> None:
        """A new parser inside the same elements, which feed() shows the pending bytes."""
        forget(self._parser)
        head = self._builder.head()
        self._budget.spend(PARSER)
        self._budget.look(head, 0, len(head), TAG)
        self._parser = self._new_parser(head)

    def renew(self) -> None:
        """A parser forgets no name and no prefix of the document: after some time restart() another one."""
        read = self._pending.base - self.head_bytes + self._passed_over
        is_worth = read >= max(_MAX_PARSER_BYTES, self.head_bytes)  # the tags around are read again with each
        if not is_worth or self._builder.is_over or not self._builder.root_seen:
            return
        self.restart()

    def pass_over(self, size: int, breaks: int) -> None:
        """What comes next stands behind so many bytes and line breaks that expat is not shown."""
        self._passed_over += size
        self._builder.skip_lines(breaks)
        self._pending.line += breaks

    def _new_parser(self, head: bytes) -> XMLParserType:
        """A parser that stands behind `head`."""
        parser = guarded_parser(head)
        self._passed_over, self._slice_bytes = 0, _SLICE_BYTES
        self.head_bytes = len(head)
        self._pending.rebase(len(head))
        self.token = len(head)
        self._builder.attach(parser, len(head) - self._pending.counted, self._pending.line - 1)
        return parser

    def _parse(self, data: bytes, *, final: bool) -> None:
        end = len(data)
        try:
            self._parser.Parse(data, final)
        except DefusedXmlException as error:
            raise Stop(report("S09", "the DTD declares entities: the document is refused")) from error
        except ExpatError:
            end -= self._pending.shown_end - self.error_index
            raise
        except Misplaced as misplaced:
            end -= self._pending.shown_end - misplaced.index
            raise
        finally:
            self._budget.look(data, 0, end, TAG)
