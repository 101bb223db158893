"""The Fetcher protocol and its aiohttp implementation.

A URL and headers go in; a Response, or a FetchError that says what happened and to which host, comes out.
One request: never follows a redirect, tries again, unpacks a body, keeps a cookie or sends credentials of a URL.
"""

from __future__ import annotations

import asyncio
import math
import re
import socket
import ssl
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from ..frontier.seeds import check_header
from ..model.errors import FetchError, UsageError
from ..model.limits import Limits, checked_limits
from .errors import REFUSED_ERRNO, Asked, cut, describe, refused, translated
from .ssrf_guard import Names, literal_address, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType
    from typing import Self

    import aiohttp

CHUNK_BYTES = 64 * 1024  # of a body, at most, at once
_ADDRESS = re.compile(r"(?P<scheme>[^:/?#]*):(?://(?:[^/?#]*@)?(?P<host>[^/?#]+)(?P<rest>[^#]*))?")
_PROXY = re.compile(r"https?://(?:[^/?#@\s]*@)?(?:\[[0-9a-f:.]+\]|[^/?#@\s:\[\]]+)(?::\d{1,5})?/?", re.IGNORECASE)
_PORT = re.compile(r":\d+$")
_UNSENDABLE = re.compile(r"[\x00-\x20\x7f]")


