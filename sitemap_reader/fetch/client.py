"""The Fetcher protocol and its aiohttp implementation, which sends one request.

It never follows a redirect, retries, decompresses a body, keeps a cookie or sends a URL's userinfo.
fetch_error() translates exceptions of aiohttp, the operating system and TLS into FetchError.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import re
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import attrs

from ..frontier.responses import PROXY_REMEDY
from ..model.errors import FetchError, UsageError
from ..model.limits import CHUNK_BYTES, MIB, Limits, checked_limits
from ..version import USER_AGENT
from .proxies import SOCKS, no_connection, place_of, proxy_function, proxy_refusal, socks_socket
from .request_headers import check_header
from .ssrf_guard import address_refusal, literal_address

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

    from .proxies import ProxyOf


# An errno that no operating system uses: it survives aiohttp's wrapping and its joining of several addresses' errors.
REFUSED_ERRNO = 99_013
_MAX_REASON_CHARACTERS = 160
CHECK_URL = "check the URL"


class ExcessFraming(ValueError):
    """A response with too many bytes that are not of its body; no OSError, as aiohttp would wrap that."""


@attrs.frozen
class RequestedUrl:
    """A URL as it is requested, without userinfo and fragment; its host, timeouts and proxy, for messages."""

    url: str
    host: str
    host_port: str
    connect_seconds: float
    read_seconds: float
    proxy: str = ""  # its host and port


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
            return no_connection(host, f"{exc.host}:{exc.port}")
        case aiohttp.ClientConnectorError():
            return _connect(exc, requested, received)
        case aiohttp.ClientHttpProxyError():
            return _proxy_answer(exc.status, requested)
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

# How the reasons end with which servers refuse a client without a certificate, the second in TLS 1.2.
_NO_CLIENT_CERTIFICATE = ("alert certificate required", "alert handshake failure", "alert bad certificate")


def _tls(exc: Exception, requested: RequestedUrl, received: int | None) -> FetchError:
    error = getattr(exc, "os_error", exc)
    disconnected = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    reason = str(getattr(error, "reason", None) or error).replace("_", " ").lower()
    message = f"TLS with {requested.host_port} failed: {shorten(reason)}{_after_bytes(received)}"
    remedy = "check the port, or give the URL with http://" if reason.startswith(_NO_TLS) else None
    if reason.endswith(_NO_CLIENT_CERTIFICATE):
        remedy = "the server may want a client certificate: in Python give a session= whose SSL context has one"
    return FetchError(message, transient=disconnected, remedy=remedy)


def _proxy_answer(status: int, requested: RequestedUrl) -> FetchError:
    """407: the proxy asks for a login, as it would for every other request (RFC 9110 15.5.8)."""
    remedy = PROXY_REMEDY if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED else None
    return proxy_refusal(requested.host, requested.proxy, str(status), remedy, transient=status >= 500)


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


OTHER_LOOP = "a reader belongs to the event loop that it was first used on: make one for each loop"

_HTTP_URL = re.compile(r"(?P<scheme>[^:/?#]*):(?://(?:[^/?#]*@)?(?P<host>[^/?#]+)(?P<rest>[^#]*))?")
_PORT = re.compile(r":\d+$")
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")


def response_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns headers by lower-case name for names and values as received, with non-UTF-8 bytes as surrogates."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        # aiohttp puts lone surrogates for bytes that are not UTF-8.
        key, text = name.lower(), header_text(value.encode("utf-8", "surrogateescape"))
        # The same value twice counts once: some proxies repeat Location.
        headers[key] = f"{headers[key]}, {text}" if headers.get(key, text) != text else text
    return headers


def header_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # RFC 9110 5.5: the historical charset of such octets


def _by_lower_case_name(headers: Mapping[str, str]) -> dict[str, str]:
    return response_headers(headers.items())


@attrs.define
class Response:
    """The head of a response, and its body as it arrives.

    `headers` may be given with names in any case, also as a multidict: they become lower-case, and the values of
    repeated names are joined by ", ". `chunks` yields the bytes of the body as sent, without undoing
    Content-Encoding, and raises FetchError where it breaks off. `url` is the requested one.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(converter=_by_lower_case_name)
    chunks: AsyncIterator[bytes]
    url: str


