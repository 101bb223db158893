"""Credentials and headers of the caller, checked in the requests to two servers: only the target's site gets them.

No output has them.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import attrs
import kit
import pytest
from certificates import OF_ANOTHER_HOST, tls_contexts
from servers import Page, SiteServer

import sitemap_reader as sr
from sitemap_reader.frontier import basic

XML = {"Content-Type": "application/xml"}
QUICK = sr.Limits(tries=1)
LOGIN = basic("me", "s3cret")
KEY = "k3y"


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts below .example are on loopback."""
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *more: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        return real("127.0.0.1" if name.endswith(".example") else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def urlset(*locs: str) -> Page:
    return kit.xml(kit.urlset(*locs))


def robots(*sitemaps: str) -> Page:
    return 200, {"Content-Type": "text/plain"}, kit.robots(*sitemaps)


def moved(url: str) -> Page:
    return 302, {"Location": url}, b""


@attrs.frozen
class Two:
    """The server of the target, and another one, under different names."""

    site: SiteServer
    other: SiteServer
    scheme: str = "http"

    @property
    def start(self) -> str:
        return f"{self.scheme}://shop.example:{self.site.port}"

    @property
    def elsewhere(self) -> str:
        return f"http://cdn.other.example:{self.other.port}"


@pytest.fixture
def two() -> Iterator[Two]:
    with SiteServer({}) as site, SiteServer({}) as other:
        other.pages["/robots.txt"] = robots()
        other.pages["/map.xml"] = urlset(f"http://cdn.other.example:{other.port}/page")
        yield Two(site, other)


Pages = dict[str, Page]
FAILS: Page = (500, {}, b"")


def sitemap_line(two: Two) -> Pages:
    return {"/robots.txt": robots(f"{two.elsewhere}/map.xml")}


def index_child(two: Two) -> Pages:
    return {"/robots.txt": robots("/all.xml"), "/all.xml": kit.xml(kit.index(f"{two.elsewhere}/map.xml"))}


# How one server leads to the other: pages of the first, and of the second.
WAYS: dict[str, Callable[[Two], tuple[Pages, Pages]]] = {
    "redirect": lambda two: ({"/robots.txt": robots("/map.xml"), "/map.xml": moved(f"{two.elsewhere}/map.xml")}, {}),
    "redirected robots.txt": lambda two: (
        {"/robots.txt": moved(f"{two.elsewhere}/robots.txt"), "/sitemap.xml": urlset(f"{two.start}/a")},
        {"/robots.txt": robots(f"{two.elsewhere}/map.xml")},
    ),
    "Sitemap line": lambda two: (sitemap_line(two), {}),
    "index": lambda two: (index_child(two), {}),
    "well-known path": lambda two: ({"/robots.txt": robots(), "/sitemap.xml": moved(f"{two.elsewhere}/map.xml")}, {}),
    "failing robots.txt": lambda two: (sitemap_line(two), {"/robots.txt": FAILS}),
}


def read(target: str, **options: Any) -> sr.Stream[sr.UrlRecord]:
    chosen: dict[str, Any] = {"allow_private": True, "limits": QUICK, "scope": "any", **options}
    with sr.urls(target, **chosen) as stream, suppress(sr.ReadError):
        list(stream)
    return stream


def given(two: Two, kind: str, folder: Path) -> tuple[str, dict[str, Any], str]:
    """The target, options and expected header of one way to give credentials."""
    if kind == "header":
        return two.start, {"headers": {"X-Key": KEY}}, KEY
    if kind == "auth":
        return two.start, {"auth": "me:s3cret"}, LOGIN
    if kind == "netrc":
        file = folder / "netrc"
        file.write_text("machine shop.example login me password s3cret\ndefault login all password of-them\n")
        return two.start, {"netrc": file}, LOGIN
    return two.start.replace("://", "://me:s3cret@"), {}, LOGIN


KINDS = ["header", "auth", "netrc", "userinfo"]


def values(server: SiteServer) -> list[str]:
    """The expected header in each request, or ""."""
    return [each.headers.get("x-key", "") + each.headers.get("authorization", "") for each in server.received]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_other_host_gets_no_credentials(two: Two, way: str, kind: str, tmp_path: Path) -> None:
    site, other = WAYS[way](two)
    two.site.pages |= site
    two.other.pages |= other
    target, options, value = given(two, kind, tmp_path)
    read(target, **options)
    assert set(values(two.site)) == {value}
    assert two.other.received
    assert set(values(two.other)) == {""}


@pytest.mark.smoke("header")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_retry_sends_the_same_headers(two: Two, kind: str, tmp_path: Path) -> None:
    two.site.pages["/map.xml"] = two.other.pages["/map.xml"] = 503, {}, b""
    two.site.pages["/robots.txt"] = robots("/map.xml", f"{two.elsewhere}/map.xml")
    target, options, value = given(two, kind, tmp_path)
    read(target, **options, limits=sr.Limits(tries=2))
    assert two.site.requests().count("/map.xml") == two.other.requests().count("/map.xml") == 2
    assert set(values(two.site)) == {value}
    assert set(values(two.other)) == {""}


def _snapshot(target: str, options: dict[str, Any], folder: Path) -> None:
    pytest.importorskip("pandas")
    sr.snapshot(target, **options)


def _changes(target: str, options: dict[str, Any], folder: Path) -> None:
    for _ in range(2):  # the second run has conditional requests
        with sr.changes(target, state=folder / "state.db", **options) as stream:
            list(stream)


def _recorded(target: str, options: dict[str, Any], folder: Path) -> None:
    read(target, record=folder / "recorded", **options)
    read(target, record=folder / "recorded.warc.gz", **options)
    assert list(read(str(folder / "recorded.warc.gz"), **options).outcomes)


def _harvest(target: str, options: dict[str, Any], folder: Path) -> None:
    pytest.importorskip("pyarrow")
    from sitemap_reader.scale import HarvestFolder, HarvestPlan, Shard, harvest_shard, make_config, read_hosts, sharded

    config = make_config({**options, "hosts_at_once": 1, "host_seconds": 20.0, "host_urls": 100})
    listed, laid = read_hosts([target]), HarvestFolder(folder / "harvest")
    laid.begin(HarvestPlan(1, listed.sha256, 1, config.settings(), {}, "2026-01-01T00:00:00Z"), sharded(listed, 1))
    harvest_shard(Shard(laid, 0, config))


CALLS = [
    lambda target, options, folder: sr.discover(target, **options),
    lambda target, options, folder: sr.audit(target, **options),
    *(_snapshot, _changes, _recorded, _harvest),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "kind"),
    # A list of hosts holds no userinfo.
    [(call, kind) for call in CALLS for kind in KINDS if (call, kind) != (_harvest, "userinfo")],
)
def test_every_call_sends_credentials_to_the_site_only(two: Two, call: Any, kind: str, tmp_path: Path) -> None:
    status, _, body = two.other.pages["/map.xml"]
    two.other.pages["/map.xml"] = (status, {**XML, "ETag": '"1"'}, body)
    two.site.pages |= {**index_child(two), "/robots.txt": robots("/all.xml", f"{two.elsewhere}/map.xml")}
    target, options, value = given(two, kind, tmp_path)
    call(target, {"allow_private": True, "limits": QUICK, "scope": "any", **options}, tmp_path)
    assert set(values(two.site)) == {value}
    assert two.other.received
    assert set(values(two.other)) == {""}


