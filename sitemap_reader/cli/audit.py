"""`audit`: what is wrong with a site's sitemaps, as text, JSON or HTML."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..checks.against.sources import Against
from ..checks.audit import audit, audit_dump, make_findings
from ..checks.explaining import explain as explained
from ..checks.text import headline, text_of
from ..dumps import is_dump_name
from ..errors import UsageError
from ..sinks import SUFFIXES
from ..walk.window import make_moment
from .columns import encoding_of
from .exits import Exit
from .inputs import called, opened
from .interrupts import Interrupts
from .messages import Console
from .output import is_terminal, open_outputs
from .sites import each_target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..checks.report import Report
    from ..ledger import Progress
    from ..problems import Severity
    from .output import Outputs

# What is as bad as what was asked for.
_FAILING: dict[str, tuple[Severity, ...]] = {"error": ("error",), "warning": ("error", "warning"), "never": ()}
_FORMATS: dict[str, str] = {".txt": "text", ".json": "json", ".html": "html", ".htm": "html"}
_WRITERS: dict[str, Callable[[Report], str]] = {
    "text": text_of,
    "json": lambda report: report.to_json(),
    "html": lambda report: report.to_html(),
}


def run(
    *,
    target: str | None,
    output: str | None,
    format: str | None,
    samples: int,
    fail_on: str,
    select: Sequence[str],
    ignore: Sequence[str],
    as_of: str | None,
    explain: str | None,
    crawl: str | None,
    baseline: str | None,
    state: str | None,
    baseline_crawl: str | None,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> Exit:
    """The report of a TARGET, for which `reading` are keywords of sitemap_reader.audit(), or of a FILE."""
    console = Console(quiet=quiet, verbose=verbose)
    if explain is not None:
        return _explain(explain, output)
    if target is None:
        raise UsageError("which site? give a TARGET or a dump, or --explain CODE")
    format = _format_for(output, format)
    rules = {"select": " ".join(select), "ignore": " ".join(ignore), "samples": samples}
    against = Against(crawl, baseline, state, baseline_crawl)
    with Interrupts() as interrupts, open_outputs(output, None, interrupts) as outputs:
        auditor = _Auditor(console, interrupts, outputs, rules, against, as_of, reading)
        codes = each_target([target], console, auditor.file if is_dump_name(target) else auditor.site)
        report = auditor.report
        if report is not None:
            outputs.begin()
            outputs.records.write(_WRITERS[format](report).encode(encoding_of(output), "replace"))
            codes += [code for code in (_judge(report, fail_on), auditor.stopped) if code is not None]
    told = f"{headline(report)}; {auditor.seconds:.1f} s" if report is not None and not is_terminal(output) else None
    return console.end(told, "partial: not all could be read", codes)


@attrs.define
class _Auditor:
    """Makes the report; `stopped` is set where an interrupt ended the reading: what was read is told all the same."""

    console: Console
    interrupts: Interrupts
    outputs: Outputs
    rules: dict[str, Any]
    against: Against
    as_of: str | None
    reading: dict[str, Any]
    report: Report | None = None
    stopped: Exit | None = None
    started: float = attrs.field(factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self.started

    def site(self, target: str) -> Exit:
        """Reads a target to its end."""
        against = attrs.asdict(self.against)
        progress: Callable[[Progress], None] | None = self.console.progress()
        report = audit(
            target,
            **self.rules,
            **against,
            as_of=self.as_of,
            on_outcome=self.console.hear_document,
            on_progress=progress,
            stop=self._stop,
            **self.reading,
        )
        return self._keep(report)

    def file(self, file: str) -> Exit:
        """Reads a dump to its end."""
        name = called(file)
        as_of = None if self.as_of is None else make_moment("as_of", self.as_of, datetime.now(UTC))
        self.against.refuse()
        with opened(file) as body:
            self.outputs.spare(body, name)
            report = audit_dump(body, name, make_findings(**self.rules), self.against, as_of=as_of, stop=self._stop)
        if not report.urls:
            self.console.error(f"{name} lists no URL")
        return self._keep(report)

    def _stop(self) -> bool:
        return self.interrupts.is_pending

    def _keep(self, report: Report) -> Exit:
        self.report = report
        if self.interrupts.is_pending:
            self.stopped = Exit.INTERRUPTED
        if report.urls:
            return Exit.COMPLETE if report.complete else Exit.PARTIAL
        return Exit.NOTHING if report.complete else Exit.UNREADABLE


def _judge(report: Report, fail_on: str) -> Exit | None:
    is_bad = any(report.count(severity) for severity in _FAILING[fail_on])
    return Exit.THRESHOLD if is_bad else None


def _format_for(output: str | None, format: str | None) -> str:
    suffix = os.path.splitext(output or "")[1].lower()
    if format is None and suffix in SUFFIXES and suffix not in _FORMATS:
        raise UsageError(f"-o {output}: a report is text, json or html; --format says as which")
    format = format or _FORMATS.get(suffix, "text")
    if format == "html" and is_terminal(output):
        raise UsageError("html is for a browser: give -o report.html")
    return format


def _explain(code: str, output: str | None) -> Exit:
    told = f"{explained(code)}\n"
    with Interrupts() as interrupts, open_outputs(output, None, interrupts) as outputs:
        outputs.begin()
        outputs.records.write(told.encode(encoding_of(output), "replace"))
    return Exit.COMPLETE
