"""`audit`: reports what is wrong with a site's sitemaps, in one or more formats."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import attrs

from ..checks.audit import AuditRequest, audit, audit_lines
from ..checks.findings import SEVERITIES
from ..checks.html.charts import can_draw
from ..checks.options import RequestOptions
from ..checks.report_set import ReportSet
from ..checks.rule_docs import explain_all
from ..checks.url_checks import check_bar
from ..client.targets import find_target, reject_sitemap_file
from ..model.errors import UsageError, install_hint
from ..model.options import part_of
from ..serialize.dumps import STDIN, is_dump_name, numbered_objects
from .audit_outputs import open_audit_outputs
from .exits import Exit
from .messages import Console, read_each, stdin_document
from .output import display_name, is_terminal, open_input, open_outputs, screen_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..checks.report import Report
    from ..client.targets import Target
    from ..model.problems import Severity
    from .audit_outputs import AuditOutputs
    from .options import OutputOptions

# --fail-on -> the severities that make the command fail.
_FAILING: dict[str, tuple[Severity, ...]] = {
    "error": SEVERITIES[:1],
    "warning": SEVERITIES[:2],
    "notice": SEVERITIES,
    "info": SEVERITIES,
    "never": (),
}


def run(
    *,
    targets: Sequence[str],
    to: OutputOptions,
    also: Sequence[str],
    findings: str | None,
    fail_on: str,
    explain: str | None,
    **options: Any,
) -> Exit:
    """Writes the report of each TARGET or FILE; `options` are keywords of sitemap_reader.audit()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    if explain is not None:
        with open_outputs(to.output, is_json=False) as outputs:
            screen, text = screen_for(to.output), "\n\n".join(f"{each}\n" for each in explain_all(explain))
            outputs.records.write(screen.substituted(text).encode(screen.encoding, "replace"))
        return Exit.COMPLETE
    if not targets:
        raise UsageError("give a TARGET or a dump, or --explain CODE, FAMILY or all")
    if targets.count(STDIN) > 1:
        raise UsageError("stdin can be read once", remedy="give files for the other dumps")
    started = time.monotonic()
    options |= {name: " ".join(options[name]) for name in ("select", "ignore")}
    shape: dict[str, Any] = {"save_checks": options["save_checks"], "targets": len(targets)}
    with open_audit_outputs(to, also, findings, **shape) as outputs:
        auditor = _Auditor(console, outputs, {**options, "on_occurrence": outputs.on_occurrence})
        ended = read_each(targets, console, auditor.audit)
        report = auditor.result()
        if report is not None:
            outputs.write(report, _FAILING[fail_on], auditor.file_of)
            if len(targets) == 1 and any(each == "html" for each, _ in outputs.reports) and not can_draw():
                console.note(f"note: {install_hint('analysis')} adds charts to the HTML report")
            if report.failing(_FAILING[fail_on]):
                ended.append(Exit.THRESHOLD)
    if report is None:
        return console.end(None, None, ended)
    summary = None if is_terminal(to.output) else f"{report.headline}; {time.monotonic() - started:.1f} s"
    return console.end(summary, f"partial: {report.partial}", ended)


@attrs.define
class _Auditor:
    """Makes the reports; after an interrupt, of what was read by then."""

    console: Console
    outputs: AuditOutputs
    options: dict[str, Any]
    reports: list[Report] = attrs.field(factory=list)
    target: Target | None = None

    def result(self) -> Report | ReportSet | None:
        """The report of the only target, or those of several; None if no target gave one."""
        if not self.reports:
            return None
        return ReportSet(tuple(self.reports)) if self.outputs.names_sites else self.reports[0]

    def file_of(self, url: str) -> str | None:
        """The file of a URL of the last target, if that is a folder or a file."""
        file = None if self.target is None else self.target.file_of(url)
        return None if file is None else file.as_posix()

    def audit(self, target: str) -> Exit:
        self.outputs.site = display_name(target)
        is_dump = self.options["base"] is None and is_dump_name(target)
        return self.file(target) if is_dump else self.site(target)

    def site(self, target: str) -> Exit:
        is_stdin = target == STDIN  # with a base: otherwise that is a dump
        source = self.target = stdin_document(self.options) if is_stdin else find_target(target, self.options["base"])
        callbacks: dict[str, Any] = {
            "on_outcome": self.console.show_document,
            "on_progress": self.console.progress(),
            "on_checked": self.console.progress_on(check_bar()),
        }
        with self.outputs.main.interrupts.deferred():  # what was read by then is reported
            return self._keep(audit(source, stop=self._stop, **callbacks, **self.options))

    def file(self, file: str) -> Exit:
        reject_sitemap_file(file)
        name = display_name(file)
        request = AuditRequest.of(part_of(RequestOptions, {**self.options, "stop": self._stop}))
        # An interrupt must end the wait for a silent pipe.
        deferred = nullcontext() if file == STDIN else self.outputs.main.interrupts.deferred()
        with open_input(file) as body, deferred:
            lines = numbered_objects(body, name)
            return self._keep(audit_lines(lines, name, request))

    def _stop(self) -> bool:
        return self.outputs.main.interrupts.is_pending

    def _keep(self, report: Report) -> Exit:
        self.reports.append(report)
        self.outputs.write_rows(report)
        is_partial = report.complete is False
        if report.urls:
            return Exit.PARTIAL if is_partial else Exit.COMPLETE
        self.console.error(_nothing(report))
        return Exit.UNREADABLE if is_partial else Exit.NOTHING


def _nothing(report: Report) -> str:
    no_sitemap = next((note for note in report.notes if note.startswith("no sitemap found")), None)
    what = "no URL could be read from" if report.complete is False else "there is no URL in"
    if report.complete is not False and any(note.startswith("filtered by") for note in report.notes):
        what = "no URL matches the filters in"
    return no_sitemap or f"{what} {report.target}"
