from importlib import import_module
from pathlib import Path

import pytest
from cli_runs import SITES, locs, process
from corpus_cases import CORPUS, Case, cases_by_group, fallback
from kit import feed, gz, index, objects, run, urlset

from sitemap_reader import iter_parse, json_line
from sitemap_reader.pipeline import feedparser_fallback

A = "https://a.example"


@pytest.mark.parametrize("name", ["mended.xml", "offhost.xml", "cut.xml.gz", "login.xml"])
def test_report_to_stdout_is_every_item_in_document_order(name: str) -> None:
    path = SITES / "broken/https/broken.example/maps" / name
    url = f"https://broken.example/maps/{name}"
    items = iter_parse([path.read_bytes()], url=url, feed_fallback=feedparser_fallback)
    result = run("parse", path, "--url", url, "--report", "-")
    assert result.stdout_bytes == b"".join(map(json_line, items))
    assert objects(result.stdout)[-1]["type"] == "outcome"


def test_urls_go_to_stdout_and_problems_to_stderr(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    file.write_bytes(urlset(f"{A}/1", (f"{A}/2", "Mon")))
    result = run("parse", file)
    assert locs(result.stdout) == [f"{A}/1", f"{A}/2"]
    assert result.stderr.splitlines()[0] == f'error D01 {file}:3: lastmod "Mon" is no date'
    assert f"2 URLs in {file} (urlset); 1 problem" in result.stderr
    assert result.exit_code == 0


def test_an_index_gives_sitemap_lines() -> None:
    result = run("parse", "-", stdin=index(f"{A}/1.xml", f"{A}/2.xml"))
    listed = [(line["type"], line["loc"]) for line in objects(result.stdout)]
    assert listed == [("sitemap", f"{A}/1.xml"), ("sitemap", f"{A}/2.xml")]
    assert "2 sitemaps in stdin (sitemapindex)" in result.stderr


def test_url_resolves_relative_urls() -> None:
    result = run("parse", "-", "--url", f"{A}/maps/s.xml", stdin=urlset("page"))
    assert locs(result.stdout) == [f"{A}/maps/page"]
    assert objects(result.stdout)[0]["sitemap"] == f"{A}/maps/s.xml"


def test_content_type_is_checked() -> None:
    assert "F06" in run("parse", "-", "--content-type", "text/html", stdin=urlset(f"{A}/1")).stderr
    assert "F06" not in run("parse", "-", "--content-type", "text/xml", stdin=urlset(f"{A}/1")).stderr


@pytest.mark.parametrize(("options", "names"), [
    ([], "shop/1 shopping other"),
    (["--scope", "any"], "shop/1 shopping other"),
    (["--scope", "protocol", "--url", f"{A}/shop/s.xml"], "shop/1"),
    (["--scope", "protocol", "--authority", f"{A}/shop"], "shop/1"),
    (["--scope", "protocol", "--authority", "HTTPS://A.example:443"], "shop/1 shopping other"),
    (["--scope", "protocol", "--authority", f"{A}/shop/", "--authority", f"{A}/other/"], "shop/1"),
    (["--scope", "host", "--url", f"{A}/shop/s.xml"], "shop/1 shopping other"),
])
def test_scope_judges_by_url_and_authorities(options: list[str], names: str) -> None:
    result = run("parse", "-", *options, stdin=urlset(f"{A}/shop/1", f"{A}/shopping", f"{A}/other"))
    assert locs(result.stdout) == [f"{A}/{name}" for name in names.split()]
    assert result.exit_code == 0


def test_output_and_report_go_to_files(tmp_path: Path) -> None:
    text = urlset((f"{A}/1", "Mon"))
    result = run("parse", "-", "-o", tmp_path / "urls", "--report", tmp_path / "report", stdin=text)
    assert result.stdout == ""
    assert locs((tmp_path / "urls").read_text()) == [f"{A}/1"]
    assert [line["type"] for line in objects((tmp_path / "report").read_text())] == ["problem", "outcome"]


def test_quiet_and_verbose() -> None:
    text = urlset((f"{A}/1", "Mon"))
    assert run("parse", "-", "-q", stdin=text).stderr == ""
    assert "done stdin: urlset, 1 entry" in run("parse", "-", "-v", stdin=text).stderr


def test_a_feed_is_read_by_the_fallback_where_the_parser_gets_nothing() -> None:
    no_text = feed('<item><link href="https://a.example/1"/></item>')
    result = run("parse", "-", "--url", f"{A}/feed", "--report", "-", stdin=no_text)
    assert objects(result.stdout)[-1]["format"] == "rss"


@pytest.mark.parametrize(("body", "code", "reported"), [
    (urlset(f"{A}/1"), 0, "1 URL in stdin"),
    (gz(urlset(f"{A}/1")), 0, "1 URL in stdin"),
    (gz(urlset(*(f"{A}/{n}" for n in range(2000))))[:-100], 3, "partial: "),
    (urlset(), 4, "error: stdin lists no URL"),
    (b"", 5, "F11"),
    (b"<html><body>no</body></html>", 5, "F05"),
    (b"{}", 5, "S15"),
    (b"\x1f\x8b\x08", 5, "F07"),
])
def test_exit_codes_of_a_document(body: bytes, code: int, reported: str) -> None:
    result = run("parse", "-", stdin=body)
    assert result.exit_code == code
    assert reported in result.stderr
    assert sum(line.startswith("error: ") for line in result.stderr.splitlines()) == (code in (4, 5))


CASES = cases_by_group()


def command_of(case: Case) -> list[str | Path]:
    """The command that prints the expectation of a case."""
    options = case.options
    named = [name for name in ("url", "content_type", "scope") if name in options]
    words = [word for name in named for word in (f"--{name.replace('_', '-')}", options[name])]
    words += ["--extras"] * bool(options.get("extras"))
    authorities = [word for prefix in options.get("authorities", ()) for word in ("--authority", prefix)]
    return ["parse", case.path, "--report", "-", "-q", *words, *authorities]


@pytest.mark.slow
@pytest.mark.parametrize("group", CASES)
def test_the_cases_of_a_group_print_their_expectations(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug report is two files: the second is what this command prints."""
    monkeypatch.setattr(import_module("sitemap_reader.cli.parse"), "feedparser_fallback", fallback)
    for case in CASES[group]:
        if "limits" not in case.stated:
            assert run(*command_of(case)).stdout == case.expectation.read_text("utf-8"), case.name


@pytest.mark.slow
def test_a_process_prints_what_feedparser_found() -> None:
    case = Case(CORPUS / "fallback" / "capital-atom.xml")
    result = process(*command_of(case))
    assert result.stdout == case.expectation.read_text("utf-8")
    assert '"loc":' in result.stdout


@pytest.mark.parametrize(("option", "value", "code", "read"), [
    ("--max-urls", "3", 0, 3), ("--max-urls", "2", 3, 2), ("--max-decoded-bytes", "60", 0, 3),
    ("--max-decoded-bytes", "59", 3, 2), ("--max-wire-bytes", "60", 0, 3), ("--max-wire-bytes", "40", 3, 2),
])
def test_limits_of_a_document(option: str, value: str, code: int, read: int) -> None:
    result = run("parse", "-", option, value, stdin=f"{A}/1\n{A}/2\n{A}/3\n")
    assert (result.exit_code, len(locs(result.stdout))) == (code, read)
    assert ("S16" in result.stderr) == (code == 3)
    assert code == 0 or f"({option})" in result.stderr
