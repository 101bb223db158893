from .api import harvest as harvest
from .report import Harvest as Harvest
from .report import HarvestProgress as HarvestProgress
from .report import SkippedHost as SkippedHost
from .report import load_harvest as load_harvest
