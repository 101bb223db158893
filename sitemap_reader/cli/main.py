"""The commands of `sitemap-reader`: declares their arguments and options, and calls the module of each.

That module is imported when its command runs, so that --help and `parse` load no network library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..serialize.writers import FORMATS
from ..version import __version__
from . import option_types as types
from . import options
from .command import CommandGroup, current_settings

if TYPE_CHECKING:
    from ..serialize.schema import Language, LineKind
    from .exits import Exit

_EXIT_CODES = """Exit codes: 0 complete; 1 audit or diff --exit-code found something; 2 usage; 3 partial; 4 no URL; \
5 no URL because of errors; 6 output or state not writable; 7 an internal error; 130 interrupted."""
_TITLES = [format.title for format in FORMATS.values()]
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _print_version(context: click.Context, option: click.Parameter, is_given: bool) -> None:
    if is_given:
        from ..parser.fast_path import HAS_SCANNER
        from ..serialize.schema import JSONL_VERSION
        from ..state.schema import state_version

        reader = "compiled scanner" if HAS_SCANNER else "expat only, which is slower: no C compiler at installation"
        click.echo(f"sitemap-reader {__version__} ({reader}; JSONL {JSONL_VERSION}, state {state_version()})")
        context.exit()


@click.group(cls=CommandGroup, context_settings=_SETTINGS, epilog=_EXIT_CODES)
@click.option(
    "--version",
    is_flag=True,
    type=types.SWITCH,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Read a site's sitemaps: every URL, with its data. Nothing is invented, nothing is dropped without a report.

    A TARGET is a host (example.com); the URL of a site, of a sitemap or of a robots.txt; a recording: a folder
    written by --record, or a WARC file; or, with --base, the folder or a file of a site that is not deployed yet.
    """


@main.command(
    epilog="sitemap-reader dump example.com > urls.jsonl\n"
    "sitemap-reader dump https://example.com/news.xml --since 7d | jq -r .loc\n"
    "sitemap-reader dump example.com --include /products/ --fields loc,lastmod,images.loc -o products.csv",
    help=f"""Write every URL as {", ".join(_TITLES[:-1])} or {_TITLES[-1]}.

    Each URL of the TARGETs is written as soon as it is read.

    With several TARGETs each line has a "site". A TARGET of - reads a list of them from stdin: one a line, blank
    lines and # comments are skipped.
    """,
)
@options.targets
@options.base
@options.output_file
@options.record_format("by the suffix of -o, else jsonl")
@options.unique
@options.limit
@options.extras
@options.report
@options.verbosity
@options.url_query
@options.network
def dump(**arguments: Any) -> Exit:
    from .dump import run

    return run(**options.with_outputs(arguments))


@main.command(
    epilog="sitemap-reader parse sitemap.xml.gz --url https://example.com/sitemap.xml.gz\n"
    "sitemap-reader parse sitemap.xml.gz --fields loc,lastmod -o urls.csv\n"
    "curl -s https://example.com/sitemap.xml | sitemap-reader parse - --report -",
)
@click.argument("file", metavar="FILE|-", type=types.FILE_READ)
@options.option(
    "Document", "--url", type=types.SITE_URL, help="URL of the document, for its relative URLs and for --scope."
)
@options.option("Document", "--content-type", type=types.CONTENT_TYPE, help="Content-Type of the document.")
@options.output_file
@options.record_format("by the suffix of -o, else jsonl")
@options.extras
@options.report
@options.verbosity
@options.scope("any")
@options.option(
    "Filter",
    "--authority",
    "authorities",
    metavar="PREFIX",
    type=types.SITE_URL,
    multiple=True,
    help="URL prefix that the document may list besides its own directory (repeatable).",
)
@options.document_limits
def parse(**arguments: Any) -> Exit:
    """Read one document from a file or stdin, without the network.

    audit and dump with --base read a whole folder, or a file as that of a site.

    URLs, and the child sitemaps of an index, are written as JSONL; the other formats have only the URLs. With
    --report - the problems are written too, all in document order, and the outcome at the end.
    """
    from .parse import run

    return run(limits=options.limits(arguments), **options.with_outputs(arguments))


@main.command(epilog="sitemap-reader discover example.com\nsitemap-reader discover - --format jsonl < hosts.txt")
@options.targets
@options.base
@options.table_output
@options.network
def discover(**arguments: Any) -> Exit:
    """List the sitemaps of the TARGETs, and how each was found.

    Sitemaps named by robots.txt are always listed; a link of the start page or a well-known path only if it is a
    sitemap or is refused.
    """
    from .tree import run_discover

    return run_discover(**options.with_outputs(arguments))


