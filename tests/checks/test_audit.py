"""audit(): its sources and options; it finds the same in a site, its dump and its recording."""

import gzip
import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from audit_cases import AUDITED, cases
from generated import make_site
from kit import Site, dump, dumped, gz, index, robots, urlset

import sitemap_reader as sr
from sitemap_reader.checks import SEVERITIES, parse_codes

SITES = AUDITED.parent / "sites"
EVERY_SITE = sorted(path for folder in (SITES, AUDITED) for path in folder.iterdir() if path.is_dir())
every_site = pytest.mark.parametrize("site", EVERY_SITE, ids=lambda path: f"{path.parent.name}-{path.name}")
URLSET = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">'
)
# Codes that a dump does not contain, as it lacks what an index lists. F10: it does not tell a
# file without recorded headers from a response that had none of both. L07: a dump may lack sitemaps.
NOT_IN_DUMPS = ("F02", "F09", "F19", "F20", "F21", "U12", "D04", "D05", "S04", "S05", "S10", "F10", "L07")


def reported(report: sr.Report) -> dict[tuple[str, str], tuple[int, int]]:
    return {(each.code, each.severity): (each.count, each.documents) for each in report.findings}


# --- the same from every source ---


@pytest.mark.slow
@every_site
def test_a_dump_with_its_report_gives_what_the_site_gives(site: Path, tmp_path: Path) -> None:
    by_site = sr.audit(site, ignore=NOT_IN_DUMPS)
    by_dump = sr.audit(dumped(site, tmp_path / "dump.jsonl"), ignore=NOT_IN_DUMPS, as_of=by_site.at)
    assert reported(by_dump) == reported(by_site)
    assert (by_dump.urls, by_dump.pages) == (by_site.urls, by_site.pages)
    assert by_dump.complete is by_site.complete or site.name == "F19"  # a dump does not say what was looked for
    # A dump does not state when it was read.
    is_at_fetch = any(fact.name == "at the time of reading" for fact in by_site.facts)
    unknown = {"lastmod", "lastmod verdict"} if is_at_fetch else set()
    facts, facts_of_dump = (
        {(fact.group, fact.name): fact.count for fact in report.facts if fact.group not in unknown}
        for report in (by_site, by_dump)
    )
    assert facts_of_dump == facts


@pytest.mark.slow
@every_site
def test_any_number_of_threads_finds_the_same(site: Path, use_cores: Callable[[int], None]) -> None:
    check_threads(site, use_cores)