def test_a_subdomain_gets_headers_and_no_userinfo(two: Two) -> None:
    child = f"http://maps.shop.example:{two.other.port}/map.xml"
    two.site.pages["/robots.txt"] = robots(f"{child}")
    read(two.start.replace("://", "://me:s3cret@"), headers={"X-Key": KEY})
    assert set(values(two.site)) == {KEY + LOGIN}
    assert set(values(two.other)) == {KEY}


async def test_own_fetcher_and_own_session_get_the_same_headers(two: Two) -> None:
    two.site.pages |= sitemap_line(two)
    options: dict[str, Any] = {"limits": QUICK, "auth": ("me", "s3cret")}
    async with (
        sr.fetch.AiohttpFetcher(user_agent="own/1", allow_private=True) as fetcher,
        sr.SitemapReader(fetcher=fetcher, **options) as reader,
        reader.urls(two.start) as stream,
    ):
        _ = [url async for url in stream]
    async with (
        aiohttp.ClientSession(headers={"X-Own": "of the session"}) as session,
        sr.SitemapReader(session=session, allow_private=True, **options) as reader,
        reader.urls(two.start) as stream,
    ):
        _ = [url async for url in stream]
    assert set(values(two.site)) == {LOGIN}
    assert set(values(two.other)) == {""}
    assert {"of the session"} <= {each.headers.get("x-own") for each in two.other.received}


async def test_credentials_are_separate_for_each_stream_of_a_reader(two: Two) -> None:
    two.site.pages |= {"/robots.txt": robots(), "/sitemap.xml": urlset(f"{two.start}/a")}
    two.other.pages["/sitemap.xml"] = urlset(f"{two.elsewhere}/a")
    async with sr.SitemapReader(allow_private=True, limits=QUICK) as reader:
        for target in (two.start.replace("://", "://me:s3cret@"), two.elsewhere):
            async with reader.urls(target) as stream:
                _ = [url async for url in stream]
    assert set(values(two.site)) == {LOGIN}
    assert set(values(two.other)) == {""}


# --- down to http, and TLS ---


@pytest.fixture(scope="module")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture
def secure(_certificate: Path) -> Iterator[tuple[Two, Path]]:
    """https for shop.example, and a server without; the certificate to trust."""
    of_server, _ = tls_contexts(OF_ANOTHER_HOST, _certificate)
    with SiteServer({}, of_server) as site, SiteServer({}) as other:
        yield Two(site, other, "https"), _certificate / "certificate.pem"


