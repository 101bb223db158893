"""States with damaged or foreign contents: every use gives a StateError that names the file, and leaves it as it is."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from changing_sites import DAY, SITE, Document, World, entries

import sitemap_reader as sr
from sitemap_reader import diff
from sitemap_reader.checks import open_baseline
from sitemap_reader.state import ChangeLog, StoredResponse, WatchData

NOW = World().now
RICH = b"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc>https://shop.example/r1</loc><image:image><image:loc>/i.png</image:loc></image:image></url>
  <url><loc>https://shop.example/r2</loc><lastmod>2026-01-01T10:00:00.123456Z</lastmod></url>
  <url><loc>https://shop.example/r3</loc><lastmod>2026-01-01T10:00:00.123Z</lastmod></url></urlset>"""


def site() -> World:
    documents = {
        "a.xml": Document(entries("a1", "a2", "a3", lastmod="2026-01-01"), lastmod="2026-01-01T10:00:00.5Z"),
        "b.xml": Document(entries("b1", "b2", priority="0.5")),
        "r.xml": Document(body=RICH),
        "f.xml": Document(entries("f1"), is_feed=True),
    }
    return World(documents, listed=[*documents])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with rows in every table."""
    state = tmp_path_factory.mktemp("whole") / "state.db"
    one = site()
    one.run(state)
    del one.documents["a.xml"].entries["https://shop.example/a3"]
    one.documents["b.xml"].status = 500
    one.run(state)
    with sr.state.State(state, create=True) as opened:
        opened.db.execute("BEGIN")
        data = WatchData(opened)
        data.save(f"{SITE}/", {"failing": 1.0}, {f"{SITE}/a.xml": {"rate": {}}})
        data.keep_response(f"{SITE}/", StoredResponse(f"{SITE}/robots.txt", NOW, 200, {"etag": "x"}, b"Sitemap:"))
        log = ChangeLog(opened)
        with log.transaction():
            log.append([sr.Change("new", sr.UrlRecord(f"{SITE}/a"))], f"{SITE}/", NOW)
        log.cursor("sink", NOW)
        opened.db.execute("COMMIT")
    return state


def sync(state: Path) -> None:
    one = site()
    one.later()
    one.documents["a.xml"] = Document(entries("a1", "b1", "c1", lastmod="2026-01-02", priority="0.1"))
    one.documents["b.xml"] = Document(entries("b2", "b3", priority="0.6"))
    one.documents["r.xml"].body = RICH.replace(b"i.png", b"j.png").replace(b"10:", b"11:")
    one.run(state, on_document=lambda document: None)
    one.listed = ["a.xml"]
    one.run(state, accept_removals=True)


def read(state: Path) -> None:
    with sr.state.State(state) as opened:
        for each in opened.sites():
            opened.documents(each.name), opened.runs(each.name)
            [*opened.columns(each.name)]
        opened.settings(), opened.has_nested()


def watch(state: Path) -> None:
    with sr.state.State(state, create=True) as opened:
        log, data = ChangeLog(opened), WatchData(opened)
        for entry in log.after(0, 10):
            assert entry.key
        for name in data.sites():
            [*data.documents(name)]
            data.responses(name, NOW - DAY)
        opened.db.execute("BEGIN")
        log.cursor("sink", NOW)
        with log.transaction():
            log.append([sr.Change("new", sr.UrlRecord(f"{SITE}/b"))], f"{SITE}/", NOW)


def compare(state: Path) -> None:
    other = state.with_name("other.db")
    with diff(str(state), str(other)) as changes:
        assert changes is not None
        list(changes)


USES: dict[str, Callable[[Path], object]] = {
    "sync": sync,
    "read": read,
    "watch": watch,
    "load": lambda state: sr.load(state).urls.to_arrow().to_pylist(),
    "baseline": lambda state: [*open_baseline(state, f"{SITE}/").listings()],
    "diff": compare,
}
INVALID = "CAST(x'ff22' AS TEXT)"  # no UTF-8
VALUES = [None, "", "[[1]]", b"\xff\xfe", -1, 8191, 2**63 - 1, 1.5, "[1e18,1,0,0.5]", INVALID]


def put(state: Path, table: str, column: str, value: Any) -> bool:
    """Stores a value in all rows, whatever the schema says. Whether SQLite takes it."""
    with closing(sqlite3.connect(state, isolation_level=None)) as db:
        (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql.replace("NOT NULL", ""), table))
    with closing(sqlite3.connect(state, isolation_level=None)) as db:
        given = INVALID if value == INVALID else "?"
        try:
            db.execute(f"UPDATE {table} SET {column} = {given}", () if value == INVALID else (value,))  # noqa: S608
        except sqlite3.IntegrityError:  # several rows with the same key
            return False
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, table))
    return True


def copy(whole: Path, folder: Path, name: str = "state.db") -> Path:
    shutil.copy(whole, folder / "other.db")
    return shutil.copy(whole, folder / name)


def assert_refused(state: Path, reported: str = "is damaged; move it away, and the next sync starts anew") -> None:
    before = state.read_bytes()
    for use in USES.values():
        with pytest.raises(sr.StateError) as caught:
            use(state)
        assert f"{state} {reported}" in str(caught.value)
        assert not caught.value.is_unwritable
    assert state.read_bytes() == before


def columns_of(whole: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(whole)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}


@pytest.mark.slow
def test_whole_states_can_be_used(whole: Path, tmp_path: Path) -> None:
    """As the other tests use them."""
    for name, use in USES.items():
        use(copy(whole, tmp_path, f"{name}.db"))


@pytest.mark.slow
def test_values_of_wrong_types_are_refused(whole: Path, tmp_path: Path) -> None:
    """Of every column but those of `entry`, the ones that nothing reads, and those of which SQLite checks the type."""
    unchecked = {("document", "score"), ("unlisted", "stated"), ("unlisted", "nested")}
    tables = columns_of(whole)
    del tables["entry"]
    for table, column in [(table, column) for table, columns in tables.items() for column in columns]:
        if (table, column) in unchecked:
            continue
        state = copy(whole, tmp_path, f"{table}-{column}.db")
        if put(state, table, column, 1.5 if column in ("secret", "lines", "body") else b"\xff"):
            before = state.read_bytes()
            with pytest.raises(sr.StateError, match="is damaged; move it away"):
                sr.state.State(state)
            assert state.read_bytes() == before, (table, column)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column", "value"), [
    ("site", "settings", "[]"),
    ("site", "settings", '{"scope":{}}'),
    ("site", "first_seen", 2**62),
    ("run", "started", -(2**62)),
    ("document", "lastmod", 2**50),
    ("document", "parents", "{]"),
    ("document", "parents", '["a",1]'),
    ("document", "history", '{"entries":"x"}'),
    ("document", "authorities", "{}"),
    ("document", "prefix", INVALID),
    ("document", "read_at", None),
    ("child", "precision", 9),
    ("entry", "stated", "[]"),
    ("entry", "stated", 8191),
    ("entry", "stated", 2**63 - 1),
    ("entry", "loc", None),
    ("entry", "nested", "xyz"),
    ("unlisted", "stated", "{}"),
    ("change_log", "lines", b"xyz"),
    ("response", "body", b"xyz"),
    ("response", "headers", '{"etag":1}'),
])
def test_values_that_no_state_has_are_damage(whole: Path, tmp_path: Path, table: str, column: str, value: Any) -> None:
    reported = set()
    for name, use in USES.items():
        state = copy(whole, tmp_path, f"{name}.db")
        assert put(state, table, column, value)
        try:
            use(state)
        except sr.StateError as exc:
            reported.add(str(exc).removeprefix(str(state)))
    assert reported == {" is damaged; move it away, and the next sync starts anew"}


@pytest.mark.slow
@pytest.mark.parametrize("column", ["document", "key", "stated", "nested", "loc", "first_run"])
def test_no_value_of_an_entry_raises_anything_else(whole: Path, tmp_path: Path, column: str) -> None:
    for number, value in enumerate(VALUES):
        for name, use in USES.items():
            state = copy(whole, tmp_path, f"{name}-{number}.db")
            with suppress(sr.StateError):
                if put(state, "entry", column, value):
                    use(state)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
OWN = ", which sitemap-reader did not make; move it away, and use a state of your own"


@pytest.mark.parametrize(("statement", "reported"), [
    (f"CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT ({ENDLESS}); END", f"has the trigger 't'{OWN}"),
    (f"CREATE VIEW v AS {ENDLESS}", f"has the view 'v'{OWN}"),
    ("CREATE TABLE more (a)", f"has the table 'more'{OWN}"),
    ("CREATE INDEX more ON run (abs(started))", f"has the index 'more'{OWN}"),
    ("CREATE VIRTUAL TABLE more USING fts5 (a)", f"has the table 'more'{OWN}"),
    *((statement, "is damaged") for statement in (
        "ALTER TABLE run ADD COLUMN more AS (abs(started))", "ALTER TABLE run ADD COLUMN more CHECK (more IS NULL)",
        "ALTER TABLE run RENAME COLUMN started TO begun", "ALTER TABLE run DROP COLUMN held_back",
        "DROP INDEX entry_key", "DROP TABLE child", f"DROP TABLE child; CREATE VIEW child AS {ENDLESS}",
        "DELETE FROM log_id", "PRAGMA user_version = 0", "PRAGMA user_version = -1", "PRAGMA user_version = 3",
    )),
])
def test_a_state_with_another_schema_is_refused(whole: Path, tmp_path: Path, statement: str, reported: str) -> None:
    """No trigger, view or generated column is ever evaluated: it might not end."""
    state = copy(whole, tmp_path)
    with closing(sqlite3.connect(state)) as db:
        db.executescript(statement)
    assert_refused(state, reported)


@pytest.mark.parametrize("seed", range(12))
def test_random_damage_raises_nothing_else(whole: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    body = bytearray(whole.read_bytes())
    size = len(body) if seed % 3 else 40_000  # SQLite's pages have 16 KiB, and only their ends hold data
    for _ in range(chance.choice([1, 5, 50, 500])):
        at = chance.randrange(size) // 16_384 * 16_384 + min(
            chance.choice([0, 100, 15_000]) + chance.randrange(1_500), 16_383
        )
        body[min(at, len(body) - 1)] = chance.randrange(256)
    for name, use in USES.items():
        state = copy(whole, tmp_path, f"{name}.db")
        state.write_bytes(body)
        with suppress(sr.StateError, sr.UsageError):  # UsageError: the name of the site is another one
            use(state)
