"""The canonical form of URLs, row by row: silent changes, noted repairs, refused URLs.

tests/fuzz/value_rules.py has what holds for any text.
"""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.parser import clean_url, is_clean, listed_url
from sitemap_reader.parser.normalise import urls

BASE = "https://example.com/shop/sitemap.xml?page=/2"

Row = tuple[str, str, list[str]]
LONG = "https://example.com/"


def same(*raws: str) -> list[Row]:
    """Rows of URLs that are unchanged, without a problem."""
    return [(raw, raw, []) for raw in raws]


# Rule -> text, canonical URL, codes of problems. All are resolved against BASE.
KEPT: dict[str, list[Row]] = {
    "RFC 3986 2.3, 3.3, 3.4: unreserved and reserved characters stay, escaped or not": same(
        "https://example.com/", "https://example.com/a?b=c&d=/e?", "https://example.com/-._~!$&'()*+,;=:@/",
        "https://example.com/?-._~!$&'()*+,;=:@/?", "https://example.com/a;jsessionid=1;v=1.2/b;c?d;e",
        "https://example.com/a/..;/b", "https://example.com/@name", "https://example.com/https://other.example/",
        "https://example.com//a//", "https://example.com/%41%2f%e3%2F%3F%23%7e%00%FF",
        "https://example.com/?a=%26&b=%3D+%20"),
    "RFC 3986 6.2.3: an empty query is a query": [
        *same("https://example.com/?", "https://example.com/a?"),
        ("https://example.com?", "https://example.com/?", []),
        ("https://example.com?a", "https://example.com/?a", []),
    ],
    "RFC 3986 6.2.2.1: case of scheme and host, never of the path": [
        ("HTTPS://Example.COM/A%c3%A9?B", "https://example.com/A%c3%A9?B", []),
        ("hTtP://EXAMPLE.com/", "http://example.com/", []),
        ("http://[2001:DB8::A]/", "http://[2001:db8::a]/", []),
    ],
    "RFC 3986 6.2.3: an empty path is /": [
        ("https://example.com", "https://example.com/", []),
        ("http://example.com:80", "http://example.com/", []),
    ],
    "RFC 3986 3.2.3, 6.2.3: the default port is none; leading zeros mean nothing": [
        ("http://example.com:80/", "http://example.com/", []),
        ("https://example.com:443/", "https://example.com/", []),
        ("https://example.com:/", "https://example.com/", []),
        ("https://example.com:00443/", "https://example.com/", []),
        ("http://example.com:" + "0" * 5000 + "80/", "http://example.com/", ["U03"]),
        ("http://example.com:08080/", "http://example.com:8080/", []),
        ("http://example.com:000/", "http://example.com:0/", []),
        ("http://[::1]:80/", "http://[::1]/", []),
        ("http://[::1]:/", "http://[::1]/", []),
        *same("http://example.com:443/", "https://example.com:80/", "http://example.com:8080/",
              "http://example.com:65535/", "http://example.com:0/"),
    ],
    "RFC 3986 5.2.4: literal dot segments go, escaped ones are another path": [
        ("https://example.com/a/./b/../c", "https://example.com/a/c", []),
        ("https://example.com/a/b/..", "https://example.com/a/", []),
        ("https://example.com/a/b/../", "https://example.com/a/", []),
        ("https://example.com/a/.", "https://example.com/a/", []),
        ("https://example.com/..", "https://example.com/", []),
        ("https://example.com/../../a", "https://example.com/a", []),
        ("https://example.com/a//../b", "https://example.com/a/b", []),
        ("https://example.com/a/../?b", "https://example.com/?b", []),
        *same("https://example.com/...", "https://example.com/.well-known/a", "https://example.com/a../b.",
              "https://example.com/a/%2e%2E/b", "https://example.com/a/.%2e/b", "https://example.com/a/%2E",
              "https://example.com/a?b=/../c"),
    ],
    "RFC 3987 3.1: non-ASCII characters are UTF-8, escaped": [
        ("https://example.com/café?q=ü", "https://example.com/caf%C3%A9?q=%C3%BC", []),
        ("https://example.com/cafe\u0301", "https://example.com/cafe%CC%81", []),  # not NFC: another name
        ("https://example.com/商品/😀", "https://example.com/%E5%95%86%E5%93%81/%F0%9F%98%80", []),
        ("https://example.com/a\u200bb\xa0c\ufeffd", "https://example.com/a%E2%80%8Bb%C2%A0c%EF%BB%BFd", []),
        ("https://example.com/é%c3%a9", "https://example.com/%C3%A9%c3%a9", []),
        ("https://example.com/\x85a\u2028b", "https://example.com/%C2%85a%E2%80%A8b", []),
        ("https://example.com/\U0010ffff", "https://example.com/%F4%8F%BF%BF", []),
    ],
    "contract: white space around is no part of it": [
        (" \t\r\nhttps://example.com/\xa0\u2003\u3000", "https://example.com/", []),
        ("\xa0https://example.com/a\xa0", "https://example.com/a", []),
        ("\ufeffhttps://example.com/a", "https://example.com/a", []),  # the BOM of a file that was joined
        ("\u1680\u2028\u202f\u205f\x85\v\fhttps://example.com/", "https://example.com/", []),
    ],
    "contract: invisible characters around are left out (U10), joiners and those inside are not": [
        ("\u200bhttps://example.com/a", "https://example.com/a", ["U10"]),
        (" \u200e\u200f https://example.com/a\u00ad\u2060 \u200b", "https://example.com/a", ["U10"]),
        ("\u202ahttps://example.com/\u202c", "https://example.com/", ["U10"]),
        ("\u200b/a", "https://example.com/a", ["U10", "U01"]),
        ("https://example.com/\u06cc\u200c", "https://example.com/%DB%8C%E2%80%8C", []),
        ("https://example.com/a\u200bb", "https://example.com/a%E2%80%8Bb", []),
    ],
    "RFC 3490, UTS 46: names are punycode, in lower case; ASCII labels stay": [
        ("https://Bücher.example/", "https://xn--bcher-kva.example/", []),
        ("https://BU\u0308CHER.example/", "https://xn--bcher-kva.example/", []),
        ("https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/", []),
        ("https://例え。example/", "https://xn--r8jz45g.example/", []),
        ("https://straße.example/", "https://xn--strae-oqa.example/", []),
        ("https://ＥＸＡＭＰＬＥ.com/", "https://example.com/", []),
        ("https://ex%41mple.com/", "https://example.com/", []),
        ("https://bücher.example./", "https://xn--bcher-kva.example./", []),
        ("https://XN--BCHER-KVA.example/", "https://xn--bcher-kva.example/", []),
        ("https://xn--bcher-kva.bücher.example/", "https://xn--bcher-kva.xn--bcher-kva.example/", []),
        *same("https://xn--bcher-kva.example/", "https://xn--a.example/", "https://ab--c.example/"),
    ],
    "contract: hosts that IDNA 2008 refuses, and browsers find": [
        *same("https://my_shop.example.com/", "https://_.example/", "https://-a-.example/"),
        ("https://my_shop.bücher.example:8080/", "https://my_shop.xn--bcher-kva.example:8080/", []),
        ("https://my_bücher.example/", "https://xn--my_bcher-95a.example/", []),
        ("https://i❤.example/", "https://xn--i-7iq.example/", []),
        ("https://😀😀.example/", "https://xn--e28ha.example/", []),
    ],
    "RFC 3986 3.2.2: a trailing dot is part of the name": same("https://example.com./a", "https://localhost./"),
    "RFC 3986 3.2.2: addresses stay as they are written": [
        *same("http://192.0.2.1/a", "http://[2001:db8::1]/a", "http://[::ffff:192.0.2.1]:8080/",
              "http://[2001:0db8:0:0:0:0:0:1]/"),
        # some parsers read these as IPv4, others as names
        *same("http://127.1/", "http://0x7f.0.0.1/", "http://2130706433/", "http://192.168.010.1/",
              "http://256.1.1.1/", "http://1.2.3.4.5/", "http://1.2.3.4./"),
    ],
    "RFC 3986 6.2.3: userinfo without a word in it is none": [
        ("https://@example.com/", "https://example.com/", []),
        ("https://:@example.com/", "https://example.com/", []),
    ],
    "contract: credentials are kept (U14)": [
        ("https://me:secret@Example.com/", "https://me:secret@example.com/", ["U14"]),
        ("https://me@example.com:443/", "https://me@example.com/", ["U14"]),
        ("https://:secret@example.com/", "https://:secret@example.com/", ["U14"]),
        ("https://ME:%41@example.com/", "https://ME:%41@example.com/", ["U14"]),
        ("https://me@home:x@example.com/", "https://me%40home:x@example.com/", ["U14", "U10"]),
        ("https://m e:é@example.com/ ", "https://m%20e:%C3%A9@example.com/", ["U14", "U10"]),
    ],
    "contract: the fragment is dropped, empty or not (U08)": [
        ("https://example.com/a#b", "https://example.com/a", ["U08"]),
        ("https://example.com/a#", "https://example.com/a", ["U08"]),
        ("https://example.com/a?#", "https://example.com/a?", ["U08"]),
        ("https://example.com#!/a?b#c", "https://example.com/", ["U08"]),
        ("https://example.com/a#b%zz c", "https://example.com/a", ["U08"]),
        ("https://example.com/a%23b", "https://example.com/a%23b", []),
    ],
    "RFC 3986 2, appendix A: characters that no URL holds are escaped (U10)": [
        ("https://example.com/a b", "https://example.com/a%20b", ["U10"]),
        ("https://example.com/a\n   b\tc\rd", "https://example.com/a%0A%20%20%20b%09c%0Dd", ["U10"]),
        ('https://example.com/<>"{}|\\^`', "https://example.com/%3C%3E%22%7B%7D%7C%5C%5E%60", ["U10"]),
        ("https://example.com/a\\..\\b", "https://example.com/a%5C..%5Cb", ["U10"]),
        ("https://example.com/a[1]?b[]=2", "https://example.com/a%5B1%5D?b%5B%5D=2", ["U10"]),
        ("https://example.com/\x00\x1f\x7f", "https://example.com/%00%1F%7F", ["U10"]),
        ("https://example.com/?a=b c|d", "https://example.com/?a=b%20c%7Cd", ["U10"]),
        ("https://example.com/é b", "https://example.com/%C3%A9%20b", ["U10"]),
        ("https://example.com/\x1c", "https://example.com/%1C", ["U10"]),  # white space in Python only
    ],
    "RFC 3986 2.4: a % that escapes nothing is %25 (U10)": [
        ("https://example.com/100%", "https://example.com/100%25", ["U10"]),
        ("https://example.com/%", "https://example.com/%25", ["U10"]),
        ("https://example.com/%zz?%4", "https://example.com/%25zz?%254", ["U10"]),
        ("https://example.com/%%41", "https://example.com/%25%41", ["U10"]),
        ("https://example.com/%4%41", "https://example.com/%254%41", ["U10"]),
        ("https://example.com/%u00e9", "https://example.com/%25u00e9", ["U10"]),
        ("https://example.com/%４1", "https://example.com/%25%EF%BC%941", ["U10"]),
        ("https://example.com/%2541", "https://example.com/%2541", []),
    ],
    "Unicode 3.9: half a surrogate pair is U+FFFD (U10)": [
        ("https://example.com/\ud800\udc00", "https://example.com/%EF%BF%BD%EF%BF%BD", ["U10"]),
        ("https://example.com/?\udfff", "https://example.com/?%EF%BF%BD", ["U10"]),
    ],
    "RFC 3986 5.2.2, 5.4.1: references are resolved (U01)": [
        ("/a", "https://example.com/a", ["U01"]),
        ("a/b.html", "https://example.com/shop/a/b.html", ["U01"]),
        ("./a", "https://example.com/shop/a", ["U01"]),
        (".", "https://example.com/shop/", ["U01"]),
        ("..", "https://example.com/", ["U01"]),
        ("../a", "https://example.com/a", ["U01"]),
        ("../../../a", "https://example.com/a", ["U01"]),
        ("/../a/./b", "https://example.com/a/b", ["U01"]),
        (";a=b", "https://example.com/shop/;a=b", ["U01"]),
        ("a/b:c", "https://example.com/shop/a/b:c", ["U01"]),
        ("?page=3", "https://example.com/shop/sitemap.xml?page=3", ["U01"]),
        ("?", "https://example.com/shop/sitemap.xml?", ["U01"]),
        ("#top", "https://example.com/shop/sitemap.xml?page=/2", ["U01", "U08"]),
        ("//CDN.example/x", "https://cdn.example/x", ["U01"]),
        ("//cdn.example", "https://cdn.example/", ["U01"]),
        ("//me:x@cdn.example:443/", "https://me:x@cdn.example/", ["U01", "U14"]),
        ("www.other.example/a", "https://example.com/shop/www.other.example/a", ["U01"]),
        ("shop.example.com/a", "https://example.com/shop/shop.example.com/a", ["U01"]),
        ("example.com.html", "https://example.com/shop/example.com.html", ["U01"]),
        ("https/a", "https://example.com/shop/https/a", ["U01"]),
        ("http", "https://example.com/shop/http", ["U01"]),
        ("/a b#c", "https://example.com/a%20b", ["U01", "U08", "U10"]),
        ("\\a", "https://example.com/shop/%5Ca", ["U01", "U10"]),
        ("é", "https://example.com/shop/%C3%A9", ["U01"]),
    ],
    "contract: what begins with the document's own host lacks only the scheme (U01)": [
        ("example.com/a", "https://example.com/a", ["U01"]),
        ("www.example.com/a/../b", "https://www.example.com/b", ["U01"]),
        (" EXAMPLE.com ", "https://example.com/", ["U01"]),
        ("example.com./a", "https://example.com./a", ["U01"]),
        ("example.com?a=b#c", "https://example.com/?a=b", ["U01", "U08"]),
        ("example.com:8080/a", "https://example.com:8080/a", ["U01"]),
        ("example.com:80/a", "http://example.com/a", ["U01"]),
        ("example.com/a:b", "https://example.com/a:b", ["U01"]),
    ],
    "contract: 2,048 characters of the text and more are noted (U03)": [
        *same(LONG.ljust(2047, "a")),
        (LONG.ljust(2047, "é"), LONG + "%C3%A9" * (2047 - len(LONG)), []),
        (LONG.ljust(2048, "a"), LONG.ljust(2048, "a"), ["U03"]),
        (LONG.ljust(2048, "é"), LONG + "%C3%A9" * (2048 - len(LONG)), ["U03"]),
        (LONG.ljust(2047, "a") + " ", LONG.ljust(2047, "a"), []),
        (LONG.ljust(2047, "a") + "#", LONG.ljust(2047, "a"), ["U03", "U08"]),
        (LONG.ljust(1 << 20, "a"), LONG.ljust(1 << 20, "a"), ["U03"]),
    ],
}

