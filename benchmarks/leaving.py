"""How soon a stream that is left has released everything: `python -m benchmarks.leaving [--short] [NAME...]`.

A million URLs are read from a loopback server in a process of its own, up to the first, the middle, or one before the
end. The seconds from there until all threads have ended and all sockets are closed are shown beside the permitted ones.
A row over the limit, with something left open, or with a warning ends the program with 1. --short leaves only at
the first.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
sys.path.insert(0, str(TESTS / "hostile"))

from large_sites import SITES, URLS, Left, leave  # noqa: E402  # the sites that the tests have
from leaving_child import WAYS  # noqa: E402

BAR_SECONDS = 1.0
_WIDTH = max(map(len, [*SITES, *WAYS]))
_ROW = f"{{:5}} {{:{_WIDTH}}}  {{:{_WIDTH}}}  {{:18}}  {{:>9}}  {{:>8}}"
PLACES = {"the first": 1, "the middle": URLS // 2, "one before the end": URLS - 1}


def verdict(left: Left) -> str:
    """`ok`, or what is wrong."""
    if left.threads or left.sockets:
        return "left"
    if left.reported:
        return "warnings"
    return "ok" if left.seconds <= BAR_SECONDS else "over"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.leaving", description=__doc__)
    options.add_argument("--short", action="store_true", help="only at the first URL")
    options.add_argument("names", nargs="*", metavar="NAME", help="only these ways (default: all)")
    given = options.parse_args()
    unknown = [name for name in given.names if name not in WAYS]
    if unknown:
        options.error(f"no such way: {unknown[0]}; there are: {'; '.join(WAYS)}")
    places = ["the first"] if given.short else list(PLACES)
    cases = [(site, way, place) for site in SITES for way in given.names or WAYS for place in places]
    failed = False
    print(_ROW.format("", "site", "left", "at", "URLs", "time"), flush=True)
    for site, way, place in cases:
        left = leave(site, way, PLACES[place])
        found = verdict(left)
        if found != "ok":
            failed = True
            print(left, file=sys.stderr)
        print(_ROW.format(found, site, way, place, f"{left.urls:,}", f"{left.seconds * 1000:.0f} ms"), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
