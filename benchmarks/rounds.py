"""Runs contenders in turn: contenders come in; their measures, and the ratios of the rounds, go out.

In each round every contender runs once, behind its start, one after the other. Ratios are taken within a round: so a
busy machine slows both sides of them. A contender that fails is not run again; the reason replaces its figures.
"""

from __future__ import annotations

import statistics
import subprocess
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from .peers import Missing
from .watching import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LEAST_CPU_SECONDS = 0.001  # short data takes no more than a start, give or take
FigureName: TypeAlias = Literal["wall", "cpu", "megabytes", "state_bytes", "silence_ms"]


@attrs.frozen
class Measure:
    """One run: seconds of wall time and of CPU (user and system), peak memory, and figures of single rows.

    `urls` is None if nothing is counted, memory if the system does not provide it.
    """

    wall: float
    cpu: float | None = None
    urls: int | None = None
    megabytes: float | None = None
    state_bytes: float | None = None  # a URL
    silence_ms: float | None = None  # the longest of the event loop


class Miscounted(Exception):
    """The contender did not give the expected URLs."""


@attrs.frozen
class Contender:
    """A command with its name; slow ones have fewer `rounds`.

    One that is `ours` must give the `expected` URLs, and its failure ends the program with an error; for others the
    number of URLs is only shown. `start` runs the same for nearly nothing: its CPU is taken off.
    """

    name: str
    run: Callable[[], Measure]
    expected: int | None = None
    rounds: int | None = None
    ours: bool = True
    start: Callable[[], Measure] | None = None


@attrs.define
class Series:
    """The measures of a contender's rounds in order, or why there are none; and the CPU seconds of its starts."""

    expected: int | None = None
    measures: list[Measure] = attrs.field(factory=list)
    starts: list[float] = attrs.field(factory=list)
    failure: str | None = None


@attrs.frozen
class Spread:
    """The median of some figures, the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Spread:
        return cls(statistics.median(numbers), min(numbers), max(numbers))

    def __str__(self) -> str:
        digits = 1 if self.median >= 20 else 2 if self.median >= 0.1 else 3
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
        if contender.start:  # first, so that a first round finds bytecode and files warm
            series.starts.append(contender.start().cpu or 0)
        measure = contender.run()
        if contender.expected is not None and contender.ours and measure.urls != contender.expected:
            raise Miscounted(f"gave {measure.urls:,} of {contender.expected:,} URLs")
        if measure.urls == 0:
            raise Miscounted("gives no URL")
        series.measures.append(measure)
    except (CommandFailed, Miscounted, Missing, subprocess.CalledProcessError, OSError) as exc:
        series.failure = str(exc)


def _outcome(series: Series) -> str:
    if series.failure:
        return series.failure
    measure = series.measures[-1]
    return f"{measure.wall:.3g} s" + (f", {measure.cpu:.3g} s of CPU" if measure.cpu else "")


def figures(series: Series, name: FigureName) -> list[float]:
    """A figure of each round, where it is known; CPU without the median of the starts."""
    found = [figure for each in series.measures if (figure := getattr(each, name)) is not None]
    if name == "cpu" and series.starts:
        start = statistics.median(series.starts)
        return [max(figure - start, LEAST_CPU_SECONDS) for figure in found]
    return found


def ratios(upper: Series, lower: Series, name: FigureName) -> list[float]:
    """How many times that of the lower the upper took, over the rounds that both have."""
    return [one / other for one, other in _pairs(upper, lower, name)]


def differences(upper: Series, lower: Series, name: FigureName) -> list[float]:
    """How much more than the lower the upper took, over the rounds that both have."""
    return [one - other for one, other in _pairs(upper, lower, name)]


def _pairs(upper: Series, lower: Series, name: FigureName) -> Iterable[tuple[float, float]]:
    return zip(figures(upper, name), figures(lower, name), strict=False)  # those with fewer rounds run in the first
