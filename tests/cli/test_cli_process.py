import errno
import io
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import click
import pytest
from cli_runs import BROKEN, PROGRAM, SHOP, process
from kit import dump, run, urlset
from tiers import needs

from sitemap_reader.cli import Console, Exit
from sitemap_reader.cli.main import main

pytestmark = pytest.mark.slow


def shell(command: str) -> subprocess.CompletedProcess[str]:
    program = " ".join(PROGRAM)
    script = f"set -o pipefail; {command.replace('sitemap-reader', program)}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More URLs than a pipe takes, as many.txt and many.jsonl, and a dump of one."""
    folder = tmp_path_factory.mktemp("many")
    locs = [f"https://a.example/{number}" for number in range(5_000)]
    (folder / "many.txt").write_text("".join(f"{loc}\n" for loc in locs))
    dump(folder / "many.jsonl", *({"loc": loc, "lastmod": None} for loc in locs))
    dump(folder / "one.jsonl", {"loc": "https://a.example/", "lastmod": None})
    return folder


@pytest.mark.smoke("parse many.txt")
@pytest.mark.parametrize("command", [
    "parse many.txt",
    f"dump {SHOP} {SHOP} {SHOP} -q",
    "convert many.jsonl --format csv -q",
    "convert - --format csv -q",
    *(f"diff one.jsonl many.jsonl -q --format {format}" for format in ("jsonl", "table", "tsv")),
    f"audit {SHOP} -q",
    "audit --explain all",
])
def test_closed_pipe_ends_the_command_without_an_error(many: Path, command: str) -> None:
    piped = f"cd {many}; cat many.jsonl 2> /dev/null | sitemap-reader {command} | head -1; echo ${{PIPESTATUS[@]:1}}"
    result = shell(piped)
    assert (result.stdout.splitlines()[1:], result.stderr) == (["0 0"], "")


@pytest.mark.smoke("convert many.jsonl -o /dev/full --format parquet")
@pytest.mark.parametrize("command", [
    f"dump {SHOP} > /dev/full",
    "schema json > /dev/full",
    "diff one.jsonl many.jsonl > /dev/full",
    "convert - --format csv -o /dev/full",
    "convert - --format parquet -o /dev/full",
    *(f"convert many.jsonl -o /dev/full --format {format}" for format in ("jsonl", "csv", "parquet")),
])
def test_a_full_disk_is_exit_6_and_one_line(many: Path, command: str) -> None:
    result = shell(f"cd {many}; cat many.jsonl 2> /dev/null | sitemap-reader {command}; exit ${{PIPESTATUS[1]}}")
    assert result.returncode == 6
    *before, error = result.stderr.splitlines()
    name = "stdout" if "> /dev/full" in command else "/dev/full"
    assert error.startswith(f"error: cannot write {name}: No space left on device")
    assert not any(line.startswith("error") or "Traceback" in line or "Exception" in line for line in before)


@pytest.mark.parametrize("command", ["stats -", "convert - --format csv", "diff one.jsonl -"])
def test_a_closed_stdin_is_an_error(many: Path, command: str) -> None:
    result = shell(f"cd {many}; sitemap-reader {command} <&-")
    assert (result.returncode, result.stderr) == (2, "error: stdin is closed; give a file\n")


@pytest.mark.parametrize(
    ("command", "file"), [("convert {} --format txt", "urls.jsonl"), (f"sync {SHOP} --state {{}}", "sites.db")]
)
def test_a_file_that_stdout_is_appended_to_is_not_read(tmp_path: Path, command: str, file: str) -> None:
    """`>> sites.db` by mistake."""
    read = tmp_path / file
    words = ["dump", SHOP, "-o"] if file == "urls.jsonl" else ["sync", SHOP, "--state"]
    assert run(*words, read).exit_code == 0
    before = read.read_bytes()
    result = shell(f"sitemap-reader {command.format(read)} >> {read}")
    assert (result.returncode, "is read and written at once" in result.stderr) == (2, True)
    assert read.read_bytes() == before


def test_usage_error_is_one_line() -> None:
    result = process("dump", "wort")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)


def test_a_closed_stdout_is_exit_6() -> None:
    result = shell(f"sitemap-reader dump {SHOP} >&-")
    assert result.returncode == 6
    assert result.stderr == "error: cannot write stdout: it is closed\n"


def test_a_closed_stderr_stops_nothing() -> None:
    result = shell(f"sitemap-reader dump {SHOP} 2>&- | wc -l")
    assert (result.returncode, result.stdout.strip()) == (0, "640")


def test_a_full_stderr_stops_nothing() -> None:
    usual = process("dump", BROKEN)
    assert usual.stdout
    assert usual.stderr
    full = shell(f"sitemap-reader dump {BROKEN} 2> /dev/full")
    # Documents are read concurrently: their order varies.
    assert full.returncode == usual.returncode
    assert sorted(full.stdout.splitlines()) == sorted(usual.stdout.splitlines())


