"""A folder in place of the network, and the recorder that writes one.

A URL goes in, the Response that was recorded for it comes out. Layout: `<scheme>/<host[:port]>/<path?query, quoted>`,
a `.headers` file beside a body where there is more to say than "200", and `site.toml`, with the seeds, at the top.
Never reads or writes outside the folder, whatever the URL says.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ..model.errors import FetchError, UsageError
from ..model.problems import CATALOGUE
from ..serialize.jsonl import stamp
from .client import CHUNK_BYTES, Response, usable_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from .client import Fetcher


# ----------------------------------------------------------------------------------------------------
# A Fetcher that passes on what another one fetches, and keeps a copy: what folders and WARCs have in common.
#
# A Response goes by, its body to a temporary file on the way; answer() or failure() is told at the end, and says where
# it goes. Never changes what it passes on.


ERROR_FIELD = "replay-error"


def error_text(error: FetchError) -> str:
    """`[code] message`, in one line."""
    text = str(error)
    is_plain = error.code == "F04" and text.partition(" ")[0] not in CATALOGUE
    return one_line(text if is_plain else f"{error.code} {text}")


def error_of(text: str) -> FetchError:
    """The same back; another try would only read the same file, so it is never transient."""
    code, _, rest = text.partition(" ")
    if code in CATALOGUE:
        return FetchError(rest, code=code, transient=False)
    return FetchError(text, transient=False)


def one_line(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text)


class Tee:
    """A body on its way to the reader, copied to a file of ours, which is opened with the first byte."""

    def __init__(self, response: Response, opened: Callable[[], BinaryIO]) -> None:
        self.response = response
        self.file: BinaryIO | None = None
        self._opened = opened
        self._bytes = 0
        self._ended = False
        self._error: FetchError | None = None

    def __aiter__(self) -> Tee:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self.response.chunks)
        except StopAsyncIteration:
            self._ended = True
            raise
        except FetchError as error:
            self._error = error
            raise
        if self.file is None:
            self.file = self._opened()
        self.file.write(chunk)
        self._bytes += len(chunk)
        return chunk

    @property
    def is_whole(self) -> bool:
        """Whether the body was read to its end."""
        return self._ended

    @property
    def is_broken(self) -> bool:
        """Whether it broke off by itself."""
        return self._error is not None

    @property
    def error(self) -> FetchError | None:
        """What a replay is to say behind the last byte."""
        if self._error is None and not self._ended and 200 <= self.response.status < 300:
            # The bodies of other answers are rarely read; of these, what follows is unknown.
            return FetchError(f"the recording ends here: no more was read after {self._bytes:,} bytes")
        return self._error


class RecordingFetcher(ABC):
    """The Fetcher. Raises OSError where the copy cannot be written."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """The other fetcher's answer; its body is written as it is read, and takes its place at the end."""
        self.begin(url)
        tee: Tee | None = None
        try:
            async with self._fetcher.fetch(url, headers) as response:
                tee = Tee(response, self.opened)
                try:
                    yield attrs.evolve(response, chunks=tee)
                finally:
                    self.answer(url, tee)
        except FetchError as error:
            if tee is None:
                self.failure(url, error)
            raise

    @abstractmethod
    def begin(self, url: str) -> None:
        """Before a URL is asked for."""

    @abstractmethod
    def opened(self) -> BinaryIO:
        """A temporary file for a body."""

    @abstractmethod
    def answer(self, url: str, tee: Tee) -> None:
        """What came; its body is in `tee.file`, which is open, unless there was no byte."""

    @abstractmethod
    def failure(self, url: str, error: FetchError) -> None:
        """No answer at all."""


# ----------------------------------------------------------------------------------------------------
# Where a URL's answer stands in a replay folder.
#
# A folder and a URL go in, a path comes out. Different URLs have different paths, and none leads out of the folder.
# Never touches the disk.


HEADERS_SUFFIX = ".headers"
_MAX_NAME_CHARACTERS = 200  # file systems take 255 bytes; the suffixes need some
_MAX_PATH_CHARACTERS = 1_000
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def replay_path(folder: Path, url: str) -> Path:
    """Where the body of `url` stands; different URLs have different places. FetchError U02 if it is not HTTP.

    >>> from pathlib import Path
    >>> replay_path(Path("site"), "https://shop.example/de/sitemap.php?page=2").as_posix()
    'site/https/shop.example/de/sitemap.php%3Fpage=2'
    >>> replay_path(Path("site"), "http://shop.example:8080/").as_posix()
    'site/http/shop.example:8080/%2F'
    """
    origin, names = _names(folder, url)
    if sum(map(len, names)) + len(names) > _MAX_PATH_CHARACTERS:
        return detour(folder, url)
    return origin.joinpath(*names)


