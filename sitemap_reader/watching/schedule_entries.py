"""What a Schedule keeps of each document, of each source of signals and pings, and of each host.

Entries of heaps have a version: those that do not have the version of their document or host are outdated.
"""

from __future__ import annotations

from heapq import heappop
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from .rates import SignalRecord

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .budget import TokenBucket
    from .rates import ChangeRate

    Key: TypeAlias = Hashable


@attrs.define(eq=False)
class Document:
    """A document, and what is known of its changes."""

    key: Key
    host: Host
    rate: ChangeRate
    looked_at: float
    source: Source | None
    demand: float = 0.0  # sqrt(rate / 2), of the changes that are not signalled
    full_demand: float = 0.0  # of all
    per_second: float = 0.0
    pending: float = 0.0  # what signals since the last look add to the index
    signals: list[tuple[Source, float | None]] = attrs.field(factory=list)
    version: int = -1  # of its valid entry in the heap of its host
    not_before: float = -inf
    pinged_for: float = inf  # from then on it is due, because of a ping


@attrs.define(eq=False)
class Source:
    """What signals changes of documents: an index (`key` is that of its document), or a site that pings."""

    key: Key
    record: SignalRecord = attrs.field(factory=SignalRecord)
    documents: dict[Key, Document] = attrs.field(factory=dict)
    demand: float = 0.0  # the sum of the documents' full_demand
    per_second: float = 0.0  # the sum of their rates
    sent: int = 0  # signals since the last look at the index
    counts: bool = True  # whether the documents wait for its signals
    pinged_for: float = -inf  # the time of the last look that a ping of it is for


@attrs.define(eq=False)
class Host:
    """A host, whose documents are looked at in one visit."""

    name: str
    bucket: TokenBucket
    documents: dict[Key, Document] = attrs.field(factory=dict)
    heap: list[tuple[float, int, Document]] = attrs.field(factory=list)  # by the time at which they are nearly due
    near: dict[Key, Document] = attrs.field(factory=dict)  # nearly due
    visited: dict[Key, Document] | None = None  # while it is visited: those not yet looked at
    reserved: int = 0  # requests of the visit that the buckets have paid for, and that were not made yet
    demand: float = 0.0
    min_theta: float = 0.0
    not_before: float = -inf
    version: int = -1


def drop_outdated(heap: list[tuple[float, int, Any]]) -> None:
    """Removes the first entries whose documents or hosts have later ones."""
    while heap and heap[0][1] != heap[0][2].version:
        heappop(heap)
