"""`audit`: reports what is wrong with a site's sitemaps, in one or more formats.

The outputs are -o, --also and --findings: reports are written at the end, rows of occurrences at that of a target.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ..checks.audit import AuditRequest, audit, audit_lines
from ..checks.ci_formats import MAX_ANNOTATIONS, MAX_RESULTS, no_file
from ..checks.findings import NO_SITEMAP, SEVERITIES
from ..checks.occurrences import Occurrence, OccurrenceBuffer, RowSpool
from ..checks.options import RequestOptions
from ..checks.report import ReportSet
from ..checks.rule_docs import explain_all
from ..checks.url_checks import check_bar
from ..client.targets import find_target, reject_sitemap_file
from ..client.terminal import FILE, FILE_COLUMNS, Screen
from ..model.errors import UsageError
from ..model.options import part_of
from ..serialize.dumps import STDIN, is_dump_name, numbered_objects
from ..serialize.schema import columns_of
from ..serialize.writers import check_format, make_sink
from .exits import Exit
from .messages import Console, read_each, stdin_document
from .options import OCCURRENCE_FORMATS, REPORT_FORMATS
from .output import display_name, format_for, is_terminal, open_input, open_outputs, screen_for, suffix_formats

if TYPE_CHECKING:
    from ..checks.ci_formats import FileOf
    from ..checks.report import Report
    from ..client.targets import Target
    from ..model.problems import Severity
    from ..serialize.byte_streams import Sink
    from ..serialize.schema import Fields
    from .options import OutputOptions
    from .output import Outputs

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
    options |= {name: " ".join(options[name]) for name in ("select", "ignore")}
    shape: dict[str, Any] = {"save_checks": options["save_checks"], "targets": len(targets)}
    with open_audit_outputs(to, also, findings, **shape) as outputs:
        auditor = _Auditor(console, outputs, {**options, "on_occurrence": outputs.on_occurrence})
        ended = read_each(targets, console, auditor.audit)
        report = auditor.result()
        if report is not None:
            outputs.write(report, _FAILING[fail_on], auditor.file_of)
            if report.failing(_FAILING[fail_on]):
                ended.append(Exit.THRESHOLD)
    if report is None:
        return console.end(None, None, ended)
    summary = None if is_terminal(to.output) else f"{report.headline}; {console.elapsed}"
    return console.end(summary, f"partial: {report.partial}", ended)


@attrs.define
class _Auditor:
    console: Console
    outputs: AuditOutputs
    options: dict[str, Any]
    reports: list[Report] = attrs.field(factory=list)
    target: Target | None = None

    def result(self) -> Report | ReportSet | None:
        if not self.reports:
            return None
        return ReportSet(tuple(self.reports)) if self.outputs.names_sites else self.reports[0]

    def file_of(self, url: str) -> str | None:
        """The file of a URL of the last target, if that is a folder or a file."""
        file = None if self.target is None else self.target.file_of(url)
        return None if file is None else file.as_posix()

    def audit(self, target: str) -> Exit:
        self.outputs.begin(display_name(target))
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
    found = next((finding for finding in report.findings if finding.code == NO_SITEMAP), None)
    what = "no URL could be read from" if report.complete is False else "there is no URL in"
    if report.complete is not False and any(note.startswith("filtered by") for note in report.notes):
        what = "no URL matches the filters in"
    elif report.complete is not False and report.not_checked:
        what = f"all URLs ({report.not_checked:,}) are of other hosts, and were not checked, in"
    return found.samples[0].message if found and found.samples else f"{what} {report.target}"


# --- outputs ---------------------------------------------------------------------------------------------------------


# The rows that an HTML page has: some 10 MB.
MAX_PAGE_ROWS = 50_000
# Formats that take one target.
_CI_FORMATS = ("github", "sarif", "junit", "markdown")
_JSON = ("json", "sarif", "jsonl")
_REPORT_ENDINGS = ".sarif, .xml, .md, .html, .json or .txt; --findings takes .csv, .jsonl and .parquet"


@attrs.frozen
class Shown:
    """What a report shows beside its findings."""

    by_target: list[list[Occurrence]]
    failing: tuple[Severity, ...]  # the severities that make the command fail
    file_of: FileOf = no_file
    file: str | None = None  # has the occurrences that an HTML page lacks
    screen: Screen = FILE

    @property
    def occurrences(self) -> list[Occurrence]:
        """Those of the only target."""
        return self.by_target[0]


def _html(report: Report | ReportSet, shown: Shown) -> str:
    if isinstance(report, ReportSet):
        share = MAX_PAGE_ROWS // len(shown.by_target)
        return report.to_html([rows[:share] for rows in shown.by_target])
    return report.to_html(shown.occurrences[:MAX_PAGE_ROWS], file=shown.file)


_WRITERS: dict[str, Callable[[Any, Shown], str]] = {
    "text": lambda report, shown: report.to_text(
        color=shown.screen.has_color, columns=min(shown.screen.columns, FILE_COLUMNS)
    ),
    "json": lambda report, _: report.to_json(),
    "html": _html,
    "github": lambda report, shown: report.to_github(shown.occurrences, file_of=shown.file_of),
    "sarif": lambda report, shown: report.to_sarif(shown.occurrences, file_of=shown.file_of),
    "junit": lambda report, shown: report.to_junit(shown.occurrences, file_of=shown.file_of, failing=shown.failing),
    "markdown": lambda report, shown: report.to_markdown(shown.occurrences, file_of=shown.file_of),
}


# Format -> how many occurrences of each severity are kept for it.
_KEPT_ROWS = {
    "html": MAX_PAGE_ROWS, "github": MAX_ANNOTATIONS, "sarif": MAX_RESULTS, "junit": 10_000, "markdown": 1_000,
}  # fmt: skip


@attrs.define
class AuditOutputs:
    """The open outputs: the format and the stream of each report, and the sinks of rows."""

    main: Outputs  # of -o
    reports: list[tuple[str, Outputs]]
    sinks: list[Sink]
    _output: str | None
    _kept: OccurrenceBuffer
    _file: str | None = None  # for what an HTML page lacks
    _beside: Sink | None = None  # its sink
    _found: int = 0
    _by_target: list[list[Occurrence]] = attrs.field(factory=list)
    _rows: RowSpool = attrs.field(factory=RowSpool)
    site: str = ""  # the target that is read
    names_sites: bool = False  # rows have it

    @property
    def on_occurrence(self) -> Callable[[Occurrence], None] | None:
        return self._add if self.sinks or self._kept.limit else None

    def _add(self, found: Occurrence) -> None:
        self._found += 1
        if self._kept.limit:
            self._kept.add(found)
        if self.sinks or self._beside is not None:
            self._rows.add({**found.to_dict(), "site": self.site} if self.names_sites else found.to_dict())

    def begin(self, site: str) -> None:
        """Takes the occurrences of the next target; of one that failed they are dropped."""
        self.site = site
        self._kept, self._rows = OccurrenceBuffer(self._kept.limit), RowSpool()

    def write_rows(self, report: Report) -> None:
        """Writes the rows of a target, in the order of its findings."""
        self._by_target.append([*self._kept])
        if self._beside is not None and self._found > MAX_PAGE_ROWS:
            self.sinks.append(self._beside)
        for row in self._rows.take((each.code, each.severity) for each in report.findings):
            for sink in self.sinks:
                sink.write(row)

    def write(self, report: Report | ReportSet, failing: tuple[Severity, ...], file_of: FileOf) -> None:
        file = None if self._file is None or self._found <= MAX_PAGE_ROWS else Path(self._file).name
        for format, stream in self.reports:
            screen = screen_for(self._output) if stream is self.main else FILE
            shown = Shown(self._by_target, failing, file_of, file, screen)
            text = screen.substituted(_WRITERS[format](report, shown))
            stream.records.write(text.encode(screen.encoding, "replace"))
            stream.keep()
        self.main.keep()


@contextmanager
def open_audit_outputs(
    to: OutputOptions, also: Sequence[str], findings: str | None, *, save_checks: str | None, targets: int
) -> Iterator[AuditOutputs]:
    """Opens the outputs of an audit of so many targets; UsageError for formats and names that do not fit."""
    output = to.output
    format = format_for(output, to.format, (*REPORT_FORMATS, *OCCURRENCE_FORMATS)) or "text"
    if format == "html" and is_terminal(output):
        raise UsageError("html is for a browser: give -o report.html")
    others = [(file, _format_by_suffix("--also", file, REPORT_FORMATS, _REPORT_ENDINGS)) for file in also]
    formats = [format, *(each for _, each in others)]
    for each in formats:
        if each in _CI_FORMATS and targets > 1:
            raise UsageError(f"{each} is a report of one TARGET: give it one, and run an audit for each")
    _refuse_repeated([output, findings, save_checks], also)
    if save_checks is not None and output is not None and os.path.realpath(save_checks) == os.path.realpath(output):
        raise UsageError(f"--save-checks and -o are the same file, {output}", remedy="give it to one of them")
    kept = OccurrenceBuffer(max(_KEPT_ROWS.get(each, 0) for each in formats) // targets)
    page = next((file for file, each in [(output, format), *others] if each == "html" and file), None)
    with ExitStack() as opened:
        streams = [(each, opened.enter_context(open_outputs(file, is_json=each in _JSON))) for file, each in others]
        fields = columns_of(Occurrence, names_sites=targets > 1)
        rows = _open_rows(to, format, findings, page if kept.limit and targets == 1 else None, fields, kept)
        made = opened.enter_context(rows)
        made.reports += streams
        made.names_sites = targets > 1
        yield made


@contextmanager
def _open_rows(
    to: OutputOptions, format: str, findings: str | None, page: str | None, fields: Fields, kept: OccurrenceBuffer
) -> Iterator[AuditOutputs]:
    """Opens -o and --findings; an HTML page has a file of its name beside it, unless --findings names one."""
    file, file_format = findings, None
    if findings is not None:
        endings = ", ".join(f".{name}" for name in OCCURRENCE_FORMATS)
        file_format = _format_by_suffix("--findings", findings, OCCURRENCE_FORMATS, endings)
        check_format(file_format)
    if findings is None and page is not None and (free := _file_beside(page, to.output)) is not None:
        file, file_format = free, "jsonl"
    own = format if format in OCCURRENCE_FORMATS else "jsonl"
    options: dict[str, Any] = {"report_format": file_format, "may_lack_report": findings is None, "guard": to.guard}
    options |= {"is_json": format in _JSON, "bom": to.has_bom(format), "report_bom": to.has_bom(file_format)}
    with open_outputs(to.output, file, format=own, fields=None if own == "jsonl" else fields, **options) as main:
        reports = [] if format in OCCURRENCE_FORMATS else [(format, main)]
        made = AuditOutputs(main, reports, [] if reports else [main.sink], to.output, kept, file)
        if main.report is None or file_format is None:
            yield made
            return
        beside = make_sink(file_format, main.report, fields=None if file_format == "jsonl" else fields, guard=to.guard)
        if findings is None:
            made._beside = beside
        else:
            made.sinks.append(beside)
        yield made
        beside.close()


def _file_beside(page: str, *others: str | None) -> str | None:
    """The file for what an HTML page lacks; None for a page that is no file, and where another output or a link is."""
    name = f"{Path(page).with_suffix('')}.findings.jsonl"
    is_free = not os.path.islink(name) and os.path.abspath(name) not in {os.path.abspath(each or "") for each in others}
    is_file = os.path.isfile(page) or not os.path.exists(page)
    return name if is_free and is_file and not os.path.abspath(page).startswith("/dev/") else None


def _format_by_suffix(option: str, file: str, formats: Sequence[str], endings: str) -> str:
    """The format of a file of this option; UsageError for a name without one of these `endings`."""
    for format in suffix_formats(file):
        if format in formats:
            return format
    raise UsageError(f"{option} {file}: give a name that ends in {endings}")


def _refuse_repeated(others: Sequence[str | None], also: Sequence[str]) -> None:
    taken = [os.path.realpath(each) for each in (*others, *also) if each and each != STDIN]
    for file in also:
        if taken.count(os.path.realpath(file)) > 1:
            raise UsageError(
                f"--also {file}: that file has another output", remedy="give each output a file of its own"
            )
