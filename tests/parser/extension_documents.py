"""Random documents whose entries have extensions, mostly plain, some unusual."""

from random import Random

import plain_documents

NAMESPACES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",
    "pagemap": "http://www.google.com/schemas/sitemap-pagemap/1.0",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "x": "urn:x",
}
ODD_NAMESPACES = ("http://www.sitemaps.org/schemas/sitemap-image/1.1",
                  "http://www.google.com/schemas/sitemap-image/2.0",
                  "https://www.google.com/schemas/sitemap-video/1.1/", plain_documents.CORE, "urn:other",
                  "http://www.w3.org/1999/xhtml", "http://www.google.com/schemas/sitemap-news/0.84")
URLS = (*("https://example.com/i/%d.jpg", "https://cdn.example.com/%d?a=1&amp;b=2", "http://example.com/%%20%d") * 4,
        "/i/%d.jpg", "i.jpg", "//example.com/i", "https://EXAMPLE.com/%d", "https://example.com/a b", "mailto:a@b", "",
        "android-app://com.example/a", "javascript:alert('&lt;b&gt;')", " https://example.com/%d\n",
        "https://example.com/a/../%d", "https://example.com/?a&b", "<![CDATA[https://e.com/]]>",
        "https://example.com/\u00e9%d", "https://example.com/" + "x" * 2030, "https://example.com/<b>x</b>",
        "https://example.com/i.jpg&quot;", "https://example.com/a]]>b", "ftp://example.com/")
TEXTS = (
    *("A title", "Salt &amp; pepper", "\u00dcber den Fluss", "a, b,, c", "60", "4.5", "yes", "2026-11-20",
    "2026-11-20T10:20:30Z") * 2,
    "", " ", "\n  padded\t", "no", "NO", "t", "-1", "1e3", "99999999999999999999", "28801", "5.1", "2026-02-31", "soon",
    "2026-11-20 10:20", "&quot;said&quot; &lt;b&gt;", "&#39;", "&#x27;", "&#64976;", "&#1;", "&#150;", "&nbsp;", "&",
    "a > b", "]]>", "\x85\xa0", "\ufdd0", "\ufffe", "\x07", "\x7f", "a\r\nb", "\U0001f600", "<b>bold</b> text",
    "text <i/> more",
    "<![CDATA[a <b>]]>", "<!-- c -->", "<?p i?>", "https://example.com/a", "https://example.com/a?b&amp;c", "caf\udce9",
    "deny<platform>mobile</platform>", "deny<x:platform>mobile</x:platform>", "deny<video:kind/>", "a <u>b</u> <x:u/>",
    "<image:title>in</image:title>", "<loc>in</loc>", "<x:y>z</x:y>", "\u2028 a \u3000", "DE FR",
)
URL_TAGS = frozenset(
    {"loc", "license", "thumbnail_loc", "content_loc", "player_loc", "content_segment_loc", "gallery_loc"}
)
TAGS = {
    "image": ("loc", "title", "caption", "geo_location", "license"),
    "video": ("thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "content_segment_loc",
              "expiration_date", "publication_date", "rating", "view_count", "family_friendly", "tag", "category",
              "restriction", "platform", "gallery_loc", "price", "requires_subscription", "uploader", "live", "id"),
    "news": ("title", "publication_date", "keywords", "genres", "stock_tickers", "access", "geo_targeting", "amp",
        "name", "language"),
}
ATTRIBUTES = ("", "", "", ' allow_embed="yes"', ' autoplay="a=1&amp;b"', ' relationship="allow"',
              ' currency="EUR" type="own"', ' title="T"', ' info="https://example.com/u"', ' info="/u"',
              ' duration="60"', ' type="tms:series"', ' a="1" a="2"', ' xml:lang="de"', ' x:a="b"', ' y:a="b"',
              ' xmlns:image="urn:z"', " type='own'", ' type = "own"', ' type="a<b"', ' type="a\nb"', ' duration="x"',
              ' xmlns="urn:z"', ' type="&quot;"', ' type=" "', ' type="\u00e9"',
              *("".join(f' {name}="1"' for name in "abcdefghij"[:count]) for count in (7, 8, 9)))
