"""The options that commands share, as decorators, and the callbacks that check their values.

In: the texts of the command line. Out: keyword arguments; click.BadParameter, with what to write, for a wrong value.
Options of the network are in network_options.py.
"""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..model.errors import UsageError
from ..model.limits import AUTO_MODES, GIB, KIB, MIB, MOST_CRAWL_DELAY_SECONDS, MOST_DELAY_SECONDS
from ..serialize.writers import FORMATS
from . import option_types as types
from .command import GroupedOption
from .option_types import as_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from click.core import ParameterSource


# Callbacks of click: the text of an option -> its value. Values that the reader would refuse are refused here, so that
# the error names the option.


# RFC 9110 5.6.2: a field name is a token.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:([^\x00-\x08\x0a-\x1f\x7f]*)")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"([0-9]{1,18}) *(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


_MOST_SECONDS = {"delay": MOST_DELAY_SECONDS, "max_crawl_delay": MOST_CRAWL_DELAY_SECONDS}


def seconds_value(context: click.Context, param: click.Parameter, seconds: float) -> float:
    """A number of seconds, at most that of _MOST_SECONDS; 0 is refused where nothing could be read. No limit is inf."""
    if seconds == math.inf == param.default:
        return seconds
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and param.name in ("timeout", "site_seconds")):
        raise click.BadParameter(f"{seconds:g} is not a duration; give a number of seconds", context, param)
    most = _MOST_SECONDS.get(str(param.name), math.inf)
    if seconds > most:
        raise click.BadParameter(f"{seconds:g} is too long; give {most:g} seconds or less", context, param)
    return seconds


def headers(context: click.Context, param: click.Parameter, lines: tuple[str, ...]) -> list[tuple[str, str]]:
    """`Name: value` -> (name, value). The error does not repeat a malformed line: it may hold a secret."""
    matches = [_HEADER.fullmatch(line.strip()) for line in lines]
    for number, match in enumerate(matches, 1):
        if match is None:
            which = f"header {number} of {len(lines)}" if len(lines) > 1 else "the header"
            raise click.BadParameter(f"{which} has no name and colon; write it as 'Name: value'", context, param)
    return [(match[1], match[2].strip()) for match in matches if match]


