"""What robots.txt forbids to crawlers of search engines (U12, F02, F20), and the sitemaps that it names (F09, F21)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import HOST, Site, dump, files, index, robots, run, urlset

import sitemap_reader as sr
from sitemap_reader.frontier import agent_names, group_rules, parse_rules

MAP = f"{HOST}/sitemap.xml"
NAMED = f"Sitemap: {MAP}\n"
ALL_CLOSED = "User-agent: *\nDisallow: /\n"
OTHERS_OPEN = "User-agent: Googlebot\nDisallow: /wishlist/\n\nUser-agent: bingbot\nAllow: /\n"


def audited(rules: str, *paths: str, pages: dict[str, Any] | None = None, **options: Any) -> sr.Report:
    """An audit of a site with this robots.txt, and a sitemap with pages at these paths."""
    listed = urlset(*(f"{HOST}{path}" for path in paths))
    site = Site({"/robots.txt": rules, "/sitemap.xml": listed, **(pages or {})})
    return sr.audit(HOST, fetcher=site, limits=sr.Limits(tries=1), **{"select": "F,U12", "ignore": "F10", **options})


def messages(report: sr.Report) -> list[str]:
    severities = {"error": "", "warning": "warning ", "notice": "notice "}
    return sorted(
        f"{severities[each.severity]}{each.code} {each.message.replace(HOST, '')}"
        for finding in report.findings
        for each in finding.samples
    )


def disallowed(rules: str, *paths: str, robots_for: str | Iterable[str] | None = None) -> list[str]:
    """The paths that are U12, each with its rule and agents."""
    report = audited(f"{rules}\n{NAMED}", *paths, robots_for=robots_for, select="U12", obey_robots=False)
    return [each.removeprefix("U12 ") for each in messages(report)]


# --- which group, which rule ---

BOTH = "(Googlebot and Bingbot)"



@pytest.mark.parametrize(("rules", "paths", "expected"), [
    ("User-agent: *\nDisallow: /a", ["/a", "/b"], [f'/a is disallowed by robots.txt:2 "Disallow: /a" {BOTH}']),
    ("User-agent: *\nAllow: /\n\nUser-agent: GoogleBot\nDisallow: /a\nAllow: /ab", ["/a", "/ab"],
     ['/a is disallowed by robots.txt:5 "Disallow: /a" (Googlebot)']),
    # A group of its own replaces that of all.
    ("User-agent: *\nDisallow: /checkout/\n\nUser-agent: Googlebot\nDisallow: /w/\n", ["/checkout/1", "/w/1"],
     ['/checkout/1 is disallowed by robots.txt:2 "Disallow: /checkout/" (Bingbot)',
      '/w/1 is disallowed by robots.txt:5 "Disallow: /w/" (Googlebot)']),
    # Several groups of one name are one.
    ("User-agent: bingbot\nDisallow: /a\n\nUser-agent: *\nAllow: /\n\nUser-agent: x\nUser-agent: Bingbot/2.0\n"
     "Disallow: /b", ["/a", "/b"], ['/a is disallowed by robots.txt:2 "Disallow: /a" (Bingbot)',
                    '/b is disallowed by robots.txt:9 "Disallow: /b" (Bingbot)']),
    ("User-agent: Googlebot-Image\nDisallow: /a\n\nUser-agent: Googlebot-News\nDisallow: /", ["/a"], []),
    # The longest rule that matches decides, whatever its place.
    ("User-agent: *\nDisallow: /a\nDisallow: /a/b\nAllow: /a/b/c", ["/a/b/1", "/a/b/c", "/a/1"],
     [f'/a/1 is disallowed by robots.txt:2 "Disallow: /a" {BOTH}',
      f'/a/b/1 is disallowed by robots.txt:3 "Disallow: /a/b" {BOTH}']),
    ("User-agent: *\nDisallow: /*.pdf$ # print", ["/x.pdf", "/x.pdf?a=1"],
     [f'/x.pdf is disallowed by robots.txt:2 "Disallow: /*.pdf$" {BOTH}']),
    ("User-agent: *\nDisallow: /*?s=", ["/b?a=1&s=2", "/b?s=1"],
     [f'/b?s=1 is disallowed by robots.txt:2 "Disallow: /*?s=" {BOTH}']),
    ("User-agent: *\nDisallow: /caf%c3%a9/", ["/caf%C3%A9/1", "/%63af%c3%a9/2"],
     [f'/%63af%c3%a9/2 is disallowed by robots.txt:2 "Disallow: /caf%c3%a9/" {BOTH}',
      f'/caf%C3%A9/1 is disallowed by robots.txt:2 "Disallow: /caf%c3%a9/" {BOTH}']),
    ("User-agent: *\nDisallow: /A", ["/a", "/A"], [f'/A is disallowed by robots.txt:2 "Disallow: /A" {BOTH}']),
    ("\ufeffUSER-AGENT : *\r\n\r\ndisallow:/a\r\n", ["/a"], [f'/a is disallowed by robots.txt:3 "disallow:/a" {BOTH}']),
    ("User-agent: *\rDisallow: /a\r", ["/a"], [f'/a is disallowed by robots.txt:2 "Disallow: /a" {BOTH}']),
    # A Sitemap line ends no group, and an empty rule forbids nothing.
    ("User-agent: Googlebot\nSitemap: https://x.example/s.xml\nUser-agent: bingbot\nDisallow: /a", ["/a"],
     [f'/a is disallowed by robots.txt:4 "Disallow: /a" {BOTH}']),
    ("User-agent: Googlebot\nDisallow:\nUser-agent: bingbot\nDisallow: /a", ["/a"],
     ['/a is disallowed by robots.txt:4 "Disallow: /a" (Bingbot)']),
    ("User-agent: Googlebot\nDisallow: /a\nUser-agent: bingbot\nDisallow: /a", ["/a"],
     ['/a is disallowed by robots.txt:2 "Disallow: /a" (Googlebot), robots.txt:4 "Disallow: /a" (Bingbot)']),
    ("", ["/a"], []),
])  # fmt: skip
def test_the_group_of_each_crawler_counts_with_its_line(rules: str, paths: list[str], expected: list[str]) -> None:
    assert disallowed(rules, *paths) == expected


RULES_OF_GPT = "User-agent: *\nDisallow: /b\n\nUser-agent: GPTBot\nDisallow: /a"


@pytest.mark.parametrize(("robots_for", "expected"), [
    ("GPTBot", ['/a is disallowed by robots.txt:5 "Disallow: /a" (GPTBot)']),
    (["gptbot"], ['/a is disallowed by robots.txt:5 "Disallow: /a" (gptbot)']),
    ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
     ['/a is disallowed by robots.txt:5 "Disallow: /a" (GPTBot)']),
    ("*", ['/b is disallowed by robots.txt:2 "Disallow: /b" (other crawlers)']),
    ("googlebot, bingbot,CCBot", ['/b is disallowed by robots.txt:2 "Disallow: /b" (Googlebot, Bingbot and CCBot)']),
])
def test_any_crawler_may_be_given(robots_for: Any, expected: list[str]) -> None:
    assert disallowed(RULES_OF_GPT, "/a", "/b", robots_for=robots_for) == expected


@pytest.mark.parametrize("robots_for", ["", ",", "google bot", "(", ["Googlebot", ""], [1]])
def test_what_is_no_crawler_is_an_error(robots_for: Any) -> None:
    with pytest.raises(sr.UsageError, match="robots_for"):
        audited(NAMED, "/", robots_for=robots_for)


def test_names_are_taken_once_in_their_usual_spelling() -> None:
    agent = "Mozilla/5.0 (KHTML, like Gecko; compatible; bingbot/2.0)"
    assert agent_names(f"GOOGLEBOT,{agent} ,Bingbot, *") == ("Googlebot", "Bingbot", "*")


_LINES = [
    "User-agent: *", "User-agent: bot", "User-agent: other", "User-agent: Bot/2", "Disallow: /private", "Disallow: /b/",
    "Allow: /b/c", "Disallow: *.php", "Disallow:", "Disallow: /", "disalow /d", "Dissallow : /a$", "Crawl-delay: 3",
    "Sitemap: https://a.example/s.xml", "", "# Disallow: /c", "Disallow: /%62/", "Disallow: //b", "Disallow: b",
    "Noindex: /z", "Host: a.example", "Allow: /", "Disallow: /*?d", "Disallow: /b # c",
]  # fmt: skip
_PATHS = ["/", "/private/", "/%70rivate/x", "/b/x", "/b/c", "/b%2Fc", "/c.php", "/d?e=f", "/B/C", "/%2e%2e/b", "//b"]


@given(st.lists(st.sampled_from(_LINES)))
def test_each_refusal_has_a_rule_that_refuses_alone(lines: list[str]) -> None:
    rules = parse_rules("\n".join(lines), "sitemap-reader")
    for group in group_rules(rules, HOST, ["bot", "*"]):
        for agent in group.agents:  # they share one group
            own = rules.for_agent(agent)
            for url in (f"{HOST}{path}" for path in _PATHS):
                assert group.disallows(url) is not own.allows(url)
                if group.disallows(url):
                    rule = group.rule(url)
                    assert rule is not None
                    assert lines[rule.line - 1].partition("#")[0].strip() == rule.text
                    assert not parse_rules(f"User-agent: *\n{rule.text}", "x").allows(url)
        if group.whole_site is not None:
            assert all(group.disallows(f"{HOST}{path}") for path in ("/", "/x", "/b/c", "/x.html"))


def test_many_rules_are_counted_by_themselves_up_to_a_number() -> None:
    rules = "User-agent: *\n" + "".join(f"Disallow: /{number:03}/\n" for number in range(150))
    (finding,) = audited(rules + NAMED, *(f"/{number:03}/" for number in range(150))).findings
    kinds = {kind.kind: kind.count for kind in finding.kinds}
    assert (finding.count, len(kinds), kinds["others"]) == (150, 11, 91)


# --- sitemaps ---


def test_a_sitemap_that_this_reader_may_not_fetch_is_a_notice_if_search_engines_may() -> None:
    assert messages(audited(f"{ALL_CLOSED}\n{OTHERS_OPEN}\n{NAMED}", "/")) == [
        'notice F02 not read (listed in /robots.txt:10): robots.txt:2 "Disallow: /" forbids it to sitemap-reader; '
        "Googlebot and Bingbot may fetch it; --no-robots (obey_robots=False) reads it"
    ]
    of_bing, of_google = "User-agent: bingbot\nDisallow: /s\n", "User-agent: googlebot\nAllow: /\n"
    rules = f"User-agent: *\nDisallow: /sitemap\n\n{of_bing}\n{of_google}"
    assert messages(audited(rules + NAMED, "/")) == [
        'F02 not read (listed in /robots.txt:9): robots.txt:2 "Disallow: /sitemap" forbids it to sitemap-reader; '
        'Googlebot may fetch it; and robots.txt:5 "Disallow: /s" (Bingbot); --no-robots (obey_robots=False) reads it'
    ]


def test_a_sitemap_that_a_search_engine_may_not_fetch_is_an_error_though_it_is_read() -> None:
    report = audited(f"User-agent: *\nAllow: /\n\nUser-agent: Googlebot\nDisallow: /*.xml$\n{NAMED}", "/")
    assert messages(report) == ['F02 /sitemap.xml is disallowed by robots.txt:5 "Disallow: /*.xml$" (Googlebot)']
    assert (report.urls, report.complete) == (1, True)


def test_children_of_an_index_are_judged_too() -> None:
    rules = f"User-agent: bingbot\nDisallow: /b.xml\n{NAMED}"
    children = {f"/{name}.xml": urlset(f"{HOST}/{name}") for name in "ab"}
    report = audited(rules, pages={"/sitemap.xml": index(f"{HOST}/a.xml", f"{HOST}/b.xml"), **children})
    assert messages(report) == ['F02 /b.xml is disallowed by robots.txt:2 "Disallow: /b.xml" (Bingbot)']


def test_what_a_stopped_audit_could_not_read_is_reported() -> None:
    rules = f"User-agent: sitemap-reader\nDisallow: /\n{NAMED}"
    report = audited(rules, "/", stop=lambda: True)
    assert report.complete is False


# --- the whole site ---


@pytest.mark.parametrize(("rules", "expected"), [
    (ALL_CLOSED, 'robots.txt:2 "Disallow: /" disallows the whole site for all crawlers: sitemaps list 2 pages of it'),
    ("User-agent: *\nDisallow: /*\n",
     'robots.txt:2 "Disallow: /*" disallows the whole site for all crawlers: sitemaps list 2 pages of it'),
    ("User-agent: *\nAllow: /\n\nUser-agent: Googlebot\nDisallow: /\nAllow: /robots.txt\nAllow: /*.css$\n",
     'robots.txt:5 "Disallow: /" disallows the whole site for Googlebot: sitemaps list 2 pages of it'),
    (f"{ALL_CLOSED}User-agent: x\nAllow: /\n",
     'robots.txt:2 "Disallow: /" disallows the whole site for Googlebot and Bingbot: sitemaps list 2 pages of it'),
])  # fmt: skip
def test_a_site_that_is_disallowed_as_a_whole_is_one_error(rules: str, expected: str) -> None:
    report = audited(f"{rules}{NAMED}", "/", "/a", obey_robots=False)
    assert messages(report) == [f"F20 {expected}"]
    (finding,) = report.findings
    (sample,) = finding.samples
    assert (sample.sitemap, sample.line, sample.url) == (f"{HOST}/robots.txt", int(expected[11]), None)


@pytest.mark.parametrize("opening", ["/a", "/$", "/*.html$", "/x.php"])
def test_with_a_page_that_is_allowed_each_is_judged(opening: str) -> None:
    report = audited(f"{ALL_CLOSED}Allow: {opening}\n{NAMED}", "/b", "/c", obey_robots=False, select="U12,F20")
    assert [(each.code, each.count) for each in report.findings] == [("U12", 2)]


def test_without_f20_each_page_is_u12() -> None:
    for options in ({"select": "U12"}, {"ignore": "F"}):
        report = audited(f"{ALL_CLOSED}{NAMED}", "/", "/a", obey_robots=False, **options)
        assert [(each.code, each.count) for each in report.findings] == [("U12", 2)]


def test_the_other_crawler_is_judged_by_page() -> None:
    rules = f"User-agent: Googlebot\nDisallow: /\n\nUser-agent: bingbot\nDisallow: /a\n{NAMED}"
    assert messages(audited(rules, "/a", "/b")) == [
        'F20 robots.txt:2 "Disallow: /" disallows the whole site for Googlebot: sitemaps list 2 pages of it',
        'U12 /a is disallowed by robots.txt:5 "Disallow: /a" (Bingbot)',
    ]


def test_a_site_of_which_nothing_may_be_read_says_why() -> None:
    report = audited(ALL_CLOSED, "/", select="F20")
    assert messages(report) == ['F20 robots.txt:2 "Disallow: /" disallows the whole site for all crawlers']
    (note,) = report.notes
    assert note.startswith(f"no sitemap found for {HOST}: robots.txt names none, and forbids")


# --- what robots.txt names ---


def test_a_missing_robots_txt_is_reported_like_one_without_a_line() -> None:
    missing = "robots.txt is missing ({}): nothing tells search engines of /sitemap.xml"
    for status in (404, 410):
        assert messages(audited("", "/", pages={"/robots.txt": status})) == [f"warning F09 {missing.format(status)}"]
    assert messages(audited("User-agent: *\n", "/")) == ["warning F09 robots.txt names no sitemap"]
    assert messages(audited(NAMED, "/")) == []


REFUSED = "search engines take robots.txt for missing, and its Sitemap lines are unknown: "


@pytest.mark.parametrize("status", [400, 401, 403, 418, 451])
def test_a_refused_robots_txt_is_missing_to_search_engines(status: int) -> None:
    report = audited("", "/", pages={"/robots.txt": status})
    (message,) = messages(report)
    assert message.startswith(f"warning F14 {REFUSED}{status} ")
    assert report.complete is True
    assert [each.url for each in report.sitemaps] == [MAP]  # the other was read for its rules alone


@pytest.mark.parametrize(("status", "sitemap"), [(403, 404), (403, 403), (401, b"<x"), (429, None), (503, None)])
def test_a_refused_robots_txt_is_an_error_where_nothing_could_be_read(status: int, sitemap: Any) -> None:
    pages = {"/robots.txt": status} if sitemap is None else {"/robots.txt": status, "/sitemap.xml": sitemap}
    report = audited("", "/", pages=pages)
    (message,) = [each for each in messages(report) if "robots.txt" in each or "F1" in each][:1]
    assert message.startswith(("F17 " if status < 429 else "F18 ") + str(status))
    assert report.complete is False
    assert report.dropped is not None
    assert [each.complete for each in report.sitemaps if each.url.endswith("/robots.txt")] == ["no"]


def test_an_audit_that_was_stopped_is_not_complete_by_a_refused_robots_txt() -> None:
    report = audited("", "/", pages={"/robots.txt": 403}, stop=lambda: True)
    assert report.complete is False


def test_a_dump_of_a_site_with_a_refused_robots_txt_is_complete(tmp_path: Path) -> None:
    pages = {"/sitemap.xml": urlset(f"{HOST}/"), "/robots.txt.headers": b"status: 403\n"}
    folder = Site(pages).write(tmp_path / "site")
    lines = run("dump", folder, "--format", "jsonl", "--report", tmp_path / "report.jsonl").stdout
    (tmp_path / "dump.jsonl").write_text(lines + (tmp_path / "report.jsonl").read_text())
    report = sr.audit(tmp_path / "dump.jsonl", select="F", ignore="F10")
    assert [each[:11] for each in messages(report)] == ["warning F14"]
    assert report.complete is True


@pytest.mark.parametrize(("rules", "expected"), [
    ("User-agent: *\nDisallow: /*\nAllow: /$\n", ['F02 not read: robots.txt:2 "Disallow: /*" forbids it to']),
    ("User-agent: *\nDisallow: /\nAllow: /index.html\n", ['F02 not read: robots.txt:2 "Disallow: /" forbids it to']),
    ("User-agent: *\nDisallow: /sitemap\n", ['F02 not read: robots.txt:2 "Disallow: /sitemap" forbids it to']),
    ("User-agent: *\nDisallow: /\n", ['F20 robots.txt:2 "Disallow: /" disallows', "notice F02 not read: robots.txt:2"]),
    ("User-agent: sitemap-reader\nDisallow: /\n", ["notice F02 not read: robots.txt:2"]),
])  # fmt: skip
def test_a_sitemap_of_a_folder_that_is_disallowed_is_one_fault(
    rules: str, expected: list[str], tmp_path: Path
) -> None:
    folder = files(tmp_path / "site", {"robots.txt": rules, "sitemap.xml": urlset(f"{HOST}/"), "index.html": "x"})
    report = sr.audit(folder, base=HOST, select="F,S18", ignore="F06,F10")
    found = [each for each in messages(report) if not each.startswith("warning F09 ")]
    assert [each[: len(wanted)] for each, wanted in zip(found, expected, strict=True)] == expected
    assert report.complete is False


def test_another_file_that_nothing_names_is_no_sitemap_that_crawlers_find(tmp_path: Path) -> None:
    closed = {"robots.txt": "User-agent: *\nDisallow: /*\nAllow: /$\n", "maps/own.xml": urlset(f"{HOST}/")}
    report = sr.audit(files(tmp_path / "site", closed), base=HOST, select="F,S18", ignore="F06,F10")
    assert [each.code for each in report.findings] == ["F19", "S18"]


def test_a_site_without_a_sitemap_is_one_fault() -> None:
    none = "no sitemap found for https://a.example: robots.txt "
    for rules, why in (("User-agent: *\n", "names none"), ("", "names none"), (404, "is missing (404)")):
        report = sr.audit(HOST, fetcher=Site({"/robots.txt": rules}), limits=sr.Limits(tries=1))
        (finding,) = report.findings
        assert finding.code == "F19"
        assert f"{none}{why}" in finding.samples[0].message
    report = sr.audit(HOST, fetcher=Site({"/robots.txt": "User-agent: *\n"}), limits=sr.Limits(tries=1), ignore="F19")
    assert [each.code for each in report.findings] == ["F09"]


def test_a_single_document_needs_no_robots_txt(tmp_path: Path) -> None:
    site = Site({"/sitemap.xml": urlset(f"{HOST}/")})
    assert sr.audit(MAP, fetcher=site, select="F09").findings == ()
    folder = files(tmp_path / "site", {"sitemap.xml": urlset("https://u.example/project/")})
    assert sr.audit(folder / "sitemap.xml", base=f"{HOST}/", select="F09").findings == ()
    # The robots.txt of the host is not among the files.
    assert sr.audit(folder, base="https://u.example/project/", select="F09").findings == ()
    assert [each.code for each in sr.audit(folder, base="https://u.example/", select="F09").findings] == ["F09"]


FOREIGN = "the Sitemap line names https://{}/s.xml, of another host: {}"


@pytest.mark.parametrize(("host", "page", "expected"), [
    ("b.example", urlset(f"{HOST}/1"), "notice F21 " + FOREIGN.format("b.example", "it lists pages of this site")),
    ("b.example", urlset("https://b.example/1"),
     "warning F21 " + FOREIGN.format("b.example", "it lists no page of this site")),
    ("b.example", 404, "F21 " + FOREIGN.format("b.example", "it cannot be read")),
    ("staging.a.example", urlset(f"{HOST}/1"),
     "F21 " + FOREIGN.format("staging.a.example", "staging.a.example is a staging host by its name")),
    ("web-dev.example", 404, "F21 " + FOREIGN.format("web-dev.example", "it cannot be read")),
    ("contest.example", urlset(f"{HOST}/1"),
     "notice F21 " + FOREIGN.format("contest.example", "it lists pages of this site")),
])  # fmt: skip
def test_a_sitemap_of_another_host_is_reported(host: str, page: Any, expected: str) -> None:
    pages = {f"https://{host}/s.xml": page}
    assert messages(audited(f"Sitemap: https://{host}/s.xml\n", pages=pages, select="F21")) == [expected]


def test_an_index_of_another_host_lists_what_its_children_do() -> None:
    pages = {
        "https://b.example/s.xml": index("https://b.example/1.xml"),
        "https://b.example/1.xml": urlset(f"{HOST}/1"),
    }
    report = audited("Sitemap: https://b.example/s.xml\n", pages=pages, select="F21")
    assert messages(report) == ["notice F21 " + FOREIGN.format("b.example", "it lists pages of this site")]


def test_the_www_host_is_not_another_one() -> None:
    pages = {"https://www.a.example/s.xml": urlset("https://www.a.example/")}
    assert messages(audited("Sitemap: https://www.a.example/s.xml\n", pages=pages, select="F21")) == []


# --- files ---


def test_files_say_nothing_of_other_hosts(tmp_path: Path) -> None:
    elsewhere = ["https://fr.a.example/1", "https://fr.a.example/2", "https://c.example:8080/1"]
    wrong = ["https://staging.a.example/1", "http://localhost:1313/1"]
    listed = urlset(f"{HOST}/private/", *elsewhere, *wrong)
    rules = robots(MAP, "https://cdn.example/s.xml", rules="User-agent: *\nDisallow: /private/\n")
    folder = files(tmp_path, {"robots.txt": rules, "sitemap.xml": listed})
    report = sr.audit(folder, base=HOST, select="F,U04,U12,U14", ignore="F10")
    assert {(each.code, each.severity): each.count for each in report.findings} == {
        ("U12", "error"): 1, ("U14", "error"): 2, ("F21", "notice"): 1,
    }  # fmt: skip
    assert "1 sitemap not read, as not among these files: https://cdn.example/s.xml" in report.notes
    hosts = "2 other hosts (c.example:8080, fr.a.example)"
    assert f"U04 not checked for 3 URLs of {hosts}: their robots.txt is not among these files" in report.notes
    assert (report.urls, report.dropped, report.not_checked) == (1, 2, 3)
    assert report.url_counts == "6 URLs listed, 1 valid, 2 that search engines may ignore, 3 of other hosts not checked"
    assert report.headline.endswith("in 1 URL (2 of 6 may be ignored; 3 of 6 of other hosts, not checked)")
    assert json.loads(report.to_json())["not_checked"] == 3
    page = report.to_html()
    assert "URLs of other hosts, not checked" in page
    assert "URLs of other hosts, not checked" not in audited("", pages={}).to_html()


def test_sitemaps_of_other_hosts_are_counted_apart_from_urls(tmp_path: Path) -> None:
    pages = {
        "robots.txt": robots(MAP, f"{HOST}/urls.xml"),
        "sitemap.xml": index("https://b.example/1.xml", "https://b.example/2.xml"),
        "urls.xml": urlset(f"{HOST}/", "https://b.example/"),
    }
    report = sr.audit(files(tmp_path, pages), base=HOST, select="U04")
    counted = "U04 not checked for 1 URL and 2 sitemaps of 1 other host (b.example)"
    assert f"{counted}: their robots.txt is not among these files" in report.notes
    assert (report.urls, report.dropped, report.not_checked) == (1, 0, 1)


def test_an_index_of_many_hosts_exceeds_no_limit_of_requests(tmp_path: Path) -> None:
    children = [f"https://h{number}.example/s.xml" for number in range(150)]
    report = sr.audit(files(tmp_path, {"robots.txt": NAMED, "sitemap.xml": index(*children)}), base=HOST, select="S16")
    assert report.findings == ()


# --- the command line ---


def test_the_command_judges_the_given_crawlers(tmp_path: Path) -> None:
    rules = f"User-agent: GPTBot\nDisallow: /\n\n{NAMED}"
    folder = Site({"/robots.txt": rules, "/sitemap.xml": urlset(f"{HOST}/")}).write(tmp_path)
    assert run("audit", folder, "--select", "F20,U12").exit_code == 0
    result = run("audit", folder, "--select", "F20,U12", "--robots-for", "googlebot,GPTBot")
    assert result.exit_code == 1
    assert 'robots.txt:2 "Disallow: /" disallows the whole site for GPTBot' in " ".join(result.stdout.split())
    result = run("audit", folder, "--robots-for", "google bot")
    assert result.exit_code == 2
    assert "--robots-for" in result.stderr


def test_a_dump_has_no_robots_txt(tmp_path: Path) -> None:
    file = dump(tmp_path / "a.jsonl", {"loc": f"{HOST}/", "sitemap": MAP})
    with pytest.raises(sr.UsageError, match="robots_for: that applies to sites only"):
        sr.audit(file, robots_for="GPTBot")


# --- stats ---


def robots_facts(*arguments: Any) -> list[tuple[str, str, int]]:
    result = run("stats", *arguments, "--format", "jsonl", "-q")
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return [(row["group"], row["name"], row["count"]) for row in rows if row["group"].startswith("robots.txt")]


def test_stats_count_what_each_crawler_may_read(tmp_path: Path) -> None:
    paths = [*(f"/blog/{number}" for number in range(3)), "/shop/1", "/"]
    of_others = "User-agent: GPTBot\nDisallow: /blog/\n\nUser-agent: CCBot\nDisallow: /\n"
    rules = f"User-agent: *\nDisallow: /x\n\n{of_others}{NAMED}"
    listed = urlset(*(f"{HOST}{path}" for path in paths), "https://b.example/1")
    folder = files(tmp_path, {"robots.txt": rules, "sitemap.xml": listed})
    base = ["--base", f"{HOST}/", "--scope", "any"]
    assert robots_facts(folder, *base) == []
    assert robots_facts(folder, *base, "--robots-for", "GPTBot,CCBot,*") == [
        ("robots.txt GPTBot", "allowed", 2),
        ("robots.txt GPTBot", "disallowed", 3),
        ("robots.txt GPTBot", "not checked", 1),
        ("robots.txt GPTBot disallowed", "/blog/", 3),
        ("robots.txt CCBot", "allowed", 0),
        ("robots.txt CCBot", "disallowed", 5),
        ("robots.txt CCBot", "not checked", 1),
        ("robots.txt CCBot disallowed", "/blog/", 3),
        ("robots.txt CCBot disallowed", "/", 1),
        ("robots.txt CCBot disallowed", "/shop/", 1),
        ("robots.txt *", "allowed", 5),
        ("robots.txt *", "disallowed", 0),
        ("robots.txt *", "not checked", 1),
    ]


def test_stats_of_a_dump_know_no_robots_txt(tmp_path: Path) -> None:
    result = run("stats", dump(tmp_path / "a.jsonl", {"loc": f"{HOST}/", "sitemap": MAP}), "--robots-for", "GPTBot")
    assert result.exit_code == 2
    assert "a.jsonl is a dump, which has no robots.txt; give the site" in result.stderr


def test_a_redirected_robots_txt_is_reported_at_the_host_that_has_pages() -> None:
    there = "https://www.a.example"
    pages = {
        "/robots.txt": (301, {"location": f"{there}/robots.txt"}, b""),
        f"{there}/robots.txt": f"User-agent: bingbot\nDisallow: /\nSitemap: {there}/s.xml",
        f"{there}/s.xml": urlset(f"{there}/"),
    }
    (finding,) = sr.audit(HOST, fetcher=Site(pages), select="F20").findings
    assert [each.sitemap for each in finding.samples] == [f"{there}/robots.txt"]
