"""The HTTP server of a watch: pings in; changes, sites, health, metrics and a page out.

In: a Watcher, a PingReceiver and an address. Out: an aiohttp.web application that runs in the watch's event loop. It
never writes to the state, and waits for slow clients only within limits.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import re
import socket
from contextlib import asynccontextmanager
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import orjson
from aiohttp import web

from ..model.errors import StateError, UsageError
from ..version import __version__
from .change_streams import ChangeStreams
from .metrics import CONTENT_TYPE, check_prometheus, metrics_text
from .rate_limits import ServerLimits
from .status import SiteQuery, json_object

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from .pings import PingReceiver
    from .watcher import Watcher

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MIN_TOKEN_CHARACTERS = 16
TOKEN_VARIABLE = "SITEMAP_READER_TOKEN"  # noqa: S105 - the name of a variable of the environment


@attrs.frozen
class Listen:
    """An address to listen on: `host` is an IP address or a name, without brackets."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only processes of this machine can connect."""
        return _is_loopback(self.host)

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"


_LISTEN = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})", re.ASCII)


def parse_listen(text: str) -> Listen:
    """The address of `--listen`. UsageError unless it is HOST:PORT.

    >>> parse_listen("[::1]:8080")
    Listen(host='::1', port=8080)
    """
    match = _LISTEN.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        raise UsageError(f"listen: {text!r} is not HOST:PORT; write it as 127.0.0.1:8080, or [::1]:8080")
    return Listen(match["host"].strip("[]"), int(match["port"]))


def check_token(token: str | None, listen: Listen) -> None:
    """Raises UsageError where a token is missing or too short; the message does not contain it."""
    hint = f"make one with `openssl rand -hex 32`, and set the environment variable {TOKEN_VARIABLE} to it"
    if token is None:
        if not listen.is_loopback:
            raise UsageError(f"listen: other machines can reach {listen.host}, so a token is required; {hint}")
    elif len(token) < MIN_TOKEN_CHARACTERS or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise UsageError(f"token: it needs at least {MIN_TOKEN_CHARACTERS} characters of ASCII without spaces; {hint}")


@asynccontextmanager
async def serve(
    watcher: Watcher,
    pings: PingReceiver,
    listen: str,
    *,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    behind_proxy: bool = False,
    limits: ServerLimits = ServerLimits(),  # noqa: B008 - frozen
) -> AsyncIterator[Listen]:
    """Serves while the block runs, which gets the address, with the real port for port 0. See make_app().

    PingReceiver.run() has to run beside it. UsageError where the address cannot be used, or a token is missing.
    """
    address = parse_listen(listen)
    check_token(token, address)
    app = make_app(watcher, pings, token=token, hosts=hosts, behind_proxy=behind_proxy, limits=limits)
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=limits.idle_seconds,  # also of the head of the first request
        lingering_time=limits.body_seconds,  # of a body that is not read, before the connection is closed
        max_line_size=limits.head_bytes,
        max_field_size=limits.head_bytes,
        shutdown_timeout=limits.shutdown_seconds,
    )
    await runner.setup()
    try:
        server = await _bind(runner, address, limits.connections)
        try:
            yield attrs.evolve(address, port=server.sockets[0].getsockname()[1])
        finally:
            server.close()
    finally:
        await runner.cleanup()


