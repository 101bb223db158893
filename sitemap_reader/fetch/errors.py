"""What went wrong in a fetch, in words.

An exception of aiohttp, the operating system or TLS goes in, with what was asked of whom; a FetchError comes out:
a short message for people, a problem code, and whether another try may help. Never raises, never asks again.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import attrs

from ..frontier.responses import with_remedy
from ..model.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiohttp

# No operating system uses it. It survives aiohttp's wrapping, and its joining of several addresses' errors.
REFUSED_ERRNO = 99_013
_MAX_REASON_CHARACTERS = 160


@attrs.frozen
class Asked:
    """What was asked of whom: the URL without userinfo and fragment, and what messages say about it."""

    url: str
    host: str
    place: str  # host:port
    connect_seconds: float
    read_seconds: float


def translated(exc: Exception, asked: Asked, received: int | None = None) -> FetchError:
    """The FetchError for what aiohttp raised; `received` is the length of the body so far, None before it."""
    import aiohttp

    from .aiohttp_patches import BodyFault

    # First match wins, so the narrow ones come first.
    table: tuple[tuple[type[Exception], Callable[[Any, Asked, int | None], FetchError]], ...] = (
        (aiohttp.ConnectionTimeoutError, _slow_connect),
        (TimeoutError, _silence),
        (aiohttp.ClientConnectorCertificateError, _certificate),
        (aiohttp.ClientConnectorDNSError, _name),
        (aiohttp.ClientConnectorSSLError, _tls),
        (aiohttp.ClientProxyConnectionError, _proxy),
        (aiohttp.ClientConnectorError, _connect),
        (ssl.SSLError, _tls),
        (aiohttp.ClientHttpProxyError, _proxy_answer),
        (aiohttp.ClientResponseError, _no_http),
        (BodyFault, _odd_body),
        (aiohttp.ClientPayloadError, _broken_body),
        (aiohttp.ServerDisconnectedError, _hung_up),
        (ValueError, _unusable),  # InvalidURL, UnicodeError of the idna codec, a port out of range
        (OSError, _hung_up),
        (RuntimeError, _broken_body),  # of a body only
    )
    translate = next((function for kind, function in table if isinstance(exc, kind)), _other)
    return translate(exc, asked, received)


def _slow_connect(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    return FetchError(f"{asked.place}: no connection within {asked.connect_seconds:g} s")


def _silence(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    return FetchError(f"{asked.place}: no byte for {asked.read_seconds:g} s{_after(received)}")


# X509_V_ERR_* of OpenSSL: verify_code -> what people call it
_CERTIFICATE_FAULTS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    19: "is self-signed",
    20: "comes from an unknown issuer",
    21: "comes from an unknown issuer",
    62: "is for another host",
    64: "is for another host",
}


def _certificate(exc: aiohttp.ClientConnectorCertificateError, asked: Asked, received: int | None) -> FetchError:
    error = exc.certificate_error
    reason = getattr(error, "verify_message", None) or str(error)
    fault = _CERTIFICATE_FAULTS.get(getattr(error, "verify_code", 0), f"is not valid: {reason}")
    remedy = "--cacert (cacert=FILE) trusts its issuer, --insecure (insecure=True) does not verify it"
    return FetchError(f"TLS certificate of {asked.place} {fault}; {remedy}", transient=False)


def _name(exc: aiohttp.ClientConnectorDNSError, asked: Asked, received: int | None) -> FetchError:
    if exc.os_error.errno == socket.EAI_AGAIN:
        return FetchError(f"{asked.host}: the name servers do not answer")
    return FetchError(f"{asked.host}: no such host; check the spelling", transient=False)


def _tls(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    error = getattr(exc, "os_error", exc)
    hung_up = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    reason = str(getattr(error, "reason", None) or error).replace("_", " ").lower()
    return FetchError(f"TLS with {asked.place} failed: {cut(reason)}{_after(received)}", transient=hung_up)


def _proxy(exc: aiohttp.ClientProxyConnectionError, asked: Asked, received: int | None) -> FetchError:
    proxy = f"{exc.host}:{exc.port}"
    return FetchError(f"{asked.host}: no connection to the proxy {proxy}; check its host and port (--proxy)")


def _proxy_answer(exc: aiohttp.ClientHttpProxyError, asked: Asked, received: int | None) -> FetchError:
    message = f"{asked.host}: the proxy answered {exc.status}"
    if exc.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        message = with_remedy(message, exc.status)
    return FetchError(message, transient=exc.status >= 500)


_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL)


def _connect(exc: aiohttp.ClientConnectorError, asked: Asked, received: int | None) -> FetchError:
    error = exc.os_error
    if error.errno == REFUSED_ERRNO:
        # A host with several addresses: aiohttp joins what was said about each.
        return refused(asked, str(error.strerror).removeprefix("Multiple exceptions: "))
    if error.errno == errno.ECONNREFUSED:
        return FetchError(f"connection refused by {asked.place}; check the host and the port")
    if error.errno in _UNREACHABLE:
        return FetchError(f"no route to {asked.place}")
    return _hung_up(error, asked, received)


def refused(asked: Asked, description: str) -> FetchError:
    # aiohttp's joined text repeats "[Errno ...]" before each part.
    description = re.sub(rf"\[Errno {REFUSED_ERRNO}\] ", "", description)
    if not description.startswith(f"{asked.host} "):
        description = f"{asked.host}: {description}"
    message = f"{description}; --allow-private (allow_private=True) permits it"
    return FetchError(message, code="F13", transient=False)


def describe(address: str, reason: str) -> str:
    if reason == "malformed":
        return f"{address} is no IP address"
    return f"{address} is {'an' if reason[0] in 'aeiou' else 'a'} {reason} address"


def _no_http(exc: aiohttp.ClientResponseError, asked: Asked, received: int | None) -> FetchError:
    return FetchError(f"{asked.place}: answer is no HTTP: {_one_line(exc.message)}", transient=False)


def _odd_body(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    # As a body that breaks off: it may be a proxy that lost its source.
    return FetchError(f"{asked.place}: body is no HTTP{_after(received or 0)}: {_one_line(str(exc))}")


def _one_line(message: str) -> str:
    # aiohttp draws the offending line and a caret below it: too much for one line of a log.
    return cut(" ".join(message.rstrip("^ \n").split()))


def _broken_body(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    return FetchError(f"{asked.place}: connection broke off{_after(received or 0)}")


def _hung_up(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    number = getattr(exc, "errno", None)
    if received is not None:
        return _broken_body(exc, asked, received)
    if number == errno.ECONNRESET:
        return FetchError(f"connection reset by {asked.place}")
    if isinstance(number, int):
        return FetchError(f"{asked.place}: {os.strerror(number)}")
    return FetchError(f"{asked.place} closed the connection before it answered")


def _unusable(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    return FetchError(f"{cut(asked.url)!r} is no usable URL: {cut(str(exc))}", transient=False)


def _other(exc: Exception, asked: Asked, received: int | None) -> FetchError:
    return FetchError(f"{asked.place}: {cut(str(exc) or type(exc).__name__)}{_after(received)}")


def _after(received: int | None) -> str:
    return "" if received is None else f" after {received:,} bytes"


def cut(text: str) -> str:
    return text if len(text) <= _MAX_REASON_CHARACTERS else text[:_MAX_REASON_CHARACTERS] + "…"
