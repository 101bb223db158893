"""Replaces the network by a WARC file: a URL goes in, the Response that was recorded for it comes out.

The file may be from --record or any other crawler, with any number of hosts. It is indexed in one pass: a response
takes some 25 bytes of memory, regardless of its URL, and as much again for a payload digest. Damage ends the pass and
is noted; what precedes it is indexed. Then each response is read from its offset, in chunks. Never writes, never keeps
the file open, and returns no response whose digest does not match.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import weakref
import zlib
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs
import orjson

from ...frontier.plan import WELL_KNOWN, Seed, parse_target
from ...model.errors import FetchError, UsageError
from ...parser.content.sniff import sniff
from ...parser.normalise.urls import clean_url, is_clean, origin
from ..client import Response, http_url_parts
from ..replay import ERROR_FIELD, AsyncChunks, pop_error
from .records import (
    DamagedRecord,
    HttpHead,
    MultiRecordMember,
    WarcRecord,
    body_chunks,
    document_start,
    header_pairs,
    http_head,
    read_head,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping


class WarcFetcher:
    """A Fetcher that reads from a WARC file, plain or gzipped record by record; a URL that is not in it is a 404.

    `seeds` are those of the recorded crawl; in files of other crawlers, the sites and sitemaps that were found.
    `recorded`: when the last response was recorded, in UTC, to the second. `damage`: where and how the file is damaged,
    or None; only records before that are read. Raises UsageError when created, where the file is no WARC, cannot be
    read, or has no seeds.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._index = read_index(self._path)
        self.seeds: tuple[Seed, ...] = self._index.seeds
        self.recorded: datetime | None = self._index.recorded
        self.damage: str | None = self._index.damage

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the recorded response; the request `headers` are ignored."""
        rest = http_url_parts(url)["rest"]
        with self._translated_errors():
            file = self._path.open("rb")
        with file:
            with self._translated_errors():
                response = self._find(file, url)
            # A robots.txt that cannot be fetched would forbid all.
            if response is None and self.damage and rest != "/robots.txt":
                raise FetchError(f"not found; {self.damage}", transient=False, remedy="")
            yield response or Response(404, {}, AsyncChunks(iter(())), url)

    def has(self, url: str) -> bool:
        """Whether a response for a URL was recorded, or why there was none."""
        key = url_key(url) or ""
        return any(offsets.get(key) is not None for offsets in (self._index.responses, self._index.failures))

    def _find(self, file: BinaryIO, url: str) -> Response | None:
        """Returns the response for a URL, or None; raises FetchError for a recorded failure or an unreadable record."""
        record = self._record(file, self._index.responses, url)
        failure = self._record(file, self._index.failures, url)
        if failure is None or (record is not None and record.offset > failure.offset):
            return None if record is None else self._response(file, record, url)
        error = pop_error(parse_warc_fields(failure.read(WINDOW_BYTES)))
        if record is None or failure.headers.get("warc-concurrent-to") != record.id:
            raise error
        return self._response(file, record, url, error)

    def _record(self, file: BinaryIO, offsets: OffsetTable, url: str) -> WarcRecord | None:
        """Returns the record for a URL; None where there is none, or one of another URL with the same hash."""
        key = url_key(url) or ""
        offset = offsets.get(key)
        record = None if offset is None else WarcRecord(file, offset)
        return record if record is not None and url_key(record.url) == key else None

    def _response(self, file: BinaryIO, record: WarcRecord, url: str, error: FetchError | None = None) -> Response:
        """Returns the response of a record, whose body ends with `error`, if there is one."""
        record = self._verified(file, record)
        head = payload_head = _head(record)
        if record.type == "revisit" and (head is None or head.status != 304):
            record = self._revisited_record(file, record)
            payload_head = _head(record)
            head = head or payload_head
        if head is None or payload_head is None:
            raise self._record_error("holds no HTTP answer")
        coding = payload_head.headers.get("content-encoding")  # that of the body, which a revisit record may not have
        headers = {**head.headers, **({"content-encoding": coding} if coding else {})}
        return Response(head.status, headers, AsyncChunks(self._chunks(record, payload_head.headers, error)), url)

    def _revisited_record(self, file: BinaryIO, revisit: WarcRecord) -> WarcRecord:
        digest = revisit.headers.get("warc-payload-digest", "")
        offset = self._index.payloads.get(digest)
        record = None if offset is None else WarcRecord(file, offset)
        if record is None or record.headers.get("warc-payload-digest") != digest:
            raise self._record_error("is the same as one that is not in this file")
        return self._verified(file, record)

    def _verified(self, file: BinaryIO, record: WarcRecord) -> WarcRecord:
        """Returns the record, unread; FetchError where it has digests of which none matches, and no CRC of gzip."""
        if not (record.has_crc or _matches_digest(WarcRecord(file, record.offset))):
            raise self._record_error("is damaged: what it holds does not match its digest")
        return WarcRecord(file, record.offset)

    def _chunks(self, record: WarcRecord, headers: Mapping[str, str], error: FetchError | None) -> Iterator[bytes]:
        received = 0
        with self._translated_errors():
            for chunk in body_chunks(record, headers, archive=str(self._path)):
                received += len(chunk)
                yield chunk
        if error is not None:
            raise error
        for name in ("warc-truncated", "warc-segment-number"):
            if name in record.headers:
                raise self._record_error(f"ends after {received:,} bytes ({name}: {record.headers[name]})")

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raises OSError and DamagedRecord as FetchError."""
        try:
            yield
        except OSError as exc:
            message = f"cannot read {self._path}: {exc.strerror or exc}"
            raise FetchError(message, transient=False, remedy="") from exc
        except DamagedRecord as exc:
            message = f"{self._path} is damaged at byte {exc.offset:,} ({exc})"
            raise FetchError(message, transient=False, remedy="") from exc

    def _record_error(self, problem: str) -> FetchError:
        return FetchError(f"its record in {self._path} {problem}", transient=False, remedy="")


