"""Properties of every measure: it states its counts and its finding, separates sites, and accepts an empty snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import sitemap_reader as sr
from sitemap_reader import Measure
from sitemap_reader.analysis import find_in_words, rank_sites
from sitemap_reader.model import percent

Load = Callable[[bytes], sr.Snapshot]
Measured = Callable[[str, bytes], Measure]
Measures = dict[str, Callable[[sr.Snapshot], Measure]]

AT = datetime(2026, 6, 15, 12, tzinfo=UTC)
ANALYSIS_PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"
COLUMNS = {
    "cadence": "site period pages",
    "weekday_hour": "site weekday hour pages",
    "freshness": "site age pages share",
    "lastmod_trust": "site sitemap urls dated coverage dense batch future at_fetch score trust reasons",
    "sections": "site section pages share dated newest",
    "media_coverage": "site section pages images videos news alternates "
    "images_share videos_share news_share alternates_share images_listed videos_listed",
    "changefreq_priority": "site field value pages share median_age_days",
    "slug_ngrams": "site words pages share",
    "hreflang": "site language alternate links returned",
    "languages": "site language base pages share source",
    "translations": "site key languages missing loc",
    "patterns": "site pattern pages share example",
    "page_types": "site type pages share example",
    "slug_lengths": "site words pages share characters",
    "topics": "site topic pages share slugs titles cluster",
    "trends": "site topic new before new_share before_share change",
    "calendar": "site period source pages",
    "new": "site section new pages unknown source",
    "tree": "site sitemap parent depth format urls newest complete entries",
    "turnover": "site period new returned removed",
    "survival": "site days pages removed share",
    "gaps": "site key pages share loc",
    "shared": "site key pages share loc ours",
    "overlap": "site other paths shared usual share",
    "growth": "site at pages new removed dated newest sitemaps complete",
    "churn": "site section new updated redated removed unchanged",
}
MEASURES: Measures = {name: lambda snapshot, name=name: getattr(snapshot, name)() for name in COLUMNS}  # type: ignore[misc]
# They need two sites, several states, or many pages: see test_measures_of_words.py, test_gaps.py, test_archive.py,
# test_topics.py.
for larger in ("overlap", "gaps", "shared", "turnover", "survival", "trends"):
    del MEASURES[larger]
MEASURES["new"] = lambda snapshot: snapshot.new("7d")
MEASURES["translations"] = lambda snapshot: snapshot.translations(["de", "en", "fr"])
MEASURES["growth"] = lambda snapshot: snapshot.growth([])
MEASURES["churn"] = lambda snapshot: snapshot.churn(snapshot)
every = pytest.mark.parametrize("name", MEASURES)


def listed(host: str) -> list[sr.UrlRecord]:
    """A small site with every field and extension."""
    home, other = f"https://{host}/en/red-shoes", f"https://{host}/de/rote-schuhe"
    links = (sr.Alternate("en", home), sr.Alternate("de", other))
    return [
        sr.UrlRecord(home, AT - timedelta(days=3), "second", "daily", 0.5, alternates=links, sitemap="s"),
        sr.UrlRecord(other, AT - timedelta(days=40), "day", alternates=links, sitemap="s"),
        sr.UrlRecord(f"https://{host}/about", images=(sr.Image("i"),), sitemap="t"),
    ]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Makes a snapshot of lines; cached by the lines."""

    @cache
    def loaded(lines: bytes) -> sr.Snapshot:
        path = tmp_path_factory.mktemp("measured") / "urls.jsonl"
        path.write_bytes(lines)
        return sr.load(path, at=AT)

    return loaded


@pytest.fixture(scope="module")
def measured(load: Load) -> Measured:
    """Measures the snapshot of some lines; cached by the lines."""
    return cache(lambda name, lines: MEASURES[name](load(lines)))


def of(**sites: list[sr.UrlRecord]) -> bytes:
    return b"".join(sr.json_line(each, site=site) for site, some in sites.items() for each in some)


@every
def test_measure_is_a_frame_with_counts_and_a_finding(name: str, measured: Measured) -> None:
    made = measured(name, of(one=listed("one.example")))
    assert isinstance(made, Measure)
    assert isinstance(made, pd.DataFrame)
    assert list(made.columns) == COLUMNS[name].split()
    assert len(made) > 0
    for text in (made.rule, made.finding):
        assert text
        assert text.isprintable()
    assert made.rule.endswith(".")
    assert list(made.index) == list(range(len(made)))


