"""A body that was sent with Content-Encoding: deflate: bytes in, the unpacked bytes out in pieces, faults beside them.

RFC 9110 8.4.1.2 means the zlib format (RFC 1950); many servers send raw deflate (RFC 1951), and browsers read both.
Raw deflate has no magic, so only the header says so; a body that does not unpack passes as it is.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from .gzip import Gunzip, Inflater

if TYPE_CHECKING:
    from collections.abc import Iterator

# How many bytes are unpacked on trial: no text that was declared deflate by mistake comes that far.
HEAD_BYTES = 64
_METHOD = 8  # RFC 1950 2.2: CM, in the low four bits
_MULTIPLE = 31  # RFC 1950 2.2: FCHECK makes the first two bytes one of it


class Inflate(Gunzip):
    """Reads one layer of deflate, with zlib's header and checksum or without; faults and limits are those of gzip."""

    _NAME = "deflate"
    _HAS_MEMBERS = False  # and zlib itself compares the checksum, where there is one

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest, and of a short body all."""
        held, self._held = self._held, b""
        if held and not (self.opened or self.stopped):
            self._open(held)
            yield from self._pass(held) if self._plain else self._unpack(held)
        yield from super().close(cut=cut)

    def _recognise(self, data: bytes) -> bytes:
        data, self._held = self._held + data, b""
        if len(data) < HEAD_BYTES:
            self._held = data
            return b""
        self._open(data)
        return data

    def _open(self, head: bytes) -> None:
        is_zlib = head[0] & 15 == _METHOD and int.from_bytes(head[:2]) % _MULTIPLE == 0
        window_bits = zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS
        try:
            zlib.decompressobj(window_bits).decompress(head[:HEAD_BYTES])
        except zlib.error:
            self._plain = True
            return
        self.opened, self._read = True, None
        self._inflater = Inflater(window_bits)

    @property
    def _part(self) -> str:
        return "deflate data"
