"""Opens the SQLite file of a state and migrates it to the current schema; also opens temporary databases.

A file may be damaged, or made to harm; one that is not a state, or has things that no state has, is never written to.
When it is opened, its tables are checked by their text, and the types of all columns but those of `entry`, which has a
row for each URL. Entries and JSON are checked when they are read, by decode_value().
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
import orjson

from ..model.columns import SUBSECOND
from ..model.errors import StateError, UsageError
from ..serialize.dumps import wal_name

Stored = TypeVar("Stored")
Decoded = TypeVar("Decoded")

# For the pages of the file; temporary tables have a cache of their own.
CACHE_KIB = 16 * 1024
# SQLite instructions between two chances for Python to handle a signal.
_SIGNAL_STEPS = 100_000
# NORMAL: a commit survives the process, though not a power failure. Each document changes nearly every page of the
# index, so checkpoints are rare: each copies the pages of several documents into the file.
_SETTINGS = f"""
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -{CACHE_KIB};
PRAGMA wal_autocheckpoint = 8000;
"""
# How long SQLite waits for a process that recovers the WAL of a killed run, or copies its own into the file at its end.
_BUSY_SECONDS = 5.0
_PAGE_BYTES = 16_384  # with 4,096, the default, a first run takes 5% longer
_APPLICATION = 0x534D5244  # "SMRD", application_id, which identifies the file

# Script N migrates a file of version N to N + 1. Times are microseconds since 1970, UTC; a lastmod is in seconds, or
# where its precision is `subsecond` in microseconds. rows.py encodes precision, changefreq and nested values.
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
    # One value for lastmod, precision, changefreq and priority, as rows.py packs them.
    """
CREATE TABLE new_entry (
  document INTEGER NOT NULL REFERENCES document,
  key INTEGER NOT NULL,
  stated NOT NULL,                -- INTEGER or TEXT
  nested TEXT,
  loc TEXT NOT NULL,              -- behind the document's prefix
  PRIMARY KEY (document, key)
) WITHOUT ROWID;
INSERT INTO new_entry
SELECT document, key, json_array(lastmod, precision, changefreq, priority), nested, loc FROM entry;
DROP TABLE entry;
ALTER TABLE new_entry RENAME TO entry;
CREATE INDEX entry_key ON entry (key);
CREATE TABLE new_unlisted (       -- left its document, and what that means is not decided yet
  site INTEGER NOT NULL REFERENCES site,
  key INTEGER NOT NULL,
  document INTEGER NOT NULL,
  stated NOT NULL,
  nested TEXT,
  loc TEXT NOT NULL,
  sitemap TEXT NOT NULL,
  expired INTEGER NOT NULL,       -- out of a feed or a news sitemap: never removed, forgotten in time
  left_at INTEGER NOT NULL,
  reported INTEGER NOT NULL DEFAULT 0, -- as removed, perhaps: that run did not come to its end
  PRIMARY KEY (site, key, document)
) WITHOUT ROWID;
INSERT INTO new_unlisted
SELECT site, key, document, json_array(lastmod, precision, changefreq, priority), nested, loc, sitemap, expired,
  left_at, told FROM unlisted;
DROP TABLE unlisted;
ALTER TABLE new_unlisted RENAME TO unlisted;
""",
    # site.baseline is the first run that read all of the site with the present settings, entry.first_run the run that
    # first listed the URL, 0 if that is unknown. No row is rewritten: SQLite gives rows without the column the default.
    """
ALTER TABLE site ADD COLUMN baseline INTEGER;
UPDATE site SET baseline = (SELECT min(id) FROM run WHERE run.site = site.id AND complete);
ALTER TABLE entry ADD COLUMN first_run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE unlisted ADD COLUMN first_run INTEGER NOT NULL DEFAULT 0;
UPDATE document SET history = json_remove(history, '$.identical'); -- counted in `dense`
""",
    # For watch: what it knows of each document and site beside sync, as JSON; responses that it need not request again;
    # the log of changes, compressed JSON lines, and the place in it that each sink has reached. document.confirmed_at
    # is when it was last looked at, or skipped as the lastmod in a proven index had not changed.
    """
