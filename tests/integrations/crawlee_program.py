"""A program for tests that kill it: python crawlee_program.py TARGET FOLDER MODE; prints each URL that it handled.

MODE: key persists its position every ten URLs, and then prints "kept"; state reads changes; tandem does, and feeds a
queue on disk; count only counts, and prints the memory used.
"""

import asyncio
import json
import logging
import resource
import sys
from pathlib import Path

from crawlee import service_locator
from crawlee.crawlers import BasicCrawler, BasicCrawlingContext
from crawlee.events import Event, EventPersistStateData
from crawlee_services import fresh

from sitemap_reader.integrations.crawlee import SitemapReaderLoader


async def alone(loader: SitemapReaderLoader) -> None:
    async with service_locator.get_event_manager() as events, loader:
        handled = 0
        while (request := await loader.fetch_next_request()) is not None:
            await loader.mark_request_as_handled(request)
            print(request.url, flush=True)
            handled += 1
            if handled % 10 == 0 and loader._key:
                events.emit(event=Event.PERSIST_STATE, event_data=EventPersistStateData(is_migrating=False))
                await events.wait_for_all_listeners_to_complete()
                print("kept", flush=True)


async def tandem(loader: SitemapReaderLoader) -> None:
    crawler = BasicCrawler(request_manager=await loader.to_tandem(), configure_logging=False)

    @crawler.router.default_handler
    async def handle(context: BasicCrawlingContext) -> None:
        print(context.request.url, flush=True)

    await crawler.run()
    await loader.close()


async def count(loader: SitemapReaderLoader) -> None:
    urls = 0
    async with loader:
        while (request := await loader.fetch_next_request()) is not None:
            urls += 1
            await loader.mark_request_as_handled(request)
    print(json.dumps({"urls": urls, "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


MODES = {"key": alone, "state": alone, "tandem": tandem, "count": count}


def main() -> None:
    target, folder, mode = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    folder.mkdir(exist_ok=True)
    logging.disable()
    fresh(folder / "storage")
    loader = SitemapReaderLoader(
        target,
        state=folder / "state.db" if mode in ("state", "tandem") else None,
        persist_state_key="sitemaps" if mode == "key" else None,
        max_buffer_size=12,
        allow_private=True,
    )
    asyncio.run(MODES[mode](loader))


if __name__ == "__main__":
    main()
