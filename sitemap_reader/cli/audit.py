"""`audit`: reports what is wrong with a site's sitemaps, as text, JSON, HTML, or in the formats of CI systems."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..checks.audit import ComparisonSources, audit, audit_lines, make_findings, parse_codes
from ..checks.ci_formats import MAX_ANNOTATIONS, no_file
from ..checks.findings import SEVERITIES
from ..checks.occurrences import Occurrence, OccurrenceBuffer
from ..checks.rule_docs import explain_all
from ..checks.sarif import MAX_RESULTS
from ..frontier.filters import make_moment
from ..model.errors import UsageError
from ..serialize.dumps import STDIN, is_dump_name, numbered_objects
from ..serialize.projection import columns_of
from ..serialize.writers import check_format, make_sink
from .exits import Exit
from .messages import Console, read_each
from .options import OCCURRENCE_FORMATS, REPORT_FORMATS
from .output import display_name, format_for, is_terminal, open_input, open_outputs, suffix_formats
from .tables import encoding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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
# Report formats that show occurrences -> the number of each severity that is kept for them.
_KEPT = {"github": MAX_ANNOTATIONS, "sarif": MAX_RESULTS, "junit": 10_000, "markdown": 1_000}


@attrs.frozen
class _Shown:
    """What a report shows beside its findings. `failing`: the severities that make the command fail."""

    occurrences: Iterable[Occurrence]
    failing: tuple[Severity, ...]
    file_of: Callable[[str], str | None] = no_file


_WRITERS: dict[str, Callable[[Report, _Shown], str]] = {
    "text": lambda report, _: report.to_text(),
    "json": lambda report, _: report.to_json(),
    "html": lambda report, _: report.to_html(),
    "github": lambda report, shown: report.to_github(shown.occurrences, file_of=shown.file_of),
    "sarif": lambda report, shown: report.to_sarif(shown.occurrences, file_of=shown.file_of),
    "junit": lambda report, shown: report.to_junit(shown.occurrences, file_of=shown.file_of, failing=shown.failing),
    "markdown": lambda report, shown: report.to_markdown(shown.occurrences, file_of=shown.file_of),
}


def run(
    *,
    target: str | None,
    output: str | None,
    format: str | None,
    also: Sequence[str],
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
    **reading: Any,
) -> Exit:
    """Writes the report of a TARGET or a FILE; `reading` are keywords of sitemap_reader.audit()."""
    console = Console(quiet=quiet, verbose=verbose)
    if explain is not None:
        return _explain(explain, output)
    if target is None:
        raise UsageError("give a TARGET or a dump, or --explain CODE, FAMILY or all")
    format = format_for(output, format, (*REPORT_FORMATS, *OCCURRENCE_FORMATS)) or "text"
    if format == "html" and is_terminal(output):
        raise UsageError("html is for a browser: give -o report.html")
    rules = {"select": " ".join(select), "ignore": " ".join(ignore), "samples": samples, "known": known}
    reference_files = ComparisonSources(crawl, baseline, state, baseline_crawl)
    with (
        _open_also(also, output, findings) as beside,
        _open_outputs(output, format, findings, guard=not no_formula_guard) as (outputs, sinks),
    ):
        reports = [(format, outputs), *beside] if format in _WRITERS else beside
        limits = [_KEPT[each] for each, _ in reports if each in _KEPT]
        kept = OccurrenceBuffer(max(limits, default=0))
        receivers = [*map(_writer, sinks), *([kept.add] if limits else [])]
        if receivers:
            rules["on_occurrence"] = _each(receivers)
        auditor = _Auditor(console, outputs, rules, reference_files, as_of, reading)
        ended = read_each([target], console, auditor.file if is_dump_name(target) else auditor.site)
        report = auditor.report
        if report is not None:
            for each, stream in reports:
                encoding = encoding_of(output) if stream is outputs else "utf-8"
                text = _WRITERS[each](report, _Shown(kept, _FAILING[fail_on]))
                stream.records.write(text.encode(encoding, "replace"))
                stream.keep()
            outputs.keep()
            if any(map(report.count_new, _FAILING[fail_on])):
                ended.append(Exit.THRESHOLD)
    if report is None:
        return console.end(None, None, ended)
    summary = None if is_terminal(output) else f"{report.headline}; {auditor.seconds:.1f} s"
    return console.end(summary, f"partial: {report.partial}", ended)


@contextmanager
def _open_outputs(
    output: str | None, format: str, findings: str | None, *, guard: bool
) -> Iterator[tuple[Outputs, list[Sink]]]:
    """Opens -o and --findings; also returns the sinks for occurrences."""
    file_format = None if findings is None else _occurrence_format(findings)
    own = format if format in OCCURRENCE_FORMATS else "jsonl"
    with open_outputs(
        output, findings, format=own, fields=_fields(own), guard=guard, report_format=file_format
    ) as outputs:
        sinks = [outputs.sink] if format in OCCURRENCE_FORMATS else []
        if outputs.report is not None and file_format is not None:
            sinks.append(make_sink(file_format, outputs.report, fields=_fields(file_format), guard=guard))
        yield outputs, sinks
        if outputs.report is not None:
            sinks[-1].close()


@contextmanager
def _open_also(files: Sequence[str], *others: str | None) -> Iterator[list[tuple[str, Outputs]]]:
    """Opens the files of --also; returns the format and output of each."""
    formats = [(file, _report_format(file)) for file in files]
    taken = [os.path.realpath(each) for each in (*others, *files) if each and each != STDIN]
    for file in files:
        if taken.count(os.path.realpath(file)) > 1:
            raise UsageError(f"--also {file}: that file has another output; give each output a file of its own")
    with ExitStack() as opened:
        yield [(format, opened.enter_context(open_outputs(file))) for file, format in formats]


def _report_format(file: str) -> str:
    """The format by the suffix of --also; UsageError for another."""
    format = next((each for each in suffix_formats(file) if each in REPORT_FORMATS), None)
    if format is None:
        raise UsageError(f"--also {file}: give a name that ends in .sarif, .xml, .md, .html, .json or .txt")
    return format


def _fields(format: str) -> Fields | None:
    """The columns of occurrences; None for JSON lines, which have the whole object."""
    return None if format == "jsonl" else columns_of(Occurrence)


def _writer(sink: Sink) -> Callable[[Occurrence], None]:
    return lambda found: sink.write(found.to_dict())


def _each(receivers: Sequence[Callable[[Occurrence], None]]) -> Callable[[Occurrence], None]:
    def receive(found: Occurrence) -> None:
        for receiver in receivers:
            receiver(found)

    return receive


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
        callbacks: dict[str, Any] = {"on_outcome": self.console.show_document, "on_progress": self.console.progress()}
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