def test_messages_that_cannot_be_written_change_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            refused.append(text)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    console = Console()
    monkeypatch.setattr(sys, "stderr", Full())
    console.error("no URL could be read")
    code = console.end("512 URLs", "partial: 1 sitemap could not be read", [Exit.COMPLETE, Exit.PARTIAL])
    assert code == Exit.PARTIAL
    assert refused == ["error: no URL could be read", "512 URLs", "partial: 1 sitemap could not be read (exit 3)"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["dump", "-h"], ["parse", "-"], ["stats", f"{SHOP}.jsonl", "-q"], ["schema", "duckdb"]]
)
def test_commands_that_fetch_nothing_load_no_network_library(arguments: list[str]) -> None:
    unused = {"aiohttp", "feedparser", "pandas", "duckdb"} | ({"asyncio"} if "schema" in arguments else {"pyarrow"})
    script = (
        "import sys\n"
        "from sitemap_reader.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "finally:\n"
        f"    print(*({unused} & set(sys.modules)), file=sys.stderr)\n"
    )
    text = urlset("https://a.example/1").decode()
    result = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert result.stderr.splitlines()[-1] == ""


def test_every_option_says_its_default_and_every_command_has_examples() -> None:
    for name, command in main.commands.items():
        reported = " ".join(run(name, "--help").stdout.split())
        assert f"Examples: sitemap-reader {name} " in reported
        options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
        assert options
        assert reported.count("[default: ") == len(options)


def test_the_summaries_of_the_commands_fit_into_80_columns() -> None:
    text = process("--help", env={**os.environ, "COLUMNS": "80"}).stdout.partition("\nCommands:\n")[2]
    assert all(f"  {name} " in text for name in main.commands)
    assert "..." not in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["dump", "--help"], ["--version"]])
def test_help_that_cannot_be_written_is_exit_6(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 6
    assert done.stderr.startswith("error: cannot write")
    assert len(done.stderr.splitlines()) == 1


# --- modules of the working folder ---

# A file of the same name in the working folder would be imported in place of each of these.
_MODULES = {
    *(name for name in sys.stdlib_module_names if not name.startswith("_")),
    *(name for name in packages_distributions() if name.isidentifier() and name != "sitemap_reader"),
    "sitecustomize", "usercustomize",
}  # fmt: skip
_TRAP = """import sys
with open({log!r}, "a") as log: log.write(f"{{__name__}} {{sys.argv}}\\n")
raise ImportError(__name__)
"""
_FEED = '<rss version="2.0"><channel><item><link>https://e.com/a<![CDATA[</link></item></channel></rss>'


@pytest.fixture(scope="module")
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of another author, with a module of every name, a feed, a dump and a list of hosts."""
    folder = tmp_path_factory.mktemp("untrusted")
    for name in _MODULES:
        (folder / f"{name}.py").write_text(_TRAP.format(log=str(folder / "imported")))
    (folder / "feed.xml").write_text(_FEED)
    (folder / "urls.jsonl").write_text('{"loc":"https://e.com/"}\n')
    (folder / "hosts.txt").write_text("127.0.0.1:1\n")
    return folder


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip installs as `sitemap-reader`, in a folder of its own."""
    file = tmp_path_factory.mktemp("bin") / "sitemap-reader"
    file.write_text("from sitemap_reader.__main__ import main\nif __name__ == '__main__':\n    main()\n")
    return file


@pytest.mark.parametrize("command", [
    "--version",
    f"dump {SHOP} -o o.parquet",
    "parse feed.xml",
    f"discover {SHOP}",
    f"tree {SHOP}",
    f"sync {SHOP} --state s.db",
    "diff urls.jsonl urls.jsonl",
    f"stats {SHOP}",
    f"audit {SHOP}",
    f"compare {SHOP} -o o.html",
    "harvest hosts.txt -o h --allow-private --workers 1 --retries 0",
    "convert urls.jsonl -o urls.csv",
    "schema polars",
    "config",
    "watch 127.0.0.1:1 --state w.db --redeliver",
])
def test_no_process_imports_from_the_working_folder(command: str, untrusted: Path, script: Path) -> None:
    if command.startswith("harvest"):
        needs("distributed")
    elif command.startswith("compare"):
        needs("altair")
    words = [sys.executable, str(script), *command.split()]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        words, cwd=untrusted, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr
    log = untrusted / "imported"
    assert not log.exists(), log.read_text()


def test_every_command_is_tried_in_the_working_folder() -> None:
    (mark,) = (
        mark for mark in test_no_process_imports_from_the_working_folder.pytestmark if mark.name == "parametrize"
    )  # type: ignore[attr-defined]
    assert {words.split()[0] for words in mark.args[1]} == {"--version", *main.commands}