def test_each_measure_is_tested_here_and_documented() -> None:
    methods = {
        name: method.__doc__ or ""
        for name, method in vars(sr.Snapshot).items()
        if getattr(method, "__annotations__", {}).get("return") == "Measure" and not name.startswith("_")
    }
    assert {*methods} == {*COLUMNS}
    rows = re.findall(r"^\| `(\w+)\(.*?\)` \|.*\| `([a-z_ ]+)`(.*) \|$", ANALYSIS_PAGE.read_text("utf-8"), re.MULTILINE)
    documented = {name: f"site {columns}" for name, columns, _ in rows}
    assert {*documented} == {*COLUMNS}
    for name, columns in COLUMNS.items():
        is_whole = name != "media_coverage"  # whose docs say how the names of the last columns are made
        for stated in (documented[name], methods[name].partition(": `")[2].partition("`")[0]):
            assert stated == columns if is_whole else columns.startswith(f"{stated} "), name


@pytest.mark.slow
@every
def test_rows_of_a_measure_are_a_measure_and_other_results_plain_frames(name: str, measured: Measured) -> None:
    made = measured(name, of(one=listed("one.example")))
    ours = made["site"] == "one"
    for part in (made.head(1), made[ours], made.loc[ours], made.sort_values("site"), made.query("site == 'one'")):
        assert type(part) is Measure
        assert (part.rule, part.verdict) == (made.rule, made.verdict)
        assert part.chart().to_svg().startswith("<svg")
    for part in (made[["site"]], made.groupby("site").first(), made.isna(), made.describe()):
        assert type(part) is pd.DataFrame
    if name != "translations":  # all of its columns are texts
        assert {type(made.astype(str)), type(made.T)} == {pd.DataFrame}
    assert type(made["site"]) is pd.Series


@every
def test_html_of_a_measure_begins_with_the_finding_and_is_escaped(name: str, measured: Measured) -> None:
    made = measured(name, of(**{"<b>&one": listed("one.example")}))
    html = made._repr_html_()
    assert html.startswith("<p><strong>")
    assert html.index("<strong>") < html.index("<table")
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;one" in html


@pytest.mark.slow
@every
def test_rows_of_two_sites_are_separate(name: str, measured: Measured) -> None:
    """The rows of each site are those that it has alone, one site after the other."""
    first, second = listed("one.example"), [*listed("two.example")[1:], sr.UrlRecord("https://two.example/x/y")]
    alone = [measured(name, of(one=first)), measured(name, of(two=second))]
    both = measured(name, of(one=first, two=second))
    shown = [frame.astype(object).where(frame.notna(), None).to_dict("records") for frame in (*alone, both)]
    assert shown[2] == [*shown[0], *shown[1]]
    if name not in ("growth",):
        lines = [f"{site}: {each.finding}" for site, each in zip(("one", "two"), alone, strict=True)]
        assert both.finding.lower() == " | ".join(lines).lower()
    # And in the other order: that of the file, not of the alphabet.
    if len(alone[1]):
        assert measured(name, of(two=second, one=first))["site"].iloc[0] == "two"


@every
def test_pages_count_once_by_their_newest_lastmod(name: str, measured: Measured) -> None:
    if name in ("lastmod_trust", "tree"):
        pytest.skip("it counts listings: each sitemap answers for its own")
    records = listed("one.example")
    older = [sr.UrlRecord(each.loc, AT - timedelta(days=400), "second", "never", 0.1, sitemap="s") for each in records]
    undated = [sr.UrlRecord(each.loc, changefreq="yearly", sitemap="s") for each in records[:2]]
    made = measured(name, of(one=[*older[:2], *records, *undated]))
    assert pd.DataFrame(made).equals(pd.DataFrame(measured(name, of(one=records))))


NOTHING = {
    "no line": b"",
    "a report alone": sr.json_line(sr.Outcome("https://a.example/s.xml"))
    + sr.json_line(sr.Problem("F01", "error", "404 Not Found", "https://a.example/s.xml")),
}


@pytest.mark.slow
@every
@pytest.mark.parametrize("kind", NOTHING)
def test_measure_of_no_urls_is_an_empty_frame_that_says_so(name: str, kind: str, measured: Measured) -> None:
    made = measured(name, NOTHING[kind])
    if name == "tree" and kind == "a report alone":
        pytest.skip("it shows the sitemap")
    assert len(made) == 0
    assert [*map(str, made.dtypes)] == [*map(str, measured(name, of(one=listed("one.example"))).dtypes)]
    assert made.finding.startswith(("There is no ", "No page "))
    assert "nothing to draw" in made.chart().to_svg()
    assert made._repr_html_()


