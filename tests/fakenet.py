"""A simulated network: a Fetcher of prepared responses, and fetch() with the result of one request."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import attrs

from sitemap_reader import FetchError
from sitemap_reader.fetch import Response


@attrs.define
class Answer:
    """A prepared response: chunks of a body, then perhaps an error; or only an error."""

    status: int = 200
    headers: dict[str, str] = attrs.field(factory=dict)
    chunks: tuple[bytes, ...] = ()
    error: FetchError | None = None
    is_no_answer: bool = False


class FakeFetcher:
    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers

    @asynccontextmanager
    async def fetch(self, url, headers):
        answer = self.answers[url]
        if answer.is_no_answer:
            raise answer.error
        yield Response(answer.status, answer.headers, self._chunks(answer), url)

    @staticmethod
    async def _chunks(answer):
        for chunk in answer.chunks:
            yield chunk
            await asyncio.sleep(0)
        if answer.error:
            raise answer.error


async def fetch(fetcher, url, most=None):
    """(status, headers, body, error) of one fetch; stops after `most` chunks."""
    body, error = [], None
    try:
        async with fetcher.fetch(url, {}) as answer:
            try:
                async for chunk in answer.chunks:
                    body.append(chunk)
                    if len(body) == most:
                        break
            except FetchError as exc:
                error = exc
            return answer.status, dict(answer.headers), b"".join(body), error
    except FetchError as exc:
        return None, {}, b"", exc
