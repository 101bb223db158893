"""Properties of every document: no exception, the same items in any chunks, nothing altered."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from xml.sax.saxutils import escape

import pytest
from corpus_cases import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit import parse, without_bytes_taken
from tiers import examples

import sitemap_reader as sr
from sitemap_reader.model import NESTED
from sitemap_reader.serialize import stamp

FIRST_KEYS = ["loc", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap", "line"]
LATER_KEYS = [*NESTED, "problems"]

# Pieces that documents, whole and damaged, are made of.
PIECES = [b"<urlset>", b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">', b"</urlset>", b"<sitemapindex>",
          b"<url>", b"</url>", b"<sitemap>", b"</sitemap>", b"<loc>", b"</loc>", b"https://example.com/a?b=c",
          b"<lastmod>2026-11-20</lastmod>", b"<priority>0.5", b"<image:image>", b"<image:loc>",
          b"<rss><channel><item><link>", b"</link></item>", b"<!--", b"-->", b"--", b"<![CDATA[", b"]]>", b"&",
          b"&amp;", b"&eacute;", b"&#0;", b"\x00", b"\xff", b"\xc3\xa9", b"<", b">", b"\n", b"\r",
          b'<?xml version="1.0"?>', b"<!DOCTYPE rss>", b'<!DOCTYPE rss SYSTEM "x.dtd">', b"<a b='c'>"]
documents = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    st.lists(st.sampled_from(PIECES), max_size=15).map(lambda pieces: b"<urlset>" + b"".join(pieces)),
    st.lists(st.sampled_from(PIECES), max_size=15).map(lambda pieces: gzip.compress(b"".join(pieces), mtime=0)),
)


def read(body: bytes, size: int = 0) -> list[sr.Item]:
    return without_bytes_taken(parse(body, size, url="https://example.com/sitemap.xml").items)


@pytest.mark.slow
@given(documents, st.integers(1, 40))
@settings(max_examples=examples(400), deadline=None)
@example(b"<urlset><url><url><loc>https://example.com/a</loc><a:b/></urlset>", 1)
@example(b"<urlset><url><loc>https://example.com/a&b<lastmod>2026</url></urlset>", 3)
def test_any_bytes_in_any_chunks_give_the_same_and_never_raise(body: bytes, size: int) -> None:
    assert read(body, size) == read(body)


@pytest.mark.slow
@given(st.sampled_from(cases()), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_damage_anywhere_gives_the_same_in_any_chunks(case: object, data: st.DataObject) -> None:
    body = case.body  # type: ignore[attr-defined]
    place = data.draw(st.integers(0, len(body)))
    body = body[:place] + data.draw(st.sampled_from(PIECES)) + body[place + data.draw(st.integers(0, 5)) :]
    size = data.draw(st.integers(1, 50))
    assert read(body, size) == read(body)


# --- well-formed sitemaps come out as they are ---

paths = st.text("abcXYZ019-_~!$'()*+,;=:@", max_size=20)
queries = st.one_of(st.just(""), st.text("ab=&;", min_size=1, max_size=10).map("?".__add__))
locs = st.builds("https://{}.example/{}{}".format, st.sampled_from(["shop", "www.news"]), paths, queries)
moments = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
freqs = st.sampled_from(["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"])
entries = st.tuples(locs, st.none() | moments, st.none() | freqs,
                    st.none() | st.integers(0, 10).map(lambda tenth: tenth / 10))


def written(loc: str, lastmod: datetime | None, freq: str | None, priority: float | None) -> str:
    fields = {"loc": escape(loc), "lastmod": stamp(lastmod), "changefreq": freq, "priority": priority}
    return "<url>" + "".join(f"<{tag}>{text}</{tag}>" for tag, text in fields.items() if text is not None) + "</url>"


@given(st.lists(entries, max_size=8))
@settings(deadline=None)
def test_well_formed_sitemap_comes_out_exactly(
    listed: list[tuple[str, datetime | None, str | None, float | None]],
) -> None:
    inside = "\n".join(written(*each) for each in listed)
    document = sr.parse(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inside}</urlset>')
    assert [(url.loc, url.lastmod, url.changefreq, url.priority) for url in document.urls] == listed
    assert (document.problems, document.outcome.complete) == ([], True)


@given(documents)
@settings(deadline=None)
def test_every_item_is_a_line_of_json_with_the_documented_keys(body: bytes) -> None:
    for item in read(body):
        line = sr.json_line(item)
        assert line.endswith(b"\n")
        assert b"\n" not in line[:-1]
        keys = list(json.loads(line))
        if not isinstance(item, sr.UrlRecord):
            assert keys[0] == "type"
            continue
        assert keys[: len(FIRST_KEYS)] == FIRST_KEYS
        assert keys[len(FIRST_KEYS) :] == [key for key in LATER_KEYS if key in keys]