ALTER TABLE document ADD COLUMN confirmed_at INTEGER;
UPDATE document SET confirmed_at = looked_at;
ALTER TABLE document ADD COLUMN watch TEXT;
ALTER TABLE site ADD COLUMN watch TEXT;
CREATE TABLE response (
  site INTEGER NOT NULL REFERENCES site,
  url TEXT NOT NULL,
  at INTEGER NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,          -- JSON
  body BLOB NOT NULL,             -- zlib
  PRIMARY KEY (site, url)
) WITHOUT ROWID;
CREATE TABLE change_log (
  last_seq INTEGER PRIMARY KEY,   -- the number of its last change; changes are numbered from 1, without gaps
  changes INTEGER NOT NULL,
  at INTEGER NOT NULL,
  site TEXT NOT NULL,
  lines BLOB NOT NULL             -- zlib
);
CREATE TABLE log_id (
  id TEXT NOT NULL                -- random: no other log has it
);
INSERT INTO log_id VALUES (lower(hex(randomblob(6))));
CREATE TABLE sink (
  name TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,           -- of the last change that it has received
  at INTEGER NOT NULL             -- when it received it
) WITHOUT ROWID;
""",
    # Why a URL left its document: diff_rules.Departure.
    "ALTER TABLE unlisted ADD COLUMN cause INTEGER NOT NULL DEFAULT 0;\n",
)

_DAMAGED = "is damaged; move it away, and the next sync starts anew"
_UNWRITABLE = "cannot be written; check who may write it and its folder"
_IN_USE = (
    "is in use by another run, or by a stream that was not closed; wait until that is done, or give another file: "
    "sites that are read at once need a file each"
)
# SQLite result code -> message, and whether the file itself is fine and only cannot be written. SQLite reports values
# that its own functions cannot read, such as invalid JSON, with the general code ERROR.
_MESSAGES: dict[int, tuple[str, bool]] = {
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL), (_IN_USE, True)),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
        (_UNWRITABLE, True),
    ),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened; check its folder, and who may write there", True),
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full; free some space", True),
    sqlite3.SQLITE_IOERR: ("cannot be written; check the disk, and its free space", True),
    sqlite3.SQLITE_NOTADB: ("is no state file; give one that `sync` has made, or a name that is free", False),
    **dict.fromkeys(
        (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_ERROR,
            sqlite3.SQLITE_CONSTRAINT,
            sqlite3.SQLITE_MISMATCH,
            sqlite3.SQLITE_TOOBIG,
            sqlite3.SQLITE_FORMAT,
        ),
        (_DAMAGED, False),
    ),
}

# Some centuries from the limits of datetime, so that a day can be added to any time.
_FIRST_SECOND, _LAST_SECOND = -50_000_000_000, 250_000_000_000
_KINDS = {
    "time": f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN {_FIRST_SECOND}000000 AND {_LAST_SECOND}000000",
    "count": "typeof({0}) = 'integer' AND {0} BETWEEN 0 AND 9007199254740991",
    "text": "typeof({0}) = 'text'",
    "blob": "typeof({0}) = 'blob'",
    "secret": "typeof({0}) = 'blob' AND length({0}) = 16",
    "key": "typeof({0}) = 'integer'",
}
# Table -> kind -> its columns; with a `?` behind the kind they may be NULL.
_COLUMNS = {
    "site": {"count": "id", "text": "name settings", "secret": "secret", "time": "first_seen last_seen",
             "count?": "baseline", "text?": "watch"},
    "run": {"count": "id site complete sitemaps not_modified new updated removed held_back listings",
            "time": "started", "time?": "ended"},
    "document": {"count": "id site complete entries run fine", "text": "url parents prefix history",
                 "text?": "format etag last_modified sha256 authorities watch", "time": "first_seen last_seen",
                 "time?": "read_at looked_at gone_since confirmed_at"},
    "child": {"count": "document place", "text": "loc", "count?": "line"},
    "unlisted": {"count": "site document expired reported first_run cause", "key": "key", "text": "loc sitemap",
                 "time": "left_at"},
    "response": {"count": "site status", "text": "url headers", "time": "at", "blob": "body"},
    "change_log": {"count": "last_seq changes", "time": "at", "text": "site", "blob": "lines"},
    "log_id": {"text": "id"},
    "sink": {"text": "name", "count": "seq", "time": "at"},
}  # fmt: skip
# A lastmod is in microseconds where its precision is SUBSECOND, else in seconds.
_DATED = f"""
(precision IS NULL OR typeof(precision) = 'integer' AND precision BETWEEN 0 AND {SUBSECOND}) AND (lastmod IS NULL
  OR typeof(lastmod) = 'integer' AND lastmod / CASE precision WHEN {SUBSECOND} THEN 1000000 ELSE 1 END
    BETWEEN -62135596800 AND 253402300799)
