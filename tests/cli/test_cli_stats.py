"""`stats`: inputs, output and exit codes. tests/test_statistics.py has the counts."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from cli_runs import SHOP, SITES, refusal, replay
from click.testing import Result
from kit import dump, gz, objects, run, urlset

from sitemap_reader.cli import panels, percent
from sitemap_reader.client import Screen
from sitemap_reader.statistics import Fact

A = "https://a.example"
LINE = json.dumps({"loc": f"{A}/x"})
DUMP = f"{SHOP}.jsonl"


def facts(result: Result) -> dict[tuple[str, str], int]:
    """(group, name) -> count of TSV."""
    header, *rows = (line.split("\t") for line in result.stdout.splitlines())
    assert header == ["group", "name", "count", "share"]
    return {(group, name): int(count) for group, name, count, _ in rows}


def ageless(facts: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Facts without ages, which count from the time of a recording; a dump does not state that time."""
    return {key: count for key, count in facts.items() if key[0] != "lastmod within"}


# --- inputs ---


def test_a_dump_gives_the_facts_of_its_site_but_for_those_of_the_run() -> None:
    dumped, site = ageless(facts(run("stats", DUMP))), ageless(facts(run("stats", SHOP)))
    of_run = {"sitemaps", "sitemaps format", "sitemaps bytes"}
    assert {key: count for key, count in site.items() if key[0] not in of_run} == dumped
    assert {group for group, _ in site} - {group for group, _ in dumped} == of_run


def test_ages_in_a_recording_count_from_its_time() -> None:
    within = {name: count for (group, name), count in facts(run("stats", SHOP)).items() if group == "lastmod within"}
    assert within == {"7 days": 58, "30 days": 137, "365 days": 521}


