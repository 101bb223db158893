"""Findings in words: what each site has in, a line out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

MOST_SITES, BETWEEN_SITES = 4, " | "


def each_site(told: dict[str, str], sites: Sequence[str]) -> str:
    """`a.example: x | b.example: y`; of one site alone, what it has.

    >>> each_site({"a.example": "12 pages"}, ["a.example"])
    '12 pages'
    >>> each_site({"a.example": "12 pages"}, ["a.example", "b.example"])
    'a.example: 12 pages'
    """
    if len(sites) <= 1:
        return next(iter(told.values()), "")
    parts = [f"{site}: {words}" for site, words in told.items()]
    left = len(parts) - MOST_SITES
    return BETWEEN_SITES.join([*parts[:MOST_SITES], *([f"{left} more"] if left > 0 else [])])


def finding_of(
    frame: pd.DataFrame, sites: Sequence[str], tell: Callable[[pd.DataFrame], str], nothing: str = "there is no page"
) -> str:
    """What `tell` says of the rows of each site, or that there is `nothing`."""
    told = {site: tell(part) for site, part in frame.groupby("site", sort=False)}
    return each_site(told, sites) or nothing


def percent(share: float) -> str:
    """Neither nothing where there is something, nor all where something is left.

    >>> percent(0.124), percent(0.0004), percent(0.9999)
    ('12%', 'under 1%', '99%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return f"{99 if 0.99 < share < 1 else round(share * 100)}%"
