"""Checks of news, videos and images by Google's documentation of the three extensions (N, V and I codes)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ..parser.normalise.dates import format_date, period_end
from .documents import PerSitemapCheck
from .findings import Check
from .languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from ..model.records import News, Outcome, UrlRecord, Video
    from .findings import Findings

MAX_NEWS = 1_000
MAX_IMAGES = 1_000
MAX_NEWS_AGE = timedelta(hours=48)
MAX_DESCRIPTION_CHARACTERS = 2_048

_REQUIRED_OF_NEWS = {
    "name": "publication name",
    "language": "publication language",
    "publication_date": "publication_date",
    "title": "title",
}
_REQUIRED_OF_VIDEOS = ("thumbnail_loc", "title", "description")
# Google's documentation asks for ISO 639 codes, of two or three letters, and for these two.
_CHINESE = frozenset({"zh-cn", "zh-tw"})


class NewsCount(PerSitemapCheck[list[int]]):
    """Sitemaps with over 1,000 news items (N01)."""

    codes = ("N01",)

    def new_stats(self) -> list[int]:
        """A count of zero."""
        return [0]

    def on_record(self, record: UrlRecord, findings: Findings) -> None:
        """Counts news items."""
        if record.news is not None:
            self.stats_of(record.sitemap or "")[0] += 1

    def check_sitemap(self, sitemap: str, stats: list[int], outcome: Outcome | None, findings: Findings) -> None:
        """Checks the count."""
        if stats[0] > MAX_NEWS:
            findings.report("N01", f"{stats[0]:,} news items; Google reads {MAX_NEWS:,}", sitemap=sitemap)


class NewsItems(Check):
    """News that are too old, incomplete, or have an invalid language (N02 to N04)."""

    codes = ("N02", "N03", "N04")

    def __init__(self, now: datetime) -> None:
        self._now = now

    def on_record(self, record: UrlRecord, findings: Findings) -> None:
        """Checks the news item of a record."""
        if record.news is None:
            return
        for code, field, detail, raw in (*_missing_of_news(record.news, record), *self._faults(record.news)):
            message = f"{record.loc}: {detail}"
            findings.report(code, message, sitemap=record.sitemap, line=record.line, field=f"news:{field}", raw=raw)

    def _faults(self, news: News) -> Iterator[tuple[str, str, str, str]]:
        date, precision = news.publication_date, news.publication_date_precision or "second"
        if date is not None and self._now - period_end(date, precision) > MAX_NEWS_AGE:
            day = format_date(date, precision)
            yield "N02", "publication_date", f"published {day}, over 48 hours ago", day
        if news.language and not is_publication_language(news.language):
            yield "N04", "language", f'"{news.language}" is no ISO 639 code', news.language


def _missing_of_news(news: News, record: UrlRecord) -> Iterator[tuple[str, str, str, str]]:
    """Missing fields; a date that is there but unreadable is D01 instead."""
    unreadable = {problem.field for problem in record.problems if problem.code == "D01"}
    missing = [
        words
        for field, words in _REQUIRED_OF_NEWS.items()
        if not getattr(news, field) and f"news:{field}" not in unreadable
    ]
    if missing:
        yield "N03", "news", f"no {', '.join(missing)}", record.loc


def is_publication_language(code: str) -> bool:
    """Whether it is zh-cn, zh-tw, a code of ISO 639-1, or any three letters."""
    name = code.lower()
    return name in _CHINESE or name in LANGUAGES or (len(name) == 3 and name.isascii() and name.isalpha())


class Videos(Check):
    """Videos without required fields, or with invalid ones (V01 to V04)."""

    codes = ("V01", "V02", "V03", "V04")

    def on_record(self, record: UrlRecord, findings: Findings) -> None:
        """Checks the videos of a page."""
        for video in record.videos:
            for code, field, detail in _video_faults(video, record.loc):
                message = f"{record.loc}: {detail}"
                findings.report(code, message, sitemap=record.sitemap, line=record.line, field=field, raw=record.loc)


def _video_faults(video: Video, page: str) -> Iterator[tuple[str, str, str]]:
    missing = [name for name in _REQUIRED_OF_VIDEOS if not getattr(video, name)]
    if missing:
        yield "V01", f"video:{missing[0]}", f"a video without {', '.join(missing)}"
    player = video.player_loc["value"] if video.player_loc else None
    if not video.content_loc and not player:
        yield "V02", "video:content_loc", "a video with neither content_loc nor player_loc"
    if video.content_loc == page:
        yield "V03", "video:content_loc", "content_loc is the page itself"
    length = len(video.description or "")
    if length > MAX_DESCRIPTION_CHARACTERS:
        yield "V04", "video:description", f"a description of {length:,} characters; 2,048 are allowed"


class Images(Check):
    """Pages with over 1,000 images (I01)."""

    codes = ("I01",)

    def on_record(self, record: UrlRecord, findings: Findings) -> None:
        """Counts the images of a page."""
        count = len(record.images)
        if count > MAX_IMAGES:
            message = f"{record.loc}: {count:,} images; Google reads {MAX_IMAGES:,}"
            findings.report(
                "I01", message, sitemap=record.sitemap, line=record.line, field="image:image", raw=record.loc
            )
