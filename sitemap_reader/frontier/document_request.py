"""Requests for documents, what came of each, and which documents a crawl knows: the values of the frontier.

Out of the frontier come DocumentRequests, each one request to make now. Into it go Answers: the head, what the body
lists, and the end. Nothing here decides when a request is made.
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
    from .lastmod_trust import Lastmod, LastmodSummary
    from .robots_rules import Rules

_SCOPE_REASONS = frozenset(get_args(DropReason))
# Parents that are examined for a cycle. Sites have a handful.
_MAX_ANCESTORS = 64


@attrs.frozen
class ResumePoint:
    """How far a document was read before its bytes broke off; the next try continues there.

    `items` is the number of items that the parser had yielded, `outcome` the state of the document at that point.
    """

    prefix: ReadPrefix
    items: int
    outcome: Outcome


@attrs.define
class Reread:
    """A second reading of a document whose scope has grown since, for the records that the first one dropped.

    `former` is the scope of the first reading, `first` its outcome; `regained` counts the records that are yielded
    now, by the reason for which they were dropped. A second reading adds no child and repeats no record.
    """

    former: Scope
    first: Outcome
    regained: Counter[str] = attrs.field(factory=Counter)

    def merge(self, second: Outcome) -> Outcome:
        """The outcome of both readings: the second if the bytes were the same, else the first plus `regained`."""
        first = self.first
        if second.sha256 == first.sha256:
            return second
        first.kept += self.regained.total()
        first.dropped = dict(Counter(first.dropped) - self.regained)
        first.complete = first.complete and second.complete
        return first


def has_scope_drops(outcome: Outcome) -> bool:
    """Whether records were dropped as out of scope, and not only by the caller's filters."""
    return not _SCOPE_REASONS.isdisjoint(outcome.dropped)


@attrs.define(eq=False)
class DocumentRequest:
    """One document that is to be fetched, is being fetched, or was.

    `original_url` is the URL as it was listed, `url` the one to request now (redirects change it), `authorities` the
    URL prefixes that the document may list in this reading, besides its own directory. With `reread`, only what the
    first reading dropped is wanted. The other fields are the frontier's own state.
    """

    original_url: str
    url: str
    why: Why
    is_robots: bool = False
    depth: int = 0
    inherited_authorities: tuple[str, ...] = ()  # of the indexes that list it
    authorities: tuple[str, ...] = ()
    reread: Reread | None = None
    headers: dict[str, str] = attrs.field(factory=dict)
    parents: list[str] = attrs.field(factory=list)
    listed_at: str | None = None  # `document:line` of the first listing
    listed_line: int | None = None
    listed_lastmod: Lastmod | None = None
    is_sample: bool = False  # read to check whether its index states correct dates, else it would be skipped
    read_at: datetime | None = None  # wall-clock time at which the head of the answer arrived
    dates: LastmodSummary | None = None  # of its entries, if requested
    sites: list[SiteDiscovery] = attrs.field(factory=list)  # whose discovery waits for it
    redirects: list[str] = attrs.field(factory=list)  # the URLs that redirected
    tries: int = 0
    not_before: float = 0.0
    network_seconds: float = 0.0  # waited for the network, in all tries
    status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    is_incomplete: bool = False  # entries may be missing for a reason that the parser cannot know
    tally: Tally = attrs.field(factory=Tally)
    deferred_problems: list[Problem] = attrs.field(factory=list)  # of a probe, until it proves to be a sitemap
    children: list[str] = attrs.field(factory=list)
    sitemap_lines: list[SitemapRef] = attrs.field(factory=list)  # of a robots.txt
    unverified_children: dict[str, SitemapRef] = attrs.field(factory=dict)  # out of scope, not yet verified
    unread_children: Counter[str] = attrs.field(factory=Counter)  # that were never verified: reason -> count
    skipped: int = 0  # children that are not read because of their lastmod
    scope_extensions: int = 0  # how often it gained authorities
    is_index: bool = False
    is_page: bool = False  # a robots.txt that is an HTML page, which has not been reported yet
    reports_failure: bool = False  # although it was only probed, or requested for verification
    resume: ResumePoint | None = None
    aliases: list[DocumentRequest] = attrs.field(factory=list)  # documents that redirect to it
    alias_of: DocumentRequest | None = None  # the document that it redirects to
    outcome: Outcome | None = None
    is_processing: bool = False  # all bytes have arrived, the end of parsing has not been reported
    # An empty set takes as much memory as all other fields: most documents list none, and are listed once.
    _known_children: set[str] | None = None
    _known_parents: set[str] | None = None

    def lists(self, url: str) -> bool:
        """Whether the URL is one of its recorded children."""
        return self._known_children is not None and url in self._known_children

    def add_child(self, url: str) -> None:
        """Records a URL that it lists."""
        self._known_children = self._known_children or set()
        self._known_children.add(url)
        self.children.append(url)

    def add_parent(self, url: str) -> None:
        """Records a document that lists it."""
        if not self.parents:
            self.parents.append(url)
            return
        self._known_parents = self._known_parents or set(self.parents)
        if url not in self._known_parents:
            self._known_parents.add(url)
            self.parents.append(url)

    def is_alias_of(self, other: DocumentRequest) -> bool:
        """Whether it redirects to the other, directly or by way of further documents."""
        known = self.alias_of
        while known is not None and known is not other:
            known = known.alias_of
        return known is not None

    @property
    def is_probe(self) -> bool:
        """A request for a well-known path that no document lists: its failure is not reported."""
        return self.why == "well-known" and not self.reports_failure


@attrs.frozen
class Head:
    """The status and headers (lower-case names) of an answer."""

    status: int
    headers: Mapping[str, str]


@attrs.frozen
class Arrived:
    """All bytes have arrived, and the request is over. They are still being parsed: Failed or Finished follows."""


