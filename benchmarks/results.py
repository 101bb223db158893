"""Tables -> text for a terminal, and the page RESULTS.md with the versions and the machine."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

import sitemap_reader

from .peers import DISTRIBUTIONS, PACKAGES, version_of
from .rounds import Spread, figures, ratios
from .rows import EXPAT_ONLY, ROWS, WORK
from .serving import nginx_program
from .tables import aligned, markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .jobs import Table
    from .rounds import Series
    from .rows import Row

PAGE = Path(__file__).parent / "RESULTS.md"
_BAR_HEADINGS = ["work", "of", "against", "measure", "bar", "stretch", "scanner", "met?", "expat only", "met?"]
VERDICT = _BAR_HEADINGS.index("met?")
_HEADINGS = ["", "in {base}: wall", "CPU", "rounds", "seconds", "CPU seconds", "start", "URLs", "MB", "ms of silence"]
_MEASURES = {
    "cpu": "CPU",
    "wall": "wall time",
    "megabytes": "peak memory",
    "state_bytes": "size of the state",
    "silence_ms": "longest silence of the event loop",
}


def bar_rows(tables: Iterable[Table], decides: bool = True) -> list[list[str]]:
    """The headings, and the cells of each row whose table was measured; if the data is too small, without verdicts."""
    series = {table.title: table.series for table in tables}
    return [_BAR_HEADINGS, *(_cells(row, series[row.table], decides) for row in ROWS if row.table in series)]


def _cells(row: Row, series: Mapping[str, Series], decides: bool) -> list[str]:
    sign = "<=" if row.direction == "at most" else ">="
    bars = [f"{sign} {bar:g} {row.unit}" if bar else "-" for bar in (row.bar, row.stretch)]
    found = []
    for measured in (row.measured(series), row.measured(series, EXPAT_ONLY)):
        verdict = "?" if isinstance(measured, str) else row.verdict(measured) if decides else "(too small)"
        found += [str(measured), "-" if measured == "-" else verdict]
    measure = f"{_MEASURES[row.figure]}{', difference' if row.difference else ''}"
    return [row.table, row.upper, row.lower or "-", measure, *bars, *found]


def series_rows(table: Table) -> list[list[str]]:
    """The headings, and the cells of each contender; a column in which nothing stands is left out."""
    rows = [_series(name, each, table.series[table.base]) for name, each in table.series.items()]
    headings = [each.format(base=table.base) for each in _HEADINGS]
    columns = [column for column in zip(headings, *rows, strict=True) if set(column[1:]) != {"-"}]
    return [list(row) for row in zip(*columns, strict=True)]


def _series(name: str, series: Series, base: Series) -> list[str]:
    if series.failure and not series.measures:
        return [name, series.failure, *["-"] * (len(_HEADINGS) - 2)]
    wall, cpu = (ratios(series, base, figure) for figure in ("wall", "cpu"))
    seconds = (figures(series, "wall"), figures(series, "cpu"), series.starts)
    failure = f"; then {series.failure}" if series.failure else ""
    return [
        name,
        f"{Spread.of(wall)}{failure}",
        str(Spread.of(cpu)) if cpu else "-",
        str(len(series.measures)),
        *(_figure(each, statistics.median, ".3g") for each in seconds),
        _counted(series.measures[-1].urls, series.expected),
        *(_figure(figures(series, name), max, ".1f") for name in ("megabytes", "silence_ms")),
    ]


def _figure(numbers: list[float], choose: Callable[[list[float]], float], form: str) -> str:
    return format(choose(numbers), form) if numbers else "-"


def _counted(urls: int | None, expected: int | None) -> str:
    if urls is None:
        return "-"
    return f"{urls:,}" if expected in (None, urls) else f"{urls:,} of {expected:,}"


def text(tables: Sequence[Table], decides: bool) -> str:
    """For a terminal."""
    parts = [f"{table.title} ({table.about})\n{aligned(series_rows(table))}" for table in tables]
    return "\n".join([*parts, aligned(bar_rows(tables, decides))])


# --- the page ---


def page(tables: Sequence[Table], command: str, *, decides: bool, peers: bool) -> str:
    """RESULTS.md."""
    parts = [
        "# Results\n",
        f"Written by `{command}` on {datetime.now(UTC):%Y-%m-%d}. Ratios are taken within a round, in which all that "
        "is compared runs in turn: the median, and in brackets the lowest and the highest. Seconds are the median and "
        "hold for this machine on that day only. What each contender does for its time stands at the end.\n",
        _bullets(machine()),
        "## The bars\n",
        "*Scanner* is the package with its compiled scanner, *expat only* the same without it. CPU is user and system "
        "time, which other work on the machine disturbs less than wall time. It is that of the whole process, without "
        "its start where a table has one: what the same command takes for a site of one URL (the median of the "
        "rounds). Wall time contains the start. Of `dump` both count: with two cores it parses and writes at the same "
        "time.\n",
        markdown(bar_rows(tables, decides)),
    ]
    for table in tables:
        parts += [f"## {table.title}\n", f"{table.about[0].upper()}{table.about[1:]}.\n", markdown(series_rows(table))]
    parts += ["## What each does\n", _bullets(f"**{name}**: {does}." for name, does in WORK.items())]
    parts += ["## Versions\n", _bullets(versions(peers))]
    return "\n".join(parts)


def _bullets(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def machine() -> list[str]:
    """The machine of the benchmarks."""
    return [
        f"{_processor()}, {os.cpu_count()} cores, {_memory()}",
        f"{platform.system()} {platform.release()}; {'nginx' if nginx_program() else 'a small server of our own'}",
        f"{platform.python_implementation()} {platform.python_version()} with {expat.EXPAT_VERSION}",
    ]


def _processor() -> str:
    return _value_in(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine()


def _memory() -> str:
    kib = _value_in(Path("/proc/meminfo"), "MemTotal")
    return f"{int(kib.split()[0]) / 1024**2:.0f} GiB" if kib else "memory not known"


def _value_in(file: Path, name: str) -> str | None:
    """A value in one of Linux's files."""
    if not file.exists():
        return None
    lines = (line.partition(":") for line in file.read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), None)


def versions(peers: bool) -> list[str]:
    """The versions of all programs and packages."""
    found = [f"sitemap-reader {sitemap_reader.__version__}"]
    for name in (*DISTRIBUTIONS, *PACKAGES) if peers else ():
        try:
            found.append(f"{name} {version_of(name)}")
        except (OSError, subprocess.CalledProcessError):
            found.append(f"{name}: not installed")
    return found
