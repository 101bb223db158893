"""Which URLs a document may list, beyond the rules that tests/test_scope_rules.py has a row for each."""

import attrs
import pytest

from sitemap_reader.parser import SCOPE_MODES, Scope, clean_prefix, host_prefixes, verified_prefixes

SHOP = ("https://example.com/shop/",)
SITE = ("http://example.com/", "https://example.com/")
PORT = ("http://example.com:8080/",)
TWO = ("https://example.com/shop/", "https://www.example.com/")
DEEP = ("https://www.example.co.uk/a/b/",)
SIX = ("http://[2001:db8::1]/",)

ROWS = [
    ("protocol", SHOP, "https://example.com/?/shop/", "path"),
    # compared as RFC 3986 6.2.2 does: hex digits, unreserved characters, dot segments
    ("protocol", ("https://example.com/sh%C3%B6p/",), "https://example.com/sh%c3%b6p/a", None),
    ("protocol", ("https://example.com/~me/",), "https://example.com/%7Eme/a", None),
    ("protocol", ("https://example.com/%7eme/",), "https://example.com/~me/a", None),
    ("protocol", SHOP, "https://example.com/shop/a%2Fb?c=%2e%2e/", None),
    ("protocol", SHOP, "https://example.com/shop/%2e%2e/admin", "path"),
    ("protocol", SHOP, "https://example.com/shop/%2E./admin", "path"),
    ("protocol", SHOP, "https://example.com/shop/a/%2e%2e/b", None),
    # http and https on their default ports differ by scheme only
    ("protocol", SHOP, "http://example.com/", "scheme"),  # the path does not matter
    ("protocol", SHOP, "http://example.com:443/shop/a", "scheme"),
    ("protocol", PORT, "https://example.com:8080/", "scheme"),
    # ports
    ("protocol", SHOP, "http://example.com:8080/shop/a", "port"),  # scheme and port: the port is the larger difference
    ("protocol", PORT, "http://example.com:8081/a", "port"),
    ("protocol", SHOP, "https://example.com:0/shop/a", "port"),
    # other hosts, also those that look alike
    ("protocol", SHOP, "https://example.com.evil.example/shop/a", "host"),
    ("protocol", SHOP, "https://evil.example/https://example.com/shop/", "host"),
    ("protocol", SHOP, "https://example.com./shop/a", "host"),  # a trailing dot is kept as part of the name
    ("protocol", SHOP, "https://example.com:x@evil.example/shop/a", "host"),
    ("protocol", SIX, "http://[2001:db8::1]/a", None),
    ("protocol", SIX, "http://[2001:db8::1]:81/a", "port"),
    ("protocol", SIX, "http://[2001:db8::2]/a", "host"),
    ("protocol", SHOP, "https://me:secret@example.com/a", "path"),
    # one of several authorities is enough; otherwise the nearest gives the reason
    ("protocol", SITE, "http://example.com/a", None),
    ("protocol", SITE, "https://example.com/a", None),
    ("protocol", SITE, "https://example.com:8443/a", "port"),
    ("protocol", TWO, "https://www.example.com/a", None),
    ("protocol", TWO, "https://example.com/a", "path"),
    ("protocol", TWO, "http://www.example.com/shop/a", "scheme"),
    ("protocol", (*SHOP, *PORT), "http://example.com/shop/a", "scheme"),
    ("protocol", (*SHOP, *PORT), "http://example.com:8080/shop/a", None),
    # no authority
    ("protocol", (), "https://example.com/", "host"),
    # host: scheme and path do not count, ports do
    ("host", SHOP, "http://me@example.com/a", None),
    ("host", PORT, "https://example.com:8080/a", None),
    ("host", (), "https://example.com/", "host"),
    # domain: hosts under one registrable domain, on any port
    ("domain", DEEP, "http://shop.example.co.uk:8080/c", None),
    ("domain", DEEP, "https://example.co.uk/", None),
    ("domain", DEEP, "https://example.co.uk./", None),
    ("domain", SIX, "http://[2001:db8::1]:81/a", None),
    ("domain", ("http://192.0.2.1/",), "http://9.0.2.1/", "host"),  # addresses have no domain
    ("domain", ("https://a.github.io/",), "https://b.github.io/", "host"),
    ("domain", (), "https://example.com/", "host"),
    # any
    ("any", (), "https://example.com/", None),
]


@pytest.mark.parametrize(("mode", "authorities", "url", "reason"), ROWS)
def test_url_is_in_scope_or_the_nearest_miss_is_named(mode, authorities, url, reason):
    """In any order of the authorities."""
    assert Scope(mode, authorities).reason(url) == reason
    assert Scope(mode, authorities[::-1]).reason(url) == reason


def test_every_mode_has_rows():
    assert {row[0] for row in ROWS} == set(SCOPE_MODES)


def test_a_scope_is_a_value_also_after_use():
    used = Scope("protocol", SHOP)
    assert used.reason("https://example.com/") == "path"
    assert used == Scope("protocol", SHOP)
    assert hash(used) == hash(Scope("protocol", SHOP))
    wider = attrs.evolve(used, prefixes=SITE)
    assert wider.reason("https://example.com/") is None
    assert wider.reason("https://example.com:81/") == "port"


BOTH = ("http://example.com/", "https://example.com/")
WWW = ("http://www.example.com/", "https://www.example.com/")


@pytest.mark.parametrize(("url", "authorities"), [
    ("https://example.com/robots.txt", BOTH),
    ("http://example.com/a/b?c", BOTH),
    ("https://me:secret@example.com/robots.txt", BOTH),
    ("http://example.com:8080/robots.txt", (*BOTH, "http://example.com:8080/")),
    ("http://[::1]:81/robots.txt", ("http://[::1]/", "https://[::1]/", "http://[::1]:81/")),
])
def test_host_is_verified_on_both_schemes_and_the_requested_port(url, authorities):
    assert host_prefixes(url) == authorities


@pytest.mark.parametrize(("requested", "final", "authorities"), [
    ("https://example.com/robots.txt", "https://example.com/robots.txt", BOTH),
    ("http://example.com/robots.txt", "https://example.com/robots.txt", BOTH),
    ("https://example.com/robots.txt", "https://www.example.com/robots.txt", (*BOTH, *WWW)),
    ("https://www.example.com/robots.txt", "https://example.com/robots.txt", (*WWW, *BOTH)),
    ("https://example.com/robots.txt", "https://example.com:8443/robots.txt", (*BOTH, "https://example.com:8443/")),
    # anyone can redirect to a file of another site
    ("https://example.com/robots.txt", "https://victim.example/upload.txt", BOTH),
    ("https://a.github.io/robots.txt", "https://b.github.io/robots.txt",
     ("http://a.github.io/", "https://a.github.io/")),
    ("http://192.0.2.1/robots.txt", "http://192.0.2.9/robots.txt", ("http://192.0.2.1/", "https://192.0.2.1/")),
])
def test_redirect_extends_verification_within_one_registrable_domain(requested, final, authorities):
    assert verified_prefixes(requested, final) == authorities


@pytest.mark.parametrize(("given", "authority"), [
    ("https://example.com", "https://example.com/"),
    ("HTTPS://Example.com:443/shop", "https://example.com/shop/"),
    ("https://me:secret@example.com/shop/", "https://example.com/shop/"),
])
def test_authority_given_by_a_user_is_a_folder(given, authority):
    assert clean_prefix(given) == authority
