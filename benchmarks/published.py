"""The share of published sitemaps and indexes that have a problem, by code: files in, a table out.

    python -m benchmarks.published FOLDER

FOLDER holds sitemaps as they were published, in any folders and under any names. What is no urlset and no index does
not count, nor does a template from which a generator makes one. A file is read with the host of its first location.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import sitemap_reader as sr

_LOCATION = re.compile(rb"<(?:\w+:)?loc>\s*(?:<!\[CDATA\[)?\s*(https?://[^\s<>/\"]+)", re.IGNORECASE)
_TEMPLATE = re.compile(rb"\{\{|\{%|<%|<\?php|\$\{")
_FORMATS = ("urlset", "sitemapindex")


def read(path: Path) -> tuple[str | None, dict[str, str]]:
    """The format of a file, None for a template, and the most severe severity of each code that it has."""
    body = path.read_bytes()
    if _TEMPLATE.search(body):
        return None, {}
    found = _LOCATION.search(body)
    host = found[1].decode("utf-8", "replace") if found else "https://example.com"
    document = sr.parse(body, url=f"{host}/sitemap.xml")
    rank = ("notice", "warning", "error")
    severities: dict[str, str] = {}
    for problem in document.problems:
        severities[problem.code] = max(severities.get(problem.code, "notice"), problem.severity, key=rank.index)
    return document.format, severities


def main(folder: Path) -> None:
    results = [read(path) for path in sorted(folder.rglob("*")) if path.is_file()]
    chosen = [codes for format_, codes in results if format_ in _FORMATS]
    if not chosen:
        sys.exit(f"{folder}: no urlset and no index among {len(results)} files")
    counts = Counter(code for codes in chosen for code, severity in codes.items() if severity != "notice")
    rows = {
        "any error or warning": sum("error" in codes.values() or "warning" in codes.values() for codes in chosen),
        "any error": sum("error" in codes.values() for codes in chosen),
        **{f"{code} {sr.model.CATALOGUE[code].title}": count for code, count in counts.most_common()},
    }
    print(f"{len(chosen)} urlsets and indexes among {len(results)} files\n")
    print("| problem | files | share |\n|---|---:|---:|")
    for name, count in rows.items():
        print(f"| {name} | {count} | {count / len(chosen):.0%} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
