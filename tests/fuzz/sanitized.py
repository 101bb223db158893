"""Builds the scanner with AddressSanitizer and UBSan, and tests and fuzzes it: `python tests/fuzz/sanitized.py`.

A read or write outside of the bytes, or an undefined operation, ends the process: its input is written to
tests/fuzz/found/TARGET/, as is one that breaks a rule (those of known_wrong.toml do not count). Needs gcc with its
sanitizers, and the extra `test`; no atheris.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from run import COLUMNS, HERE, NAMES

ROOT = HERE.parent.parent
TESTS = tuple(
    f"tests/{name}.py" for name in ("parser/test_scanner", "serialize/test_url_batch", "state/test_rows", "test_corpus")
)
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
# What reads XML; the others never call the scanner.
TARGETS = ("scanner", "markup", "feed", "damage", "growth")
KNOWN = tomllib.loads((HERE / "known_wrong.toml").read_text("utf-8"))
_EXECUTED = re.compile(r"^EXECUTED (\d+)", re.MULTILINE)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; default: {', '.join(TARGETS)}"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="0 is another one each time (default: 0)")
    parser.add_argument("--found", type=Path, default=HERE / "found", help="where findings go (default: %(default)s)")
    stated = parser.parse_args()
    if unknown := set(stated.targets) - set(NAMES):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    return stated


def library() -> str | None:
    """The path of the runtime of AddressSanitizer; None where gcc has none."""
    if shutil.which("gcc") is None:
        return None
    printed = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    path = printed.stdout.strip()
    return path if os.path.isabs(path) else None


def built(folder: Path) -> Path:
    """The folder with the package as built with the sanitizers."""
    source, installed = folder / "source", folder / "installed"
    source.mkdir()
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    project = source / "pyproject.toml"
    project.write_text(project.read_text("utf-8").replace('"-g0"', '"-g"'), "utf-8")  # lines of the source in reports
    ignored = shutil.ignore_patterns("*.so", "*.c", "__pycache__")
    shutil.copytree(ROOT / "sitemap_reader", source / "sitemap_reader", ignore=ignored)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", installed, source]
    subprocess.run(command, check=True, env={**os.environ, "CC": "gcc", "CFLAGS": FLAGS})
    if not [*installed.glob("sitemap_reader/parser/scanner.*.so")]:
        sys.exit("the scanner was not built: see `pip install -v .`")
    return installed


def environment(installed: Path, preloaded: str) -> dict[str, str]:
    """For processes that use the package in this folder. Memory that Python itself keeps to its end is no finding."""
    return {
        **os.environ,
        "PYTHONPATH": str(installed),
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": preloaded,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def run(name: str, stated: argparse.Namespace, folder: Path, env: dict[str, str]) -> tuple[int, list[str]]:
    """Executions and findings of a target. A process that dies is started again."""
    executions = 0
    findings: list[str] = []
    until = time.monotonic() + stated.seconds
    seed = stated.seed or time.time_ns()
    while (left := until - time.monotonic()) > 0:
        current = folder / f"{name}.input"
        command = [sys.executable, HERE / "blind.py", name, current, stated.found, str(left), str(seed)]
        child = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=env)
        found = [line for line in child.stdout.splitlines() if line.startswith("FOUND ")]
        findings += [line for line in found if line.split("\t")[2] not in KNOWN]
        if child.returncode == 0:
            return executions + int(_EXECUTED.findall(child.stdout)[0]), findings
        if not current.exists():
            sys.exit(f"{name} does not run:\n{child.stderr[-3000:]}")
        body = current.read_bytes()
        path = stated.found / name / hashlib.sha256(body).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        findings.append(f"FOUND {name}\t{path}\tthe process died\n{child.stderr[-6000:]}")
        seed += 1
    return executions, findings


def main() -> int:
    stated = arguments()
    preloaded = library()
    if preloaded is None:
        sys.exit("needs gcc with the library of AddressSanitizer (libasan)")
    with tempfile.TemporaryDirectory(prefix="sitemap-reader-sanitized-") as made:
        folder = Path(made)
        env = environment(built(folder), preloaded)
        where = [sys.executable, "-P", "-c", "import sitemap_reader.parser.scanner as s; print(s.__file__)"]
        print("sanitized:", subprocess.run(where, check=True, env=env, capture_output=True, text=True).stdout.strip())
        tests = [sys.executable, "-P", "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *TESTS]
        failed = subprocess.run(tests, cwd=ROOT, env=env, check=False).returncode != 0
        print(COLUMNS.format("target", "executions", "seconds", "", "findings"), flush=True)
        found: list[str] = []
        for name in stated.targets or TARGETS:
            executions, findings = run(name, stated, folder, env)
            print(COLUMNS.format(name, f"{executions:,}", f"{stated.seconds:.0f}", "", len(findings)), flush=True)
            found += findings
    print(*found, sep="\n")
    return 1 if found or failed else 0


if __name__ == "__main__":
    sys.exit(main())
