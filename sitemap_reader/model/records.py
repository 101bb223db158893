"""The values that come out. jsonl.py knows their JSON form.

Constructors do no work: what is in a record has been cleaned by read/normalise.py.
Absent is None (or empty), never a default.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - reading JSON goes by these types, at run time
from typing import Literal, TypedDict

import attrs

from .problems import Problem

ChangeFreq = Literal["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"]
Precision = Literal["year", "month", "day", "minute", "second", "subsecond"]

# A tag with attributes is an object: its text under "value", each attribute under its own name, every key present.


class PlayerLoc(TypedDict):
    """A `video:player_loc`."""

    value: str | None
    allow_embed: bool | None
    autoplay: str | None


class Segment(TypedDict):
    """A `video:content_segment_loc`; `duration` in seconds."""

    value: str | None
    duration: int | None


class Restriction(TypedDict):
    """A `video:restriction` (countries) or `video:platform`: names with blanks between; `relationship`: allow, deny."""

    value: str | None
    relationship: str | None


class GalleryLoc(TypedDict):
    """A `video:gallery_loc`."""

    value: str | None
    title: str | None


class Price(TypedDict):
    """A `video:price`; `currency` as ISO 4217 has it, `type` rent or own, `resolution` HD or SD."""

    value: float | None
    currency: str | None
    type: str | None
    resolution: str | None


class Uploader(TypedDict):
    """A `video:uploader`: the name, and `info`, the URL of a page about them."""

    value: str | None
    info: str | None


class VideoId(TypedDict):
    """A `video:id`; `type` says whose identifier it is, such as `tms:series`."""

    value: str | None
    type: str | None


@attrs.define
class Image:
    """An `image:image` (or a Media RSS image). `loc` is absolute and canonical."""

    loc: str
    title: str | None = None
    caption: str | None = None
    geo_location: str | None = None
    license: str | None = None


@attrs.define
class Alternate:
    """An `xhtml:link rel="alternate"`; `hreflang` as written, None where there is none."""

    hreflang: str | None
    href: str
    media: str | None = None


@attrs.define
class News:
    """A `news:news`. The publication's `name` and `language` are flattened into it."""

    name: str | None = None
    language: str | None = None
    title: str | None = None
    publication_date: datetime | None = None
    publication_date_precision: Precision | None = None
    keywords: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    stock_tickers: tuple[str, ...] = ()
    access: str | None = None
    geo_targeting: str | None = None
    amp: str | None = None


class TvShow(TypedDict):
    """A `video:tvshow`: every key is present."""

    show_title: str | None
    video_type: str | None
    episode_title: str | None
    season_number: int | None
    episode_number: int | None
    premier_date: datetime | None
    premier_date_precision: Precision | None


@attrs.define
class Video:
    """A `video:video`, each tag under its own name; `duration` in seconds, `rating` 0 to 5."""

    thumbnail_loc: str | None = None
    title: str | None = None
    description: str | None = None
    content_loc: str | None = None
    player_loc: PlayerLoc | None = None
    duration: int | None = None
    content_segment_loc: tuple[Segment, ...] = ()
    expiration_date: datetime | None = None
    expiration_date_precision: Precision | None = None
    publication_date: datetime | None = None
    publication_date_precision: Precision | None = None
    rating: float | None = None
    view_count: int | None = None
    family_friendly: bool | None = None
    tag: tuple[str, ...] = ()
    category: str | None = None
    restriction: Restriction | None = None
    platform: Restriction | None = None
    gallery_loc: GalleryLoc | None = None
    price: tuple[Price, ...] = ()
    requires_subscription: bool | None = None
    uploader: Uploader | None = None
    live: bool | None = None
    tvshow: TvShow | None = None
    id: tuple[VideoId, ...] = ()


@attrs.define
class Attribute:
    """An attribute of an Extra; `name` is `{namespace}name` where it has a namespace."""

    name: str
    value: str


@attrs.define
class Extra:
    """An element that no field of the record is for: mostly of a namespace that the protocol does not know.

    `text` is stripped, and stands before all elements inside, which come behind it as Extras of their own. Where more
    text stands between these, the outermost element has all that is inside.
    """

    namespace: str
    name: str
    text: str | None = None
    attributes: tuple[Attribute, ...] = ()

    def get(self, name: str) -> str | None:
        """The value of an attribute, None where there is none."""
        return next((attribute.value for attribute in self.attributes if attribute.name == name), None)