# Code of the refusal, which is the last problem -> rule -> texts.
REFUSED: dict[str, dict[str, list[str]]] = {
    "U02": {
        "contract: only http and https": [
            "ftp://example.com/", "javascript:void(0)", "JavaScript:alert('/a')", 'javascript:alert("<b>")',
            "data:text/html,<p>", "mailto:info@example.com", "data:text/plain,a",
            "data:text/html;base64,aHR0cDovL2V4YW1wbGUuY29tLw==", "file:///etc/passwd", "feed:https://example.com/a",
            "feed://example.com/a", "view-source:https://example.com/", "blob:https://example.com/a",
            "ws://example.com/", "httpx://example.com/", "htps://example.com/", "a:b", "other.example:8080/a",
            "localhost:8080/a",
        ],
    },
    "U15": {
        "contract: http by name, but mangled, is no path on the site": [
            "http:<b>", "https://example.com/a>https://example.com/b", "", " \n\t\ufeff", "HTTP:",
            "http:/example.com/", "http:example.com/", "https//example.com/", "https;//example.com/",
            "https ://example.com/", "http:\\\\example.com\\a",
        ],
        "RFC 3986 3.2.2, RFC 9110 4.2: an http URL has a host": [
            "HTTP://", "http://", "http:///a", "https://?a", "https://#a", "https://:80/", "https://me@/",
            "https://\u00ad/",
        ],
        "RFC 3986 3.2.3, RFC 6335: a port is a number up to 65535": [
            "http://example.com:65536/", "http://example.com:065536/", "http://example.com:99999/",
            "http://example.com:" + "9" * 5000 + "/", "http://example.com:http/", "http://example.com:-1/",
            "http://example.com:+80/", "http://example.com:８０/", "http://example.com:8 0/",
            "http://example.com:80:80/",
        ],
        "RFC 1123 2.1, RFC 1035 2.3.4: what cannot be looked up is no host": [
            "https://exa mple.com/", "https://example.com /", "https://example\n.com/", "https://exam\tple.com/",
            "https://exam\xa0ple.com/", "https://*.example.com/", "https://a,b/", "https://a..b/",
            "https://.example.com/", "https://./", "https://example.com../", f"https://{'a' * 64}.example/",
            f"https://{'a.' * 127}a/", "https://ex%2Fample.com/", "https://ex%ample.com/", "https://ex%zzmple.com/",
            "https://example.com%00.other.example/", "https://%FF.example/",
        ],
        "RFC 3986 3.2.2: browsers end the host at a backslash, others do not": [
            "https://example.com\\@evil.example/", "https://example.com\\a",
        ],
        "RFC 5891 4.2, UTS 46: no internationalised name": [
            "https://\ud800.example/", "https://a\u2260b\uff0fc.example/", "https://a\u200db.example/",
            "https://-ü.example/", "https://\u0301a.example/", "https://\u05d0a.example/",
            "https://xn--bücher.example/", f"https://{'ü' * 100}.example/", f"https://{'❤' * 60}.example/",
            f"https://{'ü.' * 200}example/", f"https://{'ü' * 100_000}/",
        ],
        "RFC 3986 3.2.2, RFC 6874: no address": [
            "http://[::1/", "http://[]/", "http://[::g]/", "http://[1.2.3.4]/", "http://[::1.2.3.400]/",
            "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[v1.a]/", "http://[::1]a/", "http://a[::1]/",
            "http://::1/",
        ],
    },
}


