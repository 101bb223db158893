"""WARC files built by hand for tests, without the code under test."""

import asyncio
import gzip
from pathlib import Path

from fakenet import fetch

MAP = "https://shop.example/sitemap.xml"


def record(kind: str, block: bytes = b"", *, url: str = MAP, version: str = "1.1", **headers: str) -> bytes:
    """One record; `headers` with _ for - on top of the usual ones, "" leaves one out."""
    given = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": "2026-01-02T03:04:05Z",
        "WARC-Record-ID": f"<urn:uuid:{kind}-{url}>",
        "Content-Length": str(len(block)),
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"WARC/{version}\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def http(body: bytes = b"", *lines: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *lines))
    return f"{head}\r\n".encode() + body


def response(body: bytes = b"", *lines: str, url: str = MAP, status: str = "200 OK", **headers: str) -> bytes:
    return record("response", http(body, *lines, status=status), url=url, **headers)


def write(path: Path, *records: bytes) -> Path:
    """The records, each a gzip member of its own where the name says so."""
    is_packed = path.name.lower().endswith(".gz")
    path.write_bytes(b"".join(gzip.compress(each, 1) if is_packed else each for each in records))
    return path


def fetched(fetcher, url=MAP):
    return asyncio.run(fetch(fetcher, url))
