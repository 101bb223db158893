"""The HTTP server of a watch: pings in; changes, sites, health, metrics and a page out.

It runs in the watch's event loop, never writes to the state, and waits for slow clients only within limits: a
connection ends whose client sends no request, or does not take an answer, and where too many are open, the one whose
client has been waited for longest.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from ipaddress import ip_address
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs
import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError

from ..model.errors import StateError, UsageError, install_hint, internal_error, masked, printable
from ..pages.rendering import policy_of, render
from ..version import __version__
from .budget import ServerLimits
from .change_feed import JSON_LINES, ChangeStreams, send
from .pings import RESULTS, client_key
from .watched_site import SiteQuery, json_object

if TYPE_CHECKING:
    from .pings import Accept, PingReceiver
    from .watcher import Watcher

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
    from prometheus_client import Metric
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from .watched_site import Totals

MIN_TOKEN_CHARACTERS = 16
TOKEN_VARIABLE = "SITEMAP_READER_TOKEN"  # noqa: S105 - the name of a variable of the environment
_MAX_REPORTED = 100  # messages may quote a request
_LOG = logging.getLogger("sitemap_reader.server")


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
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"


_LISTEN = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})", re.ASCII)


def parse_listen(text: str) -> Listen:
    """The address of `--listen`. UsageError unless it is HOST:PORT.

    >>> parse_listen("[::1]:8080")
    Listen(host='::1', port=8080)
    """
    match = _LISTEN.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        raise UsageError(
            f"{text!r} is not HOST:PORT", keyword="listen", remedy="write it as 127.0.0.1:8080, or [::1]:8080"
        )
    return Listen(match["host"].strip("[]"), int(match["port"]))


@attrs.frozen
class ServerPlan:
    """The server of a watch: where it listens, HOST:PORT, and which requests it answers.

    `accept`: pings for "known" documents, or also for those that the robots.txt of their host names ("verified").
    `token`: of Authorization: Bearer, for /sites and /changes; needed where other machines can connect. `hosts`: other
    values of Host than `listen`. `behind_proxy`: all connections come from one address.
    """

    listen: str
    accept: Accept = "known"
    token: str | None = None
    hosts: tuple[str, ...] = ()
    behind_proxy: bool = False


def check_token(token: str | None, listen: Listen) -> None:
    """Raises UsageError where a token is missing or too short; the message does not contain it."""
    hint = f"make one with `openssl rand -hex 32`, and set the environment variable {TOKEN_VARIABLE} to it"
    if token is None:
        if not listen.is_loopback:
            raise UsageError(
                f"other machines can reach {listen.host}, so a token is required; {hint}", keyword="listen"
            )
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
    report: Callable[[str], object] = lambda text: None,
) -> AsyncIterator[Listen]:
    """Serves while the block runs, which gets the address, with the real port for port 0. See _make_app().

    PingReceiver.run() has to run beside it. UsageError where the address cannot be used, or a token is missing.
    `report` receives a message for each kind of internal error, once.
    """
    address = parse_listen(listen)
    check_token(token, address)
    service = _Service(watcher, pings, behind_proxy, limits, ChangeStreams(watcher.feed, limits))
    app = _make_app(service, token, hosts)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=limits.shutdown_seconds)
    await runner.setup()
    assert runner.server is not None  # noqa: S101  setup() makes it
    # All connections of a proxy come from its own address.
    per_client = limits.connections if behind_proxy else limits.client_connections
    connections = _Connections(runner.server, limits, per_client, report)
    try:
        server = await _bind(lambda: _Connection(connections), address)
        try:
            yield attrs.evolve(address, port=server.sockets[0].getsockname()[1])
        finally:
            server.close()
    finally:
        await runner.cleanup()


@attrs.define(eq=False)
class _Connections:
    """The open connections, at most `per_client` of one address, or of one /64 network of IPv6.

    Beyond that, a new one takes the place of the one that has waited longest for its client; it is refused if all have
    requests in progress. So clients that send nothing, or do not read, cannot shut out others, not even of their
    address.
    """

    manager: web.Server
    limits: ServerLimits
    per_client: int
    report: Callable[[str], object]
    _clients: dict[_Connection, str] = attrs.field(factory=dict, init=False)
    _reported: set[str] = attrs.field(factory=set, init=False)

    def add(self, connection: _Connection, address: str) -> bool:
        client = client_key(address)
        own = [each for each, key in self._clients.items() if key == client]
        if len(own) >= self.per_client and not self._close_one(own):
            return False
        if len(self._clients) >= self.limits.connections and not self._close_one(self._clients):
            return False
        self._clients[connection] = client
        return True

    def _close_one(self, connections: Iterable[_Connection]) -> bool:
        waiting = [each for each in connections if each.is_waiting]
        if not waiting:
            return False
        longest = min(waiting, key=lambda each: each.waiting_since)
        self.remove(longest)
        longest.abort()
        return True

    def remove(self, connection: _Connection) -> None:
        self._clients.pop(connection, None)

    def fail(self, error: BaseException) -> None:
        """Reports an internal error, each of the same place once."""
        message = internal_error(error)
        if message not in self._reported and len(self._reported) < _MAX_REPORTED:
            self._reported.add(message)
            self.report(f"the server failed to answer a request: {message}")


class _Connection(web.RequestHandler):
    """One connection, which is aborted if its client does not take a piece of an answer within `write_seconds`.

    asyncio calls pause_writing() when bytes wait for the client, also behind a close(), for which aiohttp has no limit
    of time; and resume_writing() when it has taken all.
    """

    def __init__(self, connections: _Connections) -> None:
        limits = connections.limits
        super().__init__(
            connections.manager,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # no log
            logger=_LOG,
            keepalive_timeout=limits.idle_seconds,  # also of the head of the first request
            lingering_time=limits.body_seconds,  # of a body that is not read, before the connection is closed
            max_line_size=limits.head_bytes,
            max_field_size=limits.head_bytes,
        )
        self._connections = connections
        self._connected: asyncio.Transport  # self.transport is None from close() on
        self._stall: asyncio.TimerHandle | None = None
        self._holds_requests = False
        self._is_handling = False
        self.waiting_since = self._loop.time()

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its client to send a request, or to take an answer."""
        return self._stall is not None or not self._is_handling

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._connected = transport
        transport.set_write_buffer_limits(0)  # pause_writing() as soon as a byte waits
        if self._connections.add(self, (transport.get_extra_info("peername") or ("",))[0]):
            super().connection_made(transport)
        else:
            transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.remove(self)
        self._end_stall()
        super().connection_lost(exc)

    def abort(self) -> None:
        self._connected.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.waiting_since = self._loop.time()
        self._stall = self._loop.call_later(self._connections.limits.write_seconds, self.abort)
        self._holds_requests = self._connected.is_reading()
        if self._holds_requests:
            self._connected.pause_reading()

    def resume_writing(self) -> None:
        self._end_stall()
        super().resume_writing()
        if self._holds_requests:
            self._connected.resume_reading()

    def _end_stall(self) -> None:
        self.waiting_since = self._loop.time()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    @contextmanager
    def handling(self) -> Iterator[None]:
        self._is_handling = True
        try:
            yield
        finally:
            self._is_handling = False
            self.waiting_since = self._loop.time()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """The answer to a request that is not HTTP, or whose handler has failed; no middleware sees it."""
        response = super().handle_error(request, status, exc, message)
        response.headers.update(_headers())
        return response

    def log_exception(self, *args: Any, exc_info: BaseException | None = None, **kw: Any) -> None:
        # Requests and bodies that are not HTTP are no fault of the server, and anyone can send a million of them.
        if exc_info is not None and not isinstance(exc_info, HttpProcessingError | web.RequestPayloadError):
            self._connections.fail(exc_info)


