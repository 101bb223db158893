"""The options that commands share, as decorators, and the callbacks that check their values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from ..checks.options import AuditOptions
from ..client.options import (
    ChangesOptions,
    FilterOptions,
    PatternOptions,
    QueryOptions,
    ReaderOptions,
    RemovalOptions,
    RobotsOptions,
    SnapshotOptions,
    SyncOptions,
)
from ..model.errors import UsageError
from ..model.limits import GIB, KIB, MIB, MOST_CRAWL_DELAY_SECONDS, MOST_DELAY_SECONDS, OPTIONS, Limits
from ..model.messages import Keyword
from ..model.options import Option, options_of
from ..scale.options import HarvestOptions
from ..serialize.writers import FORMATS
from ..watching.options import WatchOptions
from . import option_types as types
from .command import GroupedOption
from .option_types import as_option

if TYPE_CHECKING:
    from click.core import ParameterSource


# Callbacks of click: the text of an option -> its value. Values that the reader would refuse are refused here, so that
# the error names the option.


# RFC 9110 5.6.2: a field name is a token.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:([^\x00-\x08\x0a-\x1f\x7f]*)")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"([0-9]{1,18}) *(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


_MOST_SECONDS = {"delay": MOST_DELAY_SECONDS, "max_crawl_delay_seconds": MOST_CRAWL_DELAY_SECONDS}


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
    found = None if text is None else parse_size(text)
    if text is not None and found is None:
        raise click.BadParameter(f"{text!r} is not a size; write it as 500M, 2G or a number of bytes", context, param)
    return found


def parse_size(text: str) -> int | None:
    """The bytes of `500M`, `2 GiB` or `1000000`; None for text that is no size."""
    match = _BYTES.fullmatch(text.strip())
    return int(match[1]) * _UNITS[match[2].lower()] or None if match else None


def check_size(context: click.Context, param: click.Parameter, text: str | None) -> Any:
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit() and int(text)):
        raise click.BadParameter(f"{text!r} is neither a number of URLs, 1 or more, nor all", context, param)
    return int(text)


def header_text(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    if text is not None and (not text.strip() or _CONTROL.search(text)):
        raise click.BadParameter(f"{text!r} cannot be sent", context, param)
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
    try:
        yield
    except UsageError as exc:
        raise click.BadParameter(exc.spelled(as_option, is_named=False), context, param) from exc


@attrs.frozen
class OutputOptions:
    """The options of the output; those that a command lacks have their defaults."""

    output: str | None = None
    format: str | None = None
    fields: str | None = None
    no_formula_guard: bool = False
    bom: bool = False
    report: str | None = None
    quiet: bool = False
    verbose: bool = False

    @property
    def guard(self) -> bool:
        """Whether no cell of CSV and TSV may be a formula to a spreadsheet."""
        return not self.no_formula_guard

    def has_bom(self, format: str | None) -> bool:
        """Whether output of a format begins with a byte-order mark."""
        return self.bom and format in ("csv", "tsv")


def with_outputs(arguments: dict[str, Any]) -> dict[str, Any]:
    names = attrs.fields_dict(OutputOptions).keys() & arguments.keys()
    to = OutputOptions(**{name: arguments.pop(name) for name in names})
    return {**arguments, "to": to}


Function = TypeVar("Function", bound="Callable[..., Any]")

# Formats of tables.
ROWS_FORMATS = ("table", "tsv", "csv", "jsonl")

# Formats of reports, and of rows with every occurrence of a finding.
REPORT_FORMATS = ("text", "json", "html", "github", "sarif", "junit", "markdown")
OCCURRENCE_FORMATS = ("csv", "jsonl", "parquet")


def option(heading: str, *names: str, default_is: str | None = None, **kwargs: Any) -> Callable[[Function], Function]:
    """A click option under a heading of the help; `default_is` describes the default in words."""
    kwargs["show_default"] = default_is or True
    kwargs.setdefault("metavar", getattr(kwargs.get("type"), "metavar", None))
    return click.option(*names, cls=GroupedOption, heading=heading, **kwargs)


def stack(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one; options are in the help in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def flag(heading: str, *names: str, help: str, type: types.Switch = types.SWITCH) -> Callable[[Any], Any]:
    return option(heading, *names, is_flag=True, type=type, default_is="off", help=help)


def number(heading: str, *names: str, least: int = 1, most: int | None = None, **kwargs: Any) -> Callable[[Any], Any]:
    return option(heading, *names, metavar="N", type=click.IntRange(least, most), **kwargs)


def keyword(heading: str, options: type, name: str, **changes: Any) -> Callable[[Any], Any]:
    """The option of a keyword of the library, or one that turns it off; `changes` are what click needs besides."""
    declared = options_of(options)[name]
    if declared.choices:
        changes = {"type": types.Choice(declared.choices), "default": declared.option.default, **changes}
    elif declared.type == int | None:
        changes = {**_WHOLE_NUMBER, **changes}
    return _of_declaration(heading, name, declared.option, **changes)


_WHOLE_NUMBER: dict[str, Any] = {"metavar": "N", "type": click.IntRange(1)}


def _of_declaration(heading: str, name: str, declared: Option, **changes: Any) -> Callable[[Any], Any]:
    default, names = declared.default, declared.flags.split() or [f"--{name.replace('_', '-')}"]

    def check(context: click.Context, param: click.Parameter, value: Any) -> Any:
        with _as_bad_parameter(context, param):
            declared.check(str(param.name), value)
        return value

    given: dict[str, Any] = {"help": _help(declared, is_repeatable="multiple" in changes), "callback": check}
    if isinstance(default, bool):
        given |= {"is_flag": True, "type": types.SWITCH, "default_is": "off"}
        name = names[0].removeprefix("--").replace("-", "_") if default else name
    elif isinstance(default, int):
        given |= {**_WHOLE_NUMBER, "default": default}
    elif isinstance(default, float):
        default_is = "none" if math.isinf(default) else f"{default:g}"
        given |= {"metavar": "SECONDS", "type": float, "default": default, "default_is": default_is}
        given["callback"] = seconds_value
    return option(heading, name, *names, **{**given, **changes})


def _help(declared: Option, *, is_repeatable: bool) -> str:
    """The help that the library has, about options."""
    text = declared.text(lambda name: as_option(Keyword(name)))
    if declared.default is True:
        text = f"Do not {text[0].lower()}{text[1:]}"
    return f"{text.removesuffix('.')} (repeatable)." if is_repeatable else text


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

_FORMULA_GUARD = stack(
    flag(
        "Output",
        "--no-formula-guard",
        help="In CSV and TSV, do not put an apostrophe before text that a spreadsheet would run as a formula.",
    ),
    flag("Output", "--bom", help="Begin CSV and TSV with a byte-order mark, without which Excel misreads accents."),
)


def table_format(default: str) -> Callable[[Any], Any]:
    """--format of a table; `default` describes the default in words."""
    choices = types.Choice(ROWS_FORMATS)
    return stack(
        option("Output", "--format", type=choices, default_is=default, help="Output format of the rows."),
        _FORMULA_GUARD,
    )


_WITH_PYARROW = " or ".join(name for name, format in FORMATS.items() if format.needs_pyarrow)


def record_format(default: str) -> Callable[[Any], Any]:
    return stack(
        option(
            "Output",
            "--format",
            type=types.Choice([*FORMATS]),
            default_is=default,
            help=f"Output format of the URLs; {_WITH_PYARROW} needs pyarrow.",
        ),
        option(
            "Output",
            "--fields",
            type=types.FIELD_NAMES,
            default_is="all",
            help="Write only these fields, in this order: loc,lastmod,images.loc",
        ),
        _FORMULA_GUARD,
    )


unique = keyword("Output", QueryOptions, "unique")
_NO_BASE = "TARGETs are hosts, URLs or recordings"
base = keyword("Input", ReaderOptions, "base", type=types.SITE_URL, default_is=_NO_BASE)


def scope(default: str | None, default_is: str | None = None) -> Callable[[Any], Any]:
    return keyword("Filter", ReaderOptions, "scope", default=default, default_is=default_is)


verbosity = stack(_QUIET, _VERBOSE)
table_output = stack(output_file, table_format("table on a terminal, else tsv"), verbosity)
quiet = flag("Output", "-q", "--quiet", help="Show errors only: no summary.")
verbose = flag("Output", "-v", "--verbose", help="Show a line for each document that was read.")

_REQUIRED: dict[str, Any] = {"required": True, "default_is": "must be given"}

changed_on = keyword("Filter", SyncOptions, "on")
state = keyword("State", ChangesOptions, "state", type=types.FILE_WRITTEN, **_REQUIRED)
accept_removals = keyword("State", RemovalOptions, "accept_removals")
sync_options = stack(
    keyword("State", SyncOptions, "trust_lastmod"),
    keyword("State", SyncOptions, "dry_run"),
    keyword("State", SyncOptions, "full"),
    accept_removals,
    flag("State", "--history", help="Only list the runs stored in FILE, those of the TARGETs or of all sites."),
)
harvest = stack(
    option(
        "Output",
        "-o",
        "--output",
        type=types.FOLDER_WRITTEN,
        help="Folder for the tables; created if missing.",
        **_REQUIRED,
    ),
    keyword("Output", HarvestOptions, "resume"),
    flag("Output", "-q", "--quiet", help="Show errors only: no progress, no summary."),
    flag("Output", "-v", "--verbose", help="Name all hosts that were skipped or cut short, not only the first ones."),
    keyword("State", HarvestOptions, "state"),
    accept_removals,
    keyword("Workers", HarvestOptions, "scheduler", type=types.ADDRESS, default_is="workers on this machine"),
    keyword("Workers", HarvestOptions, "workers", default_is="cores"),
    keyword("Workers", HarvestOptions, "shards", type=click.IntRange(1, 99_999), default_is="by the number of hosts"),
    keyword("Workers", HarvestOptions, "hosts_at_once"),
    keyword("Safety", HarvestOptions, "host_seconds"),
    keyword("Safety", HarvestOptions, "host_urls"),
)
findings = stack(
    option(
        "Output",
        "--format",
        type=types.Choice([*REPORT_FORMATS, *OCCURRENCE_FORMATS]),
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
    keyword("Output", AuditOptions, "samples", type=click.IntRange(0)),
    option(
        "Output",
        "--fail-on",
        type=types.Choice(["error", "warning", "notice", "info", "never"]),
        default="error",
        help="Exit with 1 if there is a finding of this severity or a worse one; with --known a new one. "
        "info is notice.",
    ),
    keyword("Output", AuditOptions, "known", type=types.FILE_READ),
)
_NOW = "now; for a recording, when it was made"
rules = stack(
    keyword("Rules", AuditOptions, "select", type=types.CODES, multiple=True, default_is="all"),
    keyword("Rules", AuditOptions, "ignore", type=types.CODES, multiple=True),
    keyword("Rules", AuditOptions, "as_of", type=types.WHEN, default_is=_NOW),
    option(
        "Rules",
        "--explain",
        type=types.CODES,
        help="Explain codes (D03), families (D, dates) or all, without an audit: the rule, why it matters, the fix.",
    ),
)
_MAX_REMOVED = options_of(AuditOptions)["max_removed"].option.default
reference_files = stack(
    keyword("Against", AuditOptions, "crawl", type=types.FILE_READ),
    keyword("Against", AuditOptions, "baseline", type=types.FILE_READ, metavar="DUMP"),
    keyword("Against", AuditOptions, "state", type=types.FILE_READ),
    keyword(
        "Against", AuditOptions, "max_removed", type=types.THRESHOLD, default=_MAX_REMOVED, default_is=_MAX_REMOVED
    ),
    keyword("Against", AuditOptions, "baseline_crawl", type=types.FILE_READ),
)
robots_for = keyword("Rules", RobotsOptions, "robots_for", type=types.AGENTS, default_is="googlebot,bingbot")
robots_for_urls = keyword("Filter", RobotsOptions, "robots_for", type=types.AGENTS, default_is="not counted")
config_file = stack(
    option("Settings", "--config", type=types.FILE_READ, default_is="the nearest file", help="The config file."),
    flag("Settings", "--check", help="Only list what is wrong with the file; exit with 2 if anything is."),
)
url_checks = stack(
    keyword("Pages", AuditOptions, "check_urls", type=types.COUNT, callback=check_size),
    keyword("Pages", AuditOptions, "save_checks", type=types.FILE_WRITTEN),
    keyword("Pages", AuditOptions, "seed", type=int, metavar="N"),
)
exit_code = flag("Output", "--exit-code", help="Exit with 1 if there is a difference.")
check_removed = option(
    "Pages",
    "--check-removed",
    type=types.COUNT,
    callback=check_size,
    help="Request so many of the removed URLs, or all: what they answer, where they redirect, and whether NEW lists "
    "that page.",
)

limit = keyword("Output", QueryOptions, "limit", default_is="no limit")
extras = keyword("Output", ReaderOptions, "extras")

_PATTERN: dict[str, Any] = {"type": types.REGEX, "multiple": True}
url_patterns = stack(
    *(keyword("Filter", PatternOptions, name, **_PATTERN) for name in PatternOptions.__annotations__),
    scope("protocol"),
)
_BOUND: dict[str, Any] = {"type": types.WHEN, "default_is": "no bound"}
url_query = stack(
    keyword("Filter", FilterOptions, "since", **_BOUND),
    keyword("Filter", FilterOptions, "until", **_BOUND),
    keyword("Filter", FilterOptions, "undated"),
    keyword("Filter", FilterOptions, "trust_lastmod"),
    url_patterns,
)
comparison = stack(
    keyword("Comparison", SnapshotOptions, "at", type=types.WHEN),
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


_TO_STDOUT = "stdout, unless there is --listen"
_BUDGETS = ("budget", "host_budget", "least_interval", "sites_at_once")

watch = stack(
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
    keyword("Server", WatchOptions, "listen", type=types.LISTEN, default_is="no server"),
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


_DEFAULTS = Limits()


def _limit(name: str, heading: str = "Network", **changes: Any) -> Callable[[Any], Any]:
    return _of_declaration(heading, name, OPTIONS[name], **changes)


def _reader(name: str, heading: str = "Network", **changes: Any) -> Callable[[Any], Any]:
    return keyword(heading, ReaderOptions, name, **changes)


_SIZE: dict[str, Any] = {"metavar": "SIZE", "type": types.SIZE, "callback": size}
_DOCUMENT_LIMITS = (
    _limit("max_decoded_bytes", "Safety", default=f"{_DEFAULTS.max_decoded_bytes // MIB}M", **_SIZE),
    _limit(
        "max_wire_bytes",
        "Safety",
        default=None,
        default_is=f"{_DEFAULTS.max_wire_bytes // MIB}M, or --max-decoded-bytes if that is more",
        **_SIZE,
    ),
    _limit("max_entries", "Safety"),
)

_CONCURRENCY = _reader("concurrency")
_SITE_SECONDS = _limit("site_seconds")
_RECORD = _reader("record", type=types.FOLDER_WRITTEN, metavar="DIR|FILE.warc[.gz]")
_MAP = _reader("host_map", type=types.ADDRESS, callback=host_map, multiple=True, metavar="A=B")
_HEADERS = _reader("headers", type=types.HEADER, callback=headers, multiple=True)
_AUTH = _reader("auth", type=types.LOGIN)
_PROBE = _reader("probe")
_MAX_DEPTH = _limit("max_index_depth", "Safety", type=click.IntRange(0))
_NETWORK = (
    _CONCURRENCY,
    _reader("per_host"),
    option(
        "Network",
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=_DEFAULTS.read_seconds,
        default_is=f"{_DEFAULTS.read_seconds:g}",
        callback=seconds_value,
        help=f"Read timeout (connect timeout: {_DEFAULTS.connect_seconds:.0f} s).",
    ),
    number(
        "Network", "--retries", least=0, default=_DEFAULTS.tries - 1, help="Retries after 5xx, resets and timeouts."
    ),
    _limit("max_wait_seconds"),
    _SITE_SECONDS,
    _reader("delay"),
    _limit("max_crawl_delay_seconds"),
    _HEADERS,
    _AUTH,
    _reader("netrc", type=types.LOGINS_SWITCH),
    option("Network", "--netrc-file", type=types.NETRC, help="Read logins by host from this netrc file."),
    _reader("user_agent", type=types.USER_AGENT, callback=header_text, default_is="sitemap-reader/VERSION"),
    _reader("proxy", type=types.ADDRESS, metavar="URL"),
    _reader("cacert", type=types.CERTIFICATES, default_is="the system's certificates"),
    _reader("insecure", type=types.TRUST_SWITCH),
    _reader("obey_robots"),
    _PROBE,
    _RECORD,
    _MAP,
    _MAX_DEPTH,
    *_DOCUMENT_LIMITS,
    _reader("allow_private", "Safety", type=types.TRUST_SWITCH),
)

document_limits = stack(*_DOCUMENT_LIMITS)


def limits(kwargs: dict[str, Any], **others: Any) -> Limits:
    """Removes the options of limits from `kwargs` and returns them as Limits, with the fields `others`."""
    fields = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs}
    if fields.get("max_wire_bytes", 0) is None:
        fields["max_wire_bytes"] = max(_DEFAULTS.max_wire_bytes, fields["max_decoded_bytes"])
    return Limits(**fields, **others)


def _with_keywords(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with keywords of SitemapReader in place of the values of these options."""

    @wraps(function)
    def with_keywords(**kwargs: Any) -> Any:
        timeout, user_agent, netrc_file = kwargs.pop("timeout"), kwargs.pop("user_agent"), kwargs.pop("netrc_file")
        kwargs["limits"] = limits(
            kwargs,
            read_seconds=timeout,
            connect_seconds=min(timeout, _DEFAULTS.connect_seconds),
            tries=kwargs.pop("retries") + 1,
        )
        kwargs["obey_robots"] = not kwargs.pop("no_robots")
        if netrc_file is not None:
            kwargs["netrc"] = netrc_file
        if user_agent is not None:
            kwargs["user_agent"] = user_agent
        if kwargs["insecure"]:
            from .messages import Console  # imported late: --help does not need it

            Console(quiet=kwargs["quiet"]).note("warning TLS certificates are not verified (--insecure)")
        return function(**kwargs)

    return with_keywords


# Of requests for pages alone: those of a dump have no site that logins and headers would be for, and no sitemaps.
_OF_SITEMAPS = (_PROBE, _SITE_SECONDS, _RECORD, _HEADERS, _AUTH, _MAX_DEPTH, *_DOCUMENT_LIMITS)
# watch and harvest read many sites at once: these options have no meaning there, or, in harvest, another name.
_OF_ONE_SITE = (_CONCURRENCY, _RECORD, _MAP)
network = stack(*_NETWORK, _with_keywords)
watch_network = stack(*(each for each in _NETWORK if each not in _OF_ONE_SITE), _with_keywords)
page_network = stack(*(each for each in _NETWORK if each not in _OF_SITEMAPS), _with_keywords)
harvest_network = stack(*(each for each in _NETWORK if each not in (*_OF_ONE_SITE, _SITE_SECONDS)), _with_keywords)
