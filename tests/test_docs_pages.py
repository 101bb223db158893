"""README.md and docs/*.md without running all examples: each example is run by some test, and links have targets.

test_docs_examples.py runs every example; here the first ones of two pages are run.
"""

import re
from pathlib import Path

import pytest
from docs_runs import NOT_TRIED, PAGES, ROOT, RUNNABLE, blocks, differences, steps, tried
from generated import DAMAGES

from sitemap_reader.frontier import WELL_KNOWN

# Languages of blocks that are not run.
SHOWN = {"", "text", "json", "crontab", "ini", "nginx", "toml"}
DOCS = sorted((ROOT / "docs").rglob("*.md"))
TRIED = [block for page in PAGES for block in tried(page)]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "first"), [("docs/tutorial-seo.md", 3), ("docs/python.md", 1)])
def test_the_first_examples_of_a_page_print_what_it_shows(tmp_path: Path, page: str, first: int) -> None:
    if differing := differences(page, tmp_path, first=first):
        pytest.fail("\n".join(differing), pytrace=False)


def test_page_omits_at_most_a_part_of_an_output() -> None:
    shown = {block: [step.shown for step in steps(block.text)] for block in TRIED if block.language == "console"}
    shown |= {block: [block.shows or ""] for block in TRIED if block.language == "python"}
    assert [str(block) for block, texts in shown.items() if "...\n" in texts] == []


def test_every_block_is_run_or_marked_as_not_run() -> None:
    languages = {block.language for page in PAGES for block in blocks(page)}
    assert languages <= {*RUNNABLE, *SHOWN}
    assert {block.language for block in NOT_TRIED} <= {"sh", "python"}


def test_a_script_that_is_saved_is_run_by_a_console_below() -> None:
    for block in (block for block in TRIED if block.name):
        consoles = [each for each in tried(block.page) if each.language == "console" and each.line > block.line]
        run = rf"^\$ (sh|scrapy runspider) {block.name}"
        assert any(re.search(run, each.text, re.MULTILINE) for each in consoles), block.name


# --- the lists ---


def test_the_command_line_lists_the_well_known_paths_in_their_order() -> None:
    paragraphs = (ROOT / "docs" / "cli.md").read_text("utf-8").split("\n\n")
    (listed,) = (each for each in paragraphs if each.startswith("**Well-known paths.**"))
    assert tuple(re.findall(r"`(/[^`]+)`", listed)) == WELL_KNOWN


def test_the_comparison_has_each_kind_of_damage() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    described = dict(re.findall(r"^\| ([\w-]+) \| (.+) \|$", page.partition("<!-- kinds: begin -->")[2], re.MULTILINE))
    assert described.pop("kind") == "what is done"
    assert described.pop("---") == "---"
    assert list(described.items()) == [(kind, damage.what) for kind, damage in DAMAGES.items()]
    assert re.findall(r"^\| ([\w-]+) \| [\d.]+ \|", page, re.MULTILINE)[: len(DAMAGES)] == [*DAMAGES]


# --- the links --------------------------------------------------------------------------------------------------


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["README.md", *(str(each.relative_to(ROOT)) for each in DOCS)])
def test_links_lead_somewhere(page: str) -> None:
    here = ROOT / page
    for file, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", prose(here)):
        target = here.parent / file if file else here
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"
