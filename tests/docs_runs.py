"""Runs the examples of README.md and docs/*.md block by block, in one folder for each page.

In: a page. Out: the blocks whose output differs from the page. The sites that they name are served on this
machine, see docs_network.py and docs_site.py; the programs are those of the environment that runs the tests.

The output of a block is in the page (consoles, and `text` after Python), or else here, in PRINTS. records.md and cli.md
have separate tests.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import attrs
import docs_network
from docs_site import CERTIFICATE, DocsSite
from tiers import SYSTEM_PROGRAMS

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md", "docs/index.md", "docs/tutorial-seo.md", "docs/tutorial-analyst.md", "docs/tutorial-crawler.md",
    "docs/tutorial-data.md", "docs/python.md", "docs/analysis.md", "docs/questions.md", "docs/recipes.md",
    "docs/recipes-python.md", "docs/integrations.md", "docs/scale.md", "docs/watch.md", "docs/sinks.md",
    "docs/frontier.md", "docs/observability.md", "docs/tasks.md",
)  # fmt: skip
RUNNABLE = ("console", "sh", "python")
# Optional programs and packages; without one its examples are skipped. Packages are recognised by imports, or by this
# text.
PROGRAMS = (*SYSTEM_PROGRAMS, "duckdb", "scrapy", "sqlite-utils")
PACKAGES = {
    "altair": r"\.chart\(",
    "dask": r"scale\.harvest\(|sitemap-reader harvest\b",
    "scrapy": r"integrations\.scrapy",
    "warcio": r"\.warc\b",
}
SECONDS = 120  # the most that one block may take on a busy machine

# Keys are a page, and a text that only one block of it contains.
Key = tuple[str, str]
# Key -> why the block cannot be run here.
NOT_RUN: dict[Key, str] = {
    ("README.md", "uvx"): "installs: the workflow of the wheels does it",
    ("README.md", "-m venv"): "installs: .ci/run does it, in a fresh clone",
    ("docs/index.md", "pip install"): "installs: see README.md",
    ("docs/index.md", "bash_source"): "completes at a prompt: tests/test_docs_cli_examples.py",
    ("docs/index.md", "git clone"): "needs the network; the recordings are linked",
    ("docs/tutorial-seo.md", "--check-urls"): "is for sites of the reader: docs/recipes.md has it with an output",
    ("docs/tutorial-data.md", "redis://"): "runs without end: tests/cli/test_cli_watch.py",
    ("docs/analysis.md", "pip install"): "installs: .ci/run does it, and executes the notebooks",
    ("docs/scale.md", "pip install"): "installs: see README.md",
    ("docs/scale.md", "import ray"): "needs Ray: tests/scale/test_engines.py",
    ("docs/scale.md", "SparkSession"): "needs Spark: tests/scale/test_engines.py",
    ("docs/tasks.md", "public/ --base"): "is for files of the reader: docs/ci.md has it with an output",
    ("docs/tasks.md", "--check-removed"): "is for sites of the reader: docs/recipes.md has it with an output",
    ("docs/tasks.md", "internal_all.csv"): "is for a file of the reader: tests/checks/test_crawl_file.py",
    ("docs/watch.md", ">> changes.jsonl"): "runs without end: tests/cli/test_cli_watch.py",
    ("docs/integrations.md", "import dag, task"): "needs Airflow: tests/integrations/test_airflow.py",
    ("docs/integrations.md", "import Celery"): "needs Celery: tests/integrations/test_celery.py",
    ("docs/integrations.md", "HttpCrawler("): "its network is not Python's: tests/integrations/test_crawlee_page.py",
}
# Before these blocks the shop changes to its next day.
NEXT_DAY: set[Key] = {
    ("docs/tutorial-data.md", "--state -q"),
    ("docs/analysis.md", "changes.counts"),
    ("docs/python.md", "sr.diff("),
    ("docs/python.md", "changes.summary.not_modified"),
    ("docs/recipes.md", "-o tuesday.jsonl"),
    ("docs/recipes.md", "changes-*"),
    ("docs/scale.md", "daily/urls/*"),
}
# The output of blocks whose page does not show it, such as text that depends on the date.
PRINTS: dict[Key, str] = {
    ("README.md", "> monday.jsonl"): r"""(?xs)
        (\{"loc":"https://example\.com/[^\n]+\n)+  # of the week or undated
        depth\turl\t.*\n0\thttps://example\.com/robots\.txt\t.*
        \n.*640.*
        """,
    ("README.md", "sr.urls("): r"(?s)https://example\.com/.* \d+ sitemaps; .* True\n",
    ("docs/integrations.md", "class Pages("): "",
    ("docs/sinks.md", "def is_signed"): "",
    ("docs/sinks.md", "class TableSink"): "",
    ("docs/tutorial-crawler.md", "class Pages("): "",
}

_FENCE = re.compile(r"^```(?P<language>\w*)[ ]*(?P<name>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_TOOK = re.compile(r"\b[\d.]+ s\b")
# Messages of asyncio in development mode on a busy machine.
_SLOW = re.compile(r"^Executing <.*> took [\d.]+ seconds\n", re.MULTILINE)
_DONE = "\x1e"  # printed after each command of a console; nothing else prints it


@attrs.frozen
class Block:
    """A fenced block. `name` is the file that it is saved as, `shows` its output in the page."""

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
    def missing(self) -> list[str]:
        """The programs and packages that the block needs and that are not installed."""
        packages = {package for package, use in PACKAGES.items() if re.search(use, self.text)}
        programs = {each for each in PROGRAMS if re.search(rf"(?<![\w.-]){each}(?![\w.-])", self.text)}
        if self.language == "python":
            packages |= imported(self.text)
            programs = set()
        absent = {each for each in packages if find_spec(each) is None}
        return sorted(absent | {each for each in programs if not found(each)})


@attrs.frozen
class Ran:
    """The result of a block; for a console, `stdout` has both streams, as a terminal shows them."""

    code: int
    stdout: str
    stderr: str = ""


def found(program: str) -> str | None:
    """The path of a program: beside this Python, or on PATH."""
    return shutil.which(program, path=_path(Path(sys.executable).parent))


def imported(source: str) -> set[str]:
    """The packages that a program imports."""
    return set(re.findall(r"^ *(?:import|from) (\w+)", source, re.MULTILINE))


def _path(*first: Path) -> str:
    return os.pathsep.join([*map(str, first), os.environ["PATH"]])


# --- the blocks of a page --------------------------------------------------------------------------------------------


@cache
def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in order; a `text` block after a Python block is the output of that."""
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


def meant(key: Key) -> Block:
    """The block of a key."""
    page, text = key
    (block,) = (each for each in blocks(page) if text in each.text)
    return block


NOT_TRIED = {meant(key): why for key, why in NOT_RUN.items()}


def tried(page: str) -> list[Block]:
    """The blocks of a page that are run."""
    return [block for block in blocks(page) if block.language in RUNNABLE and block not in NOT_TRIED]


@attrs.frozen
class Step:
    """A command of a console, and the output shown below it."""

    command: str
    shown: str


def steps(console: str) -> list[Step]:
    """The commands of a console: `$ ` begins a command, `> ` and lines after a backslash continue it."""
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
    """Whether a page shows the output; a line of three dots matches any lines, a duration any duration.

    >>> matches("a" + chr(10) + "..." + chr(10) + "2 URLs; 0.1 s", "a" + chr(10) + "b" + chr(10) + "2 URLs; 1.4 s")
    True
    """
    lines = [r"(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in _plain(shown).splitlines(keepends=True)]
    return re.fullmatch("".join(lines), _plain(printed)) is not None


def _plain(text: str) -> str:
    return _TOOK.sub("0.0 s", text)


# --- running blocks -----------------------------------------------------------------------------------------------


class Runner:
    """Runs blocks in a folder, in a shell whose network is the sites of the docs."""

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
            "REQUESTS_CA_BUNDLE": str(folder / "certificate.pem"),
            "CURL_HOME": str(folder),
            "HOME": str(folder),
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONMALLOC": "pymalloc",  # -X dev without its slow checks of memory, which are for C
        }
        self._set_up()

    def _set_up(self) -> None:
        for name in ("desk", "bin", "network"):
            (self._around / name).mkdir()
        (self.folder / "corpus").symlink_to(ROOT / "corpus")
        program = self._around / "bin" / "sitemap-reader"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sitemap_reader "$@"\n')
        program.chmod(0o755)
        shutil.copy(docs_network.__file__, self._around / "network" / "sitecustomize.py")
        (self._around / "certificate.pem").write_text(CERTIFICATE)
        routes = "".join(f'connect-to = "{name}:443:127.0.0.1:{self.site.port}"\n' for name in docs_network.ADDRESSES)
        (self._around / ".curlrc").write_text(f'cacert = "{self._around}/certificate.pem"\n{routes}')

    def run(self, block: Block) -> Ran:
        """Saves or runs a block."""
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
        try:
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
        except subprocess.TimeoutExpired as exc:  # output is bytes in this exception
            return Ran(124, (exc.stdout or b"").decode(), f"not done after {SECONDS} s")
        return Ran(result.returncode, result.stdout, _SLOW.sub("", result.stderr))


_WAYS: dict[str, Callable[[Runner, Block], Ran]] = {
    "console": Runner._console,
    "sh": Runner._sh,
    "python": Runner._python,
}


# --- differences -----------------------------------------------------------------------------------------------


def differences(page: str, folder: Path, *, first: int | None = None) -> list[str]:
    """The examples of a page, or its `first`, whose output differs, run from the top.

    Blocks that need missing programs or packages are skipped.
    """
    days = {meant(key) for key in NEXT_DAY}
    found: list[str] = []
    with DocsSite(folder) as site:
        desk = Runner(folder, site)
        for block in tried(page)[:first]:
            if block in days:
                site.next_day()
            if not block.missing:
                found += [f"{block}: {text}" for text in _DIFFERENCES[block.language](block, desk.run(block))]
    return found


def _of_console(block: Block, ran: Ran) -> Iterator[str]:
    *texts, rest = ran.stdout.split(_DONE)
    for step, text in zip(steps(block.text), texts, strict=False):
        if not matches(step.shown, text):
            yield f"$ {step.command}\n-- printed:\n{text}-- the page shows:\n{step.shown}"
    for step in steps(block.text)[len(texts) :]:
        yield f"$ {step.command}\n-- the console ended before its end, with {ran.code}:\n{rest}"


def _of_script(block: Block, ran: Ran) -> Iterator[str]:
    if ran.code or (ran.stderr and block.language == "python"):
        yield f"exit code {ran.code}, and on stderr:\n{ran.stderr}"
    if block.shows is not None and not matches(block.shows, ran.stdout):
        yield f"printed:\n{ran.stdout}-- the page shows:\n{block.shows}"
    if block.shows is None and not (block.name and block.language == "sh"):
        (pattern,) = (pattern for key, pattern in PRINTS.items() if meant(key) == block)
        if not re.fullmatch(pattern, ran.stdout):
            yield f"printed:\n{ran.stdout}-- PRINTS has:\n{pattern}"


_DIFFERENCES = {"console": _of_console, "sh": _of_script, "python": _of_script}