async def _bind(accept: Callable[[], asyncio.Protocol], address: Listen) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(accept, address.host, address.port)
    except OSError as exc:
        number = exc.errno or errno.EADDRNOTAVAIL  # asyncio has passed over all addresses, and gives no number
        unresolved = isinstance(exc, socket.gaierror)
        why = "the host name has no address" if unresolved else _REASONS.get(number, os.strerror(number))
        raise UsageError(f"{address.url[7:-1]} cannot be used: {why}", keyword="listen") from exc


_REASONS = {
    errno.EADDRINUSE: "another program listens there; end it, or choose another port",
    errno.EACCES: "this user may not use the port; choose one from 1024 on",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose one of its own, such as 127.0.0.1",
}


# --- the application ---

_SCRIPTS = ("watch.js",)


@cache
def _headers() -> Mapping[str, str]:
    """Of all answers; the policy is that of the page."""
    return {
        "Server": f"sitemap-reader/{__version__}",
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"{policy_of(_SCRIPTS, connects=True)}; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


# Without a token, and for any Host: the page has no data, sites ping without a token, and /healthz has no site.
OPEN_PATHS = frozenset({"/", "/ping", "/healthz"})


def _make_app(service: _Service, token: str | None, hosts: tuple[str, ...]) -> web.Application:
    """The application, without an address."""
    # With a `token`, all but the page, /ping and /healthz need the header `Authorization: Bearer TOKEN`. Without one,
    # their Host has to be loopback or one of `hosts`, so that no web page can read them by a name that resolves to
    # loopback (DNS rebinding).
    try:
        import prometheus_client  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"the server of a watch needs the package prometheus-client: {install_hint('watch')}") from exc
    allows = _token_check(token) if token is not None else _host_check(hosts)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        assert isinstance(request.protocol, _Connection)  # noqa: S101 - for the type checker
        if request.path in OPEN_PATHS or allows(request):
            with request.protocol.handling():
                try:
                    return await handler(request)
                except UsageError as exc:
                    return _text(400, str(exc))
                except StateError:
                    return _text(503, "the state cannot be read at present")
        if token is None:
            return _text(421, "this host name is not expected: use 127.0.0.1, or set a token")
        response = _text(401, "give the token of the watch in a header: Authorization: Bearer TOKEN")
        response.headers["WWW-Authenticate"] = 'Bearer realm="sitemap-reader watch"'
        return response

    app = web.Application(middlewares=[guard], client_max_size=service.limits.body_bytes)
    app.on_response_prepare.append(_add_headers)
    app.on_shutdown.append(service.streams.stop)
    app.router.add_get("/", _page())
    app.router.add_route("GET", "/ping", service.ping)
    app.router.add_route("POST", "/ping", service.ping)
    app.router.add_get("/changes", service.streams.respond, allow_head=False)
    app.router.add_get("/sites", service.sites)
    app.router.add_get("/totals", service.totals)
    app.router.add_get("/healthz", service.health)
    app.router.add_get("/metrics", service.metrics)
    return app


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_headers())


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


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")


