"""How much longer damaged sitemaps take than the clean one: `python -m benchmarks.repair [--entries N] [--runs N]`.

Clean and damaged documents are read in turn, and the ratio of each pair is taken, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import time

import attrs

import sitemap_reader as sr

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
ENTRY = b"""  <url>
    <loc>https://example.com/product/%d?a=%d&amp;b=2</loc>
    <lastmod>2026-10-%02d</lastmod>
    <changefreq>daily</changefreq>
    <priority>0.5</priority>
  </url>
"""


@attrs.frozen
class Fault:
    """What is done to every `nth` entry."""

    name: str
    nth: int
    written: bytes
    instead: bytes


FAULTS = (
    Fault("a bare & in every tenth entry", 10, b"&amp;", b"&"),
    Fault("a bare & in every entry", 1, b"&amp;", b"&"),
    Fault("an unclosed lastmod in every tenth", 10, b"</lastmod>", b""),
    Fault("an unclosed lastmod in every entry", 1, b"</lastmod>", b""),
    Fault("a misspelled end tag in every tenth", 10, b"</loc>", b"</lok>"),
    Fault("a prefix without a declaration in all", 1, b"</loc>", b"</loc><image:image/>"),
    Fault("a location that cannot be read in every tenth", 10, b"?a=", b"<"),
)


def document(entries: int, fault: Fault | None = None) -> bytes:
    """A urlset; with a fault, every nth entry has it."""
    parts = [HEAD]
    for number in range(entries):
        entry = ENTRY % (number, number, 1 + number % 28)
        parts.append(entry.replace(fault.written, fault.instead) if fault and number % fault.nth == 0 else entry)
    return b"".join([*parts, b"</urlset>\n"])


def seconds(body: bytes) -> tuple[float, sr.Document]:
    """How long it took to read, and what came of it."""
    started = time.perf_counter()
    read = sr.parse(body)
    return time.perf_counter() - started, read


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__)
    options.add_argument("--entries", type=int, default=50_000, help="of each document (default: %(default)s)")
    options.add_argument("--runs", type=int, default=5, help="pairs of clean and damaged (default: %(default)s)")
    chosen = options.parse_args()
    clean = document(chosen.entries)
    print(f"{'fault':48} {'median':>7} {'min':>6} {'max':>6}  URLs of {chosen.entries:,}")
    for fault in FAULTS:
        damaged = document(chosen.entries, fault)
        ratios, urls = [], 0
        for _ in range(chosen.runs):
            clean_seconds, _ = seconds(clean)
            damaged_seconds, read = seconds(damaged)
            ratios.append(damaged_seconds / clean_seconds)
            urls = len(read.urls)
        print(f"{fault.name:48} {statistics.median(ratios):7.2f} {min(ratios):6.2f} {max(ratios):6.2f}  {urls:,}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
