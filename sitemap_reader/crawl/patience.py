"""How long the network may take over one document: chunks in, the same chunks out, or a FetchError.

Only waiting for the network counts, never the time that whoever asks for the next chunk takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import FetchError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from ..limits import Limits


async def timed(
    chunks: AsyncIterator[bytes], limits: Limits, clock: Callable[[], float], count: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    """The chunks, while the network keeps the minimum rate and the time for a document lasts.

    `count` hears of the length of each. FetchError where patience ends.
    """
    seconds, wire_bytes = 0.0, 0
    iterator = aiter(chunks)
    while True:
        asked = clock()
        try:
            chunk = await anext(iterator)
        except StopAsyncIteration:
            return
        seconds += clock() - asked
        wire_bytes += len(chunk)
        count(len(chunk))
        if seconds > limits.document_seconds:
            raise FetchError(f"not done after {limits.document_seconds:,.0f} s; raise document_seconds to go on")
        if seconds > limits.min_rate_after_seconds and wire_bytes < seconds * limits.min_bytes_per_second:
            raise FetchError(f"slower than {limits.min_bytes_per_second:,} bytes a second (min_bytes_per_second)")
        yield chunk