def check_threads(site: Path, use_cores: Callable[[int], None]) -> sr.Report:
    """A report by one thread, after a comparison with one by several."""
    reports = []
    for cores in (1, 4):
        use_cores(cores)
        reports.append(sr.audit(site))
    one, several = reports
    assert reported(one) == reported(several)
    assert (one.urls, one.pages) == (several.urls, several.pages)
    return one


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of several documents, with some 100 of its URLs listed twice."""
    folder = tmp_path_factory.mktemp("large")
    make_site(folder, urls=30_000, per_document=5_000, extensions=("hreflang", "image"), gzip=True)
    (first,) = folder.rglob("products-1.xml.gz")
    body = gzip.decompress(first.read_bytes())
    end = body.index(b"<url>", 40_000)
    again = body[body.index(b"<url>") : end]
    first.write_bytes(gzip.compress(body.replace(b"</urlset>", again + b"</urlset>")))
    return folder


@pytest.mark.slow
def test_a_large_site_is_the_same_by_several_threads_and_by_a_dump(large: Path, tmp_path: Path, use_cores: Any) -> None:
    by_site = check_threads(large, use_cores)
    assert by_site.urls > by_site.pages == 30_000
    assert dict(reported(by_site))["U06", "notice"] == (by_site.urls - 30_000, 1)
    by_dump = sr.audit(dumped(large, tmp_path / "dump.jsonl"), as_of=by_site.at)
    assert reported(by_dump)["U06", "notice"] == reported(by_site)["U06", "notice"]


# --- what is found, and where ---


# Codes of one place in a document have its line; the others concern the whole document or the response.
WITHOUT_LINES = {
    *("F01", "F02", "F03", "F04", "F05", "F06", "F07", "F08", "F09", "F10", "F11", "F13", "F14", "F15"),
    *("F16", "F17", "F18", "F19"),
    *("S02", "S03", "S06", "S07", "S09", "S15"),
    *("D03", "D04", "D07", "H03", "N01", "X02"),
}


@every_site
def test_findings_name_their_document_and_their_line(site: Path) -> None:
    for finding in sr.audit(site, samples=1_000).findings:
        assert len(finding.samples) == min(finding.count, 1_000) or finding.code in ("U11", "U18", "X01", "S01")
        for sample in finding.samples:
            assert sample.sitemap, sample
            is_of_an_answer = sample.code in WITHOUT_LINES or "redirects to" in sample.message
            assert sample.line is not None or is_of_an_answer, sample


def test_the_shop_is_without_error_or_warning() -> None:
    report = sr.audit(SITES / "shop")
    assert [report.count(severity) for severity in SEVERITIES] == [0, 0, 1]
    assert (report.urls, report.pages, report.complete, report.notes) == (640, 640, True, ())


def test_a_note_names_documents_that_a_recording_lacks(tmp_path: Path) -> None:
    shutil.copytree(SITES / "broken", tmp_path, dirs_exist_ok=True)
    for name in ("missing.xml", "missing.xml.headers"):
        (tmp_path / "https" / "broken.example" / "maps" / name).unlink()
    missing = "https://broken.example/maps/missing.xml"
    assert sr.audit(tmp_path).notes == (f"1 document not in the recording, and so read as missing (404): {missing}",)
    assert sr.audit(SITES / "broken").notes == ()


def test_the_redirect_of_a_robots_txt_is_no_finding(tmp_path: Path) -> None:
    pages = {
        "/robots.txt.headers": "status: 301\nlocation: https://www.e.example/robots.txt\n",
        "https://www.e.example/robots.txt": robots("https://www.e.example/old.txt"),
        "https://www.e.example/old.txt.headers": "status: 301\nlocation: https://www.e.example/new.txt\n",
        "https://www.e.example/new.txt": "https://www.e.example/1\n",
    }
    (finding,) = sr.audit(Site(pages, "https://e.example").write(tmp_path), select="F03").findings
    assert [sample.sitemap for sample in finding.samples] == ["https://www.e.example/old.txt"]


def test_broken_site_reports_all_faults() -> None:
    report = sr.audit(SITES / "broken")
    assert {key: count for key, (count, _) in reported(report).items()} == {
        ("F01", "error"): 2, ("F05", "error"): 1, ("F07", "error"): 1, ("S01", "error"): 8, ("U04", "warning"): 10,
        ("F10", "notice"): 5,
    }
    assert not report.complete


def test_a_cut_is_one_error_and_states_what_was_read() -> None:
    report = sr.audit(SITES / "broken", select="F07,S01")
    (cut,) = [each for each in report.findings if each.code == "F07"]
    cause = "gzip data is cut off, its end is missing"
    message = f"{cause}: 56 URLs read before that; the number lost is unknown"
    assert [(each.code, each.message) for each in cut.samples] == [("F07", message)]
    row = next(each for each in report.sitemaps if each.url.endswith("/cut.xml.gz"))
    assert (row.complete, row.problem, row.problems) == ("no", f"F07 {cause}", 1)
    (alone,) = sr.audit(SITES / "broken", select="S01").findings
    cut_off = next(each for each in alone.samples if each.kind == "document cut off")
    assert cut_off.message.startswith("the end of the root element was not reached: 56 URLs read before that;")


@pytest.mark.parametrize(("name", "codes"), [
    ("corrupt-middle.xml.gz", ["F07"]), ("truncated.xml.gz", ["F07"]), ("truncated-text.txt.gz", ["F07"]),
    ("without-trailer.xml.gz", ["F07"]), ("bad-crc.xml.gz", ["F07"]), ("../index/truncated.xml", ["S01"]),
    ("../damage/bare-ampersand.xml", ["S01"]),
])
def test_a_missing_end_is_counted_once(name: str, codes: list[str]) -> None:
    report = sr.audit(SITES.parent / "gzip" / name, base="https://example.com/", select="F07,S01")
    assert [each.code for each in report.findings if each.severity == "error"] == codes


def test_a_wrong_checksum_hides_no_missing_end(tmp_path: Path) -> None:
    packed = bytearray(gz(urlset("https://e.com/")[:-10] + b"<url>"))
    packed[-5] ^= 1
    (tmp_path / "a.xml.gz").write_bytes(packed)
    report = sr.audit(tmp_path / "a.xml.gz", base="https://e.com/", select="F07,S01")
    assert sorted(each.code for each in report.findings) == ["F07", "S01"]


# --- dumps ---


def test_dump_of_urls_only_notes_what_is_unknown(tmp_path: Path) -> None:
    file = dump(tmp_path / "urls.jsonl", {"loc": "https://a.example/x?gclid=1", "sitemap": "https://a.example/s.xml"})
    report = sr.audit(file)
    assert [finding.code for finding in report.findings] == ["U09"]
    of_urls, of_dumps = report.notes
    assert of_urls.startswith(f"{file} has no outcomes of documents: ")
    of_robots = ", ".join(f"{code} (robots.txt)" for code in ("F19", "F20", "F21", "U12"))
    assert of_dumps.startswith(f"not checked, as {file} is a dump: {of_robots}, D04 (the time of the ")
    assert (report.complete, json.loads(report.to_json())["complete"]) == (None, None)


def test_url_without_a_sitemap_belongs_to_the_dump(tmp_path: Path) -> None:
    file = dump(tmp_path / "urls.jsonl", {"loc": "https://a.example/"}, {"loc": "https://a.example/x?gclid=1"})
    (finding,) = sr.audit(file).findings
    assert [(each.sitemap, each.line) for each in finding.samples] == [(str(file), 2)]


def test_problems_of_urls_count_without_a_report(tmp_path: Path) -> None:
    line = {"loc": "https://a.example/", "sitemap": "https://a.example/s.xml", "line": 3}
    line |= {"lastmod": "2026-10-01T00:00:00Z", "lastmod_precision": "day"}
    line |= {"problems": [{"code": "S01", "field": None, "raw": "&"}, {"code": "U10", "field": "loc", "raw": " "}]}
    alone = sr.audit(dump(tmp_path / "alone.jsonl", line))
    assert reported(alone) == {("S01", "error"): (1, 1), ("U10", "warning"): (1, 1)}
    outcome = sr.to_dict(sr.Outcome(url="https://a.example/s.xml", final_url="https://a.example/s.xml", kept=1))
    assert reported(sr.audit(dump(tmp_path / "with.jsonl", line, outcome))) == {}


def test_load_and_names_are_the_same(tmp_path: Path) -> None:
    file = dumped(SITES / "broken", tmp_path / "b.jsonl")
    assert reported(sr.audit(sr.load(file))) == reported(sr.audit(file)) == reported(sr.audit(str(file)))


def test_site_options_are_refused_for_dumps(tmp_path: Path) -> None:
    file = dump(tmp_path / "urls.jsonl", {"loc": "https://a.example/"})
    with pytest.raises(sr.UsageError, match=r"^scope, extras: that applies to sites only, and .*urls.jsonl is"):
        sr.audit(file, scope="any", extras=True)


def test_invalid_line_is_named(tmp_path: Path) -> None:
    file = dump(tmp_path / "urls.jsonl", {"loc": "https://a.example/"}, {"loc": "https://a.example/", "line": "x"})
    with pytest.raises(sr.UsageError, match=r"urls\.jsonl:2: "):
        sr.audit(file)


# --- options ---


def test_codes_may_be_written_in_many_ways() -> None:
    assert parse_codes("d03, U0") == parse_codes(["D03 ", "u0"]) == ("D03", "U0")
    assert parse_codes("") == parse_codes(()) == ()


@pytest.mark.parametrize("wanted", ["Z", "D99", "D03;D04", ["D03", ""], 5, [5]])
def test_unknown_code_is_refused(wanted: Any) -> None:
    with pytest.raises(sr.UsageError, match=r"is neither a code nor the beginning of one|codes are text"):
        sr.audit(SITES / "shop", select=wanted)


@pytest.mark.parametrize(("name", "letter"), [
    ("hreflang", "L"), ("Dates", "D"), ("date", "D"), ("lastmods", "LASTMODS"), ("lastmod", "D"), ("news", "N"),
    ("image", "I"), ("videos", "V"), ("url", "U"), ("structure", "S"), ("fetch", "F"), ("pages", "C"), ("changes", "X"),
])  # fmt: skip
def test_families_have_names(name: str, letter: str) -> None:
    if letter not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        with pytest.raises(sr.UsageError, match="did you mean lastmod"):
            parse_codes(name)
    else:
        assert parse_codes([name]) == parse_codes(name) == (letter,)


def test_select_and_ignore_take_names_of_families() -> None:
    by_name = {each.code for each in sr.audit(SITES / "broken", select="urls dates", ignore="date").findings}
    assert by_name == {each.code for each in sr.audit(SITES / "broken", select="U").findings}
    assert by_name


def test_select_limits_the_findings() -> None:
    report = sr.audit(SITES / "broken", select="S,U04", ignore="U")
    assert [finding.code for finding in report.findings] == ["S01"]


def test_samples_limits_the_samples() -> None:
    report = sr.audit(SITES / "broken", samples=1)
    assert [len(finding.samples) for finding in report.findings] == [1] * 6
    with pytest.raises(sr.UsageError, match="samples is a number, 0 or more, not -1"):
        sr.audit(SITES / "broken", samples=-1)


def test_recording_is_judged_at_its_own_time() -> None:
    assert sr.audit(SITES / "shop").at == datetime(2026, 10, 26, 7, 15, tzinfo=UTC)


LAST_SECOND = datetime(2026, 12, 1, 23, 59, 59, tzinfo=UTC)
IN_BERLIN = datetime(2026, 12, 2, 0, 59, 59, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize("as_of", ["2026-12-01", date(2026, 12, 1), LAST_SECOND, IN_BERLIN])
def test_now_sets_the_time_of_ages(as_of: Any) -> None:
    report = sr.audit(SITES / "shop", as_of=as_of)
    assert report.at == LAST_SECOND
    assert "as of 2026-12-01 23:59 UTC" in str(report)
    assert reported(report)["N02", "warning"] == (30, 1)


def test_default_time_is_now(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    report = sr.audit(dump(tmp_path / "urls.jsonl", {"loc": "https://a.example/"}))
    assert before <= report.at <= before + timedelta(minutes=10)


def test_stopped_audit_reports_what_was_read() -> None:
    answers = iter([False, False, True])
    report = sr.audit(SITES / "shop", stop=lambda: next(answers, True))
    assert not report.complete
    assert report.urls < 640
    assert report.notes[0].startswith("stopped before the end")


def test_stopped_audit_reports_no_removals(tmp_path: Path) -> None:
    baseline = dumped(SITES / "shop", tmp_path / "shop.jsonl")
    report = sr.audit(SITES / "shop", baseline=baseline, stop=lambda: True)
    assert not {finding.code for finding in report.findings} & {"X01", "X02"}
    assert any("X01 and X02" in note for note in report.notes)


def test_on_document_is_called_as_documents_end() -> None:
    ended: list[str | None] = []
    sr.audit(SITES / "shop", on_outcome=lambda outcome: ended.append(outcome.url))
    assert len(ended) == 11


# --- crawl files and baselines ---


@pytest.mark.parametrize(("options", "message"), [
    ({"baseline": "a.jsonl", "state": "b.db"}, "baseline= and state= both give the earlier URLs"),
    ({"baseline_crawl": "a.csv"}, "is compared with a crawl and a baseline"),
    ({"baseline_crawl": "a.csv", "crawl": "b.csv"}, "is compared with a crawl and a baseline"),
    ({"select": "C"}, r"^C needs a crawl of the site \(crawl=FILE\), and responses of the pages \(check_urls=N or"),
    ({"select": "D,X02"}, "^X02 needs an earlier dump or a state"),
    ({"select": "X03", "crawl": "a.csv"}, "^X03 needs an earlier crawl and dump"),
    ({"crawl": "nowhere.csv"}, "there is no file nowhere.csv"),
    ({"baseline": "nowhere.jsonl"}, "there is no file nowhere.jsonl"),
])
def test_unusable_files_are_reported_before_any_request(options: dict[str, str], message: str) -> None:
    with pytest.raises(sr.UsageError, match=message):
        sr.audit(SITES / "shop", on_outcome=lambda _: pytest.fail("it was read"), **options)


def test_a_state_is_a_baseline_too(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    with sr.changes(SITES / "shop", state=state) as changes:
        assert len(list(changes)) == 640
    assert not {finding.code for finding in sr.audit(SITES / "shop", state=state).findings} & {"X01", "X02"}
    (case,) = (case for case in cases() if case.name == "X01")
    with pytest.raises(sr.UsageError, match=r"is not in .*state.db, which has https://shop.example/"):
        sr.audit(case.path, state=state)


# --- the report ---


def test_json_has_all_that_the_report_has() -> None:
    report = sr.audit(SITES / "broken")
    form = json.loads(report.to_json())
    assert list(form) == [
        "target", "site", "at", "version", "complete", "urls", "dropped", "not_checked", "unread", "pages",
        "problems", "places", "findings", "sitemaps",
        "facts", "notes",
        "policy", "url_checks", "fixed",
    ]  # fmt: skip
    assert form["problems"] == {"error": 4, "warning": 1, "notice": 1}
    assert (form["target"], form["site"]) == (str(SITES / "broken"), "broken.example")
    assert (form["urls"], form["dropped"]) == (146, 10)
    first = form["findings"][0]
    assert first["code"] == "S01"
    assert first["rule"] == sr.explain("S01").rule
    assert first["samples"][0] == {
        "message": "a bare & was read as &amp;",
        "sitemap": "https://broken.example/maps/mended.xml",
        "line": 4,
        "field": None,
        "raw": "<loc>https://broken.example/list/1?x=1&",
        "url": None,
        "kind": "raw & read as &amp;",
    }
    assert form["sitemaps"][1]["url"] == "https://broken.example/sitemap_index.xml"
    assert "branch" not in form["sitemaps"][1]


def test_text_begins_with_the_summary() -> None:
    head, overview, *findings = sr.audit(SITES / "broken").to_text().split("\n\n")
    text = " ".join(head.split())
    assert text.startswith(
        "broken.example: 4 errors, 1 warning and 1 notice (27 places) in 146 URLs (10 of 156 may be ignored) "
        "156 URLs listed, 146 valid (86 of them in sitemaps that search engines cannot read), "
        "10 that search engines may ignore; 8 sitemaps; "
        f"read from {SITES / 'broken'}; as of "
    )
    assert "; partial: 3 documents could not be read, 1 document could be read in part only" in text
    assert overview.splitlines() == [
        "Sitemaps that search engines cannot read:",
        "error    S01   8  XML not well-formed",
        "error    F01   2  Sitemap not found (404 or 410)",
        "error    F05   1  HTML page instead of a sitemap or robots.txt",
        "error    F07   1  Faulty gzip data",
        "URLs that search engines may ignore:",
        "warning  U04  10  URL of another host, scheme or port",
        "Notices:",
        "notice   F10   5  Neither ETag nor Last-Modified header",
    ]
    assert len(findings) == 6
    assert "  - and 5 more" in findings[4].splitlines()


def test_text_of_nothing_found_is_short() -> None:
    report = sr.audit(AUDITED / "clean")
    assert report.to_text() == (
        f"clean.example: no problems found in {report.urls} URLs\n"
        f"{report.urls} URLs listed, {report.urls} valid, 0 that search engines may ignore; 6 sitemaps; read\n"
        f"from {AUDITED / 'clean'}; as of 2026-11-01 12:00 UTC\n"
    )


def test_no_control_character_of_a_site_reaches_a_terminal(tmp_path: Path) -> None:
    page = "https://a.example/x?gclid=1"
    line = {"loc": page, "sitemap": "https://a.example/\x1b[31m\u202e.xml", "line": 1}
    text = sr.audit(dump(tmp_path / "urls.jsonl", line)).to_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"\x1b[31m\u202e.xml:1" in text


# --- dumps of other tools ---


@pytest.mark.parametrize(("line", "code"), [
    ({"loc": "https://a.example"}, None),  # without a path
    ({"loc": "foo"}, "U15"),
    ({"loc": ""}, "U15"),
    ({"loc": "https://a.example/x", "line": -1}, None),
    ({"loc": "https://a.example/x", "sitemap": "http://[bad/s.xml"}, None),
    ({"loc": "https://a.example/x", "lastmod": "0001-01-01T00:00:00Z", "lastmod_precision": "year"}, "D08"),
    ({"loc": "https://a.example/x", "lastmod": "9999-12-31T23:59:59Z", "lastmod_precision": "year"}, "D02"),
])
def test_odd_lines_of_other_tools(tmp_path: Path, line: dict[str, Any], code: str | None) -> None:
    report = sr.audit(dump(tmp_path / "urls.jsonl", line), as_of="2026-11-01")
    assert [finding.code for finding in report.findings] == ([code] if code else [])


@pytest.mark.parametrize("as_of", ["9999", "9999-12-31", "0001-01-01", datetime.max.replace(tzinfo=UTC)])
def test_times_at_the_ends_of_the_calendar(as_of: Any) -> None:
    assert sr.audit(SITES / "shop", as_of=as_of).urls == 640


def test_list_of_changes_is_refused_as_a_dump(tmp_path: Path) -> None:
    line = {"type": "change", "change": "new", "loc": "https://a.example/"}
    with pytest.raises(sr.UsageError, match=r"urls\.jsonl:1: that is a list of changes, not a dump: `sitemap-reader"):
        sr.audit(dump(tmp_path / "urls.jsonl", line))


@pytest.mark.parametrize("source", [None, 3, b"shop"])
def test_invalid_source_is_refused(source: Any) -> None:
    with pytest.raises(sr.UsageError, match="the source is a site \\(host, URL or folder\\) or a dump \\(file\\), not"):
        sr.audit(source)


def test_urls_without_sitemap_have_no_sitemap(tmp_path: Path) -> None:
    pages = [{"loc": f"https://a.example/{number % 30}", "priority": 0.5} for number in range(40)]
    report = sr.audit(dump(tmp_path / "urls.jsonl", *pages))
    assert report.findings == ()
    assert (report.urls, report.pages) == (40, 30)
    assert any("40 URLs of" in note and "U06, U07, D03, D07, H03, N01 not checked" in note for note in report.notes)


def test_file_name_that_is_not_utf_8(tmp_path: Path) -> None:
    file = dump(tmp_path / "\udcffurls.jsonl", {"loc": "https://a.example/x?gclid=1"})
    assert json.loads(sr.audit(file).to_json())["findings"][0]["samples"][0]["sitemap"].endswith("?urls.jsonl")


def test_problems_of_the_tree_are_those_of_the_findings() -> None:
    report = sr.audit(SITES / "broken")
    rows = {row.url: row.problems for row in report.sitemaps}
    assert sum(problems or 0 for problems in rows.values()) == sum(finding.count for finding in report.findings) == 27
    assert rows["https://broken.example/maps/good.xml"] == 1  # F10


def test_urls_kept_by_a_second_reading_are_no_problem(tmp_path: Path) -> None:
    """After late verification a document is read a second time, and its URLs are in scope."""
    here, there = "https://a.example/maps/b.xml", "https://b.example/own.xml"
    site = Site({
        "/robots.txt": robots("https://a.example/maps/index.xml"),
        "/maps/index.xml": index(here, there),
        here: urlset("https://a.example/maps/x", *(f"https://b.example/{number}" for number in range(13))),
        "https://b.example/robots.txt": robots(here, there),
        there: urlset("https://b.example/own"),
    })
    report = sr.audit(site.write(tmp_path), select="U04")
    assert (report.urls, report.findings) == (15, ())


def test_a_full_disk_costs_one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(schema: str) -> None:
        raise OSError(28, "No space left on device", "the temporary folder")

    monkeypatch.setattr("sitemap_reader.checks.extensions.temporary_database", full)
    report = sr.audit(AUDITED / "L03")
    assert [finding.code for finding in report.findings] == []
    assert report.notes == ("L03, L07, L08, L09, L10, L12 were not checked: No space left on device",)


def test_repr_of_a_report() -> None:
    report = sr.audit(SITES / "broken")
    headline = "4 errors, 1 warning and 1 notice (27 places) in 146 URLs (10 of 156 may be ignored)"
    assert repr(report) == f"<Report of {SITES / 'broken'}: {headline}>"
    assert str(report) == report.to_text()


def test_a_dump_is_its_own_baseline_however_it_is_written(tmp_path: Path) -> None:
    file = dump(tmp_path / "urls.jsonl", *({"loc": f"https://E.com/é{number}"} for number in range(40)))
    assert sr.audit(file, baseline=file).findings == ()


def test_a_stopped_dump_keeps_the_problems_of_its_urls(tmp_path: Path) -> None:
    problems = [{"code": "D01", "field": "lastmod", "raw": "soon"}]
    lines = [{"loc": f"https://a.example/{number}", "problems": problems} for number in range(5_000)]
    report = sr.audit(dump(tmp_path / "urls.jsonl", *lines), stop=lambda: True)
    assert (report.complete, report.urls) == (False, 2_000)
    (finding,) = report.findings
    first = finding.samples[0]
    assert (first.code, first.sitemap, first.line) == ("D01", str(tmp_path / "urls.jsonl"), 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_url_with_and_without_its_sitemap_is_no_duplicate(tmp_path: Path, order: tuple[int, int]) -> None:
    dated = {"lastmod": "2026-11-01T00:00:00Z", "lastmod_precision": "day"}
    page = {"loc": "https://a.example/"}
    lines = [page, {**page, "sitemap": "https://a.example/s.xml", **dated}]
    assert sr.audit(dump(tmp_path / "urls.jsonl", *(lines[each] for each in order))).findings == ()


def test_urls_of_a_sitemap_without_lines_are_listed_before(tmp_path: Path) -> None:
    line = {"loc": "https://a.example/", "sitemap": "https://a.example/s.xml"}
    (finding,) = sr.audit(dump(tmp_path / "urls.jsonl", line, line)).findings
    assert finding.samples[0].message == "https://a.example/ is listed before"


# --- baselines -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_snapshot_is_a_baseline() -> None:
    pytest.importorskip("pyarrow")
    site = sr.snapshot(SITES / "shop", show_progress=False)
    for source in (site, SITES / "shop"):
        report = sr.audit(source, baseline=site)
        assert not {finding.code for finding in report.findings} & {"X01", "X02"}
        assert not any(site.name in note for note in report.notes if "not checked, as" not in note)
    report = sr.audit(AUDITED / "clean", baseline=site)
    assert report.notes == ("shop.example names none of the hosts of this site's sitemaps: is it of this site?",)


def test_load_result_is_a_baseline_like_its_file() -> None:
    (case,) = (case for case in cases() if case.name == "X01")
    before = case.path / "baseline.jsonl"
    by_file, by_dump = (sr.audit(case.path, baseline=each).findings for each in (before, sr.load(before)))
    assert [finding.code for finding in by_dump] == ["X01"]
    assert by_dump == by_file


def test_baseline_snapshot_of_several_sites_is_reduced_to_the_audited_one() -> None:
    pytest.importorskip("pyarrow")
    both = sr.snapshot([SITES / "shop", SITES / "broken"], show_progress=False)
    with pytest.raises(sr.UsageError, match=r"is not in shop\.example, broken\.example, which has "):
        sr.audit(SITES / "shop", baseline=both)
    report = sr.audit(SITES / "shop", baseline=both.filter(site="shop.example"))
    assert (report.notes, "X01" in {finding.code for finding in report.findings}) == ((), False)


@pytest.mark.parametrize("keyword", ["baseline", "state"])
def test_an_open_state_is_a_baseline_and_stays_open(keyword: str, tmp_path: Path) -> None:
    with sr.state.State(tmp_path / "state.db", create=True) as state:
        with sr.changes(SITES / "shop", state=state) as changes:
            assert len(list(changes)) == 640
        report = sr.audit(SITES / "shop", **{keyword: state})  # type: ignore[arg-type]
        assert (report.notes, {"X01", "X02"} & {finding.code for finding in report.findings}) == ((), set())
        assert [site.urls for site in state.sites()] == [640]


def test_invalid_baseline_is_reported_with_the_valid_types(tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match=r"^baseline is an earlier dump or a state: .*, not 5$"):
        sr.audit(SITES / "shop", baseline=5)  # type: ignore[arg-type]
    shop = sr.load(dumped(SITES / "shop", tmp_path / "shop.jsonl"))
    with pytest.raises(sr.UsageError, match=r"^state is the name .*; an earlier dump is a baseline$"):
        sr.audit(SITES / "shop", state=shop)  # type: ignore[arg-type]
    (tmp_path / "stored").mkdir()
    (tmp_path / "stored" / "urls.parquet").touch()
    with pytest.raises(sr.UsageError, match=r"is a folder, and a dump is a file: sr\.load\('.*stored'\) opens it"):
        sr.audit(SITES / "shop", baseline=tmp_path / "stored")


def test_tags_are_not_missing_where_the_document_ends_inside_the_entry(tmp_path: Path) -> None:
    link = '<xhtml:link rel="alternate" hreflang="%s" href="https://shop.example/%s"/>'
    video = "<video:video><video:title>Lamps</video:title></video:video>"
    news = "<news:news><news:title>Lamps</news:title></news:news>"
    tags = link % ("de", "de") + link % ("fr", "fr") + video + news
    entry, cut = (f"<url><loc>https://shop.example/{name}</loc>{tags}" for name in ("en", "us"))
    (tmp_path / "sitemap.xml").write_text(f"{URLSET}{entry}</url>{cut}")
    report = sr.audit(tmp_path / "sitemap.xml", base="https://shop.example/", select=["L02", "L04", "N03", "V"])
    assert {each.code: each.count for each in report.findings} == dict.fromkeys(("L02", "L04", "N03", "V01", "V02"), 1)
