"""A temporary database: it is a file that has no name, so that it is gone with its connection, or with the process."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..model.errors import UsageError
from .schema import CACHE_KIB, mind_signals

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETTINGS = f"""
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
