import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli_runs import BROKEN, SHOP, SITES, locs, replay
from kit import Site, objects, robots, run, urlset

import sitemap_reader.cli.dump
from sitemap_reader import Limits, UsageError

A = "https://a.example"


def stated(text: str) -> list[str]:
    """The records without their problems; sorted."""
    entries = ({name: value for name, value in line.items() if name != "problems"} for line in objects(text))
    return sorted(map(json.dumps, entries))


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    dates = {f"{A}/old": "2020-05-01", f"{A}/may": "2026-05-31T10:00:00Z", f"{A}/new": "2026-09-01"}
    return replay(tmp_path / "dated", {"sitemap.xml": urlset(*dates.items(), f"{A}/undated")})


# --- output ---


def test_a_whole_site_is_every_url_of_its_truth() -> None:
    result = run("dump", SHOP)
    truth = (SITES / "shop.jsonl").read_text()
    assert sorted(result.stdout.splitlines()) == sorted(truth.splitlines())
    assert result.exit_code == 0
    assert "640 URLs from 10 sitemaps" in result.stderr
    assert "partial" not in result.stderr


def test_foreign_elements_come_out_on_request_only(tmp_path: Path) -> None:
    foreign = f'<url><loc>{A}/x</loc><shop:stock unit="pieces" xmlns:shop="urn:shop">3</shop:stock></url>'
    folder = replay(tmp_path / "site", {"sitemap.xml": urlset(foreign)})
    (plain,) = objects(run("dump", folder).stdout)
    (whole,) = objects(run("dump", folder, "--extras").stdout)
    attributes = [{"name": "unit", "value": "pieces"}]
    assert whole.pop("extras") == [{"namespace": "urn:shop", "name": "stock", "text": "3", "attributes": attributes}]
    assert whole == plain


def test_a_broken_site_is_what_can_be_read_and_exit_3() -> None:
    result = run("dump", BROKEN)
    assert stated(result.stdout) == stated((SITES / "broken.jsonl").read_text())
    assert result.exit_code == 3
    last_two = result.stderr.splitlines()[-2:]
    assert last_two[0].startswith("146 URLs from 5 of 8 sitemaps; 10 dropped (host 10; --scope any keeps it)")
    assert last_two[1].startswith("partial: ")
    assert last_two[1].endswith("(exit 3)")


@pytest.mark.parametrize("command", ["stats", "tree"])
def test_the_summary_of_other_commands_names_options_of_the_command_line_too(command: str) -> None:
    assert "10 dropped (host 10; --scope any keeps it)" in run(command, BROKEN).stderr


def test_stderr_shows_five_problems_of_a_code_then_a_count(tmp_path: Path) -> None:
    told = run("dump", BROKEN).stderr.splitlines()
    assert "warning S01 https://broken.example/maps/mended.xml:4: a bare & was read as &amp;" in told
    assert len([line for line in told if line.startswith("warning S01 ")]) == 6
    maps = {f"m{number}.xml": urlset("https://a.example/#x", "https://a.example/#y") for number in range(40)}
    site = Site({"robots.txt": robots(*(f"https://a.example/{name}" for name in maps)), **maps}).write(tmp_path)
    fragments = [line for line in run("dump", site).stderr.splitlines() if " U08" in line]
    assert len(fragments) == 6
    assert re.fullmatch(r"warning U08: 75 more in 3[78] sitemaps", fragments[5])


def test_problems_of_one_document_are_counted_beside_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(urlset(*(f"https://a.example/{number}#x" for number in range(9))))
    told = run("parse", tmp_path / "a.xml", "--url", "https://a.example/a.xml").stderr.splitlines()
    assert told[5] == "warning U08 https://a.example/a.xml: 4 more"


def test_each_target_has_its_own_five(tmp_path: Path) -> None:
    sites = [
        Site({"sitemap.xml": urlset(*(f"https://{name}.example/{number}#x" for number in range(9)))},
             f"https://{name}.example").write(tmp_path / name)
        for name in "ab"
    ]  # fmt: skip
    told = [line for line in run("dump", *sites).stderr.splitlines() if " U08 " in line]
    assert [line.endswith(": 4 more") for line in told] == ([False] * 5 + [True]) * 2