def codes(loc):
    return [code for code, _ in loc.notes]


@pytest.mark.parametrize(
    ("raw", "url", "noted"),
    [pytest.param(*row, id=f"{rule.split(':')[0]} {row[0][:40]!a}") for rule, rows in KEPT.items() for row in rows],
)
def test_urls_are_made_canonical_and_repairs_are_noted(raw, url, noted):
    loc = clean_url(raw, BASE)
    assert (loc.url, codes(loc)) == (url, noted)
    if "U01" not in noted:
        assert clean_url(raw) == loc
    if is_clean(raw):  # with a blank, it is cleaned the long way
        assert clean_url(f"{raw} ") == loc
    assert clean_url(url).url == url
    assert set(codes(clean_url(url))) <= {"U03", "U14"}


# Locations that a program wrote without a value, or wrote twice; the last of each are those that may be meant.
UNSET = ["None", "none", "NULL", "null", "undefined", "NaN", "nan", "nil", "false", "(null)", "undefined/x",
         "None?page=2", "null#a", "undefinedundefined", "undefinedhttps://example.com/a", "\u200bNone",
         "[object Object]", "https://example.com/[object Object]", "https://example.com/[object%20Promise]/a",
         "{{ site.url }}", "{{ site.url }}{{ page.url | remove: 'index.html' }}", "{{{ url }}}", "{% url 'a' %}",
         "{# url #}", "https://example.com/{{slug}}", "https://{{ host }}/a", "<%= url %>",
         "https://example.com/<%= slug %>", "<?= $url ?>", "<?php echo $url ?>", "${base}/a",
         "https://example.com/${slug}?a", "#{url}", "https://example.com/#{slug}", "https://%{HTTP_HOST}/a", "@{/a}",
         "%s", "%s/a", "https://example.com/%s", "https://example.com/%d.html", "https://example.com/?id=%d",
         "%(base)s/a", "https://example.com/%1$s", "https://undefined/a", "http://null/", "https://www.None/",
         "https://NaN:80/", "//undefined/a", "https://example.comundefined/a", "https://example.comnull",
         "https://example.comfalse/a", "https://example.comNaN/a", "{$url}", "https://example.com/{$slug}", "[% url %]",
         "%!s(MISSING)/a", "https://example.com/%!d(MISSING)", "{{ page.url", "%PUBLIC_URL%/a", "%BASE_URL%", "N/A",
         "n/a", "(none)", "{}", "#", "#REF!", "#N/A", "#url#", "https://example.com/%7B%7Bslug%7D%7D",
         "https://example.com/%7b%7b%20page.url%20%7d%7d", "%7B%7Bsite.url%7D%7D/a", "https://example.com/$%7Bslug%7D",
         "https://example.com/%24%7Bslug%7D", "https://example.com/?a=%7B%25%20url%20%25%7D",
         "https://example.com/%3C%25=%20slug%20%25%3E", "https://example.com/%5Bobject%20Object%5D",
         "https://example.com/a/%5bobject+Object%5d"]
