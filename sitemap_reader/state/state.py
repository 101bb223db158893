"""A state: what is remembered of sites from run to run, in one SQLite file.

In: a path. Out: its sites, their documents, URLs and runs, for whoever wants to look; and the file itself for
changes.py, which writes it. While it is open nobody else can use the file.
"""

from __future__ import annotations

import os
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Self

import attrs

from ..frontier.seeds import parse_target
from ..model.errors import StateError, UsageError
from .documents import StoredDocument, stored_documents
from .rows import Listing, best, moment, record_of
from .schema import events, open_scratch, open_state

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from datetime import datetime
    from types import TracebackType

    from ..frontier.seeds import Seed
    from ..model.records import UrlRecord


@attrs.frozen
class StoredSite:
    """A site as a state has it: `name` is a URL, `urls` how many are listed, each counted once."""

    name: str
    documents: int
    urls: int
    first_seen: datetime
    last_seen: datetime


@attrs.frozen
class StoredRun:
    """A run of sync: when, and what it found. `ended` is None where it was left or killed before its end.

    `complete`: nothing was missing. `held_back` counts URLs that are listed no more and were not given out as removed,
    because that would have been most of them.
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


class State:
    """A state file, opened for as long as the block lasts, or up to close().

    StateError where there is none (unless it may `create` one), where it is no state, damaged, of a newer version, or
    in use by another process. One that may not be written can be looked at, though no run can use it. With `scratch` it
    is one that nobody else sees, and gone at the end.

    `shared_by` so many streams at once, it keeps what one of them was told also where that one is left: who shares a
    state takes each batch to its end, and writes to a copy of the file that he can throw away.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool = False, scratch: bool = False, shared_by: int = 1
    ) -> None:
        self.name = os.fspath(path)
        self.shared_by = shared_by
        self.db: sqlite3.Connection = open_scratch() if scratch else open_state(path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file. What was not committed is as if it had not been. May be called twice."""
        self.db.close()

    def seal(self) -> None:
        """Puts all that was committed into the file itself, and closes it: from here on it may be copied, or moved.

        StateError where there is no room for it; close() alone would leave that beside the file, and say nothing.
        """
        with events(self.name):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            (mode,) = self.db.execute("PRAGMA journal_mode = DELETE").fetchone()
            self.db.close()
        if mode != "delete":
            raise StateError(f"{self.name} cannot be written: not all of it would go into the file", is_unwritable=True)
        with open(self.name, "rb+") as file:
            os.fsync(file.fileno())

    def sites(self) -> list[StoredSite]:
        """The sites, in the order of their names."""
        with events(self.name):
            rows = self.db.execute(_SITES).fetchall()
        return [
            StoredSite(name, documents, urls, moment(first), moment(last))
            for name, documents, urls, first, last in rows
        ]

    def documents(self, site: str | None = None) -> list[StoredDocument]:
        """The documents of a site, in the order in which they became known; `site` may be left out if there is one.

        UsageError for a site that is not there.
        """
        with events(self.name):
            return [row.stored for row in stored_documents(self.db, self._number(site))]

    def entries(self, site: str | None = None) -> Iterator[UrlRecord]:
        """Every URL of a site once, as the listing that counts states it, in no order.

        What is kept of each: loc, lastmod, its precision, changefreq, priority and sitemap. UsageError as above.
        """
        number = self._number(site)
        with events(self.name):
            for _, rows in groupby(self.db.execute(_ENTRIES, (number,)), itemgetter(0)):
                found = {Listing(*row[3:9]): (row[1], row[2]) for row in rows}
                listing = best(found)
                loc, sitemap = found[listing]
                yield record_of(loc, listing[1:5], sitemap)

    def runs(self, site: str | None = None) -> list[StoredRun]:
        """The runs, the last one first; of one site, or of all."""
        number = None if site is None else self._number(site)
        with events(self.name):
            rows = self.db.execute(_RUNS, {"site": number}).fetchall()
        return [
            StoredRun(name, moment(started), None if ended is None else moment(ended), bool(complete), *counts)
            for name, started, ended, complete, *counts in rows
        ]

    def _number(self, site: str | None) -> int:
        with events(self.name):
            numbers = dict(self.db.execute("SELECT name, id FROM site ORDER BY name").fetchall())
        if site is None and len(numbers) == 1:
            return int(*numbers.values())
        for name in () if site is None else (site, _name_of(site)):
            if name in numbers:
                return int(numbers[name])
        known = ", ".join(numbers) or "no site"
        if site is None:
            raise UsageError(f"which site? {self.name} has {known}")
        raise UsageError(f"{site} is not in {self.name}, which has {known}")


def site_name(seeds: tuple[Seed, ...]) -> str:
    """What a state calls the site that a walk from these seeds reads, however its target was spelled."""
    return " ".join(_seed_name(seed) for seed in seeds)


def _seed_name(seed: Seed) -> str:
    if seed.document is not None:
        return seed.document
    return f"{seed.origins[0]}/{'robots.txt' if seed.robots_only else ''}"


def _name_of(target: str) -> str | None:
    try:
        return _seed_name(parse_target(target))
    except UsageError:
        return None


_SITES = """
SELECT name, (SELECT count(*) FROM document WHERE site = site.id),
  (SELECT count(DISTINCT key) FROM entry WHERE document IN (SELECT id FROM document WHERE site = site.id)),
  first_seen, last_seen FROM site ORDER BY name
"""
_ENTRIES = """
SELECT key, prefix || loc, url, document.id, entry.lastmod, entry.precision, changefreq, priority, nested
FROM entry JOIN document ON document.id = entry.document WHERE site = ? ORDER BY key
"""
_RUNS = """
SELECT name, started, ended, complete, sitemaps, not_modified, new, updated, removed, held_back
FROM run JOIN site ON site.id = run.site WHERE :site IS NULL OR site.id = :site ORDER BY run.id DESC
"""
