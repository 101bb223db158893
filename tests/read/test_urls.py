"""The canonical form of URLs, row by row: what is done in silence, what is noted, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitemap_reader.read import urls
from sitemap_reader.read.urls import clean_url

BASE = "https://example.com/shop/sitemap.xml?page=/2"

SILENT = [
    # nothing to do
    ("https://example.com/", "https://example.com/"),
    ("https://example.com/a?b=c&d=/e?", "https://example.com/a?b=c&d=/e?"),
    ("https://example.com/-._~!$&'()*+,;=:@/", "https://example.com/-._~!$&'()*+,;=:@/"),
    ("https://my_shop.example.com/", "https://my_shop.example.com/"),  # `_` is seen in the wild
    ("https://example.com./a", "https://example.com./a"),  # a trailing dot is part of the name
    ("https://example.com//a//", "https://example.com//a//"),
    ("https://example.com/?", "https://example.com/?"),
    # case of scheme and host, never of the path
    ("HTTPS://Example.COM/A", "https://example.com/A"),
    # white space around
    (" \t\r\nhttps://example.com/\xa0\u2003\u3000", "https://example.com/"),
    # an empty path
    ("https://example.com", "https://example.com/"),
    ("https://example.com?a", "https://example.com/?a"),
    # ports: RFC 3986 6.2.3
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:/", "https://example.com/"),
    ("https://example.com:00443/", "https://example.com/"),
    ("http://example.com:443/", "http://example.com:443/"),
    ("http://example.com:80", "http://example.com/"),
    ("http://example.com:8080/", "http://example.com:8080/"),
    ("http://example.com:65535/", "http://example.com:65535/"),
    ("http://example.com:0/", "http://example.com:0/"),
    # dot segments: RFC 3986 5.2.4, literal dots only
    ("https://example.com/a/./b/../c", "https://example.com/a/c"),
    ("https://example.com/a/b/..", "https://example.com/a/"),
    ("https://example.com/a/.", "https://example.com/a/"),
    ("https://example.com/../../a", "https://example.com/a"),
    ("https://example.com/a//../b", "https://example.com/a/b"),
    ("https://example.com/...", "https://example.com/..."),
    ("https://example.com/.well-known/a", "https://example.com/.well-known/a"),
    ("https://example.com/a/%2e%2E/b", "https://example.com/a/%2e%2E/b"),
    ("https://example.com/a?b=/../c", "https://example.com/a?b=/../c"),
    # escapes that are there stay, their case too
    ("https://example.com/%41%2f%e3", "https://example.com/%41%2f%e3"),
    # non-ASCII is UTF-8
    ("https://example.com/café?q=ü", "https://example.com/caf%C3%A9?q=%C3%BC"),
    ("https://example.com/商品/😀", "https://example.com/%E5%95%86%E5%93%81/%F0%9F%98%80"),
    ("https://example.com/a\u200bb", "https://example.com/a%E2%80%8Bb"),
    # IDN to punycode; ASCII labels beside it stay
    ("https://Bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/"),
    ("https://例え。example/", "https://xn--r8jz45g.example/"),
    ("https://straße.example/", "https://xn--strae-oqa.example/"),
    ("https://my_shop.bücher.example:8080/", "https://my_shop.xn--bcher-kva.example:8080/"),
    ("https://ＥＸＡＭＰＬＥ.com/", "https://example.com/"),
    ("https://ex%41mple.com/", "https://example.com/"),
    # addresses
    ("http://192.0.2.1/a", "http://192.0.2.1/a"),
    ("http://[2001:DB8::1]/a", "http://[2001:db8::1]/a"),
    ("http://[::1]:80/", "http://[::1]/"),
    ("http://[::ffff:192.0.2.1]:8080/", "http://[::ffff:192.0.2.1]:8080/"),
    # userinfo without a word in it
    ("https://@example.com/", "https://example.com/"),
    ("https://:@example.com/", "https://example.com/"),
    ("https://example.com/@name", "https://example.com/@name"),
]  # fmt: skip

NOTED = [
    # U08: the fragment, empty or not
    ("https://example.com/a#b", "https://example.com/a", ["U08"]),
    ("https://example.com/a#", "https://example.com/a", ["U08"]),
    ("https://example.com#!/a?b#c", "https://example.com/", ["U08"]),
    # U10: characters that no URL holds, kept as escapes
    ("https://example.com/a b", "https://example.com/a%20b", ["U10"]),
    ("https://example.com/a\n   b\tc", "https://example.com/a%0A%20%20%20b%09c", ["U10"]),
    ('https://example.com/<>"{}|\\^`', "https://example.com/%3C%3E%22%7B%7D%7C%5C%5E%60", ["U10"]),
    ("https://example.com/a[1]?b[]=2", "https://example.com/a%5B1%5D?b%5B%5D=2", ["U10"]),
    ("https://example.com/\x00\x1f\x7f", "https://example.com/%00%1F%7F", ["U10"]),
    ("https://example.com/100%", "https://example.com/100%25", ["U10"]),
    ("https://example.com/%zz?%4", "https://example.com/%25zz?%254", ["U10"]),
    ("https://example.com/%%41", "https://example.com/%25%41", ["U10"]),
    ("https://example.com/%４1", "https://example.com/%25%EF%BC%941", ["U10"]),
    ("https://example.com/\ud800\udc00", "https://example.com/%EF%BF%BD%EF%BF%BD", ["U10"]),
    ("https://example.com/é b", "https://example.com/%C3%A9%20b", ["U10"]),
    # U14: credentials
    ("https://me:secret@Example.com/", "https://me:secret@example.com/", ["U14"]),
    ("https://me@example.com:443/", "https://me@example.com/", ["U14"]),
    ("https://me@home:x@example.com/", "https://me%40home:x@example.com/", ["U14", "U10"]),
    ("https://m e:é@example.com/ ", "https://m%20e:%C3%A9@example.com/", ["U14", "U10"]),
    # U01: RFC 3986 5.2.2 and 5.4.1
    ("/a", "https://example.com/a", ["U01"]),
    ("a/b.html", "https://example.com/shop/a/b.html", ["U01"]),
    ("./a", "https://example.com/shop/a", ["U01"]),
    ("../a", "https://example.com/a", ["U01"]),
    ("../../../a", "https://example.com/a", ["U01"]),
    ("?page=3", "https://example.com/shop/sitemap.xml?page=3", ["U01"]),
    ("#top", "https://example.com/shop/sitemap.xml?page=/2", ["U01", "U08"]),
    ("//CDN.example/x", "https://cdn.example/x", ["U01"]),
    ("//cdn.example", "https://cdn.example/", ["U01"]),
    ("www.example.com/a", "https://example.com/shop/www.example.com/a", ["U01"]),
    ("https/a", "https://example.com/shop/https/a", ["U01"]),
    ("/a b#c", "https://example.com/a%20b", ["U01", "U08", "U10"]),
]  # fmt: skip

REFUSED = [
    # U02: another scheme
    ("ftp://example.com/", "U02"),
    ("javascript:void(0)", "U02"),
    ("mailto:info@example.com", "U02"),
    ("data:text/plain,a", "U02"),
    ("file:///etc/passwd", "U02"),
    ("httpx://example.com/", "U02"),
    ("htps://example.com/", "U02"),
    # U15: http by name, but mangled
    ("", "U15"),
    (" \n\t", "U15"),
    ("http:/example.com/", "U15"),
    ("http:example.com/", "U15"),
    ("https//example.com/", "U15"),
    ("https;//example.com/", "U15"),
    ("https ://example.com/", "U15"),
    ("http:\\\\example.com\\a", "U15"),
    ("http", "U01"),
    # no host
    ("http://", "U15"),
    ("http:///a", "U15"),
    ("https://?a", "U15"),
    ("https://:80/", "U15"),
    ("https://me@/", "U15"),
    ("https://\u00ad/", "U15"),
    # no port
    ("http://example.com:65536/", "U15"),
    ("http://example.com:99999/", "U15"),
    ("http://example.com:" + "9" * 5000 + "/", "U15"),
    ("http://example.com:http/", "U15"),
    ("http://example.com:-1/", "U15"),
    ("http://example.com:８０/", "U15"),
    ("http://example.com:80:80/", "U15"),
    # no name
    ("https://exa mple.com/", "U15"),
    ("https://example.com /", "U15"),
    ("https://example\n.com/", "U15"),
    ("https://example.com\\@evil.example/", "U15"),
    ("https://example.com\\a", "U15"),
    ("https://*.example.com/", "U15"),
    ("https://a,b/", "U15"),
    ("https://a..b/", "U15"),
    ("https://.example.com/", "U15"),
    ("https://example.com../", "U15"),
    (f"https://{'a' * 64}.example/", "U15"),
    (f"https://{'a.' * 127}a/", "U15"),
    ("https://ex%2Fample.com/", "U15"),
    ("https://ex%ample.com/", "U15"),
    ("https://%FF.example/", "U15"),
    ("https://\ud800.example/", "U15"),
    ("https://a\u2260b\uff0fc.example/", "U15"),
    (f"https://{'ü' * 100}.example/", "U15"),
    (f"https://{'ü.' * 200}example/", "U15"),
    (f"https://{'ü' * 100_000}/", "U15"),
    # no address
    ("http://[::1/", "U15"),
    ("http://[]/", "U15"),
    ("http://[::g]/", "U15"),
    ("http://[1.2.3.4]/", "U15"),
    ("http://[fe80::1%25eth0]/", "U15"),
    ("http://[v1.a]/", "U15"),
    ("http://[::1]a/", "U15"),
    ("http://a[::1]/", "U15"),
    ("http://::1/", "U15"),
]  # fmt: skip


def codes(loc):
    return [code for code, _ in loc.notes]


@pytest.mark.parametrize(("raw", "url"), SILENT)
def test_what_names_the_same_page_is_made_canonical_in_silence(raw, url):
    assert clean_url(raw) == urls.Loc(url)


@pytest.mark.parametrize(("raw", "url", "noted"), NOTED)
def test_what_had_to_be_mended_is_noted(raw, url, noted):
    loc = clean_url(raw, BASE)
    assert (loc.url, codes(loc)) == (url, noted)


@pytest.mark.parametrize(("raw", "code"), REFUSED)
def test_what_is_no_url_of_a_page_is_refused_with_the_reason_last(raw, code):
    loc = clean_url(raw)
    assert loc.url is None
    assert codes(loc)[-1] == code


@pytest.mark.parametrize(("raw", "code"), [row for row in REFUSED if row[1] != "U01"])
def test_a_base_does_not_make_sense_of_what_is_mangled(raw, code):
    loc = clean_url(raw, BASE)
    assert loc.url is None
    assert codes(loc)[-1] == code


@pytest.mark.parametrize("raw", ["/a", "a", "//example.com/a", "?a", "#a", "www.example.com"])
@pytest.mark.parametrize("base", [None, "", "sitemap.xml", "ftp://example.com/"])
def test_a_relative_url_without_a_base_is_unusable(raw, base):
    loc = clean_url(raw, base)
    assert loc.url is None
    assert codes(loc) == ["U01"]


def test_the_base_is_cleaned_too_and_keeps_its_password_to_itself():
    assert clean_url("b", "HTTP://me:secret@Example.com:80/x/a#f").url == "http://example.com/x/b"
    assert clean_url("?b", "http://me:secret@example.com/x").url == "http://example.com/x?b"
    assert clean_url("#b", "http://me:secret@example.com/x?y").url == "http://example.com/x?y"


# What UTS 46 leaves out of a name: a soft hyphen, and a mark that takes four bytes, so twelve escaped characters.
INVISIBLE = ["\u00ad", "%C2%AD", "\U000e0100", "%F3%A0%84%80"]


@pytest.mark.parametrize(("length", "fits"), [(253, True), (254, False), (5_000, False)])
@pytest.mark.parametrize("invisible", INVISIBLE)
def test_a_host_has_253_characters_before_it_is_mapped(invisible, length, fits):
    """Mapping takes its time: what is too long as it was written is not mapped to see what remains of it."""
    loc = clean_url(f"https://example{invisible * (length - len('example.com'))}.com/")
    assert loc.url == ("https://example.com/" if fits else None)
    assert (("U15", "unusable host") in loc.notes) is not fits


def test_a_host_of_a_megabyte_is_not_even_unescaped(monkeypatch):
    monkeypatch.setattr(urls, "unquote", lambda *_, **__: pytest.fail("unescaped"))
    assert clean_url(f"https://{'%C3%BC' * 200_000}.example/").notes[-1] == ("U15", "unusable host")


@pytest.mark.parametrize(("length", "noted"), [(2047, []), (2048, ["U03"])])
@pytest.mark.parametrize("letter", ["a", "é"])
def test_length_counts_the_characters_of_the_text(length, noted, letter):
    raw = "https://example.com/".ljust(length, letter)
    loc = clean_url(f" {raw} ")
    assert loc.url is not None
    assert codes(loc) == codes(clean_url(raw)) == noted


SOUP = st.text(
    st.one_of(st.sampled_from(list("htps:/?#[]@%.\\ aZ09_-é。ü\x00\n\ud800&=")), st.characters()), max_size=40
)
TEXTS = st.one_of(
    st.text(),
    SOUP,
    st.builds("{}{}".format, st.sampled_from(["http://", "https://a.example/", "//", "HTTP://a:b@"]), SOUP),
)


@given(TEXTS, st.sampled_from([None, BASE]))
@example("https://[::1%25é]/", None)
@example("https://xn--\u00fc/", None)
def test_no_text_raises_and_a_clean_url_stays_as_it_is(raw, base):
    loc = clean_url(raw, base)
    if loc.url is None:
        assert loc.notes[-1][0] in ("U01", "U02", "U15")
        return
    again = clean_url(loc.url)
    assert again.url == loc.url
    assert set(codes(again)) <= {"U03", "U14"}
    assert urls.without_userinfo(loc.url).startswith(urls.directory(loc.url))
    assert urls.directory(loc.url).startswith(urls.origin(loc.url) + "/")
    assert urls.host(loc.url) in urls.origin(loc.url)
    assert urls.registrable_domain(urls.host(loc.url))


@given(st.one_of(TEXTS, st.builds("https://{}/{}".format, SOUP, SOUP)))
@example("https://a..b/")
@example("https://a.b./")
@example(f"https://{'a' * 64}/")
@example("http://a:65536/")
@example("http://a:80/")
@example("https://a:443/")
@example("https://a/%zz")
@example("https://a/b/..")
@example("https://a:8080/b?c%20")
def test_the_short_way_gives_what_the_long_way_gives(raw):
    if urls.is_clean(raw):
        assert clean_url(raw + " ") == clean_url(raw) == urls.Loc(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "https://www.example.com/a/b-c_d.html?e=f&g=%20h",
        "http://example.com:8080/",
        "http://127.0.0.1:54321/sitemap.xml",
        "https://example.com/@a/~b",
    ],
)
def test_usual_urls_take_the_short_way(raw):
    assert urls.is_clean(raw)


@pytest.mark.parametrize(
    ("url", "origin", "directory", "host"),
    [
        ("https://example.com/", "https://example.com", "https://example.com/", "example.com"),
        ("http://example.com:8080/a/b?c=/d", "http://example.com:8080", "http://example.com:8080/a/", "example.com"),
        ("https://me:x@example.com/a/", "https://example.com", "https://example.com/a/", "example.com"),
        ("http://[::1]:81/a", "http://[::1]:81", "http://[::1]:81/", "[::1]"),
        ("https://example.com/a/@b:c", "https://example.com", "https://example.com/a/", "example.com"),
    ],
)
def test_parts_of_a_clean_url(url, origin, directory, host):
    assert (urls.origin(url), urls.directory(url), urls.host(url)) == (origin, directory, host)


def test_userinfo_is_taken_out_and_nothing_else():
    assert urls.without_userinfo("https://me:x@example.com:81/@a?b@c") == "https://example.com:81/@a?b@c"
    assert urls.without_userinfo("https://example.com/@a?b@c") == "https://example.com/@a?b@c"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("www.example.co.uk", "example.co.uk"),
        ("www.example.com.", "example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("a.github.io", "a.github.io"),  # the list's private section
        ("github.io", "github.io"),  # a suffix itself
        ("localhost", "localhost"),
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_registrable_domain(host, domain):
    assert urls.registrable_domain(host) == domain