TWICE = [
    "https://example.com/https://example.com/a", "https://example.com/HTTP://EXAMPLE.com/a",
    "https://www.example.com/https://example.com/a", "https://example.com/http://www.example.com:80/a",
    "https://example.com/en/https://example.com/a", "https://example.com/https:/example.com/a",
    "https://bücher.example/https://bücher.example/a", "https://example.comhttps://example.com/a",
    "http://https://example.com/a", "https://https//example.com/a", "https://www.https://example.com/a",
    "/https://example.com/a", "https://example.com/./https://example.com/", "https://intranet//intranet/a",
    "https://example.com/1https://example.com/2", "https://example.com/1https://other.example/2",
    "https://example.com/1 https://other.example/2", "https://example.com/a/https://example.com/b/",
    "https://example.com/?id=1https://example.com/?id=2", "//example.com//example.com/a",
    "https://example.com//www.example.com/a", "https://www.example.com//Example.com",
]
MEANT = [
    "https://example.com/undefined", "https://example.com/docs/null/a", "https://example.com/none?nan",
    "https://undefined.com/", "https://null.example.com/", "https://none-such.example/", "https://phone.example.zone/",
    "https://example.com/?f=%7B%22a%22:%7B%22b%22:1%7D%7D", "https://example.com/?a%5Bo%5D=1", "https://example.com/%7Ba%7D",
    "https://example.com/a//example.com/", "https://example.com//a/b", "https://example.com//a.html",
    "https://example.com/%d0%b0", "https://example.com/100%25s",
    "https://example.com/web/2020/https://other.example/", "https://example.com/https://other.example/",
    "https://example.com/?u=https://example.com/", "https://example.com/a?b/https://example.com/",
    "https://example.com/https%3A%2F%2Fexample.com%2F", "https://example.com/%41https://other.example/",
    "https://example.com/a:b/c:d", "https://https.example/", "https://example.com/https:/", "https://example.com/a:",
]


