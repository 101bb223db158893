"""HostMap and MappedFetcher: where requests for a site go, in whose names answers are, and where credentials go."""

import asyncio
from collections.abc import Mapping

import pytest
from kit import Site

from sitemap_reader import FetchError, UsageError
from sitemap_reader.fetch import HostMap, Logins, MappedFetcher, RequestHeaders, Response, make_headers
from sitemap_reader.frontier import basic, parse_target

WWW, STAGING = "https://www.example.com", "https://staging.example.com"
CDN, BUCKET = "https://cdn.example.com", "https://bucket.example.net"
PAIRS = {WWW: STAGING, CDN: BUCKET}


def network(location: str = "") -> Site:
    """Answers each request, with this Location if there is one."""
    return Site(lambda url: (302, {"Location": location, "ETag": "x"}, b"") if location else b"body")


def get(url: str, site: Site, pairs: Mapping[str, str] = PAIRS) -> Response:
    async def run() -> Response:
        made = HostMap.of(pairs)
        async with MappedFetcher(site, made).fetch(url, {}) as response:
            return response

    return asyncio.run(run())


@pytest.mark.parametrize(("url", "requested"), [
    (f"{WWW}/", f"{STAGING}/"),
    (f"{WWW}/a/b.xml?x=https://www.example.com/", f"{STAGING}/a/b.xml?x=https://www.example.com/"),
    (f"{CDN}/a", f"{BUCKET}/a"),
    ("https://www.example.com.evil.test/", "https://www.example.com.evil.test/"),
    ("https://www.example.com:8443/", "https://www.example.com:8443/"),
    ("https://example.com/", "https://example.com/"),
])
def test_request_for_a_mapped_host_goes_to_the_other(url: str, requested: str) -> None:
    site = network()
    assert get(url, site).url == url
    assert site.requests == [requested]


@pytest.mark.parametrize(("location", "named"), [
    (f"{STAGING}/new", f"{WWW}/new"),
    ("//staging.example.com/new", f"{WWW}/new"),
    ("HTTPS://Staging.Example.COM:443/new?a=1", f"{WWW}/new?a=1"),
    ("/new", f"{WWW}/new"),
    ("new", f"{WWW}/dir/new"),
    (f"{BUCKET}/new", f"{CDN}/new"),
    (f"{WWW}/new", f"{WWW}/new"),
    ("https://login.example.org/", "https://login.example.org/"),
    ("http://staging.example.com/new", "http://staging.example.com/new"),
    ("https://[", "https://["),
])
def test_redirect_has_the_names_of_production(location: str, named: str) -> None:
    response = get(f"{WWW}/dir/old", network(location))
    assert (response.status, response.headers) == (302, {"location": named, "etag": "x"})


def test_redirect_is_to_the_requested_one_of_two_hosts_with_the_same_staging() -> None:
    pairs = {"https://example.com": STAGING, WWW: STAGING}
    for name in pairs:
        assert get(f"{name}/", network(f"{STAGING}/a"), pairs).headers["location"] == f"{name}/a"
    assert get("https://example.org/", network(f"{STAGING}/a"), pairs).headers["location"] == "https://example.com/a"


def test_url_of_the_staging_host_redirects_to_production_without_a_request() -> None:
    site = network()
    response = get(f"{STAGING}/sitemap.xml?a", site)
    assert (response.status, response.headers["location"]) == (301, f"{WWW}/sitemap.xml?a")
    assert get(f"{STAGING}/robots.txt", site).status == 404  # else it would verify the listings of production
    assert site.requests == []


def test_other_scheme_of_a_mapped_host_is_not_requested() -> None:
    site = network()
    with pytest.raises(FetchError, match=f"not requested: {WWW} is mapped, and http://www.example.com is not") as error:
        get("http://www.example.com/a", site)
    assert not error.value.transient
    assert get("http://www.example.com/robots.txt", site).status == 404
    assert site.requests == []
    both = {**PAIRS, "http://www.example.com": STAGING}
    assert get("http://www.example.com/a", site, both).status == 200
    assert site.requests == [f"{STAGING}/a"]


