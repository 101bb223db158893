"""`dump`: writes every URL of the targets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from ..client.crawler import url_batches
from ..client.summary import UrlSet
from ..client.targets import find_target
from ..model.problems import count_of
from ..model.summary import Summary
from ..model.url_batch import PRECISION_CODES
from ..serialize.schema import EXTRAS, SITE, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit, judge
from .messages import Console, read_each, read_targets_at, utf8
from .output import format_for, is_terminal, open_outputs

if TYPE_CHECKING:
    from ..client.targets import Target
    from .options import OutputOptions


def run(*, targets: Sequence[str], to: OutputOptions, unique: bool, limit: int | None, **reading: Any) -> Exit:
    """Reads the targets one after the other; `reading` are keywords of client.crawler.url_batches()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    names = read_targets_at(targets, reading)
    chosen = None if to.fields is None else parse_fields(to.fields)
    roots = chosen.roots if chosen else frozenset()
    names_sites = len(names) > 1 or SITE in roots
    reading["extras"] = reading["extras"] or EXTRAS in roots
    reading["unique"] = UrlSet() if unique else False
    reading["on_progress"] = console.progress(beside_lines=is_terminal(to.output))
    format = format_for(to.output, to.format, FORMATS) or "jsonl"
    has_window = reading["since"] or reading["until"]
    undated, in_year, summaries = 0, 0, list[Summary]()
    with open_outputs(
        to.output, to.report, format=format, fields=chosen, guard=to.guard, bom=to.has_bom(format)
    ) as outputs:

        def read(target: str | Target) -> Exit:
            nonlocal undated, in_year
            left = None if limit is None else limit - sum(each.urls for each in summaries)
            if left == 0:
                return Exit.COMPLETE
            found = find_target(target, reading["base"])
            site = utf8(found.name) if names_sites else None
            callbacks = outputs.callbacks(site, console)
            # Deferred: the summary counts exactly what was written.
            with outputs.interrupts.deferred(), url_batches(found, limit=left, **callbacks, **reading) as stream:
                try:
                    for urls in stream:
                        outputs.sink.write_urls(urls, site=site)
                        if has_window:
                            undated += urls.lastmods.count(None)
                            in_year += len(urls.dates.get(PRECISION_CODES["year"], ()))
                        outputs.interrupts.check()
                finally:
                    summaries.append(stream.summary)
            return judge(found.name, summaries[-1])

        codes = read_each(names, console, read)
        outputs.decide(codes, sum(each.urls for each in summaries))
    if undated:
        them = "it" if undated == 1 else "them"
        console.note(f"note {count_of(undated, 'URL')} without a lastmod; --undated drop leaves {them} out")
    if in_year:
        console.note(f"note {count_of(in_year, 'URL')} dated to the year only: any day of it may be meant")
    if not summaries:  # no target was valid
        return console.end(None, None, codes)
    total = reduce(add, summaries)
    return console.end(total.text, total.partial_line(), codes)
