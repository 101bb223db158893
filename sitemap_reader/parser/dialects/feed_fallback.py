"""What the streaming parser gets nothing from -> raw entries, through a feed fallback that the caller passes in.

In: the decoded bytes, as long as no entry has come of them. Out: what the fallback makes of them, once, at the end.
Which fallback that is (feedparser in a process of its own, say) is not known here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from ...model.errors import SitemapReaderError
from ...model.limits import over_limit
from ...model.problems import Problem, report
from ..normalise.entry import RawEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...model.limits import Limits

# The bytes are UTF-8 by the time they come here, whatever the declaration says.
_DECLARATION = re.compile(rb"\A\s*<\?xml[^>]*\?>")
_DOUBTED = (
    "dropped, as feedparser may have altered it: the document spells it otherwise, with an unescaped & or markup, "
    "or leaves open what it is relative to"
)


class FallbackLinks(Protocol):
    """What a feed fallback found: (link, date as written), texts it would have corrupted, items without a link."""

    @property
    def links(self) -> Sequence[tuple[str, str | None]]: ...
    @property
    def dropped(self) -> Sequence[str]: ...
    @property
    def without_link(self) -> int: ...


class FeedFallback(Protocol):
    """Reads UTF-8 that the streaming parser gets nothing from; may raise SitemapReaderError. Called off the loop."""

    def __call__(self, body: bytes, url: str | None, /, *, limits: Limits) -> FallbackLinks: ...


class FallbackBuffer:
    """keep() the bytes, then ask for entries()."""

    def __init__(self, ask: FeedFallback, limits: Limits, base: str | None) -> None:
        self._ask = ask
        self._limits = limits
        self._limit = limits.max_fallback_bytes
        self._base = base
        self._body = bytearray()

    def keep(self, chunk: bytes) -> None:
        """Remembers a chunk, up to a little over the limit."""
        if not self.is_full:
            self._body += chunk

    @property
    def is_full(self) -> bool:
        """Whether it has more than the fallback will be given."""
        return len(self._body) > self._limit

    @property
    def is_whole(self) -> bool:
        """False where the bytes end in mid-text: a link that ends there would be taken for whole."""
        return self._body.rstrip().endswith(b">")

    @property
    def question(self) -> tuple[bytes, str | None]:
        """What the fallback is given: the body, and where it came from."""
        body = _DECLARATION.sub(b"", bytes(self._body)).lstrip()  # feedparser takes long over blank lines
        return body, self._base

    def entries(self) -> Iterator[RawEntry | Problem]:
        """What the fallback finds, and what it cannot be trusted with."""
        if self.is_full:
            yield over_limit("max_fallback_bytes", self._limit, "bytes for feedparser")
            return
        try:
            found = self._ask(*self.question, limits=self._limits)
        except SitemapReaderError as error:
            yield report("S01", f"feedparser cannot read it either: {error}")
            return
        for link in found.dropped:
            yield report("S01", _DOUBTED, raw=link)
        for _ in range(found.without_link):
            yield report("S11", "an item in which feedparser finds no location", field="loc")
        for link, date in found.links:
            yield RawEntry("url", link, lastmod=date, date_dialect="rss")
