"""Simulates a crawl for tests of the frontier: a dict of URL -> responses is the network, a number the clock."""

import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import attrs
from kit import index, urlset  # noqa: F401 - for the tests of the frontier

from sitemap_reader import Outcome, Problem, SitemapParser, SitemapRef, UrlRecord
from sitemap_reader.frontier import (
    CachedDocument,
    DocumentCache,
    DocumentRequest,
    Failed,
    Finished,
    Frontier,
    Head,
    LastmodEvidence,
    Listed,
    Plan,
    parse_rules,
    parse_target,
)
from sitemap_reader.model import CATALOGUE, items_of, lastmod_columns
from sitemap_reader.pipeline import OutOfScopeUrls

TODAY = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SITE = "https://shop.example"
ROBOTS = f"{SITE}/robots.txt"
MAP = f"{SITE}/sitemap.xml"
INDEX = f"{SITE}/index.xml"
REFUSED = Failed("F04", "connection refused")

# The response of a URL: a body (200), a status, a status with headers, or a failure. Of several, the last one stays.
Reply = str | bytes | int | tuple[int, dict[str, str]] | Failed
Pages = dict[str, Reply | list[Reply]]


@attrs.define
class Walk:
    """A crawl that has ended, and what was seen during it."""

    frontier: Frontier
    cache: DocumentCache | None = None
    requested: list[str] = attrs.field(factory=list)
    at: list[float] = attrs.field(factory=list)  # the time of each request
    most_in_flight: int = 0
    most_a_host: int = 0
    records: list[UrlRecord] = attrs.field(factory=list)
    regained: int = 0  # of these, the ones that were in scope only at the end of their document
    reported: list[Problem | Outcome] = attrs.field(factory=list)
    out_of_scope: OutOfScopeUrls = attrs.Factory(lambda self: OutOfScopeUrls(self.frontier), takes_self=True)

    @property
    def documents(self) -> list[str]:
        return [url for url in self.requested if not url.endswith("/robots.txt")]

    @property
    def locs(self) -> list[str]:
        return [record.loc for record in self.records]

    @property
    def codes(self) -> list[str]:
        return [reported.code for reported in self.reported if isinstance(reported, Problem)]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        found = [reported for reported in self.reported if isinstance(reported, Outcome)]
        by_url = {str(outcome.url): outcome for outcome in found}
        assert len(by_url) == len(found), "a document came to its end twice"
        return by_url

    def problem(self, code: str) -> Problem:
        (found,) = [reported for reported in self.reported if isinstance(reported, Problem) and reported.code == code]
        return found


