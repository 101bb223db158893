"""docs/problems.md, CATALOGUE and the corpus, held together: what a page says of a code is what a file shows.

Every code is shown by a case of the corpus (the parser reports it) or by a replayed site (the walk does); those that
cannot be are in NOT_IN_THE_CORPUS, with the test that shows them.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from corpus_cases import CORPUS, Case, cases

import sitemap_reader as sr
from sitemap_reader import CATALOGUE, Problem
from sitemap_reader.limits import PROTOCOL_MAX_BYTES, PROTOCOL_MAX_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests" / "sync"))

from worlds import Document, World, entries  # noqa: E402

PAGE = ROOT / "docs" / "problems.md"
TEXT = PAGE.read_text("utf-8")
SITES = sorted(path.name for path in (CORPUS / "sites").iterdir() if path.is_dir())

GROUPS = {
    "Fetch": "F",
    "Structure": "S",
    "URLs": "U",
    "Dates and hints": "DH",
    "hreflang and video": "LV",
    "Changes": "X",
}
REPORTERS = frozenset({"parser", "walk", "fetch", "state"})


@attrs.frozen
class Elsewhere:
    """A test that shows a code in place of a file, the reason, and what gives the line of the page."""

    file: str
    test: str
    why: str
    problems: Callable[[], Sequence[Problem]]


def _parsed(entries: int, length: int = 0) -> Sequence[Problem]:
    return sr.parse(_urlset(entries, length), url="https://example.com/large.xml").problems


def _followed(change: Callable[[World], None], *names: str) -> Sequence[Problem]:
    """A site of sitemaps with so many pages each, that changes after its first run."""
    site = World({f"{name[0]}.xml": Document(entries(*map(str, range(int(name[1:]))))) for name in names})
    site.listed = [*site.documents]
    with tempfile.TemporaryDirectory() as folder:
        site.run(Path(folder) / "state.db")
        change(site)
        return tuple(site.run(Path(folder) / "state.db").stream.problems.samples)


def _urlset(entries: int, length: int = 0) -> bytes:
    body = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'></urlset>"
    missing = max(0, length - len(body)) // entries
    entry = b"<url><loc>https://example.com/</loc></url>".ljust(missing)
    return body.replace(b"><", b">" + entry * entries + b"<").ljust(length)


def _shrink(site: World) -> None:
    site.documents["a.xml"] = Document(entries(*map(str, range(500))))


NOT_IN_THE_CORPUS = {
    "F08": Elsewhere(
        "tests/read/test_document.py",
        "test_more_bytes_than_the_protocol_allows_are_read_and_reported",
        "a document of more than 50 MiB",
        lambda: _parsed(1000, PROTOCOL_MAX_BYTES + 1),
    ),
    "S03": Elsewhere(
        "tests/read/test_document.py",
        "test_more_entries_than_the_protocol_allows_are_read_and_reported",
        "more than 50,000 entries, and as many lines of expectation",
        lambda: _parsed(PROTOCOL_MAX_ENTRIES + 1),
    ),
    "X01": Elsewhere(
        "tests/sync/test_changes.py",
        "test_removals_of_most_urls_are_held_back",
        "two runs, and a site that changes in between",
        lambda: _followed(_shrink, "a2002"),
    ),
    "X02": Elsewhere(
        "tests/sync/test_changes.py",
        "test_what_a_complete_index_no_longer_lists_is_gone_at_once",
        "two runs, and a site that changes in between",
        lambda: _followed(lambda site: site.listed.remove("a.xml"), "a3", "b3"),
    ),
}
_OF_STATES = frozenset({"X01", "X02"})


@attrs.frozen
class Section:
    """What the page says of one code."""

    code: str
    severity: str
    title: str
    reporters: frozenset[str]
    body: str


@attrs.frozen
class Example:
    """A piece of a file, and the line that the file gives. Of an empty file the piece is empty."""

    code: str
    snippet: str
    path: Path
    line: str


_SECTION = re.compile(r"^### (.+)\n\n\*\*(\w+)\*\* · (.+) · reported by (.+)\n\n((?:(?!^##).*\n)+)", re.MULTILINE)
_EXAMPLE = re.compile(
    r"""
    (?: ^```\w*\n (?P<snippet>(?:(?!```).*\n)+) ```\n\n )?  # none of an empty file
    ^\[ (?P<name>[^\]]+) \] \( (?P<link>[^)]+) \) .*:\n
    `(?P<line>[^`]+)`$
    """,
    re.VERBOSE | re.MULTILINE,
)

SECTIONS = [
    Section(code, severity, title, frozenset(reporters.split(", ")), body)
    for code, severity, title, reporters, body in _SECTION.findall(TEXT)
]
EXAMPLES = [
    Example(section.code, found["snippet"] or "", (PAGE.parent / found["link"]).resolve(), found["line"])
    for section in SECTIONS
    for found in _EXAMPLE.finditer(section.body)
]

every_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.code}-{each.path.name}")


# --- what files give ---


@cache
def case_problems(path: Path) -> tuple[Problem, ...]:
    return tuple(item for item in Case(path).items() if isinstance(item, Problem))


@cache
def site_problems(name: str) -> tuple[Problem, ...]:
    with sr.urls(CORPUS / "sites" / name) as stream:
        assert list(stream)
    return tuple(stream.problems.samples)


@cache
def codes_of_cases() -> frozenset[str]:
    return frozenset(problem.code for case in cases() for problem in case_problems(case.path))


@cache
def codes_of_sites() -> frozenset[str]:
    return frozenset(problem.code for name in SITES for problem in site_problems(name))


def problems_of(example: Example) -> tuple[Problem, ...]:
    """All that comes of the file: of a case or the options beside it, of a site by its walk."""
    if example.code in NOT_IN_THE_CORPUS:
        return tuple(NOT_IN_THE_CORPUS[example.code].problems())
    group, name, *_ = example.path.relative_to(CORPUS).parts
    if group == "sites":
        return site_problems(name)
    return case_problems(example.path.with_suffix("") if example.path.suffix == ".toml" else example.path)


def text_of(path: Path) -> str:
    """What a person sees of the file: unpacked as far as that goes."""
    body = path.read_bytes()
    if body.startswith(b"\x1f\x8b"):
        body = zlib.decompressobj(wbits=31).decompress(body)
    return body.decode("utf-8", "replace")


def without_indents(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


# --- the page and the catalogue ---


def test_every_code_has_a_section_in_the_order_of_the_catalogue() -> None:
    assert [section.code for section in SECTIONS] == list(CATALOGUE)
    assert re.findall(r"^### (.+)$", TEXT, re.MULTILINE) == list(CATALOGUE)


def test_sections_stand_in_their_groups() -> None:
    _, *groups = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    found = {group.partition("\n")[0]: re.findall(r"^### (.+)$", group, re.MULTILINE) for group in groups}
    assert list(found) == list(GROUPS)
    for title, letters in GROUPS.items():
        assert found[title] == [code for code in CATALOGUE if code[0] in letters]


@every_section
def test_severity_and_title_are_those_of_the_catalogue(section: Section) -> None:
    rule = CATALOGUE[section.code]
    assert (section.severity, section.title) == (rule.severity, rule.title)


@every_section
def test_a_section_says_how_to_mend_it_and_has_an_example(section: Section) -> None:
    assert re.search(r"^\*\*Mend:\*\* \S", section.body, re.MULTILINE)
    examples = [example for example in EXAMPLES if example.code == section.code]
    assert len(examples) == section.body.count("](") > 0


def test_table_lists_the_catalogue_with_anchors() -> None:
    rows = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| (\w+) \| (.+) \|$", TEXT, re.MULTILINE)
    assert rows == [(code, code.lower(), rule.severity, rule.title) for code, rule in CATALOGUE.items()]


def test_no_unknown_code_is_mentioned() -> None:
    assert set(re.findall(r"\b[A-Z][0-9]{2}\b", TEXT)) == set(CATALOGUE)


@every_section
def test_reporters_are_those_that_report_it(section: Section) -> None:
    assert section.reporters
    assert section.reporters <= REPORTERS
    by_state = section.code in _OF_STATES
    assert ("state" in section.reporters) == by_state
    by_parser = section.code in codes_of_cases() or (section.code in NOT_IN_THE_CORPUS and not by_state)
    assert ("parser" in section.reporters) == by_parser


# --- the page and the corpus ---


@every_example
def test_the_snippet_is_in_the_file(example: Example) -> None:
    if example.code in NOT_IN_THE_CORPUS:
        assert example.path == ROOT / NOT_IN_THE_CORPUS[example.code].file
        return
    text = text_of(example.path)
    if not example.snippet:
        assert text == ""
        return
    shown = re.escape(without_indents(example.snippet)).replace("…", ".*")
    assert re.search(rf"^{shown}$", without_indents(text), re.MULTILINE)


@every_example
def test_the_line_is_what_the_file_gives(example: Example) -> None:
    assert example.line in [str(problem) for problem in problems_of(example) if problem.code == example.code]


def test_every_code_is_shown_by_a_case_or_a_site_or_a_test() -> None:
    shown = codes_of_cases() | codes_of_sites()
    assert shown <= set(CATALOGUE)
    assert shown | set(NOT_IN_THE_CORPUS) == set(CATALOGUE)
    assert not shown & set(NOT_IN_THE_CORPUS)


@pytest.mark.parametrize("code", NOT_IN_THE_CORPUS)
def test_a_code_that_no_file_shows_has_a_test_that_names_it(code: str) -> None:
    elsewhere = NOT_IN_THE_CORPUS[code]
    tree = ast.parse((ROOT / elsewhere.file).read_text("utf-8"))
    tests = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    test = tests[elsewhere.test]
    assert code in {node.value for node in ast.walk(test) if isinstance(node, ast.Constant)}
    assert f"`{elsewhere.test}`" in next(section.body for section in SECTIONS if section.code == code)


def test_the_recorded_refusal_is_what_the_fetcher_says() -> None:
    """A replay says what its file says; this file says what was said."""
    url = "http://10.0.0.7/sitemap.xml"

    async def fetch() -> None:
        fetcher = sr.AiohttpFetcher(user_agent="sitemap-reader")
        try:
            async with fetcher.fetch(url, {}):
                pass
        finally:
            await fetcher.close()

    with pytest.raises(sr.FetchError) as caught:
        asyncio.run(fetch())
    recorded = CORPUS / "sites" / "trouble" / "http" / "10.0.0.7" / "sitemap.xml.headers"
    assert recorded.read_text("utf-8") == f"replay-error: {caught.value.code} {caught.value}\n"