@pytest.mark.parametrize("raw", UNSET + TWICE)
def test_what_an_empty_variable_left_is_no_listed_url(raw):
    assert not is_clean(raw)
    loc = listed_url(raw, BASE)
    assert (loc.url, codes(loc)[-1:]) == (None, ["U15"])
    assert listed_url(raw).url is None


@pytest.mark.parametrize("raw", MEANT)
def test_what_may_be_a_page_is_a_listed_url(raw):
    assert listed_url(raw, BASE) == clean_url(raw, BASE)
    assert listed_url(raw).url == raw


@pytest.mark.parametrize("raw", ["/None", "none.html", "%FCber%20uns", "%C3%A4/%E4%FC%", "n/a/b", "nonesuch/a",
                                 "nullable", "{id}", "[id]", "//example.com/9%s"])
def test_relative_pages_and_single_braces_are_kept(raw):
    assert listed_url(raw, BASE) == clean_url(raw, BASE)
    assert listed_url(raw, BASE).url


@pytest.mark.parametrize(("raw", "fault"), [
    ('"https://example.com/a"', "other text stands before the URL: "),
    ("(https://example.com/a)", "other text stands before the URL: "),
    ("loc=https://example.com/a", "other text stands before the URL: "),
    ("https://example.com/1,https://example.com/2", "another URL follows: https://example.com"),
    ("https://example.com/1|https://example.com/2", "another URL follows: https://example.com"),
    ("https://example.com/https://example.com/2", "the base is written twice: https://example.com"),
])
def test_the_reason_says_what_is_written_around_a_second_url(raw, fault):
    ((code, message),) = listed_url(raw, BASE).notes
    assert code == "U15"
    assert message.startswith(fault)


