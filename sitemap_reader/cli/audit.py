"""`audit`: reports what is wrong with a site's sitemaps, as text, JSON or HTML."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ..checks.audit import ComparisonSources, audit, audit_lines, make_findings
from ..checks.audit_filter import AuditFilter
from ..checks.findings import SEVERITIES
from ..checks.occurrences import Occurrence
from ..checks.policy import parse_codes
from ..checks.report_set import ReportSet
from ..checks.rule_docs import explain_all
from ..client.keywords import PatternOptions
from ..client.targets import reject_sitemap_file
from ..frontier.filters import make_moment
from ..model.errors import UsageError
from ..serialize.dumps import STDIN, is_dump_name, numbered_objects
from ..serialize.projection import columns_of
from ..serialize.writers import check_format, make_sink
from .exits import Exit
from .messages import Console, read_each, stdin_document, takes_color
from .options import OCCURRENCE_FORMATS, REPORT_FORMATS
from .output import display_name, format_for, is_terminal, open_input, open_outputs, suffix_formats
from .tables import encoding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..checks.policy import Policy
    from ..checks.report import Report
    from ..model.problems import Severity
    from ..serialize.byte_streams import Sink
    from ..serialize.projection import Fields
    from .output import Outputs

# --fail-on -> the severities that make the command fail.
_FAILING: dict[str, tuple[Severity, ...]] = {
    "error": SEVERITIES[:1],
    "warning": SEVERITIES[:2],
    "info": SEVERITIES,
    "never": (),
}
_WRITERS: dict[str, Callable[[Report | ReportSet, _Rows], str]] = {
    "text": lambda report, rows: report.to_text(color=rows.color),
    "json": lambda report, rows: report.to_json(),
    "html": lambda report, rows: report.to_html(rows.kept, file=rows.file and Path(rows.file).name),
}
# The rows that an HTML page has: some 10 MB.
MAX_PAGE_ROWS = 50_000


def run(
    *,
    targets: Sequence[str],
    output: str | None,
    format: str | None,
    findings: str | None,
    no_formula_guard: bool,
    samples: int,
    fail_on: str,
    known: str | None,
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
    policy: Policy | None = None,
    **reading: Any,
) -> Exit:
    """Writes the report of each TARGET or FILE; `reading` are keywords of sitemap_reader.audit()."""
    console = Console(quiet=quiet, verbose=verbose)
    if explain is not None:
        return _explain(explain, output)
    if not targets:
        raise UsageError("give a TARGET or a dump, or --explain CODE, FAMILY or all")
    format = format_for(output, format, (*REPORT_FORMATS, *OCCURRENCE_FORMATS)) or "text"
    if format == "html" and is_terminal(output):
        raise UsageError("html is for a browser: give -o report.html")
    if targets.count(STDIN) > 1:
        raise UsageError("stdin can be read once; give files for the other dumps")
    rules = {
        "select": " ".join(select),
        "ignore": " ".join(ignore),
        "samples": samples,
        "known": known,
        "policy": policy,
    }
    reference_files = ComparisonSources(crawl, baseline, state, baseline_crawl)
    keeps = format == "html" and len(targets) == 1
    with _open_outputs(output, format, findings, keeps=keeps, guard=not no_formula_guard) as (outputs, rows):
        if rows.sinks or rows.keeps:
            rules["on_occurrence"] = rows.add
        auditor = _Auditor(console, outputs, rules, reference_files, as_of, reading)
        ended = read_each(targets, console, auditor.audit)
        report = auditor.result(is_one=len(targets) == 1)
        if report is not None:
            if format in _WRITERS:
                outputs.records.write(_WRITERS[format](report, rows).encode(encoding_of(output), "replace"))
            outputs.keep()
            if report.failing(_FAILING[fail_on]):
                ended.append(Exit.THRESHOLD)
    if report is None:
        return console.end(None, None, ended)
    summary = None if is_terminal(output) else f"{report.headline}; {auditor.seconds:.1f} s"
    return console.end(summary, f"partial: {report.partial}", ended)


@attrs.define
class _Rows:
    """The occurrences: written to sinks, and kept for a page up to its limit.

    `beside` is the sink of a file that gets all of them once there are more than a page holds.
    """

    sinks: list[Sink] = attrs.field(factory=list)
    keeps: bool = False
    color: bool = False
    file: str | None = None
    beside: Sink | None = None
    kept: list[Occurrence] = attrs.field(factory=list)

    def add(self, found: Occurrence) -> None:
        """Writes and keeps an occurrence."""
        if self.keeps and len(self.kept) < MAX_PAGE_ROWS:
            self.kept.append(found)
        elif self.beside is not None:
            self.sinks.append(self.beside)
            for each in self.kept:
                self.beside.write(each.to_dict())
            self.beside = None
        if self.sinks:
            row = found.to_dict()
            for sink in self.sinks:
                sink.write(row)


@contextmanager
def _open_outputs(
    output: str | None, format: str, findings: str | None, *, keeps: bool, guard: bool
) -> Iterator[tuple[Outputs, _Rows]]:
    """Opens -o and --findings; a page has a file of its name beside it for occurrences beyond its limit."""
    rows = _Rows(keeps=keeps, color=is_terminal(output) and takes_color(sys.stdout), file=findings)
    file_format = None if findings is None else _occurrence_format(findings)
    if rows.keeps and findings is None and output is not None:
        rows.file, file_format = f"{Path(output).with_suffix('')}.findings.jsonl", "jsonl"
    own = format if format in OCCURRENCE_FORMATS else "jsonl"
    options: dict[str, Any] = {"report_format": file_format, "may_lack_report": findings is None, "guard": guard}
    with open_outputs(output, rows.file, format=own, fields=_fields(own), **options) as outputs:
        rows.sinks = [outputs.sink] if format in OCCURRENCE_FORMATS else []
        if outputs.report is None or file_format is None:
            yield outputs, rows
            return
        beside = make_sink(file_format, outputs.report, fields=_fields(file_format), guard=guard)
        if findings is None:
            rows.beside = beside
        else:
            rows.sinks.append(beside)
        yield outputs, rows
        beside.close()


def _fields(format: str) -> Fields | None:
    """The columns of occurrences; None for JSON lines, which have the whole object."""
    return None if format == "jsonl" else columns_of(Occurrence)


def _occurrence_format(file: str) -> str:
    """The format by the suffix of --findings; UsageError for another."""
    format = next((each for each in suffix_formats(file) if each in OCCURRENCE_FORMATS), None)
    if format is None:
        suffixes = ", ".join(f".{name}" for name in OCCURRENCE_FORMATS)
        raise UsageError(f"--findings {file}: give a name that ends in {suffixes}")
    check_format(format)
    return format


@attrs.define
class _Auditor:
    """Makes the reports; after an interrupt, of what was read by then."""

    console: Console
    outputs: Outputs
    rules: dict[str, Any]
    reference_files: ComparisonSources
    as_of: str | None
    reading: dict[str, Any]
    reports: list[Report] = attrs.field(factory=list)
    started: float = attrs.field(factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def result(self, *, is_one: bool) -> Report | ReportSet | None:
        """The report of the only target, or those of several; None if no target gave one."""
        if not self.reports:
            return None
        return self.reports[0] if is_one else ReportSet(tuple(self.reports))

    def audit(self, target: str) -> Exit:
        """Reads a target or a dump to its end."""
        is_dump = self.reading["base"] is None and is_dump_name(target)
        return self.file(target) if is_dump else self.site(target)

    def site(self, target: str) -> Exit:
        """Reads a target to its end."""
        callbacks: dict[str, Any] = {"on_outcome": self.console.show_document, "on_progress": self.console.progress()}
        is_stdin = target == STDIN  # with a base: otherwise that is a dump
        source = stdin_document(self.reading) if is_stdin else target
        given = {**self.rules, **attrs.asdict(self.reference_files), **callbacks, **self.reading}
        with self.outputs.interrupts.deferred():  # what was read by then is reported
            return self._keep(audit(source, as_of=self.as_of, stop=self._stop, **given))

    def file(self, file: str) -> Exit:
        """Reads a dump to its end."""
        reject_sitemap_file(file)
        name = display_name(file)
        as_of = None if self.as_of is None else make_moment("as_of", self.as_of, datetime.now(UTC))
        findings = make_findings(**self.rules)
        codes = parse_codes(self.rules["select"])
        self.reference_files.validate(codes)
        chosen = AuditFilter.of(**{name: self.reading.get(name) for name in PatternOptions.__annotations__})
        chosen.validate(codes)
        # An interrupt must end the wait for a silent pipe.
        deferred = nullcontext() if file == STDIN else self.outputs.interrupts.deferred()
        with open_input(file) as body, deferred:
            self.outputs.refuse_input(body, name)
            lines = numbered_objects(body, name)
            return self._keep(
                audit_lines(lines, name, findings, self.reference_files, chosen, as_of=as_of, stop=self._stop)
            )

    def _stop(self) -> bool:
        return self.outputs.interrupts.is_pending

    def _keep(self, report: Report) -> Exit:
        self.reports.append(report)
        is_partial = report.complete is False
        if report.urls:
            return Exit.PARTIAL if is_partial else Exit.COMPLETE
        self.console.error(_nothing(report))
        return Exit.UNREADABLE if is_partial else Exit.NOTHING


def _nothing(report: Report) -> str:
    """Why there is no URL."""
    findings = next((note for note in report.notes if note.startswith("no sitemap found")), None)
    what = "no URL could be read from" if report.complete is False else "there is no URL in"
    if report.complete is not False and any(note.startswith("filtered by") for note in report.notes):
        what = "no URL matches the filters in"
    return findings or f"{what} {report.target}"


def _explain(wanted: str, output: str | None) -> Exit:
    """Writes the explanations of codes, families, or all of them."""
    text = "\n\n".join(f"{each}\n" for each in explain_all(wanted))
    with open_outputs(output) as outputs:
        outputs.records.write(text.encode(encoding_of(output), "replace"))
    return Exit.COMPLETE
