"""The sentence of a finding is true of the frame under it: languages, words, gaps, dates and sitemaps."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import AT, snapshot_of

import sitemap_reader as sr
from sitemap_reader.model import percent

NAMES = st.sampled_from(["de", "fr", "it", "ny", "shop", "red-hat", "red-boat", "blue-hat", "the-sea", "caf%C3%A9"])
DATES = st.none() | st.integers(0, 60).map(
    lambda days: datetime(2026, 4, 1, tzinfo=UTC) + timedelta(days=days // 9 * 9)
)


def record(path: list[str], published: datetime | None, language: str | None) -> sr.UrlRecord:
    loc = "https://a.example/" + "/".join(path)
    news = sr.News(
        publication_date=published, publication_date_precision="second" if published else None, language=language
    )
    return sr.UrlRecord(loc, news=news if published or language else None, sitemap="s")


RECORDS = st.lists(
    st.builds(record, st.lists(NAMES, max_size=3), DATES, st.sampled_from([None, None, "en"])),
    min_size=1,
    max_size=14,
    unique_by=lambda each: each.loc,
)


def numbers(text: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"(?<![-\d.:])\d[\d,]*(?![-\d.%:])", text)]


def named(text: str, column: Any, values: Any) -> None:
    """The text names all rows with the largest value, or three and how many more, and says "each"."""
    top = [str(name) for name in column[values == values.max()]]
    assert (" each" in text) == (len(top) > 1)
    for name in top[:3]:
        assert name in text
    if len(top) > 3:
        assert f"and {len(top) - 3} more" in text


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(RECORDS, RECORDS)
def test_findings_are_true_of_their_frames(
    tmp_path: Path, first: list[sr.UrlRecord], second: list[sr.UrlRecord]
) -> None:
    site = snapshot_of(tmp_path, a=first)
    total = len(first)

    made = site.languages()
    known = made[made["language"] != "unknown"]
    assert made["pages"].sum() == total
    if len(known):
        top = known.iloc[0]
        share = f"{percent(top['pages'] / total)} ({top['pages']} of {total} page"
        assert made.finding.startswith(f'Languages: "{top["language"]}" {share}')
        assert top["pages"] == known["pages"].max()
        assert (f" and {len(known) - 3} more" in made.finding) == (len(known) > 3)
    else:
        assert made.finding == f"No language is known of {total} page{'s' * (total > 1)}"

    made = site.topics()
    if len(made):
        named(made.finding, made["topic"], made["pages"])
        assert f" ({made['pages'].max()} of {total} page" in made.finding
        assert {*made["cluster"]} <= {*made["topic"]}

    made = site.calendar()
    if len(made):
        published = made[made["source"] != "lastmod"]
        sums = (published if len(published) else made).groupby("period")["pages"].sum()
        if sums.max() == 1:
            assert made.finding.startswith("No month has several dated pages, ")
        elif (sums == sums.max()).sum() <= 3:
            named(made.finding.partition(";")[0], sums.index.strftime("%Y-%m"), sums.to_numpy())
            assert f"({sums.max()} of {sums.sum()} dated page" in made.finding
    else:
        assert made.finding == "No page states when it was published"

    made = site.new("40d")
    since = AT - timedelta(days=40)
    truth = sum(bool(each.news and each.news.publication_date and each.news.publication_date > since) for each in first)
    assert made["new"].sum() == truth
    if made["unknown"].sum() < total:
        assert made.finding.startswith(f"{truth} of {total} page")
        if truth:
            named(made.finding.partition(";")[0], made["section"], made["new"])

    made = site.tree()
    assert numbers(made.finding)[:3] == [made["urls"].sum(), (made["urls"] > 0).sum(), len(made)]

    market = snapshot_of(tmp_path, a=first, b=second, name="market")
    for by in ("path", "slug", "topic"):
        gaps, shared = market.gaps("a", by), market.shared("a", by)  # type: ignore[arg-type]
        whole = len(gaps) + len(shared)
        for made in (gaps, shared) if whole else ():
            assert numbers(made.finding)[:2] == [len(made), whole]
            assert f": {percent(len(made) / whole)} (" in made.finding
        assert not {*gaps["key"]} & {*shared["key"]}
        if by == "topic" and len(gaps):
            named(gaps.finding, gaps["key"], gaps["pages"])
