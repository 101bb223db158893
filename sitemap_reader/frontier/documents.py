"""The values of the frontier: what is requested, what came, what was decided; and the documents that a crawl knows.

Out of the frontier come Listed documents, which the caller requests or skips, and DocumentRequests, each one request to
make now. Into it go Answers: the head, what the body lists, and the end. A Document has the latest of each.

The life of a document, and the step that leads from each of its states to the next. Each step is taken in one place of
the frontier, or by one answer of the caller; any other step is an error of the caller.

    listed ──request──> queued ──start──> requested ──read──> reading ──arrive──> arrived
      │                   ^                   │                   │                  │
      skip                └─────queue (redirect, retry)                              │
      v                                       │                   │                  │
    unchanged <──────────304──────────────────┤                   │                  │
      └──end────> ended <─────end─────────────┴───────────────────┴──────────────────┘
                    └──report──> reported

What the caller has stored of an `unchanged` document takes the place of a body. An `alias`, which redirects to a
document that is known, ends with that document. A robots.txt begins as queued: no caller may skip it.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import attrs

from ..model.errors import UsageError
from ..model.problems import Problem, Problems, report
from ..model.records import PROBED, Candidate, Outcome, SitemapRef, Why
from ..parser.content.sniff import SITEMAP_FORMATS
from ..parser.normalise.scope import DropReason
from ..parser.normalise.urls import origin, without_userinfo
from .plan import WELL_KNOWN, Probe, Seed

if TYPE_CHECKING:
    from ..model.problems import Severity
    from ..parser.content.decoder import ReadPrefix
    from ..parser.dialects.robots import RobotsBody
    from .lastmod_trust import Lastmod, LastmodSummary
    from .robots_rules import Rules

State = Literal["listed", "queued", "requested", "reading", "arrived", "unchanged", "alias", "ended", "reported"]
Step = Literal["request", "skip", "start", "read", "arrive", "304", "wait", "queue", "end", "report"]
# State -> step -> state.
_LIFE: dict[State, dict[Step, State]] = {
    "listed": {"request": "queued", "skip": "unchanged"},
    "queued": {"start": "requested", "end": "ended"},
    "requested": {"read": "reading", "304": "unchanged", "queue": "queued", "wait": "alias", "end": "ended"},
    "reading": {"arrive": "arrived", "queue": "queued", "end": "ended"},
    "arrived": {"queue": "queued", "end": "ended"},
    "unchanged": {"end": "ended"},
    "alias": {"queue": "queued", "end": "ended"},
    "ended": {"report": "reported"},
    "reported": {},
}

_SCOPE_REASONS = frozenset(get_args(DropReason))
# Parents that are examined for a cycle. Sites have a handful.
_MAX_ANCESTORS = 64


# --- what came ---


def lower_case_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@attrs.frozen
class Head:
    """The status and headers of an answer (names in any case), and how long the network took for it.

    `sitemap_format` is that of the body of an error (4xx, 5xx) that is a sitemap all the same. `is_conditional`: the
    request had conditions, so that a 304 confirms what the caller has stored of the document. `sent_login`: it had
    credentials.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(converter=lower_case_names)
    network_seconds: float = 0.0
    sitemap_format: str | None = None
    is_conditional: bool = False
    sent_login: bool = False


@attrs.frozen
class Arrived:
    """All bytes have arrived, and the request is over. They are still being parsed: Failed or Finished follows."""


@attrs.frozen
class Finished:
    """The document was read to its end.

    `rules` are those of a robots.txt: see robots_rules.parse_rules(); `robots_body` is what its body is. `dates` are
    those of its entries, if requested.
    `dropped_origins`: their URLs were dropped as on a host out of scope; their robots.txt may name the document. Where
    URLs were dropped as out of scope, its Outcome comes when its scope grows no more: see Frontier.scope_of().
    """

    outcome: Outcome
    rules: Rules | None = None
    dates: LastmodSummary | None = None
    dropped_origins: tuple[str, ...] = ()
    robots_body: RobotsBody | None = None


@attrs.frozen
class ResumePoint:
    """How far a document was read before its bytes broke off; the next try continues there."""

    prefix: ReadPrefix
    items: int  # that the parser had yielded
    read: Finished


