"""The result of an audit, as a value, and in the forms in which it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.summary import count_of
from ..serialize.jsonl import json_form, stamp
from ..version import __version__
from .findings import SEVERITIES
from .rule_docs import explain

if TYPE_CHECKING:
    from datetime import datetime

    from ..client.sitemap_tree import TreeRow
    from ..model.problems import Severity
    from ..model.records import Outcome
    from ..statistics.collector import Fact
    from .findings import Finding


@attrs.frozen(repr=False)
class Report:
    """What an audit found.

    `at` is the time that ages go by: of a recording, when it was made. `urls` counts listings, `pages` unique URLs
    among them. `complete` is False where a sitemap, or a part of one, is missing: then so may be findings; None where
    nobody knows, as of a dump of URLs alone. `findings`: errors first, of each severity the most frequent first.
    `sitemaps` are the rows of the tree, whose `problems` are those of all findings. `facts` are counts: of the groups
    `lastmod month` (name: `2026-11`), `lastmod none`, `sections` (first folders of the path) and `formats`. `notes` are
    sentences on what could not be looked at, or only in samples. `unnamed` are the outcomes of incomplete documents
    without a URL, as `parse --report -` writes them of a file: they have no row.

    str() is the text that the command line writes.
    """

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
        """How many problems of a severity there are, in all findings."""
        return sum(finding.count for finding in self.findings if finding.severity == severity)

    @property
    def missing(self) -> str:
        """What could not be read, in words; nothing if all that was tried could."""
        lost = [row for row in self.sitemaps if row.complete == "no"] + [*self.unnamed]
        failed = sum(not each.entries for each in lost)
        parts = []
        if failed:
            parts.append(f"{count_of(failed, 'document')} could not be read")
        if len(lost) > failed:
            parts.append(f"{count_of(len(lost) - failed, 'document')} could be read in part only")
        return ", ".join(parts)

    @property
    def partial(self) -> str:
        """What is missing where `complete` is False."""
        return self.missing or "it was stopped"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        counts = ", ".join(count_of(self.count(severity), severity) for severity in SEVERITIES)
        return f"<Report of {self.target}: {counts} in {count_of(self.urls, 'URL')}>"

    def form(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "target": self.target,
            "at": stamp(self.at),
            "version": __version__,
            "complete": self.complete,
            "urls": self.urls,
            "pages": self.pages,
            "problems": {severity: self.count(severity) for severity in SEVERITIES},
            "findings": [_finding_form(each) for each in self.findings],
            "sitemaps": [_row_form(row) for row in self.sitemaps],
            "facts": [attrs.asdict(fact) for fact in self.facts],
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        """What a person reads in ten seconds, then each finding."""
        from .text import text_of

        return text_of(self)

    def to_json(self) -> str:
        """One JSON object, indented."""
        form, how = self.form(), orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        try:
            return orjson.dumps(form, option=how).decode()
        except TypeError:  # the name of a file is no UTF-8
            return orjson.dumps(_in_utf8(form), option=how).decode()

    def to_html(self) -> str:
        """One HTML page that needs nothing else: no network, no other file."""
        from .html.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from .html.page import fragment

        return fragment(self)


def _in_utf8(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_utf8(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_in_utf8(each) for each in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _row_form(row: TreeRow) -> dict[str, Any]:
    return {name: value for name, value in attrs.asdict(row).items() if name != "branch"}


def _finding_form(finding: Finding) -> dict[str, Any]:
    explanation = explain(finding.code)
    samples = [json_form(sample) for sample in finding.samples]
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
