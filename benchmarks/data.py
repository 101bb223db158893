"""The data: sizes come in; documents in files, and sites on loopback servers, go out, made on first use.

Sites are make_site()'s, and those of site_shapes.py. The products of that shop are the plain document (four fields in
every entry, dates in four forms), and with extensions the rich one; the list, the feeds and the damaged documents are
made from the plain one.
"""

from __future__ import annotations

import html
import re
from contextlib import contextmanager
from datetime import datetime
from email.utils import format_datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import attrs
from generated import make_site

from .serving import free_port, serve, serve_late
from .site_shapes import SHAPES, write_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager, ExitStack
    from pathlib import Path

BASE = "https://shop.example"
PRODUCTS_SHARE = 0.6  # of the URLs of a shop
MAGAZINE_SHARE = 0.22
Extension = Literal["image", "video", "hreflang"]
_ENTRY = re.compile(r"<loc>(.*?)</loc>\s*<lastmod>(.*?)</lastmod>")
_FEEDS = {
    "RSS": (
        b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>Shop</title><link>https://shop.example/</link>\n',
        "<item>\n  <title>Product %d</title>\n  <link>%s</link>\n  <pubDate>%s</pubDate>\n</item>\n",
        b"</channel></rss>\n",
    ),
    "Atom": (
        b'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>Shop</title>\n',
        "<entry>\n  <title>Product %d</title>\n"
        '  <link rel="alternate" href="%s"/>\n  <updated>%s</updated>\n</entry>\n',
        b"</feed>\n",
    ),
}
_VIDEO_NAMESPACE = "http://www.google.com/schemas/sitemap-video/1.1"
_VIDEO = """  <url>
    <loc>https://shop.example/watch/{0}</loc>
    <video:video>
      <video:thumbnail_loc>https://shop.example/thumbs/{0}.jpg</video:thumbnail_loc>
      <video:title>Grilling steaks, part {0}</video:title>
      <video:description>Alkis shows how to get perfectly done steaks &amp; more every time</video:description>
      <video:content_loc>https://streams.example.com/{0}.mp4</video:content_loc>
      <video:player_loc allow_embed="yes" autoplay="ap=1">https://example.com/player?video={0}</video:player_loc>
      <video:duration>600</video:duration>
      <video:content_segment_loc duration="300">https://streams.example.com/{0}/1.mp4</video:content_segment_loc>
      <video:content_segment_loc duration="300">https://streams.example.com/{0}/2.mp4</video:content_segment_loc>
      <video:expiration_date>2027-10-{1:02}T19:20:30+08:00</video:expiration_date>
      <video:publication_date>2026-10-{1:02}T19:20:30+08:00</video:publication_date>
      <video:rating>4.2</video:rating>
      <video:view_count>12345</video:view_count>
      <video:family_friendly>yes</video:family_friendly>
      <video:tag>steak</video:tag>
      <video:tag>meat</video:tag>
      <video:tag>summer</video:tag>
      <video:category>Grilling</video:category>
      <video:restriction relationship="allow">IE GB US CA</video:restriction>
      <video:platform relationship="allow">web mobile</video:platform>
      <video:gallery_loc title="Cooking videos">https://example.com/cooking</video:gallery_loc>
      <video:price currency="EUR" type="rent" resolution="hd">1.99</video:price>
      <video:price currency="EUR" type="own">6.99</video:price>
      <video:requires_subscription>no</video:requires_subscription>
      <video:uploader info="https://example.com/users/grilly">GrillyMcGrillerson</video:uploader>
      <video:live>no</video:live>
      <video:tvshow>
        <video:show_title>Summer in the garden</video:show_title>
        <video:video_type>full</video:video_type>
        <video:episode_title>Steaks</video:episode_title>
        <video:season_number>2</video:season_number>
        <video:episode_number>7</video:episode_number>
        <video:premier_date>2026-10-{1:02}</video:premier_date>
      </video:tvshow>
      <video:id type="tms:series">{0}</video:id>
    </video:video>
  </url>
"""
# Name -> every how many-th entry is damaged, and what is written there in place of what.
FAULTS = {
    "a raw & in every tenth entry": (10, b"</loc>", b"?a=1&b=2</loc>"),
    "a raw & in every entry": (1, b"</loc>", b"?a=1&b=2</loc>"),
    "an unclosed lastmod in every tenth": (10, b"</lastmod>", b""),
    "an unclosed lastmod in every entry": (1, b"</lastmod>", b""),
    "a misspelled end tag in every tenth": (10, b"</loc>", b"</lok>"),
    "a prefix without a declaration in all": (1, b"</loc>", b"</loc><image:image/>"),
}


@attrs.frozen
class Sizes:
    """How much is measured. `entries` are those of a document that is parsed, and of a child."""

    entries: int
    urls: int  # of the sites that peers dump
    shape_urls: int
    memory_urls: int  # of a site whose dump is compared with that of a tenth of it
    sitemaps: int  # of an index; with robots.txt and itself at most 100,000 documents, the limit of a site
    late_children: int
    late_seconds: float
    parse_seconds: float  # for readings of a document by one process


FULL = Sizes(50_000, 1_000_000, 200_000, 500_000, 99_998, 200, 0.1, 1.0)
SHORT = Sizes(500, 10_000, 2_000, 5_000, 1_000, 20, 0.02, 0.05)


@attrs.frozen
class Document:
    """A file, its URL, and its number of entries."""

    file: Path
    url: str
    entries: int


