"""Reads and writes recordings in folders: ReplayFetcher replaces the network, FolderRecorder copies what is fetched.

Layout: `<scheme>/<host%3Aport>/<path?query, escaped>`; a `.headers` file beside a body, unless it is a 200 without
headers; and `site.toml`, with the seeds, at the top. Never reads or writes outside the folder, for any URL and any
symbolic link in the folder, and reads regular files only.

StaticFilesFetcher reads files as a static host would serve them, before a site is deployed. A path that ends in a slash
is its index.html; `/about` is the file about, or about.html, or a redirect to `/about/`; a query changes nothing; what
is not there is a 404. No response has a Content-Type, as which one the host will send is not known. Other hosts and
what lies above `base` are a FetchError: nothing is requested from the network. Only regular files of the folder are
read, never what a symbolic link outside of it leads to.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import re
import secrets
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote, unquote

import attrs

from ..model.errors import FetchError, UsageError
from ..model.limits import CHUNK_BYTES
from ..model.options import one_of_types
from ..model.problems import CATALOGUE, count_of
from ..parser.normalise.urls import is_robots_txt, is_web_url
from ..serialize.byte_streams import compression_of
from ..serialize.jsonl import stamp
from .client import Response, http_url_parts

if TYPE_CHECKING:
    from .client import Fetcher


SEEDS_FILE = "site.toml"
HEADERS_SUFFIX = ".headers"
_MAX_NAME_CHARACTERS = 200  # file systems take 255 bytes; the suffixes need some
_MAX_PATH_CHARACTERS = 1_000
_MAX_HEADERS_BYTES = 1 << 20
_DEFAULT_PORT = {"http": ":80", "https": ":443"}
ERROR_FIELD = "replay-error"
_REMEDY_FIELD = "replay-remedy"
# How often the time in site.toml is updated while recording.
_RECORDED_EVERY = timedelta(minutes=1)
RECORDED_HEADERS = ("content-type", "content-encoding", "location", "etag", "last-modified", "retry-after")


def replay_path(folder: Path, url: str) -> Path:
    """The path of the body of `url`; different URLs have different paths. FetchError U02 if it is not HTTP.

    >>> from pathlib import Path
    >>> replay_path(Path("site"), "https://shop.example/de/sitemap.php?page=2").as_posix()
    'site/https/shop.example/de/sitemap.php%3Fpage=2'
    >>> replay_path(Path("site"), "http://shop.example:8080/").as_posix()
    'site/http/shop.example%3A8080/%2F'
    """
    origin, names = _path_names(folder, url)
    if sum(map(len, names)) + len(names) > _MAX_PATH_CHARACTERS:
        return alternative_path(folder, url)
    return origin.joinpath(*names)


def alternative_path(folder: Path, url: str) -> Path:
    """Where replay_path() is too long, or has a file as a folder, as for both `/sitemap` and `/sitemap/1.xml`."""
    origin, names = _path_names(folder, url)
    return origin / f"%-{_digest('/'.join(names))}%-{names[-1][:80]}"


def _path_names(folder: Path, url: str) -> tuple[Path, list[str]]:
    parts = http_url_parts(url)
    scheme = parts["scheme"].lower()
    host = parts["host"].lower().removesuffix(_DEFAULT_PORT[scheme])
    path, mark, query = parts["rest"].partition("?")
    *folders, last = path.removeprefix("/").split("/")
    names = [_path_name(name) for name in folders]
    names.append(_path_name(last, mark + query))
    return folder / scheme / _safe_name(_escaped(host)), names


# Names are unambiguous: characters that a URL may hold but a file name should not become %XX; an escape of the URL that
# would equal one of those, and a bare %, have their % as %25; characters that no URL may hold become %%XX. All other
# escapes stay as they are: /a%20b is a%20b.
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()+,;=@[]")
_ESCAPED = frozenset("/?:*")
_TOKEN = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_ESCAPES_TO_MASK = _ESCAPED | frozenset("%.")
_DOTS = re.compile(r"\.(?=headers$)|^\.+$")
# Windows has no names with a colon, ignores dots at the end, and has devices that no extension makes a file.
_ON_WINDOWS = sys.platform == "win32"
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)


def _path_name(segment: str, query: str = "") -> str:
    # An empty segment is named by the slash behind it.
    return _safe_name((_escaped(segment) or "%2F") + _escaped(query))


def _safe_name(name: str) -> str:
    """Returns a name that is not "." or "..", does not end like a `.headers` file, and is not too long."""
    name = _DOTS.sub(lambda dots: "%2E" * len(dots[0]), name)
    if _ON_WINDOWS:
        name = (stem := name.rstrip(".")) + "%2E" * (len(name) - len(stem))
        name = f"%%{ord(name[0]):02X}{name[1:]}" if _DEVICE.match(name) else name
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    return f"{name[: _MAX_NAME_CHARACTERS - 40]}%-{_digest(name)}"


def _escaped(text: str) -> str:
    return "".join(token if token in _SAFE else _escaped_token(token) for token in _TOKEN.findall(text))


def _escaped_token(token: str) -> str:
    if len(token) == 3:
        masked = chr(int(token[1:], 16)) in _ESCAPES_TO_MASK
        return f"%25{token[1:]}" if masked else token
    if token == "%":  # noqa: S105  no password
        return "%25"
    lead = "%" if token in _ESCAPED else "%%"
    return "".join(f"{lead}{byte:02X}" for byte in token.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_inside(path: Path, folder: Path) -> bool:
    """Whether no symbolic link leads from a path below a folder out of the folder, which may be a link itself."""
    return path.resolve().is_relative_to(folder.resolve())


def check_inside(path: Path, folder: Path) -> Path:
    """The path; FetchError for one that is_inside() refuses."""
    if not is_inside(path, folder):
        message = f"{path} is a symbolic link, or below one, that leads out of {folder}: not read"
        raise FetchError(message, transient=False, remedy="try with a copy in the folder")
    return path


def headers_path(body: Path) -> Path:
    return body.with_name(body.name + HEADERS_SUFFIX)


def error_fields(error: FetchError) -> dict[str, str]:
    """Returns the fields of an error: `code message`, and its remedy unless it has none."""
    fields = {ERROR_FIELD: f"{error.code} {error.message}"}
    return fields if error.remedy is None else {**fields, _REMEDY_FIELD: error.remedy}


def pop_error(fields: dict[str, str]) -> FetchError:
    """Removes the fields of error_fields(); returns the error, not transient, and without a code an F04."""
    text, remedy = fields.pop(ERROR_FIELD, ""), fields.pop(_REMEDY_FIELD, None)
    code, _, message = text.partition(" ")
    if code not in CATALOGUE:
        code, message = "F04", text
    return FetchError(message, code=code, transient=False, remedy=remedy)


def one_line(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text)


def is_recording(folder: Path) -> bool:
    return (folder / SEEDS_FILE).is_file() and is_inside(folder / SEEDS_FILE, folder)


def read_recording(folder: Path) -> tuple[tuple[str, ...], datetime | None]:
    """The seeds in the folder's site.toml, and when it was recorded, if that is known; UsageError."""
    import tomllib  # here: few targets are folders

    path = folder / SEEDS_FILE
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    if not is_recording(folder):  # a pipe would be waited for
        raise UsageError.of("{folder} was not written with {record=} (no {file})", folder=folder, file=SEEDS_FILE)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as exc:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise UsageError(f"{path} cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    seeds = table.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(isinstance(seed, str) for seed in seeds):
        raise UsageError(f"{path}: no seeds", remedy='write seeds = ["https://shop.example/"]')
    recorded = table.get("recorded")
    if recorded is not None and not (isinstance(recorded, datetime) and recorded.tzinfo):
        raise UsageError(f"{path}: recorded is no time with a zone", remedy="write recorded = 2026-10-31T12:00:00Z")
    return tuple(seeds), recorded


class ReplayFetcher:
    """A Fetcher that reads responses from a folder; a URL that is not in it is a 404."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the recorded response; the request `headers` are ignored."""
        body = self._body_path(url)
        if body is None:
            yield Response(404, {}, AsyncChunks(), url)
            return
        check_inside(body, self._folder)
        check_inside(headers_path(body), self._folder)
        status, fields, error = _read_head(headers_path(body))
        has_body = body.is_file()
        if error and status is None and not has_body:
            raise error
        with open_file(body) if has_body else nullcontext() as file:
            chunks = AsyncChunks(file_chunks(file, error))
            yield Response(200 if status is None else status, fields, chunks, url)

    def has(self, url: str) -> bool:
        """Whether the response for a URL was recorded."""
        return self._body_path(url) is not None

    def has_headers(self, url: str) -> bool:
        """Whether headers were recorded for a URL: files that were made by hand have none."""
        body = self._body_path(url)
        return body is not None and headers_path(body).is_file()

    def _body_path(self, url: str) -> Path | None:
        paths = (replay_path(self._folder, url), alternative_path(self._folder, url))
        return next((body for body in paths if body.is_file() or headers_path(body).is_file()), None)


def file_chunks(file: BinaryIO | None, error: FetchError | None) -> Iterator[bytes]:
    """Yields a file in chunks, then raises the error that ended the recording, if there was one."""
    while file and (chunk := file.read(CHUNK_BYTES)):
        yield chunk
    if error:
        raise error


class AsyncChunks(AsyncIterator[bytes]):
    """An asynchronous iterator over a synchronous one; unlike an asynchronous generator, it need not be closed."""

    def __init__(self, chunks: Iterable[bytes] = ()) -> None:
        self._chunks = iter(chunks)

    async def __anext__(self) -> bytes:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration


def open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as exc:
        raise FetchError(f"cannot read {path}: {exc.strerror or exc}", transient=False, remedy="") from exc


def _read_head(path: Path) -> tuple[int | None, dict[str, str], FetchError | None]:
    fields: dict[str, str] = {}
    text = ""
    if path.is_file():
        with open_file(path) as file:
            text = file.read(_MAX_HEADERS_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise _unreadable(path, number, line)
        fields[name.strip().lower()] = value.strip()
    status, error = fields.pop("status", None), pop_error(fields) if ERROR_FIELD in fields else None
    if status is not None and not re.fullmatch(r"[0-9]{1,3}", status):
        raise _unreadable(path, 1, f"status: {status}")
    return None if status is None else int(status), fields, error


def _unreadable(path: Path, line: int, text: str) -> FetchError:
    message = f"{path}:{line}: {text[:80]!r} is no header line (name: value)"
    return FetchError(message, transient=False, remedy="")


@attrs.define(eq=False)
class RecordedBody(AsyncIterator[bytes]):
    """Iterates over a response's body and copies it to a file, which is opened with the first byte."""

    response: Response
    _open_file: Callable[[], BinaryIO]
    file: BinaryIO | None = None
    is_complete: bool = False  # it was read to its end
    broken_by: FetchError | None = None  # None: it was only not read further
    _bytes: int = 0

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self.response.chunks)
        except StopAsyncIteration:
            self.is_complete = True
            raise
        except FetchError as error:
            self.broken_by = error
            raise
        except Exception as error:  # which the other fetcher may convert when it leaves the response
            self.broken_by = FetchError(f"{type(error).__name__}: {error}")
            raise
        if self.file is None:
            self.file = self._open_file()
        self.file.write(chunk)
        self._bytes += len(chunk)
        return chunk

    @property
    def error(self) -> FetchError | None:
        """The error that a replay raises behind the last byte, or None."""
        if self.broken_by is None and not self.is_complete and 200 <= self.response.status < 300:
            # Only for 2xx: the bodies of other responses are rarely read.
            return FetchError(f"the recording ends here: no more was read after {self._bytes:,} bytes")
        return self.broken_by


@attrs.define(eq=False, repr=False)
class RecordingFetcher(ABC):
    """A Fetcher that passes on unchanged what another one fetches, and writes a copy; the base of both recorders.

    The body goes to a temporary file while it is read; write_response() or write_failure() is called at the end.
    OSError where the copy cannot be written.
    """

    _fetcher: Fetcher
    _path: Path  # of the folder or the file
    _seeds: Sequence[str] = ()  # none: the root of the first requested URL
    _clock: Callable[[], datetime] = attrs.field(default=lambda: datetime.now(UTC), kw_only=True)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        parts = http_url_parts(url)
        self.write_start(self._seeds or (f"{parts['scheme']}://{parts['host']}/",))
        body: RecordedBody | None = None
        try:
            async with self._fetcher.fetch(url, headers) as response:
                body = RecordedBody(response, self.open_body_file)
                try:
                    yield attrs.evolve(response, chunks=body)
                finally:
                    self.write_response(url, body)
        except FetchError as error:
            if body is None:
                self.write_failure(url, error)
            raise

    @abstractmethod
    def write_start(self, seeds: Sequence[str]) -> None:
        """Writes what the recording has to hold before the first response; called before each request."""

    @abstractmethod
    def open_body_file(self) -> BinaryIO:
        """Opens a temporary file for a body."""

    @abstractmethod
    def write_response(self, url: str, body: RecordedBody) -> None:
        """Writes a response; its body is in `body.file`, which is open, or None for an empty body."""

    @abstractmethod
    def write_failure(self, url: str, error: FetchError) -> None:
        """Writes that there was no response."""


@attrs.define(eq=False, repr=False)
class FolderRecorder(RecordingFetcher):
    """Writes to a folder that ReplayFetcher reads; of several responses for one URL the last stays."""

    _written: datetime | None = attrs.field(default=None, init=False)

    def write_start(self, seeds: Sequence[str]) -> None:
        now = self._clock()
        if self._written and now - self._written < _RECORDED_EVERY:
            return
        self._path.mkdir(parents=True, exist_ok=True)
        self._check_inside(self._path / SEEDS_FILE)
        if (self._path / SEEDS_FILE).exists():  # of an earlier target or run
            seeds = tuple(dict.fromkeys((*read_recording(self._path)[0], *seeds)))
        # A JSON string is a TOML basic string, unless surrogates are escaped in it.
        lines = "".join(f"  {json.dumps(seed, ensure_ascii=False)},\n" for seed in seeds)
        recorded = stamp(now.replace(microsecond=0))
        (self._path / SEEDS_FILE).write_text(f"seeds = [\n{lines}]\nrecorded = {recorded}\n", "utf-8")
        self._written = now

    def open_body_file(self) -> BinaryIO:
        """Opens a file in the folder, which write_response() renames."""
        return (self._path / f".part-{secrets.token_hex(8)}").open("wb")

    def write_response(self, url: str, body: RecordedBody) -> None:
        temporary = None
        if body.file is not None:
            body.file.close()
            temporary = Path(body.file.name)
        _store(self._free_path(url), temporary, _head_lines(body.response, body.error))

    def write_failure(self, url: str, error: FetchError) -> None:
        """Writes a `.headers` file with the error alone."""
        _store(self._free_path(url), None, _head_lines(None, error))

    def _free_path(self, url: str) -> Path:
        """Returns the path for a response, and removes an earlier one from the path that is not used."""
        path, other = replay_path(self._path, url), alternative_path(self._path, url)
        for each in (path, headers_path(path), other, headers_path(other)):
            self._check_inside(each)
        if path.is_dir() or any(parent.is_file() for parent in path.parents):
            path, other = other, path
        for old in (other, headers_path(other)):
            if old != path and old.is_file():
                old.unlink()
        return path

    def _check_inside(self, path: Path) -> None:
        if not is_inside(path, self._path):
            message = f"a symbolic link leads out of {self._path}: not written"
            raise OSError(errno.EPERM, message, str(path))


def _head_lines(response: Response | None, error: FetchError | None) -> list[str]:
    fields: dict[str, str] = {}
    if response is not None:
        fields |= {"status": str(response.status)} if response.status != 200 or error else {}
        fields |= {name: response.headers[name] for name in RECORDED_HEADERS if name in response.headers}
    fields |= error_fields(error) if error else {}
    return [f"{name}: {one_line(value)}" for name, value in fields.items()]


def _store(path: Path, body: Path | None, head_lines: list[str]) -> None:
    """Moves both files to their paths, and removes a file of an earlier response that this one does not have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if head_lines:
        temporary = path.with_name(f".part-{secrets.token_hex(8)}")
        temporary.write_text("".join(f"{line}\n" for line in head_lines), "utf-8", "replace")
        temporary.replace(headers_path(path))
    else:
        headers_path(path).unlink(missing_ok=True)
    if body:
        body.replace(path)
    elif head_lines:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(b"")


_INDEX = "index.html"
_SITEMAP_ENDINGS = (".xml", ".xml.gz")
_ROOT = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex)[\s>]")
_HEAD_BYTES = 4_096
_CHUNK_BYTES = 65_536


class StaticFilesFetcher:
    """A Fetcher that serves a folder at `base`, a clean http or https URL that ends in a slash.

    `document` is the URL of one file of the folder if that is another than its name gives.
    """

    def __init__(self, folder: str | Path, base: str, *, document: tuple[str, Path] | None = None) -> None:
        self.folder = Path(folder)
        self.base = base
        self._document = document
        self._names: dict[Path, frozenset[str]] = {}

    def file_of(self, url: str) -> Path | None:
        """The file that is served for a URL, relative to the working directory where it is below that; or None."""
        try:
            found = self._find(url)
        except FetchError:
            return None
        if not isinstance(found, Path):
            return None
        path, here = Path(os.path.abspath(found)), Path.cwd()
        return path.relative_to(here) if path.is_relative_to(here) else path

    def serves(self, url: str) -> bool:
        """Whether a URL is of the site of the folder: a file of it, or a 404."""
        return url.startswith(self.base)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        found = self._find(url)
        if isinstance(found, str):
            yield Response(301, {"location": found}, AsyncChunks(), url)
        elif found is None:
            yield Response(404, {}, AsyncChunks(), url)
        else:
            with open_file(found) as file:
                fields = {"content-length": str(os.fstat(file.fileno()).st_size)}
                yield Response(200, fields, AsyncChunks(file_chunks(file, None)), url)

    def sitemaps(self) -> Iterator[str]:
        """The URLs of all files of the folder that are sitemaps or indexes by name and content, in order."""
        for folder, names, files in os.walk(self.folder):
            names.sort()
            for name in sorted(files):
                path = Path(folder, name)
                if name.endswith(_SITEMAP_ENDINGS) and path.is_file() and _begins_as_sitemap(path):
                    yield f"{self.base}{quote(path.relative_to(self.folder).as_posix())}"

    def copy_of(self, url: str) -> str | None:
        """The URL of the other of two files with the same content, X and X.gz; None if there is no such file."""
        plain = url.removesuffix(".gz")
        packed = f"{plain}.gz"
        unpacked_file, packed_file = self.file_of(plain), self.file_of(packed)
        if unpacked_file is None or packed_file is None or not _is_compressed(packed_file, unpacked_file):
            return None
        return plain if url == packed else packed

    def _find(self, url: str) -> Path | str | None:
        """What is served; None for a 404. FetchError for what is not of the folder's site."""
        path, mark, query = url.partition("?")
        if self._document and path == self._document[0]:
            return check_inside(self._document[1], self.folder)
        if f"{path}/" == self.base:
            return self.base + mark + query
        if not self.serves(path):
            if is_robots_txt(path):  # of a host, or a level, whose rules and lines are not known
                return None
            message = f"it is not in {self.folder}, which is read as {self.base}: no request is made"
            raise FetchError(message, transient=False, remedy="try that site on its own", is_sent=False)
        *folders, name = [unquote(each, errors="surrogateescape") for each in path[len(self.base) :].split("/")]
        place = self.folder
        for each in folders:
            if not self._has(place, each):
                return None
            place /= each
        for each in (name, f"{name}.html") if name else (_INDEX,):
            if self._has(place, each) and (place / each).is_file():
                return check_inside(place / each, self.folder)
        has_index = bool(name) and self._has(place, name) and self._has(place / name, _INDEX)
        return f"{path}/{mark}{query}" if has_index else None

    def _has(self, place: Path, name: str) -> bool:
        """Whether a folder lists exactly this name: the file systems of hosts distinguish case. Never `..`."""
        names = self._names.get(place)
        if names is None:
            try:
                names = frozenset(os.listdir(place))
            except OSError:  # it is a file, or may not be read
                names = frozenset()
            self._names[place] = names
        return name in names


def _is_compressed(packed: Path, plain: Path) -> bool:
    """Whether the one file is the other, compressed."""
    try:
        with gzip.open(packed) as one, plain.open("rb") as other:
            while (chunk := one.read(_CHUNK_BYTES)) == other.read(_CHUNK_BYTES):
                if not chunk:
                    return True
    except (OSError, EOFError, zlib.error):
        pass
    return False


def _begins_as_sitemap(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if compression_of(head) == "gzip":
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _HEAD_BYTES)
    except (OSError, zlib.error):
        return False
    return _ROOT.search(head) is not None


Page = str | bytes | Iterable[bytes | Exception]
DictPages = Mapping[str, Page | tuple[int, Mapping[str, str], Page] | Exception]


class DictFetcher:
    """A Fetcher of responses in memory, for tests of programs that read sites.

    `pages` maps whole URLs to bodies, to (status, headers, body), or to an exception to raise: a FetchError is a
    failure of the network. A body is text, bytes or chunks of bytes; an exception among the chunks is raised there.
    Every other URL is a 404. `requests` has the requested URLs in order.
    """

    def __init__(self, pages: DictPages) -> None:
        one_of_types("a dict of URLs", Mapping)("pages", pages)
        for url, page in pages.items():
            _check_page(url, page)
        self.pages = pages
        self.requests: list[str] = []

    def __repr__(self) -> str:
        return f"<DictFetcher of {count_of(len(self.pages), 'URL')}, {count_of(len(self.requests), 'request')} so far>"

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        self.requests.append(url)
        page = self.pages.get(url, (404, {}, b""))
        if isinstance(page, Exception):
            raise page
        status, fields, body = page if isinstance(page, tuple) else (200, {}, page)
        chunks = (body.encode(),) if isinstance(body, str) else (body,) if isinstance(body, bytes) else body
        yield Response(status, fields, AsyncChunks(_raised(chunks)), url)


def _check_page(url: object, page: object) -> None:
    """UsageError for what would be a 404 or an internal error once it is requested."""
    if not (isinstance(url, str) and is_web_url(url)):
        raise UsageError(
            keyword="a key of pages", value=url, allowed="a whole URL, such as https://example.com/robots.txt"
        )
    body = page
    if isinstance(page, tuple) and len(page) == 3 and isinstance(page[0], int) and isinstance(page[1], Mapping):
        body = page[2]
    if isinstance(body, tuple) or not isinstance(body, str | bytes | Iterable | Exception):
        allowed = "a body, (status, headers, body) or an exception; a body is text, bytes or a list of chunks"
        raise UsageError(keyword=f"the page of {url}", value=page, allowed=allowed)


def _raised(chunks: Iterable[bytes | Exception]) -> Iterator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


class OneDocumentFetcher:
    """A Fetcher of one document that is in memory; its host has nothing else."""

    def __init__(self, url: str, body: bytes) -> None:
        self.url = url
        self._body = body

    def serves(self, url: str) -> bool:
        return url == self.url

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        if url == self.url:
            yield Response(200, {}, AsyncChunks((self._body,)), url)
        elif is_robots_txt(url):
            yield Response(404, {}, AsyncChunks(), url)
        else:
            message = f"not read: only {self.url} was given, and no request is made"
            raise FetchError(message, transient=False, remedy="try the folder that has it")
