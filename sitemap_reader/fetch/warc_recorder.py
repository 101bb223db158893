"""Records what a Fetcher fetches in a WARC file, for WarcFetcher and any other reader of WARC files.

Each response becomes one response record, in a gzip member of its own where the file's name ends in .gz; errors of the
connection go to a metadata record. warcio formats the records. Requests are never written, as they hold the user's
headers, and a record is never left incomplete.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager, suppress
from datetime import UTC
from http import HTTPStatus
from io import BytesIO
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import attrs
import orjson

from ..model.errors import UsageError
from ..version import __version__
from .replay import RecordedBody, RecordingFetcher, error_fields, one_line
from .request_headers import HEADER_NAME
from .warc_fetcher import GZIP_MAGIC, SEEDS_FIELD, DamagedRecord, WarcRecord, check_warcio, url_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ..model.errors import FetchError
    from .client import Response

_SPEC = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_VERSION = "WARC/1.1"
# Headers about the body as it was transferred: what is written has no Transfer-Encoding, and may be truncated.
_OMITTED = frozenset({"transfer-encoding", "content-length"})
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_IN_MEMORY_BYTES = 1 << 20
# Records of up to so many bytes are written by one call.
_AT_ONCE_BYTES = 16 * 1024 * 1024


@attrs.define(eq=False, repr=False)
class WarcRecorder(RecordingFetcher):
    """Appends to a WARC file; the seeds go to a warcinfo record.

    UsageError when created, for a file that is no WARC, or ends in half a record. After an OSError it is as it was
    before that response.
    """

    _is_gzipped: bool = attrs.field(init=False)
    _has_begun: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._is_gzipped = self._path.name.lower().endswith(".gz")
        check_warcio("to record to a WARC")
        check_tail(self._path, is_gzipped=self._is_gzipped)

    def write_start(self, seeds: Sequence[str]) -> None:
        if self._has_begun:
            return
        fields = {
            "software": f"sitemap-reader/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": _SPEC,
            SEEDS_FIELD: orjson.dumps(seeds).decode(),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._appended_record() as out:
            self._write(out, "warcinfo", BytesIO(_warc_fields(fields)), {})
        self._has_begun = True

    def open_body_file(self) -> BinaryIO:
        """Opens a file without a name beside the archive: it is deleted even if the process is killed."""
        folder = str(self._path.parent)
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=folder)  # noqa: SIM115 - write_response() closes it
        return cast("BinaryIO", file)

    def write_response(self, url: str, body: RecordedBody) -> None:
        """Appends a response record and, after an error, a metadata record."""
        headers = _url_header(url)
        truncated = {} if body.is_complete else {"WARC-Truncated": "disconnect" if body.broken_by else "unspecified"}
        payload = body.file or BytesIO()
        try:
            with self._appended_record() as out:
                record_id = self._write(out, "response", payload, {**headers, **truncated}, body.response)
                if body.error is not None:
                    self._write_error(out, body.error, {**headers, "WARC-Concurrent-To": record_id})
        finally:
            payload.close()

    def write_failure(self, url: str, error: FetchError) -> None:
        """Appends a metadata record with the error."""
        with self._appended_record() as out:
            self._write_error(out, error, _url_header(url))

    def _write_error(self, out: BinaryIO, error: FetchError, headers: Mapping[str, str]) -> None:
        self._write(out, "metadata", BytesIO(_warc_fields(error_fields(error))), headers)

    @contextmanager
    def _appended_record(self) -> Iterator[BinaryIO]:
        """Opens a temporary file, and appends its content to the archive as a whole."""
        with self.open_body_file() as record_file:
            yield record_file
            record_file.seek(0)
            append(self._path, record_file)

    def _write(
        self, out: BinaryIO, kind: str, payload: BinaryIO, headers: Mapping[str, str], response: Response | None = None
    ) -> str:
        """Writes one record of the whole `payload`, behind the head of a response; returns its id."""
        from warcio.warcwriter import WARCWriter

        length = payload.seek(0, 2)
        payload.seek(0)
        written = self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        writer = WARCWriter(out, gzip=self._is_gzipped, warc_version=_VERSION)
        record = writer.create_warc_record(
            headers.get("WARC-Target-URI", ""),
            kind,
            payload=payload,
            length=length,
            warc_headers_dict={"WARC-Date": written, **headers},
            http_headers=response and _head(response, length),
        )
        writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))


def _url_header(url: str) -> dict[str, str]:
    return {"WARC-Target-URI": url_key(url) or url}


def _head(response: Response, length: int) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    pairs = [(name, value) for name, value in response.headers.items() if name not in _OMITTED]
    if response.status not in _BODILESS:
        pairs.append(("content-length", str(length)))
    usable = [(name, _header_value(value)) for name, value in pairs if HEADER_NAME.fullmatch(name)]
    head = StatusAndHeaders(f"{response.status} {phrase}", usable, protocol="HTTP/1.1")
    head.headers_buff = head.to_bytes()
    head.compute_headers_buffer = lambda _: None  # it would percent-encode characters that are not ASCII
    return head


def _warc_fields(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {_header_value(value)}\r\n" for name, value in fields.items()).encode()


def _header_value(value: str) -> str:
    """Returns a value in one line, without lone surrogates."""
    return one_line(value).encode("utf-8", "replace").decode()


def check_tail(path: Path, *, is_gzipped: bool) -> None:
    """Raises UsageError for a file that is no WARC, ends in half a record, or is not compressed as its name states."""
    with suppress(FileNotFoundError, NotADirectoryError), path.open("rb") as file, _locked(file.fileno()):
        size = os.fstat(file.fileno()).st_size
        if size and (file.read(2) == GZIP_MAGIC) != is_gzipped:
            raise UsageError(f"{path} {'is not' if is_gzipped else 'is'} gzipped: name another file to record to")
        end = _end_of_records(file, GZIP_MAGIC + b"\x08" if is_gzipped else b"WARC/") if size else 0
        if end is None:
            raise UsageError(f"{path} is no WARC: name another file to record to")
        if end != size:
            raise UsageError(
                f"{path} ends in half a record: what is recorded behind it could not be read",
                remedy=f"cut it off (truncate -s {end} {path}), or name another file to record to",
            )


def _end_of_records(file: BinaryIO, mark: bytes) -> int | None:
    """Returns where the last record ends, or begins if it is incomplete; None where there is no record."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        offset = len(data)
        while (offset := data.rfind(mark, 0, offset)) >= 0:
            with suppress(DamagedRecord):  # those bytes are part of a body
                record = WarcRecord(file, offset)
                try:
                    return record.end()
                except DamagedRecord:
                    return offset
    return None


def append(path: Path, record_file: BinaryIO) -> None:
    """Appends the content of `record_file`, all of it or nothing, while the archive is locked."""
    try:
        with path.open("ab", buffering=0) as archive, _locked(archive.fileno()):
            before = os.fstat(archive.fileno()).st_size
            try:
                while chunk := record_file.read(_AT_ONCE_BYTES):
                    while chunk:
                        chunk = chunk[os.write(archive.fileno(), chunk) :]
            except BaseException:
                archive.truncate(before)
                raise
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror or str(exc), str(path)) from exc


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
