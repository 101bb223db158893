"""The bytes of a document in, bounded UTF-8 chunks out: layers of gzip and deflate, byte caps, charset.

Output, faults and counters are the same however the input was cut into chunks.
Nothing here raises for what the data is: what is wrong with it stands in `faults`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import attrs

from ...model.errors import DocumentChanged
from ...model.limits import PROTOCOL_MAX_BYTES, over_limit
from ...model.problems import counted
from .charset import HEAD_BYTES, UTF_16_AND_32, Charset, Transcoder, detect, transcoder
from .gzip import STEP_BYTES, DecodeFault, DeflateDecoder, GzipDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...model.limits import Limits


@attrs.frozen
class ReadPrefix:
    """The beginning of a document that was read before: how many decoded bytes, and their hash."""

    decoded_bytes: int
    sha256: str


class Decoder:
    """Decodes one document, chunk by chunk.

    What `feed` and `close` give is to be iterated to its end. `bytes_wire` counts what was fed, `bytes_decoded` what
    was left of it after gzip (before the charset).

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
        is_deflated: bool = False,
    ) -> None:
        """`charset` is the one that the HTTP Content-Type names, if any; `prefix` what the bytes must begin with.

        `is_deflated`: the HTTP Content-Encoding is deflate, which cannot be recognised by the bytes.
        """
        self.bytes_wire = 0
        self.bytes_decoded = 0
        self.faults: list[DecodeFault] = []
        last = limits.max_gzip_layers
        self._layers = [GzipDecoder(limits, self.faults, refuse=depth == last) for depth in range(last + 1)]
        if is_deflated:
            self._layers.insert(0, DeflateDecoder(limits, self.faults))
        self._max_wire_bytes = limits.max_wire_bytes
        self._is_capped = False  # at max_wire_bytes
        self._text = _Text(self.faults, charset)
        self._hash = hashlib.sha256()
        self._prefix = prefix
        self._abandoned = False

    @property
    def complete(self) -> bool:
        """False where something may be missing: cut, capped, corrupt."""
        return not any(fault.lossy for fault in self.faults)

    @property
    def stopped(self) -> bool:
        """True where nothing more will come of further input."""
        return self._abandoned or self._is_capped or any(layer.stopped for layer in self._layers)

    @property
    def sha256(self) -> str:
        """Hex digest of the decoded bytes so far: after gzip, before the charset."""
        return self._hash.hexdigest()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """UTF-8 chunks made of at most 64 KiB of decoded bytes each."""
        room = self._max_wire_bytes - self.bytes_wire
        self.bytes_wire += len(data)
        if self.stopped:
            return
        # With the byte that is too many: where it is too many for a limit of decoded bytes too, that one is named.
        yield from self._decode((data[: room + 1],), self._layers)
        if len(data) > room and not self.stopped:
            problem = over_limit("max_wire_bytes", self._max_wire_bytes, "bytes as they were sent")
            self.faults.append(DecodeFault(problem.code, problem.message, lossy=True))
            self._is_capped = True

    def abandon(self) -> None:
        """Nobody wants what is still to come: whether it would have come, and whole, is not asked any more."""
        self._abandoned = True

    def close(self) -> Iterator[bytes]:
        """The rest; what is known only now joins the faults."""
        if not self._abandoned:
            yield from self._close_layers()
        yield from self._text.close(whole=self.complete and not self._abandoned)
        if self.bytes_decoded > PROTOCOL_MAX_BYTES:
            message = f"{self.bytes_decoded:,} bytes decoded, the protocol ends at {PROTOCOL_MAX_BYTES:,}"
            self.faults.append(DecodeFault("F08", message))

    def _close_layers(self) -> Iterator[bytes]:
        # A layer that stopped makes it of no interest how those around it would have ended.
        stopped = [depth for depth, layer in enumerate(self._layers) if layer.stopped]
        first = stopped[-1] if stopped else 0
        cut = self._is_capped
        for depth, layer in enumerate(self._layers[first:], first + 1):
            yield from self._decode(layer.close(cut=cut), self._layers[depth:])
            cut = cut or layer.cut

    def _decode(self, chunks: Iterable[bytes], layers: list[GzipDecoder]) -> Iterator[bytes]:
        for layer in layers:
            chunks = layer.feed(chunks)
        for chunk in chunks:
            self._compare(chunk)
            self.bytes_decoded += len(chunk)
            self._hash.update(chunk)
            yield from self._text.feed(chunk)

    @property
    def is_shorter(self) -> bool:
        """Whether less has come so far than the prefix that was to be expected."""
        return self._prefix is not None

    @property
    def prefix(self) -> ReadPrefix:
        """What has come so far, to be expected of another try."""
        return ReadPrefix(self.bytes_decoded, self.sha256)

    def _compare(self, chunk: bytes) -> None:
        """DocumentChanged where the expected prefix ends in this chunk, and is another. Nothing of it is out yet."""
        expected = self._prefix
        if expected is None or self.bytes_decoded + len(chunk) < expected.decoded_bytes:
            return
        begun = self._hash.copy()
        begun.update(chunk[: expected.decoded_bytes - self.bytes_decoded])
        if begun.hexdigest() != expected.sha256:
            raise DocumentChanged("the document changed between two tries; what was read of it stands")
        self._prefix = None


class _Text:
    """The charset stage: waits for enough to tell the charset, then transcodes."""

    def __init__(self, faults: list[DecodeFault], http_charset: str | None) -> None:
        self._faults = faults
        self._http_charset = http_charset
        self._head = b""
        self._charset = Charset("utf-8")
        self._transcoder: Transcoder | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._transcoder is None:
            data = self._head = self._head + data
            if len(data) < HEAD_BYTES:
                return
            yield from self._start()
        else:
            yield from self._transcode(self._transcoder, data)

    def close(self, *, whole: bool) -> Iterator[bytes]:
        """The rest. Where the document is not whole, a character that was cut in two is left out."""
        if self._transcoder is None:
            yield from self._start()
        if self._transcoder is None:
            return
        rest = self._transcoder.close() if whole else b""
        if rest:
            yield rest
        self._note(self._transcoder)

    def _note(self, transcoder: Transcoder) -> None:
        """What was declared, and whether that was true, which only the end can tell; then what was invalid."""
        found = self._charset
        note = found.note
        if transcoder.utf8:
            characters = counted(transcoder.utf8, "characters")
            note = f"declared {found.label}, but it holds UTF-8: {characters} read as that"
        if note:
            self._faults.append(DecodeFault("S07", note, raw=found.label))
        if transcoder.invalid:
            units, stand_in = ("units", "U+FFFD") if found.codec in UTF_16_AND_32 else ("bytes", "windows-1252")
            message = f"invalid in {found.codec}, read as {stand_in}: {counted(transcoder.invalid, units)}"
            self._faults.append(DecodeFault("S07", message))

    def _start(self) -> Iterator[bytes]:
        found = self._charset = detect(self._head[:HEAD_BYTES], self._http_charset)
        self._transcoder = transcoder(found.codec)
        data, self._head = self._head[found.skip :], b""
        return self._transcode(self._transcoder, data)

    def _transcode(self, transcoder: Transcoder, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), STEP_BYTES):
            out = transcoder.feed(data[start : start + STEP_BYTES])
            if out:
                yield out
