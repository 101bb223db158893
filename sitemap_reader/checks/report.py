"""The public Report: an AuditResult that renders itself. ReportSet has those of several targets, and their total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.terminal import FILE_COLUMNS, Screen
from ..model.errors import printable, without_commands
from ..model.problems import count_of
from ..pages.rendering import shorten
from ..parser.content.sniff import Format
from ..parser.normalise.urls import is_web_url
from ..serialize.jsonl import stamp, to_dict
from ..version import __version__
from . import ci_formats
from .ci_formats import no_file, with_texts
from .findings import IMPACTS, SEVERITIES, AuditResult, fixed_lines
from .occurrences import with_url
from .page import render_fragment, render_page, render_pages
from .rule_docs import explain, plain

if TYPE_CHECKING:
    from ..model.problems import Problem, Severity
    from .ci_formats import FileOf
    from .findings import Finding
    from .occurrences import Occurrence

_MAX_RAW_CHARS = 160
_MAX_MESSAGE_CHARS = 400


@attrs.frozen(repr=False)
class Report(AuditResult):
    """The result of an audit.

    `at` is the time that ages are computed from: of a recording, when it was made. `urls` counts the URLs that were
    kept, `pages` unique ones, and `dropped` entries of sitemaps that were not kept, as they are invalid or out of
    scope; None if the source does not state it. `not_checked` are those of other hosts, of which only local files were
    read: nothing says whether search engines take them. `unread` are those of `urls` in sitemaps of the findings whose
    impact is "unread", which this program reads; None where `dropped` is. `site` is the host of a recording or of local
    files, which is the title of the report; None for others, whose title is the target. `complete` is False if a
    sitemap or a part of one could not be read, so that findings may be missing; None if the source, such as a dump of
    URLs alone, does not state it.
    `findings`: by what they cost with search engines (see IMPACTS), then by severity, then the most frequent first.
    `sitemaps` are the rows of the sitemap tree; their `problems` count those of all findings. `facts` are counts in the
    groups `lastmod month` (name: `2026-11`), `lastmod none`, `sections` (as in stats), `formats`, and `lastmod` and
    `lastmod verdict` as in stats. `lastmod_trust` has the verdict on each sitemap that lists URLs: its URL -> score and
    reasons. `notes` are sentences on what was not checked, or only for a sample. `unnamed` are the outcomes of
    incomplete documents without a URL, as `parse --report -` writes them for a file: they have no row. `rules` has the
    selected codes: code -> why it was not checked, empty if it was.

    `url_checks` is what check_urls covered, with the estimated share of each fault; None without it.

    `fixed` is what the known findings have, and this audit no longer finds; None without known ones.

    `policy` has the severities, ignores and thresholds that were used, if any; `ignored` is the number of problems that
    each ignore has suppressed.

    The formats of CI systems show the given `occurrences`, those that audit() passes to `on_occurrence`; without them
    the samples of the findings. `file_of` gives the file of a URL in the repository, or None.

    str() is the text that the command line writes.
    """

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return printable(f"<Report of {self.target}: {self.headline}>")

    def to_dict(self) -> dict[str, Any]:
        """The report as the object that to_json() writes."""
        return {
            "target": self.target,
            "site": self.site,
            "at": stamp(self.at),
            "version": __version__,
            "complete": self.complete,
            "urls": self.urls,
            "dropped": self.dropped,
            "not_checked": self.not_checked,
            "unread": self.unread,
            "pages": self.pages,
            "problems": {each: self.count(each) for each in SEVERITIES},
            "places": self.places,
            "findings": [_finding_json(each) for each in self.findings],
            "sitemaps": [attrs.asdict(row, filter=lambda field, _: field.name != "branch") for row in self.sitemaps],
            "facts": [attrs.asdict(fact) for fact in self.facts],
            "notes": list(self.notes),
            "policy": None if self.policy is None else self.policy.to_dict(self.ignored),
            "url_checks": None if self.url_checks is None else attrs.asdict(self.url_checks),
            "fixed": None if self.fixed is None else self.fixed.to_dict(),
        }

    def to_text(self, *, color: bool = False, columns: int = FILE_COLUMNS) -> str:
        """Text of 80 columns, or so many: a summary, a line for each finding, then the findings with samples.

        URLs, and the first line, are never broken. `color` marks severities by ANSI colours.
        """
        screen = Screen(has_color=color, columns=columns)
        return "".join(f"{without_commands(line)}\n" for line in _text_lines(self, screen))

    def to_json(self) -> str:
        """One JSON object, indented."""
        return json_text(self.to_dict())

    def to_html(self, occurrences: Sequence[Occurrence] = (), *, file: str | None = None) -> str:
        """A self-contained HTML page: it loads nothing from the network or from other files.

        With `occurrences`, those that `on_occurrence` got, it has a searchable list of all of them in place of the
        samples: some 200 bytes each. `file` is the name of a file that has more, to which the page links.
        """
        return render_page(self, occurrences, file)

    def to_github(self, occurrences: Iterable[Occurrence] | None = None, *, file_of: FileOf = no_file) -> str:
        """Annotations for GitHub Actions, ten of each severity, to be printed in a step of a workflow."""
        return ci_formats.to_github(self, occurrences, file_of)

    def to_sarif(self, occurrences: Iterable[Occurrence] | None = None, *, file_of: FileOf = no_file) -> str:
        """A SARIF 2.1.0 log with at most 25,000 results, the most severe first."""
        return ci_formats.to_sarif(self, occurrences, file_of)

    def to_junit(
        self,
        occurrences: Iterable[Occurrence] | None = None,
        *,
        file_of: FileOf = no_file,
        failing: Collection[Severity] = SEVERITIES[:1],
    ) -> str:
        """JUnit XML with a test case for each rule; those with new findings of the `failing` severities fail."""
        return ci_formats.to_junit(self, occurrences, file_of, failing)

    def to_markdown(self, occurrences: Iterable[Occurrence] | None = None, *, file_of: FileOf = no_file) -> str:
        """GitHub's Markdown, at most 1 MiB: a table, and each finding with its first occurrences."""
        return ci_formats.to_markdown(self, occurrences, file_of)

    def _repr_html_(self) -> str:
        return render_fragment(self)


