"""What a running watch reports of itself: its sites, totals, counters and health; as JSON for the server."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING, Any, Literal, get_args

import attrs

from ..model.errors import UsageError, masked, printable
from ..serialize.jsonl import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

SiteOrder = Literal["site", "next_visit", "last_visit", "last_change", "changes", "faults"]
ORDERS: tuple[SiteOrder, ...] = get_args(SiteOrder)
MAX_SITES = 1_000  # of one answer


@attrs.frozen
class Fault:
    """A problem of the last visit."""

    code: str
    message: str


@attrs.frozen
class SiteStatus:
    """One watched site; times are in UTC."""

    site: str
    documents: int = 0
    urls: int = 0
    next_visit: datetime | None = None
    last_visit: datetime | None = None
    last_change: datetime | None = None
    new: int = 0  # of the last 24 hours, as the next four
    updated: int = 0
    removed: int = 0
    first_reading: int = 0  # URLs of documents that were read for the first time, as in WatchedChange; none is in `new`
    requests: int = 0
    failing_since: datetime | None = None  # when the visits began to fail
    backoff_until: datetime | None = None  # no request before
    visiting_since: datetime | None = None  # None: no visit is under way
    pings_held_until: datetime | None = None  # when the next ping brings a visit, if not at once
    pings_held_because: str | None = None
    faults: tuple[Fault, ...] = ()  # newest first, and few


@attrs.frozen
class SiteQuery:
    """Which sites to report: `limit` of them from `offset` on, of those whose name has `contains`, in an order.

    The newest or largest come first, but the soonest of `next_visit`, and of `faults` the failing sites; `reverse`
    turns any order round. UsageError for an unknown order, or numbers out of range.
    """

    order: SiteOrder = "site"
    reverse: bool = False
    contains: str = ""
    only_faults: bool = False
    offset: int = 0
    limit: int = 100

    def __attrs_post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UsageError(f"order {self.order!r} is unknown: give one of {', '.join(ORDERS)}")
        if not (self.offset >= 0 and 1 <= self.limit <= MAX_SITES):
            raise UsageError(f"give an offset of at least 0, and a limit from 1 to {MAX_SITES:,}")


@attrs.frozen
class SitePage:
    """The sites that a SiteQuery selects."""

    sites: tuple[SiteStatus, ...]
    total: int  # of all pages


# Ascending; a missing time is last.
_KEYS: Mapping[SiteOrder, Callable[[SiteStatus], Any]] = {
    "site": lambda status: (),
    "next_visit": lambda status: _by_time(status.next_visit),
    "last_visit": lambda status: _by_time(status.last_visit, -1),
    "last_change": lambda status: _by_time(status.last_change, -1),
    "changes": lambda status: -(status.new + status.updated + status.removed),
    "faults": lambda status: (status.failing_since is None, -len(status.faults)),
}


def select_sites(statuses: Iterable[SiteStatus], query: SiteQuery) -> SitePage:
    text = query.contains.casefold()
    found = [
        status
        for status in statuses
        if text in status.site.casefold() and (status.faults or status.failing_since or not query.only_faults)
    ]
    key = _KEYS[query.order]
    best = nlargest if query.reverse else nsmallest  # without sorting all of a million
    page = best(query.offset + query.limit, found, key=lambda status: (key(status), status.site))
    return SitePage(tuple(page[query.offset :]), len(found))


def _by_time(moment: datetime | None, sign: int = 1) -> tuple[bool, float]:
    return moment is None, sign * moment.timestamp() if moment else 0.0


@attrs.frozen
class SinkStatus:
    """How far a sink is behind the log."""

    name: str  # without secrets, and in a Health without a folder
    lag_changes: int = 0
    lag_seconds: float = 0.0  # since the oldest of these changes was found
    fault: str | None = None  # why the last delivery failed
    delivered: int = 0  # changes, since the start
    failures: int = 0
    dead_letters: int = 0  # rejected entries that were skipped


@attrs.frozen
class Totals:
    """Numbers over all sites."""

    sites: int = 0
    documents: int = 0
    urls: int = 0
    failing: int = 0  # sites
    not_visited: int = 0  # sites that no visit has come to yet
    budget_per_hour: float | None = None
    requests_last_hour: int = 0
    new: int = 0  # of the last 24 hours, as the next three
    updated: int = 0
    removed: int = 0
    first_reading: int = 0  # as in SiteStatus
    sinks: tuple[SinkStatus, ...] = ()
    faults: tuple[str, ...] = ()  # why the watch does not work


@attrs.frozen
class Counters:
    """Counts since the start of the process, by a few fixed labels."""

    requests: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # by status class: 2xx, 304, …, failed
    visits: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # changed, unchanged, failed
    changes: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # new, updated, removed, first_reading


@attrs.frozen
class Health:
    """Whether the watch works, for anyone: without paths. `faults` say why not; Totals have the details."""

    faults: tuple[str, ...] = ()
    last_visit: datetime | None = None
    sinks: tuple[SinkStatus, ...] = ()


def json_object(value: Any) -> dict[str, Any]:
    """An attrs object of this module as JSON object: times as in records, texts printable and without logins."""
    return {name: _json_value(each) for name, each in attrs.asdict(value, recurse=False).items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, str):
        return masked(printable(value))
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    if attrs.has(type(value)):
        return json_object(value)
    return stamp(value) if hasattr(value, "isoformat") else value
