"""Random documents that are mostly plain and partly unusual, with chunks and options."""

from random import Random

import sitemap_reader as sr

CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"
ROOTS = (
    *(f'<urlset xmlns="{CORE}">',) * 12,
    f'<urlset xmlns="{CORE}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml">',
    "<urlset>", '<urlset xmlns="urn:other">', f'<s:urlset xmlns:s="{CORE}" xmlns="{CORE}">',
    f'<s:urlset xmlns:s="{CORE}">', f'<urlset\n  xmlns="{CORE}" xml:base="https://other.example/">',
    f'<URLSET xmlns="{CORE}">', "<urlset xmlns:url='u'>", f'<sitemapindex xmlns="{CORE}">', "<rss><channel>",
    f'<x><urlset xmlns="{CORE}">', f'<urlset xmlns="{CORE}"><x>',
)
GAPS = ("", "\n", "\n  ", "\r\n\t", "  ", "\n\n")
ODD_GAPS = ("\r", "\r\r\n", "<!-- a -->", "<!-- a\n-- b -->", "<?p i?>", "text", "&amp;", "&", "\x01", "]]>",
    "<group>", "</group>", '<group xmlns="urn:x">', "</b>", "<b/>", "<", "<![CDATA[ ]]>", "<!-- <url> -->",
    "</urlset>", "<loc>https://e.com/</loc>", "<![CDATA[", "<!--", "\u00a0", " " * 300, "\n" * 700, "<url/>",
    "<url></url>", "<p:a/>", "&eacute;", "\ufdd0", "<sitemap/>", "<!DOCTYPE a>", "<?xml version='1.0'?>", "</url>",
    "<url>",
)
LOCS = (
    *("https://example.com/shop/%d", "https://example.com/shop/a?b=%d&amp;c=d",
    "https://example.com/shop/%d.html") * 6,
    "https://example.com/%d", "http://example.com/shop/%d", "https://other.example/shop/%d",
    "https://EXAMPLE.com/shop/%d", "/shop/%d", "https://example.com/shop/%%2e%%2e/%d",
    "https://example.com/shop/%%41%d", "https://example.com/shop/../%d", "https://example.com:443/shop/%d",
    "https://example.com:8080/shop/%d", "https://example.com/shop/%d#a", "https://u:p@example.com/shop/%d",
    "ftp://example.com/%d", "https://example.com/shop/%d?a=1&b=2", "https://example.com/shop/%d?a=1&&b=2&amp;c",
    "https://example.com/shop/%d?a&eacute;&region;", "", "https://example.com/shop/%d?q=&lt;&#38;&apos;",
    "https://example.com/shop/%d caf\u00e9", "https://example.com/shop/\u044f\ufffd%d",
    "https://example.com/shop/\x85%d", "https://example.com/shop/\ufffe%d", "https://example.com/shop/\x07%d",
    "https://example.com/shop/[%d]", "https://example.com/shop/a]]>%d", "https://example.com/shop/a>%d",
    "https://exa..mple.com/shop/%d", "https://example.com./shop/%d", "%d",
    "<![CDATA[https://example.com/shop/%d?a&b]]>", "https://example.com/shop/<!-- c -->%d",
    "https://example.com/shop/<b>%d</b>", "https://intranet//intranet/%d", "https://example.com",
    "https://example.com/shop/" + "x" * 2040 + "%d",
    "https://example.com/shop/" + "x" * 2017 + "%%41%d", "https://example.com/shop/" + "y" * 200 + "%d",
    "https://example.com/shop/%d?a&b<lastmod>2026", "https://example.com/shop/a&amp;amp;%d",
    "https://example.com/shop/%d?&amp;.&amp;/.a",
)
FIELDS = {
    "lastmod": (*("2026-11-20", "2026-11-20T10:20:30+00:00", "2026-11-20T10:20:30Z", "2026-11-%d") * 4, "2026-02-31",
                "2026-02-31T00:00:00Z", "2026-11-20T10:20:30+02:00", "2026-11-20T10:20Z", "2026-11-20T10:20:30.123Z",
                "0001-01-01T00:00:00+05:00", "1970-01-01", "1980-01-01T00:00:00Z", "2026-11-20 10:20:30", "2026",
                "soon", "", " 2026-11-20 ",
                "\n2026-11-20T10:20:30Z\n", "2026-11-20T24:00:00Z", "9999-12-31T23:59:59-05:00", "2026\r\n",
                "\u00a02026-11-20", "&#50;026-11-20", "20\u0662\u0666-01-01", "2026-11-20T10:20:30&", "<b>2026</b>",
                "2026-11-20T10:20:30+15:00", "2026-11-20<!-- a -->", "]]>"),
    "changefreq": (*("daily", "weekly") * 4, "Daily", "NEVER", "dAily", " always ", "", "often", "daily&",
    "<![CDATA[daily]]>", "d\u00e4ily"),
    "priority": (*("0.5", "1.0", "0.%d") * 4, "1", "0", "0.80", ".5", "-0", "1.5", "0,5", "", " 0.5 ", "\n0.5\n",
    "5e-1", "+1", "0.5<", "0.5000"),
}
EXTRAS = ("<image:image><image:loc>https://e.com/i</image:loc></image:image>", "<x/>", "<priority>0.1</priority>",
          "<loc>https://example.com/shop/2</loc>", "text", "<!-- a -->",
          "<xhtml:link rel='alternate' hreflang='de' href='/de'/>", "&", "\x02", "<url>", "</loc>", "<lastmod>",
          "<news:news xmlns:news='n'/>", "<changefreq/>", "<LOC>https://example.com/shop/3</LOC>", "<?p i?>", "\u00e9",
          "<![CDATA[ ]]>", "<b>" * 3 + "</b>" * 3)
