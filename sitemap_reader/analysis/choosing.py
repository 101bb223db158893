"""Some of a Snapshot's rows: three tables and what is asked for in, the same with fewer rows out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..frontier.filters import make_patterns
from ..model.errors import UsageError
from .gathering import Gathered

if TYPE_CHECKING:
    from ..frontier.filters import Pattern


# How many values of a keyword are named.
_NAMED = 5


def chosen(
    tables: Gathered,
    sites: list[str] | None,
    include: Pattern | Iterable[Pattern] | None,
    exclude: Pattern | Iterable[Pattern] | None,
) -> Gathered:
    """The rows of these sites, and of their URLs those that are asked for; UsageError for a site that is not there."""
    import pyarrow as pa

    urls, sitemaps, problems = (_of_sites(table, sites) for table in (tables.urls, tables.sitemaps, tables.problems))
    there = tables.urls["site"].unique().to_pylist()
    if sites is not None and (missing := {*sites}.difference(there)):
        raise UsageError(f"there is no site {', '.join(sorted(missing))}; there are {', '.join(sorted(there))}")
    wanted, unwanted = make_patterns("include", include), make_patterns("exclude", exclude)
    if wanted or unwanted:
        locs = urls["loc"].to_pylist()
        places = [
            place
            for place, loc in enumerate(locs)
            if (not wanted or wanted.find_in(loc)) and not unwanted.find_in(loc)
        ]
        urls = urls.take(pa.array(places, pa.int64()))
    return Gathered(urls, sitemaps, problems)


def choice_of(asked: dict[str, Any]) -> str:
    """What is asked for, in words: `include '/blog/'`; nothing where nothing is. Several values are a list or tuple.

    >>> choice_of({"site": ["a.example", "b.example"], "include": "/x/", "exclude": None})
    "site 'a.example' or 'b.example', include '/x/'"
    """
    return ", ".join(f"{name} {_in_words(value)}" for name, value in asked.items() if value is not None)


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        more = [f"{len(value) - _NAMED:,} more"] if len(value) > _NAMED else []
        return " or ".join([*map(_in_words, value[:_NAMED]), *more]) or "none"
    text = getattr(value, "pattern", value)  # of a regular expression
    return f"'{text}'" if isinstance(text, str) else "a function" if callable(text) else str(text)


def repeatable(given: Any) -> Any:
    """The value of a keyword that takes one or several, so that it can be read more than once."""
    return [*given] if isinstance(given, Iterable) and not isinstance(given, str) else given


def _of_sites(table: Any, sites: list[str] | None) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    if sites is None:
        return table
    return table.filter(compute.is_in(table["site"], pa.array(sorted(sites), pa.string())))