LINKS = (
    *('<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/%d"/>',
    '<xhtml:link rel="alternate" hreflang="x-default" href="https://example.com/?a&amp;b=%d" />') * 6,
    '<xhtml:link href="https://example.com/fr" hreflang="fr" rel="alternate"/>',
    '<xhtml:link rel="alternate" hreflang="fr" href="/fr"/>', '<xhtml:link rel="alternate" href="https://example.com/"/>',
    '<xhtml:link rel="alternate" media="only screen" href="https://m.example.com/"/>',
    '<xhtml:link rel="canonical" hreflang="a" href="https://example.com/"/>', '<xhtml:link rel="self" href="/"/>',
    '<xhtml:link hreflang="de" href="https://example.com/"/>', '<xhtml:link rel="Alternate x" hreflang="" href="/a"/>',
    '<xhtml:link rel="alternate" hreflang="de"/>', '<xhtml:link rel="alternate" hreflang="de" href=""/>',
    '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/"></xhtml:link>',
    '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/"><b/></xhtml:link>',
    '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/"><image:image/></xhtml:link>',
    '<xhtml:link rel="alternate" hreflang="de" hreflang="fr" href="https://example.com/"/>',
    '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/">', "<xhtml:link/>",
    '<xhtml:link rel="alternate" href="android-app://com.example/a?b&amp;c"/>', '<xhtml:link rel="canonical"/>',
    '<xhtml:link rel="alternate" hreflang="de" href="ios-app://1/a%d"/>', '<xhtml:link href="https://example.com/"/>',
    '<xhtml:link rel="alternate" href="android-app://"/>', '<xhtml:link rel="alternate" href="web+app://a"/>',
    '<link rel="alternate" hreflang="de" href="https://example.com/"/>',
    '<image:image rel="alternate" hreflang="de" href="https://example.com/"/>',
    "<xhtml:link rel='alternate' hreflang='de' href='https://example.com/'/>",
    '<xhtml:link rel="alternate" hreflang="d&amp;e" href="https://example.com/a&b"/>',
)
OTHERS = ("<mobile:mobile/>", "<mobile:mobile></mobile:mobile>", "<mobile:mobile><b/></mobile:mobile>",
          '<mobile:mobile a="b"/>', '<mobile:mobile a="b" a="c"/>', "<image:image/></x><x>", "</x><x><image:image/>",
          "<image:loc>https://example.com/</image:loc>", "<image:image/>", "<image:image></image:image>",
          "<video:video/>", "<news:news/>", "<x:y>z</x:y>", "<x:y/>", "<x:a><x:b>c</x:b>d</x:a>", "<pagemap:PageMap/>",
          "text", "&", "<!-- c -->", "<lastmod>2026-11-20</lastmod>", "<loc>https://example.com/2</loc>", "<url>",
          "<x:url/>", "</image:image>", "<url/>", "<IMAGE:image/>",
          "<image:IMAGE><image:loc>https://e.com/</image:loc></image:IMAGE>", "<image:other>a</image:other>",
          "<x:A>1</x:A>", "<y:z/>", "<image:image><image:image/></image:image>", "<s>t</s>", "<p:>", "<![CDATA[ ]]>",
          "<x:n>" * 20 + "</x:n>" * 20, "<x:n/>" * 30, "<image:image",
          "<image:image><image:loc>https://e.com/</image:loc>", '<x:y xmlns:q="urn:q"><q:z/></x:y>', "\u00e9",
          "<video:tag>a</video:tag>", "<image:image></video:video>")
SHOW = "<video:tvshow><video:show_title>S</video:show_title><video:season_number>2</video:season_number></video:tvshow>"
PUBLICATION = "<news:publication><news:name>N</news:name> <news:language>en</news:language></news:publication>"


