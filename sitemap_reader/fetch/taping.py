"""A Fetcher that passes on what another one fetches, and keeps a copy: what folders and WARCs have in common.

A Response goes by, its body to a temporary file on the way; answer() or failure() is told at the end, and says where
it goes. Never changes what it passes on.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ..model.errors import FetchError
from ..model.problems import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from .client import Fetcher, Response

ERROR_FIELD = "replay-error"


def error_text(error: FetchError) -> str:
    """`[code] message`, in one line."""
    text = str(error)
    is_plain = error.code == "F04" and text.partition(" ")[0] not in CATALOGUE
    return one_line(text if is_plain else f"{error.code} {text}")


def error_of(text: str) -> FetchError:
    """The same back; another try would only read the same file, so it is never transient."""
    code, _, rest = text.partition(" ")
    if code in CATALOGUE:
        return FetchError(rest, code=code, transient=False)
    return FetchError(text, transient=False)


def one_line(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text)


class Tee:
    """A body on its way to the reader, copied to a file of ours, which is opened with the first byte."""

    def __init__(self, response: Response, opened: Callable[[], BinaryIO]) -> None:
        self.response = response
        self.file: BinaryIO | None = None
        self._opened = opened
        self._bytes = 0
        self._ended = False
        self._error: FetchError | None = None

    def __aiter__(self) -> Tee:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self.response.chunks)
        except StopAsyncIteration:
            self._ended = True
            raise
        except FetchError as error:
            self._error = error
            raise
        if self.file is None:
            self.file = self._opened()
        self.file.write(chunk)
        self._bytes += len(chunk)
        return chunk

    @property
    def is_whole(self) -> bool:
        """Whether the body was read to its end."""
        return self._ended

    @property
    def is_broken(self) -> bool:
        """Whether it broke off by itself."""
        return self._error is not None

    @property
    def error(self) -> FetchError | None:
        """What a replay is to say behind the last byte."""
        if self._error is None and not self._ended and 200 <= self.response.status < 300:
            # The bodies of other answers are rarely read; of these, what follows is unknown.
            return FetchError(f"the recording ends here: no more was read after {self._bytes:,} bytes")
        return self._error


class Taping(ABC):
    """The Fetcher. Raises OSError where the copy cannot be written."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """The other fetcher's answer; its body is written as it is read, and takes its place at the end."""
        self.begin(url)
        tee: Tee | None = None
        try:
            async with self._fetcher.fetch(url, headers) as response:
                tee = Tee(response, self.opened)
                try:
                    yield attrs.evolve(response, chunks=tee)
                finally:
                    self.answer(url, tee)
        except FetchError as error:
            if tee is None:
                self.failure(url, error)
            raise

    @abstractmethod
    def begin(self, url: str) -> None:
        """Before a URL is asked for."""

    @abstractmethod
    def opened(self) -> BinaryIO:
        """A temporary file for a body."""

    @abstractmethod
    def answer(self, url: str, tee: Tee) -> None:
        """What came; its body is in `tee.file`, which is open, unless there was no byte."""

    @abstractmethod
    def failure(self, url: str, error: FetchError) -> None:
        """No answer at all."""
