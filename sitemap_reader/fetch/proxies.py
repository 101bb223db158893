"""Which proxy a request goes through, and connections through SOCKS proxies.

A URL, "env" or a function of the caller goes in; a function from the URL of a request to that of its proxy comes out.
Never requests anything; python-socks, of the extra `socks`, is only imported where a proxy is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..model.errors import FetchError, UsageError, install_hint

if TYPE_CHECKING:
    import socket

    from yarl import URL


ProxyOf = Callable[[str], str | None]  # the URL of a request -> that of its proxy, or None

# Scheme -> the version of the protocol, and whether the proxy resolves host names: those of curl.
SOCKS = {"socks4": (4, False), "socks4a": (4, True), "socks5": (5, False), "socks5h": (5, True)}
_SOCKS_PORT = 1080  # RFC 1928 3
_PROXY = re.compile(
    r"(?:https?|socks4a?|socks5h?)://(?:[^/?#@\s]*@)?(?:\[[0-9a-f:.]+\]|[^/?#@\s:\[\]]+)(?::\d{1,5})?/?", re.IGNORECASE
)
_SOCKS_REMEDY = "check the scheme, the user and the password of the proxy (--proxy)"
_FORM = "http://HOST:PORT, https://, socks5:// or socks5h://, with USER:PASSWORD@ in front of HOST or not"


def proxy_function(proxy: str | ProxyOf | None) -> ProxyOf:
    """The function from the URL of a request to that of its proxy, or None; UsageError for what is no proxy.

    "env" is what HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY say now, as urllib.request reads them: the
    lower-case names come first, and HTTP_PROXY is not used in a CGI program, where a client can set it (httpoxy).
    """
    if proxy is None:
        return lambda url: None
    if callable(proxy):
        function = proxy

        def proxy_of(url: str) -> str | None:
            result = function(url)
            return None if result is None else check_proxy(result, "the result of the proxy function")

        return proxy_of
    if proxy == "env":
        return _of_environment()
    same = check_proxy(proxy)
    return lambda url: same


def _of_environment() -> ProxyOf:
    from urllib.request import getproxies, proxy_bypass  # here: few runs need it

    given = getproxies()
    used = given.keys() & {"http", "https"}
    if len(used) < 2:  # GNOME sets all three, and ALL_PROXY to socks://, which is no protocol
        used |= given.keys() & {"all"}
    # Without a scheme it is an HTTP proxy, as curl and requests read it, too.
    proxies = {
        name: check_proxy(given[name] if "://" in given[name] else f"http://{given[name]}", f"{name.upper()}_PROXY")
        for name in sorted(used)
    }

    def proxy_of(url: str) -> str | None:
        scheme, _, rest = url.partition("://")
        chosen = proxies.get(scheme, proxies.get("all"))
        return None if chosen is None or proxy_bypass(re.split("[/?#]", rest, maxsplit=1)[0]) else chosen

    return proxy_of


def check_proxy(proxy: object, name: str = "proxy") -> str:
    """The URL of a proxy; UsageError for one that would fail at each request, in messages that show its password."""
    from yarl import URL

    if not isinstance(proxy, str):
        allowed = 'the URL of a proxy, "env", a function or None' if name == "proxy" else "the URL of a proxy or None"
        # Without the value, which may hold a login.
        raise UsageError(f"{name} is {allowed}, and not of type {type(proxy).__name__}")
    if not _PROXY.fullmatch(proxy):
        other = ", or as env" if name == "proxy" else ""
        raise UsageError(f"write it as {_FORM}{other}", keyword=name)
    try:
        url = URL(proxy)
    except ValueError:
        raise UsageError(f"its host or its port is not usable; write it as {_FORM}", keyword=name) from None
    is_socks = url.scheme in SOCKS
    charset = "ascii" if is_socks else "latin-1"  # as python-socks and aiohttp encode it
    try:
        login = f"{url.user or ''}{url.password or ''}".encode(charset)
    except UnicodeEncodeError:
        reason = f"its user or password cannot be sent: a character is not in {charset.title()}"
        raise UsageError(reason, keyword=name) from None
    if is_socks and len(login) > 255:  # RFC 1929 2: each has its length in one byte
        raise UsageError("its user and password are too long for SOCKS", keyword=name)
    if is_socks and find_spec("python_socks") is None:
        raise UsageError(f"SOCKS needs a package: {install_hint('socks')}", keyword=name)
    return proxy


def place_of(proxy: URL) -> str:
    """Its host and port, for messages."""
    return f"{proxy.host_subcomponent}:{proxy.port or _SOCKS_PORT}"


async def socks_socket(proxy: URL, host: str, port: int, name: str) -> socket.socket:
    """A socket that a SOCKS proxy has connected to a host, or an address of it; FetchError, with `name` for the host.

    The caller limits the time.
    """
    from python_socks import ProxyConnectionError, ProxyError, ProxyType
    from python_socks.async_.asyncio import Proxy

    version, _ = SOCKS[proxy.scheme]
    kind = ProxyType.SOCKS4 if version == 4 else ProxyType.SOCKS5
    # rdns: where names are resolved here, `host` is an address already, which was checked.
    way = Proxy(kind, proxy.raw_host or "", proxy.port or _SOCKS_PORT, proxy.user, proxy.password, rdns=True)
    try:
        return await way.connect(host, port, timeout=math.inf)
    except ProxyConnectionError as exc:
        raise no_connection(name, place_of(proxy)) from exc
    except ProxyError as exc:
        # A reply with a code is about this host (RFC 1928 6); one without is about the login, or is not SOCKS.
        is_login = getattr(exc.__cause__, "error_code", 0) is None
        raise proxy_refusal(name, place_of(proxy), str(exc), _SOCKS_REMEDY if is_login else None) from exc


def no_connection(host: str, proxy: str) -> FetchError:
    return FetchError(f"{host}: no connection to the proxy {proxy}", remedy="check its host and port (--proxy)")


def proxy_refusal(host: str, proxy: str, answer: str, remedy: str | None, *, transient: bool = True) -> FetchError:
    """The FetchError of what a proxy answered; with a `remedy` it would answer the same to every other request."""
    message = f"{host}: the proxy {proxy} answered {answer}"
    return FetchError(message, transient=transient and remedy is None, remedy=remedy, of_proxy=remedy is not None)
