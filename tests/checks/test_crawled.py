"""C01 to C06 and X03: each is reported once where it applies, and nowhere else."""

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kit import dump

import sitemap_reader as sr
from sitemap_reader import Problem
from sitemap_reader.checks import CrawlCheck, Findings, UnchangedContentCheck, open_baseline
from sitemap_reader.frontier import AgentRules, parse_rules
from sitemap_reader.model import UrlBatch
from sitemap_reader.parser import batch_of

SITE = "https://shop.example"
SITEMAP = f"{SITE}/sitemap.xml"
HOME, LAMP, OLD, CART = (f"{SITE}/{name}" for name in ("", "lamp", "old", "cart"))
HIDDEN, LOST, ROUND, OPEN, BUSY, COPY = (
    f"{SITE}/{name}" for name in ("no", "lost", "round", "open", "busy", "copy")
)
DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page(url: str, status: int | None = 200, **reported: Any) -> dict[str, Any]:
    return {"url": url, "status": status, "canonical": None, "noindex": False, **reported}


def some(*locs: str, sitemap: str = SITEMAP, lastmod: datetime | None = None, precision: str = "second") -> UrlBatch:
    """These URLs, from line 2 on."""
    dates: dict[str, Any] = {"lastmod": lastmod, "lastmod_precision": lastmod and precision}
    records = [sr.UrlRecord(loc, **dates, sitemap=sitemap, line=line) for line, loc in enumerate(locs, 2)]
    return batch_of(sitemap, records)


def audit(
    crawl: CrawlCheck, *batches: UrlBatch, found: Findings | None = None, complete: bool = True
) -> list[Problem]:
    """The samples of all findings."""
    found = found or Findings(samples=50)
    for batch in batches:
        crawl.on_urls(batch, found)
    crawl.on_outcome(sr.Outcome(SITEMAP, complete=complete), found)
    crawl.on_end(found)
    return [sample for finding in found.ranked() for sample in finding.samples]


def read(*forms: dict[str, Any], name: str = "crawl.jsonl") -> CrawlCheck:
    return CrawlCheck.read(str(dump(Path(name), *forms)))


def site_text(crawl: CrawlCheck, *batches: UrlBatch, **options: Any) -> list[str]:
    return [str(problem) for problem in audit(crawl, *batches, **options)]


# --- listed URLs in the crawl ---


@pytest.mark.parametrize(("reported", "problems"), [
    ({"status": 404}, ["C01 {0}:3: {1} answers 404 in crawl.jsonl"]),
    ({"status": 301}, ["C02 {0}:3: {1} redirects (301) in crawl.jsonl"]),
    ({"noindex": True}, ["C03 {0}:3: {1} is noindex in crawl.jsonl"]),
    ({"canonical": LAMP}, ["C04 {0}:3: {1} has the canonical {2} in crawl.jsonl"]),
    ({"canonical": "/lamp"}, ["C04 {0}:3: {1} has the canonical {2} in crawl.jsonl"]),
    (
        {"canonical": LAMP, "noindex": True},
        ["C03 {0}:3: {1} is noindex in crawl.jsonl", "C04 {0}:3: {1} has the canonical {2} in crawl.jsonl"],
    ),
    ({"status": 404, "canonical": LAMP, "noindex": True}, ["C01 {0}:3: {1} answers 404 in crawl.jsonl"]),
    ({"status": None, "noindex": True}, ["C03 {0}:3: {1} is noindex in crawl.jsonl"]),
    ({"status": None}, []),
    ({"status": 204}, ["C12 {0}:3: {1} answers 204, which says that it has no content in crawl.jsonl"]),
    ({"status": 206}, []),
    ({"status": 304}, []),
    ({"canonical": OLD}, []),
    ({"canonical": "HTTPS://shop.example:443/./old#top"}, []),
    ({"Indexability": "Non-Indexable"}, []),
    ({"Content Type": "image/png"}, []),
])
def test_crawl_problem_of_a_listed_url_has_its_line(reported: dict[str, Any], problems: list[str]) -> None:
    crawl = read(page(HOME), page(OLD, **reported))
    assert site_text(crawl, some(HOME, OLD)) == [each.format(SITEMAP, OLD, LAMP) for each in problems]
    assert crawl.notes == []


