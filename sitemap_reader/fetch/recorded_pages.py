"""Reads the pages of a recording: a URL goes in, its recorded Response comes out, or a FetchError.

ReplayFetcher and WarcFetcher answer 404 for what they lack: a crawl also tries paths that a site need not have.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ..model.errors import FetchError
from ..parser.normalise.urls import is_robots_txt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from .client import Response
    from .replay import ReplayFetcher
    from .warc.fetcher import WarcFetcher


class RecordedPagesFetcher:
    """A Fetcher of the pages of a recording: one that was not recorded is a FetchError, as its status is not known."""

    def __init__(self, recording: ReplayFetcher | WarcFetcher) -> None:
        self._recording = recording

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the recorded response; the request `headers` are ignored."""
        if not (is_robots_txt(url) or self._recording.has(url)):
            raise FetchError("it is not in the recording", transient=False, remedy="check the site")
        async with self._recording.fetch(url, headers) as response:
            yield response
