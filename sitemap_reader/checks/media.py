"""News, videos and images: records that have some in, what search engines miss in them out (N, V, I).

Sources: Google's documentation of the three extensions.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ..parser.normalise.dates import format_date, period_end
from .documents import ByDocument
from .findings import Check
from .languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from ..model.records import News, Outcome, UrlRecord, Video
    from .findings import Findings

MOST_NEWS = 1_000
MOST_IMAGES = 1_000
NEWS_AGE = timedelta(hours=48)
MOST_DESCRIPTION_CHARACTERS = 2_048

_NEEDED_OF_NEWS = {
    "name": "publication name",
    "language": "publication language",
    "publication_date": "publication_date",
    "title": "title",
}
_NEEDED_OF_VIDEOS = ("thumbnail_loc", "title", "description")
# Google's documentation asks for ISO 639 codes, of two or three letters, and for these two.
_CHINESE = frozenset({"zh-cn", "zh-tw"})


class NewsNumber(ByDocument[list[int]]):
    """How many news a sitemap has (N01)."""

    codes = ("N01",)

    def new(self) -> list[int]:
        """None yet."""
        return [0]

    def record(self, record: UrlRecord, found: Findings) -> None:
        """Counts it."""
        if record.news is not None:
            self.of(record.sitemap or "")[0] += 1

    def judge(self, sitemap: str, gathered: list[int], outcome: Outcome | None, found: Findings) -> None:
        """Their number."""
        if gathered[0] > MOST_NEWS:
            found.note("N01", f"{gathered[0]:,} news items; Google reads {MOST_NEWS:,}", sitemap=sitemap)


class NewsItems(Check):
    """News: how old, how complete (N02 to N04)."""

    codes = ("N02", "N03", "N04")

    def __init__(self, now: datetime) -> None:
        self._now = now

    def record(self, record: UrlRecord, found: Findings) -> None:
        """One item."""
        if record.news is None:
            return
        for code, field, told, raw in (*_missing_of_news(record.news, record), *self._faults(record.news)):
            message = f"{record.loc}: {told}"
            found.note(code, message, sitemap=record.sitemap, line=record.line, field=f"news:{field}", raw=raw)

    def _faults(self, news: News) -> Iterator[tuple[str, str, str, str]]:
        date, precision = news.publication_date, news.publication_date_precision or "second"
        if date is not None and self._now - period_end(date, precision) > NEWS_AGE:
            day = format_date(date, precision)
            yield "N02", "publication_date", f"published {day}, over 48 hours ago", day
        if news.language and not is_publication_language(news.language):
            yield "N04", "language", f'"{news.language}" is no ISO 639 code', news.language


def _missing_of_news(news: News, record: UrlRecord) -> Iterator[tuple[str, str, str, str]]:
    """A date that is there and cannot be read has a D01 of its own."""
    unreadable = {problem.field for problem in record.problems if problem.code == "D01"}
    missing = [
        words
        for field, words in _NEEDED_OF_NEWS.items()
        if not getattr(news, field) and f"news:{field}" not in unreadable
    ]
    if missing:
        yield "N03", "news", f"no {', '.join(missing)}", record.loc


def is_publication_language(code: str) -> bool:
    """Two or three letters; of those with two, one that is registered."""
    name = code.lower()
    return name in _CHINESE or name in LANGUAGES or (len(name) == 3 and name.isascii() and name.isalpha())


class Videos(Check):
    """Videos (V01 to V04)."""

    codes = ("V01", "V02", "V03", "V04")

    def record(self, record: UrlRecord, found: Findings) -> None:
        """Those of one page."""
        for video in record.videos:
            for code, field, told in _video_faults(video, record.loc):
                message = f"{record.loc}: {told}"
                found.note(code, message, sitemap=record.sitemap, line=record.line, field=field, raw=record.loc)


def _video_faults(video: Video, page: str) -> Iterator[tuple[str, str, str]]:
    missing = [name for name in _NEEDED_OF_VIDEOS if not getattr(video, name)]
    if missing:
        yield "V01", f"video:{missing[0]}", f"a video without {', '.join(missing)}"
    player = video.player_loc["value"] if video.player_loc else None
    if not video.content_loc and not player:
        yield "V02", "video:content_loc", "a video with neither content_loc nor player_loc"
    if video.content_loc == page:
        yield "V03", "video:content_loc", "content_loc is the page itself"
    length = len(video.description or "")
    if length > MOST_DESCRIPTION_CHARACTERS:
        yield "V04", "video:description", f"a description of {length:,} characters; 2,048 are allowed"


class Images(Check):
    """Images (I01)."""

    codes = ("I01",)

    def record(self, record: UrlRecord, found: Findings) -> None:
        """Those of one page."""
        count = len(record.images)
        if count > MOST_IMAGES:
            told = f"{record.loc}: {count:,} images; Google reads {MOST_IMAGES:,}"
            found.note("I01", told, sitemap=record.sitemap, line=record.line, field="image:image", raw=record.loc)
