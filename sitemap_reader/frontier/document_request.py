"""The values that pass between a frontier and whoever fetches for it.

Out of the frontier: Visits, each one request to make now. Into it: what came of each, as one of the answers here.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from ..model.problems import Problem, Tally
from ..model.records import Outcome, SitemapRef, Why

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ..parser.content.decoder import Prefix
    from .again import Again
    from .index_dates import IndexCheck
    from .revalidation import Stated
    from .robots_rules import Rules
    from .sites import Site
    from .window import Dates


@attrs.frozen
class Reached:
    """How far a document was read before its bytes broke off: another try goes on from there.

    `items` counts what its parser had given by then, `outcome` says what had become of it.
    """

    prefix: Prefix
    items: int
    outcome: Outcome


@attrs.define(eq=False)
class Visit:
    """One document on its way.

    `asked` is the URL as it was listed, `url` the one to request now (redirects move it), `holds` what it may speak
    for in this reading, besides its own directory. With `again`, only what an earlier reading dropped is wanted. The
    rest is the frontier's book-keeping.
    """

    asked: str
    url: str
    why: Why
    is_robots: bool = False
    depth: int = 0
    authorities: tuple[str, ...] = ()  # what those that list it handed down
    holds: tuple[str, ...] = ()
    again: Again | None = None
    headers: dict[str, str] = attrs.field(factory=dict)
    parents: list[str] = attrs.field(factory=list)
    listed_at: str | None = None  # `document:line` of the first listing
    listed_line: int | None = None
    stated: Stated | None = None  # the lastmod that it has there
    listed_by: IndexCheck | None = None  # the check of the index that does, if its dates are to be checked
    is_probe: bool = False  # its index would have it skipped: it is read to see whether that is right
    check: IndexCheck | None = None  # of an index: that of the dates which it states itself
    read_at: datetime | None = None  # the calendar's time of the head that its body is behind
    dates: Dates | None = None  # what it holds, where that is asked for
    sites: list[Site] = attrs.field(factory=list)  # whose discovery waits for it
    redirects: list[str] = attrs.field(factory=list)  # the URLs that redirected
    tries: int = 0
    not_before: float = 0.0
    network_seconds: float = 0.0  # waited for the network, in all tries
    status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    missing: bool = False  # entries may be missing for a reason that the parser cannot know
    tally: Tally = attrs.field(factory=Tally)
    held: list[Problem] = attrs.field(factory=list)
    children: list[str] = attrs.field(factory=list)  # what it lists
    named: list[SitemapRef] = attrs.field(factory=list)  # the Sitemap lines of a robots.txt
    unproven: dict[str, SitemapRef] = attrs.field(factory=dict)  # those of its children that lack proof so far
    forgone: Counter[str] = attrs.field(factory=Counter)  # children that no proof has come for: reason -> count
    skipped: int = 0  # children that are not read, as it states an older lastmod of them
    gains: int = 0  # how often it was handed more authorities
    is_index: bool = False
    is_page: bool = False  # a robots.txt that is an HTML page, which has not been reported yet
    aloud: bool = False  # its failure is news, even if it was only a guess or might have been a proof
    reached: Reached | None = None
    aliases: list[Visit] = attrs.field(factory=list)  # documents that redirect to it
    alias_of: Visit | None = None  # the one that it redirects to
    outcome: Outcome | None = None
    is_at_work: bool = False  # its request is over, its document not
    # An empty set takes as much as all the rest: most documents list none, and are listed once.
    _known_children: set[str] | None = None
    _known_parents: set[str] | None = None

    def lists(self, url: str) -> bool:
        """Whether the document is known to be one of its children."""
        return self._known_children is not None and url in self._known_children

    def add_child(self, url: str) -> None:
        """It lists one more document."""
        self._known_children = self._known_children or set()
        self._known_children.add(url)
        self.children.append(url)

    def add_parent(self, url: str) -> None:
        """One more document lists it."""
        if not self.parents:
            self.parents.append(url)
            return
        self._known_parents = self._known_parents or set(self.parents)
        if url not in self._known_parents:
            self._known_parents.add(url)
            self.parents.append(url)

    def waits_for(self, other: Visit) -> bool:
        """Whether it is an alias of the other, at any distance."""
        known = self.alias_of
        while known is not None and known is not other:
            known = known.alias_of
        return known is not None

    @property
    def is_guess(self) -> bool:
        """Tried without anybody having named it: its failure is no news."""
        return self.why == "well-known" and not self.aloud


@attrs.frozen
class Head:
    """The status and headers (lower-case names) of an answer."""

    status: int
    headers: Mapping[str, str]


@attrs.frozen
class Arrived:
    """All bytes are here, and the request is over. What is in them takes a while: Failed or Finished will follow."""


@attrs.frozen
class Failed:
    """No answer, or one that broke off; `outcome` says what was read by then.

    `is_ours`: neither the network nor the document is to blame.
    """

    code: str
    message: str
    transient: bool = True
    outcome: Outcome | None = None
    is_ours: bool = False


@attrs.frozen
class Finished:
    """The document was read to its end. `rules` are those of a robots.txt: see robots.parse_rules()."""

    outcome: Outcome
    rules: Rules | None = None


Answer = Head | SitemapRef | Arrived | Failed | Finished
