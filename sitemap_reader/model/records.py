"""The records that the package returns, and EXTENSIONS: which XML namespaces fill which of their fields.

The annotations are read at run time: parser/dialects/extensions.py derives from them how each tag is read,
serialize/jsonl.py the JSON keys, serialize/schema.py the types of columns. To add an extension, add its class, a field
of UrlRecord, and a row of EXTENSIONS. Constructors do no work: values have been cleaned by parser/normalise/. A value
that a document does not state is None or empty, never a default of the protocol.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

import attrs

from .problems import Problem

ChangeFreq = Literal["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"]
Precision = Literal["year", "month", "day", "minute", "second", "subsecond"]


@attrs.frozen
class Max:
    """The largest number that a tag may state; a larger one is a problem (V05), and no value."""

    value: int


# How the text of a tag is read where its type alone does not say so.
Url = Annotated[str, "url"]
CommaSeparated = Annotated[tuple[str, ...], "comma-separated"]
Seconds = Annotated[int, Max(28_800)]
Rating = Annotated[float, Max(5)]


# Extensions: a class for each element, a field for each of its tags. A datetime has a second field for its precision. A
# TypedDict with "value" is a tag with attributes (its text is the value), one without is a tag that holds tags: every
# key is present.


class PlayerLoc(TypedDict):
    """A `video:player_loc`."""

    value: Url | None
    allow_embed: bool | None
    autoplay: str | None


class Segment(TypedDict):
    """A `video:content_segment_loc`; `duration` in seconds."""

    value: Url | None
    duration: Seconds | None


class Restriction(TypedDict):
    """A `video:restriction` (countries) or `video:platform`: names separated by blanks; `relationship`: allow, deny."""

    value: str | None
    relationship: str | None


class GalleryLoc(TypedDict):
    """A `video:gallery_loc`."""

    value: Url | None
    title: str | None


class Price(TypedDict):
    """A `video:price`; `currency` is an ISO 4217 code, `type` rent or own, `resolution` HD or SD."""

    value: float | None
    currency: str | None
    type: str | None
    resolution: str | None


class Uploader(TypedDict):
    """A `video:uploader`: its name, and `info`, the URL of a page about it."""

    value: str | None
    info: Url | None


class VideoId(TypedDict):
    """A `video:id`; `type` is the identifier's source, such as `tms:series`."""

    value: str | None
    type: str | None


@attrs.define
class Image:
    """An `image:image` (or a Media RSS image). `loc` is absolute and canonical."""

    loc: Url
    title: str | None = None
    caption: str | None = None
    geo_location: str | None = None
    license: Url | None = None


@attrs.define
class Alternate:
    """An `xhtml:link rel="alternate"`; `hreflang` as written, None where there is none."""

    hreflang: str | None
    href: str
    media: str | None = None


@attrs.define
class News:
    """A `news:news`; `name` and `language` are those of its `news:publication`."""

    name: str | None = None
    language: str | None = None
    title: str | None = None
    publication_date: datetime | None = None
    publication_date_precision: Precision | None = None
    keywords: CommaSeparated = ()
    genres: CommaSeparated = ()
    stock_tickers: CommaSeparated = ()
    access: str | None = None
    geo_targeting: str | None = None
    amp: str | None = None


class TvShow(TypedDict):
    """A `video:tvshow`."""

    show_title: str | None
    video_type: str | None
    episode_title: str | None
    season_number: int | None
    episode_number: int | None
    premier_date: datetime | None
    premier_date_precision: Precision | None


@attrs.define
class Video:
    """A `video:video`: a field for each tag; `duration` in seconds, `rating` 0 to 5."""

    thumbnail_loc: Url | None = None
    title: str | None = None
    description: str | None = None
    content_loc: Url | None = None
    player_loc: PlayerLoc | None = None
    duration: Seconds | None = None
    content_segment_loc: tuple[Segment, ...] = ()
    expiration_date: datetime | None = None
    expiration_date_precision: Precision | None = None
    publication_date: datetime | None = None
    publication_date_precision: Precision | None = None
    rating: Rating | None = None
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
    """An element for which the record has no field, mostly of a namespace that is not in EXTENSIONS.

    `text` is the stripped text before the first child; children follow as Extras of their own. Where there is text
    between or behind children, the outermost such element has all the text inside it.
    """

    namespace: str
    name: str
    text: str | None = None
    attributes: tuple[Attribute, ...] = ()

    def get(self, name: str) -> str | None:
        """The value of an attribute; None where there is none."""
        return next((attribute.value for attribute in self.attributes if attribute.name == name), None)


@attrs.frozen
class Extension:
    """An element of an entry that fills a field of UrlRecord, and the XML namespace of its tags.

    `tag` is written with the prefix that its schema uses; a document may use any other. Namespaces are written without
    their `http://`. `also` are those of older versions and of another engine, which are read like the first; `mistaken`
    ones, which generators write, are read with a problem (S02). A tag of a closed schema that is neither here nor in
    the class is a problem (S10). A void element has no content. `state_code` is the digit of the field in a state file:
    it is never changed or used again.
    """

    tag: str
    namespace: str
    state_code: int
    also: tuple[str, ...] = ()
    mistaken: tuple[str, ...] = ()
    is_closed: bool = True
    is_void: bool = False

    @property
    def prefix(self) -> str:
        """`image` of `image:image`."""
        return self.tag.partition(":")[0]

    @property
    def name(self) -> str:
        """`link` of `xhtml:link`."""
        return self.tag.partition(":")[2]


