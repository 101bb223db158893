from .charts import Chart as Chart
from .measure import Measure as Measure
from .snapshot import Snapshot as Snapshot
from .tables import Table as Table
