"""A Snapshot holds what a dump of the same site holds, from any source, and notes what is unknown."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from generated import make_site
from kit import HOST, Site, index
from recorded import RECORDED, SITES, STOPPED, comparable, dump, snapshot

import sitemap_reader as sr
from sitemap_reader import schema


@pytest.fixture
def nothing(tmp_path: Path) -> Path:
    """A site without a sitemap."""
    return Site(origin="https://nothing.example").write(tmp_path / "nothing")


# --- of sites ---


def test_a_recorded_site_is_read_whole_at_the_time_of_the_recording() -> None:
    shop = snapshot("shop")
    assert len(shop.urls) == len(list(shop)) == 640
    assert (shop.complete, shop.sites, shop.name, shop.notes) == (True, ("shop.example",), "shop.example", ())
    assert shop.at == shop.read_at == RECORDED
    assert len(shop.sitemaps) == 11
    assert repr(shop) == f"<Snapshot of shop.example: 640 URLs; read {RECORDED:%Y-%m-%d %H:%M} UTC>"


def test_columns_are_the_keys_of_lines_then_parts_of_urls() -> None:
    shop = snapshot("shop")
    stored = pa.schema(eval(schema("arrow"), {"pa": pa})).names  # noqa: S307 - our own words
    folders = ["dir_1", "dir_2", "dir_3"]
    derived = ["page_key", "host", "domain", "path", "depth", *folders, "slug", "extension", "query_keys"]
    assert shop.urls.columns == [*stored, *derived]
    assert shop.pages.columns == [*shop.urls.columns, "section", "language"]
    assert shop.sitemaps.columns[:3] == ["url", "final_url", "parents"]
    fields = ["code", "severity", "message", "sitemap", "line", "field", "raw", "url", "kind", "site"]
    assert shop.problems.columns == fields


def test_pages_have_the_sections_and_languages_of_the_measures() -> None:
    shop = snapshot("shop")
    pages = shop.pages[["section", "language"]]
    assert shop.pages.shape == (640, len(shop.pages.columns))
    assert pages["section"].value_counts().to_dict() == dict(shop.sections()[["section", "pages"]].to_numpy())
    known = shop.languages().set_index("language")["pages"].drop("unknown")
    assert pages["language"].value_counts().to_dict() == known.to_dict()
    by_sql = shop.sql("SELECT section, count(*) AS pages FROM pages GROUP BY 1 ORDER BY 2 DESC, 1")
    assert by_sql.iloc[0].tolist() == ["/p/", 390]


def test_a_site_of_the_network_is_read_now(tmp_path: Path, nothing: Path) -> None:
    make_site(tmp_path / "site", urls=10)
    toml = tmp_path / "site" / "site.toml"
    toml.write_text(toml.read_text().split("recorded")[0])
    before = datetime.now(UTC)
    made = sr.snapshot(tmp_path / "site", show_progress=False)
    assert made.read_at is not None
    assert before <= made.read_at == made.at <= datetime.now(UTC)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shop", "broken", "nesting"])
def test_snapshot_has_the_lines_of_a_dump_with_its_report(name: str, tmp_path: Path) -> None:
    dumped, made = sr.load(dump(tmp_path, name)), snapshot(name)
    assert comparable(made.dicts()) == comparable(dumped.dicts())
    assert Counter(map(repr, made)) == Counter(map(repr, dumped))
    kinds = Counter(type(item).__name__ for item in made.items())
    assert kinds == Counter(type(item).__name__ for item in dumped.items())
    assert kinds["Outcome"] == len(made.sitemaps)
    assert kinds["Problem"] == len(made.problems)


def test_several_sites_have_their_names_in_each_row() -> None:
    both = sr.snapshot([SITES / "shop", str(SITES / "nesting")], show_progress=False)
    assert both.sites == ("shop.example", "nesting.example")
    counts = Counter(both.urls.to_pandas(["site"])["site"])
    assert counts == {"shop.example": 640, "nesting.example": 3}
    assert set(both.sitemaps.to_pandas()["site"]) == set(both.problems.to_pandas()["site"]) | {"shop.example"}
    assert both.complete is False
    assert both.name == "shop.example, nesting.example"


def test_a_site_that_fails_is_a_note_and_the_others_stay(nothing: Path) -> None:
    some = sr.snapshot([nothing, SITES / "shop"], show_progress=False)
    assert (some.sites, len(some.urls)) == (("shop.example",), 640)
    assert some.complete is False
    (note,) = some.notes
    assert note.startswith(f"no sitemap found for {nothing}")


def test_snapshot_of_sites_without_sitemaps_raises(nothing: Path, tmp_path: Path) -> None:
    with pytest.raises(sr.NothingFound, match="no sitemap found"):
        sr.snapshot(nothing, show_progress=False)
    with pytest.raises(sr.NothingFound, match="no sitemap found"):
        sr.snapshot([nothing, nothing], show_progress=False)
    Site({"sitemap.xml": "<html><body>hello</body></html>"}, "https://nothing.example").write(nothing)
    with pytest.raises((sr.NothingReadable, sr.NothingFound)):
        sr.snapshot(nothing, show_progress=False)


@pytest.mark.parametrize("target", ["urls.jsonl", ["a.example", "old.parquet"], Path("urls.jsonl.gz")])
def test_snapshot_of_a_missing_dump_is_reported(target: Any) -> None:
    with pytest.raises(sr.UsageError, match=r"there is no file or folder (urls|old)\..*; give sitemaps "):
        sr.snapshot(target, show_progress=False)


def test_options_of_the_reader_are_accepted() -> None:
    some = sr.snapshot(SITES / "shop", show_progress=False, include="/magazine/", since="2026-08-01")
    assert 0 < len(some.urls) < 60
    assert all("/magazine/" in record.loc for record in some)
    with pytest.raises(TypeError):
        sr.snapshot(SITES / "shop", colour="red")  # type: ignore[call-arg]


def test_slice_is_a_snapshot() -> None:
    both = sr.snapshot([SITES / "shop", SITES / "nesting"], show_progress=False)
    one = both.filter(site="nesting.example")
    assert (one.name, one.sites, len(one.urls), one.at) == ("nesting.example", ("nesting.example",), 3, RECORDED)
    assert set(one.sitemaps.to_pandas()["site"]) == set(one.problems.to_pandas()["site"]) == {"nesting.example"}
    assert both.filter(site=["shop.example", "nesting.example"]).sites == both.sites
    magazine = both.filter(include="/magazine/", exclude=["kitchen", r"-\d$"])
    named = [record.loc for record in both if "/magazine/" in record.loc]
    expected = [loc for loc in named if "kitchen" not in loc and loc[-2] != "-"]
    assert [record.loc for record in magazine] == expected
    assert 0 < len(expected) < len(named) - 9
    assert len(magazine.sitemaps) == len(both.sitemaps)
    assert magazine.sections()["section"].tolist() == ["/magazine/"]
    assert len(both.filter(include="nowhere").pages) == 0
    with pytest.raises(sr.UsageError, match=r"there is no site a\.example; there are nesting\.example, shop\.example"):
        both.filter(site="a.example")
    with pytest.raises(sr.UsageError, match=r"include: '\*' is no regular expression"):
        both.filter(include="*")


@pytest.mark.slow
def test_interrupted_snapshot_keeps_what_was_read(tmp_path: Path) -> None:
    make_site(tmp_path / "site", urls=4_000, per_document=100)

    def enough(progress: sr.client.Progress) -> None:
        if progress.urls >= 1_500:
            raise KeyboardInterrupt

    some = sr.snapshot([tmp_path / "site", SITES / "shop"], show_progress=False, on_progress=enough)
    assert 1_500 <= len(some.urls) < 4_000
    assert some.complete is False
    assert some.notes == (STOPPED,)
    assert len(some.sitemaps) >= 10
    whole = {record.loc for record in sr.snapshot([tmp_path / "site", SITES / "shop"], show_progress=False)}
    assert {record.loc for record in some} < whole


def test_snapshot_interrupted_after_its_index_does_not_conclude_that_there_is_no_url() -> None:
    hangs = 200, {}, [b"<urlset>", partial(asyncio.sleep, 60)]
    site = Site({"/sitemap.xml": index(f"{HOST}/child.xml"), "/child.xml": hangs})

    calls: list[int] = []

    def after_index(progress: sr.client.Progress) -> None:
        calls.append(f"{site.origin}/child.xml" in site.requests)
        if sum(calls) > 4:  # then it is called because nothing more comes
            raise KeyboardInterrupt

    some = sr.snapshot(f"{site.origin}/sitemap.xml", show_progress=False, on_progress=after_index, fetcher=site)
    assert some.sitemaps["url"].tolist() == [f"{site.origin}/robots.txt", f"{site.origin}/sitemap.xml"]
    assert some.notes == (STOPPED,)


def test_snapshot_interrupted_at_once_is_empty() -> None:
    def at_once(progress: sr.client.Progress) -> None:
        raise KeyboardInterrupt

    none = sr.snapshot(SITES / "shop", show_progress=False, on_progress=at_once)
    assert (len(none.urls), none.complete, none.notes, none.sites) == (0, False, (STOPPED,), ())


# --- as an input of other functions ---


def test_two_snapshots_are_compared_as_their_files_are(tmp_path: Path) -> None:
    old, new = sr.load(SITES / "shop.jsonl"), snapshot("shop")
    with sr.diff(old, new) as changes:
        assert list(changes) == []
    less = tmp_path / "less.jsonl"
    less.write_bytes(b"".join((SITES / "shop.jsonl").read_bytes().splitlines(keepends=True)[5:]))
    with sr.diff(sr.load(less), new) as changes, sr.diff(less, SITES / "shop.jsonl") as usual:
        assert [change.record.loc for change in changes] == [change.record.loc for change in usual]
        assert (changes.counts.new, changes.counts.removed) == (5, 0)


@pytest.mark.parametrize("name", ["shop", "broken"])
def test_audit_of_a_snapshot_equals_audit_of_its_file(name: str, tmp_path: Path) -> None:
    file = dump(tmp_path, name)
    expected = sr.audit(file, as_of=RECORDED)
    for source in (snapshot(name), sr.load(file, at=RECORDED)):
        report = sr.audit(source)
        assert report.at == RECORDED
        assert (report.urls, report.pages, report.complete) == (expected.urls, expected.pages, expected.complete)
        found, usual = ([(each.code, each.severity, each.count) for each in one.findings] for one in (report, expected))
        assert found == usual
