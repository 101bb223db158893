"""A file that a command reads is never one that it writes, whichever options name it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runs import refusal
from kit import run, urlset
from tiers import needs

from sitemap_reader.cli import Exit

BASE = ("--base", "https://a.example")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of each kind that commands read; `link.jsonl` and `hard.jsonl` are other names of urls.jsonl."""
    before, folder = Path.cwd(), tmp_path_factory.mktemp("files")
    os.chdir(folder)
    Path("one.xml").write_bytes(urlset("https://a.example/1"))
    Path("hosts.txt").write_text("127.0.0.1:1\n")
    Path("crawl.csv").write_text("url,status\nhttps://a.example/1,200\n")
    for words in (["-o", "urls.jsonl"], ["-o", "other.jsonl"], ["--record", "site.warc.gz"]):
        assert run("dump", "one.xml", *BASE, *words).exit_code == Exit.COMPLETE
    assert run("sync", "one.xml", *BASE, "--state", "state.db").exit_code == Exit.COMPLETE
    assert run("audit", "one.xml", *BASE, "--findings", "known.jsonl").exit_code == Exit.COMPLETE
    Path("link.jsonl").symlink_to("urls.jsonl")
    os.link("urls.jsonl", "hard.jsonl")
    yield folder
    os.chdir(before)


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.mark.parametrize(("words", "name"), [
    ("compare urls.jsonl other.jsonl -o urls.jsonl", "urls.jsonl"),
    ("compare urls.jsonl other.jsonl -o link.jsonl", "urls.jsonl"),
    ("compare other.jsonl link.jsonl -o hard.jsonl", "link.jsonl"),
    ("compare state.db -o state.db", "state.db"),
    ("compare site.warc.gz -o site.warc.gz", "site.warc.gz"),
    ("compare one.xml -o ./one.xml", "one.xml"),
    ("convert urls.jsonl -o ./urls.jsonl", "urls.jsonl"),
    ("convert urls.jsonl -o link.jsonl", "urls.jsonl"),
    ("convert urls.jsonl -o hard.jsonl", "urls.jsonl"),
    ("diff urls.jsonl other.jsonl -o urls.jsonl", "urls.jsonl"),
    ("diff other.jsonl urls.jsonl -o link.jsonl", "urls.jsonl"),
    ("stats link.jsonl -o hard.jsonl", "link.jsonl"),
    ("parse one.xml -o one.xml", "one.xml"),
    ("parse one.xml --report one.xml", "one.xml"),
    ("dump site.warc.gz --format csv -o site.warc.gz", "site.warc.gz"),
    ("dump one.xml --base https://a.example --format csv -o one.xml", "one.xml"),
    ("dump one.xml --base https://a.example --record one.xml", "one.xml"),
    ("tree site.warc.gz --format tsv -o site.warc.gz", "site.warc.gz"),
    ("discover site.warc.gz -o site.warc.gz", "site.warc.gz"),
    ("sync one.xml --base https://a.example --state new.db -o new.db", "new.db"),
    ("sync one.xml --base https://a.example --state state.db -o one.xml", "one.xml"),
    ("sync one.xml --base https://a.example --state state.db -o state.db", "state.db"),
    ("sync one.xml --base https://a.example --state state.db --report state.db", "state.db"),
    ("sync --history --state state.db -o state.db", "state.db"),
    ("audit urls.jsonl --format jsonl -o urls.jsonl", "urls.jsonl"),
    ("audit urls.jsonl --baseline other.jsonl -o other.jsonl", "other.jsonl"),
    ("audit urls.jsonl --baseline other.jsonl --findings other.jsonl", "other.jsonl"),
    ("audit urls.jsonl --crawl crawl.csv --findings crawl.csv", "crawl.csv"),
    ("audit urls.jsonl --crawl crawl.csv --format csv -o crawl.csv", "crawl.csv"),
    ("audit urls.jsonl --crawl other.jsonl --baseline-crawl crawl.csv -o crawl.csv", "crawl.csv"),
    ("audit urls.jsonl --state state.db --format json -o state.db", "state.db"),
    ("audit urls.jsonl --known known.jsonl --findings known.jsonl", "known.jsonl"),
    ("audit one.xml --base https://a.example -o one.xml", "one.xml"),
    ("audit one.xml --base https://a.example --also one.xml", "one.xml"),
    ("audit 127.0.0.1:1 --check-urls 2 --baseline urls.jsonl --save-checks hard.jsonl", "urls.jsonl"),
    ("watch hosts.txt --state new.db --to new.db", "new.db"),
    ("watch hosts.txt --state state.db --to other.jsonl --to state.db", "state.db"),
    ("watch hosts.txt --state state.db --to hosts.txt", "hosts.txt"),
])
def test_a_file_that_is_read_is_not_written(words: str, name: str) -> None:
    if words.startswith("compare"):
        needs("altair")
    before = contents()
    assert refusal(*words.split()) == f"error: {name} is read and written at once; write to another file"
    assert contents() == before


def test_targets_on_stdin_are_compared_too() -> None:
    before = contents()
    line = refusal("dump", "-", "--format", "csv", "-o", "site.warc.gz", stdin="site.warc.gz\n")
    assert line == "error: site.warc.gz is read and written at once; write to another file"
    assert contents() == before


def test_results_of_checks_are_added_to_the_crawl() -> None:
    words = ["audit", "one.xml", *BASE, "--check-urls", "1", "--fail-on", "never", "--save-checks", "checks.jsonl"]
    assert run(*words).exit_code == Exit.COMPLETE
    assert run(*words, "--crawl", "checks.jsonl").exit_code == Exit.COMPLETE


def test_a_host_may_have_the_name_of_its_output() -> None:
    result = run("dump", "127.0.0.1:1", "--allow-private", "--retries", "0", "-o", "127.0.0.1:1")
    assert result.exit_code == Exit.UNREADABLE