@main.command(epilog="sitemap-reader tree example.com\nsitemap-reader tree example.com | sort -t$'\\t' -k6")
@options.targets
@options.base
@options.table_output
@options.scope("protocol")
@options.network
def tree(**arguments: Any) -> Exit:
    """Show which sitemap lists which, with counts and dates.

    "lastmod" is the date that the index states for a sitemap, "newest" the newest lastmod in the sitemap.
    """
    from .tree import run

    return run(**options.with_outputs(arguments))


@main.command(epilog="sitemap-reader stats example.com\nsitemap-reader stats urls.jsonl --format jsonl | jq .")
@click.argument("target", metavar="TARGET|FILE", type=types.TARGET)
@options.base
@options.robots_for_urls
@options.table_output
@options.url_query
@options.network
def stats(**arguments: Any) -> Exit:
    """Summarise a site on one screen: counts, dates, sections.

    FILE is a dump (JSONL or Parquet); - reads one from stdin.
    """
    from .stats import run

    return run(**options.with_outputs(arguments))


@main.command(
    epilog="sitemap-reader sync example.com --state sites.db >> changes.jsonl\n"
    "sitemap-reader sync example.com --state items.db --follow products | jq -r 'select(.change == \"new\") | .loc'\n"
    "sitemap-reader sync --state sites.db --history",
)
@options.targets_if_any
@options.base
@options.state
@options.sync_options
@options.output_file
@options.table_format("table on a terminal, else jsonl")
@options.report
@options.verbosity
@options.changed_on
@options.url_patterns
@options.extras
@options.network
def sync(**arguments: Any) -> Exit:
    """Write what is new, updated and removed since the last run.

    The state FILE holds what each site listed. Sitemaps that the server or the index reports as unchanged are not read
    again. In the first run every URL is new. Each is written once, however many sitemaps list it.

    Changes are delivered at least once: after a crash the next run resumes, and may repeat the changes of the last
    sitemap, or of the last ones with up to 10,000 URLs together.
    """
    from .sync import run

    return run(**options.with_outputs(arguments))


@main.command(
    epilog="sitemap-reader watch example.com --state sites.db >> changes.jsonl\n"
    "sitemap-reader watch hosts.txt --state sites.db --to changes.jsonl --rotate daily --listen 127.0.0.1:8080\n"
    "sitemap-reader watch hosts.txt --state sites.db --webhook https://example.com/hook --budget 10000",
)
@click.argument("hosts", metavar="HOSTS...", type=types.TARGET, nargs=-1)
@options.state
@options.watch
@options.verbosity
@options.changed_on
@options.url_patterns
@options.extras
@options.watch_network
def watch(**arguments: Any) -> Exit:
    """Watch sites, and report changes soon after they happen.

    HOSTS are hosts, files with one a line, or - for stdin. Runs until it is stopped. Each sitemap is requested again
    when that pays: by how often it has changed so far and what its index states, within the budget of requests.

    Changes are delivered at least once; after a restart the watch continues where it was.
    """
    from .watch import run

    return run(**arguments)


@main.command(
    epilog="sitemap-reader harvest hosts.txt -o harvest\n"
    "sitemap-reader harvest hosts.txt -o harvest --resume\n"
    "sitemap-reader harvest hosts.txt -o daily --state --hosts-at-once 100\n"
    "duckdb -c \"SELECT site, count(*) FROM 'harvest/urls/*.parquet' GROUP BY site\"",
)
@click.argument("hosts", metavar="HOSTS|-", type=types.TARGET)
@options.harvest
@options.url_query
@options.extras
@options.harvest_network
def harvest(**arguments: Any) -> Exit:
    """Read the sitemaps of very many HOSTS on all cores, or on Dask.

    HOSTS is a file with one host a line; blank lines and # comments are skipped. DIR gets the tables urls, sitemaps,
    problems and hosts, each a folder with one Parquet file per shard. All hosts of a domain are in one shard, and are
    read one after the other.

    A shard is written whole or not at all; --resume reads the missing ones.
    """
    from .harvest import run

    return run(**arguments)


@main.command(
    epilog="sitemap-reader audit example.com\n"
    "sitemap-reader audit example.com --crawl internal_all.csv -o report.html\n"
    "sitemap-reader audit public/ --base https://www.example.com\n"
    "sitemap-reader audit example.com --check-urls 500 --select D --select C --fail-on never\n"
    "sitemap-reader audit urls.jsonl --select D,L --fail-on warning\n"
    "sitemap-reader audit example.com --exclude /private/\n"
    "sitemap-reader audit --explain D03",
)
@click.argument("targets", metavar="TARGET|FILE...", type=types.TARGET, nargs=-1)
@options.base
@options.output_file
@options.findings
@options.quiet
@options.verbose
@options.rules
@options.robots_for
@options.url_checks
@options.reference_files
@options.url_patterns
@options.network
def audit(**arguments: Any) -> Exit:
    """Report what is wrong with a site's sitemaps, and how to fix it.

    FILE is a dump (JSONL or Parquet); - reads one from stdin. To check its sitemaps too, write it with "dump SITE
    --report - > FILE". With several TARGETs or FILEs the report has a total and a part for each.
    """
    from .audit import run

    settings = current_settings()
    return run(policy=settings.policy if settings else None, **options.with_outputs(arguments))


