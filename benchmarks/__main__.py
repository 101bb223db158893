"""Everything side by side: `python -m benchmarks [--short] [--write] [--only JOB,...] [--rounds N] [--peers]`.

The data is made, the peers' environments too (benchmarks/.peers, on first use); then each job runs its contenders in
turn. The rows of rows.py are printed, with the compiled scanner and with expat only, behind all that was measured.
--short takes two minutes with small documents: it only shows that the programs run. The last line begins with "ok"
unless one of ours failed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from .data import FULL, SHORT, Data
from .jobs import JOBS, Setting
from .peers import are_made
from .results import PAGE, VERDICT, bar_rows, page, text


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small data, one round, peers only if they are there")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}, beside this program")
    parser.add_argument("--only", metavar="JOB,...", help=f"of {', '.join(JOBS)} (default: all)")
    rounds = "how often ours and the limits run (default: 5, short 1); expat only 3 times at most, peers once"
    parser.add_argument("--rounds", type=int, metavar="N", help=rounds)
    peers = argparse.BooleanOptionalAction
    parser.add_argument("--peers", action=peers, help="beside other readers (default: yes, short if they are there)")
    chosen = parser.parse_args()
    chosen.jobs = chosen.only.split(",") if chosen.only else list(JOBS)
    if unknown := [name for name in chosen.jobs if name not in JOBS]:
        parser.error(f"no such job: {unknown[0]}; there are: {', '.join(JOBS)}")
    if chosen.rounds is None:
        chosen.rounds = 1 if chosen.short else 5
    if chosen.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if chosen.peers is None:
        chosen.peers = are_made() if chosen.short else True
    return chosen


def main() -> int:
    chosen = options()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        data = Data(Path(folder), SHORT if chosen.short else FULL, servers)
        setting = Setting(data, chosen.rounds, chosen.peers, lambda line: print(line, file=sys.stderr, flush=True))
        tables = [table for name in chosen.jobs for table in JOBS[name](setting)]
    print(text(tables, decides=not chosen.short))
    if chosen.write:
        command = " ".join(["python -m benchmarks", *sys.argv[1:]])
        PAGE.write_text(page(tables, command, decides=not chosen.short, peers=chosen.peers), "utf-8")
    failures = [failure for table in tables for failure in table.failures]
    for failure in failures:
        print(failure, file=sys.stderr)
    if not failures:
        verdicts = [cells[VERDICT] for cells in bar_rows(tables)]
        missed = "short form: no verdict" if chosen.short else f"{verdicts.count('NO')} missed with the scanner"
        print(f"ok  {len(tables)} tables, {len(verdicts) - 1} rows, {missed}")
    return int(bool(failures))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without an error
    sys.exit(main())
