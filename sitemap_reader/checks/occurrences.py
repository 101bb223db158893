"""Occurrences of findings as rows, in CSV, JSON lines and Parquet alike; KnownFindings reads JSON lines back."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from ..model.errors import UsageError
from ..model.problems import CATALOGUE, Severity, count_of
from ..serialize.dumps import ReusableFile, numbered_objects
from ..state.schema import temp_database_errors, temporary_database
from .rule_docs import explain, impact_of

if TYPE_CHECKING:
    import sqlite3

    from ..model.problems import Problem
    from ..serialize.dumps import JsonObject


@attrs.frozen
class Occurrence:
    """One place in which an audit found a problem.

    `url` is the listed URL that has the problem, else the sitemap; None if neither is known. `value` is the text at
    fault, cut at 500 characters. `title` is that of the code.
    `count` is 1, but for U11 and U18, where one row stands for all URLs of an origin. `new` is False if the
    file of known findings has it, None without such a file.
    """

    code: str
    severity: Severity
    url: str | None
    value: str | None
    sitemap: str | None
    line: int | None
    title: str
    message: str
    field: str | None = None
    count: int = 1
    new: bool | None = None

    @classmethod
    def of(cls, problem: Problem, *, count: int = 1, new: bool | None = None) -> Occurrence:
        each = problem
        url, title = each.url or each.sitemap, CATALOGUE[each.code].title
        fields = (each.code, each.severity, url, each.raw, each.sitemap, each.line, title, each.message, each.field)
        return cls(*fields, count, new)

    def to_dict(self) -> JsonObject:
        """The row as the JSON object of a line."""
        return {"type": "finding", **attrs.asdict(self)}

    @property
    def impact(self) -> str:
        """That of the finding to which it belongs."""
        return impact_of(self.code, self.severity, self.field)

    @property
    def fingerprint(self) -> str:
        """32 hex digits that are equal in all runs for what KnownFindings takes for the same."""
        text = "\n".join("" if part is None else str(part) for part in identity(self.code, self.url, self.value))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def with_url(message: str, url: str | None) -> str:
    """The message, with the listed URL before it, unless the message names it.

    >>> with_url('lastmod "soon" is no date', "https://e.com/")
    'https://e.com/: lastmod "soon" is no date'
    """
    return message if url is None or url in message else f"{url}: {message}"


class KnownFindings:
    """The findings of an earlier audit: a finding is known if one had the same code, URL and value.

    The value does not count for dates (D), the age of news (N02) and changes (X), where it changes from day to day.
    Lines never count: an entry above moves them. Keeps a 64-bit hash of each.
    """

    def __init__(self, keys: Iterable[int], file: ReusableFile | None = None) -> None:
        self._keys = frozenset(keys)
        self._file = file  # that has them
        self._seen: set[int] = set()

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> Self:
        """Those in a file that an audit wrote as JSON lines; UsageError for another."""
        name = os.fspath(file)
        if not os.path.exists(name):
            raise UsageError(f"there is no file {name}; an empty one means that nothing is known yet")
        if os.path.isdir(name):
            raise UsageError(f"{name} is a folder; {_WRITTEN_BY}")
        source = ReusableFile(Path(name))
        return cls((_key(row) for row in _rows(source)), source)

    @property
    def name(self) -> str:
        return "" if self._file is None else str(self._file.path)

    def __contains__(self, problem: Problem) -> bool:
        return _key_of(problem) in self._keys

    def recognise(self, problem: Problem) -> bool:
        """Whether it is known; then missing() does not have it."""
        key = _key_of(problem)
        is_known = key in self._keys
        if is_known:
            self._seen.add(key)
        return is_known

    def missing(self) -> Iterator[Occurrence]:
        """The known occurrences of which recognise() got no problem, in the order of the file."""
        for row in _rows(self._file) if self._file is not None and len(self._seen) < len(self._keys) else ():
            if row["code"] in CATALOGUE and _key(row) not in self._seen:
                yield _occurrence(row)


_WRITTEN_BY = "give the file that an audit (--findings FILE.jsonl) wrote"


def _rows(file: ReusableFile) -> Iterator[JsonObject]:
    with file.open() as stream:
        for number, row in numbered_objects(stream, str(file.path), rule=_WRITTEN_BY):
            if row.get("type") != "finding" or not {"code", "url", "value"} <= row.keys():
                raise UsageError(f"{file.path}:{number}: that is no finding of an audit; {_WRITTEN_BY}")
            yield row


def _key(row: JsonObject) -> int:
    return hash(identity(str(row["code"]), row["url"], row["value"]))


def _key_of(problem: Problem) -> int:
    return hash(identity(problem.code, problem.url or problem.sitemap, problem.raw))


def _occurrence(row: JsonObject) -> Occurrence:
    """The row, with the title that its code has now; what has another type than an audit writes is left out."""
    code, severity, count, line = row["code"], row.get("severity"), row.get("count"), row.get("line")
    url, value, sitemap, field = (_text(row.get(name)) for name in ("url", "value", "sitemap", "field"))
    return Occurrence(
        code,
        severity if isinstance(severity, str) and severity in _RANKS else CATALOGUE[code].severity,
        url,
        value,
        sitemap,
        line if type(line) is int else None,
        CATALOGUE[code].title,
        _text(row.get("message")) or "",
        field,
        count if type(count) is int and count > 0 else 1,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def identity(code: str, url: Any, value: Any) -> tuple[str, Any, Any]:
    """What two occurrences of the same fault have in common, in different runs."""
    is_moving = code in CATALOGUE and explain(code).moving_value
    return code, url, None if is_moving else value or None


@attrs.frozen
class Fixed:
    """Known occurrences of a code that are not found any more: their number, and the first ones."""

    code: str
    severity: Severity
    count: int
    samples: tuple[Occurrence, ...] = ()

    @property
    def title(self) -> str:
        return CATALOGUE[self.code].title


@attrs.frozen
class FixedFindings:
    """What was fixed since `known`, the file of known findings; `unchecked`: code -> occurrences not checked again."""

    known: str
    findings: tuple[Fixed, ...]
    unchecked: Mapping[str, int] = attrs.field(factory=dict, hash=False)

    @property
    def count(self) -> int:
        return sum(each.count for each in self.findings)

    @property
    def headline(self) -> str:
        """`Fixed since known.jsonl: 12 occurrences`."""
        return f"Fixed since {self.known}: {count_of(self.count, 'occurrence')}"

    @property
    def not_checked(self) -> str:
        """`3 not checked again (C01 2, F01 1)`; empty where all were."""
        if not self.unchecked:
            return ""
        counts = ", ".join(f"{code} {count:,}" for code, count in sorted(self.unchecked.items()))
        return f"{sum(self.unchecked.values()):,} not checked again ({counts})"

    def to_dict(self) -> dict[str, Any]:
        findings = [
            {
                "code": each.code,
                "severity": each.severity,
                "title": each.title,
                "count": each.count,
                "samples": [
                    {name: getattr(sample, name) for name in ("url", "value", "sitemap", "message")}
                    for sample in each.samples
                ],
            }
            for each in self.findings
        ]
        return {"since": self.known, "count": self.count, "findings": findings, "not_checked": {**self.unchecked}}


# The most severe first.
_RANKS: dict[Severity, int] = {"error": 0, "warning": 1, "notice": 2}
_SPARE = 1_000


def most_severe(occurrences: Iterable[Occurrence], limit: int | None = None) -> list[Occurrence]:
    """The first `limit` of them by importance: new ones before known ones, then by severity.

    Among equals the codes take turns, so that a frequent one hides no other; those of a code are in the order of the
    sitemaps' URLs and lines. The order in which sitemaps were read has no effect.
    """
    turns: Counter[tuple[bool, int, str]] = Counter()
    ranked = []
    for each in sorted(
        occurrences, key=lambda each: (each.sitemap or "", each.line or 0, each.url or "", each.message)
    ):
        is_known, rank = each.new is False, _RANKS[each.severity]
        turn = turns[is_known, rank, each.code]
        turns[is_known, rank, each.code] += 1
        ranked.append((is_known, rank, turn, each.code, each))
    ranked.sort(key=itemgetter(0, 1, 2, 3))
    return [each for *_, each in ranked[:limit]]


class OccurrenceBuffer:
    """Keeps at most `limit` occurrences of each severity: add() each; iteration gives those that most_severe() does."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: dict[Severity, list[Occurrence]] = {severity: [] for severity in _RANKS}

    def add(self, found: Occurrence) -> None:
        kept = self._kept[found.severity]
        kept.append(found)
        if len(kept) >= 2 * self.limit + _SPARE:
            kept[:] = most_severe(kept, self.limit)

    def __iter__(self) -> Iterator[Occurrence]:
        for kept in self._kept.values():
            yield from most_severe(kept, self.limit)


