"""`convert`: writes a dump in another format."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..client.dedupe import UrlSet
from ..client.summary import count_of
from ..model.errors import UsageError
from ..serialize.dumps import numbered_objects
from ..serialize.projection import all_fields, parse_fields
from ..serialize.writers import FORMATS
from .exits import Exit
from .messages import Console
from .output import STDOUT, display_name, format_for, open_input, open_outputs

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
    # Lines that are not URLs are written too; the format, or --fields, loses no unknown key.
    keeps_types = target == "jsonl" and wanted is None
    keeps_keys = target in ("jsonl", "txt") or wanted is not None
    started, seen = time.monotonic(), UrlSet() if unique else None
    urls = repeated = others = 0
    has_changes = False
    with open_input(file) as dump, open_outputs(to.output, format=target, fields=wanted, guard=to.guard) as outputs:
        # Outputs are flushed before a read that may have to wait.
        before_read = None if dump.seekable() else outputs.flush
        try:
            for place, json_object in numbered_objects(dump, name, before_read=before_read):
                is_other = "type" in json_object
                if not (urls or repeated or others or keeps_keys or is_other):
                    _check_keys(f"{name}:{place}", json_object)
                if is_other and not keeps_types:
                    others += 1
                    has_changes = has_changes or json_object["type"] == "change"
                elif seen is not None and not is_other and not seen.add(json_object["loc"]):
                    repeated += 1
                else:
                    # Deferred: the summary counts exactly what was written.
                    with outputs.interrupts.deferred():
                        try:
                            outputs.sink.write(json_object)
                        except UsageError as exc:
                            raise UsageError(f"{name}:{place}: {exc}") from None
                        others += is_other
                        urls += not is_other
            code = Exit.COMPLETE if urls else Exit.NOTHING
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        except UsageError as exc:
            code = Exit.USAGE
            if not urls:
                outputs.decide([code])
                raise
            console.error(str(exc))
        if code == Exit.NOTHING:
            message = f"{name} holds no URL" + (f", but {count_of(others, 'other line')}" if others else "")
            if has_changes:
                message += "; `schema duckdb --of changes` has the types of changes, for DuckDB to convert"
            console.error(message)
        outputs.decide([code], urls)
    if not urls:
        return console.end(None, None, [code])
    left = count_of(others, "other line") if others else ""
    texts = [count_of(urls, "URL") + (f" and {left}" if left and keeps_types else "")]
    texts[0] += f" written to {'stdout' if to.output in (None, STDOUT) else to.output}"
    texts += [f"{repeated:,} listed again"] if repeated else []
    texts += [f"{left} left out"] if left and not keeps_types else []
    return console.end("; ".join([*texts, f"{time.monotonic() - started:.1f} s"]), None, [code])


def _check_keys(place: str, json_object: dict[str, Any]) -> None:
    """Refuses a dump written with --fields, which its first line shows, where the format would lose fields."""
    if own := [key for key in json_object if key not in all_fields().names]:
        message = f"{place}: fields that a complete dump does not have: {', '.join(own)}"
        raise UsageError(message, remedy=f"name the fields to write: --fields {','.join(json_object)}")
