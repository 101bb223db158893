"""Renders the result of an audit as plain text for a terminal: a summary, then each finding with samples.

Control characters in what a site wrote are escaped.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from ..client.summary import count_of
from ..model.errors import printable
from .findings import SEVERITY_NAMES
from .rule_docs import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .findings import AuditResult, Finding

_COLUMNS = 100
_MAX_RAW_CHARS = 160
# Problems of these are in robots.txt, in what a server sent instead of a sitemap, or in the file compared with.
_NOT_IN_SITEMAPS = ("F", "C06", "X01")


def render_text(result: AuditResult) -> str:
    """The whole report."""
    return "".join(f"{line}\n" for line in _lines(result))


def _lines(result: AuditResult) -> Iterator[str]:
    yield printable(f"{result.target}: {headline(result)}")
    yield _scope(result)
    for note in result.notes:
        yield from _wrapped(f"note: {note}", "  ")
    if not result.findings:
        return
    yield ""
    yield from _overview(result.findings)
    for finding in result.findings:
        yield ""
        yield from _finding(finding)


def headline(result: AuditResult) -> str:
    """`2 errors, 14 warnings and 3 notices in 640 URLs`."""
    counts = {severity: result.count(severity) for severity in SEVERITY_NAMES}
    if not any(counts.values()):
        return f"nothing found in {count_of(result.urls, 'URL')}"
    errors, warnings, notices = (count_of(count, SEVERITY_NAMES[severity]) for severity, count in counts.items())
    return f"{errors}, {warnings} and {notices} in {count_of(result.urls, 'URL')}"


def _scope(result: AuditResult) -> str:
    """`23 documents; 3,684 unique URLs; as of 2026-11-01 12:00 UTC`."""
    documents = sum(row.entries is not None for row in result.sitemaps)
    parts = [count_of(documents, "document"), count_of(result.pages, "unique URL")] if documents else []
    parts.append(f"as of {result.at:%Y-%m-%d %H:%M} UTC")
    if result.complete is False:
        parts.append(f"partial: {result.partial}")
    return "; ".join(parts)


def _overview(findings: tuple[Finding, ...]) -> Iterator[str]:
    """One aligned line for each finding."""
    width = max(len(f"{finding.count:,}") for finding in findings)
    for finding in findings:
        severity = SEVERITY_NAMES[finding.severity]
        yield f"{severity:7}  {finding.code}  {finding.count:>{width},}  {finding.title}"


def _finding(finding: Finding) -> Iterator[str]:
    explanation = explain(finding.code)
    yield f"{finding.code} {SEVERITY_NAMES[finding.severity]}: {finding.title} ({occurrences(finding)})"
    yield from _wrapped(f"Expected: {explanation.rule}", "  ")
    for sample in finding.samples:
        yield printable(f"  - {sample.place}: {sample.message}")
        if sample.raw and sample.raw not in sample.message:
            yield printable(f"      {shorten(sample.raw)}")
    more = finding.count - len(finding.samples)
    if more > 0:
        yield f"  - and {more:,} more"
    yield from _wrapped(f"How to fix: {explanation.fix}", "  ")


def occurrences(finding: Finding) -> str:
    """`1,200 occurrences in 3 sitemaps`."""
    unit = "document" if finding.code.startswith(_NOT_IN_SITEMAPS) else "sitemap"
    return f"{count_of(finding.count, 'occurrence')} in {count_of(finding.documents, unit)}"


def shorten(raw: str) -> str:
    """The text at fault on one line, cut at 160 characters."""
    text = " ".join(raw.split())
    return text if len(text) <= _MAX_RAW_CHARS else f"{text[: _MAX_RAW_CHARS - 1]}…"


def _wrapped(text: str, indent: str) -> list[str]:
    lines = wrap(printable(text), _COLUMNS - len(indent), break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines]
