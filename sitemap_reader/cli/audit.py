"""`audit`: reports what is wrong with a site's sitemaps, as text, JSON or HTML."""

from __future__ import annotations

import time
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..checks.audit import ComparisonSources, audit, audit_lines, make_findings, parse_codes
from ..checks.findings import SEVERITIES
from ..checks.rule_docs import explain_all
from ..checks.url_checks import check_bar
from ..frontier.filters import make_moment
from ..model.errors import UsageError
from ..serialize.dumps import STDIN, is_dump_name, numbered_objects
from .exits import Exit
from .messages import Console, read_each
from .options import REPORT_FORMATS
from .output import display_name, format_for, is_terminal, open_input, open_outputs
from .tables import encoding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..checks.report import Report
    from ..checks.url_checks import CheckSize
    from ..model.problems import Severity
    from .output import Outputs

# --fail-on -> the severities that make the command fail.
_FAILING: dict[str, tuple[Severity, ...]] = {
    "error": SEVERITIES[:1],
    "warning": SEVERITIES[:2],
    "info": SEVERITIES,
    "never": (),
}
_WRITERS: dict[str, Callable[[Report], str]] = {
    "text": lambda report: report.to_text(),
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
    check_urls: CheckSize | None,
    save_checks: str | None,
    seed: int,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> Exit:
    """Writes the report of a TARGET or a FILE; `reading` are keywords of sitemap_reader.audit()."""
    console = Console(quiet=quiet, verbose=verbose)
    if explain is not None:
        return _explain(explain, output)
    if target is None:
        raise UsageError("give a TARGET or a dump, or --explain CODE, FAMILY or all")
    format = format_for(output, format, REPORT_FORMATS) or "text"
    if format == "html" and is_terminal(output):
        raise UsageError("html is for a browser: give -o report.html")
    rules = {"select": " ".join(select), "ignore": " ".join(ignore), "samples": samples}
    reference_files = ComparisonSources(crawl, baseline, state, baseline_crawl, check_urls, save_checks, seed)
    with open_outputs(output) as outputs:
        auditor = _Auditor(console, outputs, rules, reference_files, as_of, reading)
        ended = read_each([target], console, auditor.file if is_dump_name(target) else auditor.site)
        report = auditor.report
        if report is not None:
            outputs.records.write(_WRITERS[format](report).encode(encoding_of(output), "replace"))
            if any(map(report.count, _FAILING[fail_on])):
                ended.append(Exit.THRESHOLD)
    if report is None:
        return console.end(None, None, ended)
    summary = None if is_terminal(output) else f"{report.headline}; {auditor.seconds:.1f} s"
    return console.end(summary, f"partial: {report.partial}", ended)


@attrs.define
class _Auditor:
    """Makes the report; after an interrupt, of what was read by then."""

    console: Console
    outputs: Outputs
    rules: dict[str, Any]
    reference_files: ComparisonSources
    as_of: str | None
    reading: dict[str, Any]
    report: Report | None = None
    started: float = attrs.field(factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def site(self, target: str) -> Exit:
        """Reads a target to its end."""
        callbacks: dict[str, Any] = {
            "on_outcome": self.console.show_document,
            "on_progress": self.console.progress(),
            "on_checked": self.console.progress_on(check_bar()),
        }
        given = {**self.rules, **attrs.asdict(self.reference_files), **callbacks, **self.reading}
        with self.outputs.interrupts.deferred():  # what was read by then is reported
            return self._keep(audit(target, as_of=self.as_of, stop=self._stop, **given))

    def file(self, file: str) -> Exit:
        """Reads a dump to its end."""
        name = display_name(file)
        as_of = None if self.as_of is None else make_moment("as_of", self.as_of, datetime.now(UTC))
        findings = make_findings(**self.rules)
        self.reference_files.validate(parse_codes(self.rules["select"]))
        # An interrupt must end the wait for a silent pipe.
        deferred = nullcontext() if file == STDIN else self.outputs.interrupts.deferred()
        with open_input(file) as body, deferred:
            self.outputs.refuse_input(body, name)
            lines = numbered_objects(body, name)
            return self._keep(audit_lines(lines, name, findings, self.reference_files, as_of=as_of, stop=self._stop))

    def _stop(self) -> bool:
        return self.outputs.interrupts.is_pending

    def _keep(self, report: Report) -> Exit:
        self.report = report
        is_partial = report.complete is False
        if report.urls:
            return Exit.PARTIAL if is_partial else Exit.COMPLETE
        self.console.error(_nothing(report))
        return Exit.UNREADABLE if is_partial else Exit.NOTHING


def _nothing(report: Report) -> str:
    """Why there is no URL."""
    findings = next((note for note in report.notes if note.startswith("no sitemap found")), None)
    what = "no URL could be read from" if report.complete is False else "there is no URL in"
    return findings or f"{what} {report.target}"


def _explain(wanted: str, output: str | None) -> Exit:
    """Writes the explanations of codes, families, or all of them."""
    text = "\n\n".join(f"{each}\n" for each in explain_all(wanted))
    with open_outputs(output) as outputs:
        outputs.records.write(text.encode(encoding_of(output), "replace"))
    return Exit.COMPLETE
