"""The SQLite file of a state: opened, checked, and brought to the present schema; what SQLite raises, in words.

In: a path. Out: a connection that nobody else has meanwhile, or a StateError. What is no state file of ours is never
written to. Knows the tables, and nothing of what is in them.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import StateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


# Of the pages that are being worked on; those of the temporary tables come on top.
CACHE_KIB = 16 * 1024
# How many steps of SQLite's go by until Python may see to a signal.
_STEPS = 100_000
# What is committed is with the operating system, which outlives us. Each document of a site changes nearly every page
# of its index, so these are copied into the file after several of them.
_SETTINGS = f"""
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -{CACHE_KIB};
PRAGMA wal_autocheckpoint = 8000;
"""
_PAGE_BYTES = 8192  # with 4,096, the default, a first run takes 3% longer
_APPLICATION = 0x534D5244  # "SMRD", so that the file can be told from those of others

# Each brings a file from its place in the list to the next. Times are microseconds since 1970, UTC; a lastmod is in
# seconds, or where its precision is `subsecond` in microseconds. What stands for a precision, a changefreq and nested
# values, rows.py knows.
_MIGRATIONS = (
    """
CREATE TABLE site (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  settings TEXT NOT NULL,         -- what was asked for, as JSON: with other settings nothing can be compared
  secret BLOB NOT NULL,           -- keys are digests with this, so that no site can make two alike
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL
);
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  site INTEGER NOT NULL REFERENCES site,
  started INTEGER NOT NULL,
  ended INTEGER,                  -- NULL: it was left, or killed
  complete INTEGER NOT NULL DEFAULT 0,
  sitemaps INTEGER NOT NULL DEFAULT 0,
  not_modified INTEGER NOT NULL DEFAULT 0,
  new INTEGER NOT NULL DEFAULT 0,
  updated INTEGER NOT NULL DEFAULT 0,
  removed INTEGER NOT NULL DEFAULT 0,
  held_back INTEGER NOT NULL DEFAULT 0,
  listings INTEGER NOT NULL DEFAULT 0 -- of all documents at its end, each URL as often as it is listed
);
CREATE TABLE document (
  id INTEGER PRIMARY KEY,
  site INTEGER NOT NULL REFERENCES site,
  url TEXT NOT NULL,
  parents TEXT NOT NULL DEFAULT '[]',
  format TEXT,
  complete INTEGER NOT NULL DEFAULT 0,  -- what is stored here is all of it
  etag TEXT,
  last_modified TEXT,
  sha256 TEXT,
  authorities TEXT,               -- JSON; NULL where it listed more than it may
  lastmod INTEGER,                -- what its index stated at the last complete reading
  precision INTEGER,
  prefix TEXT NOT NULL DEFAULT '',-- what all its locs begin with, and their rows leave out
  entries INTEGER NOT NULL DEFAULT 0,
  history TEXT NOT NULL DEFAULT '{}',
  score REAL,                     -- how far its lastmods can be believed
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,     -- when it was last listed
  read_at INTEGER,
  looked_at INTEGER,
  gone_since INTEGER,             -- 404, or listed no more
  run INTEGER NOT NULL,           -- the last one in which it was listed
  fine INTEGER NOT NULL DEFAULT 0,-- it was complete, or unchanged, in that
  UNIQUE (site, url)
);
CREATE TABLE child (
  document INTEGER NOT NULL REFERENCES document,
  place INTEGER NOT NULL,
  loc TEXT NOT NULL,
  lastmod INTEGER,
  precision INTEGER,
  line INTEGER,
  PRIMARY KEY (document, place)
) WITHOUT ROWID;
CREATE TABLE entry (
  document INTEGER NOT NULL REFERENCES document,
  key INTEGER NOT NULL,
  lastmod INTEGER,
  precision INTEGER,
  changefreq INTEGER,
  priority TEXT,
  nested TEXT,
  loc TEXT NOT NULL,              -- behind the document's prefix
  PRIMARY KEY (document, key)
) WITHOUT ROWID;
CREATE INDEX entry_key ON entry (key);
CREATE TABLE unlisted (           -- left its document, and what that means is not decided yet
  site INTEGER NOT NULL REFERENCES site,
  key INTEGER NOT NULL,
  document INTEGER NOT NULL,
  lastmod INTEGER,
  precision INTEGER,
  changefreq INTEGER,
  priority TEXT,
  nested TEXT,
  loc TEXT NOT NULL,
  sitemap TEXT NOT NULL,
  expired INTEGER NOT NULL,       -- out of a feed or a news sitemap: never removed, forgotten in time
  left_at INTEGER NOT NULL,
  told INTEGER NOT NULL DEFAULT 0,-- as removed, perhaps: that run did not come to its end
  PRIMARY KEY (site, key, document)
) WITHOUT ROWID;
""",
)

# By SQLite's result code: what is said, and whether the file could be used if it could be written.
_TOLD: dict[int, tuple[str, bool]] = {
    sqlite3.SQLITE_BUSY: (
        "is in use by another run, or by a stream that was not closed; wait until that is done, or give another file",
        True,
    ),
    sqlite3.SQLITE_READONLY: ("cannot be written; check who may write it and its folder", True),
    sqlite3.SQLITE_PERM: ("cannot be written; check who may write it and its folder", True),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened; check its folder, and who may write there", True),
    sqlite3.SQLITE_FULL: ("cannot be written: no room; free some space", True),
    sqlite3.SQLITE_IOERR: ("cannot be written; check its disk, and whether there is room", True),
    sqlite3.SQLITE_CORRUPT: ("is damaged; move it away, and the next sync starts anew", False),
    sqlite3.SQLITE_NOTADB: ("is no state file; give one that `sync` has made, or a name that is free", False),
}


def open_state(path: str | os.PathLike[str], *, create: bool) -> sqlite3.Connection:
    """A state file, new if there is none and `create` permits; nobody else may open it until it is closed.

    One that may not be written can be looked at all the same, unless it is to be created.
    """
    name = os.fspath(path)
    if not name:
        raise StateError("the name of the state file is empty")
    only_looks = not create and os.path.exists(name) and not _may_write(name)
    if only_looks and _has_wal(name):
        told = f"{name} is in use, or was left by a run that was killed ({name}-wal); only who may write it can open it"
        raise StateError(told, is_unwritable=True)
    _check(name, create=create)
    prepare = _look if only_looks else _take
    with events(name):
        db = _connect(name, "ro" if only_looks else "rwc" if create else "rw", is_fixed=only_looks)
        try:
            prepare(db, name)
        except BaseException:
            db.close()
            raise
    mind_signals(db)
    return db


def _may_write(name: str) -> bool:
    """Whether that is permitted here, also beside it, where SQLite writes first."""
    return os.access(name, os.W_OK) and os.access(os.path.dirname(os.path.realpath(name)), os.W_OK)


def _has_wal(name: str) -> bool:
    """Whether a run is at it, or left without its end: then the file alone may not be whole."""
    return os.path.exists(f"{os.path.realpath(name)}-wal")


def _take(db: sqlite3.Connection, name: str) -> None:
    """For oneself alone, and as the present schema has it."""
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # of a new file
    _migrate(db, name)
    execute_all(db, _SETTINGS)


def _look(db: sqlite3.Connection, name: str) -> None:
    """As it lies there, without a lock, or a file beside it that its owner could not write."""
    if _version(db) < len(_MIGRATIONS):
        told = f"{name} was written by an older version, and only who may write it can open it"
        raise StateError(told, is_unwritable=True)


def mind_signals(db: sqlite3.Connection) -> None:
    """A signal that comes in a long statement is seen to in whatever Python runs, so it runs something now and then."""
    db.set_progress_handler(lambda: None, _STEPS)


def open_scratch() -> sqlite3.Connection:
    """A state that is gone when it is closed."""
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for script in _MIGRATIONS:
        execute_all(db, script)
    return db


@contextmanager
def events(name: str) -> Iterator[None]:
    """What SQLite raises, as a StateError; an interrupt as what it is."""
    try:
        yield
    except sqlite3.ProgrammingError as exc:
        if "closed database" not in str(exc):  # a mistake of ours
            raise
        raise StateError(f"{name} is closed; open it again: State({name!r})") from None
    except sqlite3.Error as exc:
        code = exc.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        words, is_unwritable = _TOLD.get(code, (f"cannot be used: {exc}", False))
        raise StateError(f"{name} {words}", is_unwritable=is_unwritable) from exc


def execute_all(db: sqlite3.Connection, script: str) -> None:
    """Each statement of a script, of which a `;` ends its line; executescript() would commit first."""
    for statement in script.split(";\n"):
        db.execute(statement)


def _check(name: str, *, create: bool) -> None:
    """Looks before anything can be written. By SQLite, as to close a file of one's own lets go of all locks on it."""
    try:
        found = os.stat(name)
    except FileNotFoundError:
        if create:
            return
        raise StateError(f"there is no state file {name}; `sync` (sr.changes()) makes it") from None
    except (OSError, ValueError) as exc:  # ValueError: the name holds a NUL
        reason = getattr(exc, "strerror", None) or exc
        raise StateError(f"cannot read {name}: {reason}", is_unwritable=True) from exc
    if stat.S_ISDIR(found.st_mode):
        raise StateError(f"{name} is a folder; name a file in it")
    if not found.st_size and create:  # as mktemp makes it
        return
    with events(name), closing(_connect(name, "ro", is_fixed=not _has_wal(name))) as db:
        application: int = db.execute("PRAGMA application_id").fetchone()[0]
        version = _version(db)
    if application != _APPLICATION:
        raise StateError(f"{name} is an SQLite database of another program; give a name that is free")
    _refuse_newer(name, version)


