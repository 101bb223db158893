"""The keywords of watch(): types for type checkers, and an Option of each, as in client/options.py."""

from types import NoneType
from typing import TYPE_CHECKING, Annotated, TypedDict

from ..client.options import PatternOptions, ReaderOptions, UpdateOptions
from ..model.errors import UsageError
from ..model.options import FILE_NAME, TEXT, Option, callback, one_of_types
from .budget import BUDGET, HOST_BUDGET, LEAST_INTERVAL_SECONDS, SITES_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from .server import ServerPlan
    from .sinks import Sink
    from .watched_site import SiteVisit


def _listen(name: str, value: object) -> None:
    if not (value is None or isinstance(value, str) or hasattr(value, "listen")):  # a ServerPlan
        raise UsageError(keyword=name, value=value, allowed="text such as 127.0.0.1:8080, or a ServerPlan")


class WatchState(TypedDict):
    """The keyword that watch() needs."""

    state: Annotated[
        "str | Path",
        Option(
            "The name of the state file, which is created if it does not exist, and is locked against other "
            "runs until the watch has ended; it can be read meanwhile. With `shard` that of a folder.",
            check=FILE_NAME,
        ),
    ]


class BudgetOptions(PatternOptions, UpdateOptions, total=False):
    """What is watched, and how many requests that takes."""

    budget: Annotated[float, Option("Requests an hour, to all hosts.", BUDGET)]
    host_budget: Annotated[float, Option("Requests an hour to the hosts of one registrable domain.", HOST_BUDGET)]
    least_interval: Annotated[
        float,
        Option(
            "Seconds, from 1 to 86,400, between two requests for the same sitemap, if the budget permits so many; a "
            "ping does not wait.",
            LEAST_INTERVAL_SECONDS,
            default_as=f"{LEAST_INTERVAL_SECONDS:g}",
        ),
    ]
    sites_at_once: Annotated[
        int,
        Option("Sites that are visited at the same time.", SITES_AT_ONCE, check=one_of_types("a whole number", int)),
    ]
    shard: Annotated[
        str | None,
        Option(
            "Watch a part of the hosts, by their registrable domains: 3/16 is the third of sixteen. `state` is a "
            "folder then, with a file for each part, as in the folder of a harvest.",
            check=one_of_types("text such as 3/16", str, NoneType),
        ),
    ]


class DeliveryOptions(TypedDict, total=False):
    """Where changes go, and what a watch says of itself."""

    name: Annotated[
        str,
        Option(
            "The name under which the state keeps how far the loop is; a new one begins with the next change.",
            "python",
            check=TEXT,
        ),
    ]
    sinks: Annotated[
        "Iterable[Sink | str | Path]",
        Option(
            "Where changes go, each as far as it gets: a file, - (stdout), https://… (a webhook) or "
            "redis://HOST/0?stream=NAME. A command signs the requests of a webhook with the secret in "
            "$SITEMAP_READER_WEBHOOK_SECRET.",
            (),
            in_python="Also sr.watching.Sinks; of these WebhookSink takes secrets.",
            flags="--to --webhook",
        ),
    ]
    on_visit: Annotated[
        "Callable[[SiteVisit], None] | None",
        callback("Called with a sr.watching.SiteVisit after each visit of a site, in the thread of the watch."),
    ]
    listen: Annotated[
        "str | ServerPlan | None",
        Option(
            "Serve /ping, /changes, /sites, /healthz, /metrics and a page at HOST:PORT; other machines need a token, "
            "for a command in $SITEMAP_READER_TOKEN.",
            in_python="A sr.watching.ServerPlan has the token.",
            check=_listen,
        ),
    ]


class WatchOptions(WatchState, BudgetOptions, ReaderOptions, DeliveryOptions, total=False):
    """The keywords of watch()."""


class ReaderWatchOptions(WatchState, BudgetOptions, DeliveryOptions, total=False):
    """The keywords of SitemapReader.watch()."""