"""
_CONDITIONS = {
    "document": f"{_DATED} AND (NOT complete OR read_at AND looked_at AND format NOTNULL)",
    "child": _DATED,
    "change_log": "changes BETWEEN 1 AND last_seq",
}


class DamagedValue(Exception):
    """A stored value that no state has; sqlite_errors() makes it a StateError about the file."""


def decode_value(decode: Callable[[Stored], Decoded], value: Stored) -> Decoded:
    """What a function makes of a stored value; DamagedValue where it cannot read it."""
    try:
        return decode(value)
    except (
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        ArithmeticError,
        RecursionError,
        msgspec.MsgspecError,
        zlib.error,
    ) as exc:
        raise DamagedValue from exc


def json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def only_row(rows: sqlite3.Cursor) -> Any:
    """The row of a query that has exactly one in every state."""
    row = rows.fetchone()
    if row is None:
        raise DamagedValue
    return row


def state_version() -> int:
    """The version of the states that are written; files of earlier ones are migrated (docs/versions.md)."""
    return len(_MIGRATIONS)


def open_state(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """Opens a state file for reading: the last commit, in one transaction, also while a run writes the file.

    An older file is migrated first.
    """
    name = _name_of(path)
    with sqlite_errors(name):
        db = _checked(name)
        if db is None:
            raise StateError(f"{name} is empty; `sync` (sr.changes()) writes it")
        if _version(db) == state_version():
            return db
        db.close()
        if not may_write(name):
            message = f"{name} was written by an older version; only a user who may write it can open it"
            raise StateError(message, is_unwritable=True)
    db, lock = open_for_writing(name)
    unlock(lock)
    db.close()
    return open_state(name)


def open_for_writing(path: str | os.PathLike[str]) -> tuple[sqlite3.Connection, BinaryIO]:
    """Opens a state file, or a new one, as the only connection that writes it, until unlock() of the lock."""
    # SQLite locks for a transaction only. What keeps other runs away between two of them is a lock on the WAL file:
    # it is there as long as a connection is, and SQLite itself locks other files.
    name = _name_of(path)
    with sqlite_errors(name):
        if os.path.exists(name):
            if (stored := _checked(name)) is not None:
                stored.close()
            if not may_write(name):
                raise StateError(f"{name} {_UNWRITABLE}", is_unwritable=True)
        # Without flock() SQLite locks the file as long as it is open, also for readers.
        db = _with_wal(name, "rwc", is_shared=sys.platform != "win32")
        with _closed_on_error(db):
            return db, _begin_writing(db, name)


def _name_of(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if not name:
        raise StateError("the name of the state file is empty")
    if name == ":memory:":
        raise StateError("a state is a file, which the next run reads; give its name, and not :memory:")
    return name


def _checked(name: str) -> sqlite3.Connection | None:
    """A connection for reading; None for an empty file, as mktemp makes it, or a first run that was killed."""
    _check_file(name)
    db = _reader(name)
    with _closed_on_error(db):
        is_empty = db.execute("PRAGMA page_count").fetchone() == (0,)
        if not is_empty:
            _check(db, name)
            return db
    db.close()
    return None


def _reader(name: str) -> sqlite3.Connection:
    """A connection that writes no row, in a transaction."""
    if may_write(name):
        # With `mode=ro` it would leave the WAL file to the next run, if that of now ends first: the file alone would
        # lack commits.
        return _begin_reading(_with_wal(name, "rw"))
    while not os.path.exists(wal := wal_name(name)):
        if os.path.exists(journal := _journal_name(name)):
            raise _unreadable(name, journal)
        # Who cannot make a WAL has no lock that a run would see, so all is read at once, and again if one wrote then.
        before = os.stat(name)
        db = _copy(name)
        now = os.stat(name)
        if (before.st_mtime_ns, before.st_size) == (now.st_mtime_ns, now.st_size):
            return _begin_reading(db)
        db.close()
    try:
        return _begin_reading(_connect(name, "ro"))
    except sqlite3.OperationalError as exc:
        raise _unreadable(name, wal) from exc


def _unreadable(name: str, log: str) -> StateError:
    reason = f"is in use, or was left by a run that was killed ({log})"
    return StateError(f"{name} {reason}; only a user who may write it can open it", is_unwritable=True)


def _begin_reading(db: sqlite3.Connection) -> sqlite3.Connection:
    with _closed_on_error(db):
        db.execute("PRAGMA query_only = ON")
        db.execute("BEGIN")
        _version(db)  # SQLite begins with the first thing that is read
    return db


def _copy(name: str) -> sqlite3.Connection:
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    with _closed_on_error(db), closing(_connect(name, "ro", is_fixed=True)) as stored:
        stored.backup(db)
    return db


@contextmanager
def _closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def _with_wal(name: str, mode: str, *, is_shared: bool = True) -> sqlite3.Connection:
    """A connection that has opened the WAL, if the state has one; it locks the file where that cannot be shared."""
    db = _connect(name, mode)
    try:
        with _closed_on_error(db):
            if not is_shared:
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
            _version(db)
    except sqlite3.OperationalError as exc:
        # A `-shm` file cannot be made: the disk is full, or of a kind without shared memory.
        if not is_shared or exc.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            raise
        return _with_wal(name, mode, is_shared=False)
    return db


def _begin_writing(db: sqlite3.Connection, name: str) -> BinaryIO:
    """Migrates a state that no other connection writes, and returns the lock; StateError where one does."""
    db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # of a new file
    lock = _locked_wal(name) if os.path.exists(wal_name(name)) else None
    try:
        _migrate(db)
        return lock or _locked_wal(name)
    except BaseException:
        if lock is not None:
            unlock(lock)
        raise


def _locked_wal(name: str) -> BinaryIO:
    lock = open(wal_name(name), "rb+", buffering=0)  # noqa: SIM115 - until unlock()
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            lock.close()
            message = _IN_USE if isinstance(exc, BlockingIOError) else f"cannot be locked: {exc.strerror}"
            raise StateError(f"{name} {message}", is_unwritable=True) from exc
    return lock


def unlock(lock: BinaryIO) -> None:
    """Ends what open_for_writing() began; before the connection is closed, which deletes the WAL file."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_UN)  # a process that was forked meanwhile has it, too
    lock.close()


