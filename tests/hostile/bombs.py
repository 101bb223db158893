"""Hostile documents as streams of chunks, by name, with the expected results.

Each begins with a good entry where possible. A document is never completely in memory here. With `pytest --full` the
long ones are 50 or 200 MiB, else 20: both exceed the limits that stop them.
"""

import gzip
import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Iterator

import attrs

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB

FULL = "SITEMAP_READER_TEST_FULL" in os.environ  # as in tiers.py; child processes and benchmarks have no pytest
LONG = (50 if FULL else 20) * MIB
HUGE = (200 if FULL else 20) * MIB

NAMESPACE = b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
ROOT = b"<urlset %s>\n" % NAMESPACE
HEAD = DECLARATION + ROOT
FIRST = b"<url><loc>https://example.com/first</loc></url>\n"
LAST = b"<url><loc>https://example.com/last</loc></url>\n"
TAIL = b"</urlset>\n"
RSS = b'<rss version="2.0"><channel><title>t</title><link>https://example.com/</link>'
RSS_TAIL = b"</channel></rss>"

@attrs.frozen
class Bomb:
    """`chunks()` yields the document.

    `codes` are all its problems, `entries` the number returned, `first` whether the good entry at the start is among
    them.
    At most `taken` bytes of the transfer may be read; None if all are read. Reading may take `extra_kib` of memory
    beyond that of a small document.
    """

    chunks: Callable[[], Iterable[bytes]]
    codes: frozenset[str]
    entries: int
    complete: bool = False
    taken: int | None = None
    first: bool = True
    extra_kib: int = 20 * KIB


