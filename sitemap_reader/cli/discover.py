"""`discover`: lists the sitemaps of the targets, and how each was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from ..client.reader import discover
from ..client.summary import SummaryBuilder
from ..client.targets import find_target
from ..model.errors import NothingFound
from ..model.problems import count_of
from ..model.records import Candidate, UrlRecord
from ..parser.content.sniff import SITEMAP_FORMATS
from ..serialize.jsonl import json_line
from .exits import Exit
from .messages import Console, read_each, read_targets_at
from .output import open_outputs, rows_format_for
from .tables import rows_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..client.targets import Target
    from ..model.records import Item
    from .options import OutputOptions

HEADER = ("site", *attrs.fields_dict(Candidate))


def run(*, targets: Sequence[str], to: OutputOptions, **reading: Any) -> Exit:
    """Writes a row for each candidate; `reading` are keywords of sitemap_reader.discover()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    names = read_targets_at(targets, reading)
    format = rows_format_for(to)
    found: list[tuple[str, Candidate]] = []

    def read(target: str | Target) -> Exit:
        builder = SummaryBuilder(on_item=console.show)

        def take(item: Item) -> None:
            if not isinstance(item, UrlRecord):  # there are none
                builder.record([item])

        site = find_target(target, reading["base"])
        candidates = discover(site, on_item=take, **reading)
        found.extend((site.name, candidate) for candidate in candidates)
        good = sum(candidate.format in SITEMAP_FORMATS for candidate in candidates)
        if not candidates or (builder.blocked and not good):
            message = f"no sitemap found for {site.name}; give its URL, if you know it"
            raise builder.verdict(site.name) or NothingFound(message)
        if good == len(candidates) and not builder.problems.counts["S16"]:
            return Exit.COMPLETE
        return Exit.PARTIAL if good else Exit.UNREADABLE

    with open_outputs(to.output, is_json=format == "jsonl", bom=to.has_bom(format)) as outputs:
        codes = read_each(names, console, read)
        outputs.decide(codes)
        first = 0 if len(names) > 1 else 1
        if format == "jsonl":
            lines: Iterator[bytes] = (json_line(each, site=None if first else site) for site, each in found)
        else:
            rows = [(site, *attrs.astuple(candidate))[first:] for site, candidate in found]
            lines = rows_as(format, HEADER[first:], rows, right=("status",), to=to)
        outputs.records.write_lines(b"".join(lines))
    if set(codes) == {Exit.USAGE}:
        return console.end(None, None, codes)
    holding = sum(candidate.format in SITEMAP_FORMATS for _, candidate in found)
    summary = f"{count_of(holding, 'sitemap')} found"
    if others := len(found) - holding:
        summary += f"; {count_of(others, 'other candidate')} could not be read"
    return console.end(summary, "partial: not every robots.txt or candidate could be read", codes)
