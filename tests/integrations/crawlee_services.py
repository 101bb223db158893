"""Crawlee for tests: sites, and new services as in another process.

Its storages, events and settings are globals; fresh() resets them, and keeps files on disk.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

from crawlee import service_locator
from crawlee.configuration import Configuration
from kit import gz, index, robots, urlset, xml

if TYPE_CHECKING:

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
            place.write_bytes(gz(_moved(gzip.decompress(source.read_bytes()), origin)))
        else:
            place.write_bytes(_moved(source.read_bytes(), origin))


def _moved(body: bytes, origin: str) -> bytes:
    return body.replace(b"https://shop.example", origin.encode())


def pages_of(origin: str, documents: int, urls: int) -> dict[str, Page]:
    """A site of so many documents with so many URLs each."""
    locs = {f"/map-{n}.xml": [f"{origin}/{n}-{page}" for page in range(urls)] for n in range(documents)}
    listed = xml(index(*(origin + path for path in locs)))
    maps = {path: xml(urlset(*some)) for path, some in locs.items()}
    return {"/robots.txt": (200, {}, robots(f"{origin}/index.xml")), "/index.xml": listed, **maps}


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
