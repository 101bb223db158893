"""A run and a state -> what is new, updated and removed.

In: the batches of a run. Out: pieces of changes. What has been taken is committed when the next is asked for, one
document at a time: whoever writes each piece out before that loses nothing, however he ends.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import attrs

from ..frontier.responses import hides_sitemap_lines
from ..model.errors import UsageError
from ..model.problems import Problem, report
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.fast_scanner import Entries, merged
from ..parser.normalise.urls import is_web_url
from ..serialize.jsonl import Lines
from .diff_rules import Changed
from .document_buffer import SHELF_BYTES, Said, SpillBuffer
from .documents import Documents, expires
from .rows import micros
from .schema import events
from .state import State
from .urls import Listed, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..frontier.revalidation import DocumentCache, Trust
    from ..model.records import Item
    from ..pipeline.document_parser import UrlGroup
    from ..serialize.jsonl import On
    from .diff_rules import ChangePiece
    from .documents import Row, StoredDocument

# Removals of more URLs than this, and more than half of all, are held back: a site hardly ever means that.
MASS_URLS = 1_000
# How long what left a feed or a news sitemap is remembered, so that it is not new if it comes back.
_EXPIRED_FOR = timedelta(days=90)


@attrs.frozen
class SyncPlan:
    """How a state is to be used.

    `full`: all is read anew and without conditions. `dry_run` leaves the state as it is. The `clock` tells the
    calendar's time, aware.
    """

    trust_lastmod: Trust = "auto"
    full: bool = False
    dry_run: bool = False
    on: On = "any"
    accept_removals: bool = False
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


@attrs.define
class Counted:
    """How many URLs were found to be what so far; `held_back` are those whose removal waits for --accept-removals."""

    new: int = 0
    updated: int = 0
    removed: int = 0
    held_back: int = 0

    def __add__(self, other: Counted) -> Counted:
        """Both together."""
        return Counted(*(mine + theirs for mine, theirs in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))

    def __str__(self) -> str:
        told = f"{self.new:,} new, {self.updated:,} updated, {self.removed:,} removed"
        return told + (f", {self.held_back:,} held back" if self.held_back else "")


class StateSync:
    """take() each batch, then finish() if the walk came to its end; in between commit what was given.

    What was not committed is undone by close(), and a state that it opened is closed.
    """

    def __init__(
        self, state: State | str | os.PathLike[str], site: str, settings: Mapping[str, Any], plan: SyncPlan
    ) -> None:
        """`settings` decide what is read: with others than last time nothing can be compared, unless it is `full`."""
        self.counts = Counted()
        self.removals_suspended = False
        self._plan = plan
        self._owns = not isinstance(state, State)
        self._state = state if isinstance(state, State) else _opened(state, dry_run=plan.dry_run)
        self._site = site
        self._started = plan.clock()
        self._sitemaps = self._not_modified = 0
        self._all_fine = True
        self._silent_robots: list[str] = []  # HTML pages in their place
        self._has_begun = False
        self._readings: dict[str, tuple[Row, Said]] = {}
        self._shares = self._state.shared_by > 1
        self._shelf = SpillBuffer(SHELF_BYTES // self._state.shared_by)
        try:
            with events(self._state.name):
                self._begin(settings)
        except BaseException:
            self.close()
            raise

    def _begin(self, wanted: Mapping[str, Any]) -> None:
        db, site, plan, now = self._state.db, self._site, self._plan, micros(self._started)
        if db.in_transaction and not self._shares:
            raise UsageError(f"another stream is using {self._state.name}: close that first, or use another State")
        settings = json.dumps(wanted, sort_keys=True)  # which takes what is no Unicode, as patterns may hold
        if not db.in_transaction:
            db.execute("BEGIN IMMEDIATE")
        self._has_begun = True
        told = (site, settings, os.urandom(16), now, now)
        added = db.execute(
            "INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            told,
        )
        self._was_known = not added.rowcount
        self._is_known = self._was_known  # of a name that was mistyped nothing is kept
        number, before, secret = db.execute("SELECT id, settings, secret FROM site WHERE name = ?", (site,)).fetchone()
        if before != settings and not plan.full:
            raise UsageError(_told_of_settings(site, json.loads(before), wanted))
        db.execute("UPDATE site SET settings = ?, last_seen = ? WHERE id = ?", (settings, now, number))
        self._has_other_settings: bool = before != settings
        if self._has_other_settings:  # of what was read with others nothing is known
            db.execute("UPDATE document SET complete = 0 WHERE site = ?", (number,))
        run = db.execute("INSERT INTO run (site, started) VALUES (?, ?)", (number, now)).lastrowid
        assert run is not None  # noqa: S101 - for the type checker: behind an INSERT it is there
        self._run = run
        self._documents = Documents(db, number, run, self._started)
        self._listed = Listed(db, number, secret, plan.on)

    def memory(self, *, knows_documents: bool = True) -> DocumentCache:
        """What the walk is to know; hardly anything, if all is to be read anew."""
        with events(self._state.name):
            memory = self._documents.memory(self._plan.trust_lastmod)
        return memory if knows_documents and not self._plan.full else attrs.evolve(memory, documents={})

    # --- the way through ---

    def take(
        self, batch: Sequence[Item | UrlGroup], on_document: Callable[[StoredDocument], None] | None = None
    ) -> Iterator[ChangePiece]:
        """What a batch brings to light."""
        with events(self._state.name):
            items = (item for item in batch if not isinstance(item, Problem))
            for (kind, sitemap), group in groupby(items, _whose):
                if kind is Entries:
                    self._say(sitemap, merged(cast("list[Entries]", [*group])))
                elif kind is UrlRecord:
                    self._say(sitemap, cast("list[UrlRecord]", [*group]))
                elif kind is SitemapRef:
                    self._documents.name([*group])  # type: ignore[list-item]
                elif kind is Outcome:
                    for outcome in group:
                        yield from self._counted(self._end(outcome, on_document))  # type: ignore[arg-type]

    def finish(self, note: Callable[[Problem], None]) -> Iterator[ChangePiece]:
        """What is removed, if nothing keeps that open; `note` hears what there is to say of it."""
        with events(self._state.name):
            is_sure = self._settle_documents(note)
            if is_sure and self._listed.has_unlisted and not self._is_held_back(note):
                self._listed.announce()
                self._commit()
                yield from self._counted(self._listed.removals())
                self._listed.settle(self._started - _EXPIRED_FOR)
            is_complete = is_sure and not self.counts.held_back
            listings = self._documents.listings()
            self._commit(ended=micros(self._plan.clock()), complete=is_complete, listings=listings)

    def _counted(self, pieces: Iterable[ChangePiece]) -> Iterator[ChangePiece]:
        for piece in pieces:
            if isinstance(piece, Entries | Lines):
                self.counts.new += piece.urls
            else:
                for change in piece:
                    setattr(self.counts, change.change, getattr(self.counts, change.change) + 1)
            yield piece

    # --- the end of a document ---

    def _end(self, outcome: Outcome, on_document: Callable[[StoredDocument], None] | None) -> Iterator[ChangePiece]:
        url = outcome.url or ""
        if outcome.format == Format.ROBOTS or not is_web_url(url):  # the last: of a recording, and no document
            self._all_fine = self._all_fine and outcome.complete
            if hides_sitemap_lines(outcome):
                self._silent_robots.append(url)
            self._documents.forget(url)
            return
        row, said = self._reading(url)
        del self._readings[url]
        self._sitemaps += 1
        if outcome.not_modified or (not self._plan.full and self._documents.is_same(row, outcome)):
            self._not_modified += outcome.not_modified
            self._is_known = True
            self._documents.keep(row, outcome)
        elif outcome.format not in SITEMAP_FORMATS or not (outcome.complete or outcome.entries):
            if self._documents.fail(row, outcome):
                self._empty(row)
        else:
            yield from self._replace(row, said, outcome)
        said.release()
        self._documents.forget(url)
        self._commit()
        if on_document is not None:
            on_document(self._documents.get(url).stored)

    def _replace(self, row: Row, said: Said, outcome: Outcome) -> Iterator[ChangePiece]:
        """What it lists now in place of what it listed before; of a part, beside that."""
        self._is_known = True
        place, seen = _place(row), Changed()
        yield from self._listed.changes(place, said, seen)
        history = seen.history(row.history, said.dates.entries)
        if outcome.format == Format.INDEX:
            history = self._documents.index_history(history, place.sitemap)
        else:
            history = said.dates.history(history)
        prefix = seen.prefix or ""
        place = attrs.evolve(place, prefix=prefix)
        if outcome.complete and said.stored_urls < place.stored:
            self._listed.leave(place, said, self._started, expires=expires(outcome.format))
        entries = self._listed.count(row.number)
        self._documents.replace(row, outcome, prefix=prefix, entries=entries, history=history)

    def _empty(self, row: Row) -> None:
        """It is gone, and what it listed with it."""
        self._listed.leave(_place(row), None, self._started, expires=expires(row.stored.format))
        self._documents.empty(row)

    # --- the end of all ---

    def _settle_documents(self, note: Callable[[Problem], None]) -> bool:
        """Lets go of documents that are gone for good. Whether all others are what they are."""
        is_unknown = not self._all_fine or self._documents.any_failed()
        if is_unknown or self._documents.any_missing_of(self._silent_robots):
            self.removals_suspended = self._was_known
            return False  # what was not listed may be listed where it could not be seen
        vanished = [*self._documents.vanished()]
        self._documents.note_missing()
        if self._documents.any_missing({row.number for row in vanished}):
            return False
        for row in vanished:
            if not self._has_other_settings and (row.stored.entries or row.stored.format == Format.INDEX):
                lost = f"listed no more; URLs that it had: {row.stored.entries:,}"
                note(report("X02", lost, sitemap=row.stored.url))
            self._empty(row)
            self._documents.drop(row)
        return True

    def _is_held_back(self, note: Callable[[Problem], None]) -> bool:
        """What is new, in this run or in those that were not complete, does not make up for what goes."""
        going, listings = self._listed.going()
        if self._plan.accept_removals or going <= MASS_URLS:
            return False
        before = self._documents.listings_before()
        if before is None:
            before = self._documents.listings() + listings - self.counts.new
        if listings * 2 <= before:
            return False
        self.counts.held_back = going
        lost = f"{going:,} URLs are listed no more, over half of all: held back"
        hint = "--accept-removals (accept_removals=True) gives them out as removed"
        note(report("X01", f"{lost}; {hint}", sitemap=self._site))
        return True

    # --- the file ---

    def _say(self, url: str, listed: Entries | list[UrlRecord]) -> None:
        row, said = self._reading(url)
        self._listed.say(_place(row), said, listed, self._plan.clock())

    def _reading(self, url: str) -> tuple[Row, Said]:
        """A document that is being read, or has just been."""
        if url not in self._readings:
            self._readings[url] = self._documents.get(url), Said(micros(self._started) // 1_000_000, self._shelf)
        return self._readings[url]

    def _commit(self, **more: Any) -> None:
        """Everything given so far is with whoever asked for it."""
        counts = attrs.asdict(self.counts) | {"sitemaps": self._sitemaps, "not_modified": self._not_modified} | more
        names = ", ".join(f"{name} = ?" for name in counts)
        db = self._state.db
        db.execute(f"UPDATE run SET {names} WHERE id = ?", (*counts.values(), self._run))
        if self._is_known and not self._plan.dry_run:
            db.execute("COMMIT")
            db.execute("BEGIN IMMEDIATE")

    def close(self) -> None:
        """Undoes what was not committed. May be called twice."""
        self._shelf.close()
        with events(self._state.name):
            if self._owns:
                self._state.close()
            elif self._has_begun and self._state.db.in_transaction and not self._shares:
                self._state.db.execute("ROLLBACK")
            self._has_begun = False


def _opened(state: str | os.PathLike[str], *, dry_run: bool) -> State:
    """The state file; a dry run makes none."""
    if not isinstance(state, str | os.PathLike):
        raise UsageError(f"state is the name of a file, or a State, not {state!r}")
    return State(state, create=True, scratch=dry_run and not os.path.exists(state))


def _place(row: Row) -> Place:
    return Place(row.number, row.stored.url, row.prefix, row.stored.entries)


def _whose(item: Item | UrlGroup) -> tuple[type, str]:
    return type(item), getattr(item, "sitemap", None) or ""


def _told_of_settings(site: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    return f"{site} {told_differences(before, now)}; full=True reads it anew with that"


def told_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """`was read with scope host before, and is to be with scope any now`; nothing where all is as it was."""
    differ = [name for name in now if now[name] != before.get(name)]
    if not differ:
        return ""
    was = ", ".join(f"{name} {_shown(before.get(name))}" for name in differ)
    told = ", ".join(f"{name} {_shown(now[name])}" for name in differ)
    return f"was read with {was} before, and is to be with {told} now"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(value) if isinstance(value, list) and value else str(value or "none")
