"""The frame in the style of advertools has the columns of advertools, with values of the records."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from recorded import AT, snapshot_of

import sitemap_reader as sr
from sitemap_reader.model import Price

SITEMAP = "https://a.example/s.xml"
ALWAYS = ["loc", "lastmod", "changefreq", "priority", "sitemap", "etag", "sitemap_last_modified", "sitemap_size_mb"]


def frame(folder: Path, *items: object) -> pd.DataFrame:
    return snapshot_of(folder, *items).to_pandas(style="advertools")


def url(path: str, **more: object) -> sr.UrlRecord:
    return sr.UrlRecord(f"https://a.example/{path}", sitemap=SITEMAP, **more)  # type: ignore[arg-type]


def test_frame_has_the_fixed_columns_only(tmp_path: Path) -> None:
    made = frame(tmp_path, url("1"), url("2"))
    assert list(made.columns) == [*ALWAYS, "download_date"]
    assert made["loc"].tolist() == ["https://a.example/1", "https://a.example/2"]
    assert made["sitemap"].tolist() == [SITEMAP] * 2
    assert made["download_date"].tolist() == [pd.Timestamp(AT)] * 2
    assert type(made) is pd.DataFrame


def test_lastmod_is_a_utc_date(tmp_path: Path) -> None:
    when = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)
    made = frame(tmp_path, url("1", lastmod=when, changefreq="daily", priority=0.5), url("2"))
    assert str(made["lastmod"].dtype).endswith(", UTC]")
    assert made["lastmod"].iloc[0] == pd.Timestamp(when)
    assert made["lastmod"].isna().tolist() == [False, True]
    assert made["changefreq"].iloc[0] == "daily"
    assert made["priority"].iloc[0] == 0.5
    assert made[["changefreq", "priority"]].iloc[1].isna().all()


def test_last_of_several_images_is_kept(tmp_path: Path) -> None:
    made = frame(
        tmp_path,
        url("1", images=(sr.Image("one", "first"), sr.Image("two", None, "caption"))),
        url("2"),
        url("3", images=(sr.Image("three", "third"),)),
    )
    assert made["image_loc"].fillna("-").tolist() == ["two", "-", "three"]
    assert made["image_title"].fillna("-").tolist() == ["-", "-", "third"]
    assert made["image_caption"].fillna("-").tolist() == ["caption", "-", "-"]
    assert "image_license" not in made


def test_last_of_several_videos_is_kept(tmp_path: Path) -> None:
    when = datetime(2026, 1, 31, tzinfo=UTC)
    last = sr.Video(
        title="last",
        duration=60,
        tag=("a", "b"),
        publication_date=when,
        family_friendly=True,
        player_loc={"value": "https://p.example/", "allow_embed": True, "autoplay": None},
        price=(Price(value=1.0, currency="EUR", type=None, resolution=None),),
    )
    made = frame(tmp_path, url("1", videos=(sr.Video(title="first"), last)), url("2"))
    first = made.iloc[0]
    assert first["video_title"] == "last"
    assert first["video_duration"] == 60
    assert first["video_tag"] == "a, b"
    assert first["video_publication_date"] == pd.Timestamp(when)
    assert first["video_player_loc"] == "https://p.example/"
    assert made["video_title"].isna().tolist() == [False, True]
    assert "video_category" not in made


def test_news_columns_have_the_names_of_advertools(tmp_path: Path) -> None:
    when = datetime(2026, 1, 31, tzinfo=UTC)
    news = sr.News("The Paper", "en", "A title", when, "day", ("x", "y"), ("Blog",), ("A:B",), "Subscription", "Oslo")
    made = frame(tmp_path, url("1", news=news), url("2")).iloc[0]
    assert made[["publication_name", "publication_language", "news_title"]].tolist() == ["The Paper", "en", "A title"]
    assert made["news_publication_date"] == pd.Timestamp(when)
    assert made[["news_keywords", "news_genres", "news_stock_tickers"]].tolist() == ["x, y", "Blog", "A:B"]
    assert made[["news_access", "news_geo_locations"]].tolist() == ["Subscription", "Oslo"]


def test_columns_of_the_sitemap_are_repeated_for_its_urls(tmp_path: Path) -> None:
    known = sr.Outcome(SITEMAP, etag='"e"', last_modified="Mon, 26 Oct 2026 07:15:00 GMT", bytes_decoded=3 << 20)
    other = sr.Outcome("https://a.example/t.xml", last_modified="yesterday", bytes_decoded=1)
    elsewhere = sr.UrlRecord("https://a.example/2", sitemap="https://a.example/t.xml")
    unknown = sr.UrlRecord("https://a.example/3", sitemap="https://a.example/u.xml")
    made = frame(tmp_path, url("1"), elsewhere, unknown, sr.UrlRecord("https://a.example/4"), known, other, known)
    assert made["loc"].tolist() == [f"https://a.example/{number}" for number in range(1, 5)]
    first = made.iloc[0]
    assert (first["etag"], first["sitemap_size_mb"]) == ('"e"', 3.0)
    assert first["sitemap_last_modified"] == pd.Timestamp("2026-10-26T07:15:00Z")
    assert pd.isna(made["sitemap_last_modified"].iloc[1])
    assert made["etag"].isna().tolist() == [False, True, True, True]
    assert made["sitemap_size_mb"].isna().tolist() == [False, False, True, True]


def test_each_listing_is_a_row(tmp_path: Path) -> None:
    made = frame(tmp_path, url("1"), url("1"), url("2"))
    assert made["loc"].tolist() == ["https://a.example/1", "https://a.example/1", "https://a.example/2"]


def test_empty_snapshot_has_the_columns(tmp_path: Path) -> None:
    for items in ((), (sr.Outcome(SITEMAP),)):
        made = frame(tmp_path, *items)
        assert len(made) == 0
        assert list(made.columns) == [*ALWAYS, "download_date"]


def test_default_style_has_all_columns_with_nested_values(tmp_path: Path) -> None:
    loaded = snapshot_of(tmp_path, url("1", images=(sr.Image("one"), sr.Image("two"))))
    assert list(loaded.to_pandas().columns) == loaded.urls.columns
    assert [image["loc"] for image in loaded.to_pandas()["images"].iloc[0]] == ["one", "two"]
