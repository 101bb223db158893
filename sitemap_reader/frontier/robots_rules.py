"""What a robots.txt permits us: its text or its HTTP status in, a Rules value out, through Protego.

Nothing is fetched here. A hostile file makes each question slow: listed URLs are judged by the audit alone.
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
# Whatever Protego takes for one, with any white space: each name that it sees is a set of rules, and a group of
# thousands of names with thousands of rules the product of both.
_AGENT_LINE = re.compile(r"^[^\S\n]*user(?:-|[^\S\n]*)agent(?:[^\S\n]*:|[^\S\n])([^\n]*)", re.IGNORECASE | re.MULTILINE)
_AGENT = re.compile(r"\s*([^\s/;,#]+)")
_PATTERN_LINE = re.compile(r"^(?!User-agent:)[^\n#]*[*$]", re.MULTILINE)
# A rule, however "disallow" is misspelled; of one that forbids, what stands literally at the beginning of its path:
# nothing of what begins otherwise than with one slash.
_RULE = re.compile(r"\s*(?:allow|(d[a-z]*l[a-z]*w))\b\s*:?\s*(?=[^\s#])((?:/(?!/)[A-Za-z0-9_.~/-]*)?)", re.IGNORECASE)
_COMPATIBLE = re.compile(r"\bcompatible;\s*([^\s/;()+]+)")
_PRODUCT = re.compile(r"[^\s/;()]+")
# Not a token (RFC 9309 2.2.1 has letters, "_" and "-"), so it is the beginning of no agent's name.
_SOMEBODY_ELSE = "(other)"
# Rules with * or $ times characters of a URL: some 0.1 s of comparing. 500 KiB hold 30,000 such rules, and no limit
# of ours keeps the URL of a sitemap shorter than 1 MiB: without a bound each question could take half a minute.
_MAX_COMPARED = 32_000_000
# What a rule costs beside that, measured as characters.
_OF_A_PATTERN, _OF_A_LINE = 400, 100


@attrs.frozen
class Rules:
    """What one host's robots.txt lets our agent do.

    `why` is the reason where everything is forbidden because there is no file to read, else None.
    """

    why: str | None = None
    _agent: str = ""
    _parsed: Protego | None = None
    _patterns: int = 0
    _lines: int = 0
    _beginnings: tuple[str, ...] = ()  # of the paths that somebody's rules forbid

    def allows(self, url: str) -> bool:
        """True if the URL may be fetched; robots.txt itself always may (RFC 9309 2.2.2)."""
        return self.refusal(url) is None

    def refusal(self, url: str) -> str | None:
        """Why the URL may not be fetched: a reason, "" where a rule is the reason, None where it may."""
        if self._parsed is None:
            return self.why
        if self._patterns * len(url) > _MAX_COMPARED:
            return f"{self._patterns:,} rules with * or $ are too many to compare {len(url):,} characters with"
        # A server reads `/a/%2e%2e/b` as `/b` (RFC 3986 6.2.2.2), so what is forbidden there is forbidden by that name.
        ways = {url, comparable(url)}
        return None if all(self._parsed.can_fetch(way, self._agent) for way in ways) else ""

    def suspects(self, origin: str) -> tuple[str, ...]:
        """How all URLs of the origin begin of which a rule may forbid some.

        To be tried before refusal() is asked, which takes its time, with URLs whose escapes are undone.
        """
        return tuple(f"{origin}{beginning}" for beginning in self._beginnings)

    def effort(self, url: str) -> int:
        """What refusal() costs, in characters compared: a thousand million of them take some seconds."""
        if self._patterns * len(url) > _MAX_COMPARED:
            return 0
        return self._patterns * (len(url) + _OF_A_PATTERN) + self._lines * _OF_A_LINE

    @property
    def delay_seconds(self) -> float | None:
        """The Crawl-delay for our agent; None where there is none, or none that makes sense."""
        delay = self._parsed.crawl_delay(self._agent) if self._parsed else None
        return float(delay) if delay is not None and math.isfinite(delay) and delay >= 0 else None


ALLOW_ALL = Rules()


def disallow_all(reason: str) -> Rules:
    """Nothing may be fetched; `reason` goes into the message of the problem."""
    return Rules(reason)


def parse_rules(text: str, user_agent: str) -> Rules:
    """The rules for us in a robots.txt; `user_agent` is the whole header.

    >>> rules = parse_rules("User-agent: *\\nDisallow: /private/\\nCrawl-delay: 2", "bot/1.0")
    >>> rules.allows("https://example.com/private/x"), rules.allows("https://example.com/"), rules.delay_seconds
    (False, True, 2.0)
    """
    agent = product_token(user_agent)
    for pattern, instead in ((_INVISIBLE, ""), (_NO_LINE_ENDS, " "), (_LINE_END, "\n")):
        text = pattern.sub(instead, text)
    text = _AGENT_LINE.sub(lambda line: _addressee(line[1], agent), text)
    patterns, lines = len(_PATTERN_LINE.findall(text)), text.count("\n")
    return Rules(None, agent, Protego.parse(text), patterns, lines, _beginnings(text))


def product_token(user_agent: str) -> str:
    """The name by which a robots.txt would address this agent, in lower case.

    >>> product_token("sitemap-reader/0.1.0"), product_token("Mozilla/5.0 (compatible; Bot/1.0; +https://bot.example)")
    ('sitemap-reader', 'bot')
    """
    # The name behind "compatible;" is a crawler's; what stands before it only wants to be served as browsers are.
    found = _COMPATIBLE.search(user_agent)
    product = _PRODUCT.search(user_agent)
    name = found[1] if found else product[0] if product else ""
    return name.lower()


def _addressee(value: str, agent: str) -> str:
    # Protego takes a group for ours if its name is the beginning of ours ("site"), and misses ours with another
    # version ("sitemap-reader/9"). RFC 9309 2.2.1 compares the tokens: so each line says ours, "*" or another's.
    found = _AGENT.match(value)
    named = found[1].lower() if found else ""
    token = named if named == "*" else named.strip("*")
    return f"User-agent: {token if token in {'*', agent} else _SOMEBODY_ELSE}"


def _beginnings(text: str) -> tuple[str, ...]:
    """How all paths begin that may be forbidden to us: those of rules for somebody else alone are left out."""
    beginnings: dict[str, None] = {}
    is_ours = has_rule = True
    for line in text.split("\n"):
        if line.startswith("User-agent: "):
            # Several names in a row share the rules behind them.
            is_ours = not line.endswith(_SOMEBODY_ELSE) or (is_ours and not has_rule)
            has_rule = False
        elif rule := _RULE.match(line):
            has_rule = True
            if rule[1] and is_ours:
                beginnings[rule[2]] = None
    return tuple(beginnings)


# RFC 9309 2.3.1; the last number of each range, and what an answer up to it means.
_BY_STATUS: tuple[tuple[int, Literal["read", "allow", "disallow"]], ...] = (
    (199, "disallow"),  # no HTTP answer worth the name: as unreachable
    (299, "read"),
    (399, "allow"),  # 2.3.1.2: redirects that lead nowhere are "unavailable"
    (428, "allow"),  # 2.3.1.3: unavailable
    (429, "disallow"),  # "too many requests" asks for less, not for all
    (499, "allow"),
)


def rules_for_status(status: int) -> Literal["read"] | Rules:
    """What the status of the last answer for robots.txt means: "read" its body, or the Rules that hold without."""
    meaning = next((meaning for last, meaning in _BY_STATUS if status <= last), "disallow")  # 2.3.1.4: unreachable
    if meaning == "read":
        return "read"
    return ALLOW_ALL if meaning == "allow" else disallow_all(f"robots.txt answered {status}")
