"""Periods of time, from a day to a year, and counts by them; times are local ones, without a zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs
import pandas as pd

from ..model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

# A range of more periods than this has no rows for those without a page.
MAX_PERIODS = 5_000


@attrs.frozen
class Period:
    """An alias of pandas, the precisions of dates that are too coarse for it, and the name of one by its start."""

    alias: str
    too_coarse: tuple[str, ...]
    name: Callable[[Any], str]


def _day(start: Any) -> str:
    return f"{start.year:04}-{start.month:02}-{start.day:02}"


PERIODS = {
    "day": Period("D", ("year", "month"), _day),
    "week": Period("W-SUN", ("year", "month"), _day),
    "month": Period("M", ("year",), lambda start: f"{start.year:04}-{start.month:02}"),
    "quarter": Period("Q", ("year",), lambda start: f"{start.year:04}-Q{start.quarter}"),
    "year": Period("Y", (), lambda start: f"{start.year:04}"),
}


def freq_name(freq: str) -> str:
    """The name in PERIODS of a value such as "month" or "M"; UsageError for another one."""
    for name in PERIODS:
        if str(freq).lower() in (name, name[0]):
            return name
    raise UsageError(keyword="freq", value=freq, allowed=f"one of {', '.join(PERIODS)} or the first letter of one")


def time_zone(tz: str) -> ZoneInfo:
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise UsageError(keyword="tz", value=tz, allowed='a time zone such as "Europe/Oslo" or "UTC"') from None


def counts_by_period(dated: pd.DataFrame, date: str, period: Period) -> pd.DataFrame:
    """`…, period, pages`: a row per period of the column `date`, by its start, for each value of the columns before it.

    Periods without a page have 0, or no row if there are more than MAX_PERIODS.
    """
    keys = [name for name in dated if name != date]
    periods = dated[date].dt.to_period(period.alias)
    counts = dated.groupby([*keys, periods.rename("period")], sort=False, observed=True).size().rename("pages")
    levels = [*range(len(keys))]
    by_keys = counts.groupby(level=levels, sort=False, observed=True)
    parts = [_filled(part.droplevel(levels), keys, values) for values, part in by_keys]
    none = {**dict.fromkeys(keys, ()), "period": pd.PeriodIndex([], freq="D"), "pages": ()}
    frame = pd.concat(parts) if parts else pd.DataFrame(none)
    return frame.assign(period=frame["period"].dt.start_time.dt.as_unit("us")).astype({"pages": "int64"})


def _filled(counts: pd.Series[int], keys: list[str], values: tuple[Any, ...]) -> pd.DataFrame:
    counts = counts.sort_index()
    periods = pd.period_range(counts.index[0], counts.index[-1], name="period")
    if len(periods) <= MAX_PERIODS:
        counts = counts.reindex(periods, fill_value=0)
    frame = counts.reset_index().assign(**dict(zip(keys, values, strict=True)))
    return frame[[*keys, "period", "pages"]]


def period_ends(starts: pd.Series[Any], period: str) -> pd.Series[Any]:
    """Times with the unit of the starts."""
    return (starts.dt.to_period(PERIODS[period].alias) + 1).dt.start_time.astype(starts.dtype)


def period_end(start: Any, period: str) -> Any:
    return period_ends(pd.Series([start]), period).iloc[0]


def in_zone(starts: pd.Series[Any], zone: ZoneInfo) -> pd.Series[Any]:
    """The starts of periods in a time zone; where a change of the clocks skips one, the first moment after it."""
    return starts.dt.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")


def period_count(starts: pd.Series[Any], period: str) -> int:
    periods = starts.dt.to_period(PERIODS[period].alias)
    return int((periods.max() - periods.min()).n) + 1
