"""codes.toml, docs/problems.md and the corpus agree: the examples of a code are what their files give.

Every code is shown by a case of the corpus (reported by the parser), a replayed site (by the crawl) or a site of
corpus/audit/ (by the audit); the others are in NOT_IN_THE_CORPUS, with the test that shows them.
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import pytest
from corpus_cases import CORPUS, Case, cases
from kit import Site, urlset

import sitemap_reader as sr
from sitemap_reader import Problem, explain
from sitemap_reader.checks import IMPACTS, PAGE_CODES, SEVERITIES
from sitemap_reader.model import (
    CATALOGUE,
    CODES,
    PROTOCOL_MAX_BYTES,
    PROTOCOL_MAX_ENTRIES,
    RAISE_VARIABLE,
    internal_problem,
    placed,
)

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / "tests" / "checks"), str(ROOT / "tests" / "state")]

import audit_cases  # noqa: E402
from changing_sites import Document, World, entries  # noqa: E402

TEXT = (ROOT / "docs" / "problems.md").read_text("utf-8")
SITES = sorted(path.name for path in (CORPUS / "sites").iterdir() if path.is_dir())
AUDITS = {case.name: case for case in audit_cases.cases() if case.name in CATALOGUE}

EXPLANATIONS = [explain(code) for code in CATALOGUE]
EXAMPLES = [(doc.code, example) for doc in EXPLANATIONS for example in doc.examples]
REPORTERS = frozenset({"parser", "crawl", "fetch", "state", "audit"})
WIDTH = 80


@attrs.frozen
class Elsewhere:
    """A test that shows a code instead of a file, the reason, the reporter, and a function that gives its line."""

    file: str
    test: str
    why: str
    reporter: str
    problems: Callable[[], Sequence[Problem]]


def _parsed(entries: int, length: int = 0) -> Sequence[Problem]:
    return sr.parse(_urlset(entries, length), url="https://example.com/large.xml").problems


def _followed(change: Callable[[World], None], *names: str) -> Sequence[Problem]:
    """The problem of a synced site of sitemaps with so many pages each, which changes after its first run."""
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


def _withheld() -> Sequence[Problem]:
    """The problem of a host that answers on http only, for a target with https."""
    silent = sr.FetchError("no answer", transient=False)
    network = Site({"https://shop.example/robots.txt": silent, "http://shop.example/robots.txt": b"User-agent: *\n"})
    with (
        sr.urls("shop.example", fetcher=network, headers={"X-Key": "k"}, probe="never") as stream,
        pytest.raises(sr.NothingReadable),
    ):
        list(stream)
    return tuple(stream.problems.samples)


def _unlisted() -> Sequence[Problem]:
    with TemporaryDirectory() as folder:
        for name in ("sitemap.xml", "sitemap-fr.xml"):
            (Path(folder) / name).write_bytes(urlset(f"https://www.example.com/{name}"))
        (finding,) = sr.audit(folder, base="https://www.example.com", select="S18").findings
    return finding.samples


def _internal() -> Problem:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(RAISE_VARIABLE, raising=False)
        problem = internal_problem(ZeroDivisionError("division by zero"))
    return placed(problem, sitemap="https://example.com/odd.xml")


NOT_IN_THE_CORPUS = {
    "F08": Elsewhere(
        "tests/parser/test_document.py",
        "test_more_bytes_than_the_protocol_allows_are_read_and_reported",
        "a document of more than 50 MiB",
        "parser",
        lambda: _parsed(1000, PROTOCOL_MAX_BYTES + 1),
    ),
    "F16": Elsewhere(
        "tests/test_credentials.py",
        "test_http_fallback_sends_no_credentials_and_is_reported_once",
        "a recording is sent no headers",
        "crawl",
        _withheld,
    ),
    "S03": Elsewhere(
        "tests/parser/test_document.py",
        "test_more_entries_than_the_protocol_allows_are_read_and_reported",
        "more than 50,000 entries, and as many lines of expectation",
        "parser",
        lambda: _parsed(PROTOCOL_MAX_ENTRIES + 1),
    ),
    "S17": Elsewhere(
        "tests/test_internal_errors.py",
        "test_entries_before_an_internal_error_are_kept",
        "no document is known that leads to one",
        "parser",
        lambda: [_internal()],
    ),
    "S18": Elsewhere(
        "tests/checks/test_search_engines.py",
        "test_sitemaps_of_a_build_that_nothing_lists",
        "a recording has no other files",
        "audit",
        _unlisted,
    ),
    "X01": Elsewhere(
        "tests/state/test_sync.py",
        "test_removals_that_are_held_back_say_why",
        "two runs, and a site that changes in between",
        "state",
        lambda: _followed(_shrink, "a2002"),
    ),
    "X02": Elsewhere(
        "tests/state/test_sync.py",
        "test_child_dropped_by_a_complete_index_is_gone_at_once",
        "two runs, and a site that changes in between",
        "state",
        lambda: _followed(lambda site: site.listed.remove("a.xml"), "a3", "b3"),
    ),
}


# --- problems of files ---


@cache
def case_problems(path: Path) -> tuple[Problem, ...]:
    return tuple(item for item in Case(path).items() if isinstance(item, Problem))


@cache
def site_problems(name: str) -> tuple[Problem, ...]:
    with sr.urls(CORPUS / "sites" / name) as stream:
        assert list(stream)
    return tuple(stream.problems.samples)


@cache
def audit_problems(name: str) -> tuple[Problem, ...]:
    return tuple(problem for finding in AUDITS[name].report().findings for problem in finding.samples)


def expected_codes(expectation: Path) -> set[str]:
    """The codes in the expectation of a file, which test_corpus.py or checks/test_audit_corpus.py compares."""
    lines = [json.loads(line) for line in expectation.read_bytes().splitlines()]
    return {line["code"] for line in lines if "code" in line}


@cache
def codes_of_cases() -> frozenset[str]:
    return frozenset(code for case in cases() for code in expected_codes(case.expectation))


@cache
def codes_of_sites() -> frozenset[str]:
    return frozenset(problem.code for name in SITES for problem in site_problems(name))


@cache
def codes_of_audits() -> frozenset[str]:
    """The code in the name of each site: an audit also reports those of the parser and the crawl."""
    return frozenset(name for name, case in AUDITS.items() if name in expected_codes(case.expectation))


def problems_of(code: str, file: str) -> Sequence[Problem]:
    """All problems of a file: of a case, or of the site of a file by its crawl or its audit."""
    if file.startswith("tests/"):
        assert NOT_IN_THE_CORPUS[code].file == file
        return NOT_IN_THE_CORPUS[code].problems()
    _, group, name, *_ = file.split("/")
    if group in (of_folders := {"sites": site_problems, "audit": audit_problems}):
        return of_folders[group](name)
    return case_problems(ROOT / file.removesuffix(".toml"))


def render_text(path: Path) -> str:
    """The file as text; decompressed as far as possible."""
    body = path.read_bytes()
    if body.startswith(b"\x1f\x8b"):
        body = zlib.decompressobj(wbits=31).decompress(body)
    return body.decode("utf-8", "replace")


def without_indents(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def pattern_of(snippet: str) -> re.Pattern[str]:
    """A pattern of whole lines, without the tags around them; "…" matches anything, alone any number of lines."""
    lines = ["(?:.*\n)*.*" if line == "…" else re.escape(line).replace("…", ".*") for line in snippet.splitlines()]
    return re.compile("\n".join(rf"^(?:.*>)?{line}(?:<.*)?$" for line in lines), re.MULTILINE)


# --- explanations ---


def test_each_row_of_the_table_begins_with_what_the_catalogue_has() -> None:
    rows = tomllib.loads(CODES.read_text("utf-8"))
    heads = [(code, row["severity"], row["title"]) for code, row in rows.items()]
    assert heads == [(code, rule.severity, rule.title) for code, rule in CATALOGUE.items()]
    assert {severity for _, severity, _ in heads} == {*SEVERITIES}


def test_columns_for_the_audit_have_known_values() -> None:
    assert {doc.impact for doc in EXPLANATIONS} | {"notice"} == {*IMPACTS}
    assert {doc.compares for doc in EXPLANATIONS} == {"", "URLs", "shares"}
    assert {doc.found_in for doc in EXPLANATIONS} == {"sitemap", "document"}
    assert {doc.code for doc in EXPLANATIONS if doc.faulty_urls and doc.short_title} == {*PAGE_CODES}
    needs = {"pages", "checked pages", "a crawl", "a baseline", "two crawls", "headers", "robots.txt", "sitemaps"}
    needs |= {"the whole site", "the time of the request", "what an index states"}
    assert {each for doc in EXPLANATIONS for each in doc.needs} == needs


def test_nothing_is_left_out() -> None:
    for doc in EXPLANATIONS:
        assert re.fullmatch(r"\S(?:(?![.!?] ).)*\.", doc.rule), f"{doc.code}: the rule is one sentence"
        assert re.fullmatch(r"\S.*\.", doc.why), doc.code
        assert re.fullmatch(r"[A-Z].*\.", doc.fix), doc.code
        assert re.fullmatch(r"https://\S+|convention: .*[^.]", doc.source), doc.code
        assert re.fullmatch(r"([A-Z`].*\.)?", doc.tool), doc.code
        assert doc.examples, doc.code


def test_the_site_comes_before_the_program() -> None:
    for doc in EXPLANATIONS:
        first = re.split(r"(?<=\.) ", doc.why)[0]
        assert not re.search(r"`--|\b(?:dropped|reported|recorded|kept|this reader|the run)\b", first), doc.code
        assert not re.search(r"feedparser|`--|`Limits", f"{doc.rule} {doc.why} {doc.fix}"), doc.code


def test_code_in_a_text_is_marked_at_both_ends() -> None:
    for doc in EXPLANATIONS:
        for text in (doc.rule, doc.why, doc.fix, doc.tool):
            assert text.count("`") % 2 == 0, doc.code
            assert not re.search(r"<\w", re.sub("`[^`]*`", "", text)), f"{doc.code}: a page would take it for a tag"


@pytest.mark.parametrize("code", ["D03", "d03", " D03 "])
def test_a_code_is_found_in_any_case(code: str) -> None:
    assert explain(code).code == "D03"


@pytest.mark.parametrize(("code", "kin"), [
    ("D99", "D01 to D08"),
    ("l1", "did you mean L01"),
    ("f6", "did you mean F06"),
    ("s6", "did you mean S06"),
    ("F016", "did you mean F16"),
    ("", "C01 to C15, D01"),
    ("é", "F01 to "),
])
def test_unknown_code_is_refused_and_codes_are_named(code: str, kin: str) -> None:
    with pytest.raises(sr.UsageError, match=f'^"{code}" is not a code; .*{kin}'):
        explain(code)


def test_the_text_for_a_terminal_is_plain_and_narrow() -> None:
    for doc in EXPLANATIONS:
        text = str(doc)
        assert text.startswith(f"{doc.severity} {doc.code}: {doc.title}\n\n")
        assert text.endswith(doc.source) or doc.source.startswith("convention: "), doc.code
        assert not re.search(r"`|\*\*|\n\n\n|[ \n]\Z", text), doc.code
        assert [line for line in text.splitlines() if len(line) > WIDTH] in ([], [doc.source]), doc.code


def test_the_text_for_a_terminal_has_all_but_further_examples() -> None:
    for doc in EXPLANATIONS:
        text = " ".join(str(doc).split())
        for part in (doc.rule, doc.why, doc.fix, doc.tool, doc.source, *(each.line for each in doc.examples[:1])):
            assert " ".join(part.replace("`", "").split()) in text, doc.code


# --- the page ---


def test_the_page_is_what_the_script_would_write() -> None:
    checked = subprocess.run([sys.executable, ROOT / "scripts" / "write_problem_docs", "--check"], check=False)
    assert checked.returncode == 0, "run scripts/write_problem_docs"


def test_every_code_has_a_section_and_a_line_of_the_table() -> None:
    assert re.findall(r"^### (.+)$", TEXT, re.MULTILINE) == list(CATALOGUE)
    rows = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| (\w+) \| (.+) \|$", TEXT, re.MULTILINE)
    assert rows == [(code, code.lower(), rule.severity, rule.title) for code, rule in CATALOGUE.items()]


def test_every_code_has_a_row_beside_the_search_engines() -> None:
    page = (ROOT / "docs" / "search-engines.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\(problems\.md#\w+\) (.+?) \|(?: [^|]+ \|){5}$", page, re.MULTILINE)
    assert dict(rows) == {code: rule.title for code, rule in CATALOGUE.items()}


def test_every_source_beside_the_search_engines_has_a_url() -> None:
    page = (ROOT / "docs" / "search-engines.md").read_text("utf-8")
    sources = set(re.findall(r"^\[([^\]]+)\]: https?://", page, re.MULTILINE))
    cited = set(re.findall(r"\[([^\]]+)\](?![(:])", page))
    assert cited == sources


def test_no_unknown_code_is_mentioned() -> None:
    assert set(re.findall(r"\b[A-Z][0-9]{2}\b", TEXT)) == set(CATALOGUE)


def test_the_page_has_each_example_with_a_link_to_its_file() -> None:
    assert re.findall(r"^\[.+\]\(\.\./(.+)\)", TEXT, re.MULTILINE) == [example.file for _, example in EXAMPLES]
    assert all(re.search(rf"^`{re.escape(example.line)}`$", TEXT, re.MULTILINE) for _, example in EXAMPLES)


# --- the examples and the corpus ---


def test_a_snippet_is_in_its_file() -> None:
    for code, example in EXAMPLES:
        text = render_text(ROOT / example.file)
        if example.snippet:
            snippet = pattern_of(without_indents(example.snippet))
            assert snippet.search(without_indents(text)), f"{code}: {example.file}"
        else:
            assert text == "" or example.file.startswith("tests/"), f"{code}: {example.file}"


@pytest.mark.slow
def test_example_line_is_reported_for_its_file() -> None:
    differing = {}
    for code, example in EXAMPLES:
        folder = f"{CORPUS / 'audit' / code}/"  # a crawl file has no URL, but a path
        problems = problems_of(code, example.file)
        given = [str(problem).replace(folder, "") for problem in problems if problem.code == code]
        if example.line not in given:
            differing[code, example.file] = (example.line, given)
    assert differing == {}


def test_reporters_are_those_that_report_a_code() -> None:
    seen = {"parser": codes_of_cases(), "audit": codes_of_audits()}
    for doc in EXPLANATIONS:
        by = {name for name, codes in seen.items() if doc.code in codes}
        if elsewhere := NOT_IN_THE_CORPUS.get(doc.code):
            by.add(elsewhere.reporter)
        assert doc.reporters, doc.code
        assert set(doc.reporters) <= REPORTERS, doc.code
        assert set(doc.reporters) - {"crawl", "fetch"} == by - {"crawl"}, doc.code
        assert by or doc.code in codes_of_sites(), doc.code


def test_every_code_is_shown_by_a_case_or_a_site_or_a_test() -> None:
    by_reading = codes_of_cases() | codes_of_sites()
    shown = by_reading | codes_of_audits()
    assert shown <= set(CATALOGUE)
    assert shown | set(NOT_IN_THE_CORPUS) == set(CATALOGUE)
    assert not by_reading & set(NOT_IN_THE_CORPUS)


@pytest.mark.parametrize("code", NOT_IN_THE_CORPUS)
def test_a_code_that_no_file_shows_has_a_test_that_names_it(code: str) -> None:
    elsewhere = NOT_IN_THE_CORPUS[code]
    tree = ast.parse((ROOT / elsewhere.file).read_text("utf-8"))
    tests = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    test = tests[elsewhere.test]
    assert code in {node.value for node in ast.walk(test) if isinstance(node, ast.Constant)}
    assert any(f"`{elsewhere.test}`" in example.note for example in explain(code).examples)


async def test_recorded_refusal_equals_the_fetcher_error() -> None:
    """A replay gives the error in its file, which must be that of the fetcher."""
    async with sr.fetch.AiohttpFetcher(user_agent="sitemap-reader") as fetcher:
        with pytest.raises(sr.FetchError) as caught:
            await fetcher.fetch("http://10.0.0.7/sitemap.xml", {}).__aenter__()
    recorded = CORPUS / "sites" / "trouble" / "http" / "10.0.0.7" / "sitemap.xml.headers"
    assert recorded.read_text("utf-8") == (
        f"replay-error: {caught.value.code} {caught.value.message}\nreplay-remedy: {caught.value.remedy}\n"
    )


def test_the_advice_fits_the_cause() -> None:
    """A redirect loop is not a network failure; an empty body needs other advice than a log."""
    loop = explain("F04")
    assert "redirect loop" in loop.title
    assert "redirect loop: let the url answer with the document itself" in " ".join(loop.fix.lower().split())
    assert loop.fix.index("redirect loop") < loop.fix.index("write it to a file")
    assert "curl -v" in explain("F11").fix
    assert {"404", "410"} <= set(re.findall(r"\d+", explain("F01").why))