@attrs.define
class UrlRecord:
    """One URL as one document lists it.

    `lastmod` is aware, UTC, the start of the stated period; `lastmod_precision` says how much was stated.
    `changefreq` is lower case and one of the protocol's seven, `priority` between 0 and 1: anything else is None
    with a Problem. `sitemap` is the URL that was asked for of the listing document, `line` counts from 1.
    """

    loc: str
    lastmod: datetime | None = None
    lastmod_precision: Precision | None = None
    changefreq: ChangeFreq | None = None
    priority: float | None = None
    images: tuple[Image, ...] = ()
    videos: tuple[Video, ...] = ()
    news: News | None = None
    alternates: tuple[Alternate, ...] = ()
    mobile: bool = False
    extras: tuple[Extra, ...] = ()
    sitemap: str | None = None
    line: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def priority_or_default(self) -> float:
        """The priority, or the protocol's default of 0.5."""
        return 0.5 if self.priority is None else self.priority


@attrs.define
class SitemapRef:
    """A sitemap that an index or a robots.txt names.

    `authorities` are the URL prefixes that it may speak for because of who named it.
    """

    loc: str
    lastmod: datetime | None = None
    lastmod_precision: Precision | None = None
    sitemap: str | None = None
    line: int | None = None
    problems: tuple[Problem, ...] = ()
    authorities: tuple[str, ...] = ()


Why = Literal["robots", "well-known", "index", "given"]


@attrs.define
class Outcome:
    """What became of one document.

    `complete` is False exactly where an entry may be missing: cut, capped, lost in mending, refused, failed.
    `kept` and `dropped` (reason -> count) add up to the entries that had a usable URL.
    `problems` counts by code exactly; `samples` holds the first five of each. `sha256` is of the decoded bytes. With
    `not_modified` it was not read, as it is what it was in an earlier run. `authorities` are the URL prefixes that it
    spoke for besides its own directory, `lastmod` is what the index that listed it first says of it, and `skipped` how
    many of its own children were not asked for, as it states an older lastmod of them; the JSON line has none of these.
    """

    url: str | None = None
    final_url: str | None = None
    parents: list[str] = attrs.field(factory=list)
    why: Why = "given"
    format: str | None = None
    status: int | None = None
    bytes_wire: int = 0
    bytes_decoded: int = 0
    entries: int = 0
    kept: int = 0
    dropped: dict[str, int] = attrs.field(factory=dict)
    complete: bool = True
    etag: str | None = None
    last_modified: str | None = None
    not_modified: bool = False
    sha256: str | None = None
    seconds: float | None = None
    problems: dict[str, int] = attrs.field(factory=dict)
    samples: tuple[Problem, ...] = ()
    authorities: tuple[str, ...] = ()
    lastmod: datetime | None = None
    lastmod_precision: Precision | None = None
    skipped: int = 0


@attrs.define
class Candidate:
    """A place where a sitemap was looked for, and what was there."""

    url: str
    why: Why
    status: int | None = None
    format: str | None = None
    problem: str | None = None


@attrs.define
class Change:
    """What became of a URL between two looks at a site.

    `record` is what the site says now; of a removed URL it is what it said last: loc, lastmod, its precision,
    changefreq, priority and sitemap. Where it is updated, `changed` names the fields that differ, in the order of the
    record, and `previous_lastmod` with its precision is what was said before.
    """

    change: Literal["new", "updated", "removed"]
    record: UrlRecord
    changed: tuple[str, ...] = ()
    previous_lastmod: datetime | None = None
    previous_lastmod_precision: Precision | None = None


@attrs.define
class ChangeCounts:
    """Numbers of URLs by what became of them.

    `held_back`: no longer listed, but not reported as removed until accept_removals, as they are over half of the site.
    `unchanged` is None in a sync, which does not count them.
    """

    new: int = 0
    updated: int = 0
    removed: int = 0
    held_back: int = 0
    unchanged: int | None = None

    def __add__(self, other: ChangeCounts) -> ChangeCounts:
        counted = [count for count in (self.unchanged, other.unchanged) if count is not None]
        return ChangeCounts(
            self.new + other.new,
            self.updated + other.updated,
            self.removed + other.removed,
            self.held_back + other.held_back,
            sum(counted) if counted else None,
        )

    def __str__(self) -> str:
        """`3 new, 2 updated, 1 removed; 636 unchanged`."""
        text = f"{self.new:,} new, {self.updated:,} updated, {self.removed:,} removed"
        if self.held_back:
            text += f", {self.held_back:,} held back"
        return text if self.unchanged is None else f"{text}; {self.unchanged:,} unchanged"


Item = UrlRecord | SitemapRef | Problem | Outcome
