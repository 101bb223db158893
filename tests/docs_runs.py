"""Tries the examples of README.md and docs/*.md as a reader would: block by block, in one folder for each page.

In: a page. Out: what each of its blocks printed. The sites that they name are served on this machine, see
docs_network.py and docs_site.py; the programs are those of the environment that runs the tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import docs_network
from docs_site import CERTIFICATE, DocsSite

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

ROOT = Path(__file__).parent.parent
RUNNABLE = ("console", "sh", "python")
# What examples call that pip does not install with the package: where one is missing its examples are skipped.
PROGRAMS = ("curl", "duckdb", "flock", "jq", "sqlite-utils")
SECONDS = 120  # that one block may take on a busy machine

_FENCE = re.compile(r"^```(?P<language>\w*)[ ]*(?P<name>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_TOOK = re.compile(r"\b[\d.]+ s\b")
# What asyncio says in development mode where the machine is busy.
_SLOW = re.compile(r"^Executing <.*> took [\d.]+ seconds\n", re.MULTILINE)
_DONE = "\x1e"  # printed behind each command of a console; nothing else prints it


@attrs.frozen
class Block:
    """A fenced block. `name` is the file that it is saved as, `shows` what the page says that it prints."""

    page: str
    line: int
    section: str
    language: str
    name: str
    text: str
    shows: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def missing(self) -> str | None:
        """A program that it needs and that is not here."""
        named = [each for each in PROGRAMS if re.search(rf"(?<![\w.-]){each}(?![\w.-])", self.text)]
        return next((each for each in named if self.language != "python" and not found(each)), None)


@attrs.frozen
class Ran:
    """What came of a block; of a console, `stdout` has both streams, as a terminal shows them."""

    code: int
    stdout: str
    stderr: str = ""


def found(program: str) -> str | None:
    """Where a program is: beside this Python, or wherever a shell finds it."""
    return shutil.which(program, path=_path(Path(sys.executable).parent))


def _path(*first: Path) -> str:
    return os.pathsep.join([*map(str, first), os.environ["PATH"]])


# --- what a page has --------------------------------------------------------------------------------------------


def blocks(page: str) -> list[Block]:
    """Its fenced blocks in order; a `text` block that follows a Python one is what that one prints."""
    text = (ROOT / page).read_text("utf-8")
    matches = list(_FENCE.finditer(text))
    taken: list[Block] = []
    for match, behind in zip(matches, [*matches[1:], None], strict=True):
        shows = None
        if behind and behind["language"] == "text" and not text[match.end() : behind.start()].strip():
            shows = behind["text"]
        line = text.count("\n", 0, match.start()) + 1
        headings = _HEADING.findall(_FENCE.sub("", text[: match.start()]))
        taken.append(Block(page, line, headings[-1], match["language"], match["name"], match["text"], shows))
    return taken


@attrs.frozen
class Step:
    """A command of a console, and what is shown below it."""

    command: str
    shown: str


def steps(console: str) -> list[Step]:
    """`$ ` begins a command, `> ` goes on with it, and so does what stands behind a backslash."""
    taken: list[Step] = []
    goes_on = False
    for line in console.splitlines():
        last = taken[-1] if taken else Step("", "")
        if line.startswith("$ "):
            taken.append(Step(line[2:], ""))
        elif goes_on or line.startswith("> "):
            taken[-1] = Step(f"{last.command}\n{line.removeprefix('> ')}", "")
        else:
            taken[-1] = attrs.evolve(last, shown=f"{last.shown}{line}\n")
        goes_on = (line.startswith("$ ") or goes_on) and line.endswith("\\")
    return taken


def matches(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; a line of three dots stands for any lines, times for any time.

    >>> matches("a" + chr(10) + "..." + chr(10) + "2 URLs; 0.1 s", "a" + chr(10) + "b" + chr(10) + "2 URLs; 1.4 s")
    True
    """
    lines = [r"(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in _plain(shown).splitlines(keepends=True)]
    return re.fullmatch("".join(lines), _plain(printed)) is not None


def _plain(text: str) -> str:
    return _TOOK.sub("0.0 s", text)


# --- who tries it -----------------------------------------------------------------------------------------------


class Desk:
    """A folder, and a shell whose network is the sites of the docs."""

    def __init__(self, folder: Path, site: DocsSite) -> None:
        self.folder = folder / "desk"
        self.site = site
        self._around = folder
        self._environment = {
            **os.environ,
            "PATH": _path(folder / "bin", Path(sys.executable).parent),
            "PYTHONPATH": str(folder / "network"),
            docs_network.PORT: str(site.port),
            "SSL_CERT_FILE": str(folder / "certificate.pem"),
            "CURL_HOME": str(folder),
            "HOME": str(folder),
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        self._set_up()

    def _set_up(self) -> None:
        for name in ("desk", "bin", "network"):
            (self._around / name).mkdir()
        program = self._around / "bin" / "sitemap-reader"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sitemap_reader "$@"\n')
        program.chmod(0o755)
        shutil.copy(docs_network.__file__, self._around / "network" / "sitecustomize.py")
        (self._around / "certificate.pem").write_text(CERTIFICATE)
        routes = "".join(f'connect-to = "{name}:443:127.0.0.1:{self.site.port}"\n' for name in docs_network.ADDRESSES)
        (self._around / ".curlrc").write_text(f'cacert = "{self._around}/certificate.pem"\n{routes}')

    def run(self, block: Block) -> Ran:
        """Does with a block what a reader would."""
        if block.name:
            (self.folder / block.name).write_text(block.text)
        return _WAYS[block.language](self, block)

    def _console(self, block: Block) -> Ran:
        lines = [f"{step.command}\ns=$?; printf '\\036'; (exit $s)" for step in steps(block.text)]
        return self.do("sh", "-c", "exec 2>&1\n" + "\n".join(lines))

    def _sh(self, block: Block) -> Ran:
        return Ran(0, "") if block.name else self.do("sh", "-ec", block.text)

    def _python(self, block: Block) -> Ran:
        return self.do(sys.executable, "-X", "dev", "-W", "error", "-c", block.text)

    def do(self, *command: str) -> Ran:
        result = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return Ran(result.returncode, result.stdout, _SLOW.sub("", result.stderr))


_WAYS: dict[str, Callable[[Desk, Block], Ran]] = {"console": Desk._console, "sh": Desk._sh, "python": Desk._python}


class Trial:
    """A page that is read from its top: what came of a block, all above it having been tried.

    `skips` are blocks that are left out, before `days` a day goes by.
    """

    def __init__(self, page: str, desk: Desk, *, skips: Container[Block] = (), days: Container[Block] = ()) -> None:
        self._blocks = [block for block in blocks(page) if block.language in RUNNABLE and block not in skips]
        self._desk = desk
        self._days = days
        self._done: dict[Block, Ran] = {}

    def of(self, wanted: Block) -> Ran:
        """What it came to; a block that lacks a program is passed over."""
        for block in self._blocks[len(self._done) : self._blocks.index(wanted) + 1]:
            if block in self._days:
                self._desk.site.next_day()
            self._done[block] = Ran(0, "") if block.missing else self._desk.run(block)
        return self._done[wanted]


def printed(block: Block, ran: Ran) -> Iterator[tuple[Step, str]]:
    """The commands of a console, each with what it printed."""
    texts = ran.stdout.split(_DONE)
    yield from zip(steps(block.text), texts[:-1], strict=True)
