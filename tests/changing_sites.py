"""A changing site without a network, for tests of changes. A World is a Fetcher."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import attrs
import kit

import sitemap_reader as sr
from sitemap_reader import Change, Outcome, UrlRecord
from sitemap_reader.state import moment

SITE = "https://shop.example"
INDEX = f"{SITE}/index.xml"
START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

def first_seen(state: Path | sr.state.State) -> dict[str, datetime | None]:
    """When each listed page in a state was first seen; asserts that all its listings agree."""
    if not isinstance(state, sr.state.State):
        with sr.state.State(state) as opened:
            return first_seen(opened)
    found: dict[str, datetime | None] = {}
    for columns in (columns for site in state.sites() for columns in state.columns(site.name)):
        for url, micros in zip(columns.locs, columns.first_seen, strict=True):
            at = None if micros is None else moment(micros)
            assert found.setdefault(url.removeprefix(f"{SITE}/"), at) == at
    return found


# What a document lists: loc -> lastmod and priority, as text.
Entries = dict[str, tuple[str | None, str | None]]


def loc(name: str) -> str:
    """The URL of a page."""
    return f"{SITE}/{name}"


def entries(*names: str, lastmod: str | None = None, priority: str | None = None) -> Entries:
    """Pages with the same values."""
    return {loc(name): (lastmod, priority) for name in names}


@attrs.define
class Document:
    """The response of a URL: its entries, as a feed or a urlset; or a `status`, or only the first part of its body."""

    entries: Entries = attrs.field(factory=dict)
    is_feed: bool = False
    status: int = 200
    is_cut: bool = False
    lastmod: str | None = None  # in the index
    body: bytes | None = None  # replaces the entries

    def text(self) -> bytes:
        if self.body is not None:
            return self.body
        return kit.feed(*self.entries) if self.is_feed else _urlset(self.entries)


def _urlset(entries: Entries) -> bytes:
    return kit.urlset(*(_entry("url", loc, *values) for loc, values in entries.items()))


def _entry(tag: str, loc: str, lastmod: str | None = None, priority: str | None = None) -> str:
    stated = {"loc": loc, "lastmod": lastmod, "priority": priority}
    return f"<{tag}>{''.join(f'<{name}>{text}</{name}>' for name, text in stated.items() if text)}</{tag}>"


@attrs.define
class World:
    """A site of one index: `documents` by name. It records requests and their statuses."""

    documents: dict[str, Document] = attrs.field(factory=dict)
    index: Document = attrs.field(factory=Document)
    listed: list[str] = attrs.field(factory=list)  # listed by the index; None: all
    has_etags: bool = True
    modified: datetime | None = None  # the Last-Modified of all documents
    now: datetime = START
    requested: dict[str, int] = attrs.field(factory=dict)  # path -> the status it got, of the last run
    times_requested: int = 0

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[sr.fetch.Response]:
        path = url.removeprefix(f"{SITE}/")
        status, body = self._answer(path)
        etag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
        given = {"etag": etag} if self.has_etags and status == 200 else {}
        if self.modified is not None and status == 200:
            given["last-modified"] = format_datetime(self.modified, usegmt=True)
        conditions = [headers.get("If-None-Match"), headers.get("If-Modified-Since")]
        if given and conditions == [given.get("etag"), given.get("last-modified")]:
            status, body = 304, b""
        self.requested[path] = status
        self.times_requested += 1
        yield sr.fetch.Response(status, given, _chunks(body, is_cut=status == 200 and self._is_cut(path)), url)

    def _answer(self, path: str) -> tuple[int, bytes]:
        if path == "robots.txt":
            return 200, kit.robots(INDEX)
        if path == "index.xml":
            return self.index.status, self._index()
        document = self.documents.get(path)
        return (404, b"") if document is None else (document.status, document.text())

    def _is_cut(self, path: str) -> bool:
        return (self.index if path == "index.xml" else self.documents.get(path, Document())).is_cut

    def _index(self) -> bytes:
        children = {name: self.documents.get(name, Document()) for name in self.listed}
        return kit.index(*(_entry("sitemap", loc(name), child.lastmod) for name, child in children.items()))

    # --- runs ---

    def changes(self, state: Path | sr.state.State, **options: Any) -> sr.Stream[sr.Change]:
        """The stream of a run at the current time."""
        self.requested, self.times_requested = {}, 0
        options = {"limits": sr.Limits(tries=1), **options}
        return sr.changes(SITE, state=state, fetcher=self, clock=lambda: self.now, **options)

    def run(self, state: Path | sr.state.State, **options: Any) -> Run:
        """A complete run."""
        with self.changes(state, **options) as stream:
            changes = [*stream]
        return Run(changes, stream)

    def later(self, by: timedelta = DAY) -> None:
        """Advances the clock."""
        self.now += by


async def _chunks(body: bytes, *, is_cut: bool) -> AsyncIterator[bytes]:
    if not is_cut:
        yield body
        return
    yield body[: len(body) * 2 // 3]
    raise sr.FetchError("cut", transient=False)


@attrs.frozen
class Run:
    """The changes of a complete run, and its finished stream."""

    changes: list[Change]
    stream: sr.Stream[sr.Change]

    def of(self, kind: str) -> set[str]:
        """The names of the pages with this change."""
        return {_name(change.record) for change in self.changes if change.change == kind}

    @property
    def reported(self) -> tuple[set[str], set[str], set[str]]:
        """New, updated, removed; asserts that nothing is reported twice."""
        assert len(self.changes) == sum(len(self.of(kind)) for kind in ("new", "updated", "removed"))
        return self.of("new"), self.of("updated"), self.of("removed")

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes by the names of the documents."""
        return {str(outcome.url).removeprefix(f"{SITE}/"): outcome for outcome in self.stream.outcomes}

    @property
    def codes(self) -> dict[str, int]:
        return dict(self.stream.problems.counts)


def _name(record: UrlRecord) -> str:
    return record.loc.removeprefix(f"{SITE}/")


NOTHING: tuple[set[str], set[str], set[str]] = (set(), set(), set())
