"""What checks derive from the columns of a batch is what they would find in its records, in both kinds of stores."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader import Alternate, UrlRecord
from sitemap_reader.checks import Findings, url_key, url_keys
from sitemap_reader.model import ObjectColumns, UrlBatch, moment_of, precision_of
from sitemap_reader.parser import batch_of

A = "https://a.example"
MAP, OTHER = f"{A}/sitemap.xml", f"{A}/other.xml"

moments = st.datetimes(datetime(1969, 12, 30), datetime(1970, 1, 3), timezones=st.just(UTC))
whole_seconds = moments.map(lambda moment: moment.replace(microsecond=0))
dates = st.one_of(
    st.just((None, None)),
    st.tuples(whole_seconds, st.sampled_from(["day", "second", None])),
    st.tuples(moments, st.just("subsecond")),
)
alternates = st.lists(
    st.builds(Alternate, st.sampled_from([None, "de", "en"]), st.sampled_from([f"{A}/1", f"{A}/2"])), max_size=3
)
origins = st.sampled_from([A, "http://a.example", "https://a.example:8443"])


@st.composite
def records(draw: st.DrawFn) -> list[UrlRecord]:
    return [
        UrlRecord(f"{draw(origins)}/{line}", *draw(dates), alternates=tuple(draw(alternates)), sitemap=MAP, line=line)
        for line in range(draw(st.integers(1, 6)))
    ]


def batches(urls: list[UrlRecord]) -> list[UrlBatch]:
    """The URLs in a store of each kind, behind others."""
    store = ObjectColumns()
    for each in (*urls, *urls):
        store.append(each)
    return [batch_of(MAP, [*urls, *urls]).part(len(urls), 2 * len(urls)), UrlBatch(MAP, store, len(urls))]


@given(records())
def test_dates_by_precision_and_the_newest_of_each(urls: list[UrlRecord]) -> None:
    dated = [(index, each.lastmod, each.lastmod_precision) for index, each in enumerate(urls) if each.lastmod]
    by_precision: dict[Any, list[datetime]] = {}
    for _, lastmod, precision in dated:
        by_precision.setdefault(precision, []).append(lastmod)
    for batch in batches(urls):
        assert by_precision == {
            precision_of(code): [moment_of(number, code) for number in numbers] for code, numbers in batch.dates.items()
        }
        firsts = [next(each for each in dated if each[1:] == (max(of), name)) for name, of in by_precision.items()]
        assert batch.newest == sorted(firsts)


@given(records())
def test_text_and_origins_have_each_url_once(urls: list[UrlRecord]) -> None:
    for batch in batches(urls):
        assert batch.text.split("\n") == ["", *(each.loc for each in urls)]
        assert sorted(index for _, indexes in batch.origins for index in indexes) == [*range(len(urls))]
        assert all(urls[index].loc.startswith(f"{origin}/") for origin, indexes in batch.origins for index in indexes)


@given(records())
def test_items_have_the_url_that_owns_them(urls: list[UrlRecord]) -> None:
    having = {index: each.alternates for index, each in enumerate(urls) if each.alternates}
    for batch in batches(urls):
        assert batch.owners("alternates") == [index for index, links in having.items() for _ in links]
        lists = batch.lists("alternates", "hreflang", "href")
        assert {index: tuple(map(Alternate, *columns)) for index, columns in lists} == having


@given(st.lists(st.sampled_from([f"{A}/a", f"{A}/%C3%A9", f"{A}/%c3%a9", "%", "no URL %zz"])))
def test_keys_of_urls_are_those_of_each(urls: list[str]) -> None:
    assert url_keys(urls) == [*map(url_key, urls)]


@pytest.mark.parametrize("samples", [0, 1, 3, 10])
@pytest.mark.parametrize("options", [
    {},
    {"ignore": ["U09"]},
    {"on_occurrence": lambda occurrence: None},
])
def test_urls_reported_together_are_found_as_if_reported_one_by_one(samples: int, options: dict[str, Any]) -> None:
    one_by_one, together = Findings(samples=samples, **options), Findings(samples=samples, **options)
    for sitemap, indexes in ((MAP, [0, 2, 3, 4]), (OTHER, [1]), (MAP, [5]), ("c", []), ("d", [0, 1])):
        batch = batch_of(sitemap, [UrlRecord(f"{A}/{line}", sitemap=sitemap, line=line) for line in range(6)])
        faults = {index: f"{index}" for index in indexes}
        together.report_urls("U09", batch, faults, lambda loc, fault: (f"{loc} is {fault}", "loc", fault))
        for index in indexes:
            place: dict[str, Any] = {"sitemap": sitemap, "line": index, "url": f"{A}/{index}"}
            one_by_one.report("U09", f"{A}/{index} is {index}", **place, field="loc", raw=f"{index}")
    assert together.ranked() == one_by_one.ranked()
    assert together.by_document() == one_by_one.by_document()
