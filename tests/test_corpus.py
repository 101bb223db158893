"""Every document of the corpus: whole, one byte at a time, and cut short."""

import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from corpus_cases import COMPANIONS, CORPUS, Case, cases, cases_by_group, files, lines
from tiers import examples

from sitemap_reader import Item, Outcome, Problem, SitemapRef, UrlRecord

CASES = cases()
ROOT = Path(__file__).parent.parent
# Entries after the end of the root element: truncated there, the file is a complete document.
MORE_BEHIND_THE_END = frozenset(
    f"damage/{name}.xml" for name in ("second-root", "behind-an-empty-root", "item-behind-another-root-end")
)
CUTS = examples(12)

every_group = pytest.mark.parametrize("some", cases_by_group().values(), ids=cases_by_group())


def records(items: list[Item]) -> list[UrlRecord | SitemapRef]:
    """The records without their problems."""
    return [attrs.evolve(item, problems=()) for item in items if isinstance(item, UrlRecord | SitemapRef)]


def outcome(items: list[Item]) -> Outcome:
    last = items[-1]
    assert isinstance(last, Outcome)
    return last


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whole_document_gives_what_is_expected(case: Case) -> None:
    assert lines(case.items()).decode() == case.expectation.read_text("utf-8")


@pytest.mark.slow
@every_group
def test_one_byte_at_a_time_gives_the_same(some: list[Case]) -> None:
    for case in some:
        whole, piecemeal = case.items(), case.items(case.body[at : at + 1] for at in range(len(case.body)))
        if outcome(piecemeal).bytes_wire < len(case.body):
            # Reading stopped early: the number of bytes taken depends on the chunks.
            for items in (whole, piecemeal):
                items[-1] = attrs.evolve(outcome(items), bytes_wire=0, bytes_decoded=0, sha256=None)
        assert piecemeal == whole, case.name


@pytest.mark.slow
@every_group
def test_truncated_document_gives_the_first_records_and_is_incomplete(some: list[Case]) -> None:
    for case in some:
        whole = records(case.items())
        for cut in sorted({len(case.body) * part // CUTS for part in range(CUTS)} | {max(0, len(case.body) - 1)}):
            check_cut(case, whole, cut)


def check_cut(case: Case, whole: list[UrlRecord | SitemapRef], cut: int) -> None:
    """The records are the first ones of the complete document; if the outcome is complete, they are all.

    The last may be an entry that was truncated after its location: it has its complete fields and an S01. A text or a
    robots.txt has no end mark: its last line may be shorter without a problem. All lines before are unchanged.
    """
    where = f"{case.name}, cut at {cut}"
    items = case.items([case.body[:cut]])
    found = records(items)
    if outcome(items).format in ("text", "robots"):
        assert found[:-1] == whole[: len(found[:-1])], where
        return
    if len(found) > len(whole):
        # In the complete document the last entry is over a limit.
        assert case.path.parent.name == "limits", where
        found = found[:-1]
    last = len(found)
    while last and found[:last] != whole[:last] and found[last - 1].line == found[-1].line:
        last -= 1
        assert_is_the_beginning_of(found[last], whole[last], items)
    found = found[:last]
    assert found == whole[: len(found)], where
    if outcome(items).complete and case.name not in MORE_BEHIND_THE_END:
        assert found == whole, where
    if not outcome(items).complete:
        assert any(isinstance(item, Problem) for item in items), where


def assert_is_the_beginning_of(cut: UrlRecord | SitemapRef, whole: UrlRecord | SitemapRef, items: list[Item]) -> None:
    """Every field of the truncated record is the complete one, the beginning of a list, or absent."""
    assert any(item.severity == "error" for item in items if isinstance(item, Problem) and item.code == "S01")
    assert not outcome(items).complete
    assert (cut.loc, cut.line) == (whole.loc, whole.line)
    for field in attrs.fields(type(cut)):
        part, all_of_it = getattr(cut, field.name), getattr(whole, field.name)
        if isinstance(part, tuple):
            assert part == all_of_it[: len(part)], field.name
        else:
            assert part in (None, False, all_of_it), field.name


@pytest.mark.slow
def test_outcomes_count_the_returned_items() -> None:
    for case in CASES:
        items = case.items()
        counts = outcome(items)
        assert counts.kept == len(records(items)), case.name
        counted: dict[str, int] = {}
        for item in items:
            if isinstance(item, Problem):
                counted[item.code] = counted.get(item.code, 0) + 1
        assert counts.problems == counted, case.name


def test_no_file_stands_alone() -> None:
    documents = {case.path for case in CASES}
    companions = {path for path in files() if path.suffix in COMPANIONS}
    assert len(documents) >= 235
    assert {case.expectation for case in CASES} == {path for path in companions if path.suffix == ".jsonl"}
    assert {path.with_suffix("") for path in companions} <= documents


@pytest.mark.slow
def test_script_writes_an_expectation_once_and_prints_the_difference(tmp_path: Path) -> None:
    document = tmp_path / "plain.xml"
    document.write_bytes((CORPUS / "urlset" / "plain.xml").read_bytes())
    command = [sys.executable, ROOT / "scripts" / "write_corpus_expectations", document]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    expected = (CORPUS / "urlset" / "plain.xml.jsonl").read_text("utf-8")
    assert (tmp_path / "plain.xml.jsonl").read_text("utf-8") == expected
    assert [line[1:] for line in first.stdout.splitlines()[3:]] == expected.splitlines()
    assert (second.stdout, second.stderr) == ("", "1 cases, 0 expectations written\n")