@pytest.mark.parametrize("mark", ["\u200c", "\u200d", "\u200d\ufeff ", "\u061c"])
def test_invisible_characters_before_a_url_are_left_out(mark):
    loc = listed_url(f"{mark}https://example.com/a", BASE)
    assert (loc.url, codes(loc)) == ("https://example.com/a", ["U10"])


@pytest.mark.parametrize("gap", [" ", "\t", "\xa0", "\u200b", "\u2003 "])
def test_blanks_before_a_fragment_are_left_out_with_it(gap):
    loc = clean_url(f"https://example.com/a{gap}# top")
    assert (loc.url, codes(loc)) == ("https://example.com/a", ["U08"])


def test_a_redirect_may_lead_where_no_sitemap_points():
    assert clean_url("https://example.com/https://example.com/a").url == "https://example.com/https://example.com/a"
    assert clean_url("undefined/a", BASE).url == "https://example.com/shop/undefined/a"


@pytest.mark.parametrize(
    ("raw", "code"),
    [pytest.param(raw, code, id=f"{rule.split(':')[0]} {raw[:40]!a}")
     for code, rules in REFUSED.items() for rule in rules for raw in rules[rule]],
)
def test_unusable_urls_are_refused_with_the_reason_last(raw, code):
    """Also with a base."""
    for base in (None, BASE):
        loc = clean_url(raw, base)
        assert (loc.url, codes(loc)[-1]) == (None, code), base


