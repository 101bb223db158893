"""The reports of several targets as one: the total, then a part for each target, as text, JSON and HTML."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..client.terminal import FILE_COLUMNS
from ..model.errors import printable, without_commands
from ..version import __version__
from .findings import SEVERITIES
from .html.page import render_several
from .report import json_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..model.problems import Severity
    from .findings import AuditResult, Finding
    from .occurrences import Occurrence
    from .report import Report


@attrs.frozen
class ReportSet:
    """The reports of targets, at least one, in their order."""

    reports: tuple[Report, ...]

    @property
    def _total(self) -> AuditResult:
        """A result with the findings of all targets."""
        findings = tuple(chain.from_iterable(each.findings for each in self.reports))
        urls = sum(each.urls for each in self.reports)
        dropped = sum(each.dropped or 0 for each in self.reports)
        return attrs.evolve(self.reports[0], urls=urls, dropped=dropped, findings=findings)

    def count(self, severity: Severity) -> int:
        """The number of problems of a severity, over all targets."""
        return self._total.count(severity)

    def failing(self, severities: Collection[Severity]) -> tuple[Finding, ...]:
        """Those of AuditResult.failing() of each target."""
        return tuple(chain.from_iterable(each.failing(severities) for each in self.reports))

    @property
    def _titled(self) -> list[Report]:
        """The reports; recordings of the same host are titled by their targets."""
        names = Counter(each.name for each in self.reports)
        return [each if names[each.name] == 1 else attrs.evolve(each, site=None) for each in self.reports]

    @property
    def headline(self) -> str:
        """`2 errors, 14 warnings and 3 notices in 640 URLs of 2 targets`."""
        return f"{self._total.headline} of {count_of(len(self.reports), 'target')}"

    @property
    def partial(self) -> str:
        """Which targets are partial, and why."""
        return "; ".join(f"{each.target}: {each.partial}" for each in self.reports if each.complete is False)

    def to_text(self, *, color: bool = False, columns: int = FILE_COLUMNS) -> str:
        """The total and a line for each target, then the report of each."""
        lines = [self.headline, *(f"  {each.name}: {each.headline}" for each in self._titled)]
        head = "".join(f"{without_commands(printable(line))}\n" for line in lines)
        return "\n\n".join([head, *(each.to_text(color=color, columns=columns) for each in self._titled)])

    def to_dict(self) -> dict[str, Any]:
        """The object that to_json() writes: `version`, `problems` of all, and `targets`, the reports."""
        problems = {severity: self.count(severity) for severity in SEVERITIES}
        return {"version": __version__, "problems": problems, "targets": [each.to_dict() for each in self.reports]}

    def to_json(self) -> str:
        """One JSON object, indented."""
        return json_text(self.to_dict())

    def to_html(self, occurrences: Sequence[Occurrence] = (), *, file: str | None = None) -> str:
        """A self-contained HTML page: a list of the targets, then a short report of each, with an example a finding."""
        return render_several(self._titled, self.headline)
