"""Records as dicts of text."""

from datetime import UTC, datetime

import pytest
from scrapy_parts import items

import sitemap_reader as sr
from sitemap_reader import Alternate, SitemapRef, UrlRecord

MOMENT = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", [
    "2024", "2024-05", "2024-05-06", "2024-05-06T07:08+00:00", "2024-05-06T07:08:09+00:00",
    "2024-05-06T07:08:09.100000+00:00", "0987",
])
def test_date_keeps_its_stated_precision(text: str) -> None:
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://e.com/</loc>\
<lastmod>{text}</lastmod></url></urlset>'
    (record,) = sr.parse(body.encode()).urls
    assert items.entry_of(record)["lastmod"] == text


def test_absent_values_have_no_key() -> None:
    record = UrlRecord(loc="https://e.com/", sitemap="https://e.com/s.xml")
    assert items.entry_of(record) == {"loc": "https://e.com/", "sitemap_record": record}


def test_all_values_are_text() -> None:
    alternates = (Alternate(hreflang="de", href="https://e.com/de", media=None),)
    record = UrlRecord(
        loc="https://e.com/", sitemap=None, changefreq="daily", priority=0.8, alternates=alternates,
        lastmod=MOMENT, lastmod_precision="day",
    )  # fmt: skip
    entry = items.entry_of(record)
    assert entry.pop("sitemap_record") is record
    assert entry == {
        "loc": "https://e.com/", "lastmod": "2024-01-01", "changefreq": "daily", "priority": "0.8",
        "alternate": ["https://e.com/de"],
    }  # fmt: skip


def test_a_child_of_an_index_has_its_lastmod() -> None:
    ref = SitemapRef(loc="https://e.com/s.xml", lastmod=MOMENT, lastmod_precision="month", sitemap=None)
    assert items.entry_of(ref) == {"loc": "https://e.com/s.xml", "lastmod": "2024-01", "sitemap_record": ref}
