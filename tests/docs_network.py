"""Replaces the network for the examples of docs/: the host names in them resolve to this machine.

Copied to a folder as sitecustomize.py, so that every Python started there imports it. Only name resolution and connects
are replaced; checks, TLS and HTTP are real. Any other name does not resolve, as offline.

The CPU count is one: `harvest` starts a worker for each, and one is enough.
There is no bokeh: it draws Dask's dashboard, which tests/scale/test_harvest.py looks at, and takes a second to load.
"""

import os
import socket
import sys
from typing import Any

# Public addresses: those reserved for documentation would be refused.
ADDRESSES = {"example.com": "93.184.215.14", "broken.example": "93.184.215.15"}
PORT = "DOCS_SITE_PORT"

_getaddrinfo = socket.getaddrinfo


def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
    """socket.getaddrinfo() without a resolver."""
    name = host.decode() if isinstance(host, bytes) else host
    address = ADDRESSES.get(name, name)
    if address is not None and not address.replace(".", "").isdigit():
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return _getaddrinfo(address, *args, **options)


def gethostbyname(host: str) -> str:
    """socket.gethostbyname() likewise: Scrapy calls it."""
    return str(getaddrinfo(host, None)[0][4][0])


class Socket(socket.socket):
    """Connects to the local server in place of these addresses; https only."""

    def connect(self, address: Any) -> None:
        super().connect(_here(address))

    def connect_ex(self, address: Any) -> int:
        return super().connect_ex(_here(address))


def _here(address: Any) -> Any:
    if address[0] not in ADDRESSES.values():
        return address
    if address[1] != 443:
        raise ConnectionRefusedError(111, "Connection refused")
    return "127.0.0.1", int(os.environ[PORT])


if PORT in os.environ:
    socket.getaddrinfo = getaddrinfo
    socket.gethostbyname = gethostbyname
    socket.socket = Socket  # type: ignore[misc]
    os.cpu_count = lambda: 1
    sys.modules["bokeh"] = None  # type: ignore[assignment]
