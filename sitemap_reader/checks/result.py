"""The result of an audit as plain data, without any output format: text.py and html/ render it, report.py is public."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..client.summary import count_of

if TYPE_CHECKING:
    from datetime import datetime

    from ..client.sitemap_tree import TreeRow
    from ..model.problems import Severity
    from ..model.records import Outcome
    from ..statistics.facts import Fact
    from .findings import Finding

# Problems of severity `info` are shown as notices.
SEVERITY_NAMES: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


@attrs.frozen
class AuditResult:
    """The findings of an audit and the counts beside them; Report documents the fields."""

    target: str
    at: datetime
    urls: int
    pages: int
    complete: bool | None
    findings: tuple[Finding, ...]
    sitemaps: tuple[TreeRow, ...]
    facts: tuple[Fact, ...]
    notes: tuple[str, ...] = ()
    unnamed: tuple[Outcome, ...] = ()

    def count(self, severity: Severity) -> int:
        """The number of problems of a severity, over all findings."""
        return sum(finding.count for finding in self.findings if finding.severity == severity)

    @property
    def missing(self) -> str:
        """How many documents could not be read, or only in part, in words; empty if all were read."""
        incomplete = [row for row in self.sitemaps if row.complete == "no"] + [*self.unnamed]
        failed = sum(not each.entries for each in incomplete)
        parts = []
        if failed:
            parts.append(f"{count_of(failed, 'document')} could not be read")
        if len(incomplete) > failed:
            parts.append(f"{count_of(len(incomplete) - failed, 'document')} could be read in part only")
        return ", ".join(parts)

    @property
    def partial(self) -> str:
        """Why the result is partial, where `complete` is False."""
        return self.missing or "it was stopped"
