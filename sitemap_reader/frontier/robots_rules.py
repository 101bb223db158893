"""The rules of a robots.txt: its text or HTTP status in, a Rules value out; Protego parses.

A hostile file makes each look-up slow, so a crawl checks the documents that it requests, and only the audit the URLs
that they list. AgentRules state what a robots.txt permits the crawlers of others, such as Googlebot, and the line that
decides, which is looked for only where Protego refuses. Nothing is fetched by these rules: see robots_policy.py.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import unquote

import attrs
from protego import Protego

from ..model.errors import UsageError
from ..parser.normalise.urls import comparable
from ..parser.normalise.urls import origin as origin_of

if TYPE_CHECKING:
    from ..model.url_batch import UrlBatch


# Protego splits at all that str.splitlines knows; RFC 9309 2.2 at CR and LF alone. NUL and BOM would hide a key.
_NO_LINE_ENDS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
_LINE_END = re.compile("\r\n?")
_INVISIBLE = re.compile("[\0\ufeff]")
# All that Protego reads as one, with any white space. It keeps a set of rules for each name: a group of thousands of
# names with thousands of rules costs the product of both.
AGENT_LINE = re.compile(r"^[^\S\n]*user(?:-|[^\S\n]*)agent(?:[^\S\n]*:|[^\S\n])([^\n]*)", re.IGNORECASE | re.MULTILINE)
_AGENT = re.compile(r"\s*([^\s/;,#]+)")
_PATTERN_LINE = re.compile(r"^(?!User-agent:)[^\n#]*[*$][^\n#]*", re.MULTILINE)
# A rule, with any spelling of "disallow" that Protego accepts (nine letters at most); of one that forbids, the literal
# beginning of its path: empty unless that begins with one slash.
RULE = re.compile(r"\s*(?:allow|(d[a-z]{1,9}w))\b\s*(?::\s*)?(?=[^\s#])((?:/(?!/)[A-Za-z0-9_.~/-]*)?)", re.IGNORECASE)
_COMPATIBLE = re.compile(r"\bcompatible;\s*([^\s/;()+]+)")
_PRODUCT = re.compile(r"[^\s/;()]+")
# Not a token (RFC 9309 2.2.1 has letters, "_" and "-"), so it is the beginning of no agent's name.
_OTHER = "(other)"
# Rules with * or $ times characters of a URL: 0.1 to 0.3 s of comparing. 500 KiB hold 30,000 such rules, and the URL of
# a sitemap may have 1 MiB: without a bound one look-up could take half a minute.
_MAX_COMPARED = 32_000_000
# str.find compares up to half of a text of less than 100 characters at each place of the URL: a rule of 100 characters
# takes up to ten times as long as a short one.
_LONG_RULE, _CHARACTERS_A_WEIGHT = 100, 20
# What a rule costs in addition, as characters.
_OF_A_PATTERN, _OF_A_LINE = 400, 100


@attrs.frozen
class Rules:
    """The rules of one host's robots.txt for our agent; `text` is the file, in which each line is where it was.

    A robots.txt that is missing, as one with another 4xx, has no text and allows everything (RFC 9309 2.3.1.3). One
    that could not be read, as it answered 429 or 5xx or not at all, has a `why` and forbids everything (2.3.1.4).
    """

    why: str | None = None  # the file could not be read, so that everything is forbidden
    text: str = attrs.field(default="", repr=False, eq=False)
    status: int | None = attrs.field(default=None, eq=False)  # of the response; None: there was none
    agent: str = ""  # our product token
    _parsed: Protego | None = None
    _patterns: int = 0
    _weight: int = 0  # of the patterns, as so many short ones
    _lines: int = 0
    _beginnings: tuple[str, ...] = ()  # of the paths that a rule for our agent or * forbids

    def allows(self, url: str) -> bool:
        """True if the URL may be fetched; robots.txt itself always may (RFC 9309 2.2.2)."""
        return self.refusal(url) is None

    def refusal(self, url: str) -> str | None:
        """Why the URL may not be fetched: a reason, "" where a rule is the reason, None where it may."""
        if self._parsed is None:
            return self.why
        if self._weight * len(url) > _MAX_COMPARED:
            return f"{self._patterns:,} rules with * or $ are too many to compare {len(url):,} characters with"
        # A server reads `/a/%2e%2e/b` as `/b` (RFC 3986 6.2.2.2), so what is forbidden there is forbidden by that name.
        ways = {url, comparable(url)}
        return None if all(self._parsed.can_fetch(way, self.agent) for way in ways) else ""

    def for_agent(self, user_agent: str) -> Rules:
        """The rules of the same file for another agent."""
        return self if self.why is not None else parse_rules(self.text, user_agent)

    def suspects(self, origin: str) -> tuple[str, ...]:
        """The prefixes of all URLs of the origin that a rule may forbid: a cheap test before the slow refusal()."""
        return tuple(f"{origin}{beginning}" for beginning in self._beginnings)

    def effort(self, url: str) -> int:
        """The cost of refusal(), in characters compared: 10**9 of them take some seconds."""
        if self._weight * len(url) > _MAX_COMPARED:
            return 0
        return self._weight * (len(url) + _OF_A_PATTERN) + self._lines * _OF_A_LINE

    @property
    def delay_seconds(self) -> float | None:
        """The Crawl-delay for our agent; None where there is none, or an invalid one."""
        delay = self._parsed.crawl_delay(self.agent) if self._parsed else None
        return float(delay) if delay is not None and math.isfinite(delay) and delay >= 0 else None


class RobotsPolicy(Protocol):
    """What may be requested, and how often: an object with these methods is `obey_robots`, in place of True or False.

    `rules` are those of the robots.txt of the URL's host, which is always requested first (RFC 9309 2.2.2). For what
    True does return `rules.allows(url)` and `rules.delay_seconds`. Neither method may be async. An exception in one
    ends the run, and is raised to the caller unchanged.
    """

    def allows(self, url: str, rules: Rules) -> bool:
        """Whether a URL may be requested; called before each request, retries and redirects included."""
        ...

    def crawl_delay(self, url: str, rules: Rules) -> float | None:
        """Seconds between the starts of two requests to a host; None if only the caller's `delay` counts.

        Called when the rules of a host are known, with the URL of its start page.
        """
        ...


def check_policy(name: str, value: object) -> None:
    """UsageError for what is neither a bool nor a RobotsPolicy."""
    methods = (getattr(value, "allows", None), getattr(value, "crawl_delay", None))
    if isinstance(value, type) or not (isinstance(value, bool) or all(map(callable, methods))):
        allowed = "True, False, or an object with the methods allows(url, rules) and crawl_delay(url, rules)"
        raise UsageError(keyword=name, value=value, allowed=allowed)


ALLOW_ALL = Rules()


def disallow_all(reason: str) -> Rules:
    return Rules(reason)


def parse_rules(text: str, user_agent: str) -> Rules:
    """The rules for our agent in a robots.txt; `user_agent` is the whole header.

    >>> rules = parse_rules("User-agent: *\\nDisallow: /private/\\nCrawl-delay: 2", "bot/1.0")
    >>> rules.allows("https://example.com/private/x"), rules.allows("https://example.com/"), rules.delay_seconds
    (False, True, 2.0)
    """
    agent = product_token(user_agent)
    for pattern, instead in ((_INVISIBLE, ""), (_NO_LINE_ENDS, " "), (_LINE_END, "\n")):
        text = pattern.sub(instead, text)
    own = AGENT_LINE.sub(lambda line: _addressee(line[1], agent), text)
    lengths = [len(line) for line in _PATTERN_LINE.findall(own)]
    weight = sum(1 + min(length, _LONG_RULE) // _CHARACTERS_A_WEIGHT for length in lengths)
    parsed, lines = Protego.parse(own), own.count("\n")
    return Rules(None, text, None, agent, parsed, len(lengths), weight, lines, _beginnings(own))


def product_token(user_agent: str) -> str:
    """The name by which a robots.txt would address this agent, in lower case.

    >>> product_token("sitemap-reader/0.1.0"), product_token("Mozilla/5.0 (compatible; Bot/1.0; +https://bot.example)")
    ('sitemap-reader', 'bot')
    """
    return product_name(user_agent).lower()


def product_name(user_agent: str) -> str:
    # The name after "compatible;" is the crawler's; what comes before it imitates a browser.
    found = _COMPATIBLE.search(user_agent)
    product = _PRODUCT.search(user_agent)
    return found[1] if found else product[0] if product else ""


def addressed(value: str) -> str:
    """The name of an agent in a User-agent line, in lower case: a product token, or `*`."""
    found = _AGENT.match(value)
    named = found[1].lower() if found else ""
    return named if named == "*" else named.strip("*")


def _addressee(value: str, agent: str) -> str:
    # Protego matches a group whose name is a prefix of ours ("site"), and misses ours with another version
    # ("sitemap-reader/9"). RFC 9309 2.2.1 compares tokens, so each line is rewritten to ours, "*" or _OTHER.
    token = addressed(value)
    return f"User-agent: {token if token in {'*', agent} else _OTHER}"


def _beginnings(text: str) -> tuple[str, ...]:
    """The literal beginnings of the paths that rules for our agent or * forbid."""
    beginnings: dict[str, None] = {}
    is_ours = has_rule = True
    for line in text.split("\n"):
        if line.startswith("User-agent: "):
            # Several names in a row share the rules behind them.
            is_ours = not line.endswith(_OTHER) or (is_ours and not has_rule)
            has_rule = False
        elif rule := RULE.match(line):
            has_rule = True
            if rule[1] and is_ours:
                beginnings[rule[2]] = None
    return tuple(beginnings)


# RFC 9309 2.3.1; the last number of each range, and what an answer up to it means.
_BY_STATUS: tuple[tuple[int, Literal["read", "allow", "disallow"]], ...] = (
    (199, "disallow"),  # no final HTTP answer: as unreachable
    (299, "read"),
    (399, "allow"),  # 2.3.1.2: redirects without a usable target are "unavailable"
    (428, "allow"),  # 2.3.1.3: unavailable
    (429, "disallow"),  # "too many requests" does not permit everything
    (499, "allow"),
)


def rules_for_status(status: int) -> Literal["read"] | Rules:
    """ "read" where the body of robots.txt counts, else the Rules that follow from the status alone."""
    meaning = next((meaning for last, meaning in _BY_STATUS if status <= last), "disallow")  # 2.3.1.4: unreachable
    if meaning == "read":
        return "read"
    return ALLOW_ALL if meaning == "allow" else disallow_all(f"robots.txt answered {status}")


SEARCH_ENGINES = ("Googlebot", "Bingbot")
_SPELLINGS = {name.lower(): name for name in SEARCH_ENGINES}
_TOKEN = re.compile(r"\*|[\w.-]+")
_AGENT_TEXT = re.compile(r"(?:[^,()]++|\([^()]*+\)|[()])++")  # a User-Agent header has "(KHTML, like Gecko)"
# A Sitemap or Host line is of no group, and ends none.
_ENDS_GROUP = re.compile(
    r"(?!(?:sitemaps?|site-map|host)(?![\w-]))(?:[^#:\n]++:|(?:allow|d[a-z]{1,9}w)\s)", re.IGNORECASE
)
# What is no page: with these permitted alone, no page is.
_NO_PAGE = re.compile(r"[^?]*\.(?:css|js|json|txt|xml|gz|ico|png|jpe?g|gif|svg|webp|avif|woff2?)[*$]*", re.IGNORECASE)
_ANY_PAGE = "/0/a-page-that-no-rule-names"
# Beyond so many rules of an agent no line is looked for in the shorter ones: a file of 500 KiB may have 40,000.
_MAX_RULES = 2_000
_PER_URL = 500  # of the effort, whatever the rules are
# Up to this many prefixes are searched for in a whole batch at once.
_MAX_SEARCHED = 20


def agent_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """The crawlers whose rules are wanted: product tokens, `*`, or whole User-Agent headers; UsageError for others.

    >>> agent_names("googlebot, GPTBot,Mozilla/5.0 (KHTML, like Gecko; compatible; bingbot/2.0)")
    ('Googlebot', 'GPTBot', 'Bingbot')
    """
    texts = _AGENT_TEXT.findall(given) or [""] if isinstance(given, str) else [*given]
    names: dict[str, str] = {}
    for text in texts:
        name = product_name(text) if isinstance(text, str) else ""
        is_agent = _TOKEN.fullmatch(name) and ("/" in text or name == text.strip())
        if not is_agent:
            allowed = "names of crawlers in robots.txt, such as googlebot,bingbot or *"
            raise UsageError(keyword="robots_for", value=given, allowed=allowed)
        names.setdefault(name.lower(), _SPELLINGS.get(name.lower(), name))
    return tuple(names.values())


def joined(names: Sequence[str]) -> str:
    """`Googlebot, Bingbot and other crawlers`."""
    *first, last = ("other crawlers" if name == "*" else name for name in names)
    return f"{', '.join(first)} and {last}" if first else last


@attrs.frozen
class RobotsRule:
    """A rule as it is written; `line` counts from 1, and `number` the rules of the file."""

    line: int
    text: str
    number: int

    def __str__(self) -> str:
        return f'robots.txt:{self.line} "{self.text}"'


@attrs.frozen
class _WrittenRule(RobotsRule):
    """One that disallows, or one of the others: `beginning` is the literal beginning of its path."""

    disallows: bool
    value: str
    beginning: str


@attrs.define
class _Block:
    """User-agent lines, and the rules behind them."""

    agents: set[str] = attrs.field(factory=set)
    rules: list[_WrittenRule] = attrs.field(factory=list)
    has_rule: bool = False


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    rules = 0
    for number, line in enumerate(text.split("\n"), 1):
        agent = AGENT_LINE.match(line)
        if agent:
            if not blocks or blocks[-1].has_rule:
                blocks.append(_Block())
            blocks[-1].agents.add(addressed(agent[1]))
        elif blocks and _ENDS_GROUP.match(line.lstrip()):
            blocks[-1].has_rule = True
            if rule := RULE.match(line):
                rules += 1
                written = line.partition("#")[0].strip()
                value = line[rule.start(2) :].partition("#")[0].strip()
                blocks[-1].rules.append(_WrittenRule(number, written, rules, rule[1] is not None, value, rule[2]))
    return blocks


class _Suspects:
    """The literal beginnings of URLs that rules may forbid: a fast filter."""

    def __init__(self, beginnings: Iterable[str]) -> None:
        self._beginnings: list[str] = []
        for each in sorted(beginnings):
            if not self._beginnings or not each.startswith(self._beginnings[-1]):
                self._beginnings.append(each)

    def among(self, batch: UrlBatch, places: Sequence[int]) -> list[int]:
        """Those of these indexes whose URL may be disallowed: for most batches none."""
        locs, beginnings = batch.locs, self._beginnings
        if len(beginnings) <= _MAX_SEARCHED and not any(f"\n{each}" in batch.text for each in beginnings):
            is_escaped = "%" in batch.text and beginnings
            places = [index for index in places if "%" in locs[index]] if is_escaped else ()
        return [index for index in places if self.may_include(locs[index])]

    def may_include(self, loc: str) -> bool:
        """Whether it begins like a disallowed path; percent-escapes are decoded, as Protego does."""
        if self._has_beginning(loc):
            return True
        head, escape, _ = loc.partition("%")
        if not escape:
            return False
        index = bisect_left(self._beginnings, head)
        begins_one = index < len(self._beginnings) and self._beginnings[index].startswith(head)
        if not ("/." in loc or "%2" in loc or begins_one):
            return False
        plain = unquote(loc)
        return self._has_beginning(plain) or "/." in plain  # escaped dots may lead to another path

    def _has_beginning(self, loc: str) -> bool:
        # None begins with another one, so only the last one that sorts before the URL can match.
        index = bisect_right(self._beginnings, loc)
        return index > 0 and loc.startswith(self._beginnings[index - 1])


class GroupRules:
    """The rules of one host for `agents` that have the same group of its robots.txt."""

    def __init__(self, agents: tuple[str, ...], rules: Rules, origin: str, blocks: Sequence[_Block]) -> None:
        self.agents = agents
        self.rules = rules
        self._origin = origin
        self._blocks = blocks
        self._suspects = _Suspects(rules.suspects(origin))

    def may_disallow(self, loc: str) -> bool:
        """Whether a URL begins like a path that a rule forbids: a cheap test before disallows()."""
        return self._suspects.may_include(loc)

    def disallows(self, url: str) -> bool:
        """Whether a rule forbids the URL; False where matching would take too long."""
        return self.rules.refusal(url) == ""

    def effort(self, url: str) -> int:
        """The cost of disallows(), as Rules.effort() counts it."""
        return self.rules.effort(url) + _PER_URL

    def rule(self, url: str) -> RobotsRule | None:
        """The rule that forbids a URL that is forbidden: the longest that matches (RFC 9309 2.2.2)."""
        ways, path = {url, comparable(url)}, url.removeprefix(self._origin)
        for rule in self._longest:
            may_match = "%" in url or path.startswith(rule.beginning)
            if may_match and not all(self._judge(rule).can_fetch(way, "*") for way in ways):
                return rule
        return None

    @cached_property
    def whole_site(self) -> RobotsRule | None:
        """The rule that forbids every page of the host, if there is one."""
        opens = (not rule.disallows and not _NO_PAGE.fullmatch(rule.value) for rule in self._rules)
        pages = [f"{self._origin}{path}" for path in ("/", _ANY_PAGE)]
        if any(opens) or not all(map(self.disallows, pages)):
            return None
        return self.rule(pages[1])

    @property
    def is_for_all(self) -> bool:
        """Whether the file has no other group: these are the rules of all crawlers."""
        return bool(self._blocks) and all(block.agents == {"*"} for block in self._blocks)

    @property
    def _rules(self) -> Iterator[_WrittenRule]:
        own = {name.lower() for name in self.agents}
        named = any(block.agents & own for block in self._blocks)
        for block in self._blocks:
            if block.agents & own if named else "*" in block.agents:
                yield from block.rules

    @cached_property
    def _longest(self) -> list[_WrittenRule]:
        forbidding = [rule for rule in self._rules if rule.disallows]
        return sorted(forbidding, key=lambda rule: (-len(rule.value), rule.line))[:_MAX_RULES]

    def _judge(self, rule: _WrittenRule) -> Protego:
        judge = self._judges.get(rule.line)
        if judge is None:
            judge = self._judges[rule.line] = Protego.parse(f"User-agent: *\n{rule.text}")
        return judge

    @cached_property
    def _judges(self) -> dict[int, Protego]:
        return {}


def group_rules(rules: Rules, origin: str, agents: Sequence[str]) -> list[GroupRules]:
    """The rules of a host for each of these agents; those that have the same group share one."""
    blocks = _blocks(rules.text)
    sharing: dict[tuple[int, ...], list[str]] = {}
    for name in agents:
        token = name.lower()
        own = tuple(number for number, block in enumerate(blocks) if token in block.agents)
        others = tuple(number for number, block in enumerate(blocks) if "*" in block.agents)
        sharing.setdefault(own or others, []).append(name)
    return [GroupRules(tuple(names), rules.for_agent(names[0]), origin, blocks) for names in sharing.values()]


class AgentRules:
    """The rules of many hosts for some crawlers; `rules_of` returns those of a URL's host, None while unknown."""

    def __init__(self, rules_of: Callable[[str], Rules | None], agents: Sequence[str] = SEARCH_ENGINES) -> None:
        self.rules_of = rules_of
        self.agents = agents
        self._groups: dict[str, list[GroupRules]] = {}
        self._suspects: dict[str, _Suspects] = {}

    def groups(self, origin: str) -> list[GroupRules] | None:
        """Those of an origin by group, once its robots.txt is known."""
        if origin not in self._groups:
            rules = self.rules_of(f"{origin}/")
            if rules is None:
                return None
            self._groups[origin] = group_rules(rules, origin, self.agents)
        return self._groups[origin]

    def suspects(self, origin: str, batch: UrlBatch, places: Sequence[int]) -> list[int]:
        """Those of these indexes whose URL a group may forbid that does not forbid all, once groups() are known."""
        if origin not in self._suspects:
            groups = [group for group in self.groups(origin) or () if group.whole_site is None]
            self._suspects[origin] = _Suspects({each for group in groups for each in group.rules.suspects(origin)})
        return self._suspects[origin].among(batch, places)

    def refusals(self, url: str) -> list[GroupRules] | None:
        """The groups that forbid a URL; None while its robots.txt is not known."""
        groups = self.groups(origin_of(url))
        if groups is None:
            return None
        return [group for group in groups if group.may_disallow(url) and group.disallows(url)]

    def rules(self, url: str) -> str | None:
        """The rules that forbid a URL, as refusal_text() has them; None while its robots.txt is not known."""
        refusals = self.refusals(url)
        return None if refusals is None else refusal_text(refusals, url)


def refusal_text(groups: Iterable[GroupRules], url: str) -> str:
    """`robots.txt:5 "Disallow: /private/" (Googlebot and Bingbot)`, for groups that forbid the URL."""
    return rules_text([(group, group.rule(url)) for group in groups])


def rules_text(deciding: Iterable[tuple[GroupRules, RobotsRule | None]]) -> str:
    return ", ".join(f"{rule or 'robots.txt'} ({joined(group.agents)})" for group, rule in deciding)
