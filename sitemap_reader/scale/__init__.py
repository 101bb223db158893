"""Reading the sitemaps of very many hosts: `sr.scale.harvest()` spreads them over workers, and `account()` sums up.

Needs the extra `dask`.
"""

from .harvest import harvest
from .progress import HarvestProgress
from .report import GivenUp, Harvest, account

__all__ = ["GivenUp", "Harvest", "HarvestProgress", "account", "harvest"]
