"""The programs of benchmarks.questions: equal answers on small sites; the table of the page states their lines."""

import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

sys.path.append(str(Path(__file__).parent.parent))


from benchmarks.peers import OURS
from benchmarks.questions import (
    LIBRARIES,
    PROGRAMS,
    QUESTIONS,
    Question,
    Sources,
    canonical,
    difference,
    lines_of,
    make_sites,
    program,
)
from benchmarks.tables import PAGE


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    with ExitStack() as servers:
        yield make_sites(tmp_path_factory.mktemp("sites"), 2_000, servers)


def answer(library: str, question: Question, sources: Sources) -> Any:
    file = program(library, question)
    assert file is not None
    given = runpy.run_path(str(file))["answer"](*(getattr(sources, name) for name in question.arguments))
    return {key: str(value) for key, value in given.items() if value} if isinstance(given, dict) else given


@pytest.mark.slow
@pytest.mark.skipif(pd.__version__ < "3.1", reason="the programs for plain pandas need pandas 3.1")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_answer_is_that_of_pandas(question: Question, sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pd, "read_xml", partial(pd.read_xml, parser="etree"))  # lxml is not installed everywhere
    ours = answer(OURS, question, sources)
    assert ours
    if question.name != "topics":
        assert difference(ours, answer("pandas", question, sources)) == ""
    else:  # of a small site the last of 20 words has equals
        least = min(map(int, ours.values()))
        others = answer("pandas", question, sources)
        assert {word: count for word, count in ours.items() if int(count) > least} == {
            word: count for word, count in others.items() if int(count) > least
        }


def test_a_difference_is_stated_with_its_first_cases() -> None:
    assert difference({"a": 1, "b": 2, "none": 0}, {"a": 1, "b": 3, "c": 4}) == (
        "2 differ: b: 2, other 3; c: None, other 4"
    )
    assert difference(["x", "y"], ["y", "x", "x"]) == ""
    assert difference(["x"], ["y"]) == "2 differ: x: there, other None; y: None, other there"
    assert canonical(["x", "x"]) == {"x"}


def test_lines_are_those_of_code(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("# why\nimport json\n\n\nprint(json)  # this one counts\n    # not this one\n")
    assert lines_of(file) == 2


def test_page_states_the_lines_of_each_program() -> None:
    section = PAGE.read_text("utf-8").partition("<!-- questions: begin -->")[2].partition("<!-- questions: end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.endswith(("yes |", "cannot |"))]
    files = {each.text: [program(library, each) for library in LIBRARIES] for each in QUESTIONS}
    lines = {text: [str(lines_of(file)) if file else "-" for file in several] for text, several in files.items()}
    assert {row[0]: row[1:4] for row in rows} == lines


def test_each_program_belongs_to_a_question() -> None:
    assert {file.stem for file in PROGRAMS.glob("*/*.py")} == {question.name for question in QUESTIONS}
    assert all(program(OURS, question) for question in QUESTIONS)


@pytest.mark.skipif(find_spec("ruff") is None, reason="ruff is not installed")
def test_programs_are_formatted_as_their_lines_are_counted() -> None:
    command = [sys.executable, "-m", "ruff", "format", "--check", "--isolated", "--line-length", "100", PROGRAMS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
