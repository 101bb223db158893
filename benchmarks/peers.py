"""The other readers: their packages, their environment, and their results for many documents.

Documents in (files and their URLs), an Answer for each out. The first use makes a virtual environment in .peers/,
beside this file, and another for Node in .peers/node where npm is there. Each reader works in a process of its own
(readers.py), which may hang or crash.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
ENVIRONMENT = HERE / ".peers"
OURS = "sitemap-reader"
# Reader -> the distribution that is installed, at its newest.
DISTRIBUTIONS = {
    "ultimate-sitemap-parser": "ultimate-sitemap-parser",
    "Scrapy": "scrapy",
    "Crawlee": "crawlee",
    "lxml": "lxml",
    "advertools": "advertools",
}
NODE = ENVIRONMENT / "node"
# Reader -> the npm package that is installed, at its newest.
PACKAGES = {"Crawlee for Node": "@crawlee/utils"}
_VERSION = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"


class Missing(Exception):
    """A requirement of a reader is missing on this machine."""


@attrs.frozen
class Question:
    """One document: a file, and its URL."""

    file: Path
    url: str


@attrs.frozen
class Answer:
    """The unchanged locs or values of a reader; `error` is its exception, or that it hung or crashed."""

    urls: tuple[str, ...] = ()
    error: str | None = None


def python_of(reader: str) -> str:
    """The interpreter that can import the reader; makes the peers' environment where it is missing."""
    if reader == OURS:
        return sys.executable
    python = str(ENVIRONMENT / "bin" / "python")
    wanted = "\n".join(DISTRIBUTIONS.values())
    stamp = ENVIRONMENT / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making {ENVIRONMENT}", file=sys.stderr)
        venv.create(ENVIRONMENT, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", *DISTRIBUTIONS.values()]
        subprocess.run(install, check=True, stdout=sys.stderr)  # noqa: S603 - our own list
        stamp.write_text(wanted)
    return python


def node_script(script: str) -> list[str]:
    """The command that runs a script of node/; installs the packages where they are missing. Missing without Node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not (node and npm):
        raise Missing("Node or npm is not installed")
    wanted = "\n".join(PACKAGES.values())
    stamp = NODE / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making {NODE}", file=sys.stderr)
        NODE.mkdir(parents=True, exist_ok=True)
        install = [npm, "install", "--silent", "--prefix", str(NODE), *PACKAGES.values()]
        subprocess.run(install, check=True, stdout=sys.stderr)  # noqa: S603 - our own list
        stamp.write_text(wanted)
    # Node looks for packages beside the script that imports them.
    shutil.copytree(HERE / "node", NODE, dirs_exist_ok=True)
    return [node, str(NODE / script)]


def are_made() -> bool:
    """Whether there is an environment already."""
    return (ENVIRONMENT / "installed.txt").exists()


def version_of(reader: str) -> str:
    """The version that is installed."""
    if reader in PACKAGES:
        manifest = NODE / "node_modules" / PACKAGES[reader] / "package.json"
        return str(json.loads(manifest.read_text())["version"])
    command = [python_of(reader), "-c", _VERSION, DISTRIBUTIONS.get(reader, reader)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own names
    return done.stdout.strip()


def ask(
    reader: str, questions: Sequence[Question], what: Literal["urls", "values"] = "urls"
) -> dict[Path, Answer]:
    """The results of the reader. If its process dies, that document has no result, and the process is started again."""
    answers: dict[Path, Answer] = {}
    waiting = list(questions)
    while waiting:
        manifest = "".join(json.dumps({"file": str(each.file), "url": each.url}) + "\n" for each in waiting)
        command = [python_of(reader), str(HERE / "readers.py"), reader, what]
        done = subprocess.run(command, input=manifest, capture_output=True, text=True, cwd=HERE.parent)  # noqa: S603
        for line in done.stdout.splitlines():
            answer = json.loads(line)
            answers[Path(answer["file"])] = Answer(tuple(answer["urls"]), answer["error"])
        if not answers and done.returncode:
            raise RuntimeError(f"{reader} does not start: {done.stderr[-500:]}")
        waiting = [each for each in waiting if each.file not in answers]
        if waiting:
            answers[waiting.pop(0).file] = Answer(error=f"the process ended with {done.returncode}")
    return answers