@pytest.mark.parametrize("raw", ["/a", "a", "//example.com/a", "?a", "#a", "www.example.com"])
@pytest.mark.parametrize("base", [None, "", "sitemap.xml", "ftp://example.com/"])
def test_a_relative_url_without_a_base_is_unusable(raw, base):
    loc = clean_url(raw, base)
    assert loc.url is None
    assert codes(loc) == ["U01"]


def test_base_is_cleaned_and_its_password_is_not_used():
    assert clean_url("b", "HTTP://me:secret@Example.com:80/x/a#f").url == "http://example.com/x/b"
    assert clean_url("?b", "http://me:secret@example.com/x").url == "http://example.com/x?b"
    assert clean_url("#b", "http://me:secret@example.com/x?y").url == "http://example.com/x?y"


# Characters that UTS 46 removes from a name: a soft hyphen, and a mark of four bytes, so twelve escaped characters.
INVISIBLE = ["\u00ad", "%C2%AD", "\U000e0100", "%F3%A0%84%80"]


@pytest.mark.parametrize(("length", "fits"), [(253, True), (254, False), (5_000, False)])
@pytest.mark.parametrize("invisible", INVISIBLE)
def test_a_host_has_253_characters_before_it_is_mapped(invisible, length, fits):
    """Mapping is slow: a host that is too long as written is not mapped."""
    loc = clean_url(f"https://example{invisible * (length - len('example.com'))}.com/")
    assert loc.url == ("https://example.com/" if fits else None)
    assert (("U15", "unusable host") in loc.notes) is not fits


