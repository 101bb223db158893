import signal
from pathlib import Path

import pytest
from cli_runs import BROKEN, SHOP, SITES, refusal
from kit import HOST, Site, robots, run, urlset

from sitemap_reader.cli import PRECEDENCE, Exit, Interrupts, worst

DUMPS = ("urls.jsonl", "old/urls.jsonl", "urls.parquet", "sitemap.xml", "urls.jsonl.gz", "urls.jsonl.zst")
FOLLOW = ("--follow", "--no-follow")
LOGIN = SITES / "broken/https/broken.example/maps/login.xml"


@pytest.mark.parametrize(("arguments", "reported"), [
    ([], "sitemap-reader --help"),
    (["frob"], "No such command 'frob'"),
    (["dump"], "Missing argument 'TARGET...'"),
    (["dump", "--frob", "a.example"], "--frob"),
    (["dump", SHOP, "--limit", "0"], "--limit"),
    (["dump", SHOP, "--limit", "many"], "many"),
    (["dump", SHOP, "--concurrency", "0"], "--concurrency"),
    (["dump", SHOP, "--per-host", "-1"], "--per-host"),
    (["dump", SHOP, "--retries", "-1"], "--retries"),
    (["dump", SHOP, "--timeout", "0"], "number of seconds"),
    (["dump", SHOP, "--timeout", "nan"], "number of seconds"),
    (["dump", SHOP, "--max-wait", "inf"], "number of seconds"),
    (["dump", SHOP, "--max-depth", "-1"], "--max-depth"),
    (["dump", SHOP, "--max-urls", "0"], "--max-urls"),
    (["dump", SHOP, "--max-decoded-bytes", "0"], "write it as 500M"),
    (["parse", "-", "--max-decoded-bytes", "2x"], "'2x' is not a size"),
    (["parse", "-", "--max-wire-bytes", "0"], "write it as 500M"),
    (["dump", SHOP, "--scope", "planet"], "'protocol'"),
    (["dump", SHOP, "--probe", "maybe"], "'auto'"),
    (["dump", SHOP, "--undated", "guess"], "'keep'"),
    (["dump", SHOP, "-H", "no colon"], "'Name: value'"),
    (["dump", SHOP, "-H", "A: b\r\nC: d"], "'Name: value'"),
    (["dump", SHOP, "-A", "a\nb"], "cannot be sent"),
    (["dump", SHOP, "--since", "last week"], "7d"),
    (["dump", SHOP, BROKEN, "--since", "2026", "--until", "2025"], "no date can match"),
    (["dump", SHOP, "--delay", "1e300"], "1e+300 is too long; give 3600 seconds or less"),
    (["dump", SHOP, "-q", "-v"], "-q and -v"),
    (["dump", SHOP, "-o", "same", "--report", "./same"], "same file"),
    (["dump", str(SITES)], "was not written with --record (no site.toml)"),
    (["dump", "/nowhere/at/all/"], "no file or folder /nowhere/at/all/"),
    (["dump", str(LOGIN)], "sitemap-reader parse"),
    (["dump", "ftp://a.example/"], "ftp"),
    (["dump", "www.a.example/shop/"],
     "there is no file or folder www.a.example/shop/; if it is a page or a folder of a site, give its URL: "
     "https://www.a.example/shop/"),
    (["dump", "recordngs/"], "there is no file or folder recordngs/; a site is named by its host"),
    (["parse", str(SITES)], f"parse reads one file: `sitemap-reader dump {SITES} --base URL` reads it"),
    (["parse", SHOP], f"parse reads one file: `sitemap-reader dump {SHOP}` reads it"),
    (["dump", "recordngs"], "there is no file or folder recordngs; a site is named by its host"),
    (["dump", ""], "example.com"),
    (["dump", "-"], "stdin holds no target"),
    (["dump", SHOP, "--include", "("], "no regular expression"),
    (["dump", SHOP, "--no-follow", "*.xml"], "'--no-follow': '*.xml'"),
    (["dump", SHOP, "--proxy", "localhost:3128"], "error: --proxy: write it as http://HOST:PORT"),
    (["dump", SHOP, "--cacert", "no-such.pem"], "error: --cacert: no-such.pem cannot be read"),
    (["dump", SHOP, "--netrc-file", "no-such"], "no-such cannot be read: No such file"),
    (["dump", SHOP, "--max-crawl-delay", "301"], "'--max-crawl-delay': 301 is too long; give 300"),
    (["dump", SHOP, "--max-crawl-delay", "-1"], "not a duration"),
    (["dump", SHOP, "--format", "xlsx"], "'parquet'"),
    (["dump", SHOP, "--fields", "loc,lastmodd"], "lastmod"),
    (["dump", SHOP, "--fields", "loc,loc"], "--fields"),
    (["dump", SHOP, "--format", "csv", "--report", "-"], "--report FILE"),
    (["dump", SHOP, "-o", "x.sarif"], "x.sarif: .sarif is not a format of this command; give --format "),
    (["dump", SHOP, "--report", "report.csv"], "a report is JSONL"),
    (["dump", SHOP, "-o", "urls.json"], "JSON lines is .jsonl"),
    (["tree", SHOP, "-o", "urls.parquet"], "table|tsv|csv|jsonl"),
    (["dump", SHOP, "--since"], "see sitemap-reader dump --help"),
    (["dump", "./nope"], "no file or folder ./nope"),
    (["dump", "no-such-dump.jsonl"], "no file or folder no-such-dump.jsonl"),
    (["dump", "No-Such.XML"], "no file or folder No-Such.XML"),
    (["audit", "no-such.html"], "there is no file no-such.html"),
    (["stats", SHOP, SHOP], "unexpected extra argument"),
    (["diff", "one.jsonl"], "Missing argument 'NEW'"),
    (["diff", "-", "-"], "error: OLD and NEW cannot both be stdin; give a file for one of them"),
    (["diff", str(LOGIN), str(LOGIN)], "login.xml"),
    (["convert", str(LOGIN), "--format", "csv"], "login.xml:1"),
    *((["stats", name], f"error: there is no file {name}; ") for name in DUMPS),
    *((["stats", f"{SHOP}.jsonl", option, "x"], f"{option} chooses sitemaps") for option in FOLLOW),
    *(([command, "wort"], "example.com") for command in ("stats", "tree")),
    (["discover", "ftp://a.example/"], "ftp"),
    (["parse"], "Missing argument"),
    (["parse", "https://a.example/s.xml"], "sitemap-reader dump https://a.example/s.xml"),
    (["parse", "no-such-file.xml"], "No such file"),
    (["parse", SHOP], "sitemap-reader dump"),
    (["parse", "-", "--url", "s.xml"], "http"),
    (["parse", "-", "--scope", "protocol"], "give its url"),
    (["parse", "-", "--authority", "shop"], "https://example.com/shop/"),
])
def test_usage_error_is_one_line(arguments: list[str], reported: str) -> None:
    line = refusal(*arguments, stdin="")
    assert line.startswith("error: ")
    assert reported in line