@main.command(
    epilog="sitemap-reader compare example.com rival.jsonl -o market.html\n"
    "sitemap-reader compare monday.jsonl -o monday.html --at 2026-11-02",
)
@options.targets
@options.output_file
@options.quiet
@options.comparison
@options.network
def compare(**arguments: Any) -> Exit:
    """Compare sites on one HTML page.

    It has their sections, rhythm, languages, trust in lastmods and topics, and what the other sites have and the first
    TARGET has not. TARGETs may also be dumps, sitemap files,
    states of `sync`, folders and patterns of files. It needs the extra `analysis`.
    """
    from .compare import run

    return run(**arguments)


@main.command(
    epilog="sitemap-reader diff monday.jsonl tuesday.jsonl\n"
    "sitemap-reader diff old.jsonl new.jsonl --on lastmod --format jsonl | jq -r 'select(.change == \"new\") | .loc'\n"
    "sitemap-reader diff old.jsonl new.jsonl --check-removed all -o removed.csv",
)
@click.argument("old", metavar="OLD", type=types.FILE_READ)
@click.argument("new", metavar="NEW", type=types.FILE_READ)
@options.output_file
@options.table_format("table on a terminal, else jsonl")
@options.changed_on
@options.exit_code
@options.quiet
@options.check_removed
@options.page_network
def diff(**arguments: Any) -> Exit:
    """Compare dumps, states, sitemaps or lists of URLs.

    OLD and NEW are dumps (JSONL or Parquet), state files of `sync`, sitemap files (XML, text, RSS or Atom, also
    .gz), lists of URLs, or tables (CSV) with a column loc, url or Address; one of them may be -, stdin. A URL that
    only moved to another sitemap is not a change.
    """
    from .compare import run_diff

    return run_diff(**options.with_outputs(arguments))


@main.command(
    epilog="sitemap-reader convert urls.jsonl -o urls.parquet\n"
    "sitemap-reader convert urls.jsonl -o urls.jsonl.zst\n"
    "sitemap-reader convert urls.jsonl --format csv --fields loc,lastmod,news.title > news.csv",
)
@click.argument("file", metavar="FILE|-", type=types.FILE_READ)
@options.output_file
@options.record_format("by the suffix of -o")
@options.unique
@options.quiet
def convert(**arguments: Any) -> Exit:
    """Convert a dump (JSONL or Parquet) to another format."""
    from .convert import run

    return run(**options.with_outputs(arguments))


@main.command(
    has_settings=False,
    epilog="sitemap-reader config\nsitemap-reader config audit\nsitemap-reader config --check",
)
@click.argument("command", metavar="[COMMAND]", type=types.COMMAND, required=False)
@options.config_file
def config(**arguments: Any) -> Exit:
    """Print what the config file sets, and where.

    The file is the nearest sitemap-reader.toml, or pyproject.toml with a table [tool.sitemap-reader], of the working
    folder, or of a folder above it in the same repository. With COMMAND all options of that command are printed,
    defaults as comments. Options of the command line replace those of the file.
    """
    from .config import run

    return run(**arguments)


@main.command(
    has_settings=False,
    epilog="sitemap-reader schema json -o line.schema.json\n"
    "duckdb -c \"SELECT loc FROM read_json('urls.jsonl', format='newline_delimited', "
    'columns=$(sitemap-reader schema duckdb))"',
)
@click.argument("language", metavar="LANGUAGE", type=types.Choice(["json", "duckdb", "polars", "arrow"]))
@options.option(
    "Lines",
    "--of",
    type=types.Choice(["urls", "changes"]),
    default="urls",
    help="Lines of dump, or of sync, watch and diff; json has both.",
)
@options.output_file
def schema(language: Language, of: LineKind, output: str | None) -> Exit:
    """Print the types of the JSONL, for DuckDB and others.

    Programs that infer the types from the first lines lose columns that only later lines have.

    json is a JSON Schema of the lines of dump, parse, discover, sync, diff and --report. The others have the types of
    one kind of lines: duckdb for read_json(columns=...); polars, a Python expression, for read_ndjson(schema=...);
    arrow, a Python expression, for pyarrow.json.
    """
    from ..serialize import schema as declared
    from .exits import Exit
    from .output import open_outputs

    with open_outputs(output) as outputs:
        outputs.records.write(f"{declared.schema(language, of)}\n".encode())
    return Exit.COMPLETE