def size(context: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """`500M`, `2 GiB` or `1000000` -> bytes; None stays None."""
    if text is None:
        return None
    found = parse_size(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a size; write it as 500M, 2G or a number of bytes", context, param)
    return found


def parse_size(text: str) -> int | None:
    """The bytes of a size such as `500M`; None for text that is none."""
    match = _BYTES.fullmatch(text.strip())
    return int(match[1]) * _UNITS[match[2].lower()] or None if match else None


def check_size(context: click.Context, param: click.Parameter, text: str | None) -> Any:
    """A number of URLs, 1 or more, or `all`; None stays None."""
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit() and int(text)):
        raise click.BadParameter(f"{text!r} is neither a number of URLs, 1 or more, nor all", context, param)
    return int(text)


def header_text(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Text without control characters, for a header."""
    if text is not None and (not text.strip() or _CONTROL.search(text)):
        raise click.BadParameter(f"{text!r} cannot be sent", context, param)
    return text


def login(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """`USER:PASSWORD`; the error does not repeat malformed text: it may be a secret."""
    from ..fetch.request_headers import make_headers

    with _as_bad_parameter(context, param):
        make_headers((), text)
    return text


def regexes(context: click.Context, param: click.Parameter, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Regular expressions of Python's re, unchanged."""
    from ..frontier.filters import make_patterns

    with _as_bad_parameter(context, param):
        make_patterns(str(param.name), patterns)
    return patterns


def when(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """A date or an age such as 7d, unchanged."""
    from ..frontier.filters import make_moment

    with _as_bad_parameter(context, param):
        if text is not None:
            make_moment(str(param.name), text, datetime.now(UTC))
    return text


def when_read(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """A date, an age, or the word name, unchanged."""
    return text if text == "name" else when(context, param, text)


def base_url(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """The URL of a folder or a file, unchanged."""
    from ..client.local_sites import clean_base

    with _as_bad_parameter(context, param):
        if text is not None:
            clean_base(text)
    return text


def host_map(context: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str] | None:
    """`https://www.example.com=https://staging.example.com` -> production: staging; None without any."""
    from ..fetch.host_map import HostMap

    for pair in pairs:
        if "=" not in pair:
            example = "https://www.example.com=https://staging.example.com"
            raise click.BadParameter(f"there is no = between two hosts; write it as {example}", context, param)
    with _as_bad_parameter(context, param):
        made = HostMap.of(pair.partition("=")[::2] for pair in pairs)
    return {**made.origins} if made else None


@contextmanager
def _as_bad_parameter(context: click.Context, param: click.Parameter) -> Iterator[None]:
    """Turns UsageError of the library into an error about this option."""
    try:
        yield
    except UsageError as exc:
        raise click.BadParameter(exc.without_keyword(as_option), context, param) from exc


Function = TypeVar("Function", bound="Callable[..., Any]")

# The values of parser/normalise/scope.py, repeated so that --help does not import it; a test compares them.
SCOPES = ("protocol", "host", "domain", "any")
# Formats of tables.
ROWS_FORMATS = ("table", "tsv", "csv", "jsonl")

# Formats of reports, and of rows with every occurrence of a finding.
REPORT_FORMATS = ("text", "json", "html", "github", "sarif", "junit", "markdown")
OCCURRENCE_FORMATS = ("csv", "jsonl", "parquet")


def option(heading: str, *names: str, default_is: str | None = None, **kwargs: Any) -> Callable[[Function], Function]:
    """A click option under a heading of the help; `default_is` describes the default in words."""
    kwargs["show_default"] = default_is or True
    return click.option(*names, cls=GroupedOption, heading=heading, **kwargs)


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one; options are in the help in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def flag(heading: str, *names: str, help: str, type: types.Switch = types.SWITCH) -> Callable[[Any], Any]:
    return option(heading, *names, is_flag=True, type=type, default_is="off", help=help)


def number(heading: str, *names: str, least: int = 1, most: int | None = None, **kwargs: Any) -> Callable[[Any], Any]:
    """An option that takes a whole number."""
    return option(heading, *names, metavar="N", type=click.IntRange(least, most), **kwargs)


def seconds(
    heading: str, name: str, *, default: float, callback: Callable[..., float] = seconds_value, **kwargs: Any
) -> Callable[[Any], Any]:
    """An option that takes a time in seconds."""
    default_is = "none" if math.isinf(default) else f"{default:g}"
    kwargs |= {"metavar": "SECONDS", "type": float, "default_is": default_is}
    return option(heading, name, default=default, callback=callback, **kwargs)


output_file = option(
    "Output",
    "-o",
    "--output",
    type=types.FILE_WRITTEN,
    default_is="stdout",
    help="Write to FILE, which is replaced; - is stdout. It is compressed if its name ends in .gz or .zst.",
)
report = option(
    "Output",
    "--report",
    type=types.FILE_WRITTEN,
    help="Write every problem and outcome to FILE as JSONL; - merges them into stdout.",
)
_QUIET = flag("Output", "-q", "--quiet", help="Show errors only: no problems, no summary.")
_VERBOSE = flag("Output", "-v", "--verbose", help="Also show notices, and a line for each finished document.")

_FORMULA_GUARD = flag(
    "Output",
    "--no-formula-guard",
    help="In CSV and TSV, do not put an apostrophe before text that a spreadsheet would run as a formula.",
)


def table_format(default: str) -> Callable[[Any], Any]:
    """--format of a table; `default` describes the default in words."""
    choices = click.Choice(ROWS_FORMATS)
    return stacked(
        option("Output", "--format", type=choices, default_is=default, help="Output format of the rows."),
        _FORMULA_GUARD,
    )


_WITH_PYARROW = " or ".join(name for name, format in FORMATS.items() if format.needs_pyarrow)


def record_format(default: str) -> Callable[[Any], Any]:
    """--format and --fields of URLs; `default` describes the default in words."""
    return stacked(
        option(
            "Output",
            "--format",
            type=click.Choice([*FORMATS]),
            default_is=default,
            help=f"Output format of the URLs; {_WITH_PYARROW} needs pyarrow.",
        ),
        option(
            "Output",
            "--fields",
            metavar="NAMES",
            type=types.FIELD_NAMES,
            default_is="all",
            help="Write only these fields, in this order: loc,lastmod,images.loc",
        ),
        _FORMULA_GUARD,
    )


unique = flag("Output", "--unique", help="Write each URL once, however many sitemaps list it.")


def scope(default: str | None, default_is: str | None = None) -> Callable[[Any], Any]:
    """--scope, with the default of the command; `default_is` describes None."""
    return option(
        "Filter",
        "--scope",
        type=click.Choice(SCOPES),
        default=default,
        default_is=default_is,
        help="URLs that a sitemap may list: by the protocol's host and path rules, on its host, on its domain, or any.",
    )


base = option(
    "Input",
    "--base",
    metavar="URL",
    type=types.SITE_URL,
    callback=base_url,
    default_is="TARGETs are hosts, URLs or recordings",
    help="Read TARGET, a folder or a file on the disk, as the site that will be at URL, without any request; - is then "
    "one document on stdin.",
)
verbosity = stacked(_QUIET, _VERBOSE)
table_output = stacked(output_file, table_format("table on a terminal, else tsv"), verbosity)
quiet = flag("Output", "-q", "--quiet", help="Show errors only: no summary.")
verbose = flag("Output", "-v", "--verbose", help="Show a line for each document that was read.")

changed_on = option(
    "Filter",
    "--on",
    type=click.Choice(["any", "lastmod"]),
    default="any",
    help="What counts as an update: any field that the site states, or the lastmod alone.",
)
state = option(
    "State",
    "--state",
    type=types.FILE_WRITTEN,
    required=True,
    default_is="must be given",
    help="SQLite file with what earlier runs found; created if missing.",
)
sync_options = stacked(
    option(
        "State",
        "--trust-lastmod",
        type=click.Choice(AUTO_MODES),
        default="auto",
        help="Whether to skip the request for a sitemap whose index lastmod is unchanged; auto: if the dates of that "
        "index proved accurate, for at most a day.",
    ),
    flag("State", "--dry-run", help="Write the changes, but do not store them in FILE."),
    flag("State", "--full", help="Read everything again; needed after a change of --scope or other filters."),
    flag("State", "--accept-removals", help="Write removals at once, also most of the URLs, or all of a sitemap."),
    flag("State", "--history", help="Only list the runs stored in FILE, those of the TARGETs or of all sites."),
)
harvest = stacked(
    option(
        "Output",
        "-o",
        "--output",
        metavar="DIR",
        type=types.FOLDER_WRITTEN,
        required=True,
        default_is="must be given",
        help="Folder for the tables; created if missing.",
    ),
    flag("Output", "--resume", help="Continue the harvest in DIR with the missing shards."),
    flag("Output", "-q", "--quiet", help="Show errors only: no progress, no summary."),
    flag("Output", "-v", "--verbose", help="Name all hosts that were skipped or cut short, not only the first ones."),
    flag(
        "State",
        "--state",
        help="Write only what is new, updated and removed since the last harvest in DIR, whose tables move to "
        "DIR/earlier. The state is kept in DIR/state.",
    ),
    flag("State", "--accept-removals", help="Write removals at once, also most of a host's URLs, or all of a sitemap."),
    option(
        "Workers",
        "--scheduler",
        metavar="ADDRESS",
        type=types.ADDRESS,
        default_is="workers on this machine",
        help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786; its workers must see DIR under the same name.",
    ),
    number("Workers", "--workers", default_is="cores", help="Worker processes on this machine."),
    number(
        "Workers",
        "--shards",
        most=99_999,
        default_is="by the number of hosts",
        help="Number of parts into which the hosts are divided.",
    ),
    number(
        "Workers",
        "--hosts-at-once",
        default=50,
        help="Hosts of a shard that are read at the same time; a local worker reads two shards at once.",
    ),
    seconds(
        "Safety",
        "--host-seconds",
        default=1800.0,
        help="Longest time to wait for one host; the URLs read by then are kept.",
    ),
    number("Safety", "--host-urls", default=10_000_000, help="Stop reading a host after N URLs; those are kept."),
)
findings = stacked(
    option(
        "Output",
        "--format",
        type=click.Choice([*REPORT_FORMATS, *OCCURRENCE_FORMATS]),
        default_is="by the suffix of -o, else text",
        help="Output format of the report; html is a self-contained page; github annotates files in GitHub Actions; "
        "sarif, junit and markdown are for CI systems; csv, jsonl and parquet have a row for every occurrence of a "
        "finding.",
    ),
    option(
        "Output",
        "--also",
        type=types.FILE_WRITTEN,
        multiple=True,
        help="Also write the report to FILE, in the format of its suffix: .sarif, .xml (JUnit), .md, .html, .json or "
        ".txt (repeatable).",
    ),
    option(
        "Output",
        "--findings",
        type=types.FILE_WRITTEN,
        help="Also write every occurrence to FILE, as CSV, JSON lines or Parquet by its suffix.",
    ),
    _FORMULA_GUARD,
    number("Output", "--samples", least=0, default=5, help="Show N examples of each finding."),
    option(
        "Output",
        "--fail-on",
        type=click.Choice(["error", "warning", "notice", "info", "never"]),
        default="error",
        help="Exit with 1 if there is a finding of this severity or a worse one; with --known a new one. "
        "info is notice.",
    ),
    option(
        "Output",
        "--known",
        type=types.FILE_READ,
        help="Findings of an earlier audit, as its --findings FILE.jsonl wrote them: count what is new since.",
    ),
)
rules = stacked(
    option(
        "Rules",
        "--select",
        metavar="CODES",
        type=types.CODES,
        multiple=True,
        default_is="all",
        help="Only these rules, such as D03,U07; a letter selects a family, such as L for hreflang (repeatable).",
    ),
    option(
        "Rules",
        "--ignore",
        metavar="CODES",
        type=types.CODES,
        multiple=True,
        help="All rules but these (repeatable).",
    ),
    option(
        "Rules",
        "--as-of",
        metavar="WHEN",
        type=types.WHEN,
        callback=when,
        default_is="now; for a recording, when it was made",
        help="Time from which ages are computed, such as 2026-11-01 or 7d.",
    ),
    option(
        "Rules",
        "--explain",
        metavar="CODES",
        type=types.CODES,
        help="Explain codes (D03), families (D) or all, without an audit: the rule, why it matters, how to fix it.",
    ),
)
reference_files = stacked(
    option(
        "Against",
        "--crawl",
        type=types.FILE_READ,
        help="Results of a crawl, CSV or JSONL, with url, status, canonical, noindex and hash; or an export of "
        "Screaming Frog, Katana (-jsonl) or advertools.",
    ),
    option(
        "Against",
        "--baseline",
        metavar="DUMP",
        type=types.FILE_READ,
        help="Earlier dump: report if most URLs, or whole sitemaps, have disappeared since.",
    ),
    option("Against", "--state", type=types.FILE_READ, help="State file of sync, in place of --baseline."),
    option(
        "Against",
        "--baseline-crawl",
        type=types.FILE_READ,
        help="Crawl at the time of --baseline; with --crawl, report pages whose lastmod changed, but not their hash.",
    ),
)
config_file = stacked(
    option("Settings", "--config", type=types.FILE_READ, default_is="the nearest file", help="The config file."),
    flag("Settings", "--check", help="Only list what is wrong with the file; exit with 2 if anything is."),
)
url_checks = stacked(
    option(
        "Pages",
        "--check-urls",
        metavar="N|all",
        type=types.COUNT,
        callback=check_size,
        help="Fetch a sample of N listed URLs, or all: report errors, redirects, noindex, canonicals and soft 404s, "
        "and estimate their shares. URLs that --crawl has are not fetched. Needs the extra pages.",
    ),
    option(
        "Pages",
        "--save-checks",
        type=types.FILE_WRITTEN,
        help="Write the results to FILE as JSONL, which --crawl reads.",
    ),
    option("Pages", "--seed", metavar="N", type=int, default=0, help="Seed of the sample of --check-urls."),
)
exit_code = flag("Output", "--exit-code", help="Exit with 1 if there is a difference.")

limit = number("Output", "--limit", default_is="no limit", help="Stop after N URLs.")

extras = flag("Output", "--extras", help="Also write elements of unknown namespaces, as extras of their URL.")

_DATES = stacked(
    option(
        "Filter",
        "--since",
        metavar="WHEN",
        type=types.WHEN,
        callback=when,
        default_is="no bound",
        help="Only URLs with a lastmod at or after WHEN: a date such as 2026-05-31, or an age such as 7d or 12h. "
        "Also skips sitemaps whose index lastmod is older: see --trust-lastmod.",
    ),
    option(
        "Filter",
        "--until",
        metavar="WHEN",
        type=types.WHEN,
        callback=when,
        default_is="no bound",
        help="Only URLs with a lastmod at or before WHEN; a date includes its whole day.",
    ),
    option(
        "Filter",
        "--undated",
        type=click.Choice(["keep", "drop"]),
        default="keep",
        help="With --since or --until: keep or drop URLs without a lastmod.",
    ),
    option(
        "Filter",
        "--trust-lastmod",
        type=click.Choice(AUTO_MODES),
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
        type=types.REGEX,
        multiple=True,
        callback=regexes,
        help=f"{help} (repeatable).",
    )


url_patterns = stacked(
    _patterns("--include", "Only URLs matching this regex"),
    _patterns("--exclude", "Exclude URLs matching this regex"),
    _patterns("--follow", "Follow only child sitemaps whose URL matches"),
    _patterns("--no-follow", "Skip sitemaps whose URL matches, even if robots.txt names them"),
    scope("protocol"),
)
url_query = stacked(_DATES, url_patterns)
comparison = stacked(
    option(
        "Comparison",
        "--at",
        metavar="WHEN",
        type=types.WHEN,
        callback=when_read,
        help="When files were read, from which ages are computed: a date, or name: the date in each file's name.",
    ),
    scope(None, "protocol; any for files"),
)


class TargetsArgument(click.Argument):
    """Any number of TARGETs; without one those of the config file."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """As click does, for which no TARGETs are a value too."""
        given = {name: value for name, value in opts.items() if name != self.name or value}
        return super().consume_value(ctx, given)


def _targets(*, required: bool) -> Callable[[Any], Any]:
    return click.argument(
        "targets", cls=TargetsArgument, metavar="TARGET...", type=types.TARGET, nargs=-1, required=required
    )


targets = _targets(required=True)
targets_if_any = _targets(required=False)