# Field of UrlRecord -> its extension, in the order of the fields. Sources: Google's schemas.
EXTENSIONS: dict[str, Extension] = {
    "images": Extension(
        "image:image",
        "www.google.com/schemas/sitemap-image/1.1",
        state_code=1,
        mistaken=("www.sitemaps.org/schemas/sitemap-image/1.1",),
    ),
    "videos": Extension(
        "video:video",
        "www.google.com/schemas/sitemap-video/1.1",
        state_code=2,
        mistaken=("www.sitemaps.org/schemas/sitemap-video/1.1",),
    ),
    "news": Extension(
        "news:news",
        "www.google.com/schemas/sitemap-news/0.9",
        state_code=0,
        also=("www.google.com/schemas/sitemap-news/0.84",),
        mistaken=("www.sitemaps.org/schemas/sitemap-news/0.9",),
    ),
    "alternates": Extension(
        "xhtml:link",
        "www.w3.org/1999/xhtml",
        state_code=3,
        mistaken=("www.w3.org/TR/xhtml11/xhtml11_schema.html",),
        is_closed=False,
        is_void=True,
    ),
    "mobile": Extension(
        "mobile:mobile",
        "www.google.com/schemas/sitemap-mobile/1.0",
        state_code=4,
        also=("www.baidu.com/schemas/sitemap-mobile/1/",),
        mistaken=("www.sitemaps.org/schemas/sitemap-mobile/1.0",),
        is_void=True,
    ),
}
EXTRAS_STATE_CODE = 5  # the digit of UrlRecord.extras


@attrs.define
class UrlRecord:
    """One URL as one document lists it.

    `lastmod` is aware, in UTC, the start of the stated period; `lastmod_precision` is how much of it was stated.
    `changefreq` is lower case and one of the protocol's seven, `priority` between 0 and 1: anything else is None
    with a Problem. From `images` to `mobile` the fields are those of EXTENSIONS. `sitemap` is the URL under which the
    listing document was requested, `line` counts from 1.
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


# The values of the fields of EXTENSIONS where an entry has none of their elements.
NO_EXTENSIONS: tuple[Any, ...] = tuple(getattr(attrs.fields(UrlRecord), name).default for name in EXTENSIONS)


@attrs.define
class SitemapRef:
    """A sitemap that an index or a robots.txt lists.

    `authorities` are the URL prefixes that its scope gains from the documents that list it (cross-submission).
    """

    loc: str
    lastmod: datetime | None = None
    lastmod_precision: Precision | None = None
    sitemap: str | None = None
    line: int | None = None
    problems: tuple[Problem, ...] = ()
    authorities: tuple[str, ...] = ()


Why = Literal["robots", "link", "well-known", "index", "given"]
# Found by a guess, where robots.txt gives no sitemap: what is none there is not reported.
PROBED: frozenset[Why] = frozenset({"link", "well-known"})


@attrs.define
class Outcome:
    """The result of reading one document.

    `complete` is False exactly where an entry may be missing: cut, capped, lost in a repair, refused, failed.
    `kept` and `dropped` (reason -> count) add up to the entries that had a usable URL.
    `problems` counts by code exactly; `samples` holds the first five of each. `sha256` is of the decoded bytes. With
    `not_modified` it was not read, as it has not changed since an earlier run. `tries` is how many requests it took,
    without redirects: 0 where none was made, 2 or more after retries, which alone the JSON line states. `authorities`
    are the URL prefixes of its scope besides its own directory, `lastmod` is the one that the first index to list it
    states for it, and `skipped` how many of its own children were not requested because of an older lastmod; the JSON
    line has none of these three.
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
    tries: int = 1
    samples: tuple[Problem, ...] = ()
    authorities: tuple[str, ...] = ()
    lastmod: datetime | None = None
    lastmod_precision: Precision | None = None
    skipped: int = 0


@attrs.define
class Candidate:
    """A URL at which a sitemap was looked for, and what was found there."""

    url: str
    why: Why
    status: int | None = None
    format: str | None = None
    problem: str | None = None


@attrs.define
class Change:
    """A URL that is new, updated or removed between two runs.

    `record` is what the site states now; of a removed URL it is what it stated last: loc, lastmod, its precision,
    changefreq, priority and sitemap. Of an updated one, `changed` names the fields that differ, in the order of the
    record, and `previous_lastmod` with its precision is the one stated before.
    """

    change: Literal["new", "updated", "removed"]
    record: UrlRecord
    changed: tuple[str, ...] = ()
    previous_lastmod: datetime | None = None
    previous_lastmod_precision: Precision | None = None


@attrs.define
class RemovedPage:
    """What a removed URL answers now.

    `result` is "listed" where it redirects to a page that is listed now, "start page" or "elsewhere" where to another
    one, "broken" where to an error or in a loop; "error" for a status of an error, "found" for a page, and "unknown"
    where it was not requested or has not answered: then `failure` says why. `final_url` and `final_status` are those at
    the end of the redirects; `final_listed`: that page is listed now.
    """

    result: str
    status: int | None = None
    redirect_url: str | None = None
    final_url: str | None = None
    final_status: int | None = None
    final_listed: bool = False
    failure: str | None = None


@attrs.define
class WatchedChange(Change):
    """A Change that a watch has found: its number, when that was (UTC), and the site as it was given to the watch.

    With `first_reading` the URL is new to the watch, but perhaps not to the site: its document was read for the first
    time, before all documents of the site had been read once.

    Numbers are those of one state, without gaps; json_line() writes the line that `watch` writes, and from_json()
    reads it back.
    """

    seq: int = 0
    at: datetime | None = None
    site: str = ""
    first_reading: bool = False


@attrs.define
class ChangeCounts:
    """Numbers of URLs by what became of them.

    `held_back`: no longer listed, but not reported as removed until a run 24 hours later or accept_removals, as they
    are most of a site, or all of a sitemap.
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
