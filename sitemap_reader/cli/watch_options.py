"""The options of `watch`: where changes go, how many requests it may make, its server."""

from __future__ import annotations

from ..watching.options import WatchOptions
from . import option_types as types
from .options import accept_removals, flag, keyword, number, option, stacked

_TOKEN = "$SITEMAP_READER_TOKEN"  # noqa: S105 - the name of a variable

_TO_STDOUT = "stdout, unless there is --listen"
_BUDGETS = ("budget", "host_budget", "least_interval", "sites_at_once")

watch = stacked(
    keyword("Output", WatchOptions, "sinks", type=types.SINK, multiple=True, default_is=_TO_STDOUT),
    option(
        "Output",
        "--rotate",
        type=types.ROTATION,
        default_is="never",
        help="Begin a new file daily, or at a size such as 100M; the old one gets a name with its time.",
    ),
    flag("Output", "--gzip", help="Compress the files that --rotate has renamed."),
    number(
        "Output",
        "--dead-letter-hours",
        default=72,
        help="Keep trying to deliver a change to a webhook for N hours, then append it to a file beside the state.",
    ),
    flag("Output", "--redeliver", help="Deliver the changes in those files once more, and end."),
    *(keyword("Budget", WatchOptions, name) for name in _BUDGETS),
    keyword("State", WatchOptions, "shard", type=types.SHARD, default_is="all HOSTS"),
    accept_removals,
    number("State", "--keep-days", default=7, help="Days for which delivered changes can be read again by /changes."),
    option(
        "Server",
        "--listen",
        type=types.LISTEN,
        default_is="no server",
        help="Serve /ping, /changes, /sites, /healthz, /metrics and a page; other machines need the token in "
        f"{_TOKEN}.",
    ),
    option(
        "Server",
        "--accept",
        type=types.TrustChoice(["known", "verified"]),
        default="known",
        help="Pings that cause a visit: known, of sitemaps of HOSTS; verified, also of other hosts whose robots.txt "
        "names the sitemap.",
    ),
    option(
        "Server",
        "--server-name",
        "server_names",
        type=types.SERVER_NAME,
        multiple=True,
        help="Host name under which the server is reached, as by a proxy (repeatable).",
    ),
    flag(
        "Server", "--behind-proxy", type=types.TRUST_SWITCH, help="Take the addresses of clients from X-Forwarded-For."
    ),
)
