"""`sync`: writes what is new, updated and removed since the last run, and the history of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.crawler import change_pieces
from ..client.summary import held_back_text
from ..client.targets import find_target
from ..model.errors import UsageError
from ..model.messages import Message
from ..model.problems import count_of
from ..model.records import ChangeCounts
from ..serialize.dumps import STDIN
from ..serialize.jsonl import encode_changes, stamp
from ..state.state import State, site_name
from .exits import Exit, any_read
from .messages import Console, read_each, read_targets_at, utf8
from .output import Outputs, is_terminal, open_outputs, rows_format_for
from .tables import change_header, change_lines, rows_as

if TYPE_CHECKING:
    from ..client.targets import Target
    from ..model.summary import Summary
    from ..state.documents import StoredDocument
    from .options import OutputOptions


def run(*, targets: Sequence[str], state: str, history: bool, to: OutputOptions, **reading: Any) -> Exit:
    """Reads the targets one after the other; `reading` are keywords of client.crawler.changes()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    format = rows_format_for(to, elsewhere="jsonl")
    if history:
        return _history(console, targets, state, format, to)
    if not targets:
        raise UsageError("give a TARGET, or --history to list the runs in FILE")
    if state == STDIN:
        raise UsageError("--state names a file, which is read and written: it cannot be -")
    names = read_targets_at(targets, reading)
    reading["on_progress"] = console.progress(beside_lines=is_terminal(to.output))
    # In place: changes that the state counts as delivered are in the file, also after a kill.
    with open_outputs(
        to.output, to.report, in_place=True, is_json=format == "jsonl", bom=to.has_bom(format)
    ) as outputs:
        sync = _Sync(console, outputs, state, format, reading, len(names) > 1, to)
        codes = read_each(names, console, sync.site)
        outputs.decide(codes)
        if any_read(codes):
            sync.begin()
    if sync.total is None:  # no target was valid
        return console.end(None, None, codes)
    return console.end(Message(f"{sync.counts}; ", sync.total.text), sync.missing(), codes)


@attrs.define
class _Sync:
    console: Console
    outputs: Outputs
    state: str
    format: str
    reading: dict[str, Any]
    names_sites: bool
    to: OutputOptions
    total: Summary | None = None
    counts: ChangeCounts = attrs.field(factory=ChangeCounts)
    has_begun: bool = False

    def site(self, target: str | Target) -> Exit:
        """Reads one target, and writes changes before the next ones are requested, which counts as their delivery."""
        found = find_target(target, self.reading["base"])
        site = utf8(found.name) if self.names_sites else None

        def show_trust(document: StoredDocument) -> None:
            self.console.detail(f"lastmod of {document.url}: score {document.lastmod_trust}")

        callbacks = {**self.outputs.callbacks(site, self.console), "on_document": show_trust}
        with (
            self.outputs.interrupts.deferred(),
            change_pieces(found, state=self.state, **callbacks, **self.reading) as stream,
        ):
            try:
                for piece in stream:
                    self._write(encode_changes(piece, site=site))
                    self.outputs.interrupts.check()
            finally:
                summary = stream.summary
                self.total = self.total + summary if self.total else summary
                self.counts += stream.counts
                if stream.removals_suspended:
                    count = summary.failed + summary.incomplete
                    rest = "the rest of the site" if summary.stopped else "robots.txt"
                    what = f"{count_of(count, 'sitemap') if count else rest} could not be read"
                    of_site = f" for {site}" if site else ""
                    whole = " whole" if summary.incomplete else ""
                    self.console.note(f"removals suspended{of_site}: {what}{whole}")
        return Exit.COMPLETE if summary.complete and not stream.counts.held_back else Exit.PARTIAL

    def missing(self) -> str | None:
        held_back = self.counts.held_back
        parts = [self.total.missing() if self.total else "", held_back_text(held_back) if held_back else ""]
        missing = ", ".join(filter(None, parts))
        return f"partial: {missing}" if missing else None

    def begin(self) -> None:
        if not self.has_begun:
            self.outputs.records.write(change_header(self.format, names_sites=self.names_sites))
        self.has_begun = True

    def _write(self, lines: bytes) -> None:
        self.begin()
        if self.format == "jsonl":
            self.outputs.records.write_lines(lines)
            return
        json_objects = map(orjson.loads, lines.splitlines())
        rows = change_lines(self.format, json_objects, names_sites=self.names_sites, to=self.to)
        self.outputs.records.write_lines(b"".join(rows))


# --- the history ---

_NUMBERS = ("sitemaps", "not_modified", "new", "updated", "removed", "held_back", "listings")
HEADER = ("site", "started", "ended", "complete", *_NUMBERS)


def _history(console: Console, targets: Sequence[str], state: str, format: str, to: OutputOptions) -> Exit:
    with State(state) as stored:
        known = {site.name for site in stored.sites()}
        names = [target if target in known else site_name(find_target(target).seeds) for target in targets]
        runs = [run for name in names for run in stored.runs(name)] if names else stored.runs()
    with open_outputs(to.output, is_json=format == "jsonl", bom=to.has_bom(format)) as outputs:
        outputs.keep()
        objects = [attrs.asdict(run) for run in runs]
        for each in objects:
            for name in ("started", "ended"):
                each[name] = each[name] and stamp(each[name].replace(microsecond=0))
        if format == "jsonl":
            objects = [{"type": "run", **each} for each in objects]
            lines: Iterator[bytes] = (orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in objects)
        else:
            rows = [[each[name] for name in HEADER] for each in objects]
            lines = rows_as(format, HEADER, rows, right=_NUMBERS, to=to)
        outputs.records.write_lines(b"".join(lines))
    return console.end(count_of(len(runs), "run"), None, [Exit.COMPLETE])