@pytest.mark.parametrize("kind", KINDS)
def test_credentials_are_not_sent_from_https_to_http(secure: tuple[Two, Path], kind: str, tmp_path: Path) -> None:
    two, trusted = secure
    down = f"http://shop.example:{two.other.port}/map.xml"
    two.site.pages["/robots.txt"] = robots("/map.xml", f"{down}")
    two.site.pages["/map.xml"] = moved(down + "?moved")
    two.other.pages |= {"/map.xml": urlset(), "/map.xml?moved": urlset(f"{two.start}/a")}
    target, options, value = given(two, kind, tmp_path)
    stream = read(target, cacert=trusted, **options)
    assert set(values(two.site)) == {value}
    assert {"/map.xml", "/map.xml?moved"} <= {*two.other.requests()}
    assert set(values(two.other)) == {""}
    reported = [problem.message for problem in stream.problems.samples if problem.code == "F16"]
    assert stream.problems.counts.get("F16", 0) == len(reported) == (0 if kind == "userinfo" else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_http_fallback_sends_no_credentials_and_is_reported_once(two: Two, kind: str, tmp_path: Path) -> None:
    two.site.pages |= {"/robots.txt": robots("/map.xml"), "/map.xml": urlset(f"{two.start}/a")}
    target, options, _ = given(two, kind, tmp_path)
    stream = read(target.removeprefix("http://"), **options)  # https does not answer
    assert two.site.requests() == ["/robots.txt", "/map.xml"]
    assert set(values(two.site)) == {""}
    (reported,) = [problem for problem in stream.problems.samples if problem.code == "F16"]
    assert reported.message == (
        f"headers and credentials are not sent to {two.start}, which is not https; give it as TARGET to send them"
    )
    assert stream.problems.counts["F16"] == 1


def test_cacert_trusts_a_file_in_place_of_the_system(secure: tuple[Two, Path]) -> None:
    two, trusted = secure
    two.site.pages |= {"/robots.txt": robots(), "/sitemap.xml": urlset(f"{two.start}/a")}
    assert "self-signed" in str(read(two.start).outcomes[0].samples)
    assert read(two.start, cacert=trusted).summary.urls == 1
    assert read(two.start, cacert=str(trusted)).complete


def test_insecure_verifies_no_certificate_and_is_in_the_log(
    secure: tuple[Two, Path], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    two, _ = secure
    two.site.pages |= {"/robots.txt": robots(), "/sitemap.xml": urlset(f"https://127.0.0.1:{two.site.port}/a")}
    with caplog.at_level(logging.WARNING, "sitemap_reader.tls"):
        assert read(two.site.url, insecure=True).summary.urls == 1
    assert [record.getMessage() for record in caplog.records] == ["TLS certificates are not verified (insecure=True)"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("content", [None, b"", b"no certificate\n", b"\xff\xfe"])
def test_invalid_cacert_is_refused_at_once(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(sr.UsageError, match=r"ca.pem cannot be read.*PEM"):
        sr.SitemapReader(cacert=file)


@pytest.mark.parametrize("name", ["", "."])
def test_a_cacert_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(sr.UsageError, match=r"cacert: .*cannot be read"):
        sr.SitemapReader(cacert=name)


def test_cacert_and_insecure_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match="exclude each other"):
        sr.SitemapReader(cacert=tmp_path, insecure=True)


# --- netrc ---


def test_netrc_is_the_file_that_the_environment_names_or_that_of_home(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.site.pages["/robots.txt"] = robots()
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine SHOP.example. login home password s3cret\n")
    (home / ".netrc").chmod(0o600)
    (tmp_path / "other").write_text(f"machine shop.example:{two.site.port} login other password s3cret\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("NETRC", raising=False)
    read(two.start, netrc=True, probe="never")
    monkeypatch.setenv("NETRC", str(tmp_path / "other"))
    read(two.start, netrc=True, probe="never")
    read(two.start, netrc=False, probe="never")
    assert values(two.site) == [basic("home", "s3cret"), basic("other", "s3cret"), ""]


@pytest.mark.parametrize(("content", "reported"), [
    (None, "No such file"),
    ("machine a.example login me password s3cret s3cret\n", r"line \d of .*netrc cannot be read"),
    ("password s3cret\n", r"line \d of .*netrc cannot be read"),
])
def test_a_netrc_that_cannot_be_read_is_named_and_not_shown(tmp_path: Path, content: str | None, reported: str) -> None:
    file = tmp_path / "netrc"
    if content is not None:
        file.write_text(content)
    with pytest.raises(sr.UsageError, match=reported) as caught:
        sr.SitemapReader(netrc=file)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_netrc_of_home_that_others_may_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine a.example login me password s3cret\n")
    (tmp_path / ".netrc").chmod(0o644)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)
    with pytest.raises(sr.UsageError, match="chmod 600") as caught:
        sr.SitemapReader(netrc=True)
    assert "s3cret" not in str(caught.value)