def filled(size: int, unit: bytes = b"x") -> Iterator[bytes]:
    """At most `size` bytes of whole repeated units."""
    block = unit * (CHUNK // len(unit))
    whole, rest = divmod(size, len(block))
    yield from itertools.repeat(block, whole)
    yield unit * (rest // len(unit))


def around(*filling: Iterable[bytes], before: bytes = HEAD + FIRST, after: bytes = LAST + TAIL) -> Iterator[bytes]:
    """A sitemap with something in its middle."""
    yield before
    for each in filling:
        yield from each
    yield after


def packed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for chunk in chunks:
        if piece := packer.compress(chunk):
            yield piece
    yield packer.flush()


def gigabyte(unit: bytes) -> Iterator[bytes]:
    """A sitemap whose middle is 1 GB of repeated units, gzipped to 1 or 2 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield b"\x1f\x8b\x08" + bytes(7) + packer.compress(HEAD + FIRST) + packer.flush(zlib.Z_FULL_FLUSH)
    # A deflate block without back-references can be repeated unchanged.
    block = packer.compress(unit * (MIB // len(unit))) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from itertools.repeat(block, 1000)
    yield packer.compress(LAST + TAIL) + packer.flush() + bytes(8)  # the wrong CRC is never reached


def numbered(count: int, entry: bytes, head: bytes, tail: bytes) -> Iterator[bytes]:
    """`count` entries, each with its number."""
    yield head
    for start in range(0, count, 1000):
        yield b"".join(entry % number for number in range(start, min(count, start + 1000)))
    yield tail


def inside(opening: bytes, size: int, closing: bytes) -> Callable[[], Iterator[bytes]]:
    """A filling of `size` bytes between two good entries."""
    return lambda: around([opening], filled(size), [closing])


def declared(*declarations: bytes, body: bytes = b"") -> Callable[[], Iterator[bytes]]:
    """A sitemap with an internal DTD subset; `body` is inserted before its end."""

    def chunks() -> Iterator[bytes]:
        yield DECLARATION + b"<!DOCTYPE urlset [\n"
        yield from declarations
        yield b"]>\n" + ROOT + FIRST
        yield body + TAIL

    return chunks


def laughs() -> Iterator[bytes]:
    """Nested entities that expand to 7 MB: below the threshold of expat's own guard."""
    yield b'<!ENTITY a0 "%s">' % (b"x" * 70)
    for number in range(1, 6):
        yield b'<!ENTITY a%d "%s">' % (number, b"&a%d;" % (number - 1) * 10)


def entity(size: int) -> Iterator[bytes]:
    yield b'<!ENTITY a "'
    yield from filled(size)
    yield b'">'


def long_name() -> Iterator[bytes]:
    body = gzip.compress(HEAD + FIRST + LAST + TAIL, mtime=0)
    yield body[:3] + b"\x08" + body[4:10]  # RFC 1952 2.3.1: the flag of a file name
    yield from filled(20 * MIB)
    yield b"\0" + body[10:]


def behind(unit: bytes) -> Iterator[bytes]:
    """A complete document followed by 20 MB of filling."""
    yield gzip.compress(HEAD + FIRST + LAST + TAIL, mtime=0)
    yield from filled(20 * MIB, unit)


def empty_blocks(block: bytes) -> Iterator[bytes]:
    """A gzip member that continues for 20 MB without another byte of content."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield b"\x1f\x8b\x08" + bytes(7) + packer.compress(HEAD + FIRST) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from filled(20 * MIB, block)


def empty_members() -> Iterator[bytes]:
    yield gzip.compress(HEAD + FIRST, mtime=0)
    yield from filled(160_000 * 20, gzip.compress(b"", mtime=0))
    yield gzip.compress(LAST + TAIL, mtime=0)


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


# The limits of one entry, and the slack of the last chunk.
ENTRY = 4 * MIB + 4 * CHUNK
AT_ONCE = 4 * CHUNK
IDLE = MIB + AT_ONCE  # of compressed input without output
CUT = codes("F07", "S01")
LIMIT = codes("S16")
FILL = b"x" * 9000
LOCATION = b"<url><loc>https://example.com/"

BOMBS: dict[str, Bomb] = {
    "gzip: 1 GB of blanks": Bomb(lambda: gigabyte(b" "), LIMIT, 1, taken=AT_ONCE),
    "gzip: 1 GB of NUL": Bomb(lambda: gigabyte(b"\0"), LIMIT, 1, taken=AT_ONCE, extra_kib=48 * KIB),
    "gzip: 1 GB of comments": Bomb(lambda: gigabyte(b"<!-- %s -->" % (b"x" * KIB)), LIMIT, 1, taken=AT_ONCE),
    "gzip: 160,000 empty members": Bomb(empty_members, codes("S16", "S01"), 1, taken=10_000 * 20 + AT_ONCE),
    "gzip: 20 MB file name": Bomb(long_name, codes("F07"), 0, taken=IDLE, first=False),
    "gzip: 20 MB of NUL behind it": Bomb(lambda: behind(b"\0"), codes("F07"), 2, complete=True, taken=IDLE),
    "gzip: 20 MB of junk behind it": Bomb(lambda: behind(b"junk"), codes("F07"), 2, complete=True, taken=AT_ONCE),
    "gzip: 20 MB of empty stored blocks": Bomb(lambda: empty_blocks(b"\0\0\0\xff\xff"), CUT, 1, taken=IDLE),
    "gzip: 20 MB of empty fixed blocks": Bomb(lambda: empty_blocks(b"\2\10\x20\x80\0"), CUT, 1, taken=IDLE),
    "gzip: triple, 1 GB": Bomb(lambda: packed(packed(gigabyte(b" "))), LIMIT, 0, taken=AT_ONCE, first=False),
    "billion laughs under 8 MiB": Bomb(declared(*laughs(), body=LOCATION + b"&a5;</loc></url>"), codes("S09"), 0,
                                       taken=AT_ONCE, first=False),
    "quadratic entity": Bomb(declared(*entity(100 * KIB), body=LOCATION + b"&a;" * 10_000 + b"</loc></url>"),
                             codes("S09"), 0, taken=AT_ONCE, first=False),
    "ATTLIST bomb": Bomb(declared(b'<!ATTLIST url a CDATA "', *filled(60 * KIB), b'">', body=b"<url/>" * 8000),
                         codes("S09"), 0, taken=AT_ONCE, first=False),
    "long comment": Bomb(inside(b"<!--", LONG, b"-->"), LIMIT, 1, taken=ENTRY),
    "long comment before the root": Bomb(
        lambda: around([DECLARATION + b"<!--"], filled(LONG), [b"-->" + ROOT + FIRST], before=b""), LIMIT, 0,
        taken=ENTRY, first=False),
    "long instruction": Bomb(inside(b"<?a ", LONG, b"?>"), LIMIT, 1, taken=ENTRY),
    "long loc": Bomb(inside(LOCATION, LONG, b"</loc></url>"), LIMIT, 1, taken=ENTRY),
    "long CDATA": Bomb(inside(b"<url><loc><![CDATA[", LONG, b"]]></loc></url>"), LIMIT, 1, taken=ENTRY),
    "long attribute value": Bomb(inside(b'<url a="', LONG, b'"></url>'), LIMIT, 1, taken=ENTRY),
    "long start tag that never ends": Bomb(inside(b"<url ", LONG, b""), LIMIT, 1, taken=ENTRY),
    "long name": Bomb(inside(b"<", LONG, b">"), LIMIT, 1, taken=ENTRY),
    "200,000 attributes": Bomb(lambda: around([b"<url "], numbered(200_000, b'a%d="" ', b"", b""), [b"></url>"]), LIMIT,
                               1, taken=ENTRY),
    "1,000,000 levels": Bomb(
        lambda: around([b"<url>"], filled(3_000_000, b"<a>"), filled(4_000_000, b"</a>"), [b"</url>"]),
        LIMIT, 1, taken=AT_ONCE,
    ),
    "1,000,000 levels outside of entries": Bomb(
        lambda: around(filled(3_000_000, b"<a>"), filled(4_000_000, b"</a>")), codes("S16", "S10"), 1, taken=AT_ONCE),
    "much white space before the root": Bomb(
        lambda: around(filled(LONG, b" \n"), [HEAD + FIRST], before=b""), LIMIT, 0, taken=ENTRY, first=False),
    "much white space between entries": Bomb(lambda: around(filled(LONG, b" \n")), LIMIT, 1, taken=ENTRY),
    "long DOCTYPE": Bomb(
        lambda: around([DECLARATION + b'<!DOCTYPE urlset PUBLIC "'], filled(LONG), [b'" "a">' + ROOT], before=b""),
        LIMIT, 0, taken=ENTRY, first=False,
    ),
    "long internal subset": Bomb(declared(*filled(LONG, b" ")), codes("S09"), 0, taken=AT_ONCE, first=False),
    "one long line in a text": Bomb(
        lambda: around([b"https://example.com/"], filled(LONG), [b"\n"], before=b"https://example.com/first\n",
                       after=b"https://example.com/last\n"),
        LIMIT, 1, taken=MIB + AT_ONCE,
    ),
    "50,001 URLs": Bomb(lambda: numbered(50_001, b"<url><loc>https://example.com/%d</loc></url>\n", HEAD + FIRST, TAIL),
                        codes("S03"), 50_002, complete=True),
    "newline-prefixed feed": Bomb(
        lambda: [b"\n" * 80_000, RSS, b"<item><link>https://example.com/first</link></item>" * 2, RSS_TAIL],
        codes(), 2, complete=True,
    ),
    "author-quadratic feed": Bomb(
        lambda: [RSS, b"<item><link>https://example.com/first</link><author>", b"(" * 65_000, b"</author></item>",
                 RSS_TAIL],
        codes(), 1, complete=True,
    ),
}

# Not read in all chunk sizes: where the budget of work ends them depends on the chunks.
DAMAGED: dict[str, Bomb] = {
    "bare &": Bomb(lambda: around(filled(HUGE, b"<url><loc>https://example.com/a</loc>%s</url>" % (b"&" * 100))),
                   codes("S16", "S01", "S10"), 433, taken=MIB),
    "bare & behind the root": Bomb(lambda: around([b"&", TAIL], filled(20 * MIB, b"&"), after=b""), codes("S01", "S10"),
                                   1, complete=True),
    "stray end tags": Bomb(
        lambda: around(filled(HUGE, b"<url><loc>https://example.com/a</loc>%s</url>" % (b"</b>" * 100))),
        codes("S16", "S01"), 581, taken=MIB,
    ),
    "entries repaired in vain": Bomb(
        lambda: around(filled(HUGE, b"<url>" * 900 + b"<loc>a<b></loc>"), before=ROOT + FIRST),
        codes("S16", "S01"), 1, taken=MIB,
    ),
    "tags of 1 MB around": Bomb(lambda: around(*([b'<a b="', b"x" * (MIB - 100), b'">'] for _ in range(LONG // MIB))),
                                codes("S16", "S10"), 1, taken=6 * MIB),
    "items in items": Bomb(lambda: around(filled(HUGE, b"<item>x"), before=RSS, after=b""), codes("S16", "S01"), 0,
                           taken=2 * MIB, first=False),
    "faults, the root tag 500 KB": Bomb(
        lambda: around(filled(500 * KIB), [b'">'], filled(HUGE // 2, b"<url><loc>a<b></loc></url>"),
                       before=ROOT[:-2] + b' a="'),
        codes("S16", "S01"), 0, taken=2 * MIB, first=False,
    ),
}
OVER_50_MIB = Bomb(
    lambda: numbered(6000, b"<url><loc>https://example.com/%%d</loc><!--%s--></url>\n" % FILL, HEAD + FIRST, TAIL),
    codes("F08"),
    6001,
    complete=True,
)
if FULL:
    BOMBS["over 50 MiB"] = OVER_50_MIB
ENTRIES = 300_000 if FULL else 100_000  # if kept, 300,000 strings of 80 bytes would exceed the permitted memory
LONG_INDEX = Bomb(
    lambda: numbered(ENTRIES, b"<sitemap><loc>https://example.com/%d</loc></sitemap>\n",
                     b"<sitemapindex %s>\n" % NAMESPACE, b"</sitemapindex>"),
    codes("S03"),
    ENTRIES,
    complete=True,
)
ALL = {**BOMBS, **DAMAGED, "long index": LONG_INDEX}
