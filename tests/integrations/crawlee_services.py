"""Crawlee for tests: sites, and new services as in another process.

Its storages, events and settings are globals; fresh() resets them, and keeps files on disk.
"""

from pathlib import Path

from crawlee import Request, service_locator
from crawlee.configuration import Configuration

from sitemap_reader.integrations.crawlee import SitemapReaderLoader


def fresh(storage: Path) -> None:
    """Resets the services, as in another process that uses the same storage on disk."""
    type(service_locator).global_storage_instance_manager = None
    service_locator.__init__(Configuration(storage_dir=str(storage), purge_on_start=False))  # type: ignore[misc]


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
