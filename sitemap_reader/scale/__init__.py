"""Reads the sitemaps of very many hosts on a Dask cluster (extra `dask`).

In: a list of hosts. Out: a folder of Parquet files, summed up by a Harvest. Imports client/ and the layers below it.
"""

from .harvest import harvest
from .report import Harvest, HarvestProgress, SkippedHost, load_harvest

__all__ = ["Harvest", "HarvestProgress", "SkippedHost", "harvest", "load_harvest"]