def test_urls_that_are_dated_to_a_year_are_reported_with_a_date_filter(tmp_path: Path) -> None:
    entries = [("https://a.example/1", "2026"), ("https://a.example/2", "2026-05-31"), "https://a.example/3"]
    site = Site({"sitemap.xml": urlset(*entries)}).write(tmp_path)
    told = run("dump", site, "--since", "2026-05-01").stderr.splitlines()
    assert told[:2] == [
        "note 1 URL without a lastmod; --undated drop leaves it out",
        "note 1 URL dated to the year only: any day of it may be meant",
    ]
    assert "dated to the year" not in run("dump", site).stderr + run("dump", site, "--since", "2027").stderr


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_tables_begin_with_a_byte_order_mark(format: str, tmp_path: Path) -> None:
    plain, marked = (run("dump", SHOP, "--format", format, *bom).stdout_bytes for bom in ([], ["--bom"]))
    assert marked == BOM + plain
    run("dump", SHOP, "--bom", "-o", tmp_path / f"urls.{format}.gz")
    assert gzip.decompress((tmp_path / f"urls.{format}.gz").read_bytes()) == marked
    assert not run("dump", SHOP, "--bom").stdout_bytes.startswith(BOM)


def test_other_tables_and_findings_begin_with_it_too(tmp_path: Path) -> None:
    dumped = tmp_path / "dump.jsonl"
    dumped.write_bytes(run("dump", SHOP).stdout_bytes)
    findings = tmp_path / "findings.csv"
    assert not run("audit", BROKEN, "--bom", "--findings", findings).stdout_bytes.startswith(BOM)
    assert findings.read_bytes().startswith(BOM + b"code,")
    for command in (["diff", dumped, "-", "--format", "csv"], ["convert", dumped, "--format", "csv"],
                    ["stats", dumped, "--format", "csv"], ["tree", SHOP, "--format", "tsv"],
                    ["audit", BROKEN, "--format", "csv"]):  # fmt: skip
        assert run(*command, "--bom", stdin="").stdout_bytes.startswith(BOM), command
        assert not run(*command, stdin="").stdout_bytes.startswith(BOM), command


def test_lines_of_several_targets_name_their_site() -> None:
    result = run("dump", SHOP, BROKEN)
    sites = [line["site"] for line in objects(result.stdout)]
    assert (sites.count(SHOP), sites.count(BROKEN)) == (640, 146)
    assert result.exit_code == 3
    assert "786 URLs from 15 of 18 sitemaps" in result.stderr


def test_targets_are_read_from_stdin_without_comments_and_blank_lines() -> None:
    result = run("dump", "-", stdin=f"# sites\n\n{SHOP}\n  {BROKEN}  \n")
    assert {line["site"] for line in objects(result.stdout)} == {SHOP, BROKEN}


def test_a_target_that_fails_does_not_stop_the_next(tmp_path: Path) -> None:
    empty = replay(tmp_path / "empty", {})
    result = run("dump", "ftp://x.example/", empty, SHOP)
    assert len(objects(result.stdout)) == 640
    assert [line.split()[0] for line in result.stderr.splitlines()].count("error:") == 2
    assert result.exit_code == 2


# --- options ---


def test_limit_stops_after_n_urls_and_is_complete() -> None:
    result = run("dump", SHOP, "--limit", "7")
    assert len(objects(result.stdout)) == 7
    assert result.exit_code == 0
    assert result.stderr.startswith("the first 7 URLs; ")


def test_limit_counts_over_all_targets() -> None:
    result = run("dump", SHOP, BROKEN, "--limit", "650", "--report", "-")
    assert len(locs(result.stdout)) == 650
    assert {line["site"] for line in objects(result.stdout)} == {SHOP, BROKEN}


def test_dates_that_leave_nothing_are_still_complete(dated: Path) -> None:
    result = run("dump", dated, "--since", "2040-01-01", "--undated", "drop")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "4 outside the dates" in result.stderr


def test_report_writes_problems_and_outcomes_to_a_file(tmp_path: Path) -> None:
    result = run("dump", BROKEN, "--report", tmp_path / "report.jsonl")
    assert len(locs(result.stdout)) == 146
    kinds = Counter(line.get("type") for line in objects((tmp_path / "report.jsonl").read_text()))
    assert kinds == {"problem": 23, "outcome": 9}
    merged = Counter(line.get("type") for line in objects(run("dump", BROKEN, "--report", "-").stdout))
    assert merged == {None: 146, **kinds}


