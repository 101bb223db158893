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

from .checks import CHECKS
from .peers import DISTRIBUTIONS, PACKAGES, version_of
from .rounds import Series, ratios
from .serving import nginx_program
from .tables import aligned, markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .bars import Row
    from .jobs import Table

PAGE = Path(__file__).parent / "RESULTS.md"
_BAR_HEADINGS = ["work", "ours", "limit, peer or size", "measured", "bar", "stretch", "met?"]
_HEADINGS = ["", "in ours: median (lowest to highest)", "rounds", "seconds", "URLs", "MB", "MB, largest child"]


def bar_rows(tables: Iterable[Table], decides: bool = True) -> list[list[str]]:
    """A row of cells for each bar of the design; if the data is too small, "no verdict"."""
    cells = [_bar(row, decides) for table in tables for row in table.bars]
    return [_BAR_HEADINGS, *cells]


def _bar(row: Row, decides: bool) -> list[str]:
    measured = "-" if row.measured is None else f"{row.measured} {row.unit}"
    sign = "<=" if row.direction == "at most" else ">="
    verdict = row.verdict if decides or row.measured is None else "(too small)"
    stretch = "-" if row.stretch is None else f"{sign} {row.stretch:g} {row.unit}"
    return [row.work, row.ours, row.against, measured, f"{sign} {row.bar:g} {row.unit}", stretch, verdict]


def series_rows(table: Table) -> list[list[str]]:
    """A row of cells for each contender; a column in which nothing stands is left out."""
    rows = [_series(name, each, table.series[table.ours]) for name, each in table.series.items()]
    columns = [column for column in zip(_HEADINGS, *rows, strict=True) if set(column[1:]) != {"-"}]
    return [list(row) for row in zip(*columns, strict=True)]


def _series(name: str, series: Series, ours: Series) -> list[str]:
    if series.failure and not series.measures:
        return [name, series.failure, *["-"] * (len(_HEADINGS) - 2)]
    urls = series.measures[-1].urls
    middle = statistics.median(each.seconds for each in series.measures)
    ratio = str(ratios(series, ours) or "-")
    return [
        name,
        f"{ratio}; then {series.failure}" if series.failure else ratio,
        str(len(series.measures)),
        f"{middle:.3g}",
        _counted(urls, series.expected),
        _megabytes(series.most_megabytes()),
        _megabytes(series.most_child_megabytes()),
    ]


def _counted(urls: int | None, expected: int | None) -> str:
    if urls is None:
        return "-"
    return f"{urls:,}" if expected in (None, urls) else f"{urls:,} of {expected:,}"


def _megabytes(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.1f}"


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
        "hold for this machine on that day only. What each reader does for its time stands at the end.\n",
        _bullets(machine()),
        "## The bars\n",
        "Of the design, section 11. Where a peer stands, the figure is how many times longer it takes than ours.\n",
        markdown(bar_rows(tables, decides)),
    ]
    for table in tables:
        parts += [f"## {table.title}\n", f"{table.about[0].upper()}{table.about[1:]}.\n", markdown(series_rows(table))]
    parts += ["## What each does\n", _bullets(f"**{name}**: {does}." for name, does in CHECKS.items())]
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
