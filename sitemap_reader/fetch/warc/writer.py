"""Writes what a Fetcher fetches to a WARC file that WarcFetcher reads, and every other reader of WARCs.

Each answer is one response record, in a gzip member of its own where the name ends in .gz; what HTTP cannot say goes to
a metadata record beside it. warcio makes the records. Never writes a request, which would hold the user's headers, and
never half a record.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import orjson

from ...frontier.seeds import HEADER_NAME
from ...model.errors import UsageError, install_hint
from ...version import __version__
from ..client import usable_url
from ..replay import ERROR_FIELD, RecordingFetcher, Tee, error_text, one_line
from .index import SEEDS_FIELD, key_of
from .records import GZIP_MAGIC, Damaged, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ...model.errors import FetchError
    from ..client import Fetcher, Response


# ----------------------------------------------------------------------------------------------------
# The end of a WARC file that is to go on: is it whole, so that what is appended can be found; and the appending.
#
# A path in; UsageError where a record would be lost behind what is there. Looks at the last record only.


_WINDOW_BYTES = 1 << 20
# A record of up to so many bytes is written by one call.
_AT_ONCE_BYTES = 16 * 1024 * 1024


def check_tail(path: Path, *, is_packed: bool) -> None:
    """UsageError for a file that is no WARC, ends in half a record, or is not packed as its name says."""
    with suppress(FileNotFoundError, NotADirectoryError), path.open("rb") as file, _locked(file.fileno()):
        size = os.fstat(file.fileno()).st_size
        if size and (file.read(2) == GZIP_MAGIC) != is_packed:
            raise UsageError(f"{path} {'is not' if is_packed else 'is'} gzipped: name another file to record to")
        if size:
            _check_last(file, path, size, GZIP_MAGIC + b"\x08" if is_packed else b"WARC/")


def _check_last(file: BinaryIO, path: Path, size: int, mark: bytes) -> None:
    for offset in _places_of(mark, file, size):
        try:
            record = Record(file, offset)
        except Damaged:
            continue  # it only looks like one
        try:
            end = record.end()
        except Damaged:
            end = offset
        if end == size:
            return
        raise UsageError(
            f"{path} ends in half a record: what is recorded behind it could not be read; "
            f"cut it off (truncate -s {end} {path}), or name another file to record to"
        )
    raise UsageError(f"{path} is no WARC: name another file to record to")


def _places_of(mark: bytes, file: BinaryIO, size: int) -> Iterator[int]:
    """Where the mark stands, from the last place to the first."""
    end = size
    while end > 0:
        start = max(0, end - _WINDOW_BYTES)
        file.seek(start)
        window = file.read(end - start + len(mark) - 1)
        place = len(window)
        while (place := window.rfind(mark, 0, place + len(mark) - 1)) >= 0:
            yield start + place
        end = start


def append(path: Path, piece: BinaryIO) -> None:
    """Puts what `piece` holds behind what is there, all of it or nothing; others who append wait meanwhile."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        with open(number, "wb", buffering=0) as archive, _locked(number):
            before = os.fstat(number).st_size
            try:
                while chunk := piece.read(_AT_ONCE_BYTES):
                    _write_all(number, chunk)
            except BaseException:
                archive.truncate(before)
                raise
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror or str(exc), str(path)) from exc


