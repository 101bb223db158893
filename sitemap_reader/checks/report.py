"""The public Report: an AuditResult that renders itself as text, JSON and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.summary import count_of
from ..serialize.jsonl import stamp, to_dict
from ..version import __version__
from .findings import SEVERITIES, SEVERITY_NAMES, AuditResult
from .html.page import render_fragment, render_page
from .rule_docs import explain
from .text import render_text

if TYPE_CHECKING:
    from ..client.sitemap_tree import TreeRow
    from .findings import Finding


@attrs.frozen(repr=False)
class Report(AuditResult):
    """The result of an audit.

    `at` is the time that ages are computed from: of a recording, when it was made. `urls` counts listed URLs, `pages`
    unique ones. `complete` is False if a sitemap or a part of one could not be read, so that findings may be missing;
    None if the source, such as a dump of URLs alone, does not state it. `findings`: errors first, within a severity the
    most frequent first. `sitemaps` are the rows of the sitemap tree; their `problems` count those of all findings.
    `facts` are counts in the groups `lastmod month` (name: `2026-11`), `lastmod none`, `sections` (first folders of the
    path) and `formats`. `notes` are sentences on what was not checked, or only for a sample. `unnamed` are the outcomes
    of incomplete documents without a URL, as `parse --report -` writes them for a file: they have no row.

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
        }

    def to_text(self) -> str:
        """Plain text for a terminal: a summary, a line for each finding, then the findings with samples."""
        return render_text(self)

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
