"""Sites that are not deployed yet: a folder, a file or a body, and the URL `base` that it will have, in; out come a
Seed, and the Fetcher that serves it. Without a base, likely_base() says which one the files themselves name.

Reads the disk only, and makes no request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..fetch.replay import is_inside
from ..fetch.static_files import OneDocumentFetcher, StaticFilesFetcher
from ..frontier.seeds import SCHEME, WELL_KNOWN, Seed
from ..model.errors import UsageError
from ..model.limits import CHUNK_BYTES, MIB, Limits
from ..model.records import SitemapRef, UrlRecord
from ..parser.normalise.urls import clean_url, directory, origin
from ..parser.parser import SitemapParser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The last segment of a URL that is a document, and no folder: `sitemap.xml`; not `v1.2`.
_FILE_NAME = re.compile(r".+\.[A-Za-z]\w*", re.DOTALL)
_STDIN_NAME = "sitemap.xml"
# Of each file that likely_base() looks at.
_MAX_DEPTH = 8
_HEAD_LIMITS = Limits(max_entries=100, max_decoded_bytes=MIB)
_UNKNOWN = "https://unknown.invalid"  # RFC 2606 2: relative URLs name no host


def open_folder(folder: Path, base: str) -> tuple[Seed, StaticFilesFetcher]:
    """The site of a folder at the URL `base`; UsageError if that is no URL of a folder."""
    url = clean_base(base)
    url = url if url.endswith("/") else f"{url}/"
    site = origin(url)
    return Seed(url, (site,), base_path=url[len(site) : -1]), StaticFilesFetcher(folder, url)


def open_file(file: Path, base: str) -> tuple[Seed, StaticFilesFetcher]:
    """The document of a file, whose folder has its children and its robots.txt.

    `base` is the URL of the folder, or that of the document.
    """
    url = _document_url(base, file.name)
    return _document_seed(url), StaticFilesFetcher(file.parent, directory(url), document=(url, file))


def open_body(body: bytes, base: str) -> tuple[Seed, OneDocumentFetcher]:
    """The document of a body; `base` is its URL, or that of a folder, in which its name is sitemap.xml."""
    url = _document_url(base, _STDIN_NAME)
    return _document_seed(url), OneDocumentFetcher(url, body)


def _document_seed(url: str) -> Seed:
    return Seed(url, (origin(url),), document=url)


def _document_url(base: str, name: str) -> str:
    url = clean_base(base)
    if _FILE_NAME.fullmatch(url[len(origin(url)) :].rpartition("/")[2]):
        return url
    folder = url if url.endswith("/") else f"{url}/"
    return str(clean_url(name.replace("%", "%25").replace("?", "%3F").replace("#", "%23"), folder).url)


def clean_base(base: object) -> str:
    """The base as a clean URL; UsageError, without any password in it, for what is none."""
    hint = "give the URL that the folder will have, such as https://www.example.com/"
    if not isinstance(base, str) or not base.strip():
        raise UsageError(hint, keyword="base")
    if not SCHEME.match(base.strip()):
        raise UsageError(f"{base.strip().partition('@')[2] or base} has no scheme", keyword="base", remedy=hint)
    url = clean_url(base).url
    if url is None or not url.startswith(("http://", "https://")):
        raise UsageError("it is no http or https URL", keyword="base", remedy=hint)
    if "@" in url[: url.index("/", 8)] or "?" in url or "#" in base:
        raise UsageError("it has a login, a query or a fragment", keyword="base", remedy=hint)
    return url


def likely_base(path: Path) -> tuple[str, Path] | None:
    """The base that the robots.txt or the sitemaps of a folder name, or a file, and the file that names it.

    None if they name no host, or several.
    """
    folder, files = path.parent, [path]
    if path.is_dir():
        folder, files = path, [path / name.removeprefix("/") for name in ("/robots.txt", *WELL_KNOWN)]
    for file in files:
        locs = [*_locs(file)] if file.is_file() and (file == path or is_inside(file, folder)) else []
        origins = {origin(loc) for loc in locs}
        if len(origins) == 1:
            return _with_path(folder, origins.pop(), locs), file
    return None


def _with_path(folder: Path, site: str, locs: list[str]) -> str:
    """The root of the host; or the first folder of it in which the URLs have files, as of the pages of a project."""
    _, *folders, _ = locs[0][len(site) :].partition("?")[0].split("/")
    bases = [f"{site}/", *(f"{site}/{'/'.join(folders[:depth])}/" for depth in range(1, len(folders) + 1))]
    for base in bases[:_MAX_DEPTH]:
        files = StaticFilesFetcher(folder, base)
        if any(files.file_of(loc) for loc in locs):
            return base
    return bases[0]


def _locs(file: Path) -> Iterator[str]:
    """The absolute URLs at the beginning of a sitemap, or of the Sitemap lines of a robots.txt."""
    url = f"{_UNKNOWN}/robots.txt" if file.name == "robots.txt" else f"{_UNKNOWN}/sitemap.xml"
    parser = SitemapParser(url=url, limits=_HEAD_LIMITS)
    try:
        with file.open("rb") as stream:
            head = stream.read(CHUNK_BYTES)
    except OSError:
        return
    for item in (*parser.feed(head), *parser.close(cut=len(head) == CHUNK_BYTES)):
        if isinstance(item, UrlRecord | SitemapRef) and not item.loc.startswith(f"{_UNKNOWN}/"):
            yield item.loc