def test_problem_names_its_field_and_url() -> None:
    (problem,) = audit(read(page(OLD, 404)), some(OLD))
    assert (problem.code, problem.severity, problem.sitemap, problem.line) == ("C01", "error", SITEMAP, 2)
    assert (problem.field, problem.raw) == ("loc", OLD)


def test_each_listing_counts() -> None:
    found = Findings()
    audit(read(page(OLD, 404)), some(OLD, OLD), some(OLD, sitemap=f"{SITE}/b.xml"), found=found)
    (finding,) = found.ranked()
    assert (finding.count, finding.documents) == (3, 2)


@pytest.mark.parametrize("canonical", [LAMP, f"{SITE}/o", f"{OLD}/more", "https://elsewhere.example/old"])
def test_canonical_is_reported_in_full(canonical: str) -> None:
    (line,) = site_text(read(page(OLD, canonical=canonical)), some(OLD))
    assert line.partition(";")[0] == f"C04 {SITEMAP}:2: {OLD} has the canonical {canonical} in crawl.jsonl"


def test_the_first_of_two_rows_of_a_page_counts() -> None:
    assert site_text(read(page(OLD), page(f"{OLD}#top", 404)), some(OLD)) == []


def test_urls_are_compared_as_they_are_normalised() -> None:
    crawl = read(page("HTTPS://SHOP.example/é", 404))
    assert [each[:3] for each in site_text(crawl, some(f"{SITE}/%C3%A9"))] == ["C01"]
    assert [each[:3] for each in site_text(crawl, some(f"{SITE}/%c3%a9"))] == ["C01"]


