"""Random feeds and text sitemaps that are mostly usual and partly unusual, with options."""

from random import Random

import plain_documents

ATOM = "http://www.w3.org/2005/Atom"
NAMES = (
    f' xmlns:atom="{ATOM}" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:slash="urn:slash"'
)
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'
# The start of a document, the element of an entry, and the end.
ROOTS = (*((f"<rss version='2.0'{NAMES}><channel><title>A</title>", "item", "</channel></rss>"),) * 4,
         *((f'<feed xmlns="{ATOM}"{NAMES}><title>A</title>', "entry", "</feed>"),) * 4,
         (f"<rdf:RDF {RDF}{NAMES}><channel/>", "item", "</rdf:RDF>"), ("<rss><channel>", "item", "</channel></rss>"),
         (f'<rss xml:base="https://base.example/"{NAMES}><channel>', "item", "</channel></rss>"),
         (f'<rss xmlns="http://search.yahoo.com/mrss/"{NAMES}><channel>', "item", "</channel></rss>"),
         (f'<rss{NAMES}><channel xmlns="http://search.yahoo.com/mrss/">', "item", "</channel></rss>"),
         ('<rss xmlns:media="http://www.rssboard.org/media-rss"><channel>', "item", "</channel></rss>"),
         (f'<a:feed xmlns:a="{ATOM}">', "a:entry", "</a:feed>"),
         (f'<feed xmlns="http://purl.org/atom/ns#"{NAMES}>', "entry", "</feed>"), ("<feed>", "entry", "</feed>"))
URLS = (*("https://example.com/shop/%d", "https://example.com/shop/a?b=%d&amp;c=d") * 8,
        "<![CDATA[https://example.com/shop/%d?a&b]]>", "http://EXAMPLE.com/%d", "https://example.com/%d#a", "/shop/%d",
        "https://example.com/caf\u00e9/%d", "", " ", "urn:uuid:%d", "https://example.com/shop/%d?a=1&b=2",
        "ftp://a.example/%d", "https://example.com/<b>%d</b>", "<![CDATA[https://example.com/<b>]]>", "http",
        "https://example.com/%d%%2e")
DATES = (*("Fri, 20 Nov 2026 10:20:30 +0000", "2026-11-20T10:20:30Z", "20 Nov 2026 10:20:30 GMT") * 4,
         "Fri, 20 Nov 26 10:20 EST", "fri,20 NOV 2026 10:20:30 PDT", "Fri , 2 Nov 49 10:20:3%d Z", "20 Nov 50 10:20 UT",
         "Fri, 20 Nov 2026 10:20:30", "Fri, 20 Nov 2026 24:00:00 GMT", "Fri, 20 Nov 2026 10:20:60 GMT",
         "31 Feb 2026 10:20 GMT", "Fri, 20 Nov 2026 10:20:30 +1500", "Fri, 20 Nov 2026 10:20:30 +1400",
         "Fri, 20 Nov 2026 10:20:30 -0930", "Fri, 20 Nov 2026 10:20:30 +01:00", "Fri, 20 Nov 2026 10:20:30 A",
         "Fri, 20 Nov 2026  10:20:30  CET", "soon", "", "Fri, 20 Nov 0001 00:00:00 +0100", "2026-11-20",
         "2026-11-20 10:20", "Friday, 20 Nov 2026 10:20:30 GMT", "Fri,\t20 Nov 2026 10:20:30 GMT",
         "Fri, 20 November 2026 10:20:30 GMT", "20 Nov 2026", "20 Nov 20261 10:20 GMT", "20 Nov 202 10:20 GMT",
         "1 Jan 70 00:00 Z", "Fri, 2", "20 Nov 26 10:20 Z ", "20 Nov 2026 10:20:30 PST8")
OTHERS = (
    *("<title>A &amp; B</title>", "<description><![CDATA[<p>A & B</p>]]></description>", "<dc:creator>C</dc:creator>",
    "<category>D</category>", '<atom:link rel="self" href="https://example.com/self"/>',
    "<slash:comments>3</slash:comments>", "<content:encoded><![CDATA[<a href='x'>y</a>]]></content:encoded>") * 3,
    '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a</div></content>',
    "<content><b>a<i/></b></content>", '<enclosure url="https://example.com/a.mp3" length="1" type="audio/mpeg"/>',
    "<source><link>https://x.example/</link></source>",
    "<author><name>N</name><uri>https://n.example/</uri></author>",
    "<source><title/><updated>2020-01-01</updated></source>",
    '<media:content url="https://example.com/a.jpg" medium="image"/>',
    "<media:thumbnail url='https://example.com/t.jpg'/>", "<Title>a</Title>",
    "<LINK>https://example.com/upper</LINK>", "<pubdate>2020-01-01</pubdate>", "<x:y/>", "<a:b:c/>",
    "<slash:link>https://example.com/slash</slash:link>", "<item/>", "<entry/>", "<description>a</descriptio>",
    "text", "<description xml:lang='de' slash:a='1'>a</description>", "<description a='1' a='2'/>",
    "<d slash:a='1' dc:a='2'/>", "<description xmlns='urn:x'>a</description>",
    "<description xml:base='https://b.example/'/>", "<!-- c -->", "<?p i?>",
    "<description><![CDATA[ <![CDATA[ x ]]></description>", "<comments><![CDATA[https://x.example/<b>]]></comments>",
    "<category domain='a&lt;b'>x</category>", "<category>&eacute;</category>", "<category>&</category>",
    "<dc:>a</dc:>", "<-a/>", "<category>a]]>b</category>", "<link/>", "<guid/>", "<b>" * 17 + "</b>" * 17,
    "<description>\x01</description>",
)
GUIDS = ("", *(' isPermaLink="true"', ' isPermaLink="false"') * 2, ' ispermalink="False"', ' a="b"',
         ' isPermaLink=" false"')
