"""The HTML report: the page loads nothing, runs only its own script, and has every field of the report."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import attrs
import pytest
from reports import AT, EMPTY, SHOP, finding, large, of_urls, row, small, stamped

from sitemap_reader import explain
from sitemap_reader.checks.page import (
    FRAGMENT_FINDINGS,
    GAP_WIDTH_UNITS,
    MAX_NAMES,
    MAX_ROWS,
    MAX_SLOWEST,
    MAX_WIDTH_UNITS,
    SiteView,
    figures,
    size,
    slowest,
)
from sitemap_reader.checks.page import render_fragment as fragment
from sitemap_reader.checks.page import render_page as page
from sitemap_reader.model import CATALOGUE, report
from sitemap_reader.pages.rendering import MAX_LINK_CHARS, is_address
from sitemap_reader.statistics import Fact

# The head, styles and scripts are not text.
_UNREAD = ("title", "style", "script")


class Parsed(HTMLParser):
    """A page as an HTML parser sees it: its elements, and its text outside the head."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in _UNREAD:
            self.inside[self._open[-1]] = self.inside.get(self._open[-1], "") + data
        else:
            self.text += data

    def all_of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]




@pytest.mark.parametrize(("url", "is_one"), [
    ("https://e.com/a?b=c", True),
    ("HTTP://e.com", True),
    ("javascript:alert(1)", False),
    ("data:text/html,x", False),
    ("//e.com/", False),
    ("https:", False),
    ("https://[", False),
    ("https://user:word@e.com/", False),
    ("java\nscript:alert(1)", False),
    ("https://e.com/\u202e", False),
    ("https://e.com/".ljust(MAX_LINK_CHARS, "x"), True),
    ("https://e.com/".ljust(MAX_LINK_CHARS + 1, "x"), False),
])
def test_only_web_addresses_become_links(url, is_one):
    assert is_address(url) is is_one
    link = {"href": url, "rel": "noopener noreferrer nofollow"}
    reported = attrs.evolve(small(), target=url, findings=(), sitemaps=())
    assert (link in Parsed(page(reported)).all_of("a")) is is_one


# --- it loads nothing, and runs only its own script ---


@pytest.mark.slow
@pytest.mark.parametrize("reported", [small(), EMPTY], ids=["small", "empty"])
def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else(reported):
    shown = Parsed(page(reported))
    policy = next(meta["content"] for meta in shown.all_of("meta") if meta.get("http-equiv"))
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("style-src") == _hash_of(shown.inside["style"])
    assert rules.pop("script-src") == _hash_of(shown.inside["script"])
    assert rules == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert len(shown.all_of("style")) == len(shown.all_of("script")) == 1
    assert shown.elements[2][1] == {"charset": "utf-8"}
    assert shown.elements[3][1]["http-equiv"] == "Content-Security-Policy"


