"""States of earlier versions: what they hold is compared as before."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from changing_sites import Document, World, entries, loc

import sitemap_reader as sr
from sitemap_reader.state import schema, unpack_stated

DATES = ["2026-01-02", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678901Z", "1969-07-20T20:17:40Z", None]
PRIORITIES = ["0.3333333333333333", "1.0", None]


def as_version(path: Path, version: int) -> None:
    """Rewrites a state with an earlier schema; the first had a column for each field of a URL."""
    old = path.with_suffix(".old")
    path.rename(old)
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(old)) as source:
        source.row_factory = sqlite3.Row
        for script in schema._MIGRATIONS[:version]:
            schema.execute_all(db, script)
        for table in ("site", "run", "document", "child", "entry", "unlisted"):
            columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
            into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
            for row in map(dict, source.execute(f"SELECT * FROM {table}")):  # noqa: S608 - names above
                if "stated" in row:
                    row["lastmod"], row["precision"], row["changefreq"], priority = unpack_stated(row["stated"])
                    row |= {"priority": None if priority is None else repr(priority), "told": row.get("reported")}
                db.execute(into, [row[name] for name in columns])
        db.execute(f"PRAGMA application_id = {schema._APPLICATION}")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    old.unlink()


def test_a_state_of_version_1_is_the_same_site(state: Path) -> None:
    listed = {}
    for number, date in enumerate(DATES):
        for priority in PRIORITIES:
            listed |= entries(f"{number}-{priority}", lastmod=date, priority=priority)
    site = World({"a.xml": Document(dict(listed))}, listed=["a.xml"])
    site.run(state)
    with sr.state.State(state) as opened:
        before = sorted(opened.entries(), key=lambda record: record.loc)
    as_version(state, 1)
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


@pytest.mark.slow
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
    as_version(state, 1)
    site.documents["b.xml"].status = 200
    assert site.run(state).reported == (set(), set(), {"a2"})
