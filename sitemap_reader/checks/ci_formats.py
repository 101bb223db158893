"""The report for CI systems: annotations for GitHub, JUnit XML, Markdown or SARIF.

Text of a site is data in each of them: it forms no command, element, link or mention. Passwords are masked. `file_of`
gives the file of the repository in which a URL is, None for other URLs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import orjson

from ..model.errors import markup_without_commands, masked, printable, without_commands
from ..model.problems import CATALOGUE, count_of
from ..serialize.jsonl import stamp
from ..version import __version__
from .findings import SEVERITIES, fixed_lines
from .occurrences import Occurrence, most_severe
from .rule_docs import TOOL, explain, plain

if TYPE_CHECKING:
    from ..model.problems import Severity
    from .findings import AuditResult, Finding
    from .occurrences import FixedFindings

    FileOf = Callable[[str], str | None]
    Json = dict[str, Any]


Coded = TypeVar("Coded", Occurrence, "Finding")

_MAX_SAMPLE_CHARS = 400


def no_file(url: str) -> str | None:
    """The `file_of` of a site that is not in the repository."""
    return None


def shown(text: str) -> str:
    """Text of a site on one line, without control characters and passwords."""
    return printable(masked(text))


def _ranked(result: AuditResult, given: Iterable[Occurrence] | None, limit: int | None = None) -> list[Occurrence]:
    """The given occurrences, or else the samples of all findings, the most severe first."""
    samples = (Occurrence.of(sample) for finding in result.findings for sample in finding.samples)
    return most_severe(samples if given is None else given, limit)


def message_of(found: Occurrence) -> str:
    """The message; with the listed URL, if it is not in there."""
    is_listed = found.url is not None and found.url != found.sitemap and found.url not in found.message
    return shown(f"{found.message} ({found.url})" if is_listed else found.message)


def place_of(found: Occurrence, file_of: FileOf = no_file) -> str:
    """`public/sitemap.xml:7`, or with the URL of the sitemap; `-` if it is not known."""
    document = found.sitemap or "-"
    place = shown(file_of(document) or document)
    return place if found.line is None else f"{place}:{found.line}"


def _by_code(found: Iterable[Coded]) -> Mapping[str, list[Coded]]:
    by_code: dict[str, list[Coded]] = defaultdict(list)
    for each in found:
        by_code[each.code].append(each)
    return by_code


def _lines_of(listed: list[Occurrence], count: int, file_of: FileOf, most: int | None = None) -> list[str]:
    """A line for each of the listed ones, cut at `most` characters, and how many more of `count` there are."""
    lines = [f"{place_of(each, file_of)}: {message_of(each)}{' (known)' * (each.new is False)}" for each in listed]
    lines = [each if most is None or len(each) <= most else f"{each[: most - 1]}…" for each in lines]
    more = count - sum(each.count for each in listed)
    return [*lines, f"and {more:,} more"] if more > 0 else lines


# --- GitHub annotations ---------------------------------------------------------------------------------------------

# The number of annotations of each severity that GitHub shows of a step.
MAX_ANNOTATIONS = 10
_IN_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = _IN_DATA | {":": "%3A", ",": "%2C"}


def to_github(result: AuditResult, occurrences: Iterable[Occurrence] | None, file_of: FileOf = no_file) -> str:
    """Workflow commands that annotate files: the first ten new occurrences of each severity; then the headline.

    Source: GitHub Docs, "Workflow commands for GitHub Actions".
    """
    found = [each for each in _ranked(result, occurrences) if each.new is not False]
    findings = {finding.key: finding for finding in result.findings}
    fixed = _fixed_notice(result.fixed)
    rooms = {severity: MAX_ANNOTATIONS for severity in SEVERITIES}
    rooms["notice"] -= len(fixed)
    annotated = [each for severity in SEVERITIES for each in _of_severity(found, severity)[: rooms[severity]]]
    commands = [_annotation(each, findings.get((each.code, each.severity, each.impact)), file_of) for each in annotated]
    commands += fixed
    lines = [f"note: {note}" for note in (*result.coverage, *result.notes)]
    lines += [] if fixed else [*fixed_lines(result.fixed)][:1]
    lines.append(f"{result.name}: {result.headline}{_left_out(result, annotated)}")
    return "".join(f"{line}\n" for line in [*commands, *(without_commands(shown(line)) for line in lines)])


def _of_severity(found: Iterable[Occurrence], severity: Severity) -> list[Occurrence]:
    return [each for each in found if each.severity == severity]


def _fixed_notice(fixed: FixedFindings | None) -> list[str]:
    """The annotation that says what was fixed since the known findings, if anything was."""
    if fixed is None or not fixed.findings:
        return []
    title, *lines = map(shown, fixed_lines(fixed))
    text = without_commands("\n".join(lines))
    return [f"::notice title={_encoded(without_commands(title), _IN_PROPERTIES)}::{_encoded(text, _IN_DATA)}"]


def _annotation(found: Occurrence, finding: Finding | None, file_of: FileOf) -> str:
    file = None if found.sitemap is None else file_of(found.sitemap)
    title = f"{found.code} {CATALOGUE[found.code].title}"
    if finding is not None and finding.count > 1:
        title += f" ({finding.count:,} places)"
    # The runner of Azure Pipelines takes `##vso[` from such lines too.
    name = file and without_commands(shown(file))
    properties = {"file": name, "line": file and found.line and str(found.line), "title": title}
    given = ",".join(f"{key}={_encoded(value, _IN_PROPERTIES)}" for key, value in properties.items() if value)
    message = _message_at(found, file)
    text = _encoded(f"{without_commands(message)}\nHow to fix: {plain(explain(found.code).fix)}", _IN_DATA)
    return f"::{found.severity} {given}::{text}"


def _message_at(found: Occurrence, file: str | None) -> str:
    """The message, with its place unless a file states it."""
    return message_of(found) if file else f"{place_of(found)}: {message_of(found)}"


def _encoded(text: str, codes: Mapping[str, str]) -> str:
    return "".join(codes.get(char, char) for char in text)


def _left_out(result: AuditResult, annotated: list[Occurrence]) -> str:
    """`; annotated: 10 of 1,284 places of errors` where GitHub would not show all."""
    parts = []
    for severity in SEVERITIES:
        places = sum(finding.counted for finding in result.findings if finding.severity == severity)
        marked = sum(each.count for each in annotated if each.severity == severity)
        if marked < places:
            parts.append(f"{marked:,} of {count_of(places, 'place')} of {severity}s")
    return f"; annotated: {', '.join(parts)}" if parts else ""


# --- JUnit XML ------------------------------------------------------------------------------------------------------

# Occurrences of a rule in the text of its test case.
MAX_IN_TEST_CASE = 100


def to_junit(
    result: AuditResult,
    occurrences: Iterable[Occurrence] | None,
    file_of: FileOf = no_file,
    failing: Collection[Severity] = SEVERITIES[:1],
) -> str:
    """A test suite with a test case for each rule: failed if it has new findings of the severities in `failing`.

    Valid by Jenkins' junit-10.xsd, but for the attributes `file` and `line` of test cases, which GitLab reads.
    """
    by_code = _by_code(_ranked(result, occurrences))
    found = {finding.code for finding in result.findings}
    codes = [code for code in CATALOGUE if code in found or code in (result.rules or CATALOGUE)]
    failed = _by_code(result.failing(failing))
    cases = [_test_case(result, code, by_code.get(code, []), failed.get(code, []), file_of) for code in codes]
    counts = {
        "tests": len(codes),
        "failures": len(failed),
        "errors": 0,
        "skipped": sum(bool(result.rules.get(code)) and code not in found for code in codes),
    }
    suite = {"name": shown(result.target), **counts, "timestamp": f"{result.at:%Y-%m-%dT%H:%M:%S}"}
    notes = [shown(note) for note in ([result.headline, *result.coverage, *result.notes])]
    partial = [f"partial: {result.partial}"] if result.complete is False else []
    fixed = map(shown, fixed_lines(result.fixed))
    children = [*cases, _element("system-out", {}, _lines([*notes, *partial, *fixed]))]
    suites = _element("testsuites", {}, _element("testsuite", suite, "\n", *children))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{markup_without_commands(suites)}'


def _test_case(
    result: AuditResult, code: str, occurrences: list[Occurrence], failed: list[Finding], file_of: FileOf
) -> str:
    attributes: dict[str, object] = {
        "name": f"{code} {CATALOGUE[code].title}",
        "classname": f"sitemap-reader.{code[0]}",
    }
    first = occurrences[0] if occurrences else None
    file = None if first is None or first.sitemap is None else file_of(first.sitemap)
    if first is not None and file is not None:
        attributes |= {"file": shown(file)} | ({} if first.line is None else {"line": first.line})
    count = sum(each.count for each in result.findings if each.code == code)
    if not count:
        reason = result.rules.get(code, "")
        skipped = [_element("skipped", {}, escape(shown(reason)))] if reason else []
        return _element("testcase", attributes, *skipped)
    explanation = explain(code)
    texts = [f"Expected: {plain(explanation.rule)}", f"How to fix: {plain(explanation.fix)}"]
    text = _lines([*_lines_of(occurrences[:MAX_IN_TEST_CASE], count, file_of), *texts])
    if not failed:
        return _element("testcase", attributes, "\n", _element("system-out", {}, text))
    message = "; ".join(f"{each.severity}: {each.occurrences}" for each in failed)
    failure = {"type": failed[0].severity, "message": message}
    return _element("testcase", attributes, "\n", _element("failure", failure, text))


def _lines(lines: Iterable[str]) -> str:
    return escape("\n".join(lines))


def _element(name: str, attributes: Mapping[str, object], *children: str) -> str:
    given = "".join(f' {key}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(children)}</{name}>\n" if children else f"<{name}{given}/>\n"


# --- Markdown -------------------------------------------------------------------------------------------------------

# GitHub Docs: a step may have 1 MiB of summary.
MAX_MARKDOWN_BYTES = 1 << 20
_LEFT_OUT_BYTES = 100
_TICKS = re.compile("`+")


def to_markdown(
    result: AuditResult,
    occurrences: Iterable[Occurrence] | None,
    file_of: FileOf = no_file,
    *,
    samples: int = 5,
    max_bytes: int = MAX_MARKDOWN_BYTES,
) -> str:
    """The headline, a table of the findings, and each finding that fits into `max_bytes` with its first occurrences.

    Text of a site stands in code only, where it is no markup, link or mention.
    """
    by_code = _by_code(_ranked(result, occurrences))
    head = _head(result)
    parts, room = [head], max_bytes - len(head.encode()) - _LEFT_OUT_BYTES
    for number, finding in enumerate(result.findings):
        listed = [each for each in by_code[finding.code] if finding.has(each)][:samples]
        part = _details(finding, listed, file_of)
        room -= len(part.encode())
        if room < 0:
            left_out = count_of(len(result.findings) - number, "problem")
            parts.append(f"\nThe details of {left_out} are left out: the limit is {max_bytes:,} bytes.\n")
            break
        parts.append(part)
    return "".join(parts)


def _head(result: AuditResult) -> str:
    paragraphs = [
        f"## Sitemap audit of {_code(result.name)}",
        f"**{result.headline}**",
        f"{result.url_counts}; as of {result.at:%Y-%m-%d %H:%M} UTC.",
    ]
    if result.complete is False:
        paragraphs.append(f"Partial: {result.partial}")
    if notes := (*result.coverage, *result.notes):
        paragraphs.append("\n".join(f"- {_code(note)}" for note in notes))
    if result.findings:
        paragraphs.append("\n".join(_table(result)))
    if result.fixed is not None:
        paragraphs.append(_fixed(result.fixed))
    return "\n\n".join(paragraphs) + "\n"


def _fixed(fixed: FixedFindings) -> str:
    lines = [without_commands(shown(line)) for line in fixed_lines(fixed)]
    if not fixed.findings:
        return _code(lines[0])
    text = "\n".join(
        each if len(each) <= _MAX_SAMPLE_CHARS else f"{each[: _MAX_SAMPLE_CHARS - 1]}…" for each in lines[1:]
    )
    return f"### {_code(lines[0])}\n\n```text\n{text}\n```"


def _table(result: AuditResult) -> Iterator[str]:
    has_known = any(finding.new is not None for finding in result.findings)
    yield f"| severity | code | problem | places |{' new |' * has_known}"
    yield f"|---|---|---|---:|{'---:|' * has_known}"
    for finding in result.findings:
        new = "" if finding.new is None else f" {finding.new:,} |"
        yield f"| {finding.severity} | {finding.code} | {finding.title} | {finding.count:,} |{new}"


def _details(finding: Finding, listed: list[Occurrence], file_of: FileOf) -> str:
    explanation = explain(finding.code)
    lines = _lines_of(listed, finding.count, file_of, _MAX_SAMPLE_CHARS)
    text = "\n".join(map(without_commands, lines))  # each begins with its place, so that none can end the block
    return (
        f"\n<details><summary><b>{finding.code}</b> {finding.severity}: {escape(finding.title)} "
        f"({finding.occurrences})</summary>\n\n"
        f"Expected: {explanation.rule}\n\n```text\n{text}\n```\n\nHow to fix: {explanation.fix}\n\n</details>\n"
    )


def _code(text: str) -> str:
    """A code span that the text cannot end."""
    inert = without_commands(shown(text)) or " "
    ticks = "`" * (max(map(len, _TICKS.findall(inert)), default=0) + 1)
    return f"{ticks} {inert} {ticks}" if "`" in inert or inert.strip() != inert else f"{ticks}{inert}{ticks}"


# --- SARIF -----------------------------------------------------------------------------------------------------------


# GitHub refuses a run with more results.
MAX_RESULTS = 25_000
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "notice": "note"}
_GITHUB_SEVERITIES: dict[Severity, str] = {"error": "error", "warning": "warning", "notice": "recommendation"}
# The root of the repository.
_ROOT = "%SRCROOT%"
_NO_WORD = re.compile(r"'s|-")
_WORD = re.compile(r"[A-Za-z0-9]+")
# What code scanning takes for the identity of a result.
_LINE_HASH = "primaryLocationLineHash"


def to_sarif(
    result: AuditResult,
    occurrences: Iterable[Occurrence] | None,
    file_of: FileOf = no_file,
    *,
    max_results: int = MAX_RESULTS,
) -> str:
    """A log with one run: rules, results, and what could not be read."""
    found = _ranked(result, occurrences, max_results)
    codes = [code for code in CATALOGUE if code in {each.code for each in found} or code in result.rules]
    indexes = {code: index for index, code in enumerate(codes)}
    repeats: Counter[str] = Counter()
    results = []
    for each in found:
        repeats[each.fingerprint] += 1
        results.append(_result(each, indexes[each.code], repeats[each.fingerprint], file_of))
    driver = {
        "name": "sitemap-reader",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in codes],
    }
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(result, found)],
        "results": results,
        "properties": {"target": shown(result.target), "headline": result.headline},
    }
    if result.fixed is not None:
        run["properties"]["fixed"] = with_texts(result.fixed.to_dict(), shown)
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _rule(code: str) -> Json:
    explanation, severity = explain(code), CATALOGUE[code].severity
    texts = [f"Why it matters: {explanation.why}", f"How to fix: {explanation.fix}", f"Source: {explanation.source}"]
    if explanation.tool:
        texts.insert(2, f"{TOOL}: {explanation.tool}")
    rule = {
        "id": code,
        "name": "".join(word.capitalize() for word in _WORD.findall(_NO_WORD.sub("", explanation.title))),
        "shortDescription": {"text": f"{explanation.title}."},
        "fullDescription": {"text": plain(explanation.rule)},
        "help": {"text": plain("\n\n".join(texts)), "markdown": "\n\n".join(texts)},
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {"problem.severity": _GITHUB_SEVERITIES[severity], "tags": ["sitemap"]},
    }
    return rule | ({"helpUri": explanation.source} if explanation.source.startswith("https://") else {})


def _result(found: Occurrence, rule_index: int, repeat: int, file_of: FileOf) -> Json:
    file = None if found.sitemap is None else file_of(found.sitemap)
    fingerprint = f"{found.fingerprint}:{repeat}"
    message = _message_at(found, file)
    result: Json = {
        "ruleId": found.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[found.severity],
        "message": {"text": _without_links(message)},
        "locations": [_location(found, file)],
        "partialFingerprints": {"sitemapReader/v1": fingerprint},
    }
    if file is None:
        # Of a file in the repository, the action that uploads computes its own, and warns of each other value.
        result["partialFingerprints"][_LINE_HASH] = fingerprint
    if found.count > 1:
        result["occurrenceCount"] = found.count
    if found.new is not None:
        result["baselineState"] = "new" if found.new else "unchanged"
    return result


def _location(found: Occurrence, file: str | None) -> Json:
    document = found.sitemap or found.url or "-"
    # GitHub refuses a whole upload for one artifact with the scheme https. A URL without its scheme is a relative
    # reference: no colon is left that could end a scheme.
    host_and_path = quote(shown(document).partition("://")[2] or shown(document), safe="/%?=&~+,;@!$()*'")
    artifact = {"uri": quote(shown(file)), "uriBaseId": _ROOT} if file else {"uri": host_and_path}
    physical: Json = {"artifactLocation": artifact}
    if found.line is not None:
        physical["region"] = {"startLine": found.line}
    location: Json = {"physicalLocation": physical}
    if found.url is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": shown(found.url), "kind": "resource"}]
    return location


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The same JSON with each text changed."""
    if isinstance(value, dict):
        return {key: with_texts(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [with_texts(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


def _without_links(text: str) -> str:
    """The text without embedded links (SARIF 3.11.6)."""
    return text.replace("](", "] (")


def _invocation(result: AuditResult, found: list[Occurrence]) -> Json:
    total, given = result.places, sum(each.count for each in found)
    left_out = [f"{given:,} of {count_of(total, 'place')} are in this file, the most severe first"]
    unread: list[tuple[str | None, int | None]] = [
        (row.url, row.entries) for row in result.sitemaps if row.complete == "no"
    ]
    unread += [(None, outcome.entries) for outcome in result.unnamed]
    # No results with the baselineState "absent": GitHub takes each result for one that is there.
    fixed = "\n".join(map(shown, fixed_lines(result.fixed)))
    notes = [*map(shown, (*result.coverage, *result.notes)), *([fixed] if fixed else [])]
    failures = [f"{url or '-'}: {'read in part only' if entries else 'could not be read'}" for url, entries in unread]
    notifications = [
        {"level": level, "message": {"text": _without_links(text)}}
        for level, texts in (
            ("error", map(shown, failures)),
            ("warning", left_out * (given < total)),
            ("note", notes),
        )
        for text in texts
    ]
    return {
        "executionSuccessful": result.complete is not False and not result.has_no_sitemap,
        "endTimeUtc": stamp(result.at),
        "toolExecutionNotifications": notifications,
    }
