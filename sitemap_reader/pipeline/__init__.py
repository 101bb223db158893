"""Drives a frontier with a fetcher: requests are sent, bodies are parsed outside the event loop."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