# --- text ---


def _text_lines(result: AuditResult, screen: Screen) -> Iterator[str]:
    yield screen.styled(printable(f"{result.name}: {result.headline}"), "heading")
    yield from _wrapped(_scope(result), "", screen)
    for line in result.coverage:
        yield from _wrapped(line, "  " if line in result.coverage[1:] else "", screen)
    for note in result.notes:
        yield from _wrapped(f"note: {note}", "  ", screen)
    yield from map(printable, fixed_lines(result.fixed))
    if not result.findings:
        return
    yield ""
    yield from _overview(result.findings, screen)
    for finding in result.findings:
        yield ""
        yield from _text_of(finding, screen)


def _scope(result: AuditResult) -> str:
    """`3,690 URLs listed, 3,684 valid, …; 23 sitemaps; read from recorded/shop; as of 2026-11-01 12:00 UTC`."""
    read = sum(row.entries is not None and row.format != Format.ROBOTS for row in result.sitemaps)
    parts = [result.url_counts, count_of(read, "sitemap")] if read else []
    if result.site is not None and not is_web_url(result.target):  # of local files a note names the folder
        parts.append(f"read from {result.target}")
    parts.append(f"as of {result.at:%Y-%m-%d %H:%M} UTC")
    if result.complete is False:
        parts.append(f"partial: {result.partial}")
    return "; ".join(parts)


def _overview(findings: tuple[Finding, ...], screen: Screen) -> Iterator[str]:
    width = max(len(f"{finding.count:,}") for finding in findings)
    for impact, found in groupby(findings, lambda finding: finding.impact):
        yield screen.styled(f"{IMPACTS[impact]}:", "heading")
        for finding in found:
            severity = screen.styled(f"{finding.severity:7}", finding.severity)
            new = "" if finding.new is None else f" ({finding.new:,} new)"
            yield f"{severity}  {finding.code}  {finding.count:>{width},}  {finding.title}{new}"


def _text_of(finding: Finding, screen: Screen) -> Iterator[str]:
    explanation = explain(finding.code)
    name = f"{finding.code} {finding.severity}: {finding.title}"
    first, *rest = _wrapped(f"{name} ({finding.occurrences})", "", screen)
    yield screen.styled(first, finding.severity)
    yield from rest
    yield from _wrapped(f"Expected: {plain(explanation.rule)}", "  ", screen)
    by_kind: dict[str, list[Problem]] = {"": [], **{each.kind: [] for each in finding.kinds}}
    for sample in finding.samples:
        by_kind[sample.kind or ""].append(sample)
    headings = {each.kind: f"{each.count:,} in {finding.documents_of(each.documents)}" for each in finding.kinds}
    for kind, samples in by_kind.items():
        if kind:
            yield f"  {kind}: {headings[kind]}"
        for sample in samples:
            yield from _sample(sample, screen)
    more = finding.count - len(finding.samples)
    if more > 0:
        yield f"  - and {more:,} more"
    yield from _wrapped(f"How to fix: {plain(explanation.fix)}", "  ", screen)