@attrs.frozen
class Failed:
    """No answer, or one that broke off after `network_seconds`; `read` is what was read before.

    With a `resume` point the next try continues there. `remedy` is what the user can do, "" if nothing; with None see
    responses.with_remedy(). `severity` replaces that of the code. `of_proxy`: it is the refusal of the caller's proxy,
    which answers so whatever is requested (407, RFC 9110 15.5.8). `is_sent`: a request was made.
    """

    code: str
    message: str
    transient: bool = True
    read: Finished | None = None
    remedy: str | None = None
    resume: ResumePoint | None = None
    network_seconds: float = 0.0
    severity: Severity | None = None
    of_proxy: bool = False
    is_sent: bool = True

    @property
    def text(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


Answer = Head | SitemapRef | Arrived | Failed | Finished


@attrs.frozen
class Received:
    """What a document's answers stated; the validators and the moment (wall-clock) are those of the last body."""

    status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    read_at: datetime | None = None
    sitemap_format: str | None = None  # see Head
    sent_login: bool = False


NOTHING_RECEIVED = Received()

# --- cookies within the redirects of one document (RFC 6265) ---

# A fetcher joins the lines of a header by commas, which are in dates, too: only a cookie begins with a name and `=`.
_COMMA = re.compile(r",\s*+(?=[!#$%&'*+.^_`|~0-9A-Za-z-]++=)")
_PAIR = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*+=([\x20-\x7e]*+)")  # no control character, no other script
_SECONDS = re.compile(r"-?[0-9]{1,20}")
_MAX_COOKIES = 20
_MAX_CHARACTERS = 4_096  # of a name with its value: what RFC 6265 6.1 asks of a browser


@attrs.frozen
class Cookie:
    """A cookie with the `place` (host and port) and the path to which it goes."""

    name: str
    value: str = attrs.field(repr=False)
    place: str
    path: str
    is_secure: bool

    def goes_to(self, url: str) -> bool:
        path = _path(url)
        is_below = path == self.path or path.startswith(self.path if self.path.endswith("/") else f"{self.path}/")
        return is_below and _place(url) == self.place and (url.startswith("https:") or not self.is_secure)


@attrs.frozen
class Cookies:
    """The cookies that a document's redirects have set."""

    kept: tuple[Cookie, ...] = ()
    changed_at: int = 0  # the number of answers at the last change

    def header(self, url: str) -> dict[str, str]:
        pairs = "; ".join(f"{each.name}={each.value}" for each in self.kept if each.goes_to(url))
        return {"Cookie": pairs} if pairs else {}

    def after(self, url: str, set_cookie: str | None, answers: int, today: datetime) -> Cookies:
        """The cookies after the answer for a URL, the latest of so many; `set_cookie` is its Set-Cookie."""
        kept = {(each.place, each.path, each.name): each for each in self.kept}
        for cookie, has_expired in _read(set_cookie or "", url, today):
            key = (cookie.place, cookie.path, cookie.name)
            if has_expired:
                kept.pop(key, None)
            elif len(cookie.name) + len(cookie.value) <= _MAX_CHARACTERS and (key in kept or len(kept) < _MAX_COOKIES):
                kept[key] = cookie
        cookies = tuple(kept.values())
        return self if cookies == self.kept else Cookies(cookies, answers)


NO_COOKIES = Cookies()


def _read(set_cookie: str, url: str, today: datetime) -> Iterator[tuple[Cookie, bool]]:
    """Each cookie of a Set-Cookie header, and whether it has expired, by which a server deletes it."""
    for text in _COMMA.split(set_cookie):
        pair, *attributes = text.split(";")
        found = _PAIR.fullmatch(pair.strip())
        if found is None:
            continue
        named = {name.strip().lower(): value.strip() for name, _, value in (each.partition("=") for each in attributes)}
        path = named.get("path", "")
        if not path.startswith("/"):  # RFC 6265 5.1.4: the folder of the URL
            path = _path(url).rpartition("/")[0] or "/"
        yield Cookie(found[1], found[2].strip(), _place(url), path, "secure" in named), _has_expired(named, today)


def _has_expired(attributes: dict[str, str], today: datetime) -> bool:
    age, expires = attributes.get("max-age", ""), http_date(attributes.get("expires", ""))
    if _SECONDS.fullmatch(age):  # RFC 6265 5.3: it has precedence
        return int(age) <= 0
    return expires is not None and expires <= today


def _place(url: str) -> str:
    return origin(url).partition("//")[2]


def _path(url: str) -> str:
    return url[url.index("/", 8) :].partition("?")[0]


def http_date(value: str) -> datetime | None:
    """The timezone-aware moment that a header names; None if unreadable."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):  # all that parsedate_to_datetime raises
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # RFC 9110 5.6.7: HTTP dates are UTC


# --- what is requested ---


@attrs.frozen(eq=False)
class DocumentRequest:
    """One request to make: a document, and the URL to request now.

    `redirects` are the URLs that redirected here, `tries` and `network_seconds` (waited for the network) count earlier
    tries too; `retries` are those of all URLs of the document. A retry and a redirect have requests of their own.
    `cookies` are those that its redirects have set.
    """

    document: Document = attrs.field(repr=False)
    url: str
    redirects: tuple[str, ...] = ()
    cookies: Cookies = NO_COOKIES
    tries: int = 0
    retries: int = 0
    not_before: float = 0.0
    network_seconds: float = 0.0
    resume: ResumePoint | None = None

    @property
    def document_tries(self) -> int:
        """How many requests the document took so far, without redirects."""
        return self.retries + bool(self.tries or self.redirects)

    @property
    def may_be_conditional(self) -> bool:
        """Whether a 304 would do: not where part of the document is here already, as it is needed whole."""
        return not (self.document.serves_discovery or self.resume)


@attrs.frozen(eq=False)
class Listed:
    """A document that may be read, to be answered with Frontier.request() or skip(); until then the crawl waits.

    `ref` is its listing in an index or a robots.txt; None for a document that was given, or is a well-known path.
    """

    document: Document = attrs.field(repr=False)

    @property
    def url(self) -> str:
        return self.document.original_url

    @property
    def ref(self) -> SitemapRef | None:
        return self.document.listed


# --- what was decided ---

# Filters of the caller; rules of robots.txt; place; a limit; a host of which nothing is requested; what is stored.
SkipReason = Literal["since", "follow", "no-follow", "filter", "robots", "scope", "limit", "host", "state"]
RobotsEffect = Literal["rules", "allow", "disallow"]


@attrs.frozen
class Skip:
    """A document that is not requested; `cause` is more than the `reason` says, `listed` its listing."""

    url: str
    reason: SkipReason
    cause: str = ""
    listed: SitemapRef | None = None


@attrs.frozen
class Retry:
    """A URL that is requested again, in some `seconds`; `tries` are those so far."""

    url: str
    tries: int
    seconds: float
    cause: str


@attrs.frozen
class RobotsVerdict:
    """What is permitted on a host from now on: by the rules of its robots.txt, all, or nothing; `cause` is why."""

    host: str
    effect: RobotsEffect
    cause: str = ""
    delay_seconds: float | None = None


Verdict = Skip | Retry | RobotsVerdict


@attrs.define
class DocumentReport:
    """What is reported on a document; changed by Events and Links, except for what the Outcome states."""

    outcome: Outcome | None = None
    problems: Problems = attrs.field(factory=Problems)
    probe_problems: list[Problem] = attrs.field(factory=list)  # not reported until it proves to be a sitemap
    reports_failure: bool = False  # although it was only probed, or requested for verification
    is_incomplete: bool = False  # entries may be missing for a reason that the parser cannot know
    skipped: int = 0  # children that are not read because of their lastmod
    unread_children: Counter[str] | None = None  # that were never verified: reason -> count


def has_scope_drops(outcome: Outcome) -> bool:
    """Whether records were dropped as out of scope, and not only by the caller's filters."""
    return not _SCOPE_REASONS.isdisjoint(outcome.dropped)


@lru_cache
def _report_of_read(format: str | None, status: int | None) -> DocumentReport:
    return DocumentReport(Outcome(format=format, status=status))


@lru_cache
def _one_parent(url: str) -> tuple[str]:
    return (url,)


@attrs.define(eq=False, weakref_slot=False)
class Document:
    """A document that a crawl knows, and its links to others.

    A crawl may know 100,000 before the first is requested: what most do not have, or do not have yet, takes no memory.
    """

    original_url: str
    why: Why
    is_robots: bool = False
    is_start_page: bool = False  # requested for the sitemaps to which it links; never reported but if it refuses all
    state: State = attrs.Factory(lambda self: "queued" if self.is_robots else "listed", takes_self=True)
    listed: SitemapRef | None = None  # its first listing in an index or robots.txt
    depth: int = 0
    inherited_authorities: tuple[str, ...] = ()  # of the indexes that list it
    is_sample: bool = False  # read to check whether its index states correct dates, else it would be skipped
    parents: list[str] | tuple[str, ...] = ()  # once it has an outcome, the list of that
    received: Received = NOTHING_RECEIVED
    authorities: tuple[str, ...] = ()  # in this reading
    dates: LastmodSummary | None = None
    children: list[str] | tuple[()] = ()
    is_index: bool = False
    sitemap_lines: list[SitemapRef] | tuple[()] = ()  # of a robots.txt; the links of a start page
    robots_body: RobotsBody | None = None  # of a robots.txt that was read
    awaits_verdict: bool = False  # a robots.txt without any line of one: see responses.wall_at()
    sites: tuple[SiteDiscovery, ...] = ()  # whose discovery waits for it
    aliases: list[Document] | tuple[()] = ()  # documents that redirect to it
    alias_of: Document | None = None  # the document that it redirects to
    _request: DocumentRequest | None = attrs.field(default=None, init=False)
    _report: DocumentReport | None = attrs.field(default=None, init=False)
    _known_children: set[str] | None = attrs.field(default=None, init=False)
    _known_parents: set[str] | None = attrs.field(default=None, init=False)

    @property
    def request(self) -> DocumentRequest:
        return self._request or DocumentRequest(self, self.original_url)

    @request.setter
    def request(self, request: DocumentRequest) -> None:
        self._request = request

    @property
    def report(self) -> DocumentReport:
        self._report = self._report or DocumentReport()
        return self._report

    @property
    def url(self) -> str:
        return self._request.url if self._request else self.original_url

    @property
    def status(self) -> int | None:
        return self.received.status

    @property
    def outcome(self) -> Outcome | None:
        return self._report.outcome if self._report else None

    @property
    def listed_lastmod(self) -> Lastmod | None:
        if self.listed is None or self.listed.lastmod is None or self.listed.lastmod_precision is None:
            return None
        return self.listed.lastmod, self.listed.lastmod_precision

    @property
    def is_probe(self) -> bool:
        """Whether it was found by a guess, and no document lists it: its failure is not reported."""
        return self.why in PROBED and not self.report.reports_failure

    @property
    def serves_discovery(self) -> bool:
        """Whether it is a robots.txt or a start page, and not itself a document of the site."""
        return self.is_robots or self.is_start_page

    def take(self, step: Step) -> None:
        """Takes a step of its life. UsageError where its state has none of that name."""
        state = _LIFE[self.state].get(step)
        if state is None:
            raise UsageError(f"{self.original_url} is {self.state}: it has no step {step!r}")
        self.state = state

    def ask(self, **changes: Any) -> None:
        """Changes what is requested next, as attrs.evolve() does."""
        known = self._request
        self._request = attrs.evolve(known, **changes) if known else DocumentRequest(self, self.original_url, **changes)

    def forget(self) -> None:
        """Frees what nothing asks for any more, once the end of a document without children is reported."""
        outcome = self.outcome
        is_alias, has_dates = self.alias_of is not None, self.dates is not None
        if outcome is None or self.why in PROBED or self.is_index or is_alias or has_dates:
            return
        self.listed, self.received, self.authorities = None, NOTHING_RECEIVED, ()
        if self.url == self.original_url:
            self._request = None
        if outcome.complete and not outcome.problems:
            self._report = _report_of_read(outcome.format, outcome.status)

    def lists(self, url: str) -> bool:
        return self._known_children is not None and url in self._known_children

    def add_child(self, url: str) -> None:
        self._known_children = self._known_children or set()
        self._known_children.add(url)
        self.children = self.children or []
        self.children.append(url)

    def add_parent(self, url: str) -> None:
        if self.parents == ():
            self.parents = _one_parent(url)
        elif url not in (self._known_parents or self.parents):
            self._known_parents = self._known_parents or set(self.parents)
            self._known_parents.add(url)
            if isinstance(self.parents, tuple):
                self.parents = [*self.parents]
            self.parents.append(url)

    @property
    def last_alias(self) -> Document:
        """The document that its redirects lead to, itself if there are none."""
        document = self
        while document.alias_of is not None:
            document = document.alias_of
        return document

    def is_alias_of(self, other: Document) -> bool:
        """Whether it redirects to the other, directly or by way of further documents."""
        known = self.alias_of
        while known is not None and known is not other:
            known = known.alias_of
        return known is not None


@attrs.define(eq=False)
class SiteDiscovery:
    """Where the sitemaps of one site are: robots.txt and what it names, then links of the start page, then well-known
    paths."""

    seed: Seed
    probe: Probe
    origin: str = attrs.Factory(lambda self: self.seed.origins[0], takes_self=True)
    other_origins: list[str] = attrs.Factory(lambda self: [*self.seed.origins[1:]], takes_self=True)
    awaits_robots: bool = False
    pending: int = 0  # candidates that have not ended
    found: bool = False  # a listed candidate is a sitemap
    candidates: list[Candidate] = attrs.field(factory=list)  # for the report
    first_failure: tuple[Document, Failed] | None = None  # robots.txt at the first of several origins
    has_ended: bool = False  # nothing more is requested on its account
    start_page: Document | None = None
    probes: list[Document] = attrs.field(factory=list)  # guesses that were requested and hold no sitemap
    _paths: Iterator[str] = attrs.field(factory=lambda: iter(WELL_KNOWN))
    _probe_found: bool = False

    def add_candidate(self, document: Document) -> None:
        """A candidate, which may be that of another site as well, and may have ended."""
        if self in document.sites:
            return
        self.pending += 1
        if document.outcome:
            self.candidate_ended(attrs.evolve(document.outcome, url=document.original_url, why=document.why))
        else:
            document.sites += (self,)

    def candidate_ended(self, outcome: Outcome) -> None:
        self.pending -= 1
        is_sitemap = outcome.format in SITEMAP_FORMATS
        is_probe = outcome.why in PROBED
        if is_probe:
            self._probe_found = self._probe_found or is_sitemap
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
        return self.found or self._probe_found

    @property
    def needs_probe(self) -> bool:
        """Whether a guess is due: all candidates have ended, and what was named is no sitemap."""
        if self.pending or self._probe_found or self.seed.document or self.seed.robots_only:
            return False
        return not (self.probe == "never" or (self.probe == "auto" and self.found))

    @property
    def start_url(self) -> str:
        return f"{self.origin}{self.seed.base_path}/"

    def next_probe(self) -> str | None:
        """The next well-known URL; None where no probe is due."""
        if not self.needs_probe:
            return None
        path = next(self._paths, None)
        if path is None:
            return None
        return self.origin + self.seed.base_path + path


class KnownDocuments:
    """The documents of a crawl by URL: by the original one, and by those that redirects led to.

    Userinfo is never sent, so URLs that differ only in that are one document. Parents may form cycles.
    """

    def __init__(self) -> None:
        self._by_url: dict[str, Document] = {}
        self.count = 0

    def __contains__(self, url: str) -> bool:
        return self.get(url) is not None

    def __iter__(self) -> Iterator[Document]:
        return iter(dict.fromkeys(self._by_url.values()))

    def get(self, url: str) -> Document | None:
        return self._by_url.get(without_userinfo(url))

    def add(self, document: Document) -> None:
        self.count += 1
        self.add_url(document.original_url, document)

    def add_url(self, url: str, document: Document) -> None:
        self._by_url[without_userinfo(url)] = document

    def is_above(self, known: Document, document: Document) -> bool:
        """Whether `known`, a document or a robots.txt, is the document itself or one of its nearest ancestors."""
        # A thousand indexes may all list each other. A document is requested once in any case: the answer decides only
        # which Problem is reported.
        ancestors = islice(self._ancestors(document), _MAX_ANCESTORS)
        return known is document or any(url == known.original_url or self.get(url) is known for url in ancestors)

    def _ancestors(self, document: Document) -> Iterator[str]:
        """The documents that list it, then those that list these, each once."""
        seen: set[str] = set()
        nearest = deque([document])
        while nearest:
            for url in nearest.popleft().parents:
                if url not in seen:
                    seen.add(url)
                    yield url
                    parent = self.get(url)
                    if parent is not None:  # None for a robots.txt
                        nearest.append(parent)


# --- what is reported ---

Event: TypeAlias = "Listed | Problem | Outcome"


class Events:
    """Collects what take() returns, in the order in which it came up."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.unanswered = 0  # Listed documents that were neither requested nor skipped
        self._verdicts: list[Verdict] | None = None  # None: they are not wanted

    def take(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def take_verdicts(self, *, are_wanted: bool) -> list[Verdict]:
        verdicts, self._verdicts = self._verdicts, [] if are_wanted else None
        return verdicts or []

    def decide(self, kind: type[Verdict], *values: Any) -> None:
        """Notes a verdict of this kind, if they are wanted."""
        if self._verdicts is not None:
            self._verdicts.append(kind(*values))

    def list(self, document: Document) -> None:
        self.unanswered += 1
        self._events.append(Listed(document))

    def note(
        self,
        document: Document,
        code: str,
        message: str,
        ref: SitemapRef | None = None,
        *,
        field: str | None = None,
        severity: Severity | None = None,
        incomplete: bool = False,
        remedy: str | None = None,
        listed: str | None = None,
    ) -> None:
        """Reports a Problem of a document; that of a probe waits until it proves to be a sitemap."""
        line, loc = (ref.line, ref.loc) if ref else (None, None)
        sitemap, decided = document.original_url, document.report
        place: dict[str, Any] = {"sitemap": sitemap, "line": line, "field": field, "raw": loc, "url": loc}
        problem = report(code, message, severity=severity, remedy=remedy, listed=listed, **place)
        is_sample = decided.problems.add(problem)
        decided.is_incomplete = decided.is_incomplete or incomplete
        if decided.outcome:  # it has ended, but for robots.txt verification
            _add_problems(decided.outcome, {code: 1}, [problem] if is_sample else [])
        (decided.probe_problems if document.is_probe else self._events).append(problem)

    def set_outcome(self, document: Document, outcome: Outcome) -> None:
        """Gives the document the parser's outcome, with what only the frontier knows; reports nothing yet."""
        decided, received = document.report, document.received
        outcome.url, outcome.final_url = document.original_url, document.url
        outcome.parents = document.parents = [*document.parents]
        outcome.why, outcome.status = document.why, received.status
        outcome.tries = document.request.document_tries
        outcome.etag = received.etag or outcome.etag
        outcome.last_modified = received.last_modified or outcome.last_modified
        outcome.authorities = document.authorities
        outcome.lastmod, outcome.lastmod_precision = document.listed_lastmod or (None, None)
        outcome.complete = outcome.complete and not decided.is_incomplete
        _add_problems(outcome, decided.problems.counts, decided.problems.samples)
        decided.outcome = outcome

    def report_end(self, document: Document) -> None:
        document.take("report")
        decided, outcome = document.report, document.report.outcome
        assert outcome is not None  # noqa: S101 - for the type checker
        outcome.skipped = decided.skipped
        if decided.unread_children:
            outcome.kept -= decided.unread_children.total()
            outcome.dropped = dict(Counter(outcome.dropped) + decided.unread_children)
        outcome.complete = outcome.complete and not decided.is_incomplete
        if not (document.is_probe and outcome.format not in SITEMAP_FORMATS):
            self._events += [*decided.probe_problems, outcome]
        decided.probe_problems = []
        document.forget()

    def report_probe(self, document: Document) -> None:
        """Reports a probe like any other document from now on, as something lists or needs it; even if it has ended."""
        if document.is_probe:
            outcome = document.outcome
            if outcome and outcome.format not in SITEMAP_FORMATS:
                self._events += [*outcome.samples, outcome]
            document.report.reports_failure = True

    def report_first_failure(self, outcome: Outcome, *, with_samples: bool) -> None:
        """Reports the end of a failed robots.txt, whose successor at another origin may have a message for both."""
        self._events += [*(outcome.samples if with_samples else ()), outcome]


def _add_problems(outcome: Outcome, counts: Mapping[str, int], samples: Sequence[Problem]) -> None:
    for code, count in counts.items():
        outcome.problems[code] = outcome.problems.get(code, 0) + count
    outcome.samples = (*outcome.samples, *samples)


def listing_place(ref: SitemapRef | None) -> str | None:
    """`/maps/index.xml:12`: where a child is listed, for a message that has the child's full URL."""
    if ref is None or ref.sitemap is None:
        return None
    name = ref.sitemap
    if origin(name) == origin(ref.loc):
        name = name.removeprefix(origin(name))
    return name if ref.line is None else f"{name}:{ref.line}"
