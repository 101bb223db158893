"""The data: sizes come in; documents in files, and sites on loopback servers, go out, made on first use.

All of it is make_site()'s: the products of its shop are the plain document (four fields in every entry, dates in four
forms), and with extensions the rich one; the list and the feed are written from the plain document's entries.
"""

from __future__ import annotations

import html
import re
from contextlib import contextmanager
from datetime import datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Literal

import attrs

from sitemap_reader.testing import make_site

from .serving import free_port, serve, serve_late

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BASE = "https://shop.example"
PRODUCTS_SHARE = 0.6  # of the URLs of a shop
MAGAZINE_SHARE = 0.22
Extension = Literal["image", "video", "hreflang"]
_ENTRY = re.compile(rb"<loc>(.*?)</loc>\s*<lastmod>(.*?)</lastmod>")
_FEED = b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>Shop</title><link>https://shop.example/</link>\n'
_ITEM = b"<item>\n  <title>Product %d</title>\n  <link>%b</link>\n  <pubDate>%b</pubDate>\n</item>\n"


@attrs.frozen
class Sizes:
    """How much is measured. `entries` are those of a document that is parsed, and of a child."""

    entries: int
    urls: int  # of the site that is dumped
    memory_urls: tuple[int, ...]  # of the sites whose memory is compared, the smallest first
    late_children: int
    late_seconds: float


FULL = Sizes(50_000, 1_000_000, (100_000, 1_000_000, 5_000_000), 200, 0.1)
SHORT = Sizes(500, 10_000, (2_500, 10_000), 20, 0.02)


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
    """All data in one folder, which the caller removes."""

    folder: Path
    sizes: Sizes

    def document(self, kind: str) -> Document:
        """One of DOCUMENTS."""
        return DOCUMENTS[kind](self)

    def plain(self) -> Document:
        return self._section("plain", "products", PRODUCTS_SHARE, ())

    def rich(self) -> Document:
        return self._section("rich", "products", PRODUCTS_SHARE, ("image", "hreflang"))

    def video(self) -> Document:
        return self._section("video", "magazine", MAGAZINE_SHARE, ("image", "video"))

    def text(self) -> Document:
        lines = [html.unescape(loc.decode()) + "\n" for loc, _ in self._plain_entries()]
        return self._written("list.txt", "".join(lines).encode())

    def feed(self) -> Document:
        items = [_ITEM % (number, loc, _rfc_822(day)) for number, (loc, day) in enumerate(self._plain_entries())]
        return self._written("feed.rss", b"".join([_FEED, *items, b"</channel></rss>\n"]))

    @contextmanager
    def site(self, urls: int) -> Iterator[Served]:
        """A shop in gzipped children of at most the entries of a document, on the fastest server available."""
        with self._serve(f"site-{urls}", urls, self.sizes.entries, late_seconds=0) as served:
            yield served

    @contextmanager
    def single(self) -> Iterator[Served]:
        """The plain document, gzipped, is all that robots.txt names."""
        urls = round(self.sizes.entries / PRODUCTS_SHARE)
        with self._serve("single", urls, self.sizes.entries, late_seconds=0) as shop:
            child = next(each for each in shop.children if each.name == "products-1.xml.gz")
            sitemap = f"{shop.origin}/sitemaps/{child.name}"
            (self.folder / "single" / "robots.txt").write_text(f"Sitemap: {sitemap}\n")
            yield Served(shop.origin, sitemap, self.sizes.entries, (child,))

    @contextmanager
    def late_site(self) -> Iterator[Served]:
        """Many small children, every answer late."""
        sizes = self.sizes
        with self._serve("late", sizes.late_children * 100, 100, late_seconds=sizes.late_seconds) as served:
            yield served

    @contextmanager
    def _serve(self, name: str, urls: int, per_document: int, *, late_seconds: float) -> Iterator[Served]:
        # A site names its own port in every URL, so it is made anew for each server.
        port, root = free_port(), self.folder / name
        origin = f"http://127.0.0.1:{port}"
        make_site(root, base=origin, urls=urls, per_document=per_document, layout="www", truth=False)
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

    def _plain_entries(self) -> list[tuple[bytes, bytes]]:
        return _ENTRY.findall(self.plain().file.read_bytes())

    def _written(self, name: str, body: bytes) -> Document:
        file = self.folder / name
        file.write_bytes(body)
        return Document(file, f"{BASE}/{name}", self.sizes.entries)


DOCUMENTS = {
    "plain": Data.plain,
    "rich": Data.rich,
    "video": Data.video,
    "text": Data.text,
    "RSS": Data.feed,
}


def _rfc_822(date: bytes) -> bytes:
    return format_datetime(datetime.fromisoformat(date.decode())).encode()