def _hash_of(inline: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


@pytest.mark.parametrize("render", [page, fragment])
def test_nothing_is_loaded(render):
    shown = Parsed(render(small()))
    names = {name for _, attributes in shown.elements for name in attributes}
    assert not names & {"src", "srcset", "style", "action", "data", "poster", "background"}
    assert not [name for name in names if name.startswith("on")]
    assert {tag for tag, _ in shown.elements}.isdisjoint({"link", "img", "iframe", "object", "base", "form", "image"})
    assert not re.search(r"url\(|@import|https?:", shown.inside["style"])


def test_script_makes_no_markup_and_no_requests():
    script = Parsed(page(EMPTY)).inside["script"]
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write|eval|Function|fetch|XMLHttp|import", script)


# --- contents ---


def test_page_has_every_field_of_a_finding():
    reported = small()
    shown = Parsed(page(reported)).text
    for each in reported.findings:
        explained = explain(each.code)
        for shown_text in (each.code, explained.rule, explained.fix, each.title[1:], _amount(each)):
            assert shown_text.replace("`", "") in shown
        for sample in each.samples:
            assert sample.place in shown
            assert sample.message in shown
            assert sample.raw is None or sample.raw in shown
    for words in ("shop.example", "2026-11-22 18:41 UTC", "Partial", *reported.notes):
        assert words in shown


def _amount(found) -> str:
    unit = "document" if found.code[0] == "F" else "sitemap"
    return f"{found.count:,} place{'s' * (found.count != 1)} in {found.documents} {unit}"


def _targets(html: str) -> list[str]:
    """The link targets of the overview."""
    return re.findall('href="#(.*?)"', re.search('<ol class="overview".*?</ol>', html, re.DOTALL).group())


def test_the_overview_has_a_line_for_each_finding_which_leads_to_its_card():
    shown = page(small())
    lines = re.findall("<li>(.*?)</li>", re.search('<ol class="overview".*?</ol>', shown, re.DOTALL).group())
    assert [Parsed(line).text for line in lines] == [
        "◆ Error D01 1,284 Unreadable date",
        "◆ Error L03 48 Missing hreflang return tag",
        "◆ Error F01 1 Sitemap not found (404 or 410)",
        "▲ Warning U09 210 Session, tracking or draft parameter in the URL",
        "▲ Warning D05 1 Index lastmod older than the sitemap's entries",
        "● Notice F10 4 Neither ETag nor Last-Modified header",
    ]
    assert _targets(shown) == [each.code for each in small().findings]
    assert shown.index('class="score"') < shown.index('class="overview"') < shown.index('class="notes"')
    assert 'class="overview"' not in page(EMPTY)


def test_cards_are_named_by_their_code_and_the_second_of_one_by_its_severity_too():
    shown = page(of_urls())
    assert _targets(shown) == ["S01", "D01", "S01-warning"]
    assert re.findall('<article class="finding (.*?)" id="(.*?)"', shown) == [
        ("error", "S01"),
        ("error", "D01"),
        ("warning", "S01-warning"),
    ]


def test_headings_count_findings_and_places():
    shown = Parsed(page(small())).text
    assert "Sitemaps that search engines cannot read · 1 problem, 1 place" in shown
    assert "Wrong signals · 4 problems, 1,543 places" in shown
    assert "Notices · 1 problem, 4 places" in shown


@pytest.mark.parametrize("render", [page, fragment])
def test_page_states_completeness(render):
    def shown_text(**reported):
        return Parsed(render(attrs.evolve(small(), **reported))).text

    missing = "Partial: 1 document could not be read; findings may be missing."
    assert missing in shown_text()
    assert "Partial: it was stopped; " in shown_text(sitemaps=())
    assert "All sitemaps were read completely." in shown_text(complete=True)
    unknown = shown_text(complete=None)
    assert "Completeness unknown: " in unknown
    assert "All sitemaps" not in unknown
    assert "Partial: " not in unknown


def test_missing_documents_link_to_the_tree():
    assert '<a href="#sitemaps">1 document could not be read</a>' in page(small())
    assert 'href="#' not in fragment(small())


def test_report_of_a_dump_of_urls_has_no_sitemap_figures():
    shown = page(of_urls())
    assert "not known</td>" in shown
    assert "not read</td>" not in shown
    bare = attrs.evolve(of_urls(), sitemaps=(), findings=())
    assert "<dt>Sitemaps</dt><dd>–</dd>" in page(bare)
    assert "The source does not state its sitemaps." in page(bare)
    for render in (page, fragment):
        assert "No problems were found in 48,142 URLs. Documents that were not read, if any, may have some." in render(
            bare
        )


def test_code_in_sentences_is_marked():
    everything = tuple(finding(code, ()) for code in CATALOGUE)
    assert "`" not in Parsed(page(attrs.evolve(small(), findings=everything, notes=()))).text


def test_the_score_counts_problems_urls_pages_and_sitemaps():
    for render in (page, fragment):
        pairs = re.findall(r"<div[^>]*><dt>(.*?)</dt><dd>(.*?)</dd></div>", render(small()))
        score = {re.sub("<.*?>", "", name).lstrip("◆▲● "): count for name, count in pairs}
        assert score == {
            "Errors": "3", "Warnings": "2", "Notice": "1", "URLs listed": "48,250", "Valid URLs": "48,142",
            "URLs that may be ignored": "108", "Pages": "47,903", "Sitemaps": "5",
        }


def test_robots_txt_is_no_sitemap():
    assert SiteView(small()).sitemaps == len(small().sitemaps) - 1


def test_every_code_has_a_card():
    findings = tuple(finding(code, (report(code, "m", sitemap=SHOP),)) for code in CATALOGUE)
    shown = Parsed(page(attrs.evolve(small(), findings=findings)))
    assert len(shown.all_of("article")) == len(CATALOGUE)
    names = [attributes["id"] for _, attributes in shown.elements if "id" in attributes]
    assert len(names) == len(set(names))


def test_cards_of_errors_are_open():
    cards = re.findall(r'<article class="finding (\w+)".*?>\s*<details( open)?>', page(small()))
    assert len(cards) == len(small().findings)
    assert all((severity == "error") == bool(is_open) for severity, is_open in cards)


def test_an_incomplete_sitemap_has_at_least_its_entries():
    cut = row(f"{SHOP}/cut.xml.gz", entries=56, kept=56, complete="no", problem="F07 cut off")
    shown = page(attrs.evolve(small(), sitemaps=(cut,)))
    assert re.search(r'<td [^>]*"number">56\+</td><td [^>]*"number">56</td>', shown)
    assert "partial (F07)" in shown


def test_a_recording_is_titled_by_its_host():
    report = attrs.evolve(small(), target="recorded/shop", site="shop.example")
    for render in (page, fragment):
        assert "shop.example" in render(report)
        assert "recorded/shop" not in render(report)


def test_severities_have_words_and_shapes():
    shown = page(small())
    for shape, word in (("◆", "Error"), ("▲", "Warning"), ("●", "Notice")):
        assert f'<span class="shape" aria-hidden="true">{shape}</span> {word}</span>' in shown


@pytest.mark.parametrize("render", [page, fragment])
def test_report_without_findings_says_so(render):
    clean = attrs.evolve(small(), findings=(), complete=True)
    assert "No problems were found in 48,142 URLs in 5 sitemaps." in render(clean)
    assert "Documents that could not be read may have some" not in render(clean)
    assert "Documents that could not be read may have some" in render(attrs.evolve(clean, complete=False))
    assert "No URL was listed" in render(EMPTY)


def test_a_report_of_nothing_has_no_filters_and_no_figures():
    shown = Parsed(page(EMPTY))
    assert not shown.all_of("button")
    assert "Figures" not in shown.text
    assert "No sitemap was found." in shown.text


def test_filters_are_hidden_until_the_script_shows_them():
    filters = next(each for each in Parsed(page(small())).all_of("div") if each.get("class") == "filters")
    assert "hidden" in filters


# --- sitemaps ---


def _cells(html: str) -> list[str]:
    return re.findall(r'<th scope="row"><span[^>]*>(?:<span.*?</span>)?<a href="([^"]*)"', html)


def test_the_columns_that_matter_most_come_first():
    heads = re.findall('<th scope="col"[^>]*>(.*?)</th>', page(small()))
    assert heads[:4] == ["Sitemap", "Read", "Problems", "Entries"]


def test_dates_are_shown_as_stated_and_may_break_before_the_time():
    shown = page(stamped())
    assert shown.count("<bdi>2026-11-21 09:30:15.123456Z</bdi></td>") == 20
    assert "<bdi>2026-11-20</bdi></td>" in page(small())


def test_rows_of_unread_sitemaps_have_dashes():
    row_of = re.search(r'private/map\.xml".*?</tr>', page(small())).group()
    assert row_of.count(">–</td>") == 7
    assert "not read" in row_of


@pytest.mark.parametrize(("number", "more"), [(MAX_ROWS, 0), (MAX_ROWS + 1, 1)])
def test_the_tree_is_bounded_and_says_so(number, more):
    rows = (row(f"{SHOP}/index.xml", 0), *(row(f"{SHOP}/{place}.xml") for place in range(number - 1)))
    shown = page(attrs.evolve(small(), findings=(), sitemaps=rows))
    assert len(_cells(shown)) == MAX_ROWS
    assert ("1 of 501 sitemaps are not shown" in shown) is bool(more)


def test_long_tree_shows_sitemaps_with_findings_first_in_order():
    rows = [row(f"{SHOP}/{place}.xml") for place in range(2 * MAX_ROWS)]
    rows[-1] = row(f"{SHOP}/cut.xml", complete="no")
    rows[-2] = row(f"{SHOP}/faulty.xml", problems=3)
    rows[-3] = row(f"{SHOP}/late-child.xml", depth=2)
    rows[-4] = row(f"{SHOP}/late-index.xml")
    shown = _cells(page(attrs.evolve(small(), findings=(), sitemaps=tuple(rows))))
    late = [f"{SHOP}/{name}.xml" for name in ("late-index", "faulty", "cut")]
    assert shown == [f"{SHOP}/{place}.xml" for place in range(MAX_ROWS - 3)] + late


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1_000, "1.0 KiB"), (10 << 20, "10 MiB"), (5 << 40, "5120 GiB")]
)
def test_sizes_are_rounded_with_units(number, text):
    assert size(number) == text


