"""Drives expat: pending bytes in, events to the Builder. At any place another parser can take the place of the first.

How long a token may be is judged here, and how often expat looks through one that has not ended. What it raises at a
fault is not for this room to answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from defusedxml.common import DefusedXmlException

from ..problems import Problem, over_limit, report
from .faults import Misplaced, Stop
from .guard import forget, guarded_parser

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from .builder import Builder
    from .pending import Pending

# What one parser is given, at least: a bound on the names that it has to remember.
_MAX_PARSER_BYTES = 2 * 1024 * 1024
# A token that is shorter may be looked through again and again.
_SHORT_TOKEN_BYTES = 4096


class Driver:
    """feed() shows expat the bytes, which are `pending` from then on, until no restart needs them any more.

    It raises ExpatError, and what the handlers raise: Misplaced, BareDoctype, TooLong, Stop. The parser stands behind
    `head_bytes` of tags around, and the token that has not ended begins at `token`, in its count.
    """

    def __init__(self, pending: Pending, builder: Builder, max_token_bytes: int) -> None:
        self._pending = pending
        self._builder = builder
        self._max_token_bytes = max_token_bytes
        self._withheld = bytearray()  # what expat has not been shown yet
        self.token = self.head_bytes = 0
        self._passed_over = 0  # since the parser was made
        self._parser = self._new_parser(b"")

    @property
    def error_index(self) -> int:
        """Where the parser stopped, in its count."""
        return self._parser.ErrorByteIndex

    @property
    def index(self) -> int:
        """Where the event is that it told last, in its count."""
        return self._parser.CurrentByteIndex

    def feed(self, data: bytes, *, final: bool, sections_end: bool) -> None:
        """All that was withheld, and the data, up to where a token would have more bytes than one may have.

        expat looks through a token that has not ended again at each call: it is called when there is twice as much.
        `sections_end`: somebody has seen to it that every CDATA section does.
        """
        self._withheld += data
        limit = self._max_token_bytes
        while self._withheld or final:
            begun = self._pending.end - self.token  # of the token that has not ended, what expat has seen
            piece = self._withheld[: limit - begun]
            if begun > _SHORT_TOKEN_BYTES and len(self._withheld) < min(begun, limit - begun) and not final:
                return
            del self._withheld[: len(piece)]
            self._pending.data += piece
            is_last = final and not self._withheld
            self._parse(bytes(piece), final=is_last)
            if is_last:
                return
            self.token = max(self.token, self.index)
            section = self._builder.section_index
            if self._builder.in_section and not sections_end and self._pending.end - section >= limit:
                raise Misplaced("a CDATA section does not end", section)
            if self._pending.end - self.token >= limit:
                raise Stop(self.endless_token(self.token), self.token)

    def endless_token(self, index: int) -> Problem:
        """What to say of the token that begins at this index."""
        line = self._pending.line_at(self._pending.offset(index))
        return over_limit("max_token_bytes", self._max_token_bytes, "bytes in one comment, tag or other token", line)

    def give_back(self) -> None:
        """Whoever looks at the pending bytes after a fault sees all that have come."""
        self._pending.data += self._withheld
        self._withheld.clear()

    def restart(self) -> bytes:
        """A new parser inside the same elements; gives the pending bytes, to be fed to it."""
        self.give_back()
        forget(self._parser)
        self._parser = self._new_parser(self._builder.head())
        return self._pending.take()

    def renewed(self) -> bytes:
        """A parser forgets no name and no prefix of the document: after some time restart() another one."""
        read = self._pending.base - self.head_bytes + self._passed_over
        is_worth = read >= max(_MAX_PARSER_BYTES, self.head_bytes)  # the tags around are read again with each
        if not is_worth or self._builder.is_over or not self._builder.root_seen:
            return b""
        return self.restart()

    @property
    def has_withheld(self) -> bool:
        """Whether there is something that expat has not been shown yet."""
        return bool(self._withheld)

    def pass_over(self, size: int, breaks: int) -> None:
        """What comes next stands behind so many bytes and line breaks that expat is not shown."""
        self._passed_over += size
        self._builder.skip_lines(breaks)
        self._pending.line += breaks

    def _new_parser(self, head: bytes) -> XMLParserType:
        """A parser that stands behind `head`."""
        parser = guarded_parser(head)
        self._passed_over = 0
        self.head_bytes = len(head)
        self._pending.rebase(len(head))
        self.token = len(head)
        self._builder.attach(parser, len(head) - self._pending.counted, self._pending.line - 1)
        return parser

    def _parse(self, data: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(data, final)
        except DefusedXmlException as error:
            raise Stop(report("S09", "the DTD declares entities: the document is refused")) from error
