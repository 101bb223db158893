"""The audit: what is wrong with a site's sitemaps, by rules over what a run gives.

Each check is a small object with one rule or a few (check.py); auditing.py lets them hear what passes; findings.py
gathers what they note; report.py is what comes of it, page.py its HTML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .findings import Finding as Finding
    from .report import Report as Report
    from .rule_docs import Explanation as Explanation

_NAMES = {
    ".findings": ("Finding",),
    ".report": ("Report",),
    ".rule_docs": ("Explanation",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
