from .client import AiohttpFetcher as AiohttpFetcher
from .client import Fetcher as Fetcher
from .client import Response as Response
from .client import guarded_connector as guarded_connector
from .replay import ReplayFetcher as ReplayFetcher
from .ssrf_guard import address_refusal as address_refusal
from .warc.fetcher import WarcFetcher as WarcFetcher
