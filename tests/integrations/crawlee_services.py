"""Crawlee for tests: sites, and new services as in another process.

Its storages, events and settings are globals; fresh() resets them, and keeps files on disk.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from crawlee import service_locator
from crawlee.configuration import Configuration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlee import Request
    from servers import Page

    from sitemap_reader.integrations.crawlee import SitemapReaderLoader

SHOP = Path(__file__).parent.parent.parent / "corpus" / "sites" / "shop" / "https" / "shop.example"
XML = {"Content-Type": "application/xml"}


def fresh(storage: Path) -> None:
    """Resets the services, as in another process that uses the same storage on disk."""
    type(service_locator).global_storage_instance_manager = None
    service_locator.__init__(Configuration(storage_dir=str(storage), purge_on_start=False))  # type: ignore[misc]


def shop_at(origin: str, folder: Path) -> None:
    """The shop of the corpus on a server: its URLs are those of `origin`."""
    for source in SHOP.rglob("*"):
        place = folder / source.relative_to(SHOP)
        if source.is_dir() or source.suffix == ".headers":
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".gz":
            place.write_bytes(gzip.compress(_moved(gzip.decompress(source.read_bytes()), origin)))
        else:
            shutil.copyfile(source, place)
            place.write_bytes(_moved(source.read_bytes(), origin))


def _moved(body: bytes, origin: str) -> bytes:
    return body.replace(b"https://shop.example", origin.encode())


def urlset(entries: Iterable[tuple[str, str] | str]) -> bytes:
    """A sitemap of locs, or of (loc, lastmod)."""
    pairs = [(entry, "") if isinstance(entry, str) else entry for entry in entries]
    reported = "".join(
        f"<url><loc>{loc}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</url>\n" for loc, date in pairs
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{reported}</urlset>'.encode()


def index(children: Iterable[str]) -> bytes:
    reported = "".join(f"<sitemap><loc>{child}</loc></sitemap>\n" for child in children)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{reported}</sitemapindex>'.encode()


def pages_of(origin: str, documents: int, urls: int) -> dict[str, Page]:
    """A site of so many documents with so many URLs each."""
    names = [f"{origin}/map-{number}.xml" for number in range(documents)]
    pages: dict[str, Page] = {
        "/robots.txt": (200, {"Content-Type": "text/plain"}, f"Sitemap: {origin}/index.xml\n".encode()),
        "/index.xml": (200, XML, index(names)),
    }
    for number in range(documents):
        locs = [f"{origin}/{number}-{page}" for page in range(urls)]
        pages[f"/map-{number}.xml"] = (200, XML, urlset(locs))
    return pages


async def all_of(loader: SitemapReaderLoader) -> list[Request]:
    """Every request, each handled before the next one is fetched."""
    found = []
    async with loader:
        while (request := await loader.fetch_next_request()) is not None:
            found.append(request)
            await loader.mark_request_as_handled(request)
    return found


async def urls_of(loader: SitemapReaderLoader) -> list[str]:
    return [request.url for request in await all_of(loader)]
