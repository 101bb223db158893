"""Reads the sitemaps of very many hosts on a Dask cluster (extra `dask`) into a folder of Parquet files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
