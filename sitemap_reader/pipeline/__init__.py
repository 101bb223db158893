"""Drives a frontier with a fetcher: requests are sent, bodies are parsed outside the event loop.

Seeds go in; batches of URL records, sitemap links, problems and outcomes come out. Also runs feedparser in a child
process. Imports model, serialize, parser, frontier and fetch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
