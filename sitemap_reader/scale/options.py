"""The keywords of harvest(): types for type checkers, and an Option of each, as in client/options.py."""

from typing import TYPE_CHECKING, Annotated

from ..client.options import SHOW_PROGRESS, RemovalOptions, SiteOptions
from ..model.errors import UsageError
from ..model.options import Option, callback, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from .report import HarvestProgress


def _more_than_0(name: str, value: object) -> None:
    if not isinstance(value, int | float) or not value > 0:
        raise UsageError(keyword=name, value=value, allowed="a number of seconds, more than 0")


class HostOptions(RemovalOptions, total=False):
    """How the hosts of a harvest are read, besides the keywords of SitemapReader and the filters of urls()."""

    state: Annotated[
        bool,
        Option(
            "Write only what is new, updated and removed since the last harvest in the folder, whose tables move to "
            "earlier/. The state is kept in state/.",
            False,
        ),
    ]
    hosts_at_once: Annotated[
        int,
        Option(
            "Hosts of a shard that are read at the same time; a worker on this machine reads two shards at once.",
            50,
            check=positive,
        ),
    ]
    host_seconds: Annotated[
        float, Option("Longest time to wait for one host; the URLs read by then are kept.", 1_800.0, check=_more_than_0)
    ]
    host_urls: Annotated[
        int, Option("Stop reading a host after so many URLs; those are kept.", 10_000_000, check=positive)
    ]


class PlanOptions(HostOptions, SiteOptions, total=False):
    """The keywords of plan_harvest()."""

    shards: Annotated[int | None, Option("Number of parts into which the hosts are divided.", check=positive)]
    resume: Annotated[bool, Option("Continue the harvest in the folder with the missing shards.", False)]


class HarvestOptions(PlanOptions, total=False):
    """The keywords of harvest()."""

    scheduler: Annotated[
        str | None,
        Option(
            "Address of a Dask scheduler, such as tcp://10.0.0.1:8786; its workers must see the folder under the same "
            "name."
        ),
    ]
    workers: Annotated[
        int | None, Option("Worker processes on this machine, which listen on 127.0.0.1 alone.", check=positive)
    ]
    on_progress: Annotated[
        "Callable[[HarvestProgress], None] | None", callback("Called with a HarvestProgress, a few times a second.")
    ]
    show_progress: Annotated[bool, SHOW_PROGRESS]