class _Refusal(asyncio.Protocol):
    """Closes a connection that is one too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


async def _bind(runner: web.AppRunner, address: Listen, connections: int) -> asyncio.Server:
    requests = runner.server
    assert requests is not None  # noqa: S101  setup() makes it

    def protocol() -> asyncio.Protocol:
        return requests() if len(requests.connections) < connections else _Refusal()

    try:
        return await asyncio.get_running_loop().create_server(protocol, address.host, address.port)
    except OSError as exc:
        _raise_usage(exc, address)


_REASONS = {
    errno.EADDRINUSE: "another program listens there; end it, or choose another port",
    errno.EACCES: "this user may not use the port; choose one from 1024 on",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose one of its own, such as 127.0.0.1",
}


def _raise_usage(exc: OSError, address: Listen) -> NoReturn:
    unresolved = isinstance(exc, socket.gaierror)
    number = exc.errno or errno.EADDRNOTAVAIL  # asyncio has passed over all addresses, and gives no number
    why = "the host name has no address" if unresolved else _REASONS.get(number, os.strerror(number))
    raise UsageError(f"listen: {address.url[7:-1]} cannot be used: {why}") from exc


# --- the application ---

_HEADERS = {
    "Server": f"sitemap-reader/{__version__}",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PAGE = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}

# Without a token, and for any Host: the page has no data, sites ping without a token, and /healthz has no site.
OPEN_PATHS = frozenset({*_PAGE, "/ping", "/healthz"})


def make_app(
    watcher: Watcher,
    pings: PingReceiver,
    *,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    behind_proxy: bool = False,
    limits: ServerLimits = ServerLimits(),  # noqa: B008 - frozen
) -> web.Application:
    """The application, without an address.

    With a `token`, all but the page, /ping and /healthz need the header `Authorization: Bearer TOKEN`. Without one,
    their Host has to be loopback or one of `hosts`, so that no web page can read them by a name that resolves to
    loopback (DNS rebinding). `behind_proxy`: the last address of X-Forwarded-For is the client's.
    """
    check_prometheus()
    service = _Service(watcher, pings, behind_proxy, limits, ChangeStreams(watcher.feed, limits))
    allows = _token_check(token) if token is not None else _host_check(hosts)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in OPEN_PATHS or allows(request):
            return await _answer(request, handler)
        return _refusal(has_token=token is not None)

    app = web.Application(middlewares=[guard], client_max_size=limits.body_bytes)
    app.on_response_prepare.append(_add_headers)
    app.on_shutdown.append(service.streams.stop)
    for path, (name, content_type) in _PAGE.items():
        app.router.add_get(path, _static(name, content_type))
    app.router.add_route("GET", "/ping", service.ping)
    app.router.add_route("POST", "/ping", service.ping)
    app.router.add_get("/changes", service.streams.respond, allow_head=False)
    app.router.add_get("/sites", service.sites)
    app.router.add_get("/totals", service.totals)
    app.router.add_get("/healthz", service.health)
    app.router.add_get("/metrics", service.metrics)
    return app


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except UsageError as exc:
        return _text(400, str(exc))
    except StateError:
        return _text(503, "the state cannot be read at present")


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def _token_check(token: str) -> Callable[[web.Request], bool]:
    expected = f"Bearer {token}".encode()

    def allows(request: web.Request) -> bool:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        text = f"{scheme.capitalize()} {given.strip()}"  # RFC 9110 11.1: the scheme in any case
        return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), expected)

    return allows


def _host_check(hosts: tuple[str, ...]) -> Callable[[web.Request], bool]:
    names = {name.lower() for name in hosts}

    def allows(request: web.Request) -> bool:
        name = re.sub(r":\d+$", "", request.headers.get("Host", "")).lower()
        return name in names or _is_loopback(name.strip("[]"))

    return allows


def _refusal(*, has_token: bool) -> web.Response:
    if has_token:
        response = _text(401, "give the token of the watch in a header: Authorization: Bearer TOKEN")
        response.headers["WWW-Authenticate"] = 'Bearer realm="sitemap-reader watch"'
        return response
    return _text(421, "this host name is not expected: use 127.0.0.1, or set a token")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")


def _static(name: str, content_type: str) -> Handler:
    body = files(__package__).joinpath(name).read_bytes()

    async def respond(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type=content_type, charset="utf-8")

    return respond


@attrs.frozen
class _Service:
    """The routes, but for the page."""

    watcher: Watcher
    pings: PingReceiver
    behind_proxy: bool
    limits: ServerLimits
    streams: ChangeStreams

    async def ping(self, request: web.Request) -> web.Response:
        """As sitemaps.org describes the submission by HTTP request: 200 means that it was received."""
        receipt = self.pings.receive(await self._pinged(request), self._client(request))
        if receipt.result == "invalid":
            return _text(400, "give the URL of a sitemap, http or https, encoded: /ping?sitemap=https%3A%2F%2F…")
        if receipt.result == "rate_limited":
            response = _text(429, f"too many pings; repeat this one in {receipt.retry_seconds} s")
            response.headers["Retry-After"] = str(receipt.retry_seconds)
            return response
        return _text(200, "Ping received.")

    async def _pinged(self, request: web.Request) -> str:
        url = request.query.get("sitemap", "")
        if url or request.method == "GET":
            return url
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                form = await request.post()
        except TimeoutError as exc:
            raise web.HTTPRequestTimeout from exc
        except (ValueError, LookupError):  # a form or a charset that cannot be read
            return ""
        field = form.get("sitemap", "")
        return field if isinstance(field, str) else ""

    def _client(self, request: web.Request) -> str:
        """The address of the client, for its rate limit."""
        forwarded = request.headers.getall("X-Forwarded-For", [])
        if self.behind_proxy and forwarded:
            return forwarded[-1].rpartition(",")[2].strip()
        return request.remote or ""

    async def sites(self, request: web.Request) -> web.Response:
        """JSON Lines, a site each; `X-Total-Count` is the number of sites on all pages."""
        page = await self.watcher.sites(_site_query(request.query))
        body = b"".join(orjson.dumps(json_object(status)) + b"\n" for status in page.sites)
        headers = {"X-Total-Count": str(page.total)}
        return web.Response(body=body, content_type="application/jsonl", charset="utf-8", headers=headers)

    async def totals(self, request: web.Request) -> web.Response:
        """Numbers over all sites, and the number of the newest change."""
        return _json({**json_object(await self.watcher.totals()), "last_seq": self.watcher.feed.last_seq})

    async def health(self, request: web.Request) -> web.Response:
        """200, or 503 with the faults."""
        health = self.watcher.health()
        answer = {"status": "failing" if health.faults else "ok", **json_object(health)}
        return _json(answer, status=503 if health.faults else 200)

    async def metrics(self, request: web.Request) -> web.Response:
        """The text format of Prometheus."""
        body = await metrics_text(self.watcher, self.pings, self.streams.open)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


def _json(value: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value) + b"\n", status=status, content_type="application/json")


_IS_SET = {"1": True, "true": True, "0": False, "false": False, "": False}
_PARAMETERS: Mapping[str, Callable[[str], Any]] = {
    "order": str,
    "reverse": _IS_SET.__getitem__,
    "contains": str,
    "only_faults": _IS_SET.__getitem__,
    "offset": int,
    "limit": int,
}


def _site_query(parameters: Mapping[str, str]) -> SiteQuery:
    """The SiteQuery of a query string; UsageError for parameters or values that there are not."""
    if unknown := [*parameters.keys() - _PARAMETERS.keys()]:
        raise UsageError(f"parameter {unknown[0][:40]!r} is unknown: give {', '.join(_PARAMETERS)}")
    try:
        return SiteQuery(**{name: _PARAMETERS[name](value) for name, value in parameters.items()})
    except UsageError:
        raise
    except (ValueError, KeyError) as exc:
        raise UsageError("offset and limit are numbers; reverse and only_faults are 0 or 1") from exc
