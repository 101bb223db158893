"""`sync`: what is new, updated and removed since the last time."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.summary import count_of
from ..client.sync_api import change_lines as lines_of
from ..client.targets import find_target
from ..model.errors import UsageError
from ..serialize.dumps import STDIN
from ..serialize.jsonl import stamp
from ..state.state import State, site_name
from ..state.sync import Counted
from .exits import Exit, Interrupts, has_read
from .messages import Console, each_target, read_targets, utf8
from .output import Outputs, is_terminal, open_outputs, rows_format_for
from .tables import change_header, change_lines, encoding_of, rows_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.summary import Summary
    from ..model.records import Item
    from ..serialize.dumps import Form
    from ..state.documents import StoredDocument
    from ..state.state import StoredRun
    from .tables import Cell


def run(
    *,
    targets: Sequence[str],
    state: str,
    history: bool,
    output: str | None,
    format: str | None,
    no_formula_guard: bool,
    report: str | None,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> Exit:
    """Reads the targets one after the other; `reading` are keywords of blocking.change_lines()."""
    console = Console(quiet=quiet, verbose=verbose)
    format = rows_format_for(output, format, elsewhere="jsonl")
    if history:
        return _history(console, targets, state, output, format, guard=not no_formula_guard)
    if not targets:
        raise UsageError("which site? give a TARGET, or --history for what FILE knows")
    if state == STDIN:
        raise UsageError("--state names a file, which is read and written: it cannot be -")
    names = read_targets(targets)
    reading["on_progress"] = console.progress(beside_lines=is_terminal(output))
    # In place: what the state calls delivered is in the file, also after a kill.
    with Interrupts() as interrupts, open_outputs(output, report, interrupts, in_place=True) as outputs:
        _spare(state, outputs)
        writing: dict[str, Any] = {"encoding": encoding_of(output), "guard": not no_formula_guard}
        sync = _Sync(console, outputs, interrupts, state, format, reading, len(names) > 1, writing)
        codes = each_target(names, console, sync.site)
        outputs.decide(codes)
        if has_read(codes):
            sync.begin()
    if sync.total is None:  # not one target could be tried
        return console.end(None, None, codes)
    return console.end(f"{sync.counts}; {sync.total}", sync.missing(), codes)


@attrs.define
class _Sync:
    """What the targets of one command share."""

    console: Console
    outputs: Outputs
    interrupts: Interrupts
    state: str
    format: str
    reading: dict[str, Any]
    names_sites: bool
    writing: dict[str, Any]
    total: Summary | None = None
    counts: Counted = attrs.field(factory=Counted)
    has_begun: bool = False

    def site(self, target: str) -> Exit:
        """One target. Each piece is written before the next is asked for, as it counts as delivered then."""
        found = find_target(target)
        site = utf8(found.name) if self.names_sites else None
        told: dict[str, Any] = {"on_item": partial(self._hear, site), "on_wait": self._wait}
        told["on_document"] = self._hear_document
        with (
            self.interrupts.held(),
            lines_of(found, state=self.state, site=site, **told, **self.reading) as stream,
        ):
            try:
                for some in stream:
                    self._write(some.data)
                    self.interrupts.check()
            finally:
                summary = stream.summary
                self.total = self.total + summary if self.total else summary
                self.counts = self.counts + stream.counts
                if stream.removals_suspended:
                    self._report_suspended(site, summary)
        return Exit.COMPLETE if summary.complete and not stream.counts.held_back else Exit.PARTIAL

    def _report_suspended(self, site: str | None, summary: Summary) -> None:
        count = summary.failed + summary.incomplete
        what = count_of(count, "sitemap") if count else "robots.txt"
        whole = " whole" if summary.incomplete else ""
        self.console.note(f"removals suspended{f' for {site}' if site else ''}: {what} could not be read{whole}")

    def missing(self) -> str | None:
        """The line that says what is partial."""
        held = self.counts.held_back
        parts = [self.total.missing() if self.total else "", f"{held:,} removals are held back" if held else ""]
        told = ", ".join(part for part in parts if part)
        return f"partial: {told}" if told else None

    def begin(self) -> None:
        """Writes what stands before the first change, once."""
        if not self.has_begun:
            self.outputs.records.write(change_header(self.format, names_sites=self.names_sites))
        self.has_begun = True

    def _write(self, lines: bytes) -> None:
        self.begin()
        if self.format == "jsonl":
            self.outputs.records.write_lines(lines)
            return
        forms = map(orjson.loads, lines.splitlines())
        rows = change_lines(self.format, forms, names_sites=self.names_sites, **self.writing)
        self.outputs.records.write_lines(b"".join(rows))

    def _wait(self) -> None:
        self.outputs.flush()
        self.interrupts.check()

    def _hear(self, site: str | None, item: Item) -> None:
        self.console.hear(item)
        self.outputs.report_on(item, site)

    def _hear_document(self, document: StoredDocument) -> None:
        self.console.detail(f"lastmod of {document.url}: score {document.honesty}")


def _spare(state: str, outputs: Outputs) -> None:
    """UsageError where what is written would go into the state itself."""
    with suppress(OSError), open(state, "rb") as file:  # what cannot be opened is told by whoever opens it
        outputs.spare(file, state)


# --- the history ---

HEADER = ("site", "started", "ended", "complete", "sitemaps", "not_modified", "new", "updated", "removed", "held_back")
_NUMBERS = HEADER[4:]


def _history(
    console: Console, targets: Sequence[str], state: str, output: str | None, format: str, *, guard: bool
) -> Exit:
    with State(state) as opened:
        known = {site.name for site in opened.sites()}
        names = [target if target in known else site_name(find_target(target).seeds) for target in targets]
        runs = [run for name in names for run in opened.runs(name)] if names else opened.runs()
    with Interrupts() as interrupts, open_outputs(output, None, interrupts) as outputs:
        _spare(state, outputs)
        outputs.keep()
        forms = [_form(run) for run in runs]
        if format == "jsonl":
            for form in forms:
                outputs.records.write(orjson.dumps({"type": "run", **form}, option=orjson.OPT_APPEND_NEWLINE))
        else:
            rows: list[list[Cell]] = [[_cell(form[name]) for name in HEADER] for form in forms]
            for line in rows_as(format, HEADER, rows, right=_NUMBERS, output=output, guard=guard):
                outputs.records.write(line)
    return console.end(count_of(len(runs), "run"), None, [Exit.COMPLETE])


def _form(run: StoredRun) -> Form:
    form = attrs.asdict(run)
    for name in ("started", "ended"):
        moment = form[name]
        form[name] = moment and stamp(moment.replace(microsecond=0))
    return form


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else f"{value}"
