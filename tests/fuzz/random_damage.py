"""Damaged documents, made from a seed: `python tests/fuzz/random_damage.py [tokens] [tags] --seed N --minutes M`.

`tokens`: random sequences of tags, declarations and bytes, mostly broken, with a few whole entries between. Nothing
that they hold may raise. `tags`: a document whose markup is damaged, but no URL of a page. No other URL may come out,
and the outcome is complete only if all came out. In both the compiled scanner and expat give the same, wherever the
bytes are cut. Needs no atheris.

Findings are minimised and written to tests/fuzz/found/TARGET/, where test_found.py replays them.
"""

import argparse
import gzip
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import attrs
from broken import cuttings, dice, hold
from child import Finder
from document_rules import OPTIONS, Items, check_same, padded, read, read_by_expat
from pieces import FEED, MARKUP

import sitemap_reader as sr

HERE = Path(__file__).parent
URL = "https://example.com/sitemap.xml"
MINUTES = 1.0

# --- documents of random tokens ---

_SITEMAPS = b"http://www.sitemaps.org/schemas/sitemap/0.9"
_NAMES = (
    *b"""urlset sitemapindex url sitemap loc lastmod changefreq priority rss channel item link guid pubDate title feed
    entry updated id image:image image:loc xhtml:link video:video video:player_loc news:news media:content content
    description rdf:RDF uRl ul ulr Url lok lco x x:y x:url xmlns xmlns:a xml:loc a: :a 1x br p html""".split(),
    b"", b"\xc4", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xef\xbf\xbe", b"u\0rl", b"url\0", b"loc\xef\xbb\xbf",
    b"\xf0\x90\x80\x80", b"\xcd\xb0", b"\xcc\x80", b"a\xcc\x80", b"url\xc3\x97",
)
_SPACES = (
    b" ", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\x0b", b"\x0c", b"\x1b", b"\x85", b"\xc2\x85", b"\xc2\xa0",
    b"\xef\xbb\xbf",
)
_VALUES = (
    b"x", b"", b"u", _SITEMAPS, b"http://www.w3.org/2000/xmlns/", b"http://www.w3.org/XML/1998/namespace",
    b"\xef\xbb\xbf", b"\0", b"a}b", b"&amp;", b"&", b"&#0;", b"&#x10FFFF;", b"&x;", b"<", b">", b"\xc4",
    b"http://www.w3.org/2005/Atom", b"http://www.google.com/schemas/sitemap-image/1.1", b"https://example.com/v",
    b"/v", b"\n", b" ", b"utf-16", b"1.0",
)
_ATTRIBUTES = (
    b"xmlns", b"xmlns:a", b"xmlns:x", b"xmlns:image", b"xmlns:xml", b"xmlns:xmlns", b"xmlns:", b"xml:base",
    b"xml:lang", b"xml:", b"href", b"url", b"rel", b"hreflang", b"s", b"a:b", b":", b"x:y", b"\xc4", b"\xc3\xa9",
    b"1", b"", b"-", b"isPermaLink", b"encoding", b"version",
)
_ENTRIES = (
    b"<url><loc>https://example.com/%d</loc></url>", b"<sitemap><loc>https://example.com/%d.xml</loc></sitemap>",
    b"<url>\n<loc>https://example.com/%d</loc>\n<lastmod>2026-11-20</lastmod>\n<priority>0.5</priority>\n</url>\n",
    b"<item><title>t</title><link>https://example.com/%d</link></item>",
    b'<entry><id>i</id><link href="https://example.com/%d"/></entry>',
    b"<url><loc><![CDATA[https://example.com/%d]]></loc></url>",
    b"<url><loc>https://example.com/%d</loc><image:image><image:loc>https://example.com/%d.png</image:loc></image:image></url>",
)
_ROOTS = (
    b"<urlset>", b'<urlset xmlns="%s">' % _SITEMAPS, b"<urlset", b"<urlset ", b"<sitemapindex>", b"<rss><channel>",
    b'<rss version="2.0"><channel>', b'<feed xmlns="http://www.w3.org/2005/Atom">', b"<feed",
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">',
    b'<x:urlset xmlns:x="%s">' % _SITEMAPS, b"<urlset/>", b"<urlset><urlset>",
)
_OPENINGS = (
    b"", b"", b"", b'<?xml version="1.0"?>', b'<?xml version="1.0" encoding="utf-8"?>\n', b"\xef\xbb\xbf", b"<?xml",
    b'<?xml version="1.0" encoding="latin-1"?>', b"<!DOCTYPE rss>", b'<!DOCTYPE rss SYSTEM "x.dtd">', b"<!-- c -->",
    b"\n", b"\0",
)
_MARKS = (
    b"<", b">", b"</", b"/>", b"=", b'"', b"'", b"<!--", b"-->", b"--", b"<!-", b"->", b"<![CDATA[", b"]]>", b"]]",
    b"]>", b"<![", b"<?", b"?>", b"<?x", b"<!", b"<!DOCTYPE", b"<!DOCTYPE x [", b"]", b"[", b"&", b"&amp;", b"&#",
    b"&nbsp;", b"&#xD800;", b"&#0;", b";", b"<!CDATA[", b"< [CDATA[", b"<!ENTITY x 'y'>", b"<?xml version='1.0'?>",
    b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xef\xbf\xbf", b"<!-->", b"<!--->", b"<\\/loc>", b"< loc>", b"<!D", b"<?>",
    b"x", b"https://example.com/t", b"/t", b"2026-11-20",
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1251", "latin-1")


def random_tokens(rng: Random) -> bytes:
    """A document of random tokens, of 20 bytes to a few kilobytes."""
    parts = [rng.choice(_OPENINGS), rng.choice(_ROOTS) if rng.random() < 0.9 else b""]
    for _ in range(rng.choice((2, 4, 8, 16, 40))):
        parts.append(_part(rng))
    if rng.random() < 0.5:
        parts.append(
            rng.choice((b"</urlset>", b"</sitemapindex>", b"</channel></rss>", b"</feed>", b"</ul<", b"</urlset"))
        )
    body = b"".join(parts)
    if rng.random() < 0.05:
        body = body.decode("utf-8", "replace").encode(rng.choice(_ENCODINGS), "replace")
    if rng.random() < 0.02:
        body = gzip.compress(body, mtime=0)
    return body


def _part(rng: Random) -> bytes:
    chance = rng.random()
    if chance < 0.12:
        entry = rng.choice(_ENTRIES)
        return entry.replace(b"%d", b"%d" % rng.randrange(9))
    if chance < 0.75:
        return _tag(rng)
    if chance < 0.95:
        return rng.choice(_MARKS)
    return rng.choice((*MARKUP, *FEED))


def _tag(rng: Random) -> bytes:
    """A tag that mostly lacks something."""
    parts = [rng.choice((b"<", b"<", b"<", b"</", b"</", b"< ", b"<\\/", b"<<"))]
    parts.append(rng.choice(_NAMES))
    while rng.random() < 0.35:
        parts += (rng.choice(_SPACES) if rng.random() < 0.85 else b"", rng.choice(_ATTRIBUTES))
        if rng.random() < 0.85:
            quote = rng.choice((b'"', b'"', b"'", b""))
            parts += (b"=", quote, rng.choice(_VALUES), quote if rng.random() < 0.85 else b"")
    if rng.random() < 0.2:
        parts.append(rng.choice(_SPACES))
    parts.append(rng.choice((b">", b">", b">", b">", b"/>", b"", b"", b">>", b'">')))
    return b"".join(parts)


def check_tokens(body: bytes, *, thorough: bool = False) -> None:
    """Nothing raises; with the scanner, with expat only, and wherever the bytes are cut, the same comes out."""
    rng = dice(body)
    names = list(OPTIONS) if thorough else ["", rng.choice(list(OPTIONS))][: 1 + (rng.random() < 0.2)]
    for name in names:
        _check_ways(body, thorough=thorough and not name, **OPTIONS[name])


def _check_ways(body: bytes, *, thorough: bool, **options: Any) -> Items:
    """What comes out, which is the same with expat only, and wherever the bytes are cut."""
    if dice(body).random() < 0.5:
        body = padded(body)
    items = read([body], url=URL, **options)
    by_expat = read_by_expat([body], url=URL, **options)
    # The order and the number of the problems of damaged entries may differ.
    hold(_records(items) == _records(by_expat), "the same records with and without the scanner", items, by_expat)
    same = items[-1].complete == by_expat[-1].complete
    hold(same, "as complete with and without the scanner", items, by_expat)
    if "limits" not in options:  # which of two limits is reached first depends on the pieces
        for pieces in cuttings(body, thorough=thorough):
            check_same(body, items, read(pieces, url=URL, **options))
    return items


def _records(items: Items) -> Items:
    return [attrs.evolve(item, problems=()) for item in items[:-1] if not isinstance(item, sr.Problem)]


# --- documents with damaged tags ---

_PAGE = "https://pages.example/{}"
_FEED_LINK = "https://feed.example/"
_PICTURE = "https://pictures.example/{}.png"
_KNOWN = re.compile(rb"https://pages\.example/\w+")
# A URL that goes on behind a comment or an instruction, as XML has it.
_GOES_ON = re.compile(rb"pages\.example/\w+<(?:!--.*?--|\?.*?\?)>[^<\s]", re.DOTALL)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_EXTENSIONS = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml"'


@attrs.frozen
class Dialect:
    """A document's head, the forms of its entries, and its end."""

    head: str
    entries: tuple[str, ...]
    end: str


# Not Atom: its URLs are in tags, so that damage of those may be damage of a URL.
_DIALECTS = (
    Dialect(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_SITEMAPS.decode()}" {_EXTENSIONS}>\n',
        (
            "<url><loc>{page}</loc></url>\n",
            "<url>\n<loc>{page}</loc>\n<lastmod>2026-11-20</lastmod>\n<changefreq>daily</changefreq>\n"
            "<priority>0.5</priority>\n</url>\n",
            "<url><lastmod>2026-11-20</lastmod><loc>{page}</loc></url>\n<!-- a note -->\n",
            "<url><loc>{page}</loc><image:image><image:loc>{picture}</image:loc></image:image></url>\n",
            '<url><loc>{page}</loc><xhtml:link rel="alternate" hreflang="de" href="{picture}"/></url>\n',
            "<url><loc>{page}</loc><lastmod><![CDATA[2026-11-20]]></lastmod></url>\n<?note x?>\n",
        ),
        "</urlset>\n",
    ),
    Dialect(
        f'<sitemapindex xmlns="{_SITEMAPS.decode()}">',
        (
            "<sitemap><loc>{page}</loc></sitemap>",
            "<sitemap><loc>{page}</loc><lastmod>2026-11-20</lastmod></sitemap>\n",
        ),
        "</sitemapindex>",
    ),
    Dialect(
        f'<rss version="2.0"><channel><title>News</title><link>{_FEED_LINK}</link>\n',
        (
            "<item><title>One</title><link>{page}</link></item>\n",
            "<item><link>{page}</link><description><![CDATA[<p>Text</p>]]></description>"
            "<pubDate>Fri, 20 Nov 2026 08:00:00 GMT</pubDate></item>\n",
        ),
        "</channel></rss>\n",
    ),
)
# Nothing that begins a location: what it would be put before is a URL of a page then.
_INSERTED = tuple(
    token for token in (*_MARKS, *_SPACES, b"<x>", b"</x>", b"<url>", b"</url>", b"</urlset>", b"</loc>", b"<url",
    b"</url", b"<item>", b"</item>", b"</channel>", b"<lastmod>", b"</lastmod>", b"<lastmod", b"<br>", b"<x:y>",
    b"<x a='b", b'<x a="b', b"<? ", b"<?php ", b"\0" * 40, b"<!-- ", b" -->", b"<![CDATA[ ", b" ]]>", b"<?x ?>",
    b"?>", b"<uRl>", b"<uRl", b"<image:image>", b"</image:image>")
    if not re.search(rb"^<\W*loc|https|^/t|\d-|^&", token)
)