def test_quiet_shows_neither_problems_nor_summary() -> None:
    result = run("dump", BROKEN, "-q")
    assert (result.exit_code, result.stderr) == (3, "")


def test_quiet_reports_why_there_is_nothing(tmp_path: Path) -> None:
    result = run("dump", replay(tmp_path, {}), "-q")
    assert result.exit_code == 4
    assert result.stderr.startswith("error: no sitemap found")


def test_verbose_adds_documents_and_notices() -> None:
    told = run("dump", SHOP, "-v").stderr.splitlines()
    done = [line for line in told if line.startswith("done ")]
    assert len(done) == 11
    assert any(line.startswith("done https://shop.example/sitemaps/news.xml: urlset, 30 entries") for line in done)


def test_private_addresses_need_permission(site_server: Any) -> None:
    site = site_server({"/sitemap.xml": (200, {}, urlset("/x"))})
    result = run("dump", site.url)
    assert result.exit_code == 5
    assert "--allow-private" in result.stderr
    assert site.received == []


def test_no_robots_reads_what_robots_forbids(tmp_path: Path) -> None:
    rules = robots(f"{A}/s.xml", rules="User-agent: *\nDisallow: /\n")
    site = replay(tmp_path, {"robots.txt": rules, "s.xml": urlset(f"{A}/1")})
    refused = run("dump", site)
    assert refused.exit_code == 5
    assert "--no-robots" in refused.stderr.splitlines()[-2]
    assert locs(run("dump", site, "--no-robots").stdout) == [f"{A}/1"]


MIB = 1024**2


@pytest.mark.parametrize(("options", "expected"), [
    ([], {"concurrency": 16, "per_host": 4, "obey_robots": True, "allow_private": False, "limits": Limits()}),
    (["--concurrency", "3"], {"concurrency": 3}),
    (["--per-host", "2"], {"per_host": 2}),
    (["--timeout", "60"], {"limits": Limits(read_seconds=60, connect_seconds=10)}),
    (["--timeout", "5"], {"limits": Limits(read_seconds=5, connect_seconds=5)}),
    (["--retries", "0"], {"limits": Limits(tries=1)}),
    (["--max-wait", "0"], {"limits": Limits(max_wait_seconds=0)}),
    (["--max-depth", "0"], {"limits": Limits(max_index_depth=0)}),
    (["--max-decoded-bytes", "300M"], {"limits": Limits(max_wire_bytes=300 * MIB, max_decoded_bytes=300 * MIB)}),
    (["--max-decoded-bytes", "2 GiB"], {"limits": Limits(max_wire_bytes=2048 * MIB, max_decoded_bytes=2048 * MIB)}),
    (["--max-decoded-bytes", "77"], {"limits": Limits(max_decoded_bytes=77)}),
    (["--max-wire-bytes", "1K"], {"limits": Limits(max_wire_bytes=1024)}),
    (
        ["--max-wire-bytes", "1K", "--max-decoded-bytes", "300M"],
        {"limits": Limits(max_wire_bytes=1024, max_decoded_bytes=300 * MIB)},
    ),
    (["--max-urls", "5000000"], {"limits": Limits(max_entries=5_000_000)}),
    (["-H", "A:1", "-H", "B: x:y "], {"headers": [("A", "1"), ("B", "x:y")]}),
    (["-A", "bot"], {"user_agent": "bot"}),
    (["--no-robots"], {"obey_robots": False}),
    (["--allow-private"], {"allow_private": True}),
    (["--record", "x"], {"record": "x"}),
    (["--undated", "drop"], {"undated": "drop"}),
    (["--probe", "never"], {"probe": "never"}),
    (["--scope", "any", "--since", "7d", "--until", "1d"], {"scope": "any", "since": "7d", "until": "1d"}),
])
def test_options_reach_the_reader(monkeypatch: pytest.MonkeyPatch, options: list[str], expected: Any) -> None:
    captured: dict[str, object] = {}

    def capture(target: str, **keywords: object) -> None:
        captured.update(keywords)
        raise UsageError("captured")

    monkeypatch.setattr(sitemap_reader.cli.dump, "url_batches", capture)
    assert run("dump", "a.example", *options).exit_code == 2
    assert {name: captured[name] for name in expected} == expected
    assert ("user_agent" in captured) == ("-A" in options)


