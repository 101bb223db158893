"""`diff`: output, messages, and exit codes."""

import gzip
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_runs import PROGRAM, SHOP, refusal, without_seconds
from kit import dump, objects, run

import sitemap_reader as sr
from sitemap_reader.cli import Exit
from sitemap_reader.compare import diff as comparison

DAY, LATER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
OLD = [
    {"loc": "https://a.example/", "lastmod": DAY, "lastmod_precision": "day", "priority": 0.5},
    {"loc": "https://a.example/dated", "lastmod": DAY, "lastmod_precision": "day", "priority": 0.5},
    {"loc": "https://a.example/gone", "lastmod": "2025-01-01T00:00:00Z", "lastmod_precision": "year"},
    {"loc": "https://a.example/undated", "priority": 0.5},
]
NEW = [
    {"loc": "https://a.example/fresh", "lastmod": "2026-02-03T04:05:06Z", "lastmod_precision": "second"},
    {"loc": "https://a.example/", "lastmod": DAY, "lastmod_precision": "day", "priority": 0.5},
    {"loc": "https://a.example/dated", "lastmod": "2026-02-01T08:30:00Z", "lastmod_precision": "minute"},
    {"loc": "https://a.example/undated", "lastmod": LATER, "lastmod_precision": "day", "priority": 0.5},
]
TABLE = """\
+ https://a.example/fresh
~ https://a.example/dated  lastmod 2026-01-01 -> 2026-02-01T08:30Z, priority
~ https://a.example/undated  lastmod none -> 2026-02-01
- https://a.example/gone
"""
TSV = """\
change	loc	lastmod	previous_lastmod	changed
new	https://a.example/fresh	2026-02-03T04:05:06Z\t\t
updated	https://a.example/dated	2026-02-01T08:30:00Z	2026-01-01T00:00:00Z	lastmod,lastmod_precision,priority
updated	https://a.example/undated	2026-02-01T00:00:00Z\t	lastmod,lastmod_precision
removed	https://a.example/gone	2025-01-01T00:00:00Z\t\t
"""
SUMMARY = "1 new, 2 updated, 1 removed; 1 unchanged; N s\n"


def lines(forms: list[dict[str, Any]], site: str | None = None) -> bytes:
    return b"".join(sr.json_line(sr.from_json(form), site=site) for form in forms)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return dump(tmp_path / "old.jsonl", *map(sr.from_json, OLD))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return dump(tmp_path / "new.jsonl", *map(sr.from_json, NEW))


# --- output ---


def test_changes_are_jsonl_without_a_terminal(old: Path, new: Path) -> None:
    result = run("diff", old, new)
    changes = objects(result.stdout)
    assert [(change["change"], change["loc"][18:]) for change in changes] == [
        ("new", "fresh"), ("updated", "dated"), ("updated", "undated"), ("removed", "gone"),
    ]  # fmt: skip
    assert changes[1]["changed"] == ["lastmod", "lastmod_precision", "priority"]
    assert changes[1]["previous_lastmod"] == "2026-01-01T00:00:00Z"
    assert [sr.to_dict(sr.from_json(change)) for change in changes] == changes
    assert (result.exit_code, without_seconds(result.stderr)) == (Exit.COMPLETE, SUMMARY)


@pytest.mark.parametrize(("format", "expected"), [("table", TABLE), ("tsv", TSV)])
def test_changes_as_text_and_as_tsv(format: str, expected: str, old: Path, new: Path) -> None:
    result = run("diff", old, new, "--format", format)
    assert (result.exit_code, result.stdout) == (Exit.COMPLETE, expected)


@pytest.mark.slow
def test_a_terminal_gets_the_table(old: Path, new: Path) -> None:
    reading, writing = pty.openpty()
    env = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen([*PROGRAM, "diff", old, new], stdout=writing, stderr=subprocess.PIPE, env=env) as child:
        _, reported = child.communicate(timeout=60)
    shown = os.read(reading, 1 << 16).decode().replace("\r\n", "\n")
    os.close(reading)
    os.close(writing)
    assert (child.returncode, shown, without_seconds(reported.decode())) == (0, TABLE, SUMMARY)


def test_control_characters_are_escaped(tmp_path: Path, old: Path) -> None:
    evil = dump(tmp_path / "evil.jsonl", {**OLD[0], "loc": "https://a.example/\x1b[31m\n- x"})
    result = run("diff", old, evil, "--format", "table")
    assert result.stdout.splitlines()[0] == r"+ https://a.example/\x1b[31m\n- x"


