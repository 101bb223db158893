"""WARC files put together by hand, for tests: none of the code under test has a part in them."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import attrs

from sitemap_reader.crawl.fetch import Response
from sitemap_reader.errors import FetchError

if TYPE_CHECKING:
    from pathlib import Path

MAP = "https://shop.example/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*locs: str) -> bytes:
    return f"<urlset {NS}>{''.join(f'<url><loc>{loc}</loc></url>' for loc in locs)}</urlset>".encode()


def record(kind: str, block: bytes = b"", *, url: str = MAP, version: str = "1.1", **headers: str) -> bytes:
    """One record; `headers` with _ for - on top of the usual ones, "" leaves one out."""
    given = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": "2026-01-02T03:04:05Z",
        "WARC-Record-ID": f"<urn:uuid:{kind}-{url}>",
        "Content-Length": str(len(block)),
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"WARC/{version}\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def http(body: bytes = b"", *lines: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *lines))
    return f"{head}\r\n".encode() + body


def response(body: bytes = b"", *lines: str, url: str = MAP, status: str = "200 OK", **headers: str) -> bytes:
    return record("response", http(body, *lines, status=status), url=url, **headers)


def write(path: Path, *records: bytes) -> Path:
    """The records, each a gzip member of its own where the name says so."""
    is_packed = path.name.lower().endswith(".gz")
    path.write_bytes(b"".join(gzip.compress(each, 1) if is_packed else each for each in records))
    return path


@attrs.define
class Answer:
    """What the fake network says: chunks of a body, then perhaps an error; or only an error."""

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


def fetched(fetcher, url=MAP):
    return asyncio.run(fetch(fetcher, url))