@pytest.mark.parametrize(("reported", "severity", "text"), [
    ({"status": 401}, "warning", "C09 {0} answers 401 in crawl.jsonl"),
    ({"status": 103}, "error", "C08 {0} does not respond: 103 is no final response in crawl.jsonl"),
    ({"status": 301, "Redirect URL": HIDDEN}, "error",
     f"C02 {{0}} redirects (301) to {HIDDEN}, which is noindex in crawl.jsonl; remove the URL from the sitemap"),
    ({"status": 301, "Redirect URL": LOST}, "error",
     f"C02 {{0}} redirects (301) to {LOST} and on to {{2}}, which answers 404 in crawl.jsonl; remove the URL from the"),
    ({"status": 301, "Redirect URL": ROUND}, "error",
     f"C02 {{0}} redirects (301) to {ROUND} and on and on, in a loop or more than ten times in crawl.jsonl; let"),
    ({"status": 301, "Redirect URL": OPEN}, "warning", f"C02 {{0}} redirects (301) to {OPEN} in crawl.jsonl"),
    ({"status": 301, "Redirect URL": BUSY}, "warning", f"C02 {{0}} redirects (301) to {BUSY} in crawl.jsonl"),
    ({"status": 301, "Redirect URL": COPY}, "warning",
     f"C02 {{0}} redirects (301) to {COPY}, which has another canonical URL itself in crawl.jsonl"),
    ({"Meta Refresh 1": f"0;url={COPY}"}, "warning",
     f"C10 {{0}} leads on to {COPY} at once, which has another canonical URL itself in crawl.jsonl"),
    ({"status": 301, "Redirect URL": "/lamp"}, "warning", "C02 {0} redirects (301) to {1} in crawl.jsonl"),
    ({"status": 302, "Redirect URL": CART}, "error",
     "C02 {0} redirects (302) to {2}, which answers 404 in crawl.jsonl;"),
    ({"status": 302, "Redirect URL": ""}, "error", "C02 {0} redirects (302) without a usable target in crawl.jsonl;"),
    ({"status": 301, "Redirect URL": "http://shop.example/old"}, "warning",
     "C02 {0} redirects (301) to http://shop.example/old in crawl.jsonl; redirect to https"),
    ({"Meta Robots 1": "noindex, follow"}, "error",
     "C03 {0} is noindex (Meta Robots 1: noindex, follow) in crawl.jsonl"),
    ({"X-Robots-Tag 1": "none"}, "error", "C03 {0} is noindex (X-Robots-Tag 1: none) in crawl.jsonl"),
    ({"X-Robots-Tag 1": "unavailable_after: 2020-01-01"}, "error", "C03 {0} is noindex (X-Robots-Tag 1: unavail"),
    ({"status": 302, "Redirect URL": "https://o.example/"}, "error",
     "C02 {0} redirects (302) to https://o.example/ in crawl.jsonl; remove the URL from the sitemap: its page is on"),
    ({"Meta Refresh 1": f"9;url={LAMP}"}, "notice", "C10 {0} leads on to {1} after 9 s in crawl.jsonl; remove the"),
    ({"canonical": "http://shop.example/old"}, "warning",
     "C04 {0} has the canonical http://shop.example/old in crawl.jsonl; correct the canonical URL of the page: write"),
    ({"Meta Refresh 1": f"0;url={LAMP}", "canonical": LAMP}, "warning", "C10 {0} leads on to {1} at once in crawl"),
    ({"canonical": OLD, "Canonical Link Element 2": LAMP}, "warning",
     "C11 {0} names several canonical URLs: {0}, {1} in crawl.jsonl"),
    ({"status": None, "Indexability Status": "Redirected"}, "warning", "C02 {0} redirects in crawl.jsonl"),
    ({"status": None, "Indexability Status": "Client Error"}, "error", "C01 {0} answers with a client error in"),
    ({"status": None, "Indexability Status": "Canonicalised"}, "warning", "C04 {0} has another canonical URL in"),
    ({"status": 0, "Status Text": "Connection Timeout"}, "error",
     "C08 {0} does not respond (Connection Timeout) in crawl.jsonl"),
    ({"status": "Connection Refused"}, "error", "C08 {0} does not respond (Connection Refused) in crawl.jsonl"),
    ({"status": 0, "Indexability Status": "No Response"}, "error", "C08 {0} does not respond (No Response) in crawl"),
    ({"Indexability Status": "Redirected", "Redirect URL": LAMP}, "warning", "C10 {0} leads on to {1} in crawl.jsonl"),
    ({"empty": True}, "warning", "C12 {0} answers 200 with an empty page in crawl.jsonl"),
])
def test_what_a_crawl_says_of_a_page_is_in_the_message(reported: dict[str, Any], severity: str, text: str) -> None:
    others = [
        page(HIDDEN, noindex=True), page(LOST, 301, redirect_url=CART),
        page(ROUND, 301, redirect_url=OLD), page(OPEN, 301), page(BUSY, 429),
        page(COPY, canonical=OLD),
    ]  # fmt: skip
    crawl = read(page(HOME), page(OLD, **reported), page(LAMP), page(CART, 404), *others)
    (problem,) = [each for each in audit(crawl, some(OLD)) if each.code != "C06"]
    assert f"{problem.code} {problem.message}".startswith(text.format(OLD, LAMP, CART))
    assert problem.severity == severity


@pytest.mark.parametrize("reported", [
    {"status": 0, "Status Text": "Blocked by robots.txt"}, {"status": "Blocked by robots.txt"},
    {"status": None, "Indexability Status": "Blocked by robots.txt"},
    {"status": None, "Indexability Status": "Blockiert durch robots.txt", "inlinks": 0},
])
def test_of_a_page_that_was_not_requested_nothing_is_reported(reported: dict[str, Any]) -> None:
    crawl = read(page(HOME), page(OLD, **reported))
    assert site_text(crawl, some(HOME, OLD)) == []
    assert crawl.notes == ["crawl.jsonl: the crawler did not request 1 listed URL, as robots.txt disallows it"]


def test_too_many_requests_say_nothing_of_a_page() -> None:
    crawl = read(page(HOME), page(OLD, 429), page(LAMP, 429))
    assert site_text(crawl, some(HOME, OLD, LAMP)) == []
    note = "crawl.jsonl: 2 listed URLs answered 429 (too many requests), which says nothing of the page"
    assert crawl.notes == [note]
    assert [each for key, each in crawl.results()] == [()]


