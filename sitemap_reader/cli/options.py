"""The options that commands share, in groups; each decorator adds one group.

In: what was typed. Out: keywords. Those of whatever fetches are in fetching.py.
"""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..model.errors import UsageError
from ..model.limits import GIB, KIB, MIB, MOST_CRAWL_DELAY_SECONDS
from . import options as typed
from .command import GroupedOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# ----------------------------------------------------------------------------------------------------
# What was typed behind an option -> its value; click.BadParameter says what is wrong with it, and how to write it.
#
# What the reader would refuse anyway is refused here, by the name of the option. Each is a callback of click's.


# RFC 9110 5.6.2: a field name is a token.
_HEADER = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([^\x00-\x08\x0a-\x1f\x7f]*?)\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"([0-9]{1,18}) *(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


class Name(click.types.StringParamType):
    """What may be the name of a file or folder: shells complete it. Whether it is there is looked at later."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leaves it to the shell."""
        return [CompletionItem(incomplete, type="file")]


def length(context: click.Context, param: click.Parameter, seconds: float) -> float:
    """A length of time: 0 only where waiting not at all makes sense."""
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and param.name == "timeout"):
        raise click.BadParameter(f"{seconds:g} is no length of time; give a number of seconds", context, param)
    return seconds


def crawl_delay(context: click.Context, param: click.Parameter, seconds: float) -> float:
    """A length of time that may lie between two requests to a host."""
    if length(context, param, seconds) > MOST_CRAWL_DELAY_SECONDS:
        what = f"{seconds:g} is too long; give {MOST_CRAWL_DELAY_SECONDS:g} seconds or less"
        raise click.BadParameter(what, context, param)
    return seconds


def headers(context: click.Context, param: click.Parameter, lines: tuple[str, ...]) -> list[tuple[str, str]]:
    """`Name: value` -> (name, value). A malformed line is not shown: it may be a secret."""
    matches = [_HEADER.fullmatch(line) for line in lines]
    for number, match in enumerate(matches, 1):
        if match is None:
            which = f"header {number} of {len(lines)}" if len(lines) > 1 else "the header"
            raise click.BadParameter(f"{which} has no name and colon; write it as 'Name: value'", context, param)
    return [(match[1], match[2]) for match in matches if match]


