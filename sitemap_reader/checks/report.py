"""The public Report: an AuditResult that renders itself as text, JSON and HTML."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.summary import count_of
from ..model.errors import printable
from ..serialize.jsonl import stamp, to_dict
from ..version import __version__
from .findings import SEVERITIES, SEVERITY_NAMES, AuditResult
from .html.page import render_fragment, render_page
from .rule_docs import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..client.sitemap_tree import TreeRow
    from .findings import Finding

_COLUMNS = 100
_MAX_RAW_CHARS = 160


@attrs.frozen(repr=False)
class Report(AuditResult):
    """The result of an audit.

    `at` is the time that ages are computed from: of a recording, when it was made. `urls` counts listed URLs, `pages`
    unique ones. `complete` is False if a sitemap or a part of one could not be read, so that findings may be missing;
    None if the source, such as a dump of URLs alone, does not state it. `findings`: errors first, within a severity the
    most frequent first. `sitemaps` are the rows of the sitemap tree; their `problems` count those of all findings.
    `facts` are counts in the groups `lastmod month` (name: `2026-11`), `lastmod none`, `sections` (first folders of the
    path), `formats`, and `lastmod` and `lastmod verdict` as in stats. `lastmod_trust` has the verdict on each sitemap
    that lists URLs: its URL -> score and reasons. `notes` are sentences on what was not checked, or only for a sample.
    `url_checks` is what check_urls covered, with the estimated share of each fault; None without it.
    `unnamed` are the outcomes of incomplete documents without a URL, as `parse --report -` writes them for a file: they
    have no row.

    str() is the text that the command line writes.
    """

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        counts = ", ".join(count_of(self.count(severity), name) for severity, name in SEVERITY_NAMES.items())
        return f"<Report of {self.target}: {counts} in {count_of(self.urls, 'URL')}>"

    def to_dict(self) -> dict[str, Any]:
        """The report as the object that to_json() writes."""
        return {
            "target": self.target,
            "at": stamp(self.at),
            "version": __version__,
            "complete": self.complete,
            "urls": self.urls,
            "pages": self.pages,
            "problems": {severity: self.count(severity) for severity in SEVERITIES},
            "findings": [_finding_json(each) for each in self.findings],
            "sitemaps": [_row_json(row) for row in self.sitemaps],
            "facts": [attrs.asdict(fact) for fact in self.facts],
            "notes": list(self.notes),
            "url_checks": None if self.url_checks is None else attrs.asdict(self.url_checks),
        }

    def to_text(self) -> str:
        """Plain text for a terminal: a summary, a line for each finding, then the findings with samples."""
        return "".join(f"{line}\n" for line in _text_lines(self))

    def to_json(self) -> str:
        """One JSON object, indented."""
        report, options = self.to_dict(), orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        try:
            return orjson.dumps(report, option=options).decode()
        except TypeError:  # the name of a file is not UTF-8
            return orjson.dumps(_in_utf8(report), option=options).decode()

    def to_html(self) -> str:
        """A self-contained HTML page: it loads nothing from the network or from other files."""
        return render_page(self)

    def _repr_html_(self) -> str:
        return render_fragment(self)


# --- text ---


def _text_lines(result: AuditResult) -> Iterator[str]:
    yield printable(f"{result.target}: {result.headline}")
    yield _scope(result)
    if result.url_checks is not None:
        yield from _wrapped(result.url_checks.headline, "")
        yield from (f"  {line}" for line in result.url_checks.lines())
    for note in result.notes:
        yield from _wrapped(f"note: {note}", "  ")
    if not result.findings:
        return
    yield ""
    yield from _overview(result.findings)
    for finding in result.findings:
        yield ""
        yield from _text_of(finding)


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


def _text_of(finding: Finding) -> Iterator[str]:
    explanation = explain(finding.code)
    yield f"{finding.code} {SEVERITY_NAMES[finding.severity]}: {finding.title} ({finding.occurrences})"
    yield from _wrapped(f"Expected: {explanation.rule}", "  ")
    for sample in finding.samples:
        yield printable(f"  - {sample.place}: {sample.message}")
        if sample.raw and sample.raw not in sample.message:
            yield printable(f"      {_shorten(sample.raw)}")
    more = finding.count - len(finding.samples)
    if more > 0:
        yield f"  - and {more:,} more"
    yield from _wrapped(f"How to fix: {explanation.fix}", "  ")


def _shorten(raw: str) -> str:
    """The text at fault on one line, cut at 160 characters."""
    text = " ".join(raw.split())
    return text if len(text) <= _MAX_RAW_CHARS else f"{text[: _MAX_RAW_CHARS - 1]}…"


def _wrapped(text: str, indent: str) -> list[str]:
    lines = wrap(printable(text), _COLUMNS - len(indent), break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines]


# --- JSON ---


def _in_utf8(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_utf8(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_in_utf8(each) for each in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _row_json(row: TreeRow) -> dict[str, Any]:
    return {name: value for name, value in attrs.asdict(row).items() if name != "branch"}


def _finding_json(finding: Finding) -> dict[str, Any]:
    explanation = explain(finding.code)
    samples = [to_dict(sample) for sample in finding.samples]
    for sample in samples:
        del sample["type"], sample["code"], sample["severity"]
    return {
        "code": finding.code,
        "severity": finding.severity,
        "title": finding.title,
        "rule": explanation.rule,
        "fix": explanation.fix,
        "source": explanation.source,
        "count": finding.count,
        "documents": finding.documents,
        "samples": samples,
    }
