"""What the known findings have and an audit no longer finds: fixed, if it was looked at; else not checked again."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from defusedxml import ElementTree
from kit import Site, dumped, files, index, objects, robots, run, urlset

import sitemap_reader as sr
from sitemap_reader.cli import Exit

BASE = "https://e.com"
DATED = "<lastmod>soon</lastmod>"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def entry(path: str, inside: str = "") -> str:
    return f"<url><loc>{BASE}/{path}</loc>{inside}</url>"


def site(folder: str = "site", **maps: bytes) -> Path:
    """A site whose robots.txt names these sitemaps."""
    named = {f"{name}.xml": body for name, body in maps.items()}
    return Site({"robots.txt": robots(*(f"{BASE}/{each}" for each in named)), **named}, BASE).write(Path(folder))


def known_of(source: str | Path, *options: str) -> str:
    run("audit", source, "--findings", "known.jsonl", "-q", *(options or ("--select", "D01,U08")))
    return "known.jsonl"


def fixed(source: str | Path, known: str = "known.jsonl", **options: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Code -> fixed occurrences, and those not checked again."""
    found = sr.audit(source, known=known, **options).fixed
    assert found is not None
    return {each.code: each.count for each in found.findings}, {**found.unchecked}


BEFORE = {"a": urlset(entry("1", DATED), entry("2", DATED), entry("3")), "b": urlset(entry("4", DATED), entry("5#x"))}


def test_what_is_gone_is_fixed_and_listed_with_samples() -> None:
    known = known_of(site(**BEFORE))
    now = site("now", a=urlset(entry("1"), entry("2", DATED), entry("3")), b=urlset(entry("4"), entry("5")))
    report = sr.audit(now, known=known)
    (dates, fragment) = report.fixed.findings
    assert (dates.code, dates.severity, dates.count, dates.title) == ("D01", "error", 2, "Unreadable date")
    assert [each.url for each in dates.samples] == [f"{BASE}/1", f"{BASE}/4"]
    assert (fragment.code, fragment.count) == ("U08", 1)
    assert (report.fixed.count, report.fixed.not_checked) == (3, "")
    assert [(each.code, each.count, each.new) for each in report.findings if each.code == "D01"] == [("D01", 1, 0)]


def test_without_known_findings_nothing_is_fixed() -> None:
    report = sr.audit(site(**BEFORE))
    assert (report.fixed, report.to_dict()["fixed"]) == (None, None)
    assert "Fixed since" not in str(report) + report.to_html() + report.to_markdown()
    assert fixed(site(**BEFORE), known_of(site(**BEFORE))) == ({}, {})


def test_a_removed_url_and_a_removed_sitemap_are_fixed() -> None:
    known_of(site(**BEFORE))
    assert fixed(site("now", a=urlset(entry("3")))) == ({"D01": 3, "U08": 1}, {})


@pytest.mark.parametrize("options", [{"select": "U"}, {"ignore": "D"}])
def test_a_rule_that_was_not_checked_is_not_fixed(options: dict[str, str]) -> None:
    known_of(site(**BEFORE))
    assert fixed(site("now", a=urlset(entry("3")), b=urlset(entry("4"))), **options) == ({"U08": 1}, {"D01": 3})


def test_a_sitemap_that_was_not_read_is_not_fixed() -> None:
    """Neither what it had, nor what may have moved to it."""
    known_of(site(**BEFORE))
    now = site("now", a=urlset(entry("3")), b=b"")
    (now / "https" / "e.com" / "b.xml").unlink()
    found, unchecked = fixed(now)
    assert found == {"D01": 2}
    assert unchecked == {"D01": 1, "U08": 1}


def test_a_single_sitemap_says_nothing_of_others() -> None:
    known_of(site(**BEFORE))
    files(Path(), {"a.xml": urlset(entry("3"))})
    assert fixed("a.xml", base=f"{BASE}/a.xml") == ({"D01": 2}, {"D01": 1, "U08": 1})