@pytest.mark.parametrize("is_known_first", [True, False])
def test_a_page_that_leads_to_a_disallowed_one_is_reported_whenever_robots_txt_is_read(*, is_known_first: bool) -> None:
    cart = f"{SITE}/cart"
    crawl = read(page(HOME), page(OLD, 301, redirect_url=cart), page(LAMP, canonical=cart))
    rules = {SITE: parse_rules("User-agent: *\nDisallow: /cart\n", "x")}
    known = rules if is_known_first else {}
    crawl.robots = AgentRules(lambda url: known.get(SITE))
    found = Findings(samples=50)
    crawl.on_urls(some(HOME, OLD, LAMP), found)
    known |= rules
    crawl.on_end(found)
    rule = f'{cart}, which is disallowed by robots.txt:2 "Disallow: /cart" (Googlebot and Bingbot) in crawl.jsonl; '
    samples = [sample for finding in found.ranked() for sample in finding.samples]
    correct = "correct the canonical URL of the page, or allow the page at it in robots.txt"
    assert [(each.code, each.severity, each.message) for each in samples] == [
        ("C02", "error",
         f"{OLD} redirects (301) to {rule}remove the URL from the sitemap, or allow its target in robots.txt"),
        ("C04", "warning", f"{LAMP} has the canonical {rule}{correct}"),
    ]  # fmt: skip


def test_identical_pages_of_a_crawl_are_one_finding_a_group() -> None:
    same = [page(each, hash="5f4d") for each in (OLD, LAMP, CART)]
    others = [page(f"{SITE}/hidden", hash="5f4d", noindex=True), page(f"{SITE}/x", hash="77"), page(HOME, hash="78")]
    lines = site_text(read(*same, *others), some(LAMP, HOME), some(CART, f"{SITE}/hidden", sitemap=f"{SITE}/b.xml"))
    assert [each for each in lines if "C13" in each] == [
        f"C13 {SITE}/b.xml:2: {CART} is the same page as {LAMP} in crawl.jsonl"
    ]  # OLD is in no sitemap


# --- listed URLs missing in the crawl ---


def test_listed_url_missing_in_the_crawl_is_an_orphan() -> None:
    assert site_text(read(page(HOME), page(CART, None)), some(HOME, OLD, CART)) == [
        f"C05 {SITEMAP}:3: {OLD} is listed, and not in crawl.jsonl"
    ]


@pytest.mark.parametrize(("reported", "is_orphan"), [
    ({"Inlinks": 0, "Crawl Depth": ""}, True),
    ({"Inlinks": 0}, True),
    ({"Unique Inlinks": "0"}, True),
    ({"No. of all inlinks": "0.0"}, True),
    ({"Crawl Depth": None}, True),
    ({"Liens entrants": "0", "Crawl profondeur": ""}, True),
    ({"Inlinks": 0, "Crawl Depth": 0}, False),  # a start page
    ({"Inlinks": 0, "Crawl Depth": 2}, False),  # found by a redirect or a canonical link
    ({"Inlinks": 3, "Crawl Depth": ""}, False),
    ({"Inlinks": ""}, False),
    ({"Crawl Depth": 1}, False),
    ({"Inlinks": 0, "status": 301}, False),  # a C02 is enough
])
def test_a_page_of_the_crawl_without_links_is_an_orphan(reported: dict[str, Any], is_orphan: bool) -> None:
    linked = {name: 1 for name in reported if name != "status"}
    crawl = read(page(HOME, **dict.fromkeys(linked, 0)), page(LAMP, **linked), page(OLD, **reported))
    lines = [each for each in site_text(crawl, some(HOME, OLD, LAMP)) if "C05" in each]
    text = f"C05 {SITEMAP}:3: {OLD} is in crawl.jsonl, but no link of the site leads to it"
    assert lines == [text] * is_orphan


def test_links_to_the_start_page_show_that_the_columns_are_filled_in() -> None:
    crawl = read(page(HOME, **{"Inlinks": 9, "Crawl Depth": 0}), page(LAMP, **{"Inlinks": 0, "Crawl Depth": ""}))
    assert site_text(crawl, some(HOME, LAMP)) == [
        f"C05 {SITEMAP}:3: {LAMP} is in crawl.jsonl, but no link of the site leads to it"
    ]


def test_columns_of_links_that_are_not_filled_in_show_no_orphans() -> None:
    crawl = read(*(page(each, inlinks=0) for each in (HOME, OLD, LAMP)))
    assert site_text(crawl, some(HOME, OLD, LAMP)) == []


