"""Decodes a document: bytes in, UTF-8 chunks of bounded size out. Decompresses, applies byte limits, transcodes.

Output, faults and counters do not depend on how the input was cut. Bad data never raises: `faults` lists what is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs

from ...model.errors import DocumentChanged
from ...model.limits import PROTOCOL_MAX_BYTES, over_limit
from ...model.problems import count_of
from .charset import HEAD_BYTES, REPLACED_CODECS, Charset, CountedUtf8, DeclarationTest, detect, transcoder
from .codings import INVALID_BYTES, STEP_BYTES, DecodeFault, Decompressor

if TYPE_CHECKING:
    from ...model.limits import Limits


@attrs.frozen
class ReadPrefix:
    """The part of a document that an earlier attempt read: its number of decoded bytes, and their hash."""

    decoded_bytes: int
    sha256: str


class Decoder:
    """Decodes one document, chunk by chunk.

    The iterators of `feed` and `close` must be exhausted. `bytes_wire` counts the input, `bytes_decoded` the bytes
    after decompression and before transcoding.

    >>> from sitemap_reader.model.limits import Limits
    >>> decoder = Decoder(Limits(), "iso-8859-1")
    >>> b"".join([*decoder.feed(b"caf\\xe9"), *decoder.close()]).decode()
    'café'
    >>> [fault.code for fault in decoder.faults], decoder.complete
    (['S07'], True)
    """

    def __init__(
        self,
        limits: Limits,
        charset: str | None = None,
        prefix: ReadPrefix | None = None,
        *,
        content_encoding: str = "",
    ) -> None:
        """`charset` is that of the HTTP Content-Type; `prefix`: what the decoded bytes must begin with."""
        self.bytes_wire = 0
        self.bytes_decoded = 0
        self.faults: list[DecodeFault] = []
        self._decompressor = Decompressor(limits, content_encoding, self.faults)
        self._max_wire_bytes = limits.max_wire_bytes
        self._is_over_wire_limit = False
        self._text = _CharsetStage(self.faults, charset)
        self._hash = hashlib.sha256()
        self._prefix = prefix
        self._abandoned = False

    @property
    def complete(self) -> bool:
        """False if data may be missing: truncated, over a limit, or corrupt."""
        return not any(fault.lossy for fault in self.faults)

    @property
    def stopped(self) -> bool:
        """True if further input gives no more output."""
        return self._abandoned or self._is_over_wire_limit or self._decompressor.stopped

    @property
    def unread_encoding(self) -> str | None:
        """What cannot be undone of the Content-Encoding; None if all was."""
        return self._decompressor.unread_encoding

    @property
    def gzip_layers(self) -> int:
        """How many layers of gzip were undone."""
        return self._decompressor.gzip_layers

    @property
    def sha256(self) -> str:
        """Hex digest of the decoded bytes so far: after gzip, before the charset."""
        return self._hash.hexdigest()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """UTF-8 chunks made of at most 64 KiB of decoded bytes each."""
        left = self._max_wire_bytes - self.bytes_wire
        self.bytes_wire += len(data)
        if self.stopped:
            return
        # One byte over: if that also exceeds the limit on decoded bytes, that limit is the one reported.
        yield from self._decode(self._decompressor.feed(data[: left + 1]))
        if len(data) > left and not self.stopped:
            problem = over_limit("max_wire_bytes", self._max_wire_bytes, "byte as they were sent")
            self.faults.append(DecodeFault(problem.code, problem.message, lossy=True))
            self._is_over_wire_limit = True

    def abandon(self) -> None:
        """Ends decoding because the rest is not needed: the end of the data or a limit behind it is not reported."""
        self._abandoned = True
        self.faults[:] = [fault for fault in self.faults if fault.code != "S16"]

    def close(self) -> Iterator[bytes]:
        """The rest of the output; adds the faults that only the end reveals."""
        if not self._abandoned:
            yield from self._decode(self._decompressor.close(cut=self._is_over_wire_limit))
        yield from self._text.close(whole=self.complete and not self._abandoned)
        if self.bytes_decoded > PROTOCOL_MAX_BYTES:
            message = f"{self.bytes_decoded:,} bytes decoded, the protocol allows {PROTOCOL_MAX_BYTES:,}"
            self.faults.append(DecodeFault("F08", message))

    def _decode(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if self._prefix is not None:
                self._compare(chunk, self._prefix)
            self.bytes_decoded += len(chunk)
            self._hash.update(chunk)
            yield from self._text.feed(chunk)

    @property
    def is_shorter(self) -> bool:
        """Whether fewer bytes came so far than the expected prefix has."""
        return self._prefix is not None

    @property
    def prefix(self) -> ReadPrefix:
        """What was decoded so far, for a decoder that starts over."""
        return ReadPrefix(self.bytes_decoded, self.sha256)

    def _compare(self, chunk: bytes, expected: ReadPrefix) -> None:
        """Raises DocumentChanged, before any output of this chunk, if the prefix ends in it and differs."""
        if self.bytes_decoded + len(chunk) < expected.decoded_bytes:
            return
        prefix_hash = self._hash.copy()
        prefix_hash.update(chunk[: expected.decoded_bytes - self.bytes_decoded])
        if prefix_hash.hexdigest() != expected.sha256:
            raise DocumentChanged("the document changed between two tries; the records read before are kept")
        self._prefix = None


class _CharsetStage:
    """Collects HEAD_BYTES to detect the charset, tests whether a declared one is true, and transcodes to UTF-8."""

    def __init__(self, faults: list[DecodeFault], http_charset: str | None) -> None:
        self._faults = faults
        self._http_charset = http_charset
        self._head: bytes | None = b""  # None after the charset is detected
        self._charset = Charset("utf-8")
        self._test = DeclarationTest("utf-8")
        self._transcoder = transcoder("utf-8")

    def feed(self, data: bytes) -> Iterable[bytes]:
        if self._head is not None:
            self._head += data
            if len(self._head) < HEAD_BYTES:
                return ()
            data = self._start(self._head)
        return self._transcode(self._test.feed(data))

    def close(self, *, whole: bool) -> Iterator[bytes]:
        """The rest. Unless the document is `whole`, a character that was cut in two is left out."""
        if self._head is not None:
            text = self._start(self._head)
            yield from self._transcode(self._test.feed(text))
        yield from self._transcode(self._test.close())
        rest = self._transcoder.close() if whole else b""
        if rest:
            yield rest
        note = self._charset.note
        if self._transcoder.utf8:
            characters = count_of(self._transcoder.utf8, "character")
            note = f"declared {self._charset.label}, but it holds UTF-8: {characters} read as UTF-8"
        if note:
            self._faults.append(DecodeFault("S07", note, raw=self._charset.label))
        self._add_invalid()

    def _start(self, head: bytes) -> bytes:
        found = self._charset = detect(head[:HEAD_BYTES], self._http_charset)
        self._test, self._transcoder = DeclarationTest(found.codec), transcoder(found.codec)
        self._head = None
        return head[found.skip :]

    def _transcode(self, pieces: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
        for data, is_utf8 in pieces:
            if is_utf8 and not isinstance(self._transcoder, CountedUtf8):
                if cut := self._transcoder.close():
                    yield cut
                self._add_invalid()
                self._charset = attrs.evolve(self._charset, codec="utf-8")
                self._transcoder = CountedUtf8()
            for start in range(0, len(data), STEP_BYTES):
                out = self._transcoder.feed(data[start : start + STEP_BYTES])
                if out:
                    yield out

    def _add_invalid(self) -> None:
        codec, invalid = self._charset.codec, self._transcoder.invalid
        if invalid:
            unit, stand_in = REPLACED_CODECS.get(codec, ("byte", "windows-1252"))
            message = f"invalid in {codec}, read as {stand_in}: {count_of(invalid, unit)}"
            self._faults.append(DecodeFault("S07", message, kind=INVALID_BYTES))