def _head(record: WarcRecord) -> HttpHead | None:
    if record.type != "resource":
        return http_head(record)
    kind = record.headers.get("content-type")  # a document without HTTP headers
    return HttpHead(200, {"content-type": kind} if kind else {})


def _matches_digest(record: WarcRecord) -> bool:
    """Whether one of two digests matches, or there is none: writers disagree on what a payload is."""
    block = _digest(record.headers.get("warc-block-digest", ""))
    # The payload of a revisit is in another record.
    payload = None if record.type == "revisit" else _digest(record.headers.get("warc-payload-digest", ""))
    digests = [digest for digest in (block, payload) if digest]
    head = b"" if record.type == "resource" else read_head(record)
    if block:
        block[0].update(head)
    while digests and (chunk := record.read()):
        for state, _ in digests:
            state.update(chunk)
    return not digests or any(state.digest() == value for state, value in digests)


def _digest(text: str) -> tuple[Any, bytes] | None:
    """Returns a hash and its expected value for `sha1:` and base 32 or 16; None for an unknown algorithm or form."""
    label, _, written = text.partition(":")
    name, written = label.lower().replace("-", ""), written.strip()
    if name not in hashlib.algorithms_guaranteed:
        return None
    state = hashlib.new(name, usedforsecurity=False)
    is_hex = len(written) == state.digest_size * 2
    with suppress(ValueError):  # binascii.Error is one
        value = bytes.fromhex(written) if is_hex else base64.b32decode(written.upper())
        if value and len(value) == state.digest_size:
            return state, value
    return None


# --- the index ------------------------------------------------------------------------------------------------------


WINDOW_BYTES = 16 * 1024  # read of a response, with its head, and of a metadata record
SEEDS_FIELD = "sitemap-reader-seeds"  # of a warcinfo record: JSON
RECOMPRESS = "`warcio recompress {path} NEW.warc.gz` (pip install warcio)"
_MAX_FIRST_BYTES = 4_096
_MAX_WARCINFO_BYTES = 16 * 1024 * 1024
_NOT_MODIFIED = 304
_NO_SEEDS = "nothing to start from: it holds no robots.txt, no sitemap, and no seeds of a recording of ours"
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_ROBOTS = "/robots.txt"
_PATHS = frozenset({_ROBOTS, *WELL_KNOWN})
# Possessive (*+): a document that is no sitemap, with many comments, would otherwise take exponential time.
_SITEMAP = re.compile(
    rb"""(?:\xef\xbb\xbf)? \s*
    (?: <\?.*?\?> \s* | <!--.*?--> \s* | <!DOCTYPE [^\[>]* > \s* )*+
    < (?: [\w.-]+: )? (?: urlset | sitemapindex ) [\s/>]""",
    re.VERBOSE | re.DOTALL,
)


def url_key(url: str) -> str | None:
    """Returns a URL as in the index and in WARC-Target-URI: normalised, without userinfo; None for an invalid one."""
    if is_clean(url):
        return url
    try:
        parts = http_url_parts(url)
    except FetchError:
        return None
    return clean_url(f"{parts['scheme']}://{parts['host']}{parts['rest']}").url


def parse_warc_fields(block: bytes) -> dict[str, str]:
    """Returns the fields of an application/warc-fields block, with lower-case names."""
    return {name.lower(): value for name, value in header_pairs(block)}


