"""X01 and X02: URLs and sitemaps of an earlier dump or state that the site lists no more."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kit import Site, dump, feed, robots, urlset

import sitemap_reader as sr
from sitemap_reader import Problem
from sitemap_reader.checks import BaselineCheck, DumpBaseline, Findings, StateBaseline, open_baseline
from sitemap_reader.model import UrlBatch
from sitemap_reader.parser import batch_of

SITE = "https://shop.example"
INDEX, PAGES, POSTS = (f"{SITE}/{name}.xml" for name in ("index", "pages", "posts"))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def locs(first: int, last: int) -> list[str]:
    return [f"{SITE}/{number}" for number in range(first, last)]


def lines_of(urls: list[str], sitemap: str = PAGES, **reported: Any) -> list[dict[str, Any]]:
    """The lines of a dump; in the sitemap, entries begin in line 2."""
    return [{"loc": loc, "sitemap": sitemap, "line": line, **reported} for line, loc in enumerate(urls, 2)]


def outcome_line(url: str, **reported: Any) -> dict[str, Any]:
    return {"type": "outcome", "url": url, "format": "urlset", "complete": True, **reported}


def monday(*forms: dict[str, Any]) -> str:
    return str(dump(Path("monday.jsonl"), *forms))


def some(urls: list[str], sitemap: str = PAGES) -> UrlBatch:
    records = [sr.UrlRecord(loc, sitemap=sitemap, line=line) for line, loc in enumerate(urls, 2)]
    return batch_of(sitemap, records)


def audit(
    check: BaselineCheck, *received: UrlBatch | sr.SitemapRef | sr.Outcome, found: Findings | None = None
) -> list[Problem]:
    found = found or Findings(samples=50)
    receive = {UrlBatch: check.on_urls, sr.SitemapRef: check.on_ref, sr.Outcome: check.on_outcome}
    for each in received:
        receive[type(each)](each, found)
    check.on_end(found)
    return [sample for finding in found.ranked() for sample in finding.samples]


def against(path: str, *received: UrlBatch | sr.SitemapRef | sr.Outcome, site: str | None = None) -> list[str]:
    return [str(problem) for problem in audit(BaselineCheck.read(open_baseline(path, site)), *received)]


# --- URLs ---


def test_mass_removal_is_reported_once_at_the_first_baseline_line() -> None:
    path = monday(*lines_of(locs(0, 500)), *lines_of(locs(500, 2000), POSTS))
    found = Findings()
    check = BaselineCheck.read(open_baseline(path))
    (problem,) = audit(check, some(locs(0, 498)), some([], POSTS), found=found)
    assert str(problem) == (
        f"X01 monday.jsonl:499: 1,502 of 2,000 URLs of monday.jsonl are no longer listed, such as {SITE}/498"
    )
    assert (problem.severity, problem.field, problem.raw) == ("error", "loc", f"{SITE}/498")
    assert [finding.count for finding in found.ranked()] == [1502]
    assert check.notes == [
        "1,502 of 2,000 URLs of monday.jsonl are no longer listed; by sitemap: https://shop.example/posts.xml 1,500 of "
        "1,500, https://shop.example/pages.xml 2 of 500"
    ]


@pytest.mark.parametrize(("total", "gone", "severity"), [
    (40, 20, "warning"),  # exactly half
    (40, 21, "error"),
    (21, 11, "error"),
    (22, 11, "warning"),
    (11, 10, "notice"),  # few
    (11, 11, "error"),  # all
    (5, 3, "notice"),
    (5, 5, "error"),
    (1, 1, "error"),
    (110, 11, "notice"),  # exactly 10 %
    (109, 11, "warning"),
    (100, 10, "notice"),
    (1000, 0, None),
])
def test_severity_is_that_of_the_share_that_is_gone(total: int, gone: int, severity: str | None) -> None:
    """An error is what a sync holds back: over half of more than ten, or all."""
    path = monday(*lines_of(locs(0, total)))
    found = Findings()
    audit(BaselineCheck.read(open_baseline(path)), some(locs(gone, total)), found=found)
    assert [(each.code, each.severity, each.count) for each in found.ranked()] == (
        [("X01", severity, gone)] if severity else []
    )


@pytest.mark.parametrize(("most", "severity"), [
    ("44%", "warning"), ("45%", "notice"), ("100%", "notice"), (44, "warning"), (45, "notice"), ("44", "warning"),
])  # fmt: skip
def test_the_threshold_is_given_as_a_share_or_a_number(most: int | str, severity: str) -> None:
    found = removed_of(locs(0, 100), locs(45, 100), max_removed=most)
    assert [(each.code, each.severity, each.count) for each in found.findings] == [("X01", severity, 45)]


def removed_of(before: list[str], now: list[str], **options: Any) -> sr.Report:
    """The audit of a folder that lists `now`."""
    site = Site({"sitemap.xml": urlset(*now)}, SITE).write(Path("site"))
    return sr.audit(site, baseline=monday(*lines_of(before, f"{SITE}/sitemap.xml")), select="X", **options)


@pytest.mark.parametrize("value", ["5 percent", "-1%", -1, 5.0, None, True])
def test_another_threshold_is_refused(value: Any) -> None:
    with pytest.raises(sr.UsageError, match=r"^max_removed is a share of the URLs such as 5%, or a number of them, "):
        removed_of(locs(0, 2), locs(0, 2), max_removed=value)


def test_a_section_that_vanished_is_a_warning_of_any_share() -> None:
    """Of 1,000 URLs 20 are few, but they are all of the blog; 8 of a section and half of one are not."""
    others = [f"{SITE}/shop/{number}" for number in range(1_000)]
    blog, news = ([f"{SITE}/{name}/{number}" for number in range(count)] for name, count in (("blog", 20), ("news", 8)))
    report = removed_of([*others, *blog, *news], [*others, *news])
    assert [(each.code, each.severity, each.impact, each.count) for each in report.findings] == [
        ("X01", "warning", "gone", 20)
    ]
    assert "20 of 1,028 URLs of monday.jsonl are no longer listed; by section: /blog/ 20 of 20" in report.notes
    for left in ([*others, *blog], [*others, *news, *blog[10:]]):
        assert [each.severity for each in removed_of([*others, *blog, *news], left).findings] == ["notice"]


def test_the_sections_that_lost_most_are_named() -> None:
    before = [f"{SITE}/{name}/{number}" for name in "abcde" for number in range(30 + ord(name))]
    kept = [loc for loc in before if int(loc.rpartition("/")[2]) >= ord(loc[len(SITE) + 1]) - ord("a")]
    (note,) = [each for each in removed_of(before, kept).notes if "longer" in each]
    assert note == (
        "10 of 645 URLs of monday.jsonl are no longer listed; "
        "by section: /e/ 4 of 131, /d/ 3 of 130, /c/ 2 of 129 and 1 more"
    )


def test_urls_of_a_sitemap_that_is_empty_now_are_reported() -> None:
    path = monday(*lines_of(locs(0, 90)), *lines_of(locs(90, 93), POSTS), *lines_of(locs(93, 95), POSTS))
    read = [sr.Outcome(url, why="robots", format="urlset") for url in (PAGES, POSTS)]
    of_all = "6 of 95 URLs of monday.jsonl are no longer listed"
    now = BaselineCheck.read(open_baseline(path))
    problems = audit(now, some(locs(2, 91)), *read)
    assert [(each.severity, str(each)) for each in problems] == [
        ("warning", f"X01 monday.jsonl:92: {of_all}, 4 of them as their sitemaps list nothing now, such as {SITE}/91"),
        ("notice", f"X01 monday.jsonl:1: {of_all}, such as {SITE}/0"),
    ]
    (problem,) = audit(BaselineCheck.read(open_baseline(path)), some(locs(2, 91)), some(locs(200, 201), POSTS), *read)
    assert (problem.severity, problem.line) == ("notice", 1)


def test_urls_below_an_index_that_is_empty_now_are_reported() -> None:
    other = f"{SITE}/other.xml"
    path = monday(
        *lines_of(locs(0, 30)),
        *lines_of(locs(30, 33), POSTS),
        outcome_line(PAGES, parents=[other]),
        outcome_line(POSTS, parents=[INDEX]),
    )
    now = [some(locs(0, 30)), sr.Outcome(PAGES, format="urlset"), sr.SitemapRef(PAGES, sitemap=other)]
    now += [sr.Outcome(url, why="robots", format="sitemapindex") for url in (INDEX, other)]
    assert [each[:3] for each in against(path, *now)] == ["X01", "X02"]
    left = audit(BaselineCheck.read(open_baseline(path)), *now, sr.SitemapRef(f"{SITE}/c.xml", sitemap=INDEX))
    assert [(each.code, each.severity) for each in left] == [("X02", "warning"), ("X01", "notice")]


def test_urls_that_are_left_in_feeds_do_not_count() -> None:
    rss = f"{SITE}/feed"
    path = monday(*lines_of(locs(0, 5)), *lines_of(locs(5, 9), rss), outcome_line(rss, format="rss"))
    assert [each[:3] for each in against(path, some(locs(5, 9), rss))] == ["X01", "X02"]


def test_a_url_counts_once_however_often_it_is_listed() -> None:
    path = monday(*lines_of(locs(0, 30)), *lines_of(locs(0, 30), POSTS))
    (problem,) = against(path, some(locs(90, 95)), some(locs(90, 95), POSTS))
    assert problem == f"X01 monday.jsonl:1: 30 of 30 URLs of monday.jsonl are no longer listed, such as {SITE}/0"


def test_equivalent_escapes_are_the_same_url() -> None:
    path = monday(*lines_of([f"{url}?%c3%a9" for url in locs(0, 30)]))
    assert against(path, some([f"{url}?%C3%A9" for url in locs(0, 30)])) == []


def test_a_url_that_moved_to_another_sitemap_is_not_gone() -> None:
    path = monday(*lines_of(locs(0, 30)))
    assert against(path, some([], PAGES), some(locs(0, 30), POSTS)) == []


def test_urls_removed_from_news_and_feeds_do_not_count() -> None:
    rss, news = f"{SITE}/feed", f"{SITE}/news.xml"
    path = monday(
        *lines_of(locs(0, 40), rss),
        *lines_of(locs(40, 79), news),
        *lines_of(locs(79, 80), news, news={"title": "New lamps"}),
        *lines_of(locs(80, 100)),
        outcome_line(rss, format="rss"),
    )
    now = [some(locs(80, 100)), some(locs(100, 110), rss), some(locs(110, 120), news)]
    assert against(path, *now) == []
    assert against(path, some(locs(200, 201)), *now[1:]) == [
        f"X01 monday.jsonl:81: 20 of 20 URLs of monday.jsonl are no longer listed, such as {SITE}/80"
    ]


def test_dump_with_some_fields_is_a_baseline() -> None:
    path = monday(*({"loc": loc} for loc in locs(0, 30)))
    assert against(path, some(locs(28, 30))) == [
        f"X01 monday.jsonl:1: 28 of 30 URLs of monday.jsonl are no longer listed, such as {SITE}/0"
    ]


def test_the_site_of_the_target_is_compared_in_a_dump_of_several() -> None:
    other = [{**form, "site": "other.example"} for form in lines_of(locs(500, 600), "https://other.example/s.xml")]
    path = monday(*({**form, "site": "shop.example"} for form in lines_of(locs(0, 30))), *other)
    for spelled in ("shop.example", "https://SHOP.example/"):
        assert against(path, some(locs(0, 30)), site=spelled) == []
        assert len(against(path, some(locs(0, 3)), site=spelled)) == 1
    with pytest.raises(sr.UsageError) as error:
        against(path, some(locs(0, 30)), site="third.example")
    assert str(error.value) == "third.example is not in monday.jsonl, which has shop.example, other.example"
    assert [each[:3] for each in against(path, some(locs(0, 30)))] == ["X01", "X02"]


# --- sitemaps ---


def test_vanished_sitemap_is_reported() -> None:
    path = monday(*lines_of(locs(0, 3)), *lines_of(locs(3, 5), POSTS))
    (problem,) = audit(BaselineCheck.read(open_baseline(path)), some(locs(0, 5)))
    assert str(problem) == f"X02 {POSTS}: no longer listed; URLs that it had in monday.jsonl: 2"
    assert (problem.sitemap, problem.line, problem.severity) == (POSTS, None, "warning")


@pytest.mark.parametrize("received", [
    sr.SitemapRef(POSTS, sitemap=INDEX),
    sr.Outcome(POSTS, why="given"),
    sr.Outcome(POSTS, why="well-known", format="urlset"),
    some([], POSTS),
])
def test_a_sitemap_that_is_named_or_read_has_not_vanished(received: UrlBatch | sr.SitemapRef | sr.Outcome) -> None:
    path = monday(*lines_of(locs(0, 3)), *lines_of(locs(3, 5), POSTS))
    assert "X02" not in [each[:3] for each in against(path, some(locs(0, 3)), received)]


def test_a_guess_that_is_no_sitemap_is_not_listed() -> None:
    path = monday(*lines_of(locs(0, 3)), *lines_of(locs(3, 5), POSTS))
    problems = against(path, some(locs(0, 3)), sr.Outcome(POSTS, why="well-known", status=404))
    assert [each[:3] for each in problems] == ["X02", "X01"]


def test_documents_without_urls_count_where_both_know_of_documents() -> None:
    path = monday(
        *lines_of(locs(0, 3)),
        outcome_line(PAGES),
        outcome_line(POSTS),
        outcome_line(INDEX, format="sitemapindex"),
        outcome_line(f"{SITE}/robots.txt", format="robots"),
        outcome_line(f"{SITE}/gone.xml", format=None, complete=False),
    )
    assert against(path, some(locs(0, 3))) == []
    assert against(path, some(locs(0, 3)), sr.Outcome(PAGES)) == [
        f"X02 {INDEX}: no longer listed; URLs that it had in monday.jsonl: 0",
        f"X02 {POSTS}: no longer listed; URLs that it had in monday.jsonl: 0",
    ]


def test_without_sitemap_fields_no_sitemap_has_vanished() -> None:
    check = BaselineCheck.read(open_baseline(monday(*lines_of(locs(0, 3)))))
    assert audit(check, some(locs(0, 3), "tuesday.jsonl")) == []
    assert check.notes == ["no URL states a sitemap of monday.jsonl: X02 not checked"]


# --- what is unknown ---


def test_after_failed_documents_nothing_has_vanished() -> None:
    check = BaselineCheck.read(open_baseline(monday(*lines_of(locs(0, 60)), *lines_of(locs(60, 90), POSTS))))
    assert audit(check, some(locs(0, 3)), sr.Outcome(PAGES, complete=False)) == []
    assert check.notes == ["not all sitemaps were read completely: X01 and X02 not checked against monday.jsonl"]


def test_empty_baseline_reports_nothing() -> None:
    check = BaselineCheck.read(open_baseline(monday({"type": "problem", "code": "F01"})))
    assert audit(check, some(locs(0, 3))) == []
    assert check.notes == ["monday.jsonl lists no URL: X01 and X02 not checked"]


def test_baseline_is_not_read_for_unselected_codes(tmp_path: Path) -> None:
    check = BaselineCheck.read(open_baseline(monday(*lines_of(locs(0, 60)))))
    (tmp_path / "monday.jsonl").unlink()
    assert audit(check, some(locs(0, 1)), found=Findings(ignore=["X01"])) == []


@pytest.mark.parametrize(("form", "reported"), [
    ({"type": "change", "change": "new", "loc": SITE}, "that is a list of changes, not a dump: give a dump"),
    ({"loc": SITE, "lastmod": "x"}, "URL record: Invalid RFC3339 encoded datetime - at `$.lastmod`"),
    ({"loc": SITE, "lastmod": 2026}, "URL record: Expected `datetime | null`, got `int` - at `$.lastmod`"),
    ({"lastmod": None}, 'a line without "type" is a URL, and this one has no "loc": \'{"lastmod":null}\''),
])
def test_invalid_dump_is_reported(form: dict[str, Any], reported: str) -> None:
    with pytest.raises(sr.UsageError) as error:
        BaselineCheck.read(open_baseline(monday(*lines_of(locs(0, 1)), form)))
    assert str(error.value) == f"monday.jsonl:2: {reported}"


def test_missing_baseline_is_reported() -> None:
    with pytest.raises(sr.UsageError) as error:
        open_baseline("none.jsonl")
    hint = "`sitemap-reader dump HOST > urls.jsonl` (or sr.Snapshot.to_parquet) makes a dump"
    assert str(error.value) == f"there is no file none.jsonl; {hint}"


def test_a_dump_gives_its_places() -> None:
    path = monday(*lines_of([SITE + "/"], lastmod="2026-03-01T00:00:00Z", lastmod_precision="day"))
    baseline = open_baseline(path)
    assert isinstance(baseline, DumpBaseline)
    (record,) = baseline.listings()
    assert record == sr.UrlRecord(f"{SITE}/", datetime(2026, 3, 1, tzinfo=UTC), "day", sitemap=PAGES, line=1)


# --- states ---


def synced(site: str, pages: Mapping[str, list[str]], state: str = "state.db") -> str:
    """The state after a run over `pages` by sitemap."""
    urlsets = {url: urlset(*urls, lastmod="2026-03-01") for url, urls in pages.items()}
    fetcher = Site({"/robots.txt": robots(*pages), **urlsets}, site)
    with sr.changes(site, state=state, fetcher=fetcher) as stream:
        assert len([*stream]) == sum(map(len, pages.values()))
    return state


def test_a_state_is_a_baseline() -> None:
    path = synced(SITE, {PAGES: locs(0, 30), POSTS: locs(30, 45)})
    baseline = open_baseline(path)
    assert isinstance(baseline, StateBaseline)
    assert {record.loc for record in baseline.listings()} == {*locs(0, 45)}
    assert against(path, some(locs(0, 30)), some(locs(30, 45), POSTS)) == []
    check = BaselineCheck.read(open_baseline(path, SITE))
    x01, x02 = audit(check, some(locs(0, 10)))
    assert x01.message == f"35 of 45 URLs of state.db are no longer listed, such as {x01.raw}"
    assert (x01.sitemap, x01.line, x01.raw in locs(10, 45)) == ("state.db", None, True)
    assert str(x02) == f"X02 {POSTS}: no longer listed; URLs that it had in state.db: 15"


def test_the_places_of_a_state_have_dates() -> None:
    places = [*open_baseline(synced(SITE, {PAGES: locs(0, 2)})).listings()]
    assert {
        (each.sitemap, each.line, each.lastmod and each.lastmod.day, each.lastmod_precision) for each in places
    } == {(PAGES, None, 1, "day")}


def test_the_site_of_the_target_is_compared_in_a_state_of_several() -> None:
    other = "https://other.example"
    synced(other, {f"{other}/s.xml": [f"{other}/{number}" for number in range(30)]})
    path = synced(SITE, {PAGES: locs(0, 30)})
    for spelled in (SITE, f"{SITE}/", "HTTPS://shop.example"):
        assert against(path, some(locs(0, 30)), site=spelled) == []
    with pytest.raises(sr.UsageError, match=rf"^which site\? state\.db has {other}/, {SITE}/$"):
        BaselineCheck.read(open_baseline(path))
    with pytest.raises(sr.UsageError, match=r"^https://third\.example is not in state\.db, which has "):
        BaselineCheck.read(open_baseline(path, "https://third.example"))


def test_feeds_of_a_state_do_not_count() -> None:
    site = Site({"/robots.txt": robots(f"{SITE}/feed"), "/feed": feed(*locs(0, 30))}, SITE)
    with sr.changes(SITE, state="state.db", fetcher=site) as stream:
        assert len([*stream]) == 30
    assert against("state.db", some([], f"{SITE}/feed")) == []


def test_state_is_closed_after_it_was_read() -> None:
    path = synced(SITE, {PAGES: locs(0, 60)})
    check = BaselineCheck.read(open_baseline(path))
    with sr.state.State(path) as state:
        assert len(state.sites()) == 1
    assert len(audit(check, some(locs(0, 1)))) == 1
    with sr.state.State(path) as state:
        assert len(state.sites()) == 1


def test_errors_of_a_state_are_raised_unchanged() -> None:
    with open("state.db", "wb") as file:
        file.write(b"SQLite format 3\0")
    with pytest.raises(sr.StateError, match=r"^state\.db is no state file"):
        BaselineCheck.read(open_baseline("state.db"))


# --- a target that is not the whole site ---


def given(url: str, format: str = "urlset") -> sr.Outcome:
    return sr.Outcome(url, why="given", format=format)


def whole_site(*, has_outcomes: bool) -> str:
    outcomes = [
        outcome_line(f"{SITE}/robots.txt", format="robots", why="well-known"),
        outcome_line(INDEX, format="sitemapindex", why="robots"),
        outcome_line(PAGES, why="index"),
        outcome_line(POSTS, why="index"),
    ]
    return monday(*(outcomes if has_outcomes else []), *lines_of(locs(0, 30)), *lines_of(locs(30, 90), POSTS))


@pytest.mark.parametrize("has_outcomes", [True, False])
def test_a_given_sitemap_is_not_compared_with_the_whole_site(*, has_outcomes: bool) -> None:
    check = BaselineCheck.read(open_baseline(whole_site(has_outcomes=has_outcomes)))
    rules = sr.Outcome(f"{SITE}/robots.txt", why="well-known", format="robots")
    assert audit(check, sr.SitemapRef(INDEX), rules, some(locs(0, 30)), given(PAGES)) == []
    note = "only given sitemaps were read, and monday.jsonl may have others: X01 and X02 not checked"
    assert (check.notes, check.unchecked) == ([note], {"X01": note, "X02": note})


def test_a_dump_without_sitemaps_may_be_of_more_than_a_given_sitemap() -> None:
    path = monday(*({"loc": loc} for loc in locs(0, 60)))
    assert against(path, some(locs(0, 3)), given(PAGES)) == []
    assert len(against(path, some(locs(0, 3)), sr.Outcome(PAGES, why="robots", format="urlset"))) == 1


@pytest.mark.parametrize("outcomes", [[], [outcome_line(PAGES, why="given")]])
def test_a_given_sitemap_is_compared_with_its_own_dump(outcomes: list[dict[str, Any]]) -> None:
    path = monday(*outcomes, *lines_of(locs(0, 30)))
    assert [each[:3] for each in against(path, some(locs(0, 3)), given(PAGES))] == ["X01"]


@pytest.mark.parametrize("outcomes", [[], [outcome_line(INDEX, format="sitemapindex", why="given")]])
def test_a_given_index_is_compared_with_its_own_dump(outcomes: list[dict[str, Any]]) -> None:
    path = monday(*outcomes, *lines_of(locs(0, 10)), *lines_of(locs(10, 90), POSTS))
    now = [given(INDEX, "sitemapindex"), some(locs(0, 10)), sr.Outcome(PAGES, why="index", format="urlset")]
    assert [each[:3] for each in against(path, *now)] == ["X01", "X02"]


def test_a_given_sitemap_is_compared_with_its_own_state() -> None:
    with sr.changes(PAGES, state="state.db", fetcher=Site({PAGES: urlset(*locs(0, 30))})) as stream:
        assert len([*stream]) == 30
    assert [each[:3] for each in against("state.db", some(locs(0, 3)), given(PAGES), site=PAGES)] == ["X01"]
