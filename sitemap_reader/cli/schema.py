"""`schema`: the types of the JSONL, for a language. Reads nothing."""

from __future__ import annotations

from ..serialize.schema import Language, schema
from .exits import Exit
from .interrupts import Interrupts
from .output import open_outputs


def run(*, language: Language, output: str | None) -> Exit:
    """Writes the text of sitemap_reader.schema()."""
    text = schema(language)
    with Interrupts() as interrupts, open_outputs(output, None, interrupts) as outputs:
        outputs.records.write(f"{text}\n".encode())
    return Exit.COMPLETE