def damaged_tags(rng: Random) -> bytes:
    """A document of some entries whose markup is damaged outside of the URLs of pages."""
    dialect = rng.choice(_DIALECTS[:1] * 3 + _DIALECTS)
    parts = [dialect.head]
    for number in range(rng.choice((2, 3, 5, 9))):
        entry = rng.choice(dialect.entries)
        parts.append(entry.format(page=_PAGE.format(number), picture=_PICTURE.format(number)))
    body = "".join((*parts, dialect.end)).encode()
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        body = _damage(body, rng)
    return body


def _damage(body: bytes, rng: Random) -> bytes:
    """One change of bytes outside of URLs and of the head."""
    urls = [match.span() for match in re.finditer(rb"https?://[^<\s\"']+", body)]
    first = body.find(b">", body.find(b"set") if b"set" in body else 0) + 1 if rng.random() < 0.9 else 0
    place = rng.randrange(first, len(body)) if first < len(body) else 0
    if rng.random() < 0.7:  # most damage is at a tag
        near = [match.start() for match in re.finditer(rb"[<>/]", body[place : place + 60])]
        place += rng.choice(near) + rng.randrange(2) if near else 0
    gone = rng.choice((0, 0, 1, 1, 2, 3, 5, 9))
    if any(start < max(place + gone, place + 1) and place < stop for start, stop in urls):
        return body
    inserted = rng.choice(_INSERTED) if gone == 0 or rng.random() < 0.4 else b""
    # What is put directly before or behind a URL, or moves there, would become a part of it.
    follows = inserted or body[place + gone :]
    starts, stops = {start for start, _ in urls}, {stop for _, stop in urls}
    if {place, place + gone} & starts or (place in stops and not follows.startswith(b"<")):
        return body
    return body[:place] + inserted + body[place + gone :]


