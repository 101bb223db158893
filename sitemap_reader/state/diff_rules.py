"""The rules of a sync that need no database: which of several listings of a URL counts, and how a document changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from enum import IntEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

import attrs

from .rows import comparable_lastmod, unpack_stated

if TYPE_CHECKING:
    from ..frontier.lastmod_trust import History
    from ..model.records import Change
    from ..model.url_batch import UrlBatch
    from .rows import Listing, Rows

# New URLs, or other changes.
ChangePiece: TypeAlias = "UrlBatch | list[Change]"
# URLs that are compared and stored together: a whole document, if it keeps to the protocol's limit.
MAX_BATCH_URLS = 50_000
MAX_PIECE_URLS = 1_000

# How long removals that are hardly intended are held back.
HELD_BACK_FOR = timedelta(hours=24)
# So many come and go, even on a site of 15 URLs.
FEW_URLS = 10

# How a URL is known from other listings: one in the state, or one that has left its document (not expired).
_LISTED, _LEFT_OPEN = 0, 1


class Departure(IntEnum):
    """Why a URL is no longer listed by a document, as stored in the table `unlisted`.

    LEFT: the document lists others, or is no longer listed. EMPTIED: it lists nothing any more, or the index that
    listed it lists nothing. GONE: it was missing in two runs 24 hours apart.
    """

    LEFT = 0
    EMPTIED = 1
    GONE = 2


def is_mass_removal(urls: int, share: float, left: int) -> bool:
    """Whether a site hardly meant to remove so many `urls`, a `share` of what it listed, where `left` are listed."""
    # That is over half if they are more than ten, and all of them in any number. URLs of feeds and news do not count.
    return urls > 0 and (left == 0 or (urls > FEW_URLS and share > 0.5))


@attrs.define
class PreviousListings:
    """Listings from before this document was read, by key."""

    own: Mapping[int, Listing]
    elsewhere: dict[int, list[tuple[int, Listing]]] = attrs.field(factory=dict)  # with their kind
    first_runs: dict[int, list[int]] = attrs.field(factory=dict)  # run that first listed them elsewhere -> keys

    @property
    def has_any(self) -> bool:
        return bool(self.own or self.elsewhere)

    def counted(self, key: int) -> list[Listing]:
        """The listings of a URL that counted before; expired ones only where there are no others."""
        elsewhere = self.elsewhere.get(key, [])
        own = [self.own[key]] if key in self.own else []
        counted = own + [listing for kind, listing in elsewhere if kind in (_LISTED, _LEFT_OPEN)]
        return counted or [listing for _, listing in elsewhere]

    def documents(self, key: int) -> Iterator[int]:
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
    """How a document differs from its previous version: counts of changed entries, as in History."""

    prefix: str | None = None  # the common beginning of its stored locs; None before any is stored
    listed: set[int] = attrs.field(factory=set)  # the keys of its URLs
    still_listed: int = 0  # of the URLs that it listed before
    both: int = 0
    lastmod_only: int = 0
    entry_only: int = 0

    def count(self, old: Listing, new: Listing) -> None:
        lastmod = old[1:3] != new[1:3]
        entry = old[3:] != new[3:]
        self.both += lastmod and entry
        self.lastmod_only += lastmod and not entry
        self.entry_only += entry and not lastmod and old.lastmod is not None

    def update_history(self, history: History, entries: int) -> History:
        """The history with these changes added."""
        # A lastmod that changes alone is normal, as the page changes and its entry does not. It counts only where over
        # half of the entries do so at once: that is how a generated stamp looks.
        lastmod_only = self.lastmod_only if self.lastmod_only * 2 > entries else 0
        return attrs.evolve(
            history,
            both=history.both + self.both,
            lastmod_only=history.lastmod_only + lastmod_only,
            entry_only=history.entry_only + self.entry_only,
        )


def counted_places(batches: Callable[[], Iterable[Rows]]) -> dict[int, int]:
    """Key of each URL that a document lists several times -> the place of the newest listing, else the first."""
    listed: set[int] = set()
    repeated: set[int] = set()
    for rows in batches():
        keys = frozenset(rows.keys)
        repeated |= listed & keys
        if len(keys) < len(rows.keys):
            repeated.update(key for key, count in Counter(rows.keys).items() if count > 1)
        listed |= keys
    if not repeated:
        return {}
    newest: dict[int, int] = {}
    places: dict[int, int] = {}
    urls = chain.from_iterable(zip(rows.keys, rows.stated, strict=True) for rows in batches())
    for place, (key, stated) in enumerate(urls):
        if key in repeated:
            lastmod = comparable_lastmod(*unpack_stated(stated)[:2])
            if key not in newest or lastmod > newest[key]:
                newest[key], places[key] = lastmod, place
    return places


def change_pieces(changes: Iterable[Change | None]) -> Iterator[list[Change]]:
    found = (change for change in changes if change is not None)
    while piece := [*islice(found, MAX_PIECE_URLS)]:
        yield piece


def new_pieces(urls: UrlBatch) -> Iterator[UrlBatch]:
    for start in range(0, len(urls), MAX_PIECE_URLS):
        yield urls.part(start, min(start + MAX_PIECE_URLS, len(urls)))
