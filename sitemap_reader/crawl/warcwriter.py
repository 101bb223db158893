"""Writes what a Fetcher fetches to a WARC file that WarcFetcher reads, and every other reader of WARCs.

Each answer is one response record, in a gzip member of its own where the name ends in .gz; what HTTP cannot say goes to
a metadata record beside it. Never writes a request, which would hold the user's headers, and never half a record.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tempfile
import uuid
import zlib
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, cast

import orjson

from ..version import __version__
from .fetch import CHUNK_BYTES, usable_url
from .taping import ERROR_FIELD, Taping, Tee, error_text, one_line
from .warcindex import SEEDS_FIELD, key_of
from .warctail import append, check_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..errors import FetchError
    from .fetch import Fetcher, Response

_SPEC = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_FIELDS = "application/warc-fields"
_ANSWER = "application/http; msgtype=response"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
# They go by the body as it came over the wire, of which what is written is the inside, and perhaps a part.
_LEFT_OUT = frozenset({"transfer-encoding", "content-length"})
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_LEVEL = 6
_IN_MEMORY_BYTES = 1 << 20


class WarcRecorder(Taping):
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
            self._write(out, "warcinfo", _FIELDS, _lines(fields.items()), {})
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
        length = tee.file.tell() if tee.file else 0
        try:
            with self._piece() as out:
                head = _head(tee.response, length)
                number = self._write(out, "response", _ANSWER, head, {**about, **cut}, tee.file)
                if tee.error is not None:
                    self._say(out, tee.error, {**about, "WARC-Concurrent-To": number})
        finally:
            if tee.file is not None:
                tee.file.close()

    def failure(self, url: str, error: FetchError) -> None:
        """What was wrong, alone."""
        with self._piece() as out:
            self._say(out, error, _about(url))

    def _say(self, out: BinaryIO, error: FetchError, about: Mapping[str, str]) -> None:
        self._write(out, "metadata", _FIELDS, _lines([(ERROR_FIELD, error_text(error))]), about)

    @contextmanager
    def _piece(self) -> Iterator[BinaryIO]:
        """What is written to it reaches the archive as one piece, or not at all."""
        with self.opened() as piece:
            yield piece
            piece.seek(0)
            append(self._path, piece)

    def _write(
        self,
        out: BinaryIO,
        kind: str,
        content_type: str,
        start: bytes,
        about: Mapping[str, str],
        body: BinaryIO | None = None,
    ) -> str:
        """One record, whose block is `start`, then the body; its id."""
        number = f"<urn:uuid:{uuid.uuid4()}>"
        whole, inner, length = _sums(start, body)
        headers = {
            "WARC-Type": kind,
            "WARC-Record-ID": number,
            "WARC-Date": self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **about,
            **({"WARC-Payload-Digest": inner} if kind == "response" else {}),
            "WARC-Block-Digest": whole,
            "Content-Type": content_type,
            "Content-Length": str(length),
        }
        head = b"WARC/1.1\r\n" + _lines(headers.items()) + b"\r\n" + start
        packer = zlib.compressobj(_LEVEL, wbits=31) if self._is_packed else None
        for piece in chain((head,), _chunks(body), (b"\r\n\r\n",)):
            out.write(packer.compress(piece) if packer else piece)
        if packer:
            out.write(packer.flush())
        return number


def _about(url: str) -> dict[str, str]:
    return {"WARC-Target-URI": key_of(url) or url}


def _head(response: Response, length: int) -> bytes:
    """The head of an answer, as HTTP has it."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    pairs = [(name, value) for name, value in response.headers.items() if name not in _LEFT_OUT]
    if response.status not in _BODILESS:
        pairs.append(("content-length", str(length)))
    line = f"HTTP/1.1 {response.status} {phrase}\r\n".encode()
    return line + _lines((name, value) for name, value in pairs if _TOKEN.fullmatch(name)) + b"\r\n"


def _lines(pairs: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {one_line(value)}\r\n" for name, value in pairs).encode("utf-8", "replace")


def _sums(start: bytes, body: BinaryIO | None) -> tuple[str, str, int]:
    """The digests of both and of the body, and how long both are."""
    whole, inner = hashlib.sha1(start, usedforsecurity=False), hashlib.sha1(usedforsecurity=False)
    length = len(start)
    for chunk in _chunks(body):
        whole.update(chunk)
        inner.update(chunk)
        length += len(chunk)
    return _labelled(whole.digest()), _labelled(inner.digest()), length


def _labelled(digest: bytes) -> str:
    return f"sha1:{base64.b32encode(digest).decode()}"


def _chunks(body: BinaryIO | None) -> Iterator[bytes]:
    if body is not None:
        body.seek(0)
        while chunk := body.read(CHUNK_BYTES):
            yield chunk
