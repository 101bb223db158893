"""The output of `dump` is the same with any number of threads."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import BROKEN, SHOP, replay
from click.testing import Result
from kit import index, robots, run, urlset

pytestmark = pytest.mark.slow

A = "https://a.example"
SECONDS = "seconds"
DURATION = re.compile(r"[;,] \d[\d.]* s\b")
LARGE = 600  # entries of a document that is parsed in several calls


def entries(name: str, count: int = LARGE) -> bytes:
    locs = [f"{A}/{name}/{number}" for number in range(count)]
    return urlset(*((loc, f"20{n % 30:02}-05-01") if n % 2 == 0 else loc for n, loc in enumerate(locs)))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A site of several documents, some entries of which are listed twice."""
    names = ["one", "two", "three", "one"]
    pages = {f"{number}.xml": entries(name) for number, name in enumerate(names)}
    return replay(tmp_path / "large", {"robots.txt": robots(*(f"{A}/{page}" for page in pages)), **pages})


def reported(result: Result) -> list[str]:
    """Sorted stderr without durations: documents are read concurrently, so their order varies."""
    return sorted(DURATION.sub("", line) for line in result.stderr.splitlines())


def timeless(line: str) -> str:
    """A JSON line without its seconds."""
    form = json.loads(line)
    return json.dumps({name: value for name, value in form.items() if name != SECONDS})


@pytest.mark.parametrize("options", [
    ["-v"],
    ["-q", "--extras"],
    ["--unique", "--fields", "loc"],  # of two lines with the same URL either may come first
    ["--unique", "--fields", "loc", "--format", "csv"],
    ["--fields", "loc,lastmod,site", "--scope", "any"],
    ["--fields", "loc,line,images.loc", "--format", "tsv", "--no-follow", "news"],
    ["--format", "txt", "--include", "7", "--exclude", "77"],
    ["--format", "csv", "--until", "2010-01-01"],
    ["--since", "2010-01-01", "--undated", "drop"],
    ["--since", "2010-01-01"],
    ["--max-urls", "50"],
    ["--max-decoded-bytes", "9000"],
], ids=" ".join)
def test_output_and_messages_are_the_same_for_every_option(large: Path, use_cores: Any, options: list[str]) -> None:
    check_same(use_cores, SHOP, BROKEN, large, *options)


def test_output_and_messages_are_the_same_for_each_site(large: Path, use_cores: Callable[[int], None]) -> None:
    for site in (SHOP, BROKEN, large):
        check_same(use_cores, site)


def check_same(use_cores: Callable[[int], None], *arguments: str | Path) -> None:
    results = []
    for cores in (1, 4):
        use_cores(cores)
        results.append(run("dump", *arguments))
    one, several = results
    assert sorted(several.stdout.splitlines()) == sorted(one.stdout.splitlines())
    assert reported(several) == reported(one)
    assert several.exit_code == one.exit_code
    assert one.stdout


def test_parquet_is_the_same(tmp_path: Path, use_cores: Callable[[int], None]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = []
    for cores in (1, 4):
        use_cores(cores)
        file = tmp_path / f"{cores}.parquet"
        assert run("dump", SHOP, BROKEN, "-o", file).exit_code == 3
        table = parquet.read_table(file)
        rows.append((table.schema, sorted(map(repr, table.to_pylist()))))
    assert rows[0] == rows[1]


def test_reports_are_the_same(tmp_path: Path, use_cores: Callable[[int], None]) -> None:
    reports = []
    for cores in (1, 4):
        use_cores(cores)
        file = tmp_path / f"{cores}.jsonl"
        result = run("dump", SHOP, BROKEN, "--report", file)
        reports.append((sorted(map(timeless, file.read_text().splitlines())), len(result.stdout)))
        merged = run("dump", SHOP, BROKEN, "--report", "-").stdout.splitlines()
        assert len(merged) == len(result.stdout.splitlines()) + len(reports[-1][0])
    assert reports[0] == reports[1]


@pytest.mark.parametrize(
    ("limit", "format"), [*((limit, "jsonl") for limit in (1, 599, 600, 601, 2399, 2400)), (601, "csv")]
)
def test_a_limit_holds_exactly(large: Path, limit: int, format: str) -> None:
    result = run("dump", large, "--limit", str(limit), "--format", format)
    assert len(result.stdout.splitlines()) == limit + (format == "csv")
    assert f"{limit:,} URL" in result.stderr
    assert result.exit_code == 0


def test_unique_and_limit_go_together(large: Path) -> None:
    result = run("dump", large, "--unique", "--limit", "1700")
    locs = [json.loads(line)["loc"] for line in result.stdout.splitlines()]
    assert len(set(locs)) == len(locs) == 1700
    every = run("dump", large, "--unique")
    assert len(every.stdout.splitlines()) == 1800
    assert "600 listed again" in every.stderr


def test_undated_urls_are_counted_as_they_are_written(large: Path) -> None:
    result = run("dump", large, "--since", "2000-01-01")
    assert "note 1,200 URLs without a lastmod; --undated drop leaves them out" in result.stderr
    limited = run("dump", large, "--since", "2000-01-01", "--limit", "10")
    undated = sum(json.loads(line)["lastmod"] is None for line in limited.stdout.splitlines())
    assert f"note {undated} URLs without a lastmod" in limited.stderr


@pytest.mark.parametrize("newest", ["2025-01-01", "2030-06-01"])
def test_dates_count_wherever_a_document_is_read(tmp_path: Path, newest: str) -> None:
    names = [f"{A}/{number}.xml" for number in range(6)]
    locs = {name: [f"{name}/{number}" for number in range(LARGE)] for name in names}
    pages = {f"{n}.xml": urlset(*locs[name], lastmod=newest) for n, name in enumerate(names)}
    pages["sitemap.xml"] = index(*names, lastmod="2025-01-01")
    site = replay(tmp_path / "old", pages)
    result = run("dump", site, "--since", "2030-01-01", "-v")
    everything = run("dump", site, "--since", "2030-01-01", "--trust-lastmod", "never")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 6 * LARGE if newest > "2030" else 0)
    assert sorted(result.stdout.splitlines()) == sorted(everything.stdout.splitlines())
    assert ("warning D05 " in result.stderr) == (newest > "2030")
    assert ("3 sitemaps skipped: index lastmod before 2030-01-01, 3 others checked" in result.stderr) == (
        newest < "2030"
    )
    assert (f"done {A}/sitemap.xml: sitemapindex, 6 entries, 3 skipped" in result.stderr) == (newest < "2030")
    limited = run("dump", site, "--since", "2030-01-01", "--limit", "7")
    assert (limited.exit_code, limited.stdout.count("\n")) == (0, 7 if newest > "2030" else 0)
