"""Reading the sitemaps of very many hosts: `sr.scale.harvest()` spreads them over workers, and `account()` sums up.

Needs the extra `dask`.
"""

from .harvest import harvest
from .progress import HarvestProgress
from .report import Harvest, SkippedHost, account

__all__ = ["Harvest", "HarvestProgress", "SkippedHost", "account", "harvest"]
