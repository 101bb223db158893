"""The sites of the examples, on 127.0.0.1 under the names that the pages use:

`https://example.com/` is the shop of corpus/sites, `https://broken.example/` the broken site there. next_day() changes
some pages of the shop.
"""

import gzip
import re
import ssl
from datetime import UTC, datetime
from pathlib import Path

from servers import Page, Received, SiteServer

SITES = Path(__file__).parent.parent / "corpus" / "sites"
OLD_NAME, NAME = b"shop.example", b"example.com"
# Other documents that the examples request; news are always of today.
ALIASES = {"/news.xml": "/sitemaps/news.xml", "/sitemap.xml": "/sitemaps/categories.xml"}
# The changes from one day to the next, reverted on the day after. All in one document, as documents arrive in any
# order.
CHANGING = "/sitemaps/categories.xml"
DAYS = (
    (b"/c/kitchen/tea-pot/</loc>\n  <lastmod>2026-10-26", b"/c/kitchen/tea-pot/</loc>\n  <lastmod>2026-10-27"),
    (b"/c/kitchen/sale/", b"/c/kitchen/outlet/"),
)

PAGE = re.compile(rb"<loc>https://example\.com(/c/kitchen/[^<]+)")  # HTML pages that exist


class DocsSite(SiteServer):
    """Serves both sites over TLS; a context manager. `next_day()` changes the shop."""

    def __init__(self, folder: Path) -> None:
        self.bodies = {("example.com", path): body for path, body in _shop()} | {
            ("broken.example", path): body for path, body in _files("broken")
        }
        self.bodies |= {("example.com", name): self.bodies["example.com", path] for name, path in ALIASES.items()}
        news = self.bodies["example.com", "/news.xml"]
        self.bodies["example.com", "/news.xml"] = news.replace(b"2026-10-26", _today())
        kitchen = [*PAGE.findall(self.bodies["example.com", CHANGING]), b"/c/kitchen/outlet/"]
        self.bodies |= {("example.com", path.decode()): _page(path) for path in kitchen}
        certificate = folder / "served.pem"
        certificate.write_text(CERTIFICATE)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        super().__init__({}, context)

    def page(self, request: Received) -> Page:
        body = self.bodies.get((request.headers.get("host", ""), request.path))
        return (404, {}, b"") if body is None else (200, {}, body)

    def next_day(self) -> None:
        """Changes the shop to its next day."""
        body = self.bodies["example.com", CHANGING]
        for texts in DAYS:
            (old,) = (text for text in texts if text in body)
            (new,) = (text for text in texts if text not in body)
            body = body.replace(old, new)
        self.bodies["example.com", CHANGING] = body


def _files(site: str) -> list[tuple[str, bytes]]:
    (host,) = (SITES / site / "https").iterdir()
    recorded = [path for path in host.rglob("*") if path.is_file() and path.suffix != ".headers"]
    return [(f"/{path.relative_to(host)}", path.read_bytes()) for path in recorded if not _is_gone(path)]


def _is_gone(path: Path) -> bool:
    headers = path.with_name(f"{path.name}.headers")
    return headers.is_file() and "status: 404" in headers.read_text()


def _shop() -> list[tuple[str, bytes]]:
    """The shop, moved to example.com."""
    return [(path, _moved(path, body)) for path, body in _files("shop")]


def _moved(path: str, body: bytes) -> bytes:
    if path.endswith(".gz"):
        return gzip.compress(gzip.decompress(body).replace(OLD_NAME, NAME), mtime=0)
    return body.replace(OLD_NAME, NAME)


def _page(path: bytes) -> bytes:
    name = path.rstrip(b"/").rpartition(b"/")[2]
    return b"<title>%s</title>" % name.replace(b"-", b" ").capitalize()


def _today() -> bytes:
    return datetime.now(UTC).date().isoformat().encode()


# For example.com and broken.example; the key is used only here; valid until 2126.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBvDCCAWOgAwIBAgIUWId9TWqDkZdp7T5EGJAIQuYX20AwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLZXhhbXBsZS5jb20wIBcNMjYxMTIxMTQwMTE5WhgPMjEyNjEw
MjgxNDAxMTlaMBYxFDASBgNVBAMMC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEb29m3TjrxY+6NPu/z0e9DYt9gmfMXEKypc0SMHt4hd/KbZle
7CfapwoiF3HcvxTV7ryTOzpCS6irBvuyAjRV2KOBjDCBiTAdBgNVHQ4EFgQUXz0E
3Rt+8JtVFjS+bHra0EyjzpkwHwYDVR0jBBgwFoAUXz0E3Rt+8JtVFjS+bHra0Eyj
zpkwJgYDVR0RBB8wHYILZXhhbXBsZS5jb22CDmJyb2tlbi5leGFtcGxlMA4GA1Ud
DwEB/wQEAwIChDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCICWt
tpwXZfGuLvM3wtg+7zfrbE2cwwlBKlGMmCpXazx5AiB4I+YCpMjxkm4CCZGA43HF
ECe/yZo6lLvjh1ds7Q5fjA==
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8A80oh06tmllf0jc
sJ12rXzeZsmCLW2nhUlz3oh79MWhRANCAARvb2bdOOvFj7o0+7/PR70Ni32CZ8xc
QrKlzRIwe3iF38ptmV7sJ9qnCiIXcdy/FNXuvJM7OkJLqKsG+7ICNFXY
-----END PRIVATE KEY-----
"""
