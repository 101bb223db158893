"""A site becomes a snapshot in memory: `python -m benchmarks.snapshots ORIGIN`. Prints the number of its URLs."""

from __future__ import annotations

import sys

import sitemap_reader as sr

if __name__ == "__main__":
    print(len(sr.snapshot(sys.argv[1], allow_private=True).urls))
