"""Translates exceptions of aiohttp, the operating system and TLS into FetchError."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..frontier.responses import PROXY_REMEDY
from ..model.errors import FetchError

if TYPE_CHECKING:
    import aiohttp

# An errno that no operating system uses: it survives aiohttp's wrapping and its joining of several addresses' errors.
REFUSED_ERRNO = 99_013
_MAX_REASON_CHARACTERS = 160
CHECK_URL = "check the URL"


class ExcessFraming(ValueError):
    """A response with too many bytes that are not of its body; no OSError, as aiohttp would wrap that."""


@attrs.frozen
class RequestedUrl:
    """A URL as it is requested, without userinfo and fragment; its host and the timeouts, for messages."""

    url: str
    host: str
    host_port: str
    connect_seconds: float
    read_seconds: float


def fetch_error(exc: Exception, requested: RequestedUrl, received: int | None = None) -> FetchError:
    """Returns the FetchError for an exception; `received` counts the body's bytes so far, None before the body."""
    import aiohttp
    from aiohttp.http import HttpProcessingError

    place, host, after = requested.host_port, requested.host, _after_bytes(received)
    match exc:  # the first match wins, so subclasses stand before their bases
        case aiohttp.ConnectionTimeoutError():
            return FetchError(f"{place}: no connection within {requested.connect_seconds:g} s")
        case TimeoutError():
            return FetchError(f"{place}: no byte for {requested.read_seconds:g} s{after}")
        case aiohttp.ClientConnectorCertificateError():
            return _certificate(exc, requested)
        case aiohttp.ClientConnectorDNSError() if exc.os_error.errno == socket.EAI_AGAIN:
            return FetchError(f"{host}: the name servers do not answer")
        case aiohttp.ClientConnectorDNSError():
            return FetchError(f"{host}: no such host", transient=False, remedy="check the spelling")
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return _tls(exc, requested, received)
        case aiohttp.ClientProxyConnectionError():
            message = f"{host}: no connection to the proxy {exc.host}:{exc.port}"
            return FetchError(message, remedy="check its host and port (--proxy)")
        case aiohttp.ClientConnectorError():
            return _connect(exc, requested, received)
        case aiohttp.ClientHttpProxyError() if exc.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return proxy_refusal(requested)
        case aiohttp.ClientHttpProxyError():
            return FetchError(f"{host}: the proxy answered {exc.status}", transient=exc.status >= 500)
        case aiohttp.ClientResponseError():
            return FetchError(f"{place}: response is not HTTP: {_one_line(exc.message)}", transient=False)
        case HttpProcessingError():  # transient, as a body that breaks off: a proxy may have lost its upstream
            return FetchError(f"{place}: body is not HTTP{_after_bytes(received or 0)}: {_one_line(exc.message)}")
        case aiohttp.ClientPayloadError() | RuntimeError():  # the latter is raised by bodies only
            return _interrupted_body(requested, received)
        case ExcessFraming():
            message = f"{place}: response has {exc}, as 1xx responses or chunk extensions{after}"
            return FetchError(message, transient=False, remedy="check the server, or what stands before it")
        case ValueError():  # InvalidURL, UnicodeError of the idna codec, or a port out of range
            message = f"{shorten(requested.url)!r} is not a usable URL: {shorten(str(exc))}"
            return FetchError(message, transient=False, remedy=CHECK_URL)
        case aiohttp.ServerDisconnectedError() | OSError():
            return _disconnected(exc, requested, received)
    return FetchError(f"{place}: {shorten(str(exc) or type(exc).__name__)}{after}")


# OpenSSL's verify_code (X509_V_ERR_*) -> words for the message
_CERTIFICATE_ERRORS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    19: "is self-signed",
    20: "comes from an unknown issuer",
    21: "comes from an unknown issuer",
    62: "is for another host",
    64: "is for another host",
}


