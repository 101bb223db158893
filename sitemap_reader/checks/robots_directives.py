"""Whether robots directives forbid indexing: those of meta tags, and those of X-Robots-Tag, which may name crawlers.

Takes the texts as pages, servers and crawlers' exports write them, with several separators.
"""

from __future__ import annotations

import re

# Rules for these apply to indexing as such.
AGENTS = frozenset({"robots", "googlebot", "bingbot"})
# `max-image-preview:none` is about pictures in results. Without its lookbehind the pattern would read `max-max-…` from
# each `max-`: minutes for a page of 256 KiB.
_LIMITS = re.compile(r"(?<![\w-])max-[\w-]+\s*:\s*[\w-]+")
_NOINDEX = re.compile(r"(?<![\w-])(?:noindex|none)(?![\w-])")
_DIRECTIVE_WITH_VALUE = re.compile(r"(?:max-[\w-]+|unavailable_after)", re.IGNORECASE)
_AGENT = re.compile(r"\s*([\w-]+)\s*:\s*", re.ASCII)
# Between the directives of a header, or its lines; advertools joins values by `@@`.
_SEPARATORS = re.compile(r"[,;\n]|@@")


def forbids_indexing(directives: str) -> bool:
    """Whether directives for robots say noindex; `none` is noindex and nofollow."""
    return bool(directives) and _NOINDEX.search(_LIMITS.sub("", directives.casefold())) is not None


def header_forbids_indexing(header: str) -> bool:
    """Whether X-Robots-Tag forbids indexing to all crawlers, or to the greatest.

    `googlebot: nofollow, otherbot: noindex`: a name counts until the next one, also over the lines of the header, which
    are joined here.
    """
    counts = True
    for part in _SEPARATORS.split(header):
        agent = _AGENT.match(part)
        if agent and not _DIRECTIVE_WITH_VALUE.fullmatch(agent[1]):
            counts = agent[1].lower() in AGENTS
            part = part[agent.end() :]
        if counts and forbids_indexing(part):
            return True
    return False
