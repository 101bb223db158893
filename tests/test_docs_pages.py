"""Every example of README.md and docs/*.md, as it stands: it runs, and prints what the page shows.

A page is tried from its top to its end in one folder, as a reader would. What a block prints stands in the page
(consoles, and `text` behind Python), or else here, in PRINTS. records.md and cli.md have tests of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from docs_runs import ROOT, RUNNABLE, Block, Desk, Trial, blocks, matches, printed, steps
from docs_site import DocsSite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGES = (
    "README.md", "docs/quickstart.md", "docs/python.md", "docs/analysis.md", "docs/recipes.md", "docs/integrations.md",
    "docs/scale.md",
)  # fmt: skip
# Languages of blocks that are there to be looked at.
SHOWN = {"", "text", "json", "crontab"}

# Keys are a page, and what only one block of it says.
Key = tuple[str, str]
# Why nobody can run it here.
NOT_RUN: dict[Key, str] = {
    ("README.md", "pip install"): "installs: .ci/run does it, in a fresh clone",
    ("docs/quickstart.md", "pip install"): "installs: see README.md",
    ("docs/analysis.md", "pip install"): "installs: .ci/run does it, and executes the notebooks",
    ("docs/scale.md", "pip install"): "installs: see README.md",
    ("docs/integrations.md", "import dag, task"): "needs Airflow: tests/integrations/test_airflow.py",
    ("docs/integrations.md", "HttpCrawler("): "its network is not Python's: tests/integrations/test_crawlee_page.py",
}
# Before it a day goes by, and the shop changes.
NEXT_DAY: set[Key] = {
    ("docs/quickstart.md", "-o tuesday.jsonl"),
    ("docs/python.md", "sr.diff("),
    ("docs/python.md", "changes.summary.not_modified"),
    ("docs/recipes.md", "-o tuesday.jsonl"),
    ("docs/recipes.md", "changes-*"),
    ("docs/scale.md", "daily/urls/*"),
}
# What it prints, where the page does not show it: because that goes by the present date, or to explain no more.
PRINTS: dict[Key, str] = {
    ("README.md", "> monday.jsonl"): r"""(?x)
        (https://example\.com/[^\n]+\n)+  # of the week or undated
        depth\turl\t.*\n0\thttps://example\.com/robots\.txt\t.*
        \n.*640.*
        """,
    ("README.md", "sr.urls("): r"(?s)https://example\.com/.* \d+ sitemaps; .* True\n",
    ("README.md", "sr.snapshot("): "",
    ("docs/integrations.md", "class Pages("): "",
    ("docs/quickstart.md", "async def crawl"): r"\d+ URLs from \d+ sitemaps; .*\n",
}


def said(key: Key) -> Block:
    """The block that a key means."""
    page, text = key
    (block,) = (each for each in blocks(page) if text in each.text)
    return block


NOT_TRIED = {said(key): why for key, why in NOT_RUN.items()}
EXAMPLES = [block for page in PAGES for block in blocks(page) if block.language in RUNNABLE]
TRIED = [block for block in EXAMPLES if block not in NOT_TRIED]
CONSOLES = [block for block in TRIED if block.language == "console"]
PROGRAMS = [block for block in TRIED if block.language == "python"]
SCRIPTS = [block for block in TRIED if block.language == "sh" and not block.name]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Trial]]:
    """`trial(page)`: the page, being tried."""
    trials: dict[str, Trial] = {}
    with ExitStack() as running:

        def begun(page: str) -> Trial:
            if page not in trials:
                folder = tmp_path_factory.mktemp("docs")
                desk = Desk(folder, running.enter_context(DocsSite(folder)))
                trials[page] = Trial(page, desk, skips=NOT_TRIED, days={said(key) for key in NEXT_DAY})
            return trials[page]

        yield begun


def needs_its_programs(block: Block) -> None:
    if block.missing:
        pytest.skip(f"{block.missing} is not installed")


@pytest.mark.parametrize("block", CONSOLES, ids=str)
def test_a_console_shows_what_its_commands_print(trial: Callable[[str], Trial], block: Block) -> None:
    needs_its_programs(block)
    ran = trial(block.page).of(block)
    differing = [(step.command, text) for step, text in printed(block, ran) if not matches(step.shown, text)]
    assert differing == []


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_a_python_example_prints_what_the_page_shows(trial: Callable[[str], Trial], block: Block) -> None:
    ran = trial(block.page).of(block)
    assert (ran.code, ran.stderr) == (0, "")
    if block.shows is None:
        (pattern,) = (pattern for key, pattern in PRINTS.items() if said(key) == block)
        assert re.fullmatch(pattern, ran.stdout), ran.stdout
    else:
        assert matches(block.shows, ran.stdout), ran.stdout


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_a_shell_script_prints_what_is_known_of_it(trial: Callable[[str], Trial], block: Block) -> None:
    needs_its_programs(block)
    ran = trial(block.page).of(block)
    (pattern,) = (pattern for key, pattern in PRINTS.items() if said(key) == block)
    assert ran.code == 0
    assert re.fullmatch(pattern, ran.stdout, re.DOTALL), ran.stdout


def test_a_page_leaves_out_no_more_than_a_part_of_what_is_printed() -> None:
    bare = [str(block) for block in CONSOLES if any(step.shown == "...\n" for step in steps(block.text))]
    assert bare + [str(block) for block in PROGRAMS if block.shows == "...\n"] == []


def test_every_block_is_tried_or_there_to_be_looked_at() -> None:
    languages = {block.language for page in PAGES for block in blocks(page)}
    assert languages <= {*RUNNABLE, *SHOWN}
    assert {block.language for block in NOT_TRIED} <= {"sh", "python"}


def test_a_script_that_is_saved_is_run_by_a_console_below() -> None:
    for block in (block for block in TRIED if block.name):
        below = [each.text for each in CONSOLES if each.page == block.page and each.line > block.line]
        assert any(re.search(rf"^\$ (sh|scrapy runspider) {block.name}", text, re.M) for text in below), block.name


# pyarrow and pandas say nothing of their types.
UNTYPED = "".join(f"[mypy-{name}.*]\nignore_missing_imports = true\n" for name in ("pandas", "pyarrow"))
# The examples for other programs are as those are: nobody annotates a spider or a DAG.
FOREIGN = ("docs/integrations.md",)
STRICT = (*(page for page in PAGES if page not in FOREIGN), "docs/records.md")


@pytest.mark.parametrize(
    ("pages", "strictness"),
    [(STRICT, ("--strict",)), (FOREIGN, ("--check-untyped-defs", "--ignore-missing-imports"))],
)
def test_all_python_examples_pass_the_strictest_type_check_there_is_for_them(
    tmp_path: Path, pages: tuple[str, ...], strictness: tuple[str, ...]
) -> None:
    pytest.importorskip("mypy")
    examples = [block for page in pages for block in blocks(page) if block.language == "python"]
    names: dict[str, Block] = {f"example_{number}.py": block for number, block in enumerate(examples)}
    for name, block in names.items():
        (tmp_path / name).write_text(block.text)
    (tmp_path / "mypy.ini").write_text("[mypy]\n" + UNTYPED)
    options = [*strictness, "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, *names]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    wrong = re.sub(r"example_\d+\.py:", lambda match: f"{names[match[0][:-1]]}, its line ", result.stdout)
    assert (wrong, result.stderr) == ("", "")


# --- the links --------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "docs/cli.md"])
def test_links_lead_somewhere(page: str) -> None:
    here = ROOT / page
    for file, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", here.read_text("utf-8")):
        target = here.parent / file if file else here
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"