def detour(folder: Path, url: str) -> Path:
    """The place for a URL whose own path is too long, or runs through a file.

    A site may have both `/sitemap` and `/sitemap/1.xml`, and a file can't be a folder too.
    """
    origin, names = _names(folder, url)
    return origin / f"%-{_digest('/'.join(names))}%-{names[-1][:80]}"


def _names(folder: Path, url: str) -> tuple[Path, list[str]]:
    parts = usable_url(url)
    scheme = parts["scheme"].lower()
    host = parts["host"].lower().removesuffix(_DEFAULT_PORT[scheme])
    path, mark, query = parts["rest"].partition("?")
    *folders, last = path.removeprefix("/").split("/")
    names = [_name(each) for each in folders]
    names.append(_name(last, mark + query))
    return folder / scheme / _masked(_quoted(host, _HOST_SAFE)), names


# A name is unambiguous because each of the four forms starts differently: characters that a URL may hold but a
# file name should not are %XX; an escape that would read like one of those, and a bare %, have their % as %25;
# characters that no URL may hold are %%XX. All other escapes stay as they are: /a%20b is a%20b.
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()+,;=@[]")
_HOST_SAFE = _SAFE | frozenset(":")
_QUOTED = frozenset("/?:*")
_TOKEN = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_ESCAPES_TO_MASK = _QUOTED | frozenset("%.")
_DOTS = re.compile(r"\.(?=headers$)|^\.+$")


def _name(segment: str, query: str = "") -> str:
    # An empty segment has no name of its own: it is the slash behind it.
    return _masked((_quoted(segment, _SAFE) or "%2F") + _quoted(query, _SAFE))


def _masked(name: str) -> str:
    """A name that is no folder of its own ("..", "."), no `.headers` of another file, and not too long."""
    name = _DOTS.sub(lambda dots: "%2E" * len(dots[0]), name)
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    return f"{name[: _MAX_NAME_CHARACTERS - 40]}%-{_digest(name)}"


def _quoted(text: str, safe: frozenset[str]) -> str:
    return "".join(token if token in safe else _quoted_token(token) for token in _TOKEN.findall(text))


