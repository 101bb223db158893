"""The configuration of a harvest: keywords of harvest() in, a checked HarvestConfig that can be sent to workers out.

Raises UsageError for keywords that a harvest cannot have; reads no file but that of `netrc`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import attrs

from ..client.keywords import FilterOptions, ReaderOptions
from ..client.query import UrlQuery, check_positive
from ..client.reader import SitemapReader
from ..client.targets import read_netrc
from ..frontier.filters import make_window
from ..model.errors import UsageError
from ..model.limits import Limits
from ..serialize.jsonl import stamp

# Keywords of SitemapReader that cannot be sent to another process.
_NOT_SENT = ("fetcher", "record")


@attrs.frozen
class HarvestConfig:
    """How hosts are read: the keywords of SitemapReader, the filters of urls(), and limits on each host.

    `hosts_at_once` of a shard are read; one is skipped after `host_seconds` of waiting, or more than `host_urls` URLs.
    """

    # Not in repr(): they may hold passwords, and a failing worker logs its arguments.
    reader_options: ReaderOptions = attrs.field(repr=False)
    filters: dict[str, Any]
    state: bool
    accept_removals: bool
    hosts_at_once: int
    host_seconds: float
    host_urls: int

    def followed(self) -> dict[str, Any]:
        """The settings that must stay the same for a state to be used again, as JSON values."""
        return {"state": self.state, **SitemapReader(**self.reader_options).state_settings(UrlQuery(**self.filters))}

    def settings(self) -> dict[str, Any]:
        """All settings that the rows depend on, as JSON values."""
        dates = {name: _text_of(self.filters.get(name)) for name in ("since", "until")}
        dates["undated"] = self.filters.get("undated", "keep")
        if "trust_lastmod" in self.filters:
            dates["trust_lastmod"] = self.filters["trust_lastmod"]
        limits = attrs.asdict(self.reader_options.get("limits", Limits()))
        reader_options = {
            "probe": self.reader_options.get("probe", "auto"),
            "obey_robots": self.reader_options.get("obey_robots", True),
            "limits": [f"{name}={value}" for name, value in limits.items() if value != getattr(Limits(), name)],
        }
        return {**self.followed(), **dates, **reader_options}

    def dates(self, now: datetime) -> dict[str, str | None]:
        """`since` and `until` as timestamps: an age such as "7d" counts from `now`, for all shards."""
        query = UrlQuery(**self.filters)
        window = make_window(query.since, query.until, query.undated, now)
        return {"since": stamp(window.since), "until": stamp(window.until)}

    def with_dates(self, dates: dict[str, str | None]) -> HarvestConfig:
        """The configuration with the dates() of when the harvest began."""
        moments = {name: text and datetime.fromisoformat(text) for name, text in dates.items()}
        return attrs.evolve(self, filters={**self.filters, **moments})


def make_config(keywords: dict[str, Any], **of_harvest: Any) -> HarvestConfig:
    """The configuration for `keywords`: those of SitemapReader, and the filters of its urls(); UsageError.

    `of_harvest` are the other fields of HarvestConfig.
    """
    filters = {name: _materialised(keywords.pop(name)) for name in FilterOptions.__annotations__ if name in keywords}
    for name in _NOT_SENT:
        if keywords.get(name) is not None:
            raise UsageError(f"{name} belongs to one process, and a harvest reads in others: leave it out")
    if callable(filters.get("follow")):
        raise UsageError("follow is a function, which cannot be compared when the harvest is resumed: give patterns")
    if "headers" in keywords:
        keywords["headers"] = _materialised(keywords["headers"])
    if keywords.get("netrc"):  # workers need not have the file
        keywords["netrc"] = read_netrc(keywords["netrc"])
    config = HarvestConfig(ReaderOptions(**keywords), filters, **of_harvest)  # type: ignore[typeddict-item]
    if config.accept_removals and not config.state:
        raise UsageError("accept_removals says what to do with removals, which only a harvest with a state finds")
    check_positive(hosts_at_once=config.hosts_at_once, host_urls=config.host_urls)
    if not config.host_seconds > 0:
        raise UsageError(f"host_seconds must be more than 0, not {config.host_seconds}")
    if config.state and any(filters.get(name) is not None for name in ("since", "until")):
        raise UsageError("since and until choose by date, and a state by what has changed: give one of them")
    UrlQuery(**filters).plan_fields(datetime.now(UTC))
    SitemapReader(**keywords)  # raises for wrong keywords here, not in each host
    return config


def _materialised(value: Any) -> Any:
    """An iterator as a tuple, which can be read more than once."""
    return tuple(value) if hasattr(value, "__next__") else value


def _text_of(value: Any) -> str | None:
    """A date as text, as it was given."""
    return value if value is None else stamp(value) if isinstance(value, datetime) else str(value)