RELS = ("", *(' rel="alternate"', ' rel="self"') * 2, ' rel=" Alternate "', ' rel=""', ' rel="edit"',
    ' type="text/html"', ' rel="http://www.iana.org/assignments/relation/alternate"', ' rel="alternat&#101;"',
    ' rel="altern\u00e4te"')
LINES = (*("https://example.com/shop/%d", "http://example.com/shop/%d?a=b&c") * 10, "", "  ",
         " https://example.com/%d ", "/shop/%d", "https://EXAMPLE.com/shop/%d", "https://example.com/caf\u00e9/%d",
         "https://example.com/shop/%d#a", "ftp://a.example/", "https://other.example/%d",
         "\u00a0https://example.com/%d\u3000", "\ufeffhttps://example.com/%d\ufeff", "a\x0bb", "\x0c",
         "https://example.com/%%2e%%2e/%d", "https://example.com/<b>%d", "https://example.com/" + "x" * 2040,
         "https://example.com/\x00", "https://example.com/\u2028%d", "https://example.com", "%d",
         "https://example.com/%d\x1c", "x" * 700)


def document(dice: Random) -> bytes:
    """A feed; one in four documents is a text."""
    return _text(dice) if dice.random() < 0.25 else _feed(dice)


def options(dice: Random) -> dict[str, object]:
    """Random options of a parser."""
    return plain_documents.options(dice)


def _feed(dice: Random) -> bytes:
    oddity = dice.choice((0, 0.05, 0.2, 0.5))
    start, name, end = dice.choice(ROOTS) if dice.random() < 0.5 else ROOTS[dice.choice((0, 4))]
    gap = dice.choice(plain_documents.GAPS)
    body = "".join(_entry(dice, name, oddity, gap, number) for number in range(dice.choice((3, 10, 30))))
    if dice.random() < 0.3:
        for _ in range(dice.choice((1, 1, 2, 5))):
            place = dice.randrange(len(body) + 1)
            body = body[:place] + dice.choice(plain_documents.DAMAGE) + body[place + dice.choice((0, 0, 1, 5, 30)) :]
    text = '<?xml version="1.0" encoding="UTF-8"?>' + " " * dice.choice((0, 4100)) + start + body + end
    return text.encode("utf-8", "surrogateescape")


def _entry(dice: Random, name: str, oddity: float, gap: str, number: int) -> str:
    def text(choices: tuple[str, ...]) -> str:
        chosen = dice.choice(choices) if dice.random() < 2 * oddity else dice.choice(choices[:4])
        return chosen.replace("%d", str(number % 90 + 10), 1).replace("%%", "%")

    if name.endswith("item"):
        parts = [f"<link>{text(URLS)}</link>"] * (dice.random() > oddity)
        parts += [f"<guid{dice.choice(GUIDS)}>{text(URLS)}</guid>"] * (dice.random() < 0.6)
        parts += [f"<{tag}>{text(DATES)}</{tag}>" for tag in ("pubDate", "dc:date") if dice.random() < 0.6]
    else:
        prefix = name.removesuffix("entry")
        href = text(URLS).replace("<", "&lt;")
        parts = [f"<{prefix}link{dice.choice(RELS)} href='{href}'/>" for _ in range(dice.choice((1, 1, 2)))]
        tags = ("updated", "published", "modified", "issued")
        parts += [f"<{prefix}{tag}>{text(DATES)}</{prefix}{tag}>" for tag in tags if dice.random() < 0.4]
    for _ in range(dice.choice((0, 1, 3))):
        parts.append(dice.choice(OTHERS if dice.random() < oddity else OTHERS[:21]))
    if dice.random() < 0.5:
        dice.shuffle(parts)
    return gap.join([f"<{name}>", *parts, f"</{name}>", ""])


def _text(dice: Random) -> bytes:
    newline = dice.choice(("\n", "\n", "\r\n", "\r"))
    oddity = dice.choice((0, 0.05, 0.3))
    lines = [dice.choice(LINES if dice.random() < oddity else LINES[:20]) for _ in range(dice.choice((3, 20, 200)))]
    text = newline.join(line.replace("%d", str(number)).replace("%%", "%") for number, line in enumerate(lines))
    return (text + newline * dice.choice((0, 1))).encode("utf-8", "surrogateescape")