@attrs.define
class Response:
    """The head of an answer, and its body as it comes over the wire.

    `headers` has lower-case names, repeated ones joined by ", ". `chunks` yields bytes that are still packed,
    and raises FetchError where the body breaks off. `url` is the one that was asked for.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    url: str


class Fetcher(Protocol):
    """What a crawl needs of a network. Raises FetchError where there is no answer."""

    def fetch(self, url: str, headers: Mapping[str, str]) -> AbstractAsyncContextManager[Response]:
        """One GET. Leaving the block early gives the connection up."""
        ...  # pragma: no cover


class AiohttpFetcher:
    """Fetches over HTTP with aiohttp. Use it as an async context manager, or `await close()`.

    With a `proxy` only addresses written in URLs can be checked: names are resolved by the proxy. `cacert` is a PEM
    file with the certificates that are trusted in place of the system's; with `insecure` none is verified. An own
    `session` stays open, and needs guarded_connector() or `allow_private`; its user agent and headers give way to
    those of a request.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        limits: Limits = Limits(),  # noqa: B008  frozen
        allow_private: bool = False,
        proxy: str | None = None,
        cacert: str | Path | None = None,
        insecure: bool = False,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        if session is not None and not allow_private and not _is_guarded(session):
            raise UsageError(
                "session: its connector checks no addresses; build it with "
                "ClientSession(connector=guarded_connector()), or pass allow_private=True"
            )
        if proxy is not None:
            _check_proxy(proxy)
        self._user_agent = user_agent
        check_header("User-Agent", user_agent)
        self._limits = checked_limits(limits)
        self._allow_private = allow_private
        self._proxy = proxy
        self._tls = _tls(cacert, insecure=insecure)
        self._session = session
        self._owns_session = session is None
        self._loop: asyncio.AbstractEventLoop | None = None  # of our own session
        self._open = 0  # answers that are not released
        self._stays_open = True

    async def __aenter__(self) -> Self:
        self._stays_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the session, unless it was passed in. A later fetch opens one for as long as it takes."""
        self._stays_open = False
        await self._close_session()

    async def _close_session(self) -> None:
        if self._owns_session and self._session is not None:
            session, self._session = self._session, None
            await session.close()

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """One GET request. The body is read as `response.chunks` is asked for it."""
        asked = _asked(url, self._limits)
        self._check_literal(asked)
        self._open += 1
        try:
            answer = await self._ask(asked, headers)
            try:
                chunks = _Chunks(answer, asked)
                yield Response(answer.status, plain_headers(answer.headers.items()), chunks, url)
            finally:
                answer.release()  # closes the connection where the body was not read to its end
        finally:
            self._open -= 1
            if not (self._open or self._stays_open):
                await self._close_session()

    async def _ask(self, asked: Asked, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        import aiohttp
        from multidict import CIMultiDict
        from yarl import URL

        seconds = aiohttp.ClientTimeout(
            total=None, connect=_finite(self._limits.connect_seconds), sock_read=_finite(self._limits.read_seconds)
        )
        session = self._session or self._open_session()
        if self._owns_session and self._loop is not asyncio.get_running_loop():
            raise UsageError("a reader belongs to the event loop that it was first used on: make one for each loop")
        sent = CIMultiDict({"Accept-Encoding": "gzip", "User-Agent": self._user_agent})
        sent.update(headers)  # names in any case replace those above
        try:
            return await session.get(
                URL(asked.url, encoded=True),
                headers=sent,
                allow_redirects=False,
                auto_decompress=False,
                timeout=seconds,
                proxy=self._proxy,
                ssl=self._tls,
            )
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            raise translated(exc, asked) from exc

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp

        # Through a proxy every connect goes to the proxy itself, whose address the user chose.
        connector = guarded_connector(allow_private=self._allow_private or self._proxy is not None)
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            middlewares=(_once,),
            read_bufsize=CHUNK_BYTES,
        )
        return self._session

    def _check_literal(self, asked: Asked) -> None:
        """Addresses written in the URL: here for the sake of proxies; the connector checks them as well."""
        if self._allow_private:
            return
        address = "127.0.0.1" if _is_localhost(asked.host) else literal_address(asked.host)
        reason = refusal(address) if address else None
        if address and reason:
            raise refused(asked, describe(address, reason))


def guarded_connector(*, allow_private: bool = False, **kwargs: Any) -> aiohttp.TCPConnector:
    """An aiohttp connector that checks every IP address at connect, literals included.

    `kwargs` are aiohttp.TCPConnector's; the number of connections is unlimited unless `limit` says otherwise.
    Needs a running event loop.
    """
    import aiohttp

    from .aiohttp_patches import mend

    class GuardedConnector(aiohttp.TCPConnector):
        checks_addresses = not allow_private

    make_socket = kwargs.pop("socket_factory", None) or _plain_socket

    def checked_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        address = str(info[4][0])
        reason = None if allow_private else refusal(address)
        if reason:
            raise OSError(REFUSED_ERRNO, describe(address, reason))
        return make_socket(info)

    resolver = kwargs.pop("resolver", None) or aiohttp.ThreadedResolver(Names())  # type: ignore[arg-type]
    connector = GuardedConnector(**{"limit": 0, **kwargs}, resolver=resolver, socket_factory=checked_socket)
    mend(connector)
    return connector


def usable_url(url: str) -> re.Match[str]:
    """The parts of an http or https URL: `scheme`, `host` (with its port, without userinfo) and `rest`.

    FetchError U02 for other schemes.
    """
    match = _ADDRESS.match(url)
    if match is None or match["scheme"].lower() not in ("http", "https"):
        raise FetchError(f"{cut(url)}: only http and https are fetched", code="U02", transient=False)
    if match["host"] is None:
        raise FetchError(f"{cut(url)!r} is no usable URL: it has no host", transient=False)
    return match


# --- parts of a fetch -------------------------------------------------------------------------------------------


def _asked(url: str, limits: Limits) -> Asked:
    parts = usable_url(url)
    scheme, authority, rest = parts["scheme"].lower(), parts["host"], parts["rest"]
    # Spaces and line ends would reach the request line as they are.
    if not f"{authority}{rest}".isascii() or _UNSENDABLE.search(url):
        raise FetchError(f"{cut(url)!r} is no usable URL", transient=False)
    port = _PORT.search(authority)
    place = authority if port else f"{authority}:{443 if scheme == 'https' else 80}"
    host = _PORT.sub("", authority).strip("[]")
    return Asked(f"{scheme}://{authority}{rest}", host, place, limits.connect_seconds, limits.read_seconds)


class _Chunks:
    """The body, as it arrives, up to a break; counts it, so that the break can say where it was."""

    def __init__(self, answer: aiohttp.ClientResponse, asked: Asked) -> None:
        self._answer = answer
        self._target = asked
        self._received = 0
        self._fault: Exception | None = None

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        import aiohttp

        from .aiohttp_patches import unread

        chunk = b""
        if self._fault is None:
            try:
                chunk = await self._answer.content.read(CHUNK_BYTES)
            # RuntimeError: what a connector that is not ours raises where it has lost the connection in silence.
            except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as exc:
                self._fault = exc
                chunk = unread(self._answer.content)
        if not chunk:
            if self._fault is not None:
                raise translated(self._fault, self._target, self._received) from self._fault
            raise StopAsyncIteration
        self._received += len(chunk)
        return chunk


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """A middleware that keeps aiohttp from asking again when the server hangs up: tries are counted elsewhere."""
    import aiohttp

    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as exc:
        raise translated(exc, _asked(str(request.url), Limits())) from exc


def _check_proxy(proxy: object) -> None:
    """UsageError for what aiohttp would refuse at each request, with the password in its words: it is not shown."""
    from yarl import URL

    if not (isinstance(proxy, str) and _PROXY.fullmatch(proxy)):
        raise UsageError("proxy: write it as http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT; no SOCKS")
    try:
        url = URL(proxy)
        f"{url.user or ''}{url.password or ''}".encode("latin-1")  # aiohttp sends it so
    except UnicodeEncodeError:
        raise UsageError("proxy: its user or password cannot be sent: a character is not in Latin-1") from None
    except ValueError:
        raise UsageError("proxy: its host or its port is not usable; write it as http://HOST:PORT") from None


def _tls(cacert: str | Path | None, *, insecure: bool) -> ssl.SSLContext | bool:
    """The `ssl` argument of aiohttp: True verifies by the system's certificates, False does not verify."""
    if cacert is None:
        return not insecure
    if insecure:
        raise UsageError("--cacert (cacert=FILE) and --insecure (insecure=True) exclude each other; give one of them")
    try:
        Path(cacert).open("rb").close()
        return ssl.create_default_context(cafile=str(cacert))
    except (OSError, ValueError) as exc:
        why = "it holds no PEM certificate" if isinstance(exc, ssl.SSLError) else getattr(exc, "strerror", None) or exc
        raise UsageError(f"cacert: {cacert} cannot be read: {why}; give a file of PEM certificates") from exc


def _is_guarded(session: aiohttp.ClientSession) -> bool:
    return bool(getattr(getattr(session, "connector", None), "checks_addresses", False))


def _is_localhost(host: str) -> bool:
    # RFC 6761 6.3: the name and all below it are loopback, whatever a resolver says.
    return f".{host.lower().rstrip('.')}".endswith(".localhost")


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None  # aiohttp's word for no limit


def _plain_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol = info[:3]
    return socket.socket(family, kind, protocol)


def plain_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names and values as they came, bytes that are not UTF-8 as surrogates -> the headers of a Response."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.lower(), _text(value)
        # Said twice alike is said once: a proxy's doubled Location is one place.
        headers[key] = f"{headers[key]}, {text}" if headers.get(key, text) != text else text
    return headers


def _text(value: str) -> str:
    """A header value without lone surrogates: aiohttp puts them where bytes are not UTF-8."""
    if value.isascii():
        return value
    return text_of(value.encode("utf-8", "surrogateescape"))


def text_of(raw: bytes) -> str:
    """Header values as text, whatever their bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # RFC 9110 5.5: what such octets historically were
