"""The options of `watch`: where changes go, how many requests it may make, its server."""

from __future__ import annotations

from . import option_types as types
from .options import flag, number, option, seconds, stacked

_SECRETS = "$SITEMAP_READER_WEBHOOK_SECRET"
_TOKEN = "$SITEMAP_READER_TOKEN"  # noqa: S105 - the name of a variable

watch = stacked(
    option(
        "Output",
        "--to",
        "--webhook",
        "sinks",
        metavar="SINK",
        type=types.SINK,
        multiple=True,
        default_is="stdout, unless there is --listen",
        help="Where changes go: a file, - (stdout), https://… (a webhook, whose requests are signed with the secret in "
        f"{_SECRETS}) or redis://HOST/0?stream=NAME (repeatable).",
    ),
    option(
        "Output",
        "--rotate",
        metavar="WHEN",
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
    number("Budget", "--budget", default=3_600, help="Requests an hour, to all hosts."),
    number("Budget", "--host-budget", default=120, help="Requests an hour to the hosts of one domain."),
    seconds(
        "Budget",
        "--least-interval",
        default=60,
        help="Seconds between two requests for the same sitemap, if the budget permits so many; a ping does not wait.",
    ),
    number("Budget", "--sites-at-once", default=50, help="Sites that are visited at the same time."),
    option(
        "State",
        "--shard",
        metavar="I/N",
        type=types.SHARD,
        default_is="all HOSTS",
        help="Watch the I-th of N parts of HOSTS; --state is a folder then, with a file for each part.",
    ),
    flag("State", "--accept-removals", help="Write removals at once, also most of a site's URLs, or all of a sitemap."),
    number("State", "--keep-days", default=7, help="Days for which delivered changes can be read again by /changes."),
    option(
        "Server",
        "--listen",
        metavar="HOST:PORT",
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
        metavar="NAME",
        type=types.SERVER_NAME,
        multiple=True,
        help="Host name under which the server is reached, as by a proxy (repeatable).",
    ),
    flag(
        "Server",
        "--behind-proxy",
        type=types.TRUST_SWITCH,
        help="Take the addresses of clients from X-Forwarded-For.",
    ),
)
