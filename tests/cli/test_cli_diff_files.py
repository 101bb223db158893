"""`diff` of sitemap files, lists of URLs and tables; and pipes, which are read once, in place of files."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cli_runs import PROGRAM, refusal, without_seconds
from kit import dump, gz, index, objects, run, urlset

import sitemap_reader as sr
from sitemap_reader.cli import Exit

BASE = "https://a.example"
OLD = [f"{BASE}/a", f"{BASE}/b", f"{BASE}/c"]
NEW = [f"{BASE}/b", f"{BASE}/c", f"{BASE}/d"]
# The rows of a CSV dump, and of exports.
DUMPED = "loc,lastmod,lastmod_precision,priority,sitemap\n" + "".join(
    f"{loc},2026-01-02T00:00:00Z,day,0.5,{BASE}/s.xml\n" for loc in NEW
)
EXPORTED = '"Address","Status Code","Title 1"\n' + "".join(f'"{loc}","200","One, two"\n' for loc in NEW)
unix = pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes with names")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def changes(old: str | Path, new: str | Path) -> list[str]:
    """`new /d`, `removed /a`."""
    result = run("diff", old, new, "--format", "jsonl")
    assert result.exit_code == Exit.COMPLETE, result.output
    return [f"{each['change']} {each['loc'].removeprefix(BASE)}" for each in objects(result.stdout)]


def written(name: str, body: str | bytes) -> str:
    Path(name).write_bytes(body.encode() if isinstance(body, str) else body)
    return name


@pytest.mark.parametrize(("name", "body"), [
    ("new.xml", urlset(*NEW)),
    ("new.xml.gz", gz(urlset(*NEW))),
    ("misnamed.jsonl", urlset(*NEW)),
    ("new.xml", b"\n<!-- a -->" + urlset(*NEW)),
    ("new.txt", "\n".join(NEW)),
    ("new.txt", "\ufeff" + "\r\n".join(NEW) + "\r\n"),
    ("new.txt.gz", gz("\n".join(NEW).encode())),
    ("new.csv", DUMPED),
    ("new.csv.gz", gz(DUMPED.encode())),
    ("new.tsv", DUMPED.replace(",", "\t")),
    ("excel.csv", "\ufeff" + EXPORTED.replace('","', '";"')),
    ("internal_all.csv", EXPORTED),
    ("internal_all.csv", f"Internal - All\n{EXPORTED}".encode("utf-16")),
    ("pages.csv", "Top pages,Clicks\n" + "".join(f"{loc},1\n" for loc in NEW)),
    ("url.csv", "URL\n" + "\n\n".join(NEW)),
])  # fmt: skip
def test_any_file_of_urls_is_compared(name: str, body: str | bytes) -> None:
    old = written("old.xml", urlset(*OLD))
    assert changes(old, written(name, body))[-1] == "removed /a"
    assert {f"new {'/d'}", "removed /a"} <= {*changes(old, name)}
    with sr.diff(old, name) as found:
        assert (found.counts.new, found.counts.removed) == (1, 1)


def test_what_a_sitemap_states_is_compared() -> None:
    old, new = (written(f"{day}.xml", urlset(BASE, lastmod=f"2026-01-0{day}")) for day in (1, 2))
    assert changes(old, new) == ["updated /"]


def test_of_a_list_only_the_urls_are_compared() -> None:
    """Or each URL with a date would be an update."""
    result = run("diff", written("old.xml", urlset(*OLD, lastmod="2026-01-01")), written("old.txt", "\n".join(OLD)))
    assert (result.stdout, without_seconds(result.stderr).splitlines()) == ("", [
        "note old.txt has no lastmod, lastmod_precision, changefreq, priority: compared is loc",
        "0 new, 0 updated, 0 removed; 3 unchanged; N s",
    ])  # fmt: skip


def test_a_table_states_what_its_columns_do() -> None:
    dumped = dump(Path("dump.jsonl"), *(
        sr.from_json({"loc": loc, "lastmod": "2026-01-02T00:00:00Z", "lastmod_precision": "day", "priority": 0.5})
        for loc in NEW
    ))  # fmt: skip
    assert changes(dumped, written("same.csv", DUMPED)) == []
    assert changes(dumped, written("other.csv", DUMPED.replace("0.5", "0.7", 1))) == ["updated /b"]
    assert changes(dumped, written("moved.csv", DUMPED.replace("-02T", "-03T", 1))) == ["updated /b"]


@pytest.mark.parametrize(("name", "body", "reported"), [
    ("i.xml", index(f"{BASE}/s.xml"),
     "i.xml is a sitemap index, which lists sitemaps and no pages; give a dump: `sitemap-reader dump HOST` reads all"),
    ("page.xml", "<html><body>404</body></html>", "no URL could be read from page.xml: F05 "),
    ("bad.csv", "url,status\n/a,200\n", "bad.csv has no row with the URL of a page; '/a' is none; give absolute URLs"),
    ("latin.csv", "url,title\nhttps://a.example/,é\n".encode("latin-1"), "latin.csv is not UTF-8: save it as UTF-8"),
    ("words.txt", "hello\n", "no URL could be read from words.txt"),
    ("cut.csv.gz", gz(DUMPED.encode() * 99)[:-30], "cut.csv.gz is damaged, or cut ("),
    ("book.xlsx", b"PK\x03\x04..", "book.xlsx:1: no JSON object: 'PK\\x03\\x04..'; it is packed: unpack it first"),
    ("wide.csv", f'url,text\n{BASE}/,"{"x" * 200_000}"\n', "wide.csv:2: this row cannot be read (field larger than"),
])  # fmt: skip
def test_what_cannot_be_compared_is_named(name: str, body: str | bytes, reported: str) -> None:
    old, bad = written("old.xml", urlset(*OLD)), written(name, body)
    for arguments in ((old, bad), (bad, old)):
        assert refusal("diff", *arguments).startswith(f"error: {reported}")


def test_a_damaged_sitemap_is_compared_with_a_note() -> None:
    cut = urlset(*OLD, *(f"{BASE}/{number}" for number in range(9)))[:-70]
    result = run("diff", written("old.xml", urlset(*OLD)), written("cut.xml", cut))
    assert "note cut.xml: 1 document could be read in part only; what is missing counts as removed" in result.stderr


@unix
def test_pipes_of_a_shell_are_read_once_and_whole() -> None:
    """Sniffing them lost the first bytes, and every URL was removed."""
    dump(Path("a.jsonl"), *map(sr.UrlRecord, [f"{BASE}/{number}" for number in range(3_000)]))
    diff = " ".join([*PROGRAM, "diff"])
    for command in (
        f"{diff} a.jsonl <(cat a.jsonl)",
        f"{diff} <(cat a.jsonl) <(cat a.jsonl)",
        f"{diff} <(gzip -c a.jsonl) <(head -1 a.jsonl; sleep 0.05; tail -n +2 a.jsonl)",
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
        assert (done.stdout, without_seconds(done.stderr)) == (
            "", "0 new, 0 updated, 0 removed; 3,000 unchanged; N s\n"
        )  # fmt: skip


def feed(pipe: str, body: bytes) -> threading.Thread:
    """Writes a pipe with a name as a program beside this one does."""
    writer = threading.Thread(target=lambda: Path(pipe).write_bytes(body), daemon=True)
    os.mkfifo(pipe)
    writer.start()
    return writer


@unix
def test_a_fifo_may_hold_any_file_of_urls() -> None:
    for number, body in enumerate([urlset(*NEW), gz(urlset(*NEW)), EXPORTED.encode(), "\n".join(NEW).encode()]):
        writer = feed(f"new{number}", body)
        assert changes(written("old.xml", urlset(*OLD)), f"new{number}") == ["new /d", "removed /a"]
        writer.join()


@unix
def test_one_program_may_write_both_pipes() -> None:
    """The second begins when the first is read, so neither may be opened too early."""
    for name in ("one", "two"):
        os.mkfifo(name)
    body = urlset(*(f"{BASE}/{number}" for number in range(9_000)))
    threading.Thread(target=lambda: [Path(name).write_bytes(body) for name in ("one", "two")], daemon=True).start()
    assert changes("one", "two") == []


@unix
def test_the_same_pipe_twice_is_refused() -> None:
    os.mkfifo("pipe")
    assert refusal("diff", "pipe", "pipe") == "error: OLD and NEW are the same pipe; give another file for one of them"


@unix
def test_a_baseline_may_be_a_pipe_of_any_file() -> None:
    """It is read again for the places of removed URLs."""
    Path("site").mkdir()
    written("site/sitemap.xml", urlset(f"{BASE}/new"))
    listed = [f"{BASE}/{number}" for number in range(20)]
    for number, body in enumerate([urlset(*listed), "\n".join(listed).encode()]):
        feed(f"pipe{number}", body)
        options = ("--base", BASE, "--baseline", f"pipe{number}", "--select", "X01", "--format", "csv", "-q")
        result = run("audit", "site", *options)
        assert result.stdout.count(f"is no longer listed; 20 of 20 URLs of pipe{number}") == 20, result.output


def test_a_sitemap_file_as_baseline_is_no_sitemap_that_has_vanished() -> None:
    Path("site").mkdir()
    written("site/sitemap.xml", urlset(*OLD))
    for name, body in (("old.xml", urlset(*OLD)), ("old.csv", EXPORTED), ("old.txt", "\n".join(OLD))):
        report = sr.audit("site", base=BASE, baseline=written(name, body), select="X")
        assert {finding.code for finding in report.findings} <= {"X01"}
        assert report.rules["X01"] == ""
