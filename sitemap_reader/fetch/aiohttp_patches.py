"""aiohttp's reading of a connection, a little at a time, and with two faults of it set straight.

Bytes go in as they arrive; heads and bodies come out, each as far as it is sound. Never asks, never decides whether
to try again. Imports aiohttp, so it is imported where a connector is built.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.client_proto import ResponseHandler

from .client import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD_END = b"\r\n\r\n"


class BodyFault(aiohttp.ClientPayloadError):
    """A body that is no HTTP from some byte on: a chunk whose size is no number, for one."""


class Handler(ResponseHandler):
    """A head reaches whoever waits for it though what came with it is unsound; a body that is unsound ends.

    aiohttp's parser drops all that it made of a piece of data when something is wrong at its end: so a head is given
    to it without what follows, such as a body that is longer than its Content-Length. And where a chunk is wrong, it
    tells nobody who is reading the body already: they would wait for ever.
    """

    _last = b""  # of what came before: the empty line that ends a head may have begun there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Has asyncio read no more than a chunk at once: what has arrived of each document waits in memory."""
        with suppress(AttributeError):  # another loop's transport
            transport.max_size = CHUNK_BYTES  # type: ignore[attr-defined]  # in asyncio of all versions so far
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """What arrived from the socket, in pieces."""
        for piece in self._pieces(data):
            super().data_received(piece)
        self._last = (self._last + data[-len(_HEAD_END) :])[1 - len(_HEAD_END) :]
        fault, body = self.exception(), self._payload
        if fault is not None and body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(BodyFault(str(getattr(fault, "message", fault))), fault)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        """Each head alone, and then the rest; decided as the pieces are taken in."""
        start = 0
        while self._awaits_head and (end := self._head_end(data, start)) is not None:
            yield data[start:end]
            start = end
        if start < len(data) or not data:
            yield data[start:]

    def _head_end(self, data: bytes, start: int) -> int | None:
        """Behind the next empty line."""
        last = b"" if start else self._last
        begun = (last + data[: len(_HEAD_END) - 1]).find(_HEAD_END)
        end = data.find(_HEAD_END, start) if begun < 0 else begun - len(last)
        return None if begun < 0 and end < 0 else end + len(_HEAD_END)

    @property
    def _awaits_head(self) -> bool:
        body = self._payload
        return not self.upgraded and self.exception() is None and (body is None or body.is_eof())


def mend(connector: aiohttp.BaseConnector) -> None:
    """Has the connector read with Handler; needs a running event loop."""
    connector._factory = partial(Handler, loop=asyncio.get_running_loop())  # type: ignore[assignment]  # partial is invariant


def unread(body: aiohttp.StreamReader) -> bytes:
    """What had arrived of a body that has failed: aiohttp raises first, and would keep it."""
    body.set_exception(None)  # type: ignore[arg-type]  # forgets the failure, which the caller has by now
    return body.read_nowait()
