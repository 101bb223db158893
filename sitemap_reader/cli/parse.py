"""`parse`: reads one document from a file or stdin, without the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from ..client.summary import SummaryBuilder
from ..model.errors import UsageError
from ..model.messages import Message
from ..model.problems import Problem, count_of
from ..model.records import SitemapRef, UrlRecord
from ..model.summary import dropped_text
from ..parser.parser import iter_parse
from ..pipeline.feedparser_process import feedparser_fallback
from ..serialize.dumps import is_warc_name
from ..serialize.jsonl import json_line, to_dict
from ..serialize.schema import EXTRAS, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit
from .messages import Console
from .output import Outputs, display_name, format_for, open_input, open_outputs

if TYPE_CHECKING:
    from ..model.records import Item
    from .options import OutputOptions

READ_BYTES = 64 * 1024
_URL = re.compile(r"https?://", re.IGNORECASE)


def run(*, file: str, extras: bool, to: OutputOptions, **parsing: Any) -> Exit:
    """Writes the items of the document as they are read; `parsing` are keywords of iter_parse()."""
    name = display_name(file)
    console = Console(quiet=to.quiet, verbose=to.verbose, document=name)
    format = format_for(to.output, to.format, FORMATS) or "jsonl"
    chosen = None if to.fields is None else parse_fields(to.fields)
    with (
        open_input(file, _open_document) as body,
        open_outputs(
            to.output, to.report, format=format, fields=chosen, guard=to.guard, bom=to.has_bom(format)
        ) as outputs,
    ):
        items = iter_parse(
            _chunks(body, file, outputs),
            extras=extras or (chosen is not None and EXTRAS in chosen.roots),
            feed_fallback=feedparser_fallback,
            **parsing,
        )
        takes_sitemaps = format == "jsonl" and chosen is None
        reading = _Parsing(SummaryBuilder(on_item=console.show), name, console, outputs, takes_sitemaps)
        code = reading.read(items)
        outputs.decide([code], reading.summary_builder.progress.urls)
    console.flush()
    if reading.children and not takes_sitemaps:
        what = f"{count_of(reading.children, 'sitemap')} left out"
        console.note(f"note {what}: only jsonl without --fields has lines for the children of an index")
    return console.end(reading.summary(), reading.summary_builder.summary().partial_line(), [code])


@attrs.define
class _Parsing:
    summary_builder: SummaryBuilder
    _name: str
    _console: Console
    _outputs: Outputs
    _takes_sitemaps: bool
    children: int = 0
    _errors: int = 0

    def read(self, items: Iterator[Item]) -> Exit:
        try:
            for item in items:
                if self._takes_sitemaps and isinstance(item, UrlRecord | SitemapRef):
                    self._outputs.records.write(json_line(item))
                elif isinstance(item, UrlRecord):
                    self._outputs.sink.write(to_dict(item))
                else:
                    self._outputs.report_on(item, None)
                if isinstance(item, UrlRecord):
                    self.summary_builder.progress.urls += 1
                else:
                    self.summary_builder.record([item])
                self.children += isinstance(item, SitemapRef)
                self._errors += isinstance(item, Problem) and item.severity == "error"
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
        outcome = self.summary_builder.outcomes[-1]
        if self.summary_builder.progress.urls or self.children or outcome.dropped:
            return Exit.COMPLETE if outcome.complete else Exit.PARTIAL
        if outcome.complete and not self._errors:
            self._console.error(f"{self._name} lists no URL: it is empty; check that it is the right one")
            return Exit.NOTHING
        self._console.unreadable(self._name, outcome)
        return Exit.UNREADABLE

    def summary(self) -> Message:
        numbers, dropped = self.summary_builder.progress, self.summary_builder.summary().dropped
        parts = [count_of(numbers.urls, "URL")] if numbers.urls or not self.children else []
        if self.children:
            parts.append(count_of(self.children, "sitemap"))
        outcomes = self.summary_builder.outcomes
        format = outcomes[-1].format if outcomes else None
        texts = [f"{' and '.join(parts)} in {self._name}{f' ({format})' if format else ''}"]
        if dropped:
            texts.append(dropped_text(dropped))
        if self.summary_builder.problems.counts:
            texts.append(count_of(len(self.summary_builder.problems), "problem"))
        return Message.joined("; ", [*texts, self._console.elapsed])


def _open_document(name: str) -> BinaryIO:
    if _URL.match(name):
        raise UsageError(f"{name} is a URL, and parse reads files: `sitemap-reader dump {name}` fetches it")
    path = Path(name)
    if path.is_dir():
        from ..fetch.replay import is_recording  # here: a folder is a mistake

        base = "" if is_recording(path) else " --base URL"
        raise UsageError(f"{name} is a folder, and parse reads one file: `sitemap-reader dump {name}{base}` reads it")
    if is_warc_name(name):
        raise UsageError(f"{name} is a WARC, and parse reads one document: `sitemap-reader dump {name}` replays it")
    try:
        return path.open("rb")
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"cannot read {name}: {reason}", remedy="give a file, or - for stdin") from exc


def _chunks(body: BinaryIO, name: str, outputs: Outputs) -> Iterator[bytes]:
    """The bytes of the input; outputs are flushed before each read, which may have to wait."""
    read = getattr(body, "read1", body.read)
    while True:
        outputs.flush()
        try:
            chunk = read(READ_BYTES)
        except OSError as exc:
            raise UsageError(f"cannot read {name}: {exc.strerror or exc}") from exc
        if not chunk:
            return
        yield chunk
