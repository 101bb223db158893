"""Opens what a command writes to, and sees to it that all of it is written.

In: the names of -o and --report. Out: sinks; they are flushed when the block ends, however it ends.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ..errors import UsageError
from ..sinks import Jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .interrupts import Interrupts

STDOUT = "-"


@attrs.frozen
class Outputs:
    """`records` takes what was asked for; `report` the rest, None where nobody asked; they may be the same."""

    records: Jsonl
    report: Jsonl | None

    def flush(self) -> None:
        """Writes what is held back."""
        self.records.flush()
        if self.report is not None:
            self.report.flush()


@contextmanager
def open_outputs(output: str | None, report: str | None, interrupts: Interrupts) -> Iterator[Outputs]:
    """Both sinks. Files are opened at once: a path that cannot be written is known before any request."""
    output = output or STDOUT
    if report is not None and report != STDOUT and _same(report, output):
        raise UsageError(f"-o and --report are the same file, {report}; give it to one of them")
    with ExitStack() as files:
        sinks: dict[str, Jsonl] = {}
        for name in dict.fromkeys(each for each in (output, report) if each):
            stream = _stdout() if name == STDOUT else files.enter_context(Path(name).open("wb", buffering=0))
            sinks[name] = Jsonl(stream, "stdout" if name == STDOUT else name, hold=interrupts.held)
        outputs = Outputs(sinks[output], sinks[report] if report else None)
        try:
            yield outputs
        finally:
            outputs.flush()


def is_terminal(output: str | None) -> bool:
    """Whether people will see it at once."""
    return output in (None, STDOUT) and sys.stdout is not None and sys.stdout.isatty()


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()


def _stdout() -> BinaryIO:
    if sys.stdout is None:
        raise OSError(0, "it is closed", "stdout")
    return sys.stdout.buffer
