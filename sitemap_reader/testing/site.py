"""Generated sites for tests, notebooks and benchmarks: a size and a seed in; a folder with robots.txt, an index,
its sitemaps, and the records that a reader should find in them, out.

No parser takes part. Equal arguments give equal bytes, and memory stays flat however large the site.
damaged() gives single documents that are broken, with the URLs that they listed before.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import attrs

from ..model.errors import UsageError
from ..model.limits import PROTOCOL_MAX_ENTRIES
from .entries import NAMESPACES, index_xml, open_document, write_urlset
from .shop import REFERENCE, ROBOTS, draw, shares

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


Extension = Literal["image", "video", "news", "hreflang"]
Dates = Literal["day", "second", "mixed", "none"]
Layout = Literal["replay", "www"]


@attrs.frozen
class Site:
    """A site on disk.

    `documents` counts the sitemaps that list URLs; robots.txt and the index come on top. `truth` has one JSON
    line for each URL record, in document order, and lies in `folder`; with `truth=False` it is not written.
    """

    folder: Path
    seed_url: str
    urls: int
    documents: int
    truth: Path


def make_site(
    folder: Path,
    *,
    base: str = "https://shop.example",
    urls: int = 1000,
    per_document: int = 500,
    seed: int = 0,
    gzip: bool = True,
    extensions: Collection[Extension] = (),
    dates: Dates = "mixed",
    layout: Layout = "replay",
    truth: bool = True,
) -> Site:
    """Write a shop with a magazine that lists `urls` URLs, at most `per_document` (1 to 50,000) in a sitemap.

    Layout "replay" is a folder that can be read in place of the network, "www" a document root for a web
    server at `base`. Existing files of these names are overwritten. `dates` other than "mixed" hold
    for every entry. Raises UsageError for arguments that cannot be carried out.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     site = make_site(Path(folder), urls=100)
    ...     (site.seed_url, site.documents, len(site.truth.read_text().splitlines()))
    ('https://shop.example/', 5, 100)
    """
    base = _origin(base)
    _check(urls, per_document, extensions, dates, layout)
    scheme, _, host = base.partition("://")
    root = folder / scheme / host if layout == "replay" else folder
    (root / "sitemaps").mkdir(parents=True, exist_ok=True)
    site = Site(folder, f"{base}/", urls, 0, folder / "truth.jsonl")
    children: list[tuple[str, str | None]] = []
    with ExitStack() as stack:
        out = stack.enter_context(site.truth.open("wb")) if truth else None
        for section, count in shares(urls, extensions):
            wanted = tuple(name for name in NAMESPACES if name in extensions and name in section.extensions)
            entries = draw(section, count, seed=seed, base=base, extensions=wanted, dates=dates)
            for number in range(1, -(-count // per_document) + 1):
                name = f"sitemaps/{section.name}-{number}.xml{'.gz' * gzip}"
                part = islice(entries, per_document)
                with open_document(root / name) as document:
                    newest = write_urlset(document, out, part, sitemap=f"{base}/{name}", extensions=wanted)
                children.append((f"{base}/{name}", newest))
    (root / "sitemap_index.xml").write_bytes(index_xml(children))
    (root / "robots.txt").write_bytes(ROBOTS.format(host=host, base=base).encode())
    if layout == "replay":
        recorded = f"{REFERENCE.isoformat()}Z"
        (folder / "site.toml").write_bytes(f'seeds = ["{base}/"]\nrecorded = {recorded}\n'.encode())
    return attrs.evolve(site, documents=len(children))


def _origin(base: str) -> str:
    parts = urlsplit(base)
    default = {"http": ":80", "https": ":443"}.get(parts.scheme)
    origin = f"{parts.scheme}://{parts.netloc}"
    if default is None or base not in (origin, f"{origin}/") or not parts.netloc:
        raise UsageError(f"base must be an origin such as https://shop.example, not {base!r}")
    if origin != origin.lower() or origin.endswith(default) or "@" in origin or not origin.isascii():
        raise UsageError(f"base must be written as URLs are compared (lower case, no default port): {base!r}")
    return origin


def _check(urls: int, per_document: int, extensions: Collection[str], dates: str, layout: str) -> None:
    rules = {
        f"urls must be 1 or more, not {urls}": urls >= 1,
        f"per_document must be 1 to 50,000, not {per_document}": 1 <= per_document <= PROTOCOL_MAX_ENTRIES,
        f"extensions are {', '.join(NAMESPACES)}, not {extensions!r}": NAMESPACES.keys() >= set(extensions),
        f"dates are day, second, mixed, none, not {dates!r}": dates in ("day", "second", "mixed", "none"),
        f"layouts are replay, www, not {layout!r}": layout in ("replay", "www"),
    }
    for message, holds in rules.items():
        if not holds:
            raise UsageError(message)
