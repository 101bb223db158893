"""Where in a WARC file each URL's answer stands: a file in, an Index out, by one pass over it.

In memory an answer takes some 30 bytes, whatever its URL. Damage ends the pass, and is kept: what stands before it
counts. Never keeps the file open, or reads a body for more than its beginning.
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
from ..client import usable_url
from ..replay import ERROR_FIELD
from .records import GZIP_MAGIC, Damaged, ManyInOne, Record, header_pairs, peeked, status_of, unbracketed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


# ----------------------------------------------------------------------------------------------------
# Where to start in a WARC that does not say it: the answers in it go by, seeds come out at its end.
#
# A host whose robots.txt or well-known path leads to a sitemap is a site; of the others each sitemap is a document.
# Looks at the first bytes of an answer only.


WINDOW_BYTES = 16 * 1024  # of an answer, head and all
_DOCUMENT_BYTES = 4_096
_ROBOTS = "/robots.txt"
_PATHS = frozenset({_ROBOTS, *WELL_KNOWN})
# Where none of these stands it is no sitemap; that goes for most pages, and is soon seen.
_MARKS = (b"urlset", b"sitemapindex", GZIP_MAGIC)
_PACKED = re.compile(rb"\ncontent-encoding:[ \t]*(?:br|zstd|deflate)", re.IGNORECASE)
_HEAD_BYTES = 2_048
_SITEMAP = re.compile(
    rb"""(?:\xef\xbb\xbf)? \s*
    (?: <\?.*?\?> \s* | <!--.*?--> \s* | <!DOCTYPE [^\[>]* > \s* )*
    < (?: [\w.-]+: )? (?: urlset | sitemapindex ) [\s/>]""",
    re.VERBOSE | re.DOTALL,
)


@attrs.define
class _Host:
    """The origins at which something was found that leads on, and those where it might have been."""

    leads: set[str] = attrs.field(factory=set)
    tried: set[str] = attrs.field(factory=set)
    documents: dict[str, None] = attrs.field(factory=dict)


class Hosts:
    """see() each answer, then seeds()."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def see(self, url: str, status: int | None, window: bytes, *, is_bare: bool) -> None:
        """An answer; its URL is clean. `is_bare`: the window begins with the document, not with its head."""
        start = origin(url)
        path = url[len(start) :]
        if path in _PATHS:
            host = self._host(start)
            host.tried.add(start)
            if _leads_on(path, status or 0, window, is_bare):
                host.leads.add(start)
        elif not self._leads(start) and _is_sitemap(status or 0, window, is_bare):
            self._host(start).documents[url] = None

    def seeds(self) -> tuple[Seed, ...]:
        """By host and, of documents, by URL: the order of the file is chance."""
        return tuple(seed for name in sorted(self._hosts) for seed in _seeds_of(self._hosts[name]))

    def _leads(self, start: str) -> bool:
        host = self._hosts.get(start.partition("://")[2])
        return host is not None and bool(host.leads)

    def _host(self, start: str) -> _Host:
        return self._hosts.setdefault(start.partition("://")[2], _Host())


def _seeds_of(host: _Host) -> list[Seed]:
    if host.documents and not host.leads:
        return [Seed(url, (origin(url),), document=url) for url in sorted(host.documents)]
    start = max(host.leads or host.tried)  # https, if there is a choice
    return [Seed(f"{start}/", (start,))]


def _is_sitemap(status: int, window: bytes, is_bare: bool) -> bool:
    if not 200 <= status <= 299:
        return False
    may_be = any(mark in window for mark in _MARKS) or _PACKED.search(window, 0, _HEAD_BYTES)
    return bool(may_be and _SITEMAP.match(_document(window, is_bare)))


def _leads_on(path: str, status: int, window: bytes, is_bare: bool) -> bool:
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
    """The beginning of the document, unpacked."""
    if is_bare and window[:2] != GZIP_MAGIC:
        return window[:_DOCUMENT_BYTES]
    return peeked(b"\r\n\r\n" + window if is_bare else window, _DOCUMENT_BYTES)


SEEDS_FIELD = "sitemap-reader-seeds"  # of a warcinfo record: JSON
MAX_FIRST_BYTES = 4_096
_SLOTS = 1 << 10
_NEAR = 16  # how many records may stand between an answer and its request
_GET = re.compile(rb"GET[ \t]")
_NOT_MODIFIED = 304
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_NONE = 2**64 - 1
RECOMPRESS = "`warcio recompress {path} NEW.warc.gz` (pip install warcio)"


def key_of(url: str) -> str | None:
    """What a URL is called here and by WARC-Target-URI: clean, without userinfo; None for what no page can have."""
    if is_clean(url):
        return url
    try:
        parts = usable_url(url)
    except FetchError:
        return None
    return clean_url(f"{parts['scheme']}://{parts['host']}{parts['rest']}").url


class Table:
    """Marks of texts -> a number each, the last that was put: 20 to 30 bytes a text, of which none is kept."""

    def __init__(self) -> None:
        # The key is drawn anew, so that nobody can choose URLs that collide; those that do are told apart by whoever
        # looks at the record.
        self._hash = blake2b(digest_size=8, key=secrets.token_bytes(16))
        self._count = 0
        self._marks = array("Q", [0]) * _SLOTS
        self._numbers = array("Q", [0]) * _SLOTS

    def put(self, text: str, number: int | None) -> None:
        """None takes back what was put."""
        if self._count * 5 > len(self._marks) * 4:
            self._grow()
        mark = self._mark(text)
        place = self._place(mark)
        self._count += not self._marks[place]
        self._marks[place], self._numbers[place] = mark, _NONE if number is None else number

    def get(self, text: str) -> int | None:
        """The number, if there is one."""
        place = self._place(self._mark(text))
        number = self._numbers[place] if self._marks[place] else _NONE
        return None if number == _NONE else number

    def _mark(self, text: str) -> int:
        hashed = self._hash.copy()
        hashed.update(text.encode("utf-8", "surrogatepass"))
        return int.from_bytes(hashed.digest(), "little") or 1  # 0 is a free slot

    def _place(self, mark: int) -> int:
        marks = self._marks
        slots = len(marks)
        place = mark % slots
        while marks[place] not in (0, mark):
            place = (place + 1) % slots
        return place

    def _grow(self) -> None:
        old = zip(self._marks, self._numbers, strict=True)
        size = len(self._marks) * 3 // 2
        self._marks, self._numbers = array("Q", [0]) * size, array("Q", [0]) * size
        for mark, number in old:
            if mark:
                place = self._place(mark)
                self._marks[place], self._numbers[place] = mark, number


@attrs.define
class Index:
    """What a WARC file holds. `is_ours`: recorded by this package. `damage` says where and why the rest is lost."""

    path: Path
    seeds: tuple[Seed, ...] = ()
    recorded: datetime | None = None
    is_ours: bool = False
    damage: str | None = None
    answers: Table = attrs.field(factory=Table)
    failures: Table = attrs.field(factory=Table)  # what is said of a URL beside, or in place of, its answer
    originals: Table = attrs.field(factory=Table)  # offset of a revisit -> that of what it may have found again
    _digests: Table | None = None

    def with_digest(self, digest: str) -> int | None:
        """Where the last whole answer with that payload is. The first time takes another pass over the file."""
        if self._digests is None:
            self._digests = Table()
            for record, _ in _records(self, {}):
                if record.type in ("response", "resource"):
                    self._digests.put(record.headers.get("warc-payload-digest", ""), record.offset)
        return self._digests.get(digest) if digest else None


def read_index(path: Path) -> Index:
    """One pass over the file. UsageError where it is no WARC, cannot be read, or gives nothing to start from."""
    index = Index(path)
    indexing = _Indexing(index)
    for record, window in _records(index, _WINDOWS):
        indexing.take(record, window)
    indexing.end()
    return index


def _records(index: Index, windows: Mapping[str, int]) -> Iterator[tuple[Record, bytes]]:
    """The whole records, each with the beginning of its block, as far as `windows` says for its type."""
    path = index.path
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            offset = 0
            while offset < end:
                record = Record(file, offset)
                window = record.block.peek(windows.get(record.type, 0))
                offset = record.end()
                yield record, window
            if not end:
                raise UsageError(f"{path} is empty, and no WARC")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    except ManyInOne as exc:
        what = "one gzip member holds several records, so that none can be found by itself"
        raise UsageError(f"{path}: {what}; {RECOMPRESS.format(path=path)} mends it") from exc
    except Damaged as exc:
        if exc.offset == 0:
            raise UsageError(_what_it_is(path, exc)) from exc
        index.damage = f"{path} is damaged at byte {exc.offset:,} ({exc}): what follows is lost"


def _what_it_is(path: Path, damage: Damaged) -> str:
    """Of a file whose first record is none."""
    with path.open("rb") as file:
        first = file.read(MAX_FIRST_BYTES)
    with suppress(zlib.error):
        first = zlib.decompressobj(wbits=31).decompress(first, MAX_FIRST_BYTES) or first
    if first.startswith(b"filedesc://"):
        return f"{path} is an ARC; {RECOMPRESS.format(path=path)} makes a WARC of it"
    if first.startswith(b"WARC/"):
        return f"{path} holds no whole record: {damage}"
    return f"{path} is no WARC"


class _Indexing:
    """Takes the records, one after the other."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._hosts = Hosts()
        self._seeds: dict[str, None] = {}
        self._latest = ""
        self._recent: deque[tuple[str, str, int, int | None]] = deque(maxlen=_NEAR)  # id, URL, offset, that before it
        self._refused: deque[str] = deque(maxlen=_NEAR)  # ids of answers to something else than a GET

    def take(self, record: Record, window: bytes) -> None:
        """What a record is, its type says."""
        taker = _TAKERS.get(record.type)
        if taker is not None:
            taker(self, record, window)

    def end(self) -> None:
        """What can only be said now."""
        index = self._index
        try:
            ours = tuple(map(parse_target, self._seeds))
        except UsageError as exc:
            raise UsageError(f"{index.path}: {SEEDS_FIELD}: {exc}") from exc
        index.is_ours = bool(ours) and not self._hosts
        index.seeds = (*ours, *self._hosts.seeds())
        if not index.seeds:
            raise UsageError(index.damage or f"{index.path}: {_NOTHING}")
        if _MOMENT.fullmatch(self._latest):
            with suppress(ValueError):
                index.recorded = datetime.fromisoformat(self._latest).replace(tzinfo=UTC)

    def _answer(self, record: Record, window: bytes) -> None:
        answers, url = self._index.answers, key_of(record.url)
        if url is None or self._is_refused(record):
            return
        status = 200 if record.type == "resource" else status_of(window)
        before = answers.get(url)
        if status == _NOT_MODIFIED and before is not None:
            return  # what there is still holds
        self._enter(record, url, before)
        if not self._seeds:
            self._hosts.see(url, status, window, is_bare=record.type == "resource")

    def _revisit(self, record: Record, _: bytes) -> None:
        index, url = self._index, key_of(record.url)
        if url is None or self._is_refused(record):
            return
        before = index.answers.get(url)
        if "not-modified" in record.headers.get("warc-profile", "") and before is not None:
            return
        named = record.headers.get("warc-refers-to-target-uri")
        found = before if named is None else index.answers.get(key_of(unbracketed(named)) or "")
        if found is not None:
            first = index.originals.get(str(found))
            index.originals.put(str(record.offset), found if first is None else first)
        self._enter(record, url, before)

    def _enter(self, record: Record, url: str, before: int | None) -> None:
        self._index.answers.put(url, record.offset)
        self._recent.append((record.id, url, record.offset, before))
        self._latest = max(self._latest, record.headers.get("warc-date", "")[:19])

    def _is_refused(self, record: Record) -> bool:
        ids = {record.id, record.headers.get("warc-concurrent-to", "")} - {""}
        return not ids.isdisjoint(self._refused)

    def _request(self, record: Record, window: bytes) -> None:
        """The answer to anything but a GET is none to a GET; it may stand before its request or behind it."""
        if _GET.match(window) or not window:
            return
        ids = {record.id, record.headers.get("warc-concurrent-to", "")} - {""}
        self._refused += ids
        for answer, url, offset, before in self._recent:
            if answer in ids and self._index.answers.get(url) == offset:
                self._index.answers.put(url, before)

    def _metadata(self, record: Record, window: bytes) -> None:
        url = key_of(record.url)
        if url is not None and ERROR_FIELD in fields_of(window):
            self._index.failures.put(url, record.offset)
            self._latest = max(self._latest, record.headers.get("warc-date", "")[:19])

    def _warcinfo(self, _: Record, window: bytes) -> None:
        with suppress(ValueError):
            seeds = orjson.loads(fields_of(window).get(SEEDS_FIELD, "[]"))
            if isinstance(seeds, list):
                self._seeds |= dict.fromkeys(each for each in seeds if isinstance(each, str))


def fields_of(block: bytes) -> dict[str, str]:
    """The fields of an application/warc-fields block, names in lower case."""
    return {name.lower(): value for name, value in header_pairs(b"\n" + block)}


_NOTHING = "nothing to start from: it holds no robots.txt, no sitemap, and no seeds of a recording of ours"
_TAKERS: dict[str, Callable[[_Indexing, Record, bytes], None]] = {
    "response": _Indexing._answer,
    "resource": _Indexing._answer,
    "revisit": _Indexing._revisit,
    "request": _Indexing._request,
    "metadata": _Indexing._metadata,
    "warcinfo": _Indexing._warcinfo,
}
# How much of a block is looked at.
_WINDOWS = {
    "response": WINDOW_BYTES,
    "resource": WINDOW_BYTES,
    "request": 8,
    "metadata": WINDOW_BYTES,
    "warcinfo": 16 * 1024 * 1024,
}