def _certificate(exc: aiohttp.ClientConnectorCertificateError, requested: RequestedUrl) -> FetchError:
    error = exc.certificate_error
    reason = getattr(error, "verify_message", None) or str(error)
    problem = _CERTIFICATE_ERRORS.get(getattr(error, "verify_code", 0), f"is not valid: {reason}")
    remedy = "--cacert (cacert=FILE) trusts its issuer, --insecure (insecure=True) does not verify it"
    return FetchError(f"TLS certificate of {requested.host_port} {problem}", transient=False, remedy=remedy)


# What OpenSSL reports where the first bytes of an answer are not TLS.
_NO_TLS = ("wrong version number", "http request", "packet length too long", "record layer failure")


def _tls(exc: Exception, requested: RequestedUrl, received: int | None) -> FetchError:
    error = getattr(exc, "os_error", exc)
    disconnected = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    reason = str(getattr(error, "reason", None) or error).replace("_", " ").lower()
    message = f"TLS with {requested.host_port} failed: {shorten(reason)}{_after_bytes(received)}"
    remedy = "check the port, or give the URL with http://" if reason.startswith(_NO_TLS) else None
    return FetchError(message, transient=disconnected, remedy=remedy)


def proxy_refusal(requested: RequestedUrl) -> FetchError:
    """The FetchError of a proxy that asks for a login, as it would for every other request (407, RFC 9110 15.5.8)."""
    message = f"{requested.host}: the proxy answered {HTTPStatus.PROXY_AUTHENTICATION_REQUIRED.value}"
    return FetchError(message, transient=False, remedy=PROXY_REMEDY, of_proxy=True)


_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL)


def _connect(exc: aiohttp.ClientConnectorError, requested: RequestedUrl, received: int | None) -> FetchError:
    error = exc.os_error
    if error.errno == REFUSED_ERRNO:
        # Of a host with several addresses, aiohttp joins the messages.
        return refused_address(requested, str(error.strerror).removeprefix("Multiple exceptions: "))
    if error.errno == errno.ECONNREFUSED:
        return FetchError(f"connection refused by {requested.host_port}", remedy="check the host and the port")
    if error.errno in _UNREACHABLE:
        return FetchError(f"no route to {requested.host_port}")
    return _disconnected(error, requested, received)


def refused_address(requested: RequestedUrl, description: str) -> FetchError:
    """Returns the FetchError F13 for an address that the SSRF guard refuses."""
    # aiohttp's joined text repeats "[Errno ...]" before each part.
    description = re.sub(rf"\[Errno {REFUSED_ERRNO}\] ", "", description)
    if not description.startswith(f"{requested.host} "):
        description = f"{requested.host}: {description}"
    remedy = "--allow-private (allow_private=True) permits it"
    return FetchError(description, code="F13", transient=False, remedy=remedy)


def describe_address(address: str, reason: str) -> str:
    """Returns the sentence about an address that is refused; `reason` is from ssrf_guard.address_refusal()."""
    if reason == "malformed":
        return f"{address} is no IP address"
    return f"{address} is {'an' if reason[0] in 'aeiou' else 'a'} {reason} address"


def _one_line(message: str) -> str:
    # aiohttp's message has the offending line and a caret below it, on lines of their own.
    return shorten(" ".join(message.rstrip("^ \n").split()))


def _interrupted_body(requested: RequestedUrl, received: int | None) -> FetchError:
    return FetchError(f"{requested.host_port}: connection broke off{_after_bytes(received or 0)}")


def _disconnected(exc: Exception, requested: RequestedUrl, received: int | None) -> FetchError:
    number = getattr(exc, "errno", None)
    if received is not None:
        return _interrupted_body(requested, received)
    if number == errno.ECONNRESET:
        return FetchError(f"connection reset by {requested.host_port}")
    if isinstance(number, int):
        return FetchError(f"{requested.host_port}: {os.strerror(number)}")
    return FetchError(f"{requested.host_port} closed the connection before it answered")


def _after_bytes(received: int | None) -> str:
    return "" if received is None else f" after {received:,} bytes"


def shorten(text: str) -> str:
    """Returns the text, cut to what fits into a message."""
    return text if len(text) <= _MAX_REASON_CHARACTERS else text[:_MAX_REASON_CHARACTERS] + "…"