def _is_well_formed(body: bytes) -> bool:
    """Whether the markup is: bytes that cannot be decoded, and control characters, are no part of it."""
    try:
        body.decode()
    except UnicodeDecodeError:
        body = body.decode("latin-1").encode()
    try:
        ElementTree.fromstring(_CONTROLS.sub(b" ", body))  # noqa: S314 - of our own making
    except (ElementTree.ParseError, LookupError, ValueError):  # the others: a charset that Python does not have
        return False
    return True


def check_tags(body: bytes, *, thorough: bool = False) -> None:
    """No URL comes out that was not listed; the outcome is complete only if all came out."""
    items = _check_ways(body, thorough=thorough)
    outcome = items[-1]
    locs = {record.loc.encode() for record in _records(items)}
    listed = set(_KNOWN.findall(body))
    others = locs - listed
    if b"<item" in body.partition(_FEED_LINK.encode())[0]:  # which may be the link of that item
        others.discard(_FEED_LINK.encode())
    hold(not others or _GOES_ON.search(body), "no URL comes out that was not listed", others)
    if _is_well_formed(body):  # then a comment or an unknown element is what it says
        return
    missing = listed - locs
    # `<lco>` may be one of an extension: an entry without a location is one, and reported as such.
    without = outcome.problems.get("S11", 0)
    hold(not outcome.complete or len(missing) <= without, "a complete document lacks no URL", missing)


