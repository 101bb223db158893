"""States of earlier versions: what they hold is compared as before."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from changing_sites import Document, World, entries, loc

import sitemap_reader as sr
from sitemap_reader.state import schema
from sitemap_reader.state.rows import unpack_stated

if TYPE_CHECKING:
    from pathlib import Path

DATES = ["2026-01-02", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678901Z", "1969-07-20T20:17:40Z", None]
PRIORITIES = ["0.3333333333333333", "1.0", None]


def as_version_1(path: Path) -> None:
    """Rewrites a state with the first schema, which had a column for each field."""
    old = path.with_suffix(".old")
    path.rename(old)
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(old)) as source:
        schema.execute_all(db, schema._MIGRATIONS[0])
        for table in ("site", "run", "document", "child"):
            for row in source.execute(f"SELECT * FROM {table}"):  # noqa: S608 - names above
                db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        for document, key, stated, nested, text in source.execute("SELECT * FROM entry"):
            *fields, priority = unpack_stated(stated)
            values = (document, key, *fields, None if priority is None else repr(priority), nested, text)
            db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        for site, key, document, stated, nested, *rest in source.execute("SELECT * FROM unlisted"):
            *fields, priority = unpack_stated(stated)
            values = (site, key, document, *fields, None if priority is None else repr(priority), nested, *rest)
            db.execute("INSERT INTO unlisted VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        db.execute(f"PRAGMA application_id = {schema._APPLICATION}")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    old.unlink()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def test_a_state_of_version_1_is_the_same_site(state: Path) -> None:
    listed = {}
    for number, date in enumerate(DATES):
        for priority in PRIORITIES:
            listed |= entries(f"{number}-{priority}", lastmod=date, priority=priority)
    site = World({"a.xml": Document(dict(listed))}, listed=["a.xml"])
    site.run(state)
    with sr.state.State(state) as opened:
        before = sorted(opened.entries(), key=lambda record: record.loc)
    as_version_1(state)
    with sr.state.State(state) as opened:
        assert sorted(opened.entries(), key=lambda record: record.loc) == before
        assert opened.db.execute("PRAGMA user_version").fetchone() == (len(schema._MIGRATIONS),)
    for name in ("0-1.0", "1-None"):
        site.documents["a.xml"].entries[loc(name)] = ("2026-03-04", "0.7")
    del site.documents["a.xml"].entries[loc("3-1.0")]
    assert site.run(state).reported == (set(), {"0-1.0", "1-None"}, {"3-1.0"})
    assert site.run(state, full=True).reported == (set(), set(), set())


ENDLESS = """
import signal, sys
import sitemap_reader as sr
from sitemap_reader.state import schema

schema._MIGRATIONS += ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n;\\n",)
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    sr.state.State(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_migration_can_be_interrupted(state: Path) -> None:
    """Ctrl-C ends it, and the file is as it was."""
    World().run(state)
    before = state.read_bytes()
    command = [sys.executable, "-c", ENDLESS, str(state)]
    assert subprocess.run(command, capture_output=True, check=True, timeout=60).stdout == b"interrupted\n"
    assert state.read_bytes() == before
    sr.state.State(state).close()


def test_urls_that_had_left_a_document_are_still_undecided(state: Path) -> None:
    """They are removed once all documents can be read."""
    site = World({"a.xml": Document(entries("a1", "a2")), "b.xml": Document(entries("b1"))}, listed=["a.xml", "b.xml"])
    site.run(state)
    del site.documents["a.xml"].entries[loc("a2")]
    site.documents["b.xml"].status = 500
    assert site.run(state).reported == (set(), set(), set())
    as_version_1(state)
    site.documents["b.xml"].status = 200
    assert site.run(state).reported == (set(), set(), {"a2"})
