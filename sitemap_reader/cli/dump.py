"""`dump`: writes every URL of the targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from ..client.dedupe import UrlSet
from ..client.summary import count_of
from ..client.sync_api import url_batches
from ..client.targets import find_target
from ..serialize.projection import EXTRAS, SITE, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit, judge
from .messages import Console, read_each, read_targets_at, utf8
from .output import Outputs, format_for, is_terminal, open_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.summary import Summary
    from ..client.targets import Target
    from .options import OutputOptions


def run(*, targets: Sequence[str], to: OutputOptions, unique: bool, limit: int | None, **reading: Any) -> Exit:
    """Reads the targets one after the other; `reading` are keywords of client.sync_api.url_batches()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    names = read_targets_at(targets, reading)
    chosen = None if to.fields is None else parse_fields(to.fields)
    roots = chosen.roots if chosen else frozenset()
    names_sites = len(names) > 1 or SITE in roots
    reading["extras"] = reading["extras"] or EXTRAS in roots
    reading["unique"] = UrlSet() if unique else False
    reading["on_progress"] = console.progress(beside_lines=is_terminal(to.output))
    format = format_for(to.output, to.format, FORMATS) or "jsonl"
    with open_outputs(to.output, to.report, format=format, fields=chosen, guard=to.guard) as outputs:
        dump = _Dump(console, outputs, reading, limit, names_sites)
        codes = read_each(names, console, dump.site)
        outputs.decide(codes, dump.total.urls if dump.total else 0)
    if dump.undated:
        console.note(f"note {count_of(dump.undated, 'URL')} without a lastmod; --undated drop leaves them out")
    if dump.total is None:  # no target was valid
        return console.end(None, None, codes)
    return console.end(dump.total.text, dump.total.partial_line(), codes)


@attrs.define
class _Dump:
    """Writes the URLs of one target after the other; `total` sums them up."""

    console: Console
    outputs: Outputs
    reading: dict[str, Any]
    limit: int | None
    names_sites: bool
    undated: int = 0
    total: Summary | None = None

    def site(self, target: str | Target) -> Exit:
        """Reads one target, up to what is left of the limit."""
        left = None if self.limit is None else self.limit - (self.total.urls if self.total else 0)
        if left == 0:
            return Exit.COMPLETE
        found = find_target(target, self.reading["base"])
        site = utf8(found.name) if self.names_sites else None
        callbacks = self.outputs.callbacks(site, self.console)
        has_window = self.reading["since"] or self.reading["until"]
        # Deferred: the summary counts exactly what was written.
        with self.outputs.interrupts.deferred(), url_batches(found, limit=left, **callbacks, **self.reading) as stream:
            try:
                for urls in stream:
                    self.outputs.sink.write_urls(urls, site=site)
                    if has_window:
                        self.undated += urls.lastmods.count(None)
                    self.outputs.interrupts.check()
            finally:
                summary = stream.summary
                self.total = self.total + summary if self.total else summary
        return judge(found.name, summary)
