"""Indexes a WARC file in one pass: a path goes in, a WarcIndex of URL -> offset of its response comes out.

A response takes some 30 bytes of memory, regardless of its URL. Damage ends the pass and is noted; what precedes it is
indexed. Never keeps the file open, never reads more of a body than its beginning.
"""

from __future__ import annotations

import os
import re
import secrets
import zlib
from array import array
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

import attrs
import orjson

from ...frontier.seeds import WELL_KNOWN, Seed, parse_target
from ...model.errors import FetchError, UsageError
from ...parser.content.sniff import sniff
from ...parser.normalise.urls import clean_url, is_clean, origin
from ..client import http_url_parts
from ..replay import ERROR_FIELD
from .records import (
    GZIP_MAGIC,
    DamagedRecord,
    MultiRecordMember,
    WarcRecord,
    document_start,
    header_pairs,
    status_of,
    without_brackets,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


# --- seeds of files that do not state them ----------------------------------------------------------------------

WINDOW_BYTES = 16 * 1024  # of a response, with its head
_DOCUMENT_BYTES = 4_096
_ROBOTS = "/robots.txt"
_PATHS = frozenset({_ROBOTS, *WELL_KNOWN})
# A response without any of these is no sitemap: a quick check that excludes most pages.
_MARKS = (b"urlset", b"sitemapindex", GZIP_MAGIC)
_COMPRESSED = re.compile(rb"\ncontent-encoding:[ \t]*(?:br|zstd|deflate)", re.IGNORECASE)
_HEAD_BYTES = 2_048
_SITEMAP = re.compile(
    rb"""(?:\xef\xbb\xbf)? \s*
    (?: <\?.*?\?> \s* | <!--.*?--> \s* | <!DOCTYPE [^\[>]* > \s* )*
    < (?: [\w.-]+: )? (?: urlset | sitemapindex ) [\s/>]""",
    re.VERBOSE | re.DOTALL,
)


@attrs.define
class _HostSeeds:
    """What was found of one host: origins that lead to a sitemap, origins that were requested, and sitemaps."""

    leads: set[str] = attrs.field(factory=set)
    tried: set[str] = attrs.field(factory=set)
    documents: dict[str, None] = attrs.field(factory=dict)


class SeedFinder:
    """Finds seeds: add() takes each response of a file, seeds() returns what to start from.

    A host whose robots.txt or well-known path leads to a sitemap is a site; of other hosts each sitemap is a document.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, _HostSeeds] = {}

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def add(self, url: str, status: int | None, window: bytes, *, is_bare: bool) -> None:
        """Takes a response with a normalised URL; `is_bare`: its window begins with the document, without a head."""
        site = origin(url)
        path = url[len(site) :]
        if path in _PATHS:
            host = self._host(site)
            host.tried.add(site)
            if _leads_to_sitemap(path, status or 0, window, is_bare):
                host.leads.add(site)
        elif not self._has_lead(site) and _is_sitemap(status or 0, window, is_bare):
            self._host(site).documents[url] = None

    def seeds(self) -> tuple[Seed, ...]:
        """Returns the seeds, sorted by host, documents also by URL: the order in the file is arbitrary."""
        return tuple(seed for name in sorted(self._hosts) for seed in _seeds_of(self._hosts[name]))

    def _has_lead(self, site: str) -> bool:
        host = self._hosts.get(site.partition("://")[2])
        return host is not None and bool(host.leads)

    def _host(self, site: str) -> _HostSeeds:
        return self._hosts.setdefault(site.partition("://")[2], _HostSeeds())


def _seeds_of(host: _HostSeeds) -> list[Seed]:
    if host.documents and not host.leads:
        return [Seed(url, (origin(url),), document=url) for url in sorted(host.documents)]
    site = max(host.leads or host.tried)  # https before http
    return [Seed(f"{site}/", (site,))]


def _is_sitemap(status: int, window: bytes, is_bare: bool) -> bool:
    if not 200 <= status <= 299:
        return False
    may_be = any(mark in window for mark in _MARKS) or _COMPRESSED.search(window, 0, _HEAD_BYTES)
    return bool(may_be and _SITEMAP.match(_document(window, is_bare)))


def _leads_to_sitemap(path: str, status: int, window: bytes, is_bare: bool) -> bool:
    if 300 <= status <= 399:
        return True
    if not 200 <= status <= 299:
        return False
    document = _document(window, is_bare)
    if path == _ROBOTS:
        return b"sitemap" in document.lower() or len(window) >= WINDOW_BYTES
    verdict = sniff(document, final=True)
    return verdict is not None and verdict.kind in ("xml", "text")


def _document(window: bytes, is_bare: bool) -> bytes:
    """Returns the beginning of the document, decompressed."""
    if is_bare and window[:2] != GZIP_MAGIC:
        return window[:_DOCUMENT_BYTES]
    return document_start(b"\r\n\r\n" + window if is_bare else window, _DOCUMENT_BYTES)


SEEDS_FIELD = "sitemap-reader-seeds"  # of a warcinfo record: JSON
MAX_FIRST_BYTES = 4_096
_SLOTS = 1 << 10
_NEAR = 16  # how many records may be between a response and its request
_GET = re.compile(rb"GET[ \t]")
_NOT_MODIFIED = 304
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_NONE = 2**64 - 1
RECOMPRESS = "`warcio recompress {path} NEW.warc.gz` (pip install warcio)"


def url_key(url: str) -> str | None:
    """Returns a URL as in the index and in WARC-Target-URI: normalised, without userinfo; None for an invalid one."""
    if is_clean(url):
        return url
    try:
        parts = http_url_parts(url)
    except FetchError:
        return None
    return clean_url(f"{parts['scheme']}://{parts['host']}{parts['rest']}").url


class OffsetTable:
    """Maps texts to numbers in 20 to 30 bytes a text: an open-addressing hash table that keeps hashes, not texts."""

    def __init__(self) -> None:
        # A random key: URLs that collide cannot be constructed. Readers compare the URL of the record all the same.
        self._hash = blake2b(digest_size=8, key=secrets.token_bytes(16))
        self._count = 0
        self._hashes = array("Q", [0]) * _SLOTS
        self._numbers = array("Q", [0]) * _SLOTS

    def put(self, text: str, number: int | None) -> None:
        """Sets the number of a text; None removes it."""
        if self._count * 5 > len(self._hashes) * 4:
            self._grow()
        hashed = self._hash_of(text)
        slot = self._slot(hashed)
        self._count += not self._hashes[slot]
        self._hashes[slot], self._numbers[slot] = hashed, _NONE if number is None else number

    def get(self, text: str) -> int | None:
        """Returns the number of a text, or None."""
        slot = self._slot(self._hash_of(text))
        number = self._numbers[slot] if self._hashes[slot] else _NONE
        return None if number == _NONE else number

    def _hash_of(self, text: str) -> int:
        digest = self._hash.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest(), "little") or 1  # 0 is a free slot

    def _slot(self, hashed: int) -> int:
        hashes = self._hashes
        slots = len(hashes)
        slot = hashed % slots
        while hashes[slot] not in (0, hashed):
            slot = (slot + 1) % slots
        return slot

    def _grow(self) -> None:
        old = zip(self._hashes, self._numbers, strict=True)
        size = len(self._hashes) * 3 // 2
        self._hashes, self._numbers = array("Q", [0]) * size, array("Q", [0]) * size
        for hashed, number in old:
            if hashed:
                slot = self._slot(hashed)
                self._hashes[slot], self._numbers[slot] = hashed, number


@attrs.define
class WarcIndex:
    """The index of a WARC file. `is_own_recording`: by --record. `damage`: where and why the rest is not indexed."""

    path: Path
    seeds: tuple[Seed, ...] = ()
    recorded: datetime | None = None
    is_own_recording: bool = False
    damage: str | None = None
    responses: OffsetTable = attrs.field(factory=OffsetTable)
    failures: OffsetTable = attrs.field(
        factory=OffsetTable
    )  # metadata records with an error, beside or instead of a response
    payload_offsets: OffsetTable = attrs.field(
        factory=OffsetTable
    )  # offset of a revisit record -> that of the record with its payload
    _digests: OffsetTable | None = None

    def offset_of_payload(self, digest: str) -> int | None:
        """Returns the offset of the last response with that payload digest; the first call reads the file once more."""
        if self._digests is None:
            self._digests = OffsetTable()
            for record, _ in _records(self, {}):
                if record.type in ("response", "resource"):
                    self._digests.put(record.headers.get("warc-payload-digest", ""), record.offset)
        return self._digests.get(digest) if digest else None


def read_index(path: Path) -> WarcIndex:
    """Indexes a file. UsageError where it is no WARC, cannot be read, or has no seeds."""
    index = WarcIndex(path)
    builder = _IndexBuilder(index)
    for record, window in _records(index, _WINDOWS):
        builder.add(record, window)
    builder.finish()
    return index


def _records(index: WarcIndex, windows: Mapping[str, int]) -> Iterator[tuple[WarcRecord, bytes]]:
    """Yields complete records, each with the first bytes of its block: `windows` maps record types to their number."""
    path = index.path
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            offset = 0
            while offset < end:
                record = WarcRecord(file, offset)
                window = record.block.lookahead(windows.get(record.type, 0))
                offset = record.end()
                yield record, window
            if not end:
                raise UsageError(f"{path} is empty, and no WARC")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    except MultiRecordMember as exc:
        what = "one gzip member holds several records, so that none can be found by itself"
        raise UsageError(f"{path}: {what}; {RECOMPRESS.format(path=path)} converts it") from exc
    except DamagedRecord as exc:
        if exc.offset == 0:
            raise UsageError(_not_a_warc(path, exc)) from exc
        index.damage = f"{path} is damaged at byte {exc.offset:,} ({exc}): what follows is lost"


def _not_a_warc(path: Path, damage: DamagedRecord) -> str:
    """Returns the message for a file that does not begin with a record."""
    with path.open("rb") as file:
        first = file.read(MAX_FIRST_BYTES)
    with suppress(zlib.error):
        first = zlib.decompressobj(wbits=31).decompress(first, MAX_FIRST_BYTES) or first
    if first.startswith(b"filedesc://"):
        return f"{path} is an ARC; {RECOMPRESS.format(path=path)} makes a WARC of it"
    if first.startswith(b"WARC/"):
        return f"{path} holds no whole record: {damage}"
    return f"{path} is no WARC"


class _IndexBuilder:
    """Builds the index: add() takes each record, finish() completes it."""

    def __init__(self, index: WarcIndex) -> None:
        self._index = index
        self._found = SeedFinder()
        self._seeds: dict[str, None] = {}
        self._latest = ""
        self._recent: deque[tuple[str, str, int, int | None]] = deque(
            maxlen=_NEAR
        )  # id, URL, offset, offset of the previous response
        self._dropped: deque[str] = deque(maxlen=_NEAR)  # ids of responses to methods other than GET

    def add(self, record: WarcRecord, window: bytes) -> None:
        """Handles a record by its type; unknown types are skipped."""
        handle = _HANDLERS.get(record.type)
        if handle is not None:
            handle(self, record, window)

    def finish(self) -> None:
        """Sets what is known after the last record: seeds and time. UsageError where there are no seeds."""
        index = self._index
        try:
            recorded_seeds = tuple(map(parse_target, self._seeds))
        except UsageError as exc:
            raise UsageError(f"{index.path}: {SEEDS_FIELD}: {exc}") from exc
        index.is_own_recording = bool(recorded_seeds) and not self._found
        index.seeds = (*recorded_seeds, *self._found.seeds())
        if not index.seeds:
            raise UsageError(index.damage or f"{index.path}: {_NO_SEEDS}")
        if _DATE_TIME.fullmatch(self._latest):
            with suppress(ValueError):
                index.recorded = datetime.fromisoformat(self._latest).replace(tzinfo=UTC)

    def _response(self, record: WarcRecord, window: bytes) -> None:
        responses, url = self._index.responses, url_key(record.url)
        if url is None or self._is_dropped(record):
            return
        status = 200 if record.type == "resource" else status_of(window)
        before = responses.get(url)
        if status == _NOT_MODIFIED and before is not None:
            return  # the earlier response is still valid
        self._add_response(record, url, before)
        if not self._seeds:
            self._found.add(url, status, window, is_bare=record.type == "resource")

    def _revisit(self, record: WarcRecord, _: bytes) -> None:
        index, url = self._index, url_key(record.url)
        if url is None or self._is_dropped(record):
            return
        before = index.responses.get(url)
        if "not-modified" in record.headers.get("warc-profile", "") and before is not None:
            return
        named = record.headers.get("warc-refers-to-target-uri")
        found = before if named is None else index.responses.get(url_key(without_brackets(named)) or "")
        if found is not None:
            first = index.payload_offsets.get(str(found))
            index.payload_offsets.put(str(record.offset), found if first is None else first)
        self._add_response(record, url, before)

    def _add_response(self, record: WarcRecord, url: str, before: int | None) -> None:
        self._index.responses.put(url, record.offset)
        self._recent.append((record.id, url, record.offset, before))
        self._latest = max(self._latest, record.headers.get("warc-date", "")[:19])

    def _is_dropped(self, record: WarcRecord) -> bool:
        ids = {record.id, record.headers.get("warc-concurrent-to", "")} - {""}
        return not ids.isdisjoint(self._dropped)

    def _request(self, record: WarcRecord, window: bytes) -> None:
        """Drops the response to a method other than GET; it may come before or after its request."""
        if _GET.match(window) or not window:
            return
        ids = {record.id, record.headers.get("warc-concurrent-to", "")} - {""}
        self._dropped += ids
        for answer, url, offset, before in self._recent:
            if answer in ids and self._index.responses.get(url) == offset:
                self._index.responses.put(url, before)

    def _metadata(self, record: WarcRecord, window: bytes) -> None:
        url = url_key(record.url)
        if url is not None and ERROR_FIELD in parse_warc_fields(window):
            self._index.failures.put(url, record.offset)
            self._latest = max(self._latest, record.headers.get("warc-date", "")[:19])

    def _warcinfo(self, _: WarcRecord, window: bytes) -> None:
        with suppress(ValueError):
            seeds = orjson.loads(parse_warc_fields(window).get(SEEDS_FIELD, "[]"))
            if isinstance(seeds, list):
                self._seeds |= dict.fromkeys(seed for seed in seeds if isinstance(seed, str))


def parse_warc_fields(block: bytes) -> dict[str, str]:
    """Returns the fields of an application/warc-fields block, with lower-case names."""
    return {name.lower(): value for name, value in header_pairs(b"\n" + block)}


_NO_SEEDS = "nothing to start from: it holds no robots.txt, no sitemap, and no seeds of a recording of ours"
_HANDLERS: dict[str, Callable[[_IndexBuilder, WarcRecord, bytes], None]] = {
    "response": _IndexBuilder._response,
    "resource": _IndexBuilder._response,
    "revisit": _IndexBuilder._revisit,
    "request": _IndexBuilder._request,
    "metadata": _IndexBuilder._metadata,
    "warcinfo": _IndexBuilder._warcinfo,
}
# How many bytes of a block are read, by record type.
_WINDOWS = {
    "response": WINDOW_BYTES,
    "resource": WINDOW_BYTES,
    "request": 8,
    "metadata": WINDOW_BYTES,
    "warcinfo": 16 * 1024 * 1024,
}
