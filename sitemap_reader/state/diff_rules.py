"""What a document lists now beside what was listed before: values and rules, without a database.

In: listings, and what a document states, column by column. Out: which of them count, each URL once.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias, cast

import attrs

from ..parser.fast_scanner import Entries
from ..serialize.jsonl import Lines
from .rows import columns_of, newest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from ..frontier.lastmod_trust import History
    from ..model.records import Change
    from .rows import Listing, Stated

# New URLs come many at once: plain ones as Entries, the rest as Lines of their records.
ChangePiece: TypeAlias = "Entries | Lines | list[Change]"
# What is looked at and stored at once: all of a document, if it has no more than the protocol permits.
MOST_AT_ONCE = 50_000

# How a URL is listed elsewhere: by a document, by none any more, or not since it expired.
_LISTED, _LEFT_OPEN = 0, 1


@attrs.define
class Before:
    """What was listed before, by key: by the document itself (`own`), and `elsewhere`, with how."""

    own: dict[int, Listing]
    elsewhere: dict[int, list[tuple[int, Listing]]] = attrs.field(factory=dict)

    def of(self, key: int) -> list[Listing]:
        """The listings that counted; what expired does where nothing else is known."""
        elsewhere = self.elsewhere.get(key, [])
        own = [self.own[key]] if key in self.own else []
        counted = own + [listing for how, listing in elsewhere if how in (_LISTED, _LEFT_OPEN)]
        return counted or [listing for _, listing in elsewhere]

    def documents(self, key: int) -> Iterator[int]:
        """Those that listed it, whenever that was."""
        if key in self.own:
            yield self.own[key].document
        yield from (listing.document for _, listing in self.elsewhere.get(key, ()))

    def beside(self, key: int, document: int) -> list[Listing]:
        """Those that count beside what the document lists now."""
        return [
            listing
            for how, listing in self.elsewhere.get(key, ())
            if how == _LISTED or (how == _LEFT_OPEN and listing.document != document)
        ]


@attrs.define
class Changed:
    """How what a document lists differs from before: `prefix` is what its locs begin with now.

    `stored` are the keys that a document with very many has stored already.
    """

    prefix: str | None = None
    stored: set[int] = attrs.field(factory=set)
    both: int = 0
    lastmod_only: int = 0
    entry_only: int = 0

    def count(self, old: Listing, new: Listing) -> None:
        """One URL that it lists otherwise than before."""
        lastmod = old[1:3] != new[1:3]
        entry = old[3:] != new[3:]
        self.both += lastmod and entry
        self.lastmod_only += lastmod and not entry
        self.entry_only += entry and not lastmod and old.lastmod is not None

    def history(self, before: History, entries: int) -> History:
        """These beside what was seen before.

        Pages change all the time, and their dates with them: that most do at once is how a generated stamp looks.
        """
        alone = self.lastmod_only if self.lastmod_only * 2 > entries else 0
        return attrs.evolve(
            before,
            both=before.both + self.both,
            lastmod_only=before.lastmod_only + alone,
            entry_only=before.entry_only + self.entry_only,
        )


def at_once(changed: Iterator[Stated]) -> Iterator[list[Stated]]:
    """As many as are looked at and stored at once."""
    some: list[Stated] = []
    urls = 0
    for stated in changed:
        some.append(stated)
        urls += len(stated.keys)
        if urls >= MOST_AT_ONCE:
            yield some
            some, urls = [], 0
    if some:
        yield some


def without_repeated(some: list[Stated], own: dict[int, Listing], earlier: AbstractSet[int]) -> list[Stated]:
    """Each URL once: of one document's listings of it the newest counts, of equal ones the first.

    Those of `earlier` were listed already as they are stored.
    """
    counts: dict[int, int] = {}  # key -> how new its best listing is
    winners: dict[int, tuple[int, int]] = {}
    for number, stated in enumerate(some):
        for index, key in enumerate(stated.keys):
            age = newest(stated.lastmods[index], stated.precisions[index])
            if key not in counts and key in earlier and key in own:
                counts[key] = newest(own[key].lastmod, own[key].precision)
            if key not in counts or age > counts[key]:
                counts[key], winners[key] = age, (number, index)
    kept = frozenset(winners.values())
    return [
        stated.only([(number, index) in kept for index in range(len(stated.keys))])
        for number, stated in enumerate(some)
    ]


def mixed(stated: Stated, sitemap: str) -> Iterator[ChangePiece]:
    """New ones of which some have a form, in their order."""
    start = 0
    for is_plain, group in groupby(stated.forms or (), lambda form: form is None):
        forms = [*group]
        end = start + len(forms)
        if is_plain:
            yield Entries(columns_of(stated.part(start, end)), sitemap)
        else:
            yield Lines(b"".join(cast("list[bytes]", forms)), len(forms), 0)
        start = end