def _page() -> Handler:
    html = render("watch.html", scripts=_SCRIPTS, connects=True)

    async def respond(request: web.Request) -> web.Response:
        return web.Response(text=html, content_type="text/html")

    return respond


@attrs.frozen
class _Service:
    """The routes, but for the page."""

    watcher: Watcher
    pings: PingReceiver
    behind_proxy: bool  # the last address of X-Forwarded-For is the client's
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
        except (ValueError, LookupError, web.RequestPayloadError):  # a form, a charset or a body that cannot be read
            return ""
        field = form.get("sitemap", "")
        return field if isinstance(field, str) else ""

    def _client(self, request: web.Request) -> str:
        forwarded = request.headers.getall("X-Forwarded-For", [])
        if self.behind_proxy and forwarded:
            return forwarded[-1].rpartition(",")[2].strip()
        return request.remote or ""

    async def sites(self, request: web.Request) -> web.StreamResponse:
        """JSON Lines, a site each; `X-Total-Count` is the number of sites on all pages."""
        page = self.watcher.sites(_site_query(request.query))

        async def lines() -> AsyncIterator[bytes]:
            for status in page.sites:
                yield orjson.dumps(json_object(status)) + b"\n"

        headers = {"Content-Type": JSON_LINES, "X-Total-Count": str(page.total)}
        return await send(request, headers, lines())

    async def totals(self, request: web.Request) -> web.Response:
        return _json({**json_object(self.watcher.totals()), "last_seq": self.watcher.feed.last_seq})

    async def health(self, request: web.Request) -> web.Response:
        health = self.watcher.health()
        answer = {"status": "failing" if health.faults else "ok", **json_object(health)}
        return _json(answer, status=503 if health.faults else 200)

    async def metrics(self, request: web.Request) -> web.Response:
        from prometheus_client import generate_latest

        metrics = [*_metrics(self.watcher, self.watcher.totals(), self.pings, self.streams.open)]
        registry: Any = SimpleNamespace(collect=lambda: metrics)
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE})


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


