"""`stats`: a site, or a dump of one, on one screen."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime
from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.summary import count_of
from ..client.targets import Target, find_target
from ..frontier.filters import Selection, make_selection
from ..model.errors import UsageError, printable
from ..model.problems import CATALOGUE
from ..model.records import SitemapRef, UrlRecord
from ..serialize.dumps import is_dump_name, numbered_forms
from ..serialize.jsonl import from_json, json_form
from ..statistics.collector import Statistics
from .exits import Exit, Interrupts
from .messages import Console, each_target, judge
from .output import called, open_outputs, opened, rows_format_for
from .tables import SEPARATED, encoding_of, padded, separated, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..model.records import Item
    from ..statistics.collector import Fact
    from .output import Outputs


# ----------------------------------------------------------------------------------------------------
# Facts for people: blocks under headings, side by side where the screen is wide enough. Facts in, lines out.


_GAP = "    "
_MAX_TITLE_CHARS = 32


def panels(facts: Sequence[Fact], columns: int) -> Iterator[str]:
    """Lines without their ends; in two columns if both fit into so many, else in one, however wide."""
    if not facts:
        return
    blocks = [list(block) for _, block in groupby(facts, key=lambda fact: fact.group.partition(" ")[0])]
    layouts: list[tuple[list[str], list[str]]] = [(_column(blocks), [])]
    layouts += [(_column(blocks[:cut]), _column(blocks[cut:])) for cut in range(1, len(blocks))]
    fitting = [layout for layout in layouts if _breadth(*layout) <= columns] or layouts[:1]
    left, right = min(fitting, key=lambda layout: max(map(len, layout)))
    edge = max(map(width, left))
    for number in range(max(len(left), len(right))):
        one, other = (lines[number] if number < len(lines) else "" for lines in (left, right))
        yield (padded(one, edge) + _GAP + other).rstrip()


def _breadth(left: list[str], right: list[str]) -> int:
    return sum(max(map(width, lines)) for lines in (left, right) if lines) + (len(_GAP) if right else 0)


def _column(blocks: Sequence[Sequence[Fact]]) -> list[str]:
    """The blocks, one below the other, their numbers in line."""
    cells = [[(_label(fact), f"{fact.count:,}", percent(fact)) for fact in block] for block in blocks]
    label, count, share = (max(width(row[part]) for block in cells for row in block) for part in range(3))
    lines = []
    for block, rows in zip(blocks, cells, strict=True):
        lines += ["", block[0].group.partition(" ")[0]]
        lines += [f"  {padded(row[0], label)}  {row[1].rjust(count)}  {row[2].rjust(share)}".rstrip() for row in rows]
    return lines[1:]


def _label(fact: Fact) -> str:
    """What is told under the heading, which is the first word of the group; of a problem also its title."""
    if fact.group == "problems" and fact.name in CATALOGUE:
        return f"{fact.name} {shorten(CATALOGUE[fact.name].title, _MAX_TITLE_CHARS, placeholder='…')}"
    return printable(f"{fact.group.partition(' ')[2]} {fact.name}".strip())


def percent(fact: Fact) -> str:
    """`12.5%`; nothing and all are told from what is merely close to them."""
    if fact.share is None:
        return ""
    if fact.count and fact.share < 0.001:
        return "<0.1%"
    if 0.999 < fact.share < 1:
        return ">99.9%"
    return f"{fact.share:.0%}" if fact.share in (0, 1) else f"{fact.share:.1%}"


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
