"""Names to addresses: what the operating system's resolver is asked, each question in a thread of its own.

The threads of the event loop are few, and a lookup cannot be called off: name servers that keep silent about one
host would hold up the lookups of all others, and whoever wants to leave.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Names:
    """The two methods of an event loop that aiohttp's ThreadedResolver calls."""

    async def getaddrinfo(
        self, host: str, port: int, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> Any:
        """As socket.getaddrinfo()."""
        return await _answer(partial(socket.getaddrinfo, host, port, family, type, proto, flags))

    async def getnameinfo(self, address: tuple[Any, ...], flags: int = 0) -> Any:
        """As socket.getnameinfo()."""
        return await _answer(partial(socket.getnameinfo, address, flags))


async def _answer(question: Callable[[], Any]) -> Any:
    """What the question comes to; its thread is left alone where nobody waits for it any more."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def ask() -> None:
        try:
            result, failure = question(), None
        except Exception as exc:  # it is raised over there
            result, failure = None, exc
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, result, failure)

    def tell(result: Any, failure: Exception | None) -> None:
        if answer.done():
            return
        if failure is None:
            answer.set_result(result)
        else:
            answer.set_exception(failure)

    threading.Thread(target=ask, name="sitemap-reader-name", daemon=True).start()
    return await answer
