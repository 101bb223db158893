"""Alternates: records that have some in, what is wrong with the set of pages that they make out (L01 to L05).

Source: Google's documentation of localized versions; codes by BCP 47.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import orjson

from ..parser.normalise.urls import is_web_url
from ..state.scratch import on_disk, temporary_database
from .check import Check
from .codes import hreflang_fault

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from ..model.records import Alternate, UrlRecord
    from .documents import Listings
    from .findings import Findings

DEFAULT = "x-default"
_NEVER = 1_000_000  # pages that are missing, and will not come


class Alternates(Check):
    """Those of one entry (L01, L02, L04, L05)."""

    codes = ("L01", "L02", "L04", "L05")

    def __init__(self) -> None:
        self._faults: dict[str, str | None] = {}  # sites have few codes; hostile ones are forgotten

    def record(self, record: UrlRecord, found: Findings) -> None:
        """All rules."""
        for code, message, field, raw in self._told(record):
            found.note(code, message, sitemap=record.sitemap, line=record.line, field=field, raw=raw)

    def _told(self, record: UrlRecord) -> Iterator[tuple[str, str, str, str]]:
        """Code, message, field and raw text of each fault."""
        loc, alternates = record.loc, translations(record)
        if not alternates:
            return
        codes = {each.hreflang for each in alternates if each.hreflang}
        for code in sorted(codes):
            fault = self._fault(code.strip())
            if fault:
                yield "L01", f'hreflang "{code}" of {loc}: {fault}', "xhtml:link hreflang", code
        if loc not in {each.href for each in alternates}:
            yield "L02", f"{loc} is not among its own alternates", "xhtml:link href", loc
        if len(alternates) > 1 and not any(code.lower() == DEFAULT for code in codes):
            told = f"{loc} has {len(alternates):,} alternates, and none is the x-default"
            yield "L04", told, "xhtml:link hreflang", loc
        for code, hrefs in _several(alternates):
            told = f"{loc} has {len(hrefs):,} pages for {code}: {', '.join(sorted(hrefs)[:3])}"
            yield "L05", told, "xhtml:link href", code

    def _fault(self, code: str) -> str | None:
        if code not in self._faults:
            if len(self._faults) > 1_000:
                self._faults.clear()
            self._faults[code] = hreflang_fault(code)
        return self._faults[code]


def translations(record: UrlRecord) -> list[Alternate]:
    """Its alternates that have a code, but no links into apps: others, with `media`, are for other devices."""
    return [each for each in record.alternates if each.hreflang and is_web_url(each.href)]


def _several(alternates: list[Alternate]) -> list[tuple[str, set[str]]]:
    """Codes, in lower case, that stand for several pages on the same media."""
    hrefs: dict[tuple[str, str | None], set[str]] = {}
    for each in alternates:
        hrefs.setdefault(((each.hreflang or "").lower(), each.media), set()).add(each.href)
    return [(code, pages) for (code, _), pages in hrefs.items() if len(pages) > 1]


_SCHEMA = """
CREATE TABLE entry (pages INTEGER, page INTEGER, loc TEXT, sitemap TEXT, line INTEGER, alternates BLOB);
CREATE TABLE link (
  page INTEGER, other INTEGER, entry INTEGER, code TEXT, href TEXT, is_judged INTEGER, UNIQUE (page, other)
);
"""
_ONE_SIDED = """
SELECT entry.loc, link.code, link.href, entry.sitemap, entry.line FROM link
JOIN entry ON entry.rowid = link.entry
WHERE is_judged AND NOT EXISTS (SELECT 1 FROM link AS back WHERE back.page = link.other AND back.other = link.page)
ORDER BY link.rowid
"""


class ReturnLinks(Check):
    """Whether pages that are named name back (L03).

    What makes a set is mostly told by each of its pages in the same words: then it is enough to count them. The
    entries are in a temporary database meanwhile, and of sets that are not complete their links are held against each
    other there.
    """

    codes = ("L03",)

    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        self._missing: dict[int, int] = {}  # a set of pages -> how many of them have not said so; none if all have
        self._db: sqlite3.Connection | None = None
        self._has_failed = False
        self.notes: list[str] = []

    def record(self, record: UrlRecord, found: Findings) -> None:
        """Enters its set. One in which a page is listed twice is not told by counting."""
        if not self._has_failed:
            with self._giving_up():
                self._enter(record)

    def _enter(self, record: UrlRecord) -> None:
        hrefs = {each.href: each.hreflang for each in translations(record)}
        others = hrefs.keys() - {record.loc}
        if not others:
            return
        page, pages = hash(record.loc), hash(frozenset(hrefs.keys() | {record.loc}))
        missing = self._missing.pop(pages, len(others) + 1) - 1
        if page in self._listings.repeated:
            missing = _NEVER
        if missing:
            self._missing[pages] = missing
        links = orjson.dumps([[code, href] for href, code in hrefs.items() if href in others])
        with on_disk():
            self._db = self._db or temporary_database(_SCHEMA)
            row = (pages, page, record.loc, record.sitemap, record.line, links)
            self._db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)", row)

    def end(self, found: Findings) -> None:
        """Of a page that is listed nowhere nobody knows what it names."""
        if self._db is not None:
            with closing(self._db), self._giving_up(), on_disk():
                self._judge(self._db, found)
            self._db = None

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        """A disk that is full costs this rule, and nothing else."""
        try:
            yield
        except OSError as exc:
            self._has_failed = True
            self.notes.append(f"L03 was not judged: {exc.strerror or exc}")

    def _judge(self, db: sqlite3.Connection, found: Findings) -> None:
        incomplete, self._missing = self._missing.keys(), {}
        if not incomplete:
            return
        first = self._listings.first
        # Pages of complete sets have named all of those; but others may name them, and a second listing of theirs too.
        named = {
            key
            for _, pages, _, links in _entries(db)
            if pages in incomplete
            for _, href in links
            if (key := hash(href)) in first
        }
        rows = (
            (page, key, number, code, href, pages in incomplete)
            for number, pages, page, links in _entries(db)
            if pages in incomplete or page in named
            for code, href in links
            if (key := hash(href)) in first
        )
        db.executemany("INSERT OR IGNORE INTO link VALUES (?, ?, ?, ?, ?, ?)", rows)
        for loc, code, href, sitemap, line in db.execute(_ONE_SIDED):
            told = f"{loc} names {href} for {code}, which does not name it back"
            found.note("L03", told, sitemap=sitemap, line=line, field="xhtml:link href", raw=href)


def _entries(db: sqlite3.Connection) -> Iterator[tuple[int, int, int, list[tuple[str, str]]]]:
    """Number, set, page, and the codes and URLs that the page names."""
    for number, pages, page, links in db.execute("SELECT rowid, pages, page, alternates FROM entry"):
        yield number, pages, page, orjson.loads(links)