def _connect(name: str, mode: str, *, is_fixed: bool = False) -> sqlite3.Connection:
    """Of one that `is_fixed` SQLite takes it that nobody writes: it needs no lock, and no file beside it."""
    uri = f"{Path(name).absolute().as_uri()}?mode={mode}&immutable={int(is_fixed)}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=0)


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def _refuse_newer(name: str, version: int) -> None:
    if version > len(_MIGRATIONS):
        raise StateError(f"{name} was written by a newer version of sitemap-reader; use that one, or another file")


def _migrate(db: sqlite3.Connection, name: str) -> None:
    """To the present schema, in one transaction. Only then to WAL: its first bytes always say whose the file is."""
    version = _version(db)
    _refuse_newer(name, version)
    db.execute("BEGIN IMMEDIATE")
    if version < len(_MIGRATIONS):
        for script in _MIGRATIONS[version:]:
            execute_all(db, script)
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")


# ----------------------------------------------------------------------------------------------------
# A temporary database: it is a file that has no name, so that it is gone with its connection, or with the process.


_SCRATCH_SETTINGS = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -{CACHE_KIB};
"""


def temporary_database(schema: str) -> sqlite3.Connection:
    """One with these tables, in a transaction. Its file comes to be once there is more than the cache holds."""
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    mind_signals(db)
    db.executescript(f"{_SETTINGS}{schema}BEGIN;")
    return db


@contextmanager
def on_disk() -> Iterator[None]:
    """What SQLite raises, as what it is: an interrupt, a misuse of ours, or no room."""
    try:
        yield
    except sqlite3.ProgrammingError as exc:
        raise UsageError(f"the temporary database cannot be read: {exc}") from exc
    except sqlite3.Error as exc:
        code = exc.sqlite_errorcode
        if code == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        number = errno.ENOSPC if code == sqlite3.SQLITE_FULL else errno.EIO
        raise OSError(number, f"{exc}; TMPDIR can name another", "the temporary folder") from exc
