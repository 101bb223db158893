"""A finding in words is true of the frame under it: its numbers are computed again from the rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import dump
from recorded import AT, pages, snapshot_of

import sitemap_reader as sr
from sitemap_reader.model import percent

pd = pytest.importorskip("pandas")

SHARE = re.compile(r"([uU]nder 1%|\d+%)(?: each)? \(([\d,]+) of ([\d,]+)[^)]*\)")
NOTHING = ("No conclusion", "No page", "No date")
DOUBT = re.compile(r"^By (?:partly )?doubtful lastmods(?: \(0\.\d\d\))?, ")
NAMES = re.compile(r": ([^;]*?) with ")
# A day, how many pages have it, in which folder, and with a time or without.
GROUPS = st.lists(
    st.tuples(st.integers(-3, 500), st.integers(1, 40), st.sampled_from(["", "a/", "b/"]), st.booleans()), max_size=8
)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def records(groups: list[tuple[int, int, str, bool]], undated: int) -> list[sr.UrlRecord]:
    made = []
    for row, (days, count, folder, has_time) in enumerate(groups):
        for each in range(count):
            lastmod = AT - timedelta(days=days, minutes=17 * each if has_time else 0)
            precision = "second" if has_time else "day"
            lastmod = lastmod if has_time else lastmod.replace(hour=0)
            images = (sr.Image(f"https://a.example/{row}.png"),) if row % 2 else ()
            changefreq = "daily" if row % 3 else None
            loc = f"https://a.example/{folder}{row}-{each}"
            made.append(sr.UrlRecord(loc, lastmod, precision, changefreq, sitemap="s", images=images))
    return made + [sr.UrlRecord(f"https://a.example/u{each}", sitemap="s") for each in range(undated)]


def named(finding: str, counts: Any) -> None:
    """`…: X and Y with …`: the names are all that have the greatest count."""
    found = NAMES.search(finding)
    assert found is not None
    names = re.split(r", | and ", found[1])
    more = re.fullmatch(r"([\d,]+) more", names[-1])
    leading = [str(name) for name in counts.index[counts == counts.max()]]
    assert len(leading) == (len(names) if more is None else len(names) - 1 + number(more[1]))
    assert set(names if more is None else names[:-1]) <= set(leading)


def check_sections(frame: Any) -> None:
    counts = frame.set_index("section")["pages"]
    named(frame.finding, counts)
    ((_, part, whole),) = SHARE.findall(frame.finding)
    assert (number(part), number(whole)) == (counts.max(), counts.sum())
    what = f"Largest of {len(frame)} sections" if len(frame) > 1 else "The only section"
    assert frame.finding.startswith(f"{what}: ")


def check_freshness(frame: Any) -> None:
    if frame.finding.startswith(NOTHING):
        return
    pages = frame.set_index("age")["pages"].tolist()
    total, undated = sum(pages), int(frame.loc[frame["age"] == "undated", "pages"].sum())
    shares = [(number(part), number(whole)) for _, part, whole in SHARE.findall(frame.finding)]
    assert shares == [(sum(pages[:2]), sum(pages[:5])), (sum(pages[:4]), sum(pages[:5]))]
    assert (re.search(rf", {undated} ha(?:s|ve) no date", frame.finding) is not None) == (undated > 0)
    assert (f"; of {total} page" in frame.finding) == (sum(pages[5:]) > 0)


def check_cadence(frame: Any) -> None:
    if frame.finding.startswith(NOTHING):
        return
    counts = frame.set_index(frame["period"].dt.strftime("%Y-%m"))["pages"]
    assert ("no month has several dated pages, " in frame.finding.lower()) == (counts.max() == 1)
    if counts.max() > 1:
        named(frame.finding, counts)
        ((_, part, whole),) = SHARE.findall(frame.finding)
        assert (number(part), number(whole)) == (counts.max(), counts.sum())
    median = re.search(r"; median of the (\d+) months between the first and the last: ([\d.]+) pages?$", frame.finding)
    assert (median is not None) == (len(counts) >= 5)
    assert median is None or (int(median[1]), float(median[2])) == (len(counts) - 2, counts[1:-1].median())


def check_weekdays(frame: Any) -> None:
    if frame.finding.startswith(NOTHING):
        return
    weekday, _, hour = DOUBT.sub("", frame.finding).partition("; ")
    days = frame.groupby("weekday")["pages"].sum()
    timed = frame.dropna(subset="hour")
    hours = timed.groupby(timed["hour"].map("{:02}:00".format))["pages"].sum()
    for finding, counts, values in ((weekday.lower(), days, 7), (hour.removeprefix("in UTC, "), hours, 24)):
        if finding.startswith("no date"):
            assert timed.empty
            continue
        if finding.startswith("too few days"):
            continue
        if finding.startswith("too few"):
            assert f"too few dates ({counts.sum()})" in finding
            assert counts.sum() < 10
            continue
        assert counts.sum() >= 10
        if finding.startswith("most frequent "):
            ((_, part, whole),) = SHARE.findall(finding)
            assert (number(part), number(whole)) == (counts.max(), counts.sum())
            named(finding, counts.rename(str.lower))
            assert counts.max() > counts.sum() / values * 1.5
            assert counts.max() >= 10
        elif "stands out" in finding:
            assert f" of {counts.max()} pages of " in finding


def check_changefreq_priority(frame: Any) -> None:
    stated = frame[frame["value"] != "none"].groupby("field")["pages"].sum()
    total = frame.groupby("field")["pages"].sum()
    shares = [(number(part), number(whole)) for _, part, whole in SHARE.findall(frame.finding)]
    assert shares == [(stated[field], total[field]) for field in ("changefreq", "priority") if field in stated]


def check_media(frame: Any) -> None:
    shares = [(number(part), number(whole)) for _, part, whole in SHARE.findall(frame.finding)]
    media = frame[["images", "videos", "news", "alternates"]].sum()
    assert shares == [(count, frame["pages"].sum()) for count in media if count]


CHECKS: dict[str, Callable[[Any], None]] = {
    "sections": check_sections,
    "freshness": check_freshness,
    "cadence": check_cadence,
    "weekday_hour": check_weekdays,
    "changefreq_priority": check_changefreq_priority,
    "media_coverage": check_media,
}


@pytest.mark.slow
@settings(max_examples=15)
@given(groups=GROUPS, undated=st.integers(0, 5))
def test_a_finding_is_true_of_its_frame(
    groups: list[tuple[int, int, str, bool]], undated: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    listed = records(groups, undated)
    if not listed:
        return
    snapshot = sr.load(dump(tmp_path_factory.getbasetemp() / "findings.jsonl", *listed), at=AT)
    for name, check in CHECKS.items():
        made = getattr(snapshot, name)()
        for share, part, whole in SHARE.findall(made.finding):
            assert share.lower() == percent(number(part) / number(whole))
        check(made)


@pytest.mark.slow
def test_growth_has_the_difference_and_its_share(tmp_path: Path) -> None:
    def sized(count: int, month: int) -> sr.Snapshot:
        return snapshot_of(tmp_path, *pages(*map(str, range(count))), name=str(month), at=f"2026-{month:02}-02")

    before = sized(2_000, 1)
    findings = [sized(count, 2).growth(before).finding for count in (2_000, 1_999, 1_900, 4_000)]
    assert findings == [
        "2,000 pages at the beginning and at the end of 31 days: the same ones",
        "From 2,000 to 1,999 pages (-1, under 0.1%) in 31 days: 0 new, 1 removed",
        "From 2,000 to 1,900 pages (-100, -5.0%) in 31 days: 0 new, 100 removed",
        "From 2,000 to 4,000 pages (+2,000, +100%) in 31 days: 2,000 new, 0 removed",
    ]
    assert before.growth().finding == "2,000 pages in one snapshot"


def test_overlaps_that_tie_are_stated_as_such(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, **{site: pages("1", "2", host=site) for site in "abc"})
    assert some.overlap().finding == "Largest overlap: b has 100% (2 of 2 paths) of a: /1 and /2; 5 other pairs as much"
