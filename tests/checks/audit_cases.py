"""The sites of corpus/audit: a folder, the files that are audited with it, and beside it what must be found.

`scripts/write_audit_expectations` writes the expectations, and test_audit_corpus.py compares them.
"""

import tomllib
from pathlib import Path
from typing import Any

import attrs
import orjson

import sitemap_reader as sr
from sitemap_reader import Problem, explain
from sitemap_reader.checks import Finding
from sitemap_reader.model import CATALOGUE

AUDITED = Path(__file__).parents[2] / "corpus" / "audit"
CLEAN = "clean"
# S18 is of folders, which a recording is not.
REPORTED = tuple(code for code in CATALOGUE if "audit" in explain(code).reporters and code != "S18")
# The argument of audit() -> its file in the folder, if there is one.
BESIDE = {
    "crawl": ("crawl.csv", "crawl.jsonl"),
    "baseline": ("baseline.jsonl",),
    "baseline_crawl": ("baseline-crawl.jsonl",),
}
# Further arguments of audit().
OPTIONS = "audit.toml"
SAMPLE_FIELDS = ("sitemap", "line", "field", "raw", "url", "message")
# More than any site has of a code; otherwise the choice of samples would be random.
SAMPLES = 20


@attrs.frozen
class Case:
    """A site; its name is the code that it shows, or CLEAN."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def expectation(self) -> Path:
        return self.path.with_name(f"{self.name}.jsonl")

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of audit()."""
        files = ((option, self.path / name) for option, names in BESIDE.items() for name in names)
        stated = self.path / OPTIONS
        others = tomllib.loads(stated.read_text("utf-8")) if stated.is_file() else {}
        return {option: file for option, file in files if file.is_file()} | others

    def report(self) -> sr.Report:
        return sr.audit(self.path, samples=SAMPLES, **self.options)

    def lines(self, report: sr.Report) -> bytes:
        """The findings as JSON lines. Paths of files are relative to the folder."""
        data = b"".join(orjson.dumps(_form(each), option=orjson.OPT_APPEND_NEWLINE) for each in report.findings)
        return data.replace(f"{self.path}/".encode(), b"")


def cases() -> list[Case]:
    return [Case(path) for path in sorted(AUDITED.iterdir()) if path.is_dir()]


def _form(finding: Finding) -> dict[str, Any]:
    # The order in which sitemaps arrive is random.
    samples = sorted(finding.samples, key=lambda each: (each.sitemap or "", each.line or 0, each.message))
    return {
        "code": finding.code,
        "severity": finding.severity,
        "count": finding.count,
        "documents": finding.documents,
        "samples": [_sample(each) for each in samples],
    }


def _sample(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in SAMPLE_FIELDS}
