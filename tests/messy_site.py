"""A site with a fault of nearly every kind, and the truth about it: which faults, and where each is.

Each function below writes a document of the site, and states the faults that it writes beside them; the lines are those
that were written, never those that an audit found. By hand: `python tests/messy_site.py --port 8000`.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

from faultserver import FaultServer, Wire, head, raw, status, whole
from seeded_faults import (
    DECLARATION,
    DENIED,
    NEAR_IMAGE_NS,
    NOT_FOUND,
    SERVER_ERROR,
    SITEMAP_NS,
    Document,
    Site,
    content_headers,
)

# Codes, or their first letters, that this site cannot have -> why.
NOT_SEEDED = {
    "F08": "50 MiB are too many for a test",
    "F09": "its robots.txt names sitemaps",
    "F13": "it is read with --allow-private",
    "F14": "its robots.txt can be read",
    "F15": "its Crawl-delay is short",
    "F16": "it is read without headers",
    "F19": "it has sitemaps",
    "F20": "its robots.txt disallows one folder",
    "F21": "its sitemaps are on its host",
    "U05": "its robots.txt names the index: each sitemap may list the whole host",
    "U11": "it has one host and port",
    "U18": "its host is a private address",
    "S03": "50,001 entries are too many for a test",
    "S14": "it takes six levels of indexes",
    "S16": "a limit of this reader, not a fault of a site",
    "S18": "it is no folder",
    "S17": "an error of this reader, not a fault of a site",
    "D08": "its pages change",
    "L07": "not all of its sitemaps are read completely",
    "L09": "needs a crawl of the pages",
    "L12": "needs a check of the pages",
    "L10": "a second listing is U06",
    "C": "needs a crawl of the pages",
    "X": "needs an earlier audit",
}
CRAWL_DELAY = 0.005  # seconds; one request at a time, so that the sitemaps are read in the order of their listing
SLOW_SECONDS = 0.02  # between the parts of the slow document


# --- robots.txt and indexes ---


def robots(site: Site) -> None:
    """Sitemap lines of an index, of sitemaps and of feeds; two are malformed, and one names a forbidden sitemap."""
    document = Document(site, "/robots.txt")
    document.add("User-agent: *", f"Crawl-delay: {CRAWL_DELAY}", "Disallow: /private/", "")
    document.add(f"Sitemap: {site.url('/sitemap.xml')}")
    document.fault("F12", line=document.add("Sitemap: /relative.xml"), url="/relative.xml")
    document.fault("F12", line=document.add(f"Sitemap {site.url('/colon.xml')}"), url="/colon.xml")
    document.add("# feeds", f"sitemap: {site.url('/feeds/rss.xml')}", f"SITEMAP: {site.url('/feeds/atom.xml')}")
    document.add(f"Sitemap: {site.url('/private/map.xml')}")
    site.unreadable("F02", "/private/map.xml")
    document.serve(type="text/plain")
    for path in ("/relative.xml", "/colon.xml"):
        sitemap = site.urlset(path)
        sitemap.entry(f"{path}/1")
        sitemap.end()


def index(site: Site) -> None:
    """The index in robots.txt: all other sitemaps, one of them twice, one on another host, one with an old lastmod."""
    document = Document(site, "/sitemap.xml")
    document.add(DECLARATION, f'<sitemapindex xmlns="{SITEMAP_NS}">')
    for path in INDEXED:
        _child(document, path, faults="S04" if path == "/maps/index.xml" else "")
    _child(document, "/pages.xml", faults="S12")
    _child(document, "https://elsewhere.example/sitemap.xml", faults="U04")
    _child(document, "/outdated.xml", lastmod=site.day(-90), faults="D05")
    _child(document, "/wide.xml", lastmod="yesterday", faults="D01")
    _child(document, "/odd.xml", lastmod=site.day(400), faults="D02")
    line = document.add("  <sitemap>", "  </sitemap>") - 1
    document.fault("S11", line=line)
    document.add("</sitemapindex>")
    document.serve()


def _child(document: Document, path: str, *, lastmod: str = "", faults: str = "") -> None:
    line = document.add("  <sitemap>")
    document.add(f"    <loc>{document.site.url(path)}</loc>")
    if lastmod:
        document.add(f"    <lastmod>{lastmod}</lastmod>")
    document.add("  </sitemap>")
    document.fault(faults, line=line, url=path)


def nested_index(site: Site) -> None:
    """An index within the index, which lists itself, and a sitemap above its directory."""
    document = Document(site, "/maps/index.xml")
    document.add(DECLARATION, f'<sitemapindex xmlns="{SITEMAP_NS}">')
    _child(document, "/maps/index.xml", faults="S05")
    _child(document, "/above.xml", faults="S13")
    _child(document, "/maps/below.xml")
    document.add("</sitemapindex>")
    document.serve()
    above, below = site.urlset("/above.xml"), site.urlset("/maps/below.xml")
    above.entry("/above/1")
    above.end()
    below.entry("/maps/1")
    below.entry("/about")  # above its directory; in scope, as robots.txt names the index
    below.end()


# --- without a fault ---


def pages(site: Site) -> None:
    """A correct sitemap."""
    document = site.urlset("/pages.xml")
    for number in range(60):
        fault = "U07" if number in (1, 2) else ""  # /duplicates.xml comes first by its URL
        fields = "<changefreq>weekly</changefreq>", f"<priority>0.{number % 9}</priority>"
        document.entry(f"/pages/{number}", *fields, faults=fault)
    document.end()


def odd_but_correct(site: Site) -> None:
    """A byte order mark, CDATA, white space around a location, comments, an unknown namespace, other line ends."""
    document = site.urlset("/odd.xml", root=f'<s:urlset xmlns:s="{SITEMAP_NS}">')
    document.add("<!-- <url><loc>https://elsewhere.example/comment</loc></url> -->")
    date = f"<s:lastmod>{site.day(-8)}T09:30:15.250+02:00</s:lastmod>"
    document.add(f"<s:url><s:loc><![CDATA[{site.url('/odd?a=1&b=2')}]]></s:loc>{date}</s:url>")
    document.add(f"<s:url><s:loc>\n\t{site.url('/odd/&#50;')}\n</s:loc>{date}</s:url>", "</s:urlset>")
    site.urls += 2
    site.serve(document.path, b"\xef\xbb\xbf" + document.body.replace(b"\n", b"\r\n"))
    wide = site.urlset("/wide.xml")
    wide.lines[0] = '<?xml version="1.0" encoding="UTF-16"?>'
    wide.entry("/wide/1")
    wide.add("</urlset>")
    wide.fault("S07")
    site.serve(wide.path, wide.body.decode().encode("utf-16"))


def archive(site: Site) -> None:
    """A correct sitemap in gzip."""
    document = site.urlset("/archive.xml.gz")
    for number in range(30):
        document.entry(f"/archive/{number}")
    document.add("</urlset>")
    site.serve(document.path, gzip.compress(document.body, mtime=0), type="application/gzip")


def slow(site: Site) -> None:
    """A correct sitemap that arrives slowly."""
    document = site.urlset("/slow.xml")
    for number in range(5):
        document.entry(f"/slow/{number}")
    document.add("</urlset>")
    answer = whole(document.body, *content_headers())

    def send(wire: Wire) -> bool:
        size = len(answer) // 5 + 1
        for start in range(0, len(answer), size):
            wire.send(answer[start : start + size])
            wire.pause(SLOW_SECONDS)
        wire.server.end(wire.exchange)
        return True

    site.scripts[document.path] = [send]


def recovering(site: Site) -> None:
    """A correct sitemap, after one 503."""
    document = site.urlset("/recovering.xml")
    document.entry("/recovering/1")
    document.end()
    site.scripts[document.path].insert(0, status("503 Service Unavailable", "Retry-After: 0"))


# --- answers ---


def refused(site: Site) -> None:
    """Statuses of 400 and above."""
    for path, line, code in (
        ("/gone.xml", "404 Not Found", NOT_FOUND),
        ("/removed.xml", "410 Gone", NOT_FOUND),
        ("/denied.xml", "403 Forbidden", DENIED),
        ("/login.xml", "401 Unauthorized", DENIED),
        ("/failing.xml", "500 Internal Server Error", SERVER_ERROR),
    ):
        site.scripts[path] = [status(line, *(["Retry-After: 0"] if line.startswith("5") else []))]
        site.unreadable(code, path)


def redirects(site: Site) -> None:
    """A redirect to a sitemap, and a loop of two."""
    site.scripts["/moved.xml"] = [status("301 Moved Permanently", f"Location: {site.url('/there.xml')}")]
    site.fault("F03", "/moved.xml")
    there = site.urlset("/there.xml")
    there.entry("/moved/1")
    there.end()
    # Of two names of one sitemap the second is no sitemap of its own.
    site.scripts["/alias.xml"] = [status("302 Found", f"Location: {site.url('/pages.xml')}")]
    site.fault("F03", "/alias.xml")
    site.scripts["/lost.xml"] = [status("302 Found", f"Location: {site.url('/home')}")]
    site.serve("/home", b"<!DOCTYPE html>\n<html><title>Shop</title></html>\n", type="text/html")
    site.fault("F03", "/lost.xml")
    site.unreadable("F05", "/lost.xml")
    for here, next_one in (("/loop.xml", "/pool.xml"), ("/pool.xml", "/loop.xml")):
        site.scripts[here] = [status("302 Found", f"Location: {site.url(next_one)}")]
    site.fault("F03", "/loop.xml")
    site.unreadable("F04", "/loop.xml")


def dropped(site: Site) -> None:
    """A connection that ends in the middle of the document: the entries before are read."""
    document = site.urlset("/dropped.xml")
    for number in range(3):
        document.entry(f"/dropped/{number}")
    document.cut("F04")
    start = head("200 OK", "Content-Length: 9999", *content_headers())
    site.scripts[document.path] = [raw(start + document.body.removesuffix(b"\n"))]


def no_sitemaps(site: Site) -> None:
    """An HTML page with 200, an API's error, and nothing at all."""
    site.serve("/soft404.xml", b"<!DOCTYPE html>\n<html><title>Not found</title></html>\n", type="text/html")
    site.unreadable("F05", "/soft404.xml")
    site.serve("/api.xml", b"<error><message>out of memory</message></error>\n")
    site.unreadable("S15", "/api.xml")
    site.serve("/nothing.xml", b"")
    site.unreadable("F11", "/nothing.xml")


