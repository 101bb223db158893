"""A shop on loopback with pages: the URLs of its sitemaps can be crawled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from generated import make_site
from servers import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from servers import NginxServer


def shop(serve: Callable[..., NginxServer], folder: Path, urls: int = 120) -> tuple[NginxServer, list[str]]:
    """nginx with the shop, and its URLs. All responses are 200."""
    port = free_port()
    site = make_site(folder, base=f"http://127.0.0.1:{port}", urls=urls, per_document=20, layout="www")
    locs = [json.loads(line)["loc"] for line in site.truth.read_bytes().splitlines()]
    for loc in locs:
        path = unquote(urlsplit(loc).path)
        page = folder / (path + "index.html" if path.endswith("/") else path).lstrip("/")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"<title>{path}</title>")
    return serve(folder, port), locs


def urlset(*locs: str, **fields: str) -> bytes:
    """A urlset with `locs` unescaped."""
    more = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    entries = "".join(f"<url><loc>{loc}</loc>{more}</url>" for loc in locs)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()


def index(*entries: tuple[str, str | None]) -> bytes:
    """An index of (loc, lastmod)."""
    children = "".join(
        f"<sitemap><loc>{loc}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</sitemap>"
        for loc, lastmod in entries
    )
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{children}</sitemapindex>'.encode()
