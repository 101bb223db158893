"""The configuration of a harvest: keywords of harvest() in, a checked HarvestConfig that can be sent to workers out.

Raises UsageError for keywords that a harvest cannot have; reads no file but that of `netrc`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..client.keywords import UrlQuery
from ..client.options import FilterOptions, ReaderOptions
from ..client.reader import SitemapReader
from ..client.targets import read_netrc
from ..frontier.filters import make_window
from ..model.errors import UsageError
from ..model.limits import Limits
from ..model.options import part_of, with_defaults
from ..serialize.jsonl import stamp
from .options import HostOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

# Keywords of SitemapReader that cannot be sent to another process.
_NOT_SENT = ("fetcher", "record")


@attrs.frozen
class HarvestConfig:
    """How hosts are read: the keywords of SitemapReader, the filters of urls(), and limits on each host."""

    # Not in repr(): they may hold passwords, and a failing worker logs its arguments.
    reader_options: ReaderOptions = attrs.field(repr=False)
    filters: FilterOptions
    hosts: HostOptions

    def followed(self) -> dict[str, Any]:
        """The settings that must stay the same for a state to be used again, as JSON values."""
        settings = SitemapReader(**self.reader_options).state_settings(UrlQuery(**self.filters))
        return {"state": self.hosts["state"], **settings}

    def settings(self) -> dict[str, Any]:
        """All settings that the rows depend on, as JSON values."""
        filters, reader = with_defaults(FilterOptions, self.filters), with_defaults(ReaderOptions, self.reader_options)
        dates = {name: _text_of(value) for name, value in filters.items() if name in ("since", "until", "undated")}
        if "trust_lastmod" in self.filters:
            dates["trust_lastmod"] = self.filters["trust_lastmod"]
        limits = attrs.asdict(reader["limits"])
        reader_options = {
            "probe": reader["probe"],
            "obey_robots": reader["obey_robots"],
            "limits": [f"{name}={value}" for name, value in limits.items() if value != getattr(Limits(), name)],
        }
        return {**self.followed(), **dates, **reader_options}

    def dates(self, now: datetime) -> dict[str, str | None]:
        """`since` and `until` as timestamps: an age such as "7d" counts from `now`, for all shards."""
        given = with_defaults(FilterOptions, self.filters)
        window = make_window(given["since"], given["until"], given["undated"], now)
        return {"since": stamp(window.since), "until": stamp(window.until)}

    def with_dates(self, dates: dict[str, str | None]) -> HarvestConfig:
        """The configuration with the dates() of when the harvest began."""
        moments: Any = {name: text and datetime.fromisoformat(text) for name, text in dates.items()}
        return attrs.evolve(self, filters={**self.filters, **moments})


def make_config(options: Mapping[str, Any]) -> HarvestConfig:
    """The configuration for the keywords of harvest(); UsageError."""
    # An iterator can be read once.
    given: Any = {name: tuple(each) if hasattr(each, "__next__") else each for name, each in options.items()}
    for name in _NOT_SENT:
        if given.get(name) is not None:
            raise UsageError(f"{name} belongs to one process, and a harvest reads in others: leave it out")
    if callable(given.get("follow")):
        raise UsageError("follow is a function, which cannot be compared when the harvest is resumed: give patterns")
    if given.get("netrc"):  # workers need not have the file
        given["netrc"] = read_netrc(given["netrc"])
    hosts = with_defaults(HostOptions, part_of(HostOptions, given))
    if hosts["accept_removals"] and not hosts["state"]:
        raise UsageError("accept_removals says what to do with removals, which only a harvest with a state finds")
    if hosts["state"] and any(given.get(name) is not None for name in ("since", "until")):
        raise UsageError("since and until choose by date, and a state by what has changed: give one of them")
    config = HarvestConfig(part_of(ReaderOptions, given), part_of(FilterOptions, given), hosts)
    UrlQuery(**config.filters).plan_fields(datetime.now(UTC))
    SitemapReader(**config.reader_options)  # raises for wrong keywords here, not in each host
    return config


def _text_of(value: Any) -> str | None:
    """A date as text, as it was given."""
    return value if value is None else stamp(value) if isinstance(value, datetime) else str(value)
