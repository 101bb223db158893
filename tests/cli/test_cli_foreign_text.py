"""Text of a site on stdout and stderr: no command of a CI system, no control character on a terminal."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from cli_runs import PROGRAM, replay
from kit import objects, robots, run, urlset

from sitemap_reader.cli import REPORT_FORMATS, ROWS_FORMATS

HOST = "a.example"
# Commands of GitHub's runner in both forms, and of that of Azure Pipelines; and what a terminal would obey.
COMMANDS = ["::error::x", "&#10;::stop-commands::x", "a ##[add-mask]x", "##vso[task.setvariable variable=a]x"]
CONTROLS = ["&#x9b;31m", "&#x202e;abc", "&#x2028;&#x7f;"]
NAMES = "error|warning|notice|debug|stop-commands|add-mask|set-output|set-env|add-path|save-state|group|endgroup|x"


def runner_commands(text: str) -> Iterator[str]:
    """The lines in which actions/runner (ActionCommand.cs) or azure-pipelines-agent (Command.cs) finds a command."""
    for line in re.split(r"\r\n|\r|\n", text):
        if re.match(rf"::({NAMES})( .*?)?::", line.lstrip(), re.IGNORECASE) or re.search(r"##\[|##vso", line):
            yield line


def entry(number: int, text: str) -> str:
    return f"""<url><loc>https://{HOST}/{number}?{text}</loc><lastmod>{text}</lastmod><priority>{text}</priority>
<image:image><image:loc>https://{HOST}/i</image:loc><image:title>{text}</image:title></image:image>
<xhtml:link rel="alternate" hreflang="{text}" href="https://{HOST}/b"/></url>
<url><loc>{text}</loc></url>"""


def site(folder: Path, texts: list[str]) -> Path:
    """A recording whose sitemap has the texts in each of its values, and links a sitemap of such a name."""
    entries = "".join(entry(number, text) for number, text in enumerate(texts))
    namespaces = (
        b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
    )
    named = robots(f"https://{HOST}/sitemap.xml", *(text for text in texts if "&" not in text))
    return replay(folder, {"robots.txt": named, "sitemap.xml": urlset(entries).replace(b">\n", namespaces, 1)})


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site(folder, COMMANDS)
    (folder / "old.jsonl").write_text("")
    (folder / "new.jsonl").write_text(run("dump", folder, "--report", "-", "-q").stdout.replace("\\u0023", "#"))
    return folder


CALLS = [
    "dump {0} -v",
    "dump {0} --report -",
    "dump {0} --format txt",
    "parse {0}/https/a.example/sitemap.xml --url https://a.example/sitemap.xml --report -",
    "convert {0}/new.jsonl --format jsonl",
    *(f"{command} {{0}} --format {format}" for command in ("discover", "tree", "stats") for format in ROWS_FORMATS),
    *(f"diff {{0}}/old.jsonl {{0}}/new.jsonl --format {format}" for format in ROWS_FORMATS),
    *(f"sync {{0}} --state {{1}}/{format} --format {format}" for format in ROWS_FORMATS),
    *(f"audit {{0}} -v --format {format}" for format in REPORT_FORMATS),
    "audit {0} --format jsonl",
]


@pytest.mark.parametrize("call", CALLS)
def test_no_line_is_a_command_of_a_ci_system(call: str, commands: Path, tmp_path: Path) -> None:
    result = run(*call.format(commands, tmp_path).split())
    assert result.exit_code in (0, 1, 3), result.stderr
    assert "x" in result.stdout
    own = re.compile(r"::(error|warning|notice) title=[A-Z]\d\d ")
    assert [line for line in runner_commands(result.stdout + result.stderr) if not own.match(line)] == []
    assert [line for line in result.stdout.splitlines() if own.match(line) and re.search(r"##\[|##vso", line)] == []


def test_json_has_the_values_of_the_site(commands: Path, tmp_path: Path) -> None:
    texts = [unescape(text).strip() for text in COMMANDS]
    dumped = objects(run("dump", commands, "-q").stdout)
    assert [image["title"] for line in dumped for image in line.get("images", ())] == texts
    file = tmp_path / "urls.jsonl"
    assert run("dump", commands, "-q", "-o", file).exit_code in (0, 3)
    assert objects(file.read_text()) == dumped
    assert [*runner_commands(file.read_text())] == []
    raw = {text for each in objects(run("audit", commands, "--format", "jsonl").stdout) for text in each.values()}
    assert {"##vso[task.setvariable variable=a]x", "a ##[add-mask]x"} <= raw


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_tables_of_urls_are_exact(commands: Path, format: str) -> None:
    table = run("dump", commands, "-q", "--format", format, "--fields", "images.0.title").stdout
    assert "a ##[add-mask]x" in table


def test_junit_and_html_have_the_text_of_the_site(commands: Path) -> None:
    for format in ("junit", "html"):
        assert "##[add-mask]" in unescape(run("audit", commands, "--format", format).stdout)


TERMINAL_CALLS = [
    "dump {0}",
    *(f"dump {{0}} --format {format} --fields loc,images,images.0.title" for format in ("jsonl", "csv", "tsv")),
    "parse {0}/https/a.example/sitemap.xml --report -",
    *(f"{command} {{0}} --format {format}" for command in ("tree", "stats") for format in ROWS_FORMATS),
    "sync {0} --state {1}/jsonl --format jsonl",
    *(f"audit {{0}} --format {format}" for format in ("text", "json", "sarif", "junit", "markdown", "github", "jsonl")),
]


@pytest.fixture(scope="module")
def controls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site(tmp_path_factory.mktemp("controls"), CONTROLS)


@pytest.mark.slow
@pytest.mark.parametrize("call", TERMINAL_CALLS)
def test_a_terminal_gets_no_control_character(call: str, controls: Path, tmp_path: Path) -> None:
    terminals = pytest.importorskip("terminals", reason="a pseudo-terminal of Unix")
    with terminals.on_terminal([*PROGRAM, *call.format(controls, tmp_path).split()]) as terminal:
        assert terminal.end() in (0, 1, 3)
    plain = terminal.written.replace("\x1b[A", "")  # of the progress bar
    assert "https://a.example" in plain
    assert {char for char in plain if not char.isprintable()} <= set("\r\n\t")
