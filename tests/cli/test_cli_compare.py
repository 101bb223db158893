"""`compare`: sites, files and archives on one page; errors that name what is wrong; nothing read is lost."""

from pathlib import Path

import pytest
from kit import dump, run

import sitemap_reader as sr
from sitemap_reader.cli import Exit

pytest.importorskip("altair")

MARKET = Path(__file__).parents[2] / "corpus" / "market"


def lines(path: Path, host: str, count: int) -> Path:
    return dump(path, *(sr.UrlRecord(f"https://{host}/{each}") for each in range(count)))


@pytest.mark.slow
def test_sites_and_files_are_compared(tmp_path: Path) -> None:
    page = tmp_path / "market.html"
    rival = lines(tmp_path / "rival.jsonl", "rival.example", 3)
    result = run("compare", f"{MARKET / 'tealeaf'}/", rival, "-o", page)
    assert (result.exit_code, result.stdout) == (Exit.COMPLETE, "")
    assert result.stderr.startswith("106 pages of 2 sites; ")
    html = page.read_text("utf-8")
    assert "What others have and tealeaf.example has not" in html
    assert "Pages with a path that no page of tealeaf.example has: 100% (3 of 3 pages)" in html


@pytest.mark.slow
def test_states_in_time_have_their_growth(tmp_path: Path) -> None:
    for day in (1, 2):
        lines(tmp_path / f"2026-05-0{day}.jsonl", "a.example", day)
    result = run("compare", tmp_path / "*.jsonl", "--at", "name", "-o", tmp_path / "growth.html")
    assert result.exit_code == Exit.COMPLETE
    assert "From 1 to 2 pages (+1, +100%) in 1 day" in (tmp_path / "growth.html").read_text("utf-8")


@pytest.mark.slow
def test_a_part_that_cannot_be_read_is_a_note_and_exit_3(tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    known = lines(tmp_path / "a.jsonl", "a.example", 2)
    result = run("compare", known, "127.0.0.1:1", "--allow-private", "--retries", "0", "-o", page)
    assert result.exit_code == Exit.PARTIAL
    assert "connection refused by 127.0.0.1:1" in result.stderr
    assert result.stderr.splitlines()[-1] == "partial: some sitemaps could not be read (exit 3)"
    assert "connection refused" in page.read_text("utf-8")


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["127.0.0.1:1", "--allow-private", "--retries", "0"], Exit.UNREADABLE, "connection refused by 127.0.0.1:1"),
    (["missing.jsonl"], Exit.USAGE, "there is no file or folder missing.jsonl"),
    (["example.com", "--at", "2026-01-01"], Exit.USAGE, "error: --at is for files, and example.com is a site"),
    (["a.xml", "--at", "never"], Exit.USAGE, "Invalid value for '--at': 'never' is neither a date"),
    (["a.xml", "--at", "name"], Exit.USAGE, "as --at name needs: "),
    (["a.xml", "--at", "name"], Exit.USAGE, "or give --at the time itself"),
    (["a.xml", "--scope", "protocol"], Exit.USAGE, "error: --scope protocol compares each URL with"),
    (["a.xml", "--scope", "protocol"], Exit.USAGE, "--scope host and --scope domain keep"),
    (["a.jsonl", "--scope", "host"], Exit.USAGE, "error: --scope is for sitemaps, and a.jsonl holds"),
])
def test_nothing_read_is_an_error_and_no_page(
    arguments: list[str], code: Exit, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "m.html"
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "a.jsonl", "a.example", 1)
    (tmp_path / "a.xml").write_text("<urlset><url><loc>https://a.example/</loc></url></urlset>")
    result = run("compare", *arguments, "-o", page)
    assert (result.exit_code, page.exists()) == (code, False)
    assert words in result.stderr
    for python in ("Traceback", "=", "load()", "snapshot()"):
        assert python not in result.stderr


@pytest.mark.slow
def test_notes_name_options(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("https://a.example/1\nhttps://a.example/2\nhttps://b.example/\n")
    result = run("compare", tmp_path / "a.txt", "--scope", "host", "-o", tmp_path / "m.html")
    assert "out of scope: 1 dropped (host 1; --scope any keeps it)" in result.stderr


def test_file_that_is_damaged_is_reported_once(tmp_path: Path) -> None:
    damaged = tmp_path / "a.jsonl"
    damaged.write_text('{"loc":"https://a.example/"}\nhello\n')
    result = run("compare", damaged, "-o", tmp_path / "m.html")
    assert (result.exit_code, result.stderr.count("no JSON object")) == (Exit.USAGE, 1)
    assert not (tmp_path / "m.html").exists()


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page of an earlier run, in the working folder."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    page.write_text("yesterday's\n")
    return page


def test_an_interrupt_before_the_page_is_written_keeps_the_earlier_one(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("sitemap_reader.analysis.report.render_report", interrupted)
    result = run("compare", lines(Path("a.jsonl"), "a.example", 2), "-o", earlier)
    assert (result.exit_code, earlier.read_text()) == (Exit.INTERRUPTED, "yesterday's\n")


def test_files_without_a_url_are_exit_4_and_keep_the_earlier_page(earlier: Path) -> None:
    files = [lines(Path(name), "a.example", 0) for name in ("a.jsonl", "b.jsonl")]
    for given in (files[:1], files):
        result = run("compare", *given, "-o", earlier)
        assert (result.exit_code, earlier.read_text()) == (Exit.NOTHING, "yesterday's\n")
        assert result.stderr.splitlines()[-1] == f"error: there is no URL in {', '.join(map(str, given))}"


@pytest.mark.parametrize("name", ["page.pdf", "page.csv", "page.json", "page.csv.gz", "page.2026"])
def test_the_page_is_html(earlier: Path, name: str) -> None:
    result = run("compare", lines(Path("a.jsonl"), "a.example", 1), "-o", name)
    assert (result.exit_code, Path(name).exists()) == (Exit.USAGE, False)
    assert result.stderr == f"error: -o {name}: the page is HTML: give a name in .html\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["page.HTM", "page.html.gz", "page"])
def test_names_that_the_page_may_have(earlier: Path, name: str) -> None:
    assert run("compare", lines(Path("a.jsonl"), "a.example", 1), "-o", name).exit_code == Exit.COMPLETE
    assert Path(name).exists()
