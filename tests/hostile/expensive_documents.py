"""Documents that are expensive to parse, and a reader of them on the caller's event loop."""

from collections.abc import Callable, Mapping

from kit import Site, pieces

import sitemap_reader as sr

SITE = "https://shop.example"
MAP = f"{SITE}/sitemap.xml"
ROBOTS = f"{SITE}/robots.txt"
NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)


def urlset(*entries: str) -> bytes:
    return f"<urlset {NAMESPACES}>{''.join(entries)}</urlset>".encode()


def entry(loc: str, rest: str = "") -> str:
    return f"<url><loc>{loc}</loc>{rest}</url>"


def many_images() -> bytes:
    image = "<image:image><image:loc>https://shop.example/i.png?%zz</image:loc></image:image>"
    return urlset(*(entry(f"{SITE}/{number}", image * 5_000) for number in range(4)))


def long_values() -> bytes:
    values = ("%" * 900_000, " " * 900_000 + "x", "/.." * 300_000, "é" * 400_000, "\\" * 900_000, "&amp;" * 200_000)
    return urlset(*(entry(f"{SITE}/{value}") for value in values))


def damaged_everywhere() -> bytes:
    faults = ("a&b", "<b>", "</x>", "<xhtml:link>", "<lastmod>", '<a b="1" b="2"/>')
    return urlset(*(entry(f"{SITE}/{number}", faults[number % len(faults)]) for number in range(6_000)))


def one_entry_without_end() -> bytes:
    return urlset(entry(f"{SITE}/1"), f"<url><loc>{SITE}/2</loc>", "<b></i>" * 500_000)


def index_of_many() -> bytes:
    children = "".join(f"<sitemap><loc>https://other{number}.example/</loc></sitemap>" for number in range(30_000))
    return f"<sitemapindex {NAMESPACES}>{children}</sitemapindex>".encode()


def feed_of_one_line() -> bytes:
    item = f"<item><title>&nbsp;</title><link>{SITE}/a?b&c</link></item>"
    return f'<rss version="2.0"><channel>{item * 20_000}</channel></rss>'.encode()


def list_of_urls() -> bytes:
    return b"".join(b"https://shop.example/%d\n" % number for number in range(100_000)) + b"x" * 2_000_000


def rules_without_end() -> bytes:
    return b"User-agent: *\n" + b"".join(b"Disallow: /*%d*a*b*c$\n" % number for number in range(20_000))


def sitemap_lines() -> bytes:
    return b"".join(b"Sitemap: https://shop.example/%d.xml\n" % number for number in range(12_000))


# Name -> document and URL. A robots.txt is read as part of its site.
EXPENSIVE_DOCUMENTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "entries with 5,000 images each": (MAP, many_images),
    "values of a megabyte": (MAP, long_values),
    "a fault in every entry": (MAP, damaged_everywhere),
    "an entry of stray end tags": (MAP, one_entry_without_end),
    "an index of 30,000 other hosts": (MAP, index_of_many),
    "a damaged feed on one line": (MAP, feed_of_one_line),
    "a long list of URLs": (MAP, list_of_urls),
    "rules without end": (ROBOTS, rules_without_end),
    "sitemap lines without end": (ROBOTS, sitemap_lines),
}


async def read_document(name: str) -> int:
    """Reads a document by name; the number of its URLs."""
    place, body = EXPENSIVE_DOCUMENTS[name]
    return await read({place: body()}, SITE if place == ROBOTS else MAP, sr.Limits(max_documents=2_000))


async def read(pages: Mapping[str, bytes], target: str, limits: sr.Limits) -> int:
    """Reads a target in chunks of network size; the number of its URLs."""
    urls = 0
    site = Site({url: (200, {}, pieces(body, 64 * 1024)) for url, body in pages.items()})
    async with sr.SitemapReader(fetcher=site, limits=limits, scope="any") as reader:
        try:
            async for _ in reader.urls(target):
                urls += 1
        except sr.ReadError:
            assert urls == 0
    return urls
