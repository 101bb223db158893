"""A document that dropped what it may speak for after all: it is read once more, for that alone.

In: the outcome of its first reading, and what is known when nothing more can be learned. Out: whether to read it
again, and what the two readings come to. A second reading gives no child and repeats no record.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

import attrs

from ..parser.normalise.scope import Reason

if TYPE_CHECKING:
    from ..model.records import Outcome
    from ..parser.normalise.scope import Scope

_REASONS = frozenset(get_args(Reason))


@attrs.define
class Again:
    """A second reading: `former` covers what the first one gave, `first` is what became of that.

    `regained` counts what is given now, by the reason for which it was dropped then.
    """

    former: Scope
    first: Outcome
    regained: Counter[str] = attrs.field(factory=Counter)


def has_drops(outcome: Outcome) -> bool:
    """Whether something was out of scope, and not only out of the dates that were asked for."""
    return not _REASONS.isdisjoint(outcome.dropped)


def second_reading(first: Outcome | None, former: Scope, authorities: tuple[str, ...]) -> Again | None:
    """Another reading, if one of the authorities may cover some of what `former` dropped.

    What an authority covers differs from the former ones in the same way as the authority does: so one on another
    host brings nothing back where only paths were at fault.
    """
    if first is None or not any(former.reason(authority) in first.dropped for authority in authorities):
        return None
    return Again(former, first)


def outcome_of_both(again: Again, second: Outcome) -> Outcome:
    """What became of a document that was read twice.

    The same bytes, so the second outcome is the truth; else the first one, and what was given beyond it.
    """
    first = again.first
    if second.sha256 == first.sha256:
        return second
    first.kept += again.regained.total()
    first.dropped = dict(Counter(first.dropped) - again.regained)
    first.complete = first.complete and second.complete
    return first
