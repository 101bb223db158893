"""`convert`: a dump in another format."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from ..client.dedupe import UrlSet
from ..client.summary import count_of
from ..model.errors import UsageError
from ..serialize.arrow import ParquetSink
from ..serialize.dumps import numbered_blocks, numbered_forms
from ..serialize.projection import all_fields, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit, Interrupts
from .messages import Console
from .output import STDOUT, Outputs, called, format_for, open_outputs, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..serialize.dumps import Block


def run(
    *,
    file: str,
    output: str | None,
    format: str | None,
    fields: str | None,
    no_formula_guard: bool,
    unique: bool,
    quiet: bool,
) -> Exit:
    """Writes the URLs of `file`, - for stdin, one after the other; other lines only where the output is JSONL whole."""
    console = Console(quiet=quiet)
    wanted = None if fields is None else parse_fields(fields)
    target = format_for(output, format, FORMATS) or _no_format(output)
    name = called(file)
    with (
        opened(file) as dump,
        Interrupts() as interrupts,
        open_outputs(output, None, interrupts, format=target, fields=wanted, guard=not no_formula_guard) as outputs,
    ):
        outputs.spare(dump, name)
        conversion = _Conversion(
            name,
            outputs,
            interrupts,
            console,
            takes_all=target == "jsonl" and wanted is None,
            takes_keys=target in ("jsonl", "txt") or wanted is not None,
            seen=UrlSet() if unique else None,
        )
        # What is ready goes out before a read that may have to wait.
        before_read = None if dump.seekable() else outputs.flush
        if isinstance(outputs.sink, ParquetSink) and not unique:
            forms = conversion.rest_of(numbered_blocks(dump, name, before_read=before_read), outputs.sink)
        else:
            forms = numbered_forms(dump, name, before_read=before_read)
        code = conversion.run(forms)
        outputs.decide([code], conversion.urls)
    return console.end(conversion.summary("stdout" if output in (None, STDOUT) else str(output)), None, [code])


def _no_format(output: str | None) -> str:
    asked = "no format is asked for" if output in (None, STDOUT) else f"the name {output} says no format"
    raise UsageError(f"{asked}; give --format, or -o with a name in one of .{', .'.join(FORMATS)}")


@attrs.define
class _Conversion:
    """One file on its way. `seen`: each URL is written once.

    `takes_all`: lines that are no URLs are written too; `takes_keys`: whatever keys a URL has, nothing is lost unasked.
    """

    name: str
    outputs: Outputs
    interrupts: Interrupts
    console: Console
    takes_all: bool
    takes_keys: bool
    seen: UrlSet | None
    urls: int = 0
    repeated: int = 0
    others: int = 0
    started: float = attrs.field(factory=time.monotonic)

    def run(self, forms: Iterator[tuple[int, dict[str, Any]]]) -> Exit:
        """All of it; a line that is none ends it, with what stands before it written."""
        try:
            first = next(forms, None)
            if first is not None:
                self._check_keys(*first)
                self._write(*first)
            for number, form in forms:
                self._write(number, form)
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
        except UsageError as exc:
            if not self.urls:
                self.outputs.decide([Exit.USAGE])
                raise
            self.console.error(str(exc))
            return Exit.USAGE
        return Exit.COMPLETE if self.urls else self._nothing()

    def rest_of(self, blocks: Iterable[Block], sink: ParquetSink) -> Iterator[tuple[int, dict[str, Any]]]:
        """The forms of those that cannot be written at once; and of the first one, as its lines tell what is there."""
        for block in blocks:
            written = 0
            if block.lines is not None and block.before:
                with self.interrupts.held():
                    written = sink.try_lines(block.lines)
                    self.urls += written
                self.interrupts.check()
            if not written:
                yield from block.numbered()

    def summary(self, place: str) -> str:
        """What was written, and what was not."""
        others = count_of(self.others, "other line")
        told = [count_of(self.urls, "URL") + (f" and {others}" if self.others and self.takes_all else "")]
        told[0] += f" written to {place}"
        if self.repeated:
            told.append(f"{self.repeated:,} listed again")
        if self.others and not self.takes_all:
            told.append(f"{others} left out")
        return "; ".join([*told, f"{time.monotonic() - self.started:.1f} s"])

    def _check_keys(self, number: int, form: dict[str, Any]) -> None:
        """A dump that was written with fields has them in each line, so the first tells."""
        own = [] if self.takes_keys or "type" in form else [key for key in form if key not in all_fields().names]
        if own:
            told = f"{self.name}:{number}: there are fields that a whole dump has not, {', '.join(own)}"
            raise UsageError(f"{told}; say which ones to write: --fields {','.join(form)}")

    def _write(self, number: int, form: dict[str, Any]) -> None:
        is_other = "type" in form
        if is_other and not self.takes_all:
            self.others += 1
            return
        if self.seen is not None and not is_other and not self.seen.add(form["loc"]):
            self.repeated += 1
            return
        # Held: the summary counts what was written, no more and no less.
        with self.interrupts.held():
            try:
                self.outputs.sink.write(form)
            except UsageError as exc:
                raise UsageError(f"{self.name}:{number}: {exc}") from None
            self.others += is_other
            self.urls += not is_other

    def _nothing(self) -> Exit:
        others = f", but {count_of(self.others, 'other line')}" if self.others else ""
        self.console.error(f"{self.name} holds no URL{others}")
        return Exit.NOTHING