@pytest.mark.parametrize("site", ["shop", "broken", "nesting", "trouble", "cross-submission"])
def test_a_dump_with_its_report_gives_the_facts_of_the_run(site: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(run("dump", SITES / site, "--report", "-").stdout_bytes)
    assert ageless(facts(run("stats", whole))) == ageless(facts(run("stats", SITES / site)))


def test_a_gzipped_dump_is_a_dump(tmp_path: Path) -> None:
    packed = tmp_path / "urls.jsonl.gz"
    packed.write_bytes(gz(LINE.encode()))
    assert facts(run("stats", packed))["urls", "listed"] == 1


def test_stdin_is_a_dump() -> None:
    result = run("stats", "-", stdin=LINE + "\n")
    assert facts(result)["urls", "listed"] == 1
    assert result.stderr.startswith("1 URL in stdin; ")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_with_a_name_is_a_dump(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(LINE + "\n",))
    writer.start()
    assert facts(run("stats", pipe))["urls", "listed"] == 1
    writer.join()


@pytest.mark.parametrize(("options", "listed"), [
    (["--until", "2026-08-01", "--undated", "drop"], 360),
    (["--include", "/en/"], 130),
    (["--include", "/en/", "--include", "/de/"], 260),
    (["--exclude", "/(en|de|fr)/"], 250),
])
def test_dates_and_patterns_filter_a_dump_like_a_site(options: list[str], listed: int) -> None:
    of_dump, of_site = (facts(run("stats", target, *options))["urls", "listed"] for target in (DUMP, SHOP))
    assert (of_dump, of_site) == (listed, listed)


# --- output ---


def test_json_has_a_line_for_each_fact() -> None:
    first, *rest = objects(run("stats", DUMP, "--format", "jsonl").stdout)
    assert first == {"type": "statistic", "group": "urls", "name": "listed", "count": 640, "share": None}
    assert {tuple(each) for each in rest} == {tuple(first)}


def test_suspicious_date_is_reported_with_its_share(tmp_path: Path) -> None:
    dated = [(f"{A}/{number}", "2026-11-01" if number else "2026-10-01") for number in range(50)]
    result = run("stats", replay(tmp_path, {"sitemap.xml": urlset(*dated)}), "--format", "table")
    assert "most common 2026-11-01 49 98.0%" in " ".join(result.stdout.split())


ALTERNATE = {"hreflang": "de", "href": A, "media": None}
HOSTILE = {
    "loc": f"{A}/\x1b[31m/x",
    "sitemap": "\x1b]0;title\x07",
    "alternates": [{**ALTERNATE, "hreflang": "d\u202ee\tx"}],
}
HOSTILE_WORDS = [{"changefreq": "\x9b31m\nnever"}, {"problems": [{"code": "\x1b[2J", "field": None, "raw": None}]}]


@pytest.mark.parametrize("format", ["table", "tsv"])
def test_text_of_a_site_is_escaped_in_tables(format: str) -> None:
    result = run("stats", "-", "--format", format, stdin=json.dumps(HOSTILE))
    assert result.exit_code == 0
    plain = run("stats", "-", "--format", format, stdin=json.dumps({**HOSTILE, "alternates": [ALTERNATE]}))
    assert len(result.stdout.splitlines()) == len(plain.stdout.splitlines())
    assert all(char.isprintable() for char in result.stdout if char not in "\n\t")


@pytest.mark.parametrize("words", HOSTILE_WORDS)
def test_words_that_no_record_has_are_an_error_in_printable_text(words: dict[str, Any]) -> None:
    line = refusal("stats", "-", stdin=json.dumps({**HOSTILE, **words}))
    assert line.startswith("error: stdin:1: ")
    assert line.isprintable()


# --- exit codes and errors ---


def test_a_dump_without_a_url_exits_4(tmp_path: Path) -> None:
    empty = dump(tmp_path / "empty.jsonl")
    result = run("stats", empty)
    assert (result.exit_code, result.stdout) == (4, "")
    assert f"error: {empty} lists no URL\n" in result.stderr
    assert f"error: {DUMP} lists no URL that matches the filters\n" in run("stats", DUMP, "--include", "nowhere").stderr


@pytest.mark.parametrize(("name", "body", "reported"), [
    ("sitemap.xml", urlset(f"{A}/"), "is a file: `sitemap-reader parse"),
    ("sitemap.xml.gz", gz(urlset(f"{A}/")), "is a file: `sitemap-reader parse"),
    ("urls.txt", f"{A}/\n".encode(), "that is a list of URLs"),
    ("cut.jsonl", f'{LINE}\n{{"loc": "htt'.encode(), ":2: the last line is cut"),
    ("odd.jsonl", f'{LINE}\n\n{{"loc": "{A}", "lastmod": "yesterday"}}\n'.encode(), ":3: URL record: Invalid"),
    ("number.jsonl", f'{{"loc": "{A}", "priority": "high"}}\n'.encode(), ":1: URL record: Expected `float"),
])
def test_invalid_dump_is_a_usage_error(name: str, body: bytes, reported: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(body)
    assert reported in refusal("stats", file)


# --- panels ---


@pytest.mark.parametrize(("share", "reported"), [
    (0.0, "0%"), (1e-6, "<0.1%"), (0.001, "0.1%"), (0.125, "12.5%"), (0.999999, ">99.9%"), (1.0, "100%"), (None, ""),
])
def test_shares_show_0_and_100_only_if_exact(share: float | None, reported: str) -> None:
    assert percent(Fact("g", "n", 0 if share == 0 else 1, share)) == reported


TWO = [Fact("urls", "listed", 1_200), Fact("urls with", "images", 60, 0.05), Fact("hosts", "a.example", 1_200, 1.0)]


@pytest.mark.parametrize(("columns", "lines"), [
    (80, ["urls                          hosts", "  listed       1,200            a.example  1,200  100%"]),
    (10, ["urls", "  listed       1,200", "  with images     60  5.0%", "", "hosts", "  a.example    1,200  100%"]),
])
def test_panels_take_two_columns_where_they_fit(columns: int, lines: list[str]) -> None:
    assert list(panels(TWO, Screen(columns=columns)))[: len(lines)] == lines


def test_panels_of_no_groups_are_empty() -> None:
    assert list(panels([], 80)) == []