class Maker:
    """Makes the extensions of one document; each part of them is unusual with this probability."""

    def __init__(self, dice: Random, oddity: float) -> None:
        self.dice = dice
        self.oddity = oddity
        self.gap = dice.choice(plain_documents.GAPS)

    def _is_odd(self, times: float = 1) -> bool:
        return self.dice.random() < times * self.oddity

    def _pick(self, choices: tuple[str, ...], usual: int) -> str:
        chosen = self.dice.choice(choices if self._is_odd() else choices[:usual])
        return chosen.replace("%d", str(self.dice.randrange(100))).replace("%%", "%")

    def _field(self, prefix: str, name: str) -> str:
        text = self._pick(URLS, 12) if name in URL_TAGS else self._pick(TEXTS, 18)
        attributes = self.dice.choice(ATTRIBUTES[: None if self._is_odd() else 12]) if prefix == "video" else ""
        if self._is_odd(0.3):
            attributes = self.dice.choice(ATTRIBUTES)
        if self._is_odd(0.1):
            return f"<{prefix}:{name}{attributes}/>"
        return f"<{prefix}:{name}{attributes}>{text}</{prefix}:{name}>"

    def _held(self, prefix: str) -> str:
        names = [name for name in TAGS[prefix] if self.dice.random() < 0.5 or name == "loc"]
        if prefix == "news" and self.dice.random() < 0.8:
            names = [name for name in names if name not in ("name", "language") or self._is_odd()]
        parts = [self._field(prefix, name) for name in names]
        if prefix == "news":
            parts.insert(0, PUBLICATION)
        if prefix == "video" and self._is_odd():
            parts.append(SHOW)
        if self._is_odd():
            again = self._field(prefix, self.dice.choice(TAGS[prefix]))
            more = (*OTHERS, PUBLICATION, SHOW, again, again, again, "<news:publication>")
            parts.insert(self.dice.randrange(len(parts) + 1), self.dice.choice(more))
        if self._is_odd():
            self.dice.shuffle(parts)
        return f"<{prefix}:{prefix}>" + "".join(self.gap + part for part in parts) + f"{self.gap}</{prefix}:{prefix}>"

    def tail(self) -> str:
        """Random extensions of an entry."""
        parts = []
        for _ in range(self.dice.choice((0, 1, 2, 4))):
            prefix = self.dice.choice(("link", "link", "image", "image", "video", "news"))
            parts.append(self._pick(LINKS, 12) if prefix == "link" else self._held(prefix))
        if self._is_odd():
            parts.insert(self.dice.randrange(len(parts) + 1), self.dice.choice(OTHERS))
        return "".join(self.gap + part for part in parts)

    def entry(self, number: int) -> str:
        """A plain entry with extensions; at times one of plain_documents."""
        if self._is_odd(0.3):
            return plain_documents.entry(self.dice, number, self.oddity, (self.gap,))
        loc = self.dice.choice(plain_documents.LOCS[: None if self._is_odd() else 9])
        parts = [f"<loc>{loc}</loc>".replace("%d", str(number)).replace("%%", "%")]
        for name, choices in plain_documents.FIELDS.items():
            if self.dice.random() < 0.4:
                parts.append(f"<{name}>{self.dice.choice(choices[: None if self._is_odd() else 8])}</{name}>")
        tail = self.tail()
        if self._is_odd(0.2):
            parts.insert(self.dice.randrange(len(parts) + 1), tail)
        else:
            parts.append(tail)
        end = "" if self._is_odd(0.1) else "</url>"
        return self.gap + "<url>" + "".join(self.gap + part for part in parts) + self.gap + end


def _root(dice: Random) -> str:
    namespaces = dict(NAMESPACES)
    if dice.random() < 0.2:
        namespaces[dice.choice([*namespaces])] = dice.choice(ODD_NAMESPACES)
    if dice.random() < 0.1:
        del namespaces[dice.choice([*namespaces])]
    declared = "".join(f' xmlns:{prefix}="{namespace}"' for prefix, namespace in namespaces.items())
    long = " a='" + "y" * dice.choice((3000, 5000)) + "'" if dice.random() < 0.03 else ""
    base = " xml:base='https://other.example/'" if dice.random() < 0.05 else ""
    core = dice.choice(("urn:core", "")) if dice.random() < 0.05 else plain_documents.CORE
    return f'<urlset xmlns="{core}"{declared}{base}{long}>'


def document(dice: Random) -> bytes:
    """Of all that."""
    maker = Maker(dice, dice.choice((0, 0.01, 0.05, 0.2)))
    body = "".join(maker.entry(number) for number in range(dice.choice((3, 10, 30))))
    if dice.random() < 0.25:
        for _ in range(dice.choice((1, 1, 2, 5))):
            place = dice.randrange(len(body) + 1)
            body = body[:place] + dice.choice(plain_documents.DAMAGE) + body[place + dice.choice((0, 0, 1, 5, 30)) :]
    text = _root(dice) + body + maker.gap + dice.choice(("</urlset>", "</urlset>", ""))
    return text.encode("utf-8", "surrogateescape")


LIMITS = {"max_entry_elements": (4, 5, 8, 12), "max_xml_depth": (3, 4, 5, 6), "max_attributes": (1, 2, 3, 8)}


def options(dice: Random) -> dict[str, object]:
    """Options of plain_documents, and limits that extensions could exceed."""
    found = plain_documents.options(dice)
    if dice.random() < 0.15:
        name = dice.choice([*LIMITS])
        found["limits"] = plain_documents.sr.Limits(**{name: dice.choice(LIMITS[name])})
    return found