@pytest.mark.parametrize(("pairs", "message"), [
    ([("www.example.com", STAGING)], "a host without a scheme"),
    ([(WWW, "staging.example.com")], "a host without a scheme"),
    ([(WWW, 3)], "a host without a scheme"),
    ([(WWW, "ftp://staging.example.com")], "no http or https URL"),
    ([(WWW, "https://")], "no http or https URL"),
    ([(WWW, f"{STAGING}/path")], f"{STAGING} has a path"),
    ([(f"{WWW}/?a", STAGING)], f"{WWW} has a path"),
    ([(f"{WWW}/#a", STAGING)], f"{WWW} has a path"),
    ([(WWW, WWW)], f"{WWW} is mapped to itself"),
    ([(WWW, "HTTPS://WWW.example.com:443/")], f"{WWW} is mapped to itself"),
    ([(WWW, STAGING), (f"{WWW}/", BUCKET)], f"{WWW} is mapped twice"),
    ([(WWW, STAGING), (STAGING, BUCKET)], f"{STAGING} is on both sides"),
    ([(WWW, "https://me:secret@staging.example.com")], f"{STAGING} has a login; use auth= or netrc="),
])
def test_map_that_is_no_map_of_hosts_is_a_usage_error(pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(UsageError) as error:
        HostMap.of(pairs)
    assert message in str(error.value)
    assert "secret" not in str(error.value)


def test_no_map_is_none() -> None:
    assert HostMap.of(None) is HostMap.of({}) is HostMap.of([]) is None


def test_seeds_have_their_mapped_origins_only() -> None:
    made = HostMap.of({WWW: STAGING})
    (seed,) = made.seeds([parse_target("www.example.com")])
    assert seed.origins == (WWW,)  # http would be that of production
    message = f"host_map= has {WWW}, and not the host of the target: map https://example.com"
    with pytest.raises(UsageError, match=message):
        made.seeds([parse_target("https://example.com/sitemap.xml")])


# --- credentials ---


def headers_for(url: str, target: str, pairs: Mapping[str, str], **given: object) -> dict[str, str]:
    made = HostMap.of(pairs)
    caller = make_headers(given.get("headers", ()), given.get("auth"), given.get("netrc", Logins()))  # type: ignore[arg-type]
    seeds = made.real_seeds(made.seeds([parse_target(target)]))
    return dict(RequestHeaders(caller, seeds, made.credentials_url).headers_for(url, {}))


@pytest.mark.parametrize(("url", "is_sent"), [
    (f"{WWW}/a", True),
    ("http://www.example.com/a", False),
    ("https://img.example.com/a", False),  # of the same domain, and production
    ("https://example.com/a", False),
    (f"{CDN}/a", False),  # mapped to a host of another domain
    ("http://staging.example.com/a", False),
    ("https://example.net/a", False),
])
def test_headers_go_to_the_staging_host_alone(url: str, is_sent: bool) -> None:
    key = {"X-Key": "k"}
    assert headers_for(url, WWW, PAIRS, headers=key) == (key if is_sent else {})
    login = {"Authorization": basic("me", "secret")}
    assert headers_for(url, WWW, PAIRS, auth="me:secret") == (login if is_sent else {})
    assert headers_for(url, "https://me:secret@www.example.com", PAIRS) == (login if is_sent else {})


def test_netrc_has_the_login_of_the_staging_host_never_of_production() -> None:
    logins = Logins({f"{name}.example.com": f"Basic {name}" for name in ("www", "staging", "cdn")})
    sent = {url: headers_for(f"{url}/", WWW, PAIRS, netrc=logins) for url in (WWW, CDN, "https://example.com")}
    assert sent == {WWW: {"Authorization": "Basic staging"}, CDN: {}, "https://example.com": {}}


def test_credentials_are_for_the_scheme_that_the_map_names() -> None:
    plain = {WWW: "http://staging.example.com"}
    assert headers_for(f"{WWW}/a", WWW, plain, auth="me:secret") == {"Authorization": basic("me", "secret")}
    mixed = {WWW: STAGING, CDN: "http://staging.example.com"}  # from https to http
    assert headers_for(f"{CDN}/a", WWW, mixed, auth="me:secret") == {}


def test_user_agent_goes_to_all_hosts() -> None:
    assert headers_for("https://example.net/a", WWW, PAIRS, headers={"User-Agent": "me"}) == {"User-Agent": "me"}
