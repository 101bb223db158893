"""What keeps a document from being read on: raised where noticed, caught by markup.py, answered by recovery.py."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs

from ...model.limits import over_limit
from ...model.problems import Problem, report

if TYPE_CHECKING:
    from ...model.limits import Limits


UNBOUND_PREFIX = expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]
UNCLOSED_SECTION = expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION]
# Errors that, at the end of the bytes, only mean that they ran out.
ENDED_EARLY = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)


class Misplaced(Exception):
    """Raised where well-formed markup cannot mean what it says; `index` is in expat's count of bytes.

    `is_entry`: an entry that begins right inside another; `loose_entry`: the entry that a field outside needs;
    `section_end`: where the CDATA section ends that it is about, in the same count.
    """

    def __init__(
        self,
        what: str,
        index: int,
        *,
        is_entry: bool = False,
        section_end: int = 0,
        loose_entry: str | None = None,
    ) -> None:
        super().__init__(what)
        self.index = index
        self.is_entry = is_entry
        self.section_end = section_end
        self.loose_entry = loose_entry


class UnendedSection(Exception):
    """A CDATA section has begun, and there is no end of one behind it."""


class Stop(Exception):
    """The document cannot go on, for this reason, from this index of expat's count; None: from its last event."""

    def __init__(self, problem: Problem, index: int | None = None) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.index = index


class TooLong(Exception):
    """Raised in a handler: more bytes than max_entry_bytes have passed, and no entry has ended."""


@attrs.define
class Fault:
    """What stopped expat: an offset of the pending bytes, the line, and what to call it.

    `code` is expat's, or None where `misplaced` says what is wrong with well-formed markup. `limit` is the one that
    keeps it from being mended.
    """

    position: int
    line: int
    what: str
    code: int | None = None
    misplaced: Misplaced | None = None
    limit: str | None = None

    @property
    def lost(self) -> Problem:
        """What to say where it cannot be mended."""
        return self._problem(": lost up to the next entry")

    @property
    def before_root(self) -> Problem:
        """What to say where there is no root element yet, and so no next entry."""
        return self._problem(", before the root element")

    def _problem(self, what: str) -> Problem:
        advice = f"; raise {self.limit} to have more mended" if self.limit else ""
        return report("S01", f"{self.what}{what}{advice}", line=self.line)

    @property
    def next_position(self) -> int:
        """Where to look for the next entry: the token at fault would fail again, unless it is that entry."""
        return self.position + (not (self.misplaced and self.misplaced.is_entry))


def html_page() -> Problem:
    """F05."""
    return report("F05", "an HTML page where a sitemap should be")


# ----------------------------------------------------------------------------------------------------
# What reading a document may cost: steps of work, counted and never timed, against the bytes that have come.
#
# A step is about what expat needs for one byte of text, some 10 ns. All that can take more time than its bytes deserve
# spends steps before, or right after, it does the work: so no loop goes on without an end, whatever is in the document.


# A document may cost as much as if so many more bytes had come: small ones need not be cheap.
ALLOWED_BYTES = 64 * 1024

# Steps, as measured.
TAG = 60  # that expat reads, and that becomes an element
EVENT = 400  # the end of an entry, or a tag between entries
LANDMARK = 60  # a `<` that is judged while the next entry is looked for
PARSER = 4000  # a new one, behind a fault
TOKEN = 350  # of an entry that is repaired
LEVEL = 10  # of elements that are open around it
EDIT = 400
CHARACTERS = 400  # a place where characters are repaired
REFERENCE = 60  # a place that might be one
ENTRY = 700  # or a line, that is cleaned and judged by itself
PROBLEM = 600
COPIED = 16  # bytes that are copied and searched for one byte in a step
MOVED = 256  # bytes that are moved in a step


class Spent(Exception):
    """Raised once, when the steps are used up: the document ends here, with `problem()`."""


class Budget:
    """receive() bytes, then spend() steps, or count() them: no more than `max_work_per_byte` for each.

    `steps` is how many there were.
    """

    def __init__(self, limits: Limits) -> None:
        self.steps = 0
        self._per_byte = limits.max_work_per_byte
        self._most: float = ALLOWED_BYTES * self._per_byte

    def receive(self, count: int) -> None:
        """So many decoded bytes have come."""
        self._most += count * self._per_byte

    def spend(self, steps: int) -> None:
        """Counts work; Spent where it `is_used_up`."""
        self.steps += steps
        if self.steps > self._most and self.is_used_up():
            raise Spent

    def count(self, steps: int) -> None:
        """Counts work that cannot be broken off: is_used_up() is asked later."""
        self.steps += steps

    def is_used_up(self) -> bool:
        """True once, behind the first step too many: after that, what ends the document is free."""
        if self.steps <= self._most:
            return False
        self._most = float("inf")
        return True

    def look(self, data: bytes | bytearray, start: int, stop: int, each: int) -> None:
        """Work on bytes of markup: a step for each, and so many for `each` tag in it."""
        if stop > start:
            self.spend(stop - start + each * data.count(b"<", start, stop))

    def problem(self, line: int | None = None) -> Problem:
        """S16, with the field to raise."""
        return over_limit("max_work_per_byte", self._per_byte, "steps of work for each byte read", line)