@pytest.mark.parametrize("split", [1, 2, 3])
def test_orphans_count_from_the_first_however_they_come(split: int) -> None:
    locs = [f"{SITE}/{number}" for number in range(3)] + [HOME, OLD]
    found = Findings()
    audit(read(page(HOME)), some(*locs[:split]), some(*locs[split:], sitemap=f"{SITE}/b.xml"), found=found)
    (finding,) = found.ranked()
    assert (finding.code, finding.count, finding.documents) == ("C05", 4, 2)
    assert {sample.line for sample in finding.samples if sample.sitemap == SITEMAP} >= {2}


@pytest.mark.parametrize(("listed", "is_partial"), [(10, False), (11, True)])
def test_a_crawl_that_is_small_for_the_sitemaps_is_noted(listed: int, is_partial: bool) -> None:
    crawl = read(page(f"{SITE}/0"), page(f"{SITE}/1"))
    audit(crawl, some(*(f"{SITE}/{number}" for number in range(listed))))
    note = f"crawl.jsonl has 2 pages, the sitemaps {listed}: C05 may only mean that the crawl was partial"
    assert crawl.notes == [note] * is_partial


def test_crawl_of_another_site_is_reported_once() -> None:
    crawl = read(page("https://elsewhere.example/"), page("https://elsewhere.example/a", 404))
    assert site_text(crawl, some(HOME, OLD), some(CART)) == []
    assert crawl.notes == ["crawl.jsonl has none of the URLs listed: is it of this site?"]


def test_site_without_urls_has_no_crawl_problems() -> None:
    crawl = read(page(HOME))
    assert site_text(crawl) == []
    assert len(crawl.notes) == 1


# --- crawled pages that no sitemap lists ---


def test_unlisted_indexable_page_is_reported_at_its_crawl_line() -> None:
    rows = f'"{HOME}","x","200"\n"{LAMP}","a\nb","200"\n"{CART}","x","200"\n'
    Path("crawl.csv").write_text(f'"Internal - All"\n"Address","Title 1","Status Code"\n{rows}')
    crawl = CrawlCheck.read("crawl.csv")
    problems = audit(crawl, some(HOME))
    assert [str(problem) for problem in problems] == [
        f"C06 crawl.csv:4: {LAMP} is indexable, and no sitemap lists it",
        f"C06 crawl.csv:6: {CART} is indexable, and no sitemap lists it",
    ]
    assert {(problem.severity, problem.field, problem.url) for problem in problems} == {
        ("notice", "url", LAMP), ("notice", "url", CART)
    }  # fmt: skip


@pytest.mark.parametrize("reported", [
    {"status": 404}, {"status": 301}, {"status": None}, {"status": 204}, {"noindex": True}, {"canonical": HOME},
    {"Content Type": "image/png"}, {"Indexability": "Non-Indexable"}, {"url": "https://elsewhere.example/"},
])
def test_pages_that_belong_in_no_sitemap_are_not_missing(reported: dict[str, Any]) -> None:
    assert site_text(read(page(HOME), {**page(LAMP), **reported}), some(HOME)) == []


@pytest.mark.parametrize("reported", [{"canonical": LAMP}, {"canonical": "/lamp#x"}, {"Content Type": "text/html"}, {}])
def test_indexable_pages_without_a_listing_are_missing(reported: dict[str, Any]) -> None:
    assert [each[:3] for each in site_text(read(page(HOME), page(LAMP, **reported)), some(HOME))] == ["C06"]


def test_page_crawled_twice_is_missing_once() -> None:
    crawl = read(page(HOME), page(LAMP), page(f"{LAMP}#top"))
    assert site_text(crawl, some(HOME)) == [f"C06 crawl.jsonl:2: {LAMP} is indexable, and no sitemap lists it"]


def test_pages_that_a_sitemap_should_not_list_are_left_out_and_counted() -> None:
    rules = parse_rules("User-agent: *\nDisallow: /cart", "sitemap-reader")
    crawl = read(page(HOME), page(f"{LAMP}?utm_source=x"), page(CART), page(LAMP))
    crawl.rules_of = lambda url: rules
    assert site_text(crawl, some(HOME)) == [f"C06 crawl.jsonl:4: {LAMP} is indexable, and no sitemap lists it"]
    assert crawl.notes == [
        "crawl.jsonl: 1 page that robots.txt disallows, left out of C06",
        "crawl.jsonl: 1 page with a session or tracking parameter, left out of C06",
    ]