def headers(site: Site) -> None:
    """A wrong Content-Type; neither ETag nor Last-Modified."""
    mistyped, unversioned = site.urlset("/mistyped.xml"), site.urlset("/unversioned.xml")
    mistyped.entry("/mistyped/1")
    mistyped.fault("F06")
    mistyped.end(type="text/html")
    unversioned.entry("/unversioned/1")
    unversioned.fault("F10")
    unversioned.end(has_etag=False)


def truncated_gzip(site: Site) -> None:
    """Gzip data without its end: the entries before are read."""
    document = site.urlset("/truncated.xml.gz")
    for number in range(3):
        document.entry(f"/truncated/{number}")
    document.add("</urlset>")
    document.cut("F07")
    # Without compression, and cut within the checksum behind the text.
    site.serve(document.path, gzip.compress(document.body, 0, mtime=0)[:-6], type="application/gzip")


# --- XML and text ---


def broken(site: Site) -> None:
    """XML that is cut, and a bare ampersand that can be repaired."""
    cut, ampersand = site.urlset("/cut.xml"), site.urlset("/ampersand.xml")
    cut.entry("/cut/1")
    cut.cut("S01", line=len(cut.lines))
    site.serve(cut.path, cut.body.removesuffix(b"\n"))
    line = ampersand.entry("/ampersand?a=1&b=2")
    ampersand.fault("S01", line=line + 1)
    ampersand.end()


