"""State: the public, read-only view of a state file, in which sync keeps sites from run to run; sync.py writes it."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import attrs
import orjson

from ..frontier.plan import parse_target
from ..model.errors import StateError, UsageError
from .diff_rules import MAX_BATCH_URLS
from .documents import StoredDocument, stored_documents
from .rows import Listing, check_stated, moment, newest_listing, record_of
from .schema import DamagedValue, decode_value, open_state, open_temporary_state, sqlite_errors, wal_name

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from datetime import datetime

    from ..frontier.plan import Seed
    from ..model.records import UrlRecord
    from .rows import Stated


@attrs.frozen
class StoredSite:
    """A site in a state: `name` is a URL; `urls` counts the distinct URLs that are listed."""

    name: str
    documents: int
    urls: int
    first_seen: datetime
    last_seen: datetime


@attrs.frozen
class StoredRun:
    """A run of sync and its counts. `ended` is None where it was stopped or killed before its end.

    `complete`: every sitemap could be read. `held_back` counts URLs that are no longer listed and were not reported as
    removed yet, because they are most of the site, or all of a sitemap. `listings` counts what all sitemaps but feeds
    listed at its end, a URL as often as it is listed.
    """

    site: str
    started: datetime
    ended: datetime | None
    complete: bool
    sitemaps: int
    not_modified: int
    new: int
    updated: int
    removed: int
    held_back: int
    listings: int = 0


class StoredColumns(NamedTuple):
    """Columns of URLs that one sitemap lists: each URL, its stated value, and when sync first listed the URL.

    `first_seen` is in microseconds since 1970, UTC: the start of that run; None if it is unknown when the URL appeared.
    """

    sitemap: str
    locs: list[str]
    stated: list[Stated]
    first_seen: list[int | None]


class State:
    """An open state file; a context manager, or close() it.

    StateError where there is no file (unless it may `create` one), where it is no state, damaged, of a newer version,
    or in use by another process. A file without write permission can be read, and not used by a run. With `scratch` the
    state is temporary, and has no file: it begins with what the named file has, if there is one.

    `shared_by` is the number of streams that use it at once. With more than one, a stream that is closed early does not
    roll back: each batch has to be taken to its end, and the file should be a copy that can be discarded.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool = False, scratch: bool = False, shared_by: int = 1
    ) -> None:
        self.name = os.fspath(path)
        self.shared_by = shared_by
        self.db: sqlite3.Connection = open_temporary_state(self.name) if scratch else open_state(path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file, and rolls back what was not committed. May be called twice."""
        self.db.close()

    def commit(self) -> None:
        """Commits the transaction in progress, and begins the next one."""
        with sqlite_errors(self.name):
            if self.db.in_transaction:
                self.db.execute("COMMIT")
            self.db.execute("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        """Rolls back the transaction in progress, and begins the next one."""
        with sqlite_errors(self.name):
            if self.db.in_transaction:  # SQLite rolls back by itself after some errors
                self.db.execute("ROLLBACK")
            self.db.execute("BEGIN IMMEDIATE")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A context that commits what is written in it, or rolls that back if it fails; then the next one begins.

        Where a COMMIT fails, on a full disk, SQLite rolls back by itself: without another BEGIN, what follows would be
        committed statement by statement.
        """
        try:
            with sqlite_errors(self.name):
                yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def sync(self) -> None:
        """Makes all commits so far survive a power failure; StateError where that fails."""
        try:
            with suppress(FileNotFoundError), open(wal_name(self.name), "rb+") as file:
                os.fsync(file.fileno())
        except OSError as exc:
            reason = exc.strerror or exc
            raise StateError(f"{self.name} cannot be written: {reason}", is_unwritable=True) from exc

    def seal(self) -> None:
        """Checkpoints the WAL into the file and closes it, so that the file alone can be copied or moved.

        StateError where the disk is full; close() alone would leave the WAL file, without an error.
        """
        with sqlite_errors(self.name):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            (mode,) = self.db.execute("PRAGMA journal_mode = DELETE").fetchone()
            self.db.close()
        if mode != "delete":
            raise StateError(f"{self.name} cannot be written: not all of it would go into the file", is_unwritable=True)
        with open(self.name, "rb+") as file:
            os.fsync(file.fileno())

    def sites(self) -> list[StoredSite]:
        """The sites, sorted by name."""
        with sqlite_errors(self.name):
            rows = self.db.execute(_SITES).fetchall()
        return [
            StoredSite(name, documents, urls, moment(first), moment(last))
            for name, documents, urls, first, last in rows
        ]

    def documents(self, site: str | None = None) -> list[StoredDocument]:
        """The documents of a site, in the order of their discovery; `site` is optional where there is only one.

        UsageError for an unknown site.
        """
        with sqlite_errors(self.name):
            return [row.stored for row in stored_documents(self.db, self._site_id(site))]

    def entries(self, site: str | None = None) -> Iterator[UrlRecord]:
        """Each URL of a site once, from the listing that counts (the one with the newest lastmod), in no order.

        The records have loc, lastmod, its precision, changefreq, priority and sitemap. UsageError for an unknown site.
        """
        for loc, sitemap, listing in self.listings(site):
            yield record_of(loc, listing, sitemap)

    def listings(self, site: str | None = None) -> Iterator[tuple[str, str, Listing]]:
        """As entries(): the URL, its sitemap, and the Listing, which has digests of images and other nested values."""
        site_id = self._site_id(site)
        with sqlite_errors(self.name):
            for _, rows in groupby(self.db.execute(_ENTRIES, (site_id,)), itemgetter(0)):
                listings = {Listing.of_row(*row[3:6]): (row[1], row[2]) for row in rows}
                listing = newest_listing(listings)
                loc, sitemap = listings[listing]
                if type(loc) is not str:
                    raise DamagedValue
                yield loc, sitemap, listing

    def columns(self, site: str | None = None) -> Iterator[StoredColumns]:
        """All listings of a site by sitemap, in no order of URLs, at most MAX_BATCH_URLS at a time."""
        with sqlite_errors(self.name):
            for row in stored_documents(self.db, self._site_id(site), "AND entries"):
                parameters = {"document": row.id, "prefix": row.prefix, "most": MAX_BATCH_URLS, "first": _LOWEST_KEY}
                while columns := self.db.execute(_COLUMNS, parameters).fetchone()[0]:
                    last, locs, stated, first_seen = decode_value(orjson.loads, columns)
                    if {*map(type, locs)} != {str} or type(last) is not int or last == _HIGHEST_KEY:
                        raise DamagedValue
                    check_stated(stated)
                    yield StoredColumns(row.stored.url, locs, stated, first_seen)
                    parameters["first"] = last + 1

    def has_nested(self) -> bool:
        """Whether any URL has images, news or other nested values, of which a state has only digests."""
        with sqlite_errors(self.name):
            return self.db.execute("SELECT 1 FROM entry WHERE nested IS NOT NULL LIMIT 1").fetchone() is not None

    def settings(self) -> dict[str, dict[str, Any]]:
        """Site -> the scope and the patterns under which it was last read; names are those of runs()."""
        with sqlite_errors(self.name):
            rows = self.db.execute("SELECT name, settings FROM site").fetchall()
            return {name: decode_value(settings_of, text) for name, text in rows}

    def runs(self, site: str | None = None) -> list[StoredRun]:
        """The runs of one site, or of all, latest first."""
        site_id = None if site is None else self._site_id(site)
        with sqlite_errors(self.name):
            rows = self.db.execute(_RUNS, {"site": site_id}).fetchall()
        return [
            StoredRun(name, moment(started), None if ended is None else moment(ended), bool(complete), *counts)
            for name, started, ended, complete, *counts in rows
        ]

    def _site_id(self, site: str | None) -> int:
        with sqlite_errors(self.name):
            ids = dict(self.db.execute("SELECT name, id FROM site ORDER BY name").fetchall())
        if site is None and len(ids) == 1:
            return int(*ids.values())
        for name in () if site is None else (site, name_of_target(site)):
            if name in ids:
                return int(ids[name])
        known = ", ".join(ids) or "no site"
        if site is None:
            raise UsageError(f"which site? {self.name} has {known}")
        raise UsageError(f"{site} is not in {self.name}, which has {known}")


def site_name(seeds: tuple[Seed, ...]) -> str:
    """The name in a state of the site that these seeds lead to; the same for all spellings of a target."""
    return " ".join(_seed_name(seed) for seed in seeds)


def _seed_name(seed: Seed) -> str:
    if seed.document is not None:
        return seed.document
    return f"{seed.origins[0]}{seed.base_path}/{'robots.txt' if seed.robots_only else ''}"


@lru_cache(maxsize=16)  # a dump names its few sites in every line
def name_of_target(target: str) -> str | None:
    """As site_name(), of a target; None for an invalid one."""
    try:
        return _seed_name(parse_target(target))
    except UsageError:
        return None


def settings_of(text: str) -> dict[str, Any]:
    """The settings in the column of that name; an exception for what no state has."""
    settings: Any = json.loads(text)
    for value in settings.values():
        if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(each, str) for each in value)):
            raise TypeError(value)
    return dict(settings)


_SITES = """
SELECT name, (SELECT count(*) FROM document WHERE site = site.id),
  (SELECT count(DISTINCT key) FROM entry WHERE document IN (SELECT id FROM document WHERE site = site.id)),
  first_seen, last_seen FROM site ORDER BY name
"""
_ENTRIES = """
SELECT key, prefix || loc, url, document.id, stated, nested
FROM entry JOIN document ON document.id = entry.document WHERE site = ? ORDER BY key
"""
# One JSON value without objects for single rows: some three times as fast as rows.
_LOWEST_KEY, _HIGHEST_KEY = -(2**63), 2**63 - 1
_COLUMNS = """
SELECT CASE WHEN count(*) THEN json_array(
  max(key), json_group_array(:prefix || loc), json_group_array(stated), json_group_array(started)) END
FROM (
  SELECT key, loc, stated, started FROM entry LEFT JOIN run ON run.id = first_run
  WHERE document = :document AND key >= :first ORDER BY key LIMIT :most)
"""
_RUNS = """
SELECT name, started, ended, complete, sitemaps, not_modified, new, updated, removed, held_back, listings
FROM run JOIN site ON site.id = run.site WHERE :site IS NULL OR site.id = :site ORDER BY run.id DESC
"""
