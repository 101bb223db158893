"""docs/cli.md: the examples of each command's help succeed, and the completion scripts work."""

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from docs_runs import Block, Runner, blocks
from docs_site import SITES, DocsSite
from servers import free_port
from tiers import not_installed

pytestmark = pytest.mark.slow

PAGE = "docs/cli.md"
SCRIPTS = [block for block in blocks(PAGE) if block.language == "sh" and "_COMPLETE" not in block.text]
_WRITES = re.compile(r"(?:> |-o )(?P<file>[\w.]+)(?: --.*)?$")


XML = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    "<url><loc>https://www.example.com/</loc><lastmod>2026-10-01</lastmod></url></urlset>"
)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A Runner in a folder with the files that the examples read."""
    with DocsSite(tmp_path) as site:
        runner = Runner(tmp_path, site)
        for name in ("urls", "old", "monday", "rival"):
            shutil.copy(SITES / "shop.jsonl", runner.folder / f"{name}.jsonl")
        for name in ("new", "tuesday"):
            lines = (SITES / "shop.jsonl").read_text("utf-8").splitlines(keepends=True)
            (runner.folder / f"{name}.jsonl").write_text("".join(lines[1:]).replace("/about/7", "/about/jobs"))
        (runner.folder / "hosts.txt").write_text("example.com\n")
        crawled = "Address,Status Code,Indexability\nhttps://example.com/about/1,200,Indexable\n"
        (runner.folder / "internal_all.csv").write_text(crawled)
        (runner.folder / "sitemap.xml.gz").write_bytes(gzip.compress(site.bodies["example.com", "/sitemap.xml"]))
        (runner.folder / "public").mkdir()
        (runner.folder / "public" / "sitemap.xml").write_text(XML)
        yield runner


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.section)
def test_examples_of_a_command_work(runner: Runner, block: Block) -> None:
    """Skipped if one of the examples is left out, after the others have run."""
    lines = {line: attrs.evolve(block, text=line).missing for line in block.text.splitlines()}
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    failing = [text for line, missing in lines.items() if not missing for text in failures(runner, line)]
    assert failing == []
    if any(lines.values()):
        pytest.skip("; ".join(f"{line}: {not_installed(missing)}" for line, missing in lines.items() if missing))


def failures(runner: Runner, line: str) -> Iterator[str]:
    runs_on = line.startswith("sitemap-reader watch")
    shown, line = line, re.sub("^(?=sitemap-reader watch)", "timeout -s TERM --preserve-status 5 ", line)
    ran = runner.do("bash", "-eo", "pipefail", "-c", line.replace(":8080", f":{free_port()}"))
    written = _WRITES.search(line)
    is_late = runs_on and ran.code == 130  # on a busy machine the signal comes before the watch has begun
    if (ran.code and not is_late) or "error:" in ran.stderr:
        yield f"{shown}: exit code {ran.code}: {ran.stderr}"
    elif not runs_on and not ((runner.folder / written["file"]).stat().st_size if written else ran.stdout):
        yield f"{line}: gives nothing"


# --- completion -------------------------------------------------------------------------------------------------


SHELLS = {"bash": "complete ", "zsh": "compdef ", "fish": "complete "}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_line_for_a_shell_gives_a_completion_script(runner: Runner, shell: str) -> None:
    (line,) = (block.text for block in blocks(PAGE) if f"{shell}_source" in block.text)
    (command,) = re.findall(r"_SITEMAP_READER_COMPLETE=\w+ sitemap-reader", line)
    ran = runner.do("sh", "-c", command)
    assert (ran.code, ran.stderr) == (0, "")
    assert SHELLS[shell] in ran.stdout


# Typed text -> offered completions.
TYPED = {
    "sitemap-reader di": ["diff", "discover"],
    "sitemap-reader dump --sc": ["--scope"],
    "sitemap-reader dump --scope d": ["domain"],
    "sitemap-reader schema p": ["polars"],
}


@pytest.mark.parametrize("typed", TYPED)
def test_bash_completes_after_the_line_of_the_page(runner: Runner, typed: str) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (line,) = (block.text for block in blocks(PAGE) if "bash_source" in block.text)
    words = typed.split(" ")
    requested = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _sitemap_reader_completion sitemap-reader"
    ran = runner.do("bash", "-c", f"{line}\n{requested}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
    assert (ran.code, sorted(ran.stdout.split()), ran.stderr) == (0, TYPED[typed], "")
