"""`convert`: writes a dump in another format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import UrlSet
from ..model.errors import UsageError
from ..model.problems import count_of
from ..serialize.dumps import numbered_objects
from ..serialize.schema import all_fields, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit
from .messages import Console
from .output import STDOUT, Outputs, display_name, format_for, open_input, open_outputs

if TYPE_CHECKING:
    from .options import OutputOptions


def run(*, file: str, unique: bool, to: OutputOptions) -> Exit:
    """Writes the URLs of `file`, - for stdin; lines of other types only to JSONL without fields."""
    console = Console(quiet=to.quiet)
    wanted = None if to.fields is None else parse_fields(to.fields)
    target = format_for(to.output, to.format, FORMATS)
    if target is None:
        reason = "no output format" if to.output in (None, STDOUT) else f"the suffix of {to.output} is no format"
        names = ", ".join(format.suffixes[0] for format in FORMATS.values())
        raise UsageError(reason, remedy=f"give --format, or -o with a name in one of {names}")
    name = display_name(file)
    with (
        open_input(file) as dump,
        open_outputs(to.output, format=target, fields=wanted, guard=to.guard, bom=to.has_bom(target)) as outputs,
    ):
        conversion = _Conversion(
            name,
            outputs,
            console,
            keeps_types=target == "jsonl" and wanted is None,
            keeps_keys=target in ("jsonl", "txt") or wanted is not None,
            seen=UrlSet() if unique else None,
        )
        # Outputs are flushed before a read that may have to wait.
        before_read = None if dump.seekable() else outputs.flush
        code = conversion.run(numbered_objects(dump, name, before_read=before_read))
        outputs.decide([code], conversion.urls)
    place = "stdout" if to.output in (None, STDOUT) else str(to.output)
    return console.end(conversion.summary(place) if conversion.urls else None, None, [code])


@attrs.define
class _Conversion:
    name: str
    outputs: Outputs
    console: Console
    keeps_types: bool  # lines that are not URLs are written too
    keeps_keys: bool  # the format, or --fields, loses no unknown key
    seen: UrlSet | None  # with it, each URL is written once
    urls: int = 0
    repeated: int = 0
    others: int = 0
    has_changes: bool = False

    def run(self, json_objects: Iterator[tuple[int, dict[str, Any]]]) -> Exit:
        try:
            first = next(json_objects, None)
            if first is not None:
                self._check_keys(*first)
                self._write(*first)
            for number, json_object in json_objects:
                self._write(number, json_object)
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
        except UsageError as exc:
            if not self.urls:
                self.outputs.decide([Exit.USAGE])
                raise
            self.console.error(str(exc))
            return Exit.USAGE
        if self.urls:
            return Exit.COMPLETE
        message = f"{self.name} holds no URL"
        if self.others:
            message += f", but {count_of(self.others, 'other line')}"
        if self.has_changes:
            message += "; `schema duckdb --of changes` has the types of changes, for DuckDB to convert"
        self.console.error(message)
        return Exit.NOTHING

    def summary(self, place: str) -> str:
        others = count_of(self.others, "other line")
        texts = [count_of(self.urls, "URL") + (f" and {others}" if self.others and self.keeps_types else "")]
        texts[0] += f" written to {place}"
        if self.repeated:
            texts.append(f"{self.repeated:,} listed again")
        if self.others and not self.keeps_types:
            texts.append(f"{others} left out")
        return "; ".join([*texts, self.console.elapsed])

    def _check_keys(self, number: int, json_object: dict[str, Any]) -> None:
        """Refuses a dump written with --fields, which its first line shows, where the format would lose fields."""
        is_kept = self.keeps_keys or "type" in json_object
        own = [] if is_kept else [key for key in json_object if key not in all_fields().names]
        if own:
            message = f"{self.name}:{number}: fields that a complete dump does not have: {', '.join(own)}"
            raise UsageError(f"{message}", remedy=f"name the fields to write: --fields {','.join(json_object)}")

    def _write(self, number: int, json_object: dict[str, Any]) -> None:
        is_other = "type" in json_object
        if is_other and not self.keeps_types:
            self.others += 1
            self.has_changes = self.has_changes or json_object["type"] == "change"
            return
        if self.seen is not None and not is_other and not self.seen.add(json_object["loc"]):
            self.repeated += 1
            return
        # Deferred: the summary counts exactly what was written.
        with self.outputs.interrupts.deferred():
            try:
                self.outputs.sink.write(json_object)
            except UsageError as exc:
                raise UsageError(f"{self.name}:{number}: {exc}") from None
            self.others += is_other
            self.urls += not is_other
