"""`parse`: reads one document from a file or stdin, without the network."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..client.summary import SummaryBuilder, count_of, dropped_text
from ..model.errors import UsageError
from ..model.messages import Message
from ..model.problems import Problem
from ..model.records import SitemapRef, UrlRecord
from ..parser.parser import iter_parse
from ..pipeline.feedparser_process import feedparser_fallback
from ..serialize.dumps import is_warc_name
from ..serialize.jsonl import json_line, to_dict
from ..serialize.projection import EXTRAS, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit
from .messages import Console
from .output import Outputs, display_name, format_for, open_input, open_outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .options import OutputOptions

READ_BYTES = 64 * 1024
_URL = re.compile(r"https?://", re.IGNORECASE)


def run(*, file: str, extras: bool, to: OutputOptions, **parsing: Any) -> Exit:
    """Writes the items of the document as they are read; `parsing` are keywords of iter_parse()."""
    name = display_name(file)
    console = Console(quiet=to.quiet, verbose=to.verbose, document=name)
    format = format_for(to.output, to.format, FORMATS) or "jsonl"
    chosen = None if to.fields is None else parse_fields(to.fields)
    builder, children, errors, started = SummaryBuilder(on_item=console.show), 0, 0, time.monotonic()
    with (
        open_input(file, _open_document) as body,
        open_outputs(to.output, to.report, format=format, fields=chosen, guard=to.guard) as outputs,
    ):
        items = iter_parse(
            _chunks(body, file, outputs),
            extras=extras or (chosen is not None and EXTRAS in chosen.roots),
            feed_fallback=feedparser_fallback,
            **parsing,
        )
        takes_sitemaps = format == "jsonl" and chosen is None
        try:
            for item in items:
                if takes_sitemaps and isinstance(item, UrlRecord | SitemapRef):
                    outputs.records.write(json_line(item))
                elif isinstance(item, UrlRecord):
                    outputs.sink.write(to_dict(item))
                else:
                    outputs.report_on(item, None)
                if isinstance(item, UrlRecord):
                    builder.progress.urls += 1
                else:
                    builder.record([item])
                children += isinstance(item, SitemapRef)
                errors += isinstance(item, Problem) and item.severity == "error"
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        else:
            outcome = builder.outcomes[-1]
            if builder.progress.urls or children or outcome.dropped:
                code = Exit.COMPLETE if outcome.complete else Exit.PARTIAL
            elif outcome.complete and not errors:
                console.error(f"{name} lists no URL: it is empty; check that it is the right one")
                code = Exit.NOTHING
            else:
                console.unreadable(name, outcome)
                code = Exit.UNREADABLE
        outputs.decide([code], builder.progress.urls)
    console.flush()
    if children and not takes_sitemaps:
        what = f"{count_of(children, 'sitemap')} left out"
        console.note(f"note {what}: only jsonl without --fields has lines for the children of an index")
    text = _summary(builder, children, name)
    return console.end(Message(text, f"; {time.monotonic() - started:.1f} s"), builder.summary().partial_line(), [code])


def _summary(builder: SummaryBuilder, children: int, name: str) -> Message:
    urls, dropped = builder.progress.urls, builder.summary().dropped
    parts = [count_of(urls, "URL")] if urls or not children else []
    parts += [count_of(children, "sitemap")] if children else []
    format = builder.outcomes[-1].format if builder.outcomes else None
    texts: list[Any] = [f"{' and '.join(parts)} in {name}{f' ({format})' if format else ''}"]
    if dropped:
        texts.append(dropped_text(dropped))
    if builder.problems.counts:
        texts.append(count_of(len(builder.problems), "problem"))
    return Message.joined("; ", texts)


def _open_document(name: str) -> BinaryIO:
    if _URL.match(name):
        raise UsageError(f"{name} is a URL, and parse reads files: `sitemap-reader dump {name}` fetches it")
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder, and parse reads one file: `sitemap-reader dump {name}` replays it")
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