def test_several_sites_have_a_column(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_bytes(lines(OLD[:1], "one.example") + lines(OLD[:1], "two.example"))
    two.write_bytes(lines(OLD[:1], "two.example") + lines(NEW[:1], "two.example"))
    assert run("diff", one, two, "--format", "tsv").stdout.splitlines() == [
        "site\tchange\tloc\tlastmod\tprevious_lastmod\tchanged",
        "two.example\tnew\thttps://a.example/fresh\t2026-02-03T04:05:06Z\t\t",
        "one.example\tremoved\thttps://a.example/\t2026-01-01T00:00:00Z\t\t",
    ]
    changes = objects(run("diff", one, two).stdout)
    assert [(change["change"], change["site"], list(change)[-1]) for change in changes] == [
        ("new", "two.example", "site"), ("removed", "one.example", "site"),
    ]  # fmt: skip


def test_on_lastmod_ignores_other_fields(tmp_path: Path, old: Path) -> None:
    new = tmp_path / "new.jsonl"
    new.write_bytes(lines([{**OLD[0], "priority": 0.9}, *OLD[1:]]))
    assert "1 updated" in run("diff", old, new).stderr
    result = run("diff", old, new, "--on", "lastmod", "--exit-code")
    assert (result.exit_code, result.stdout) == (Exit.COMPLETE, "")


# --- inputs and outputs ---


@pytest.mark.parametrize(
    ("format", "header"), [("jsonl", ""), ("table", ""), ("tsv", "change\tloc\tlastmod\tprevious_lastmod\tchanged\n")]
)
def test_same_dump_twice_has_no_differences(format: str, header: str, old: Path) -> None:
    result = run("diff", old, old, "--format", format, "--exit-code")
    assert (result.exit_code, result.stdout) == (Exit.COMPLETE, header)
    assert without_seconds(result.stderr) == "0 new, 0 updated, 0 removed; 4 unchanged; N s\n"


@pytest.mark.parametrize(("arguments", "change"), [(("-", "old"), "removed"), (("old", "-"), "new")])
def test_one_of_them_may_be_stdin(arguments: tuple[str, str], change: str, old: Path) -> None:
    typed = [str(old) if name == "old" else name for name in arguments]
    result = run("diff", *typed, stdin=lines(OLD) + lines(NEW[:1]))
    assert [(line["change"], line["loc"]) for line in objects(result.stdout)] == [(change, NEW[0]["loc"])]


def test_packed_dumps_and_parquet_are_read(tmp_path: Path, old: Path, new: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "old.gz").write_bytes(gzip.compress(old.read_bytes()))
    assert run("convert", new, "-o", tmp_path / "new.parquet").exit_code == 0
    assert run("diff", tmp_path / "old.gz", tmp_path / "new.parquet").stdout == run("diff", old, new).stdout


def test_dumps_of_a_site_are_compared_as_they_come(tmp_path: Path) -> None:
    dumped = tmp_path / "urls.jsonl"
    assert run("dump", SHOP, "-o", dumped).exit_code == 0
    assert run("diff", dumped, "-", "--exit-code", stdin=run("dump", SHOP).stdout_bytes).exit_code == Exit.COMPLETE


def test_output_is_replaced_even_without_changes(tmp_path: Path, old: Path, new: Path) -> None:
    out = tmp_path / "changes.jsonl"
    assert run("diff", old, new, "-o", out).stdout == ""
    assert out.read_text() == run("diff", old, new).stdout
    run("diff", old, old, "-o", out)
    assert out.read_bytes() == b""


# --- messages ---


def test_exit_code_option_reports_differences(old: Path, new: Path) -> None:
    assert run("diff", old, new, "--exit-code").exit_code == Exit.THRESHOLD == 1
    assert run("diff", old, new).exit_code == Exit.COMPLETE


def test_quiet_writes_nothing_to_stderr(old: Path, new: Path) -> None:
    assert run("diff", old, new, "-q").stderr == ""
    assert run("diff", old, "-", "-q", stdin="").stderr == ""


def test_limits_of_the_comparison_are_noted(old: Path) -> None:
    result = run("diff", old, "-", stdin="")
    assert without_seconds(result.stderr).splitlines() == [
        "note stdin is empty: every URL of the other counts as removed",
        "0 new, 0 updated, 4 removed; 0 unchanged; N s",
    ]
    result = run("diff", "-", old, stdin='{"loc":"https://a.example/","lastmod":null}\n')
    assert result.stderr.splitlines()[0] == (
        "note stdin has no lastmod_precision, changefreq, priority: compared is loc, lastmod"
    )


@pytest.mark.parametrize(("body", "reported"), [
    ('{"type":"problem"}', " has no URL, only lines of other types (1 of type problem): compare dumps of URLs"),
    ('{"type":"problem"}\n{"type":"outcome"}\n{"type":"problem"}\n',
     " has no URL, only lines of other types (2 of type problem, 1 of type outcome): compare dumps of URLs"),
    ('{"type":"change","loc":"a"}', ":1: that is a list of changes, and no dump: compare the dumps instead"),
    ('{"loc":"a"}\n{"type":"change","change":"new","loc":"a"}\n',
     ":2: that is a list of changes, and no dump: compare the dumps instead"),
    ('{"loc":"a"}\n{"loc":"b","lastmod":"yesterday"}\n',
     ":2: URL record: Invalid RFC3339 encoded datetime - at `$.lastmod`"),
])
def test_invalid_dump_is_one_line_with_the_file(body: str, reported: str, tmp_path: Path, old: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(body)
    for arguments in ((bad, old), (old, bad)):
        assert refusal("diff", *arguments) == f"error: {bad}{reported.replace('{}', str(bad))}"


def test_files_that_are_not_there_are_named(tmp_path: Path, old: Path) -> None:
    for name, reported in (("nothing.jsonl", "there is no file {}; "), ("", "{} is a folder, and a dump is a file: ")):
        path = str(tmp_path / name)
        line = refusal("diff", old, path)
        assert line.startswith(f"error: {reported.replace('{}', path)}")
        assert "`sitemap-reader dump " in line


# --- sums ---


def sited(*sections: tuple[str, int], sitemap: str | None = None) -> list[sr.UrlRecord]:
    return [
        sr.UrlRecord(f"https://a.example/{name}/{number}", sitemap=sitemap or f"{name}.xml")
        for name, count in sections
        for number in range(count)
    ]


@pytest.fixture
def sections(tmp_path: Path) -> tuple[Path, Path]:
    before = dump(tmp_path / "before.jsonl", *sited(("blog", 60), ("shop", 4), ("help", 2)))
    return before, dump(tmp_path / "after.jsonl", *sited(("blog", 15), ("shop", 5), ("help", 2)))


def test_removed_urls_are_summed_by_section_and_sitemap(sections: tuple[Path, Path]) -> None:
    assert without_seconds(run("diff", *sections).stderr).splitlines() == [
        "note section /blog/: 45 removed of 60",
        "note sitemap blog.xml: 45 removed of 60",
        "1 new, 0 updated, 45 removed; 21 unchanged; N s",
    ]
    with sr.diff(*sections) as changes:
        assert [(each.name, each.before, each.removed, each.new) for each in changes.sections] == [
            ("/blog/", 60, 45, 0), ("/shop/", 4, 0, 1)
        ]  # fmt: skip


def test_the_table_ends_with_the_sums(sections: tuple[Path, Path]) -> None:
    result = run("diff", *sections, "--format", "table")
    assert result.stdout.endswith("""- https://a.example/blog/59

section  before  removed  new
/blog/       60       45    0
/shop/        4        0    1

sitemap   before  removed  new
blog.xml      60       45    0
shop.xml       4        0    1
""")
    assert "section" not in result.stderr


def test_the_sections_that_lost_most_are_on_stderr(tmp_path: Path) -> None:
    before = dump(tmp_path / "before.jsonl", *sited(*((name, number) for number, name in enumerate("abcdefgh", 1))))
    after = dump(tmp_path / "after.jsonl", *sited(("other", 3)))
    lines = run("diff", before, after).stderr.splitlines()
    assert lines[:6] == [
        *(f"note section /{'_abcdefgh'[number]}/: {number} removed of {number}" for number in (8, 7, 6, 5, 4)),
        "note 3 more of these; --format table has all",
    ]


def test_languages_are_no_sections_and_repeated_urls_count_once(tmp_path: Path) -> None:
    urls = sited(*((f"{language}/{name}", 3) for language in ("de", "fr") for name in ("blog", "shop")))
    before = dump(tmp_path / "before.jsonl", *urls, *urls)
    after = dump(tmp_path / "after.jsonl", *(each for each in urls if "blog" not in each.loc))
    assert run("diff", before, after).stderr.splitlines()[0] == "note section /blog/: 6 removed of 6"


def test_a_site_of_one_section_and_sitemap_has_no_sums(tmp_path: Path) -> None:
    before, after = (dump(tmp_path / f"{size}.jsonl", *sited(("blog", size))) for size in (9, 5))
    assert without_seconds(run("diff", before, after).stderr) == "0 new, 0 updated, 4 removed; 5 unchanged; N s\n"


# --- failures ---


def test_a_full_temporary_folder_is_exit_6(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: Path) -> None:
    monkeypatch.setattr(comparison, "_SCHEMA", f"{comparison._SCHEMA} PRAGMA max_page_count = 20;")
    many = dump(tmp_path / "many.jsonl", *({"loc": f"https://a.example/{number}"} for number in range(5000)))
    result = run("diff", old, many)
    assert result.exit_code == Exit.UNWRITABLE
    assert result.stderr == (
        "error: cannot write the temporary folder: database or disk is full; TMPDIR can name another; "
        "free some space, or write elsewhere\n"
    )
