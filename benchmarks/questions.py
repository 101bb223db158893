"""Ten questions about two sites, each answered by a program of this library, of advertools and of plain pandas.

    python -m benchmarks.questions [--short] [--rounds N] [--only NAME,...] [--markdown]
    python -m benchmarks.questions --ours FOLDER --theirs FOLDER [--archive 'FOLDER/*.xml.gz']

The programs are in programs/LIBRARY/NAME.py; a library without the program cannot answer the question. Each runs in a
fresh process, in turn, and prints its answer, which is compared with ours. Seconds are those of CPU, of all threads,
which a busy machine changes little. The sites are generated, or consist of the sitemaps in the given folders; both are
served on loopback, as advertools and pandas read URLs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs
from generated import make_site

from .commands import ENVIRONMENT, MOST_SECONDS
from .peers import OURS, are_made, python_of, version_of
from .rounds import Contender, Measure, figures, in_turn, ratios
from .serving import free_port, serve
from .tables import PAGE, aligned, markdown, write_page
from .watching import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .rounds import Series

PROGRAMS = Path(__file__).parent / "programs"
# Library -> the folder of its programs.
LIBRARIES = {OURS: "sitemap_reader", "advertools": "advertools", "pandas": "pandas"}
ROUNDS = 3
SINCE = "2026-08-15"
STATES = tuple(f"2026-{month:02}-01" for month in range(5, 11))
INDEX = "sitemap_index.xml"
# Runs the program in argv[1], and prints its answer to the other arguments; numbers of numpy as those of Python.
_RUN = """\
import json, runpy, sys
answer = runpy.run_path(sys.argv[1])["answer"](*sys.argv[2:])
print(json.dumps(answer, default=lambda value: value.item() if hasattr(value, "item") else str(value)))
"""


@attrs.frozen
class Question:
    """A question, the name of its programs, and their arguments: fields of Sources."""

    name: str
    text: str
    arguments: tuple[str, ...]


QUESTIONS = (
    Question("sections", "How many pages has each section, below the language?", ("theirs",)),
    Question("months", "How many pages were last changed in each month?", ("theirs",)),
    Question("batches", "In which sitemaps do ten lastmods, and half of them, lie within ten minutes?", ("theirs",)),
    Question("languages", "How many pages are there in each language?", ("theirs",)),
    Question("gaps", "Which of their paths do we lack, in any language?", ("ours", "theirs")),
    Question("topics", "Which 20 words are most frequent in slugs, without stop words?", ("theirs",)),
    Question(
        "new_pages", "How many pages of each section are new since a date, in archived states?", ("archive", "since")
    ),
    Question("growth", "How many pages were there in each archived state?", ("archive",)),
    Question("return_links", "How many hreflang links are not returned, by language?", ("theirs",)),
    Question("sitemaps", "Which sitemaps are there, with how many URLs and which newest lastmod?", ("theirs",)),
)


@attrs.frozen
class Sources:
    """The URLs of the two sites, the pattern of the archived files, and the date of new_pages."""

    ours: str
    theirs: str
    archive: str
    since: str = SINCE


# --- the programs ------------------------------------------------------------------------------------------------


def program(library: str, question: Question) -> Path | None:
    """Its file; None if the library cannot answer the question."""
    file = PROGRAMS / LIBRARIES[library] / f"{question.name}.py"
    return file if file.exists() else None


def lines_of(file: Path) -> int:
    """The lines of code: neither blank nor a comment. The files are formatted by ruff, at 100 columns."""
    lines = map(str.strip, file.read_text("utf-8").splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))


def canonical(answer: Any) -> Any:
    """A list as a set; a dict without zeros, as a period or folder without a page may be left out."""
    if isinstance(answer, list):
        return frozenset(answer)
    return {key: value for key, value in answer.items() if value}


def difference(ours: Any, other: Any) -> str:
    """The size of the difference, and the first cases: "" if there is none.

    >>> difference({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    "2 differ: b: 2, other 3; c: None, other 4"
    """
    ours, other = canonical(ours), canonical(other)
    if isinstance(ours, frozenset):
        ours, other = dict.fromkeys(ours, "there"), dict.fromkeys(other, "there")
    keys = sorted(key for key in {*ours, *other} if ours.get(key) != other.get(key))
    cases = "; ".join(f"{key}: {ours.get(key)}, other {other.get(key)}" for key in keys[:3])
    return f"{len(keys):,} differ: {cases}" if keys else ""


@attrs.frozen
class Result:
    """The series of each library that has a program, and its answer."""

    question: Question
    series: dict[str, Series]
    answers: dict[str, Any]

    def outcome(self, library: str) -> str:
        """What is to be reported of another library: "" if its answer equals ours."""
        if library not in self.series:
            return "cannot"
        if self.series[library].failure:
            return "failed"
        return "differs" if difference(self.answers[OURS], self.answers[library]) else ""


def answered(
    question: Question, sources: Sources, libraries: Iterable[str], rounds: int, log: Callable[[str], None]
) -> Result:
    """The programs of a question, run in turn."""
    arguments = [getattr(sources, name) for name in question.arguments]
    answers: dict[str, Any] = {}

    def run(library: str, file: Path) -> Measure:
        environment = ENVIRONMENT if library == OURS else {}
        command = [python_of(library), "-c", _RUN, file, *arguments]
        done = watched(command, most_seconds=MOST_SECONDS, environment=environment)
        answers[library] = json.loads(done.printed)
        return Measure(done.seconds, done.cpu_seconds)

    files = {library: program(library, question) for library in libraries}
    contenders = [Contender(library, partial(run, library, file)) for library, file in files.items() if file]
    return Result(question, in_turn(contenders, rounds, log), answers)


# --- the sites ---------------------------------------------------------------------------------------------------


def make_sites(folder: Path, urls: int, servers: ExitStack) -> Sources:
    """Two sites with most pages in common, of which one lacks hreflang links, and six states of a growing site."""
    origins = {}
    for name, count in {"ours": urls * 9 // 10, "theirs": urls * 11 // 10}.items():
        root, port = folder / name, free_port()
        origins[name] = f"http://127.0.0.1:{port}"
        extensions = ("image", "news", "hreflang")
        make_site(
            root,
            base=origins[name],
            urls=count,
            per_document=urls // 10,
            extensions=extensions,
            layout="www",
            truth=False,
        )
        servers.enter_context(serve(root, port, folder / f"{name}-server"))
    # All links to German pages are left out; all dates are those of a build.
    replace(folder / "theirs" / "sitemaps" / "products-2.xml.gz", rb' *<xhtml:link [^>]*hreflang="de"[^>]*>\n', b"")
    replace(folder / "theirs" / "sitemaps" / "products-3.xml.gz", rb"<lastmod>[^<]*", b"<lastmod>2026-10-30")
    for number, day in enumerate(STATES):
        count = urls * (10 + number) // 20
        make_site(folder / "archive" / day, urls=count, per_document=urls, layout="www", truth=False)
    archive = folder / "archive" / "*" / "sitemaps" / "*.xml.gz"
    return Sources(*(f"{origins[name]}/{INDEX}" for name in ("ours", "theirs")), str(archive))


def replace(file: Path, pattern: bytes, text: bytes) -> None:
    file.write_bytes(gzip.compress(re.sub(pattern, text, gzip.decompress(file.read_bytes()))))


def serve_folders(folder: Path, given: dict[str, Path], archive: str, servers: ExitStack) -> Sources:
    """The sitemaps (XML) in the given folders, as sites with an index of them; indexes in them are left out."""
    urls = []
    for name, source in given.items():
        root, port = folder / name, free_port()
        root.mkdir()
        locs = []
        for file in sorted(source.glob("*.xml*")):
            body = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            if b"<urlset" in body:
                packed = file.with_suffix("").stem + ".xml.gz"
                (root / packed).write_bytes(gzip.compress(body))
                locs.append(f"<sitemap><loc>http://127.0.0.1:{port}/{packed}</loc></sitemap>")
        namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
        (root / INDEX).write_text(f'<sitemapindex xmlns="{namespace}">{"".join(locs)}</sitemapindex>')
        servers.enter_context(serve(root, port, folder / f"{name}-server"))
        urls.append(f"http://127.0.0.1:{port}/{INDEX}")
    return Sources(*urls, archive)


# --- output ------------------------------------------------------------------------------------------------------


def table(results: list[Result], libraries: list[str]) -> list[list[str]]:
    """A row for each question: lines and seconds of each library, and whether all give the same answer."""
    names = {each: f"{each} {version_of(each)}" for each in libraries}
    head = [
        "question",
        *(f"lines: {names[each]}" for each in libraries),
        *(f"CPU seconds: {each}" for each in libraries),
    ]
    return [[*head, "same answer"], *(row(result, libraries) for result in results)]


def row(result: Result, libraries: list[str]) -> list[str]:
    files = [program(each, result.question) for each in libraries]
    outcomes = {each: result.outcome(each) for each in libraries}
    notes = [f"{each} {outcome}" for each, outcome in outcomes.items() if outcome]
    return [
        result.question.text,
        *(str(lines_of(file)) if file else "-" for file in files),
        *(seconds(result.series, each) for each in libraries),
        ", ".join(notes) or "yes",
    ]


def seconds(series: dict[str, Series], library: str) -> str:
    """The median of its CPU time, and how many times ours that is, by the ratios of the rounds."""
    found = figures(series[library], "cpu") if library in series else []
    if not found:
        return "-"
    times = ratios(series[library], series[OURS], "cpu") if library != OURS else []
    return f"{median(found):.1f}" + (f" ({median(times):.1f} ×)" if times else "")


def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="small sites, one round, peers only if they are there")
    parser.add_argument("--urls", type=int, metavar="N", help="of a generated site (default: 50000, short 2000)")
    parser.add_argument(
        "--rounds", type=int, metavar="N", help=f"how often each program runs (default: {ROUNDS}, short 1)"
    )
    names = ",".join(each.name for each in QUESTIONS)
    parser.add_argument("--only", default=names, metavar="NAME,...", help="these questions (default: %(default)s)")
    parser.add_argument("--ours", type=Path, metavar="FOLDER", help="sitemaps of a site, in place of a generated one")
    parser.add_argument("--theirs", type=Path, metavar="FOLDER", help="those of another site")
    parser.add_argument("--archive", metavar="PATTERN", help="archived sitemaps, with dates in their names")
    parser.add_argument("--markdown", action="store_true", help=f"write the table into docs/{PAGE.name}")
    chosen = parser.parse_args(arguments)
    chosen.urls = chosen.urls or (2_000 if chosen.short else 50_000)
    chosen.rounds = chosen.rounds or (1 if chosen.short else ROUNDS)
    if (chosen.ours is None) != (chosen.theirs is None):
        parser.error("--ours and --theirs belong together")
    if chosen.markdown and (chosen.short or chosen.ours or chosen.only != names):
        parser.error("--markdown writes the table of all questions about generated sites")
    unknown = {*chosen.only.split(",")} - {*names.split(",")}
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}; there are: {names}")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    chosen = options(arguments)
    libraries = [OURS] if chosen.short and not are_made() else [*LIBRARIES]
    questions = [each for each in QUESTIONS if each.name in chosen.only.split(",")]
    folder = Path(tempfile.mkdtemp())
    results = []
    with ExitStack() as servers:
        servers.callback(shutil.rmtree, folder)
        if chosen.ours:
            given = {"ours": chosen.ours, "theirs": chosen.theirs}
            sources = serve_folders(folder, given, chosen.archive, servers)
            questions = [each for each in questions if chosen.archive or "archive" not in each.arguments]
        else:
            sources = make_sites(folder, chosen.urls, servers)
        for question in questions:
            print(question.text, file=sys.stderr, flush=True)
            log = partial(print, file=sys.stderr, flush=True)
            results.append(answered(question, sources, libraries, chosen.rounds, log))
    rows = table(results, libraries)
    print(aligned(rows))
    for result in results:
        for library, outcome in ((each, result.outcome(each)) for each in result.series):
            if outcome == "failed":
                print(f"{result.question.name}: {library}: {result.series[library].failure}")
            elif outcome == "differs":
                print(f"{result.question.name}: {library}: {difference(result.answers[OURS], result.answers[library])}")
    if chosen.markdown:
        write_page(
            {"questions": f"`python -m benchmarks.questions --rounds {chosen.rounds} --markdown`\n\n{markdown(rows)}"}
        )
    failed = [result.question.name for result in results if result.series[OURS].failure]
    print(f"over: no answer of ours: {', '.join(failed)}" if failed else f"ok  {len(results)} questions answered")
    return int(bool(failed))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without an error
    sys.exit(main())