def structure(site: Site) -> None:
    """Wrong namespaces, an empty urlset, text before the declaration, a DTD, repeated tags, no location."""
    wrong = site.urlset("/namespace.xml", root='<urlset xmlns="http://www.google.com/schemas/sitemap/0.84x">')
    wrong.entry("/namespace/1")
    wrong.fault("S02", severity="error")
    wrong.end()
    near = site.urlset("/extension.xml", root=f'<urlset xmlns="{SITEMAP_NS}" xmlns:image="{NEAR_IMAGE_NS}">')
    line = near.entry("/extension/1", f"<image:image><image:loc>{site.url('/1.jpg')}</image:loc></image:image>")
    near.fault("S02", line=line + 2)  # the first element that has it
    near.end()
    empty = site.urlset("/empty.xml")
    empty.fault("S06")
    empty.end()
    before = Document(site, "/before.xml")
    before.fault("S08", line=before.add("PHP Warning: something in feed.php"))
    before.add(DECLARATION, f'<urlset xmlns="{SITEMAP_NS}">')
    before.entry("/before/1")
    before.end()
    dtd = Document(site, "/dtd.xml")
    dtd.add(DECLARATION, '<!DOCTYPE urlset [<!ENTITY shop "lamps">]>', f'<urlset xmlns="{SITEMAP_NS}">', "</urlset>")
    site.unreadable("S09", dtd.path)
    dtd.serve()
    tags = site.urlset("/tags.xml")
    tags.entry("/tags/1", f"<lastmod>{site.day(-9)}</lastmod>", faults="S10")
    tags.fault("S11", line=tags.add("  <url>", f"    <lastmod>{site.day(-9)}</lastmod>", "  </url>") - 2)
    tags.end()


