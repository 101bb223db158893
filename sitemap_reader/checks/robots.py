"""Checks by robots.txt: what it disallows to crawlers (U12, F02, F20), and the sitemaps that it names (F09, F14, F21).

Matching is slow where a robots.txt has many rules: U12 has a budget of work, and draws a sample by a hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import attrs

from ..frontier.documents import listing_place
from ..frontier.responses import NO_ROBOTS
from ..frontier.robots_rules import group_rules, joined, refusal_text, rules_text
from ..model.problems import count_of, report, report_as
from ..model.records import PROBED
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.urls import host, is_robots_txt, origin, without_userinfo
from .findings import Check, location
from .urls import development_host

if TYPE_CHECKING:
    from ..frontier.plan import Seed
    from ..frontier.robots_rules import AgentRules, GroupRules, RobotsRule
    from ..model.problems import Problem, Severity
    from ..model.records import Outcome, SitemapRef
    from ..model.url_batch import UrlBatch
    from .documents import AuditContext, CheckFactories
    from .findings import Findings, Location

# In what Rules.effort() counts: some seconds.
BUDGET = 2_500_000_000
# URLs whose rules are not known when they come: this many, or half as many, are checked at the end.
_UNKNOWN_URLS = 4_000
_MOST_ORIGINS = 10_000
_NOT_MISSING = frozenset({407, 429})  # of a proxy; "not now"
_MOST_KINDS = 100  # rules of a robots.txt, the first ones, that are counted by themselves


_Kept = tuple[int, str, str | None, int | None, str]  # hash, origin, sitemap, line and loc


@attrs.define
class _UrlSample:
    """Draws URLs by a hash: all of them while their cost is within the budget, then each second, each fourth.

    So the sample depends on the URLs alone, not on their order, on the machine or on the time.
    """

    budget: int
    _bits: int = 32  # those whose hash has no more of them are drawn
    _costs: list[int] = attrs.field(factory=lambda: [0] * 33)  # of the URLs whose hash has so many bits
    _counts: list[int] = attrs.field(factory=lambda: [0] * 33)
    kept: list[_Kept] = attrs.field(factory=list)

    def draws(self, loc: str, cost: int) -> int | None:
        """The hash of a URL that is drawn, for keep(); once others have come it may be left out all the same."""
        rank = crc32(loc.encode("utf-8", "replace"))
        bits = rank.bit_length()
        self._counts[bits] += 1
        if bits > self._bits:
            return None
        self._costs[bits] += cost
        while self._bits and sum(self._costs) > self.budget:
            self._costs[self._bits] = 0
            self._bits -= 1
            self.kept = [each for each in self.kept if each[0].bit_length() <= self._bits]
        return rank

    def keep(self, rank: int, origin: str, sitemap: str | None, line: int | None, loc: str) -> None:
        if rank.bit_length() <= self._bits:
            self.kept.append((rank, origin, sitemap, line, loc))

    @property
    def left_out(self) -> int:
        """How many URLs were not drawn."""
        return sum(self._counts[self._bits + 1 :])


class DisallowedUrls(Check):
    """URLs that robots.txt disallows to a crawler (U12), and hosts of which it disallows all (F20).

    With `is_mapped` the robots.txt is that of a staging host, which may forbid all: F20 is a notice.
    """

    codes = ("U12", "F20")

    def __init__(
        self, robots: AgentRules, seeds: Sequence[Seed] = (), *, budget: int = BUDGET, is_mapped: bool = False
    ) -> None:
        self.notes: list[str] = []
        self._is_mapped = is_mapped
        self._robots = robots
        self._seeds = seeds
        self._urls: Counter[str] = Counter()  # by origin
        self._matched = _UrlSample(budget)  # keeps those that are disallowed
        self._unknown = _UrlSample(_UNKNOWN_URLS)  # each costs 1

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        sitemap, lines, locs = batch.sitemap, batch.lines, batch.locs
        for start, places in batch.origins:
            self._urls[start if len(self._urls) < _MOST_ORIGINS or start in self._urls else ""] += len(places)
            groups = self._groups(start, findings)
            if groups is None:
                for index in places:
                    rank = self._unknown.draws(locs[index], 1)
                    if rank is not None:
                        self._unknown.keep(rank, start, sitemap, lines[index], locs[index])
                continue
            has_whole = any(group.whole_site for group in groups)
            suspects = places if has_whole else self._robots.suspects(start, batch, places)
            for index in suspects:
                self._match(groups, start, sitemap, lines[index], locs[index])

    def _groups(self, start: str, findings: Findings) -> list[GroupRules] | None:
        """The groups by which single URLs are judged: F20 stands for all that the others forbid."""
        groups = self._robots.groups(start)
        if groups is None or not findings.includes(["F20"]):
            return groups
        return [group for group in groups if group.whole_site is None]

    def _match(self, groups: Sequence[GroupRules], start: str, sitemap: str | None, line: int | None, loc: str) -> None:
        likely = [group for group in groups if group.may_disallow(loc)]
        if likely:
            rank = self._matched.draws(loc, sum(group.effort(loc) for group in likely))
            if rank is not None and any(group.disallows(loc) for group in likely):
                self._matched.keep(rank, start, sitemap, line, loc)

    def on_end(self, findings: Findings) -> None:
        """Reports those that were drawn; a note states how many URLs were not checked."""
        unread = 0
        for _, start, sitemap, line, loc in self._unknown.kept:
            groups = self._groups(start, findings)
            if groups is None:
                unread += 1
            else:
                self._match(groups, start, sitemap, line, loc)
        for _, start, sitemap, line, loc in self._matched.kept:
            self._report(self._groups(start, findings) or (), location(sitemap, line, loc), findings)
        left_out = self._unknown.left_out + self._matched.left_out
        reasons = ["the robots.txt of the others was not looked at"] * bool(unread)
        reasons += ["its rules are too many to compare more"] * bool(left_out)
        if reasons:
            urls = self._urls.total()
            checked = f"{urls - unread - left_out:,} of {urls:,} URLs"
            self.notes.append(f"U12 checked {checked}; {', and '.join(reasons)}")
        self._report_sites(findings)

    def _report(self, groups: Sequence[GroupRules], at: Location, findings: Findings) -> None:
        loc = at["raw"]
        deciding = [(group, group.rule(loc)) for group in groups if group.disallows(loc)]
        rules = rules_text(deciding)
        is_counted = all(rule and rule.number <= _MOST_KINDS for _, rule in deciding)
        kind = rules if is_counted else "other rules"
        findings.add(report("U12", f"{loc} is disallowed by {rules}", kind=kind, **at))

    def _report_sites(self, findings: Findings) -> None:
        reported: set[str] = set()
        for start in [*sorted({*self._urls} - {""}), *sorted(self._starts())]:
            rules = self._robots.rules_of(f"{start}/")
            if rules is None or (rules.text in reported and not self._urls[start]):
                continue  # a host without pages whose robots.txt was redirected to another one's
            reported.add(rules.text)
            for group in self._robots.groups(start) or ():
                if group.whole_site is not None:
                    findings.add(self._of_site(start, group, group.whole_site))

    def _of_site(self, start: str, group: GroupRules, rule: RobotsRule) -> Problem:
        pages = self._urls[start]
        agents = "all crawlers" if group.is_for_all else joined(group.agents)
        message = f'robots.txt:{rule.line} "{rule.text}" disallows the whole site for {agents}'
        message += f": sitemaps list {count_of(pages, 'page')} of it" if pages else ""
        place: dict[str, Any] = {"sitemap": f"{origin(f'{start}/')}/robots.txt", "line": rule.line, "raw": rule.text}
        severity: Severity | None = "notice" if self._is_mapped else None
        return report("F20", message, field=rule.text.partition(":")[0].strip(), severity=severity, **place)

    def _starts(self) -> set[str]:
        """The origin of each site: a bare host may have two, of which one has pages."""
        known = [[each for each in seed.origins if self._robots.groups(each) is not None] for seed in self._seeds]
        return {origins[0] for origins in known if origins and not any(map(self._urls.get, origins))}


class DisallowedSitemaps(Check):
    """Sitemaps that robots.txt disallows to a crawler, or to this reader, which has not read them then (F02).

    The F02 of a crawl says only the second: hold() takes it, and report_held() gives what it means for the crawlers.
    """

    codes = ("F02",)

    def __init__(self, robots: AgentRules) -> None:
        self._robots = robots
        self._held: list[Problem] = []

    def hold(self, problem: Problem) -> bool:
        is_held = problem.code == "F02" and problem.severity == "error"
        self._held += [problem] * is_held
        return is_held

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        urls = {url for url in (outcome.url, outcome.final_url) if url is not None}
        if outcome.format in SITEMAP_FORMATS and "F02" not in outcome.problems:
            for url in sorted(urls):
                forbidding = self._forbidding(url, findings)
                if forbidding:
                    message = f"{url} is disallowed by {refusal_text(forbidding, url)}"
                    findings.report("F02", message, sitemap=outcome.url)
                    return

    def _forbidding(self, url: str, findings: Findings) -> list[GroupRules]:
        """The groups that forbid a sitemap, but for those that forbid the whole host, where F20 says so."""
        forbidding = self._robots.refusals(url) or []
        return [each for each in forbidding if not (each.whole_site and findings.includes(["F20"]))]

    def report_held(self, findings: Findings, listing: Callable[[str], SitemapRef | None]) -> None:
        """Reports those that hold() took; `listing` returns where a sitemap is listed."""
        for problem in sorted(self._held, key=lambda problem: problem.sitemap or ""):
            findings.add(self._for_crawlers(problem, findings, listing(problem.sitemap or "")))

    def _for_crawlers(self, problem: Problem, findings: Findings, listed: SitemapRef | None) -> Problem:
        url = problem.sitemap or ""
        rules = self._robots.rules_of(url)
        if rules is None or rules.allows(url):  # it was redirected to another host, or robots.txt was not read
            return problem
        (own,) = group_rules(rules, origin(url), [rules.agent])
        place = listing_place(listed)
        where = f" (listed in {place})" if place else ""
        message = f"not read{where}: {own.rule(url) or 'robots.txt'} forbids it to {rules.agent}"
        groups = self._robots.groups(origin(url)) or []
        forbidding = self._robots.refusals(url) or []
        permitted = [name for group in groups if group not in forbidding for name in group.agents]
        parts = [f"{joined(permitted)} may fetch it"] if permitted else []
        parts += [f"and {refusal_text(forbidding, url)}"] if forbidding else []
        parts += [f"{NO_ROBOTS} reads it"]
        severity = problem.severity if self._forbidding(url, findings) else "notice"
        return attrs.evolve(problem, message="; ".join([message, *parts]), severity=severity)


class RefusedRobots:
    """Each robots.txt that answers 4xx, but not 429: search engines go on as if there was none.

    A crawl reports it as an error (F17), as it may name further sitemaps. If a sitemap was read all the same, it is a
    warning (F14), and the audit is complete: take() returns the outcome for the checks, problems() what to report.
    """

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}  # as the crawl has them
        self._problems: list[Problem] = []

    def hold(self, problem: Problem) -> bool:
        is_held = problem.code == "F17" and is_robots_txt(problem.sitemap or "")
        self._problems += [problem] * is_held
        return is_held

    def take(self, outcome: Outcome) -> Outcome:
        is_missing = outcome.status is not None and 400 <= outcome.status <= 499 and outcome.status not in _NOT_MISSING
        if outcome.url is None or outcome.format != Format.ROBOTS or "F17" not in outcome.problems or not is_missing:
            return outcome
        self._outcomes[outcome.url] = outcome
        problems = {"F14" if code == "F17" else code: number for code, number in outcome.problems.items()}
        return attrs.evolve(outcome, complete=True, problems=problems)

    def restored(self, outcomes: Iterable[Outcome]) -> list[Outcome]:
        """Those that are as the crawl has them after all, as no sitemap was read: the site may refuse this client."""
        read = (each for each in outcomes if each.format in SITEMAP_FORMATS)
        if any(each.complete or each.entries for each in read):
            return []
        found = [*self._outcomes.values()]
        self._outcomes.clear()
        return found

    def __bool__(self) -> bool:
        return bool(self._outcomes)

    def problems(self) -> Iterator[Problem]:
        """What hold() took, after restored()."""
        for problem in self._problems:
            if problem.sitemap in self._outcomes:
                message = (
                    f"search engines take robots.txt for missing, and its Sitemap lines are unknown: {problem.message}"
                )
                problem = attrs.evolve(report_as(problem, "F14", message), remedy=problem.remedy)
            yield problem


class MissingSitemapLine(Check):
    """Sites of which a sitemap is at a well-known path, but named by no robots.txt, as there is none (F09)."""

    codes = ("F09",)

    def __init__(self, seeds: Sequence[Seed], knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._sites = {each for seed in seeds if seed.document is None for each in seed.origins}
        self._missing: dict[str, int] = {}
        self._found: dict[str, str] = {}

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        url = outcome.url or ""
        start = url and origin(url)
        if outcome.why not in PROBED or start not in self._sites:
            return
        if outcome.format == Format.ROBOTS:
            if outcome.status in (404, 410) and self._knows(url):
                self._missing[start] = outcome.status
        elif outcome.format in SITEMAP_FORMATS:
            self._found.setdefault(start, url.removeprefix(start))

    def on_end(self, findings: Findings) -> None:
        for start, status in sorted(self._missing.items()):
            if path := self._found.get(start):
                message = f"robots.txt is missing ({status}): nothing tells search engines of {path}"
                findings.report("F09", message, sitemap=f"{start}/robots.txt")


@attrs.define
class _ForeignSitemap:
    """A Sitemap line of a robots.txt, and what became of the sitemap: None if it was not requested."""

    ref: SitemapRef
    outcome: Outcome | None = None


class ForeignSitemaps(Check):
    """Sitemaps of another host that the robots.txt of the site names (F21)."""

    codes = ("F21",)

    def __init__(self, seeds: Sequence[Seed], knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._hosts = {_bare(each) for seed in seeds for each in seed.origins}
        self._foreign: dict[str, _ForeignSitemap] = {}
        self._parents: dict[str, Sequence[str]] = {}
        self._listing: set[str] = set()  # sitemaps that list URLs of the site

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        is_of_site = ref.sitemap is not None and is_robots_txt(ref.sitemap) and _bare(ref.sitemap) in self._hosts
        if is_of_site and _bare(ref.loc) not in self._hosts:
            self._foreign.setdefault(ref.loc, _ForeignSitemap(ref))

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        sitemap = batch.sitemap or ""
        if sitemap not in self._listing and any(_bare(start) in self._hosts for start, _ in batch.origins):
            self._listing.add(sitemap)

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        url = outcome.url or ""
        self._parents[url] = outcome.parents
        if url in self._foreign:
            self._foreign[url].outcome = outcome

    def on_end(self, findings: Findings) -> None:
        due = [*self._listing]
        while due:
            parents = {*(self._parents.get(due.pop()) or ())} - self._listing
            self._listing |= parents
            due += parents
        for loc, found in sorted(self._foreign.items()):
            ref = found.ref
            severity, what = self._judged(loc, found.outcome)
            message = f"the Sitemap line names {loc}, of another host: {what}"
            place: dict[str, Any] = {"sitemap": ref.sitemap, "line": ref.line, "field": "Sitemap", "raw": loc}
            findings.add(report("F21", message, severity=severity, **place))

    def _judged(self, loc: str, outcome: Outcome | None) -> tuple[Severity, str]:
        name = host(loc)
        if what := development_host(name):
            return "error", f"{name} is {what}"
        if outcome is None or not self._knows(loc):
            return "notice", "it was not looked at"
        if loc in self._listing:
            return "notice", "it lists pages of this site"
        if not (outcome.complete or outcome.entries):
            return "error", "it cannot be read"
        return "warning", "it lists no page of this site"


class UrlsElsewhere:
    """Files of one site say nothing of other hosts: what a crawl of them reports of those is judged() anew.

    Whether a sitemap of another host can be read is left open (F04), and whether the robots.txt of that host permits to
    list its URLs (U04): notes() has their number.
    """

    def __init__(self, knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._urls: Counter[str] = Counter()  # by host
        self._documents: Counter[str] = Counter()  # by the document that lists them
        self._unread: set[str] = set()  # sitemaps

    def judged(self, problem: Problem) -> Problem | None:
        """The problem, another in its place, or None."""
        url = problem.url or problem.sitemap
        if url is None or self._knows(url):
            return problem
        if problem.code == "F04":
            self._unread.add(url)
            return None
        if problem.code != "U04":
            return problem
        authority = origin(without_userinfo(url)).partition("://")[2]
        self._urls[authority if len(self._urls) < _MOST_ORIGINS else ""] += 1
        self._documents[problem.sitemap or ""] += 1
        return None

    def count(self, documents: Iterable[Outcome]) -> int:
        """The number of URLs of other hosts that these documents list."""
        return sum(self._documents[each.url or ""] for each in documents)

    def notes(self, indexes: Iterable[Outcome]) -> Iterator[str]:
        if self._unread:
            first = f"{min(self._unread)}{' …' * (len(self._unread) > 1)}"
            yield f"{count_of(len(self._unread), 'sitemap')} not read, as not among these files: {first}"
        if self._urls:
            names, children = sorted(self._urls), self.count(indexes)
            counted = ((self._urls.total() - children, "URL"), (children, "sitemap"))
            listed = " and ".join(count_of(count, what) for count, what in counted if count)
            hosts = f"{count_of(len(names), 'other host')} ({', '.join(names[:3])}{' …' * (len(names) > 3)})"
            yield f"U04 not checked for {listed} of {hosts}: their robots.txt is not among these files"


def _bare(url: str) -> str:
    """The host without www., which is not taken for another."""
    return host(url if url.count("/") > 2 else f"{url}/").removeprefix("www.")


def _disallowed_urls(context: AuditContext, robots: AgentRules) -> DisallowedUrls:
    return DisallowedUrls(robots, context.seeds, is_mapped=context.is_mapped)


CHECKS: CheckFactories = (
    lambda context: None if context.robots is None else _disallowed_urls(context, context.robots),
    lambda context: None if context.robots is None else DisallowedSitemaps(context.robots),
    lambda context: None if context.robots is None else MissingSitemapLine(context.seeds, context.knows),
    lambda context: None if context.robots is None else ForeignSitemaps(context.seeds, context.knows),
)
