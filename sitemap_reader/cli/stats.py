"""`stats`: summarises a site, or a dump, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..client.targets import Target, find_target, reject_sitemap_file
from ..frontier.plan import Selection, make_selection
from ..frontier.robots_rules import AgentRules, agent_names
from ..model.errors import UsageError, printable, without_commands
from ..model.problems import CATALOGUE, count_of
from ..model.url_batch import UrlBatch
from ..serialize.dumps import STDIN, in_batches, is_dump_name, numbered_objects, numbered_records
from ..statistics.collector import RobotsStatistics, Statistics
from .exits import Exit, judge
from .messages import Console, read_each, stdin_document
from .output import display_name, open_input, open_outputs, rows_format_for, screen_for
from .tables import padded, rows_as, width

if TYPE_CHECKING:
    from ..client.terminal import Screen
    from ..statistics.facts import Fact
    from .options import OutputOptions
    from .output import Outputs


_GAP = "    "
_MAX_TITLE_CHARS = 32


def panels(facts: Sequence[Fact], screen: Screen) -> Iterator[str]:
    """The facts in blocks under headings, as lines without ends; in two columns if they fit on the screen."""
    if not facts:
        return
    blocks = [list(block) for _, block in groupby(facts, key=lambda fact: fact.group.partition(" ")[0])]
    layouts: list[tuple[list[str], list[str]]] = [(_column(blocks), [])]
    layouts += [(_column(blocks[:cut]), _column(blocks[cut:])) for cut in range(1, len(blocks))]

    def breadth(left: list[str], right: list[str]) -> int:
        return sum(max(map(width, lines)) for lines in (left, right) if lines) + (len(_GAP) if right else 0)

    fitting = [layout for layout in layouts if breadth(*layout) <= screen.columns] or layouts[:1]
    left, right = min(fitting, key=lambda layout: max(map(len, layout)))
    edge = max(map(width, left))
    for number in range(max(len(left), len(right))):
        one, other = (lines[number] if number < len(lines) else "" for lines in (left, right))
        blanks = " " * (edge - width(one) + len(_GAP)) if other else ""
        styled = [
            screen.styled(screen.shown(each), None if each.startswith(" ") else "heading") for each in (one, other)
        ]
        yield blanks.join(styled)


def _column(blocks: Sequence[Sequence[Fact]]) -> list[str]:
    cells = [[(_label(fact), f"{fact.count:,}", percent(fact)) for fact in block] for block in blocks]
    label, count, share = (max(width(row[part]) for block in cells for row in block) for part in range(3))
    lines = []
    for block, rows in zip(blocks, cells, strict=True):
        lines += ["", block[0].group.partition(" ")[0]]
        lines += [f"  {padded(row[0], label)}  {row[1].rjust(count)}  {row[2].rjust(share)}".rstrip() for row in rows]
    return lines[1:]


def _label(fact: Fact) -> str:
    """The label of a fact below its heading, the first word of the group; for a problem with its title."""
    if fact.group == "problems" and fact.name in CATALOGUE:
        return f"{fact.name} {shorten(CATALOGUE[fact.name].title, _MAX_TITLE_CHARS, placeholder='…')}"
    return without_commands(printable(f"{fact.group.partition(' ')[2]} {fact.name}".strip()))


def percent(fact: Fact) -> str:
    """`12.5%`; 0% and 100% are exact: shares close to them are `<0.1%` and `>99.9%`."""
    if fact.share is None:
        return ""
    if fact.count and fact.share < 0.001:
        return "<0.1%"
    if 0.999 < fact.share < 1:
        return ">99.9%"
    return f"{fact.share:.0%}" if fact.share in (0, 1) else f"{fact.share:.1%}"


HEADER = ("group", "name", "count", "share")


def run(*, target: str, to: OutputOptions, robots_for: str | None = None, **reading: Any) -> Exit:
    """Writes the facts of a TARGET or a FILE; `reading` are keywords of sitemap_reader.urls()."""
    console = Console(quiet=to.quiet, verbose=to.verbose)
    format = rows_format_for(to)
    is_dump = reading["base"] is None and is_dump_name(target)
    found = None if is_dump else _found(target, reading)
    now = (found and found.recorded) or _now()
    with open_outputs(to.output, is_json=format == "jsonl", bom=to.has_bom(format)) as outputs:
        statistics = Statistics(now, None if is_dump else lambda: (found and found.recorded) or _now())
        stats_run = _StatsRun(console, outputs, reading, now, statistics, found, robots_for)
        codes = read_each([target], console, stats_run.file if is_dump else stats_run.site)
        outputs.decide(codes)
        if set(codes) != {Exit.USAGE}:
            outputs.records.write_lines(b"".join(_lines(format, stats_run.statistics.facts(), to)))
    return console.end(stats_run.text, stats_run.partial, codes)


def _now() -> datetime:
    return datetime.now(UTC)


def _found(target: str, reading: Mapping[str, Any]) -> Target | None:
    """The target; a recording has the time from which ages are computed. None if it is invalid."""
    base = reading["base"]
    try:
        return stdin_document(reading) if target == STDIN and base is not None else find_target(target, base)
    except UsageError:  # reported when it is read
        return None


@attrs.define
class _StatsRun:
    console: Console
    outputs: Outputs
    reading: dict[str, Any]
    now: datetime
    statistics: Statistics
    found: Target | None = None
    robots_for: str | None = None
    text: str | None = None  # the last lines on stderr
    partial: str | None = None

    def site(self, target: str) -> Exit:
        from ..client.crawler import batches  # a file needs no network library

        check, console = self.outputs.interrupts.check, self.console
        callbacks: dict[str, Any] = {"on_item": console.show, "on_wait": check, "on_progress": console.progress()}
        # Deferred: the summary counts exactly what was counted here.
        with self.outputs.interrupts.deferred(), batches(self.found or target, **callbacks, **self.reading) as stream:
            if self.robots_for is not None:
                known = self.found.known_rules(stream.rules) if self.found else stream.rules
                self.statistics.robots = RobotsStatistics(AgentRules(known, agent_names(self.robots_for)))
            try:
                for item in chain.from_iterable(stream):
                    self.statistics.add(item)
                    check()
            finally:
                summary = stream.summary
                self.text, self.partial = summary.text, summary.partial_line()
        return judge(self.found.name if self.found else target, summary)

    def file(self, file: str) -> Exit:
        reject_sitemap_file(file)
        name = display_name(file)
        if self.robots_for is not None:
            raise UsageError(f"--robots-for: {name} is a dump, which has no robots.txt", remedy="give the site")
        selection = _selection(name, self.reading, self.now)
        with open_input(file) as body:
            counted = (line for line in numbered_objects(body, name) if line[1].get("type") in _COUNTED)
            items: Any = (item for _, item in numbered_records(counted, name))
            for batch in in_batches(items):
                for item in batch:
                    self.statistics.add(selection.only(item) if isinstance(item, UrlBatch) else item)
        self.text = f"{count_of(self.statistics.urls, 'URL')} in {name}; {self.console.elapsed}"
        if self.statistics.urls:
            return Exit.COMPLETE
        self.console.error(f"{name} lists no URL" + (" that matches the filters" if selection != Selection() else ""))
        return Exit.NOTHING


# Types of lines that are counted; those of URLs have none.
_COUNTED = (None, "outcome", "problem")


def _selection(name: str, reading: Mapping[str, Any], now: datetime) -> Selection:
    """The filters; UsageError for those that a dump does not take."""
    for keyword in ("follow", "no_follow"):
        if reading.get(keyword):
            option = f"--{keyword.replace('_', '-')}"
            raise UsageError(f"{option} chooses sitemaps to read, and {name} is a dump: give {option} to `dump`")
    filters = {keyword: reading[keyword] for keyword in ("since", "until", "undated", "include", "exclude")}
    return make_selection(now, **filters)


def _lines(format: str, facts: list[Fact], to: OutputOptions) -> Iterator[bytes]:
    if format == "jsonl":
        return (orjson.dumps(fact.to_dict(), option=orjson.OPT_APPEND_NEWLINE) for fact in facts)
    if format == "table":
        screen = screen_for(to.output)
        return (f"{line}\n".encode(screen.encoding, "replace") for line in panels(facts, screen))
    rows = [(each.group, each.name, each.count, None if each.share is None else f"{each.share:.6g}") for each in facts]
    return rows_as(format, HEADER, rows, right=(), to=to)