# --- figures ---


def _lastmods(months: list[str]):
    facts = tuple(Fact("lastmod month", month, 1) for month in months)
    return figures(attrs.evolve(EMPTY, facts=facts))[0]


def _run_of(number: int) -> list[str]:
    return [f"{2000 + place // 12}-{place % 12 + 1:02}" for place in range(number)]


def test_months_become_years_where_they_are_many():
    assert len(_lastmods(_run_of(MAX_WIDTH_UNITS)).bars) == MAX_WIDTH_UNITS
    by_year = _lastmods(_run_of(MAX_WIDTH_UNITS + 1))
    assert by_year.title == "Lastmod by year (URLs)"
    assert [(bar.name, bar.count) for bar in by_year.bars][-2:] == [("2004", 12), ("2005", 1)]


def test_months_without_any_are_drawn_and_long_times_of_them_are_a_gap():
    near = _lastmods(["2025-01", "2025-04"])
    assert [(bar.name, bar.count) for bar in near.bars][1:3] == [("2025-02", 0), ("2025-03", 0)]
    far = _lastmods(["1970-01", "2026-01", "2026-02"])
    assert [(bar.name, bar.count) for bar in far.bars] == [("1970-01", 1), ("…", None), ("2026-01", 1), ("2026-02", 1)]
    assert [len(_lastmods(["2024-01", last]).bars) for last in ("2025-02", "2025-03")] == [14, 3]


