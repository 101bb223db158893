"""Documents that are to hurt who reads them, as streams of chunks: a name in, bytes and what must come of them out.

Each has a good entry in front wherever one can stand there. Nothing is kept: 50 MiB are never in memory at once here.
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB

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
    """`chunks()` gives the document anew each time.

    `codes` are all its problems, `entries` how many come out, `first` whether the good entry in front is among them.
    Of the wire at most `taken` bytes may have been taken when reading stops; None where all is to be read.
    """

    chunks: Callable[[], Iterable[bytes]]
    codes: frozenset[str]
    entries: int
    complete: bool = False
    taken: int | None = None
    first: bool = True


def filled(size: int, unit: bytes = b"x") -> Iterator[bytes]:
    """`size` bytes of repeated units, and what is missing for a whole one left out."""
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
    """A sitemap whose middle is 1 GB of repeated units, packed to 1 or 2 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield b"\x1f\x8b\x08" + bytes(7) + packer.compress(HEAD + FIRST) + packer.flush(zlib.Z_FULL_FLUSH)
    # A block that refers to nothing before it can be repeated as it is.
    block = packer.compress(unit * (MIB // len(unit))) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from itertools.repeat(block, 1000)
    yield packer.compress(LAST + TAIL) + packer.flush() + bytes(8)  # nobody comes to see that the CRC is wrong


def numbered(count: int, entry: bytes, head: bytes, tail: bytes) -> Iterator[bytes]:
    """`count` entries, each with its number."""
    yield head
    for start in range(0, count, 1000):
        yield b"".join(entry % number for number in range(start, min(count, start + 1000)))
    yield tail


def inside(opening: bytes, size: int, closing: bytes) -> Callable[[], Iterator[bytes]]:
    """Something of `size` bytes between two good entries."""
    return lambda: around([opening], filled(size), [closing])


def declared(*declarations: bytes, body: bytes = b"") -> Callable[[], Iterator[bytes]]:
    """A sitemap with an internal subset; `body` comes in front of its end."""

    def chunks() -> Iterator[bytes]:
        yield DECLARATION + b"<!DOCTYPE urlset [\n"
        yield from declarations
        yield b"]>\n" + ROOT + FIRST
        yield body + TAIL

    return chunks


def laughs() -> Iterator[bytes]:
    """Entities of entities that come to 7 MB: less than expat's own guard looks at."""
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
    """A whole document, and 20 MB of something behind it."""
    yield gzip.compress(HEAD + FIRST + LAST + TAIL, mtime=0)
    yield from filled(20 * MIB, unit)


def empty_blocks(block: bytes) -> Iterator[bytes]:
    """A member that goes on for 20 MB without another byte of content."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield b"\x1f\x8b\x08" + bytes(7) + packer.compress(HEAD + FIRST) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from filled(20 * MIB, block)


def empty_members() -> Iterator[bytes]:
    yield gzip.compress(HEAD + FIRST, mtime=0)
    yield from filled(160_000 * 20, gzip.compress(b"", mtime=0))
    yield gzip.compress(LAST + TAIL, mtime=0)


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


# What the limits allow of one entry, and the slack of the chunk that goes over them.
ENTRY = 4 * MIB + 4 * CHUNK
AT_ONCE = 4 * CHUNK
IDLE = MIB + AT_ONCE  # of packed input that gives nothing
CUT = codes("F07", "S01")
LIMIT = codes("S16")
FILL = b"x" * 9000
LOCATION = b"<url><loc>https://example.com/"

BOMBS: dict[str, Bomb] = {
    "gzip: 1 GB of blanks": Bomb(lambda: gigabyte(b" "), LIMIT, 1, taken=AT_ONCE),
    "gzip: 1 GB of NUL": Bomb(lambda: gigabyte(b"\0"), LIMIT, 1, taken=AT_ONCE),
    "gzip: 1 GB of comments": Bomb(lambda: gigabyte(b"<!-- %s -->" % (b"x" * KIB)), LIMIT, 1, taken=AT_ONCE),
    "gzip: 160,000 empty members": Bomb(empty_members, codes("S16", "S01"), 1, taken=10_000 * 20 + AT_ONCE),
    "gzip: 20 MB file name": Bomb(long_name, codes("F07"), 0, taken=IDLE, first=False),
    "gzip: 20 MB of NUL behind it": Bomb(lambda: behind(b"\0"), codes("F07"), 2, complete=True, taken=IDLE),
    "gzip: 20 MB of junk behind it": Bomb(lambda: behind(b"junk"), codes("F07"), 2, complete=True, taken=AT_ONCE),
    "gzip: 20 MB of empty stored blocks": Bomb(lambda: empty_blocks(b"\0\0\0\xff\xff"), CUT, 1, taken=IDLE),
    "gzip: 20 MB of empty fixed blocks": Bomb(lambda: empty_blocks(b"\2\10\x20\x80\0"), CUT, 1, taken=IDLE),
    "gzip: triple, 1 GB": Bomb(
        lambda: packed(packed(gigabyte(b" "))), LIMIT, 0, taken=AT_ONCE, first=False
    ),
    "billion laughs under 8 MiB": Bomb(
        declared(*laughs(), body=LOCATION + b"&a5;</loc></url>"), codes("S09"), 0, taken=AT_ONCE, first=False
    ),
    "quadratic entity": Bomb(
        declared(*entity(100 * KIB), body=LOCATION + b"&a;" * 10_000 + b"</loc></url>"),
        codes("S09"), 0, taken=AT_ONCE, first=False,
    ),
    "ATTLIST bomb": Bomb(
        declared(b'<!ATTLIST url a CDATA "', *filled(60 * KIB), b'">', body=b"<url/>" * 8000),
        codes("S09"), 0, taken=AT_ONCE, first=False,
    ),
    "comment of 50 MiB": Bomb(inside(b"<!--", 50 * MIB, b"-->"), LIMIT, 1, taken=ENTRY),
    "comment of 50 MiB before the root": Bomb(
        lambda: around([DECLARATION + b"<!--"], filled(50 * MIB), [b"-->" + ROOT + FIRST], before=b""),
        LIMIT, 0, taken=ENTRY, first=False,
    ),
    "instruction of 50 MiB": Bomb(inside(b"<?a ", 50 * MIB, b"?>"), LIMIT, 1, taken=ENTRY),
    "loc of 50 MiB": Bomb(inside(LOCATION, 50 * MIB, b"</loc></url>"), LIMIT, 1, taken=ENTRY),
    "CDATA of 50 MiB": Bomb(inside(b"<url><loc><![CDATA[", 50 * MIB, b"]]></loc></url>"), LIMIT, 1, taken=ENTRY),
    "attribute value of 50 MiB": Bomb(inside(b'<url a="', 50 * MIB, b'"></url>'), LIMIT, 1, taken=ENTRY),
    "start tag of 50 MiB that never ends": Bomb(inside(b"<url ", 50 * MIB, b""), LIMIT, 1, taken=ENTRY),
    "name of 50 MiB": Bomb(inside(b"<", 50 * MIB, b">"), LIMIT, 1, taken=ENTRY),
    "200,000 attributes": Bomb(
        lambda: around([b"<url "], numbered(200_000, b'a%d="" ', b"", b""), [b"></url>"]), LIMIT, 1, taken=ENTRY
    ),
    "1,000,000 levels": Bomb(
        lambda: around([b"<url>"], filled(3_000_000, b"<a>"), filled(4_000_000, b"</a>"), [b"</url>"]),
        LIMIT, 1, taken=AT_ONCE,
    ),
    "1,000,000 levels outside of entries": Bomb(
        lambda: around(filled(3_000_000, b"<a>"), filled(4_000_000, b"</a>")), codes("S16", "S10"), 1, taken=AT_ONCE
    ),
    "50 MiB of white space before the root": Bomb(
        lambda: around(filled(50 * MIB, b" \n"), [HEAD + FIRST], before=b""), LIMIT, 0, taken=ENTRY, first=False
    ),
    "50 MiB of white space between entries": Bomb(
        lambda: around(filled(50 * MIB, b" \n")), LIMIT, 1, taken=ENTRY
    ),
    "DOCTYPE of 50 MiB": Bomb(
        lambda: around([DECLARATION + b'<!DOCTYPE urlset PUBLIC "'], filled(50 * MIB), [b'" "a">' + ROOT], before=b""),
        LIMIT, 0, taken=ENTRY, first=False,
    ),
    "internal subset of 50 MiB": Bomb(
        declared(*filled(50 * MIB, b" ")), codes("S09"), 0, taken=AT_ONCE, first=False
    ),
    "one line of 50 MiB in a text": Bomb(
        lambda: around([b"https://example.com/"], filled(50 * MIB), [b"\n"], before=b"https://example.com/first\n",
                       after=b"https://example.com/last\n"),
        LIMIT, 1, taken=MIB + AT_ONCE,
    ),
    "50,001 URLs": Bomb(
        lambda: numbered(50_001, b"<url><loc>https://example.com/%d</loc></url>\n", HEAD + FIRST, TAIL),
        codes("S03"), 50_002, complete=True,
    ),
    "over 50 MiB": Bomb(
        lambda: numbered(6000, b"<url><loc>https://example.com/%%d</loc><!--%s--></url>\n" % FILL, HEAD + FIRST, TAIL),
        codes("F08"), 6001, complete=True,
    ),
    "newline-prefixed feed": Bomb(
        lambda: [b"\n" * 80_000, RSS, b"<item><link>https://example.com/first</link></item>" * 2, RSS_TAIL],
        codes(), 2, complete=True,
    ),
    "author-quadratic feed": Bomb(
        lambda: [RSS, b"<item><link>https://example.com/first</link><author>", b"(" * 65_000, b"</author></item>",
                 RSS_TAIL],
        codes(), 1, complete=True,
    ),
}  # fmt: skip

# Not read in every way that the others are. Where the budget of work ends them depends on how they are cut.
DAMAGED: dict[str, Bomb] = {
    "200 MiB of bare &": Bomb(
        lambda: around(filled(200 * MIB, b"<url><loc>https://example.com/a</loc>%s</url>" % (b"&" * 100))),
        codes("S16", "S01"), 375, taken=MIB,
    ),
    "200 MiB of bare & behind the root": Bomb(
        lambda: around([b"&", TAIL], filled(200 * MIB, b"&"), after=b""),
        codes("S16", "S01"), 1, taken=2 * MIB,
    ),
    "200 MiB of stray end tags": Bomb(
        lambda: around(filled(200 * MIB, b"<url><loc>https://example.com/a</loc>%s</url>" % (b"</b>" * 100))),
        codes("S16", "S01"), 431, taken=MIB,
    ),
    "200 MiB of entries that are set straight in vain": Bomb(
        lambda: around(filled(200 * MIB, b"<url>" * 900 + b"<loc>a<b></loc>"), before=ROOT + FIRST),
        codes("S16", "S01"), 1, taken=MIB,
    ),
    "60 tags of 1 MB around": Bomb(
        lambda: around(*([b'<a b="', b"x" * (MIB - 100), b'">'] for _ in range(60))), codes("S16", "S10"), 1,
        taken=6 * MIB,
    ),
    "200 MiB of items in items": Bomb(
        lambda: around(filled(200 * MIB, b"<item>x"), before=RSS, after=b""),
        codes("S16", "S01"), 0, taken=2 * MIB, first=False,
    ),
    "100 MiB of faults, the root tag 500 KB": Bomb(
        lambda: around(
            filled(500 * KIB), [b'">'], filled(100 * MIB, b"<url><loc>a<b></loc></url>"), before=ROOT[:-2] + b' a="'
        ),
        codes("S16", "S01"), 0, taken=2 * MIB, first=False,
    ),
}  # fmt: skip
INDEX_OF_A_MILLION = Bomb(
    lambda: numbered(
        1_000_000,
        b"<sitemap><loc>https://example.com/%d</loc></sitemap>\n",
        b"<sitemapindex %s>\n" % NAMESPACE,
        b"</sitemapindex>",
    ),
    codes("S03", "F08"),
    1_000_000,
    complete=True,
)
ALL = {**BOMBS, **DAMAGED, "index of 1,000,000": INDEX_OF_A_MILLION}