class OffsetTable:
    """Maps texts to numbers in some 25 bytes a text: a table of SQLite in memory that keeps hashes, not texts."""

    def __init__(self) -> None:
        import sqlite3  # here: few targets are WARC files

        # A random key: URLs that collide cannot be constructed. Readers compare the URL of the record all the same.
        self._key = secrets.token_bytes(16)
        self._table = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._table.execute("CREATE TABLE offsets (hash INTEGER PRIMARY KEY, number INTEGER)")
        weakref.finalize(self, self._table.close)

    def put(self, text: str, number: int | None) -> None:
        """Sets the number of a text; None removes it."""
        self._table.execute("REPLACE INTO offsets VALUES (?, ?)", (self._hash(text), number))

    def get(self, text: str) -> int | None:
        """Returns the number of a text, or None."""
        query = self._table.execute("SELECT number FROM offsets WHERE hash = ?", (self._hash(text),))
        return next((number for (number,) in query), None)

    def _hash(self, text: str) -> int:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, signed=True)


@attrs.define
class WarcIndex:
    """The index of a WARC file. `damage`: where and why the rest is not indexed.

    `responses` and `failures` have offsets by URL; failures are metadata records with an error, beside or instead of a
    response. `payloads` has the offsets of responses by WARC-Payload-Digest.
    """

    path: Path
    seeds: tuple[Seed, ...] = ()
    recorded: datetime | None = None
    damage: str | None = None
    responses: OffsetTable = attrs.field(factory=OffsetTable)
    failures: OffsetTable = attrs.field(factory=OffsetTable)
    payloads: OffsetTable = attrs.field(factory=OffsetTable)


def read_index(path: Path) -> WarcIndex:
    """Indexes a file. UsageError where it is no WARC, cannot be read, or has no seeds."""
    index = WarcIndex(path)
    builder = _IndexBuilder(index)
    try:
        _add_records(path, builder)
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
    builder.finish()
    return index


def _add_records(path: Path, builder: _IndexBuilder) -> None:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise UsageError(f"{path} is no file, and a WARC is read from a file only")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise UsageError(f"{path} is empty, and no WARC")
        offset = 0
        while offset < size:
            record = WarcRecord(file, offset)
            window_bytes, add = _HANDLERS.get(record.type, (0, None))
            window = record.read(window_bytes)
            offset = record.end()
            if add is not None:  # here: only complete records are added
                add(builder, record, window)


def _not_a_warc(path: Path, damage: DamagedRecord) -> str:
    with path.open("rb") as file:
        first = file.read(_MAX_FIRST_BYTES)
    with suppress(zlib.error):
        first = zlib.decompressobj(wbits=31).decompress(first, _MAX_FIRST_BYTES) or first
    if first.startswith(b"filedesc://"):
        return f"{path} is an ARC; {RECOMPRESS.format(path=path)} makes a WARC of it"
    if first.startswith(b"WARC/"):
        return f"{path} holds no whole record: {damage}"
    return f"{path} is no WARC"


class _IndexBuilder:
    """Builds the index: the methods in _HANDLERS take records of a type, finish() completes it."""

    def __init__(self, index: WarcIndex) -> None:
        self._index = index
        self._found = _SeedFinder()
        self._seeds: dict[str, None] = {}
        self._latest = ""
        # Request and response are written one after the other, in any order.
        self._last_response: tuple[set[str], str, int | None] = (set(), "", None)  # ids, URL, previous offset
        self._last_not_get: set[str] = set()  # ids of a request, and of its response

    def finish(self) -> None:
        """Sets what is known after the last record: seeds and time. UsageError where there are no seeds."""
        index = self._index
        try:
            recorded_seeds = tuple(map(parse_target, self._seeds))
        except UsageError as exc:
            raise UsageError(f"{index.path}: {SEEDS_FIELD}: {exc}") from exc
        found = self._found.seeds()
        index.seeds = (*recorded_seeds, *found)
        if not index.seeds:
            raise UsageError(index.damage or f"{index.path}: {_NO_SEEDS}")
        if _DATE_TIME.fullmatch(self._latest):
            with suppress(ValueError):
                index.recorded = datetime.fromisoformat(self._latest).replace(tzinfo=UTC)

    def response(self, record: WarcRecord, window: bytes) -> None:
        """Takes a response, or a resource: a document without a head."""
        source = BytesIO(window)
        head = HttpHead(200, {}) if record.type == "resource" else http_head(source) or HttpHead(0, {})
        url = self._add_response(record, is_not_modified=head.status == _NOT_MODIFIED)
        if url and not self._seeds:
            self._found.add(url, head, source)
        digest = record.headers.get("warc-payload-digest")
        if digest:
            self._index.payloads.put(digest, record.offset)

    def revisit(self, record: WarcRecord, window: bytes) -> None:
        """Takes a response with the payload of another record."""
        self._add_response(record, is_not_modified="not-modified" in record.headers.get("warc-profile", ""))

    def request(self, record: WarcRecord, window: bytes) -> None:
        """Drops the response to a method other than GET."""
        if window and not window.startswith((b"GET ", b"GET\t")):
            self._last_not_get = _ids(record)
            ids, url, before = self._last_response
            if ids & self._last_not_get:
                self._index.responses.put(url, before)

    def metadata(self, record: WarcRecord, window: bytes) -> None:
        """Takes a failure of a recording of ours."""
        url = url_key(record.url)
        if url is not None and ERROR_FIELD in parse_warc_fields(window):
            self._index.failures.put(url, record.offset)
            self._set_latest(record)

    def warcinfo(self, record: WarcRecord, window: bytes) -> None:
        """Takes the seeds of a recording of ours."""
        with suppress(ValueError):
            seeds = orjson.loads(parse_warc_fields(window).get(SEEDS_FIELD, "[]"))
            if isinstance(seeds, list):
                self._seeds |= dict.fromkeys(seed for seed in seeds if isinstance(seed, str))

    def _add_response(self, record: WarcRecord, *, is_not_modified: bool) -> str | None:
        """Adds a response, and returns its URL; None where it does not replace an earlier one."""
        url, ids = url_key(record.url), _ids(record)
        before = self._index.responses.get(url) if url else None
        if url is None or ids & self._last_not_get or (is_not_modified and before is not None):
            return None
        self._index.responses.put(url, record.offset)
        self._last_response = ids, url, before
        self._set_latest(record)
        return url

    def _set_latest(self, record: WarcRecord) -> None:
        self._latest = max(self._latest, record.headers.get("warc-date", "")[:19])