TARGETS: dict[str, tuple[Callable[[Random], bytes], Callable[..., None]]] = {
    "tokens": (random_tokens, check_tokens),
    "tags": (damaged_tags, check_tags),
}


@attrs.frozen
class Made:
    """The check of a target, as child.Finder takes it."""

    check: Callable[..., None]


def document(name: str, seed: int, number: int) -> bytes:
    """The document of this number: it depends on nothing else."""
    return TARGETS[name][0](Random(f"{seed}/{number}"))  # noqa: S311 - nothing is to be kept secret


def run(name: str, seed: int, seconds: float, most: int, folder: Path) -> tuple[int, int]:
    """Documents and findings of a target, after this time or so many documents."""
    finder = Finder(name, Made(TARGETS[name][1]), folder / name)  # type: ignore[arg-type]
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until and number < most:
        finder(document(name, seed, number))
        number += 1
    return number, len(finder.known)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: both")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for each target (default: %(default)s)")
    parser.add_argument(
        "--documents", type=int, default=sys.maxsize, help="for each target at most (default: no limit)"
    )
    parser.add_argument("--found", type=Path, default=HERE / "found", help="where findings go (default: %(default)s)")
    stated = parser.parse_args()
    found = 0
    for name in stated.targets or TARGETS:
        documents, findings = run(name, stated.seed, 60 * stated.minutes, stated.documents, stated.found)
        print(f"{name:<10}{documents:>12,} documents {findings:>8} findings", flush=True)
        found += findings
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
