"""The command line: arguments -> one call each.

Every command's work is imported when it runs, so that help, and parse, load no network library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..version import __version__
from . import options
from .command import Command, CommandGroup

if TYPE_CHECKING:
    from .exits import Exit

_NAMES = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    cls=CommandGroup,
    context_settings=_NAMES,
    epilog="Exit codes: 0 complete, 2 usage, 3 partial, 4 no URL, 5 no URL because of errors, 6 output not "
    "writable, 130 interrupted.",
)
@click.version_option(__version__, prog_name="sitemap-reader")
def main() -> None:
    """Reads a site's sitemaps as a crawler should: every URL, nothing invented, nothing lost in silence.

    A TARGET is a host (example.com), the URL of a site, of a sitemap or of a robots.txt, or a folder that
    --record has written.
    """


@main.command(
    cls=Command,
    epilog="sitemap-reader dump example.com > urls.jsonl\n"
    "sitemap-reader dump https://example.com/news.xml --since 7d | jq -r .loc",
)
@options.targets
@options.line_output
@options.extras
@options.limit
@options.dates
@options.scope("protocol")
@options.network
def dump(**arguments: Any) -> Exit:
    """Write every URL of the TARGETs as JSONL, as it is read.

    With several TARGETs each line has a "site". A TARGET of - reads a list of them from stdin: one a line, blank
    lines and # comments are skipped.
    """
    from .dump import run

    return run(**arguments.pop("reading"), **arguments)


@main.command(
    cls=Command,
    epilog="sitemap-reader parse sitemap.xml.gz --url https://example.com/sitemap.xml.gz\n"
    "curl -s https://example.com/sitemap.xml | sitemap-reader parse - --report -",
)
@click.argument("file", metavar="FILE|-")
@options.option(
    "Document", "--url", metavar="URL", default_is="none", help="Where the document is from: relative URLs go by it."
)
@options.option(
    "Document", "--content-type", metavar="TYPE", default_is="none", help="The Content-Type that it came with."
)
@options.line_output
@options.extras
@options.scope("any")
@options.option(
    "Filter",
    "--authority",
    "authorities",
    metavar="PREFIX",
    multiple=True,
    default_is="none",
    help="A URL prefix that the document may list besides its own folder; may be repeated.",
)
@options.document_limits
def parse(**arguments: Any) -> Exit:
    """Read one document, a file or stdin, without any network.

    URLs go to stdout as JSONL, and of an index its sitemaps. With --report - every item comes in document order,
    problems included, and the outcome last.
    """
    from .parse import run

    return run(limits=options.limits(arguments), **arguments)


@main.command(
    cls=Command,
    epilog="sitemap-reader discover example.com\nsitemap-reader discover - --format jsonl < hosts.txt",
)
@options.targets
@options.table_output
@options.network
def discover(**arguments: Any) -> Exit:
    """List the sitemaps of the TARGETs, and why each is known.

    What robots.txt names is always listed; a well-known path only where it holds a sitemap.
    """
    from .discover import run

    return run(**arguments.pop("reading"), **arguments)


@main.command(
    cls=Command,
    epilog="sitemap-reader tree example.com\nsitemap-reader tree example.com | sort -t$'\\t' -k6",
)
@options.targets
@options.table_output
@options.scope("protocol")
@options.network
def tree(**arguments: Any) -> Exit:
    """Show which sitemap lists which, how many entries each has, and how new they are.

    "lastmod" is what the index states of a sitemap, "newest" the newest date inside it.
    """
    from .tree import run

    return run(**arguments.pop("reading"), **arguments)


@main.command(
    cls=Command,
    epilog="sitemap-reader schema json -o line.schema.json\n"
    "duckdb -c \"SELECT loc FROM read_json('urls.jsonl', format='newline_delimited', "
    'columns=$(sitemap-reader schema duckdb))"',
)
@click.argument("language", metavar="LANGUAGE", type=click.Choice(["json", "duckdb", "polars", "arrow"]))
@options.output_file
def schema(**arguments: Any) -> Exit:
    """Print the types of the JSONL, so that late columns and nested values survive.

    LANGUAGE is json, a JSON Schema of every kind of line; or, of the lines that are URLs, duckdb: what
    read_json(columns=...) takes; polars: a Python expression of pl, for read_ndjson(schema=...); arrow: one of pa, for
    pyarrow.json.
    """
    from .schema import run

    return run(**arguments)