def test_what_a_filter_leaves_out_is_not_fixed() -> None:
    known_of(site(**BEFORE))
    now = site("now", a=urlset(entry("3")), b=urlset(entry("4")))
    assert fixed(now, exclude="/1$") == ({"D01": 2, "U08": 1}, {"D01": 1})
    assert fixed(now, no_follow="/b.xml") == ({"D01": 2}, {"D01": 1, "U08": 1})


def test_what_is_ignored_now_is_not_fixed() -> None:
    known_of(site(**BEFORE))
    Path("policy.toml").write_text("[[audit.ignore]]\ncode = 'D01'\nurl = '/[12]$'\nreason = 'known'\n")
    assert fixed(site("now", **BEFORE), policy="policy.toml") == ({}, {"D01": 2})


def test_findings_of_another_site_are_passed_over() -> None:
    known_of(site(**BEFORE))
    lines = Path("known.jsonl").read_text().replace("e.com", "other.example")
    Path("known.jsonl").write_text(lines)
    assert fixed(site(**BEFORE)) == ({}, {})


def test_a_dump_is_compared_by_its_sitemaps() -> None:
    known_of(dumped(site(**BEFORE), Path("before.jsonl")))
    assert fixed(dumped(site("now", a=urlset(entry("3")), b=urlset(entry("4"))), Path("now.jsonl"))) == (
        {"D01": 3, "U08": 1}, {}
    )  # fmt: skip
    plain = Path("plain.jsonl")
    plain.write_bytes(run("dump", site("now", a=urlset(entry("3")))).stdout_bytes)
    assert fixed(plain) == ({"D01": 2}, {"D01": 1, "U08": 1})


def test_a_sitemap_that_answers_again_is_fixed() -> None:
    before = Site({"robots.txt": robots(f"{BASE}/i.xml"), "i.xml": index(f"{BASE}/a.xml")}, BASE).write(Path("before"))
    known_of(before, "--select", "F01")
    assert len(objects(Path("known.jsonl").read_text())) == 1
    now = {"robots.txt": robots(f"{BASE}/i.xml"), "i.xml": index(f"{BASE}/a.xml"), "a.xml": urlset(entry("1"))}
    assert fixed(Site(now, BASE).write(Path("now"))) == ({"F01": 1}, {})
    assert fixed(site("other", b=urlset(entry("1")))) == ({"F01": 1}, {})  # no longer listed


# --- pages ---


def crawl(**statuses: int) -> str:
    rows = "".join(f"{BASE}/{name},{status},{BASE}/{name}\n" for name, status in statuses.items())
    Path("crawl.csv").write_text(f"url,status,canonical\n{rows}")
    return "crawl.csv"


def test_a_page_that_was_not_checked_again_is_not_fixed() -> None:
    pages = site(a=urlset(entry("p1"), entry("p2"), entry("p3")))
    known_of(pages, "--select", "C01", "--crawl", crawl(p1=404, p2=404, p3=404))
    assert fixed(pages) == ({}, {"C01": 3})
    assert fixed(pages, crawl=crawl(p1=200, p2=404)) == ({"C01": 1}, {"C01": 1})
    unlisted = site("now", a=urlset(entry("p1")))
    assert fixed(unlisted, crawl=crawl(p1=200, p2=404)) == ({"C01": 3}, {})


def test_a_sample_of_pages_decides_about_its_pages_only() -> None:
    files(Path("build"), {"sitemap.xml": urlset(*map(entry, ("p1", "p2", "p3", "p4")))})
    known_of("build", "--base", BASE, "--check-urls", "all", "--select", "C01")
    files(Path("build"), {f"p{number}.html": "<title>Page</title>" for number in range(1, 5)})
    assert fixed("build", base=BASE, check_urls="all") == ({"C01": 4}, {})
    assert fixed("build", base=BASE, check_urls=1) == ({"C01": 1}, {"C01": 3})