# --- /metrics: counters and health for Prometheus ---

# Version 0.0.4 of the text format, which all versions of Prometheus read.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "sitemap_reader_watch_"


def _metrics(watcher: Watcher, totals: Totals, pings: PingReceiver, streams: int) -> Iterator[Metric]:
    health, counters = watcher.health(), watcher.counters
    values: dict[str, tuple[str, float | None]] = {
        "healthy": ("1 if the watch works, 0 if /healthz reports a fault.", not health.faults),
        "sites": ("Watched sites.", totals.sites),
        "failing_sites": ("Sites whose last visits failed.", totals.failing),
        "documents": ("Sitemaps of the watched sites.", totals.documents),
        "urls": ("URLs that the sitemaps list.", totals.urls),
        "budget_requests_per_hour": ("Requests that are permitted.", totals.budget_per_hour),
        "last_visit_timestamp_seconds": (
            "The end of the last visit of any site.",
            health.last_visit.timestamp() if health.last_visit else None,
        ),
        "last_seq": ("The number of the newest change.", watcher.feed.last_seq),
        "change_streams": ("Clients that wait for changes.", streams),
    }
    for name, (text, value) in values.items():
        if value is not None:
            yield _metric(_GAUGE, name, text, {"": value})
    yield _metric(_GAUGE, "info", "The version of sitemap-reader.", {__version__: 1}, "version")
    sinks = {masked(printable(sink.name)): sink for sink in totals.sinks}
    for kind, name, text, field in _OF_SINKS:
        of_sinks = {label: getattr(sink, field) for label, sink in sinks.items()}
        yield _metric(kind, f"sink_{name}", text, of_sinks, "sink")
    yield _metric(_COUNTER, "requests", "Requests by status.", counters.requests, "status")
    yield _metric(_COUNTER, "visits", "Visits of sites by result.", counters.visits, "result")
    yield _metric(_COUNTER, "changes", "Changes of URLs by kind.", counters.changes, "change")
    yield _metric(_COUNTER, "pings", "Pings by result.", {result: pings.counts[result] for result in RESULTS}, "result")


def _metric(kind: str, name: str, text: str, values: Mapping[str, float], label: str | None = None) -> Metric:
    from prometheus_client import core

    names = [label] if label else []
    metric: GaugeMetricFamily | CounterMetricFamily = getattr(core, kind)(PREFIX + name, text, labels=names)
    for label_value, value in values.items():
        metric.add_metric([label_value] if label else [], value)
    return metric


_GAUGE, _COUNTER = "GaugeMetricFamily", "CounterMetricFamily"
# Kind, name and text of a metric, field of SinkStatus.
_OF_SINKS = (
    (_GAUGE, "lag_changes", "Changes that a sink has not received.", "lag_changes"),
    (_GAUGE, "lag_seconds", "The age of the oldest of these changes.", "lag_seconds"),
    (_COUNTER, "changes", "Changes that a sink has received.", "delivered"),
    (_COUNTER, "failures", "Deliveries that failed.", "failures"),
    (_COUNTER, "dead_letters", "Entries that a sink rejected, and that were skipped.", "dead_letters"),
)