# --- exit codes and messages ---


def test_text_of_a_site_on_stderr_has_no_control_characters(tmp_path: Path) -> None:
    site = replay(tmp_path, {"sitemap.xml": urlset((f"{A}/1", "\x9b31mred\u202e"))})
    told = run("dump", site).stderr
    assert "D01" in told
    assert "\\x9b31mred\\u202e" in told
    assert "\x9b" not in told


def test_report_has_the_outcome_of_a_missing_robots_txt(tmp_path: Path) -> None:
    """Its status alone gives the outcome: no document was read."""
    folder = replay(tmp_path, {"sitemap.xml": urlset("https://a.example/1")})
    told = objects(run("dump", folder, "--report", "-").stdout)
    read = {line["url"]: line["format"] for line in told if line.get("type") == "outcome"}
    assert read == {f"{A}/robots.txt": "robots", f"{A}/sitemap.xml": "urlset"}


def test_a_limit_beyond_all_numbers_is_no_limit(tmp_path: Path) -> None:
    folder = replay(tmp_path, {"sitemap.xml": urlset("https://a.example/1")})
    assert locs(run("dump", folder, "--limit", "9" * 30).stdout) == ["https://a.example/1"]


def test_patterns_choose_pages_and_sitemaps_and_the_summary_counts_them() -> None:
    result = run("dump", SHOP, "--include", "/c/", "--exclude", "desk", "--no-follow", "products", "--format", "txt")
    assert result.exit_code == 0
    assert result.stdout
    assert all("/c/" in loc and "desk" not in loc for loc in result.stdout.splitlines())
    assert "outside the patterns; 1 sitemap left out (no-follow)" in result.stderr
    assert "note " not in result.stderr, "a requested filter needs no explanation"


def test_unique_writes_each_url_once_over_all_targets() -> None:
    once = run("dump", SHOP, "--format", "txt").stdout.splitlines()
    twice = run("dump", SHOP, SHOP, "--unique", "--format", "txt")
    assert sorted(twice.stdout.splitlines()) == sorted(once)
    assert f"{len(once):,} listed again" in twice.stderr


def test_fields_are_flat_and_enable_what_they_name(tmp_path: Path) -> None:
    foreign = '<url><loc>https://a.example/1</loc><x:sku xmlns:x="urn:x">7</x:sku></url>'
    site = replay(tmp_path / "site", {"sitemap.xml": urlset(foreign)})
    (line,) = objects(run("dump", site, "--fields", "site,loc,extras.text,news.title").stdout)
    assert line == {"site": str(site), "loc": "https://a.example/1", "extras.text": ["7"], "news.title": None}


def test_requests_go_to_the_proxy(site_server: Any) -> None:
    bodies = {"robots.txt": robots("http://a.example/s.xml"), "s.xml": urlset("http://a.example/1")}
    proxy = site_server({f"http://a.example/{path}": (200, {}, body) for path, body in bodies.items()})
    result = run("dump", "http://a.example/", "--proxy", proxy.url, "--format", "txt")
    assert result.stdout == "http://a.example/1\n", result.stderr


def test_a_proxy_that_wants_a_login_gets_one_request(site_server: Any) -> None:
    paths = ("robots.txt", "sitemap.xml", "sitemap_index.xml")
    proxy = site_server({f"http://a.example/{path}": (407, {}, b"") for path in paths})
    result = run("dump", "http://a.example/", "--proxy", proxy.url)
    assert proxy.requests() == ["http://a.example/robots.txt"]
    assert "check the user and the password of the proxy (--proxy)" in result.stderr
    assert result.exit_code == 5


@pytest.mark.parametrize(("options", "told"), [
    (["--since", "2026"], True), (["--until", "2026"], True), (["--since", "2026", "--undated", "drop"], False),
])
def test_urls_without_a_date_are_reported_with_a_date_filter(dated: Path, options: list[str], told: bool) -> None:
    assert ("note 1 URL without a lastmod; --undated drop" in run("dump", dated, *options).stderr) == told
