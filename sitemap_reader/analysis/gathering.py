"""What a run or a dump tells, gathered into tables: JSON lines, items and forms in, three pyarrow.Tables out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..model.errors import UsageError
from ..model.problems import Problem
from ..model.records import Outcome
from ..serialize.batches import Batches
from ..serialize.dumps import numbered_blocks, row_form
from ..serialize.jsonl import json_form
from ..serialize.projection import all_fields, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ..model.records import Item
    from ..serialize.dumps import Block, Form

_OTHER = b'{"type":'
_KNOWN = ("sitemap", "problem", "outcome")


@attrs.frozen
class Gathered:
    """Three pyarrow.Tables: their columns are the keys of the lines, in the documented order, and `site`."""

    urls: Any
    sitemaps: Any
    problems: Any


class Gathering:
    """lines() and items of a run, or all of a dump(); then gathered()."""

    def __init__(self) -> None:
        self._urls = Batches(all_fields())
        self._others = {"outcome": Batches(fields_of(Outcome)), "problem": Batches(fields_of(Problem))}

    def lines(self, lines: bytes) -> None:
        """URLs, as json_line() writes them."""
        self._urls.add_lines(lines)
        self._end(self._urls)

    def hear(self, item: Item, site: str | None = None) -> None:
        """An item of a run that is no URL."""
        if isinstance(item, Problem | Outcome):
            self._form(json_form(item, site=site))

    def dump(self, stream: BinaryIO, name: str) -> None:
        """The lines of a dump; UsageError, with the number of the line, for what is none."""
        for block in numbered_blocks(stream, name):
            try:
                is_taken = self._take_at_once(block)
            except UsageError:
                Gathering()._one_by_one(block, name)  # says in which line
                raise
            if not is_taken:
                self._one_by_one(block, name)

    def gathered(self) -> Gathered:
        """All that was."""
        tables = []
        for batches in (self._urls, *self._others.values()):
            batches.end()
            tables.append(_table(batches))
        return Gathered(*tables)

    def _take_at_once(self, block: Block) -> bool:
        """Takes a block whose lines are as we write them, those of a report among them."""
        if block.lines is None:
            return False
        urls, others = block.lines, list[bytes]()
        if _OTHER in urls:
            lines = urls.splitlines(keepends=True)
            others = [line for line in lines if line.startswith(_OTHER)]
            urls = b"".join(line for line in lines if not line.startswith(_OTHER))
        forms = [*map(_parsed, others)]
        if None in forms or not self._urls.try_lines(urls):
            return False
        for form in forms:
            self._form(form or {})
        return True

    def _one_by_one(self, block: Block, name: str) -> None:
        for number, form in block.numbered():
            self._numbered(number, form, name)

    def _numbered(self, number: int, form: Form, name: str) -> None:
        if form.get("type") in ("change", "candidate"):
            what = "changes" if form["type"] == "change" else "sitemaps"
            raise UsageError(f"{name}:{number}: that is a list of {what}, and no dump: `sitemap-reader dump` makes one")
        try:
            self._form(form)
        except UsageError as exc:
            raise UsageError(f"{name}:{number}: {exc}") from None

    def _form(self, form: Form) -> None:
        batches = self._others.get(form["type"]) if "type" in form else self._urls
        if batches is not None:
            batches.add(form)
            self._end(batches)

    def _end(self, batches: Batches) -> None:
        if batches.is_full:
            batches.end()


def _parsed(line: bytes) -> Form | None:
    """The form of an outcome, a problem or a sitemap."""
    try:
        form: Form = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return form if form["type"] in _KNOWN else None


def _table(batches: Batches) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches(batches.take(), batches.schema)


def forms_of(gathered: Gathered) -> Iterator[Form]:
    """The lines that these tables were made of: problems and outcomes behind the URLs."""
    for kind, table in ((None, gathered.urls), ("problem", gathered.problems), ("outcome", gathered.sitemaps)):
        for batch in table.to_batches(max_chunksize=1024):
            for row in batch.to_pylist():
                yield row_form(row) if kind is None else {"type": kind, **_other_form(row)}


def _other_form(row: Form) -> Form:
    counts = {name: {each["name"]: each["count"] for each in row[name]} for name in _COUNTS if name in row}
    form: Form = {**row, **counts}
    if form.get("site") is None:
        form.pop("site", None)
    return form


_COUNTS = ("dropped", "problems")
