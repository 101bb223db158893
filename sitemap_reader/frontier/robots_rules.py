"""The rules of a robots.txt for our agent: its text or HTTP status in, a Rules value out; Protego parses.

A hostile file makes each look-up slow, so a crawl checks the documents that it requests, and only the audit the URLs
that they list.
"""

from __future__ import annotations

import math
import re
from typing import Literal

import attrs
from protego import Protego

from ..parser.normalise.urls import comparable

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
    """The rules of one host's robots.txt for our agent; `text` is the file, in which each line is where it was."""

    why: str | None = None  # the file could not be read, so that everything is forbidden
    text: str = attrs.field(default="", repr=False, eq=False)
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
    return Rules(None, text, agent, Protego.parse(own), len(lengths), weight, own.count("\n"), _beginnings(own))


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