def _write_all(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


@contextmanager
def _locked(number: int) -> Iterator[None]:
    """Of two streams, and of two processes, one at a time."""
    try:
        import fcntl
    except ImportError:  # no Unix
        yield
        return
    fcntl.flock(number, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(number, fcntl.LOCK_UN)


_SPEC = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_VERSION = "WARC/1.1"
# They go by the body as it came over the wire, of which what is written is the inside, and perhaps a part.
_LEFT_OUT = frozenset({"transfer-encoding", "content-length"})
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_IN_MEMORY_BYTES = 1 << 20


class WarcRecorder(RecordingFetcher):
    """A Fetcher that passes on what another one fetches, and writes it to a WARC file; one that is there goes on.

    `seeds` go to a warcinfo record; without any, the root of the first URL that is asked for. UsageError, at once, for
    a file that is no WARC, or ends in half a record. Raises OSError where it cannot be written, and then leaves it as
    it was before that answer.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        path: Path,
        seeds: Sequence[str] = (),
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(fetcher)
        self._path = path
        self._is_packed = path.name.lower().endswith(".gz")
        self._seeds = tuple(seeds)
        self._clock = clock
        self._has_begun = False
        _needs_warcio()
        check_tail(path, is_packed=self._is_packed)

    def begin(self, url: str) -> None:
        """The seeds, once."""
        parts = usable_url(url)
        if self._has_begun:
            return
        seeds = self._seeds or (f"{parts['scheme']}://{parts['host']}/",)
        fields = {
            "software": f"sitemap-reader/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": _SPEC,
            SEEDS_FIELD: orjson.dumps(seeds).decode(),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._piece() as out:
            self._write(out, "warcinfo", BytesIO(_lines(fields)), {})
        self._has_begun = True

    def opened(self) -> BinaryIO:
        """A file beside the archive that has no name: it is gone with whoever is killed."""
        folder = str(self._path.parent)
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=folder)  # noqa: SIM115 - the Tee's
        return cast("BinaryIO", file)

    def answer(self, url: str, tee: Tee) -> None:
        """A response record, and what was wrong with it."""
        about = _about(url)
        cut = {} if tee.is_whole else {"WARC-Truncated": "disconnect" if tee.is_broken else "unspecified"}
        body = tee.file or BytesIO()
        try:
            with self._piece() as out:
                number = self._write(out, "response", body, {**about, **cut}, tee.response)
                if tee.error is not None:
                    self._say(out, tee.error, {**about, "WARC-Concurrent-To": number})
        finally:
            body.close()

    def failure(self, url: str, error: FetchError) -> None:
        """What was wrong, alone."""
        with self._piece() as out:
            self._say(out, error, _about(url))

    def _say(self, out: BinaryIO, error: FetchError, about: Mapping[str, str]) -> None:
        self._write(out, "metadata", BytesIO(_lines({ERROR_FIELD: error_text(error)})), about)

    @contextmanager
    def _piece(self) -> Iterator[BinaryIO]:
        """What is written to it reaches the archive as one piece, or not at all."""
        with self.opened() as piece:
            yield piece
            piece.seek(0)
            append(self._path, piece)

    def _write(
        self, out: BinaryIO, kind: str, payload: BinaryIO, about: Mapping[str, str], response: Response | None = None
    ) -> str:
        """One record of all that `payload` holds, behind the head of a response; its id."""
        from warcio.warcwriter import WARCWriter

        length = payload.seek(0, 2)
        payload.seek(0)
        written = self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        writer = WARCWriter(out, gzip=self._is_packed, warc_version=_VERSION)
        record = writer.create_warc_record(
            about.get("WARC-Target-URI", ""),
            kind,
            payload=payload,
            length=length,
            warc_headers_dict={"WARC-Date": written, **about},
            http_headers=response and _head(response, length),
        )
        writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))


def _needs_warcio() -> None:
    try:
        import warcio  # noqa: F401 - told before anything is fetched
    except ImportError as exc:
        raise UsageError(f"to record to a WARC needs warcio: {install_hint('warc')}") from exc


def _about(url: str) -> dict[str, str]:
    return {"WARC-Target-URI": key_of(url) or url}


def _head(response: Response, length: int) -> Any:
    """The head of an answer, as HTTP has it and warcio takes it."""
    from warcio.statusandheaders import StatusAndHeaders

    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    pairs = [(name, value) for name, value in response.headers.items() if name not in _LEFT_OUT]
    if response.status not in _BODILESS:
        pairs.append(("content-length", str(length)))
    usable = [(name, _text(value)) for name, value in pairs if HEADER_NAME.fullmatch(name)]
    head = StatusAndHeaders(f"{response.status} {phrase}", usable, protocol="HTTP/1.1")
    head.headers_buff = head.to_bytes()
    head.compute_headers_buffer = lambda _: None  # it would percent-encode what is not ASCII
    return head


def _lines(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {_text(value)}\r\n" for name, value in fields.items()).encode()


def _text(value: str) -> str:
    """In one line, of what UTF-8 can hold."""
    return one_line(value).encode("utf-8", "replace").decode()