def test_a_gap_is_as_wide_as_some_bars():
    fitting = MAX_WIDTH_UNITS - GAP_WIDTH_UNITS - 1
    assert _lastmods(["1970-01", *_run_of(fitting)]).column == "month"
    assert _lastmods(["1970-01", *_run_of(fitting + 1)]).column == "year"


@pytest.mark.slow
def test_number_of_bars_is_bounded_for_any_dates():
    every_year = [f"{year:04}-{year % 12 + 1:02}" for year in range(1, 10_000)]
    assert len(_lastmods(every_year).bars) <= 100
    assert _lastmods(every_year).total == len(every_year)


@pytest.mark.parametrize(("months", "names"), [
    (["2026-10", "2026-11"], "Oct 2026, Nov"),
    (["2025-12", "2026-01", "2026-03"], "Dec 2025, Jan 2026, Feb, Mar"),
    (_run_of(17)[3:], "Apr 2000, Jan 2001"),
    (_run_of(30), "Jan 2000, Jan 2001, Jan 2002"),
    (_run_of(60), "Jan 2000, Jan 2001, Jan 2002, Jan 2003, Jan 2004"),
    ([*(f"2026-{month:02}" for month in range(1, 9)), "2031-03"], "Jan 2026, …, Mar 2031"),
])
def test_columns_of_months_name_each_year_once(months: list[str], names: str) -> None:
    labels = [" ".join(column.label) for column in _lastmods(months).columns if column.label]
    assert ", ".join(labels) == names


