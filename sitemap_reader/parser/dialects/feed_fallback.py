"""The feed fallback: a second parser, passed in by the caller, for documents in which this one finds no entry.

In: decoded bytes, buffered until the first entry. Out: the RawEntry objects and Problems of the fallback, once, at the
end. The fallback itself (such as feedparser in a subprocess) is behind the protocol FeedFallback.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from ...model.errors import SitemapReaderError
from ...model.limits import over_limit
from ...model.problems import Problem, report
from ..normalise.entry import RawEntry

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Kind

# The bytes are UTF-8 here, so a declaration of another charset must go.
_DECLARATION = re.compile(rb"\A\s*<\?xml[^>]*\?>")
_DROPPED: Kind = "link of a damaged feed dropped"
_DOUBTED = (
    "dropped, as feedparser may have altered it: the document spells it otherwise, with an unescaped & or markup, "
    "or leaves open what it is relative to"
)


class FallbackLinks(Protocol):
    """What a feed fallback found: (link, date as written), links it may have altered, items without a link."""

    @property
    def links(self) -> Sequence[tuple[str, str | None]]: ...
    @property
    def dropped(self) -> Sequence[str]: ...
    @property
    def without_link(self) -> int: ...


class FeedFallback(Protocol):
    """Parses the UTF-8 bytes of a document; may raise SitemapReaderError. Called outside the event loop."""

    def __call__(self, body: bytes, url: str | None, /, *, limits: Limits) -> FallbackLinks: ...


class FallbackBuffer:
    """Buffers the document with add(), then calls the fallback in entries()."""

    def __init__(self, fallback: FeedFallback, limits: Limits, base: str | None) -> None:
        self._fallback = fallback
        self._limits = limits
        self._limit = limits.max_fallback_bytes
        self._base = base
        self._body = bytearray()

    def add(self, chunk: bytes) -> None:
        """Buffers a chunk; ignored once the limit is exceeded."""
        if not self.is_full:
            self._body += chunk

    @property
    def is_full(self) -> bool:
        """Whether the document exceeds the limit, so that the fallback is not called."""
        return len(self._body) > self._limit

    @property
    def is_whole(self) -> bool:
        """False if the bytes end in text: a link that is cut there would look complete."""
        return self._body.rstrip().endswith(b">")

    @property
    def arguments(self) -> tuple[bytes, str | None]:
        """The arguments of the fallback: the body, and the URL of the document."""
        body = _DECLARATION.sub(b"", bytes(self._body)).lstrip()  # feedparser is slow on blank lines
        return body, self._base

    def entries(self) -> Iterator[RawEntry | Problem]:
        """The entries that the fallback finds, and Problems for those that it may have altered."""
        if self.is_full:
            yield over_limit("max_fallback_bytes", self._limit, "byte for feedparser")
            return
        try:
            found = self._fallback(*self.arguments, limits=self._limits)
        except SitemapReaderError as error:
            yield report("S01", f"feedparser cannot read it either: {error}", kind=_DROPPED)
            return
        for link in found.dropped:
            yield report("S01", _DOUBTED, raw=link, kind=_DROPPED)
        for _ in range(found.without_link):
            yield report("S11", "an item in which feedparser finds no location", field="loc")
        for link, date in found.links:
            yield RawEntry("url", link, lastmod=date, date_dialect="rss")
