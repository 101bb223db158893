"""`tree`: shows which sitemap lists which. `discover`: lists the sitemaps of the targets, and how each was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.crawler import discover, urls
from ..client.sitemap_tree import SitemapTree, TreeRow
from ..client.summary import SummaryBuilder
from ..client.targets import find_target
from ..model.errors import NothingFound
from ..model.problems import count_of
from ..model.records import Candidate, UrlRecord
from ..model.summary import Summary
from ..parser.content.sniff import SITEMAP_FORMATS
from ..serialize.jsonl import json_line
from ..statistics.facts import as_stated
from .exits import Exit, judge
from .messages import Console, read_each, read_targets_at
from .output import open_outputs, rows_format_for
from .tables import rows_as

if TYPE_CHECKING:
    from ..client.targets import Target
    from ..model.records import Item
    from .options import OutputOptions


TSV_HEADER = ("site", "depth", "url", "format", "entries", "lastmod", "newest", "complete", "kept", "status", "problem")


def run(*, targets: Sequence[str], to: OutputOptions, **reading: Any) -> Exit:
    """Writes a row for each document; `reading` are keywords of sitemap_reader.urls()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    names = read_targets_at(targets, reading)
    format = rows_format_for(to)
    trees, summaries = list[tuple[str, SitemapTree]](), list[Summary]()
    with open_outputs(to.output, is_json=format == "jsonl", bom=to.has_bom(format)) as outputs:
        check = outputs.interrupts.check

        def read(target: str | Target) -> Exit:
            found, tree = find_target(target, reading["base"]), SitemapTree()

            def take(item: Item) -> None:
                console.show(item)
                tree.add(item)

            callbacks: dict[str, Any] = {"on_item": take, "on_wait": check, "on_progress": console.progress()}
            # Deferred: an interrupt between two statements would leave half an item in the tree.
            with outputs.interrupts.deferred(), urls(found, **callbacks, **reading) as stream:
                trees.append((found.name, tree))
                try:
                    for record in stream:
                        tree.note(record.sitemap, record.lastmod, record.lastmod_precision)
                        check()
                finally:
                    summaries.append(stream.summary)
            return judge(found.name, summaries[-1])

        codes = read_each(names, console, read)
        outputs.decide(codes)
        rows = [(site, row) for site, tree in trees for row in tree.rows()]
        if format == "jsonl":
            lines: Iterator[bytes] = (_json_line(row, site if len(names) > 1 else None) for site, row in rows)
        else:
            first = 0 if len(names) > 1 else 1
            values = [[site, *(getattr(row, name) for name in TSV_HEADER[1:])][first:] for site, row in rows]
            table = _table(rows) if format == "table" else (TSV_HEADER[first:], values)
            lines = rows_as(format, *table, right=("entries", "kept", "status"), to=to)
        outputs.records.write_lines(b"".join(lines))
    if not summaries:  # no target was valid
        return console.end(None, None, codes)
    total = reduce(add, summaries)
    return console.end(total.text, total.partial_line(), codes)


def _table(rows: Sequence[tuple[str, TreeRow]]) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """`kept` only if something was dropped, `problem` only if there is one; the root of a tree names its site."""
    columns: dict[str, list[Any]] = {
        "sitemap": [row.branch + row.url for _, row in rows],
        "format": [row.format for _, row in rows],
        "entries": [_grouped(row.entries) for _, row in rows],
        "kept": [_grouped(row.kept) for _, row in rows],
        "lastmod": [_date(row.lastmod, row.lastmod_precision) for _, row in rows],
        "newest": [_date(row.newest, row.newest_precision) for _, row in rows],
        "status": [row.status for _, row in rows],
        "complete": [row.complete for _, row in rows],
        "problem": [row.problem for _, row in rows],
    }
    if columns["kept"] == columns["entries"]:
        del columns["kept"]
    if not any(columns["problem"]):
        del columns["problem"]
    return tuple(columns), [*zip(*columns.values(), strict=True)]


def _date(stamp: str | None, precision: str | None) -> str | None:
    return as_stated(stamp, precision) if stamp and precision else stamp


def _grouped(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def _json_line(row: TreeRow, site: str | None) -> bytes:
    left_out = ("branch", "bytes_decoded", "seconds", "problems")
    json_object = {"type": "node", **attrs.asdict(row, filter=lambda field, _: field.name not in left_out)}
    if site is not None:
        json_object["site"] = site
    return orjson.dumps(json_object, option=orjson.OPT_APPEND_NEWLINE)


CANDIDATE_HEADER = ("site", *attrs.fields_dict(Candidate))


def run_discover(*, targets: Sequence[str], to: OutputOptions, **reading: Any) -> Exit:
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
            lines = rows_as(format, CANDIDATE_HEADER[first:], rows, right=("status",), to=to)
        outputs.records.write_lines(b"".join(lines))
    if set(codes) == {Exit.USAGE}:
        return console.end(None, None, codes)
    holding = sum(candidate.format in SITEMAP_FORMATS for _, candidate in found)
    summary = f"{count_of(holding, 'sitemap')} found"
    if others := len(found) - holding:
        summary += f"; {count_of(others, 'other candidate')} could not be read"
    return console.end(summary, "partial: not every robots.txt or candidate could be read", codes)