def _quoted_token(token: str) -> str:
    if len(token) == 3:
        masked = chr(int(token[1:], 16)) in _ESCAPES_TO_MASK
        return f"%25{token[1:]}" if masked else token
    if token == "%":  # noqa: S105  no password
        return "%25"
    lead = "%" if token in _QUOTED else "%%"
    return "".join(f"{lead}{byte:02X}" for byte in token.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def headers_path(body: Path) -> Path:
    return body.with_name(body.name + HEADERS_SUFFIX)


SEEDS_FILE = "site.toml"
# The time of a recording is that of its last answer, as far as this.
_SOON = timedelta(minutes=1)
RECORDED_HEADERS = (
    "content-type",
    "content-encoding",
    "location",
    "etag",
    "last-modified",
    "retry-after",
)


# --- reading ----------------------------------------------------------------------------------------------------


def holds_seeds(folder: Path) -> bool:
    """Whether it is a replay."""
    return (folder / SEEDS_FILE).is_file()


@attrs.frozen
class Recording:
    """What a folder's site.toml says: where to start, and when it was recorded, if that is known."""

    seeds: tuple[str, ...]
    recorded: datetime | None = None


def read_recording(folder: Path) -> Recording:
    """What the folder's site.toml says. UsageError where there are no seeds."""
    import tomllib  # here: most targets are no folders

    path = folder / SEEDS_FILE
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{folder} was not written with record= (no {SEEDS_FILE})") from None
    except (OSError, ValueError) as exc:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise UsageError(f"{path} cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    seeds = table.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(isinstance(each, str) for each in seeds):
        raise UsageError(f'{path}: no seeds; write seeds = ["https://shop.example/"]')
    recorded = table.get("recorded")
    if recorded is not None and not (isinstance(recorded, datetime) and recorded.tzinfo):
        raise UsageError(f"{path}: recorded is no time with a zone; write recorded = 2026-10-31T12:00:00Z")
    return Recording(tuple(seeds), recorded)


@attrs.frozen
class _Head:
    """What a `.headers` file says."""

    status: int | None = None
    headers: dict[str, str] = attrs.field(factory=dict)
    error: FetchError | None = None


class ReplayFetcher:
    """A Fetcher over a folder. What is not there is a 404."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """The recorded answer; request `headers` make no difference."""
        body = replay_path(self._folder, url)
        if not _is_recorded(body):
            body = detour(self._folder, url)
        if not _is_recorded(body):
            yield Response(404, {}, _FileChunks(None), url)
            return
        head = _read_head(headers_path(body))
        has_body = body.is_file()
        if head.error and head.status is None and not has_body:
            raise head.error
        chunks = _FileChunks(_opened(body) if has_body else None, head.error)
        try:
            yield Response(200 if head.status is None else head.status, head.headers, chunks, url)
        finally:
            chunks.close()


def _is_recorded(body: Path) -> bool:
    return body.is_file() or headers_path(body).is_file()


class _FileChunks:
    """A file in chunks, then the error that ended the recording, if one did."""

    def __init__(self, file: BinaryIO | None, error: FetchError | None = None) -> None:
        self._file = file
        self._error = error

    def __aiter__(self) -> _FileChunks:
        return self

    async def __anext__(self) -> bytes:
        chunk = self._file.read(CHUNK_BYTES) if self._file else b""
        if chunk:
            return chunk
        if self._error:
            raise self._error
        raise StopAsyncIteration

    def close(self) -> None:
        if self._file:
            self._file.close()


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as exc:
        raise FetchError(f"cannot read {path}: {exc.strerror or exc}", transient=False) from exc


def _read_head(path: Path) -> _Head:
    fields: dict[str, str] = {}
    text = ""
    if path.is_file():
        with _opened(path) as file:
            text = file.read().decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise _unreadable(path, number, line)
        fields[name.strip().lower()] = value.strip()
    status, error = fields.pop("status", None), fields.pop(ERROR_FIELD, None)
    if status is not None and not re.fullmatch(r"[0-9]{1,3}", status):
        raise _unreadable(path, 1, f"status: {status}")
    return _Head(None if status is None else int(status), fields, None if error is None else error_of(error))


def _unreadable(path: Path, line: int, text: str) -> FetchError:
    return FetchError(f"{path}:{line}: {text[:80]!r} is no header line (name: value)", transient=False)


# --- writing ----------------------------------------------------------------------------------------------------


class Recorder(RecordingFetcher):
    """A Fetcher that passes on what another one fetches, and writes it to a folder that ReplayFetcher reads.

    `seeds` go to site.toml, with the time; without any, the root of the first URL that is asked for. Of several answers
    for one URL the last stays. Raises OSError where the folder cannot be written.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        folder: Path,
        seeds: Sequence[str] = (),
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(fetcher)
        self._folder = folder
        self._seeds = tuple(seeds)
        self._written: datetime | None = None
        self._clock = clock

    def begin(self, url: str) -> None:
        """Seeds and time."""
        parts = usable_url(url)
        now = self._clock()
        if self._written and now - self._written < _SOON:
            return
        seeds = self._seeds or (f"{parts['scheme']}://{parts['host']}/",)
        self._folder.mkdir(parents=True, exist_ok=True)
        if (self._folder / SEEDS_FILE).exists():  # several targets, one recording; and a long one goes on
            seeds = tuple(dict.fromkeys((*read_recording(self._folder).seeds, *seeds)))
        # A JSON string is a TOML basic string, unless surrogates are escaped in it.
        lines = "".join(f"  {json.dumps(each, ensure_ascii=False)},\n" for each in seeds)
        recorded = stamp(now.replace(microsecond=0))
        (self._folder / SEEDS_FILE).write_text(f"seeds = [\n{lines}]\nrecorded = {recorded}\n", "utf-8")
        self._written = now

    def opened(self) -> BinaryIO:
        """A file of the folder, which is renamed at the end."""
        return (self._folder / f".part-{secrets.token_hex(8)}").open("wb")

    def answer(self, url: str, tee: Tee) -> None:
        """Body and headers take their places."""
        body = None
        if tee.file is not None:
            tee.file.close()
            body = Path(tee.file.name)
        _store(self._place(url), body, _head_lines(tee.response, tee.error))

    def failure(self, url: str, error: FetchError) -> None:
        """Nothing but the error."""
        _store(self._place(url), None, [_error_line(error)])

    def _place(self, url: str) -> Path:
        """Where the answer goes; what an earlier one left in the other place is removed."""
        path, other = replay_path(self._folder, url), detour(self._folder, url)
        if path.is_dir() or any(each.is_file() for each in path.parents):
            path, other = other, path
        for old in (other, headers_path(other)):
            if old != path and old.is_file():
                old.unlink()
        return path


def _head_lines(response: Response, error: FetchError | None) -> list[str]:
    status = [f"status: {response.status}"] if response.status != 200 or error else []
    headers = [_line(name, response.headers[name]) for name in RECORDED_HEADERS if name in response.headers]
    return [*status, *headers, *([_error_line(error)] if error else [])]


def _line(name: str, value: str) -> str:
    return f"{name}: {one_line(value)}"


def _error_line(error: FetchError) -> str:
    return _line(ERROR_FIELD, error_text(error))


def _store(place: Path, body: Path | None, head_lines: list[str]) -> None:
    """Puts both files in place, and removes what an earlier answer left and this one lacks."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if head_lines:
        temporary = place.with_name(f".part-{secrets.token_hex(8)}")
        temporary.write_text("".join(f"{line}\n" for line in head_lines), "utf-8", "replace")
        temporary.replace(headers_path(place))
    else:
        headers_path(place).unlink(missing_ok=True)
    if body:
        body.replace(place)
    elif head_lines:
        place.unlink(missing_ok=True)
    else:
        place.write_bytes(b"")
