"""What is asked of a harvest, as it goes to whoever carries it out: keywords in, a value that can be sent out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import attrs

from ..client.keywords import ReaderOptions
from ..client.query import Query, check_positive
from ..client.reader import SitemapReader
from ..client.targets import read_netrc
from ..frontier.filters import make_window
from ..model.errors import UsageError
from ..model.limits import Limits
from ..serialize.jsonl import stamp

# Of the keywords of SitemapReader those that belong to one process.
_NOT_SENT = ("session", "fetcher", "record")
_FILTERS = ("since", "until", "undated", "trust_lastmod", "include", "exclude", "follow", "no_follow")


@attrs.frozen
class HarvestOrder:
    """How hosts are read: the keywords of SitemapReader and the filters of urls(), and what a host may cost.

    Of a shard `hosts_at_once` are read; each is waited for `host_seconds`, and left when it has given more than
    `host_urls`.
    """

    reading: ReaderOptions = attrs.field(repr=False)  # a worker that fails logs what it was given
    filters: dict[str, Any]
    state: bool
    accept_removals: bool
    hosts_at_once: int
    host_seconds: float
    host_urls: int

    def followed(self) -> dict[str, Any]:
        """What a state is good for, as JSON can hold it."""
        return {"state": self.state, **SitemapReader(**self.reading).state_settings(Query(**self.filters))}

    def settings(self) -> dict[str, Any]:
        """All that decides on the rows."""
        dates = {name: _shown(self.filters.get(name)) for name in ("since", "until")}
        dates["undated"] = self.filters.get("undated", "keep")
        if "trust_lastmod" in self.filters:
            dates["trust_lastmod"] = self.filters["trust_lastmod"]
        limits = attrs.asdict(self.reading.get("limits", Limits()))
        reading = {
            "probe": self.reading.get("probe", "auto"),
            "obey_robots": self.reading.get("obey_robots", True),
            "limits": [f"{name}={value}" for name, value in limits.items() if value != getattr(Limits(), name)],
        }
        return {**self.followed(), **dates, **reading}

    def dates(self, now: datetime) -> dict[str, str | None]:
        """What `since` and `until` come to now, as stamps: an age is one from now on, whenever a shard is read."""
        query = Query(**self.filters)
        window = make_window(query.since, query.until, query.undated, now)
        return {"since": stamp(window.since), "until": stamp(window.until)}

    def dated(self, dates: dict[str, str | None]) -> HarvestOrder:
        """With what dates() gave when the harvest began."""
        moments = {name: text and datetime.fromisoformat(text) for name, text in dates.items()}
        return attrs.evolve(self, filters={**self.filters, **moments})


def make_order(
    keywords: dict[str, Any],
    *,
    state: bool,
    accept_removals: bool,
    hosts_at_once: int,
    host_seconds: float,
    host_urls: int,
) -> HarvestOrder:
    """`keywords` are those of SitemapReader, and the filters of its urls(). UsageError for what cannot be."""
    filters = {name: _kept(keywords.pop(name)) for name in _FILTERS if name in keywords}
    for name in _NOT_SENT:
        if keywords.get(name) is not None:
            raise UsageError(f"{name} belongs to one process, and a harvest reads in others: leave it out")
    if callable(filters.get("follow")):
        raise UsageError("follow is a function, of which nobody could say whether it is the same later: give patterns")
    if accept_removals and not state:
        raise UsageError("accept_removals says what to do with removals, which only a harvest with a state finds")
    if "headers" in keywords:
        keywords["headers"] = _kept(keywords["headers"])
    if keywords.get("netrc"):  # the workers need not see the file
        keywords["netrc"] = read_netrc(keywords["netrc"])
    check_positive(hosts_at_once=hosts_at_once, host_urls=host_urls)
    if not host_seconds > 0:
        raise UsageError(f"host_seconds must be more than 0, not {host_seconds}")
    if state and any(filters.get(name) is not None for name in ("since", "until")):
        raise UsageError("since and until choose by date, and a state by what has changed: give one of them")
    Query(**filters).plan_fields(datetime.now(UTC))
    SitemapReader(**keywords)  # says what is wrong here, and not once a host
    reading = ReaderOptions(**keywords)  # type: ignore[typeddict-item]
    return HarvestOrder(reading, filters, state, accept_removals, hosts_at_once, host_seconds, host_urls)


def _kept(value: Any) -> Any:
    """What may be looked at more than once."""
    return tuple(value) if hasattr(value, "__next__") else value


def _shown(value: Any) -> str | None:
    """As it was given."""
    return value if value is None else stamp(value) if isinstance(value, datetime) else str(value)