def test_a_host_of_a_megabyte_is_not_even_unescaped(monkeypatch):
    monkeypatch.setattr(urls, "unquote", lambda *_, **__: pytest.fail("unescaped"))
    assert clean_url(f"https://{'%C3%BC' * 200_000}.example/").notes[-1] == ("U15", "unusable host")


escapes = st.sampled_from(["%41", "%2f", "%2F", "%3f", "%23", "%c3%a9", "%FF", "%00", "%2e%2e", "%25"])
legal = st.lists(st.one_of(st.text("azAZ09-_~!$&'()*+,;=:@", min_size=1), escapes), max_size=6).map("".join)
paths = st.lists(legal, max_size=4).map(lambda segments: "/" + "/".join(segments))
hosts = st.sampled_from(["example.com", "Example.COM", "bücher.example", "192.0.2.1", "[2001:DB8::1]", "a_b.example."])


@given(hosts, st.sampled_from(["", ":80", ":443", ":8080", ":"]), paths, st.none() | legal, st.none() | st.text())
def test_path_and_query_are_unchanged(host, port, path, query, fragment):
    """As a server sees it: nothing legal is escaped, unescaped, or changed in case."""
    raw = f"https://{host}{port}{path}" + ("" if query is None else f"?{query}")
    url = clean_url(raw if fragment is None else f"{raw}#{fragment}").url
    assert url is not None
    before, after = urlsplit(raw), urlsplit(url)
    assert (after.path, after.query) == (before.path, before.query)
    assert ("?" in url) is ("?" in raw)
    assert (after.port or 443) == (before.port or 443)
    assert after.hostname == ("xn--bcher-kva.example" if "ü" in host else before.hostname)
    assert after.fragment == ""


@pytest.mark.parametrize("raw", [
    "https://www.example.com/a/b-c_d.html?e=f&g=%20h",
    "http://example.com:8080/",
    "http://127.0.0.1:54321/sitemap.xml",
    "http://127.0.0.1:60219/sitemap.xml",
    "https://example.com/@a/~b",
])
def test_usual_urls_take_the_fast_path(raw):
    assert urls.is_clean(raw)


@pytest.mark.parametrize(("url", "origin", "directory", "host"), [
    ("https://example.com/", "https://example.com", "https://example.com/", "example.com"),
    ("http://example.com:8080/a/b?c=/d", "http://example.com:8080", "http://example.com:8080/a/", "example.com"),
    ("https://me:x@example.com/a/", "https://example.com", "https://example.com/a/", "example.com"),
    ("http://[::1]:81/a", "http://[::1]:81", "http://[::1]:81/", "[::1]"),
    ("https://example.com/a/@b:c", "https://example.com", "https://example.com/a/", "example.com"),
])
def test_parts_of_a_clean_url(url, origin, directory, host):
    assert (urls.origin(url), urls.directory(url), urls.host(url)) == (origin, directory, host)


def test_userinfo_is_taken_out_and_nothing_else():
    assert urls.without_userinfo("https://me:x@example.com:81/@a?b@c") == "https://example.com:81/@a?b@c"
    assert urls.without_userinfo("https://example.com/@a?b@c") == "https://example.com/@a?b@c"


@pytest.mark.parametrize(("host", "domain"), [
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
])
def test_registrable_domain(host, domain):
    assert urls.registrable_domain(host) == domain


def test_an_image_may_have_a_url_of_its_own_host_in_its_path() -> None:
    resized = "https://example.com/cdn-cgi/image/width=80/https://example.com/a.jpg"
    assert listed_url(resized, may_hold_own=True).url == resized
    assert listed_url("https://example.com/shop/https://example.com/shop/a.jpg", may_hold_own=True).url is None
    assert listed_url(resized).url is None


@pytest.mark.parametrize("loc", ["https://false.", "https://false./", "https://foo.undefined./a"])
def test_a_dot_behind_an_empty_variable_changes_nothing(loc: str) -> None:
    assert listed_url(loc).url is None
