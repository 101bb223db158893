"""Sites of a million URLs on a loopback server, generated while they are sent.

leave() reads one in a separate process up to some URL, and returns what was still open at its end.
"""

import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
from faultserver import FaultServer, Script, Wire, head, page
from kit import index

URLS = 1_000_000
CHILDREN = 20
DEADLINE_SECONDS = 300.0
_PROGRAM = Path(__file__).parent / "leaving_child.py"
_PIECE = 1_000
_ROOT = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_XML = "Content-Type: application/xml"


@attrs.frozen
class Left:
    """URLs read, seconds from the last of them to the end, and the threads and sockets open then."""

    urls: int
    seconds: float
    threads: list[str]
    sockets: int
    reported: str  # on stderr


def leave(site: str, way: str, at: int, urls: int = URLS) -> Left:
    """Reads `at` of `count` URLs of the site, and leaves the stream in that way."""
    with FaultServer() as server:
        target = SITES[site](server, urls)
        program = [sys.executable, "-X", "dev", "-W", "error", str(_PROGRAM), way, str(at), target]
        done = subprocess.run(program, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return Left(**json.loads(done.stdout), reported=done.stderr)


def _entries(at: str, first: int, count: int) -> Iterator[bytes]:
    yield _ROOT
    for begin in range(first, first + count, _PIECE):
        numbers = range(begin, begin + _PIECE)
        yield "".join([f"<url><loc>{at}/page/{number}</loc></url>\n" for number in numbers]).encode()
    yield b"</urlset>"


def _chunked(pieces: Callable[[], Iterator[bytes]], kind: str) -> Script:
    def play(wire: Wire) -> bool:
        wire.send(head("200 OK", kind, "Transfer-Encoding: chunked"))
        for piece in pieces():
            wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        return wire.answer(b"0\r\n\r\n")

    return play


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(1, wbits=31)
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def one_document(server: FaultServer, urls: int) -> str:
    """All entries in one document."""
    server.play("/sitemap.xml", _chunked(lambda: _entries(server.url, 0, urls), _XML))
    return f"{server.url}/sitemap.xml"


def gzipped_children(server: FaultServer, urls: int) -> str:
    """An index of twenty; with a million each is as large as the protocol allows."""
    each = urls // CHILDREN

    def child(number: int) -> Script:
        return _chunked(lambda: _packed(_entries(server.url, number * each, each)), "Content-Type: application/gzip")

    for number in range(CHILDREN):
        server.play(f"/{number}.xml.gz", child(number))
    server.play("/index.xml", page(index(*(f"{server.url}/{number}.xml.gz" for number in range(CHILDREN))), _XML))
    return f"{server.url}/index.xml"


SITES = {"20 gzipped children": gzipped_children, "one document": one_document}