@pytest.mark.parametrize("command", ["dump", "discover", "tree", "stats"])
@pytest.mark.parametrize(("target", "reported"), [
    ("no-such-host.invalid", "F04 http://no-such-host.invalid/robots.txt: {}: no such host; check the spelling"),
    ("https://no-such-host.invalid/s.xml", "F04 https://{}/robots.txt: {}: no such host; check the spelling"),
    ("127.0.0.1:9", "F13 http://127.0.0.1:9/robots.txt: 127.0.0.1 is a loopback address; --allow-private "),
])
def test_a_host_that_cannot_be_reached_is_one_error(command: str, target: str, reported: str) -> None:
    """Also over https and http, and without the advice to ignore robots.txt."""
    result = run(command, target)
    (error, *rest) = result.stderr.splitlines()
    assert error.startswith("error " + reported.replace("{}", "no-such-host.invalid"))
    assert not any(line.startswith(("error", "warning")) for line in rest)
    assert "--no-robots" not in result.stderr
    assert result.exit_code == 5
    quiet = run(command, target, "-q").stderr.splitlines()
    assert [line.startswith("error: no URL could be read from") for line in quiet] == [True]


@pytest.mark.parametrize(("arguments", "place"), [
    (["dump", SHOP, "-o", "/nowhere/urls.jsonl"], "/nowhere/urls.jsonl"),
    (["dump", SHOP, "--report", "/nowhere/report.jsonl"], "/nowhere/report.jsonl"),
    (["dump", SHOP, "-o", "/dev/full"], "/dev/full"),
    (["dump", BROKEN, "--report", "/dev/full"], "/dev/full"),
    (["dump", SHOP, "--record", "/dev/null/copy"], "/dev/null/copy"),
    (["discover", SHOP, "-o", "/dev/full"], "/dev/full"),
    (["tree", SHOP, "-o", "/dev/full"], "/dev/full"),
    (["parse", str(SITES / "shop/https/shop.example/sitemap_index.xml"), "-o", "/dev/full"], "/dev/full"),
])
def test_output_that_cannot_be_written_is_exit_6(arguments: list[str], place: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 6
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith(f"error: cannot write {place}: ")


def test_exit_codes_have_a_precedence() -> None:
    assert set(PRECEDENCE) == set(Exit)
    assert [worst(PRECEDENCE[i:]) for i in range(len(PRECEDENCE))] == list(PRECEDENCE)
    assert worst([]) == Exit.COMPLETE


def test_an_interrupt_waits_for_the_end_of_a_write() -> None:
    done = []

    def write(interrupts: Interrupts) -> None:
        with interrupts.deferred():
            signal.raise_signal(signal.SIGTERM)
            done.append("written")

    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            write(interrupts)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert done == ["written"]


def test_deferred_interrupt_is_raised_at_the_next_check() -> None:
    with Interrupts() as interrupts, interrupts.deferred():
        with interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()


def test_a_second_interrupt_does_not_wait() -> None:
    done = []

    def write(interrupts: Interrupts) -> None:
        with interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("written")

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        write(interrupts)
    assert done == []


def test_document_with_all_urls_out_of_scope_is_named(tmp_path: Path) -> None:
    document = tmp_path / "sitemap.xml"
    document.write_bytes(urlset("https://other.example/1"))
    result = run("parse", document, "--url", "https://e.example/sitemap.xml", "--scope", "protocol")
    assert "all its URLs are outside its scope: dropped" in result.stderr
    assert "--scope any" in result.stderr


@pytest.mark.parametrize(("number", "last"), [(5, []), (8, ["note 3 more documents: all URLs are outside the scope"])])
def test_only_five_documents_with_all_urls_out_of_scope_are_named(number: int, last: list[str], tmp_path: Path) -> None:
    names = [f"{HOST}/{each}.xml" for each in range(number)]
    pages: dict[str, bytes] = {name: urlset("https://other.example/1") for name in names}
    folder = Site({"/robots.txt": robots(*names), **pages}).write(tmp_path)
    result = run("dump", folder)
    notes = [line for line in result.stderr.splitlines() if line.startswith("note ")]
    assert [line for line in notes if "dropped; --scope any" not in line] == last
    assert len(notes) == 5 + len(last)
