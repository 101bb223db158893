"""A folder in place of the network, and the recorder that writes one.

A URL goes in, the Response that was recorded for it comes out. Layout: `<scheme>/<host[:port]>/<path?query, quoted>`,
a `.headers` file beside a body where there is more to say than "200", and `site.toml`, with the seeds, at the top.
Never reads or writes outside the folder, whatever the URL says.
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ..model.errors import FetchError, UsageError
from ..serialize.jsonl import stamp
from .client import CHUNK_BYTES, Response, usable_url
from .places import detour, headers_path
from .places import replay_path as replay_path
from .taping import ERROR_FIELD, Taping, Tee, error_of, error_text, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from .client import Fetcher

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


class Recorder(Taping):
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
