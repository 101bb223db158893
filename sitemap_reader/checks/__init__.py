"""The audit: what a crawl yields or a dump holds goes in, a Report of findings with explanations comes out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