@attrs.frozen
class Failed:
    """No answer, or one that broke off; `outcome` covers what was read before.

    `remedy` is what the user can do, "" if nothing; with None see responses.with_remedy().
    """

    code: str
    message: str
    transient: bool = True
    outcome: Outcome | None = None
    remedy: str | None = None

    @property
    def text(self) -> str:
        """The message with its remedy."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


@attrs.frozen
class Finished:
    """The document was read to its end. `rules` are those of a robots.txt: see robots_rules.parse_rules()."""

    outcome: Outcome
    rules: Rules | None = None


Answer = Head | SitemapRef | Arrived | Failed | Finished


@attrs.define(eq=False)
class SiteDiscovery:
    """Where the sitemaps of one site are: robots.txt, then the sitemaps that it names, then well-known paths.

    In: the outcome of each candidate. Out: the next URL to probe, and `candidates` for the report. `pending` counts
    the candidates that have not ended.
    """

    seed: Seed
    probe: Probe
    origin: str
    other_origins: list[str]
    awaits_robots: bool = False
    pending: int = 0
    found: bool = False  # a listed candidate is a sitemap
    candidates: list[Candidate] = attrs.field(factory=list)
    first_failure: tuple[DocumentRequest, Failed] | None = None  # robots.txt at the first of several origins
    has_ended: bool = False  # nothing more is requested on its account
    html_pages: list[DocumentRequest] = attrs.field(factory=list)  # at well-known paths
    _is_absent: bool = False  # a well-known path has neither a sitemap nor a page
    _paths: Iterator[str] = attrs.field(factory=lambda: iter(WELL_KNOWN))
    _probe_found: bool = False

    @classmethod
    def start(cls, seed: Seed, probe: Probe) -> SiteDiscovery:
        first, *others = seed.origins
        return cls(seed, probe, first, others)

    def add_candidate(self, request: DocumentRequest) -> None:
        """A candidate, which may be that of another site as well, and may have ended."""
        if self in request.sites:
            return
        self.pending += 1
        if request.outcome:
            self.candidate_ended(request.outcome)
        else:
            request.sites.append(self)

    def candidate_ended(self, outcome: Outcome) -> None:
        self.pending -= 1
        is_sitemap = outcome.format in SITEMAP_FORMATS
        is_probe = outcome.why == "well-known"
        if is_probe:
            self._probe_found = self._probe_found or is_sitemap
            is_absent = not (is_sitemap or outcome.format == Format.HTML or "F02" in outcome.problems)
            self._is_absent = self._is_absent or is_absent
        else:
            self.found = self.found or is_sitemap
        if is_sitemap or not is_probe:
            self.report_candidate(outcome)

    def report_candidate(self, outcome: Outcome) -> None:
        """Adds a document to what discovery reports, with its first error."""
        errors = (p for p in outcome.samples if p.severity == "error" or p.code == "F15")
        error = next((f"{p.code} {p.message}" for p in errors), None)
        self.candidates.append(Candidate(outcome.url or "", outcome.why, outcome.status, outcome.format, error))

    @property
    def has_sitemap(self) -> bool:
        """Whether a sitemap was found, listed or probed."""
        return self.found or self._probe_found

    @property
    def has_only_pages(self) -> bool:
        """Whether all well-known paths that were requested have an HTML page, and no other candidate is known."""
        return bool(self.html_pages) and not (self._is_absent or self.candidates)

    def next_probe(self) -> str | None:
        """The next well-known URL, once all listed candidates have ended; None where no probe is due."""
        if self.pending or self._probe_found or self.seed.document or self.seed.robots_only:
            return None
        if self.probe == "never" or (self.probe == "auto" and self.found):
            return None
        path = next(self._paths, None)
        if path is None:
            return None
        return self.origin + path


class KnownDocuments:
    """The documents of a crawl by URL: by the original one, and by those that redirects led to.

    Userinfo is never sent, so URLs that differ only in that are one document. Parents may form cycles.
    """

    def __init__(self) -> None:
        self._requests: dict[str, DocumentRequest] = {}
        self.count = 0

    def __contains__(self, url: str) -> bool:
        return self.get(url) is not None

    def get(self, url: str) -> DocumentRequest | None:
        """The document that is known by this URL."""
        return self._requests.get(without_userinfo(url))

    def add(self, request: DocumentRequest) -> None:
        """Adds a new document by its original URL."""
        self.count += 1
        self.add_url(request.original_url, request)

    def add_url(self, url: str, request: DocumentRequest) -> None:
        """Makes the document known by one more URL."""
        self._requests[without_userinfo(url)] = request

    def is_above(self, known: DocumentRequest, request: DocumentRequest) -> bool:
        """Whether `known`, a document or a robots.txt, is the request itself or one of its ancestors.

        Only the nearest ancestors are examined, as a thousand indexes may all list each other. A document is
        requested once in any case: the answer decides only which Problem is reported.
        """
        ancestors = islice(self._ancestors(request), _MAX_ANCESTORS)
        return known is request or any(url == known.original_url or self.get(url) is known for url in ancestors)

    def _ancestors(self, request: DocumentRequest) -> Iterator[str]:
        """The documents that list it, then those that list these, each once."""
        seen: set[str] = set()
        nearest = deque([request])
        while nearest:
            for url in nearest.popleft().parents:
                if url not in seen:
                    seen.add(url)
                    yield url
                    parent = self.get(url)
                    if parent is not None:  # None for a robots.txt
                        nearest.append(parent)

    def is_in_index(self, request: DocumentRequest) -> bool:
        """Whether an index other than itself lists it."""
        parents = (self.get(url) for url in request.parents if url != request.original_url)
        return any(parent is not None and parent.is_index for parent in parents)
