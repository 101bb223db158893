"""`diff`: writes what is new, updated and removed between two dumps or states."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..compare.diff import DumpSide, compare, is_state, open_side
from ..model.errors import UsageError
from ..serialize.dumps import STDIN, STDIN_NAME, numbered_objects
from .exits import Exit
from .messages import Console
from .output import display_name, open_input, open_outputs, rows_format_for
from .tables import change_header, change_lines

if TYPE_CHECKING:
    from ..model.options import On
    from .options import OutputOptions


def run(*, old: str, new: str, on: On, exit_code: bool, to: OutputOptions) -> Exit:
    """Writes the changes between `old` and `new`, files of which one may be - for stdin."""
    console = Console(quiet=to.quiet)
    if old == new == STDIN:
        raise UsageError("OLD and NEW cannot both be stdin", remedy="give a file for one of them")
    if old == new != STDIN and is_state(old):  # a state can be opened once
        raise UsageError("OLD and NEW are the same state", remedy="give another file for one of them")
    format = rows_format_for(to, elsewhere="jsonl")
    with ExitStack() as files:
        bodies = [(display_name(name), files.enter_context(open_input(name))) for name in (old, new)]
        outputs = files.enter_context(open_outputs(to.output, is_json=format == "jsonl"))
        before, after = (
            open_side(name, name, files)
            if name != STDIN_NAME and is_state(name)
            else DumpSide(name, numbered_objects(body, name))
            for name, body in bodies
        )
        try:
            changes = files.enter_context(compare(before, after, on))
            outputs.records.write(change_header(format, names_sites=changes.names_sites))
            for line in change_lines(format, changes.dicts(), names_sites=changes.names_sites, to=to):
                outputs.records.write(line)
            outputs.keep()
        except KeyboardInterrupt:
            return console.end(None, None, [Exit.INTERRUPTED])
    for note in changes.notes:
        console.note(f"note {note}")
    code = Exit.THRESHOLD if exit_code and len(changes) else Exit.COMPLETE
    return console.end(f"{changes.summary}; {console.elapsed}", None, [code])
