"""Types for annotations in other programs: keywords of each function, values that they take, and what functions return.

`def read(site: str, **options: Unpack[UrlsOptions])` passes its keywords on to urls(), and type checkers and editors
know them. Each name is that of the module where it is declared; nothing is declared here.
"""

from .checks.options import AuditOptions as AuditOptions
from .client.options import ChangesOptions as ChangesOptions
from .client.options import DiscoverOptions as DiscoverOptions
from .client.options import FilterOptions as FilterOptions
from .client.options import ItemOptions as ItemOptions
from .client.options import QueryOptions as QueryOptions
from .client.options import ReaderOptions as ReaderOptions
from .client.options import SessionOptions as SessionOptions
from .client.options import SnapshotOptions as SnapshotOptions
from .client.options import StateSyncOptions as StateSyncOptions
from .client.options import StreamChangesOptions as StreamChangesOptions
from .client.options import StreamUrlsOptions as StreamUrlsOptions
from .client.options import UrlsOptions as UrlsOptions
from .client.streams import AsyncChangeStream as AsyncChangeStream
from .client.streams import ChangeStream as ChangeStream
from .client.summary import Progress as Progress
from .client.targets import Target as Target
from .fetch.proxies import ProxyOf as ProxyOf
from .frontier.plan import Moment as Moment
from .frontier.plan import Pattern as Pattern
from .model.options import Ack as Ack
from .model.options import AutoMode as AutoMode
from .model.options import On as On
from .model.options import ScopeMode as ScopeMode
from .model.options import Undated as Undated
from .model.problems import Kind as Kind
from .model.problems import Severity as Severity
from .model.records import ChangeFreq as ChangeFreq
from .model.records import Item as Item
from .model.records import Precision as Precision
from .model.records import Why as Why
from .parser.dialects.feed_fallback import FeedFallback as FeedFallback
from .scale.options import HarvestOptions as HarvestOptions
from .watching.options import ReaderWatchOptions as ReaderWatchOptions
from .watching.options import WatchOptions as WatchOptions