_TABLE = "CREATE TABLE {} (sitemap BLOB, line INTEGER, fields BLOB)"
_BUFFERED = 200  # rows of a code


class RowSpool:
    """Rows in the order of a report: add() each as it is found, then take() all. Keeps them in a temporary database.

    Those of a code are in the order of the sitemaps' URLs and lines, whichever sitemap was read first.
    """

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None
        self._buffers: dict[tuple[str, Severity], list[tuple[bytes, int, bytes]]] = {}
        self._tables: dict[tuple[str, Severity], str] = {}

    def add(self, row: JsonObject) -> None:
        key = row["code"], row["severity"]
        sitemap = (row["sitemap"] or "").encode("utf-8", "surrogatepass")
        rows = self._buffers.setdefault(key, [])
        rows.append((sitemap, row["line"] or 0, pickle.dumps(row, pickle.HIGHEST_PROTOCOL)))
        if len(rows) >= _BUFFERED:
            self._store(key, rows)

    def _store(self, key: tuple[str, Severity], rows: list[tuple[bytes, int, bytes]]) -> None:
        with temp_database_errors():
            self._db = self._db or temporary_database("")
            if key not in self._tables:
                self._tables[key] = f"finding_{len(self._tables)}"
                self._db.execute(_TABLE.format(self._tables[key]))
            self._db.executemany(f"INSERT INTO {self._tables[key]} VALUES (?, ?, ?)", rows)  # noqa: S608  a number
        rows.clear()

    def take(self, order: Iterable[tuple[str, Severity]]) -> Iterator[JsonObject]:
        """Removes the rows: those of the first code and severity come first."""
        buffers, self._buffers = self._buffers, {}
        for key in dict.fromkeys([*order, *sorted(buffers)]):
            rows = buffers.get(key, [])
            if key in self._tables:
                self._store(key, rows)
            rows.sort(key=itemgetter(0, 1))
            for *_, fields in rows or self._stored(key):
                yield pickle.loads(fields)  # noqa: S301  add() wrote it, in this process
        if self._db is not None:
            self._db.close()
        self._db, self._tables = None, {}

    def _stored(self, key: tuple[str, Severity]) -> Iterator[tuple[bytes, int, bytes]]:
        """The rows of a table in order; `rowid` keeps that of those on one line."""
        if self._db is not None and key in self._tables:
            with temp_database_errors():
                yield from self._db.execute(f"SELECT * FROM {self._tables[key]} ORDER BY sitemap, line, rowid")  # noqa: S608