def test_other_sections_are_one_bar():
    def shown(number: int):
        facts = [Fact("sections", f"/{place:02}/", 9) for place in range(number)]
        return figures(attrs.evolve(EMPTY, facts=(*facts, Fact("sections", "other", 4))))[0]

    assert [bar.count for bar in shown(MAX_NAMES).bars] == [9] * MAX_NAMES + [4]
    assert [bar.count for bar in shown(MAX_NAMES + 1).bars] == [9] * MAX_NAMES + [13]


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, "0.01"), (0.01, "0.01"), (0.011, "0.02"), (3.0, "3.00")])
def test_the_time_that_half_of_the_sitemaps_took_is_rounded_up(seconds: float, shown: str):
    rows = (row(f"{SHOP}/{each}", seconds=each) for each in (0.0, seconds, 40.0))
    (figure,) = figures(attrs.evolve(EMPTY, sitemaps=tuple(rows)))
    assert figure.note == f"Half of them took {shown} s or less, fetched and read."


def test_response_times_are_counted_by_their_length():
    times = (0.0, 0.1, 0.15, 4.0, 31.0, float("nan"), float("inf"), None)
    sitemaps = (row(f"{SHOP}/{place}", seconds=seconds) for place, seconds in enumerate(times))
    rows = (row(f"{SHOP}/robots.txt", format="robots", seconds=7), *sitemaps)
    (figure,) = figures(attrs.evolve(EMPTY, sitemaps=rows))
    assert [(bar.name, bar.count) for bar in figure.bars if bar.count] == [
        ("0–0.1", 1), ("0.1–0.2", 2), ("2–5", 1), ("30+", 1),
    ]
    assert slowest(rows)[0] == (f"{SHOP}/4", 31.0)
    assert len(slowest(row(f"{SHOP}/{place}") for place in range(MAX_SLOWEST + 1))) == MAX_SLOWEST


def test_figures_have_their_numbers_in_tables():
    shown = page(small())
    assert len(figures(small())) == 4
    for figure in figures(small()):
        assert f"<h3>{figure.title}</h3>" in shown
        for bar in figure.bars:
            numbers = f"<bdi>{bar.name}</bdi>(<svg.*?</svg>)?</th><td [^>]*>{bar.count}</td>"
            assert not bar.count or re.search(numbers, shown.replace(",", ""))


@pytest.mark.slow
def test_a_large_report_is_a_page_of_a_bounded_size():
    assert len(page(large())) < 1_000_000


# --- in a notebook ---


def test_the_fragment_has_no_script_and_its_style_reaches_nothing_else():
    shown = Parsed(fragment(large()))
    assert "script" not in shown.inside
    selectors = re.findall(r"(?:^|\})\s*([^{}@/]+)\{", re.sub(r"/\*.*?\*/", "", shown.inside["style"]))
    assert selectors
    for selector in ",".join(selectors).split(","):
        assert selector.strip().startswith(".sitemap-reader-audit")


def test_the_fragment_has_one_place_of_each_finding():
    shown = Parsed(fragment(small())).text
    for each in small().findings:
        assert each.samples[0].message in shown
        assert f"How to fix: {explain(each.code).fix}".replace("`", "") in shown
        assert not [sample for sample in each.samples[1:] if sample.message in shown]


@pytest.mark.parametrize(("number", "more"), [(FRAGMENT_FINDINGS, 0), (FRAGMENT_FINDINGS + 1, 1)])
def test_the_fragment_is_bounded_and_says_so(number, more):
    findings = tuple(finding(code, ()) for code in list(CATALOGUE)[:number])
    shown = fragment(attrs.evolve(small(), findings=findings))
    assert shown.count("<li><p>") == FRAGMENT_FINDINGS
    assert ("1 more finding" in shown) is bool(more)


def test_times_are_in_utc():
    assert f'<time datetime="2026-11-22T18:41:00Z">{AT:%Y-%m-%d %H:%M} UTC</time>' in page(EMPTY)
