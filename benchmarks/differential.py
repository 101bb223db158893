"""The same documents read by this reader and its peers: found URLs, and URLs that were not listed.

    python -m benchmarks.differential [--documents 2000] [--seed 0] [--markdown]

Damaged documents have a known truth: recall is the share of it that came out, a false URL one that is not in it.
The corpus has no truth but its rules: there the cases are shown about which the readers disagree. URLs are compared
after one normalisation, ours, so that `é` and `%C3%A9` count as one.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from generated import DAMAGES, damaged

from sitemap_reader.parser import clean_url

from .peers import OURS, Answer, Question, ask, version_of
from .readers import READERS
from .tables import PAGE, aligned, markdown, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "corpus"
# Sites are walks, robots.txt and limits are not what the peers read.
OTHER_GROUPS = ("sites", "audit", "robots", "limits", "scope")


@attrs.define
class Score:
    """What one reader made of documents with a known truth."""

    listed: int = 0
    found: int = 0
    false: int = 0
    failed: int = 0  # documents at which it raised, hung or crashed

    def add(self, truth: frozenset[str], answer: Answer, base: str) -> None:
        urls = {normal(url, base) for url in answer.urls if url}
        self.listed += len(truth)
        self.found += len(urls & truth)
        self.false += len(urls - truth)
        self.failed += answer.error is not None

    def __add__(self, other: Score) -> Score:
        sums = zip(attrs.astuple(self), attrs.astuple(other), strict=True)
        return Score(*(one + another for one, another in sums))

    @property
    def recall(self) -> float:
        return 100 * self.found / self.listed

    @property
    def text(self) -> str:
        return f"{self.recall:.1f} / {self.false}" if self.false else f"{self.recall:.1f}"


def normal(url: str, base: str) -> str:
    """The canonical URL; an invalid URL is unchanged, and in no truth."""
    return clean_url(url, base).url or url


# --- damaged documents ---


def measure(folder: Path, documents: int, seed: int) -> dict[str, dict[str, Score]]:
    """Kind -> reader -> score, over so many documents, the kinds in turn."""
    questions, truths = [], {}
    for number, kind in zip(range(documents), _in_turn(), strict=False):
        document = damaged(kind, seed + number // len(DAMAGES))
        question = Question(folder / f"{number:06}-{kind}.xml", "https://shop.example/sitemap.xml")
        question.file.write_bytes(document.body)
        questions.append(question)
        truths[question.file] = kind, frozenset(document.truth)
    scores: dict[str, dict[str, Score]] = defaultdict(lambda: {reader: Score() for reader in READERS})
    for reader in READERS:
        answers = ask(reader, questions)
        for question in questions:
            kind, truth = truths[question.file]
            scores[kind][reader].add(truth, answers[question.file], question.url)
    return dict(scores)


def _in_turn() -> Iterator[str]:
    kinds = list(DAMAGES)
    return (kinds[number % len(kinds)] for number in count())


def table(scores: dict[str, dict[str, Score]]) -> list[list[str]]:
    """Rows of cells: a line for each kind, then the totals."""
    total = {reader: sum((each[reader] for each in scores.values()), Score()) for reader in READERS}
    return [
        ["kind", *(f"{reader} {version_of(reader)}" for reader in READERS)],
        *([kind, *(each[reader].text for reader in READERS)] for kind, each in scores.items()),
        ["**all**", *(total[reader].text for reader in READERS)],
        ["raised, hung or crashed", *(str(total[reader].failed) for reader in READERS)],
    ]


def better(scores: dict[str, dict[str, Score]]) -> str:
    """A sentence about peers that found more than this reader."""
    found = [
        f"{reader} in {kind} ({each[reader].recall:.1f} against {each[OURS].recall:.1f})"
        for kind, each in scores.items()
        for reader in READERS
        if each[reader].found > each[OURS].found
    ]
    return f"A peer found more: {', '.join(found) or 'in no kind'}."


# --- the corpus ---


def disagreements() -> dict[str, dict[tuple[str, ...], list[str]]]:
    """Case -> result -> readers, for the cases in which readers differ."""
    files = [path for path in sorted(CORPUS.glob("*/*")) if path.is_file() and path.parent.name not in OTHER_GROUPS]
    documents = [path for path in files if path.suffix not in (".jsonl", ".toml")]
    # A .toml states options that the peers do not have.
    plain = [path for path in documents if not path.with_name(f"{path.name}.toml").exists()]
    questions = [Question(path, f"https://example.com/{path.name}") for path in plain]
    given = {reader: ask(reader, questions) for reader in READERS}
    found = {}
    for question in questions:
        parties: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for reader in READERS:
            answer = given[reader][question.file]
            urls = tuple(dict.fromkeys(normal(url, question.url) for url in answer.urls if url))
            parties[urls].append(f"{reader} (raised {answer.error.partition(':')[0]})" if answer.error else reader)
        if len(parties) > 1:
            found[str(question.file.relative_to(CORPUS))] = dict(parties)
    return found


def described(parties: dict[tuple[str, ...], list[str]]) -> Iterator[str]:
    """A line for each party; long lists by what sets them apart from ours."""
    ours = next(urls for urls, readers in parties.items() if readers[0].startswith(OURS))
    for urls, readers in parties.items():
        differing = [f"+{url}" for url in urls if url not in ours] + [f"-{url}" for url in ours if url not in urls]
        what = "" if urls == ours else ": " + (" ".join(url[:70] for url in differing[:4]) or "in another order")
        yield f"    {', '.join(readers)}: {len(urls)}{what}"


# --- output ---


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.differential", description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=2000, help="how many damaged documents (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="where the seeds begin (default: 0)")
    parser.add_argument("--markdown", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    if options.documents < 1:
        parser.error("--documents must be 1 or more")
    with tempfile.TemporaryDirectory() as folder:
        scores = measure(Path(folder), options.documents, options.seed)
    rows = table(scores)
    print("share of the listed URLs that came out, in %, and behind the / how many false ones\n")
    print(aligned(rows), better(scores), sep="\n", end="\n\n")
    if options.markdown:
        stated = f"--documents {options.documents} --seed {options.seed} --markdown"
        measured = f"`python -m benchmarks.differential {stated}`\n\n{better(scores)}\n\n{markdown(rows)}"
        kinds = markdown([["kind", "what is done"], *([kind, damage.what] for kind, damage in DAMAGES.items())])
        write_page({"table": measured, "kinds": kinds})
    differing = disagreements()
    print(f"corpus: {len(differing)} cases about which the readers disagree (how many URLs each gives; + - against us)")
    for case, parties in differing.items():
        print(f"  {case}", *described(parties), sep="\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    main()
