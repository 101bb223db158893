"""The tables of a harvest: the columns of each, as they are in every part of it."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.problems import Problem
from ..model.records import Change, Outcome
from ..serialize.projection import Column, Fields, all_fields, fields_of
from ..serialize.schema import Scalar

if TYPE_CHECKING:
    from ..serialize.schema import Kind

# What became of a host. `nothing`: it has no sitemap, or these list nothing; `blocked`: it refused robots.txt or the
# well-known paths, or could not be connected to; `unreadable`: other errors are why there is no URL; `given_up`: its
# time or its URLs were up; `failed`: we failed.
Verdict = Literal["complete", "partial", "nothing", "blocked", "unreadable", "given_up", "failed"]
# Of these something may be missing.
NOT_WHOLE: tuple[Verdict, ...] = ("partial", "blocked", "unreadable", "given_up", "failed")
# These are named one by one.
NAMED: tuple[Verdict, ...] = ("given_up", "failed")

# The tables, each a folder of the harvest; and what of each host is summed up by shard.
TABLES = ("urls", "sitemaps", "problems", "hosts")
SUMS = ("urls", "sitemaps", "problems", "bytes_wire")


@attrs.define
class HostRow:
    """What became of a host: a row of the table of hosts. `seconds` is its time from beginning to end."""

    site: str
    domain: str
    verdict: Verdict
    why: str | None
    urls: int
    sitemaps: int
    problems: int
    bytes_wire: int
    seconds: float


_KINDS: dict[str, Kind] = {"str": "text", "Verdict": "text", "str | None": "text", "int": "integer", "float": "number"}
_HOSTS = Fields(
    tuple(
        Column(field.name, Scalar(_KINDS[str(field.type)]), itemgetter(field.name)) for field in attrs.fields(HostRow)
    )
)


def tables(*, of_changes: bool) -> dict[str, Fields]:
    """Table -> its columns, in order; the URLs are changes where there is a state."""
    urls = fields_of(Change) if of_changes else all_fields()
    return dict(zip(TABLES, (urls, fields_of(Outcome), fields_of(Problem), _HOSTS), strict=True))