def _ids(record: WarcRecord) -> set[str]:
    return {record.id, record.headers.get("warc-concurrent-to", "")} - {""}


# Type of record -> how many bytes of its block are read, and what takes them.
_HANDLERS: dict[str, tuple[int, Callable[[_IndexBuilder, WarcRecord, bytes], None]]] = {
    "response": (WINDOW_BYTES, _IndexBuilder.response),
    "resource": (WINDOW_BYTES, _IndexBuilder.response),
    "revisit": (0, _IndexBuilder.revisit),
    "request": (4, _IndexBuilder.request),
    "metadata": (WINDOW_BYTES, _IndexBuilder.metadata),
    "warcinfo": (_MAX_WARCINFO_BYTES, _IndexBuilder.warcinfo),
}


# --- seeds of files that do not state them ----------------------------------------------------------------------


class _SeedFinder:
    """Finds seeds: add() takes each response of a file, seeds() returns what to start from.

    A host whose robots.txt or well-known path leads to a sitemap is a site; of other hosts each sitemap is a document.
    """

    def __init__(self) -> None:
        self._tried: dict[str, str] = {}  # host -> its origin, https before http
        self._leads: dict[str, str] = {}  # the same for origins that lead to a sitemap
        self._documents: dict[str, set[str]] = {}  # host -> URLs of its sitemaps

    def add(self, url: str, head: HttpHead, body: BytesIO) -> None:
        """Takes a response with a normalised URL, and the beginning of its body."""
        site = origin(url)
        host = site.partition("://")[2]
        path = url[len(site) :]
        if path in _PATHS:
            self._tried[host] = max(site, self._tried.get(host, ""))
            if _leads_to_sitemap(path, head, body):
                self._leads[host] = max(site, self._leads.get(host, ""))
        elif host not in self._leads and _is_sitemap(head, body):
            self._documents.setdefault(host, set()).add(url)

    def seeds(self) -> tuple[Seed, ...]:
        """Returns the seeds, sorted by host, documents also by URL: the order in the file is arbitrary."""
        hosts = sorted(self._tried.keys() | self._documents)
        return tuple(seed for host in hosts for seed in self._seeds_of(host))

    def _seeds_of(self, host: str) -> list[Seed]:
        site = self._leads.get(host)
        if host in self._documents and not site:
            return [Seed(url, (origin(url),), document=url) for url in sorted(self._documents[host])]
        site = site or self._tried[host]
        return [Seed(f"{site}/", (site,))]


def _is_sitemap(head: HttpHead, body: BytesIO) -> bool:
    return 200 <= head.status <= 299 and bool(_SITEMAP.match(document_start(body, head.headers, WINDOW_BYTES)))


def _leads_to_sitemap(path: str, head: HttpHead, body: BytesIO) -> bool:
    if not 200 <= head.status <= 299:
        return 300 <= head.status <= 399
    document = document_start(body, head.headers, WINDOW_BYTES)
    if path == _ROBOTS:
        return b"sitemap" in document.lower() or body.getbuffer().nbytes >= WINDOW_BYTES
    verdict = sniff(document, final=True)
    return verdict is not None and verdict.kind in ("xml", "text")