def charsets(site: Site) -> None:
    """ISO-8859-1 that is declared, and a byte of it in UTF-8."""
    for path, declared in (("/latin1.xml", "ISO-8859-1"), ("/bytes.xml", "UTF-8")):
        document = site.urlset(path, "image")
        document.lines[0] = f'<?xml version="1.0" encoding="{declared}"?>'
        image = f"<image:loc>{site.url('/1.jpg')}</image:loc><image:title>café</image:title>"
        document.entry(f"{path}/1", f"<image:image>{image}</image:image>")
        document.add("</urlset>")
        document.fault("S07", severity="error" if declared == "UTF-8" else "warning")
        site.serve(path, document.body.decode().encode("latin-1"))


def text_list(site: Site) -> None:
    """A list of URLs, without lastmods, which text cannot state; a relative URL, a comment, a URL listed twice."""
    document = Document(site, "/list.txt")
    for number in range(4):
        document.add(site.url(f"/list/{number}"))
    site.urls += 6
    document.fault("U08", line=document.add(site.url("/list/4#top")), url="/list/4")
    document.fault("U01", line=document.add("/list/relative"))  # of text nothing shows that it is a URL
    document.fault("U01", line=document.add("# a comment"))
    document.fault("U06", line=document.add("", site.url("/list/1")), url="/list/1")
    document.serve(type="text/plain")