class Fetcher(Protocol):
    """What a crawl needs of a network: one request, one response.

    A fetcher follows no redirect, retries nothing, decompresses nothing and keeps no cookies: that is done by the
    crawl, which gives the cookies of redirects in `headers`, and decodes gzip, deflate and, with their packages, br and
    zstd. It sends a User-Agent of its own.

    It decides which addresses may be connected to. URLs come from sitemaps, redirects and robots.txt of any site, and
    may name hosts of the internal network: check the IP address of each connection with address_refusal() when it is
    made, as a name may have another address by then, and raise a FetchError with code F13. AiohttpFetcher and
    guarded_connector() do so.
    """

    def fetch(self, url: str, headers: Mapping[str, str]) -> AbstractAsyncContextManager[Response]:
        """Sends one GET with these headers, which override its own, and gives the Response to the block.

        `url` is http or https, in ASCII, without userinfo and fragment. Calls overlap, on one event loop. A timeout
        cancels the call, or the iteration of `Response.chunks`. The body is read inside the block, not always to its
        end; `chunks` is not closed before. Leaving the block ends the response, and closes its connection unless the
        body was read.

        A FetchError, raised before the block, by `chunks` or when the block is left, is a failure of this request
        alone: a problem with its code, after retries if it is transient; bytes that had arrived are read. The block
        is left with the exception that `chunks` raised, so it may be converted there. Any other exception ends the
        crawl and is raised to the caller.
        """
        ...  # pragma: no cover


class AiohttpFetcher:
    """Fetches over HTTP with aiohttp. Use it as an async context manager, or `await close()`.

    `proxy` is a URL, "env" for those of the environment, or a function from the URL of a request to that of its proxy
    or None, called for each request. Of requests through a proxy only addresses written in URLs can be checked, as
    the proxy resolves names, unless it is socks4:// or socks5://: for these, names are resolved here, and checked. The
    address of a proxy is not checked. `cacert` is a PEM file with the certificates to trust instead of the system's;
    with `insecure` none is verified. A `session` of the caller stays open, and needs guarded_connector() or
    `allow_private`; a request's headers override the session's.
    """

    def __init__(
        self,
        *,
        user_agent: str = USER_AGENT,
        limits: Limits = Limits(),  # noqa: B008  frozen
        allow_private: bool = False,
        proxy: str | ProxyOf | None = None,
        cacert: str | Path | None = None,
        insecure: bool = False,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        is_guarded = getattr(getattr(session, "connector", None), "checks_addresses", False)
        if session is not None and not allow_private and not is_guarded:
            raise UsageError(
                "session: its connector checks no addresses; build it with "
                "ClientSession(connector=guarded_connector()), or pass allow_private=True"
            )
        self._user_agent = user_agent
        check_header("User-Agent", user_agent)
        self._limits = checked_limits(limits)
        self._allow_private = allow_private
        self._proxy_of = proxy_function(proxy)
        self._ssl = _ssl(cacert, insecure=insecure)
        self._session = session
        self._owns_session = session is None
        self._session_loop: asyncio.AbstractEventLoop | None = None
        self._open_responses = 0
        self._keeps_session = True

    async def __aenter__(self) -> Self:
        self._keeps_session = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the session, unless it was passed in. A later fetch() opens one, and closes it at its end."""
        self._keeps_session = False
        await self._close_session()

    async def _close_session(self) -> None:
        if self._owns_session and self._session is not None:
            session, self._session = self._session, None
            await session.close()

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Sends one GET request. The body is read as `response.chunks` is iterated."""
        from yarl import URL

        requested = _requested_url(url, self._limits)
        self._check_literal(requested)
        given = self._proxy_of(requested.url)
        proxy = None if given is None else URL(given)
        if proxy is not None:
            requested = attrs.evolve(requested, proxy=place_of(proxy))
        self._open_responses += 1
        try:
            response = await self._send(requested, headers, proxy)
            protocol = _ResponseProtocol.of(response.connection)
            if protocol:
                protocol.reads(response.content, self._limits.max_wire_bytes)
            try:
                if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and proxy is not None:
                    raise _proxy_answer(response.status, requested)
                chunks = _BodyChunks(response, requested)
                yield Response(response.status, response.headers, chunks, url)
            finally:
                if protocol:
                    protocol.begin(None)  # the next request may not be one of a fetcher
                response.release()  # closes the connection where the body was not read to its end
        finally:
            self._open_responses -= 1
            if not (self._open_responses or self._keeps_session):
                await self._close_session()

    async def _send(
        self, requested: RequestedUrl, headers: Mapping[str, str], proxy: URL | None
    ) -> aiohttp.ClientResponse:
        import aiohttp
        from multidict import CIMultiDict
        from yarl import URL

        timeout = aiohttp.ClientTimeout(
            total=None,
            connect=_finite_or_none(self._limits.connect_seconds),
            sock_read=_finite_or_none(self._limits.read_seconds),
        )
        session = self._session or self._open_session()
        if self._owns_session and self._session_loop is not asyncio.get_running_loop():
            raise UsageError(OTHER_LOOP)
        if proxy is not None and proxy.scheme in SOCKS and not hasattr(session.connector, "checks_addresses"):
            raise UsageError("SOCKS needs a session with a guarded_connector()", keyword="proxy")
        request_headers = CIMultiDict({"Accept-Encoding": "gzip", "User-Agent": self._user_agent})
        request_headers.update(headers)  # whatever the case of their names
        max_wire_bytes = _max_wire_bytes.set(self._limits.max_wire_bytes)
        try:
            return await session.get(
                URL(requested.url, encoded=True),
                headers=request_headers,
                allow_redirects=False,
                auto_decompress=False,
                timeout=timeout,
                proxy=proxy,
                ssl=self._ssl,
            )
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            raise fetch_error(exc, requested) from exc
        finally:
            _max_wire_bytes.reset(max_wire_bytes)

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp

        connector = guarded_connector(allow_private=self._allow_private)
        self._session_loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            middlewares=(_without_retry,),
            read_bufsize=CHUNK_BYTES,
        )
        return self._session

    def _check_literal(self, requested: RequestedUrl) -> None:
        """Refuses private addresses written in the URL: with a proxy, the connector does not see them."""
        if self._allow_private:
            return
        # RFC 6761 6.3: the name and all below it are loopback; the resolver may not know that.
        is_localhost = f".{requested.host.lower().rstrip('.')}".endswith(".localhost")
        address = "127.0.0.1" if is_localhost else literal_address(requested.host)
        reason = address_refusal(address) if address else None
        if address and reason:
            raise refused_address(requested, describe_address(address, reason))


