"""Converts records to and from JSON lines, CSV, Arrow and Parquet; declares their schema; reads dump files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