@attrs.frozen
class Served:
    """A site on loopback: its origin, the sitemap that robots.txt names, and its size."""

    origin: str
    sitemap: str
    urls: int
    children: tuple[Path, ...]


@attrs.frozen
class Data:
    """All data in one folder, which the caller removes; the servers end with the stack."""

    folder: Path
    sizes: Sizes
    servers: ExitStack

    def plain(self) -> Document:
        return self._section("plain", "products", PRODUCTS_SHARE, ())

    def rich(self) -> Document:
        return self._section("rich", "products", PRODUCTS_SHARE, ("image", "hreflang"))

    def video(self) -> Document:
        return self._section("video", "magazine", MAGAZINE_SHARE, ("image", "video"))

    def all_video_tags(self) -> Document:
        entries = self.sizes.entries // 5  # each is as long as some ten others
        head = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:video="{_VIDEO_NAMESPACE}">\n'
        parts = [head, *(_VIDEO.format(number, 1 + number % 28) for number in range(entries)), "</urlset>\n"]
        return self._written("all-video-tags.xml", "".join(parts).encode(), entries)

    def text(self) -> Document:
        return self._written("list.txt", "".join(html.unescape(loc) + "\n" for loc, _ in self._entries()).encode())

    def feed(self, kind: str) -> Document:
        head, item, tail = _FEEDS[kind]
        dates: dict[str, Callable[[str], str]] = {
            "RSS": lambda date: format_datetime(datetime.fromisoformat(date)),
            "Atom": str,
        }
        items = [item % (number, loc, dates[kind](date)) for number, (loc, date) in enumerate(self._entries())]
        return self._written(f"feed.{kind}", head + "".join(items).encode() + tail)

    def damaged(self, fault: str) -> Document:
        nth, written, instead = FAULTS[fault]
        parts = self.plain().file.read_bytes().split(b"<url>")
        parts[1::nth] = [part.replace(written, instead) for part in parts[1::nth]]
        return self._written("damaged.xml", b"<url>".join(parts))

    @cache  # noqa: B019 - it lives as long as the program
    def site(self) -> Served:
        """A shop in gzipped children of at most the entries of a document, on the fastest server available."""
        return self.servers.enter_context(self._shop("site", self.sizes.urls, self.sizes.entries))

    @cache  # noqa: B019 - it lives as long as the program
    def late_site(self) -> Served:
        """Many small children, every answer late."""
        urls, seconds = self.sizes.late_children * 100, self.sizes.late_seconds
        return self.servers.enter_context(self._shop("late", urls, 100, seconds))

    @cache  # noqa: B019 - it lives as long as the program
    def one_url(self) -> Served:
        """What a command takes for it is its start."""
        return self.servers.enter_context(self.shaped("plain", 1))

    def shaped(self, shape: str, urls: int) -> AbstractContextManager[Served]:
        """A site of one of the SHAPES, served for a while."""
        return self._serve(f"{shape}-{urls}", urls, partial(write_site, shape=SHAPES[shape]))

    def many_sitemaps(self) -> AbstractContextManager[Served]:
        """An index of sitemaps with one URL each."""
        shape = attrs.evolve(SHAPES["plain"], per_document=1)
        return self._serve("many", self.sizes.sitemaps, partial(write_site, shape=shape))

    def _shop(self, name: str, urls: int, per_document: int, late_seconds: float = 0) -> AbstractContextManager[Served]:
        write = partial(make_site, per_document=per_document, layout="www", truth=False)
        return self._serve(name, urls, write, late_seconds)

    @contextmanager
    def _serve(self, name: str, urls: int, write: Callable[..., object], late_seconds: float = 0) -> Iterator[Served]:
        # A site names its own port in every URL, so it is made anew for each server.
        port, root = free_port(), self.folder / name
        origin = f"http://127.0.0.1:{port}"
        write(root, base=origin, urls=urls)
        children = tuple(sorted((root / "sitemaps").iterdir()))
        work = self.folder / f"nginx-{port}"
        with serve_late(root, port, late_seconds) if late_seconds else serve(root, port, work):
            yield Served(origin, f"{origin}/sitemap_index.xml", urls, children)

    def _section(self, name: str, section: str, share: float, extensions: tuple[Extension, ...]) -> Document:
        root, entries = self.folder / name, self.sizes.entries
        if not root.exists():
            urls = round(entries / share) + 100  # the last of a section may be short of its translations
            make_site(
                root, base=BASE, urls=urls, per_document=entries, extensions=extensions,
                gzip=False, layout="www", truth=False,
            )  # fmt: skip
        return Document(root / "sitemaps" / f"{section}-1.xml", f"{BASE}/sitemap.xml", entries)

    def _entries(self) -> list[tuple[str, str]]:
        return _ENTRY.findall(self.plain().file.read_text())

    def _written(self, name: str, body: bytes, entries: int | None = None) -> Document:
        file = self.folder / name
        file.write_bytes(body)
        return Document(file, f"{BASE}/{name}", entries or self.sizes.entries)


DOCUMENTS: dict[str, Callable[[Data], Document]] = {
    "plain": Data.plain,
    "rich": Data.rich,
    "video": Data.video,
    "video, all tags": Data.all_video_tags,
    "text": Data.text,
    "RSS": partial(Data.feed, kind="RSS"),
    "Atom": partial(Data.feed, kind="Atom"),
}