def test_removed_urls_are_fixed_if_they_are_listed_again() -> None:
    locs = [f"{BASE}/{number}" for number in range(20)]
    Path("before.txt").write_text("\n".join(locs))
    known_of(site(a=urlset(locs[0])), "--baseline", "before.txt", "--select", "X01")
    now = site("now", a=urlset(*locs[:5]))
    assert fixed(now, baseline="before.txt") == ({"X01": 4}, {})
    Path("later.txt").write_text(f"{BASE}/0\n")
    assert fixed(now, baseline="later.txt") == ({"X01": 4}, {"X01": 15})


# --- formats ---


def of_ci(format: str) -> str:
    """The report of a site of which two dates and a fragment were corrected, and one thing was not checked again."""
    known_of(site(**BEFORE))
    now = site("now", a=urlset(*(entry(each) for each in "123"), entry("6", DATED)), b=urlset(entry("5")))
    return run("audit", now, "--known", "known.jsonl", "--ignore", "U,D07", "--format", format, "-q").stdout


FIXED = "Fixed since known.jsonl: 3 occurrences; 1 not checked again (U08 1)"


def test_junit_says_what_was_fixed() -> None:
    (suite,) = ElementTree.fromstring(of_ci("junit"))
    text = suite.findtext("system-out") or ""
    assert f"{FIXED}\n  error  D01  3  Unreadable date\n    - {BASE}/1: " in text


def test_sarif_says_what_was_fixed() -> None:
    """Not by results with the baselineState absent, of which GitHub makes alerts."""
    (log,) = json.loads(of_ci("sarif"))["runs"]
    assert {each["baselineState"] for each in log["results"]} == {"new"}
    notes = [each["message"]["text"] for each in log["invocations"][0]["toolExecutionNotifications"]]
    assert any(each.startswith(f"{FIXED}\n  error  D01  3  ") for each in notes)
    fixed = log["properties"]["fixed"]
    assert (fixed["count"], fixed["not_checked"], fixed["findings"][0]["code"]) == (3, {"U08": 1}, "D01")


def test_github_says_in_one_notice_what_was_fixed() -> None:
    title = FIXED.replace(":", "%3A")
    lines = [each for each in of_ci("github").splitlines() if each.startswith(f"::notice title={title}::")]
    assert len(lines) == 1
    assert f"  error  D01  3  Unreadable date%0A    - {BASE}/1: lastmod " in lines[0]


def test_github_gets_ten_notices_with_that_of_what_was_fixed() -> None:
    known_of(site(a=urlset(entry("1", DATED), *(entry(f"{each}#x") for each in range(12)))), "--select", "D01")
    now = site("now", a=urlset(entry("1"), *(entry(f"{each}#x") for each in range(12))))
    Path("policy.toml").write_text("[audit.severity]\nU08 = 'notice'\n")
    options = ("--known", "known.jsonl", "--config", "policy.toml", "--select", "U08,D01", "--format", "github", "-q")
    text = run("audit", now, *options).stdout
    assert "::notice title=Fixed since known.jsonl%3A 1 occurrence::" in text
    assert text.count("::notice") == 10


def test_github_says_in_a_line_that_nothing_was_fixed() -> None:
    known = known_of(site(**BEFORE), "--select", "U08")
    text = run("audit", "site", "--known", known, "--select", "U08", "--format", "github", "-q").stdout
    assert "::notice" not in text
    assert "\nFixed since known.jsonl: 0 occurrences\n" in f"\n{text}"


@pytest.mark.parametrize("format", ["junit", "sarif", "github"])
def test_without_known_findings_no_format_says_what_was_fixed(format: str) -> None:
    assert "ixed since" not in run("audit", site(**BEFORE), "--format", format, "-q").stdout


