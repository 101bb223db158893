"""parse() and iter_parse(): one document, as a whole or as its bytes arrive. Never opens or fetches anything."""

from __future__ import annotations

import codecs
import re
from typing import IO, TYPE_CHECKING

import attrs

from ..model.errors import UsageError
from ..model.limits import Limits
from ..model.problems import Problem
from ..model.records import Outcome, SitemapRef, UrlRecord
from .normalise.urls import without_credentials
from .parser import SitemapParser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..model.records import Item
    from .dialects.feed_fallback import FeedFallback
    from .normalise.scope import ScopeMode

# Text that is not a sitemap of one line, but the name of a file.
_FILE_NAME = re.compile(r"(?!\w+://)[^\n\r<>]{1,1000}\.(?:xml|gz|txt|rss|atom)", re.IGNORECASE)
_FILE_BYTES = 64 * 1024  # bytes per read of a file


def iter_parse(
    chunks: Iterable[bytes] | IO[bytes],
    *,
    url: str | None = None,
    content_type: str | None = None,
    scope: ScopeMode = "any",
    authorities: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    extras: bool = False,
    feed_fallback: FeedFallback | None = None,
) -> Iterator[Item]:
    """Yields the document's UrlRecords, SitemapRefs and Problems as its bytes arrive, then one Outcome.

    Memory does not grow with the size of the document. `chunks` are pieces of the body, cut anywhere, or a binary file;
    the options are those of SitemapParser; credentials in `url` are removed.
    """
    if isinstance(chunks, bytes | bytearray | memoryview | str):
        raise UsageError("chunks must be an iterable of bytes; parse() takes a whole body")
    parser = SitemapParser(
        url=without_credentials(url) if isinstance(url, str) else url,
        content_type=content_type,
        scope=scope,
        authorities=authorities,
        limits=limits,
        extras=extras,
        feed_fallback=feed_fallback,
    )
    for chunk in _chunks(chunks) if hasattr(chunks, "read") else chunks:  # type: ignore[arg-type] # it is no Iterable then
        for piece in parser.pieces(chunk):
            yield from piece
        if parser.stopped:
            break
    yield from parser.close()
    yield parser.outcome


@attrs.frozen
class Document:
    """A parsed document: `urls` and `children` in document order, every problem, and the outcome."""

    format: str | None
    urls: list[UrlRecord]
    children: list[SitemapRef]
    problems: list[Problem]
    outcome: Outcome


def parse(
    body: bytes | str | IO[bytes],
    *,
    url: str | None = None,
    content_type: str | None = None,
    scope: ScopeMode = "any",
    authorities: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    extras: bool = False,
    feed_fallback: FeedFallback | None = None,
) -> Document:
    """Parses one document into lists. `body` is bytes, text or a binary file, never a path.

    Bad data never raises: see `problems` and `outcome.complete`. The options are those of SitemapParser.

    >>> doc = parse("<urlset><url><loc>https://example.com/?a=1&amp;region=us</loc></url></urlset>")
    >>> doc.urls[0].loc, doc.format, [problem.code for problem in doc.problems]
    ('https://example.com/?a=1&region=us', 'urlset', ['S02'])
    """
    found: dict[type, list[Item]] = {UrlRecord: [], SitemapRef: [], Problem: [], Outcome: []}
    for item in iter_parse(
        _chunks(body),
        url=url,
        content_type=content_type,
        scope=scope,
        authorities=authorities,
        limits=limits,
        extras=extras,
        feed_fallback=feed_fallback,
    ):
        found[type(item)].append(item)
    outcome: Outcome = found[Outcome][0]  # type: ignore[assignment]
    return Document(outcome.format, found[UrlRecord], found[SitemapRef], found[Problem], outcome)  # type: ignore[arg-type]


def _chunks(body: bytes | str | IO[bytes]) -> Iterator[bytes]:
    name = body if isinstance(body, str) and _FILE_NAME.fullmatch(body) else None
    if name is not None or hasattr(body, "__fspath__"):
        what = "parse() takes the document, not its name"
        raise UsageError(f'{what}: give open({str(body)!r}, "rb"); a URL is for sr.urls()')
    if isinstance(body, str):
        # The BOM has priority over the encoding in the text's own declaration.
        body = codecs.BOM_UTF8 + body.encode("utf-8", "replace")
    if isinstance(body, bytes | bytearray | memoryview):
        yield bytes(body)
        return
    if not hasattr(body, "read"):
        raise UsageError(f"body is the document, as bytes, str or a binary file, not {type(body).__name__}")
    while chunk := body.read(_FILE_BYTES):
        if not isinstance(chunk, bytes):
            raise UsageError("the file must be opened in binary mode")
        yield chunk
