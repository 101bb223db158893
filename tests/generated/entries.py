"""Entries in; XML, and the JSON lines that a reader should make of it, out. Both are written from the same
values: no parser takes part, so that one can be compared with the other.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from gzip import GzipFile
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast
from xml.sax.saxutils import escape, quoteattr

import attrs
import orjson

from sitemap_reader import Image, News, Video

NAMESPACES = {
    "image": ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"',
    "video": ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"',
    "news": ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"',
    "hreflang": ' xmlns:xhtml="http://www.w3.org/1999/xhtml"',
}
CORE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
BATCH = 500  # entries written at once


@attrs.define
class Date:
    """A date as written in the document, and as a correct reader interprets it."""

    written: str
    stamp: str
    precision: str


@attrs.define
class Entry:
    """One `<url>`: the source of its XML and of its truth. `loc` is canonical; no value is escaped."""

    loc: str
    lastmod: Date | None = None
    changefreq: str | None = None
    priority: str | None = None
    images: list[dict[str, Any]] = attrs.field(factory=list)
    videos: list[dict[str, Any]] = attrs.field(factory=list)
    news: dict[str, Any] | None = None
    alternates: dict[str, str] = attrs.field(factory=dict)


@contextmanager
def open_document(path: Path) -> Iterator[IO[bytes]]:
    """A file opened for writing; one named .gz is compressed, without time and name in its header."""
    with path.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        with GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)  # a GzipFile lacks what only text files use


def write_urlset(
    document: IO[bytes],
    truth: IO[bytes] | None,
    entries: Iterable[Entry],
    *,
    sitemap: str,
    extensions: Collection[str] = (),
) -> str | None:
    """Write a whole `<urlset>`, and a truth line for each entry; returns the newest lastmod as a stamp."""
    opening = f"{DECLARATION}\n<urlset {CORE}{''.join(NAMESPACES[name] for name in extensions)}>\n"
    document.write(opening.encode())
    line = opening.count("\n") + 1
    newest = ""
    entries = iter(entries)
    while batch := list(islice(entries, BATCH)):
        blocks = []
        lines = []
        for entry in batch:
            blocks.append(block := entry_xml(entry))
            if truth is not None:
                lines.append(truth_line(entry, sitemap=sitemap, line=line))
            line += block.count("\n")
            if entry.lastmod is not None:
                newest = max(newest, entry.lastmod.stamp[:-1])  # without Z, ":12" is before ":12.25"
        document.write("".join(blocks).encode())
        if truth is not None:
            truth.write(b"".join(lines))
    document.write(b"</urlset>\n")
    return f"{newest}Z" if newest else None


def index_xml(children: Iterable[tuple[str, str | None]]) -> bytes:
    """A `<sitemapindex>` of (URL, lastmod as written or None)."""
    blocks = [
        f"<sitemap>\n  <loc>{escape(loc)}</loc>\n{_tag('lastmod', lastmod)}</sitemap>\n" for loc, lastmod in children
    ]
    return f"{DECLARATION}\n<sitemapindex {CORE}>\n{''.join(blocks)}</sitemapindex>\n".encode()


def entry_xml(entry: Entry) -> str:
    """The lines of one `<url>`, the last one ended."""
    date = entry.lastmod
    loc = entry.loc.replace("&", "&amp;")  # escape() would look for < and >, which no URL holds
    block = f"<url>\n  <loc>{loc}</loc>\n"
    if date is not None:
        block += f"  <lastmod>{date.written}</lastmod>\n"
    if entry.changefreq is not None:
        block += f"  <changefreq>{entry.changefreq}</changefreq>\n"
    if entry.priority is not None:
        block += f"  <priority>{entry.priority}</priority>\n"
    for image in entry.images:
        block += _tag("image:image", image)
    for video in entry.videos:
        block += _tag("video:video", video)
    if entry.news is not None:
        block += _news_xml(entry.news)
    for hreflang, href in entry.alternates.items():
        href = quoteattr(href)
        block += f'  <xhtml:link rel="alternate" hreflang="{hreflang}" href={href}/>\n'
    return block + "</url>\n"


def truth_line(entry: Entry, *, sitemap: str, line: int) -> bytes:
    """The JSON line that a reader should give for the entry."""
    date = entry.lastmod
    json_object: dict[str, Any] = {
        "loc": entry.loc,
        "lastmod": date and date.stamp,
        "lastmod_precision": date and date.precision,
        "changefreq": entry.changefreq,
        "priority": entry.priority and float(entry.priority),
        "sitemap": sitemap,
        "line": line,
    }
    if entry.images:
        json_object["images"] = [_nested(Image, image) for image in entry.images]
    if entry.videos:
        json_object["videos"] = [_nested(Video, video) for video in entry.videos]
    if entry.news is not None:
        json_object["news"] = _nested(News, entry.news)
    if entry.alternates:
        json_object["alternates"] = [{"hreflang": k, "href": v, "media": None} for k, v in entry.alternates.items()]
    return orjson.dumps(json_object, option=orjson.OPT_APPEND_NEWLINE)


# Inside nested objects every key is present, in the order of the class.
BLANK: dict[type, dict[str, Any]] = {
    kind: {field.name: [] if field.default == () else None for field in attrs.fields(kind)}
    for kind in (Image, Video, News)
}


def _nested(kind: type, value: dict[str, Any]) -> dict[str, Any]:
    """Dates in nested objects are written to the second."""
    precisions = {f"{name}_precision": "second" for name in value if name.endswith("_date")}
    return {**BLANK[kind], **value, **precisions}


def _tag(name: str, value: object) -> str:
    """The lines of a value: a dict is tags in a tag, a list one tag each, a bool yes or no, None nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(_tag(name, each) for each in value)
    if isinstance(value, dict):
        prefix = name.partition(":")[0]
        inside = "".join(_tag(f"{prefix}:{key}", each) for key, each in value.items())
        return f"  <{name}>\n{inside}  </{name}>\n"
    text = ("no", "yes")[value] if isinstance(value, bool) else escape(str(value))
    return f"  <{name}>{text}</{name}>\n"


def _news_xml(news: dict[str, Any]) -> str:
    """The publication is nested in the document and flat in the record; lists are joined with commas."""
    publication = {key: news[key] for key in ("name", "language")}
    rest = {key: value for key, value in news.items() if key not in publication}
    joined = {key: ", ".join(value) if isinstance(value, list) else value for key, value in rest.items()}
    return _tag("news:news", {"publication": publication, **joined})


# --- dates: how a moment (naive, UTC) is written ----------------------------------------------------------


def _offset(moment: datetime) -> Date:
    written = (moment + timedelta(hours=2)).isoformat()
    return Date(f"{written}+02:00", f"{moment.isoformat()}Z", "second")


DATE_FORMS: dict[str, Callable[[datetime], Date]] = {
    "year": lambda m: Date(f"{m:%Y}", f"{m:%Y}-01-01T00:00:00Z", "year"),
    "month": lambda m: Date(f"{m:%Y-%m}", f"{m:%Y-%m}-01T00:00:00Z", "month"),
    "day": lambda m: Date(m.isoformat()[:10], f"{m.isoformat()[:10]}T00:00:00Z", "day"),
    "minute": lambda m: Date(f"{m.isoformat()[:16]}Z", f"{m.isoformat()[:16]}:00Z", "minute"),
    "second": lambda m: Date(text := f"{m.isoformat()}Z", text, "second"),
    "offset": _offset,
    "subsecond": lambda m: Date(f"{m.isoformat()}.250Z", f"{m.isoformat()}.25Z", "subsecond"),
}
