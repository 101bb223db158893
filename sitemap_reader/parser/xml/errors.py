"""What keeps a document from being read on: raised where noticed, caught by markup.py, answered by recovery.py."""

from __future__ import annotations

from xml.parsers import expat

import attrs

from ...model.problems import Problem, report

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
