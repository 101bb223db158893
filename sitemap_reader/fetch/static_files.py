"""Reads files as a static host would serve them: StaticFilesFetcher replaces the network before a site is deployed.

A path that ends in a slash is its index.html; `/about` is the file about, or about.html, or a redirect to `/about/`; a
query changes nothing; what is not there is a 404. No response has a Content-Type, as which one the host will send is
not known. Other hosts and what lies above `base` are a FetchError: nothing is requested from the network. Only regular
files of the folder are read, never what a symbolic link outside of it leads to.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from ..model.errors import FetchError
from ..parser.normalise.urls import is_robots_txt
from .client import Response
from .replay import AsyncChunks, check_inside, file_chunks, open_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

_INDEX = "index.html"
_SITEMAP_ENDINGS = (".xml", ".xml.gz")
_ROOT = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex)[\s>]")
_HEAD_BYTES = 4_096
_CHUNK_BYTES = 65_536


class StaticFilesFetcher:
    """A Fetcher that serves a folder at `base`, a clean http or https URL that ends in a slash.

    `document` is the URL of one file of the folder if that is another than its name gives.
    """

    def __init__(self, folder: str | Path, base: str, *, document: tuple[str, Path] | None = None) -> None:
        self.folder = Path(folder)
        self.base = base
        self._document = document
        self._names: dict[Path, frozenset[str]] = {}

    def file_of(self, url: str) -> Path | None:
        """The file that is served for a URL, relative to the working directory where it is below that; or None."""
        try:
            found = self._find(url)
        except FetchError:
            return None
        if not isinstance(found, Path):
            return None
        path, here = Path(os.path.abspath(found)), Path.cwd()
        return path.relative_to(here) if path.is_relative_to(here) else path

    def serves(self, url: str) -> bool:
        """Whether a URL is of the site of the folder: a file of it, or a 404."""
        return url.startswith(self.base)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        found = self._find(url)
        if isinstance(found, str):
            yield Response(301, {"location": found}, AsyncChunks(), url)
        elif found is None:
            yield Response(404, {}, AsyncChunks(), url)
        else:
            with open_file(found) as file:
                fields = {"content-length": str(os.fstat(file.fileno()).st_size)}
                yield Response(200, fields, AsyncChunks(file_chunks(file, None)), url)

    def sitemaps(self) -> Iterator[str]:
        """The URLs of all files of the folder that are sitemaps or indexes by name and content, in order."""
        for folder, names, files in os.walk(self.folder):
            names.sort()
            for name in sorted(files):
                path = Path(folder, name)
                if name.endswith(_SITEMAP_ENDINGS) and path.is_file() and _begins_as_sitemap(path):
                    yield f"{self.base}{quote(path.relative_to(self.folder).as_posix())}"

    def copy_of(self, url: str) -> str | None:
        """The URL of the other of two files with the same content, X and X.gz; None if there is no such file."""
        plain = url.removesuffix(".gz")
        packed = f"{plain}.gz"
        unpacked_file, packed_file = self.file_of(plain), self.file_of(packed)
        if unpacked_file is None or packed_file is None or not _is_compressed(packed_file, unpacked_file):
            return None
        return plain if url == packed else packed

    def _find(self, url: str) -> Path | str | None:
        """What is served; None for a 404. FetchError for what is not of the folder's site."""
        path, mark, query = url.partition("?")
        if self._document and path == self._document[0]:
            return check_inside(self._document[1], self.folder)
        if f"{path}/" == self.base:
            return self.base + mark + query
        if not self.serves(path):
            if is_robots_txt(path):  # of a host, or a level, whose rules and lines are not known
                return None
            message = f"it is not in {self.folder}, which is read as {self.base}: no request is made"
            raise FetchError(message, transient=False, remedy="try that site on its own", is_sent=False)
        *folders, name = [unquote(each, errors="surrogateescape") for each in path[len(self.base) :].split("/")]
        place = self.folder
        for each in folders:
            if not self._has(place, each):
                return None
            place /= each
        for each in (name, f"{name}.html") if name else (_INDEX,):
            if self._has(place, each) and (place / each).is_file():
                return check_inside(place / each, self.folder)
        has_index = bool(name) and self._has(place, name) and self._has(place / name, _INDEX)
        return f"{path}/{mark}{query}" if has_index else None

    def _has(self, place: Path, name: str) -> bool:
        """Whether a folder lists exactly this name: the file systems of hosts distinguish case. Never `..`."""
        names = self._names.get(place)
        if names is None:
            try:
                names = frozenset(os.listdir(place))
            except OSError:  # it is a file, or may not be read
                names = frozenset()
            self._names[place] = names
        return name in names


def _is_compressed(packed: Path, plain: Path) -> bool:
    """Whether the one file is the other, compressed."""
    try:
        with gzip.open(packed) as one, plain.open("rb") as other:
            while (chunk := one.read(_CHUNK_BYTES)) == other.read(_CHUNK_BYTES):
                if not chunk:
                    return True
    except (OSError, EOFError, zlib.error):
        pass
    return False


def _begins_as_sitemap(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(b"\x1f\x8b"):
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _HEAD_BYTES)
    except (OSError, zlib.error):
        return False
    return _ROOT.search(head) is not None


class OneDocumentFetcher:
    """A Fetcher of one document that is in memory; its host has nothing else."""

    def __init__(self, url: str, body: bytes) -> None:
        self.url = url
        self._body = body

    def serves(self, url: str) -> bool:
        return url == self.url

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        if url == self.url:
            yield Response(200, {}, AsyncChunks((self._body,)), url)
        elif is_robots_txt(url):
            yield Response(404, {}, AsyncChunks(), url)
        else:
            message = f"not read: only {self.url} was given, and no request is made"
            raise FetchError(message, transient=False, remedy="try the folder that has it")
