"""The audit: what a crawl yields or a dump holds goes in, a Report of findings with explanations comes out.

audit.py has audit(); runner.py passes every item to the checks (urls, documents, dates, extensions, crawled, baseline),
which report to findings.py; policy.py has a site's own severities and ignores; report.py, html/, ci_formats.py and
sarif.py render the result. May import all folders but analysis and cli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .findings import Finding as Finding
    from .occurrences import Occurrence as Occurrence
    from .policy import Policy as Policy
    from .policy import read_policy as read_policy
    from .report import Report as Report
    from .rule_docs import Explanation as Explanation

_NAMES = {
    ".findings": ("Finding",),
    ".occurrences": ("Occurrence",),
    ".policy": ("Policy", "read_policy"),
    ".report": ("Report",),
    ".rule_docs": ("Explanation",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
