from .collector import RobotsStatistics as RobotsStatistics
from .collector import Statistics as Statistics
from .facts import MAX_NAME_CHARS as MAX_NAME_CHARS
from .facts import MIN_INEXACT_SHARE as MIN_INEXACT_SHARE
from .facts import Fact as Fact
from .facts import TopCounts as TopCounts
