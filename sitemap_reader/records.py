"""The values that come out, and their JSON form.

Constructors do no work: what is in a record has been cleaned by read/normalise.py.
Absent is None (or empty), never a default.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import attrs
import orjson

from .problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

Precision = Literal["year", "month", "day", "minute", "second", "subsecond"]
# A tag with attributes: {"value": ..., "<attribute>": ...}, every key present.
Attributed = dict[str, "str | float | bool | None"]


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
    keywords: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    stock_tickers: tuple[str, ...] = ()
    access: str | None = None
    geo_targeting: str | None = None
    amp: str | None = None


@attrs.define
class Video:
    """A `video:video`, each tag under its own name; `duration` in seconds, `rating` 0 to 5."""

    thumbnail_loc: str | None = None
    title: str | None = None
    description: str | None = None
    content_loc: str | None = None
    player_loc: Attributed | None = None
    duration: int | None = None
    content_segment_loc: tuple[Attributed, ...] = ()
    expiration_date: datetime | None = None
    publication_date: datetime | None = None
    rating: float | None = None
    view_count: int | None = None
    family_friendly: bool | None = None
    tag: tuple[str, ...] = ()
    category: str | None = None
    restriction: Attributed | None = None
    platform: Attributed | None = None
    gallery_loc: Attributed | None = None
    price: tuple[Attributed, ...] = ()
    requires_subscription: bool | None = None
    uploader: Attributed | None = None
    live: bool | None = None
    tvshow: dict[str, str | int | datetime | None] | None = None


@attrs.define
class Extra:
    """An element of a namespace that the protocol does not know."""

    namespace: str
    name: str
    text: str
    attributes: dict[str, str]


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
    changefreq: str | None = None
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
    `problems` counts by code exactly; `samples` holds the first five of each. `sha256` is of the decoded bytes.
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


@attrs.define
class Candidate:
    """A place where a sitemap was looked for, and what was there."""

    url: str
    why: Why
    status: int | None = None
    format: str | None = None
    problem: str | None = None


Item = UrlRecord | SitemapRef | Problem | Outcome


# --- JSON form -------------------------------------------------------------------------------------------------


def stamp(moment: datetime | None) -> str | None:
    """`YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, trailing zeros trimmed; never a mixture of forms in one column.

    >>> from datetime import UTC
    >>> stamp(datetime(2024, 1, 31, 8, 30, 0, 250000, tzinfo=UTC))
    '2024-01-31T08:30:00.25Z'
    """
    if moment is None:
        return None
    text = moment.isoformat()[:-6]  # without +00:00
    return (text.rstrip("0") if moment.microsecond else text) + "Z"


def json_form(item: object, *, site: str | None = None) -> dict[str, Any]:
    """The item's JSON line as a dict: keys in the documented order, URL records without "type"."""
    form = _FORMS[type(item)](item)
    if site is not None:
        form["site"] = site
    return form


def json_line(item: object, *, site: str | None = None) -> bytes:
    """One JSONL line, newline included."""
    return orjson.dumps(json_form(item, site=site), option=orjson.OPT_APPEND_NEWLINE)


def _url_form(record: UrlRecord) -> dict[str, Any]:
    form: dict[str, Any] = {
        "loc": record.loc,
        "lastmod": stamp(record.lastmod),
        "lastmod_precision": record.lastmod_precision,
        "changefreq": record.changefreq,
        "priority": record.priority,
        "sitemap": record.sitemap,
        "line": record.line,
    }
    if record.images:
        form["images"] = [_plain(image) for image in record.images]
    if record.videos:
        form["videos"] = [_plain(video) for video in record.videos]
    if record.news:
        form["news"] = _plain(record.news)
    if record.alternates:
        form["alternates"] = [_plain(alternate) for alternate in record.alternates]
    if record.mobile:
        form["mobile"] = True
    if record.extras:
        form["extras"] = [_plain(extra) for extra in record.extras]
    if record.problems:
        form["problems"] = _short(record.problems)
    return form


def _ref_form(ref: SitemapRef) -> dict[str, Any]:
    form: dict[str, Any] = {
        "type": "sitemap",
        "loc": ref.loc,
        "lastmod": stamp(ref.lastmod),
        "lastmod_precision": ref.lastmod_precision,
        "sitemap": ref.sitemap,
        "line": ref.line,
    }
    if ref.problems:
        form["problems"] = _short(ref.problems)
    return form


def _short(problems: tuple[Problem, ...]) -> list[dict[str, Any]]:
    return [{"code": p.code, "field": p.field, "raw": p.raw} for p in problems]


def _plain(value: Any) -> Any:
    """Nested values: every key present, dates as stamps, tuples as lists."""
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if attrs.has(type(value)):
        return {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    return value


def _typed(kind: str, *leave_out: str) -> Callable[[Any], dict[str, Any]]:
    def form(value: Any) -> dict[str, Any]:
        fields = _plain(value)
        for name in leave_out:
            del fields[name]
        return {"type": kind, **fields}

    return form


_FORMS: dict[type, Callable[[Any], dict[str, Any]]] = {
    UrlRecord: _url_form,
    SitemapRef: _ref_form,
    Problem: _typed("problem"),
    Outcome: _typed("outcome", "samples"),
    Candidate: _typed("candidate"),
}
