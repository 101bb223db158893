"""Proxies of requests: a URL, the environment, a function; and SOCKS, with a proxy on loopback."""

import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from certificates import OF_ANOTHER_HOST, tls_contexts
from kit import robots, run, urlset, xml
from servers import Page, SiteServer, SocksServer

import sitemap_reader as sr
from sitemap_reader.fetch import AiohttpFetcher, guarded_connector, proxies

SECRET = "s3cret"  # noqa: S105  in tests alone
QUICK = sr.Limits(tries=1, connect_seconds=5, read_seconds=5)


def site(origin: str, *urls: str) -> dict[str, Page]:
    """The pages of a site, by whole URL, as an HTTP proxy is requested for them."""
    pages = {"/robots.txt": (200, {}, robots(f"{origin}/map.xml")), "/map.xml": xml(urlset(*urls or (f"{origin}/a",)))}
    return {origin + path: page for path, page in pages.items()}


def locs(target: str, **options: Any) -> list[str]:
    with sr.urls(target, limits=QUICK, **options) as stream:
        return [record.loc for record in stream]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


# --- the environment ---

HTTP, HTTPS, ALL = "http://h.example:1", "http://s.example:2", "http://all.example:3"


@pytest.mark.parametrize(("environment", "url", "expected"), [
    ({}, "http://a.example/", None),
    ({"HTTP_PROXY": HTTP}, "http://a.example/", HTTP),
    ({"HTTP_PROXY": HTTP}, "https://a.example/", None),
    ({"http_proxy": HTTP, "HTTP_PROXY": ALL}, "http://a.example/", HTTP),
    ({"HTTPS_PROXY": HTTPS, "ALL_PROXY": ALL}, "https://a.example/", HTTPS),
    ({"HTTPS_PROXY": HTTPS, "ALL_PROXY": ALL}, "http://a.example/", ALL),
    ({"HTTP_PROXY": "h.example:1"}, "http://a.example/", HTTP),
    ({"HTTP_PROXY": HTTP, "HTTPS_PROXY": HTTPS, "ALL_PROXY": "socks://p.example"}, "http://a.example/", HTTP),
    ({"ALL_PROXY": ALL, "NO_PROXY": "a.example"}, "http://www.a.example/", None),
    ({"ALL_PROXY": ALL, "no_proxy": "a.example:81, b.example"}, "http://a.example/", ALL),
    ({"ALL_PROXY": ALL, "no_proxy": "a.example:81, b.example"}, "http://a.example:81?x", None),
    ({"ALL_PROXY": ALL, "no_proxy": "*"}, "http://a.example/", None),
    # httpoxy: a client of a CGI program can set HTTP_PROXY, by the header Proxy.
    ({"HTTP_PROXY": HTTP, "REQUEST_METHOD": "GET"}, "http://a.example/", None),
    ({"http_proxy": HTTP, "REQUEST_METHOD": "GET"}, "http://a.example/", HTTP),
])  # fmt: skip
def test_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, expected: str | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxies.proxy_function("env")(url) == expected


