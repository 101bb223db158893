"""The values that pass between a frontier and whoever fetches for it.

Out of the frontier: Visits, each one request to make now. Into it: what came of each, as one of the answers here.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import islice
from typing import TYPE_CHECKING, get_args

import attrs

from ..model.problems import Problem, Tally
from ..model.records import Candidate, Outcome, SitemapRef, Why
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.scope import DropReason
from ..parser.normalise.urls import without_userinfo
from .seeds import WELL_KNOWN, Probe, Seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from ..parser.content.decoder import ReadPrefix
    from ..parser.normalise.scope import Scope
    from .filters import Dates
    from .index_dates import IndexCheck
    from .revalidation import Stated
    from .robots_rules import Rules


# ----------------------------------------------------------------------------------------------------
# A document that dropped what it may speak for after all: it is read once more, for that alone.
#
# In: the outcome of its first reading, and what is known when nothing more can be learned. Out: whether to read it
# again, and what the two readings come to. A second reading gives no child and repeats no record.


_REASONS = frozenset(get_args(DropReason))


@attrs.define
class Reread:
    """A second reading: `former` covers what the first one gave, `first` is what became of that.

    `regained` counts what is given now, by the reason for which it was dropped then.
    """

    former: Scope
    first: Outcome
    regained: Counter[str] = attrs.field(factory=Counter)


def has_drops(outcome: Outcome) -> bool:
    """Whether something was out of scope, and not only out of the dates that were asked for."""
    return not _REASONS.isdisjoint(outcome.dropped)


def plan_reread(first: Outcome | None, former: Scope, authorities: tuple[str, ...]) -> Reread | None:
    """Another reading, if one of the authorities may cover some of what `former` dropped.

    What an authority covers differs from the former ones in the same way as the authority does: so one on another
    host brings nothing back where only paths were at fault.
    """
    if first is None or not any(former.reason(authority) in first.dropped for authority in authorities):
        return None
    return Reread(former, first)


def outcome_of_both(again: Reread, second: Outcome) -> Outcome:
    """What became of a document that was read twice.

    The same bytes, so the second outcome is the truth; else the first one, and what was given beyond it.
    """
    first = again.first
    if second.sha256 == first.sha256:
        return second
    first.kept += again.regained.total()
    first.dropped = dict(Counter(first.dropped) - again.regained)
    first.complete = first.complete and second.complete
    return first


# ----------------------------------------------------------------------------------------------------
# Discovery of one site as a small state machine: robots.txt, then what it names, then well-known paths.
#
# In: what became of each candidate. Out: the next URL to guess, if it is time to guess.


@attrs.define(eq=False)
class Site:
    """`pending` counts the candidates that are still on their way; `candidates` is what discovery reports."""

    seed: Seed
    probe: Probe
    origin: str
    other_origins: list[str]
    awaits_robots: bool = False
    pending: int = 0
    found: bool = False  # a named candidate holds a sitemap
    candidates: list[Candidate] = attrs.field(factory=list)
    first_failure: DocumentRequest | None = None  # robots.txt at the first of several origins
    is_over: bool = False  # nothing more will be asked for on its account
    pages: list[DocumentRequest] = attrs.field(factory=list)  # well-known paths with an HTML page
    _is_absent: bool = False  # a well-known path has neither a sitemap nor a page
    _paths: Iterator[str] = attrs.field(factory=lambda: iter(WELL_KNOWN))
    _guess_found: bool = False

    @classmethod
    def of(cls, seed: Seed, probe: Probe) -> Site:
        first, *others = seed.origins
        return cls(seed, probe, first, others)

    def expect(self, request: DocumentRequest) -> None:
        """A candidate, which may be that of another site already, and may have come to its end."""
        if self in request.sites:
            return
        self.pending += 1
        if request.outcome:
            self.settled(request.outcome)
        else:
            request.sites.append(self)

    def settled(self, outcome: Outcome) -> None:
        """A candidate has come to its end."""
        self.pending -= 1
        holds = outcome.format in SITEMAP_FORMATS
        guess = outcome.why == "well-known"
        if guess:
            self._guess_found = self._guess_found or holds
            is_absent = not (holds or outcome.format == Format.HTML or "F02" in outcome.problems)
            self._is_absent = self._is_absent or is_absent
        else:
            self.found = self.found or holds
        if holds or not guess:
            self.list_candidate(outcome)

    def list_candidate(self, outcome: Outcome) -> None:
        """Discovery reports it."""
        errors = (p for p in outcome.samples if p.severity == "error" or p.code == "F15")
        error = next((f"{p.code} {p.message}" for p in errors), None)
        self.candidates.append(Candidate(outcome.url or "", outcome.why, outcome.status, outcome.format, error))

    @property
    def has_sitemap(self) -> bool:
        """One was found, at whatever place."""
        return self.found or self._guess_found

    @property
    def has_only_pages(self) -> bool:
        """All well-known paths that were asked for have an HTML page, and nothing is known of any other place."""
        return bool(self.pages) and not (self._is_absent or self.candidates)

    def next_guess(self) -> str | None:
        """The next well-known URL, once all named candidates are through and unless it is not called for."""
        if self.pending or self._guess_found or self.seed.document or self.seed.robots_only:
            return None
        if self.probe == "never" or (self.probe == "auto" and self.found):
            return None
        path = next(self._paths, None)
        if path is None:
            return None
        return self.origin + path


@attrs.frozen
class Reached:
    """How far a document was read before its bytes broke off: another try goes on from there.

    `items` counts what its parser had given by then, `outcome` says what had become of it.
    """

    prefix: ReadPrefix
    items: int
    outcome: Outcome


@attrs.define(eq=False)
class DocumentRequest:
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
    again: Reread | None = None
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
    is_reported: bool = False  # its failure is news, even if it was only a guess or might have been a proof
    reached: Reached | None = None
    aliases: list[DocumentRequest] = attrs.field(factory=list)  # documents that redirect to it
    alias_of: DocumentRequest | None = None  # the one that it redirects to
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

    def waits_for(self, other: DocumentRequest) -> bool:
        """Whether it is an alias of the other, at any distance."""
        known = self.alias_of
        while known is not None and known is not other:
            known = known.alias_of
        return known is not None

    @property
    def is_guess(self) -> bool:
        """Tried without anybody having named it: its failure is no news."""
        return self.why == "well-known" and not self.is_reported


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


# ----------------------------------------------------------------------------------------------------
# The documents of a walk: each known once, by every URL that it goes by, with all that list it.
#
# In: visits. Out: which are known, and who stands above whom. Parents may form cycles.


# Parents that are looked at for a cycle. Sites have a handful.
_NEAREST = 64


class KnownDocuments:
    """Visits by URL: the one that was asked for, and where redirects led.

    Userinfo is never sent, so URLs that differ only in that are one document.
    """

    def __init__(self) -> None:
        self._visits: dict[str, DocumentRequest] = {}
        self.documents = 0

    def __contains__(self, url: str) -> bool:
        return self.get(url) is not None

    def get(self, url: str) -> DocumentRequest | None:
        """The document that is known by this URL."""
        return self._visits.get(without_userinfo(url))

    def add(self, request: DocumentRequest) -> None:
        """A new document, by the URL under which it is asked for."""
        self.documents += 1
        self.add_name(request.asked, request)

    def add_name(self, url: str, request: DocumentRequest) -> None:
        """From now on the document is known by this URL too."""
        self._visits[without_userinfo(url)] = request

    def is_above(self, known: DocumentRequest, request: DocumentRequest) -> bool:
        """Is `known`, a document or a robots.txt, the visit itself, or among those that list it, at any distance?

        In a thicket of indexes that all list each other only the nearest parents are looked at: nothing hangs on
        the answer but a word to the user, since a document that is known is never asked for again.
        """
        above = islice(self._above(request), _NEAREST)
        return known is request or any(url == known.asked or self.get(url) is known for url in above)

    def _above(self, request: DocumentRequest) -> Iterator[str]:
        """What lists it, then what lists that, each once."""
        seen: set[str] = set()
        nearest = deque([request])
        while nearest:
            for url in nearest.popleft().parents:
                if url not in seen:
                    seen.add(url)
                    yield url
                    parent = self.get(url)
                    if parent is not None:  # it is no robots.txt
                        nearest.append(parent)

    def is_in_index(self, request: DocumentRequest) -> bool:
        """Is it listed by an index other than itself?"""
        parents = (self.get(url) for url in request.parents if url != request.asked)
        return any(parent is not None and parent.is_index for parent in parents)