STARTS = ("<url >", "<url a='b'>", "<s:url>", "<URL>", "<url", "<sitemap>", "")
ENDS = ("</url >", "</url", "</URL>", "", "</s:url>", "</sitemap>", "</url>]]>")
DAMAGE = ("</url>", "<url>", "<loc>", "</loc>", "&", "<", ">", "\x00", "</urlset>", "<!--", "-->", "]]>",
    "<![CDATA[", "\r", "\n", "'", "</lastmod>", "\udcff")
# Limits that a plain entry could exceed, and those that text between entries could.
LIMITS = {"max_entries": (0, 1, 2, 3, 5, 9, 20), "max_entry_bytes": (1500, 2048, 2100, 3000, 5000),
          "max_token_bytes": (500, 1024, 2048, 2100, 3000), "max_entry_elements": (3, 4), "max_xml_depth": (2, 3),
          "max_attributes": (0, 1), "max_entry_problems": (0, 1, 2), "max_entry_repairs": (1, 3),
          "max_repairs": (0, 1, 2, 5), "max_faults": (1, 2, 5), "max_prefixes": (0, 1),
          "max_decoded_bytes": (900, 3000, 9000)}


def entry(dice: Random, number: int, oddity: float, gaps: tuple[str, ...]) -> str:
    """An entry; each part of it is unusual with this probability."""

    def gap() -> str:
        return dice.choice(ODD_GAPS if dice.random() < oddity / 8 else GAPS if dice.random() < oddity else gaps)

    def text(choices: tuple[str, ...]) -> str:
        chosen = dice.choice(choices) if dice.random() < 4 * oddity else dice.choice(choices[:9])
        return chosen.replace("%d", str(number % 90 + 10), 1).replace("%%", "%")

    inside = [("loc", text(LOCS)), *((name, text(FIELDS[name])) for name in FIELDS if dice.random() < 0.7)]
    parts = [f"<{tag}>{each}</{tag}>" for tag, each in inside]
    for _ in range(3):
        if dice.random() < oddity / 2:
            parts.insert(dice.randrange(len(parts) + 1), dice.choice(EXTRAS))
    if dice.random() < oddity / 2:
        dice.shuffle(parts)
    start = dice.choice(STARTS) if dice.random() < oddity / 4 else "<url>"
    end = dice.choice(ENDS) if dice.random() < oddity / 4 else "</url>"
    return start + "".join(gap() + part for part in parts) + gap() + end + gap()


def document(dice: Random) -> bytes:
    """A document of random entries and gaps, in some charset."""
    oddity = dice.choice((0, 0.02, 0.1, 0.3))
    gaps = tuple(dice.choices(GAPS, k=dice.choice((1, 1, 2))))
    root = dice.choice(ROOTS if dice.random() < 0.3 else ROOTS[:1])
    body = "".join(entry(dice, number, oddity, gaps) for number in range(dice.choice((3, 10, 40))))
    if dice.random() < 0.2:
        body = body.replace("&amp;c", dice.choice(("&c", "&amp;&", "&&amp;", "&c;", "&38;", "&-&")))
    if dice.random() < 0.3:
        for _ in range(dice.choice((1, 1, 2, 5))):
            place = dice.randrange(len(body) + 1)
            body = body[:place] + dice.choice(DAMAGE) + body[place + dice.choice((0, 0, 1, 5, 30)) :]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n' + " " * dice.choice((0, 4100))
    text = head + root + dice.choice(gaps) + body + dice.choice(("</urlset>", "</urlset>\n", "", "</urlset><url>"))
    return text.encode("utf-16", "replace") if dice.random() < 0.02 else text.encode("utf-8", "surrogateescape")


def cuts(dice: Random, body: bytes) -> list[bytes]:
    """The body in pieces."""
    size = dice.choice((1 << 16, 1 << 16, 4096, 700, 97))
    places = sorted({0, *(dice.randrange(len(body) + 1) for _ in range(len(body) // size))})
    return [body[start:stop] for start, stop in zip(places, [*places[1:], len(body)], strict=True)]


def options(dice: Random) -> dict[str, object]:
    """Random options of a parser."""
    names = dice.sample(list(LIMITS), dice.choice((0, 0, 1, 1, 2)))
    limits = {name: dice.choice(LIMITS[name]) for name in names}
    if "max_entry_bytes" in limits:
        # Otherwise the first limit exceeded by an endless section would depend on the chunks for expat.
        limits["max_token_bytes"] = min(limits["max_entry_bytes"] // 2, limits.get("max_token_bytes", 2048))
    return {
        "url": "https://example.com/shop/sitemap.xml",
        "scope": dice.choice(("any", "protocol", "host", "domain")),
        "extras": dice.random() < 0.2,
        "limits": sr.Limits(**limits),
    }