def guarded_connector(*, allow_private: bool = False, **kwargs: Any) -> aiohttp.TCPConnector:
    """Returns an aiohttp connector that checks each IP address before it connects, also those written in URLs.

    It does not check the address of a request's `proxy`, which the caller chose, and takes SOCKS proxies, too.
    `kwargs` are aiohttp.TCPConnector's; the number of connections is unlimited unless there is a `limit`.
    Needs a running event loop.
    """
    import aiohttp

    class GuardedConnector(aiohttp.TCPConnector):
        checks_addresses = not allow_private

        async def connect(self, req: aiohttp.ClientRequest, *args: Any, **options: Any) -> aiohttp.connector.Connection:
            connection = await super().connect(req, *args, **options)
            if protocol := _ResponseProtocol.of(connection):
                protocol.begin(_max_wire_bytes.get())
            if req.proxy is not None and req.proxy.scheme in SOCKS:
                # The connection is one to the host: it is not sent the whole URL, nor the login of the proxy, which
                # aiohttp puts into the headers for a connection that it uses again.
                req.proxy = None
                req.headers.popall("Proxy-Authorization", None)
            return connection

        async def _create_proxy_connection(
            self, req: aiohttp.ClientRequest, *args: Any
        ) -> tuple[asyncio.BaseTransport, aiohttp.client_proto.ResponseHandler]:
            proxy, context = req.proxy, self._get_ssl_context(req)
            if proxy is None or proxy.scheme not in SOCKS:
                is_to_proxy = _is_to_proxy.set(True)
                try:
                    return await super()._create_proxy_connection(req, *args)
                finally:
                    _is_to_proxy.reset(is_to_proxy)
            host = await self._socks_host(req, proxy.scheme)
            return await self._wrap_existing_connection(
                self._factory,
                sock=await socks_socket(proxy, host, req.port or 0, req.host),
                ssl=context,
                server_hostname=req.host.rstrip(".") if context else None,
                req=req,
                timeout=args[-1],
            )

        async def _socks_host(self, req: aiohttp.ClientRequest, scheme: str) -> str:
            """The host of a request, or where the proxy does not resolve it an address of it, which was checked."""
            version, resolves = SOCKS[scheme]
            if resolves:
                return req.host
            try:
                found = await self._resolve_host(req.host, req.port or 0)
            except OSError as exc:
                raise aiohttp.ClientConnectorDNSError(req.connection_key, exc) from exc
            # IPv4 first, as many proxies have no IPv6; SOCKS 4 has no other addresses.
            found.sort(key=lambda each: each["family"] != socket.AF_INET)
            if version == 4 and found[0]["family"] != socket.AF_INET:
                raise FetchError(f"{req.host}: no IPv4 address, as SOCKS 4 needs", transient=False)
            address = found[0]["host"]
            try:
                check_address(address)
            except OSError as exc:
                raise aiohttp.ClientConnectorError(req.connection_key, exc) from exc
            return address

    make_socket = kwargs.pop("socket_factory", None) or (lambda info: socket.socket(*info[:3]))

    def check_address(address: str) -> None:
        reason = None if allow_private else address_refusal(address)
        if reason:
            raise OSError(REFUSED_ERRNO, describe_address(address, reason))

    def checked_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        if not _is_to_proxy.get():
            check_address(str(info[4][0]))
        return make_socket(info)

    resolver = kwargs.pop("resolver", None) or aiohttp.ThreadedResolver(Resolver())  # type: ignore[arg-type]
    return GuardedConnector(**{"limit": 0, **kwargs}, resolver=resolver, socket_factory=checked_socket)