def test_each_report_has_a_section() -> None:
    known_of(site(**BEFORE))
    now = site("now", a=urlset(*(entry(each) for each in "123"), entry("6", DATED)), b=urlset(entry("5")))
    options = ("--known", "known.jsonl", "--ignore", "U", "--also", "r.md", "--also", "r.html", "--also", "r.json")
    text = run("audit", now, *options).stdout
    assert "Fixed since known.jsonl: 3 occurrences; 1 not checked again (U08 1)\n  error  D01  3  " in text
    assert f"\n    - {BASE}/1: lastmod \"soon\" is no date\n" in text
    markdown, html = Path("r.md").read_text(), Path("r.html").read_text()
    headline = "### `Fixed since known.jsonl: 3 occurrences; 1 not checked again (U08 1)`"
    assert f"{headline}\n\n```text\n  error  D01" in markdown
    assert "<h2>Fixed since known.jsonl: 3 occurrences</h2>" in html
    assert "<p>1 not checked again (U08 1)</p>" in html
    assert json.loads(Path("r.json").read_text())["fixed"] == {
        "since": "known.jsonl", "count": 3, "not_checked": {"U08": 1},
        "findings": [{
            "code": "D01", "severity": "error", "title": "Unreadable date", "count": 3,
            "samples": [
                {"url": f"{BASE}/{each}", "value": "soon", "sitemap": f"{BASE}/{name}.xml",
                 "message": 'lastmod "soon" is no date'}
                for each, name in (("1", "a"), ("2", "a"), ("4", "b"))
            ],
        }],
    }  # fmt: skip


def test_only_some_samples_are_listed() -> None:
    known_of(site(a=urlset(*(entry(str(number), DATED) for number in range(9)))))
    report = sr.audit(site("now", a=urlset(entry("0"))), known="known.jsonl", samples=2)
    assert len(report.fixed.findings[0].samples) == 2
    assert "\n    - and 7 more\n" in str(report)


# --- the file ---


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes with names")
def test_known_findings_may_come_through_a_pipe() -> None:
    body = Path(known_of(site(**BEFORE))).read_bytes()
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(body), daemon=True)
    writer.start()
    assert fixed(site("now", a=urlset(entry("3"))), "pipe") == ({"D01": 3, "U08": 1}, {})
    writer.join()


@pytest.mark.parametrize(("name", "body", "reported"), [
    ("k.csv", "code,severity,url\nD01,error,a\n", "k.csv:1: no JSON object: 'code,severity,url'; "),
    ("k.html", "<!doctype html>", "k.html:1: no JSON object: '<!doctype html>'; "),
    ("k.jsonl", '{"loc":"https://e.com/"}\n', "k.jsonl:1: that is no finding of an audit; "),
    ("k.jsonl", '{"code":"D01"}\n', """k.jsonl:1: a line without "type" is a URL, and this one has no "loc": """
     """'{"code":"D01"}'; """),
    ("k.jsonl", '{"type":"problem"}\n', "k.jsonl:1: that is no finding of an audit; "),
])  # fmt: skip
def test_another_file_is_refused_with_what_writes_one(name: str, body: str, reported: str) -> None:
    Path(name).write_text(body)
    result = run("audit", site(**BEFORE), "--known", name)
    assert result.exit_code == Exit.USAGE
    assert result.stderr == f"error: {reported}give the file that an audit (--findings FILE.jsonl) wrote\n"


def test_a_folder_is_refused_with_what_writes_a_file() -> None:
    result = run("audit", site(**BEFORE), "--known", ".")
    assert result.exit_code == Exit.USAGE
    assert result.stderr == "error: . is a folder; give the file that an audit (--findings FILE.jsonl) wrote\n"


def test_values_of_other_types_are_left_out() -> None:
    row = {"type": "finding", "code": "D01", "url": f"{BASE}/1", "value": 5, "sitemap": f"{BASE}/a.xml"}
    odd = {**row, "severity": [], "count": "many", "line": "x", "message": None}
    Path("known.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in (odd, {**row, "code": "Z99"})))
    (found,) = sr.audit(site(a=urlset(entry("1"))), known="known.jsonl").fixed.findings
    assert (found.code, found.severity, found.count, found.samples[0].value) == ("D01", "error", 1, None)
