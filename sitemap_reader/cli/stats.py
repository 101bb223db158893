"""`stats`: a site, or a dump of one, on one screen."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.summary import count_of
from ..client.targets import Target, find_target
from ..frontier.filters import Selection, make_selection
from ..model.errors import UsageError
from ..model.records import SitemapRef, UrlRecord
from ..serialize.dumps import numbered_forms
from ..serialize.dumps_part import is_dump_name
from ..serialize.jsonl import json_form
from ..serialize.restore import from_json
from ..statistics.collector import Statistics
from .columns import encoding_of
from .exits import Exit
from .inputs import called, opened
from .interrupts import Interrupts
from .messages import Console
from .output import open_outputs, rows_format_for
from .panels import panels
from .sites import each_target, judge
from .tables import SEPARATED, separated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..model.records import Item
    from ..statistics.collector import Fact
    from .output import Outputs

HEADER = ("group", "name", "count", "share")


def run(
    *,
    target: str,
    output: str | None,
    format: str | None,
    no_formula_guard: bool,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> Exit:
    """The facts of a TARGET, for which `reading` are keywords of sitemap_reader.urls(), or of a FILE.

    Of these a FILE minds dates and patterns of pages.
    """
    console = Console(quiet=quiet, verbose=verbose)
    format = rows_format_for(output, format)
    found = _found(target)
    now = (found and found.recorded) or _now()
    with Interrupts() as interrupts, open_outputs(output, None, interrupts) as outputs:
        survey = _Survey(console, interrupts, outputs, reading, now, Statistics(now), found)
        codes = each_target([target], console, survey.file if is_dump_name(target) else survey.site)
        outputs.decide(codes)
        if set(codes) != {Exit.USAGE}:
            facts = survey.statistics.facts()
            for line in _lines(format, facts, encoding_of(output), guard=not no_formula_guard):
                outputs.records.write(line)
    return console.end(survey.told, survey.partial, codes)


def _now() -> datetime:
    return datetime.now(UTC)


def _found(target: str) -> Target | None:
    """The target, unless it is a dump: ages in a recording go by when it was made."""
    try:
        return None if is_dump_name(target) else find_target(target)
    except UsageError:  # told when it is read
        return None


@attrs.define
class _Survey:
    """What is counted, and what the last lines on stderr say."""

    console: Console
    interrupts: Interrupts
    outputs: Outputs
    reading: dict[str, Any]
    now: datetime
    statistics: Statistics
    found: Target | None = None
    told: str | None = None
    partial: str | None = None

    def site(self, target: str) -> Exit:
        """Reads a target to its end."""
        from ..client.sync_api import urls  # a file needs no network library

        check, add = self.interrupts.check, self.statistics.add
        told: dict[str, Any] = {"on_item": self._hear, "on_wait": check, "on_progress": self.console.progress()}
        # Held: what was counted is what the summary tells.
        with self.interrupts.held(), urls(self.found or target, **told, **self.reading) as stream:
            try:
                for record in stream:
                    add(json_form(record))
                    check()
            finally:
                summary = stream.summary
                self.told, self.partial = str(summary), summary.partial_line()
        return judge(self.found.name if self.found else target, summary, self.console)

    def _hear(self, item: Item) -> None:
        self.console.hear(item)
        if not isinstance(item, SitemapRef):
            self.statistics.add(json_form(item))

    def file(self, file: str) -> Exit:
        """Reads a dump to its end."""
        name, started = called(file), time.monotonic()
        wanted = _selection(name, self.reading, self.now)
        with opened(file) as body:
            self.outputs.spare(body, name)
            for number, form in numbered_forms(body, name):
                try:
                    if "type" in form or wanted is None or wanted(form):
                        self.statistics.add(form)
                except UsageError as exc:
                    raise UsageError(f"{name}:{number}: {exc}") from None
        self.told = f"{count_of(self.statistics.urls, 'URL')} in {name}; {time.monotonic() - started:.1f} s"
        if self.statistics.urls:
            return Exit.COMPLETE
        self.console.error(f"{name} lists no URL" + (" that was asked for" if wanted else ""))
        return Exit.NOTHING


def _selection(name: str, reading: Mapping[str, Any], now: datetime) -> Callable[[Mapping[str, Any]], bool] | None:
    """Whether a line is asked for; None where all are."""
    for keyword in ("follow", "no_follow"):
        if reading.get(keyword):
            option = f"--{keyword.replace('_', '-')}"
            raise UsageError(f"{option} chooses sitemaps to read, and {name} is a dump: give {option} to `dump`")
    asked = {keyword: reading[keyword] for keyword in ("since", "until", "undated", "include", "exclude")}
    selection = make_selection(now, **asked)
    if selection == Selection():
        return None

    def wanted(form: Mapping[str, Any]) -> bool:
        record = from_json(form)
        return isinstance(record, UrlRecord) and selection.refuses(record) is None

    return wanted


def _table(facts: list[Fact], encoding: str) -> Iterator[bytes]:
    for line in panels(facts, shutil.get_terminal_size().columns):
        yield f"{line}\n".encode(encoding, "replace")


def _separated(format: str, facts: list[Fact], guard: bool) -> Iterator[bytes]:
    rows = [(fact.group, fact.name, str(fact.count), _fraction(fact.share)) for fact in facts]
    return separated(format, HEADER, rows, guard) if rows else iter(())


def _fraction(share: float | None) -> str | None:
    return None if share is None else f"{share:.6g}"


def _jsonl(facts: list[Fact]) -> Iterator[bytes]:
    return (orjson.dumps(fact.form(), option=orjson.OPT_APPEND_NEWLINE) for fact in facts)


def _lines(format: str, facts: list[Fact], encoding: str, *, guard: bool) -> Iterator[bytes]:
    if format in SEPARATED:
        return _separated(format, facts, guard)
    return _jsonl(facts) if format == "jsonl" else _table(facts, encoding)