def _sample(sample: Problem, screen: Screen) -> Iterator[str]:
    yield printable(f"  - {shorten(sample.place, _MAX_MESSAGE_CHARS)}")
    message = shorten(with_url(sample.message, sample.url), _MAX_MESSAGE_CHARS)
    yield from _wrapped(message, "    ", screen)
    if sample.raw and sample.raw not in message:
        raw = " ".join(sample.raw.split())
        yield printable(f"      {raw if len(raw) <= _MAX_RAW_CHARS else f'{raw[: _MAX_RAW_CHARS - 1]}…'}")


def _wrapped(text: str, indent: str, screen: Screen) -> list[str]:
    columns = screen.columns - len(indent)
    lines = wrap(printable(text), columns, break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines]


# --- JSON ---


def json_text(report: dict[str, Any]) -> str:
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(report, option=options).decode()
    except TypeError:  # the name of a file is not UTF-8
        readable = with_texts(report, lambda text: text.encode("utf-8", "replace").decode())
        return orjson.dumps(readable, option=options).decode()


def _finding_json(finding: Finding) -> dict[str, Any]:
    explanation = explain(finding.code)
    samples = [to_dict(sample) for sample in finding.samples]
    for sample in samples:
        del sample["type"], sample["code"], sample["severity"]
    return {
        "code": finding.code,
        "severity": finding.severity,
        "impact": finding.impact,
        "title": finding.title,
        "rule": explanation.rule,
        "fix": explanation.fix,
        "source": explanation.source,
        "count": finding.count,
        "new": finding.new,
        "documents": finding.documents,
        "kinds": [attrs.asdict(kind) for kind in finding.kinds],
        "samples": samples,
    }


# --- several targets -------------------------------------------------------------------------------------------------


@attrs.frozen
class ReportSet:
    """The reports of targets, at least one, in their order."""

    reports: tuple[Report, ...]

    @property
    def _total(self) -> AuditResult:
        findings = tuple(chain.from_iterable(each.findings for each in self.reports))
        urls = sum(each.urls for each in self.reports)
        dropped = sum(each.dropped or 0 for each in self.reports)
        elsewhere = sum(each.not_checked for each in self.reports)
        return attrs.evolve(self.reports[0], urls=urls, dropped=dropped, not_checked=elsewhere, findings=findings)

    def failing(self, severities: Collection[Severity]) -> tuple[Finding, ...]:
        return tuple(chain.from_iterable(each.failing(severities) for each in self.reports))

    @property
    def _titled(self) -> list[Report]:
        """The reports; recordings of a host are titled by their targets, and equal ones by numbers."""
        names = Counter(each.name for each in self.reports)
        titled = [each if names[each.name] == 1 else attrs.evolve(each, site=None) for each in self.reports]
        targets = Counter(each.name for each in titled)
        return [
            each if targets[each.name] == 1 else attrs.evolve(each, site=f"{each.name} ({number})")
            for number, each in enumerate(titled, 1)
        ]

    @property
    def headline(self) -> str:
        """`2 errors, 14 warnings and 3 notices in 640 URLs of 2 targets`."""
        return f"{self._total.headline} of {count_of(len(self.reports), 'target')}"

    @property
    def partial(self) -> str:
        return "; ".join(f"{each.target}: {each.partial}" for each in self.reports if each.complete is False)

    def to_text(self, *, color: bool = False, columns: int = FILE_COLUMNS) -> str:
        lines = [self.headline, *(f"  {each.name}: {each.headline}" for each in self._titled)]
        head = "".join(f"{without_commands(printable(line))}\n" for line in lines)
        return "\n\n".join([head, *(each.to_text(color=color, columns=columns) for each in self._titled)])

    def to_dict(self) -> dict[str, Any]:
        """The object that to_json() writes: `version`, `problems` of all, and `targets`, the reports."""
        problems = {each: self._total.count(each) for each in SEVERITIES}
        return {"version": __version__, "problems": problems, "targets": [each.to_dict() for each in self.reports]}

    def to_json(self) -> str:
        return json_text(self.to_dict())

    def to_html(self, occurrences: Sequence[Sequence[Occurrence]] = ()) -> str:
        """A self-contained HTML page: a table of the targets, then a part for each; `occurrences`: those of each."""
        return render_pages(self._titled, occurrences, self.headline)
