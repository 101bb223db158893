"""Facts for people: blocks under headings, side by side where the screen is wide enough. Facts in, lines out."""

from __future__ import annotations

from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING

from ..model.escapes import printable
from ..model.problems import CATALOGUE
from .columns import padded, width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..statistics.collector import Fact

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
        lines += [
            f"  {padded(row[0], label)}  {row[1].rjust(count)}  {row[2].rjust(share)}".rstrip() for row in rows
        ]
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
