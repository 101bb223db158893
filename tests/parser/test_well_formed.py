"""Well-formed sitemaps come out as they are. Of any bytes: tests/fuzz/."""

from datetime import UTC, datetime
from xml.sax.saxutils import escape

from hypothesis import given, settings
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.serialize import stamp

paths = st.text("abcXYZ019-_~!$'()*+,;=:@", max_size=20)
queries = st.one_of(st.just(""), st.text("ab=&;", min_size=1, max_size=10).map("?".__add__))
locs = st.builds("https://{}.example/{}{}".format, st.sampled_from(["shop", "www.news"]), paths, queries)
moments = st.datetimes(datetime(1981, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
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