def test_pages_of_other_hosts_are_left_out_and_counted() -> None:
    others = [page(f"https://{name}.example/") for name in ("a", "b")]
    crawl = read(page(HOME), *others, page("http://shop.example/lamp"))
    assert [each[:3] for each in site_text(crawl, some(HOME))] == ["C06"]
    assert crawl.notes == ["crawl.jsonl: 2 pages on hosts that no sitemap lists, left out of C06"]


def test_pages_that_an_unread_sitemap_may_list_are_not_missing() -> None:
    crawl = read(page(HOME), page(LAMP))
    assert site_text(crawl, some(HOME), complete=False) == []
    assert crawl.notes == ["not all sitemaps were read completely: C06 not checked"]
    assert crawl.unchecked["C06"] == crawl.notes[0]
    crawl = read(page(HOME))
    assert site_text(crawl, some(HOME), complete=False) == crawl.notes == []


def test_crawl_file_is_read_twice_only_for_codes_that_need_it(tmp_path: Path) -> None:
    crawl = read(page(HOME), page(LAMP), page(OLD, 404))
    (tmp_path / "crawl.jsonl").unlink()
    assert [each[:3] for each in site_text(crawl, some(HOME, OLD), found=Findings(ignore=["C06"]))] == ["C01"]
    crawl = read(page(HOME))
    (tmp_path / "crawl.jsonl").unlink()
    assert site_text(crawl, some(HOME)) == []


# --- missing columns and rows ---


def test_missing_columns_are_noted() -> None:
    crawl = read({"url": HOME}, {"url": OLD})
    assert site_text(crawl, some(HOME, LAMP)) == [f"C05 {SITEMAP}:3: {LAMP} is listed, and not in crawl.jsonl"]
    assert crawl.notes == [
        "crawl.jsonl has no column of status, canonical, noindex: C01, C02, C03, C04, C06, C09 not checked"
    ]


@pytest.mark.parametrize("column", ["noindex", "Meta Robots 1", "X-Robots-Tag 1", "Indexability Status"])
def test_one_column_is_enough_for_noindex(column: str) -> None:
    crawl = read({"url": HOME, "status": 200, "canonical": "", column: ""})
    assert crawl.notes == []


def test_skipped_rows_are_noted() -> None:
    crawl = read(page(HOME), page("mailto:x@example.com"), page("tel:1"))
    assert crawl.notes == ["crawl.jsonl: 2 rows without a URL of a page, the first in line 2; skipped"]


def test_invalid_crawl_file_is_reported_before_any_request() -> None:
    with pytest.raises(sr.UsageError, match=r"^there is no file none\.csv;"):
        CrawlCheck.read("none.csv")


@pytest.mark.slow
def test_a_crawl_takes_little_memory() -> None:
    """The figure in the docs is for a million rows; with so few, some tables have twice the size that they need."""
    rows = 20_000
    dump(Path("crawl.jsonl"), *(page(f"{SITE}/products/category/{n:09}", canonical="") for n in range(rows)))
    tracemalloc.start()
    try:
        crawl = CrawlCheck.read("crawl.jsonl")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / rows < 200
    assert len(site_text(crawl, some(f"{SITE}/products/category/{7:09}"), found=Findings(samples=1))) == 1


# --- lastmods of pages that did not change ---


def unchanged(before: dict[str, Any], hashes: tuple[Any, Any] = ("x", "x"), **reported: Any) -> UnchangedContentCheck:
    """OLD in a baseline, and in two crawls."""
    dump(Path("before.jsonl"), page(OLD, hash=hashes[0]), page(HOME, hash="h"))
    dump(Path("now.jsonl"), page(HOME, hash="i"), page(OLD, **{"hash": hashes[1], **reported}))
    dump(Path("monday.jsonl"), {"loc": OLD, "sitemap": SITEMAP, **before})
    return UnchangedContentCheck.read(open_baseline("monday.jsonl"), "before.jsonl", "now.jsonl")


def found_by(check: UnchangedContentCheck, *batches: UrlBatch) -> list[str]:
    found = Findings()
    for batch in batches:
        check.on_urls(batch, found)
    check.on_end(found)
    return [str(sample) for finding in found.ranked() for sample in finding.samples]


