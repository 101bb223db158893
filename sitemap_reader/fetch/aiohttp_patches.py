"""Subclasses aiohttp's response handler, to read bytes in small pieces and to work around two faults of its parser.

Bytes go in as they arrive; response heads and bodies come out, each as far as it is valid. Never sends a request, never
decides about a retry. Imports aiohttp, so it is imported where a connector is built.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.client_proto import ResponseHandler

from ..model.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD_END = b"\r\n\r\n"


class InvalidBodyError(aiohttp.ClientPayloadError):
    """A body that is not valid HTTP from some byte on, for example a chunk whose size is not a number."""


class PatchedResponseHandler(ResponseHandler):
    """A response handler that delivers a valid head before an invalid body, and that fails a body which is invalid.

    aiohttp's parser drops all that it parsed from one data_received() call when it meets an error in it: so it is fed
    each head separately from what follows, such as a body that is longer than its Content-Length. And it does not pass
    an error in a chunk to the reader of the body, which would wait forever.
    """

    _last_bytes = b""  # the last bytes of earlier calls: the empty line that ends a head may have begun there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Limits what asyncio reads at once to a chunk: what has arrived of each document waits in memory."""
        with suppress(AttributeError):  # another loop's transport
            transport.max_size = CHUNK_BYTES  # type: ignore[attr-defined]  # in asyncio of all versions so far
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parses what arrived from the socket, and passes an error to the body that is being read."""
        for part in self._split_heads(data):
            super().data_received(part)
        self._last_bytes = (self._last_bytes + data[-len(_HEAD_END) :])[1 - len(_HEAD_END) :]
        error, body = self.exception(), self._payload
        if error is not None and body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(InvalidBodyError(str(getattr(error, "message", error))), error)

    def _split_heads(self, data: bytes) -> Iterator[bytes]:
        """Yields each head alone, then the rest; looks at the parser's state between two parts."""
        start = 0
        while self._awaits_head and (end := self._head_end(data, start)) is not None:
            yield data[start:end]
            start = end
        if start < len(data) or not data:
            yield data[start:]

    def _head_end(self, data: bytes, start: int) -> int | None:
        """Returns the offset behind the next empty line, or None."""
        tail = b"" if start else self._last_bytes
        begun = (tail + data[: len(_HEAD_END) - 1]).find(_HEAD_END)
        end = data.find(_HEAD_END, start) if begun < 0 else begun - len(tail)
        return None if begun < 0 and end < 0 else end + len(_HEAD_END)

    @property
    def _awaits_head(self) -> bool:
        body = self._payload
        return not self.upgraded and self.exception() is None and (body is None or body.is_eof())


def install_response_handler(connector: aiohttp.BaseConnector) -> None:
    """Makes the connector read with PatchedResponseHandler; needs a running event loop."""
    factory = partial(PatchedResponseHandler, loop=asyncio.get_running_loop())
    connector._factory = factory  # type: ignore[assignment]  # partial is invariant


def read_buffered(body: aiohttp.StreamReader) -> bytes:
    """Returns what had arrived of a body that has failed: aiohttp's own read() raises first."""
    body.set_exception(None)  # type: ignore[arg-type]  # the caller has caught it
    return body.read_nowait()
