"""Coverage-guided fuzzing: `python tests/fuzz/run.py [TARGET...] --minutes 10`. Needs atheris (the extra `fuzz`).

Each target runs in its own process, one after the other. Findings are minimised and written to
tests/fuzz/found/TARGET/: fix the fault, make a corpus case of the input, and keep the file; test_found.py replays it.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("decode", "markup", "feed", "text", "robots", "rules", "dates", "urls", "damage", "growth", "scanner")
_PROGRESS = re.compile(r"^#(\d+)\s.*?cov: (\d+)", re.MULTILINE)
_EXECUTED = re.compile(r"number_of_executed_units:\s*(\d+)")
COLUMNS = "{:<10}{:>12}{:>10}{:>10}{:>10}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Fuzzes what reads documents, each target in a process of its own, and prints a table.",
        epilog="Needs atheris (pip install -e '.[fuzz]'). Exit code 1 if anything was found.",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; default: all of them")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=30, help="seconds that are too many for one input (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="0 is another one each time (default: 0)")
    parser.add_argument("--found", type=Path, default=HERE / "found", help="where findings go (default: %(default)s)")
    parser.add_argument(
        "--work", type=Path, default=Path(tempfile.gettempdir()) / "sitemap-reader-fuzz",
        help="where inputs that reach new code are kept from run to run (default: %(default)s)",
    )
    stated = parser.parse_args()
    if unknown := set(stated.targets) - set(NAMES):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if importlib.util.find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install -e '.[fuzz]'")
    return stated


def run(name: str, stated: argparse.Namespace) -> tuple[int, int, list[str]]:
    """Runs a target and prints executions, coverage, and findings. A process that dies is started again."""
    executions = coverage = 0
    findings: list[str] = []
    folder = stated.found / name
    until = time.monotonic() + 60 * stated.minutes
    while (left := int(until - time.monotonic())) > 0:
        known = set(folder.glob("*"))
        command = [
            sys.executable, HERE / "child.py", name, stated.work / name, stated.found, f"-max_total_time={left}",
            f"-timeout={stated.timeout}", f"-artifact_prefix={folder}/", "-print_final_stats=1", "-rss_limit_mb=1500",
            f"-seed={stated.seed}", f"-report_slow_units={stated.timeout}",
        ]
        folder.mkdir(parents=True, exist_ok=True)
        child = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        progress = _PROGRESS.findall(child.stderr)
        executed = _EXECUTED.search(child.stderr)
        executions += int(executed[1]) if executed else int(progress[-1][0]) if progress else 0
        coverage = max([coverage, *(int(covered) for _, covered in progress)])
        findings += [line for line in child.stdout.splitlines() if line.startswith("FOUND ")]
        findings += [
            f"FOUND {name}\t{path}\tslow, or the process died" for path in set(folder.glob("*-*")) - known
        ]
        if not progress:
            sys.exit(f"{name} does not run:\n{child.stderr[-3000:]}")
    if not any(folder.iterdir()):
        folder.rmdir()
    return executions, coverage, findings


def main() -> int:
    stated = arguments()
    print(COLUMNS.format("target", "executions", "minutes", "coverage", "findings"), flush=True)
    found: list[str] = []
    for name in stated.targets or NAMES:
        started = time.monotonic()
        executions, coverage, findings = run(name, stated)
        minutes = f"{(time.monotonic() - started) / 60:.1f}"
        print(COLUMNS.format(name, f"{executions:,}", minutes, f"{coverage:,}", len(findings)), flush=True)
        found += findings
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
