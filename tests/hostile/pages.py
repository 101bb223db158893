"""A Fetcher without a network: a function gives the response of a URL; requests and bytes read are counted."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import attrs

from sitemap_reader.fetch.client import Response

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping

    Answer = tuple[int, Mapping[str, str], Iterable[bytes]]


@attrs.frozen
class Pages:
    """`answer(url)` is a status, headers and the chunks of a body, or None for a 404.

    `asked` counts the requests for each URL, `taken` the bytes of its body that were read.
    """

    answer: Callable[[str], Answer | None]
    requested: Counter[str] = attrs.field(factory=Counter)
    taken: Counter[str] = attrs.field(factory=Counter)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        self.requested[url] += 1
        status, given, chunks = self.answer(url) or (404, {}, ())
        async with aclosing(self._chunks(url, chunks)) as stream:
            yield Response(status, given, stream, url)

    async def _chunks(self, url: str, chunks: Iterable[bytes]) -> AsyncGenerator[bytes, None]:
        for chunk in chunks:
            self.taken[url] += len(chunk)
            yield chunk
