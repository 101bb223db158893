"""A crawl of sitemaps as a state machine without I/O: seeds, robots.txt policy, politeness, links, revalidation.

Seeds and the answers to requests go in; the next requests, Problems and Outcomes come out. Imports parser/ and model/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .lastmod_trust import History as History
    from .lastmod_trust import LastmodTrust as LastmodTrust
    from .lastmod_trust import judge_history as judge_history

_NAMES = {
    ".lastmod_trust": ("History", "LastmodTrust", "judge_history"),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
