"""docs/questions.md: each call says what the page has, and that is what the recorded files state.

`python tests/analysis/questions.py` writes the page anew; the truths here are counted from the files.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from statistics import median
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import altair as alt
import attrs
import duckdb
import pandas as pd
import polars as pl
import pytest
from analysis import questions

import sitemap_reader as sr

MARKET = questions.ROOT / "corpus" / "market"
ROWS = questions.rows()
OURS, KETTLE, SAMOVAR, GAZETTE = "tealeaf", "kettle", "samovar", "gazette"
SITES = (OURS, KETTLE, SAMOVAR, GAZETTE)


# --- the files, without the library ---


@attrs.frozen
class Url:
    loc: str
    sitemap: str
    lastmod: str | None
    news: str | None
    links: dict[str, str]  # hreflang -> URL
    names: Counter[str]  # of all elements

    @property
    def path(self) -> str:
        return urlsplit(self.loc).path

    @property
    def folders(self) -> list[str]:
        """Without a language."""
        return [name for name in self.path.strip("/").split("/")[:-1] if name not in ("en", "de", "fr")]

    @property
    def slug(self) -> str:
        return self.path.strip("/").rpartition("/")[2]

    @property
    def key(self) -> str:
        """The path without a language."""
        return "/".join([*self.folders, self.slug])

    @property
    def date(self) -> str:
        """The day of the lastmod."""
        return (self.lastmod or "")[:10]


@cache
def urls(site: str) -> list[Url]:
    found = []
    for file in sorted((MARKET / site).rglob("*.xml")):
        root = ElementTree.parse(file).getroot()  # noqa: S314 - our own file
        for entry in root:
            names = [each.tag.rpartition("}")[2] for each in entry.iter()][1:]
            texts = {each.tag.rpartition("}")[2]: (each.text or "").strip() for each in reversed([*entry.iter()])}
            links = {each.get("hreflang", ""): each.get("href", "") for each in entry if each.get("hreflang")}
            if root.tag.endswith("}urlset"):
                news = texts.get("publication_date")
                loc = entry[[*(each.tag.rpartition("}")[2] for each in entry)].index("loc")].text or ""
                found.append(Url(loc.strip(), file.name, texts.get("lastmod"), news, links, Counter(names)))
    return found


@cache
def months() -> dict[str, dict[str, str]]:
    """day of reading -> path of a page -> its lastmod."""
    read = {}
    for file in sorted((MARKET / "months").glob("*.gz")):
        lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        listed = [line for line in lines if "loc" in line]
        read[file.name[:10]] = {urlsplit(line["loc"]).path: line["lastmod"] for line in listed}
    return read


def part(site: str, is_counted: Callable[[Url], Any], noun: str = "") -> str:
    """`80 of 142 pages`."""
    return f"{sum(bool(is_counted(url)) for url in urls(site))} of {len(urls(site))}{noun}"


def paths(site: str) -> set[str]:
    return {url.key for url in urls(site)}


def words(url: Url) -> set[str]:
    return {word for word in re.split(r"[\W\d_]+", url.slug.lower()) if word}


def is_in_language(code: str) -> Callable[[Url], bool]:
    """As its hreflang link to itself states it, else its path."""
    return lambda url: url.links.get(code) == url.loc or url.path.startswith(f"/{code}/")


def events() -> list[tuple[str, str, str]]:
    """(day of reading, new, returned or removed, path)."""
    seen: set[str] = set()
    before: set[str] = set()
    found = []
    for number, (day, pages) in enumerate(months().items()):
        for path in pages:
            if number and path not in before:
                found.append((day, "returned" if path in seen else "new", path))
        found += [(day, "removed", path) for path in before - set(pages)]
        seen |= set(pages)
        before = set(pages)
    return found


def churned(first: dict[str, str], last: dict[str, str]) -> list[str]:
    both = set(first) & set(last)
    redated = sum(first[path] != last[path] for path in both)
    found = [f"{len(set(last) - both)} new pages", f"of {len(first)} earlier", f"{len(set(first) - both)} removed"]
    return [*found, f"{redated} with only another lastmod"] if redated else found


def first_and_last() -> tuple[dict[str, str], dict[str, str]]:
    first, *_, last = months().values()
    return first, last


def largest_section(site: str, depth: int = 1) -> list[str]:
    counts = Counter("/".join(["", *url.folders[:depth], ""]) for url in urls(site))
    most = max(counts.values())
    return [*sorted(name for name, count in counts.items() if count == most), f"({most} of {len(urls(site))} pages)"]


def articles() -> list[Url]:
    """The pages of the magazine with a date in their URL."""
    return [url for url in urls(GAZETTE) if url.path.split("/")[1].isdigit()]


def month_of(url: Url) -> str:
    return "-".join(url.path.split("/")[1:3])


def week_sizes() -> list[int]:
    """Of each week from the first to the last, also those without an article."""
    days = [date(*map(int, url.path.split("/")[1:4])) for url in articles()]
    weeks = Counter(day - timedelta(day.weekday()) for day in days)
    return [weeks[min(weeks) + timedelta(7 * n)] for n in range((max(weeks) - min(weeks)).days // 7 + 1)]


def busiest_months() -> list[str]:
    counts = Counter(map(month_of, articles()))
    return [*sorted(month for month in counts if counts[month] == max(counts.values())), f"({max(counts.values())} of"]


def missing_paths(site: str, ours: str) -> str:
    return f"({sum(url.key not in paths(ours) for url in urls(site))} of {len(urls(site))} pages)"


def posts_with_matcha() -> list[str]:
    """In the posts listed at last, by whether the first reading that lists them is since May."""
    first = {path: day for day, pages in reversed([*months().items()]) for path in pages}
    listed = [path for path in first_and_last()[1] if path.startswith("/blog/")]
    new = [path for path in listed if first[path] >= "2026-05-01"]
    old = [path for path in listed if path not in new]
    share = sum("matcha" in path for path in new) / len(new)
    assert not any("matcha" in path for path in old)
    return [f"Of {len(new)} pages", f"with {len(old)} before", f'"matcha" ({round(share * 100)}%, before 0%)']


def rising_at_gazette() -> list[str]:
    new = [url for url in articles() if month_of(url) >= "2026-07"]
    share = sum("matcha" in words(url) for url in new) / len(new)
    return [f"Of {len(new)} pages", f'"matcha" ({round(share * 100)}%']


def not_returned() -> str:
    links = {(url.loc, link) for url in urls(SAMOVAR) for link in url.links.values() if link != url.loc}
    return f"({sum((there, here) not in links for here, there in links)} of {len(links)} hreflang links)"


def survivors() -> str:
    """Of the pages that appeared 180 days or more before the last reading, those listed for so long."""
    days = {day: date.fromisoformat(day) for day in months()}
    appeared = {path: day for day, change, path in events() if change == "new"}
    removed = {path: day for day, change, path in events() if change == "removed"}
    known = [path for path, day in appeared.items() if (days[max(days)] - days[day]).days >= 180]
    gone = [path for path in known if path in removed and (days[removed[path]] - days[appeared[path]]).days <= 180]
    return f"{round(100 * (1 - len(gone) / len(known)))}% after 180 days"


def recent(site: str) -> str:
    """With a lastmod on the last 30 days before 2026-11-01 12:00."""
    dated = [url.lastmod for url in urls(site) if url.lastmod]
    is_recent = [(each if "T" in each else f"{each}T24") >= "2026-10-02T12" for each in dated]
    return f"({sum(is_recent)} of {len(dated)}) at {site}.example"


def new_or_unknown() -> list[str]:
    new = sum((url.news or "") >= "2026-10-02T12" for url in urls(GAZETTE))
    pages = sum(len(urls(site)) for site in SITES)
    return [at(GAZETTE, new), f"; unknown for {pages - new:,} of {pages:,} pages, at 4 sites"]


def weekdays() -> list[str]:
    posts = [url.lastmod or "" for url in urls(KETTLE) if "blog" in url.folders]
    times = [datetime.fromisoformat(each).astimezone(UTC).astimezone(ZoneInfo("Europe/Oslo")) for each in posts]
    count = len(times)  # one hour of UTC, which is two in Oslo
    assert {f"{time.astimezone(UTC):%H:00}" for time in times} == {"06:00"}
    assert {f"{time:%H:00}" for time in times} == {"07:00", "08:00"}
    assert {f"{time:%a}" for time in times} == {"Mon", "Tue", "Wed", "Thu", "Fri"}
    hour = f"06:00 UTC (07:00 or 08:00 Europe/Oslo) with 100% ({count} of {count} times)"
    return ["Mon to Fri have 100%", hour]


def share_with(site: str, name: str) -> str:
    counted = sum(url.names[name] > 0 for url in urls(site))
    return f"{round(100 * counted / len(urls(site)))}% of the pages at {site}.example"


def step_of_size() -> list[str]:
    sizes = {day: len(pages) for day, pages in months().items()}
    counts = [*sizes.values()]
    steps = {day: after - before for (day, after), before in zip([*sizes.items()][1:], counts, strict=False)}
    day = max(steps, key=lambda day: abs(steps[day]))
    return [f"From {counts[0]} to {counts[-1]} pages", f"largest step: {steps[day]:+} on {day}"]


def untranslated() -> str:
    languages: dict[str, set[str]] = {}
    for url in urls(KETTLE):
        code = url.path.split("/")[1]
        if code in ("en", "de"):
            languages.setdefault(url.key, set()).add(code)
    return f"({sum(len(codes) < 2 for codes in languages.values())} of {len(languages)} pages)"


def without_topic() -> list[str]:
    """The words that most pages of samovar and kettle have, and none of ours."""
    known = {word for url in urls(OURS) for word in words(url)}
    found = []
    for site in (KETTLE, SAMOVAR):
        counts = Counter(word for url in urls(site) for word in words(url) - known if len(word) > 1)
        found.append(f'"{counts.most_common(1)[0][0]}"')
        found.append(f"({counts.most_common(1)[0][1]} of {len(urls(site))} pages)")
    return found


def pages_with(site: str, word: str) -> str:
    return part(site, lambda url: word in words(url), " pages")


def at(site: str, count: int) -> str:
    return f"{count} at {site}.example"


def new_posts() -> str:
    *_, before, last = months().values()
    return f"{len(set(last) - set(before))} of {len(last)} pages new since 2026-10-02, all in /blog/"


def of_change(change: str) -> Counter[str]:
    return Counter(day[:7] for day, each, _ in events() if each == change)


def peak(change: str) -> str:
    month, count = of_change(change).most_common(1)[0]
    return f"{month} ({count})"


TRUTHS: dict[str, Callable[[], list[str]]] = {
    "Which sites are in this folder of competitors?": lambda: [f"{site}.example" for site in SITES],
    "How many pages does each site have?": lambda: [
        at(site, len(urls(site))) for site in (GAZETTE, KETTLE, SAMOVAR)
    ],
    "In which sections are they?": lambda: largest_section(KETTLE),
    "And two folders deep?": lambda: largest_section(GAZETTE, 2),
    "Which patterns do the URLs have?": lambda: [part(KETTLE, lambda url: "blog" in url.folders, " pages")],
    "Are these products, articles, tags?": lambda: [f"article 39% ({part(OURS, lambda url: 'blog' in url.folders)}"],
    "How long are the slugs?": lambda: [
        f"Slugs: {median(len(url.slug.split('-')) for url in urls(KETTLE)):g} words",
        f"the longest has {max(len(url.slug) for url in urls(KETTLE))} characters",
    ],
    "What are the pages about?": lambda: [f'"matcha" with 65% ({pages_with(SAMOVAR, "matcha")})'],
    "Which words bring the clicks?": lambda: ['"assam" with 100% (40 of 40)'],
    "How many pages have images, videos, news?": lambda: [
        share_with(KETTLE, "image"),
        share_with(SAMOVAR, "video"),
        share_with(GAZETTE, "news"),
    ],
    "How many images are there?": lambda: [f"{sum(url.names['image'] for url in urls(KETTLE))} images on"],
    "Does the site use changefreq and priority?": lambda: [part(SAMOVAR, lambda url: url.names["changefreq"])],
    "How do the sitemaps nest?": lambda: [f"{len(urls(KETTLE))} URLs in 3 of 4 sitemaps"],
    "Which sitemap has the newest page?": lambda: [max(urls(KETTLE), key=lambda url: url.date).sitemap],
    "Are URLs listed twice?": lambda: [str(sum(len(urls(site)) - len({u.loc for u in urls(site)}) for site in SITES))],
    "Do URLs have parameters?": lambda: [str(sum("?" in url.loc for site in SITES for url in urls(site)))],
    "What is wrong with the sitemaps?": lambda: [
        f"({sum(bool(url.links) for url in urls(KETTLE)) + 1} places) in {len(urls(KETTLE))} URLs"
    ],
    "How many pages may GPTBot not read?": lambda: [
        str(sum(url.path.startswith("/cart") for url in urls(KETTLE)))  # which robots.txt disallows
    ],
    "In which languages are the pages?": lambda: [
        f'"{code}" 33% ({part(SAMOVAR, is_in_language(code))}' for code in ("de", "en", "fr")
    ],
    "Are hreflang links returned?": lambda: [not_returned()],
    "Which pages are not translated?": lambda: [untranslated(), 'into "de"'],
    "Which languages do others have that we have not?": lambda: [
        f'"fr" ({sum(map(is_in_language("fr"), urls(SAMOVAR)))} pages)',
        f"unknown for {part(KETTLE, lambda url: url.path.split('/')[1] not in ('en', 'de'), ' pages')}",
    ],
    "Can the lastmods be trusted?": lambda: [
        "can be trusted at tealeaf.example and kettle.example",
        "cannot be trusted at samovar.example" if len({url.lastmod for url in urls(SAMOVAR)}) == 1 else "",
        "missing at gazette.example" if not any(url.lastmod for url in urls(GAZETTE)) else "",
    ],
    "When does the magazine publish?": lambda: [
        *busiest_months(),
        f"{sum(bool(url.news) for url in urls(GAZETTE))} published as news",
    ],
    "How many articles a week?": lambda: [f"{median(week_sizes()):g}"],
    "On which weekday and at which hour, in my time zone?": weekdays,
    "How often does each section change?": lambda: [
        f"of {sum(url.folders == [section] for url in urls(OURS))} dated pages)" for section in ("tea", "blog")
    ],
    "How fresh are the pages?": lambda: [recent(KETTLE), recent(OURS)],
    "Which pages have the lastmod of one day?": lambda: [
        f"{sum(url.date == '2026-10-27' for url in urls(OURS))} row"
    ],
    "Which words are rising?": rising_at_gazette,
    "Which paths do the sites share?": lambda: [
        f"({len(paths(OURS) & paths(SAMOVAR))} of {len(paths(SAMOVAR))} paths)"
    ],
    "Which pages of others do we lack?": lambda: [missing_paths(site, OURS) for site in SITES[1:]],
    "Which topics do we lack?": without_topic,
    "Which topics do we have in common?": lambda: [f"({pages_with(site, 'tea')})" for site in SITES[1:]],
    "Who has more new content?": new_or_unknown,
    "One page for the team?": lambda: ["a file"],
    "How has the site grown?": step_of_size,
    "Which sections grew?": lambda: [
        f"/{name}/: from {before} to {after} pages"
        for name in ("blog", "sale")
        for before, after in [[sum(f"/{name}/" in path for path in each) for each in first_and_last()]]
    ],
    "What is new in the last 30 days?": lambda: [new_posts()],
    "What was new, updated, removed since the last reading?": lambda: churned(*[*months().values()][-2:]),
    "And since the first reading?": lambda: churned(*first_and_last()),
    "Which URLs are these?": lambda: [f"{sum(day == max(months()) for day, *_ in events())} rows"],
    "How many come and go each month?": lambda: [
        *(f"{of_change(change).total()} pages {change}" for change in ("new", "returned", "removed")),
        f"new in {peak('new')} and removed in {peak('removed')}",
    ],
    "Which URLs came and went, and when?": lambda: [f"{len(events())} rows"],
    "How long do pages live?": lambda: [survivors()],
    "Which words are new in the posts?": posts_with_matcha,
    "Was the site moved?": lambda: ["leaves.example moved to tealeaf.example between 2026-03-01 and 2026-04-01"],
    "Which pages have no impressions?": lambda: [f"({len(urls(OURS)) - 2} of {len(urls(OURS))} pages)"],
    "Which pages that get clicks are in no sitemap?": lambda: ["(1 of 3 pages)"],
    "Clicks beside each page?": lambda: ["2 rows: loc, Clicks"],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The variables of the page, and a file for the report."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(questions.ROOT)
        return questions.variables() | {"FILE": str(tmp_path_factory.mktemp("market") / "market.html")}


def test_each_question_has_a_truth() -> None:
    assert [*ROWS] == [*TRUTHS]


@pytest.mark.parametrize(
    "question", [pytest.param(each, marks=[pytest.mark.slow] * ("report(" in ROWS[each][0])) for each in ROWS]
)
def test_the_call_says_what_the_page_has_and_the_files_state(
    question: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(questions.ROOT)
    call, shown = ROWS[question]
    text = questions.answer(call, names)
    assert text == shown
    assert [truth for truth in TRUTHS[question]() if truth not in text] == []


# --- other selections ---

VARIABLES = ("market", "ours", "kettle", "samovar", "gazette", "archive")
# They take one of several values, or are of the files of the market.
NOT_OF_ALL = (".item()", "notes[0]", "sr.load(", "sr.audit(", "report(", "earlier[0]")
CALLS = [call for call, _ in ROWS.values() if not any(part in call for part in NOT_OF_ALL)]
SELECTIONS: dict[str, Callable[[dict[str, Any]], sr.Snapshot]] = {
    "one site": lambda names: names["kettle"],
    "three sites": lambda names: names["market"].filter(site=[f"{name}.example" for name in SITES[:3]]),
    "five sites": lambda _: sr.snapshot(
        [*(MARKET / name for name in SITES), questions.ROOT / "corpus/sites/shop"], show_progress=False
    ),
    "no URL": lambda names: names["market"].filter(include="there-is-none"),
    "no URL of an archive": lambda names: names["archive"].filter(include="there-is-none"),
    "no URL any more": lambda names: names["archive"].filter(include="/sale/"),
    "no dates": lambda _: sr.load([f"https://u.example/a/page-{number}" for number in range(30)]),
}


@pytest.mark.parametrize("selection", SELECTIONS)
def test_each_call_has_a_sentence_for_other_selections_or_says_what_it_needs(
    selection: str, names: dict[str, Any]
) -> None:
    chosen = SELECTIONS[selection](names)
    wrong = {}
    for call in CALLS:
        try:
            text = questions.answer(call, names | dict.fromkeys(VARIABLES, chosen))
        except sr.UsageError as error:
            text = str(error)
        if not text or not text.isprintable() or "NaN" in text:
            wrong[call] = text
    assert wrong == {}


LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "polars": pl.DataFrame,
    "polars from pandas": pl.from_pandas,
    "DuckDB": lambda frame: duckdb.sql("FROM frame").df(),
    "Altair": lambda frame: alt.Chart(frame).mark_bar().encode(x=frame.columns[-1], y="site").to_dict(),
}


KINDS = r"str|[iI]nt64|float64|bool(ean)?|category|datetime64\[us, [\w/]+\]"


def test_other_libraries_take_what_a_measure_returns_without_a_hint(names: dict[str, Any]) -> None:
    """Whole columns have a type of their own: no objects, no periods, and times with a zone."""
    kinds: dict[str, list[str]] = {}
    for call in CALLS:
        frame = eval(call, names)  # noqa: S307 - our own page
        if not isinstance(frame, pd.DataFrame):
            continue
        # The texts of a Table are objects with pyarrow 18.
        for name, kind in frame.dtypes.items() if "to_pandas()" not in call else ():
            if not re.fullmatch("str" if name == "site" else KINDS, str(kind)):
                kinds.setdefault(call, []).append(f"{name}: {kind}")
        if "site" in frame:
            rows = [len(LIBRARIES[each](frame)) for each in ("polars", "polars from pandas", "DuckDB")]
            assert rows == [len(frame)] * 3, call
            assert LIBRARIES["Altair"](frame)["datasets"], call
    assert kinds == {}


def test_an_archive_of_which_no_page_is_left(names: dict[str, Any]) -> None:
    sale = names["archive"].filter(include="/sale/")
    assert sale.turnover().finding == "30 pages removed; most removed in 2026-06 (30)"
    assert sale.growth().finding.startswith("From 30 to 0 pages (-30, -100%) in 335 days")
    assert sale.churn(sale.earlier[0]).finding == "0 new pages; of 30 earlier pages 0 updated, 30 removed"
    assert len(sale.churn(sale.earlier[0]).list_urls()) == 30


def test_sentences_of_several_sites(names: dict[str, Any]) -> None:
    """Shares have their numbers, and what is unknown is not text to be lacking."""
    market = names["market"]
    assert "of the Clicks at tealeaf.example" in market.topics(weights=names["clicks"]).finding
    assert '"article" at 3 of 4 sites' in market.page_types().finding
    lacking = market.gaps("tealeaf.example", by="language").finding
    assert "no page of tealeaf.example is known to have (unknown for 3 of 103 pages)" in lacking
    published = names["archive"].calendar().finding
    assert "16 of 99 dated pages), all first seen on 2026-10-01; dated: 99 first seen in 11 readings" in published


def test_no_page_is_in_the_future_of_sites_that_were_read_later(names: dict[str, Any]) -> None:
    five = SELECTIONS["five sites"](names)  # one of them six days before
    assert "in the future" not in set(five.freshness()["age"])