def dated(text: str | None, precision: str | None) -> dict[str, Any]:
    return {"lastmod": text, "lastmod_precision": precision}


def test_changed_lastmod_of_unchanged_content_is_reported() -> None:
    check = unchanged(dated("2026-02-01T00:00:00Z", "day"))
    found = Findings()
    check.on_urls(some(HOME, OLD, lastmod=DAY), found)
    ((problem,),) = [finding.samples for finding in found.ranked()]
    assert str(problem) == (
        f"X03 {SITEMAP}:3: {OLD}: the lastmod was 2026-02-01, and the content is the same in before.jsonl and now.jsonl"
    )
    assert (problem.severity, problem.field, problem.raw) == ("notice", "lastmod", "2026-03-01T00:00:00Z")
    assert check.notes == []


@pytest.mark.parametrize(("before", "lastmod", "precision", "reported"), [
    (dated("2026-02-28T23:59:59Z", "second"), DAY, "second", "2026-02-28T23:59:59Z"),
    (dated("2026-03-02T00:00:00Z", "day"), DAY, "day", "2026-03-02"),
    (dated("2026-03-01T00:00:00.25Z", "subsecond"), DAY, "subsecond", "2026-03-01T00:00:00.25Z"),
    (dated("2026-03-01T00:00:00Z", "second"), DAY, "second", None),
    (dated("2026-03-01T00:00:00Z", "day"), DAY.replace(hour=12), "second", None),
    (dated("2026-03-01T12:00:00Z", "second"), DAY, "day", None),
    (dated("2026-01-01T00:00:00Z", "year"), DAY, "day", None),
    (dated("2026-03-01T00:00:00", None), DAY, "second", None),
    (dated(None, None), DAY, "second", None),
    (dated("2026-02-01T00:00:00Z", "day"), None, "day", None),
])
def test_lastmods_are_compared_as_instants(
    before: dict[str, Any], lastmod: datetime | None, precision: str, reported: str | None
) -> None:
    problems = found_by(unchanged(before), some(OLD, lastmod=lastmod, precision=precision))
    assert [f"lastmod was {reported}," in each for each in problems] == ([True] if reported else [])


@pytest.mark.parametrize(("hashes", "reported"), [
    (("x", "y"), {}), ((None, None), {}), (("x", None), {}), (("", ""), {}), (("x", "x"), {"status": 404}),
    (("x", "x"), {"status": 301}),
])
def test_content_is_unchanged_if_both_hashes_match(hashes: tuple[Any, Any], reported: dict[str, Any]) -> None:
    check = unchanged(dated("2026-02-01T00:00:00Z", "day"), hashes, **reported)
    assert found_by(check, some(OLD, lastmod=DAY)) == []


def test_lastmods_are_compared_by_sitemap() -> None:
    unchanged({})
    other = dated("2026-01-01T00:00:00Z", "day")
    listings = [{"loc": OLD, "sitemap": SITEMAP, **dated("2026-02-01T00:00:00Z", "day")}, {"loc": OLD, **other}]
    dump(Path("monday.jsonl"), *listings)
    check = UnchangedContentCheck.read(open_baseline("monday.jsonl"), "before.jsonl", "now.jsonl")
    assert found_by(check, some(OLD, lastmod=datetime(2026, 1, 1, tzinfo=UTC), precision="day")) == []
    assert found_by(check, some(OLD, lastmod=datetime(2026, 2, 1, tzinfo=UTC), precision="day")) == []
    assert len(found_by(check, some(OLD, lastmod=DAY, precision="day"))) == 1


def test_crawls_without_hashes_are_noted() -> None:
    dump(Path("before.jsonl"), page(OLD))
    dump(Path("now.jsonl"), page(OLD, hash="x"))
    dump(Path("monday.jsonl"), {"loc": OLD, **dated("2026-02-01T00:00:00Z", "day")})
    check = UnchangedContentCheck.read(open_baseline("monday.jsonl"), "before.jsonl", "now.jsonl")
    assert found_by(check, some(OLD, lastmod=DAY)) == []
    assert check.notes == ["before.jsonl has no column of hash: X03 not checked"]