def may_write(name: str) -> bool:
    """Whether the file and its folder are writable; SQLite writes its WAL beside the file first."""
    return os.access(name, os.W_OK) and os.access(os.path.dirname(os.path.realpath(name)), os.W_OK)


def _journal_name(name: str) -> str:
    """The name of the rollback journal; while it exists, the file may hold half of a transaction that a kill ended."""
    return f"{os.path.realpath(name)}-journal"


def allow_interrupts(db: sqlite3.Connection) -> None:
    db.set_progress_handler(lambda: None, _SIGNAL_STEPS)


def open_temporary_state(name: str = "") -> sqlite3.Connection:
    """A state without a file: a copy of the file of this name, which is only read, or an empty one if there is none."""
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    if os.path.exists(name):
        with closing(open_state(name)) as stored, sqlite_errors(name):
            stored.backup(db)
        return db
    for script in _MIGRATIONS:
        execute_all(db, script)
    return db


@contextmanager
def sqlite_errors(name: str) -> Iterator[None]:
    """Raises SQLite's errors as StateErrors about the file, an interrupt as KeyboardInterrupt."""
    try:
        yield
    except sqlite3.ProgrammingError as exc:
        if "closed database" not in str(exc):  # a bug in this package
            raise
        raise StateError(f"{name} is closed; open it again: State({name!r})") from None
    except (DamagedValue, UnicodeDecodeError) as exc:  # UnicodeDecodeError: an error message that quotes the file
        raise StateError(f"{name} {_DAMAGED}") from exc
    except sqlite3.Error as exc:
        # Python's module itself reports text that is no UTF-8, without a code.
        code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        message, is_unwritable = _MESSAGES.get(code, (f"cannot be used: {exc}", False))
        raise StateError(f"{name} {message}", is_unwritable=is_unwritable) from exc


def execute_all(db: sqlite3.Connection, script: str) -> None:
    """Executes statements that each end with `;` and a line break; executescript() would commit first."""
    for statement in script.split(";\n"):
        db.execute(statement)


def _check_file(name: str) -> None:
    """StateError for a path that is no file."""
    # Whatever is in it is read through SQLite: closing a descriptor of our own would release all POSIX locks on it.
    try:
        found = os.stat(name)
    except FileNotFoundError:
        raise StateError(f"there is no state file {name}; `sync` (sr.changes()) makes it") from None
    except (OSError, ValueError) as exc:  # ValueError: the name holds a NUL
        reason = getattr(exc, "strerror", None) or exc
        raise StateError(f"cannot read {name}: {reason}", is_unwritable=True) from exc
    if stat.S_ISDIR(found.st_mode):
        raise StateError(f"{name} is a folder; name a file in it")


def _check(db: sqlite3.Connection, name: str) -> None:
    """StateError for a database that is no state, before anything is written."""
    application: int = db.execute("PRAGMA application_id").fetchone()[0]
    if application != _APPLICATION:
        raise StateError(f"{name} is an SQLite database of another program; give a name that is free")
    version = _version(db)
    _refuse_newer(name, version)
    _check_tables(db, name, version)
    if version == state_version():
        _check_rows(db)


