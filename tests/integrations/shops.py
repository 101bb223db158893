"""A shop on loopback with pages: the URLs of its sitemaps can be crawled."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from generated import make_site
from servers import NginxServer, free_port


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
