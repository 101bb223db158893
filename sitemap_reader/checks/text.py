"""The report for a terminal: a Report in, lines out: what a person reads in ten seconds, then each finding.

Nothing that a site wrote comes out as a control character.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from ..client.summary import count_of
from ..model.errors import printable
from .findings import SEVERITIES
from .rule_docs import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .findings import Finding
    from .report import Report

_COLUMNS = 100
_MOST_RAW = 160


def text_of(report: Report) -> str:
    """All of it."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield printable(f"{report.target}: {headline(report)}")
    yield _basis(report)
    for note in report.notes:
        yield from _wrapped(f"note: {note}", "  ")
    if not report.findings:
        return
    yield ""
    yield from _overview(report.findings)
    for finding in report.findings:
        yield ""
        yield from _finding(finding)


def headline(report: Report) -> str:
    """`2 errors, 14 warnings and 3 infos in 640 URLs`."""
    counts = {severity: report.count(severity) for severity in SEVERITIES}
    if not any(counts.values()):
        return f"nothing found in {count_of(report.urls, 'URL')}"
    errors, warnings, infos = (count_of(count, severity) for severity, count in counts.items())
    return f"{errors}, {warnings} and {infos} in {count_of(report.urls, 'URL')}"


def _basis(report: Report) -> str:
    """What was looked at, and as of when."""
    documents = sum(row.entries is not None for row in report.sitemaps)
    parts = [count_of(documents, "document"), count_of(report.pages, "unique URL")] if documents else []
    parts.append(f"as of {report.at:%Y-%m-%d %H:%M} UTC")
    if report.complete is False:
        parts.append(f"partial: {report.partial}")
    return "; ".join(parts)


def _overview(findings: tuple[Finding, ...]) -> Iterator[str]:
    """A line for each, aligned."""
    width = max(len(f"{finding.count:,}") for finding in findings)
    for finding in findings:
        yield f"{finding.severity:7}  {finding.code}  {finding.count:>{width},}  {finding.title}"


def _finding(finding: Finding) -> Iterator[str]:
    explanation = explain(finding.code)
    places = f"{count_of(finding.count, 'occurrence')} in {count_of(finding.documents, 'document')}"
    yield f"{finding.code} {finding.severity}: {finding.title} ({places})"
    yield from _wrapped(f"Expected: {explanation.rule}", "  ")
    for sample in finding.samples:
        yield printable(f"  - {sample.place}: {sample.message}")
        if sample.raw and sample.raw not in sample.message:
            yield printable(f"      {shorten(sample.raw)}")
    left = finding.count - len(finding.samples)
    if left > 0:
        yield f"  - and {left:,} more"
    yield from _wrapped(f"How to fix: {explanation.fix}", "  ")


def shorten(raw: str) -> str:
    """So much of the text at fault that it can be told, on one line."""
    text = " ".join(raw.split())
    return text if len(text) <= _MOST_RAW else f"{text[: _MOST_RAW - 1]}…"


def _wrapped(text: str, indent: str) -> list[str]:
    lines = wrap(printable(text), _COLUMNS - len(indent), break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines]