def _check_tables(db: sqlite3.Connection, name: str, version: int) -> None:
    """Refuses a file with anything beside the tables and indexes of its version."""
    # A trigger, a view or a generated column would be computed by what is read or written here, perhaps without end.
    found, expected = _tables(db), _expected_tables(_MIGRATIONS[: max(version, 0)])
    if version < 1 or any(found.get(each) != text for each, text in expected.items()):
        raise DamagedValue
    for kind, other in sorted(found.keys() - expected.keys()):
        message = f"has the {kind} {other!r:.60}, which sitemap-reader did not make"
        raise StateError(f"{name} {message}; move it away, and use a state of your own")


def _tables(db: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """(Kind, name) -> table and statement of all that the schema has, without comments, quotes and line breaks."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return decode_value(lambda rows: {(kind, name): (table, _plain(sql)) for kind, name, table, sql in rows}, rows)


def _plain(sql: str | None) -> str:
    return " ".join(re.sub(r"--[^\n]*", "", sql or "").replace('"', "").split())


@cache
def _expected_tables(migrations: tuple[str, ...]) -> dict[tuple[str, str], tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for script in migrations:
            execute_all(db, script)
        return _tables(db)


def _check_rows(db: sqlite3.Connection) -> None:
    """Raises DamagedValue for a value of a wrong type, or out of range."""
    for table, condition in _row_conditions().items():
        if db.execute(f"SELECT 1 FROM {table} WHERE NOT coalesce({condition}, 0) LIMIT 1").fetchone():  # noqa: S608 - names above
            raise DamagedValue
    if db.execute("SELECT count(*) FROM log_id").fetchone() != (1,):
        raise DamagedValue


@cache
def _row_conditions() -> dict[str, str]:
    conditions = {}
    for table, kinds in _COLUMNS.items():
        parts = [_CONDITIONS.get(table, "1")]
        for kind, names in kinds.items():
            condition = _KINDS[kind.removesuffix("?")]
            condition = f"{{0}} IS NULL OR {condition}" if kind.endswith("?") else condition
            parts += [condition.format(name) for name in names.split()]
        conditions[table] = " AND ".join(f"({part})" for part in parts)
    return conditions


def _connect(name: str, mode: str, *, is_fixed: bool = False) -> sqlite3.Connection:
    """With `is_fixed` SQLite assumes that no process writes the file, and needs neither a lock nor a WAL file."""
    # Without readonly_shm `mode=ro` makes a -shm file where it can.
    options = f"mode={mode}&immutable={int(is_fixed)}&readonly_shm={int(mode == 'ro')}"
    uri = f"{Path(name).absolute().as_uri()}?{options}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)
    allow_interrupts(db)  # a migration may take seconds
    db.execute("PRAGMA trusted_schema = OFF")
    if sys.version_info >= (3, 12):
        db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)
    return db


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _refuse_newer(name: str, version: int) -> None:
    if version > state_version():
        raise StateError(f"{name} was written by a newer version of sitemap-reader; use that one, or another file")


def _migrate(db: sqlite3.Connection) -> None:
    """Migrates in one transaction, and then switches to WAL: so the file's header always has the application_id."""
    db.execute("BEGIN IMMEDIATE")
    version = _version(db)
    if version < state_version():
        for script in _MIGRATIONS[version:]:
            execute_all(db, script)
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {state_version()}")
        _check_rows(db)
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")
    execute_all(db, _SETTINGS)
    _version(db)  # SQLite makes the WAL when it next reads


_TEMPORARY_SETTINGS = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -{CACHE_KIB};
"""


def temporary_database(schema: str) -> sqlite3.Connection:
    """A database with these tables, deleted when it is closed; beyond CACHE_KIB in a temporary file without a name."""
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    allow_interrupts(db)
    db.executescript(f"{_TEMPORARY_SETTINGS}{schema}BEGIN;")
    return db


@contextmanager
def temp_database_errors() -> Iterator[None]:
    """Raises SQLite's errors as OSError (disk), UsageError (closed database) or KeyboardInterrupt."""
    try:
        yield
    except sqlite3.ProgrammingError as exc:
        raise UsageError(f"the temporary database cannot be read: {exc}") from exc
    except sqlite3.Error as exc:
        code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        number = errno.ENOSPC if code == sqlite3.SQLITE_FULL else errno.EIO
        raise OSError(number, f"{exc}; TMPDIR can name another", "the temporary folder") from exc