def feeds(site: Site) -> None:
    """An RSS feed with an item that has no link, and a correct Atom feed."""
    rss = Document(site, "/feeds/rss.xml")
    rss.add(DECLARATION, '<rss version="2.0"><channel>', f"<title>News</title><link>{site.url('/')}</link>")
    date = (site.now - timedelta(days=3)).strftime("%a, %d %b %Y %H:%M:%S +0000")
    for number in range(3):
        rss.add(f"<item><link>{site.url(f'/posts/{number}')}</link><pubDate>{date}</pubDate></item>")
    rss.fault("S11", line=rss.add("<item><title>No link</title></item>"))
    rss.add("</channel></rss>")
    rss.serve(type="application/rss+xml")
    atom = Document(site, "/feeds/atom.xml")
    atom.add(DECLARATION, '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>')
    for number in range(2):
        link = f'<link href="{site.url(f"/posts/{number}")}"/>'
        atom.add(f"<entry><id>post:{number}</id>{link}<updated>{site.day(-3)}T08:00:00Z</updated></entry>")
    atom.add("</feed>")
    atom.serve(type="application/atom+xml")
    site.urls += 5


# --- URLs ---


def urls(site: Site) -> None:
    """A fault of nearly every kind in a URL."""
    document = site.urlset("/urls.xml")
    document.entry("urls/relative", faults="U01", url="/urls/relative")
    document.entry(site.url("/urls/host").partition(":")[2], faults="U01", url="/urls/host")
    document.entry("", faults="S11", url=None)
    document.entry("https:///urls/nohost", faults="U15", url=None)
    document.entry(site.url("/urls/case").replace("http", "HTTP"))
    document.entry("mailto:shop@example.com", faults="U02", url=None)
    document.entry("/urls/" + "a" * (2_048 - len(site.url("/urls/"))), faults="U03")
    document.entry("https://elsewhere.example/1", faults="U04", kept=False)
    document.entry("/urls/fragment#top", faults="U08", url="/urls/fragment")
    document.entry("/urls/session?PHPSESSID=0c9f5a", faults="U09")
    document.entry("/urls/campaign?utm_source=mail", faults="U09")
    document.entry("/urls/twice?a=1&amp;amp;b=2", faults="U17", url="/urls/twice?a=1&amp;b=2")
    document.entry("/urls/two words", faults="U10", url="/urls/two%20words")
    document.entry("/urls/slash")
    document.entry("/urls/slash/", faults="U16")
    document.entry("/private/prices", faults="U12")
    document.entry("/urls/photo.jpg", faults="U13")
    document.entry(site.origin.replace("://", "://user:secret@") + "/urls/login", faults="U14")
    document.entry("http://10.0.0.5/urls/inside", faults="U14", kept=False)
    document.entry("http://127.0.0.1:99999/urls/port", faults="U15", url=None)
    document.entry("javascript:void(0)", faults="U02", url=None)
    document.end()


def duplicates(site: Site) -> None:
    """A URL that is listed three times, and two that another sitemap lists too."""
    document = site.urlset("/duplicates.xml")
    document.entry("/duplicates/1")
    document.entry("/duplicates/1", faults="U06")
    document.entry("/duplicates/2")
    document.entry("/duplicates/1", faults="U06")
    document.entry("/pages/1")
    document.entry("/pages/2")
    document.end()


# --- dates and hints ---


def dates(site: Site) -> None:
    """Dates that cannot be read, have to be repaired, or are in the future."""
    document = site.urlset("/dates.xml")
    document.entry("/dates/1", lastmod="soon", faults="D01")
    document.entry("/dates/2", lastmod="11/09/2025", faults="D01")
    document.entry("/dates/3", lastmod=f"{site.day(-6)} 10:30:00", faults="D06")
    document.entry("/dates/4", lastmod=site.day(30), faults="D02")
    for number in range(5, 8):
        document.entry(f"/dates/{number}", lastmod=site.day(5 * 365), faults="D02")
    document.end()


def identical_dates(site: Site) -> None:
    """Twenty entries of one day; half of the entries without a date, and one more; an index that is behind."""
    same, undated, outdated = (site.urlset(f"/{name}.xml") for name in ("identical", "undated", "outdated"))
    for number in range(20):
        same.entry(f"/identical/{number}", lastmod=site.day(-40))
    same.fault("D03")
    same.end()
    for number in range(5):
        undated.entry(f"/undated/{number}", lastmod=site.day(-number) if number < 2 else None)
    undated.fault("D07")
    undated.end()
    outdated.entry("/outdated/1", lastmod=site.day(-4))
    outdated.end()


