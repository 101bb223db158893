"""The report as SARIF 2.1.0: a result and its occurrences in, a log with one run out, as JSON text.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0; GitHub Docs, "SARIF support for code scanning".
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from ..client.summary import count_of
from ..model.problems import CATALOGUE
from ..serialize.jsonl import stamp
from ..version import __version__
from .ci_formats import message_of, no_file, place_of, samples_of, shown
from .occurrences import most_severe
from .rule_docs import TOOL, explain, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.problems import Severity
    from .ci_formats import FileOf
    from .findings import AuditResult
    from .occurrences import Occurrence

    Json = dict[str, Any]

# GitHub refuses a run with more results.
MAX_RESULTS = 25_000
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_SEVERITIES: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "recommendation"}
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
    """A log with one run: rules, results, and what could not be read.

    The file of a result is relative to the root of the repository. Of a URL that is no such file it is host and path,
    as GitHub refuses a whole upload for one artifact with the scheme https.
    """
    found = most_severe(samples_of(result) if occurrences is None else occurrences, max_results)
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
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(result, found)],
        "results": results,
        "properties": {"target": shown(result.target), "headline": result.headline},
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    text = orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return text.decode()


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
    message = message_of(found) if file else f"{place_of(found)}: {message_of(found)}"
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
    # A URL without its scheme is a relative reference: no colon is left that could end a scheme.
    host_and_path = quote(shown(document).partition("://")[2] or shown(document), safe="/%?=&~+,;@!$()*'")
    artifact = {"uri": quote(shown(file)), "uriBaseId": _ROOT} if file else {"uri": host_and_path}
    physical: Json = {"artifactLocation": artifact}
    if found.line is not None:
        physical["region"] = {"startLine": found.line}
    location: Json = {"physicalLocation": physical}
    if found.url is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": shown(found.url), "kind": "resource"}]
    return location


def _without_links(text: str) -> str:
    """The text without embedded links (SARIF 3.11.6)."""
    return text.replace("](", "] (")


def _invocation(result: AuditResult, found: list[Occurrence]) -> Json:
    total, given = sum(finding.count for finding in result.findings), sum(each.count for each in found)
    left_out = [f"{given:,} of {count_of(total, 'occurrence')} are in this file, the most severe first"]
    unread: list[tuple[str | None, int | None]] = [
        (row.url, row.entries) for row in result.sitemaps if row.complete == "no"
    ]
    unread += [(None, outcome.entries) for outcome in result.unnamed]
    failures = [f"{url or '-'}: {'read in part only' if entries else 'could not be read'}" for url, entries in unread]
    notifications = [
        {"level": level, "message": {"text": _without_links(shown(text))}}
        for level, texts in (("error", failures), ("warning", left_out * (given < total)), ("note", result.notes))
        for text in texts
    ]
    return {
        "executionSuccessful": result.complete is not False,
        "endTimeUtc": stamp(result.at),
        "toolExecutionNotifications": notifications,
    }
