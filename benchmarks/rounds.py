"""Runs contenders in turn: contenders come in; their measures, and the ratios of the rounds, go out.

In each round every contender runs once, one after the other, and ratios are taken within a round: so a busy machine
slows both sides of them. A contender that fails is not run again; the reason replaces its figures.
"""

from __future__ import annotations

import statistics
import subprocess
from typing import TYPE_CHECKING

import attrs

from .peers import Missing
from .watching import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@attrs.frozen
class Measure:
    """One run. `urls` is None if nothing is counted, memory if the system does not provide it."""

    seconds: float
    urls: int | None = None
    megabytes: float | None = None
    child_megabytes: float | None = None


class Miscounted(Exception):
    """The contender did not give the expected URLs."""


@attrs.frozen
class Contender:
    """A command with its name; slow ones have fewer `rounds`.

    One that is `ours` must give the `expected` URLs, and its failure ends the program with an error; for others the
    number of URLs is only shown.
    """

    name: str
    run: Callable[[], Measure]
    rounds: int | None = None
    expected: int | None = None
    ours: bool = False


@attrs.define
class Series:
    """The measures of a contender's rounds in order, or why there are none."""

    expected: int | None = None
    measures: list[Measure] = attrs.field(factory=list)
    failure: str | None = None

    def most_megabytes(self) -> float | None:
        return max((each.megabytes for each in self.measures if each.megabytes is not None), default=None)

    def most_child_megabytes(self) -> float | None:
        return max((each.child_megabytes for each in self.measures if each.child_megabytes is not None), default=None)


@attrs.frozen
class Spread:
    """The median of some figures, the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        return cls(statistics.median(figures), min(figures), max(figures))

    def __str__(self) -> str:
        digits = 2 if self.median >= 0.1 else 4
        return f"{self.median:.{digits}f} ({self.lowest:.{digits}f} to {self.highest:.{digits}f})"


def in_turn(contenders: Iterable[Contender], rounds: int, on_progress: Callable[[str], None]) -> dict[str, Series]:
    """Every contender's series, by name."""
    contenders = list(contenders)
    series = {each.name: Series(each.expected) for each in contenders}
    for number in range(rounds):
        for each in contenders:
            if series[each.name].failure is None and number < (each.rounds or rounds):
                _run(each, series[each.name])
                on_progress(f"  round {number + 1}: {each.name}: {_outcome(series[each.name])}")
    return series


def _run(contender: Contender, series: Series) -> None:
    try:
        measure = contender.run()
        if contender.expected is not None and contender.ours and measure.urls != contender.expected:
            raise Miscounted(f"gave {measure.urls:,} of {contender.expected:,} URLs")
        if measure.urls == 0:
            raise Miscounted("gives no URL")
        series.measures.append(measure)
    except (CommandFailed, Miscounted, Missing, subprocess.CalledProcessError, OSError) as exc:
        series.failure = str(exc)


def _outcome(series: Series) -> str:
    return series.failure or f"{series.measures[-1].seconds:.2f} s"


def ratios(upper: Series, lower: Series) -> Spread | None:
    """How many times longer the upper took, over the rounds that both have; None where there is none."""
    pairs = zip(upper.measures, lower.measures, strict=False)  # contenders with fewer rounds run in the first ones
    figures = [one.seconds / other.seconds for one, other in pairs]
    return Spread.of(figures) if figures else None