def size(context: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """`500M`, `2 GiB` or `1000000`: how many bytes; None where nothing was typed."""
    if text is None:
        return None
    match = _BYTES.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise click.BadParameter(f"{text!r} is no size; write it as 500M, 2G or a number of bytes", context, param)
    return int(match[1]) * _UNITS[match[2].lower()]


def sendable(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Text that a header can hold."""
    if text is not None and (not text.strip() or _CONTROL.search(text)):
        raise click.BadParameter(f"{text!r} cannot be sent", context, param)
    return text


def login(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """`USER:PASSWORD`; malformed text is not shown: it may be a secret."""
    from ..frontier.seeds import make_headers

    with _blamed(context, param):
        make_headers((), text)
    return text


def regular_expressions(context: click.Context, param: click.Parameter, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns as Python's re has them."""
    from ..frontier.filters import make_patterns

    with _blamed(context, param):
        make_patterns(str(param.name), patterns)
    return patterns


def when(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """A date or an age; it stays the text that it is."""
    from ..frontier.filters import make_window

    moments = {param.name: text}
    with _blamed(context, param):
        make_window(moments.get("since"), moments.get("until"), "keep", datetime.now(UTC))
    return text


def moment(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """One point in time; it stays the text that it is."""
    from ..frontier.filters import make_moment

    with _blamed(context, param):
        if text is not None:
            make_moment(str(param.name), text, datetime.now(UTC))
    return text


@contextmanager
def _blamed(context: click.Context, param: click.Parameter) -> Iterator[None]:
    """What the reader would refuse is refused now, by the name of the option."""
    try:
        yield
    except UsageError as exc:
        told = str(exc).removeprefix(str(param.name)).lstrip(": ")
        raise click.BadParameter(told, context, param) from exc


Function = TypeVar("Function", bound="Callable[..., Any]")

# As read/scope.py, sinks.py and reader.py have them, which would load much that help has no use for; a test compares.
SCOPES = ("protocol", "host", "domain", "any")
FORMATS = ("jsonl", "csv", "tsv", "txt", "parquet")
TRUSTS = ("auto", "always", "never")
# Of what is a table to people.
ROWS_FORMATS = ("table", "tsv", "csv", "jsonl")

# Of a report.
REPORT_FORMATS = ("text", "json", "html")

FILE = typed.Name()


def option(heading: str, *names: str, default_is: str | None = None, **kwargs: Any) -> Callable[[Function], Function]:
    """A click option under a heading; `default_is` says in words what happens without it."""
    kwargs["show_default"] = default_is or True
    return click.option(*names, cls=GroupedOption, heading=heading, **kwargs)


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorators as one; the first one's option stands first in the help."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def flag(heading: str, *names: str, help: str) -> Callable[[Any], Any]:
    return option(heading, *names, is_flag=True, default_is="off", help=help)


def number(heading: str, *names: str, **kwargs: Any) -> Callable[[Any], Any]:
    """Of what there has to be one at least."""
    return option(heading, *names, metavar="N", type=click.IntRange(min=1), **kwargs)


output_file = option(
    "Output",
    "-o",
    "--output",
    metavar="FILE",
    type=FILE,
    default_is="stdout",
    help="Write to FILE; - is stdout. A name in .gz or .zst is compressed.",
)
report = option(
    "Output",
    "--report",
    metavar="FILE",
    type=FILE,
    default_is="none",
    help="Write every problem and outcome to FILE as JSONL; - merges them into stdout.",
)
_QUIET = flag("Output", "-q", "--quiet", help="Show errors only: no problems, no summary.")
_VERBOSE = flag("Output", "-v", "--verbose", help="Show infos too, and a line for each finished document.")

_FORMULA_GUARD = flag(
    "Output",
    "--no-formula-guard",
    help="Write no apostrophe before text that a spreadsheet would take for a formula, in CSV and TSV.",
)


def table_format(default: str) -> Callable[[Any], Any]:
    """--format of what is a table to people; `default` says in words how it is written without."""
    choices = click.Choice(ROWS_FORMATS)
    return stacked(
        option("Output", "--format", type=choices, default_is=default, help="How to write the rows."), _FORMULA_GUARD
    )


def record_format(default: str) -> Callable[[Any], Any]:
    """--format and --fields of URLs; `default` says in words how they are written without."""
    return stacked(
        option(
            "Output",
            "--format",
            type=click.Choice(FORMATS),
            default_is=default,
            help="How to write the URLs; parquet needs pyarrow.",
        ),
        option(
            "Output",
            "--fields",
            metavar="NAMES",
            default_is="all",
            help="Only these, in this order: loc,lastmod,images.loc",
        ),
        _FORMULA_GUARD,
    )


unique = flag("Output", "--unique", help="Write each URL once, however many sitemaps list it.")


def scope(default: str) -> Callable[[Any], Any]:
    """--scope, whose default differs."""
    return option(
        "Filter",
        "--scope",
        type=click.Choice(SCOPES),
        default=default,
        help="Which URLs a sitemap may list: by the protocol's host and path rules, by host, by domain, or any.",
    )


loudness = stacked(_QUIET, _VERBOSE)
table_output = stacked(output_file, table_format("table on a terminal, else tsv"), loudness)
quiet = flag("Output", "-q", "--quiet", help="Show errors only: no summary.")
verbose = flag("Output", "-v", "--verbose", help="Show a line for each document that was read.")

changed_on = option(
    "Filter",
    "--on",
    type=click.Choice(["any", "lastmod"]),
    default="any",
    help="What makes a URL updated: anything that the site states of it, or its lastmod alone.",
)
state = option(
    "State",
    "--state",
    metavar="FILE",
    type=FILE,
    required=True,
    default_is="must be given",
    help="What is remembered of the sites, in one SQLite file; made if there is none.",
)
following = stacked(
    option(
        "State",
        "--trust-lastmod",
        type=click.Choice(TRUSTS),
        default="auto",
        help="Do not even ask for a sitemap whose index states the same lastmod as before: auto where the index has "
        "proved honest, once a day all the same.",
    ),
    flag("State", "--dry-run", help="Tell what has changed, and leave FILE as it is."),
    flag("State", "--full", help="Read everything anew; needed where --scope and other filters are not as before."),
    flag("State", "--accept-removals", help="Tell of removals even if they are most of the URLs."),
    flag("State", "--history", help="Only show the runs that FILE knows of, of the TARGETs or of all."),
)
harvest = stacked(
    option(
        "Output",
        "-o",
        "--output",
        metavar="DIR",
        type=FILE,
        required=True,
        default_is="must be given",
        help="The folder for the tables; made if there is none.",
    ),
    flag("Output", "--resume", help="Go on with the harvest in DIR: do the shards that are not done."),
    flag("Output", "-q", "--quiet", help="Show errors only: no progress, no summary."),
    flag("Output", "-v", "--verbose", help="Name every host that was given up, not the first ones alone."),
    flag(
        "State",
        "--state",
        help="Write only what is new, updated and removed since the last harvest in DIR, whose tables go to "
        "DIR/earlier. What is remembered stands in DIR/state.",
    ),
    flag("State", "--accept-removals", help="Tell of removals even if they are most of a host's URLs."),
    option(
        "Workers",
        "--scheduler",
        metavar="ADDRESS",
        default_is="workers on this machine alone",
        help="Dask's, such as tcp://10.0.0.1:8786; its workers must see DIR under the same name.",
    ),
    number(
        "Workers",
        "--workers",
        default_is="cores",
        help="Processes on this machine.",
    ),
    option(
        "Workers",
        "--shards",
        metavar="N",
        type=click.IntRange(min=1, max=99_999),
        default_is="by the number of hosts",
        help="Into how many parts the hosts are divided.",
    ),
    number(
        "Workers",
        "--hosts-at-once",
        default=50,
        help="Hosts of a shard that are read at the same time; a process of ours has two shards.",
    ),
    option(
        "Safety",
        "--host-seconds",
        metavar="SECONDS",
        type=float,
        callback=typed.length,
        default=1800.0,
        default_is="1800",
        help="Per-host wait budget; partial results are kept.",
    ),
    number(
        "Safety",
        "--host-urls",
        default=10_000_000,
        help="Give a host up when it has given more URLs; they are kept.",
    ),
)
findings = stacked(
    option(
        "Output",
        "--format",
        type=click.Choice(REPORT_FORMATS),
        default_is="by the suffix of -o, else text",
        help="How to write the report; html is a self-contained HTML page.",
    ),
    option(
        "Output",
        "--samples",
        metavar="N",
        type=click.IntRange(min=0),
        default=5,
        help="Show so many places of each finding.",
    ),
    option(
        "Output",
        "--fail-on",
        type=click.Choice(["error", "warning", "info", "never"]),
        default="error",
        help="Exit with 1 where something as bad as this is found.",
    ),
)
rules = stacked(
    option(
        "Rules",
        "--select",
        metavar="CODES",
        multiple=True,
        default_is="all",
        help="Only these: D03,U07; L is all of hreflang. May be repeated.",
    ),
    option("Rules", "--ignore", metavar="CODES", multiple=True, default_is="none", help="All but these."),
    option(
        "Rules",
        "--as-of",
        metavar="WHEN",
        callback=typed.moment,
        default_is="now; of a recording, when it was made",
        help="The time that ages go by, such as 2026-11-01 or 7d.",
    ),
    option(
        "Rules",
        "--explain",
        metavar="CODES",
        default_is="none",
        help="Only explain codes (D03), families (D) or all: the rule, why it matters, how to fix it.",
    ),
)
against = stacked(
    option(
        "Against",
        "--crawl",
        metavar="FILE",
        type=FILE,
        default_is="none",
        help="What a crawler found, as CSV or JSONL: url, status, canonical, noindex, hash, or what Screaming Frog "
        "calls so.",
    ),
    option(
        "Against",
        "--baseline",
        metavar="DUMP",
        type=FILE,
        default_is="none",
        help="An earlier dump: whether most URLs, or whole sitemaps, have vanished since.",
    ),
    option(
        "Against",
        "--state",
        metavar="FILE",
        type=FILE,
        default_is="none",
        help="The same by what sync remembers.",
    ),
    option(
        "Against",
        "--baseline-crawl",
        metavar="FILE",
        type=FILE,
        default_is="none",
        help="With --crawl: an earlier one, to find pages whose lastmod changed and content (hash) did not.",
    ),
)
exit_code = flag("Output", "--exit-code", help="Exit with 1 where there is a difference.")

limit = number("Output", "--limit", default_is="no limit", help="Stop after N URLs.")

extras = flag(
    "Output", "--extras", help="Keep elements of other namespaces too: each line that has some gets its extras."
)

dates = stacked(
    option(
        "Filter",
        "--since",
        metavar="WHEN",
        callback=typed.when,
        default_is="no bound",
        help="URLs with a lastmod of then or later: a date such as 2026-05-31, or an age such as 7d or 12h. "
        "Also skips sitemaps that an index calls older: see --trust-lastmod.",
    ),
    option(
        "Filter",
        "--until",
        metavar="WHEN",
        callback=typed.when,
        default_is="no bound",
        help="URLs with a lastmod of then or earlier; a date takes in its whole day.",
    ),
    option(
        "Filter",
        "--undated",
        type=click.Choice(["keep", "drop"]),
        default="keep",
        help="What to do with URLs without a lastmod.",
    ),
    option(
        "Filter",
        "--trust-lastmod",
        type=click.Choice(TRUSTS),
        default="auto",
        help="Whether --since skips sitemaps whose index lastmod is older: auto first reads up to three of them, and "
        "skips the rest if these agree with the index; always skips all of them; never reads them all.",
    ),
)


def _patterns(name: str, help: str) -> Callable[[Any], Any]:
    return option(
        "Filter",
        name,
        metavar="REGEX",
        multiple=True,
        callback=typed.regular_expressions,
        default_is="none",
        help=f"{help} (repeatable).",
    )


pages = stacked(
    _patterns("--include", "Only URLs matching this regex"),
    _patterns("--exclude", "Exclude URLs matching this regex"),
)
sitemaps = stacked(
    _patterns("--follow", "Follow only child sitemaps whose URL matches"),
    _patterns("--no-follow", "No sitemap in whose URL this is found, even if robots.txt names it"),
)


def _targets(*, required: bool) -> Callable[[Any], Any]:
    return click.argument("targets", metavar="TARGET...", type=FILE, nargs=-1, required=required)


targets = _targets(required=True)
targets_if_any = _targets(required=False)