def test_invalid_proxy_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", f"ftp://me:{SECRET}@p.example")
    with pytest.raises(sr.UsageError, match="ALL_PROXY: write it as") as caught:
        sr.urls("a.example", proxy="env")
    assert SECRET not in str(caught.value)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts but *.invalid are 127.0.0.1."""
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *more: Any, **options: Any) -> Any:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return real("127.0.0.1", *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.usefixtures("names")
def test_environment_decides_for_each_host_and_direct_requests_are_guarded(
    site_server: Callable[..., SiteServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, direct = site_server(site("http://a.invalid")), site_server({})
    target = f"http://direct.example:{direct.port}"
    direct.pages = paths_of(site(target))
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "direct.example")
    assert locs("http://a.invalid/", proxy="env") == ["http://a.invalid/a"]
    with pytest.raises(sr.NothingReadable, match="is a loopback address"):
        locs(target, proxy="env")
    assert direct.requests() == []
    assert locs(target, proxy="env", allow_private=True) == [f"{target}/a"]
    assert all("a.invalid" in path for path in proxy.requests())


def paths_of(pages: dict[str, Page]) -> dict[str, Page]:
    return {"/" + url.split("/", 3)[3]: page for url, page in pages.items()}


# --- a function ---


def test_function_gets_each_url_and_decides(site_server: Callable[..., SiteServer]) -> None:
    one, other = site_server(site("http://a.invalid")), site_server(site("http://a.invalid"))
    requested = []

    def proxy(url: str) -> str | None:
        requested.append(url)
        return one.url if url.endswith(".txt") else other.url

    assert locs("http://a.invalid/", proxy=proxy) == ["http://a.invalid/a"]
    assert requested == ["http://a.invalid/robots.txt", "http://a.invalid/map.xml"]
    assert (one.requests(), other.requests()) == (requested[:1], requested[1:])


@pytest.mark.usefixtures("names")
def test_function_may_return_none_for_a_direct_request_which_is_guarded(
    site_server: Callable[..., SiteServer],
) -> None:
    server = site_server({})
    target = f"http://direct.example:{server.port}"
    server.pages = paths_of(site(target))
    with pytest.raises(sr.NothingReadable, match="is a loopback address"):
        locs(target, proxy=lambda url: None)
    assert locs(target, proxy=lambda url: None, allow_private=True) == [f"{target}/a"]


async def coroutine(url: str) -> str:
    return url


@pytest.mark.parametrize(("proxy", "expected", "text"), [
    (lambda url: {}[url], KeyError, "a.invalid/robots.txt"),
    (lambda url: "p.example:80", sr.UsageError, "the result of the proxy function: write it as http://HOST:PORT"),
    (lambda url: b"//", sr.UsageError, "the result of the proxy function is the URL of a proxy or None, and not of"),
    (lambda url: coroutine(url), sr.UsageError, "proxy is called, and not awaited"),
    (coroutine, sr.UsageError, "proxy is called, and not awaited"),
])  # fmt: skip
def test_exception_or_wrong_result_of_a_function_ends_the_run(
    proxy: Any, expected: type[Exception], text: str
) -> None:
    with pytest.raises(expected, match=text):
        locs("http://a.invalid/", proxy=proxy)


# --- a login ---


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_proxy_that_refuses_its_login_is_named_once(site_server: Callable[..., SiteServer], scheme: str) -> None:
    """http by a 407 to GET, https by one to CONNECT."""
    proxy = site_server({f"http://a.invalid/{path}": (407, {}, b"") for path in ("robots.txt", "sitemap.xml")})
    place = proxy.url.removeprefix("http://")
    options: dict[str, Any] = {"proxy": f"http://me:{SECRET}@{place}"}
    if scheme == "https":
        options["proxy"] = f"http://me:{SECRET}@{(place := _connect_407(site_server))}"
    reported: list[sr.Item] = []
    with pytest.raises(sr.NothingReadable) as caught:
        locs(f"{scheme}://a.invalid/", on_item=reported.append, **options)
    problems = [str(each) for each in reported if isinstance(each, sr.Problem)]
    assert len(problems) == 1
    assert f"a.invalid: the proxy {place} answered 407; check the user and the password of the proxy" in problems[0]
    assert SECRET not in f"{problems} {caught.value} {caught.value.__cause__!r}"


def _connect_407(site_server: Callable[..., SiteServer]) -> str:
    """A server that answers CONNECT by 407."""
    server = site_server({})
    server._server.RequestHandlerClass.do_CONNECT = lambda self: (  # type: ignore[attr-defined]
        self.send_response(407), self.send_header("Content-Length", "0"), self.end_headers()
    )
    return server.url.removeprefix("http://")


# --- SOCKS ---

needs_socks = pytest.mark.skipif(find_spec("python_socks") is None, reason="python-socks is not installed")


def test_socks_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxies, "find_spec", lambda name: None)
    with pytest.raises(sr.UsageError, match=r"proxy: SOCKS needs a package: pip install 'sitemap-reader\[socks\]'"):
        sr.urls("a.example", proxy="socks5://p.example")


@needs_socks
@pytest.mark.parametrize(("scheme", "version", "host"), [
    ("socks4", 4, "127.0.0.1"), ("socks5", 5, "127.0.0.1"), ("socks4a", 4, "a.example"), ("socks5h", 5, "a.example"),
])  # fmt: skip
@pytest.mark.usefixtures("names")
def test_socks_proxy_gets_names_or_addresses_by_its_scheme(
    site_server: Callable[..., SiteServer], scheme: str, version: int, host: str
) -> None:
    server = site_server(paths_of(site("http://a.example")))
    with SocksServer(server.port) as proxy:
        options = {"proxy": f"{scheme}://{proxy.place}", "allow_private": True}
        assert locs("http://a.example/", **options) == ["http://a.example/a"]
        assert {requested[:3] for requested in proxy.requested} == {(version, host, 80)}
    assert server.requests() == ["/robots.txt", "/map.xml"], "not as an HTTP proxy is requested"
    assert {each.headers["host"] for each in server.received} == {"a.example"}


@needs_socks
@pytest.mark.usefixtures("names")
def test_addresses_are_checked_where_names_are_resolved_here(site_server: Callable[..., SiteServer]) -> None:
    server = site_server(paths_of(site("http://a.example")))
    with SocksServer(server.port) as proxy:
        for scheme in ("socks4", "socks5"):
            with pytest.raises(sr.NothingReadable, match=r"127.0.0.1 is a loopback address"):
                locs("http://a.example/", proxy=f"{scheme}://{proxy.place}")
        with pytest.raises(sr.NothingReadable, match=r"10.0.0.1 is a private address"):
            locs("http://10.0.0.1/", proxy=f"socks5h://{proxy.place}")
        assert proxy.requested == []
        assert locs("http://a.example/", proxy=f"socks5h://{proxy.place}") == ["http://a.example/a"]


@needs_socks
def test_host_that_does_not_resolve_is_reported_as_without_a_proxy() -> None:
    with pytest.raises(sr.NothingReadable, match=r"a.invalid: no such host"):
        locs("http://a.invalid/", proxy="socks5://127.0.0.1:1")


@needs_socks
@pytest.mark.parametrize("scheme", ["socks4a", "socks5h"])
def test_login_of_a_socks_proxy_goes_to_it_alone(site_server: Callable[..., SiteServer], scheme: str) -> None:
    server = site_server(paths_of(site("http://a.invalid")))
    login = f"me:{SECRET}"
    with SocksServer(server.port, login=login) as proxy:
        assert locs("http://a.invalid/", proxy=f"{scheme}://{login}@{proxy.place}") == ["http://a.invalid/a"]
        assert len(proxy.requested) == 1, "the second request uses the connection again"
        assert proxy.requested[0][3] == (login if scheme == "socks5h" else "me")
    assert len(server.received) == 2
    assert not any("proxy-authorization" in each.headers for each in server.received)


@needs_socks
@pytest.mark.parametrize("login", ["", f"me:{SECRET}@"])
def test_socks_proxy_that_refuses_the_login_is_named_once(login: str) -> None:
    reported: list[sr.Item] = []
    with SocksServer(0, login="other:login") as proxy, pytest.raises(sr.NothingReadable) as caught:
        locs("https://a.invalid/", proxy=f"socks5h://{login}{proxy.place}", on_item=reported.append)
    problems = [str(each) for each in reported if isinstance(each, sr.Problem)]
    assert len(problems) == 1
    assert f"the proxy {proxy.place} answered " in problems[0]
    assert "check the scheme, the user and the password of the proxy" in problems[0]
    assert SECRET not in f"{problems} {caught.value}"


@needs_socks
def test_failures_of_a_socks_proxy_are_reported() -> None:
    with SocksServer(0, reply=4) as proxy:
        place = proxy.place
        with pytest.raises(sr.NothingReadable, match=f"a.invalid: the proxy {place} answered Host unreachable"):
            locs("http://a.invalid/", proxy=f"socks5h://{place}")
    with pytest.raises(sr.NothingReadable, match=f"a.invalid: no connection to the proxy {place}; check its host"):
        locs("http://a.invalid/", proxy=f"socks5h://{place}")


@needs_socks
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.usefixtures("names")
def test_tls_through_socks_verifies_the_name_of_the_host(tmp_path: Path, scheme: str) -> None:
    pem = tmp_path / "certificate.pem"  # of shop.example
    server_tls, _ = tls_contexts(OF_ANOTHER_HOST, tmp_path)
    pages = paths_of(site("https://shop.example"))
    with SiteServer(pages, server_tls) as server, SocksServer(server.port) as proxy:
        options: dict[str, Any] = {"proxy": f"{scheme}://{proxy.place}", "cacert": pem, "allow_private": True}
        assert locs("https://shop.example/", **options) == ["https://shop.example/a"]
        with pytest.raises(sr.NothingReadable, match=r"TLS certificate of other.example:443 is for another host"):
            locs("https://other.example/", **options)


@needs_socks
async def test_session_for_socks_needs_a_guarded_connector(site_server: Callable[..., SiteServer]) -> None:
    server = site_server({"/a": (200, {}, b"a")})
    with SocksServer(server.port) as proxy:
        options: dict[str, Any] = {"user_agent": "x", "allow_private": True, "proxy": f"socks5h://{proxy.place}"}
        async with aiohttp.ClientSession() as session:
            with pytest.raises(sr.UsageError, match="SOCKS needs a session with a guarded_connector"):
                async with AiohttpFetcher(session=session, **options).fetch("http://a.invalid/a", {}):
                    pass
        async with (
            aiohttp.ClientSession(connector=guarded_connector()) as session,
            AiohttpFetcher(session=session, **options).fetch("http://a.invalid/a", {}) as response,
        ):
            assert [chunk async for chunk in response.chunks] == [b"a"]


# --- mistakes ---


@pytest.mark.parametrize(("proxy", "text"), [
    ("ftp://p.example", "proxy: write it as http://HOST:PORT"),
    ("ENV", "proxy: write it as"),
    (f"socks5://me:{SECRET}\u00e4@p.example", "a character is not in Ascii"),
    (f"socks5://me:{SECRET}{'x' * 255}@p.example", "too long for SOCKS"),
    ("socks5://p.example:99999", "its host or its port is not usable"),
])  # fmt: skip
def test_unusable_proxy_is_refused_at_once(proxy: str, text: str) -> None:
    with pytest.raises(sr.UsageError, match=text) as caught:
        sr.urls("a.example", proxy=proxy)
    assert SECRET not in str(caught.value)


def test_proxy_of_the_environment_in_a_command(
    site_server: Callable[..., SiteServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = site_server(site("http://a.invalid"))
    monkeypatch.setenv("http_proxy", proxy.url)
    assert run("dump", "http://a.invalid/", "--proxy", "env", "--format", "txt").stdout == "http://a.invalid/a\n"
    direct = run("dump", "http://a.invalid/")
    assert "a.invalid: no such host" in direct.stderr