class RequestsAll(Frontier):
    """A frontier with a caller who has all documents requested; take() returns the Problems and Outcomes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._reports: list[Problem | Outcome] = []
        super().__init__(*args, **options)

    def _request_all(self) -> None:
        for event in super().take():
            if isinstance(event, Listed):
                self.request(event)
            else:
                self._reports.append(event)

    @property
    def done(self) -> bool:
        self._request_all()
        return super().done

    def next_requests(self, now: float) -> list[DocumentRequest]:
        self._request_all()
        return super().next_requests(now)

    def wait(self, now: float) -> float | None:
        self._request_all()
        return super().wait(now)

    def take(self) -> list[Any]:
        self._request_all()
        reports, self._reports = self._reports, []
        return reports


def walk(
    targets: str | list[str], pages: Mapping[str, Reply | list[Reply]], *, takes: float = 0.0,
    chance: random.Random | None = None, cache: DocumentCache | None = None, **plan: object,
) -> Walk:
    """Simulates the crawl to its end; each response `takes` so many seconds. Fails if it would wait forever.

    Responses come in the order of the requests, or in the random order of `chance`.
    """
    seeds = [parse_target(target) for target in ([targets] if isinstance(targets, str) else targets)]
    names = cache.names if cache else frozenset()
    made = Plan(**{"former_sitemaps": names, **plan})  # type: ignore[arg-type]
    replies = {url: list(reply) if isinstance(reply, list) else [reply] for url, reply in pages.items()}
    seen = Walk(Frontier(seeds, made, jitter=lambda: 0.5), cache)
    frontier = seen.frontier
    now = 0.0
    flying: list[DocumentRequest] = []
    while not frontier.done:
        handle_events(seen, now)
        for request in frontier.next_requests(now):
            seen.requested.append(request.url)
            seen.at.append(now)
            flying.append(request)
        seen.most_in_flight = max(seen.most_in_flight, len(flying))
        by_host = Counter(urlsplit(request.url).netloc for request in flying)
        seen.most_a_host = max([seen.most_a_host, *by_host.values()])
        if flying:
            now += takes
            request = flying.pop(chance.randrange(len(flying)) if chance else 0)
            answers = replies.get(request.url, [404])
            answer(seen, request, answers.pop(0) if len(answers) > 1 else answers[0], now)
        elif not frontier.done:
            seconds = frontier.wait(now)
            assert seconds is not None, f"stuck after {seen.requested}"
            now += seconds
        assert len(seen.requested) < 1000
    handle_events(seen, now)
    return seen


def handle_events(seen: Walk, now: float = 0.0) -> None:
    """Collects what the frontier reports, and has what it lists requested, but for what the cache has."""
    frontier = seen.frontier
    for event in frontier.take():
        if not isinstance(event, Listed):
            for item in items_of(item for batch in seen.out_of_scope.with_kept([event]) for item in batch):
                if isinstance(item, UrlRecord):
                    seen.regained += 1
                    seen.records.append(item)
                elif item is event:
                    seen.reported.append(item)
            continue
        known = seen.cache and seen.cache.skipped(event, frontier.authorities_of(event.document))
        if known is None:
            frontier.request(event)
        else:
            end_unchanged(frontier, frontier.skip(event), known, now)


def end_unchanged(frontier: Frontier, request: DocumentRequest, known: CachedDocument, now: float = 0.0) -> None:
    for ref in known.children:
        frontier.receive(request, ref, now, TODAY)
    frontier.receive(request, Finished(known.outcome), now, TODAY)


def answer(seen: Walk, request: DocumentRequest, reply: Reply, now: float, *, seconds: float = 0.0) -> None:
    frontier = seen.frontier
    if isinstance(reply, Failed):
        frontier.receive(request, reply, now, TODAY)
        return
    body = reply.encode() if isinstance(reply, str) else reply if isinstance(reply, bytes) else b""
    status, headers = reply if isinstance(reply, tuple) else (reply if isinstance(reply, int) else 200, {})
    known = seen.cache and seen.cache.confirmed(request, frontier.authorities_of(request.document))
    if not frontier.receive(request, Head(status, headers, seconds, is_conditional=bool(known)), now, TODAY):
        return
    if known and status == 304:
        end_unchanged(frontier, request, known, now)
        return
    parser = SitemapParser(
        url=request.document.original_url, final_url=request.url, scope=frontier.plan.scope,
        authorities=request.document.authorities, child_scope="any", limits=frontier.plan.limits,
        _keeps_out_of_scope=True, _reports_robots_page=False,
    )
    dates = LastmodEvidence()
    batches = [*parser.batches(body), *parser.closing()]
    for item in items_of(seen.out_of_scope.keep(request.document, [each for batch in batches for each in batch])):
        if isinstance(item, UrlRecord):
            lastmod, precision = lastmod_columns(item.lastmod, item.lastmod_precision)
            dates.add([lastmod], [precision])
            seen.records.append(item)
        elif isinstance(item, SitemapRef):
            frontier.receive(request, item, now, TODAY)
    rules = parse_rules(parser.robots_text, frontier.plan.user_agent) if request.document.is_robots else None
    finished = Finished(
        parser.outcome, rules, dates.summary(), parser.dropped_origins, robots_body=parser.robots_body
    )
    frontier.receive(request, finished, now, TODAY)


def names(*sitemaps: str, rules: str = "") -> str:
    """A robots.txt."""
    return f"User-agent: *\n{rules}\n" + "".join(f"Sitemap: {sitemap}\n" for sitemap in sitemaps)


def problems(seen: Walk, code: str) -> list[Problem]:
    return [reported for reported in seen.reported if isinstance(reported, Problem) and reported.code == code]


def reports(seen: Walk) -> list[str]:
    """Problems in their order, as code, sitemap and raw text; then `partial` and URL of each incomplete outcome.

    A severity that is not the usual one of the code precedes it.
    """
    reported = [reported for reported in seen.reported if isinstance(reported, Problem)]
    severities = ["" if each.severity == CATALOGUE[each.code].severity else f"{each.severity} " for each in reported]
    lines = [
        f"{severity}{each.code} {each.sitemap} {each.raw or ''}".rstrip()
        for severity, each in zip(severities, reported, strict=True)
    ]
    lines += [f"partial {url}" for url, outcome in seen.outcomes.items() if not outcome.complete]
    return [line.replace(f"{SITE}/", "") for line in lines]