def requested(site: Site) -> None:
    """Five entries, whose lastmod is the time of the request."""
    site.urls += 5
    site.fault("D04", "/requested.xml")

    def answer(wire: Wire) -> bool:
        scratch = Site(site.origin, site.now)
        document = scratch.urlset("/requested.xml")
        for number in range(5):
            document.entry(f"/requested/{number}", lastmod=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        document.add("</urlset>")
        return wire.answer(whole(document.body, *content_headers()))

    site.scripts["/requested.xml"] = [answer]


def hints(site: Site) -> None:
    """changefreq and priority."""
    document = site.urlset("/hints.xml")
    document.entry("/hints/1", "<changefreq>sometimes</changefreq>", faults="H01")
    document.entry("/hints/2", "<priority>7</priority>", faults="H02")
    for number in range(3, 13):
        document.entry(f"/hints/{number}", "<priority>0.5</priority>")
    document.fault("H03")
    document.end()


# --- extensions ---


def hreflang(site: Site) -> None:
    """A correct pair of pages, and a fault of each kind."""
    document = site.urlset("/hreflang.xml", "xhtml")

    def entry(loc: str, *alternates: str, faults: str = "") -> None:
        links = []
        for alternate in alternates:
            code, _, href = alternate.partition(" ")
            href = href if href.startswith("~") else site.url(href)
            links.append(f'<xhtml:link rel="alternate" hreflang="{code}" href="{href.removeprefix("~")}"/>')
        document.entry(loc, *links, faults=faults)

    entry("/en/a", "en /en/a", "de /de/a", "x-default /en/a")
    entry("/de/a", "en /en/a", "de /de/a", "x-default /en/a")
    entry("/en/b", "en /en/b", "en-UK /uk/b", "x-default /en/b", faults="L01")
    entry("/en/c", "de /de/c", "x-default /c", faults="L02")
    entry("/en/d", "en /en/d", "de /de/d", "x-default /en/d", faults="L03")
    entry("/de/d", "de /de/d", "x-default /de/d")
    entry("/en/e", "en /en/e", "de /de/e", faults="L04")
    entry("/en/f", "en /en/f", "en /en/g", "x-default /en/f", faults="L05")
    entry("/en/h", "en /en/h", "de ~/de/h", "x-default /en/h", faults="L06")
    entry("/en/i", "en /en/i", "de /de/i", "x-default /en/i")
    entry("/de/i", "en-US /en/i", "de /de/i", "x-default /en/i", faults="L08")
    entry("/en/j", "en /en/j", "es-LA /la/j", "x-default /en/j", faults="L11")
    document.end()


def images(site: Site) -> None:
    """One image more than Google reads, and an image without its location."""
    document = site.urlset("/images.xml", "image")
    locs = [site.url(f"/images/{number}.jpg") for number in range(1_001)]
    many = [f"<image:image><image:loc>{loc}</image:loc></image:image>" for loc in locs]
    document.entry("/images/many", *many, faults="I01")
    document.entry("/images/none", "<image:image><image:title>Lamp</image:title></image:image>", faults="S11")
    document.end()


def videos(site: Site) -> None:
    """A correct video, and a fault of each kind."""
    document = site.urlset("/videos.xml", "video")

    def entry(name: str, faults: str = "", **changes: str | None) -> None:
        usual = {
            "thumbnail_loc": site.url("/1.jpg"), "title": "Lamps", "description": "How lamps are made",
            "content_loc": site.url("/1.mp4"), **changes,
        }  # fmt: skip
        fields = [f"<video:{tag}>{value}</video:{tag}>" for tag, value in usual.items() if value is not None]
        document.entry(f"/videos/{name}", "<video:video>", *fields, "</video:video>", faults=faults)

    entry("correct")
    entry("untitled", "V01", title=None)
    entry("nowhere", "V02", content_loc=None)
    entry("itself", "V03", content_loc=site.url("/videos/itself"))
    entry("verbose", "V04", description="a" * 2_049)
    entry("long", "V05", duration="ten minutes")
    entry("gone", "V06", expiration_date="2020-01-01")
    document.end()


def news(site: Site) -> None:
    """A correct item, a fault of each kind, and one item more than Google reads."""
    document, many = site.urlset("/news.xml", "news"), site.urlset("/manynews.xml", "news")

    def item(date: str = "", language: str = "en", title: str = "<news:title>Lamps</news:title>") -> list[str]:
        publication = f"<news:name>Lamps</news:name><news:language>{language}</news:language>"
        published = f"<news:publication_date>{date or site.day(-1)}</news:publication_date>"
        return ["<news:news>", f"<news:publication>{publication}</news:publication>", published, title, "</news:news>"]

    document.entry("/news/1", *item(), lastmod=None)
    document.entry("/news/2", *item(date=site.day(-5)), lastmod=None, faults="N02")
    document.entry("/news/3", *item(title=""), lastmod=None, faults="N03")
    document.entry("/news/4", *item(language="english"), lastmod=None, faults="N04")
    document.entry("/news/6", *item(date=site.day(5)), lastmod=None, faults="N05")
    document.entry("/news/5", *item(date="Monday"), lastmod=None, faults="D01")
    document.end()
    for number in range(1_001):
        many.entry(f"/news/many/{number}", *item(), lastmod=None)
    many.fault("N01")
    many.end()


# The sitemaps of the index, in the order in which it lists them.
INDEXED = (
    "/pages.xml", "/alias.xml", "/lost.xml", "/login.xml", "/archive.xml.gz", "/slow.xml", "/recovering.xml",
    "/maps/index.xml", "/gone.xml", "/removed.xml", "/denied.xml", "/failing.xml", "/moved.xml", "/loop.xml",
    "/dropped.xml", "/soft404.xml", "/api.xml", "/nothing.xml", "/mistyped.xml", "/unversioned.xml",
    "/truncated.xml.gz", "/cut.xml", "/ampersand.xml", "/namespace.xml", "/extension.xml", "/empty.xml", "/before.xml",
    "/dtd.xml", "/tags.xml", "/latin1.xml", "/bytes.xml", "/list.txt", "/urls.xml", "/duplicates.xml", "/dates.xml",
    "/identical.xml", "/undated.xml", "/requested.xml", "/hints.xml", "/hreflang.xml", "/images.xml", "/videos.xml",
    "/news.xml", "/manynews.xml",
)  # fmt: skip
DOCUMENTS: tuple[Callable[[Site], None], ...] = (
    robots, index, nested_index, pages, odd_but_correct, archive, slow, recovering, refused, redirects, dropped,
    no_sitemaps, headers, truncated_gzip, broken, structure, charsets, text_list, feeds, urls, duplicates, dates,
    identical_dates, requested, hints, hreflang, images, videos, news,
)  # fmt: skip


def make_site(origin: str, now: datetime) -> Site:
    """Writes all documents."""
    site = Site(origin, now)
    for write in DOCUMENTS:
        write(site)
    return site


@contextmanager
def served_site(port: int = 0, now: datetime | None = None) -> Iterator[Site]:
    """The site on 127.0.0.1, at any free port."""
    with FaultServer(port=port) as server:
        site = make_site(server.url, now or datetime.now(UTC))
        for path, scripts in site.scripts.items():
            server.play(path, *scripts)
        yield site


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves the messy site on 127.0.0.1 until Ctrl-C.")
    parser.add_argument("--port", type=int, default=8000)
    with suppress(KeyboardInterrupt), served_site(parser.parse_args().port) as site:
        print(f"sitemap-reader audit {site.origin} --allow-private -o report.html")
        while True:
            time.sleep(3_600)


if __name__ == "__main__":
    main()
