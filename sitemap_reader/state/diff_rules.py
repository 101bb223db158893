"""The rules of a sync that need no database: which of several listings of a URL counts, and how a document changed.

In: listings of URLs, and the columns of what a document lists. Out: the listings that count, each URL once.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias, cast

import attrs

from ..parser.fast_scanner import Entries
from ..serialize.jsonl import Lines
from .rows import comparable_lastmod, entry_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from ..frontier.lastmod_trust import History
    from ..model.records import Change
    from .rows import Listing, UrlColumns

# New URLs come in bulk: those without extensions as Entries, the others as Lines of their records.
ChangePiece: TypeAlias = "Entries | Lines | list[Change]"
# URLs that are compared and stored together: a whole document, if it keeps to the protocol's limit.
MAX_BATCH_URLS = 50_000

# How a URL is known from other listings: one in the state, or one that has left its document (not expired).
_LISTED, _LEFT_OPEN = 0, 1


@attrs.define
class PreviousListings:
    """Listings from before this document was read, by key: its `own`, and those `elsewhere` with their kind."""

    own: dict[int, Listing]
    elsewhere: dict[int, list[tuple[int, Listing]]] = attrs.field(factory=dict)

    def counted(self, key: int) -> list[Listing]:
        """The listings of a URL that counted before; expired ones only where there are no others."""
        elsewhere = self.elsewhere.get(key, [])
        own = [self.own[key]] if key in self.own else []
        counted = own + [listing for kind, listing in elsewhere if kind in (_LISTED, _LEFT_OPEN)]
        return counted or [listing for _, listing in elsewhere]

    def documents(self, key: int) -> Iterator[int]:
        """The numbers of all documents that list the URL or listed it."""
        if key in self.own:
            yield self.own[key].document
        yield from (listing.document for _, listing in self.elsewhere.get(key, ()))

    def counted_elsewhere(self, key: int, document: int) -> list[Listing]:
        """The listings of a URL that count besides the new one of this document."""
        return [
            listing
            for kind, listing in self.elsewhere.get(key, ())
            if kind == _LISTED or (kind == _LEFT_OPEN and listing.document != document)
        ]


@attrs.define
class DocumentChanges:
    """How a document differs from its previous version: counts of changed entries, as in History.

    `prefix` is the common beginning of its stored locs, None before any is stored. `stored` are the keys that were
    stored in earlier batches of the same document.
    """

    prefix: str | None = None
    stored: set[int] = attrs.field(factory=set)
    both: int = 0
    lastmod_only: int = 0
    entry_only: int = 0

    def count(self, old: Listing, new: Listing) -> None:
        """Counts one URL whose listing in the document changed."""
        lastmod = old[1:3] != new[1:3]
        entry = old[3:] != new[3:]
        self.both += lastmod and entry
        self.lastmod_only += lastmod and not entry
        self.entry_only += entry and not lastmod and old.lastmod is not None

    def update_history(self, history: History, entries: int) -> History:
        """The history with these changes added.

        A lastmod that changes alone is normal, as the page changes and its entry does not. Only where over half of the
        entries do so at once does it count: that is how a generated stamp looks.
        """
        lastmod_only = self.lastmod_only if self.lastmod_only * 2 > entries else 0
        return attrs.evolve(
            history,
            both=history.both + self.both,
            lastmod_only=history.lastmod_only + lastmod_only,
            entry_only=history.entry_only + self.entry_only,
        )


def url_batches(changed: Iterator[UrlColumns]) -> Iterator[list[UrlColumns]]:
    """Groups columns into batches of at least MAX_BATCH_URLS URLs; the last may have fewer."""
    batch: list[UrlColumns] = []
    urls = 0
    for columns in changed:
        batch.append(columns)
        urls += len(columns.keys)
        if urls >= MAX_BATCH_URLS:
            yield batch
            batch, urls = [], 0
    if batch:
        yield batch


def deduplicate(batch: list[UrlColumns], own: dict[int, Listing], stored_keys: AbstractSet[int]) -> list[UrlColumns]:
    """Each URL once: of one document's listings of it the newest counts, of equally new ones the first.

    The listings of `stored_keys` in `own` are earlier ones of the same document.
    """
    newest: dict[int, int] = {}  # key -> lastmod of its best listing
    winners: dict[int, tuple[int, int]] = {}
    for number, columns in enumerate(batch):
        for index, key in enumerate(columns.keys):
            lastmod = comparable_lastmod(columns.lastmods[index], columns.precisions[index])
            if key not in newest and key in stored_keys and key in own:
                newest[key] = comparable_lastmod(own[key].lastmod, own[key].precision)
            if key not in newest or lastmod > newest[key]:
                newest[key], winners[key] = lastmod, (number, index)
    kept = frozenset(winners.values())
    return [
        columns.only([(number, index) in kept for index in range(len(columns.keys))])
        for number, columns in enumerate(batch)
    ]


def change_pieces(columns: UrlColumns, sitemap: str) -> Iterator[ChangePiece]:
    """New URLs, of which some have a JSON line: runs of Entries and of Lines, in document order."""
    start = 0
    for is_plain, group in groupby(columns.json_lines or (), lambda line: line is None):
        lines = [*group]
        end = start + len(lines)
        if is_plain:
            yield Entries(entry_columns(columns.part(start, end)), sitemap)
        else:
            yield Lines(b"".join(cast("list[bytes]", lines)), len(lines), 0)
        start = end