BARE = {
    "the home page": ["https://a.example/"],
    "pages without a folder": ["https://a.example/a", "https://a.example/b"],
    "no path": ["https://a.example", "https://b.example?x=1"],
    "what is no URL": ["", "hello", "/a/b", "a\nb"],
}


@pytest.mark.smoke("no path-sections")
@pytest.mark.slow
@every
@pytest.mark.parametrize("kind", BARE)
def test_pages_without_optional_fields_are_counted(name: str, kind: str, measured: Measured) -> None:
    locs = BARE[kind]
    made = measured(name, b"".join(sr.json_line(sr.UrlRecord(loc)) for loc in locs))
    assert made.finding
    if name in ("freshness", "sections", "media_coverage", "growth"):
        assert made["pages"].sum() == len(locs)
    assert made.chart().to_svg().startswith("<svg")


# --- wrong arguments ---

WRONG: dict[str, tuple[Callable[[sr.Snapshot], object], str]] = {
    "freq": (lambda it: it.cadence("fortnight"), "freq is one of day, week, month, quarter, year or the "),
    "no freq": (lambda it: it.cadence(None), "freq is one of "),  # type: ignore[arg-type]
    "freqs": (lambda it: it.cadence(["month"]), "freq is one of "),  # type: ignore[arg-type]
    "no freq either": (lambda it: it.cadence(""), "freq is one of "),  # type: ignore[arg-type]
    "group": (lambda it: it.cadence(by="folder"), "by is one of section, language, host or None, not 'folder'"),  # type: ignore[arg-type]
    "groups": (lambda it: it.cadence(by=["section"]), "by is one of section, language, host or None, not ["),  # type: ignore[arg-type]
    "tz": (lambda it: it.weekday_hour(tz="Mars/X"), 'tz is a time zone such as "Europe/Oslo" or "UTC", not \'Mars/X\''),
    "tz that is a folder": (lambda it: it.weekday_hour(tz="Europe"), "tz is a time zone such as"),
    "tz outside": (lambda it: it.weekday_hour(tz="../etc/passwd"), "tz is a time zone such as"),
    "no tz": (lambda it: it.weekday_hour(tz=None), "tz is a time zone such as"),  # type: ignore[arg-type]
    "depth 0": (lambda it: it.sections(0), "depth is a number from 1 to 9, not 0"),
    "depth 10": (lambda it: it.media_coverage(10), "depth is a number from 1 to 9, not 10"),
    "depth in text": (lambda it: it.sections("1"), "depth is a number from 1 to 9, not '1'"),  # type: ignore[arg-type]
    "depth of churn": (lambda it: it.churn(it, 0), "depth is a number from 1 to 9, not 0"),
    "n": (lambda it: it.slug_ngrams(6), "n is a number of words from 1 to 5, not 6"),
    "top": (lambda it: it.slug_ngrams(top=0), "top is a number, 1 or more, not 0"),
    "skip": (lambda it: it.slug_ngrams(skip=[5]), "skip "),  # type: ignore[list-item]
    "no skip": (lambda it: it.slug_ngrams(skip=5), "skip "),  # type: ignore[arg-type]
    "by": (lambda it: it.overlap("host"), "by is one of path, slug, not 'host'"),  # type: ignore[arg-type]
    "bys": (lambda it: it.overlap(["path"]), "by is one of path, slug, not ['path']"),  # type: ignore[arg-type]
    "one site": (lambda it: it.overlap(), r"overlap() needs two sites or more"),
    "churn of a name": (lambda it: it.churn("old.jsonl"), "churn() takes an earlier Snapshot"),  # type: ignore[arg-type]
    "growth of a name": (lambda it: it.growth("old.jsonl"), "growth() takes "),  # type: ignore[arg-type]
    "growth of a number": (lambda it: it.growth(5), "growth() takes "),  # type: ignore[arg-type]
    "growth of names": (lambda it: it.growth(["old.jsonl"]), "growth() takes "),  # type: ignore[list-item]
    "calendar": (lambda it: it.calendar("years"), "freq is one of day, week, month, quarter, year or the "),  # type: ignore[arg-type]
    "tz of cadence": (lambda it: it.cadence(tz="Mars/X"), "tz is a time zone such as"),
    "tz of the calendar": (lambda it: it.calendar(tz="Mars/X"), "tz is a time zone such as"),
    "since": (lambda it: it.new("soon"), "since: 'soon' is neither a date such as 2026-05-31 nor an age such as 7d"),
    "no since": (lambda it: it.new(None), "since is a date such as 2026-05-31 or an age such as 7d, not None"),  # type: ignore[arg-type]
    "top of patterns": (lambda it: it.patterns(top=0), "top is a number, 1 or more, not 0"),
    "one language": (lambda it: it.translations("de"), "languages is two languages or more, such as "),
    "languages of a number": (lambda it: it.translations(5), "languages is two languages or more"),  # type: ignore[arg-type]
    "top of topics": (lambda it: it.topics(top=0), "top is a number, 1 or more, not 0"),
    "skip of topics": (lambda it: it.topics(skip=5), "skip "),  # type: ignore[arg-type]
    "weights": (lambda it: it.topics(weights=5), "weights is numbers by URL"),  # type: ignore[arg-type]
    "weights in words": (lambda it: it.slug_ngrams(weights={"u": "many"}), "weights is numbers by URL"),  # type: ignore[dict-item]
    "since of trends": (lambda it: it.trends(None), "since is a date such as"),  # type: ignore[arg-type]
    "by of gaps": (lambda it: it.gaps("one", "host"), "by is one of path, slug, topic, language, not 'host'"),  # type: ignore[arg-type]
    "ours": (lambda it: it.gaps("two"), "ours is a site of this Snapshot (one) or another Snapshot, not 'two'"),
    "no ours": (lambda it: it.shared([]), "ours is a site of this Snapshot (one) or another Snapshot, not []"),
    "ours is a number": (lambda it: it.gaps(5), "ours is a site of this Snapshot (one) or another Snapshot, not 5"),  # type: ignore[arg-type]
    "ours alone": (lambda it: it.gaps("one"), "there is no other site to compare: the Snapshot has only one"),
    "style": (lambda it: it.to_pandas("polars"), "style is \"advertools\" or None, not 'polars'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments_of_measures_are_reported(wrong: str, load: Load) -> None:
    ask, reported = WRONG[wrong]
    with pytest.raises(sr.UsageError) as failure:
        ask(load(of(one=listed("one.example"))))
    assert str(failure.value).startswith(reported)


# --- words ---


@pytest.mark.parametrize(("share", "expected"), [
    (0, "0%"), (0.001, "under 1%"), (0.01, "1%"), (0.5, "50%"), (0.989, "99%"), (0.999, "99%"), (1, "100%"),
])
def test_share_is_rounded_to_0_or_100_only_if_exact(share: float, expected: str) -> None:
    assert percent(share) == expected


def test_many_sites_have_one_finding_that_names_those_without_rows() -> None:
    rows = pd.DataFrame({"site": [*"bccdd"]})

    def finding(*sites: str) -> str:
        some = rows[rows["site"].isin(sites)]
        return find_in_words(some, sites, lambda part: f"rows: {len(part)}", lambda every: f"all {len(every)}", "none")

    assert finding("b") == "Rows: 1"
    assert finding("a", "b") == "a: none | b: rows: 1"
    assert finding("b", "c", "d") == "b: rows: 1 | c: rows: 2 | d: rows: 2"  # three at most
    assert finding("a", "b", "c", "d") == "All 5; none at a"
    assert finding("b", "x", "y", "z") == "All 1; none at 3 sites"
    assert finding("a", "e", "f", "g") == finding("a") == finding() == "None"


def test_ranks_state_ties_ends_and_the_unknown() -> None:
    def ranked(*numbers: float | None) -> str:
        rows = pd.DataFrame({"site": [*"abcdefgh"][: len(numbers)], "number": numbers})
        number = lambda part: None if part["number"].isna().all() else int(part["number"].sum())  # noqa: E731
        return rank_sites("pages:", number, rows)

    assert ranked(3) == "pages: 3 at a"
    assert ranked(3, 3) == "pages: 3 at a and b"
    assert ranked(1, 3) == "pages: 3 at b; least: 1 at a"
    assert ranked(2, 5000, 9, 2, 2, 7) == "pages: 5,000 at b, then 9 at c; least: 2 at 3 sites"
    assert ranked(2, None, 9) == "pages: 9 at c; least: 2 at a; unknown at b"
    assert ranked(None, None) == "pages: unknown at a and b"