# What a response may have beside its body: heads, also of 1xx responses, sizes and extensions of chunks, trailers. A
# byte of the body has no more than 5 of these, unless there are extensions or leading zeros.
MAX_FRAMING_BYTES = MIB
_FRAMING_PER_BYTE = 5
# Of the request that a connector makes a connection for; None if it is not one of a fetcher.
_max_wire_bytes: ContextVar[int | None] = ContextVar("max_wire_bytes", default=None)

# Whether a connection is made to a proxy; its sockets are made in tasks that inherit the context.
_is_to_proxy: ContextVar[bool] = ContextVar("is_to_proxy", default=False)

_HEAD_END = b"\r\n\r\n"


class _ResponseProtocol:
    """A protocol of asyncio between a transport and aiohttp's; corrects two faults of that, and counts bytes.

    aiohttp's parser drops a head if an error follows in the same call, such as a body that is longer than its
    Content-Length: it is fed the head separately. And it does not pass an error in a chunk to a reader that waits for
    the body, which would wait forever. It does not report how many bytes belong to no body.
    """

    def __init__(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol: Any = protocol
        self._body: aiohttp.StreamReader | None = None
        self._last_bytes = b""  # of earlier calls: the empty line that ends a head may have begun there
        self._max_wire_bytes: int | None = None  # None: nothing is counted
        self._received = 0  # since begin()
        self._excess: ExcessFraming | None = None

    @classmethod
    def of(cls, connection: aiohttp.connector.Connection | None) -> _ResponseProtocol | None:
        """Returns that of a connection, and installs it before the first response; None if the connection has ended."""
        transport = connection.transport if connection else None
        if transport is None:
            return None
        protocol: Any = transport.get_protocol()
        if isinstance(protocol, cls):
            return protocol
        installed = cls(protocol)  # it has all methods of one, by __getattr__()
        transport.set_protocol(installed)  # type: ignore[arg-type]
        return installed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def begin(self, max_wire_bytes: int | None) -> None:
        """Begins a request, or another use of the connection."""
        self._max_wire_bytes, self._received, self._body = max_wire_bytes, 0, None

    def reads(self, body: aiohttp.StreamReader, max_wire_bytes: int) -> None:
        """Sets the body that receives errors; counts from here on if it was not installed before the head."""
        self._body, self._max_wire_bytes = body, max_wire_bytes

    def data_received(self, data: bytes) -> None:
        self._pass_on(data)
        self._received += len(data)
        if self._max_wire_bytes is not None:
            body = self._body.total_bytes if self._body is not None else 0
            most = MAX_FRAMING_BYTES + min(body * _FRAMING_PER_BYTE, self._max_wire_bytes)
            if self._received - body > most:
                self._max_wire_bytes, self._excess = None, ExcessFraming(f"over {most:,} bytes beside its body")
                self._protocol.set_exception(self._excess)
                if self._body is not None:
                    self._body.set_exception(self._excess)
                if self._protocol.transport is not None:
                    self._protocol.transport.abort()

    def _pass_on(self, data: bytes) -> None:
        before = self._last_bytes
        known = before + data
        end = known.find(_HEAD_END)
        self._last_bytes = known[1 - len(_HEAD_END) :]
        size = len(data) if end < 0 else end + len(_HEAD_END) - len(before)
        self._protocol.data_received(data[:size])
        if size < len(data):
            self._protocol.data_received(data[size:])

    def connection_lost(self, exc: Exception | None) -> None:
        error, body = self._protocol.exception(), self._body
        self._protocol.connection_lost(exc)
        if error is None or body is None or body.is_eof():
            return
        if body.exception() is None or error is self._excess:  # aiohttp says of that only that the body is incomplete
            body.set_exception(error)


class Resolver:
    """Resolves names with the operating system, each in a thread of its own; has the loop's methods that aiohttp calls.

    The event loop has few threads, and a lookup cannot be cancelled: name servers that do not answer for one host would
    delay the lookups of all others, and the end of the program.
    """

    async def getaddrinfo(
        self, host: str, port: int, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> Any:
        return await _in_daemon_thread(partial(socket.getaddrinfo, host, port, family, type, proto, flags))

    async def getnameinfo(self, address: tuple[Any, ...], flags: int = 0) -> Any:
        return await _in_daemon_thread(partial(socket.getnameinfo, address, flags))


async def _in_daemon_thread(call: Callable[[], Any]) -> Any:
    """Returns or raises what `call` does; if this is cancelled, the thread goes on and its result is dropped."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as exc:
            future.set_exception(exc)

    threading.Thread(target=run, name="sitemap-reader-name", daemon=True).start()
    return await asyncio.wrap_future(future)


def http_url_parts(url: str) -> re.Match[str]:
    """The parts of an http or https URL: `scheme`, `host` (with its port, without userinfo) and `rest`.

    FetchError, with code U02 for other schemes.
    """
    match = _HTTP_URL.match(url)
    if match is None or match["scheme"].lower() not in ("http", "https"):
        raise FetchError(f"{shorten(url)}: only http and https are fetched", code="U02", transient=False)
    if match["host"] is None:
        raise FetchError(f"{shorten(url)!r} is not a usable URL: it has no host", transient=False, remedy=CHECK_URL)
    return match


def _requested_url(url: str, limits: Limits) -> RequestedUrl:
    parts = http_url_parts(url)
    scheme, authority, rest = parts["scheme"].lower(), parts["host"], parts["rest"]
    # aiohttp would write spaces and line ends to the request line as they are.
    if not f"{authority}{rest}".isascii() or _UNSAFE.search(url):
        raise FetchError(f"{shorten(url)!r} is not a usable URL", transient=False, remedy=CHECK_URL)
    port = _PORT.search(authority)
    host_port = authority if port else f"{authority}:{443 if scheme == 'https' else 80}"
    host = _PORT.sub("", authority).strip("[]")
    return RequestedUrl(f"{scheme}://{authority}{rest}", host, host_port, limits.connect_seconds, limits.read_seconds)


@attrs.define(eq=False)
class _BodyChunks(AsyncIterator[bytes]):
    """Iterates over a body as it arrives; a FetchError for a break states how many bytes came before it."""

    _response: aiohttp.ClientResponse
    _requested: RequestedUrl
    _received: int = 0
    _error: Exception | None = None

    async def __anext__(self) -> bytes:
        import aiohttp
        from aiohttp.http import HttpProcessingError

        chunk, body = b"", self._response.content
        if self._error is None:
            try:
                chunk = await body.read(CHUNK_BYTES)
            # RuntimeError: raised with another connector than guarded_connector() after it lost the connection.
            except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError, RuntimeError) as exc:
                self._error = exc
                body.set_exception(None)  # type: ignore[arg-type]  # read_nowait() would raise it, too
                chunk = body.read_nowait()  # what had arrived
        if not chunk:
            if self._error is not None:
                raise fetch_error(self._error, self._requested, self._received) from self._error
            raise StopAsyncIteration
        self._received += len(chunk)
        return chunk


async def _without_retry(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """A middleware that keeps aiohttp from retrying when the server disconnects: the frontier counts tries."""
    import aiohttp

    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as exc:
        raise fetch_error(exc, _requested_url(str(request.url), Limits())) from exc


def _ssl(cacert: str | Path | None, *, insecure: bool) -> ssl.SSLContext | bool:
    """Returns aiohttp's `ssl` argument: True verifies with the system's certificates, False does not verify."""
    if cacert is None:
        return not insecure
    if insecure:
        raise UsageError.of("{cacert=} and {insecure=} exclude each other; give one of them")
    try:
        Path(cacert).open("rb").close()
        return ssl.create_default_context(cafile=str(cacert))
    except (OSError, ValueError) as exc:
        why = "it holds no PEM certificate" if isinstance(exc, ssl.SSLError) else getattr(exc, "strerror", None) or exc
        raise UsageError(
            f"{cacert} cannot be read: {why}", keyword="cacert", remedy="give a file of PEM certificates"
        ) from exc


def _finite_or_none(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None  # None: no limit
