"""StateSync: applies the batches of a crawl to a state, and yields the new, updated and removed URLs.

A document is stored when the consumer requests what follows its last piece, and documents are committed together: a
consumer that writes each piece before it requests the next loses no change, even if it is killed. The next run then
repeats the documents that were not committed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from ..frontier.responses import hides_sitemap_lines
from ..model.columns import micros
from ..model.errors import UsageError
from ..model.problems import Problem, report
from ..model.records import ChangeCounts, Outcome, SitemapRef
from ..model.url_batch import UrlBatch
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.urls import is_web_url
from ..pipeline.out_of_scope import SPILL_MEMORY_BYTES, SpillBuffer
from .diff_rules import HELD_BACK_FOR, Departure, DocumentChanges, is_mass_removal
from .documents import SiteDocuments, expires
from .schema import decode_value, may_write, only_row, sqlite_errors
from .state import State, settings_of
from .urls import DocumentBuffer, SiteUrls

if TYPE_CHECKING:
    from ..frontier.revalidation import DocumentCache, Trust
    from ..model.options import Ack, On
    from ..pipeline.document_parser import Batch
    from .diff_rules import ChangePiece
    from .documents import DocumentRow, StoredDocument

# A commit writes most pages of the index of keys, however few rows are new. It comes behind the document with which so
# many URLs, or so many seconds, have passed since the last one.
_COMMIT_URLS = 10_000
_COMMIT_SECONDS = 1.0
# How long a URL that left a feed or a news sitemap is remembered, so that it is not new if it returns.
_EXPIRED_FOR = timedelta(days=90)


@attrs.frozen
class SyncPlan:
    """The options of a sync, as in changes()."""

    trust_lastmod: Trust = "auto"
    full: bool = False  # all documents are read, without conditional requests
    dry_run: bool = False  # the state is not written
    on: On = "any"
    accept_removals: bool = False
    ack: Ack = "next"
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)  # aware


class StateSync:
    """take() each batch, then finish() if the crawl came to its end; consume the changes of each call before the next.

    close() commits the documents whose changes were consumed, and rolls back a part of one. With the plan's
    `ack="manual"` only commit() commits.
    """

    def __init__(
        self, state: State | str | os.PathLike[str], site: str, settings: Mapping[str, Any], plan: SyncPlan
    ) -> None:
        """UsageError where the `settings` of the crawl differ from the last run's, unless the plan is `full`."""
        self.counts = ChangeCounts()
        self.removals_suspended = False
        self.plan = plan
        self._owns = not isinstance(state, State)
        self._state = state if isinstance(state, State) else _opened(state, dry_run=plan.dry_run)
        self._site = site
        self._started = plan.clock()
        self._sitemaps = self._not_modified = 0
        self._pending = 0  # documents that are not committed, and their URLs
        self._committed_at = time.monotonic()
        self._whole_changes = -1  # of the connection, when no document was stored in part
        self._all_read = True  # robots.txt files, and what is not on the web
        self._hidden_robots: list[str] = []  # robots.txt URLs that answered with a page
        self.postponed: set[str] = set()  # documents that the caller has skipped without knowing what they list
        self.is_first_reading = False  # the changes that take() yields are those of a document read for the first time
        self.is_open = False
        self._open: dict[str, tuple[DocumentRow, DocumentBuffer]] = {}
        self._shares = self._state.shared_by > 1
        self._spill = SpillBuffer(SPILL_MEMORY_BYTES // self._state.shared_by)
        with self.closed_on_error(), sqlite_errors(self._state.name):
            self._begin(settings)

    def _begin(self, wanted: Mapping[str, Any]) -> None:
        self._state.lock()
        db, site, plan, now = self._state.db, self._site, self.plan, micros(self._started)
        if db.in_transaction and not self._shares:
            remedy = "close that first, or give each of several sites a State of its own"
            raise UsageError(f"another stream is using {self._state.name}: {remedy}")
        settings = json.dumps(wanted, sort_keys=True)  # unlike orjson it takes the surrogates that patterns may hold
        if not db.in_transaction:
            db.execute("BEGIN IMMEDIATE")
        self.is_open = True
        parameters = (site, settings, os.urandom(16), now, now)
        added = db.execute(
            "INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            parameters,
        )
        self._was_known = not added.rowcount
        self._is_known = self._was_known  # a mistyped name leaves nothing in the state
        query = "SELECT id, settings, secret, baseline FROM site WHERE name = ?"
        site_id, before, secret, baseline = only_row(db.execute(query, (site,)))
        if before != settings and not plan.full:
            difference = settings_difference(decode_value(settings_of, before), wanted)
            raise UsageError.of(
                "{site} {difference}; {full=True} reads it again with these", site=site, difference=difference
            )
        db.execute("UPDATE site SET settings = ?, last_seen = ? WHERE id = ?", (settings, now, site_id))
        self._has_other_settings: bool = before != settings
        if self._has_other_settings:  # entries that were read with other settings cannot be compared
            db.execute("UPDATE document SET complete = 0 WHERE site = ?", (site_id,))
            db.execute("UPDATE site SET baseline = NULL WHERE id = ?", (site_id,))
            baseline = None  # what these settings newly include may have been there before
        run = db.execute("INSERT INTO run (site, started) VALUES (?, ?)", (site_id, now)).lastrowid
        assert run is not None  # noqa: S101 - for the type checker: set after an INSERT
        self._run = run
        self._documents = SiteDocuments(db, site_id, run, self._started)
        self._has_baseline = baseline is not None
        self._urls = SiteUrls(db, site_id, secret, plan.on, run if self._has_baseline else 0)

    def cache(self, *, knows_documents: bool = True) -> DocumentCache:
        """The cache of the crawl; without documents if all are to be read."""
        with sqlite_errors(self._state.name):
            cache = self._documents.cache(self.plan.trust_lastmod)
        return cache if knows_documents and not self.plan.full else attrs.evolve(cache, documents={})

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def take(self, batch: Batch, on_document: Callable[[StoredDocument], None] | None = None) -> Iterator[ChangePiece]:
        """Applies a batch, and yields the changes of the documents that end in it."""
        with sqlite_errors(self._state.name):
            items = (item for item in batch if not isinstance(item, Problem))
            for kind, group in groupby(items, type):
                if kind is SitemapRef:
                    self._documents.add_children([*group])  # type: ignore[list-item]
                    continue
                for item in group:
                    if isinstance(item, UrlBatch):
                        _, buffer = self._row_and_buffer(item.sitemap or "")
                        buffer.add(item, micros(self.plan.clock()) // 1_000_000)
                    elif isinstance(item, Outcome):
                        yield from self._delivered(self._end_document(item, on_document))
            self._whole_changes = self._state.db.total_changes

    def finish(self, note: Callable[[Problem], None]) -> Iterator[ChangePiece]:
        """Yields the removed URLs, if all documents are known for certain; reports problems to `note`."""
        return self._delivered(self._finish(note))

    def _finish(self, note: Callable[[Problem], None]) -> Iterator[ChangePiece]:
        with sqlite_errors(self._state.name):
            is_sure = self._settle_documents(note)
            if is_sure and self._urls.has_unlisted:
                self._hold_back(note)
                if not self._shares:  # else the consumer stores them in the transaction that decides on them
                    self._urls.mark_reported()
                    self._commit()
                    self._whole_changes = self._state.db.total_changes
                yield from self._urls.removals()
                self._urls.delete_decided(self._started - _EXPIRED_FOR)
            if is_sure:
                query = "UPDATE site SET baseline = ? WHERE name = ? AND baseline IS NULL"
                self._state.db.execute(query, (self._run, self._site))
            is_complete = is_sure and not self.counts.held_back
            listings = self._documents.listings() + self._urls.undecided()
            self._commit(ended=micros(self.plan.clock()), complete=is_complete, listings=listings)
            self._whole_changes = self._state.db.total_changes

    def _delivered(self, pieces: Iterator[ChangePiece]) -> Iterator[ChangePiece]:
        """The pieces of a document, or the last of a run, counted as they come."""
        # A caller that commits may do so with the last list of a document in hand, when all of the document is stored.
        if self._urls.joins_pieces and self.plan.ack == "manual":
            pieces = _one_ahead(pieces)
        for piece in pieces:
            if isinstance(piece, UrlBatch):
                self.counts.new += len(piece)
            else:
                for change in piece:
                    setattr(self.counts, change.change, getattr(self.counts, change.change) + 1)
            yield piece

    def _end_document(
        self, outcome: Outcome, on_document: Callable[[StoredDocument], None] | None
    ) -> Iterator[ChangePiece]:
        url = outcome.url or ""
        if outcome.format == Format.ROBOTS or not is_web_url(url):  # not a web URL: a recording
            self._all_read = self._all_read and outcome.complete
            if hides_sitemap_lines(outcome):
                self._hidden_robots.append(url)
            self._documents.forget_children(url)
            return
        self._sitemaps += 1
        if url in self.postponed:
            self._documents.postpone(url)
            self._documents.forget_children(url)
            return
        row, buffer = self._row_and_buffer(url)
        del self._open[url]
        if outcome.not_modified or (not self.plan.full and self._documents.is_same(row, outcome)):
            self._not_modified += outcome.not_modified
            self._is_known = True
            self._documents.keep(row, outcome)
        elif outcome.format not in SITEMAP_FORMATS or not (outcome.complete or outcome.entries):
            if self._documents.fail(row, outcome):
                self._unlist_all(row, Departure.GONE)
        else:
            yield from self._replace(row, buffer, outcome)
        buffer.release()
        self._documents.forget_children(url)
        self._pending += 1 + outcome.entries
        is_due = self._pending >= _COMMIT_URLS or time.monotonic() - self._committed_at >= _COMMIT_SECONDS
        # close() does not commit for one of several streams, as others may be in a document
        if is_due or self._shares or self._urls.joins_pieces:
            self._commit()
        self._whole_changes = self._state.db.total_changes
        if on_document is not None:
            on_document(self._documents.get(url).stored)

    def _replace(self, row: DocumentRow, buffer: DocumentBuffer, outcome: Outcome) -> Iterator[ChangePiece]:
        """Replaces the stored URLs of a document; those of one that was read in part are added to the stored ones."""
        self._is_known = True
        self._whole_changes = self._state.db.total_changes
        is_known = row.stored.read_at is not None or row.stored.entries > 0
        self.is_first_reading = not (self._has_baseline or is_known)
        diff = DocumentChanges()
        yield from self._urls.changes(row, buffer, diff)
        lastmods = buffer.lastmods
        newest = lastmods.newest(self._started)
        history = diff.update_history(row.history, lastmods.entries)
        if outcome.format == Format.INDEX:
            lastmods = self._documents.index_lastmods(row.stored.url)
        lastmods.read(self.plan.clock().timestamp(), outcome.seconds or 0.0)
        history = lastmods.history(history)
        row.prefix = diff.prefix or ""
        if outcome.complete and diff.still_listed < row.stored.entries:
            is_index = outcome.format == Format.INDEX and outcome.entries
            cause = Departure.LEFT if diff.listed or is_index else self._emptied
            self._urls.unlist(row, diff.listed, self._started, cause, expires=expires(outcome.format))
        entries = self._urls.count(row.id)
        self._documents.replace(row, outcome, entries=entries, history=history, newest=newest)

    def _unlist_all(self, row: DocumentRow, cause: Departure) -> None:
        self._urls.unlist(row, (), self._started, cause, expires=expires(row.stored.format))
        self._documents.clear(row)

    def suspend_removals(self) -> None:
        """Decides on no removal: the crawl has not come to its end, or some of what it read is not known."""
        self.removals_suspended = self._was_known

    def _settle_documents(self, note: Callable[[Problem], None]) -> bool:
        """Deletes documents that are gone for good. Returns whether the state of all others is known for certain."""
        is_unknown = not self._all_read or self._documents.any_failed()
        if is_unknown or self._documents.any_missing_of(self._hidden_robots):
            self.suspend_removals()
            return False  # a missing URL may be listed in a document that could not be read
        vanished = [*self._documents.vanished()]
        self._documents.mark_missing()
        if self._documents.any_missing({row.id for row, _ in vanished}):
            return False
        for row, cause in vanished:
            if not self._has_other_settings and (row.stored.entries or row.stored.format == Format.INDEX):
                lost = f"no longer listed; URLs that it had: {row.stored.entries:,}"
                note(report("X02", lost, sitemap=row.stored.url))
            self._unlist_all(row, self._emptied if cause is Departure.EMPTIED else cause)
            self._documents.delete(row)
        return True

    @property
    def _emptied(self) -> Departure:
        """The cause for URLs whose document lists nothing any more; with other settings that says nothing of it."""
        return Departure.LEFT if self._has_other_settings else Departure.EMPTIED

    def _hold_back(self, note: Callable[[Problem], None]) -> None:
        """Defers removals that are hardly intended, until two runs HELD_BACK_FOR apart have found them."""
        seen_twice = self._documents.confirmed_at() - HELD_BACK_FOR
        gone = self._urls.count_removals(seen_twice)
        if self.plan.accept_removals or not gone.recent:
            return
        left, before = self._documents.listings(), self._documents.listings_before()
        if before is None:
            before = left + gone.recent_listings + gone.other_listings - self.counts.new
        # New URLs do not make up for removals, and those of earlier runs are no longer a part of the site.
        share = gone.recent_listings / max(before - gone.other_listings, 1)
        is_mass = is_mass_removal(gone.recent, share, left)
        held_back = gone.recent if is_mass else gone.emptied
        if not held_back:
            return
        self.counts.held_back = held_back
        self._urls.hold_back(seen_twice, holds_all=is_mass)
        what = f"{held_back:,} URLs are" if held_back > 1 else "1 URL is"
        reason = "as its sitemap lists nothing now"
        if is_mass:
            reason = "over half of all" if left else "and no other is"
        hint = "removed if a run 24 hours later finds the same, or with --accept-removals (accept_removals=True)"
        note(report("X01", f"{what} no longer listed, {reason}: held back; {hint}", sitemap=self._site))

    def _row_and_buffer(self, url: str) -> tuple[DocumentRow, DocumentBuffer]:
        if url not in self._open:
            self._open[url] = self._documents.get(url), DocumentBuffer(self._spill)
        return self._open[url]

    def deliver_documents(self) -> None:
        """From here on take() yields up to MAX_BATCH_URLS changes of a document as one piece, and commits behind it."""
        self._urls.joins_pieces = True

    def _commit(self, **more: Any) -> None:
        """Notes the run, and commits unless the caller does that."""
        self._note_run(**more)
        if self.plan.ack == "next":
            self._commit_now()

    def _note_run(self, **more: Any) -> None:
        columns = attrs.asdict(self.counts, filter=attrs.filters.exclude("unchanged"))
        columns |= {"sitemaps": self._sitemaps, "not_modified": self._not_modified, **more}
        names = ", ".join(f"{name} = ?" for name in columns)
        db = self._state.db
        db.execute(f"UPDATE run SET {names} WHERE id = ?", (*columns.values(), self._run))

    def _commit_now(self) -> None:
        if self._is_known and not self.plan.dry_run:
            self._state.commit()
        self._pending, self._committed_at = 0, time.monotonic()

    def commit(self) -> None:
        """Commits the documents whose changes were all consumed.

        If the changes in hand are behind the first MAX_BATCH_URLS of a document, these documents have to wait for its
        end: the document is stored in part.
        """
        if self._state.db.total_changes == self._whole_changes:
            with sqlite_errors(self._state.name):
                self._note_run()  # with the counts of what was delivered since the end of the document
                self._commit_now()
                self._whole_changes = self._state.db.total_changes

    def close(self) -> None:
        """Commits whole documents, or rolls back what was not committed. May be called twice."""
        self._spill.close()
        with sqlite_errors(self._state.name):
            db = self._state.db
            is_due = self._pending and not self._shares and self.plan.ack == "next"
            if is_due and db.in_transaction and db.total_changes == self._whole_changes:
                self._commit()
            if self._owns:
                self._state.close()
            elif self.is_open and db.in_transaction and not self._shares:
                db.execute("ROLLBACK")
            self.is_open, self._pending = False, 0


def _one_ahead(pieces: Iterator[ChangePiece]) -> Iterator[ChangePiece]:
    """The same pieces, each once the next one is there; the last one when `pieces` has come to its end."""
    piece = next(pieces, None)
    while piece is not None:
        following = next(pieces, None)
        yield piece
        piece = following


def _opened(state: str | os.PathLike[str], *, dry_run: bool) -> State:
    """Opens the state file; a dry run does not create one, and needs no permission to write it."""
    if not isinstance(state, str | os.PathLike):
        raise UsageError(keyword="state", value=state, allowed="the name of a file, or a State")
    is_writable = os.path.exists(state) and may_write(os.fspath(state))
    return State(state, create=True, scratch=dry_run and not is_writable)


def settings_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """`was read with scope host before, but with scope any now`; empty if they are equal."""
    differ = [name for name in now if now[name] != before.get(name)]
    if not differ:
        return ""
    was = ", ".join(f"{name} {_shown(before.get(name))}" for name in differ)
    wanted = ", ".join(f"{name} {_shown(now[name])}" for name in differ)
    return f"was read with {was} before, but with {wanted} now"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(value) if isinstance(value, list) and value else str(value or "none")
