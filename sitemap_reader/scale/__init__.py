"""Reads the sitemaps of very many hosts on a Dask cluster (extra `dask`).

In: a list of hosts. Out: a folder of Parquet files, summed up by a Harvest. Imports client/ and the layers below it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
